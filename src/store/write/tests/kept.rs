//! Properties that a rewritten file keeps, those that a new file gets, and files that are left
//! alone.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_new_file_has_the_mode_of_the_session_and_no_more() {
    for (of_session, of_new) in [(0o600, 0o600), (0o640, 0o640), (0o4644, 0o644), (0o2660, 0o660)] {
        let place = Place::new(&session());
        set_mode(&place.path(), of_session);
        place.run(&create(&place)).unwrap();
        assert_eq!(mode(&place.folder.path().join("work/new.jsonl")), of_new, "{of_session:o}");
        place.run(&rewrite()).unwrap();
        assert_eq!(mode(&place.path()), of_session, "{of_session:o}");
        place.undo().unwrap();
        assert_eq!(mode(&place.path()), of_session, "{of_session:o}, undone");
    }
    // Files in the folder of the log are private to the user.
    let place = Place::new(&session());
    set_mode(&place.path(), 0o4644);
    let path = place.log.folder().join("aside/old.jsonl");
    let target = Target::Create { path: Some(path.clone()), pieces: vec![Piece::New(line())] };
    place.run(&Plan { verb: "test".into(), targets: vec![target], ..Plan::default() }).unwrap();
    assert_eq!(mode(&path), 0o600);
    place.run(&rewrite()).unwrap();
    for backup in place.log.backups().unwrap() {
        assert_eq!(mode(&backup.path), 0o600);
    }
}

/// Returns how many bytes of the disk a file takes.
fn on_disk(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(&fs::metadata(path).unwrap()) * 512
}

#[test]
fn holes_stay_holes() {
    const LEN: u64 = 48 << 20;
    let place = Place::new(&session());
    // As after a crash of the system: the length is on the disk, the bytes are not.
    let file = fs::File::options().append(true).open(place.path()).unwrap();
    file.set_len(session().len() as u64 + LEN).unwrap();
    (&file).write_all(format!("\n{}", entry("aaaa0009", "aaaa0002")).as_bytes()).unwrap();
    drop(file);
    place.age();
    let (old, taken) = (place.bytes(), on_disk(&place.path()));
    if taken > LEN / 8 {
        return; // This file system has no holes.
    }
    let mut plan = rewrite();
    let Target::Rewrite { pieces, .. } = &mut plan.targets[0] else { panic!("it is a rewrite") };
    let (from, all) = (session().len() as u64, old.len() as u64);
    pieces.push(Piece::Keep(Span { file: 0, offset: from, len: all - from }));
    place.run(&plan).unwrap();
    let first = format!("{HEADER}\n{}\n", entry("aaaa0002", "aaaa0001"));
    let new = [first.as_bytes(), &line(), &old[from as usize..]].concat();
    assert!(place.bytes() == new && on_disk(&place.path()) < LEN / 8, "{}", on_disk(&place.path()));
    let backups = place.log.backups().unwrap();
    assert!(backups[0].bytes == all && on_disk(&backups[0].path) < LEN / 8, "{}", on_disk(&backups[0].path));
    place.undo().unwrap();
    assert!(place.bytes() == old && on_disk(&place.path()) < LEN / 8, "{}", on_disk(&place.path()));
}

#[test]
fn zeros_at_the_end_of_a_new_file_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let file = sys::create(&path, 0o600).unwrap();
    let parts = [vec![1; 10], vec![0; 9000], vec![2; 4096], vec![0; 4095], vec![0; 4096]];
    parts.iter().for_each(|part| sys::write_new(&file, part).unwrap());
    assert!(fs::read(&path).unwrap() == parts.concat());
}

fn omp_session() -> String {
    let title = r#"{"type":"title","v":1,"title":"t","updatedAt":"2026-03-02T00:00:00.000Z","pad":""#;
    format!("{title:<254}\"}}\n") + &session()
}

#[test]
fn a_lock_of_oh_my_pi_that_names_nobody_is_taken_over_once_it_is_old() {
    let place = Place::new(&omp_session());
    let lock = place.folder.path().join("work/.s.jsonl.lock");
    let put = |text: &str, age: i64| {
        fs::write(&lock, text).unwrap();
        let time = std::time::SystemTime::now();
        let moved = std::time::Duration::from_millis(age.unsigned_abs());
        let time = if age < 0 { time + moved } else { time - moved };
        fs::File::options().append(true).open(&lock).unwrap().set_modified(time).unwrap();
    };
    // A number without a colon may be the first digits of one.
    for text in ["", "\n", "garbage", ":12", "x:1", "1"] {
        place.put(&omp_session());
        put(text, 2_000);
        let since = std::time::Instant::now();
        place.run(&append()).unwrap();
        assert!(since.elapsed().as_millis() < 400, "{text:?}");
        assert_eq!(place.others(), [] as [String; 0], "{text:?}");
        // A new one is waited for: its creator may be about to write its number.
        place.put(&omp_session());
        put(text, 0);
        let since = std::time::Instant::now();
        place.run(&append()).unwrap();
        assert!(since.elapsed().as_millis() >= 400, "{text:?}");
        // If it stays new, it is respected.
        place.put(&omp_session());
        put(text, -60_000);
        let refused = place.run(&append());
        assert!(matches!(refused, Err(Refusal::Alive { signs: Signs::OmpLock, .. })), "{text:?}");
        assert_eq!(fs::read_to_string(&lock).unwrap(), text);
        assert_eq!(place.bytes(), omp_session().as_bytes());
    }
    // A lock of a running process is respected whatever its age.
    put(&format!("{}:0\n", std::process::id()), 3_600_000);
    let refused = place.run(&append());
    assert!(matches!(refused, Err(Refusal::Alive { signs: Signs::OmpLock, .. })), "{refused:?}");
    assert!(lock.exists());
    // What the refusal says to allow is enough.
    let live = Allow { live: true, ..Allow::default() };
    let options = WriteOptions { allow: live, ..place.options() };
    carry(&place.opened(), &append(), &options, &mut Vec::new()).unwrap();
    assert!(lock.exists());
}

#[test]
fn a_line_of_the_log_that_is_cut_off_is_cut_back_by_the_next_operation() {
    let place = Place::new(&session());
    place.run(&append()).unwrap();
    let whole = fs::read(place.log.file()).unwrap();
    let torn = [&whole[..], br#"{"schema":"bough.op/1","op_id":"69"#].concat();
    fs::write(place.log.file(), torn).unwrap();
    place.undo().unwrap();
    assert_eq!(place.bytes(), session().as_bytes());
    let text = fs::read(place.log.file()).unwrap();
    assert!(text.starts_with(&whole) && text.len() > whole.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        serde_json::from_slice::<serde_json::Value>(line).unwrap();
    }
    assert_eq!(place.log.operations().unwrap().unread, 0);
}
