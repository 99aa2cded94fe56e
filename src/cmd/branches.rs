//! `bough branches`: one row for each branch of a session.

use super::shared::options::Global;
use super::shared::render::{View, ink_of};
use super::shared::thread_arg::ThreadView;
use super::shared::time::{self, DateArg, DateStyle};
use super::shared::words;
use super::shared::{rows, session_arg, thread_arg};
use super::{Exit, Failure, complete};
use crate::model::{Count, Ix};
use crate::ops::branches::{self, Branch, BranchRule};
use crate::ops::{filter, ids, revision};
use crate::ui::{Ink, Ui, text};
use clap::builder::PossibleValuesParser;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::cmp::Reverse;

/// List the branches of a session
///
/// A branch is the path that ends in a leaf, i.e. in an entry of the conversation without children.
/// A branch is named by the label of its leaf, or else by the id of its leaf. `entries` counts the
/// whole path as `log` shows it, without bookkeeping; `own` counts only the entries that no other
/// branch has. Branches are listed in the order of their leaves in the file; `*` marks the current
/// branch.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The session; if omitted, the newest of the current folder
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(complete::session_files))]
    file: Option<String>,

    /// Also show the last entry of each branch
    #[arg(short = 'v')]
    more: bool,

    /// List branch points instead
    #[arg(long, conflicts_with_all = ["contains", "porcelain"])]
    points: bool,

    /// Only branches that contain this entry
    #[arg(long, value_name = "REV", add = ArgValueCompleter::new(complete::revisions))]
    contains: Option<String>,

    /// Sort by `age`, `entries`, `own` or `name`; a leading `-` reverses the order
    #[arg(long, value_name = "KEY", allow_hyphen_values = true, add = ArgValueCompleter::new(complete::branch_orders))]
    sort: Option<String>,

    #[command(flatten)]
    date: DateArg,

    /// Include leaves that are only bookkeeping
    #[arg(long)]
    all: bool,

    /// Order of Claude Code entries: `own` (bough's) or `document` (of claude-code-log)
    ///
    /// `document` lists the main line of each session and its branches in the documented order,
    /// each with its line and the entry that it starts from. For a project folder, it lists those
    /// of all sessions.
    #[arg(long, value_name = "ORDER", default_value = "own", hide_default_value = true, value_parser = PossibleValuesParser::new(["own", "document"]), conflicts_with_all = ["points", "contains", "sort", "dag", "porcelain"])]
    order: String,

    /// Use parent links as stored, without linearizing
    #[arg(long)]
    dag: bool,

    /// Print tab-separated fields for scripts: `*` or a space, leaf, entries, own, branch point,
    /// name
    #[arg(long)]
    porcelain: bool,

    /// Print only the ids of the leaves, one per line
    ///
    /// A leaf without an id is printed as `line:N`; without `-z`, so is a leaf whose id contains a
    /// line break.
    #[arg(long)]
    ids: bool,

    /// End each row with a NUL byte instead of a newline; for `--ids`, `--porcelain` and `--json`
    #[arg(short = 'z')]
    nul: bool,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.ids && !args.porcelain {
        ui.for_people();
    }
    if args.order == "document" {
        return lines(args, global, ui);
    }
    let contains = args.contains.as_deref().map(|rev| words::of_option(global, args.file.as_deref(), rev));
    let (file, contains) = match contains.transpose()? {
        Some((session, rev)) => (session, Some(rev)),
        None => (args.file.clone(), None),
    };
    let mut read = ThreadView::unlinearized(session_arg::session(global, file.as_deref(), ui)?);
    let opened = &read.opened;
    let contains = match &contains {
        Some(rev) => Some(revision::resolve_one(&opened.session, &opened.files, rev)?),
        None => None,
    };
    if !args.all && !args.dag {
        read.join()?;
    }
    let opened = &read.opened;
    let session = &opened.session;
    let of = if args.all { BranchRule::Everything } else { BranchRule::Conversation };
    let mut view = View::new(opened);
    let end = if args.nul { '\0' } else { '\n' };
    if args.points {
        return points(&mut view, of, global, end, ui);
    }
    let mut list = branches::list(session, of);
    if let Some(ix) = contains {
        let ix = read.reading.as_ref().map_or(ix, |reading| reading.stand_in(ix));
        let mut below = vec![false; session.entries.len()];
        session.tree.subtree(ix).into_iter().for_each(|ix| below[ix.index()] = true);
        list.retain(|branch| below[branch.leaf.index()]);
    }
    if let Some(key) = &args.sort {
        sort(&mut list, key, &mut view)?;
    }
    if args.ids {
        for branch in &list {
            let id = ids::in_row(session, branch.tip, view.id(branch.tip)?, end);
            let id = ui.look.shown(&id);
            write!(ui.out(), "{id}{end}")?;
        }
    } else if args.porcelain {
        for branch in &list {
            // A tab would start another field.
            let id = |ix: Ix| -> anyhow::Result<String> {
                let id = ids::in_row(session, ix, view.id(ix)?, end);
                Ok(if id.contains('\t') { format!("line:{}", session.entries.line(ix)) } else { id })
            };
            let fork = branch.fork_point.map(id).transpose()?.unwrap_or_default();
            let leaf = id(branch.tip)?;
            let mark = if branch.current { '*' } else { ' ' };
            let name = text::one_line(&name(&mut view, branch.tip)?.0);
            let row = format!("{mark}\t{leaf}\t{}\t{}\t{fork}\t{name}", branch.entries, branch.own);
            let row = ui.look.shown(&row);
            write!(ui.out(), "{row}{end}")?;
        }
    } else if global.json {
        for branch in &list {
            write!(ui.out(), "{}{end}", rows::to_json(&BranchRow::read(&mut view, branch)?))?;
        }
    } else {
        table(args, &mut view, &list, ui)?;
    }
    Ok(Exit::Done)
}

