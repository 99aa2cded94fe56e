//! The session that another was converted from, as the new one carries it.
//!
//! The lines of the old file ride along in lines that the new agent never sends
//! ([`source_lines`]), after the turns. With them goes a list: which entry was made from which
//! lines, and a digest of each, so that a later conversion knows what was touched. A session that is
//! converted again hands the first lines on: they are never carried twice.

use super::{Snapshot, TARGETS, Thinking, Writer};
use crate::format::{Format, New, OtherKind, source_lines};
use crate::json::{self, Escapes};
use crate::model::{Flags, Ix, Key, Kind, Span};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

/// How much one line carries, in bytes, unless a line of the source is longer.
const MOST: usize = 64 << 10;

/// How long one string may be, in bytes: oh-my-pi cuts strings of more than 500,000 characters.
const PIECE: usize = 100_000;

/// How the ids of entries begin that are named by their lines.
const LINE: &str = "line:";

/// How many entries one line lists.
const ROWS: usize = 1000;

/// The session that another was converted from.
#[derive(Clone, Debug)]
pub(super) struct Original {
    /// Its format.
    pub(super) format: Format,
    /// Its file.
    pub(super) bytes: Vec<u8>,
    /// What was made of it.
    pub(super) made: Vec<Made>,
    /// Lines whose turns were taken away or changed before the session was converted again.
    pub(super) left: BTreeSet<usize>,
    /// The entry at HEAD, if HEAD was where it was in the old session.
    pub(super) head: Option<String>,
    /// The id of the session that carries it.
    pub(super) session: String,
    /// What became of thoughts.
    pub(super) thinking: Thinking,
}

/// An entry that a conversion made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Made {
    /// Its id.
    pub(super) id: String,
    /// The entry before it, as an index into the list.
    pub(super) parent: Option<usize>,
    /// A digest of what it says.
    pub(super) digest: String,
    /// The lines of the old session that it was made from, from 0; none if the conversion invented it.
    pub(super) lines: Vec<usize>,
}

/// What became of an entry that a conversion made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// It is as it was.
    Same(Ix),
    /// It says something else.
    Edited(Ix),
    /// It is below another entry.
    Moved(Ix),
    /// It is gone.
    Gone,
}

impl Original {
    /// Returns what the new session carries: the old one, and what was made of it. Returns `None` if no
    /// session is ever converted to the format of the old one.
    pub(super) fn new(whole: Snapshot<'_>, writer: &Writer<'_>) -> io::Result<Option<Original>> {
        let session = whole.session;
        let format = session.format;
        if !TARGETS.iter().any(|target| target.agent() == format.agent()) {
            return Ok(None);
        }
        let len = session.files.first().map_or(0, |facts| facts.bytes);
        let bytes = whole.source.bytes(Span { file: 0, offset: 0, len })?;
        let starts = line_starts(&bytes);
        let mut lines_of: HashMap<Ix, Vec<usize>> = HashMap::new();
        let mut lines = |ix: Ix| {
            let known = lines_of.entry(ix).or_insert_with(|| {
                let span = session.span(ix);
                if span.file != 0 {
                    return Vec::new();
                }
                let line_at = |offset: u64| starts.partition_point(|start| *start as u64 <= offset) - 1;
                // An object may span several lines.
                (line_at(span.offset)..=line_at(span.offset + span.len.saturating_sub(1))).collect()
            });
            known.clone()
        };
        let of_turn = |at: usize| {
            let turn = &writer.conversation.turns[at];
            Some(turn.entries().flat_map(&mut lines).collect::<BTreeSet<usize>>().into_iter().collect())
        };
        let made = list(writer, of_turn);
        Ok(Some(Original {
            format,
            bytes,
            made,
            left: BTreeSet::new(),
            head: writer.head(),
            session: writer.options.session.clone(),
            thinking: writer.options.thinking,
        }))
    }

    /// Returns what a session that is converted again hands on.
    pub(super) fn handed_on(
        mut self,
        whole: Snapshot<'_>,
        writer: &Writer<'_>,
    ) -> io::Result<Option<Original>> {
        let states = self.states(whole)?;
        let of_entry: HashMap<Ix, usize> = (0..)
            .zip(&states)
            .filter_map(|(at, state)| match state {
                State::Same(ix) => Some((*ix, at)),
                _ => None,
            })
            .collect();
        for (made, state) in self.made.iter().zip(&states) {
            if !matches!(state, State::Same(_)) {
                self.left.extend(&made.lines);
            }
        }
        let turns = &writer.conversation.turns;
        let head = writer.conversation.head.and_then(|head| turns[head].entries().last());
        let is_head =
            |ix: Ix| of_entry.get(&ix).is_some_and(|at| Some(&self.made[*at].id) == self.head.as_ref());
        let head = writer.head().filter(|_| head.is_some_and(is_head));
        let made = list(writer, |at| {
            let rows: Option<Vec<usize>> =
                turns[at].entries().map(|entry| of_entry.get(&entry).copied()).collect();
            Some(rows?.into_iter().flat_map(|row| self.made[row].lines.clone()).collect())
        });
        self.made = made;
        self.head = head;
        self.session.clone_from(&writer.options.session);
        Ok(Some(self))
    }

