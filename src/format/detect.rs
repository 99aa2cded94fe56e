//! Detects the format of a file from its first lines, its name and its folder.

mod path;
mod vote;

use super::multiline::Multiline;
use super::{Format, Program};
use crate::json::{Field, Line, Members, Reader, Shape, Value, each_item, member_at};
use path::{by_folder, by_name};
use std::convert::Infallible;
use std::path::Path;
use vote::{Vote, WRITER, is_chimeras, is_known, is_openclaws, vote};

/// What the first lines reveal about a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detected {
    /// A session of this format.
    Format(Format),
    /// A session of a program whose format bough does not support.
    Foreign(Program),
    /// Only blank lines.
    Empty,
    /// Not a known kind of session.
    Unknown,
}

/// The maximum number of valid lines that are examined.
const LINES: usize = 50;

/// The bytes that are examined. More only if no line in them reveals anything: then up to [`MOST`].
const WINDOW: u64 = 16 << 10;

/// The maximum number of bytes that are examined. More only until two lines have ended.
const MOST: u64 = 256 << 10;

/// The interval, in bytes, at which to decide whether to examine more: the result must not depend
/// on how the bytes arrive.
const STEP: usize = 16 << 10;

/// How many bytes are examined first, of those that are there.
const FIRST: usize = 1 << 10;

/// Detects the format of a file from its first bytes and, if it has one, its path. A truncated last
/// line does no harm.
///
/// No single line decides. Each line in the first bytes is a vote for the program that writes such
/// lines; a header of pi is one more vote for the format that it names; and the most votes win. In
/// a tie, the name of the file and its folder decide, and then the order of the votes. Only the
/// bytes of `detect_in_blocks` are examined, so a file, a pipe and the same bytes in memory yield
/// the same result.
pub fn detect(bytes: &[u8], path: Option<&Path>) -> Detected {
    let result = detect_in_blocks(path, |offset, block| {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        block.extend_from_slice(&bytes[from..bytes.len().min(from + STEP)]);
        Ok::<(), Infallible>(())
    });
    match result {
        Ok(detected) => detected,
        Err(never) => match never {},
    }
}

/// Detects the format like [`detect()`]. Reads as many blocks as it needs, usually one.
///
/// `block` fills the empty buffer that it is given with bytes from an offset on; with none at the
/// end of the file.
pub fn detect_in_blocks<E>(
    path: Option<&Path>,
    mut block: impl FnMut(u64, &mut Vec<u8>) -> Result<(), E>,
) -> Result<Detected, E> {
    let mut look = Held::default();
    let mut reader = Reader::with_blocks(STEP);
    // Whether the program accepts these words is known only after its format.
    reader.python(true);
    let (mut bytes, mut offset) = (Vec::new(), 0);
    let mut start = Vec::new();
    'all: loop {
        bytes.clear();
        block(offset, &mut bytes)?;
        if start.len() < EXPORT_START {
            start.extend(bytes.iter().take(EXPORT_START - start.len()));
            if (start.len() == EXPORT_START || bytes.is_empty()) && is_opencodes(&start) {
                return Ok(Detected::Format(Format::OpenCode));
            }
        }
        if bytes.is_empty() {
            reader.finish(|line| look.line(line));
            look.let_go(true);
            break;
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            // The first lines are small, and often enough.
            let step = (STEP - (offset % STEP as u64) as usize).min((offset as usize).max(FIRST));
            let (piece, after) = rest.split_at(step.min(rest.len()));
            reader.feed(piece, |line| look.line(line));
            offset += piece.len() as u64;
            rest = after;
            if look.look.is_sure() || offset % STEP as u64 == 0 && look.look.has_enough(offset) {
                break 'all;
            }
        }
    }
    look.let_go(true);
    Ok(look.look.answer(path))
}

/// The number of bytes by which a document is recognized.
pub const EXPORT_START: usize = 4096;

/// Returns whether a file begins as a session that is one JSON document. `start` is its first [`EXPORT_START`]
/// bytes, or all of them.
pub fn is_export(start: &[u8]) -> bool {
    is_opencodes(start)
}

/// Returns whether a text begins as an export of OpenCode: with what is known of a session, or with a
/// list of messages.
fn is_opencodes(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    // In a long object, the first members are enough.
    let value_of = |text: &[u8], key: &str| {
        let inside = text.trim_ascii_start().strip_prefix(b"{")?.trim_ascii_start();
        let after = inside.strip_prefix(format!("\"{key}\"").as_bytes())?.trim_ascii_start();
        Some(after.strip_prefix(b":")?.trim_ascii_start().to_vec())
    };
    if let Some(info) = value_of(start, "info") {
        let info = Members::new(&info);
        return info.text("id").starts_with("ses_")
            || ["slug", "projectID", "directory"].iter().all(|key| info.get(key).is_some());
    }
    let first = value_of(start, "messages").and_then(|list| Some(list.strip_prefix(b"[")?.to_vec()));
    let info = first.and_then(|message| value_of(&message, "info"));
    info.is_some_and(|info| Members::new(&info).text("sessionID").starts_with("ses_"))
}

