//! No input makes bough panic, and everything that it reads is consistent: over random bytes,
//! random lines, and intact sessions with random damage.

use crate::support::chance::config;
use crate::support::damage::damage;
use crate::support::sessions::{guests, sessions};
use bough::internals::context::Context;
use bough::internals::format::Content;
use bough::internals::model::{Ix, Source};
use bough::internals::ops::branches::{self, BranchRule};
use bough::internals::ops::rows::graph::{Graph, Row};
use bough::internals::ops::rows::{Folds, Order, Rows};
use bough::internals::ops::{Forest, filter, ids, revision, thread};
use bough::internals::store::{self, Opened, Options};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::fs;

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        look_at(&bytes);
    }

    #[test]
    fn random_lines(lines in prop::collection::vec(line(), 0..40), ending in select(vec!["\n", "\r\n", "\n\n"])) {
        look_at(lines.join(ending).as_bytes());
    }

    #[test]
    fn random_damage(file in any::<Index>(), damage in prop::collection::vec(damage(), 1..6)) {
        let files = sessions();
        let mut bytes = fs::read(file.get(&files)).unwrap();
        damage.iter().for_each(|damage| damage.on(&mut bytes));
        look_at(&bytes);
    }

    #[test]
    fn random_damage_of_guests(file in any::<Index>(), damage in prop::collection::vec(damage(), 1..6)) {
        let mut bytes = fs::read(file.get(&guests())).unwrap();
        damage.iter().for_each(|damage| damage.on(&mut bytes));
        look_at(&bytes);
    }
}

