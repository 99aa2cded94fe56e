//! The bodies of entries: what the page's script reads from a chunk.

use super::elements::Writer;
use super::{Images, Options, ResultText, Written};
use crate::context::{Context, Message, Origin};
use crate::format::claude::request;
use crate::format::{Block, Content, Session, Usage, blocks_of_item};
use crate::json::{add_string, each_item, member, string, text};
use crate::model::{Count, Ix, Source};
use crate::ops::document::{arguments_of, cut_off};
use crate::ops::redact::Redact;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;

/// The largest image, in bytes of its encoding, that counts as small.
const SMALL_IMAGE: usize = 64 * 1024;

/// Writes bodies, and knows what was left out and which images are in the page.
pub(super) struct Bodies<'o> {
    options: &'o Options,
    pub(super) written: Written,
    /// The images that are in the page, by the hash of their encoding.
    images: HashMap<[u8; 32], usize>,
}

impl<'o> Bodies<'o> {
    pub(super) fn new(options: &'o Options) -> Bodies<'o> {
        Bodies { options, written: Written::default(), images: HashMap::new() }
    }

    /// Says what was left out.
    pub(super) fn left_out(&self) -> Vec<String> {
        let left = self.written;
        let all = [
            Count("image was left out", "images were left out", left.images),
            Count("thinking block was left out", "thinking blocks were left out", left.thinking),
            Count("tool result was cut", "tool results were cut", left.results),
        ];
        all.iter().filter(|count| count.2 > 0).map(Count::to_string).collect()
    }

    /// Adds the body of an entry to a chunk.
    pub(super) fn write(
        &mut self,
        content: &Content<'_>,
        line: &[u8],
        files: Vec<Option<ResultText>>,
        redact: &mut dyn Redact,
        writer: &mut Writer<'_>,
        chunk: &mut Vec<u8>,
    ) -> io::Result<()> {
        chunk.extend_from_slice(b"{\"b\":[");
        let start = chunk.len();
        let (mut images, mut files) = (None, files.into_iter());
        let mut is_text_said = false;
        for block in &content.blocks {
            let from = chunk.len();
            if from > start {
                chunk.push(b',');
            }
            match block {
                Block::Text(text) => {
                    is_text_said = true;
                    add_part(chunk, "t", &[text]);
                }
                Block::Thinking { text, .. } if !is_shown(block, self.options) => {
                    self.written.thinking += usize::from(!text.is_empty());
                    chunk.truncate(from);
                }
                Block::Thinking { text, .. } => add_part(chunk, "h", &[text]),
                Block::Call { id, name, arguments } => {
                    add_part(chunk, "c", &[id, name]);
                    reopen(chunk);
                    chunk.push(b'[');
                    for (at, (key, value)) in arguments_of(arguments).iter().enumerate() {
                        chunk.extend_from_slice(if at > 0 { b",[" } else { b"[" });
                        add_string(chunk, key);
                        chunk.push(b',');
                        add_string(chunk, value);
                        chunk.push(b']');
                    }
                    chunk.extend_from_slice(b"]]");
                }
                Block::Result { call, is_error, text } => {
                    is_text_said = true;
                    let shown = self.cut(text);
                    match files.next().flatten() {
                        None => {
                            add_part(chunk, "r", &[call]);
                            reopen(chunk);
                            chunk.extend_from_slice(if *is_error { b"1," } else { b"0," });
                            add_string(chunk, &shown);
                            chunk.push(b']');
                        }
                        Some(file) => {
                            let text = file.text.map(|text| redact.text(&text).into_owned());
                            let text = text.as_deref().map(|text| self.cut(text));
                            let file = (redact.text(&file.heading), text, file.more);
                            add(chunk, &("r", call, u8::from(*is_error), shown, file))?;
                        }
                    }
                }
                Block::Image { mime, bytes, .. } => {
                    let all = images.get_or_insert_with(|| encoded_images(line).into_iter());
                    let number = match all.next() {
                        Some(data) => self.image(&data, writer)?,
                        None => None,
                    };
                    add(chunk, &("i", number.map_or(-1, |number| number as i64), mime, bytes))?;
                }
                Block::Other(ty) => add(chunk, &("o", ty))?,
            }
        }
        chunk.push(b']');
        if !is_text_said && !content.text.is_empty() {
            chunk.extend_from_slice(b",\"x\":");
            add_string(chunk, &content.text);
        }
        if let Some(model) = &content.model {
            chunk.extend_from_slice(b",\"m\":");
            add_string(chunk, model);
        }
        if let Some(usage) = content.usage() {
            let cost = cost(&usage, content.model.as_deref().unwrap_or_default(), self.options);
            chunk.extend_from_slice(b",\"u\":");
            add(chunk, &(usage.input, usage.output, usage.cache_read, usage.cache_write, cost))?;
        }
        chunk.push(b'}');
        Ok(())
    }

    /// Returns a result as far as it is shown.
    fn cut<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let (text, is_cut) = result_as_shown(text, self.options);
        self.written.results += usize::from(is_cut);
        text
    }

