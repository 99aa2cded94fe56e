//! What differs from format to format, behind one trait: bytes in, bytes out.
//!
//! [`detect()`] tells the format from the first lines, the name and the folder of a file; its [`Dialect`] says what each line is, where the agent
//! stands, and how a line is written so that the real program follows. [`Session`] is what reading gives.

mod chimera;
pub mod claude;
pub mod content;
mod detect;
mod diagnostics;
pub mod flaws;
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
mod session;
pub mod tools;
mod write;

pub use content::{Block, Content, Usage, blocks, blocks_of_item, call_words};
pub use detect::{Detected, detect, detect_in_blocks, has_line};
pub use diagnostics::{Noted, NotedKind, Side, ToolRef};
pub use ids::Ids;
pub use labels::{LabelLine, LabelLines, Labels};
pub use layout::{Layout, Sidecar, Transcript, agent_of, is_agents, main_of};
pub use names::Names;
pub use one_line::OneLine;
pub use program::Program;
pub use session::{
    Builder, FileFacts, Gathered, Head, Header, Joined, Other, OtherKind, Pointer, Previous, Segment, Session,
};
pub use write::{New, Object};

use crate::json::{Line, Reader, Str};
use crate::model::{Copies, Flags, Kind, Time};

/// The formats of session files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// pi, version 1: a list of lines without ids.
    PiV1,
    /// pi, version 2: a tree.
    PiV2,
    /// The form of pi's design document, with `uuid` and `parentUuid`; no release wrote it.
    PiDesign,
    /// pi, version 3 and what calls itself later.
    Pi,
    /// pi's harness, version 3 with `leaf` entries.
    Harness,
    /// pi's harness, version 4, in either of its two forms.
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
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 11] = [
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
    ];

    /// The agent whose format it is: `pi`, `omp`, `openclaw`, `prime`, `chimera`, `claude`.
    pub fn agent(self) -> &'static str {
        match self {
            Format::Omp => "omp",
            Format::OpenClaw => "openclaw",
            Format::Prime => "prime",
            Format::Chimera => "chimera",
            Format::Claude => "claude",
            _ => "pi",
        }
    }

    /// The name by which `--input-format` forces it.
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
        }
    }

    /// The newest version that is known; `None` where headers say none.
    pub fn newest_version(self) -> Option<u8> {
        match self {
            Format::Claude => None,
            Format::Chimera => Some(1),
            _ => Some(3),
        }
    }

    /// Whether its own program opens no file without a header.
    pub fn wants_header(self) -> bool {
        !matches!(self, Format::Chimera | Format::Claude)
    }

    /// Whether its own program may take an object over several lines as one.
    pub fn may_join_lines(self) -> bool {
        !matches!(self, Format::Chimera | Format::PiDesign | Format::Harness | Format::HarnessV4)
    }

    /// Whether its own program is written in Python, and so takes `NaN`, `Infinity` and `-Infinity` for values.
    pub fn is_python(self) -> bool {
        self == Format::Chimera
    }

    /// A reader of its lines.
    pub fn reader(self) -> Reader {
        let mut reader = Reader::new();
        reader.python(self.is_python());
        reader
    }

    /// The rules of the format.
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
        }
    }
}

/// What a line is to its format.
#[derive(Clone, Copy, Debug)]
pub enum Place<'l> {
    /// An entry of the tree.
    Entry(Link<'l>),
    /// A line about the session, without a place in the tree.
    Other(OtherKind),
    /// A JSON value for which the format has no place.
    Unknown,
}

/// What places an entry in the tree.
#[derive(Clone, Copy, Debug)]
pub struct Link<'l> {
    /// Its id.
    pub id: Option<Str<'l>>,
    /// Whether its id is a number, which is another id than the string that is spelled the same.
    pub is_number: bool,
    /// The entry that it hangs under.
    pub parent: ParentRef<'l>,
    /// Its time.
    pub time: Time,
    /// What it is.
    pub kind: Kind,
    /// Its type, as stored.
    pub ty: Option<Str<'l>>,
    /// What else is known.
    pub flags: Flags,
    /// The session that the line names.
    pub session: Option<Str<'l>>,
    /// The reply that it is a part of.
    pub group: Option<Str<'l>>,
}

/// How an entry names the one that it hangs under.
#[derive(Clone, Copy, Debug)]
pub enum ParentRef<'l> {
    /// Not at all: it is a root.
    None,
    /// By its id.
    Id(Str<'l>),
    /// By its id, which is a number.
    Number(Str<'l>),
    /// By its place: it hangs under the entry before.
    Before,
}

/// The rules of one format.
pub trait Dialect: Sync {
    /// Says what a line is, and gathers what the session as a whole needs of it.
    ///
    /// Looks at the fields that the reader found; a line is never parsed again but for rare kinds.
    fn place<'l>(&self, line: &Line<'l>, gathered: &mut Gathered) -> Place<'l>;

    /// Which of several entries with one id counts for the real program.
    fn copies(&self) -> Copies {
        Copies::Last
    }

    /// The name in force, of what was gathered.
    fn name(&self, gathered: &mut Gathered) -> Option<String> {
        gathered.name.take()
    }

    /// Where the agent would go on if it loaded the session now.
    fn head(&self, session: &Session) -> Head;

    /// Writes the line that puts the position on `to`: an entry under it that says nothing to the model. `None` where
    /// the format moves by other means.
    ///
    /// `from` is the position that is left, `to` is `None` before the first entry; both are JSON.
    fn marker(&self, _new: &New<'_>, _from: Option<&[u8]>, _to: Option<&[u8]>) -> Option<Vec<u8>> {
        None
    }

    /// Writes the line that tells the model what was on the branch that is left; `None` where the format has no
    /// such line.
    fn summary(&self, _new: &New<'_>, _from: Option<&[u8]>, _text: &str) -> Option<Vec<u8>> {
        None
    }

    /// Writes the line that names the entry `target`, or takes its name away; `None` where labels are no entries.
    fn label(&self, _new: &New<'_>, _target: &[u8], _label: Option<&str>) -> Option<Vec<u8>> {
        None
    }
}
