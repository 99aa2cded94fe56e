//! The strings of a line of JSON, keys and values, with the fields that lead to them.

use crate::json::string;
use std::borrow::Cow;
use std::ops::Range;

/// Fields whose encoded content is not searched.
const ENCODED: [&str; 5] = ["data", "signature", "thinkingSignature", "textSignature", "encrypted_content"];

/// A string as it is stored.
pub(super) struct Stored<'l> {
    line: &'l [u8],
    range: Range<usize>,
    /// The keys that lead to it, outermost first; the last is its own.
    keys: &'l [&'l [u8]],
    is_key: bool,
}

impl<'l> Stored<'l> {
    /// The bytes of the line that it takes, quotes included.
    pub(super) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// The string as it is stored, without its quotes.
    pub(super) fn raw(&self) -> &'l [u8] {
        &self.line[self.range.start + 1..self.range.end - 1]
    }

    /// The string, decoded.
    pub(super) fn text(&self) -> Cow<'l, str> {
        string(&self.line[self.range.clone()]).unwrap_or_default()
    }

    /// The key whose value it is; empty if it is a key itself or an item of a list.
    pub(super) fn key(&self) -> &'l str {
        let key = if self.is_key { &[] } else { self.keys.last().copied().unwrap_or_default() };
        std::str::from_utf8(key).unwrap_or_default()
    }

    /// The fields that lead to it, as `message.content.text`.
    pub(super) fn path(&self) -> String {
        let keys = self.keys.iter().filter(|key| !key.is_empty());
        keys.map(|key| String::from_utf8_lossy(key)).collect::<Vec<_>>().join(".")
    }

    /// Whether it is searched: not if it is an encoded image or a signature.
    pub(super) fn is_searched(&self) -> bool {
        let raw = self.raw();
        if raw.len() < 8 {
            return false;
        }
        let is_encoded = raw.len() > 64
            && ENCODED.contains(&self.key())
            && raw.iter().all(|byte| IN_BASE64[usize::from(*byte)]);
        !is_encoded
    }
}

/// A table of the bytes that a pattern matches.
macro_rules! table {
    ($pattern:pat) => {{
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            table[byte] = matches!(byte as u8, $pattern);
            byte += 1;
        }
        table
    }};
}

/// Bytes of base64, in either alphabet.
static IN_BASE64: [bool; 256] =
    table!(b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'=' | b'-' | b'_');

/// Bytes between the strings of a line that say where they are.
static SIGNS: [bool; 256] = table!(b'"' | b'{' | b'[' | b'}' | b']');

/// Gives each string of a line, damaged or not. Does not recurse.
pub(super) fn each_string(line: &[u8], each: &mut dyn FnMut(&Stored<'_>)) {
    let mut keys: Vec<&[u8]> = vec![b""];
    let mut at = 0;
    while let Some(next) = line[at..].iter().position(|byte| SIGNS[usize::from(*byte)]) {
        at += next;
        match line[at] {
            b'"' => {
                let Some(end) = crate::json::end_of_string(line, at) else { return };
                let is_key = line[end..].trim_ascii_start().first() == Some(&b':');
                if is_key && let Some(last) = keys.last_mut() {
                    *last = &line[at + 1..end - 1];
                }
                each(&Stored { line, range: at..end, keys: &keys, is_key });
                at = end;
                continue;
            }
            b'{' | b'[' => keys.push(b""),
            b'}' | b']' if keys.len() > 1 => _ = keys.pop(),
            _ => {}
        }
        at += 1;
    }
}

/// A secret may begin in a text block of a message and end in the next one: this many bytes at the ends are looked at together.
const SEAM: usize = 512;

/// Two texts that follow each other in a list of blocks.
pub(super) struct Seam {
    /// Where they are in the line, quotes included.
    pub(super) strings: [Range<usize>; 2],
    /// The fields that lead to the first.
    pub(super) path: String,
    /// How many bytes of the first, decoded, are before those that are looked at.
    pub(super) before: usize,
    /// The end of the first and the start of the second.
    pub(super) text: String,
    /// Where the second begins in `text`.
    pub(super) middle: usize,
}

/// The key of the text of a block, as it is stored.
const TEXT: &[u8] = b"\"text\"";

/// Gives each place where a text block follows another.
pub(super) fn each_seam(line: &[u8], each: &mut dyn FnMut(&Seam)) {
    // Most lines have one text at most. A type may be `text` too.
    let is_key = |at: &usize| line[at + TEXT.len()..].trim_ascii_start().first() == Some(&b':');
    if memchr::memmem::find_iter(line, TEXT).filter(is_key).nth(1).is_none() {
        return;
    }
    let mut last: Option<(Range<usize>, String, String)> = None;
    each_string(line, &mut |string| {
        if string.is_key || string.key() != "text" {
            return;
        }
        let (range, path, text) = (string.range(), string.path(), string.text().into_owned());
        if let Some((before, before_path, first)) = last.take()
            && before_path == path
            && is_next_block(&line[before.end..range.start])
        {
            let (from, to) = (floor(&first, first.len().saturating_sub(SEAM)), floor(&text, SEAM));
            let joined = format!("{}{}", &first[from..], &text[..to]);
            let middle = first.len() - from;
            each(&Seam {
                strings: [before, range.clone()],
                path: before_path,
                before: from,
                text: joined,
                middle,
            });
        }
        last = Some((range, path, text));
    });
}

/// Whether what is between two texts ends one block of a list and begins the next.
fn is_next_block(between: &[u8]) -> bool {
    let (mut at, mut signs) = (0, Vec::new());
    while let Some(sign) = between.get(at) {
        match sign {
            b'"' => match crate::json::end_of_string(between, at) {
                Some(end) => at = end - 1,
                None => return false,
            },
            b'{' | b'}' | b'[' | b']' => signs.push(*sign),
            _ => {}
        }
        at += 1;
    }
    signs == b"}{"
}

/// The end of the last character that ends at or before a byte.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A text as a JSON string.
pub(super) fn quoted(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).expect("a text is always a JSON string")
}
