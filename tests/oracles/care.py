#!/usr/bin/env python3
"""Asks the agents' own programs what they load and send after `drop`, `slim` and `join`.

    tests/oracles/care.py [VERB…] [--file WORD] [--rich DIR] [--record]

Each verb is carried out on copies of the sessions of the tests, and `slim` once for each of its options. The program must load the
result, continue from the same entry, and send the same messages as before; after `slim`, those that were slimmed may differ, as many as
bough says. For `join`, a session is taken apart: a turn is appended to one copy and another to a second one, and both are joined; the
program must then see what it saw in the newer copy, and, after a switch, what it saw in the older one. One line for each failure, figures
at the end; exit status 1 if there was a failure. The environment is that of `programs.py`.

`--rich` names a folder with the same sessions, to which images, long results, thinking and state were added. A test makes it:

    BOUGH_RICH=/tmp/rich cargo test --test cli -- --ignored rich_sessions_are_written

`--record` writes the answers to tests/cli/sessions/care.tsv: the command, the session, the digest of the result, the program, the number
of messages that it sends, and a digest of them.
"""
import argparse, json, os, pathlib, shutil, sys, tempfile, threading
from concurrent.futures import ThreadPoolExecutor

import programs

RECORD = programs.SESSIONS / "care.tsv"
ALL = ["--images", "--results=100", "--thinking", "--tool-use-result", "--snapshots", "--before-compaction"]
SLIM = [[option] for option in ALL] + [["--budget=1", "--results=64", "--images"], ALL]
RICH = None


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


def with_rich(word, verb):
    """The same, and those with more in them, of which `slim` is asked."""
    for file, program in sessions(word):
        yield file, program
        rich = RICH / file.relative_to(programs.SESSIONS) if RICH and verb == "slim" else None
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
        own = programs.SESSIONS / file.relative_to(RICH) if RICH and RICH in file.parents else file
        if own.with_suffix("").is_dir():
            shutil.copytree(own.with_suffix(""), self.file.with_suffix(""))

    def run(self, *words):
        return programs.bough(self.work, *words)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.work, ignore_errors=True)


def messages(program, answer):
    """What is sent: a list of comparable messages."""
    if program == "claude":
        # The client joins the texts of one entry in some cases: the block then has the entry several times.
        times = lambda block: len(block["uuid"]) if isinstance(block["uuid"], list) and len(set(block["uuid"])) == 1 else 1
        return [[block["kind"] if "kind" in block else block.get("type"), block["text"]] for block in answer["sent"] if block["uuid"] for _ in range(times(block))]
    return [[message["role"], message["text_sha"]] for message in answer["context_messages"]]


def name_of(file):
    return f"rich/{file.relative_to(RICH)}" if RICH and RICH in file.parents else str(file.relative_to(programs.SESSIONS))


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
        if program != "claude" and before["leaf"] != after["leaf"] and "--append" not in words:
            return f"the leaf was {before['leaf']}, and is {after['leaf']}"
        if verb == "slim":
            with counting:
                sizes.setdefault(" ".join(words[2:]), []).append((said["size"], said["tokens"]))
        # A note may name the file.
        result = copy.file.read_bytes().replace(str(copy.work).encode(), b"WORK")
        return row(" ".join(words), file, program, result, messages(program, after))


def joined(file, program):
    if program == "claude":
        first, second = file.name, "copy/" + file.name
    else:
        first, second = file.name, "copy.jsonl"
    with Copy(file) as copy:
        other = copy.work / second
        other.parent.mkdir(exist_ok=True)
        shutil.copy(file, other)
        if programs.ask(program, file).get("error"):
            return None
        env = dict(os.environ)
        for path, text, seed, now in [(copy.file, "One more, of the older copy.", "a", "2027-01-15T12:00:00Z"), (other, "Another one, of the newer copy.", "b", "2027-01-15T12:05:00Z")]:
            programs.SEED, programs.NOW = seed, now
            done = copy.run("append", "--kind", "message", "--text", text, "--force", path)
            if done.returncode != 0:
                programs.SEED, programs.NOW = "peers", "2027-01-15T12:00:00Z"
                return None
        programs.SEED, programs.NOW = "peers", "2027-01-15T12:00:00Z"
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
        del env
        return row("join", file, program, result, messages(program, answer))


VERBS = {
    "drop": lambda file, program: compared("drop", ["drop", "--others"], file, program),
    "slim": lambda file, program: [compared("slim", ["slim", "--in-place", *options], file, program) for options in SLIM],
    "edit": lambda file, program: compared("slim", ["slim", "--append", "--results=100", "--images"], file, program) if program == "pi" else None,
    "join": joined,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", nargs="*")
    parser.add_argument("--file", default="", metavar="WORD")
    parser.add_argument("--rich", metavar="DIR", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    global RICH
    RICH = args.rich
    rows, failures = [], 0
    for verb in args.verb or VERBS:
        counts = {}
        # Seeds and times of `join` are set for the whole program, so it asks one after the other.
        with ThreadPoolExecutor(1 if verb == "join" else 2) as pool:
            todo = list(with_rich(args.file, "slim" if verb == "edit" else verb))
            for (file, program), found in zip(todo, pool.map(lambda one: VERBS[verb](*one), todo)):
                for one in found if verb == "slim" else [found]:
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
