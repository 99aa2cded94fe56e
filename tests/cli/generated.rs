//! Holds the committed completion scripts and manual pages to the program.
//!
//! `BOUGH_BLESS=1 cargo test generated` writes them anew.

use crate::files::project;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn generated_manual_pages_are_fresh() {
    hold(&project().join("man"), bough::cmd::man_pages().unwrap());
}

#[test]
fn generated_completions_are_fresh() {
    hold(&project().join("completions"), bough::cmd::completion_scripts());
}

fn hold(folder: &Path, files: Vec<(String, Vec<u8>)>) {
    let names: BTreeSet<&String> = files.iter().map(|(name, _)| name).collect();
    let there = || {
        fs::read_dir(folder)
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
    };
    if std::env::var_os("BOUGH_BLESS").is_some() {
        fs::create_dir_all(folder).unwrap();
        for stale in there().filter(|name| !names.contains(name)) {
            fs::remove_file(folder.join(stale)).unwrap();
        }
        for (name, content) in &files {
            fs::write(folder.join(name), content).unwrap();
        }
        return;
    }
    let mut stale: Vec<String> = there().filter(|name| !names.contains(name)).collect();
    stale.extend(
        files
            .iter()
            .filter(|(name, content)| fs::read(folder.join(name)).ok().as_ref() != Some(content))
            .map(|(name, _)| name.clone()),
    );
    assert!(
        stale.is_empty(),
        "stale in {}: {}; run `BOUGH_BLESS=1 cargo test generated`",
        folder.display(),
        stale.join(", ")
    );
}
