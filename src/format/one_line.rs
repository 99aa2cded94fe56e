//! Classifies single lines without their session.

use super::{Format, Gathered, LineVerdict};
use crate::json::Reader;
use crate::model::Kind;

/// Classifies single lines, without the session around them.
#[derive(Default)]
pub struct OneLine {
    reader: Reader,
}

impl OneLine {
    /// Returns the kind of the entry on a line, or `None` if the line is not an entry, e.g. because
    /// it is broken.
    pub fn kind(&mut self, format: Format, line: &[u8]) -> Option<Kind> {
        let mut kind = None;
        let mut place = |line: &crate::json::Line<'_>| {
            if let LineVerdict::Entry(link) = format.dialect().classify(line, &mut Gathered::default()) {
                kind = Some(link.kind);
            }
        };
        // Not as the first line, which may mean more than an entry to a format.
        self.reader.restart(0, 1);
        self.reader.feed(line, &mut place);
        // A line with an end is read much faster than the rest of a file.
        self.reader.feed(b"\n", &mut place);
        kind
    }
}
