//! Takes operations back.

use super::oplog::{Log, Operation, Progress, State, Step, StepKind};
use super::write::guard::Guard;
use super::write::stamp::Stamp;
use super::write::{Done, Orders, Record, Refusal, look_for_life, op_id, stamp, steps};
use crate::model::Change;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Which operation to take back: the one that `op` begins the id of, else the last on `path`, else the last of all.
///
/// Undoing an undo does the operation again, so the last operation may be an undo.
pub fn find(log: &Log, op: Option<&str>, path: Option<&Path>) -> Result<Operation, Refusal> {
    let io = |source| Refusal::NoRecord { path: log.folder().to_owned(), source };
    let operations = log.operations().map_err(io)?.list;
    let real = path.map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
    let live = || operations.iter().filter(|operation| operation.state != Progress::Failed);
    let Some(op) = op else {
        let touches = |operation: &&Operation| {
            real.as_ref().is_none_or(|path| {
                operation.file == *path || operation.steps.iter().any(|step| step.path == *path)
            })
        };
        return live()
            .rfind(touches)
            .cloned()
            .ok_or(Refusal::NothingToUndo { path: path.map(Path::to_owned) });
    };
    let found: Vec<&Operation> = live().filter(|operation| operation.op_id.starts_with(op)).collect();
    let exact = found.iter().rfind(|operation| operation.op_id == op);
    let operation = match (exact, found.as_slice()) {
        (Some(exact), _) => exact,
        (None, [only]) => only,
        (None, []) => return Err(Refusal::NoSuchOperation { op: op.into() }),
        (None, several) => {
            return Err(Refusal::AmbiguousOperation { op: op.into(), count: several.len() });
        }
    };
    match Log::undone(&operations).get(operation.op_id.as_str()) {
        Some(by) => Err(Refusal::UndoneAlready { op: operation.op_id.clone(), by: by.op_id.clone() }),
        None => Ok((*operation).clone()),
    }
}

/// Takes an operation back: each file gets the bytes, the mode and the time that it had.
///
/// Refuses where a file is not as the operation left it. With `force` goes back all the same, wherever the old
/// bytes are known; what came since is backed up, and undoing the undo brings it back.
pub fn undo(log: &Log, operation: &Operation, orders: &Orders<'_>) -> Result<Done, Refusal> {
    let mut guards = Vec::new();
    let is_there = |step: &&Step| step.kind != StepKind::Remove && !was_not_made(operation, step);
    let mut paths: Vec<&PathBuf> = operation.steps.iter().filter(is_there).map(|step| &step.path).collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        let omp = operation.format == "omp";
        let guard = if orders.dry_run { Guard::look(path)? } else { Guard::take(path, omp, orders.force)? };
        if !orders.force {
            look_for_life(&guard, path, orders)?;
        }
        guards.push(guard);
    }
    let guard = |path: &Path| guards.iter().find(|guard| guard.path == path);
    // All are looked at before the first is changed.
    for step in &operation.steps {
        look(log, operation, step, guard(&step.path), orders.force)?;
    }
    let mut done = Done::default();
    if orders.dry_run {
        return Ok(done);
    }
    let back = Operation {
        schema: "bough.op/1".into(),
        op_id: op_id(orders.now),
        time: orders.now.iso(),
        command: "undo".into(),
        file: operation.file.clone(),
        format: operation.format.clone(),
        state: Progress::Begun,
        from: operation.to.clone(),
        to: operation.from.clone(),
        moved: operation.moved,
        undoes: Some(operation.op_id.clone()),
        steps: Vec::new(),
    };
    let mut record = Record { log: Some(log), operation: back, force: orders.force, begun: false };
    for step in operation.steps.iter().rev() {
        if never_was(operation, step, guard(&step.path)).unwrap_or(false) {
            continue;
        }
        match reverse(log, operation, step, guard(&step.path), orders, &mut record) {
            Ok(path) => done.files.push(path),
            Err(refusal) => return Err(record.take_back(refusal)),
        }
    }
    done.op_id = record.end()?;
    // Last of all: whatever is taken back before may have to come back into them.
    for step in operation.steps.iter().rev() {
        steps::remove_folders(&step.folders);
    }
    Ok(done)
}

