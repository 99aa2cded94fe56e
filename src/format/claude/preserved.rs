//! The lists of kept messages in a `compact_boundary` line.

use crate::json::{Edits, each_item, member};

const METADATA: &str = "compactMetadata";
const MESSAGES: &str = "preservedMessages";
const SEGMENT: &str = "preservedSegment";

/// The ids of kept messages that a `compact_boundary` line names, as the JSON in the line.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeptLists<'l> {
    messages: &'l [u8],
    segment: &'l [u8],
}

impl<'l> KeptLists<'l> {
    /// Finds the lists of a line.
    pub fn find(line: &'l [u8]) -> KeptLists<'l> {
        let metadata = member(line, METADATA).unwrap_or_default();
        let of = |key| member(metadata, key).unwrap_or_default();
        KeptLists { messages: of(MESSAGES), segment: of(SEGMENT) }
    }

    /// Returns the kept messages, in order.
    pub fn uuids(&self) -> impl Iterator<Item = &'l [u8]> + use<'l> {
        each_item(member(self.messages, "uuids").unwrap_or_default())
    }

    /// Returns the entries after which they are inserted: according to the list of messages, and
    /// according to the first and last one.
    pub fn anchors(&self) -> [Option<&'l [u8]>; 2] {
        [self.messages, self.segment].map(|object| member(object, "anchorUuid"))
    }

    /// Returns the first and the last kept message.
    pub fn ends(&self) -> [Option<&'l [u8]>; 2] {
        ["headUuid", "tailUuid"].map(|key| member(self.segment, key))
    }

    /// Returns a `compact_boundary` line without the lists, or `None` if the line is not an object
    /// or has no lists.
    pub fn stripped(line: &[u8]) -> Option<Vec<u8>> {
        let mut edits = Edits::begin(line)?;
        let metadata = edits.value(METADATA)?;
        let mut lists = Edits::begin(metadata)?;
        lists.remove(MESSAGES);
        lists.remove(SEGMENT);
        if lists.is_empty() {
            return None;
        }
        edits.set(METADATA, &lists.apply());
        Some(edits.apply())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_found_and_taken_out() {
        let line = br#"{"a":1.0,"compactMetadata":{"trigger":"manual","preservedMessages":{"anchorUuid":"s","uuids":["k",7]},"preservedSegment":{"headUuid":"k","anchorUuid":"t"},"preTokens":1E2}}"#;
        let lists = KeptLists::find(line);
        assert_eq!(lists.uuids().collect::<Vec<_>>(), [&b"\"k\""[..], b"7"]);
        assert_eq!(lists.anchors(), [Some(&b"\"s\""[..]), Some(b"\"t\"")]);
        assert_eq!(lists.ends(), [Some(&b"\"k\""[..]), None]);
        let bare = br#"{"a":1.0,"compactMetadata":{"trigger":"manual","preTokens":1E2}}"#;
        assert_eq!(KeptLists::stripped(line).as_deref(), Some(&bare[..]));
        assert_eq!(KeptLists::stripped(bare), None);
        assert_eq!(KeptLists::find(bare).uuids().count(), 0);
        assert_eq!(KeptLists::stripped(b"{}"), None);
        assert_eq!(KeptLists::stripped(br#"{"compactMetadata":{}}"#), None);
    }
}
