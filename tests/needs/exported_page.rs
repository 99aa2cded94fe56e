//! Exported pages in a real browser.

use crate::support::files::project;
use crate::support::hostile::{faults_of_markdown, lines, message, payload};
use crate::support::sandbox::{bough, code, said};
use crate::support::sessions::sessions_below;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small image: two by two pixels.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFUlEQVR4nGP4z8DAAMIM/////w8AJ/4F+0T4ZLYAAAAASUVORK5CYII=";

/// A session with two branches, a call with an image in its result, and a label.
fn tree() -> Vec<Value> {
    let usage =
        json!({ "input": 1200, "output": 300, "cacheRead": 0, "cacheWrite": 0, "cost": { "total": 0.01 } });
    let reply = |content: Value| json!({ "role": "assistant", "content": content, "model": "m1", "stopReason": "stop", "usage": usage });
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    vec![
        message("aaaa0001", None, 1, json!({ "role": "user", "content": "Write a *parser* for `x`" })),
        message(
            "aaaa0002",
            Some("aaaa0001"),
            2,
            reply(text(
                "By hand, or with a generator?\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() {}\n```",
            )),
        ),
        message(
            "bbbb0001",
            Some("aaaa0002"),
            3,
            json!({ "role": "user", "content": "Use a generator, asideword" }),
        ),
        message("bbbb0002", Some("bbbb0001"), 4, reply(text("It works, slowly. asidereply"))),
        message("cccc0001", Some("aaaa0002"), 5, json!({ "role": "user", "content": "By hand, zebraword" })),
        message(
            "cccc0002",
            Some("cccc0001"),
            6,
            reply(json!([
                { "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "I start." },
                { "type": "toolCall", "id": "t1", "name": "bash", "arguments": { "command": "cargo test parser" } },
                { "type": "toolCall", "id": "t2", "name": "read", "arguments": { "path": "/w/src/lib.rs" } },
            ])),
        ),
        message(
            "cccc0003",
            Some("cccc0002"),
            7,
            json!({ "role": "toolResult", "toolCallId": "t1", "toolName": "bash", "content": [
            { "type": "text", "text": "41 passed, quaggaword" }, { "type": "image", "mimeType": "image/png", "data": IMAGE },
        ] }),
        ),
        message(
            "cccc0004",
            Some("cccc0003"),
            8,
            reply(text("Done. The parser has **41 tests**. See https://example.com/x.")),
        ),
        json!({ "type": "label", "id": "dddd0001", "parentId": "cccc0004", "timestamp": "2026-03-01T10:30:00Z", "targetId": "cccc0004", "label": "goodlabel" }),
    ]
}

/// The strings by which an agent reads a line: kinds of things, and times.
const WORDS: [&str; 3] = ["type", "role", "timestamp"];

/// The ids of things.
const IDS: [&str; 23] = [
    "id",
    "sessionID",
    "parentID",
    "messageID",
    "callID",
    "turn_id",
    "session_id",
    "parentId",
    "parent_id",
    "uuid",
    "parentUuid",
    "sessionId",
    "targetId",
    "target_id",
    "firstKeptEntryId",
    "leafUuid",
    "toolCallId",
    "tool_use_id",
    "call_id",
    "logicalParentUuid",
    "agentId",
    "promptId",
    "messageId",
];

/// Returns what is added to an id: the same for the same id.
fn id_payload(id: &str) -> String {
    let sum: usize = id.bytes().map(usize::from).sum();
    match sum % 5 {
        0 => payload("id"),
        1 => "\"'><script>window.PWN='id'</script>\" onmouseover=\"window.PWN=1\" x='`${window.PWN=1}".into(),
        2 => {
            "\u{2028}\u{2029}\0\u{1}\u{1b}]0;x\u{7}\u{7f}\u{85}\u{202e}\u{feff}\t\r\n#?&%2F%E0 <!--]]>".into()
        }
        3 => format!("{}</script><script>window.PWN=1</script>", "long".repeat(10_000)),
        _ => "../../a..b/__proto__/constructor&lt;javascript:window.PWN=1".into(),
    }
}

/// Puts a payload into every string of a value but the words and, unless `ids`, the ids, and adds one as a key.
fn poison(value: &mut Value, path: &str, ids: bool) {
    match value {
        Value::String(text) => text.push_str(&payload(path)),
        Value::Array(items) => items.iter_mut().for_each(|item| poison(item, path, ids)),
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                match member {
                    // The same id has the same payload everywhere.
                    Value::String(id) if IDS.contains(&key.as_str()) => {
                        if ids {
                            id.push_str(&id_payload(id));
                        }
                    }
                    _ if WORDS.contains(&key.as_str()) => {}
                    _ => poison(member, &format!("{path}.{key}"), ids),
                }
            }
            if path.ends_with("arguments") || path.ends_with("input") {
                members.insert(payload("key"), payload("value").into());
            }
        }
        _ => {}
    }
}

