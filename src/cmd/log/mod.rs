//! `bough log`: the entries on a path, or all of them, as a list or as a graph.

mod draw;
mod follow;
mod print;
pub(super) mod prompts;
mod select;

use super::shared::exit::Failures;
use super::shared::options::{Global, number};
use super::shared::scope::{self, Scope};
use super::shared::template;
use super::shared::thread_arg;
use super::shared::thread_arg::{ReadOptions, ThreadView};
use super::shared::time::DateArg;
use super::shared::words::{self, Use};
use super::{Exit, Failure, complete};
use crate::model::{Ix, Kind};
use crate::ops::Forest;
use crate::ops::filter::Mode;
use crate::ops::log_rows::{ForestRows, RowWalk};
use crate::store::Opened;
use crate::ui::{Ink, Ui, text};
use clap::builder::PossibleValuesParser;
use clap_complete::engine::ArgValueCompleter;
use print::{Printer, Reason, Rows};
use select::{Filter, Selection};
use std::path::PathBuf;

/// Show the entries on the path to HEAD, newest first
///
/// With revisions, shows the entries on the paths to them; with ranges and sets, the entries in
/// them. Markers of `switch` and bookkeeping (labels, settings, names, usage) are hidden unless
/// requested with `--kind`, `--filter` or `--all`.
///
/// A reply that only calls tools is one row with the result that follows it, under the id of the
/// result, and `HEAD~N` counts these rows. `--full`, `--stat`, `--json`, `--raw`, `--follow`,
/// `--kind`, `--filter`, `--grep` and `--all` list each entry.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough log [OPTIONS] [SESSION] [REV]...")]
pub struct Args {
    /// The session, if the first argument names one; then revisions and ranges
    ///
    /// If no revision is given, HEAD; with `--graph`, all branches.
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::first_words_or_sets))]
    words: Vec<String>,

    /// Print one line per entry
    #[arg(long)]
    oneline: bool,

    /// Draw the tree; the path to HEAD comes first, with filled circles (`*` in ASCII)
    #[arg(long)]
    graph: bool,

    /// Include every entry, bookkeeping too, in reverse file order with children before parents
    #[arg(long)]
    all: bool,

    /// The logs of all sessions of the current project, one after the other
    #[arg(short, long, conflicts_with = "all_sessions")]
    project: bool,

    /// The logs of the sessions that a file (or `-`) lists
    ///
    /// The list has one path a line, or paths that are separated by NUL bytes.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["project", "all_sessions"], value_hint = clap::ValueHint::FilePath)]
    files_from: Option<PathBuf>,

    /// The logs of all sessions of all agents
    #[arg(long)]
    all_sessions: bool,

    /// Print the oldest of the selected entries first
    ///
    /// With `--graph`, draws the tree from its roots down, like the agents' own tree views.
    #[arg(long)]
    reverse: bool,

    /// Print at most N entries; also `-N`
    #[arg(short = 'n', long = "max-count", value_name = "N", value_parser = number::<usize>)]
    count: Option<usize>,

    /// Skip the first N entries
    #[arg(long, value_name = "N", value_parser = number::<usize>, default_value_t = 0, hide_default_value = true)]
    skip: usize,

    /// Only entries since a time: a date, an age such as `2h`, or `yesterday`
    #[arg(long, value_name = "TIME", alias = "after")]
    since: Option<String>,

    /// Only entries until a time
    #[arg(long, value_name = "TIME", alias = "before")]
    until: Option<String>,

    #[command(flatten)]
    date: DateArg,

    /// Only entries of these kinds
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',', value_parser = kinds())]
    kinds: Vec<String>,

    /// Only entries that the agent's tree view shows in this mode
    ///
    /// In every mode, pi and oh-my-pi hide replies that contain only tool calls. Claude Code has no
    /// tree view: `no-tools` hides such replies, and `all` shows everything on the path.
    #[arg(long, value_name = "MODE", value_parser = PossibleValuesParser::new(Mode::ALL.map(|(name, _)| name)))]
    filter: Option<String>,

    /// Only entries whose text matches a regular expression; a pattern in lower case ignores case
    #[arg(long, value_name = "RE")]
    grep: Option<String>,

    /// List only the prompts, with their numbers for `turn:N`
    ///
    /// Prompts that were typed while the agent worked count, too. If Claude Code stored such a
    /// prompt only in its input queue, it is not an entry, and is listed with its line.
    #[arg(long, conflicts_with_all = ["graph", "kinds", "filter", "full", "stat", "format", "raw", "agents", "order", "skipped", "follow"])]
    prompts: bool,

    /// Print whole texts, thinking, and tool calls with their arguments
    ///
    /// With `--oneline` or `--format`, only gives each call a row of its own.
    #[arg(long, conflicts_with_all = ["raw"])]
    full: bool,

    /// Print the number of bytes and tokens of each entry
    #[arg(long)]
    stat: bool,

    /// Print each entry with a template, or as `oneline`, `short`, `full` or `raw`
    #[arg(long, value_name = "TEMPLATE", add = ArgValueCompleter::new(complete::templates), long_help = format!("Print each entry with a template, or as `oneline`, `short`, `full` or `raw`\n\nPlaceholders: {}", template::HELP))]
    format: Option<String>,

    /// Print the lines as stored
    #[arg(long, conflicts_with_all = ["oneline", "format", "graph"])]
    raw: bool,

    /// Use parent links as stored, without linearizing
    #[arg(long)]
    dag: bool,

    /// Also show the entries of subagents, at the entry that started them
    #[arg(long)]
    agents: bool,

    /// Order of Claude Code entries: `own` (bough's) or `document` (of claude-code-log)
    ///
    /// `own` is bough's linearization: nothing is dropped, and only real rewinds become branches.
    /// `document` is exactly the order of claude-code-log 1.7.0, which leaves some entries out; for
    /// a project folder, it is the order of all its sessions.
    #[arg(long, value_name = "ORDER", default_value = "own", hide_default_value = true, value_parser = PossibleValuesParser::new(ORDERS), conflicts_with_all = ["graph", "dag"])]
    order: String,

    /// List only the Claude Code entries that linearization left out, with reasons
    #[arg(long, conflicts_with_all = ["graph", "dag", "follow"])]
    skipped: bool,

    /// Print the last entries, oldest first, then keep printing as the session grows
    #[arg(short, long, conflicts_with_all = ["graph", "all", "reverse", "skip"])]
    follow: bool,

    /// End each entry with a NUL byte instead of a newline; for `--format`, `--raw` and `--json`
    #[arg(short = 'z')]
    nul: bool,
}

