//! Entries as `bough.entry/1`, for scripts.

use super::summary_facts::{Facts, other_fields};
use crate::format::{Block, Content, Format, Session, Usage};
use crate::json::{Members, string};
use crate::model::{Flags, Ix, Kind};
use crate::ops::ids;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// How many characters the short form of a text has.
const SHORT: usize = 200;

/// Returns the short form of a text: its first words, on one line.
pub(crate) fn short(text: &str) -> String {
    let mut words = String::new();
    let mut room = SHORT;
    for word in text.split_whitespace() {
        if !words.is_empty() {
            if room == 0 {
                words.push('…');
                break;
            }
            words.push(' ');
            room -= 1;
        }
        // No word has more characters than bytes.
        if word.len() > room
            && let Some((cut, _)) = word.char_indices().nth(room)
        {
            words.push_str(&word[..cut]);
            words.push('…');
            break;
        }
        words.push_str(word);
        room -= word.chars().count();
    }
    words
}

/// An entry as `bough.entry/1`. Fields that the format lacks are left out.
#[derive(Serialize)]
pub(crate) struct EntryRow<'l> {
    schema: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    id: Cow<'l, str>,
    /// As it is stored, because it may name a missing entry.
    #[serde(skip_serializing_if = "str::is_empty")]
    parent: Cow<'l, str>,
    #[serde(rename = "type")]
    ty: &'l str,
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    role: Cow<'l, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp<'l>>,
    file: String,
    line: u64,
    offset: u64,
    length: u64,
    labels: Vec<&'l str>,
    head: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Cow<'l, str>>,
    format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<Cow<'l, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<Cow<'l, str>>,
    text: Cow<'l, str>,
    summary: String,
    tools: Vec<Cow<'l, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Cow<'l, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<Cow<'l, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// The parts of the message, if the whole entry was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) blocks: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    display: Option<bool>,
    /// The entry in whose row `log` shows this one, if it has no row of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) row: Option<String>,
    /// Why the entry is left out, where that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<Value>,
    /// The end of the branch on which `grep` found the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
    /// What `grep` found in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) matches: Option<Vec<Value>>,
    /// Whether `grep` shows the entry because it is beside one that matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) neighbour: Option<bool>,
}

/// What a reply took, in tokens.
#[derive(Serialize)]
struct UsageRow {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_1h: Option<u64>,
}

/// A time as it is stored.
#[derive(Serialize)]
#[serde(untagged)]
enum Timestamp<'l> {
    Text(Cow<'l, str>),
    Number(Value),
}

impl From<&Usage> for UsageRow {
    fn from(usage: &Usage) -> UsageRow {
        let &Usage { input, output, cache_read, cache_write, cache_write_1h, .. } = usage;
        let cache_write_1h = Some(cache_write_1h).filter(|tokens| *tokens > 0);
        UsageRow { input, output, cache_read, cache_write, cache_write_1h }
    }
}

/// Whether an entry says that it failed; `None` if it is neither a result nor a reply that ended in an error.
fn is_error(content: &Content<'_>, fields: &Members<'_>) -> Option<bool> {
    let is_result = content.blocks.iter().any(|block| matches!(block, Block::Result { .. }));
    let error_reply =
        fields.get("isApiErrorMessage") == Some(b"true") || content.ended.as_deref() == Some("error");
    (is_result || error_reply).then(|| error_reply || content.failed())
}

impl<'l> EntryRow<'l> {
    /// Reads an entry, given its line and the name of its file; `whole` adds the parts of the message.
    pub(crate) fn read(
        session: &'l Session,
        entry: Ix,
        line: &'l [u8],
        file: String,
        whole: bool,
    ) -> EntryRow<'l> {
        let entries = &session.entries;
        let content = Content::read(session.format, line);
        let fields = Members::new(line);
        let span = session.span(entry);
        let kind = entries.kind(entry);
        let is_claude = session.format == Format::Claude;
        let is_agent = is_claude && entries.flags(entry).has(Flags::SIDECHAIN);
        // In Claude Code, the folder changes during a session.
        let own_cwd = if is_claude { fields.string("cwd") } else { None };
        let cwd = || session.header.as_ref()?.cwd.as_deref().map(Cow::from);
        let has_facts = matches!(kind, Kind::Compaction | Kind::Summary);
        let others = || {
            let fields = other_fields(kind, line).into_iter();
            fields.filter_map(|(key, value)| Some((key.into_owned(), serde_json::from_slice(value).ok()?)))
        };
        let took = content.usage();
        EntryRow {
            schema: "bough.entry/1",
            id: ids::id_in(session, entry, &fields),
            parent: fields.text(session.format.names().parent),
            ty: entries.ty(entry),
            kind: kind.name(),
            timestamp: fields.get("timestamp").and_then(timestamp),
            file,
            line: entries.line(entry),
            offset: span.offset,
            length: span.len,
            labels: session.labels.label(entry).into_iter().collect(),
            head: session.head.entry == Some(entry),
            session: entries.session(entry).map(Cow::from).or_else(|| session.id().map(Cow::from)),
            format: session.format.name(),
            cwd: own_cwd.or_else(cwd),
            agent: if is_agent { fields.string("agentId") } else { None },
            summary: short(&content.summary()),
            is_error: is_error(&content, &fields),
            usage: took.as_ref().map(UsageRow::from),
            cost: took.and_then(|took| took.cost),
            blocks: whole.then(|| content.blocks.iter().map(block).collect()),
            details: if whole && has_facts { Facts::read(session.format, line).json() } else { None },
            fields: whole.then(|| others().collect::<Map<_, _>>()).filter(|fields| !fields.is_empty()),
            display: is_message_hidden(&fields).then_some(false),
            tools: tools(content.blocks, content.tool),
            role: content.role,
            text: content.text,
            model: content.model,
            stop_reason: content.ended,
            row: None,
            skipped: None,
            branch: None,
            matches: None,
            neighbour: None,
        }
    }

    /// Returns the row as JSON, on one line without its end.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut json = Vec::with_capacity(self.text.len() + 1024);
        serde_json::to_writer(&mut json, self).expect("texts and numbers are JSON");
        json
    }
}

/// Returns the tools that a message calls, and the one whose result it is.
fn tools<'l>(blocks: Vec<Block<'l>>, result_of: Option<Cow<'l, str>>) -> Vec<Cow<'l, str>> {
    let called = blocks.into_iter().filter_map(|block| match block {
        Block::Call { name, .. } => Some(name),
        _ => None,
    });
    called.chain(result_of).collect()
}

/// Returns whether a message of an extension is sent to the model, but not shown by the agent.
pub(crate) fn is_hidden(line: &[u8]) -> bool {
    is_message_hidden(&Members::new(line))
}

fn is_message_hidden(fields: &Members<'_>) -> bool {
    fields.text("type") == "custom_message" && fields.get("display") == Some(b"false")
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

/// Returns a time as it is stored: a string or a number.
fn timestamp(value: &[u8]) -> Option<Timestamp<'_>> {
    match string(value) {
        Some(text) => Some(Timestamp::Text(text)),
        // A value of another type is not a time.
        None => {
            let number = serde_json::from_slice(value).ok().filter(Value::is_number);
            number.map(Timestamp::Number)
        }
    }
}

/// Returns the version of a format as it is stored: a number or a string, and nothing if it is
/// neither.
pub(crate) fn version(stored: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(stored).unwrap_or(stored.into());
    Some(value).filter(|value| value.is_number() || value.is_string())
}
