//! `bough stats`: entries, tools, tokens, cost and sizes.

mod html;

use super::shared::config::Config;
use super::shared::exit::Failures;
use super::shared::file_args::Files;
use super::shared::options::Global;
use super::shared::scope::{self, Scope};
use super::shared::table::Table;
use super::shared::time::{self, Between, Window};
use super::shared::{parallel, rows, session_arg, thread_arg};
use super::{Exit, Failure, complete};
use crate::format::{Format, Session, Usage};
use crate::json::{member_at, string, string_of};
use crate::model::{Count, Ix, Kind, Source};
use crate::ops::branches;
use crate::ops::stats::{self, Big, Facts, Fresh, Item, Models, Prices, Sum, Taken, Tool, Total};
use crate::ops::{BranchOf, ids};
use crate::store::{self, Opened};
use crate::ui::{Ink, Ui, text};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Count entries, tools, tokens, cost and bytes
///
/// Tokens and cost are those that the agents stored. A reply without a cost is priced by the table
/// `prices` of the config file; the number of replies that still have none is shown. If a Claude
/// Code session stores a total, that is its cost. An entry on several branches counts once, and so
/// does a reply on several lines. Over several sessions, entries that a fork or a resumed session
/// copied count once. Subagents are reported separately. With folders or `--all`, counts each
/// session and the total. If a file can't be read, the exit status is that of the worst failure.
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
    if let [_, _, ..] = &args.by[..]
        && (args.by.len() > 2 || args.by[0] == args.by[1])
    {
        let hint = "e.g. `--by day,model`";
        return Err(Failure::Usage { what: "expected one or two groups".into(), hint: hint.into() }.into());
    }
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
    let (mut faults, mut failures) = (0, Failures::default());
    for batch in groups.chunks(32) {
        let progress = session_arg::reading(global, batch.iter().flatten().map(|path| &**path));
        let counted = parallel::map(batch, |files| Counted::count(files, is_only, &prices, &window, global));
        drop(progress);
        for (files_of, counted) in batch.iter().zip(counted) {
            let counted = match counted {
                Ok(counted) => counted,
                Err(error) if files.several => {
                    failures.add(error.into(), files.is_named(&files_of[0]), ui)?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let branches = counted.branches(&args.by)?;
            for (number, (path, opened, facts)) in counted.files.iter().enumerate() {
                let fresh = match window.is_open() {
                    true => total.add(&opened.session, facts),
                    false => total.add_between(&opened.session, facts, |time| window.has(time)),
                };
                paths.push(path.clone());
                faults += opened.session.faults.len();
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
    if faults > 0 {
        let place = match &*paths {
            [path] => path.display().to_string(),
            _ => Count("file", "files", paths.len()).to_string(),
        };
        ui.note(format_args!("warning: faults in {}; `bough fsck` lists them", text::safe(&place)));
    }
    let shown = Shown { total: &total, sessions: &sessions, paths: &paths };
    match (&args.by[..], ui.look.json) {
        _ if is_page && sessions.is_empty() => {}
        _ if is_page => page.print(&shown, config, ui)?,
        ([], true) => shown.json(ui)?,
        ([], false) if sessions.is_empty() => {}
        ([], false) => shown.tables(ui)?,
        (what, json) => shown.groups(what, by, json, ui)?,
    }
    if sessions.is_empty() && failures.is_empty() {
        return Ok(scope::none_found(ui));
    }
    Ok(failures.or(Exit::Done))
}

/// A counted session, with the files of its subagents.
struct Counted {
    files: Vec<(PathBuf, Opened, Facts)>,
    row: Row,
}

/// A session in short.
struct Row {
    file: String,
    id: Option<String>,
    name: Option<String>,
    format: Format,
    branches: usize,
    sum: Sum,
    /// The number of its files, including those of its subagents.
    files: usize,
}

impl Row {
    /// Returns what the session is known by in groups: its id, or its file if it has none.
    fn key(&self) -> String {
        self.id.clone().unwrap_or_else(|| self.file.clone())
    }

    /// Returns that, and its name if it has one.
    fn named(&self) -> Option<(String, &str)> {
        Some((self.key(), self.name.as_deref()?))
    }
}

/// A group of `--by`.
#[derive(Default)]
struct Group {
    /// Its names, one for each of the requested groupings.
    names: Vec<String>,
    sum: Sum,
    current: bool,
    file: String,
    leaf: Option<String>,
    /// The tokens and the cost of the branch's whole path.
    path: Option<(u64, u64, Option<f64>)>,
}

impl Counted {
    fn count(
        files: &[PathBuf],
        is_only: bool,
        prices: &Prices,
        window: &Window,
        global: &Global,
    ) -> Result<Counted, store::Error> {
        let mut counted = Vec::new();
        let mut sum = Total::default();
        for path in files {
            let opened = match store::open(path, global.options()) {
                // A session counts without a subagent's file that is still empty.
                Err(error) if error.is_no_session() && !counted.is_empty() => continue,
                opened => opened?,
            };
            let facts = Facts::read(&opened.session, &opened.files, prices, is_only)
                .map_err(|source| store::Error::Io { path: path.clone(), source })?;
            match window.is_open() {
                true => sum.add(&opened.session, &facts),
                false => sum.add_between(&opened.session, &facts, |time| window.has(time)),
            };
            counted.push((path.clone(), opened, facts));
        }
        let (path, opened, _) = &counted[0];
        let session = &opened.session;
        let branches = branches::count(session, &opened.files)
            .map_err(|source| store::Error::Io { path: path.clone(), source })?;
        let row = Row {
            file: files[0].display().to_string(),
            id: session.id(),
            name: session.name.clone(),
            format: session.format,
            branches,
            sum: sum.sum,
            files: counted.len(),
        };
        Ok(Counted { files: counted, row })
    }

    /// Returns the branch of each entry of the main file, by the label or id of its leaf; `None` if
    /// no grouping needs it.
    fn branches(&self, what: &[By]) -> Result<Vec<Option<String>>, store::Error> {
        if what.len() < 2 || !what.contains(&By::Branch) {
            return Ok(Vec::new());
        }
        let (path, opened, _) = &self.files[0];
        let (session, source) = (&opened.session, &opened.files);
        let io = |source| store::Error::Io { path: path.clone(), source };
        let joined = thread_arg::joined(session, source).map_err(io)?;
        let owners = BranchOf::build(joined.as_ref().map_or(session, |(joined, _)| joined));
        let short = ids::ShortIds::default();
        let mut names: HashMap<Ix, String> = HashMap::new();
        let mut out = Vec::with_capacity(session.entries.len());
        for ix in session.entries.all() {
            let tip = match &joined {
                Some((_, reading)) => owners.tip(ix).or_else(|| owners.tip(reading.stand_in(ix))),
                None => owners.tip(ix),
            };
            let Some(tip) = tip else {
                out.push(None);
                continue;
            };
            if let Entry::Vacant(vacant) = names.entry(tip) {
                vacant.insert(match session.labels.label(tip) {
                    Some(name) => name.to_owned(),
                    None => short.short_id(session, source, tip).map_err(io)?,
                });
            }
            out.push(names.get(&tip).cloned());
        }
        Ok(out)
    }

    /// Counts one of its files in the requested groups.
    fn grouped(
        &self,
        number: usize,
        fresh: &Fresh,
        what: &[By],
        is_whole: bool,
        branches: &[Option<String>],
        by: &mut BTreeMap<Vec<String>, Group>,
    ) {
        let (_, opened, facts) = &self.files[number];
        let session = &opened.session;
        let models = if what.contains(&By::Model) { Models::new(session, facts) } else { Models::default() };
        let (project, session_key) = (self.project(), self.row.key());
        let name = |place: u32| facts.names[place as usize].clone();
        let key = |what: By, item: Item<'_>| -> Option<String> {
            let ix = item.entry();
            let date = || time::date(session.entries.time(ix));
            let date = |len: usize| date().get(..len).map(str::to_owned);
            Some(match what {
                By::Branch => branches.get(ix.index())?.clone()?,
                By::Model => match item {
                    Item::Spent(_) => models.model(session, item).map(name).unwrap_or_default(),
                    _ => name(models.model(session, item)?),
                },
                By::Tool => match item {
                    Item::Call(call) => name(call.tool),
                    Item::Answer(answer) => answer.tool.map(name).unwrap_or_default(),
                    Item::File(call) => name(call.tool),
                    _ => return None,
                },
                By::File => match item {
                    Item::File(call) => relative(&name(call.file), &project),
                    _ => return None,
                },
                By::Type => session.entries.kind(ix).name().to_owned(),
                By::Session => session_key.clone(),
                By::Project => project.clone(),
                By::Agent => session.format.agent().to_owned(),
                By::Day => date(10)?,
                By::Week => time::monday(session.entries.time(ix))?,
                By::Month => date(7)?,
            })
        };
        let group = |item: Item<'_>| what.iter().map(|what| key(*what, item)).collect::<Option<Vec<_>>>();
        // A whole session is in one of these groups.
        let is_together =
            is_whole && what.iter().all(|by| matches!(by, By::Session | By::Project | By::Agent));
        for (names, mut sum) in stats::grouped_by(session, facts, fresh, group) {
            if is_together {
                sum.take_own_total(session);
            }
            let group = by.entry(names.clone()).or_default();
            group.names = names;
            group.sum.join(sum);
        }
    }

    /// Returns the working directory of the session.
    fn project(&self) -> String {
        let (_, opened, _) = &self.files[0];
        let session = &opened.session;
        let of_header = session.header.as_ref().and_then(|header| header.cwd.clone());
        let first = || {
            let ix = session.entries.all().find(|ix| session.entries.kind(*ix).is_turn())?;
            string_of(&opened.files.bytes(session.span(ix)).ok()?, "cwd")
        };
        of_header.or_else(first).unwrap_or_default()
    }

    /// Counts each branch of the main file: each entry once, at the branch with which it is shown.
    fn by_branch(&self, by: &mut BTreeMap<Vec<String>, Group>) -> Result<(), store::Error> {
        let (path, opened, facts) = &self.files[0];
        let (session, source) = (&opened.session, &opened.files);
        let io = |source| store::Error::Io { path: path.clone(), source };
        let joined = thread_arg::joined(session, source).map_err(io)?;
        let talked = joined.as_ref().map_or(session, |(joined, _)| joined);
        let owners = BranchOf::build(talked);
        let on_path = OnPath::sum(talked, facts);
        let short = ids::ShortIds::default();
        // An entry that was set aside counts where its representative is.
        let owner = |ix: Ix| match &joined {
            Some((_, reading)) => owners.tip(ix).or_else(|| owners.tip(reading.stand_in(ix))),
            None => owners.tip(ix),
        };
        for (tip, sum) in stats::grouped(session, facts, owner) {
            let leaf = ids::name(session, source, tip).map_err(io)?;
            let name = match session.labels.label(tip) {
                Some(name) => name.to_owned(),
                None => short.short_id(session, source, tip).map_err(io)?,
            };
            let current = owners.on_head(tip);
            let file = path.display().to_string();
            let key = vec![path.display().to_string(), format!("{:010}", tip.0)];
            let path = Some(on_path.up_to(tip));
            by.insert(key, Group { names: vec![name], sum, current, file, leaf: Some(leaf), path });
        }
        Ok(())
    }
}

/// The sums over the path to each entry: entries, tokens, cost.
struct OnPath(Vec<(u64, u64, Option<f64>)>);

impl OnPath {
    fn sum(session: &Session, facts: &Facts) -> OnPath {
        let count = session.entries.len();
        let mut sums = vec![(0, 0, None); count];
        for spent in &facts.spent {
            if let Some(usage) = &spent.usage {
                let sum = &mut sums[spent.entry.index()];
                *sum = (0, sum.1 + usage.tokens(), added(sum.2, usage.cost));
            }
        }
        let forest = crate::ops::Forest::new(&session.tree, count, |_| true);
        for ix in forest.parents_first() {
            let above = forest.parent(ix).map_or((0, 0, None), |parent| sums[parent.index()]);
            let sum = &mut sums[ix.index()];
            *sum = (above.0 + 1, above.1 + sum.1, added(above.2, sum.2));
        }
        OnPath(sums)
    }

    fn up_to(&self, ix: Ix) -> (u64, u64, Option<f64>) {
        self.0[ix.index()]
    }
}

/// Adds two costs, if either is known.
fn added(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

/// Returns a path relative to the working directory, if it is inside that.
fn relative(path: &str, folder: &str) -> String {
    let below = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    below.filter(|rest| !rest.is_empty() && !folder.is_empty()).unwrap_or(path).to_owned()
}

struct Shown<'s> {
    total: &'s Total,
    sessions: &'s [Row],
    paths: &'s [PathBuf],
}

impl Shown<'_> {
    fn json(&self, ui: &mut Ui) -> anyhow::Result<()> {
        for row in self.sessions {
            let row = SessionSum {
                sum: SumRow::from(&row.sum),
                scope: "session",
                file: &row.file,
                agent: row.format.agent(),
                session: row.id.as_deref(),
                name: row.name.as_deref(),
                files: row.files,
                branches: row.branches,
                biggest: (self.sessions.len() == 1).then(|| self.biggest()),
            };
            rows::print(&row, ui)?;
        }
        if self.sessions.len() != 1 {
            let row = TotalSum {
                sum: SumRow::from(&self.total.sum),
                scope: "total",
                sessions: self.sessions.len(),
                files: self.total.sessions,
                copies: self.total.copies,
                biggest: self.biggest(),
            };
            rows::print(&row, ui)?;
        }
        Ok(())
    }

    fn biggest(&self) -> Vec<BigRow> {
        let row = |big: &Big| BigRow {
            file: self.paths[big.session].display().to_string(),
            line: big.line,
            kind: big.kind,
            bytes: big.span.len,
            id: self.big(big).0,
        };
        self.total.sum.biggest.iter().map(row).collect()
    }

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

    fn tables(&self, ui: &mut Ui) -> anyhow::Result<()> {
        let sum = &self.total.sum;
        self.heading(ui)?;
        if self.sessions.len() != 1 {
            self.session_table(ui)?;
        }
        if sum.entries().count == 0 {
            return Ok(());
        }
        kinds(sum, ui)?;
        if !sum.models.is_empty() {
            models(sum, ui)?;
        }
        if !sum.tools.is_empty() {
            tools(sum, ui)?;
        }
        let mut table = Table::new(&["biggest entries", "bytes", "", ""], &[1]);
        for big in &sum.biggest {
            let (id, words) = self.big(big);
            let short = id.map_or_else(|| format!("line:{}", big.line), |id| id.chars().take(8).collect());
            let room = ui.look.width.saturating_sub(44).max(14);
            table.add_row([
                text::one_line(&short),
                grouped(big.span.len),
                big.kind.name().to_owned(),
                text::fit(&text::one_line(&words), room),
            ]);
        }
        table.print(ui)
    }

    fn heading(&self, ui: &mut Ui) -> anyhow::Result<()> {
        let sum = &self.total.sum;
        let entries = sum.entries();
        let mut words = Vec::new();
        match self.sessions {
            [row] => {
                let name = row.name.as_deref().map(text::one_line).unwrap_or_default();
                let id = row.id.as_deref().map(text::one_line).unwrap_or_default();
                let title = if name.is_empty() { id } else { name };
                let title = ui.paint(Ink::Strong, text::fit(&title, 60));
                writeln!(ui.out(), "{title}  {}", row.format.name())?;
                words.push(Count("branch", "branches", row.branches).to_string());
            }
            rows => words.push(Count("session", "sessions", rows.len()).to_string()),
        }
        words.insert(0, Count("entry", "entries", entries.count as usize).to_string());
        let compactions = sum.of_kind(Kind::Compaction) as usize;
        if compactions > 0 {
            words.push(Count("compaction", "compactions", compactions).to_string());
        }
        words.push(bytes(entries.bytes));
        let agents: usize = self.sessions.iter().map(|row| row.files - 1).sum();
        if agents > 0 {
            words.push(Count("subagent file", "subagent files", agents).to_string());
        }
        facts(&words.join(" · "), ui)?;
        if let (Some(first), Some(last)) = (sum.first, sum.last) {
            let span = time::age(first, last);
            let span = if span.is_empty() { "0s".into() } else { span };
            let span = format!(" ({span})");
            let times = format!("{} – {}", time::minute(first), time::minute(last));
            let has_room = text::width(&times) + text::width(&span) <= ui.look.width;
            writeln!(ui.out(), "{times}{}", if has_room { &span } else { "" })?;
        }
        if self.total.copies > 0 {
            let copies = Count("entry is a copy", "entries are copies", self.total.copies as usize);
            writeln!(ui.out(), "{copies} and not counted again")?;
        }
        let taken = |words: &str, taken: &Taken| {
            let usage = &taken.usage;
            let mut all = format!(
                "{words} {} · {} in · {} out · {} cache read · {} cache write",
                Count("reply", "replies", taken.replies as usize),
                grouped(usage.input),
                grouped(usage.output),
                grouped(usage.cache_read),
                cache_write(usage),
            );
            if let Some(cost) = usage.cost.filter(|cost| *cost > 0.0) {
                all.push_str(&format!(" · {}", dollars(cost)));
            }
            if taken.unpriced > 0 {
                let have = if taken.unpriced == 1 { "has" } else { "have" };
                all.push_str(&format!(
                    " · {} {have} no cost",
                    Count("reply", "replies", taken.unpriced as usize)
                ));
            }
            all
        };
        if sum.taken.replies > 0 || sum.taken.usage.tokens() > 0 {
            let own = if sum.is_agents_cost { " (total kept by Claude Code)" } else { "" };
            facts(&format!("{}{own}", taken("tokens", &sum.taken)), ui)?;
        }
        if sum.agents.replies > 0 {
            facts(&taken("subagents", &sum.agents), ui)?;
        }
        Ok(())
    }

    /// Prints the sessions with the highest usage.
    fn session_table(&self, ui: &mut Ui) -> anyhow::Result<()> {
        const ROWS: usize = 20;
        let mut rows: Vec<&Row> = self.sessions.iter().collect();
        let weight = |row: &Row| (row.sum.all_taken().usage.tokens(), row.sum.entries().bytes);
        rows.sort_by_key(|row| std::cmp::Reverse(weight(row)));
        let most = rows.first().map_or(0, |row| row.sum.all_taken().usage.tokens());
        let mut table = Table::new(&["session", "agent", "entries", "tokens", "", "cost"], &[2, 3, 5]);
        for row in rows.iter().take(ROWS) {
            let tokens = row.sum.all_taken().usage.tokens();
            let title = row.name.clone().or_else(|| row.id.clone()).unwrap_or_else(|| row.file.clone());
            table.add_row([
                text::fit(&text::one_line(&title), 36),
                row.format.agent().to_owned(),
                grouped(row.sum.entries().count),
                grouped(tokens),
                bar(tokens, most, ui),
                cost_cell(row.sum.all_taken().usage.cost),
            ]);
        }
        table.print(ui)?;
        if rows.len() > ROWS {
            let more = Count("session", "sessions", rows.len() - ROWS);
            writeln!(ui.out(), "… and {more} more; `--json` lists all")?;
        }
        Ok(())
    }

    fn groups(
        &self,
        what: &[By],
        by: BTreeMap<Vec<String>, Group>,
        json: bool,
        ui: &mut Ui,
    ) -> anyhow::Result<()> {
        let sum = &self.total.sum;
        match (what, json) {
            ([By::Model], false) => models(sum, ui),
            ([By::Tool], false) => tools(sum, ui),
            ([By::Model], true) => {
                for (model, taken) in &sum.models {
                    let taken = TakenRow::from(taken);
                    rows::print(&ModelGroup { taken, schema: "bough.stats/1", by: "model", model }, ui)?;
                }
                Ok(())
            }
            ([By::Tool], true) => {
                for (name, tool) in &sum.tools {
                    let tool = ToolRow::new(name, tool);
                    rows::print(&ToolGroup { tool, schema: "bough.stats/1", by: "tool" }, ui)?;
                }
                Ok(())
            }
            (_, true) => {
                let titles: HashMap<String, &str> = self.sessions.iter().filter_map(Row::named).collect();
                for group in by.into_values() {
                    let names: Vec<&str> = what.iter().map(|what| what.name()).collect();
                    let mut values = Map::new();
                    for (name, value) in names.iter().zip(group.names) {
                        if *name == By::Session.name()
                            && let Some(title) = titles.get(&value)
                        {
                            values.insert("name".into(), (*title).into());
                        }
                        values.insert((*name).into(), value.into());
                    }
                    let has_files = group.sum.reads > 0 || group.sum.changes > 0;
                    let branch =
                        group.leaf.zip(group.path).map(|(leaf, (entries, tokens, cost))| BranchSum {
                            file: group.file,
                            leaf,
                            current: group.current,
                            path: PathSum { entries, tokens, cost: round(cost.unwrap_or(0.0)) },
                        });
                    let row = GroupSum {
                        sum: SumRow::from(&group.sum),
                        by: names.join(","),
                        names: values,
                        reads: has_files.then_some(group.sum.reads),
                        changes: has_files.then_some(group.sum.changes),
                        branch,
                    };
                    rows::print(&row, ui)?;
                }
                Ok(())
            }
            (_, false) => group_table(what, by, self.sessions, ui),
        }
    }
}

fn group_table(
    what: &[By],
    by: BTreeMap<Vec<String>, Group>,
    sessions: &[Row],
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let several = sessions.len() > 1;
    let is_branch = what == [By::Branch];
    let has_tokens = what.iter().all(|what| what.has_tokens());
    let most = by.values().map(|group| group.sum.all_taken().usage.tokens()).max().unwrap_or(0);
    let mut heads: Vec<&str> = what.iter().map(|what| what.name()).collect();
    let names = heads.len();
    if has_tokens {
        heads.extend(["entries", "replies", "in", "out", "cache read", "cache write", "cost", ""]);
    } else if what.contains(&By::File) {
        heads.extend(["reads", "changes"]);
    } else {
        heads.extend(["calls", "results", "errors"]);
    }
    let mut right: Vec<usize> = (names..heads.len()).collect();
    if has_tokens {
        right.pop();
    }
    if is_branch {
        right.extend([heads.len(), heads.len() + 1]);
        heads.extend(["path: entries", "tokens"]);
    }
    let mut groups: Vec<Group> = by.into_values().collect();
    if let Some(at) = what.iter().position(|what| *what == By::Session) {
        let titles = titles(sessions);
        for group in &mut groups {
            if let Some(title) = titles.get(&group.names[at]) {
                group.names[at].clone_from(title);
            }
        }
        groups.sort_by(|a, b| a.names.cmp(&b.names));
    }
    if what == [By::File] {
        groups.sort_by_key(|group| std::cmp::Reverse((group.sum.changes, group.sum.reads)));
    }
    let mut table = Table::new(&heads, &right);
    for group in groups {
        let sum = &group.sum;
        let taken = sum.all_taken();
        let mut cells: Vec<String> = group.names.iter().map(|name| name_cell(name, ui)).collect();
        if several && is_branch {
            let file = Path::new(&group.file).file_stem().unwrap_or_default().to_string_lossy();
            cells[0] = format!("{}:{}", text::fit(&text::one_line(&file), 24), cells[0]);
        }
        if is_branch {
            cells[0] = format!("{} {}", if group.current { '*' } else { ' ' }, cells[0]);
        }
        if has_tokens {
            cells.push(grouped(sum.entries().count));
            cells.extend(taken_cells(&taken, most, ui));
        } else if what.contains(&By::File) {
            cells.extend([grouped(sum.reads), grouped(sum.changes)]);
        } else {
            let count = |count: fn(&Tool) -> u64| grouped(sum.tools.values().map(count).sum());
            cells.extend([count(|tool| tool.calls), count(|tool| tool.results), count(|tool| tool.errors)]);
        }
        if let Some((entries, tokens, _)) = group.path {
            cells.extend([grouped(entries), grouped(tokens)]);
        }
        table.add_row(cells);
    }
    table.print(ui)
}

/// Returns the name of each session that has one, with its id if another has the same.
fn titles(sessions: &[Row]) -> HashMap<String, String> {
    let mut times: HashMap<&str, usize> = HashMap::new();
    for (_, name) in sessions.iter().filter_map(Row::named) {
        *times.entry(name).or_default() += 1;
    }
    let title = |(key, name): (String, &str)| {
        let title = match times[name] {
            1 => name.to_owned(),
            _ => format!("{name} ({})", thread_arg::short(&key)),
        };
        (key, title)
    };
    sessions.iter().filter_map(Row::named).map(title).collect()
}

/// Returns the name of a group, on one line.
fn name_cell(name: &str, ui: &Ui) -> String {
    let name = if name.is_empty() { "(none)".into() } else { text::one_line(name) };
    if ui.look.terminal { text::fit_end(&name, 48) } else { name }
}

/// Returns the cells of what replies took: how many they are, tokens, cost, and a bar of the tokens beside the most.
fn taken_cells(taken: &Taken, most: u64, ui: &Ui) -> Vec<String> {
    let mut cells = taken_figures(taken).to_vec();
    cells.push(bar(taken.usage.tokens(), most, ui));
    cells
}

/// Returns these cells without the bar.
fn taken_figures(taken: &Taken) -> [String; 6] {
    [
        grouped(taken.replies),
        grouped(taken.usage.input),
        grouped(taken.usage.output),
        grouped(taken.usage.cache_read),
        cache_write(&taken.usage),
        cost_cell(taken.usage.cost),
    ]
}

/// Returns the tokens written to the cache, and how many of them for an hour.
fn cache_write(usage: &Usage) -> String {
    match usage.cache_write_1h {
        0 => grouped(usage.cache_write),
        hour => format!("{} ({} for 1h)", grouped(usage.cache_write), grouped(hour)),
    }
}

fn kinds(sum: &Sum, ui: &mut Ui) -> anyhow::Result<()> {
    let most = sum.kinds.values().map(|amount| amount.bytes).max().unwrap_or(0);
    let mut table = Table::new(&["kind", "entries", "bytes", ""], &[1, 2]);
    for (kind, amount) in &sum.kinds {
        let bar = bar(amount.bytes, most, ui);
        table.add_row([kind.name().to_owned(), grouped(amount.count), grouped(amount.bytes), bar]);
    }
    table.print(ui)
}

fn models(sum: &Sum, ui: &mut Ui) -> anyhow::Result<()> {
    let most = sum.models.values().map(|taken| taken.usage.tokens()).max().unwrap_or(0);
    let heads = ["model", "replies", "in", "out", "cache read", "cache write", "cost", ""];
    let mut table = Table::new(&heads, &[1, 2, 3, 4, 5, 6]);
    let mut models: Vec<_> = sum.models.iter().collect();
    models.sort_by_key(|(_, taken)| std::cmp::Reverse(taken.usage.tokens()));
    for (name, taken) in models {
        let name = if name.is_empty() { "(no model named)".into() } else { text::one_line(name) };
        let mut cells = vec![text::fit(&name, 36)];
        cells.extend(taken_cells(taken, most, ui));
        table.add_row(cells);
    }
    table.print(ui)
}

fn tools(sum: &Sum, ui: &mut Ui) -> anyhow::Result<()> {
    let most = sum.tools.values().map(|tool| tool.calls).max().unwrap_or(0);
    let mut table = Table::new(&["tool", "calls", "", "results", "errors"], &[1, 3, 4]);
    let mut tools: Vec<_> = sum.tools.iter().collect();
    tools.sort_by_key(|(_, tool)| std::cmp::Reverse(tool.calls));
    for (name, tool) in tools {
        let name = if name.is_empty() { "(no call known)".into() } else { text::one_line(name) };
        table.add_row([
            text::fit(&name, 36),
            grouped(tool.calls),
            bar(tool.calls, most, ui),
            grouped(tool.results),
            grouped(tool.errors),
        ]);
    }
    table.print(ui)
}

/// Prints facts, on several lines if they do not fit on one.
fn facts(facts: &str, ui: &mut Ui) -> anyhow::Result<()> {
    for (at, line) in text::wrap_facts(facts, ui.look.width.saturating_sub(2)).iter().enumerate() {
        writeln!(ui.out(), "{}{line}", if at == 0 { "" } else { "  " })?;
    }
    Ok(())
}

/// Returns a small bar: a value as a fraction of the maximum.
fn bar(value: u64, most: u64, ui: &Ui) -> String {
    const CELLS: u64 = 12;
    if most == 0 || value == 0 {
        return String::new();
    }
    let eighths = (u128::from(value) * u128::from(CELLS * 8)).div_ceil(u128::from(most)) as usize;
    if ui.look.ascii {
        return "#".repeat(eighths.div_ceil(8));
    }
    let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{part}", "█".repeat(eighths / 8))
}

/// Returns a number with its digits in groups of three.
fn grouped(number: u64) -> String {
    crate::model::grouped(number as usize)
}

/// Returns a size in bytes, in the largest unit that leaves a whole number before the point.
fn bytes(bytes: u64) -> String {
    super::shared::file_args::size(bytes)
}

fn dollars(cost: f64) -> String {
    if cost < 10.0 { format!("${cost:.4}") } else { format!("${cost:.2}") }
}

fn cost_cell(cost: Option<f64>) -> String {
    cost.filter(|cost| *cost > 0.0).map_or_else(|| "-".into(), dollars)
}

/// Returns a cost without the rounding errors of adding.
fn round(cost: f64) -> f64 {
    let rounded = (cost * 1e9).round() / 1e9;
    if rounded.is_finite() { rounded } else { cost }
}

/// Counts: stats. One object for each session (`scope` session) and, for several, one for all together
/// (`scope` total); with --by one for each group (`by` says of what).
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.stats/1")]
struct SumRow<'a> {
    /// How many entries.
    entries: u64,
    /// The bytes of their lines.
    bytes: u64,
    /// Entries by kind.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, KindRow>"))]
    kinds: BTreeMap<Kind, KindRow>,
    #[serde(flatten)]
    taken: TakenRow,
    /// What called agents took.
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<TakenRow>,
    /// What each model took.
    models: Vec<ModelRow<'a>>,
    /// What tools were called.
    tools: Vec<ToolRow<'a>>,
    /// The cost is the total that the agent keeps itself; absent if it is what the entries add up to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("const" = "agent")))]
    cost_source: Option<&'static str>,
    /// How many compactions.
    compactions: u64,
    /// When the first entry was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_time: Option<String>,
    /// When the last was.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_time: Option<String>,
}

/// Entries of one kind.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct KindRow {
    /// How many.
    entries: u64,
    /// The bytes of their lines.
    bytes: u64,
}

