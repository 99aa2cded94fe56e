//! Compares what bough says that Claude Code loads and sends with the real program, over all
//! recorded files.

use crate::support::claude_request::{answer, fits, id, kind, numbers};
use crate::support::files::project;
use crate::support::recording;
use bough::internals::format::Format;
use bough::internals::format::claude::request::{self, Made, Part};
use bough::internals::model::Ix;
use bough::internals::store::{self, Opened, Options};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Recorded cases where bough's answer differs: which, and why.
const EXCEPTIONS: &[(&str, &str)] = &[];

#[test]
fn measured_cases() {
    let folder = sessions().join("claude");
    let table = fs::read(folder.join("measured.lines")).unwrap();
    let table: Vec<&[u8]> = table.split(|byte| *byte == b'\n').collect();
    let cases = recording::read("claude/measured.tsv");
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("case.jsonl");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for row in cases.lines().skip(1) {
        let [name, resumed, leaf, sent, lines] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("five fields: {row}");
        };
        let mut bytes = Vec::new();
        for (at, line) in numbers(lines).enumerate() {
            bytes.extend_from_slice(if at > 0 { b"\n" } else { b"" });
            bytes.extend_from_slice(table[line]);
        }
        fs::write(&path, bytes).unwrap();
        let (our_leaf, our_sent) = match open(&path) {
            Some(opened) => answer(&opened),
            None => (None, Vec::new()),
        };
        let fits = fits(sent, &our_sent);
        let same_leaf = our_leaf.as_deref().unwrap_or("-") == leaf || our_leaf.as_deref() == Some("");
        if !(fits && same_leaf) {
            wrong.push((
                name.to_owned(),
                format!(
                    "{name} ({resumed}): leaf {our_leaf:?}, not {leaf}; sent {}, not {sent}",
                    our_sent.join(" ")
                ),
            ));
        }
        count += 1;
    }
    judge(wrong);
    assert_eq!(count, 405);
}