    /// Writes an image, unless it is in the page already. Returns its number, or `None` if it is left out.
    fn image(&mut self, data: &str, writer: &mut Writer<'_>) -> io::Result<Option<usize>> {
        let is_wanted = match self.options.images {
            Images::All => true,
            Images::Small => data.len() <= SMALL_IMAGE,
            Images::None => false,
        };
        let is_encoded = data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        if !is_wanted || !is_encoded || data.is_empty() {
            self.written.images += 1;
            return Ok(None);
        }
        let hash: [u8; 32] = Sha256::digest(data.as_bytes()).into();
        let next = self.images.len();
        if let Some(known) = self.images.get(&hash) {
            return Ok(Some(*known));
        }
        self.images.insert(hash, next);
        writer.encoded("image", data.as_bytes())?;
        Ok(Some(next))
    }
}

/// Returns what a reply cost: as stored, or by the prices.
pub(super) fn cost(usage: &Usage, model: &str, options: &Options) -> Option<f64> {
    usage.cost.filter(|cost| *cost > 0.0).or_else(|| options.prices.cost(model, usage)).or(usage.cost)
}

/// Returns whether a block is in the page.
fn is_shown(block: &Block<'_>, options: &Options) -> bool {
    match block {
        Block::Thinking { text, .. } => !text.is_empty() && !options.no_thinking,
        _ => true,
    }
}

/// Returns a result as far as it is shown, and whether it is cut.
fn result_as_shown<'t>(text: &'t str, options: &Options) -> (Cow<'t, str>, bool) {
    match cut_off(text, options.results) {
        (text, 0) => (text.into(), false),
        (text, cut) => (format!("{text}\n… {cut} more bytes were left out").into(), true),
    }
}

/// Returns the messages that the model would be sent, as JSON, and how many they are.
///
/// Each has the number of its entry or -1, the role, notes, and its parts: `null` if they are those of the entry, else a list in
/// which a number is a part of the entry. So nothing is in the page twice only since an agent splits a reply, or joins replies.
pub(super) fn context(
    context: &Context,
    session: &Session,
    source: &dyn Source,
    options: &Options,
    numbered: &dyn Fn(Ix) -> Option<usize>,
    redact: &mut dyn Redact,
) -> io::Result<(usize, Vec<u8>)> {
    let (mut line, mut stored, mut count, mut out) = (Vec::new(), Vec::new(), 0, vec![b'[']);
    // What an entry of Claude Code says and what it calls are two messages.
    let mut split: Option<(Ix, Vec<Range<usize>>)> = None;
    for message in context.sent() {
        let number = message.entry.and_then(numbered);
        let parts = if number.is_some() && message.has_blocks_of_entry(session.format) {
            Value::Null
        } else if let (Some(entry), Some(_), Some(items)) = (message.entry, number, message.items_of_entry())
        {
            let places = match split.take().filter(|(of, _)| *of == entry) {
                Some((_, places)) => places,
                None => {
                    source.read(session.span(entry), &mut stored)?;
                    places_of_items(&stored, options)
                }
            };
            let parts = items.into_iter().flat_map(|item| places.get(item).cloned().unwrap_or_default());
            let parts = parts.map(Value::from).collect();
            split = Some((entry, places));
            parts
        } else {
            let said = message.read(session, source, &mut line)?;
            let of_entry = match message.entry.filter(|_| number.is_some()) {
                Some(entry) => {
                    source.read(session.span(entry), &mut stored)?;
                    Content::read(session.format, &stored).blocks
                }
                None => Vec::new(),
            };
            match number.is_some() && of_entry == said.blocks {
                true => Value::Null,
                false => own_parts(&said.blocks, &of_entry, options, redact),
            }
        };
        if count > 0 {
            out.extend_from_slice(b",\n");
        }
        count += 1;
        let number = number.map_or(-1, |number| number as i64);
        add(&mut out, &(number, redact.text(&message.role), notes(message, redact), parts))?;
    }
    out.push(b']');
    Ok((count, out))
}

