//! The reader: splits a file into lines, checks each line as JSON, and extracts the wanted fields.

mod block;
mod document;
mod long;

use super::bytewise::{Limits, Machine};
use super::fields::{Fields, Found};
use super::grammar::Grammar;
use super::scan::Scanner;
use block::{Block, SIZES, Sizes};
use document::Document;
use long::Long;

/// One line of a file, as the reader yields it.
pub struct Line<'r> {
    /// The line number, starting at 1.
    pub number: u64,
    /// The offset of its first byte in the file; for the first line, the offset after a byte order
    /// mark.
    pub offset: u64,
    /// The number of bytes, without the line ending.
    pub len: u64,
    /// The line ending.
    pub ending: Ending,
    /// What the line is as JSON.
    pub shape: Shape,
    /// Other observations.
    pub notes: Notes,
    /// The wanted fields. A broken line has the fields that came before the error. In a line that
    /// is too long to hold in memory, strings are cut to 4 KiB, and only some 10,000 blocks are
    /// kept.
    pub fields: Fields<'r>,
    /// The bytes of the line; `None` if it is too long to hold in memory.
    pub bytes: Option<&'r [u8]>,
}

/// How a line ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// A line feed.
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// The end of the file.
    None,
}

/// What a line is, as JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Only white space, or nothing.
    Blank,
    /// An object.
    Object,
    /// Another JSON value.
    Scalar,
    /// A complete object followed by something else.
    Trailing {
        /// The offset in the line at which the rest begins.
        at: u64,
    },
    /// Not JSON.
    Broken {
        /// The offset in the line at which reading stopped.
        at: u64,
        /// What is wrong there.
        why: &'static str,
    },
}

/// What was observed in a line besides its shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Notes {
    /// The line follows a byte order mark.
    pub bom: bool,
    /// The line contains a NUL byte.
    pub nul: bool,
    /// The line contains bytes that are not UTF-8. Inside a string they are accepted like any other
    /// byte, and do not make the line broken.
    pub invalid_utf8: bool,
    /// A string contains an unpaired surrogate, written as an escape.
    pub lone_surrogate: bool,
    /// Values are nested deeper than Python can read.
    pub deep: bool,
}

/// Splits the blocks of a file into lines, checks each line against the whole grammar of JSON, and
/// finds the wanted fields.
///
/// Values may be nested 131,072 levels deep. Memory stays below a few MiB whatever the lines are: a
/// line of more than 1 MiB is read in pieces as they come, and is not held in memory
/// (unless the reader is for longer ones: [`Reader::hold`]).
///
/// ```
/// let text = b"{\"type\":\"session\",\"id\":\"s\"}\n";
/// let mut reader = bough::internals::json::Reader::new();
/// reader.feed(text, |line| assert_eq!(line.len, 27));
/// reader.finish(|_| unreachable!("all lines were ended"));
/// ```
pub struct Reader {
    cutter: Cutter,
    /// Cuts the bytes into records, if the file is one document.
    document: Option<Box<Document>>,
}

impl Reader {
    /// Creates a reader at the start of a file.
    pub fn new() -> Reader {
        Reader::with(SIZES, Scanner::best())
    }

    /// Creates a reader that takes only `bytes` bytes at a time, for callers that need few lines.
    pub fn with_blocks(bytes: usize) -> Reader {
        Reader::with(Sizes { block: bytes.max(1), ..SIZES }, Scanner::best())
    }

    fn with(sizes: Sizes, scanner: Scanner) -> Reader {
        Reader { cutter: Cutter::new(sizes, scanner), document: None }
    }

    /// Sets whether `NaN`, `Infinity` and `-Infinity` are accepted as values, as Python accepts
    /// them. Also applies to the files that follow.
    pub fn python(&mut self, python: bool) {
        self.cutter.lines.machine.python = python;
    }

    /// Sets whether lines of up to so many bytes are held in memory, instead of those of up to 1 MiB.
    /// Longer lines may be held, too. Also applies to the files that follow.
    pub fn hold(&mut self, bytes: Option<usize>) {
        self.cutter.hold(bytes);
        if let Some(document) = &mut self.document {
            document.hold(bytes);
        }
    }

