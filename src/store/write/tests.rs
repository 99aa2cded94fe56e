//! Tests of writing: each plan with each system call failing, agents that append, and kills.

mod kept;
mod kills;

use super::*;
use crate::model::Span;
use crate::store::oplog::StepKind;
use crate::store::{self, Opened, undo};
use std::cell::{Cell, RefCell};
use std::fs;
use std::rc::Rc;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use sys::Call;

fn carry(
    opened: &Opened,
    plan: &Plan,
    options: &WriteOptions<'_>,
    out: &mut dyn Write,
) -> Result<Done, Refusal> {
    carry_out(&opened.files, opened.session.format, plan, options, out)
}

/// The newest operation, of a file if one is given, be it an undo or not; one that was interrupted is to be finished.
fn newest(log: &Log, path: Option<&Path>) -> Result<undo::Wanted, Refusal> {
    let path = path.map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned()));
    let mut reader = log.reader().unwrap();
    while let Some(operation) = reader.next().unwrap() {
        let is_on_file = path.as_ref().is_none_or(|path| operation.touches(path));
        if operation.state == Progress::Failed || !is_on_file {
            continue;
        }
        if operation.state == Progress::Begun && operation.undoes.is_some() {
            return Ok(undo::last(log, path.as_deref(), undo::Which::Last(1))?.wanted.remove(0));
        }
        return Ok(undo::Wanted::new(operation));
    }
    Err(Refusal::NothingToUndo { path })
}

/// A folder with one session in it, and a log.
struct Place {
    folder: tempfile::TempDir,
    log: Log,
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/w"}"#;

fn entry(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-03-02T00:00:01.000Z","message":{{"role":"user","content":"x"}}}}"#
    )
}

/// A thread that starts programs must be alone: until the program runs, it has our handles, too, so
/// our files seem to be open in another program.
static STARTS: RwLock<()> = RwLock::new(());

thread_local! {
    /// Keeps other threads from starting programs for as long as this one lives.
    static CALM: RefCell<Option<RwLockReadGuard<'static, ()>>> = const { RefCell::new(None) };
}

impl Place {
    fn new(text: &str) -> Place {
        CALM.with_borrow_mut(|calm| {
            calm.get_or_insert_with(|| STARTS.read().unwrap_or_else(PoisonError::into_inner));
        });
        Place::unguarded(text)
    }

    fn unguarded(text: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { log: Log::in_folder(folder.path().join("state")), folder };
        fs::create_dir(place.folder.path().join("work")).unwrap();
        place.put(text);
        place
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("work/s.jsonl")
    }

    fn put(&self, text: &str) {
        fs::write(self.path(), text).unwrap();
        self.age();
    }

    fn age(&self) {
        let old = stamp::system_time(1_700_000_000_123_456_789);
        fs::File::options().append(true).open(self.path()).unwrap().set_modified(old).unwrap();
    }

