//! Entries as `bough.entry/1`, for scripts.

use crate::format::{Block, Content, Format, Session};
use crate::json::{each_member, string};
use crate::model::{Flags, Ix, Source};
use crate::ops::ids;
use serde_json::{Value, json};
use std::io;

/// How many characters of a text lists give.
const TEXT: usize = 200;

/// An entry, given its line; what a format has not is left out.
pub(super) fn object(
    session: &Session,
    source: &dyn Source,
    entry: Ix,
    line: &[u8],
    file: &str,
) -> io::Result<Value> {
    let (entries, tree) = (&session.entries, &session.tree);
    let content = Content::of(session.format, line);
    let span = session.span(entry);
    let mut object = json!({ "schema": "bough.entry/1" });
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            object[key] = value;
        }
    };
    let text = |text: String| Some(text).filter(|text| !text.is_empty()).map(Value::from);
    set("id", text(ids::id(session, source, entry)?));
    let parent = tree.parent(entry).map(|parent| ids::name(session, source, parent)).transpose()?;
    set("parent", parent.map(Value::from));
    set("type", Some(entries.ty(entry).into()));
    set("kind", Some(entries.kind(entry).word().into()));
    set("role", text(content.role.to_string()));
    set("timestamp", timestamp(line));
    set("file", Some(file.into()));
    set("line", Some(entries.line(entry).into()));
    set("offset", Some(span.offset.into()));
    set("length", Some(span.len.into()));
    set("labels", session.labels.of(entry).map(|label| json!([label])));
    set("head", (session.head.entry == Some(entry)).then_some(true.into()));
    set("session", entries.session(entry).map(str::to_owned).or_else(|| session.id()).map(Value::from));
    if session.format == Format::Claude && entries.flags(entry).has(Flags::SIDECHAIN) {
        let agent = each_member(line).filter(|(key, _)| key == "agentId").last();
        set("agent", agent.and_then(|(_, value)| string(value)).map(|agent| agent.into_owned().into()));
    }
    set("text", Some(content.text.chars().take(TEXT).collect::<String>().into()));
    let tools: Vec<Value> = content
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Call { name, .. } => Some(Value::from(name.as_ref())),
            _ => None,
        })
        .collect();
    set("tools", Some(tools).filter(|tools| !tools.is_empty()).map(Value::from));
    Ok(object)
}

/// The time of a line as it is stored: a string or a number.
fn timestamp(line: &[u8]) -> Option<Value> {
    let (_, value) = each_member(line).filter(|(key, _)| key == "timestamp").last()?;
    match string(value) {
        Some(text) => Some(text.into_owned().into()),
        None => serde_json::from_slice(value).ok(),
    }
}
