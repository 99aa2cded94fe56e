//! The tree over the entries: parents, children, roots, leaves and paths.

use super::entries::{MISSING, NONE};
use super::{Entries, Ix, Key};
use std::cell::OnceCell;

/// Which of several entries with the same id represents that id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copies {
    /// The first in the file. This is the rule of `fsck`, because children refer to an earlier
    /// entry.
    First,
    /// The last in the file. This is the rule of the agents.
    Last,
}

/// The target of an entry's link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parent {
    /// The entry names no parent.
    Root,
    /// The entry names this one.
    Entry(Ix),
    /// The entry names a parent that is not in the session: it is an orphan.
    Missing,
    /// The link leads back to the entry itself, directly or through others; it is treated as cut.
    Cycle(Ix),
}

/// The tree over [`Entries`]: links by the ids that entries name, in any order.
///
/// If an id occurs more than once, one entry represents it ([`Copies`]), and the others are not
/// part of the tree. An orphan is treated as a root, and a cycle of links is cut at a link that
/// points forward in the file, so that a broken session still has paths. Nothing here recurses:
/// chains may be as long as the file.
#[derive(Clone, Debug)]
pub struct Tree {
    copies: Copies,
    parent: Vec<u32>,
    /// Entries whose id is represented by another entry, in file order.
    shadowed: Vec<u32>,
    /// Cut links: the entry, and the entry that it named.
    cycles: Vec<(u32, u32)>,
    children: OnceCell<Children>,
    /// A bit for each entry that has children: finding leaves this way costs less than building the
    /// lists of children.
    has_children: OnceCell<Vec<u64>>,
}

#[derive(Clone, Debug)]
struct Children {
    first: Vec<u32>,
    list: Vec<u32>,
}

impl Tree {
    /// Builds the tree. Costs a pass over the ids, and one over the links if any of them points
    /// forward.
    pub fn build(entries: &Entries, copies: Copies) -> Tree {
        let doubtful = doubtful(entries.keys());
        let named = entries.apart.iter().map(|(_, key)| *key).filter(|key| key.is_some());
        let mut wanted = Wanted::new(named.chain(doubtful.iter().copied()));
        drop(doubtful);
        let repeated = wanted.find_all(entries.keys(), copies);
        let mut parent: Vec<u32> = (0..entries.len() as u32).map(|ix| ix.wrapping_sub(1)).collect();
        for (ix, key) in &entries.apart {
            parent[*ix as usize] = if key.is_some() { wanted.found(*key) } else { NONE };
        }
        let mut shadowed = Vec::new();
        if !repeated.is_empty() {
            for (ix, key) in entries.keys().iter().enumerate() {
                if repeated.binary_search(key).is_ok() && wanted.found(*key) != ix as u32 {
                    shadowed.push(ix as u32);
                }
            }
            for link in &mut parent {
                // The line before may be a duplicate that does not represent its id.
                if *link < MISSING && repeated.binary_search(&entries.keys()[*link as usize]).is_ok() {
                    *link = wanted.found(entries.keys()[*link as usize]);
                }
            }
            for ix in &shadowed {
                parent[*ix as usize] = NONE;
            }
        }
        let cycles = cut_cycles(&mut parent);
        Tree { copies, parent, shadowed, cycles, children: OnceCell::new(), has_children: OnceCell::new() }
    }

    /// Builds a tree from links that were determined elsewhere: the parent of each entry.
    ///
    /// A cycle of links is cut as in [`Tree::build`]. `apart` are the entries that are not part of
    /// the tree, in file order.
    pub fn of_links(parents: impl Iterator<Item = Option<Ix>>, apart: impl Iterator<Item = Ix>) -> Tree {
        let shadowed: Vec<u32> = apart.map(|ix| ix.0).collect();
        let mut parent: Vec<u32> = parents.map(|parent| parent.map_or(NONE, |parent| parent.0)).collect();
        for ix in &shadowed {
            parent[*ix as usize] = NONE;
        }
        let cycles = cut_cycles(&mut parent);
        Tree {
            copies: Copies::Last,
            parent,
            shadowed,
            cycles,
            children: OnceCell::new(),
            has_children: OnceCell::new(),
        }
    }

    /// Adds entries at the end, each below the one before it.
    pub fn grow(&mut self, count: usize) {
        let from = self.parent.len() as u32;
        self.parent.extend((from..from + count as u32).map(|ix| ix - 1));
        (self.children, self.has_children) = (OnceCell::new(), OnceCell::new());
    }

