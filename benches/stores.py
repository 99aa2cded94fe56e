#!/usr/bin/env python3
"""Prints what `move`, `archive`, `restore`, `slim` and `convert` cost, beside a copy of the same bytes that is on the disk.

    benches/stores.py [--size MB] [--sessions N] [--runs N] [--bough PATH] [--keep FOLDER]
                      [--peer 'NAME=COMMAND {in} {out}']...

Makes a home folder with a project of Claude Code: N transcripts, MB megabytes together. Elapsed times, since most of the work
waits for the disk: of bough, and of `cp -r` with a `sync` of the copy, in turn; the medians are compared. Then one transcript
of a tenth of that is made smaller and converted, beside `fsck` of the same file, in processor time. In a peer's command, which
converts to the format of Codex, {in} is the transcript and {out} a folder. FOLDER should be on the disk that is asked about.
Needs Linux and Python 3.9.
"""
import argparse, os, random, shlex, shutil, statistics, subprocess, sys, tempfile, time, uuid

from table import cost, text


def transcript(path, size, cwd, seed):
    """A transcript of Claude Code of about `size` bytes: prompts, replies with calls, results that are stored twice."""
    rng, before, written = random.Random(seed), "null", 0
    session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    texts = [text(rng, max(10, int(rng.expovariate(1 / 1500)))) for _ in range(100)]
    with open(os.path.join(path, session + ".jsonl"), "w") as file:
        at = 0
        while written < size:
            own, said = f'"{uuid.UUID(int=rng.getrandbits(128), version=4)}"', texts[rng.randrange(100)]
            call = f"toolu_{at // 3 * 3 + 1:x}"
            common = (f'"parentUuid":{before},"isSidechain":false,"userType":"external","cwd":"{cwd}","sessionId":"{session}",'
                      f'"version":"2.1.0","gitBranch":"main","uuid":{own},"timestamp":"2026-01-01T00:00:00.000Z"')
            if at % 3 == 0:
                line = f'{{"type":"user",{common},"message":{{"role":"user","content":"{said[:300].rstrip(chr(92))}"}}}}\n'
            elif at % 3 == 1:
                line = (f'{{"type":"assistant",{common},"message":{{"id":"msg_{at:x}","type":"message","role":"assistant","model":"m","content":['
                        f'{{"type":"tool_use","id":"{call}","name":"Read","input":{{"file_path":"{cwd}/src/lib.rs"}}}}],'
                        f'"stop_reason":"tool_use","usage":{{"input_tokens":1200,"output_tokens":34}}}}}}\n')
            else:
                line = (f'{{"type":"user",{common},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{call}",'
                        f'"content":"{said}"}}]}},"toolUseResult":{{"type":"text","file":{{"filePath":"{cwd}/src/lib.rs","content":"{said}"}}}}}}\n')
            file.write(line)
            before, written, at = own, written + len(line), at + 1
    return file.name


def elapsed(command, **more):
    """Milliseconds until a command has ended."""
    since = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr}")
    return (time.perf_counter() - since) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=400, help="MB of all transcripts")
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--bough", default="target/release/bough")
    parser.add_argument("--keep", help="where the home folder is made, and kept")
    parser.add_argument("--peer", action="append", default=[])
    args = parser.parse_args()
    home = os.path.realpath(args.keep or tempfile.mkdtemp(prefix="bough-stores-"))
    bough, size = os.path.abspath(args.bough), args.size * 1_000_000
    # Nothing of the user's own is read or written.
    for name in [name for name in os.environ if name.startswith("XDG_") or name.startswith("BOUGH")]:
        del os.environ[name]
    os.environ["HOME"] = home
    names = [os.path.join(home, name) for name in ("code", "renamed")]
    encoded = ["".join(letter if letter.isalnum() else "-" for letter in name) for name in names]
    projects = os.path.join(home, ".claude", "projects")
    first = os.path.join(projects, encoded[0])
    os.makedirs(first, exist_ok=True)
    os.makedirs(names[0], exist_ok=True)
    for at in range(args.sessions):
        transcript(first, size / args.sessions, names[0], at)
    long_ago = time.time() - 24 * 3600
    for name in os.listdir(first):
        os.utime(os.path.join(first, name), (long_ago, long_ago))
    total = sum(os.path.getsize(os.path.join(first, name)) for name in os.listdir(first)) / 1e6
    print(f"{args.sessions} transcripts, {total:.0f} MB\n\n| command | ms | ÷ `cp -r` and `sync` |\n| --- | --- | --- |")

    def row(name, ours, copies):
        ms, base = statistics.median(ours), statistics.median(copies)
        print(f"| `{name}` | {ms:.0f} | {ms / base:.2f} |", flush=True)

    def copied():
        target = os.path.join(home, "copy")
        since = time.perf_counter()
        subprocess.run(["cp", "-r", projects, target], check=True)
        subprocess.run(["sync", "-f", target], check=True)
        ms = (time.perf_counter() - since) * 1000
        shutil.rmtree(target)
        return ms

    moves, copies = [], []
    for at in range(args.runs * 2):
        old, new = names[at % 2], names[(at + 1) % 2]
        os.rename(old, new)
        copies.append(copied())
        moves.append(elapsed([bough, "move", "-q", "--force", old, new]))
    row("move", moves, copies)
    archives, again, restores, copies = [], [], [], []
    archive = os.path.join(home, "archive")
    for _ in range(args.runs):
        copies.append(copied())
        archives.append(elapsed([bough, "archive", "-q", "-o", archive]))
        again.append(elapsed([bough, "archive", "-q", "-o", archive]))
        session = sorted(os.listdir(os.path.join(projects, encoded[0])))[0].removesuffix(".jsonl")
        restores.append(elapsed([bough, "restore", "-q", "--from", archive, "--to", os.path.join(home, "restored"), session]))
        shutil.rmtree(archive)
        shutil.rmtree(os.path.join(home, "restored"))
    row("archive", archives, copies)
    row("archive, again", again, copies)
    row("restore of one session", restores, copies)
    shutil.rmtree(projects)
    os.makedirs(first)
    one = transcript(first, size / 10, names[0], 1)
    os.utime(one, (long_ago, long_ago))
    print(f"\none transcript of {os.path.getsize(one) / 1e6:.0f} MB\n\n| command | ms of processor time | ÷ `fsck` |\n| --- | --- | --- |")
    out = os.path.join(home, "out.jsonl")
    fsck = statistics.median(cost([bough, "fsck", one]) for _ in range(args.runs * 3))
    commands = [["slim", "--results=1k", "--tool-use-result"], ["drop", "-n", "--others"]]
    commands += [["convert", "--to", to] for to in ("pi", "omp", "chimera", "codex")]
    for command in commands:
        target = ["-o", out] if command[0] != "drop" else []
        times = []
        for _ in range(args.runs):
            times.append(cost([bough, *command, "-q", *target, one]))
            if os.path.exists(out):
                os.remove(out)
        ms = statistics.median(times)
        print(f"| `{' '.join(command)}` | {ms:.0f} | {ms / fsck:.1f} |", flush=True)
    for peer in args.peer:
        name, command = peer.split("=", 1)
        target = os.path.join(home, "peer")
        os.makedirs(target, exist_ok=True)
        words = [word.replace("{in}", one).replace("{out}", target) for word in shlex.split(command)]
        ms = statistics.median(cost(words) for _ in range(args.runs))
        print(f"| {name}, to Codex | {ms:.0f} | {ms / fsck:.1f} |", flush=True)
    if not args.keep:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
