//! What `migrate` makes of the old sessions among the reference files.

use crate::support::applied::migrated;
use crate::support::need::reference_files;
use bough::internals::format::Session;
use bough::internals::model::Table;
use bough::internals::ops::migrate::Options;
use serde_json::Value;
use std::fs;

/// The facts stated about old files among the cases: versions, entries, what compactions keep,
/// roles.
pub fn the_stated_facts_hold() {
    let mut met = 0;
    for kind in fs::read_dir(reference_files().join("cases")).unwrap() {
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
pub fn real_files_of_version_1_are_what_pi_makes_of_them() {
    let folder = reference_files().join("corpus/pi");
    for name in ["real-v1-large-session", "real-v1-before-compaction"] {
        let old = fs::read(folder.join(format!("{name}.jsonl"))).unwrap();
        let recorded: Value =
            serde_json::from_slice(&fs::read(folder.join(format!("{name}.expected.json"))).unwrap()).unwrap();
        let (new, _) = migrated(&old, Options { exact: true, ..Options::default() });
        let session = Session::read(&new).unwrap();
        let source = Table(vec![new]);
        assert_eq!(session.entries.len() as u64, recorded["entry_count"].as_u64().unwrap(), "{name}");
        assert_eq!(session.path().len(), recorded["path_ids"].as_array().unwrap().len(), "{name}");
        let at = bough::internals::context::Context::position(&session);
        let context = bough::internals::context::Context::build(&session, &source, at).unwrap();
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
