//! `bough diff`: how two branches differ.

mod print;
mod sides;
mod texts;

use super::shared::options::Global;
use super::{Exit, complete};
use crate::context::Context;
use crate::format::Session;
use crate::model::{Ix, Kind, Tree};
use crate::ops::diff::{self, Item, Step};
use crate::ops::{Snapshot, ids};
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;
use print::Printer;
#[cfg(test)]
pub(super) use print::{DiffRow, DiffStatRow};
use serde::Serialize;
use sides::Sides;
use std::io;
use texts::WIDE;

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
