//! A perfect hash table for the wanted keys, computed at compile time.

use super::fields::Stretch;
use super::string;

/// A few keys and their meanings, found by one multiplication and one comparison.
///
/// The first sixteen bytes of a key choose a slot. The multiplier is chosen so that no two keys
/// share a slot.
pub(super) struct Keys<T: 'static> {
    multiplier: u64,
    slots: [Slot<T>; SLOTS],
    names: [&'static [u8]; SLOTS],
}

const SLOTS: usize = 128;

#[derive(Clone, Copy)]
struct Slot<T> {
    start: Start,
    meaning: Option<T>,
}

/// The first sixteen bytes of a key, padded with zeros. No key contains a zero byte.
type Start = [u64; 2];

/// The mask that keeps the first bytes of a start, by length.
const MASKS: [Start; 16] = {
    let mut masks = [[0; 2]; 16];
    let mut len = 1;
    while len < 16 {
        let all = u128::MAX >> (128 - len * 8);
        masks[len] = [all as u64, (all >> 64) as u64];
        len += 1;
    }
    masks
};

impl<T: Copy> Keys<T> {
    /// Searches for a multiplier; compilation fails if there is none, e.g. if two keys are equal.
    pub(super) const fn new(keys: &[(&'static str, T)]) -> Keys<T> {
        let mut multiplier = 0x9E37_79B9_7F4A_7C15u64;
        'next: loop {
            multiplier =
                multiplier.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut slots = [Slot { start: [0; 2], meaning: None }; SLOTS];
            let mut names: [&[u8]; SLOTS] = [b""; SLOTS];
            let mut at = 0;
            while at < keys.len() {
                let (name, meaning) = keys[at];
                let start = start(name.as_bytes());
                let place = slot_of(multiplier, start);
                if slots[place].meaning.is_some() {
                    continue 'next;
                }
                slots[place] = Slot { start, meaning: Some(meaning) };
                names[place] = name.as_bytes();
                at += 1;
            }
            return Keys { multiplier, slots, names };
        }
    }

    /// Returns the meaning of a key, given its range between the quotes.
    #[inline(always)]
    pub(super) fn get_at(&self, bytes: &[u8], key: Stretch) -> Option<T> {
        let (from, to) = (key.from as usize, key.to as usize);
        if let (Some(mask), Some(sixteen)) = (MASKS.get(to - from), bytes[from..].first_chunk::<16>()) {
            let [low, high] = halves(sixteen);
            let start = [low & mask[0], high & mask[1]];
            let slot = &self.slots[slot_of(self.multiplier, start)];
            if slot.start == start {
                return slot.meaning;
            }
            // Most of the unwanted keys contain no backslash.
            if !string::holds(start[0], b'\\') && !string::holds(start[1], b'\\') {
                return None;
            }
        }
        self.other(&bytes[from..to])
    }

    /// Looks up a key that is long, contains escapes, or is near the end of the bytes.
    #[inline(never)]
    fn other(&self, raw: &[u8]) -> Option<T> {
        if string::is_escaped(raw) { self.get(string::decode(raw).as_bytes()) } else { self.get(raw) }
    }

    /// Returns the meaning of a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<T> {
        let place = slot_of(self.multiplier, start(key));
        self.slots[place].meaning.filter(|_| self.names[place] == key)
    }
}

#[inline(always)]
const fn slot_of(multiplier: u64, [low, high]: Start) -> usize {
    ((low ^ high).wrapping_mul(multiplier) >> (64 - SLOTS.trailing_zeros())) as usize
}

#[inline(always)]
fn halves(sixteen: &[u8; 16]) -> Start {
    let word = u128::from_le_bytes(*sixteen);
    [word as u64, (word >> 64) as u64]
}

const fn start(key: &[u8]) -> Start {
    let (mut start, mut at) = ([0; 2], 0);
    while at < key.len() && at < 16 {
        start[at / 8] |= (key[at] as u64) << (at % 8 * 8);
        at += 1;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: Keys<u8> = Keys::new(&[("", 0), ("a", 1), ("id", 2), ("parentId", 3), ("parentIdx", 4)]);

    #[test]
    #[rustfmt::skip] // a table
    fn a_key_is_found_however_it_is_spelled() {
        let check = |raw: &str, meaning: Option<u8>| {
            // At the end of the bytes, and followed by others.
            for text in [format!("\"{raw}"), format!("\"{raw}\":\"id and so on\"")] {
                assert_eq!(KEYS.get_at(text.as_bytes(), Stretch { from: 1, to: 1 + raw.len() as u32 }), meaning, "{text}");
            }
        };
        check("",                                    Some(0));
        check("a",                                   Some(1));
        check("id",                                  Some(2));
        check(r"i\u0064",                            Some(2));
        check("parentId",                            Some(3));
        check("parentIdx",                           Some(4));
        check(r"\u0070arentI\u0064x",                Some(4));
        check(r"a\\b",                               None);
        check("b",                                   None);
        check("i",                                   None);
        check("id ",                                 None);
        check("parentI",                             None);
        check("parentIdy",                           None);
        check("parentIdxx",                          None);
        check("a key that is longer than all others", None);
    }
}
