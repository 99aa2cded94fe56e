//! Documents: files that are one JSON object with a list of records. The values in it are read as
//! if each were on a line of its own.

use super::{Cutter, Ending, Line, Notes, SIZES, Shape};
use crate::json::fields::{Fields, Found};
use crate::json::scan::Scanner;

/// The member whose items are records.
const RECORDS: &[u8] = b"messages";

/// Cuts a document into records: the values of its members, and the items of the list `messages`.
///
/// A record goes to a reader of its own piece by piece, with spaces in the place of line breaks, so
/// none is held in memory here. After the last record, the rest of the document is one more line:
/// blank if the document is complete, and otherwise broken.
pub(super) struct Document {
    records: Cutter,
    place: Place,
    nest: Nest,
    /// The key before the current value, as far as it may be [`RECORDS`].
    key: Vec<u8>,
    /// The offset of the next byte, and the number of line feeds before it.
    offset: u64,
    lines: u64,
    /// The offset after the last record, and the last byte of the document.
    rest: u64,
    last: u8,
    /// The offset of the byte that does not belong there.
    wrong: u64,
}

/// What comes next in a document.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Start,
    /// The first key, or the end of the object.
    FirstKey,
    Key,
    InKey,
    /// In a key, after a backslash.
    InEscape,
    Colon,
    Value,
    InValue,
    /// A comma, or the end of the object.
    Comma,
    /// The first item, or the end of the list.
    FirstItem,
    Item,
    InItem,
    /// A comma, or the end of the list.
    ItemComma,
    /// Only white space.
    End,
    /// Something that does not belong there was met.
    Wrong,
}

impl Document {
    pub(super) fn new() -> Document {
        Document {
            records: Cutter::new(SIZES, Scanner::best()),
            place: Place::Start,
            nest: Nest::default(),
            key: Vec::new(),
            offset: 0,
            lines: 0,
            rest: 0,
            last: 0,
            wrong: 0,
        }
    }

    /// Starts another document at an offset of a file.
    pub(super) fn restart(&mut self, offset: u64, lines: u64) {
        (self.place, self.offset, self.lines, self.rest) = (Place::Start, offset, lines, offset);
    }

    pub(super) fn hold(&mut self, bytes: Option<usize>) {
        self.records.hold(bytes);
    }

