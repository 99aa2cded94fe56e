#!/usr/bin/env python3
"""Asks the agents' own programs whether they follow what bough wrote.

    tests/oracles/positions.py [PROGRAM…] [--verb VERB]… [--every N] [--file WORD] [--again] [--record [FILE]]

For the entries of each session (every N-th; all by default), a copy is switched to it, labelled, or has the branch
exported, and the program then loads the result: it must stand at the wanted entry, and give the model what it would give
for a file that holds nothing but the path to it. One line for each failure, figures at the end; exit status 1 where there
was a failure.

Programs: pi, pi-old, omp, harness, chimera, claude; `claude@2.0.76` is that version of Claude Code, with sessions as of that
version.
Verbs: switch, summary, label, export, subtree, new-ids, and what `bough append` adds: append-message, append-note,
append-custom, append-compaction (under the entry), append-kept (after HEAD; the entry is the first one kept).

`--again` asks only what is recorded. `--record` writes what the programs answered to tests/cli/sessions/peers.tsv, for the tests that have no programs: all
entries for `switch`, a sample for the other verbs. Answers to other questions stay; what failed is left out.

The environment is that of `programs.py`.
"""
import argparse, hashlib, json, os, pathlib, re, shutil, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

from programs import NEW_SESSION, SESSIONS, SHARED, Lines, Messages, ask, bough, digest, record_lines, recorded, runs

# Of the verbs that are no switch, every so many entries are recorded.
SAMPLE = 6
VERBS = ["switch", "summary", "label", "export", "subtree", "new-ids",
         "append-message", "append-note", "append-custom", "append-compaction", "append-kept"]
PROGRAMS = ["pi", "pi-old", "omp", "harness", "chimera", "claude"]



scratch = tempfile.TemporaryDirectory(prefix="bough-peers-")
messages = Messages()


def migrated(file):
    """An old session in the newest form: in the old one there is nothing to switch to."""
    new = pathlib.Path(scratch.name) / file.name
    if not new.exists():
        done = bough(scratch.name, "migrate", file, "-o", new)
        if done.returncode:
            sys.exit(f"{file}: {done.stderr}")
    return new


