//! The tables and the heading that people read, and their cells.

use super::{Row, Shown};
use crate::cmd::shared::table::Table;
use crate::cmd::shared::{file_args, time};
use crate::format::Usage;
use crate::model::{Count, Kind};
use crate::ops::stats::{Sum, Taken};
use crate::ui::{Ink, Ui, text};

impl Shown<'_> {
    pub(super) fn tables(&self, ui: &mut Ui) -> anyhow::Result<()> {
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
        if sum.taken.replies > 0 || sum.taken.usage.tokens() > 0 {
            let own = if sum.is_agents_cost { " (total kept by Claude Code)" } else { "" };
            facts(&format!("{}{own}", taken_line("tokens", &sum.taken)), ui)?;
        }
        if sum.agents.replies > 0 {
            facts(&taken_line("subagents", &sum.agents), ui)?;
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
}

/// Returns what replies took as one line: their number, tokens and cost.
fn taken_line(words: &str, taken: &Taken) -> String {
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
        all.push_str(&format!(" · {}", have_no_cost(taken.unpriced)));
    }
    all
}

/// Says how many replies have no cost.
pub(super) fn have_no_cost(replies: u64) -> String {
    Count("reply has no cost", "replies have no cost", replies as usize).to_string()
}

/// Returns the name of a group, on one line.
pub(super) fn name_cell(name: &str, ui: &Ui) -> String {
    let name = if name.is_empty() { "(none)".into() } else { text::one_line(name) };
    if ui.look.terminal { text::fit_end(&name, 48) } else { name }
}

/// Returns the cells of what replies took: how many they are, tokens, cost, and a bar of the tokens beside the most.
pub(super) fn taken_cells(taken: &Taken, most: u64, ui: &Ui) -> Vec<String> {
    let mut cells = taken_figures(taken).to_vec();
    cells.push(bar(taken.usage.tokens(), most, ui));
    cells
}

/// Returns these cells without the bar.
pub(super) fn taken_figures(taken: &Taken) -> [String; 6] {
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
pub(super) fn cache_write(usage: &Usage) -> String {
    match usage.cache_write_1h {
        0 => grouped(usage.cache_write),
        hour => format!("{} ({} for 1h)", grouped(usage.cache_write), grouped(hour)),
    }
}

pub(super) fn kinds(sum: &Sum, ui: &mut Ui) -> anyhow::Result<()> {
    let most = sum.kinds.values().map(|amount| amount.bytes).max().unwrap_or(0);
    let mut table = Table::new(&["kind", "entries", "bytes", ""], &[1, 2]);
    for (kind, amount) in &sum.kinds {
        let bar = bar(amount.bytes, most, ui);
        table.add_row([kind.name().to_owned(), grouped(amount.count), grouped(amount.bytes), bar]);
    }
    table.print(ui)
}

pub(super) fn models(sum: &Sum, ui: &mut Ui) -> anyhow::Result<()> {
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

pub(super) fn tools(sum: &Sum, ui: &mut Ui) -> anyhow::Result<()> {
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
pub(super) fn facts(facts: &str, ui: &mut Ui) -> anyhow::Result<()> {
    for (at, line) in text::wrap_facts(facts, ui.look.width.saturating_sub(2)).iter().enumerate() {
        writeln!(ui.out(), "{}{line}", if at == 0 { "" } else { "  " })?;
    }
    Ok(())
}

/// Returns a small bar: a value as a fraction of the maximum.
pub(super) fn bar(value: u64, most: u64, ui: &Ui) -> String {
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
pub(super) fn grouped(number: u64) -> String {
    crate::model::grouped(number as usize)
}

/// Returns a size in bytes, in the largest unit that leaves a whole number before the point.
pub(super) fn bytes(bytes: u64) -> String {
    file_args::size(bytes)
}

pub(super) fn dollars(cost: f64) -> String {
    if cost < 10.0 { format!("${cost:.4}") } else { format!("${cost:.2}") }
}

pub(super) fn cost_cell(cost: Option<f64>) -> String {
    cost.filter(|cost| *cost > 0.0).map_or_else(|| "-".into(), dollars)
}