/// Where the client inserts parts of replies, and results, that are not on the path to the leaf:
/// the lines of a transcript, and the leaf and the entries sent as the client reported them.
///
/// A line is the id of an entry, that of its parent, and what it is: `u` a prompt, `a1` a text of
/// reply 1, `c1:x` its call `x`, `r:x` the result, `n` an attachment, `s` a note of the client; `S`
/// makes it a sidechain. `P 2` is a pointer to entry 2, `P 2 e` a pin.
#[test]
#[rustfmt::skip] // a table
fn parts_and_results_beside_the_path() {
    for (lines, leaf, sent) in [
        // Parts: after the last entry of the path that comes before them in the file, from the
        // first part on the path to the last one.
        ("1 - a1; 2 1 a1; 3 1 a1; 4 3 u",                                          "4", "1 2 3 4"),
        ("1 - a1; 3 1 a1; 2 1 a1; 4 3 u",                                          "4", "1 3 2 4"),
        ("1 - a1; 2 1 a1; 3 1 a1; 6 2 a1; 4 3 u",                                  "4", "1 2 3 6 4"),
        ("1 - u; 2 1 a1; 3 1 a1; 5 3 u",                                           "5", "1 3 2 5"),
        ("1 - u; 2 1 a1; 3 1 a1; 4 2 a1; 5 3 a1; 6 3 a1; 7 5 u",                   "7", "1 3 2 4 5 6 7"),
        ("1 - u; 2 1 a1; 3 1 a1; 4 3 a1; 5 3 a1; 6 5 u",                           "6", "1 3 2 4 5 6"),
        ("1 - u; 3 1 a1; 4 3 u; 5 4 a1; 2 3 a1; 6 5 a1; 7 6 u",                    "7", "1 3 4 5 2 6 7"),
        ("1 - u; 3 1 a1; 4 3 u; 2 3 a1; 5 4 a1; 6 5 a1; 7 6 u",                    "7", "1 3 4 2 5 6 7"),
        ("1 - u; 3 1 a1; 4 3 u; 5 4 a2; 6 5 u; 2 1 a1; 7 6 u",                     "7", "1 3 2 4 5 6 7"),
        ("1 - u; 4 3 a1; 3 1 a1; 2 1 a1; 5 4 u",                                   "5", "1 3 4 2 5"),
        ("1 - u; 2 1 a1; 3 2 u; 4 3 a2; 5 4 u; 6 1 a1; 7 1 u; 8 7 a1; 9 8 u",      "9", "1 7 8 2 6 9"),
        // Their calls and results.
        ("1 - u; 2 1 c1:x; 3 1 a1; 4 3 c1:y; 5 4 r:y; 6 2 r:x; 7 5 u",             "7", "1 3 2 4 5 6 7"),
        ("1 - u; 3 1 c1:x; 4 3 r:x; 5 4 c1:y; 2 3 c1:z; 6 5 r:y; 8 2 r:z; 7 6 u",  "7", "1 3 5 2 4 6 8 7"),
        ("1 - u; 3 1 c1:x; 4 3 r:x; 5 4 a2; 6 5 u; 2 1 c1:y; 8 2 r:y; 7 6 u",      "7", "1 3 2 4 8 5 6 7"),
        // The leaf is the last of them in the file, unless it comes before the end of the path.
        ("1 - u; 2 1 a1; 3 1 a1; 4 1 a1; P 3 e",                                   "4", "1 3 2 4"),
        ("1 - u; 3 1 a1; 4 3 u; 5 4 a2; 2 1 a1; P 5 e",                            "5", "1 3 2 4 5"),
        ("1 - u; 2 1 c1:x; 3 2 a1; 4 2 r:x; P 3 e",                                "4", "1 3 2 4"),
        ("1 - u; 2 1 c1:x; 4 2 r:x; 3 2 a1; P 3 e",                                "3", "1 3 2 4"),
        ("1 - u; 2 1 c1:x; 4 2 r:x; 3 2 c1:y; 6 3 r:y; P 3 e",                     "6", "1 2 3 4 6"),
        ("1 - c1:x; 2 1 a1; 4 2 u; 5 1 r:x; P 2",                                  "5", "2 1 5"),
        // A note after the end, with and without a turn below it.
        ("1 - c1:x; 2 1 a1; 3 2 n; 5 1 r:x; P 2",                                  "5", "2 1 5"),
        ("1 - c1:x; 2 1 a1; 5 1 r:x; 3 2 n; P 2",                                  "2", "2 1 5"),
        ("1 - c1:x; 2 1 a1; 3 2 n; 4 3 u; 5 1 r:x; 6 5 u; P 2 e",                  "2", "2 1 5"),
        ("1 - c1:x; 2 1 c1:y; 3 2 n; 4 3 u; 5 1 r:x; 6 2 r:y; P 2 e",              "2", "1 2 5 6"),
        ("1 - c1:x; 2 1 a1; 3 2 s; 4 3 u; 5 1 r:x; 6 5 u; P 2 e",                  "5", "2 1 5 3"),
        ("1 - c1:x; 2 1 r:x; 3 1 n; 4 3 u; 5 2 u; P 3",                            "1", "1 2"),
        ("1 - c1:x; 2 1 r:x; 3 1 s; 4 3 u; 5 2 u; P 3",                            "2", "1 2 3"),
        // Sidechains neither get results from elsewhere nor give any.
        ("1 - u; 2 1 c1:x; 3 2 u; 4 3 u; 5 4 r:x; 6 4 u",                          "6", "1 2 5 3 4 6"),
        ("1 - u; 2 1 c1:x S; 3 2 u; 4 3 u; 5 4 r:x; 6 4 u",                        "6", "1 3 4 6"),
        ("1 - u; 2 1 c1:x; 3 2 u; 4 3 u; 5 4 r:x S; 6 4 u",                        "6", "1 3 4 6"),
        ("1 - u; 2 1 c1:x S; 3 2 u; 4 3 u; 5 2 r:x; 6 4 u",                        "6", "1 2 5 3 4 6"),
        ("1 - u; 2 1 c1:x; 3 2 u; 5 2 r:x S; 6 3 u",                               "6", "1 2 5 3 6"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, lines.split("; ").enumerate().map(|(at, line)| transcript_line(at, line)).collect::<String>()).unwrap();
        let opened = open(&path).unwrap();
        let name = |ix: Ix| id(&opened, ix)[7..8].to_owned();
        let sending = request::sending(&opened.session, &opened.files, None).unwrap();
        let of_file = |part: &Part| !matches!(part, Part::Made(_));
        let messages = sending.messages.iter().filter(|message| message.parts.iter().any(of_file));
        let ours: Vec<String> = messages.map(|message| name(message.entry.unwrap())).collect();
        let head = opened.session.head;
        let turn = |end| opened.session.tree.ancestors(end).find(|ix| opened.session.entries.kind(*ix).is_turn());
        let stored = head.leaf.and_then(turn).map(name);
        assert_eq!(ours.join(" "), sent, "{lines}");
        assert!(head.entry.map(name).as_deref() == Some(leaf) || stored.as_deref() == Some(leaf), "{lines}: {stored:?}");
    }
}

