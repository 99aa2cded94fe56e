//! The tree restricted to the entries that are shown.

use crate::model::{Ix, Tree};

const NONE: u32 = u32::MAX;
const UNKNOWN: u32 = u32::MAX - 1;

/// The tree over some of the entries. The others are looked through: children of a hidden entry
/// become children of its nearest shown ancestor.
pub struct Forest<'t> {
    tree: &'t Tree,
    /// For each entry, the nearest shown one at or above it.
    at_or_above: Vec<u32>,
    /// The entries, each before its parent, if the file contains a parent after a child.
    order: Option<Vec<u32>>,
}

impl<'t> Forest<'t> {
    /// Creates the forest of the entries for which `shown` is true. Entries that are represented by
    /// another are never shown.
    ///
    /// Costs a pass over the entries, whatever the depth.
    pub fn new(tree: &'t Tree, count: usize, shown: impl Fn(Ix) -> bool) -> Forest<'t> {
        let mut at_or_above = vec![UNKNOWN; count];
        let mut way = Vec::new();
        let mut forward = false;
        for ix in 0..count as u32 {
            let mut at = ix;
            let found = loop {
                if at_or_above[at as usize] != UNKNOWN {
                    break at_or_above[at as usize];
                }
                if tree.is_in_tree(Ix(at)) && shown(Ix(at)) {
                    at_or_above[at as usize] = at;
                    break at;
                }
                way.push(at);
                match tree.parent(Ix(at)) {
                    Some(parent) => at = parent.0,
                    None => break NONE,
                }
            };
            for at in way.drain(..) {
                at_or_above[at as usize] = found;
            }
            forward |= tree.parent(Ix(ix)).is_some_and(|parent| parent.0 > ix);
        }
        Forest { tree, at_or_above, order: forward.then(|| children_first(tree, count)) }
    }

    /// Returns the number of entries in the session.
    pub fn len(&self) -> usize {
        self.at_or_above.len()
    }

    /// Returns whether the session has no entries.
    pub fn is_empty(&self) -> bool {
        self.at_or_above.is_empty()
    }

    /// Returns whether no parent comes after one of its children in the file.
    pub fn in_file_order(&self) -> bool {
        self.order.is_none()
    }

    /// Returns whether an entry is shown.
    pub fn shows(&self, ix: Ix) -> bool {
        self.at_or_above[ix.index()] == ix.0
    }

    /// Returns the nearest shown entry from `ix` upward, including `ix`.
    pub fn at_or_above(&self, ix: Ix) -> Option<Ix> {
        let found = self.at_or_above[ix.index()];
        (found != NONE).then_some(Ix(found))
    }

    /// Returns the nearest shown ancestor of an entry.
    pub fn parent(&self, ix: Ix) -> Option<Ix> {
        self.at_or_above(self.tree.parent(ix)?)
    }

    /// Returns the shown entries, each after its parent, and otherwise in file order.
    pub fn parents_first(&self) -> impl Iterator<Item = Ix> + '_ {
        let count = self.at_or_above.len();
        let order = self.order.as_deref();
        (0..count)
            .map(move |at| order.map_or(Ix(at as u32), |order| Ix(order[count - 1 - at])))
            .filter(|ix| self.shows(*ix))
    }

    /// Returns the shown entries, each before its parent, and otherwise in reverse file order.
    pub fn children_first(&self) -> impl Iterator<Item = Ix> + '_ {
        let count = self.at_or_above.len() as u32;
        let order = self.order.as_deref();
        (0..count)
            .map(move |at| match order {
                Some(order) => Ix(order[at as usize]),
                None => Ix(count - 1 - at),
            })
            .filter(|ix| self.shows(*ix))
    }
}

/// Returns all entries, each before its parent: in reverse file order, as far as that is possible.
fn children_first(tree: &Tree, count: usize) -> Vec<u32> {
    let mut waiting = vec![0u32; count];
    for ix in 0..count as u32 {
        if let Some(parent) = tree.parent(Ix(ix)) {
            waiting[parent.index()] += 1;
        }
    }
    // An entry whose children come before it in the file follows the last of them.
    let mut order = Vec::with_capacity(count);
    let mut passed = vec![false; count];
    for from in (0..count as u32).rev() {
        let mut at = Some(Ix(from));
        while let Some(ix) = at.filter(|ix| waiting[ix.index()] == 0 && ix.0 >= from && !passed[ix.index()]) {
            passed[ix.index()] = true;
            order.push(ix.0);
            at = tree.parent(ix);
            if let Some(parent) = at {
                waiting[parent.index()] -= 1;
            }
        }
    }
    order
}

#[cfg(test)]
pub(super) mod tests;