/// What replies took.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TakenRow {
    /// How many replies of the model.
    replies: u64,
    /// Tokens, as the agent stored them.
    tokens: TokensRow,
    /// Cost in dollars, as the agent stored it; absent where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// How many replies have no cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    unpriced: Option<u64>,
}

/// Tokens, as the agent stored them.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TokensRow {
    /// Tokens read anew.
    input: u64,
    /// Tokens written.
    output: u64,
    /// Tokens read from the cache.
    cache_read: u64,
    /// Tokens written into the cache.
    cache_write: u64,
    /// All of them.
    total: u64,
    /// How many of these were written for an hour, as far as that is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_1h: Option<u64>,
}

/// One model.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ModelRow<'a> {
    #[serde(flatten)]
    taken: TakenRow,
    /// The model.
    model: &'a str,
}

/// One tool.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ToolRow<'a> {
    /// The name of the tool.
    tool: &'a str,
    /// How often it was called.
    calls: u64,
    /// How many results there are.
    results: u64,
    /// How many results are errors.
    errors: u64,
}

/// Counts: stats. One object for each session (`scope` session) and, for several, one for all together
/// (`scope` total); with --by one for each group (`by` says of what).
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename = "bough.stats/1")]
pub(super) struct SessionSum<'a> {
    #[serde(flatten)]
    sum: SumRow<'a>,
    /// What is counted.
    #[cfg_attr(test, schemars(extend("enum" = ["session"])))]
    scope: &'static str,
    /// The session file; with `by` `file`, the file that was read or changed.
    file: &'a str,
    /// The agent.
    agent: &'static str,
    /// The id of the session, or its file if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    /// The name of the session, or of the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// How many files, those of called agents included.
    files: usize,
    /// How many branches.
    branches: usize,
    /// The largest entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    biggest: Option<Vec<BigRow>>,
}

