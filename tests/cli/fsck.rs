//! The findings and repairs of `fsck`: the cases under `sessions/cases`, and the shared ones.

use crate::fsck_claude::applied;
use bough::format::Ids;
use bough::fsck::{self, Check, Examined, Level, NoSurroundings, Repair, RepairOptions, Surroundings};
use bough::model::{Key, Piece, Source, Table};
use bough::store;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::files::project;
use crate::support::sessions::sessions_below;
use crate::support::shared;

/// Returns the session files below a folder that have answers beside them.
fn cases_below(folder: &Path) -> Vec<PathBuf> {
    let mut cases = sessions_below(folder);
    cases.retain(|path| path.with_extension("expect.json").exists());
    cases
}

fn examine(path: &Path) -> Result<(Examined, Table), fsck::Unreadable> {
    examine_beside(path, &NoSurroundings(path.file_stem().unwrap().to_str().unwrap()))
}

fn examine_beside(path: &Path, around: &dyn Surroundings) -> Result<(Examined, Table), fsck::Unreadable> {
    let bytes = fs::read(path).unwrap();
    let options = store::Options { side: true, ..store::Options::default() };
    let session = store::open(path, options).ok().map(|opened| opened.session);
    let len = bytes.len() as u64;
    let table = Table(vec![bytes]);
    Ok((fsck::examine(session, &table, len, None, around)?, table))
}

fn counts(examined: &Examined, levels: &[Level]) -> BTreeMap<String, u64> {
    let rows = fsck::CHECKS.iter().filter(|row| levels.contains(&row.level));
    let counts = rows.map(|row| (row.id.to_owned(), examined.findings.count(row.check)));
    counts.filter(|(_, count)| *count > 0).collect()
}

fn expected(value: &Value) -> BTreeMap<String, u64> {
    let object = value.as_object().into_iter().flatten();
    object.map(|(id, count)| (id.clone(), count.as_u64().unwrap())).collect()
}

fn check_findings(path: &Path) -> Result<(), String> {
    let expect: Value =
        serde_json::from_slice(&fs::read(path.with_extension("expect.json")).unwrap()).unwrap();
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let wanted = &expect["fsck"];
    let examined = match examine(path) {
        Ok((examined, _)) => examined,
        Err(_) if wanted.is_null() => return Ok(()),
        Err(error) => return Err(format!("{name}: {error}")),
    };
    let found = counts(&examined, &[Level::Error, Level::Warning]);
    if !wanted["checks"].is_null() && found != expected(&wanted["checks"]) {
        return Err(format!("{name}: found {found:?}, wanted {}", wanted["checks"]));
    }
    let infos = counts(&examined, &[Level::Info]);
    for (id, count) in expected(&wanted["info"]) {
        if infos.get(&id) != Some(&count) {
            return Err(format!("{name}: found {infos:?}, wanted {}", wanted["info"]));
        }
    }
    for (id, _) in found.iter().chain(&infos) {
        assert!(Check::from_id(id).is_some());
    }
    Ok(())
}

fn check_all(folder: &Path, check: impl Fn(&Path) -> Result<(), String>) {
    let cases = cases_below(folder);
    assert!(!cases.is_empty(), "no cases below {}", folder.display());
    let failed: Vec<String> = cases.iter().filter_map(|case| check(case).err()).collect();
    assert!(failed.is_empty(), "{}\n{} of {} failed", failed.join("\n"), failed.len(), cases.len());
}

