//! `bough undo` and `bough redo`: undo operations, and do them again.

use super::shared::options::{Global, number};
use super::shared::words;
use super::shared::write::WriteArgs;
use super::shared::write_json::HeadRow;
use super::shared::{rows, session_arg, time, write};
use super::{Exit, Failure, complete};
use crate::model::{Count, Ix, Moved, parse_time};
use crate::store;
use crate::store::oplog::{Log, Operation, StepKind};
use crate::store::undo::{self, Grown, Wanted};
use crate::store::write::{Done, Refusal, WriteOptions};
use crate::ui::{Ui, text};
use clap::ValueHint;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Undo an operation
///
/// Undoes the last operation on the session; again, the one before it. `bough redo` does it again.
/// Without a session, uses the one that other commands would use. An operation that changed several
/// files is undone in all of them. All files are restored byte for byte, including their times. An
/// undo that was interrupted is completed.
///
/// What an agent has added since stays, behind the old content, unless it is attached to what the
/// operation added. If a file has changed in another way, nothing is undone.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough undo [OPTIONS] [SESSION] [OP]", mut_arg("dry_run", |arg| arg.short(None)))]
pub struct Args {
    /// The session, if the word names one; then the operation, as shown by `bough op log`
    #[arg(value_name = "OP", add = ArgValueCompleter::new(complete::operations))]
    words: Vec<String>,

    /// Undo the last N operations
    #[arg(short = 'n', long = "count", value_name = "N", value_parser = steps, conflicts_with_all = ["to", "file"])]
    count: Option<usize>,

    /// Undo all operations after this one, which stays
    #[arg(long, value_name = "OP", conflicts_with = "file", add = ArgValueCompleter::new(complete::only_operations))]
    to: Option<String>,

    /// Undo the last operation on any session
    #[arg(long, conflicts_with_all = ["file", "to"])]
    all: bool,

    /// Undo only the changes to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,

    #[command(flatten)]
    writing: WriteArgs,
}

/// Redo an operation that was undone
///
/// Does again what the last `bough undo` on the session undid; again, the one that was undone
/// before it. After another change there is nothing to redo.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough redo [OPTIONS] [SESSION]", mut_arg("dry_run", |arg| arg.short(None)))]
pub struct RedoArgs {
    /// The session
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(complete::session_files))]
    words: Vec<String>,

    /// Redo the last N operations that were undone
    #[arg(short = 'n', long = "count", value_name = "N", value_parser = redo_steps, default_value_t = 1, hide_default_value = true)]
    count: usize,

    /// Redo the last undone operation of any session
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    writing: WriteArgs,
}

/// Parses the number of operations to undo. In other commands, `-n` is `--dry-run`, and has no value.
fn steps(text: &str) -> Result<usize, String> {
    let count = number(text).map_err(|error| format!("{error}; here, `--dry-run` has no short form"))?;
    one_or_more(count).map_err(|error| format!("{error}; `--dry-run` shows what would be undone"))
}

/// Parses the number of operations to redo.
fn redo_steps(text: &str) -> Result<usize, String> {
    one_or_more(number(text)?).map_err(str::to_owned)
}

fn one_or_more(count: usize) -> Result<usize, &'static str> {
    if count == 0 { Err("0 operations leave everything as it is") } else { Ok(count) }
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let log = log()?;
    let (named, op) = session_and_operation(&log, global, &args.words)?;
    let only = args.file.as_deref().map(real);
    if let Some(op) = op {
        if args.count.is_some() || args.to.is_some() || args.all {
            let what = format!("`{op}` names one operation; `--count`, `--to` and `--all` take no other");
            return Err(Failure::Usage { what, hint: String::new() }.into());
        }
        let wanted = undo::find(&log, op)?;
        return carry_out(global, &log, &[wanted], only.as_deref(), args.writing, ui);
    }
    let (path, is_implied) = match &only {
        Some(only) if named.is_none() => (Some(only.clone()), false),
        _ if args.all => (None, false),
        _ => {
            let (path, is_implied) = session(global, named, &log, "undo", ui)?;
            (Some(path), is_implied && only.is_none())
        }
    };
    let which = match (&args.to, args.count) {
        (Some(op), _) => undo::Which::After(op),
        (None, count) => undo::Which::Last(count.unwrap_or(1)),
    };
    let wanted = undo::last(&log, path.as_deref(), which);
    if let Some(path) = path.as_deref().filter(|_| is_implied)
        && let Some(other) = last_elsewhere(&log, path)
    {
        if let Some(next) = wanted.as_ref().ok().and_then(|last| last.wanted.first()) {
            refuse_removal(&log, &next.operation, &other)?;
        }
        note_elsewhere(&other, ui);
    }
    let undo::Last { wanted, passed_over } = wanted?;
    note_passed_over(&passed_over, ui);
    if wanted.is_empty() {
        return Err(Refusal::NothingToUndo { path }.into());
    }
    if args.count.is_some_and(|count| count > wanted.len()) {
        note_fewer(wanted.len(), ui);
    }
    carry_out(global, &log, &wanted, only.as_deref(), args.writing, ui)
}

