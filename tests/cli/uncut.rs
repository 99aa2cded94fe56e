//! Nothing is cut or wrapped if no person looks on: in a pipe, in a file.

use crate::examples::commands;
use crate::support::sandbox::{bough, said};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A text of some hundred cells that ends in a word by which its end is known.
fn long(end: &str) -> String {
    format!("{}{end}", "word ".repeat(50))
}

/// A session in which everything is long: a prompt, a reply, a path, a label, a name, a model.
fn session() -> String {
    let said = |text: String| json!([{ "type": "text", "text": text }]);
    let path = format!("/work/{}path-end.rs", "folder/".repeat(30));
    // More lines than `log` shows a person; the short form of a text has 300 characters at most.
    let lines: Vec<String> = (0..20).map(|number| format!("line-{number}-end")).collect();
    let usage =
        json!({"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"total":0.5}});
    let call = json!([
        { "type": "text", "text": lines.join("\n") },
        { "type": "toolCall", "id": "c1", "name": "edit", "arguments": { "path": path } },
    ]);
    let model = format!("{}-model-end", "m".repeat(60));
    let rows = [
        json!({"type":"session","version":3,"id":"5e550900","timestamp":"2026-03-01T09:00:00.000Z",
            "cwd":format!("/w/{}cwd-end", "x/".repeat(60))}),
        json!({"type":"session_info","id":"aaaa0000","parentId":null,"timestamp":"2026-03-01T09:00:00.500Z",
            "name":long("name-end")}),
        json!({"type":"message","id":"aaaa0001","parentId":"aaaa0000","timestamp":"2026-03-01T09:00:01.000Z",
            "message":{"role":"user","content":said(long("prompt-end"))}}),
        json!({"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-03-01T09:00:02.000Z",
            "message":{"role":"assistant","provider":"p","model":model,"stopReason":"toolUse","usage":usage,
            "content":call}}),
        json!({"type":"message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-03-01T09:00:03.000Z",
            "message":{"role":"toolResult","toolCallId":"c1","toolName":"edit","isError":false,
            "content":said(long("result-end"))}}),
        json!({"type":"message","id":"aaaa0004","parentId":"aaaa0001","timestamp":"2026-03-01T09:00:04.000Z",
            "message":{"role":"assistant","provider":"p","model":"m","stopReason":"stop","usage":usage,
            "content":said(long("reply-end"))}}),
        json!({"type":"label","id":"aaaa0005","parentId":"aaaa0004","timestamp":"2026-03-01T09:00:05.000Z",
            "targetId":"aaaa0003","label":long("label-end")}),
    ];
    rows.map(|row| format!("{row}\n")).concat()
}

/// Commands, and what their output has the ends of.
const RUNS: &[(&str, &[&str])] = &[
    ("append -n --kind message --text LONG", &["long-end"]),
    ("branches", &["prompt-end", "label-end"]),
    ("branches -v", &["prompt-end"]),
    ("branches --points", &["prompt-end"]),
    ("cat aaaa0001", &["prompt-end"]),
    ("cherry-pick -n aaaa0003", &["result-end"]),
    ("completions bash", &[]),
    ("config list", &[]),
    ("context", &["prompt-end", "reply-end"]),
    ("context --oneline", &["prompt-end", "reply-end"]),
    ("diff aaaa0003 aaaa0004", &["result-end", "reply-end", "line-19-end"]),
    ("diff --side-by-side aaaa0003 aaaa0004", &["result-end", "reply-end"]),
    ("diff --name-only aaaa0003 aaaa0004", &[]),
    ("archive -n", &[]),
    ("drop -n --others", &[]),
    ("join -n s.jsonl copy.jsonl", &[]),
    ("slim --report", &[]),
    ("move -n -s s.jsonl --to /other", &["cwd-end"]),
    ("export --to txt", &["prompt-end", "reply-end"]),
    ("export --to md", &["prompt-end", "reply-end"]),
    ("convert --to claude", &["prompt-end", "reply-end"]),
    ("export-branch", &["prompt-end", "reply-end"]),
    ("fsck --list-checks", &[]),
    ("fsck --explain dangling-parent", &[]),
    ("fsck", &[]),
    ("grep word", &["prompt-end", "reply-end", "label-end"]),
    ("grep word .", &["prompt-end", "label-end"]),
    ("help log", &[]),
    ("join --conflicts .", &[]),
    ("label", &["label-end", "result-end"]),
    ("log", &["prompt-end", "reply-end"]),
    ("log --oneline", &["prompt-end", "reply-end"]),
    ("log --graph", &["prompt-end", "reply-end", "result-end", "label-end", "line-0-end"]),
    ("log --all", &["prompt-end", "reply-end", "result-end", "label-end", "line-19-end"]),
    ("log --full aaaa0003", &["result-end", "line-19-end", "path-end"]),
    ("man pages", &[]),
    ("merge -n aaaa0003", &["result-end"]),
    ("migrate --check .", &[]),
    ("op log", &[]),
    ("rev-parse all", &[]),
    ("merge-base root HEAD", &[]),
    ("sessions .", &["name-end"]),
    ("sessions --tree .", &["name-end"]),
    // It draws for a terminal of a given size; the other listings are for pipes.
    ("tree --keys q", &[]),
    ("show aaaa0002", &["line-19-end", "path-end", "model-end"]),
    ("slim --report", &[]),
    ("stats", &["name-end", "model-end", "line-0-end"]),
    ("stats --by session", &["name-end"]),
    ("stats --by project", &["cwd-end"]),
    ("stats --by file", &["path-end"]),
    ("stats --by model", &["model-end"]),
    ("status", &["name-end"]),
    ("switch -n aaaa0003", &[]),
    ("undo --dry-run", &[]),
    ("undo", &[]),
    ("redo", &[]),
];

fn run(folder: &Path, words: &str, columns: Option<&str>) -> (String, String) {
    let mut command = bough(folder);
    if let Some(columns) = columns {
        command.env("COLUMNS", columns);
    }
    let words = words.split(' ').map(|word| if word == "LONG" { long("long-end") } else { word.to_owned() });
    let done = command.env("BOUGH_SESSION", folder.join("s.jsonl")).args(words).output().unwrap();
    (String::from_utf8_lossy(&done.stdout).into_owned(), said(&done))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, session()).unwrap();
    fs::write(folder.path().join("copy.jsonl"), session()).unwrap();
    // As if nobody wrote it just now.
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
    folder
}

#[test]
fn in_a_pipe_nothing_is_cut() {
    let folder = folder();
    // Something to undo, whose text is long.
    let (_, said) = run(folder.path(), "append --kind label --text LONG --parent aaaa0001", None);
    assert!(!said.contains("error"), "{said}");
    let mut seen = BTreeSet::new();
    let mut failed = Vec::new();
    for (words, ends) in RUNS {
        seen.insert(words.split(' ').next().unwrap().to_owned());
        let (printed, said) = run(folder.path(), words, None);
        if said.contains("error: ") {
            failed.push(format!("{words}: {said}"));
        }
        for end in ends.iter().filter(|end| !printed.contains(**end)) {
            failed.push(format!("{words}: without `{end}`:\n{printed}"));
        }
        if printed.contains('…') && !words.starts_with("help") {
            failed.push(format!("{words}: something is cut:\n{printed}"));
        }
    }
    // It needs an archive, and prints only paths.
    seen.insert("restore".to_owned());
    assert_eq!(seen, commands().into_iter().collect());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn who_asks_for_a_width_gets_it() {
    let folder = folder();
    let (printed, _) = run(folder.path(), "log --oneline", Some("60"));
    let fits = printed.lines().all(|line| line.chars().count() <= 60);
    assert!(!printed.contains("reply-end") && fits, "{printed}");
}
