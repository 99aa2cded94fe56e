//! Walking the members of an object and the items of a list that the reader has already checked.

use super::scan::{closing_quote, end_of_container};
use super::string::decode;
use super::value::Str;
use std::borrow::Cow;
use std::ops::Range;

/// Returns the members of an object in order: the key with escapes resolved, and the bytes of the
/// value.
///
/// Meant for lines that the reader accepted: a value is skipped by its brackets and quotes only, in
/// one pass and without recursion, whatever its size. The iterator ends at the first byte that does
/// not belong there, and is empty if `object` is not an object.
pub fn each_member(object: &[u8]) -> impl Iterator<Item = (Cow<'_, str>, &[u8])> {
    each_raw_member(object).map(|(key, value)| (key.text(), value))
}

/// Returns the members of an object like [`each_member`], with the keys as they are spelled.
pub fn each_raw_member(object: &[u8]) -> impl Iterator<Item = (Str<'_>, &[u8])> {
    let mut cursor = Cursor::new(object, 0);
    std::iter::from_fn(move || cursor.next())
}

/// The members of an object that begins somewhere in a text, read one by one.
struct Cursor<'l> {
    text: &'l [u8],
    /// The offset of the next member, or of what is there instead.
    at: usize,
    /// Whether there is an object.
    is_object: bool,
}

impl<'l> Cursor<'l> {
    /// Begins with the object at an offset; there are no members if there is none.
    fn new(text: &'l [u8], at: usize) -> Cursor<'l> {
        let at = space(text, at);
        Cursor { text, at: at + 1, is_object: text.get(at) == Some(&b'{') }
    }

    /// Returns the key of the next member, and the offset of its value.
    #[inline]
    fn key(&mut self) -> Option<(Str<'l>, usize)> {
        if !self.is_object {
            return None;
        }
        self.at = space(self.text, self.at);
        if self.text.get(self.at) != Some(&b'"') {
            return None;
        }
        let key_end = end_of_string(self.text, self.at)?;
        let key = Str { raw: &self.text[self.at + 1..key_end - 1] };
        self.at = space(self.text, key_end);
        let has_value = self.text.get(self.at) == Some(&b':');
        has_value.then(|| (key, space(self.text, self.at + 1)))
    }

    /// Returns the value between two offsets, and continues after it.
    fn value(&mut self, from: usize, to: usize) -> &'l [u8] {
        self.at = comma(self.text, to);
        &self.text[from..to]
    }

    fn next(&mut self) -> Option<(Str<'l>, &'l [u8])> {
        let (key, from) = self.key()?;
        let to = end_of_value(self.text, from)?;
        Some((key, self.value(from, to)))
    }

    /// Returns the offset after the object, once all members were read; `None` if something else
    /// follows the last one.
    fn end(&self) -> Option<usize> {
        (self.is_object && self.text.get(self.at) == Some(&b'}')).then_some(self.at + 1)
    }
}

/// Returns the items of a list in order, under the same conditions as `each_member`.
pub fn each_item(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    items_with(list, |from| {
        let to = end_of_value(list, from)?;
        Some((&list[from..to], to))
    })
}

/// Returns the items of a list in order, split into their members in the same pass, under the same
/// conditions as [`each_member`]. An item that is not an object has no members.
pub fn each_object(list: &[u8]) -> impl Iterator<Item = Members<'_>> {
    items_with(list, |from| {
        let (members, end) = Members::begin(list, from);
        Some((members, end.or_else(|| end_of_value(list, from))?))
    })
}

/// Walks the items of a list: `read` gets the offset of each, and returns what it is and the offset
/// after it.
fn items_with<T>(list: &[u8], mut read: impl FnMut(usize) -> Option<(T, usize)>) -> impl Iterator<Item = T> {
    let mut at = space(list, 0);
    let opened = list.get(at) == Some(&b'[');
    at += 1;
    std::iter::from_fn(move || {
        if !opened {
            return None;
        }
        let from = space(list, at);
        if list.get(from) == Some(&b']') {
            return None;
        }
        let (item, to) = read(from)?;
        at = comma(list, to);
        Some(item)
    })
}

