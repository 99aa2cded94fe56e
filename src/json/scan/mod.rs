//! The first stage of the reader: finds the structural bytes in a stretch of whole lines.
//!
//! It handles 64 bytes at a time, as masks with one bit a byte. Which bytes are escaped and which
//! are inside strings follows from arithmetic on these masks, with a carry from one block to the
//! next; nothing branches on single bytes. The result is a list of [`Mark`]s: structural
//! characters, both quotes of each string, the first byte of each number and word, and line feeds.
//! The second stage (`grammar`) walks that list.
//!
//! Rare cases are not decided here. A block in which a string contains a control character, an
//! invalid escape, a lone surrogate, or a line feed is recorded as a *suspect*, and the lines that
//! overlap it are read again byte by byte.
//!
//! The masks come from a [`Kernel`]: AVX-512, AVX2 or NEON if the machine has it, and arithmetic on
//! 64-bit words on other machines. A whole `fsck` of 100 MB takes 18 % more time with AVX2 than
//! with AVX-512 (medians of 12 alternating runs on a Zen 4). Only this module and its submodules
//! contain `unsafe` code.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod container_end;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod signs;
mod starts;
mod string_end;

use super::string;
use starts::Window;
use std::cell::Cell;

pub(super) use container_end::end_of_container;
pub(super) use signs::{backslashes, is_sign, signs};
pub(super) use starts::{Probe, REACH, Starts};
pub(super) use string_end::closing_quote;

/// The bytes handled at a time.
type Block = [u8; 64];

/// The bytes that matter inside strings, one bit for each byte of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Inside {
    quote: u64,
    backslash: u64,
    /// Below 0x20.
    control: u64,
}

/// How some machine makes the masks of a block.
trait Kernel: Copy {
    fn inside(self, block: &Block) -> Inside;

    /// Returns `{`, `}`, `[`, `]`, `:` and `,`. The control characters that differ from `:` and `,`
    /// in the bit 0x20 may be included; the grammar rejects them either way.
    fn structural(self, block: &Block) -> u64;

    /// Returns the characters that may follow a backslash, except quotes and `u`: `\`, `/`, `b`,
    /// `f`, `n`, `r`, `t`.
    fn plain_escapes(self, block: &Block) -> u64;

    /// Returns the bytes that equal `byte`.
    fn equal(self, block: &Block, byte: u8) -> u64;

    /// Returns the beginnings of which the first two bytes of `escape` are there and the third is not,
    /// or, with `TEXT`, both bytes of `text`. Without `FOLD`, the bits of these are 0.
    #[inline(always)]
    fn starts<const TEXT: bool, const FOLD: bool>(
        self,
        window: &Window,
        [first, second, skipped]: [Probe; 3],
        text: [Probe; 2],
    ) -> u64 {
        let escape = self.probed::<false>(window, first)
            & self.probed::<false>(window, second)
            & !self.probed::<false>(window, skipped);
        if !TEXT {
            return escape;
        }
        escape | self.probed::<FOLD>(window, text[0]) & self.probed::<FOLD>(window, text[1])
    }

    /// Returns the beginnings behind which a byte is.
    #[inline(always)]
    fn probed<const FOLD: bool>(self, window: &Window, probe: Probe) -> u64 {
        let block = probe.block(window);
        let same = self.equal(block, probe.byte);
        if FOLD { same | self.equal(block, probe.byte ^ probe.bit) } else { same }
    }

    /// Writes the marks of the set bits, the lowest first. Anything written after them is ignored.
    #[inline(always)]
    fn marks(self, mut bits: u64, block: &Block, at: usize, out: &mut [u32; 64]) {
        const STEP: usize = 4;
        let count = bits.count_ones() as usize;
        for (step, out) in out.as_chunks_mut::<STEP>().0.iter_mut().enumerate() {
            if step > 0 && count <= step * STEP {
                break;
            }
            for mark in out {
                let place = bits.trailing_zeros() as usize;
                *mark = Mark::new(at + place, block[place % 64]).0;
                bits &= bits.wrapping_sub(1);
            }
        }
    }

