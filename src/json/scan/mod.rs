//! The first stage of the reader: where, in a stretch of whole lines, something stands.
//!
//! Bytes are looked at 64 at a time, as masks with one bit a byte. Which bytes are escaped and which are inside
//! strings follows by arithmetic on these masks, with a carry from one block to the next; nothing branches on
//! single bytes. What is left is a list of positions: structural characters, both quotes of each string, the
//! first byte of each number and word, and line feeds. The second stage (`grammar`) walks that list.
//!
//! What is rare is not settled here. A block in which a string has a control character, an escape that is none,
//! a lone surrogate, or a line feed is noted as a *suspect*, and the lines that touch it are read again, byte by byte.
//!
//! The masks come from a [`Kernel`]: AVX2 or NEON, and arithmetic on 64-bit words elsewhere. This module and those
//! below it are the only ones with `unsafe` code.

#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::text;

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

/// What counts outside of strings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Outside {
    /// `{`, `}`, `[`, `]`, `:` and `,`. The control characters that differ from `:` and `,` in the bit 0x20 may
    /// be among them; no grammar has a place for them either way.
    structural: u64,
    /// Blank, tab, carriage return, line feed.
    space: u64,
    newline: u64,
}

/// How the masks of a block are made on some machine.
trait Kernel: Copy {
    fn inside(self, block: &Block) -> Inside;
    fn outside(self, block: &Block) -> Outside;

    /// What may stand behind a backslash, but for quotes and `u`: `\`, `/`, `b`, `f`, `n`, `r`, `t`.
    fn plain_escapes(self, block: &Block) -> u64;

    /// The letter `u`.
    fn u(self, block: &Block) -> u64;

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
    Avx2(x86::Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
    Portable,
}

impl Scanner {
    pub(super) fn best() -> Scanner {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = x86::Avx2::detect() {
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
        match Scanner::best() {
            Scanner::Portable => vec![Scanner::Portable],
            best => vec![best, Scanner::Portable],
        }
    }
}

/// The positions in one stretch of lines; its memory serves for all stretches.
pub(super) struct Index {
    scanner: Scanner,
    /// Room for the positions, and for a block of them behind the last.
    positions: Vec<u32>,
    count: usize,
    suspects: Vec<u32>,
}

impl Index {
    pub(super) fn new(scanner: Scanner) -> Index {
        Index { scanner, positions: Vec::new(), count: 0, suspects: Vec::new() }
    }

    /// Another one of its kind.
    pub(super) fn like(&self) -> Index {
        Index::new(self.scanner)
    }

    /// Looks through whole lines: the last byte is a line feed.
    pub(super) fn build(&mut self, lines: &[u8]) {
        assert!(u32::try_from(lines.len()).is_ok(), "positions are 32 bits");
        let room = lines.len() + size_of::<Block>();
        if self.positions.len() < room {
            // Fresh zeros, since the system gives them untouched: most of the room is never needed.
            self.positions = Vec::new();
            self.positions = vec![0; room.next_power_of_two()];
        }
        self.suspects.clear();
        self.count = match self.scanner {
            #[cfg(target_arch = "x86_64")]
            Scanner::Avx2(avx2) => avx2.scan(lines, &mut self.positions, &mut self.suspects),
            #[cfg(target_arch = "aarch64")]
            Scanner::Neon(neon) => scan(neon, lines, &mut self.positions, &mut self.suspects),
            Scanner::Portable => scan(portable::Portable, lines, &mut self.positions, &mut self.suspects),
        };
    }

    /// Where something stands, ascending. The last is that of the last line feed.
    pub(super) fn positions(&self) -> &[u32] {
        &self.positions[..self.count]
    }

