//! `bough op`: the operation log.

use super::shared::options::{Global, number};
use super::shared::{rows, time, words};
use super::{Exit, complete, undo};
use crate::model::{Count, Time, parse_time};
use crate::store::archive::Archive;
use crate::store::oplog::{Backup, Log, Operation, Progress, State, Step, Trail};
use crate::store::write::{leftovers as leftovers_in, remove_leftover};
use crate::store::{Error, undo as undo_of};
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Show and prune the operation log
#[derive(clap::Args, Debug)]
#[command(disable_help_subcommand = true)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    Log(LogArgs),
    Prune(PruneArgs),
}

/// List operations, newest first
///
/// Every change that bough makes to a session is an operation, which `bough undo` can undo.
#[derive(clap::Args, Debug)]
struct LogArgs {
    /// The session; if omitted, operations on all sessions are listed
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(complete::sessions))]
    words: Vec<String>,

    /// End each row with a NUL byte instead of a newline
    #[arg(short = 'z')]
    nul: bool,

    /// List at most N operations
    #[arg(short = 'n', long, value_name = "N", value_parser = number::<usize>)]
    max_count: Option<usize>,

    /// Show the size of the log, the backups and the side files instead
    #[arg(long)]
    stat: bool,
}

/// Remove old operations, their backups, and files left by interrupted commands
///
/// A rewrite is undone from a backup of the old file. bough never removes backups on its own. A
/// removed operation can no longer be undone. The last operation that moved HEAD in a session is
/// kept, because `bough switch -` needs it. Lines of the log that can't be read are kept, with the
/// backups that they name: another version of bough may have written them. Unfinished files, which
/// bough leaves in a folder if it is killed, are removed too, unless another bough is running.
#[derive(clap::Args, Debug)]
struct PruneArgs {
    /// Keep the operations of the last N days, and their backups
    #[arg(long, value_name = "N", value_parser = number::<u32>, default_value_t = 30)]
    keep_days: u32,

    /// List what would be removed, and remove nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    ui.for_people();
    match &args.what {
        What::Log(args) => list(args, global, ui),
        What::Prune(args) => prune(args, ui),
    }
}

fn list(args: &LogArgs, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.nul {
        ui.end_rows_with_nul();
    }
    let (named, _) = words::file_first(global, &args.words);
    let named = named.or(args.words.first().map(String::as_str));
    let log = undo::log()?;
    let path = undo::named_session(global, named)?.map(|path| path.canonicalize().unwrap_or(path));
    if args.stat {
        return stat(&log, ui);
    }
    // By the operations that they undo; read from the end, those come first.
    let mut undone: HashMap<String, String> = HashMap::new();
    let mut trail = path.map(Trail::new);
    let mut left = args.max_count.unwrap_or(usize::MAX);
    let mut reader = log.reader()?;
    while left > 0
        && let Some(operation) = reader.next()?
    {
        let by = undone.get(&operation.op_id).cloned();
        if let Some(undoes) = &operation.undoes
            && operation.state != Progress::Failed
            && operation.only.is_none()
            && by.is_none()
        {
            undone.insert(undoes.clone(), operation.op_id.clone());
        }
        if trail.as_mut().is_some_and(|trail| !trail.meets(&operation)) {
            continue;
        }
        left -= 1;
        print_operation(&log, &operation, by.as_deref(), ui)?;
    }
    if reader.unread() > 0 {
        ui.note(format_args!("warning: {}", unread(&log, reader.unread())));
    }
    Ok(Exit::Done)
}

/// Prints one operation; `by` is the one that undid it.
fn print_operation(log: &Log, operation: &Operation, by: Option<&str>, ui: &mut Ui) -> anyhow::Result<()> {
    if ui.look.json {
        rows::print(&OpRow::new(operation, by.is_some()), ui)?;
    } else {
        let whole = row(log, operation, by);
        let row = match text::is_whole() || text::width(&whole) <= ui.look.width {
            true => whole,
            false => narrow_row(operation, by.is_some(), ui.look.width),
        };
        writeln!(ui.out(), "{row}")?;
    }
    Ok(())
}

/// Returns the unfinished files in the folder of the log, and beside the files of the operations in
/// it.
fn all_leftovers(log: &Log) -> anyhow::Result<BTreeSet<PathBuf>> {
    let mut leftovers: BTreeSet<PathBuf> = log.leftovers().into_iter().collect();
    leftovers.extend(Archive::of_user().iter().flat_map(Archive::leftovers));
    let mut places: BTreeSet<PathBuf> = BTreeSet::new();
    let mut reader = log.reader()?;
    while let Some(operation) = reader.next()? {
        places.extend(folders_of(&operation));
    }
    places.extend(reader.folders().iter().cloned());
    leftovers.extend(places.iter().flat_map(|place| leftovers_in(place)));
    Ok(leftovers)
}

