//! Tables for people: columns separated by spaces, as wide as the terminal at most.

use crate::ui::{Ink, Ui, text};
use comfy_table::{CellAlignment, ContentArrangement, presets};

/// The fewest cells of the first column, which has the names.
const NARROWEST: usize = 8;

/// The columns that a table can do without, those that say least first.
const DISPENSABLE: [&str; 5] = ["results", "entries", "replies", "cache read", "cache write"];

/// A table without lines. A column without a heading has bars or the like, which are left out if the
/// table is too wide.
pub(crate) struct Table {
    heads: Vec<String>,
    right: Vec<usize>,
    rows: Vec<Vec<String>>,
}

/// A way to make a table narrower, given by how much it is too wide.
type Step<'s> = &'s dyn Fn(&mut Table, usize);

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
        let (lines, heads) = self.lines_within(ui.look.width);
        writeln!(ui.out())?;
        for (at, line) in lines.iter().enumerate() {
            let line = if at < heads { ui.paint(Ink::Quiet, line) } else { line.clone() };
            writeln!(ui.out(), "{line}")?;
        }
        Ok(())
    }

    /// Returns the lines of the table, as narrow as `width` if possible, and how many of them are
    /// headings.
    ///
    /// What says least goes first: the bars, columns of zeros, headings of one line, the ends of
    /// long names, and at last whole columns.
    fn lines_within(&mut self, width: usize) -> (Vec<String>, usize) {
        let steps: [Step<'_>; 6] = [
            &|table, _| table.drop_bars(),
            &|table, _| table.drop_zeros(),
            &|table, _| table.break_heads(),
            &|table, over| table.cut_names(over, 2 * NARROWEST),
            &|table, _| table.drop_dispensable(width),
            &|table, over| table.cut_names(over, NARROWEST),
        ];
        for step in steps {
            match self.over(width) {
                0 => break,
                over => step(self, over),
            }
        }
        (self.lines(), self.heads.iter().map(|head| head.lines().count()).max().unwrap_or(0))
    }

    /// Returns by how much the table is too wide.
    fn over(&self, width: usize) -> usize {
        self.lines().iter().map(|line| text::width(line)).max().unwrap_or(0).saturating_sub(width)
    }

    fn lines(&self) -> Vec<String> {
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(&self.heads);
        for row in &self.rows {
            table.add_row(row);
        }
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if self.right.contains(&at) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    fn drop_bars(&mut self) {
        let bars: Vec<usize> = (0..self.heads.len()).filter(|at| self.heads[*at].is_empty()).collect();
        self.remove(&bars);
    }

    /// Removes the columns of the cache in which each row has a zero.
    fn drop_zeros(&mut self) {
        let is_zero = |at: usize| self.rows.iter().all(|row| row.get(at).is_some_and(|cell| cell == "0"));
        let zeros: Vec<usize> =
            (1..self.heads.len()).filter(|at| self.heads[*at].starts_with("cache") && is_zero(*at)).collect();
        self.remove(&zeros);
    }

    fn break_heads(&mut self) {
        self.heads.iter_mut().for_each(|head| *head = head.replace(' ', "\n"));
    }

    /// Cuts the names in the widest column of texts by some display cells, but not below `fewest`.
    fn cut_names(&mut self, by: usize, fewest: usize) {
        let width_of = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| text::width(cell)).max().unwrap_or(0)
        };
        let texts = (0..self.heads.len()).rev().filter(|at| !self.right.contains(at));
        let Some((width, column)) = texts.map(|at| (width_of(at), at)).max_by_key(|(width, _)| *width) else {
            return;
        };
        let room = width.saturating_sub(by).max(fewest);
        for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(column)) {
            *cell = text::fit(cell, room);
        }
    }

    /// Removes columns that the table can do without, until it is as narrow as `width`.
    fn drop_dispensable(&mut self, width: usize) {
        for head in DISPENSABLE {
            if self.over(width) == 0 {
                break;
            }
            let at = self.heads.iter().skip(1).position(|known| known.replace('\n', " ") == head);
            self.remove(at.map(|at| at + 1).as_slice());
        }
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

#[cfg(test)]
mod tests;
