//! The facts that a reader sees in intact and damaged transcripts of Claude Code, as stated by the
//! cases.

use crate::support::facts::claude_facts;
use crate::support::need::reference_files;
use bough::internals::format::Format;
use bough::internals::store::{self, Options};
use serde_json::Value;
use std::fs;

/// Facts that bough reports differently: the case, the fact, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "replayed-before-second-compaction",
    "roots",
    "the client takes the last copy of an entry, which stands behind another root",
)];

pub fn facts_of_cases() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    let mut folders: Vec<_> = fs::read_dir(reference_files().join("cases")).unwrap().flatten().collect();
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
            let facts = claude_facts(&opened);
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
