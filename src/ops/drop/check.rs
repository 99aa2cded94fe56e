//! Compares what the agent would send before and after.

use super::removal::Removal;
use crate::context::{Context, Sent};
use crate::format::claude::graph::ClaudeGraph;
use crate::format::{Format, Session};
use crate::model::{Ix, Piece, Planned, Tree};
use crate::ops::rewrite::{Lines, Rewrite};
use crate::ops::{Error, Snapshot};

/// How many entries are visited at most to compare messages; the links are compared for all
/// branches.
const MOST_VISITED: usize = 1 << 24;

/// The comparison of what is sent before and after.
pub(super) struct Check<'a> {
    pub(super) before: Snapshot<'a>,
    pub(super) after: &'a Session,
    pub(super) pieces: &'a [Piece],
    pub(super) rewrite: &'a Rewrite,
    pub(super) lines: &'a Lines,
    pub(super) removal: &'a Removal<'a>,
}

impl Check<'_> {
    /// Compares the links of all entries, and what is sent at HEAD and at the ends of the kept branches; returns at
    /// how many places.
    pub(super) fn all(&self, tree: &Tree) -> Result<usize, Error> {
        let session = self.before.session;
        let after = self.after;
        self.links()?;
        let (was, is) = (Context::position(session), Context::position(after));
        self.compare(was, is, "HEAD")?;
        if was.is_some() && session.head.entry.and_then(|ix| self.image(ix)) != after.head.entry {
            return Err(not_proven("HEAD would be another entry".into()));
        }
        let mut left = MOST_VISITED;
        let mut compared = 1;
        for leaf in self.kept_leaves(tree) {
            let cost = match session.format {
                Format::Claude => 4 * session.entries.len(),
                _ => tree.ancestors(leaf).count(),
            };
            let Some(rest) = left.checked_sub(cost) else { break };
            left = rest;
            let Some(image) = self.image(leaf) else {
                return Err(not_proven(format!("line {} would be lost", session.entries.line(leaf))));
            };
            self.compare(Some(leaf), Some(image), "the end of a kept branch")?;
            compared += 1;
        }
        Ok(compared)
    }

    /// Returns the ends of kept branches, as `log` shows them, and as the links are stored.
    fn kept_leaves(&self, tree: &Tree) -> Vec<Ix> {
        let session = self.before.session;
        let is_kept = |leaf: &Ix| {
            !self.removal.gone[leaf.index()]
                && !self.removal.moved.contains(leaf)
                && session.entries.file(*leaf) == 0
        };
        let mut leaves: Vec<Ix> = tree.leaves().chain(session.tree.leaves()).filter(is_kept).collect();
        leaves.sort_unstable();
        leaves.dedup();
        leaves
    }

    /// Returns what became of an entry.
    pub(super) fn image(&self, ix: Ix) -> Option<Ix> {
        let line = self.rewrite.new_line(self.lines, self.before.session.entries.line(ix))?;
        self.after.entries.on_line(0, line)
    }

    fn compare(&self, was: Option<Ix>, is: Option<Ix>, place: &str) -> Result<(), Error> {
        let Snapshot { session, source } = self.before;
        let planned = Planned::new(source, self.pieces);
        let number = |line| self.rewrite.new_line(self.lines, line);
        let before = Sent::at_leaf(session, source, was, number)?;
        let after = Sent::at_leaf(self.after, &planned, is, Some)?;
        match before.difference(&after) {
            None => Ok(()),
            Some(difference) => Err(not_proven(format!("at {place}, {difference}"))),
        }
    }

    /// Compares the links of all kept entries: the agent must reach each of them as before. With their lines, that
    /// decides what is sent at the end of every branch.
    fn links(&self) -> Result<(), Error> {
        let session = self.before.session;
        let kept = session
            .entries
            .all()
            .filter(|ix| !self.removal.gone[ix.index()] && session.entries.file(*ix) == 0);
        if session.format == Format::Claude {
            let (old, new) = (ClaudeGraph::new(session), ClaudeGraph::new(self.after));
            let facts = |loader: &ClaudeGraph<'_>, ix: Ix| {
                (loader.is_loaded(ix), loader.is_kept(ix), loader.is_bridged(ix))
            };
            for ix in kept {
                let image = self.image(ix).filter(|image| {
                    let above = old.parent(ix).map(|above| self.nearest(above));
                    facts(&old, ix) == facts(&new, *image)
                        && above.is_none_or(|above| above == new.parent(*image))
                });
                if image.is_none() {
                    return Err(not_proven(format!(
                        "line {} would be linked in another way",
                        session.entries.line(ix)
                    )));
                }
            }
            return Ok(());
        }
        for ix in kept.filter(|ix| session.tree.is_in_tree(*ix)) {
            let above = session.tree.parent(ix).and_then(|above| self.nearest(above));
            if self.image(ix).is_none_or(|image| self.after.tree.parent(image) != above) {
                return Err(not_proven(format!(
                    "line {} would be linked in another way",
                    session.entries.line(ix)
                )));
            }
        }
        Ok(())
    }

    /// Returns the image of the nearest kept entry at or above another.
    fn nearest(&self, ix: Ix) -> Option<Ix> {
        let kept = self.before.session.tree.ancestors(ix).find(|above| !self.removal.gone[above.index()])?;
        self.image(kept)
    }
}

/// Returns the error for a plan that would change what is sent.
fn not_proven(what: String) -> Error {
    Error::NoPlace { what: format!("nothing was dropped: {what}"), instead: None }
}