    /// Reads the next bytes, and yields the records that end in them.
    pub(super) fn feed(&mut self, mut bytes: &[u8], each: &mut impl FnMut(&Line<'_>)) {
        const BOM: &[u8] = b"\xEF\xBB\xBF";
        if let Some(last) = bytes.last() {
            self.last = *last;
        }
        while let Some(first) = bytes.first() {
            let is_in_record = matches!(self.place, Place::InValue | Place::InItem);
            let count = if is_in_record {
                self.record(bytes, each)
            } else if self.offset == 0 && bytes.starts_with(BOM) {
                BOM.len()
            } else {
                self.step(*first)
            };
            self.offset += count as u64;
            self.lines += memchr::memchr_iter(b'\n', &bytes[..count]).count() as u64;
            bytes = &bytes[count..];
        }
    }

    /// Ends the document, and yields what is left of it.
    pub(super) fn finish(&mut self, mut each: impl FnMut(&Line<'_>)) {
        // A scalar ends with the file.
        if matches!(self.place, Place::InValue | Place::InItem) {
            return self.records.finish(&mut each);
        }
        let (found, ends) = (Found::new(), self.last == b'\n');
        let len = self.offset - self.rest;
        let why = match self.place {
            Place::End => None,
            Place::Wrong => Some((self.wrong - self.rest, "unexpected character between the entries")),
            _ if len == 0 && self.offset == 0 => return,
            _ => Some((len, "the document is incomplete")),
        };
        each(&Line {
            number: self.lines + u64::from(!ends),
            offset: self.rest,
            len: len.saturating_sub(u64::from(ends)),
            ending: if ends { Ending::Lf } else { Ending::None },
            shape: why.map_or(Shape::Blank, |(at, why)| Shape::Broken { at, why }),
            notes: Notes::default(),
            fields: Fields { bytes: b"", found: &found },
            bytes: None,
        });
    }

    /// Takes a byte between records, unless a record begins with it; returns how many bytes it took.
    fn step(&mut self, byte: u8) -> usize {
        use Place::{
            Colon, Comma, End, FirstItem, FirstKey, InEscape, InItem, InKey, InValue, Item, ItemComma, Key,
            Start, Value, Wrong,
        };
        let is_key = matches!(self.place, InKey | InEscape);
        if !is_key && matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            return 1;
        }
        self.place = match (self.place, byte) {
            (Start, b'{') => FirstKey,
            (FirstKey | Comma, b'}') => End,
            (FirstKey | Key, b'"') => {
                self.key.clear();
                InKey
            }
            (InKey, b'"') => Colon,
            (InKey, b'\\') => InEscape,
            (InKey | InEscape, _) => {
                if self.key.len() <= RECORDS.len() {
                    self.key.push(byte);
                }
                InKey
            }
            (Colon, b':') => Value,
            (Value, b'[') if self.key == RECORDS => FirstItem,
            (FirstItem | ItemComma, b']') => {
                self.rest = self.offset;
                Comma
            }
            (Comma, b',') => Key,
            (ItemComma, b',') => Item,
            (Value | FirstItem | Item, _) if !matches!(byte, b',' | b':' | b'}' | b']') => {
                self.records.restart(self.offset, self.lines);
                self.nest = Nest::default();
                self.place = if self.place == Value { InValue } else { InItem };
                return 0;
            }
            (Wrong, _) => Wrong,
            _ => {
                self.wrong = self.offset;
                Wrong
            }
        };
        1
    }

    /// Reads the bytes of a record; returns how many belong to it.
    fn record(&mut self, bytes: &[u8], each: &mut impl FnMut(&Line<'_>)) -> usize {
        let end = self.nest.end(bytes);
        let mut piece = &bytes[..end.unwrap_or(bytes.len())];
        let count = piece.len();
        while !piece.is_empty() {
            let space = self.records.block.space();
            let len = piece.len().min(space.len());
            for (to, from) in space.iter_mut().zip(&piece[..len]) {
                *to = if matches!(from, b'\n' | b'\r') { b' ' } else { *from };
            }
            piece = &piece[len..];
            self.records.advance(len, each);
        }
        if end.is_some() {
            self.records.block.space()[0] = b'\n';
            self.records.advance(1, each);
            self.place = if self.place == Place::InValue { Place::Comma } else { Place::ItemComma };
            self.rest = self.offset + count as u64;
        }
        count
    }
}

/// Follows the brackets and quotes of one value.
#[derive(Clone, Copy, Default)]
struct Nest {
    depth: usize,
    in_string: bool,
    /// Whether the last byte was a backslash in a string that escapes the next byte.
    escapes: bool,
    /// Whether the value has begun.
    begun: bool,
}

impl Nest {
    /// Returns the offset after the value, or `None` if it goes on after these bytes.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.in_string {
                at = self.end_of_string(bytes, at)?;
                if self.depth == 0 {
                    return Some(at);
                }
                continue;
            }
            if self.depth > 0 {
                // Most of what is between strings is white space.
                at += bytes[at..].iter().position(|byte| MARKS[usize::from(*byte)])?;
            }
            match bytes[at] {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                // The end of a scalar.
                b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 && self.begun => {
                    return Some(at);
                }
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
            self.begun = true;
            at += 1;
        }
        None
    }

    /// Returns the offset after the string that `at` is in, or `None` if it goes on after these bytes.
    fn end_of_string(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        let mut from = at;
        loop {
            // In text, there are many more backslashes than quotes: only those before a quote count.
            let quote = memchr::memchr(b'"', &bytes[from..]).map(|quote| from + quote);
            let text = &bytes[from..quote.unwrap_or(bytes.len())];
            let backslashes = text.iter().rev().take_while(|byte| **byte == b'\\').count();
            // Those that the bytes begin with go on with those before.
            let goes_on = backslashes == text.len() && from == at && self.escapes;
            self.escapes = (backslashes % 2 == 1) != goes_on;
            let quote = quote?;
            if !std::mem::take(&mut self.escapes) {
                self.in_string = false;
                return Some(quote + 1);
            }
            from = quote + 1;
        }
    }
}

/// The bytes between strings that matter in an object or a list.
const MARKS: [bool; 256] = {
    let mut marks = [false; 256];
    let (all, mut at) = (b"\"{}[]", 0);
    while at < all.len() {
        marks[all[at] as usize] = true;
        at += 1;
    }
    marks
};
