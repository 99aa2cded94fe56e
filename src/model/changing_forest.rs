//! Queries about ancestors while entries are attached to other parents.

use super::Ix;

/// A forest whose links change, and that tells in O(log n) amortized time which entries are
/// ancestors of which.
///
/// This is a link-cut tree: each entry is on one chain, which is part of a path, and each chain is
/// a splay tree in the order of the path, the entry nearest to the root first. The top of such a
/// tree links to the parent of the chain's first entry, which is on another chain.
pub struct ChangingForest {
    nodes: Vec<Node>,
}

/// What the forest remembers about an entry, besides its links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// The group of the entry: entries of a group are skipped together.
    pub group: u32,
    /// The marks by which the entry is found from below.
    pub marks: u64,
}

#[derive(Clone, Copy)]
struct Node {
    /// The node above in its splay tree, or the parent of the chain.
    up: u32,
    /// The nodes below in its splay tree: those before it on the path, and those after it.
    before: u32,
    after: u32,
    /// The number of entries in its part of the splay tree.
    size: u32,
    facts: Facts,
    /// The group of all entries in its part of the splay tree; [`MIXED`] if there are several.
    groups: u32,
    /// The marks of all entries in its part of the splay tree.
    marks: u64,
}

const NONE: u32 = u32::MAX;
const MIXED: u32 = u32::MAX;

impl ChangingForest {
    /// Builds the forest from the parent of each entry, with what is remembered about the entry.
    /// The links must not form a cycle, and a group is less than `u32::MAX`.
    pub fn new(entries: impl Iterator<Item = (Option<Ix>, Facts)>) -> ChangingForest {
        let node = |(parent, facts): (Option<Ix>, Facts)| Node {
            up: parent.map_or(NONE, |parent| parent.0),
            before: NONE,
            after: NONE,
            size: 1,
            facts,
            groups: facts.group,
            marks: facts.marks,
        };
        ChangingForest { nodes: entries.map(node).collect() }
    }

    /// Makes an entry, with everything below it, a child of another entry, or a root. The other
    /// entry must not be below it.
    pub fn attach(&mut self, ix: Ix, under: Option<Ix>) {
        self.expose(ix.0);
        let above = std::mem::replace(&mut self.node(ix.0).before, NONE);
        if above != NONE {
            self.node(above).up = NONE;
        }
        self.sum_up(ix.0);
        if let Some(under) = under {
            self.expose(under.0);
            self.node(ix.0).up = under.0;
        }
    }

    /// Returns how many ancestors `above` has, if it is `below` or one of its ancestors.
    pub fn depth_if_above(&mut self, above: Ix, below: Ix) -> Option<u32> {
        self.expose(below.0);
        self.splay(above.0);
        // Of two nodes of one splay tree, one is not at its top.
        let is_above = above == below || !self.is_top(below.0);
        is_above.then(|| self.size(self.nodes[above.index()].before))
    }

    /// Returns whether `above` is `below` or one of its ancestors.
    pub fn is_above(&mut self, above: Ix, below: Ix) -> bool {
        self.depth_if_above(above, below).is_some()
    }

    /// Returns the child of an entry that is an ancestor of another entry, or is that entry.
    pub fn child_towards(&mut self, above: Ix, below: Ix) -> Option<Ix> {
        self.depth_if_above(above, below)?;
        let mut first = None;
        let mut at = self.nodes[above.index()].after;
        while at != NONE {
            first = Some(at);
            at = self.nodes[at as usize].before;
        }
        self.splay(first?);
        first.map(Ix)
    }

    /// Returns the first entry between an ancestor and an entry, from above, whose group is not to
    /// be skipped.
    pub fn first_between(&mut self, above: Ix, below: Ix, skips: impl Fn(u32) -> bool) -> Option<Ix> {
        self.depth_if_above(above, below)?;
        let mut todo = Vec::new();
        let mut at = self.nodes[above.index()].after;
        let found = loop {
            while at != NONE {
                let node = &self.nodes[at as usize];
                if node.groups != MIXED && skips(node.groups) {
                    break;
                }
                todo.push(at);
                at = node.before;
            }
            let next = todo.pop()?;
            if !skips(self.nodes[next as usize].facts.group) {
                break next;
            }
            at = self.nodes[next as usize].after;
        };
        self.splay(found);
        Some(Ix(found)).filter(|found| *found != below)
    }

