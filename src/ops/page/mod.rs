//! A session as one HTML page that needs no network.
//!
//! The page is an index of all entries (parent, kind, first words, label) and their bodies in chunks of about 256 KiB. Both
//! are deflated and encoded in inert elements; the page's own script (`page.js`, `markdown.js`) inflates what it shows. So a page
//! of a large session opens at once and has few nodes. Nothing of a session is ever markup: what is not in an encoded element is
//! the title, which is escaped. The policy of the page allows its own script and style by their hashes, images from memory, and
//! nothing else.

mod plain;

pub use plain::{MOST as PLAIN_MOST, plain};

use super::document::arguments_of;
use super::rows::{Order, Rows};
use super::{filter, ids};
use crate::format::{Block, Content, Session, call_words};
use crate::json::{each_item, member, string, text};
use crate::model::{Ix, Kind, Source};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

const HTML: &str = include_str!("page.html");
const CSS: &str = include_str!("page.css");
const JS: [&str; 2] = [include_str!("markdown.js"), include_str!("page.js")];

/// How many bytes of bodies are in a chunk before the next one begins.
const CHUNK: usize = 256 * 1024;

/// How many characters of an entry are in the index.
const SUMMARY: usize = 140;

/// How many calls are remembered for the first words of their results.
const REMEMBERED: usize = 4096;

/// The largest image, in bytes of its encoding, that counts as small.
const SMALL_IMAGE: usize = 64 * 1024;

/// Which images are in a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Images {
    /// All, each once.
    #[default]
    All,
    /// Up to 48 KiB.
    Small,
    /// None.
    None,
}

/// What is in a page.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Its title.
    pub title: String,
    /// The working directory of the session.
    pub cwd: String,
    /// Which images.
    pub images: Images,
    /// The most bytes of a result.
    pub results: Option<usize>,
    /// Whether thinking is left out.
    pub no_thinking: bool,
    /// What was left out before, to be said in the page.
    pub notes: Vec<String>,
}

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Bytes of the page.
    pub bytes: u64,
    /// Images that were left out.
    pub images: usize,
    /// Thinking blocks that were left out.
    pub thinking: usize,
    /// Results that were cut.
    pub results: usize,
}

/// Columns of the index, on their way.
#[derive(Default)]
struct Index {
    id: Vec<String>,
    parent: Vec<i64>,
    kind: Vec<u8>,
    time: Vec<Option<i64>>,
    summary: Vec<String>,
    mask: Vec<u8>,
    chunk: Vec<usize>,
    label: serde_json::Map<String, serde_json::Value>,
    used: serde_json::Map<String, serde_json::Value>,
}

