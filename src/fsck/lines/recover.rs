//! Recovers damaged lines: each becomes the entries that can be recovered from it, and the rest is
//! set aside.

mod join;
mod parts;

pub(crate) use join::Torn;

use super::classify::{Class, Probe, classify, too_deep};
use super::title_slot::{Fitted, fitted};
use crate::format::{Format, NoteKind, OtherKind, Session};
use crate::fsck::excerpt::short;
use crate::fsck::finding::Finding;
use crate::fsck::rope::{Edit, Patched, Text};
use crate::fsck::table::Check;
use crate::json::{Str, TOO_DEEP, string_of};
use crate::model::{Change, Count, Fault, FaultKind, Key, Piece, Source, Span};
use join::{NO_ROOM, at_length};
use std::collections::HashSet;
use std::io;

/// Something that was removed from a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aside {
    /// The line of the file, from 1.
    pub line: u64,
    /// The check that caused it.
    pub check: Check,
    /// The bytes.
    pub content: Piece,
    /// How many bytes.
    pub bytes: u64,
}

/// The findings and changes made while lines were recovered.
#[derive(Default)]
pub(crate) struct Recovery {
    pub findings: Vec<Finding>,
    pub aside: Vec<Aside>,
    pub changes: Vec<Change>,
    /// The legible parts of truncated lines.
    pub torn: Vec<Torn>,
    /// The ids on lines that stay as they are and that agents may read; [`Key::NONE`] for one
    /// without an id.
    pub deep: HashSet<Key>,
    /// Lines of the file that already have a class.
    classed: HashSet<u64>,
    /// How many bytes may still be tried as the rest of a line.
    budget: Option<usize>,
}

/// What a truncated line shows of its parent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Above {
    #[default]
    Unseen,
    /// It had none.
    Root,
    Id(String),
}

impl Above {
    pub(crate) fn id(&self) -> Option<&str> {
        match self {
            Above::Id(id) => Some(id),
            Above::Unseen | Above::Root => None,
        }
    }
}

/// A line that was read as damaged, or several that the agent reads as one object.
#[derive(Clone, Copy)]
struct Bad {
    line: u64,
    offset: u64,
    len: u64,
    /// How many lines it spans, if the agent reads them as one object; otherwise 1.
    lines: u64,
    why: Option<(u64, &'static str)>,
}

impl Recovery {
    /// Returns whether a line of the file became part of an object that begins above it.
    pub(crate) fn consumed(&self, line: u64) -> bool {
        self.classed.contains(&line)
    }

