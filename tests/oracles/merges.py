#!/usr/bin/env python3
"""Merges and picks in the reference files, and asks the real programs what they then see.

    BOUGH_PEERS=DIR BOUGH_SHARED=DIR tests/oracles/merges.py [--bough PROGRAM] [--jobs N] [pi] [omp] [chimera] [claude] [migrate]

BOUGH_PEERS is the folder of installed programs, BOUGH_SHARED that of reference files and of the scripts that ask the
programs (`oracles/`). For every file and every leaf that HEAD is not on, `bough merge FILE LEAF` is run on a copy.
The program must load the result; what it would send must be what it would send at HEAD before, then what it would
send at LEAF beyond the part that both share; no call may be without its result, and no result without its call.
Files with a compaction on either path, and leaves from which something was left out, are checked for the calls
alone, and counted as such. Prints one line for each failure and a line of counts; exits with 1 if there were failures.
"""
import argparse, concurrent.futures, json, os, pathlib, shutil, subprocess, sys, tempfile

from programs import PEERS, SHARED


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)


class Work:
    def __init__(self, bough):
        self.bough = bough
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="picks-"))
        self.env = dict(os.environ, XDG_STATE_HOME=str(self.folder / "state"), BOUGH_PEERS=str(PEERS))

    def copy(self, path, name=None):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        to = folder / (name or path.name)
        shutil.copyfile(path, to)
        os.utime(to, (1767225600, 1767225600))
        return to

    def ask(self, *words):
        return run(self.bough, *words, env=self.env)


def lines(path):
    out = []
    for line in path.read_bytes().split(b"\n"):
        try:
            line = json.loads(line)
        except ValueError:
            continue
        if isinstance(line, dict):
            out.append(line)
    return out


def program(kind, path):
    """What a program sees: HEAD's path, and what it would send as (role, text)."""
    if kind == "chimera":
        python = os.path.join(PEERS, "chimera-venv", "bin", "python")
        if not os.path.exists(python):
            python = os.environ.get("CHIMERA_PYTHON", python)
        made = run(python, SHARED / "oracles/chimera_oracle.py", path)
    else:
        script = "omp_oracle.mjs" if kind == "omp" else "pi_oracle.mjs"
        made = run("node", SHARED / "oracles" / script, path, env=dict(os.environ, BOUGH_PEERS=str(PEERS)))
    try:
        seen = json.loads(made.stdout)
    except ValueError:
        return {"error": made.stderr[-300:]}
    if "error" not in seen and "context_messages" not in seen:
        return {"error": str(seen)[:300]}
    if "error" not in seen:
        messages = seen["context_messages"]
        if messages == "hangs" or seen["path_ids"] == "hangs":
            return {"error": "hangs"}
        seen["sent"] = [(m["role"], m.get("text_sha") or m["text"]) for m in messages]
    return seen


def calls_and_results(path, ids):
    """The calls and results on a path, and which are alone."""
    by_id = {}
    for line in lines(path):
        if isinstance(line.get("id"), str):
            by_id[line["id"]] = line
    calls, results = [], []
    for id in ids:
        message = by_id.get(id, {}).get("message")
        if not isinstance(message, dict):
            continue
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and block.get("type") == "toolCall":
                calls.append(block.get("id"))
        calls += [call.get("id") for call in message.get("tool_calls") or []]
        results += [message[key] for key in ("toolCallId", "call_id") if message.get(key)]
    alone = sorted(set(calls) ^ set(results)) + [id for id in calls if calls.count(id) > 1]
    return alone


MARK = {
    "pi": '{"type":"custom","id":"ffff9999","parentId":%s,"timestamp":"2030-01-01T00:00:00.000Z","customType":"bough.switch","data":{}}\n',
    "chimera": '{"type": "custom", "id": "ffff99999999", "parent_id": %s, "timestamp": 1900000000.0, "data": {"bough": "switch"}}\n',
}


def at(work, kind, path, leaf):
    """What the program sees once it stands on a leaf."""
    copy = work.copy(path)
    text = copy.read_bytes()
    mark = MARK["chimera" if kind == "chimera" else "pi"] % json.dumps(leaf)
    copy.write_bytes(text + (b"" if text.endswith(b"\n") else b"\n") + mark.encode())
    seen = program(kind, copy)
    if "error" not in seen:
        seen["path_ids"] = seen["path_ids"][:-1]
    return seen


