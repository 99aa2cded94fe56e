//! The byte-by-byte reader of JSON lines, for lines that are broken, unusual or too long to hold in
//! memory.

use super::field_names::{AT_TOP, Field, IN_MESSAGE, IN_PAYLOAD, IN_RESULT};
use super::fields::{Found, IN_BLOCK, InBlock, Slot, Stretch, ValueKind};
use super::reader::Shape;

/// Reads one line byte by byte, in pieces of any size.
///
/// It reads the lines that the two fast stages leave: lines that are broken or unusual, for which
/// it reports the error and its offset, and lines that are too long to hold in memory. The wanted
/// strings and numbers are copied, because the pieces of the line are not kept.
pub(super) struct Machine {
    state: State,
    open: Vec<Level>,
    /// The number of bytes of the line that have been read.
    at: u64,
    /// The offset at which the current escape, number or word begins.
    began: u64,
    shape: Option<Shape>,
    lone_surrogate: bool,
    /// The code unit of the current escape, as far as it has been read.
    unit: u16,
    /// Whether a high surrogate comes right before.
    high: bool,
    wanted: Wanted,
    /// Copies of the wanted strings and numbers, one after the other.
    copies: Vec<u8>,
    /// The offset at which the current copy begins.
    copy_from: usize,
    /// The maximum number of bytes of a string to copy.
    copy_most: usize,
    limits: Limits,
    /// Whether `NaN`, `Infinity` and `-Infinity` are accepted as values, as Python accepts them.
    pub(super) python: bool,
    /// The deepest nesting of values in the line.
    deepest: usize,
}

/// How much of one line is kept.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The maximum number of bytes of one string in a block.
    pub(super) string: usize,
    /// The maximum number of bytes of all strings in blocks, and of one other field. The same limit
    /// applies to all other fields together.
    pub(super) strings: usize,
    /// The maximum number of blocks.
    pub(super) blocks: usize,
}

impl Limits {
    /// The limits for a line that is held in memory as a whole.
    pub(super) const HELD: Limits =
        Limits { string: usize::MAX, strings: usize::MAX / 2, blocks: usize::MAX };
    /// The limits for a line of any length.
    pub(super) const LONG: Limits = Limits { string: 4096, strings: 1 << 20, blocks: 1 << 15 };
}

/// The maximum depth of nested values. (serde_json gives up at 128, V8 never does.) Agents nest a
/// few dozen levels deep; the limit exists so that memory does not grow with a line of brackets.
pub const DEPTH: usize = 1 << 17;

/// The error for a line whose values are nested deeper than [`DEPTH`].
pub const TOO_DEEP: &str = "nested too deep";

/// The error for a line that ends inside a string.
pub const ENDS_IN_STRING: &str = "ends inside a string";

/// The longest spelling of a wanted key: each of its characters written as an escape of six bytes.
const KEY: usize = 6 * 24;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Before a value.
    Value,
    /// After `[`.
    FirstItem,
    /// After `{`.
    FirstKey,
    /// After a comma in an object.
    Key,
    /// After a key.
    Colon,
    /// After a value.
    Behind,
    /// Inside a string, which may be a key.
    InString {
        key: bool,
    },
    /// After a backslash.
    Escape {
        key: bool,
    },
    /// After that many digits of a `\u` escape.
    Unicode {
        key: bool,
        digits: u8,
    },
    Number(Number),
    /// Inside a word, of which that many bytes have been read.
    Word(&'static [u8], usize),
    /// Nothing more is read: the line is broken, or something follows the object.
    Stopped,
}

/// The part of a number that was read last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Number {
    Minus,
    Zero,
    Digits,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

/// An open container.
#[derive(Clone, Copy)]
struct Level {
    object: bool,
    place: Place,
}

/// The role of a container for the wanted fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Top,
    Message,
    Result,
    Payload,
    /// The list of content blocks, or of tool calls.
    Blocks {
        call: bool,
    },
    Block,
    Elsewhere,
}