    /// Makes all files look as if nobody had touched them for a long time, including the new one.
    /// The log then contains other times, as if the files had been copied.
    fn age_all(&self) {
        for path in [self.path(), self.folder.path().join("work/a/b/new.jsonl")] {
            let old = stamp::system_time(1_700_000_000_123_456_789);
            if let Ok(file) = fs::File::options().append(true).open(path) {
                file.set_modified(old).unwrap();
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    fn mtime(&self) -> i64 {
        stamp::mtime(&fs::metadata(self.path()).unwrap())
    }

    fn opened(&self) -> Opened {
        store::open(&self.path(), store::Options::default()).unwrap()
    }

    fn options(&self) -> WriteOptions<'_> {
        options(&self.log)
    }

    fn run(&self, plan: &Plan) -> Result<Done, Refusal> {
        carry(&self.opened(), plan, &self.options(), &mut Vec::new())
    }

    fn undo(&self) -> Result<Done, Refusal> {
        let operation = newest(&self.log, Some(&self.path()))?;
        undo::undo(&self.log, &operation, None, &self.options())
    }

    /// Returns the files beside the session.
    fn others(&self) -> Vec<String> {
        let files = fs::read_dir(self.folder.path().join("work")).unwrap();
        files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "s.jsonl")
            .collect()
    }
}

fn session() -> String {
    format!("{HEADER}\n{}\n{}\n", entry("aaaa0001", ""), entry("aaaa0002", "aaaa0001"))
}

fn line() -> Vec<u8> {
    format!("{}\n", entry("aaaa0003", "aaaa0002")).into_bytes()
}

fn append() -> Plan {
    Plan {
        verb: "test".into(),
        targets: vec![Target::Append { file: 0, bytes: line() }],
        keep_times: true,
        ..Plan::default()
    }
}

/// Drops the second line, and adds one.
fn rewrite() -> Plan {
    let text = session();
    let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    let keep =
        |from: usize, to: usize| Piece::Keep(Span { file: 0, offset: from as u64, len: (to - from) as u64 });
    Plan {
        verb: "test".into(),
        targets: vec![Target::Rewrite {
            file: 0,
            pieces: vec![keep(0, lines[0]), keep(lines[1], lines[2]), Piece::New(line())],
        }],
        keep_times: true,
        ..Plan::default()
    }
}

fn create(place: &Place) -> Plan {
    let path = place.folder.path().join("work/new.jsonl");
    Plan {
        verb: "test".into(),
        targets: vec![Target::Create { path: Some(path), pieces: vec![Piece::New(line())] }],
        ..Plan::default()
    }
}

/// Creates a file in folders that do not exist.
fn create_below(folder: &Path) -> Plan {
    let path = folder.join("work/a/b/new.jsonl");
    Plan {
        verb: "test".into(),
        targets: vec![Target::Create { path: Some(path), pieces: vec![Piece::New(line())] }],
        ..Plan::default()
    }
}

#[test]
fn folders_that_were_made_for_a_file_go_with_it() {
    let place = Place::new(&session());
    let (new, folder) = (place.folder.path().join("work/a/b/new.jsonl"), place.folder.path().join("work/a"));
    let made = place.run(&create_below(place.folder.path())).unwrap();
    let undo = |op: &str| {
        let operation = undo::find(&place.log, op).unwrap();
        undo::undo(&place.log, &operation, None, &place.options()).unwrap().op_id
    };
    let undone = undo(&made.op_id);
    assert_eq!(place.others(), [] as [String; 0]);
    // Redone, and undone again: the folders are created and removed as well.
    let again = undo(&undone);
    assert_eq!(fs::read(&new).unwrap(), line());
    undo(&again);
    assert_eq!(place.others(), [] as [String; 0]);
    // Files of others in it, and folders that existed before, stay.
    let made = place.run(&create_below(place.folder.path())).unwrap();
    fs::write(folder.join("other"), "x").unwrap();
    undo(&made.op_id);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    fs::remove_file(folder.join("other")).unwrap();
    let made = place.run(&create_below(place.folder.path())).unwrap();
    undo(&made.op_id);
    assert_eq!(place.others(), ["a"]);
}

#[test]
fn an_append_is_undone_and_done_again() {
    for text in [session(), session().trim_end().to_owned()] {
        let place = Place::new(&text);
        let mtime = place.mtime();
        place.run(&append()).unwrap();
        let after = [session().into_bytes(), line()].concat();
        assert_eq!(place.bytes(), after);
        assert_eq!(place.mtime(), mtime, "an append that keeps times");
        place.undo().unwrap();
        assert_eq!(place.bytes(), text.as_bytes());
        assert_eq!(place.mtime(), mtime);
        place.undo().unwrap();
        assert_eq!(place.bytes(), after);
        place.undo().unwrap();
        assert_eq!(place.bytes(), text.as_bytes());
        assert_eq!(place.mtime(), mtime);
    }
}

#[test]
fn an_append_makes_no_backup_of_the_file() {
    let place = Place::new(&session());
    place.run(&append()).unwrap();
    assert_eq!(place.log.backups().unwrap(), []);
    place.undo().unwrap();
    let kept: Vec<u64> = place.log.backups().unwrap().iter().map(|backup| backup.bytes).collect();
    assert_eq!(kept, [line().len() as u64]);
}

#[test]
fn a_rewrite_keeps_mode_and_time_and_is_undone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new(&session());
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o640)).unwrap();
    let mtime = place.mtime();
    place.run(&rewrite()).unwrap();
    let text = session();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let after = [lines[0].as_bytes(), lines[2].as_bytes(), &line()].concat();
    assert_eq!(place.bytes(), after);
    assert_eq!(fs::metadata(place.path()).unwrap().permissions().mode() & 0o7777, 0o640);
    assert_eq!(place.mtime(), mtime);
    place.undo().unwrap();
    assert_eq!(place.bytes(), text.as_bytes());
    assert_eq!(fs::metadata(place.path()).unwrap().permissions().mode() & 0o7777, 0o640);
    place.undo().unwrap();
    assert_eq!(place.bytes(), after);
    assert_eq!(place.others(), [] as [String; 0]);
}

#[test]
fn a_new_file_is_not_put_over_another_and_is_undone() {
    let place = Place::new(&session());
    let plan = create(&place);
    place.run(&plan).unwrap();
    assert_eq!(place.others(), ["new.jsonl"]);
    assert!(matches!(place.run(&plan), Err(Refusal::Exists { .. })));
    let operation = newest(&place.log, None).unwrap();
    undo::undo(&place.log, &operation, None, &place.options()).unwrap();
    assert_eq!(place.others(), [] as [String; 0]);
    let operation = newest(&place.log, None).unwrap();
    undo::undo(&place.log, &operation, None, &place.options()).unwrap();
    assert_eq!(place.others(), ["new.jsonl"]);
    assert_eq!(fs::read(place.folder.path().join("work/new.jsonl")).unwrap(), line());
}

#[test]
fn a_torn_tail_is_left_alone_unless_the_user_insists() {
    let torn = session() + r#"{"type":"mess"#;
    let place = Place::new(&torn);
    assert!(matches!(place.run(&append()), Err(Refusal::Torn { .. })));
    assert_eq!(place.bytes(), torn.as_bytes());
    let options = WriteOptions { force: true, ..place.options() };
    carry(&place.opened(), &append(), &options, &mut Vec::new()).unwrap();
    assert_eq!(place.bytes(), [torn.as_bytes(), b"\n", &line()].concat());
    place.undo().unwrap();
    assert_eq!(place.bytes(), torn.as_bytes());
}

