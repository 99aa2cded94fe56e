//! Further properties of an entry, as bits.

/// Further properties of an entry, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// A marker that `switch` wrote: revisions look through it.
    pub const MARKER: Flags = Flags(1);
    /// Bookkeeping: labels, settings, names; not part of the conversation.
    pub const BOOKKEEPING: Flags = Flags(1 << 1);
    /// A message with a text that is more than white space.
    pub const TEXT: Flags = Flags(1 << 2);
    /// A message with a tool call.
    pub const CALL: Flags = Flags(1 << 3);
    /// A message with the result of a tool.
    pub const RESULT: Flags = Flags(1 << 4);
    /// Added by the agent, not typed.
    pub const SIDECHAIN: Flags = Flags(1 << 5);
    /// Added by the agent's client, not typed.
    pub const META: Flags = Flags(1 << 6);
    /// The text of a compaction, as a message.
    pub const COMPACT_SUMMARY: Flags = Flags(1 << 7);
    /// A reply that did not end normally: error, aborted, length.
    pub const ENDED_BADLY: Flags = Flags(1 << 8);
    /// A message in the user's name that contains nothing the user typed: the output of a command,
    /// an interruption, a notification. Shares its bit with [`Flags::ENDED_BADLY`], which only
    /// replies have.
    pub const NOT_TYPED: Flags = Flags::ENDED_BADLY;
    /// An image in the content.
    pub const IMAGE: Flags = Flags(1 << 9);
    /// Only a link: its children are attached to its parent (progress lines of Claude Code).
    pub const PASSED: Flags = Flags(1 << 10);
    /// A string of the line has an unpaired surrogate.
    pub const SURROGATE: Flags = Flags(1 << 11);
    /// A text block without text.
    pub const EMPTY_TEXT: Flags = Flags(1 << 12);
    /// Never shown by the agent itself (usage, for example).
    pub const HIDDEN: Flags = Flags(1 << 13);
    /// An id of more than eight bytes, which the key does not contain.
    pub const LONG_ID: Flags = Flags(1 << 14);
    /// Not a child of the entry before it.
    pub(super) const APART: Flags = Flags(1 << 15);

    /// Returns whether all bits of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether the agent added the entry, even if it is in the user's name.
    pub fn is_put_in(self) -> bool {
        self.has(Flags::META) || self.has(Flags::COMPACT_SUMMARY)
    }

    /// Sets the bits of `other` if `yes`.
    pub fn set(&mut self, other: Flags, yes: bool) {
        if yes {
            self.0 |= other.0;
        }
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}
