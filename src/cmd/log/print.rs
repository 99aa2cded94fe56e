//! How `log` prints an entry.

use super::Args;
use super::select::Filter;
use crate::cmd::shared::entry_json::SkippedRow;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::render::{Body, View};
use crate::cmd::shared::template::Template;
use crate::cmd::shared::thread_arg;
use crate::model::Ix;
use crate::ops::log_rows::{ForestRows, RowWalk};
use crate::store::Opened;
use crate::ui::{Ink, Look, Ui, paint, text};
use std::collections::HashMap;

/// How an entry is printed.
pub(super) enum Style {
    Oneline,
    Short,
    Medium,
    Full,
    Raw,
    Json,
    Template(Template),
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
        None if args.oneline => Style::Oneline,
        None if args.full => Style::Full,
        None if args.graph => Style::Oneline,
        None => Style::Medium,
    }
}

/// Why an entry is left out.
pub(super) struct Reason {
    /// The corresponding rung of the documented ladder.
    pub(super) rung: Option<u8>,
    pub(super) why: &'static str,
    /// The entry that represents it.
    pub(super) by: Option<String>,
}

impl Reason {
    fn phrase(&self) -> String {
        match &self.by {
            Some(by) => format!("left out: {} of {}", self.why, thread_arg::short(by)),
            None => format!("left out: {}", self.why),
        }
    }

    fn json_row(&self) -> SkippedRow {
        SkippedRow { why: self.why, rung: self.rung, by: self.by.clone() }
    }
}

/// The drawing to the left of an entry.
pub(super) struct Beside {
    /// Before its first line.
    pub(super) first: String,
    /// Before the other lines.
    pub(super) below: String,
    /// Its width in display cells, including the space after it.
    pub(super) width: usize,
}

/// Prints entries in one style.
pub(super) struct Printer<'s> {
    pub(super) view: View<'s>,
    pub(super) style: Style,
    stat: bool,
    nul: bool,
    pub(super) first: bool,
    /// Why entries are left out, if those are printed.
    pub(super) reasons: HashMap<Ix, Reason>,
    /// Which entries are part of the row of another; `None` if each has its own.
    pub(super) rows: Option<Rows>,
    /// For objects, the entries of these rows.
    row_of: HashMap<Ix, Ix>,
}

/// How the rows are known.
pub(super) enum Rows {
    /// The entries come from the end of a path up.
    Path(RowWalk, Option<Ix>),
    /// All of them were looked at.
    Forest(ForestRows),
}

