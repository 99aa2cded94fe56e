//! Exports of OpenCode: one JSON document with a session and its messages. Read, never written.
//!
//! The document is `{info, messages: [{info, parts}]}`; the reader yields `info` and each message as a
//! line of its own. A message follows the one before it; the `parentID` of a reply only names its
//! prompt. `revert` of the session's `info` undoes a message, or some parts of it, and all messages
//! after it: they are removed when the user goes on. A reply has its calls with their results. Facts
//! from version 1.18.33 itself (`MessageV2`, `SessionRevert`, `Session.fork`, `export`, `import`).

use super::rewinds::{self, RewindTo};
use super::session::{Gathered, Head, Header, Session};
use super::{Block, Content, Dialect, LineVerdict, Link, OtherKind};
use crate::json::{Line, Members, Shape, Str, each_object, member, string_of};
use crate::model::{Entries, Flags, Key, Kind, Span, Time};
use std::borrow::Cow;

pub(super) struct OpenCode;

impl Dialect for OpenCode {
    fn classify<'l>(&self, line: &Line<'l>, gathered: &mut Gathered) -> LineVerdict<'l> {
        // Later versions may store other values beside these.
        let Some(bytes) = line.bytes.filter(|_| line.shape == Shape::Object) else {
            let is_value = line.shape == Shape::Scalar;
            return if is_value { LineVerdict::Other(OtherKind::Note) } else { LineVerdict::Unknown };
        };
        let (record, parts) = Members::with_list(bytes, "parts", "state");
        let Some(info) = record.get("info").map(Members::new) else {
            return about_session(line, &record, gathered);
        };
        let text = |key| {
            let quoted = info.get(key)?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
            Some(Str { raw: quoted }).filter(|text| !text.raw.is_empty())
        };
        let (Some(id), Some(role)) = (text("id"), text("role")) else { return LineVerdict::Unknown };
        let mut flags = Flags::default();
        let kind = match role.raw {
            b"user" => {
                for (part, _) in &parts {
                    match &*part.text("type") {
                        "text" if is_sent(part) => flags.set(Flags::TEXT, true),
                        "file" if is_image(part) => flags.set(Flags::IMAGE, true),
                        _ => {}
                    }
                }
                let is_typed = |(part, _): &(Members<'_>, _)| {
                    part.text("type") != "compaction" && !is_true(part, "synthetic")
                };
                flags.set(Flags::META, !parts.iter().any(is_typed));
                Kind::User
            }
            b"assistant" => {
                for (part, state) in &parts {
                    match &*part.text("type") {
                        "text" if !is_blank(part, "text") => flags.set(Flags::TEXT, true),
                        "tool" => {
                            flags.set(Flags::CALL, true);
                            let is_done = matches!(&*state.text("status"), "completed" | "error");
                            flags.set(Flags::RESULT, is_done || flags.has(Flags::RESULT));
                        }
                        _ => {}
                    }
                }
                match is_true(&info, "summary") {
                    true => Kind::Compaction,
                    false => Kind::Assistant,
                }
            }
            _ => Kind::Other,
        };
        LineVerdict::Entry(Link {
            id: Some(id),
            time: time_of(&info, "created"),
            ty: Some(role),
            flags,
            ..Link::new(kind)
        })
    }

    fn link(&self, entries: &mut Entries, gathered: &mut Gathered) {
        rewinds::link(entries, gathered);
    }

    fn head(&self, session: &Session) -> Head {
        rewinds::head_of_messages(session)
    }

    fn content<'l>(&self, line: &'l [u8]) -> Content<'l> {
        content(line)
    }
}

fn is_true(object: &Members<'_>, key: &str) -> bool {
    object.get(key) == Some(b"true")
}

/// Returns whether there is no text, or one without words. Few texts begin with many blanks, so that it is
/// not decoded.
fn is_blank(object: &Members<'_>, key: &str) -> bool {
    let value = object.get(key).unwrap_or_default();
    let first = value.strip_prefix(b"\"").and_then(|text| text.iter().find(|byte| **byte != b' '));
    match first {
        Some(first) if first.is_ascii_graphic() && !matches!(first, b'"' | b'\\') => false,
        _ => object.text(key).trim().is_empty(),
    }
}

