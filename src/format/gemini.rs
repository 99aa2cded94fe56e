//! Chats of the Gemini CLI: messages in the order in which they were said. Read, never written.
//!
//! A line is the header, a message with an `id`, `{"$set":{…}}` or `{"$rewindTo":ID}`. A message
//! follows the one before it; one with the id of an earlier message replaces it. `$rewindTo` undoes a
//! message, and all that follow it; the `messages` of `$set` replace all. Facts from
//! `loadConversationRecord` of version 0.61.

use super::rewinds::{self, RewindTo};
use super::session::{Gathered, Head, Header, Session};
use super::{Block, Content, Dialect, LineVerdict, Link, OtherKind};
use crate::json::{Field, Line, Members, Shape, Value, each_item, each_object, member, string, string_of};
use crate::model::{Copies, Entries, Flags, Ix, Kind, Span, Time};
use std::borrow::Cow;

pub(super) struct Gemini;

impl Dialect for Gemini {
    fn classify<'l>(&self, line: &Line<'l>, gathered: &mut Gathered) -> LineVerdict<'l> {
        let fields = &line.fields;
        if line.shape != Shape::Object {
            return LineVerdict::Unknown;
        }
        if let Some(to) = fields.str(Field::RewindTo) {
            gathered.rewinds.push(line.number, gathered.entries, RewindTo::Entry(to.key()));
            return LineVerdict::Other(OtherKind::Pointer);
        }
        let Some(id) = fields.str(Field::Id) else { return about_session(line, gathered) };
        let ty = fields.str(Field::Type);
        let mut flags = Flags::default();
        let kind = match ty.map_or(&b""[..], |ty| ty.raw) {
            b"user" => user(line, &mut flags),
            b"gemini" => {
                let members = Members::new(line.bytes.unwrap_or_default());
                let said = members.get("content").unwrap_or_default();
                let calls = || each_object(members.get("toolCalls").unwrap_or_default());
                let calls_inside = has_part(said, "functionCall");
                flags.set(Flags::CALL, calls_inside || calls().next().is_some());
                flags.set(Flags::RESULT, calls().any(|call| call.get("result").is_some()));
                flags.set(Flags::TEXT, line.bytes.is_none() || !text_of(said).trim().is_empty());
                Kind::Assistant
            }
            b"info" | b"warning" | b"error" => {
                flags.set(Flags::BOOKKEEPING, true);
                Kind::System
            }
            _ => Kind::Other,
        };
        LineVerdict::Entry(Link {
            id: Some(id),
            time: fields.str(Field::Timestamp).map_or(Time::NONE, |time| gathered.clock.read(time.raw)),
            ty,
            flags,
            ..Link::new(kind)
        })
    }

    fn link(&self, entries: &mut Entries, gathered: &mut Gathered) {
        rewinds::link(entries, gathered);
        // Most results are stored twice: in the reply with their calls, and as a message of the user.
        let is_result = |ix: Ix| entries.kind(ix) == Kind::Tool;
        let is_again = |ix: &Ix| {
            let before = ix.0.checked_sub(1).map(Ix);
            is_result(*ix)
                && before.is_some_and(|before| is_result(before) || entries.flags(before).has(Flags::RESULT))
        };
        let again: Vec<Ix> = entries.all().filter(is_again).collect();
        again.into_iter().for_each(|ix| entries.mark(ix, Flags::BOOKKEEPING));
    }

    fn copies(&self) -> Copies {
        Copies::Last
    }

    fn repeats_ids(&self, _kind: Kind) -> bool {
        true
    }

    fn head(&self, session: &Session) -> Head {
        rewinds::head_of_messages(session)
    }

    fn content<'l>(&self, line: &'l [u8]) -> Content<'l> {
        content(line)
    }
}