/// Writes a line of a transcript, the `at`th, from the words that say what it is.
fn transcript_line(at: usize, words: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    let uuid = |id: &str| format!("{id:0>8}-0000-4000-8000-000000000000");
    let line = if let ["P", target, explicit @ ..] = &words[..] {
        serde_json::json!({"type": "last-prompt", "leafUuid": uuid(target), "explicit": !explicit.is_empty(), "sessionId": "s"})
    } else {
        let [id, parent, kind, side @ ..] = &words[..] else { panic!("{words:?}") };
        let text = format!("entry {id}");
        let (name, call) = kind.split_once(':').unwrap_or((kind, ""));
        let reply = |block: Value| serde_json::json!({"id": &name[1..], "type": "message", "role": "assistant", "content": [block]});
        let (ty, rest) = match &name[..1] {
            "u" => ("user", ("message", serde_json::json!({"role": "user", "content": text}))),
            "r" => (
                "user",
                (
                    "message",
                    serde_json::json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call, "content": text}]}),
                ),
            ),
            "a" => ("assistant", ("message", reply(serde_json::json!({"type": "text", "text": text})))),
            "c" => (
                "assistant",
                (
                    "message",
                    reply(serde_json::json!(
                {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": text}})),
                ),
            ),
            "s" => {
                ("system", ("content", format!("<local-command-stdout>{text}</local-command-stdout>").into()))
            }
            _ => ("attachment", ("attachment", serde_json::json!({"type": "note", "content": text}))),
        };
        let parent = Some(uuid(parent)).filter(|_| *parent != "-");
        let mut line = serde_json::json!({"parentUuid": parent, "isSidechain": !side.is_empty(), "type": ty,
            "uuid": uuid(id), "timestamp": format!("2026-01-01T10:{:02}:00.000Z", at + 1), "sessionId": "s"});
        line[rest.0] = rest.1;
        if ty == "system" {
            line["subtype"] = "local_command".into();
        }
        line
    };
    format!("{line}\n")
}

