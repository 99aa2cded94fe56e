//! Damaged transcripts that were repaired, judged by what Claude Code loads of them: as much as of
//! those repaired by hand, which were tried in the real program.

use crate::support::applied::applied;
use crate::support::claude_request::numbers;
use crate::support::files::project;
use crate::support::recording;
use bough::internals::format::claude::request::{self, Part};
use bough::internals::format::{Format, Ids};
use bough::internals::fsck::{self, Check, NoSurroundings, RepairOptions};
use bough::internals::model::Table;
use bough::internals::store::{self, Options};
use std::fs;

/// The damage; the damaged case, the one repaired by hand, and the check that has to be requested.
#[rustfmt::skip] // a table
const PAIRS: &[(&str, &str, &str, &str)] = &[
    ("a line is lost",               "damage-dangling-parent-u3-a2-line-gone",       "repair-R-line-a2-lost", ""),
    ("a line is torn",               "damage-a2-line-torn",                          "repair-R-line-a2-torn", ""),
    ("a prompt is lost",             "repair-D-line-u3-lost-orphan-assistant",       "repair-R-line-u3-lost-orphan-assistant", ""),
    ("a tool call is lost",          "repair-D-tool-use-line-lost",                  "repair-R-tool-use-line-lost", ""),
    ("a tool result is lost",        "repair-D-tool-result-line-lost",               "repair-R-tool-result-line-lost", ""),
    ("a tool result is made anew",   "repair-D-tool-result-line-lost",               "repair-R-tool-result-line-lost-made-anew", "unpaired-tool-use"),
    ("two records are glued",        "damage-glued-u3-a3",                           "damage-base", ""),
    ("a piece and a record",         "damage-glued-torn-whole-half-u3-u3",           "damage-torn-line-extra-mid-half-of-u3-then-u3", ""),
    ("NULs before a record",         "damage-NUL-run-before-u3",                     "damage-base", ""),
    ("a NUL in a text",              "damage-NUL-in-text-of-u3",                     "repair-R-NUL-in-u3-text", ""),
    ("a raw tab in a text",          "damage-raw-tab-in-string-u3",                  "repair-R-raw-tab-u3", ""),
    ("a byte order mark inside",     "damage-BOM-mid-line-u3",                       "damage-base", ""),
    ("carriage returns alone",       "damage-CR-only",                               "damage-base", ""),
    ("UTF-16",                       "damage-UTF-16LE-file",                         "damage-base", ""),
    ("a record in a list",           "damage-array-line",                            "damage-base", ""),
    ("its own parent",               "damage-self-parent-last-a4",                   "damage-base", ""),
    ("a ring",                       "damage-cycle-u2-to-a3",                        "damage-base", ""),
    ("the end is a sidechain",       "damage-isSidechain-true-u4a4",                 "damage-base", "sidechain-trunk"),
    ("all is a sidechain",           "damage-isSidechain-true-all",                  "damage-base", "sidechain-trunk"),
    ("a link over an unknown type",  "repair-D-unknown-type-link",                   "repair-R-unknown-type-link", ""),
    ("a uuid is lost",               "damage-uuid-missing-u3",                       "damage-base", ""),
    ("a parent in capitals",         "damage-uuid-upper-case-ref",                   "damage-base", ""),
    ("a uuid twice, at the end",     "damage-dup-uuid-other-content-parent-a2-end",  "repair-R-dup-uuid-other-parent", ""),
    ("a uuid twice, no pointer",     "damage-dup-uuid-other-content-parent-a2-end",  "repair-R-dup-uuid-other-parent-no-pointer", ""),
    ("a uuid twice, inside",         "repair-D-dup-uuid-mid-other-parent",           "repair-R-dup-uuid-mid-other-parent", ""),
    ("a pointer to a sidechain",     "repair-D-pointer-to-sidechain",                "repair-R-pointer-to-sidechain", ""),
    ("a pointer to nothing",         "repair-D-explicit-null-pointer",               "repair-R-explicit-null-pointer", "explicit-null-pointer"),
    ("a pointer to nothing, plain",  "repair-D-explicit-null-pointer",               "repair-R-explicit-null-pointer-plain-pointer-after", "explicit-null-pointer"),
    ("a pointer to a dead branch",   "repair-D-stale-pointer-a1-on-dead-branch",     "repair-R-stale-pointer-a1-on-dead-branch", "stale-pointer"),
    ("a root in the middle",         "damage-null-parent-u3",                        "damage-base", "unexpected-root"),
    ("an object as content",         "damage-message-content-object-u3",             "repair-R-content-object", ""),
    ("an empty content",             "damage-message-content-empty-str-u3",          "repair-R-empty-text-u3", "empty-content"),
    ("a tool id twice",              "repair-D-tool-id-used-twice",                  "repair-R-tool-id-used-twice", ""),
    ("a kept message is lost",       "compact-preserved-one-uuid-missing",           "compact-preserved-u2-a2", ""),
];

