//! A session as one HTML page that needs no network.
//!
//! The page is an index of all entries and their bodies in chunks of about 256 KiB. The index is a JSON object, two texts with
//! a line for each entry (ids, first words), and columns of numbers: a session of millions of entries opens in little memory.
//! All of it is deflated and encoded in inert elements; the page's own script (`page.js`, `markdown.js`, `inflate.js`)
//! inflates what it shows. So a page of a large session opens at once and has few nodes. Nothing of a session is ever markup:
//! what is not in an encoded element is the title, which is escaped. The policy of the page allows its own script and style by
//! their hashes, images from memory, and nothing else.

mod beside;
mod body;
mod elements;
mod figures;
mod index;
mod plain;
mod sessions;
mod words;

pub use beside::{Beside, Link, ResultText, Started};
pub use figures::{Chart, FigureTable, Figures, figures};
pub use plain::{MOST as PLAIN_MOST, plain};
pub use sessions::{Listed, sessions};
pub use words::first_words;

use super::redact::Redact;
use super::stats::Prices;
use crate::format::{Content, Session};
use crate::model::{Ix, LineReader, Source};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use body::Bodies;
use elements::Writer;
use index::{About, Calls, Columns, Facts, Gathered, Read, order};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::{self, Write};

const HTML: &str = include_str!("page.html");
const CSS: &str = include_str!("page.css");
const JS: [&str; 3] = [include_str!("markdown.js"), include_str!("inflate.js"), include_str!("page.js")];

/// How many bytes of bodies are in a chunk before the next one begins.
const CHUNK: usize = 256 * 1024;

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
    /// The file of the page that lists all sessions, if there is one beside this page.
    pub home: Option<String>,
    /// Which images.
    pub images: Images,
    /// The most bytes of a result.
    pub results: Option<usize>,
    /// Whether thinking is left out.
    pub no_thinking: bool,
    /// What tokens cost, for replies that say nothing of it.
    pub prices: Prices,
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

/// Returns the number of an entry in the page, if it is there.
fn number_of(number: &[u32], ix: Ix) -> Option<usize> {
    number.get(ix.index()).filter(|at| **at != u32::MAX).map(|at| *at as usize)
}

/// Writes entries of a session as a page.
///
/// `entries` are in the order of the file. `redact` changes each line, and each text beside the lines, before it is read. The
/// memory that this takes is the index, one chunk, and one line.
pub fn write(
    session: &Session,
    source: &dyn Source,
    entries: &[Ix],
    mut beside: Beside<'_>,
    options: &Options,
    redact: &mut dyn Redact,
    out: &mut dyn Write,
) -> io::Result<Written> {
    let mut writer = Writer::new(out);
    let js = without_comments(&JS.concat());
    let title =
        redact.text(if options.title.trim().is_empty() { "Session" } else { &options.title }).into_owned();
    writer.write(head_of_page(&title, &js).as_bytes())?;
    let mut number = vec![u32::MAX; session.entries.len()];
    for (at, ix) in entries.iter().enumerate() {
        number[ix.index()] = at as u32;
    }
    let numbered = |ix: Ix| number_of(&number, ix);
    // Before the rest, since that has no use for the messages: there may be as many as entries.
    let mut sent = 0;
    if let Some(context) = beside.context.take() {
        let (count, messages) = body::context(&context, session, source, options, &numbered, redact)?;
        drop(context);
        if count > 0 {
            writer.element("sent", &messages)?;
        }
        sent = count;
    }
    let mut gathered = Gathered {
        session,
        options,
        number: &number,
        columns: Columns::default(),
        facts: Facts::default(),
        calls: Calls::default(),
    };
    let mut bodies = Bodies::new(options);
    let (mut chunk, mut lines) = (Vec::new(), LineReader::default());
    for (at, ix) in entries.iter().enumerate() {
        if chunk.is_empty() {
            gathered.facts.chunk.push(at);
            chunk.push(b'[');
        } else {
            chunk.extend_from_slice(b",\n");
        }
        let span = session.span(*ix);
        let file_len = session.files.get(usize::from(span.file)).map_or(0, |file| file.bytes);
        let stored = lines.line(source, file_len, span)?;
        let line = redact.line(stored);
        let content = Content::read(session.format, &line);
        let files = (beside.result_texts)(*ix, &line, &content);
        bodies.write(&content, &line, files, redact, &mut writer, &mut chunk)?;
        let notes = beside.notes.get(ix).map_or(&[][..], Vec::as_slice);
        let entry = Read { ix: *ix, stored, line: &line, content: &content, notes };
        gathered.add(at, &entry, redact);
        if chunk.len() > CHUNK {
            chunk.push(b']');
            writer.chunk(&mut chunk)?;
        }
    }
    if !chunk.is_empty() {
        chunk.push(b']');
        writer.chunk(&mut chunk)?;
    }
    writer.finish_chunks()?;
    let last = entries.last().copied();
    let leaf = Some(session.head.leaf.or(session.head.entry))
        .filter(|leaf| leaf.and_then(numbered).is_some())
        .unwrap_or(last);
    let order = order(session, &number, leaf);
    let mut notes = options.notes.clone();
    notes.extend(bodies.left_out());
    let about = About { title: &title, notes, rows: order.len() / 4, leaf, sent };
    let (columns, json) = gathered.index(about, &beside, redact)?;
    columns.write(&order, &mut writer)?;
    writer.element("index", &json)?;
    writer.write(format!("<script>{js}</script>\n</body>\n</html>\n").as_bytes())?;
    Ok(Written { bytes: writer.bytes, ..bodies.written })
}

/// Returns what a page begins with: its policy, style and title. `js` is the script at its end.
fn head_of_page(title: &str, js: &str) -> String {
    let css = without_comments(CSS);
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src blob:; base-uri 'none'; form-action 'none'",
        hash(js),
        hash(&css)
    );
    HTML.replace("{{csp}}", &policy).replace("{{css}}", &css).replace("{{title}}", &escaped(title))
}

/// A script or a style without indentation and whole lines of comments, which a reader of the page has no use for.
fn without_comments(code: &str) -> String {
    let lines = code.lines().map(str::trim_start).filter(|line| !line.starts_with("//") && !line.is_empty());
    lines.fold(String::with_capacity(code.len()), |mut out, line| {
        let _ = writeln!(out, "{line}");
        out
    })
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
            // Otherwise, a browser reads it as the end of a line, and an id is not found by its link.
            '\r' => out.push_str("&#13;"),
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