/// Reads a line that is not a message.
fn about_session<'l>(line: &Line<'l>, gathered: &mut Gathered) -> LineVerdict<'l> {
    let fields = &line.fields;
    match fields.get(Field::Set) {
        Value::Object => {
            let set = line.bytes.and_then(|bytes| member(bytes, "$set")).unwrap_or_default();
            if let Some(summary) = string_of(set, "summary").filter(|summary| !summary.is_empty()) {
                gathered.name = Some(summary);
                gathered.renamed = true;
            }
            if member(set, "messages").is_some_and(|list| list.starts_with(b"[")) {
                gathered.rewinds.push(line.number, gathered.entries, RewindTo::Start);
            }
            LineVerdict::Other(OtherKind::Note)
        }
        _ => {
            let (Some(id), Some(bytes)) = (fields.str(Field::SessionId), line.bytes) else {
                return LineVerdict::Unknown;
            };
            if member(bytes, "projectHash").is_none() {
                return LineVerdict::Unknown;
            }
            let time = string_of(bytes, "startTime").map(|time| gathered.clock.read(time.as_bytes()));
            gathered.header.get_or_insert_with(|| Header {
                line: line.number,
                span: Some(Span { file: gathered.file, offset: line.offset, len: line.len }),
                id: Some(id.text().into_owned()),
                time: time.filter(|time| time.is_some()),
                ..Header::default()
            });
            LineVerdict::Other(OtherKind::Header)
        }
    }
}

/// Returns the messages that a line about the session contains: each is as if it were on a line of
/// its own.
pub(super) fn messages_in<'l>(line: &Line<'l>) -> Option<&'l [u8]> {
    let bytes = line.bytes.filter(|_| line.shape == Shape::Object)?;
    let set = match line.fields.get(Field::Set) {
        Value::Object => member(bytes, "$set")?,
        _ if line.fields.str(Field::SessionId).is_some() && line.fields.str(Field::Id).is_none() => bytes,
        _ => return None,
    };
    member(set, "messages").filter(|list| list.starts_with(b"["))
}

fn user(line: &Line<'_>, flags: &mut Flags) -> Kind {
    let Some(bytes) = line.bytes else {
        flags.set(Flags::TEXT, true);
        return Kind::User;
    };
    let said = member(bytes, "content").unwrap_or_default();
    if has_part(said, "functionResponse") {
        flags.set(Flags::RESULT, true);
        return Kind::Tool;
    }
    let text = text_of(said);
    let text = text.trim();
    flags.set(Flags::TEXT, !text.is_empty());
    flags.set(Flags::IMAGE, each_object(said).any(|part| part.get("inlineData").is_some()));
    if ["<session_context>", "<hook_context>"].iter().any(|mark| text.starts_with(mark)) {
        flags.set(Flags::META, true);
        flags.set(Flags::BOOKKEEPING, true);
        return Kind::Attachment;
    }
    Kind::User
}

/// Returns whether a list of parts has one of a kind.
fn has_part(said: &[u8], kind: &str) -> bool {
    each_object(said).any(|part| part.get(kind).is_some())
}

/// Returns the text of a message's content: a string, or a list of parts.
fn text_of(said: &[u8]) -> Cow<'_, str> {
    if let Some(text) = string(said) {
        return text;
    }
    let part = |part: &[u8]| {
        let text = string(part).map(Cow::into_owned).or_else(|| string_of(part, "text"));
        text.unwrap_or_default()
    };
    match each_item(said).next() {
        Some(_) => each_item(said).map(part).collect::<String>().into(),
        None => string_of(said, "text").unwrap_or_default().into(),
    }
}

