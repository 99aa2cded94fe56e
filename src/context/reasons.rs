//! Why an entry is not sent, and what is changed in what is sent: with the words for it.

use crate::model::Ix;
use std::fmt;

/// A change that a program makes to a message when it sends it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Patch {
    /// Not sent: the user kept it from the model.
    Excluded,
    /// Not sent: the reply ended in an error, or was aborted.
    EndedBadly,
    /// The content comes from a later edit.
    Edited {
        /// The entry that is the edit.
        by: Ix,
    },
    /// A tool call is left out, because it has no result.
    CallLeftOut {
        /// The id of the call.
        call: String,
        /// The tool.
        tool: String,
    },
    /// A result is added after it, because the call has none.
    ResultMadeUp {
        /// The id of the call.
        call: String,
        /// The tool.
        tool: String,
        /// The text of the result.
        text: &'static str,
    },
    /// A result is left out, because no call of the reply before it asked for it, or because the
    /// call already has a result.
    ResultLeftOut {
        /// The call that it names.
        call: String,
    },
    /// Thinking of another model than the one that the agent continues with is left out.
    ThinkingLeftOut,
    /// Of a failed result, only the texts are sent.
    OnlyText,
    /// Text that the program invents.
    MadeUp {
        /// The text, in our words.
        text: &'static str,
    },
    /// Restored: its entry is beside the path, like parts of a reply and results of parallel calls.
    PutBack,
    /// Kept by a compaction that comes after it in the file.
    Kept,
    /// Reached over a gap: its child names a missing parent.
    Bridged,
    /// A result without its call is sent as it is; providers reject that.
    NoCall {
        /// The call that it names.
        call: String,
        /// Why its call is missing.
        why: NoCall,
    },
    /// A call without its result is sent as it is; providers reject that.
    NoResult {
        /// The id of the call.
        call: String,
        /// The tool.
        tool: String,
    },
    /// A result without its call is sent as text in the role of the user.
    AsText {
        /// The call that it names.
        call: String,
    },
    /// The agent adds a text of its own that is not repeated here.
    Added {
        /// What it is, in our words.
        what: &'static str,
    },
    /// A result that is sent right after the results that follow its call, although others come between
    /// them in the file.
    Moved,
    /// Not sent: the agent does not know its role.
    UnknownRole,
    /// The kept messages are not sent one by one: the provider's own record of them is sent
    /// instead.
    ProviderHistory {
        /// How many items that record has.
        items: usize,
    },
}

impl Patch {
    pub(super) fn result_made_up(call: &str, tool: &str, text: &'static str) -> Patch {
        Patch::ResultMadeUp { call: call.to_owned(), tool: tool.to_owned(), text }
    }

    /// Returns whether the message is not sent because of this patch.
    pub fn withholds(&self) -> bool {
        matches!(self, Patch::Excluded | Patch::EndedBadly | Patch::UnknownRole)
    }

    /// Returns the name of the patch, as in `--json`.
    pub fn name(&self) -> &'static str {
        match self {
            Patch::Excluded => "excluded",
            Patch::EndedBadly => "ended-badly",
            Patch::Edited { .. } => "edited",
            Patch::CallLeftOut { .. } => "call-left-out",
            Patch::ResultMadeUp { .. } => "result-made-up",
            Patch::ResultLeftOut { .. } => "result-left-out",
            Patch::ThinkingLeftOut => "thinking-left-out",
            Patch::OnlyText => "only-text",
            Patch::MadeUp { .. } => "made-up",
            Patch::PutBack => "put-back",
            Patch::Kept => "kept",
            Patch::Bridged => "bridged",
            Patch::NoCall { .. } => "no-call",
            Patch::NoResult { .. } => "no-result",
            Patch::AsText { .. } => "as-text",
            Patch::Added { .. } => "added",
            Patch::Moved => "moved",
            Patch::UnknownRole => "unknown-role",
            Patch::ProviderHistory { .. } => "provider-history",
        }
    }
}

impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Patch::Excluded => write!(f, "not sent: the user kept it from the model"),
            Patch::EndedBadly => write!(f, "not sent: the reply ended in an error, or was interrupted"),
            Patch::Edited { .. } => write!(f, "changed by a later edit"),
            Patch::CallLeftOut { tool, .. } => write!(f, "left out: a call of {tool} without a result"),
            Patch::ResultMadeUp { tool, text, .. } => {
                write!(f, "synthesized: a result for the call of {tool}: {text}")
            }
            Patch::ResultLeftOut { .. } => write!(f, "left out: a result without a call"),
            Patch::ThinkingLeftOut => write!(f, "left out: thinking of another model"),
            Patch::OnlyText => write!(f, "left out: all but the text of a failed result"),
            Patch::MadeUp { text } => write!(f, "synthesized by the agent: {text}"),
            Patch::PutBack => write!(f, "restored: it is on a side branch"),
            Patch::Kept => write!(f, "kept by the compaction"),
            Patch::Bridged => write!(f, "reached across a gap in the file"),
            Patch::NoCall { why, .. } => write!(f, "sent unchanged, and providers reject it: {why}"),
            Patch::NoResult { tool, .. } => {
                write!(f, "sent unchanged, and providers reject it: the call of {tool} has no result")
            }
            Patch::AsText { .. } => write!(f, "sent as user text: the result has no call"),
            Patch::Added { what } => write!(f, "added by the agent: {what}"),
            Patch::Moved => write!(f, "moved: the agent sends it right after its call"),
            Patch::UnknownRole => write!(f, "not sent: the agent does not know its role"),
            Patch::ProviderHistory { items } => {
                write!(f, "kept messages are sent as the provider's own history of {items} items")
            }
        }
    }
}

