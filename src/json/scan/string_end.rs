//! Finds the end of one string, 32 bytes at a time.
//!
//! For lines that were scanned before, when a few of their members are read again. Unlike a search
//! for quotes, it does not stop at each quote that is escaped, and code that agents write has many.

/// The bytes handled at a time.
type Chunk = [u8; 32];
type Half = [u8; 16];

/// Returns the offset of the first quote that no backslash escapes, or `None` if there is none.
///
/// `bytes` is what follows the opening quote of a string.
#[inline]
pub(in crate::json) fn closing_quote(bytes: &[u8]) -> Option<usize> {
    // Keys and names are short.
    if let Some(first) = bytes.first_chunk() {
        let (quote, backslash) = half_masks(first);
        // The bits below the lowest one.
        let before = quote.wrapping_sub(1) & !quote;
        if quote != 0 && backslash & before == 0 {
            return Some(quote.trailing_zeros() as usize);
        }
    }
    closing_quote_with(bytes, masks)
}

#[inline]
fn closing_quote_with(bytes: &[u8], masks: impl Fn(&Chunk) -> (u32, u32)) -> Option<usize> {
    let mut carry = 0;
    let (chunks, rest) = bytes.as_chunks();
    for (number, chunk) in chunks.iter().enumerate() {
        let quote = unescaped(masks(chunk), &mut carry);
        if quote != 0 {
            return Some(number * size_of::<Chunk>() + quote.trailing_zeros() as usize);
        }
    }
    let mut last = [0; size_of::<Chunk>()];
    last[..rest.len()].copy_from_slice(rest);
    let quote = unescaped(masks(&last), &mut carry);
    (quote != 0).then(|| bytes.len() - rest.len() + quote.trailing_zeros() as usize)
}

/// Returns the quotes that are not escaped, given all quotes and backslashes. The carry is 1 if the
/// first byte of the next chunk is escaped.
#[inline(always)]
fn unescaped((quote, backslash): (u32, u32), carry: &mut u32) -> u32 {
    if backslash | *carry == 0 {
        return quote;
    }
    // Whether the last byte escapes the next depends on a run of backslashes that ends there.
    if quote == 0 && backslash >> 31 == 0 {
        *carry = 0;
        return 0;
    }
    let (escaped, next) = super::escaped(u64::from(backslash), u64::from(*carry));
    // The chunk is the lower half of a block: what follows it is the first bit of the upper half.
    *carry = (escaped >> 32) as u32 & 1;
    debug_assert_eq!(next, 0, "the upper half is empty");
    quote & !(escaped as u32)
}

/// Returns the quotes and the backslashes of a chunk, one bit for each byte.
#[inline(always)]
fn masks(chunk: &Chunk) -> (u32, u32) {
    masks_of(chunk, half_masks)
}

#[inline(always)]
fn masks_of(chunk: &Chunk, half_masks: impl Fn(&Half) -> (u32, u32)) -> (u32, u32) {
    let (halves, _) = chunk.as_chunks();
    let ((quote, backslash), (more_quotes, more_backslashes)) =
        (half_masks(&halves[0]), half_masks(&halves[1]));
    (quote | more_quotes << 16, backslash | more_backslashes << 16)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn half_masks(half: &Half) -> (u32, u32) {
    use std::arch::x86_64::*;
    // SAFETY: each machine of this architecture has SSE2; the load reads the 16 bytes and needs no
    // alignment.
    unsafe {
        let half = _mm_loadu_si128(half.as_ptr().cast());
        let equal = |byte: u8| _mm_movemask_epi8(_mm_cmpeq_epi8(half, _mm_set1_epi8(byte as i8))) as u32;
        (equal(b'"'), equal(b'\\'))
    }
}

#[cfg(not(target_arch = "x86_64"))]
use portable_half_masks as half_masks;

#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn portable_half_masks(half: &Half) -> (u32, u32) {
    let (words, _) = half.as_chunks();
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
            prop_assert_eq!(closing_quote_with(bytes, |chunk| masks_of(chunk, portable_half_masks)), wanted(bytes));
        }
    }
}
