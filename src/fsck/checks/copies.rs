//! Checks for repeated ids.

use super::Finder;
use crate::format::Format;
use crate::format::claude::KeptLists;
use crate::fsck::table::Check;
use crate::json::member;
use crate::model::{Ix, Key, Kind};
use std::collections::HashSet;
use std::io;

impl Finder<'_> {
    /// Checks for entries with an id that an earlier entry has.
    pub(crate) fn copies(&mut self) -> io::Result<()> {
        let session = self.session;
        if session.format.stores_again() || session.tree.shadowed().len() == 0 {
            return Ok(());
        }
        let shadowed: HashSet<Key> = session.tree.shadowed().map(|ix| session.entries.key(ix)).collect();
        let mut groups: Vec<(Key, Ix)> = session
            .entries
            .all()
            .filter(|ix| shadowed.contains(&session.entries.key(*ix)))
            .map(|ix| (session.entries.key(ix), ix))
            .collect();
        groups.sort_unstable();
        let kept: HashSet<Key> = self.lists.iter().flat_map(|(_, kept)| kept.keys()).collect();
        let mut found = Vec::new();
        for group in groups.chunk_by(|one, other| one.0 == other.0) {
            let first = group[0].1;
            let original = Original::new(self.line(first)?, session.format);
            for (key, ix) in &group[1..] {
                let copy = self.line(*ix)?;
                let check = original.compare(&copy);
                // Claude Code writes kept messages again, but not as entries of another kind.
                let is_same_kind = session.entries.kind(first) == session.entries.kind(*ix);
                let meant = session.format == Format::Claude
                    && (kept.contains(key) && is_same_kind
                        || session.entries.kind(*ix) == Kind::Compaction
                            && original.differs_in_lists_only(&copy));
                match check {
                    Same::All => found.push((*ix, first, Check::DuplicateEntry)),
                    Same::Message | Same::Nothing if meant => {}
                    Same::Message | Same::Nothing => found.push((*ix, first, Check::DuplicateId)),
                }
            }
        }
        found.sort_unstable();
        for (ix, first, check) in found {
            self.entry(check, ix, Some(first), |finder, id| {
                let line = finder.origin_line(first);
                Ok(match check {
                    Check::DuplicateEntry => format!("a copy of the entry on line {line}"),
                    _ => format!("the entry on line {line} has the same id `{id}` but different contents"),
                })
            })?;
        }
        Ok(())
    }
}

/// How similar two entries with the same id are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fsck) enum Same {
    /// Equal in everything.
    All,
    /// Equal in content.
    Message,
    /// Different.
    Nothing,
}

/// The first entry with an id, with which its copies are compared.
pub(in crate::fsck) struct Original {
    line: Vec<u8>,
    format: Format,
    parsed: Option<serde_json::Value>,
}

impl Original {
    pub(in crate::fsck) fn new(line: Vec<u8>, format: Format) -> Original {
        let parsed = serde_json::from_slice(&line).ok();
        Original { line, format, parsed }
    }

    pub(in crate::fsck) fn compare(&self, copy: &[u8]) -> Same {
        if self.line.trim_ascii() == copy.trim_ascii() {
            return Same::All;
        }
        let (Some(one), Ok(other)) = (&self.parsed, serde_json::from_slice::<serde_json::Value>(copy)) else {
            return Same::Nothing;
        };
        if *one == other {
            return Same::All;
        }
        let message = |value: &serde_json::Value| match value.get("message") {
            Some(message) => (value.get("type").cloned(), message.clone()),
            None => {
                let mut rest = value.clone();
                if let Some(object) = rest.as_object_mut() {
                    object.remove(self.format.names().parent);
                    object.remove(self.format.names().time);
                }
                (None, rest)
            }
        };
        if message(one) == message(&other) { Same::Message } else { Same::Nothing }
    }

    /// Returns whether a boundary of Claude Code was written again with other lists of kept
    /// messages.
    fn differs_in_lists_only(&self, copy: &[u8]) -> bool {
        let bare = |line: &[u8]| -> Option<serde_json::Value> {
            member(line, "compactMetadata")?;
            let stripped = KeptLists::stripped(line);
            serde_json::from_slice(stripped.as_deref().unwrap_or(line)).ok()
        };
        bare(&self.line).is_some_and(|one| Some(one) == bare(copy))
    }
}
