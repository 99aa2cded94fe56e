//! `bough sessions`: the sessions of a folder, or all sessions.

mod archived;
mod family;
pub(super) mod lost;
mod row;
mod sort;
mod table;
mod tree;

use super::shared::config::Config;
use super::shared::exit::Failures;
use super::shared::options::{Global, number};
use super::shared::scope::{self, Scope};
use super::shared::time::DateArg;
use super::shared::{parallel, rows, session_arg, time};
use super::{Exit, Failure, complete};
use crate::format::Format;
use crate::model::Time;
use crate::store;
use crate::store::locate;
use crate::store::locate::Found;
use crate::store::oplog::Log;
use crate::store::remains::{self, Remains};
use crate::ui::{Progress, Ui, text};
#[cfg(test)]
pub(in crate::cmd) use archived::ArchivedRow;
use clap::ValueHint;
use clap_complete::engine::ArgValueCompleter;
pub(super) use family::{Relative, family};
use family::{origin_name, parents};
pub(super) use row::SessionRow;
use row::{List, Row, time};
use serde::Serialize;
use sort::Sort;
use std::path::{Path, PathBuf};
use table::{Line, Note};
pub(super) use tree::Origin;
use tree::{AgentRow, CalledRow, Kinship, OriginRow};

/// List sessions
///
/// Lists the sessions of all agents for the current folder, newest first, with age, agent, id,
/// number of entries and branches, size, and name or first prompt. Faults and signs of a running
/// agent follow, and when Claude Code will delete a session because it was not written for long
/// (`cleanupPeriodDays` in its settings), if that is within a week.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Folders of sessions, or session files; if omitted, the sessions of the current folder
    #[arg(value_name = "FOLDER", add = ArgValueCompleter::new(complete::session_files))]
    folders: Vec<PathBuf>,

    #[command(flatten)]
    scope: Scope,

    /// List the sessions of the archive, which `bough archive` makes
    ///
    /// A FOLDER is another archive.
    #[arg(long, conflicts_with_all = ["cwd", "tree", "paths", "quick"])]
    archived: bool,

    /// List the sessions of Claude Code that are gone, with their prompts
    ///
    /// Claude Code deletes sessions that were not written for long, but keeps a list of all prompts
    /// (`history.jsonl`). Sessions of the current folder, or with `--all` of all folders. Prompts of
    /// old versions name no session, and are only counted. `--json` prints the whole texts.
    #[arg(long, conflicts_with_all = ["folders", "archived", "tree", "paths", "quick", "sort"])]
    lost: bool,

    /// Only sessions of this agent: `pi`, `omp`, `claude`, `chimera`, `codex`, `gemini` or `copilot`
    #[arg(long, value_name = "AGENT",
        value_parser = ["pi", "omp", "claude", "chimera", "codex", "gemini", "copilot"])]
    agent: Option<String>,

    /// List the sessions of another working directory
    #[arg(long, value_name = "FOLDER", conflicts_with = "folders", value_hint = ValueHint::DirPath)]
    cwd: Option<PathBuf>,

    /// Only sessions written since a time: a date, or an age such as `3d`
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only sessions last written before a time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    #[command(flatten)]
    date: DateArg,

    /// Sort by `age`, `size`, `entries`, `branches`, `name` or `folder`; a leading `-` reverses the
    /// order
    #[arg(
        long,
        value_name = "KEY",
        add = ArgValueCompleter::new(complete::session_orders),
        allow_hyphen_values = true,
        default_value = "age",
        hide_default_value = true
    )]
    sort: String,

    /// List at most N sessions
    #[arg(short = 'n', long, value_name = "N", value_parser = number::<usize>)]
    max_count: Option<usize>,

    /// List forks and continuations below the session that they come from
    ///
    /// For Claude Code, all sessions of a project are read together, to find which entries a
    /// session repeats from another, and where the two part.
    #[arg(long, conflicts_with_all = ["quick", "paths"])]
    tree: bool,

    /// With `--tree`, also show the subagents of Claude Code and oh-my-pi sessions, and the entry
    /// that started each
    #[arg(long, requires = "tree")]
    agents: bool,

    /// Read only both ends of each file, and count nothing
    #[arg(long)]
    quick: bool,

    /// Print only the paths of the files, one per line
    #[arg(long)]
    paths: bool,

    /// End each row of `--paths` and `--json` with a NUL byte instead of a newline
    #[arg(short = 'z')]
    null: bool,
}