/// Returns whether a line ends in the first bytes of a file that is not blank.
pub fn has_line(head: &[u8]) -> bool {
    memchr::memchr(b'\n', head.trim_ascii_start()).is_some()
}

/// Examines lines as readers parse them: an object over several lines as one, and the items of a
/// list.
#[derive(Default)]
struct Held {
    look: Look,
    spread: Multiline,
    /// Reads again the lines that were held.
    again: Option<Reader>,
}

impl Held {
    fn line(&mut self, line: &Line<'_>) {
        let held = self.spread.takes(line);
        self.let_go(!held);
        if held {
            return;
        }
        match line.bytes.filter(|bytes| line.shape == Shape::Scalar && is_list(bytes)) {
            // Version 4 of the harness has lists of its own.
            Some(list) if !self.look.header_v4 => {
                let reader = self.again.get_or_insert_with(|| Reader::with_blocks(1 << 10));
                for item in each_item(list).take(LINES) {
                    reader.restart(0, 1);
                    reader.feed(item, |item| self.look.line(item));
                    reader.finish(|item| self.look.line(item));
                }
            }
            _ => self.look.line(line),
        }
    }

    /// Examines the held lines as far as they can be interpreted with certainty, or all of them if
    /// no more will come.
    fn let_go(&mut self, end: bool) {
        while let Some(raw) = self.spread.next(end) {
            let reader = self.again.get_or_insert_with(|| Reader::with_blocks(1 << 10));
            self.look.joined = raw.lines > 1;
            raw.read(reader, |line| self.look.line(line));
            self.look.joined = false;
        }
    }
}

/// The programs that write distinct lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Writer {
    Pi,
    HarnessV4,
    Chimera,
    Claude,
    Tau,
    Kit,
    Qwen,
    Codex,
    Gemini,
    Copilot,
}

const WRITERS: usize = Writer::Copilot as usize + 1;

#[derive(Default)]
struct Look {
    /// The number of valid lines.
    parsed: usize,
    /// The number of lines that have ended and are not blank.
    ended: usize,
    votes: [u32; WRITERS],
    /// Votes of objects over several lines for programs that may not read such objects. They count
    /// only together with a header of pi, or if no other line reveals anything.
    loose: [u32; WRITERS],
    /// Whether the current object spans several lines.
    joined: bool,
    /// The index of the first vote for each writer.
    first: [Option<u32>; WRITERS],
    header: Option<Format>,
    header_v4: bool,
    flat: u32,
    uuids: u32,
    /// The number of lines of pi's types.
    known: u32,
    /// The number of lines of Chimera's types.
    chimeras: u32,
    /// Whether a header has a `uuid` of its own.
    uuid: bool,
    /// Whether a header contains something that only Prime Agent writes.
    prime: bool,
    /// Whether a message after the first line is by OpenClaw itself, and not by a model.
    openclaw: bool,
}

impl Look {
    fn line(&mut self, line: &Line<'_>) {
        self.ended += usize::from(line.shape != Shape::Blank);
        if self.parsed == LINES || self.is_sure() {
            return;
        }
        let vote = match line.shape {
            Shape::Object | Shape::Trailing { .. } => {
                self.parsed += 1;
                vote(line)
            }
            // Version 4 puts several writes on a line.
            Shape::Scalar if self.header_v4 && line.bytes.is_some_and(is_list) => {
                Vote::For(Writer::HarnessV4)
            }
            _ => return,
        };
        match vote {
            Vote::For(writer) => {
                self.openclaw |= writer == Writer::Pi && self.parsed > 1 && is_openclaws(line);
                self.chimeras +=
                    u32::from(writer == Writer::Chimera && is_chimeras(line.fields.str(Field::Type)));
                self.known += u32::from(writer == Writer::Pi && is_known(line.fields.str(Field::Type)));
                self.count(writer);
            }
            Vote::Header(format) => {
                self.header = self.header.or(Some(format));
                self.uuid |= !matches!(line.fields.get(Field::Uuid), Value::Absent);
                self.prime |= line.bytes.is_some_and(|bytes| member_at(bytes, &["rlmDepth"]).is_some());
                self.first[Writer::Pi as usize].get_or_insert(self.parsed as u32);
            }
            Vote::HeaderV4 => {
                self.header_v4 = true;
                self.count(Writer::HarnessV4);
            }
            Vote::Flat => self.flat += 1,
            Vote::Uuids => {
                self.uuids += 1;
                self.count(Writer::Claude);
            }
            Vote::None => {}
        }
    }

