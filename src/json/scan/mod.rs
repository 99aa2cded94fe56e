//! The first stage of the reader: where, in a stretch of whole lines, something stands.
//!
//! Bytes are looked at 64 at a time, as masks with one bit a byte. Which bytes are escaped and which are inside
//! strings follows by arithmetic on these masks, with a carry from one block to the next; nothing branches on
//! single bytes. What is left is a list of [`Mark`]s: structural characters, both quotes of each string, the
//! first byte of each number and word, and line feeds. The second stage (`grammar`) walks that list.
//!
//! What is rare is not settled here. A block in which a string has a control character, an escape that is none,
//! a lone surrogate, or a line feed is noted as a *suspect*, and the lines that touch it are read again, byte by byte.
//!
//! The masks come from a [`Kernel`]: AVX-512, AVX2 or NEON if the machine has it, and arithmetic on 64-bit words on other machines. A whole
//! `fsck` of 100 MB takes 18 % more time with AVX2 than with AVX-512 (medians of 12 runs in turn on a Zen 4). This module and those below
//! it are the only ones with `unsafe` code.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use super::string;

/// What is looked at at a time.
type Block = [u8; 64];

/// What counts inside strings, a bit for each byte of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Inside {
    quote: u64,
    backslash: u64,
    /// Below 0x20.
    control: u64,
}

/// How the masks of a block are made on some machine.
trait Kernel: Copy {
    fn inside(self, block: &Block) -> Inside;

    /// `{`, `}`, `[`, `]`, `:` and `,`. The control characters that differ from `:` and `,` in the bit 0x20 may
    /// be among them; no grammar has a place for them either way.
    fn structural(self, block: &Block) -> u64;

    /// What may stand behind a backslash, but for quotes and `u`: `\`, `/`, `b`, `f`, `n`, `r`, `t`.
    fn plain_escapes(self, block: &Block) -> u64;

    /// The bytes that are `byte`.
    fn equal(self, block: &Block, byte: u8) -> u64;

    /// Writes the marks of the bits, the lowest first; what is written beyond them is of no account.
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

    /// Each bit of the result is the parity of the bits up to it: from quotes to what they enclose.
    #[inline(always)]
    fn parity(self, bits: u64) -> u64 {
        let mut parity = bits;
        for shift in [1, 2, 4, 8, 16, 32] {
            parity ^= parity << shift;
        }
        parity
    }
}

/// The fastest kernel of this machine, or one that a test chose.
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

    /// All that this machine has.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Scanner> {
        let mut all = vec![Scanner::best(), Scanner::Portable];
        #[cfg(target_arch = "x86_64")]
        all.extend(avx2::Avx2::detect().map(Scanner::Avx2));
        all
    }
}

/// Something that stands in a stretch: where, and which byte it is.
///
/// It is kept as its number: zeroed memory for numbers is had from the system untouched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark(pub(super) u32);

impl Mark {
    /// How long a stretch may be.
    const MOST: usize = 1 << 24;

    #[inline(always)]
    fn new(at: usize, byte: u8) -> Mark {
        Mark(u32::from(byte) << 24 | at as u32)
    }

    /// Where it stands.
    #[inline(always)]
    pub(super) fn at(self) -> usize {
        (self.0 & 0xFF_FFFF) as usize
    }

    /// The byte that stands there.
    #[inline(always)]
    pub(super) fn byte(self) -> u8 {
        (self.0 >> 24) as u8
    }
}

/// The marks in one stretch of lines; its memory serves for all stretches.
pub(super) struct Index {
    scanner: Scanner,
    marks: Marks,
}

/// What a scan finds.
#[derive(Default)]
struct Marks {
    /// The numbers of marks, and room for a block of them behind the last.
    list: Vec<u32>,
    count: usize,
    /// The first bytes of the blocks that a second look is due.
    suspects: Vec<u32>,
}

