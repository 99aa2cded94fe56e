#!/usr/bin/env python3
"""Asks the agents' own programs whether they find sessions after `bough move`, and continue them.

    tests/oracles/moves.py [--record] [--keep DIR]
    tests/oracles/moves.py --stores DIR [--record] [--keep DIR]
    tests/oracles/moves.py --chimera

A store as `tests/cli/sessions/moves.recipe` describes it (sessions with subagents, a result file, a memory, a worktree, a fork,
leftovers of another mover, two folders of one name) is moved from /project/app to /project/service, in the sandbox and with the
mock of Claude Code's oracle. Then, from the new and from the old folder:

- Claude Code takes a real turn, headless: `--continue`, and `--resume ID` for each session; and its picker is shown in a terminal;
- pi and oh-my-pi are asked for the newest session, for the list, and for each id, and a turn is appended.

Each session must be found from the new folder and none from the old one; sessions of other folders keep their bytes; and `bough undo`
brings everything back. `--record` writes the answers to tests/cli/sessions/moves.tsv, with a digest of the moved store.

With `--stores`, the same is asked about random stores, which a test makes:

    BOUGH_STORES=/tmp/stores cargo test --test cli -- --ignored random_stores_are_written

Each session that moves is continued by a real turn from its new folder, and is not found from its old one; the picker shows its title;
those that stay keep their bytes. `--record` writes one line for each store to tests/cli/sessions/moves-random.tsv: the seed, a digest of the
moved store, and how many of how many sessions were found. Two folders that Claude Code keeps under one name are one folder to it: then it
finds the sessions of both from either, before and after a move.

`--chimera` asks the real Chimera instead, of 31 sessions without headers, as it writes them: each is found and continued from its new folder.

The environment is that of `programs.py`; the programs run in a sandbox that needs root.
"""
import argparse, hashlib, json, os, pathlib, re, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
OLD, NEW = "/project/app", "/project/service"


def build(home, sessions):
    """Makes the store of the recipe."""
    for number, row in enumerate((sessions / "moves.recipe").read_text().splitlines()):
        to, source, old, new = row.split("\t")
        target = home / to
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.startswith("="):
            data = source[1:].replace("\\n", "\n").encode()
        else:
            data = (sessions / source).read_bytes().replace(old.encode(), new.encode()) if old else (sessions / source).read_bytes()
        target.write_bytes(data)
        os.utime(target, (1790000000 + number, 1790000000 + number))


