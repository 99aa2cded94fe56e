#!/usr/bin/env python3
"""Asks the agents' own programs whether they load what `bough fsck --repair` mended.

    tests/oracles/repairs.py [PROGRAM…] [--file WORD] [--pairs] [--record]

A copy of each damaged case (tests/cli/sessions/cases) is repaired, once as it is and once with what is mended on request, and
every program of its family loads the result: it must take it, stand where bough says that it stands, and go up the same path;
Claude Code must send of the same entries. `--pairs` does the same with the measured transcripts that have a twin mended by
hand, of which Claude Code must send at least as much as of the twin. One line for each failure, figures at the end; exit status
1 where there was a failure.

Programs: pi, pi-old, omp, harness, chimera, claude. The environment is that of `programs.py`.

`--record` writes the answers to tests/cli/sessions/fsck.tsv, for the tests that have no programs: the case, what was asked for,
the digest of the repaired file, the program, the lines on the path (for Claude Code those that it sends something of, and the
line of its leaf). What is there of other programs stays; what failed is left out.
"""
import argparse, json, pathlib, shutil, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

import programs

CASES = programs.SESSIONS / "cases"
RECORD = programs.SESSIONS / "fsck.tsv"
FAMILIES = {"pi": "pi", "pi-old": "pi", "omp": "pi", "harness": "pi", "chimera": "chimera", "claude": "claude"}
FORMATS = {"pi": "pi", "omp": "pi", "chimera": "chimera", "claude": "claude"}
WITH = {"sidechain tail": "sidechain-trunk", "sidechain all": "sidechain-trunk", "explicit null pointer": "explicit-null-pointer",
        "explicit null pointer (plain pointer after)": "explicit-null-pointer", "stale pointer a1 on dead branch": "stale-pointer",
        "null parent mid": "unexpected-root", "empty text u3": "empty-content", "tool result line lost, made anew": "unpaired-tool-use"}


# What a program refuses all the same, and why no repair helps.
EXCEPTIONS = {
    ("harness", "foreign-marker/a-wrapper-said-goodbye"): "it wants a time in each entry, and none is made up",
    ("harness", "missing-header/header-cut-off"): "it wants a folder in the header, and none is made up",
    ("harness", "missing-header/recreated-without-head"): "it wants a folder in the header, and none is made up",
}


def checks_on_request():
    with tempfile.TemporaryDirectory() as work:
        listed = programs.bough(work, "fsck", "--list-checks").stdout
    return [line.split()[1] for line in listed.splitlines() if "on request" in line]


ON_REQUEST = checks_on_request()


def cases(word):
    """The damaged cases: the name, the file, the family, and what is to be asked for."""
    for file in sorted(CASES.rglob("*.jsonl")):
        expect = json.loads(file.with_suffix(".expect.json").read_text())
        name = str(file.relative_to(CASES).with_suffix(""))
        family = FORMATS.get(expect.get("format"))
        found = expect.get("fsck", {}).get("checks", {}) | expect.get("fsck", {}).get("info", {})
        if family is None or word not in name:
            continue
        yield name, file, family, ""
        asked = ",".join(check for check in ON_REQUEST if check in found)
        if asked:
            yield name, file, family, asked


class Mended:
    """A repaired copy of a case, in a folder of its own."""

    def __init__(self, file, asked):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="bough-peers-")).resolve()
        self.copy = self.work / file.name
        shutil.copy(file, self.copy)
        words = ["--with", asked] if asked else []
        self.done = programs.bough(self.work, "fsck", "--repair", "--force", *words, self.copy)
        self.bytes = self.copy.read_bytes()
        self.changed = self.bytes != file.read_bytes()

    def said(self, command):
        done = programs.bough(self.work, command, "--json", self.copy)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.work, ignore_errors=True)


def ask(program, file, family, asked):
    """The row of a record, or a complaint; `None` where the program is not concerned."""
    with Mended(file, asked) as mended:
        if mended.done.returncode == 5 and "can't write" not in mended.done.stderr:
            return f"not mended: {mended.done.stderr.strip()[-200:]}"
        if not mended.changed:
            return None
        status = (mended.said("status") or [{}])[0]
        # A title above the header is oh-my-pi's alone; `leaf` entries move the harness alone, which takes version 3 alone.
        slot = mended.bytes.startswith(b'{"type":"title"') and program != "omp"
        leaves = b'"type":"leaf"' in mended.bytes
        old = status.get("version") in ("1", "2", 1, 2) or str(status.get("format", "")).startswith(("pi v1", "pi v2"))
        if family == "pi" and (slot or leaves != (program == "harness") and leaves or program == "harness" and old):
            return None
        if program == "claude" and status.get("head") is None:
            return None
        answer = programs.ask(program, mended.copy)
        if answer.get("error"):
            return f"not loaded: {str(answer['error'])[-200:]}"
        digest = programs.digest(mended.bytes)
        if program == "claude":
            return claude(mended, status, answer, digest)
        keys = ("id", "parent_id") if family == "chimera" else ("id", "parentId")
        lines = programs.Lines(mended.bytes, *keys)
        place = answer.get("path_ids") or []
        if old and len(lines.by_id) < 2:
            # Version 1 has no ids: the program makes them up.
            if len(place) != status["path"]:
                return f"{len(place)} on the path, where bough has {status['path']}"
            return digest, f"{len(place)} entries"
        own = lines.path(status.get("leaf"))
        # The harness reads no further up than to the last compaction.
        if place != own and not (program == "harness" and place and own[-len(place):] == place):
            return f"stands at {place[-2:]} of {len(place)}, where bough is at {own[-2:]} of {len(own)}"
        return digest, programs.runs([lines.by_id[id][0] for id in place])