#[test]
fn each_case_has_the_findings_that_it_names() {
    check_all(&project().join("tests/cli/sessions/cases"), check_findings);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs the folder of reference files")]
fn each_shared_case_has_the_findings_that_it_names() {
    check_all(&shared::folder().join("cases"), check_findings);
}

struct Mended {
    bytes: Vec<u8>,
    aside: Vec<Vec<u8>>,
    repair: Repair,
}

fn mend(path: &Path, wishes: &RepairOptions) -> Result<Mended, String> {
    let (examined, old) = examine(path).map_err(|error| error.to_string())?;
    let stem = path.file_stem().unwrap().to_str().unwrap();
    let repair = fsck::repair(&examined, &old, &NoSurroundings(stem), wishes, &mut Ids::seeded("1"))
        .map_err(|error| error.to_string())?;
    let aside = repair.aside.iter().map(|aside| match &aside.content {
        Piece::Keep(span) => old.bytes(*span).unwrap(),
        Piece::New(bytes) => bytes.clone(),
    });
    Ok(Mended { bytes: applied(&repair.plan, &old), aside: aside.collect(), repair })
}

/// Examines bytes as if they were in the file.
fn examine_bytes(path: &Path, bytes: &[u8]) -> Examined {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    let table = Table(vec![bytes.to_vec()]);
    fsck::examine(None, &table, bytes.len() as u64, None, &NoSurroundings(stem)).unwrap()
}

fn strings(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(object) => object.values().for_each(|item| strings(item, out)),
        _ => {}
    }
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}

/// Returns the entries of a file as the answers count them: id, parent, and the object.
fn entries(format: &str, bytes: &[u8]) -> Vec<(String, Option<String>, Value)> {
    let (id, parent) = match format {
        "claude" => ("uuid", "parentUuid"),
        "chimera" => ("id", "parent_id"),
        _ => ("id", "parentId"),
    };
    let mut out: Vec<(String, Option<String>, Value)> = Vec::new();
    let mut seen = HashSet::new();
    for line in lines(bytes) {
        let Ok(value) = serde_json::from_str::<Value>(&String::from_utf8_lossy(line)) else { continue };
        let Some(ty) = value["type"].as_str() else { continue };
        if matches!(format, "pi" | "omp") && matches!(ty, "session" | "title") {
            continue;
        }
        let Some(name) = value[id].as_str() else { continue };
        if seen.insert(name.to_owned()) {
            out.push((name.into(), value[parent].as_str().map(str::to_owned), value));
        }
    }
    out
}

fn leaf_of(format: &str, entries: &[(String, Option<String>, Value)]) -> Option<String> {
    let is_turn = |value: &Value| matches!(value["type"].as_str(), Some("user" | "assistant"));
    if format == "claude" {
        let turns = || entries.iter().rev().filter(|(.., value)| is_turn(value));
        let main = turns().find(|(.., value)| value["isSidechain"] != Value::Bool(true));
        return main.or(turns().next()).map(|(id, ..)| id.clone());
    }
    let last = entries.last()?;
    match last.2["type"].as_str() {
        Some("leaf") => last.2["targetId"].as_str().map(str::to_owned),
        _ => Some(last.0.clone()),
    }
}

fn path_of(leaf: &str, entries: &[(String, Option<String>, Value)]) -> Vec<String> {
    let parents: BTreeMap<&str, Option<&str>> =
        entries.iter().map(|(id, parent, _)| (id.as_str(), parent.as_deref())).collect();
    let mut path = Vec::new();
    let mut at = Some(leaf);
    while let Some(id) = at.filter(|id| parents.contains_key(id) && path.len() <= entries.len()) {
        path.push(id.to_owned());
        at = parents[id];
    }
    path.reverse();
    path
}

