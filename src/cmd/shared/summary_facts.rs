//! The facts in a compaction, a branch summary or a setting besides its text.

use crate::format::Format;
use crate::json::{each_item, each_member, member, member_at, string, text};
use crate::model::{Count, Kind};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// The facts of a compaction or a summary, as stored: what it replaces, and who made it.
pub(crate) struct Facts<'l> {
    tokens_before: Option<&'l [u8]>,
    tokens_after: Option<&'l [u8]>,
    first_kept: Option<String>,
    from: Option<String>,
    method: Option<String>,
    read_files: Vec<String>,
    modified_files: Vec<String>,
    by_extension: bool,
}

impl<'l> Facts<'l> {
    /// Reads the facts from the line of an entry.
    pub(crate) fn read(format: Format, line: &'l [u8]) -> Facts<'l> {
        let chimera = format == Format::Chimera;
        let details = member(line, "details").unwrap_or_default();
        let meta = member(line, "compactMetadata").unwrap_or_default();
        let files = |of: &[u8], key| -> Vec<String> {
            let files = each_item(member(of, key).unwrap_or_default());
            files.filter_map(string).map(|file| file.into_owned()).collect()
        };
        let named = |of: &[u8], key| Some(text(of, key).into_owned()).filter(|text| !text.is_empty());
        let is_true = |key| member(line, key) == Some(b"true");
        let (read, modified) = match chimera {
            true => (files(line, "read_files"), files(line, "modified_files")),
            false => (files(details, "readFiles"), files(details, "modifiedFiles")),
        };
        let tokens = match format {
            Format::Chimera => member(line, "tokens_before"),
            Format::Claude => member(meta, "preTokens"),
            _ => member(line, "tokensBefore"),
        };
        Facts {
            tokens_before: tokens.filter(|tokens| tokens[0].is_ascii_digit()),
            tokens_after: member(line, "tokensAfter").filter(|tokens| tokens[0].is_ascii_digit()),
            first_kept: named(line, format.names().kept),
            from: named(line, "fromId"),
            method: named(line, "method").or_else(|| named(meta, "trigger")),
            read_files: read,
            modified_files: modified,
            by_extension: is_true("fromHook") || is_true("fromExtension"),
        }
    }

    /// Returns the facts as rows for people: a name and a value.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        for (name, tokens) in [("before", self.tokens_before), ("after", self.tokens_after)] {
            let Some(tokens) = tokens else { continue };
            let number = std::str::from_utf8(tokens).ok().and_then(|text| text.parse::<f64>().ok());
            rows.push((name, Count("token", "tokens", number.unwrap_or_default() as usize).to_string()));
        }
        rows.extend(self.first_kept.clone().map(|kept| ("keeps", format!("from {kept} on"))));
        rows.extend(self.from.clone().map(|from| ("from", from)));
        rows.extend(self.method.clone().map(|method| ("method", method)));
        for (name, files) in [("read", &self.read_files), ("changed", &self.modified_files)] {
            if !files.is_empty() {
                rows.push((name, files.join(", ")));
            }
        }
        if self.by_extension {
            rows.push(("made by", "an extension".into()));
        }
        rows
    }

    /// Returns the facts as an object for scripts, or `None` if there are none.
    pub(crate) fn json_row(self) -> Option<FactsRow> {
        let number = |tokens: Option<&[u8]>| serde_json::from_slice(tokens?).ok();
        let listed = |files: Vec<String>| Some(files).filter(|files| !files.is_empty());
        let row = FactsRow {
            tokens_before: number(self.tokens_before),
            tokens_after: number(self.tokens_after),
            first_kept: self.first_kept,
            from: self.from,
            method: self.method,
            read_files: listed(self.read_files),
            modified_files: listed(self.modified_files),
            by_extension: self.by_extension.then_some(true),
        };
        Some(row).filter(|row| *row != FactsRow::default())
    }
}

/// What a compaction, or the summary of a branch, says beside its text.
#[derive(Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FactsRow {
    /// How many tokens the context had.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    tokens_before: Option<Value>,
    /// How many tokens it had afterward.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    tokens_after: Option<Value>,
    /// The id of the first entry that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_kept: Option<String>,
    /// The id of the entry at which the branch was left, as stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// How it was made, as stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    /// The files that were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_files: Option<Vec<String>>,
    /// The files that were changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_files: Option<Vec<String>>,
    /// Whether an extension made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("const" = true)))]
    by_extension: Option<bool>,
}

/// The fields of all entries, and those that are in the text of a setting.
const IN_TEXT: [&str; 25] = [
    "type",
    "id",
    "parentId",
    "parent_id",
    "timestamp",
    "provider",
    "modelId",
    "model",
    "thinkingLevel",
    "name",
    "title",
    "mode",
    "serviceTier",
    "injectedRules",
    "activeToolNames",
    "selectedToolNames",
    "targetId",
    "target_id",
    "label",
    "task",
    "kind",
    "value",
    "usage",
    "note",
    "purpose",
];

/// Returns the fields of a setting or of a message of an extension that its text does not have, as stored.
pub(crate) fn other_fields(kind: Kind, line: &[u8]) -> Vec<(Cow<'_, str>, &[u8])> {
    let is_wanted: fn(&str) -> bool = match kind {
        Kind::Setting => |key| !IN_TEXT.contains(&key),
        _ if text(line, "type") == "custom_message" => |key| matches!(key, "details" | "attribution"),
        _ => return Vec::new(),
    };
    each_member(line).filter(|(key, value)| is_wanted(key) && *value != b"null").collect()
}

/// Returns the mode and the tier that a message of Claude Code has, as rows for people.
pub(crate) fn mode_and_tier(format: Format, line: &[u8]) -> Vec<(&'static str, String)> {
    if format != Format::Claude {
        return Vec::new();
    }
    let mode = string(member(line, "permissionMode").unwrap_or_default());
    let tier = string(member_at(line, &["message", "usage", "service_tier"]).unwrap_or_default());
    let rows = [("mode", mode), ("tier", tier)].into_iter();
    rows.filter_map(|(name, value)| Some((name, value?.into_owned())))
        .filter(|(_, value)| !value.is_empty())
        .collect()
}