/// The orders of `--order`.
const ORDERS: [&str; 2] = ["own", "document"];

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name))
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.raw && args.format.is_none() {
        ui.for_people();
    }
    let keep = Filter::new(args)?;
    let scope = Scope { project: args.project, all: args.all_sessions, files_from: args.files_from.clone() };
    if let Some(found) = scope.sessions(false, global)? {
        let sessions: Vec<PathBuf> = found.into_iter().map(|found| found.path).collect();
        if sessions.is_empty() {
            return Ok(scope::none_found(ui));
        }
        return each(args, &sessions, &args.words, &keep, global, ui);
    }
    let words = words::split(global, &args.words, Use::Reads)?;
    let (named, revisions) = (words.session(), &words.revisions[..]);
    match thread_arg::sessions(global, named) {
        Some(sessions) => each(args, &sessions, revisions, &keep, global, ui),
        None => print_session(args, named, revisions, &keep, global, ui).inspect(|exit| {
            if *exit == Exit::No && !ui.look.quiet && !keep.is_plain() {
                ui.note(NO_MATCH);
            }
        }),
    }
}

/// What is said if filters leave nothing to print.
const NO_MATCH: &str = "no entries match";

/// Prints the sessions of a folder, one after the other; for people, each below its name.
fn each(
    args: &Args,
    sessions: &[PathBuf],
    revisions: &[String],
    keep: &Filter,
    global: &Global,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    if args.follow {
        let what = format!("can't follow {} sessions at once", sessions.len());
        return Err(Failure::Usage { what, hint: "name a file".into() }.into());
    }
    let global = &Global { session: None, ..global.clone() };
    let is_named = sessions.len() > 1 && !args.raw && args.format.is_none() && !global.json;
    let mut failures = Failures::default();
    ui.page();
    let (mut is_first, mut is_found) = (true, keep.is_plain());
    for path in sessions {
        let path = path.display().to_string();
        if is_named {
            let space = if is_first { "" } else { "\n" };
            let name = ui.paint(Ink::Strong, text::one_line(&path));
            ui.set_heading(Some(format!("{space}{name}\n")));
        }
        match print_session(args, Some(&path), revisions, keep, global, ui) {
            Ok(exit) => is_found |= exit != Exit::No,
            Err(error) => failures.add(error, args.files_from.is_some(), ui)?,
        }
        is_first &= ui.has_heading();
    }
    ui.set_heading(None);
    if is_found || !failures.is_empty() {
        return Ok(failures.or(Exit::Done));
    }
    if !ui.look.quiet {
        ui.note(NO_MATCH);
    }
    Ok(Exit::No)
}