/// Why the call of a tool result is not among the messages before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoCall {
    /// The result names no call.
    Unnamed,
    /// No entry of the path has the call.
    NotOnPath,
    /// The call comes after the result.
    Later,
    /// The reply with the call ended in an error or was aborted, and is not sent.
    Failed,
    /// The entry with the call yields no message.
    NotSent(Why),
    /// An edit replaced the content of the reply.
    Edited {
        /// The edit.
        by: Ix,
    },
    /// The call already has a result.
    Answered,
    /// The agent invented a result for the call before this one.
    TooLate,
}

impl NoCall {
    /// Returns the name of the reason, as in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            NoCall::Unnamed => "unnamed",
            NoCall::NotOnPath => "not-on-path",
            NoCall::Later => "later",
            NoCall::Failed => "ended-badly",
            NoCall::NotSent(why) => why.name(),
            NoCall::Edited { .. } => "edited",
            NoCall::Answered => "answered",
            NoCall::TooLate => "too-late",
        }
    }

    /// Returns the entry that is the reason.
    pub fn culprit(self) -> Option<Ix> {
        match self {
            NoCall::NotSent(why) => why.culprit(),
            NoCall::Edited { by } => Some(by),
            _ => None,
        }
    }
}

impl fmt::Display for NoCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoCall::Unnamed => "the result names no call",
            NoCall::NotOnPath => "its call is not on the path",
            NoCall::Later => "its call comes later",
            NoCall::Failed => "its call is in a failed reply, which is not sent",
            NoCall::NotSent(Why::Compacted { .. } | Why::OlderCompaction { .. }) => {
                "its call is cut off by a compaction"
            }
            NoCall::NotSent(Why::EditedOut { .. }) | NoCall::Edited { .. } => {
                "its call was removed by an edit"
            }
            NoCall::NotSent(Why::InProviderHistory { .. }) => "its call is in the provider's own history",
            NoCall::NotSent(_) => "its call is not sent",
            NoCall::Answered => "its call already has a result",
            NoCall::TooLate => "the agent had already synthesized a result for its call",
        })
    }
}

/// An entry of the path that yields no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// The entry.
    pub entry: Ix,
    /// The reason.
    pub why: Why,
}

/// Why an entry yields no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Entries of this type are never sent.
    NoPart,
    /// It has no text.
    Empty,
    /// A compaction replaces it.
    Compacted {
        /// The compaction.
        by: Ix,
    },
    /// A later compaction replaced this one.
    OlderCompaction {
        /// That compaction.
        by: Ix,
    },
    /// The context was cleared after it.
    Cleared {
        /// The entry that cleared it.
        by: Ix,
    },
    /// An edit removed it.
    EditedOut {
        /// The edit.
        by: Ix,
    },
    /// The provider's own record of the kept messages is sent instead.
    InProviderHistory {
        /// The compaction that contains the record.
        by: Ix,
    },
    /// The program keeps this type of message from the model.
    NotForModel,
    /// The reply ended in an error, or was aborted.
    EndedBadly,
    /// It answers a call of a reply that is not sent.
    AnswersDropped,
    /// It contained only calls, and none of them has a result.
    CallsLeftOut,
    /// A result that no call asked for.
    NoCall,
    /// A call or a result that was already sent.
    Repeated,
    /// A reply that says nothing, which the program forgets.
    Forgotten,
    /// A later line retracts the reply.
    Retracted,
    /// Thinking of another model than the one that the agent continues with.
    OtherModel,
}

impl Why {
    /// Returns the name of the reason, as in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            Why::NoPart => "no-part",
            Why::Empty => "empty",
            Why::Compacted { .. } => "compacted",
            Why::OlderCompaction { .. } => "older-compaction",
            Why::Cleared { .. } => "cleared",
            Why::EditedOut { .. } => "edited-out",
            Why::InProviderHistory { .. } => "provider-history",
            Why::NotForModel => "not-for-model",
            Why::EndedBadly => "ended-badly",
            Why::AnswersDropped => "answers-dropped",
            Why::CallsLeftOut => "calls-left-out",
            Why::NoCall => "no-call",
            Why::Repeated => "repeated",
            Why::Forgotten => "forgotten",
            Why::Retracted => "retracted",
            Why::OtherModel => "other-model",
        }
    }

    /// Returns the entry that is the reason.
    pub fn culprit(self) -> Option<Ix> {
        match self {
            Why::Compacted { by }
            | Why::OlderCompaction { by }
            | Why::Cleared { by }
            | Why::EditedOut { by }
            | Why::InProviderHistory { by } => Some(by),
            _ => None,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::NoPart => "is not part of the context",
            Why::Empty => "has no content",
            Why::Compacted { .. } => "replaced by a compaction",
            Why::OlderCompaction { .. } => "replaced by a later compaction",
            Why::Cleared { .. } => "the context was cleared after it",
            Why::EditedOut { .. } => "removed by an edit",
            Why::InProviderHistory { .. } => "replaced by the provider's own history",
            Why::NotForModel => "is hidden from the model",
            Why::EndedBadly => "the reply ended in an error, or was interrupted",
            Why::AnswersDropped => "its call is in a reply that is not sent",
            Why::CallsLeftOut => "contains only calls without results",
            Why::NoCall => "a result without a call",
            Why::Repeated => "repeats an earlier call or result",
            Why::Forgotten => "a reply without content, which the agent drops",
            Why::Retracted => "a reply that was withdrawn",
            Why::OtherModel => "thinking of another model",
        })
    }
}
