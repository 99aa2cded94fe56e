//! The facts about single lines that linearization needs: only at forks, and for entries without a
//! parent.

use super::text::{each_block, each_content, on_object};
use crate::format::Session;
use crate::format::claude::Markup;
use crate::model::{Ix, Key, Kind, Source, Span};
use std::cell::RefCell;
use std::io;

/// A session with its bytes.
pub(crate) struct Look<'s> {
    pub(crate) session: &'s Session,
    source: &'s dyn Source,
    buffer: RefCell<Vec<u8>>,
}

impl<'s> Look<'s> {
    pub(crate) fn new(session: &'s Session, source: &'s dyn Source) -> Look<'s> {
        Look { session, source, buffer: RefCell::default() }
    }

    /// Passes the line of an entry to `with`.
    pub(crate) fn line<T>(&self, ix: Ix, with: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        let mut buffer = self.buffer.borrow_mut();
        self.source.read(self.session.span(ix), &mut buffer)?;
        let out = with(&buffer);
        if buffer.len() > 1 << 20 {
            *buffer = Vec::new();
        }
        Ok(out)
    }

    /// Passes the bytes of a span to `with`.
    pub(crate) fn span<T>(&self, span: Span, with: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        self.source.read(span, &mut self.buffer.borrow_mut())?;
        Ok(with(&self.buffer.borrow()))
    }

    /// Returns whether a user typed this entry: a prompt that Claude Code did not insert.
    pub(crate) fn is_typed(&self, ix: Ix) -> io::Result<bool> {
        Ok(self.prompt(ix)? == Some(Prompt::Typed))
    }

    /// Returns the kind of a prompt, or `None` if the entry is not a prompt.
    pub(crate) fn prompt(&self, ix: Ix) -> io::Result<Option<Prompt>> {
        let entries = &self.session.entries;
        if entries.kind(ix) != Kind::User {
            return Ok(None);
        }
        let flags = entries.flags(ix);
        if flags.is_put_in() {
            return Ok(Some(Prompt::Injected));
        }
        self.line(ix, |line| Some(Prompt::parse(&line_text(line))))
    }

    /// Returns the ids of the calls in an entry, or of the calls that its results belong to.
    pub(crate) fn tools(&self, ix: Ix) -> io::Result<Vec<Key>> {
        self.line(ix, |line| {
            let mut ids = Vec::new();
            each_content(line, |block| {
                let id = match block.text("type").as_deref() {
                    Some("tool_use") => block.text("id"),
                    Some("tool_result") => block.text("tool_use_id"),
                    _ => None,
                };
                ids.extend(id.map(|id| Key::hash(id.as_bytes())));
            });
            ids
        })
    }

    /// Returns the prompts of the calls in an entry that start subagents.
    pub(crate) fn spawns(&self, ix: Ix) -> io::Result<Vec<String>> {
        self.line(ix, |line| {
            let mut prompts = Vec::new();
            each_content(line, |block| {
                if matches!(block.text("name").as_deref(), Some("Task" | "Agent"))
                    && let Some(prompt) =
                        block.object("input").and_then(|input| Some(input.text("prompt")?.into_owned()))
                {
                    prompts.push(prompt);
                }
            });
            prompts
        })
    }

    /// Returns the content of an entry without its own id and its links: equal for copies of one
    /// entry.
    ///
    /// The content is returned as a key, because many may be compared at one fork.
    pub(crate) fn content(&self, ix: Ix) -> io::Result<Key> {
        self.line(ix, |line| {
            let keys: &[&str] = match self.session.entries.kind(ix).is_turn() {
                true => &["message"],
                false => &["subtype", "content", "attachment", "data", "compactMetadata"],
            };
            let said = on_object(line, |object| {
                let said = keys.iter().map(|key| object.get(key).unwrap_or_default());
                Some(Key::hash(said.collect::<Vec<_>>().join("\u{1f}").as_bytes()))
            });
            said.unwrap_or_else(|| Key::hash(line))
        })
    }
}

/// The kinds of prompts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Prompt {
    /// Typed by the user.
    Typed,
    /// Inserted by Claude Code: a caveat, the output of a command, a notification, a summary.
    Injected,
    /// Inserted by Claude Code when a turn was interrupted.
    Interruption,
}

impl Prompt {
    /// A command counts as typed here, because it comes from the user; so does a text that begins
    /// with a reminder.
    fn parse(text: &str) -> Prompt {
        match Markup::parse(text) {
            Some(Markup::Interruption) => Prompt::Interruption,
            Some(Markup::Printed | Markup::Caveat | Markup::Notice) => Prompt::Injected,
            Some(Markup::Command | Markup::Arguments | Markup::Reminder) | None => Prompt::Typed,
        }
    }
}

/// Returns the text of a message, or its first text block.
pub(crate) fn line_text(line: &[u8]) -> String {
    let text = on_object(line, |line| {
        let message = line.object("message")?;
        if let Some(text) = message.text("content") {
            return Some(text.into_owned());
        }
        let mut first = None;
        each_block(message.get("content")?, |block| {
            if first.is_none() && block.text("type").as_deref() == Some("text") {
                first = block.text("text").map(|text| text.into_owned());
            }
        });
        first
    });
    text.unwrap_or_default()
}

/// Returns the session and the entry that a line claims to be a copy of.
pub fn forked_from(line: &[u8]) -> Option<(String, String)> {
    on_object(line, |line| {
        let from = line.object("forkedFrom")?;
        let uuid = from.text("messageUuid").unwrap_or_default().into_owned();
        Some((from.text("sessionId")?.into_owned(), uuid))
    })
}
