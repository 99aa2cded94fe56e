//! The portable kernel.

use super::{Block, Inside, Kernel};

/// Makes masks with arithmetic on words of eight bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

const ONES: u64 = 0x0101_0101_0101_0101;
const LOW: u64 = 0x7F * ONES;
const HIGH: u64 = 0x80 * ONES;

type Words = [u64; 8];

impl Kernel for Portable {
    #[inline(always)]
    fn inside(self, block: &Block) -> Inside {
        let words = load_words(block);
        Inside {
            quote: equal(words, b'"'),
            backslash: equal(words, b'\\'),
            control: equal(words.map(|word| word & (0xE0 * ONES)), 0),
        }
    }

    #[inline(always)]
    fn structural(self, block: &Block) -> u64 {
        // Brackets and braces differ only in the bit 0x20.
        let folded = load_words(block).map(|word| word | (0x20 * ONES));
        equal(folded, b'{') | equal(folded, b'}') | equal(folded, b':') | equal(folded, b',')
    }

    #[inline(always)]
    fn plain_escapes(self, block: &Block) -> u64 {
        let words = load_words(block);
        b"\\/bfnrt".iter().fold(0, |found, byte| found | equal(words, *byte))
    }

    #[inline(always)]
    fn equal(self, block: &Block, byte: u8) -> u64 {
        equal(load_words(block), byte)
    }
}

fn load_words(block: &Block) -> Words {
    let (eights, _) = block.as_chunks::<8>();
    std::array::from_fn(|at| u64::from_le_bytes(eights[at]))
}

/// Returns a bit for each byte that equals `byte`.
#[inline(always)]
fn equal(words: Words, byte: u8) -> u64 {
    let mut mask = 0;
    for (at, word) in words.into_iter().enumerate() {
        mask |= equal_in(word, byte) << (at * 8);
    }
    mask
}

/// Returns a bit for each of the eight bytes of a word that equals `byte`.
#[inline(always)]
pub(super) fn equal_in(word: u64, byte: u8) -> u64 {
    let differs = word ^ (u64::from(byte) * ONES);
    // The high bit of each byte that is zero; no carry passes from one byte to the next.
    let zero = !((differs & LOW).wrapping_add(LOW) | differs | LOW);
    // The eight high bits, moved together.
    ((zero & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