pub(super) fn run(args: &Args, global: &Global, config: &Config, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.paths {
        ui.for_people();
    }
    if args.archived {
        return archived::list(args, global, ui);
    }
    let now = time::now();
    if args.lost {
        return lost::list(args, now, ui);
    }
    let mut found = found(args, global, config, ui)?;
    keep_wanted_time(&mut found, args, now)?;
    let by = Sort::parse(&args.sort)?;
    if by.needs_no_reading()
        && args.agent.is_none()
        && let Some(most) = args.max_count
    {
        // Files that are not listed need not be read; a few more are kept, because not all files
        // are sessions.
        by.files(&mut found);
        found.truncate(most.saturating_mul(2).saturating_add(50));
    }
    let log = Log::of_user();
    let stores = locate::stores(&config.session.roots);
    let list = List { is_quick: args.quick || args.paths, global, stores, log: log.as_ref() };
    let progress = Progress::start("reading", found.len(), global.quiet);
    let read = parallel::map(&found, |found| {
        let row = list.row(found);
        progress.step();
        (found.path.clone(), row)
    });
    drop(progress);
    let (mut rows, mut failures) = (Vec::new(), Failures::default());
    for (path, row) in read {
        match row {
            Ok(row) => rows.push(row),
            Err(error) => {
                let is_named = args.scope.is_list() || args.folders.contains(&path);
                failures.add(error.into(), is_named, ui)?;
            }
        }
    }
    if let Some(agent) = &args.agent {
        rows.retain(|row| row.format.agent() == agent);
    }
    by.rows(&mut rows, Row::line);
    let left_out = args.max_count.map_or(0, |most| rows.len().saturating_sub(most));
    rows.truncate(rows.len() - left_out);
    print_rows(&rows, args, global, now, &mut failures, ui)?;
    session_arg::report_remains(&remains(args, config)?, ui);
    if !rows.is_empty() || !failures.is_empty() {
        return Ok(failures.or(Exit::Done));
    }
    let exit = scope::none_found(ui);
    hint_elsewhere(args, ui);
    Ok(exit)
}

/// Leaves out the files that changed before or after the wanted time.
fn keep_wanted_time(found: &mut Vec<Found>, args: &Args, now: Time) -> anyhow::Result<()> {
    if let Some(since) = &args.since {
        let since = time::parse(since, now)?;
        found.retain(|found| time(found.modified()) >= since);
    }
    if let Some(until) = &args.until {
        let until = time::parse(until, now)?;
        found.retain(|found| time(found.modified()) <= until);
    }
    Ok(())
}

fn print_rows(
    rows: &[Row],
    args: &Args,
    global: &Global,
    now: Time,
    failures: &mut Failures,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let end = if args.null { '\0' } else { '\n' };
    if args.paths {
        for row in rows {
            let path = row.path.display().to_string();
            let path = ui.look.shown(&path);
            write!(ui.out(), "{path}{end}")?;
        }
    } else if args.tree {
        tree(rows, args, global, now, failures, ui)?;
    } else if ui.look.json {
        for row in rows {
            write!(ui.out(), "{}{end}", rows::to_json(&row.json_row()))?;
        }
    } else {
        let lines: Vec<Line<'_>> = rows.iter().map(Row::line).collect();
        table::print(&lines, &[], with_folder(args), args.date.date, now, ui)?;
    }
    Ok(())
}

/// Says where there may be sessions, if none were found.
fn hint_elsewhere(args: &Args, ui: &mut Ui) {
    if args.since.is_some() || args.until.is_some() || args.agent.is_some() {
        ui.hint("`--since`, `--until` and `--agent` leave sessions out");
        return;
    }
    if !args.scope.all && !args.scope.is_list() && args.folders.is_empty() {
        let hint = session_arg::moved_hint();
        ui.hint(hint.as_deref().unwrap_or("`--all` lists the sessions of all projects"));
    } else if let [folder] = &args.folders[..]
        && folder.is_dir()
    {
        ui.hint("a folder is a project, a store, or has session files in it; `--all` lists the sessions of all projects");
    }
}

/// The files that are looked at.
fn found(args: &Args, global: &Global, config: &Config, ui: &mut Ui) -> anyhow::Result<Vec<Found>> {
    let stores = locate::stores(&config.session.roots);
    let is_named = !args.folders.is_empty() || args.cwd.is_some();
    if let Some(found) = args.scope.sessions(is_named, global)? {
        return Ok(found);
    }
    if args.folders.is_empty() {
        return Ok(match &args.cwd {
            Some(folder) => locate::of_folder(&stores, folder, locate::Worktrees::Listed).collect(),
            None => session_arg::of_project(global, locate::Worktrees::Listed),
        });
    }
    let mut out = Vec::new();
    for folder in &args.folders {
        if folder == Path::new("-") {
            let what = "can't list standard input".into();
            return Err(Failure::Usage { what, hint: "name a file or a folder".into() }.into());
        }
        if folder.is_dir() {
            session_arg::note_files_beside(global, folder, ui);
            let below = || locate::in_folder(folder).into_iter().filter_map(Found::from_path).collect();
            out.extend(locate::project_at(&stores, folder).unwrap_or_else(below));
        } else {
            out.push(found_file(folder, global)?);
        }
    }
    Ok(out)
}