/// The kinds of a value and of everything in it: two lines of one shape differ in their texts only.
fn shape(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => items.iter().take(4).for_each(|item| shape(item, out)),
        Value::Object(members) => {
            for (key, member) in members {
                let _ = write!(out, "{key}:");
                if matches!(key.as_str(), "type" | "role" | "subtype" | "customType") {
                    let _ = write!(out, "{member}");
                }
                shape(member, out);
            }
        }
        other => out.push(if other.is_string() { 's' } else { 'v' }),
    }
}

/// One line of each shape that the sessions of a format in the tests have, as one session: a chain.
fn one_of_each(sessions: &[PathBuf], id: &str, parent: &str) -> Vec<Value> {
    let (mut seen, mut out) = (HashSet::new(), Vec::new());
    for path in sessions {
        let text = fs::read(path).unwrap();
        for line in String::from_utf8_lossy(&text).lines().filter(|line| line.len() < 4000) {
            let Ok(mut line) = serde_json::from_str::<Value>(line) else { continue };
            let mut kind = String::new();
            shape(&line, &mut kind);
            if !line.is_object() || !seen.insert(kind) {
                continue;
            }
            let number = out.len();
            let name = |number: usize| format!("{number:08x}-0000-4000-8000-000000000000");
            if line.get(id).is_some_and(Value::is_string) && line["type"] != "session" {
                line[id] = name(number).into();
                line[parent] = if number > 1 { name(number - 1).into() } else { Value::Null };
            }
            out.push(line);
        }
    }
    // So that the chain has no gaps.
    let has_id = |line: &Value| line.get(id).is_some_and(Value::is_string) && line["type"] != "session";
    let mut last = Value::Null;
    for line in out.iter_mut().filter(|line| has_id(line)) {
        line[parent] = std::mem::replace(&mut last, line[id].clone());
    }
    out
}

