//! The rows of a session's tree, as `log --graph`, `tree` and the exported page show them.
//!
//! The order is that of the tree views of pi and oh-my-pi: roots down, each entry before its
//! descendants, and at a branch point the branch with the agent's leaf first. [`Order`] contains
//! all entries in that order. [`Rows`] keeps those that a filter shows; descendants of a hidden
//! entry move up to the nearest shown entry. [`Folds`] hides the descendants of folded rows.
//! [`Search`] decides whether an entry contains the words that a user searches for. [`graph`] draws
//! the same entries from the newest up, in columns.

mod folds;
pub mod graph;
mod order;
mod search;

pub use folds::Folds;
pub use order::Order;
pub use search::{Scan, Scanned, Search};

use crate::model::{Ix, Tree};
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// The shown entries from the roots down, and where they branch.
///
/// A row is a number from 0. Memory: 12 bytes for each row and 4 for each entry.
pub struct Rows {
    entries: Vec<Ix>,
    /// The chain of each row.
    chain: Vec<u32>,
    chains: Vec<Chain>,
    /// The row of each entry; for a hidden entry, that of its nearest shown ancestor.
    row: Vec<u32>,
    /// How many of the rows are on the path to the leaf. They come first.
    on_path: usize,
}

/// A run of rows in which only the last may be a branch point: a chain does not indent.
#[derive(Clone, Copy, Debug)]
struct Chain {
    first: u32,
    /// The row after its last one.
    own_end: u32,
    /// The row after its last descendant.
    end: u32,
    /// The chain that it branches from.
    above: u32,
    depth: u32,
    /// Whether it is the last of the chains that begin at its branch point.
    is_last: bool,
}

impl Rows {
    /// Keeps the entries of an order for which `shown` is true.
    ///
    /// Costs two passes over the entries, whatever the depth.
    pub fn new(tree: &Tree, order: &Order, shown: impl Fn(Ix) -> bool) -> Rows {
        let mut rows = Rows {
            entries: Vec::new(),
            chain: Vec::new(),
            chains: Vec::new(),
            row: vec![NONE; order.count],
            on_path: 0,
        };
        let (mut above, mut children, mut roots) = (Vec::new(), Vec::<u8>::new(), 0);
        for (place, ix) in order.entries.iter().enumerate() {
            let parent = tree.parent(*ix).map_or(NONE, |parent| rows.row[parent.index()]);
            rows.row[ix.index()] = parent;
            if !shown(*ix) {
                continue;
            }
            rows.row[ix.index()] = rows.entries.len() as u32;
            rows.entries.push(*ix);
            rows.on_path += usize::from(place < order.on_path);
            above.push(parent);
            children.push(0);
            match children.get_mut(parent as usize) {
                Some(children) => *children = children.saturating_add(1),
                None => roots += 1,
            }
        }
        rows.entries.shrink_to_fit();
        rows.chain.reserve_exact(rows.entries.len());
        // The chains that contain the current row, or have it below them.
        let mut open: Vec<u32> = Vec::new();
        for (row, parent) in above.into_iter().enumerate() {
            let continues =
                if parent == NONE { row > 0 && roots == 1 } else { children[parent as usize] == 1 };
            if !continues {
                let from = if parent == NONE { NONE } else { rows.chain[parent as usize] };
                while open.last().is_some_and(|chain| *chain != from) {
                    let ended = open.pop().expect("a chain is open");
                    rows.chains[ended as usize].end = row as u32;
                }
                open.push(rows.chains.len() as u32);
                let depth = if from == NONE { 0 } else { rows.chains[from as usize].depth + 1 };
                let first = row as u32;
                rows.chains.push(Chain {
                    first,
                    own_end: first,
                    end: first,
                    above: from,
                    depth,
                    is_last: true,
                });
            }
            let chain = rows.chains.len() as u32 - 1;
            rows.chains[chain as usize].own_end = row as u32 + 1;
            rows.chain.push(chain);
        }
        for chain in open {
            rows.chains[chain as usize].end = rows.entries.len() as u32;
        }
        // A chain that is followed by another from the same branch point is not the last one.
        for at in 0..rows.chains.len() {
            let Chain { end, above, .. } = rows.chains[at];
            let next = rows.chain.get(end as usize).map(|next| rows.chains[*next as usize].above);
            rows.chains[at].is_last = next != Some(above);
        }
        rows
    }

