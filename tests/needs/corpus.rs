//! Compares what bough reads with the real programs, over all files for which their answer is
//! recorded.

use crate::support::facts::{as_text, case_facts, id, ids_of, sorted};
use crate::support::need::reference_files;
use bough::internals::format::Format;
use bough::internals::model::Ix;
use bough::internals::ops::filter::Mode;
use bough::internals::ops::ids;
use bough::internals::ops::rows::{Order, Rows};
use bough::internals::store::{self, Opened, Options};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Files where bough's answer differs from the recorded one: what differs, and why.
const EXCEPTIONS: &[(&str, &[&str], &str)] = &[
    (
        "edge-dup-id",
        &["branch_points"],
        "the program shows the last copy in the place of each; bough shows an id once",
    ),
    (
        "edge-scalar-last",
        &["entry_count", "leaves", "roots"],
        "a line that is no object is no entry to bough",
    ),
    (
        "edge-scalar-line",
        &["entry_count", "leaves", "roots"],
        "a line that is no object is no entry to bough",
    ),
    ("edge-empty-id", &["leaves"], "an empty id is none to bough"),
    (
        "v2-hand-design-doc-uuid",
        &["leaf", "path_ids", "leaves", "branch_points", "roots"],
        "bough reads the design document's form; no program does",
    ),
    (
        "harness083-v3-leaf",
        &["leaf", "path_ids"],
        "bough follows `leaf` entries, as the harness that writes them",
    ),
    ("switch-leaf", &["leaf", "path_ids"], "bough follows `leaf` entries, as the harness that writes them"),
    (
        "switch-leafparenttarget",
        &["leaf", "path_ids"],
        "bough follows `leaf` entries, as the harness that writes them",
    ),
];

