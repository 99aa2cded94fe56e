use super::fields::{BlockKind, Field, Fields, RawBlock, Slot, Sort};
use super::text;

/// One line of a file, as the reader hands it out.
pub struct Line<'r> {
    /// Its number, from 1.
    pub number: u64,
    /// Its first byte, counted from the start of the file; of the first line, behind a byte order mark.
    pub offset: u64,
    /// Its bytes, without the line ending.
    pub len: u64,
    /// How it ends.
    pub ending: Ending,
    /// What it is.
    pub shape: Shape,
    /// What else was seen.
    pub notes: Notes,
    /// The wanted fields. Of a broken line those that were met before it broke.
    pub fields: Fields<'r>,
    /// The line itself; `None` where it is too long to be held.
    pub bytes: Option<&'r [u8]>,
}

/// How a line ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// A line feed.
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// The file ends.
    None,
}

/// What a line is, as JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Nothing but white space.
    Blank,
    /// An object.
    Object,
    /// Another JSON value.
    Scalar,
    /// A whole object, and then something else.
    Trailing {
        /// The byte of the line at which the rest begins.
        at: u64,
    },
    /// No JSON.
    Broken {
        /// The byte of the line at which reading stopped.
        at: u64,
        /// What was wrong there.
        why: &'static str,
    },
}

/// What was seen in a line beside its shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Notes {
    /// A byte order mark stands before it.
    pub bom: bool,
    /// A NUL byte is in it.
    pub nul: bool,
    /// Bytes are in it that are no UTF-8. They count as any other in a string, and make no line broken.
    pub invalid_utf8: bool,
    /// An unpaired surrogate is in a string of it, as an escape.
    pub lone_surrogate: bool,
}

/// Cuts the blocks of a file into lines, checks each against the whole grammar of JSON, and finds the
/// wanted fields.
///
/// ```
/// let text = b"{\"type\":\"session\",\"id\":\"s\"}\n";
/// let mut reader = bough::json::Reader::new();
/// reader.space()[..text.len()].copy_from_slice(text);
/// reader.advance(text.len(), |line| assert_eq!(line.len, 27));
/// reader.finish(|_| unreachable!("all lines were ended"));
/// ```
pub struct Reader {
    buffer: Vec<u8>,
    have: usize,
    /// The file offset of the first byte of the buffer.
    base: u64,
    number: u64,
    slots: [Slot; Field::COUNT],
    blocks: Vec<RawBlock>,
}

/// What is read at a time.
const BLOCK: usize = 256 * 1024;

impl Reader {
    /// A reader at the start of a file.
    pub fn new() -> Reader {
        Reader {
            buffer: vec![0; BLOCK],
            have: 0,
            base: 0,
            number: 0,
            slots: [Slot::default(); Field::COUNT],
            blocks: Vec::new(),
        }
    }

    /// Begins another file, with the memory of the last. `offset` is where the first byte that will
    /// come stands in the file, `lines` how many lines stand before it.
    pub fn restart(&mut self, offset: u64, lines: u64) {
        self.have = 0;
        self.base = offset;
        self.number = lines;
    }

