//! Tables for people: columns separated by spaces, as wide as the terminal at most.

use crate::ui::{Ink, Ui, text};
use comfy_table::{CellAlignment, ContentArrangement, presets};

/// The least width of the first column, which has the names.
const NAME: usize = 12;

/// A table without lines. A column without a heading has bars, which are left out where there is no
/// room.
pub(crate) struct Table {
    heads: Vec<String>,
    right: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns a table without rows; the columns of `right` are right-aligned.
    pub(crate) fn new(heads: &[&str], right: &[usize]) -> Table {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Table { heads, right: right.to_owned(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn add_row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Prints the table after a blank line, with quiet headings.
    pub(crate) fn print(mut self, ui: &mut Ui) -> anyhow::Result<()> {
        let (lines, heads) = self.lines_within(ui.look.width, ui.look.terminal);
        writeln!(ui.out())?;
        for (at, line) in lines.iter().enumerate() {
            let line = if at < heads { ui.paint(Ink::Quiet, line) } else { line.clone() };
            writeln!(ui.out(), "{line}")?;
        }
        Ok(())
    }

    /// Returns the lines of the table, none wider than `width` if that can be done without leaving
    /// out a number, and how many of them are headings.
    ///
    /// What costs least goes first: the bars, headings of one line, columns that say nothing, the
    /// second space between the columns, and the ends of long names. Only the bars are left out if
    /// the table is not for a terminal.
    fn lines_within(&mut self, width: usize, is_for_terminal: bool) -> (Vec<String>, usize) {
        let steps: [fn(&mut Table); 3] = [Table::drop_bars, Table::break_heads, Table::drop_empty];
        let mut lines = self.lines(2);
        for step in if is_for_terminal { &steps[..] } else { &steps[..1] } {
            if widest(&lines) <= width {
                break;
            }
            step(self);
            lines = self.lines(2);
        }
        let mut gap = 2;
        if is_for_terminal && widest(&lines) > width {
            gap = 1;
            lines = self.lines(gap);
        }
        let over = widest(&lines).saturating_sub(width);
        if is_for_terminal && over > 0 {
            let name = |row: &Vec<String>| row.first().map_or(0, |cell| text::width(cell));
            let room = self.rows.iter().map(name).max().unwrap_or(0).saturating_sub(over).max(NAME);
            for cell in self.rows.iter_mut().filter_map(|row| row.first_mut()) {
                *cell = text::fit(cell, room);
            }
            lines = self.lines(gap);
        }
        (lines, self.heads.iter().map(|head| head.lines().count()).max().unwrap_or(0))
    }

    fn lines(&self, gap: u16) -> Vec<String> {
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(&self.heads);
        for row in &self.rows {
            table.add_row(row);
        }
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, gap));
            if self.right.contains(&at) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    fn drop_bars(&mut self) {
        let is_bar = |cell: &str| !cell.is_empty() && cell.chars().all(|sign| sign == '#' || sign >= '▀');
        let has_bars = |at: usize| self.rows.iter().filter_map(|row| row.get(at)).any(|cell| is_bar(cell));
        let bars: Vec<usize> =
            (0..self.heads.len()).filter(|at| self.heads[*at].is_empty() && has_bars(*at)).collect();
        self.remove(&bars);
    }

    fn break_heads(&mut self) {
        self.heads.iter_mut().skip(1).for_each(|head| *head = head.replace(' ', "\n"));
    }

    /// Removes the columns in which each row has a zero or nothing.
    fn drop_empty(&mut self) {
        let says = |at: usize| {
            let mut cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.any(|cell| !matches!(cell.as_str(), "" | "0" | "-"))
        };
        let empty: Vec<usize> = (1..self.heads.len()).filter(|at| !says(*at)).collect();
        self.remove(&empty);
    }

    fn remove(&mut self, columns: &[usize]) {
        for at in columns.iter().rev() {
            self.heads.remove(*at);
            self.rows.iter_mut().filter(|row| *at < row.len()).for_each(|row| drop(row.remove(*at)));
            self.right.retain(|right| right != at);
            self.right.iter_mut().filter(|right| **right > *at).for_each(|right| *right -= 1);
        }
    }
}

fn widest(lines: &[String]) -> usize {
    lines.iter().map(|line| text::width(line)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let heads = ["model", "replies", "in", "cache read", "cost", ""];
        let mut table = Table::new(&heads, &[1, 2, 3, 4]);
        let cells = |cells: [&str; 6]| cells.map(str::to_owned);
        table.add_row(cells(["anthropic/claude-sonnet-4-5", "7", "12,450", "0", "-", "████"]));
        table.add_row(cells(["模型/模型模型模型模型模型", "1", "2", "0", "-", "▌"]));
        table
    }

    #[test]
    #[rustfmt::skip] // a table
    fn a_table_is_as_wide_as_the_terminal_at_most() {
        let check = |width: usize, wanted: &[&str]| {
            let (lines, heads) = table().lines_within(width, true);
            assert_eq!(lines, wanted, "{width}");
            assert_eq!(heads, wanted.len() - 2);
        };
        check(80, &[
            "model                        replies      in  cache read  cost",
            "anthropic/claude-sonnet-4-5        7  12,450           0     -  ████",
            "模型/模型模型模型模型模型          1       2           0     -  ▌",
        ]);
        check(66, &[
            "model                        replies      in  cache read  cost",
            "anthropic/claude-sonnet-4-5        7  12,450           0     -",
            "模型/模型模型模型模型模型          1       2           0     -",
        ]);
        check(60, &[
            "model                        replies      in  cache  cost",
            "                                               read",
            "anthropic/claude-sonnet-4-5        7  12,450      0     -",
            "模型/模型模型模型模型模型          1       2      0     -",
        ]);
        check(50, &[
            "model                        replies      in",
            "anthropic/claude-sonnet-4-5        7  12,450",
            "模型/模型模型模型模型模型          1       2",
        ]);
        check(40, &[
            "model                     replies     in",
            "anthropic/claude-sonnet-…       7 12,450",
            "模型/模型模型模型模型模型       1      2",
        ]);
        // The numbers stay, whatever the width is.
        check(10, &[
            "model        replies     in",
            "anthropic/c…       7 12,450",
            "模型/模型模…       1      2",
        ]);
    }
}