    /// Writes the lines that carry it.
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let format = writer.options.to;
        let escapes = format.escapes();
        let name = writer.fresh.hex(16);
        let mut parts: Vec<Vec<u8>> = Vec::new();
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let mut bytes = 0;
        let all: Vec<&[u8]> = split(&self.bytes).collect();
        for line in &all {
            if bytes + line.len() > MOST && !lines.is_empty() {
                parts.push(list_member("lines", &lines));
                lines.clear();
                bytes = 0;
            }
            bytes += line.len();
            lines.push(line_as_json(line, escapes));
        }
        parts.push(list_member("lines", &lines));
        for rows in self.made.chunks(ROWS) {
            let rows: Vec<Vec<u8>> = rows
                .iter()
                .map(|made| {
                    let parent = made.parent.map_or("null".to_owned(), |parent| parent.to_string());
                    let row = format!("[\"{}\",{parent},\"{}\",{:?}]", made.id, made.digest, made.lines);
                    row.into_bytes()
                })
                .collect();
            parts.push(list_member("made", &rows));
        }
        let text = |key: &str, value: &str| [b",\"", key.as_bytes(), b"\":", &format.quoted(value)].concat();
        let mut last = format!("\"parts\":{}", parts.len() + 1).into_bytes();
        last.extend(text("format", self.format.name()));
        last.extend(text("session", &self.session));
        if let Some(head) = &self.head {
            last.extend(text("head", head));
        }
        last.extend(text("thinking", self.thinking.name()));
        last.extend(text("sha256", &hex(&Sha256::digest(&self.bytes))));
        let left: Vec<usize> = self.left.iter().copied().collect();
        last.extend(format!(",\"left\":{left:?},\"newline\":{}", self.bytes.ends_with(b"\n")).into_bytes());
        parts.push(last);
        // The time of the last turn, because nothing happens in the session after it; but no entry is older
        // than its parent.
        let is_below_turn = writer.end.is_none() || writer.ids.contains(&writer.end);
        let times = writer.conversation.turns.iter().map(|turn| turn.time).filter(|time| time.is_some());
        let time = times.max().filter(|_| is_below_turn).unwrap_or(writer.now);
        for (at, part) in parts.iter().enumerate() {
            let id = writer.new_id();
            let parent = writer.end.as_deref().map(|end| format.quoted(end));
            let new = New { id: &id, parent: parent.as_deref(), now: time };
            let data = [format!("\"of\":\"{name}\",\"part\":{at},").as_bytes(), part].concat();
            let line = source_lines::carrying(format, &new, &data, &writer.options.session);
            writer.out.extend(line.unwrap_or_default());
            writer.end = Some(id);
        }
    }

    /// Returns what a session carries: nothing, or the session that it was made from, or why that can't be
    /// read.
    pub(super) fn read(whole: Snapshot<'_>) -> io::Result<Result<Option<Original>, &'static str>> {
        let session = whole.session;
        let spans: Vec<Span> = match session.format {
            Format::Claude | Format::Codex => session
                .others
                .iter()
                .filter(|other| other.kind == OtherKind::Note)
                .map(|other| other.span)
                .collect(),
            Format::Pi | Format::Omp | Format::Chimera => session
                .entries
                .all()
                .filter(|ix| {
                    session.entries.kind(*ix) == Kind::Custom
                        && session.entries.flags(*ix).has(Flags::BOOKKEEPING)
                })
                .map(|ix| session.span(ix))
                .collect(),
            _ => return Ok(Ok(None)),
        };
        let mut found: Vec<(String, BTreeMap<u64, Value>)> = Vec::new();
        let mut line = Vec::new();
        for span in spans {
            whole.source.read(span, &mut line)?;
            let Some(data) = source_lines::carried(session.format, &line) else { continue };
            let Ok(data) = serde_json::from_slice::<Value>(data) else { continue };
            let (Some(of), Some(part)) = (data["of"].as_str(), data["part"].as_u64()) else { continue };
            match found.iter_mut().find(|(known, _)| known == of) {
                Some((_, parts)) => drop(parts.insert(part, data)),
                None => found.push((of.to_owned(), BTreeMap::from([(part, data)]))),
            }
        }
        let whole = found.iter().rev().find_map(|(_, parts)| Original::of_parts(parts));
        Ok(match whole {
            None if !found.is_empty() => Err("they were changed, or some of them are missing"),
            whole => Ok(whole),
        })
    }

    /// Puts the parts together; `None` if one is missing, or the file is not what it was.
    fn of_parts(parts: &BTreeMap<u64, Value>) -> Option<Original> {
        let last = parts.last_key_value()?.1;
        if last["parts"].as_u64()? != parts.len() as u64 {
            return None;
        }
        let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let numbers = |value: &Value| value.as_array()?.iter().map(number).collect::<Option<Vec<usize>>>();
        let (mut bytes, mut made) = (Vec::new(), Vec::new());
        for part in parts.values() {
            for line in part["lines"].as_array().into_iter().flatten() {
                bytes.extend(line_of_json(line)?);
                bytes.push(b'\n');
            }
            for row in part["made"].as_array().into_iter().flatten() {
                made.push(Made {
                    id: row[0].as_str()?.to_owned(),
                    parent: number(&row[1]),
                    digest: row[2].as_str()?.to_owned(),
                    lines: numbers(&row[3])?,
                });
            }
        }
        if last["newline"] == false {
            bytes.pop();
        }
        if last["sha256"].as_str()? != hex(&Sha256::digest(&bytes)) {
            return None;
        }
        let name = last["format"].as_str()?;
        Some(Original {
            format: Format::ALL.into_iter().find(|format| format.name() == name)?,
            bytes,
            made,
            left: numbers(&last["left"])?.into_iter().collect(),
            head: last["head"].as_str().map(str::to_owned),
            session: last["session"].as_str()?.to_owned(),
            thinking: Thinking::from_name(last["thinking"].as_str()?)?,
        })
    }

    /// Returns what became of each entry, in the order of [`Original::made`].
    pub(super) fn states(&self, whole: Snapshot<'_>) -> io::Result<Vec<State>> {
        let session = whole.session;
        let place = |id: &str| match id.strip_prefix(LINE).and_then(|line| line.parse().ok()) {
            Some(line) => session.entries.on_line(0, line),
            None => session.find(Key::hash(id.as_bytes())),
        };
        let places: Vec<Option<Ix>> = self.made.iter().map(|made| place(&made.id)).collect();
        let rows: HashMap<Ix, usize> =
            (0..).zip(&places).filter_map(|(row, ix)| Some(((*ix)?, row))).collect();
        let mut out = Vec::with_capacity(places.len());
        let mut line = Vec::new();
        for (row, (made, ix)) in self.made.iter().zip(&places).enumerate() {
            let Some(ix) = *ix else {
                out.push(State::Gone);
                continue;
            };
            whole.read(ix, &mut line)?;
            // What was between two entries may be gone, or there may be something else.
            let above = session.tree.ancestors(ix).skip(1).find_map(|above| rows.get(&above).copied());
            let mut was_above = made.parent.filter(|parent| *parent != row);
            while let Some(parent) = was_above.filter(|parent| places[*parent].is_none()) {
                was_above = self.made[parent].parent.filter(|above| *above < parent);
            }
            out.push(match () {
                () if above != was_above => State::Moved(ix),
                () if digest(session.format, &line) != made.digest => State::Edited(ix),
                () => State::Same(ix),
            });
        }
        Ok(out)
    }
}

