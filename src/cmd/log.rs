//! `bough log`: the entries on a path, or all of them, as a list or as a picture.

use super::reading::{self, Manner, Read};
use super::template::{self, Template};
use super::view::{Body, View};
use super::{Exit, Failure, clock, global::Global, open};
use crate::format::{Content, Session};
use crate::model::{Ix, Kind, Source, Time};
use crate::ops::graph::{Graph, Row};
use crate::ops::listing::{self, Mode};
use crate::ops::{Forest, revision};
use crate::store::{self, Opened, Part};
use crate::ui::{Columns, Ink, Look, Ui, paint};
use clap::builder::PossibleValuesParser;
use regex::{Regex, RegexBuilder};
use std::collections::{HashMap, HashSet};
use std::io;
use std::time::Duration;

/// Show the entries on the path to the position, newest first
///
/// With revisions, the entries on the paths to them; with ranges and sets, the entries that these name. Markers of
/// `switch` and bookkeeping (labels, settings, names, usage) are left out unless they are asked for, by `--kind`, `--filter`
/// or `--all`; tool calls never are.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The session, if it looks like a file; then revisions and ranges
    ///
    /// Without revisions, HEAD; with `--graph`, all branches.
    #[arg(value_name = "REV")]
    words: Vec<String>,

    /// Print one line for each entry
    #[arg(long)]
    oneline: bool,

    /// Draw the branches beside the entries, those on the path to HEAD first and marked with `*`
    #[arg(long)]
    graph: bool,

    /// Take every entry of the session, bookkeeping too: last in the file first, none before its children
    #[arg(long)]
    all: bool,

    /// Print the oldest of the chosen entries first
    #[arg(long, conflicts_with = "graph")]
    reverse: bool,

    /// Print no more than N entries; also `-N`
    #[arg(short = 'n', long = "max-count", value_name = "N")]
    count: Option<usize>,

    /// Leave out the first N entries
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    skip: usize,

    /// Only entries since a time: a date, an age as `2h`, `yesterday`
    #[arg(long, value_name = "TIME", alias = "after")]
    since: Option<String>,

    /// Only entries until a time
    #[arg(long, value_name = "TIME", alias = "before")]
    until: Option<String>,

    /// Only entries of these kinds
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',', value_parser = kinds())]
    kinds: Vec<String>,

    /// Only what the tree view of the agent shows in this mode
    #[arg(long, value_name = "MODE", value_parser = PossibleValuesParser::new(Mode::ALL.map(|(name, _)| name)))]
    filter: Option<String>,

    /// Only entries whose text matches a regular expression; small letters match capital ones too
    #[arg(long, value_name = "RE")]
    grep: Option<String>,

    /// Print whole texts, thinking, and tool calls with their arguments
    #[arg(long, conflicts_with_all = ["oneline", "format", "raw"])]
    full: bool,

    /// Print how many bytes and tokens each entry takes
    #[arg(long)]
    stat: bool,

    /// Print each entry by a template, or as `oneline`, `short`, `full` or `raw`
    #[arg(long, value_name = "TEMPLATE", long_help = format!("Print each entry by a template, or as `oneline`, `short`, `full` or `raw`\n\nIn a template: {}", template::HELP))]
    format: Option<String>,

    /// Print the lines as they are stored
    #[arg(long, conflicts_with_all = ["oneline", "format", "graph"])]
    raw: bool,

    /// Follow the stored links alone, not the reading that joins what a client recorded apart
    #[arg(long)]
    dag: bool,

    /// Show what agents inside the session did, in its place
    #[arg(long)]
    agents: bool,

    /// The order of Claude Code's entries: `own` is bough's reading, `document` that of claude-code-log
    ///
    /// bough's own reading drops nothing, and a branch is only what was really taken back. The documented order takes every
    /// line that claude-code-log 1.7.0 does and leaves out what that does; with a project folder, it is that of all
    /// its sessions.
    #[arg(long, value_name = "ORDER", default_value = "own", hide_default_value = true, value_parser = PossibleValuesParser::new(ORDERS), conflicts_with_all = ["graph", "dag"])]
    order: String,

    /// Show what the reading of Claude Code's entries sets aside instead, with the reason
    #[arg(long, conflicts_with_all = ["graph", "dag", "follow"])]
    skipped: bool,

    /// Print the last entries, oldest first, and go on as the session grows
    #[arg(short, long, conflicts_with_all = ["graph", "all", "reverse", "skip"])]
    follow: bool,

    /// End each entry with a NUL byte instead of a new line; for `--format`, `--raw` and `--json`
    #[arg(short = 'z')]
    nul: bool,
}

