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
    let aim = ProvedHead { exact, ..examined.aims().last().unwrap() };
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
