//! Tests of what pi sends.

use super::*;
use crate::model::Table;

/// The answers of the harness 0.83 itself for these files.
#[test]
fn the_harness_takes_settings_from_the_first_kept_entry_on() {
    let line = |ty: &str, id: &str, parent: &str, rest: &str| {
        format!(
            r#"{{"type":"{ty}","id":"{id}","parentId":{parent},"timestamp":"2026-03-02T09:00:00.000Z",{rest}}}"#
        )
    };
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/w"}"#
            .to_owned(),
        line("thinking_level_change", "t", "null", r#""thinkingLevel":"high""#),
        line("message", "a", r#""t""#, r#""message":{"role":"user","content":"one"}"#),
        line("message", "b", r#""a""#, r#""message":{"role":"user","content":"two"}"#),
        line("compaction", "c", r#""b""#, r#""summary":"so far","firstKeptEntryId":"b""#),
        line("leaf", "l", r#""c""#, r#""targetId":"c""#),
    ];
    let text = lines.join("\n") + "\n";
    let session = Session::read(text.as_bytes()).unwrap();
    assert_eq!(session.format, Format::Harness);
    let context = build(&session, &Table(vec![text.into_bytes()]), session.head.leaf).unwrap();
    let roles: Vec<&str> = context.messages.iter().map(|message| &*message.role).collect();
    assert_eq!(roles, ["compactionSummary", "user"]);
    assert_eq!(context.thinking.as_deref(), Some("off"));
}

#[test]
fn dropped_entries_are_in_the_order_of_the_path_in_short_sessions_and_in_long_ones() {
    let path = [Ix(7), Ix(2), Ix(5), Ix(4)];
    for count in [8, 10_000] {
        let mut dropped: Vec<Dropped> =
            [4, 1, 5, 7].map(|ix| Dropped { entry: Ix(ix), why: Why::Empty }).into();
        sort_by_path(&mut dropped, &path, count);
        let order: Vec<u32> = dropped.iter().map(|dropped| dropped.entry.0).collect();
        assert_eq!(order, [1, 7, 5, 4], "{count}");
    }
}