def state(home):
    out = {}
    for path in sorted(home.rglob("*")):
        if path.is_file() and any(part in (".claude", ".pi", ".omp") for part in path.relative_to(home).parts[:1]):
            out[str(path.relative_to(home))] = (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns // 1000000, path.stat().st_mode)
    return out


def digest(home):
    rows = [f"{name} {sha}" for name, (sha, _, _) in state(home).items()]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


# ------------------------------------------------------------------ inside the sandbox

def bough(*words):
    return subprocess.run(["/project/bough", *words], capture_output=True, text=True)


CLAUDE = ["/client/claude-code-2.1.332/node_modules/@anthropic-ai/claude-code-linux-x64/claude"]


def claude(folder, *words):
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run([*CLAUDE, *words, "-p", "bough probe: please answer ok", "--output-format", "json"], cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    try:
        answer = json.loads(done.stdout)
        return answer.get("session_id") if not answer.get("is_error") else None
    except ValueError:
        return None


def picker(folder, name):
    """The sessions that the picker lists, by the texts on the screen."""
    os.makedirs(folder, exist_ok=True)
    settled = {"hasCompletedOnboarding": True, "theme": "dark", "bypassPermissionsModeAccepted": True, "numStartups": 9,
               "customApiKeyResponses": {"approved": [os.environ["ANTHROPIC_API_KEY"][-20:]], "rejected": []},
               "projects": {folder: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}}
    pathlib.Path("/home/user/.claude.json").write_text(json.dumps(settled))
    tmux = ["tmux", "-L", "bough", "-f", "/dev/null"]
    run = lambda *words: subprocess.run([*tmux, *words], capture_output=True, text=True, env=dict(os.environ, TERM="xterm-256color")).stdout
    run("new-session", "-d", "-s", "s", "-x", "160", "-y", "60", "-c", folder, "--", *CLAUDE, "--resume")
    import time
    screen = ""
    for _ in range(60):
        time.sleep(0.25)
        screen = run("capture-pane", "-p", "-t", "s")
        if re.search(r"Resume|No conversations|ago", screen):
            time.sleep(1)
            screen = run("capture-pane", "-p", "-t", "s")
            break
    run("kill-server")
    pathlib.Path(f"/logs/picker-{name}.txt").write_text(screen)
    return len(re.findall(r"\bago\b", screen))


PEER = r"""
import { appendFileSync, readFileSync } from "node:fs";
const [program, folder] = process.argv.slice(2);
const path = program === "pi"
  ? "/client/pi/node_modules/@earendil-works/pi-coding-agent/dist/core/session-manager.js"
  : "/client/omp/node_modules/@oh-my-pi/pi-coding-agent/src/session/session-manager.ts";
const { SessionManager } = await import(path);
const list = await SessionManager.list(folder);
const newest = await SessionManager.continueRecent(folder);
const found = newest.getEntries().length > 0;
let grown = false;
if (found) {
  const file = newest.getSessionFile();
  const before = readFileSync(file, "utf8");
  newest.appendMessage({ role: "user", content: "go on", timestamp: 1795000000000 });
  newest.appendMessage({ role: "assistant", content: [{ type: "text", text: "ok" }], timestamp: 1795000000001, provider: "m", model: "m",
    api: "m", stopReason: "stop", usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } } });
  await newest.flush?.();
  await newest.close?.();
  grown = readFileSync(file, "utf8").startsWith(before) && readFileSync(file, "utf8").length > before.length;
}
console.log(JSON.stringify({ listed: list.map((one) => one.id).sort(), continued: found ? newest.getSessionId() : null, grown, cwd: found ? newest.getCwd() : null }));
process.exit(0);
"""


def peer(program, folder):
    os.makedirs(folder, exist_ok=True)
    script = pathlib.Path("/tmp/peer.mjs")
    script.write_text(PEER)
    bun = next(pathlib.Path("/client/omp/node_modules/@oven").glob("*/bin/bun"))
    run = ["node", str(script)] if program == "pi" else [str(bun), "run", str(script)]
    done = subprocess.run([*run, program, folder], cwd=folder, capture_output=True, text=True, timeout=120)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"error": done.stderr[-400:]}


def inside():
    home = pathlib.Path("/home/user")
    answers, wrong = {}, []
    before = state(home)
    done = bough("move", OLD, NEW)
    if done.returncode:
        sys.exit(done.stderr)
    print(done.stderr, file=sys.stderr)
    answers["moved"] = digest(home)
    after = state(home)
    undone = bough("undo", "--all")
    if undone.returncode or state(home) != before:
        wrong.append(f"undo: {undone.stderr}: {sorted(set(before.items()) ^ set(state(home).items()))[:4]}")
    bough("undo", "--all")
    if state(home) != after:
        wrong.append("the move was not redone as it was")
    siblings = {name: one for name, one in after.items() if name in before and before[name] == one}
    projects = home / ".claude/projects"
    ids = sorted(path.stem for path in (projects / "-project-service").glob("*.jsonl"))
    shutil.copytree(home, "/logs/moved", symlinks=True)
    fresh = lambda: (shutil.rmtree(projects), shutil.copytree("/logs/moved/.claude/projects", projects))
    # Sessions of the SDK are not in the picker.
    for path in projects.rglob("*.jsonl"):
        path.write_bytes(path.read_bytes().replace(b'"entrypoint":"sdk-cli"', b'"entrypoint":"cli"'))
    answers["picker new"], answers["picker old"] = picker(NEW, "new"), picker(OLD, "old")
    fresh()
    for id in ids:
        answers[f"claude -r {id[:8]}"] = claude(NEW, "--resume", id) == id
        grown = (projects / "-project-service" / f"{id}.jsonl").read_bytes()
        if b"bough probe" not in grown:
            wrong.append(f"{id}: the turn is not in the moved file")
    fresh()
    # Without a session to continue, the client begins a new one. The folder of OLD/sub is also that of a sibling.
    moved = {path.stem for path in projects.rglob("*.jsonl") if "-project-service" in str(path)}
    known = lambda id: id if id in moved else None
    answers["claude -c new"] = known(claude(NEW, "--continue"))
    answers["claude -c sub"] = known(claude(NEW + "/sub", "--continue"))
    answers["claude -c worktree"] = known(claude(NEW + "/.claude/worktrees/x", "--continue"))
    answers["claude -c old"] = known(claude(OLD, "--continue"))
    answers["claude -c old sub"] = known(claude(OLD + "/sub", "--continue"))
    for program in ("pi", "omp"):
        answers[f"{program} new"], answers[f"{program} old"] = peer(program, NEW), peer(program, OLD)
    for name in siblings:
        if "service" not in name and hashlib.sha256((pathlib.Path("/logs/moved") / name).read_bytes()).hexdigest() != siblings[name][0]:
            wrong.append(f"{name}: changed")
    json.dump({"answers": answers, "wrong": wrong}, open("/logs/answers.json", "w"), indent=1)


def name_of(folder):
    """How Claude Code names the folder of a working directory; a long name ends in a hash."""
    name = re.sub(r"[^a-zA-Z0-9]", "-", folder)
    if len(name) <= 200:
        return name
    hash = 0
    for unit in folder:
        hash = (hash * 31 + ord(unit)) & 0xFFFFFFFF
    hash, digits = min(hash, (1 << 32) - hash), ""
    while hash:
        hash, digit = divmod(hash, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return f"{name[:200]}-{digits}"


def titles(folder, name):
    """The sessions that the picker lists, by their titles."""
    picker(folder, name)
    return set(re.findall(r"session ([0-9a-f]{8})", pathlib.Path(f"/logs/picker-{name}.txt").read_text()))


def inside_random():
    home, projects = pathlib.Path("/home/user"), pathlib.Path("/home/user/.claude/projects")
    wanted = json.load(open("/project/expected.json"))
    old, new, sessions = wanted["old"], wanted["new"], wanted["sessions"]
    moving = [one for one in sessions if one["moves"]]
    claudes = [one for one in moving if one["agent"] == "claude"]
    wrong, answers = [], []
    before = state(home)
    done = bough("move", old, new)
    if done.returncode:
        sys.exit(done.stderr)
    after, moved = state(home), digest(home)
    undone = bough("undo", "--all")
    if undone.returncode or state(home) != before:
        wrong.append(f"undo: {undone.stderr}")
    bough("redo", "--all")
    if state(home) != after:
        wrong.append("the move was not redone as it was")
    for one in sessions:
        for name, file in before.items():
            if not one["moves"] and one["id"] in name and after.get(name) != file:
                wrong.append(f"{name}: changed")
    if projects.is_dir():
        shutil.copytree(projects, "/logs/moved")
    fresh = lambda: (shutil.rmtree(projects), shutil.copytree("/logs/moved", projects))
    # Two folders of one name are one folder to the client.
    at = lambda key, folder, of: {one["id"] for one in of if one["agent"] == "claude" and name_of(one[key]) == name_of(folder)}
    if claudes:
        for path in projects.rglob("*.jsonl"):
            path.write_bytes(path.read_bytes().replace(b'"entrypoint":"sdk-cli"', b'"entrypoint":"cli"'))
        here = {id[:8] for id in at("new", new, sessions)}
        shown, left = titles(new, "new"), titles(old, "old") & {id[:8] for id in at("cwd", old, claudes)}
        if name_of(old) == name_of(new):
            left = set()
        wrong += [f"the picker does not show {id} from {new}" for id in here - shown] + [f"the picker shows {id} from {old}" for id in left]
        answers.append(f"picker {len(here & shown)}/{len(here)} old {len(left)}")
        fresh()
        found = left = 0
        for one in claudes:
            if claude(one["new"], "--resume", one["id"]) != one["id"]:
                wrong.append(f"{one['id']} is lost from {one['new']}")
                continue
            grown = [path for path in projects.rglob(f"{one['id']}.jsonl") if b"bough probe" in path.read_bytes()]
            folders = {path.parent.name for path in grown}
            if len(grown) != 1 or next(iter(folders)) != name_of(one["new"]):
                wrong.append(f"{one['id']}: the turn is in {folders}")
            found += 1
        fresh()
        # The client finds a whole id from any folder.
        anywhere = claude("/project/nowhere", "--resume", claudes[0]["id"]) == claudes[0]["id"]
        fresh()
        asked = [] if anywhere else [one for one in claudes if name_of(one["cwd"]) != name_of(one["new"])]
        for one in asked[:3]:
            if claude(one["cwd"], "--resume", one["id"]) == one["id"]:
                wrong.append(f"{one['id']} is left in {one['cwd']}")
                left += 1
        answers.append(f"claude {found}/{len(claudes)} old {'anywhere' if anywhere else left}")
        fresh()
        found = left = 0
        folders = sorted({(one["cwd"], one["new"]) for one in claudes})
        for was, now in folders:
            found += claude(now, "--continue") in at("new", now, sessions)
            fresh()
            id = claude(was, "--continue")
            if name_of(was) != name_of(now) and id in at("cwd", was, claudes):
                wrong.append(f"{id} is left in {was}")
                left += 1
            fresh()
        if found < len(folders):
            wrong.append("--continue finds another session than one of the folder")
        answers.append(f"continue {found}/{len(folders)} old {left}")
    for program in ("pi", "omp"):
        folders = sorted({(one["cwd"], one["new"]) for one in moving if one["agent"] == program})
        found = all = left = 0
        for was, now in folders:
            ids = {one["id"] for one in sessions if one["agent"] == program and one["new"] == now}
            # These programs, too, keep several folders under one name.
            dashed = lambda folder: folder.replace("/", "-")
            near = {one["id"] for one in sessions if one["agent"] == program and dashed(one["new"]) == dashed(now)}
            answer, gone = peer(program, now), peer(program, was)
            listed = set(answer.get("listed", []))
            if not ids <= listed <= near or answer.get("continued") not in listed or not answer.get("grown") or answer.get("cwd") != now:
                wrong.append(f"{program} in {now}: {ids}: {answer}")
            still = {one["id"] for one in moving} & {*gone.get("listed", ["?"]), gone.get("continued")}
            if still and dashed(was) != dashed(now):
                wrong.append(f"{program} in {was}: {gone}")
            found, all, left = found + len(ids & listed), all + len(ids), left + len(still)
        if folders:
            answers.append(f"{program} {found}/{all} old {left}")
    json.dump({"seed": wanted["seed"], "moved": moved, "answers": "; ".join(answers), "wrong": wrong}, open("/logs/answers.json", "w"), indent=1)


def random_stores(args):
    """Asks about each store of a folder, two at a time."""
    from concurrent.futures import ThreadPoolExecutor
    from programs import BOUGH, ORACLES, PEERS, SESSIONS, record_lines, recorded

    def ask(store):
        box = pathlib.Path(args.keep) / store.name if args.keep else pathlib.Path(tempfile.mkdtemp(prefix="bough-moves-"))
        home, project, logs = box / "home", box / "project", box / "log"
        for folder in (project, logs):
            folder.mkdir(parents=True)
        shutil.copytree(store / "home", home)
        for file in (BOUGH, __file__, store / "expected.json"):
            shutil.copy(file, project)
        done = subprocess.run([str(ORACLES / "claude_resume" / "sandbox.sh"), str(PEERS), str(home), str(project), str(logs), "-", "--",
                               "/usr/bin/env", "python3", "/project/moves.py", "--inside-random"], capture_output=True, text=True)
        path = logs / "answers.json"
        found = json.loads(path.read_text()) if path.exists() else {"seed": int(store.name), "wrong": [done.stderr[-600:]], "answers": "", "moved": ""}
        print(f"{found['seed']}\t{found['moved']}\t{found['answers']}", *[f"\n  wrong: {wrong}" for wrong in found["wrong"]], flush=True)
        if not args.keep:
            shutil.rmtree(box, ignore_errors=True)
        return found

    stores = sorted((path.parent for path in pathlib.Path(args.stores).glob("*/expected.json")), key=lambda path: int(path.name))
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(ask, stores))
    if args.record:
        record = SESSIONS / "moves-random.tsv"
        rows = {int(row.split("\t")[0]): row for row in recorded(record)[1:]}
        rows |= {one["seed"]: f"{one['seed']}\t{one['moved']}\t{one['answers']}" for one in found if not one["wrong"]}
        record_lines(record, ["seed\tmoved\tanswers", *(rows[seed] for seed in sorted(rows))], ["claude", "pi", "omp"])
    return 1 if any(one["wrong"] for one in found) else 0


CHIMERA = r"""
import json, sys
from chimera.cli.code import _session_path
from chimera.sessions.tree import SessionTree
from chimera.types import Message
what, *folders = sys.argv[1:]
for folder in folders:
    path = _session_path(folder)
    if what == "begin":
        tree = SessionTree(path)
        tree.add_message(Message.user(f"in {folder}"))
        tree.add_message(Message.assistant("ok"))
    is_there = path.exists()
    tree = SessionTree(path)
    said = [message.content for message in tree.get_messages()] if is_there else []
    if what == "go on" and is_there:
        tree.add_message(Message.user("go on"))
        said = [message.content for message in SessionTree(path).get_messages()]
    print(json.dumps([folder, path.name, said]))
"""


def chimera():
    """Asks the real Chimera, which finds a session by a hash of the folder's path."""
    import programs
    wrong = []
    with tempfile.TemporaryDirectory() as home:
        def ask(what, *folders):
            env = dict(os.environ, HOME=home, CHIMERA_HOME=f"{home}/.chimera")
            done = subprocess.run([programs.chimera(), "-c", CHIMERA, what, *folders], env=env, capture_output=True, text=True)
            return {folder: (name, said) for folder, name, said in map(json.loads, done.stdout.splitlines())}
        def store():
            return {path.name: path.read_bytes() for path in pathlib.Path(home, ".chimera/sessions").glob("*.jsonl")}
        folders = [OLD, f"{OLD}-docker", "/project/other"] + [f"/project/p{number}" for number in range(30)]
        for folder, (name, _) in ask("begin", *folders).items():
            print(f"{folder}\t{name}")
        before = store()
        pairs = [(OLD, NEW)] + [(f"/project/p{number}", f"/moved/q{number}") for number in range(30)]
        for old, new in pairs:
            done = programs.bough(home, "move", "--force", old, new)
            if done.returncode:
                wrong.append(done.stderr)
        news, olds = [new for _, new in pairs], [old for old, _ in pairs]
        found, left = ask("look", *news), ask("look", *olds)
        wrong += [f"{new}: {found[new]}" for old, new in pairs if found[new][1] != [f"in {old}", "ok"]]
        wrong += [f"{old} is left" for old in olds if left[old][1]]
        after = store()
        for name, bytes in after.items():
            if name in before and before[name] != bytes or bytes not in before.values():
                wrong.append(f"{name}: changed")
        for _ in pairs:
            programs.bough(home, "undo", "--all", "--force")
        if store() != before:
            wrong.append("undo")
        for _ in pairs:
            programs.bough(home, "redo", "--all", "--force")
        if store() != after:
            wrong.append("redo")
        grown = ask("go on", *news)
        wrong += [f"{new} is not continued: {grown[new]}" for old, new in pairs if grown[new][1] != [f"in {old}", "ok", "go on"]]
        kept = ask("look", f"{OLD}-docker", "/project/other")
        wrong += [f"{folder}: {said}" for folder, (_, said) in kept.items() if said != [f"in {folder}", "ok"]]
        print(f"chimera: {len(pairs)} sessions moved, found and continued from the new folder: {sum(len(grown[new][1]) == 3 for new in news)}; left: {sum(bool(left[old][1]) for old in olds)}")
    for one in wrong:
        print(f"wrong: {one}")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--stores", metavar="DIR")
    args = parser.parse_args()
    if args.stores:
        return random_stores(args)
    from programs import BOUGH, ORACLES, PEERS, SESSIONS, record_lines
    box = pathlib.Path(args.keep or tempfile.mkdtemp(prefix="bough-moves-"))
    home, project, logs = box / "home", box / "project", box / "log"
    for folder in (home, project, logs):
        folder.mkdir(parents=True)
    build(home, SESSIONS)
    shutil.copy(BOUGH, project / "bough")
    shutil.copy(__file__, project / "moves.py")
    done = subprocess.run([str(ORACLES / "claude_resume" / "sandbox.sh"), str(PEERS), str(home), str(project), str(logs), "-", "--",
                           "/usr/bin/env", "python3", "/project/moves.py", "--inside"], text=True)
    found = json.loads((logs / "answers.json").read_text()) if (logs / "answers.json").exists() else sys.exit(f"the sandbox failed: {done.returncode}")
    for name, answer in found["answers"].items():
        print(f"{name}\t{json.dumps(answer)}")
    for wrong in found["wrong"]:
        print(f"wrong: {wrong}")
    if args.record and not found["wrong"]:
        rows = [f"{name}\t{json.dumps(answer)}" for name, answer in found["answers"].items()]
        record_lines(SESSIONS / "moves.tsv", rows, ["claude", "pi", "omp"])
    if not args.keep:
        shutil.rmtree(box, ignore_errors=True)
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    if "--chimera" in sys.argv:
        sys.exit(chimera())
    elif "--inside" in sys.argv:
        inside()
    elif "--inside-random" in sys.argv:
        inside_random()
    else:
        sys.exit(main())
