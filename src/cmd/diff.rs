//! `bough diff`: how two branches differ.

mod sides;
mod texts;

use super::shared::options::Global;
use super::shared::render::ink_of;
use super::shared::rows;
use super::{Exit, complete};
use crate::context::Context;
use crate::format::Session;
use crate::model::{Count, Ix, Kind, Tree, grouped};
use crate::ops::Snapshot;
use crate::ops::diff::{self, Item, Step};
use crate::ops::ids;
use crate::ui::{Ink, Ui, text};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use sides::Sides;
use std::collections::BTreeMap;
use std::io;
use texts::{WIDE, both, changed, whole};

/// Show how two branches differ
///
/// Compares the paths to A and B from their common ancestor on. An entry that only A has is marked
/// `-`, one that only B has `+`, and one that differs `~`. Entries are matched by id, then by
/// contents, then by role and place in the turn; a copy counts as equal. Compares text, tool calls
/// (name and arguments) and tool results.
///
/// A single revision is compared with HEAD. With `--from` and `--to`, entries of two sessions are
/// compared.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough diff [OPTIONS] [SESSION] A [B]")]
pub struct Args {
    /// The session, if the first argument names one; then A and B, or `A...B`
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::first_words))]
    words: Vec<String>,

    /// The session that contains A
    #[arg(long, value_name = "SESSION", requires = "to", add = ArgValueCompleter::new(complete::sessions))]
    from: Option<String>,

    /// The session that contains B
    #[arg(long, value_name = "SESSION", add = ArgValueCompleter::new(complete::sessions))]
    to: Option<String>,

    /// Compare the messages that the model would be sent
    #[arg(long, conflicts_with = "stat")]
    context: bool,

    /// Also compare settings, labels, markers and the model's thinking
    #[arg(long)]
    all: bool,

    /// Print the number of entries, tokens and tool calls on each side
    #[arg(long)]
    stat: bool,

    /// Print only `-`, `+` or `~` and the ids of the entries that differ, separated by tabs
    #[arg(long, conflicts_with = "stat")]
    name_only: bool,

    /// End each row with a NUL byte instead of a newline; for `--name-only` and `--json`
    #[arg(short = 'z')]
    nul: bool,

    /// Print both sides side by side if the terminal is wide enough
    #[arg(long, conflicts_with_all = ["stat", "name_only"])]
    side_by_side: bool,

    /// Exit with 1 if there are differences
    #[arg(long)]
    exit_code: bool,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.name_only {
        ui.for_people();
    }
    let sides = Sides::open(args, global, ui)?;
    let compared = Compared::new(&sides, args)?;
    let differs = compared.steps.iter().any(|step| step.differs());
    let exit = if differs && args.exit_code { Exit::No } else { Exit::Done };
    if !differs {
        return Ok(exit);
    }
    if args.nul && (args.name_only || ui.look.json) {
        ui.end_rows_with_nul();
    }
    ui.page();
    let mut print = Printer {
        a: Half::new(sides.a(), sides.tip_a, &compared.a, compared.context_a.as_ref(), args.all),
        b: Half::new(sides.b(), sides.tip_b, &compared.b, compared.context_b.as_ref(), args.all),
        compared: &compared,
        two: sides.other.is_some(),
    };
    if args.stat {
        print.stat(&sides, ui)?;
    } else if ui.look.json {
        print.json(ui)?;
    } else if args.name_only {
        print.names(ui)?;
    } else {
        print.heading(ui)?;
        let wide = ui.look.width >= WIDE;
        let wide = wide && !text::is_whole();
        if args.side_by_side && text::is_whole() {
            ui.hint("side-by-side output needs a terminal, or a width in `COLUMNS`");
        } else if args.side_by_side && !wide {
            let width = ui.look.width;
            ui.hint(format_args!("the terminal has {width} columns; side-by-side output needs {WIDE}"));
        }
        print.steps(args.side_by_side && wide, ui)?;
    }
    Ok(exit)
}

/// Both sides, aligned.
struct Compared {
    ancestor: Option<Ix>,
    a: Vec<Item>,
    b: Vec<Item>,
    context_a: Option<Context>,
    context_b: Option<Context>,
    steps: Vec<Step>,
}

