//! Compares the committed completion scripts and manual pages with the program.
//!
//! `BOUGH_BLESS=1 cargo test generated` writes them anew.

use crate::support::files::project;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn generated_manual_pages_are_fresh() {
    hold(&project().join("man"), bough::internals::cmd::man_pages().unwrap());
}

#[test]
fn generated_completions_are_fresh() {
    hold(&project().join("completions"), bough::internals::cmd::completion_scripts());
}

#[test]
fn manual_pages_say_the_name_once_and_arguments_before_options() {
    for (name, page) in bough::internals::cmd::man_pages().unwrap() {
        let page = String::from_utf8(page).unwrap();
        let lines: Vec<&str> = page.lines().collect();
        let after = |heading: &str| {
            let at = lines.iter().position(|line| *line == heading)?;
            lines.get(at + 1).map(|line| line.split_once(" \\- ").map_or(*line, |(_, about)| about))
        };
        let about = after(".SH NAME").unwrap();
        assert_ne!(after(".SH DESCRIPTION"), Some(about), "{name}");
        let heading = |wanted: &str| lines.iter().position(|line| *line == wanted);
        if let (Some(arguments), Some(options)) = (heading(".SH ARGUMENTS"), heading(".SH OPTIONS")) {
            assert!(arguments < options, "{name}");
        }
    }
    let pages = bough::internals::cmd::man_pages().unwrap();
    let with_arguments =
        pages.iter().filter(|(_, page)| String::from_utf8_lossy(page).contains(".SH ARGUMENTS"));
    assert!(with_arguments.count() > 10);
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
