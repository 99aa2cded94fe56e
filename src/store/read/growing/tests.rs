//! Tests of reading a file that grows.

use super::*;
use crate::format::Session;
use std::io::Write;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/p"}"#;

fn pi(at: u32) -> String {
    let parent = if at == 0 { "null".into() } else { format!("\"{:08}\"", at - 1) };
    format!(
        r#"{{"type":"message","id":"{at:08}","parentId":{parent},"message":{{"role":"user","content":"{at}"}}}}"#
    )
}

fn claude(at: u32) -> String {
    let parent = if at == 0 { "null".into() } else { format!("\"u{}\"", at - 1) };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"sessionId":"s","type":"user","message":{{"role":"user","content":"{at}"}},"uuid":"u{at}"}}"#
    )
}

/// All of a session, except that how many entries were expected depends on the length at first.
fn shown(session: &Session) -> Vec<String> {
    let text = format!("{session:#?}");
    text.lines().filter(|line| !line.contains(" expected: ")).map(str::to_owned).collect()
}

/// Reads the session, and compares it with one that is read as a whole.
fn check(growing: &mut Growing, what: &str) {
    let now = growing.read().unwrap();
    let whole = open(&growing.path, growing.options).unwrap();
    assert_eq!(shown(&now.session), shown(&whole.session), "{what}");
    assert_eq!(now.files.stamp(0), whole.files.stamp(0), "{what}");
}

#[test]
fn what_is_appended_gives_the_session_of_a_whole_reading() {
    for (first, line) in [(HEADER.to_owned(), pi as fn(u32) -> String), (claude(0), claude)] {
        let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
        let path = file.path().to_owned();
        let from = u32::from(first == claude(0));
        let lines: Vec<String> = (from..100).map(line).collect();
        write!(file, "{first}\n{}\n", lines.join("\n")).unwrap();
        let mut growing = Growing::new(&path, Options::default());
        check(&mut growing, "at first");
        // Pieces of lines, broken lines, other endings, and objects over several lines.
        let next = line(100);
        let (begin, rest) = next.split_at(30);
        let pieces = [
            begin,
            rest,
            "\r\n",
            "\n\n{\"torn\":",
            "\nx\n",
            "{\n",
            "\"type\": \"custom\",\n\"id\": \"c1\"",
            ", \"parentId\": null\n}\n",
            &format!("{}\n{}\n", line(101), line(102)),
            "",
            &format!("{}\n", line(3)),
        ];
        for piece in pieces {
            write!(file, "{piece}").unwrap();
            check(&mut growing, piece);
        }
    }
}

/// Reads what came, and compares the session that it is added to with one that is read as a whole. Returns whether
/// anything was added.
fn check_more(growing: &mut Growing, known: &mut Option<Opened>, what: &str) -> bool {
    let is_grown = match growing.read_more().unwrap() {
        Reading::Whole(opened) => {
            *known = Some(*opened);
            false
        }
        Reading::Grown(grown) => {
            let from = known.as_mut().unwrap().grow(*grown);
            assert!(from.is_some(), "{what} does not fit");
            true
        }
    };
    let (now, whole) = (known.as_ref().unwrap(), open(&growing.path, growing.options).unwrap());
    assert_eq!(shown(&now.session), shown(&whole.session), "{what}");
    assert_eq!(now.files.stamp(0), whole.files.stamp(0), "{what}");
    is_grown
}

