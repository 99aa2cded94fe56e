#!/usr/bin/env python3
"""Measures `bough tree` in a terminal: opening, keys, memory.

    benches/tree.py PROGRAM FILE [--keys N] [--less]

Opens FILE in a terminal of 200 x 60 cells, waits for rows and then for the whole session, and presses keys one after the
other, each after the frame of the one before: j, k, PgDn, PgUp, `]`, `[`, Left, Right, p, P, h. Prints the time to the first
frame and to the whole, the 50th and 99th percentile and the most from a key to its frame, and the memory.
With --less also the time to the first screen of `less` on the same file.
"""
import argparse, fcntl, os, pty, re, select, signal, struct, sys, termios, time

ROWS, COLUMNS = 60, 200
END = b"\x1b[?2026l"  # a frame ends


def start(words):
    pid, master = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8", LESS="")
        os.environ.pop("BOUGH_NOW", None)
        os.execvp(words[0], words)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    return pid, master


def wait_for(master, wanted, limit):
    """Reads until the output has what is wanted; gives the seconds that it took, and the output."""
    since, out = time.perf_counter(), b""
    while wanted not in out:
        left = limit - (time.perf_counter() - since)
        if left <= 0 or not select.select([master], [], [], left)[0]:
            return None, out
        try:
            out += os.read(master, 1 << 16)
        except OSError:
            return None, out
    return time.perf_counter() - since, out


def memory(pid, key):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key)) / 1024


def cpu(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("file")
    parser.add_argument("--keys", type=int, default=2000)
    parser.add_argument("--less", action="store_true")
    args = parser.parse_args()
    if args.less:
        pid, master = start(["less", args.file])
        took, _ = wait_for(master, b"\n", 60)
        print(f"less, first screen   {1000 * took:9.1f} ms")
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    began = time.perf_counter()
    pid, master = start([args.program, "tree", args.file])
    _, out = wait_for(master, "›".encode(), 120)
    print(f"first rows           {1000 * (time.perf_counter() - began):9.1f} ms")
    # The first line says "row N of M" once all is read. Cells that stay as they were are skipped.
    rows = re.compile(rb"[0-9](?: |\x1b\[[0-9;]*[A-Za-z])+of")
    while not rows.search(out):
        if time.perf_counter() - began > 120 or not select.select([master], [], [], 120)[0]:
            sys.exit("not read in 120 s")
        out += os.read(master, 1 << 16)
    whole = time.perf_counter() - began
    while select.select([master], [], [], 0.5)[0]:
        os.read(master, 1 << 16)
    print(f"the whole            {1000 * whole:9.1f} ms")
    keys = [b"j", b"j", b"j", b"\x1b[6~", b"k", b"\x1b[5~", b"[", b"]", b"\x1b[D", b"\x1b[C", b"P", b"p", b"h", b"\x1b[5~", b"\x1b[5~"]
    times, before = [], cpu(pid)
    for at in range(args.keys):
        os.write(master, keys[at % len(keys)])
        took, _ = wait_for(master, END, 20)
        times.append(took)
    used = cpu(pid) - before
    times.sort()
    p = lambda part: 1000 * times[min(len(times) - 1, int(part * len(times)))]
    print(f"key to frame         {p(0.5):9.2f} ms, p99 {p(0.99):.2f}, most {p(1):.2f}  ({args.keys} keys)")
    print(f"CPU for each key     {1000 * used / args.keys:9.2f} ms")
    print(f"memory               {memory(pid, 'VmRSS'):9.1f} MiB, most {memory(pid, 'VmHWM'):.1f}")
    os.write(master, b"q")
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
