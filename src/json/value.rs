//! A value as written in a line, and a string with its escapes unresolved.

use super::string;
use crate::model::Key;
use std::borrow::Cow;

/// A string as written between its quotes, with escapes unresolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Str<'l> {
    /// The bytes between the quotes.
    pub raw: &'l [u8],
}

impl<'l> Str<'l> {
    /// Returns the string with escapes resolved; a lone surrogate and bytes that are not UTF-8
    /// become U+FFFD.
    pub fn text(self) -> Cow<'l, str> {
        string::decode(self.raw)
    }

    /// Returns the bytes of the string with escapes resolved. Copies only if there are escapes.
    #[inline]
    pub fn resolved(self) -> Cow<'l, [u8]> {
        if !string::is_escaped(self.raw) {
            return Cow::Borrowed(self.raw);
        }
        Cow::Owned(self.text().into_owned().into_bytes())
    }

    /// Returns the string as the [`Key`] of an id. Copies only if there are escapes.
    #[inline]
    pub fn key(self) -> Key {
        self.eight().unwrap_or_else(|| self.other_key())
    }

    /// Returns the key of an id of eight bytes, which is the length of most ids of pi.
    #[inline(always)]
    fn eight(self) -> Option<Key> {
        let eight = <[u8; 8]>::try_from(self.raw).ok()?;
        (!string::holds(u64::from_le_bytes(eight), b'\\')).then(|| Key::hash(&eight))
    }

    #[inline(never)]
    fn other_key(self) -> Key {
        match string::is_escaped(self.raw) {
            true => Key::hash(&self.resolved()),
            false => Key::hash(self.raw),
        }
    }

    /// Returns the string as the key of an id, and its first eight bytes if it is longer than that.
    #[inline]
    pub fn key_and_start(self) -> (Key, Option<[u8; 8]>) {
        if let Some(key) = self.eight() {
            return (key, None);
        }
        let of = |id: &[u8]| (Key::hash(id), id.first_chunk().filter(|_| id.len() > 8).copied());
        match string::is_escaped(self.raw) {
            true => of(&self.resolved()),
            false => of(self.raw),
        }
    }

    /// Returns whether the string is `wanted`.
    #[inline]
    pub fn equals(self, wanted: &str) -> bool {
        let wanted_bytes = wanted.as_bytes();
        // Escapes make the spelling longer, and each begins with a backslash.
        let may_be_spelled = self.raw.len() > wanted.len()
            && (self.raw.first() == wanted_bytes.first() || self.raw.first() == Some(&b'\\'));
        self.raw == wanted_bytes || may_be_spelled && self.is_spelled(wanted)
    }

    /// Returns whether the string is `wanted`, spelled with escapes.
    fn is_spelled(self, wanted: &str) -> bool {
        string::is_escaped(self.raw) && self.text() == wanted
    }

    /// Returns whether the string contains only white space. Stops at the first character that is
    /// not.
    #[inline]
    pub fn is_blank(self) -> bool {
        match self.raw {
            [b'!'..=b'[' | b']'..=b'~', ..] => false,
            _ => self.is_all_blank(),
        }
    }

    fn is_all_blank(self) -> bool {
        let mut rest = self.raw;
        loop {
            rest = match rest {
                [] => return true,
                [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] => rest,
                [b'\\', b'n' | b't' | b'r' | b'f', rest @ ..] => rest,
                [b'\\', b'u', ..] => match string::unit(rest).and_then(|unit| char::from_u32(unit.into())) {
                    Some(character) if character.is_whitespace() => &rest[6..],
                    _ => return false,
                },
                [0x80..=0xFF, ..] => {
                    let first = rest[..rest.len().min(4)].utf8_chunks().next().expect("there are bytes");
                    match first.valid().chars().next() {
                        Some(character) if character.is_whitespace() => &rest[character.len_utf8()..],
                        _ => return false,
                    }
                }
                _ => return false,
            }
        }
    }
}

/// The value of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Value<'l> {
    /// The line has no such field.
    #[default]
    Absent,
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as spelled in the line.
    Number(&'l [u8]),
    /// A string.
    String(Str<'l>),
    /// A list.
    List,
    /// An object.
    Object,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn blank_is_what_holds_no_more_than_white_space() {
        let check = |raw: &[u8], blank: bool| assert_eq!(Str { raw }.is_blank(), blank, "{raw:?}");
        check(b"",                           true);
        check(b" \t ",                       true);
        check(br"\n\r\t\f ",                 true);
        check(br"\b",                        false);
        check(br"\u0020\u00a0\u3000",        true);
        check(br"\u0020\u00e9",              false);
        check(br"\ud83d\ude00",              false);
        check("\u{3000}\u{a0} ".as_bytes(),  true);
        check("\u{3000}\u{e9}".as_bytes(),   false);
        check(b"\xC2",                       false);
        check(b" \xE3\x80",                  false);
        check(b" x",                         false);
    }
}