    /// Returns a mask in which each bit is the parity of the bits up to it: turns quotes into the
    /// ranges that they enclose.
    #[inline(always)]
    fn parity(self, bits: u64) -> u64 {
        let mut parity = bits;
        for shift in [1, 2, 4, 8, 16, 32] {
            parity ^= parity << shift;
        }
        parity
    }
}

/// The fastest kernel of this machine, or one chosen by a test.
#[derive(Clone, Copy, Debug)]
pub(in crate::json) enum Scanner {
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
    Portable,
}

impl Scanner {
    pub(super) fn best() -> Scanner {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx512) = avx512::Avx512::detect() {
            return Scanner::Avx512(avx512);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = avx2::Avx2::detect() {
            return Scanner::Avx2(avx2);
        }
        #[cfg(target_arch = "aarch64")]
        return Scanner::Neon(neon::Neon);
        #[cfg(not(target_arch = "aarch64"))]
        Scanner::Portable
    }

    /// Returns all kernels that this machine supports.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Scanner> {
        let mut all = vec![Scanner::best(), Scanner::Portable];
        #[cfg(target_arch = "x86_64")]
        all.extend(avx2::Avx2::detect().map(Scanner::Avx2));
        all
    }
}

/// A structural byte in a stretch: its position and its value.
///
/// Stored as a bare `u32`, so that a zeroed list can be allocated without touching its pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark(pub(super) u32);

impl Mark {
    /// The maximum length of a stretch.
    const MOST: usize = 1 << 24;

    #[inline(always)]
    fn new(at: usize, byte: u8) -> Mark {
        Mark(u32::from(byte) << 24 | at as u32)
    }

    /// Returns its position.
    #[inline(always)]
    pub(super) fn offset(self) -> usize {
        (self.0 & 0xFF_FFFF) as usize
    }

    /// Returns the byte at that position.
    #[inline(always)]
    pub(super) fn byte(self) -> u8 {
        (self.0 >> 24) as u8
    }
}

/// The marks in one stretch of lines. The memory is reused for all stretches.
pub(super) struct Index {
    scanner: Scanner,
    marks: Marks,
}

/// The result of a scan.
#[derive(Default)]
struct Marks {
    /// The marks as numbers, with room for the marks of one more block after the last.
    list: Vec<u32>,
    count: usize,
    /// The offsets of the blocks that must be read again.
    suspects: Vec<u32>,
}

impl Marks {
    /// Appends the marks of the bits of a block.
    #[inline(always)]
    fn push_bits<K: Kernel>(&mut self, kernel: K, bits: u64, block: &Block, at: usize) {
        if self.list.len() - self.count < size_of::<Block>() {
            self.grow();
        }
        let out = self.list[self.count..].first_chunk_mut().expect("room for a block");
        // The next block overwrites anything written past the count.
        kernel.marks(bits, block, at, out);
        self.count += bits.count_ones() as usize;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.list.resize(self.list.len() * 2, 0);
    }

    /// Records that a block must be read again.
    #[cold]
    #[inline(never)]
    fn suspect(&mut self, at: usize) {
        self.suspects.push(at as u32);
    }
}

/// The shortest list. One of this size is memory from the system, which is zero already; a shorter one would be cleared.
const LEAST: usize = 1 << 15;

/// The longest list that is used again: longer ones are those of very long lines.
const MOST_SPARE: usize = 1 << 18;

thread_local! {
    /// The lists of the last index of this thread, as [`Block`](super::reader) keeps its buffer.
    static SPARE: Cell<Marks> = const { Cell::new(Marks { list: Vec::new(), count: 0, suspects: Vec::new() }) };
}

impl Drop for Index {
    fn drop(&mut self) {
        // The thread may be about to end.
        let _ = SPARE.try_with(|spare| {
            let last = spare.take();
            let is_better = self.marks.list.len() > last.list.len() && self.marks.list.len() <= MOST_SPARE;
            spare.set(if is_better { std::mem::take(&mut self.marks) } else { last });
        });
    }
}

impl Index {
    pub(super) fn new(scanner: Scanner) -> Index {
        let mut marks = SPARE.try_with(Cell::take).unwrap_or_default();
        marks.count = 0;
        marks.suspects.clear();
        Index { scanner, marks }
    }

