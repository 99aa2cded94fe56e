//! What is checked of the sessions of the project is checked of the reference files, too.

use crate::support::agreement::{check_agreement, each};
use crate::support::formats::compare;
use crate::support::need::reference_files;
use crate::support::sessions::sessions_below;
use crate::support::written::check_written;
use std::fs;

pub fn the_formats_of_all_reference_files_are_as_recorded() {
    for part in ["corpus", "cases"] {
        compare(&reference_files().join(part), &format!("{part}/"));
    }
}

pub fn all_commands_agree_on_the_reference_files() {
    let mut paths = Vec::new();
    for folder in ["cases", "corpus"] {
        paths.extend(sessions_below(&reference_files().join(folder)));
    }
    paths.sort();
    paths.retain(|path| fs::metadata(path).unwrap().len() < 4 << 20);
    each(&paths, |at, name, bytes| check_agreement(name, bytes, at % 8 == 0));
}

pub fn the_same_in_sessions_that_stay_outside() {
    let counts = check_written(|session| session.starts_with("shared/"));
    assert!(counts.values().sum::<usize>() > 50, "{counts:?}");
}
