//! The parts of one line that can be slimmed: where they are, how big they are, and what takes
//! their place.

use super::Kinds;
use crate::format::image::pixels;
use crate::format::{Format, Session};
use crate::json::Escapes;
use crate::json::{each_item, each_member, member, place_in, quoted, string};
use crate::model::{Count, Ix, Kind};
use std::ops::Range;

/// What a part of a line is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PartKind {
    /// An image or a document, as base64.
    Image,
    /// The text of a tool result, or the output of a command.
    Result,
    /// Thinking of the model.
    Thinking,
    /// A second copy of a result, which Claude Code keeps for its display.
    ToolUseResult,
    /// State of an extension.
    Custom,
}

/// A part of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Its bytes in the line, and those of a comma that goes with it.
    pub at: Range<usize>,
    /// What takes its place, before the way back is added.
    pub instead: Instead,
    /// Whether the model is sent it.
    pub is_sent: bool,
    /// About how many tokens it costs.
    pub tokens: u64,
}

/// What takes the place of a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Instead {
    /// Nothing.
    Nothing,
    /// A block of text that says what was there.
    Block(String),
    /// A string that says what was there.
    Text(String),
    /// An empty string: only a program reads it.
    Empty,
    /// This JSON.
    Json(Vec<u8>),
}

/// The text with which each placeholder begins.
pub(super) const MARK: &str = "[removed by bough slim: ";

impl Instead {
    /// Returns the bytes. `way_back` says how the part can be read.
    pub(super) fn bytes(&self, way_back: &str) -> Vec<u8> {
        let text = |what: &str| quoted(&format!("{MARK}{what}{way_back}]"), Escapes::Needed);
        match self {
            Instead::Nothing => Vec::new(),
            Instead::Block(what) => [&b"{\"type\":\"text\",\"text\":"[..], &text(what), b"}"].concat(),
            Instead::Text(what) => text(what),
            Instead::Empty => b"\"\"".to_vec(),
            Instead::Json(json) => json.clone(),
        }
    }
}

/// The smallest string in a display copy that counts as a part, in bytes.
const SMALL: usize = 1024;

/// About how many bytes of text are one token.
const BYTES_OF_TOKEN: u64 = 4;

/// How many tokens an image costs at most.
const MOST_OF_IMAGE: u64 = 1600;

/// Finds the parts of one line of the given kinds.
pub(super) struct Finder<'l> {
    line: &'l [u8],
    kinds: &'l Kinds,
    parts: Vec<Part>,
}

/// Returns the parts of the line of an entry, in the order of the line, without overlaps.
pub(super) fn parts(session: &Session, ix: Ix, line: &[u8], kinds: &Kinds) -> Vec<Part> {
    let mut finder = Finder { line, kinds, parts: Vec::new() };
    let (kind, ty) = (session.entries.kind(ix), session.entries.ty(ix));
    match session.format {
        Format::Claude => finder.claude(kind),
        Format::Chimera => finder.chimera(kind),
        _ => finder.pi(ty),
    }
    finder.parts.sort_by_key(|part| (part.at.start, part.at.end));
    finder.parts.dedup_by(|next, part| next.at.start < part.at.end);
    finder.parts
}

impl<'l> Finder<'l> {
    fn at(&self, part: &[u8]) -> Range<usize> {
        place_in(self.line, part)
    }

    fn push(&mut self, kind: PartKind, part: &[u8], instead: Instead, is_sent: bool, tokens: u64) {
        let at = self.at(part);
        self.parts.push(Part { kind, at, instead, is_sent, tokens });
    }

