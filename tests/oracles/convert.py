#!/usr/bin/env python3
"""Asks the real programs whether they send a converted session as bough says that the source is sent.

  convert.py make COUNT FOLDER
  convert.py [--count N] [--to pi,omp,chimera,claude,codex] [--bough FILE] [--keep DIR] [--back] GROUP=FILE,... ...

Each GROUP is a row of the table: its sessions (shell patterns) are converted with `bough convert`, the target program
resumes them, and what it sends is compared with `bough context --json` of the source. Compared are the speaker, texts
(of one speaker joined, without blanks at the ends), calls with name and arguments, results with the call that
they answer, and images. Not compared are thoughts, the ids of calls, and what a conversion is not meant to carry over:
instructions of the source's agent, messages that a program invents, and results without a call. A call without a result
must have one; a result before its call must come after it.

With `--back`, the sessions of each GROUP, which is the name of a target, are converted to each `--to` and back. That must give
the same bytes. Then a prompt is added to the session in between, and it is converted back again: the old file must be the beginning of the
new one, and the program of the GROUP must send the prompt after what it sends for the old file.

`make` writes random sessions of pi, oh-my-pi, Claude Code, Codex and Chimera, with what the sessions of the tests lack: images,
texts without words, strange ids of calls, replies first, calls without results, results without calls.

pi and oh-my-pi load the session, and change it for a provider, in a process of their own modules. Chimera's session
tree does the same. Codex and Claude Code run, with a model service on the loopback address. The programs are in
$BOUGH_PEERS; Claude Code is run by the script $BOUGH_CLAUDE_RESUME.
"""

import argparse
import glob
import http.server
import importlib.machinery
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import guests  # noqa: E402

PEERS = Path(os.environ.get("BOUGH_PEERS", Path.home() / ".cache/bough-peers"))
TARGETS = ["pi", "omp", "chimera", "claude", "codex"]
NO_RESULT = "(no result was recorded)"
NO_PROMPT = "(no prompt was recorded)"
OF_AGENT = re.compile(r"\s*<(skills_instructions|permissions instructions|environment_context|session_context|user_instructions)")

PI = """
import { createInterface } from "node:readline";
const [program, peers, work] = process.argv.slice(-3);
process.env.HOME = work; process.env.PI_CODING_AGENT_DIR = work + "/agent";
const from = (path) => import(`${peers}/${program}/node_modules/${path}`);
const { SessionManager, convertToLlm, transformMessages } = program === "pi" ? {
  ...await from("@earendil-works/pi-coding-agent/dist/core/session-manager.js"),
  ...await from("@earendil-works/pi-coding-agent/dist/core/messages.js"),
  ...await from("@earendil-works/pi-ai/dist/api/transform-messages.js"),
} : {
  ...await from("@oh-my-pi/pi-coding-agent/src/session/session-manager.ts"),
  ...await from("@oh-my-pi/pi-coding-agent/src/session/messages.ts"),
  ...await from("@oh-my-pi/pi-ai/src/providers/transform-messages.ts"),
};
const model = { id: "mock-1", provider: "mock", api: "openai-completions", input: ["text", "image"] };
for await (const file of createInterface({ input: process.stdin })) {
  let found;
  try {
    const session = await SessionManager.open(file, work, ...(program === "pi" ? [work] : [undefined, { suppressBreadcrumb: true, initialCwd: work }]));
    const sent = transformMessages(convertToLlm(session.buildSessionContext().messages), model);
    found = { id: session.getSessionId(), sent };
    await session.close?.();
  } catch (error) { found = { error: `${error.name}: ${error.message}` }; }
  process.stdout.write(JSON.stringify(found) + "\\n");
}
process.exit(0);
"""

CHIMERA = """
import json, pathlib, sys
from chimera.sessions.tree import SessionTree
for line in sys.stdin:
    try:
        sent = [{"role": m.role, "content": m.content, "call": m.call_id,
                 "calls": [[c.id, c.name, c.arguments] for c in m.tool_calls]}
                for m in SessionTree(pathlib.Path(line.strip())).get_messages()]
        print(json.dumps({"sent": sent}), flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
"""


