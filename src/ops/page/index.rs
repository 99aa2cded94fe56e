//! The index of a page: what it has of each entry beside the bodies.

use super::beside::{Beside, Link, Started};
use super::elements::Writer;
use super::words::first_words;
use super::{Options, body, number_of};
use crate::format::{Content, Session, call_words};
use crate::model::{Count, Ix, Key, Kind};
use crate::ops::redact::Redact;
use crate::ops::rows::{Order, Rows};
use crate::ops::stats::touched_files;
use crate::ops::{filter, ids};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::io;

/// How many characters of an entry are in the index.
const SUMMARY: usize = 140;

/// How many calls are remembered for the first words of their results.
const REMEMBERED: usize = 4096;

/// Bits of the mask of an entry, after those of the filters.
const TALK: u8 = 1 << 5;
const FAILED: u8 = 1 << 6;

/// Numbers and texts of each entry, on their way to the page.
#[derive(Default)]
pub(super) struct Columns {
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
    pub(super) fn write(self, order: &[u8], writer: &mut Writer<'_>) -> io::Result<()> {
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
pub(super) struct Facts {
    pub(super) chunk: Vec<usize>,
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
pub(super) struct Read<'r> {
    pub(super) ix: Ix,
    /// Its line as it is in the file.
    pub(super) stored: &'r [u8],
    /// Its line without what is redacted.
    pub(super) line: &'r [u8],
    pub(super) content: &'r Content<'r>,
    /// What is said about it beside the session.
    pub(super) notes: &'r [String],
}

/// What the index of the page has, as it is gathered entry by entry.
pub(super) struct Gathered<'g> {
    pub(super) session: &'g Session,
    pub(super) options: &'g Options,
    /// The number in the page of each entry of the session.
    pub(super) number: &'g [u32],
    pub(super) columns: Columns,
    pub(super) facts: Facts,
    pub(super) calls: Calls,
}

impl Gathered<'_> {
    /// Adds the entry with the number `at`.
    pub(super) fn add(&mut self, at: usize, entry: &Read<'_>, redact: &mut dyn Redact) {
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
    pub(super) fn index(
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
pub(super) struct About<'a> {
    pub(super) title: &'a str,
    /// What was left out.
    pub(super) notes: Vec<String>,
    /// How many rows the tree views have.
    pub(super) rows: usize,
    pub(super) leaf: Option<Ix>,
    /// How many messages the agent would send at HEAD.
    pub(super) sent: usize,
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

/// What is known beside some entries, by their number in the page, in its order.
pub(super) fn numbered_map<T>(
    of: &HashMap<Ix, Vec<T>>,
    numbered: &dyn Fn(Ix) -> Option<usize>,
    json: &mut dyn FnMut(&T) -> Option<Value>,
) -> Map<String, Value> {
    let mut all: Vec<(usize, &Vec<T>)> =
        of.iter().filter_map(|(ix, items)| Some((numbered(*ix)?, items))).collect();
    all.sort_unstable_by_key(|(number, _)| *number);
    let values = |items: &Vec<T>, json: &mut dyn FnMut(&T) -> Option<Value>| -> Value {
        items.iter().filter_map(json).collect::<Vec<Value>>().into()
    };
    all.into_iter().map(|(number, items)| (number.to_string(), values(items, json))).collect()
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

/// The words of the calls that were seen last.
#[derive(Default)]
pub(super) struct Calls {
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

/// The entries in the order of the tree views, as differences of numbers of four bytes.
pub(super) fn order(session: &Session, number: &[u32], leaf: Option<Ix>) -> Vec<u8> {
    let rows = Rows::new(&session.tree, &Order::new(session, leaf), |ix| number[ix.index()] != u32::MAX);
    let mut last = 0;
    let difference = |ix: &Ix| {
        let at = number[ix.index()] as i32;
        (at - std::mem::replace(&mut last, at)).to_le_bytes()
    };
    rows.entries().iter().flat_map(difference).collect()
}
