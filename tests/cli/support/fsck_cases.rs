//! Cases of damage: whether `fsck` finds in one, and makes of it, what the answer beside it says.

use super::applied::applied;
use super::sandbox;
use super::sessions::sessions_below;
use bough::internals::format::Ids;
use bough::internals::fsck::{
    self, Check, Examined, Level, NoSurroundings, Repair, RepairOptions, Surroundings,
};
use bough::internals::model::{Piece, Source, Table};
use bough::internals::store;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the session files below a folder that have answers beside them.
pub fn cases_below(folder: &Path) -> Vec<PathBuf> {
    let mut cases = sessions_below(folder);
    cases.retain(|path| path.with_extension("expect.json").exists());
    cases
}

pub fn examine(path: &Path) -> Result<(Examined, Table), fsck::Unreadable> {
    examine_beside(path, &NoSurroundings(path.file_stem().unwrap().to_str().unwrap()))
}

pub fn examine_beside(path: &Path, around: &dyn Surroundings) -> Result<(Examined, Table), fsck::Unreadable> {
    let bytes = fs::read(path).unwrap();
    let options = store::Options { side: true, ..store::Options::default() };
    let session = store::open(path, options).ok().map(|opened| opened.session);
    let len = bytes.len() as u64;
    let table = Table(vec![bytes]);
    Ok((fsck::examine(session, &table, len, None, around)?, table))
}

pub fn counts(examined: &Examined, levels: &[Level]) -> BTreeMap<String, u64> {
    let rows = fsck::CHECKS.iter().filter(|row| levels.contains(&row.level));
    let counts = rows.map(|row| (row.id.to_owned(), examined.findings.count(row.check)));
    counts.filter(|(_, count)| *count > 0).collect()
}

pub fn expected(value: &Value) -> BTreeMap<String, u64> {
    let object = value.as_object().into_iter().flatten();
    object.map(|(id, count)| (id.clone(), count.as_u64().unwrap())).collect()
}

pub fn check_findings(path: &Path) -> Result<(), String> {
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

pub fn check_all(folder: &Path, check: impl Fn(&Path) -> Result<(), String>) {
    let cases = cases_below(folder);
    assert!(!cases.is_empty(), "no cases below {}", folder.display());
    let failed: Vec<String> = cases.iter().filter_map(|case| check(case).err()).collect();
    assert!(failed.is_empty(), "{}\n{} of {} failed", failed.join("\n"), failed.len(), cases.len());
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

pub fn check_repair(path: &Path) -> Result<(), String> {
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

/// Runs the program itself on a case: checking writes nothing; `-n` writes nothing and ends like
/// the repair; the file then has the planned content; a second repair does nothing; and `undo`
/// restores the old bytes.
pub fn check_command(path: &Path) -> Result<(), String> {
    let expect: Value =
        serde_json::from_slice(&fs::read(path.with_extension("expect.json")).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(path.file_name().unwrap());
    let old = fs::read(path).unwrap();
    fs::write(&file, &old).unwrap();
    let bough = |words: &[&str]| {
        let output = sandbox::bough(folder.path()).args(words).arg(&file).output().unwrap();
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
