//! `bough move`: gives sessions another working directory.

mod chimera;
mod planner;

use super::shared::options::Global;
use super::shared::utf8_path::{NOT_UTF8, folder_path, utf8_path};
use super::shared::write::{self, WriteArgs};
use super::shared::{rows, session_arg};
use super::{Exit, Failure};
use crate::model::Count;
use crate::ops::relocate::PathMap;
use crate::store::locate::{self, Store};
use crate::store::write::Done;
use crate::ui::{Ui, text};
use clap::ValueHint;
use clap::builder::{OsStringValueParser, TypedValueParser};
use planner::{Planned, Planner, Wanted};
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Move sessions to another working directory
///
/// After a folder was renamed from OLD to NEW, the agents find none of its sessions. This moves the
/// sessions of OLD and of all folders below it, so that the agents find them from NEW, and no longer
/// from OLD. It takes along what belongs to them: subagents, tool results, memory, prompts in the
/// history, indexes of sessions, and the sessions of worktrees below OLD. Sessions of other folders
/// stay as they are, even if the agent keeps them in the same folder of its store.
///
/// Of the files themselves, only fields that hold paths are changed: the working directory, links to
/// other files, and so on. Texts stay, unless `--text` is given.
///
/// Chimera names a session by a hash of the folder's path: it is given the name of the new one. Sessions of
/// Chimera in folders below OLD are found if they have a header, or if another agent has a session there.
///
/// Sessions of agents that bough only reads stay where they are, and a note counts them.
///
/// With `-s SESSION --to DIR`, moves one session. OLD and NEW need not exist. The whole move is one
/// operation, and `bough undo` undoes it.
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "bough move [OPTIONS] OLD NEW\n       bough move [OPTIONS] -s SESSION --to DIR\n       bough move [OPTIONS] --map OLD=NEW…"
)]
pub struct Args {
    /// The folder as it was called, and as it is called now
    #[arg(value_name = "FOLDER", num_args = 0..=2, value_hint = ValueHint::DirPath)]
    folders: Vec<PathBuf>,

    /// The new working directory of the session that `-s` names
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["folders", "map"])]
    to: Option<PathBuf>,

    /// Another folder that has a new name, e.g. `/Users/a=/home/a`; may be repeated
    #[arg(long, value_name = "OLD=NEW", value_parser = OsStringValueParser::new().try_map(pair))]
    map: Vec<(String, String)>,

    /// Copy the sessions, and leave the old ones where they are
    #[arg(long)]
    copy: bool,

    /// Copy the sessions to another store
    ///
    /// A store is the folder in which an agent keeps its sessions, e.g. `~/.claude/projects`.
    #[arg(long, value_name = "STORE", value_hint = ValueHint::DirPath)]
    into: Option<PathBuf>,

    /// Take the sessions from this store only, e.g. from that of another machine
    #[arg(long, value_name = "STORE", value_hint = ValueHint::DirPath, conflicts_with = "to")]
    from: Option<PathBuf>,

    /// Also change the paths in prompts, replies and tool results
    ///
    /// What the model's provider has signed stays as it is.
    #[arg(long)]
    text: bool,

    /// Also move Claude Code's settings of the folder, e.g. that it is trusted
    ///
    /// Refused while Claude Code runs, because it writes that file itself.
    #[arg(long)]
    trust: bool,

    #[command(flatten)]
    writing: WriteArgs,
}

fn pair(word: OsString) -> Result<(String, String), String> {
    let word = word.into_string().map_err(|_| NOT_UTF8.to_owned())?;
    match word.split_once('=') {
        Some((old, new)) if old.starts_with('/') && new.starts_with('/') => Ok((old.into(), new.into())),
        Some(_) => Err("both paths must be absolute".into()),
        None => Err("expected OLD=NEW".into()),
    }
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let wanted = wanted(args, global)?;
    let (planned, done) = write::retry(args.writing, ui, |round, ui| {
        let planned = Planner::plan(&wanted)?;
        if planned.plan.is_empty() {
            return Ok((planned, Done::default()));
        }
        let done = write::finish(
            args.writing,
            &planned.files,
            planned.format,
            &planned.plan,
            None,
            round.is_last,
            ui,
        )?;
        Ok((planned, done))
    })?;
    if planned.sessions.is_empty() {
        return Err(nothing(args, &planned));
    }
    tell(args, &planned, &done, ui)?;
    Ok(Exit::Done)
}

