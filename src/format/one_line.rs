use super::{Format, Gathered, Place};
use crate::json::Reader;
use crate::model::Kind;

/// Looks at single lines, without the session around them.
#[derive(Default)]
pub struct OneLine {
    reader: Reader,
}

impl OneLine {
    /// What kind of entry a line is; `None` where it is none, as where it is broken.
    pub fn kind(&mut self, format: Format, line: &[u8]) -> Option<Kind> {
        let mut kind = None;
        let mut place = |line: &crate::json::Line<'_>| {
            if let Place::Entry(link) = format.dialect().place(line, &mut Gathered::default()) {
                kind = Some(link.kind);
            }
        };
        // Not as the first line: that may be more than an entry to a format.
        self.reader.restart(0, 1);
        self.reader.feed(line, &mut place);
        self.reader.finish(&mut place);
        kind
    }
}
