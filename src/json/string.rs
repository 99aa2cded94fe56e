//! Resolving the escapes of JSON strings.

use super::scan::{backslashes, is_sign, signs};
use std::borrow::Cow;

/// Returns whether a string, given without its quotes, contains escapes.
#[inline]
pub(super) fn is_escaped(raw: &[u8]) -> bool {
    // Ids and names are short: a call would cost more than the search itself.
    let is_in = |word: &[u8; 8]| holds(u64::from_le_bytes(*word), b'\\');
    match (raw.first_chunk(), raw.last_chunk()) {
        _ if raw.len() > 64 => memchr::memchr(b'\\', raw).is_some(),
        (Some(first), Some(last)) if raw.len() <= 16 => is_in(first) || is_in(last),
        (_, Some(last)) => raw.as_chunks().0.iter().any(is_in) || is_in(last),
        _ => match (raw.first_chunk::<4>(), raw.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
                holds(u64::from(first) | u64::from(last) << 32, b'\\')
            }
            _ => raw.contains(&b'\\'),
        },
    }
}

/// Returns whether one of the eight bytes of a word is `byte`.
#[inline(always)]
pub(super) fn holds(word: u64, byte: u8) -> bool {
    places(word, byte) != 0
}

/// Returns the place of the first of the eight bytes of a word that is `byte`; 8 if there is none.
#[inline(always)]
fn first_place(word: u64, byte: u8) -> usize {
    (places(word, byte).trailing_zeros() / 8) as usize
}

/// Returns the highest bit of the first of the eight bytes of a word that is `byte`, and perhaps more bits
/// after it; 0 if there is none.
#[inline(always)]
fn places(word: u64, byte: u8) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let other = word ^ (ONES * byte as u64);
    // A borrow may set bits after the first one, never before it.
    other.wrapping_sub(ONES) & !other & (ONES << 7)
}

/// Returns the highest bit of each of the eight bytes that is not a digit.
#[inline(always)]
pub(super) fn no_digits(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Each digit becomes its value, and anything over nine sets the highest bit.
    let counts = word ^ (ONES * b'0' as u64);
    (counts | ((counts & (ONES * 0x7F)) + ONES * (0x80 - 10))) & (ONES * 0x80)
}

/// Resolves the escapes of a string, given without its quotes.
///
/// A lone surrogate and bytes that are not UTF-8 become U+FFFD. An invalid escape stays as it is.
pub fn decode(raw: &[u8]) -> Cow<'_, str> {
    if !is_escaped(raw) {
        return whole(raw);
    }
    // No escape is shorter than its character: what is written is never ahead of what is read.
    let mut out = vec![0; raw.len()];
    let (mut from, mut to) = (0, 0);
    loop {
        // An escape is every twenty bytes or so: a search for the next one would cost more than it saves.
        while let Some(half) = raw[from..].first_chunk::<16>() {
            out[to..to + 16].copy_from_slice(half);
            let plain = backslashes(half).trailing_zeros().min(16) as usize;
            (from, to) = (from + plain, to + plain);
            if plain < 16 {
                break;
            }
        }
        if let Some(word) = raw[from..].first_chunk::<8>() {
            out[to..to + 8].copy_from_slice(word);
            let plain = first_place(u64::from_le_bytes(*word), b'\\');
            (from, to) = (from + plain, to + plain);
        }
        while let Some(byte) = raw.get(from).filter(|byte| **byte != b'\\') {
            out[to] = *byte;
            (from, to) = (from + 1, to + 1);
        }
        let escape = &raw[from..];
        let Some(sign) = escape.get(1).map(|sign| ESCAPED[usize::from(*sign)]) else {
            // The end, or a backslash that nothing follows.
            out[to..to + escape.len()].copy_from_slice(escape);
            to += escape.len();
            break;
        };
        if sign != 0 {
            out[to] = sign;
            (from, to) = (from + 2, to + 1);
            continue;
        }
        let (character, len) = if escape[1] == b'u' { unicode(escape) } else { ('\\', 1) };
        to += character.encode_utf8(&mut out[to..]).len();
        from += len;
    }
    out.truncate(to);
    match simdutf8::basic::from_utf8(&out) {
        // SAFETY: the bytes were just found to be UTF-8.
        Ok(_) => Cow::Owned(unsafe { String::from_utf8_unchecked(out) }),
        Err(_) => Cow::Owned(String::from_utf8_lossy(&out).into_owned()),
    }
}

