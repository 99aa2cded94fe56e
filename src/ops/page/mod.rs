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
mod plain;
mod sessions;
mod words;

pub use beside::{Beside, Link, ResultText, Started};
pub use figures::{Chart, FigureTable, Figures, figures};
pub use plain::{MOST as PLAIN_MOST, plain};
pub use sessions::{Listed, sessions};
pub use words::first_words;

use super::redact::Redact;
use super::rows::{Order, Rows};
use super::stats::{Prices, touched_files};
use super::{filter, ids};
use crate::format::{Content, Session, call_words};
use crate::model::{Count, Ix, Key, Kind, LineReader, Source};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use body::Bodies;
use elements::Writer;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::{self, Write};

const HTML: &str = include_str!("page.html");
const CSS: &str = include_str!("page.css");
const JS: [&str; 3] = [include_str!("markdown.js"), include_str!("inflate.js"), include_str!("page.js")];

/// How many bytes of bodies are in a chunk before the next one begins.
const CHUNK: usize = 256 * 1024;

/// How many characters of an entry are in the index.
const SUMMARY: usize = 140;

/// How many calls are remembered for the first words of their results.
const REMEMBERED: usize = 4096;

/// Bits of the mask of an entry, after those of the filters.
const TALK: u8 = 1 << 5;
const FAILED: u8 = 1 << 6;

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

/// Numbers and texts of each entry, on their way to the page.
#[derive(Default)]
struct Columns {
    ids: String,
    words: String,
    time: Vec<u8>,
    parent: Vec<u8>,
    kind: Vec<u8>,
    mask: Vec<u8>,
    last_time: Option<i64>,
}

impl Columns {
    fn add(&mut self, id: &str, words: &str, time: Option<i64>, parent: i32, kind: u8, mask: u8) {
        add_line(&mut self.ids, id, usize::MAX);
        add_line(&mut self.words, words, SUMMARY);
        // Differences are nearly all the same, and take no room once they are deflated.
        let difference = time.map_or(f64::NAN, |time| (time - self.last_time.unwrap_or(0)) as f64);
        self.last_time = time.or(self.last_time);
        self.time.extend_from_slice(&difference.to_le_bytes());
        self.parent.extend_from_slice(&parent.to_le_bytes());
        self.kind.push(kind);
        self.mask.push(mask);
    }

    /// Writes the elements of the page that have the columns; `order` is that of the tree views.
    fn write(self, order: &[u8], writer: &mut Writer<'_>) -> io::Result<()> {
        let count = self.kind.len();
        let mut numbers = self.time;
        numbers.extend_from_slice(&self.parent);
        numbers.extend_from_slice(order);
        numbers.resize(16 * count, 0);
        numbers.extend_from_slice(&self.kind);
        numbers.extend_from_slice(&self.mask);
        writer.element("columns", &numbers)?;
        writer.element("ids", self.ids.as_bytes())?;
        writer.element("words", self.words.as_bytes())
    }
}

/// Adds a text as one line, of at most so many characters.
fn add_line(into: &mut String, text: &str, most: usize) {
    let end = if text.len() > most { text.char_indices().nth(most).map(|(end, _)| end) } else { None };
    for (at, part) in text[..end.unwrap_or(text.len())].split('\n').enumerate() {
        into.push_str(if at > 0 { " " } else { "" });
        into.push_str(part);
    }
    into.push_str(if end.is_some() { "…\n" } else { "\n" });
}

/// Facts of some entries, by their number in the page.
#[derive(Default)]
struct Facts {
    chunk: Vec<usize>,
    label: Map<String, Value>,
    used: BTreeMap<usize, Used>,
    note: Map<String, Value>,
    /// The calls of entries, as the members of an object. Nearly every second entry has some: as values they would take twenty
    /// times as much memory.
    call: String,
    names: Vec<String>,
    known: HashMap<String, usize>,
    /// The entry that has the usage of a reply so far: the entries of one reply repeat it.
    replies: HashMap<Key, usize>,
}

/// What a reply took.
struct Used {
    tokens: u64,
    cost: Option<f64>,
    /// The model, by its place among the names.
    model: usize,
}

impl Facts {
    fn name(&mut self, name: String) -> usize {
        if let Some(known) = self.known.get(&name) {
            return *known;
        }
        self.names.push(name.clone());
        self.known.insert(name, self.names.len() - 1);
        self.names.len() - 1
    }

