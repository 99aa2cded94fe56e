#!/usr/bin/env python3
"""Prints the table of docs/performance.md: what commands cost beside `wc -l` on the same file.

    cargo build --release
    benches/table.py [--size MB] [--runs N] [--bough PATH] [--keep FOLDER]

Both sides run in turn, and the medians of their processor times (user and system) are compared, so that a slow or
busy machine moves both. Sessions are made up, the same each time: in a folder that is removed, or in FOLDER. Needs Linux and
Python 3.9 and GNU time; `jq` is compared too where it is there.
"""
import argparse, os, random, shutil, statistics, subprocess, sys, tempfile

WORDS = "const value await read write parse the a of path line index error result test module stream count".split()


def text(rng, size):
    """Text as agents write it: one byte in twenty is a backslash."""
    out = []
    while size > 0:
        piece = rng.choice(WORDS)
        end = rng.choice([" ", " ", " ", "\\n", "\\t", '\\"', ", ", "(", ")", "/"])
        out.append(piece + end)
        size -= len(piece) + len(end)
    return "".join(out)


def pi(path, size, mean, chain=False):
    """A session of pi, of entries of about `mean` bytes; a branch begins at one entry in a thousand."""
    rng, at, last, written = random.Random(mean), 0, None, 0
    texts = [text(rng, max(10, int(rng.expovariate(1 / mean)))) for _ in range(500)]
    with open(path, "w") as file:
        file.write('{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n')
        while written < size:
            parent = "null" if last is None else f'"{last:08x}"'
            if at % 1000 == 999 and not chain:
                parent = f'"{rng.randrange(at):08x}"'
            head = f'{{"type":"message","id":"{at:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":'
            kind, said = at % 3, texts[rng.randrange(500)]
            if kind == 0:
                body = f'{{"role":"user","content":[{{"type":"text","text":"{said}"}}]}}'
            elif kind == 1:
                body = (f'{{"role":"assistant","content":[{{"type":"text","text":"{said}"}},{{"type":"toolCall","id":"call_{at:x}",'
                        f'"name":"read","arguments":{{"path":"src/lib.rs"}}}}],"usage":{{"input":1200,"output":34,"cost":{{"total":0.01}}}},"stopReason":"toolUse"}}')
            else:
                body = f'{{"role":"toolResult","toolCallId":"call_{at - 1:x}","content":[{{"type":"text","text":"{said}"}}],"isError":false}}'
            line = head + body + "}\n"
            file.write(line)
            written, last, at = written + len(line), at, at + 1
    return at


