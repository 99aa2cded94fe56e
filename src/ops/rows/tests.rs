//! Tests of rows, folds and searches, as tables.

use super::*;
use crate::format::Session;
use crate::json::Prefilter;
use crate::model::{Source, Span, Table};
use crate::ops::branches::tests::session;
use std::io;
use std::ops::Range;

/// Returns the rows of `"a; b<a; c<b"` with the agent's leaf; a name beginning with a dot is
/// hidden.
fn rows(text: &str) -> (Vec<String>, Session, Rows) {
    let (names, session) = session(text);
    let order = Order::new(&session, session.head.leaf);
    let rows = Rows::new(&session.tree, &order, |ix| !names[ix.index()].starts_with('.'));
    (names, session, rows)
}

/// Draws the visible rows: their depths as bars, `+` and `` ` `` where branches begin, `*` on the
/// path.
fn drawn(names: &[String], rows: &Rows, folds: &Folds) -> String {
    let row = |index| {
        let row = folds.row(index);
        assert_eq!(folds.index(row), index);
        let followed = rows.followed(row, 0);
        assert_eq!(followed.len(), rows.depth(row));
        let bars: String = followed.iter().map(|followed| if *followed { '|' } else { '.' }).collect();
        let begins = if rows.begins_branch(row) { "-" } else { "" };
        let star = if rows.is_on_path(row) { "*" } else { "" };
        format!("{bars}{begins}{}{star}", names[rows.entry(row).index()])
    };
    (0..folds.visible(rows)).map(row).collect::<Vec<_>>().join(" ")
}

#[test]
#[rustfmt::skip] // a table
fn the_branch_with_the_leaf_comes_first() {
    let check = |text: &str, wanted: &str| {
        let (names, _, rows) = rows(text);
        assert_eq!(drawn(&names, &rows, &Folds::default()), wanted, "{text}");
    };
    //     entries in file order             rows
    check("a; b<a; c<b",                     "a* b* c*");
    check("a; b<a; c<b; d<a; e<d",           "a* |-d* |e* .-b .c");
    check("a; b<a; c<a; d<b; e<b; f<c",      "a* |-c* |f* .-b .|-d ..-e");
    check("a; b<a; .l<a",                    "a* b");
    check("a; .x<a; b<.x; c<.x",             "a* |-c* .-b");         // the parent of `c` is hidden
    check("a; .x<a; b<.x; c<a; d<.x",        "a* |-d* |-b .-c");     // `x` has the leaf below it, so its other child is before `c`
    check("a; b; c<a",                       "a* c* b");
    check("b<a; c<b",                        "b* c*");
    check("a; b<a; c; d<c; e",               "e* a b c d");
    check(".a; b<.a; c<.a",                  "c* b");                // two roots are shown
    check(".a",                              "");
}

#[test]
#[rustfmt::skip] // a table
fn a_folded_row_hides_its_descendants() {
    let check = |text: &str, folded: &str, wanted: &str| {
        let (names, _, rows) = rows(text);
        let mut folds = Folds::default();
        for name in folded.split_whitespace() {
            let row = (0..rows.len()).find(|row| names[rows.entry(*row).index()] == name).unwrap();
            folds.toggle(&rows, row);
        }
        assert_eq!(drawn(&names, &rows, &folds), wanted, "{text}, folded: {folded}");
        for row in 0..rows.len() {
            let index = folds.index(row);
            assert!(folds.row(index) <= row && index < folds.visible(&rows), "{text}: {row}");
        }
    };
    const TREE: &str = "a; b<a; c<b; d<a; e<d; f<d; g<f; h<a";
    //     tree  folded   rows
    check(TREE, "",       "a* |-h* |-b |c .-d .|-e ..-f ..g");
    check(TREE, "b",      "a* |-h* |-b .-d .|-e ..-f ..g");
    check(TREE, "d",      "a* |-h* |-b |c .-d");
    check(TREE, "b d",    "a* |-h* |-b .-d");
    check(TREE, "f d",    "a* |-h* |-b |c .-d");
    check(TREE, "f d d",  "a* |-h* |-b |c .-d .|-e ..-f");   // the inner fold stays
    check(TREE, "a",      "a*");
    check(TREE, "a b a",  "a* |-h* |-b .-d .|-e ..-f ..g");
    check(TREE, "h",      "a* |-h* |-b |c .-d .|-e ..-f ..g"); // nothing is below
    check(TREE, "c",      "a* |-h* |-b |c .-d .|-e ..-f ..g"); // in the middle of a chain
}

