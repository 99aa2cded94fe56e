use crate::json::{Edits, each_item, member};

const METADATA: &str = "compactMetadata";
const MESSAGES: &str = "preservedMessages";
const SEGMENT: &str = "preservedSegment";

/// What a `compact_boundary` line names of messages that were kept: ids, as JSON, as they stand there.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeptLists<'l> {
    messages: &'l [u8],
    segment: &'l [u8],
}

impl<'l> KeptLists<'l> {
    /// Finds the lists of a line.
    pub fn of(line: &'l [u8]) -> KeptLists<'l> {
        let metadata = member(line, METADATA).unwrap_or_default();
        let of = |key| member(metadata, key).unwrap_or_default();
        KeptLists { messages: of(MESSAGES), segment: of(SEGMENT) }
    }

    /// The kept messages, in order.
    pub fn uuids(&self) -> impl Iterator<Item = &'l [u8]> + use<'l> {
        each_item(member(self.messages, "uuids").unwrap_or_default())
    }

    /// What they are put behind: as the list of messages says, then as the first and last do.
    pub fn anchors(&self) -> [Option<&'l [u8]>; 2] {
        [self.messages, self.segment].map(|object| member(object, "anchorUuid"))
    }

    /// The first kept message, and the last.
    pub fn ends(&self) -> [Option<&'l [u8]>; 2] {
        ["headUuid", "tailUuid"].map(|key| member(self.segment, key))
    }

    /// A `compact_boundary` line without the lists; `None` where the line is no object or has none.
    pub fn stripped(line: &[u8]) -> Option<Vec<u8>> {
        let mut edits = Edits::of(line)?;
        let metadata = edits.value(METADATA)?;
        let mut lists = Edits::of(metadata)?;
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
        let lists = KeptLists::of(line);
        assert_eq!(lists.uuids().collect::<Vec<_>>(), [&b"\"k\""[..], b"7"]);
        assert_eq!(lists.anchors(), [Some(&b"\"s\""[..]), Some(b"\"t\"")]);
        assert_eq!(lists.ends(), [Some(&b"\"k\""[..]), None]);
        let bare = br#"{"a":1.0,"compactMetadata":{"trigger":"manual","preTokens":1E2}}"#;
        assert_eq!(KeptLists::stripped(line).as_deref(), Some(&bare[..]));
        assert_eq!(KeptLists::stripped(bare), None);
        assert_eq!(KeptLists::of(bare).uuids().count(), 0);
        assert_eq!(KeptLists::stripped(b"{}"), None);
        assert_eq!(KeptLists::stripped(br#"{"compactMetadata":{}}"#), None);
    }
}
