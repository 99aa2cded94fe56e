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
            let step = STEP - (offset % STEP as u64) as usize;
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
mod tests {
    use super::*;
    use Detected::{Foreign, Format as Of};

    const PI: &str =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-10T09:00:00.000Z","cwd":"/p"}"#;
    const PI_ENTRY: &str = r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-02-10T09:00:00.000Z","message":{"role":"user","content":"x"}}"#;
    const CLAUDE: &str = r#"{"parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","content":"x"},"uuid":"u1","timestamp":"2026-02-10T09:00:00.000Z"}"#;
    const CHIMERA: &str = r#"{"type": "message", "id": "0123456789ab", "parent_id": null, "timestamp": 1770714000.5, "message": {"role": "user", "content": "x"}}"#;
    const TAU: &str = r#"{"id":"0123456789abcdef0123456789abcdef","timestamp":1770714000.5,"type":"message","message":{"role":"user","content":"x"}}"#;
    const KIT: &str = r#"{"type":"message","id":"0123456789abcdef","timestamp":"2026-02-10T09:00:00.1Z","role":"user","parts":[{"type":"text","data":{"text":"x"}}]}"#;
    const QWEN: &str = r#"{"uuid":"u1","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"x"}]}}"#;
    const CODEX_META: &str =
        r#"{"timestamp":"2026-02-10T09:00:00.000Z","type":"session_meta","payload":{"id":"s","cwd":"/p"}}"#;
    const CODEX_ITEM: &str = r#"{"timestamp":"2026-02-10T09:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[]}}"#;
    const GEMINI_HEADER: &str =
        r#"{"sessionId":"s","projectHash":"h","startTime":"2026-02-10T09:00:00.000Z","kind":"main"}"#;
    const GEMINI_MESSAGE: &str =
        r#"{"id":"m1","timestamp":"2026-02-10T09:00:00.000Z","type":"user","content":[{"text":"x"}]}"#;
    const COPILOT: &str = r#"{"type":"user.message","data":{"content":"x"},"id":"e1","timestamp":"2026-02-10T09:00:00.000Z","parentId":null}"#;

