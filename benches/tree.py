#!/usr/bin/env python3
"""Measures `bough tree` in a terminal: opening, keys, memory.

    benches/tree.py PROGRAM FILE [--keys N] [--less] [--follow LINES] [--search WORD]

Opens FILE in a terminal of 200 x 60 cells, waits for rows and then for the whole session, and presses keys one after the
other, each after the frame of the one before: j, k, PgDn, PgUp, `]`, `[`, Left, Right, p, P, h. Prints the time to the first
frame and to the whole, the 50th and 99th percentile and the most from a key to its frame, and the memory.
With --less also the time to the first screen of `less` on the same file.

With --search, instead: searches for WORD from the first row, five times, and prints the time to the first match and to the
last one, and the CPU, beside those of `bough grep -i` on the same file: the middle of each.

With --follow, instead: follows a copy of FILE (pi's format) to which LINES entries are appended in each second. Prints the
time from a key to the frame that has its effect, then the time from an appended entry to the frame that shows it.
"""
import argparse, fcntl, json, os, pty, re, resource, select, shutil, signal, struct, subprocess, sys, termios, threading, time

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


class Grid:
    """What the terminal shows, as far as the tree writes it: text at places."""

    STEP = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|([^\x1b]+)|\x1b.?")

    def __init__(self):
        self.rows, self.at = [[" "] * COLUMNS for _ in range(ROWS)], (0, 0)

    def write(self, frame):
        for step in self.STEP.finditer(frame.decode("utf-8", "replace")):
            numbers, letter, text = step.groups()
            if letter == "H":
                row, column = ([int(n) for n in numbers.split(";") if n] + [1, 1])[:2]
                self.at = (row - 1, column - 1)
            elif letter == "J":
                self.rows = [[" "] * COLUMNS for _ in range(ROWS)]
            elif text:
                row, column = self.at
                room = self.rows[row] if row < ROWS else []
                room[column:column + len(text)] = text[:COLUMNS - column]
                self.at = (row, column + len(text))

    def line(self, row):
        return "".join(self.rows[row])


class Appender(threading.Thread):
    """Appends entries to a session of pi, some in each second, and knows when each was appended."""

    def __init__(self, path, rate):
        super().__init__(daemon=True)
        with open(path, "rb") as file:
            file.seek(-min(os.path.getsize(path), 1 << 20), 2)
            self.parent = json.loads(file.read().splitlines()[-1])["id"]
        self.file, self.rate, self.times, self.is_over = open(path, "ab", buffering=0), rate, [], False

    def run(self):
        began = time.perf_counter()
        while not self.is_over:
            at = len(self.times)
            time.sleep(max(0, began + at / self.rate - time.perf_counter()))
            message = {"role": "user", "content": f"Arrived {at:06}"}
            entry = {"type": "message", "id": f"f{at:07x}", "parentId": self.parent, "message": message}
            self.parent = entry["id"]
            self.times.append(time.perf_counter())
            self.file.write(json.dumps(entry).encode() + b"\n")


def drawing(pid):
    """The seconds of CPU that the thread that draws has used."""
    with open(f"/proc/{pid}/task/{pid}/schedstat") as stat:
        return int(stat.read().split()[0]) / 1e9


def percentiles(times):
    times = sorted(times)
    p = lambda part: 1000 * times[min(len(times) - 1, int(part * len(times)))]
    return f"{p(0.5):9.2f} ms, p99 {p(0.99):.2f}, most {p(1):.2f}"


def shown(master, grid):
    """Returns what shows the frames that come within a time, and gives when each came."""
    frame = b""

    def frames(limit):
        nonlocal frame
        until = time.perf_counter() + limit
        while (left := until - time.perf_counter()) > 0:
            if not select.select([master], [], [], left)[0]:
                return
            output = os.read(master, 1 << 16)
            now, frame = time.perf_counter(), frame + output
            if END in frame:
                end = frame.rfind(END) + len(END)
                grid.write(frame[:end])
                frame = frame[end:]
                yield now

    return frames


def row_in(grid):
    return re.search(r"row ([0-9, \u202f]+) of", grid.line(0))


def spellings(word):
    """The same word in other cases, which finds the same and is searched for anew."""
    letters = [at for at, letter in enumerate(word) if letter.isalpha()]
    for number in range(1 << min(len(letters), 5)):
        upper = {at for bit, at in enumerate(letters) if number >> bit & 1}
        yield "".join(letter.upper() if at in upper else letter for at, letter in enumerate(word))


def grep(path, args):
    since, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([args.program, "grep", "-ci", args.search, path], stdout=subprocess.DEVNULL)
    took, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, now.ru_utime + now.ru_stime - since.ru_utime - since.ru_stime