fn content(line: &[u8]) -> Content<'_> {
    let fields = Members::new(line);
    let mut content = Content { ty: fields.text("type"), ..Content::default() };
    let said = fields.get("content").unwrap_or_default();
    content.role = match &*content.ty {
        "user" => Cow::Borrowed("user"),
        "gemini" => Cow::Borrowed("assistant"),
        _ => Cow::Borrowed(""),
    };
    // A reply that the client rewrote has its thoughts and calls among its parts.
    let is_whole = has_part(said, "functionCall") || has_part(said, "thought");
    let thoughts = fields.get("thoughts").filter(|_| !is_whole).unwrap_or_default();
    for thought in each_object(thoughts) {
        let (subject, description) = (thought.text("subject"), thought.text("description"));
        let parts = [subject, description].into_iter().filter(|part| !part.is_empty());
        let text = parts.collect::<Vec<_>>().join("\n");
        content.blocks.push(Block::Thinking { text: text.into(), signed: false });
    }
    parts(&mut content.blocks, said);
    content.model = fields.string("model");
    content.usage = fields.get("tokens").filter(|tokens| tokens.starts_with(b"{"));
    let calls = || each_object(fields.get("toolCalls").unwrap_or_default());
    let mut answers = Vec::new();
    for call in calls() {
        let id = call.text("id").into_owned();
        if !is_whole {
            content.blocks.push(Block::Call {
                id: id.clone().into(),
                name: call.text("name").into_owned().into(),
                arguments: call.get("args").unwrap_or_default().to_vec().into(),
            });
        }
        let is_error = matches!(&*call.text("status"), "error" | "cancelled");
        let result = call.get("result").unwrap_or_default();
        if let Some(text) = string(result) {
            let text = text.into_owned().into();
            answers.push(Block::Result { call: id.into(), is_error, text });
        } else {
            for part in each_object(result) {
                response(&mut answers, &part, is_error);
            }
        }
    }
    content.blocks.extend(answers);
    content.text_of_blocks();
    content
}

/// Adds the parts of a message's content: a string, a part, or a list of parts.
fn parts<'l>(blocks: &mut Vec<Block<'l>>, said: &'l [u8]) {
    if let Some(text) = string(said) {
        if !text.is_empty() {
            blocks.push(Block::Text(text));
        }
        return;
    }
    let mut part = |item: &'l [u8]| {
        if let Some(text) = string(item) {
            return blocks.push(Block::Text(text));
        }
        let members = Members::new(item);
        let text = || members.text("text").into_owned().into();
        if let Some(call) = members.get("functionCall").map(Members::new) {
            blocks.push(Block::Call {
                id: call.text("id").into_owned().into(),
                name: call.text("name").into_owned().into(),
                arguments: call.get("args").unwrap_or_default().to_vec().into(),
            });
        } else if members.get("functionResponse").is_some() {
            response(blocks, &members, false);
        } else if members.get("thought") == Some(b"true") {
            blocks.push(Block::Thinking { text: text(), signed: members.get("thoughtSignature").is_some() });
        } else if let Some(data) = members.get("inlineData").map(Members::new) {
            blocks.push(image(&data));
        } else if members.get("text").is_some() {
            blocks.push(Block::Text(text()));
        } else {
            let ty = crate::json::each_member(item).next().map_or(String::new(), |(key, _)| key.into_owned());
            blocks.push(Block::Other(ty.into()));
        }
    };
    match said.first() {
        Some(b'{') => part(said),
        _ => each_item(said).for_each(part),
    }
}

fn image(data: &Members<'_>) -> Block<'static> {
    Block::image(data.text("mimeType").into_owned().into(), data.text("data").into_owned().into())
}

/// Adds the result that a part is, and what is stored beside it.
fn response(blocks: &mut Vec<Block<'_>>, part: &Members<'_>, is_error: bool) {
    let Some(response) = part.get("functionResponse").map(Members::new) else {
        if let Some(data) = part.get("inlineData").map(Members::new) {
            blocks.push(image(&data));
        }
        return;
    };
    let said = response.get("response").unwrap_or_default();
    let members = Members::new(said);
    let error = members.string("error");
    let is_error = is_error || error.is_some();
    let text = members.string("output").or(error).map(Cow::into_owned);
    // Anything else is sent as it is.
    let text = text.unwrap_or_else(|| String::from_utf8_lossy(said).into_owned());
    let call = response.text("id").into_owned().into();
    blocks.push(Block::Result { call, is_error, text: text.into() });
}

/// Returns whether Gemini keeps a text of the user from the model: a command of the client.
pub fn is_kept_back(text: &str) -> bool {
    let text = text.trim();
    text.is_empty()
        || ["/", "?", "<session_context>", "<hook_context>"].iter().any(|mark| text.starts_with(mark))
}
