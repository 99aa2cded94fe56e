//! Names that occur many times, each stored once.

use std::borrow::Cow;
use std::collections::HashMap;

/// Names that occur many times, each stored once.
#[derive(Clone, Debug, Default)]
pub(super) struct TypeNames {
    pub(super) list: Vec<String>,
    /// Distinguishes the first few names: the length and the last eight bytes of each.
    few: Vec<(usize, u64)>,
    /// The indexes of the names after these.
    others: HashMap<Box<[u8]>, usize>,
}

impl TypeNames {
    /// How many names are compared one by one.
    const FEW: usize = 12;

    /// Returns the index of a name, and adds the name if there is room; otherwise returns the last
    /// index.
    pub(super) fn intern(&mut self, name: &[u8], most: usize) -> usize {
        let mark = TypeNames::mark(name);
        for (at, known) in self.few.iter().enumerate() {
            // For a short name, the mark contains all of it.
            if *known == mark && (name.len() <= 8 || self.list[at].as_bytes() == name) {
                return at;
            }
        }
        self.place_other(name, most)
    }

    #[inline(never)]
    fn place_other(&mut self, name: &[u8], most: usize) -> usize {
        if let Some(at) = self.others.get(name) {
            return *at;
        }
        let text = match String::from_utf8_lossy(name) {
            Cow::Borrowed(text) => text.to_owned(),
            // Names are stored as they are shown.
            Cow::Owned(shown) => return self.intern(shown.as_bytes(), most),
        };
        let at = self.list.len();
        if at == most {
            return most - 1;
        }
        self.list.push(text);
        match at < TypeNames::FEW {
            true => self.few.push(TypeNames::mark(name)),
            false => _ = self.others.insert(name.into(), at),
        }
        at
    }

    #[inline(always)]
    fn mark(name: &[u8]) -> (usize, u64) {
        let last = match (name.last_chunk(), name.first_chunk::<4>(), name.last_chunk::<4>()) {
            (Some(eight), ..) => u64::from_le_bytes(*eight),
            (None, Some(first), Some(last)) => {
                u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
            }
            _ => name.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        (name.len(), last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once() {
        let mut names = TypeNames::default();
        let long = |at: usize| format!("a name of the number {at}").into_bytes();
        let mut all: Vec<Vec<u8>> =
            [&b""[..], b"a", b"abc", b"abd", b"abcd", b"abce", b"abcdefg", b"abcdefgh"]
                .map(<[u8]>::to_vec)
                .to_vec();
        all.extend((0..20).map(long));
        for _ in 0..2 {
            for (at, name) in all.iter().enumerate() {
                assert_eq!(names.intern(name, usize::MAX), at, "{}", String::from_utf8_lossy(name));
            }
        }
        // A name that is not UTF-8 is stored as it is shown.
        let broken = names.intern(b"x\xFF", usize::MAX);
        assert_eq!(names.intern(b"x\xFE", usize::MAX), broken);
        assert_eq!(names.intern("x\u{FFFD}".as_bytes(), usize::MAX), broken);
        assert_eq!(names.intern(b"one too many", all.len() + 1), all.len());
    }
}
