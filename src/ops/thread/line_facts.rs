//! What bough's own reading asks of single lines: only at forks, and of entries without a parent.

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

    /// Gives the line of an entry to `with`.
    pub(crate) fn line<T>(&self, ix: Ix, with: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        let mut buffer = self.buffer.borrow_mut();
        self.source.read(self.session.span(ix), &mut buffer)?;
        let out = with(&buffer);
        if buffer.len() > 1 << 20 {
            *buffer = Vec::new();
        }
        Ok(out)
    }

    /// Gives the bytes of a span to `with`.
    pub(crate) fn span<T>(&self, span: Span, with: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        self.source.read(span, &mut self.buffer.borrow_mut())?;
        Ok(with(&self.buffer.borrow()))
    }

    /// Whether a user typed this entry: a prompt, and nothing that the client put in.
    pub(crate) fn is_typed(&self, ix: Ix) -> io::Result<bool> {
        Ok(self.prompt(ix)? == Some(Prompt::Typed))
    }

    /// What sort of prompt an entry is; `None` where it is none.
    pub(crate) fn prompt(&self, ix: Ix) -> io::Result<Option<Prompt>> {
        let entries = &self.session.entries;
        if entries.kind(ix) != Kind::User {
            return Ok(None);
        }
        let flags = entries.flags(ix);
        if flags.is_put_in() {
            return Ok(Some(Prompt::Injected));
        }
        self.line(ix, |line| Some(Prompt::of(&first_text(line))))
    }

    /// The ids of the calls in an entry, or of the calls that it answers.
    pub(crate) fn tools(&self, ix: Ix) -> io::Result<Vec<Key>> {
        self.line(ix, |line| {
            let mut ids = Vec::new();
            each_content(line, |block| {
                let id = match block.text("type").as_deref() {
                    Some("tool_use") => block.text("id"),
                    Some("tool_result") => block.text("tool_use_id"),
                    _ => None,
                };
                ids.extend(id.map(|id| Key::of(id.as_bytes())));
            });
            ids
        })
    }

    /// The prompts of the calls in an entry that start agents.
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

    /// What an entry says, apart from its own id and its place: equal for copies of one entry.
    ///
    /// Given as a key, since many may be asked for at one fork.
    pub(crate) fn content(&self, ix: Ix) -> io::Result<Key> {
        self.line(ix, |line| {
            let keys: &[&str] = match self.session.entries.kind(ix).is_turn() {
                true => &["message"],
                false => &["subtype", "content", "attachment", "data", "compactMetadata"],
            };
            let said = on_object(line, |object| {
                let said = keys.iter().map(|key| object.get(key).unwrap_or_default());
                Some(Key::of(said.collect::<Vec<_>>().join("\u{1f}").as_bytes()))
            });
            said.unwrap_or_else(|| Key::of(line))
        })
    }
}

/// The sorts of prompts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Prompt {
    /// Typed by the user.
    Typed,
    /// Put in by the client: a caveat, the output of a command, a notification, a summary.
    Injected,
    /// Put in by the client where a turn was interrupted.
    Interruption,
}

impl Prompt {
    /// A command counts as typed here, since the user turned to it; and so does what begins with a reminder.
    fn of(text: &str) -> Prompt {
        match Markup::of(text) {
            Some(Markup::Interruption) => Prompt::Interruption,
            Some(Markup::Printed | Markup::Caveat | Markup::Notice) => Prompt::Injected,
            Some(Markup::Command | Markup::Arguments | Markup::Reminder) | None => Prompt::Typed,
        }
    }
}

/// The text of a message, or the first block of text in it.
pub(crate) fn first_text(line: &[u8]) -> String {
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

/// The session and the entry of which a line says to be a copy.
pub fn forked_from(line: &[u8]) -> Option<(String, String)> {
    on_object(line, |line| {
        let from = line.object("forkedFrom")?;
        let uuid = from.text("messageUuid").unwrap_or_default().into_owned();
        Some((from.text("sessionId")?.into_owned(), uuid))
    })
}
