//! A session together with the bytes of its files.

use super::ids;
use crate::format::Session;
use crate::model::{Ix, Source};
use std::io;

/// A session with the bytes of its lines.
#[derive(Clone, Copy)]
pub struct Snapshot<'s> {
    /// The session.
    pub session: &'s Session,
    /// Its bytes.
    pub source: &'s dyn Source,
}

impl Snapshot<'_> {
    /// Returns the line of an entry.
    pub fn line(self, ix: Ix) -> io::Result<Vec<u8>> {
        self.source.bytes(self.session.span(ix))
    }

    /// Reads the line of an entry into `into`, replacing its content.
    pub fn read(self, ix: Ix, into: &mut Vec<u8>) -> io::Result<()> {
        self.source.read(self.session.span(ix), into)
    }

    /// Returns the id of an entry, like [`ids::id`].
    pub fn id(self, ix: Ix) -> io::Result<String> {
        ids::id(self.session, self.source, ix)
    }

    /// Returns the id of an entry as it is in its line, like [`ids::raw`].
    pub fn raw_id(self, ix: Ix) -> io::Result<Vec<u8>> {
        ids::raw(self.session, self.source, ix)
    }

    /// Returns a name that can be used as an argument for an entry, like [`ids::name`].
    pub fn name(self, ix: Ix) -> io::Result<String> {
        ids::name(self.session, self.source, ix)
    }
}
