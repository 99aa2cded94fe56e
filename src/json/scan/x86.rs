use super::{Block, Escapes, Inside, Kernel, Outside};
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
    pub(super) fn scan(self, lines: &[u8], positions: &mut [u32], suspects: &mut Vec<u32>) -> usize {
        // SAFETY: the machine has the features, else there were no `Avx2`.
        unsafe { scan(self, lines, positions, suspects) }
    }
}

#[target_feature(enable = "avx2,pclmulqdq,bmi1,bmi2,lzcnt,popcnt")]
fn scan(kernel: Avx2, lines: &[u8], positions: &mut [u32], suspects: &mut Vec<u32>) -> usize {
    super::scan(kernel, lines, positions, suspects)
}

impl Kernel for Avx2 {
    #[inline(always)]
    fn inside(self, block: &Block) -> Inside {
        // SAFETY: the machine has AVX2, else there were no `Avx2`.
        unsafe {
            let halves = load(block);
            let most = _mm256_set1_epi8(0x1F);
            Inside {
                quote: equal(halves, b'"'),
                backslash: equal(halves, b'\\'),
                control: mask(halves.map(|half| _mm256_cmpeq_epi8(_mm256_min_epu8(half, most), half))),
            }
        }
    }

    #[inline(always)]
    fn outside(self, block: &Block) -> Outside {
        // SAFETY: the machine has AVX2, else there were no `Avx2`.
        unsafe {
            let halves = load(block);
            // Each byte is compared with the one character of its class that has the same low four bits.
            let spaces = twice(table(&[(0x0, b' '), (0x9, b'\t'), (0xA, b'\n'), (0xD, b'\r')]));
            let structurals = twice(table(&[(0xA, b':'), (0xB, b'{'), (0xC, b','), (0xD, b'}')]));
            let bit = _mm256_set1_epi8(0x20);
            Outside {
                structural: mask(halves.map(|half| {
                    _mm256_cmpeq_epi8(_mm256_or_si256(half, bit), _mm256_shuffle_epi8(structurals, half))
                })),
                space: mask(halves.map(|half| _mm256_cmpeq_epi8(half, _mm256_shuffle_epi8(spaces, half)))),
                newline: equal(halves, b'\n'),
            }
        }
    }

    #[inline(always)]
    fn escapes(self, block: &Block) -> Escapes {
        // SAFETY: the machine has AVX2, else there were no `Avx2`.
        unsafe {
            let halves = load(block);
            // Two characters share their low four bits with others, and are compared by themselves.
            let known = twice(table(&[
                (0x2, b'b'),
                (0x4, b't'),
                (0x5, b'u'),
                (0x6, b'f'),
                (0xC, b'\\'),
                (0xE, b'n'),
                (0xF, b'/'),
            ]));
            let most = mask(halves.map(|half| _mm256_cmpeq_epi8(half, _mm256_shuffle_epi8(known, half))));
            Escapes { known: most | equal(halves, b'"') | equal(halves, b'r'), unicode: equal(halves, b'u') }
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

/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn twice(table: [u8; 16]) -> __m256i {
    // SAFETY: AVX2 is there; the load reads the 16 bytes of the table, and needs no alignment.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast())) }
}

/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn load(block: &Block) -> [__m256i; 2] {
    // SAFETY: AVX2 is there; the loads read the 32 bytes of each half of the block, and need no alignment.
    unsafe { [_mm256_loadu_si256(block.as_ptr().cast()), _mm256_loadu_si256(block[32..].as_ptr().cast())] }
}

/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn equal(halves: [__m256i; 2], byte: u8) -> u64 {
    // SAFETY: AVX2 is there.
    unsafe {
        let byte = _mm256_set1_epi8(byte as i8);
        mask(halves.map(|half| _mm256_cmpeq_epi8(half, byte)))
    }
}

/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn mask(halves: [__m256i; 2]) -> u64 {
    // SAFETY: AVX2 is there.
    let [low, high] = unsafe { halves.map(|half| _mm256_movemask_epi8(half) as u32) };
    u64::from(low) | u64::from(high) << 32
}
