//! The second stage of the reader: checks whole lines against the grammar of JSON.

use super::field_names::{AT_TOP, Field, IN_MESSAGE, IN_PAYLOAD, IN_RESULT};
use super::fields::{Found, IN_BLOCK, Slot, Stretch, ValueKind};
use super::reader::Shape;
use super::scan::Mark;
use super::string;

/// The second stage of the reader: walks the marks of whole lines, checks them against the whole
/// grammar of JSON, and finds the wanted fields.
///
/// It accepts lines that are blank or valid objects. It rejects any other line without a reason;
/// the byte-by-byte [`Machine`](super::bytewise::Machine) then determines what is wrong, and at
/// which byte.
pub(super) struct Grammar<'b> {
    walk: Walk<'b>,
    /// The number of marks that have been passed.
    passed: usize,
}

/// A step through the grammar; `None` if the line does not follow it, or if this stage cannot
/// decide.
type Step<T> = Option<T>;

/// The deepest nesting that is accepted here; deeper values are left to the machine.
const DEPTH: usize = 960;

impl<'b> Grammar<'b> {
    /// Starts at the first of `marks` in `bytes`; the last mark must be that of a line feed.
    pub(super) fn new(bytes: &'b [u8], marks: &'b [u32]) -> Grammar<'b> {
        Grammar { walk: Walk { bytes, marks }, passed: 0 }
    }

    /// Reads a line, either an object or blank, up to its line feed. Every string must end in the
    /// line in which it begins; [`super::scan::Index::suspects`] lists the blocks that violate
    /// this.
    #[inline]
    pub(super) fn line(&mut self, found: &mut Found) -> Step<Shape> {
        match self.walk.byte(self.passed) {
            b'\n' => return Some(Shape::Blank),
            b'{' => self.passed = self.walk.top(self.passed, found)?,
            _ => return None,
        }
        (self.walk.byte(self.passed) == b'\n').then_some(Shape::Object)
    }

    /// Moves past the line feed of the current line and returns its offset.
    #[inline]
    pub(super) fn next_line(&mut self) -> usize {
        while self.walk.byte(self.passed) != b'\n' {
            self.passed += 1;
        }
        self.passed += 1;
        self.walk.mark(self.passed - 1).offset()
    }
}

/// The bytes and marks to walk. Each method begins at a mark and returns the index of the mark
/// after whatever it has read. A number passed by value stays in a register; a borrowed cursor
/// would be written and read at each step.
#[derive(Clone, Copy)]
struct Walk<'b> {
    bytes: &'b [u8],
    marks: &'b [u32],
}

