#!/usr/bin/env python3
"""Asks the agents' own programs what they load and send after `drop`, `slim` and `join`.

    tests/oracles/care.py [VERB…] [--file WORD] [--rich DIR] [--record]

Each verb is carried out on copies of the sessions of the tests, and `slim` once for each of its options. The program must load the
result, continue from the same entry, and send the same messages as before; after `slim`, those that were slimmed may differ, as many as
bough says. For `join`, a session is taken apart: a turn is appended to one copy and another to a second one, and both are joined; the
program must then see what it saw in the newer copy, and, after a switch, what it saw in the older one. One line for each failure, figures
at the end; exit status 1 if there was a failure. The environment is that of `programs.py`.

`--rich` names a folder with the same sessions, with more in them; a test makes it:

    BOUGH_RICH=/tmp/rich cargo test --test cli -- --ignored rich_sessions_are_written

In `rich`, images, long results and thinking were added to every second message; in `full`, to all, with more turns, subagents and state of an
extension; in `summed`, a compaction follows that. Of `full` and `summed`, each option is asked, and each block that is sent is compared as
a whole: it is the same as before, or a note in its place. `huge` has sessions that the client refuses for the size of an image, and must
open after `slim --images`.

`--option` and `--every` ask for less. `--record` writes the answers to tests/cli/sessions/care.tsv: the command, the session, the digest of the result, the program, the number
of messages that it sends, and a digest of them.
"""
import argparse, json, os, pathlib, re, shutil, subprocess, sys, tempfile, threading
from concurrent.futures import ThreadPoolExecutor

import programs

RECORD = programs.SESSIONS / "care.tsv"
ALL = ["--images", "--results=100", "--thinking", "--tool-use-result", "--snapshots", "--before-compaction"]
SLIM = [[option] for option in ALL] + [["--budget=1", "--results=64", "--images"], ALL]
RICH = None
# What the sessions with more in them are asked about.
OPTIONS = {
    "full": [["--images"], ["--results=100"], ["--tool-use-result"], ["--subagents"], ["--custom=state"], ["--thinking"], ["--budget=700"],
             ["--images", "--results=100", "--tool-use-result", "--subagents", "--custom=state", "--thinking", "--snapshots"]],
    "summed": [["--before-compaction"], ["--budget=100"]],
    "huge": [["--images"]],
}
MARK = "[removed by bough slim: "


def sessions(word):
    """The sessions, and the program that each is asked of."""
    for file in sorted((programs.SESSIONS / "pi").glob("*.jsonl")):
        if any(part in file.name for part in ("migrated", "v1-", "v2-", "real-", "edge-version", "harness")) or word not in file.name:
            continue
        head = file.read_bytes()[:300]
        if b'"type":"leaf"' in file.read_bytes():
            continue  # The harness's HEAD is another than pi's.
        yield file, "omp" if b'"type":"title"' in head or file.name.startswith("omp") else "pi"
    for file in sorted((programs.SESSIONS / "claude" / "real").rglob("*.jsonl")):
        if "subagents" not in file.parts and not file.name.startswith("agent-") and word in str(file):
            yield file, "claude"
    for file in sorted((programs.SESSIONS / "chimera").glob("*.jsonl")):
        if word in file.name and "cycle" not in file.name and "self-parent" not in file.name:
            yield file, "chimera"


def with_rich(word, verb):
    """The same, and those with more in them, of which `slim` is asked."""
    for file, program in sessions(word):
        if verb == "blocks":
            for kind in OPTIONS:
                rich = RICH / kind / file.relative_to(programs.SESSIONS)
                if rich.exists():
                    yield rich, program
            continue
        yield file, program
        rich = RICH / "rich" / file.relative_to(programs.SESSIONS) if RICH and verb == "slim" else None
        if rich and rich.exists():
            yield rich, program


# What `slim` made of the sizes and the tokens, by option.
sizes, counting = {}, threading.Lock()


