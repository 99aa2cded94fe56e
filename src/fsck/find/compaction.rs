use super::claude::{Kept, kept_lists};
use super::{Finder, text_of};
use crate::format::Format;
use crate::fsck::checks::Check;
use crate::model::{Ix, Key, Kind};
use std::io;

/// What compactions and summaries name.
#[derive(Default)]
pub(super) struct Named {
    /// Compactions with the first entry that they keep.
    pub kept: Vec<(Ix, String)>,
    /// Summaries of branches with the entry that they are about.
    pub from: Vec<(Ix, String)>,
    /// Boundaries of Claude Code with what they keep.
    pub lists: Vec<(Ix, Kept)>,
}

impl Named {
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        let one = self.kept.iter().chain(&self.from).map(|(_, id)| Key::of(id.as_bytes()));
        one.chain(self.lists.iter().flat_map(|(_, kept)| kept.keys()))
    }
}

impl Finder<'_> {
    /// Reads the lines of compactions and summaries, which are rare.
    pub(super) fn read_compactions(&self) -> io::Result<Named> {
        let session = self.session;
        let mut named = Named::default();
        for ix in session.entries.all() {
            match session.entries.kind(ix) {
                Kind::Compaction if session.format == Format::Claude => {
                    if let Some(kept) = kept_lists(&self.line(ix)?) {
                        named.lists.push((ix, kept));
                    }
                }
                Kind::Compaction if session.tree.stands(ix) => {
                    let kept = text_of(&self.line(ix)?, session.format.names().kept);
                    named.kept.extend(kept.filter(|id| !id.is_empty()).map(|id| (ix, id)));
                }
                Kind::Summary if session.tree.stands(ix) => {
                    let from = text_of(&self.line(ix)?, "fromId");
                    named.from.extend(from.filter(|id| !id.is_empty() && id != "root").map(|id| (ix, id)));
                }
                _ => {}
            }
        }
        Ok(named)
    }

    /// What compactions keep and is not there.
    pub(super) fn compactions(&mut self) -> io::Result<()> {
        for (ix, kept) in std::mem::take(&mut self.named.kept) {
            let found = self.known.find(Key::of(kept.as_bytes()));
            match found {
                // pi names the compaction itself where it keeps nothing.
                Some(found) if found == ix => {}
                Some(found) if self.is_above(found, ix) => {}
                Some(found) => self.entry(Check::KeptOffPath, ix, Some(found), |_, _| {
                    Ok(format!("the first kept entry `{kept}` does not stand above the compaction"))
                })?,
                None => self.entry(Check::DanglingKept, ix, None, |_, _| {
                    Ok(format!("the first kept entry `{kept}` is not in this session"))
                })?,
            }
        }
        Ok(())
    }
}
