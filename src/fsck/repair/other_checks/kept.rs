//! Repairs of the first entry that a compaction keeps.

use crate::fsck::checks::kept_lists;
use crate::fsck::finding::Finding;
use crate::fsck::repair::Round;
use crate::fsck::repair::draft::{Draft, json};
use crate::fsck::table::Check;
use crate::json::{each_item, member_at};
use crate::model::{Ix, Key, Kind};
use std::collections::{HashMap, HashSet};
use std::io;

impl Round<'_> {
    /// Removes ids that do not exist from the lists of a boundary.
    pub(super) fn kept(&self, draft: &mut Draft<'_>, ix: Ix) -> io::Result<()> {
        let line = draft.bytes(ix)?;
        let Some(kept) = kept_lists(&line) else { return Ok(()) };
        let keys: HashSet<Key> =
            self.session.entries.keys().iter().chain(&self.recovery.deep).copied().collect();
        let is_there = |id: &String| keys.contains(&Key::hash(id.as_bytes()));
        let left: Vec<&String> = kept.uuids.iter().filter(|id| is_there(id)).collect();
        let list = |ids: &[&String]| {
            let ids: Vec<Vec<u8>> = ids.iter().map(|id| json(Some(id))).collect();
            [b"[", &ids.join(&b","[..])[..], b"]"].concat()
        };
        let path = |way: [&'static str; 2]| ["compactMetadata", way[0], way[1]];
        let check = Check::MissingKept;
        draft.set(ix, &path(["preservedMessages", "uuids"]), &list(&left), check)?;
        if let Some(all) = member_at(&line, &path(["preservedMessages", "allUuids"])) {
            let all: Vec<String> =
                each_item(all).filter_map(crate::json::string).map(|id| id.into_owned()).collect();
            let all: Vec<&String> = all.iter().filter(|id| is_there(id)).collect();
            draft.set(ix, &path(["preservedMessages", "allUuids"]), &list(&all), check)?;
        }
        if member_at(&line, &["compactMetadata", "preservedSegment"]).is_some()
            && let (Some(head), Some(tail)) = (left.first(), left.last())
        {
            draft.set(ix, &path(["preservedSegment", "headUuid"]), &json(Some(head)), check)?;
            draft.set(ix, &path(["preservedSegment", "tailUuid"]), &json(Some(tail)), check)?;
        }
        Ok(())
    }

    /// Names an entry on the path as the first that a compaction keeps.
    pub(super) fn first_kept(
        &self,
        draft: &mut Draft<'_>,
        finding: &Finding,
        ix: Ix,
        lines: &mut Lines,
    ) -> io::Result<()> {
        let next = finding
            .other
            .and_then(|other| self.nearest_on_branch(ix, other, lines))
            .filter(|next| *next != ix);
        // The kept part begins with a prompt: anywhere else, it could contain results without their
        // calls.
        let is_kind = |ix: &Ix, kind| self.session.entries.kind(*ix) == kind;
        let prompt = match next.filter(|next| is_kind(next, Kind::User)) {
            Some(next) => Some(next),
            None => self.prompt_above(next.unwrap_or(ix), lines),
        };
        let kept = prompt.or(next.filter(|next| !is_kind(next, Kind::Tool)));
        if let Some(kept) = kept {
            let id = draft.link_to(kept)?.unwrap_or_else(|| json(None));
            draft.set(ix, &[self.session.format.names().kept], &id, finding.check)?;
        }
        Ok(())
    }

    /// Returns the entry on this branch that is closest to an entry on another: the first on the
    /// path to `ix` that is not on that to `other`. If that is `ix` itself, returns the last one
    /// that both share.
    fn nearest_on_branch(&self, ix: Ix, other: Ix, lines: &mut Lines) -> Option<Ix> {
        if lines.other != Some(other) {
            lines.other = Some(other);
            lines.towards.clear();
        }
        let mut way = Vec::new();
        let mut at = ix;
        let next = loop {
            if let Some(known) = lines.towards.get(&at) {
                break *known;
            }
            match self.session.tree.parent(at) {
                None => break None,
                Some(above) if self.is_above(above, other) => break Some(at),
                Some(above) => {
                    way.push(at);
                    at = above;
                }
            }
        };
        lines.towards.extend(way.into_iter().map(|on| (on, next)));
        next.map(|next| if next == ix { self.session.tree.parent(ix).unwrap_or(ix) } else { next })
    }

    /// Returns the nearest prompt above an entry.
    fn prompt_above(&self, ix: Ix, lines: &mut Lines) -> Option<Ix> {
        let mut way = vec![ix];
        let mut at = self.session.tree.parent(ix);
        let prompt = loop {
            match at {
                None => break None,
                Some(ix) if self.session.entries.kind(ix) == Kind::User => break Some(ix),
                Some(ix) => match lines.prompts.get(&ix) {
                    Some(known) => break *known,
                    None => {
                        way.push(ix);
                        at = self.session.tree.parent(ix);
                    }
                },
            }
        };
        lines.prompts.extend(way.into_iter().map(|on| (on, prompt)));
        prompt
    }
}

/// Results of walking up from compactions, so that no entry is visited twice.
#[derive(Default)]
pub(super) struct Lines {
    /// The nearest prompt above each entry.
    prompts: HashMap<Ix, Option<Ix>>,
    /// The entry whose branch was asked about last, and for other entries where their path leaves
    /// its path.
    other: Option<Ix>,
    towards: HashMap<Ix, Option<Ix>>,
}
