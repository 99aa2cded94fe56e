//! Tests of the forest of visible entries, and the sessions that other tests draw.

use super::*;
use crate::model::{Copies, Entries, Entry, Flags, Key, Kind, Time};

/// Parses `"a; b<a; c<b"`: entries with their parents, in file order; names beginning with `.`
/// are hidden.
pub(in crate::ops) fn session(text: &str) -> (Vec<String>, Entries, Tree) {
    let (mut names, mut entries) = (Vec::new(), Entries::default());
    entries.begin_file();
    for (line, item) in text.split(';').map(str::trim).filter(|item| !item.is_empty()).enumerate() {
        let (id, parent) = item.split_once('<').unwrap_or((item, ""));
        names.push(id.to_owned());
        entries.push(&Entry {
            offset: line as u64,
            len: 1,
            line: line as u64 + 1,
            key: Key::hash(id.as_bytes()),
            start: None,
            parent: if parent.is_empty() { Key::NONE } else { Key::hash(parent.as_bytes()) },
            follows: false,
            time: Time::NONE,
            kind: Kind::User,
            ty: b"message",
            flags: Flags::default(),
            session: b"",
            group: Key::NONE,
        });
    }
    let tree = Tree::build(&entries, Copies::Last);
    (names, entries, tree)
}

#[test]
#[rustfmt::skip] // a table
fn hidden_entries_are_looked_through() {
    let check = |text: &str, wanted: &str| {
        let (names, entries, tree) = session(text);
        let forest = Forest::new(&tree, entries.len(), |ix| !names[ix.index()].starts_with('.'));
        let got: Vec<String> = forest
            .children_first()
            .map(|ix| match forest.parent(ix) {
                Some(parent) => format!("{}<{}", names[ix.index()], names[parent.index()]),
                None => names[ix.index()].clone(),
            })
            .collect();
        assert_eq!(got.join(" "), wanted, "{text}");
    };
    //     entries in file order            shown, each before its parent
    check("",                               "");
    check("a; b<a; c<b",                    "c<b b<a a");
    check("a; .b<a; c<.b",                  "c<a a");
    check(".a; b<.a; c<.a",                 "c b");
    check("a; .b<a; .c<.b",                 "a");
    check("c<b; b<a; a",                    "c<b b<a a");
    check("c<.b; .b<a; d<a; a",             "d<a c<a a");
    check("a; b<lost; c<b",                 "c<b b a");
    check("a; b<a; c<b; b<a; d<b",          "d<b c<b b<a a");   // the later `b` represents both
}