/// The counts of all sessions together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename = "bough.stats/1")]
pub(super) struct TotalSum<'a> {
    #[serde(flatten)]
    sum: SumRow<'a>,
    /// What is counted.
    #[cfg_attr(test, schemars(extend("enum" = ["total"])))]
    scope: &'static str,
    /// How many sessions.
    sessions: usize,
    /// How many files, those of called agents included.
    files: usize,
    /// How many entries were left out since they are copies of others that are counted.
    copies: u64,
    /// The largest entries.
    biggest: Vec<BigRow>,
}

/// A large entry.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct BigRow {
    /// The file.
    file: String,
    /// The line.
    line: u64,
    /// The kind of the entry, in the words that all formats share.
    kind: Kind,
    /// The bytes of the line.
    bytes: u64,
    /// The id of the entry, or `line:N` where the format has no ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// The counts of one group.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename = "bough.stats/1")]
pub(super) struct GroupSum<'a> {
    #[serde(flatten)]
    sum: SumRow<'a>,
    /// What the groups are of: `branch`, `model`, `tool`, `file`, `type`, `session`, `project`, `agent`,
    /// `day`, `week`, `month`, or two of them with a comma.
    by: String,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "GroupNames"))]
    names: Map<String, Value>,
    /// How often a file was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    reads: Option<u64>,
    /// How often a file was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<u64>,
    #[serde(flatten)]
    branch: Option<BranchSum>,
}

