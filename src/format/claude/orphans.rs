//! Attaches orphans to entries close in time, as Claude Code does.

use super::graph::{ClaudeGraph, NONE};
use crate::model::{Flags, Ix};

/// How much older the entry may be that an orphan is attached to, in milliseconds.
const NEAR: i64 = 5_000;

/// Finds the entry that an orphan is attached to: the newest entry that is at most five seconds
/// older, on any branch, and that is neither a sidechain nor a descendant of the orphan.
///
/// Descendants are tracked as a union of components, and positions in time as runs of one
/// component, so that attaching all orphans costs little more than sorting the entries by time.
pub(super) struct Bridger {
    /// Entries with a time, sorted by time and then by position in the file.
    by_time: Vec<(i64, u32)>,
    /// The component of each entry: a link towards its root.
    above: Vec<u32>,
    /// The first position of the run of one component that contains each position in time.
    run: Vec<u32>,
}

impl Bridger {
    pub(super) fn new(graph: &ClaudeGraph<'_>) -> Bridger {
        let entries = &graph.session.entries;
        let mut by_time: Vec<(i64, u32)> = graph
            .rows()
            .filter(|ix| !entries.flags(Ix(*ix)).has(Flags::SIDECHAIN) && entries.time(Ix(*ix)).is_some())
            .map(|ix| (entries.time(Ix(ix)).0, ix))
            .collect();
        // Rows are in file order, and a stable sort keeps that order among equal times.
        by_time.sort_by_key(|(time, _)| *time);
        let run = (0..by_time.len() as u32).collect();
        let mut bridger = Bridger { by_time, above: (0..graph.count).collect(), run };
        for ix in graph.rows() {
            let parent = graph.parent[ix as usize];
            if parent < NONE && bridger.root(parent) != ix {
                bridger.above[ix as usize] = parent;
            }
        }
        bridger
    }

    /// Returns the entry to which `ix` is attached, if there is one. `ix` is an orphan, or closes a
    /// cycle.
    pub(super) fn nearest(&mut self, graph: &ClaudeGraph<'_>, ix: u32) -> Option<u32> {
        let time = graph.session.entries.time(Ix(ix));
        if !time.is_some() {
            return None;
        }
        let own = self.root(ix);
        let mut end = self.by_time.partition_point(|(known, _)| *known <= time.0);
        while end > 0 {
            let at = end - 1;
            let (known, found) = self.by_time[at];
            if known < time.0 - NEAR {
                return None;
            }
            if self.root(found) != own {
                return Some(found);
            }
            // The whole run is below the orphan; the adjacent run may be, too.
            let mut from = start(&mut self.run, at as u32);
            while from > 0 && self.root(self.by_time[from as usize - 1].1) == own {
                let before = start(&mut self.run, from - 1);
                self.run[from as usize] = before;
                from = before;
            }
            end = from as usize;
        }
        None
    }

    /// Records that the orphan `ix` was attached to `to`.
    pub(super) fn join(&mut self, ix: u32, to: u32) {
        self.above[ix as usize] = to;
    }

    fn root(&mut self, ix: u32) -> u32 {
        start(&mut self.above, ix)
    }
}

/// Follows links to their end, and shortens them on the way.
fn start(links: &mut [u32], mut at: u32) -> u32 {
    while links[at as usize] != at {
        let next = links[at as usize];
        links[at as usize] = links[next as usize];
        at = next;
    }
    at
}
