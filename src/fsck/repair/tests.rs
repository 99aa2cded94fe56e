//! Tests of the verification, given results that are wrong on purpose.

use super::proof::{self, Planned};
use super::*;
use crate::fsck::NoSurroundings;
use crate::fsck::examine::examine;
use crate::fsck::rope::Edit;
use crate::model::Table;

/// A call with its result; from the prompt after that, a branch and the path to HEAD.
const SESSION: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-03-02T00:00:01.000Z","message":{"role":"user","content":"one"}}
{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-03-02T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"bash","arguments":{}}],"stopReason":"toolUse"}}
{"type":"message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-03-02T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"bash","content":[]}}
{"type":"message","id":"aaaa0004","parentId":"aaaa0003","timestamp":"2026-03-02T00:00:04.000Z","message":{"role":"user","content":"two"}}
{"type":"message","id":"bbbb0005","parentId":"aaaa0004","timestamp":"2026-03-02T00:00:05.000Z","message":{"role":"user","content":"other"}}
{"type":"message","id":"aaaa0006","parentId":"aaaa0004","timestamp":"2026-03-02T00:00:06.000Z","message":{"role":"user","content":"three"}}
"#;

/// Returns what fails for a session in which a string on one line is replaced.
///
/// `is_said` says whether a change mentions the line, `exact` whether the entry at HEAD has to be
/// on the path.
fn failed(session: &str, line: u64, from: &str, to: &str, is_said: bool, exact: bool) -> Vec<String> {
    let table = Table(vec![session.into()]);
    let around = NoSurroundings("s");
    let examined = examine(None, &table, session.len() as u64, None, &around).unwrap();
    let starts: Vec<usize> =
        [0].into_iter().chain(session.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let (start, end) = (starts[line as usize - 1], starts[line as usize]);
    let old = &session[start..end];
    assert!(old.contains(from), "{old}");
    let new = old.replacen(from, to, 1).into_bytes();
    let edit = Edit { from: start as u64, to: end as u64, line, lines: 1, new, fresh: false };
    let text = examined.text.edited(vec![edit]);
    let change = Change { op: "set", line, ..Change::default() };
    let changes = if is_said { vec![change] } else { Vec::new() };
    let planned = Planned { text: &text, changes: &changes, gone: &[], moved: &[] };
    let aim = ProvedHead { exact, ..examined.heads_to_keep().last().unwrap() };
    proof::prove(&examined, &table, &around, &RepairOptions::default(), &planned, aim).unwrap().failed
}

#[test]
#[rustfmt::skip] // a table
fn a_result_that_is_wrong_is_not_proved() {
    let all = SESSION.lines().nth(5).unwrap().to_owned() + "\n";
    let on = "{\"type\":\"message\",\"id\":\"bbbb0007\",\"parentId\":\"bbbb0005\",\"message\":{\"role\":\"user\",\"content\":\"on\"}}\n";
    let check = |line, from, to, is_said, exact, wanted: &str| {
        let failed = failed(SESSION, line, from, to, is_said, exact);
        assert!(failed.iter().any(|failed| failed == wanted), "{from} -> {to}: {failed:?}");
    };
    check(6, "other",    "another",  false, false, "line 6 would be changed or lost");
    check(6, &all,       "",         true,  false, "1 id would be lost");
    check(6, "bbbb0005", "bbbb0009", true,  false, "1 id would be lost");
    check(6, "aaaa0004", "ffffffff", true,  false, "1 of `dangling-parent` would be new");
    check(7, "aaaa0004", "aaaa0001", true,  false, "the path to HEAD would have 2 entries, but has 5 now");
    check(4, "\"t1\"",   "\"t2\"",   true,  false, "the path would contain 0 tool pairs, but contains 1 now");
    // The path is longer, and does not lead to the entry.
    check(7, "}}\n",    &format!("}}}}\n{on}"), true, true, "HEAD would be on another branch");
    assert_eq!(failed(SESSION, 6, "other", "other", true, true), [] as [&str; 0]);
}

#[test]
fn a_finding_that_was_to_be_repaired_is_not_left() {
    let session = SESSION.replacen(r#""parentId":"aaaa0003""#, r#""parentId":"ffffffff""#, 1);
    let failed = failed(&session, 6, "other", "other", true, false);
    assert!(failed.iter().any(|failed| failed == "1 of `dangling-parent` would remain"), "{failed:?}");
}

/// Builds a line of Claude Code: its number, the number of its parent (`-` for none), its time in
/// seconds, and its kind. `u` is a prompt, `b` a boundary without lists.
fn claude(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let [id, parent, seconds, kind] = words[..] else { panic!("{text}") };
    let uuid = |id: &str| format!("\"{:0>8}-0000-4000-9000-00000000d0d0\"", id);
    let parent = if parent == "-" { "null".to_owned() } else { uuid(parent) };
    let rest = match kind {
        "u" => format!(r#""type":"user","message":{{"role":"user","content":"{id}"}}"#),
        _ => r#""type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto"}"#.into(),
    };
    let time = format!("2026-03-02T{:02}:{:0>2}:00.000Z", 9, seconds);
    let time = if seconds.len() > 2 { format!("2026-03-02T08:00:0{}Z", &seconds[..1]) } else { time };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"sessionId":"s",{rest},"uuid":{},"timestamp":"{time}"}}"#,
        uuid(id)
    )
}

/// Returns what fails if lines of Claude Code become others, and the repair reports `changes`: a
/// line and a check for each, or no check.
fn failed_for_claude(old: &str, new: &str, changes: &[(u64, Option<Check>)]) -> Vec<String> {
    let lines = |text: &str| text.split("; ").map(|line| claude(line) + "\n").collect::<Vec<String>>();
    let (old, new) = (lines(old), lines(new));
    let bytes = old.concat().into_bytes();
    let len = bytes.len() as u64;
    let table = Table(vec![bytes]);
    let around = NoSurroundings("s");
    let examined = examine(None, &table, len, None, &around).unwrap();
    let (mut edits, mut at) = (Vec::new(), 0);
    for (number, (was, is)) in (1..).zip(old.iter().zip(&new)) {
        let to = at + was.len() as u64;
        if was != is {
            let new = is.clone().into_bytes();
            edits.push(Edit { from: at, to, line: number, lines: 1, new, fresh: false });
        }
        at = to;
    }
    let text = examined.text.edited(edits);
    let changes: Vec<Change> = changes
        .iter()
        .map(|(line, why)| Change {
            op: "set",
            line: *line,
            field: "parentUuid".into(),
            why: why.map_or("", Check::id).into(),
            ..Change::default()
        })
        .collect();
    let planned = Planned { text: &text, changes: &changes, gone: &[], moved: &[] };
    let aim = examined.heads_to_keep().last().unwrap();
    proof::prove(&examined, &table, &around, &RepairOptions::default(), &planned, aim).unwrap().failed
}

#[test]
fn a_compaction_does_not_come_to_follow_a_branch() {
    let old = "1 - 1 u; 2 1 2 u; 3 1 3 u; 4 2 4 b; 5 4 5 u";
    assert_eq!(failed_for_claude(old, old, &[(4, None)]), [] as [&str; 0]);
    // Claude Code continues from the note below a turn: the branch would begin anew.
    let new = "1 - 1 u; 2 1 2 u; 3 1 3 u; 4 3 4 b; 5 4 5 u";
    let failed = failed_for_claude(old, new, &[(4, None)]);
    let wanted = "at the branch that ends on line 3, 2 messages would no longer be sent, the first on line 1";
    assert!(failed.iter().any(|failed| failed == wanted), "{failed:?}");
}

#[test]
fn a_guess_of_the_agent_gives_way_only_to_a_link_that_was_repaired() {
    // Entry 3 is an orphan that Claude Code attaches to entry 2, which is a second older.
    let old = "1 e 1 u; 2 - 1.s u; 3 f 2.s u; 4 3 3.s u";
    let new = "1 e 1 u; 2 - 1.s u; 3 - 2.s u; 4 3 3.s u";
    let wanted = "at HEAD, 1 message would no longer be sent, the first on line 2";
    let lost = |changes: &[(u64, Option<Check>)]| {
        failed_for_claude(old, new, changes).iter().any(|failed| failed == wanted)
    };
    assert!(!lost(&[(3, Some(Check::DanglingParent))]));
    assert!(lost(&[(3, None), (1, Some(Check::DanglingParent))]));
}

#[test]
fn a_message_that_leaves_a_branch_is_sent_on_another() {
    let old = "1 - 1 b; 2 - 1.s u; 3 f 2.s u; 4 3 3.s u";
    let relinked = [(1, None), (3, Some(Check::DanglingParent))];
    assert_eq!(
        failed_for_claude(old, "1 - 1 b; 2 - 1.s u; 3 - 2.s u; 4 3 3.s u", &relinked),
        [] as [&str; 0]
    );
    // A compaction comes to follow it.
    let failed = failed_for_claude(old, "1 2 1 b; 2 - 1.s u; 3 - 2.s u; 4 3 3.s u", &relinked);
    let wanted = "at HEAD, 1 message would no longer be sent, the first on line 2";
    assert!(failed.iter().any(|failed| failed == wanted), "{failed:?}");
}

#[test]
fn a_repaired_compaction_replaces_only_what_the_agent_does_not_read() {
    let (old, new) = ("1 - 1 u; 2 1 2 u; 3 1 3 u; 4 3 4 u", "1 - 1 u; 2 - 2 u; 3 1 3 u; 4 3 4 u");
    let failed = failed_for_claude(old, new, &[(2, None), (4, Some(Check::MissingKept))]);
    let wanted = "at the branch that ends on line 2, 1 message would no longer be sent, the first on line 1";
    assert!(failed.iter().any(|failed| failed == wanted), "{failed:?}");
}
