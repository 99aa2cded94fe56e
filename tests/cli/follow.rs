//! `log --follow` continues as the session grows, and reads no line before it is complete.

use crate::support::files::{copy, project};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn log_follows_a_growing_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("parser.jsonl");
    copy(&project().join("examples/sessions/parser.jsonl"), &path);
    follows(&path, ["f6b1835c", "9d1c40aa"]);
}

#[test]
fn log_follows_a_session_that_is_read_from_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.jsonl");
    let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/\"}\n".to_owned();
    let mut parent = "null".to_owned();
    for at in 0..2000 {
        let content = "x".repeat(500);
        text += &format!(
            "{{\"type\":\"message\",\"id\":\"{at:08}\",\"parentId\":{parent},\"message\":{{\"role\":\"user\",\"content\":\"{content}\"}}}}\n"
        );
        parent = format!("\"{at:08}\"");
    }
    std::fs::write(&path, text).unwrap();
    follows(&path, ["00001998", "00001999"]);
}

#[test]
fn log_ends_when_nobody_reads_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("parser.jsonl");
    copy(&project().join("examples/sessions/parser.jsonl"), &path);
    let mut bough = Command::new(env!("CARGO_BIN_EXE_bough"))
        .args(["log", "--follow", "--oneline"])
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(bough.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("1f7c2a90"));
    drop(lines);
    for _ in 0..100 {
        if let Some(exit) = bough.try_wait().unwrap() {
            return assert!(exit.success(), "{exit}");
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    bough.kill().unwrap();
    panic!("bough goes on although nobody reads");
}

#[test]
fn log_goes_on_behind_a_cut_and_says_that_the_file_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("parser.jsonl");
    let text = std::fs::read_to_string(project().join("examples/sessions/parser.jsonl")).unwrap();
    std::fs::write(&path, &text).unwrap();
    let mut bough = Command::new(env!("CARGO_BIN_EXE_bough"))
        .args(["log", "--follow", "-n", "1", "--format", "%H"])
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(bough.stdout.take().unwrap()).lines();
    let mut said = BufReader::new(bough.stderr.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "9d1c40aa");
    let cut = text.match_indices('\n').nth(9).unwrap().0 + 1;
    OpenOptions::new().write(true).open(&path).unwrap().set_len(cut as u64).unwrap();
    assert!(said.next().unwrap().unwrap().ends_with("was truncated; new entries follow"));
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(
        file,
        r#"{{"type":"message","id":"aaaa0001","parentId":null,"message":{{"role":"user","content":"more"}}}}"#
    )
    .unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "aaaa0001");
    std::fs::remove_file(&path).unwrap();
    assert!(said.next().unwrap().unwrap().ends_with("parser.jsonl: no such file"));
    assert_eq!(bough.wait().unwrap().code(), Some(4));
}

#[test]
fn log_shows_what_is_written_over_a_cut_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("parser.jsonl");
    let text = std::fs::read_to_string(project().join("examples/sessions/parser.jsonl")).unwrap();
    std::fs::write(&path, &text).unwrap();
    let mut bough = Command::new(env!("CARGO_BIN_EXE_bough"))
        .args(["log", "--follow", "-n", "1", "--format", "%H"])
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(bough.stdout.take().unwrap()).lines();
    let mut said = BufReader::new(bough.stderr.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "9d1c40aa");
    let cut = text.match_indices('\n').nth_back(3).unwrap().0 + 1;
    let entry = |id: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":null,"message":{{"role":"user","content":"{text}"}}}}"#
        ) + "\n"
    };
    // Shorter than before, and longer than before, each in one step.
    for (id, content) in [("aaaa0001", "x".to_owned()), ("aaaa0002", "x".repeat(20_000))] {
        let kept = &text[..cut];
        std::fs::write(&path, kept.to_owned() + &entry(id, &content)).unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), id);
        assert!(said.next().unwrap().unwrap().ends_with("was truncated; new entries follow"));
    }
    bough.kill().unwrap();
    bough.wait().unwrap();
}

/// Follows a session with two more entries; `last` are the last ones before them.
fn follows(path: &Path, last: [&str; 2]) {
    let mut bough = Command::new(env!("CARGO_BIN_EXE_bough"))
        .args(["log", "--follow", "-n", "2", "--format", "%H"])
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(bough.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!([next(), next()], last);
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    for (start, rest) in [("aaaa0001", last[1]), ("aaaa0002", "aaaa0001")] {
        // A line is often seen in two pieces.
        write!(file, r#"{{"type":"message","id":"{start}","#).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(700));
        writeln!(file, r#""parentId":"{rest}","message":{{"role":"user","content":"more"}}}}"#).unwrap();
        assert_eq!(next(), start);
    }
    bough.kill().unwrap();
    bough.wait().unwrap();
}
