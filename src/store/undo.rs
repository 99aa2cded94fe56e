//! Undoing operations.
//!
//! For each file it is checked whether its state is the one before the step or the one after it. So
//! an interrupted operation can be finished as well as undone, and a file in its old state needs
//! nothing.

mod choice;

pub use choice::{Last, Origin, Wanted, Which, find, is_operation, last, last_undo, origin};

use super::oplog::{Log, Operation, Progress, State, Step, StepKind};
use super::write::guard::Guard;
use super::write::sink::Sink;
use super::write::stamp::Stamp;
use super::write::steps::{self, Ready};
use super::write::{
    Allow, Done, Record, Refusal, WriteOptions, carry_out, folders, look_around, look_into_register, op_id,
    patch, stamp,
};
use crate::model::{Change, Time};
use choice::not_read;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Above this number of files, not all of them are held open.
const MANY: usize = 256;

/// Undoes an operation: each file gets its old bytes, mode and time back. With `only`, just one of
/// its files.
///
/// Refuses if a file has changed since the operation. With `keep_added`, what was only appended
/// since stays, behind the old content; whether that makes sense is for `prove` to say. With `force`,
/// undoes nevertheless if the old bytes are known; newer content is backed up, and undoing the undo
/// restores it.
pub fn undo(
    log: &Log,
    wanted: &Wanted,
    only: Option<&Path>,
    options: &WriteOptions<'_>,
) -> Result<Done, Refusal> {
    let operation = &wanted.operation;
    let only = only.map(Path::to_owned).or(wanted.begun.as_ref().and_then(|begun| begun.only.clone()));
    let is_wanted = |step: &&Step| only.as_ref().is_none_or(|only| step.path == *only);
    let steps = in_order_of_undo(operation.steps.iter().rev().filter(is_wanted).collect());
    if steps.is_empty() && only.is_some() {
        return Err(Refusal::NothingToUndo { path: only });
    }
    // A truncated line that the interrupted undo appended can be removed.
    for step in wanted.begun.iter().flat_map(|begun| &begun.steps).filter(|_| !options.dry_run) {
        if step.kind == StepKind::Append && ends_in_piece(step) {
            take_back(step, Some(log));
        }
    }
    for step in &steps {
        if let Some((to, op)) = moved_to(log, step)? {
            return Err(Refusal::MovedAway { path: step.path.clone(), to, op });
        }
    }
    let mut guards: HashMap<&Path, Guard> = HashMap::new();
    // All files are checked before the first one is changed.
    let mut todo: Vec<(&Step, Option<Stamp>)> = Vec::new();
    let mut seen: HashSet<(&Path, bool)> = HashSet::new();
    let mut sorted = steps.clone();
    // Always in the same order, so that two processes do not wait for each other.
    sorted.sort_by_key(|step| &step.path);
    for step in sorted {
        if guards.contains_key(&*step.path) {
            continue;
        }
        if let Some(guard) = guard_of(step, operation, options)? {
            guards.insert(&step.path, guard);
        }
        if guards.len() > MANY {
            guards.clear();
        }
    }
    let holds_all = steps.len() <= MANY;
    for step in &steps {
        let found = find_file(step, operation.state == Progress::Begun)?;
        if let Some(stamp) = inspect(log, operation, step, found, options.into())?
            && seen.insert((&step.path, step.kind == StepKind::Cut))
        {
            todo.push((step, stamp));
        }
    }
    if options.dry_run {
        return Ok(Done::default());
    }
    for step in steps.iter().filter(|_| operation.state == Progress::Begun) {
        restore_time(step);
    }
    let mut record = begin_or_resume(wanted, only.as_deref(), &todo, options);
    record.expect(todo.len());
    let mut ready = Vec::new();
    for (number, (step, stamp)) in todo.iter().enumerate() {
        let guard;
        let guard = match guards.get(&*step.path) {
            Some(guard) => Some(guard),
            None if holds_all => None,
            None => {
                guard = guard_of(step, operation, options)?;
                guard.as_ref()
            }
        };
        match reverse(Some(log), operation, step, guard, stamp.as_ref(), options, &mut record) {
            Ok(step) => ready.push((number, step)),
            Err(refusal) => return Err(record.fail(refusal)),
        }
    }
    let done = record.carry_out(ready, options, |_| Ok(()))?;
    let done = record.end(done)?;
    // A lock of oh-my-pi is a file in the folder of the session.
    drop(guards);
    // Last of all: files that are restored before may have to be created in these folders.
    for step in &steps {
        folders::remove_folders(&step.folders);
    }
    Ok(done)
}