    /// Records that the encoding of the whole file was changed.
    pub(crate) fn recoded(&mut self, old: u64, new: u64) {
        self.changes.push(Change {
            path: None,
            op: "recode",
            old: "UTF-16".into(),
            new: "UTF-8".into(),
            bytes: new as i64 - old as i64,
            why: "agents read UTF-8".into(),
            ..Change::default()
        });
    }
}

/// The maximum number of bytes that are tried as the rest of an object, in total.
const BUDGET: usize = 64 << 20;

/// A line with at least this many bytes is searched for NUL bytes before it is read as a whole.
const LONG: u64 = 16 << 20;

/// How many bytes of such a line are read at a time.
const BLOCK: u64 = 1 << 20;

/// The maximum number of lines that are tried as the rest of an object.
const MOST_LINES: usize = 10_000;

/// Recovers the damaged lines of a text; returns `None` if there is nothing to do.
///
/// `session` is what was read of the text. The result may be damaged in another way (entries that
/// were glued together may contain bytes that are not UTF-8), so it is read and processed again.
pub(crate) fn pass(
    source: &Patched<'_>,
    session: &Session,
    probe: &mut Probe,
    out: &mut Recovery,
) -> io::Result<Option<Text>> {
    let bad = bad_lines(session);
    let mut edits = Vec::new();
    let mut work = Work { source, format: session.format, probe, out, edits: &mut edits };
    if session.faults.iter().any(|fault| fault.kind == FaultKind::Bom) {
        work.bom();
    }
    let mut at = 0;
    let mut last_is_bad = false;
    while at < bad.len() {
        let line = bad[at];
        let last = match line.lines {
            1 => work.line(line)?,
            _ => Some(work.joined(line)?),
        };
        last_is_bad = last == Some(session.files[0].lines);
        let last = last.unwrap_or(line.line);
        at += bad[at..].iter().take_while(|bad| bad.line <= last).count();
    }
    if !session.files[0].ends_in_newline && !last_is_bad {
        work.newline(session)?;
    }
    Ok((!edits.is_empty()).then(|| source.text.edited(edits)))
}

fn bad_lines(session: &Session) -> Vec<Bad> {
    let of_fault = |fault: &Fault| {
        let why = match fault.kind {
            FaultKind::Broken { at, why } => Some((at, why)),
            FaultKind::Trailing { at } => Some((at, "there are more bytes after the object")),
            FaultKind::TooDeep { at } => Some((at, TOO_DEEP)),
            FaultKind::Nul | FaultKind::InvalidUtf8 | FaultKind::LoneSurrogate | FaultKind::NoEntry => None,
            _ => return None,
        };
        Some(Bad { line: fault.line, offset: fault.offset, len: fault.len, lines: 1, why })
    };
    let mut bad: Vec<Bad> = session.faults.iter().filter_map(of_fault).collect();
    for note in session.side.iter().flat_map(|side| &side.notes) {
        // An object with an id is an entry to the agent, and stays.
        if note.kind == NoteKind::NoType && note.key == Key::NONE {
            let line = u64::from(note.line);
            bad.push(Bad { line, offset: note.offset, len: note.len, lines: 1, why: None });
        }
    }
    bad.extend(session.joined.iter().map(|joined| Bad {
        line: joined.line,
        offset: joined.span.offset,
        len: joined.span.len,
        lines: joined.lines,
        why: None,
    }));
    bad.sort_by_key(|bad| (bad.line, bad.lines == 1, bad.why.is_none()));
    bad.dedup_by_key(|bad| bad.line);
    bad
}

struct Work<'a, 'b> {
    source: &'a Patched<'b>,
    format: Format,
    probe: &'a mut Probe,
    out: &'a mut Recovery,
    edits: &'a mut Vec<Edit>,
}

impl Work<'_, '_> {
    fn bom(&mut self) {
        self.find(Check::Bom, Bad { line: 1, offset: 0, len: 0, lines: 1, why: None }, "", {
            "the file begins with a byte order mark".into()
        });
        self.change("strip", 1, "", "\u{feff}", "", -3, "agents do not expect a byte order mark");
        self.edits.push(Edit { from: 0, to: 3, line: 1, ..Edit::default() });
    }

    /// Adds a newline if the last line is intact but does not end in one.
    fn newline(&mut self, session: &Session) -> io::Result<()> {
        let facts = &session.files[0];
        if facts.lines == 0
            || session.others.last().is_some_and(|other| {
                other.line == facts.lines && matches!(other.kind, OtherKind::Blank | OtherKind::Unknown)
            })
        {
            return Ok(());
        }
        let end = self.source.text.len();
        let line = Bad { line: facts.lines, offset: end, len: 0, lines: 1, why: None };
        self.unended(line);
        let ending: &[u8] = if facts.crlf > facts.lines / 2 { b"\r\n" } else { b"\n" };
        let words = "the next line would be joined to it";
        self.change("append", self.old(line), "", "", "\\n", ending.len() as i64, words);
        if let Some(last) = self.edits.last_mut().filter(|last| last.to == end && last.from < end) {
            // The line is changed anyway.
            last.new.extend_from_slice(ending);
            return Ok(());
        }
        let edit = Edit { from: end, to: end, line: facts.lines, new: ending.to_vec(), ..Edit::default() };
        self.edits.push(edit);
        Ok(())
    }

    fn unended(&mut self, line: Bad) {
        self.find(Check::NoFinalNewline, line, "", "the last line does not end with a line feed".into());
    }

    /// Joins the lines of an object that the agent reads from several lines; returns its last line.
    fn joined(&mut self, line: Bad) -> io::Result<u64> {
        let bytes = self.read(line)?;
        let ending = self.ending(line)?;
        let mut record = Vec::with_capacity(bytes.len());
        for piece in bytes.split(|byte| *byte == b'\n') {
            record.extend_from_slice(piece.strip_suffix(b"\r").unwrap_or(piece));
        }
        // Other white space than JSON's may come before it.
        let start = record.iter().position(|byte| *byte == b'{').unwrap_or(0);
        record.drain(..start);
        let id = self.id(&record);
        self.classed(Check::SplitRecord, line, &id, message(Check::SplitRecord, line, 1));
        let old = self.old(line);
        let shown = short(&record);
        self.change("join", old, "", &short(&bytes), &shown, 0, "the object continues there");
        let first = Bad { len: 0, ..line };
        self.consume(first, &bytes);
        if ending.is_empty() {
            self.unended(line);
        }
        self.replace(line, line.lines, [&record[..]], &ending);
        Ok(line.line + line.lines - 1)
    }