    /// Returns whether the ids of the entries from `from` on occur once, and no entry before them names one as its parent.
    /// Costs a pass over the ids.
    pub fn are_new(entries: &Entries, from: usize) -> bool {
        let mut wanted = Wanted::new(entries.keys()[from..].iter().copied());
        let is_named = |(ix, key): &(u32, Key)| (*ix as usize) < from && wanted.slot(*key).is_some();
        !entries.apart.iter().any(is_named) && wanted.find_all(entries.keys(), Copies::Last).is_empty()
    }

    /// Returns which of several entries with the same id represents it in this tree.
    pub fn copies(&self) -> Copies {
        self.copies
    }

    /// Finds the entries that represent some ids, all in one pass over the ids of the session.
    pub fn find_all(&self, entries: &Entries, keys: impl Iterator<Item = Key> + Clone) -> Found {
        let mut wanted = Wanted::new(keys);
        wanted.find_all(entries.keys(), self.copies);
        Found(wanted)
    }

    /// Returns whether an entry is part of the tree, i.e. no other entry represents its id.
    pub fn is_in_tree(&self, ix: Ix) -> bool {
        self.shadowed.is_empty() || self.shadowed.binary_search(&ix.0).is_err()
    }

    /// Returns the entries that are not part of the tree because another represents their id, in
    /// file order.
    pub fn shadowed(&self) -> impl ExactSizeIterator<Item = Ix> + '_ {
        self.shadowed.iter().map(|ix| Ix(*ix))
    }

    /// Returns the entries of the tree, in file order.
    pub fn entries_in_tree(&self) -> impl DoubleEndedIterator<Item = Ix> + '_ {
        (0..self.parent.len() as u32).map(Ix).filter(|ix| self.is_in_tree(*ix))
    }

    /// Returns the parent of an entry; `None` for a root, an orphan, and an entry at which a cycle
    /// is cut.
    pub fn parent(&self, ix: Ix) -> Option<Ix> {
        let parent = self.parent[ix.index()];
        (parent < MISSING).then_some(Ix(parent))
    }

    /// Returns the target of an entry's link.
    pub fn link(&self, ix: Ix) -> Parent {
        match self.parent[ix.index()] {
            MISSING => Parent::Missing,
            NONE => match self.cycles.binary_search_by_key(&ix.0, |(from, _)| *from) {
                Ok(at) => Parent::Cycle(Ix(self.cycles[at].1)),
                Err(_) => Parent::Root,
            },
            parent => Parent::Entry(Ix(parent)),
        }
    }

    /// Returns the children of an entry, in file order. The first call costs a pass over all
    /// entries.
    pub fn children(&self, ix: Ix) -> impl DoubleEndedIterator<Item = Ix> + ExactSizeIterator + '_ {
        let children = self.children.get_or_init(|| Children::build(&self.parent));
        let (from, to) = (children.first[ix.index()] as usize, children.first[ix.index() + 1] as usize);
        children.list[from..to].iter().map(|child| Ix(*child))
    }

    /// Returns whether an entry has no children.
    pub fn is_leaf(&self, ix: Ix) -> bool {
        let has_children = self.has_children.get_or_init(|| {
            let mut bits = vec![0u64; self.parent.len().div_ceil(64)];
            for parent in self.parent.iter().filter(|parent| **parent < MISSING) {
                bits[*parent as usize / 64] |= 1 << (parent % 64);
            }
            bits
        });
        has_children[ix.index() / 64] >> (ix.0 % 64) & 1 == 0
    }

    /// Returns the entries without a parent, including orphans and cut cycles, in file order.
    pub fn roots(&self) -> impl DoubleEndedIterator<Item = Ix> + '_ {
        self.entries_in_tree().filter(|ix| self.parent(*ix).is_none())
    }

    /// Returns the entries whose parent is not in the session, in file order.
    pub fn orphans(&self) -> impl Iterator<Item = Ix> + '_ {
        self.entries_in_tree().filter(|ix| self.parent[ix.index()] == MISSING)
    }

    /// Returns the entries at which a cycle of links was cut, in file order.
    pub fn cycle_cuts(&self) -> impl ExactSizeIterator<Item = Ix> + '_ {
        self.cycles.iter().map(|(ix, _)| Ix(*ix))
    }

    /// Returns the entries without children, in file order.
    pub fn leaves(&self) -> impl DoubleEndedIterator<Item = Ix> + '_ {
        self.entries_in_tree().filter(|ix| self.is_leaf(*ix))
    }

    /// Returns the entries with two or more children, in file order.
    pub fn branch_points(&self) -> impl Iterator<Item = Ix> + '_ {
        self.entries_in_tree().filter(|ix| self.children(*ix).len() > 1)
    }

    /// Returns the entries from `leaf` up to its root, `leaf` first.
    pub fn ancestors(&self, leaf: Ix) -> impl Iterator<Item = Ix> + '_ {
        std::iter::successors(Some(leaf), |ix| self.parent(*ix))
    }

    /// Returns the entries from a root to `leaf`, root first.
    ///
    /// The path is never empty: a root is its own path. An orphan counts as a root, so a broken
    /// session still has paths. Costs the length of the path.
    pub fn path(&self, leaf: Ix) -> Vec<Ix> {
        let mut path: Vec<Ix> = self.ancestors(leaf).collect();
        path.reverse();
        path
    }

    /// Returns whether `above` is `below` or one of its ancestors.
    pub fn is_ancestor(&self, above: Ix, below: Ix) -> bool {
        self.ancestors(below).any(|ix| ix == above)
    }

    /// Returns how many entries two paths share, starting at their root.
    pub fn shared(one: &[Ix], other: &[Ix]) -> usize {
        one.iter().zip(other).take_while(|(a, b)| a == b).count()
    }

    /// Returns an entry and all its descendants, each before its children, siblings in file order.
    pub fn subtree(&self, top: Ix) -> Vec<Ix> {
        let (mut out, mut todo) = (Vec::new(), vec![top]);
        while let Some(ix) = todo.pop() {
            out.push(ix);
            todo.extend(self.children(ix).rev());
        }
        out
    }

    /// Returns the length of the path of each entry: 1 for a root.
    pub fn depths(&self) -> Vec<u32> {
        let mut depth = vec![0u32; self.parent.len()];
        let mut above = Vec::new();
        for ix in 0..depth.len() {
            let mut at = ix as u32;
            while at < MISSING && depth[at as usize] == 0 {
                above.push(at);
                at = self.parent[at as usize];
            }
            let mut so_far = if at < MISSING { depth[at as usize] } else { 0 };
            while let Some(at) = above.pop() {
                so_far += 1;
                depth[at as usize] = so_far;
            }
        }
        depth
    }
}

