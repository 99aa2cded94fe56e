//! Detects the format of a file from its first lines, its name and its folder.

use super::multiline::Multiline;
use super::{Format, Program};
use crate::json::{Field, Line, Members, Reader, Shape, Str, Value, each_item, member, member_at};
use std::convert::Infallible;
use std::path::Path;

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

/// What one line reveals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Vote {
    /// Its writer.
    For(Writer),
    /// A header of pi, or of a program that adopted it.
    Header(Format),
    /// The header of version 4 of pi's harness.
    HeaderV4,
    /// An entry of pi's version 1, without an id and a parent.
    Flat,
    /// An entry of one of pi's types, with `uuid` and `parentUuid` and no session: it belongs to
    /// pi's design document if there is a header.
    Uuids,
    /// Nothing.
    None,
}

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

const WRITER: [Writer; WRITERS] = [
    Writer::Pi,
    Writer::HarnessV4,
    Writer::Chimera,
    Writer::Claude,
    Writer::Tau,
    Writer::Kit,
    Writer::Qwen,
    Writer::Codex,
    Writer::Gemini,
    Writer::Copilot,
];

/// The types of Codex's lines.
const CODEX: [&str; 8] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "world_state",
    "token_usage_record",
    "inter_agent_communication",
];

/// The types of Gemini's messages.
const GEMINI: [&str; 5] = ["user", "gemini", "info", "warning", "error"];

/// Returns the vote of one object for the program that wrote it.
fn vote(line: &Line<'_>) -> Vote {
    let fields = &line.fields;
    let has = |field| !matches!(fields.get(field), Value::Absent);
    let ty = fields.str(Field::Type);
    let is = |wanted: &str| ty.is_some_and(|ty| ty.equals(wanted));
    let top = |key: &str| line.bytes.and_then(|bytes| member_at(bytes, &[key]));
    if is("session") && !has(Field::ParentSnake) {
        return Vote::Header(version(fields.get(Field::Version)));
    }
    if let Some(kind) = fields.str(Field::Kind)
        && (ty.is_none() || kind.equals("entry"))
    {
        let four = |field| matches!(fields.get(field), Value::Number(b"4"));
        if kind.equals("header") && (four(Field::Version) || four(Field::V)) {
            return Vote::HeaderV4;
        }
        if ["entry", "record", "lane", "fact", "value", "usage"].iter().any(|word| kind.equals(word)) {
            return Vote::For(Writer::HarnessV4);
        }
    }
    let is_set = fields.get(Field::Set) == Value::Object || fields.str(Field::RewindTo).is_some();
    if ty.is_none() && (is_set || has(Field::SessionId) && top("projectHash").is_some()) {
        return Vote::For(Writer::Gemini);
    }
    // All lines below have a type.
    let Some(ty) = ty else { return Vote::None };
    if fields.get(Field::Payload) == Value::Object {
        if ty.raw.contains(&b'.') && top("data").is_some() {
            return Vote::For(Writer::Copilot);
        }
        if CODEX.iter().any(|known| ty.equals(known)) && top("payload").is_some() {
            return Vote::For(Writer::Codex);
        }
    }
    // Their messages have no links, and no object of their own.
    let is_plain = [Field::ParentId, Field::ParentUuid, Field::ParentSnake, Field::Uuid, Field::Message];
    if GEMINI.iter().any(|known| ty.equals(known))
        && fields.str(Field::Id).is_some()
        && !is_plain.into_iter().any(has)
        && top("content").is_some()
    {
        return Vote::For(Writer::Gemini);
    }
    // Lines of the design document that pi migrated have both types of links.
    let is_migrated = has(Field::ParentId) && !has(Field::SessionId);
    let has_links = has(Field::ParentUuid) || has(Field::LeafUuid) || has(Field::SnapshotId);
    if has(Field::SessionId) || has_links && !is_migrated {
        return of_claude(line, ty);
    }
    if has(Field::ParentId) {
        // Lines of Kit, copied by something that writes the parent in both spellings.
        return match has(Field::ParentSnake) {
            true => of_snake(line, ty),
            false => Vote::For(Writer::Pi),
        };
    }
    if has(Field::ParentSnake) || fields.str(Field::Id).is_some() || is("header") && has(Field::Cwd) {
        return of_snake(line, ty);
    }
    match is_known(Some(ty)) {
        true => Vote::Flat,
        false => Vote::None,
    }
}

/// Returns the vote of a line with the links of Claude Code: Qwen Code has them, too.
fn of_claude(line: &Line<'_>, ty: Str<'_>) -> Vote {
    let fields = &line.fields;
    let has = |field| !matches!(fields.get(field), Value::Absent);
    let says = |path: &[&str]| line.bytes.is_some_and(|bytes| member_at(bytes, path).is_some());
    match fields.get(Field::Message) {
        Value::Object if !has(Field::Content) => match says(&["message", "parts"]) {
            true => Vote::For(Writer::Qwen),
            // Every message of Claude Code has `content`.
            false => Vote::None,
        },
        _ if ty.equals("tool_result") || says(&["systemPayload"]) => Vote::For(Writer::Qwen),
        _ if has(Field::ParentUuid) && !has(Field::SessionId) && is_known(Some(ty)) => Vote::Uuids,
        _ => Vote::For(Writer::Claude),
    }
}