    fn claude(&mut self, kind: Kind) {
        let message = member(self.line, "message").unwrap_or_default();
        let content = member(message, "content").unwrap_or_default();
        match kind {
            Kind::Assistant => self.thinking(content),
            // A prompt may have results and texts of its own.
            _ => self.content(content, false, true),
        }
        let Some(copy) = member(self.line, "toolUseResult") else { return };
        if self.kinds.tool_use_result && copy.len() > SMALL {
            // What names a subagent stays: its transcript is found by that.
            let named = each_member(copy).filter(|(key, value)| {
                matches!(&**key, "agentId" | "runId" | "taskId" | "status" | "persistedOutputPath")
                    && value.len() < SMALL
            });
            let named: Vec<Vec<u8>> = named
                .map(|(key, value)| [&quoted(&key, Escapes::Needed)[..], b":", value].concat())
                .collect();
            let json = [b"{", &named.join(&b","[..])[..], b"}"].concat();
            self.push(PartKind::ToolUseResult, copy, Instead::Json(json), false, 0);
            return;
        }
        self.copy(copy, false);
    }

    /// Finds images and long texts in a copy that is kept for display.
    fn copy(&mut self, value: &[u8], is_image: bool) {
        match value.first() {
            Some(b'{') => {
                let is_image = is_image
                    || member(value, "type")
                        .and_then(string)
                        .is_some_and(|ty| ty == "image" || ty == "base64" || ty == "pdf");
                for (key, inner) in each_member(value) {
                    let is_data = matches!(&*key, "base64" | "data");
                    if inner.first() == Some(&b'"') {
                        if self.kinds.images
                            && inner.len() > SMALL
                            && is_data
                            && (is_image || is_base64(inner))
                        {
                            self.push(PartKind::Image, inner, Instead::Empty, false, 0);
                        } else if !is_data {
                            self.text(inner, false);
                        }
                    } else {
                        self.copy(inner, is_image);
                    }
                }
            }
            Some(b'[') => each_item(value).for_each(|item| self.copy(item, is_image)),
            _ => {}
        }
    }

    fn pi(&mut self, ty: &str) {
        let line = self.line;
        match ty {
            "message" => {
                let message = member(line, "message").unwrap_or_default();
                let content = member(message, "content").unwrap_or_default();
                match member(message, "role").and_then(string).as_deref() {
                    Some("assistant") if !is_of_openai(message) => self.thinking(content),
                    Some("assistant") => {}
                    Some("toolResult") => {
                        self.content(content, true, true);
                        self.copy(member(message, "details").unwrap_or_default(), false);
                    }
                    Some("bashExecution") => self.text(member(message, "output").unwrap_or_default(), true),
                    _ => self.content(content, false, true),
                }
            }
            "custom_message" => {
                self.content(member(line, "content").unwrap_or_default(), false, true);
                self.state("details");
            }
            "context_edit" => {
                let content = member(line, "replacement").and_then(|new| member(new, "content"));
                self.content(content.unwrap_or_default(), false, true);
            }
            "custom" => self.state("data"),
            _ => {}
        }
    }

    fn chimera(&mut self, kind: Kind) {
        let message = member(self.line, "message").unwrap_or_default();
        if kind == Kind::Tool {
            self.text(member(message, "content").unwrap_or_default(), true);
        }
    }

    /// Finds the state of an extension.
    fn state(&mut self, key: &str) {
        let ty = member(self.line, "customType").and_then(string);
        let Some(state) = member(self.line, key).filter(|state| state.len() > SMALL) else { return };
        if ty.is_some_and(|ty| self.kinds.custom.iter().any(|wanted| *wanted == ty)) {
            let json = format!("{{\"bough\":\"slim\",\"bytes\":{}}}", state.len());
            self.push(PartKind::Custom, state, Instead::Json(json.into_bytes()), false, 0);
        }
    }

    /// Finds images, and long texts if this is a result; what Claude Code has as a block of a prompt is a
    /// result by itself.
    fn content(&mut self, content: &[u8], is_result: bool, is_sent: bool) {
        if content.first() == Some(&b'"') {
            if is_result {
                self.text(content, is_sent);
            }
            return;
        }
        for block in each_item(content) {
            let ty = member(block, "type").and_then(string).unwrap_or_default();
            match &*ty {
                "image" | "document" if self.kinds.images => self.image(&ty, block, is_sent),
                "text" if is_result => self.text(member(block, "text").unwrap_or_default(), is_sent),
                "tool_result" => self.content(member(block, "content").unwrap_or_default(), true, is_sent),
                _ => {}
            }
        }
    }

