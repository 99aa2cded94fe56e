use crate::json::scan::{Index, Scanner};
use std::ops::Range;

/// How much is read at a time, and held of one line.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) block: usize,
    pub(super) line: usize,
}

/// How much is read at a time at first: memory that is new costs more than calls that read less.
const FIRST: usize = 64 << 10;

pub(super) const SIZES: Sizes = Sizes { block: 256 << 10, line: 1 << 20 };

/// Some bytes of a file, cut into what lines it has.
///
/// It begins with the next piece of a long line, if one has begun before; then come whole lines; what is left is the
/// start of a line, which goes over to the next block, or begins a long line.
pub(super) struct Block {
    sizes: Sizes,
    buffer: Vec<u8>,
    /// How many bytes of the buffer are filled.
    have: usize,
    /// How many bytes came in all, of whatever files.
    came: usize,
    /// The file offset of the first byte of the buffer.
    base: u64,
    cut: Cut,
    /// Whether the bytes that come are of a long line.
    in_long: bool,
    /// What stands where in the whole lines.
    pub(super) index: Index,
}

#[derive(Clone, Default)]
struct Cut {
    /// How many bytes go on with a long line.
    piece: usize,
    /// Whether a line feed ends that line.
    ends: bool,
    /// The whole lines.
    lines: Range<usize>,
    /// Whether they are UTF-8.
    utf8: bool,
    /// Whether a long line begins behind them.
    begins: bool,
}

impl Block {
    pub(super) fn new(sizes: Sizes, scanner: Scanner) -> Block {
        Block {
            sizes,
            buffer: vec![0; sizes.block],
            have: 0,
            came: 0,
            base: 0,
            cut: Cut::default(),
            in_long: false,
            index: Index::new(scanner),
        }
    }

    pub(super) fn restart(&mut self, offset: u64) {
        self.have = 0;
        self.base = offset;
        self.cut = Cut::default();
        self.in_long = false;
    }

    /// Where the next bytes go; never empty.
    pub(super) fn space(&mut self) -> &mut [u8] {
        let block = self.sizes.block.min(FIRST.max(self.came / 16));
        // At least half a block, so that long lines are not read in crumbs.
        let least = block.div_ceil(2);
        if self.buffer.len() - self.have < least {
            self.buffer.resize(self.have + least, 0);
        }
        let end = self.buffer.len().min(self.have + block);
        &mut self.buffer[self.have..end]
    }

    /// Takes `count` bytes, and does the first stage with the lines they end.
    pub(super) fn cut(&mut self, count: usize) {
        // Of a line that has begun in the bytes before, no more than these are looked at.
        let mut fresh = self.have;
        self.have += count;
        self.came = self.came.saturating_add(count);
        let bytes = &self.buffer[..self.have];
        let mut cut = Cut::default();
        if self.in_long {
            // Nothing of it is held, so that all is fresh.
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
            // One look for all lines; only where it finds something, one at each.
            cut.utf8 = simdutf8::basic::from_utf8(lines).is_ok();
            self.index.build(lines);
        }
        if bytes.len() - cut.lines.end > self.sizes.line {
            cut.begins = true;
            self.in_long = true;
        }
        self.cut = cut;
    }

    /// Takes out what is handed out.
    pub(super) fn drop_taken(&mut self) {
        let taken = if self.cut.begins { self.have } else { self.cut.lines.end };
        self.buffer.copy_within(taken..self.have, 0);
        self.have -= taken;
        self.base += taken as u64;
        self.cut = Cut::default();
    }

    /// The file offset behind its last byte.
    pub(super) fn end(&self) -> u64 {
        self.base + self.have as u64
    }

    /// What goes on with a long line.
    pub(super) fn piece(&self) -> &[u8] {
        &self.buffer[..self.cut.piece]
    }

    /// Whether a line feed ends it.
    pub(super) fn ends_piece(&self) -> bool {
        self.cut.ends
    }

    /// The whole lines, if there are any, and the file offset of the first.
    pub(super) fn lines(&self) -> Option<(&[u8], u64)> {
        let lines = self.cut.lines.clone();
        let offset = self.base + lines.start as u64;
        (!lines.is_empty()).then(|| (&self.buffer[lines], offset))
    }

    /// Whether the whole lines are UTF-8.
    pub(super) fn utf8(&self) -> bool {
        self.cut.utf8
    }

    /// The start of a long line.
    pub(super) fn begins(&self) -> Option<&[u8]> {
        self.cut.begins.then(|| &self.buffer[self.cut.lines.end..self.have])
    }

    /// What no line feed ends, of a block without lines.
    pub(super) fn begun(&self) -> &[u8] {
        &self.buffer[..self.have]
    }
}
