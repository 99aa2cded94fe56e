//! What Claude Code does not send of messages that it sends: the thinking of other models, everything but
//! the texts of failed results; and notifications, which it sends as reminders.

use crate::support::need;
use bough::internals::context::{Context, Message, Origin, Patch};
use bough::internals::format::{Block, Format};
use bough::internals::json::{member_at, string};
use bough::internals::store::{self, Options};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Transcripts, and what the client 2.1.332 sent.
///
/// A line is a prompt `u`, a notification `n`, a prompt that looks like one `N`, a reply `a` with its model,
/// one whose parts are in one entry `e`, a message about an error `E`, or a result `r` of a call, which failed
/// if `!` follows. Their blocks: `t:` a text, `T:` thinking, `R` thinking that is encrypted, `c:` a call,
/// `s:` a call of the service's own tools, `i` an image, `d` a document. `x` is a prompt that
/// retracts the reply before it.
///
/// In what is sent, the texts of a result are joined by an empty line, a line break is `/`, a made-up text is `-`, and `n:` is a
/// text in a reminder that says that it is not from the user.
#[rustfmt::skip] // a table
const CASES: &[(&str, &str)] = &[
    // Thinking goes to the model of the last reply, if that is still there.
    ("u t:p; a claude-opus-5 T:x t:a; u t:q; a claude-sonnet-5 T:y t:b",               "t:p t:a t:q T:y t:b"),
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; a claude-sonnet-5 T:y t:b",             "t:p T:x t:a t:q T:y t:b"),
    ("u t:p; e claude-opus-5 T:x t:a; u t:q; e claude-sonnet-5 T:y t:b",               "t:p t:a t:q T:y t:b"),
    ("u t:p; a claude-opus-5-5 T:x t:a; u t:q; a claude-sonnet-4-20250514 T:y t:b",    "t:p T:x t:a t:q t:b"),
    ("u t:p; a claude-sonnet-4-5-20250929 T:x t:a",                                    "t:p t:a"),
    ("u t:p; a claude-opus-4-6 R t:a; u t:q; a claude-sonnet-5 R t:b",                 "t:p t:a t:q R t:b"),
    ("u t:p; a claude-sonnet-5 t:a T:x; u t:q; a claude-sonnet-5 t:b T:y",             "t:p t:a T:x t:q t:b T:y"),
    // It is of no model, or the reply names none.
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; a <synthetic> t:b",                     "t:p T:x t:a t:q t:b"),
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; a <synthetic> T:y t:b",                 "t:p T:x t:a t:q T:y t:b"),
    ("u t:p; a <synthetic> T:x t:a; u t:q; a claude-sonnet-4-5 T:y t:b",               "t:p T:x t:a t:q t:b"),
    ("u t:p; a - T:x t:a; u t:q; a claude-sonnet-5 T:y t:b",                           "t:p t:a t:q T:y t:b"),
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; a - T:y t:b",                           "t:p T:x t:a t:q t:b"),
    // Replies that are not sent do not count, nor do those of which only thinking would be.
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; a claude-opus-5 T:y",                   "t:p T:x t:a t:q -"),
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; a claude-opus-5 T:y t:b; x t:r",     "t:p T:x t:a t:q t:r -"),
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; a claude-opus-5 c:1; u t:r",            "t:p T:x t:a t:q t:r -"),
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; a claude-opus-5 T:y c:1; u t:r",        "t:p T:x t:a t:q t:r -"),
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; a claude-opus-5 t:b c:1; u t:r",        "t:p t:a t:q t:b t:r -"),
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; E <synthetic> t:e",                     "t:p T:x t:a t:q"),
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; E claude-opus-5 t:e",                   "t:p t:a t:q t:e"),
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; E <synthetic> t:e; u t:r",              "t:p T:x t:a t:q t:r -"),
    ("u t:p; a claude-sonnet-5 T:x t:a; u t:q; E - t:e",                               "t:p T:x t:a t:q t:e"),
    // What is left of the reply.
    ("u t:p; a claude-opus-4-6 T:x c:1; u t:q; a claude-sonnet-5 t:b",                 "t:p t:q t:b"),
    ("u t:p; a claude-opus-4-6 T:x c:1 T:y c:2; r 1 t:o; r 2 t:o; a claude-sonnet-5 t:b", "t:p c:1 c:2 r:1=o r:2=o t:b"),
    ("u t:p; a claude-opus-4-6 T:x s:1; u t:q; a claude-sonnet-5 t:b",                 "t:p - t:q t:b"),
    ("u t:p; a claude-sonnet-5 T:x s:1; u t:q; a claude-sonnet-5 t:b",                 "t:p T:x t:q t:b"),
    ("u t:p; a claude-sonnet-5 t:a c:1; r 1 t:o; a claude-opus-4-6 T:x c:1; r 1 t:o; a claude-sonnet-5 t:b", "t:p t:a c:1 r:1=o - - t:b"),
    ("u t:p; a claude-opus-4-6 T:x t:a; u t:q; a claude-sonnet-5 T:y c:1",             "t:p t:a t:q T:y c:1 r:1!=- -"),
    // Of failed results, only the texts are sent.
    ("u t:p; a m c:1; r 1! t:o i; a m t:b",                                            "t:p c:1 r:1!=o t:b"),
    ("u t:p; a m c:1; r 1 t:o i; a m t:b",                                             "t:p c:1 r:1=o i t:b"),
    ("u t:p; a m c:1; r 1! i; a m t:b",                                                "t:p c:1 r:1!= t:b"),
    ("u t:p; a m c:1; r 1! d; a m t:b",                                                "t:p c:1 r:1!= t:b"),
    ("u t:p; a m c:1; r 1! t:o i t:u; a m t:b",                                        "t:p c:1 r:1!=o//u t:b"),
    ("u t:p; a m c:1; r 1! t:o d t: t:u; a m t:b",                                     "t:p c:1 r:1!=o////u t:b"),
    ("u t:p; a m c:1; r 1! t:o t:u; a m t:b",                                          "t:p c:1 r:1!=o//u t:b"),
    ("u t:p; a m c:1; r 1! t:o; u t:q i; a m t:b",                                     "t:p c:1 r:1!=o t:q i t:b"),
    ("u t:p; a m c:1 c:2; r 1! t:o i; r 2 t:u i; a m t:b",                             "t:p c:1 c:2 r:1!=o r:2=u i t:b"),
    ("u t:p; a m c:1",                                                                 "t:p c:1 r:1!=- -"),
    // Notifications.
    ("u t:p; a m t:a; n t:done; a m t:b",                                              "t:p t:a n:done t:b"),
    ("u t:p; a m t:a; n t:<task-notification>; a m t:b",                               "t:p t:a n:<task-notification> t:b"),
    ("u t:p; a m t:a; N t:<task-notification>; a m t:b",                               "t:p t:a t:<task-notification> t:b"),
    ("u t:p; a m t:a; n t:done t:more; a m t:b",                                       "t:p t:a n:done/more t:b"),
    ("u t:p; a m t:a; n t:done; n t:too; u t:q; a m t:b",                              "t:p t:a n:done n:too t:q t:b"),
    ("u t:p; a m c:1; r 1 t:o; n t:done; a m t:b",                                     "t:p c:1 r:1=o n:done t:b"),
    ("u t:p; a m t:a; n t:done i; a m t:b",                                            "t:p t:a n:done i t:b"),
    ("u t:p; a m t:a; n t:done",                                                       "t:p t:a n:done -"),
];

