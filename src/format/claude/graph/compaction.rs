//! What a compaction keeps: the entries that it lists are attached to it.

use super::entry_set::EntrySet;
use super::{ASIDE, ClaudeGraph, GONE, IN, KEPT, LOST, NONE, ROOT};
use crate::model::{Ix, Key, Parent};

impl ClaudeGraph<'_> {
    /// Moves the messages that the last boundary kept below its summary, and drops those that it
    /// replaced.
    pub(super) fn apply_compaction(&mut self) {
        let session = self.session;
        let Some(boundary) = session.claude.boundary.as_ref() else { return };
        let at = boundary.entry.0;
        if at >= self.count || !self.has(at, IN) {
            return;
        }
        let kept = match (&boundary.kept, boundary.ends) {
            (kept, _) if !kept.is_empty() => self.find_all(kept),
            (_, Some((head, tail))) if boundary.anchor.is_some() => self.segment(head, tail),
            _ => None,
        };
        let kept = match kept {
            Some(kept) => kept,
            None if !boundary.is_listed() && self.is_listed_before(at) => Vec::new(),
            None => return,
        };
        // An entry that names the summary as its parent comes after the last kept message, whether
        // or not there is a summary.
        let anchor = boundary.anchor.and_then(|anchor| self.find(anchor));
        let mut below_anchor = EntrySet::new(self.count);
        for ix in 0..self.count {
            let is_below = match self.parent[ix as usize] {
                LOST => boundary.anchor.is_some() && self.lost_parent(ix) == boundary.anchor,
                parent => parent < NONE && Some(parent) == anchor,
            };
            if is_below && self.has(ix, IN) {
                below_anchor.set(ix);
            }
        }
        for ix in &kept {
            self.state[*ix as usize] |= KEPT;
        }
        let border = self.first_copy(at);
        for ix in 0..self.count {
            if self.has(ix, IN) && !self.has(ix, KEPT) && self.first_copy(ix) < border {
                self.state[ix as usize] = GONE;
            }
        }
        let after: Vec<u32> = self.rows().filter(|ix| self.first_copy(*ix) > border).collect();
        for ix in &after {
            let parent = self.parent[*ix as usize];
            if self.is_turn(*ix) || self.has(*ix, KEPT) || parent >= NONE {
                continue;
            }
            if self.has(parent, GONE) {
                self.state[*ix as usize] = GONE;
            } else if self.has(parent, KEPT) {
                self.state[*ix as usize] |= ASIDE;
            }
        }
        for ix in 0..self.count {
            let parent = self.parent[ix as usize];
            if self.has(ix, IN)
                && !self.has(ix, KEPT)
                && (below_anchor.has(ix) || parent < NONE && self.has(parent, GONE))
            {
                self.parent[ix as usize] = kept.last().copied().unwrap_or(ROOT);
            }
        }
        self.last_kept = kept.last().copied();
        let anchor = anchor.filter(|anchor| self.has(*anchor, IN));
        let mut before = anchor.unwrap_or(ROOT);
        for ix in kept.into_iter().filter(|ix| Some(*ix) != anchor) {
            self.parent[ix as usize] = before;
            before = ix;
        }
    }

    /// Returns whether a boundary other than the one at `last` has lists, according to its last
    /// copy.
    fn is_listed_before(&self, last: u32) -> bool {
        let boundaries = self.session.claude.boundaries.iter();
        boundaries.filter(|(ix, listed)| *listed && ix.0 != last).any(|(ix, _)| self.has(ix.0, IN))
    }

    /// Returns the id that an orphan names as its parent, through progress lines.
    fn lost_parent(&self, ix: u32) -> Option<Key> {
        let mut at = Ix(ix);
        for _ in 0..self.count {
            match self.tree.link(at) {
                Parent::Missing => return self.session.entries.parent_key(at),
                Parent::Entry(parent) if parent.0 < self.count && self.is_passed(parent.0) => at = parent,
                _ => break,
            }
        }
        None
    }

    /// Returns the entries with these ids, in order and without duplicates; `None` if one does not
    /// exist.
    fn find_all(&self, keys: &[Key]) -> Option<Vec<u32>> {
        let mut wanted: Vec<(Key, u32)> = keys.iter().map(|key| (*key, LOST)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        for ix in 0..self.count {
            let key = self.session.entries.key(Ix(ix));
            if self.has(ix, IN)
                && let Ok(at) = wanted.binary_search_by_key(&key, |(key, _)| *key)
            {
                wanted[at].1 = ix;
            }
        }
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let at = wanted.binary_search_by_key(key, |(key, _)| *key).expect("all keys are wanted");
            match std::mem::replace(&mut wanted[at].1, ROOT) {
                LOST => return None,
                ROOT => {}
                ix => found.push(ix),
            }
        }
        Some(found)
    }

    /// Returns the entries from `tail` up to `head`, `head` first.
    fn segment(&self, head: Key, tail: Key) -> Option<Vec<u32>> {
        let (head, mut at) = (self.find(head)?, self.find(tail)?);
        let (mut found, mut seen) = (Vec::new(), EntrySet::new(self.count));
        while at < NONE && self.has(at, IN) && seen.add(at) {
            found.push(at);
            if at == head {
                found.reverse();
                return Some(found);
            }
            at = self.parent[at as usize];
        }
        None
    }
}