class Peer:
    """One program, asked about what one verb writes."""

    id_key, parent_key = "id", "parentId"
    folders = ["pi"]

    def __init__(self, program, verb):
        self.program, self.verb = program, verb
        self.tried = self.failed = self.refused = 0
        self.rows = []

    # Which sessions, and which entries of them.

    def sessions(self):
        for folder in self.folders:
            for file in sorted((SESSIONS / folder).glob("*.jsonl")):
                if self.is_for(file):
                    yield f"{folder}/{file.name}", file
            for file in sorted((SHARED / "corpus" / folder).glob("real-*.jsonl")):
                if self.is_for(file):
                    yield f"shared/corpus/{folder}/{file.name}", migrated(file)

    def is_for(self, file):
        # Version 1 has no ids, nor has what the programs take for it; version 4 is read by none of them.
        old = ("v1-", "v2-hand-design", "harness084", "harness087", "edge-v4", "edge-version-0", "edge-version-null")
        # Of these damaged files of pi's, oh-my-pi takes other lines for entries than pi and bough.
        if self.program == "omp":
            old += ("edge-fused-line", "edge-multiline-json", "edge-two-headers-last")
        fits = ".migrated" not in file.name and not file.name.startswith(old)
        # Where there are `leaf` entries, the position is the harness's, and another than that of the others.
        return fits and (b'"type":"leaf"' in file.read_bytes()) == (self.program == "harness")

    def targets(self, file):
        ids = [id for id, (_, entry, _) in self.lines(file).by_id.items() if id and entry.get("type") != "leaf"]
        # Of large sessions every entry would take hours.
        return ids[:: 60] if file.name.startswith("real-") else ids

    def lines(self, file):
        return Lines(file.read_bytes(), self.id_key, self.parent_key, self.is_entry)

    def is_entry(self, entry):
        return True

    def is_left_out(self, lines, target):
        return lines.is_ring(target)

    # What a program said.

    def place(self, answer):
        return answer["path_ids"]

    def context(self, answer):
        if "context_messages" not in answer:
            # The path alone is no file that the program opens: then there is nothing to compare with.
            return None
        return [f"{m['role']} {m['text_sha']}" for m in answer["context_messages"]]

    def plain(self, work, lines, target):
        """A file with nothing but a path, as the program sees it."""
        only = work / "only.jsonl"
        only.write_bytes(b"\n".join(lines.head + [lines.by_id[id][2] for id in lines.path(target)]) + b"\n")
        return ask(self.program, only)

    def complain(self, name, target, words):
        self.failed += 1
        print(f"{self.program} {self.verb} {name} {target}: {words}", flush=True)

    def note(self, name, target, wrote, answer, after):
        """Keeps the answer for the record."""
        numbers = [after.number[id] for id in self.place(answer) if id in after.number]
        sent = self.sent(answer)
        if name.startswith("shared/"):
            # What is said in these sessions stays outside of the project.
            context = f"{len(sent)} messages, {digest(chr(10).join(self.context(answer)).encode())}"
        else:
            context = messages.runs(sent)
        self.rows.append((self.verb, name, target, wrote, self.program, runs(numbers), context))

    def sent(self, answer):
        """The messages, for the record: role and text."""
        return [(m["role"], m["text"]) for m in answer["context_messages"]]

    # One question.

    def copy(self, work, file):
        copy = work / file.name
        shutil.copyfile(file, copy)
        os.utime(copy, (1_700_000_000, 1_700_000_000))
        return copy

    def one(self, name, file, target):
        with tempfile.TemporaryDirectory(prefix="bough-peers-") as folder:
            work = pathlib.Path(folder).resolve()
            copy = self.copy(work, file)
            before = ask(self.program, copy)
            if before.get("error") or self.is_left_out(self.lines(copy), target):
                return
            self.tried += 1
            failed = self.failed
            kept = getattr(self, self.verb.replace("-", "_"))(work, name, copy, target, before)
            if kept is not None and self.failed == failed:
                self.note(name, target, *kept)

    def wrote(self, done, name, target):
        if done.returncode == 5:
            self.refused += 1
            self.rows.append((self.verb, name, target, "refused", self.program, "", ""))
            return False
        if done.returncode:
            self.complain(name, target, f"exit {done.returncode}: {done.stderr.strip()}")
            return False
        return True

    def appended(self, work, name, copy, target, *words):
        """Runs a verb that appends; gives what came, and what the program says now."""
        old = copy.read_bytes()
        if not self.wrote(bough(work, *words), name, target):
            return None
        new = copy.read_bytes()
        if not new.startswith(old):
            return self.complain(name, target, "old bytes changed")
        after = ask(self.program, copy)
        if after.get("error"):
            return self.complain(name, target, f"not loaded: {after['error']}")
        return digest(new[len(old):]), after

    def switch(self, work, name, copy, target, before):
        lines, old = self.lines(copy), copy.read_bytes()
        done = self.appended(work, name, copy, target, "switch", copy, f"id:{target}")
        if not done:
            return None
        wrote, after = done
        self.is_there(work, name, lines, target, after)
        kept = wrote, after, self.lines(copy)
        undone = bough(work, "undo", copy)
        if copy.read_bytes() != old:
            self.complain(name, target, f"undo gives other bytes: {undone.stderr.strip()}")
        return kept

    def is_there(self, work, name, lines, target, after):
        path = lines.path(target)
        there = [id for id in self.place(after) if id in lines.by_id]
        # HEAD is the last entry of the conversation: nothing is written to go there from the bookkeeping after it.
        while there and there != path and self.is_bookkeeping(lines.entry(there[-1])):
            there.pop()
        # The harness reads no further up than to the last compaction.
        if there != path and not (self.program == "harness" and there and there == path[-len(there):]):
            return self.complain(name, target, f"is at {self.place(after)[-2:]}, wanted {path[-1:]}")
        wanted = self.context(self.plain(work, lines, target))
        if wanted is not None and self.context(after) != wanted:
            self.complain(name, target, f"other context: {len(self.context(after))} for {len(wanted)}")

    def is_bookkeeping(self, entry):
        return entry.get("type") not in ("message", "compaction", "branch_summary", "custom_message", "context_edit")

    def summary(self, work, name, copy, target, before):
        lines = self.lines(copy)
        done = self.appended(work, name, copy, target, "switch", "--summary", "what was tried", copy, f"id:{target}")
        if not done:
            return None
        wrote, after = done
        wanted, got = self.context(self.plain(work, lines, target)), self.context(after)
        if wanted is not None and (got is None or got[: len(wanted)] != wanted or len(got) > len(wanted) + 1):
            self.complain(name, target, f"other context: {len(got)} for {len(wanted)} and a summary")
        return wrote, after, self.lines(copy)

    def label(self, work, name, copy, target, before):
        time = copy.stat().st_mtime_ns
        done = self.appended(work, name, copy, target, "label", "--replace", copy, "a name of bough", f"id:{target}")
        if not done:
            return None
        wrote, after = done
        if self.context(after) != self.context(before):
            self.complain(name, target, "the context changed")
        if not self.is_labelled(copy, after, target):
            self.complain(name, target, f"labels are {after.get('labels')}")
        if copy.stat().st_mtime_ns != time:
            self.complain(name, target, "the time changed")
        return wrote, after, self.lines(copy)

    def is_labelled(self, file, answer, target):
        return answer["labels"].get(target) == "a name of bough"

    def out(self, work):
        return work / "out.jsonl"

    def exported(self, work, name, copy, target, *options):
        out = self.out(work)
        if not self.wrote(bough(work, "export-branch", copy, f"id:{target}", "-o", out, *options), name, target):
            return None
        after = ask(self.program, out)
        if after.get("error"):
            return self.complain(name, target, f"not loaded: {after['error']}")
        new = self.lines(out)
        lost = [id for id, (_, entry, _) in new.by_id.items() if entry.get(self.parent_key) and entry[self.parent_key] not in new.by_id]
        if lost:
            self.complain(name, target, f"without their parent: {lost}")
        # The path of the source is in the header.
        return digest(out.read_bytes().replace(str(work).encode(), b"/work")), after, new

    def export(self, work, name, copy, target, before):
        kept = self.exported(work, name, copy, target)
        if kept:
            _, after, new = kept
            lines = self.lines(copy)
            self.same_context(work, name, copy, target, after)
            # Labels and positions are made anew; of the header's entry Chimera wants another id.
            wanted = [id for id in lines.path(target) if lines.entry(id).get("type") not in ("label", "leaf", "header")]
            there = [id for id in self.place(after) if id in lines.by_id]
            beside = [id for id in there if id not in wanted]
            if self.program != "harness" and [id for id in there if id in wanted] != wanted:
                self.complain(name, target, f"the path is {there}, wanted {wanted}")
            # At HEAD, the bookkeeping after it comes along.
            if any(not self.is_result(lines.entry(id)) and not self.is_bookkeeping(lines.entry(id)) for id in beside):
                self.complain(name, target, f"more than was asked for: {beside}")
        return kept

    def is_result(self, entry):
        return isinstance(entry.get("message"), dict) and entry["message"].get("role") in ("toolResult", "tool")

    def same_context(self, work, name, copy, target, after):
        """What the program gives the model must be what it would give at the entry, or at the last result of its calls, where
        those came along: some programs leave out a call without its result."""
        lines = self.lines(copy)
        again = work / "again.jsonl"
        bough(work, "export-branch", copy, f"id:{target}", "-o", again)
        came = [id for id in self.lines(again).by_id if id in lines.by_id and lines.entry(id).get("type") != "label"]
        wanted, got = self.context(self.plain(work, lines, came[-1] if came else target)), self.context(after)
        if wanted is not None and got != wanted:
            self.complain(name, target, f"other context: {len(got)} for {len(wanted)}")

    def subtree(self, work, name, copy, target, before):
        kept = self.exported(work, name, copy, target, "--subtree")
        if kept:
            lines, new = self.lines(copy), kept[2]
            wanted = {id for id in lines.below(target) if lines.entry(id).get("type") not in ("label", "leaf", "header")}
            if not wanted <= set(new.by_id):
                self.complain(name, target, f"left behind: {wanted - set(new.by_id)}")
        return kept

    def new_ids(self, work, name, copy, target, before):
        kept = self.exported(work, name, copy, target, "--new-ids")
        if kept:
            self.same_context(work, name, copy, target, kept[1])
            if set(kept[2].by_id) & set(self.lines(copy).by_id):
                self.complain(name, target, "an id was kept")
        return kept

    # What `bough append` adds.

    def append(self, work, name, copy, target, *words):
        """Appends an entry; gives its id, what came, and what the program says now."""
        done = self.appended(work, name, copy, target, "append", "-s", copy, *words)
        if not done:
            return None
        wrote, after = done
        id = self.newest(copy)
        if not self.is_at(after, id, words):
            self.complain(name, target, f"the program is at {self.place(after)[-2:]}, not at the new entry {id}")
        return id, wrote, after

    def newest(self, copy):
        return list(self.lines(copy).by_id)[-1]

    def is_at(self, after, id, words):
        return self.place(after)[-1:] == [id]

    def append_message(self, work, name, copy, target, before):
        return self.append_said(work, name, copy, target, "user", "--kind", "message", "--text", "Added by a script")

    def append_note(self, work, name, copy, target, before):
        words = ["--kind", "custom-message", "--type", "ci", "--hidden", "--text", "Added by a script"]
        return self.append_said(work, name, copy, target, "", *words)

    def append_said(self, work, name, copy, target, role, *words):
        lines = self.lines(copy)
        done = self.append(work, name, copy, target, *words, "--parent", f"id:{target}")
        if not done:
            return None
        id, wrote, after = done
        wanted, got = self.stored(self.plain(work, lines, target)), self.stored(after)
        if wanted is not None and (got[:-1] != wanted or not self.is_new(got[-1], id, role)):
            self.complain(name, target, f"other context: {got[-2:]} for {wanted[-1:]} and the new entry")
        return wrote, after, self.lines(copy)

    def stored(self, answer):
        """What is sent, without what the program makes up."""
        return self.context(answer)

    def is_new(self, said, id, role):
        return said.endswith(hashlib.sha256(b"Added by a script").hexdigest()[:16]) and said.startswith(role)

    def append_custom(self, work, name, copy, target, before):
        lines = self.lines(copy)
        words = ["--kind", "custom", "--type", "ci", "--text", '{"step": [1, 2]}']
        done = self.append(work, name, copy, target, *words, "--parent", f"id:{target}")
        if not done:
            return None
        _, wrote, after = done
        wanted = self.context(self.plain(work, lines, target))
        if wanted is not None and self.context(after) != wanted:
            self.complain(name, target, f"other context: {len(self.context(after))} for {len(wanted)}")
        return wrote, after, self.lines(copy)

    def append_compaction(self, work, name, copy, target, before):
        done = self.append(work, name, copy, target, "--kind", "compaction", "--summary", "Added by a script", "--parent", f"id:{target}")
        if not done:
            return None
        id, wrote, after = done
        self.is_summarized(name, target, id, self.stored(after), [])
        return wrote, after, self.lines(copy)

    def append_kept(self, work, name, copy, target, before):
        if target not in self.place_before(before, copy):
            self.tried -= 1
            return None
        done = self.append(work, name, copy, target, "--kind", "compaction", "--summary", "Added by a script", "--keep", f"id:{target}")
        if not done:
            return None
        id, wrote, after = done
        got, was = self.stored(after), self.stored(before)
        kept = [said for said in got if not self.is_new(said, id, "")]
        # An older summary after the first kept entry is left out by some programs.
        path = self.lines(copy).path(id)
        tail = path[path.index(target):-1] if target in path else []
        older = any(self.lines(copy).entry(id).get("type") == "compaction" for id in tail)
        self.is_summarized(name, target, id, got, got[1:] if older else was[len(was) - len(kept):])
        return wrote, after, self.lines(copy)

    def place_before(self, before, copy):
        return self.place(before)

    def is_summarized(self, name, target, id, got, kept):
        if got[1:] != kept or not got or not self.is_new(got[0], id, ""):
            self.complain(name, target, f"other context: {got}, wanted the summary and {kept}")