impl Children {
    fn build(parent: &[u32]) -> Children {
        let mut first = vec![0u32; parent.len() + 2];
        for parent in parent.iter().filter(|parent| **parent < MISSING) {
            first[*parent as usize + 2] += 1;
        }
        for at in 2..first.len() {
            first[at] += first[at - 1];
        }
        let mut list = vec![0u32; first[parent.len() + 1] as usize];
        for (ix, parent) in parent.iter().enumerate() {
            if *parent < MISSING {
                let next = &mut first[*parent as usize + 1];
                list[*next as usize] = ix as u32;
                *next += 1;
            }
        }
        Children { first, list }
    }
}

/// Returns the keys that may occur more than once; a few of them do not.
fn doubtful(keys: &[Key]) -> Vec<Key> {
    let mut seen = KeySet::with_room(keys.len());
    keys.iter().copied().filter(|key| key.is_some() && !seen.insert(*key)).collect()
}

/// The keys seen so far, as a bitmap of 16 bits a key: it shows in one pass that nearly all keys
/// occur only once.
pub(crate) struct KeySet {
    words: Vec<u64>,
}

impl KeySet {
    /// Creates an empty set with room for that many keys.
    fn with_room(keys: usize) -> KeySet {
        KeySet { words: vec![0; (keys * 16).next_power_of_two().max(64) / 64] }
    }

    /// Returns which of `count` keys may occur more than once.
    pub(crate) fn repeated(keys: impl Iterator<Item = Key>, count: usize) -> KeySet {
        // Only a few do.
        let (mut once, mut again) = (KeySet::with_room(count), KeySet::with_room(count / 16));
        for key in keys {
            if !once.insert(key) {
                again.insert(key);
            }
        }
        again
    }

    /// Adds a key; returns false if it was added before or, rarely, if it collides with another.
    fn insert(&mut self, key: Key) -> bool {
        let (word, bit) = self.slot_of(key);
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }

    /// Returns whether a key was added, or another that collides with it.
    pub(crate) fn has(&self, key: Key) -> bool {
        let (word, bit) = self.slot_of(key);
        self.words[word] & bit != 0
    }

    fn slot_of(&self, key: Key) -> (usize, u64) {
        let bit = spread(key) as usize & (self.words.len() * 64 - 1);
        (bit / 64, 1 << (bit % 64))
    }
}

/// The result of [`Tree::find_all`].
pub struct Found(Wanted);

impl Default for Found {
    fn default() -> Found {
        Found(Wanted::new(std::iter::empty()))
    }
}