/// How a value is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wanted {
    Nothing,
    Field(Field),
    InBlock(InBlock),
}

impl Machine {
    pub(super) fn new() -> Machine {
        Machine {
            state: State::Value,
            open: Vec::new(),
            at: 0,
            began: 0,
            shape: None,
            lone_surrogate: false,
            unit: 0,
            high: false,
            wanted: Wanted::Nothing,
            copies: Vec::new(),
            copy_from: 0,
            copy_most: 0,
            limits: Limits::HELD,
            python: false,
            deepest: 0,
        }
    }

    /// Starts a line.
    pub(super) fn start(&mut self, limits: Limits, found: &mut Found) {
        found.clear();
        self.state = State::Value;
        self.open.clear();
        self.at = 0;
        self.shape = None;
        self.lone_surrogate = false;
        self.high = false;
        self.wanted = Wanted::Nothing;
        self.copies.clear();
        self.copy_most = 0;
        self.limits = limits;
        self.deepest = 0;
    }

    /// Reads the next bytes of the line.
    pub(super) fn feed(&mut self, bytes: &[u8], found: &mut Found) {
        let before = self.at;
        let mut next = 0;
        while next < bytes.len() && self.state != State::Stopped {
            self.at = before + next as u64;
            next += self.step(&bytes[next..], found);
        }
        self.at = before + bytes.len() as u64;
    }

    /// Ends the line and returns its shape.
    pub(super) fn finish(&mut self, found: &mut Found) -> Shape {
        if let State::Number(_) = self.state {
            self.step(b"\n", found);
        }
        let (at, nothing) = (self.at, self.shape.is_none());
        match self.state {
            State::Stopped => {}
            State::Value if nothing && self.open.is_empty() => self.shape = Some(Shape::Blank),
            State::Value | State::FirstItem => self.flaw(at, "ends before a value"),
            State::FirstKey | State::Key => self.flaw(at, "ends inside an object"),
            State::Colon => self.flaw(at, "ends after a key"),
            State::Behind if self.open.is_empty() => {}
            State::Behind | State::Word(..) => self.flaw(at, "ends inside a value"),
            State::InString { .. } | State::Escape { .. } | State::Unicode { .. } => {
                self.flaw(at, ENDS_IN_STRING)
            }
            State::Number(_) => unreachable!("a line feed ends a number"),
        }
        found.settle();
        self.shape.expect("each way to end gives a shape")
    }

    /// Returns the bytes that the slots of [`Found`] point into.
    pub(super) fn copies(&self) -> &[u8] {
        &self.copies
    }

    /// Returns the deepest nesting of values.
    pub(super) fn deepest(&self) -> usize {
        self.deepest
    }

    /// Returns whether a string contained a lone surrogate.
    pub(super) fn lone_surrogate(&self) -> bool {
        self.lone_surrogate
    }

    /// Returns the length of the JSON value at the start of `bytes`, or `None` if there is no
    /// complete value.
    pub(super) fn value_len(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut nothing = Found::new();
        // Values that the reader accepted may contain these words.
        self.python = true;
        self.start(Limits::LONG, &mut nothing);
        if let Some(b' ' | b'\t' | b'\r' | b'\n') = bytes.first() {
            return None;
        }
        let mut next = 0;
        while next < bytes.len() {
            let passed = self.step(&bytes[next..], &mut nothing);
            next += passed;
            match self.state {
                State::Stopped => return None,
                State::Behind if self.open.is_empty() => return Some(next),
                _ => {}
            }
        }
        if let State::Number(_) = self.state {
            self.step(b"\n", &mut nothing);
        }
        (self.state == State::Behind && self.open.is_empty()).then_some(next)
    }