#[test]
fn what_is_left_out_is_what_the_client_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut wrong = Vec::new();
    for (lines, sent) in CASES {
        fs::write(&path, transcript(lines)).unwrap();
        let ours = ours(&path);
        if ours != *sent {
            wrong.push(format!("{lines}\n  ours   {ours}\n  theirs {sent}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "runs the real client, a second or two for each transcript"]
fn the_client_agrees_on_what_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (at, (lines, sent)) in CASES.iter().enumerate() {
        let path = folder.path().join(format!("{at}.jsonl"));
        fs::write(&path, transcript(lines)).unwrap();
        let theirs = theirs(&path);
        if theirs != *sent {
            wrong.push(format!("{lines}\n  table  {sent}\n  theirs {theirs}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the client does not send is listed with a reason, and is still there for comparisons and other
/// programs.
#[test]
fn what_is_left_out_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let lines = "u t:p; e claude-opus-5 T:x t:a c:1; r 1! t:o i; a claude-opus-5 T:y t:b; u t:q; a claude-sonnet-5 t:c";
    fs::write(&path, transcript(lines)).unwrap();
    let opened = store::open(&path, Options { format: Some(Format::Claude), ..Options::default() }).unwrap();
    let (session, files) = (&opened.session, &opened.files);
    let at = Context::position(session);
    let sent = Context::build(session, files, at).unwrap();
    let patches: Vec<&str> =
        sent.messages.iter().flat_map(|message| &message.patches).map(Patch::name).collect();
    assert_eq!(patches, ["thinking-left-out", "only-text"]);
    let dropped: Vec<(u64, &str)> = sent
        .dropped
        .iter()
        .map(|dropped| (session.entries.line(dropped.entry), dropped.why.name()))
        .collect();
    assert_eq!(dropped, [(4, "other-model")]);
    let full = Context::in_full(session, files, at).unwrap();
    assert!(full.dropped.is_empty() && full.messages.iter().all(|message| message.patches.is_empty()));
    let mut line = Vec::new();
    let mut texts = Vec::new();
    for message in &full.messages {
        texts.extend(words(&message.read(session, files, &mut line).unwrap().blocks));
    }
    assert_eq!(texts.join(" "), "t:p T:x t:a c:1 r:1!=o i T:y t:b t:q t:c");
}

/// Writes a transcript from the words of the table.
fn transcript(lines: &str) -> String {
    let uuid = |at: usize| format!("{at:0>8}-0000-4000-8000-000000000000");
    let (mut out, mut last, mut reply) = (String::new(), Vec::new(), Vec::new());
    for (at, line) in lines.split("; ").enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        let entries: Vec<Value> = match words[0] {
            "u" | "N" => {
                vec![json!({"type": "user", "message": {"role": "user", "content": blocks(&words[1..])}})]
            }
            "n" => vec![json!({"type": "user", "origin": {"kind": "task-notification"},
                "message": {"role": "user", "content": blocks(&words[1..])}})],
            "r" => {
                let call = words[1].trim_end_matches('!');
                let result = json!({"type": "tool_result", "tool_use_id": call, "content": blocks(&words[2..]),
                    "is_error": words[1].ends_with('!')});
                vec![json!({"type": "user", "message": {"role": "user", "content": [result]}})]
            }
            "x" => vec![json!({"type": "user", "retractedMessageUuids": reply,
                "message": {"role": "user", "content": blocks(&words[1..])}})],
            kind => {
                let all = blocks(&words[2..]);
                let parts =
                    if kind == "a" { all.into_iter().map(|block| vec![block]).collect() } else { vec![all] };
                let entry = |content: Vec<Value>| {
                    let mut entry = json!({"type": "assistant", "message": {"id": format!("msg_{at}"), "type": "message",
                        "role": "assistant", "model": words[1], "content": content, "stop_reason": "end_turn",
                        "usage": {"input_tokens": 1, "output_tokens": 1}}});
                    if words[1] == "-" {
                        entry["message"].as_object_mut().unwrap().remove("model");
                    }
                    if kind == "E" {
                        entry["isApiErrorMessage"] = true.into();
                    }
                    entry
                };
                parts.into_iter().map(entry).collect()
            }
        };
        let is_reply = words.len() > 2 && matches!(words[0], "a" | "e");
        let first = last.len();
        for mut entry in entries {
            let number = last.len() + 1;
            entry["parentUuid"] = last.last().cloned().into();
            entry["uuid"] = uuid(number).into();
            entry["isSidechain"] = false.into();
            entry["timestamp"] = format!("2026-11-01T10:{:02}:{:02}.000Z", number / 60, number % 60).into();
            entry["sessionId"] = "5e551011-0000-4000-8000-000000000000".into();
            entry["cwd"] = "/project".into();
            entry["version"] = "2.1.332".into();
            out += &format!("{entry}\n");
            last.push(uuid(number));
        }
        if is_reply {
            reply = last[first..].to_vec();
        }
    }
    out
}

fn blocks(words: &[&str]) -> Vec<Value> {
    let image =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let block = |word: &&str| match word.split_once(':') {
        Some(("t", text)) => json!({"type": "text", "text": text}),
        Some(("T", text)) => json!({"type": "thinking", "thinking": text, "signature": "c2ln"}),
        Some(("c", id)) => json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}),
        Some(("s", id)) => json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}),
        _ if *word == "R" => json!({"type": "redacted_thinking", "data": "YWJj"}),
        _ if *word == "i" => json!({"type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": image}}),
        _ if *word == "d" => json!({"type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "document"}}),
        _ => panic!("{word}"),
    };
    words.iter().map(block).collect()
}

/// Returns what is sent according to bough.
fn ours(path: &Path) -> String {
    let opened = store::open(path, Options { format: Some(Format::Claude), ..Options::default() }).unwrap();
    let (session, files) = (&opened.session, &opened.files);
    let context = Context::build(session, files, Context::position(session)).unwrap();
    let mut line = Vec::new();
    let mut out = Vec::new();
    let is_made_up = |message: &Message| {
        message.origin == Origin::MadeUp
            || message.patches.iter().any(|patch| matches!(patch, Patch::MadeUp { .. }))
    };
    for message in context.sent() {
        let said = message.read(session, files, &mut line).unwrap();
        let is_notice = message.patches.iter().any(|patch| matches!(patch, Patch::Added { .. }));
        out.extend(match &said.blocks[..] {
            [Block::Result { call, .. }] if is_made_up(message) => vec![format!("r:{call}!=-")],
            [Block::Text(_)] if is_made_up(message) => vec!["-".to_owned()],
            blocks if is_notice => {
                let (texts, others): (Vec<_>, Vec<_>) =
                    words(blocks).into_iter().partition(|word| word.starts_with("t:"));
                let texts: Vec<&str> = texts.iter().map(|text| &text[2..]).collect();
                [vec![format!("n:{}", texts.join("/"))], others].concat()
            }
            blocks => words(blocks),
        });
    }
    out.join(" ")
}

fn words(blocks: &[Block<'_>]) -> Vec<String> {
    let word = |block: &Block<'_>| match block {
        Block::Text(text) => format!("t:{text}"),
        Block::Thinking { text, .. } if text.is_empty() => "R".to_owned(),
        Block::Thinking { text, .. } => format!("T:{text}"),
        Block::Call { id, .. } => format!("c:{id}"),
        Block::Result { call, is_error, text } => result(call, *is_error, text),
        Block::Image { .. } => "i".to_owned(),
        Block::Other(ty) => ty.to_string(),
    };
    blocks.iter().map(word).collect()
}

fn result(call: &str, is_error: bool, text: &str) -> String {
    format!("r:{call}{}={}", if is_error { "!" } else { "" }, text.replace('\n', "/"))
}

/// Returns what the real client sends.
fn theirs(path: &Path) -> String {
    const PROMPT: &str = "bough probe 5c1d: please answer ok";
    let kept = path.with_extension("kept");
    let script = need::reference_files().join("oracles/claude_resume/resume_check");
    let output = Command::new(script).args(["--no-mark", "--keep"]).arg(&kept).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let mut requests: Vec<_> =
        fs::read_dir(kept.join("log")).unwrap().map(|entry| entry.unwrap().path()).collect();
    requests.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    requests.sort();
    let bodies = requests.iter().map(|path| {
        let request: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        request["body"].clone()
    });
    let body = bodies.into_iter().find(|body| body["messages"].to_string().contains(PROMPT)).unwrap();
    let mut out: Vec<String> = Vec::new();
    for message in body["messages"].as_array().unwrap().iter().filter(|message| message["role"] != "system") {
        let Some(blocks) = message["content"].as_array() else {
            out.extend(sent_text(message["content"].as_str().unwrap()));
            continue;
        };
        for block in
            blocks.iter().filter(|block| !block["text"].as_str().unwrap_or_default().contains(PROMPT))
        {
            let word = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
            match &*word("type") {
                "text" => out.extend(sent_text(&word("text"))),
                "thinking" => out.push(format!("T:{}", word("thinking"))),
                "redacted_thinking" => out.push("R".into()),
                "tool_use" => out.push(format!("c:{}", word("id"))),
                "tool_result" => {
                    let content = block["content"].to_string();
                    let parts = bough::internals::json::each_item(content.as_bytes());
                    let text =
                        |item| member_at(item, &["text"]).and_then(string).map(|text| text.into_owned());
                    let (texts, others): (Vec<_>, Vec<_>) = parts.map(text).partition(Option::is_some);
                    let texts = match block["content"].as_str() {
                        Some(text) => text.to_owned(),
                        None => texts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"),
                    };
                    let text = if texts.starts_with("[Tool call interrupted") { "-" } else { &texts };
                    out.push(result(&word("tool_use_id"), block["is_error"] == true, text));
                    out.extend(others.iter().map(|_| "i".to_owned()));
                }
                "image" => out.push("i".into()),
                other => out.push(other.to_owned()),
            }
        }
    }
    out.join(" ")
}

/// Returns a text that the client sends in the words of the table; `None` for its other reminders.
fn sent_text(text: &str) -> Option<String> {
    let text = text.trim_end_matches('\n');
    if ["No response requested.", "(no content)", "[Tool use interrupted]"].contains(&text) {
        return Some("-".into());
    }
    let Some(reminder) = text.strip_prefix("<system-reminder>\n") else { return Some(format!("t:{text}")) };
    let (head, said) = reminder.strip_suffix("\n</system-reminder>")?.split_once("\n\n")?;
    head.contains("NOT USER INPUT").then(|| format!("n:{}", said.replace('\n', "/")))
}
