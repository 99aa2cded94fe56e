//! Folded rows, and which rows stay visible.

use super::Rows;
use std::collections::BTreeSet;

/// The folded rows of a tree. A visible row has an index, counted from 0 over the visible rows
/// only.
///
/// Costs memory and time by the number of folds, not of rows.
#[derive(Clone, Debug, Default)]
pub struct Folds {
    folded: BTreeSet<usize>,
    /// Runs of hidden rows in their order: the first row, the row after the last, and how many rows
    /// are hidden before.
    hidden: Vec<(usize, usize, usize)>,
}

impl Folds {
    /// Folds a row, or unfolds it. Returns whether it is now folded; a row that can't be folded
    /// does not change.
    pub fn toggle(&mut self, rows: &Rows, row: usize) -> bool {
        if self.folded.remove(&row) {
            self.hide(rows);
            return false;
        }
        if !rows.is_foldable(row) {
            return false;
        }
        self.folded.insert(row);
        self.hide(rows);
        true
    }

    /// Folds all branches, and the roots if there are several.
    pub fn fold_all(&mut self, rows: &Rows) {
        self.folded = rows.branches().filter(|row| rows.is_foldable(*row)).collect();
        self.hide(rows);
    }

    /// Unfolds every row that hides this one.
    pub fn reveal(&mut self, rows: &Rows, row: usize) {
        let before = self.folded.len();
        self.folded.retain(|folded| !rows.descendants(*folded).contains(&row));
        if self.folded.len() != before {
            self.hide(rows);
        }
    }

    /// Unfolds all rows.
    pub fn clear(&mut self) {
        *self = Folds::default();
    }

    /// Returns whether a row is folded.
    pub fn is_folded(&self, row: usize) -> bool {
        self.folded.contains(&row)
    }

    /// Returns the folded rows, from the top.
    pub fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.folded.iter().copied()
    }

    /// Returns the number of visible rows.
    pub fn visible(&self, rows: &Rows) -> usize {
        rows.len() - self.hidden.last().map_or(0, |(first, end, before)| before + end - first)
    }

    /// Returns the visible row with an index.
    pub fn row(&self, index: usize) -> usize {
        let after = self.hidden.partition_point(|(first, _, before)| first - before <= index);
        match after.checked_sub(1).map(|at| self.hidden[at]) {
            Some((first, end, before)) => index + before + end - first,
            None => index,
        }
    }

    /// Returns the index of a row; for a hidden one, that of the folded row that hides it.
    pub fn index(&self, row: usize) -> usize {
        let after = self.hidden.partition_point(|(first, ..)| *first <= row);
        match after.checked_sub(1).map(|at| self.hidden[at]) {
            Some((first, end, before)) if row < end => first - 1 - before,
            Some((first, end, before)) => row - before - (end - first),
            None => row,
        }
    }

    fn hide(&mut self, rows: &Rows) {
        self.hidden.clear();
        let mut before = 0;
        for row in &self.folded {
            let hides = rows.descendants(*row);
            // Rows below a folded row are already hidden.
            if self.hidden.last().is_none_or(|(_, end, _)| hides.start >= *end) {
                self.hidden.push((hides.start, hides.end, before));
                before += hides.len();
            }
        }
    }
}