pub fn a_browser_shows_pages_and_runs_nothing_of_a_session() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("pages");
    fs::create_dir(&folder).unwrap();
    let header = json!({ "type": "session", "version": 3, "id": "s", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/w" });
    let export_as = |name: &str, all: &str, plain: bool, format: Option<&str>| {
        let session = home.path().join(format!("{name}.jsonl"));
        fs::write(&session, all).unwrap();
        let mut command = bough(home.path());
        command
            .arg("export")
            .arg(&session)
            .arg("-o")
            .arg(folder.join(format!("{name}{}.html", if plain { "-plain" } else { "" })));
        let format = format.map(|format| ["--input-format", format]);
        let output = command
            .args(plain.then_some("--plain"))
            .args(["--allow", "overwrite"])
            .args(format.into_iter().flatten())
            .output()
            .unwrap();
        assert_eq!(code(&output), 0, "{name}: {}", said(&output));
        if name.starts_with("hostile") && !plain {
            let mut command = bough(home.path());
            command.args(["export", "--to", "md", "--front-matter"]).arg(&session);
            let output = command.args(format.into_iter().flatten()).output().unwrap();
            assert_eq!(code(&output), 0, "{name}: {}", said(&output));
            let faults = faults_of_markdown(&String::from_utf8(output.stdout).unwrap(), name);
            assert!(faults.is_empty(), "{}", faults.join("\n"));
        }
    };
    let export = |name: &str, all: &str, plain: bool| export_as(name, all, plain, None);
    let whole = |all: &[Value]| lines(&[std::slice::from_ref(&header), all].concat());
    export("tree", &whole(&tree()), false);
    let wanted = json!({
        "rows": 8, "label": "goodlabel", "onPath": "zebraword", "aside": "asidereply", "asideRow": "asidereply", "asidePath": 4, "users": 3,
        "words": { "zebraword": 1, "QUAGGAWORD": 1, "parser": 3, "nowhere-at-all": 0 }, "call": "cargo test", "result": "41 passed", "thought": "hm",
        "prompts": 2, "sent": 6, "facts": ["bash × 1", "read × 1", "src/lib.rs × 1", "m1"],
        "sessions": 2, "forks": 1, "parent": "parent.html", "child": "child.html",
    });
    fs::write(folder.join("tree.json"), wanted.to_string()).unwrap();
    let user = |at: u32, parent: Option<&str>| {
        message(&format!("{at:08x}"), parent, 1, json!({ "role": "user", "content": format!("entry {at}") }))
    };
    let chain: Vec<Value> =
        (0..20_000).map(|at| user(at, (at > 0).then(|| format!("{:08x}", at - 1)).as_deref())).collect();
    let leaves: Vec<Value> = (0..100_000).map(|at| user(at, (at > 0).then_some("00000000"))).collect();
    export("chain", &whole(&chain), false);
    export("leaves", &whole(&leaves), false);
    let all = sessions_below(&project().join("tests/cli/sessions"));
    let of_folder = |folder: &str, is: &dyn Fn(&str) -> bool| -> Vec<PathBuf> {
        let below = project().join("tests/cli/sessions").join(folder);
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        all.iter().filter(|path| path.starts_with(&below) && is(&name(path))).cloned().collect()
    };
    let is_omp = |name: &str| name.starts_with("omp");
    for (name, sessions, id, parent) in [
        ("pi", of_folder("pi", &|name| !is_omp(name)), "id", "parentId"),
        ("omp", of_folder("pi", &is_omp), "id", "parentId"),
        ("chimera", of_folder("chimera", &|_| true), "id", "parent_id"),
        (
            "claude",
            [of_folder("claude", &|_| true), of_folder("claude-code", &|_| true)].concat(),
            "uuid",
            "parentUuid",
        ),
    ] {
        let mut lines_of_each = one_of_each(&sessions, id, parent);
        // Lines of the last kinds have types that no agent knows.
        let mut unknown: Vec<Value> = lines_of_each.iter().rev().take(5).cloned().collect();
        for (at, line) in unknown.iter_mut().enumerate() {
            (line[id], line["type"]) = (format!("eeee000{at}").into(), payload("type").into());
        }
        lines_of_each.extend(unknown);
        if id == "id" && parent == "parentId" {
            lines_of_each.insert(0, header.clone());
        }
        assert!(lines_of_each.len() > 10, "{name}: {}", lines_of_each.len());
        for ids in [false, true] {
            let mut hostile = lines_of_each.clone();
            hostile.iter_mut().for_each(|line| poison(line, name, ids));
            let file = format!("hostile-{name}{}", if ids { "-ids" } else { "" });
            export(&file, &lines(&hostile), false);
            export(&file, &lines(&hostile), true);
        }
    }
    // Programs with formats of their own, and those whose format is nearly another's. Links stay: some have none.
    for (name, folder) in [
        ("openclaw", "derived"),
        ("prime", "derived"),
        ("codex", "guests"),
        ("gemini", "guests"),
        ("copilot", "guests"),
    ] {
        let sessions = of_folder(folder, &|file| file.starts_with(name) && file.ends_with(".jsonl"));
        let mut hostile = one_of_each(&sessions, "", "");
        assert!(hostile.len() > 5, "{name}: {}", hostile.len());
        let mut with_ids = hostile.clone();
        hostile.iter_mut().for_each(|line| poison(line, name, false));
        with_ids.iter_mut().for_each(|line| poison(line, name, true));
        for plain in [false, true] {
            export_as(&format!("hostile-{name}"), &lines(&hostile), plain, Some(name));
            export_as(&format!("hostile-{name}-ids"), &lines(&with_ids), plain, Some(name));
        }
    }
    // One JSON object.
    let guests = project().join("tests/cli/sessions/guests");
    for name in ["opencode-08.json", "opencode-made-033.json"] {
        let stored: Value = serde_json::from_slice(&fs::read(guests.join(name)).unwrap()).unwrap();
        for (ids, end) in [(false, ""), (true, "-ids")] {
            let mut hostile = stored.clone();
            poison(&mut hostile, "opencode", ids);
            for plain in [false, true] {
                let name = format!("hostile-{}{end}", name.trim_end_matches(".json"));
                export_as(&name, &hostile.to_string(), plain, Some("opencode"));
            }
        }
    }
    // A folder whose files have hostile names, and the page that lists them.
    let site = |from: &Path, to: &str| {
        let mut command = bough(home.path());
        let output =
            command.args(["export", "--project"]).arg(from).arg("-o").arg(folder.join(to)).output().unwrap();
        assert_eq!(code(&output), 0, "{to}: {}", said(&output));
    };
    let from = home.path().join("hostile names");
    fs::create_dir(&from).unwrap();
    let mut hostile = whole(&tree());
    for name in
        ["\"><img src=x onerror=\"window.PWN=1\">", "javascript:window.PWN=1", "..%2f\u{202e}a", "index"]
    {
        hostile += &lines(&[
            json!({ "type": "session_info", "id": "eeee0009", "parentId": "cccc0004", "timestamp": "2026-03-01T11:00:00Z", "name": payload("name") }),
        ]);
        fs::write(from.join(format!("{name}.jsonl")), &hostile).unwrap();
    }
    site(&from, "hostile-site");
    // A family: a session, and a fork of it.
    let from = home.path().join("family");
    fs::create_dir(&from).unwrap();
    let child = json!({ "type": "session", "version": 3, "id": "child", "timestamp": "2026-03-02T10:00:00Z", "cwd": "/w", "parentSession": from.join("parent.jsonl") });
    let forked = [
        &[child],
        &tree()[..2],
        &[message("ffff0001", Some("aaaa0002"), 40, json!({ "role": "user", "content": "Another way" }))],
    ]
    .concat();
    fs::write(from.join("parent.jsonl"), whole(&tree())).unwrap();
    fs::write(from.join("child.jsonl"), lines(&forked)).unwrap();
    site(&from, "site");
    let tried =
        Command::new("node").arg(project().join("tests/browser/page.mjs")).arg(&folder).output().unwrap();
    let shown = String::from_utf8_lossy(&tried.stdout);
    assert!(tried.status.success(), "{shown}{}", said(&tried));
    let names: HashSet<&str> = shown.lines().filter_map(|line| line.strip_prefix("ok ")).collect();
    assert!(names.len() > 50, "{shown}");
}
