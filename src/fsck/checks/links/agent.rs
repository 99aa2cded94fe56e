//! The links of a session as its agent follows them, and what they reveal about each path.

use crate::format::claude::graph::ClaudeGraph;
use crate::format::{Format, Session, ToolRef};
use crate::fsck::checks::Intervals;
use crate::model::{Flags, Ix, Key, Kind, Tree};
use std::collections::HashSet;

/// The tree that the agent sees.
pub(crate) struct AgentTree {
    tree: Tree,
    /// Whether the context depends on more than the links: in version 1 of pi, on the numbers of
    /// lines.
    pub goes_by_lines: bool,
    intervals: Intervals,
    /// The cost of building the context of one entry, besides the length of its path.
    each: usize,
}

impl AgentTree {
    pub(crate) fn build(session: &Session) -> AgentTree {
        let entries = &session.entries;
        let (tree, each) = match session.format {
            Format::Claude => {
                let graph = ClaudeGraph::new(session);
                let parents = entries.all().map(|ix| graph.parent(ix));
                let apart = entries.all().filter(|ix| !graph.is_loaded(*ix));
                (Tree::of_links(parents, apart), entries.len() / 16)
            }
            _ => (session.tree.clone(), 0),
        };
        let goes_by_lines =
            session.format == Format::PiV1 && entries.all().any(|ix| entries.kind(ix) == Kind::Compaction);
        let intervals = Intervals::build(&tree, entries.len());
        AgentTree { tree, goes_by_lines, intervals, each }
    }

    pub(crate) fn leaves(&self) -> impl Iterator<Item = Ix> + '_ {
        self.tree.leaves()
    }

    pub(crate) fn is_leaf(&self, ix: Ix) -> bool {
        self.tree.is_leaf(ix)
    }

    /// Returns whether the agent reads an entry at all.
    pub(crate) fn has(&self, ix: Ix) -> bool {
        self.tree.is_in_tree(ix)
    }

    pub(crate) fn children(&self, ix: Ix) -> impl Iterator<Item = Ix> + '_ {
        self.tree.children(ix)
    }

    pub(crate) fn ancestors(&self, ix: Ix) -> impl Iterator<Item = Ix> + '_ {
        self.tree.ancestors(ix)
    }

    pub(crate) fn path(&self, ix: Ix) -> Vec<Ix> {
        self.tree.path(ix)
    }

    pub(crate) fn parent(&self, ix: Ix) -> Option<Ix> {
        self.tree.parent(ix)
    }

    pub(crate) fn is_above(&self, above: Ix, below: Ix) -> bool {
        self.intervals.is_above(above, below)
    }

    /// Returns the cost of building the context of an entry.
    pub(crate) fn cost(&self, ix: Ix) -> usize {
        self.each + self.tree.ancestors(ix).count()
    }

    /// Returns all entries of the tree with their parents, each after its parent.
    pub(crate) fn walk(&self) -> impl Iterator<Item = (Ix, Option<Ix>)> + '_ {
        let mut stack: Vec<Ix> = self.tree.roots().collect();
        std::iter::from_fn(move || {
            let ix = stack.pop()?;
            stack.extend(self.tree.children(ix));
            Some((ix, self.tree.parent(ix)))
        })
    }
}

/// What the types of the entries on a path reveal about the context at its end.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    /// The number of entries.
    pub depth: u32,
    /// The last compaction.
    pub compaction: Option<Ix>,
    /// The first entry that it keeps, or else the compaction; if the context was cleared, the entry
    /// that cleared it.
    pub from: Option<Ix>,
    /// The first entry that counts: `from`, or else the root.
    pub begins: Ix,
    /// The number of entries that change others.
    pub edits: u32,
}

