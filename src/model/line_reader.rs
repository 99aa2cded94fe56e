//! Reads lines one by one, without a read for each.

use super::{Source, Span};
use std::io;

/// Reads the lines of a pass over a file, forward or backward. Once lines follow each other, it
/// reads those that come next together with each.
///
/// Reads nothing ahead for single lines, and at most 256 KiB otherwise. If less than a quarter of what it
/// read was asked for, it reads less ahead: lines that lie apart, or in turn before and after each
/// other, do not cost more than a multiple of their own bytes.
#[derive(Debug)]
pub struct LineReader {
    bytes: Vec<u8>,
    /// Where they are from.
    span: Span,
    /// How many bytes are read at a time.
    ahead: u64,
    /// How many of them were asked for.
    used: u64,
}

/// The most bytes that are read ahead, and how near to each other two lines are that follow each
/// other.
const MOST: u64 = 256 * 1024;
/// How many lines as long as the current one are read together at first.
const FIRST_LINES: u64 = 4;

impl Default for LineReader {
    fn default() -> LineReader {
        LineReader { bytes: Vec::new(), span: Span { file: 0, offset: 0, len: 0 }, ahead: 0, used: 0 }
    }
}

impl LineReader {
    /// Returns the bytes of a line, given the length of its file. Fails as [`Source::read`] does.
    pub fn line(&mut self, source: &dyn Source, file_len: u64, line: Span) -> io::Result<&[u8]> {
        let end = self.span.offset + self.span.len;
        let is_there = self.span.file == line.file
            && line.offset >= self.span.offset
            && line.offset + line.len <= end
            && self.bytes.len() as u64 == self.span.len;
        if !is_there {
            self.read(source, file_len, line)?;
        }
        self.used += line.len;
        let from = (line.offset - self.span.offset) as usize;
        Ok(&self.bytes[from..from + line.len as usize])
    }

    fn read(&mut self, source: &dyn Source, file_len: u64, line: Span) -> io::Result<()> {
        let (from, to) = (line.offset, line.offset + line.len);
        let known = self.span.offset..self.span.offset + self.span.len;
        let is_back = from < known.start;
        let gap = if is_back { known.start.saturating_sub(to) } else { from.saturating_sub(known.end) };
        let follows = self.span.file == line.file && !known.is_empty() && gap <= MOST;
        let was_worth_it = std::mem::take(&mut self.used) >= self.span.len / 4;
        let least = FIRST_LINES * line.len;
        self.ahead = match (follows, was_worth_it) {
            (true, true) => (self.ahead * 2).max(least).min(MOST),
            (true, false) if self.ahead / 2 >= least => self.ahead / 2,
            _ => 0,
        };
        let around = match is_back {
            true => to.saturating_sub(self.ahead).min(from)..to,
            false => from..(from + self.ahead).min(file_len).max(to),
        };
        self.span = Span { offset: around.start, len: around.end - around.start, ..line };
        if source.read(self.span, &mut self.bytes).is_err() {
            // The file was truncated in the meantime: the line itself may still be there.
            self.span = line;
            if let Err(error) = source.read(line, &mut self.bytes) {
                self.span.len = 0;
                return Err(error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Table;
    use super::*;
    use std::cell::Cell;

    /// A file that counts how often it is read, and how many bytes, and ends early.
    struct Counted {
        table: Table,
        len: usize,
        reads: Cell<usize>,
        bytes: Cell<u64>,
    }

    impl Counted {
        fn new(text: Vec<u8>, len: usize) -> Counted {
            Counted { table: Table(vec![text]), len, reads: Cell::new(0), bytes: Cell::new(0) }
        }
    }

    impl Source for Counted {
        fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
            self.reads.set(self.reads.get() + 1);
            self.bytes.set(self.bytes.get() + span.len);
            if span.offset + span.len > self.len as u64 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.table.read(span, into)
        }
    }

    #[test]
    fn lines_are_those_of_the_file_in_any_order_and_read_together_in_a_row() {
        let text: Vec<u8> =
            (0..100_000u32).flat_map(|number| format!("{number:09}\n").into_bytes()).collect();
        let len = text.len() as u64;
        let source = Counted::new(text.clone(), text.len());
        let mut reader = LineReader::default();
        let mut reads_of = |lines: &mut dyn Iterator<Item = u64>| {
            source.reads.set(0);
            for at in lines {
                let line = reader.line(&source, len, Span { file: 0, offset: at * 10, len: 9 }).unwrap();
                assert_eq!(line, format!("{at:09}").as_bytes());
            }
            source.reads.get()
        };
        assert!(reads_of(&mut (0..100_000)) < 20);
        assert!(reads_of(&mut (0..100_000).rev()) < 20);
        // Single lines are read alone.
        assert_eq!(reads_of(&mut [50_000, 3, 99_999, 40_000].into_iter()), 4);
        assert!(reader.bytes.len() == 9);
    }

    #[test]
    fn lines_in_turn_before_and_after_each_other_do_not_cost_a_block_each() {
        let text = b"nine bytes\n".repeat(100_000);
        let len = text.len() as u64;
        let source = Counted::new(text, len as usize);
        let mut reader = LineReader::default();
        // From the middle to both ends.
        for at in (0..50_000).flat_map(|at| [50_000 + at, 49_999 - at]) {
            assert_eq!(
                reader.line(&source, len, Span { file: 0, offset: at * 11, len: 10 }).unwrap(),
                b"nine bytes"
            );
        }
        // A block for each line would be 25 GB.
        assert!(source.bytes.get() < 4 * len, "{} bytes", source.bytes.get());
    }

    #[test]
    fn a_line_before_the_place_where_a_file_was_cut_is_still_read() {
        let text = b"one line\ntwo lines\nthree lines\n".to_vec();
        let len = text.len() as u64;
        let source = Counted::new(text, 18);
        let mut reader = LineReader::default();
        let mut line = |offset, len_of_line| {
            reader.line(&source, len, Span { file: 0, offset, len: len_of_line }).map(<[u8]>::to_vec)
        };
        assert_eq!(line(0, 8).unwrap(), b"one line");
        assert_eq!(line(9, 9).unwrap(), b"two lines");
        assert!(line(19, 11).is_err());
        assert!(line(19, 11).is_err());
        assert_eq!(line(9, 9).unwrap(), b"two lines");
    }
}
