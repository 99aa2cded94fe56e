//! What a session gained since it was read, where that is simple enough to be added to it.

use super::{Builder, FileFacts, Session};
use crate::format::Format;
use crate::model::{Entries, Ix, Tree};
use std::collections::HashSet;

/// Turns at the end of a session that were appended after it was read, each below the entry before it.
#[derive(Debug)]
pub struct Growth {
    /// How many entries there were.
    from: usize,
    entries: Entries,
    facts: FileFacts,
}

/// How far a builder was: what [`Builder::growth_since`] compares with.
#[derive(PartialEq, Eq, Debug)]
pub struct Progress {
    format: Format,
    /// The numbers of lines of each kind that are not entries.
    others: [usize; 5],
    name: Option<String>,
    last_without_id: bool,
    entries: usize,
}

impl Builder {
    /// Returns how far the builder is.
    pub fn progress(&self) -> Progress {
        let gathered = &self.gathered;
        Progress {
            format: crate::format::pi::settle(self.format, gathered),
            others: [
                self.others.len(),
                self.faults.len(),
                self.joined.len(),
                gathered.labels.len(),
                gathered.pointers.len(),
            ],
            name: gathered.name.clone(),
            last_without_id: gathered.last_without_id,
            entries: self.entries.len(),
        }
    }

    /// Returns what came since then, if adding it to the session of then gives the session of now.
    ///
    /// Costs a pass over the ids. Returns `None` if anything else came than turns, each below the entry before it, or if
    /// the format has rules by which they could change what was there.
    pub fn growth_since(&self, before: &Progress) -> Option<Growth> {
        let from = before.entries;
        let is_simple = matches!(before.format, Format::Pi | Format::Omp | Format::Harness)
            && self.progress()
                == Progress { entries: self.entries.len(), name: before.name.clone(), ..*before }
            && !before.last_without_id
            && from > 0
            && self.spread.is_empty()
            && self.side.is_none();
        let ([facts], true) = (&self.files[..], is_simple) else { return None };
        let entries = &self.entries;
        let is_below = |ix: Ix| {
            let key = entries.key(ix);
            key.is_some()
                && entries.kind(ix).is_turn()
                && entries.parent_key(ix) == Some(entries.key(Ix(ix.0 - 1)))
        };
        let added = || (from as u32..entries.len() as u32).map(Ix);
        if !facts.ends_in_newline || !added().all(is_below) {
            return None;
        }
        // What named one of them before it was there has found it now.
        let keys: HashSet<_> = added().map(|ix| entries.key(ix)).collect();
        let gathered = &self.gathered;
        let is_named = gathered.labels.iter().any(|label| keys.contains(&label.target))
            || gathered.pointers.iter().any(|pointer| pointer.target.is_some_and(|key| keys.contains(&key)));
        let are_new = !is_named && Tree::are_new(entries, from);
        are_new.then(|| Growth { from, entries: entries.since(from), facts: facts.clone() })
    }
}

impl Session {
    /// Returns whether what the agent appends goes on below the last entry, so that [`Session::grow`] may add it.
    pub fn may_grow(&self) -> bool {
        let last = self.entries.all().next_back();
        last.is_some_and(|last| self.head.leaf == Some(last) && self.tree.is_in_tree(last))
            && self.files.len() == 1
            && self.files[0].ends_in_newline
            && self.beside.is_empty()
            && !self.is_thread
            && !self.partial
    }

    /// Adds what came since the session was read. Returns false, having changed nothing, if it does not fit.
    #[must_use]
    pub fn grow(&mut self, growth: Growth) -> bool {
        if !self.may_grow() || self.entries.len() != growth.from {
            return false;
        }
        self.tree.grow(growth.entries.len());
        self.entries.append(growth.entries, 0, false);
        self.files[0] = growth.facts;
        self.find_head();
        true
    }
}

impl Growth {
    /// Returns how many entries were added.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether no entry was added.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