/// Returns what the command line asks for.
fn wanted(args: &Args, global: &Global) -> anyhow::Result<Wanted> {
    let mut map = PathMap::new();
    let mut session = None;
    let usage = |what: &str, hint: &str| -> anyhow::Error {
        Failure::Usage { what: what.into(), hint: hint.into() }.into()
    };
    match (&args.to, args.folders.as_slice()) {
        (Some(to), _) => {
            let Some(word) = global.session.as_deref() else {
                return Err(usage("`--to` is for one session", "`-s SESSION` names it"));
            };
            session = Some((session_arg::by_word(global, word)?, utf8_path(&folder_path(to)?)?.to_owned()));
        }
        (None, _) if global.session.is_some() => {
            return Err(usage(
                "a session alone does not say where to",
                "`--to DIR` names its new working directory",
            ));
        }
        (None, [old, new]) => {
            let (given, real) = (std::path::absolute(old)?, folder_path(old)?);
            let new = folder_path(new)?;
            let new = utf8_path(&new)?;
            map.add(utf8_path(&real)?, new);
            map.add(utf8_path(&given)?, new);
        }
        (None, []) if !args.map.is_empty() => {}
        _ => {
            return Err(usage(
                "expected the old and the new folder",
                "`bough move OLD NEW`; `bough sessions --all` shows the folders of sessions",
            ));
        }
    }
    for (old, new) in &args.map {
        map.add(old, new);
    }
    let stores = match &args.from {
        Some(root) => vec![store_at(root)?],
        None => locate::writable_stores(&global.roots).into_iter().chain(chimera::store()).collect(),
    };
    let into = args.into.as_deref().map(store_at_new).transpose()?;
    if let Some(into) = &into {
        // Sessions name files of theirs that are in the store.
        utf8_path(&into.root)?;
    }
    Ok(Wanted {
        map,
        session,
        stores,
        copies: args.copy || into.is_some(),
        into,
        text: args.text,
        trust: args.trust,
        allows_live: args.writing.force || args.writing.allow.0.live,
    })
}

/// Returns the store in a folder, with the agent that keeps its sessions there.
fn store_at(root: &Path) -> anyhow::Result<Store> {
    if !root.is_dir() {
        let what = format!("{}: there is no store", root.display());
        return Err(Failure::NotFound {
            what,
            hint: "pass the folder of all sessions, e.g. `~/.claude/projects`".into(),
        }
        .into());
    }
    store_at_new(root)
}

/// Does the same for a folder that may not exist yet.
fn store_at_new(root: &Path) -> anyhow::Result<Store> {
    let root = folder_path(root)?;
    let known = locate::writable_stores(&[])
        .into_iter()
        .chain(chimera::store())
        .find(|store| store.root.canonicalize().is_ok_and(|it| it == root));
    let agent = match known {
        Some(store) => store.agent,
        None if root.ends_with("projects") => "claude",
        None if root.components().any(|part| part.as_os_str() == ".omp") => "omp",
        None if root.components().any(|part| part.as_os_str() == ".chimera") => chimera::AGENT,
        None if root.ends_with("sessions") => "pi",
        None => {
            let what = format!("{}: it is not known which agent keeps its sessions there", root.display());
            let hint = "a store of Claude Code is called `projects`, one of pi or oh-my-pi `sessions`";
            return Err(Failure::Usage { what, hint: hint.into() }.into());
        }
    };
    Ok(Store { agent, root })
}