def tree(work, kind, path):
    failures, exact, loose = [], 0, 0
    status = json.loads(work.ask("status", "--json", path).stdout or "{}")
    if kind == "omp" and status.get("format") != "omp" and status.get("faults"):
        return failures, exact, loose  # Of a broken file of pi's, oh-my-pi reads other lines.
    before = program(kind, path)
    if "error" in before or not before.get("path_ids"):
        return failures, exact, loose
    if any(line.get("type") == "leaf" for line in lines(path)):
        return failures, exact, loose  # The harness's position is another than this program's.
    picked_before = any(line.get("customType") == "bough.cherry-pick" for line in lines(path))
    compacted = {l.get("id") for l in lines(path) if l.get("type") in ("compaction", "reset_boundary", "context_edit")}
    for leaf in before["leaves"]:
        if leaf in before["path_ids"] or leaf == "(undefined)":
            continue
        copy = work.copy(path)
        made = work.ask("merge", copy, f"id:{leaf}")
        # Nothing to bring; or a file that is not written to: of a version that is not known, or with a torn end.
        if made.returncode == 1 or made.returncode == 5 and any(
            word in made.stderr for word in ("version", "truncated", "form a cycle")
        ):
            continue
        what = f"{path.name} {leaf}"
        if made.returncode != 0:
            failures.append(f"{what}: exit {made.returncode}: {made.stderr.strip()}")
            continue
        after = program(kind, copy)
        if "error" in after:
            failures.append(f"{what}: the program fails: {after['error']}")
            continue
        other = at(work, kind, path, leaf)
        if "error" in other:
            failures.append(f"{what}: the program fails at the leaf: {other['error']}")
            continue
        if not copy.read_bytes().startswith(path.read_bytes()):
            failures.append(f"{what}: old bytes are no prefix")
        alone = set(calls_and_results(copy, after["path_ids"])) - set(calls_and_results(path, before["path_ids"]))
        if alone:
            failures.append(f"{what}: alone or twice on the path: {sorted(map(str, alone))}")
        if after["path_ids"][: len(before["path_ids"])] != before["path_ids"]:
            failures.append(f"{what}: the old path is no part of the new one")
        shared = 0
        for one, two in zip(before["path_ids"], other["path_ids"]):
            if one != two:
                break
            shared += 1
        involved = set(before["path_ids"]) | set(other["path_ids"])
        if picked_before or involved & compacted or "left out" in made.stderr:
            loose += 1
            continue
        common = at(work, kind, path, before["path_ids"][shared - 1])["sent"] if shared else []
        wanted = before["sent"] + other["sent"][len(common):]
        if after["sent"] != wanted:
            failures.append(f"{what}: sends {after['sent']}, not {wanted}")
        exact += 1
    return failures, exact, loose


def claude(work, path):
    """Merges every other branch of a transcript, and asks the client."""
    failures, exact, loose = [], 0, 0
    check = SHARED / "oracles/claude_resume/resume_check"
    env = dict(os.environ, BOUGH_PEERS=str(PEERS))

    def resume(file):
        made = run(check, file, env=env)
        try:
            return json.loads(made.stdout)
        except ValueError:
            return {"ok": False, "error": made.stderr[-300:]}

    leaves = work.ask("rev-parse", path, "leaves").stdout.split()
    before = None
    for leaf in leaves:
        copy = work.copy(path)
        made = work.ask("merge", copy, f"id:{leaf}")
        if made.returncode == 1:
            continue
        what = f"{path.parent.name}/{path.name[:12]} {leaf[:8]}"
        if made.returncode != 0:
            failures.append(f"{what}: exit {made.returncode}: {made.stderr.strip()}")
            continue
        before = before or resume(path)
        if not before.get("ok"):
            continue
        after = resume(copy)
        old = path.read_bytes()
        if not copy.read_bytes().startswith(old):
            failures.append(f"{what}: old bytes are no prefix")
        if not after.get("ok"):
            failures.append(f"{what}: the client does not resume: {after.get('error')}")
            continue
        refused = [r for r in after["api_refusals"] if r not in before["api_refusals"]]
        if refused:
            failures.append(f"{what}: would be refused: {refused}")
        new = [line["uuid"] for line in lines(copy)[len(lines(path)):] if line.get("uuid")]
        sent = {u for block in after["sent"] for u in (block["uuid"] if isinstance(block["uuid"], list) else [block["uuid"]])}
        said = {
            line["uuid"] for line in lines(copy)
            if line.get("type") in ("user", "assistant") and line.get("uuid") in new
            # A block of thinking is not sent with another model's talk; an empty one never is.
            and not all(b.get("type") == "thinking" for b in blocks(line))
        }
        if said - sent:
            failures.append(f"{what}: not sent: {sorted(said - sent)}")
        kept = [b["text"] for b in before["sent"] if b["uuid"]]
        now = [b["text"] for b in after["sent"] if b["uuid"]]
        if now[: len(kept)] != kept:
            failures.append(f"{what}: what was sent before is not sent as it was")
        exact += 1
    return failures, exact, loose


