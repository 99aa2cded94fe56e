//! Random sessions of every format with random damage: a repair never panics, never hangs, is
//! complete after one run, and loses no line that was whole; on a file, it is undone byte for byte.
//! `BOUGH_RUNS` sets how many are tried, `BOUGH_SEED` where to begin.

use crate::support::applied::applied;
use bough::internals::context::{Context, Patch};
use bough::internals::format::claude::graph::ClaudeGraph;
use bough::internals::format::{Block, Ids, Session};
use bough::internals::fsck::{
    self, CHECKS, Check, NoRepair, NoSurroundings, Repair, RepairMode, RepairOptions, Set, Unreadable,
};
use bough::internals::model::{Change, Ix, Piece, Source, Table, Target, Time};
use bough::internals::store::oplog::Log;
use bough::internals::store::write::{self, Allow, WriteOptions};
use bough::internals::store::{self, undo};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// A small random number generator; the same seed yields the same numbers.
struct Chance(u64);

impl Chance {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.bits() % end.max(1) as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    PiV1,
    PiV2,
    Pi,
    Omp,
    Harness,
    Chimera,
    Claude,
}

const KINDS: [Kind; 7] =
    [Kind::PiV1, Kind::PiV2, Kind::Pi, Kind::Omp, Kind::Harness, Kind::Chimera, Kind::Claude];