/// Returns the vote of a line with `parent_id`, or with an id and no parent: Chimera, Tau and Kit
/// have them.
fn of_snake(line: &Line<'_>, ty: Str<'_>) -> Vote {
    let fields = &line.fields;
    let has = |field| !matches!(fields.get(field), Value::Absent);
    let says = |path: &[&str]| line.bytes.is_some_and(|bytes| member_at(bytes, path).is_some());
    let any = |words: &[&str]| words.iter().any(|word| ty.equals(word));
    let has_parent = has(Field::ParentSnake);
    // Kit writes times as strings, and a message without an object of its own.
    let words = matches!(fields.get(Field::Timestamp), Value::String(_));
    if !has(Field::Message) && words {
        let of_kit = match ty.equals("message") {
            true => says(&["parts"]),
            false => {
                any(&["system_prompt", "extension_data", "incomplete_output"])
                    || has_parent
                        && any(&["model_change", "branch_summary", "label", "session_info", "compaction"])
            }
        };
        if of_kit {
            return Vote::For(Writer::Kit);
        }
    }
    // Tau writes ids of 32 hexadecimal digits, Chimera of 12; the messages of Tau are those of pi.
    let seconds = matches!(fields.get(Field::Timestamp), Value::Number(_));
    let is_long = fields.str(Field::Id).is_some_and(|id| id.raw.len() == 32 && id.raw.iter().all(is_hex));
    let of_tau = match () {
        () if ty.equals("leaf") => says(&["entry_id"]),
        () if ty.equals("session_info") => says(&["created_at"]),
        () if any(&["thinking_level_change", "custom_message", "branch_summary"]) => true,
        () if ty.equals("message") => {
            is_long || matches!(fields.get(Field::Content), Value::List) && !has(Field::ToolCalls)
        }
        () if ty.equals("custom") => is_long || says(&["namespace"]),
        () => is_long,
    };
    if of_tau && seconds && (has_parent || is_long) {
        return Vote::For(Writer::Tau);
    }
    let of_chimera = match ty.equals("message") {
        // Every message of Chimera has `content`.
        true => matches!(fields.get(Field::Message), Value::Object) && has(Field::Content),
        false => !matches!(fields.get(Field::Message), Value::Object),
    };
    let is_linked = has_parent && fields.str(Field::Id).is_some();
    match of_chimera && (is_linked || ty.equals("header") && has(Field::Cwd)) {
        true => Vote::For(Writer::Chimera),
        false => Vote::None,
    }
}

/// Returns whether a type is one of pi's.
fn is_known(ty: Option<Str<'_>>) -> bool {
    const TYPES: [&str; 24] = [
        "message",
        "thinking_level_change",
        "model_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
        "usage",
        "context_edit",
        "leaf",
        "active_tools_change",
        "stack_summary",
        "stack_pop",
        "service_tier_change",
        "mode_change",
        "ttsr_injection",
        "session_init",
        "title_change",
        "credential_pin",
        "model_usage",
        "reset_boundary",
        "mcp_tool_selection",
    ];
    ty.is_some_and(|ty| TYPES.iter().any(|known| ty.equals(known)))
}

/// Returns whether a type is one of Chimera's.
fn is_chimeras(ty: Option<Str<'_>>) -> bool {
    const TYPES: [&str; 6] = ["header", "message", "compaction", "label", "state_change", "custom"];
    ty.is_some_and(|ty| TYPES.iter().any(|known| ty.equals(known)))
}

/// Returns whether a message names OpenClaw as the provider that made it.
fn is_openclaws(line: &Line<'_>) -> bool {
    line.fields.str(Field::Role).is_some_and(|role| role.equals("assistant"))
        && line.bytes.and_then(|bytes| member(member(bytes, "message")?, "provider")) == Some(b"\"openclaw\"")
}

/// Returns the writer that the name of a file and its folder suggest.
fn by_name(path: &Path) -> Option<Writer> {
    let stem = path.file_stem()?.to_str()?;
    let in_folder = |name: &str| path.components().any(|part| part.as_os_str() == name);
    if in_folder(".claude") || super::is_agents(path) {
        return Some(Writer::Claude);
    }
    if in_folder(".pi") || in_folder(".omp") {
        return Some(Writer::Pi);
    }
    if is_uuid(stem) {
        return Some(Writer::Claude);
    }
    // `2026-03-02T00-00-00-000Z_ID`
    if let Some((time, _)) = stem.split_once('_')
        && time.ends_with('Z')
        && time.contains('T')
    {
        return Some(Writer::Pi);
    }
    let is_hash = stem.len() == 12 && stem.as_bytes().iter().all(is_hex);
    is_hash.then_some(Writer::Chimera)
}

/// Returns the program in whose store a file is.
fn by_folder(path: &Path) -> Option<Program> {
    let folders: Vec<&str> =
        path.parent()?.components().filter_map(|part| part.as_os_str().to_str()).collect();
    let is_below = |home: &str, folder: &str| {
        let at = folders.iter().position(|name| *name == home);
        at.is_some_and(|at| folders[at..].contains(&folder))
    };
    if is_below(".openclaw", "sessions") || is_below(".clawdbot", "sessions") {
        return Some(Program::OpenClaw);
    }
    if is_below(".prime", "sessions") {
        return Some(Program::Prime);
    }
    is_below(".qwen", "chats").then_some(Program::Qwen)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_hex(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
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