/// Prints the sizes of the operation log, the backups and the side files.
fn stat(log: &Log, ui: &mut Ui) -> anyhow::Result<Exit> {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |facts| facts.len());
    let (backups, aside) = (log.backups()?, log.side_files());
    let leftovers = all_leftovers(log)?;
    let parts = [
        ("operation log", 1, size(&log.file()), log.file()),
        (
            "backups",
            backups.len(),
            backups.iter().map(|backup| backup.bytes).sum(),
            log.folder().join("backups"),
        ),
        ("side files", aside.len(), aside.iter().map(|(_, bytes)| bytes).sum(), log.folder().join("aside")),
        (
            "left over",
            leftovers.len(),
            leftovers.iter().map(|path| size(path)).sum(),
            log.folder().to_owned(),
        ),
    ];
    let total: u64 = parts.iter().map(|(_, _, bytes, _)| bytes).sum();
    if ui.look.json {
        let part = |(what, files, bytes, path): &(&'static str, usize, u64, PathBuf)| PartRow {
            what,
            files: *files,
            bytes: *bytes,
            path: path.display().to_string(),
        };
        let parts = parts.iter().map(part).collect();
        rows::print(&OpStatRow { folder: log.folder().display().to_string(), bytes: total, parts }, ui)?;
        return Ok(Exit::Done);
    }
    for (what, files, bytes, path) in &parts {
        let (files, path) = (Count("file", "files", *files).to_string(), path.display().to_string());
        writeln!(ui.out(), "{what:<13}  {files:>9}  {bytes:>13} bytes  {}", text::one_line(&path))?;
    }
    writeln!(ui.out(), "{:<13}  {:>9}  {total:>13} bytes", "total", "")?;
    Ok(Exit::Done)
}

/// Returns the folders of the files of an operation.
fn folders_of(operation: &Operation) -> impl Iterator<Item = PathBuf> + '_ {
    operation.steps.iter().filter_map(|step| step.path.parent().map(Path::to_owned))
}

/// Describes how many lines of the log can't be read.
fn unread(log: &Log, lines: usize) -> String {
    let path = log.file().display().to_string();
    format!("{}: {} can't be read", text::one_line(&path), Count("line", "lines", lines))
}

/// Returns what an operation did to what: from where to where it moved HEAD, or the label that it set.
fn detail(operation: &Operation) -> Option<String> {
    let short = |id: &Option<String>| match id {
        Some(id) => text::one_line(&id.chars().take(8).collect::<String>()),
        None => "the start".into(),
    };
    match operation.moved {
        true => Some(format!("{} → {}", short(&operation.from), short(&operation.to))),
        false => Some(text::one_line(&operation.detail)).filter(|detail| !detail.is_empty()),
    }
}

fn row(log: &Log, operation: &Operation, undone_by: Option<&str>) -> String {
    let time = parse_time(operation.time.as_bytes());
    let mut row = format!(
        "{}  {}  {:<13}  {}",
        operation.op_id,
        time::second(time),
        operation.command,
        text::one_line(&operation.file.display().to_string())
    );
    if let Some(detail) = detail(operation) {
        row.push_str(&format!("  {detail}"));
    }
    let mut marks = Vec::new();
    if let Some(target) = &operation.undoes {
        marks.push(format!("of {target}"));
    }
    if let Some(only) = &operation.only {
        marks.push(format!("only {}", text::one_line(&only.display().to_string())));
    }
    if let Some(by) = undone_by {
        marks.push(format!("undone by {by}"));
    }
    match operation.state {
        Progress::Done => {}
        Progress::Begun => marks.push("interrupted".into()),
        Progress::Failed => marks.push("failed".into()),
    }
    let lost = |hash: &String| !log.backup(hash).is_file();
    if operation.steps.iter().filter_map(|step| step.backup.as_ref()).any(lost) {
        marks.push("its backup is gone".into());
    }
    if !marks.is_empty() {
        row.push_str(&format!("  ({})", marks.join(", ")));
    }
    row
}

