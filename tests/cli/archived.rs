//! `bough archive` and `bough restore`: what the agent deleted comes back byte for byte.

use crate::support::files::{copy, copy_below, project};
use crate::support::sandbox::{bough, code, said};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const ID: &str = "254d35dc-7f1f-4b42-ab66-5415aec1733e";

/// The bytes, the time and the mode of each file of the store.
fn state(home: &Path) -> BTreeMap<PathBuf, (Vec<u8>, i64, u32)> {
    let mut out = BTreeMap::new();
    let mut todo = vec![home.join(".claude"), home.join(".pi")];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
                continue;
            }
            let facts = entry.metadata().unwrap();
            let nanoseconds = facts.mtime() * 1_000_000_000 + facts.mtime_nsec();
            out.insert(path.clone(), (fs::read(&path).unwrap(), nanoseconds, facts.mode()));
        }
    }
    out
}

fn run(home: &Path, words: &[&str]) -> std::process::Output {
    bough(home).args(words).output().unwrap()
}

fn out(home: &Path, words: &[&str]) -> String {
    let output = run(home, words);
    assert_eq!(code(&output), 0, "{words:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// A store with a session of Claude Code, with a subagent and a file history, and one of pi.
fn home() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let sessions = project().join("tests/cli/sessions");
    let store = home.join(".claude/projects/-project");
    copy(&sessions.join(format!("claude/real/subagent/{ID}.jsonl")), &store.join(format!("{ID}.jsonl")));
    copy_below(&sessions.join(format!("claude/real/subagent/{ID}")), &store.join(ID));
    let history = home.join(".claude/file-history").join(ID);
    copy(&sessions.join("pi/edge-crlf.jsonl"), &history.join("0a1b@v1"));
    copy(
        &sessions.join("pi/pi16-linear.jsonl"),
        &home
            .join(".pi/agent/sessions/--proj-demo-project--/2026_4062d238-879c-42f6-a73b-0404a3a35663.jsonl"),
    );
    folder
}

#[test]
fn a_deleted_session_comes_back_byte_for_byte() {
    let folder = home();
    let home = folder.path();
    let old = state(home);
    out(home, &["archive"]);
    fs::remove_dir_all(home.join(".claude")).unwrap();
    let gone = state(home);
    let listed = out(home, &["sessions", "--archived"]);
    assert!(listed.contains(&ID[..8]) && listed.contains("only in the archive"), "{listed}");
    out(home, &["restore", "-n", "254d"]);
    assert!(state(home) == gone, "a dry run wrote something");
    out(home, &["restore", "254d"]);
    assert!(state(home) == old);
    assert_eq!(code(&run(home, &["restore", "254d"])), 5, "files that are there are not overwritten");
    out(home, &["undo", "--all"]);
    assert!(state(home) == gone);
    out(home, &["restore", ID, "--to", home.join("there").to_str().unwrap()]);
    let main = fs::read(home.join("there").join(format!("{ID}.jsonl"))).unwrap();
    assert!(old.values().any(|(bytes, ..)| *bytes == main));
    assert!(home.join("there").join(ID).join("subagents").is_dir());
}

#[test]
fn an_archived_session_is_read_by_its_id_and_never_changed() {
    let folder = home();
    let home = folder.path();
    let log = out(home, &["log", "--oneline", "-s", ID]);
    out(home, &["archive"]);
    fs::remove_dir_all(home.join(".claude")).unwrap();
    assert_eq!(out(home, &["log", "--oneline", "-s", ID]), log);
    assert!(!out(home, &["stats", ID]).is_empty());
    for words in
        [&["label", "-s", ID, "name"][..], &["switch", "-s", ID, "HEAD~2"], &["move", "-s", ID, "--to", "/x"]]
    {
        let output = run(home, words);
        assert_eq!(code(&output), 5, "{words:?}: {}", said(&output));
        assert!(said(&output).contains("only in the archive"), "{}", said(&output));
    }
    assert_eq!(out(home, &["log", "--oneline", "-s", ID]), log);
}

#[test]
fn another_run_archives_only_what_is_new() {
    let folder = home();
    let home = folder.path();
    let figures = |words: &[&str]| -> (u64, u64) {
        let object: serde_json::Value = serde_json::from_str(&out(home, words)).unwrap();
        (object["files"].as_u64().unwrap(), object["bytes"].as_u64().unwrap())
    };
    let first = figures(&["archive", "--json"]);
    assert_eq!(first.0, 5);
    assert_eq!(figures(&["archive", "--json"]), (0, 0));
    let session = home.join(format!(".claude/projects/-project/{ID}.jsonl"));
    let mut bytes = fs::read(&session).unwrap();
    bytes.extend_from_slice(b"{\"type\":\"tag\",\"tag\":\"x\"}\n");
    fs::write(&session, &bytes).unwrap();
    assert_eq!(figures(&["archive", "--json"]), (1, 25));
    assert_eq!(out(home, &["archive", "--verify"]), "");
    fs::remove_file(&session).unwrap();
    out(home, &["restore", ID, "--to", home.join("there").to_str().unwrap()]);
    assert_eq!(fs::read(home.join(format!("there/{ID}.jsonl"))).unwrap(), bytes);
}

#[test]
fn a_damaged_archive_is_reported_and_not_restored() {
    let folder = home();
    let home = folder.path();
    out(home, &["archive"]);
    let manifest = home.join(".local/share/bough/archive/manifest.jsonl");
    let text = fs::read_to_string(&manifest).unwrap();
    let items: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let main = items.iter().find(|item| item["session"] == ID && item["main"] == true).unwrap();
    let sha256 = main["parts"][0]["sha256"].as_str().unwrap();
    let blob = manifest.with_file_name("blobs").join(&sha256[..2]).join(format!("{}.zst", &sha256[2..]));
    let mut bytes = fs::read(&blob).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&blob, bytes).unwrap();
    let output = run(home, &["archive", "--verify"]);
    assert_eq!(code(&output), 1);
    assert!(String::from_utf8_lossy(&output.stdout).contains(ID));
    let old = state(home);
    let output = run(home, &["restore", ID, "--to", home.join("there").to_str().unwrap()]);
    assert_eq!(code(&output), 6, "{}", said(&output));
    assert!(!home.join("there").exists() && state(home) == old);
    // A manifest that ends in the middle of a line is valid up to there, and the next run goes on.
    fs::write(&manifest, &text[..text.len() - 40]).unwrap();
    out(home, &["archive"]);
    let lines = fs::read_to_string(&manifest).unwrap();
    assert!(lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    assert_eq!(lines.lines().count(), text.lines().count());
}

#[test]
fn old_sessions_are_pruned_on_request() {
    let folder = home();
    let home = folder.path();
    out(home, &["archive"]);
    let listed = out(home, &["archive", "prune", "--keep", "2020-01-01", "-n"]);
    assert_eq!(listed, "");
    let now = |words: &[&str]| {
        let output = bough(home).args(words).env("BOUGH_NOW", "2028-01-01T00:00:00Z").output().unwrap();
        assert_eq!(code(&output), 0, "{}", said(&output));
    };
    now(&["archive", "prune", "--keep", "9y"]);
    assert!(out(home, &["sessions", "--archived"]).contains(&ID[..8]));
    now(&["archive", "prune", "--keep", "1y"]);
    let output = bough(home).args(["sessions", "--archived"]).output().unwrap();
    assert_eq!((code(&output), output.stdout), (1, Vec::new()));
    assert_eq!(out(home, &["archive", "--verify"]), "");
}
