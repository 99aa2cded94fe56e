//! No listing is wider than the terminal, also with labels and wide characters.

use crate::support::files::project;
use crate::support::sandbox;
use std::path::Path;
use unicode_width::UnicodeWidthStr as _;

/// What is listed; `S` is the session.
const LISTINGS: [&str; 32] = [
    "log S",
    "log S --oneline",
    "log S --oneline --stat",
    "log S --graph",
    "log S --graph --reverse",
    "log S --graph --stat",
    "log S --stat",
    "log S --full",
    "log S --prompts",
    "log S --all --oneline",
    "log S --date iso",
    "log S --skipped",
    "branches S",
    "branches S -v",
    "branches S --date iso",
    "branches S -v --date iso",
    "branches S --points",
    "show S",
    "show S all",
    "show S 41d0b6ee",
    "fsck S",
    "fsck .",
    "context S --oneline",
    "stats S",
    "stats S --by model",
    "stats S --by day",
    "stats S --by tool",
    "stats S --by type",
    "status S",
    "sessions .",
    "sessions . --tree",
    "diff S 8c4e96b5 9d1c40aa --stat",
];

/// Returns the example with labels, texts and a model in wide characters and of great length.
fn wide_session() -> String {
    let text = std::fs::read_to_string(project().join("examples/sessions/parser.jsonl")).unwrap();
    let wide = text
        .replace("By hand", "用手写解析器，不要依赖任何包，保持简单清晰明了，并且快")
        .replace("two-ways", "两种方法都可以但是手写的更简单")
        .replace("cargo test", "货物测试程序运行全部测试用例和所有的文档示例");
    assert!(wide.len() > text.len());
    wide
}

/// Checks that no line of a listing is wider than the terminal.
fn check(home: &Path, listing: &str, session: &str, columns: usize) {
    let words = listing.split(' ').map(|word| if word == "S" { session } else { word });
    let mut command = sandbox::bough(home);
    let output = command.args(words).env("COLUMNS", columns.to_string()).output().unwrap();
    assert_eq!(sandbox::code(&output), 0, "bough {listing}: {}", sandbox::said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines() {
        // Ids are not cut, so that they can be copied.
        let is_id = listing.starts_with("status") && line.starts_with("session ");
        assert!(
            line.width() <= columns || is_id,
            "bough {listing}, {session}, {columns} columns: {} cells: {line}",
            line.width()
        );
    }
}

#[test]
fn no_listing_is_wider_than_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let example = project().join("examples/sessions/parser.jsonl");
    std::fs::copy(example, home.path().join("a.jsonl")).unwrap();
    std::fs::write(home.path().join("b.jsonl"), wide_session()).unwrap();
    for listing in LISTINGS {
        for session in ["a.jsonl", "b.jsonl"] {
            for columns in [40, 60, 80, 120] {
                check(home.path(), listing, session, columns);
            }
        }
    }
}

/// What a narrow terminal still shows: parts of the output that stand in one line each.
#[test]
fn nothing_essential_is_lost_at_40_columns() {
    let home = tempfile::tempdir().unwrap();
    let example = project().join("examples/sessions/parser.jsonl");
    std::fs::copy(example, home.path().join("s.jsonl")).unwrap();
    for (listing, wanted) in [
        (
            "show S",
            &["9d1c40aa", "2026-03-02 11:58:00 +0000", " ago", "3,240 tokens in", "52 tokens out"][..],
        ),
        ("show S", &["s.jsonl:19", "485 bytes", "claude-sonnet-4-5"]),
        ("branches S", &["generator", "41d0b6ee", "Use a parser generator", "By hand then"]),
        ("branches S --date iso", &["e0c35f18", "41d0b6ee", "2026-03-02T11:58:00Z", "Use a parser"]),
        ("fsck S", &["0 errors, 0 warnings", "12 of 19 entries loaded at HEAD"]),
    ] {
        let words = listing.split(' ').map(|word| if word == "S" { "s.jsonl" } else { word });
        let output = sandbox::bough(home.path()).args(words).env("COLUMNS", "40").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        for part in wanted {
            assert!(text.lines().any(|line| line.contains(part)), "bough {listing}: no `{part}` in\n{text}");
        }
    }
}