/// Decodes the start of a string, given without its quotes: at least so many of its bytes, if it has them. Returns whether that is
/// the whole string.
pub fn decode_start(raw: &[u8], bytes: usize) -> (Cow<'_, str>, bool) {
    // An escape has up to twelve bytes, and a character four: neither is cut, nor is one of two backslashes taken for an escape.
    let cut =
        raw.get(bytes..).and_then(|rest| rest.iter().position(|byte| *byte == b' ')).map(|at| bytes + at);
    match cut {
        Some(cut) => (decode(&raw[..cut]), false),
        None => (decode(raw), true),
    }
}

/// Adds a text as a JSON string to others, with its quotes. As few characters are escaped as possible.
pub fn add_string(into: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    into.reserve(bytes.len() + bytes.len() / 16 + 2);
    into.push(b'"');
    // What is added, and what is looked at, in bytes.
    let (mut said, mut at) = (0, 0);
    while let Some(half) = bytes[at..].first_chunk::<16>() {
        let mut signs = signs(half);
        while signs != 0 {
            let sign = at + signs.trailing_zeros() as usize;
            into.extend_from_slice(&bytes[said..sign]);
            add_escape(into, bytes[sign]);
            said = sign + 1;
            signs &= signs - 1;
        }
        at += 16;
    }
    for (sign, byte) in bytes.iter().enumerate().skip(at).filter(|(_, byte)| is_sign(**byte)) {
        into.extend_from_slice(&bytes[said..sign]);
        add_escape(into, *byte);
        said = sign + 1;
    }
    into.extend_from_slice(&bytes[said..]);
    into.push(b'"');
}

fn add_escape(into: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\t' => b't',
        b'\r' => b'r',
        0x08 => b'b',
        0x0C => b'f',
        _ => {
            let digit = b"0123456789abcdef"[usize::from(byte & 15)];
            into.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), digit]);
            return;
        }
    };
    into.extend_from_slice(&[b'\\', short]);
}

/// The byte of each escape of two bytes, by its second one; 0 if there is none.
static ESCAPED: [u8; 256] = {
    let mut table = [0; 256];
    let (signs, bytes) = (b"\"\\/bfnrt", b"\"\\/\x08\x0C\n\r\t");
    let mut at = 0;
    while at < signs.len() {
        table[signs[at] as usize] = bytes[at];
        at += 1;
    }
    table
};

/// Returns bytes as text; bytes that are not UTF-8 become U+FFFD.
fn whole(raw: &[u8]) -> Cow<'_, str> {
    // Nearly all of it is UTF-8, and checking the whole is faster than checking piece by piece.
    simdutf8::basic::from_utf8(raw).map_or_else(|_| String::from_utf8_lossy(raw), Cow::Borrowed)
}

