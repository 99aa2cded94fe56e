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
use std::path::{Path, PathBuf};
use std::process::Command;

/// The encoded elements of a page, inflated, of one kind.
fn elements(page: &str, kind: &str) -> Vec<String> {
    let begin = format!("<script type=\"application/x-bough-{kind}\">");
    let encoded = page.match_indices(&begin).map(|(at, _)| {
        let rest = &page[at + begin.len()..];
        &rest[..rest.find("</script>").unwrap()]
    });
    let inflated = |encoded: &str| {
        let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
        let mut text = String::new();
        flate2::read::DeflateDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
        text
    };
    encoded.map(inflated).collect()
}

/// The entries of a page, by id: all strings of the body.
fn bodies(page: &str) -> HashMap<String, Vec<String>> {
    let index: Value = serde_json::from_str(&elements(page, "index").remove(0)).unwrap();
    let ids = elements(page, "ids").remove(0);
    let mut out: HashMap<String, Vec<String>> = HashMap::new();
    let mut count = 0;
    let mut ids = ids.strip_suffix('\n').unwrap_or_default().split('\n');
    for chunk in elements(page, "chunk") {
        let chunk: Value = serde_json::from_str(&chunk).unwrap();
        for body in chunk.as_array().unwrap() {
            strings(body, out.entry(ids.next().unwrap().to_owned()).or_default());
            count += 1;
        }
    }
    assert_eq!(count, index["n"]);
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

/// Claude Code sends the parts of a reply as messages of their own: a page refers to them, and what is left out of it is not there
/// either.
#[test]
fn what_the_model_is_sent_is_in_a_page_once() {
    let home = tempfile::tempdir().unwrap();
    let session = home.path().join("5e550001-0000-4000-8000-000000000001.jsonl");
    let id = |at: u32| format!("{at:08x}-0000-4000-8000-000000000000");
    let line = |at: u32, role: &str, content: Value| {
        let parent = if at == 0 { Value::Null } else { id(at - 1).into() };
        json!({ "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/w", "version": "2.1.0", "type": role,
            "sessionId": "5e550001-0000-4000-8000-000000000001", "uuid": id(at), "timestamp": format!("2026-03-01T10:00:{at:02}Z"),
            "message": { "id": format!("m{at}"), "type": "message", "role": role, "model": "m", "content": content } })
    };
    let all = [
        line(0, "user", "firstword".into()),
        line(
            1,
            "assistant",
            json!([
                { "type": "thinking", "thinking": "thoughtword", "signature": "" },
                { "type": "text", "text": "replyword" },
                { "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": { "command": "callword" } },
            ]),
        ),
        line(
            2,
            "user",
            json!([{ "type": "tool_result", "tool_use_id": "toolu_1", "content": "resultword ".repeat(40) }]),
        ),
        line(3, "assistant", json!([{ "type": "text", "text": "lastword" }])),
    ];
    fs::write(&session, lines(&all)).unwrap();
    let page = |options: &[&str]| {
        let output = bough(home.path())
            .args(["export", "--to", "html"])
            .args(options)
            .args(["-s"])
            .arg(&session)
            .output()
            .unwrap();
        assert_eq!(code(&output), 0, "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let whole = page(&[]);
    let sent = elements(&whole, "sent").remove(0);
    let index: Value = serde_json::from_str(&elements(&whole, "index").remove(0)).unwrap();
    let messages: Vec<Value> = serde_json::from_str(&sent).unwrap();
    assert_eq!(index["sent"], messages.len());
    // Of the reply all parts are there, by their numbers.
    let parts: Vec<&Value> = messages
        .iter()
        .filter(|message| message[0] == 1)
        .flat_map(|message| message[3].as_array().into_iter().flatten())
        .collect();
    assert!(parts.is_empty() || parts == [0, 1, 2], "{sent}");
    for word in ["firstword", "thoughtword", "replyword", "callword", "resultword", "lastword"] {
        assert!(!sent.contains(word) && elements(&whole, "chunk")[0].contains(word), "{word}: {sent}");
    }
    let less = page(&["--no-thinking", "--results", "20"]);
    let all = ["chunk", "sent", "words", "index"].map(|kind| elements(&less, kind).concat()).concat();
    assert!(!all.contains("thoughtword") && all.contains("replyword"), "{all}");
    // Once in the result, and once in the row of the tree.
    assert!(!all.contains(&"resultword ".repeat(20)), "{all}");
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

/// What would set `window.PWN` if it ran, in forms of several kinds.
fn payload(place: &str) -> String {
    let run = format!("window.PWN=(window.PWN||'')+'{place},'");
    format!(
        "</script><script>{run}</script><img src=x onerror=\"{run}\"><svg onload=\"{run}\">[a](javascript:{run}) [b](data:text/html,x)\n\n\
         [c]: javascript:{run}\n\n![d](https://load.example/{place}.png) <iframe srcdoc=\"<script>{run}</script>\"></iframe>\n\n\
         <details open ontoggle=\"{run}\">\n\n```x\" onclick=\"{run}\ncode\n```\n\"'><b style=background:url(https://load.example/{place})>"
    )
}

/// The strings by which an agent reads a line: kinds of things, and times.
const WORDS: [&str; 3] = ["type", "role", "timestamp"];

/// The ids of things.
const IDS: [&str; 17] = [
    "id",
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
                            id.push_str(&payload("id"));
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
        hostile.iter_mut().for_each(|line| poison(line, name, false));
        for plain in [false, true] {
            export_as(&format!("hostile-{name}"), &lines(&hostile), plain, Some(name));
        }
    }
    // One JSON object.
    let guests = project().join("tests/cli/sessions/guests");
    for name in ["opencode-08.json", "opencode-made-033.json"] {
        let mut hostile: Value = serde_json::from_slice(&fs::read(guests.join(name)).unwrap()).unwrap();
        poison(&mut hostile, "opencode", false);
        for plain in [false, true] {
            let name = name.trim_end_matches(".json");
            export_as(&format!("hostile-{name}"), &hostile.to_string(), plain, Some("opencode"));
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

/// What is wrong with Markdown as GitHub and Pandoc read it: a tag that is not of the document, an image, a link that is not to
/// the web, to mail, or to a place beside it.
fn faults_of_markdown(markdown: &str, name: &str) -> Vec<String> {
    use pulldown_cmark::{Event, Options, Parser, Tag};
    let mut found = Vec::new();
    for event in Parser::new_ext(markdown, Options::all()) {
        match event {
            Event::Html(tag) | Event::InlineHtml(tag) => {
                let tag = tag.trim();
                let is_summary =
                    tag.strip_prefix("<summary>").and_then(|rest| rest.strip_suffix("</summary>"));
                let is_own = tag.is_empty()
                    || matches!(tag, "<details>" | "</details>")
                    || is_summary.is_some_and(|inside| !inside.contains('<'));
                if !is_own {
                    found.push(format!("{name}: {tag}"));
                }
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                found.push(format!("{name}: an image of {dest_url}"))
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                let scheme = dest_url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
                let is_safe = scheme.is_none_or(|scheme| {
                    matches!(scheme.as_str(), "http" | "https" | "mailto") || scheme.contains(['/', '#', '?'])
                });
                if !is_safe {
                    found.push(format!("{name}: a link to {dest_url}"));
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn markdown_of_hostile_texts_has_no_tags_images_or_links_that_run() {
    let home = tempfile::tempdir().unwrap();
    let texts = [
        payload("a"),
        "[a]: javascript:x\n\n[a]\n\n[b][a]\n\n[^1]\n\n[^1]: <script>x</script>".into(),
        "[a]:\njavascript:x\n\n[a]".into(),
        "> [a]: javascript:x\n\n[a]".into(),
        "[a `]: javascript:x`\n\n[a `]".into(),
        "- [a]: javascript:x\n\n[a]".into(),
        "1. > [a]: data:text/html,x\n\n[a]".into(),
        "[\na\n]: javascript:x\n\n[ a ]".into(),
        "[a\\]]: javascript:x\n\n[a\\]]".into(),
        "[x](\njavascript:y)".into(),
        "[x](<javascript:y>) [x](<java\nscript:y>)".into(),
        "[x]( \tjava&Tab;script:y) [x](&#x6A;avascript:y) [x](\\javascript:y)".into(),
        "![x][i]\n\n[i]: https://load.example/x.png\n\n![i]".into(),
        "a\n<script>x</script>\n<!-- --><img src=x onerror=y>\n<?x?><![CDATA[x]]>".into(),
        "- <details ontoggle=x open>\n\n```\n<b>\n````".into(),
        "    <b>\n\t<i>\n- a\n\n        <u>".into(),
        "~~~\n```\n~~~\n<script>".into(),
        "> ```\n<script>x</script>\n```".into(),
        "- ```\n<script>x</script>\n  ```\n<b>".into(),
        "`` a\n<script> ``\n`\n<b>`".into(),
        "| a | b |\n|--|--|\n| <b> | `|<i>` |\n".into(),
        "a\n---\n</details></details>\n<summary>x</summary>".into(),
        "<https://x.y/\"onmouseover=z> <javascript:x> <x:y>".into(),
        "$`<b>`$ $$<i>$$ {{<u>}} [[javascript:x]]".into(),
    ];
    let header = json!({ "type": "session", "version": 3, "id": "s", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/w" });
    let mut found = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let id = |number: usize| format!("aaaa{number:04}");
        let call = json!({ "type": "toolCall", "id": "t", "name": text, "arguments": { text.as_str(): text, "command": text } });
        let all = [
            header.clone(),
            message(&id(1), None, 1, json!({ "role": "user", "content": text })),
            message(
                &id(2),
                Some(&id(1)),
                2,
                json!({ "role": "assistant", "model": text, "content": [{ "type": "thinking", "thinking": text }, { "type": "text", "text": text }, call] }),
            ),
            message(
                &id(3),
                Some(&id(2)),
                3,
                json!({ "role": "toolResult", "toolCallId": "t", "toolName": text, "content": [{ "type": "text", "text": text }] }),
            ),
            json!({ "type": "label", "id": "dddd0001", "parentId": id(3), "timestamp": "2026-03-01T10:30:00Z", "targetId": id(2), "label": text }),
            json!({ "type": "session_info", "id": "dddd0002", "parentId": "dddd0001", "timestamp": "2026-03-01T10:31:00Z", "name": text }),
        ];
        let session = home.path().join("s.jsonl");
        fs::write(&session, lines(&all)).unwrap();
        let output = bough(home.path()).args(["export", "--to", "md"]).arg(&session).output().unwrap();
        assert_eq!(code(&output), 0, "{}", said(&output));
        found
            .extend(faults_of_markdown(&String::from_utf8(output.stdout).unwrap(), &format!("{at}: {text}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
