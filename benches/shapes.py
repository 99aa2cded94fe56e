#!/usr/bin/env python3
"""Prints how the cost of every command grows with sessions of many shapes: N entries, 4 N and 16 N.

    cargo build --release
    benches/shapes.py [--entries N] [--bough PATH] [--only "SHAPE;SHAPE"] [--commands COMMAND,COMMAND]

Each shape is damaged, deep, wide or repetitive in one way that has made some program slow. A row is a
shape; a cell says how many times the processor time grew from 4 N to 16 N: 4 is linear, and 4.7 is n log n
for the sizes given by default. Times below 10 ms are printed as `.`: they say nothing. The slowest command of
each row and its time follow. Cells above the limit are marked with `!`, and the exit status is 1 then.
Needs Python 3.9; times of a busy machine are of little use.
"""
import argparse, json, os, resource, shutil, subprocess, sys, tempfile

TIME = "2026-01-01T00:00:00.000Z"
LIMIT = 6.0  # 4 is linear; the rest is n log n and noise
LEAST = 0.010


def line(**fields):
    return json.dumps(fields, separators=(",", ":"))


def ident(number):
    return None if number is None else f"{number:08x}"


HEADER = line(type="session", version=3, id="s", timestamp=TIME, cwd="/")


def entry(number, parent, ty="message", **fields):
    return line(type=ty, id=ident(number), parentId=ident(parent), timestamp=TIME, **fields)


def said(number, parent, role="user", content=None, **fields):
    text = content if content is not None else [{"type": "text", "text": f"text {number}"}]
    return entry(number, parent, message={"role": role, "content": text, **fields})


def call(number, name):
    return {"type": "toolCall", "id": name, "name": "read", "arguments": {"path": f"f{number % 50}"}}


def before(number):
    return number - 1 if number else None


def uuid(number):
    return None if number is None else f"{number:08x}-0000-4000-8000-000000000000"


def claude(number, parent, ty="user", **fields):
    content = [{"type": "text", "text": f"text {number}"}] if ty == "assistant" else f"text {number}"
    return line(**{"parentUuid": uuid(parent), "isSidechain": False, "sessionId": "00000000-0000-4000-8000-000000000001",
                   "version": "2.1.0", "type": ty, "message": {"role": ty, "content": content}, "uuid": uuid(number),
                   "timestamp": TIME, **fields})


def said_by(number, parent, content, message):
    """A part of a reply of Claude Code."""
    return claude(number, parent, "assistant", message={"role": "assistant", "id": message, "type": "message", "content": content})


def use(tool):
    return {"type": "tool_use", "id": tool, "name": "bash", "input": {}}


