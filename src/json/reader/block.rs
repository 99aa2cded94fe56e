//! The blocks of a file: buffering, and finding the whole lines in them.

use crate::json::scan::{Index, Scanner};
use std::cell::Cell;
use std::ops::Range;

/// How many bytes are read at a time, and how many of one line are held.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) block: usize,
    pub(super) line: usize,
}

/// How much is read at a time at first: touching new memory costs more than the extra calls for
/// smaller reads.
const FIRST: usize = 64 << 10;

pub(super) const SIZES: Sizes = Sizes { block: 256 << 10, line: 1 << 20 };

/// The largest buffer that is used again: larger ones are those of very long lines.
const MOST_SPARE: usize = 2 * (SIZES.line + SIZES.block);

/// Some bytes of a file, split into lines.
///
/// A block begins with the next piece of a long line, if one has already begun; whole lines follow.
/// The remainder is the start of a line, which either moves to the next block or begins a long
/// line.
pub(super) struct Block {
    sizes: Sizes,
    buffer: Vec<u8>,
    /// How many bytes of the buffer are filled.
    have: usize,
    /// How many bytes were read in total, over all files.
    came: usize,
    /// The file offset of the first byte of the buffer.
    base: u64,
    cut: Cut,
    /// Whether the next bytes belong to a long line.
    in_long: bool,
    /// The marks of the whole lines.
    pub(super) index: Index,
}

#[derive(Clone, Default)]
struct Cut {
    /// How many bytes continue a long line.
    piece: usize,
    /// Whether a line feed ends that line.
    ends: bool,
    /// The whole lines.
    lines: Range<usize>,
    /// Whether they are UTF-8.
    utf8: bool,
    /// Whether a long line begins after them.
    begins: bool,
}

thread_local! {
    /// The buffer of the last reader of this thread: new memory costs more than to read a small file.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Drop for Block {
    fn drop(&mut self) {
        // The thread may be about to end.
        let _ = SPARE.try_with(|spare| {
            let last = spare.take();
            let is_better = self.buffer.len() > last.len() && self.buffer.len() <= MOST_SPARE;
            spare.set(if is_better { std::mem::take(&mut self.buffer) } else { last });
        });
    }
}

impl Block {
    pub(super) fn new(sizes: Sizes, scanner: Scanner) -> Block {
        let spare = SPARE.try_with(Cell::take).unwrap_or_default();
        Block {
            sizes,
            buffer: if spare.len() < sizes.block { vec![0; sizes.block] } else { spare },
            have: 0,
            came: 0,
            base: 0,
            cut: Cut::default(),
            in_long: false,
            index: Index::new(scanner),
        }
    }

    pub(super) fn hold(&mut self, line: usize) {
        self.sizes.line = line;
    }

    pub(super) fn restart(&mut self, offset: u64) {
        // What a very long line took is given back.
        if self.buffer.len() > MOST_SPARE {
            self.buffer = vec![0; self.sizes.block];
        }
        self.have = 0;
        self.base = offset;
        self.cut = Cut::default();
        self.in_long = false;
    }

    /// Returns the buffer for the next bytes; it is never empty.
    pub(super) fn space(&mut self) -> &mut [u8] {
        let block = self.sizes.block.min(FIRST.max(self.came / 16));
        // At least half a block, so that long lines are not read in tiny pieces.
        let least = block.div_ceil(2);
        if self.buffer.len() - self.have < least {
            self.buffer.resize(self.have + least, 0);
        }
        let end = self.buffer.len().min(self.have + block);
        &mut self.buffer[self.have..end]
    }

    /// Returns the `count` bytes that were written, and forgets them: they are not cut into lines.
    pub(super) fn bytes(&mut self, count: usize) -> &[u8] {
        self.came = self.came.saturating_add(count);
        self.base += count as u64;
        &self.buffer[self.have..self.have + count]
    }

    /// Accepts `count` bytes, and runs the first stage over the lines that end in them.
    pub(super) fn cut(&mut self, count: usize) {
        // If a line began in earlier bytes, only these bytes are searched for its end.
        let mut fresh = self.have;
        self.have += count;
        self.came = self.came.saturating_add(count);
        let bytes = &self.buffer[..self.have];
        let mut cut = Cut::default();
        if self.in_long {
            // None of it is held, so all of it is new.
            let newline = memchr::memchr(b'\n', bytes);
            cut.piece = newline.unwrap_or(bytes.len());
            cut.ends = newline.is_some();
            self.in_long = !cut.ends;
            fresh = cut.piece + usize::from(cut.ends);
            cut.lines = fresh..fresh;
        }
        if let Some(last) = memchr::memrchr(b'\n', &bytes[fresh..]) {
            cut.lines.end = fresh + last + 1;
            let lines = &bytes[cut.lines.clone()];
            // One check for all lines; each line is checked only if that one fails.
            cut.utf8 = simdutf8::basic::from_utf8(lines).is_ok();
            self.index.build(lines);
        }
        if bytes.len() - cut.lines.end > self.sizes.line {
            cut.begins = true;
            self.in_long = true;
        }
        self.cut = cut;
    }

    /// Removes the bytes that have been yielded.
    pub(super) fn drop_taken(&mut self) {
        let taken = if self.cut.begins { self.have } else { self.cut.lines.end };
        self.buffer.copy_within(taken..self.have, 0);
        self.have -= taken;
        self.base += taken as u64;
        self.cut = Cut::default();
    }

    /// Returns the file offset of the end of the block.
    pub(super) fn end(&self) -> u64 {
        self.base + self.have as u64
    }

    /// Returns the piece that continues a long line.
    pub(super) fn piece(&self) -> &[u8] {
        &self.buffer[..self.cut.piece]
    }

    /// Returns whether a line feed ends that piece.
    pub(super) fn ends_piece(&self) -> bool {
        self.cut.ends
    }

    /// Returns the whole lines, if there are any, and the file offset of the first one.
    pub(super) fn lines(&self) -> Option<(&[u8], u64)> {
        let lines = self.cut.lines.clone();
        let offset = self.base + lines.start as u64;
        (!lines.is_empty()).then(|| (&self.buffer[lines], offset))
    }

    /// Returns whether the whole lines are UTF-8.
    pub(super) fn utf8(&self) -> bool {
        self.cut.utf8
    }

    /// Returns the start of a long line.
    pub(super) fn begins(&self) -> Option<&[u8]> {
        self.cut.begins.then(|| &self.buffer[self.cut.lines.end..self.have])
    }

    /// Returns the bytes without a line feed, for a block without lines.
    pub(super) fn begun(&self) -> &[u8] {
        &self.buffer[..self.have]
    }
}