def blocks(line):
    content = line.get("message", {}).get("content")
    return content if isinstance(content, list) and content else [{"type": "text"}]


def migrate(work, path):
    """Migrates as the program does, and asks it whether it sees the same."""
    failures = []
    script = SHARED / "oracles/pi_oracle.mjs"

    def see(file):
        made = run("node", script, "--positional", file, env=dict(os.environ, BOUGH_PEERS=str(PEERS)))
        seen = json.loads(made.stdout)
        for key in ("input", "file_changed_by_load", "migrated_file_sha", "migrated_file_lines", "probe"):
            seen.pop(key, None)
        return seen

    copy = work.copy(path)
    made = work.ask("migrate", copy, "--exact")
    if made.returncode != 0:
        return [f"{path.name}: exit {made.returncode}: {made.stderr.strip()}"], 0, 0
    if see(copy) != see(path):
        failures.append(f"{path.name}: pi sees another session")
    checked = work.ask("fsck", copy)
    if checked.returncode not in (0, 2) and work.ask("fsck", path).returncode == 0:
        failures.append(f"{path.name}: fsck: {checked.stdout.strip()}")
    return failures, 1, 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bough", default="target/debug/bough")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("what", nargs="*")
    args = parser.parse_args()
    work = Work(str(pathlib.Path(args.bough).resolve()))
    corpus = SHARED / "corpus"
    todo = []
    for path in sorted((corpus / "pi").glob("*.jsonl")):
        if path.name.endswith(".migrated.jsonl"):
            continue
        first = path.read_bytes()[:300]
        old = path.name.startswith(("v1", "v2", "real-v1"))
        if old and "design" not in path.name:
            todo.append(("migrate", lambda path=path: migrate(work, path)))
        elif not old:
            for kind in ("pi", "omp"):
                if (b'"type":"title"' in first) == (kind == "omp") or kind == "omp":
                    todo.append((kind, lambda kind=kind, path=path: tree(work, kind, path)))
    for path in sorted((corpus / "chimera").glob("*.jsonl")):
        todo.append(("chimera", lambda path=path: tree(work, "chimera", path)))
    for path in sorted((corpus / "claude-code-real").glob("*/*.jsonl")):
        if not path.name.startswith("agent-"):
            todo.append(("claude", lambda path=path: claude(work, path)))
    wanted = set(args.what)
    todo = [(kind, job) for kind, job in todo if not wanted or kind in wanted]
    counts, bad = {}, 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for (kind, _), done in zip(todo, pool.map(lambda one: one[1](), todo)):
            failures, exact, loose = done
            files, was_exact, was_loose = counts.get(kind, (0, 0, 0))
            counts[kind] = (files + 1, was_exact + exact, was_loose + loose)
            bad += len(failures)
            for failure in failures:
                print(f"{kind}: {failure}", flush=True)
    for kind, (files, exact, loose) in sorted(counts.items()):
        print(f"{kind}: {files} files, {exact} merges equal, {loose} checked for calls alone")
    print(f"{bad} failures")
    shutil.rmtree(work.folder, ignore_errors=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
