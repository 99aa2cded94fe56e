//! `bough tree`: every key has a page. What only a terminal shows is in `tests/needs/tree.rs`.

use crate::support::files::project;
use std::fs;
use std::process::Command;

#[test]
fn every_key_that_the_help_lists_has_a_page() {
    let session = project().join("examples/sessions/parser.jsonl");
    let output = Command::new(env!("CARGO_BIN_EXE_bough"))
        .args(["tree", "--keys", "g?", "--size", "100x60"])
        .arg(session)
        .output()
        .unwrap();
    let screen = String::from_utf8(output.stdout).unwrap();
    let mut pages = String::new();
    for page in fs::read_dir(project().join("tests/cli/cases/tree")).unwrap() {
        pages += &fs::read_to_string(page.unwrap().path()).unwrap();
    }
    let pressed: Vec<&str> = pages
        .lines()
        .filter(|line| line.starts_with("$ "))
        .filter_map(|line| line.split_once("--keys '")?.1.split('\'').next())
        .flat_map(str::split_whitespace)
        .collect();
    let mut listed = 0;
    // A row of the help has keys, then two blanks or more, then what they do.
    for row in screen.lines().filter(|row| !row.starts_with(' ')) {
        let Some((keys, _)) = row.split_once("  ") else { continue };
        for key in keys.replace("Shift ", "S-").split([' ', ',']).filter(|key| !key.is_empty()) {
            listed += 1;
            // These two are pressed in a terminal, by `tests/needs/tree.rs`.
            if !matches!(key, "^Z" | "^C") {
                assert!(pressed.contains(&key), "no page presses `{key}`");
            }
        }
    }
    assert!(listed > 45, "{screen}");
}
