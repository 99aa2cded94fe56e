//! Classifies single lines, and finds what can be recovered from them.

use super::walk::{Walk, Whole};
use crate::format::Format;
use crate::json::{Field, Line, Reader, Shape, Value, each_item, place_in};
use std::ops::Range;

/// Reads single lines with the reader that is used for whole files.
pub(crate) struct Probe {
    reader: Reader,
    /// Whether entries have no ids, as in version 1 of pi's format.
    pub(crate) without_ids: bool,
    /// The field whose id makes an object an entry to the agent although it has no type; only in
    /// some formats.
    linked_by: Option<Field>,
    /// Whether the agent accepts `NaN` and the like as values.
    pub(crate) python: bool,
}

impl Probe {
    pub(crate) fn new(format: Format) -> Probe {
        let linked_by = match format {
            Format::PiDesign => Some(Field::Uuid),
            Format::PiV2 | Format::Pi | Format::Harness | Format::Omp | Format::OpenClaw | Format::Prime => {
                Some(Field::Id)
            }
            _ => None,
        };
        // There is usually nothing to read.
        let mut reader = Reader::with_blocks(16 << 10);
        reader.python(format.is_python());
        Probe { reader, without_ids: !format.has_ids(), linked_by, python: format.is_python() }
    }

    /// Reads one line.
    pub(crate) fn look<T>(&mut self, line: &[u8], mut with: impl FnMut(&Line<'_>) -> T) -> Option<T> {
        // Not as the first line, in which a byte order mark would be skipped.
        self.reader.restart(0, 1);
        self.reader.feed(line, |_| {});
        let mut out = None;
        self.reader.finish(|line| out = Some(with(line)));
        out
    }

    /// Returns whether bytes are a whole entry: an object that says where it belongs.
    pub(crate) fn is_entry(&mut self, line: &[u8]) -> bool {
        let without_ids = self.without_ids;
        self.look(line, |line| line.shape == Shape::Object && says_where(line, without_ids)).unwrap_or(false)
    }

    /// Returns whether an entry contains everything that a separate line contains.
    ///
    /// The messages of subagents that Claude Code puts into other lines have an id, but neither a
    /// parent nor a session.
    pub(crate) fn is_line(&mut self, entry: &[u8]) -> bool {
        const OF_LINES: [Field; 2] = [Field::ParentUuid, Field::SessionId];
        let has = |line: &Line<'_>, field| line.fields.get(field) != Value::Absent;
        self.is_entry(entry)
            && self
                .look(entry, |line| {
                    !has(line, Field::Uuid) || OF_LINES.into_iter().any(|field| has(line, field))
                })
                .unwrap_or(false)
    }
}

/// Returns whether an object on a separate line is valid: it has a type, or an id that makes it an
/// entry nevertheless.
fn is_record(line: &Line<'_>, linked_by: Option<Field>) -> bool {
    let has_id = |field| match line.fields.get(field) {
        Value::String(id) => !id.raw.is_empty(),
        Value::Number(_) => true,
        _ => false,
    };
    line.fields.str(Field::Type).is_some() || linked_by.is_some_and(has_id)
}

/// Returns whether an object is an entry, judging by its fields. An object inside another may have
/// a type, too.
fn says_where(line: &Line<'_>, without_ids: bool) -> bool {
    const PLACES: [Field; 6] = [
        Field::Uuid,
        Field::SessionId,
        Field::LeafUuid,
        Field::SnapshotId,
        Field::ParentId,
        Field::ParentSnake,
    ];
    let has = |field| line.fields.get(field) != Value::Absent;
    line.fields.str(Field::Type).is_some_and(|ty| {
        ty.equals("session")
            || ty.equals("title")
            || PLACES.into_iter().any(has)
            || without_ids && has(Field::Timestamp)
    })
}

/// The class of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Only white space.
    Blank,
    /// A valid, intact line.
    Record,
    /// It contains NUL bytes; holds the rest without them.
    Nul(Vec<u8>),
    /// A valid line after bytes that are not UTF-8 are replaced.
    InvalidUtf8,
    /// Several entries, perhaps with other pieces between or after them.
    Glued(Vec<Part>),
    /// A piece, followed by entries.
    Spliced(Vec<Part>),
    /// It begins with a brace and is not JSON.
    Torn(Vec<Part>),
    /// Anything else.
    Garbage(Vec<Part>),
}

