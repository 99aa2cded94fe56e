//! Pointers among the parts and results of parallel calls: where Claude Code continued in small
//! transcripts, recorded in `pointers.tsv`.

use crate::claude_random::{asked, ours};
use crate::support::recording;
use serde_json::{Value, json};
use std::fs;

/// Transcripts that bough loads differently than Claude Code was observed to, and the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("1 c1:x;2 1 a1;3 2 n;6 2 n;4 6 u;5 1 r:x;P 2", "of two notes, the second leads to another turn"),
    ("1 c1:x;2 1 c2:w;4 2 c1:y;", "another reply between the calls of one reply"),
    ("1 c1:x;9 1 r:x;5 1 u;2 5 c1:y;6 2 r:y;", "a prompt between the calls of one reply"),
];

/// Compares with the recorded behavior of Claude Code. A row has the transcript in the shorthand of
/// [`transcript`], the leaf, and the entries sent, in order.
#[test]
fn pointers_lead_where_the_client_continued() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("pointer.jsonl");
    let recorded = recording::read(RECORD);
    let mut wrong = Vec::new();
    for row in recorded.lines() {
        let (short, theirs) = row.split_once('\t').unwrap();
        fs::write(&path, transcript(short)).unwrap();
        let ours = ours(&path);
        let known = EXCEPTIONS.iter().any(|(start, _)| short.starts_with(start));
        if !ours.is(theirs) && !known {
            wrong.push(format!("{short}\n  ours   {}\n  theirs {theirs}", ours.row()));
        }
    }
    assert!(recorded.lines().count() > 100);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Asks the real program about each transcript of the recording, and of `BOUGH_FROM`, a file with
/// one transcript a line; `BOUGH_BLESS` records the answers.
#[test]
#[ignore = "runs the real client, a second or two for each transcript"]
fn the_client_continues_where_pointers_lead() {
    let scratch = tempfile::tempdir().unwrap();
    let mut rows = recording::read(RECORD);
    if let Some(more) = std::env::var_os("BOUGH_FROM") {
        rows.push_str(&fs::read_to_string(more).unwrap());
    }
    let mut answers: Vec<String> = Vec::new();
    for (at, row) in rows.lines().enumerate() {
        let short = row.split('\t').next().unwrap();
        let path = scratch.path().join(format!("{at}.jsonl"));
        fs::write(&path, transcript(short)).unwrap();
        answers.push(format!("{short}\t{}\n", asked(&path).row()));
    }
    answers.sort();
    answers.dedup();
    match std::env::var_os("BOUGH_BLESS") {
        Some(_) => recording::write(RECORD, &(answers.concat()), &["claude"]),
        None => assert_eq!(answers.concat(), recording::read(RECORD)),
    }
}

const RECORD: &str = "claude/pointers.tsv";

/// Generates a transcript from items that are separated by `;`: an entry is its number, the number
/// of its parent unless it has none, and what it is; `P` is a pointer to an entry.
///
/// What it is: `u` a prompt, `n` an attachment, `s` a system line, `a1` a text of the reply `1`,
/// `c1:x,y` the calls `x` and `y` of the reply `1`, `r:x,y` their results.
fn transcript(short: &str) -> String {
    let session = "5e551011-0000-4000-8000-000000000000";
    let uuid = |number: &str| format!("0000{number:0>4}-0000-4000-8000-00000000ba5e");
    let mut lines = String::new();
    for (at, item) in short.split(';').enumerate() {
        let words: Vec<&str> = item.split(' ').collect();
        let (number, parent, what) = match words[..] {
            ["P", target] => {
                let line = json!({"type": "last-prompt", "leafUuid": uuid(target), "sessionId": session});
                lines.push_str(&format!("{line}\n"));
                continue;
            }
            [number, what] => (number, None, what),
            [number, parent, what] => (number, Some(uuid(parent)), what),
            _ => panic!("{short}: {item}"),
        };
        let mut line = json!({
            "parentUuid": parent, "isSidechain": false, "type": "user", "uuid": uuid(number),
            "timestamp": format!("2026-03-02T09:{at:02}:00.000Z"), "userType": "external", "cwd": "/project",
            "sessionId": session, "version": "2.1.332", "gitBranch": "",
        });
        let text = format!("entry {number}");
        let (letter, rest) = what.split_at(1);
        let (reply, ids) = rest.split_once(':').unwrap_or((rest, ""));
        let block = |ty: &str, id: &str| match ty {
            "result" => {
                json!({"type": "tool_result", "tool_use_id": id, "content": format!("{text}{id}")})
            }
            _ => {
                json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": format!("{text}{id}")}})
            }
        };
        let blocks = |ty: &str| ids.split(',').map(|id| block(ty, id)).collect::<Value>();
        let mut says = |content: Value| {
            line["type"] = "assistant".into();
            line["message"] = json!({"id": format!("msg_{reply}"), "type": "message", "role": "assistant",
                "model": "m", "content": content, "stop_reason": null,
                "usage": {"input_tokens": 1, "output_tokens": 1}});
        };
        match letter {
            "u" => line["message"] = json!({"role": "user", "content": text}),
            "n" => {
                line["type"] = "attachment".into();
                line["attachment"] = json!({"type": "note", "content": text});
            }
            "s" => {
                line["type"] = "system".into();
                line["subtype"] = "turn_duration".into();
            }
            "r" => line["message"] = json!({"role": "user", "content": blocks("result")}),
            "a" => says(json!([{"type": "text", "text": text}])),
            "c" => says(blocks("call")),
            _ => panic!("{short}: {item}"),
        }
        lines.push_str(&format!("{line}\n"));
    }
    lines
}