/// Returns the words that name a session and an operation.
fn session_and_operation<'w>(
    log: &Log,
    global: &Global,
    words: &'w [String],
) -> anyhow::Result<(Option<&'w str>, Option<&'w str>)> {
    let (named, words) = words::file_first(global, words);
    Ok(match (named, words) {
        (named, []) => (named, None),
        // An id of an operation is longer than what names a session, and known to the log.
        (None, [word]) => {
            match undo::is_operation(log, word)? || session_arg::by_word(global, word).is_err() {
                true => (None, Some(word.as_str())),
                false => (Some(word.as_str()), None),
            }
        }
        (Some(named), [op]) => (Some(named), Some(op.as_str())),
        (None, [named, op]) => (Some(named.as_str()), Some(op.as_str())),
        _ => {
            let hint = "`bough op log` lists the operations";
            return Err(Failure::Usage { what: "expected one operation".into(), hint: hint.into() }.into());
        }
    })
}

/// Says that the last operation was on another session.
fn note_elsewhere(other: &Operation, ui: &mut Ui) {
    ui.note(format_args!(
        "note: the last operation was on another session: `bough undo {}` undoes its {}",
        other.op_id,
        text::one_line(&other.command)
    ));
}

/// Names the operations that are not undone because the sessions that they made are in use.
fn note_passed_over(operations: &[Operation], ui: &mut Ui) {
    if ui.look.quiet {
        return;
    }
    for operation in operations {
        let made = operation.steps.iter().find(|step| step.kind == StepKind::Create);
        let made = made.map(|step| step.path.display().to_string()).unwrap_or_default();
        let Operation { command, op_id, .. } = operation;
        ui.note(format_args!(
            "note: the {} to {} stays, since that session has changed; `bough undo {op_id}` undoes it",
            text::one_line(command),
            text::one_line(&made)
        ));
    }
}

/// Says that fewer operations are there than were asked for.
fn note_fewer(count: usize, ui: &mut Ui) {
    if !ui.look.quiet {
        ui.note(format_args!("note: there are no more than {}", Count("operation", "operations", count)));
    }
}

/// Returns the last operation of all, which somebody may want to undo, if it is on another session.
fn last_elsewhere(log: &Log, path: &Path) -> Option<Operation> {
    last_of_all(log).filter(|operation| !operation.touches(&real(path)))
}

/// Refuses an undo that nobody named if it would remove a session, and the last operation of all is another.
fn refuse_removal(log: &Log, operation: &Operation, other: &Operation) -> Result<(), Failure> {
    let is_made = |kind: StepKind, path: &Path| kind == StepKind::Create && !path.starts_with(log.folder());
    let made = operation.steps.iter().find(|step| is_made(step.kind, &step.path));
    let Some(step) = made else { return Ok(()) };
    let file = text::one_line(&step.path.display().to_string());
    let (command, last) = (text::one_line(&operation.command), text::one_line(&other.command));
    Err(Failure::Usage {
        what: format!(
            "this would undo the {command} to {file}, but the last operation was on another session"
        ),
        hint: format!(
            "`bough undo {}` undoes that {last}, and `bough undo {}` the {command}",
            other.op_id, operation.op_id
        ),
    })
}