pub fn pi_and_omp() {
    let (mut wrong, mut compared, mut refused) = (Vec::new(), 0, Vec::new());
    for path in files(&reference_files().join("corpus/pi")) {
        let name = stem(&path);
        if name.ends_with(".migrated") {
            continue;
        }
        let opened = store::open(&path, Options::default());
        let omp = matches!(&opened, Ok(opened) if opened.session.format == Format::Omp);
        let answer = path.with_extension(if omp { "expected.omp.json" } else { "expected.json" });
        let expected = read_json(&answer);
        if expected.get("error").is_some() || name == "edge-empty" {
            // The program refuses the file, or hangs; it overwrites an empty one. bough reads the
            // contents.
            refused.push((name, opened.map(|opened| opened.session)));
            continue;
        }
        match opened {
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(opened) => {
                compared += 1;
                compare(&name, &pi_facts(&opened), &expected, &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 100, "only {compared} files were compared");
    for (name, session) in refused {
        match session {
            Ok(session) => {
                let sound =
                    ["edge-header-", "edge-v4-", "harness08"].iter().any(|sound| name.starts_with(sound));
                assert!(sound || !session.faults.is_empty(), "{name}: no fault was found");
            }
            Err(store::Error::Empty { .. } | store::Error::UnknownFormat { .. }) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

pub fn the_harness_is_followed() {
    // The answer of the harness itself for a file for which pi's differs.
    let opened =
        store::open(&reference_files().join("corpus/pi/harness083-v3-leaf.jsonl"), Options::default());
    let opened = opened.unwrap();
    assert_eq!(opened.session.format, Format::Harness);
    let head = opened.session.head.entry.unwrap();
    assert_eq!(ids::id(&opened.session, &opened.files, head).unwrap(), "e051b99e");
}

pub fn chimera() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for path in files(&reference_files().join("corpus/chimera")) {
        let name = stem(&path);
        let expected = read_json(&path.with_extension("expected.json"));
        let opened = store::open(&path, Options::default()).unwrap();
        let session = &opened.session;
        if expected.get("load_error").is_some() || expected["path_ids"] == "hangs" {
            assert!(!session.faults.is_empty(), "{name}: no fault was found");
            continue;
        }
        compared += 1;
        let all = |ixs: &mut dyn Iterator<Item = Ix>| ids_of(&opened, ixs);
        let labels = session.labels.lines.iter().filter_map(|line| line.entry);
        let got = json!({
            "entry_count": session.entries.len(),
            "active_leaf": session.head.leaf.map(|leaf| id(&opened, leaf)),
            "path_ids": all(&mut session.head.leaf.map(|leaf| session.tree.path(leaf)).unwrap_or_default().into_iter()),
            "leaves": sorted(all(&mut session.tree.leaves())),
            "branch_points": sorted(all(&mut session.tree.branch_points())),
            "types": session.entries.all().map(|ix| session.entries.ty(ix)).collect::<Vec<_>>(),
        });
        assert_eq!(labels.count(), expected["labels"].as_array().unwrap().len(), "{name}");
        compare(&name, &got, &expected, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 8, "only {compared} files were compared");
}

/// The facts of the cases: what a reader sees in a damaged file without any repair.
pub fn facts_of_damaged_files() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    let folder = reference_files().join("cases");
    let mut kinds: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|kind| kind.unwrap().path()).collect();
    kinds.retain(|kind| kind.is_dir());
    kinds.sort();
    for path in kinds.iter().flat_map(|kind| files(kind)) {
        let name = stem(&path);
        let answer = path.with_extension("expect.json");
        if !answer.exists() {
            continue;
        }
        let expected = read_json(&answer);
        let format = expected["format"].as_str().unwrap();
        let opened = store::open(&path, Options::default());
        if format == "unknown" {
            compared += 1;
            let unknown =
                matches!(opened, Err(store::Error::UnknownFormat { .. } | store::Error::Empty { .. }));
            if !unknown {
                wrong.push(format!("{name}: taken for a session"));
            }
            continue;
        }
        if !["pi", "omp", "chimera"].contains(&format) {
            continue;
        }
        let opened = match opened {
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
        let agent = opened.session.format.agent();
        if agent != format && !(format == "omp" && agent == "pi") {
            wrong.push(format!("{name}: taken for {agent}, is {format}"));
        }
        let got = case_facts(&opened);
        let Some(facts) = expected["facts"].as_object() else { continue };
        for (field, wanted) in facts {
            let (got, mut wanted) = (&got[field], wanted.clone());
            if field == "tips" {
                wanted = sorted(wanted);
            }
            if *got != wanted {
                wrong.push(format!("{name}: {field}: bough {got}, the case {wanted}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 40, "only {compared} files were compared");
}

fn compare(name: &str, got: &Value, expected: &Value, wrong: &mut Vec<String>) {
    for (field, got) in got.as_object().unwrap() {
        let mut expected = expected[field].clone();
        match (field.as_str(), &expected) {
            // No entry is named `undefined`, and an empty id leads nowhere.
            ("leaf", Value::String(leaf)) if leaf == "(undefined)" || leaf.is_empty() => {
                expected = Value::Null
            }
            ("entry_count", _) => {}
            ("leaves" | "branch_points", _) => expected = sorted(expected),
            ("path_ids", Value::Array(_)) => expected.as_array_mut().unwrap().iter_mut().for_each(as_text),
            _ => as_text(&mut expected),
        }
        let excepted =
            |(file, fields, _): &(&str, &[&str], &str)| *file == name && fields.contains(&field.as_str());
        if *got != expected && !EXCEPTIONS.iter().any(excepted) {
            wrong.push(format!("{name}: {field}: bough {got}, the program {expected}"));
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    files
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn pi_facts(opened: &Opened) -> Value {
    let session = &opened.session;
    let tree = &session.tree;
    let labels: serde_json::Map<String, Value> =
        session.labels.all().map(|(ix, line)| (id(opened, ix), line.text.into())).collect();
    json!({
        "entry_count": session.entries.len(),
        "leaf": session.head.leaf.map(|leaf| id(opened, leaf)),
        "path_ids": ids_of(opened, &mut session.head.leaf.map(|leaf| tree.path(leaf)).unwrap_or_default().into_iter()),
        "leaves": sorted(ids_of(opened, &mut tree.leaves())),
        "branch_points": sorted(ids_of(opened, &mut tree.branch_points())),
        "roots": ids_of(opened, &mut tree.roots()),
        "labels": labels,
        "session_name": session.name,
    })
}

/// The filters of the agents' tree views: which rows they show, and in which order.
pub fn filters() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for path in files(&reference_files().join("corpus/pi")) {
        let answer = path.with_extension("filters.json");
        if !answer.exists() {
            continue;
        }
        let name = stem(&path);
        let expected = read_json(&answer);
        let mut opened = store::open(&path, Options::default()).unwrap();
        if opened.session.format == Format::Harness {
            // The view is pi's, which does not follow `leaf` entries.
            opened.session.head.leaf = opened.session.tree.entries_in_tree().next_back();
        }
        let session = &opened.session;
        for (mode_name, mode) in Mode::ALL {
            compared += 1;
            let order = Order::new(session, session.head.leaf);
            let rows = Rows::new(&session.tree, &order, |ix| mode.shows(session, ix));
            let got = ids_of(&opened, &mut rows.entries().iter().copied());
            if got != expected[mode_name] {
                wrong.push(format!("{name}: {mode_name}: bough {got}, the program {}", expected[mode_name]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 100, "only {compared} lists were compared");
}
