//! `bough stats`: entries, tools, tokens, cost and sizes.

mod count;
mod groups;
mod html;
mod rows;
mod tables;

#[cfg(test)]
pub(super) use rows::{GroupSum, ModelGroup, SessionSum, ToolGroup, TotalSum};

use super::shared::config::Config;
use super::shared::exit::Failures;
use super::shared::file_args::Files;
use super::shared::options::Global;
use super::shared::scope::{self, Scope};
use super::shared::time::Between;
use super::shared::{parallel, session_arg};
use super::{Exit, Failure, complete};
use crate::format::Format;
use crate::json::{member_at, string};
use crate::model::Source;
use crate::ops::stats::{Big, Total};
use crate::store;
use crate::ui::Ui;
use clap_complete::engine::ArgValueCompleter;
use count::{Counted, Group, Row};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Count entries, tools, tokens, cost and bytes
///
/// Tokens and cost are those that the agents stored. A reply without a cost is priced by the table
/// `prices` of the config file; the number of replies that still have none is shown. If a Claude
/// Code session stores a total, that is its cost. An entry on several branches counts once, and so
/// does a reply on several lines. Over several sessions, entries that a fork or a resumed session
/// copied count once. Subagents are reported separately (`agents` in JSON), and are part of the rows of
/// tables. With folders or `--all`, counts each session and the total. If a file can't be read, the
/// exit status is that of the worst failure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Files or folders to count; if omitted, the session
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::session_files))]
    files: Vec<PathBuf>,

    #[command(flatten)]
    scope: Scope,

    /// Group the counts by one or two of these, separated by a comma
    #[arg(long, value_name = "WHAT", value_delimiter = ',', action = clap::ArgAction::Append)]
    by: Vec<By>,

    /// Print a page instead of tables: charts by day, and the sessions, models, tools and files with the most
    ///
    /// The page has no script and needs no network. Credentials in names are redacted.
    #[arg(long, value_name = "FORM", conflicts_with = "by")]
    to: Option<Form>,

    #[command(flatten)]
    between: Between,
}

/// What `--to` writes.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// One HTML page
    Html,
}

/// What `--by` groups by.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    /// Each branch, with what no earlier branch has
    Branch,
    /// Each model
    Model,
    /// Each tool
    Tool,
    /// Each file that tools read or changed
    File,
    /// Each kind of entry
    Type,
    /// Each session
    Session,
    /// Each project
    Project,
    /// Each agent
    Agent,
    /// Each day, in the user's time zone
    Day,
    /// Each week, by its Monday
    Week,
    /// Each month
    Month,
}

impl By {
    /// Returns its name, as in `--by` and `--json`.
    fn name(self) -> &'static str {
        match self {
            By::Branch => "branch",
            By::Model => "model",
            By::Tool => "tool",
            By::File => "file",
            By::Type => "type",
            By::Session => "session",
            By::Project => "project",
            By::Agent => "agent",
            By::Day => "day",
            By::Week => "week",
            By::Month => "month",
        }
    }

    /// Returns whether replies, and so tokens, can be grouped by it.
    fn has_tokens(self) -> bool {
        !matches!(self, By::Tool | By::File)
    }
}

