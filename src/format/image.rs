//! The size of images, read from their first bytes.

use std::io;

/// What was found out about the images on one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// How many of them are larger than any provider accepts.
    pub oversize: usize,
    /// Whether an image is in a separate file, and only its hash is in the line.
    pub blob: bool,
}

/// The pixels per side above which providers reject an image.
pub const MOST_PIXELS: u32 = 8000;

/// The characters of base64 above which providers reject an image.
pub const MOST_BASE64: u64 = 5 * 1024 * 1024;

/// Examines all images on a line: strings whose key is `data`.
pub fn inspect(line: &[u8]) -> Seen {
    let mut seen = Seen::default();
    let (finder, mut from) = (memchr::memmem::Finder::new(b"\"data\""), 0);
    while let Some(more) = finder.find(&line[from..]) {
        let at = from + more;
        from = at + 6;
        let rest = line[from..].trim_ascii_start();
        let Some(rest) = rest.strip_prefix(b":") else { continue };
        let Some(rest) = rest.trim_ascii_start().strip_prefix(b"\"") else { continue };
        let data = &rest[..memchr::memchr(b'"', rest).unwrap_or(rest.len())];
        // An image is long: it is passed over once.
        from = line.len() - (rest.len() - data.len());
        if data.starts_with(b"blob:") {
            seen.blob = true;
            continue;
        }
        let picture = || memchr::memmem::find(&line[at.saturating_sub(300)..at], b"\"image").is_some();
        seen.oversize += usize::from(is_oversize(data, data.len() as u64, picture));
    }
    seen
}

/// Examines all images on a line that is too long to hold in memory. The line has `len` bytes;
/// `read` returns a range of them, given an offset and a count.
pub fn look_piecewise(len: u64, mut read: impl FnMut(u64, usize) -> io::Result<Vec<u8>>) -> io::Result<Seen> {
    const PIECE: usize = 1 << 20;
    let mut seen = Seen::default();
    let mut piece = |from: u64, most: usize| read(from, most.min((len - from.min(len)) as usize));
    let mut from = 0;
    while from < len {
        let bytes = piece(from, PIECE)?;
        let Some(at) = memchr::memmem::find(&bytes, b"\"data\"") else {
            // A key may cross the end of a piece.
            from += (bytes.len().saturating_sub(5)).max(1) as u64;
            continue;
        };
        from += at as u64 + 6;
        let behind = piece(from, 64)?;
        let rest = behind.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        let Some(rest) = rest.and_then(|rest| rest.strip_prefix(b"\"")) else { continue };
        let start = from + (behind.len() - rest.len()) as u64;
        let mut end = start;
        while end < len {
            let bytes = piece(end, PIECE)?;
            match memchr::memchr(b'"', &bytes) {
                Some(quote) => {
                    end += quote as u64;
                    break;
                }
                None => end += bytes.len().max(1) as u64,
            }
        }
        let head = piece(start, 256 * 1024)?;
        let head = &head[..head.len().min((end - start) as usize)];
        if head.starts_with(b"blob:") {
            seen.blob = true;
        } else {
            let before = from.saturating_sub(306);
            let picture =
                memchr::memmem::find(&piece(before, (from - before) as usize)?, b"\"image").is_some();
            seen.oversize += usize::from(is_oversize(head, end - start, || picture));
        }
        from = end;
    }
    Ok(seen)
}

/// Returns whether an image of `len` characters is larger than any provider accepts, given its
/// first characters.
fn is_oversize(head: &[u8], len: u64, is_picture: impl Fn() -> bool) -> bool {
    let sides = pixels(head);
    sides.is_some_and(|(wide, high)| wide > MOST_PIXELS || high > MOST_PIXELS)
        // A document may be just as long; an image of an unknown type is recognized by the text
        // before it.
        || len > MOST_BASE64 && (sides.is_some() || is_picture())
}

/// Returns the size of an image given in base64 or as a `data:` URL, or `None` if it is not a known
/// type of image.
pub fn pixels(data: &[u8]) -> Option<(u32, u32)> {
    let data = match data.strip_prefix(b"data:") {
        Some(rest) => &rest[memchr::memchr(b',', rest)? + 1..],
        None => data,
    };
    // The size is near the start, but in a JPEG a preview and a color profile may come before it.
    let start = decode(&data[..data.len().min(64)]);
    if !start.starts_with(&[0xFF, 0xD8]) {
        return sides(&start);
    }
    [4 << 10, 256 << 10].into_iter().find_map(|most| sides(&decode(&data[..data.len().min(most)])))
}

/// Returns the size that the first bytes of an image contain.
fn sides(bytes: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let big_short = |at: usize| Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    let short = |at: usize| Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some((big(16)?, big(20)?)),
        [b'G', b'I', b'F', b'8', ..] => Some((short(6)?, short(8)?)),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', kind @ ..] => match kind {
            [b'V', b'P', b'8', b' ', ..] => Some((short(26)? & 0x3FFF, short(28)? & 0x3FFF)),
            [b'V', b'P', b'8', b'L', ..] => {
                let bits = u32::from_le_bytes(bytes.get(21..25)?.try_into().ok()?);
                Some(((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1))
            }
            [b'V', b'P', b'8', b'X', ..] => {
                let side = |at: usize| Some((short(at)? | u32::from(*bytes.get(at + 2)?) << 16) + 1);
                Some((side(24)?, side(27)?))
            }
            _ => None,
        },
        [b'B', b'M', ..] => {
            let side =
                |at: usize| Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?).unsigned_abs());
            Some((side(18)?, side(22)?))
        }
        [0xFF, 0xD8, ..] => {
            let mut at = 2;
            loop {
                while *bytes.get(at)? == 0xFF && *bytes.get(at + 1)? == 0xFF {
                    at += 1;
                }
                if bytes[at] != 0xFF {
                    return None;
                }
                match *bytes.get(at + 1)? {
                    0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                        return Some((big_short(at + 7)?, big_short(at + 5)?));
                    }
                    0x01 | 0xD0..=0xD8 => at += 2,
                    _ => at += 2 + big_short(at + 2)? as usize,
                }
            }
        }
        _ => None,
    }
}

/// Decodes base64 as far as it is complete, and skips invalid characters.
fn decode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut have) = (0u32, 0);
    for byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        have += 6;
        if have >= 8 {
            have -= 8;
            out.push((bits >> have) as u8);
        }
    }
    out
}

#[cfg(test)]
mod tests;
