use super::{Block, Inside, Kernel, Marks, avx2};
use std::arch::x86_64::*;

/// Masks by AVX-512, which gives them as such, and marks by packing the places that have a bit.
///
/// One exists only where the machine was found to have all of it, and what [`avx2::Avx2`] needs: the private field sees to
/// that, and all `unsafe` code of this module rests on it.
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
        // SAFETY: the machine has the features, else there were no `Avx512`.
        unsafe { scan(self, lines, marks) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,pclmulqdq,bmi1,bmi2,lzcnt,popcnt")]
fn scan(kernel: Avx512, lines: &[u8], marks: &mut Marks) {
    super::scan(kernel, lines, marks)
}

impl Kernel for Avx512 {
    #[inline(always)]
    fn inside(self, block: &Block) -> Inside {
        // SAFETY: the machine has AVX-512, else there were no `Avx512`.
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
        // SAFETY: the machine has AVX-512, else there were no `Avx512`.
        unsafe {
            let bytes = load(block);
            // Brackets and braces differ in the bit 0x20 alone.
            let folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
            of_class(&avx2::STRUCTURALS, bytes, folded)
        }
    }

    #[inline(always)]
    fn plain_escapes(self, block: &Block) -> u64 {
        // SAFETY: the machine has AVX-512, else there were no `Avx512`.
        unsafe {
            let bytes = load(block);
            of_class(&avx2::MOST_ESCAPES, bytes, bytes)
                | _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'r' as i8))
        }
    }

    #[inline(always)]
    fn equal(self, block: &Block, byte: u8) -> u64 {
        // SAFETY: the machine has AVX-512, else there were no `Avx512`.
        unsafe { _mm512_cmpeq_epi8_mask(load(block), _mm512_set1_epi8(byte as i8)) }
    }

    #[inline(always)]
    fn marks(self, bits: u64, block: &Block, at: usize, out: &mut [u32; 64]) {
        // SAFETY: the machine has AVX-512, else there were no `Avx512`.
        unsafe {
            let mut places = _mm512_maskz_compress_epi8(bits, load(&PLACES));
            let mut left = bits.count_ones();
            for out in out.as_chunks_mut::<16>().0 {
                store(out, places, block, at);
                if left <= 16 {
                    break;
                }
                left -= 16;
                // The next sixteen come to the front.
                places = _mm512_alignr_epi32(places, places, 4);
            }
        }
    }

    #[inline(always)]
    fn parity(self, bits: u64) -> u64 {
        self.0.parity(bits)
    }
}

/// The places of a block.
const PLACES: Block = {
    let mut places = [0; 64];
    let mut at = 0;
    while at < 64 {
        places[at] = at as u8;
        at += 1;
    }
    places
};

/// The bytes of a block.
///
/// # Safety
///
/// The machine has AVX-512.
#[inline(always)]
unsafe fn load(block: &Block) -> __m512i {
    // SAFETY: AVX-512 is there; the load reads the 64 bytes of the block, and needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

/// Writes the marks of the first sixteen places.
///
/// # Safety
///
/// The machine has AVX-512.
#[inline(always)]
unsafe fn store(out: &mut [u32; 16], places: __m512i, block: &Block, at: usize) {
    // SAFETY: AVX-512 is there; the store writes the 64 bytes that sixteen marks take, and needs no alignment.
    unsafe {
        let places = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places));
        // The byte at each place, looked up where it belongs: the highest of the four.
        let highest = 0x8888_8888_8888_8888;
        let bytes = _mm512_maskz_permutexvar_epi8(highest, _mm512_slli_epi32(places, 24), load(block));
        let at = _mm512_add_epi32(places, _mm512_set1_epi32(at as i32));
        _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_or_si512(bytes, at));
    }
}

/// A bit for each byte that, as `folded`, is the one character of a class that has the low four bits of `bytes`.
///
/// # Safety
///
/// The machine has AVX-512.
#[inline(always)]
unsafe fn of_class(table: &[u8; 16], bytes: __m512i, folded: __m512i) -> u64 {
    // SAFETY: AVX-512 is there; the load reads the 16 bytes of the table, and needs no alignment.
    unsafe {
        let table = _mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast()));
        _mm512_cmpeq_epi8_mask(folded, _mm512_shuffle_epi8(table, bytes))
    }
}
