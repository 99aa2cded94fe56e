//! The AVX-512 kernel.

use super::starts::{self, Starts};
use super::{Block, Inside, Kernel, Marks, avx2};
use std::arch::x86_64::*;

/// Makes masks with AVX-512, whose comparisons yield masks directly, and marks by compressing the
/// positions of the set bits.
///
/// A value exists only if the machine was found to support all of the needed features, and those of
/// [`avx2::Avx2`]: the private field ensures this, and all `unsafe` code of this module relies on
/// it.
#[derive(Clone, Copy, Debug)]
pub(in crate::json) struct Avx512(avx2::Avx2);

impl Avx512 {
    pub(super) fn detect() -> Option<Avx512> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2");
        avx2::Avx2::detect().filter(|_| has).map(Avx512)
    }

    /// [`super::scan`], compiled for this kernel.
    pub(super) fn scan(self, lines: &[u8], marks: &mut Marks) {
        // SAFETY: the machine has the features, otherwise there would be no `Avx512`.
        unsafe { scan(self, lines, marks) }
    }

    /// [`starts::next`], compiled for this kernel.
    pub(super) fn next_start(self, starts: &Starts, bytes: &[u8], from: usize) -> Option<(usize, u64)> {
        // SAFETY: the machine has the features, otherwise there would be no `Avx512`.
        unsafe { next_start(self, starts, bytes, from) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,pclmulqdq,bmi1,bmi2,lzcnt,popcnt")]
fn scan(kernel: Avx512, lines: &[u8], marks: &mut Marks) {
    super::scan(kernel, lines, marks)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,pclmulqdq,bmi1,bmi2,lzcnt,popcnt")]
fn next_start(kernel: Avx512, starts: &Starts, bytes: &[u8], from: usize) -> Option<(usize, u64)> {
    starts::next(kernel, starts, bytes, from)
}

impl Kernel for Avx512 {
    #[inline(always)]
    fn inside(self, block: &Block) -> Inside {
        // SAFETY: the machine has AVX-512, otherwise there would be no `Avx512`.
        unsafe {
            let bytes = load(block);
            Inside {
                quote: _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'"' as i8)),
                backslash: _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'\\' as i8)),
                control: _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20)),
            }
        }
    }

    #[inline(always)]
    fn structural(self, block: &Block) -> u64 {
        // SAFETY: the machine has AVX-512, otherwise there would be no `Avx512`.
        unsafe {
            let bytes = load(block);
            // Brackets and braces differ only in the bit 0x20.
            let folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
            of_class(&avx2::STRUCTURALS, bytes, folded)
        }
    }

    #[inline(always)]
    fn plain_escapes(self, block: &Block) -> u64 {
        // SAFETY: the machine has AVX-512, otherwise there would be no `Avx512`.
        unsafe {
            let bytes = load(block);
            of_class(&avx2::MOST_ESCAPES, bytes, bytes)
                | _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'r' as i8))
        }
    }

    #[inline(always)]
    fn equal(self, block: &Block, byte: u8) -> u64 {
        // SAFETY: the machine has AVX-512, otherwise there would be no `Avx512`.
        unsafe { _mm512_cmpeq_epi8_mask(load(block), _mm512_set1_epi8(byte as i8)) }
    }

    #[inline(always)]
    fn marks(self, bits: u64, block: &Block, at: usize, out: &mut [u32; 64]) {
        // SAFETY: the machine has AVX-512, otherwise there would be no `Avx512`.
        unsafe {
            let mut places = _mm512_maskz_compress_epi8(bits, load(&PLACES));
            let mut left = bits.count_ones();
            for out in out.as_chunks_mut::<16>().0 {
                store(out, places, block, at);
                if left <= 16 {
                    break;
                }
                left -= 16;
                // Move the next sixteen to the front.
                places = _mm512_alignr_epi32(places, places, 4);
            }
        }
    }

    #[inline(always)]
    fn parity(self, bits: u64) -> u64 {
        self.0.parity(bits)
    }
}

/// The positions in a block.
const PLACES: Block = {
    let mut places = [0; 64];
    let mut at = 0;
    while at < 64 {
        places[at] = at as u8;
        at += 1;
    }
    places
};

/// Loads the bytes of a block.
///
/// # Safety
///
/// The machine has AVX-512.
#[inline(always)]
unsafe fn load(block: &Block) -> __m512i {
    // SAFETY: AVX-512 is available; the load reads the 64 bytes of the block and needs no
    // alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

/// Writes the marks of the first sixteen positions.
///
/// # Safety
///
/// The machine has AVX-512.
#[inline(always)]
unsafe fn store(out: &mut [u32; 16], places: __m512i, block: &Block, at: usize) {
    // SAFETY: AVX-512 is available; the store writes the 64 bytes that sixteen marks take and needs
    // no alignment.
    unsafe {
        let places = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places));
        // The byte at each position, looked up directly into its final slot: the highest of the
        // four bytes.
        let highest = 0x8888_8888_8888_8888;
        let bytes = _mm512_maskz_permutexvar_epi8(highest, _mm512_slli_epi32(places, 24), load(block));
        let at = _mm512_add_epi32(places, _mm512_set1_epi32(at as i32));
        _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_or_si512(bytes, at));
    }
}

/// Returns a bit for each byte of `folded` that equals the one character of the class that has the
/// same low four bits as the byte in `bytes`.
///
/// # Safety
///
/// The machine has AVX-512.
#[inline(always)]
unsafe fn of_class(table: &[u8; 16], bytes: __m512i, folded: __m512i) -> u64 {
    // SAFETY: AVX-512 is available; the load reads the 16 bytes of the table and needs no
    // alignment.
    unsafe {
        let table = _mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast()));
        _mm512_cmpeq_epi8_mask(folded, _mm512_shuffle_epi8(table, bytes))
    }
}