/// Returns which of the shown blocks of an entry of Claude Code are those of each item of its content.
fn places_of_items(line: &[u8], options: &Options) -> Vec<Range<usize>> {
    let mut next = 0;
    let place = |item: &[u8]| {
        let shown = match item.first() {
            Some(b'"') => 1,
            Some(b'{') => blocks_of_item(item).iter().filter(|block| is_shown(block, options)).count(),
            _ => 0,
        };
        next += shown;
        next - shown..next
    };
    request::items(line).map(place).collect()
}

/// Returns the parts of a message: those that its entry has, by their numbers there.
fn own_parts(
    blocks: &[Block<'_>],
    of_entry: &[Block<'_>],
    options: &Options,
    redact: &mut dyn Redact,
) -> Value {
    let of_entry: Vec<_> = of_entry.iter().filter(|block| is_shown(block, options)).collect();
    let mut next = 0;
    let mut parts = Vec::with_capacity(blocks.len());
    for block in blocks.iter().filter(|block| is_shown(block, options)) {
        // Nearly always the one after the last: a reply of very many blocks is not looked through for each of them.
        let at = match of_entry.get(next) == Some(&block) {
            true => Some(next),
            false => of_entry.iter().position(|known| *known == block),
        };
        match at {
            Some(at) => {
                next = at + 1;
                parts.push(at.into());
            }
            None => parts.push(part(block, options, redact)),
        }
    }
    parts.into()
}

fn notes(message: &Message, redact: &mut dyn Redact) -> Vec<String> {
    let origin = Some(message.origin)
        .filter(|origin| *origin != Origin::Message)
        .map(|origin| origin.name().to_owned());
    let patches = message.patches.iter().map(|patch| redact.text(&patch.to_string()).into_owned());
    origin.into_iter().chain(patches).collect()
}

/// A block of a message that is no entry of the page.
fn part(block: &Block<'_>, options: &Options, redact: &mut dyn Redact) -> Value {
    match block {
        Block::Text(text) => json!(["t", redact.text(text)]),
        Block::Thinking { text, .. } => json!(["h", redact.text(text)]),
        Block::Call { id, name, arguments } => {
            let arguments = arguments_of(arguments);
            let arguments: Vec<_> = arguments
                .iter()
                .map(|(key, value)| (redact.text(key).into_owned(), redact.value(key, value).into_owned()))
                .collect();
            json!(["c", redact.text(id), redact.text(name), arguments])
        }
        Block::Result { call, is_error, text } => {
            let text = redact.text(text);
            json!(["r", redact.text(call), u8::from(*is_error), result_as_shown(&text, options).0])
        }
        Block::Image { mime, bytes, .. } => json!(["i", -1, redact.text(mime), bytes]),
        Block::Other(ty) => json!(["o", redact.text(ty)]),
    }
}

fn add(into: &mut Vec<u8>, value: &impl serde::Serialize) -> io::Result<()> {
    Ok(serde_json::to_writer(into, value)?)
}

/// Adds a part of a body: a list of what it is and of texts.
fn add_part(into: &mut Vec<u8>, sort: &str, texts: &[&str]) {
    into.push(b'[');
    add_string(into, sort);
    for text in texts {
        into.push(b',');
        add_string(into, text);
    }
    into.push(b']');
}

/// Leaves a list open for another item.
fn reopen(list: &mut [u8]) {
    if let Some(end) = list.last_mut() {
        *end = b',';
    }
}

/// The encoded images of a message, in their order. Those inside of a result follow it, as their blocks do.
fn encoded_images(line: &[u8]) -> Vec<String> {
    let message = member(line, "message").or_else(|| member(line, "attachment")).unwrap_or(line);
    let content = member(message, "content").or_else(|| member(message, "prompt")).unwrap_or_default();
    let mut out = Vec::new();
    let mut todo: VecDeque<&[u8]> = each_item(content).collect();
    while let Some(item) = todo.pop_front() {
        match &*text(item, "type") {
            "image" => {
                let data = member(item, "source")
                    .and_then(|source| member(source, "data"))
                    .or_else(|| member(item, "data"));
                out.push(data.and_then(string).unwrap_or_default().into_owned());
            }
            "tool_result" => {
                let inside: Vec<&[u8]> = each_item(member(item, "content").unwrap_or_default()).collect();
                inside.into_iter().rev().for_each(|item| todo.push_front(item));
            }
            _ => {}
        }
    }
    out
}