impl Found {
    /// Returns the entry that represents an id, if there is one. Only ids that were asked for are
    /// known.
    pub fn entry(&self, key: Key) -> Option<Ix> {
        Some(self.0.found(key)).filter(|ix| *ix < MISSING).map(Ix)
    }
}

/// A small set of keys, searched for in one pass over all keys.
struct Wanted {
    table: Vec<(Key, u32)>,
    /// A bitmap that rejects nearly all of the unwanted keys.
    prefilter: Vec<u64>,
}

impl Wanted {
    fn new(keys: impl Iterator<Item = Key> + Clone) -> Wanted {
        let count = keys.clone().count();
        let slots = (count * 2).next_power_of_two().max(8);
        let mut wanted =
            Wanted { table: vec![(Key::NONE, NONE); slots], prefilter: vec![0; (slots * 16 / 64).max(1)] };
        for key in keys {
            let hash = spread(key);
            let bit = wanted.bit(hash);
            wanted.prefilter[bit / 64] |= 1 << (bit % 64);
            let mut slot = hash as usize & (slots - 1);
            while wanted.table[slot].1 != NONE && wanted.table[slot].0 != key {
                slot = (slot + 1) & (slots - 1);
            }
            wanted.table[slot] = (key, MISSING);
        }
        wanted
    }

    fn bit(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.prefilter.len() * 64 - 1)
    }

    /// Returns whether a key may be among the wanted ones; few others pass.
    fn passes(&self, hash: u64) -> bool {
        let bit = self.bit(hash);
        self.prefilter[bit / 64] >> (bit % 64) & 1 == 1
    }

    fn slot(&self, key: Key) -> Option<usize> {
        let hash = spread(key);
        let mut slot = hash as usize & (self.table.len() - 1);
        while self.table[slot].1 != NONE {
            if self.table[slot].0 == key {
                return Some(slot);
            }
            slot = (slot + 1) & (self.table.len() - 1);
        }
        None
    }

    /// Finds the entry that represents each key; returns the keys that more than one entry has,
    /// sorted.
    fn find_all(&mut self, keys: &[Key], copies: Copies) -> Vec<Key> {
        let mut repeated = Vec::new();
        if self.table.iter().all(|(_, ix)| *ix == NONE) {
            return repeated;
        }
        // The keys that pass the filter are collected first, because the branch can't be predicted.
        let mut passed = [0u16; 1024];
        for (number, some) in keys.chunks(passed.len()).enumerate() {
            let from = number * passed.len();
            let mut count = 0;
            for (at, key) in some.iter().enumerate() {
                passed[count] = at as u16;
                count += usize::from(self.passes(spread(*key)));
            }
            for at in passed[..count].iter().map(|at| usize::from(*at)) {
                let key = some[at];
                let Some(slot) = self.slot(key) else { continue };
                let found = &mut self.table[slot].1;
                if *found != MISSING {
                    repeated.push(key);
                }
                if copies == Copies::Last || *found == MISSING {
                    *found = (from + at) as u32;
                }
            }
        }
        repeated.sort_unstable();
        repeated.dedup();
        repeated
    }

    fn found(&self, key: Key) -> u32 {
        self.slot(key).map_or(MISSING, |slot| self.table[slot].1)
    }
}

fn spread(key: Key) -> u64 {
    let product = u128::from(key.0 ^ 0x8EBC_6AF0_9C88_C6E3) * 0x9E37_79B9_7F4A_7C15;
    (product as u64) ^ ((product >> 64) as u64)
}

/// Cuts each cycle of links at its first link, in file order, that points forward; returns the cut
/// links.
fn cut_cycles(parent: &mut [u32]) -> Vec<(u32, u32)> {
    // If no link points forward, there can't be a cycle.
    let points_forward = |(ix, parent): (usize, &u32)| *parent < MISSING && *parent as usize >= ix;
    if !parent.iter().enumerate().any(points_forward) {
        return Vec::new();
    }
    const NEW: u32 = 0;
    let mut walk = vec![NEW; parent.len()];
    let mut cycles = Vec::new();
    for from in 0..parent.len() as u32 {
        let mut at = from;
        while at < MISSING && walk[at as usize] == NEW {
            walk[at as usize] = from + 1;
            at = parent[at as usize];
        }
        if at < MISSING && walk[at as usize] == from + 1 {
            let start = at;
            let mut cut = NONE;
            loop {
                if parent[at as usize] >= at && at < cut {
                    cut = at;
                }
                at = parent[at as usize];
                if at == start {
                    break;
                }
            }
            cycles.push((cut, parent[cut as usize]));
            parent[cut as usize] = NONE;
        }
    }
    cycles.sort_unstable();
    cycles
}

#[cfg(test)]
mod tests;
