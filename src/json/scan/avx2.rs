use super::{Block, Inside, Kernel, Marks};
use std::arch::x86_64::*;

/// Masks by AVX2, and carry-less multiplication for what quotes enclose.
///
/// One exists only where the machine was found to have both: the private field sees to that, and all `unsafe` code
/// of this module rests on it.
#[derive(Clone, Copy, Debug)]
pub(in crate::json) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Avx2> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        has.then_some(Avx2(()))
    }

    /// [`super::scan`], compiled for this kernel.
    pub(super) fn scan(self, lines: &[u8], marks: &mut Marks) {
        // SAFETY: the machine has the features, else there were no `Avx2`.
        unsafe { scan(self, lines, marks) }
    }
}

#[target_feature(enable = "avx2,pclmulqdq,bmi1,bmi2,lzcnt,popcnt")]
fn scan(kernel: Avx2, lines: &[u8], marks: &mut Marks) {
    super::scan(kernel, lines, marks)
}

impl Kernel for Avx2 {
    #[inline(always)]
    fn inside(self, block: &Block) -> Inside {
        // SAFETY: the machine has AVX2, else there were no `Avx2`.
        unsafe {
            let (low, high) = load(block);
            let most = _mm256_set1_epi8(0x1F);
            Inside {
                quote: equal(low, high, b'"'),
                backslash: equal(low, high, b'\\'),
                control: mask(
                    _mm256_cmpeq_epi8(_mm256_min_epu8(low, most), low),
                    _mm256_cmpeq_epi8(_mm256_min_epu8(high, most), high),
                ),
            }
        }
    }

    #[inline(always)]
    fn structural(self, block: &Block) -> u64 {
        // SAFETY: the machine has AVX2, else there were no `Avx2`.
        unsafe {
            let (low, high) = load(block);
            // Brackets and braces differ in the bit 0x20 alone.
            let bit = _mm256_set1_epi8(0x20);
            mask(
                of_class(&STRUCTURALS, low, _mm256_or_si256(low, bit)),
                of_class(&STRUCTURALS, high, _mm256_or_si256(high, bit)),
            )
        }
    }

    #[inline(always)]
    fn plain_escapes(self, block: &Block) -> u64 {
        // SAFETY: the machine has AVX2, else there were no `Avx2`.
        unsafe {
            let (low, high) = load(block);
            let r = _mm256_set1_epi8(b'r' as i8);
            mask(
                _mm256_or_si256(of_class(&MOST_ESCAPES, low, low), _mm256_cmpeq_epi8(low, r)),
                _mm256_or_si256(of_class(&MOST_ESCAPES, high, high), _mm256_cmpeq_epi8(high, r)),
            )
        }
    }

    #[inline(always)]
    fn equal(self, block: &Block, byte: u8) -> u64 {
        // SAFETY: the machine has AVX2, else there were no `Avx2`.
        unsafe {
            let (low, high) = load(block);
            equal(low, high, byte)
        }
    }

    #[inline(always)]
    fn parity(self, bits: u64) -> u64 {
        // SAFETY: the machine has carry-less multiplication, else there were no `Avx2`.
        unsafe {
            let bits = _mm_set_epi64x(0, bits as i64);
            _mm_cvtsi128_si64(_mm_clmulepi64_si128(bits, _mm_set1_epi8(-1), 0)) as u64
        }
    }
}

/// With the bit 0x20 set: brackets become braces.
pub(super) const STRUCTURALS: [u8; 16] = table(&[(0xA, b':'), (0xB, b'{'), (0xC, b','), (0xD, b'}')]);

/// What may stand behind a backslash, but for quotes, `u`, and `r`, which shares its low four bits with `b`.
pub(super) const MOST_ESCAPES: [u8; 16] =
    table(&[(0x2, b'b'), (0x4, b't'), (0x6, b'f'), (0xC, b'\\'), (0xE, b'n'), (0xF, b'/')]);

/// By their low four bits, the characters of a class. Elsewhere stands what no byte there is equal to: a shuffle
/// gives 0 for bytes of 0x80 and more, and place 0 is never looked at but for bytes that end in 0.
const fn table(class: &[(usize, u8)]) -> [u8; 16] {
    let mut table = [0; 16];
    table[0] = 0xFF;
    let mut at = 0;
    while at < class.len() {
        table[class[at].0] = class[at].1;
        at += 1;
    }
    table
}

// No closures below, nor functions that take some: one that is not inlined would be compiled without AVX2, and
// each instruction would be a call.

/// Compares each byte of `folded` with the one character of a class that has the low four bits of `bytes`.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn of_class(table: &[u8; 16], bytes: __m256i, folded: __m256i) -> __m256i {
    // SAFETY: AVX2 is there; the load reads the 16 bytes of the table, and needs no alignment.
    unsafe {
        let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
        _mm256_cmpeq_epi8(folded, _mm256_shuffle_epi8(table, bytes))
    }
}

/// The two halves of a block.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn load(block: &Block) -> (__m256i, __m256i) {
    let (low, high) = block.split_at(32);
    // SAFETY: AVX2 is there; each load reads the 32 bytes of its half, and needs no alignment.
    unsafe { (_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast())) }
}

/// A bit for each byte that is `byte`.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn equal(low: __m256i, high: __m256i, byte: u8) -> u64 {
    // SAFETY: AVX2 is there.
    unsafe {
        let byte = _mm256_set1_epi8(byte as i8);
        mask(_mm256_cmpeq_epi8(low, byte), _mm256_cmpeq_epi8(high, byte))
    }
}

/// The high bit of each byte.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn mask(low: __m256i, high: __m256i) -> u64 {
    // SAFETY: AVX2 is there.
    let (low, high) = unsafe { (_mm256_movemask_epi8(low) as u32, _mm256_movemask_epi8(high) as u32) };
    u64::from(low) | u64::from(high) << 32
}