/// Returns the character of a `\u` escape at the start of `text`, and the length of the escape.
fn unicode(text: &[u8]) -> (char, usize) {
    let Some(unit) = unit(text) else { return ('\\', 1) };
    match unit {
        0xD800..=0xDBFF => match super::string::unit(&text[6..]) {
            Some(low @ 0xDC00..=0xDFFF) => {
                let code = 0x1_0000 + ((u32::from(unit) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
                (char::from_u32(code).unwrap_or('\u{FFFD}'), 12)
            }
            _ => ('\u{FFFD}', 6),
        },
        0xDC00..=0xDFFF => ('\u{FFFD}', 6),
        _ => (char::from_u32(u32::from(unit)).unwrap_or('\u{FFFD}'), 6),
    }
}

/// Returns the code unit of a `\u` escape at the start of `text`.
#[inline]
pub(super) fn unit(text: &[u8]) -> Option<u16> {
    hex(text.strip_prefix(b"\\u")?)
}

/// Returns the number that the first four bytes of `text` spell in hexadecimal.
#[inline]
pub(super) fn hex(text: &[u8]) -> Option<u16> {
    let digits: &[u8; 4] = text.first_chunk()?;
    let value = |digit: u8| u32::from(HEX[usize::from(digit)]);
    let (a, b, c, d) = (value(digits[0]), value(digits[1]), value(digits[2]), value(digits[3]));
    // A byte that is not a digit has bits above the lowest four, which end up above the lowest
    // sixteen.
    u16::try_from(a << 12 | b << 8 | c << 4 | d | (a | b | c | d) >> 4 << 16).ok()
}

/// The value of each byte as a hexadecimal digit; 0xFF if it is not one.
static HEX: [u8; 256] = {
    let mut table = [0xFF; 256];
    let mut digit = 0;
    while digit < 16 {
        table[b"0123456789abcdef"[digit] as usize] = digit as u8;
        table[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_told_from_all_other_bytes() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                for around in [b'0', b'9', b'/', b':', 0xFF] {
                    let mut eight = [around; 8];
                    eight[place] = byte;
                    let bits = |byte: u8| if byte.is_ascii_digit() { 0 } else { 0x80 };
                    assert_eq!(
                        no_digits(u64::from_le_bytes(eight)).to_le_bytes(),
                        eight.map(bits),
                        "{eight:?}"
                    );
                }
            }
        }
    }

    #[test]
    #[rustfmt::skip] // a table
    fn escapes_are_resolved() {
        let check = |raw: &str, text: &str| assert_eq!(decode(raw.as_bytes()), text);
        check("plain",                 "plain");
        check(r#"a\"b\\c\/d"#,         "a\"b\\c/d");
        check(r"\n\t\r\b\f",           "\n\t\r\u{8}\u{c}");
        check(r"\u00e9\u4e2d",         "é中");
        check(r"\ud83d\ude00",         "😀");
        check(r"\ud83dx",              "\u{fffd}x");
        check(r"\ude00\ud83d",         "\u{fffd}\u{fffd}");
        check(r"\ud83d\u0041",         "\u{fffd}A");
        check(r"\u12",                 r"\u12");
        check(r"\",                    r"\");
        check(r"\x\",                  r"\x\");
        check(r"1234567\n1234567\\12345678\t", "1234567\n1234567\\12345678\t");
        check("中\\n12345é\\u4e2d\u{80}\\\u{80}", "中\n12345é中\u{80}\\\u{80}");
    }

    #[test]
    fn strings_are_spelled_as_by_serde_and_read_again() {
        let mut seed = 7u64;
        for len in 0..3000 {
            let mut text = String::new();
            while text.len() < len % 75 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let byte = (seed >> 50) as u8;
                text.push(if seed >> 62 == 0 { '中' } else { char::from(byte & 0x7F) });
            }
            let mut out = b"x".to_vec();
            add_string(&mut out, &text);
            assert_eq!(
                String::from_utf8(out.clone()).unwrap(),
                format!("x{}", serde_json::to_string(&text).unwrap())
            );
            let raw = &out[2..out.len() - 1];
            assert_eq!(decode(raw), text);
            for most in [0, 1, 5, 16, 40, 100] {
                let (start, is_whole) = decode_start(raw, most);
                assert!(text.starts_with(&*start) && is_whole == (*start == text), "{text:?} {most}");
            }
        }
    }

    #[test]
    fn escapes_at_any_place_are_resolved_as_one_by_one() {
        let parts: [(&str, &str); 8] = [
            ("a", "a"),
            ("\\n", "\n"),
            ("\\\\", "\\"),
            ("é", "é"),
            ("\\u00e9", "é"),
            ("\\ud83d\\ude00", "😀"),
            ("12345678", "12345678"),
            ("]", "]"),
        ];
        let mut seed = 1u64;
        for _ in 0..20_000 {
            let (mut raw, mut text) = (String::new(), String::new());
            for _ in 0..seed % 13 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (stored, said) = parts[(seed >> 40) as usize % parts.len()];
                raw += stored;
                text += said;
            }
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            assert_eq!(decode(raw.as_bytes()), text, "{raw}");
        }
    }
}