/// Generates an intact session, one line an item; each entry contains `mark-N`.
fn session(kind: Kind, chance: &mut Chance) -> Vec<Vec<u8>> {
    let count = 2 + chance.below(30);
    let mut lines: Vec<String> = Vec::new();
    let stamp =
        |at: usize| format!("2026-03-02T{:02}:{:02}:{:02}.000Z", 9 + at / 3600, at / 60 % 60, at % 60);
    let id = |at: usize| match kind {
        Kind::Claude => format!("{at:08x}-0000-4000-9000-00000000d0d0"),
        Kind::Chimera => format!("{at:012x}"),
        _ => format!("{at:08x}"),
    };
    match kind {
        Kind::Omp => {
            let slot = r#"{"type":"title","v":1,"title":"T","updatedAt":"2026-03-02T09:00:00.000Z","pad":""#;
            lines.push(format!("{slot}{}\"}}", " ".repeat(255 - slot.len() - 2)));
            lines.push(r#"{"type":"session","version":3,"id":"0a0b","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/w"}"#.into());
        }
        Kind::PiV1 => lines.push(
            r#"{"type":"session","id":"0a0b","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/w"}"#.into(),
        ),
        Kind::PiV2 => lines.push(
            r#"{"type":"session","version":2,"id":"0a0b","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/w"}"#
                .into(),
        ),
        Kind::Pi | Kind::Harness => lines.push(
            r#"{"type":"session","version":3,"id":"0a0b","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/w"}"#
                .into(),
        ),
        Kind::Chimera | Kind::Claude => {}
    }
    let mut calls: Vec<usize> = Vec::new();
    let agents = kind == Kind::Claude && chance.one_in(3);
    for at in 0..count {
        let parent = match at {
            0 => None,
            _ if chance.one_in(8) && calls.is_empty() => Some(chance.below(at)),
            _ => Some(at - 1),
        };
        let text =
            ["plain", "brace } { \\\"x\\\":{", "Zürich 中文 🐦", "line\\nbreak", "\\u00e9\\ud83d\\ude00"]
                [chance.below(5)];
        let text = format!("mark-{at} {text}");
        let quote = |id: Option<String>| id.map_or("null".to_owned(), |id| format!("\"{id}\""));
        let parent = quote(parent.map(id));
        let this = id(at);
        let time = stamp(at);
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        let sort = if calls.is_empty() { chance.below(12) } else { 99 };
        let line = match kind {
            Kind::Claude => {
                let side = agents && at % 7 > 4;
                let agent = if side { r#""agentId":"a1","# } else { "" };
                let head = format!(
                    r#"{{"parentUuid":{parent},"isSidechain":{side},{agent}"sessionId":"5e55b160-0000-4000-8000-000000000001","#
                );
                let tail = format!(r#","uuid":"{this}","timestamp":"{time}"}}"#);
                match sort {
                    0 if role == "assistant" => {
                        calls.push(at);
                        format!(
                            r#"{head}"type":"assistant","message":{{"id":"m{at}","role":"assistant","content":[{{"type":"text","text":"{text}"}},{{"type":"tool_use","id":"call_{at}","name":"Bash","input":{{}}}}]}}{tail}"#
                        )
                    }
                    99 => {
                        let call = calls.pop().unwrap();
                        format!(
                            r#"{head}"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"call_{call}","type":"tool_result","content":"{text}"}}]}}{tail}"#
                        )
                    }
                    1 => {
                        format!(r#"{head}"type":"system","subtype":"informational","content":"{text}"{tail}"#)
                    }
                    2 => format!(r#"{head}"type":"attachment","attachment":{{"type":"{text}"}}{tail}"#),
                    4 if at > 2 && !side => format!(
                        r#"{head}"type":"system","subtype":"compact_boundary","content":"{text}","logicalParentUuid":"{}","compactMetadata":{{"trigger":"auto","preservedMessages":{{"anchorUuid":"{this}","uuids":["{}","{}"]}}}}{tail}"#,
                        id(at - 1),
                        id(at - 2),
                        id(at - 1)
                    ),
                    5 => {
                        lines.push(format!(r#"{{"type":"last-prompt","leafUuid":"{}","explicit":{},"sessionId":"5e55b160-0000-4000-8000-000000000001"}}"#, id(chance.below(at + 1)), chance.one_in(2)));
                        format!(r#"{head}"type":"user","message":{{"role":"user","content":"{text}"}}{tail}"#)
                    }
                    3 => {
                        lines.push(format!(r#"{{"type":"file-history-snapshot","messageId":"{this}","snapshot":{{"messageId":"{this}"}},"isSnapshotUpdate":false}}"#));
                        format!(r#"{head}"type":"user","message":{{"role":"user","content":"{text}"}}{tail}"#)
                    }
                    _ if role == "user" => {
                        format!(r#"{head}"type":"user","message":{{"role":"user","content":"{text}"}}{tail}"#)
                    }
                    _ => format!(
                        r#"{head}"type":"assistant","message":{{"id":"m{at}","role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}{tail}"#
                    ),
                }
            }
            Kind::Chimera => {
                let head = format!(
                    r#""id": "{this}", "parent_id": {parent}, "timestamp": {}.5"#,
                    1_772_442_000 + at
                );
                match sort {
                    0 if role == "assistant" => {
                        calls.push(at);
                        format!(
                            r#"{{"type": "message", {head}, "message": {{"role": "assistant", "content": "{text}", "tool_calls": [{{"id": "call_{at}", "name": "x", "arguments": {{}}}}]}}}}"#
                        )
                    }
                    99 => {
                        let call = calls.pop().unwrap();
                        format!(
                            r#"{{"type": "message", {head}, "message": {{"role": "tool", "content": "{text}", "call_id": "call_{call}"}}}}"#
                        )
                    }
                    1 if at > 0 => format!(
                        r#"{{"type": "label", {head}, "target_id": "{}", "label": "{text}"}}"#,
                        id(at - 1)
                    ),
                    _ => format!(
                        r#"{{"type": "message", {head}, "message": {{"role": "{role}", "content": "{text}"}}}}"#
                    ),
                }
            }
            _ => {
                let head = match kind {
                    Kind::PiV1 => format!(r#""timestamp":"{time}""#),
                    _ => format!(r#""id":"{this}","parentId":{parent},"timestamp":"{time}""#),
                };
                match sort {
                    0 if role == "assistant" => {
                        calls.push(at);
                        format!(
                            r#"{{"type":"message",{head},"message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}},{{"type":"toolCall","id":"call_{at}","name":"x","arguments":{{}}}}]}}}}"#
                        )
                    }
                    99 => {
                        let call = calls.pop().unwrap();
                        format!(
                            r#"{{"type":"message",{head},"message":{{"role":"toolResult","toolCallId":"call_{call}","toolName":"x","content":[{{"type":"text","text":"{text}"}}],"isError":false}}}}"#
                        )
                    }
                    1 if at > 0 && kind != Kind::PiV1 => {
                        format!(r#"{{"type":"label",{head},"targetId":"{}","label":"{text}"}}"#, id(at - 1))
                    }
                    2 => format!(
                        r#"{{"type":"custom_message",{head},"customType":"c","content":"{text}","display":true}}"#
                    ),
                    3 if kind == Kind::Harness => format!(
                        r#"{{"type":"leaf",{head},"note":"{text}","targetId":"{}"}}"#,
                        id(chance.below(at + 1))
                    ),
                    4 if kind == Kind::Omp => format!(r#"{{"type":"mode_change",{head},"mode":"{text}"}}"#),
                    5 if at > 1 && kind != Kind::PiV1 => format!(
                        r#"{{"type":"compaction",{head},"summary":"{text}","firstKeptEntryId":"{}","tokensBefore":1}}"#,
                        id(at)
                    ),
                    _ => format!(
                        r#"{{"type":"message",{head},"message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
                    ),
                }
            }
        };
        lines.push(line);
    }
    lines.into_iter().map(String::into_bytes).collect()
}

/// Damages a file in one way; `lines` end in line feeds.
fn damage(bytes: &mut Vec<u8>, chance: &mut Chance) -> &'static str {
    if bytes.is_empty() {
        return "nothing";
    }
    let starts: Vec<usize> = std::iter::once(0)
        .chain(bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1))
        .collect();
    let line = |at: usize| starts[at]..starts.get(at + 1).copied().unwrap_or(bytes.len());
    let count = starts.len();
    let (one, other) = (line(chance.below(count)), line(chance.below(count)));
    let place = chance.below(bytes.len());
    match chance.below(24) {
        0 => {
            bytes[place] ^= 1 << chance.below(8);
            "a bit is flipped"
        }
        1 => {
            bytes.truncate(place);
            "the tail is torn"
        }
        2 => {
            let end = one.end.saturating_sub(1).max(one.start);
            let cut = one.start + chance.below(one.len());
            bytes.drain(cut.min(end)..end);
            "a line is cut"
        }
        3 => {
            if let Some(at) = one.end.checked_sub(1).filter(|at| bytes.get(*at) == Some(&b'\n')) {
                bytes.remove(at);
            }
            "two lines are glued"
        }
        4 => {
            let copy = bytes[one].to_vec();
            bytes.splice(other.start..other.start, copy);
            "a line is doubled"
        }
        5 => {
            bytes.drain(one);
            "a line is dropped"
        }
        6 => {
            let moved = bytes[one.clone()].to_vec();
            bytes.drain(one);
            let at = other.start.min(bytes.len());
            bytes.splice(at..at, moved);
            "a line is moved"
        }
        7 | 8 => {
            // An id, or a parent, becomes that of another line.
            let ids: Vec<(usize, usize)> = find_ids(bytes);
            if ids.len() > 1 {
                let (to, from) = (ids[chance.below(ids.len())], ids[chance.below(ids.len())]);
                let new = bytes[from.0..from.1].to_vec();
                bytes.splice(to.0..to.1, new);
            }
            "an id is another's"
        }
        9 => {
            let ids = find_ids(bytes);
            if !ids.is_empty() {
                let at = ids[chance.below(ids.len())];
                bytes[at.0] = b'f';
                bytes[at.0 + 1] = b'e';
            }
            "an id is nobody's"
        }
        10 => {
            let zeros = vec![0; 1 + chance.below(40)];
            bytes.splice(place..place, zeros);
            "NULs are put in"
        }
        11 => {
            let end = (place + 1 + chance.below(60)).min(bytes.len());
            bytes[place..end].fill(0);
            "a hole of NULs"
        }
        12 => {
            let piece = bytes[one.start..one.start + chance.below(one.len())].to_vec();
            bytes.splice(other.start..other.start, piece);
            "a piece stands before a line"
        }
        13 => {
            bytes.insert(place, b'\n');
            "a line feed is put in"
        }
        14 => {
            bytes.insert(place, [0xFF, 0x80, b'\t', b'\r', b'{', b'}', b'"', b'\\'][chance.below(8)]);
            "a byte is put in"
        }
        15 => {
            let text: &[u8] = [
                &b"null\n"[..],
                b"<<<<<<< HEAD\n",
                b"[1,2]\n",
                b"text\n",
                b"{}\n",
                b"\n",
                b"{\"type\":\"x\"}\n",
            ][chance.below(7)];
            bytes.splice(one.start..one.start, text.iter().copied());
            "a line of garbage"
        }
        16 => {
            bytes.splice(0..0, *b"\xEF\xBB\xBF");
            "a byte order mark"
        }
        17 => {
            bytes.pop();
            "no final newline"
        }
        18 => {
            let crlf = bytes.iter().flat_map(|byte| match byte {
                b'\n' => vec![b'\r', b'\n'],
                byte => vec![*byte],
            });
            *bytes = crlf.collect();
            "carriage returns"
        }
        19 => {
            let half = b"\\ud83d".to_vec();
            if let Some(at) = memchr_mark(bytes, chance) {
                bytes.splice(at..at, half);
            }
            "half of a surrogate pair"
        }
        20 => {
            if let Some(at) = bytes[one.clone()].iter().rposition(|byte| *byte == b'}') {
                bytes[one.start + at] = b'\r';
            }
            "a brace is lost"
        }
        21 => {
            bytes.drain(line(0));
            "the first line is lost"
        }
        22 => {
            let copy = bytes.clone();
            bytes.extend(copy);
            "all of it twice"
        }
        _ => {
            let cr = bytes.iter().map(|byte| if *byte == b'\n' { b'\r' } else { *byte }).collect();
            *bytes = cr;
            "carriage returns alone"
        }
    }
}

/// Returns the ranges of ids, without their quotes.
fn find_ids(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    for key in [
        "\"id\":\"",
        "\"id\": \"",
        "\"parentId\":\"",
        "\"parent_id\": \"",
        "\"uuid\":\"",
        "\"parentUuid\":\"",
    ] {
        let mut at = 0;
        while let Some(found) = bytes[at..].windows(key.len()).position(|window| window == key.as_bytes()) {
            let from = at + found + key.len();
            let len = bytes[from..].iter().position(|byte| *byte == b'"').unwrap_or(0);
            if len >= 2 {
                out.push((from, from + len));
            }
            at = from;
        }
    }
    out
}

/// Returns a random position after a mark.
fn memchr_mark(bytes: &[u8], chance: &mut Chance) -> Option<usize> {
    let marks: Vec<usize> = bytes
        .windows(5)
        .enumerate()
        .filter(|(_, window)| *window == b"mark-")
        .map(|(at, _)| at + 5)
        .collect();
    (!marks.is_empty()).then(|| marks[chance.below(marks.len())])
}

/// Returns the marks on whole lines.
fn marks(bytes: &[u8]) -> HashSet<String> {
    let mut out = HashSet::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
        if value["type"].is_string() {
            let text = String::from_utf8_lossy(line);
            let mut rest = &*text;
            while let Some(at) = rest.find("mark-") {
                rest = &rest[at + 5..];
                let len = rest.bytes().take_while(u8::is_ascii_digit).count();
                if rest[len..].starts_with(' ') {
                    out.insert(format!("mark-{} ", &rest[..len]));
                }
            }
        }
    }
    out
}

/// Returns a damaged session: its kind, the ways in which it was damaged, and the bytes.
fn damaged(chance: &mut Chance) -> (Kind, Vec<&'static str>, Vec<u8>) {
    let kind = KINDS[chance.below(KINDS.len())];
    let mut bytes = session(kind, chance).join(&b"\n"[..]);
    bytes.push(b'\n');
    let ways = (0..1 + chance.below(4)).map(|_| damage(&mut bytes, chance)).collect();
    (kind, ways, bytes)
}

fn chance(seed: u64) -> Chance {
    Chance(seed.wrapping_mul(0x2545_F491_4F6C_DD1D))
}

/// The result of a run whose repair can't be verified: nothing is changed then.
const REFUSED: &str = "refused";

/// What is sent at one place: the marks, and how many results are sent without their call or
/// repeatedly.
#[derive(Default)]
struct Sent {
    marks: HashSet<String>,
    bad: usize,
}

fn sent(session: &Session, source: &Table, at: Option<Ix>) -> Sent {
    let (mut sent, mut line) = (Sent::default(), Vec::new());
    let (mut asked, mut answered) = (HashSet::new(), HashSet::new());
    let context = Context::build(session, source, at).unwrap();
    for message in context.sent().filter(|message| !message.patches.contains(&Patch::Bridged)) {
        let said = message.read(session, source, &mut line).unwrap();
        for block in &said.blocks {
            match block {
                Block::Call { id, .. } => {
                    asked.insert(id.to_string());
                    answered.remove(&**id);
                }
                Block::Result { call, .. } => {
                    sent.bad += usize::from(!asked.contains(&**call) || !answered.insert(call.to_string()));
                }
                _ => {}
            }
        }
        let texts = said.blocks.iter().filter_map(|block| match block {
            Block::Text(text) | Block::Result { text, .. } => Some(text),
            _ => None,
        });
        for text in texts.flat_map(|text| text.split("mark-").skip(1).map(str::to_owned).collect::<Vec<_>>())
        {
            let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
            // A mark that damage has cut apart does not count.
            if text[digits.len()..].starts_with(' ') {
                sent.marks.insert(format!("mark-{digits} "));
            }
        }
    }
    sent
}

/// Checks that everything that was sent at HEAD is sent there after a repair, and everything on
/// another branch, on some branch, without anything that providers reject. Entries that the repair
/// reports as removed or moved may be missing.
fn all_is_sent(kind: Kind, repair: &Repair, old: &Table, new: &Table) -> Result<(), String> {
    let changed = |check: Check| repair.plan.changes.iter().any(|change| change.why == check.id());
    let (Some(before), Some(after)) = (Session::read(&old.0[0]), Session::read(&new.0[0])) else {
        return Ok(());
    };
    if before.format != after.format || changed(Check::Utf16) {
        // Messages that were another format to the agent were not sent as this one.
        return Ok(());
    }
    if !before.entries.is_empty() && after.entries.is_empty() {
        return Err("no entry is left".into());
    }
    // If entries share an id, another may represent it now; of a cycle of links one entry goes,
    // with everything below it; a compaction may count again, and the entries that it replaces go.
    let compactions = |session: &Session| {
        let all = session.tree.entries_in_tree();
        all.filter(|ix| session.entries.kind(*ix) == bough::internals::model::Kind::Compaction).count()
    };
    let is_regrouped = changed(Check::DuplicateId)
        || changed(Check::DuplicateEntry)
        || changed(Check::MissingKept)
        || changed(Check::ParentCycle)
        || compactions(&after) > compactions(&before)
        || a_kept_message_came_back(&before, &after, new);
    let aside = repair.aside.iter().map(|aside| match &aside.content {
        Piece::Keep(span) => old.bytes(*span).unwrap(),
        Piece::New(bytes) => bytes.clone(),
    });
    let aside = String::from_utf8_lossy(&aside.collect::<Vec<_>>().join(&b'\n')).into_owned();
    // A result that is moved under its call may leave a branch.
    let may_leave = changed(Check::MisplacedToolResult);
    let lost = |was: &Sent, is: &Sent| {
        let has = |mark: &String| is.marks.contains(mark) || aside.contains(mark);
        was.marks.iter().find(|mark| !has(mark)).cloned()
    };
    let (old_head, new_head) = (Context::position(&before), Context::position(&after));
    let (was, is) = (sent(&before, old, old_head), sent(&after, new, new_head));
    let is_led =
        [Check::StalePointer, Check::ExplicitNullPointer, Check::PointerToSidechain, Check::SidechainTrunk];
    let is_led = is_led.into_iter().any(changed) || changed(Check::DanglingLeaf);
    if is_regrouped || is_led || old_head.is_none() {
        return Ok(());
    }
    if let Some(mark) = lost(&was, &is)
        && !may_leave
    {
        return Err(format!("{mark}is not sent at HEAD any more"));
    }
    if is.bad > was.bad && kind != Kind::PiV1 {
        return Err(format!("{} results would be refused at HEAD, and {} were", is.bad, was.bad));
    }
    // Restored entries may be below the old end of a branch, and a compaction may be among them.
    let now: Vec<Sent> = after.tree.entries_in_tree().map(|place| sent(&after, new, Some(place))).collect();
    // No branch of Claude Code leads to entries that the last compaction replaced.
    let loader = (kind == Kind::Claude).then(|| ClaudeGraph::new(&before));
    let is_gone = |leaf: &Ix| loader.as_ref().is_some_and(|loader| loader.is_gone(*leaf));
    for leaf in before.tree.leaves().filter(|leaf| !is_gone(leaf)) {
        let was = sent(&before, old, Some(leaf));
        if !may_leave && !now.iter().any(|is| lost(&was, is).is_none()) {
            return Err(format!(
                "the branch that ends on line {} is not sent any more",
                before.entries.line(leaf)
            ));
        }
    }
    Ok(())
}

/// Returns whether a message that a compaction keeps was restored, so that the compaction takes
/// effect.
fn a_kept_message_came_back(before: &Session, after: &Session, new: &Table) -> bool {
    let compactions = after
        .tree
        .entries_in_tree()
        .filter(|ix| after.entries.kind(*ix) == bough::internals::model::Kind::Compaction);
    compactions.into_iter().any(|ix| {
        let line: Value = serde_json::from_slice(&new.bytes(after.span(ix)).unwrap()).unwrap_or_default();
        let kept = line["compactMetadata"]["preservedMessages"]["uuids"].as_array();
        kept.into_iter().flatten().filter_map(Value::as_str).any(|id| {
            let key = bough::internals::model::Key::hash(id.as_bytes());
            after.find(key).is_some() && before.find(key).is_none()
        })
    })
}

/// Runs one test; returns what went wrong.
fn run(seed: u64) -> Result<&'static str, String> {
    let chance = &mut chance(seed);
    let (kind, ways, bytes) = damaged(chance);
    let fail = |what: String, bytes: &[u8]| {
        Err(format!("seed {seed}: {kind:?}, {}: {what}\n{}", ways.join(", "), String::from_utf8_lossy(bytes)))
    };
    let start = Instant::now();
    let old = Table(vec![bytes.clone()]);
    let around = NoSurroundings("s");
    let on_request: Vec<Check> =
        CHECKS.iter().filter(|row| row.repair == RepairMode::OnRequest).map(|row| row.check).collect();
    let with = match chance.below(4) {
        0 => on_request.into_iter().collect(),
        1 => [on_request[chance.below(on_request.len())]].into_iter().collect(),
        _ => Set::default(),
    };
    let wishes = RepairOptions { with, ..RepairOptions::default() };
    let examined = match fsck::examine(None, &old, bytes.len() as u64, None, &around) {
        Ok(examined) => examined,
        Err(Unreadable::Unknown) => return Ok("no session is left"),
        Err(error) => return fail(error.to_string(), &bytes),
    };
    let repair = match fsck::repair(&examined, &old, &around, &wishes, &mut Ids::seeded("1")) {
        Ok(repair) => repair,
        Err(NoRepair::ReadOnly) => return Ok("read-only"),
        Err(NoRepair::Unproven { .. }) => return Ok(REFUSED),
        Err(error) => return fail(error.to_string(), &bytes),
    };
    let new = applied(&repair.plan, &old);
    let table = Table(vec![new.clone()]);
    if !new.is_empty() {
        let again = match fsck::examine(None, &table, new.len() as u64, None, &around) {
            Ok(again) => again,
            Err(error) => return fail(format!("{error} after the repair"), &new),
        };
        match fsck::repair(&again, &table, &around, &wishes, &mut Ids::seeded("2")) {
            Ok(second) if second.plan.is_empty() => {}
            Err(NoRepair::Unproven { .. }) => return Ok(REFUSED),
            Ok(second) => return fail(format!("a second repair: {:?}", second.plan.changes), &new),
            Err(error) => return fail(format!("a second repair: {error}"), &new),
        }
        for row in CHECKS.iter().filter(|row| row.repair == RepairMode::ByDefault) {
            let left = again
                .findings
                .list
                .iter()
                .filter(|left| left.check == row.check && left.is_repairable())
                .count();
            if left > 0 && !matches!(row.check, Check::DuplicateHeader | Check::MissingKept) {
                return fail(format!("{left} of {} are left", row.id), &new);
            }
        }
    }
    if kind == Kind::Claude
        && let Err(error) = strands_hold(&repair, &new)
    {
        return fail(error, &new);
    }
    if let Err(error) = all_is_sent(kind, &repair, &old, &table) {
        return fail(format!("{error}: {:?}", repair.plan.changes), &bytes);
    }
    // Whole lines still exist, or were set aside as copies of existing ones.
    let after = marks(&new);
    let aside = repair.aside.iter().map(|aside| match &aside.content {
        Piece::Keep(span) => old.bytes(*span).unwrap(),
        Piece::New(bytes) => bytes.clone(),
    });
    let aside: Vec<u8> = aside.collect::<Vec<_>>().join(&b'\n');
    for mark in marks(&bytes) {
        if !after.contains(&mark) && !String::from_utf8_lossy(&aside).contains(&mark) {
            return fail(format!("{mark} is lost"), &bytes);
        }
        // Only leaf entries, and requested entries, are removed although they are whole.
        let may_go =
            kind == Kind::Harness || repair.plan.changes.iter().any(|change| change.why == "no-message");
        if !after.contains(&mark) && !may_go && wishes.with_checks().next().is_none() {
            return fail(format!("{mark} is set aside"), &new);
        }
    }
    if start.elapsed() > Duration::from_secs(5) {
        return fail(format!("took {:?}", start.elapsed()), &bytes);
    }
    Ok(if repair.plan.is_empty() { "sound" } else { "repaired" })
}

/// Checks that no orphan was moved into a sidechain, out of one, or into another session without
/// evidence that it belongs there.
fn strands_hold(repair: &Repair, new: &[u8]) -> Result<(), String> {
    let mut lines: HashMap<String, Option<Value>> = HashMap::new();
    for line in new.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
        let Some(id) = line["uuid"].as_str().map(str::to_owned) else { continue };
        // A repeated id is not evidence.
        let line = if lines.contains_key(&id) { None } else { Some(line) };
        lines.insert(id, line);
    }
    let relinked = |change: &&Change| change.field == "parentUuid" && change.why == "dangling-parent";
    for change in repair.plan.changes.iter().filter(relinked) {
        let parent: Value = serde_json::from_str(&change.new).unwrap();
        let line = |id: &str| lines.get(id).and_then(Option::as_ref);
        let (Some(own), Some(above)) = (line(&change.id), parent.as_str().and_then(line)) else { continue };
        // A truncated line, or a boundary, may lead to another session.
        let guessed = repair.aside.is_empty() && own["logicalParentUuid"].is_null();
        let is_side = |line: &Value| line["isSidechain"] == true;
        let sessions = (own["sessionId"].as_str(), above["sessionId"].as_str());
        let is_other = sessions.0.is_some() && sessions.1.is_some() && sessions.0 != sessions.1;
        if is_side(own) != is_side(above) || guessed && is_other {
            return Err(format!("{} is hung under {parent}, which is of another strand", change.id));
        }
    }
    Ok(())
}

/// Carries out a repair on a file, and undoes it; returns what went wrong.
fn there_and_back(seed: u64) -> Result<&'static str, String> {
    let (kind, ways, bytes) = damaged(&mut chance(seed));
    let fail =
        |what: &dyn std::fmt::Debug| Err(format!("seed {seed}: {kind:?}, {}: {what:?}", ways.join(", ")));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, &bytes).unwrap();
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().write(true).open(&path).unwrap().set_modified(hour_ago).unwrap();
    let written = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let time = written(&path);
    let options = store::Options { side: true, ..store::Options::default() };
    let (session, files) = match store::open(&path, options) {
        Ok(opened) => (Some(opened.session), opened.files),
        Err(_) => (None, store::open_raw(&path).unwrap().0),
    };
    let around = NoSurroundings("s");
    let Ok(examined) = fsck::examine(session, &files, bytes.len() as u64, None, &around) else {
        return Ok("no session is left");
    };
    let repair =
        match fsck::repair(&examined, &files, &around, &RepairOptions::default(), &mut Ids::seeded("1")) {
            Ok(repair) if repair.plan.is_empty() => return Ok("sound"),
            Ok(repair) => repair,
            Err(NoRepair::ReadOnly) => return Ok("read-only"),
            Err(NoRepair::Unproven { .. }) => return Ok(REFUSED),
            Err(error) => return fail(&error),
        };
    let wanted = applied(&repair.plan, &Table(vec![bytes.clone()]));
    let mut plan = repair.plan.clone();
    let aside = folder.path().join("aside.jsonl");
    if !repair.aside.is_empty() {
        let pieces = repair.aside.iter().map(|aside| aside.content.clone()).collect();
        plan.targets.insert(0, Target::Create { path: Some(aside.clone()), pieces });
    }
    let log = Log::in_folder(folder.path().join("state"));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let now = Time(now.as_millis() as i64);
    // Other tests start programs, which for a moment have all our files open: that looks like an
    // agent.
    let options = WriteOptions {
        force: true,
        allow: Allow::default(),
        last_try: true,
        dry_run: false,
        now,
        log: Some(&log),
        group: None,
        quiet: WriteOptions::QUIET,
        patience: WriteOptions::PATIENCE,
        keep_added: false,
        prove: None,
    };
    if let Err(refusal) = write::carry_out(&files, examined.format, &plan, &options, &mut std::io::sink()) {
        return fail(&refusal);
    }
    if fs::read(&path).unwrap() != wanted || written(&path) != time {
        return fail(&"the file is not what the plan says");
    }
    // Undone, redone, and undone again.
    for (bytes, set_aside) in [(&bytes, false), (&wanted, true), (&bytes, false)] {
        let operation = match set_aside {
            true => undo::last_undo(&log, Some(&path)),
            false => {
                undo::last(&log, Some(&path), undo::Which::Last(1)).map(|mut last| last.wanted.remove(0))
            }
        };
        let undone = operation.and_then(|operation| undo::undo(&log, &operation, None, &options));
        if let Err(refusal) = undone {
            return fail(&refusal);
        }
        if fs::read(&path).unwrap() != *bytes || written(&path) != time {
            return fail(&"the bytes are not those of before");
        }
        if aside.exists() != (set_aside && !repair.aside.is_empty()) {
            return fail(&"the side file was not taken along");
        }
    }
    Ok("there and back")
}

/// Tries many seeds; fails with the errors of the first ones that fail.
fn try_all(usual: u64, run: impl Fn(u64) -> Result<&'static str, String> + std::panic::RefUnwindSafe) {
    let number =
        |name: &str, usual: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let (runs, first) = (number("BOUGH_RUNS", usual), number("BOUGH_SEED", 0));
    let mut failed = Vec::new();
    let mut counts = std::collections::BTreeMap::new();
    for seed in first..first + runs {
        match std::panic::catch_unwind(|| run(seed)) {
            Ok(Ok(what)) => *counts.entry(what).or_insert(0) += 1,
            Ok(Err(what)) => failed.push(what),
            Err(_) => failed.push(format!("seed {seed}: panic")),
        }
    }
    let short: Vec<&String> =
        failed.iter().take(std::env::var("BOUGH_SHOW").map_or(5, |n| n.parse().unwrap())).collect();
    assert!(failed.is_empty(), "{} of {runs} failed, {counts:?}\n{short:#?}", failed.len());
    // Multiple damage may make a repair unverifiable, but seldom.
    let refused = counts.get(REFUSED).copied().unwrap_or(0u64);
    assert!(refused * 20 <= runs.max(20), "{counts:?}");
    let _ = writeln!(std::io::stderr(), "{counts:?}");
}

#[test]
fn random_damage_is_mended_once_and_nothing_whole_is_lost() {
    try_all(400, run);
}

/// Damage whose repair once lost a message: a compaction came to follow a prompt; an entry of
/// another kind took the id of a compaction, and HEAD was in a cycle.
#[test]
fn damage_whose_repair_lost_a_message() {
    for seed in [2_020_932, 2_197_113] {
        assert!(run(seed).is_ok(), "{:?}", run(seed));
    }
}

#[test]
fn a_repair_of_random_damage_is_taken_back_to_the_byte() {
    try_all(120, there_and_back);
}

/// Does the same with the commands, for a few seeds.
#[test]
fn undo_takes_a_repair_back() {
    let mut repaired = 0;
    for seed in 1_000..1_016 {
        let (kind, ways, bytes) = damaged(&mut chance(seed));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, &bytes).unwrap();
        let bough = |words: &[&str]| {
            crate::support::sandbox::bough(folder.path()).args(words).arg(&path).output().unwrap()
        };
        let output = bough(&["fsck", "--repair", "--force"]);
        let said = format!("seed {seed}: {kind:?}, {}: {output:?}", ways.join(", "));
        assert!(output.status.code().is_some_and(|code| code < 2 || code == 3 || code == 5), "{said}");
        if fs::read(&path).unwrap() == bytes {
            continue;
        }
        repaired += 1;
        let output = bough(&["undo", "-s"]);
        assert!(output.status.success(), "{said}: {output:?}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "{said}");
    }
    assert!(repaired > 8, "{repaired}");
}
