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

/// What a process has read so far, in bytes, by whatever call.
#[cfg(target_os = "linux")]
fn bytes_read(process: u32) -> u64 {
    let facts = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    facts.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// A session of pi or of Claude Code of at least `len` bytes; returns the id of its last entry, too.
#[cfg(target_os = "linux")]
fn long_session(is_claude: bool, len: usize) -> (String, String) {
    let mut text = match is_claude {
        true => String::new(),
        false => "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/\"}\n".to_owned(),
    };
    let mut last = String::new();
    let mut number = 0;
    while text.len() < len {
        let id = format!("{number:08}");
        text += &entry_after(is_claude, &id, &last, &"x".repeat(900));
        last = id;
        number += 1;
    }
    (text, last)
}

#[cfg(target_os = "linux")]
fn entry_after(is_claude: bool, id: &str, parent: &str, content: &str) -> String {
    let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
    let message = format!("\"message\":{{\"role\":\"user\",\"content\":\"{content}\"}}");
    match is_claude {
        true => format!(
            "{{\"parentUuid\":{parent},\"isSidechain\":false,\"sessionId\":\"s\",\"type\":\"user\",{message},\"uuid\":\"{id}\"}}\n"
        ),
        false => format!("{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},{message}}}\n"),
    }
}

/// Follows a session, appends entries, and returns the most bytes that were read for one of them.
#[cfg(target_os = "linux")]
fn most_read(is_claude: bool, len: usize, options: &[&str]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let (text, mut last) = long_session(is_claude, len);
    std::fs::write(&path, &text).unwrap();
    let mut bough = Command::new(env!("CARGO_BIN_EXE_bough"))
        .args(["log", "--follow", "-n", "1"])
        .args(options)
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(bough.stdout.take().unwrap()).lines();
    let mut wait_for = |id: &str| while !lines.next().unwrap().unwrap().contains(id) {};
    wait_for(&last);
    let mut most = 0;
    let mut append = |round: &str, is_counted: bool| {
        for at in 0..3 {
            let before = bytes_read(bough.id());
            let id = format!("{round}{at:04}");
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(entry_after(is_claude, &id, &last, "more").as_bytes()).unwrap();
            wait_for(&id);
            last = id;
            // The first reading after a change of another kind is a whole one.
            if is_counted || at > 0 {
                most = most.max(bytes_read(bough.id()) - before);
            }
        }
    };
    append("aaaa", true);
    // The end is cut off.
    OpenOptions::new().write(true).open(&path).unwrap().set_len(text.len() as u64).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    append("bbbb", false);
    // Another file takes its place, with the same entries.
    let other = folder.path().join("other");
    std::fs::write(&other, std::fs::read(&path).unwrap()).unwrap();
    std::fs::rename(&other, &path).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    append("cccc", false);
    append("dddd", true);
    bough.kill().unwrap();
    bough.wait().unwrap();
    most
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_read_for_a_new_line_does_not_grow_with_the_session() {
    for (is_claude, options) in [(false, &["--oneline"][..]), (false, &["--json"]), (true, &["--oneline"])] {
        let [small, large] = [1 << 20, 4 << 20].map(|len| most_read(is_claude, len, options));
        assert!(small < 1 << 18 && large < 1 << 18, "{options:?}: {small} and {large} bytes for a line");
    }
}