    /// Returns the nearest ancestor of an entry that has one of some marks, and that `is_wanted`.
    pub fn nearest_above(&mut self, below: Ix, marks: u64, is_wanted: impl Fn(Ix) -> bool) -> Option<Ix> {
        self.expose(below.0);
        let mut todo = Vec::new();
        let mut at = self.nodes[below.index()].before;
        loop {
            while at != NONE && self.nodes[at as usize].marks & marks != 0 {
                todo.push(at);
                at = self.nodes[at as usize].after;
            }
            let next = todo.pop()?;
            if self.nodes[next as usize].facts.marks & marks != 0 && is_wanted(Ix(next)) {
                self.splay(next);
                return Some(Ix(next));
            }
            at = self.nodes[next as usize].before;
        }
    }

    fn node(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }

    fn size(&self, at: u32) -> u32 {
        if at == NONE { 0 } else { self.nodes[at as usize].size }
    }

    /// Makes the path from a root to an entry one chain, with the entry at the top of its splay
    /// tree.
    fn expose(&mut self, ix: u32) {
        let mut last = NONE;
        let mut at = ix;
        while at != NONE {
            self.splay(at);
            self.node(at).after = last;
            self.sum_up(at);
            last = at;
            at = self.nodes[at as usize].up;
        }
        self.splay(ix);
    }

    /// Returns whether a node is at the top of its splay tree.
    fn is_top(&self, at: u32) -> bool {
        let up = self.nodes[at as usize].up;
        up == NONE || self.nodes[up as usize].before != at && self.nodes[up as usize].after != at
    }

    /// Moves a node to the top of its splay tree.
    fn splay(&mut self, at: u32) {
        while !self.is_top(at) {
            let up = self.nodes[at as usize].up;
            if !self.is_top(up) {
                let top = self.nodes[up as usize].up;
                let in_line =
                    (self.nodes[up as usize].before == at) == (self.nodes[top as usize].before == up);
                self.rotate(if in_line { up } else { at });
            }
            self.rotate(at);
        }
    }

    /// Exchanges a node with the one above it in its splay tree.
    fn rotate(&mut self, at: u32) {
        let up = self.nodes[at as usize].up;
        let top = self.nodes[up as usize].up;
        if !self.is_top(up) {
            match self.nodes[top as usize].before == up {
                true => self.node(top).before = at,
                false => self.node(top).after = at,
            }
        }
        let between = match self.nodes[up as usize].before == at {
            true => {
                let between = std::mem::replace(&mut self.node(at).after, up);
                self.node(up).before = between;
                between
            }
            false => {
                let between = std::mem::replace(&mut self.node(at).before, up);
                self.node(up).after = between;
                between
            }
        };
        if between != NONE {
            self.node(between).up = up;
        }
        self.node(at).up = top;
        self.node(up).up = at;
        self.sum_up(up);
        self.sum_up(at);
    }

