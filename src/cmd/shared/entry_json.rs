//! Entries as `bough.entry/1`, for scripts.

use super::stored_results::StoredRow;
use super::summary_facts::{Facts, FactsRow, other_fields};
use crate::format::{Block, Content, Format, Session, Usage};
use crate::json::{Members, string};
use crate::model::{Flags, Ix, Kind};
use crate::ops::ids;
use serde::Serialize;
use serde_json::{Map, Value};
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

/// An entry: log, show, grep.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.entry/1")]
pub(crate) struct EntryRow<'l> {
    /// Its id; absent where the format has none, and in grep for a prompt that is only in the input queue.
    #[serde(skip_serializing_if = "str::is_empty")]
    id: Cow<'l, str>,
    /// The id of its parent, as stored: it may name a missing entry.
    #[serde(skip_serializing_if = "str::is_empty")]
    parent: Cow<'l, str>,
    /// Its type, as stored.
    #[serde(rename = "type")]
    ty: &'l str,
    /// The kind of the entry, in the words that all formats share.
    kind: Kind,
    /// The role of a message, as stored.
    #[serde(skip_serializing_if = "str::is_empty")]
    role: Cow<'l, str>,
    /// When it was written, as stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp<'l>>,
    /// The file that contains it.
    file: String,
    /// The line, from 1.
    line: u64,
    /// The first byte of the line.
    offset: u64,
    /// The bytes of the line, without its ending.
    length: u64,
    /// Its labels.
    labels: Vec<&'l str>,
    /// Whether HEAD is on it.
    head: bool,
    /// The id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Cow<'l, str>>,
    /// The format of the session, as in --input-format.
    format: &'static str,
    /// The folder that the session belongs to; in Claude Code's, the folder in which the agent was.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<Cow<'l, str>>,
    /// The agent that the entry is of, in an agent's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<Cow<'l, str>>,
    /// Its whole text.
    text: Cow<'l, str>,
    /// Its first words, on one line: 200 characters at most.
    summary: String,
    /// The tools that it calls, or that it is a result of.
    tools: Vec<Cow<'l, str>>,
    /// The model that replied.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Cow<'l, str>>,
    /// Why the reply ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<Cow<'l, str>>,
    /// Whether a tool failed, or the reply is an error; absent for other entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    /// The tokens that the reply took, as stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageRow>,
    /// What it cost in dollars, as stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// In show, its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) blocks: Option<Vec<BlockRow<'l>>>,
    /// Of a compaction, or of the summary of a branch, only in `show`: what it says beside its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<FactsRow>,
    /// Of a setting or a message of an extension, only in `show`: the stored fields that the text does not
    /// have.
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Map<String, Value>>,
    /// The message of an extension goes to the model, and the agent does not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("const" = false)))]
    display: Option<bool>,
    /// In log, the id of the result whose row shows this reply if each entry is not asked for: it only
    /// calls tools, and HEAD~N does not count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) row: Option<String>,
    /// In log --skipped, why the entry is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<SkippedRow>,
    /// In grep, the id of the tip of the branch that contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
    /// In grep, what matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) matches: Option<Vec<MatchRow>>,
    /// In grep, whether it is only shown with one that matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) neighbour: Option<bool>,
}

/// The tokens that the reply took, as stored.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UsageRow {
    /// Uncached tokens sent.
    input: u64,
    /// Tokens of the reply.
    output: u64,
    /// Tokens read from the cache.
    cache_read: u64,
    /// Tokens written to the cache.
    cache_write: u64,
    /// How many of these were written for an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_1h: Option<u64>,
}

/// A time as it is stored.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Timestamp<'l> {
    Text(Cow<'l, str>),
    #[cfg_attr(test, schemars(with = "f64"))]
    Number(Value),
}

/// A block of content.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum BlockRow<'l> {
    Text {
        /// Its text.
        text: Cow<'l, str>,
    },
    Thinking {
        /// Its text.
        text: Cow<'l, str>,
        /// Whether thinking is signed.
        signed: bool,
    },
    Call {
        /// The id of a tool call.
        id: Cow<'l, str>,
        /// The tool that is called.
        name: Cow<'l, str>,
        /// The arguments of the call, as stored.
        arguments: Value,
    },
    Result {
        /// The tool call that a result answers.
        call: Cow<'l, str>,
        /// Whether the result is an error.
        is_error: bool,
        /// Its text.
        text: Cow<'l, str>,
        /// In show, the file beside the session in which the agent stored the result.
        #[serde(skip_serializing_if = "Option::is_none")]
        stored: Option<StoredRow>,
    },
    Image {
        /// The type of an image.
        mime: Cow<'l, str>,
        /// How many bytes an image has.
        bytes: u64,
    },
    Other {
        /// The type of another block, as stored.
        stored_type: Cow<'l, str>,
    },
}

/// A line that matches.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MatchRow {
    /// The part of the entry that matches.
    pub(crate) part: &'static str,
    /// The line of text that matches.
    pub(crate) text: String,
    /// First and last byte of each match in the text.
    pub(crate) at: Vec<[usize; 2]>,
    /// The file beside the session that contains the line, if the agent stored the result there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
}

/// Why an entry is left out.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SkippedRow {
    /// The reason in words.
    pub(crate) why: &'static str,
    /// The rung of the documented ladder that the reason is akin to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rung: Option<u8>,
    /// The id of the entry that stands for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
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
            id: ids::id_in(session, entry, &fields),
            parent: fields.text(session.format.names().parent),
            ty: entries.ty(entry),
            kind,
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
            blocks: whole.then(|| content.blocks.iter().map(BlockRow::new).collect()),
            details: if whole && has_facts { Facts::read(session.format, line).json_row() } else { None },
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

impl<'l> BlockRow<'l> {
    /// Returns the row of a part of a message.
    pub(crate) fn new(block: &Block<'l>) -> BlockRow<'l> {
        match block {
            Block::Text(text) => BlockRow::Text { text: text.clone() },
            Block::Thinking { text, signed } => BlockRow::Thinking { text: text.clone(), signed: *signed },
            Block::Call { id, name, arguments } => {
                // Values that serde_json rejects (an unpaired surrogate) are included as the stored
                // text.
                let arguments: Value = serde_json::from_slice(arguments)
                    .unwrap_or_else(|_| String::from_utf8_lossy(arguments).into_owned().into());
                BlockRow::Call { id: id.clone(), name: name.clone(), arguments }
            }
            Block::Result { call, is_error, text } => {
                BlockRow::Result { call: call.clone(), is_error: *is_error, text: text.clone(), stored: None }
            }
            Block::Image { mime, bytes, .. } => BlockRow::Image { mime: mime.clone(), bytes: *bytes },
            Block::Other(ty) => BlockRow::Other { stored_type: ty.clone() },
        }
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
