//! The rows of JSON.

use super::show::Show;
use crate::cmd::shared::entry_json::BlockRow;
use crate::context::{Message, Patch, Said};
use crate::format::Block;
use crate::model::{Count, Ix, Kind};
use crate::ops::ids;
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::io;

impl Show<'_> {
    pub(super) fn message_row<'a>(
        &self,
        message: &'a Message,
        said: &'a Said<'a>,
    ) -> io::Result<MessageRow<'a>> {
        let id = message.entry.map(|entry| ids::id(self.session, self.source, entry)).transpose()?;
        let patches =
            message.patches.iter().map(|patch| self.patch_row(patch)).collect::<io::Result<Vec<_>>>()?;
        Ok(MessageRow {
            role: &message.role,
            entry: id.filter(|id| !id.is_empty()),
            line: message.entry.map(|entry| self.session.entries.line(entry)),
            origin: message.origin.name(),
            text: said.sent(),
            blocks: said.blocks.iter().map(BlockRow::new).collect(),
            sent: (!message.is_sent()).then_some(false),
            patches: Some(patches).filter(|patches| !patches.is_empty()),
        })
    }

    fn patch_row<'a>(&self, patch: &'a Patch) -> io::Result<PatchRow<'a>> {
        let name = |ix: Ix| ids::name(self.session, self.source, ix);
        let mut row = PatchRow { patch: patch.name(), ..PatchRow::default() };
        match patch {
            Patch::Edited { by } => row.by = Some(name(*by)?),
            Patch::CallLeftOut { call, tool } | Patch::NoResult { call, tool } => {
                (row.call, row.tool) = (Some(&**call), Some(&**tool));
            }
            Patch::ResultMadeUp { call, tool, text } => {
                (row.call, row.tool, row.text) = (Some(&**call), Some(&**tool), Some(*text));
            }
            Patch::MadeUp { text } => row.text = Some(text),
            Patch::Added { what } => row.what = Some(what),
            Patch::ResultLeftOut { call } | Patch::AsText { call } => row.call = Some(&**call),
            Patch::NoCall { call, why } => {
                (row.call, row.why) = (Some(&**call), Some(why.name()));
                row.by = why.culprit().map(name).transpose()?;
            }
            Patch::ProviderHistory { items } => row.items = Some(*items),
            Patch::Excluded
            | Patch::EndedBadly
            | Patch::UnknownRole
            | Patch::Moved
            | Patch::ThinkingLeftOut
            | Patch::OnlyText
            | Patch::PutBack
            | Patch::Kept
            | Patch::Bridged => {}
        }
        Ok(row)
    }
}

/// A message that the model would be sent: context; with --dropped, an entry on the path that it would not
/// be.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.message/1")]
pub(in crate::cmd) struct MessageRow<'a> {
    /// The role.
    role: &'a str,
    /// The id of the entry, or `line:N` where the format has no ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<String>,
    /// The line of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// Where it comes from: `message`, `compaction`, `branch-summary`, and so on.
    origin: &'static str,
    /// Its text.
    text: Cow<'a, str>,
    /// Its content.
    blocks: Vec<BlockRow<'a>>,
    /// Whether it is sent at all; absent if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<bool>,
    /// What the agent changed of it after it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    patches: Option<Vec<PatchRow<'a>>>,
}

/// A change.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct PatchRow<'a> {
    /// What was done.
    patch: &'static str,
    /// The tool call that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'a str>,
    /// The tool of that call.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    /// What it has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// What is added.
    #[serde(skip_serializing_if = "Option::is_none")]
    what: Option<&'a str>,
    /// Why the call of a tool result is not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    /// The entry that did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// How many items the record of the provider has.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<usize>,
}

/// An entry on the path that the model would not be sent: context --dropped.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.message/1")]
pub(in crate::cmd) struct DroppedRow<'a> {
    /// The role.
    pub(super) role: Cow<'a, str>,
    /// The id of the entry, or `line:N` where the format has no ids.
    pub(super) entry: String,
    /// The line of the entry.
    pub(super) line: u64,
    /// With --dropped, the kind of the entry.
    pub(super) kind: Kind,
    /// Where it comes from: `message`, `compaction`, `branch-summary`, and so on.
    pub(super) origin: &'static str,
    /// With --dropped, whether a part of it is sent.
    pub(super) sent: bool,
    /// With --dropped, why it is not sent.
    pub(super) why: &'a str,
    /// Its text.
    pub(super) text: Cow<'a, str>,
    /// With --dropped, the entry because of which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<String>,
}

/// The context in numbers: context --stat.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.context/1")]
pub(in crate::cmd) struct ContextRow<'a> {
    /// How many messages the model would be sent.
    pub(super) messages: usize,
    /// How many entries on the path are not sent.
    pub(super) dropped: usize,
    /// Bytes of text in the messages.
    pub(super) bytes: usize,
    /// The messages by role.
    pub(super) roles: Vec<RoleRow<'a>>,
    /// The model for each purpose, as set on the path.
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub(super) models: Map<String, Value>,
    /// Tokens after the last reply, as stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<u64>,
    /// The level of thinking, as set on the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<&'a str>,
}

/// Messages of one role.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct RoleRow<'a> {
    /// A role.
    pub(super) role: &'a str,
    /// How many messages it has.
    pub(super) messages: usize,
    /// Bytes of text in them.
    pub(super) bytes: usize,
}

/// Returns a block as text for people.
pub(super) fn block_text(block: &Block<'_>) -> String {
    match block {
        Block::Text(text) => text.to_string(),
        Block::Thinking { text, .. } if text.trim().is_empty() => "[thinking, encrypted]".into(),
        Block::Thinking { text, .. } => format!("[thinking] {text}"),
        Block::Call { name, arguments, .. } => {
            format!("[call] {name} {}", String::from_utf8_lossy(arguments))
        }
        Block::Result { is_error, text, .. } => {
            format!("[{}] {text}", if *is_error { "failed" } else { "result" })
        }
        Block::Image { mime, bytes, .. } => {
            format!("[image] {mime}, {}", Count("byte", "bytes", *bytes as usize))
        }
        Block::Other(ty) => format!("[{ty}]"),
    }
}
