//! Attributes and access control lists of files: what rewrites a file keeps them.

use crate::support::damage::tear;
use crate::support::files;
use crate::support::need::attributes::{ACCESS_LIST, NAME, access_list, get, set};
use crate::support::sandbox::{Place, code, said};

pub fn extended_attributes_outlive_a_repair_and_its_undo() {
    outlives(NAME, b"kept");
}

pub fn access_lists_outlive_a_repair_and_its_undo() {
    outlives(ACCESS_LIST, &access_list());
}

fn outlives(name: &str, value: &[u8]) {
    let place = Place::new();
    let path = place.path("s.jsonl");
    files::copy(&files::project().join("tests/cli/sessions/pi/two-attempts.jsonl"), &path);
    tear(&path);
    assert!(set(&path, name, value));
    for words in [
        &["fsck", "--repair", "s.jsonl"][..],
        &["undo", "s.jsonl"],
        &["label", "s.jsonl", "new"],
        &["redo", "s.jsonl"],
    ] {
        let done = place.run(words);
        let refused = words[0] == "label" && code(&done) == 5;
        assert!(code(&done) == 0 || refused, "{words:?}: {}", said(&done));
        assert_eq!(get(&path, name).as_deref(), Some(value), "{name} after {words:?}");
    }
}