/// Returns where the file of a step is now, and the operation that moved it there, if it is not in its place.
fn moved_to(log: &Log, step: &Step) -> Result<Option<(PathBuf, String)>, Refusal> {
    if !is_change(step.kind) || fs::symlink_metadata(&step.path).is_ok() {
        return Ok(None);
    }
    let io = not_read(log);
    let mut reader = log.reader().map_err(&io)?;
    while let Some(operation) = reader.next().map_err(&io)? {
        let gone = operation.steps.iter().find(|other| other.path == step.path && other.base.is_some());
        if let Some(to) = gone.and_then(|gone| gone.base.clone()) {
            return Ok(Some((to, operation.op_id)));
        }
    }
    Ok(None)
}

/// Begins the record of an undo, or goes on with that of one that was interrupted: steps of it that are still to do are
/// planned again.
fn begin_or_resume<'a>(
    wanted: &Wanted,
    only: Option<&Path>,
    todo: &[(&Step, Option<Stamp>)],
    options: &WriteOptions<'a>,
) -> Record<'a> {
    let operation = &wanted.operation;
    let redoes =
        options.log.and_then(|log| origin(log, operation).ok()?).is_some_and(|origin| origin.is_undo);
    match &wanted.begun {
        Some(begun) => {
            let todo: HashSet<&Path> = todo.iter().map(|(step, _)| &*step.path).collect();
            let mut begun = begun.clone();
            begun.steps.retain(|step| !todo.contains(&*step.path));
            Record::resume(options, begun)
        }
        None => Record::begin(
            options,
            Operation {
                op_id: op_id(options.now),
                time: options.now.iso(),
                command: if redoes { "redo" } else { "undo" }.into(),
                detail: operation.detail.clone(),
                file: only.map_or_else(|| operation.file.clone(), Path::to_owned),
                format: operation.format.clone(),
                state: Progress::Begun,
                from: operation.to.clone(),
                to: operation.from.clone(),
                moved: operation.moved && only.is_none_or(|only| *only == operation.file),
                undoes: Some(operation.op_id.clone()),
                only: only.map(Path::to_owned),
                steps: Vec::new(),
            },
        ),
    }
}

/// Moves the steps whose undo gives a session its file back behind those that give it its other
/// files back, so that half an undo is not a session. What is removed again is removed after all of
/// them.
fn in_order_of_undo(mut steps: Vec<&Step>) -> Vec<&Step> {
    let comes_back = |step: &Step| step.kind == StepKind::Remove;
    let Some(last) = steps.iter().rposition(|step| comes_back(step)) else { return steps };
    let files = steps.iter().filter(|step| comes_back(step));
    let parents: HashSet<&Path> = files.flat_map(|step| step.path.ancestors().skip(1)).collect();
    steps[..=last].sort_by_key(|step| comes_back(step) && parents.contains(&*step.path.with_extension("")));
    steps
}

/// Locks the file of a step, and checks whether it may be changed; returns `None` if it does not
/// exist.
fn guard_of(
    step: &Step,
    operation: &Operation,
    options: &WriteOptions<'_>,
) -> Result<Option<Guard>, Refusal> {
    let may_be_missing = matches!(step.kind, StepKind::Create | StepKind::Remove);
    if may_be_missing && fs::symlink_metadata(&step.path).is_err() {
        return Ok(None);
    }
    let omp = operation.format == "omp";
    let path = &step.path;
    let mut guard =
        if options.dry_run { Guard::look(path)? } else { Guard::take(path, omp, options.ignores_life())? };
    let own = step.after.as_ref().map(|after| after.mtime);
    look_around(&guard, path, step.kind != StepKind::Cut, own, options)?;
    if !options.ignores_life() {
        look_into_register(&guard)?;
    }
    let len = step.before.as_ref().map_or(0, |before| before.bytes);
    if !options.dry_run && step.kind == StepKind::Append && steps::is_cut_in_place(&guard, len) {
        guard.open_for_writing().map_err(|source| Refusal::Io { path: path.clone(), source })?;
    }
    Ok(Some(guard))
}

