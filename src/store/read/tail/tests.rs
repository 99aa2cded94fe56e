//! Tests of reading the end of a file.

use super::*;
use std::fmt::Write as _;
use std::os::unix::fs::FileExt;

/// Builds a session: `"a; b<a"` is an entry `a` without a parent, and `b` as its child; text
/// after `!` is inserted as it is.
fn pi(items: &str) -> String {
    let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/\"}\n".to_owned();
    for item in items.split(';').map(str::trim).filter(|item| !item.is_empty()) {
        let (id, parent) = item.split_once('<').unwrap_or((item, ""));
        let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
        let _ = match (item.strip_prefix('!'), id.split_once('@')) {
            (Some(line), _) => writeln!(text, "{line}"),
            (None, Some((id, target))) => writeln!(
                text,
                r#"{{"type":"label","id":"{id}","parentId":{parent},"targetId":"{target}","label":"L{target}"}}"#
            ),
            (None, None) => writeln!(text, r#"{{"type":"message","id":"{id}","parentId":{parent}}}"#),
        };
    }
    text
}

fn part(text: &str, part: &TailRequest<'_>) -> Option<Opened> {
    let file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    try_part(file.path(), Options::default(), part, Sizes { tail: 100, file: 0 }).unwrap()
}

fn names(opened: &Opened, count: usize) -> String {
    let session = &opened.session;
    let key = |id: &str| Key::hash(id.as_bytes());
    let ids: Vec<String> = (0..300).map(|at| format!("e{at}")).collect();
    let name = |ix| ids.iter().find(|id| key(id) == session.entries.key(ix)).cloned().unwrap_or("?".into());
    let path: Vec<String> =
        session.tree.ancestors(session.head.leaf.unwrap()).take(count).map(name).collect();
    path.join(" ")
}

fn chain(from: usize, to: usize) -> String {
    (from..to).fold(String::new(), |mut text, at| {
        let _ = match at {
            0 => write!(text, "e0;"),
            _ => write!(text, "e{at}<e{};", at - 1),
        };
        text
    })
}

#[test]
    #[rustfmt::skip] // a table
    fn the_end_of_a_path_is_read_from_the_end_of_the_file() {
        let check = |items: &str, wanted: Option<&str>| {
            let enough = |session: &Session| session.knows_path(4, |_| true);
            let opened = part(&pi(items), &TailRequest { enough: &enough, ..TailRequest::default() });
            assert_eq!(opened.as_ref().map(|opened| names(opened, 4)).as_deref(), wanted, "{items}");
            if let Some(opened) = opened {
                assert!(opened.session.partial);
                assert_eq!(opened.session.header.and_then(|header| header.id).as_deref(), Some("s"));
                // The part must agree with the whole.
                let whole = Session::read(pi(items).as_bytes()).unwrap();
                assert_eq!(opened.session.head.leaf.map(|ix| opened.session.entries.key(ix)),
                           whole.head.leaf.map(|ix| whole.entries.key(ix)));
            }
        };
        let long = chain(0, 100);
        check(&long,                                        Some("e99 e98 e97 e96"));
        check(&format!("{long} e200<e10"),                  None);              // its parent is far before
        check(&format!("{long} e200; e201<e200"),           Some("e201 e200"));   // a path that is short and complete
        check(&format!("{long} e200<e99; e99<e97"),         Some("e99 e97 e96 e95")); // the last copy counts
        check(&format!("{long} !{{\"torn\":"),              None);
        check(&format!("{long} !{{\"type\":\"message\"}}"), None);              // without an id the agent starts anew
        check(&format!("{long} !{{\"type\":\"leaf\",\"id\":\"l\",\"parentId\":\"e99\",\"targetId\":\"e3\"}}"), None);
        check(&format!("{long} e200<e201; e201<e200"),      None);              // a cycle
        check(&format!("{long} e200<e202; e201<e99; e202<e201"), Some("e202 e201 e99 e98"));
        check("e0; e1<e0",                                  None);              // small enough to be read as a whole
    }

#[test]
fn entries_and_labels_are_found_by_their_bytes() {
    let items = format!("{} e200@e3<e9; e201@e5<e200; {}", chain(0, 10), chain(10, 100));
    let find = |text: &str, ids: &[&str], absent: &[&str]| -> Option<String> {
        let opened = part(text, &TailRequest { ids, absent, ..TailRequest::default() })?;
        let session = &opened.session;
        let ids = ids.iter().filter(|id| session.find(Key::hash(id.as_bytes())).is_some()).count();
        Some(format!(
            "{ids} {}",
            session.labels.lines.iter().map(|line| line.text).collect::<Vec<_>>().join(" ")
        ))
    };
    let text = pi(&items);
    assert_eq!(find(&text, &["e4"], &[]).as_deref(), Some("1 "));
    assert_eq!(find(&text, &["e4", "e98"], &[]).as_deref(), Some("2 "));
    assert_eq!(find(&text, &["e3"], &[]).as_deref(), Some("1 Le3"));
    assert_eq!(find(&text, &["e3", "e5"], &["new"]).as_deref(), Some("2 Le3 Le5"));
    assert_eq!(find(&text, &["e4"], &["Le5"]), None);
    assert_eq!(find(&pi(&format!("{items} e202@e7<e99")), &["e4"], &["Le7"]), None);
    assert_eq!(find(&text, &["lost"], &["new"]), None);
    // Named as a parent but not an entry; spelled with an escape.
    assert_eq!(find(&text.replace("\"id\":\"e4\"", "\"id\":\"f4\""), &["e4"], &[]), None);
    assert_eq!(find(&text.replace("\"e4\"", "\"\\u00654\""), &["e4"], &[]), None);
}

#[test]
    #[rustfmt::skip] // a table
    fn a_fresh_id_is_none_that_is_there() {
        let check = |id: &str, free: bool| {
            let fresh = |_| vec![id.to_owned()];
            assert_eq!(part(&pi(&chain(0, 100)), &TailRequest { fresh: &fresh, ..TailRequest::default() }).is_some(), free, "{id}");
        };
        check("e100", true);
        check("e99",  false);
        check("e3",   false);
    }

#[test]
fn lines_are_found_over_the_borders_of_blocks() {
    let file = tempfile::tempfile().unwrap();
    let filler = "x".repeat(1000);
    let mut text = String::new();
    let mut wanted = Vec::new();
    for at in 0..2000 {
        if at % 7 == 0 {
            wanted.push(text.len() as u64);
        }
        let _ = writeln!(text, "{filler}{}", if at % 7 == 0 { "needle\"" } else { "needle" });
    }
    file.write_all_at(text.as_bytes(), 0).unwrap();
    let found = lines_with(&file, text.len() as u64, &["needle", "never"], &[]).unwrap().unwrap();
    let is_wanted = |line: &u64| wanted.contains(line);
    assert!(wanted.iter().all(|line| found.contains(line)));
    // A few additional lines are allowed, at block boundaries.
    assert!(found.iter().filter(|line| !is_wanted(line)).count() <= text.len() / (256 << 10) + 1);
    let short = lines_with(&file, wanted[3], &["needle"], &[]).unwrap().unwrap();
    assert_eq!(short, wanted[..3]);
}