/// Returns the path to each entry; entries that are not in the tree have paths of length 0.
pub(crate) fn paths(session: &Session, tree: &AgentTree) -> Vec<Path> {
    let entries = &session.entries;
    let named = |name: &str| entries.types().iter().position(|ty| ty == name);
    let (compaction, reset, edit) = (named("compaction"), named("reset_boundary"), named("context_edit"));
    let mut kept: Vec<(Ix, Key)> = Vec::new();
    for note in session.side.iter().flat_map(|side| &side.notes) {
        if note.kind == crate::format::NoteKind::Kept {
            kept.push((note.entry, note.key));
        }
    }
    let none = Path { depth: 0, compaction: None, from: None, begins: Ix(0), edits: 0 };
    let mut paths = vec![none; entries.len()];
    let found = session.tree.find_all(entries, kept.iter().map(|(_, key)| *key));
    for (ix, above) in tree.walk() {
        let mut path = match above {
            Some(above) => paths[above.index()],
            None => Path { begins: ix, ..none },
        };
        path.depth += 1;
        let ty = Some(entries.type_at(ix));
        let is_boundary = session.format == Format::Claude && entries.kind(ix) == Kind::Compaction;
        if ty == compaction || is_boundary {
            let from = kept.partition_point(|(of, _)| *of < ix);
            let first = kept.get(from).filter(|(of, _)| *of == ix).and_then(|(_, key)| found.entry(*key));
            let first = first.filter(|first| !is_boundary && tree.is_above(*first, ix));
            path.compaction = Some(ix);
            path.from = Some(first.unwrap_or(ix));
        } else if ty == reset {
            path.compaction = None;
            path.from = Some(ix);
        }
        path.begins = path.from.unwrap_or(path.begins);
        path.edits += u32::from(ty == edit);
        paths[ix.index()] = path;
    }
    paths
}

/// Returns the entries with a bad result or call: a result without a call above it that is
/// certainly sent with it, a result that is not the first of its call, or a call whose id an
/// ancestor has.
pub(crate) fn bad_pairs(session: &Session, tree: &AgentTree) -> HashSet<Ix> {
    let mut bad = HashSet::new();
    let Some(side) = &session.side else { return bad };
    let mut tools: Vec<ToolRef> =
        side.tools.iter().filter(|tool| tree.tree.is_in_tree(tool.entry)).copied().collect();
    // A result that names no call has no call.
    let results: HashSet<Ix> = tools.iter().filter(|tool| tool.result).map(|tool| tool.entry).collect();
    let names_none = |ix: &Ix| session.entries.flags(*ix).has(Flags::RESULT) && !results.contains(ix);
    bad.extend(tree.tree.entries_in_tree().filter(names_none));
    if tools.is_empty() {
        return bad;
    }
    tools.sort_unstable_by_key(|tool| (tool.id, tool.entry, tool.result));
    let intervals = &tree.intervals;
    let starts = starts(session, tree);
    for group in tools.chunk_by(|one, other| one.id == other.id) {
        intervals.each_below(group, |(ix, is_call), above| {
            let is_sound = match (is_call, above) {
                (true, None) => true,
                (false, Some((call, true))) => {
                    starts[call.index()] == starts[ix.index()]
                        && session.entries.kind(call) == Kind::Assistant
                        && !session.entries.flags(call).has(Flags::ENDED_BADLY)
                }
                _ => false,
            };
            if !is_sound {
                bad.insert(ix);
            }
        });
    }
    bad
}

/// Returns for each entry how many entries on its path, including itself, can be the beginning of
/// the context.
fn starts(session: &Session, tree: &AgentTree) -> Vec<u32> {
    let entries = &session.entries;
    let notes = session.side.iter().flat_map(|side| &side.notes);
    let kept = notes.filter(|note| note.kind == crate::format::NoteKind::Kept).map(|note| note.key);
    let kept: HashSet<Key> = kept.collect();
    let may_start = |ix: Ix| {
        matches!(entries.ty(ix), "compaction" | "reset_boundary" | "context_edit")
            || entries.kind(ix) == Kind::Compaction
            || !kept.is_empty() && kept.contains(&entries.key(ix))
    };
    let mut starts = vec![0; entries.len()];
    for (ix, above) in tree.walk() {
        starts[ix.index()] = above.map_or(0, |above| starts[above.index()]) + u32::from(may_start(ix));
    }
    starts
}