/// Returns the changes that undoing an operation makes, with the files that the changes name.
pub fn changes(operation: &Operation, only: Option<&Path>) -> (Vec<Change>, Vec<PathBuf>) {
    let (mut changes, mut files) = (Vec::new(), Vec::<PathBuf>::new());
    let mut number = |path: &PathBuf| {
        files.iter().position(|known| known == path).unwrap_or_else(|| {
            files.push(path.clone());
            files.len() - 1
        }) as u16
    };
    let why = format!("undoes the operation {}: {}", operation.op_id, operation.command);
    let is_wanted = |step: &&Step| only.is_none_or(|only| step.path == only);
    for step in operation.steps.iter().rev().filter(is_wanted) {
        let size = |state: &Option<State>| state.as_ref().map_or(0, |state| state.bytes as i64);
        changes.push(Change {
            op: match step.kind {
                StepKind::Append => "cut",
                StepKind::Cut => "append",
                StepKind::Replace => "replace",
                StepKind::Create => "remove",
                StepKind::Remove => "create",
            },
            file: number(&step.path),
            bytes: size(&step.before) - size(&step.after),
            why: why.clone(),
            ..Change::default()
        });
    }
    let folders = operation.steps.iter().rev().filter(is_wanted).flat_map(|step| step.folders.iter().rev());
    for folder in folders {
        changes.push(Change {
            op: "remove",
            file: number(folder),
            why: format!("{why}; the folder, if it is empty"),
            ..Change::default()
        });
    }
    (changes, files)
}

/// The state of a file, relative to a step that changed it.
#[derive(PartialEq, Debug)]
enum Found {
    /// As before the step, as far as the step is concerned.
    Before,
    /// As the step left it, with `grew` more bytes after that. The stamp was taken before the
    /// content was read; there is none if there is no file.
    After { stamp: Option<Stamp>, grew: u64 },
    /// Neither.
    Other { stamp: Option<Stamp> },
}

/// Determines the state of a step's file. `is_begun` says that the operation was interrupted, and
/// may not have carried out the step.
fn find_file(step: &Step, is_begun: bool) -> Result<Found, Refusal> {
    let io = |source| Refusal::Io { path: step.path.clone(), source };
    let file = match steps::open(&step.path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match step.kind {
                StepKind::Create => Ok(Found::Before),
                StepKind::Remove => Ok(Found::After { stamp: None, grew: 0 }),
                _ => Err(io(error)),
            };
        }
        Err(error) => return Err(io(error)),
    };
    let stamp = Stamp::take(&file).map_err(io)?;
    compare(step, is_begun, &file, stamp).map_err(io)
}

fn compare(step: &Step, is_begun: bool, file: &File, stamp: Stamp) -> io::Result<Found> {
    let len = stamp.bytes();
    let (before, after) = (step.before.as_ref(), step.after.as_ref());
    let has_tail = |state: &State| -> io::Result<bool> {
        let tail = state.bytes.min(4096);
        Ok(len >= state.bytes && super::oplog::hash_of(file, state.bytes - tail, tail)? == state.tail)
    };
    let has = |state: &State| -> io::Result<bool> {
        match &state.sha256 {
            Some(hash) => Ok(len >= state.bytes && super::oplog::hash_of(file, 0, state.bytes)? == *hash),
            None => has_tail(state),
        }
    };
    let is_before =
        |state: &State| -> io::Result<bool> { Ok((len == state.bytes || is_begun) && has(state)?) };
    Ok(match (step.kind, before, after) {
        (StepKind::Append, Some(before), Some(after)) => {
            let came = after.bytes.saturating_sub(before.bytes);
            if steps_still(file, before.bytes, came, after.sha256.as_deref())? {
                Found::After { stamp: Some(stamp), grew: len - after.bytes }
            } else if len == before.bytes && has_tail(before)? {
                Found::Before
            } else if is_begun && is_piece(step, before, after, file, len)? {
                Found::After { stamp: Some(stamp), grew: 0 }
            } else if is_begun && has_tail(before)? {
                Found::Before
            } else {
                Found::Other { stamp: Some(stamp) }
            }
        }
        (StepKind::Cut, Some(before), Some(after)) => {
            if (len == before.bytes || is_begun) && has_tail(before)? {
                Found::Before
            } else if has_tail(after)? {
                Found::After { stamp: Some(stamp), grew: len - after.bytes }
            } else {
                Found::Other { stamp: Some(stamp) }
            }
        }
        (StepKind::Replace, Some(before), Some(after)) => {
            // Bytes that were removed from the end of the old file are not growth of the new one.
            if len == before.bytes && len != after.bytes && has(before)? {
                Found::Before
            } else if has(after)? {
                Found::After { stamp: Some(stamp), grew: len - after.bytes }
            } else if is_before(before)? {
                Found::Before
            } else {
                Found::Other { stamp: Some(stamp) }
            }
        }
        (StepKind::Create, _, Some(after)) if has(after)? => {
            Found::After { stamp: Some(stamp), grew: len - after.bytes }
        }
        (StepKind::Remove, Some(before), _) if is_before(before)? => Found::Before,
        _ => Found::Other { stamp: Some(stamp) },
    })
}

