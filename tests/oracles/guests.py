#!/usr/bin/env python3
"""Plays sessions with the real Codex, Gemini CLI, Copilot CLI and OpenCode, and asks them what they would send.

  guests.py play PROGRAM COUNT OUT   play COUNT sessions, and write each to OUT/PROGRAM-N.jsonl without the
                                     texts of the program: its instructions, the environment, encrypted thoughts
  guests.py make PROGRAM COUNT OUT   write random sessions as the program could have written them, with turns that
                                     were taken back, compactions, and calls without results
  guests.py ask PROGRAM FILE...      print a JSON line for each session: the messages of the first request that
                                     the program makes when it continues the session

A model service on the loopback address answers: what it says depends only on the last prompt. The programs are in
$BOUGH_PEERS/others/node_modules/.bin: codex 0.171.0, gemini 0.61.0, copilot 1.0.102; and opencode 1.18.33 in
$BOUGH_PEERS/others-opencode. OpenCode runs as a server, since it plays more than prompts: it undoes turns, compacts,
and forks. Its sessions are exported and imported. Nothing leaves the machine.
"""

import http.server
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

PEERS = Path(os.environ.get("BOUGH_PEERS", Path.home() / ".cache/bough-peers"))
PROGRAM = PEERS / "others/node_modules/.bin"
OPENCODE = PEERS / "others-opencode/node_modules/opencode-linux-x64/bin/opencode"
WORDS = ["[call]", "[two]", "[think]", "[long]", "[fail]", "plain"]


def answer(prompt, has_results):
    """What the model says: thoughts, text, shell commands."""
    if has_results:
        return ("", f"Done with: {prompt[-40:]}", [])
    if "[call]" in prompt:
        return ("I should look.", "", ["echo one"])
    if "[two]" in prompt:
        return ("", "Two at once.", ["echo one", "echo two; echo three"])
    if "[fail]" in prompt:
        return ("", "", ["echo wrong; exit 3"])
    if "[think]" in prompt:
        return ("First this.\nThen that.", "I thought about it.", [])
    if "[long]" in prompt:
        return ("", "# Long\n\n- “quoted” \\ \"text\"\n- 日本語 🎉\n" + "x" * 3000, [])
    return ("", f"Reply to: {prompt[-40:]}", [])