#[test]
fn a_file_that_changed_is_not_written() {
    for (plan, grow_is_forced) in [(append(), true), (rewrite(), false)] {
        let place = Place::new(&session());
        let opened = place.opened();
        let grown = session() + &entry("bbbb0001", "aaaa0002") + "\n";
        place.put(&grown);
        let run = |options: &WriteOptions<'_>| carry(&opened, &plan, options, &mut Vec::new());
        assert!(matches!(run(&place.options()), Err(Refusal::Changed { .. })));
        assert!(matches!(
            run(&WriteOptions { force: true, ..place.options() }),
            Err(Refusal::Changed { .. })
        ));
        let last = run(&WriteOptions { force: true, last_try: true, ..place.options() });
        assert_eq!(last.is_ok(), grow_is_forced);
        if !grow_is_forced {
            assert_eq!(place.bytes(), grown.as_bytes());
        }
        assert_eq!(place.others(), [] as [String; 0]);
    }
}

#[test]
fn a_file_with_signs_of_life_is_not_written() {
    let place = Place::new(&session());
    // Open for writing in another program, simulated by this handle.
    let other = fs::File::options().append(true).open(place.path()).unwrap();
    let refused = place.run(&append());
    if !matches!(refused, Err(Refusal::Alive { signs: Signs::Open(_), .. })) {
        // A file system without leases, where only other processes are seen.
        assert!(unix::open_for_writing(&other).is_none(), "{refused:?}");
    }
    drop(other);
    // Changed a moment ago, by somebody else.
    let now = Time(1_772_000_000_000);
    let lately = stamp::system_time((now.0 - 1500) * 1_000_000);
    fs::File::options().append(true).open(place.path()).unwrap().set_modified(lately).unwrap();
    assert!(matches!(place.run(&append()), Err(Refusal::Alive { signs: Signs::Fresh, .. })));
    let options = WriteOptions { now: Time(now.0 + 1500), ..place.options() };
    let plan = Plan { keep_times: false, ..append() };
    carry(&place.opened(), &plan, &options, &mut Vec::new()).unwrap();
    // bough's own recent change is not a sign of life.
    let real = WriteOptions { now: Time((place.mtime() / 1_000_000) + 10), ..place.options() };
    carry(&place.opened(), &plan, &real, &mut Vec::new()).unwrap();
}

#[test]
fn an_undo_is_refused_where_the_file_moved_on() {
    for plan in [append(), rewrite()] {
        let place = Place::new(&session());
        place.run(&plan).unwrap();
        let ours = place.bytes();
        let later = [ours.clone(), line()].concat();
        fs::write(place.path(), &later).unwrap();
        place.age();
        assert!(matches!(place.undo(), Err(Refusal::MovedOn { grew: Some(_), .. })));
        assert_eq!(place.bytes(), later);
        let operation = newest(&place.log, Some(&place.path())).unwrap();
        undo::undo(&place.log, &operation, None, &WriteOptions { force: true, ..place.options() }).unwrap();
        assert_eq!(place.bytes(), session().as_bytes());
        // Nothing is lost: undoing the undo restores the later line.
        place.undo().unwrap();
        assert_eq!(place.bytes(), later);
    }
}

#[test]
fn an_undo_never_cuts_off_other_bytes_than_those_that_came() {
    for force in [false, true] {
        let place = Place::new(&session());
        place.run(&append()).unwrap();
        // The same length as before, but with another last line.
        let other = [session().into_bytes(), line().to_ascii_uppercase()].concat();
        fs::write(place.path(), &other).unwrap();
        place.age();
        let operation = newest(&place.log, Some(&place.path())).unwrap();
        let options = WriteOptions { force, ..place.options() };
        let refused = undo::undo(&place.log, &operation, None, &options);
        assert!(matches!(refused, Err(Refusal::MovedOn { grew: None, .. })), "{refused:?}");
        assert_eq!(place.bytes(), other);
    }
}

#[test]
fn a_lock_is_one_on_the_file_that_has_the_name() {
    let place = Place::new(&session());
    let held = guard::Guard::take(&place.path(), false, false).unwrap();
    let path = place.path();
    let (says, said) = std::sync::mpsc::channel();
    let waits = std::thread::spawn(move || {
        says.send(()).unwrap();
        let guard = guard::Guard::take(&path, false, false).unwrap();
        stamp::read_at(&guard.file, 0, 3).unwrap()
    });
    said.recv().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    let new = place.folder.path().join("work/new");
    fs::write(&new, "new").unwrap();
    fs::rename(&new, place.path()).unwrap();
    drop(held);
    assert_eq!(waits.join().unwrap(), b"new");
}

#[test]
fn what_comes_while_a_new_file_is_written_is_kept() {
    for (moment, is_found_first) in [(Call::Sync, true), (Call::Swap, false)] {
        let place = Place::new(&session());
        let (path, opened, swaps) = (place.path(), place.opened(), Rc::new(Cell::new(0)));
        let (seen, mut came) = (swaps.clone(), false);
        let hook = move |call: Call| {
            seen.set(seen.get() + usize::from(call == Call::Swap));
            if call == moment && !std::mem::replace(&mut came, true) {
                let mut file = fs::File::options().append(true).open(&path).unwrap();
                file.write_all(b"{}\n").unwrap();
            }
            Ok(None)
        };
        let refused = sys::with_hook(hook, || carry(&opened, &rewrite(), &place.options(), &mut Vec::new()));
        let text = session() + "{}\n";
        assert!(String::from_utf8(place.bytes()).unwrap().contains("{}\n"), "{moment:?}: {refused:?}");
        if is_found_first || swaps.get() > 1 {
            // The old file is always there, or was restored.
            assert!(matches!(refused, Err(Refusal::Changed { .. })), "{moment:?}: {refused:?}");
            assert_eq!(place.bytes(), text.as_bytes());
        }
        assert_eq!(swaps.get() == 0, is_found_first);
    }
}

