//! Undos that are interrupted: by an agent that appends, or by a kill at any call.

use super::*;

const AGENT: &[u8] = b"{\"agent\":1}\n";

#[test]
fn an_undo_is_refused_if_something_comes_while_the_file_is_hashed() {
    for plan in [append(), rewrite()] {
        for force in [false, true] {
            let place = Place::new(&session());
            place.run(&plan).unwrap();
            let ours = place.bytes();
            let operation = newest(&place.log, None).unwrap();
            let (path, mut is_first) = (place.path(), true);
            let hook = move |call: Call| {
                if call == Call::Read && std::mem::take(&mut is_first) {
                    fs::File::options().append(true).open(&path).unwrap().write_all(AGENT).unwrap();
                }
                Ok(None)
            };
            let options = WriteOptions { force, ..place.options() };
            let refused = sys::with_hook(hook, || undo::undo(&place.log, &operation, None, &options));
            assert!(matches!(refused, Err(Refusal::Changed { .. })), "{force}: {refused:?}");
            assert_eq!(place.bytes(), [&ours[..], AGENT].concat(), "{force}");
            assert_eq!(place.others(), [] as [String; 0], "{force}");
        }
    }
}

#[test]
fn the_time_of_a_file_is_put_back_if_an_append_was_killed_before_its_write() {
    let place = Place::new(&session());
    let time = place.mtime();
    let mut is_reserved = false;
    let hook = move |call: Call| {
        is_reserved |= call == Call::Reserve;
        assert!(!is_reserved || call != Call::Write, "killed");
        Ok(None)
    };
    let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        sys::with_hook(hook, || place.run(&append()).map(drop))
    }));
    assert!(killed.is_err());
    sys::with_hook(|_| Ok(None), || ());
    // Reserving room changes the file time.
    let now = stamp::system_time(time + 5_000_000_000);
    fs::File::options().append(true).open(place.path()).unwrap().set_modified(now).unwrap();
    place.undo().unwrap();
    assert_eq!((place.mtime(), place.bytes()), (time, session().into_bytes()));
}

