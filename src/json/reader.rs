use super::fields::{Fields, Found};
use super::grammar::Grammar;
use super::machine::{Limits, Machine};
use super::scan::{Index, Scanner};

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
}

/// Cuts the blocks of a file into lines, checks each against the whole grammar of JSON, and finds the
/// wanted fields.
///
/// Values may be nested 1024 deep. Memory stays under some MiB whatever the lines are: one of more than 1 MiB is read
/// in pieces as they come, and not held.
///
/// ```
/// let text = b"{\"type\":\"session\",\"id\":\"s\"}\n";
/// let mut reader = bough::json::Reader::new();
/// reader.space()[..text.len()].copy_from_slice(text);
/// reader.advance(text.len(), |line| assert_eq!(line.len, 27));
/// reader.finish(|_| unreachable!("all lines were ended"));
/// ```
pub struct Reader {
    buffer: Vec<u8>,
    /// How many bytes of the buffer are filled.
    have: usize,
    /// The file offset of the first byte of the buffer.
    base: u64,
    /// How many lines were handed out.
    number: u64,
    /// A line that is too long to be held, as far as it is read.
    long: Option<Long>,
    sizes: Sizes,
    index: Index,
    machine: Machine,
    found: Found,
}

/// How much is read at a time, and held of one line.
#[derive(Clone, Copy)]
struct Sizes {
    block: usize,
    line: usize,
}

const SIZES: Sizes = Sizes { block: 256 << 10, line: 1 << 20 };

impl Reader {
    /// A reader at the start of a file.
    pub fn new() -> Reader {
        Reader::with(SIZES, Scanner::best())
    }

    fn with(sizes: Sizes, scanner: Scanner) -> Reader {
        Reader {
            buffer: vec![0; sizes.block],
            have: 0,
            base: 0,
            number: 0,
            long: None,
            sizes,
            index: Index::new(scanner),
            machine: Machine::new(),
            found: Found::new(),
        }
    }

    /// Begins another file, with the memory of the last. `offset` is where the first byte that will
    /// come stands in the file, `lines` how many lines stand before it.
    pub fn restart(&mut self, offset: u64, lines: u64) {
        self.have = 0;
        self.base = offset;
        self.number = lines;
        self.long = None;
    }

