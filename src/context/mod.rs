//! `bough context`: the messages that the agent would send if it went on at an entry.
//!
//! Each format has its rule in a module of its own, as its program works: which entries of the path count, what
//! becomes a message, and what the program changes on the way to the model. What a message says is read when it is
//! shown, and not before: a [`Context`] is as large as the path is long, whatever the size of its messages.

mod chimera;
mod claude;
mod message_text;
mod pi;

use crate::format::{Block, Format, Session, Usage, blocks};
use crate::json::{each_item, member, string, text};
use crate::model::{Ix, Source};
use std::borrow::Cow;
use std::fmt;
use std::io;

/// What the agent would send, and what of the path it would not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Context {
    /// The messages, in the order in which they are sent.
    pub messages: Vec<Message>,
    /// The entries of the path that give no message, in the order of the path.
    pub dropped: Vec<Dropped>,
    /// The models in force, by role; most formats know only the role `default`.
    pub models: Vec<(String, Model)>,
    /// The thinking level in force, where the format has one.
    pub thinking: Option<String>,
    /// Why the program would not go on at the entry, where it would not.
    pub refused: Option<&'static str>,
    /// What should be known of it besides.
    pub note: Option<&'static str>,
}

/// A model, as the format names it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    /// Whose it is; empty where that is not said, or part of the name.
    pub provider: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.provider.is_empty() {
            true => f.write_str(&self.name),
            false => write!(f, "{}/{}", self.provider, self.name),
        }
    }
}

/// One message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The entry that it comes from; none where the program makes it up.
    pub entry: Option<Ix>,
    /// Its role, in the words of the program's own context.
    pub role: Cow<'static, str>,
    /// What kind of entry it comes from.
    pub origin: Origin,
    /// What the program changes in it, or adds behind it.
    pub patches: Vec<Patch>,
    part: Part,
}

/// Where a message comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A message of the conversation.
    Message,
    /// A message of an extension.
    Custom,
    /// The summary of a branch that was left.
    BranchSummary,
    /// The summary that stands for what was compacted.
    Compaction,
    /// Messages that a compaction carries along.
    Carried,
    /// Something that the client added by itself.
    Attachment,
    /// A note of the client that is sent as words of the user.
    Note,
    /// Made up by the program when it sends.
    MadeUp,
}

impl Origin {
    /// The origin as one word, as `--json` gives it.
    pub fn word(self) -> &'static str {
        match self {
            Origin::Message => "message",
            Origin::Custom => "custom",
            Origin::BranchSummary => "branch-summary",
            Origin::Compaction => "compaction",
            Origin::Carried => "carried",
            Origin::Attachment => "attachment",
            Origin::Note => "note",
            Origin::MadeUp => "made-up",
        }
    }
}

/// What a program changes in a message that it sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Patch {
    /// Not sent after all: the user kept it from the model.
    Excluded,
    /// Not sent after all: the reply ended in an error, or was broken off.
    EndedBadly,
    /// The content comes from a later edit.
    Edited {
        /// The entry that is the edit.
        by: Ix,
    },
    /// A call of a tool is left out, since nothing answers it.
    CallLeftOut {
        /// The id of the call.
        call: String,
        /// The tool.
        tool: String,
    },
    /// A result is put behind it, since nothing answers the call.
    ResultMadeUp {
        /// The id of the call.
        call: String,
        /// The tool.
        tool: String,
        /// What the result says.
        text: &'static str,
    },
    /// A result is left out, since no call of the reply before asked for it, or another answered it.
    ResultLeftOut {
        /// The call that it names.
        call: String,
    },
    /// Words that the program makes up.
    MadeUp {
        /// What they say, in our words.
        text: &'static str,
    },
    /// Put back: it hangs beside the path, as parts of a reply and results of parallel calls do.
    PutBack,
    /// Kept by a compaction that stands behind it in the file.
    Kept,
    /// Reached over a gap: its child names a parent that is not there.
    Bridged,
    /// A result without its call is sent as it is; providers refuse that.
    NoCall {
        /// The call that it names.
        call: String,
        /// Why its call is not there.
        why: NoCall,
    },
    /// A call without its result is sent as it is; providers refuse that.
    NoResult {
        /// The id of the call.
        call: String,
        /// The tool.
        tool: String,
    },
    /// A result without its call is sent as a text in the role of the user.
    AsText {
        /// The call that it names.
        call: String,
    },
    /// Not sent after all: the agent does not know its role.
    UnknownRole,
    /// The kept messages are not sent one by one: the provider's own record of them is.
    ProviderHistory {
        /// How many items that has.
        items: usize,
    },
}