proptest! {
    #![proptest_config(config(12))]

    /// Runs the program itself on the same input: it exits with a proper status, never by a signal
    /// or as a bug.
    #[test]
    fn the_program_ends_well(
        file in any::<Index>(),
        damage in prop::collection::vec(damage(), 0..6),
        lines in prop::collection::vec(line(), 0..20),
    ) {
        let mut bytes = fs::read(file.get(&sessions())).unwrap();
        damage.iter().for_each(|damage| damage.on(&mut bytes));
        bytes.extend_from_slice(lines.join("\n").as_bytes());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("random.jsonl");
        fs::write(&path, &bytes).unwrap();
        for words in [
            &["status"][..],
            &["log"],
            &["log", "--graph", "--all", "--full"],
            &["log", "--graph", "--reverse"],
            &["log", "-n", "3", "--json"],
            &["log", "--all", "--format", "%H %p %s %d %ad %ti"],
            &["branches", "-v"],
            &["show"],
        ] {
            let mut command = crate::support::sandbox::bough(folder.path());
            let output = command.args(words).args(["-s", path.to_str().unwrap()]).output().unwrap();
            let known = output.status.code().is_some_and(|code| code < 7 && code != 2);
            prop_assert!(known, "{words:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Opens bytes as a file, and asks everything that a reader asks.
fn look_at(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("random.jsonl");
    fs::write(&path, bytes).unwrap();
    let Ok(mut opened) = store::open(&path, Options::default()) else { return };
    questions(&opened);
    contexts(&opened);
    if opened.session.format == bough::internals::format::Format::Claude {
        let reading = thread::read(&opened.session, &opened.files).unwrap();
        opened.session.tree = reading.tree();
        questions(&opened);
    }
    assert_eq!(fs::read(&path).unwrap(), bytes, "reading wrote");
}

/// Builds and reads what would be sent at HEAD, and at some entries.
fn contexts(opened: &Opened) {
    let session = &opened.session;
    let mut line = Vec::new();
    let some = session.entries.all().step_by(1 + session.entries.len() / 3).map(Some);
    for leaf in [Context::position(session), None].into_iter().chain(some) {
        let context = Context::build(session, &opened.files, leaf).unwrap();
        for message in &context.messages {
            message.read(session, &opened.files, &mut line).unwrap();
        }
    }
}

fn questions(opened: &Opened) {
    let session = &opened.session;
    let (entries, tree) = (&session.entries, &session.tree);
    let mut line = Vec::new();
    let short = ids::ShortIds::default();
    for ix in entries.all() {
        opened.files.read(session.span(ix), &mut line).unwrap();
        let content = Content::read(session.format, &line);
        let _ = (content.summary(), content.usage(), content.calls().count());
        let _ = (
            ids::name(session, &opened.files, ix).unwrap(),
            short.short_id(session, &opened.files, ix).unwrap(),
        );
    }
    let standing = tree.entries_in_tree().count();
    if let Some(head) = session.head.entry {
        let path = tree.path(head);
        assert_eq!(path.last(), Some(&head));
        assert!(path.len() <= standing);
    }
    for all in [true, false] {
        let shown = |ix: Ix| all || filter::conversation(session, ix);
        let forest = Forest::new(tree, entries.len(), shown);
        let wanted = tree.entries_in_tree().filter(|ix| shown(*ix)).count();
        // Each entry once, and none before its children.
        let mut drawn = vec![false; entries.len()];
        for row in Graph::new(&forest, session.head.leaf).rows() {
            if let Row::Entry { ix, .. } = row {
                assert!(!std::mem::replace(&mut drawn[ix.index()], true), "drawn twice");
                assert!(forest.parent(ix).is_none_or(|parent| !drawn[parent.index()]), "a parent came first");
            }
        }
        assert_eq!(drawn.iter().filter(|drawn| **drawn).count(), wanted);
        let rows = Rows::new(&session.tree, &Order::new(session, session.head.leaf), |ix| forest.shows(ix));
        assert_eq!(rows.len(), wanted);
        look_at_rows(&rows, &forest);
        assert_eq!(forest.children_first().count(), wanted);
        let of = if all { BranchRule::Everything } else { BranchRule::Conversation };
        for branch in branches::list(session, of) {
            assert!(branch.own <= branch.entries && branch.entries <= standing);
        }
    }
    for word in
        ["HEAD", "HEAD~2", "root", "leaves", "all", "turn:1", "turn:-1", "line:3", ":/a", "@::", "-", "aaaa"]
    {
        let _ = revision::set(session, &opened.files, &[word.to_owned()]);
    }
}

/// Each row comes after its parent, among the parent's descendants, and folding everything that can
/// be folded leaves the roots.
fn look_at_rows(rows: &Rows, forest: &Forest<'_>) {
    let mut folds = Folds::default();
    for row in 0..rows.len() {
        let ix = rows.entry(row);
        assert_eq!(rows.row(ix), Some(row));
        let parent = forest.parent(ix).map(|parent| rows.row(parent).expect("the parent is shown"));
        assert!(parent.is_none_or(|parent| parent < row && rows.descendants(parent).contains(&row)));
        assert_eq!(rows.followed(row, 0).len(), rows.depth(row));
        folds.toggle(rows, row);
    }
    let roots = rows.entries().iter().filter(|ix| forest.parent(**ix).is_none()).count();
    assert_eq!(folds.visible(rows), roots);
}

/// Generates a line that may be an entry of any format, or almost one.
fn line() -> impl Strategy<Value = String> {
    let member = (select(KEYS.to_vec()), value()).prop_map(|(key, value)| format!("{key:?}:{value}"));
    let object = prop::collection::vec(member, 0..8).prop_map(|members| format!("{{{}}}", members.join(",")));
    let entry = (id(), select(vec!["parentId", "parentUuid", "parent_id"]), id(), select(TYPES.to_vec()), value()).prop_map(
        |(id, link, parent, ty, value)| {
            format!(r#"{{"type":"{ty}","id":{id},"uuid":{id},"{link}":{parent},"timestamp":{value},"message":{{"role":"{ty}","content":{value}}}}}"#)
        },
    );
    let header = Just(
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T10:00:00.000Z","cwd":"/tmp"}"#
            .to_owned(),
    );
    prop_oneof![6 => entry, 2 => object, 1 => header, 1 => value()]
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0..12u32).prop_map(|id| format!("\"aaaa{id:04}\"")),
        2 => (0..4u32).prop_map(|id| format!("\"0198c0de-0000-7000-8000-00000000000{id}\"")),
        1 => value(),
    ]
}

fn value() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just(r#""2026-01-05T10:00:01.000Z""#.to_owned()),
        Just(r#""\ud83d\u0000\n""#.to_owned()),
        Just("1e400".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        ".{0,12}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        (0..12u32).prop_map(|id| format!("\"aaaa{id:04}\"")),
    ];
    scalar.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((select(KEYS.to_vec()), inner), 0..4).prop_map(|members| {
                let members: Vec<String> =
                    members.into_iter().map(|(key, value)| format!("{key:?}:{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

const TYPES: &[&str] = &[
    "message",
    "user",
    "assistant",
    "toolResult",
    "system",
    "attachment",
    "progress",
    "label",
    "compaction",
    "branch_summary",
    "custom",
    "leaf",
    "title",
    "session_info",
    "model_change",
    "last-prompt",
    "header",
    "usage",
];

const KEYS: &[&str] = &[
    "type",
    "id",
    "uuid",
    "parentId",
    "parentUuid",
    "parent_id",
    "timestamp",
    "message",
    "role",
    "content",
    "text",
    "thinking",
    "toolCallId",
    "targetId",
    "label",
    "summary",
    "firstKeptEntryId",
    "customType",
    "data",
    "usage",
    "sessionId",
    "isSidechain",
    "leafUuid",
    "version",
    "name",
    "arguments",
    "input",
    "tool_use_id",
    "source",
    "kind",
];