/// The orders of `--order`.
const ORDERS: [&str; 2] = ["own", "document"];

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(Kind::ALL.map(Kind::word))
}

/// How an entry is printed.
enum Style {
    Oneline,
    Short,
    Medium,
    Full,
    Raw,
    Json,
    Template(Template),
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (named, revisions) = open::split(global, &args.words);
    let keep = Keep::new(args)?;
    if args.order == "document" {
        return documented(args, named, &keep, global, ui);
    }
    if args.skipped {
        let read = reading::read(global, named, Manner { agents: args.agents, ..Manner::default() }, ui)?;
        return skipped(args, &read, &keep, global, ui);
    }
    if reading::folder(global, named).is_some() || args.agents {
        let manner = Manner { dag: args.dag, agents: args.agents };
        return together(args, revisions, reading::read(global, named, manner, ui)?, &keep, global, ui);
    }
    let opened = open_some(args, global, named, revisions, &keep, ui)?;
    if args.follow {
        return follow(args, global, ui, opened, &keep);
    }
    let mut read = Read::of(opened);
    let chosen = Chosen::of(&mut read, revisions, args.dag)?;
    let opened = &read.opened;
    if !has_head(opened, revisions, args, ui) {
        return Ok(Exit::Done);
    }
    ui.page();
    let mut printer = Printer::new(opened, args, global);
    printer.view.marks = read.marks()?;
    if args.graph {
        draw(args, chosen, opened, &keep, &mut printer, ui)?;
    } else {
        list(args, chosen, opened, &keep, &mut printer, ui)?;
    }
    Ok(Exit::Done)
}

/// Whether there is a position, or none is needed; says why if not.
fn has_head(opened: &Opened, revisions: &[String], args: &Args, ui: &mut Ui) -> bool {
    let missing = opened.session.head.entry.is_none() && revisions.is_empty() && !args.all && !args.graph;
    if missing {
        ui.hint(format_args!("there is no HEAD: {}; `--all` shows what is there", opened.session.head.rule));
    }
    !missing
}

/// Prints a session with its agents, or a project: what was read of several files.
fn together(
    args: &Args,
    revisions: &[String],
    mut read: Read,
    keep: &Keep,
    global: &Global,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let is_project = read.is_project();
    let plain = revisions.is_empty() && !args.all && !args.graph;
    let chosen = Chosen::of(&mut read, revisions, args.dag)?;
    let opened = &read.opened;
    if !is_project && !has_head(opened, revisions, args, ui) {
        return Ok(Exit::Done);
    }
    ui.page();
    let mut printer = Printer::new(opened, args, global);
    printer.view.marks = read.marks()?;
    match &read.reading {
        Some(reading) if plain && is_project => {
            print(args, opened, keep, &mut printer, ui, reading.order().into_iter().rev())?;
        }
        Some(_) if plain => {
            let path = read.path_with_agents(keep.end_of_path(opened));
            print(args, opened, keep, &mut printer, ui, path.into_iter())?;
        }
        _ if args.graph => draw(args, chosen, opened, keep, &mut printer, ui)?,
        _ if plain && is_project => {
            print(args, opened, keep, &mut printer, ui, opened.session.entries.all().rev())?;
        }
        _ => list(args, chosen, opened, keep, &mut printer, ui)?,
    }
    Ok(Exit::Done)
}

/// Prints the documented order, or what it leaves out.
fn documented(
    args: &Args,
    named: Option<&str>,
    keep: &Keep,
    global: &Global,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let documented = reading::documented(global, named, ui)?;
    let (document, opened) = (&documented.document, &documented.opened);
    let mut printer = Printer::new(opened, args, global);
    let nodes = if args.skipped { document.not_emitted() } else { document.order.clone() };
    let mut listed = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Some(ix) = documented.entries[node as usize] else { continue };
        listed.push(ix);
        if args.skipped {
            let why = document.set_aside[node as usize];
            let why = why.map_or("hangs at a record that is left out", |rung| rung.word());
            printer.reasons.insert(ix, Reason { rung: None, why, by: None });
        }
    }
    ui.page();
    // All lines take part here, whatever they are.
    let keep = Keep { all: true, ..keep.clone() };
    print(args, opened, &keep, &mut printer, ui, listed.into_iter().rev())?;
    Ok(Exit::Done)
}

