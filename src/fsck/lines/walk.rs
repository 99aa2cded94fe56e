//! A lenient, resumable walk through JSON bytes.

use crate::json::DEPTH;

/// Walks through bytes as JSON, one object at a time, and can be stopped anywhere.
///
/// The reader checks whole lines; this checks a piece: where the object ends, or where it is
/// invalid. It accepts raw control characters in strings, and line breaks anywhere, and returns the
/// object without them.
pub(crate) struct Walk {
    stack: Vec<u8>,
    state: State,
    /// Whether a string contained a raw control character.
    raw: bool,
    /// The maximum depth of nested objects and lists.
    most: usize,
    /// The actual depth.
    deepest: usize,
    /// Whether `NaN` and the like are accepted as values.
    python: bool,
    /// The object so far, repaired.
    pub(crate) copied: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// A value must come; or, in a list that was just opened, its end.
    Value {
        empty: bool,
    },
    /// A key must come; or, in an object that was just opened, its end.
    Key {
        empty: bool,
    },
    Colon,
    /// A comma or the end of the container must come.
    Behind,
    Text {
        key: bool,
    },
    Escape {
        key: bool,
    },
    Unicode {
        key: bool,
        left: u8,
    },
    Number(Digits),
    Word(&'static [u8]),
}

/// The part of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Digits {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    Power,
    PowerSign,
    Exponent,
}

/// An object that ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Whole {
    /// The offset after it.
    pub end: usize,
    /// Whether its strings contain raw control characters.
    pub raw: bool,
}

/// The result of feeding bytes to a [`Walk`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The object ended; holds the offset after it.
    Done(usize),
    /// The bytes ended first.
    More,
    /// Not JSON from this offset on.
    Wrong(usize),
}

impl Walk {
    /// Starts a walk at an opening brace.
    pub(crate) fn new(python: bool) -> Walk {
        Walk {
            stack: Vec::new(),
            state: State::Value { empty: false },
            raw: false,
            most: DEPTH,
            deepest: 0,
            python,
            copied: Vec::new(),
        }
    }

    /// Walks through the object that begins at `from`, however deep it is. Returns the offset after
    /// it, and whether it is deeper than the reader can go, or else the offset of the error.
    pub(crate) fn of_any_depth(bytes: &[u8], from: usize, python: bool) -> Result<(usize, bool), usize> {
        let mut walk = Walk { most: usize::MAX, ..Walk::new(python) };
        match walk.feed(&bytes[from..], false) {
            Step::Done(end) if !walk.raw => Ok((from + end, walk.deepest > DEPTH)),
            Step::Done(end) => Err(from + end),
            Step::More => Err(bytes.len()),
            Step::Wrong(at) => Err(from + at),
        }
    }

    /// Walks through the object that begins at `from`, which may contain raw control characters but
    /// no other error. Otherwise returns the offset of the error.
    pub(crate) fn object(bytes: &[u8], from: usize, python: bool) -> Result<Whole, usize> {
        let mut walk = Walk::new(python);
        match walk.feed(&bytes[from..], false) {
            Step::Done(end) => Ok(Whole { end: from + end, raw: walk.raw }),
            Step::More => Err(bytes.len()),
            Step::Wrong(at) => Err(from + at),
        }
    }

    /// Returns an object with its raw control characters escaped.
    pub(crate) fn escape_controls(object: &[u8]) -> Vec<u8> {
        let mut walk = Walk::new(true);
        walk.feed(object, true);
        walk.copied
    }

    /// Processes the end of a line after which the object continues. In a string the line break is
    /// kept, as an escape; elsewhere it is dropped.
    pub(crate) fn line_break(&mut self) {
        if self.state == (State::Text { key: false }) {
            self.copied.extend_from_slice(b"\\n");
        }
    }

    /// Processes more bytes. With `copying`, they are kept, and raw control characters in strings are
    /// escaped.
    pub(crate) fn feed(&mut self, bytes: &[u8], copying: bool) -> Step {
        for (at, byte) in bytes.iter().enumerate() {
            if !self.take(*byte, copying) {
                return Step::Wrong(at);
            }
            if self.stack.is_empty() && self.state == State::Behind {
                return Step::Done(at + 1);
            }
        }
        Step::More
    }