/// Under `--by`, the group: its value under the name of each grouping, in the order asked for.
#[cfg(test)]
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GroupNames {
    /// With --by branch, its tip.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// With --by model, the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The session file; with `by` `file`, the file that was read or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The kind of entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "type")]
    ty: Option<String>,
    /// The id of the session, or its file if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The name of the session, or of the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// With --by day, the day.
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<String>,
    /// The Monday of the week.
    #[serde(skip_serializing_if = "Option::is_none")]
    week: Option<String>,
    /// The month.
    #[serde(skip_serializing_if = "Option::is_none")]
    month: Option<String>,
}

/// Where a branch is, and what its whole path has.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BranchSum {
    /// The session file; with `by` `file`, the file that was read or changed.
    file: String,
    /// With --by branch, its leaf.
    leaf: String,
    /// With --by branch, whether HEAD is on it.
    current: bool,
    /// With --by branch, what its whole path has.
    path: PathSum,
}

/// What the whole path of a branch has.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PathSum {
    /// How many entries.
    entries: u64,
    /// Tokens.
    tokens: u64,
    /// Cost in dollars.
    cost: f64,
}

/// The counts of one model: --by model.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename = "bough.stats/1")]
pub(super) struct ModelGroup<'a> {
    #[serde(flatten)]
    taken: TakenRow,
    /// The name of the schema.
    #[cfg_attr(test, schemars(extend("const" = "bough.stats/1")))]
    schema: &'static str,
    /// What the groups are of: `branch`, `model`, `tool`, `file`, `type`, `session`, `project`, `agent`,
    /// `day`, `week`, `month`, or two of them with a comma.
    by: &'static str,
    /// With --by model, the model.
    model: &'a str,
}