class Chimera(Peer):
    parent_key = "parent_id"
    folders = ["chimera"]

    def is_for(self, file):
        return True

    def is_entry(self, entry):
        message = entry.get("message")
        return isinstance(entry.get("type"), str) and (entry["type"] != "message" or isinstance(message, dict) and "role" in message)

    def context(self, answer):
        words = lambda m: [m["role"], m["text"], m["tool_calls"], m["call_id"]]
        return [json.dumps(words(m), ensure_ascii=False, separators=(",", ":")) for m in answer["context_messages"]]

    def sent(self, answer):
        # The text is cut by the script that asks Chimera; a call is known by its id.
        words = lambda m: [m["text"], *m["tool_calls"], *([m["call_id"]] if m["call_id"] else [])]
        return [(m["role"], " · ".join(words(m))) for m in answer["context_messages"]]

    def is_labelled(self, file, answer, target):
        return [target, "a name of bough"] in answer["labels"]

    def is_new(self, said, id, role):
        return "Added by a script" in said

    def is_summarized(self, name, target, id, got, kept):
        # To Chimera a compaction is one more message: nothing before it is left out.
        if not got or not self.is_new(got[-1], id, ""):
            self.complain(name, target, f"other context: {got}")


class Claude(Peer):
    """Claude Code: what is compared is what the client sends, block by block."""

    id_key, parent_key = "uuid", "parentUuid"

    def sessions(self):
        yield from self.real()
        for file in sorted((SESSIONS / "claude-code").glob("*.jsonl")):
            yield f"claude-code/{file.name}", file
        for file in sorted((SHARED / "corpus/claude-code/upstream").glob("dag*.jsonl")):
            yield f"shared/corpus/claude-code/upstream/{file.name}", file

    def real(self):
        for file in sorted((SESSIONS / "claude" / "real").glob("*/*-*-*-*-*.jsonl")):
            yield f"claude/real/{file.parent.name}/{file.name}", file

    def targets(self, file):
        lines = self.lines(file)
        turns = [id for id, (_, entry, _) in lines.by_id.items()
                 if entry.get("type") in ("user", "assistant") and not entry.get("isSidechain")]
        # Those made by hand are many and alike.
        return turns if "real" in file.parts else turns[:: 8]

    def is_left_out(self, lines, target):
        # It cuts rings.
        return False

    def copy(self, work, file):
        # The client takes the name of the file for the session.
        named = re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", file.stem)
        copy = work / (file.name if named else "22222222-2222-4222-8222-222222222222.jsonl")
        shutil.copyfile(file, copy)
        os.utime(copy, (1_700_000_000, 1_700_000_000))
        if file.with_suffix("").is_dir():
            shutil.copytree(file.with_suffix(""), copy.with_suffix(""))
        return copy

    def blocks(self, answer):
        """What is sent: the role, the kind as one letter, and the entry, or entries that can't be told apart."""
        for block in answer["sent"]:
            ids = block["uuid"] if isinstance(block["uuid"], list) else [block["uuid"]]
            yield block["role"], {"tool_use": "c", "tool_result": "r"}.get(block["kind"], "t"), ids, block["text"]

    def context(self, answer):
        return [f"{role} {kind} {'|'.join(map(str, ids))}" for role, kind, ids, _ in self.blocks(answer)]

    def note(self, name, target, wrote, answer, after):
        leaf = after.by_id.get(answer["leaf"], ("",))[0]
        sent = []
        for _, kind, ids, _ in self.blocks(answer):
            lines = sorted({after.by_id[id][0] for id in ids if id in after.by_id})
            sent.append(("|".join(map(str, lines)) or "?") + kind)
        self.rows.append((self.verb, name, target, wrote, self.program, str(leaf), " ".join(sent)))

    def trunk(self, lines, target):
        """The ids of what the client should have in sight at an entry: its path, the rest of the replies on it, their
        results, and notes."""
        path = lines.path(target)
        taken = set(path)
        for id in reversed(path):
            if lines.entry(id).get("subtype") == "compact_boundary":
                taken = set(path[path.index(id):])
                break
        replies = {self.message(lines, id).get("id") for id in taken if lines.entry(id).get("type") == "assistant"} - {None}
        taken |= {id for id, (_, entry, _) in lines.by_id.items() if entry.get("type") == "assistant" and self.message(lines, id).get("id") in replies}
        calls = {block.get("id") for id in taken for block in self.content(lines, id) if block.get("type") == "tool_use"}
        taken |= {id for id in lines.by_id for block in self.content(lines, id)
                  if block.get("type") == "tool_result" and block.get("tool_use_id") in calls}
        # From a turn the client goes on over the notes behind it.
        notes = [(id, entry.get("parentUuid")) for id, (_, entry, _) in lines.by_id.items() if entry.get("type") in ("system", "attachment")]
        while more := {id for id, above in notes if above in taken} - taken:
            taken |= more
        return taken

    def message(self, lines, id):
        message = lines.entry(id).get("message")
        return message if isinstance(message, dict) else {}

    def content(self, lines, id):
        content = self.message(lines, id).get("content")
        return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []

    def plain(self, work, lines, target):
        taken = self.trunk(lines, target)
        boundary = next((id for id in reversed(lines.path(target)) if lines.entry(id).get("subtype") == "compact_boundary"), None)
        listed = None
        if boundary:
            # Its line as it was with the lists, whatever copies of it came later.
            kept = lambda entry: entry.get("compactMetadata", {}).get("preservedMessages") or entry.get("compactMetadata", {}).get("preservedSegment")
            copies = [(entry, line) for _, entry, line in lines.all if entry.get("uuid") == boundary and kept(entry)]
            if copies:
                entry, listed = copies[-1]
                taken |= set((entry["compactMetadata"].get("preservedMessages") or {}).get("uuids") or [])
        out = []
        for _, entry, line in lines.all:
            id = entry.get("uuid")
            if id in taken and line == (listed if listed and id == boundary else lines.by_id[id][2]):
                out.append(line)
        out.append(json.dumps({"type": "last-prompt", "leafUuid": target, "explicit": True}).encode())
        folder = work / "plain"
        folder.mkdir(exist_ok=True)
        only = folder / "33333333-3333-4333-8333-333333333333.jsonl"
        only.write_bytes(b"\n".join(out) + b"\n")
        return ask(self.program, only)

    def is_there(self, work, name, lines, target, after):
        wanted = self.plain(work, lines, target)
        if wanted.get("error"):
            return self.complain(name, target, f"the path alone is not opened: {wanted['error']}")
        kept = {id for _, entry, _ in lines.all for id in ((entry.get("compactMetadata") or {}).get("preservedMessages") or {}).get("uuids", [])}
        if target in kept:
            # To the client it is behind the summary, wherever it was before.
            last = [ids for _, _, ids, _ in self.blocks(after) if ids != [None]][-1:]
            if not last or target not in last[0]:
                self.complain(name, target, f"the last that is sent is {last}")
            return None
        if after["leaf"] != target and target not in self.group(lines, after["leaf"]):
            return self.complain(name, target, f"is at {after['leaf']}")
        if self.context(after) != self.context(wanted):
            self.complain(name, target, f"sends {self.context(after)}, wanted {self.context(wanted)}")

    def group(self, lines, leaf):
        """The entries from which the client goes to the end of what they are a part of: a reply, and its results."""
        if leaf not in lines.by_id:
            return set()
        group = set()
        for id in reversed(lines.path(leaf)):
            entry = lines.entry(id)
            if entry.get("type") == "user" and not any(block.get("type") == "tool_result" for block in self.content(lines, id)):
                break
            group.add(id)
        replies = {self.message(lines, id).get("id") for id in group} - {None}
        group |= {id for id in lines.by_id if self.message(lines, id).get("id") in replies}
        calls = {block.get("id") for id in group for block in self.content(lines, id) if block.get("type") == "tool_use"}
        return group | {id for id in lines.by_id for block in self.content(lines, id) if block.get("tool_use_id") in calls}

    def is_labelled(self, file, answer, target):
        last = json.loads(file.read_bytes().rstrip().split(b"\n")[-1])
        return last.get("targetUuid") == target and last.get("label") == "a name of bough"

    def newest(self, copy):
        return list(self.lines(copy).by_id)[-1]

    def is_at(self, after, id, words):
        # Of what a compaction keeps, the client goes on from the last.
        return after["leaf"] == id or "--keep" in words and id in self.context(after)[0]

    def stored(self, answer):
        if "sent" not in answer:
            # The path alone is no file that the client opens: then there is nothing to compare with.
            return None
        # It says that no response was requested where a prompt is the last entry of all.
        return [said for said in self.context(answer) if not said.endswith(" None")]

    def is_new(self, said, id, role):
        return id in said

    def place_before(self, before, copy):
        return self.lines(copy).path(before["leaf"])

    def out(self, work):
        return work / "out" / f"{NEW_SESSION}.jsonl"

    def same_context(self, work, name, copy, target, after):
        wanted = self.plain(work, self.lines(copy), target)
        if wanted.get("error"):
            return self.complain(name, target, f"the path alone is not opened: {wanted['error']}")
        said = lambda answer: [(role, kind, text) for role, kind, _, text in self.blocks(answer)]
        if said(after) != said(wanted):
            self.complain(name, target, f"sends {said(after)}, wanted {said(wanted)}")
        if after["api_refusals"] and not wanted["api_refusals"]:
            self.complain(name, target, f"would be refused: {after['api_refusals']}")

    def export(self, work, name, copy, target, before):
        kept = self.exported(work, name, copy, target)
        if kept:
            self.same_context(work, name, copy, target, kept[1])
        return kept

    def subtree(self, work, name, copy, target, before):
        return self.exported(work, name, copy, target, "--subtree")


