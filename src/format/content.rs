//! The content of one line, as blocks of text, thinking, tool calls and results; read only when it
//! is shown.
//!
//! The index contains no texts ([`crate::model::Entries`]). [`Content::read`] turns the bytes of one
//! line, whatever the format, into a value for display; it borrows from the line if a string has no
//! escapes. A line that is not an object, and fields of an unexpected type, yield less content,
//! never an error.

mod claude;
mod pi;
mod summary;
mod usage;

pub use summary::{call_words, instructions};
pub use usage::Usage;

use super::Format;
use crate::json::{Members, each_item, each_object, string};
use std::borrow::Cow;
use summary::{SUMMARY, one_line};

/// The content of one line.
#[derive(Clone, Debug, Default)]
pub struct Content<'l> {
    /// The type of the line, as stored.
    pub ty: Cow<'l, str>,
    /// The role of its message, as stored; empty if it is not a message.
    pub role: Cow<'l, str>,
    /// The parts of the message, in order.
    pub blocks: Vec<Block<'l>>,
    /// The content as plain text: the texts of a message or of a tool result, a summary, the text
    /// of a label, setting or title. Does not include thinking and tool calls.
    pub text: Cow<'l, str>,
    /// How many bytes at the start of the text are bough's own words, and not part of the line.
    pub words: usize,
    /// The tool that the result comes from, if the line names it.
    pub tool: Option<Cow<'l, str>>,
    /// The model that replied.
    pub model: Option<Cow<'l, str>>,
    /// Why the reply ended.
    pub ended: Option<Cow<'l, str>>,
    /// The usage of the reply, as stored: JSON.
    pub usage: Option<&'l [u8]>,
    pub(super) sort: PromptForm,
    /// Whether texts are left out, see [`Content::outline`].
    pub(super) is_outline: bool,
}