    /// Scans whole lines: the last byte must be a line feed.
    pub(super) fn build(&mut self, lines: &[u8]) {
        assert!(lines.len() <= Mark::MOST, "positions are 24 bits");
        let marks = &mut self.marks;
        // In text that agents write, one byte in ten or more is marked; the maximum is one mark a
        // byte.
        let room = lines.len() / 8 + size_of::<Block>();
        if marks.list.len() < room {
            marks.list = vec![0; room.next_power_of_two().max(LEAST)];
        }
        marks.count = 0;
        marks.suspects.clear();
        match self.scanner {
            #[cfg(target_arch = "x86_64")]
            Scanner::Avx512(avx512) => avx512.scan(lines, marks),
            #[cfg(target_arch = "x86_64")]
            Scanner::Avx2(avx2) => avx2.scan(lines, marks),
            #[cfg(target_arch = "aarch64")]
            Scanner::Neon(neon) => scan(neon, lines, marks),
            Scanner::Portable => scan(portable::Portable, lines, marks),
        }
    }

    /// Returns the marks in ascending order, as the numbers of [`Mark`]s. The last one is that of
    /// the last line feed.
    pub(super) fn marks(&self) -> &[u32] {
        &self.marks.list[..self.marks.count]
    }

    /// Returns the offsets of the blocks that must be read again, in ascending order.
    pub(super) fn suspects(&self) -> &[u32] {
        &self.marks.suspects
    }
}

/// The state carried from one block to the next. Passed by value, so that it stays in registers.
#[derive(Clone, Copy, Default)]
struct Carry {
    /// 1 if the first byte is escaped.
    escaped: u64,
    /// All ones if the first byte is inside a string.
    in_string: u64,
    /// 1 if the previous byte belongs to a number or word, which the first byte may continue.
    in_word: u64,
    /// The position of the `u` of the low surrogate that must follow a high one.
    low_at: usize,
}

/// Marks the structural bytes of `lines`, and the suspect blocks.
#[inline(always)]
fn scan<K: Kernel>(kernel: K, lines: &[u8], marks: &mut Marks) {
    let mut carry = Carry::default();
    let (blocks, rest) = lines.as_chunks::<64>();
    for (number, block) in blocks.iter().enumerate() {
        carry = scan_block(kernel, block, lines, number * 64, carry, marks);
    }
    if !rest.is_empty() {
        let mut block = [b' '; 64];
        block[..rest.len()].copy_from_slice(rest);
        scan_block(kernel, &block, lines, blocks.len() * 64, carry, marks);
    }
}

#[inline(always)]
fn scan_block<K: Kernel>(
    kernel: K,
    block: &Block,
    lines: &[u8],
    at: usize,
    mut carry: Carry,
    marks: &mut Marks,
) -> Carry {
    let inside = kernel.inside(block);
    let (escaped, next_escaped) = escaped(inside.backslash, carry.escaped);
    let quote = inside.quote & !escaped;

    // The fast path through long strings: most blocks are completely inside one.
    if quote == 0 && carry.in_string == u64::MAX && inside.control == 0 {
        carry.escaped = next_escaped;
        carry.in_word = 0;
        if escaped != 0 {
            carry.low_at =
                check_escapes(kernel, block, lines, at, (escaped, inside.quote), carry.low_at, marks);
        }
        return carry;
    }

    // From the opening quote of a string up to, but not including, the closing one.
    let string = kernel.parity(quote) ^ carry.in_string;
    let structural = kernel.structural(block);
    let mut space = kernel.equal(block, b' ');
    let mut newline = 0;
    let mut is_suspect = false;
    if inside.control != 0 {
        newline = kernel.equal(block, b'\n');
        space |= newline;
        if inside.control != newline {
            space |= kernel.equal(block, b'\t') | kernel.equal(block, b'\r');
            is_suspect = inside.control & string != 0;
        }
        if newline & string != 0 {
            // Anything else that is wrong here is found by the second read, which happens anyway.
            marks.suspect(at);
            let torn = carry.escaped | carry.in_string & 2 | carry.in_word << 2;
            let (bits, torn) = scan_torn(block, structural, space, torn);
            carry.escaped = torn & 1;
            carry.in_string = (torn >> 1 & 1).wrapping_neg();
            carry.in_word = torn >> 2;
            marks.push_bits(kernel, bits, block, at);
            return carry;
        }
    }
    carry.escaped = next_escaped;
    carry.in_string = ((string as i64) >> 63) as u64;
    let word = !(structural | space | quote);
    let goes_on = word << 1 | carry.in_word;
    carry.in_word = word >> 63;
    if is_suspect {
        marks.suspect(at);
    } else if escaped != 0 {
        carry.low_at = check_escapes(kernel, block, lines, at, (escaped, inside.quote), carry.low_at, marks);
    }
    let bits = (structural | word & !goes_on) & !string | quote | newline;
    marks.push_bits(kernel, bits, block, at);
    carry
}

