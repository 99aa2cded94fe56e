//! `bough undo`: undoes operations.

use super::shared::options::Global;
use super::shared::session_arg;
use super::shared::words;
use super::shared::write;
use super::shared::write::WriteArgs;
use super::{Exit, Failure, complete};
use crate::store::oplog::{Log, Operation, StepKind};
use crate::store::undo;
use crate::ui::{Ui, text};
use clap::ValueHint;
use clap_complete::engine::ArgValueCompleter;
use std::path::{Path, PathBuf};

/// Undo an operation
///
/// Undoes the last operation on the given session; without a session, the last operation of all; or
/// the operation with the given id. All files are restored byte for byte, including their times.
/// Undoing an undo redoes the operation; an undo that was interrupted is completed. If a file has
/// changed since, nothing is undone.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough undo [OPTIONS] [SESSION] [OP]")]
pub struct Args {
    /// The session, if it looks like a file; then the operation, as shown by `bough op log`
    #[arg(value_name = "OP", add = ArgValueCompleter::new(complete::operations))]
    words: Vec<String>,

    /// Undo only the changes to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,

    #[command(flatten)]
    writing: WriteArgs,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (named, words) = words::file_first(global, &args.words);
    let op = match words {
        [] => None,
        [op] => Some(op.as_str()),
        _ => {
            let hint = "`bough op log` lists the operations";
            return Err(Failure::Usage { what: "expected one operation".into(), hint: hint.into() }.into());
        }
    };
    let log = log()?;
    let only = args.file.as_deref().map(real);
    let path = match (op, &only) {
        (Some(_), _) => None,
        (None, Some(only)) if named.is_none() => Some(only.clone()),
        (None, _) => session(global, named)?,
    };
    let wanted = undo::find(&log, op, path.as_deref())?;
    let operation = &wanted.operation;
    let options = write::options(args.writing, Some(&log), None, false);
    let done = undo::undo(&log, &wanted, only.as_deref(), &options)?;
    if args.writing.dry_run {
        let (changes, files) = undo::changes(operation, only.as_deref());
        write::show(&changes, |file| &files[usize::from(file)], ui)?;
        return Ok(Exit::Done);
    }
    write::tell_kept(&done, ui);
    if !ui.look.quiet {
        ui.note(summary(operation, only.as_deref()));
        // A file that is kept beside was not backed up, and another undo can't find it.
        if !done.op_id.is_empty() && done.kept.is_empty() {
            ui.hint(format_args!("`bough undo {}` redoes it", done.op_id));
        }
    }
    Ok(Exit::Done)
}

fn summary(operation: &Operation, only: Option<&Path>) -> String {
    let op = &operation.op_id;
    let (mut gone, mut back): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for step in operation.steps.iter().filter(|step| only.is_none_or(|only| step.path == only)) {
        let list = if step.kind == StepKind::Create { &mut gone } else { &mut back };
        let name = text::one_line(&step.path.display().to_string());
        if !list.contains(&name) {
            list.push(name);
        }
    }
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let mut files = Vec::new();
    if !back.is_empty() {
        files.push(format!("{} {} restored", back.join(", "), are(back.len())));
    }
    if !gone.is_empty() {
        files.push(format!("{} {} removed", gone.join(", "), are(gone.len())));
    }
    let files = files.join("; ");
    match &operation.undoes {
        Some(undone) => format!("operation {undone} redone, its undo {op} undone: {files}"),
        None => format!("operation {op} ({}) undone: {files}", operation.command),
    }
}

/// Returns the log of the user.
pub(super) fn log() -> anyhow::Result<Log> {
    Log::of_user().ok_or_else(|| {
        let hint = "set `HOME` or `XDG_STATE_HOME`";
        Failure::Usage { what: "no folder for the operation log".into(), hint: hint.into() }.into()
    })
}

/// Returns the session that is named, if one is. Its file may be gone: an undo may restore it.
pub(super) fn session(global: &Global, named: Option<&str>) -> anyhow::Result<Option<PathBuf>> {
    let variable = super::shared::options::session_variable();
    let Some(word) = global.session.as_deref().or(named).or(variable.as_deref()) else { return Ok(None) };
    let path = PathBuf::from(word);
    if session_arg::looks_like_a_file(word) && !path.exists() {
        return Ok(Some(real(&path)));
    }
    Ok(Some(session_arg::by_word(global, word)?))
}

/// Returns a path as it is in the log: with symbolic links resolved, as far as folders exist.
fn real(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            real(folder).join(name)
        }
        _ => path.to_owned(),
    }
}
