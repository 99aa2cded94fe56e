//! The NEON kernel.

use super::{Block, Inside, Kernel};
use std::arch::aarch64::*;

/// Makes masks with NEON, which every machine of this architecture has.
#[derive(Clone, Copy, Debug)]
pub(in crate::json) struct Neon;

type Quarters = [uint8x16_t; 4];

impl Kernel for Neon {
    #[inline(always)]
    fn inside(self, block: &Block) -> Inside {
        let quarters = load(block);
        // SAFETY: NEON is part of the target.
        let control = unsafe { quarters.map(|quarter| vcltq_u8(quarter, vdupq_n_u8(0x20))) };
        Inside { quote: equal(quarters, b'"'), backslash: equal(quarters, b'\\'), control: mask(control) }
    }

    #[inline(always)]
    fn structural(self, block: &Block) -> u64 {
        // Brackets and braces differ only in the bit 0x20. SAFETY: NEON is part of the target.
        let folded = unsafe { load(block).map(|quarter| vorrq_u8(quarter, vdupq_n_u8(0x20))) };
        equal(folded, b'{') | equal(folded, b'}') | equal(folded, b':') | equal(folded, b',')
    }

    #[inline(always)]
    fn plain_escapes(self, block: &Block) -> u64 {
        let quarters = load(block);
        b"\\/bfnrt".iter().fold(0, |found, byte| found | equal(quarters, *byte))
    }

    #[inline(always)]
    fn equal(self, block: &Block, byte: u8) -> u64 {
        equal(load(block), byte)
    }
}

#[inline(always)]
fn load(block: &Block) -> Quarters {
    let (sixteens, _) = block.as_chunks::<16>();
    // SAFETY: NEON is part of the target; each load reads the 16 bytes of its quarter.
    std::array::from_fn(|at| unsafe { vld1q_u8(sixteens[at].as_ptr()) })
}

#[inline(always)]
fn equal(quarters: Quarters, byte: u8) -> u64 {
    // SAFETY: NEON is part of the target.
    mask(unsafe { quarters.map(|quarter| vceqq_u8(quarter, vdupq_n_u8(byte))) })
}

/// Returns a bit for each byte that is set: each byte keeps one bit of its own, and neighbors are
/// added three times.
#[inline(always)]
fn mask([a, b, c, d]: Quarters) -> u64 {
    const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: NEON is part of the target; the load reads the 16 bytes of the table.
    unsafe {
        let bits = vld1q_u8(BITS.as_ptr());
        let low = vpaddq_u8(vandq_u8(a, bits), vandq_u8(b, bits));
        let high = vpaddq_u8(vandq_u8(c, bits), vandq_u8(d, bits));
        let all = vpaddq_u8(low, high);
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(all, all)))
    }
}
