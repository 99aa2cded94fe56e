//! Printing the differences.

use super::sides::Sides;
use super::texts::{both, changed, whole};
use super::{Compared, Half, ItemRow};
use crate::cmd::shared::render::ink_of;
use crate::cmd::shared::rows;
use crate::model::{Count, Kind, grouped};
use crate::ops::diff::{self, Step};
use crate::ui::{Ink, Ui, text};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

pub(super) struct Printer<'c> {
    pub(super) a: Half<'c>,
    pub(super) b: Half<'c>,
    pub(super) compared: &'c Compared,
    /// Whether the sides are two sessions.
    pub(super) two: bool,
}

impl Printer<'_> {
    pub(super) fn names(&mut self, ui: &mut Ui) -> anyhow::Result<()> {
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

    pub(super) fn json(&mut self, ui: &mut Ui) -> anyhow::Result<()> {
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
    pub(super) fn heading(&mut self, ui: &mut Ui) -> anyhow::Result<()> {
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

    pub(super) fn steps(&mut self, beside: bool, ui: &mut Ui) -> anyhow::Result<()> {
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

    pub(super) fn stat(&mut self, sides: &Sides, ui: &mut Ui) -> anyhow::Result<()> {
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
        print_stat_rows(&stat_rows(&a, &b), ui)?;
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

/// Prints rows of numbers, each column as wide as its widest cell.
fn print_stat_rows(rows: &[(String, String, String)], ui: &mut Ui) -> io::Result<()> {
    let width = |column: fn(&(String, String, String)) -> &String| {
        rows.iter().map(column).map(|cell| text::width(cell)).max()
    };
    let first = width(|row| &row.0).unwrap_or(0);
    let second = width(|row| &row.1).unwrap_or(0).max(6);
    let third = width(|row| &row.2).unwrap_or(0).max(6);
    for (name, one, two) in rows {
        writeln!(ui.out(), "{}  {one:>second$}  {two:>third$}", text::pad(name, first))?;
    }
    Ok(())
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

/// A difference between two branches: diff; with --stat, how much each side has.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.diff/1")]
pub(in crate::cmd) struct DiffRow<'a> {
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

/// How much each side has: diff --stat.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.diff/1")]
pub(in crate::cmd) struct DiffStatRow<'a> {
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
pub(in crate::cmd) struct SideRow<'a> {
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