/// Returns how many bytes the file that an interrupted step left behind has after the known content:
/// the old one, which is backed up, or the new one. An agent appended them.
///
/// The one may begin with the other, so the longest that fits counts.
pub fn bytes_after(step: &Step, left: &Path) -> Option<u64> {
    if step.kind == StepKind::Create {
        return None;
    }
    let file = steps::open(left).ok()?;
    let len = file.metadata().ok()?.len();
    let has = |state: &&State| {
        let tail = state.bytes.min(4096);
        len >= state.bytes
            && super::oplog::hash_of(&file, state.bytes - tail, tail).is_ok_and(|hash| hash == state.tail)
    };
    let known =
        [&step.before, &step.after].into_iter().flatten().filter(has).map(|state| state.bytes).max()?;
    Some(len - known).filter(|more| *more > 0)
}

/// Returns whether a range of a file still has the same hash.
fn steps_still(file: &File, at: u64, len: u64, sha256: Option<&str>) -> io::Result<bool> {
    let facts = file.metadata()?;
    Ok(facts.len() >= at + len
        && sha256.is_some_and(|wanted| super::oplog::hash_of(file, at, len).is_ok_and(|is| is == wanted)))
}

/// Restores the time of a file for which an interrupted append had reserved room without writing to
/// it.
fn restore_time(step: &Step) {
    let Some(before) = step.before.as_ref().filter(|_| step.kind == StepKind::Append) else { return };
    let Ok(file) = steps::open(&step.path) else { return };
    let is_before = |now: &State| now.bytes == before.bytes && now.tail == before.tail;
    if State::read(&file).is_ok_and(|now| is_before(&now) && now.mtime != before.mtime) {
        // A user who may write a file of another user may not set its time.
        let _ = stamp::restore_time(&file, before.mtime);
    }
}

/// Returns whether the file of an append ends in a part of the appended bytes.
fn ends_in_piece(step: &Step) -> bool {
    let (Some(before), Some(after)) = (&step.before, &step.after) else { return false };
    let is_one = || is_piece(step, before, after, &steps::open(&step.path)?, fs::metadata(&step.path)?.len());
    is_one().unwrap_or(false)
}

/// Returns whether a file ends in a part of an append that was interrupted during its write.
fn is_piece(step: &Step, before: &State, after: &State, file: &File, len: u64) -> io::Result<bool> {
    if len <= before.bytes || len >= after.bytes || step.head.is_empty() {
        return Ok(false);
    }
    let came = stamp::read_at(file, before.bytes, ((len - before.bytes) as usize).min(steps::HEAD))?;
    Ok(step.head.starts_with(&super::oplog::hex(&came)))
}

/// The entry that HEAD was on before an operation, if that moved HEAD, and if the id is a plain word.
fn entry_before(operation: &Operation) -> Option<Box<str>> {
    operation.from.as_deref().filter(|from| operation.moved && is_plain(from)).map(Box::from)
}

/// Whether an id is a word that a shell takes as it is.
fn is_plain(id: &str) -> bool {
    id.len() >= 4
        && !id.starts_with('-')
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// What becomes of bytes that were appended since an operation that is undone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Added {
    /// They are in the way.
    Refused,
    /// They stay, behind the old content.
    Kept,
    /// They go, as all that is newer; they are backed up.
    Removed,
}

impl From<&WriteOptions<'_>> for Added {
    fn from(options: &WriteOptions<'_>) -> Added {
        match (options.force, options.keep_added) {
            (true, _) => Added::Removed,
            (false, true) => Added::Kept,
            (false, false) => Added::Refused,
        }
    }
}

