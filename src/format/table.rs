//! The formats, as a table: a row has all that is known of one of them besides its rules.

use super::names::{self, FieldNames};
use super::{Dialect, Program, chimera, claude, codex, copilot, gemini, opencode, pi};
use crate::json::Reader;

/// The formats of session files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
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
    /// Codex. Read, never written, except by a conversion.
    Codex,
    /// The Gemini CLI. Read, never written.
    Gemini,
    /// The GitHub Copilot CLI. Read, never written.
    Copilot,
    /// An export of OpenCode. Read, never written.
    OpenCode,
}

/// How long the lines of formats that are only read may be to be read as a whole. Such lines carry
/// whole conversations, so this is more than for other formats.
pub(super) const HELD: usize = 64 << 20;

/// What is known of a format.
struct Row {
    format: Format,
    name: &'static str,
    agent: &'static str,
    rules: &'static dyn Dialect,
    fields: &'static FieldNames,
    /// The program to whose sessions nothing is written.
    program: Option<Program>,
    newest_version: Option<u8>,
    /// A bit for each trait.
    traits: u8,
}

/// What only some formats have.
#[derive(Clone, Copy)]
enum Trait {
    /// Its program refuses a file without a header.
    WantsHeader,
    /// No entry has an id.
    NoIds,
    /// Its program may read an object over several lines as one.
    JoinsLines,
    /// Its program is written in Python.
    Python,
    /// Its lines have nothing in common with those of the formats that bough writes.
    Guest,
    /// The file is one JSON object, and an entry is a value in it.
    Document,
    /// Its program stores a message again whenever it changes; several may be on a line.
    StoresAgain,
}

use Trait::{Document, Guest, JoinsLines, NoIds, Python, StoresAgain, WantsHeader};

/// The rows, in the order of [`Format`].
#[rustfmt::skip] // a table
static ROWS: [Row; 15] = [
    row(Format::PiV1,      "pi-v1",      "pi",       &pi::V1,            &names::PI,      None,                    Some(3), &[WantsHeader, JoinsLines, NoIds]),
    row(Format::PiV2,      "pi-v2",      "pi",       &pi::PI,            &names::PI,      None,                    Some(3), &[WantsHeader, JoinsLines]),
    row(Format::PiDesign,  "pi-design",  "pi",       &pi::DESIGN,        &names::DESIGN,  None,                    Some(3), &[WantsHeader]),
    row(Format::Pi,        "pi",         "pi",       &pi::PI,            &names::PI,      None,                    Some(3), &[WantsHeader, JoinsLines]),
    row(Format::Harness,   "harness",    "pi",       &pi::HARNESS,       &names::PI,      None,                    Some(3), &[WantsHeader]),
    row(Format::HarnessV4, "harness-v4", "pi",       &pi::V4,            &names::PI,      None,                    Some(3), &[WantsHeader]),
    row(Format::Omp,       "omp",        "omp",      &pi::PI,            &names::PI,      None,                    Some(3), &[WantsHeader, JoinsLines]),
    row(Format::OpenClaw,  "openclaw",   "openclaw", &pi::OpenClaw,      &names::PI,      Some(Program::OpenClaw), Some(3), &[WantsHeader, JoinsLines]),
    row(Format::Prime,     "prime",      "prime",    &pi::PI,            &names::PI,      Some(Program::Prime),    Some(3), &[WantsHeader, JoinsLines]),
    row(Format::Chimera,   "chimera",    "chimera",  &chimera::Chimera,  &names::CHIMERA, None,                    Some(1), &[Python]),
    row(Format::Claude,    "claude",     "claude",   &claude::Claude,    &names::CLAUDE,  None,                    None,    &[JoinsLines]),
    row(Format::Codex,     "codex",      "codex",    &codex::Codex,      &names::PI,      Some(Program::Codex),    None,    &[WantsHeader, NoIds, Guest]),
    row(Format::Gemini,    "gemini",     "gemini",   &gemini::Gemini,    &names::PI,      Some(Program::Gemini),   None,    &[WantsHeader, Guest, StoresAgain]),
    row(Format::Copilot,   "copilot",    "copilot",  &copilot::Copilot,  &names::PI,      Some(Program::Copilot),  None,    &[Guest]),
    row(Format::OpenCode,  "opencode",   "opencode", &opencode::OpenCode, &names::OPENCODE, Some(Program::OpenCode), None,    &[WantsHeader, Guest, Document]),
];