class Said:
    """What is sent, in the form that is compared: turns of a speaker, each with its parts."""

    def __init__(self):
        self.turns, self.calls, self.answered, self.lost = [], [], set(), []

    def add(self, who, kind, *what):
        if not self.turns or self.turns[-1][0] != who:
            self.turns.append([who])
        turn = self.turns[-1]
        if kind == "text":
            text = re.sub(r"[\ud800-\udfff]", "\ufffd", what[0]).strip()
            if not text:
                if len(turn) == 1:
                    self.turns.pop()
                return
            if len(turn) > 1 and turn[-1][0] == "text":
                turn[-1][1] += "\n" + text
                return
            what = [text]
        turn.append([kind, *what])

    def call(self, own, name, arguments):
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except ValueError:
                pass
        # Arguments are an object in all programs but Codex.
        arguments = arguments if isinstance(arguments, dict) else {"input": arguments if isinstance(arguments, str) else json.dumps(arguments)}
        self.calls.append(own)
        # Numbers as in JavaScript.
        arguments = json.loads(json.dumps(arguments), parse_int=float)
        self.add("model", "call", name, json.dumps(arguments, sort_keys=True))

    def result(self, call, parts, is_error=None):
        """`parts` are texts; None is an image."""
        at = max((at for at, known in enumerate(self.calls) if known == call), default=None)
        if at is None or at in self.answered:
            return self.lost.append(call)
        self.answered.add(at)
        text = "\n".join(part for part in parts if part is not None).strip()
        images = sum(part is None for part in parts)
        if text != NO_RESULT:
            self.add("tool", "result", at, text, images, is_error)

    def results_first(self, to):
        """What is said between two replies: results first, as the services want it, and then texts of the user."""
        out, tools, user = [], [], []
        for who, *parts in [*self.turns, ["model"]]:
            # Chimera has no images.
            parts = [part for part in parts if to != "chimera" or part[0] != "image"]
            if who == "tool":
                tools += parts
            elif who == "user":
                user += parts
            elif not parts and who == "model" and out and not tools and not user:
                continue
            else:
                out += [["tool", *tools]] * bool(tools) + [["user", *joined(user)]] * bool(user)
                is_same = who == "model" and out and out[-1][0] == who
                out[-1:] = [[who, *joined(out[-1][1:] + parts)]] if is_same else [*out[-1:], [who, *parts]]
                tools, user = [], []
        return out

    def rows(self, to):
        out = []
        for who, *parts in self.results_first(to):
            if who == "model" and to == "claude" or who != "tool" and to == "chimera":
                # Messages of Chimera are one text, and calls after it; Claude Code sends calls last, too.
                texts = [part[1] for part in parts if part[0] == "text"]
                parts = [["text", "\n".join(texts)]] * bool(texts) + [part for part in parts if part[0] == "call"]
            elif who == "tool":
                parts = sorted(parts, key=lambda part: part[1])
                parts = [part if to in ("pi", "omp", "claude") else part[:4] for part in parts]
            if to == "chimera":
                parts = [part[:3] for part in parts]
            if parts == [["text", NO_PROMPT]] and not out:
                continue
            if parts:
                out.append([who, *([*part[:1], re.sub(r"\s*\n\s*", "\n", part[1])] if part[0] == "text" else part for part in parts)])
        return out


def joined(parts):
    """Texts after each other are one."""
    out = []
    for part in parts:
        if out and part[0] == out[-1][0] == "text":
            part = ["text", out.pop()[1] + "\n" + part[1]]
        out.append(part)
    return out


