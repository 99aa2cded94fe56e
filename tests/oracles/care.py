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
extension; in `summed`, a compaction follows that. Each option is asked about. Each block that is sent is compared as a whole: it is the
same as before, or a note in its place. `huge` has sessions that the client refuses for the size of an image, and must open after
`slim --images`.

`--program`, `--option` and `--every` ask for less. `--record` writes the answers to tests/cli/sessions/care.tsv: the command, the session,
the digest of the result, the program, and the blocks that it sends of the result, by their numbers in messages.tsv.
"""
import argparse, json, os, pathlib, re, shutil, subprocess, sys, tempfile, threading
from concurrent.futures import ThreadPoolExecutor

import programs

RECORD = programs.SESSIONS / "care.tsv"
PROGRAMS = ["pi", "omp", "chimera", "claude"]
ALL = ["--images", "--results=100", "--thinking", "--tool-use-result", "--snapshots", "--before-compaction"]
SLIM = [[option] for option in ALL] + [["--budget=1", "--results=64", "--images"], ALL]
RICH = None
numbered = programs.Messages()
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
    """The same, and those with more in them, of which `slim` is asked, and of some `slim --append`."""
    for file, program in sessions(word):
        yield file, program
        kinds = {"slim": ["rich", *OPTIONS], "edit": ["rich"]}.get(verb, []) if RICH else []
        for rich in (RICH / kind / file.relative_to(programs.SESSIONS) for kind in kinds):
            if rich.exists():
                yield rich, program


# What `slim` made of the sizes and the tokens, by option.
sizes, counting = {}, threading.Lock()


class Copy:
    """A session with the files that belong to it, in a folder of its own."""

    def __init__(self, file):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="bough-care-")).resolve()
        self.file = self.work / file.name
        shutil.copy(file, self.file)
        # Of `rich`, files that belong to a session are sessions with more in them, too, and not meant here.
        has_own = kind_of(file) != "rich" and file.with_suffix("").is_dir()
        own = file if has_own else programs.SESSIONS / name_of(file).removeprefix(f"{kind_of(file)}/")
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


def name_of(file):
    return str(file.relative_to(RICH if kind_of(file) else programs.SESSIONS))


def row(words, file, program, copy, blocks):
    # A note may name the file.
    sent = [(who, programs.readable(block).replace(str(copy.work), "WORK")) for who, block in told(program, blocks)]
    return " ".join(words), name_of(file), programs.digest(copy.result()), program, numbered.runs(sent)


def told(program, blocks):
    """The blocks that are recorded. Claude Code joins texts now and then, and ends some with a line break."""
    if program != "claude":
        return blocks
    out = []
    for who, block in blocks:
        if is_text(block):
            text = block["text"].rstrip("\n")
            if not text:
                continue
            if out and out[-1][0] == who and is_text(out[-1][1]):
                text = out.pop()[1]["text"] + "\n" + text
            [block] = programs.as_blocks(text)
        out.append((who, block))
    return out


def is_text(block):
    return set(block) == {"type", "text"}


def is_note(block):
    return MARK in programs.readable(block)


def is_thinking(block):
    return block.get("type") == "thinking"


def is_added(block):
    """Whether it is the reply that Claude Code puts behind a prompt without one, but not behind some of its own commands."""
    return block == {"type": "text", "text": "No response requested."}


def single(blocks):
    """The client joins texts that follow each other; a note among them is a block of its own here."""
    out = []
    for who, block in blocks:
        parts = re.split(r"\n?(\[removed by bough slim: [^\]]*\])\n?", block["text"]) if is_text(block) and is_note(block) else []
        out += [(who, part) for part in programs.as_blocks([part for part in parts if part])] or [(who, block)]
    return out


def told_apart(words, file, program):
    """Asks again where something failed, since Claude Code adds a block of its own now and then."""
    found = compared(words, file, program, False)
    return compared(words, file, program, True) if isinstance(found, str) else found


def compared(words, file, program, again):
    """Compares what is sent before and after as a whole: each block is the same, or a note in its place.

    Claude Code does not send images of failed results, and so sends a note more.
    """
    is_huge = kind_of(file) == "huge"
    with Copy(file) as copy:
        try:
            was, stood = programs.sent_blocks(program, copy.file, again), leaf(program, copy.file)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            if not is_huge or "exceed" not in str(error):
                return None
            was = None
        if is_huge and was:
            return "the client opens it before it is slimmed"
        before = copy.size()
        done = copy.run(*words, "--force", "--json", copy.file)
        if done.returncode != 0:
            return None
        said = json.loads([line for line in done.stdout.splitlines() if '"bough.write/1"' in line][-1])
        try:
            now, stands = programs.sent_blocks(program, copy.file, again), leaf(program, copy.file)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return f"{words}: the program refuses the result: {error}"
        sent = now
        if words[0] == "slim" and not again:
            name = " ".join(words[2:]) + (f" ({kind_of(file)})" if kind_of(file) else "")
            with counting:
                sizes.setdefault(name, []).append(({"before": before, "after": copy.size()}, said["tokens"]))
        if is_huge:
            return row(words, file, program, copy, sent) if any(is_note(block) for _, block in now) else "there is no note in place of the image"
        if stood != stands and "--append" not in words:
            return f"{words}: the leaf was {stood}, and is {stands}"
        if "--subagents" in words and any(path.name.startswith("agent-") for path in copy.belonging()):
            return "a subagent's file is left"
        slimmed = said.get("slimmed") or {}
        is_left = lambda block: is_added(block) or is_thinking(block) and slimmed.get("thinking")
        was, now = (single((who, block) for who, block in blocks if not is_left(block)) for blocks in (was, now))
        if len(was) != len(now):
            now = [(who, block) for who, block in now if not (who.endswith(" failed") and is_note(block) and "an image" in block.get("text", ""))]
        if len(was) != len(now):
            return f"{words}: {len(was)} blocks were sent, and {len(now)} are"
        notes = 0
        for (who, one), (new_who, other) in zip(was, now):
            if who != new_who or one != other and (not is_note(other) or is_note(one)):
                return f"{words}: {who}: {programs.short(programs.readable(one))} became {new_who}: {programs.short(programs.readable(other))}"
            notes += one != other
        parts = sum(kind["count"] for kind in slimmed.values())
        if notes > parts:
            return f"{words}: {notes} blocks differ, and {parts} parts were slimmed"
        return row(words, file, program, copy, sent)


def leaf(program, file):
    """Where a program stands; that of Claude Code shows in what it sends."""
    return programs.ask(program, file)["active_leaf" if program == "chimera" else "leaf"] if program != "claude" else None


def joined(file, program):
    """Joins two copies; asks at HEAD of the result, and at the older copy's HEAD after a switch."""
    found = joined_once(file, program, False)
    return joined_once(file, program, True) if isinstance(found, str) else found


