//! `bough op`: the operation log.

use super::{Exit, clock, complete, global::Global, open, undo};
use crate::model::{Count, Time, parse_time};
use crate::store::oplog::{Backup, Log, Operation, Operations, Progress, State};
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Look at what bough changed: the operation log and its backups
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

/// List the operations, the newest first
///
/// Every change that bough makes to a session is an operation, and can be taken back by `bough undo`.
#[derive(clap::Args, Debug)]
struct LogArgs {
    /// The session; without one, the operations on all sessions
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(complete::sessions))]
    words: Vec<String>,

    /// End each row with a NUL byte instead of a new line
    #[arg(short = 'z')]
    nul: bool,

    /// How many operations are listed at the most
    #[arg(short = 'n', long, value_name = "N")]
    max_count: Option<usize>,
}

/// Remove old backups
///
/// A rewrite is undone from a backup of the old file. Backups are never removed unasked. An operation whose backup is
/// removed can't be undone any more; appends need no backup, and can. While the log has lines that can't be read, all
/// backups are kept: they may be those of the operations on these lines.
#[derive(clap::Args, Debug)]
struct PruneArgs {
    /// Keep the backups of the last N days
    #[arg(long, value_name = "N", default_value_t = 30)]
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
    let (named, _) = open::split(global, &args.words);
    let named = named.or(args.words.first().map(String::as_str));
    let log = undo::log()?;
    let path = undo::session(global, named)?.map(|path| path.canonicalize().unwrap_or(path));
    let operations = log.operations()?;
    let undone = Log::undone(&operations.list);
    let wanted = operations.list.iter().rev().filter(|operation| {
        path.as_ref().is_none_or(|path| {
            operation.file == *path || operation.steps.iter().any(|step| step.path == *path)
        })
    });
    for operation in wanted.take(args.max_count.unwrap_or(usize::MAX)) {
        if ui.look.json {
            let object = as_json(operation, undone.contains_key(operation.op_id.as_str()));
            writeln!(ui.out(), "{object}")?;
        } else {
            let row = row(&log, operation, &undone);
            writeln!(ui.out(), "{row}")?;
        }
    }
    if operations.unread > 0 {
        ui.note(format_args!("warning: {}", unread(&log, &operations)));
    }
    Ok(Exit::Done)
}

/// How many lines of the log can't be read.
fn unread(log: &Log, operations: &Operations) -> String {
    let path = log.file().display().to_string();
    format!("{}: {} can't be read", text::one_line(&path), Count("line", "lines", operations.unread))
}

fn row(log: &Log, operation: &Operation, undone: &HashMap<&str, &Operation>) -> String {
    let time = parse_time(operation.time.as_bytes());
    let mut row = format!(
        "{}  {}  {:<13}  {}",
        operation.op_id,
        clock::second(time),
        operation.command,
        text::one_line(&operation.file.display().to_string())
    );
    if operation.moved {
        let short = |id: &Option<String>| match id {
            Some(id) => text::one_line(&id.chars().take(8).collect::<String>()),
            None => "the start".into(),
        };
        row.push_str(&format!("  {} → {}", short(&operation.from), short(&operation.to)));
    }
    let mut marks = Vec::new();
    if let Some(target) = &operation.undoes {
        marks.push(format!("of {target}"));
    }
    if let Some(by) = undone.get(operation.op_id.as_str()) {
        marks.push(format!("undone by {}", by.op_id));
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

fn as_json(operation: &Operation, undone: bool) -> Value {
    let of_main = || operation.steps.iter().filter(|step| step.path == operation.file);
    let state = |state: Option<&State>, head: &Option<String>| {
        let mut object = json!({});
        if let Some(state) = state {
            object["bytes"] = state.bytes.into();
            object["mtime"] = Time(state.mtime / 1_000_000).iso().into();
        }
        if let Some(head) = head.as_ref().filter(|_| operation.moved) {
            object["head"] = head.clone().into();
        }
        object
    };
    let mut object = json!({
        "schema": "bough.op/1",
        "op_id": operation.op_id,
        "time": operation.time,
        "command": operation.command,
        "file": operation.file,
        "before": state(of_main().next().and_then(|step| step.before.as_ref()), &operation.from),
        "after": state(of_main().next_back().and_then(|step| step.after.as_ref()), &operation.to),
        "undone": undone,
        "state": operation.state,
        "files": operation.steps.iter().map(|step| json!(step.path)).collect::<Vec<_>>(),
    });
    if let Some(undoes) = &operation.undoes {
        object["undoes"] = undoes.clone().into();
    }
    object
}

fn prune(args: &PruneArgs, ui: &mut Ui) -> anyhow::Result<Exit> {
    let log = undo::log()?;
    let since = clock::now().0 - i64::from(args.keep_days) * 86_400_000;
    let operations = log.operations()?;
    let is_old = |time: Time| time.is_some() && time.0 < since;
    let kept: HashSet<&str> = operations
        .list
        .iter()
        .filter(|operation| !is_old(parse_time(operation.time.as_bytes())))
        .flat_map(|operation| operation.steps.iter().filter_map(|step| step.backup.as_deref()))
        .collect();
    let mut gone: Vec<Backup> = log.backups()?;
    gone.retain(|backup| is_old(backup.modified) && !kept.contains(backup.hash.as_str()));
    if operations.unread > 0 {
        gone.clear();
        ui.note(format_args!(
            "warning: {}; all backups are kept while such lines are there",
            unread(&log, &operations)
        ));
    }
    gone.sort_by(|one, other| one.path.cmp(&other.path));
    let bytes: u64 = gone.iter().map(|backup| backup.bytes).sum();
    for backup in &gone {
        if args.dry_run {
            writeln!(ui.out(), "{}  {} bytes", backup.path.display(), backup.bytes)?;
        } else {
            log.drop_backup(backup)?;
        }
    }
    ui.note(format_args!(
        "{} {} removed, {}",
        Count("backup", "backups", gone.len()),
        if args.dry_run {
            "would be"
        } else if gone.len() == 1 {
            "was"
        } else {
            "were"
        },
        Count("byte", "bytes", usize::try_from(bytes).unwrap_or(usize::MAX)),
    ));
    Ok(Exit::Done)
}