/// The counts of one tool: --by tool.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename = "bough.stats/1")]
pub(super) struct ToolGroup<'a> {
    #[serde(flatten)]
    tool: ToolRow<'a>,
    /// The name of the schema.
    #[cfg_attr(test, schemars(extend("const" = "bough.stats/1")))]
    schema: &'static str,
    /// What the groups are of: `branch`, `model`, `tool`, `file`, `type`, `session`, `project`, `agent`,
    /// `day`, `week`, `month`, or two of them with a comma.
    by: &'static str,
}

impl From<&Taken> for TakenRow {
    fn from(taken: &Taken) -> TakenRow {
        let usage = &taken.usage;
        let tokens = TokensRow {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            total: usage.tokens(),
            cache_write_1h: Some(usage.cache_write_1h).filter(|tokens| *tokens > 0),
        };
        TakenRow {
            replies: taken.replies,
            tokens,
            // If no cost is known, none is reported.
            cost: usage.cost.filter(|cost| *cost > 0.0).map(round),
            unpriced: Some(taken.unpriced).filter(|replies| *replies > 0),
        }
    }
}

impl<'a> ToolRow<'a> {
    fn new(name: &'a str, tool: &Tool) -> ToolRow<'a> {
        ToolRow { tool: name, calls: tool.calls, results: tool.results, errors: tool.errors }
    }
}

impl<'a> From<&'a Sum> for SumRow<'a> {
    fn from(sum: &'a Sum) -> SumRow<'a> {
        let kinds = sum.kinds.iter();
        let models = sum.models.iter();
        SumRow {
            entries: sum.entries().count,
            bytes: sum.entries().bytes,
            kinds: kinds
                .map(|(kind, amount)| (*kind, KindRow { entries: amount.count, bytes: amount.bytes }))
                .collect(),
            taken: TakenRow::from(&sum.taken),
            agents: (sum.agents.replies > 0).then(|| TakenRow::from(&sum.agents)),
            models: models.map(|(model, taken)| ModelRow { taken: taken.into(), model }).collect(),
            tools: sum.tools.iter().map(|(name, tool)| ToolRow::new(name, tool)).collect(),
            cost_source: sum.is_agents_cost.then_some("agent"),
            compactions: sum.of_kind(Kind::Compaction),
            first_time: sum.first.and_then(time::iso),
            last_time: sum.last.and_then(time::iso),
        }
    }
}
