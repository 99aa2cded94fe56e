//! Tests of the proof: each change that a repair must not make is found.

use super::*;
use crate::fsck::rope::Edit;
use crate::fsck::{NoSurroundings, examine};
use crate::model::Table;

/// Builds a line of pi: its id, the id of its parent, and its kind. `u` is a prompt, `a` a
/// reply, `a:c` one with the call `c`, `f:c` the same but failed, `r:c` a result, `k:x` a
/// compaction that keeps everything from `x` on, `e:x` an edit that drops `x`.
fn line(text: &str) -> String {
    let mut words = text.split(' ');
    let (id, above, what) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let above = if above == "-" { "null".into() } else { format!("\"{above}\"") };
    let time = "\"timestamp\":\"2026-03-02T09:00:00.000Z\"";
    let (kind, of) = what.split_once(':').unwrap_or((what, ""));
    let call = if of.is_empty() {
        String::new()
    } else {
        format!(r#",{{"type":"toolCall","id":"{of}","name":"x","arguments":{{}}}}"#)
    };
    let reply = |ended| {
        format!(
            r#""message":{{"role":"assistant","content":[{{"type":"text","text":"{id}"}}{call}],"stopReason":"{ended}"}}"#
        )
    };
    let (ty, rest) = match kind {
        "u" => ("message", format!(r#""message":{{"role":"user","content":"{id}"}}"#)),
        "a" => ("message", reply("toolUse")),
        "f" => ("message", reply("aborted")),
        "r" => (
            "message",
            format!(r#""message":{{"role":"toolResult","toolCallId":"{of}","toolName":"x","content":[]}}"#),
        ),
        "k" => ("compaction", format!(r#""summary":"s","firstKeptEntryId":"{of}","tokensBefore":1"#)),
        _ => ("context_edit", format!(r#""targetId":"{of}","replacement":null"#)),
    };
    format!(r#"{{"type":"{ty}","id":"{id}","parentId":{above},{time},{rest}}}"#)
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/w"}"#;

fn file(text: &str) -> Vec<u8> {
    let lines = text.split("; ").filter(|line| !line.is_empty()).map(line);
    let lines: Vec<String> = std::iter::once(HEADER.to_owned()).chain(lines).collect();
    (lines.join("\n") + "\n").into_bytes()
}

fn change(line: u64, op: &'static str, field: &str, why: Check) -> Change {
    Change { line, op, field: field.into(), why: why.id().into(), ..Change::default() }
}

/// Verifies a result that was made by hand: what a file becomes, line by line, and the changes
/// that the repair reports.
fn proof_of(old: &str, new: &str, changes: &[Change]) -> Proof {
    let (before, after) = (file(old), file(new));
    let source = Table(vec![before.clone()]);
    let around = NoSurroundings("s");
    let examined = examine(None, &source, before.len() as u64, None, &around).unwrap();
    let (old, new): (Vec<&[u8]>, Vec<&[u8]>) = (
        before.split_inclusive(|byte| *byte == b'\n').collect(),
        after.split_inclusive(|byte| *byte == b'\n').collect(),
    );
    let (mut edits, mut at) = (Vec::new(), 0);
    for number in 0..old.len().max(new.len()) {
        let (was, is) = (old.get(number).copied(), new.get(number).copied());
        let len = was.map_or(0, <[u8]>::len);
        if was != is {
            let (from, to) = (at as u64, (at + len) as u64);
            let new = is.unwrap_or_default().to_vec();
            let lines = u64::from(was.is_some());
            edits.push(Edit { from, to, line: number as u64 + 1, lines, new, fresh: was.is_none() });
        }
        at += len;
    }
    let text = Text::whole(before.len() as u64).edited(edits);
    let planned = Planned { text: &text, changes, gone: &[], moved: &[] };
    let aim = examined.heads_to_keep().last().unwrap();
    prove(&examined, &source, &around, &RepairOptions::default(), &planned, aim).unwrap()
}

fn failed(old: &str, new: &str, changes: &[Change]) -> String {
    proof_of(old, new, changes).failed.join("; ")
}

/// Does the same for lines that only get other links.
fn relinked(old: &str, new: &str, lines: &[u64]) -> String {
    let changes: Vec<Change> =
        lines.iter().map(|line| change(*line, "set", "parentId", Check::DanglingParent)).collect();
    failed(old, new, &changes)
}

#[track_caller]
fn says(failed: &str, wanted: &str) {
    assert!(failed.contains(wanted), "{failed:?} does not say {wanted:?}");
}

#[test]
fn a_line_that_no_change_names_stays_as_it_is() {
    assert_eq!(relinked("a - u; b lost a; c b u", "a - u; b a a; c b u", &[3]), "");
    says(&relinked("a - u; b lost a; c b u", "a - u; b a a; c a u", &[3]), "line 4 would be changed or lost");
}

#[test]
fn an_entry_is_not_lost() {
    let gone = [change(4, "set", "parentId", Check::DanglingParent)];
    let failed = failed("a - u; b a a; c b u", "a - u; b a a", &gone);
    says(&failed, "1 entry that the agent reads would be missing, the first on line 4");
    says(&failed, "1 id would be lost");
    // The same id on another line is another entry: here the reply is gone.
    let twice = "a - u; b a a; a - u";
    says(&relinked(twice, "a - u; a a a; a - u", &[3]), "would be lost");
}

#[test]
fn a_file_with_entries_does_not_end_without() {
    says(&failed("a - u; b a a", "", &[]), "no entry would be left");
}

#[test]
fn errors_go_and_none_comes() {
    says(
        &relinked("a - u; b a a; c b u", "a - u; b a a; c lost u", &[4]),
        "1 of `dangling-parent` would be new",
    );
    says(
        &relinked("a - u; b lost a; c b u", "a - u; b gone a; c b u", &[3]),
        "1 of `dangling-parent` would remain",
    );
}

#[test]
fn what_was_sent_at_head_is_sent() {
    // The prompt is no longer above HEAD, but another one is: the path has the same length.
    let failed = relinked("a - u; b - u; c a a; d lost u", "a - u; b - u; c b a; d c u", &[4, 5]);
    says(
        &failed,
        "at the branch that ends on line 4, 1 message would no longer be sent, the first on line 2",
    );
    let failed = relinked("a - u; x - u; b a a; c b u", "a - u; x - u; b x a; c b u", &[4]);
    says(&failed, "at HEAD, 1 message would no longer be sent, the first on line 2");
}

#[test]
fn what_was_sent_on_other_branches_is_sent() {
    let failed = relinked("a - u; x - u; b a a; c - u", "a - u; x - u; b x a; c - u", &[4]);
    assert_eq!(
        failed,
        "at the branch that ends on line 4, 1 message would no longer be sent, the first on line 2"
    );
}

#[test]
fn what_a_compaction_kept_is_sent() {
    let kept = [change(5, "set", "firstKeptEntryId", Check::KeptOffPath)];
    let failed = failed("a - u; b a a; c b u; k c k:b; d k u", "a - u; b a a; c b u; k c k:c; d k u", &kept);
    says(&failed, "at HEAD, 1 message would no longer be sent, the first on line 3");
    // An entry below a compaction gets onto the path of messages that were sent without the
    // compaction.
    let old = "a - u; b a a; k b k:k; c - u; d c a; e d u";
    says(&relinked(old, "a - u; b a a; k d k:k; c b u; d c a; e k u", &[4, 5, 7]), "would no longer be sent");
    assert_eq!(relinked(old, "a - u; b a a; k b k:k; c k u; d c a; e d u", &[5]), "");
}

#[test]
fn what_an_edit_drops_stays_dropped_and_no_more() {
    let old = "a - u; b a a; e b e:a; c - u; d c a";
    assert_eq!(relinked(old, "a - u; b a a; e b e:a; c b u; d c a", &[5]), "");
    let old = "a - u; b a a; e - e:a; c b u";
    says(
        &relinked(old, "a - u; b a a; e b e:a; c e u", &[4, 5]),
        "at HEAD, 1 message would no longer be sent",
    );
}

#[test]
fn no_result_is_sent_without_its_call() {
    // The result gets onto the path, and its call does not.
    let old = "a - u; b a a:c1; c b r:c1; d a u; e d a";
    says(
        &relinked(old, "a - u; b a a:c1; c a r:c1; d c u; e d a", &[4, 5]),
        "a result of `c1` would be sent without its call",
    );
    // Or it names none.
    let old = "a - u; c a r:; d a u; e d a";
    says(
        &relinked(old, "a - u; c a r:; d c u; e d a", &[4]),
        "a result of `` would be sent without its call",
    );
    // Or a call that is not sent.
    let old = "a - u; b a f:c1; c a u; d c a; e - r:c1";
    says(
        &relinked(old, "a - u; b a f:c1; c e u; d c a; e b r:c1", &[4, 6]),
        "a result of `c1` would be sent without its call",
    );
}

#[test]
fn no_result_and_no_call_is_sent_twice() {
    let old = "a - u; b a a:c1; c b r:c1; d b r:c1; e d a";
    says(
        &relinked(old, "a - u; b a a:c1; c b r:c1; d c r:c1; e d a", &[5]),
        "a second result of `c1` would be sent",
    );
    let old = "a - u; b a a:c1; c b r:c1; d a a:c1; e d r:c1";
    says(
        &relinked(old, "a - u; b a a:c1; c b r:c1; d c a:c1; e d r:c1", &[5]),
        "the call `c1` would be sent twice",
    );
}

#[test]
fn messages_may_come_back() {
    let old = "a - u; b a a:c1; c b r:c1; d lost u; e d a";
    assert_eq!(relinked(old, "a - u; b a a:c1; c b r:c1; d c u; e d a", &[5]), "");
}

/// However many branches there are, and however long they are.
#[test]
fn links_tell_what_most_repairs_do() {
    let compared = |old: &str, new: &str, line: u64| {
        let proof = proof_of(old, new, &[change(line, "set", "parentId", Check::DanglingParent)]);
        assert_eq!(proof.failed, Vec::<String>::new());
        proof.compared
    };
    let (old, new) =
        ("a - u; b a a; c lost u; d c a; e d u; f d u", "a - u; b a a; c b u; d c a; e d u; f d u");
    assert_eq!(compared(old, new, 4), 0);
    let (old, new) =
        ("a - u; b a a:c1; c b r:c1; d lost u; e d a", "a - u; b a a:c1; c b r:c1; d c u; e d a");
    assert_eq!(compared(old, new, 5), 0);
    // A compaction on the path is examined more closely only if it could hide something.
    let (old, new) = ("a - u; b a a; k b k:b; c lost u; d c a", "a - u; b a a; k b k:b; c k u; d c a");
    assert_eq!(compared(old, new, 5), 0);
    let (old, new) = ("a - u; b lost a; c b u; k c k:c; d k u", "a - u; b a a; c b u; k c k:c; d k u");
    assert_eq!(compared(old, new, 3), 0);
}

#[test]
fn a_move_of_head_is_told() {
    let still = proof_of("a - u; b a a; c a u", "a - u; b a a; c a u", &[]);
    assert_eq!((still.failed.len(), still.head_moves_to), (0, None));
    // HEAD is the last entry. Everything that was sent there is still sent, although it is
    // another branch.
    let appended = [change(0, "append", "", Check::DanglingParent)];
    let moved = proof_of("a - u; e a e:zz", "a - u; e a e:zz; c a u", &appended);
    assert_eq!((moved.failed.len(), moved.head_moves_to), (0, Some(4)));
}

#[test]
fn the_file_that_was_written_is_the_one_that_was_proved() {
    let (old, new) = ("a - u; b lost a; c b u", "a - u; b a a; c b u");
    let proof = proof_of(old, new, &[change(3, "set", "parentId", Check::DanglingParent)]);
    let holds = |text: &str| {
        let bytes = file(text);
        let source = Table(vec![bytes.clone()]);
        let written = examine(None, &source, bytes.len() as u64, None, &NoSurroundings("s")).unwrap();
        proof.holds_for(&written, &source).unwrap()
    };
    assert_eq!(holds(new), Ok(()));
    assert_eq!(holds("a - u; b a a"), Err("3 lines, but the plan has 4".into()));
    assert_eq!(holds(old), Err("2 entries on the path, but the plan has 3".into()));
    assert_eq!(holds("a - u; b a a; c b a"), Err("the bytes differ from the plan".into()));
}