impl<'s> Printer<'s> {
    pub(super) fn new(opened: &'s Opened, args: &Args, keep: &Filter, global: &Global) -> Printer<'s> {
        let style = style(args, global);
        let mut view = View::new(opened);
        view.date = args.date.date;
        // Entries hidden on request are skipped in the list, but that does not move HEAD.
        let session = &opened.session;
        view.mark(|ix| keep.asks_for(session, ix) || keep.is_in_any_conversation(session, ix));
        Printer {
            view,
            style,
            stat: args.stat,
            nul: args.nul,
            first: true,
            reasons: HashMap::new(),
            rows: None,
            row_of: HashMap::new(),
        }
    }

    /// Returns whether the output is formatted text, and not stored lines or objects.
    pub(super) fn is_for_people(&self) -> bool {
        !matches!(self.style, Style::Json | Style::Raw)
    }

    /// Uses the rows of a forest. What is said of an entry without a row of its own is moved to its row.
    pub(super) fn set_rows(&mut self, rows: ForestRows) {
        let session = self.view.session;
        let labeled = session.labels.all().map(|(ix, _)| ix);
        let marked: Vec<Ix> =
            labeled.chain(self.view.marks.keys().copied()).filter(|ix| !rows.is_row(*ix)).collect();
        for ix in marked {
            self.move_names(ix, rows.row_of(ix));
        }
        self.rows = Some(Rows::Forest(rows));
    }

    /// Returns whether an entry of the conversation is printed. On a path, to be asked once for each of them, from its end up.
    pub(super) fn is_row(&mut self, ix: Ix) -> bool {
        let session = self.view.session;
        let row = match &mut self.rows {
            None => ix,
            Some(Rows::Forest(rows)) => rows.row_of(ix),
            Some(Rows::Path(walk, last)) => match walk.is_row(session, ix) {
                true => *last.insert(ix),
                false => last.unwrap_or(ix),
            },
        };
        if row != ix && matches!(self.style, Style::Json | Style::Raw) {
            self.row_of.insert(ix, row);
            return true;
        }
        row == ix
    }

    /// Shows the names of an entry at the entry of its row.
    fn move_names(&mut self, ix: Ix, row: Ix) {
        if !self.is_for_people() {
            return;
        }
        let names = self.view.names(ix).into_iter().map(|(ink, name)| match ink {
            Ink::Label => format!("{name} on the call"),
            _ => name,
        });
        let names: Vec<String> = names.collect();
        if !names.is_empty() {
            self.view.marks.entry(row).or_default().extend(names);
        }
    }

    /// Shows the names of the calls that have no row of their own at the entry of their row, on a path.
    fn take_names(&mut self, row: Ix) {
        let session = self.view.session;
        let Some(Rows::Path(..)) = &self.rows else { return };
        let mut walk = RowWalk::above(session, row);
        let above = session.tree.ancestors(row).skip(1).filter(|ix| session.is_conversation(*ix));
        for ix in above.take_while(|ix| !walk.is_row(session, *ix)).collect::<Vec<_>>() {
            self.move_names(ix, row);
        }
    }

    /// Prints an entry of a list.
    pub(super) fn entry(&mut self, ix: Ix, ui: &mut Ui) -> anyhow::Result<()> {
        let look = ui.look;
        self.take_names(ix);
        let text = match self.reasons.get(&ix) {
            Some(reason) => self.with_reason(ix, reason.phrase(), reason.json_row(), &look)?,
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

    /// Prints an entry of a graph.
    pub(super) fn drawn(&mut self, ix: Ix, beside: &Beside, ui: &mut Ui) -> anyhow::Result<()> {
        if !self.is_for_people() {
            return self.entry(ix, ui);
        }
        let look = ui.look;
        let text = self.text(ix, &look, look.width.saturating_sub(beside.width))?;
        for (at, row) in String::from_utf8_lossy(&text).split('\n').enumerate() {
            let line = format!("{} {row}", if at == 0 { &beside.first } else { &beside.below });
            writeln!(ui.out(), "{}", line.trim_end())?;
        }
        self.first = false;
        Ok(())
    }

    /// Returns an entry with the reason why it is left out.
    pub(super) fn with_reason(
        &mut self,
        ix: Ix,
        words: String,
        json: SkippedRow,
        look: &Look,
    ) -> anyhow::Result<Vec<u8>> {
        if matches!(self.style, Style::Json) {
            return Ok(self.view.json(ix, false, |row| row.skipped = Some(json))?);
        }
        self.view.marks.entry(ix).or_insert_with(|| vec![words]);
        self.text(ix, look, look.width)
    }

    /// Returns an entry as it is printed.
    pub(super) fn text(&mut self, ix: Ix, look: &Look, width: usize) -> anyhow::Result<Vec<u8>> {
        let view = &mut self.view;
        let body = match &self.style {
            Style::Raw => return Ok(view.line(ix)?),
            Style::Json => {
                let shown_in = self.row_of.get(&ix).map(|row| view.id(*row)).transpose()?;
                return Ok(view.json(ix, false, |row| row.row = shown_in)?);
            }
            Style::Template(template) => return Ok(template.fill(view, ix)?.into_bytes()),
            Style::Oneline => {
                let line = view.line(ix)?;
                let content = view.content(&line);
                let mut row = view.row_of(ix, &content, look, width)?;
                if self.stat {
                    push_stat(&mut row, &view.stat(ix, &content), look, width);
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
                out +=
                    &format!("\n    {}", text::fit(&view.summary_of(ix, &content), width.saturating_sub(4)))
            }
            Some(body) => {
                for line in view.body(ix, &content, width.saturating_sub(4), body) {
                    out.push_str("\n    ");
                    out += &line.painted(look);
                }
            }
        }
        if self.stat {
            push_stat(&mut out, &view.stat(ix, &content), look, width);
        }
        Ok(out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").into_bytes())
    }
}

/// Adds the numbers of an entry below it.
fn push_stat(out: &mut String, stat: &str, look: &Look, width: usize) {
    for line in text::wrap_facts(stat, width.saturating_sub(4)) {
        out.push_str("\n    ");
        out.push_str(&paint(look, Ink::Quiet, line));
    }
}
