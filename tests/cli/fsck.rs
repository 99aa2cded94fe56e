//! The findings and repairs of `fsck`: the cases under `sessions/cases`, and the shared ones.

use bough::internals::format::Ids;
use bough::internals::fsck::{self, Check, NoSurroundings, RepairOptions};
use bough::internals::model::{Source, Table};
use bough::internals::store;
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::facts;
use crate::support::files::project;
use crate::support::fsck_cases::{
    cases_below, check_all, check_command, check_findings, check_repair, expected,
};

#[test]
fn each_case_has_the_findings_that_it_names() {
    check_all(&project().join("tests/cli/sessions/cases"), check_findings);
}

#[test]
fn each_case_is_mended_as_it_says() {
    check_all(&project().join("tests/cli/sessions/cases"), check_repair);
}

#[test]
fn the_command_does_to_each_case_what_it_says() {
    check_all(&project().join("tests/cli/sessions/cases"), check_command);
}

/// Checks that no case can show, and the reason.
const NO_CASE: &[(&str, &str)] = &[("coverage", "it would be a fault of bough's own")];

#[test]
fn each_check_has_a_case() {
    let cases = cases_below(&project().join("tests/cli/sessions/cases"));
    let mut shown: HashSet<String> = HashSet::new();
    for case in cases {
        let expect: Value =
            serde_json::from_slice(&fs::read(case.with_extension("expect.json")).unwrap()).unwrap();
        for key in ["checks", "info"] {
            shown.extend(expected(&expect["fsck"][key]).into_keys());
        }
    }
    // Checks that need files around the session are shown by pages.
    for page in fs::read_dir(project().join("tests/cli/cases/fsck")).unwrap() {
        let page = page.unwrap().path();
        if page.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(page).unwrap();
            let rows = fsck::CHECKS
                .iter()
                .filter(|row| text.contains(&format!(": {}: {}: ", row.level.name(), row.id)));
            shown.extend(rows.map(|row| row.id.to_owned()));
        }
    }
    let without: Vec<&str> = fsck::CHECKS
        .iter()
        .map(|row| row.id)
        .filter(|id| !shown.contains(*id) && NO_CASE.iter().all(|(known, _)| known != id))
        .collect();
    assert!(without.is_empty(), "these checks have no case: {without:?}");
}

#[test]
#[ignore = "needs the large cases that make_big.py writes, in the folder BOUGH_BIG"]
fn the_large_cases_hold_too() {
    let folder = PathBuf::from(std::env::var_os("BOUGH_BIG").unwrap());
    check_all(&folder, check_facts);
    check_all(&folder, check_findings);
    check_all(&folder, check_repair);
    check_all(&folder, check_command);
}

fn check_facts(path: &Path) -> Result<(), String> {
    let expect: Value =
        serde_json::from_slice(&fs::read(path.with_extension("expect.json")).unwrap()).unwrap();
    let opened = store::open(path, store::Options::default()).map_err(|error| error.to_string())?;
    let facts = match expect["format"].as_str() {
        Some("claude") => facts::claude_facts(&opened),
        _ => facts::case_facts(&opened),
    };
    for (field, wanted) in expect["facts"].as_object().into_iter().flatten() {
        if facts[field] != *wanted {
            return Err(format!("{}: {field} is {}, not {wanted}", path.display(), facts[field]));
        }
    }
    Ok(())
}

/// A file in memory of which only a part may be read at once.
struct InParts(Table, u64);

impl Source for InParts {
    fn read(&self, span: bough::internals::model::Span, into: &mut Vec<u8>) -> std::io::Result<()> {
        assert!(span.len <= self.1, "{} bytes are read at once", span.len);
        self.0.read(span, into)
    }
}

#[test]
fn a_large_hole_is_not_held_in_memory() {
    let entry = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-03-02T09:00:00.000Z","message":{{"role":"user","content":"text"}}}}"#
        )
    };
    let mut bytes = format!("{}\n", entry("aaaa0001", "null")).into_bytes();
    bytes.resize(bytes.len() + (20 << 20), 0);
    bytes.extend_from_slice(format!("{}\n", entry("aaaa0002", "\"aaaa0001\"")).as_bytes());
    let len = bytes.len() as u64;
    let source = InParts(Table(vec![bytes]), 2 << 20);
    let around = NoSurroundings("s");
    let examined = fsck::examine(None, &source, len, None, &around).ok().unwrap();
    assert_eq!((examined.findings.count(Check::NulBytes), examined.entries), (1, 2));
    let repair =
        fsck::repair(&examined, &source, &around, &RepairOptions::default(), &mut Ids::seeded("1")).unwrap();
    assert_eq!((repair.left.count(Check::NulBytes), repair.proof.entries), (0, (2, 2)));
}

/// Determining what a repair would fix takes longer than checking a large session, so the hint says
/// only what it would try.
#[test]
fn the_repair_of_a_large_session_is_not_tried_for_a_hint() {
    let home = tempfile::tempdir().unwrap();
    let hint = |count: usize, words: &[&str]| {
        let mut lines = String::from(
            "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-03-02T09:00:00.000Z\",\"cwd\":\"/\"}\n",
        );
        for at in 0..count {
            let parent = if at == 0 { "ffffffff".into() } else { format!("{:08x}", at - 1) };
            lines += &format!(
                "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-03-02T09:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"x\"}}}}\n"
            );
        }
        fs::write(home.path().join("s.jsonl"), lines).unwrap();
        let output = crate::support::sandbox::bough(home.path()).args(words).arg("s.jsonl").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(if words.contains(&"--json") { output.stdout } else { output.stderr }).unwrap()
    };
    assert!(hint(100_001, &["fsck"]).contains("`bough fsck --repair s.jsonl` tries to repair 1\n"));
    assert!(hint(1_000, &["fsck"]).contains("`bough fsck --repair s.jsonl` can repair 1\n"));
}

#[test]
fn a_long_id_is_the_same_on_a_long_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let entry = |id: &str, parent: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-03-02T09:00:00.000Z","message":{{"role":"user","content":"{text}"}}}}"#
        )
    };
    let id = "a".repeat(5_000);
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/"}"#
            .to_owned(),
        entry(&id, "null", &"x".repeat(2 << 20)),
        entry(&format!("{id}b"), "null", &"y".repeat(2 << 20)),
        entry("c", &format!("\"{id}\""), "z"),
    ];
    fs::write(&path, lines.join("\n")).unwrap();
    let session = store::open(&path, store::Options::default()).unwrap().session;
    assert_eq!(
        (session.tree.orphans().count(), session.entries.keys().iter().collect::<HashSet<_>>().len()),
        (0, 3)
    );
}
