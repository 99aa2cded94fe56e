//! `log --follow` goes on as the session grows, and takes no line before it is whole.

use crate::cases::{copy, project};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

#[test]
fn log_follows_a_growing_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("parser.jsonl");
    copy(&project().join("examples/parser.jsonl"), &path);
    let mut bough = Command::new(env!("CARGO_BIN_EXE_bough"))
        .args(["log", "--follow", "-n", "2", "--format", "%H"])
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(bough.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!([next(), next()], ["f6b1835c", "9d1c40aa"]);
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    for (start, rest) in [("aaaa0001", "9d1c40aa"), ("aaaa0002", "aaaa0001")] {
        // A line is often seen in two pieces.
        write!(file, r#"{{"type":"message","id":"{start}","#).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(700));
        writeln!(file, r#""parentId":"{rest}","message":{{"role":"user","content":"more"}}}}"#).unwrap();
        assert_eq!(next(), start);
    }
    bough.kill().unwrap();
    bough.wait().unwrap();
}