/// Writes entries of a session as a page.
///
/// `entries` are in the order of the file. `redact` changes each line, and each text beside the lines, before it is read. The
/// memory that this takes is the index, one chunk, and one line.
pub fn write(
    session: &Session,
    source: &dyn Source,
    entries: &[Ix],
    options: &Options,
    redact: &mut dyn FnMut(&[u8]) -> Vec<u8>,
    redact_text: &mut dyn FnMut(&str) -> String,
    out: &mut dyn Write,
) -> io::Result<Written> {
    let mut writer = Writer { out, written: Written::default(), images: HashMap::new() };
    let js = JS.concat();
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src blob:; base-uri 'none'; form-action 'none'",
        hash(&js),
        hash(CSS)
    );
    let title = redact_text(if options.title.trim().is_empty() { "Session" } else { &options.title });
    let head =
        HTML.replace("{{csp}}", &policy).replace("{{css}}", CSS).replace("{{title}}", &escaped(&title));
    writer.write(head.as_bytes())?;
    let mut number = vec![u32::MAX; session.entries.len()];
    for (at, ix) in entries.iter().enumerate() {
        number[ix.index()] = at as u32;
    }
    let mut index = Index::default();
    let mut calls = Calls::default();
    let (mut chunk, mut stored, mut last_time) = (vec![b'['], Vec::new(), 0);
    for (at, ix) in entries.iter().enumerate() {
        if chunk.len() == 1 {
            index.chunk.push(at);
        }
        source.read(session.span(*ix), &mut stored)?;
        let line = redact(&stored);
        let content = Content::read(session.format, &line);
        if chunk.len() > 1 {
            chunk.extend_from_slice(b",\n");
        }
        writer.body(&content, &line, options, &mut chunk)?;
        let kind = filter::shown_kind(session, *ix);
        index.id.push(redact_text(&ids::name(session, source, *ix)?));
        let parent = session.tree.ancestors(*ix).skip(1).find(|parent| number[parent.index()] != u32::MAX);
        index.parent.push(parent.map_or(0, |parent| at as i64 - i64::from(number[parent.index()])));
        index.kind.push(Kind::ALL.iter().position(|known| *known == kind).unwrap_or(0) as u8);
        let time = session.entries.time(*ix);
        index.time.push(time.is_some().then(|| time.0 - last_time));
        if time.is_some() {
            last_time = time.0;
        }
        index.summary.push(shortened(&content.summary_of(calls.words(&content))));
        calls.remember(&content);
        let modes = filter::Mode::ALL.iter().enumerate().filter(|(_, (_, mode))| mode.shows(session, *ix));
        let talk = u8::from(filter::talk(session, *ix)) << 5;
        index.mask.push(modes.fold(talk, |mask, (bit, _)| mask | 1 << bit));
        if let Some(label) = session.labels.label(*ix) {
            index.label.insert(at.to_string(), redact_text(label).into());
        }
        if let Some(usage) = content.usage().filter(|usage| usage.tokens() > 0) {
            let model = content.model.as_deref().unwrap_or_default();
            index.used.insert(at.to_string(), serde_json::json!([usage.tokens(), usage.cost, model]));
        }
        if chunk.len() > CHUNK {
            writer.chunk(&mut chunk)?;
        }
    }
    if chunk.len() > 1 {
        writer.chunk(&mut chunk)?;
    }
    let place = |ix: Option<Ix>| {
        ix.and_then(|ix| number.get(ix.index())).filter(|at| **at != u32::MAX).map_or(-1, |at| i64::from(*at))
    };
    let last = entries.last().copied();
    let leaf =
        Some(session.head.leaf.or(session.head.entry)).filter(|leaf| place(*leaf) >= 0).unwrap_or(last);
    let order = order(session, &number, leaf);
    let mut notes = options.notes.clone();
    let left = writer.written;
    for (count, one, many) in [
        (left.images, "image was left out", "images were left out"),
        (left.thinking, "thinking block was left out", "thinking blocks were left out"),
        (left.results, "tool result was cut", "tool results were cut"),
    ] {
        if count > 0 {
            notes.push(format!("{count} {}", if count == 1 { one } else { many }));
        }
    }
    let json = serde_json::json!({
        "v": 1, "title": title, "agent": session.format.agent(), "cwd": redact_text(&options.cwd), "notes": notes,
        "head": place(session.head.entry), "leaf": place(leaf), "id": index.id, "parent": index.parent, "kind": index.kind,
        "time": index.time, "sum": index.summary, "mask": index.mask, "chunk": index.chunk, "label": index.label, "used": index.used,
        "order": order,
    });
    writer.element("index", json.to_string().as_bytes())?;
    writer.write(format!("<script>{js}</script>\n</body>\n</html>\n").as_bytes())?;
    Ok(writer.written)
}

/// The entries in the order of the tree views.
fn order(session: &Session, number: &[u32], leaf: Option<Ix>) -> Vec<u32> {
    let rows = Rows::new(&session.tree, &Order::new(session, leaf), |ix| number[ix.index()] != u32::MAX);
    rows.entries().iter().map(|ix| number[ix.index()]).collect()
}

struct Writer<'w> {
    out: &'w mut dyn Write,
    written: Written,
    /// The images that are in the page, by the hash of their encoding.
    images: HashMap<[u8; 32], usize>,
}