/// What taking an operation back changes, with the files that the changes name.
pub fn changes(operation: &Operation) -> (Vec<Change>, Vec<PathBuf>) {
    let (mut changes, mut files) = (Vec::new(), Vec::<PathBuf>::new());
    let mut number = |path: &PathBuf| {
        files.iter().position(|known| known == path).unwrap_or_else(|| {
            files.push(path.clone());
            files.len() - 1
        }) as u16
    };
    let why = format!("takes back the operation {}: {}", operation.op_id, operation.command);
    for step in operation.steps.iter().rev() {
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
    for folder in operation.steps.iter().rev().flat_map(|step| step.folders.iter().rev()) {
        changes.push(Change {
            op: "remove",
            file: number(folder),
            why: format!("{why}; the folder, if nothing else is in it"),
            ..Change::default()
        });
    }
    (changes, files)
}

/// Looks whether a step can be taken back.
fn look(
    log: &Log,
    operation: &Operation,
    step: &Step,
    guard: Option<&Guard>,
    force: bool,
) -> Result<(), Refusal> {
    let io = |source| Refusal::Io { path: step.path.clone(), source };
    let moved_on = |grew| Refusal::MovedOn { path: step.path.clone(), op: operation.op_id.clone(), grew };
    let gone = || Refusal::BackupGone { op: operation.op_id.clone() };
    if never_was(operation, step, guard).map_err(io)? {
        return Ok(());
    }
    let backup_is_there = || step.backup.as_ref().is_some_and(|hash| log.backup(hash).is_file());
    if matches!(step.kind, StepKind::Replace | StepKind::Cut | StepKind::Remove) && !backup_is_there() {
        return Err(gone());
    }
    let Some(guard) = guard else {
        let there = fs::symlink_metadata(&step.path).is_ok();
        return if there { Err(Refusal::Exists { path: step.path.clone() }) } else { Ok(()) };
    };
    let Some(after) = &step.after else { return Ok(()) };
    let len = guard.file.metadata().map_err(io)?.len();
    let grew = (len > after.bytes).then(|| len - after.bytes);
    let still = is_still(step, after, &guard.file).map_err(io)?;
    match step.kind {
        // The bytes that came must be there as they came: what is before them then is what was there.
        StepKind::Append | StepKind::Cut if !still => Err(moved_on(None)),
        _ if still && grew.is_none() => Ok(()),
        _ if force => Ok(()),
        _ if still => Err(moved_on(grew)),
        _ => Err(moved_on(None)),
    }
}

/// Whether an operation was interrupted before it took this step.
fn never_was(operation: &Operation, step: &Step, guard: Option<&Guard>) -> io::Result<bool> {
    Ok(match (operation.state, guard, &step.before) {
        (Progress::Begun, Some(guard), Some(before)) => before.looks_like(&State::of(&guard.file)?),
        _ => was_not_made(operation, step),
    })
}

/// Whether an operation was interrupted before the file that it makes had its name.
fn was_not_made(operation: &Operation, step: &Step) -> bool {
    (operation.state, step.kind) == (Progress::Begun, StepKind::Create)
        && fs::symlink_metadata(&step.path).is_err()
}

/// Whether the bytes that a step left are still there, whatever came behind them.
fn is_still(step: &Step, after: &State, file: &File) -> io::Result<bool> {
    match (step.kind, &step.before) {
        (StepKind::Append, Some(before)) => {
            steps::is_still(file, before.bytes, after.bytes - before.bytes, after.sha256.as_deref())
        }
        (StepKind::Cut, _) => {
            let len = after.bytes.min(4096);
            steps::is_still(file, after.bytes - len, len, Some(&after.tail))
        }
        _ => steps::is_still(file, 0, after.bytes, after.sha256.as_deref()),
    }
}

/// Takes a step back.
fn reverse(
    log: &Log,
    operation: &Operation,
    step: &Step,
    guard: Option<&Guard>,
    orders: &Orders<'_>,
    record: &mut Record<'_>,
) -> Result<PathBuf, Refusal> {
    let io = |source| Refusal::Io { path: step.path.clone(), source };
    let gone = |_| Refusal::BackupGone { op: operation.op_id.clone() };
    let open_backup = || File::open(log.backup(step.backup.as_deref().unwrap_or_default())).map_err(gone);
    match (step.kind, guard, &step.before, &step.after) {
        (StepKind::Append, Some(guard), Some(before), _) => {
            steps::cut(guard, before.bytes, before.mtime, record)
        }
        (StepKind::Cut, Some(guard), Some(before), Some(after)) => {
            if guard.file.metadata().map_err(io)?.len() > after.bytes {
                steps::cut(guard, after.bytes, after.mtime, record)?;
            }
            let bytes = log.read_backup(step.backup.as_deref().unwrap_or_default()).map_err(gone)?;
            steps::put_again(guard, &bytes, before.mtime, orders, record)
        }
        (StepKind::Replace, Some(guard), Some(before), _) => {
            let backup = open_backup()?;
            let stamp = Stamp::of(&guard.file).map_err(io)?;
            let mut fill = |sink: &mut steps::Sink<'_>| {
                stamp::each_block(&backup, 0, before.bytes, |block| sink.put(block))
            };
            steps::replace(guard, &stamp, &mut fill, Some(before.mtime), orders, record)
        }
        (StepKind::Create, Some(guard), _, _) => steps::remove(guard, record),
        (StepKind::Remove, None, Some(before), _) => {
            let backup = open_backup()?;
            let mut fill = |sink: &mut steps::Sink<'_>| {
                stamp::each_block(&backup, 0, before.bytes, |block| sink.put(block))
            };
            let made = steps::create(&step.path, before.mode, Some(before.mtime), &mut fill, orders, record)?;
            Ok(made)
        }
        _ => Err(Refusal::NoSuchOperation { op: operation.op_id.clone() }),
    }
}
