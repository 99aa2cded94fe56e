//! Tests of the tree, as tables.

use super::*;
use crate::model::{Entry, Flags, Kind, Time};

/// Parses `"a; b<a"`: an entry `a` without a parent, and `b` as its child.
fn entries(text: &str) -> Entries {
    let mut entries = Entries::default();
    entries.begin_file();
    for (line, item) in text.split(';').map(str::trim).filter(|item| !item.is_empty()).enumerate() {
        let (id, parent) = item.split_once('<').unwrap_or((item, ""));
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
    entries
}

fn names(text: &str, ixs: impl Iterator<Item = Ix>) -> String {
    let ids: Vec<&str> = text.split(';').map(|item| item.trim().split('<').next().unwrap()).collect();
    ixs.map(|ix| ids[ix.index()]).collect::<Vec<_>>().join(" ")
}

#[test]
#[rustfmt::skip] // a table
fn a_path_runs_from_a_root_to_its_leaf() {
    let check = |text: &str, leaf: &str, path: &str| {
        let entries = entries(text);
        let tree = Tree::build(&entries, Copies::Last);
        let leaf = entries.all().rfind(|ix| entries.key(*ix) == Key::hash(leaf.as_bytes())).unwrap();
        assert_eq!(names(text, tree.path(leaf).into_iter()), path, "{text}");
    };
    //     entries in file order        leaf  path
    check("a; b<a; c<b",                "c",  "a b c");
    check("a; b<a; c<b; d<a",           "d",  "a d");
    check("a; b<lost; c<b",             "c",  "b c");     // an orphan is a root
    check("c<b; b<a; a",                "c",  "a b c");   // whole file reversed
    check("a; b<a; c<c; d<c",           "d",  "c d");     // its own parent
    check("a<b; b<a; c<b",              "c",  "a b c");   // cut at the link that points forward
    check("a; b<a; c<b; b<a; d<b",      "d",  "a b d");
    check("a; b<lost; lost<a; c<b",     "c",  "a lost b c");
}

#[test]
#[rustfmt::skip] // a table
fn shapes_are_told_from_links() {
    let check = |text: &str, roots: &str, leaves: &str, points: &str| {
        let entries = entries(text);
        let tree = Tree::build(&entries, Copies::Last);
        assert_eq!(names(text, tree.roots()), roots, "roots of {text}");
        assert_eq!(names(text, tree.leaves()), leaves, "leaves of {text}");
        assert_eq!(names(text, tree.branch_points()), points, "branch points of {text}");
    };
    //     entries                    roots   leaves  branch points
    check("",                         "",     "",     "");
    check("a",                        "a",    "a",    "");
    check("a; b<a; c<a",              "a",    "b c",  "a");
    check("a; b<lost; c",             "a b c","a b c","");
    check("a; b<a; c<b; b<a",         "a",    "c",    "");    // the later `b` represents both
    check("a<b; b<c; c<a",            "a",    "b",    "");      // cut at `a`, the first link that points forward
}

#[test]
#[rustfmt::skip] // a table
fn links_that_were_found_otherwise_are_cut_where_they_form_a_ring() {
    let check = |links: &[Option<u32>], apart: &[u32], cycles: &[(u32, u32)], roots: &[u32]| {
        let tree = Tree::of_links(links.iter().map(|link| link.map(Ix)), apart.iter().map(|ix| Ix(*ix)));
        let cut: Vec<(u32, u32)> = tree.cycle_cuts().map(|ix| match tree.link(ix) {
            Parent::Cycle(to) => (ix.0, to.0),
            link => panic!("{link:?}"),
        }).collect();
        assert_eq!(cut, cycles, "{links:?}");
        assert_eq!(tree.roots().map(|ix| ix.0).collect::<Vec<_>>(), roots, "{links:?}");
        for ix in tree.entries_in_tree() {
            assert_eq!(tree.path(ix).last(), Some(&ix));
        }
    };
    //     the entry above each                         apart   links cut        roots
    check(&[None, Some(0), Some(1)],                    &[],    &[],             &[0]);
    check(&[Some(0)],                                   &[],    &[(0, 0)],       &[0]);
    check(&[Some(1), Some(0), Some(1)],                 &[],    &[(0, 1)],       &[0]);
    check(&[Some(2), Some(0), Some(1), Some(2)],        &[],    &[(0, 2)],       &[0]);
    check(&[Some(1), Some(0), Some(3), Some(2), None],  &[],    &[(0, 1), (2, 3)], &[0, 2, 4]);
    // An entry that is not part of the tree has no link that could be in a cycle.
    check(&[None, Some(1), Some(0)],                    &[1],   &[],             &[0]);
}

#[test]
fn the_rule_for_copies_decides_which_links_count() {
    let entries = entries("a; b<a; c<b; b<c");
    let first = Tree::build(&entries, Copies::First);
    let [b, lost] = [Key::hash(b"b"), Key::hash(b"lost")];
    let find = |tree: &Tree, keys: &[Key]| -> Vec<Option<Ix>> {
        let found = tree.find_all(&entries, keys.iter().copied());
        keys.iter().map(|key| found.entry(*key)).collect()
    };
    assert_eq!(find(&first, &[b, lost]), [Some(Ix(1)), None]);
    let last = Tree::build(&entries, Copies::Last);
    assert_eq!(find(&last, &[lost, b, b]), [None, Some(Ix(3)), Some(Ix(3))]);
    assert_eq!(Found::default().entry(b), None);
    assert_eq!(first.path(Ix(2)), [Ix(0), Ix(1), Ix(2)]);
    assert_eq!(first.shadowed().collect::<Vec<_>>(), [Ix(3)]);
    // With the last copy, `b` is a child of `c` and `c` a child of `b`: a cycle.
    let last = Tree::build(&entries, Copies::Last);
    assert_eq!(last.cycle_cuts().len(), 1);
    assert_eq!(last.shadowed().collect::<Vec<_>>(), [Ix(1)]);
}

#[test]
fn a_chain_may_be_as_long_as_the_file() {
    let mut entries = Entries::default();
    entries.begin_file();
    let count = 5_000_000u64;
    for at in 0..count {
        entries.push(&Entry {
            offset: at,
            len: 1,
            line: at + 1,
            key: Key(at + 1),
            start: None,
            parent: Key(at),
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
    let leaf = Ix(count as u32 - 1);
    assert_eq!(tree.leaves().collect::<Vec<_>>(), [leaf]);
    assert_eq!(tree.ancestors(leaf).count() as u64, count);
    assert_eq!(tree.subtree(Ix(0)).len() as u64, count);
    assert_eq!(tree.depths()[leaf.index()] as u64, count);
}
