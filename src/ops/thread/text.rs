//! Parsing the text of a line, for both ways of linearizing.

use crate::format::claude::KeptLists;
use crate::json::{decode, string, string_of};
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Passes the object on a line to `with`; returns `None` if the line is not an object. Bytes that
/// are not UTF-8 become U+FFFD.
pub(crate) fn on_object<T>(line: &[u8], with: impl FnOnce(&Object<'_>) -> Option<T>) -> Option<T> {
    with(&Object::read(String::from_utf8_lossy(line).trim())?)
}

/// Passes the blocks of a message's content to `each`, in order; none if the content is not a list.
pub(crate) fn each_content(line: &[u8], each: impl FnMut(&Object<'_>)) {
    on_object(line, |line| {
        each_block(line.object("message")?.get("content")?, each);
        Some(())
    });
}

/// Passes the objects of a content that is a list to `each`, in order.
pub(crate) fn each_block<'c>(content: &'c str, mut each: impl FnMut(&Object<'c>)) {
    if !content.starts_with('[') {
        return;
    }
    let items: Vec<&'c RawValue> = serde_json::from_str(content).unwrap_or_default();
    for item in items {
        if let Some(block) = Object::read(item.get()) {
            each(&block);
        }
    }
}

/// A JSON object, with its members in the order of the text; if a key is repeated, the last one
/// counts.
pub(crate) struct Object<'t> {
    members: Vec<(Cow<'t, str>, &'t str)>,
}

impl<'t> Object<'t> {
    /// Parses an object; returns `None` if the text is not an object, or is broken.
    pub(crate) fn read(text: &'t str) -> Option<Object<'t>> {
        if !text.starts_with('{') {
            return None;
        }
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let members = deserializer.deserialize_map(Members).ok()?;
        deserializer.end().ok()?;
        Some(Object { members })
    }

    /// Returns the JSON text of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&'t str> {
        self.members.iter().rfind(|(known, _)| known == key).map(|(_, value)| *value)
    }

    pub(crate) fn is_text(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.starts_with('"'))
    }

    /// Returns the string of a key.
    pub(crate) fn text(&self, key: &str) -> Option<Cow<'t, str>> {
        let value = self.get(key)?.strip_prefix('"')?.strip_suffix('"')?;
        Some(decode(value.as_bytes()))
    }

    /// Returns the object of a key.
    pub(crate) fn object(&self, key: &str) -> Option<Object<'t>> {
        Object::read(self.get(key)?)
    }
}

struct Members;

impl<'t> Visitor<'t> for Members {
    type Value = Vec<(Cow<'t, str>, &'t str)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(16);
        while let Some((key, value)) = map.next_entry::<&'t RawValue, &'t RawValue>()? {
            let key = key.get();
            members.push((decode(&key.as_bytes()[1..key.len() - 1]), value.get()));
        }
        Ok(members)
    }
}

/// Returns the first message to a subagent, as prompts are compared.
pub(crate) fn first_text(text: &str) -> String {
    normal(lead_body(text).filter(|body| !body.is_empty()).unwrap_or(text))
}

/// Returns text with white space collapsed, in lower case.
pub(crate) fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns the body of the first message of the team's lead.
fn lead_body(text: &str) -> Option<&str> {
    const OPEN: &str = "<teammate-message";
    let mut rest = text;
    loop {
        rest = &rest[rest.find(OPEN)? + OPEN.len()..];
        let word_ends = rest.chars().next().is_none_or(|next| !next.is_alphanumeric() && next != '_');
        let close = rest.find('>')?;
        if !word_ends {
            continue;
        }
        let attributes = &rest[..close];
        let end = rest[close..].find("</teammate-message>")?;
        if attribute(attributes, "teammate_id") == Some("team-lead") {
            return Some(rest[close + 1..close + end].trim());
        }
        rest = &rest[close + end..];
    }
}

fn attribute<'t>(attributes: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = attributes;
    loop {
        rest = &rest[rest.find(name)? + name.len()..];
        let Some(value) = rest.trim_start().strip_prefix('=').map(str::trim_start) else { continue };
        for quote in ['"', '\''] {
            if let Some(value) = value.strip_prefix(quote)
                && let Some(end) = value.find(quote)
            {
                return Some(&value[..end]);
            }
        }
    }
}

/// What a compaction says about its position.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    /// The entry before it.
    pub(crate) logical: Option<String>,
    /// The entries that it keeps, the last one first; only some of them if it names just the first
    /// and the last.
    pub(crate) kept: Vec<String>,
}

impl Standing {
    pub(crate) fn read(line: &[u8]) -> Standing {
        let lists = KeptLists::find(line);
        let mut kept: Vec<String> = lists.uuids().filter_map(string).map(Cow::into_owned).collect();
        kept.extend(lists.ends().into_iter().flatten().filter_map(string).map(Cow::into_owned));
        kept.reverse();
        Standing { logical: string_of(line, "logicalParentUuid"), kept }
    }

    /// Returns the entries that it may continue from, the likeliest first.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &String> {
        self.logical.iter().chain(&self.kept)
    }
}
