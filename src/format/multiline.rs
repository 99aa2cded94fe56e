//! Objects that span several lines, and lines after a form feed: some programs accept them.

use crate::json::{DEPTH, Ending, Line, Reader, Shape, TOO_DEEP, end_of_string};
use crate::model::FaultKind;
use std::collections::VecDeque;

/// The maximum number of bytes that are held while it is undecided whether lines are one object.
const HELD: usize = 4 << 20;

/// The maximum number of bytes that are searched in vain; after that, lines are read one by one.
/// Without this limit, a file of lines that each begin an object and never end it would be read
/// again for each of them.
const VAIN: usize = 64 << 20;

/// A line, or several that form one object, to be read again.
#[derive(Clone)]
pub(super) struct Raw {
    /// Its bytes, without the line ending; line breaks inside are replaced by spaces.
    pub bytes: Vec<u8>,
    /// The offset in the file.
    pub offset: u64,
    /// The number of the first line.
    pub number: u64,
    pub ending: Ending,
    /// How many lines it spans.
    pub lines: u64,
    /// The offset of its first line, including white space before the object.
    pub start: u64,
    /// What is wrong with each of its lines by itself.
    pub faults: Vec<LineFault>,
}

/// What is wrong with one line.
#[derive(Clone, Copy)]
pub(super) struct LineFault {
    pub line: u64,
    pub offset: u64,
    pub len: u64,
    pub kind: FaultKind,
}

impl Raw {
    /// Reads it again as one line.
    pub fn read(&self, reader: &mut Reader, mut each: impl FnMut(&Line<'_>)) {
        let line_end: &[u8] = match self.ending {
            Ending::Lf => b"\n",
            Ending::CrLf => b"\r\n",
            Ending::None => b"",
        };
        reader.restart(self.offset, self.number - 1);
        for bytes in [&self.bytes[..], line_end] {
            reader.feed(bytes, &mut each);
        }
        reader.finish(each);
    }
}

/// Returns what is wrong with a line, independent of its format.
pub(super) fn faults_of(line: &Line<'_>) -> impl Iterator<Item = LineFault> {
    let notes = line.notes;
    let (broken, usable) = match line.shape {
        Shape::Blank => (None, false),
        Shape::Broken { at, why: TOO_DEEP } => (Some(FaultKind::TooDeep { at }), false),
        Shape::Broken { at, why } => (Some(FaultKind::Broken { at, why }), false),
        Shape::Trailing { at } => (Some(FaultKind::Trailing { at }), false),
        Shape::Object | Shape::Scalar => (None, true),
    };
    let (line, offset, len) = (line.number, line.offset, line.len);
    [
        notes.bom.then_some(FaultKind::Bom),
        notes.nul.then_some(FaultKind::Nul),
        broken,
        (notes.invalid_utf8 && usable).then_some(FaultKind::InvalidUtf8),
        (notes.lone_surrogate && usable).then_some(FaultKind::LoneSurrogate),
    ]
    .into_iter()
    .flatten()
    .map(move |kind| LineFault { line, offset, len, kind })
}

/// Lines that may be parts of one object.
#[derive(Clone, Default)]
pub(super) struct Multiline {
    held: VecDeque<Raw>,
    bytes: usize,
    open: Option<Nest>,
    /// How many of the held lines belong to the open object.
    fed: usize,
    vain: usize,
}

impl Multiline {
    /// Takes a line, or refuses it: if no object is open and the line does not begin one.
    pub fn takes(&mut self, line: &Line<'_>) -> bool {
        if self.held.is_empty() && (self.vain > VAIN || !may_begin(line)) {
            return false;
        }
        let Some(bytes) = line.bytes.filter(|bytes| bytes.len() <= HELD) else { return false };
        self.bytes += bytes.len();
        self.held.push_back(Raw {
            bytes: bytes.to_vec(),
            offset: line.offset,
            number: line.number,
            ending: line.ending,
            lines: 1,
            start: line.offset,
            faults: faults_of(line).collect(),
        });
        true
    }

    /// Returns whether no line is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns the next line that is certain by now, either single or joined. `end` says that no
    /// more lines will come.
    pub fn next(&mut self, end: bool) -> Option<Raw> {
        while self.fed < self.held.len() {
            let front = &self.held[0];
            if self.open.is_none() {
                let skip = front.bytes.iter().take_while(|byte| is_space(**byte)).count();
                if front.bytes.get(skip) != Some(&b'{') || self.vain > VAIN {
                    return self.pop_alone(skip);
                }
                self.open = Some(Nest::default());
            }
            let nest = self.open.as_mut().expect("opened above");
            let line = &self.held[self.fed].bytes;
            self.fed += 1;
            match nest.line(line) {
                Step::Open if self.bytes <= HELD => {}
                Step::Done => return self.join(),
                Step::Open | Step::Wrong => return self.give_up(),
            }
        }
        if end && !self.held.is_empty() { self.give_up() } else { None }
    }