/// Returns a time of a session or message: milliseconds since 1970.
fn time_of(info: &Members<'_>, key: &str) -> Time {
    let time = info.get("time").and_then(|times| member(times, key));
    let time = time.and_then(|time| std::str::from_utf8(time).ok()?.parse::<f64>().ok());
    time.filter(|time| time.is_finite()).map_or(Time::NONE, |time| Time(time as i64))
}

/// Reads a record that is not a message.
fn about_session<'l>(line: &Line<'l>, info: &Members<'l>, gathered: &mut Gathered) -> LineVerdict<'l> {
    let text = |key| info.string(key).map(Cow::into_owned).filter(|text: &String| !text.is_empty());
    let Some(id) = text("id").filter(|_| gathered.header.is_none()) else {
        return LineVerdict::Other(OtherKind::Note);
    };
    gathered.name = text("title").filter(|title| !is_default(title));
    gathered.header = Some(Header {
        line: line.number,
        span: Some(Span { file: gathered.file, offset: line.offset, len: line.len }),
        id: Some(id),
        version: None,
        cwd: text("directory"),
        time: Some(time_of(info, "created")).filter(|time| time.is_some()),
        parent: text("parentID"),
        uuid: None,
    });
    if let Some((message, part)) = Revert::parse(info).map(|revert| (revert.message, revert.part)) {
        let to = RewindTo::Known { key: Key::hash(message.as_bytes()), keeps: part.is_some() };
        // It concerns all messages, wherever it is.
        gathered.rewinds.push(line.number, u32::MAX, to);
    }
    LineVerdict::Other(OtherKind::Header)
}

/// Returns whether a title is the one that a session has until the model gives it another.
fn is_default(title: &str) -> bool {
    ["New session - ", "Child session - "].iter().any(|start| title.starts_with(start))
}

/// What the user took back last.
pub struct Revert {
    /// The first message that is undone.
    pub message: String,
    /// The first part of the message that is undone, if the parts before it stay.
    pub part: Option<String>,
}

impl Revert {
    /// Reads it from the information about the session, given as JSON.
    pub fn read(info: &[u8]) -> Option<Revert> {
        Revert::parse(&Members::new(info))
    }

    fn parse(info: &Members<'_>) -> Option<Revert> {
        let revert = info.get("revert")?;
        let message = string_of(revert, "messageID")?;
        Some(Revert { message, part: string_of(revert, "partID").filter(|part| !part.is_empty()) })
    }
}

/// Returns whether a text of the user is sent.
fn is_sent(part: &Members<'_>) -> bool {
    let text = part.get("text").unwrap_or_default();
    !is_true(part, "ignored") && text.len() > 2 && text[0] == b'"'
}

fn is_image(file: &Members<'_>) -> bool {
    file.text("mime").starts_with("image/")
}

/// What one request to the model gave: a reply may consist of several.
#[derive(Clone, Debug, Default)]
pub struct Step<'l> {
    /// Thoughts, texts and calls.
    pub said: Vec<Block<'l>>,
    /// The calls among them, in order: id and tool.
    pub calls: Vec<(Cow<'l, str>, Cow<'l, str>)>,
    /// The result of each call; `None` if the call has none.
    pub results: Vec<Option<Block<'l>>>,
    /// The files that came with the result of each call: their MIME types, and what they are.
    pub files: Vec<Vec<(Cow<'l, str>, Block<'l>)>>,
}

/// The output that stands for one that was removed to save room.
const CLEARED: &str = "[Old tool result content cleared]";

/// Reads the parts of a reply up to the one with an id, all if it is not there.
pub fn steps<'l>(message: &'l [u8], end: Option<&str>) -> Vec<Step<'l>> {
    let mut steps = vec![Step::default()];
    for part in each_object(member(message, "parts").unwrap_or_default()) {
        if end.is_some_and(|end| part.text("id") == end) {
            break;
        }
        let step = steps.last_mut().expect("there is one");
        match &*part.text("type") {
            "step-start" if !step.said.is_empty() => steps.push(Step::default()),
            "text" if !part.text("text").is_empty() => step.said.push(Block::Text(part.text("text"))),
            "reasoning" => {
                let signed = part.get("metadata").is_some_and(|metadata| {
                    let mut providers = crate::json::each_member(metadata);
                    providers.any(|(_, said)| {
                        ["signature", "reasoningEncryptedContent"]
                            .iter()
                            .any(|key| member(said, key).is_some_and(|value| value.starts_with(b"\"")))
                    })
                });
                step.said.push(Block::Thinking { text: part.text("text"), signed });
            }
            "tool" => tool(step, &part),
            _ => {}
        }
    }
    steps
}

