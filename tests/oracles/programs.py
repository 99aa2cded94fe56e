"""The agents' own programs: how each is asked what it sees in a session file, and what the scripts of this folder share.

BOUGH        the program under test (default target/debug/bough)
BOUGH_SHARED the folder with `oracles` and `corpus` (default ../shared)
BOUGH_PEERS  the folder with the installed programs (default ~/.cache/bough-peers)
CHIMERA_PYTHON  a Python that has Chimera (default chimera-venv/bin/python in the folder above)
"""
import datetime, hashlib, json, os, pathlib, re, shutil, subprocess, sys, tempfile, threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
SESSIONS = ROOT / "tests" / "cli" / "sessions"
MESSAGES = SESSIONS / "messages.tsv"
SHARED = pathlib.Path(os.environ.get("BOUGH_SHARED", ROOT.parent / "shared")).resolve()
PEERS = pathlib.Path(os.environ.get("BOUGH_PEERS", pathlib.Path.home() / ".cache" / "bough-peers"))
BOUGH = os.environ.get("BOUGH", str(ROOT / "target" / "debug" / "bough"))
ORACLES = SHARED / "oracles"

# The clock and the source of ids that the records were made with; the tests that read them have the same.
NOW, SEED = "2027-01-15T12:00:00Z", "peers"
# The session that an export of Claude Code's makes: the client takes the name of the file for it.
NEW_SESSION = "11111111-1111-4111-8111-111111111111"


def bough(work, *words, text=None, now=None, seed=None):
    work = pathlib.Path(work)
    env = dict(os.environ, HOME=str(work), XDG_STATE_HOME=str(work / "state"), NO_COLOR="1", BOUGH_NOW=now or NOW, BOUGH_IDS=seed or SEED)
    return subprocess.run([BOUGH, *map(str, words)], env=env, cwd=work, input=text, capture_output=True, text=True)


answers, asking = {}, threading.Lock()


def ask(program, file):
    """What a program sees in a file; a dict with `error` where it refuses. The same bytes are asked for once."""
    file = pathlib.Path(file)
    name = file.name if program.startswith("claude") else ""
    key = (program, name, hashlib.sha256(file.read_bytes()).digest())
    with asking:
        known = answers.get(key)
    if known is None:
        known = ask_now(program, file)
        with asking:
            answers[key] = known
    return known


PROBE = "bough probe"  # How the prompt begins with which Claude Code is asked.
CHIMERA_SENDS = """
import json, sys
from chimera.sessions.tree import SessionTree
messages = SessionTree(sys.argv[1]).get_messages()
print(json.dumps([[m.role, str(m.content), [[c.id, c.name, c.arguments] for c in m.tool_calls], m.call_id] for m in messages], default=str))
"""


def sent_blocks(program, file, again=False):
    """What a program sends for a file, whole: a list of (who says it, block). Fails with the words of a program that refuses the file.

    Each block is an object of JSON, in the terms of the program, a text also where it is stored as a string. The blocks of a result count
    by themselves; who says them has the id of the call. What is known is not asked again, unless that is wanted: Claude Code adds a
    block of its own now and then.
    """
    file = pathlib.Path(file)
    beside = sorted(path.name for path in file.with_suffix("").rglob("*"))
    key = ("blocks", program, file.name, *beside, hashlib.sha256(file.read_bytes()).digest())
    with asking:
        known = answers.get(key)
    if known is None or again:
        known = blocks_now(program, file)
        with asking:
            answers[key] = known
    return known


