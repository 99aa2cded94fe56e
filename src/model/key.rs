//! Ids as 64-bit keys.

use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Deref;

/// An id, as 64 bits.
///
/// An id of up to 8 bytes is its own key, so that equal keys mean equal ids; a longer id is hashed.
/// The chance that two of five million long ids share a key is one in a million files. If equality
/// decides what is written, the ids themselves are read again and compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Key(pub u64);

/// What is added to the length in the last byte of the key of a short number.
const NUMBER: u8 = 8;

/// The last byte of the key of an entry without an id: a control character, as no id of eight bytes
/// has.
const PLACE: u8 = 16;

impl Key {
    /// The key of an entry that has no id.
    pub const NONE: Key = Key(0);

    /// Returns the key of an id, given as a string with escapes resolved.
    #[inline]
    pub fn hash(id: &[u8]) -> Key {
        match id.try_into() {
            Ok(eight) => Key(u64::from_le_bytes(eight)),
            Err(_) => Key::of_other(id),
        }
    }

    /// Returns the key of an id that is a number, given as it is spelled: the programs of the pi
    /// family treat `1` and `"1"` as two ids.
    pub fn of_number(id: &[u8]) -> Key {
        let n = id.len();
        if n >= 8 {
            return Key::hash(&[b"\x08", id].concat());
        }
        let mut bytes = [0; 8];
        bytes[..n].copy_from_slice(id);
        bytes[7] = NUMBER | n as u8;
        Key(u64::from_le_bytes(bytes))
    }

    /// Returns the key of an entry that has no id, by its index: that of no id, so that
    /// [`Key::short_id`] is empty.
    pub fn of_place(ix: u32) -> Key {
        let [a, b, c, d] = ix.to_le_bytes();
        Key(u64::from_le_bytes([a, b, c, d, 0, 0, 0, PLACE]))
    }

    fn of_other(id: &[u8]) -> Key {
        let n = id.len();
        if n < 8 {
            let mut bytes = [0; 8];
            bytes[..n].copy_from_slice(id);
            // The length is stored in the byte in which an 8-byte id would need a control
            // character.
            return Key(u64::from_le_bytes(bytes) ^ (n as u64 + u64::from(n == 0)) << 56);
        }
        let mut hash = 0x9E37_79B9_7F4A_7C15 ^ n as u64;
        let mut at = 0;
        while at + 16 <= n {
            hash = fold(load_word(id, at) ^ 0xA076_1D64_78BD_642F, load_word(id, at + 8) ^ hash);
            at += 16;
        }
        let first = n.saturating_sub(16);
        Key(fold(load_word(id, first) ^ 0xE703_7ED1_A0B4_28DB, load_word(id, n - 8) ^ hash))
    }

    /// Returns the id itself, if it is at most eight bytes long. For the key of a longer id the
    /// result is meaningless, and the caller must know that.
    pub fn short_id(self) -> IdStart {
        let mut bytes = self.0.to_le_bytes();
        // The last byte contains the length if that is below eight; no id has a control character
        // there.
        let len = match bytes[7] {
            _ if !self.is_some() => 0,
            PLACE => 0,
            1 if bytes[..7] == [0; 7] => 0,
            last if last < 2 * NUMBER => last % NUMBER,
            _ => 8,
        };
        bytes[usize::from(len)..].fill(0);
        IdStart { bytes, len }
    }

    /// Returns the id itself, if it is eight bytes long. The caveat of [`Key::short_id`] applies.
    pub fn eight(self) -> Option<[u8; 8]> {
        let bytes = self.0.to_le_bytes();
        (bytes[7] > PLACE).then_some(bytes)
    }

    /// Returns whether this is the key of an id, i.e. not [`Key::NONE`].
    pub fn is_some(self) -> bool {
        self != Key::NONE
    }
}

/// The first eight bytes of an id, or all bytes of a shorter one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct IdStart {
    /// Zeros from `len` on, so that the order is that of the ids.
    bytes: [u8; 8],
    len: u8,
}

impl From<[u8; 8]> for IdStart {
    fn from(bytes: [u8; 8]) -> IdStart {
        IdStart { bytes, len: 8 }
    }
}

impl Deref for IdStart {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

fn load_word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Hashes keys, which are hashes or short ids already, for tables of them: one multiplication each.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHasher(u64);

/// Makes a [`KeyHasher`] for each key.
pub type BuildKeyHasher = BuildHasherDefault<KeyHasher>;

impl Hasher for KeyHasher {
    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = fold(word ^ 0xA076_1D64_78BD_642F, self.0 ^ 0x9E37_79B9_7F4A_7C15);
    }

    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(Key::hash(bytes).0);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_are_their_own_key() {
        let ids: &[&[u8]] = &[b"a", b"ab", b"abcdefg", b"abcdefgh", b"abcdefghi", b""];
        for (at, one) in ids.iter().enumerate() {
            for other in &ids[at + 1..] {
                assert_ne!(Key::hash(one), Key::hash(other), "{one:?} {other:?}");
            }
            assert!(Key::hash(one).is_some());
            if one.len() < 8 || one == b"abcdefgh" {
                assert_eq!(*Key::hash(one).short_id(), **one);
            }
        }
    }
    #[test]
    fn short_ids_are_in_the_order_of_the_ids() {
        let ids: &[&[u8]] = &[b"", b"a", b"a\0", b"ab", b"abcdefg", b"abcdefgh", b"b"];
        assert!(ids.is_sorted_by_key(|id| Key::hash(id).short_id()));
    }
}
