use super::fields::{Field, Found, InBlock, Slot, Sort, Stretch};
use super::reader::Shape;

/// The second stage of the reader: walks the positions of whole lines with the whole grammar of JSON, and finds the
/// wanted fields.
///
/// It takes lines that are objects and well, and blank ones. Of any other it says no more than that; the byte-by-byte
/// [`Machine`](super::machine::Machine) then tells what is wrong, and where.
pub(super) struct Grammar<'b> {
    bytes: &'b [u8],
    positions: &'b [u32],
    /// How many of the positions are passed.
    passed: usize,
}

/// A step through the grammar; `None` where the line does not follow it, or where this is not the place to tell.
type Step<T = ()> = Option<T>;

/// How deep a value may be nested that is passed here; more is left to the machine.
const DEPTH: usize = 960;

impl<'b> Grammar<'b> {
    /// Begins at the first of `positions` in `bytes`; the last is that of a line feed.
    pub(super) fn new(bytes: &'b [u8], positions: &'b [u32]) -> Grammar<'b> {
        Grammar { bytes, positions, passed: 0 }
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
        self.positions[self.passed - 1] as usize
    }

    fn top(&mut self, found: &mut Found) -> Step {
        self.object(|walk, key| {
            let Some(field) = key.field(Field::at_top) else { return walk.skip() };
            found.forget(field);
            match (field, walk.peek()) {
                (Field::Message, b'{') => walk.message(found)?,
                (Field::ToolUseResult, b'{') => {
                    walk.object(|walk, key| match key.field(Field::in_result) {
                        Some(field) => walk.value(field, found),
                        None => walk.skip(),
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
            let Some(field) = key.field(Field::in_message) else { return walk.skip() };
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
                    let Some(member) = key.in_block() else { return walk.skip() };
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
    #[inline]
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

    /// The byte at the next position.
    #[inline(always)]
    fn peek(&self) -> u8 {
        self.bytes[self.positions[self.passed] as usize]
    }

    /// Takes a string, at its opening quote: the next position is that of the closing one.
    #[inline(always)]
    fn string(&mut self) -> Stretch {
        let stretch = Stretch { from: self.positions[self.passed] + 1, to: self.positions[self.passed + 1] };
        self.passed += 2;
        stretch
    }

    /// Takes a number or word.
    #[inline(always)]
    fn scalar(&mut self) -> Step<Stretch> {
        let from = self.positions[self.passed];
        let rest = &self.bytes[from as usize..];
        let len = match rest[0] {
            b't' if rest.starts_with(b"true") => 4,
            b'n' if rest.starts_with(b"null") => 4,
            b'f' if rest.starts_with(b"false") => 5,
            b'-' | b'0'..=b'9' => number(rest)?,
            _ => return None,
        };
        // A line feed ends the lines, so there is a byte behind.
        matches!(rest[len], b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r').then(|| {
            self.passed += 1;
            Stretch { from, to: from + len as u32 }
        })
    }

    /// Takes the members of an object; `member` takes their values.
    #[inline(always)]
    fn object(&mut self, mut member: impl FnMut(&mut Self, Name<'b>) -> Step) -> Step {
        self.passed += 1;
        if self.peek() == b'}' {
            self.passed += 1;
            return Some(());
        }
        loop {
            if self.peek() != b'"' {
                return None;
            }
            let key = self.string();
            if self.peek() != b':' {
                return None;
            }
            self.passed += 1;
            member(self, Name { raw: &self.bytes[key.from as usize..key.to as usize] })?;
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
        let mut open = Open::default();
        loop {
            // At a value.
            match self.peek() {
                b'"' => self.passed += 2,
                b'{' => {
                    self.passed += 1;
                    if self.peek() != b'}' {
                        open.push(true)?;
                        self.key()?;
                        continue;
                    }
                    self.passed += 1;
                }
                b'[' => {
                    self.passed += 1;
                    if self.peek() != b']' {
                        open.push(false)?;
                        continue;
                    }
                    self.passed += 1;
                }
                _ => _ = self.scalar()?,
            }
            // Behind a value.
            loop {
                if open.depth == 0 {
                    return Some(());
                }
                match self.peek() {
                    b',' => {
                        self.passed += 1;
                        if open.is_object() {
                            self.key()?;
                        }
                        break;
                    }
                    b'}' if open.is_object() => {}
                    b']' if !open.is_object() => {}
                    _ => return None,
                }
                self.passed += 1;
                open.depth -= 1;
            }
        }
    }

    #[inline(always)]
    fn key(&mut self) -> Step {
        if self.peek() != b'"' {
            return None;
        }
        self.passed += 2;
        if self.peek() != b':' {
            return None;
        }
        self.passed += 1;
        Some(())
    }
}

/// The containers that are open: a bit each, set for objects.
struct Open {
    depth: usize,
    objects: [u64; DEPTH / 64],
}

impl Default for Open {
    fn default() -> Open {
        Open { depth: 0, objects: [0; DEPTH / 64] }
    }
}

impl Open {
    #[inline(always)]
    fn push(&mut self, object: bool) -> Step {
        let word = self.objects.get_mut(self.depth / 64)?;
        let bit = self.depth % 64;
        *word = *word & !(1 << bit) | u64::from(object) << bit;
        self.depth += 1;
        Some(())
    }

    /// Whether the innermost is an object.
    #[inline(always)]
    fn is_object(&self) -> bool {
        let top = self.depth - 1;
        self.objects[top / 64] >> (top % 64) & 1 == 1
    }
}

/// The key of a member, as it stands between its quotes.
struct Name<'b> {
    raw: &'b [u8],
}

impl Name<'_> {
    #[inline(always)]
    fn field(&self, of: impl Fn(&[u8]) -> Option<Field>) -> Option<Field> {
        of(self.raw).or_else(|| if self.is_escaped() { of(super::decode(self.raw).as_bytes()) } else { None })
    }

    #[inline(always)]
    fn in_block(&self) -> Option<InBlock> {
        let of = InBlock::of;
        of(self.raw).or_else(|| if self.is_escaped() { of(super::decode(self.raw).as_bytes()) } else { None })
    }

    #[inline(always)]
    fn is_escaped(&self) -> bool {
        super::text::is_escaped(self.raw)
    }
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
