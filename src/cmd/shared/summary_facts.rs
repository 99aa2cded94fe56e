//! The facts in a compaction, a branch summary or a setting besides its text.

use crate::format::Format;
use crate::json::{each_item, each_member, member, string, text, value};
use crate::model::{Count, Kind};
use serde_json::{Map, Value};
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
    pub(crate) fn json(&self) -> Option<Value> {
        let mut object = Map::new();
        for (key, tokens) in [("tokens_before", self.tokens_before), ("tokens_after", self.tokens_after)] {
            let tokens = tokens.and_then(|tokens| serde_json::from_slice(tokens).ok());
            object.extend(tokens.map(|tokens| (key.into(), tokens)));
        }
        for (key, value) in [("first_kept", &self.first_kept), ("from", &self.from), ("method", &self.method)]
        {
            object.extend(value.clone().map(|value| (key.into(), value.into())));
        }
        for (key, files) in [("read_files", &self.read_files), ("modified_files", &self.modified_files)] {
            if !files.is_empty() {
                object.insert(key.into(), files.clone().into());
            }
        }
        if self.by_extension {
            object.insert("by_extension".into(), true.into());
        }
        Some(object).filter(|object| !object.is_empty()).map(Value::Object)
    }
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
    let tier = string(value(line, &["message", "usage", "service_tier"]).unwrap_or_default());
    let rows = [("mode", mode), ("tier", tier)].into_iter();
    rows.filter_map(|(name, value)| Some((name, value?.into_owned())))
        .filter(|(_, value)| !value.is_empty())
        .collect()
}
