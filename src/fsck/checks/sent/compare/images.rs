//! Images that are sent before a repair and not after it.

use crate::format::Session;
use crate::fsck::Check;
use crate::fsck::examine::Examined;
use crate::fsck::rope::Text;
use crate::model::{Ix, Key};
use std::collections::{HashMap, HashSet};

/// What became of each entry that the agent read before.
pub(super) struct Images {
    /// By old entry: the new one.
    pub(super) of: Vec<Option<Ix>>,
    /// By new entry: the old one.
    pub(super) was: HashMap<Ix, Ix>,
    /// Entries that were removed on purpose.
    pub(super) gone: HashSet<Ix>,
    /// Copies of an id that the first entry with that id now represents: the first entry, by the
    /// copy.
    pub(super) first: HashMap<Ix, Ix>,
}

impl Images {
    pub(super) fn map(
        examined: &Examined,
        old: &Session,
        new: &Session,
        text: &Text,
        taken_apart: &HashSet<u64>,
    ) -> Images {
        let mut lines: Vec<(u64, Ix)> = new
            .entries
            .all()
            .map(|ix| (text.origin(new.entries.line(ix), new.span(ix).offset).line, ix))
            .filter(|(line, _)| *line > 0)
            .collect();
        lines.sort_unstable();
        let on = |line: u64| {
            let from = lines.partition_point(|(of, _)| *of < line);
            let to = from + lines[from..].partition_point(|(of, _)| *of == line);
            &lines[from..to]
        };
        let mut images = Images {
            of: vec![None; old.entries.len()],
            was: HashMap::new(),
            gone: HashSet::new(),
            first: HashMap::new(),
        };
        let mut by_key: Option<HashMap<Key, Ix>> = None;
        for ix in old.tree.entries_in_tree() {
            let (line, key) = (old.entries.line(ix), old.entries.key(ix));
            let image = match on(line) {
                [(_, only)] => Some(*only),
                [] => None,
                several => several.iter().map(|(_, at)| *at).find(|at| new.entries.key(*at) == key),
            };
            let image = image.or_else(|| {
                let by_key = by_key.get_or_insert_with(|| {
                    new.tree
                        .entries_in_tree()
                        .map(|ix| (new.entries.key(ix), ix))
                        .filter(|(key, _)| key.is_some())
                        .collect()
                });
                by_key.get(&key).copied()
            });
            images.of[ix.index()] = image;
        }
        let standing = old.tree.entries_in_tree();
        images.gone = standing
            .filter(|ix| taken_apart.contains(&old.entries.line(*ix)))
            .filter(|ix| on(old.entries.line(*ix)).is_empty())
            .collect();
        images.copies(examined, old, on);
        for ix in old.tree.entries_in_tree() {
            if let Some(image) = images.of[ix.index()] {
                images.was.insert(image, ix);
            }
        }
        for (copy, first) in &images.first {
            images.was.entry(*first).or_insert(*copy);
        }
        images
    }

    /// Finds the entries that now represent a copy of their id, because the copy got another id or
    /// was set aside.
    fn copies<'l>(&mut self, examined: &Examined, old: &Session, on: impl Fn(u64) -> &'l [(u64, Ix)]) {
        let copies = examined
            .findings
            .list
            .iter()
            .filter(|finding| matches!(finding.check, Check::DuplicateId | Check::DuplicateEntry));
        let mut firsts: HashMap<u64, u64> = HashMap::new();
        for finding in copies {
            if let (Some(copy), Some(first)) = (finding.entry, finding.other) {
                let line = |ix| {
                    let number = examined.session.entries.line(ix);
                    examined.text.origin(number, examined.session.span(ix).offset).line
                };
                firsts.insert(line(copy), line(first));
            }
        }
        if firsts.is_empty() {
            return;
        }
        for ix in old.tree.entries_in_tree() {
            if let Some(first) = firsts.get(&old.entries.line(ix))
                && let [(_, first), ..] = on(*first)
            {
                self.first.insert(ix, *first);
            }
        }
    }

    /// Returns the first entry that is lost, and the number of lost entries.
    pub(super) fn lost(&self, old: &Session) -> Option<(Ix, usize)> {
        // An entry that has no id and no place in the conversation is not one that anything could
        // lead to.
        let is_entry = |ix: Ix| old.entries.key(ix).is_some() || old.entries.kind(ix).is_turn();
        let is_lost = |ix: &Ix| {
            is_entry(*ix)
                && self.of[ix.index()].is_none()
                && !self.gone.contains(ix)
                && !self.first.contains_key(ix)
        };
        let mut lost = old.tree.entries_in_tree().filter(is_lost);
        let first = lost.next()?;
        Some((first, 1 + lost.count()))
    }

    /// Returns the entry that takes the place of another on paths.
    pub(super) fn on_path(&self, ix: Ix) -> Option<Ix> {
        if self.gone.contains(&ix) && !self.first.contains_key(&ix) {
            return None;
        }
        self.first.get(&ix).copied().or(self.of[ix.index()])
    }
}