/// A file of an operation to which something was appended since.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grown {
    /// The file.
    pub path: PathBuf,
    /// How many bytes an undo puts before what was appended.
    pub before: u64,
    /// How many bytes were appended.
    pub added: u64,
    /// How many lines these are.
    pub lines: usize,
}

/// Returns the files of an operation that only grew since. Reads what it wrote to those that are longer now.
pub fn grown(operation: &Operation, only: Option<&Path>) -> Result<Vec<Grown>, Refusal> {
    let steps = operation.steps.iter().filter(|step| only.is_none_or(|only| step.path == only));
    let mut out: Vec<Grown> = Vec::new();
    let is_longer = |step: &&Step| {
        let len = fs::metadata(&step.path).map_or(0, |facts| facts.len());
        step.after.as_ref().is_some_and(|after| len > after.bytes)
    };
    for step in steps.filter(|step| is_change(step.kind)).filter(is_longer) {
        let found = find_file(step, operation.state == Progress::Begun)?;
        let (Found::After { stamp: Some(stamp), grew: added @ 1.. }, Some(before)) = (found, &step.before)
        else {
            continue;
        };
        let mut lines = 0;
        let io = |source| Refusal::Io { path: step.path.clone(), source };
        let file = steps::open(&step.path).map_err(io)?;
        stamp::each_block(&file, stamp.bytes() - added, added, |block| {
            lines += block.iter().filter(|byte| **byte == b'\n').count();
            Ok(())
        })
        .map_err(io)?;
        out.push(Grown { path: step.path.clone(), before: before.bytes, added, lines: lines.max(1) });
    }
    Ok(out)
}

/// Whether a step changed a file that was there before and is there after it.
fn is_change(kind: StepKind) -> bool {
    matches!(kind, StepKind::Append | StepKind::Cut | StepKind::Replace)
}

/// Checks whether a step can be undone. Returns `None` if nothing needs to be done, or else the
/// stamp of the file.
#[allow(clippy::option_option, reason = "there may be something to do without a file")]
fn inspect(
    log: &Log,
    operation: &Operation,
    step: &Step,
    found: Found,
    newer: Added,
) -> Result<Option<Option<Stamp>>, Refusal> {
    let moved_on = |grew| Refusal::MovedOn {
        path: step.path.clone(),
        op: operation.op_id.clone(),
        command: operation.command.clone(),
        made: step.kind == StepKind::Create,
        grew,
        back: entry_before(operation),
    };
    let (stamp, grew) = match found {
        Found::Before => return Ok(None),
        Found::After { stamp, grew } => (stamp, Some(grew)),
        Found::Other { stamp } => (stamp, None),
    };
    let backup_is_there = || step.backup.as_ref().is_some_and(|hash| log.backup(hash).is_file());
    if matches!(step.kind, StepKind::Replace | StepKind::Cut | StepKind::Remove) && !backup_is_there() {
        return Err(Refusal::BackupGone { op: operation.op_id.clone() });
    }
    match (step.kind, grew) {
        (StepKind::Remove, None) if newer != Added::Removed => {
            Err(Refusal::Exists { path: step.path.clone() })
        }
        // The appended bytes must be unchanged: then the bytes before them are those from before.
        (StepKind::Append | StepKind::Cut, None) => Err(moved_on(None)),
        (_, Some(0)) => Ok(Some(stamp)),
        (kind, Some(_)) if newer == Added::Kept && is_change(kind) => Ok(Some(stamp)),
        _ if newer == Added::Removed => Ok(Some(stamp)),
        (_, Some(grew)) => Err(moved_on(Some(grew))),
        (_, None) => Err(moved_on(None)),
    }
}