    fn give_up(&mut self) -> Option<Raw> {
        self.vain += self.held.iter().take(self.fed).map(|raw| raw.bytes.len() + 1).sum::<usize>();
        self.open = None;
        let skip = self.held[0].bytes.iter().take_while(|byte| is_space(**byte)).count();
        self.pop_alone(skip)
    }

    /// Returns the first line by itself, without the white space before it if JSON does not allow
    /// all of it.
    fn pop_alone(&mut self, skip: usize) -> Option<Raw> {
        let space = self.held.front().map_or(&[][..], |raw| &raw.bytes[..skip]);
        let is_of_json = !space.iter().any(|byte| matches!(byte, 0x0B | 0x0C));
        self.pop(if is_of_json { 0 } else { skip })
    }

    /// Returns the first line without its first bytes.
    fn pop(&mut self, skip: usize) -> Option<Raw> {
        self.fed = 0;
        let mut raw = self.held.pop_front()?;
        self.bytes -= raw.bytes.len();
        raw.bytes.drain(..skip);
        raw.offset += skip as u64;
        Some(raw)
    }

    fn join(&mut self) -> Option<Raw> {
        let count = self.fed;
        self.open = None;
        let first = self.held.front().map_or(0, |raw| raw.bytes.len() - raw.bytes.trim_ascii_start().len());
        let mut all = self.pop(first)?;
        for _ in 1..count {
            let next = self.pop(0)?;
            let gap = (next.offset - all.offset) as usize - all.bytes.len();
            all.bytes.extend(std::iter::repeat_n(b' ', gap));
            all.bytes.extend_from_slice(&next.bytes);
            all.ending = next.ending;
            all.lines += 1;
            all.faults.extend(next.faults);
        }
        Some(all)
    }
}

fn may_begin(line: &Line<'_>) -> bool {
    let Shape::Broken { .. } = line.shape else { return false };
    let Some(bytes) = line.bytes else { return false };
    match bytes.iter().position(|byte| !b" \t\r\n".contains(byte)) {
        Some(at) => matches!(bytes[at], b'{' | 0x0B | 0x0C),
        None => false,
    }
}

/// Returns whether a byte is white space between lines: that of JSON, the vertical tab, and the
/// form feed.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0B | 0x0C)
}

/// Follows the brackets of one object over several lines.
#[derive(Clone, Default)]
struct Nest {
    /// The closing brackets that must follow.
    stack: Vec<u8>,
    due: Due,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Due {
    #[default]
    Value,
    FirstItem,
    FirstKey,
    Key,
    Colon,
    Comma,
}

enum Step {
    Open,
    Done,
    Wrong,
}

impl Nest {
    fn line(&mut self, line: &[u8]) -> Step {
        let mut at = 0;
        while let Some(byte) = line.get(at).copied() {
            at += 1;
            // Other white space than JSON's is harmless only before the object.
            if byte.is_ascii_whitespace() && (byte != 0x0C || self.stack.is_empty())
                || byte == 0x0B && self.stack.is_empty()
            {
                continue;
            }
            let closes = self.stack.last() == Some(&byte);
            match (self.due, byte) {
                (Due::FirstItem | Due::FirstKey | Due::Comma, _) if closes => {
                    self.stack.pop();
                    self.due = Due::Comma;
                    if self.stack.is_empty() {
                        return Step::Done;
                    }
                }
                (Due::Value | Due::FirstItem, b'{' | b'[') if self.stack.len() < DEPTH => {
                    self.stack.push(if byte == b'{' { b'}' } else { b']' });
                    self.due = if byte == b'{' { Due::FirstKey } else { Due::FirstItem };
                }
                (Due::Value | Due::FirstItem | Due::FirstKey | Due::Key, b'"') => {
                    let Some(end) = end_of_string(line, at - 1) else { return Step::Wrong };
                    at = end;
                    let key = matches!(self.due, Due::FirstKey | Due::Key);
                    self.due = if key { Due::Colon } else { Due::Comma };
                }
                (Due::Value | Due::FirstItem, b'-' | b'0'..=b'9' | b'a'..=b'z') => {
                    let more = line[at..].iter().take_while(|byte| {
                        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
                    });
                    at += more.count();
                    self.due = Due::Comma;
                }
                (Due::Colon, b':') => self.due = Due::Value,
                (Due::Comma, b',') => {
                    self.due = if self.stack.last() == Some(&b'}') { Due::Key } else { Due::Value };
                }
                _ => return Step::Wrong,
            }
        }
        Step::Open
    }
}