impl Patch {
    /// Whether the message is not sent because of it.
    pub fn withholds(&self) -> bool {
        matches!(self, Patch::Excluded | Patch::EndedBadly | Patch::UnknownRole)
    }

    /// The patch as one word, as `--json` gives it.
    pub fn word(&self) -> &'static str {
        match self {
            Patch::Excluded => "excluded",
            Patch::EndedBadly => "ended-badly",
            Patch::Edited { .. } => "edited",
            Patch::CallLeftOut { .. } => "call-left-out",
            Patch::ResultMadeUp { .. } => "result-made-up",
            Patch::ResultLeftOut { .. } => "result-left-out",
            Patch::MadeUp { .. } => "made-up",
            Patch::PutBack => "put-back",
            Patch::Kept => "kept",
            Patch::Bridged => "bridged",
            Patch::NoCall { .. } => "no-call",
            Patch::NoResult { .. } => "no-result",
            Patch::AsText { .. } => "as-text",
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
            Patch::MadeUp { text } => write!(f, "synthesized by the agent: {text}"),
            Patch::PutBack => write!(f, "restored: it is on a side branch"),
            Patch::Kept => write!(f, "kept by the compaction"),
            Patch::Bridged => write!(f, "reached across a gap in the file"),
            Patch::NoCall { why, .. } => write!(f, "sent unchanged, and providers reject it: {why}"),
            Patch::NoResult { tool, .. } => {
                write!(f, "sent unchanged, and providers reject it: the call of {tool} has no result")
            }
            Patch::AsText { .. } => write!(f, "sent as user text: the result has no call"),
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
    /// The reply with the call ended in an error, or was broken off, and is not sent.
    Failed,
    /// The entry with the call gives no message.
    NotSent(Why),
    /// An edit replaced the content of the reply.
    Edited {
        /// The edit.
        by: Ix,
    },
    /// The call has its result already.
    Answered,
    /// The agent made up a result for the call before this one.
    TooLate,
}

impl NoCall {
    /// The reason as one word, as `--json` gives it.
    pub fn word(self) -> &'static str {
        match self {
            NoCall::Unnamed => "unnamed",
            NoCall::NotOnPath => "not-on-path",
            NoCall::Later => "later",
            NoCall::Failed => "ended-badly",
            NoCall::NotSent(why) => why.word(),
            NoCall::Edited { .. } => "edited",
            NoCall::Answered => "answered",
            NoCall::TooLate => "too-late",
        }
    }

    /// The entry that is the reason.
    pub fn by(self) -> Option<Ix> {
        match self {
            NoCall::NotSent(why) => why.by(),
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

/// An entry of the path that gives no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// The entry.
    pub entry: Ix,
    /// Why.
    pub why: Why,
}

/// Why an entry gives no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Entries of this type have no part in what is sent.
    NoPart,
    /// It has no text.
    Empty,
    /// A compaction stands for it.
    Compacted {
        /// The compaction.
        by: Ix,
    },
    /// A later compaction took over.
    OlderCompaction {
        /// That compaction.
        by: Ix,
    },
    /// The context was cleared behind it.
    Cleared {
        /// The entry that cleared it.
        by: Ix,
    },
    /// An edit took it out.
    EditedOut {
        /// The edit.
        by: Ix,
    },
    /// The provider's own record of the kept messages is sent in its place.
    InProviderHistory {
        /// The compaction that has it.
        by: Ix,
    },
    /// The program keeps this sort of message from the model.
    NotForModel,
    /// The reply ended in an error, or was broken off.
    EndedBadly,
    /// It answers a call of a reply that is not sent.
    AnswersDropped,
    /// Nothing but calls was in it, and nothing answers them.
    CallsLeftOut,
    /// A result that no call asked for.
    NoCall,
    /// A call or a result that was there before.
    Repeated,
    /// A reply that says nothing: the program forgets it.
    Forgotten,
    /// A later line takes the reply back.
    Retracted,
}

impl Why {
    /// The reason as one word, as `--json` gives it.
    pub fn word(self) -> &'static str {
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
        }
    }

    /// The entry that is the reason.
    pub fn by(self) -> Option<Ix> {
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
        })
    }
}

