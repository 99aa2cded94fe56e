//! Checks that every exit status has a case, and that a bug has its own status.

use crate::support::files::project;
use crate::support::sandbox::copy_of_bough;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

#[test]
fn every_exit_status_has_a_case() {
    let page = fs::read_to_string(project().join("docs/exit-codes.txt")).unwrap();
    let told: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(" — ")).map(|row| row.0).collect();
    let cases = fs::read_to_string(project().join("tests/cli/cases/exit-codes/each.md")).unwrap();
    let mut shown: BTreeSet<&str> = cases.lines().filter_map(|line| line.strip_prefix("? ")).collect();
    // Status 0 needs no mention in a case; a reproducible bug would be fixed, so one is made below.
    shown.extend(["0", "70"]);
    assert_eq!(told, shown);
}

/// Started by the test below as a separate program: `main` of bough, with a bug in place of the
/// command.
#[test]
fn a_program_with_a_bug() {
    if std::env::var_os("BOUGH_TEST_BUG").is_some() {
        bough::internals::cmd::report_bugs();
        panic!("there is always one");
    }
}

#[test]
fn a_panic_is_told_as_a_bug() {
    let run = |words: &[&str]| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "exits::a_program_with_a_bug", "--nocapture"]).args(words);
        let output = command.env("BOUGH_TEST_BUG", "1").output().unwrap();
        assert_eq!(output.status.code(), Some(70));
        String::from_utf8(output.stderr).unwrap()
    };
    let words = run(&[]);
    assert!(words.starts_with("error: a bug in bough: there is always one (tests/cli/exits.rs:"), "{words}");
    assert!(words.contains("\nhint: please report it"), "{words}");
}

#[test]
fn what_may_not_be_read_is_said_and_not_taken_for_empty() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let set = |name: &str, mode: u32| fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
    set("", 0o755);
    // Root may read everything, so the test runs a copy of the program as another user.
    let is_root = fs::metadata(at("")).unwrap().uid() == 0;
    copy_of_bough(&at("bough"));
    fs::create_dir_all(at("open/shut")).unwrap();
    fs::copy(project().join("examples/sessions/parser.jsonl"), at("open/shut/s.jsonl")).unwrap();
    set("open/shut", 0);
    let check = |words: &[&str], wanted: &str| {
        let mut command = Command::new(at("bough"));
        command.args(words).current_dir(at("open")).env("HOME", at("home"));
        if is_root {
            command.uid(65534).gid(65534);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(6), "{words:?}: {output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(&format!("error: {wanted}: Permission denied")), "{words:?}: {told}");
    };
    for words in [&["fsck"][..], &["log"], &["stats"], &["migrate", "--check"], &["grep", "x"], &["sessions"]]
    {
        check(&[words, &["./shut"]].concat(), "./shut");
    }
    for words in [&["fsck"][..], &["stats"], &["migrate", "--check"], &["grep", "x"], &["sessions"]] {
        check(&[words, &["."]].concat(), "./shut");
    }
    check(&["log", "./"], "./shut");
    check(&["log", "shut/s.jsonl"], "shut/s.jsonl");
    // Files that belong to a session and can't be read are not ignored.
    fs::create_dir_all(at("open/p/s/subagents")).unwrap();
    fs::copy(project().join("tests/cli/sessions/claude-code/compact-preserved.jsonl"), at("open/p/s.jsonl"))
        .unwrap();
    set("open/p/s/subagents", 0);
    check(&["log", "--agents", "p/s.jsonl"], "p/s/subagents");
    check(&["log", "--agents", "./p"], "./p/s/subagents");
    let real = at("open/p/s/subagents").canonicalize().unwrap().display().to_string();
    check(&["export-branch", "p/s.jsonl"], &real);
    set("open/p/s/subagents", 0o755);
    fs::create_dir_all(at("home/.local/state/bough")).unwrap();
    fs::write(at("home/.local/state/bough/operations.jsonl"), "").unwrap();
    set("home/.local/state/bough/operations.jsonl", 0);
    check(&["show", "p/s.jsonl", "@{-1}"], "@{-1}: the operation log can't be read");
    set("open/shut", 0o755);
}