#[test]
#[rustfmt::skip] // a table
fn all_branches_are_folded() {
    let check = |text: &str, wanted: &str| {
        let (names, _, rows) = rows(text);
        let mut folds = Folds::default();
        folds.fold_all(&rows);
        assert_eq!(drawn(&names, &rows, &folds), wanted, "{text}");
    };
    check("a; b<a; c<b; d<a; e<d; f<d; g<f; h<a", "a* |-h* |-b .-d");
    check("a; b<a; c; d<c; e",                    "e* a c");          // several roots
    check("a; b<a; c<b",                          "a* b* c*");
    check("",                                     "");
}

#[test]
fn a_hidden_row_is_revealed() {
    let (_, _, rows) = rows("a; b<a; c<b; d<a; e<d; f<d; g<f; h<a");
    let mut folds = Folds::default();
    for row in [0, 2, 4, 6] {
        assert!(folds.toggle(&rows, row), "{row}");
    }
    folds.reveal(&rows, 5);
    assert_eq!(folds.all().collect::<Vec<_>>(), [2, 6]);
    folds.clear();
    assert_eq!(folds.visible(&rows), 8);
}

#[test]
#[rustfmt::skip] // a table
fn branches_are_gone_along() {
    let check = |from: usize, start_above, start_below, point_before, point_after| {
        let (_, _, rows) = rows("a; b<a; c<b; d<a; e<d; f<d; g<f; h<a");
        assert_eq!(rows.branch_start_above(from), start_above, "{from}");
        assert_eq!(rows.branch_start_below(from), start_below, "{from}");
        assert_eq!(rows.branch_point_before(from), point_before, "{from}");
        assert_eq!(rows.branch_point_after(from), point_after, "{from}");
    };
    //    from   branch start above, below   branch point before, after
    check(0,     0, 1,                       None, Some(4));
    check(1,     0, 1,                       Some(0), Some(4));
    check(3,     2, 3,                       Some(0), Some(4));
    check(4,     0, 5,                       Some(0), None);
    check(6,     4, 7,                       Some(4), None);
    check(7,     6, 7,                       Some(4), None);
}

/// Rows to which entries are added are those that are made anew.
#[test]
fn rows_grow() {
    let mut seed = 11u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    let drawn = |rows: &Rows| {
        let chains: Vec<String> = rows.chains.iter().map(|chain| format!("{chain:?}")).collect();
        format!("{:?} {:?} {chains:?} {:?} {}", rows.entries, rows.chain, rows.row, rows.on_path)
    };
    let (mut grown, mut anew) = (0, 0);
    for _ in 0..3000 {
        // A tree whose last entry is the leaf, and a chain below it.
        let (count, added) = (1 + random(9), random(4));
        let mut text = String::from("e0");
        let mut hidden: Vec<bool> = (0..count + added).map(|_| random(3) == 0).collect();
        for at in 1..count + added {
            let parent = if at >= count { at - 1 } else { random(at + 1) };
            text += &format!("; e{at}");
            // One in some is a root.
            if parent < at {
                text += &format!("<e{parent}");
            }
        }
        let (_, whole) = session(&text);
        let before: Vec<&str> = text.split("; ").take(count).collect();
        let (_, first) = session(&before.join("; "));
        let leaf = |count: usize| Ix(count as u32 - 1);
        let mut order = Order::new(&first, Some(leaf(count)));
        let mut rows = Rows::new(&first.tree, &order, |ix| !hidden[ix.index()]);
        order.grow(added);
        let wanted_order = Order::new(&whole, Some(leaf(count + added)));
        assert_eq!(
            (&order.entries, order.count, order.on_path),
            (&wanted_order.entries, wanted_order.count, wanted_order.on_path),
            "{text}"
        );
        // What was shown only as the leaf is not shown any more.
        hidden[count - 1] |= random(2) == 0;
        let (shown, was) = (|ix: Ix| !hidden[ix.index()], drawn(&rows));
        let is_grown = rows.grow(leaf(count), added, shown);
        if is_grown {
            let wanted = drawn(&Rows::new(&whole.tree, &wanted_order, shown));
            assert_eq!(drawn(&rows), wanted, "{text}, hidden: {hidden:?}");
            grown += 1;
        } else {
            assert_eq!(drawn(&rows), was, "{text}, hidden: {hidden:?}");
            anew += 1;
        }
    }
    assert!(grown > 1000 && anew > 100, "{grown} grown, {anew} anew");
}

#[test]
fn a_long_chain_costs_no_stack() {
    let mut file = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n".to_owned();
    for at in 0..200_000u32 {
        let parent = at.checked_sub(1).map_or("null".into(), |parent| format!("\"{parent:08x}\""));
        file += &format!("{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":{parent}}}\n");
    }
    let session = Session::read(file.as_bytes()).unwrap();
    let rows = Rows::new(&session.tree, &Order::new(&session, session.head.leaf), |_| true);
    assert_eq!((rows.len(), rows.depth(199_999), rows.start(None)), (200_000, 0, 199_999));
}

