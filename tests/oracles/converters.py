#!/usr/bin/env python3
"""Compares bough's conversions to Codex with those of other programs, on the same sessions of Claude Code.

  converters.py [--count N] [--bough FILE] [--session-migrate FILE] [--keep DIR]

The sessions are made here: each has turns that were rewound, an image, thoughts, and a call with long arguments; every
third one has a compaction. They are converted with `bough convert`, with the importer of Codex itself
(`externalAgentConfig/import` of `codex app-server`), and with `session-migrate`, if that is installed. Codex resumes each
result, and what it sends is searched for what the source has. The programs are in $BOUGH_PEERS.

Columns: sessions that Codex resumes; messages of the path to HEAD that are sent, each found by a word of its own; rewound
turns that are sent although the user took them back; images, whole arguments and thoughts that are sent; and what a
compaction replaced that is sent again.
"""

import argparse
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import convert  # noqa: E402
import guests  # noqa: E402

# Codex makes no helper programs below /tmp.
SCRATCH = "/var/tmp"


class Source:
    """A session of Claude Code, and the words by which its parts are found."""

    def __init__(self, number, cwd):
        self.number, self.cwd, self.lines = number, cwd, []
        self.session = f"{number:08x}-0000-4000-8000-00000000000a"
        self.words = {kind: [] for kind in ("message", "rewound", "image", "argument", "thought", "replaced")}
        last = self.turn(None, "message", image=True)
        if number % 3 == 0:
            for kind in self.words:
                self.words["replaced"] += self.words[kind] if kind in ("message",) else []
                self.words[kind] = [] if kind != "replaced" else self.words[kind]
            last = self.compaction(last)
            last = self.turn(last, "message", image=True)
        for at in range(1 + number % 3):
            self.turn(last, "rewound", thought=False, call=False)
            last = self.turn(last, "message", image=at == 0)
        self.path = None

    def word(self, kind):
        word = f"{kind}w{self.number}x{len(self.lines)}"
        self.words[kind].append(word)
        return word

    def add(self, before, kind, **more):
        own = f"{len(self.lines):08x}-{self.number:04x}-4000-8000-000000000000"
        # Codex offers only sessions of the last weeks.
        when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - 3600 + len(self.lines)))
        self.lines.append({"parentUuid": before, "isSidechain": False, "userType": "external", "cwd": self.cwd,
                           "sessionId": self.session, "version": "2.1.332", "type": kind, **more, "uuid": own, "timestamp": when})
        return own

    def reply(self, before, blocks):
        message = {"id": f"msg_{len(self.lines)}", "type": "message", "role": "assistant", "model": "claude-m", "content": blocks,
                   "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
        return self.add(before, "assistant", message=message)

    def turn(self, before, kind, image=False, thought=True, call=True):
        content = [{"type": "text", "text": f"Please look at {self.word(kind)}"}]
        if image:
            self.words["image"].append("input_image")
            data = convert.Made.IMAGE
            content.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
        last = self.add(before, "user", message={"role": "user", "content": content})
        if call:
            blocks = [{"type": "thinking", "thinking": f"I think of {self.word('thought')}", "signature": ""}] if thought else []
            text = f"# {self.word('argument')}\n" + "line\n" * 3000 + f"end {self.word('argument')}"
            name = f"toolu_{self.number}_{len(self.lines)}"
            blocks.append({"type": "tool_use", "id": name, "name": "Write", "input": {"file_path": "a.md", "content": text}})
            last = self.reply(last, blocks)
            result = {"type": "tool_result", "tool_use_id": name, "content": f"wrote {self.word(kind)}"}
            last = self.add(last, "user", message={"role": "user", "content": [result]})
        return self.reply(last, [{"type": "text", "text": f"Done with {self.word(kind)}"}])

    def compaction(self, before):
        own = self.add(None, "system", subtype="compact_boundary", content="Conversation compacted", logicalParentUuid=before,
                       compactMetadata={"trigger": "manual", "preTokens": 9})
        text = f"This session is being continued. Summary: {self.word('message')}"
        return self.add(own, "user", isCompactSummary=True, message={"role": "user", "content": text})

    def write(self, folder):
        self.path = folder / f"{self.session}.jsonl"
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))


def with_bough(args, sources, real, work):
    for source in sources:
        out = work / f"bough-{source.number}"
        out.mkdir()
        subprocess.run([args.bough, "convert", "-s", source.path, "--to", "codex", "-o", out], capture_output=True, timeout=60)
        yield source, next(out.iterdir(), None)