class OldClaude(Claude):
    """A client that goes by the newest time, and knows no pointers: what it finds there is the straight way to an entry, and, by
    its version, the rest of the replies on it."""

    def sessions(self):
        for name, file in self.real():
            if "compact_boundary" not in file.read_text():
                yield name, aged(file, self.program.partition("@")[2])

    def targets(self, file):
        lines = self.lines(file)
        return [id for id, (_, entry, _) in lines.by_id.items()
                if entry.get("type") in ("user", "assistant") and not entry.get("isSidechain")][:: 5]

    def trunk(self, lines, target):
        return set(lines.path(target)) if self.straight else super().trunk(lines, target)

    def said(self, answer):
        """Without what the client makes up: it says that no response was requested where a prompt is the last entry of all,
        which it is not behind a switch."""
        # A reminder may stand behind the last result; results of one reply are in the order of the client.
        return sorted((role, kind, text.strip()[:20]) for role, kind, ids, text in self.blocks(answer) if ids != [None])

    def is_there(self, work, name, lines, target, after):
        if after["leaf"] != target:
            return self.complain(name, target, f"is at {after['leaf']}")
        self.is_one_of(work, name, lines, target, after)

    def same_context(self, work, name, copy, target, after):
        self.is_one_of(work, name, self.lines(copy), target, after)

    def is_one_of(self, work, name, lines, target, after):
        wanted = []
        for self.straight in (True, False):
            plain = self.plain(work, lines, target)
            if not plain.get("error"):
                wanted.append(self.said(plain))
        if self.said(after) not in wanted:
            self.complain(name, target, f"sends {self.said(after)}, wanted one of {wanted}")


