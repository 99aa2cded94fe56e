//! Checks that no command sends anything dangerous to a terminal: escapes and shell code are put
//! into each field of a session and into file names, and the output of each command is read from a
//! terminal of its own.

use crate::support::sandbox::bough;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// OSC, CSI, C1 and BiDi; a new line, and code that a shell would execute.
const POISON: &str = "\u{1b}]52;c;UFdORUQ=\u{7}\u{1b}[2J\u{9b}2J\u{9d}0;x\u{9c}\u{202e}\u{7f}\r\n;touch pwned;$(touch pwned)' \"&touch pwned";

/// The fields whose values determine what a line is; they are poisoned separately.
const KINDS: [&str; 6] = ["type", "role", "stopReason", "timestamp", "version", "subtype"];
/// The fields that name entries and sessions.
const IDS: [&str; 13] = [
    "id",
    "parentId",
    "targetId",
    "uuid",
    "parentUuid",
    "sessionId",
    "leafUuid",
    "targetUuid",
    "parent_id",
    "target_id",
    "fromId",
    "firstKeptEntryId",
    "parentSession",
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    Ids,
    Kinds,
    Others,
    Nothing,
}

/// Returns sessions of three formats that contain everything, and the name of the file.
fn sessions() -> [(&'static str, &'static str, Vec<Value>); 3] {
    let time = |at: u32| format!("2026-01-05T10:00:{at:02}.000Z");
    let pi = |ty: &str, id: &str, parent: Option<&str>, at: u32, rest: Value| {
        let mut line = json!({ "type": ty, "id": id, "parentId": parent, "timestamp": time(at) });
        line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        line
    };
    let usage = json!({ "input": 1, "output": 2, "totalTokens": 3, "cost": { "total": 0.5 } });
    let pi_lines = vec![
        json!({ "type": "session", "version": 3, "id": "5e550001", "timestamp": time(0), "cwd": "/w", "parentSession": "/w/old.jsonl" }),
        pi("session_info", "a0000000", None, 1, json!({ "name": "a name" })),
        pi("model_change", "a0000009", Some("a0000000"), 1, json!({ "provider": "p", "modelId": "m" })),
        pi(
            "message",
            "a0000001",
            Some("a0000009"),
            2,
            json!({ "message": { "role": "user", "content": "a prompt" } }),
        ),
        pi(
            "message",
            "a0000002",
            Some("a0000001"),
            3,
            json!({ "message": { "role": "assistant", "provider": "p", "model": "m", "stopReason": "toolUse", "usage": usage,
            "content": [{ "type": "thinking", "thinking": "a thought" }, { "type": "text", "text": "an answer" }, { "type": "toolCall", "id": "call_1", "name": "bash", "arguments": { "command": "ls" } }] } }),
        ),
        pi(
            "message",
            "a0000003",
            Some("a0000002"),
            4,
            json!({ "message": { "role": "toolResult", "toolCallId": "call_1", "toolName": "bash", "content": [{ "type": "text", "text": "files" }] } }),
        ),
        pi(
            "message",
            "b0000001",
            Some("a0000003"),
            5,
            json!({ "message": { "role": "user", "content": "this way" } }),
        ),
        pi(
            "message",
            "b0000002",
            Some("b0000001"),
            6,
            json!({ "message": { "role": "assistant", "model": "m", "stopReason": "error", "errorMessage": "an error", "content": [{ "type": "text", "text": "no" }] } }),
        ),
        pi(
            "branch_summary",
            "c0000001",
            Some("a0000003"),
            7,
            json!({ "fromId": "b0000002", "summary": "a summary" }),
        ),
        pi(
            "compaction",
            "c0000002",
            Some("c0000001"),
            8,
            json!({ "summary": "what was", "firstKeptEntryId": "a0000001", "tokensBefore": 9 }),
        ),
        pi("custom", "c0000003", Some("c0000002"), 8, json!({ "customType": "x.y", "data": { "a": "b" } })),
        pi(
            "message",
            "c0000004",
            Some("c0000003"),
            9,
            json!({ "message": { "role": "user", "content": [{ "type": "text", "text": "that way" }] } }),
        ),
        pi("label", "c0000005", Some("c0000004"), 9, json!({ "targetId": "a0000002", "label": "keep" })),
    ];
    let s = "5e550001-0000-4000-8000-000000000001";
    let id = |at: u32| format!("{at:08x}-0000-4000-8000-000000000000");
    let claude = |at: u32, parent: Option<u32>, ty: &str, rest: Value| {
        let mut line = json!({ "parentUuid": parent.map(id), "isSidechain": false, "type": ty, "uuid": id(at), "timestamp": time(at), "sessionId": s,
            "cwd": "/w", "version": "2.1.0", "gitBranch": "main" });
        line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        line
    };
    let claude_lines = vec![
        json!({ "type": "custom-title", "customTitle": "a title", "sessionId": s }),
        claude(1, None, "user", json!({ "message": { "role": "user", "content": "a prompt" } })),
        claude(
            2,
            Some(1),
            "assistant",
            json!({ "requestId": "r", "message": { "id": "msg_1", "role": "assistant", "model": "m", "usage": { "input_tokens": 1, "output_tokens": 1 },
            "content": [{ "type": "text", "text": "an answer" }, { "type": "tool_use", "id": "toolu_1", "name": "Task", "input": { "prompt": "do" } }] } }),
        ),
        claude(
            3,
            Some(2),
            "user",
            json!({ "message": { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_1", "content": "done" }] }, "toolUseResult": { "agentId": "a1" } }),
        ),
        claude(4, Some(3), "system", json!({ "subtype": "turn_duration", "content": "a note" })),
        claude(5, Some(4), "user", json!({ "message": { "role": "user", "content": "this way" } })),
        claude(6, Some(4), "user", json!({ "message": { "role": "user", "content": "that way" } })),
        json!({ "type": "bough-label", "targetUuid": id(2), "label": "keep", "sessionId": s, "timestamp": time(9) }),
        json!({ "type": "last-prompt", "lastPrompt": "that way", "leafUuid": id(6), "explicit": true, "sessionId": s }),
    ];
    let chimera = |id: &str, parent: Option<&str>, ty: &str, rest: Value| {
        let mut line = json!({ "id": id, "parent_id": parent, "type": ty, "timestamp": 1_767_607_200.5 });
        line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        line
    };
    let chimera_lines = vec![
        chimera("c0ffee000000", None, "session", json!({ "cwd": "/w", "session_id": "5e55" })),
        chimera(
            "c0ffee000001",
            Some("c0ffee000000"),
            "message",
            json!({ "message": { "role": "user", "content": "a prompt" } }),
        ),
        chimera(
            "c0ffee000002",
            Some("c0ffee000001"),
            "message",
            json!({ "message": { "role": "assistant", "content": "an answer", "tool_calls": [{ "id": "call_1", "name": "ls", "arguments": {} }] } }),
        ),
        chimera(
            "c0ffee000003",
            Some("c0ffee000002"),
            "message",
            json!({ "message": { "role": "tool", "tool_call_id": "call_1", "content": "files" } }),
        ),
        chimera(
            "c0ffee000004",
            Some("c0ffee000002"),
            "message",
            json!({ "message": { "role": "user", "content": "another" } }),
        ),
        chimera(
            "c0ffee000005",
            Some("c0ffee000004"),
            "label",
            json!({ "target_id": "c0ffee000002", "label": "keep" }),
        ),
    ];
    [
        ("s.jsonl", "pi", pi_lines),
        ("5e550001-0000-4000-8000-000000000001.jsonl", "claude", claude_lines),
        ("s.jsonl", "chimera", chimera_lines),
    ]
}

fn poison(value: &mut Value, key: &str, which: Which) {
    match value {
        Value::String(text) => {
            let of = match key {
                key if IDS.contains(&key) => Which::Ids,
                key if KINDS.contains(&key) => Which::Kinds,
                _ => Which::Others,
            };
            if of == which {
                text.push_str(POISON);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| poison(item, key, which)),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| poison(value, key, which)),
        _ => {}
    }
}

fn write(path: &Path, lines: &[Value], which: Which) {
    let mut text = String::new();
    for line in lines {
        let mut line = line.clone();
        poison(&mut line, "", which);
        text.push_str(&format!("{line}\n"));
    }
    if which == Which::Nothing {
        // Damage is shown, too, together with its contents.
        text.push_str(&format!(
            "{{\"type\":\"message\",\"id\":\"{}\n",
            POISON.replace(['\r', '\n', '"'], "")
        ));
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_767_225_600);
    File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
}

/// Every command, in all its output modes; `F` is the session, `G` a new file.
#[rustfmt::skip] // a table
const COMMANDS: &[&[&str]] = &[
    &["log", "F", "--all"], &["log", "F", "--oneline", "--graph", "--all"], &["log", "F", "--full", "--stat", "--all", "--verbose"],
    &["log", "F", "--raw"], &["log", "F", "--all", "--json"], &["log", "F", "--format", "%H %h %d %s"], &["log", "F", "--skipped"],
    &["log", "F", "--order", "document"], &["log", "F", "--agents"],
    &["show", "F", "all"], &["show", "F", "all", "--raw"], &["show", "F", "all", "--json"], &["cat", "F", "all"], &["cat", "F", "all", "--pretty"],
    &["branches", "F", "-v", "--all"], &["branches", "F", "--ids"], &["branches", "F", "--porcelain"], &["branches", "F", "--json"], &["branches", "F", "--points"],
    &["branches", "F", "--order", "document"], &["branches", "F", "--order", "document", "--ids"],
    &["context", "F"], &["context", "F", "--stat"], &["context", "F", "--oneline"], &["context", "F", "--dropped"], &["context", "F", "--json"],
    &["diff", "F", "root", "HEAD"], &["diff", "F", "line:6", "HEAD"], &["diff", "F", "--side-by-side", "line:6", "HEAD"], &["diff", "F", "--name-only", "root", "HEAD"], &["diff", "F", "--stat", "root", "HEAD"], &["diff", "F", "--json", "root", "HEAD"],
    &["fsck", "F", "--verbose"], &["fsck", "F", "--porcelain"], &["fsck", "F", "--json", "--verbose"], &["fsck", "F", "--repair", "-n", "--force"], &["fsck", "F", "--repair", "--force"],
    &["grep", "e", "F"], &["grep", "-n", "-C", "1", "way", "F"], &["grep", "--json", "e", "F"], &["grep", "-l", "e", "F"],
    &["label", "-s", "F"], &["label", "-s", "F", "--json"], &["label", "-s", "F", "new", "HEAD"], &["label", "-s", "F", "new", "HEAD", "-n"],
    &["migrate", "F", "--check"], &["migrate", "F", "-n"], &["rev-parse", "F", "all"], &["rev-parse", "F", "--short", "all"], &["rev-parse", "F", "all", "--json"], &["rev-parse", "F", "-z", "all"],
    &["rev-parse", "F", "no-such"], &["rev-parse", "F", "0"], &["status", "F"], &["status", "F", "--json"], &["stats", "F"], &["stats", "F", "--by", "branch"], &["stats", "F", "--by", "tool"], &["stats", "F", "--by", "model"], &["stats", "F", "--json"],
    &["switch", "-s", "F", "line:5"], &["switch", "-s", "F", "line:4", "-n"], &["switch", "-s", "F", "--rewind", "turn:1"], &["switch", "-s", "F", "--root"],
    &["convert", "F", "--to", "omp"], &["convert", "F", "--to", "codex", "-n"], &["convert", "F", "--to", "claude", "-o", "G"],
    &["export-branch", "F"], &["export-branch", "F", "-o", "G"], &["export-branch", "F", "-n", "-o", "G"], &["export-branch", "F", "--store"],
    &["cherry-pick", "-s", "F", "line:8"], &["cherry-pick", "-s", "F", "-n", "line:8"], &["merge", "-s", "F", "line:8"], &["merge", "-s", "F", "HEAD~2"],
    &["log", "F", "--prompts"], &["log", "F", "--stat", "--oneline"], &["log", "-p"], &["grep", "-p", "e"], &["merge-base", "F", "HEAD", "line:6"], &["merge-base", "F", "HEAD", "no-such"],
    &["export", "F"], &["export", "F", "--to", "txt"], &["export", "F", "--to", "jsonl"], &["export", "F", "-o", "G"], &["export", "F", "--to", "md", "-o", "G"], &["export", "F", "--redact", "--to", "txt"], &["export", "F", "--redact-report", "G", "--to", "txt"],
    &["append", "-s", "F", "--kind", "message", "--text", "go on", "-n"], &["append", "-s", "F", "--kind", "message", "--text", "go on"],
    &["drop", "-s", "F", "--others", "-n"], &["drop", "-s", "F", "line:5"], &["drop", "-s", "F", "--others"], &["slim", "F", "--results=1", "-n"], &["slim", "F", "--results=1", "-o", "G"], &["slim", "F", "--images", "-n"], &["slim", "F", "--results=1", "--in-place"],
    &["join", "F", "F", "-n"], &["join", "F", "nothing-F"], &["move", "-s", "F", "--to", "/moved", "-n"], &["move", "-s", "F", "--to", "/moved"], &["move", "/w", "/moved", "-n"], &["move", "/w", "/moved"],
    &["archive", "-n"], &["archive"], &["archive", "--verify"], &["sessions", "--archived"], &["restore", "5e55"], &["restore", "5e55", "-n"], &["restore", "5e55", "--to", "back"], &["restore", "no-such-F"],
    &["fsck", "--places"], &["fsck", "--all"], &["sessions", "--all"], &["sessions", "--all", "--tree", "--agents"], &["sessions", "--all", "--json"], &["sessions", "--paths", "--all"], &["stats", "--all"], &["stats", "--all", "--json"], &["grep", "--all", "e"],
    &["status", "-s", "5e55"], &["op", "log"], &["op", "log", "--json"], &["op", "log", "--stat"], &["op", "prune", "-n"], &["config"], &["undo", "--dry-run"], &["undo", "F"], &["redo", "F"], &["status", "nothing-F"], &["log", "--no-such-F"],
];

/// A folder with a session, and the stores of agents with a copy each.
struct Place {
    home: tempfile::TempDir,
    file: PathBuf,
    lines: Vec<Value>,
    which: Which,
}

impl Place {
    fn new(name: &str, format: &str, lines: Vec<Value>, which: Which) -> Place {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(name);
        let store = if format == "claude" { ".claude/projects/-w" } else { ".pi/agent/sessions/--w--" };
        write(&home.path().join(store).join(name), &lines, which);
        let place = Place { home, file, lines, which };
        place.furnish();
        place
    }

    fn furnish(&self) {
        write(&self.file, &self.lines, self.which);
    }

    fn words(&self, command: &[&str]) -> Vec<String> {
        let file = self.file.file_name().unwrap().to_str().unwrap();
        let word = |word: &&str| match *word {
            "F" => file.to_owned(),
            "G" => format!("new-{file}"),
            word if word.ends_with("-F") => word.replace('F', file),
            word => word.to_owned(),
        };
        command.iter().map(word).collect()
    }

    /// Returns what a command writes to a terminal, and its status.
    fn run(&self, words: &[String]) -> String {
        let (mut master, slave) = terminal();
        let mut command = bough(self.home.path());
        command.args(words).env_remove("NO_COLOR").env("TERM", "xterm").env("PAGER", "cat");
        command.stdin(Stdio::null());
        command.stdout(slave.try_clone().unwrap()).stderr(slave);
        let mut child = command.spawn().unwrap();
        // The command has the handles of the terminal; this process must not keep them.
        drop(command);
        let mut seen = Vec::new();
        let mut block = [0; 4096];
        // Linux reports an error when reading a terminal that everybody has left.
        while let Ok(count) = master.read(&mut block) {
            if count == 0 {
                break;
            }
            seen.extend_from_slice(&block[..count]);
        }
        let status = child.wait().unwrap();
        let shown =
            String::from_utf8(seen).unwrap_or_else(|_| panic!("{words:?}: sent bytes that are no UTF-8"));
        assert!(status.code().is_some_and(|code| code < 70), "{words:?}: {status}\n{shown}");
        shown
    }
}

fn terminal() -> (File, OwnedFd) {
    let (mut master, mut slave) = (0, 0);
    let (name, options, size) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: both handles are written by the call, and belong to nobody else.
    unsafe {
        assert_eq!(libc::openpty(&raw mut master, &raw mut slave, name, options, size), 0);
        // Programs that other tests start in the meantime must not keep the terminal open.
        libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(slave, libc::F_SETFD, libc::FD_CLOEXEC);
        (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    }
}

/// Returns what a terminal was sent besides text, new lines, tabs and colors, if anything.
fn harm(shown: &str) -> Option<char> {
    let mut rest = shown.replace("\r\n", "\n");
    while let Some(at) = rest.find("\u{1b}[") {
        let len = rest[at + 2..].bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
        if rest.as_bytes().get(at + 2 + len) != Some(&b'm') {
            return Some('\u{1b}');
        }
        rest.replace_range(at..=at + 2 + len, "");
    }
    rest.chars().find(|sign| match sign {
        '\n' | '\t' | '\0' => false,
        sign => sign.is_control() || matches!(sign, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'),
    })
}

/// Returns the commands that a text offers for pasting.
fn offered(shown: &str) -> Vec<String> {
    let shown = shown.replace("\r\n", "\n");
    let mut out = Vec::new();
    for line in shown.lines() {
        if let Some((_, command)) = line.split_once("resume with: ") {
            out.push(command.to_owned());
        }
        if ["claude --resume ", "pi --session "].iter().any(|start| line.starts_with(start)) {
            out.push(line.to_owned());
        }
    }
    for part in shown.split("hint: ").skip(1).chain(shown.split("warning: ").skip(1)) {
        if let Some((command, _)) = part.split_once("`bough ").and_then(|(_, rest)| rest.split_once('`')) {
            out.push(format!("bough {command}"));
        }
    }
    out
}

fn look(shown: &str, what: &str) {
    assert_eq!(harm(shown), None, "{what}:\n{}", shown.escape_debug());
    for command in offered(shown) {
        let folder = tempfile::tempdir().unwrap();
        let stubs = "bough() { :; }; claude() { :; }; pi() { :; }; omp() { :; }";
        let done = Command::new("bash")
            .args(["-c", &format!("{stubs}\n{command}\n")])
            .current_dir(folder.path())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let made: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert!(made.is_empty() && done.status.success(), "{what}: pasting `{command}` did harm: {done:?}");
    }
}

fn try_format(at: usize) {
    let (name, format, lines) = sessions()[at].clone();
    let poisoned = format!("{}{}.jsonl", name.trim_end_matches(".jsonl"), POISON.replace('/', ""));
    for which in [Which::Ids, Which::Kinds, Which::Others, Which::Nothing] {
        // For files without damage in their content, the name contains it.
        let name = if which == Which::Nothing { &poisoned } else { name };
        let place = Place::new(name, format, lines.clone(), which);
        for command in COMMANDS {
            place.furnish();
            let words = place.words(command);
            look(&place.run(&words), &format!("{format}, {which:?}, {command:?}"));
        }
    }
}

#[test]
fn no_escape_of_a_session_of_pi_reaches_a_terminal() {
    try_format(0);
}

#[test]
fn no_escape_of_a_session_of_claude_code_reaches_a_terminal() {
    try_format(1);
}

#[test]
fn no_escape_of_a_session_of_chimera_reaches_a_terminal() {
    try_format(2);
}

#[test]
fn the_harm_is_seen() {
    assert_eq!(harm("\u{1b}[1;31mred\u{1b}[0m\r\n"), None);
    assert_eq!(harm("a\u{1b}]52;c;\u{7}"), Some('\u{1b}'));
    assert_eq!(harm("\u{1b}[2J"), Some('\u{1b}'));
    assert_eq!(harm("a\u{9b}2J"), Some('\u{9b}'));
    assert_eq!(harm("a\u{202e}"), Some('\u{202e}'));
    assert_eq!(
        offered("hint: `bough fsck a` lists\nhint: resume with: pi --session x"),
        ["pi --session x", "bough fsck a"]
    );
}

#[test]
fn an_id_with_a_line_break_is_one_row() {
    let (name, format, lines) = sessions()[0].clone();
    let place = Place::new(name, format, lines, Which::Ids);
    let run = |words: &[&str]| -> String {
        let output = bough(place.home.path()).args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let count: usize = run(&["rev-parse", name, "all", "--count"]).trim().parse().unwrap();
    assert_eq!(count, 12);
    for words in [&["rev-parse", name, "all"][..], &["rev-parse", name, "--short", "all"]] {
        assert_eq!(run(words).lines().count(), count, "{words:?}");
    }
    assert_eq!(run(&["rev-parse", name, "all"]).lines().next(), Some("line:2"));
    let raw = run(&["rev-parse", name, "-z", "all"]);
    assert_eq!(raw.split('\0').next(), Some(&*format!("a0000000{POISON}")));
    let branches = run(&["branches", name, "--json", "--all"]).lines().count();
    assert_eq!(run(&["branches", name, "--ids", "--all"]).lines().count(), branches);
    let rows = run(&["branches", name, "--porcelain", "--all"]);
    assert_eq!(rows.lines().count(), branches);
    assert!(rows.lines().all(|row| row.split('\t').count() == 6), "{rows}");
}

#[test]
fn a_completion_is_one_safe_word_or_none() {
    for (at, (name, format, lines)) in sessions().into_iter().enumerate() {
        for which in [Which::Ids, Which::Others, Which::Nothing] {
            let place = Place::new(name, format, lines.clone(), which);
            fs::write(place.home.path().join(format!("file{POISON}.jsonl")), "{}\n").unwrap();
            for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
                for word in ["", "keep", "label:", "line:", "a0", "c0", "00", "fi"] {
                    let asked = match shell {
                        "bash" => vec![
                            format!("bough show {name} {word}"),
                            "63".into(),
                            " \t\n".into(),
                            "80".into(),
                        ],
                        "zsh" => {
                            vec![String::new(), "bough".into(), "show".into(), name.into(), word.to_owned()]
                        }
                        _ => vec!["bough".into(), "show".into(), name.into(), word.to_owned()],
                    };
                    let mut command = bough(place.home.path());
                    command.env("COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", "3").arg("--").args(asked);
                    let output = command.output().unwrap();
                    let shown = String::from_utf8(output.stdout).unwrap();
                    let what = format!("{at} {which:?} {shell} `{word}`");
                    assert_eq!(harm(&shown), None, "{what}: {}", shown.escape_debug());
                    for row in shown.lines() {
                        let value = row.split('\t').next().unwrap();
                        assert!(!value.starts_with(";touch"), "{what}: {row}");
                    }
                    if which == Which::Ids && word == "keep" {
                        assert!(shown.contains("keep"), "{what}: {shown}");
                    }
                }
            }
        }
    }
}