/// A part of a damaged line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// A whole entry.
    Entry(Range<usize>),
    /// A part that becomes a whole entry after control characters are escaped.
    Escaped(Range<usize>, Vec<u8>),
    /// Anything else.
    Piece(Range<usize>),
}

impl Part {
    pub(crate) fn is_entry(&self) -> bool {
        !matches!(self, Part::Piece(_))
    }
}

/// Returns the class of a line, the first that applies.
pub(crate) fn classify(line: &[u8], probe: &mut Probe) -> Class {
    if memchr::memchr(0, line).is_some() {
        return Class::Nul(line.iter().copied().filter(|byte| *byte != 0).collect());
    }
    let linked_by = probe.linked_by;
    let seen = probe.look(line, |line| {
        let record = line.shape == Shape::Object && is_record(line, linked_by);
        (line.shape, record, line.notes.invalid_utf8)
    });
    let Some((shape, record, invalid)) = seen else { return Class::Blank };
    match shape {
        Shape::Blank => return Class::Blank,
        Shape::Object if record && invalid => return Class::InvalidUtf8,
        Shape::Object if record => return Class::Record,
        Shape::Scalar => return Class::Garbage(items(line, probe)),
        Shape::Object => return Class::Garbage(vec![Part::Piece(inked(line))]),
        _ => {}
    }
    let parts = parts(line, probe);
    let count = parts.iter().filter(|part| part.is_entry()).count();
    let first = parts.first().is_some_and(Part::is_entry);
    let last = parts.last().is_some_and(Part::is_entry);
    match parts.first() {
        Some(Part::Entry(_)) if count >= 2 => Class::Glued(parts),
        Some(_) if count >= 1 && last && !first => Class::Spliced(parts),
        Some(Part::Escaped(..)) if count >= 2 => Class::Glued(parts),
        _ if line.trim_ascii_start().first() == Some(&b'{') => Class::Torn(parts),
        _ => Class::Garbage(parts),
    }
}

/// Returns the first whole object on a line that is nested deeper than the reader can go, with
/// `null` in place of all nested values.
///
/// Agents may read such a line. Returns `None` if there is no such object, e.g. if the line was
/// truncated in the middle of one.
pub(crate) fn too_deep(line: &[u8], python: bool) -> Option<Vec<u8>> {
    let mut at = 0;
    loop {
        let brace = at + memchr::memchr(b'{', line.get(at..)?)?;
        match Walk::of_any_depth(line, brace, python) {
            Ok((end, true)) => return Some(flat(&line[brace..end])),
            Ok((end, false)) => at = end,
            // A string that was taken for the end of a truncated one may begin right before.
            Err(wrong) => at = wrong.saturating_sub(2).max(brace + 1),
        }
    }
}

/// Returns an object with `null` in place of each object and list in it.
fn flat(object: &[u8]) -> Vec<u8> {
    let (mut out, mut depth, mut text, mut escaped) = (Vec::new(), 0u32, false, false);
    for byte in object {
        let opens = !text && matches!(byte, b'{' | b'[');
        let closes = !text && matches!(byte, b'}' | b']');
        if opens {
            depth += 1;
            if depth == 2 {
                out.extend_from_slice(b"null");
            }
        }
        if depth < 2 {
            out.push(*byte);
        }
        depth -= u32::from(closes);
        text ^= *byte == b'"' && !escaped;
        escaped = text && *byte == b'\\' && !escaped;
    }
    out
}

/// Returns the range of the line without the white space around it, as defined by JSON. Agents fail
/// on other white space, e.g. a form feed.
pub(crate) fn inked(line: &[u8]) -> Range<usize> {
    let is_ink = |byte: &u8| !is_space(byte);
    let start = line.iter().position(is_ink).unwrap_or(line.len());
    start..line.iter().rposition(is_ink).map_or(start, |last| last + 1)
}

fn is_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns the entries of a list of whole entries.
fn items(line: &[u8], probe: &mut Probe) -> Vec<Part> {
    let whole = inked(line);
    let none = vec![Part::Piece(whole.clone())];
    if line.get(whole.start) != Some(&b'[') {
        return none;
    }
    let (mut out, mut from) = (Vec::new(), whole.start);
    for item in each_item(&line[whole.clone()]) {
        let place = place_in(line, item);
        if item.first() != Some(&b'{') || !probe.is_entry(item) {
            return none;
        }
        // The comma between two of them has no meaning.
        out.extend(piece(line, from..place.start).filter(|_| from == whole.start));
        from = place.end;
        out.push(Part::Entry(place));
    }
    out.extend(piece(line, from..whole.end));
    out
}