/// Prints the lines of the documented order.
fn lines(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let documented = thread_arg::documented(global, args.file.as_deref(), ui)?;
    let (document, opened) = (&documented.document, &documented.opened);
    let view = View::new(opened);
    let end = if args.nul { '\0' } else { '\n' };
    let id = |node: crate::ops::claude_code_log::Node| -> anyhow::Result<String> {
        let ix = documented.entries[node as usize];
        Ok(ix.map(|ix| view.id(ix)).transpose()?.unwrap_or_default())
    };
    for line in &document.lines {
        let name = document.line_id(line.name);
        if args.ids {
            let name = match line.nodes.first().and_then(|node| documented.entries[*node as usize]) {
                Some(ix) => ids::in_row(&opened.session, ix, name, end),
                None => name,
            };
            let name = ui.look.shown(&name);
            write!(ui.out(), "{name}{end}")?;
            continue;
        }
        let attachment = line.attachment.map(id).transpose()?;
        let parent = line.parent.map(|parent| document.line_id(parent));
        if global.json {
            let first = documented.entries[line.nodes[0] as usize];
            let (parent, attachment) = parent.zip(attachment).unzip();
            let row = LineRow {
                line: name,
                branch: line.branch,
                parent,
                attachment,
                first_time: first.and_then(|ix| time::iso(opened.session.entries.time(ix))),
                entries: line.nodes.iter().map(|node| id(*node)).collect::<Result<_, _>>()?,
            };
            write!(ui.out(), "{}{end}", rows::to_json(&row))?;
            continue;
        }
        let entries = Count("entry", "entries", line.nodes.len());
        let from = attachment.map_or(String::new(), |id| format!(" · at {}", text::one_line(&id)));
        writeln!(ui.out(), "{}  {entries}{from}", text::one_line(&name))?;
    }
    Ok(documented.failures.or(Exit::Done))
}

/// Returns the name of a branch: the label of its tip, or else a short id; and whether it is a
/// label.
fn name(view: &mut View<'_>, tip: Ix) -> anyhow::Result<(String, bool)> {
    Ok(match view.session.labels.label(tip) {
        Some(label) => (text::one_line(label), true),
        None => (view.short_id(tip)?, false),
    })
}