impl Marks {
    /// Puts what the bits of a block say behind the others.
    #[inline(always)]
    fn put<K: Kernel>(&mut self, kernel: K, bits: u64, block: &Block, at: usize) {
        if self.list.len() - self.count < size_of::<Block>() {
            self.grow();
        }
        let out = self.list[self.count..].first_chunk_mut().expect("room for a block");
        // What is written beyond the count is written over by the next block.
        kernel.marks(bits, block, at, out);
        self.count += bits.count_ones() as usize;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.list.resize(self.list.len() * 2, 0);
    }

    /// Notes a block that is due a second look.
    #[cold]
    #[inline(never)]
    fn suspect(&mut self, at: usize) {
        self.suspects.push(at as u32);
    }
}

impl Index {
    pub(super) fn new(scanner: Scanner) -> Index {
        Index { scanner, marks: Marks::default() }
    }

    /// Looks through whole lines: the last byte is a line feed.
    pub(super) fn build(&mut self, lines: &[u8]) {
        assert!(lines.len() <= Mark::MOST, "positions are 24 bits");
        let marks = &mut self.marks;
        // Of text that agents write a byte in ten or more is marked; there may be more, up to one a byte.
        let room = lines.len() / 8 + size_of::<Block>();
        if marks.list.len() < room {
            marks.list = vec![0; room.next_power_of_two()];
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

    /// What stands where, ascending, as the numbers of [`Mark`]s. The last is the last line feed.
    pub(super) fn marks(&self) -> &[u32] {
        &self.marks.list[..self.marks.count]
    }

    /// The first bytes of the blocks that a second look is due, ascending.
    pub(super) fn suspects(&self) -> &[u32] {
        &self.marks.suspects
    }
}

/// What goes over from one block to the next. It goes by value, so that it stays in registers.
#[derive(Clone, Copy, Default)]
struct Carry {
    /// 1 where the first byte is escaped.
    escaped: u64,
    /// All ones where the first byte is inside a string.
    in_string: u64,
    /// 1 where the byte before is of a number or word, so that the first byte may go on with it.
    in_word: u64,
    /// Where the `u` of a low surrogate stands whose high one was seen.
    low_at: usize,
}

/// Marks what stands in `lines`, and the suspect blocks.
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

    // The short way through long strings: most blocks are wholly inside one.
    if quote == 0 && carry.in_string == u64::MAX && inside.control == 0 {
        carry.escaped = next_escaped;
        carry.in_word = 0;
        if escaped != 0 {
            carry.low_at =
                check_escapes(kernel, block, lines, at, (escaped, inside.quote), carry.low_at, marks);
        }
        return carry;
    }

    // From the opening quote of a string up to, and not with, the closing one.
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
            // Whatever else is wrong here is found by the second look, which is due anyway.
            marks.suspect(at);
            let torn = carry.escaped | carry.in_string & 2 | carry.in_word << 2;
            let (bits, torn) = scan_torn(block, structural, space, torn);
            carry.escaped = torn & 1;
            carry.in_string = (torn >> 1 & 1).wrapping_neg();
            carry.in_word = torn >> 2;
            marks.put(kernel, bits, block, at);
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
    marks.put(kernel, bits, block, at);
    carry
}

/// The bytes behind an odd number of backslashes, by the carry of an addition through each run of them; and whether the first
/// byte of the next block is one.
#[inline(always)]
fn escaped(backslash: u64, carry: u64) -> (u64, u64) {
    if backslash == 0 {
        return (carry, 0);
    }
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    // A backslash that is escaped itself escapes nothing.
    let may_escape = backslash & !carry;
    let behind = may_escape << 1;
    // A run that begins at an even place ends, by the borrow, in a flip of the odd bits behind it.
    let ends = ((behind | ODD).wrapping_sub(may_escape)) ^ ODD;
    (ends ^ (backslash | carry), (ends & backslash) >> 63)
}

/// Notes the block as suspect where an escape in it is none, or a lone surrogate. Gives the place of a low surrogate that is due.
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

/// Whether each `u` of the mask begins a code unit, and each surrogate has its other half.
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

/// A block in which a line feed stands in a string: that line is broken, and the next one begins afresh.
///
/// Takes three bits, and gives them for the next block, as the marked bytes do: whether the first byte is escaped, is inside a string,
/// goes on with a word. (A structure would go by memory, and with it the carry of all blocks.)
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