/// New bytes are on the disk before they get the name, and so are the backup and the record,
/// without which nothing could be undone.
#[test]
fn what_is_written_is_brought_to_the_disk_in_order() {
    use Call::{Create, Link, Rename, Swap, Sync, SyncFolder, Write};
    const LOG: &[Call] = &[Write, SyncFolder];
    const NEW: &[Call] = &[Create, Write, Sync];
    const BACKUP: &[Call] = &[Create, Write, Sync, Rename, SyncFolder];
    const RECORD: &[Call] = &[Write, Sync];
    const NAMES: &[Call] = &[SyncFolder, Write];
    let create = |place: &Place| create(place);
    type Row<'a> = (&'a dyn Fn(&Place) -> Plan, &'a [&'a [Call]]);
    let table: [Row<'_>; 3] = [
        (&|_| append(), &[&[Write, Sync, SyncFolder], &[Write, Sync], &[Write]]),
        (&|_| rewrite(), &[LOG, NEW, BACKUP, RECORD, &[Swap], NAMES]),
        (&create, &[LOG, NEW, RECORD, &[Link], NAMES]),
    ];
    for (make, wanted) in table {
        let place = Place::new(&session());
        let (plan, opened) = (make(&place), place.opened());
        let calls = Rc::new(RefCell::new(Vec::new()));
        let seen = calls.clone();
        let hook = move |call: Call| {
            let mut seen = seen.borrow_mut();
            let counts = matches!(call, Create | Write | Sync | Swap | Rename | Link | SyncFolder);
            // Some file systems can't swap names.
            let is_again = seen.last() == Some(&call) || call == Rename && seen.last() == Some(&Swap);
            if counts && !is_again {
                seen.push(call);
            }
            Ok(None)
        };
        sys::with_hook(hook, || carry(&opened, &plan, &place.options(), &mut Vec::new())).unwrap();
        assert_eq!(calls.take(), wanted.concat());
    }
}

#[test]
fn a_proof_that_fails_keeps_the_old_file() {
    for plan in [append(), rewrite()] {
        let place = Place::new(&session());
        let mtime = place.mtime();
        let seen = Cell::new(0);
        let prove = |path: &Path| {
            seen.set(fs::metadata(path).unwrap().len());
            Err("the proof failed".to_owned())
        };
        let options = WriteOptions { prove: Some(&prove), ..place.options() };
        let refused = carry(&place.opened(), &plan, &options, &mut Vec::new());
        assert!(matches!(refused, Err(Refusal::Unproved { .. })));
        assert!(seen.get() > 0);
        assert_eq!(place.bytes(), session().as_bytes());
        assert_eq!(place.others(), [] as [String; 0]);
        assert_eq!(place.log.last_on(&place.path()).unwrap(), None);
        assert_eq!(place.mtime(), mtime);
    }
}

#[test]
fn a_dry_run_refuses_as_the_real_one_and_writes_nothing() {
    for (text, plan) in [
        (session(), append()),
        (session(), rewrite()),
        (session() + "{\"torn", append()),
        (session(), create(&Place::new(""))),
    ] {
        let place = Place::new(&text);
        let options = WriteOptions { dry_run: true, ..place.options() };
        let dry = carry(&place.opened(), &plan, &options, &mut Vec::new()).is_ok();
        assert_eq!(place.bytes(), text.as_bytes());
        assert_eq!(place.others(), [] as [String; 0]);
        assert!(place.log.operations().unwrap().list.is_empty());
        assert_eq!(place.run(&plan).is_ok(), dry);
    }
}

/// Runs a plan with the n-th system call failing, for every n, until one run meets no failure.
fn fail_at_each_call(
    make: impl Fn(&Place) -> Plan,
    short: Option<usize>,
    check: impl Fn(&Place, bool, Call),
) {
    let run = |place: &Place, hook: Hook| {
        let (plan, opened) = (make(place), place.opened());
        sys::with_hook(hook, || carry(&opened, &plan, &place.options(), &mut Vec::new()))
    };
    fail_in(|_| (), run, short, check);
}

type Hook = Box<dyn FnMut(Call) -> io::Result<Option<usize>>>;

/// Does the same for any function that runs with the hook, in a sandbox that is prepared before.
fn fail_in(
    ready: impl Fn(&Place),
    run: impl Fn(&Place, Hook) -> Result<Done, Refusal>,
    short: Option<usize>,
    check: impl Fn(&Place, bool, Call),
) {
    for n in 0.. {
        let place = Place::new(&session());
        ready(&place);
        let (count, hit) = (Cell::new(0), Rc::new(Cell::new(None)));
        let seen = hit.clone();
        let hook = move |call: Call| {
            let now = count.get();
            count.set(now + 1);
            if now != n {
                return Ok(None);
            }
            seen.set(Some(call));
            match (call, short) {
                (Call::Write, Some(most)) => Ok(Some(most)),
                _ => Err(io::ErrorKind::StorageFull.into()),
            }
        };
        let result = run(&place, Box::new(hook));
        let Some(call) = hit.get() else {
            assert!(result.is_ok(), "nothing failed: {result:?}");
            assert!(n > 3, "only {n} calls");
            return;
        };
        check(&place, result.is_ok(), call);
    }
}