/// Returns a file that is named by its path, or by what else names a session.
fn found_file(path: &Path, global: &Global) -> anyhow::Result<Found> {
    let file = match path.to_str().filter(|_| !path.exists()) {
        Some(word) => session_arg::by_word(global, word)?,
        None => path.to_owned(),
    };
    Ok(Found::from_path(file).ok_or_else(|| store::Error::NotFound { path: path.to_owned() })?)
}

/// Returns the remains of sessions whose own file is gone, where sessions are searched.
fn remains(args: &Args, config: &Config) -> anyhow::Result<Vec<Remains>> {
    if args.scope.is_list() {
        return Ok(Vec::new());
    }
    if args.scope.all {
        let stores = locate::writable_stores(&config.session.roots);
        return Ok(stores.iter().flat_map(|store| remains::remains(&store.root)).collect());
    }
    if !args.folders.is_empty() {
        return Ok(args.folders.iter().flat_map(|folder| remains::remains(folder)).collect());
    }
    let folder = match &args.cwd {
        Some(folder) => folder.clone(),
        None => std::env::current_dir()?,
    };
    let folder = folder.canonicalize().unwrap_or(folder);
    let places = ["claude", "pi", "omp"].into_iter().filter_map(|agent| locate::folder_of(agent, &folder));
    Ok(places.flat_map(|place| remains::in_project(&place)).collect())
}

/// A session in a tree: `sessions --tree`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename = "bough.session/1")]
pub(super) struct TreeRow<'a> {
    #[serde(flatten)]
    session: SessionRow<'a>,
    /// The session that its header names as the one it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    /// With --tree, the session that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<OriginRow<'a>>,
    /// With --agents, the agents that it called.
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<Vec<CalledRow<'a>>>,
}

/// Returns whether the working folders are printed: within one folder that is not needed.
fn with_folder(args: &Args) -> bool {
    args.scope.all || !args.folders.is_empty()
}

/// Prints the sessions below those that they came from.
fn tree(
    rows: &[Row],
    args: &Args,
    global: &Global,
    now: Time,
    failures: &mut Failures,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let claude = rows.iter().filter(|row| row.format == Format::Claude);
    let mut kinship = Kinship::read(claude.map(|row| row.path.as_path()), args.agents, failures, ui)?;
    if args.agents {
        for row in rows.iter().filter(|row| row.format != Format::Claude) {
            for error in kinship.omp(&row.path, global) {
                failures.add(error.into(), false, ui)?;
            }
        }
    }
    let places = tree::arrange(&parents(rows, &kinship), ui.look.ascii);
    let agents = |row: &Row| kinship.agents.get(&row.path).map_or(&[][..], |agents| agents);
    if ui.look.json {
        let end = if args.null { '\0' } else { '\n' };
        for place in &places {
            let row = &rows[place.row];
            let mut session = row.json_row();
            let origin = kinship.origins.get(&row.path);
            let mut parent = origin.map(|origin| &*origin.session);
            if session.parent.is_some() && parent.is_some() {
                session.parent = parent.take();
            }
            let row = TreeRow {
                session,
                parent,
                origin: origin.map(Origin::json_row),
                agents: args.agents.then(|| agents(row).iter().map(AgentRow::json_row).collect()),
            };
            write!(ui.out(), "{}{end}", rows::to_json(&row))?;
        }
        return Ok(());
    }
    let notes: Vec<Note> = places
        .iter()
        .map(|place| {
            let row = &rows[place.row];
            let origin = kinship.origins.get(&row.path).map(Origin::phrase);
            let parent = || row.summary.parent.as_ref().map(|parent| format!("from {}", origin_name(parent)));
            let below = agents(row)
                .iter()
                .map(|agent| {
                    let words = text::one_line(&agent.phrase());
                    format!("{}{}{words}", place.below, "  ".repeat(agent.depth))
                })
                .collect();
            Note { before: place.branch.clone(), said: origin.or_else(parent).unwrap_or_default(), below }
        })
        .collect();
    let lines: Vec<Line<'_>> = places.iter().map(|place| rows[place.row].line()).collect();
    table::print(&lines, &notes, with_folder(args), args.date.date, now, ui)
}