pub(super) fn run(args: &Args, global: &Global, config: &Config, ui: &mut Ui) -> anyhow::Result<Exit> {
    let is_page = args.to.is_some();
    if is_page && ui.look.json {
        let hint = "omit one of the two".into();
        return Err(Failure::Usage { what: "`--to` and `--json` exclude each other".into(), hint }.into());
    }
    if !is_page {
        ui.for_people();
    }
    check_groups(&args.by)?;
    let window = args.between.window()?;
    let prices = config.prices();
    let files = Files::resolve(&args.files, &args.scope, global, ui)?;
    let groups = files.sessions();
    let is_only = matches!(&groups[..], [files] if files.len() == 1);
    let mut total = Total::default();
    let mut sessions: Vec<Row> = Vec::new();
    let mut by: BTreeMap<Vec<String>, Group> = BTreeMap::new();
    let mut page = html::Groups::default();
    let mut paths: Vec<PathBuf> = Vec::new();
    let (mut faulty, mut failures) = (Vec::new(), Failures::default());
    for batch in groups.chunks(32) {
        let progress = session_arg::reading(global, batch.iter().flatten().map(|path| &**path));
        let counted = parallel::map(batch, |files| Counted::count(files, is_only, &prices, &window, global));
        drop(progress);
        for (files_of, counted) in batch.iter().zip(counted) {
            let mut counted = match counted {
                Ok(counted) => counted,
                Err(error) if files.several => {
                    failures.add(error.into(), files.is_named(&files_of[0]), ui)?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let mut alone = counted.alone.take();
            let branches = counted.branches(&args.by)?;
            for (number, (path, opened, facts)) in counted.files.iter().enumerate() {
                let fresh = match alone.take() {
                    Some((own, fresh)) => {
                        total = own;
                        fresh
                    }
                    None => count::add(&mut total, &opened.session, facts, &window),
                };
                paths.push(path.clone());
                faulty.extend((!opened.session.faults.is_empty()).then(|| path.clone()));
                if is_page {
                    page.add(&counted, number, &fresh, window.is_open());
                }
                if !args.by.is_empty() && args.by != [By::Branch] {
                    let branches = if number == 0 { &branches[..] } else { &[] };
                    counted.grouped(number, &fresh, &args.by, window.is_open(), branches, &mut by);
                }
            }
            if args.by == [By::Branch] {
                counted.by_branch(&mut by)?;
            }
            if counted.row.sum.entries().count > 0 || window.is_open() {
                sessions.push(counted.row);
            }
        }
    }
    session_arg::warn_of_files(&faulty, paths.len(), args.scope.option(), ui);
    let shown = Shown { total: &total, sessions: &sessions, paths: &paths };
    match (&args.by[..], ui.look.json) {
        _ if is_page && sessions.is_empty() => {}
        _ if is_page => page.print(&shown, config, ui)?,
        ([], true) => shown.json(ui)?,
        ([], false) if sessions.is_empty() => {}
        ([], false) => shown.tables(ui)?,
        (what, json) => shown.groups(what, by, json, ui)?,
    }
    if !is_page && !ui.look.json && args.by.iter().all(|by| by.has_tokens()) {
        hint_prices(&sessions, !args.by.is_empty(), ui);
    }
    if sessions.is_empty() && failures.is_empty() {
        return Ok(scope::none_found(ui));
    }
    Ok(failures.or(Exit::Done))
}

/// Says how replies get a cost, if some have none. A total that the agent keeps itself says it all, but for groups.
fn hint_prices(sessions: &[Row], is_grouped: bool, ui: &mut Ui) {
    let counted = sessions.iter().map(|row| &row.sum).filter(|sum| is_grouped || !sum.is_agents_cost);
    let unpriced: u64 = counted.map(|sum| sum.all_taken().unpriced).sum();
    if unpriced > 0 {
        let replies = tables::have_no_cost(unpriced);
        ui.hint(format_args!("{replies}; `bough help config` shows how to set prices"));
    }
}

/// Refuses more than two groupings, and the same one twice.
fn check_groups(by: &[By]) -> Result<(), Failure> {
    if let [_, _, ..] = by
        && (by.len() > 2 || by[0] == by[1])
    {
        let hint = "e.g. `--by day,model`";
        return Err(Failure::Usage { what: "expected one or two groups".into(), hint: hint.into() });
    }
    Ok(())
}

/// What was counted, on its way to a table, to rows of JSON or to a page.
struct Shown<'s> {
    total: &'s Total,
    sessions: &'s [Row],
    paths: &'s [PathBuf],
}

impl Shown<'_> {
    /// Returns the id of a large entry, and its summary.
    fn big(&self, big: &Big) -> (Option<String>, String) {
        let mut line = Vec::new();
        let path = &self.paths[big.session];
        let read = store::open_raw(path).is_ok_and(|(files, _)| files.read(big.span, &mut line).is_ok());
        if !read {
            return (None, String::new());
        }
        let format = self.sessions.iter().find(|row| Path::new(&row.file) == path).map(|row| row.format);
        let format = format.unwrap_or(Format::Claude);
        let id = member_at(&line, format.names().id_path).and_then(string).map(|id| id.into_owned());
        (id, crate::format::Content::read(format, &line).summary())
    }
}