def claude(mended, status, answer, digest):
    lines = programs.Lines(mended.bytes, "uuid", "parentUuid")
    head = lines.by_id.get(answer.get("leaf"), (0,))[0]
    sent = {number for block in answer.get("sent", []) if block.get("uuid")
            for number in (block["line"] if isinstance(block["line"], list) else [block["line"]])}
    # Thinking alone is shown by bough; the client keeps that of old turns to itself.
    thinks = {number for number, entry, _ in lines.all if only_thinks(entry)}
    own = {message["line"] for message in mended.said("context") if message.get("line")} - (thinks - sent)
    if answer.get("leaf") != status["head"]:
        return f"stands at {answer.get('leaf')}, where bough is at {status['head']}"
    if sent != own:
        return f"sends of lines {programs.runs(sorted(sent))}, where bough says {programs.runs(sorted(own))}"
    return digest, f"{programs.runs(sorted(sent))} at {head}"


def only_thinks(entry):
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, list) and content and all(
        isinstance(block, dict) and str(block.get("type")).endswith("thinking") for block in content)


def pair(row):
    folder = programs.ORACLES / "claude_resume" / "measured" / "cases"
    with Mended(folder / (row["damaged"] + ".jsonl"), WITH.get(row["what"], "")) as mended:
        seen = programs.ask("claude", mended.copy)
        sent = [block for block in seen.get("sent", []) if block.get("uuid")]
        if len(sent) < row["sent_after"]:
            return f"{len(sent)} blocks are sent, not {row['sent_after']} ({seen.get('error')})"
        if seen.get("api_refusals") and not row["refused_after"]:
            return f"refused: {seen['api_refusals']}"
        return ("", "")


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("programs", nargs="*", metavar="PROGRAM")
    words.add_argument("--file", default="", metavar="WORD")
    words.add_argument("--pairs", action="store_true")
    words.add_argument("--record", action="store_true")
    words = words.parse_args()
    wanted_programs = words.programs or list(FAMILIES)
    rows, failures = [], 0
    with ThreadPoolExecutor(2) as pool:
        for program in wanted_programs:
            wanted = [case for case in cases(words.file) if case[2] == FAMILIES[program]]
            answers = list(pool.map(lambda case: ask(program, *case[1:]), wanted))
            asked = [(f"{name} {asked}".strip(), answer) for (name, _, _, asked), answer in zip(wanted, answers)]
            rows += [(name, asked, answer[0], program, answer[1]) for (name, _, _, asked), answer in zip(wanted, answers)
                     if isinstance(answer, tuple)]
            if program == "claude" and words.pairs:
                pairs = json.loads((programs.ORACLES / "claude_resume/measured/repairs.json").read_text())
                pairs = [row for row in pairs if not row["what"].startswith("switch")]
                asked += zip([row["what"] for row in pairs], pool.map(pair, pairs))
            asked = [(name, answer) for name, answer in asked if answer is not None]
            known = [name for name, answer in asked if isinstance(answer, str) and (program, name) in EXCEPTIONS]
            for name in known:
                print(f"{program}: {name} is refused: {EXCEPTIONS[program, name]}")
            asked = [(name, answer) for name, answer in asked if name not in known]
            failed = [(name, answer) for name, answer in asked if isinstance(answer, str)]
            failures += len(failed)
            for name, answer in failed:
                print(f"{program}: {name}: {answer}")
            print(f"{program}: {len(asked)} repaired files, {len(asked) - len(failed)} load as they must", flush=True)
    if words.record:
        kept = [tuple(row.split("\t")) for row in programs.recorded(RECORD)]
        kept = [row for row in kept if row[3] not in wanted_programs or words.file not in row[0]]
        programs.record_lines(RECORD, ["\t".join(row) for row in sorted(kept + rows)], wanted_programs)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
