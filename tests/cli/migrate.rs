//! Compares the results of `migrate` with the real program, for the files with recorded answers.

use bough::format::{Format, Ids, Session};
use bough::model::{Piece, Table};
use bough::ops::migrate::{self, Migration, Options};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;

/// Returns the old files with the results of pi 1.6.0, with ids written as `#1`, `#2` by position.
fn recorded() -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let folder = crate::support::files::project().join("tests/cli/sessions/pi");
    let mut out = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(stem) = name.strip_suffix(".migrated.jsonl") {
            let old = fs::read(folder.join(format!("{stem}.jsonl"))).unwrap();
            out.push((stem.to_owned(), old, fs::read(&path).unwrap()));
        }
    }
    out.sort();
    assert!(out.len() >= 20, "the recorded files are there");
    out
}

fn migrated(old: &[u8], options: Options) -> (Vec<u8>, Migration) {
    let session = Session::read(old).unwrap();
    let source = Table(vec![old.to_vec()]);
    let made = migrate::migrate(&session, &source, options, &mut Ids::seeded("1")).unwrap();
    let new = if made.pieces.is_empty() { old.to_vec() } else { Piece::join(&made.pieces, &source).unwrap() };
    (new, made)
}

/// Returns the valid lines, with ids and references replaced by positions, and numbers as in
/// JavaScript.
fn by_place(bytes: &[u8]) -> Vec<Value> {
    let lines: Vec<Value> =
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let ids: HashMap<String, String> = lines
        .iter()
        .filter(|line| line["type"] != "session")
        .enumerate()
        .filter_map(|(place, line)| Some((line["id"].as_str()?.to_owned(), format!("#{}", place + 1))))
        .collect();
    let mut out = lines;
    for line in &mut out {
        if line["type"] == "session" {
            continue;
        }
        for field in ["id", "parentId", "targetId", "fromId", "firstKeptEntryId"] {
            let named = line[field].as_str().and_then(|id| ids.get(id));
            if let Some(place) = named {
                line[field] = place.clone().into();
            } else if line[field].is_null() && field != "parentId" {
                line.as_object_mut().unwrap().shift_remove(field);
            }
        }
    }
    out
}

#[test]
fn the_exact_way_gives_what_pi_gives() {
    for (name, old, wanted) in recorded() {
        let exact = Options { exact: true, ..Options::default() };
        assert_eq!(by_place(&migrated(&old, exact).0), by_place(&wanted), "{name}");
    }
}