fn sort(list: &mut [Branch], key: &str, view: &mut View<'_>) -> anyhow::Result<()> {
    let (key, reverse) = key.strip_prefix('-').map_or((key, false), |key| (key, true));
    match key {
        "age" => list.sort_by_key(|branch| Reverse(branch.last)),
        "entries" => list.sort_by_key(|branch| Reverse(branch.entries)),
        "own" => list.sort_by_key(|branch| Reverse(branch.own)),
        "name" => {
            let mut named = Vec::new();
            for branch in list.iter() {
                named.push((name(view, branch.tip)?.0, *branch));
            }
            named.sort_by(|one, other| one.0.cmp(&other.0));
            list.iter_mut().zip(named).for_each(|(place, (_, branch))| *place = branch);
        }
        _ => {
            let hint = "use `age`, `entries`, `own` or `name`; a leading `-` reverses the order".into();
            return Err(Failure::Usage { what: format!("can't sort branches by `{key}`"), hint }.into());
        }
    }
    if reverse {
        list.reverse();
    }
    Ok(())
}

/// A branch: branches.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.branch/1")]
pub(super) struct BranchRow {
    /// The last entry on it, bookkeeping included.
    leaf: String,
    /// The last entry of the conversation on it.
    tip: String,
    /// The label of the tip, or else its short id.
    name: String,
    /// Whether HEAD is on its tip.
    current: bool,
    /// How many entries log shows on its path.
    entries: usize,
    /// How many of them no other branch has.
    own: usize,
    /// The last entry that it shares with another branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    fork_point: Option<String>,
    /// When the first entry of its own was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_time: Option<String>,
    /// When the tip was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_time: Option<String>,
    /// The user's last prompt on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
}

impl BranchRow {
    fn read(view: &mut View<'_>, branch: &Branch) -> anyhow::Result<BranchRow> {
        let prompt = match branch.prompt {
            Some(prompt) => {
                let line = view.line(prompt)?;
                Some(view.content(&line).text.chars().take(200).collect())
            }
            None => None,
        };
        Ok(BranchRow {
            leaf: view.id(branch.leaf)?,
            tip: view.id(branch.tip)?,
            name: name(view, branch.tip)?.0,
            current: branch.current,
            entries: branch.entries,
            own: branch.own,
            fork_point: branch.fork_point.map(|fork| view.id(fork)).transpose()?,
            first_time: time::iso(branch.first),
            last_time: time::iso(branch.last),
            prompt,
        })
    }
}

/// A line of the documented reading of Claude Code: log and branches --order document.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.line/1")]
pub(super) struct LineRow {
    /// Its name.
    line: String,
    /// Whether it is a branch, not a trunk.
    branch: bool,
    /// The line that it hangs at.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// The entry that it hangs at.
    #[serde(skip_serializing_if = "Option::is_none")]
    attachment: Option<String>,
    /// When its first entry was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_time: Option<String>,
    /// The ids of its entries.
    entries: Vec<String>,
}

/// A branch point: branches --points.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.point/1")]
pub(super) struct PointRow {
    /// The id of the entry, or `line:N` where the format has no ids.
    id: String,
    /// How many branches part there.
    ways: usize,
    /// The line of the entry.
    line: u64,
}