/// Prints what bough's own reading sets aside.
fn skipped(args: &Args, read: &Read, keep: &Keep, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let opened = &read.opened;
    let mut printer = Printer::new(opened, args, global);
    for aside in read.aside() {
        let by = Some(printer.view.id(aside.by)?);
        let reason = Reason { rung: Some(aside.why.rung()), why: aside.why.word(), by };
        printer.reasons.insert(aside.ix, reason);
    }
    ui.page();
    let keep = Keep { all: true, ..keep.clone() };
    print(args, opened, &keep, &mut printer, ui, read.aside().iter().rev().map(|aside| aside.ix))?;
    if read.aside().is_empty() {
        ui.hint("nothing was set aside");
    }
    Ok(Exit::Done)
}

fn style(args: &Args, global: &Global) -> Style {
    match args.format.as_deref() {
        _ if global.json => Style::Json,
        Some("oneline") => Style::Oneline,
        Some("short") => Style::Short,
        Some("full") => Style::Full,
        Some("raw") => Style::Raw,
        Some(template) => {
            Style::Template(Template::new(template.strip_prefix("format:").unwrap_or(template)))
        }
        None if args.raw => Style::Raw,
        None if args.full => Style::Full,
        None if args.oneline || args.graph => Style::Oneline,
        None => Style::Medium,
    }
}

/// Which entries are kept of those that were chosen by revisions.
#[derive(Clone)]
struct Keep {
    kinds: Vec<Kind>,
    mode: Option<Mode>,
    all: bool,
    agents: bool,
    since: Option<Time>,
    until: Option<Time>,
    grep: Option<Regex>,
}

impl Keep {
    fn new(args: &Args) -> Result<Keep, Failure> {
        let time =
            |text: &Option<String>| text.as_deref().map(|text| clock::parse(text, clock::now())).transpose();
        Ok(Keep {
            kinds: args.kinds.iter().filter_map(|kind| Kind::named(kind)).collect(),
            mode: args.filter.as_deref().and_then(|name| {
                Mode::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, mode)| mode)
            }),
            all: args.all,
            agents: args.agents,
            since: time(&args.since)?,
            until: time(&args.until)?,
            grep: args.grep.as_deref().map(pattern).transpose()?,
        })
    }

    /// Whether an entry is of what was asked for, as far as its kind goes.
    fn asks_for(&self, session: &Session, ix: Ix) -> bool {
        let of_kind = || self.kinds.contains(&session.entries.kind(ix));
        match (self.mode, self.kinds.is_empty()) {
            (Some(mode), true) => mode.shows(session, ix),
            (Some(mode), false) => mode.shows(session, ix) && of_kind(),
            (None, false) => of_kind(),
            (None, true) => {
                self.all || listing::conversation(session, ix) || self.agents && listing::talk(session, ix)
            }
        }
    }

    /// Whether an entry is kept. Reads its line only where its text decides.
    fn takes(&self, opened: &Opened, ix: Ix, line: &mut Vec<u8>) -> io::Result<bool> {
        let (session, entries) = (&opened.session, &opened.session.entries);
        // An entry without a time is at no time.
        let time = entries.time(ix);
        let in_time = (self.since.is_none() && self.until.is_none())
            || time.is_some()
                && self.since.is_none_or(|since| time >= since)
                && self.until.is_none_or(|until| time <= until);
        if !self.asks_for(session, ix) || !in_time {
            return Ok(false);
        }
        let Some(grep) = &self.grep else { return Ok(true) };
        opened.files.read(session.span(ix), line)?;
        let content = Content::of(session.format, line);
        Ok(grep.is_match(&content.text)
            || content
                .calls()
                .any(|(_, name, arguments)| grep.is_match(&crate::format::call_words(name, arguments))))
    }

    /// The entry whose path is listed where no revision says so: the leaf where the agent's own filters are
    /// asked for, since these may show what stands between HEAD and the leaf.
    fn end_of_path(&self, opened: &Opened) -> Option<Ix> {
        let head = &opened.session.head;
        if self.mode.is_some() { head.leaf.or(head.entry) } else { head.entry }
    }
}

/// Compiles a pattern; one without capital letters matches both.
pub(super) fn pattern(text: &str) -> Result<Regex, Failure> {
    let small = !text.chars().any(char::is_uppercase);
    RegexBuilder::new(text).case_insensitive(small).multi_line(true).build().map_err(|error| Failure::Usage {
        what: format!("`{text}` is no regular expression"),
        hint: error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
    })
}