#[test]
#[rustfmt::skip] // a table
fn all_words_must_be_found() {
    let line = |text: &str| format!(
        "{{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{{\"role\":\"assistant\",\"content\":\"{text}\"}}}}"
    );
    let check = |typed: &str, text: &str, wanted: bool| {
        let line = line(text);
        let file = format!("{}\n{line}\n{}\n",
            r#"{"type":"session","version":3,"id":"s"}"#,
            r#"{"type":"label","id":"l","parentId":"a","targetId":"a","label":"Keep"}"#);
        let session = Session::read(file.as_bytes()).unwrap();
        let search = Search::parse(typed).unwrap();
        assert_eq!(search.finds(&session, Ix(0), line.as_bytes()), wanted, "{typed:?} in {text:?}");
        let source = Table(vec![file.into_bytes()]);
        for down in [true, false] {
            let scanned = Scanned { session: &session, source: &source, ahead: &not_ahead, down };
            let found = Scan::new(Search::parse(typed).unwrap()).finds(scanned, Ix(0)).unwrap();
            assert_eq!(found, wanted, "{typed:?} in {text:?}, down: {down}");
        }
    };
    check("fox",              "The quick Fox",  true);
    check("FOX quick",        "The quick Fox",  true);
    check("fox slow",         "The quick Fox",  false);
    check("keep fox",         "The quick Fox",  true);    // one is in the label
    check("assistant",        "The quick Fox",  true);    // the kind
    check("parentId",         "The quick Fox",  false);   // a key is not text
    check("re:qu.ck",         "The quick Fox",  true);
    check("re:fox",           "The quick Fox",  true);
    check("re:FOX",           "The quick Fox",  false);
    check("a.b",              "axb",            false);   // a word is not an expression
    check("\u{e4}pfel",       "\u{c4}PFEL",     true);
    check("",                 "The quick Fox",  false);
    assert!(Search::parse("re:(").is_err());
}

/// A search ahead that is not there.
fn not_ahead(_: Range<u64>, _: &Prefilter) -> io::Result<(Range<u64>, Vec<Range<u64>>)> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Blocks that lack a word are passed over; what is found is the same, in each order of the entries.
#[test]
fn a_scan_in_blocks_finds_what_each_line_has() {
    let count = 3000_u32;
    let mut file = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    for at in 0..count {
        let word = if at % 700 == 69 { "needle" } else { "straw" };
        let (size, role) = (at * 7919 % 400, if at % 1100 == 500 { "assistant" } else { "user" });
        file += &format!(
            "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":null,\"message\":{{\"role\":\"{role}\",\"content\":\"{} {word}\"}}}}\n",
            "x".repeat(size as usize)
        );
    }
    for at in [5, 1500] {
        file += &format!(
            "{{\"type\":\"label\",\"id\":\"l{at}\",\"parentId\":null,\"targetId\":\"{at:08x}\",\"label\":\"needle\"}}\n"
        );
    }
    let session = Session::read(file.as_bytes()).unwrap();
    let source = Table(vec![file.into_bytes()]);
    let forward: Vec<Ix> = (0..count).map(Ix).collect();
    let backward: Vec<Ix> = forward.iter().rev().copied().collect();
    let scattered: Vec<Ix> = (0..count).map(|at| Ix(at * 1609 % count)).collect();
    for typed in ["needle", "re:ne+dle", "assistant", "needle straw", "user needle", "absent"] {
        let wanted: Vec<Ix> = forward
            .iter()
            .copied()
            .filter(|ix| {
                let line = source.bytes(session.span(*ix)).unwrap();
                Search::parse(typed).unwrap().finds(&session, *ix, &line)
            })
            .collect();
        assert_eq!(wanted.is_empty(), typed == "absent", "{typed}");
        for (order, down) in [(&forward, true), (&backward, false), (&scattered, true), (&scattered, false)] {
            let mut scan = Scan::new(Search::parse(typed).unwrap());
            let scanned = Scanned { session: &session, source: &source, ahead: &not_ahead, down };
            let mut found: Vec<Ix> =
                order.iter().copied().filter(|ix| scan.finds(scanned, *ix).unwrap()).collect();
            found.sort();
            assert_eq!(found, wanted, "{typed}, down: {down}");
        }
    }
}

/// A source that counts what is read.
struct Counted {
    source: Table,
    bytes: std::cell::Cell<u64>,
    reads: std::cell::Cell<u64>,
}

impl Source for Counted {
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        self.bytes.set(self.bytes.get() + span.len);
        self.reads.set(self.reads.get() + 1);
        self.source.read(span, into)
    }
}

