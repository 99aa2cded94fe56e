//! Random transcripts, far wilder than real ones: what bough says that Claude Code loads is what it
//! was observed to load.

use crate::claude_grown;
use crate::support::chance::{Chance, stamp};
use crate::support::{need, recording};
use bough::internals::format::Format;
use bough::internals::format::claude::request::{self, Part};
use bough::internals::model::Source;
use bough::internals::store::{self, Opened, Options};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Transcripts that bough loads differently than Claude Code was observed to: the seed, and the
/// reason.
const EXCEPTIONS: &[(u64, &str)] = &[
    (1_000_002, "a copy of an earlier entry is the last line, in a file in reverse order"),
    (1_000_016, "the recording takes the first copy of an entry for the leaf, where the last counts"),
    (1_000_083, "a pin among messages below kept ones, and entries behind the pin"),
];

/// From this seed on, transcripts grow as Claude Code writes them.
const GROWN: u64 = 2_000_000;

/// Compares with the recorded behavior of Claude Code: the seed, the leaf, and the entries of which
/// anything is sent, in order.
///
/// An entry is named by what distinguishes it in its transcript. The test below records anew with
/// `BOUGH_BLESS`.
#[test]
fn random_transcripts_load_as_in_the_client() {
    let recorded = recording::read(RECORD);
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("random.jsonl");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for row in recorded.lines() {
        let (seed, theirs) = row.split_once('\t').unwrap();
        let seed: u64 = seed.parse().unwrap();
        fs::write(&path, transcript(seed)).unwrap();
        let ours = ours(&path);
        if !ours.is(theirs) && !EXCEPTIONS.iter().any(|(known, _)| *known == seed) {
            wrong.push(format!("{seed}\n  ours   {}\n  theirs {theirs}", ours.row()));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}

const RECORD: &str = "claude/random.tsv";

/// Asks the real program, if `BOUGH_PEERS` contains it: seeds from `BOUGH_FROM`, as many as
/// `BOUGH_RANDOM` says. Transcripts and answers are kept in `BOUGH_KEEP`, and not asked for again.
#[test]
#[ignore = "runs the real client, a second or two for each transcript"]
fn the_client_agrees_on_random_transcripts() {
    let number = |name: &str, or: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(or);
    let (from, count) = (number("BOUGH_FROM", 1_000_000), number("BOUGH_RANDOM", 20));
    let scratch = tempfile::tempdir().unwrap();
    let keep = std::env::var_os("BOUGH_KEEP").map_or(scratch.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&keep).unwrap();
    let (mut wrong, mut rows) = (Vec::new(), String::new());
    for seed in from..from + count {
        let path = keep.join(format!("{seed}.jsonl"));
        fs::write(&path, transcript(seed)).unwrap();
        let theirs = asked(&path).row();
        let ours = ours(&path);
        if !ours.is(&theirs) {
            wrong.push(format!("{seed}\n  ours   {}\n  theirs {theirs}", ours.row()));
        }
        rows.push_str(&format!("{seed}\t{theirs}\n"));
    }
    if std::env::var_os("BOUGH_BLESS").is_some() {
        // Rows of other seeds are kept.
        let old = recording::read(RECORD);
        let is_new = |row: &&str| {
            row.split('\t')
                .next()
                .and_then(|seed| seed.parse().ok())
                .is_some_and(|seed| (from..from + count).contains(&seed))
        };
        let mut all: Vec<&str> = old.lines().filter(|row| !is_new(row)).chain(rows.lines()).collect();
        all.sort_unstable();
        recording::write(RECORD, &(all.join("\n") + "\n"), &["claude"]);
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Asks the real program what it loads from a transcript, unless the answer lies beside it.
pub fn asked(transcript: &Path) -> Loaded {
    let kept = transcript.with_extension("answer.json");
    if !kept.exists() {
        let script = need::reference_files().join("oracles/claude_resume/resume_check");
        fs::write(&kept, Command::new(script).arg(transcript).output().unwrap().stdout).unwrap();
    }
    theirs(&serde_json::from_slice(&fs::read(&kept).unwrap()).unwrap())
}

/// The loaded part of a transcript.
pub struct Loaded {
    leaf: Option<String>,
    /// The stored turn at or above the parent of the next prompt, if it is another: the recording
    /// may name either.
    stored: Option<String>,
    /// The entries of which anything stored is sent, in order.
    sent: Vec<String>,
}

impl Loaded {
    pub fn row(&self) -> String {
        self.row_with(&self.leaf)
    }

    fn row_with(&self, leaf: &Option<String>) -> String {
        let short = |id: &String| id.get(4..8).unwrap_or_default().to_owned();
        let sent: Vec<String> = self.sent.iter().map(short).collect();
        format!("{}\t{}", leaf.as_ref().map_or("-".into(), short), sent.join(" "))
    }

    /// Returns whether a recording says the same.
    pub fn is(&self, row: &str) -> bool {
        self.row() == row || self.row_with(&self.stored) == row
    }
}

fn theirs(answer: &Value) -> Loaded {
    // Equal blocks can't be distinguished: copies of one line. A result that Claude Code invented
    // is named by the stored one of its call.
    let stored = |block: &&Value| block["text_changed"] != true;
    let id = |block: &Value| block["uuid"].as_str().or(block["uuid"][0].as_str()).map(str::to_owned);
    let mut sent: Vec<String> =
        answer["sent"].as_array().into_iter().flatten().filter(stored).filter_map(id).collect();
    sent.dedup();
    Loaded { leaf: answer["leaf"].as_str().map(str::to_owned), stored: None, sent }
}

pub fn ours(path: &Path) -> Loaded {
    let Ok(opened) = store::open(path, Options { format: Some(Format::Claude), ..Options::default() }) else {
        return Loaded { leaf: None, stored: None, sent: Vec::new() };
    };
    let sending = request::sending(&opened.session, &opened.files, None).unwrap();
    let stored = |part: &Part| matches!(part, Part::Stored(_) | Part::Texts(_) | Part::Command);
    let entries = sending.messages.iter().filter(|message| message.parts.iter().any(stored));
    let mut sent: Vec<String> = entries.map(|message| id(&opened, message.entry.unwrap())).collect();
    sent.dedup();
    let head = opened.session.head;
    let stored =
        |end| opened.session.tree.ancestors(end).find(|ix| opened.session.entries.kind(*ix).is_turn());
    let name = |ix: Option<bough::internals::model::Ix>| ix.map(|ix| id(&opened, ix));
    Loaded { leaf: name(head.entry), stored: name(head.leaf.and_then(stored)), sent }
}

fn id(opened: &Opened, ix: bough::internals::model::Ix) -> String {
    let line = opened.files.bytes(opened.session.span(ix)).unwrap();
    let line: Value = serde_json::from_slice(&line).unwrap();
    line["uuid"].as_str().unwrap_or_default().to_owned()
}

/// Generates a random transcript: branches, replies in parts, tools, notes, orphans, sidechains,
/// pointers, copies, compactions.
///
/// From seed [`GROWN`] on, one that grew as Claude Code writes them.
fn transcript(seed: u64) -> String {
    if seed >= GROWN {
        return claude_grown::transcript(seed);
    }
    let mut chance = Chance::new(seed);
    let wild = chance.hits(50);
    let near = chance.hits(30);
    let mut made: Vec<Value> = Vec::new();
    let mut lines: Vec<Value> = Vec::new();
    let mut open_calls: Vec<(String, usize)> = Vec::new();
    let (mut time, mut reply) = (0u64, 0);
    let uuid = |at: usize| format!("{:08x}-0000-4000-8000-{:012x}", at + 1, seed % (1 << 40));
    let count = 3 + chance.below(30) as usize;
    let mut last: Option<usize> = None;
    for at in 0..count {
        time += if near { chance.below(9_000) } else { 30_000 + chance.below(60_000) };
        if wild && chance.hits(5) {
            time = time.saturating_sub(chance.below(100_000));
        }
        let mut parent = last;
        if at > 0 && chance.hits(15) {
            parent = Some(chance.below(at as u64) as usize);
        }
        let mut parent_id = parent.map(uuid);
        if wild && at > 0 && chance.hits(4) {
            parent_id = Some(match chance.below(4) {
                0 => uuid(9_999),
                1 => uuid(at + 1),
                2 => uuid(at),
                _ => String::new(),
            });
        }
        let mut line = json!({
            "parentUuid": parent_id, "isSidechain": wild && chance.hits(4), "type": "user", "uuid": uuid(at),
            "timestamp": stamp(time), "userType": "external", "cwd": "/project",
            "sessionId": "5e551011-0000-4000-8000-000000000000", "version": "2.1.332", "gitBranch": "",
        });
        let above = parent.map(|parent| made[parent].clone()).unwrap_or_default();
        let text = format!("entry {at} of {seed}");
        match chance.below(20) {
            0 => {
                line["type"] = "attachment".into();
                line["attachment"] = json!({"type": "note", "content": text});
            }
            1 => {
                line["type"] = "system".into();
                line["subtype"] = if chance.hits(50) { "turn_duration" } else { "local_command" }.into();
                line["content"] = format!("<local-command-stdout>{text}</local-command-stdout>").into();
            }
            2 if wild => {
                line["type"] = "progress".into();
                line["data"] = json!({"type": "tick"});
            }
            3..=7 if !open_calls.is_empty() => {
                let (call, under) = open_calls.remove(chance.below(open_calls.len() as u64) as usize);
                if !chance.hits(20) {
                    line["parentUuid"] = uuid(under).into();
                }
                line["message"] = json!({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": call, "content": text}]});
            }
            8..=14 => {
                line["type"] = "assistant".into();
                let goes_on = above["type"] == "assistant" && chance.hits(60);
                if !goes_on && !chance.hits(2) {
                    reply += 1;
                }
                let block = if chance.hits(50) {
                    let call = format!("toolu_{at}_{seed}");
                    open_calls.push((call.clone(), at));
                    json!({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": text}})
                } else {
                    json!({"type": "text", "text": text})
                };
                line["message"] = json!({"id": format!("msg_{reply}_{seed}"), "type": "message", "role": "assistant",
                    "model": "m", "content": [block], "stop_reason": null,
                    "usage": {"input_tokens": 1, "output_tokens": 1}});
            }
            _ => line["message"] = json!({"role": "user", "content": text}),
        }
        made.push(line.clone());
        lines.push(line);
        last = Some(at);
        if chance.hits(12) {
            lines.push(pointer(&mut chance, at, &uuid));
        }
        if wild && chance.hits(3) {
            let mut copy = made[chance.below(at as u64 + 1) as usize].clone();
            if chance.hits(50) {
                copy["parentUuid"] = uuid(chance.below(at as u64 + 1) as usize).into();
            }
            lines.push(copy);
        }
    }
    if chance.hits(10) {
        let at = chance.below(lines.len() as u64 + 1) as usize;
        compact(&mut chance, &mut lines, at, &uuid);
    }
    if wild && chance.hits(10) {
        lines.reverse();
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn pointer(chance: &mut Chance, at: usize, uuid: &dyn Fn(usize) -> String) -> Value {
    let mut line = json!({"type": "last-prompt", "lastPrompt": "go on", "sessionId": "s"});
    line["leafUuid"] = match chance.below(12) {
        0 => Value::Null,
        1 => "00000000-0000-0000-0000-000000000000".into(),
        2 => uuid(8_888).into(),
        _ => uuid(chance.below(at as u64 + 1) as usize).into(),
    };
    if chance.hits(40) {
        line["explicit"] = Value::Bool(!chance.hits(10));
    }
    line
}

/// Inserts a compaction: its boundary and its summary, with or without kept messages.
fn compact(chance: &mut Chance, lines: &mut Vec<Value>, at: usize, uuid: &dyn Fn(usize) -> String) {
    let (boundary, summary) = (uuid(5_000), uuid(5_001));
    let before: Vec<Value> = lines[..at].iter().filter(|line| line["uuid"].is_string()).cloned().collect();
    let time = lines
        .get(at.saturating_sub(1))
        .and_then(|line| line["timestamp"].as_str())
        .unwrap_or("2026-01-01T10:00:00.000Z")
        .to_owned();
    let mut metadata = json!({"trigger": "manual", "preTokens": 1});
    let turn = |line: &&Value| line["type"] == "user" || line["type"] == "assistant";
    let kept: Vec<String> = before
        .iter()
        .filter(turn)
        .rev()
        .take(chance.below(4) as usize)
        .map(|line| line["uuid"].as_str().unwrap().to_owned())
        .collect();
    if !kept.is_empty() {
        let kept: Vec<String> = kept.into_iter().rev().collect();
        metadata["preservedMessages"] = json!({"anchorUuid": summary, "uuids": kept, "allUuids": kept});
        metadata["preservedSegment"] =
            json!({"headUuid": kept[0], "anchorUuid": summary, "tailUuid": kept[kept.len() - 1]});
    }
    let common = |line: Value| {
        let mut line = line;
        line["isSidechain"] = false.into();
        line["timestamp"] = time.clone().into();
        line["sessionId"] = "5e551011-0000-4000-8000-000000000000".into();
        line
    };
    let boundary_line = common(
        json!({"parentUuid": null, "type": "system", "subtype": "compact_boundary", "content": "Compacted",
        "compactMetadata": metadata, "uuid": boundary}),
    );
    let summary_line = common(json!({"parentUuid": boundary, "type": "user", "isCompactSummary": true,
        "message": {"role": "user", "content": "So far."}, "uuid": summary}));
    // The next line becomes a child of the summary.
    if let Some(next) = lines[at..].iter_mut().find(|line| line["uuid"].is_string()) {
        next["parentUuid"] = summary.clone().into();
    }
    lines.splice(at..at, [boundary_line, summary_line]);
}