    /// Sets whether the file is one JSON object, which is read record by record: the values of its
    /// members, and the items of the list `messages`, each as a [`Line`] that has the number of the
    /// line on which it begins. Line breaks in a record are spaces in [`Line::bytes`]. Also applies to
    /// the files that follow.
    pub fn document(&mut self, document: bool) {
        match document {
            true => _ = self.document.get_or_insert_with(|| Box::new(Document::new())),
            false => self.document = None,
        }
    }

    /// Starts another file and reuses the memory. `offset` is the position of the next byte in the
    /// file, and `lines` the number of lines before it.
    pub fn restart(&mut self, offset: u64, lines: u64) {
        self.cutter.restart(offset, lines);
        if let Some(document) = &mut self.document {
            document.restart(offset, lines);
        }
    }

    /// Returns the buffer for the next bytes of the file; it is never empty.
    pub fn space(&mut self) -> &mut [u8] {
        self.cutter.block.space()
    }

    /// Reads the `count` bytes that were written to [`Reader::space`], and yields the lines that
    /// end in them.
    pub fn advance(&mut self, count: usize, mut each: impl FnMut(&Line<'_>)) {
        if let Some(document) = &mut self.document {
            return document.feed(self.cutter.block.bytes(count), &mut each);
        }
        self.cutter.advance(count, &mut each);
    }

    /// Reads bytes that are already in memory, and yields the lines that end in them.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(&Line<'_>)) {
        while !bytes.is_empty() {
            let space = self.space();
            let count = bytes.len().min(space.len());
            space[..count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            self.advance(count, &mut each);
        }
    }

    /// Yields the rest after the last newline, if there is any.
    pub fn finish(&mut self, mut each: impl FnMut(&Line<'_>)) {
        if let Some(document) = &mut self.document {
            return document.finish(each);
        }
        self.cutter.finish(&mut each);
    }
}

impl Default for Reader {
    fn default() -> Reader {
        Reader::new()
    }
}

/// Cuts bytes into lines.
struct Cutter {
    block: Block,
    lines: Lines,
}

impl Cutter {
    fn new(sizes: Sizes, scanner: Scanner) -> Cutter {
        Cutter { block: Block::new(sizes, scanner), lines: Lines::new() }
    }

    fn hold(&mut self, bytes: Option<usize>) {
        self.block.hold(bytes.unwrap_or(SIZES.line));
    }

    fn restart(&mut self, offset: u64, lines: u64) {
        self.block.restart(offset);
        self.lines.restart(lines);
    }

    fn advance(&mut self, count: usize, each: &mut impl FnMut(&Line<'_>)) {
        self.block.cut(count);
        self.lines.take(&self.block, each);
        self.block.drop_taken();
    }

    fn finish(&mut self, each: &mut impl FnMut(&Line<'_>)) {
        self.lines.finish(&self.block, each);
        self.restart(self.block.end(), self.lines.number);
    }
}

/// The second stage: turns blocks into lines.
struct Lines {
    /// How many lines have been yielded.
    number: u64,
    /// A line that is too long to hold in memory, as far as it has been read.
    long: Option<Long>,
    machine: Machine,
    found: Found,
}

impl Lines {
    fn new() -> Lines {
        Lines { number: 0, long: None, machine: Machine::new(), found: Found::new() }
    }

    fn restart(&mut self, number: u64) {
        self.number = number;
        self.long = None;
    }

    /// Yields the lines that end in a block.
    fn take(&mut self, block: &Block, each: &mut impl FnMut(&Line<'_>)) {
        if let Some(long) = &mut self.long {
            long.feed(block.piece(), &mut self.machine, &mut self.found);
            if block.ends_piece()
                && let Some(long) = self.long.take()
            {
                long.end(true, &mut self.machine, &mut self.found, each);
            }
        }
        self.whole(block, each);
        if let Some(start) = block.begins() {
            self.number += 1;
            let offset = block.end() - start.len() as u64;
            self.long = Some(Long::begin(self.number, offset, start, &mut self.machine, &mut self.found));
        }
    }

    /// Yields the whole lines of a block.
    fn whole(&mut self, block: &Block, each: &mut impl FnMut(&Line<'_>)) {
        let Lines { number, machine, found, .. } = self;
        let Some((bytes, base)) = block.lines() else { return };
        let mut suspects = block.index.suspects();
        let mut grammar = Grammar::new(bytes, block.index.marks());
        let mut from = 0;
        while from < bytes.len() {
            *number += 1;
            found.clear();
            let odd = touches(&mut suspects, bytes, from) || *number == 1 && bytes.starts_with(BOM);
            let well = if odd { None } else { grammar.line(found) };
            let newline = grammar.next_line();
            let (to, ending) = match newline > from && bytes[newline - 1] == b'\r' {
                true => (newline - 1, Ending::CrLf),
                false => (newline, Ending::Lf),
            };
            let line = &bytes[from..to];
            let at = At { number: *number, offset: base + from as u64, ending };
            match well {
                Some(shape) if block.utf8() || simdutf8::basic::from_utf8(line).is_ok() => {
                    found.settle();
                    let fields = Fields { bytes, found };
                    each(&at.line(line.len() as u64, shape, Notes::default(), fields, Some(line)));
                }
                _ => look_again(line, at, machine, found, each),
            }
            from = newline + 1;
        }
    }

    /// Yields a last line without a line feed.
    fn finish(&mut self, block: &Block, each: &mut impl FnMut(&Line<'_>)) {
        let begun = block.begun();
        if let Some(long) = self.long.take() {
            long.end(false, &mut self.machine, &mut self.found, each);
        } else if !begun.is_empty() {
            self.number += 1;
            let at =
                At { number: self.number, offset: block.end() - begun.len() as u64, ending: Ending::None };
            look_again(begun, at, &mut self.machine, &mut self.found, each);
        }
    }
}

/// How deeply nested a value Python can read; if a value is nested deeper, loading the file fails.
const PYTHONS_DEPTH: usize = 994;

/// A byte order mark.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Returns the length of the byte order mark in a line, or 0.
fn bom_len(number: u64, line: &[u8]) -> usize {
    if number == 1 && line.starts_with(BOM) { BOM.len() } else { 0 }
}

/// Returns whether the line that begins at `from` overlaps one of the suspect blocks; drops the
/// suspects before the line.
fn touches(suspects: &mut &[u32], bytes: &[u8], from: usize) -> bool {
    while let Some(block) = suspects.first() {
        let block = *block as usize;
        if block + 64 <= from {
            *suspects = &suspects[1..];
            continue;
        }
        return block <= from || memchr::memchr(b'\n', &bytes[from..block]).is_none();
    }
    false
}

/// Reads a line again byte by byte, because something about it is unusual, and yields it.
#[cold]
fn look_again(
    line: &[u8],
    mut at: At,
    machine: &mut Machine,
    found: &mut Found,
    each: &mut impl FnMut(&Line<'_>),
) {
    let bom = bom_len(at.number, line);
    let line = &line[bom..];
    at.offset += bom as u64;
    machine.start(Limits::HELD, found);
    machine.feed(line, found);
    let shape = machine.finish(found);
    let notes = Notes {
        bom: bom > 0,
        nul: memchr::memchr(0, line).is_some(),
        invalid_utf8: simdutf8::basic::from_utf8(line).is_err(),
        lone_surrogate: machine.lone_surrogate(),
        deep: machine.deepest() > PYTHONS_DEPTH,
    };
    let fields = Fields { bytes: machine.copies(), found };
    each(&at.line(line.len() as u64, shape, notes, fields, Some(line)));
}

/// The position of a line, and how it ends.
struct At {
    number: u64,
    offset: u64,
    ending: Ending,
}

impl At {
    fn line<'r>(
        self,
        len: u64,
        shape: Shape,
        notes: Notes,
        fields: Fields<'r>,
        bytes: Option<&'r [u8]>,
    ) -> Line<'r> {
        let At { number, offset, ending } = self;
        Line { number, offset, len, ending, shape, notes, fields, bytes }
    }
}

#[cfg(test)]
mod tests;