class Copy:
    """A session with the files that belong to it, in a folder of its own."""

    def __init__(self, file):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="bough-care-")).resolve()
        self.file = self.work / file.name
        shutil.copy(file, self.file)
        own = programs.SESSIONS / file.relative_to(RICH / kind_of(file)) if kind_of(file) else file
        own = file if file.with_suffix("").is_dir() else own
        if own.with_suffix("").is_dir():
            shutil.copytree(own.with_suffix(""), self.file.with_suffix(""))

    def run(self, *words, **more):
        return programs.bough(self.work, *words, **more)

    def belonging(self):
        """The files that belong to the session."""
        return sorted(path for path in self.file.with_suffix("").rglob("*") if path.is_file())

    def size(self):
        return self.file.stat().st_size + sum(path.stat().st_size for path in self.belonging())

    def result(self):
        """The bytes of the session, and the names of the files that belong to it."""
        names = [str(path.relative_to(self.work)).encode() for path in self.belonging()]
        # A note may name the file.
        return b"\n".join([self.file.read_bytes().replace(str(self.work).encode(), b"WORK"), *names])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.work, ignore_errors=True)


def kind_of(file):
    """Which of the folders of sessions with more in them a file is in, if any."""
    return file.relative_to(RICH).parts[0] if RICH and RICH in file.parents else None


def messages(program, answer):
    """What is sent: a list of comparable messages."""
    if program == "chimera":
        return answer["context_messages"]
    if program == "claude":
        # The client joins the texts of one entry in some cases: the block then has the entry several times.
        times = lambda block: len(block["uuid"]) if isinstance(block["uuid"], list) and len(set(block["uuid"])) == 1 else 1
        return [[block["kind"] if "kind" in block else block.get("type"), block["text"]] for block in answer["sent"] if block["uuid"] for _ in range(times(block))]
    return [[message["role"], message["text_sha"]] for message in answer["context_messages"]]


def name_of(file):
    return str(file.relative_to(RICH if kind_of(file) else programs.SESSIONS))


def row(verb, file, program, result, sent):
    return [verb, name_of(file), programs.digest(result), program, str(len(sent)), programs.digest(json.dumps(sent).encode())]


def compared(verb, words, file, program):
    with Copy(file) as copy:
        before = programs.ask(program, file)
        if before.get("error"):
            return None
        done = copy.run(*words, "--force", "--json", copy.file)
        if done.returncode != 0:
            return None
        said = json.loads([line for line in done.stdout.splitlines() if '"bough.write/1"' in line][-1])
        after = programs.ask(program, copy.file)
        if after.get("error"):
            return f"the program refuses the result: {after['error']}"
        was, now = messages(program, before), messages(program, after)
        differ = sum(one != other for one, other in zip(was, now))
        may = sum(kind["count"] for kind in said["slimmed"].values()) if verb == "slim" else 0
        thinking = said["slimmed"].get("thinking", {}).get("count", 0) if verb == "slim" else 0
        if verb == "slim" and program == "claude" and thinking:
            was = [block for block in was if block[0] != "thinking"]
            now = [block for block in now if block[0] != "thinking"]
            differ = sum(one != other for one, other in zip(was, now))
        if len(was) != len(now):
            return f"{len(was)} messages were sent, and {len(now)} are"
        if differ > may:
            return f"{differ} messages differ, and {may} parts were slimmed"
        if program == "chimera" and before["active_leaf"] != after["active_leaf"]:
            return f"the leaf was {before['active_leaf']}, and is {after['active_leaf']}"
        if program in ("pi", "omp") and before["leaf"] != after["leaf"] and "--append" not in words:
            return f"the leaf was {before['leaf']}, and is {after['leaf']}"
        if verb == "slim":
            with counting:
                sizes.setdefault(" ".join(words[2:]), []).append((said["size"], said["tokens"]))
        # A note may name the file.
        result = copy.file.read_bytes().replace(str(copy.work).encode(), b"WORK")
        return row(" ".join(words), file, program, result, messages(program, after))


