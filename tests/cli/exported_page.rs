//! Exported pages: nothing is lost, and a real browser shows them. Without a browser that test is ignored: `build.rs` looks.

use crate::support::files::project;
use crate::support::sandbox::{bough, code, said};
use crate::support::sessions::sessions_below;
use base64::Engine as _;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

/// The encoded elements of a page, inflated, of one kind.
fn elements(page: &str, kind: &str) -> Vec<Value> {
    let begin = format!("<script type=\"application/x-bough-{kind}\">");
    let encoded = page.match_indices(&begin).map(|(at, _)| {
        let rest = &page[at + begin.len()..];
        &rest[..rest.find("</script>").unwrap()]
    });
    let inflated = |encoded: &str| {
        let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
        let mut text = String::new();
        flate2::read::DeflateDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    encoded.map(inflated).collect()
}

/// The entries of a page, by id: all strings of the body.
fn bodies(page: &str) -> HashMap<String, Vec<String>> {
    let index = elements(page, "index").remove(0);
    let chunks = elements(page, "chunk");
    let all = chunks.iter().flat_map(|chunk| chunk.as_array().unwrap());
    let ids = index["id"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned());
    let mut out: HashMap<String, Vec<String>> = HashMap::new();
    let mut count = 0;
    for (id, body) in ids.zip(all) {
        strings(body, out.entry(id).or_default());
        count += 1;
    }
    assert_eq!(count, index["id"].as_array().unwrap().len());
    assert_eq!(count, index["parent"].as_array().unwrap().len());
    out
}

fn strings(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(members) => members.values().for_each(|item| strings(item, out)),
        _ => {}
    }
}

/// Whether a session is small enough to be exported three times.
fn is_small(path: &Path) -> bool {
    path.metadata().unwrap().len() < 200_000
}

/// Every text, thinking, call, argument and result that `show --json` gives is in the page.
#[test]
fn nothing_is_lost() {
    let mut sessions = Vec::new();
    for folder in ["pi", "claude", "chimera"] {
        sessions.extend(sessions_below(&project().join("tests/cli/sessions").join(folder)));
    }
    if let Some(shared) = std::env::var_os("BOUGH_SHARED") {
        sessions.extend(sessions_below(&Path::new(&shared).join("corpus")));
    }
    sessions.retain(|path| is_small(path));
    // Each takes three runs of the program: a part of them, another for each process, is enough.
    let part = std::process::id() as usize % 4;
    let sessions: Vec<_> = sessions.into_iter().enumerate().filter(|(at, _)| at % 4 == part).collect();
    let home = tempfile::tempdir().unwrap();
    let (mut pages, mut parts) = (0, 0);
    for (_, path) in sessions {
        let run = |args: &[&str]| bough(home.path()).args(args).arg(&path).output().unwrap();
        let page = run(&["export", "--to", "html", "--no-redact", "--no-agents", "-q"]);
        if code(&page) != 0 {
            continue;
        }
        pages += 1;
        let bodies = bodies(&String::from_utf8(page.stdout).unwrap());
        let ids: Vec<&String> = bodies
            .keys()
            .filter(|id| id.len() >= 4 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
            .take(200)
            .collect();
        let show = bough(home.path()).args(["show", "--json", "-q"]).arg(&path).args(ids).output().unwrap();
        for line in String::from_utf8_lossy(&show.stdout).lines() {
            let entry: Value = serde_json::from_str(line).unwrap();
            let Some(body) = entry["id"].as_str().and_then(|id| bodies.get(id)) else { continue };
            let has = |text: &str| text.is_empty() || body.iter().any(|said| said == text);
            let blocks = entry["blocks"].as_array().cloned().unwrap_or_default();
            for block in &blocks {
                let mut wanted = Vec::new();
                match block["type"].as_str().unwrap() {
                    "text" | "thinking" => wanted.push(&block["text"]),
                    "result" => wanted.extend([&block["text"], &block["call"]]),
                    "call" => {
                        wanted.extend([&block["id"], &block["name"]]);
                        for (key, value) in block["arguments"].as_object().into_iter().flatten() {
                            assert!(has(key), "{}: {entry}: {key}", path.display());
                            wanted.extend(Some(value).filter(|value| value.is_string()));
                        }
                    }
                    _ => {}
                }
                for text in wanted.into_iter().filter_map(Value::as_str) {
                    assert!(has(text), "{}: {}: {text:?} is not in the page", path.display(), entry["id"]);
                    parts += 1;
                }
            }
            if blocks.is_empty()
                && let Some(text) = entry["text"].as_str()
            {
                assert!(has(text), "{}: {}: {text:?} is not in the page", path.display(), entry["id"]);
                parts += 1;
            }
        }
    }
    assert!(pages > 10 && parts > 50, "{pages} pages, {parts} parts");
}

/// A small image: two by two pixels.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFUlEQVR4nGP4z8DAAMIM/////w8AJ/4F+0T4ZLYAAAAASUVORK5CYII=";

fn message(id: &str, parent: Option<&str>, minute: u32, message: Value) -> Value {
    json!({ "type": "message", "id": id, "parentId": parent, "timestamp": format!("2026-03-01T10:{minute:02}:00Z"), "message": message })
}

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

/// What would set `window.PWN` if it ran, in forms of several kinds.
fn payload(place: &str) -> String {
    let run = format!("window.PWN=(window.PWN||'')+'{place},'");
    format!(
        "</script><script>{run}</script><img src=x onerror=\"{run}\"><svg onload=\"{run}\">[a](javascript:{run}) [b](data:text/html,x)\n\n\
         [c]: javascript:{run}\n\n![d](https://load.example/{place}.png) <iframe srcdoc=\"<script>{run}</script>\"></iframe>\n\n\
         <details open ontoggle=\"{run}\">\n\n```x\" onclick=\"{run}\ncode\n```\n\"'><b style=background:url(https://load.example/{place})>"
    )
}

/// Puts a payload into every string of a value that is not one of the words by which an agent reads it, and behind every key.
fn poison(value: &mut Value, path: &str) {
    const KEPT: [&str; 12] = [
        "type",
        "role",
        "id",
        "parentId",
        "uuid",
        "parentUuid",
        "timestamp",
        "sessionId",
        "targetId",
        "firstKeptEntryId",
        "toolCallId",
        "tool_use_id",
    ];
    match value {
        Value::String(text) => {
            let payload = payload(path);
            text.push_str(&payload);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| poison(item, path)),
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                if !KEPT.contains(&key.as_str()) {
                    poison(member, &format!("{path}.{key}"));
                }
            }
            if path.ends_with("arguments") || path.ends_with("input") {
                members.insert(payload("key"), payload("value").into());
            }
        }
        _ => {}
    }
}

