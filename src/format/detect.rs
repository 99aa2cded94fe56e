use super::Format;
use crate::json::{Field, Line, Reader, Shape, Value};
use std::io;

/// What the first lines tell of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detected {
    /// A session of this format.
    Format(Format),
    /// Nothing but blank lines.
    Empty,
    /// No session that is known.
    Unknown,
}

/// How many lines that parse are looked at.
const LINES: usize = 50;

/// Tells the format of a file from its first bytes; a last line that is cut off does no harm.
///
/// The first line that parses decides for the pi family and Chimera, as it does for their programs. Claude
/// Code's files begin with lines of many sorts: there the first lines together decide.
pub fn detect(head: &[u8]) -> Detected {
    const BLOCK: usize = 16 << 10;
    // Mostly the first line says it all, and is short.
    let first = memchr::memchr(b'\n', head).map_or(head.len(), |newline| newline + 1).min(BLOCK);
    let mut detector = Detector { look: Look::default(), reader: Reader::with_blocks(first.max(1 << 10)) };
    let (first, rest) = head.split_at(first);
    for piece in std::iter::once(first).chain(rest.chunks(BLOCK)) {
        if detector.look.parsed == LINES || detector.look.is_sure() {
            break;
        }
        detector.take(piece);
    }
    detector.answer()
}

/// Whether a line ends in the first bytes of a file that is not blank.
pub fn has_line(head: &[u8]) -> bool {
    memchr::memchr(b'\n', head.trim_ascii_start()).is_some()
}

/// Tells the format as [`detect()`] does, from as many blocks as the first line that is not blank takes, so that it may be of
/// any length.
///
/// `block` puts the bytes from an offset on into the buffer that it is given; none at the end of the file.
pub fn detect_in_blocks(mut block: impl FnMut(u64, &mut Vec<u8>) -> io::Result<()>) -> io::Result<Detected> {
    let mut detector = Detector { look: Look::default(), reader: Reader::new() };
    let (mut bytes, mut offset) = (Vec::new(), 0);
    loop {
        block(offset, &mut bytes)?;
        detector.take(&bytes);
        if bytes.is_empty() || detector.look.anything {
            return Ok(detector.answer());
        }
        offset += bytes.len() as u64;
    }
}

struct Detector {
    look: Look,
    reader: Reader,
}

impl Detector {
    fn take(&mut self, bytes: &[u8]) {
        self.reader.feed(bytes, |line| self.look.line(line));
    }

    fn answer(mut self) -> Detected {
        if !self.look.is_sure() {
            self.reader.finish(|line| self.look.line(line));
        }
        self.look.answer()
    }
}

#[derive(Default)]
struct Look {
    parsed: usize,
    anything: bool,
    header: Option<Format>,
    pi: usize,
    design: bool,
    chimera: usize,
    claude: usize,
    first_entry_has_id: Option<bool>,
}

impl Look {
    fn line(&mut self, line: &Line<'_>) {
        self.anything |= line.shape != Shape::Blank;
        if !matches!(line.shape, Shape::Object | Shape::Trailing { .. }) || self.parsed == LINES {
            return;
        }
        let fields = &line.fields;
        let has = |field| !matches!(fields.get(field), Value::Absent);
        let is = |wanted: &str| fields.str(Field::Type).is_some_and(|ty| ty.is(wanted));
        self.parsed += 1;
        if is("session") && !has(Field::ParentSnake) {
            self.design |= has(Field::Uuid);
            self.header = self.header.or(Some(version(fields.get(Field::Version))));
        } else if fields.str(Field::Kind).is_some_and(|kind| kind.is("header")) && !is("session") {
            let four = |field| matches!(fields.get(field), Value::Number(b"4"));
            if self.parsed == 1 && (four(Field::Version) || four(Field::V)) {
                self.header = Some(Format::HarnessV4);
            }
        } else if has(Field::ParentSnake) && fields.str(Field::Id).is_some()
            || is("header") && has(Field::Cwd)
        {
            self.chimera += 1;
        } else if has(Field::ParentId) && has(Field::Type) {
            self.pi += 1;
        } else if has(Field::SessionId)
            || has(Field::ParentUuid)
            || has(Field::LeafUuid)
            || has(Field::SnapshotId)
        {
            self.design |= has(Field::Uuid);
            self.claude += usize::from(has(Field::Type));
        }
        if self.header.is_some() && !is("session") && !is("title") {
            self.first_entry_has_id.get_or_insert(has(Field::Id));
        }
    }

    /// Whether no further line could change the answer.
    fn is_sure(&self) -> bool {
        self.header.is_some_and(|format| format != Format::PiV2)
    }

    fn answer(&self) -> Detected {
        Detected::Format(match self.header {
            Some(Format::PiV2) if self.design => Format::PiDesign,
            Some(format) => format,
            None if self.pi > 0 => Format::Pi,
            None if self.chimera > 0 => Format::Chimera,
            None if self.claude > 0 => Format::Claude,
            None if self.anything => return Detected::Unknown,
            None => return Detected::Empty,
        })
    }
}

/// The member of the pi family that a header's version names.
fn version(version: Value<'_>) -> Format {
    let number = match version {
        Value::Number(number) => std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok()),
        Value::String(text) => text.text().trim().parse::<f64>().ok(),
        Value::Absent | Value::Null => Some(1.0),
        _ => None,
    };
    match number {
        Some(number) if number < 2.0 => Format::PiV1,
        Some(number) if number < 3.0 => Format::PiV2,
        _ => Format::Pi,
    }
}