fn tool<'l>(step: &mut Step<'l>, part: &Members<'l>) {
    let (id, name) = (part.text("callID"), part.text("tool"));
    let state = Members::new(part.get("state").unwrap_or_default());
    step.said.push(Block::Call {
        id: id.clone(),
        name: name.clone(),
        arguments: state.get("input").unwrap_or_default().into(),
    });
    let result = |text, is_error| Block::Result { call: id.clone(), is_error, text };
    let mut files = Vec::new();
    let block = match &*state.text("status") {
        "completed" => {
            let is_cleared = state.get("time").is_some_and(|time| member(time, "compacted").is_some());
            if is_cleared {
                Some(result(Cow::Borrowed(CLEARED), false))
            } else {
                let attached = each_object(state.get("attachments").unwrap_or_default());
                files.extend(attached.map(|attached| (attached.text("mime"), file(&attached))));
                Some(result(state.text("output"), false))
            }
        }
        "error" => {
            let metadata = Members::new(state.get("metadata").unwrap_or_default());
            let output = metadata.string("output").filter(|_| is_true(&metadata, "interrupted"));
            let text = output.unwrap_or_else(|| state.text("error"));
            Some(result(text, true))
        }
        _ => None,
    };
    step.results.push(block);
    step.files.push(files);
    step.calls.push((id, name));
}

/// Returns the block of a file: an image with its bytes, or the name of anything else.
fn file<'l>(part: &Members<'l>) -> Block<'l> {
    let url = part.text("url");
    if is_image(part) {
        let data = url.split_once(',').filter(|_| url.starts_with("data:")).map_or("", |(_, data)| data);
        return Block::image(part.text("mime"), data.to_owned().into());
    }
    let names = [part.text("filename"), part.text("mime")];
    Block::Other(names.into_iter().find(|name| !name.is_empty()).unwrap_or(Cow::Borrowed("file")))
}

/// What OpenCode sends for a prompt that it stores without a text.
const COMPACT: &str = "What did we do so far?";
const SUBTASK: &str = "The following tool was executed by the user";

/// Reads the parts of a prompt; only those that are sent, if that is asked for.
pub fn prompt<'l>(message: &'l [u8], only_sent: bool, end: Option<&str>) -> Vec<Block<'l>> {
    let mut blocks = Vec::new();
    for part in each_object(member(message, "parts").unwrap_or_default()) {
        if end.is_some_and(|end| part.text("id") == end) {
            break;
        }
        match &*part.text("type") {
            "text" if is_sent(&part) => blocks.push(Block::Text(part.text("text"))),
            // Its content is sent as a text of its own.
            "file"
                if only_sent && matches!(&*part.text("mime"), "text/plain" | "application/x-directory") => {}
            "file" => blocks.push(file(&part)),
            "compaction" => blocks.push(Block::Text(Cow::Borrowed(COMPACT))),
            "subtask" => blocks.push(Block::Text(Cow::Borrowed(SUBTASK))),
            _ => {}
        }
    }
    blocks
}

fn content(line: &[u8]) -> Content<'_> {
    let (record, info) = Members::with_nested(line, "info");
    let mut content = Content::default();
    if record.get("info").is_none() {
        content.ty = Cow::Borrowed("session");
        content.describe("session in ", &record.text("directory"));
        return content;
    }
    content.role = info.text("role");
    content.ty = content.role.clone();
    if &*content.role == "user" {
        content.blocks = prompt(line, false, None);
        let model = info.get("model").map(Members::new);
        content.model = model.and_then(|model| model.string("modelID"));
    } else {
        for step in steps(line, None) {
            content.blocks.extend(step.said);
            for (result, files) in step.results.into_iter().zip(step.files) {
                content.blocks.extend(result);
                content.blocks.extend(files.into_iter().map(|(_, file)| file));
            }
        }
        content.model = info.string("modelID");
        content.usage = record.get("info");
        let error = info.get("error").and_then(|error| string_of(error, "name"));
        content.ended = error.map(Cow::Owned).or_else(|| info.string("finish"));
    }
    content.text_of_blocks();
    content
}