fn lines(all: &[Value]) -> String {
    all.iter().fold(String::new(), |mut out, line| {
        let _ = writeln!(out, "{line}");
        out
    })
}

#[test]
#[cfg_attr(not(with = "browser"), ignore = "needs chromium and node on the path")]
fn a_browser_shows_pages_and_runs_nothing_of_a_session() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("pages");
    fs::create_dir(&folder).unwrap();
    let header = json!({ "type": "session", "version": 3, "id": "s", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/w" });
    let export = |name: &str, all: &str, plain: bool| {
        let session = home.path().join(format!("{name}.jsonl"));
        fs::write(&session, all).unwrap();
        let mut command = bough(home.path());
        command
            .arg("export")
            .arg(&session)
            .arg("-o")
            .arg(folder.join(format!("{name}{}.html", if plain { "-plain" } else { "" })));
        let output =
            command.args(plain.then_some("--plain")).args(["--allow", "overwrite"]).output().unwrap();
        assert_eq!(code(&output), 0, "{name}: {}", said(&output));
    };
    let whole = |all: &[Value]| lines(&[std::slice::from_ref(&header), all].concat());
    export("tree", &whole(&tree()), false);
    let wanted = json!({
        "rows": 8, "label": "goodlabel", "onPath": "zebraword", "aside": "asidereply", "asideRow": "asidereply", "asidePath": 4, "users": 3,
        "words": { "zebraword": 1, "QUAGGAWORD": 1, "parser": 3, "nowhere-at-all": 0 }, "call": "cargo test", "result": "41 passed",
    });
    fs::write(folder.join("tree.json"), wanted.to_string()).unwrap();
    let user = |at: u32, parent: Option<&str>| {
        message(&format!("{at:08x}"), parent, 1, json!({ "role": "user", "content": format!("entry {at}") }))
    };
    let chain: Vec<Value> =
        (0..8000).map(|at| user(at, (at > 0).then(|| format!("{:08x}", at - 1)).as_deref())).collect();
    let leaves: Vec<Value> = (0..8000).map(|at| user(at, (at > 0).then_some("00000000"))).collect();
    export("chain", &whole(&chain), false);
    export("leaves", &whole(&leaves), false);
    let mut hostile = [std::slice::from_ref(&header), &tree()[..], &[
        json!({ "type": "compaction", "id": "eeee0001", "parentId": "dddd0001", "timestamp": "2026-03-01T10:31:00Z", "summary": "s", "firstKeptEntryId": "cccc0001", "tokensBefore": 5 }),
        json!({ "type": "branch_summary", "id": "eeee0002", "parentId": "eeee0001", "timestamp": "2026-03-01T10:32:00Z", "summary": "s", "fromId": "bbbb0002" }),
        json!({ "type": "model_change", "id": "eeee0003", "parentId": "eeee0002", "timestamp": "2026-03-01T10:33:00Z", "provider": "p", "modelId": "m" }),
        json!({ "type": "custom_message", "id": "eeee0004", "parentId": "eeee0003", "timestamp": "2026-03-01T10:34:00Z", "customType": "c", "content": "c", "display": true }),
        json!({ "type": "session_info", "id": "eeee0005", "parentId": "eeee0004", "timestamp": "2026-03-01T10:35:00Z", "name": "n" }),
    ]].concat();
    hostile.iter_mut().for_each(|line| poison(line, "pi"));
    export("hostile-pi", &lines(&hostile), false);
    export("hostile-pi", &lines(&hostile), true);
    let mut claude = Vec::new();
    for name in ["branch", "compact"] {
        let found = sessions_below(&project().join("tests/cli/sessions/claude/real").join(name));
        claude.extend(found.into_iter().find(|path| is_small(path)));
    }
    for (at, path) in claude.iter().enumerate() {
        let text = fs::read_to_string(path).unwrap();
        let mut all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        all.iter_mut().for_each(|line| poison(line, "claude"));
        export(&format!("hostile-claude-{at}"), &lines(&all), false);
        export(&format!("hostile-claude-{at}"), &lines(&all), true);
    }
    let tried =
        Command::new("node").arg(project().join("tests/browser/page.mjs")).arg(&folder).output().unwrap();
    let shown = String::from_utf8_lossy(&tried.stdout);
    assert!(tried.status.success(), "{shown}{}", said(&tried));
    let names: HashSet<&str> = shown.lines().filter_map(|line| line.strip_prefix("ok ")).collect();
    assert!(names.len() > 50, "{shown}");
}