#[test]
#[rustfmt::skip] // a table
fn turns_at_the_end_are_added_to_the_session() {
    let entry = |id: &str, parent: &str, rest: &str| {
        format!("{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},{rest}}}\n")
    };
    let turn = |id: &str, parent: &str| {
        entry(id, &format!("\"{parent}\""), "\"message\":{\"role\":\"assistant\",\"content\":\"so\"}")
    };
    let last = "00000199";
    let long = "a-long-id-of-an-entry";
    let label = format!("{{\"type\":\"label\",\"id\":\"aaaa0001\",\"parentId\":\"{last}\",\"targetId\":\"bbbb0001\",\"label\":\"x\"}}\n");
    let name = format!("{{\"type\":\"session_info\",\"id\":\"aaaa0001\",\"parentId\":\"{last}\",\"name\":\"x\"}}\n");
    let check = |appended: &[&str], wanted: &str| {
        let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
        let lines: Vec<String> = (0..200).map(pi).collect();
        write!(file, "{HEADER}\n{}\n", lines.join("\n")).unwrap();
        let (mut growing, mut known) = (Growing::new(file.path(), Options::default()), None);
        assert!(!check_more(&mut growing, &mut known, "at first"));
        let mut how = String::new();
        for piece in appended {
            write!(file, "{piece}").unwrap();
            how.push(if check_more(&mut growing, &mut known, piece) { '+' } else { 'w' });
        }
        assert_eq!(how, wanted, "{appended:?}");
    };
    let (next, after) = (turn("bbbb0001", last), turn("bbbb0002", "bbbb0001"));
    // `+` where it is added, `w` where the session is given as a whole
    check(&[&next, &after],                                     "++");
    check(&[&format!("{next}{after}"), ""],                     "++");
    check(&[&turn(long, last), &turn("bbbb0002", long)],        "++");
    check(&[&next.replace('\n', "\r\n"), &after],            "++");
    check(&[&next.replace("content", "usage\":{\"input\":1},\"content"), &after], "++");
    // A line that is not whole, and the rest of it
    check(&[&next[..30], &next[30..], &after],                  "ww+");
    check(&[next.trim_end(), "\n", &after],                    "ww+");
    // Another branch, a root, an entry without a parent
    check(&[&turn("bbbb0001", "00000003"), &after],             "w+");
    check(&[&entry("bbbb0001", "null", "\"message\":{\"role\":\"user\",\"content\":\"so\"}"), &after], "w+");
    check(&[&turn("bbbb0001", "lost"), &after],                 "w+");
    // An id that was there
    check(&[&turn("00000003", last), &turn("bbbb0002", "00000003")],   "w+");
    check(&[&next, &turn("bbbb0001", "bbbb0001")],              "+w");
    check(&[&format!("{next}{}", turn("bbbb0001", "bbbb0001"))], "w");
    // The parent of an entry that came before it, and the target of a label
    check(&[&turn("cccc0001", "bbbb0001"), &turn("bbbb0001", "cccc0001")], "ww");
    check(&[&label, &turn("bbbb0001", "aaaa0001")],             "ww");
    // Other lines
    check(&[&label, &turn("bbbb0003", "aaaa0001")],             "w+");
    check(&[&name, &turn("bbbb0001", "aaaa0001"), &after],      "w++");
    check(&["\n", &next],                                      "w+");
    check(&["x\n", &next],                                     "w+");
    check(&["{\"type\":\"custom\",\"id\":\"aaaa0001\",\"parentId\":\"00000199\",\"customType\":\"bough.switch\",\"data\":{\"to\":\"00000003\"}}\n", &turn("bbbb0001", "aaaa0001")], "w+");
}

#[test]
fn only_what_was_appended_is_parsed_again() {
    let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
    let lines: Vec<String> = (0..200).map(pi).collect();
    write!(file, "{HEADER}\n{}\n", lines.join("\n")).unwrap();
    let mut growing = Growing::new(file.path(), Options::default());
    let at = |growing: &Growing| growing.read.as_ref().map(|so_far| (so_far.at, so_far.lines));
    growing.read().unwrap();
    let len = file.as_file().metadata().unwrap().len();
    assert_eq!(at(&growing), Some((len, 201)));
    // The next reading begins there, as the line that a part of it would have changed shows.
    write!(file, "{}", pi(200)).unwrap();
    growing.read().unwrap();
    assert_eq!(at(&growing), Some((len, 201)));
    writeln!(file).unwrap();
    assert_eq!(growing.read().unwrap().session.entries.len(), 201);
    assert_eq!(at(&growing), Some((len + pi(200).len() as u64 + 1, 202)));
    // A reading as a whole keeps nothing.
    assert_eq!(growing.read_whole().unwrap().session.entries.len(), 201);
    assert_eq!(at(&growing), None);
}

#[test]
fn a_file_that_was_cut_or_replaced_is_read_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let text = |from: u32, to: u32| {
        let lines: Vec<String> = (from..to).map(pi).collect();
        format!("{HEADER}\n{}\n", lines.join("\n"))
    };
    std::fs::write(&path, text(0, 200)).unwrap();
    let mut growing = Growing::new(&path, Options::default());
    check(&mut growing, "at first");
    // Cut, and then longer than before with other bytes.
    std::fs::write(&path, text(0, 150)).unwrap();
    check(&mut growing, "cut");
    std::fs::write(&path, text(7, 300)).unwrap();
    check(&mut growing, "written anew");
    // Another file with more lines.
    let other = folder.path().join("other");
    std::fs::write(&other, text(0, 400)).unwrap();
    std::fs::rename(&other, &path).unwrap();
    check(&mut growing, "replaced");
    std::fs::write(&path, text(0, 2)).unwrap();
    check(&mut growing, "small");
    std::fs::write(&path, text(0, 200)).unwrap();
    check(&mut growing, "large again");
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(growing.read(), Err(Error::NotFound { .. })));
}