/// Prints one session, or a project.
fn print_session(
    args: &Args,
    named: Option<&str>,
    revisions: &[String],
    keep: &Filter,
    global: &Global,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    if args.prompts {
        return prompts::prompts(args, named, revisions, keep, global, ui);
    }
    if args.order == "document" {
        return documented(args, named, keep, global, ui);
    }
    if args.skipped {
        let read = thread_arg::read(
            global,
            named,
            ReadOptions { agents: args.agents, ..ReadOptions::default() },
            ui,
        )?;
        return skipped(args, &read, keep, global, ui);
    }
    if thread_arg::folder(global, named).is_some() || args.agents {
        let manner = ReadOptions { dag: args.dag, agents: args.agents };
        return together(args, revisions, thread_arg::read(global, named, manner, ui)?, keep, global, ui);
    }
    let opened = select::open_some(args, global, named, revisions, keep, ui)?;
    if args.follow {
        return follow::follow(args, global, ui, opened, keep);
    }
    let mut read = ThreadView::unlinearized(opened);
    let chosen = Selection::resolve(&mut read, revisions, args.dag)?;
    let opened = &read.opened;
    if !has_head(opened, revisions, args, ui) {
        return Ok(Exit::Done);
    }
    ui.page();
    let mut log = Log::new(args, opened, keep, global, ui);
    log.printer.view.marks = read.marks()?;
    let passed = args.skip > 0 || args.count == Some(0) || chosen.is_empty();
    if args.graph {
        log.draw(chosen)?;
    } else {
        log.list(chosen)?;
    }
    if log.printer.first && keep.is_plain() && !passed && !opened.session.entries.is_empty() {
        log.ui.hint("all entries are bookkeeping; `--all` shows them");
    }
    if log.printer.first && !keep.is_plain() && !passed {
        return Ok(Exit::No);
    }
    Ok(Exit::Done)
}

/// Returns whether there is a HEAD, or none is needed; prints the reason if not.
fn has_head(opened: &Opened, revisions: &[String], args: &Args, ui: &mut Ui) -> bool {
    let missing = opened.session.head.entry.is_none() && revisions.is_empty() && !args.all && !args.graph;
    if missing {
        ui.hint(format_args!("there is no HEAD: {}; `--all` shows all entries", opened.session.head.rule));
    }
    !missing
}

/// Prints a session with its subagents, or a project, i.e. the contents of several files.
fn together(
    args: &Args,
    revisions: &[String],
    mut read: ThreadView,
    keep: &Filter,
    global: &Global,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let is_project = read.is_project();
    let plain = revisions.is_empty() && !args.all && !args.graph;
    let chosen = Selection::resolve(&mut read, revisions, args.dag)?;
    let opened = &read.opened;
    if !is_project && !has_head(opened, revisions, args, ui) {
        return Ok(Exit::Done);
    }
    ui.page();
    let mut log = Log::new(args, opened, keep, global, ui);
    log.printer.view.marks = read.marks()?;
    if plain {
        log.join_calls(|_| true)?;
    }
    match &read.reading {
        Some(reading) if plain && is_project => log.print(reading.order().into_iter().rev())?,
        Some(_) if plain => log.print(read.path_with_agents(keep.end_of_path(opened)).into_iter())?,
        _ if args.graph => log.draw(chosen)?,
        _ if plain && is_project => log.print(opened.session.entries.all().rev())?,
        _ => log.list(chosen)?,
    }
    Ok(read.failures.or(Exit::Done))
}

/// Prints the documented order, or the entries that it leaves out.
fn documented(
    args: &Args,
    named: Option<&str>,
    keep: &Filter,
    global: &Global,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let documented = thread_arg::documented(global, named, ui)?;
    let (document, opened) = (&documented.document, &documented.opened);
    // All lines take part here, whatever their type.
    let everything = keep.of_everything();
    let mut log = Log::new(args, opened, keep, global, ui);
    log.keep = &everything;
    let nodes = if args.skipped { document.not_emitted() } else { document.order.clone() };
    let mut listed = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Some(ix) = documented.entries[node as usize] else { continue };
        listed.push(ix);
        if args.skipped {
            let why = document.set_aside[node as usize];
            let why = why.map_or("its parent is left out", |rung| rung.name());
            log.printer.reasons.insert(ix, Reason { rung: None, why, by: None });
        }
    }
    log.ui.page();
    log.print(listed.into_iter().rev())?;
    Ok(documented.failures.or(Exit::Done))
}

