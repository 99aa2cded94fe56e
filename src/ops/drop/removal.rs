//! Composes a file anew without the lines that belong to dropped entries.

use super::{keys_of, with_copies};
use crate::format::{Format, OtherKind};
use crate::json::{Edits, member_at, string};
use crate::model::{Change, Ix, Key, Span, Tree};
use crate::ops::rewrite::Rewrite;
use crate::ops::{Error, Snapshot, ids};
use std::collections::{HashMap, HashSet};
use std::io;

/// The lines to remove.
pub(super) struct Removal<'a> {
    pub(super) whole: Snapshot<'a>,
    /// By entry: whether its line is removed.
    pub(super) gone: Vec<bool>,
    /// Lines on dropped branches that are kept, because they are about kept entries or the session.
    pub(super) moved: HashSet<Ix>,
    /// The ids of the dropped entries.
    pub(super) keys: HashSet<Key>,
    /// By dropped entry: its nearest kept ancestor.
    kept_above: HashMap<Ix, Option<Ix>>,
}

impl<'a> Removal<'a> {
    pub(super) fn new(whole: Snapshot<'a>, gone: Vec<bool>) -> Result<Removal<'a>, Error> {
        let session = whole.session;
        let mut keys = keys_of(session, &gone);
        let mut gone = with_copies(session, gone);
        let mut moved = HashSet::new();
        let places = if session.labels.lines.is_empty() { HashMap::new() } else { session.places() };
        for label in session.labels.lines.iter() {
            if let Some(entry) = label.entry.filter(|entry| gone[entry.index()])
                && !keys.contains(&label.target)
                && places.contains_key(&label.target)
            {
                moved.insert(entry);
            }
        }
        let names = session.entries.all().filter(|ix| session.entries.ty(*ix) == "session_info");
        if let Some(name) = names.last().filter(|name| gone[name.index()]) {
            moved.insert(name);
        }
        for ix in &moved {
            gone[ix.index()] = false;
            keys.remove(&session.entries.key(*ix));
        }
        // Two entries on one line can't be told apart.
        for ix in session.entries.all().skip(1) {
            let before = Ix(ix.0 - 1);
            let is_same = session.entries.line(before) == session.entries.line(ix)
                && session.entries.file(before) == session.entries.file(ix);
            if is_same && gone[before.index()] != gone[ix.index()] {
                return Err(Error::NoPlace {
                    what: format!(
                        "line {} contains two entries, and only one of them would be dropped",
                        session.entries.line(ix)
                    ),
                    instead: Some("`bough fsck --repair` splits the line".into()),
                });
            }
        }
        let kept_above = kept_above(&session.tree, &gone);
        Ok(Removal { whole, gone, moved, keys, kept_above })
    }

    /// Returns the nearest kept entry at or above another.
    pub(super) fn kept_at(&self, ix: Ix) -> Option<Ix> {
        match self.gone[ix.index()] {
            true => self.kept_above.get(&ix).copied().flatten(),
            false => Some(ix),
        }
    }

    /// Removes the lines of the entries, and links kept lines below them to the nearest kept ancestor; returns how
    /// many those are.
    pub(super) fn entries(&self, rewrite: &mut Rewrite) -> Result<usize, Error> {
        let Snapshot { session, source } = self.whole;
        let names = session.format.names();
        let mut linked = 0;
        for ix in session.entries.all().filter(|ix| session.entries.file(*ix) == 0) {
            let (span, line) = (session.span(ix), session.entries.line(ix));
            if self.gone[ix.index()] {
                let why = format!("a dropped entry of kind {}", session.entries.kind(ix).name());
                let change = Change { id: ids::id(session, source, ix)?, why, ..Change::default() };
                rewrite.remove(session, source, span, line, change)?;
                continue;
            }
            let parent = session.tree.parent(ix).filter(|parent| self.gone[parent.index()]);
            let Some(parent) = parent.filter(|_| session.tree.is_in_tree(ix)) else { continue };
            let kept = self.kept_at(parent).map_or(Ok(b"null".to_vec()), |kept| self.whole.raw_id(kept))?;
            let bytes = source.bytes(span)?;
            let Some(mut edits) = Edits::begin(&bytes) else { continue };
            edits.set(names.parent, &kept);
            rewrite.edit(span, line, &ids::id(session, source, ix)?, &edits, "its parent is dropped");
            linked += 1;
        }
        Ok(linked)
    }

    /// Removes the lines that are not entries and name a dropped one; returns how many there are.
    pub(super) fn notes(&self, rewrite: &mut Rewrite) -> Result<usize, Error> {
        let Snapshot { session, source } = self.whole;
        let pointers: HashSet<u64> = session
            .pointers
            .iter()
            .filter(|pointer| pointer.target.is_some_and(|target| self.keys.contains(&target)))
            .map(|pointer| pointer.line)
            .collect();
        let labels: HashSet<u64> = session
            .labels
            .lines
            .iter()
            .filter(|label| label.entry.is_none() && self.keys.contains(&label.target))
            .map(|label| label.line)
            .collect();
        let mut count = 0;
        for other in session.others.iter().filter(|other| other.span.file == 0) {
            let why = match other.kind {
                OtherKind::Pointer if pointers.contains(&other.line) => "points to a dropped entry",
                OtherKind::Label if labels.contains(&other.line) => "labels a dropped entry",
                OtherKind::Note
                    if session.format == Format::Claude && self.is_about_dropped(other.span)? =>
                {
                    "is about a dropped entry"
                }
                _ => continue,
            };
            rewrite.remove(
                session,
                source,
                other.span,
                other.line,
                Change { why: why.into(), ..Change::default() },
            )?;
            count += 1;
        }
        Ok(count)
    }

    /// Returns whether a line about the session is only about a dropped entry: a snapshot of files, or the title of
    /// old versions.
    fn is_about_dropped(&self, span: Span) -> io::Result<bool> {
        // The fields come before anything long.
        let head = self.whole.source.bytes(Span { len: span.len.min(4096), ..span })?;
        let text = |key: &str| member_at(&head, &[key]).and_then(string);
        let key = match text("type").as_deref() {
            Some("file-history-snapshot" | "file-history-delta" | "attribution-snapshot") => "messageId",
            Some("summary") => "leafUuid",
            _ => return Ok(false),
        };
        Ok(text(key).is_some_and(|id| self.keys.contains(&Key::hash(id.as_bytes()))))
    }
}

/// Returns the nearest kept ancestor of each dropped entry.
fn kept_above(tree: &Tree, gone: &[bool]) -> HashMap<Ix, Option<Ix>> {
    let mut known: HashMap<Ix, Option<Ix>> = HashMap::new();
    let mut path = Vec::new();
    for ix in (0..gone.len() as u32).map(Ix).filter(|ix| gone[ix.index()]) {
        let mut at = Some(ix);
        let kept = loop {
            match at {
                Some(above) if gone[above.index()] => {
                    if let Some(kept) = known.get(&above) {
                        break *kept;
                    }
                    path.push(above);
                    at = tree.parent(above);
                }
                kept => break kept,
            }
        };
        known.extend(path.drain(..).map(|ix| (ix, kept)));
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_entries_have_the_nearest_kept_entry_above() {
        // A chain 0 to 5, of which 1, 2 and 4 are dropped; a dropped tree 7 - 6.
        let parents = [None, Some(0), Some(1), Some(2), Some(3), Some(4), Some(7), None];
        let tree = Tree::of_links(parents.into_iter().map(|parent| parent.map(Ix)), std::iter::empty());
        let gone = [false, true, true, false, true, false, true, true];
        let mut above: Vec<(u32, Option<u32>)> =
            kept_above(&tree, &gone).into_iter().map(|(ix, above)| (ix.0, above.map(|ix| ix.0))).collect();
        above.sort();
        assert_eq!(above, [(1, Some(0)), (2, Some(0)), (4, Some(3)), (6, None), (7, None)]);
    }
}
