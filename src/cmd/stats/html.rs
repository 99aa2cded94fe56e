//! `bough stats --to html`: the counts as a page.

use super::tables::{bytes, cost_cell, dollars, grouped, taken_figures};
use super::{By, Counted, Group, Row, Shown};
use crate::cmd::shared::config::Config;
use crate::cmd::shared::time;
use crate::model::{Count, Kind};
use crate::ops::page::{self, Chart, FigureTable, Figures};
use crate::ops::redact::{Group as RedactGroup, Redact, Redactor};
use crate::ops::stats::{Fresh, Taken};
use crate::ui::{Ui, text};
use jiff::civil::Date;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The most days that have a bar each; more are drawn by month.
const DAYS: usize = 120;

/// The groups that the page shows beside those of the sum.
#[derive(Default)]
pub(super) struct Groups {
    days: BTreeMap<Vec<String>, Group>,
    files: BTreeMap<Vec<String>, Group>,
    projects: BTreeMap<Vec<String>, Group>,
}

impl Groups {
    /// Counts one of the files of a session.
    pub(super) fn add(&mut self, counted: &Counted, number: usize, fresh: &Fresh, is_whole: bool) {
        let groups =
            [(By::Day, &mut self.days), (By::File, &mut self.files), (By::Project, &mut self.projects)];
        for (by, into) in groups {
            counted.grouped(number, fresh, &[by], is_whole, &[], into);
        }
    }

    /// Prints the page.
    pub(super) fn print(self, shown: &Shown<'_>, config: &Config, ui: &mut Ui) -> anyhow::Result<()> {
        let mut all = Figures {
            title: self.title(shown),
            facts: facts(shown),
            charts: charts(self.days),
            tables: Vec::new(),
        };
        if shown.sessions.len() > 1 {
            all.tables.push(sessions(shown.sessions));
        }
        if self.projects.len() > 1 {
            all.tables.push(projects(self.projects));
        }
        all.tables.extend([models(shown), tools(shown), files(self.files)]);
        all.tables.retain(|table| !table.rows.is_empty());
        let mut redactor = Redactor::new(config.redaction(&[RedactGroup::Credentials])?);
        redact(&mut all, &mut redactor);
        write!(ui.out(), "{}", page::figures(&all))?;
        Ok(())
    }

    fn title(&self, shown: &Shown<'_>) -> String {
        let of_project = || match self.projects.keys().next() {
            Some(names) if self.projects.len() == 1 => names[0].clone(),
            _ => "Statistics".to_owned(),
        };
        match shown.sessions {
            [row] => title(row),
            _ => Some(of_project()).filter(|name| !name.is_empty()).unwrap_or_else(|| "Statistics".into()),
        }
    }
}

/// Replaces the secrets in all names of the page.
fn redact(all: &mut Figures, redactor: &mut Redactor) {
    let names = |all: &mut Figures, each: &mut dyn FnMut(&mut String)| {
        each(&mut all.title);
        all.tables.iter_mut().flat_map(|table| table.rows.iter_mut()).for_each(|row| each(&mut row[0]));
    };
    names(all, &mut |name| redactor.learn_text(name));
    names(all, &mut |name| *name = redactor.text(name).into_owned());
}

fn title(row: &Row) -> String {
    row.name.clone().or_else(|| row.id.clone()).unwrap_or_else(|| row.file.clone())
}

fn facts(shown: &Shown<'_>) -> Vec<String> {
    let sum = &shown.total.sum;
    let (entries, taken) = (sum.entries(), sum.all_taken());
    let mut out = vec![
        Count("session", "sessions", shown.sessions.len()).to_string(),
        Count("entry", "entries", entries.count as usize).to_string(),
        bytes(entries.bytes),
    ];
    let compactions = sum.of_kind(Kind::Compaction) as usize;
    if compactions > 0 {
        out.push(Count("compaction", "compactions", compactions).to_string());
    }
    if taken.usage.tokens() > 0 {
        out.push(Count("token", "tokens", taken.usage.tokens() as usize).to_string());
    }
    out.extend(taken.usage.cost.filter(|cost| *cost > 0.0).map(dollars));
    if taken.unpriced > 0 {
        out.push(format!("{} without a cost", Count("reply", "replies", taken.unpriced as usize)));
    }
    if let (Some(first), Some(last)) = (sum.first, sum.last) {
        out.push(format!("{} – {}", time::minute(first), time::minute(last)));
    }
    out
}

/// Returns charts of tokens and cost by day, or of entries if no reply has tokens.
fn charts(days: BTreeMap<Vec<String>, Group>) -> Vec<Chart> {
    let value = |group: &Group| {
        let usage = group.sum.all_taken().usage;
        [usage.tokens() as f64, usage.cost.unwrap_or(0.0), group.sum.entries().count as f64]
    };
    let days: Vec<(String, [f64; 3])> =
        days.into_values().map(|group| (group.names[0].clone(), value(&group))).collect();
    let (unit, bars) = by_month_if_many(days);
    let number = |value: f64| grouped(value as u64);
    let chart = |what: &str, at: usize, words: &dyn Fn(f64) -> String| Chart {
        heading: format!("{what} by {unit}"),
        bars: bars.iter().map(|(name, values)| (name.clone(), values[at], words(values[at]))).collect(),
    };
    let mut charts = vec![chart("Tokens", 0, &number), chart("Cost", 1, &dollars)];
    charts.retain(|chart| chart.bars.iter().any(|bar| bar.1 > 0.0));
    if charts.is_empty() {
        charts.push(chart("Entries", 2, &number));
    }
    charts
}