class Service(http.server.BaseHTTPRequestHandler):
    """The three protocols: responses, chat completions, generateContent."""

    protocol_version = "HTTP/1.1"
    requests = []
    calls = 0
    # Where the program looks for thoughts.
    reads_content = False

    def log_message(self, *_):
        pass

    def send(self, body, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def events(self, events):
        lines = []
        for event in events:
            if isinstance(event, dict) and "type" in event:
                lines.append(f"event: {event['type']}\n")
            data = event if isinstance(event, str) else json.dumps(event)
            lines.append(f"data: {data}\n\n")
        self.send("".join(lines).encode(), "text/event-stream")

    def do_GET(self):
        models = {"object": "list", "data": [{"id": "mock-1", "object": "model"}], "models": []}
        self.send(json.dumps(models if "models" in self.path else {}).encode(), "application/json")

    def read_body(self):
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            chunk = self.rfile.read(size)
            self.rfile.readline()
            if size == 0:
                return body
            body += chunk

    def do_POST(self):
        body = json.loads(self.read_body() or b"{}")
        path = self.path.split("?")[0]
        Service.requests.append((path, body))
        if path.endswith("/responses"):
            return self.for_codex(body)
        if path.endswith("/chat/completions"):
            return self.for_copilot(body)
        if "enerateContent" in path:
            return self.for_gemini(body, "stream" in path)
        self.send(b'{"totalTokens":1}', "application/json")

    def ids(self, commands):
        for command in commands:
            Service.calls += 1
            yield f"call_{Service.calls}", command

    def for_codex(self, body):
        items = body["input"]
        typed = [i for i in items if i.get("role") == "user"]
        prompt = "".join(part.get("text", "") for part in typed[-1]["content"]) if typed else ""
        after = items[items.index(typed[-1]):] if typed else []
        thought, text, commands = answer(prompt, any(i["type"].endswith("_output") for i in after))
        Service.calls += 1
        out = []
        if thought:
            out.append({"type": "reasoning", "id": f"rs_{Service.calls}", "encrypted_content": "SEALED",
                        "summary": [{"type": "summary_text", "text": thought}]})
        if text:
            out.append({"type": "message", "id": f"msg_{Service.calls}", "role": "assistant", "status": "completed",
                        "content": [{"type": "output_text", "text": text, "annotations": []}]})
        for call, command in self.ids(commands):
            out.append({"type": "function_call", "id": f"f{call}", "call_id": call, "name": "exec_command",
                        "arguments": json.dumps({"cmd": command}), "status": "completed"})
        events = [{"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}]
        for number, item in enumerate(out):
            events.append({"type": "response.output_item.done", "output_index": number, "item": item})
        usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 10}, "output_tokens": 20,
                 "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 120}
        events.append({"type": "response.completed",
                       "response": {"id": "resp_1", "status": "completed", "output": [], "usage": usage}})
        self.events(events)

    def for_copilot(self, body):
        messages = body["messages"]
        last = max(at for at, message in enumerate(messages) if message["role"] == "user")
        content = messages[last]["content"]
        prompt = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        thought, text, commands = answer(prompt, any(m["role"] == "tool" for m in messages[last:]))
        if Service.reads_content and not body.get("tools"):
            # A title, or a summary.
            thought, text, commands = "", "What was done.", []
        delta = {"role": "assistant", "content": text or None}
        if thought:
            delta["reasoning_content" if Service.reads_content else "reasoning_text"] = thought
        if commands:
            delta["tool_calls"] = [
                {"index": at, "id": call, "type": "function",
                 "function": {"name": "bash", "arguments": json.dumps({"command": command, "description": "run it"})}}
                for at, (call, command) in enumerate(self.ids(commands))]
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
                 "prompt_tokens_details": {"cached_tokens": 10}}
        chunk = {"id": "c1", "object": "chat.completion.chunk", "model": "mock-1", "created": 1}
        finish = "tool_calls" if commands else "stop"
        if body.get("stream"):
            return self.events([
                json.dumps({**chunk, "choices": [{"index": 0, "delta": delta}]}),
                json.dumps({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}),
                "[DONE]"])
        whole = {**chunk, "object": "chat.completion", "usage": usage,
                 "choices": [{"index": 0, "message": delta, "finish_reason": finish}]}
        self.send(json.dumps(whole).encode(), "application/json")

    def for_gemini(self, body, streams):
        contents = body["contents"]
        typed = [at for at, content in enumerate(contents)
                 if content["role"] == "user" and any("text" in part for part in content["parts"])]
        prompt = contents[typed[-1]]["parts"][-1].get("text", "") if typed else ""
        has_results = any("functionResponse" in part for c in contents[typed[-1]:] for part in c["parts"])
        thought, text, commands = answer(prompt, has_results)
        parts = []
        if thought:
            parts.append({"text": f"**Plan** {thought}", "thought": True})
        if text:
            parts.append({"text": text})
        for call, command in self.ids(commands):
            parts.append({"functionCall": {"id": call, "name": "run_shell_command",
                                           "args": {"command": command, "description": "run it"}}})
        whole = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
                 "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 5,
                                   "cachedContentTokenCount": 10, "totalTokenCount": 125}, "modelVersion": "gemini-2.5-pro"}
        if streams:
            return self.events([json.dumps(whole)])
        self.send(json.dumps(whole).encode(), "application/json")