def joined_once(file, program, again):
    sent = lambda file: told(program, programs.sent_blocks(program, file, again))
    with Copy(file) as copy:
        other = copy.work / "copy" / file.name if program == "claude" else copy.work / "copy.jsonl"
        other.parent.mkdir(exist_ok=True)
        shutil.copy(file, other)
        try:
            sent(copy.file)
        except (RuntimeError, subprocess.TimeoutExpired):
            return None
        for path, text, seed, now in [(copy.file, "One more, of the older copy.", "a", programs.NOW), (other, "Another one, of the newer copy.", "b", "2027-01-15T12:05:00Z")]:
            if copy.run("append", "--kind", "message", "--text", text, "--force", path, now=now, seed=seed).returncode != 0:
                return None
        try:
            newer, older = sent(other), sent(copy.file)
            older_head = json.loads(copy.run("status", "--json", copy.file).stdout)["head"]
            done = copy.run("join", copy.file, other, "--force", "--json")
            if "no entry in common" in done.stderr:
                return None  # A session without entries, before the turns were appended.
            if done.returncode != 0:
                return f"join: {done.stderr.strip()}"
            now = sent(copy.file)
            if now != newer:
                return "the program does not send what it sent of the newer copy"
            first = row(["join"], file, program, copy, now)
            head = older_head["id"] if isinstance(older_head, dict) else older_head
            copy.run("switch", "--force", f"id:{head}", "-s", copy.file)
            back = sent(copy.file)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return f"the program refuses the result: {error}"
        if back != older:
            return "after a switch, the program does not send what it sent of the older copy"
        return [first, row(["join,", "switch"], file, program, copy, back)]


VERBS = {
    "drop": lambda file, program: told_apart(["drop", "--others"], file, program),
    "slim": lambda file, program: [told_apart(["slim", "--in-place", *options], file, program) for options in OPTIONS.get(kind_of(file), SLIM)],
    "edit": lambda file, program: told_apart(["slim", "--append", "--results=100", "--images"], file, program) if program == "pi" else None,
    "join": joined,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", nargs="*")
    parser.add_argument("--file", default="", metavar="WORD")
    parser.add_argument("--rich", metavar="DIR", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--option", action="append", metavar="WORD", help="of the options of `slim`, only those that begin with this word")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth session")
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="only this one")
    parser.add_argument("-j", type=int, default=2, metavar="N", help="ask so many at once")
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    global RICH
    RICH = args.rich
    for all in [SLIM, *OPTIONS.values()]:
        all[:] = [words for words in all if not args.option or any(words[0].startswith("--" + option) for option in args.option)]
    rows, failures = [], 0
    for verb in args.verb or VERBS:
        counts = {}
        with ThreadPoolExecutor(args.j) as pool:
            todo = [one for one in with_rich(args.file, verb) if not args.program or one[1] in args.program][::args.every]
            for (file, program), found in zip(todo, pool.map(lambda one: VERBS[verb](*one), todo)):
                for one in found if isinstance(found, list) else [found]:
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
        kept = [tuple(line.split("\t")) for line in programs.recorded(RECORD)[1:]]
        new, asked = {(row[0], row[1]) for row in rows}, {row[3] for row in rows}
        rows += [line for line in kept if (line[0], line[1]) not in new]
        lines = ["\t".join(line) for line in [("command", "session", "wrote", "program", "sent"), *sorted(rows)]]
        programs.record_lines(RECORD, lines, [program for program in PROGRAMS if program in asked])
        numbered.save()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