#[test]
fn whatever_call_fails_the_old_file_or_the_new_one_is_there() {
    let old = session().into_bytes();
    for short in [None, Some(7)] {
        fail_at_each_call(
            |_| append(),
            short,
            |place, ok, call| {
                let new = [session().into_bytes(), line()].concat();
                assert_eq!(place.bytes(), if ok { new } else { old.clone() }, "{call:?}");
                assert_eq!(place.mtime(), 1_700_000_000_123_456_789, "{call:?}");
                assert_eq!(place.others(), [] as [String; 0], "{call:?}");
            },
        );
        fail_at_each_call(
            |_| rewrite(),
            short,
            |place, ok, call| {
                assert_eq!(place.bytes() != old, ok, "{call:?}");
                assert_eq!(place.others(), [] as [String; 0], "{call:?}");
                if !ok {
                    assert_eq!(place.log.last_on(&place.path()).unwrap(), None, "{call:?}");
                }
            },
        );
        fail_at_each_call(create, short, |place, ok, call| {
            assert_eq!(place.bytes(), old, "{call:?}");
            let others: &[&str] = if ok { &["new.jsonl"] } else { &[] };
            assert_eq!(place.others(), others, "{call:?}");
        });
        let below = |place: &Place| create_below(place.folder.path());
        fail_at_each_call(below, short, |place, ok, call| {
            assert_eq!(place.bytes(), old, "{call:?}");
            let others: &[&str] = if ok { &["a"] } else { &[] };
            assert_eq!(place.others(), others, "{call:?}");
        });
    }
}

#[test]
fn whatever_call_fails_in_an_undo_it_is_done_or_not() {
    let old = session().into_bytes();
    let plans: [fn(&Path) -> Plan; 3] = [|_| append(), |_| rewrite(), create_below];
    for (at, make) in plans.into_iter().enumerate() {
        let ready = |place: &Place| {
            place.run(&make(place.folder.path())).unwrap();
        };
        let undo = |place: &Place, hook: Hook| {
            let operation = newest(&place.log, None)?;
            sys::with_hook(hook, || undo::undo(&place.log, &operation, None, &place.options()))
        };
        let reference = Place::new(&session());
        ready(&reference);
        let (new, others) = (reference.bytes(), reference.others());
        fail_in(ready, undo, Some(7), |place, ok, call| {
            assert_eq!(place.bytes(), if ok { old.clone() } else { new.clone() }, "{at}: {call:?}");
            // A folder that can't be removed stays; the file does not.
            let left = place.folder.path().join("work/a/b/new.jsonl").exists();
            assert_eq!(left, !ok && at == 2, "{at}: {call:?}");
            if !ok {
                assert_eq!(place.others(), others, "{at}: {call:?}");
                let again = newest(&place.log, None).unwrap();
                undo::undo(&place.log, &again, None, &place.options()).unwrap();
                assert_eq!(place.bytes(), old, "{at}: {call:?}, once more");
                assert_eq!(place.others(), [] as [String; 0], "{at}: {call:?}, once more");
            }
        });
    }
}

#[test]
fn a_file_that_vanished_is_not_made_anew() {
    for plan in [append(), rewrite()] {
        let place = Place::new(&session());
        let opened = place.opened();
        fs::remove_file(place.path()).unwrap();
        let refused = carry(&opened, &plan, &place.options(), &mut Vec::new());
        assert!(
            matches!(refused, Err(Refusal::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound)
        );
        assert!(!place.path().exists());
        assert_eq!(place.others(), [] as [String; 0]);
        // It is not where an undo would need it, either.
        place.put(&session());
        place.run(&plan).unwrap();
        fs::remove_file(place.path()).unwrap();
        assert!(place.undo().is_err());
        assert!(!place.path().exists());
    }
}

#[test]
fn several_files_are_written_or_none() {
    let both = |place: &Place| {
        let mut plan = create(place);
        plan.targets.extend(rewrite().targets);
        plan.targets.extend(create(place).targets);
        plan
    };
    // The name of the last file turns out to be taken: the first ones are rolled back.
    let place = Place::new(&session());
    let mtime = place.mtime();
    let refused = place.run(&both(&place));
    assert!(matches!(refused, Err(Refusal::Exists { .. })), "{refused:?}");
    assert_eq!(place.bytes(), session().as_bytes());
    assert_eq!(place.mtime(), mtime);
    assert_eq!(place.others(), [] as [String; 0]);
    assert_eq!(place.log.last_on(&place.path()).unwrap(), None);
}

#[test]
fn what_can_not_be_taken_back_stays_in_the_log() {
    // The name of the last file turns out to be taken; each call in the meantime may fail as well.
    let both = |place: &Place| {
        let mut plan = rewrite();
        plan.targets.extend(create(place).targets);
        plan.targets.extend(create(place).targets);
        plan
    };
    let old = session().into_bytes();
    let mut left = 0;
    for n in 0.. {
        let place = Place::new(&session());
        let (plan, opened) = (both(&place), place.opened());
        let hit = Rc::new(Cell::new(false));
        let (mut count, seen) = (0, hit.clone());
        let hook = move |_: Call| {
            count += 1;
            seen.set(seen.get() || count > n);
            if count - 1 == n { Err(io::ErrorKind::StorageFull.into()) } else { Ok(None) }
        };
        let refused =
            sys::with_hook(hook, || carry(&opened, &plan, &place.options(), &mut Vec::new())).unwrap_err();
        let operation = place.log.operations().unwrap().list.pop();
        let is_as_before = place.bytes() == old && place.others().is_empty();
        match refused {
            Refusal::NotTakenBack { op, files, .. } => {
                left += 1;
                let operation = operation.unwrap();
                assert_eq!(op, Some(operation.op_id.clone()), "call {n}");
                assert_eq!(operation.state, Progress::Begun, "call {n}");
                assert!(files.iter().all(|file| operation.changed(file)), "call {n}");
                assert!(!files.is_empty(), "call {n}");
                assert!(!is_as_before, "call {n}");
                let back = undo::find(&place.log, op.as_deref().unwrap()).unwrap();
                undo::undo(&place.log, &back, None, &place.options()).unwrap();
                assert_eq!(place.bytes(), old, "call {n}, undone");
                assert_eq!(place.others(), [] as [String; 0], "call {n}, undone");
            }
            _ => {
                assert!(is_as_before, "call {n}");
                // Whatever the log managed to record: nothing of it must need an undo.
                if let Some(operation) = operation.filter(|operation| operation.state == Progress::Begun) {
                    let operation = undo::Wanted::new(operation);
                    undo::undo(&place.log, &operation, None, &place.options()).unwrap();
                    assert_eq!(place.bytes(), old, "call {n}, undone");
                }
            }
        }
        if !hit.get() {
            assert!(left > 3, "only {left} of {n} calls left something");
            return;
        }
    }
}

#[test]
fn bytes_that_can_not_be_cut_off_again_are_told() {
    let place = Place::new(&session());
    let opened = place.opened();
    // The log is written first; then the lines are written, but can't be synced to the disk.
    let mut syncs = 0;
    let hook = move |call: Call| {
        syncs += usize::from(call == Call::Sync);
        let fails = call == Call::Cut || call == Call::Sync && syncs > 1;
        if fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(None) }
    };
    let refused = sys::with_hook(hook, || carry(&opened, &append(), &place.options(), &mut Vec::new()));
    assert!(matches!(refused, Err(Refusal::NotTakenBack { .. })), "{refused:?}");
    let words = refused.unwrap_err().to_string();
    assert!(words.ends_with("s.jsonl could not be restored"), "{words}");
    place.age();
    place.undo().unwrap();
    assert_eq!(place.bytes(), session().as_bytes());
}