def of_source(lines):
    said, made_up, early = Said(), [], {}
    for message in map(json.loads, lines):
        if message.get("sent") is False or message.get("origin") == "made-up" or message["role"] in ("system", "developer"):
            continue
        blocks = message["blocks"]
        kinds = {block["type"] for block in blocks}
        if OF_AGENT.match(message["text"]) and kinds == {"text"}:
            continue
        who = "model" if message["role"] in ("assistant", "model", "reasoning") else "user"
        if kinds <= {"text"} and who == "user":
            blocks = [{"type": "text", "text": message["text"]}]
        results, patches = [], message.get("patches", [])
        if "call" not in kinds:
            made_up = [said.result(*result) for result in made_up] and []
        # A result before its call is put behind it.
        is_early = any(patch.get("why") == "later" for patch in patches)
        for block in blocks:
            kind = block["type"]
            if kind == "text":
                said.add(who, "text", block["text"])
            elif kind == "call":
                said.call(block["id"], block["name"], block["arguments"])
            elif kind == "result" and is_early:
                early[block["call"]] = [block["text"]], block["is_error"]
            elif kind == "image" and is_early:
                early[[*early][-1]][0].append(None)
            elif kind == "result":
                results.append(block["call"])
                said.result(block["call"], [block["text"]], block["is_error"])
            elif kind == "image" and results:
                # What follows a result belongs to it.
                if results[-1] not in said.lost:
                    said.turns[-1][-1][3] += 1
            elif kind == "image":
                said.add(who, "image")
        for patch in patches:
            if patch["patch"] in ("result-made-up", "no-result"):
                result = (patch["call"], *early.pop(patch["call"], ([patch.get("text", NO_RESULT)], True)))
                # Codex stores a reply item by item: more calls may follow.
                made_up.append(result) if who == "user" else said.result(*result)
    for result in made_up:
        said.result(*result)
    return said


def of_content(said, who, content):
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or []:
        kind = block["type"]
        if kind in ("text", "input_text", "output_text"):
            said.add(who, "text", block["text"])
        elif kind in ("image", "input_image"):
            said.add(who, "image")
        elif kind == "toolCall":
            said.call(block["id"], block["name"], block["arguments"])
        elif kind == "tool_use":
            said.call(block["id"], block["name"], block["input"])
        elif kind == "tool_result":
            said.result(block["tool_use_id"], texts(block.get("content")), block.get("is_error", False))


def texts(content):
    return [content] if isinstance(content, str) else [block.get("text") for block in content or []]


def of_target(to, sent, raw):
    said = Said()
    for item in sent:
        role = item.get("role")
        who = "model" if role == "assistant" else "user"
        if to in ("pi", "omp"):
            if role == "system":
                continue
            if role == "toolResult":
                said.result(item["toolCallId"], texts(item["content"]), item["isError"])
            else:
                of_content(said, who, item["content"])
        elif to == "chimera":
            if role == "tool":
                said.result(item["call"], [item["content"]])
                continue
            said.add(who, "text", item["content"])
            for call in item["calls"]:
                said.call(*call)
        elif to == "claude":
            if role == "system":
                continue
            content = item["content"]
            content = [{"type": "text", "text": content}] if isinstance(content, str) else content
            is_own = lambda block: block["type"] == "text" and json.dumps(block["text"].strip()[:60])[1:-1] not in raw
            made_up = lambda block: block["type"] == "text" and is_own(block) and (
                block["text"].lstrip().startswith("<system-reminder>") or block["text"] == "No response requested."
                or "bough probe" in block["text"])
            of_content(said, who, [block for block in content if not made_up(block)])
        else:
            kind = item["type"]
            if kind == "message":
                first = (item["content"] or [{}])[0].get("text", "")
                if role not in ("developer", "system") and not (role == "user" and OF_AGENT.match(first)):
                    of_content(said, who, item["content"])
            elif kind.endswith("_output"):
                said.result(item["call_id"], texts(item["output"]))
            elif kind != "reasoning":
                said.call(item["call_id"], item["name"], item.get("arguments", item.get("input")))
    said.lost and said.turns.append(["results without a call", *said.lost])
    return said


