//! The branches that are compared: each end, and where its path leaves one that is clear.

use super::{Compared, compacting_notes, is_alike, is_followed, tools_by_entry};
use crate::format::Session;
use crate::fsck::checks::links::agent::{AgentTree, Path, bad_pairs, paths};
use crate::model::Ix;
use std::collections::HashSet;

/// The results of one walk over all links for each path.
pub(super) struct Walk<'a> {
    pub(super) old: &'a AgentTree,
    pub(super) new: &'a AgentTree,
    /// By old entry: whether its whole path is on that of its image, in the same order.
    pub(super) holds: Vec<bool>,
    /// By old entry: its image, or that of its nearest ancestor that has one.
    pub(super) image: Vec<Option<Ix>>,
    /// By old entry: how many entries of its path have an image.
    pub(super) len: Vec<u32>,
    /// By old entry: how many of the images on its path are bad results or calls.
    pub(super) bad: Vec<u32>,
    /// By old entry: whether parts of replies or results changed that are beside its path, but may
    /// be sent with it.
    pub(super) beside: Vec<bool>,
    /// By new entry of Claude Code that is not a turn: whether it or a note below it is a
    /// compaction. Claude Code continues from the last note below a turn.
    pub(super) compacts: Vec<bool>,
    /// The same by old entry.
    pub(super) compacted: Vec<bool>,
    pub(super) old_paths: Vec<Path>,
    pub(super) new_paths: Vec<Path>,
    pub(super) new_bad: Vec<u32>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(proof: &Compared<'a>) -> Walk<'a> {
        let (old_tree, new_tree) = (proof.old_tree, proof.new_tree);
        let (old, new) = (proof.before.session, proof.after.session);
        let count = old.entries.len();
        let old_bad = bad_pairs(old, old_tree);
        let is_bad = bad_pairs(new, new_tree);
        let edited: HashSet<u64> = proof.content_changes();
        let mut walk = Walk {
            old: old_tree,
            new: new_tree,
            holds: vec![false; count],
            image: vec![None; count],
            len: vec![0; count],
            bad: vec![0; count],
            beside: vec![false; count],
            compacts: compacting_notes(new, new_tree),
            compacted: compacting_notes(old, old_tree),
            old_paths: paths(old, old_tree),
            new_paths: paths(new, new_tree),
            new_bad: vec![0; new.entries.len()],
        };
        for (ix, above) in new_tree.walk() {
            let bad = above.map_or(0, |above| walk.new_bad[above.index()]);
            walk.new_bad[ix.index()] = bad + u32::from(is_bad.contains(&ix));
        }
        let old_tools = tools_by_entry(old);
        let new_tools = tools_by_entry(new);
        let beside = proof.with_changed_parts(&old_tools, &new_tools);
        for (ix, above) in old_tree.walk() {
            walk.beside[ix.index()] =
                beside.contains(&ix) || above.is_some_and(|above| walk.beside[above.index()]);
            let up = above.map_or((true, None, 0, 0), |above| {
                let at = above.index();
                (walk.holds[at], walk.image[at], walk.len[at], walk.bad[at])
            });
            let (holds, image_above, len, bad) = up;
            let (holds, image, len, bad) = match proof.images.on_path(ix) {
                None => (holds, image_above, len, bad),
                Some(image) => {
                    let below = image_above.is_none_or(|above| new_tree.is_above(above, image));
                    let same = !edited.contains(&old.entries.line(ix))
                        && is_alike(old, ix, &old_tools, new, image, &new_tools);
                    let worse = is_bad.contains(&image) && !old_bad.contains(&ix);
                    let bad = bad + u32::from(is_bad.contains(&image));
                    (holds && below && same && !worse, Some(image), len + 1, bad)
                }
            };
            let at = ix.index();
            (walk.holds[at], walk.image[at], walk.len[at], walk.bad[at]) = (holds, image, len, bad);
        }
        walk
    }

    pub(super) fn image(&self, ix: Ix) -> Option<Ix> {
        self.image[ix.index()]
    }

    /// Returns the end of a branch after the repair, given its old end. It may be an entry that was
    /// above it.
    pub(super) fn end(&self, leaf: Ix) -> Option<Ix> {
        /// The maximum number of entries that may have changed places with their ancestors.
        const MOST_RISEN: usize = 64;
        let image = self.image(leaf)?;
        if self.new.is_leaf(image) {
            return Some(image);
        }
        let above = self.old.ancestors(leaf).take(MOST_RISEN).filter_map(|above| self.image(above));
        let below = above.filter(|above| self.new.is_above(image, *above));
        below.max_by_key(|below| self.new_paths[below.index()].depth)
    }

    /// Returns whether a compaction follows a turn of Claude Code that none followed before.
    pub(super) fn is_followed_anew(&self, old: &Session, turn: Ix) -> bool {
        old.entries.kind(turn).is_turn()
            && self.image(turn).is_some_and(|image| is_followed(&self.compacts, self.new, image))
            && !is_followed(&self.compacted, self.old, turn)
    }

    /// Returns whether the links show that everything that was sent at `leaf` is sent at `end`, and
    /// nothing bad in addition.
    pub(super) fn is_clear(&self, leaf: Ix, end: Ix) -> bool {
        let at = leaf.index();
        if !self.holds[at] || self.old.goes_by_lines || self.new.goes_by_lines {
            return false;
        }
        if is_followed(&self.compacts, self.new, end) {
            return false;
        }
        let (old, new) = (&self.old_paths[at], &self.new_paths[end.index()]);
        if new.depth == self.len[at] {
            return self.image[at] == Some(end);
        }
        let depth = |ix: Ix| self.new_paths[ix.index()].depth;
        let same_compaction = old
            .compaction
            .is_none_or(|old| new.compaction.is_some() && self.image[old.index()] == new.compaction);
        let kept = match (new.from, self.image[old.begins.index()]) {
            (None, _) => true,
            (Some(from), Some(begins)) => depth(from) <= depth(begins),
            (Some(_), None) => false,
        };
        same_compaction && kept && old.edits == new.edits && self.new_bad[end.index()] == self.bad[at]
    }
}
