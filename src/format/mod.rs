//! The differences between the formats, as one trait: bytes in, bytes out.
//!
//! [`detect()`] determines the format from the first lines, the name and the folder of a file; its
//! [`Dialect`] determines what each line is, where HEAD is, and how a line is written so that the
//! real program follows. [`Session`] is the result of reading.

mod addition;
mod chimera;
pub mod claude;
mod codex;
pub mod content;
mod copilot;
mod detect;
mod diagnostics;
pub mod flaws;
pub mod gemini;
mod ids;
pub mod image;
mod labels;
mod layout;
mod multiline;
mod names;
mod one_line;
mod openclaw;
pub mod opencode;
mod pi;
mod program;
mod rewinds;
mod session;
pub mod source_lines;
mod table;
pub mod tools;
mod write;

pub use addition::{Addition, ReplyModel};
pub use codex::{codex_item, is_codex_prompt};
pub use content::{Block, Content, Usage, blocks, blocks_of_item, call_words};
pub use detect::{Detected, EXPORT_START, detect, detect_in_blocks, has_line, is_export};
pub use diagnostics::{Diagnostics, Note, NoteKind, ToolRef};
pub use ids::Ids;
pub use labels::{LabelLine, LabelLines, Labels};
pub use layout::{Layout, Sidecar, Transcript, agent_of, is_agents, main_of};
pub use one_line::OneLine;
pub use program::Program;
#[cfg(test)]
pub(crate) use session::FileFacts;
pub use session::{
    Builder, Gathered, Growth, Head, Other, OtherKind, Pointer, Previous, Progress, Segment, Session,
};
pub use table::Format;
pub use write::{New, Object};

use crate::json::{Line, Str};
use crate::model::{Copies, Entries, Flags, Kind, Time};

/// The role of a line in its format.
#[derive(Clone, Copy, Debug)]
pub enum LineVerdict<'l> {
    /// An entry of the tree.
    Entry(Link<'l>),
    /// A line about the session that is not part of the tree.
    Other(OtherKind),
    /// A JSON value without a meaning in the format.
    Unknown,
}

/// The fields that place an entry in the tree.
#[derive(Clone, Copy, Debug)]
pub struct Link<'l> {
    /// Its id.
    pub id: Option<Str<'l>>,
    /// Whether its id is a number, which is a different id than the same digits as a string.
    pub is_number: bool,
    /// Its parent.
    pub parent: ParentRef<'l>,
    /// Its time.
    pub time: Time,
    /// Its kind.
    pub kind: Kind,
    /// Its type, as stored.
    pub ty: Option<Str<'l>>,
    /// Its other properties.
    pub flags: Flags,
    /// The session that the line names.
    pub session: Option<Str<'l>>,
    /// The reply that it is a part of.
    pub group: Option<Str<'l>>,
}

impl Link<'_> {
    /// Creates the link of an entry that follows the one before it, without an id, a time and a type.
    pub fn new(kind: Kind) -> Self {
        Link {
            id: None,
            is_number: false,
            parent: ParentRef::Before,
            time: Time::NONE,
            kind,
            ty: None,
            flags: Flags::default(),
            session: None,
            group: None,
        }
    }
}

/// How an entry names its parent.
#[derive(Clone, Copy, Debug)]
pub enum ParentRef<'l> {
    /// Not at all: it is a root.
    None,
    /// By its id.
    Id(Str<'l>),
    /// By its id, which is a number.
    Number(Str<'l>),
    /// By position: the parent is the entry before.
    Before,
}

/// The rules of one format.
pub trait Dialect: Sync {
    /// Determines the role of a line, and collects the facts about the session as a whole that it
    /// contains.
    ///
    /// Uses the fields that the reader extracted; only lines of rare kinds are parsed again.
    fn classify<'l>(&self, line: &Line<'l>, gathered: &mut Gathered) -> LineVerdict<'l>;

    /// Returns which of several entries with the same id counts for the real program.
    fn copies(&self) -> Copies {
        Copies::Last
    }

    /// Returns whether the program writes an entry of a kind again under the same id on purpose.
    fn repeats_ids(&self, _kind: Kind) -> bool {
        false
    }

    /// Links the entries anew, once all lines were read: for formats in which the parent of an entry
    /// depends on more than its own line. Pointers may be stored, too.
    fn link(&self, _entries: &mut Entries, _gathered: &mut Gathered) {}

    /// Reads the content of a line.
    fn content<'l>(&self, line: &'l [u8]) -> Content<'l>;

    /// Reads the content of a line, of which the texts may be left out.
    fn outline<'l>(&self, line: &'l [u8]) -> Content<'l> {
        self.content(line)
    }

    /// Returns the current name, from the collected facts.
    fn name(&self, gathered: &mut Gathered) -> Option<String> {
        gathered.name.take()
    }

    /// Returns where the agent would continue if it loaded the session now.
    fn head(&self, session: &Session) -> Head;

    /// Writes the line that moves HEAD to `to`: a child entry that sends nothing to the model.
    /// Returns `None` if the format moves HEAD by other means.
    ///
    /// `from` is the HEAD that is left; `to` is `None` before the first entry. Both are JSON.
    fn marker(&self, _new: &New<'_>, _from: Option<&[u8]>, _to: Option<&[u8]>) -> Option<Vec<u8>> {
        None
    }

    /// Writes the line that summarizes the branch that is left for the model. Returns `None` if the
    /// format has no such line.
    fn summary(&self, _new: &New<'_>, _from: Option<&[u8]>, _text: &str) -> Option<Vec<u8>> {
        None
    }

    /// Writes the line that labels the entry `target`, or removes its label. Returns `None` if
    /// labels are not entries.
    fn label(&self, _new: &New<'_>, _target: &[u8], _label: Option<&str>) -> Option<Vec<u8>> {
        None
    }

    /// Writes an entry that a script made. Returns `None` if the format can't store it.
    fn addition(&self, _new: &New<'_>, _addition: &Addition<'_>) -> Option<Vec<u8>> {
        None
    }
}