def with_session_migrate(args, sources, real, work):
    for source in sources:
        out = work / f"rollout-migrated-{source.number}.jsonl"
        subprocess.run([args.session_migrate, "convert", source.path, "--to", "codex", "--model-provider", "mock", "--model", "gpt-5.1-codex", "--cwd", str(real.project), "--output", out], capture_output=True, timeout=60)
        yield source, out if out.exists() else None


def with_codex(args, sources, real, work):
    server = subprocess.Popen([str(guests.PROGRAM / "codex"), "app-server"], cwd=real.project, env=real.env, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(number, method, until, **params):
        server.stdin.write(json.dumps({"id": number, "method": method, "params": params}) + "\n")
        server.stdin.flush()
        for line in server.stdout:
            answer = json.loads(line)
            if until(answer, number):
                return answer.get("result", answer)

    own = lambda answer, number: answer.get("id") == number
    ask(1, "initialize", own, clientInfo={"name": "compare", "title": "compare", "version": "1"}, capabilities={"experimentalApi": True})
    found = ask(2, "externalAgentConfig/detect", own, includeHome=True, cwds=[str(real.project)])
    items = [item for item in found["items"] if item["itemType"] == "SESSIONS"]
    ask(3, "externalAgentConfig/import", lambda answer, _: answer.get("method") == "externalAgentConfig/import/completed" or "error" in answer, migrationItems=items)
    server.terminate()
    server.wait()
    rollouts = list((real.home / ".codex/sessions").rglob("rollout-*.jsonl"))
    for source in sources:
        # Any word tells whose it is; an importer that carries nothing over has none.
        words = [word for kind in ("message", "rewound", "replaced") for word in source.words[kind]]
        mine = [path for path in rollouts if any(re.search(rf"\b{word}\b", path.read_text()) for word in words)]
        yield source, mine[0] if mine else None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--bough", default="target/debug/bough")
    parser.add_argument("--session-migrate", default=str(guests.PEERS / "others-convert/venv/bin/session-migrate"))
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    args.bough = os.path.abspath(args.bough)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), guests.Service)
    guests.PORT = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    kinds = ["message", "rewound", "image", "argument", "thought", "replaced"]
    print(f"{'converter':<16} {'sessions':>8} {'resumed':>8} " + " ".join(f"{kind:>10}" for kind in kinds))
    converters = {"bough": with_bough, "codex import": with_codex, "session-migrate": with_session_migrate}
    for name, run in converters.items():
        with tempfile.TemporaryDirectory(dir=SCRATCH, ignore_cleanup_errors=True) as folder:
            work = Path(folder)
            real = guests.Program("codex", work / "real", guests.PORT)
            store = real.home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(real.project))
            store.mkdir(parents=True)
            sources = [Source(number, str(real.project)) for number in range(1, args.count + 1)]
            for source in sources:
                source.write(store)
            have = {kind: sum(len(source.words[kind]) for source in sources) for kind in kinds}
            sent, resumed = dict.fromkeys(kinds, 0), 0
            for source, rollout in run(args, sources, real, work):
                if rollout is None:
                    continue
                text = rollout.read_text()
                if args.keep:
                    args.keep.mkdir(parents=True, exist_ok=True)
                    (args.keep / f"{name.replace(' ', '-')}-{source.number}.jsonl").write_text(text)
                meta = json.loads(text.splitlines()[0])["payload"]
                if not rollout.is_relative_to(real.home):
                    real.place(text)
                guests.Service.requests.clear()
                real.turn("bough probe", meta["id"])
                bodies = [body for where, body in guests.Service.requests if "/responses" in where]
                if not bodies:
                    continue
                resumed += 1
                # The last one is the prompt.
                request = json.dumps(bodies[0]["input"][:-1])
                for kind in kinds:
                    if kind == "image":
                        sent[kind] += min(request.count('"input_image"'), len(source.words[kind]))
                    else:
                        sent[kind] += sum(bool(re.search(rf"(\b|\\n){word}\b", request)) for word in source.words[kind])
            print(f"{name:<16} {len(sources):>8} {resumed:>8} " + " ".join(f"{sent[kind]:>4} of {have[kind]:<3}" for kind in kinds), flush=True)


if __name__ == "__main__":
    main()
