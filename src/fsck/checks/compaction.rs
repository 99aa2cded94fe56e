//! Checks of the entries that compactions keep.

use super::Finder;
use super::claude::{Kept, kept_lists};
use crate::format::{Format, NoteKind};
use crate::fsck::table::Check;
use crate::model::{Ix, Kind};
use std::io;

impl Finder<'_> {
    /// Reads the lists of Claude Code's compactions, which are rare.
    pub(crate) fn read_lists(&self) -> io::Result<Vec<(Ix, Kept)>> {
        let session = self.session;
        let mut lists = Vec::new();
        if session.format == Format::Claude {
            for ix in session.entries.all().filter(|ix| session.entries.kind(*ix) == Kind::Compaction) {
                lists.extend(kept_lists(&self.line(ix)?).map(|kept| (ix, kept)));
            }
        }
        Ok(lists)
    }

    /// Checks for entries that compactions keep but that do not exist.
    pub(crate) fn compactions(&mut self) -> io::Result<()> {
        let session = self.session;
        for note in self.notes_of(NoteKind::Kept).filter(|note| session.tree.is_in_tree(note.entry)) {
            let ix = note.entry;
            let (check, other, words) = match self.known.entry(note.key) {
                // pi names the compaction itself if it keeps nothing.
                Some(found) if found == ix || self.is_above(found, ix) => continue,
                Some(found) => (Check::KeptOffPath, Some(found), "is not an ancestor of the compaction"),
                None if self.is_there(note.key) => continue,
                None => (Check::DanglingKept, None, "is not in this session"),
            };
            self.entry(check, ix, other, |finder, _| {
                let kept = finder.text(ix, session.format.names().kept)?.unwrap_or_default();
                Ok(format!("the first kept entry `{kept}` {words}"))
            })?;
        }
        Ok(())
    }
}
