#!/usr/bin/env python3
"""Prints how the cost of commands grows with what they are given: no step may be worse than linear.

    cargo build --release
    benches/growth.py [--scale N] [--bough PATH] [SESSION...]

Each shape of session is made in two sizes, one ten times the other, in a folder that is removed; elapsed times (the least
of some runs) and peak memory are printed, and how many times the larger one takes. `--scale 10` makes shapes ten times as
large. Sessions that are named are measured as they are, in order. Needs Linux, Python 3.9 and
GNU time.
"""
import argparse, os, shutil, subprocess, sys, tempfile, time

HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'


def message(at, parent, words="text"):
    above = "null" if parent is None else f'"{parent:08x}"'
    return (f'{{"type":"message","id":"{at:08x}","parentId":{above},"timestamp":"2026-01-01T00:00:00.000Z",'
            f'"message":{{"role":"user","content":"{words}"}}}}\n')


def written(path, lines):
    with open(path, "w") as file:
        file.write(HEADER)
        file.writelines(lines)


def chain(path, count):
    written(path, (message(at, at - 1 if at else None) for at in range(count)))


def long_entries(path, count):
    words = "const value = await read(path);\\n" * 60
    written(path, (message(at, at - 1 if at else None, words) for at in range(count)))


def leaves(path, count):
    written(path, (message(at, 0 if at else None) for at in range(count)))


def branches(path, count):
    """Branches of ten entries, that begin all along a trunk."""
    def lines():
        for trunk in range(count):
            yield message(trunk, trunk - 1 if trunk else None)
        for branch in range(count):
            for step in range(10):
                at = count + branch * 10 + step
                yield message(at, branch if step == 0 else at - 1)
    written(path, lines())


def labels(path, count):
    def lines():
        yield message(0, None)
        for at in range(1, count + 1):
            yield (f'{{"type":"label","id":"{at:08x}","parentId":"{at - 1:08x}","timestamp":"2026-01-01T00:00:00.000Z",'
                   f'"targetId":"{at // 2:08x}","label":"name-{at}"}}\n')
    written(path, lines())


READ = [["log", "-n", "20"], ["branches"], ["fsck"], ["grep", "-c", "zzneedle"], ["label", "--dry-run", "--force", "new-name"]]
SHAPES = [
    ("entries of 2 KB", long_entries, 5_000, READ),
    ("one chain", chain, 50_000, READ + [["log", "--graph"], ["log", "--all", "-n", "20"]]),
    ("leaves under one entry", leaves, 20_000, READ + [["log", "--graph", "--all"]]),
    ("branches of ten along a trunk", branches, 1_000, READ + [["log", "--graph", "--all"]]),
    ("labels", labels, 20_000, READ + [["label"]]),
]


def measure(bough, words, path, state):
    """The least elapsed time in seconds, and the peak memory in MiB."""
    best, began, runs, peak = None, time.monotonic(), 0, 0
    while runs < 2 or runs < 9 and time.monotonic() - began < 1:
        start = time.perf_counter()
        call = [bough, *words, path] if words[0] == "fsck" else [bough, *words, "-s", path]
        done = subprocess.run(["time", "-f", "%M", *call], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env=dict(os.environ, XDG_STATE_HOME=state), text=True)
        elapsed = time.perf_counter() - start
        if done.returncode not in (0, 1):
            sys.exit(f"bough {' '.join(words)}: {done.stderr}")
        best, peak, runs = min(best or elapsed, elapsed), max(peak, int(done.stderr.split()[-1]) / 1024), runs + 1
    return best, peak


def row(bough, name, words, sizes, state):
    found = [measure(bough, words, path, state) for path in sizes]
    times = " | ".join(f"{elapsed * 1e3:.1f}" for elapsed, _ in found)
    last = f"{found[-1][0] / found[-2][0]:.1f}" if len(found) > 1 else ""
    print(f"| {name} | `{' '.join(words)}` | {times} | {last} | {found[-1][1]:.0f} |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("sessions", nargs="*")
    options.add_argument("--scale", type=float, default=1)
    options.add_argument("--bough", default="target/release/bough")
    args = options.parse_args()
    bough = os.path.abspath(args.bough)
    folder = tempfile.mkdtemp(prefix="bough-growth-")
    try:
        state = os.path.join(folder, "state")
        if args.sessions:
            names = " | ".join(f"{os.path.getsize(path) / 1e6:.0f} MB, ms" for path in args.sessions)
            print(f"| session | command | {names} | times | MiB |\n| --- | --- | {'--- | ' * len(args.sessions)}--- | --- |")
            for words in READ:
                row(bough, "as given", words, args.sessions, state)
            return
        print("| what | command | n, ms | 10 n, ms | times | MiB |\n| --- | --- | --- | --- | --- | --- |")
        for name, make, count, commands in SHAPES:
            count = int(count * args.scale)
            sizes = [os.path.join(folder, f"{times}.jsonl") for times in (1, 10)]
            for path, times in zip(sizes, (1, 10)):
                make(path, count * times)
            for words in commands:
                row(bough, f"{10 * count:,} {name}", words, sizes, state)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