/// Returns the text of a JSON string, given with its quotes, or `None` for any other value.
pub fn string(value: &[u8]) -> Option<Cow<'_, str>> {
    Some(decode(value.strip_prefix(b"\"")?.strip_suffix(b"\"")?))
}

/// Returns the value of a key of an object, under the same conditions as [`each_member`]. If the
/// key is repeated, the last one counts.
pub fn member<'l>(object: &'l [u8], key: &str) -> Option<&'l [u8]> {
    let mut cursor = Cursor::new(object, 0);
    let mut found = None;
    while let Some((known, value)) = cursor.next() {
        if known.equals(key) {
            found = Some(value);
        }
    }
    found
}

/// Returns the value of a key of an object, like [`member`], but only if the object has an end: the
/// bytes need not be a line that the reader accepted, and what is cut off has no members.
pub fn member_of_whole<'l>(object: &'l [u8], key: &str) -> Option<&'l [u8]> {
    Members::whole(object)?.0.get(key)
}

/// Returns the value at a path of keys, each as `member` finds it. E.g. `["message", "role"]` gives
/// `"user"` with its quotes.
pub fn member_at<'l>(object: &'l [u8], path: &[&str]) -> Option<&'l [u8]> {
    path.iter().try_fold(object, |object, key| member(object, key))
}

/// Returns the text of a key of an object, like [`member`]; empty if its value is not a string.
pub fn text<'l>(object: &'l [u8], key: &str) -> Cow<'l, str> {
    member(object, key).and_then(string).unwrap_or_default()
}

/// Returns the text of a key of an object, like [`member`], as an owned string; `None` if its value
/// is not a string.
pub fn string_of(object: &[u8], key: &str) -> Option<String> {
    Some(string(member(object, key)?)?.into_owned())
}

/// The members of an object, split in one pass when several are needed. The keys are as they are
/// spelled.
#[derive(Clone, Debug)]
pub struct Members<'l>(Vec<(Str<'l>, &'l [u8])>);

/// How many members are expected: more than most objects of agents have.
const MEMBERS: usize = 16;

impl<'l> Members<'l> {
    /// Splits an object, under the same conditions as [`each_member`].
    pub fn new(object: &'l [u8]) -> Members<'l> {
        Members::begin(object, 0).0
    }

    /// Splits the object with which a text begins, and returns the offset after it; `None` if it has no end,
    /// like that of a truncated line.
    pub fn whole(text: &'l [u8]) -> Option<(Members<'l>, usize)> {
        let (members, end) = Members::begin(text, 0);
        Some((members, end?))
    }

    /// Splits an object and the one that is the value of `key`, in one pass over both. The second is
    /// empty if there is no such value.
    pub fn with_nested(object: &'l [u8], key: &str) -> (Members<'l>, Members<'l>) {
        let (outer, inner, _) = Members::split(object, 0, key);
        (outer, inner)
    }

    /// Splits the object at an offset of a text, and the one that is the value of `key` in it; returns also
    /// the offset after it, unless it is damaged or there is none.
    fn split(object: &'l [u8], at: usize, key: &str) -> (Members<'l>, Members<'l>, Option<usize>) {
        let mut cursor = Cursor::new(object, at);
        let (mut outer, mut inner) = (Vec::with_capacity(MEMBERS), Members(Vec::new()));
        while let Some((name, from)) = cursor.key() {
            let mut end = None;
            let is_wanted = name.equals(key);
            if is_wanted {
                (inner, end) = Members::begin(object, from);
            }
            let Some(to) = end.or_else(|| end_of_value(object, from)) else {
                // A value without an end is not a member.
                if is_wanted {
                    let known = outer.iter().rfind(|(known, _): &&(Str<'_>, &[u8])| known.equals(key));
                    inner = Members::new(known.map_or(&[], |(_, value)| *value));
                }
                break;
            };
            outer.push((name, cursor.value(from, to)));
        }
        let end = cursor.end();
        (Members(outer), inner, end)
    }

    /// Splits an object, and in the same pass the objects in the list that is the value of `key`, each
    /// with the object that is the value of `inner` in it, as [`Members::with_nested`] does.
    pub fn with_list(
        object: &'l [u8],
        key: &str,
        inner: &str,
    ) -> (Members<'l>, Vec<(Members<'l>, Members<'l>)>) {
        let mut cursor = Cursor::new(object, 0);
        let (mut outer, mut items) = (Vec::with_capacity(MEMBERS), Vec::new());
        while let Some((name, from)) = cursor.key() {
            let mut end = None;
            if name.equals(key) {
                items.clear();
                end = items_of(object, from, inner, &mut items);
            }
            let Some(to) = end.or_else(|| end_of_value(object, from)) else { break };
            outer.push((name, cursor.value(from, to)));
        }
        (Members(outer), items)
    }

    /// Splits the object at an offset of a text; returns the offset after it, unless the object is
    /// damaged or there is none.
    fn begin(text: &'l [u8], at: usize) -> (Members<'l>, Option<usize>) {
        let mut cursor = Cursor::new(text, at);
        let mut members = Vec::with_capacity(MEMBERS);
        while let Some(member) = cursor.next() {
            members.push(member);
        }
        let end = cursor.end();
        (Members(members), end)
    }

    /// Returns the value of a key; if the key is repeated, the last one.
    pub fn get(&self, key: &str) -> Option<&'l [u8]> {
        self.0.iter().rfind(|(known, _)| known.equals(key)).map(|(_, value)| *value)
    }

    /// Returns the text of a key if its value is a string.
    pub fn string(&self, key: &str) -> Option<Cow<'l, str>> {
        string(self.get(key)?)
    }

    /// Returns the text of a key; empty if its value is not a string.
    pub fn text(&self, key: &str) -> Cow<'l, str> {
        self.string(key).unwrap_or_default()
    }
}