pub(super) fn redo(args: &RedoArgs, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let log = log()?;
    let named = match &args.words[..] {
        [] => None,
        [named] => Some(named.as_str()),
        _ => {
            let what = "expected one session".into();
            return Err(Failure::Usage { what, hint: String::new() }.into());
        }
    };
    let path = if args.all { None } else { Some(session(global, named, &log, "redo", ui)?.0) };
    for done in 0..args.count {
        match undo::last_undo(&log, path.as_deref()) {
            Ok(wanted) => carry_out(global, &log, &[wanted], None, args.writing, ui)?,
            Err(Refusal::NothingToRedo { .. }) if done > 0 => {
                note_fewer(done, ui);
                break;
            }
            Err(refusal) => return Err(with_session(global, refusal).into()),
        };
        if args.writing.dry_run {
            break;
        }
    }
    Ok(Exit::Done)
}

/// Adds the session to the `bough switch` of a hint, unless that command would find it.
fn with_session(global: &Global, mut refusal: Refusal) -> Refusal {
    let named = match &mut refusal {
        Refusal::MovedOn { path, back: Some(back), .. } => Some((&*path, back)),
        Refusal::NothingToRedo { path: Some(path), back: Some(back), .. } => Some((&*path, back)),
        _ => None,
    };
    if let Some((path, back)) = named {
        *back = format!("{} {back}", session_arg::in_hint(global, path)).trim_start().into();
    }
    refusal
}

/// Undoes operations, one after the other, and reports what was undone.
fn carry_out(
    global: &Global,
    log: &Log,
    wanted: &[Wanted],
    only: Option<&Path>,
    writing: WriteArgs,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let count = wanted.len();
    for (at, wanted) in wanted.iter().enumerate() {
        let operation = &wanted.operation;
        let jumps = log.newest().ok().flatten().is_some_and(|last| !touches_the_same(&last, operation));
        // Read before anything is written: afterwards, an unreadable log must not look like a failure.
        let (original, redoes) = match undo::origin(log, operation)? {
            Some(origin) => (origin.original, origin.is_undo),
            None => (None, false),
        };
        let mut added = Vec::new();
        let done = write::retry(writing, ui, |_, _| {
            // After a move of HEAD, what came is where HEAD was moved to: HEAD could not go back.
            let keep_added = !writing.force && !operation.moved;
            added = match keep_added || writing.force {
                true => undo::grown(operation, only).unwrap_or_default(),
                false => Vec::new(),
            };
            let prove = |path: &Path| keeps_added(&added, path);
            let options = write::options(writing, Some(log), Some(&prove), false);
            let keeping = WriteOptions { keep_added, ..options };
            match undo::undo(log, wanted, only, &keeping) {
                // Then all that is left is to say that the file has changed.
                Err(Refusal::Unproved { .. }) => {
                    let options = write::options(writing, Some(log), None, false);
                    undo::undo(log, wanted, only, &options)
                }
                other => other,
            }
            .map_err(|refusal| with_session(global, refusal).into())
        })?;
        if writing.dry_run {
            let (changes, files) = undo::changes(operation, only);
            write::show(&changes, |file| &files[usize::from(file)], ui)?;
            // The next one starts from what this one would leave, so only the first can be shown.
            return Ok(Exit::Done);
        }
        write::report_kept_files(&done, ui);
        if ui.look.json {
            print_json(operation, original.as_ref(), redoes, only, &done, ui)?;
        } else if !ui.look.quiet {
            // A file that is kept beside was not backed up, and another undo can't find it.
            let again = !done.op_id.is_empty() && done.kept.is_empty();
            let is_last = at + 1 == count;
            let back =
                (again && is_last).then(|| way_back(global, operation, redoes, only, count, &done.op_id));
            let place = if jumps { in_session(operation) } else { String::new() };
            ui.note(summary(log, operation, original.as_ref(), redoes, only, &place, back.as_deref()));
            if done.files.is_empty() {
                ui.note("nothing was changed: the files are as they would be already");
            }
            let lines = added.iter().map(|grown| grown.lines).sum::<usize>();
            let lines = Some(Count("line", "lines", lines)).filter(|_| lines > 0);
            match lines {
                Some(lines) if writing.force => {
                    ui.note(format_args!("removed {lines} that came after it; they are in the backup"));
                }
                Some(lines) => ui.note(format_args!("kept {lines} that came after it")),
                None => {}
            }
        }
    }
    Ok(Exit::Done)
}