    /// Where the next bytes of the file go; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        if self.have == self.buffer.len() {
            let twice = self.buffer.len() * 2;
            self.buffer.resize(twice, 0);
        }
        &mut self.buffer[self.have..]
    }

    /// Takes the `count` bytes that were put into [`Reader::space`], and hands out the lines they end.
    pub fn advance(&mut self, count: usize, mut each: impl FnMut(&Line<'_>)) {
        let fresh = self.have;
        self.have += count;
        let Some(last) = memchr::memrchr(b'\n', &self.buffer[fresh..self.have]) else { return };
        let end = fresh + last + 1;
        let mut from = 0;
        while from < end {
            let to = from + memchr::memchr(b'\n', &self.buffer[from..end]).expect("a newline ends the lines");
            self.hand_out(from, to, true, &mut each);
            from = to + 1;
        }
        self.buffer.copy_within(end..self.have, 0);
        self.have -= end;
        self.base += end as u64;
    }

    /// Hands out what stands behind the last newline, if anything does.
    pub fn finish(&mut self, mut each: impl FnMut(&Line<'_>)) {
        if self.have > 0 {
            let have = self.have;
            self.hand_out(0, have, false, &mut each);
            self.base += have as u64;
            self.have = 0;
        }
    }

    fn hand_out(&mut self, mut from: usize, mut to: usize, newline: bool, each: &mut impl FnMut(&Line<'_>)) {
        self.number += 1;
        let mut ending = if newline { Ending::Lf } else { Ending::None };
        if newline && to > from && self.buffer[to - 1] == b'\r' {
            to -= 1;
            ending = Ending::CrLf;
        }
        let mut notes = Notes::default();
        if self.number == 1 && self.buffer[from..to].starts_with(b"\xEF\xBB\xBF") {
            notes.bom = true;
            from += 3;
        }
        let line = &self.buffer[from..to];
        notes.nul = memchr::memchr(0, line).is_some();
        notes.invalid_utf8 = simdutf8::basic::from_utf8(line).is_err();
        self.slots = [Slot::default(); Field::COUNT];
        self.blocks.clear();
        let mut walk = Walk { line, at: 0, slots: &mut self.slots, blocks: &mut self.blocks, lone: false };
        let shape = walk.line();
        notes.lone_surrogate = walk.lone;
        each(&Line {
            number: self.number,
            offset: self.base + from as u64,
            len: line.len() as u64,
            ending,
            shape,
            notes,
            fields: Fields { bytes: line, slots: &self.slots, blocks: &self.blocks },
            bytes: Some(line),
        });
    }
}

impl Default for Reader {
    fn default() -> Reader {
        Reader::new()
    }
}

/// Where in a line the walk is, for the fields it hands out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    Message,
    Content,
    Calls,
    Block(bool),
    Result,
    Elsewhere,
}

struct Walk<'l, 'r> {
    line: &'l [u8],
    at: usize,
    slots: &'r mut [Slot; Field::COUNT],
    blocks: &'r mut Vec<RawBlock>,
    lone: bool,
}

type Step<T = ()> = Result<T, &'static str>;

/// How deep values may be nested.
const DEPTH: usize = 1024;

impl Walk<'_, '_> {
    fn line(&mut self) -> Shape {
        self.space();
        let Some(first) = self.peek() else { return Shape::Blank };
        let shape = match self.value(Place::Top) {
            Ok(_) if first == b'{' => Shape::Object,
            Ok(_) => Shape::Scalar,
            Err(why) => return Shape::Broken { at: self.at as u64, why },
        };
        self.space();
        match shape {
            _ if self.at == self.line.len() => shape,
            Shape::Object => Shape::Trailing { at: self.at as u64 },
            _ => Shape::Broken { at: self.at as u64, why: "more stands behind the value" },
        }
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    /// Any value, with all that is in it; no recursion.
    fn value(&mut self, place: Place) -> Step {
        let mut stack: Vec<(u8, Place)> = Vec::new();
        let mut place = place;
        loop {
            // At a value, which stands at `place`.
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    if stack.len() == DEPTH {
                        return Err("nested too deep");
                    }
                    self.at += 1;
                    self.space();
                    if let Place::Block(call) = place {
                        self.blocks.push(RawBlock {
                            kind: if call { BlockKind::Call } else { BlockKind::Other },
                            id: Slot::default(),
                            name: Slot::default(),
                            says: false,
                            empty: false,
                        });
                    }
                    let close = if open == b'{' { b'}' } else { b']' };
                    if self.peek() == Some(close) {
                        self.at += 1;
                    } else {
                        stack.push((close, place));
                        place = self.inside(open, place)?;
                        continue;
                    }
                }
                _ => {
                    self.scalar()?;
                }
            }
            // Behind a value.
            loop {
                let Some((close, outer)) = stack.last().copied() else { return Ok(()) };
                self.space();
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.space();
                        place = self.inside(if close == b'}' { b'{' } else { b'[' }, outer)?;
                        break;
                    }
                    Some(byte) if byte == close => {
                        self.at += 1;
                        stack.pop();
                    }
                    None => return Err("ends inside a value"),
                    Some(_) if close == b'}' => return Err("neither a comma nor `}` behind a member"),
                    Some(_) => return Err("neither a comma nor `]` behind an item"),
                }
            }
        }
    }

    /// Goes to the next value of a container that stands at `place`, and says where that value stands.
    fn inside(&mut self, open: u8, place: Place) -> Step<Place> {
        if open == b'[' {
            return Ok(match place {
                Place::Content => Place::Block(false),
                Place::Calls => Place::Block(true),
                _ => Place::Elsewhere,
            });
        }
        if self.peek() != Some(b'"') {
            return Err(if self.peek().is_none() { "ends inside an object" } else { "a key is no string" });
        }
        let (from, to) = self.string()?;
        let key = text::decode(&self.line[from..to]);
        let key = key.as_bytes();
        self.space();
        if self.peek() != Some(b':') {
            return Err(if self.peek().is_none() { "ends behind a key" } else { "no colon behind a key" });
        }
        self.at += 1;
        self.space();
        let field = match place {
            Place::Top => Field::at_top(key),
            Place::Message => Field::in_message(key),
            Place::Result if key == b"agentId" => Some(Field::ResultAgent),
            _ => None,
        };
        if let Some(field) = field {
            self.slots[field as usize] = self.slot();
        }
        let next = self.peek();
        if let Place::Block(_) = place {
            self.in_block(key);
        }
        if matches!(field, Some(Field::Content | Field::Message))
            && !(field == Some(Field::Message) && next == Some(b'{'))
        {
            // A repeated key takes the place of what came before it.
            self.blocks.clear();
        }
        Ok(match (place, key, next) {
            (Place::Top, b"message", Some(b'{')) => {
                for field in [
                    Field::Role,
                    Field::MessageId,
                    Field::StopReason,
                    Field::ToolCallId,
                    Field::CallId,
                    Field::Content,
                ] {
                    self.slots[field as usize] = Slot::default();
                }
                self.blocks.clear();
                Place::Message
            }
            (Place::Top, b"toolUseResult", Some(b'{')) => Place::Result,
            (Place::Message, b"content", Some(b'[')) => Place::Content,
            (Place::Message, b"tool_calls", Some(b'[')) => Place::Calls,
            _ => Place::Elsewhere,
        })
    }

    /// Notes a member of the last block; at its value.
    fn in_block(&mut self, key: &[u8]) {
        let slot = self.slot();
        let raw = |slot: Slot| &self.line[slot.from as usize..slot.to as usize];
        let is_string = slot.sort == Sort::String;
        let Some(block) = self.blocks.last_mut() else { return };
        match key {
            b"type" if is_string => block.kind = BlockKind::of(raw(slot)),
            b"id" if block.id.sort == Sort::Absent || block.kind != BlockKind::Result => block.id = slot,
            b"tool_use_id" => block.id = slot,
            b"name" => block.name = slot,
            b"text" if is_string => {
                block.empty = slot.from == slot.to;
                block.says = !super::fields::Str { raw: raw(slot) }.is_blank();
            }
            _ => {}
        }
    }

    /// The value that stands here, looked at and not passed.
    fn slot(&mut self) -> Slot {
        let here = self.at;
        let sort = match self.peek() {
            Some(b'"') => Sort::String,
            Some(b'{') => Sort::Object,
            Some(b'[') => Sort::List,
            Some(b'n') => Sort::Null,
            Some(b't') => Sort::True,
            Some(b'f') => Sort::False,
            _ => Sort::Number,
        };
        let (mut from, mut to) = (0, 0);
        if matches!(sort, Sort::String | Sort::Number) {
            let passed =
                if sort == Sort::String { self.string() } else { self.scalar().map(|()| (here, self.at)) };
            match passed {
                Ok(ends) => (from, to) = ends,
                Err(_) => return Slot::default(),
            }
            self.at = here;
        }
        Slot { sort, from: from as u32, to: to as u32 }
    }

    fn scalar(&mut self) -> Step {
        match self.peek() {
            None => Err("ends where a value should stand"),
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => {
                let word = [&b"true"[..], b"false", b"null"]
                    .into_iter()
                    .find(|word| self.line[self.at..].starts_with(word))
                    .ok_or("no value stands here")?;
                self.at += word.len();
                Ok(())
            }
        }
    }

    fn number(&mut self) -> Step {
        let digits = |walk: &mut Self| {
            let from = walk.at;
            while walk.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                walk.at += 1;
            }
            if walk.at == from { Err("a digit is missing") } else { Ok(()) }
        };
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            digits(self)?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            digits(self)?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            digits(self)?;
        }
        Ok(())
    }

    /// Passes a string; gives the bytes between its quotes.
    fn string(&mut self) -> Step<(usize, usize)> {
        let from = self.at + 1;
        self.at = from;
        loop {
            match self.peek() {
                None => return Err("ends inside a string"),
                Some(b'"') => {
                    self.at += 1;
                    return Ok((from, self.at - 1));
                }
                Some(b'\\') => self.escape()?,
                Some(0..0x20) => return Err("a control character stands in a string"),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Step {
        match self.line.get(self.at + 1) {
            None => {
                self.at = self.line.len();
                Err("ends inside a string")
            }
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => match text::unit(&self.line[self.at..]) {
                None => Err("a broken escape stands in a string"),
                Some(0xD800..=0xDBFF) => {
                    self.at += 6;
                    match text::unit(&self.line[self.at..]) {
                        Some(0xDC00..=0xDFFF) => self.at += 6,
                        _ => self.lone = true,
                    }
                    Ok(())
                }
                Some(unit) => {
                    self.lone |= (0xDC00..=0xDFFF).contains(&unit);
                    self.at += 6;
                    Ok(())
                }
            },
            Some(_) => Err("an unknown escape stands in a string"),
        }
    }
}
