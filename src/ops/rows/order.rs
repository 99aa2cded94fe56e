//! All entries of a session in the order of the tree views.

use super::NONE;
use crate::format::Session;
use crate::model::{Ix, Time};
use std::cmp::Ordering;
use std::collections::HashMap;

/// All entries of a tree, each before its descendants.
///
/// Children are in time order, and roots in file order, but the one that leads to the leaf comes
/// first. So the path to the leaf is the beginning of the order.
pub struct Order {
    pub(super) entries: Vec<Ix>,
    /// The number of entries in the session, including those that are not part of the tree.
    pub(super) count: usize,
    /// How many of the entries are on the path to the leaf.
    pub(super) on_path: usize,
}

impl Order {
    /// Costs a pass over the entries, and sorts those at branch points; does not recurse, whatever
    /// the depth.
    pub fn new(session: &Session, leaf: Option<Ix>) -> Order {
        let (tree, entries) = (&session.tree, &session.entries);
        let count = entries.len();
        let mut path = vec![false; count];
        leaf.into_iter().flat_map(|leaf| tree.ancestors(leaf)).for_each(|ix| path[ix.index()] = true);
        let on_path = path.iter().filter(|on_path| **on_path).count();
        let (mut roots, mut only) = (Vec::new(), vec![NONE; count]);
        let mut several: HashMap<Ix, Vec<Ix>> = HashMap::new();
        for ix in tree.entries_in_tree() {
            match tree.parent(ix) {
                None => roots.push(ix),
                Some(parent) if only[parent.index()] == NONE => only[parent.index()] = ix.0,
                Some(parent) => {
                    several.entry(parent).or_insert_with(|| vec![Ix(only[parent.index()])]).push(ix);
                }
            }
        }
        roots.sort_by_key(|ix| !path[ix.index()]);
        for children in several.values_mut() {
            sort_by_time(children, |ix| entries.time(ix));
            children.sort_by_key(|ix| !path[ix.index()]);
        }
        let mut order = Vec::with_capacity(count);
        let mut todo: Vec<Ix> = roots.into_iter().rev().collect();
        while let Some(ix) = todo.pop() {
            order.push(ix);
            match several.get(&ix) {
                Some(children) => todo.extend(children.iter().rev()),
                None => todo.extend(Some(only[ix.index()]).filter(|child| *child != NONE).map(Ix)),
            }
        }
        Order { entries: order, count, on_path }
    }

    /// Adds entries at the end of the session, each below the one before it, and the first below the leaf; the last is
    /// the leaf then.
    pub fn grow(&mut self, added: usize) {
        let new = (self.count as u32..(self.count + added) as u32).map(Ix);
        self.entries.splice(self.on_path..self.on_path, new);
        (self.count, self.on_path) = (self.count + added, self.on_path + added);
    }
}

/// Sorts by time. An entry without a time counts as equal to any other, as in the agents' programs.
fn sort_by_time(children: &mut [Ix], time: impl Fn(Ix) -> Time) {
    if children.iter().all(|ix| time(*ix).is_some()) {
        children.sort_by_key(|ix| time(*ix));
        return;
    }
    // With such times the result depends on the sorting algorithm. This is the one of the
    // JavaScript engine for short lists: each element is inserted into the sorted part before it,
    // at a place found by bisection.
    let compare = |one: Ix, other: Ix| match (time(one), time(other)) {
        (one, other) if one.is_some() && other.is_some() => one.cmp(&other),
        _ => Ordering::Equal,
    };
    for at in 1..children.len() {
        let pivot = children[at];
        let place = children[..at].partition_point(|ix| compare(pivot, *ix) != Ordering::Less);
        children[place..=at].rotate_right(1);
    }
}