fn check_repair(path: &Path) -> Result<(), String> {
    let expect: Value =
        serde_json::from_slice(&fs::read(path.with_extension("expect.json")).unwrap()).unwrap();
    let wanted = &expect["repair"];
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let old = fs::read(path).unwrap();
    let mended = match mend(path, &RepairOptions::default()) {
        Ok(mended) => mended,
        Err(_) if wanted["must_be_unchanged"] == Value::Bool(true) => return Ok(()),
        Err(error) => return Err(format!("{name}: {error}")),
    };
    let fail = |what: &str, found: &dyn std::fmt::Debug| {
        Err(format!("{name}: {what}: {found:?}\n{}", String::from_utf8_lossy(&mended.bytes)))
    };
    if wanted["must_be_unchanged"] == Value::Bool(true) && mended.bytes != old {
        return fail("changed", &());
    }
    let format = expect["format"].as_str().unwrap();
    let list = |key: &str| wanted[key].as_array().cloned().unwrap_or_default();
    let after = entries(format, &mended.bytes);
    let ids: Vec<&str> = after.iter().map(|(id, ..)| id.as_str()).collect();
    for id in list("must_keep_ids").iter().chain(&list("salvage_ids")) {
        if !ids.contains(&id.as_str().unwrap()) {
            return fail("an id is gone", id);
        }
    }
    let (old_lines, new_lines) = (lines(&old), lines(&mended.bytes));
    for number in list("must_keep_lines") {
        if !new_lines.contains(&old_lines[number.as_u64().unwrap() as usize - 1]) {
            return fail("a line is gone", &number);
        }
    }
    for number in list("quarantine_lines") {
        let line = old_lines[number.as_u64().unwrap() as usize - 1];
        if new_lines.contains(&line) || !mended.aside.iter().any(|aside| aside == line) {
            return fail("a line is not set aside", &number);
        }
    }
    let mut texts = Vec::new();
    for line in &new_lines {
        if let Ok(value) = serde_json::from_str(&String::from_utf8_lossy(line)) {
            strings(&value, &mut texts);
        }
    }
    for text in list("must_keep_texts") {
        if !texts.iter().any(|known| known.contains(text.as_str().unwrap())) {
            return fail("a text is gone", &text);
        }
    }
    if let Some(count) = wanted["entries_after"].as_u64()
        && count as usize != after.len()
    {
        return fail("entries", &after.len());
    }
    for (id, parent) in wanted["parents_after"].as_object().into_iter().flatten() {
        let found = after.iter().find(|(known, ..)| known == id).map(|(_, parent, _)| parent.as_deref());
        if found != Some(parent.as_str()) {
            return fail("a parent", &(id, found));
        }
    }
    let leaf = leaf_of(format, &after);
    if let Some(wanted) = wanted["leaf_after"].as_str()
        && leaf.as_deref() != Some(wanted)
    {
        return fail("the leaf", &leaf);
    }
    if !wanted["path_after"].is_null() {
        let found = Value::from(path_of(leaf.as_deref().unwrap_or_default(), &after));
        if found != wanted["path_after"] {
            return fail("the path", &found);
        }
    }
    if mended.bytes.is_empty() {
        return Ok(());
    }
    let again = examine_bytes(path, &mended.bytes);
    let left = counts(&again, &[Level::Error, Level::Warning]);
    if !wanted["after"]["checks"].is_null() && left != expected(&wanted["after"]["checks"]) {
        return fail("left", &left);
    }
    // A second repair does nothing.
    let table = Table(vec![mended.bytes.clone()]);
    let second = fsck::repair(
        &again,
        &table,
        &NoSurroundings(&name),
        &RepairOptions::default(),
        &mut Ids::seeded("2"),
    )
    .unwrap();
    if !second.plan.is_empty() {
        return fail("a second repair", &second.plan.changes);
    }
    let _ = mended.repair.proof.path;
    Ok(())
}