    /// Adds entries as [`Order::grow`] does: below `leaf`, the last entry. `shown` is as for [`Rows::new`], and may have
    /// changed for `leaf`, since it is the leaf no more.
    ///
    /// Returns false, having changed nothing, if rows would begin a branch, or end one. Costs a pass over the entries.
    #[must_use]
    pub fn grow(&mut self, leaf: Ix, added: usize, shown: impl Fn(Ix) -> bool) -> bool {
        let Some(last) = self.row_at_or_above(leaf) else { return false };
        let (has_row, stays) = (self.entries[last] == leaf, shown(leaf));
        if last + 1 != self.on_path || !self.descendants(last).is_empty() || stays && !has_row {
            return false;
        }
        let goes = has_row && !stays;
        if goes && self.chain_of(last).first as usize == last {
            return false;
        }
        // The rows of the new entries begin here.
        let from = if goes { last } else { last + 1 };
        let mut row = from as u32 - 1;
        let (mut new, mut places) = (Vec::new(), Vec::new());
        for ix in (self.row.len() as u32..(self.row.len() + added) as u32).map(Ix) {
            if shown(ix) {
                row += 1;
                new.push(ix);
            }
            places.push(row);
        }
        // It may be one row less.
        let by = (new.len() as u32).wrapping_sub(u32::from(goes));
        let moved = |row: u32| row.wrapping_add(by);
        let (first, leaf_row) = (last as u32 + u32::from(!goes), last as u32);
        // Without branches, several at a time.
        for row in &mut self.row {
            let is_moved = *row >= first && *row != NONE;
            let to = if *row == leaf_row { from as u32 - 1 } else { moved(*row) };
            *row = if is_moved { to } else { *row };
        }
        self.row.extend(places);
        let own = self.chain[last] as usize;
        for (at, chain) in self.chains.iter_mut().enumerate() {
            // Those of the rows on the path are the one that grows, and those that it branches from.
            let is_after = chain.first as usize > last;
            if is_after {
                chain.first = moved(chain.first);
            }
            if is_after || at == own {
                chain.own_end = moved(chain.own_end);
            }
            chain.end = moved(chain.end);
        }
        self.on_path = moved(self.on_path as u32) as usize;
        self.chain.splice(from..last + 1, std::iter::repeat_n(own as u32, new.len()));
        self.entries.splice(from..last + 1, new);
        true
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether nothing is shown.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the entry of a row.
    pub fn entry(&self, row: usize) -> Ix {
        self.entries[row]
    }

    /// Returns the entries of all rows.
    pub fn entries(&self) -> &[Ix] {
        &self.entries
    }

    /// Returns the row of an entry, if it is shown.
    pub fn row(&self, ix: Ix) -> Option<usize> {
        self.row_at_or_above(ix).filter(|row| self.entries[*row] == ix)
    }

    /// Returns the row of an entry, or of its nearest shown ancestor.
    pub fn row_at_or_above(&self, ix: Ix) -> Option<usize> {
        self.row.get(ix.index()).filter(|row| **row != NONE).map(|row| *row as usize)
    }

    /// Returns the row on which the tree views start: that of the leaf or above it, or else the
    /// last row.
    pub fn start(&self, leaf: Option<Ix>) -> usize {
        leaf.and_then(|leaf| self.row_at_or_above(leaf)).unwrap_or(self.len().saturating_sub(1))
    }

    /// Returns whether a row is on the path to the leaf.
    pub fn is_on_path(&self, row: usize) -> bool {
        row < self.on_path
    }

    /// Returns how many branch points are above a row.
    pub fn depth(&self, row: usize) -> usize {
        self.chain_of(row).depth as usize
    }

    /// Returns whether a row is the first one after a branch point.
    pub fn begins_branch(&self, row: usize) -> bool {
        let chain = self.chain_of(row);
        chain.first as usize == row && chain.above != NONE
    }

    /// Returns whether no shown entry is above a row.
    pub fn is_root(&self, row: usize) -> bool {
        let chain = self.chain_of(row);
        chain.first as usize == row && chain.above == NONE
    }

    /// Returns whether a row has more than one child.
    pub fn is_branch_point(&self, row: usize) -> bool {
        let chain = self.chain_of(row);
        chain.own_end as usize == row + 1 && chain.end > chain.own_end
    }

    /// Returns the descendants of a row, which follow it.
    pub fn descendants(&self, row: usize) -> Range<usize> {
        row + 1..self.chain_of(row).end as usize
    }

    /// Returns whether the tree views let a row be folded: a root, or the first row after a branch
    /// point, if it has descendants.
    pub fn is_foldable(&self, row: usize) -> bool {
        self.chain_of(row).first as usize == row && !self.descendants(row).is_empty()
    }

    /// Returns the first row of each branch, in order: after a branch point, and each root if there are several.
    pub fn branches(&self) -> impl Iterator<Item = usize> + '_ {
        let has_roots = self.chains.first().is_some_and(|chain| !chain.is_last);
        let begins = move |chain: &&Chain| chain.above != NONE || has_roots;
        self.chains.iter().filter(begins).map(|chain| chain.first as usize)
    }