class Made:
    """A random session, and its lines in each format."""

    IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    TEXTS = ["plain", "two\nlines\n", "", " \n", "  blanks around  ", "日本語 🎉 \u0000\u2028", "<tag> & \"quotes\" \\", "x" * 2000]
    IDS = ["call_{}", "toolu_{}", "call.{}:a/b", "call_{}|fc_" + "0" * 80, "ü{}"]
    ARGUMENTS = [{}, {"command": "ls"}, {"a": {"b": [1, 2.5, None, True]}, "ü": "\n"}, {"n": 12345678901234567890}]

    def __init__(self, number):
        chance = self.chance = random.Random(number)
        self.turns, count, hits = [], 0, lambda percent: chance.random() * 100 < percent
        for turn in range(chance.randrange(1, 6)):
            if turn or hits(85):
                self.turns.append(("user", [self.part(hits(20)) for _ in range(1 + hits(20))]))
            for _ in range(chance.randrange(0, 4)):
                parts = [self.part() for _ in range(hits(70) + hits(10))]
                calls = []
                for _ in range(chance.randrange(1, 4) if hits(60) else 0):
                    count += 1
                    call = (chance.choice(self.IDS).format(count), chance.choice(["bash", "read_file"]), chance.choice(self.ARGUMENTS))
                    calls.append(call[0])
                    parts.append(("call", *call))
                if hits(15):
                    chance.shuffle(parts)
                self.turns.append(("model", parts))
                if hits(15):
                    chance.shuffle(calls)
                for call in calls + ["call_none"] * hits(3):
                    if hits(92):
                        self.turns.append(("tool", call, [self.part(hits(10)) for _ in range(chance.randrange(3))], hits(10)))
                    if hits(4):
                        self.turns.append(("user", [self.part()]))

    def part(self, is_image=False):
        return ("image",) if is_image else ("text", self.chance.choice(self.TEXTS) + self.chance.choice(["", f" {self.chance.random()}"]))

    def block(self, part, to):
        if part[0] == "text":
            return {"type": "text", "text": part[1]}
        if part[0] == "call":
            kind, field = ("toolCall", "arguments") if to == "pi" else ("tool_use", "input")
            return {"type": kind, "id": part[1], "name": part[2], field: part[3]}
        if to == "pi":
            return {"type": "image", "data": self.IMAGE, "mimeType": "image/png"}
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": self.IMAGE}}

    def pi(self):
        yield {"type": "session", "version": 3, "id": "0190", "timestamp": "2026-11-28T10:00:00.000Z", "cwd": "/work/project"}
        for at, (who, *what) in enumerate(self.turns):
            if who == "tool":
                message = {"role": "toolResult", "toolCallId": what[0], "toolName": "bash", "isError": what[2]}
            else:
                message = {"role": "assistant", "model": "m", "stopReason": "stop"} if who == "model" else {"role": "user"}
            message["content"] = [self.block(part, "pi") for part in what[-2 if who == "tool" else 0]]
            before = f"{at - 1:08x}" if at else None
            yield {"type": "message", "id": f"{at:08x}", "parentId": before, "timestamp": "2026-11-28T10:00:00.000Z", "message": message}

    def claude(self):
        for at, (who, *what) in enumerate(self.turns):
            if who == "tool":
                blocks = [self.block(part, "claude") for part in what[1]]
                content = [{"type": "tool_result", "tool_use_id": what[0], "content": blocks, "is_error": what[2]}]
            else:
                content = [self.block(part, "claude") for part in what[0]]
            own = lambda at: f"{at:08x}-0000-4000-8000-000000000000"
            kind = "assistant" if who == "model" else "user"
            message = {"role": kind, "content": content}
            if who == "model":
                message |= {"id": f"msg_{at}", "type": "message", "model": "claude-m", "stop_reason": "end_turn"}
            yield {"parentUuid": own(at - 1) if at else None, "isSidechain": False, "cwd": "/work/project", "sessionId": own(9999),
                   "version": "2.1.332", "type": kind, "message": message, "uuid": own(at), "timestamp": f"2026-11-28T10:00:{at:02}.000Z"}

    def chimera(self):
        text = lambda parts: "".join(part[1] for part in parts if part[0] == "text")
        for at, (who, *what) in enumerate(self.turns):
            message = {"role": {"user": "user", "model": "assistant", "tool": "tool"}[who], "content": text(what[-2 if who == "tool" else 0])}
            if who == "tool":
                message["call_id"] = what[0]
            elif calls := [{"id": part[1], "name": part[2], "arguments": part[3]} for part in what[0] if part[0] == "call"]:
                message["tool_calls"] = calls
            yield {"type": "message", "id": f"{at:012x}", "parent_id": f"{at - 1:012x}" if at else None, "timestamp": 1764000000.5 + at, "message": message}

    def codex(self):
        line = lambda kind, payload: {"timestamp": "2026-11-28T10:00:00.000Z", "type": kind, "payload": payload}
        yield line("session_meta", {"id": "01900000-0000-7000-8000-000000000001", "timestamp": "2026-11-28T10:00:00.000Z", "cwd": "/work/project",
                                    "originator": "codex_exec", "cli_version": "0.171.0", "source": "exec"})
        image = {"type": "input_image", "image_url": f"data:image/png;base64,{self.IMAGE}"}
        for who, *what in self.turns:
            parts = what[-2 if who == "tool" else 0]
            content = [image if part[0] == "image" else {"type": "output_text" if who == "model" else "input_text", "text": part[1]}
                       for part in parts if part[0] != "call"]
            if who == "tool":
                yield line("response_item", {"type": "function_call_output", "call_id": what[0], "output": content})
            elif content:
                yield line("response_item", {"type": "message", "role": "assistant" if who == "model" else "user", "content": content})
            for part in parts:
                if part[0] == "call":
                    yield line("response_item", {"type": "function_call", "call_id": part[1], "name": part[2], "arguments": json.dumps(part[3])})

    def omp(self):
        start = '{"type":"title","v":1,"title":"made","updatedAt":"2026-11-28T10:00:00.000Z","pad":"'
        yield json.loads(start + " " * (256 - len(start) - 3) + '"}')
        yield from self.pi()

    def write(self, folder, number):
        for kind in ("pi", "claude", "chimera", "codex", "omp"):
            # The title of oh-my-pi has a fixed length.
            style = {"separators": (",", ":")} if kind == "omp" else {}
            lines = [json.dumps(line, ensure_ascii=number % 2 == 0, **style) for line in getattr(self, kind)()]
            (folder / f"{kind}-{number:03}.jsonl").write_text("\n".join(lines) + "\n")