/// Returns a bar for each day from the first to the last, or for each month if these are many, and the unit.
fn by_month_if_many<const N: usize>(
    days: Vec<(String, [f64; N])>,
) -> (&'static str, Vec<(String, [f64; N])>) {
    let date = |day: Option<&(String, [f64; N])>| day.and_then(|(day, _)| day.parse::<Date>().ok());
    let (Some(first), Some(last)) = (date(days.first()), date(days.last())) else { return ("day", days) };
    let all = || first.series(jiff::Span::new().days(1)).take_while(|day| *day <= last);
    let is_many = all().nth(DAYS).is_some();
    let len = if is_many { "2026-03".len() } else { "2026-03-02".len() };
    let name = |day: &str| day.get(..len).unwrap_or(day).to_owned();
    let mut bars: BTreeMap<String, [f64; N]> = BTreeMap::new();
    // Days without entries are seen as gaps.
    for day in all() {
        bars.entry(name(&day.to_string())).or_insert([0.0; N]);
    }
    for (day, values) in days {
        let bar = bars.entry(name(&day)).or_insert([0.0; N]);
        bar.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    (if is_many { "month" } else { "day" }, bars.into_iter().collect())
}

fn sessions(all: &[Row]) -> FigureTable {
    let mut all: Vec<&Row> = all.iter().collect();
    all.sort_by_key(|row| Reverse((row.sum.all_taken().usage.tokens(), row.sum.entries().bytes)));
    let rows = all.iter().map(|row| {
        let taken = row.sum.all_taken();
        vec![
            text::one_line(&title(row)),
            row.format.agent().to_owned(),
            grouped(row.sum.entries().count),
            grouped(taken.usage.tokens()),
            cost_cell(taken.usage.cost),
        ]
    });
    FigureTable { heads: vec!["Sessions", "agent", "entries", "tokens", "cost"], rows: rows.collect() }
}

fn projects(all: BTreeMap<Vec<String>, Group>) -> FigureTable {
    let mut all: Vec<Group> = all.into_values().collect();
    all.sort_by_key(|group| Reverse(group.sum.all_taken().usage.tokens()));
    let rows = all.iter().map(|group| {
        let taken = group.sum.all_taken();
        vec![
            named(&group.names[0], "(none)"),
            grouped(group.sum.entries().count),
            grouped(taken.usage.tokens()),
            cost_cell(taken.usage.cost),
        ]
    });
    FigureTable { heads: vec!["Projects", "entries", "tokens", "cost"], rows: rows.collect() }
}

fn models(shown: &Shown<'_>) -> FigureTable {
    let mut all: Vec<(&String, &Taken)> = shown.total.sum.models.iter().collect();
    all.sort_by_key(|(_, taken)| Reverse(taken.usage.tokens()));
    let rows = all.into_iter().map(|(name, taken)| {
        [named(name, "(no model named)")].into_iter().chain(taken_figures(taken)).collect()
    });
    let heads = vec!["Models", "replies", "in", "out", "cache read", "cache write", "cost"];
    FigureTable { heads, rows: rows.collect() }
}

fn tools(shown: &Shown<'_>) -> FigureTable {
    let mut all: Vec<_> = shown.total.sum.tools.iter().collect();
    all.sort_by_key(|(_, tool)| Reverse(tool.calls));
    let rows = all.into_iter().map(|(name, tool)| {
        vec![named(name, "(no call known)"), grouped(tool.calls), grouped(tool.results), grouped(tool.errors)]
    });
    FigureTable { heads: vec!["Tools", "calls", "results", "errors"], rows: rows.collect() }
}

fn files(all: BTreeMap<Vec<String>, Group>) -> FigureTable {
    let mut all: Vec<Group> = all.into_values().collect();
    all.sort_by_key(|group| Reverse((group.sum.changes, group.sum.reads)));
    let rows = all.iter().map(|group| {
        vec![named(&group.names[0], "(none)"), grouped(group.sum.changes), grouped(group.sum.reads)]
    });
    FigureTable { heads: vec!["Files", "changes", "reads"], rows: rows.collect() }
}

/// Returns a name on one line, or what stands for one that is empty.
fn named(name: &str, none: &str) -> String {
    if name.is_empty() { none.to_owned() } else { text::one_line(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_without_entries_are_gaps_and_many_days_are_months() {
        let day = |name: &str, value: f64| (name.to_owned(), [value]);
        let (unit, bars) = by_month_if_many(vec![day("2026-02-27", 1.0), day("2026-03-01", 2.0)]);
        assert_eq!(
            (unit, bars),
            ("day", vec![day("2026-02-27", 1.0), day("2026-02-28", 0.0), day("2026-03-01", 2.0)])
        );
        let (unit, bars) =
            by_month_if_many(vec![day("2025-12-30", 1.0), day("2025-12-31", 4.0), day("2026-05-01", 2.0)]);
        let months = ["2025-12", "2026-01", "2026-02", "2026-03", "2026-04", "2026-05"];
        assert_eq!(unit, "month");
        assert_eq!(
            bars,
            months.map(|name| day(
                name,
                match name {
                    "2025-12" => 5.0,
                    "2026-05" => 2.0,
                    _ => 0.0,
                }
            ))
        );
        assert_eq!(by_month_if_many::<1>(Vec::new()), ("day", Vec::new()));
    }
}