impl Compared {
    fn new(sides: &Sides, args: &Args) -> anyhow::Result<Compared> {
        let (a, b) = (sides.a(), sides.b());
        if args.context {
            let context_a = Context::build(a.session, a.source, Some(sides.tip_a))?;
            let context_b = Context::build(b.session, b.source, Some(sides.tip_b))?;
            let (items_a, items_b) = (diff::sent_items(a, &context_a)?, diff::sent_items(b, &context_b)?);
            let steps = diff::align(&items_a, &items_b);
            return Ok(Compared {
                ancestor: None,
                a: items_a,
                b: items_b,
                context_a: Some(context_a),
                context_b: Some(context_b),
                steps,
            });
        }
        let path = |session: &Session, tip: Ix| session.tree.path(session.end_at(tip));
        let (path_a, path_b) = (path(a.session, sides.tip_a), path(b.session, sides.tip_b));
        let shared = match sides.other {
            Some(_) => 0,
            None => Tree::shared(&path_a, &path_b),
        };
        let [items_a, items_b] = diff::items([(a, &path_a[shared..]), (b, &path_b[shared..])], args.all)?;
        let steps = diff::align(&items_a, &items_b);
        let ancestor = shared.checked_sub(1).map(|at| path_a[at]);
        Ok(Compared { ancestor, a: items_a, b: items_b, context_a: None, context_b: None, steps })
    }
}

/// One side, as it is shown.
struct Half<'s> {
    side: Snapshot<'s>,
    tip: Ix,
    items: &'s [Item],
    context: Option<&'s Context>,
    all: bool,
    short: ids::ShortIds,
    line: Vec<u8>,
}

impl<'s> Half<'s> {
    fn new(
        side: Snapshot<'s>,
        tip: Ix,
        items: &'s [Item],
        context: Option<&'s Context>,
        all: bool,
    ) -> Half<'s> {
        Half { side, tip, items, context, all, short: ids::ShortIds::default(), line: Vec::new() }
    }

    /// Returns the entry of an item, or `None` for a message that the agent invents.
    fn entry(&self, at: usize) -> Option<Ix> {
        let place = self.items[at].ix;
        match self.context {
            Some(context) => context.messages[place.index()].entry,
            None => Some(place),
        }
    }

    fn kind(&self, at: usize) -> Kind {
        match self.context {
            Some(_) => self.items[at].sort.0,
            None => self.side.session.entries.kind(self.items[at].ix),
        }
    }

    /// Returns the name of an item's kind.
    fn kind_word(&self, at: usize) -> String {
        match self.context {
            Some(context) => text::one_line(&context.messages[self.items[at].ix.index()].role),
            None => self.kind(at).name().into(),
        }
    }

    fn short(&self, ix: Ix) -> io::Result<String> {
        Ok(text::one_line(&self.short.short_id(self.side.session, self.side.source, ix)?))
    }

    fn short_at(&self, at: usize) -> io::Result<String> {
        self.entry(at).map_or(Ok("(synthesized)".into()), |ix| self.short(ix))
    }

    fn name_at(&self, at: usize) -> io::Result<String> {
        self.entry(at).map_or(Ok("-".into()), |ix| self.side.name(ix))
    }

    /// Returns the content of an item.
    fn says(&mut self, at: usize) -> io::Result<String> {
        let Snapshot { session, source } = self.side;
        let ix = self.items[at].ix;
        if let Some(context) = self.context {
            let said = context.messages[ix.index()].read(session, source, &mut self.line)?;
            return Ok(diff::said_of(&said.blocks, &said.text, false));
        }
        source.read(session.span(ix), &mut self.line)?;
        Ok(diff::text_of(session.format, &self.line, self.all))
    }

    fn json_row(&mut self, at: usize) -> io::Result<ItemRow<'s>> {
        let message = self.context.map(|context| &context.messages[self.items[at].ix.index()]);
        let entry = self.entry(at);
        Ok(ItemRow {
            kind: message.is_none().then(|| self.kind(at)),
            role: message.map(|message| &*message.role),
            origin: message.map(|message| message.origin.name()),
            id: entry.map(|ix| self.side.id(ix)).transpose()?.filter(|id| !id.is_empty()),
            line: entry.map(|ix| self.side.session.entries.line(ix)),
            text: self.says(at)?,
        })
    }
}

/// A difference between two branches: diff; with --stat, how much each side has.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.diff/1")]
pub(super) struct DiffRow<'a> {
    /// What differs.
    #[cfg_attr(test, schemars(extend("enum" = ["changed", "only-a", "only-b"])))]
    op: &'static str,
    /// The entry or message of A; with --stat, what A has.
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<ItemRow<'a>>,
    /// The same of B.
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<ItemRow<'a>>,
}

/// An entry or a message of one side.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ItemRow<'a> {
    /// The kind of the entry, in the words that all formats share.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    /// With --context, the role of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    /// With --context, where the message comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'static str>,
    /// The id of the entry, or `line:N` where the format has no ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The line of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// Its text.
    text: String,
}

