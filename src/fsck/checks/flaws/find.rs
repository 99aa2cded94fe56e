//! Checks for entries that their agent can't read or can't send.

use crate::format::flaws::{Flaw, FlawKind, flaws};
use crate::format::{Format, NoteKind};
use crate::fsck::checks::Finder;
use crate::fsck::table::Check;
use std::io;

/// Returns the check to which a kind of flaw belongs.
pub(in crate::fsck) fn check_of(kind: FlawKind) -> Check {
    match kind {
        FlawKind::NoMessage => Check::NoMessage,
        FlawKind::Field => Check::UnreadableField,
        FlawKind::Role => Check::UnsentRole,
        FlawKind::Content => Check::UnsendableContent,
        FlawKind::Call => Check::NamelessCall,
        FlawKind::Usage => Check::MissingUsage,
    }
}

impl Finder<'_> {
    /// Checks for fields that make the agent crash, or the request fail.
    pub(crate) fn flaws(&mut self) -> io::Result<()> {
        let v1 = self.session.format == Format::PiV1;
        for note in self.notes_of(NoteKind::Flawed) {
            let found = flaws(self.session.format, &self.line(note.entry)?);
            for Flaw { kind, words, cure } in found {
                self.entry(check_of(kind), note.entry, None, |_, _| Ok(words))?;
                // Without ids there are no links, so removing an entry would shift the positions of
                // those after it.
                if v1 && !matches!(cure, crate::format::flaws::Cure::Set(..)) {
                    self.mark_unrepairable();
                }
            }
        }
        Ok(())
    }
}