    /// Returns what replies took, as a JSON object.
    fn used(&self) -> serde_json::Result<String> {
        let mut out = String::from("{");
        for (at, used) in &self.used {
            let comma = if out.len() > 1 { "," } else { "" };
            let used = serde_json::to_string(&(used.tokens, used.cost, &self.names[used.model]))?;
            let _ = write!(out, "{comma}\"{at}\":{used}");
        }
        Ok(out + "}")
    }

    /// Notes what an entry took. `group` is the reply that it is part of.
    fn usage(&mut self, number: usize, content: &Content<'_>, group: Key, options: &Options) {
        let Some(usage) = content.usage().filter(|usage| usage.tokens() > 0) else { return };
        let model = content.model.as_deref().unwrap_or_default();
        if let Some(before) = self.replies.insert(group, number).filter(|_| group.is_some()) {
            self.used.remove(&before);
        }
        let used = Used {
            tokens: usage.tokens(),
            cost: body::cost(&usage, model, options),
            model: self.name(model.to_owned()),
        };
        self.used.insert(number, used);
    }

    /// Notes the tools that an entry calls, and the files that they read or change.
    fn calls(&mut self, number: usize, content: &Content<'_>, cwd: &str) {
        let mut is_first = true;
        for (_, tool, arguments) in content.calls() {
            let touched = touched_files(tool, arguments).into_iter().next();
            let file = touched.as_ref().map(|(file, _)| {
                let below = file.strip_prefix(cwd).and_then(|rest| rest.strip_prefix('/'));
                self.name(below.filter(|_| !cwd.is_empty()).unwrap_or(file).to_owned())
            });
            let changes = touched.is_some_and(|(_, changes)| changes);
            let (tool, file) = (self.name(tool.to_owned()), file.map_or(-1, |file| file as i64));
            let begin = match (is_first, self.call.is_empty()) {
                (true, true) => format!("\"{number}\":["),
                (true, false) => format!(",\"{number}\":["),
                (false, _) => ",".into(),
            };
            is_first = false;
            let _ = write!(self.call, "{begin}[{tool},{file},{}]", u8::from(changes));
        }
        if !is_first {
            self.call.push(']');
        }
    }
}

/// An entry as it was read.
struct Read<'r> {
    ix: Ix,
    /// Its line as it is in the file.
    stored: &'r [u8],
    /// Its line without what is redacted.
    line: &'r [u8],
    content: &'r Content<'r>,
    /// What is said about it beside the session.
    notes: &'r [String],
}

/// What the index of the page has, as it is gathered entry by entry.
struct Gathered<'g> {
    session: &'g Session,
    options: &'g Options,
    /// The number in the page of each entry of the session.
    number: &'g [u32],
    columns: Columns,
    facts: Facts,
    calls: Calls,
}

impl Gathered<'_> {
    /// Adds the entry with the number `at`.
    fn add(&mut self, at: usize, entry: &Read<'_>, redact: &mut dyn Redact) {
        let (session, ix, content) = (self.session, entry.ix, entry.content);
        let kind = filter::shown_kind(session, ix);
        let parent = session.tree.ancestors(ix).skip(1).find_map(|ix| number_of(self.number, ix));
        let time = session.entries.time(ix);
        let modes = filter::Mode::ALL.iter().enumerate().filter(|(_, (_, mode))| mode.shows(session, ix));
        let talk = if filter::any_conversation(session, ix) { TALK } else { 0 };
        let failed = if content.failed() { FAILED } else { 0 };
        self.columns.add(
            &redact.text(&ids::name_in(session, entry.stored, ix)),
            &summary(content, kind, self.calls.words(content)),
            time.is_some().then_some(time.0),
            parent.map_or(0, |parent| at as i32 - parent as i32),
            Kind::ALL.iter().position(|known| *known == kind).unwrap_or(0) as u8,
            modes.fold(talk | failed, |mask, (bit, _)| mask | 1 << bit),
        );
        self.calls.remember(content);
        self.facts.calls(at, content, &self.options.cwd);
        if let Some(label) = session.labels.label(ix) {
            self.facts.label.insert(at.to_string(), redact.text(label).into());
        }
        self.facts.usage(at, content, session.entries.group(ix), self.options);
        let mut notes: Vec<Value> = entry.notes.iter().map(|note| redact.text(note).into()).collect();
        notes.extend(compacted(entry.line, kind).map(Value::from));
        if !notes.is_empty() {
            self.facts.note.insert(at.to_string(), notes.into());
        }
    }

    /// Returns the columns, and the index as JSON.
    fn index(
        self,
        about: About<'_>,
        beside: &Beside<'_>,
        redact: &mut dyn Redact,
    ) -> io::Result<(Columns, Vec<u8>)> {
        let Gathered { session, options, number, columns, facts, .. } = self;
        let numbered = |ix: Ix| number_of(number, ix);
        let place = |ix: Option<Ix>| ix.and_then(numbered).map_or(-1, |at| at as i64);
        let sub = numbered_map(&beside.started, &numbered, &mut |started: &Started| {
            let (first, last) = (numbered(started.first)?, numbered(started.last)?);
            Some(json!([first, [last, started.entries], redact.text(&started.name)]))
        });
        let link = numbered_map(&beside.links, &numbered, &mut |link: &Link| {
            Some(json!([link.href, redact.text(&link.words)]))
        });
        let names: Vec<_> = facts.names.iter().map(|name| redact.text(name)).collect();
        let raw = |json: String| RawValue::from_string(json);
        let index = Index {
            v: 2,
            n: columns.kind.len(),
            rows: about.rows,
            title: about.title,
            agent: session.format.agent(),
            cwd: redact.text(&options.cwd),
            home: options.home.as_deref(),
            notes: about.notes,
            head: place(session.head.entry),
            leaf: place(about.leaf),
            used: raw(facts.used()?)?,
            calls: Calling { names, at: raw(format!("{{{}}}", facts.call))? },
            chunk: facts.chunk,
            label: facts.label,
            note: facts.note,
            sub,
            link,
            sent: about.sent,
        };
        let json = serde_json::to_vec(&index)?;
        Ok((columns, json))
    }
}