/// Where in its line a message stands.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    /// The line is a message.
    Message,
    /// `content` of the line.
    Content,
    /// `summary` of the line.
    Summary,
    /// `summary` of the line, in the words that the program puts around it.
    Wrapped(&'static str, &'static str),
    /// `systemMessage` of the line.
    System,
    /// An item of `retainedTail` of the line.
    Tail(usize),
    /// `data.text` of the line.
    Notes,
    /// `replacement.content` of another line, which is an edit.
    Edit(Ix),
    /// Parts of a message of Claude Code.
    Claude(Vec<crate::format::claude::request::Part>),
}

/// What a message says.
#[derive(Clone, Debug, Default)]
pub struct Said<'l> {
    /// The text as the programs' own contexts are compared by it: the texts in order, one below the other, with a
    /// mark for each call, picture and block of another sort; no thinking.
    pub text: Cow<'l, str>,
    /// The blocks.
    pub blocks: Vec<Block<'l>>,
    /// What the reply took, as stored.
    pub usage: Option<Usage>,
    /// How many bytes the content has, as stored.
    pub bytes: usize,
    /// What a message of the system changes beside its text: sections of the prompt, and tools. The blocks have it, too.
    pub changes: String,
}

impl Said<'_> {
    /// Returns all that the message says, what it changes included.
    pub fn all(&self) -> Cow<'_, str> {
        match (self.text.is_empty(), self.changes.is_empty()) {
            (_, true) => Cow::Borrowed(&self.text),
            (true, false) => Cow::Borrowed(&self.changes),
            (false, false) => Cow::Owned(format!("{}\n{}", self.text, self.changes)),
        }
    }
}

impl Context {
    /// The context that a program builds at an entry; `None` is before the first entry.
    ///
    /// Costs a look at each line of the path that counts. Fails only where the lines can't be read.
    pub fn at(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> io::Result<Context> {
        match session.format {
            Format::Chimera => chimera::build(session, source, leaf),
            Format::Claude => claude::build(session, source, leaf),
            _ => pi::build(session, source, leaf),
        }
    }

    /// The entry at which a program builds the context if nothing else is asked of it: the leaf.
    ///
    /// Behind a last line without an id, pi has no leaf, and still builds the context of that line.
    pub fn position(session: &Session) -> Option<Ix> {
        let entries = &session.entries;
        let falls_back = matches!(session.format, Format::Pi | Format::PiV2 | Format::Omp);
        let last = || entries.all().next_back().filter(|last| falls_back && !entries.key(*last).is_some());
        session.head.leaf.or_else(last)
    }

    /// The model in force.
    pub fn model(&self) -> Option<&Model> {
        self.models.iter().find(|(role, _)| role == "default").map(|(_, model)| model)
    }

    /// The messages that reach the model.
    pub fn sent(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|message| message.is_sent())
    }

    fn drop(&mut self, entry: Ix, why: Why) {
        self.dropped.push(Dropped { entry, why });
    }
}

impl Message {
    fn new(entry: Ix, role: impl Into<Cow<'static, str>>, origin: Origin, part: Part) -> Message {
        Message { entry: Some(entry), role: role.into(), origin, patches: Vec::new(), part }
    }

    /// Whether it reaches the model.
    pub fn is_sent(&self) -> bool {
        !self.patches.iter().any(Patch::withholds)
    }

    /// Reads what the message says; its line is put into `line`.
    pub fn said<'l>(
        &self,
        session: &Session,
        source: &dyn Source,
        line: &'l mut Vec<u8>,
    ) -> io::Result<Said<'l>> {
        let at = match self.part {
            Part::Edit(edit) => Some(edit),
            _ => self.entry,
        };
        line.clear();
        if let Some(at) = at {
            source.read(session.span(at), line)?;
        }
        if let Part::Claude(parts) = &self.part {
            return Ok(claude::said(parts, line));
        }
        Ok(match session.format {
            Format::Chimera => chimera::said(self, line),
            _ => pi::said(self, line),
        })
    }
}
