//! `join` as a merge driver of git.

use crate::support::sandbox::{bough, said};
use crate::support::small_sessions::pi;
use std::fs;
use std::path::Path;
use std::process::Command;

fn git(folder: &Path, words: &[&str]) -> std::process::Output {
    let set = ["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "init.defaultBranch=main"];
    let mut command = Command::new("git");
    command.args(set).args(words).current_dir(folder);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", folder).env("XDG_STATE_HOME", folder.join("state"));
    command.output().unwrap()
}

/// In a real repository: both branches went on with one session, and git calls bough to merge them.
pub fn as_a_merge_driver_of_git() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let program = bough(at).get_program().to_owned();
    let run = |words: &[&str]| {
        let output = git(at, words);
        assert!(output.status.success(), "{words:?}: {}", said(&output));
    };
    let base = "a - 1 x; b a 2 y";
    let write = |entries: &str| fs::write(at.join("s.jsonl"), pi(entries)).unwrap();
    run(&["init", "-q"]);
    run(&["config", "merge.bough.driver", &format!("{} join %A %B -o %A", program.to_str().unwrap())]);
    fs::write(at.join(".gitattributes"), "*.jsonl merge=bough\n").unwrap();
    write(base);
    run(&["add", "."]);
    run(&["commit", "-qm", "base"]);
    run(&["checkout", "-qb", "other"]);
    write(&format!("{base}; c b 4 there"));
    run(&["commit", "-qam", "there"]);
    run(&["checkout", "-q", "main"]);
    write(&format!("{base}; d b 3 here"));
    run(&["commit", "-qam", "here"]);
    run(&["merge", "-q", "-m", "merge", "other"]);
    assert_eq!(
        fs::read_to_string(at.join("s.jsonl")).unwrap(),
        pi(&format!("{base}; d b 3 here; c b 4 there"))
    );
    assert_eq!(git(at, &["status", "--porcelain", "-uno"]).stdout, b"");
}