/// A file that can't be replaced with a new one: it is large, or has another hard link.
#[test]
#[cfg(target_os = "linux")]
fn a_file_is_shortened_in_place_only_while_nobody_can_append_to_it() {
    use std::os::unix::fs::MetadataExt;
    for is_large in [true, false] {
        let place = Place::new(&session());
        if is_large {
            // A hole, so that it takes no space.
            let file = fs::File::options().append(true).open(place.path()).unwrap();
            file.set_len((256 << 20) + 100).unwrap();
            drop(file);
            fs::File::options().append(true).open(place.path()).unwrap().write_all(b"\n").unwrap();
            place.age();
        } else {
            fs::hard_link(place.path(), place.folder.path().join("other")).unwrap();
        }
        let facts = || fs::metadata(place.path()).unwrap();
        let (len, inode) = (facts().len(), facts().ino());
        let stamp = store::write::Stamp::take(&fs::File::open(place.path()).unwrap()).unwrap();
        let operation = Operation {
            op_id: op_id(Time(0)),
            time: Time(0).iso(),
            command: "test".into(),
            detail: String::new(),
            file: place.path(),
            format: "pi".into(),
            state: Progress::Begun,
            moved: false,
            from: None,
            to: None,
            undoes: None,
            only: None,
            steps: Vec::new(),
        };
        let options = place.options();
        let mut record = Record::begin(&options, operation);
        let ready = {
            let guard = Guard::take(&place.path(), false, false).unwrap();
            steps::append(&guard, &stamp, b"{\"ours\":1}\n", false, &options).unwrap()
        };
        let done = record.carry_out(vec![(0, ready)], &options, |_| Ok(())).unwrap();
        record.end(done).unwrap();
        let (path, (sender, receiver)) = (place.path(), std::sync::mpsc::channel());
        let hook = move |call: Call| {
            if call == Call::Cut {
                let path = path.clone();
                let agent = move || {
                    fs::File::options().append(true).open(path).unwrap().write_all(AGENT).unwrap();
                };
                sender.send(std::thread::spawn(agent)).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            Ok(None)
        };
        let operation = newest(&place.log, None).unwrap();
        sys::with_hook(hook, || undo::undo(&place.log, &operation, None, &place.options())).unwrap();
        receiver.recv().expect("it is cut in place").join().unwrap();
        assert_eq!(facts().ino(), inode);
        assert_eq!(facts().len(), len + AGENT.len() as u64, "large: {is_large}");
        let file = fs::File::open(place.path()).unwrap();
        assert_eq!(stamp::read_at(&file, len, AGENT.len()).unwrap(), AGENT);
    }
}

/// Returns a hook with which the `n`-th file can't be created, counted from 1.
fn without_file(n: usize) -> impl FnMut(Call) -> std::io::Result<Option<usize>> {
    let mut count = 0;
    move |call| {
        count += usize::from(call == Call::Create);
        if call == Call::Create && count == n {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        Ok(None)
    }
}

#[test]
fn an_undo_without_a_backup_keeps_what_it_takes_away() {
    //  the plan, which of the files that are made is the backup, the file that changes
    for (what, backup, name) in
        [("append", 1, "s.jsonl"), ("export", 1, "a/b/new.jsonl"), ("shorter", 2, "s.jsonl")]
    {
        let place = Place::new(&session());
        let work = place.folder.path().join("work");
        place.run(&plan(what, place.folder.path())).unwrap();
        let ours = fs::read(work.join(name)).unwrap();
        let run = |force: bool| {
            let operation = newest(&place.log, None).unwrap();
            let options = WriteOptions { force, ..place.options() };
            sys::with_hook(without_file(backup), || undo::undo(&place.log, &operation, None, &options))
        };
        let refused = run(false);
        assert!(matches!(refused, Err(Refusal::NoRecord { .. })), "{what}: {refused:?}");
        assert_eq!(fs::read(work.join(name)).unwrap(), ours, "{what}");
        let done = run(true).unwrap();
        assert_eq!(place.bytes(), session().as_bytes(), "{what}");
        assert_eq!(work.join(name).exists(), name == "s.jsonl", "{what}");
        assert_eq!(done.kept.len(), 1, "{what}");
        assert_eq!(fs::read(&done.kept[0]).unwrap(), ours, "{what}");
    }
    // A file with another hard link can't be replaced.
    let place = Place::new(&session());
    fs::hard_link(place.path(), place.folder.path().join("other")).unwrap();
    place.run(&append()).unwrap();
    let ours = place.bytes();
    let operation = newest(&place.log, None).unwrap();
    let options = WriteOptions { force: true, ..place.options() };
    let refused = sys::with_hook(without_file(1), || undo::undo(&place.log, &operation, None, &options));
    assert!(matches!(refused, Err(Refusal::NoBackup { .. })), "{refused:?}");
    assert_eq!(place.bytes(), ours);
}

/// Returns a plan of each kind that can be undone.
fn plan(what: &str, place: &Path) -> Plan {
    match what {
        "append" => append(),
        "export" => create_below(place),
        "shorter" => {
            let mut plan = rewrite();
            let Target::Rewrite { pieces, .. } = &mut plan.targets[0] else { panic!("it rewrites") };
            pieces.truncate(1);
            plan
        }
        // A repair that keeps the removed bytes in a file beside the session.
        _ => {
            let mut plan = rewrite();
            plan.targets.insert(0, create_below(place).targets.remove(0));
            plan
        }
    }
}

/// Returns what an agent finds: the session, and the new file.
fn found(place: &Place) -> (Vec<u8>, Option<Vec<u8>>) {
    (place.bytes(), fs::read(place.folder.path().join("work/a/b/new.jsonl")).ok())
}

#[test]
fn after_an_undo_that_is_killed_at_any_call_the_next_finishes_or_goes_back() {
    const CALL: &str = "BOUGH_TEST_STOP_UNDO";
    if let Ok(stop) = std::env::var(CALL) {
        let (folder, n) = stop.split_once('|').unwrap();
        let (log, n) = (Log::in_folder(Path::new(folder).join("state")), n.parse::<usize>().unwrap());
        let options = options(&log);
        let wanted = newest(&log, None).unwrap();
        let done = sys::with_hook(ending_at(n), || undo::undo(&log, &wanted, None, &options));
        std::process::exit(if done.is_ok() { 0 } else { 1 });
    }
    CALM.take();
    let _alone = STARTS.write().unwrap_or_else(PoisonError::into_inner);
    for what in ["append", "export", "repair", "shorter"] {
        for n in 0..80 {
            let place = Place::unguarded(&session());
            let old = found(&place);
            place.run(&plan(what, place.folder.path())).unwrap();
            let new = found(&place);
            place.age_all();
            let status = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "store::write::tests::kills::after_an_undo_that_is_killed_at_any_call_the_next_finishes_or_goes_back"])
                .env(CALL, format!("{}|{n}", place.folder.path().display()))
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .status()
                .unwrap();
            let next = || {
                place.age_all();
                let wanted = newest(&place.log, None).unwrap();
                undo::undo(&place.log, &wanted, None, &place.options())
            };
            if status.code() == Some(0) {
                assert_eq!(found(&place), old, "{what}");
                assert!(n > 3, "{what}: only {n} calls");
                break;
            }
            assert_eq!(status.code(), Some(9), "{what}, killed at {n}");
            assert!(n < 79, "{what}: no end");
            next().unwrap_or_else(|refusal| panic!("{what}, killed at {n}: {refusal}"));
            let first = found(&place);
            assert!(first == old || first == new, "{what}, killed at {n}");
            // And from there to the other state.
            next().unwrap_or_else(|refusal| panic!("{what}, killed at {n}, twice: {refusal}"));
            assert_eq!(found(&place), if first == old { new } else { old }, "{what}, killed at {n}");
        }
    }
}