    /// Reads at least one byte and returns how many, except when a number ends at a byte that does
    /// not belong to it; then returns 0.
    fn step(&mut self, bytes: &[u8], found: &mut Found) -> usize {
        let byte = bytes[0];
        let space = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        match self.state {
            State::InString { key } => return self.in_string(bytes, key, found),
            State::Escape { key } => self.escape(byte, key),
            State::Unicode { key, digits } => self.unicode(byte, key, digits),
            State::Number(number) => return usize::from(self.number(number, byte, found)),
            State::Word(word, read) => self.in_word(word, read, byte, found),
            State::Value | State::FirstItem | State::FirstKey | State::Key | State::Colon | State::Behind
                if space => {}
            State::FirstItem if byte == b']' => self.close(),
            State::Value | State::FirstItem => self.value(byte, found),
            State::FirstKey if byte == b'}' => self.close(),
            State::FirstKey | State::Key if byte == b'"' => self.begin_string(true),
            State::FirstKey | State::Key => self.flaw(self.at, "a key is not a string"),
            State::Colon if byte == b':' => self.state = State::Value,
            State::Colon => self.flaw(self.at, "no colon after a key"),
            State::Behind => self.behind(byte),
            State::Stopped => {}
        }
        1
    }

    fn flaw(&mut self, at: u64, why: &'static str) {
        self.state = State::Stopped;
        self.shape = Some(Shape::Broken { at, why });
    }

    fn value(&mut self, byte: u8, found: &mut Found) {
        self.began = self.at;
        if let Some(Level { place: Place::Blocks { call }, .. }) = self.open.last()
            && !matches!(byte, b'{' | b'[')
        {
            found.odd_item(*call);
        }
        let number = match byte {
            b'{' | b'[' => return self.open(byte == b'{', found),
            b'"' => return self.begin_string(false),
            b't' => return self.state = State::Word(b"true", 1),
            b'f' => return self.state = State::Word(b"false", 1),
            b'n' => return self.state = State::Word(b"null", 1),
            b'N' if self.python => return self.state = State::Word(b"NaN", 1),
            b'I' if self.python => return self.state = State::Word(b"Infinity", 1),
            b'-' => Number::Minus,
            b'0' => Number::Zero,
            b'1'..=b'9' => Number::Digits,
            _ => return self.flaw(self.at, "expected a value"),
        };
        self.begin_copy();
        self.copy(&[byte]);
        self.state = State::Number(number);
    }

    fn open(&mut self, object: bool, found: &mut Found) {
        if self.open.len() == DEPTH {
            return self.flaw(self.at, TOO_DEEP);
        }
        let outer = self.open.last().map(|level| level.place);
        let place = match (outer, self.wanted, object) {
            (None, _, true) => Place::Top,
            (_, Wanted::Field(Field::Message), true) => Place::Message,
            (_, Wanted::Field(Field::ToolUseResult), true) => Place::Result,
            (_, Wanted::Field(Field::Payload), true) => Place::Payload,
            (_, Wanted::Field(Field::Content), false) => Place::Blocks { call: false },
            (_, Wanted::Field(Field::ToolCalls), false) => Place::Blocks { call: true },
            (Some(Place::Blocks { call }), ..) if found.blocks() < self.limits.blocks => {
                if !object {
                    found.odd_item(call);
                }
                found.block(call);
                if object { Place::Block } else { Place::Elsewhere }
            }
            _ => Place::Elsewhere,
        };
        self.keep(if object { ValueKind::Object } else { ValueKind::List }, found);
        self.open.push(Level { object, place });
        self.deepest = self.deepest.max(self.open.len());
        self.state = if object { State::FirstKey } else { State::FirstItem };
    }

    fn close(&mut self) {
        let level = self.open.pop().expect("a container is open");
        self.end_value(if level.object { ValueKind::Object } else { ValueKind::List });
    }

    fn end_value(&mut self, sort: ValueKind) {
        self.state = State::Behind;
        if self.open.is_empty() {
            self.shape = Some(if sort == ValueKind::Object { Shape::Object } else { Shape::Scalar });
        }
    }