/// Prints the branches for a person.
fn table(args: &Args, view: &mut View<'_>, list: &[Branch], ui: &mut Ui) -> anyhow::Result<()> {
    if list.is_empty() {
        if args.contains.is_none() {
            ui.hint("no branches; `--all` includes leaves that are only bookkeeping");
        }
        return Ok(());
    }
    let look = ui.look;
    let mut rows = Vec::new();
    for branch in list {
        let (name, label) = name(view, branch.tip)?;
        let fork = branch.fork_point.map(|ix| view.short_id(ix)).transpose()?.unwrap_or_default();
        rows.push((text::fit(&name, look.width / 3), label, fork));
    }
    let names = rows.iter().map(|(name, ..)| text::width(name)).max().unwrap_or(0).max("NAME".len());
    let forks = rows.iter().map(|(.., fork)| text::width(fork)).max().unwrap_or(0).max("FROM".len());
    // A narrow list has no room for the entries that are only on this branch.
    let has_own = look.width >= 50;
    let head = format!(
        "  {}  ENTRIES  {}{}",
        text::pad("NAME", names),
        if has_own { " OWN  " } else { "" },
        text::pad("FROM", forks),
    );
    let date = if args.date.date == DateStyle::Relative { "AGE" } else { "DATE" };
    let last = format!("{date:>ages$}  LAST PROMPT", ages = args.date.date.width());
    // The date and the prompt have a line of their own if little of the prompt would be left.
    let is_split = !text::is_whole() && text::width(&head) + 2 + text::width(&last) > look.width;
    let between = if is_split { "\n    " } else { "  " };
    let used = args.date.date.width() + 2 + if is_split { 4 } else { text::width(&head) + 2 };
    for line in format!("{}{between}{last}", if is_split { head.trim_end() } else { &head }).split('\n') {
        let line = ui.paint(Ink::Quiet, text::fit(line, look.width));
        writeln!(ui.out(), "{line}")?;
    }
    if args.contains.is_none() {
        detached(view, list, ui)?;
    }
    for (branch, (name, label, fork)) in list.iter().zip(rows) {
        let ink = match (branch.current, label) {
            (true, _) => Ink::Path,
            (false, true) => Ink::Label,
            (false, false) => Ink::Id,
        };
        let name = ui.paint(ink, text::pad(&name, names));
        let mark = if branch.current { ui.paint(Ink::Path, "*") } else { " ".into() };
        let fork = ui.paint(Ink::Quiet, text::pad(&fork, forks));
        let age = ui.paint(Ink::Quiet, args.date.date.column(branch.last, view.now));
        let prompt = branch.prompt.map(|ix| view.summary(ix)).transpose()?.unwrap_or_default();
        let prompt = text::fit(&prompt, look.width.saturating_sub(used));
        let (entries, own) = (branch.entries, branch.own);
        let own = if has_own { format!(" {own:>5}") } else { String::new() };
        let row = format!("{mark} {name}  {entries:>7}{own}  {fork}{between}{age}  {prompt}");
        for line in row.split('\n') {
            writeln!(ui.out(), "{}", line.trim_end())?;
        }
        if args.more {
            let kind = view.session.entries.kind(branch.tip);
            let said = view.summary(branch.tip)?;
            let role = ui.paint(ink_of(kind), kind.name());
            let id = ui.paint(Ink::Id, view.short_id(branch.tip)?);
            let room = look.width.saturating_sub(4 + 8 + 2 + kind.name().len() + 2);
            writeln!(ui.out(), "    {id}  {role}  {}", text::fit(&said, room))?;
        }
    }
    Ok(())
}

/// Prints where HEAD is, if it is not the tip of any branch.
fn detached(view: &mut View<'_>, list: &[Branch], ui: &mut Ui) -> anyhow::Result<()> {
    let session = view.session;
    let conversation = |ix: &Ix| filter::conversation(session, *ix);
    let Some(head) = session.head.entry.and_then(|head| session.tree.ancestors(head).find(conversation))
    else {
        return Ok(());
    };
    if list.iter().any(|branch| branch.current) {
        return Ok(());
    }
    let mut below = vec![false; view.session.entries.len()];
    view.session.tree.subtree(head).into_iter().for_each(|ix| below[ix.index()] = true);
    let above = list.iter().filter(|branch| below[branch.leaf.index()]).count();
    let id = view.short_id(head)?;
    let (head, rest) = (format!("* (HEAD is at {id}"), Count("branch", "branches", above));
    let words = format!("{head}, on the path of {rest})");
    let words = if text::width(&words) > ui.look.width { format!("{head})") } else { words };
    let words = ui.paint(Ink::Path, words);
    writeln!(ui.out(), "{words}")?;
    Ok(())
}

/// Prints the branch points.
fn points(
    view: &mut View<'_>,
    of: BranchRule,
    global: &Global,
    end: char,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let points = branches::points(view.session, of);
    for (ix, ways) in points {
        if global.json {
            let id = ids::id(view.session, view.files, ix)?;
            let row = PointRow { id, ways, line: view.session.entries.line(ix) };
            write!(ui.out(), "{}{end}", rows::to_json(&row))?;
            continue;
        }
        let look = ui.look;
        let ways = format!("{:>4} branches  ", ways);
        let row = view.row(ix, &look, look.width.saturating_sub(text::width(&ways)))?;
        writeln!(ui.out(), "{ways}{row}")?;
    }
    Ok(Exit::Done)
}
