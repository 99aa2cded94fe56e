//! Entries that their agent can't read, or can't send.

use crate::format::flaws::{Flaw, FlawKind, flaws};
use crate::format::{Format, NotedKind};
use crate::fsck::checks::Finder;
use crate::fsck::table::Check;
use std::io;

/// The check that a kind of flaw belongs to.
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
    /// Fields that end the agent, or the request.
    pub(crate) fn flaws(&mut self) -> io::Result<()> {
        let v1 = self.session.format == Format::PiV1;
        for noted in self.noted(NotedKind::Flawed) {
            let found = flaws(self.session.format, &self.line(noted.entry)?);
            for Flaw { kind, words, cure } in found {
                self.entry(check_of(kind), noted.entry, None, |_, _| Ok(words))?;
                // Without ids there are no links, so an entry that goes would take its place from those after it.
                if v1 && !matches!(cure, crate::format::flaws::Cure::Set(..)) {
                    self.unmendable();
                }
            }
        }
        Ok(())
    }
}