    fn behind(&mut self, byte: u8) {
        let Some(level) = self.open.last() else {
            match self.shape {
                Some(Shape::Object) => self.shape = Some(Shape::Trailing { at: self.at }),
                _ => self.flaw(self.at, "there are more bytes after the value"),
            }
            self.state = State::Stopped;
            return;
        };
        match (byte, level.object) {
            (b',', true) => self.state = State::Key,
            (b',', false) => self.state = State::Value,
            (b'}', true) | (b']', false) => self.close(),
            (_, true) => self.flaw(self.at, "expected a comma or `}` after a member"),
            (_, false) => self.flaw(self.at, "expected a comma or `]` after an item"),
        }
    }

    /// Stores a value if it is wanted: a container as soon as it is opened, any other value after
    /// it was read.
    fn keep(&mut self, sort: ValueKind, found: &mut Found) {
        let copied = matches!(sort, ValueKind::String | ValueKind::Number);
        let stretch = match copied {
            true => Stretch { from: self.copy_from as u32, to: self.copies.len() as u32 },
            false => Stretch::default(),
        };
        match std::mem::replace(&mut self.wanted, Wanted::Nothing) {
            Wanted::Nothing => {}
            // There was no room left for its copy.
            Wanted::Field(_) | Wanted::InBlock(_) if copied && self.copy_most == 0 => {}
            Wanted::Field(field) => found.note(field, Slot { sort, stretch }),
            Wanted::InBlock(member) => {
                let string = (sort == ValueKind::String).then_some(stretch);
                found.in_block(member, &self.copies, string, sort == ValueKind::Null);
            }
        }
    }

    fn begin_string(&mut self, key: bool) {
        if key {
            self.copy_from = self.copies.len();
            self.copy_most = KEY;
        } else {
            self.begin_copy();
        }
        self.high = false;
        self.state = State::InString { key };
    }

    fn in_string(&mut self, bytes: &[u8], key: bool, found: &mut Found) -> usize {
        let plain = plain(bytes);
        self.copy(&bytes[..plain]);
        if plain > 0 {
            self.lone_surrogate |= std::mem::take(&mut self.high);
        }
        match bytes.get(plain) {
            None => return plain,
            Some(b'"') => {
                self.lone_surrogate |= std::mem::take(&mut self.high);
                if key {
                    self.end_key(found);
                } else {
                    self.keep(ValueKind::String, found);
                    self.end_value(ValueKind::String);
                }
            }
            Some(b'\\') => {
                self.began = self.at + plain as u64;
                self.copy(b"\\");
                self.state = State::Escape { key };
            }
            Some(_) => self.flaw(self.at + plain as u64, "a string contains a control character"),
        }
        plain + 1
    }

