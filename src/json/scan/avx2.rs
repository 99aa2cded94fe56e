//! The AVX2 kernel.

use super::starts::{self, Probe, Starts, Window};
use super::{Block, Inside, Kernel, Marks};
use std::arch::x86_64::*;

/// Makes masks with AVX2, and uses carry-less multiplication to find the bytes between quotes.
///
/// A value exists only if the machine was found to support both: the private field ensures this,
/// and all `unsafe` code of this module relies on it.
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
        // SAFETY: the machine has the features, otherwise there would be no `Avx2`.
        unsafe { scan(self, lines, marks) }
    }

    /// [`starts::next`], compiled for this kernel.
    pub(super) fn next_start(self, starts: &Starts, bytes: &[u8], from: usize) -> Option<(usize, u64)> {
        // SAFETY: the machine has the features, otherwise there would be no `Avx2`.
        unsafe { next_start(self, starts, bytes, from) }
    }
}

#[target_feature(enable = "avx2,pclmulqdq,bmi1,bmi2,lzcnt,popcnt")]
fn scan(kernel: Avx2, lines: &[u8], marks: &mut Marks) {
    super::scan(kernel, lines, marks)
}

#[target_feature(enable = "avx2,pclmulqdq,bmi1,bmi2,lzcnt,popcnt")]
fn next_start(kernel: Avx2, starts: &Starts, bytes: &[u8], from: usize) -> Option<(usize, u64)> {
    starts::next(kernel, starts, bytes, from)
}

impl Kernel for Avx2 {
    #[inline(always)]
    fn inside(self, block: &Block) -> Inside {
        // SAFETY: the machine has AVX2, otherwise there would be no `Avx2`.
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
        // SAFETY: the machine has AVX2, otherwise there would be no `Avx2`.
        unsafe {
            let (low, high) = load(block);
            // Brackets and braces differ only in the bit 0x20.
            let bit = _mm256_set1_epi8(0x20);
            mask(
                of_class(&STRUCTURALS, low, _mm256_or_si256(low, bit)),
                of_class(&STRUCTURALS, high, _mm256_or_si256(high, bit)),
            )
        }
    }

    #[inline(always)]
    fn plain_escapes(self, block: &Block) -> u64 {
        // SAFETY: the machine has AVX2, otherwise there would be no `Avx2`.
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
        // SAFETY: the machine has AVX2, otherwise there would be no `Avx2`.
        unsafe {
            let (low, high) = load(block);
            equal(low, high, byte)
        }
    }

    #[inline(always)]
    fn starts<const TEXT: bool, const FOLD: bool>(
        self,
        window: &Window,
        [first, second, skipped]: [Probe; 3],
        text: [Probe; 2],
    ) -> u64 {
        // SAFETY: the machine has AVX2, otherwise there would be no `Avx2`.
        unsafe {
            let (first, second) = (probed::<false>(window, first), probed::<false>(window, second));
            let skipped = probed::<false>(window, skipped);
            let mut low = _mm256_andnot_si256(skipped.0, _mm256_and_si256(first.0, second.0));
            let mut high = _mm256_andnot_si256(skipped.1, _mm256_and_si256(first.1, second.1));
            if TEXT {
                let (first, second) = (probed::<FOLD>(window, text[0]), probed::<FOLD>(window, text[1]));
                low = _mm256_or_si256(low, _mm256_and_si256(first.0, second.0));
                high = _mm256_or_si256(high, _mm256_and_si256(first.1, second.1));
            }
            mask(low, high)
        }
    }

    #[inline(always)]
    fn parity(self, bits: u64) -> u64 {
        // SAFETY: the machine has carry-less multiplication, otherwise there would be no `Avx2`.
        unsafe {
            let bits = _mm_set_epi64x(0, bits as i64);
            _mm_cvtsi128_si64(_mm_clmulepi64_si128(bits, _mm_set1_epi8(-1), 0)) as u64
        }
    }
}

/// The structural characters with the bit 0x20 set, which turns brackets into braces.
pub(super) const STRUCTURALS: [u8; 16] = table(&[(0xA, b':'), (0xB, b'{'), (0xC, b','), (0xD, b'}')]);

/// The characters that may follow a backslash, except quotes, `u`, and `r`, which shares its low
/// four bits with `b`.
pub(super) const MOST_ESCAPES: [u8; 16] =
    table(&[(0x2, b'b'), (0x4, b't'), (0x6, b'f'), (0xC, b'\\'), (0xE, b'n'), (0xF, b'/')]);

/// Returns the characters of a class, indexed by their low four bits. The other slots contain a
/// value that no byte with those low bits equals: a shuffle yields 0 for bytes of 0x80 and more,
/// and slot 0 is otherwise used only for bytes whose low four bits are 0.
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

// No closures below, and no functions that take them: a closure that is not inlined would be
// compiled without AVX2, and each instruction would become a call.

/// Compares each byte of `folded` with the one character of the class that has the same low four
/// bits as the byte in `bytes`.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn of_class(table: &[u8; 16], bytes: __m256i, folded: __m256i) -> __m256i {
    // SAFETY: AVX2 is available; the load reads the 16 bytes of the table and needs no alignment.
    unsafe {
        let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
        _mm256_cmpeq_epi8(folded, _mm256_shuffle_epi8(table, bytes))
    }
}

/// Returns the two halves of a block.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn load(block: &Block) -> (__m256i, __m256i) {
    let (low, high) = block.split_at(32);
    // SAFETY: AVX2 is available; each load reads the 32 bytes of its half and needs no alignment.
    unsafe { (_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast())) }
}

/// Returns the beginnings behind which a byte is, as the two halves of a comparison.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn probed<const FOLD: bool>(window: &Window, probe: Probe) -> (__m256i, __m256i) {
    // SAFETY: AVX2 is available.
    unsafe {
        let (mut low, mut high) = load(probe.block(window));
        if FOLD {
            let bit = _mm256_set1_epi8(probe.bit as i8);
            (low, high) = (_mm256_or_si256(low, bit), _mm256_or_si256(high, bit));
        }
        let byte = _mm256_set1_epi8(probe.byte as i8);
        (_mm256_cmpeq_epi8(low, byte), _mm256_cmpeq_epi8(high, byte))
    }
}

/// Returns a bit for each byte that equals `byte`.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn equal(low: __m256i, high: __m256i, byte: u8) -> u64 {
    // SAFETY: AVX2 is available.
    unsafe {
        let byte = _mm256_set1_epi8(byte as i8);
        mask(_mm256_cmpeq_epi8(low, byte), _mm256_cmpeq_epi8(high, byte))
    }
}

/// Returns the high bit of each byte.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn mask(low: __m256i, high: __m256i) -> u64 {
    // SAFETY: AVX2 is available.
    let (low, high) = unsafe { (_mm256_movemask_epi8(low) as u32, _mm256_movemask_epi8(high) as u32) };
    u64::from(low) | u64::from(high) << 32
}