class Program:
    """One of the programs, with a home of its own."""

    def __init__(self, name, folder, port):
        self.name, self.home, self.project = name, folder / "home", folder / "project"
        self.project.mkdir(parents=True)
        self.home.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)
        base = f"http://127.0.0.1:{port}"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"}
        if name == "codex":
            self.env["MOCK_KEY"] = "x"
            config = self.home / ".codex/config.toml"
            config.parent.mkdir()
            config.write_text(
                'model = "gpt-5.1-codex"\nmodel_provider = "mock"\napproval_policy = "never"\n'
                'sandbox_mode = "danger-full-access"\n[model_providers.mock]\nname = "mock"\n'
                f'base_url = "{base}/v1"\nenv_key = "MOCK_KEY"\nwire_api = "responses"\n')
        elif name == "gemini":
            self.env |= {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": base}
            settings = self.home / ".gemini/settings.json"
            settings.parent.mkdir()
            settings.write_text(json.dumps({
                "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
                "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
                "general": {"disableAutoUpdate": True}}))
        else:
            self.env |= {"COPILOT_PROVIDER_BASE_URL": f"{base}/v1", "COPILOT_PROVIDER_TYPE": "openai",
                         "COPILOT_MODEL": "mock-1", "COPILOT_PROVIDER_API_KEY": "x", "COPILOT_OFFLINE": "true"}

    def turn(self, prompt, session=None):
        binary = str(PROGRAM / self.name)
        words = {
            "codex": ["exec", "--skip-git-repo-check", *(["resume", session] if session else []), prompt],
            "gemini": ["--yolo", "-m", "gemini-2.5-pro", *(["--resume", session] if session else []), "-p", prompt],
            "copilot": ["-p", prompt, "--allow-all-tools", *([f"--resume={session}"] if session else [])],
        }[self.name]
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen([binary, *words], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL,
                                       stdout=said, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            said.seek(0)
            return said.read().decode(errors="replace")

    def stop(self):
        pass

    def store(self):
        return {"codex": self.home / ".codex/sessions", "gemini": self.home / ".gemini/tmp",
                "copilot": self.home / ".copilot/session-state"}[self.name]

    def file(self):
        files = [path for path in self.store().rglob("*.jsonl") if path.name != "logs.jsonl"]
        return max(files, key=lambda path: path.stat().st_mtime)

    def place(self, text):
        """Puts a session into the store, as if it had been played here; returns its id."""
        first = json.loads(text.splitlines()[0])
        if self.name == "codex":
            session = first["payload"]["id"]
            path = self.store() / f"2026/11/28/rollout-2026-11-28T10-00-00-{session}.jsonl"
        elif self.name == "gemini":
            session = first["sessionId"]
            folder = next((self.store()).iterdir(), None) or self.store() / "project"
            path = folder / f"chats/session-2026-11-28T10-00-{session[:8]}.jsonl"
        else:
            session = first["data"]["sessionId"]
            path = self.store() / session / "events.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return session


class OpenCode:
    """OpenCode as a server, with a home of its own."""

    def __init__(self, folder, port):
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)
        model = {"tool_call": True, "reasoning": True, "attachment": True, "limit": {"context": 200000, "output": 8000},
                 "modalities": {"input": ["text", "image"], "output": ["text"]}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "mock", "models": {"mock-1": model, "mock-2": model},
                    "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "x"}}
        (self.project / "opencode.json").write_text(json.dumps({
            "provider": {"mock": provider}, "model": "mock/mock-1", "small_model": "mock/mock-1", "autoupdate": False,
            "share": "disabled", "compaction": {"auto": False}}))
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "LANG": "C.UTF-8",
                    "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
        self.server = subprocess.Popen([OPENCODE, "serve", "--port", "0"], cwd=self.project, env=self.env, text=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for line in self.server.stdout:
            if found := re.search(r"listening on (http://\S+)", line):
                self.base = found[1]
                break
        threading.Thread(target=self.server.stdout.read, daemon=True).start()

    def stop(self):
        self.server.terminate()
        self.server.wait()

    def call(self, path, body=None, method="POST"):
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.base + path, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.loads(response.read() or b"null")

    def run(self, *words):
        return subprocess.run([OPENCODE, *words], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, text=True).stdout

    def prompt(self, session, text, model=None, parts=()):
        more = {"model": {"providerID": "mock", "modelID": model}} if model else {}
        return self.call(f"/session/{session}/message", {"parts": [{"type": "text", "text": text}, *parts], **more})

    def messages(self, session):
        return self.call(f"/session/{session}/message", method="GET")

    def export(self, session):
        process = subprocess.run([OPENCODE, "export", session], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, text=True)
        return process.stdout.replace(str(self.project), "/work/project")

    def place(self, text):
        path = self.project / "session.json"
        path.write_text(text.replace("/work/project", str(self.project)))
        said = self.run("import", str(path))
        return json.loads(text)["info"]["id"], said

    def play(self, number, chance):
        """Plays a session; returns its id."""
        session = self.call("/session")["id"]
        for turn in range(2 + number % 4):
            word = WORDS[(number + turn * 2) % len(WORDS)]
            parts = []
            if (number + turn) % 5 == 0:
                pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
                parts = [{"type": "file", "mime": "image/png", "filename": "dot.png", "url": f"data:image/png;base64,{pixel}"}]
            self.prompt(session, f"{word} number {chance.randrange(1000)}", chance.choice(["mock-1", "mock-1", "mock-2"]), parts)
            known = self.messages(session)
            if number % 4 == 1 and turn == 1:
                self.call(f"/session/{session}/summarize", {"providerID": "mock", "modelID": "mock-1"})
            elif number % 4 == 2 and turn > 0:
                one = chance.choice(known)
                self.call(f"/session/{session}/revert", {"messageID": one["info"]["id"]})
            elif number % 4 == 3 and turn > 0:
                one = chance.choice([one for one in known if one["info"]["role"] == "assistant"])
                self.call(f"/session/{session}/revert", {"messageID": one["info"]["id"], "partID": chance.choice(one["parts"])["id"]})
        if number % 6 == 4:
            session = self.call(f"/session/{session}/fork", {"messageID": known[-1]["info"]["id"]} if number % 4 else {})["id"]
        return session


def without_texts_of_program(program, text, project):
    """Removes what the program says about itself; everything else stays as it is."""
    out = []
    for line in text.replace(str(project), "/work/project").splitlines():
        value = json.loads(line)
        if program == "codex":
            payload = value["payload"]
            if value["type"] in ("world_state",):
                continue
            if payload.get("role") == "developer":
                payload["content"] = [{"type": "input_text", "text": "<permissions instructions>\nnone\n</permissions instructions>"}]
            payload.pop("base_instructions", None)
            for part in payload.get("content") or []:
                if isinstance(part, dict) and part.get("text", "").startswith("<environment_context>"):
                    part["text"] = "<environment_context>\n  <cwd>/work/project</cwd>\n</environment_context>"
        elif program == "gemini":
            for message in [value, *value.get("$set", {}).get("messages", [])]:
                for part in message.get("content") or []:
                    if isinstance(part, dict) and part.get("text", "").startswith("<session_context>"):
                        part["text"] = "<session_context>\nnone\n</session_context>"
        elif value["type"] == "system.message":
            value["data"]["content"] = "none"
        out.append(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return "\n".join(out) + "\n"


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def play(program, count, out):
    out.mkdir(parents=True, exist_ok=True)
    if program == "opencode":
        return play_opencode(count, out)
    chance = random.Random(f"{program} 1")
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            real = Program(program, Path(folder), PORT)
            session = None
            for turn in range(1 + number % 3):
                real.turn(f"{WORDS[(number + turn * 2) % len(WORDS)]} number {chance.randrange(1000)}", session)
                first = json.loads(real.file().read_text().splitlines()[0])
                session = {"codex": lambda: first["payload"]["id"], "gemini": lambda: first["sessionId"],
                           "copilot": lambda: first["data"]["sessionId"]}[program]()
            text = without_texts_of_program(program, real.file().read_text(), real.project)
            (out / f"{program}-{number + 1:02}.jsonl").write_text(text)
        print(f"{program} {number + 1}", flush=True)


def play_opencode(count, out):
    chance = random.Random("opencode 1")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        real = OpenCode(Path(folder), PORT)
        try:
            for number in range(count):
                text = real.export(real.play(number, chance))
                (out / f"opencode-{number + 1:02}.json").write_text(text)
                print(f"opencode {number + 1}", flush=True)
        finally:
            real.stop()


class Made:
    """A random session."""

    def __init__(self, program, number):
        self.chance = random.Random(f"{program} made {number}")
        self.lines, self.count = [], 0
        self.session = f"0190{number:04x}-0000-7000-8000-{self.chance.randrange(1 << 48):012x}"
        getattr(self, program)()

    def hits(self, percent):
        return self.chance.randrange(100) < percent

    def time(self):
        self.count += 1
        return f"2026-11-28T10:{self.count // 60:02}:{self.count % 60:02}.000Z"

    def write(self, path):
        if isinstance(self.lines, dict):
            path.with_suffix(".json").write_text(json.dumps(self.lines, ensure_ascii=False, indent=2) + "\n")
            return
        lines = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in self.lines]
        path.write_text("\n".join(lines) + "\n")

    # Codex

    def codex(self):
        self.add("session_meta", id=self.session, timestamp=self.time(), cwd="/work/project", originator="codex_exec",
                 cli_version="0.171.0", source="exec")
        # The versions that stored only the summary of a compaction could not roll back.
        is_old = self.hits(30)
        for turn in range(self.chance.randrange(1, 9)):
            self.codex_turn(turn)
            if not is_old and self.hits(30):
                self.add("event_msg", type="thread_rolled_back", num_turns=self.chance.choice([0, 1, 1, 2, 3, 9]))
            if self.hits(15):
                name = f"0190cccc-0000-7000-8000-{turn:012x}"
                self.add("event_msg", type="task_started", turn_id=name, model_context_window=258400)
                kept = [self.said("user", f"kept {turn}"), self.said("user", f"A summary of {turn} turns.")]
                more = {} if is_old else {"replacement_history": kept}
                self.add("compacted", message=f"A summary of {turn} turns.", **more)
                self.add("event_msg", type="task_complete", turn_id=name, last_agent_message=None)

    def add(self, line_type, **payload):
        self.lines.append({"timestamp": self.time(), "type": line_type, "payload": payload})

    def said(self, role, text):
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    def codex_turn(self, turn):
        name = f"0190aaaa-0000-7000-8000-{turn:012x}"
        self.add("event_msg", type="task_started", turn_id=name, model_context_window=258400)
        if turn == 0 or self.hits(25):
            self.add("response_item", **self.said("user", "<environment_context>\n  <cwd>/work/project</cwd>\n</environment_context>"))
        self.add("turn_context", turn_id=name, cwd="/work/project", approval_policy="never",
                 sandbox_policy={"type": "danger-full-access"}, model="gpt-5.1-codex", summary="none")
        if self.hits(10):
            self.add("response_item", **self.said("user", "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\n</result>\n</user_shell_command>"))
        self.add("response_item", **self.said("user", f"prompt {turn}"))
        self.add("event_msg", type="user_message", message=f"prompt {turn}", kind="plain")
        for step in range(self.chance.randrange(0, 4)):
            call = f"call_{turn}_{step}"
            what = self.chance.randrange(6)
            if what == 0:
                self.add("response_item", type="reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="SEALED")
            elif what == 1:
                self.add("response_item", type="custom_tool_call", call_id=call, name="apply_patch", input="*** Begin Patch\n*** End Patch")
                if self.hits(80):
                    self.add("response_item", type="custom_tool_call_output", call_id=call, output="done")
            elif what < 5:
                self.add("response_item", type="function_call", name="exec_command", call_id=call, arguments='{"cmd": "ls"}')
                if self.hits(80):
                    self.add("response_item", type="function_call_output", call_id=call, output=f"out {step}")
            else:
                self.add("response_item", type="function_call_output", call_id=f"gone_{turn}_{step}", output="nobody asked")
        if self.hits(80):
            self.add("response_item", **self.said("assistant", f"reply {turn}"))
        self.add("event_msg", type="task_complete", turn_id=name, last_agent_message=f"reply {turn}")

    # Gemini

    def gemini(self):
        self.lines.append({"sessionId": self.session, "projectHash": "h", "startTime": self.time(),
                           "lastUpdated": self.time(), "kind": "main"})
        known = []
        for turn in range(self.chance.randrange(1, 9)):
            new = [self.message("user", self.chance.choice([f"prompt {turn}"] * 6 + ["/stats", "? help"]))]
            if self.hits(40):
                call = f"run_shell_command__{turn}"
                result = [{"functionResponse": {"id": call, "name": "run_shell_command", "response": {"output": f"out {turn}"}}}]
                bare = self.message("gemini", "", model="gemini-2.5-pro")
                calls = [{"id": call, "name": "run_shell_command", "args": {"command": "ls"}, "result": result, "status": "success"}]
                new += [bare, {**bare, "toolCalls": calls}, self.message("user", result)]
            if self.hits(20):
                new.append(self.message("info", "a note"))
            if self.hits(85):
                thoughts = [{"subject": "Plan", "description": "hm"}] if self.hits(30) else []
                new.append(self.message("gemini", f"reply {turn}", thoughts=thoughts, model="gemini-2.5-pro"))
            self.lines += new
            known += [message for message in new if message["id"] not in [one["id"] for one in known]]
            self.lines.append({"$set": {"lastUpdated": self.time()}})
            if self.hits(30) and known:
                at = self.chance.randrange(len(known))
                self.lines.append({"$rewindTo": known[at]["id"]})
                known = known[:at]
            elif self.hits(5):
                self.lines.append({"$rewindTo": "unknown"})
                known = []
            elif self.hits(15) and known:
                keep = known[self.chance.randrange(len(known)):]
                latest = {line["id"]: line for line in self.lines if "id" in line}
                first = self.message("user", f"<state_snapshot>turn {turn}</state_snapshot>")
                known = [first, self.message("gemini", "Got it.")] + keep
                self.lines.append({"$set": {"messages": [latest.get(one["id"], one) for one in known]}})

    def message(self, kind, content, **more):
        self.count += 1
        content = [{"text": content}] if isinstance(content, str) and kind == "user" else content
        return {"id": f"{self.chance.randrange(1 << 64):016x}{self.count:016x}", "timestamp": self.time(), "type": kind,
                "content": content, **more}

    # Copilot

    def copilot(self):
        self.last = None
        self.event("session.start", sessionId=self.session, version=1, producer="copilot-agent", copilotVersion="1.0.102",
                   startTime=self.time(), selectedModel="mock-1", context={"cwd": "/work/project"})
        for turn in range(self.chance.randrange(1, 7)):
            talk = f"0190bbbb-0000-4000-8000-{turn:012x}"
            sent = {"transformedContent": f"<current_datetime>now</current_datetime>\n\nprompt {turn}"} if self.hits(70) else {}
            self.event("user.message", content=f"prompt {turn}", interactionId=talk, **sent)
            self.event("assistant.turn_start", turnId="0", interactionId=talk)
            if self.hits(50):
                calls = [f"call_{turn}_{at}" for at in range(self.chance.randrange(1, 3))]
                self.event("assistant.message", messageId=f"m{turn}", content="looking" if self.hits(50) else "", interactionId=talk,
                           toolRequests=[{"toolCallId": call, "name": "bash", "arguments": {"command": "ls"}, "type": "function"} for call in calls])
                for call in calls:
                    self.event("tool.execution_start", toolCallId=call, toolName="bash", arguments={"command": "ls"})
                for call in calls:
                    if self.hits(85):
                        self.event("tool.execution_complete", toolCallId=call, interactionId=talk, success=True, result={"content": f"out {call}"})
            if self.hits(85):
                self.event("assistant.message", messageId=f"n{turn}", content=f"reply {turn}", toolRequests=[], interactionId=talk)
            self.event("assistant.turn_end", turnId="0")

    def event(self, kind, **data):
        self.count += 1
        own = f"{self.chance.randrange(1 << 32):08x}-0000-4000-8000-{self.count:012x}"
        self.lines.append({"type": kind, "data": data, "id": own, "timestamp": self.time(), "parentId": self.last})
        self.last = own


    # OpenCode

    def opencode(self):
        self.messages, self.number = [], self.chance.randrange(1 << 30)
        for turn in range(self.chance.randrange(1, 7)):
            self.opencode_turn(turn)
            if self.hits(25):
                self.opencode_compaction()
                self.opencode_turn(turn + 10)
        info = {"id": self.opencode_id("ses"), "slug": "made", "projectID": "global", "directory": "/work/project", "title": "Made",
                "version": "1.18.33", "time": {"created": 1795879212603, "updated": 1795879224644}}
        for message in self.messages:
            message["info"]["sessionID"] = info["id"]
            for part in message["parts"]:
                part |= {"sessionID": info["id"], "messageID": message["info"]["id"]}
        if self.hits(40):
            one = self.chance.choice(self.messages)
            info["revert"] = {"messageID": one["info"]["id"]}
            if self.hits(50) and one["parts"]:
                info["revert"]["partID"] = self.chance.choice(one["parts"])["id"]
            elif self.hits(10):
                info["revert"]["messageID"] = "msg_unknown"
        self.lines = {"info": info, "messages": self.messages}

    def opencode_id(self, kind):
        self.number += 1
        return f"{kind}_{self.number:012x}made{self.chance.randrange(1 << 40):010x}"

    def opencode_part(self, kind, **more):
        return {"type": kind, "id": self.opencode_id("prt"), **more}

    def opencode_message(self, role, parts, **more):
        self.count += 1
        created = {"created": 1795879213018 + self.count * 1000}
        message = {"info": {"id": self.opencode_id("msg"), "role": role, "time": created, "agent": "build", **more}, "parts": []}
        for part in parts:
            message["parts"].append(self.opencode_part(**part))
        self.messages.append(message)
        return message["info"]["id"]

    def opencode_prompt(self, parts):
        self.model = self.chance.choice(["mock-1", "mock-1", "mock-2"])
        return self.opencode_message("user", parts, model={"providerID": "mock", "modelID": self.model})

    def opencode_reply(self, prompt, parts, **more):
        tokens = {"input": 10, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        self.opencode_message("assistant", parts, **{
            "parentID": prompt, "mode": "build", "path": {"cwd": "/work/project", "root": "/work/project"}, "cost": 0,
            "tokens": tokens, "modelID": self.model, "providerID": "mock", "finish": "stop", **more})

    def opencode_turn(self, turn):
        parts = [{"kind": "text", "text": f"prompt {turn}"}]
        if self.hits(20):
            parts.append({"kind": "text", "text": "put in", "synthetic": True})
        if self.hits(15):
            parts.append({"kind": "text", "text": "kept from the model", "ignored": True})
        if self.hits(15):
            parts.append({"kind": "file", "mime": "image/png", "filename": "dot.png", "url": "data:image/png;base64,AAAA"})
        if self.hits(10):
            parts.append({"kind": "file", "mime": "text/plain", "filename": "a.txt", "url": "data:text/plain;base64,AAAA"})
        prompt = self.opencode_prompt(parts)
        for step in range(self.chance.randrange(0, 3)):
            parts = [{"kind": "step-start"}]
            if self.hits(40):
                parts.append({"kind": "reasoning", "text": self.chance.choice(["hm", "hm", ""]), "time": {"start": 1}})
            if self.hits(40):
                parts.append({"kind": "text", "text": f"looking {step}"})
            for at in range(self.chance.randrange(0, 3)):
                parts.append(self.opencode_call(f"call_{turn}_{step}_{at}"))
            if self.hits(10):
                parts += [{"kind": "step-start"}, {"kind": "text", "text": "more"}, self.opencode_call(f"again_{turn}_{step}")]
            parts.append({"kind": "step-finish", "reason": "tool-calls", "cost": 0,
                          "tokens": {"input": 10, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 0}}})
            name = self.chance.choice(["MessageAbortedError", "MessageAbortedError", "UnknownError"])
            failed = {"error": {"name": name, "data": {"message": "no"}}} if self.hits(15) else {}
            self.opencode_reply(prompt, parts, finish="tool-calls", **failed)
            if self.hits(10):
                self.model = self.chance.choice(["mock-1", "mock-2"])
        self.opencode_reply(prompt, [{"kind": "step-start"}, {"kind": "text", "text": f"reply {turn}"}])

    def opencode_call(self, call):
        input, time = {"command": "ls"}, {"start": 1, "end": 2}
        state = self.chance.choice([
            {"status": "completed", "output": f"out {call}", "title": "ls", "metadata": {}, "time": time},
            {"status": "completed", "output": f"out {call}", "title": "ls", "metadata": {}, "time": time},
            {"status": "completed", "output": "long ago", "title": "ls", "metadata": {}, "time": {**time, "compacted": 3}},
            {"status": "error", "error": "it failed", "time": time},
            {"status": "error", "error": "stopped", "metadata": {"interrupted": True, "output": "half"}, "time": time},
            {"status": "running", "time": {"start": 1}},
            {"status": "pending", "raw": "{"},
        ])
        return {"kind": "tool", "tool": "bash", "callID": call, "state": {**state, "input": input}}

    def opencode_compaction(self):
        tail = {"tail_start_id": self.chance.choice(self.messages)["info"]["id"]} if self.hits(60) else {}
        prompt = self.opencode_prompt([{"kind": "compaction", "auto": False, **tail}])
        failed = {"error": {"name": "UnknownError", "data": {"message": "no"}}} if self.hits(15) else {}
        self.opencode_reply(prompt, [{"kind": "text", "text": f"A summary of {len(self.messages)} messages."}],
                            summary=True, mode="compaction", agent="compaction", **failed)


def sent(program, body):
    """The messages of a request in one form, without what is new each time."""
    out = []
    if program == "codex":
        for item in body["input"]:
            kind = item["type"]
            if kind == "message":
                text = "\n".join(part.get("text", "[image]") for part in item["content"])
                out.append([item["role"], text])
            elif kind == "reasoning":
                out.append([kind, ""])
            elif kind.endswith("_output"):
                output = item["output"]
                text = output if isinstance(output, str) else "\n".join(part.get("text", "[image]") for part in output)
                out.append([kind, f"{item['call_id']}: {text}"])
            else:
                out.append([kind, item.get("call_id", "") + ": " + str(item.get("arguments", item.get("input", "")))])
    elif program == "gemini":
        for content in body["contents"]:
            for part in content["parts"]:
                if "functionCall" in part:
                    call = part["functionCall"]
                    out.append([content["role"], f"call {call.get('id')}: " + compact(call.get("args"))])
                elif "functionResponse" in part:
                    response = part["functionResponse"]
                    out.append([content["role"], f"result {response.get('id')}: " + response["response"].get("output", "")])
                elif part.get("text", "").startswith("[The previous response was interrupted"):
                    out.append([content["role"], "[made up]"])
                else:
                    out.append([content["role"], part.get("text", "[image]")])
    else:
        for message in body["messages"]:
            content = message.get("content")
            text = content if isinstance(content, str) else "\n".join(part.get("text", "[image]") for part in content or [])
            if message.get("reasoning_content"):
                text = f"(thought: {message['reasoning_content']})" + text
            calls = "".join(f" call {call['id']}: {call['function']['arguments']}" for call in message.get("tool_calls") or [])
            head = f"result {message['tool_call_id']}: " if message["role"] == "tool" else ""
            out.append([message["role"], head + text + calls])
    # The last one is the prompt with which the session was continued.
    made = re.compile(r"^(You are|<(skills_instructions|permissions instructions|environment_context|session_context))")
    return [row for row in out[:-1] if row[0] not in ("system", "developer") and not made.match(row[1])]


def ask_opencode(files):
    Service.reads_content = True
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        real = OpenCode(Path(folder), PORT)
        try:
            for file in files:
                session, said = real.place(Path(file).read_text())
                Service.requests.clear()
                try:
                    real.prompt(session, "go on")
                except OSError as error:
                    said += f" {error} {error.read().decode() if hasattr(error, 'read') else ''}"
                # A title is asked for without tools.
                bodies = [body for path, body in Service.requests if body.get("tools")]
                answer = {"file": Path(file).name, "sent": sent("opencode", bodies[0]) if bodies else None}
                if not bodies:
                    answer["said"] = said[-400:]
                print(json.dumps(answer, ensure_ascii=False).replace(str(real.project), "/work/project"), flush=True)
        finally:
            real.stop()


def ask(program, files):
    if program == "opencode":
        return ask_opencode(files)
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            real = Program(program, Path(folder), PORT)
            if program == "gemini":
                # The folder of a project exists once the program ran in it.
                real.turn("plain")
            text = Path(file).read_text().replace("/work/project", str(real.project))
            if program == "gemini":
                known = json.loads(real.file().read_text().splitlines()[0])["projectHash"]
                first, _, rest = text.partition("\n")
                text = json.dumps({**json.loads(first), "projectHash": known}) + "\n" + rest
            session = real.place(text)
            Service.requests.clear()
            said = real.turn("go on", session)
            wanted = {"codex": "/responses", "gemini": "enerateContent", "copilot": "/completions"}[program]
            bodies = [body for path, body in Service.requests if wanted in path]
            answer = {"file": Path(file).name, "sent": sent(program, bodies[0]) if bodies else None}
            if not bodies:
                answer["said"] = said[-400:]
            print(json.dumps(answer, ensure_ascii=False).replace(str(real.project), "/work/project"), flush=True)


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    PORT = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Service.reads_content = sys.argv[2] == "opencode"
    if sys.argv[1] == "play":
        play(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    elif sys.argv[1] == "make":
        for number in range(int(sys.argv[3])):
            Made(sys.argv[2], number).write(Path(sys.argv[4]) / f"{sys.argv[2]}-made-{number + 1:03}.jsonl")
    else:
        ask(sys.argv[2], sys.argv[3:])
