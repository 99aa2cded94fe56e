//! `bough context`: the messages that the agent would send if it continued from an entry.
//!
//! Each format has its rules in a module of its own, following its program: which entries of the
//! path count, which become messages, and what the program changes on the way to the model. The
//! text of a message is read only when it is shown: the size of a [`Context`] depends on the length
//! of the path, not on the size of its messages.

mod chimera;
mod claude;
mod codex;
mod copilot;
mod gemini;
mod message_text;
mod opencode;
mod pi;
mod pi_words;
mod reasons;
mod sent;

pub use sent::Sent;

pub(crate) use pi::kept_in_version_1;
pub use reasons::{Dropped, NoCall, Patch, Why};

use crate::format::claude::graph::ClaudeGraph;
use crate::format::claude::request::{self, Extent};
use crate::format::{Block, Format, Session, Usage, blocks};
use crate::json::text;
use crate::model::{Ix, Source, Span};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Range;

/// What the agent would send, and which entries of the path it would leave out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Context {
    /// The messages, in the order in which they are sent.
    pub messages: Vec<Message>,
    /// The entries of the path that yield no message, in the order of the path.
    pub dropped: Vec<Dropped>,
    /// The active models, by role; most formats know only the role `default`.
    pub models: Vec<(String, Model)>,
    /// The active thinking level, if the format has one.
    pub thinking: Option<String>,
    /// Why the program would refuse to continue from the entry, if it would.
    pub refused: Option<&'static str>,
    /// A note about the context, if there is one.
    pub note: Option<&'static str>,
}

/// A model, as the format names it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    /// The provider; empty if it is not stored, or is part of the name.
    pub provider: String,
    /// The name of the model.
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
    /// The entry that it comes from; `None` if the program invents it.
    pub entry: Option<Ix>,
    /// Its role, in the terms of the program's own context.
    pub role: Cow<'static, str>,
    /// The kind of entry that it comes from.
    pub origin: Origin,
    /// What the program changes in it, or adds after it.
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
    /// The summary that replaces compacted messages.
    Compaction,
    /// Messages that a compaction carries along.
    Carried,
    /// Something that the agent added by itself.
    Attachment,
    /// A note of the agent that is sent as if the user had said it.
    Note,
    /// Invented by the program when it sends the context.
    MadeUp,
}

impl Origin {
    /// Returns the name of the origin, as in `--json`.
    pub fn name(self) -> &'static str {
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

/// Where in its line a message is. Small, because a context may have millions of messages.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    /// The line is a message.
    Message,
    /// `content` of the line.
    Content,
    /// `summary` of the line.
    Summary,
    /// `summary` of the line, with the text that the program puts around it.
    Wrapped(&'static [&'static str; 2]),
    /// `systemMessage` of the line.
    System,
    /// An item of `retainedTail` of the line.
    Tail(usize),
    /// `data.text` of the line.
    Notes,
    /// `replacement.content` of another line, which is an edit.
    Edit(Ix),
    /// An item of the history that a compaction of Codex stores: where it is in the line.
    Item(Range<usize>),
    /// The results in a reply of Gemini.
    Results,
    /// A prompt of OpenCode, up to the part with the id `end`, which was undone.
    Prompt { end: Option<Box<str>> },
    /// A part of a reply of OpenCode.
    Step(Box<StepPart>),
    /// The files that came with the results of a reply of OpenCode, if they are sent after it.
    Files { end: Option<Box<str>>, media: Media },
    /// All items of a message of Claude Code.
    Turn,
    /// Parts of a message of Claude Code.
    Claude(Box<[request::Part]>),
}

/// What the request `number` of a reply of OpenCode gave, or one result of its calls, up to the part with
/// the id `end`, which was undone.
#[derive(Clone, PartialEq, Eq, Debug)]
struct StepPart {
    number: usize,
    result: Option<usize>,
    end: Option<Box<str>>,
    thoughts_as_text: bool,
    media: Media,
}

/// The files that a provider takes with the results of calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Media {
    All,
    Images,
    None,
}

/// The content of a message.
#[derive(Clone, Debug, Default)]
pub struct Said<'l> {
    /// The text in the form in which the programs' own contexts are compared: all texts in order,
    /// joined by line breaks, with a placeholder for each call, image and block of another type,
    /// and without thinking.
    pub text: Cow<'l, str>,
    /// The text that is sent, if the agent puts words around it or changes it: in the same form.
    pub sent_text: Option<String>,
    /// The blocks, as they are sent.
    pub blocks: Vec<Block<'l>>,
    /// The usage of the reply, as stored.
    pub usage: Option<Usage>,
    /// The size of the content in bytes, as stored.
    pub bytes: usize,
    /// What a system message changes besides its text: sections of the prompt, and tools. The
    /// blocks contain it, too.
    pub changes: String,
}

impl Said<'_> {
    /// Returns the whole text of the message as it is sent.
    pub fn sent(&self) -> Cow<'_, str> {
        match &self.sent_text {
            Some(text) => Cow::Borrowed(text),
            None => self.all(),
        }
    }

    /// Returns the whole content of the message, including what it changes.
    pub fn all(&self) -> Cow<'_, str> {
        match (self.text.is_empty(), self.changes.is_empty()) {
            (_, true) => Cow::Borrowed(&self.text),
            (true, false) => Cow::Borrowed(&self.changes),
            (false, false) => Cow::Owned(format!("{}\n{}", self.text, self.changes)),
        }
    }
}

