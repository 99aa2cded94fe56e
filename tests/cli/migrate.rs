//! Compares the results of `migrate` with the real program, for the files with recorded answers.

use crate::support::applied::migrated;
use bough::internals::format::{Format, Session};
use bough::internals::ops::migrate::Options;
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
                let value =
                    |line: &'_ [u8]| bough::internals::json::member_at(line, &[field]).map(<[u8]>::to_vec);
                let wanted = value(old)
                    .map(|value| String::from_utf8(value).unwrap().replace("hookMessage", "custom"));
                assert_eq!(value(new).map(|value| String::from_utf8(value).unwrap()), wanted, "{name}");
            }
            if bough::internals::json::members(old).is_none() {
                assert_eq!(old, new, "{name}: a line that can't be read");
            }
        }
    }
}
