//! HEAD, `~N`, `turn:N` and `root` count the rows of `log`, in all formats; `branches` and `status` count its entries.

use crate::support::chance::config;
use crate::support::files::project;
use crate::support::sandbox;
use crate::support::sessions::{sessions, sessions_below};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use std::path::Path;

/// What a command prints on standard output, if it is done.
fn printed(home: &Path, words: &[&str]) -> Option<String> {
    let output = sandbox::bough(home).args(words).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// The name of an entry: its id, or its line in sessions of Codex, in which no entry has an id.
fn name(row: &Value) -> Option<String> {
    let by_line = || (row["format"] == "codex").then(|| format!("line:{}", row["line"]));
    row["id"].as_str().map(str::to_owned).or_else(by_line)
}

/// Checks one session; says how many rows of `log` were counted, and which of the rows is HEAD.
fn check(home: &Path, path: &Path) -> Option<(usize, bool)> {
    let file = path.to_str().unwrap();
    let entries: Vec<Value> = printed(home, &["log", "--json", file])?
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // A call without a row of its own names the row that shows it.
    let rows: Vec<&Value> = entries.iter().filter(|entry| entry["row"].is_null()).collect();
    for call in entries.iter().filter(|entry| !entry["row"].is_null()) {
        assert!(call["head"] != true && call["kind"] == "assistant", "{file}: {call}");
        let has_name = |row: &&&Value| name(row).is_some_and(|name| call["row"] == name);
        assert!(rows.iter().filter(has_name).any(|row| row["kind"] == "tool"), "{file}: {call}");
    }
    // Copies of ids have other names.
    let id = |row: &&Value| name(row).filter(|id| !id.contains('\n'));
    let ids: Vec<String> = rows.iter().map(id).collect::<Option<_>>()?;
    let mut once: Vec<String> = entries.iter().map(|row| id(&row)).collect::<Option<_>>()?;
    once.sort();
    once.dedup();
    if ids.is_empty() || once.len() != entries.len() {
        return None;
    }
    let listed = printed(home, &["log", "--format", "%H", file])?;
    assert_eq!(listed.lines().collect::<Vec<_>>(), ids, "{file}: rows of log");
    let some = printed(home, &["log", "--format", "%H", "-n", "3", file])?;
    assert_eq!(
        some.lines().collect::<Vec<_>>(),
        ids[..ids.len().min(3)],
        "{file}: rows of log, from its end"
    );
    let head = rows.iter().position(|row| row["head"] == true)?;
    let revisions: Vec<String> = (0..ids.len() - head).map(|steps| format!("HEAD~{steps}")).collect();
    let mut words = vec!["rev-parse", "-s", file, "root"];
    words.extend(revisions.iter().map(String::as_str));
    let found = printed(home, &words).unwrap_or_else(|| panic!("{file}: {words:?}"));
    let mut found = found.lines().map(str::to_owned);
    assert_eq!(found.next().as_ref(), ids.last(), "{file}: root is the last row of log");
    assert_eq!(found.collect::<Vec<_>>(), ids[head..], "{file}: HEAD~N is the Nth row of log after HEAD");

    let status: Value = serde_json::from_str(&printed(home, &["status", "--json", file])?).unwrap();
    assert_eq!(status["path"].as_u64().unwrap() as usize, entries.len(), "{file}: status");
    assert_eq!(status["head"].as_str(), Some(&*ids[head]), "{file}: status");
    let branches = printed(home, &["branches", "--json", file])?;
    let branches = branches.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for branch in branches.filter(|branch| branch["current"] == true) {
        assert_eq!(branch["entries"].as_u64().unwrap() as usize, entries.len(), "{file}: branches");
        assert_eq!(branch["tip"].as_str(), Some(&*ids[0]), "{file}: branches");
    }
    let shown: Vec<&str> = vec!["show", "--json", file];
    let shown: Value = serde_json::from_str(&printed(home, &shown)?).unwrap();
    assert_eq!(name(&shown).as_ref(), Some(&ids[head]), "{file}: show is about HEAD");

    let prompts = printed(home, &["log", "--prompts", "--reverse", "--json", file])?;
    let prompts: Vec<Value> = prompts.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = prompts.iter().map(|prompt| prompt["turn"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=prompts.len() as u64).collect::<Vec<_>>(), "{file}: prompts");
    let mut before = ids.len();
    for prompt in prompts.iter().filter(|prompt| prompt["id"].is_string()) {
        let (id, number) = (prompt["id"].as_str().unwrap(), &prompt["turn"]);
        let turn = printed(home, &["rev-parse", "-s", file, &format!("turn:{number}")]);
        assert_eq!(turn.as_deref().map(str::trim_end), Some(id), "{file}: turn:{number}");
        let row =
            ids.iter().position(|row| row == id).unwrap_or_else(|| panic!("{file}: {id} is no row of log"));
        assert!(row < before, "{file}: prompts are in the order of the thread");
        before = row;
        if let Some(reply) = prompt["reply"].as_str() {
            let found = printed(home, &["rev-parse", "-s", file, &format!("reply:{number}")]);
            assert_eq!(found.as_deref().map(str::trim_end), Some(reply), "{file}: reply:{number}");
            assert!(
                ids.iter().position(|row| row == reply).unwrap() < row,
                "{file}: a reply follows its prompt"
            );
        }
    }
    Some((ids.len() - head, head == 0))
}

proptest! {
    #![proptest_config(config(24))]

    /// Sessions of all formats that end anywhere and lack some lines, so that calls lose results, and HEAD is at calls.
    #[test]
    fn steps_are_rows_of_log_in_random_sessions(
        file in any::<Index>(),
        end in any::<Index>(),
        lost in prop::collection::vec(any::<Index>(), 0..3),
        to in any::<Index>(),
    ) {
        let text = std::fs::read_to_string(file.get(&sessions())).unwrap_or_default();
        let mut lines: Vec<&str> = text.lines().collect();
        prop_assume!(lines.len() > 1);
        lines.truncate(2 + end.index(lines.len() - 1));
        for lost in lost {
            lines.remove(1 + lost.index(lines.len() - 1).min(lines.len() - 2));
            prop_assume!(lines.len() > 1);
        }
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("random.jsonl");
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        check(home.path(), &path);
        let line = format!("line:{}", 1 + to.index(lines.len()));
        if printed(home.path(), &["switch", "--force", "-s", path.to_str().unwrap(), &line]).is_some() {
            check(home.path(), &path);
        }
    }
}

#[test]
fn head_and_steps_and_turns_are_rows_of_log() {
    let mut sessions = Vec::new();
    sessions.extend(sessions_below(&project().join("tests/cli/sessions")));
    sessions.extend(sessions_below(&project().join("examples")));
    let home = tempfile::tempdir().unwrap();
    let (mut counted, mut rows, mut first) = (0, 0, 0);
    std::thread::scope(|scope| {
        let half = sessions.len() / 2;
        let (home, halves) = (home.path(), [&sessions[..half], &sessions[half..]]);
        let work = halves.map(|half| {
            scope.spawn(move || half.iter().filter_map(|path| check(home, path)).collect::<Vec<_>>())
        });
        for (count, is_first) in work.into_iter().flat_map(|work| work.join().unwrap()) {
            counted += 1;
            rows += count;
            first += usize::from(is_first);
        }
    });
    // Most sessions are counted, so that the test can't pass by counting none.
    assert!(counted > sessions.len() / 2, "{counted} of {} sessions, {rows} rows", sessions.len());
    assert!(first > counted * 9 / 10, "HEAD is the first row of {first} of {counted}");
}