    fn escape(&mut self, byte: u8, key: bool) {
        self.copy(&[byte]);
        match byte {
            b'u' => {
                self.unit = 0;
                self.state = State::Unicode { key, digits: 0 };
            }
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                self.lone_surrogate |= std::mem::take(&mut self.high);
                self.state = State::InString { key };
            }
            _ => self.flaw(self.began, "a string contains an unknown escape"),
        }
    }

    fn unicode(&mut self, byte: u8, key: bool, digits: u8) {
        self.copy(&[byte]);
        let Some(digit) = char::from(byte).to_digit(16) else {
            return self.flaw(self.began, "a string contains an incomplete escape");
        };
        self.unit = self.unit << 4 | digit as u16;
        if digits < 3 {
            return self.state = State::Unicode { key, digits: digits + 1 };
        }
        let before = std::mem::take(&mut self.high);
        match self.unit {
            0xD800..=0xDBFF => {
                self.lone_surrogate |= before;
                self.high = true;
            }
            0xDC00..=0xDFFF => self.lone_surrogate |= !before,
            _ => self.lone_surrogate |= before,
        }
        self.state = State::InString { key };
    }

    /// Decides how the value of the key just read is kept.
    fn end_key(&mut self, found: &mut Found) {
        let key = super::decode(&self.copies[self.copy_from..]);
        let place = self.open.last().expect("an object has a key").place;
        let field = match place {
            Place::Top => AT_TOP.get(key.as_bytes()),
            Place::Message => IN_MESSAGE.get(key.as_bytes()),
            Place::Result => IN_RESULT.get(key.as_bytes()),
            Place::Payload => IN_PAYLOAD.get(key.as_bytes()),
            _ => None,
        };
        self.wanted = match field {
            Some(field) => Wanted::Field(field),
            None if place == Place::Block => {
                IN_BLOCK.get(key.as_bytes()).map_or(Wanted::Nothing, Wanted::InBlock)
            }
            None => Wanted::Nothing,
        };
        if let Some(field) = field {
            // If a key is repeated, the last one counts.
            found.forget(field);
        }
        drop(key);
        self.copies.truncate(self.copy_from);
        self.state = State::Colon;
    }

    /// Reads a byte of a number; returns whether it belonged to the number.
    fn number(&mut self, number: Number, byte: u8, found: &mut Found) -> bool {
        use Number::*;
        let next = match (number, byte) {
            (Minus, b'0') => Zero,
            (Minus | Digits, b'0'..=b'9') => Digits,
            (Zero | Digits, b'.') => Point,
            (Point | Fraction, b'0'..=b'9') => Fraction,
            (Zero | Digits | Fraction, b'e' | b'E') => E,
            (E, b'+' | b'-') => Sign,
            (E | Sign | Exponent, b'0'..=b'9') => Exponent,
            (Zero | Digits | Fraction | Exponent, _) => {
                self.keep(ValueKind::Number, found);
                self.end_value(ValueKind::Number);
                return false;
            }
            (Minus, b'I') if self.python => {
                self.copies.truncate(self.copy_from);
                self.state = State::Word(b"-Infinity", 2);
                return true;
            }
            (Minus | Point | E | Sign, _) => {
                self.flaw(self.at, "a digit is missing");
                return false;
            }
        };
        self.copy(&[byte]);
        self.state = State::Number(next);
        true
    }

    fn in_word(&mut self, word: &'static [u8], read: usize, byte: u8, found: &mut Found) {
        if word[read] != byte {
            return self.flaw(self.began, "expected a value");
        }
        if read + 1 < word.len() {
            return self.state = State::Word(word, read + 1);
        }
        let sort = match word[0] {
            b't' => ValueKind::True,
            b'f' => ValueKind::False,
            _ => ValueKind::Null,
        };
        self.keep(sort, found);
        self.end_value(sort);
    }

    /// Starts to copy a value if it is wanted and there is room.
    fn begin_copy(&mut self) {
        self.copy_from = self.copies.len();
        let (room, most) = match self.wanted {
            Wanted::Nothing => (0, 0),
            Wanted::InBlock(_) => (self.limits.strings, self.limits.string),
            // An id on a long line must equal that on a short one.
            Wanted::Field(_) => (self.limits.strings * 2, self.limits.strings),
        };
        self.copy_most = if self.copy_from < room { most } else { 0 };
    }

    fn copy(&mut self, bytes: &[u8]) {
        let room = self.copy_most.saturating_sub(self.copies.len() - self.copy_from);
        self.copies.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// Returns how many bytes at the start have no special meaning in a string, i.e. the offset of the
/// first quote, backslash or control character.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // The high bit of each byte that is zero; bits above the first of these may be false positives.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let mut passed = 0;
    for eight in bytes.as_chunks::<8>().0 {
        let word = u64::from_le_bytes(*eight);
        let quote = zero(word ^ (ONES * u64::from(b'"')));
        let backslash = zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let stops = (quote | backslash | control) & (ONES * 0x80);
        if stops != 0 {
            return passed + stops.trailing_zeros() as usize / 8;
        }
        passed += 8;
    }
    let stop = bytes[passed..].iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
    stop.map_or(bytes.len(), |stop| passed + stop)
}
