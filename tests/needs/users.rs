//! Files of other users: what this user may not write is not written, and nobody gets rights.

use crate::support::sandbox::{Place, code, copy_of_bough, said};
use crate::support::small_sessions::{Chance, Form, old_session, sound_session};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs bough as a user who owns nothing here. A copy is run, because the program itself may be out
/// of reach.
fn as_nobody(place: &Place, words: &[&str]) -> Output {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(place.path("nobody/bough"));
    command.args(words).current_dir(place.folder.path()).env_clear().uid(65534).gid(65534);
    command
        .env("HOME", place.folder.path())
        .env("XDG_STATE_HOME", place.path("nobody/state"))
        .output()
        .unwrap()
}

pub fn what_the_user_may_not_write_is_not_written() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(place.folder.path(), 0o755);
    fs::create_dir(place.path("nobody")).unwrap();
    open(&place.path("nobody"), 0o777);
    copy_of_bough(&place.path("nobody/bough"));
    let (text, ids) = sound_session(Form::Pi, &mut Chance(5));
    let path = place.put("s.jsonl", text.as_bytes());
    open(&path, 0o644);
    for words in [vec!["switch", "s.jsonl", &ids[1]], vec!["label", "s.jsonl", "x", &ids[1]]] {
        let refused = as_nobody(&place, &words);
        assert_eq!(code(&refused), 6, "{words:?}: {}", said(&refused));
        assert_eq!(fs::read(&path).unwrap(), text.as_bytes());
    }
    // A file of another owner that everybody may write: an append is fine.
    open(&path, 0o666);
    let done = as_nobody(&place, &["switch", "s.jsonl", &ids[1]]);
    assert_eq!(code(&done), 0, "{}", said(&done));
    assert!(fs::read(&path).unwrap().starts_with(text.as_bytes()));
    // A file is rewritten neither in a folder that is not writable, nor if it could not keep its
    // owner.
    let old = place.put("old.jsonl", &old_session());
    open(&old, 0o666);
    for (mode, told) in [(0o755, "this user can't write to the file"), (0o777, "as the owner of the file")] {
        open(place.folder.path(), mode);
        for words in [vec!["migrate", "old.jsonl"], vec!["migrate", "old.jsonl", "-n"]] {
            let refused = as_nobody(&place, &words);
            assert_eq!(code(&refused), 6, "{words:?}: {}", said(&refused));
            assert!(said(&refused).contains(told), "{words:?}: {}", said(&refused));
            assert_eq!(fs::read(&old).unwrap(), old_session());
        }
    }
    open(place.folder.path(), 0o755);
    let refused = as_nobody(&place, &["export-branch", "s.jsonl", "-o", "new/out.jsonl"]);
    assert_eq!(code(&refused), 6, "{}", said(&refused));
    assert_eq!(place.names(), ["nobody", "old.jsonl", "s.jsonl"]);
    // A folder that can't be read.
    fs::create_dir(place.path("closed")).unwrap();
    fs::write(place.path("closed/s.jsonl"), &text).unwrap();
    open(&place.path("closed"), 0o700);
    let refused = as_nobody(&place, &["switch", "closed/s.jsonl", &ids[1]]);
    assert!(matches!(code(&refused), 4 | 6), "{}", said(&refused));
}

pub fn a_group_that_can_not_be_kept_has_no_rights() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let place = Place::new();
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(place.folder.path(), 0o777);
    fs::create_dir(place.path("nobody")).unwrap();
    open(&place.path("nobody"), 0o777);
    copy_of_bough(&place.path("nobody/bough"));
    // The user owns the file, but is not in its group.
    for (group, mode, kept) in [(101, 0o664, 0o604), (101, 0o2660, 0o600), (65534, 0o660, 0o660)] {
        let path = place.put("s.jsonl", &old_session());
        std::os::unix::fs::chown(&path, Some(65534), Some(group)).unwrap();
        open(&path, mode);
        let done = as_nobody(&place, &["migrate", "s.jsonl"]);
        assert_eq!(code(&done), 0, "{}", said(&done));
        let facts = fs::metadata(&path).unwrap();
        assert_eq!((facts.uid(), facts.gid()), (65534, 65534));
        assert_eq!(facts.mode() & 0o7777, kept, "{mode:o}");
        fs::remove_file(path).unwrap();
    }
}