def codex(path, size):
    """A rollout of Codex, with the lines that version 0.171 writes for prompts, calls and replies."""
    rng, turn, ordinal, written = random.Random(7), 0, 0, 0
    texts = [text(rng, max(10, int(rng.expovariate(1 / 1600)))) for _ in range(500)]
    secret = "".join(rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") for _ in range(1200))
    said = lambda: texts[rng.randrange(500)]
    cut = lambda size: said()[:size].rstrip("\\")
    with open(path, "w") as file:
        def line(ty, payload):
            nonlocal ordinal, written
            row = f'{{"timestamp":"2026-01-01T00:00:00.000Z","ordinal":{ordinal},"type":"{ty}","payload":{{{payload}}}}}\n'
            file.write(row)
            ordinal, written = ordinal + 1, written + len(row)

        def item(ty, rest):
            about = f'"internal_chat_message_metadata_passthrough":{{"turn_id":"{name}","create_time":1767225600.5}}'
            line("response_item", f'"type":"{ty}","id":"item_{ordinal:x}",{rest},{about}')

        def usage(call):
            spent = '{"input_tokens":1200,"cached_input_tokens":1000,"output_tokens":34,"reasoning_output_tokens":10,"total_tokens":1234}'
            line("token_usage_record", f'"thread_id":"s","turn_id":"{name}","session_id":"s","root_turn_id":"{name}","response_id":"resp_{ordinal:x}",'
                 f'"usage":{spent},"turn_token_usage":{spent},"thread_token_usage":{spent}')
            line("event_msg", f'"type":"token_count","info":{{"total_token_usage":{spent},"last_token_usage":{spent},"model_context_window":258400}},"rate_limits":null')

        name = "t0"
        line("session_meta", '"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/","originator":"codex_exec","cli_version":"0.171.0","source":"exec"')
        while written < size:
            turn, name = turn + 1, f"01a22674-b160-7fd1-abf2-{turn:012x}"
            line("event_msg", f'"type":"task_started","turn_id":"{name}","started_at":1767225600,"model_context_window":258400')
            line("turn_context", f'"turn_id":"{name}","cwd":"/","approval_policy":"never","sandbox_policy":{{"type":"read-only"}},"model":"gpt-5.2","summary":"auto"')
            prompt = cut(400)
            item("message", f'"role":"user","content":[{{"type":"input_text","text":"{prompt}"}}]')
            line("event_msg", f'"type":"user_message","message":"{prompt}","kind":"plain"')
            for _ in range(rng.randrange(1, 9)):
                item("reasoning", f'"summary":[{{"type":"summary_text","text":"{cut(200)}"}}],"content":null,"encrypted_content":"{secret[:rng.randrange(400, 1200)]}"')
                item("function_call", f'"status":"completed","name":"exec_command","arguments":"{{\\"cmd\\":\\"sed -n 1,80p src/lib.rs\\",\\"workdir\\":\\"/\\"}}","call_id":"call_{ordinal:x}"')
                usage(ordinal)
                item("function_call_output", f'"call_id":"call_{ordinal - 3:x}","output":"Process exited with code 0\\nOutput:\\n{said()}{said()}"')
            reply = said()
            item("message", f'"status":"completed","role":"assistant","content":[{{"type":"output_text","text":"{reply}"}}]')
            line("event_msg", f'"type":"agent_message","message":"{reply}","phase":"final_answer"')
            line("event_msg", f'"type":"task_complete","turn_id":"{name}","last_agent_message":"{reply}","completed_at":1767225600')
            if turn % 100 == 0:
                line("event_msg", '"type":"thread_rolled_back","num_turns":2')
    return ordinal


def one_line(path, size):
    """A session with one entry of `size` bytes."""
    with open(path, "w") as file:
        file.write('{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n')
        file.write('{"type":"message","id":"00000001","parentId":null,"message":{"role":"user","content":"')
        for _ in range(size // 1000):
            file.write("line of some text, and more\\n" * 34 + "fill")
        file.write('"}}\n')
    return 1


def memory(command):
    """Peak memory in MiB; by `time`, since what this program itself takes would count otherwise."""
    done = subprocess.run(["/usr/bin/time", "-f", "%M", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return int(done.stderr.split()[-1]) / 1024


def cost(command):
    """Processor time in ms."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit {os.waitstatus_to_exitcode(status)}")
    return (used.ru_utime + used.ru_stime) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100, help="MB of each session")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--bough", default="target/release/bough")
    parser.add_argument("--keep", help="where the sessions are kept")
    args = parser.parse_args()
    folder = args.keep or tempfile.mkdtemp(prefix="bough-table-")
    os.makedirs(folder, exist_ok=True)
    # Nothing of the user's own is read or written.
    os.environ.update(HOME=folder, XDG_STATE_HOME=folder, XDG_CONFIG_HOME=folder)
    size = args.size * 1_000_000
    rows = [
        ("typical: entries of 1.9 KB", "typical.jsonl", lambda path: pi(path, size, 1600), ["fsck", "branches", "log --all --oneline -n 20", "log --oneline -n 20", "export --to html"]),
        ("small: entries of 250 B", "small.jsonl", lambda path: pi(path, size, 60), ["fsck", "branches"]),
        ("one chain", "chain.jsonl", lambda path: pi(path, size, 1600, True), ["branches"]),
        ("Codex", "codex.jsonl", lambda path: codex(path, size), ["fsck", "status", "log --oneline -n 20", "stats", "export --to html"]),
        ("one line", "line.jsonl", lambda path: one_line(path, size), ["fsck"]),
    ]
    print("| session | command | ms | ÷ `wc -l` | ÷ `jq -c .type` | MiB |\n| --- | --- | --- | --- | --- | --- |")
    for name, file, make, commands in rows:
        path = os.path.join(folder, file)
        if not os.path.exists(path):
            make(path)
        jq = shutil.which("jq") and file == "typical.jsonl" and statistics.median(cost(["jq", "-c", ".type", path]) for _ in range(3))
        for command in commands:
            verb, *rest = command.split()
            ours, wc = [], []
            for _ in range(args.runs):
                ours.append(cost([args.bough, verb, *rest, path]))
                wc.append(cost(["wc", "-l", path]))
            ms, base = statistics.median(ours), statistics.median(wc)
            of_jq = f"1/{jq / ms:.0f}" if jq else ""
            print(f"| {name} | `{command}` | {ms:.0f} | {ms / base:.1f} | {of_jq} | {memory([args.bough, verb, *rest, path]):.0f} |", flush=True)
            name = ""
    if not args.keep:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
