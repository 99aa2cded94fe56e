#!/usr/bin/env python3
"""Asks pi and oh-my-pi, as whole programs, what they send for a session when they continue it.

  sent.py [PROGRAM...]            compare with the recorded answers, or print the difference
  sent.py --record                write the answers to tests/cli/sessions/sent/answers.jsonl
  sent.py --ask PROGRAM FILE...   print a JSON line for each file

The sessions are those in tests/cli/sessions/sent: the beginning of a name says which programs are asked. A model service on the
loopback address takes the request. Each row of an answer is a message: its role, and its texts; `[image]` is an image, `call NAME` a
call. What is new each time (the system prompt, the date) is left out, and so is the prompt with which the session is continued.
Paragraphs of oh-my-pi's own are `[added]`.

The programs are in $BOUGH_PEERS: pi 1.6.0 (run by Bun), pi-old 0.73.1 and omp 18.2.3.
"""

import http.server
import json
import os
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
SESSIONS = Path(__file__).parent.parent / "cli/sessions/sent"
# The beginning of a file's name, and the programs that are asked about it.
PROGRAMS = {"pi": ["pi", "pi-old"], "omp": ["omp"]}
# Where a paragraph of oh-my-pi's own begins and ends.
ADDED = [
    r"\AContext replaced\..*?(?=<handoff>\n)",
    r"\A<experimental-context-notes>.*?Latest notebook revision:\n|\n</experimental-context-notes>\Z",
    r"\A<system-notice>.*?</system-notice>\n",
    r"\n\n\[Showing [^\]]*\]\Z",
]
MODEL = {"id": "mock-1", "name": "mock", "input": ["text", "image"], "contextWindow": 200000, "maxTokens": 8000}


def words(program):
    bun = str(next(PEERS.glob("omp/node_modules/@oven/*/bin/bun"), "bun"))
    if program == "omp":
        return [bun, str(PEERS / "omp/node_modules/@oh-my-pi/pi-coding-agent/dist/cli.js"), "-p", "--model", "mock/mock-1", "--resume"]
    start = [bun] if program == "pi" else []
    return [*start, str(PEERS / program / "node_modules/.bin/pi"), "-p", "--provider", "mock", "--model", "mock-1", "--session"]


def ask(program, file):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home, project = Path(folder), Path(folder) / "project"
        project.mkdir()
        base = f"http://127.0.0.1:{guests.PORT}/v1"
        provider = {"baseUrl": base, "apiKey": "x", "api": "openai-completions", "models": [MODEL]}
        for place in (".pi/agent/models.json", ".omp/agent/models.yml"):
            (home / place).parent.mkdir(parents=True)
            (home / place).write_text(json.dumps({"providers": {"mock": provider}}))
        session = project / Path(file).name
        session.write_text(Path(file).read_text().replace("/work/project", str(project)))
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
        guests.Service.requests.clear()
        ran = subprocess.run([*words(program), str(session), "go on"], cwd=project, env=env, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=120)
        bodies = [body for _, body in guests.Service.requests if body.get("messages")]
        answer = {"program": program, "file": Path(file).name, "sent": rows(bodies[0]) if bodies else None}
        if not bodies:
            answer["said"] = (ran.stdout + ran.stderr)[-300:]
        return json.loads(json.dumps(answer).replace(str(project), "/work/project"))


def rows(body):
    out = []
    for message in body["messages"][:-1]:
        if message["role"] == "system":
            continue
        content = message["content"] or []
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        said = [part.get("text", "[image]") for part in parts]
        said = [text for text in said if text and not text.startswith("<system-reminder>\nToday: ")]
        said = [re.sub("|".join(ADDED), "[added]", text, flags=re.DOTALL) for text in said]
        said += [f"call {call['function']['name']}" for call in message.get("tool_calls") or []]
        out.append([message["role"], *said])
    return out


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), guests.Service)
    guests.PORT = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if sys.argv[1:2] == ["--ask"]:
        for file in sys.argv[3:]:
            print(json.dumps(ask(sys.argv[2], file), ensure_ascii=False), flush=True)
        return 0
    record = SESSIONS / "answers.jsonl"
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")]
    lines = []
    for file in sorted(SESSIONS.glob("*.jsonl")):
        for program in PROGRAMS.get(file.name.split("-")[0], []):
            if not wanted or program in wanted:
                lines.append(json.dumps(ask(program, file), ensure_ascii=False))
    if "--record" in sys.argv:
        record.write_text("\n".join(lines) + "\n")
        return 0
    known = set(record.read_text().splitlines()) if record.exists() else set()
    for line in lines:
        if line not in known:
            print(line)
    return any(line not in known for line in lines)


if __name__ == "__main__":
    sys.exit(main())