/// Returns options without any override, at a fixed time.
fn options(log: &Log) -> WriteOptions<'_> {
    WriteOptions {
        force: false,
        last_try: false,
        dry_run: false,
        now: Time(1_772_000_000_000),
        log: Some(log),
        group: None,
        allow: Allow::default(),
        quiet: WriteOptions::QUIET,
        patience: WriteOptions::PATIENCE,
        keep_added: false,
        prove: None,
    }
}

/// Returns a hook that ends the process at its `n`-th call, counted from 0; half of a write gets
/// through, and the next call ends it.
fn ending_at(n: usize) -> impl FnMut(Call) -> std::io::Result<Option<usize>> {
    let mut count = 0;
    move |call: Call| {
        count += 1;
        if count - 1 < n {
            return Ok(None);
        }
        if call == Call::Write && count - 1 == n { Ok(Some(9)) } else { std::process::exit(9) }
    }
}

/// Checks what a process leaves that ends at a system call: runs this program again, with a
/// variable that names the call.
#[test]
fn stopped_at_any_call_a_whole_file_or_a_torn_tail_is_left() {
    const CALL: &str = "BOUGH_TEST_STOP";
    if let Ok(stop) = std::env::var(CALL) {
        let (folder, what, n) = {
            let mut parts = stop.split('|');
            let mut next = || parts.next().unwrap().to_owned();
            (PathBuf::from(next()), next(), next().parse::<usize>().unwrap())
        };
        let opened = store::open(&folder.join("work/s.jsonl"), store::Options::default()).unwrap();
        let log = Log::in_folder(folder.join("state"));
        let options = options(&log);
        let plan = match &what[..] {
            "append" => append(),
            "rewrite" => rewrite(),
            _ => create_below(&folder),
        };
        let _ = sys::with_hook(ending_at(n), || carry(&opened, &plan, &options, &mut Vec::new()));
        std::process::exit(0);
    }
    CALM.take();
    let _alone = STARTS.write().unwrap_or_else(PoisonError::into_inner);
    let old = session().into_bytes();
    for what in ["append", "rewrite", "create"] {
        for n in 0..40 {
            let place = Place::unguarded(&session());
            let status = std::process::Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "store::write::tests::stopped_at_any_call_a_whole_file_or_a_torn_tail_is_left",
                ])
                .env(CALL, format!("{}|{what}|{n}", place.folder.path().display()))
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .status()
                .unwrap();
            let bytes = place.bytes();
            if what == "append" {
                assert_eq!(bytes[..old.len()], old, "stopped at {n}");
                let came = &bytes[old.len()..];
                assert!(line().starts_with(came), "stopped at {n}");
                if !came.is_empty() && came.len() < line().len() {
                    let session = place.opened().session;
                    assert!(!session.faults.is_empty(), "a torn tail is logged");
                }
            } else {
                assert!(bytes == old || what == "rewrite" && bytes.ends_with(&line()), "stopped at {n}");
            }
            let new = place.folder.path().join("work/a/b/new.jsonl");
            assert!(fs::read(&new).is_err() || fs::read(&new).unwrap() == line(), "stopped at {n}");
            assert!(place.others().iter().all(|name| !name.ends_with(".jsonl")), "{:?}", place.others());
            if status.code() == Some(0) {
                assert!(n > 3, "only {n} calls");
                break;
            }
            // If the log contains it, it can be undone, or it never happened.
            place.age();
            if place.log.last_on(&place.path()).unwrap().is_some()
                && (bytes == old || bytes.ends_with(&line()))
            {
                place.undo().unwrap();
                assert_eq!(place.bytes(), old, "undone after a stop at {n}");
                assert!(!new.exists(), "undone after a stop at {n}");
            }
        }
    }
}