def aged(file, version):
    """A session as if the client of that version had written it: bough goes by the newest version in the file."""
    new = pathlib.Path(scratch.name) / version / file.name
    if not new.exists():
        new.parent.mkdir(exist_ok=True)
        new.write_bytes(re.sub(rb'"version":"[0-9.]*"', b'"version":"%s"' % version.encode(), file.read_bytes()))
    return new


def peer(program, verb):
    kinds = {"chimera": Chimera, "claude": Claude}
    name, _, version = program.partition("@")
    old = version and tuple(map(int, version.split("."))) < (2, 1, 122)
    return (OldClaude if old else kinds.get(name, Peer))(program, verb)


def record(rows, asked, file):
    """Puts the answers into a file, in the place of those that it has to the same questions.

    Rows that differ in nothing but the program are one.
    """
    merged = {}
    for line in recorded(file)[1:]:
        verb, name, target, wrote, programs, *answer = line.split("\t")
        rows += [(verb, name, target, wrote, program, *answer) for program in programs.split()
                 if (program, verb, name, target) not in asked]
    for verb, name, target, wrote, program, *answer in rows:
        merged.setdefault((verb, name, target, wrote, *answer), []).append(program)
    order = {verb: at for at, verb in enumerate(VERBS)}
    rank = {program: at for at, program in enumerate(PROGRAMS)}
    lines = ["verb\tsession\ttarget\twrote\tprograms\tpath\tcontext"]
    for (verb, name, target, wrote, *answer), programs in sorted(merged.items(), key=lambda row: (order[row[0][0]], *row[0][1:])):
        programs = " ".join(sorted(programs, key=lambda program: (rank.get(program, 99), program)))
        lines.append("\t".join([verb, name, target, wrote, programs, *answer]))
    record_lines(file, lines, sorted({program for program, *_ in asked}, key=lambda program: (rank.get(program, 99), program)))
    messages.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=[])
    parser.add_argument("--verb", action="append")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--file", default="")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--record", nargs="?", const=str(SESSIONS / "peers.tsv"))
    parser.add_argument("-j", type=int, default=2)
    args = parser.parse_args()
    failed, rows, asked = 0, [], set()
    known = set()
    for row in recorded(SESSIONS / "peers.tsv")[1:]:
        verb, name, target, _, programs, *_ = row.split("\t")
        known |= {(program, verb, name, target) for program in programs.split()}
    for program in args.programs or PROGRAMS:
        for verb in args.verb or VERBS:
            one = peer(program, verb)
            jobs = [(name, file, id) for name, file in one.sessions() if args.file in name for id in one.targets(file)][:: args.every]
            if args.again:
                jobs = [job for job in jobs if (program, verb, job[0], job[2]) in known]
            sample = {(name, id) for name, _, id in (jobs if verb == "switch" or args.again else jobs[::SAMPLE])}
            with ThreadPoolExecutor(args.j) as pool:
                list(pool.map(lambda job: one.one(*job), jobs))
            print(f"{program} {verb}: {one.tried} tried, {one.failed} failed, {one.refused} refused", flush=True)
            failed += one.failed
            asked |= {(program, verb, *job) for job in sample}
            rows += [row for row in one.rows if row[1:3] in sample]
    if args.record:
        record(rows, asked, pathlib.Path(args.record))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