    /// Records that the bytes after a line, up to `to`, became part of the object that begins in
    /// it. `was` contains these bytes.
    fn consume(&mut self, line: Bad, was: &[u8]) {
        let from = line.offset + line.len;
        for (at, newline) in memchr::memchr_iter(b'\n', was).enumerate() {
            let next = from + newline as u64 + 1;
            if next < from + was.len() as u64 {
                let old = self.source.text.origin(line.line + 1 + at as u64, next).line;
                self.out.classed.insert(old);
            }
        }
    }

    /// Processes one line; returns the last line that was processed with it, if it was damaged at
    /// all.
    fn line(&mut self, line: Bad) -> io::Result<Option<u64>> {
        if line.why.is_some_and(|(_, why)| why == TOO_DEEP) {
            // Agents may read what bough can't: the line stays, and so do its children.
            let bytes = self.read(line)?;
            if let Some(object) = too_deep(&bytes, self.probe.python) {
                self.stays(Check::DeepNesting, line, "values are nested deeper than bough reads them");
                let id = string_of(&object, self.format.names().id);
                self.out.deep.insert(id.map_or(Key::NONE, |id| Key::hash(id.as_bytes())));
                return Ok(None);
            }
            if self.format.is_python() && matches!(classify(&bytes, self.probe), Class::Record) {
                self.stays(Check::DeepNesting, line, "values are nested deeper than Python reads them");
                return Ok(None);
            }
        }
        let ending = self.ending(line)?;
        if line.len >= LONG
            && let Some(left) = self.without_nuls(line)?
        {
            self.nul(line, left, &ending);
            return Ok(Some(line.line));
        }
        let bytes = self.read(line)?;
        Ok(match classify(&bytes, self.probe) {
            Class::Blank => None,
            Class::Record => {
                self.halves(line, &bytes, &ending);
                None
            }
            Class::Nul(left) => {
                self.nul(line, left, &ending);
                Some(line.line)
            }
            Class::InvalidUtf8 => {
                let id = self.id(&bytes);
                let text = String::from_utf8_lossy(&bytes).into_owned().into_bytes();
                let Some((text, blanks)) = at_length(line, text, bytes.len(), &ending) else {
                    self.stays(Check::InvalidUtf8, line, NO_ROOM);
                    return Ok(None);
                };
                let message = "the line has bytes that are not UTF-8".into();
                self.classed(Check::InvalidUtf8, line, &id, message);
                self.change("replace", self.old(line), &id, "", "\u{fffd}", 0, "bytes that are not UTF-8");
                self.padded(line, blanks);
                self.set_aside(line, Check::InvalidUtf8, 0..bytes.len(), &bytes);
                if ending.is_empty() {
                    self.unended(line);
                }
                self.replace(line, 1, [&text[..]], &ending);
                Some(line.line)
            }
            Class::Glued(parts) => self.parts(Check::GluedLines, line, &bytes, parts, &ending)?,
            Class::Spliced(parts) => self.parts(Check::SplicedLine, line, &bytes, parts, &ending)?,
            Class::Torn(parts) => self.parts(Check::TornLine, line, &bytes, parts, &ending)?,
            Class::Garbage(parts) => self.parts(Check::GarbageLine, line, &bytes, parts, &ending)?,
        })
    }

    fn read(&self, line: Bad) -> io::Result<Vec<u8>> {
        self.source.bytes(Span { file: 0, offset: line.offset, len: line.len })
    }

    /// Returns the line ending; empty at the end of the text.
    fn ending(&self, line: Bad) -> io::Result<Vec<u8>> {
        let offset = line.offset + line.len;
        let len = (self.source.text.len() - offset).min(2);
        let bytes = self.source.bytes(Span { file: 0, offset, len })?;
        Ok(match bytes[..] {
            [b'\n', ..] => b"\n".to_vec(),
            [b'\r', b'\n'] => b"\r\n".to_vec(),
            _ => Vec::new(),
        })
    }

    fn id(&self, line: &[u8]) -> String {
        let raw = crate::json::member_of_whole(line, self.format.names().id);
        let raw = raw.and_then(|raw| raw.strip_prefix(b"\"")?.strip_suffix(b"\""));
        raw.map(|raw| Str { raw }.text().into_owned()).unwrap_or_default()
    }

