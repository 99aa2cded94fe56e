//! The trees of a session while they are attached to each other.

use crate::format::Session;
use crate::model::Ix;

/// Tracks in which trees the entries of a session are while trees are attached to each other.
///
/// Attaching a tree to one of its own entries would form a cycle; this detects it.
pub(crate) struct DisjointSets {
    /// The root of each entry, in the session as it was read.
    top: Vec<u32>,
    /// The root of the tree to which each root was attached.
    into: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl DisjointSets {
    pub(crate) fn build(session: &Session) -> DisjointSets {
        let count = session.entries.len();
        let mut top = vec![NONE; count];
        let mut way = Vec::new();
        for ix in session.tree.entries_in_tree() {
            let mut at = ix;
            let root = loop {
                if top[at.index()] != NONE {
                    break top[at.index()];
                }
                way.push(at);
                match session.tree.parent(at) {
                    Some(parent) => at = parent,
                    None => break at.0,
                }
            };
            while let Some(ix) = way.pop() {
                top[ix.index()] = root;
            }
        }
        DisjointSets { top, into: (0..count as u32).collect() }
    }

    /// Returns the root of the tree in which an entry currently is.
    pub(crate) fn root(&mut self, ix: Ix) -> Ix {
        let first = self.top[ix.index()];
        if first == NONE {
            return ix;
        }
        let mut root = first;
        while self.into[root as usize] != root {
            root = self.into[root as usize];
        }
        let mut at = first;
        while self.into[at as usize] != root {
            at = std::mem::replace(&mut self.into[at as usize], root);
        }
        Ix(root)
    }

    /// Attaches the tree with the root `root` to an entry; returns false if that would form a
    /// cycle.
    pub(crate) fn attach(&mut self, root: Ix, under: Ix) -> bool {
        let (tree, target) = (self.root(root), self.root(under));
        if tree == target {
            return false;
        }
        self.into[tree.index()] = target.0;
        true
    }

    /// Returns whether two entries are in one tree.
    pub(crate) fn together(&mut self, one: Ix, other: Ix) -> bool {
        self.root(one) == self.root(other)
    }
}