#[test]
fn each_case_is_mended_as_it_says() {
    check_all(&project().join("tests/cli/sessions/cases"), check_repair);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs the folder of reference files")]
fn each_shared_case_is_mended_as_it_says() {
    check_all(&shared::folder().join("cases"), check_repair);
}

/// Runs the program itself on a case: checking writes nothing; `-n` writes nothing and ends like
/// the repair; the file then has the planned content; a second repair does nothing; and `undo`
/// restores the old bytes.
fn check_command(path: &Path) -> Result<(), String> {
    let expect: Value =
        serde_json::from_slice(&fs::read(path.with_extension("expect.json")).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(path.file_name().unwrap());
    let old = fs::read(path).unwrap();
    fs::write(&file, &old).unwrap();
    let bough = |words: &[&str]| {
        let output = crate::support::sandbox::bough(folder.path()).args(words).arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said, fs::read(&file).unwrap())
    };
    let fail = |what: &str, (code, said, _): &(Option<i32>, String, Vec<u8>)| {
        Err(format!("{}: {what}: {code:?} {said}", path.display()))
    };
    let looked = bough(&["fsck"]);
    let unreadable = examine(path).is_err();
    let exit = expect["fsck"]["exit"].as_i64().or(unreadable.then_some(3));
    if exit.is_some_and(|exit| looked.0 != Some(exit as i32)) || looked.2 != old {
        return fail("fsck", &looked);
    }
    let planned = bough(&["fsck", "--repair", "--force", "-n"]);
    let mended = bough(&["fsck", "--repair", "--force"]);
    if planned.2 != old || planned.0 != mended.0 {
        return fail("-n", &planned);
    }
    let wanted = match mend(path, &RepairOptions::default()) {
        Ok(mended) => mended,
        Err(_) if mended.2 == old && matches!(mended.0, Some(3 | 5)) => return Ok(()),
        Err(error) => return fail(&error, &mended),
    };
    // Invented entries have other ids and times.
    let made_up = wanted.repair.plan.changes.iter().any(|change| {
        matches!(change.op, "insert" | "append") && change.bytes > 2
            || matches!(&*change.field, "id" | "uuid" | "tool id")
    });
    if mended.2 != wanted.bytes && !made_up || (mended.2 == old) != wanted.repair.plan.is_empty() {
        return fail("the repair", &mended);
    }
    let left = wanted.repair.left.of_level(Level::Error) > 0;
    if mended.0 != Some(i32::from(left)) {
        return fail("the exit of the repair", &mended);
    }
    let again = bough(&["fsck", "--repair", "--force"]);
    if again.2 != mended.2 || again.0 != mended.0 {
        return fail("a second repair", &again);
    }
    if mended.2 != old {
        let undone = bough(&["undo", "-s"]);
        if undone.0 != Some(0) || undone.2 != old {
            return fail("undo", &undone);
        }
    }
    Ok(())
}

#[test]
fn the_command_does_to_each_case_what_it_says() {
    check_all(&project().join("tests/cli/sessions/cases"), check_command);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs the folder of reference files")]
fn the_command_does_to_each_shared_case_what_it_says() {
    check_all(&shared::folder().join("cases"), check_command);
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
        Some("claude") => crate::claude_facts::facts(&opened),
        _ => crate::corpus::case_facts(&opened),
    };
    for (field, wanted) in expect["facts"].as_object().into_iter().flatten() {
        if facts[field] != *wanted {
            return Err(format!("{}: {field} is {}, not {wanted}", path.display(), facts[field]));
        }
    }
    Ok(())
}

/// A session file with the files around it.
struct Beside(PathBuf, String);

impl Beside {
    fn of(path: &Path) -> Beside {
        Beside(path.to_owned(), path.file_stem().unwrap().to_string_lossy().into_owned())
    }
}

impl Surroundings for Beside {
    fn stem(&self) -> &str {
        &self.1
    }

    fn elsewhere(&self, links: &[(Key, Key)]) -> HashSet<Key> {
        let mut files = sessions_below(self.0.parent().unwrap());
        files.retain(|file| *file != self.0);
        let options = store::Options::default();
        let sessions = files.iter().filter_map(|file| store::open(file, options).ok());
        let lean = sessions.flat_map(|opened| {
            let known: HashSet<Key> = opened.session.entries.keys().iter().copied().collect();
            let lean =
                links.iter().filter(|(entry, parent)| known.contains(parent) && !known.contains(entry));
            lean.map(|(entry, _)| *entry).collect::<Vec<_>>()
        });
        lean.collect()
    }

    fn agents(&self) -> Option<Vec<String>> {
        None
    }

    fn has_result_file(&self, _: &str) -> bool {
        true
    }

    fn has_blob(&self, _: &str) -> bool {
        true
    }
}

/// Files of the corpus that raise an alarm, and why that is right.
const ALARMS: &[(&str, &str)] = &[
    // Intentional damage.
    ("chimera/edge-", "made to try damage"),
    ("pi/edge-", "made to try damage"),
    ("claude-code/bad-lines", "made to try damage"),
    ("claude-code/cycle-", "made to try damage"),
    ("claude-code/self-loop", "made to try damage"),
    ("claude-code/orphan-chain", "made to try damage"),
    ("claude-code/root-attachment", "its orphan is made on purpose"),
    ("claude-code/root-progress-orphan", "its orphan is made on purpose"),
    ("claude-code/root-unexpected-orphan", "its orphan is made on purpose"),
    ("claude-code/same-file-duplicate", "its repeated id is made on purpose"),
    ("claude-code/compact-reappended", "a boundary was written again, without lists of what it keeps"),
    ("claude-code/leaf-copied-line", "a line was copied to move the leaf"),
    ("claude-code/r3-dead-end-depth", "tool results without calls are made on purpose"),
    ("claude-code/r5-foreign-result", "a tool result without a call is made on purpose"),
    ("claude-code/upstream/record-samples", "single records of many sessions"),
    ("pi/merge-picked-compaction-bad", "a compaction was picked without what it keeps"),
    ("pi/merge-picked-result-only", "a tool result was picked without its call"),
    ("pi/omp18-fork.branched-broken", "oh-my-pi leaves a link to a dropped label"),
    ("pi/pi073-fork-orphans.branched-broken", "pi 0.73 leaves a link to a dropped label"),
    ("pi/v1-hand-compaction-after-bad-line", "made to try damage"),
    ("pi/v1-hand-no-version-but-ids.migrated", "pi gives new ids, and its labels name the old ones"),
    ("pi/v2-hand-design-doc-uuid", "a sample without times; what pi makes of it has no ids"),
    // Intact files that cause warnings nevertheless.
    ("claude-code/r7-rewind-first-prompt", "a rewind to the start is a root in the middle"),
    ("claude-code-real/rewind-to-start", "a rewind to the start is a root in the middle"),
    ("claude-code/subagent-interrupted", "the call of a killed agent has no result"),
    ("claude-code-real/killed-in-tool", "the call of a killed tool has no result"),
    ("claude-code-real/old-2.0.76/6b3df817", "an empty file"),
    ("claude-code-real/old-2.0.76/bad42fce", "an empty file"),
    (
        "claude-code/workflow-run/5e550001-0000-4000-8000-000000000001/subagents/workflows",
        "a journal, no session",
    ),
    ("pi/harness084-v4", "version 4 is only recognized"),
    ("pi/harness087-v4", "version 4 is only recognized"),
    ("pi/omp18-custom", "an aborted reply has a call without a result"),
    ("pi/omp18-usage-on-other-branch", "the last line is bookkeeping on another branch"),
    ("pi/pi16-multi-root", "the last line is bookkeeping before the first message"),
    ("pi/real-v1-", "calls of aborted replies have no results"),
    ("pi/switch-label", "a label on another branch is the last line"),
    ("pi/switch-sessioninfo", "a name on another branch is the last line"),
];

#[test]
#[cfg_attr(not(shared), ignore = "needs the folder of reference files")]
fn no_sound_file_raises_an_alarm() {
    let corpus = shared::folder().join("corpus");
    let files = sessions_below(&corpus);
    let mut alarms = Vec::new();
    let mut meant: BTreeMap<&str, usize> = ALARMS.iter().map(|(name, _)| (*name, 0)).collect();
    for file in &files {
        let name = file.strip_prefix(&corpus).unwrap().to_string_lossy().into_owned();
        let found = match examine_beside(file, &Beside::of(file)) {
            Ok((examined, _)) => counts(&examined, &[Level::Error, Level::Warning]),
            Err(error) => BTreeMap::from([(error.to_string(), 1)]),
        };
        if found.is_empty() {
            continue;
        }
        match ALARMS.iter().find(|(known, _)| name.starts_with(known)) {
            Some((known, _)) => *meant.get_mut(known).unwrap() += 1,
            None => alarms.push(format!("{name}: {found:?}")),
        }
    }
    assert!(alarms.is_empty(), "{}\n{} of {}", alarms.join("\n"), alarms.len(), files.len());
    meant.retain(|_, count| *count == 0);
    assert!(meant.is_empty(), "these raise no alarm: {:?}", meant.keys());
}

/// A file in memory of which only a part may be read at once.
struct InParts(Table, u64);

impl Source for InParts {
    fn read(&self, span: bough::model::Span, into: &mut Vec<u8>) -> std::io::Result<()> {
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