/// What the index says of the page as a whole.
struct About<'a> {
    title: &'a str,
    /// What was left out.
    notes: Vec<String>,
    /// How many rows the tree views have.
    rows: usize,
    leaf: Option<Ix>,
    /// How many messages the agent would send at HEAD.
    sent: usize,
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

/// What a page begins with: everything but the bodies, and the columns.
#[derive(Serialize)]
struct Index<'i> {
    v: u8,
    n: usize,
    rows: usize,
    title: &'i str,
    agent: &'static str,
    cwd: Cow<'i, str>,
    home: Option<&'i str>,
    notes: Vec<String>,
    head: i64,
    leaf: i64,
    chunk: Vec<usize>,
    label: Map<String, Value>,
    used: Box<RawValue>,
    note: Map<String, Value>,
    calls: Calling<'i>,
    sub: Map<String, Value>,
    link: Map<String, Value>,
    sent: usize,
}

#[derive(Serialize)]
struct Calling<'i> {
    names: Vec<Cow<'i, str>>,
    at: Box<RawValue>,
}

/// What is known beside some entries, by their number in the page.
fn numbered_map<T>(
    of: &HashMap<Ix, Vec<T>>,
    numbered: &dyn Fn(Ix) -> Option<usize>,
    json: &mut dyn FnMut(&T) -> Option<Value>,
) -> Map<String, Value> {
    let all = of.iter().filter_map(|(ix, items)| {
        let items: Vec<Value> = items.iter().filter_map(&mut *json).collect();
        Some((numbered(*ix)?.to_string(), items.into()))
    });
    all.collect()
}

/// Returns the first words of an entry. `call` is that of a result.
fn summary(content: &Content<'_>, kind: Kind, call: &str) -> String {
    if !matches!(kind, Kind::User | Kind::Assistant | Kind::Summary | Kind::Compaction) {
        return content.summary_of(call);
    }
    content.summary_by(call, &|text| {
        // bough's own words are not Markdown, and what follows them may begin with a heading.
        let own = content.text.get(..content.words).filter(|own| text.starts_with(own)).unwrap_or_default();
        format!("{own}{}", first_words(&text[own.len()..], SUMMARY + 1))
    })
}

/// How much a compaction replaced, if its line says that and its first words do not.
fn compacted(line: &[u8], kind: Kind) -> Option<String> {
    if kind != Kind::Compaction {
        return None;
    }
    let tokens = ["tokensBefore", "tokens_before"].iter().find_map(|key| crate::json::member(line, key))?;
    let tokens: f64 = std::str::from_utf8(tokens).ok()?.parse().ok()?;
    (tokens >= 1.0).then(|| format!("{} before", Count("token", "tokens", tokens as usize)))
}

/// The entries in the order of the tree views, as differences of numbers of four bytes.
fn order(session: &Session, number: &[u32], leaf: Option<Ix>) -> Vec<u8> {
    let rows = Rows::new(&session.tree, &Order::new(session, leaf), |ix| number[ix.index()] != u32::MAX);
    let mut last = 0;
    let difference = |ix: &Ix| {
        let at = number[ix.index()] as i32;
        (at - std::mem::replace(&mut last, at)).to_le_bytes()
    };
    rows.entries().iter().flat_map(difference).collect()
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