def is_note(block):
    return MARK in block


def is_thinking(block):
    return block.startswith(('{"type":"thinking"', '{"type": "thinking"'))


def single(blocks):
    """The client joins texts that follow each other; a note among them is a block of its own here."""
    out = []
    for of, block in blocks:
        try:
            text = json.loads(block)
            text = text["text"] if text.get("type") == "text" else text["content"] if isinstance(text.get("content"), str) else None
        except (ValueError, AttributeError, TypeError):
            text = None
        parts = re.split(r"\n?(\[removed by bough slim: [^\]]*\])\n?", text) if text and MARK in text else [text]
        out += [(of, block)] if len(parts) == 1 else [(of, json.dumps({"type": "text", "text": part})) for part in parts if part]
    return out


def block_by_block(words, file, program):
    found = ask_of_blocks(words, file, program, False)
    return ask_of_blocks(words, file, program, True) if isinstance(found, str) else found


def ask_of_blocks(words, file, program, again):
    """Compares what is sent before and after as a whole: each block is the same, or a note in its place.

    Claude Code does not send images of failed results, and so sends a note more.
    """
    is_huge = kind_of(file) == "huge"
    with Copy(file) as copy:
        try:
            was = programs.sent_blocks(program, copy.file, again)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            if is_huge and "exceed" in str(error):
                was = None
            else:
                return None
        if is_huge and was:
            return "the client opens it before it is slimmed"
        before = copy.size()
        done = copy.run("slim", "--in-place", *words, "--force", "--json", copy.file)
        if done.returncode != 0:
            return None
        said = json.loads([line for line in done.stdout.splitlines() if '"bough.write/1"' in line][-1])
        try:
            now = programs.sent_blocks(program, copy.file, again)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return f"the program refuses the result: {error}"
        row = [" ".join(["slim --in-place", *words]), name_of(file), programs.digest(copy.result()), program, str(len(now)),
               programs.digest(json.dumps(now).encode())]
        if not again:
            with counting:
                sizes.setdefault(" ".join(words) + f" ({kind_of(file)})", []).append(({"before": before, "after": copy.size()}, said["tokens"]))
        if is_huge:
            notes = sum(is_note(block) for _, block in now)
            return row if notes else "there is no note in place of the image"
        if "--subagents" in words and any(path.name.startswith("agent-") for path in copy.belonging()):
            return "a subagent's file is left"
        if said["slimmed"].get("thinking"):
            was, now = ([one for one in blocks if not is_thinking(one[1])] for blocks in (was, now))
        was, now = single(was), single(now)
        if len(was) != len(now):
            now = [(of, block) for of, block in now if not (of.endswith(" True") and is_note(block) and "an image" in block)]
        if len(was) != len(now):
            return f"{words}: {len(was)} blocks were sent, and {len(now)} are"
        notes = 0
        for (of, one), (new_of, other) in zip(was, now):
            # pi's blocks are told by their first letters and a digest, and bash executions have two.
            if of != new_of or one != other and (not is_note(other) or is_note(one)):
                return f"{words}: {of}: {one[:200]} became {new_of}: {other[:200]}"
            notes += one != other
        parts = sum(kind["count"] for kind in said["slimmed"].values())
        if notes > parts:
            return f"{words}: {notes} blocks differ, and {parts} parts were slimmed"
        return row


