//! The tree while tool calls and results move in it.

use super::Tools;
use crate::format::Session;
use crate::fsck::checks::Intervals;
use crate::fsck::repair::draft::{Draft, json};
use crate::fsck::table::Check;
use crate::model::{Ix, Key};
use std::collections::{HashMap, HashSet};
use std::io;

/// The links of a session while results are moved to their places, one after the other.
pub(super) struct Links<'s> {
    pub(super) session: &'s Session,
    /// The new parents.
    pub(super) moved: HashMap<Ix, Option<Ix>>,
    /// The entries that became children of others, even if they have moved since.
    pub(super) gained: HashMap<Ix, Vec<Ix>>,
    /// All entries with calls.
    pub(super) calls: HashSet<Ix>,
    /// Results that were moved to their places on the path that they were on.
    pub(super) put: HashSet<Ix>,
    /// Whether an entry was moved to another path, or a call to another place: then the session's
    /// order of calls and their descendants is no longer valid.
    pub(super) shuffled: bool,
    /// The ids whose nearest calls are known, and these calls.
    pub(super) looked_up: HashSet<Key>,
    pub(super) nearest: HashMap<Ix, Ix>,
    /// How far below each call the last search got.
    pub(super) reached: HashMap<Ix, Ix>,
    /// The children of entries that have several, by the walk through the tree.
    pub(super) several: HashMap<Ix, Vec<(u32, Ix)>>,
}

impl<'s> Links<'s> {
    pub(super) fn new(session: &'s Session, tools: &Tools) -> Links<'s> {
        Links {
            session,
            moved: HashMap::new(),
            gained: HashMap::new(),
            calls: tools.calls.values().flatten().copied().collect(),
            put: HashSet::new(),
            shuffled: false,
            looked_up: HashSet::new(),
            nearest: HashMap::new(),
            reached: HashMap::new(),
            several: HashMap::new(),
        }
    }

    /// Returns the first entry below a call, on the path to a result, that is not a result of the
    /// same reply; `None` if there are only such results between them.
    pub(super) fn first_below(
        &mut self,
        call: Ix,
        result: Ix,
        intervals: &Intervals,
        of_call: impl Fn(Ix) -> bool,
    ) -> Option<Ix> {
        if self.shuffled {
            let mut way: Vec<Ix> =
                self.ancestors(result).skip(1).take_while(|above| *above != call).collect();
            while way.last().is_some_and(|last| of_call(*last)) {
                way.pop();
            }
            return way.pop();
        }
        // Many results of one call are searched for on one path: each search continues where the
        // last one ended.
        let reached = self.reached.get(&call).copied().filter(|reached| intervals.is_above(*reached, result));
        let mut at = match reached {
            Some(reached) => reached,
            None => self.child_towards(call, result, intervals)?,
        };
        while at != result && (of_call(at) || self.put.contains(&at)) {
            at = self.child_towards(at, result, intervals)?;
        }
        self.reached.insert(call, at);
        (at != result).then_some(at)
    }

    /// Returns the child of an entry that is an ancestor of another entry, or is that entry, in the
    /// session as it was read.
    fn child_towards(&mut self, above: Ix, below: Ix, intervals: &Intervals) -> Option<Ix> {
        let mut children = self.session.tree.children(above);
        if children.len() < 2 {
            return children.next();
        }
        let several = self.several.entry(above).or_insert_with(|| {
            let mut several: Vec<(u32, Ix)> = children.map(|child| (intervals.first(child), child)).collect();
            several.sort_unstable();
            several
        });
        let at = several.partition_point(|(first, _)| *first <= intervals.first(below));
        at.checked_sub(1).map(|at| several[at].1)
    }

    pub(super) fn parent(&self, ix: Ix) -> Option<Ix> {
        self.moved.get(&ix).copied().unwrap_or_else(|| self.session.tree.parent(ix))
    }

    pub(super) fn ancestors(&self, ix: Ix) -> impl Iterator<Item = Ix> {
        std::iter::successors(Some(ix), |ix| self.parent(*ix))
    }

    /// Returns the children of an entry, in file order.
    pub(super) fn children(&self, ix: Ix) -> Vec<Ix> {
        let gained = self.gained.get(&ix).into_iter().flatten().copied();
        let all = self.session.tree.children(ix).chain(gained);
        let mut children: Vec<Ix> = all.filter(|child| self.parent(*child) == Some(ix)).collect();
        children.sort_unstable();
        children.dedup();
        children
    }

    pub(super) fn attach(&mut self, draft: &mut Draft<'_>, ix: Ix, under: Option<Ix>) -> io::Result<()> {
        self.moved.insert(ix, under);
        if let Some(under) = under {
            self.gained.entry(under).or_default().push(ix);
        }
        let id = under.map(|under| draft.link_to(under)).transpose()?.flatten();
        let parent = self.session.format.names().parent;
        draft.set(ix, &[parent], &id.unwrap_or_else(|| json(None)), Check::MisplacedToolResult)
    }
}
