mod block;
mod long;

use super::bytewise::{Limits, Machine};
use super::fields::{Fields, Found};
use super::grammar::Grammar;
use super::scan::Scanner;
use block::{Block, SIZES, Sizes};
use long::Long;

/// One line of a file, as the reader hands it out.
pub struct Line<'r> {
    /// Its number, from 1.
    pub number: u64,
    /// Its first byte, counted from the start of the file; of the first line, behind a byte order mark.
    pub offset: u64,
    /// Its bytes, without the line ending.
    pub len: u64,
    /// How it ends.
    pub ending: Ending,
    /// What it is.
    pub shape: Shape,
    /// What else was seen.
    pub notes: Notes,
    /// The wanted fields. Of a broken line those that were met before it broke; of a line that is too long to be
    /// held, strings are cut to 4 KiB, and no more is kept than some 10,000 blocks.
    pub fields: Fields<'r>,
    /// The line itself; `None` where it is too long to be held.
    pub bytes: Option<&'r [u8]>,
}

/// How a line ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// A line feed.
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// The file ends.
    None,
}

/// What a line is, as JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Nothing but white space.
    Blank,
    /// An object.
    Object,
    /// Another JSON value.
    Scalar,
    /// A whole object, and then something else.
    Trailing {
        /// The byte of the line at which the rest begins.
        at: u64,
    },
    /// No JSON.
    Broken {
        /// The byte of the line at which reading stopped.
        at: u64,
        /// What was wrong there.
        why: &'static str,
    },
}

/// What was seen in a line beside its shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Notes {
    /// A byte order mark stands before it.
    pub bom: bool,
    /// A NUL byte is in it.
    pub nul: bool,
    /// Bytes are in it that are no UTF-8. They count as any other in a string, and make no line broken.
    pub invalid_utf8: bool,
    /// An unpaired surrogate is in a string of it, as an escape.
    pub lone_surrogate: bool,
    /// Values are nested deeper than Python reads them.
    pub deep: bool,
}

/// Cuts the blocks of a file into lines, checks each against the whole grammar of JSON, and finds the
/// wanted fields.
///
/// Values may be nested 131,072 deep. Memory stays under some MiB whatever the lines are: one of more than 1 MiB is read
/// in pieces as they come, and not held.
///
/// ```
/// let text = b"{\"type\":\"session\",\"id\":\"s\"}\n";
/// let mut reader = bough::json::Reader::new();
/// reader.feed(text, |line| assert_eq!(line.len, 27));
/// reader.finish(|_| unreachable!("all lines were ended"));
/// ```
pub struct Reader {
    block: Block,
    lines: Lines,
}

impl Reader {
    /// A reader at the start of a file.
    pub fn new() -> Reader {
        Reader::with(SIZES, Scanner::best())
    }

    /// A reader that takes no more than some KiB at a time, for who wants few lines.
    pub fn with_blocks(bytes: usize) -> Reader {
        Reader::with(Sizes { block: bytes.max(1), ..SIZES }, Scanner::best())
    }

    fn with(sizes: Sizes, scanner: Scanner) -> Reader {
        Reader { block: Block::new(sizes, scanner), lines: Lines::new() }
    }

    /// Says whether `NaN`, `Infinity` and `-Infinity` are values, as they are to Python; of each file that follows, too.
    pub fn python(&mut self, python: bool) {
        self.lines.machine.python = python;
    }

    /// Begins another file, with the memory of the last. `offset` is where the first byte that will
    /// come stands in the file, `lines` how many lines stand before it.
    pub fn restart(&mut self, offset: u64, lines: u64) {
        self.block.restart(offset);
        self.lines.restart(lines);
    }

    /// Where the next bytes of the file go; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        self.block.space()
    }

    /// Takes the `count` bytes that were put into [`Reader::space`], and hands out the lines they end.
    pub fn advance(&mut self, count: usize, mut each: impl FnMut(&Line<'_>)) {
        self.block.cut(count);
        self.lines.take(&self.block, &mut each);
        self.block.drop_taken();
    }

    /// Takes bytes that are in memory, whole, and hands out the lines they end.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(&Line<'_>)) {
        while !bytes.is_empty() {
            let space = self.space();
            let count = bytes.len().min(space.len());
            space[..count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            self.advance(count, &mut each);
        }
    }

    /// Hands out what stands behind the last newline, if anything does.
    pub fn finish(&mut self, mut each: impl FnMut(&Line<'_>)) {
        self.lines.finish(&self.block, &mut each);
        self.restart(self.block.end(), self.lines.number);
    }
}

impl Default for Reader {
    fn default() -> Reader {
        Reader::new()
    }
}

/// The second stage: makes lines of blocks.
struct Lines {
    /// How many lines were handed out.
    number: u64,
    /// A line that is too long to be held, as far as it is read.
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

    /// Hands out what ends in a block.
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

    /// Hands out the whole lines of a block.
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

    /// Hands out what no line feed ends.
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

/// How deep Python reads nested values: with more it fails, and what it loads with it.
const PYTHONS_DEPTH: usize = 994;

/// A byte order mark.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// How many bytes of a line are a byte order mark.
fn bom_len(number: u64, line: &[u8]) -> usize {
    if number == 1 && line.starts_with(BOM) { BOM.len() } else { 0 }
}

/// Whether the line that begins at `from` touches one of the suspect blocks; drops those before it.
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

/// Reads a line byte by byte, since something is odd about it, and hands it out.
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

/// Where a line stands, and how it ends.
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
