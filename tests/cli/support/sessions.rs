//! The session files of the tests, and those below a folder.

use super::files::project;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folder of the sessions of the project.
pub fn folder() -> PathBuf {
    project().join("tests/cli/sessions")
}

/// Returns the session files below a folder, sorted by their paths.
pub fn sessions_below(folder: &Path) -> Vec<PathBuf> {
    fn add(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    add(folder, &mut found);
    found.sort();
    found
}

/// Returns the sessions of the project.
pub fn sessions() -> Vec<PathBuf> {
    let found = sessions_below(&project().join("tests/cli/sessions"));
    assert!(!found.is_empty());
    found
}

/// Returns the sessions of formats that are only read.
pub fn guests() -> Vec<PathBuf> {
    sessions_below(&project().join("tests/cli/sessions/guests"))
}