#[allow(clippy::too_many_arguments, reason = "a row of the table")]
const fn row(
    format: Format,
    name: &'static str,
    agent: &'static str,
    rules: &'static dyn Dialect,
    fields: &'static FieldNames,
    program: Option<Program>,
    newest_version: Option<u8>,
    traits: &'static [Trait],
) -> Row {
    let (mut bits, mut at) = (0, 0);
    while at < traits.len() {
        bits |= 1 << traits[at] as u8;
        at += 1;
    }
    Row { format, name, agent, rules, fields, program, newest_version, traits: bits }
}

impl Format {
    /// All formats.
    pub const ALL: [Format; ROWS.len()] = {
        let mut all = [Format::PiV1; ROWS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = ROWS[at].format;
            assert!(all[at] as usize == at, "the rows are in the order of the formats");
            at += 1;
        }
        all
    };

    #[inline]
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    #[inline]
    fn has(self, wanted: Trait) -> bool {
        self.row().traits & 1 << wanted as u8 != 0
    }

    /// Returns the agent that uses the format: `pi`, `omp`, `openclaw`, `prime`, `chimera`,
    /// `claude`, `codex`, `gemini`, `copilot`, `opencode`.
    pub fn agent(self) -> &'static str {
        self.row().agent
    }

    /// Returns the name of the format, as in `--input-format`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the newest known version, or `None` if headers contain no version.
    pub(crate) fn newest_version(self) -> Option<u8> {
        self.row().newest_version
    }

    /// Returns the names of the fields that place an entry in the tree.
    pub(crate) fn names(self) -> &'static FieldNames {
        self.row().fields
    }

    /// Returns the program to whose sessions nothing is written, or `None` for formats that bough
    /// writes.
    pub(crate) fn program(self) -> Option<Program> {
        self.row().program
    }

    /// Returns whether its program refuses a file without a header.
    pub(crate) fn wants_header(self) -> bool {
        self.has(WantsHeader)
    }

    /// Returns whether entries have ids. The others are named by their lines.
    pub(crate) fn has_ids(self) -> bool {
        !self.has(NoIds)
    }

    /// Returns whether the format belongs to an agent whose sessions are only read: its lines have
    /// nothing in common with those of the formats that bough writes.
    pub fn is_guest(self) -> bool {
        self.has(Guest)
    }

    /// Returns whether its program stores a message again, under the same id, whenever it changes: only
    /// the last copy counts. Several messages may be on a line, then.
    pub(crate) fn stores_again(self) -> bool {
        self.has(StoresAgain)
    }

    /// Returns whether a file of the format is one JSON object: its lines mean nothing, and an entry is
    /// a value in it, over any number of lines.
    pub(crate) fn is_document(self) -> bool {
        self.has(Document)
    }

    /// Returns whether its program may read an object over several lines as one.
    pub(crate) fn may_join_lines(self) -> bool {
        self.has(JoinsLines)
    }

    /// Returns whether its program is written in Python, and so accepts `NaN`, `Infinity` and
    /// `-Infinity` as values.
    pub(crate) fn is_python(self) -> bool {
        self.has(Python)
    }

    /// Creates a reader for its lines.
    pub(crate) fn reader(self) -> Reader {
        let mut reader = Reader::new();
        self.prepare(&mut reader);
        reader
    }

    /// Prepares a reader for its lines.
    pub(crate) fn prepare(self, reader: &mut Reader) {
        reader.python(self.is_python());
        reader.document(self.is_document());
        reader.hold(self.is_guest().then_some(HELD));
    }

    /// Returns the rules of the format.
    #[inline]
    #[doc(hidden)]
    pub fn dialect(self) -> &'static dyn Dialect {
        self.row().rules
    }
}
