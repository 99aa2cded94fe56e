//! Filters what is sent to a terminal: text, new lines, tabs and colors pass, and no other escape,
//! wherever it comes from.

use super::text;
use std::borrow::Cow;
use std::io::{self, Write};

/// The maximum length of an escape that sets colors; a longer one is shown, not sent.
const LONGEST: usize = 64;

/// Returns text in a form that is safe to send to a terminal: colors stay, all other escapes are
/// shown.
///
/// In JSON, dangerous characters are spelled as JSON escapes, so that the value stays the same.
pub(super) fn filtered(words: &str, json: bool) -> Cow<'_, str> {
    if words.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(words);
    }
    let mut out = String::with_capacity(words.len());
    let mut rest = words;
    while let Some(character) = rest.chars().next() {
        if let Some(len) = color(rest.as_bytes()).filter(|_| !json) {
            out.push_str(&rest[..len]);
            rest = &rest[len..];
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match text::harmless(character) {
            None => out.push(character),
            // JSON contains no NUL; it ends a row.
            Some(_) if json && character == '\0' => out.push(character),
            Some(_) if json => out.push_str(&format!("\\u{:04x}", character as u32)),
            Some(shown) => out.push(shown),
        }
    }
    Cow::Owned(out)
}

/// Returns the length of the escape that sets a color, if the bytes begin with one.
fn color(bytes: &[u8]) -> Option<usize> {
    let inner = bytes.strip_prefix(b"\x1b[")?;
    let len = inner.iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':')).count();
    (inner.get(len) == Some(&b'm')).then_some(len + 3)
}

/// Returns how many bytes at the end are the beginning of a character, or of an escape that may
/// still set a color.
fn unended(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(LONGEST);
    if let Some(at) = memchr::memrchr(b'\x1b', &bytes[from..]) {
        let escape = &bytes[from + at + 1..];
        let inner = escape.strip_prefix(b"[").unwrap_or(escape);
        let goes_on = inner.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'));
        if escape.is_empty() || escape[0] == b'[' && goes_on {
            return escape.len() + 1;
        }
    }
    let tail = &bytes[bytes.len().saturating_sub(4)..];
    match tail.iter().rposition(|byte| *byte & 0xC0 != 0x80) {
        Some(at) => {
            let wanted = match tail[at] {
                0xC0..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF7 => 4,
                _ => 1,
            };
            if tail.len() - at < wanted { tail.len() - at } else { 0 }
        }
        None => 0,
    }
}

/// Writes [`filtered`] text.
pub(super) struct Filter {
    pub(super) into: Box<dyn Write>,
    json: bool,
    /// The beginning of a character or of an escape, until the rest of it arrives.
    held: Vec<u8>,
}

impl Filter {
    pub(super) fn new(into: Box<dyn Write>, json: bool) -> Filter {
        Filter { into, json, held: Vec::new() }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        // A terminal may interpret bytes that are not UTF-8 as escapes of one byte.
        let words = String::from_utf8_lossy(bytes);
        self.into.write_all(filtered(&words, self.json).as_bytes())
    }
}

impl Write for Filter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.is_empty() && unended(bytes) == 0 {
            self.send(bytes)?;
            return Ok(bytes.len());
        }
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        self.held = held.split_off(held.len() - unended(&held));
        self.send(&held)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.send(&held)?;
        self.into.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    struct Kept(Rc<RefCell<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    #[rustfmt::skip] // a table
    fn only_colors_reach_a_terminal() {
        let check = |sent: &[u8], json: bool, wanted: &str| {
            // As a whole, and one byte at a time.
            for size in [sent.len(), 1] {
                let kept = Rc::new(RefCell::new(Vec::new()));
                let mut filter = Filter::new(Box::new(Kept(kept.clone())), json);
                sent.chunks(size).for_each(|chunk| filter.write_all(chunk).unwrap());
                filter.flush().unwrap();
                assert_eq!(String::from_utf8_lossy(&kept.borrow()), wanted, "{sent:?} by {size}");
            }
        };
        check(b"plain\ttext\n",                     false, "plain\ttext\n");
        check("中 · é".as_bytes(),                  false, "中 · é");
        check(b"\x1b[1;31mred\x1b[0m",              false, "\u{1b}[1;31mred\u{1b}[0m");
        check(b"\x1b]52;c;YQ==\x07",                false, "␛]52;c;YQ==␇");
        check(b"\x1b[2J\x1b[31",                    false, "␛[2J␛[31");
        check(b"\x1b",                              false, "␛");
        check("a\u{9b}2J\u{202e}b\u{7f}".as_bytes(), false, "a\u{fffd}2J\u{fffd}b␡");
        check(b"a\x9b2J",                           false, "a\u{fffd}2J");
        check(b"a\rb",                              false, "a␍b");
        check("{\"a\":\"\u{9b}\u{202e}\"}".as_bytes(), true, "{\"a\":\"\\u009b\\u202e\"}");
        check(b"{}\0{}\0",                          true,  "{}\0{}\0");
        check(b"\x1b[31m",                          true,  "\\u001b[31m");
    }
}
