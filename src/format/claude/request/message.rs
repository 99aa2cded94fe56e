//! The messages of a request, and the entries that are not sent, with their reasons.

use crate::format::claude::graph::Way;
use crate::model::Ix;

/// The part of one entry that is sent, or an invented message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The entry; `None` if the whole message is invented.
    pub entry: Option<Ix>,
    /// The role in which it is sent.
    pub role: Role,
    /// How the entry got onto the main path.
    pub way: Way,
    /// Whether it was reached across a gap in the links.
    pub bridged: bool,
    /// Whether its texts are sent in a reminder that says that they are not the user's.
    pub is_notice: bool,
    /// Whether its parts are all items of the content of its entry, in their order.
    pub is_whole: bool,
    /// Its parts, in order; never empty.
    pub parts: Vec<Part>,
}

/// The role of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The user's role, which includes tool results.
    User,
    /// The model's role.
    Assistant,
}

/// One part of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// The block of the content at this index, from 0; the whole string if the content is a string.
    /// [`super::block()`] returns it.
    Stored(usize),
    /// Of the failed result at this index, only the texts: it contains more.
    Texts(usize),
    /// The text of a command that was run in Claude Code: `content` of the line.
    Command,
    /// The text of an attachment at this index, from 0: `rendered`.
    Rendered(usize),
    /// The text that Claude Code makes of an attachment without such a list.
    Attached,
    /// Invented text.
    Made(Made),
}

/// The texts that Claude Code invents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Made {
    /// A reply that says that no response was requested.
    NoResponse,
    /// A text that says that the message has no content.
    NoContent,
    /// A text that says that a result was removed.
    ResultRemoved,
    /// A text that says that a call was interrupted, in place of the call.
    CallInterrupted,
    /// A result that says that the call of this id was interrupted.
    Result(String),
}

impl Made {
    /// Returns the meaning of the text, in our words.
    pub fn phrase(&self) -> &'static str {
        match self {
            Made::NoResponse => "no response was requested",
            Made::NoContent => "no content",
            Made::ResultRemoved => "a tool result without its call was removed",
            Made::CallInterrupted => "a tool call was interrupted",
            Made::Result(_) => "the tool call was interrupted",
        }
    }
}

/// A part of the main path that is not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// The entry.
    pub entry: Ix,
    /// The block of it; `None` for the whole entry.
    pub block: Option<u32>,
    /// The reason.
    pub why: Why,
}

/// Why a part of the main path is not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It comes before the nearest compaction.
    Compacted,
    /// It is an internal note of Claude Code.
    Note,
    /// It has no message with content.
    NoContent,
    /// A call without a result after which the conversation continued.
    NoResult,
    /// A call with the id of an earlier call.
    RepeatedCall,
    /// A result without a call, or of a repeated one.
    NoCall,
    /// A further result for one call.
    RepeatedResult,
    /// A reply that says nothing.
    SaysNothing,
    /// A reply that a later line retracts.
    Retracted,
    /// A message about an error of the service.
    ApiError,
    /// Thinking of another model than the one that Claude Code continues with.
    OtherModel,
}

impl Why {
    /// Returns the reason as text.
    pub fn phrase(self) -> &'static str {
        match self {
            Why::Compacted => "before the last compaction",
            Why::Note => "a note of the agent",
            Why::NoContent => "no content",
            Why::NoResult => "a tool call without a result",
            Why::RepeatedCall => "a tool call with the id of an earlier one",
            Why::NoCall => "a tool result without its call",
            Why::RepeatedResult => "a second result for a tool call",
            Why::SaysNothing => "a reply without content",
            Why::Retracted => "a reply that was withdrawn",
            Why::ApiError => "a message about a service error",
            Why::OtherModel => "thinking of another model",
        }
    }
}

pub(super) fn made_message(role: Role, made: Made) -> Message {
    let parts = vec![Part::Made(made)];
    Message { entry: None, role, way: Way::Link, bridged: false, is_notice: false, is_whole: false, parts }
}
