#!/usr/bin/env python3
"""Prints what a page of `bough export` costs to make and to open, beside the pages of other programs.

    cargo build --release
    benches/page.py [--size MB] [--entries N] [--bough PATH] [--peer 'NAME=COMMAND {in} {out}']... [--chromium PATH] [--keep FOLDER]

Makes a session of Claude Code of MB megabytes, and exports it with each program in turn: processor time, memory, size of the page.
Then a real browser opens each page: time and processor time until text is on the screen, nodes, memory of the largest process, scrolling. For bough's
page also the first hit and the end of a search, and the same for a chain and for leaves under one entry, of N entries. In a
peer's command, {in} is the session and {out} the page, e.g. --peer 'replay=claude-replay {in} -o {out}'. Needs Linux, Python
3.9, GNU time and Chromium.
"""
import argparse, json, os, random, shlex, shutil, subprocess, sys, tempfile, time

WORDS = "const value await read write parse the a of path line index error result test module stream count".split()


def text(rng, size):
    return " ".join(rng.choice(WORDS) for _ in range(size // 6))


def claude(path, size):
    """Prompts, replies with calls, and results, of about two kilobytes each."""
    rng, written, at, last = random.Random(1), 0, 0, None
    texts = [text(rng, int(rng.expovariate(1 / 1800)) + 40) for _ in range(400)]
    with open(path, "w") as file:
        while written < size:
            kind, uuid = at % 3, f"{at:08x}-0000-4000-8000-000000000000"
            said, stamp = texts[rng.randrange(400)], time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1767225600 + at))
            if kind == 0:
                message = {"role": "user", "content": said[:200]}
            elif kind == 1:
                call = {"type": "tool_use", "id": f"toolu_{at}", "name": "Bash", "input": {"command": "cargo test"}}
                message = {"id": f"msg_{at}", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": said}, call],
                           "stop_reason": "tool_use", "usage": {"input_tokens": 1200, "output_tokens": 34}}
            else:
                message = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{at - 1}", "content": said}]}
            line = json.dumps({"parentUuid": last, "isSidechain": False, "userType": "external", "cwd": "/w", "sessionId": "5e550001-0000-4000-8000-000000000001",
                               "version": "2.1.0", "type": "assistant" if kind == 1 else "user", "message": message, "uuid": uuid, "timestamp": stamp})
            file.write(line + "\n")
            written, last, at = written + len(line) + 1, uuid, at + 1


def pi(path, count, parent):
    with open(path, "w") as file:
        file.write('{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}\n')
        for at in range(count):
            above = "null" if at == 0 else f'"{parent(at):08x}"'
            file.write(f'{{"type":"message","id":"{at:08x}","parentId":{above},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"entry {at}"}}}}\n')