/// A part of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Block<'l> {
    /// Text.
    Text(Cow<'l, str>),
    /// Thinking; often empty, with only a signature left.
    Thinking {
        /// The text.
        text: Cow<'l, str>,
        /// Whether a signature binds it to its conversation, so that it must not be changed.
        signed: bool,
    },
    /// A tool call.
    Call {
        /// The id that the result names.
        id: Cow<'l, str>,
        /// The tool.
        name: Cow<'l, str>,
        /// The arguments: JSON, as stored; empty if there are none.
        arguments: Cow<'l, [u8]>,
    },
    /// A tool result.
    Result {
        /// The call that it answers.
        call: Cow<'l, str>,
        /// Whether the tool failed.
        is_error: bool,
        /// The text of the result. Images in it follow as separate blocks.
        text: Cow<'l, str>,
    },
    /// An image.
    Image {
        /// Its MIME type, e.g. `image/png`.
        mime: Cow<'l, str>,
        /// Its size in bytes; 0 if it is stored elsewhere.
        bytes: u64,
        /// Its bytes in base64, or the name of the place where they are stored.
        data: Cow<'l, str>,
    },
    /// Anything else, by its type.
    Other(Cow<'l, str>),
}

impl<'l> Block<'l> {
    /// Returns an image with its bytes in base64: four characters encode three bytes.
    pub(super) fn image(mime: Cow<'l, str>, data: Cow<'l, str>) -> Block<'l> {
        Block::Image { mime, bytes: data.len() as u64 / 4 * 3, data }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum PromptForm {
    #[default]
    Plain,
    /// A command that the user ran, and its output: the first line is the command.
    Command,
}

impl<'l> Content<'l> {
    /// Sets the text to words of bough's own, and what the line says.
    pub(super) fn describe(&mut self, words: &'static str, said: &str) {
        self.words = words.len();
        self.text = format!("{words}{said}").into();
    }

    /// Reads the content of a line.
    pub fn read(format: Format, line: &'l [u8]) -> Content<'l> {
        format.dialect().content(line)
    }

    /// Reads the content of a line without its texts: these and the thinking may be empty, while calls,
    /// model and usage are there. Costs less where the texts are long, since none is copied.
    pub fn outline(format: Format, line: &'l [u8]) -> Content<'l> {
        format.dialect().outline(line)
    }

    /// Reads the content of a line of pi, or of a program that is derived from it.
    pub(super) fn of_pi(line: &'l [u8], is_outline: bool) -> Content<'l> {
        Content::with_message(line, is_outline, Content::pi)
    }

    /// Reads the content of a line of Chimera.
    pub(super) fn of_chimera(line: &'l [u8], is_outline: bool) -> Content<'l> {
        Content::with_message(line, is_outline, Content::chimera)
    }

    /// Reads the content of a line of Claude Code.
    pub(super) fn of_claude(line: &'l [u8], is_outline: bool) -> Content<'l> {
        Content::with_message(line, is_outline, Content::claude)
    }

    fn with_message(
        line: &'l [u8],
        is_outline: bool,
        read: impl Fn(&mut Content<'l>, &Members<'l>, &Members<'l>),
    ) -> Content<'l> {
        // One pass over both: a message is most of its line.
        let (fields, message) = Members::with_nested(line, "message");
        let mut content = Content { ty: fields.text("type"), is_outline, ..Content::default() };
        read(&mut content, &fields, &message);
        content
    }

    /// Returns the usage of the reply, or `None` if none is stored.
    pub fn usage(&self) -> Option<Usage> {
        self.usage.map(Usage::parse)
    }

    /// Returns the summary of a message that has no text.
    fn without_text(&self, line: &dyn Fn(&str) -> String) -> String {
        let mut calls = String::new();
        for (_, name, arguments) in self.calls() {
            if !calls.is_empty() {
                calls.push_str(" · ");
            }
            calls += &call_words(name, arguments);
            // No text has more characters than bytes.
            if calls.len() > SUMMARY && calls.chars().count() > SUMMARY {
                return one_line(&calls);
            }
        }
        if !calls.is_empty() {
            return calls;
        }
        let mut thought = None;
        for block in &self.blocks {
            match block {
                Block::Thinking { text, .. } if thought.is_none() => thought = Some(line(text)),
                Block::Image { mime, .. } => return format!("an image ({mime})"),
                Block::Other(ty) => return format!("({ty})"),
                _ => {}
            }
        }
        match (thought, &self.ended) {
            (Some(thought), _) if !thought.is_empty() => format!("thinking: {thought}"),
            (_, Some(ended)) if ended != "stop" && ended != "end_turn" => format!("({ended})"),
            (Some(_), _) => "thinking".into(),
            (None, _) if self.role.is_empty() => self.ty.to_string(),
            (None, _) => "(nothing)".into(),
        }
    }

    /// Uses the texts of the blocks as the text of the whole.
    pub(super) fn text_of_blocks(&mut self) {
        // The results of a reply that has its calls are no text of the reply.
        let has_calls = self.calls().next().is_some();
        let mut texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text),
            Block::Result { text, .. } if !has_calls => Some(text),
            _ => None,
        });
        let Some(first) = texts.next().cloned() else { return };
        self.text = texts.fold(first, |mut all, text| {
            if !all.is_empty() && !text.is_empty() {
                all.to_mut().push_str("\n\n");
            }
            all.to_mut().push_str(text);
            all
        });
    }

    /// Reads the `content` of a message: a string, or a list of blocks.
    fn take(&mut self, content: &'l [u8]) {
        if content.starts_with(b"\"") && self.is_outline {
            self.blocks.push(Block::Text(Cow::Borrowed("")));
        } else if let Some(text) = string(content) {
            self.blocks.push(Block::Text(text));
        }
        for block in each_object(content) {
            self.block(&block);
        }
    }

    /// Returns a text of a block; nothing in an outline.
    fn text_in(&self, block: &Members<'l>, key: &str) -> Cow<'l, str> {
        if self.is_outline { Cow::Borrowed("") } else { block.text(key) }
    }

    fn block(&mut self, fields: &Members<'l>) {
        let ty = fields.text("type");
        match &*ty {
            "text" => self.blocks.push(Block::Text(self.text_in(fields, "text"))),
            "thinking" => {
                let is_text = |value: &[u8]| value.len() > 2 && value.starts_with(b"\"");
                let signed =
                    ["thinkingSignature", "signature"].iter().any(|key| fields.get(key).is_some_and(is_text));
                self.blocks.push(Block::Thinking { text: self.text_in(fields, "thinking"), signed });
            }
            "redacted_thinking" | "redactedThinking" => {
                self.blocks.push(Block::Thinking { text: Cow::Borrowed(""), signed: true });
            }
            "toolCall" | "tool_use" | "server_tool_use" => self.blocks.push(Block::Call {
                id: fields.text("id"),
                name: fields.text("name"),
                arguments: fields.get("arguments").or(fields.get("input")).unwrap_or_default().into(),
            }),
            "tool_result" => {
                let is_error = fields.get("is_error") == Some(b"true");
                self.result(fields.text("tool_use_id"), is_error, fields.get("content").unwrap_or_default());
            }
            "image" => self.blocks.push(image(fields)),
            _ => self.blocks.push(Block::Other(ty)),
        }
    }

    /// Adds a result, whose own content is a string or a list of blocks.
    fn result(&mut self, call: Cow<'l, str>, is_error: bool, content: &'l [u8]) {
        let mut inside = Content { is_outline: self.is_outline, ..Content::default() };
        inside.take(content);
        match &mut inside.blocks[..] {
            // Nearly always: the text is not copied.
            [Block::Text(text)] => inside.text = std::mem::take(text),
            _ => inside.text_of_blocks(),
        }
        self.blocks.push(Block::Result { call, is_error, text: inside.text });
        self.blocks.extend(inside.blocks.into_iter().filter(|block| !matches!(block, Block::Text(_))));
    }
}

/// Returns the blocks of a message's content, which is a string or a list; empty for anything else.
pub fn blocks(content: &[u8]) -> Vec<Block<'_>> {
    let mut inside = Content::default();
    inside.take(content);
    inside.blocks
}

/// Returns the block of an item of a message's content; for a result, the images in it follow.
pub fn blocks_of_item(item: &[u8]) -> Vec<Block<'_>> {
    let mut inside = Content::default();
    inside.block(&Members::new(item));
    inside.blocks
}

/// Returns a value in short: a string as its text, anything else as JSON.
fn scalar(value: Option<&[u8]>) -> Cow<'_, str> {
    let value = value.unwrap_or_default();
    string(value).unwrap_or_else(|| compact(value))
}

/// Returns JSON as it is stored, cut if it is very long.
fn compact(value: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&value[..value.len().min(4 * SUMMARY)])
}

fn list(value: Option<&[u8]>) -> String {
    each_item(value.unwrap_or_default()).filter_map(string).collect::<Vec<_>>().join(", ")
}

fn image<'l>(fields: &Members<'l>) -> Block<'l> {
    match fields.get("source").map(Members::new) {
        Some(source) => Block::image(source.text("media_type"), source.text("data")),
        None => Block::image(fields.text("mimeType"), fields.text("data")),
    }
}

#[cfg(test)]
mod tests;