def answered(number, parent, tool, text="done"):
    return claude(number, parent, message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": tool, "content": text}]})


# Each shape gives the lines of a session of about n entries; those of pi get a header.
PI = {
    "chain": lambda n: (said(at, before(at), "user" if at % 2 == 0 else "assistant") for at in range(n)),
    "leaves under one": lambda n: (said(at, 0 if at else None) for at in range(n)),
    "roots": lambda n: (said(at, None) for at in range(n)),
    "comb": lambda n: (said(at, None if at == 0 else at - 2 + at % 2) for at in range(n)),
    "binary tree": lambda n: (said(at, (at - 1) // 2 if at else None) for at in range(n)),
    "children first": lambda n: (said(at, before(at)) for at in reversed(range(n))),
    "one cycle": lambda n: (said(at, (at - 1) % n) for at in range(n)),
    "cycles of two": lambda n: (said(at, at ^ 1) for at in range(n)),
    "one id": lambda n: (said(7, None, content=f"text {at}") for at in range(n)),
    "each id twice": lambda n: (said(at // 2, before(at // 2), content=f"text {at}") for at in range(n)),
    "one missing parent": lambda n: (said(at, 1 << 31) for at in range(n)),
    "missing parents": lambda n: (said(at, (1 << 31) + at) for at in range(n)),
    "without ids": lambda n: (line(type="message", timestamp=TIME, message={"role": "user", "content": f"text {at}"}) for at in range(n)),
    "labels of one": lambda n: (said(0, None) if at == 0 else entry(at, at - 1, "label", targetId=ident(0), label=f"l{at}") for at in range(n)),
    "labels of each": lambda n: (said(0, None) if at == 0 else entry(at, at - 1, "label", targetId=ident(at - 1), label=f"l{at}") for at in range(n)),
    "names": lambda n: (entry(at, before(at), "session_info", name=f"n{at}") for at in range(n)),
    "types": lambda n: (entry(at, before(at), f"type{at}") for at in range(n)),
    "compactions": lambda n: (said(0, None) if at == 0 else entry(at, at - 1, "compaction", summary="s", firstKeptEntryId=ident(0), tokensBefore=1) for at in range(n)),
    "summaries": lambda n: (said(0, None) if at == 0 else entry(at, 0, "branch_summary", fromId=ident(at - 1), summary="s") for at in range(n)),
    "calls without results": lambda n: (said(at, before(at), "assistant", [call(at, f"t{at}")]) for at in range(n)),
    "results without calls": lambda n: (said(at, before(at), "toolResult", toolCallId=f"t{at}") for at in range(n)),
    "calls, then results": lambda n: (said(at, before(at), "assistant", [call(at, f"t{at}")]) if at < n // 2 else said(at, at - 1, "toolResult", toolCallId=f"t{at - n // 2}") for at in range(n)),
    "results, then calls": lambda n: (said(at, before(at), "toolResult", toolCallId=f"t{at}") if at < n // 2 else said(at, at - 1, "assistant", [call(at, f"t{at - n // 2}")]) for at in range(n)),
    "results, then calls of one id": lambda n: (said(at, before(at), "toolResult", toolCallId="t") if at < n // 2 else said(at, at - 1, "assistant", [call(at, "t")]) for at in range(n)),
    "results, then one line of calls": lambda n: (said(at, before(at), "toolResult", toolCallId=f"t{at}") if at < n - 1 else said(at, at - 1, "assistant", [call(at, f"t{at}") for at in range(n - 1)]) for at in range(n)),
    "results beside their calls": lambda n: (said(at, 0 if at else None) if at < 2 else said(at, at - 1 - at % 2) if at == n - 1 else said(at, at - 2, "toolResult", toolCallId=f"t{at - 1}") if at % 2 else said(at, at - 2, "assistant", [call(at, f"t{at}")]) for at in range(n)),
    "long results": lambda n: (said(at, at - 1, "toolResult", content=[{"type": "text", "text": "text " * 200}], toolCallId=f"t{at - 1}") if at % 2 else said(at, before(at), "assistant", [call(at, f"t{at}")]) for at in range(n)),
    "one call, many results": lambda n: (said(0, None, "assistant", [call(0, "t")]) if at == 0 else said(at, at - 1, "toolResult", toolCallId="t") for at in range(n)),
    "calls on one line": lambda n: (said(0, None, "assistant", [call(at, f"t{at}") for at in range(n)]) if at == 0 else said(at, at - 1, "toolResult", toolCallId=f"t{at - 1}") for at in range(n)),
    "torn lines": lambda n: (said(at, before(at))[: 60 if at % 2 else None] for at in range(n)),
    "one glued line": lambda n: iter(["".join(said(at, before(at)) for at in range(n))]),
    "spliced lines": lambda n: (said(at, before(at))[:50] + said(at + n, before(at + n)) for at in range(n)),
    "objects over lines": lambda n: (json.dumps(json.loads(said(at, before(at))), indent=1) for at in range(n)),
    "openers": lambda n: ('{"type":"message",' for _ in range(n)),
    "words": lambda n: (f"word {at}" if at % 2 else said(at, at - 2 if at else None) for at in range(n)),
    "headers": lambda n: (HEADER for _ in range(n)),
    "empty texts": lambda n: (said(at, before(at), content=[{"type": "text", "text": ""}] * 3) for at in range(n)),
}
CLAUDE = {
    "chain": lambda n: (claude(at, before(at), "user" if at % 2 == 0 else "assistant") for at in range(n)),
    "leaves under one": lambda n: (claude(at, 0 if at else None) for at in range(n)),
    "roots": lambda n: (claude(at, None) for at in range(n)),
    "one cycle": lambda n: (claude(at, (at - 1) % n) for at in range(n)),
    "children first": lambda n: (claude(at, before(at)) for at in reversed(range(n))),
    "missing parents": lambda n: (claude(at, (1 << 31) + at) for at in range(n)),
    "each id twice": lambda n: (claude(at // 2, before(at // 2)) for at in range(n)),
    "two sides": lambda n: (claude(at, before(at - at % 2), isSidechain=bool(at % 2)) for at in range(n)),
    "notes": lambda n: (claude(0, None) if at == 0 else line(type="summary", summary=f"s{at}", leafUuid=f"{at - 1:08x}-0000-4000-8000-000000000000") for at in range(n)),
}
CLAUDE |= {
    "comb": lambda n: (claude(at, None if at == 0 else at - 2 + at % 2, "assistant" if at % 2 else "user") for at in range(n)),
    "binary tree": lambda n: (claude(at, (at - 1) // 2 if at else None) for at in range(n)),
    "one id": lambda n: (claude(7, None, version=f"{at}") for at in range(n)),
    "cycles of two": lambda n: (claude(at, at ^ 1) for at in range(n)),
    "one missing parent": lambda n: (claude(at, 1 << 31) for at in range(n)),
    "parts of one reply": lambda n: (said_by(at, before(at), [{"type": "text", "text": f"text {at}"}], "m") for at in range(n)),
    "replies of two parts": lambda n: (said_by(at, before(at), [{"type": "text", "text": f"text {at}"}], f"m{at // 2}") for at in range(n)),
    "parts far apart": lambda n: (said_by(at, before(at), [{"type": "text", "text": f"text {at}"}], f"m{at % (n // 2)}") for at in range(n)),
    "calls without results": lambda n: (said_by(at, before(at), [use(f"t{at}")], f"m{at}") for at in range(n)),
    "results without calls": lambda n: (answered(at, before(at), f"t{at}") for at in range(n)),
    "calls and results": lambda n: (answered(at, at - 1, f"t{at - 1}") if at % 2 else said_by(at, before(at), [use(f"t{at}")], f"m{at}") for at in range(n)),
    "calls, then results": lambda n: (said_by(at, before(at), [use(f"t{at}")], f"m{at}") if at < n // 2 else answered(at, at - 1, f"t{at - n // 2}") for at in range(n)),
    "results, then calls": lambda n: (answered(at, before(at), f"t{at}") if at < n // 2 else said_by(at, at - 1, [use(f"t{at - n // 2}")], f"m{at}") for at in range(n)),
    "long results": lambda n: (answered(at, at - 1, f"t{at - 1}", "text " * 200) if at % 2 else said_by(at, before(at), [use(f"t{at}")], f"m{at}") for at in range(n)),
    "parallel calls": lambda n: (said_by(at, before(at), [use(f"t{at}")], "m") if at < n // 2 else answered(at, at - n // 2, f"t{at - n // 2}") for at in range(n)),
    "one call, many results": lambda n: (said_by(0, None, [use("t")], "m") if at == 0 else answered(at, 0, "t") for at in range(n)),
    "compactions": lambda n: (claude(at, None, "system", subtype="compact_boundary", content="", logicalParentUuid=uuid(before(at))) if at % 4 == 0 else claude(at, at - 1, isCompactSummary=at % 4 == 1) for at in range(n)),
    "kept parts": lambda n: (claude(at, None, "system", subtype="compact_boundary", content="", logicalParentUuid=uuid(before(at)), compactMetadata={"preservedSegment": {"headUuid": uuid(max(at - 3, 0)), "anchorUuid": uuid(at + 1), "tailUuid": uuid(before(at))}}) if at % 8 == 0 else claude(at, at - 1, isCompactSummary=at % 8 == 1) for at in range(n)),
    "attachments": lambda n: (claude(at, before(at), "attachment", attachment={"type": "new_file"}) for at in range(n)),
    "progress": lambda n: (claude(at, before(at), "progress", data={}) for at in range(n)),
    "pointers": lambda n: (claude(0, None) if at == 0 else line(type="last-prompt", lastPrompt="text", leafUuid=uuid(0), sessionId="00000000-0000-4000-8000-000000000001") for at in range(n)),
    "snapshots": lambda n: (claude(at // 2, before(at // 2)) if at % 2 == 0 else line(type="file-history-snapshot", messageId=uuid(at // 2), snapshot={"messageId": uuid(at // 2), "trackedFileBackups": {}, "timestamp": TIME}) for at in range(n)),
    "queue": lambda n: (line(type="queue-operation", operation="enqueue" if at < n // 2 else "dequeue", content=f"text {at}", timestamp=TIME, sessionId="00000000-0000-4000-8000-000000000001") for at in range(n)),
    "torn lines": lambda n: (claude(at, before(at))[: 90 if at % 2 else None] for at in range(n)),
    "one glued line": lambda n: iter(["".join(claude(at, before(at)) for at in range(n))]),
    "spliced lines": lambda n: (claude(at, before(at))[:90] + claude(at + n, before(at + n)) for at in range(n)),
    "objects over lines": lambda n: (json.dumps(json.loads(claude(at, before(at))), indent=1) for at in range(n)),
    "without ids": lambda n: (line(type="user", timestamp=TIME, message={"role": "user", "content": f"text {at}"}) for at in range(n)),
}
COMMANDS = {
    "branches": ["branches"], "log": ["log", "--oneline"], "log --all": ["log", "--all", "--oneline"],
    "graph": ["log", "--graph", "--all", "--oneline"], "json": ["log", "--all", "--json"], "grep": ["grep", "-c", "text 7"],
    "status": ["status"], "stats": ["stats"], "context": ["context", "--stat"], "diff": ["diff", "--stat", "root", "HEAD"],
    "fsck": ["fsck"], "repair": ["fsck", "--repair", "--dry-run"], "misplaced": ["fsck", "--repair", "--dry-run", "--with", "misplaced-tool-result"], "show": ["show", "HEAD"], "labels": ["label"],
    "slim": ["slim", "--results", "1", "--thinking", "--before-compaction", "--in-place", "-n"], "label": ["label", "-n", "name", "HEAD"],
    "append": ["append", "-n", "--kind", "message", "--text", "text"], "archive": ["archive", "--all", "-o", "ARCHIVE"],
}
# Commands on a session in which HEAD is apart from the rest; `IDS` are ids spread over it.
APART = {
    "drop": ["drop", "-n", "IDS"], "others": ["drop", "--others", "-n"], "cherry-pick": ["cherry-pick", "-n", "IDS"],
    "undo": ["sh", "-c", '"$0" drop --others --force "$1"; exec "$0" undo "$1"', "BOUGH", "SESSION"],
}
SESSION_OPTION = {"show", "diff", "labels", "label", "drop", "others", "cherry-pick"}
IDS = 20
LONG_AGO = 1_700_000_000  # a file that changed just now may still be written to


def seconds(argv, environment, before):
    """Processor time, the least of three runs; None if it takes too long. `before` prepares each run."""
    least = None
    for _ in range(3):
        before()
        was = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, timeout=60)
        except subprocess.TimeoutExpired:
            return None
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = now.ru_utime + now.ru_stime - was.ru_utime - was.ru_stime
        least = took if least is None else min(least, took)
        if took > 0.5:
            break
    return least


class Sessions:
    """The files of one shape: as it is, with HEAD apart, and in the store of its agent."""

    def __init__(self, folder, agent, lines, count):
        self.folder, self.agent, self.count = folder, agent, count
        self.path, self.apart = f"{folder}/s.jsonl", f"{folder}/apart.jsonl"
        last = said(0xFFFFFFFF, None) if agent == "pi" else claude(0xFFFFFFFF, None)
        with open(self.path, "w") as file:
            if agent == "pi":
                file.write(HEADER + "\n")
            file.writelines(text + "\n" for text in lines)
        shutil.copyfile(self.path, self.apart)
        with open(self.apart, "a") as file:
            file.write(last + "\n")
        for path in (self.path, self.apart):
            os.utime(path, (LONG_AGO, LONG_AGO))

    def command(self, bough, name):
        """The words of a command, and what prepares a run of it."""
        words, path = (APART[name], self.apart) if name in APART else (COMMANDS[name], self.path)
        spell = ident if self.agent == "pi" else uuid
        ids = [spell(self.count * (2 * at + 1) // (2 * IDS) | 1) for at in range(IDS)]
        known = {"IDS": ids, "SESSION": [path], "BOUGH": [bough], "ARCHIVE": [f"{self.folder}/archive"]}
        words = [text for word in words for text in known.get(word, [word])]
        prepare = self.store if name == "archive" else lambda: None
        if words[0] == "sh":
            return words, prepare
        where = [] if name == "archive" else ["-s", path] if name in SESSION_OPTION else [path]
        return [bough, *words, *where], prepare

    def store(self):
        """Puts the session into the store of its agent, and forgets the archive."""
        shutil.rmtree(f"{self.folder}/archive", ignore_errors=True)
        name = ".pi/agent/sessions/--w--/2026-01-01T00-00-00-000Z_s.jsonl"
        if self.agent == "claude":
            name = ".claude/projects/-w/00000000-0000-4000-8000-000000000001.jsonl"
        os.makedirs(os.path.dirname(f"{self.folder}/{name}"), exist_ok=True)
        if not os.path.exists(f"{self.folder}/{name}"):
            os.link(self.path, f"{self.folder}/{name}")

    def remove(self):
        for name in (".pi", ".claude", "archive", "state"):
            shutil.rmtree(f"{self.folder}/{name}", ignore_errors=True)
        os.remove(self.path)
        os.remove(self.apart)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=2500, help="the smallest size")
    parser.add_argument("--bough", default="target/release/bough")
    parser.add_argument("--only", help="shapes, by the beginnings of their names, with `;` between")
    parser.add_argument("--commands", help="commands, by their names")
    arguments = parser.parse_args()
    names = arguments.commands.split(",") if arguments.commands else [*COMMANDS, *APART]
    shapes = [(f"{agent}: {name}", make, agent) for agent, all_of in (("pi", PI), ("claude", CLAUDE)) for name, make in all_of.items()]
    only = arguments.only.split(";") if arguments.only else None
    folder = tempfile.mkdtemp()
    environment = {"HOME": folder, "XDG_STATE_HOME": f"{folder}/state", "PATH": os.environ["PATH"], "NO_COLOR": "1", "BOUGH_PAGER": "cat", "TZ": "UTC"}
    worse = 0
    print("| shape | " + " | ".join(names) + " | slowest at 16 N |")
    print("| --- |" + " --- |" * (len(names) + 1))
    try:
        for title, make, agent in shapes:
            if only and not any(title.startswith(name) for name in only):
                continue
            times = {}
            for factor in (4, 16):
                count = arguments.entries * factor
                sessions = Sessions(folder, agent, make(count), count)
                for name in names:
                    words, prepare = sessions.command(arguments.bough, name)
                    times[name, factor] = seconds(words, environment, prepare)
                sessions.remove()
            cells, slowest = [], ("", 0.0)
            for name in names:
                small, large = times[name, 4], times[name, 16]
                if large is None or small is None:
                    cells.append("over 60 s!")
                    worse += 1
                    continue
                if large > slowest[1]:
                    slowest = (name, large)
                if large < 4 * LEAST or small < LEAST:
                    cells.append(".")
                    continue
                is_worse = large / small > LIMIT
                worse += is_worse
                cells.append(f"{large / small:.1f}" + ("!" if is_worse else ""))
            print(f"| {title} | " + " | ".join(cells) + f" | {slowest[0]}, {slowest[1] * 1000:.0f} ms |", flush=True)
    finally:
        shutil.rmtree(folder)
    print(f"\n{worse} cells above {LIMIT:g}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