#[test]
fn what_a_repair_brings_back_is_loaded() {
    let mut wrong = Vec::new();
    for (what, damaged, by_hand, with) in PAIRS {
        let (old, wanted) = (measured(damaged), measured(by_hand));
        let mended = match mend(&old, with) {
            Ok(mended) => mended,
            Err(error) => {
                wrong.push(format!("{what}: {error}"));
                continue;
            }
        };
        let (ours, theirs) = (loaded(&mended), loaded(&wanted));
        if ours.len() < theirs.len() {
            let text = String::from_utf8_lossy(&mended);
            wrong.push(format!(
                "{what}: {} blocks are loaded, not {}: {ours:?}\n{text}",
                ours.len(),
                theirs.len()
            ));
        }
        assert!(loaded(&old).len() <= ours.len(), "{what}: less than before");
    }
    assert!(wrong.is_empty(), "{}\n{} of {}", wrong.join("\n"), wrong.len(), PAIRS.len());
}

fn mend(old: &[u8], with: &str) -> Result<Vec<u8>, String> {
    let table = Table(vec![old.to_vec()]);
    let wishes =
        RepairOptions { with: Check::from_id(with).into_iter().collect(), ..RepairOptions::default() };
    let around = NoSurroundings("");
    let examined =
        fsck::examine(None, &table, old.len() as u64, None, &around).map_err(|error| error.to_string())?;
    let repair = fsck::repair(&examined, &table, &around, &wishes, &mut Ids::seeded("1"))
        .map_err(|error| error.to_string())?;
    Ok(applied(&repair.plan, &table))
}

/// Returns the stored blocks that Claude Code would send, as line and index.
fn loaded(bytes: &[u8]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case.jsonl");
    fs::write(&path, bytes).unwrap();
    let options = Options { format: Some(Format::Claude), ..Options::default() };
    let Ok(opened) = store::open(&path, options) else { return Vec::new() };
    let sending = request::sending(&opened.session, &opened.files, None).unwrap();
    let mut out = Vec::new();
    for message in &sending.messages {
        let parts = message.parts.iter().filter(|part| matches!(part, Part::Stored(_) | Part::Texts(_)));
        let Some(ix) = message.entry else { continue };
        out.extend(parts.map(|part| format!("{}:{part:?}", opened.session.entries.line(ix))));
    }
    out
}

/// Returns the bytes of a measured case.
fn measured(name: &str) -> Vec<u8> {
    let folder = project().join("tests/cli/sessions/claude");
    let table = fs::read(folder.join("measured.lines")).unwrap();
    let table: Vec<&[u8]> = table.split(|byte| *byte == b'\n').collect();
    let cases = recording::read("claude/measured.tsv");
    let row = cases.lines().find(|row| row.split('\t').next() == Some(name));
    let lines = row.unwrap_or_else(|| panic!("no case {name}")).split('\t').nth(4).unwrap();
    let lines: Vec<&[u8]> = numbers(lines).map(|line| table[line]).collect();
    lines.join(&b"\n"[..])
}