def joined(file, program):
    """Joins two copies; asks at HEAD of the result, and at the older copy's HEAD after a switch."""
    with Copy(file) as copy:
        other = copy.work / "copy" / file.name if program == "claude" else copy.work / "copy.jsonl"
        other.parent.mkdir(exist_ok=True)
        shutil.copy(file, other)
        if programs.ask(program, file).get("error"):
            return None
        for path, text, seed, now in [(copy.file, "One more, of the older copy.", "a", programs.NOW), (other, "Another one, of the newer copy.", "b", "2027-01-15T12:05:00Z")]:
            if copy.run("append", "--kind", "message", "--text", text, "--force", path, now=now, seed=seed).returncode != 0:
                return None
        newer, older = programs.ask(program, other), programs.ask(program, copy.file)
        older_head = json.loads(copy.run("status", "--json", copy.file).stdout)["head"]
        done = copy.run("join", copy.file, other, "--force", "--json")
        if "no entry in common" in done.stderr:
            return None  # A session without entries, before the turns were appended.
        if done.returncode != 0:
            return f"join: {done.stderr.strip()}"
        result = copy.file.read_bytes()
        answer = programs.ask(program, copy.file)
        if answer.get("error"):
            return f"the program refuses the result: {answer['error']}"
        if messages(program, answer) != messages(program, newer):
            return "the program does not send what it sent of the newer copy"
        head = older_head["id"] if isinstance(older_head, dict) else older_head
        copy.run("switch", "--force", f"id:{head}", "-s", copy.file)
        back = programs.ask(program, copy.file)
        if messages(program, back) != messages(program, older):
            return "after a switch, the program does not send what it sent of the older copy"
        switched = copy.file.read_bytes()
        return [row("join", file, program, result, messages(program, answer)), row("join, switch", file, program, switched, messages(program, back))]


VERBS = {
    "drop": lambda file, program: compared("drop", ["drop", "--others"], file, program),
    "slim": lambda file, program: [compared("slim", ["slim", "--in-place", *options], file, program) for options in SLIM],
    "blocks": lambda file, program: [block_by_block(options, file, program) for options in OPTIONS[kind_of(file)]],
    "edit": lambda file, program: compared("slim", ["slim", "--append", "--results=100", "--images"], file, program) if program == "pi" else None,
    "join": joined,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", nargs="*")
    parser.add_argument("--file", default="", metavar="WORD")
    parser.add_argument("--rich", metavar="DIR", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--option", action="append", metavar="WORD", help="of the options of `blocks`, only those with this word")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth session")
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    global RICH
    RICH = args.rich
    for kind, all in OPTIONS.items():
        OPTIONS[kind] = [words for words in all if not args.option or any(words[0].startswith("--" + option) for option in args.option)]
    rows, failures = [], 0
    for verb in args.verb or [verb for verb in VERBS if RICH or verb != "blocks"]:
        counts = {}
        with ThreadPoolExecutor(2) as pool:
            todo = list(with_rich(args.file, "slim" if verb == "edit" else verb))[::args.every]
            for (file, program), found in zip(todo, pool.map(lambda one: VERBS[verb](*one), todo)):
                for one in found if isinstance(found, list) and verb in ("slim", "blocks", "join") else [found]:
                    asked, tried = counts.get(program, (0, 0))
                    counts[program] = (asked + (one is not None), tried + 1)
                    if isinstance(one, str):
                        failures += 1
                        print(f"{verb}: {name_of(file)}: {one}", flush=True)
                    elif one is not None:
                        rows.append(one)
        for program, (asked, tried) in sorted(counts.items()):
            print(f"{verb}: {program}: {asked} of {tried} results compared", flush=True)
    for options, all in sizes.items():
        before, after = (sum(size[key] for size, _ in all) for key in ("before", "after"))
        full, left = (sum(tokens[key] for _, tokens in all) for key in ("before", "after"))
        print(f"{options}: {len(all)} sessions, {before} to {after} bytes, {full} to {left} tokens", flush=True)
    print(f"{failures} failures")
    if args.record:
        kept = [line.split("\t") for line in RECORD.read_text().splitlines()[1:]] if RECORD.exists() else []
        new = {(row[0], row[1]) for row in rows}
        rows += [line for line in kept if (line[0], line[1]) not in new]
        rows.sort()
        RECORD.write_text("\n".join("\t".join(line) for line in [["command", "session", "wrote", "program", "sent", "digest"], *rows]) + "\n")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
