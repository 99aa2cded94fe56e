//! Which operations of the log are undone.

use super::{Added, find_file, inspect};
use crate::store::oplog::{Log, Operation, Progress, StepKind, Trail};
use crate::store::write::Refusal;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// An operation that is to be undone.
#[derive(Clone, PartialEq, Debug)]
pub struct Wanted {
    /// The operation.
    pub operation: Operation,
    /// An interrupted undo of it, which is finished.
    pub begun: Option<Operation>,
}

impl Wanted {
    /// Wraps an operation whose undo has not begun.
    pub fn new(operation: Operation) -> Wanted {
        Wanted { operation, begun: None }
    }
}

/// Which of the last operations to undo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which<'w> {
    /// The last ones, as many as given.
    Last(usize),
    /// All after the operation whose id begins with the given text.
    After(&'w str),
}

pub(super) fn not_read(log: &Log) -> impl Fn(io::Error) -> Refusal {
    let path = log.folder().to_owned();
    move |source| Refusal::NoRecord { path: path.clone(), source }
}

/// Reads the log from its end, and determines for each operation whether it is undone.
struct History {
    reader: crate::store::oplog::Reader,
    /// The file: an undo of only this file counts.
    path: Option<PathBuf>,
    /// The paths that the file had.
    trail: Option<Trail>,
    /// The undos, by the ids of the operations that they undo. They are later, so they are read first.
    undos: HashMap<String, Operation>,
}

/// An operation of a [`History`].
struct Past {
    operation: Operation,
    /// The undo of it, unless that is undone itself.
    undone_by: Option<Operation>,
    /// Whether it did not change the file.
    only_read: bool,
}

impl History {
    pub(super) fn new(log: &Log, path: Option<&Path>) -> io::Result<History> {
        let path = path.map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
        let trail = path.clone().map(Trail::new);
        Ok(History { reader: log.reader()?, path, trail, undos: HashMap::new() })
    }

    /// Returns the next older operation that was carried out.
    pub(super) fn next(&mut self) -> io::Result<Option<Past>> {
        while let Some(operation) = self.reader.next()? {
            if operation.state == Progress::Failed {
                continue;
            }
            let undone_by = self.undos.get(&operation.op_id).cloned();
            let is_whole = operation.only.is_none() || operation.only == self.path;
            if let Some(undoes) = operation.undoes.as_ref().filter(|_| undone_by.is_none() && is_whole) {
                self.undos.insert(undoes.clone(), operation.clone());
            }
            return Ok(Some(Past { operation, undone_by, only_read: false }));
        }
        Ok(None)
    }

    /// Returns the next older operation on the file.
    fn next_on_file(&mut self) -> io::Result<Option<Past>> {
        while let Some(past) = self.next()? {
            let Some(trail) = &mut self.trail else { return Ok(Some(past)) };
            let only_read = !past.operation.changed(trail.path());
            if trail.meets(&past.operation) {
                return Ok(Some(Past { only_read, ..past }));
            }
        }
        Ok(None)
    }
}

/// What [`last`] found.
#[derive(Debug, Default)]
pub struct Last {
    /// The operations to undo, newest first.
    pub wanted: Vec<Wanted>,
    /// Operations that only read the session, and made another one that is in use since: undoing them would
    /// remove that one.
    pub passed_over: Vec<Operation>,
}

/// Returns the last operations on `path`, or of all, that are not undone, newest first.
///
/// An undo is not one of them, so another undo goes further back. An undo or a redo that was
/// interrupted is finished first.
pub fn last(log: &Log, path: Option<&Path>, which: Which<'_>) -> Result<Last, Refusal> {
    let io = not_read(log);
    let mut history = History::new(log, path).map_err(&io)?;
    let (mut found, mut passed_over) = (Vec::new(), Vec::new());
    let mut is_met = false;
    while let Some(past) = history.next_on_file().map_err(&io)? {
        let Past { operation, undone_by, only_read } = past;
        if operation.undoes.is_some() {
            if found.is_empty() && operation.state == Progress::Begun && undone_by.is_none() {
                let wanted = vec![finish(&mut history.reader, operation, io)?];
                return Ok(Last { wanted, passed_over });
            }
            continue;
        }
        if let Which::After(op) = which
            && is_prefix(&operation, op)
        {
            is_met = true;
            break;
        }
        if undone_by.is_none() {
            match only_read && made_what_is_in_use(log, &operation) {
                true => passed_over.push(operation),
                false => found.push(Wanted::new(operation)),
            }
        }
        if which == Which::Last(found.len()) {
            break;
        }
    }
    match which {
        Which::After(op) if !is_met => Err(Refusal::NoSuchOperation { op: op.into() }),
        _ if found.is_empty() && passed_over.is_empty() => {
            Err(Refusal::NothingToUndo { path: path.map(Path::to_owned) })
        }
        _ => Ok(Last { wanted: found, passed_over }),
    }
}

