//! Tests of statistics.

use super::*;
use crate::model::Table;

fn counted(lines: &[&str]) -> (Session, Facts) {
    let text = lines.join("\n") + "\n";
    let session = Session::read(text.as_bytes()).unwrap();
    let facts = Facts::read(&session, &Table(vec![text.into_bytes()]), &Prices::default(), false).unwrap();
    (session, facts)
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/w"}"#;

fn reply(id: &str, parent: &str, tokens: u64) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-03-02T09:00:01.000Z","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c{id}","name":"ls","arguments":{{}}}}],"provider":"p","model":"m","usage":{{"input":{tokens},"output":1,"cost":{{"total":0.25}}}}}}}}"#
    )
}

#[test]
fn an_entry_that_branches_share_counts_once() {
    let (a, b, c) = (reply("a", "x", 10), reply("b", "a", 20), reply("c", "a", 40));
    let (session, facts) = counted(&[HEADER, &a, &b, &c]);
    let sum = Sum::count(&session, &facts);
    assert_eq!(sum.taken.replies, 3);
    assert_eq!(sum.taken.usage, Usage { input: 70, output: 3, cost: Some(0.75), ..Usage::default() });
    assert_eq!(sum.tools["ls"].calls, 3);
    assert_eq!(sum.models["p/m"], sum.taken);
    assert_eq!(sum.entries().count, 3);
    // A repeated id represents the entry before it.
    let (session, facts) = counted(&[HEADER, &a, &b, &reply("b", "a", 30)]);
    assert_eq!(Sum::count(&session, &facts).taken.usage.input, 40);
}

#[test]
fn copies_of_a_session_count_once() {
    let (a, b, c) = (reply("a", "x", 10), reply("b", "a", 20), reply("c", "a", 40));
    let mut total = Total::default();
    for lines in [[HEADER, &a, &b], [HEADER, &a, &c]] {
        let (session, facts) = counted(&lines);
        total.add(&session, &facts);
    }
    assert_eq!((total.sum.taken.usage.input, total.sum.taken.replies, total.copies), (70, 3, 1));
    // Version 1 has no ids: the line identifies an entry; the same line twice in one file is
    // two entries.
    let old = r#"{"type":"session","id":"s","timestamp":"2025-11-01T00:00:00.000Z","cwd":"/w"}"#;
    let said = r#"{"type":"message","timestamp":"2025-11-01T00:00:01.000Z","message":{"role":"user","content":"x"}}"#;
    let mut total = Total::default();
    for _ in 0..2 {
        let (session, facts) = counted(&[old, said, said]);
        total.add(&session, &facts);
    }
    assert_eq!((total.sum.entries().count, total.copies), (2, 2));
}

#[test]
fn an_original_counts_in_place_of_its_copy_without_tokens() {
    let (a, bare) = (
        reply("a", "x", 10),
        reply("a", "x", 0).replace("\"output\":1,\"cost\":{\"total\":0.25}", "\"output\":0"),
    );
    for lines in [[[HEADER, &*a], [HEADER, &*bare]], [[HEADER, &*bare], [HEADER, &*a]]] {
        let mut total = Total::default();
        for lines in lines {
            let (session, facts) = counted(&lines);
            total.add(&session, &facts);
        }
        let taken = total.sum.taken;
        assert_eq!(
            (taken.usage.input, taken.usage.cost, taken.replies, taken.unpriced),
            (10, Some(0.25), 1, 0)
        );
        assert_eq!(total.sum.models["p/m"], taken);
        assert_eq!((total.sum.entries().count, total.copies), (1, 1));
    }
}

#[test]
fn the_lines_of_a_reply_count_once() {
    let line = |uuid: &str, parent: &str, block: &str, output: u64| {
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"assistant","message":{{"id":"msg_1","role":"assistant","model":"m","content":[{block}],"usage":{{"input_tokens":7,"output_tokens":{output}}}}},"uuid":"{uuid}","timestamp":"2026-03-02T09:00:01.000Z","sessionId":"s"}}"#
        )
    };
    let text = line("a", "null", r#"{"type":"text","text":"x"}"#, 1);
    let call = line("b", "\"a\"", r#"{"type":"tool_use","id":"t","name":"Read","input":{}}"#, 9);
    let result = r#"{"parentUuid":"b","isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true}]},"uuid":"r","timestamp":"2026-03-02T09:00:02.000Z","sessionId":"s"}"#;
    let (session, facts) = counted(&[&text, &call, result]);
    let sum = Sum::count(&session, &facts);
    assert_eq!(sum.taken.replies, 1);
    assert_eq!((sum.taken.usage.input, sum.taken.usage.output), (7, 9));
    assert_eq!(sum.tools["Read"], Tool { calls: 1, results: 1, errors: 1 });
    assert_eq!(sum.of_kind(Kind::Assistant), 2);
}

#[test]
fn groups_add_up_to_the_whole() {
    let (a, b, c) = (reply("a", "x", 10), reply("b", "a", 20), reply("c", "a", 40));
    let (session, facts) = counted(&[HEADER, &a, &b, &c]);
    let groups = grouped(&session, &facts, |ix| Some(ix.0 % 2));
    let mut whole = Sum::default();
    groups.into_values().for_each(|sum| whole.join(sum));
    let sum = Sum::count(&session, &facts);
    assert_eq!((whole.taken, whole.entries(), whole.tools), (sum.taken, sum.entries(), sum.tools));
}