/// Opens the session: no more of it than is wanted where only the end of the path to HEAD is.
fn open_some(
    args: &Args,
    global: &Global,
    named: Option<&str>,
    revisions: &[String],
    keep: &Keep,
    ui: &mut Ui,
) -> anyhow::Result<Opened> {
    // Numbers of lines are not known from the end, and what a text or a time decides may be anywhere.
    let whole = args.graph || args.all || args.follow || global.json || !revisions.is_empty();
    let anywhere = keep.grep.is_some() || keep.since.is_some() || keep.until.is_some();
    let Some(count) = args.count.filter(|_| !whole && !anywhere) else {
        return open::session(global, named, ui);
    };
    // The call that a result answers may stand a little above what is listed.
    let count = count.saturating_add(args.skip).saturating_add(crate::ops::calls::FAR);
    let enough = |session: &Session| session.knows_path(count, |ix| keep.asks_for(session, ix));
    let part = Part { ids: &[], labels: true, enough: &enough };
    let path = open::path(global, named, ui)?;
    let opened = store::open_part(&path, global.options(), &part)?;
    open::warn(&opened, ui);
    Ok(opened)
}

/// What revisions choose.
enum Chosen {
    /// There are none.
    Nothing,
    /// The entries on paths, and those of sets.
    Entries(HashSet<Ix>),
}

impl Chosen {
    /// Resolves revisions: a single one stands for its path, a set for itself.
    ///
    /// Claude Code's links are joined on the way to what was talked, unless the stored ones are wanted. A single
    /// revision is looked for along the stored links in any case, as all commands do.
    fn of(read: &mut Read, revisions: &[String], dag: bool) -> anyhow::Result<Chosen> {
        let (mut singles, mut sets) = (Vec::new(), Vec::new());
        for revision in revisions {
            let opened = &read.opened;
            if revision::is_set(&opened.session, &opened.files, revision)? {
                sets.push(revision.clone());
            } else {
                singles.push(revision::one(&opened.session, &opened.files, revision)?);
            }
        }
        if !dag {
            read.join()?;
        }
        let opened = &read.opened;
        let mut entries = HashSet::new();
        for set in sets {
            entries.extend(revision::set(&opened.session, &opened.files, &[set])?);
        }
        for ix in singles {
            let end = read.reading.as_ref().map_or(ix, |reading| reading.stand_in(ix));
            entries.extend(opened.session.tree.ancestors(end));
        }
        Ok(if revisions.is_empty() { Chosen::Nothing } else { Chosen::Entries(entries) })
    }
}

/// Prints the chosen entries, one after the other.
fn list(
    args: &Args,
    chosen: Chosen,
    opened: &Opened,
    keep: &Keep,
    printer: &mut Printer<'_>,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let (session, tree) = (&opened.session, &opened.session.tree);
    let count = session.entries.len();
    match chosen {
        Chosen::Nothing if args.all => {
            let forest = Forest::new(tree, count, |_| true);
            // Copies that another entry stands for have no children, and no place in the tree.
            let mut order: Vec<Ix> = forest.children_first().chain(tree.shadowed()).collect();
            if forest.in_file_order() {
                order.sort_unstable_by_key(|ix| std::cmp::Reverse(*ix));
            }
            print(args, opened, keep, printer, ui, order.into_iter())
        }
        Chosen::Nothing => {
            let path = keep.end_of_path(opened).into_iter().flat_map(|end| tree.ancestors(end));
            print(args, opened, keep, printer, ui, path)
        }
        Chosen::Entries(chosen) => {
            let forest = Forest::new(tree, count, |ix| chosen.contains(&ix));
            print(args, opened, keep, printer, ui, forest.children_first())
        }
    }
}

/// Prints of some entries those that are kept, within the limits.
fn print(
    args: &Args,
    opened: &Opened,
    keep: &Keep,
    printer: &mut Printer<'_>,
    ui: &mut Ui,
    entries: impl Iterator<Item = Ix>,
) -> anyhow::Result<()> {
    let (mut skip, mut left) = (args.skip, args.count.unwrap_or(usize::MAX));
    let (mut line, mut later) = (Vec::new(), Vec::new());
    for ix in entries {
        if left == 0 {
            break;
        }
        if !keep.takes(opened, ix, &mut line)? {
            continue;
        }
        if skip > 0 {
            skip -= 1;
            continue;
        }
        left -= 1;
        if args.reverse || args.follow {
            later.push(ix);
        } else {
            printer.entry(ix, ui)?;
        }
    }
    for ix in later.into_iter().rev() {
        printer.entry(ix, ui)?;
    }
    Ok(())
}

