use super::fields::{AT_TOP, Field, Found, IN_BLOCK, IN_MESSAGE, IN_RESULT, Slot, Sort, Stretch};
use super::reader::Shape;
use super::scan::Mark;

/// The second stage of the reader: walks the marks of whole lines with the whole grammar of JSON, and finds the
/// wanted fields.
///
/// It takes lines that are objects and well, and blank ones. Of any other it says no more than that; the byte-by-byte
/// [`Machine`](super::machine::Machine) then tells what is wrong, and where.
pub(super) struct Grammar<'b> {
    bytes: &'b [u8],
    marks: &'b [Mark],
    /// How many of the marks are passed.
    passed: usize,
}

/// A step through the grammar; `None` where the line does not follow it, or where this is not the place to tell.
type Step<T = ()> = Option<T>;

/// How deep a value may be nested that is passed here; more is left to the machine.
const DEPTH: usize = 960;

impl<'b> Grammar<'b> {
    /// Begins at the first of `marks` in `bytes`; the last is that of a line feed.
    pub(super) fn new(bytes: &'b [u8], marks: &'b [Mark]) -> Grammar<'b> {
        Grammar { bytes, marks, passed: 0 }
    }

    /// Takes a line up to its line feed: an object or blank. Strings must be ended in
    /// the lines that they begin in, as [`super::scan::Index::suspects`] tells.
    #[inline]
    pub(super) fn line(&mut self, found: &mut Found) -> Step<Shape> {
        match self.peek() {
            b'\n' => return Some(Shape::Blank),
            b'{' => self.top(found)?,
            _ => return None,
        }
        (self.peek() == b'\n').then_some(Shape::Object)
    }

    /// Goes behind the line feed of the line at hand; gives its place.
    #[inline]
    pub(super) fn next_line(&mut self) -> usize {
        while self.peek() != b'\n' {
            self.passed += 1;
        }
        self.passed += 1;
        self.marks[self.passed - 1].at()
    }

    fn top(&mut self, found: &mut Found) -> Step {
        self.object(|walk, key| {
            let Some(field) = AT_TOP.at(walk.bytes, key.from as usize, key.to as usize) else {
                return walk.skip();
            };
            found.forget(field);
            match (field, walk.peek()) {
                (Field::Message, b'{') => walk.message(found)?,
                (Field::ToolUseResult, b'{') => {
                    walk.object(|walk, key| {
                        match IN_RESULT.at(walk.bytes, key.from as usize, key.to as usize) {
                            Some(field) => walk.value(field, found),
                            None => walk.skip(),
                        }
                    })?
                }
                _ => return walk.value(field, found),
            }
            found.put(field, Slot { sort: Sort::Object, stretch: Stretch::default() });
            Some(())
        })
    }

    fn message(&mut self, found: &mut Found) -> Step {
        self.object(|walk, key| {
            let Some(field) = IN_MESSAGE.at(walk.bytes, key.from as usize, key.to as usize) else {
                return walk.skip();
            };
            found.forget(field);
            match (field, walk.peek()) {
                (Field::Content, b'[') => walk.blocks(false, found)?,
                (Field::ToolCalls, b'[') => walk.blocks(true, found)?,
                _ => return walk.value(field, found),
            }
            found.put(field, Slot { sort: Sort::List, stretch: Stretch::default() });
            Some(())
        })
    }

    fn blocks(&mut self, call: bool, found: &mut Found) -> Step {
        self.list(|walk| match walk.peek() {
            b'{' => {
                found.block(call);
                walk.object(|walk, key| {
                    let Some(member) = IN_BLOCK.at(walk.bytes, key.from as usize, key.to as usize) else {
                        return walk.skip();
                    };
                    let string = if walk.peek() == b'"' {
                        Some(walk.string())
                    } else {
                        walk.skip()?;
                        None
                    };
                    found.in_block(member, walk.bytes, string);
                    Some(())
                })
            }
            b'[' => {
                found.block(call);
                walk.skip()
            }
            _ => walk.skip(),
        })
    }

    /// Takes the value of a field.
    #[inline(always)]
    fn value(&mut self, field: Field, found: &mut Found) -> Step {
        let mut stretch = Stretch::default();
        let sort = match self.peek() {
            b'"' => {
                stretch = self.string();
                Sort::String
            }
            b'{' => {
                self.skip_container()?;
                Sort::Object
            }
            b'[' => {
                self.skip_container()?;
                Sort::List
            }
            first => {
                stretch = self.scalar()?;
                match first {
                    b'n' => Sort::Null,
                    b't' => Sort::True,
                    b'f' => Sort::False,
                    _ => Sort::Number,
                }
            }
        };
        found.put(field, Slot { sort, stretch });
        Some(())
    }

    /// The byte at the next mark.
    #[inline(always)]
    fn peek(&self) -> u8 {
        self.marks[self.passed].byte()
    }

    /// Takes a string, at its opening quote: the next mark is that of the closing one.
    #[inline(always)]
    fn string(&mut self) -> Stretch {
        let stretch = Stretch {
            from: self.marks[self.passed].at() as u32 + 1,
            to: self.marks[self.passed + 1].at() as u32,
        };
        self.passed += 2;
        stretch
    }

    /// Takes a number or word.
    #[inline(always)]
    fn scalar(&mut self) -> Step<Stretch> {
        let from = self.marks[self.passed].at();
        let len = scalar(&self.bytes[from..])?;
        self.passed += 1;
        Some(Stretch { from: from as u32, to: (from + len) as u32 })
    }

    /// Takes the members of an object; `member` takes their values, and is given where their keys stand.
    #[inline(always)]
    fn object(&mut self, mut member: impl FnMut(&mut Self, Stretch) -> Step) -> Step {
        self.passed += 1;
        if self.peek() == b'}' {
            self.passed += 1;
            return Some(());
        }
        loop {
            // The quotes of the key, and the colon. A line feed comes behind all.
            let [open, close, colon] = *self.marks[self.passed..].first_chunk()?;
            if open.byte() != b'"' || colon.byte() != b':' {
                return None;
            }
            self.passed += 3;
            member(self, Stretch { from: open.at() as u32 + 1, to: close.at() as u32 })?;
            match self.peek() {
                b',' => self.passed += 1,
                b'}' => {
                    self.passed += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    #[inline(always)]
    fn list(&mut self, mut item: impl FnMut(&mut Self) -> Step) -> Step {
        self.passed += 1;
        if self.peek() == b']' {
            self.passed += 1;
            return Some(());
        }
        loop {
            item(self)?;
            match self.peek() {
                b',' => self.passed += 1,
                b']' => {
                    self.passed += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Passes a value.
    #[inline(always)]
    fn skip(&mut self) -> Step {
        match self.peek() {
            b'"' => {
                self.passed += 2;
                Some(())
            }
            b'{' | b'[' => self.skip_container(),
            _ => self.scalar().map(|_| ()),
        }
    }

    /// Passes an object or list, with all that is in it; no recursion.
    fn skip_container(&mut self) -> Step {
        let Grammar { bytes, marks, .. } = *self;
        let mut at = self.passed;
        let mut open = Open::default();
        loop {
            // At a value.
            match marks[at].byte() {
                b'"' => at += 2,
                b'{' => {
                    at += 1;
                    if marks[at].byte() != b'}' {
                        open.push(true)?;
                        at = key(marks, at)?;
                        continue;
                    }
                    at += 1;
                }
                b'[' => {
                    at += 1;
                    if marks[at].byte() != b']' {
                        open.push(false)?;
                        continue;
                    }
                    at += 1;
                }
                _ => {
                    scalar(&bytes[marks[at].at()..])?;
                    at += 1;
                }
            }
            // Behind a value.
            loop {
                if open.depth == 0 {
                    self.passed = at;
                    return Some(());
                }
                match marks[at].byte() {
                    b',' => {
                        at += 1;
                        if open.in_object() {
                            at = key(marks, at)?;
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

/// Passes the key of a member, and the colon behind it.
#[inline(always)]
fn key(marks: &[Mark], at: usize) -> Step<usize> {
    let [open, _, colon] = *marks[at..].first_chunk()?;
    (open.byte() == b'"' && colon.byte() == b':').then_some(at + 3)
}

/// The containers that are open: a bit each, set for objects.
#[derive(Default)]
struct Open {
    depth: usize,
    /// The innermost ones, the last in the lowest bit.
    inner: u64,
    /// Those around them, 64 in a word.
    outer: [u64; DEPTH / 64],
}

impl Open {
    #[inline(always)]
    fn push(&mut self, object: bool) -> Step {
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

    /// Whether the innermost is an object.
    #[inline(always)]
    fn in_object(&self) -> bool {
        self.inner & 1 == 1
    }
}

/// How many bytes a number or word takes, at the start of `text`.
#[inline(always)]
fn scalar(text: &[u8]) -> Step<usize> {
    let len = match text[0] {
        b't' if text.starts_with(b"true") => 4,
        b'n' if text.starts_with(b"null") => 4,
        b'f' if text.starts_with(b"false") => 5,
        b'-' | b'0'..=b'9' => number(text)?,
        _ => return None,
    };
    // A line feed ends the lines, so there is a byte behind.
    matches!(text[len], b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r').then_some(len)
}

/// How many bytes a number takes.
#[inline(always)]
fn number(text: &[u8]) -> Step<usize> {
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
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
