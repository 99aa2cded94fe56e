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
mod pi;
mod program;
mod rewinds;
mod session;
pub mod tools;
mod write;

pub use addition::{Addition, ReplyModel};
pub use codex::{codex_item, is_codex_prompt};
pub use content::{Block, Content, Usage, blocks, blocks_of_item, call_words};
pub use detect::{Detected, detect, detect_in_blocks, has_line};
pub use diagnostics::{Diagnostics, Note, NoteKind, ToolRef};
pub use ids::Ids;
pub use labels::{LabelLine, LabelLines, Labels};
pub use layout::{Layout, Sidecar, Transcript, agent_of, is_agents, main_of};
pub use names::FieldNames;
pub use one_line::OneLine;
pub use program::Program;
pub use session::{
    Builder, FileFacts, Gathered, Head, Header, Joined, Other, OtherKind, Pointer, Previous, Segment, Session,
};
pub use write::{New, Object};

use crate::json::{Line, Reader, Str};
use crate::model::{Copies, Entries, Flags, Kind, Time};

/// The formats of session files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// pi, version 1: a list of lines without ids.
    PiV1,
    /// pi, version 2: a tree.
    PiV2,
    /// The format of pi's design document, with `uuid` and `parentUuid`; no release wrote it.
    PiDesign,
    /// pi, version 3, and anything that claims a later version.
    Pi,
    /// pi's harness, version 3 with `leaf` entries.
    Harness,
    /// pi's harness, version 4, in either of its two variants.
    HarnessV4,
    /// oh-my-pi.
    Omp,
    /// OpenClaw's dialect of pi's version 3. Read, never written.
    OpenClaw,
    /// Prime Agent: pi's version 3 with types of its own. Read, never written.
    Prime,
    /// Chimera.
    Chimera,
    /// Claude Code.
    Claude,
    /// Codex. Read, never written.
    Codex,
    /// The Gemini CLI. Read, never written.
    Gemini,
    /// The GitHub Copilot CLI. Read, never written.
    Copilot,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 14] = [
        Format::PiV1,
        Format::PiV2,
        Format::PiDesign,
        Format::Pi,
        Format::Harness,
        Format::HarnessV4,
        Format::Omp,
        Format::OpenClaw,
        Format::Prime,
        Format::Chimera,
        Format::Claude,
        Format::Codex,
        Format::Gemini,
        Format::Copilot,
    ];

    /// Returns the agent that uses the format: `pi`, `omp`, `openclaw`, `prime`, `chimera`,
    /// `claude`, `codex`, `gemini`, `copilot`.
    pub fn agent(self) -> &'static str {
        match self {
            Format::Omp => "omp",
            Format::OpenClaw => "openclaw",
            Format::Prime => "prime",
            Format::Chimera => "chimera",
            Format::Claude => "claude",
            Format::Codex => "codex",
            Format::Gemini => "gemini",
            Format::Copilot => "copilot",
            _ => "pi",
        }
    }

    /// Returns the name of the format, as in `--input-format`.
    pub fn name(self) -> &'static str {
        match self {
            Format::PiV1 => "pi-v1",
            Format::PiV2 => "pi-v2",
            Format::PiDesign => "pi-design",
            Format::Pi => "pi",
            Format::Harness => "harness",
            Format::HarnessV4 => "harness-v4",
            Format::Omp => "omp",
            Format::OpenClaw => "openclaw",
            Format::Prime => "prime",
            Format::Chimera => "chimera",
            Format::Claude => "claude",
            Format::Codex => "codex",
            Format::Gemini => "gemini",
            Format::Copilot => "copilot",
        }
    }

    /// Returns the newest known version, or `None` if headers contain no version.
    pub fn newest_version(self) -> Option<u8> {
        match self {
            Format::Claude | Format::Codex | Format::Gemini | Format::Copilot => None,
            Format::Chimera => Some(1),
            _ => Some(3),
        }
    }

    /// Returns whether its program refuses a file without a header.
    pub fn wants_header(self) -> bool {
        !matches!(self, Format::Chimera | Format::Claude | Format::Copilot)
    }

    /// Returns whether entries have ids. The others are named by their lines.
    pub fn has_ids(self) -> bool {
        !matches!(self, Format::PiV1 | Format::Codex)
    }

    /// Returns whether the format belongs to an agent whose sessions are only read: its lines have
    /// nothing in common with those of the formats that bough writes.
    pub fn is_guest(self) -> bool {
        matches!(self, Format::Codex | Format::Gemini | Format::Copilot)
    }

    /// Returns whether its program may read an object over several lines as one.
    pub fn may_join_lines(self) -> bool {
        !self.is_guest()
            && !matches!(self, Format::Chimera | Format::PiDesign | Format::Harness | Format::HarnessV4)
    }

    /// Returns whether its program is written in Python, and so accepts `NaN`, `Infinity` and
    /// `-Infinity` as values.
    pub fn is_python(self) -> bool {
        self == Format::Chimera
    }

    /// Creates a reader for its lines.
    pub fn reader(self) -> Reader {
        let mut reader = Reader::new();
        reader.python(self.is_python());
        reader
    }

    /// Returns the rules of the format.
    pub fn dialect(self) -> &'static dyn Dialect {
        match self {
            Format::PiV1
            | Format::PiV2
            | Format::PiDesign
            | Format::Pi
            | Format::Harness
            | Format::HarnessV4
            | Format::Omp
            | Format::OpenClaw
            | Format::Prime => pi::dialect(self),
            Format::Chimera => &chimera::Chimera,
            Format::Claude => &claude::Claude,
            Format::Codex => &codex::Codex,
            Format::Gemini => &gemini::Gemini,
            Format::Copilot => &copilot::Copilot,
        }
    }
}

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