/// Prints the entries that bough's own linearization set aside.
fn skipped(
    args: &Args,
    read: &ThreadView,
    keep: &Filter,
    global: &Global,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let opened = &read.opened;
    let everything = keep.of_everything();
    let mut log = Log::new(args, opened, keep, global, ui);
    log.keep = &everything;
    for aside in read.aside() {
        let by = Some(log.printer.view.id(aside.by)?);
        let reason = Reason { rung: Some(aside.why.rung()), why: aside.why.name(), by };
        log.printer.reasons.insert(aside.ix, reason);
    }
    log.ui.page();
    log.print(read.aside().iter().rev().map(|aside| aside.ix))?;
    if read.aside().is_empty() {
        ui.hint("nothing was left out");
    }
    Ok(read.failures.or(Exit::Done))
}

/// A log that is being printed.
struct Log<'l> {
    args: &'l Args,
    opened: &'l Opened,
    keep: &'l Filter,
    printer: Printer<'l>,
    ui: &'l mut Ui,
}

impl<'l> Log<'l> {
    fn new(args: &'l Args, opened: &'l Opened, keep: &'l Filter, global: &Global, ui: &'l mut Ui) -> Log<'l> {
        Log { args, opened, keep, printer: Printer::new(opened, args, keep, global), ui }
    }

    /// Prints the chosen entries, one after the other.
    fn list(&mut self, chosen: Selection) -> anyhow::Result<()> {
        let session = &self.opened.session;
        let (tree, count) = (&session.tree, session.entries.len());
        match chosen {
            Selection::Nothing if self.args.all => {
                let forest = Forest::new(tree, count, |_| true);
                // Copies that another entry represents have no children, and no place in the tree.
                let mut order: Vec<Ix> = forest.children_first().chain(tree.shadowed()).collect();
                if forest.in_file_order() {
                    order.sort_unstable_by_key(|ix| std::cmp::Reverse(*ix));
                }
                self.print(order.into_iter())
            }
            Selection::Nothing => {
                let end = self.keep.end_of_path(self.opened);
                self.printer.rows = self.keep.joins_calls.then(|| Rows::Path(RowWalk::default(), None));
                self.print(end.into_iter().flat_map(|end| tree.ancestors(end)))
            }
            Selection::Entries(chosen) => {
                let forest = Forest::new(tree, count, |ix| chosen.contains(&ix));
                self.join_calls(|ix| chosen.contains(&ix))?;
                self.print(forest.children_first())
            }
        }
    }

    /// Prepares the rows of all chosen entries that are kept.
    fn join_calls(&mut self, chosen: impl Fn(Ix) -> bool) -> anyhow::Result<()> {
        if !self.keep.joins_calls {
            return Ok(());
        }
        let session = &self.opened.session;
        let (mut wanted, mut line) = (vec![false; session.entries.len()], Vec::new());
        for ix in session.entries.all().filter(|ix| chosen(*ix)) {
            wanted[ix.index()] = self.keep.takes(self.opened, ix, &mut line)?;
        }
        let forest = Forest::new(&session.tree, session.entries.len(), |ix| wanted[ix.index()]);
        self.printer.set_rows(ForestRows::new(session, &forest));
        Ok(())
    }

    /// Prints the kept ones of some entries, within the limits.
    fn print(&mut self, entries: impl Iterator<Item = Ix>) -> anyhow::Result<()> {
        let (mut skip, mut left) = (self.args.skip, self.args.count.unwrap_or(usize::MAX));
        let (mut line, mut later) = (Vec::new(), Vec::new());
        for ix in entries {
            if left == 0 {
                break;
            }
            if !self.keep.takes(self.opened, ix, &mut line)? || !self.printer.is_row(ix) {
                continue;
            }
            if skip > 0 {
                skip -= 1;
                continue;
            }
            left -= 1;
            if self.args.reverse || self.args.follow {
                later.push(ix);
            } else {
                self.printer.entry(ix, self.ui)?;
            }
        }
        for ix in later.into_iter().rev() {
            self.printer.entry(ix, self.ui)?;
        }
        Ok(())
    }
}