#[test]
fn a_symbolic_link_is_written_through_and_a_hard_link_is_not_parted() {
    let place = Place::new(&session());
    let link = place.folder.path().join("link.jsonl");
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    for plan in [append(), rewrite()] {
        place.put(&session());
        let opened = store::open(&link, store::Options::default()).unwrap();
        carry(&opened, &plan, &place.options(), &mut Vec::new()).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(place.bytes().ends_with(&line()));
    }
    place.put(&session());
    let hard = place.folder.path().join("hard.jsonl");
    fs::hard_link(place.path(), &hard).unwrap();
    assert!(matches!(place.run(&rewrite()), Err(Refusal::HardLinked { others: 1, .. })));
    assert_eq!(place.bytes(), session().as_bytes());
    // An append keeps both names on one file.
    place.run(&append()).unwrap();
    assert_eq!(fs::read(&hard).unwrap(), place.bytes());
}

#[test]
fn a_lock_of_oh_my_pi_is_heeded_and_one_of_a_dead_process_is_taken() {
    let title = format!(
        "{:<254}\"}}\n",
        r#"{"type":"title","v":1,"title":"t","updatedAt":"2026-03-02T00:00:00.000Z","pad":""#
    );
    let text = title + &session();
    let place = Place::new(&text);
    let lock = place.folder.path().join("work/.s.jsonl.lock");
    fs::write(&lock, format!("{}:0\n", std::process::id())).unwrap();
    assert!(matches!(place.run(&append()), Err(Refusal::Alive { signs: Signs::OmpLock, .. })));
    assert_eq!(place.bytes(), text.as_bytes());
    // No process has such a high number.
    fs::write(&lock, "2147483646:0\n").unwrap();
    place.run(&append()).unwrap();
    assert_eq!(place.others(), [] as [String; 0]);
    assert!(place.bytes().ends_with(&line()));
}

#[test]
fn operations_of_old_logs_with_one_id_are_told_apart() {
    let place = Place::new(&session());
    let line = |command: &str, state: &str, steps: &str| {
        format!(
            r#"{{"schema":"bough.op/1","op_id":"69a57ac0c0de","time":"2026-03-02T00:00:00.000Z","command":"{command}","file":"/s.jsonl","format":"pi","state":"{state}","moved":false,"steps":[{steps}]}}"#
        ) + "\n"
    };
    let step = r#"{"path":"/s.jsonl","kind":"append","before":{"bytes":1,"mtime":0,"mode":384,"tail":""},"after":{"bytes":2,"mtime":0,"mode":384,"tail":""}}"#;
    let text = line("test", "begun", step)
        + &line("test", "done", step)
        + &line("again", "begun", step)
        + &line("again", "done", step);
    fs::create_dir_all(place.log.folder()).unwrap();
    fs::write(place.log.file(), text).unwrap();
    let operations = place.log.operations().unwrap().list;
    let logged: Vec<&str> = operations.iter().map(|operation| operation.command.as_str()).collect();
    assert_eq!(logged, ["test", "again"]);
    let last = undo::find(&place.log, "69a57ac0c0de").unwrap();
    assert_eq!(last.operation.command, "again");
}

#[test]
fn lines_of_the_log_that_can_not_be_read_are_counted() {
    let place = Place::new(&session());
    place.run(&append()).unwrap();
    let log = place.log.file();
    let text = fs::read_to_string(&log).unwrap();
    let other = text.lines().nth(1).unwrap().replace("\"append\"", "\"graft\"");
    fs::write(&log, format!("{other}\n\n{text}{{\"schema\":\"bough.op/1\",\"op")).unwrap();
    // The last line may be one that another bough is writing.
    let operations = place.log.operations().unwrap();
    assert_eq!((operations.list.len(), operations.unread), (1, 1));
    fs::write(&log, format!("{text}{{\"schema\":\"bough.op/1\",\"op\n")).unwrap();
    assert_eq!(place.log.operations().unwrap().unread, 1);
}

#[test]
fn the_log_tells_what_was_done() {
    let place = Place::new(&session());
    let done = place.run(&append()).unwrap();
    place.run(&Plan { verb: "again".into(), ..append() }).unwrap();
    let operations = place.log.operations().unwrap().list;
    let logged: Vec<(&str, StepKind)> =
        operations.iter().map(|operation| (operation.command.as_str(), operation.steps[0].kind)).collect();
    assert_eq!(logged, [("test", StepKind::Append), ("again", StepKind::Append)]);
    assert!(operations.iter().all(|operation| operation.state == Progress::Done));
    assert!(matches!(
        undo::undo(&place.log, &undo::Wanted::new(operations[0].clone()), None, &place.options()),
        Err(Refusal::MovedOn { grew: Some(_), .. })
    ));
    assert!(undo::find(&place.log, &done.op_id).is_ok());
    assert!(matches!(undo::find(&place.log, "zz"), Err(Refusal::NoSuchOperation { .. })));
}

