//! Repairs of entries without an id, and of ids that occur twice.

use crate::format::{Ids, NoteKind};
use crate::fsck::checks::{Original, Same, id_of};
use crate::fsck::finding::Finding;
use crate::fsck::repair::Round;
use crate::fsck::repair::draft::{Draft, json};
use crate::fsck::table::Check;
use crate::json::{member_at, string_of};
use crate::model::{Ix, Key, Parent, Source};
use std::collections::{HashMap, HashSet};
use std::io;

impl Round<'_> {
    /// Repairs entries without an id.
    pub(super) fn missing_ids(
        &self,
        draft: &mut Draft<'_>,
        wanted: &[&Finding],
        ids: &mut Ids,
    ) -> io::Result<()> {
        let session = self.session;
        let names = session.format.names();
        let taken = session.entries.keys();
        let without: HashSet<Ix> = wanted
            .iter()
            .filter(|finding| finding.check == Check::MissingId)
            .filter_map(|finding| finding.entry)
            .collect();
        if without.is_empty() {
            return Ok(());
        }
        let numbers: HashSet<Ix> = self.notes_of(NoteKind::NumberId).map(|note| note.entry).collect();
        // Their parent is repaired, too, and the entry right above may have had no usable id.
        let odd: HashSet<Ix> = wanted
            .iter()
            .filter(|finding| finding.check == Check::DanglingParent)
            .filter_map(|finding| finding.entry)
            .filter(|ix| session.tree.link(*ix) == Parent::Root)
            .collect();
        let mut given: Vec<String> = Vec::new();
        let places = if numbers.is_empty() { HashMap::new() } else { session.places() };
        for ix in session.entries.all() {
            if !without.contains(&ix) {
                given.push(String::new());
                continue;
            }
            let next = Ix(ix.0 + 1);
            let lost = self.lost_id(draft, next)?;
            let is_number = numbers.contains(&ix);
            let children: Vec<Ix> = if is_number { session.tree.children(ix).collect() } else { Vec::new() };
            let id = match lost.filter(|_| children.is_empty()) {
                Some(id) => {
                    draft.restored.insert(id.clone());
                    id
                }
                None if is_number => Some(draft.id(ix)?)
                    .filter(|id| !places.contains_key(&Key::hash(id.as_bytes())))
                    .unwrap_or_else(|| ids.entry(session.format, taken)),
                None => ids.entry(session.format, taken),
            };
            draft.set(ix, &[names.id], &json(Some(&id)), Check::MissingId)?;
            let below = (!is_number && odd.contains(&next) && !self.is_above(next, ix)).then_some(next);
            for child in children.into_iter().chain(below) {
                draft.set(child, &[names.parent], &json(Some(&id)), Check::MissingId)?;
            }
            let line = draft.bytes(ix)?;
            if !is_number && id_of(&line, &[names.parent]).is_none() {
                let before = match ix.0.checked_sub(1).map(Ix) {
                    Some(before) if given[before.index()].is_empty() => draft.link_to(before)?,
                    Some(before) => Some(json(Some(&given[before.index()]))),
                    None => None,
                };
                // Not below itself, if lines are out of order.
                let rings = draft.restored.contains(&id)
                    && ix.0.checked_sub(1).is_some_and(|before| self.is_above(next, Ix(before)));
                let before = before.filter(|_| !rings).unwrap_or_else(|| json(None));
                draft.set(ix, &[names.parent], &before, Check::MissingId)?;
            }
            // Version 1 counts the header as 0; the first kept entry must be above.
            let index = member_at(&line, &["firstKeptEntryIndex"])
                .and_then(|raw| std::str::from_utf8(raw).ok()?.parse::<usize>().ok());
            if let Some(index) = index.filter(|index| (1..=given.len()).contains(index))
                && member_at(&line, &[names.kept]).is_none()
            {
                let kept = given[index - 1].clone();
                if !kept.is_empty() {
                    draft.set(ix, &[names.kept], &json(Some(&kept)), Check::MissingId)?;
                }
            }
            given.push(id);
        }
        Ok(())
    }

    /// Returns the id that an entry lost: if the next one names a parent that does not exist, it is
    /// that.
    fn lost_id(&self, draft: &mut Draft<'_>, next: Ix) -> io::Result<Option<String>> {
        let session = self.session;
        let names = session.format.names();
        Ok((next.index() < session.entries.len() && session.tree.link(next) == Parent::Missing)
            .then(|| draft.bytes(next))
            .transpose()?
            .and_then(|line| string_of(&line, names.parent))
            .filter(|id| !id.is_empty() && !draft.restored.contains(id))
            .filter(|id| !self.recovery.deep.contains(&Key::hash(id.as_bytes()))))
    }

    /// Repairs entries with the id of another.
    pub(super) fn repeated_ids(
        &self,
        draft: &mut Draft<'_>,
        wanted: &[&Finding],
        ids: &mut Ids,
    ) -> io::Result<()> {
        let session = self.session;
        let names = session.format.names();
        let taken = session.entries.keys();
        let mut copies: Vec<(Ix, Ix, Check)> = wanted
            .iter()
            .filter(|finding| matches!(finding.check, Check::DuplicateId | Check::DuplicateEntry))
            .filter_map(|finding| Some((finding.other?, finding.entry?, finding.check)))
            .collect();
        copies.sort_unstable();
        let mut original: Option<(Ix, Original)> = None;
        for (first, ix, check) in copies {
            if check == Check::DuplicateEntry {
                draft.set_aside(ix, check)?;
                continue;
            }
            if original.as_ref().is_none_or(|(of, _)| *of != first) {
                original =
                    Some((first, Original::new(self.source.bytes(session.span(first))?, session.format)));
            }
            let copy = self.source.bytes(session.span(ix))?;
            let same = original.as_ref().map_or(Same::Nothing, |(_, original)| original.compare(&copy));
            match same {
                Same::All | Same::Message => draft.set_aside(ix, check)?,
                Same::Nothing => {
                    let id = ids.entry(session.format, taken);
                    draft.set(ix, &[names.id], &json(Some(&id)), check)?;
                }
            }
        }
        Ok(())
    }
}
