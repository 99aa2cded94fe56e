//! Finds the session files below a folder.

use std::fs;
use std::path::{Path, PathBuf};

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