    #[test]
    #[rustfmt::skip] // a table
    fn what_lines_tell() {
        let check = |lines: &[&str], wanted: Detected| {
            assert_eq!(detect(lines.join("\n").as_bytes(), None), wanted, "{}", lines.join("\n"));
        };
        // The supported formats, with and without a header.
        check(&[PI, PI_ENTRY],                                                              Of(Format::Pi));
        check(&[PI],                                                                        Of(Format::Pi));
        check(&[PI_ENTRY],                                                                  Of(Format::Pi));
        check(&["", PI],                                                                    Of(Format::Pi));
        check(&["garbage", PI, PI_ENTRY],                                                   Of(Format::Pi));
        check(&[r#"{"type":"session","version":99,"id":"s"}"#, PI_ENTRY],                   Of(Format::Pi));
        check(&[r#"{"type":"session","version":"2","id":"s"}"#, PI_ENTRY],                  Of(Format::PiV2));
        check(&[r#"{"type":"session","id":"s"}"#, r#"{"type":"message","message":{}}"#],    Of(Format::PiV1));
        check(&[r#"{"type":"session","id":"s"}"#],                                          Of(Format::PiV1));
        check(&[r#"{"type":"session","version":2,"uuid":"h"}"#,
                r#"{"type":"message","uuid":"a","parentUuid":"h","message":{"role":"user","content":"x"}}"#], Of(Format::PiDesign));
        check(&[r#"{"type":"session","version":3,"uuid":"h","id":"s"}"#,
                r#"{"type":"message","uuid":"a","parentUuid":"h","message":{"role":"user","content":"x"}}"#], Of(Format::Pi));
        check(&[r#"{"kind":"header","version":4,"id":"s"}"#],                               Of(Format::HarnessV4));
        check(&[r#"{"v":4,"kind":"header","id":"s"}"#, r#"[{"kind":"entry","id":"a"}]"#],   Of(Format::HarnessV4));
        check(&[CLAUDE],                                                                    Of(Format::Claude));
        check(&[r#"{"type":"summary","summary":"x","leafUuid":"u"}"#],                      Of(Format::Claude));
        check(&[r#"{"type":"file-history-snapshot","messageId":"u"}"#],                     Of(Format::Claude));
        check(&[r#"{"type":"custom-title","customTitle":"x","sessionId":"s"}"#],            Of(Format::Claude));
        check(&[CHIMERA],                                                                   Of(Format::Chimera));
        check(&[r#"{"type": "header", "id": "h", "version": 1, "cwd": "/p"}"#],             Of(Format::Chimera));
        check(&[r#"{"type": "state_change", "id": "a", "parent_id": null, "timestamp": 1.5, "kind": "model", "value": "m"}"#], Of(Format::Chimera));
        // The formats derived from them.
        check(&[TAU],                                                                       Foreign(Program::Tau));
        check(&[r#"{"id":"a","timestamp":1.5,"parent_id":"b","type":"session_info","created_at":1.5}"#],            Foreign(Program::Tau));
        check(&[r#"{"id":"a","timestamp":1.5,"parent_id":"b","type":"leaf","entry_id":"c"}"#],                      Foreign(Program::Tau));
        check(&[r#"{"id":"a","timestamp":1.5,"parent_id":"b","type":"thinking_level_change","thinking_level":"off"}"#], Foreign(Program::Tau));
        check(&[r#"{"id":"a","timestamp":1.5,"parent_id":"b","type":"message","message":{"role":"assistant","content":[]}}"#], Foreign(Program::Tau));
        check(&[PI, KIT],                                                                   Foreign(Program::Kit));
        check(&[KIT],                                                                       Foreign(Program::Kit));
        check(&[PI, r#"{"type":"system_prompt","id":"a","timestamp":"2026-02-10T09:00:00Z","content":"x"}"#],        Foreign(Program::Kit));
        check(&[PI, r#"{"type":"model_change","id":"a","parent_id":"b","timestamp":"2026-02-10T09:00:00Z","model_id":"m"}"#], Foreign(Program::Kit));
        check(&[QWEN],                                                                      Foreign(Program::Qwen));
        check(&[r#"{"uuid":"u","parentUuid":"v","sessionId":"s","type":"system","subtype":"rewind","systemPayload":{}}"#], Foreign(Program::Qwen));
        check(&[r#"{"uuid":"u","parentUuid":"v","sessionId":"s","type":"tool_result"}"#],   Foreign(Program::Qwen));
        // Those of other agents.
        check(&[COPILOT],                                                                   Of(Format::Copilot));
        check(&[CODEX_META],                                                                Of(Format::Codex));
        check(&[CODEX_ITEM],                                                                Of(Format::Codex));
        check(&[GEMINI_HEADER],                                                             Of(Format::Gemini));
        check(&[GEMINI_MESSAGE],                                                            Of(Format::Gemini));
        check(&[r#"{"$rewindTo":"m1"}"#],                                                   Of(Format::Gemini));
        check(&[r#"{"$set":{"lastUpdated":"2026-02-10T09:00:00.000Z"}}"#],                  Of(Format::Gemini));
        check(&["{", r#"  "info": {"#, r#"    "id": "ses_1","#],                              Of(Format::OpenCode));
        check(&[r#"{"info":{"id":"ses_1","title":"x"},"messages":[]}"#],                     Of(Format::OpenCode));
        check(&[r#"{"messages":[{"info":{"id":"msg_1","sessionID":"ses_1"}"#],               Of(Format::OpenCode));
        check(&[r#"{"info":{"id":"x"},"messages":[]}"#],                                     Detected::Unknown);
        check(&[r#"{"type":"response_item","payload":"x"}"#],                               Detected::Unknown);
        check(&[r#"{"type":"note","payload":{}}"#],                                         Detected::Unknown);
        check(&[r#"{"type":"user","id":"m1","content":[],"parentUuid":null}"#],             Of(Format::Claude));
        check(&[PI, PI_ENTRY, r#"{"type":"message","id":"b","parentId":"a1","message":{"role":"assistant","content":[],"provider":"openclaw"}}"#], Of(Format::OpenClaw));
        check(&[r#"{"type":"session","version":3,"id":"s","rlmDepth":0}"#, PI_ENTRY],        Of(Format::Prime));
        // Formats that are none of these.
        check(&[r#"{"type":"note","id":"a","parentId":null}"#],                             Detected::Unknown);
        check(&[r#"{"type":"note","id":"a","parent_id":null,"timestamp":1.5}"#],         Detected::Unknown);
        check(&[r#"{"type":"message","message":{"content":"x"}}"#],                         Detected::Unknown);
        check(&[r#"{"uuid":"u","sessionId":"s","type":"user","message":{"role":"user"}}"#], Detected::Unknown);
        check(&[r#"{"a":1}"#, "[1]", "x"],                                                  Detected::Unknown);
        check(&["x"],                                                                       Detected::Unknown);
        check(&["", " "],                                                                   Detected::Empty);
        check(&[],                                                                          Detected::Empty);
    }

    #[test]
    fn no_line_outvotes_the_others() {
        let lines = [PI_ENTRY, CLAUDE, CHIMERA, TAU, KIT, QWEN, COPILOT, CODEX_ITEM, GEMINI_MESSAGE];
        for own in lines {
            let session = [own; 4].join("\n");
            let wanted = detect(session.as_bytes(), None);
            for other in lines.into_iter().chain([PI]).filter(|other| *other != own) {
                // A header of pi is also Kit's.
                for at in 0..=4 {
                    let mut mixed = vec![own; 4];
                    mixed.insert(at, other);
                    assert_eq!(detect(mixed.join("\n").as_bytes(), None), wanted, "{}", mixed.join("\n"));
                }
            }
        }
    }

    #[test]
    #[rustfmt::skip] // a table
    fn the_name_and_the_folder_decide_between_equals() {
        let check = |path: &str, lines: &[&str], wanted: Detected| {
            assert_eq!(detect(lines.join("\n").as_bytes(), Some(Path::new(path))), wanted, "{path}");
        };
        for lines in [[PI_ENTRY, CLAUDE, PI_ENTRY, CLAUDE], [CLAUDE, PI_ENTRY, CLAUDE, PI_ENTRY]] {
            check("/h/0d0c0de0-0002-4000-8000-000000000001.jsonl",      &lines, Of(Format::Claude));
            check("/h/.claude/projects/-p/x.jsonl",                     &lines, Of(Format::Claude));
            check("/h/agent-a1.jsonl",                                  &lines, Of(Format::Claude));
            check("/h/2026-02-10T09-00-00-000Z_0d0c.jsonl",             &lines, Of(Format::Pi));
            check("/h/.pi/agent/sessions/--p--/x.jsonl",                &lines, Of(Format::Pi));
        }
        check("x.jsonl",                                                &[CLAUDE, PI_ENTRY], Of(Format::Claude));
        check("x.jsonl",                                                &[PI_ENTRY, CLAUDE], Of(Format::Pi));
        // They do not overrule the lines.
        check("/h/0d0c0de0-0002-4000-8000-000000000001.jsonl",          &[PI, PI_ENTRY],     Of(Format::Pi));
        check("/h/.claude/projects/-p/x.jsonl",                         &[CHIMERA],          Of(Format::Chimera));
        // Some stores contain files that look like another agent's.
        check("/h/.openclaw/agents/main/sessions/x.jsonl",              &[PI, PI_ENTRY],     Of(Format::OpenClaw));
        check("/h/.prime/agent/sessions/x.jsonl",                       &[PI, PI_ENTRY],     Of(Format::Prime));
        check("/h/.qwen/projects/-p/chats/x.jsonl",                     &[CLAUDE],           Foreign(Program::Qwen));
        check("/h/.openclaw/workspace/x.jsonl",                         &[PI, PI_ENTRY],     Of(Format::Pi));
        check("/h/.openclaw/agents/main/sessions/x.jsonl",              &[CLAUDE],           Of(Format::Claude));
    }

    #[test]
    fn the_same_bytes_are_told_alike_however_they_come() {
        let long = "x".repeat(20_000);
        let header = format!(r#"{{"type":"session","version":3,"id":"s","cwd":"{long}"}}"#);
        let texts = [
            // The first entry is after the bytes that are examined first.
            format!("{header}\n{KIT}\n"),
            format!("{header}\n{PI_ENTRY}\n"),
            format!("{long}\n{CLAUDE}\n"),
            format!("{}\n{CHIMERA}", format!("{PI_ENTRY}\n").repeat(30)),
            format!("{}\n{}", format!("{CLAUDE}\n").repeat(60), format!("{PI_ENTRY}\n").repeat(600)),
            format!("{PI_ENTRY}\n{}", format!("{CLAUDE}\n").repeat(300)),
        ];
        for text in &texts {
            let wanted = detect(text.as_bytes(), None);
            for size in [1 << 10, (16 << 10) - 1, 100_000, usize::MAX] {
                let detected = detect_in_blocks(None, |offset, block| {
                    let rest = &text.as_bytes()[(offset as usize).min(text.len())..];
                    block.extend_from_slice(&rest[..rest.len().min(size)]);
                    Ok::<(), Infallible>(())
                });
                assert_eq!(detected, Ok(wanted));
            }
        }
        assert_eq!(detect(texts[0].as_bytes(), None), Foreign(Program::Kit));
        assert_eq!(detect(texts[2].as_bytes(), None), Of(Format::Claude));
    }

    #[test]
    fn no_more_is_read_than_it_takes() {
        let read = |text: &str| {
            let mut most = 0;
            let detected = detect_in_blocks(None, |offset, block| {
                let rest = &text.as_bytes()[(offset as usize).min(text.len())..];
                block.extend_from_slice(&rest[..rest.len().min(STEP)]);
                most = offset + block.len() as u64;
                Ok::<(), Infallible>(())
            });
            (detected.unwrap(), most)
        };
        let session = format!("{PI}\n{}", format!("{PI_ENTRY}\n").repeat(100_000));
        assert_eq!(read(&session), (Of(Format::Pi), STEP as u64));
        let text = "some words\n".repeat(1_000_000);
        assert_eq!(read(&text), (Detected::Unknown, MOST));
        // A first line may have any length.
        let long = format!("{}{}\n", " ".repeat(1 << 20), CLAUDE);
        assert_eq!(read(&long), (Of(Format::Claude), long.len() as u64));
    }
}