class Lines:
    """A process that answers each line with a line."""

    def __init__(self, words, env=None):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def __call__(self, path):
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def program(to, work):
    """Returns a function that asks the program what it sends when it resumes a file."""
    if to in ("pi", "omp"):
        script = work / f"{to}.mjs"
        script.write_text(PI)
        bun = next(PEERS.glob("omp/node_modules/@oven/*/bin/bun"), "bun")
        return Lines(["node" if to == "pi" else str(bun), str(script), to, str(PEERS), str(work)])
    if to == "chimera":
        return Lines([str(PEERS / "chimera-venv/bin/python"), "-c", CHIMERA])
    if to == "claude":
        loader = importlib.machinery.SourceFileLoader("resume_check", os.environ["BOUGH_CLAUDE_RESUME"])
        check = importlib.util.module_from_spec(importlib.util.spec_from_loader("resume_check", loader))
        loader.exec_module(check)
        args = argparse.Namespace(version="2.1.332", cont=False, interactive=False, client_arg=[], timeout=50)

        def ask(path):
            ran = check.run_client(args, path.read_bytes(), path.stem, [], None)
            request = check.main_request(ran["requests"])
            if request is None:
                return {"error": (ran["err"] or ran["out"])[-300:]}
            messages = request["messages"]
            return {"sent": messages, "refused": check.api_rules(messages) + wrong_ids(messages)}
        return ask

    def ask(path):
        with tempfile.TemporaryDirectory() as folder:
            real = guests.Program("codex", Path(folder), guests.PORT)
            session = real.place(path.read_text().replace("/work/project", str(real.project)))
            guests.Service.requests.clear()
            told = real.turn("bough probe", session)
            bodies = [body for where, body in guests.Service.requests if "/responses" in where]
            if not bodies:
                return {"error": told[-300:]}
            sent = json.loads(json.dumps(bodies[0]["input"][:-1]).replace(str(real.project), "/work/project"))
            return {"sent": sent}
    return ask