/// Returns whether an operation made a file that has changed since.
fn made_what_is_in_use(log: &Log, operation: &Operation) -> bool {
    let made = operation.steps.iter().filter(|step| step.kind == StepKind::Create);
    made.into_iter().any(|step| {
        let found = find_file(step, false);
        found.is_ok_and(|found| {
            matches!(inspect(log, operation, step, found, Added::Refused), Err(Refusal::MovedOn { .. }))
        })
    })
}

/// Returns the last undo on `path`, or of all, that a redo undoes. After another operation there is
/// none.
pub fn last_undo(log: &Log, path: Option<&Path>) -> Result<Wanted, Refusal> {
    let io = not_read(log);
    let mut history = History::new(log, path).map_err(&io)?;
    let mut is_late = false;
    while let Some(past) = history.next_on_file().map_err(&io)? {
        let Past { operation, undone_by, .. } = past;
        if operation.undoes.is_none() {
            // What was undone before an operation that is in effect, or in effect again, stays undone.
            is_late |= undone_by.is_none();
            continue;
        }
        if undone_by.is_some() {
            continue;
        }
        // A redo is not undone by a redo.
        if operation.state != Progress::Begun
            && origin(log, &operation)?.is_some_and(|origin| !origin.is_undo)
        {
            continue;
        }
        if is_late {
            let back = super::entry_before(&operation);
            let before = Some(operation.op_id).filter(|_| operation.state != Progress::Begun);
            return Err(Refusal::NothingToRedo { path: path.map(Path::to_owned), before, back });
        }
        if operation.state == Progress::Begun {
            return finish(&mut history.reader, operation, io);
        }
        return Ok(Wanted::new(operation));
    }
    Err(Refusal::NothingToRedo { path: path.map(Path::to_owned), before: None, back: None })
}

/// Where an undo or a redo comes from.
pub struct Origin {
    /// The operation that was undone or redone; `None` if the log does not have it any more.
    pub original: Option<Operation>,
    /// Whether it is an undo, so that its own undo is a redo. A redo is the undo of an undo, and is itself undone as any
    /// other operation.
    pub is_undo: bool,
}

/// Returns where an operation comes from; `None` if it is neither an undo nor a redo.
pub fn origin(log: &Log, operation: &Operation) -> Result<Option<Origin>, Refusal> {
    let io = not_read(log);
    let Some(mut op) = operation.undoes.clone() else { return Ok(None) };
    let mut is_undo = true;
    loop {
        let original = operation_by_id(log, &op).map_err(&io)?;
        match original.as_ref().and_then(|found| found.undoes.clone()) {
            Some(undoes) => (op, is_undo) = (undoes, !is_undo),
            None => return Ok(Some(Origin { original, is_undo })),
        }
    }
}

fn operation_by_id(log: &Log, op: &str) -> io::Result<Option<Operation>> {
    let mut reader = log.reader()?;
    while let Some(operation) = reader.next()? {
        if operation.op_id == op {
            return Ok(Some(operation));
        }
    }
    Ok(None)
}

fn is_prefix(operation: &Operation, op: &str) -> bool {
    !op.is_empty() && operation.op_id.starts_with(op)
}

/// Returns whether the id of an operation begins with a text.
pub fn is_operation(log: &Log, op: &str) -> Result<bool, Refusal> {
    let io = not_read(log);
    let mut reader = log.reader().map_err(&io)?;
    while let Some(operation) = reader.next().map_err(&io)? {
        if is_prefix(&operation, op) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the operation whose id begins with `op`, to be undone.
pub fn find(log: &Log, op: &str) -> Result<Wanted, Refusal> {
    let io = not_read(log);
    let mut history = History::new(log, None).map_err(&io)?;
    let mut found: Vec<Past> = Vec::new();
    while let Some(past) = history.next().map_err(&io)? {
        if past.operation.op_id == op {
            found = vec![past];
            break;
        }
        if is_prefix(&past.operation, op) {
            found.push(past);
        }
    }
    let Past { operation, undone_by, .. } = match found.len() {
        0 => return Err(Refusal::NoSuchOperation { op: op.into() }),
        1 => found.remove(0),
        count => return Err(Refusal::AmbiguousOperation { op: op.into(), count }),
    };
    match undone_by {
        Some(begun) if begun.state == Progress::Begun => Ok(Wanted { operation, begun: Some(begun) }),
        Some(by) => Err(Refusal::UndoneAlready { op: operation.op_id, by: by.op_id }),
        None => Ok(Wanted::new(operation)),
    }
}

/// Returns an interrupted undo, with the operation that it undoes.
fn finish(
    reader: &mut crate::store::oplog::Reader,
    begun: Operation,
    io: impl Fn(io::Error) -> Refusal,
) -> Result<Wanted, Refusal> {
    let wanted = begun.undoes.clone().unwrap_or_default();
    while let Some(operation) = reader.next().map_err(&io)? {
        if operation.op_id == wanted {
            return Ok(Wanted { operation, begun: Some(begun) });
        }
    }
    // The log was shortened: undoing the undo is the only way left.
    Ok(Wanted::new(begun))
}