def search(master, path, args):
    grid = Grid()
    frames = shown(master, grid)
    results = []
    for word in list(spellings(args.search))[:5]:
        os.write(master, b"\x0c\x1b[H")
        for _ in frames(1):
            pass
        # The first program that reads the file after a rest takes up to three times as long.
        grep(path, args)
        by_grep = grep(path, args)
        at, first, last = row_in(grid).group(), None, None
        before, began = cpu(args.pid), time.perf_counter()
        os.write(master, b"/" + word.encode() + b"\r")
        for now in frames(300):
            if first is None and row_in(grid) and row_in(grid).group() != at:
                first = now - began
            screen = "\n".join(map(grid.line, range(ROWS)))
            said = re.search(f"match [0-9,]+ of [0-9,]+|the only match|not found: {word}", screen)
            if said and now - began > (first or 0):
                last = now - began
                break
        results.append((first or 0, last, cpu(args.pid) - before, *by_grep))
        os.write(master, b"j")
        for _ in frames(0.3):
            pass
    middle = lambda numbers: sorted(numbers)[len(results) // 2]
    first, last, used, took, grep_used = (middle(numbers) for numbers in zip(*results))
    times = middle(used / grep_used for _, _, used, _, grep_used in results)
    print(f"first match          {1000 * first:9.1f} ms")
    print(f"all matches          {1000 * last:9.1f} ms, CPU {1000 * used:.0f} ms  ({said.group()})")
    print(f"bough grep           {1000 * took:9.1f} ms, CPU {1000 * grep_used:.0f} ms  (CPU {times:.2f} times)")


def follow(master, path, args):
    grid = Grid()
    frames = shown(master, grid)
    row = lambda: row_in(grid)
    os.write(master, b"\x0cf")
    for _ in frames(60):
        if "following" in grid.line(0) and "reading" not in grid.line(0):
            break
    appender = Appender(path, args.follow)
    appender.start()
    keys, times, used = [b"k", b"k", b"k", b"\x1b[5~", b"j", b"\x1b[6~", b"k", b"\x1b[5~", b"j"], [], []
    os.write(master, 10 * b"\x1b[5~")
    for _ in frames(1):
        pass
    for at in range(args.keys):
        before, since, pressed = row().group(), drawing(args.pid), time.perf_counter()
        os.write(master, keys[at % len(keys)])
        for now in frames(20):
            if row() and row().group() != before:
                times.append(now - pressed)
                used.append(drawing(args.pid) - since)
                break
        # Keys come at any moment of a reading.
        for _ in frames(0.003 * (at % 11)):
            pass
    print(f"key to frame         {percentiles(times)}  ({len(times)} keys, {len(appender.times)} lines)")
    print(f"its CPU              {percentiles(used)}")
    os.write(master, b"h")
    for _ in frames(1):
        pass
    seen, late = len(appender.times), []
    since, before, drawn = time.perf_counter(), cpu(args.pid), 0
    while time.perf_counter() - since < 8:
        for now in frames(1):
            drawn += 1
            found = [int(number) for number in re.findall(r"Arrived ([0-9]{6})", "\n".join(map(grid.line, range(ROWS))))]
            if found and max(found) >= seen:
                late += [now - appender.times[at] for at in range(seen, max(found) + 1)]
                seen = max(found) + 1
            break
    print(f"entry to frame       {percentiles(late)}  ({len(late)} entries, {drawn} frames)")
    print(f"CPU                  {100 * (cpu(args.pid) - before) / (time.perf_counter() - since):9.0f} %")
    appender.is_over = True
    appender.join()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("file")
    parser.add_argument("--keys", type=int, default=2000)
    parser.add_argument("--less", action="store_true")
    parser.add_argument("--follow", type=float)
    parser.add_argument("--search")
    args = parser.parse_args()
    path = args.file
    if args.follow:
        path += ".followed"
        shutil.copyfile(args.file, path)
    if args.less:
        pid, master = start(["less", args.file])
        took, _ = wait_for(master, b"\n", 60)
        print(f"less, first screen   {1000 * took:9.1f} ms")
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    began = time.perf_counter()
    pid, master = start([args.program, "tree", path])
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
    if args.follow:
        args.pid = pid
        follow(master, path, args)
        print(f"memory               {memory(pid, 'VmRSS'):9.1f} MiB, most {memory(pid, 'VmHWM'):.1f}")
        os.write(master, b"q")
        os.waitpid(pid, 0)
        os.remove(path)
        return
    if args.search:
        args.pid = pid
        search(master, path, args)
        os.write(master, b"q")
        os.waitpid(pid, 0)
        return
    keys = [b"j", b"j", b"j", b"\x1b[6~", b"k", b"\x1b[5~", b"[", b"]", b"\x1b[D", b"\x1b[C", b"P", b"p", b"h", b"\x1b[5~", b"\x1b[5~"]
    times, before = [], cpu(pid)
    for at in range(args.keys):
        os.write(master, keys[at % len(keys)])
        took, _ = wait_for(master, END, 20)
        times.append(took)
    used = cpu(pid) - before
    print(f"key to frame         {percentiles(times)}  ({args.keys} keys)")
    print(f"CPU for each key     {1000 * used / args.keys:9.2f} ms")
    print(f"memory               {memory(pid, 'VmRSS'):9.1f} MiB, most {memory(pid, 'VmHWM'):.1f}")
    os.write(master, b"q")
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