    /// The first bytes of the blocks that a second look is due, ascending.
    pub(super) fn suspects(&self) -> &[u32] {
        &self.suspects
    }
}

/// What goes over from one block to the next.
#[derive(Default)]
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

/// Writes the positions in `lines` and the suspect blocks; gives how many positions there are.
#[inline(always)]
fn scan<K: Kernel>(kernel: K, lines: &[u8], positions: &mut [u32], suspects: &mut Vec<u32>) -> usize {
    let mut carry = Carry::default();
    let mut count = 0;
    let (blocks, rest) = lines.as_chunks::<64>();
    for (number, block) in blocks.iter().enumerate() {
        let out = positions[count..].first_chunk_mut().expect("room for a block");
        count += scan_block(kernel, block, lines, number * 64, &mut carry, out, suspects);
    }
    if !rest.is_empty() {
        let mut block = [b' '; 64];
        block[..rest.len()].copy_from_slice(rest);
        let out = positions[count..].first_chunk_mut().expect("room for a block");
        count += scan_block(kernel, &block, lines, blocks.len() * 64, &mut carry, out, suspects);
    }
    count
}

#[inline(always)]
fn scan_block<K: Kernel>(
    kernel: K,
    block: &Block,
    lines: &[u8],
    at: usize,
    carry: &mut Carry,
    out: &mut [u32; 64],
    suspects: &mut Vec<u32>,
) -> usize {
    let inside = kernel.inside(block);
    let was_escaped = carry.escaped;
    let escaped = escaped(inside.backslash, &mut carry.escaped);
    let quote = inside.quote & !escaped;

    // The short way through long strings: most blocks are wholly inside one.
    if quote == 0 && carry.in_string == u64::MAX && inside.control == 0 {
        if escaped != 0 {
            check_escapes(kernel, block, lines, at, (escaped, inside.quote), carry, suspects);
        }
        carry.in_word = 0;
        return 0;
    }

    let outside = kernel.outside(block);
    // From the opening quote of a string up to, and not with, the closing one.
    let string = kernel.parity(quote) ^ carry.in_string;
    if outside.newline & string != 0 {
        carry.escaped = was_escaped;
        return scan_torn(kernel, block, at, carry, out, suspects);
    }
    carry.in_string = ((string as i64) >> 63) as u64;
    let word = !(outside.structural | outside.space | quote);
    let goes_on = word << 1 | carry.in_word;
    carry.in_word = word >> 63;
    if inside.control & string != 0 {
        suspects.push(at as u32);
    } else if escaped != 0 {
        check_escapes(kernel, block, lines, at, (escaped, inside.quote), carry, suspects);
    }
    let bits = (outside.structural | word & !goes_on) & !string | quote | outside.newline;
    write_positions(bits, at as u32, out)
}

/// The bytes behind an odd number of backslashes, by the carry of an addition through each run of them.
#[inline(always)]
fn escaped(backslash: u64, carry: &mut u64) -> u64 {
    if backslash == 0 {
        return std::mem::take(carry);
    }
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    // A backslash that is escaped itself escapes nothing.
    let may_escape = backslash & !*carry;
    let behind = may_escape << 1;
    // A run that begins at an even place ends, by the borrow, in a flip of the odd bits behind it.
    let ends = ((behind | ODD).wrapping_sub(may_escape)) ^ ODD;
    let escaped = ends ^ (backslash | *carry);
    *carry = (ends & backslash) >> 63;
    escaped
}

/// Notes the block as suspect where an escape in it is none, or a lone surrogate.
#[inline(always)]
fn check_escapes<K: Kernel>(
    kernel: K,
    block: &Block,
    lines: &[u8],
    at: usize,
    (escaped, quote): (u64, u64),
    carry: &mut Carry,
    suspects: &mut Vec<u32>,
) {
    let rest = escaped & !(quote | kernel.plain_escapes(block));
    if rest == 0 {
        return;
    }
    let unicode = rest & kernel.u(block);
    if unicode != rest || !are_units(lines, at, unicode, &mut carry.low_at) {
        suspects.push(at as u32);
    }
}

/// Whether each `u` of the mask begins a code unit, and each surrogate has its other half.
#[inline(never)]
fn are_units(lines: &[u8], at: usize, mut unicode: u64, low_at: &mut usize) -> bool {
    let mut fine = true;
    while unicode != 0 {
        let here = at + unicode.trailing_zeros() as usize;
        unicode &= unicode - 1;
        match text::hex(&lines[here + 1..]) {
            None => fine = false,
            Some(0xD800..=0xDBFF) => match text::unit(&lines[here + 5..]) {
                Some(0xDC00..=0xDFFF) => *low_at = here + 6,
                _ => fine = false,
            },
            Some(0xDC00..=0xDFFF) => fine &= *low_at == here,
            Some(_) => {}
        }
    }
    fine
}

/// Writes the positions of the bits, eight at a time, and gives how many there are.
#[inline(always)]
fn write_positions(mut bits: u64, at: u32, out: &mut [u32; 64]) -> usize {
    let count = bits.count_ones() as usize;
    // What is written beyond the count is written over by the next block.
    for (place, eight) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        if place > 0 && count <= place * 8 {
            break;
        }
        for position in eight {
            *position = at.wrapping_add(bits.trailing_zeros());
            bits &= bits.wrapping_sub(1);
        }
    }
    count
}

/// A block in which a line feed stands in a string: that line is broken, and the next one begins afresh.
#[cold]
#[inline(never)]
fn scan_torn<K: Kernel>(
    kernel: K,
    block: &Block,
    at: usize,
    carry: &mut Carry,
    out: &mut [u32; 64],
    suspects: &mut Vec<u32>,
) -> usize {
    let outside = kernel.outside(block);
    let mut in_string = carry.in_string != 0;
    let mut escaped = carry.escaped != 0;
    let mut in_word = carry.in_word != 0;
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
            _ if in_string || outside.space & bit != 0 => {}
            _ if outside.structural & bit != 0 => bits |= bit,
            _ => {
                in_word = true;
                if !was_in_word {
                    bits |= bit;
                }
            }
        }
    }
    // Whatever else is wrong here is found by the second look, which is due anyway.
    suspects.push(at as u32);
    carry.in_string = if in_string { u64::MAX } else { 0 };
    carry.escaped = u64::from(escaped);
    carry.in_word = u64::from(in_word);
    write_positions(bits, at as u32, out)
}

#[cfg(test)]
mod tests;