/// Draws the branches.
fn draw(
    args: &Args,
    chosen: Chosen,
    opened: &Opened,
    keep: &Keep,
    printer: &mut Printer<'_>,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let session = &opened.session;
    let (mut wanted, mut line) = (vec![false; session.entries.len()], Vec::new());
    for ix in session.entries.all() {
        let chosen = match &chosen {
            Chosen::Nothing => true,
            Chosen::Entries(chosen) => chosen.contains(&ix),
        };
        wanted[ix.at()] = chosen && keep.takes(opened, ix, &mut line)?;
    }
    let forest = Forest::new(&session.tree, session.entries.len(), |ix| wanted[ix.at()]);
    let graph = Graph::new(&forest, keep.end_of_path(opened));
    let (mut skip, mut left) = (args.skip, args.count.unwrap_or(usize::MAX));
    let columns = Columns::new(&ui.look);
    for row in graph.rows() {
        match row {
            Row::Entry { .. } if skip > 0 => skip -= 1,
            Row::Entry { .. } if left == 0 => break,
            Row::Entry { ix, column, on_path } => {
                left -= 1;
                let root = forest.parent(ix).is_none();
                printer.drawn(ix, &columns, &Place { column, on_path, root }, ui)?;
            }
            // What joins or parts nothing that was printed is left out.
            _ if printer.first || left == 0 || matches!(printer.style, Style::Json | Style::Raw) => {}
            Row::Join { column } => writeln!(ui.out(), "{}", columns.join(column))?,
            Row::Gap => writeln!(ui.out())?,
        }
    }
    Ok(())
}

impl Reason {
    fn words(&self) -> String {
        match &self.by {
            Some(by) => format!("set aside: {} of {}", self.why, reading::short(by)),
            None => format!("left out: {}", self.why),
        }
    }

    fn json(&self) -> serde_json::Value {
        let mut object = serde_json::json!({ "why": self.why });
        if let Some(rung) = self.rung {
            object["rung"] = rung.into();
        }
        if let Some(by) = &self.by {
            object["by"] = by.as_str().into();
        }
        object
    }
}

/// Where an entry stands in the picture.
struct Place {
    column: usize,
    on_path: bool,
    root: bool,
}

/// Prints entries in one style.
struct Printer<'s> {
    view: View<'s>,
    style: Style,
    stat: bool,
    nul: bool,
    first: bool,
    /// Why entries are left out, where it is these that are printed.
    reasons: HashMap<Ix, Reason>,
}

/// Why an entry is left out.
struct Reason {
    /// The rung of the documented ladder that it is akin to.
    rung: Option<u8>,
    why: &'static str,
    /// The entry that stands for it.
    by: Option<String>,
}