/// Splits the objects in the list at an offset of a text; returns the offset after it, unless it is damaged,
/// or not a list.
fn items_of<'l>(
    text: &'l [u8],
    at: usize,
    inner: &str,
    items: &mut Vec<(Members<'l>, Members<'l>)>,
) -> Option<usize> {
    if *text.get(at)? != b'[' {
        return None;
    }
    let mut at = at + 1;
    loop {
        at = space(text, at);
        if *text.get(at)? == b']' {
            return Some(at + 1);
        }
        // An item that is not an object has no members.
        let (outer, nested, end) = Members::split(text, at, inner);
        items.push((outer, nested));
        at = comma(text, end.or_else(|| end_of_value(text, at))?);
    }
}

/// Returns the range of `part` in `whole`; `part` must be a slice of `whole`.
pub fn place_in(whole: &[u8], part: &[u8]) -> Range<usize> {
    let from = part.as_ptr() as usize - whole.as_ptr() as usize;
    from..from + part.len()
}

pub(super) fn space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\r' | b'\n') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Skips the comma that follows a value, if there is one.
fn comma(bytes: &[u8], at: usize) -> usize {
    let at = space(bytes, at);
    at + usize::from(bytes.get(at) == Some(&b','))
}

/// Returns the offset after a string whose opening quote is at `at`, or `None` if the string does
/// not end.
#[inline]
pub fn end_of_string(bytes: &[u8], at: usize) -> Option<usize> {
    Some(at + 1 + closing_quote(bytes.get(at + 1..)?)? + 1)
}

/// The bytes that end a number or a word.
static ENDS_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 8 {
        table[b",:}] \t\r\n"[at] as usize] = true;
        at += 1;
    }
    table
};

fn end_of_value(bytes: &[u8], from: usize) -> Option<usize> {
    match bytes.get(from)? {
        b'"' => end_of_string(bytes, from),
        b'{' | b'[' => match bytes.get(from + 1) {
            Some(b'}' | b']') => Some(from + 2),
            _ => Some(from + end_of_container(&bytes[from..])?),
        },
        _ => {
            let len = bytes[from..].iter().take_while(|byte| !ENDS_WORD[usize::from(**byte)]).count();
            (len > 0).then_some(from + len)
        }
    }
}

#[cfg(test)]
mod tests;
