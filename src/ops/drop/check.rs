//! Compares what the agent would send before and after.

use super::removal::Removal;
use crate::context::{Context, Contexts, Sent};
use crate::format::claude::graph::ClaudeGraph;
use crate::format::{Format, Session};
use crate::model::{Ix, Piece, Planned, Tree};
use crate::ops::rewrite::{Lines, Rewrite};
use crate::ops::{Error, Snapshot};

/// How many entries are visited at most to compare messages, besides some for each entry of the
/// session; the links are compared for all branches.
const MOST_VISITED: usize = 1 << 19;

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
        let planned = Planned::new(self.before.source, self.pieces);
        let mut contexts = (Contexts::new(session, self.before.source), Contexts::new(after, &planned));
        let (was, is) = (Context::position(session), Context::position(after));
        self.compare(&mut contexts, was, is, "HEAD")?;
        if was.is_some() && session.head.entry.and_then(|ix| self.image(ix)) != after.head.entry {
            return Err(not_proven("HEAD would be another entry".into()));
        }
        let mut left = MOST_VISITED + 8 * session.entries.len();
        let mut compared = 1;
        for leaf in self.kept_leaves(tree) {
            // Building a context of Claude Code costs something for each entry.
            let each = if session.format == Format::Claude { session.entries.len() / 16 } else { 0 };
            let cost = each + tree.ancestors(leaf).count();
            let Some(rest) = left.checked_sub(cost) else { break };
            left = rest;
            let Some(image) = self.image(leaf) else {
                return Err(not_proven(format!("line {} would be lost", session.entries.line(leaf))));
            };
            self.compare(&mut contexts, Some(leaf), Some(image), "the end of a kept branch")?;
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

    fn compare(
        &self,
        (before, after): &mut (Contexts<'_>, Contexts<'_>),
        was: Option<Ix>,
        is: Option<Ix>,
        place: &str,
    ) -> Result<(), Error> {
        let before = Sent::at_leaf(before, was, |line| self.rewrite.new_line(self.lines, line))?;
        let after = Sent::at_leaf(after, is, Some)?;
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
                    let above = old.parent(ix).map(|above| self.image(self.removal.kept_at(above)?));
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
            let above = session.tree.parent(ix).and_then(|above| self.removal.kept_at(above));
            let above = above.and_then(|above| self.image(above));
            if self.image(ix).is_none_or(|image| self.after.tree.parent(image) != above) {
                return Err(not_proven(format!(
                    "line {} would be linked in another way",
                    session.entries.line(ix)
                )));
            }
        }
        Ok(())
    }
}

/// Returns the error for a plan that would change what is sent.
fn not_proven(what: String) -> Error {
    Error::NoPlace { what: format!("nothing was dropped: {what}"), instead: None }
}