/// The rows of two branches whose entries take turns in the file come one branch after the other.
#[test]
fn a_scan_reads_what_lacks_a_word_once() {
    let mut file = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    let count = 4000_u32;
    for at in 0..count {
        // The first and the last lines, with which a search begins, are longer than a first block.
        let is_long = !(10..count - 10).contains(&at);
        let text = "x".repeat(if is_long { 50_000 } else { 1000 });
        file += &format!(
            "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":null,\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        );
    }
    let session = Session::read(file.as_bytes()).unwrap();
    let len = file.len() as u64;
    let source = Counted { source: Table(vec![file.into_bytes()]), bytes: 0.into(), reads: 0.into() };
    let branches: Vec<Ix> = (0..count).step_by(2).chain((1..count).step_by(2)).map(Ix).collect();
    let backward: Vec<Ix> = branches.iter().rev().copied().collect();
    for (order, down) in [(branches, true), (backward, false)] {
        let mut scan = Scan::new(Search::parse("needle").unwrap());
        let scanned = Scanned { session: &session, source: &source, ahead: &not_ahead, down };
        source.bytes.set(0);
        source.reads.set(0);
        for ix in order {
            assert!(!scan.finds(scanned, ix).unwrap());
        }
        let (bytes, reads) = (source.bytes.get(), source.reads.get());
        assert!(bytes < len * 3 / 2, "{bytes} of {len} bytes, down: {down}");
        assert!(reads < 40, "{reads} reads of {len} bytes, down: {down}");
    }
}

/// A rare word is searched ahead: what is found is the same, and little is read beside it.
#[test]
fn a_rare_word_is_searched_ahead() {
    let mut file = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    let count = 2400_u32;
    let text = "x".repeat(10_000);
    for at in 0..count {
        let word = match at {
            3 | 900 | 1777 | 2396 => "needle",
            1300..1400 => "pin",
            _ => "straw",
        };
        file += &format!(
            "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":null,\"message\":{{\"role\":\"user\",\"content\":\"{text} {word}\"}}}}\n"
        );
    }
    file += "{\"type\":\"label\",\"id\":\"l\",\"parentId\":null,\"targetId\":\"000007d0\",\"label\":\"needle\"}\n";
    let session = Session::read(file.as_bytes()).unwrap();
    let (bytes, len) = (file.clone().into_bytes(), file.len() as u64);
    let source = Counted { source: Table(vec![file.into_bytes()]), bytes: 0.into(), reads: 0.into() };
    let asked = std::cell::RefCell::new(Vec::new());
    // The lines that begin in the part, each to its end.
    let ahead = |part: Range<u64>, prefilter: &Prefilter| {
        asked.borrow_mut().push(part.clone());
        let mut lines = Vec::new();
        let (mut at, mut searched) = (0, part.end..part.end);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if part.contains(&at) {
                searched = searched.start.min(at)..at + line.len() as u64;
                if prefilter.find(line, 0).is_some() {
                    lines.push(at..at + line.len() as u64 - 1);
                }
            }
            at += line.len() as u64;
        }
        Ok((searched, lines))
    };
    let forward: Vec<Ix> = (0..count).map(Ix).collect();
    let branches: Vec<Ix> = (0..count).step_by(2).chain((1..count).step_by(2)).map(Ix).collect();
    let needles = [3, 900, 1777, 2000, 2396].map(Ix).to_vec();
    let pins = (1300..1400).map(Ix).collect();
    for (typed, wanted) in
        [("needle", needles), ("pin", pins), ("straw", Vec::new()), ("x absent", Vec::new())]
    {
        for (order, down) in [(&forward, true), (&forward, false), (&branches, true), (&branches, false)] {
            let mut order = order.clone();
            if !down {
                order.reverse();
            }
            for fails in [false, true] {
                let ahead: &super::search::Ahead = if fails { &not_ahead } else { &ahead };
                let mut scan = Scan::new(Search::parse(typed).unwrap());
                let scanned = Scanned { session: &session, source: &source, ahead, down };
                source.bytes.set(0);
                asked.borrow_mut().clear();
                let mut found: Vec<Ix> =
                    order.iter().copied().filter(|ix| scan.finds(scanned, *ix).unwrap()).collect();
                found.sort();
                let (read, asked) = (source.bytes.get(), asked.borrow());
                let told = format!("{typed}, down: {down}, fails: {fails}: {read} of {len} bytes, {asked:?}");
                if typed == "straw" {
                    assert!(asked.is_empty() && found.len() == 2296, "{told}");
                    continue;
                }
                assert_eq!(found, wanted, "{told}");
                if !fails {
                    assert!(read < len / 2, "{told}");
                    let all: u64 = asked.iter().map(|part| part.end - part.start).sum();
                    assert!(read + all < len * 6 / 5, "{told}");
                }
            }
        }
    }
}