/// Builds the contexts of one session at many entries: what they share is worked out once.
pub struct Contexts<'s> {
    session: &'s Session,
    source: &'s dyn Source,
    /// The links as Claude Code follows them, in its sessions.
    graph: Option<ClaudeGraph<'s>>,
}

impl<'s> Contexts<'s> {
    /// Prepares for building the contexts of a session.
    ///
    /// Costs nothing until the first one is built.
    pub fn new(session: &'s Session, source: &'s dyn Source) -> Contexts<'s> {
        Contexts { session, source, graph: None }
    }

    /// Returns the same as [`Context::in_full`].
    pub fn in_full(&mut self, leaf: Option<Ix>) -> io::Result<Context> {
        if self.session.format != Format::Claude {
            return Context::build(self.session, self.source, leaf);
        }
        let graph = self.graph.get_or_insert_with(|| ClaudeGraph::new(self.session));
        claude::build(self.session, self.source, leaf, Some(graph), Extent::Full)
    }
}

impl Context {
    /// Returns the context that a program builds at an entry; `None` is before the first entry.
    ///
    /// Reads each line of the path that counts. Fails only if a line can't be read.
    pub fn build(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> io::Result<Context> {
        match session.format {
            Format::Chimera => chimera::build(session, source, leaf),
            Format::Claude => claude::build(session, source, leaf, None, Extent::Sent),
            Format::Codex => codex::build(session, source, leaf),
            Format::Gemini => gemini::build(session, source, leaf),
            Format::Copilot => copilot::build(session, source, leaf),
            Format::OpenCode => opencode::build(session, source, leaf),
            _ => pi::build(session, source, leaf),
        }
    }

    /// Returns the same, with what Claude Code stores and does not send, because it depends on the model
    /// that it continues with, or is in a failed result: thinking and images that must survive a change
    /// of the file, and that other programs would send.
    pub fn in_full(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> io::Result<Context> {
        match session.format {
            Format::Claude => claude::build(session, source, leaf, None, Extent::Full),
            _ => Context::build(session, source, leaf),
        }
    }

    /// Returns the entry at which a program builds the context unless it is asked for another: the
    /// leaf.
    ///
    /// If the last line has no id, pi has no leaf but still builds the context of that line.
    pub fn position(session: &Session) -> Option<Ix> {
        let entries = &session.entries;
        let falls_back = matches!(session.format, Format::Pi | Format::PiV2 | Format::Omp);
        let last = || entries.all().next_back().filter(|last| falls_back && !entries.key(*last).is_some());
        session.head.leaf.or_else(last)
    }

    /// Returns the active model.
    pub fn model(&self) -> Option<&Model> {
        self.models.iter().find(|(role, _)| role == "default").map(|(_, model)| model)
    }

    /// Returns the messages that reach the model.
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

    /// Returns what the message consists of, as a text that two messages of a session share only if
    /// the same is sent for both.
    pub fn identity(&self) -> String {
        format!("{:?} {:?} {:?} {:?}", self.entry, self.role, self.part, self.patches)
    }

    /// Returns whether the message reaches the model.
    pub fn is_sent(&self) -> bool {
        !self.patches.iter().any(Patch::withholds)
    }

    /// Returns whether the blocks of the message are those of its entry. If not, they may be nevertheless.
    pub fn has_blocks_of_entry(&self, format: Format) -> bool {
        let is_message = self.part == Part::Message && self.patches.is_empty();
        match format {
            Format::Claude => self.part == Part::Turn,
            Format::Chimera => self.part == Part::Message,
            // What oh-my-pi sends of a prompt depends on more.
            Format::Omp => is_message && matches!(&*self.role, "assistant" | "toolResult"),
            Format::Pi | Format::PiV1 | Format::PiV2 => {
                is_message && matches!(&*self.role, "user" | "assistant" | "toolResult")
            }
            _ => false,
        }
    }

    /// Returns which items of the content of its entry a message of Claude Code consists of, if of nothing else.
    pub fn items_of_entry(&self) -> Option<Vec<usize>> {
        let Part::Claude(parts) = &self.part else { return None };
        let item = |part: &request::Part| match part {
            request::Part::Stored(at) => Some(*at),
            _ => None,
        };
        parts.iter().map(item).collect()
    }

    /// Reads the content of the message; `line` receives the bytes of its line, or of the part of it
    /// that the message is.
    pub fn read<'l>(
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
            let mut span = session.span(at);
            if let Part::Item(place) = &self.part {
                // A compaction may store very many.
                span = Span { offset: span.offset + place.start as u64, len: place.len() as u64, ..span };
            }
            source.read(span, line)?;
        }
        Ok(match session.format {
            Format::Claude => claude::read_message(&self.part, line),
            Format::Chimera => chimera::read_message(self, line),
            Format::Codex => codex::read_message(self, session, line),
            Format::Gemini => gemini::read_message(self, session, line),
            Format::Copilot => copilot::read_message(self, session, line),
            Format::OpenCode => opencode::read_message(self, line),
            format => pi::read_message(self, format, line),
        })
    }
}