def blocks_now(program, file):
    answer = ask(program, file) if not program.startswith("claude") else {}
    if answer.get("error"):
        raise RuntimeError(answer["error"])
    if program in drivers:
        return [(message["role"], block) for message in answer["context_messages"] for block in as_blocks(message["content"])]
    if program == "chimera":
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "session.jsonl"
            shutil.copyfile(file, copy)
            done = subprocess.run([chimera(), "-c", CHIMERA_SENDS, str(copy)], capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(done.stderr[-300:])
        out = []
        for role, text, calls, call in json.loads(done.stdout):
            calls = [{"type": "toolCall", "id": id, "name": name, "arguments": arguments} for id, name, arguments in calls]
            out += [(f"{role} {call}" if call else role, block) for block in as_blocks(text) + calls]
        return out
    with tempfile.TemporaryDirectory() as folder:
        kept = pathlib.Path(folder) / "kept"
        words = [str(ORACLES / "claude_resume" / "resume_check"), "--timeout", "150", "--no-mark", "--keep", str(kept), str(file)]
        done = subprocess.run(words, env=dict(os.environ, BOUGH_PEERS=str(PEERS)), capture_output=True, text=True)
        answer = json.loads(done.stdout)
        if not answer["ok"]:
            raise RuntimeError(answer["error"] or "not resumed")
        requests = [json.loads(path.read_text()) for path in sorted((kept / "log").glob("*.json"))]
    bodies = [one["body"] for one in requests if one["path"].split("?")[0] == "/v1/messages" and isinstance(one["body"], dict)]
    body = next(body for body in bodies if PROBE in json.dumps(body["messages"][-1]) or PROBE in json.dumps(body["messages"]))
    out = []
    for message in body["messages"]:
        for block in as_blocks(message["content"]):
            text = block.get("text", "")
            if message["role"] == "system" or PROBE in text or text.lstrip().startswith("<system-reminder>"):
                # A note may be joined to a reminder.
                notes = re.findall(r"\[removed by bough slim: [^\]]*\]", text)
                out += [(message["role"], block) for note in notes for block in as_blocks(note)]
            elif block["type"] == "tool_result":
                who = f"{message['role']} {block['tool_use_id']}" + (" failed" if block.get("is_error") else "")
                out += [(who, inner) for inner in as_blocks(block.get("content", []))]
            else:
                out.append((message["role"], block))
    return out


def as_blocks(content):
    """A content as a list of objects."""
    content = content if isinstance(content, list) else [content]
    content = [block if isinstance(block, dict) else {"type": "text", "text": block} if isinstance(block, str) else {"value": block} for block in content]
    return [{key: value for key, value in block.items() if key != "cache_control"} for block in content]


def readable(block):
    """A block in the words of the recordings: its text, or in brackets what it is, and then its content."""
    compact = lambda value: json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    match block:
        case {"type": "text", "text": text}:
            return text
        case {"type": "thinking", "thinking": text}:
            return f"[thinking] {text}"
        case {"type": "toolCall", "id": id, "name": name, "arguments": arguments} | {"type": "tool_use", "id": id, "name": name, "input": arguments}:
            return f"[call {id} {name}] {compact(arguments)}"
        case {"type": "image", "mimeType": kind, "data": data} | {"type": "image", "source": {"media_type": kind, "data": data}}:
            return f"[image {kind}] {data}"
    return compact(block)


class Driver:
    """A program that stays, and is asked about one file after the other."""

    def __init__(self, program):
        self.lock, self.process = threading.Lock(), None
        run = [next(iter(PEERS.glob("omp/node_modules/@oven/*/bin/bun")), "bun"), "run"] if program == "omp" else ["node"]
        self.words = [*map(str, run), str(ROOT / "tests" / "oracles" / "sessions.mjs"), program, str(PEERS)]

    def ask(self, file):
        with self.lock:
            if self.process is None:
                self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.process.stdin.write(f"{file}\n")
            self.process.stdin.flush()
            # Some programs go round in rings for ever.
            watch = threading.Timer(60, self.process.kill)
            watch.start()
            # Programs say other things on their output, too.
            while (line := self.process.stdout.readline()) and not line.startswith("{"):
                pass
            watch.cancel()
            if line:
                return json.loads(line)
            error, self.process = self.process.stderr.read()[-300:], None
            return {"error": error or "no answer"}


drivers = {program: Driver(program) for program in ["pi", "pi-old", "omp", "harness"]}


def chimera():
    return os.environ.get("CHIMERA_PYTHON", str(PEERS / "chimera-venv" / "bin" / "python"))


def ask_now(program, file):
    if program in drivers:
        return drivers[program].ask(file)
    if program == "chimera":
        words = [chimera(), str(ORACLES / "chimera_oracle.py")]
    else:
        version = program.partition("@")[2]
        words = [str(ORACLES / "claude_resume" / "resume_check"), "--timeout", "150", *(["--version", version] if version else [])]
    env = dict(os.environ, BOUGH_PEERS=str(PEERS))
    done = subprocess.run([*words, str(file)], env=env, capture_output=True, text=True)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return {"error": (done.stderr or done.stdout)[-300:] or f"exit {done.returncode}"}
    if "ok" in answer:
        # A client that resumes may still warn of something.
        answer["error"] = None if answer["ok"] else answer["error"] or "not resumed"
    elif answer.get("path_ids") == "hangs":
        answer["error"] = "hangs"
    elif "load_error" in answer:
        answer["error"] = answer["load_error"]
    return answer


class Lines:
    """The lines of a file: its entries by id, the last of equal ids, with the line that each stands on."""

    def __init__(self, bytes, id_key, parent_key, is_entry=lambda entry: True):
        self.id_key, self.parent_key = id_key, parent_key
        self.head, self.all, self.by_id, self.number = [], [], {}, {}
        for number, line in enumerate(bytes.split(b"\n"), 1):
            try:
                entry = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                continue
            if not isinstance(entry, dict):
                continue
            self.all.append((number, entry, line))
            if isinstance(entry.get(id_key), (str, int)):
                self.number[entry[id_key]] = number
            if entry.get("type") in ("session", "title"):
                self.head.append(line)
            elif isinstance(entry.get(id_key), str) and is_entry(entry):
                self.by_id[entry[id_key]] = (number, entry, line)

    def entry(self, id):
        return self.by_id[id][1]

    def path(self, leaf):
        path, seen = [], set()
        while isinstance(leaf, str) and leaf in self.by_id and leaf not in seen:
            seen.add(leaf)
            path.append(leaf)
            leaf = self.entry(leaf).get(self.parent_key)
        return path[::-1]

    def is_ring(self, leaf):
        """Whether the links above an entry go round, on which most programs hang."""
        top = self.entry(self.path(leaf)[0]).get(self.parent_key)
        return isinstance(top, str) and top in self.by_id

    def below(self, top):
        """An entry and all below it."""
        return {id for id in self.by_id if top in self.path(id)}


class Messages:
    """The messages that programs send, in messages.tsv: each has a number, by which the recordings name it."""

    def __init__(self):
        self.numbers = {}
        for row in self.rows():
            number, role, text = row.split("\t")
            self.numbers[role, json.loads(f'"{text}"')] = int(number)

    def rows(self):
        return [row for row in MESSAGES.read_text().split("\n") if row and not row.startswith("#")][1:] if MESSAGES.exists() else []

    def runs(self, messages):
        """The numbers of messages, each of a role and a text; new ones get new numbers."""
        with asking:
            keys = [(role, short(text)) for role, text in messages]
            return runs([self.numbers.setdefault(key, max(self.numbers.values(), default=0) + 1) for key in keys]) or "none"

    def save(self):
        rows = [f"{number}\t{role}\t{json.dumps(text, ensure_ascii=False)[1:-1]}\n" for (role, text), number in self.numbers.items()]
        MESSAGES.write_text("# What the programs send, by the numbers in the recordings beside this file. Long texts are cut.\nnumber\trole\ttext\n" + "".join(rows))


def short(text):
    """A text, or its beginning, its length and a digest."""
    # Half a surrogate pair is no text outside JavaScript.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if len(text) <= 240:
        return text
    return f"{text[:160]} … [{len(text)} characters, {hashlib.sha256(text.encode()).hexdigest()[:16]}]"


PACKAGES = {"pi": "pi/node_modules/@*/pi-coding-agent", "pi-old": "pi-old/node_modules/@*/pi-coding-agent",
            "omp": "omp/node_modules/@*/pi-coding-agent", "harness": "pi-harness/node_modules/@*/pi-agent-core"}


def version(program):
    """The installed version of a program."""
    name, _, named = program.partition("@")
    if named:
        return named
    if name in PACKAGES:
        return json.loads((next(PEERS.glob(PACKAGES[name])) / "package.json").read_text())["version"]
    if name == "chimera":
        return next(PEERS.glob("chimera-venv/lib/*/site-packages/chimera_run-*.dist-info")).name[len("chimera_run-"):-len(".dist-info")]
    return max((path.name[len("claude-code-"):] for path in PEERS.glob("claude-code-*")), key=lambda text: [int(part) for part in text.split(".")])


def heading(program):
    """The line in the head of a recording about a program that was just asked."""
    return f"# {program} {version(program)}, asked on {datetime.date.today()}"


def recorded(file):
    """The lines of a recording, without its head."""
    return [line for line in file.read_text().split("\n") if line and not line.startswith("#")] if file.exists() else []


def record_lines(file, lines, programs):
    """Writes a recording. Its head says of each program the version, and the day on which it was asked."""
    head = {}
    for line in file.read_text().split("\n") if file.exists() else []:
        if line.startswith("# "):
            head[line[2:].split(" ")[0]] = line
    head |= {program: heading(program) for program in programs}
    file.write_text("".join(line + "\n" for line in [*head.values(), *lines]))


def runs(numbers):
    """1, 2, 3, 7 as `1-3 7`."""
    out = []
    for number in numbers:
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return " ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in out)


def digest(bytes):
    return hashlib.sha256(bytes).hexdigest()[:12]


if __name__ == "__main__":
    # For the tests that record what they asked themselves.
    print(*map(heading, sys.argv[1:]), sep="\n")