/// Prepares the reversal of a step.
fn reverse(
    log: Option<&Log>,
    operation: &Operation,
    step: &Step,
    guard: Option<&Guard>,
    stamp: Option<&Stamp>,
    options: &WriteOptions<'_>,
    record: &mut Record<'_>,
) -> Result<Ready, Refusal> {
    let io = |source| Refusal::Io { path: step.path.clone(), source };
    let gone = || Refusal::BackupGone { op: operation.op_id.clone() };
    let backup = || {
        let path = log.zip(step.backup.as_deref()).map(|(log, hash)| log.backup(hash));
        path.and_then(|path| File::open(path).ok()).ok_or_else(gone)
    };
    if let (Some((guard, stamp)), Some(before), Some(after)) = (guard.zip(stamp), &step.before, &step.after)
        && Added::from(options) == Added::Kept
        && is_change(step.kind)
        && stamp.bytes() > after.bytes
    {
        let kept = if step.kind == StepKind::Replace { 0 } else { before.bytes.min(after.bytes) };
        let back = before.bytes.saturating_sub(kept);
        let backup = if step.kind == StepKind::Append { None } else { Some(backup()?) };
        let mut fill = |sink: &mut Sink<'_>| {
            let last = Cell::new(b'\n');
            let mut write = |block: &[u8]| {
                last.set(block.last().copied().unwrap_or(last.get()));
                sink.write_all(block)
            };
            stamp::each_block(&guard.file, 0, kept, &mut write)?;
            if let Some(backup) = &backup {
                stamp::each_block(backup, 0, back, &mut write)?;
            }
            // What was added begins on a line of its own.
            if last.get() != b'\n' {
                write(b"\n")?;
            }
            stamp::each_block(&guard.file, after.bytes, stamp.bytes() - after.bytes, &mut write)
        };
        return steps::replace(guard, stamp, &mut fill, Some(stamp.mtime), options, record);
    }
    match (step.kind, guard.zip(stamp), &step.before, &step.after) {
        (StepKind::Append, Some((guard, stamp)), Some(before), _) => {
            steps::cut(guard, stamp, before.bytes, before.mtime, record)
        }
        (StepKind::Cut, Some((guard, stamp)), Some(before), Some(after)) => {
            let backup = backup()?;
            let len = before.bytes.saturating_sub(after.bytes);
            if stamp.bytes() > after.bytes {
                let mut fill = |sink: &mut Sink<'_>| {
                    stamp::each_block(&guard.file, 0, after.bytes, |block| sink.write_all(block))?;
                    stamp::each_block(&backup, 0, len, |block| sink.write_all(block))
                };
                return steps::replace(guard, stamp, &mut fill, Some(before.mtime), options, record);
            }
            let bytes = stamp::read_at(&backup, 0, len as usize).map_err(io)?;
            steps::append_again(guard, stamp, bytes, before.mtime)
        }
        (StepKind::Replace, Some((guard, stamp)), Some(before), _) => {
            let backup = backup()?;
            let mut fill = |sink: &mut Sink<'_>| {
                stamp::each_block(&backup, 0, before.bytes, |block| sink.write_all(block))
            };
            steps::replace(guard, stamp, &mut fill, Some(before.mtime), options, record)
        }
        (StepKind::Create, Some((guard, stamp)), _, _) => steps::remove(guard, stamp, record),
        (StepKind::Remove, _, Some(before), _) => {
            let backup = backup()?;
            if let Some(base) = &step.base {
                return unmove(operation, step, before, base, &backup, options, record);
            }
            let mut fill = |sink: &mut Sink<'_>| {
                stamp::each_block(&backup, 0, before.bytes, |block| sink.write_all(block))
            };
            steps::create(&step.path, before.mode, Some(before.mtime), &mut fill, options, record)
        }
        _ => Err(Refusal::NoSuchOperation { op: operation.op_id.clone() }),
    }
}

/// Prepares the old file of a move, made of the new one and the patch.
fn unmove(
    operation: &Operation,
    step: &Step,
    before: &State,
    base: &Path,
    patch: &File,
    options: &WriteOptions<'_>,
    record: &mut Record<'_>,
) -> Result<Ready, Refusal> {
    let io = |source| Refusal::Io { path: base.to_owned(), source };
    let changed = || Refusal::MovedOn {
        path: base.to_owned(),
        op: operation.op_id.clone(),
        command: operation.command.clone(),
        made: false,
        grew: None,
        back: None,
    };
    let len = patch.metadata().map_err(io)?.len();
    let bytes = stamp::read_at(patch, 0, len as usize).map_err(io)?;
    let new = steps::open(base).map_err(io)?;
    let mut is_short = false;
    let mut fill = |sink: &mut Sink<'_>| match patch::apply(&bytes, &new, &mut |block| sink.write_all(block))
    {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            is_short = true;
            Ok(())
        }
        other => other,
    };
    let ready = steps::create(&step.path, before.mode, Some(before.mtime), &mut fill, options, record)?;
    if is_short || ready.step.after.as_ref().and_then(|after| after.sha256.as_ref()) != before.sha256.as_ref()
    {
        return Err(changed());
    }
    folders::restore_modes(&ready.step.folders, &step.emptied);
    Ok(ready)
}