#[cfg(test)]
mod tests {
    use crate::format::{Format, Session};
    use crate::model::FaultKind;
    use serde_json::{Value, json};

    fn document(ids: &str, revert: &Value) -> Value {
        let message = |id: char| {
            let role = if id.is_ascii_lowercase() { "user" } else { "assistant" };
            json!({ "info": { "id": format!("msg_{id}"), "role": role, "time": { "created": 1 } },
                    "parts": [{ "type": "text", "text": "a\n\"[{b\\\\\\", "id": "prt_1" }] })
        };
        let messages: Vec<Value> = ids.chars().map(message).collect();
        json!({ "info": { "id": "ses_1", "directory": "/p", "title": "A name", "revert": revert }, "messages": messages })
    }

    #[test]
    #[rustfmt::skip] // a table
    fn a_revert_undoes_messages() {
        let check = |ids: &str, revert: Value, wanted: (usize, usize)| {
            for text in [document(ids, &revert).to_string(), serde_json::to_string_pretty(&document(ids, &revert)).unwrap() + "\n"] {
                let session = Session::read(text.as_bytes()).unwrap();
                assert_eq!(session.format, Format::OpenCode);
                assert_eq!(session.faults.iter().map(|fault| fault.kind).collect::<Vec<_>>(), [], "{text}");
                assert_eq!((session.entries.len(), session.path().len()), wanted, "{ids} {revert}");
                assert_eq!((session.id().as_deref(), session.name.as_deref()), (Some("ses_1"), Some("A name")));
                assert_eq!(session.files[0].bytes, text.len() as u64);
                assert_eq!(session.files[0].lines, text.lines().count() as u64);
                for ix in session.entries.all() {
                    let span = session.span(ix);
                    let record: Value = serde_json::from_str(&text[span.offset as usize..(span.offset + span.len) as usize]).unwrap();
                    assert!(record.get("info").is_some());
                    let line = text[..span.offset as usize].matches('\n').count() as u64 + 1;
                    assert_eq!(session.entries.line(ix), line);
                }
            }
        };
        check("aBcD", Value::Null,                                             (4, 4));
        check("aBcD", json!({ "messageID": "msg_c" }),                         (4, 2));
        check("aBcD", json!({ "messageID": "msg_a" }),                         (4, 0));
        check("aBcD", json!({ "messageID": "msg_B", "partID": "prt_1" }),      (4, 2));
        check("aBcD", json!({ "messageID": "msg_x" }),                         (4, 4));
        check("",     Value::Null,                                             (0, 0));
    }

    #[test]
    fn a_damaged_document_has_the_messages_before_the_damage() {
        let text = serde_json::to_string_pretty(&document("aBcD", &Value::Null)).unwrap();
        let whole = Session::read(text.as_bytes()).unwrap();
        for len in (60..text.len()).rev() {
            let Some(session) = Session::read(&text.as_bytes()[..len]) else { continue };
            let is_in = |ix: &crate::model::Ix| whole.span(*ix).offset + whole.span(*ix).len <= len as u64;
            let wanted = whole.entries.all().filter(is_in).count();
            assert_eq!(session.entries.len(), wanted, "{len}");
            let is_broken = session.faults.iter().any(|fault| matches!(fault.kind, FaultKind::Broken { .. }));
            assert!(is_broken, "{len}: {:?}", session.faults);
        }
        let wrong = text.replacen("},\n    {", "}; {", 1);
        let session = Session::read(wrong.as_bytes()).unwrap();
        assert_eq!((session.entries.len(), session.faults.len()), (1, 1));
    }

    #[test]
    fn a_document_is_read_alike_however_its_bytes_come() {
        let text = serde_json::to_string_pretty(&document("aBcDeF", &Value::Null)).unwrap() + "\n";
        let wanted = format!("{:?}", Session::read(text.as_bytes()).unwrap().entries);
        for size in [1, 2, 7, 100] {
            let mut builder = crate::format::Builder::new(Format::OpenCode);
            builder.begin_file();
            let mut reader = Format::OpenCode.reader();
            for piece in text.as_bytes().chunks(size) {
                reader.feed(piece, |line| builder.line(line));
            }
            reader.finish(|line| builder.line(line));
            assert_eq!(format!("{:?}", builder.finish().entries), wanted, "{size}");
        }
    }
}