    /// Returns, for the branch of a row and each branch point above it, outermost first, whether
    /// other branches follow.
    ///
    /// Begins with the branch of depth `from` + 1, so that anything off the screen costs nothing to
    /// draw.
    pub fn followed(&self, row: usize, from: usize) -> Vec<bool> {
        let mut out = Vec::new();
        let mut chain = self.chain_of(row);
        while chain.above != NONE && chain.depth as usize > from {
            out.push(!chain.is_last);
            chain = &self.chains[chain.above as usize];
        }
        out.reverse();
        out
    }

    /// Returns the first row of the branch of a row; for a row that is the first one, that of the
    /// branch before it.
    pub fn branch_start_above(&self, row: usize) -> usize {
        let chain = self.chain_of(row);
        match chain.first as usize {
            first if first < row => first,
            first if chain.above == NONE => first,
            _ => self.chains[chain.above as usize].first as usize,
        }
    }

    /// Returns the first row after the next branch point; without one, the last row of the branch.
    pub fn branch_start_below(&self, row: usize) -> usize {
        let chain = self.chain_of(row);
        if chain.end > chain.own_end { chain.own_end as usize } else { chain.own_end as usize - 1 }
    }

    /// Returns the next branch point after a row.
    pub fn branch_point_after(&self, row: usize) -> Option<usize> {
        let first = self.chain.get(row).map_or(0, |chain| *chain as usize);
        self.chains[first..].iter().filter_map(Chain::branch_point).find(|point| *point > row)
    }

    /// Returns the last branch point before a row.
    pub fn branch_point_before(&self, row: usize) -> Option<usize> {
        let last = self.chain.get(row).map_or(0, |chain| *chain as usize + 1);
        self.chains[..last].iter().rev().filter_map(Chain::branch_point).find(|point| *point < row)
    }

    fn chain_of(&self, row: usize) -> &Chain {
        &self.chains[self.chain[row] as usize]
    }
}

impl Chain {
    fn branch_point(&self) -> Option<usize> {
        (self.end > self.own_end).then(|| self.own_end as usize - 1)
    }
}

#[cfg(test)]
mod tests;
