//! Finds the end of one string, 64 bytes at a time.
//!
//! For lines that were scanned before, when a few of their members are read again. Unlike a search
//! for quotes, it does not stop at each quote that is escaped, and code that agents write has many.

/// The bytes handled at a time.
type Block = [u8; 64];
type Part = [u8; 16];

/// Returns the offset of the first quote that no backslash escapes, or `None` if there is none.
///
/// `bytes` is what follows the opening quote of a string.
#[inline]
pub(in crate::json) fn closing_quote(bytes: &[u8]) -> Option<usize> {
    // Keys and names are short.
    if let Some(first) = bytes.first_chunk() {
        let (quote, backslash) = part_masks(first);
        // The bits below the lowest one.
        let before = quote.wrapping_sub(1) & !quote;
        if quote != 0 && backslash & before == 0 {
            return Some(quote.trailing_zeros() as usize);
        }
    }
    closing_quote_with(bytes, masks)
}

#[inline]
fn closing_quote_with(bytes: &[u8], masks: impl Fn(&Block) -> (u64, u64)) -> Option<usize> {
    // 1 if the first byte of the next block is escaped.
    let mut carry = 0;
    let (blocks, rest) = bytes.as_chunks();
    for (number, block) in blocks.iter().enumerate() {
        // Without a quote, only a backslash at the end matters.
        if !has_quote(block) && block[size_of::<Block>() - 1] != b'\\' {
            carry = 0;
            continue;
        }
        let quote = unescaped(masks(block), &mut carry);
        if quote != 0 {
            return Some(number * size_of::<Block>() + quote.trailing_zeros() as usize);
        }
    }
    let mut last = [0; size_of::<Block>()];
    last[..rest.len()].copy_from_slice(rest);
    let quote = unescaped(masks(&last), &mut carry);
    (quote != 0).then(|| bytes.len() - rest.len() + quote.trailing_zeros() as usize)
}

#[inline(always)]
fn has_quote(block: &Block) -> bool {
    // Without branches, so that the compiler compares many bytes at a time.
    block.iter().fold(false, |has, byte| has | (*byte == b'"'))
}

/// Returns the quotes that are not escaped, given all quotes and backslashes. The carry is 1 if the
/// first byte of the next block is escaped.
#[inline(always)]
fn unescaped((quote, backslash): (u64, u64), carry: &mut u64) -> u64 {
    if backslash | *carry == 0 {
        return quote;
    }
    let (escaped, next) = super::escaped(backslash, *carry);
    *carry = next;
    quote & !escaped
}

/// Returns the quotes and the backslashes of a block, one bit for each byte.
#[inline(always)]
fn masks(block: &Block) -> (u64, u64) {
    masks_of(block, part_masks)
}

#[inline(always)]
fn masks_of(block: &Block, part_masks: impl Fn(&Part) -> (u32, u32)) -> (u64, u64) {
    let (mut quotes, mut backslashes) = (0, 0);
    for (number, part) in block.as_chunks().0.iter().enumerate() {
        let (quote, backslash) = part_masks(part);
        quotes |= u64::from(quote) << (number * size_of::<Part>());
        backslashes |= u64::from(backslash) << (number * size_of::<Part>());
    }
    (quotes, backslashes)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn part_masks(part: &Part) -> (u32, u32) {
    use std::arch::x86_64::*;
    // SAFETY: each machine of this architecture has SSE2; the load reads the 16 bytes and needs no
    // alignment.
    unsafe {
        let part = _mm_loadu_si128(part.as_ptr().cast());
        let equal = |byte: u8| _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(byte as i8))) as u32;
        (equal(b'"'), equal(b'\\'))
    }
}

#[cfg(not(target_arch = "x86_64"))]
use portable_part_masks as part_masks;

#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn portable_part_masks(part: &Part) -> (u32, u32) {
    let (words, _) = part.as_chunks();
    let equal = |byte| {
        let masks = words.iter().map(|word| super::portable::equal_in(u64::from_le_bytes(*word), byte));
        masks.rev().fold(0, |mask, next| mask << 8 | next as u32)
    };
    (equal(b'"'), equal(b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The first quote with an even number of backslashes before it.
    fn wanted(bytes: &[u8]) -> Option<usize> {
        let mut is_escaped = false;
        bytes.iter().position(|byte| {
            let was_escaped = std::mem::replace(&mut is_escaped, false);
            is_escaped = *byte == b'\\' && !was_escaped;
            *byte == b'"' && !was_escaped
        })
    }

    #[test]
    fn a_string_ends_at_its_first_quote_that_is_not_escaped() {
        for len in 0..100 {
            for backslashes in 0..70 {
                let mut text = "x".repeat(len) + &"\\".repeat(backslashes) + "\"";
                assert_eq!(closing_quote(text.as_bytes()), wanted(text.as_bytes()), "{text}");
                text.push_str("yy\" and \"");
                assert_eq!(closing_quote(text.as_bytes()), wanted(text.as_bytes()), "{text}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_end_is_that_of_a_search_byte_by_byte(bytes in "[\"\\\\x\u{a2}]{0,200}") {
            let bytes = bytes.as_bytes();
            prop_assert_eq!(closing_quote(bytes), wanted(bytes));
            prop_assert_eq!(closing_quote_with(bytes, |block| masks_of(block, portable_part_masks)), wanted(bytes));
        }
    }
}