/// Rolls back a step of an operation that could not be completed; returns whether the file is as
/// before the step.
///
/// A file that has changed since the step stays as it is.
pub(super) fn take_back(step: &Step, log: Option<&Log>) -> bool {
    let once = || -> Result<bool, Refusal> {
        let stamp = match find_file(step, true)? {
            Found::Before => return Ok(true),
            Found::After { stamp, grew: 0 } => stamp,
            _ => return Ok(false),
        };
        let options = WriteOptions {
            force: true,
            allow: Allow::default(),
            last_try: true,
            dry_run: false,
            now: Time(0),
            log: None,
            group: None,
            quiet: WriteOptions::QUIET,
            patience: WriteOptions::PATIENCE,
            keep_added: false,
            prove: None,
        };
        let operation = Operation {
            op_id: String::new(),
            time: String::new(),
            command: String::new(),
            detail: String::new(),
            file: step.path.clone(),
            format: String::new(),
            state: Progress::Begun,
            moved: false,
            from: None,
            to: None,
            undoes: None,
            only: None,
            steps: Vec::new(),
        };
        let mut record = Record::scratch(&options, operation.clone());
        // The file is already locked.
        let guard = if stamp.is_some() { Some(Guard::look(&step.path)?) } else { None };
        let ready = reverse(log, &operation, step, guard.as_ref(), stamp.as_ref(), &options, &mut record)?;
        carry_out::carry_out_step(ready, 0, &options, &mut record).map_err(|failed| failed.refusal)?;
        folders::remove_folders(&step.folders);
        Ok(true)
    };
    once().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn what_an_agent_appended_to_a_file_that_is_left_is_known_from_what_bough_wrote() {
        let check = |before: &str, after: Option<&str>, left: &str, wanted: Option<u64>| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("s.jsonl");
            let state = |text: &str| {
                fs::write(&path, text).unwrap();
                State::read(&File::open(&path).unwrap()).unwrap()
            };
            let (before, after) = (Some(state(before)), after.map(state));
            let kind = if after.is_some() { StepKind::Replace } else { StepKind::Remove };
            let step = Step { before, after, ..Step::new(&path, kind) };
            fs::write(&path, left).unwrap();
            assert_eq!(bytes_after(&step, &path), wanted, "{left:?}");
        };
        //    before    after          left             appended
        check("a\n",    Some("b\n"),    "a\n",           None);
        check("a\n",    Some("b\n"),    "a\nmore\n",     Some(5));
        check("a\n",    Some("b\n"),    "b\n",           None);
        check("a\n",    Some("b\n"),    "b\nmore\n",     Some(5));
        check("a\n",    Some("a\nb\n"), "a\nb\n",        None);      // a new file that begins with the old one
        check("a\n",    Some("a\nb\n"), "a\nb\nmore\n",  Some(5));
        check("a\n",    Some("a\nb\n"), "a\nmore\n",     Some(5));
        check("a\nb\n", Some("a\n"),    "a\nb\n",        None);
        check("a\n",    None,          "a\n",           None);
        check("a\n",    None,          "a\nmore\n",     Some(5));
        check("a\n",    Some("b\n"),    "c\nmore\n",     None);      // the file of another
    }

    #[test]
    fn a_session_comes_back_after_what_belongs_to_it_and_before_its_copy_goes() {
        let step = |kind: &str, path: &str| -> Step {
            serde_json::from_value(serde_json::json!({"kind": kind, "path": path})).unwrap()
        };
        // As `move` recorded them, last first.
        let steps = [
            step("remove", "/old/s.jsonl"),
            step("remove", "/old/s/subagents/a.jsonl"),
            step("remove", "/old/t.jsonl"),
            step("create", "/new/t.jsonl"),
            step("create", "/new/s.jsonl"),
            step("create", "/new/s/subagents/a.jsonl"),
        ];
        let order: Vec<&str> = in_order_of_undo(steps.iter().collect())
            .into_iter()
            .map(|step| step.path.to_str().unwrap())
            .collect();
        let old = ["/old/s/subagents/a.jsonl", "/old/t.jsonl", "/old/s.jsonl"];
        assert_eq!(order, [&old[..], &["/new/t.jsonl", "/new/s.jsonl", "/new/s/subagents/a.jsonl"]].concat());
    }
}