/// Fails if something that was added to a file since the operation is attached to what an undo removes.
fn keeps_added(added: &[Grown], path: &Path) -> Result<(), String> {
    let len = path.metadata().map_err(|error| error.to_string())?.len();
    // A line break may have come between.
    let of_this =
        |grown: &&Grown| (grown.before + grown.added..=grown.before + grown.added + 1).contains(&len);
    for grown in added.iter().filter(of_this) {
        let lost = |path: &Path, len: u64| {
            let opened = store::open(path, store::Options::default()).map_err(|error| error.to_string())?;
            let session = &opened.session;
            let is_added = |ix: &Ix| session.span(*ix).offset >= len.saturating_sub(grown.added);
            Ok::<_, String>(session.tree.orphans().filter(is_added).count())
        };
        let now = grown.path.metadata().map_err(|error| error.to_string())?.len();
        if lost(path, len)? > lost(&grown.path, now)? {
            return Err("what was added since is attached to what would be removed".into());
        }
    }
    Ok(())
}

/// Prints what was undone or redone, as `bough.write/1`. `original` is the operation that is redone.
fn print_json(
    operation: &Operation,
    original: Option<&Operation>,
    redoes: bool,
    only: Option<&Path>,
    done: &Done,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let original = original.unwrap_or(operation);
    let file = only.unwrap_or(&operation.file);
    let moved = match operation.moved && file == operation.file {
        true => Moved { from: operation.to.clone(), to: operation.from.clone() },
        false => {
            let head = head_of(file);
            Moved { from: head.clone(), to: head }
        }
    };
    let row = UndoRow {
        command: if redoes { "redo" } else { "undo" },
        file: file.display().to_string(),
        changed: !done.files.is_empty(),
        ids: [],
        head: moved.into(),
        files: done.files.iter().map(|path| path.display().to_string()).collect(),
        operation: OperationRow { op_id: &original.op_id, command: &original.command, time: &original.time },
        op_id: Some(&*done.op_id).filter(|id| !id.is_empty()),
    };
    rows::print(&row, ui)?;
    Ok(())
}

/// What a command wrote: append, switch, label, cherry-pick, merge, drop, slim, join, undo, redo.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.write/1")]
pub(super) struct UndoRow<'a> {
    /// The command.
    command: &'static str,
    /// The session file.
    file: String,
    /// Whether anything was written.
    changed: bool,
    /// The ids of the new entries, in file order; lines without an id are left out.
    ids: [&'a str; 0],
    /// HEAD.
    head: HeadRow,
    /// All files that changed: undo, redo.
    files: BTreeSet<String>,
    /// The operation that was undone or redone: undo, redo.
    operation: OperationRow<'a>,
    /// The operation, as `bough undo` takes it; absent if none was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    op_id: Option<&'a str>,
}

/// The operation that was undone or redone: undo, redo.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct OperationRow<'a> {
    /// Its id.
    op_id: &'a str,
    /// The command.
    command: &'a str,
    /// When it was carried out, as ISO 8601 in UTC.
    time: &'a str,
}

/// Returns the id of the entry that HEAD is on, or `None` if a file is gone or has no HEAD.
fn head_of(file: &Path) -> Option<String> {
    let opened = store::open(file, store::Options::default()).ok()?;
    let head = opened.session.head.entry?;
    session_arg::whole(&opened).name(head).ok()
}

/// Returns what was undone or redone: `undid: switch 5675f6ad → 010c4759, 3 minutes ago`.
fn summary(
    log: &Log,
    operation: &Operation,
    original: Option<&Operation>,
    redoes: bool,
    only: Option<&Path>,
    place: &str,
    back: Option<&str>,
) -> String {
    let verb = if redoes { "redid" } else { "undid" };
    let operation = original.unwrap_or(operation);
    let steps: Vec<_> =
        operation.steps.iter().filter(|step| only.is_none_or(|only| step.path == only)).collect();
    let mut files: Vec<&Path> = steps.iter().map(|step| &*step.path).collect();
    // The side file of a repair is not a session.
    files.retain(|file| only.is_some() || !file.starts_with(log.folder()));
    files.sort_unstable();
    files.dedup();
    let name = |path: &Path| text::one_line(&path.display().to_string());
    let short = |id: &Option<String>| match id {
        Some(id) => text::one_line(super::shared::thread_arg::short(id)),
        None => "the start".to_owned(),
    };
    let what = match &files[..] {
        // The others name their files.
        _ if operation.moved => format!("{} → {}{place}", short(&operation.from), short(&operation.to)),
        [only] if *only == operation.file && !operation.detail.is_empty() => {
            format!("{}{place}", text::one_line(&operation.detail))
        }
        [only] if steps.iter().any(|step| step.path == **only && step.kind == StepKind::Create) => {
            format!("to {}", name(only))
        }
        [only] => format!("of {}", name(only)),
        several => format!("of {}", Count("file", "files", several.len())),
    };
    let when = time::ago(parse_time(operation.time.as_bytes()), time::now());
    let back = back.map(|back| format!(" ({back})")).unwrap_or_default();
    format!("{verb}: {} {what}{when}{back}", text::one_line(&operation.command))
}