def wrong_ids(messages):
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    ids = [block.get("id") or block["tool_use_id"] for block in blocks if block["type"] in ("tool_use", "tool_result")]
    return [f"call id {own}" for own in ids if not re.fullmatch(r"[A-Za-z0-9_-]+", own)]


def main():
    if sys.argv[1:2] == ["make"]:
        folder = Path(sys.argv[3])
        folder.mkdir(parents=True, exist_ok=True)
        return [Made(number).write(folder, number) for number in range(int(sys.argv[2]))] and 0
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--to", default=",".join(TARGETS))
    parser.add_argument("--bough", default="target/debug/bough")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--back", action="store_true")
    parser.add_argument("groups", nargs="+")
    args = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), guests.Service)
    guests.PORT = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    table, first = [], []
    with tempfile.TemporaryDirectory() as folder:
        work = args.keep or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        if args.back:
            return all_back(args, work)
        for to in args.to.split(","):
            ask = program(to, work)
            for group in args.groups:
                name, _, patterns = group.partition("=")
                files = sorted(file for pattern in patterns.split(",") for file in glob.glob(pattern))
                random.Random(1).shuffle(files)
                compare(args, to, name, files, ask, work, table, first)
    shown = {}
    for pair, name, text in first:
        shown.setdefault((pair, text.split(":")[0].rstrip("0123456789")), []).append(f"{name}: {text}")
    for texts in shown.values():
        print(texts[0] + (f"\n  and {len(texts) - 1} more like it" if texts[1:] else ""))
    print(f"\n{'source':<12} {'target':<8} {'sessions':>8} {'resumed':>8} {'refused':>8} {'equal':>6} {'different':>9}")
    for row in table:
        print("{:<12} {:<8} {:>8} {:>8} {:>8} {:>6} {:>9}".format(*row))
    return any(row[2] != row[5] or row[4] for row in table)


def all_back(args, work):
    """Converts to each format and back; prints a row for each pair."""
    run = lambda *words: subprocess.run([args.bough, *words], capture_output=True, text=True, timeout=60)
    names = ["sessions", "equal", "longer", "resumed", "sent", "anew"]
    print(f"{'source':<10} {'by':<10}" + "".join(f"{name:>10}" for name in names))
    is_wrong = False
    for group in args.groups:
        name, _, patterns = group.partition("=")
        files = sorted(file for pattern in patterns.split(",") for file in glob.glob(pattern))
        random.Random(1).shuffle(files)
        ask, opens = program(name, work), {}

        def asked(path):
            """A file that has the name of the program's own files, and what is sent for it."""
            own = json.loads(run("status", "--json", "-s", str(path)).stdout).get("session", "session")
            start = "rollout-2026-11-28T10-00-00-" if name == "codex" else ""
            copy = work / f"{start}{own}.jsonl"
            copy.write_bytes(path.read_bytes())
            return ask(copy)

        for by in args.to.split(","):
            if by == name:
                continue
            count = dict.fromkeys(names, 0)
            for file in files:
                if count["sessions"] == args.count:
                    break
                (work / "back").mkdir(exist_ok=True)
                between, back, longer = work / "between.jsonl", work / "same.jsonl", work / "back"
                for old in [between, back, *longer.iterdir()]:
                    old.unlink(missing_ok=True)
                # Older versions come back only if nothing was touched; a session without turns is not converted.
                if json.loads(run("status", "--json", "-s", file).stdout or "{}").get("format") != name:
                    continue
                if run("convert", "-s", file, "--to", by, "-o", str(between)).returncode:
                    continue
                # Nor is one that its own program refuses.
                if file not in opens:
                    opens[file] = asked(Path(file))
                if "error" in opens[file]:
                    continue
                count["sessions"] += 1
                run("convert", "-s", str(between), "--to", name, "-o", str(back))
                same = back.exists() and back.read_bytes() == Path(file).read_bytes()
                count["equal"] += same
                if not same:
                    print(f"{file} by {by}: other bytes")
                if by == "codex":
                    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on, please"}]}
                    line = {"timestamp": "2026-11-28T10:00:00.000Z", "type": "response_item", "payload": item}
                    between.write_bytes(between.read_bytes() + json.dumps(line).encode() + b"\n")
                elif run("append", "--kind", "message", "--text", "go on, please", "-s", str(between), "--force").returncode:
                    # There is no HEAD.
                    count["sessions"] -= 1
                    count["equal"] -= same
                    continue
                made = run("convert", "-s", str(between), "--to", name, "-o", str(longer), "--json")
                path = next(longer.iterdir(), None)
                if path is None:
                    print(f"{file} by {by}: {made.stderr[-200:]}")
                    continue
                if '"came_back"' not in made.stdout:
                    count["anew"] += 1
                    why = json.loads(made.stdout or "{}").get("not_back", made.stderr[-200:])
                    print(f"{file} by {by}: anew: {why}")
                    continue
                count["longer"] += path.read_bytes().startswith(Path(file).read_bytes())
                answer = asked(path)
                if "sent" not in answer:
                    print(f"{file} by {by}: not resumed: {answer.get('error')}")
                    continue
                count["resumed"] += 1
                raw = "".join(each.read_text(errors="replace") for each in (Path(file), path))
                wanted, sent = (of_target(name, each["sent"], raw) for each in (opens[file], answer))
                wanted.add("user", "text", "go on, please")
                wanted, sent = wanted.rows(name), sent.rows(name)
                if wanted == sent:
                    count["sent"] += 1
                else:
                    at = next(at for at in range(len(wanted) + 1) if wanted[at:at + 1] != sent[at:at + 1])
                    texts = [str(rows[at:at + 1]) for rows in (wanted, sent)]
                    start = max(len(os.path.commonprefix(texts)) - 60, 0)
                    print(f"{file} by {by}: turn {at}:", *(f"    {text[start:start + 300]}" for text in texts), sep="\n")
            is_wrong |= count["sessions"] != count["equal"] or count["sent"] + count["anew"] != count["sessions"]
            print(f"{name:<10} {by:<10}" + "".join(f"{count[name]:>10}" for name in names), flush=True)
    return is_wrong