    fn count(&mut self, writer: Writer) {
        let votes = match self.joined && writer != Writer::Claude {
            true => &mut self.loose,
            false => &mut self.votes,
        };
        votes[writer as usize] += 1;
        self.first[writer as usize].get_or_insert(self.parsed as u32);
    }

    fn has_votes(&self) -> bool {
        self.votes.iter().any(|votes| *votes > 0)
    }

    /// Returns the votes for each writer, including headers and lines that could be of two writers.
    fn scores(&self) -> [u32; WRITERS] {
        let mut scores = self.votes;
        if self.header.is_some() || !self.has_votes() {
            scores.iter_mut().zip(self.loose).for_each(|(score, loose)| *score += loose);
        }
        let pi = &mut scores[Writer::Pi as usize];
        match self.header {
            // A header without any supporting line counts as little as one line.
            Some(_) => {
                *pi += 1 + self.flat + self.uuids;
                scores[Writer::Claude as usize] -= self.uuids;
                let kit = &mut scores[Writer::Kit as usize];
                *kit += u32::from(*kit > 0);
            }
            // Lines with a parent and unknown types can be anything.
            None if self.known == 0 => *pi = 0,
            None => {}
        }
        if self.chimeras == 0 {
            scores[Writer::Chimera as usize] = 0;
        }
        scores
    }

    /// Returns whether no single line, and not even a few, could change the result.
    fn is_sure(&self) -> bool {
        const FEW: u32 = 3;
        if self.header.is_none() && !self.has_votes() {
            return false;
        }
        let scores = self.scores();
        let all: u32 = scores.iter().sum();
        scores.iter().any(|score| *score > FEW && *score == all)
    }

    /// Returns whether the first bytes are enough to decide.
    fn has_enough(&self, bytes: u64) -> bool {
        let tells = self.has_votes() || self.header.is_some() && self.flat > 0;
        self.parsed == LINES || bytes >= WINDOW && tells || bytes >= MOST && self.ended > 1
    }

    fn answer(&self, path: Option<&Path>) -> Detected {
        let scores = self.scores();
        let most = scores.iter().max().copied().unwrap_or_default();
        if most == 0 {
            return if self.ended == 0 { Detected::Empty } else { Detected::Unknown };
        }
        let likely = path.and_then(by_name);
        let best = WRITER
            .into_iter()
            .filter(|writer| scores[*writer as usize] == most)
            .min_by_key(|writer| (likely != Some(*writer), self.first[*writer as usize]))
            .expect("one of them has most votes");
        let owner = path.and_then(by_folder);
        match best {
            Writer::Pi => match self.header.unwrap_or(Format::Pi) {
                Format::PiV2 if self.uuid || self.uuids > 0 => Detected::Format(Format::PiDesign),
                Format::Pi if self.openclaw || owner == Some(Program::OpenClaw) => {
                    Detected::Format(Format::OpenClaw)
                }
                Format::Pi if self.prime || owner == Some(Program::Prime) => Detected::Format(Format::Prime),
                format => Detected::Format(format),
            },
            Writer::HarnessV4 => Detected::Format(Format::HarnessV4),
            Writer::Chimera => Detected::Format(Format::Chimera),
            Writer::Claude if owner == Some(Program::Qwen) => Detected::Foreign(Program::Qwen),
            Writer::Claude => Detected::Format(Format::Claude),
            Writer::Tau => Detected::Foreign(Program::Tau),
            Writer::Kit => Detected::Foreign(Program::Kit),
            Writer::Qwen => Detected::Foreign(Program::Qwen),
            Writer::Codex => Detected::Format(Format::Codex),
            Writer::Gemini => Detected::Format(Format::Gemini),
            Writer::Copilot => Detected::Format(Format::Copilot),
        }
    }
}

fn is_list(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"[")
}

/// Returns the member of the pi family that a header's version names.
fn version(version: Value<'_>) -> Format {
    let number = match version {
        Value::Number(number) => std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok()),
        Value::String(text) => text.text().trim().parse::<f64>().ok(),
        Value::Absent | Value::Null => Some(1.0),
        _ => None,
    };
    match number {
        Some(number) if number < 2.0 => Format::PiV1,
        Some(number) if number < 3.0 => Format::PiV2,
        _ => Format::Pi,
    }
}

#[cfg(test)]
mod tests;
