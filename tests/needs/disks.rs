//! Disks that are full, or can't be written to: a command that can't write changes nothing.

use crate::support::sandbox::{Place, code, said};
use crate::support::small_sessions::{Chance, Form, old_session, sound_session};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

/// Mounts a small file system.
fn small_disk(place: &Place, options: &str) -> Mount {
    let path = place.path("disk");
    fs::create_dir(&path).unwrap();
    let done =
        Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&path).output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    Mount(path)
}

struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

fn age(path: &Path) {
    let old = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    fs::File::options().append(true).open(path).unwrap().set_modified(old).unwrap();
}

pub fn a_full_disk_changes_nothing() {
    let place = Place::new();
    let disk = small_disk(&place, "size=64k");
    let path = disk.0.join("s.jsonl");
    let (text, ids) = sound_session(Form::Pi, &mut Chance(3));
    // The file fills its last page, and another file the rest.
    let line = format!(
        "{{\"type\":\"message\",\"id\":\"ffff0000\",\"parentId\":\"{}\",\"timestamp\":\"2026-03-01T01:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"\"}}}}\n",
        ids[0]
    );
    let fill = 8192 - text.len() - line.len();
    let text = text + &line.replace("\"content\":\"\"", &format!("\"content\":\"{}\"", "x".repeat(fill)));
    assert_eq!(text.len(), 8192);
    fs::write(&path, &text).unwrap();
    age(&path);
    let _ = fs::write(disk.0.join("filler"), vec![0; 64 * 1024]);
    let path_word = path.to_str().unwrap();
    for words in [
        vec!["switch", path_word, &ids[1]],
        vec!["label", path_word, "x", &ids[1]],
        vec!["export-branch", path_word, "-o", "disk/out.jsonl"],
    ] {
        let refused = place.run(&words);
        assert_eq!(code(&refused), 6, "{words:?}: {}", said(&refused));
        assert_eq!(fs::read(&path).unwrap(), text.as_bytes(), "{words:?}");
        let mut names: Vec<_> =
            fs::read_dir(&disk.0).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["filler", "s.jsonl"], "{words:?}");
    }
}

pub fn a_file_is_not_made_anew_on_a_full_disk() {
    let place = Place::new();
    let disk = small_disk(&place, "size=64k");
    let path = disk.0.join("s.jsonl");
    fs::write(&path, old_session()).unwrap();
    age(&path);
    let _ = fs::write(disk.0.join("filler"), vec![0; 64 * 1024]);
    for words in
        [vec!["migrate", "disk/s.jsonl"], vec!["migrate", "disk/s.jsonl", "-o", "disk/new/out.jsonl"]]
    {
        let refused = place.run(&words);
        assert_eq!(code(&refused), 6, "{words:?}: {}", said(&refused));
        assert!(said(&refused).contains("the disk is full; nothing was changed"), "{}", said(&refused));
        assert_eq!(fs::read(&path).unwrap(), old_session());
        let mut names: Vec<_> =
            fs::read_dir(&disk.0).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["filler", "s.jsonl"], "{words:?}");
    }
    // With room again, it succeeds.
    fs::remove_file(disk.0.join("filler")).unwrap();
    let done = place.run(&["migrate", "disk/s.jsonl"]);
    assert_eq!(code(&done), 0, "{}", said(&done));
}

pub fn a_read_only_disk_changes_nothing() {
    let place = Place::new();
    let disk = small_disk(&place, "size=64k");
    let path = disk.0.join("s.jsonl");
    let (text, ids) = sound_session(Form::Pi, &mut Chance(3));
    fs::write(&path, &text).unwrap();
    age(&path);
    fs::write(disk.0.join("old.jsonl"), old_session()).unwrap();
    age(&disk.0.join("old.jsonl"));
    let done = Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).output().unwrap();
    assert!(done.status.success());
    for words in [
        vec!["switch", "disk/s.jsonl", &ids[1]],
        vec!["label", "disk/s.jsonl", "x"],
        vec!["cherry-pick", "disk/s.jsonl", &ids[0]],
        vec!["export-branch", "disk/s.jsonl", "-o", "disk/new/out.jsonl"],
        vec!["migrate", "disk/old.jsonl"],
    ] {
        let refused = place.run(&words);
        assert_eq!(code(&refused), 6, "{words:?}: {}", said(&refused));
        let dry: Vec<&str> = words.iter().copied().chain(["-n"]).collect();
        let refused = place.run(&dry);
        assert_eq!(code(&refused), 6, "{words:?}: a dry run says the same: {}", said(&refused));
    }
}