fn nothing(args: &Args, planned: &Planned) -> anyhow::Error {
    let old = args.folders.first().map(|old| old.display().to_string());
    let old = old.or_else(|| args.map.first().map(|(old, _)| old.clone())).unwrap_or_default();
    let what = match planned.seen {
        _ if !planned.only_read.is_empty() => {
            let agents: Vec<&str> = planned.only_read.keys().copied().collect();
            format!("only sessions of {} are of that folder, and bough only reads them", agents.join(" and "))
        }
        0 => "there are no sessions in the stores of the agents".to_owned(),
        _ => format!("no session has its working directory in {old}"),
    };
    Failure::NotFound { what, hint: "`bough sessions --all` lists the folders of all sessions".into() }.into()
}

/// A session that was moved or copied to another working directory: move.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.move/1")]
pub(super) struct MoveRow<'a> {
    /// The agent.
    agent: &'static str,
    /// The id of the session.
    session: &'a str,
    /// The file before.
    from: String,
    /// The file after.
    to: String,
    /// The working directory before; null if it is not known.
    old_cwd: Option<&'a str>,
    /// The working directory after.
    new_cwd: &'a str,
    /// Whether the old session is still there.
    copy: bool,
    /// The operation, as `bough undo` takes it; absent if none was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    op_id: Option<&'a str>,
}

/// Prints what `--json` says of each session.
fn print_rows(args: &Args, planned: &Planned, done: &Done, ui: &mut Ui) -> anyhow::Result<()> {
    for session in &planned.sessions {
        let row = MoveRow {
            agent: session.agent,
            session: &session.id,
            from: session.from.display().to_string(),
            to: session.to.display().to_string(),
            old_cwd: Some(&*session.old_cwd).filter(|cwd| !cwd.is_empty()),
            new_cwd: &session.new_cwd,
            copy: args.copy || args.into.is_some(),
            op_id: Some(&*done.op_id).filter(|id| !id.is_empty()),
        };
        rows::print(&row, ui)?;
    }
    Ok(())
}

/// Says how many sessions moved, for each pair of folders.
fn note_moved(args: &Args, planned: &Planned, ui: &mut Ui) {
    let verb = if args.copy || args.into.is_some() { "copied" } else { "moved" };
    let mut folders: Vec<(&str, &str)> = Vec::new();
    for session in &planned.sessions {
        let both = (&*session.old_cwd, &*session.new_cwd);
        if !folders.contains(&both) {
            folders.push(both);
        }
    }
    for (old, new) in folders {
        let its = planned.sessions.iter().filter(|session| session.old_cwd == old && session.new_cwd == new);
        let count = Count("session", "sessions", its.count());
        let from = if old.is_empty() { String::new() } else { format!(" from {}", text::one_line(old)) };
        ui.note(format_args!("{verb} {count}{from} to {}", text::one_line(new)));
    }
}

fn tell(args: &Args, planned: &Planned, done: &Done, ui: &mut Ui) -> anyhow::Result<()> {
    if ui.look.json && !args.writing.dry_run {
        print_rows(args, planned, done, ui)?;
    }
    if ui.look.quiet {
        return Ok(());
    }
    for (path, why) in &planned.left {
        ui.note(format_args!("warning: {} stays: {why}", text::one_line(&path.display().to_string())));
    }
    for (agent, count) in &planned.only_read {
        let sessions = Count("session", "sessions", *count);
        let (stay, them) = if *count == 1 { ("stays", "it") } else { ("stay", "them") };
        ui.note(format_args!("note: {sessions} of {agent} {stay}: bough only reads {them}"));
    }
    if args.writing.dry_run {
        return Ok(());
    }
    note_moved(args, planned, ui);
    if planned.is_new_missing() {
        ui.hint("the new folder does not exist yet");
    }
    if !done.op_id.is_empty() {
        ui.hint(format_args!("`bough undo {}` undoes it", done.op_id));
    }
    Ok(())
}