    /// Brings the sums of a node up to date with the nodes below it in its splay tree.
    fn sum_up(&mut self, at: u32) {
        let node = self.nodes[at as usize];
        let (mut size, mut groups, mut marks) = (1, node.facts.group, node.facts.marks);
        for below in [node.before, node.after].into_iter().filter(|below| *below != NONE) {
            let below = &self.nodes[below as usize];
            size += below.size;
            marks |= below.marks;
            if below.groups != groups {
                groups = MIXED;
            }
        }
        let node = self.node(at);
        (node.size, node.groups, node.marks) = (size, groups, marks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same answers, found by walking up the links.
    struct Walked {
        parents: Vec<Option<Ix>>,
        facts: Vec<Facts>,
    }

    impl Walked {
        fn path(&self, ix: Ix) -> Vec<Ix> {
            std::iter::successors(Some(ix), |ix| self.parents[ix.index()]).collect()
        }

        fn depth_if_above(&self, above: Ix, below: Ix) -> Option<u32> {
            self.path(below).contains(&above).then(|| self.path(above).len() as u32 - 1)
        }

        /// Returns the entries between an ancestor and an entry, from above; `None` if it is not an
        /// ancestor.
        fn between(&self, above: Ix, below: Ix) -> Option<Vec<Ix>> {
            let path = self.path(below);
            let at = path.iter().position(|ix| *ix == above)?;
            Some(path[..at].iter().skip(1).rev().copied().collect())
        }
    }

    proptest! {
        #[test]
        fn a_changing_forest_answers_as_a_walk_does(
            // By entry: whether its parent is the entry before, else an earlier entry; its facts.
            entries in prop::collection::vec((any::<u32>(), 0u32..3, 0u64..8), 1..60),
            steps in prop::collection::vec((any::<u32>(), any::<u32>(), 0u32..3, 0u64..8), 0..120),
        ) {
            let count = entries.len() as u32;
            let parent = |(at, (from, ..)): (usize, &(u32, u32, u64))| match (at as u32, from % 4) {
                (0, _) => None,
                (at, 0) => Some(Ix(from % at)),
                (at, _) => Some(Ix(at - 1)),
            };
            let mut walked = Walked {
                parents: entries.iter().enumerate().map(parent).collect(),
                facts: entries.iter().map(|(_, group, marks)| Facts { group: *group, marks: *marks }).collect(),
            };
            let all = walked.parents.iter().copied().zip(walked.facts.iter().copied());
            let mut forest = ChangingForest::new(all);
            for (one, other, group, marks) in steps {
                let (one, other) = (Ix(one % count), Ix(other % (count + 1)));
                if other.0 == count || !walked.path(other).contains(&one) {
                    let under = Some(other).filter(|under| under.0 < count);
                    walked.parents[one.index()] = under;
                    forest.attach(one, under);
                }
                let other = Ix(other.0 % count);
                for (above, below) in [(one, other), (other, one)] {
                    prop_assert_eq!(forest.depth_if_above(above, below), walked.depth_if_above(above, below));
                    prop_assert_eq!(forest.is_above(above, below), walked.path(below).contains(&above));
                    let between = walked.between(above, below);
                    let child = between.as_ref().filter(|_| above != below);
                    let child = child.map(|between| between.first().copied().unwrap_or(below));
                    prop_assert_eq!(forest.child_towards(above, below), child);
                    let skips = |other: u32| other == group;
                    let first = between.and_then(|between| {
                        between.into_iter().find(|ix| !skips(walked.facts[ix.index()].group))
                    });
                    prop_assert_eq!(forest.first_between(above, below, skips), first);
                }
                let has = |ix: &Ix| walked.facts[ix.index()].marks & marks != 0 && !ix.0.is_multiple_of(3);
                let nearest = walked.path(one).into_iter().skip(1).find(has);
                prop_assert_eq!(forest.nearest_above(one, marks, |ix| !ix.0.is_multiple_of(3)), nearest);
            }
        }
    }

    #[test]
    fn a_long_path_that_is_asked_from_both_ends_is_not_walked_each_time() {
        // A walk for each question would be two million steps of a thousand million.
        let count = 60_000;
        let facts = Facts { group: 0, marks: 0 };
        let parent = |at: u32| at.checked_sub(1).map(Ix);
        let mut forest = ChangingForest::new((0..count).map(|at| (parent(at), facts)));
        for at in 1..count - 1 {
            // Each entry moves below the last one, which stays a descendant of the first.
            forest.attach(Ix(at + 1), Some(Ix(0)));
            forest.attach(Ix(at), Some(Ix(count - 1)));
            assert!(forest.is_above(Ix(count - 1), Ix(at)));
            assert!(!forest.is_above(Ix(at), Ix(count - 1)));
            assert_eq!(forest.first_between(Ix(0), Ix(count - 1), |_| true), None);
        }
        assert_eq!(forest.depth_if_above(Ix(count - 1), Ix(1)), Some(1));
    }
}
