//! Columns besides the tree, needed only by `fsck`: tool calls and results, and references in rare
//! lines.

use super::{Format, Link, OtherKind, ParentRef, flaws, image};
use crate::json::{BlockKind, Field, Line, Shape, Str, Value};
use crate::model::{Flags, Ix, Key, Kind};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// What is collected about a session besides its tree, if [`super::Builder::side`] asked for it.
///
/// Its size depends on the number of tool calls and of lines that name an entry, never on their
/// length.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    /// The tool calls and results, in file order.
    pub tools: Vec<ToolRef>,
    /// All other notes, in file order.
    pub notes: Vec<Note>,
}

/// A tool call or tool result in an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToolRef {
    /// The key of the call's id.
    pub id: Key,
    /// The entry.
    pub entry: Ix,
    /// Whether it is a result.
    pub result: bool,
}

/// A fact about one line for which its entry has no column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note {
    /// The kind of fact.
    pub kind: NoteKind,
    /// The entry; for a line that is not an entry, the number of entries before it.
    pub entry: Ix,
    /// Which file of the session.
    pub file: u16,
    /// The line number, starting at 1.
    pub line: u32,
    /// The offset of the line.
    pub offset: u64,
    /// The number of bytes of the line, without its ending.
    pub len: u64,
    /// The id that the line names or has.
    pub key: Key,
}

/// The kinds of [`Note`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoteKind {
    /// An object without a type; the key is that of the id that makes it an entry nevertheless.
    NoType,
    /// A header of the pi family.
    Header,
    /// An entry with a logical parent.
    LogicalParent,
    /// A summary line about an entry.
    Summary,
    /// A line that stores files for an entry.
    Snapshot,
    /// A line that is not an entry but has an id.
    StrayId,
    /// A turn without an id.
    TurnWithoutId,
    /// An entry of the pi family whose id is a number.
    NumberId,
    /// An entry of the pi family or of Chimera that names its parent by something that is not a
    /// string.
    OddParent,
    /// A turn whose content is an empty string.
    EmptyContent,
    /// A text block without text in a turn.
    EmptyText,
    /// A turn whose content is an object.
    ObjectContent,
    /// An entry with an image that providers reject.
    WideImage,
    /// An entry with an image or a result on a line that was too long to hold in memory.
    Long,
    /// An entry whose image is in a separate file.
    Blob,
    /// A result that names a subagent's transcript; the key is the subagent's id.
    Agent,
    /// A result whose text is in a separate file.
    ResultFile,
    /// A compaction that names the first entry that it keeps; for Claude Code, its lists have to be
    /// read.
    Kept,
    /// A branch summary that names the entry at which the branch was left.
    From,
    /// An entry that may have a field that its agent can't read or send: [`flaws`] decides by the
    /// bytes of the line.
    Flawed,
}

/// Notes the entries that a compaction or a summary names.
#[inline]
fn links_of_summary(line: &Line<'_>, kind: Kind, format: Format, note: &mut impl FnMut(NoteKind, Key)) {
    let fields = &line.fields;
    match kind {
        Kind::Compaction if format != Format::Claude => {
            let field = match format {
                Format::Chimera => Field::FirstKeptSnake,
                Format::PiDesign => Field::FirstKeptUuid,
                _ => Field::FirstKeptId,
            };
            if let Some(kept) = fields.str(field).filter(|id| !id.raw.is_empty()) {
                note(NoteKind::Kept, kept.key());
            }
        }
        Kind::Summary => {
            let from = fields.str(Field::FromId);
            if let Some(from) = from.filter(|id| !id.raw.is_empty() && !id.equals("root")) {
                note(NoteKind::From, from.key());
            }
        }
        _ => {}
    }
}

/// Notes what only entries of Claude Code have.
#[inline]
fn of_claude(line: &Line<'_>, link: &Link<'_>, note: &mut impl FnMut(NoteKind, Key)) {
    let fields = &line.fields;
    if let Some(parent) = fields.str(Field::LogicalParent).filter(|id| !id.raw.is_empty()) {
        note(NoteKind::LogicalParent, parent.key());
    }
    if matches!(link.ty.map(|ty| ty.raw), Some(b"user" | b"assistant")) {
        match fields.get(Field::Content) {
            Value::String(text) if text.raw.is_empty() => note(NoteKind::EmptyContent, Key::NONE),
            Value::Object => note(NoteKind::ObjectContent, Key::NONE),
            _ => {}
        }
    }
    if link.flags.has(Flags::EMPTY_TEXT) {
        for _ in fields.blocks().filter(|block| block.kind == BlockKind::Text && block.empty) {
            note(NoteKind::EmptyText, Key::NONE);
        }
    }
    if let Some(agent) = fields.str(Field::ResultAgent).filter(|id| !id.raw.is_empty()) {
        note(NoteKind::Agent, agent.key());
    }
}

