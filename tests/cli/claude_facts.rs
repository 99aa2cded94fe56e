//! The facts that a reader sees in intact and damaged transcripts of Claude Code, as stated by the
//! cases.

use crate::support::shared;
use bough::format::Format;
use bough::model::{FaultKind, Ix, Parent, Source};
use bough::store::{self, Opened, Options};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;

/// Facts that bough reports differently: the case, the fact, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "replayed-before-second-compaction",
    "roots",
    "the client takes the last copy of an entry, which stands behind another root",
)];

#[test]
#[cfg_attr(not(shared), ignore = "needs the folder of reference files")]
fn facts_of_cases() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    let mut folders: Vec<_> = fs::read_dir(shared::folder().join("cases")).unwrap().flatten().collect();
    folders.sort_by_key(|folder| folder.path());
    for folder in folders.iter().filter(|folder| folder.path().is_dir()) {
        let mut files: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl")) {
            let Ok(expected) = fs::read(path.with_extension("expect.json")) else { continue };
            let expected: Value = serde_json::from_slice(&expected).unwrap();
            if expected["format"] != "claude" {
                continue;
            }
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let opened = match store::open(path, Options::default()) {
                Ok(opened) => opened,
                Err(store::Error::Empty { .. }) if expected["fsck"]["checks"].get("empty-file").is_some() => {
                    continue;
                }
                Err(error) => {
                    wrong.push(format!("{name}: {error}"));
                    continue;
                }
            };
            compared += 1;
            if opened.session.format != Format::Claude {
                wrong.push(format!("{name}: taken for {}", opened.session.format.name()));
                continue;
            }
            let facts = facts(&opened);
            for (field, wanted) in expected["facts"].as_object().into_iter().flatten() {
                let mut wanted = wanted.clone();
                if field == "tips" {
                    wanted.as_array_mut().unwrap().sort_by(|a, b| a.as_str().cmp(&b.as_str()));
                }
                let excepted = EXCEPTIONS.iter().any(|(case, fact, _)| *case == name && fact == field);
                if facts[field] != wanted && !excepted {
                    wrong.push(format!("{name}: {field}: bough {}, the case {wanted}", facts[field]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 30, "only {compared} files were compared");
}

/// Returns what bough sees, in the form of a case.
pub fn facts(opened: &Opened) -> Value {
    let session = &opened.session;
    let (entries, tree) = (&session.entries, &session.tree);
    // The facts concern whole lines; in a line with something after its object, Claude Code reads
    // the object.
    let glued: HashSet<u64> = session
        .faults
        .iter()
        .filter(|fault| matches!(fault.kind, FaultKind::Trailing { .. }))
        .map(|fault| fault.line)
        .collect();
    let whole = |ix: &Ix| !glued.contains(&entries.line(*ix)) && entries.key(*ix).is_some();
    let distinct: HashSet<_> = entries.all().filter(whole).map(|ix| entries.key(ix)).collect();
    let ids = |ixs: &mut dyn Iterator<Item = Ix>| ixs.map(|ix| id(opened, ix)).collect::<Vec<_>>();
    let path = session.path();
    let mut tips = ids(&mut tree.leaves().filter(whole));
    tips.sort();
    let labels: serde_json::Map<String, Value> =
        session.labels.all().map(|(ix, line)| (id(opened, ix), line.text.into())).collect();
    json!({
        "lines": session.files[0].lines,
        "records": session.files[0].records,
        "entries": distinct.len(),
        "roots": ids(&mut tree.entries_in_tree().filter(|ix| tree.link(*ix) == Parent::Root)),
        "leaf": session.head.entry.map(|ix| id(opened, ix)),
        "path": ids(&mut path.iter().copied()),
        "path_len": path.len(),
        "branches": tips.len(),
        "tips": tips,
        "labels": labels,
    })
}

fn id(opened: &Opened, ix: Ix) -> String {
    let line = opened.files.bytes(opened.session.span(ix)).unwrap();
    let id = bough::json::value(&line, &["uuid"]).unwrap_or_default();
    bough::json::string(id).unwrap_or_default().into_owned()
}
