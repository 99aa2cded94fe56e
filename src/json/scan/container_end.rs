//! Finds the end of an object or a list, 64 bytes at a time.
//!
//! For lines that were scanned before, when a few of their members are read again and the others are
//! skipped: objects of agents have many short strings and numbers.

use super::closing_quote;

/// Returns the offset after the object or the list with which `bytes` begins, or `None` if it has no end.
///
/// Brackets of both kinds count alike, and what is between strings is not checked.
pub(in crate::json) fn end_of_container(bytes: &[u8]) -> Option<usize> {
    end_with(bytes, masks)
}

/// The bytes handled at a time.
type Block = [u8; 64];

/// The positions of some bytes in a block, one bit for each byte.
struct Masks {
    quote: u64,
    backslash: u64,
    /// Brackets that open an object or a list.
    open: u64,
    close: u64,
}

fn end_with(bytes: &[u8], masks: impl Fn(&Block) -> Masks) -> Option<usize> {
    let (mut at, mut depth) = (0, 0);
    // What is at `at` is not in a string.
    while at < bytes.len() {
        let mut last = [0; size_of::<Block>()];
        let block = match bytes[at..].first_chunk() {
            Some(block) => block,
            None => {
                last[..bytes.len() - at].copy_from_slice(&bytes[at..]);
                &last
            }
        };
        let Masks { quote, backslash, open, close } = masks(block);
        let (escaped, _) = super::escaped(backslash, 0);
        let quote = quote & !escaped;
        let in_string = up_to_each(quote);
        let (open, close) = (open & !in_string, close & !in_string);
        if (close.count_ones() as usize) < depth {
            depth = depth + open.count_ones() as usize - close.count_ones() as usize;
        } else {
            let mut rest = open | close;
            while rest != 0 {
                let here = rest & rest.wrapping_neg();
                if open & here != 0 {
                    depth += 1;
                } else {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at + here.trailing_zeros() as usize + 1);
                    }
                }
                rest &= rest - 1;
            }
        }
        at += match quote.count_ones() % 2 {
            0 => size_of::<Block>(),
            _ => {
                let string = (u64::BITS - quote.leading_zeros()) as usize;
                string + closing_quote(bytes.get(at + string..)?)? + 1
            }
        };
    }
    None
}

/// Returns the bits from each odd one, which is included, up to the next, which is not.
#[inline(always)]
fn up_to_each(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn masks(block: &Block) -> Masks {
    use std::arch::x86_64::*;
    let mut masks = Masks { quote: 0, backslash: 0, open: 0, close: 0 };
    for (number, part) in block.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: each machine of this architecture has SSE2; the load reads the 16 bytes and needs no
        // alignment.
        let [quote, backslash, open, close] = unsafe {
            let part = _mm_loadu_si128(part.as_ptr().cast());
            let equal = |part, byte: u8| _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(byte as i8)));
            // The brackets of the two kinds differ in one bit.
            let both = _mm_or_si128(part, _mm_set1_epi8(0x20));
            [equal(part, b'"'), equal(part, b'\\'), equal(both, b'{'), equal(both, b'}')]
        };
        let place = |mask: i32| (mask as u64) << (16 * number);
        masks.quote |= place(quote);
        masks.backslash |= place(backslash);
        masks.open |= place(open);
        masks.close |= place(close);
    }
    masks
}

#[cfg(not(target_arch = "x86_64"))]
use portable_masks as masks;

#[cfg(any(test, not(target_arch = "x86_64")))]
fn portable_masks(block: &Block) -> Masks {
    let mut masks = Masks { quote: 0, backslash: 0, open: 0, close: 0 };
    for (number, byte) in block.iter().enumerate() {
        let mask = match byte {
            b'"' => &mut masks.quote,
            b'\\' => &mut masks.backslash,
            b'{' | b'[' => &mut masks.open,
            b'}' | b']' => &mut masks.close,
            _ => continue,
        };
        *mask |= 1 << number;
    }
    masks
}

#[cfg(test)]
mod tests;