impl Thinking {
    fn name(self) -> &'static str {
        match self {
            Thinking::Keep => "keep",
            Thinking::Text => "text",
            Thinking::Drop => "drop",
        }
    }

    /// Returns what a name means, as in `--thinking`.
    pub fn from_name(name: &str) -> Option<Thinking> {
        [Thinking::Keep, Thinking::Text, Thinking::Drop].into_iter().find(|known| known.name() == name)
    }
}

/// Lists the entries that were written. `lines` returns the lines that a turn comes from; `None` if it
/// is not of the old session.
fn list(writer: &Writer<'_>, mut lines: impl FnMut(usize) -> Option<Vec<usize>>) -> Vec<Made> {
    let turns = &writer.conversation.turns;
    let mut rows: Vec<Option<usize>> = vec![None; turns.len()];
    let mut made: Vec<Made> = Vec::new();
    let mut beside = writer.beside.iter().peekable();
    for (at, turn) in turns.iter().enumerate() {
        let Some(id) = writer.ids[at].clone() else { continue };
        let Some(of_turn) = lines(at) else {
            while beside.next_if(|(_, before)| *before == at).is_some() {}
            continue;
        };
        let mut parent = turn.parent;
        while let Some(above) = parent.filter(|above| writer.ids[*above].is_none()) {
            parent = turns[above].parent;
        }
        let mut parent = parent.and_then(|parent| rows[parent]);
        let written = &writer.out[writer.ranges[at].clone()];
        let mut written = written.split(|byte| *byte == b'\n');
        let mut push = |id: String, line: Option<&[u8]>, parent: Option<usize>, lines: Vec<usize>| {
            let digest = digest(writer.options.to, line.unwrap_or_default());
            made.push(Made { id, parent, digest, lines });
            made.len() - 1
        };
        while let Some((id, _)) = beside.next_if(|(_, before)| *before == at) {
            // The items of a turn of Codex, or a prompt that the conversion invented.
            let lines = if id.starts_with(LINE) { of_turn.clone() } else { Vec::new() };
            parent = Some(push(id.clone(), written.next(), parent, lines));
        }
        rows[at] = Some(push(id, written.next(), parent, of_turn));
    }
    made
}