/// Returns the row of an operation in `width` cells: the file is shortened first, from the left.
fn narrow_row(operation: &Operation, is_undone: bool, width: usize) -> String {
    let age = time::age(parse_time(operation.time.as_bytes()), time::now());
    let mut row = format!("{}  {age:>4}  {}", operation.op_id, operation.command);
    let state = match operation.state {
        Progress::Begun => "  (interrupted)",
        Progress::Failed => "  (failed)",
        Progress::Done if is_undone => "  (undone)",
        Progress::Done => "",
    };
    if let Some(detail) = detail(operation)
        && text::width(&row) + 2 + text::width(&detail) + state.len() <= width
    {
        row += &format!("  {detail}");
    }
    let room = width.saturating_sub(text::width(&row) + state.len() + 2);
    if room >= 8 {
        row += &format!("  {}", text::fit_end(&text::one_line(&operation.file.display().to_string()), room));
    }
    text::fit(&(row + state), width)
}

/// An operation that changed a session: op log.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.op/1")]
pub(super) struct OpRow<'a> {
    /// Its id.
    op_id: &'a str,
    /// When it was.
    time: &'a str,
    /// The command.
    command: &'a str,
    /// What it did to what, after the command, such as the label that it set and the entry.
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
    /// The session file.
    file: String,
    /// The session before it; empty if there was no file.
    before: StateRow<'a>,
    /// The session after it; empty if there is no file.
    after: StateRow<'a>,
    /// Whether it is undone.
    undone: bool,
    /// How far it came.
    state: Progress,
    /// The files that it wrote.
    files: Vec<String>,
    /// The operation that it takes back.
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<&'a str>,
}

/// A session before or after an operation.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct StateRow<'a> {
    /// The bytes of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// Its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    mtime: Option<String>,
    /// HEAD, if the operation moved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<&'a str>,
}

impl<'a> OpRow<'a> {
    fn new(operation: &'a Operation, undone: bool) -> OpRow<'a> {
        let of_main = || operation.steps.iter().filter(|step| step.path == operation.file);
        let state = |state: Option<&State>, head: &'a Option<String>| StateRow {
            bytes: state.map(|state| state.bytes),
            mtime: state.map(|state| Time(state.mtime / 1_000_000).iso()),
            head: head.as_deref().filter(|_| operation.moved),
        };
        OpRow {
            op_id: &operation.op_id,
            time: &operation.time,
            command: &operation.command,
            detail: &operation.detail,
            file: operation.file.display().to_string(),
            before: state(of_main().next().and_then(|step| step.before.as_ref()), &operation.from),
            after: state(of_main().next_back().and_then(|step| step.after.as_ref()), &operation.to),
            undone,
            state: operation.state,
            files: operation.steps.iter().map(|step| step.path.display().to_string()).collect(),
            undoes: operation.undoes.as_deref(),
        }
    }
}

/// How much room the operation log, the backups and the side files take: op log --stat.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.opstat/1")]
pub(super) struct OpStatRow {
    /// The state folder.
    folder: String,
    /// The bytes of all parts.
    bytes: u64,
    /// The operation log, the backups, the side files, and what is left over of interrupted commands.
    parts: Vec<PartRow>,
}

/// A part of the state folder.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PartRow {
    /// The part.
    what: &'static str,
    /// How many files it has.
    files: usize,
    /// How many bytes they have.
    bytes: u64,
    /// Where they are.
    path: String,
}

/// What the operations of the log name.
#[derive(Default)]
struct Named {
    /// The backups of the operations that are kept, by their hashes.
    kept: HashSet<String>,
    /// The ids of the operations that are removed.
    drops: HashSet<String>,
    /// The folders in which unfinished files may be.
    places: BTreeSet<PathBuf>,
    /// The steps whose unfinished files are still there, by those.
    held: HashMap<PathBuf, Step>,
    /// How many lines could not be read.
    unread: usize,
}

impl Named {
    /// Reads the log. An operation is removed if `is_old` says so of its time, unless it is the last that moved HEAD.
    fn read(log: &Log, is_old: impl Fn(Time) -> bool) -> anyhow::Result<Named> {
        let mut named = Named::default();
        let mut moved = HashSet::new();
        let mut reader = log.reader()?;
        while let Some(operation) = reader.next()? {
            named.places.extend(folders_of(&operation));
            // Also of operations that are done: another run completed them.
            let temps = operation.steps.iter().filter_map(|step| Some((step.temp.clone()?, step)));
            named
                .held
                .extend(temps.filter(|(temp, _)| temp.exists()).map(|(temp, step)| (temp, step.clone())));
            let is_last_move = operation.moved
                && operation.state != Progress::Failed
                && moved.insert(operation.file.clone());
            if is_old(parse_time(operation.time.as_bytes())) && !is_last_move {
                named.drops.insert(operation.op_id);
            } else {
                named.kept.extend(operation.steps.into_iter().filter_map(|step| step.backup));
            }
        }
        named.kept.extend(reader.backups_unread().iter().cloned());
        named.places.extend(reader.folders().iter().cloned());
        named.unread = reader.unread();
        Ok(named)
    }
}

