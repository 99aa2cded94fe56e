//! The children of each entry.

use super::{ClaudeGraph, NONE};

/// The children of each entry, in the order of [`ClaudeGraph::rows`].
pub(in crate::format::claude) struct Kids {
    first: Vec<u32>,
    list: Vec<u32>,
}

impl Kids {
    pub(super) fn new(graph: &ClaudeGraph<'_>) -> Kids {
        let mut first = vec![0u32; graph.count as usize + 2];
        let linked = || graph.rows().map(|ix| (ix, graph.parent[ix as usize])).filter(|(_, up)| *up < NONE);
        for (_, parent) in linked() {
            first[parent as usize + 2] += 1;
        }
        for at in 2..first.len() {
            first[at] += first[at - 1];
        }
        let mut list = vec![0u32; first[first.len() - 1] as usize];
        for (ix, parent) in linked() {
            let next = &mut first[parent as usize + 1];
            list[*next as usize] = ix;
            *next += 1;
        }
        Kids { first, list }
    }

    pub(in crate::format::claude) fn children(&self, ix: u32) -> &[u32] {
        &self.list[self.first[ix as usize] as usize..self.first[ix as usize + 1] as usize]
    }
}
