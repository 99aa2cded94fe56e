//! Entries as a document: Markdown, or plain text.
//!
//! A tool result is printed with its call. A result whose call is not in the document is printed at its own place.

mod markdown;
mod text;

pub use markdown::{markdown, quoted_in_front_matter};
pub use text::text;

use super::{filter, ids};
use crate::format::{Block, Content, Session};
use crate::json::{each_member, string};
use crate::model::{Ix, Kind, Source};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;

/// What is left out of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Whether thinking is left out.
    pub no_thinking: bool,
    /// The most bytes of a result that are printed.
    pub results: Option<usize>,
}

/// How much was left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeftOut {
    /// Thinking blocks.
    pub thinking: usize,
    /// Results that were cut.
    pub results: usize,
    /// Images: a document has only a note for each.
    pub images: usize,
}

/// An entry of a document.
pub struct Item {
    /// Its id, or the number of its line.
    pub id: String,
    /// Its kind as it is shown.
    pub kind: Kind,
    /// When it was written, as it is printed; empty if not known.
    pub date: String,
    /// Its label.
    pub label: Option<String>,
    /// The model, for a reply.
    pub model: Option<String>,
    /// What it consists of.
    pub parts: Vec<Part>,
}

/// A part of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// Text, in Markdown as agents write it.
    Text(String),
    /// Thinking.
    Thinking(String),
    /// A tool call, and its result.
    Call {
        /// The tool.
        name: String,
        /// The call in a few words.
        words: String,
        /// The arguments: names and values.
        arguments: Vec<(String, String)>,
        /// The result; `None` if there is none in the document.
        result: Option<Answer>,
    },
    /// A result without its call.
    Result(Answer),
    /// A note: an image, or what is not known.
    Note(String),
}

/// A tool result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// Whether the tool failed.
    pub is_error: bool,
    /// How many bytes were cut off.
    pub cut: usize,
}

/// Reads entries as the items of a document.
///
/// `line` changes each line before it is read, e.g. to redact it. `date` prints a time. Entries that do not belong to the
/// conversation are left out, unless they were asked for one by one.
pub fn items(
    session: &Session,
    source: &dyn Source,
    entries: &[Ix],
    options: Options,
    line: &mut dyn FnMut(&[u8]) -> Vec<u8>,
    date: &dyn Fn(Ix) -> String,
) -> io::Result<(Vec<Item>, LeftOut)> {
    let mut left_out = LeftOut::default();
    let mut items: Vec<Item> = Vec::new();
    // The calls that have no result yet: the item and the part.
    let mut open: HashMap<String, (usize, usize)> = HashMap::new();
    for ix in entries {
        let stored = line(&source.bytes(session.span(*ix))?);
        let content = Content::read(session.format, &stored);
        let kind = filter::shown_kind(session, *ix);
        let mut parts = Vec::new();
        let mut opened = Vec::new();
        let mut is_answer = false;
        let is_message = content.blocks.iter().any(|block| !matches!(block, Block::Other(_)));
        for block in &content.blocks {
            match block {
                Block::Text(text) if !text.trim().is_empty() => parts.push(Part::Text(typed(&content, text))),
                Block::Text(_) => {}
                Block::Thinking { text, .. } if text.trim().is_empty() => {}
                Block::Thinking { .. } if options.no_thinking => left_out.thinking += 1,
                Block::Thinking { text, .. } => parts.push(Part::Thinking(text.to_string())),
                Block::Call { id, name, arguments } => {
                    opened.push((id.to_string(), parts.len()));
                    parts.push(Part::Call {
                        name: name.to_string(),
                        words: crate::format::call_words(name, arguments),
                        arguments: arguments_of(arguments),
                        result: None,
                    });
                }
                Block::Result { call, is_error, text } => {
                    let (text, cut) = cut_off(text, options.results);
                    left_out.results += usize::from(cut > 0);
                    let answer = Answer { text: text.to_owned(), is_error: *is_error, cut };
                    is_answer = true;
                    match open.remove(&**call) {
                        Some((item, part)) => {
                            if let Part::Call { result, .. } = &mut items[item].parts[part] {
                                *result = Some(answer);
                            }
                        }
                        None => parts.push(Part::Result(answer)),
                    }
                }
                Block::Image { mime, bytes, .. } => {
                    left_out.images += 1;
                    parts.push(Part::Note(format!("image: {mime}, {bytes} bytes")));
                }
                Block::Other(ty) if is_message => parts.push(Part::Note(ty.to_string())),
                Block::Other(_) => {}
            }
        }
        if parts.is_empty() && !is_answer && !content.text.trim().is_empty() {
            parts.push(Part::Text(content.text.to_string()));
        }
        if parts.is_empty() {
            continue;
        }
        for (id, part) in opened {
            open.insert(id, (items.len(), part));
        }
        items.push(Item {
            id: ids::name(session, source, *ix)?,
            kind,
            date: date(*ix),
            label: session.labels.label(*ix).map(str::to_owned),
            model: content.model.as_deref().filter(|_| kind == Kind::Assistant).map(str::to_owned),
            parts,
        });
    }
    Ok((items, left_out))
}

/// What a user of Claude Code typed, without what the client put around it.
fn typed(content: &Content<'_>, text: &str) -> String {
    let is_only = content.blocks.len() == 1 && content.ty == "user";
    let typed = if is_only { crate::format::claude::typed_in(content) } else { None };
    typed.filter(|typed| !typed.trim().is_empty()).unwrap_or_else(|| text.to_owned())
}

/// The arguments of a call, each value as it reads: a string without its quotes, anything else as JSON.
pub(super) fn arguments_of(arguments: &[u8]) -> Vec<(String, String)> {
    let members: Vec<_> = each_member(arguments).collect();
    if members.is_empty() && !matches!(arguments.trim_ascii(), b"" | b"{}" | b"null") {
        return vec![(String::new(), String::from_utf8_lossy(arguments).into_owned())];
    }
    let value = |value: &[u8]| {
        string(value).unwrap_or_else(|| Cow::Owned(String::from_utf8_lossy(value).into_owned())).into_owned()
    };
    members.into_iter().map(|(key, stored)| (key.into_owned(), value(stored))).collect()
}

/// The start of a text, of at most so many bytes, and how many more there are.
pub(super) fn cut_off(text: &str, most: Option<usize>) -> (&str, usize) {
    let Some(mut end) = most.filter(|most| *most < text.len()) else { return (text, 0) };
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (&text[..end], text.len() - end)
}

impl Item {
    /// The heading of an entry: who speaks.
    pub fn heading(&self) -> &'static str {
        match self.kind {
            Kind::User => "User",
            Kind::Assistant => "Assistant",
            Kind::Tool => "Tool result",
            Kind::Compaction => "Compaction",
            Kind::Summary => "Branch summary",
            Kind::System => "System",
            _ => "Note",
        }
    }
}

#[cfg(test)]
mod tests;