/// Runs a function for every call, with a line of an agent appended just before the call; `fails`
/// says whether the call then fails. Each time the line must be in the file exactly once.
fn append_at_each_call(
    ready: impl Fn(&Place),
    run: impl Fn(&Place) -> Result<Done, Refusal>,
    fails: impl Fn(Call) -> bool + Copy + 'static,
) {
    const AGENT: &str = "{\"agent\":1}\n";
    for n in 0.. {
        let place = Place::new(&session());
        ready(&place);
        let (path, hit) = (place.path(), Rc::new(Cell::new(false)));
        let (mut count, seen) = (0, hit.clone());
        let hook = move |call: Call| {
            count += 1;
            if count - 1 != n {
                return Ok(None);
            }
            seen.set(true);
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            file.write_all(AGENT.as_bytes()).unwrap();
            if fails(call) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(None) }
        };
        let result = sys::with_hook(hook, || run(&place));
        if !hit.get() {
            assert!(n > 3, "only {n} calls: {result:?}");
            return;
        }
        let text = String::from_utf8(place.bytes()).unwrap();
        assert_eq!(text.matches(AGENT).count(), 1, "call {n}: {result:?}");
        assert!(text.starts_with(HEADER), "call {n}: {result:?}");
        assert_eq!(place.others(), [] as [String; 0], "call {n}: {result:?}");
    }
}

#[test]
fn what_an_agent_appends_at_any_call_is_kept() {
    for plan in [append(), rewrite()] {
        for (force, fails) in [(false, false), (true, false), (true, true)] {
            let run = |place: &Place| {
                let options = WriteOptions { force, ..place.options() };
                carry(&place.opened(), &plan, &options, &mut Vec::new())
            };
            append_at_each_call(|_| (), run, move |call| fails && call == Call::Write);
        }
        // An undo without `force` keeps it as well.
        let ready = |place: &Place| drop(place.run(&plan).unwrap());
        append_at_each_call(ready, Place::undo, |_| false);
    }
}

#[test]
fn a_file_that_is_held_open_is_replaced_only_if_that_is_allowed() {
    let place = Place::new(&session());
    let held = fs::File::options().append(true).open(place.path()).unwrap();
    if unix::open_for_writing(&held).is_none() {
        return;
    }
    let forced = WriteOptions { force: true, ..place.options() };
    let refused = carry(&place.opened(), &rewrite(), &forced, &mut Vec::new());
    assert!(matches!(refused, Err(Refusal::Alive { signs: Signs::Open(_), .. })), "{refused:?}");
    let allowed = WriteOptions { allow: Allow { live: true, ..Allow::default() }, ..place.options() };
    assert_eq!(place.bytes(), session().as_bytes());
    // Nobody is told to allow what is allowed.
    let options = WriteOptions { patience: std::time::Duration::ZERO, ..allowed };
    let refused = carry(&place.opened(), &rewrite(), &options, &mut Vec::new()).unwrap_err();
    assert!(matches!(refused, Refusal::HeldOpen { .. }), "{refused:?}");
    assert!(!refused.hint().unwrap().contains("--allow"), "{refused:?}");
    assert_eq!((place.bytes(), place.others()), (session().into_bytes(), Vec::new()));
    // It is closed while the new file waits for that.
    let closer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        (&held).write_all(b"{\"agent\":1}\n").unwrap();
    });
    carry(&place.opened(), &rewrite(), &allowed, &mut Vec::new()).unwrap();
    closer.join().unwrap();
    assert!(place.bytes().ends_with(&[&line()[..], b"{\"agent\":1}\n"].concat()));
}

#[test]
fn a_write_without_a_place_for_its_record_is_refused_and_overwrites_nothing() {
    for plan in [append(), rewrite()] {
        let place = Place::new(&session());
        let options = WriteOptions { log: None, ..place.options() };
        assert!(matches!(carry(&place.opened(), &plan, &options, &mut Vec::new()), Err(Refusal::NoPlace)));
        let options = WriteOptions { log: None, force: true, ..place.options() };
        let done = carry(&place.opened(), &plan, &options, &mut Vec::new()).unwrap();
        for kept in &done.kept {
            assert_eq!(fs::read(kept).unwrap(), session().as_bytes());
        }
        assert_eq!(done.kept.len(), usize::from(place.others().len() == 1));
        assert!(!done.kept.is_empty() || place.bytes().starts_with(session().as_bytes()));
    }
}

#[test]
fn the_log_grows_by_the_same_for_each_file_and_many_are_soon_undone() {
    let (few, many) = (10, 600);
    let run = |count: usize| {
        let place = Place::new(&session());
        let mut plan = Plan { verb: "test".into(), ..Plan::default() };
        for at in 0..count {
            let path = place.folder.path().join(format!("work/n/{at:04}.txt"));
            plan.targets.push(Target::Create { path: Some(path), pieces: vec![Piece::New(line())] });
        }
        let now = stamp::mtime(&fs::metadata(place.log.folder().parent().unwrap()).unwrap()) / 1_000_000;
        let options = WriteOptions { now: Time(now), ..place.options() };
        let done = carry(&place.opened(), &plan, &options, &mut Vec::new()).unwrap();
        assert_eq!(done.files.len(), count);
        let bytes = fs::metadata(place.log.file()).unwrap().len();
        let since = std::time::Instant::now();
        let wanted = newest(&place.log, None).unwrap();
        undo::undo(&place.log, &wanted, None, &options).unwrap();
        assert_eq!(place.others(), [] as [String; 0]);
        (bytes, since.elapsed())
    };
    let ((small, _), (large, time)) = (run(few), run(many));
    assert!(large / (many as u64) <= small / (few as u64), "{small} and {large} bytes");
    assert!(time < std::time::Duration::from_secs(20), "{time:?}");
}