    /// Replaces a line with others. If it had no ending, it gets one.
    fn replace<const N: usize>(&mut self, line: Bad, gone: u64, lines: [&[u8]; N], ending: &[u8]) {
        let terminator: &[u8] = if ending.is_empty() { b"\n" } else { ending };
        let new = lines.iter().flat_map(|line| [line, terminator]).flatten().copied().collect();
        self.replace_line(line, gone, new, ending);
    }

    fn replace_line(&mut self, line: Bad, gone: u64, new: Vec<u8>, ending: &[u8]) {
        let to = line.offset + line.len + ending.len() as u64;
        self.edits.push(Edit { from: line.offset, to, line: line.line, lines: gone, new, fresh: false });
    }

    fn old(&self, line: Bad) -> u64 {
        self.source.text.origin(line.line, line.offset).line
    }

    fn find(&mut self, check: Check, line: Bad, id: &str, message: String) {
        let origin = self.source.text.origin(line.line, line.offset);
        self.out.findings.push(Finding {
            check,
            line: origin.line,
            offset: origin.offset,
            id: id.to_owned(),
            message,
            entry: None,
            other: None,
            repairable: true,
        });
    }

    /// Reports the class of a line, unless that line of the file already has one.
    fn classed(&mut self, check: Check, line: Bad, id: &str, message: String) {
        let old = self.old(line);
        if self.out.classed.insert(old) {
            self.find(check, line, id, message);
        }
    }

    /// Reports the class of a line that no repair may change.
    fn stays(&mut self, check: Check, line: Bad, message: &str) {
        let known = self.out.findings.len();
        self.classed(check, line, "", message.into());
        self.out.findings[known..].iter_mut().for_each(|finding| finding.repairable = false);
    }

    /// Records that the padding of the title slot has more or fewer spaces than before.
    fn padded(&mut self, line: Bad, blanks: i64) {
        if blanks != 0 {
            let (old, new) = if blanks < 0 { (-blanks, 0) } else { (0, blanks) };
            let shown = |count: i64| Count("blank", "blanks", count as usize).to_string();
            self.change(
                "pad",
                self.old(line),
                "",
                &shown(old),
                &shown(new),
                blanks,
                "the title slot keeps its length",
            );
        }
    }

    fn set_aside(&mut self, line: Bad, check: Check, range: std::ops::Range<usize>, bytes: &[u8]) {
        let origin = self.source.text.origin(line.line, line.offset);
        let len = range.len() as u64;
        let content = match origin.same {
            true => {
                let offset = origin.offset + range.start as u64;
                Piece::Keep(Span { file: self.source.file, offset, len })
            }
            false => Piece::New(bytes[range.clone()].to_vec()),
        };
        self.out.aside.push(Aside { line: origin.line, check, content, bytes: len });
        let old = short(&bytes[range]);
        self.change("set-aside", origin.line, "", &old, "", -(len as i64), check.id());
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of a change, in their order")]
    fn change(&mut self, op: &'static str, line: u64, id: &str, old: &str, new: &str, bytes: i64, why: &str) {
        self.out.changes.push(Change {
            path: None,
            op,
            file: self.source.file,
            line,
            id: id.to_owned(),
            field: String::new(),
            old: old.to_owned(),
            new: new.to_owned(),
            bytes,
            why: why.to_owned(),
            is_guess: false,
        });
    }
}

/// Fits a line to the title slot, if it is the slot.
fn slot_of(line: Bad, bytes: &[u8], ending: &[u8]) -> Fitted {
    if line.line == 1 { fitted(bytes, ending.len().max(1)) } else { Fitted::NoSlot }
}

/// Returns the message about a line in parts.
fn message(check: Check, line: Bad, entries: usize) -> String {
    let broken = || match line.why {
        Some((at, why)) => format!("{why}, at byte {at} of the line"),
        None => "not an entry".into(),
    };
    match check {
        Check::GluedLines => format!("{entries} objects are on one line"),
        Check::SplicedLine if entries == 1 => "a fragment, followed by a complete object".into(),
        Check::SplicedLine => format!("a fragment, followed by {entries} complete objects"),
        Check::SplitRecord => "the object continues on the next line".into(),
        Check::GarbageLine if entries == 1 => "a list of one object".into(),
        Check::GarbageLine if entries > 1 && line.why.is_none() => format!("a list of {entries} objects"),
        Check::GarbageLine if entries > 1 => format!("{entries} objects, with other bytes around them"),
        Check::GarbageLine if line.why.is_none() => "JSON, but not an object with a type".into(),
        Check::GarbageLine => "not an entry".into(),
        _ => broken(),
    }
}