def compare(args, to, group, files, ask, work, table, first):
    run = lambda *words: subprocess.run([args.bough, *words], capture_output=True, text=True, timeout=60)
    sessions = resumed = refused = equal = 0
    for file in files:
        if sessions == args.count:
            break
        context = run("context", "--json", "-s", file)
        if context.returncode or not context.stdout.strip():
            continue
        source = of_source(filter(str.strip, context.stdout.split("\n"))).rows(to)
        if not source:
            continue
        new = work / "new"
        new.mkdir(exist_ok=True)
        made = run("convert", "-s", file, "--to", to, "--thinking", "drop", "--cwd", str(work), "-o", str(new))
        paths = list(new.iterdir())
        sessions += 1
        if not paths:
            first.append(((group, to), f"{file} to {to}", "not converted: " + made.stderr[-300:]))
            continue
        if to == "codex" or args.keep is None:
            path = paths[0]
        else:
            path = paths[0].rename(work / paths[0].name)
        raw = path.read_text()
        answer = ask(path)
        if path.parent == new:
            path.unlink()
        if not answer.get("sent") and "error" in answer:
            first.append(((group, to), f"{file} to {to}", "not resumed: " + answer["error"]))
            continue
        resumed += 1
        if answer.get("refused"):
            refused += 1
            first.append(((group, to), f"{file} to {to}", "would be refused: " + "; ".join(answer["refused"])))
        sent = of_target(to, answer["sent"], raw).rows(to)
        if source == sent:
            equal += 1
            continue
        at = next(at for at in range(len(source) + 1) if source[at:at + 1] != sent[at:at + 1])
        shown = [json.dumps((rows[at:at + 1] or ["nothing"])[0], ensure_ascii=False)[:600] for rows in (source, sent)]
        first.append(((group, to), f"{file} to {to}", f"turn {at}:\n    source {shown[0]}\n    target {shown[1]}"))
    table.append((group, to, sessions, resumed, refused, equal, resumed - equal))
    print(f"{group} to {to}: {sessions} {resumed} {refused} {equal}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