/// Returns the whole entries on a line that is not JSON, and the pieces around them.
///
/// Each brace may begin an entry. An entry at a position at which an unfinished object needs a
/// value is a part of that object, unless that object goes no further and the entry contains
/// everything that a line contains. The work is bounded by a multiple of the length.
fn parts(line: &[u8], probe: &mut Probe) -> Vec<Part> {
    let whole = inked(line);
    let mut out = Vec::new();
    // How far unfinished objects were valid: earlier entries are inside them.
    let mut reach = 0;
    let mut from = whole.start;
    let mut braces = Braces::new(line, whole.clone(), probe.python);
    while let Some(brace) = braces.next() {
        let object = match braces.walk(brace) {
            Ok(object) => object,
            Err(wrong) => {
                reach = reach.max(wrong);
                continue;
            }
        };
        let bytes = &line[brace..object.end];
        let escaped_bytes = object.raw.then(|| Walk::escape_controls(bytes));
        let inside = brace + 2 < reach;
        let stops = object.end + line[object.end..].iter().take_while(|byte| is_space(byte)).count() >= reach;
        let entry = escaped_bytes.as_deref().unwrap_or(bytes);
        if !probe.is_entry(entry) || inside && !(stops && probe.is_line(entry)) {
            continue;
        }
        reach = 0;
        out.extend(piece(line, from..brace));
        from = object.end;
        out.push(match escaped_bytes {
            Some(escaped_bytes) => Part::Escaped(brace..object.end, escaped_bytes),
            None => Part::Entry(brace..object.end),
        });
    }
    out.extend(piece(line, from..whole.end));
    out
}

/// Returns the offsets in a piece of the objects that continue after it, the outermost first.
pub(crate) fn unfinished(piece: &[u8], python: bool) -> Vec<usize> {
    let mut out = Vec::new();
    let mut braces = Braces::new(piece, 0..piece.len(), python);
    while let Some(brace) = braces.next() {
        if braces.walk(brace) == Err(piece.len()) {
            out.push(brace);
        }
    }
    out
}

/// The braces of a line that may begin an object. The insides of objects are skipped.
struct Braces<'l> {
    line: &'l [u8],
    at: usize,
    /// How many bytes may still be walked through.
    budget: usize,
    python: bool,
}

impl<'l> Braces<'l> {
    fn new(line: &'l [u8], within: Range<usize>, python: bool) -> Braces<'l> {
        Braces { line: &line[..within.end], at: within.start, budget: line.len() * 64 + (1 << 20), python }
    }

    fn next(&mut self) -> Option<usize> {
        if self.budget == 0 {
            return None;
        }
        loop {
            let brace = self.at + memchr::memchr(b'{', self.line.get(self.at..)?)?;
            self.at = brace + 1;
            let next = self.line[brace + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
            if matches!(next, Some(b'"' | b'}') | None) {
                return Some(brace);
            }
        }
    }

    /// Returns the object that begins at a brace, or the offset of the error.
    fn walk(&mut self, brace: usize) -> Result<Whole, usize> {
        let walked = Walk::object(self.line, brace, self.python);
        let to = walked.map_or_else(|wrong| wrong, |object| object.end);
        self.budget = self.budget.saturating_sub(to - brace);
        if let Ok(object) = walked {
            self.at = object.end;
        }
        walked
    }
}

/// Returns the part between entries, if it is not blank.
fn piece(line: &[u8], range: Range<usize>) -> Option<Part> {
    let inner = inked(&line[range.clone()]);
    let range = range.start + inner.start..range.start + inner.end;
    (!range.is_empty()).then_some(Part::Piece(range))
}

/// Replaces each unpaired half of a surrogate pair with `\ufffd`. Returns `None` if there is none.
pub(crate) fn without_halves(line: &[u8]) -> Option<Vec<u8>> {
    let unit = |at: usize| -> Option<u32> {
        let digits = line.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    };
    let mut out = Vec::with_capacity(line.len());
    let mut from = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &line[at..]) {
        at += found;
        at += match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                out.extend_from_slice(&line[from..at]);
                out.extend_from_slice(b"\\ufffd");
                from = at + 6;
                6
            }
            _ => 2,
        };
        if at >= line.len() {
            break;
        }
    }
    if from == 0 {
        return None;
    }
    out.extend_from_slice(&line[from..]);
    Some(out)
}

#[cfg(test)]
mod tests;
