use super::fields::Stretch;
use super::text;

/// A few keys and what each stands for, found by one multiplication and one comparison.
///
/// Of a key the first eight bytes and the length choose a slot; the multiplier is one by which no two keys share theirs.
pub(super) struct Keys<T: 'static> {
    multiplier: u64,
    slots: [Slot<T>; SLOTS],
    names: [&'static [u8]; SLOTS],
}

const SLOTS: usize = 128;

#[derive(Clone, Copy)]
struct Slot<T> {
    start: u64,
    /// The last eight bytes of a longer key.
    last: u64,
    len: u32,
    meaning: Option<T>,
}

impl<T: Copy> Keys<T> {
    /// Searches a multiplier; ends the compilation where there is none, as of two keys that are one.
    pub(super) const fn new(keys: &[(&'static str, T)]) -> Keys<T> {
        let mut multiplier = 0x9E37_79B9_7F4A_7C15u64;
        'next: loop {
            multiplier =
                multiplier.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut slots = [Slot { start: 0, last: 0, len: 0, meaning: None }; SLOTS];
            let mut names: [&[u8]; SLOTS] = [b""; SLOTS];
            let mut at = 0;
            while at < keys.len() {
                let (name, meaning) = keys[at];
                let name = name.as_bytes();
                let start = start(name, 0, name.len());
                let place = place(multiplier, start, name.len());
                if slots[place].meaning.is_some() {
                    continue 'next;
                }
                let last = last(name, name.len(), name.len());
                slots[place] = Slot { start, last, len: name.len() as u32, meaning: Some(meaning) };
                names[place] = name;
                at += 1;
            }
            return Keys { multiplier, slots, names };
        }
    }

    /// What a key stands for, given where it stands between its quotes.
    #[inline(always)]
    pub(super) fn at(&self, bytes: &[u8], key: Stretch) -> Option<T> {
        let (from, to) = (key.from as usize, key.to as usize);
        let len = to - from;
        let start = start(bytes, from, len);
        let last = last(bytes, to, len);
        let place = place(self.multiplier, start, len);
        let slot = &self.slots[place];
        let same = slot.start == start && slot.last == last && slot.len == len as u32;
        if same && (len <= 16 || self.names[place] == &bytes[from..to]) {
            return slot.meaning;
        }
        // Most keys that are not wanted have no backslash, and no more than sixteen bytes.
        if len <= 16 && !text::holds(start, b'\\') && !text::holds(last, b'\\') {
            return None;
        }
        self.escaped(&bytes[from..to])
    }

    #[inline(never)]
    fn escaped(&self, raw: &[u8]) -> Option<T> {
        text::is_escaped(raw).then(|| self.of(text::decode(raw).as_bytes()))?
    }

    /// What a key stands for.
    pub(super) fn of(&self, key: &[u8]) -> Option<T> {
        let place = place(self.multiplier, start(key, 0, key.len()), key.len());
        self.slots[place].meaning.filter(|_| self.names[place] == key)
    }
}

#[inline(always)]
const fn place(multiplier: u64, start: u64, len: usize) -> usize {
    ((start ^ len as u64).wrapping_mul(multiplier) >> (64 - SLOTS.trailing_zeros())) as usize
}

/// The first eight bytes of a key, or all of them and zeros behind.
#[inline(always)]
const fn start(bytes: &[u8], from: usize, len: usize) -> u64 {
    if bytes.len() - from >= 8 {
        let (_, rest) = bytes.split_at(from);
        let Some(eight) = rest.first_chunk::<8>() else { return 0 };
        let word = u64::from_le_bytes(*eight);
        return if len < 8 { word & !(u64::MAX << (len * 8)) } else { word };
    }
    let (mut word, mut at) = (0, 0);
    while at < len && at < 8 {
        word |= (bytes[from + at] as u64) << (at * 8);
        at += 1;
    }
    word
}

/// The last eight bytes of a key that has more; else nothing.
#[inline(always)]
const fn last(bytes: &[u8], to: usize, len: usize) -> u64 {
    if len <= 8 { 0 } else { start(bytes, to - 8, 8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: Keys<u8> = Keys::new(&[("", 0), ("a", 1), ("id", 2), ("parentId", 3), ("parentIdx", 4)]);

    #[test]
    #[rustfmt::skip] // a table
    fn a_key_is_found_however_it_is_spelled() {
        let check = |raw: &str, meaning: Option<u8>| {
            // At the end of the bytes, and with others behind.
            for text in [format!("\"{raw}"), format!("\"{raw}\":\"id and so on\"")] {
                assert_eq!(KEYS.at(text.as_bytes(), Stretch { from: 1, to: 1 + raw.len() as u32 }), meaning, "{text}");
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