impl Walk<'_> {
    fn top(self, at: usize, found: &mut Found) -> Step<usize> {
        self.object(at, |at, key| {
            let Some(field) = AT_TOP.get_at(self.bytes, key) else { return self.skip(at) };
            found.forget(field);
            let behind = match (field, self.byte(at)) {
                (Field::Message, b'{') => self.message(at, found)?,
                (Field::ToolUseResult, b'{') => {
                    self.object(at, |at, key| match IN_RESULT.get_at(self.bytes, key) {
                        Some(field) => self.value(at, field, found),
                        None => self.skip(at),
                    })?
                }
                (Field::Payload, b'{') => self.payload(at, found)?,
                _ => return self.value(at, field, found),
            };
            found.note(field, Slot { sort: ValueKind::Object, stretch: Stretch::default() });
            Some(behind)
        })
    }

    // Seldom needed: the loop above must not grow by it.
    #[inline(never)]
    fn payload(self, at: usize, found: &mut Found) -> Step<usize> {
        self.object(at, |at, key| {
            let Some(field) = IN_PAYLOAD.get_at(self.bytes, key) else { return self.skip(at) };
            found.forget(field);
            self.value(at, field, found)
        })
    }

    fn message(self, at: usize, found: &mut Found) -> Step<usize> {
        self.object(at, |at, key| {
            let Some(field) = IN_MESSAGE.get_at(self.bytes, key) else { return self.skip(at) };
            found.forget(field);
            let behind = match (field, self.byte(at)) {
                (Field::Content, b'[') => self.blocks(at, false, found)?,
                (Field::ToolCalls, b'[') => self.blocks(at, true, found)?,
                (Field::Usage, b'{') => {
                    let behind = self.skip_container(at)?;
                    let (from, to) =
                        (self.mark(at).offset() as u32, self.mark(behind - 1).offset() as u32 + 1);
                    found.note(field, Slot { sort: ValueKind::Object, stretch: Stretch { from, to } });
                    return Some(behind);
                }
                _ => return self.value(at, field, found),
            };
            found.note(field, Slot { sort: ValueKind::List, stretch: Stretch::default() });
            Some(behind)
        })
    }

    fn blocks(self, at: usize, call: bool, found: &mut Found) -> Step<usize> {
        self.list(at, |at| match self.byte(at) {
            b'{' => {
                found.block(call);
                self.object(at, |at, key| {
                    let Some(member) = IN_BLOCK.get_at(self.bytes, key) else { return self.skip(at) };
                    let first = self.byte(at);
                    let (behind, string) = match first {
                        b'"' => (at + 2, Some(self.string(at))),
                        _ => (self.skip(at)?, None),
                    };
                    found.in_block(member, self.bytes, string, first == b'n');
                    Some(behind)
                })
            }
            b'[' => {
                found.odd_item(call);
                found.block(call);
                self.skip(at)
            }
            _ => {
                found.odd_item(call);
                self.skip(at)
            }
        })
    }

    /// Reads the value of a field.
    #[inline(always)]
    fn value(self, at: usize, field: Field, found: &mut Found) -> Step<usize> {
        let mut stretch = Stretch::default();
        let (behind, sort) = match self.byte(at) {
            b'"' => {
                stretch = self.string(at);
                (at + 2, ValueKind::String)
            }
            b'{' => (self.skip_container(at)?, ValueKind::Object),
            b'[' => (self.skip_container(at)?, ValueKind::List),
            first => {
                let from = self.mark(at).offset();
                stretch = Stretch { from: from as u32, to: (from + scalar(&self.bytes[from..])?) as u32 };
                let sort = match first {
                    b'n' => ValueKind::Null,
                    b't' => ValueKind::True,
                    b'f' => ValueKind::False,
                    _ => ValueKind::Number,
                };
                (at + 1, sort)
            }
        };
        found.note(field, Slot { sort, stretch });
        Some(behind)
    }

    #[inline(always)]
    fn mark(self, at: usize) -> Mark {
        Mark(self.marks[at])
    }

    /// Returns the byte at a mark.
    #[inline(always)]
    fn byte(self, at: usize) -> u8 {
        self.mark(at).byte()
    }

    /// Returns the range of a string, given its opening quote: the next mark is the closing quote.
    #[inline(always)]
    fn string(self, at: usize) -> Stretch {
        Stretch { from: self.mark(at).offset() as u32 + 1, to: self.mark(at + 1).offset() as u32 }
    }

    /// Reads the members of an object. `member` reads their values, and is given the range of the
    /// key.
    #[inline(always)]
    fn object(self, mut at: usize, mut member: impl FnMut(usize, Stretch) -> Step<usize>) -> Step<usize> {
        at += 1;
        if self.byte(at) == b'}' {
            return Some(at + 1);
        }
        loop {
            let (behind, key) = self.key(at)?;
            at = member(behind, key)?;
            match self.byte(at) {
                b',' => at += 1,
                b'}' => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// Reads the key of a member, and the colon after it.
    #[inline(always)]
    fn key(self, at: usize) -> Step<(usize, Stretch)> {
        // An object is followed at least by a line feed.
        let [open, close, colon] = *self.marks[at..].first_chunk()?;
        let (open, close, colon) = (Mark(open), Mark(close), Mark(colon));
        let key = Stretch { from: open.offset() as u32 + 1, to: close.offset() as u32 };
        (open.byte() == b'"' && colon.byte() == b':').then_some((at + 3, key))
    }

    #[inline(always)]
    fn list(self, mut at: usize, mut item: impl FnMut(usize) -> Step<usize>) -> Step<usize> {
        at += 1;
        if self.byte(at) == b']' {
            return Some(at + 1);
        }
        loop {
            at = item(at)?;
            match self.byte(at) {
                b',' => at += 1,
                b']' => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// Skips a value.
    #[inline(always)]
    fn skip(self, at: usize) -> Step<usize> {
        match self.byte(at) {
            b'"' => Some(at + 2),
            b'{' | b'[' => self.skip_container(at),
            _ => self.skip_scalar(at),
        }
    }

    /// Skips a number or word.
    #[inline(always)]
    fn skip_scalar(self, at: usize) -> Step<usize> {
        scalar(&self.bytes[self.mark(at).offset()..]).map(|_| at + 1)
    }

    /// Skips an object or list with everything in it, without recursion.
    fn skip_container(self, mut at: usize) -> Step<usize> {
        let mut open = Open::default();
        loop {
            // Before a value.
            match self.byte(at) {
                b'"' => at += 2,
                b'{' => {
                    at += 1;
                    if self.byte(at) != b'}' {
                        open.push(true)?;
                        at = self.key(at)?.0;
                        continue;
                    }
                    at += 1;
                }
                b'[' => {
                    at += 1;
                    if self.byte(at) != b']' {
                        open.push(false)?;
                        continue;
                    }
                    at += 1;
                }
                _ => at = self.skip_scalar(at)?,
            }
            // After a value.
            loop {
                if open.depth == 0 {
                    return Some(at);
                }
                match self.byte(at) {
                    b',' => {
                        at += 1;
                        if open.in_object() {
                            at = self.key(at)?.0;
                        }
                        break;
                    }
                    b'}' if open.in_object() => {}
                    b']' if !open.in_object() => {}
                    _ => return None,
                }
                at += 1;
                open.pop();
            }
        }
    }
}

/// The open containers: one bit each, set for objects.
#[derive(Default)]
struct Open {
    depth: usize,
    /// The innermost containers, with the last one in the lowest bit.
    inner: u64,
    /// The containers around those, 64 in a word.
    outer: [u64; DEPTH / 64],
}

impl Open {
    #[inline(always)]
    fn push(&mut self, object: bool) -> Step<()> {
        if self.depth.is_multiple_of(64) {
            *self.outer.get_mut(self.depth / 64)? = self.inner;
        }
        self.inner = self.inner << 1 | u64::from(object);
        self.depth += 1;
        Some(())
    }

    #[inline(always)]
    fn pop(&mut self) {
        self.inner >>= 1;
        self.depth -= 1;
        if self.depth.is_multiple_of(64) {
            self.inner = self.outer[self.depth / 64];
        }
    }

    /// Returns whether the innermost container is an object.
    #[inline(always)]
    fn in_object(&self) -> bool {
        self.inner & 1 == 1
    }
}

/// Returns the length of the number or word at the start of `text`.
#[inline(always)]
fn scalar(text: &[u8]) -> Step<usize> {
    let len = match text[0] {
        b't' if text.starts_with(b"true") => 4,
        b'n' if text.starts_with(b"null") => 4,
        b'f' if text.starts_with(b"false") => 5,
        b'-' | b'0'..=b'9' => number(text)?,
        _ => return None,
    };
    // A line feed ends the lines, so there is always a next byte.
    matches!(text[len], b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r').then_some(len)
}

/// Returns the length of a number.
#[inline(always)]
fn number(text: &[u8]) -> Step<usize> {
    let digits = |from: usize| digits(&text[from..]);
    let mut len = usize::from(text[0] == b'-');
    len += match text[len] {
        b'0' => 1,
        b'1'..=b'9' => digits(len),
        _ => return None,
    };
    if text[len] == b'.' {
        let fraction = digits(len + 1);
        if fraction == 0 {
            return None;
        }
        len += 1 + fraction;
    }
    if let b'e' | b'E' = text[len] {
        len += 1 + usize::from(matches!(text[len + 1], b'+' | b'-'));
        let exponent = digits(len);
        if exponent == 0 {
            return None;
        }
        len += exponent;
    }
    Some(len)
}

/// Returns how many digits are at the start of `text`.
#[inline(always)]
fn digits(text: &[u8]) -> usize {
    let (eights, rest) = text.as_chunks();
    for (at, eight) in eights.iter().enumerate() {
        let others = string::no_digits(u64::from_le_bytes(*eight));
        if others != 0 {
            return at * 8 + others.trailing_zeros() as usize / 8;
        }
    }
    eights.len() * 8 + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}