/// Returns the bytes after an odd number of backslashes, computed by the carry of an addition
/// through each run of them, and whether the first byte of the next block is one.
#[inline(always)]
fn escaped(backslash: u64, carry: u64) -> (u64, u64) {
    if backslash == 0 {
        return (carry, 0);
    }
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    // A backslash that is itself escaped escapes nothing.
    let may_escape = backslash & !carry;
    let behind = may_escape << 1;
    // The borrow makes a run that begins at an even position flip the odd bits after it.
    let ends = ((behind | ODD).wrapping_sub(may_escape)) ^ ODD;
    (ends ^ (backslash | carry), (ends & backslash) >> 63)
}

/// Records the block as suspect if it contains an invalid escape or a lone surrogate. Returns the
/// position at which a low surrogate must follow.
#[inline(always)]
fn check_escapes<K: Kernel>(
    kernel: K,
    block: &Block,
    lines: &[u8],
    at: usize,
    (escaped, quote): (u64, u64),
    low_at: usize,
    marks: &mut Marks,
) -> usize {
    let rest = escaped & !(quote | kernel.plain_escapes(block));
    if rest == 0 {
        return low_at;
    }
    let unicode = rest & kernel.equal(block, b'u');
    let (fine, low_at) = are_units(lines, at, unicode, low_at);
    if unicode != rest || !fine {
        marks.suspect(at);
    }
    low_at
}

/// Returns whether each `u` of the mask begins a code unit, and each surrogate has its other half.
#[inline(never)]
fn are_units(lines: &[u8], at: usize, mut unicode: u64, mut low_at: usize) -> (bool, usize) {
    let mut fine = true;
    while unicode != 0 {
        let here = at + unicode.trailing_zeros() as usize;
        unicode &= unicode - 1;
        match string::hex(&lines[here + 1..]) {
            None => fine = false,
            Some(0xD800..=0xDBFF) => match string::unit(&lines[here + 5..]) {
                Some(0xDC00..=0xDFFF) => low_at = here + 6,
                _ => fine = false,
            },
            Some(0xDC00..=0xDFFF) => fine &= low_at == here,
            Some(_) => {}
        }
    }
    (fine, low_at)
}

/// Handles a block in which a line feed is inside a string: that line is broken, and the next one
/// starts afresh.
///
/// Takes three bits, and returns them for the next block together with the marked bytes: whether
/// the first byte is escaped, is inside a string, continues a word. (A struct would be passed in
/// memory, and with it the carry of all blocks.)
#[cold]
#[inline(never)]
fn scan_torn(block: &Block, structural: u64, space: u64, carry: u64) -> (u64, u64) {
    let [mut escaped, mut in_string, mut in_word] = [0, 1, 2].map(|bit| carry >> bit & 1 == 1);
    let mut bits = 0u64;
    for (place, byte) in block.iter().enumerate() {
        let bit = 1 << place;
        let was_escaped = std::mem::take(&mut escaped);
        let was_in_word = std::mem::take(&mut in_word);
        match byte {
            b'\n' => {
                in_string = false;
                bits |= bit;
            }
            b'"' if !was_escaped => {
                in_string = !in_string;
                bits |= bit;
            }
            b'\\' if in_string => escaped = !was_escaped,
            _ if in_string || space & bit != 0 => {}
            _ if structural & bit != 0 => bits |= bit,
            _ => {
                in_word = true;
                if !was_in_word {
                    bits |= bit;
                }
            }
        }
    }
    (bits, u64::from(escaped) | u64::from(in_string) << 1 | u64::from(in_word) << 2)
}

#[cfg(test)]
mod tests;