    fn take(&mut self, byte: u8, copying: bool) -> bool {
        // A number ends at the byte after it.
        if let State::Number(digits) = self.state {
            match next_digit(digits, byte) {
                Some(digits) => {
                    self.state = State::Number(digits);
                    self.keep(byte, copying);
                    return true;
                }
                None if matches!(
                    digits,
                    Digits::Zero | Digits::Whole | Digits::Fraction | Digits::Exponent
                ) =>
                {
                    self.state = State::Behind;
                }
                None if digits == Digits::Minus && byte == b'I' && self.python => {
                    self.state = State::Word(b"nfinity");
                    self.keep(byte, copying);
                    return true;
                }
                None => return false,
            }
        }
        let space = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        let next = match self.state {
            State::Text { key } => match byte {
                b'"' if key => State::Colon,
                b'"' => State::Behind,
                b'\\' => State::Escape { key },
                0..0x20 => {
                    self.raw = true;
                    if copying {
                        self.copied.extend_from_slice(&escaped(byte));
                    }
                    return true;
                }
                _ => self.state,
            },
            State::Escape { key } => match byte {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => State::Text { key },
                b'u' => State::Unicode { key, left: 4 },
                _ => return false,
            },
            State::Unicode { key, left } if byte.is_ascii_hexdigit() => match left {
                1 => State::Text { key },
                _ => State::Unicode { key, left: left - 1 },
            },
            State::Unicode { .. } => return false,
            State::Word([first, rest @ ..]) if *first == byte => {
                if rest.is_empty() {
                    State::Behind
                } else {
                    State::Word(rest)
                }
            }
            State::Word(_) => return false,
            _ if space => self.state,
            State::Value { empty: true } if byte == b']' => return self.close(byte, copying),
            State::Value { .. } => match byte {
                b'{' => return self.open(byte, State::Key { empty: true }, copying),
                b'[' => return self.open(byte, State::Value { empty: true }, copying),
                b'"' => State::Text { key: false },
                b'-' => State::Number(Digits::Minus),
                b'0' => State::Number(Digits::Zero),
                b'1'..=b'9' => State::Number(Digits::Whole),
                b't' => State::Word(b"rue"),
                b'f' => State::Word(b"alse"),
                b'n' => State::Word(b"ull"),
                b'N' if self.python => State::Word(b"aN"),
                b'I' if self.python => State::Word(b"nfinity"),
                _ => return false,
            },
            State::Key { empty: true } if byte == b'}' => return self.close(byte, copying),
            State::Key { .. } if byte == b'"' => State::Text { key: true },
            State::Colon if byte == b':' => State::Value { empty: false },
            State::Behind => match (byte, self.stack.last()) {
                (b',', Some(b'{')) => State::Key { empty: false },
                (b',', Some(b'[')) => State::Value { empty: false },
                (b'}', Some(b'{')) | (b']', Some(b'[')) => return self.close(byte, copying),
                _ => return false,
            },
            State::Key { .. } | State::Colon => return false,
            State::Number(_) => unreachable!("numbers are dealt with above"),
        };
        self.state = next;
        self.keep(byte, copying);
        true
    }

    fn keep(&mut self, byte: u8, copying: bool) {
        if copying {
            self.copied.push(byte);
        }
    }

    fn open(&mut self, byte: u8, inside: State, copying: bool) -> bool {
        if self.stack.len() == self.most {
            return false;
        }
        self.stack.push(byte);
        self.deepest = self.deepest.max(self.stack.len());
        self.state = inside;
        self.keep(byte, copying);
        true
    }

    fn close(&mut self, byte: u8, copying: bool) -> bool {
        self.stack.pop();
        self.state = State::Behind;
        self.keep(byte, copying);
        true
    }
}

fn next_digit(digits: Digits, byte: u8) -> Option<Digits> {
    Some(match (digits, byte) {
        (Digits::Minus, b'0') => Digits::Zero,
        (Digits::Minus | Digits::Whole, b'0'..=b'9') => Digits::Whole,
        (Digits::Zero | Digits::Whole, b'.') => Digits::Point,
        (Digits::Point | Digits::Fraction, b'0'..=b'9') => Digits::Fraction,
        (Digits::Zero | Digits::Whole | Digits::Fraction, b'e' | b'E') => Digits::Power,
        (Digits::Power, b'+' | b'-') => Digits::PowerSign,
        (Digits::Power | Digits::PowerSign | Digits::Exponent, b'0'..=b'9') => Digits::Exponent,
        _ => return None,
    })
}

/// Returns a control character as an escape.
fn escaped(byte: u8) -> Vec<u8> {
    match byte {
        b'\t' => b"\\t".to_vec(),
        b'\n' => b"\\n".to_vec(),
        b'\r' => b"\\r".to_vec(),
        8 => b"\\b".to_vec(),
        12 => b"\\f".to_vec(),
        _ => format!("\\u{byte:04x}").into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn an_object_ends_where_its_brace_closes() {
        let check = |text: &str, end: Result<usize, usize>| {
            assert_eq!(Walk::object(text.as_bytes(), 0, false).map(|whole| whole.end), end, "{text}");
        };
        check("{}",                          Ok(2));
        check(r#"{"a":1}{"b":2}"#,           Ok(7));
        check(r#"{"a":[1,-2.5e3,{"b":"}"}]} x"#, Ok(26));
        check(r#"{"a":"\u00e9\"\\"}"#,       Ok(18));
        check(r#"{"a":tru}"#,                Err(8));
        check(r#"{"a":1"#,                   Err(6));
        check(r#"{"a":01}"#,                 Err(6));
        check(r#"{"ty{"type":1}"#,           Err(6));
        check(r#"{"a":"x{"b":1}"#,           Err(9));
        check("{\"a\":\"\t\"}",              Ok(9));
        check("{,}",                         Err(1));
        check("[1]",                         Ok(3));
    }

    #[test]
    fn control_characters_are_escaped_and_lines_joined() {
        let mut walk = Walk::new(false);
        assert_eq!(walk.feed(b"{\"a\":\"one\ttab", true), Step::More);
        walk.line_break();
        assert_eq!(walk.feed(b"two\", \"b\":1", true), Step::More);
        walk.line_break();
        assert_eq!(walk.feed(b"2}", true), Step::Done(2));
        assert_eq!(walk.copied, br#"{"a":"one\ttab\ntwo", "b":12}"#);
    }
}