    /// Where the next bytes of the file go; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        // At least half a block, so that long lines are not read in crumbs.
        if self.buffer.len() - self.have < self.sizes.block.div_ceil(2) {
            self.buffer.resize(self.have + self.sizes.block, 0);
        }
        &mut self.buffer[self.have..]
    }

    /// Takes the `count` bytes that were put into [`Reader::space`], and hands out the lines they end.
    pub fn advance(&mut self, count: usize, mut each: impl FnMut(&Line<'_>)) {
        // Of a line that has begun in the bytes before, no more than these are looked at.
        let mut fresh = self.have;
        self.have += count;
        assert!(self.have <= self.buffer.len(), "no more was put than there was space for");
        if let Some(long) = &mut self.long {
            // Nothing of it is held, so that the buffer begins with its next bytes.
            let bytes = &self.buffer[..self.have];
            let end = memchr::memchr(b'\n', bytes);
            long.feed(&bytes[..end.unwrap_or(bytes.len())], &mut self.machine, &mut self.found);
            match end {
                None => return self.drop_front(self.have),
                Some(end) => {
                    self.end_long(true, &mut each);
                    self.drop_front(end + 1);
                    fresh = 0;
                }
            }
        }
        if let Some(last) = memchr::memrchr(b'\n', &self.buffer[fresh..self.have]) {
            let end = fresh + last + 1;
            self.lines(end, &mut each);
            self.drop_front(end);
        }
        if self.have > self.sizes.line {
            self.begin_long();
        }
    }

    /// Hands out what stands behind the last newline, if anything does.
    pub fn finish(&mut self, mut each: impl FnMut(&Line<'_>)) {
        if self.long.is_some() {
            self.end_long(false, &mut each);
        } else if self.have > 0 {
            self.number += 1;
            let line = &self.buffer[..self.have];
            let at = At { number: self.number, offset: self.base, ending: Ending::None };
            look_again(line, at, &mut self.machine, &mut self.found, &mut each);
            self.drop_front(self.have);
        }
    }

    /// Takes the first bytes out of the buffer.
    fn drop_front(&mut self, count: usize) {
        self.buffer.copy_within(count..self.have, 0);
        self.have -= count;
        self.base += count as u64;
    }

    /// Hands out the lines before `end`, which stands behind a line feed.
    fn lines(&mut self, end: usize, each: &mut impl FnMut(&Line<'_>)) {
        let Reader { buffer, base, number, index, machine, found, .. } = self;
        let bytes = &buffer[..end];
        // One look for all lines; only where it finds something, one at each.
        let utf8 = simdutf8::basic::from_utf8(bytes).is_ok();
        index.build(bytes);
        let mut suspects = index.suspects();
        let mut grammar = Grammar::new(bytes, index.positions());
        let mut from = 0;
        while from < end {
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
            let at = At { number: *number, offset: *base + from as u64, ending };
            match well {
                Some(shape) if utf8 || simdutf8::basic::from_utf8(line).is_ok() => {
                    found.settle();
                    each(&at.line(
                        line.len() as u64,
                        shape,
                        Notes::default(),
                        Fields { bytes, found },
                        Some(line),
                    ));
                }
                _ => look_again(line, at, machine, found, each),
            }
            from = newline + 1;
        }
    }

    /// Gives up holding the line at hand: from now on it is read as it comes.
    fn begin_long(&mut self) {
        self.number += 1;
        let line = &self.buffer[..self.have];
        let bom = self.number == 1 && line.starts_with(BOM);
        let line = &line[if bom { BOM.len() } else { 0 }..];
        let mut long = Long {
            offset: self.base + (self.have - line.len()) as u64,
            len: 0,
            carriage_return: false,
            utf8: Utf8::default(),
            notes: Notes { bom, ..Notes::default() },
        };
        self.machine.start(Limits::LONG, &mut self.found);
        long.feed(line, &mut self.machine, &mut self.found);
        self.long = Some(long);
        self.drop_front(self.have);
    }

    fn end_long(&mut self, newline: bool, each: &mut impl FnMut(&Line<'_>)) {
        let Some(mut long) = self.long.take() else { return };
        let ending = match (newline, long.carriage_return) {
            (true, true) => Ending::CrLf,
            (true, false) => Ending::Lf,
            (false, _) => {
                long.feed_held(&mut self.machine, &mut self.found);
                Ending::None
            }
        };
        let shape = self.machine.finish(&mut self.found);
        let mut notes = long.notes;
        notes.invalid_utf8 = !long.utf8.is_valid();
        notes.lone_surrogate = self.machine.lone_surrogate();
        let fields = Fields { bytes: self.machine.copies(), found: &self.found };
        let at = At { number: self.number, offset: long.offset, ending };
        each(&at.line(long.len, shape, notes, fields, None));
    }
}

impl Default for Reader {
    fn default() -> Reader {
        Reader::new()
    }
}

/// A byte order mark.
const BOM: &[u8] = b"\xEF\xBB\xBF";

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
    let bom = at.number == 1 && line.starts_with(BOM);
    let line = &line[if bom { BOM.len() } else { 0 }..];
    at.offset += if bom { BOM.len() as u64 } else { 0 };
    machine.start(Limits::HELD, found);
    machine.feed(line, found);
    let shape = machine.finish(found);
    let notes = Notes {
        bom,
        nul: memchr::memchr(0, line).is_some(),
        invalid_utf8: simdutf8::basic::from_utf8(line).is_err(),
        lone_surrogate: machine.lone_surrogate(),
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

/// A line that is too long to be held, beside what the machine knows of it.
struct Long {
    offset: u64,
    len: u64,
    /// Whether a carriage return came last. It is held back, since it may belong to the line ending.
    carriage_return: bool,
    utf8: Utf8,
    notes: Notes,
}

impl Long {
    fn feed(&mut self, piece: &[u8], machine: &mut Machine, found: &mut Found) {
        let Some((last, before)) = piece.split_last() else { return };
        self.feed_held(machine, found);
        self.carriage_return = *last == b'\r';
        let piece = if self.carriage_return { before } else { piece };
        self.len += piece.len() as u64;
        self.notes.nul |= memchr::memchr(0, piece).is_some();
        self.utf8.feed(piece);
        machine.feed(piece, found);
    }

    fn feed_held(&mut self, machine: &mut Machine, found: &mut Found) {
        if std::mem::take(&mut self.carriage_return) {
            self.len += 1;
            self.utf8.feed(b"\r");
            machine.feed(b"\r", found);
        }
    }
}

/// Checks UTF-8 in pieces.
#[derive(Default)]
struct Utf8 {
    invalid: bool,
    /// The first bytes of a character whose others are still to come.
    begun: [u8; 4],
    have: usize,
}

impl Utf8 {
    fn feed(&mut self, mut piece: &[u8]) {
        while self.have > 0 && !self.invalid {
            let Some((next, rest)) = piece.split_first() else { return };
            piece = rest;
            self.begun[self.have] = *next;
            self.have += 1;
            match std::str::from_utf8(&self.begun[..self.have]) {
                Ok(_) => self.have = 0,
                Err(error) => self.invalid = error.error_len().is_some(),
            }
        }
        if self.invalid {
            return;
        }
        if let Err(error) = simdutf8::compat::from_utf8(piece) {
            let rest = &piece[error.valid_up_to()..];
            self.invalid = error.error_len().is_some();
            self.have = rest.len().min(3);
            self.begun[..self.have].copy_from_slice(&rest[..self.have]);
        }
    }

    fn is_valid(&self) -> bool {
        !self.invalid && self.have == 0
    }
}

#[cfg(test)]
mod tests;