    fn image(&mut self, ty: &str, block: &[u8], is_sent: bool) {
        let source = member(block, "source").unwrap_or_default();
        let data = member(block, "data").or_else(|| member(source, "data")).unwrap_or_default();
        if data.len() < SMALL && !data.starts_with(b"\"blob:") {
            return;
        }
        let mime = member(block, "mimeType").or_else(|| member(source, "media_type")).and_then(string);
        let mime = mime.filter(|mime| mime.len() < 64).unwrap_or_default();
        let size = match data.starts_with(b"\"blob:") {
            true => String::new(),
            false => format!(", {}", Count("byte", "bytes", data.len() / 4 * 3)),
        };
        let what = match ty {
            "document" => format!("a document, {mime}{size}"),
            _ => format!("an image, {mime}{size}"),
        };
        let tokens = pixels(data.strip_prefix(b"\"").unwrap_or(data));
        let tokens = tokens.map_or(MOST_OF_IMAGE, |(wide, high)| u64::from(wide) * u64::from(high) / 750);
        let tokens = if ty == "image" { tokens.min(MOST_OF_IMAGE) } else { data.len() as u64 / 20 };
        self.push(PartKind::Image, block, Instead::Block(what), is_sent, tokens);
    }

    /// Finds a text that is longer than asked for.
    fn text(&mut self, text: &[u8], is_sent: bool) {
        let Some(most) = self.kinds.results else { return };
        if text.first() != Some(&b'"') || (text.len() as u64) < most.max(64) + 2 {
            return;
        }
        let len = string(text).map_or(text.len(), |text| text.len());
        if (len as u64) <= most || is_placeholder(text) {
            return;
        }
        let what = format!("a result of {}", Count("byte", "bytes", len));
        self.push(PartKind::Result, text, Instead::Text(what), is_sent, text.len() as u64 / BYTES_OF_TOKEN);
    }

    /// Finds the thinking of a reply that has something else, too. A block goes as a whole or not at all: a
    /// signature binds it.
    fn thinking(&mut self, content: &[u8]) {
        if !self.kinds.thinking {
            return;
        }
        let items: Vec<&[u8]> = each_item(content).collect();
        if items.iter().all(|item| is_thinking(item)) {
            return;
        }
        for (at, item) in items.iter().enumerate().filter(|(_, item)| is_thinking(item)) {
            let mut range = self.at(item);
            // With a block goes the comma after it; if only thinking follows, the one before it.
            if items[at + 1..].iter().any(|next| !is_thinking(next)) {
                range.end = self.at(items[at + 1]).start;
            } else {
                range.start = self.at(items[at - 1]).end;
            }
            self.parts.push(Part {
                kind: PartKind::Thinking,
                at: range,
                instead: Instead::Nothing,
                is_sent: true,
                tokens: item.len() as u64 / BYTES_OF_TOKEN,
            });
        }
    }
}

/// Returns whether an entry of Claude Code contains nothing but thinking.
pub(super) fn is_only_thinking(line: &[u8]) -> bool {
    let content = member(line, "message").and_then(|message| member(message, "content")).unwrap_or_default();
    let mut items = each_item(content).peekable();
    items.peek().is_some() && items.all(is_thinking)
}

pub(super) fn is_thinking(item: &[u8]) -> bool {
    let ty = member(item, "type").and_then(string);
    matches!(ty.as_deref(), Some("thinking" | "redacted_thinking" | "redactedThinking"))
}

/// Returns whether a string is a placeholder already.
fn is_placeholder(text: &[u8]) -> bool {
    text[1..].starts_with(MARK.as_bytes())
}

/// Returns whether a string looks like base64: long, and without spaces.
fn is_base64(text: &[u8]) -> bool {
    let head = &text[1..text.len().min(513)];
    head.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

/// Returns whether a reply refers to its thinking by ids: OpenAI refuses it without.
fn is_of_openai(message: &[u8]) -> bool {
    let api = member(message, "api").and_then(string).unwrap_or_default();
    api.contains("openai") || api.contains("codex") || api.contains("azure")
}