/// Whether the client says that no response was requested, after a command that ran in it and after a
/// notification, by the blocks of the last turn: `said` is the text that is meant.
#[test]
fn replies_after_commands_and_notifications() {
    let text = |text: &str| serde_json::json!({"type": "text", "text": text});
    let image = serde_json::json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}});
    let output = "<local-command-stdout>Done</local-command-stdout>";
    let notification = "<task-notification>\nIt ended.\n</task-notification>";
    for (said, blocks, replies) in [
        (output, vec![text(output)], false),
        (output, vec![text("other"), text(output)], false),
        (output, vec![text(output), text(output)], false),
        (output, vec![text(output), text("other")], true),
        (output, vec![image.clone(), text(output)], false),
        (output, vec![text(output), image.clone()], false),
        (notification, vec![text(notification)], false),
        (notification, vec![text(notification), text("more")], true),
        (notification, vec![text(notification), image.clone()], true),
    ] {
        let mut lines = vec![transcript_line(0, "1 - u"), transcript_line(1, "2 1 a1")];
        let mut add = |words: &str, change: &dyn Fn(&mut Value)| {
            let mut line: Value = serde_json::from_str(&transcript_line(lines.len(), words)).unwrap();
            change(&mut line);
            lines.push(format!("{line}\n"));
        };
        if said == output {
            add("3 2 u", &|line| {
                line["isMeta"] = true.into();
                line["message"]["content"] =
                    "<local-command-caveat>Of the user.</local-command-caveat>".into();
            });
        }
        add(if said == output { "4 3 u" } else { "4 2 u" }, &|line| {
            line["message"]["content"] = blocks.clone().into();
            if said == notification {
                line["queueTranscriptOnly"] = true.into();
                line["origin"] = serde_json::json!({"kind": "task-notification"});
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, lines.concat()).unwrap();
        let opened = open(&path).unwrap();
        let sending = request::sending(&opened.session, &opened.files, None).unwrap();
        let last = sending.messages.last().and_then(|last| last.parts.last());
        assert_eq!(matches!(last, Some(Part::Made(Made::NoResponse))), replies, "{}", lines[lines.len() - 1]);
    }
}

#[test]
fn real_transcripts() {
    let folder = sessions().join("claude/real");
    let index: Value = serde_json::from_str(&fs::read_to_string(folder.join("index.json")).unwrap()).unwrap();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in index.as_array().unwrap() {
        let name = file["file"].as_str().unwrap();
        let Some(opened) = open(&folder.join(name)) else {
            assert_eq!(file["ok"], false, "{name} is opened by the client");
            continue;
        };
        count += 1;
        let uuid = |ix: Option<Ix>| ix.map(|ix| id(&opened, ix));
        let head = opened.session.head;
        let sending = request::sending(&opened.session, &opened.files, None).unwrap();
        let mut ours = Vec::new();
        for message in &sending.messages {
            let role = if message.role == request::Role::User { "user" } else { "assistant" };
            for part in &message.parts {
                if let Some(kind) = kind(&opened, message.entry, part) {
                    let made = matches!(part, Part::Made(_));
                    ours.push(format!(
                        "{role} {kind} {}",
                        uuid(message.entry).filter(|_| !made).unwrap_or_default()
                    ));
                }
            }
        }
        let theirs: Vec<String> = file["sent"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| {
                let kind = &block[1].as_str().unwrap();
                let letter = ["text", "tool_use", "tool_result"].iter().position(|known| known == kind);
                let letter = letter.map_or("t", |at| ["t", "c", "r"][at]);
                let uuid = block[2].as_str().unwrap_or_default();
                format!("{} {letter} {uuid}", block[0].as_str().unwrap())
            })
            .collect();
        // For old versions, only what they sent is recorded.
        let same = |recorded: &Value, ours: Option<Ix>| {
            recorded.is_null() || recorded.as_str().map(str::to_owned) == uuid(ours)
        };
        let leaf = same(&file["leaf"], head.entry);
        // The parent of a prompt after the user's own last turn is a reply that is not in the file.
        let made = matches!(
            sending.messages.last().and_then(|last| last.parts.last()),
            Some(Part::Made(Made::NoResponse))
        );
        let end = made || same(&file["attached_to"], head.leaf);
        if ours != theirs || !leaf || !end {
            wrong.push((
                name.to_owned(),
                format!(
                    "{name}: leaf {:?} not {}, end {:?} not {}\n  ours   {ours:?}\n  theirs {theirs:?}",
                    uuid(head.entry),
                    file["leaf"],
                    uuid(head.leaf),
                    file["attached_to"]
                ),
            ));
        }
    }
    judge(wrong);
    assert!(count > 30, "{count} transcripts");
}

fn open(path: &Path) -> Option<Opened> {
    store::open(path, Options { format: Some(Format::Claude), ..Options::default() }).ok()
}

fn judge(wrong: Vec<(String, String)>) {
    let known = |name: &str| EXCEPTIONS.iter().any(|(known, _)| *known == name);
    let wrong: Vec<&str> = wrong.iter().filter(|(name, _)| !known(name)).map(|(_, words)| &**words).collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn sessions() -> PathBuf {
    project().join("tests/cli/sessions")
}