/// How much each side has: diff --stat.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.diff/1")]
pub(super) struct DiffStatRow<'a> {
    /// What differs.
    #[cfg_attr(test, schemars(extend("enum" = ["stat"])))]
    op: &'static str,
    /// With --stat, how many entries are the same.
    same: usize,
    /// With --stat, how many are changed.
    changed: usize,
    /// With --stat, how many only A has.
    only_a: usize,
    /// With --stat, how many only B has.
    only_b: usize,
    /// The entry or message of A; with --stat, what A has.
    a: SideRow<'a>,
    /// The same of B.
    b: SideRow<'a>,
}

/// What one side has.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SideRow<'a> {
    /// With --stat, how many entries the side has of its own.
    entries: usize,
    /// With --stat, entries by kind.
    kinds: &'a BTreeMap<&'static str, usize>,
    /// With --stat, calls by tool.
    tools: &'a BTreeMap<String, usize>,
    /// With --stat, tokens read anew.
    input: u64,
    /// With --stat, tokens written.
    output: u64,
    /// With --stat, tokens read from the cache.
    cache_read: u64,
    /// With --stat, tokens written into the cache.
    cache_write: u64,
    /// With --stat, cost in dollars.
    cost: f64,
}

impl<'a> From<&'a diff::Stat> for SideRow<'a> {
    fn from(stat: &'a diff::Stat) -> SideRow<'a> {
        let usage = &stat.usage;
        SideRow {
            entries: stat.entries,
            kinds: &stat.kinds,
            tools: &stat.tools,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cost: usage.cost.unwrap_or(0.0),
        }
    }
}

struct Printer<'c> {
    a: Half<'c>,
    b: Half<'c>,
    compared: &'c Compared,
    /// Whether the sides are two sessions.
    two: bool,
}

impl Printer<'_> {
    fn names(&mut self, ui: &mut Ui) -> anyhow::Result<()> {
        for step in &self.compared.steps {
            let row = match *step {
                Step::Same(..) => continue,
                Step::Changed(a, b) => format!("~\t{}\t{}", self.a.name_at(a)?, self.b.name_at(b)?),
                Step::OnlyA(a) => format!("-\t{}", self.a.name_at(a)?),
                Step::OnlyB(b) => format!("+\t{}", self.b.name_at(b)?),
            };
            let row = ui.look.shown(&row);
            writeln!(ui.out(), "{row}")?;
        }
        Ok(())
    }

    fn json(&mut self, ui: &mut Ui) -> anyhow::Result<()> {
        for step in &self.compared.steps {
            let (op, a, b) = match *step {
                Step::Same(..) => continue,
                Step::Changed(a, b) => ("changed", Some(a), Some(b)),
                Step::OnlyA(a) => ("only-a", Some(a), None),
                Step::OnlyB(b) => ("only-b", None, Some(b)),
            };
            let row = DiffRow {
                op,
                a: a.map(|a| self.a.json_row(a)).transpose()?,
                b: b.map(|b| self.b.json_row(b)).transpose()?,
            };
            rows::print(&row, ui)?;
        }
        Ok(())
    }

    /// Prints what is compared.
    fn heading(&mut self, ui: &mut Ui) -> anyhow::Result<()> {
        let (a, b) = (self.a.short(self.a.tip)?, self.b.short(self.b.tip)?);
        // Of two sessions, each entry is named so that it can be typed.
        let at = |half: &Half<'_>| match half.side.session.id() {
            Some(id) if self.two => {
                format!("@{}", text::one_line(crate::cmd::shared::thread_arg::short(&id)))
            }
            _ => String::new(),
        };
        let mut words = format!("diff {a}{} {b}{}", at(&self.a), at(&self.b));
        if let Some(ancestor) = self.compared.ancestor {
            words.push_str(&format!(" · from {} on", self.a.short(ancestor)?));
        }
        for line in text::wrap_facts(&words, ui.look.width) {
            let line = ui.paint(Ink::Strong, line);
            writeln!(ui.out(), "{line}")?;
        }
        Ok(())
    }

    fn steps(&mut self, beside: bool, ui: &mut Ui) -> anyhow::Result<()> {
        let mut same = 0;
        for step in &self.compared.steps {
            if let Step::Same(..) = step {
                same += 1;
                continue;
            }
            equal(std::mem::take(&mut same), ui)?;
            match *step {
                Step::Same(..) => {}
                Step::Changed(a, b) => {
                    let head = format!("{} → {}", self.a.short_at(a)?, self.b.short_at(b)?);
                    self.head("~", &self.a.kind_word(a), self.a.kind(a), &head, ui)?;
                    let (old, new) = (self.a.says(a)?, self.b.says(b)?);
                    if beside { both(&old, &new, ui)? } else { changed(&old, &new, ui)? }
                }
                Step::OnlyA(a) => {
                    self.head("-", &self.a.kind_word(a), self.a.kind(a), &self.a.short_at(a)?, ui)?;
                    let said = self.a.says(a)?;
                    if beside { both(&said, "", ui)? } else { whole('-', &said, ui)? }
                }
                Step::OnlyB(b) => {
                    self.head("+", &self.b.kind_word(b), self.b.kind(b), &self.b.short_at(b)?, ui)?;
                    let said = self.b.says(b)?;
                    if beside { both("", &said, ui)? } else { whole('+', &said, ui)? }
                }
            }
        }
        equal(same, ui)
    }

    fn head(&self, sign: &str, word: &str, kind: Kind, names: &str, ui: &mut Ui) -> io::Result<()> {
        let head = format!("{} {} {}", ink(sign, ui), ui.paint(ink_of(kind), word), ui.paint(Ink::Id, names));
        writeln!(ui.out(), "\n{head}")
    }

    fn stat(&mut self, sides: &Sides, ui: &mut Ui) -> anyhow::Result<()> {
        let (a, b) = (diff::stat(sides.a(), &self.compared.a)?, diff::stat(sides.b(), &self.compared.b)?);
        let count =
            |wanted: fn(&Step) -> bool| self.compared.steps.iter().filter(|step| wanted(step)).count();
        let (same, changed, only_a, only_b) = (
            count(|step| matches!(step, Step::Same(..))),
            count(|step| matches!(step, Step::Changed(..))),
            count(|step| matches!(step, Step::OnlyA(_))),
            count(|step| matches!(step, Step::OnlyB(_))),
        );
        if ui.look.json {
            let (a, b) = (SideRow::from(&a), SideRow::from(&b));
            rows::print(&DiffStatRow { op: "stat", same, changed, only_a, only_b, a, b }, ui)?;
            return Ok(());
        }
        self.heading(ui)?;
        let rows = stat_rows(&a, &b);
        let width = |column: fn(&(String, String, String)) -> &String| {
            rows.iter().map(column).map(|cell| text::width(cell)).max()
        };
        let first = width(|row| &row.0).unwrap_or(0);
        let second = width(|row| &row.1).unwrap_or(0).max(6);
        let third = width(|row| &row.2).unwrap_or(0).max(6);
        for (name, one, two) in &rows {
            writeln!(ui.out(), "{}  {one:>second$}  {two:>third$}", text::pad(name, first))?;
        }
        let [same, changed, only_a, only_b] = [same, changed, only_a, only_b].map(grouped);
        let counts = format!("{same} the same, {changed} changed, {only_a} only in A, {only_b} only in B");
        for line in text::wrap(&counts, ui.look.width) {
            writeln!(ui.out(), "{line}")?;
        }
        Ok(())
    }
}