/// Removes unfinished files, except those with bytes that may be missing from a session.
fn remove_leftovers(
    leftovers: &BTreeSet<PathBuf>,
    held: &HashMap<PathBuf, Step>,
    dry_run: bool,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let mut left = (0, 0);
    for path in leftovers {
        if let Some(step) = held.get(path)
            && let Some(more) = undo_of::bytes_after(step, path)
        {
            let path = text::one_line(&path.display().to_string());
            ui.note(format_args!(
                "warning: {path} is kept: its last {} arrived when bough was killed, and may be missing from the session",
                size(more)
            ));
            continue;
        }
        let bytes = std::fs::symlink_metadata(path).map_or(0, |facts| facts.len());
        left = (left.0 + 1, left.1 + bytes);
        if dry_run {
            writeln!(ui.out(), "{}  {bytes} bytes", path.display())?;
        } else {
            remove_leftover(path).map_err(|source| Error::Io { path: path.clone(), source })?;
        }
    }
    if left.0 > 0 {
        ui.note(format_args!(
            "{} {} removed, {}",
            Count("unfinished file", "unfinished files", left.0),
            would_be(dry_run, left.0),
            size(left.1)
        ));
    }
    Ok(())
}

/// Returns the verb of what was removed, or would be in a dry run.
fn would_be(dry_run: bool, count: usize) -> &'static str {
    match (dry_run, count) {
        (true, _) => "would be",
        (false, 1) => "was",
        (false, _) => "were",
    }
}

fn size(bytes: u64) -> Count {
    Count("byte", "bytes", usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Removes backups, and says how many.
fn drop_backups(log: &Log, mut gone: Vec<Backup>, dry_run: bool, ui: &mut Ui) -> anyhow::Result<()> {
    gone.sort_by(|one, other| one.path.cmp(&other.path));
    let bytes: u64 = gone.iter().map(|backup| backup.bytes).sum();
    for backup in &gone {
        if dry_run {
            writeln!(ui.out(), "{}  {} bytes", backup.path.display(), backup.bytes)?;
        } else {
            log.drop_backup(backup)?;
        }
    }
    ui.note(format_args!(
        "{} {} removed, {}",
        Count("backup", "backups", gone.len()),
        would_be(dry_run, gone.len()),
        size(bytes),
    ));
    Ok(())
}

fn prune(args: &PruneArgs, ui: &mut Ui) -> anyhow::Result<Exit> {
    let log = undo::log()?;
    let since = time::now().0 - i64::from(args.keep_days) * 86_400_000;
    let is_old = |time: Time| time.is_some() && time.0 < since;
    // Nobody else writes in the meantime.
    let alone = if log.folder().is_dir() { log.lock_out_writers()? } else { None };
    let Named { kept, drops, places, held, unread: not_read } = Named::read(&log, is_old)?;
    let mut gone: Vec<Backup> = log.backups()?;
    gone.retain(|backup| is_old(backup.modified) && !kept.contains(&backup.hash));
    if not_read > 0 {
        ui.note(format_args!("warning: {}; the backups that they name are kept", unread(&log, not_read)));
    }
    drop_backups(&log, gone, args.dry_run, ui)?;
    // A side file is in a folder of the log, and in one that an operation names.
    let mut leftovers: BTreeSet<PathBuf> = log.leftovers().into_iter().collect();
    leftovers.extend(Archive::of_user().iter().flat_map(Archive::leftovers));
    leftovers.extend(places.iter().flat_map(|place| leftovers_in(place)));
    if alone.is_none() {
        if !leftovers.is_empty() || !drops.is_empty() {
            ui.note("warning: another bough is running; the log and unfinished files are kept");
        }
        return Ok(Exit::Done);
    }
    remove_leftovers(&leftovers, &held, args.dry_run, ui)?;
    if args.dry_run {
        if !drops.is_empty() {
            ui.note(format_args!("{} would be removed", Count("operation", "operations", drops.len())));
        }
        return Ok(Exit::Done);
    }
    let shorter = log.shorten(&drops)?;
    if !drops.is_empty() {
        ui.note(format_args!(
            "{} {} removed, the log is {} shorter",
            Count("operation", "operations", drops.len()),
            would_be(args.dry_run, drops.len()),
            size(shorter)
        ));
    }
    Ok(Exit::Done)
}
