use super::ids;
use crate::format::Session;
use crate::model::{Ix, Source};
use std::io;

/// A session with the bytes of its lines.
#[derive(Clone, Copy)]
pub struct Whole<'s> {
    /// The session.
    pub session: &'s Session,
    /// Its bytes.
    pub source: &'s dyn Source,
}

impl Whole<'_> {
    /// The line of an entry.
    pub fn line(self, ix: Ix) -> io::Result<Vec<u8>> {
        self.source.bytes(self.session.span(ix))
    }

    /// Puts the line of an entry into `into`, whose old content is dropped.
    pub fn read(self, ix: Ix, into: &mut Vec<u8>) -> io::Result<()> {
        self.source.read(self.session.span(ix), into)
    }

    /// The id of an entry, as [`ids::id`].
    pub fn id(self, ix: Ix) -> io::Result<String> {
        ids::id(self.session, self.source, ix)
    }

    /// The id of an entry as it stands in its line, as [`ids::raw`].
    pub fn raw_id(self, ix: Ix) -> io::Result<Vec<u8>> {
        ids::raw(self.session, self.source, ix)
    }

    /// The name by which an entry can be asked for again, as [`ids::name`].
    pub fn name(self, ix: Ix) -> io::Result<String> {
        ids::name(self.session, self.source, ix)
    }
}
