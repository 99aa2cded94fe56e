//! Entries as `bough.entry/1`, for scripts.

use super::summary_facts::{Facts, other_fields};
use crate::format::{Block, Content, Format, Session, Usage};
use crate::json::{self, member, string};
use crate::model::{Flags, Ix, Kind, Source};
use crate::ops::ids;
use serde_json::{Value, json};
use std::io;

/// How many characters the short form of a text has.
const SHORT: usize = 200;

/// Returns the short form of a text: its first words, on one line.
pub(crate) fn short(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        if let Some((at, _)) = words.char_indices().nth(SHORT) {
            words.truncate(at);
            words.push('…');
            break;
        }
    }
    words
}

/// Returns what a reply took, as numbers.
fn usage(usage: &Usage) -> Value {
    let mut object = json!({
        "input": usage.input, "output": usage.output,
        "cache_read": usage.cache_read, "cache_write": usage.cache_write,
    });
    if usage.cache_write_1h > 0 {
        object["cache_write_1h"] = usage.cache_write_1h.into();
    }
    object
}

/// Whether an entry says that it failed; `None` if it is neither a result nor a reply that ended in an error.
fn is_error(content: &Content<'_>, line: &[u8]) -> Option<bool> {
    let is_result = content.blocks.iter().any(|block| matches!(block, Block::Result { .. }));
    let error_reply =
        member(line, "isApiErrorMessage") == Some(b"true") || content.ended.as_deref() == Some("error");
    (is_result || error_reply).then(|| error_reply || content.failed())
}

/// Returns the object of an entry, given its line; fields that the format lacks are left out.
///
/// `whole` gives the parts of the message, too.
pub(crate) fn object(
    session: &Session,
    source: &dyn Source,
    entry: Ix,
    line: &[u8],
    file: &str,
    whole: bool,
) -> io::Result<Value> {
    let entries = &session.entries;
    let content = Content::read(session.format, line);
    let span = session.span(entry);
    let mut object = json!({ "schema": "bough.entry/1" });
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            object[key] = value;
        }
    };
    let text = |text: String| Some(text).filter(|text| !text.is_empty()).map(Value::from);
    set("id", text(ids::id(session, source, entry)?));
    // As it is stored, because it may name a missing entry.
    set("parent", text(json::text(line, session.format.names().parent).into_owned()));
    set("type", Some(entries.ty(entry).into()));
    set("kind", Some(entries.kind(entry).name().into()));
    set("role", text(content.role.to_string()));
    set("timestamp", timestamp(line));
    set("file", Some(file.into()));
    set("line", Some(entries.line(entry).into()));
    set("offset", Some(span.offset.into()));
    set("length", Some(span.len.into()));
    set("labels", Some(session.labels.label(entry).into_iter().collect::<Vec<_>>().into()));
    set("head", Some((session.head.entry == Some(entry)).into()));
    set("session", entries.session(entry).map(str::to_owned).or_else(|| session.id()).map(Value::from));
    if session.format == Format::Claude && entries.flags(entry).has(Flags::SIDECHAIN) {
        set("agent", json::string_of(line, "agentId").map(Value::from));
    }
    set("text", Some(content.text.to_string().into()));
    set("summary", Some(short(&content.summary()).into()));
    let tools = content.calls().map(|(_, name, _)| name).chain(content.tool.as_deref());
    set("tools", Some(tools.collect::<Vec<_>>().into()));
    set("model", content.model.as_deref().map(Value::from));
    set("stop_reason", content.ended.as_deref().map(Value::from));
    set("is_error", is_error(&content, line).map(Value::from));
    if let Some(took) = content.usage() {
        set("usage", Some(usage(&took)));
        set("cost", took.cost.map(Value::from));
    }
    if whole {
        set("blocks", Some(content.blocks.iter().map(block).collect::<Vec<_>>().into()));
        if matches!(entries.kind(entry), Kind::Compaction | Kind::Summary) {
            set("details", Facts::read(session.format, line).json());
        }
        let fields = other_fields(entries.kind(entry), line);
        let fields = fields
            .into_iter()
            .filter_map(|(key, value)| Some((key.into_owned(), serde_json::from_slice(value).ok()?)));
        let fields: serde_json::Map<String, Value> = fields.collect();
        set("fields", Some(fields).filter(|fields| !fields.is_empty()).map(Value::Object));
    }
    if is_hidden(line) {
        set("display", Some(false.into()));
    }
    Ok(object)
}

/// Returns whether a message of an extension is sent to the model, but not shown by the agent.
pub(crate) fn is_hidden(line: &[u8]) -> bool {
    json::text(line, "type") == "custom_message" && member(line, "display") == Some(b"false")
}

/// Returns the object of a part of a message.
pub(crate) fn block(block: &Block<'_>) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::Thinking { text, signed } => json!({ "type": "thinking", "text": text, "signed": signed }),
        Block::Call { id, name, arguments } => {
            // Values that serde_json rejects (an unpaired surrogate) are included as the stored
            // text.
            let arguments: Value = serde_json::from_slice(arguments)
                .unwrap_or_else(|_| String::from_utf8_lossy(arguments).into_owned().into());
            json!({ "type": "call", "id": id, "name": name, "arguments": arguments })
        }
        Block::Result { call, is_error, text } => {
            json!({ "type": "result", "call": call, "is_error": is_error, "text": text })
        }
        Block::Image { mime, bytes, .. } => json!({ "type": "image", "mime": mime, "bytes": bytes }),
        Block::Other(ty) => json!({ "type": "other", "stored_type": ty }),
    }
}

/// Returns the time of a line as it is stored: a string or a number.
fn timestamp(line: &[u8]) -> Option<Value> {
    let value = member(line, "timestamp")?;
    match string(value) {
        Some(text) => Some(text.into_owned().into()),
        // A value of another type is not a time.
        None => serde_json::from_slice(value).ok().filter(Value::is_number),
    }
}

/// Returns the version of a format as it is stored: a number or a string, and nothing if it is
/// neither.
pub(crate) fn version(stored: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(stored).unwrap_or(stored.into());
    Some(value).filter(|value| value.is_number() || value.is_string())
}
