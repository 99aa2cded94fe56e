//! Sixteen bytes of a string: which of them are escapes, or must be escaped.

/// Returns whether a byte must be escaped in a string.
#[inline]
pub(in crate::json) fn is_sign(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Returns one bit for each of sixteen bytes that must be escaped in a string.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(in crate::json) fn signs(half: &[u8; 16]) -> u32 {
    use std::arch::x86_64::*;
    // SAFETY: each machine of this architecture has SSE2; the load reads the 16 bytes and needs no alignment.
    unsafe {
        let half = _mm_loadu_si128(half.as_ptr().cast());
        let equal = |byte: u8| _mm_cmpeq_epi8(half, _mm_set1_epi8(byte as i8));
        let control = _mm_cmpeq_epi8(_mm_min_epu8(half, _mm_set1_epi8(0x1F)), half);
        _mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(equal(b'"'), equal(b'\\')))) as u32
    }
}

/// Returns one bit for each of sixteen bytes that is a backslash.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(in crate::json) fn backslashes(half: &[u8; 16]) -> u32 {
    use std::arch::x86_64::*;
    // SAFETY: as above.
    unsafe {
        let half = _mm_loadu_si128(half.as_ptr().cast());
        _mm_movemask_epi8(_mm_cmpeq_epi8(half, _mm_set1_epi8(b'\\' as i8))) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(in crate::json) use {portable_backslashes as backslashes, portable_signs as signs};

#[cfg(any(test, not(target_arch = "x86_64")))]
pub(in crate::json) fn portable_signs(half: &[u8; 16]) -> u32 {
    half.iter().rev().fold(0, |bits, byte| bits << 1 | u32::from(is_sign(*byte)))
}

#[cfg(any(test, not(target_arch = "x86_64")))]
pub(in crate::json) fn portable_backslashes(half: &[u8; 16]) -> u32 {
    half.iter().rev().fold(0, |bits, byte| bits << 1 | u32::from(*byte == b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_a_search_byte_by_byte() {
        for byte in 0..=u8::MAX {
            for place in 0..16 {
                for around in [b'x', b'\\', b'"', 0, 0xFF] {
                    let mut half = [around; 16];
                    half[place] = byte;
                    assert_eq!(signs(&half), portable_signs(&half), "{half:?}");
                    assert_eq!(backslashes(&half), portable_backslashes(&half), "{half:?}");
                }
            }
        }
    }
}