def make(command):
    """Processor time in seconds, and memory in MiB, of a command."""
    done = subprocess.run(["/usr/bin/time", "-f", "%U %S %M", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return None
    user, system, memory = done.stderr.split()[-3:]
    return float(user) + float(system), int(memory) / 1024


class Browser:
    """A Chromium that is talked to by a pipe."""

    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="bough-page-")
        (self.theirs, self.out), (self.back, self.theirs_out) = os.pipe(), os.pipe()

        def pipes():
            # Not onto one that is still needed.
            theirs, out = os.dup(self.theirs), os.dup(self.theirs_out)
            theirs, out = os.dup2(theirs, 30), os.dup2(out, 31)
            os.dup2(theirs, 3), os.dup2(out, 4)
        self.child = subprocess.Popen([program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
                                       f"--user-data-dir={self.profile}", "about:blank"], preexec_fn=pipes, close_fds=False,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(self.theirs), os.close(self.theirs_out)
        self.number, self.rest, self.session = 0, b"", None
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        self.send("Page.enable")
        self.send("Emulation.setDeviceMetricsOverride", {"width": 1400, "height": 900, "deviceScaleFactor": 1, "mobile": False})

    def send(self, method, params=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                read = os.read(self.back, 1 << 20)
                if not read:
                    raise OSError("the browser ended")
                self.rest += read
            one, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(one)
            if answer.get("id") == self.number:
                return answer.get("result", {})

    def run(self, source):
        return self.send("Runtime.evaluate", {"expression": f"(async()=>{{{source}}})()", "awaitPromise": True, "returnByValue": True}).get("result", {}).get("value")

    def used(self):
        """Processor time of all its processes in seconds, and the most memory of one in MiB."""
        took, most = 0, 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline") as words, open(f"/proc/{pid}/status") as status, open(f"/proc/{pid}/stat") as stat:
                    if self.profile in words.read():
                        fields = stat.read().rsplit(")", 1)[1].split()
                        took += int(fields[11]) + int(fields[12])
                        most = max(most, next(int(line.split()[1]) for line in status if line.startswith("VmHWM")))
            except (OSError, StopIteration):
                pass
        return took / os.sysconf("SC_CLK_TCK"), most / 1024

    def close(self):
        self.child.kill()
        self.child.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


SCROLL = """const tall=[...document.querySelectorAll('*')].filter(e=>e.scrollHeight>e.clientHeight+2000&&getComputedStyle(e).overflowY!=='visible')
 .sort((a,b)=>b.scrollHeight-a.scrollHeight)[0]??document.scrollingElement;const t=performance.now();
for(let n=0;n<60;n++){tall.scrollTop+=400;await new Promise(f=>requestAnimationFrame(f))}return Math.round(60000/(performance.now()-t))"""
SEARCH = """const t=performance.now();let first=0;const done=search('stream module').then(()=>1);
while(!first&&!(await Promise.race([done,new Promise(f=>setTimeout(f,5))]))){if(found&&found.includes(1))first=performance.now()-t}await done;
return [Math.round(first||performance.now()-t),Math.round(performance.now()-t)]"""


def opened(program, page, own):
    browser = Browser(program)
    try:
        before, began = browser.used()[0], time.perf_counter()
        browser.send("Page.navigate", {"url": "file://" + os.path.abspath(page)})
        ready = "document.documentElement.dataset.ready==='1'&&document.querySelector('#items .item')" if own else "document.readyState==='complete'&&document.body.innerText.length>200"
        while not browser.run(f"return !!({ready})"):
            if time.perf_counter() - began > 300:
                return "did not open in 300 s"
            time.sleep(0.02)
        took, used = time.perf_counter() - began, browser.used()[0] - before
        nodes, frames = browser.run("return document.querySelectorAll('*').length"), browser.run(SCROLL)
        hits = browser.run(SEARCH) if own else None
        return f"{took:6.2f} s, {used:6.2f} s CPU, {nodes:>9,} nodes, {browser.used()[1]:6.0f} MiB, {frames} frames/s" + (f", search {hits[0]} ms first, {hits[1]} ms all" if hits else "")
    finally:
        browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100, help="MB of the session")
    parser.add_argument("--entries", type=int, default=0, help="entries of the chain and of the leaves")
    parser.add_argument("--bough", default="target/release/bough")
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--chromium", default=os.environ.get("CHROMIUM", "chromium"))
    parser.add_argument("--keep")
    args = parser.parse_args()
    folder = args.keep or tempfile.mkdtemp(prefix="bough-pages-")
    os.makedirs(folder, exist_ok=True)
    os.environ.update(XDG_STATE_HOME=folder, XDG_CONFIG_HOME=folder)
    session = os.path.join(folder, "session.jsonl")
    if not os.path.exists(session):
        claude(session, args.size * 1_000_000)
    own = f"{shlex.quote(args.bough)} export -q -s {{in}} --to html -o {{out}} --allow overwrite"
    rows = [("bough", own, session)] + [(*peer.split("=", 1), session) for peer in args.peer]
    for name, parent in [("chain", lambda at: at - 1), ("leaves", lambda at: 0)] if args.entries else []:
        path = os.path.join(folder, f"{name}.jsonl")
        pi(path, args.entries, parent)
        rows.append((f"bough, {name}", own, path))
    for name, command, path in rows:
        page = os.path.join(folder, f"{name.replace(', ', '-')}.html")
        words = [word.replace("{in}", path).replace("{out}", page) for word in shlex.split(command)]
        cost = make(words)
        if cost is None or not os.path.exists(page):
            print(f"{name:<16} failed", flush=True)
            continue
        size = os.path.getsize(page) / 1e6
        print(f"{name:<16} made in {cost[0]:6.2f} s CPU, {cost[1]:6.0f} MiB, {size:6.1f} MB; opens in {opened(args.chromium, page, name.startswith('bough'))}", flush=True)
    if not args.keep:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