impl Diagnostics {
    /// Processes a line that is an entry.
    pub(super) fn entry(&mut self, line: &Line<'_>, link: &Link<'_>, ix: Ix, file: u16, format: Format) {
        let fields = &line.fields;
        let claude = format == Format::Claude;
        let mut image = link.flags.has(Flags::IMAGE);
        let (mut nested, mut in_file) = (false, false);
        let mut odd_call = false;
        let odd_text = fields.each_tool_block(|block| {
            let result = block.kind == BlockKind::Result;
            odd_call |= !result && flaws::is_odd_call(block);
            if let Some(id) = block.id.filter(|id| !id.raw.is_empty()) {
                self.tools.push(ToolRef { id: id.key(), entry: ix, result });
            }
            nested |= block.nested;
            in_file |= claude && block.content.is_some_and(names_a_file);
        });
        if link.flags.has(Flags::RESULT)
            && let Some(id) = fields.str(Field::ToolCallId).or(fields.str(Field::CallId))
            && !id.raw.is_empty()
        {
            self.tools.push(ToolRef { id: id.key(), entry: ix, result: true });
        }
        let mut note = |kind, key| self.notes.push(Note::new(line, kind, ix, file, key));
        if link.ty.is_none() {
            let id = link
                .id
                .filter(|_| !claude)
                .map(|id| if link.is_number { Key::of_number(id.raw) } else { id.key() });
            note(NoteKind::NoType, id.unwrap_or(Key::NONE));
        }
        if flaws::may_have(format, line, link, odd_call || odd_text) {
            note(NoteKind::Flawed, Key::NONE);
        }
        links_of_summary(line, link.kind, format, &mut note);
        if claude && link.id.is_none() {
            note(NoteKind::TurnWithoutId, Key::NONE);
        }
        if link.is_number
            && let Some(id) = link.id
        {
            note(NoteKind::NumberId, Key::of_number(id.raw));
        }
        if !claude && matches!(link.parent, ParentRef::None) {
            let parent = match format {
                Format::PiDesign => Field::ParentUuid,
                Format::Chimera => Field::ParentSnake,
                _ => Field::ParentId,
            };
            if !matches!(fields.get(parent), Value::String(_) | Value::Null | Value::Absent) {
                note(NoteKind::OddParent, Key::NONE);
            }
        }
        if claude {
            of_claude(line, link, &mut note);
            if nested && let Some(bytes) = line.bytes {
                // The inside of a result's blocks is deeper than the reader looks.
                image |= memchr::memmem::find(bytes, b"\"image\"").is_some();
                in_file |= memchr::memmem::find(bytes, RESULT_FILES).is_some();
            }
            if in_file {
                note(NoteKind::ResultFile, Key::NONE);
            }
        }
        if line.bytes.is_none() && (image || claude && link.flags.has(Flags::RESULT)) {
            note(NoteKind::Long, Key::NONE);
        }
        if image && let Some(bytes) = line.bytes {
            let seen = image::inspect(bytes);
            for _ in 0..seen.oversize {
                note(NoteKind::WideImage, Key::NONE);
            }
            if seen.blob {
                note(NoteKind::Blob, Key::NONE);
            }
        }
    }

    /// Appends the notes of a later segment of the file; `entries` and `lines` are the numbers
    /// before it.
    pub(super) fn append(&mut self, other: Diagnostics, entries: u32, lines: u64, file: u16) {
        let later = |ix: Ix| Ix(ix.0 + entries);
        self.tools.extend(other.tools.iter().map(|tool| ToolRef { entry: later(tool.entry), ..*tool }));
        self.notes.extend(other.notes.iter().map(|note| Note {
            entry: later(note.entry),
            line: u32::try_from(u64::from(note.line) + lines).unwrap_or(u32::MAX),
            file,
            ..*note
        }));
    }

    /// Processes a line that is not an entry; `entries` is the number of entries before it.
    pub(super) fn other(&mut self, line: &Line<'_>, kind: OtherKind, entries: Ix, file: u16, claude: bool) {
        let fields = &line.fields;
        let Some(ty) = fields.str(Field::Type).filter(|_| line.shape == Shape::Object) else { return };
        let mut note = |kind, key| self.notes.push(Note::new(line, kind, entries, file, key));
        if kind == OtherKind::Header {
            return note(NoteKind::Header, fields.str(Field::Id).map_or(Key::NONE, Str::key));
        }
        if !claude {
            return;
        }
        if let Some(id) = fields.str(Field::Uuid).filter(|id| !id.raw.is_empty()) {
            note(NoteKind::StrayId, id.key());
        } else if matches!(ty.raw, b"user" | b"assistant" | b"system" | b"attachment") {
            note(NoteKind::TurnWithoutId, Key::NONE);
        }
        if ty.equals("summary")
            && let Some(leaf) = fields.str(Field::LeafUuid)
        {
            note(NoteKind::Summary, leaf.key());
        }
        if let Some(id) = fields.str(Field::SnapshotId).filter(|id| !id.raw.is_empty()) {
            note(NoteKind::Snapshot, id.key());
        }
    }
}

/// The folder of results that were too long for the transcript, as part of a path.
const RESULT_FILES: &[u8] = b"/tool-results/";

/// Returns whether a result says that it is in a separate file: it says so at its start, before the
/// excerpt of the result.
fn names_a_file(content: Str<'_>) -> bool {
    const START: usize = 1024;
    static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(RESULT_FILES));
    FINDER.find(&content.raw[..content.raw.len().min(START)]).is_some()
}

impl Note {
    fn new(line: &Line<'_>, kind: NoteKind, entry: Ix, file: u16, key: Key) -> Note {
        let number = u32::try_from(line.number).unwrap_or(u32::MAX);
        Note { kind, entry, file, line: number, offset: line.offset, len: line.len, key }
    }
}