/// Returns the rows of a table: a name, and the numbers of both sides.
fn stat_rows(a: &diff::Stat, b: &diff::Stat) -> Vec<(String, String, String)> {
    let mut rows: Vec<(String, String, String)> =
        vec![("".into(), "A".into(), "B".into()), ("entries".into(), grouped(a.entries), grouped(b.entries))];
    let mut row = |name: String, one: u64, two: u64| {
        if one > 0 || two > 0 {
            rows.push((name, grouped(one as usize), grouped(two as usize)));
        }
    };
    let kinds: std::collections::BTreeSet<_> = a.kinds.keys().chain(b.kinds.keys()).collect();
    let at = |stat: &diff::Stat, kind: &str| stat.kinds.get(kind).copied().unwrap_or(0) as u64;
    for kind in kinds {
        row(format!("  {kind}"), at(a, kind), at(b, kind));
    }
    row("tokens in".into(), a.usage.input, b.usage.input);
    row("cache read".into(), a.usage.cache_read, b.usage.cache_read);
    row("cache write".into(), a.usage.cache_write, b.usage.cache_write);
    row("tokens out".into(), a.usage.output, b.usage.output);
    let tools: std::collections::BTreeSet<_> = a.tools.keys().chain(b.tools.keys()).collect();
    let calls = |stat: &diff::Stat, tool: &str| stat.tools.get(tool).copied().unwrap_or(0) as u64;
    for tool in tools {
        row(format!("calls of {}", text::one_line(tool)), calls(a, tool), calls(b, tool));
    }
    rows
}

fn ink(sign: &str, ui: &Ui) -> String {
    match sign {
        "-" => ui.paint(Ink::Bad, sign),
        "+" => ui.paint(Ink::Good, sign),
        _ => ui.paint(Ink::Summary, sign),
    }
}

/// Prints how many consecutive entries are equal.
fn equal(count: usize, ui: &mut Ui) -> anyhow::Result<()> {
    if count > 0 {
        let words = ui.paint(Ink::Quiet, format!("  ({} the same)", Count("entry", "entries", count)));
        writeln!(ui.out(), "\n{words}")?;
    }
    Ok(())
}