/// Returns what takes back an undo or a redo: with the session, unless the command would find it.
fn way_back(
    global: &Global,
    operation: &Operation,
    redoes: bool,
    only: Option<&Path>,
    count: usize,
    op_id: &str,
) -> String {
    let (verb, does) = if redoes { ("undo", "undoes") } else { ("redo", "does") };
    let (steps, them) = match count {
        1 => (String::new(), "it"),
        count => (format!(" -n {count}"), "them"),
    };
    let again = if verb == "redo" { " again" } else { "" };
    // A whole operation on several files is the last one of all.
    let several = operation.steps.iter().any(|step| step.path != operation.file);
    let session = match only {
        // Other operations may have come between it and its redo.
        None if several && redoes => format!(" {op_id}"),
        None if several || !operation.file.exists() => " --all".to_owned(),
        _ => session_arg::in_hint(global, &operation.file),
    };
    format!("`bough {verb}{steps}{session}` {does} {them}{again}")
}

/// Returns whether two operations are on one session, or on several files.
fn touches_the_same(one: &Operation, other: &Operation) -> bool {
    one.touches(&other.file) || other.touches(&one.file)
}

/// Names the session of an operation, for an undo that is on another session than the operation before.
fn in_session(operation: &Operation) -> String {
    let id: String = crate::store::locate::session_id(&operation.file).chars().take(8).collect();
    format!(" in {}", text::one_line(&id))
}

/// Returns the log of the user.
pub(super) fn log() -> anyhow::Result<Log> {
    Log::of_user().ok_or_else(|| {
        let hint = "set `HOME` or `XDG_STATE_HOME`";
        Failure::Usage { what: "no folder for the operation log".into(), hint: hint.into() }.into()
    })
}

/// Returns the session that is named, or else the one that other commands would use. Its file may be
/// gone: an undo may restore it. The flag says that nothing names it.
fn session(
    global: &Global,
    named: Option<&str>,
    log: &Log,
    verb: &str,
    ui: &mut Ui,
) -> anyhow::Result<(PathBuf, bool)> {
    if let Some(path) = named_session(global, named)? {
        return Ok((path, false));
    }
    let error = match session_arg::default_session(global) {
        Ok((path, is_named)) => {
            if !is_named {
                words::note_session(&path, ui);
            }
            return Ok((path, true));
        }
        Err(error) => error,
    };
    let last = match verb {
        "redo" => undo::last_undo(log, None).ok().map(|wanted| wanted.operation),
        _ => last_of_all(log),
    };
    let Some(operation) = last else {
        return match error.downcast_ref() {
            Some(Failure::NoSession) => {
                let what = Failure::NoSession.to_string();
                let hint = "name a session, or use `--all` for the last operation on any session".into();
                Err(Failure::NotFound { what, hint }.into())
            }
            _ => Err(error),
        };
    };
    Err(hint_at(&operation, verb).into())
}

/// Returns the error that no session is named, with the last operation on another.
fn hint_at(operation: &Operation, verb: &str) -> Failure {
    let file = text::one_line(&operation.file.display().to_string());
    let what = "no session given, and no agent has one for the current folder".into();
    let hint = match verb {
        "redo" => format!("`bough redo --all` redoes what was undone last on any session, of {file}"),
        _ => format!(
            "`bough undo --all` undoes the last operation of any session: {} of {file}",
            operation.command
        ),
    };
    Failure::NotFound { what, hint }
}

/// Returns the last operation on any session that is not undone.
fn last_of_all(log: &Log) -> Option<Operation> {
    let found = undo::last(log, None, undo::Which::Last(1)).ok()?;
    Some(found.wanted.into_iter().next()?.operation)
}

/// Returns the session that a word, an option or the environment names, if one does.
pub(super) fn named_session(global: &Global, named: Option<&str>) -> anyhow::Result<Option<PathBuf>> {
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
