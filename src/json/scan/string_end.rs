//! Finds the end of one string, 32 bytes at a time.
//!
//! For lines that were scanned before, when a few of their members are read again. Unlike a search
//! for quotes, it does not stop at each quote that is escaped, and code that agents write has many.

/// The bytes handled at a time.
type Chunk = [u8; 32];

/// Returns the offset of the first quote that no backslash escapes, or `None` if there is none.
///
/// `bytes` is what follows the opening quote of a string.
#[inline]
pub(in crate::json) fn closing_quote(bytes: &[u8]) -> Option<usize> {
    closing_quote_with(bytes, masks)
}

#[inline(always)]
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
    let (escaped, next) = super::escaped(u64::from(backslash), u64::from(*carry));
    // The chunk is the lower half of a block: what follows it is the first bit of the upper half.
    *carry = (escaped >> 32) as u32 & 1;
    debug_assert_eq!(next, 0, "the upper half is empty");
    quote & !(escaped as u32)
}

/// Returns the quotes and the backslashes of a chunk, one bit for each byte.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn masks(chunk: &Chunk) -> (u32, u32) {
    use std::arch::x86_64::*;
    let (low, high) = chunk.split_at(16);
    // SAFETY: each machine of this architecture has SSE2; each load reads the 16 bytes of its half
    // and needs no alignment.
    unsafe {
        let (low, high) = (_mm_loadu_si128(low.as_ptr().cast()), _mm_loadu_si128(high.as_ptr().cast()));
        let equal = |byte: u8| {
            let byte = _mm_set1_epi8(byte as i8);
            let of = |half| _mm_movemask_epi8(_mm_cmpeq_epi8(half, byte)) as u32;
            of(low) | of(high) << 16
        };
        (equal(b'"'), equal(b'\\'))
    }
}

/// Returns the quotes and the backslashes of a chunk, one bit for each byte.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn masks(chunk: &Chunk) -> (u32, u32) {
    portable_masks(chunk)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn portable_masks(chunk: &Chunk) -> (u32, u32) {
    let (words, _) = chunk.as_chunks();
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
            prop_assert_eq!(closing_quote_with(bytes, portable_masks), wanted(bytes));
        }
    }
}