/// Returns a digest of what a line says: all but its place in the tree and its time. It does not
/// depend on the order of keys and the spelling of numbers, nor on whether an image is in another
/// file: agents that write a file anew change these.
fn digest(format: Format, line: &[u8]) -> String {
    let mut hasher = Sha256::new();
    match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(members)) => {
            let says = |key: &str| match format {
                Format::Claude => matches!(key, "type" | "message" | "isMeta"),
                _ => !matches!(key, "id" | "parentId" | "parent_id" | "timestamp"),
            };
            for (key, value) in members.iter().filter(|(key, _)| says(key)).collect::<BTreeMap<_, _>>() {
                hasher.update(key);
                hash(key, value, &mut hasher);
            }
        }
        _ => hasher.update(line),
    }
    hex(&hasher.finalize()[..8])
}

/// Adds a value to a digest.
pub(super) fn hash(key: &str, value: &Value, into: &mut Sha256) {
    match value {
        Value::Null => into.update(b"n"),
        Value::Bool(yes) => into.update(if *yes { b"t" } else { b"f" }),
        // As in JavaScript.
        Value::Number(number) => into.update(format!("#{:?}", number.as_f64().unwrap_or_default())),
        Value::String(text) => {
            let image = match text.strip_prefix("blob:sha256:") {
                Some(hash) if key == "data" => Some(hash.to_owned()),
                None if key == "data" && text.len() >= 1024 => {
                    STANDARD.decode(text).ok().map(|image| hex(&Sha256::digest(image)))
                }
                _ => None,
            };
            let text = image.as_deref().unwrap_or(text);
            into.update(format!("\"{}:", text.len()));
            into.update(text);
        }
        Value::Array(items) => {
            into.update(format!("[{}:", items.len()));
            items.iter().for_each(|item| hash("", item, into));
        }
        Value::Object(members) => {
            into.update(format!("{{{}:", members.len()));
            for (key, value) in members.iter().collect::<BTreeMap<_, _>>() {
                into.update(format!("{}:{key}", key.len()));
                hash(key, value, into);
            }
        }
    }
}

/// Returns the lines of a file, without their line feeds. A last one that is empty is none.
pub(super) fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let count = if bytes.is_empty() { 0 } else { usize::MAX };
    whole.split(|byte| *byte == b'\n').take(count)
}

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    std::iter::once(0).chain(memchr::memchr_iter(b'\n', bytes).map(|at| at + 1)).collect()
}

fn list_member(key: &str, items: &[Vec<u8>]) -> Vec<u8> {
    [b"\"", key.as_bytes(), b"\":[", &items.join(&b","[..])[..], b"]"].concat()
}

/// Returns a line as JSON: a string, or a list of its pieces; what is not UTF-8 is in base64.
fn line_as_json(line: &[u8], escapes: Escapes) -> Vec<u8> {
    let pieces = |text: &str| {
        let mut pieces = Vec::new();
        let mut rest = text;
        while rest.len() > PIECE {
            let (piece, after) = rest.split_at(boundary_before(rest, PIECE));
            pieces.push(json::quoted(piece, escapes));
            rest = after;
        }
        pieces.push(json::quoted(rest, escapes));
        pieces
    };
    match std::str::from_utf8(line) {
        Ok(text) if text.len() <= PIECE => json::quoted(text, escapes),
        Ok(text) => [b"[", &pieces(text).join(&b","[..])[..], b"]"].concat(),
        Err(_) => [b"{", &list_member("base64", &pieces(&STANDARD.encode(line)))[..], b"}"].concat(),
    }
}

/// Returns the id of an entry without an id: its line, from 1.
pub(super) fn line_id(line: u64) -> String {
    format!("{LINE}{line}")
}

fn boundary_before(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

fn line_of_json(line: &Value) -> Option<Vec<u8>> {
    let joined = |pieces: &[Value]| pieces.iter().map(Value::as_str).collect::<Option<String>>();
    match line {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Array(pieces) => Some(joined(pieces)?.into_bytes()),
        line => STANDARD.decode(joined(line["base64"].as_array()?)?).ok(),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