#[test]
fn the_usual_way_gives_the_same_where_nothing_would_be_lost() {
    let otherwise =
        ["v1-hand-compaction-index-forward", "v1-hand-compaction-index-header", "v2-hand-design-doc-uuid"];
    for (name, old, wanted) in recorded() {
        let (new, _) = migrated(&old, Options::default());
        assert_eq!(by_place(&new) == by_place(&wanted), !otherwise.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn what_is_migrated_is_of_the_newest_version_and_does_not_change_again() {
    for (name, old, _) in recorded() {
        for exact in [false, true] {
            let options = Options { exact, ..Options::default() };
            let (new, _) = migrated(&old, options);
            let session = Session::read(&new).unwrap();
            assert_eq!(session.format, Format::Pi, "{name}");
            assert_eq!(migrated(&new, options).0, new, "{name}");
        }
    }
}

#[test]
fn two_steps_lead_where_one_does() {
    for (name, old, _) in recorded() {
        let half = migrated(&old, Options { to: 2, ..Options::default() }).0;
        if name.starts_with("v1") {
            assert_eq!(Session::read(&half).unwrap().format, Format::PiV2, "{name}");
        }
        let (whole, twice) = (migrated(&old, Options::default()).0, migrated(&half, Options::default()).0);
        assert_eq!(String::from_utf8(twice).unwrap(), String::from_utf8(whole).unwrap(), "{name}");
    }
}

#[test]
fn the_bytes_of_what_was_said_stay() {
    for (name, old, _) in recorded() {
        let new = migrated(&old, Options::default()).0;
        let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
        let (old, new) = (lines(&old), lines(&new));
        assert_eq!(old.len(), new.len(), "{name}");
        for (old, new) in old.iter().zip(&new) {
            for field in ["message", "summary", "timestamp", "data", "content", "usage", "details", "cwd"] {
                let value = |line: &'_ [u8]| bough::json::value(line, &[field]).map(<[u8]>::to_vec);
                let wanted = value(old)
                    .map(|value| String::from_utf8(value).unwrap().replace("hookMessage", "custom"));
                assert_eq!(value(new).map(|value| String::from_utf8(value).unwrap()), wanted, "{name}");
            }
            if bough::json::members(old).is_none() {
                assert_eq!(old, new, "{name}: a line that can't be read");
            }
        }
    }
}

/// The facts stated about old files among the cases: versions, entries, what compactions keep,
/// roles.
#[test]
#[cfg_attr(not(shared), ignore = "needs the folder of reference files")]
fn the_stated_facts_hold() {
    let mut met = 0;
    for kind in fs::read_dir(crate::support::shared::folder().join("cases")).unwrap() {
        let Ok(files) = fs::read_dir(kind.unwrap().path()) else { continue };
        for file in files {
            let path = file.unwrap().path();
            let Some(stem) = path.to_string_lossy().strip_suffix(".expect.json").map(str::to_owned) else {
                continue;
            };
            let facts: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let facts = &facts["migrate"];
            if facts.is_null() {
                continue;
            }
            met += 1;
            let (new, _) = migrated(&fs::read(format!("{stem}.jsonl")).unwrap(), Options::default());
            let session = Session::read(&new).unwrap();
            let lines: Vec<Value> = new
                .split(|byte| *byte == b'\n')
                .map(|line| serde_json::from_slice(line).unwrap_or_default())
                .collect();
            assert_eq!(lines[0]["version"], facts["version"], "{stem}");
            assert_eq!(session.entries.len() as u64, facts["entries"].as_u64().unwrap(), "{stem}");
            for kept in facts["kept"].as_array().into_iter().flatten() {
                let line = |key: &str| &lines[kept[key].as_u64().unwrap() as usize - 1];
                let wanted =
                    if kept["kept_line"].is_null() { &Value::Null } else { &line("kept_line")["id"] };
                assert_eq!(&line("compaction_line")["firstKeptEntryId"], wanted, "{stem}");
            }
            for (id, role) in facts["roles"].as_object().into_iter().flatten() {
                let line = lines.iter().find(|line| line["id"] == **id).unwrap();
                assert_eq!(&line["message"]["role"], role, "{stem}");
            }
            if facts["linear"] == true {
                let mut before = Value::Null;
                for line in lines.iter().skip(1).filter(|line| line.is_object()) {
                    assert_eq!(line["parentId"], before, "{stem}");
                    before = line["id"].clone();
                }
            }
        }
    }
    assert!(met >= 2, "{met} cases");
}

/// Real files of version 1: a chain of as many entries as pi counts, and the same messages to the
/// model.
#[test]
#[cfg_attr(not(shared), ignore = "needs the folder of reference files")]
fn real_files_of_version_1_are_what_pi_makes_of_them() {
    let folder = crate::support::shared::folder().join("corpus/pi");
    for name in ["real-v1-large-session", "real-v1-before-compaction"] {
        let old = fs::read(folder.join(format!("{name}.jsonl"))).unwrap();
        let recorded: Value =
            serde_json::from_slice(&fs::read(folder.join(format!("{name}.expected.json"))).unwrap()).unwrap();
        let (new, _) = migrated(&old, Options { exact: true, ..Options::default() });
        let session = Session::read(&new).unwrap();
        let source = Table(vec![new]);
        assert_eq!(session.entries.len() as u64, recorded["entry_count"].as_u64().unwrap(), "{name}");
        assert_eq!(session.path().len(), recorded["path_ids"].as_array().unwrap().len(), "{name}");
        let at = bough::context::Context::position(&session);
        let context = bough::context::Context::build(&session, &source, at).unwrap();
        let roles: Vec<&str> = context.messages.iter().map(|message| &*message.role).collect();
        let wanted: Vec<&str> = recorded["context_messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["role"].as_str().unwrap())
            .collect();
        assert!(roles == wanted, "{name}: {} messages, {} recorded", roles.len(), wanted.len());
    }
}