impl<'s> Printer<'s> {
    fn new(opened: &'s Opened, args: &Args, global: &Global) -> Printer<'s> {
        let style = style(args, global);
        let mut view = View::new(opened);
        if !args.all {
            view.mark(|ix| listing::conversation(&opened.session, ix));
        }
        Printer { view, style, stat: args.stat, nul: args.nul, first: true, reasons: HashMap::new() }
    }

    /// Prints an entry of a list.
    fn entry(&mut self, ix: Ix, ui: &mut Ui) -> anyhow::Result<()> {
        let look = ui.look;
        let text = match self.reasons.get(&ix) {
            Some(reason) => self.with_reason(ix, reason.words(), reason.json(), &look)?,
            None => self.text(ix, &look, look.width)?,
        };
        if !self.first && matches!(self.style, Style::Medium | Style::Full | Style::Short) {
            writeln!(ui.out())?;
        }
        self.first = false;
        ui.out().write_all(&text)?;
        ui.out().write_all(if self.nul { b"\0" } else { b"\n" })?;
        Ok(())
    }

    /// Prints an entry of a picture.
    fn drawn(&mut self, ix: Ix, columns: &Columns, place: &Place, ui: &mut Ui) -> anyhow::Result<()> {
        if matches!(self.style, Style::Json | Style::Raw) {
            return self.entry(ix, ui);
        }
        let look = ui.look;
        let room = look.width.saturating_sub(columns.width(place.column));
        let text = self.text(ix, &look, room)?;
        let passing = columns.passing(place.column);
        let position = self.view.is_marked(ix);
        let sign = columns.sign(place.column, place.on_path, position);
        let below = if place.root { " ".to_owned() } else { columns.bar(place.column) };
        for (at, row) in String::from_utf8_lossy(&text).split('\n').enumerate() {
            let line = format!("{passing}{} {row}", if at == 0 { &sign } else { &below });
            writeln!(ui.out(), "{}", line.trim_end())?;
        }
        self.first = false;
        Ok(())
    }

    /// An entry with the reason why it is left out.
    fn with_reason(
        &mut self,
        ix: Ix,
        words: String,
        json: serde_json::Value,
        look: &Look,
    ) -> anyhow::Result<Vec<u8>> {
        if matches!(self.style, Style::Json) {
            let mut object = self.view.json(ix, false)?;
            object["skipped"] = json;
            return Ok(object.to_string().into_bytes());
        }
        self.view.marks.entry(ix).or_insert_with(|| vec![words]);
        self.text(ix, look, look.width)
    }

    /// An entry, as it is printed.
    fn text(&mut self, ix: Ix, look: &Look, width: usize) -> anyhow::Result<Vec<u8>> {
        let view = &mut self.view;
        let body = match &self.style {
            Style::Raw => return Ok(view.line(ix)?),
            Style::Json => return Ok(view.json(ix, false)?.to_string().into_bytes()),
            Style::Template(template) => return Ok(template.fill(view, ix)?.into_bytes()),
            Style::Oneline => {
                let line = view.line(ix)?;
                let content = view.content(&line);
                let mut row = view.row_of(ix, &content, look, width)?;
                if self.stat {
                    row += &format!("\n    {}", paint(look, Ink::Quiet, view.stat(ix, &content)));
                }
                return Ok(row.into_bytes());
            }
            Style::Short => None,
            Style::Medium => Some(Body::Some),
            Style::Full => Some(Body::Full),
        };
        let line = view.line(ix)?;
        let content = view.content(&line);
        let mut out = view.heading(ix, &content, look)?;
        match body {
            None => {
                out += &format!(
                    "\n    {}",
                    crate::ui::text::fit(&view.summary_of(ix, &content), width.saturating_sub(4))
                )
            }
            Some(body) => {
                for line in view.body(ix, &content, width.saturating_sub(4), body) {
                    out.push_str("\n    ");
                    out += &line.painted(look);
                }
            }
        }
        if self.stat {
            out += &format!("\n    {}", paint(look, Ink::Quiet, view.stat(ix, &content)));
        }
        Ok(out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").into_bytes())
    }
}

/// How often a growing session is looked at.
const EVERY: Duration = Duration::from_millis(500);

/// How many entries are printed first where the user does not say.
const FIRST: usize = 10;

/// Prints the end of the path to HEAD, and then what comes behind it.
fn follow(
    args: &Args,
    global: &Global,
    ui: &mut Ui,
    mut opened: Opened,
    keep: &Keep,
) -> anyhow::Result<Exit> {
    let path = opened.files.path(0).to_owned();
    if path == std::path::Path::new("-") {
        let hint = "name a file".to_owned();
        return Err(Failure::Usage { what: "standard input can't be followed".into(), hint }.into());
    }
    let mut seen = None;
    loop {
        let entries = &opened.session.entries;
        let new: Vec<Ix> = match seen {
            None => {
                let path =
                    keep.end_of_path(&opened).into_iter().flat_map(|end| opened.session.tree.ancestors(end));
                let mut last = some_of(&opened, keep, path, args.count.unwrap_or(FIRST))?;
                last.reverse();
                last
            }
            Some(seen) => some_of(&opened, keep, entries.all().skip(seen), usize::MAX)?,
        };
        let mut printer = Printer::new(&opened, args, global);
        printer.first = seen.is_none();
        for ix in new {
            printer.entry(ix, ui)?;
        }
        ui.out().flush()?;
        seen = Some(entries.len());
        let bytes = opened.session.files[0].bytes;
        while std::fs::metadata(&path)?.len() == bytes {
            std::thread::sleep(EVERY);
        }
        opened = crate::store::open(&path, global.options())?;
    }
}

/// Those of some entries that are kept, the first `most` of them.
fn some_of(
    opened: &Opened,
    keep: &Keep,
    entries: impl Iterator<Item = Ix>,
    most: usize,
) -> io::Result<Vec<Ix>> {
    let (mut out, mut line) = (Vec::new(), Vec::new());
    for ix in entries {
        if out.len() == most {
            break;
        }
        if keep.takes(opened, ix, &mut line)? {
            out.push(ix);
        }
    }
    Ok(out)
}