impl Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn chunk(&mut self, chunk: &mut Vec<u8>) -> io::Result<()> {
        chunk.push(b']');
        self.element("chunk", chunk)?;
        chunk.truncate(1);
        Ok(())
    }

    /// Writes bytes as an inert element, deflated.
    fn element(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut encoder = DeflateEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::new(4));
        encoder.write_all(bytes)?;
        let encoded = STANDARD.encode(encoder.finish()?);
        self.encoded(name, encoded.as_bytes())
    }

    fn encoded(&mut self, name: &str, encoded: &[u8]) -> io::Result<()> {
        self.write(format!("<script type=\"application/x-bough-{name}\">").as_bytes())?;
        self.write(encoded)?;
        self.write(b"</script>\n")
    }

    /// Adds the body of an entry to a chunk.
    fn body(
        &mut self,
        content: &Content<'_>,
        line: &[u8],
        options: &Options,
        chunk: &mut Vec<u8>,
    ) -> io::Result<()> {
        chunk.extend_from_slice(b"{\"b\":[");
        let start = chunk.len();
        let mut images = None;
        let mut is_text_said = false;
        for block in &content.blocks {
            let from = chunk.len();
            if from > start {
                chunk.push(b',');
            }
            match block {
                Block::Text(text) => {
                    is_text_said = true;
                    put(chunk, &("t", text))?;
                }
                Block::Thinking { text, .. } if text.is_empty() => chunk.truncate(from),
                Block::Thinking { .. } if options.no_thinking => {
                    self.written.thinking += 1;
                    chunk.truncate(from);
                }
                Block::Thinking { text, .. } => put(chunk, &("h", text))?,
                Block::Call { id, name, arguments } => put(chunk, &("c", id, name, arguments_of(arguments)))?,
                Block::Result { call, is_error, text } => {
                    is_text_said = true;
                    let (text, cut) = super::document::cut_off(text, options.results);
                    self.written.results += usize::from(cut > 0);
                    let text =
                        if cut > 0 { format!("{text}\n… {cut} more bytes were left out") } else { text };
                    put(chunk, &("r", call, u8::from(*is_error), text))?;
                }
                Block::Image { mime, bytes } => {
                    let all = images.get_or_insert_with(|| encoded_images(line).into_iter());
                    let number = match all.next() {
                        Some(data) => self.image(&data, options.images)?,
                        None => None,
                    };
                    put(chunk, &("i", number.map_or(-1, |number| number as i64), mime, bytes))?;
                }
                Block::Other(ty) => put(chunk, &("o", ty))?,
            }
        }
        chunk.push(b']');
        if !is_text_said && !content.text.is_empty() {
            chunk.extend_from_slice(b",\"x\":");
            put(chunk, &content.text)?;
        }
        if let Some(model) = &content.model {
            chunk.extend_from_slice(b",\"m\":");
            put(chunk, model)?;
        }
        if let Some(usage) = content.usage() {
            chunk.extend_from_slice(b",\"u\":");
            put(chunk, &(usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cost))?;
        }
        chunk.push(b'}');
        Ok(())
    }

    /// Writes an image, unless it is in the page already. Gives its number; `None` if it is left out.
    fn image(&mut self, data: &str, which: Images) -> io::Result<Option<usize>> {
        let is_wanted = match which {
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
        self.encoded("image", data.as_bytes())?;
        Ok(Some(next))
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

/// The words of the calls that were seen last.
#[derive(Default)]
struct Calls {
    words: HashMap<String, String>,
    order: VecDeque<String>,
}

impl Calls {
    /// The words of the call that the first result in an entry answers.
    fn words(&self, content: &Content<'_>) -> &str {
        content.answers().next().and_then(|call| self.words.get(call)).map_or("", String::as_str)
    }

    fn remember(&mut self, content: &Content<'_>) {
        for (id, name, arguments) in content.calls() {
            if self.order.len() == REMEMBERED
                && let Some(oldest) = self.order.pop_front()
            {
                self.words.remove(&oldest);
            }
            self.order.push_back(id.to_owned());
            self.words.insert(id.to_owned(), call_words(name, arguments));
        }
    }
}

fn put(into: &mut Vec<u8>, value: &impl serde::Serialize) -> io::Result<()> {
    Ok(serde_json::to_writer(into, value)?)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SUMMARY) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text as the content of an element or an attribute.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\0' => out.push('\u{FFFD}'),
            _ => out.push(character),
        }
    }
    out
}

fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests;
