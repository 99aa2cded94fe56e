//! Exported pages: nothing is lost, and no text of a session runs in them. `tests/needs` shows them to a browser.

use crate::support::chance::config;
use crate::support::damage::damage;
use crate::support::files::project;
use crate::support::hostile::{faults_of_markdown, lines, message, payload};
use crate::support::need;
use crate::support::sandbox::{bough, code, said};
use crate::support::sessions::{sessions, sessions_below};
use base64::Engine as _;
use bough::internals::context::Context;
use bough::internals::format::claude::request;
use bough::internals::format::{Content, Format, Session, blocks_of_item};
use bough::internals::model::{Source, Table};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

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
    if let Some(folder) = need::find_reference_files() {
        sessions.extend(sessions_below(&folder.join("corpus")));
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
    // Of the reply all parts are there, by their numbers among those that are shown.
    let parts_of_reply = |sent: &str| {
        let messages: Vec<Value> = serde_json::from_str(sent).unwrap();
        let reply = messages.iter().filter(|message| message[0] == 1);
        reply.flat_map(|message| message[3].as_array().unwrap().clone()).collect::<Vec<_>>()
    };
    assert_eq!(parts_of_reply(&sent), [0, 1, 2], "{sent}");
    for word in ["firstword", "thoughtword", "replyword", "callword", "resultword", "lastword"] {
        assert!(!sent.contains(word) && elements(&whole, "chunk")[0].contains(word), "{word}: {sent}");
    }
    let less = page(&["--no-thinking", "--results", "20"]);
    assert_eq!(parts_of_reply(&elements(&less, "sent")[0]), [0, 1]);
    let all = ["chunk", "sent", "words", "index"].map(|kind| elements(&less, kind).concat()).concat();
    assert!(!all.contains("thoughtword") && all.contains("replyword"), "{all}");
    // Once in the result, and once in the row of the tree.
    assert!(!all.contains(&"resultword ".repeat(20)), "{all}");
}

/// Checks all contexts of a session. Gives its format, and how many messages are said to have the blocks of their entries.
fn check_blocks_of_entries(name: &str, bytes: &[u8]) -> Option<(Format, usize)> {
    let session = Session::read(bytes)?;
    let source = Table(vec![bytes.to_vec()]);
    let (mut count, mut line) = (0, Vec::new());
    let leaves = session.tree.leaves().take(20).map(Some);
    for at in [Context::position(&session)].into_iter().chain(leaves) {
        let Ok(context) = Context::build(&session, &source, at) else { continue };
        for message in context.sent().filter(|message| message.has_blocks_of_entry(session.format)) {
            let said = message.read(&session, &source, &mut line).unwrap().blocks;
            let stored = source.bytes(session.span(message.entry.unwrap())).unwrap();
            assert_eq!(said, Content::read(session.format, &stored).blocks, "{name}: {message:?}");
            count += 1;
        }
        for message in context.sent() {
            let Some(items) = message.items_of_entry() else { continue };
            let said = message.read(&session, &source, &mut line).unwrap().blocks;
            let stored = source.bytes(session.span(message.entry.unwrap())).unwrap();
            let all: Vec<&[u8]> = request::items(&stored).collect();
            let blocks: Vec<_> = items.iter().flat_map(|item| blocks_of_item(all[*item])).collect();
            assert_eq!(said, blocks, "{name}: {message:?}");
        }
    }
    Some((session.format, count))
}

/// A page need not read what it has already.
#[test]
fn a_message_that_has_the_blocks_of_its_entry_has_them() {
    let mut counts: HashMap<Format, usize> = HashMap::new();
    for path in sessions() {
        if let Some((format, count)) =
            check_blocks_of_entries(&path.display().to_string(), &fs::read(&path).unwrap())
        {
            *counts.entry(format).or_default() += count;
        }
    }
    for format in [Format::Pi, Format::PiV1, Format::PiV2, Format::Omp, Format::Chimera, Format::Claude] {
        assert!(counts.get(&format).is_some_and(|count| *count > 0), "{format:?}");
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn a_damaged_message_that_has_the_blocks_of_its_entry_has_them(
        file in any::<Index>(),
        damage in prop::collection::vec(damage(), 1..6),
    ) {
        let path = file.get(&sessions()).clone();
        let mut bytes = fs::read(&path).unwrap();
        damage.iter().for_each(|damage| damage.on(&mut bytes));
        check_blocks_of_entries(&format!("{} with {damage:?}", path.display()), &bytes);
    }
}

#[test]
fn a_title_that_cuts_a_secret_shows_no_part_of_it() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".pi/agent/sessions/--w--");
    fs::create_dir_all(&folder).unwrap();
    // What looks like a key is made here, and has its signs in an order that no other text has.
    let key = format!("gh{}_{}", "p", "Zq4Rt8Ws2Xv6Yu0Bn3Cm7Dk1Fj5GhLpAeIo9");
    for before in [20, 46, 60, 70, 180, 195, 280, 296] {
        let header = json!({ "type": "session", "version": 3, "id": "5e550001", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/w" });
        let prompt = format!("{} {key} and more", "x".repeat(before));
        let all = [
            header,
            message("aaaa0001", None, 1, json!({ "role": "user", "content": prompt })),
            message(
                "aaaa0002",
                Some("aaaa0001"),
                2,
                json!({ "role": "assistant", "content": [{ "type": "text", "text": "yes" }] }),
            ),
        ];
        let session = folder.join("2026-03-01T10-00-00-000Z_5e550001.jsonl");
        fs::write(&session, lines(&all)).unwrap();
        let begins = &key[..8];
        // The last exports leave the prompt out.
        let exports: [&[&str]; 7] = [
            &["--to", "html", "--plain"],
            &["--to", "html"],
            &["--to", "md", "--front-matter"],
            &["--to", "txt"],
            &["--to", "html", "aaaa0001..aaaa0002", "--plain"],
            &["--to", "html", "aaaa0001..aaaa0002"],
            &["--to", "md", "aaaa0001..aaaa0002"],
        ];
        for words in exports {
            let output = bough(home.path())
                .args(["export", "-o", "-", "-s"])
                .arg(&session)
                .args(words)
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout.clone()).unwrap();
            assert!(code(&output) == 0 && !text.is_empty(), "{words:?}: {}", said(&output));
            assert!(
                !text.contains(begins) && !text.contains(&begins.replace('_', "\\_")),
                "{words:?}, {before}"
            );
            let words_of_page = elements(&text, "index").concat() + &elements(&text, "chunk").concat();
            assert!(!words_of_page.contains(begins), "{words:?}, {before}");
            let is_left_out = words.contains(&"aaaa0001..aaaa0002");
            assert!(
                !is_left_out || !(text + &words_of_page).contains("xxxx"),
                "{words:?}: the prompt is not exported"
            );
        }
        let site = home.path().join(format!("site{before}"));
        let output = bough(home.path()).args(["export", "--all", "-o"]).arg(&site).output().unwrap();
        assert_eq!(code(&output), 0, "{}", said(&output));
        let list = fs::read_to_string(site.join("index.html")).unwrap();
        assert!(list.contains("xxxx") && !list.contains(begins), "{before}: {list}");
    }
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
