//! Exports a branch: a new session of the same format that is complete by itself.
//!
//! Lines are copied byte for byte, except for the fields that must change: the parent if the entry
//! before was left out, ids if new ones are requested, and references to entries that no longer
//! exist.

pub mod claude;
mod moved_results;

pub use moved_results::MovedResults;
pub(in crate::ops) use moved_results::begins_a_path;

use super::{Error, Snapshot, ids, label};
use crate::format::{Format, Ids, New, Session};
use crate::json::Edits;
use crate::model::{Ancestry, Change, Flags, Ix, Key, Kind, Piece, Plan, Source, Span, Target, Time};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;

/// What to export, and how.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The entry whose path is exported.
    pub entry: Ix,
    /// Export the entry and everything below it, instead of the path to it.
    pub subtree: bool,
    /// New ids for all entries.
    pub new_ids: bool,
    /// The id of the new session.
    pub session: String,
    /// The path of the new file; `None` is standard output.
    pub to: Option<PathBuf>,
    /// The file of the exported session, as the new one names it.
    pub from: Option<PathBuf>,
    /// The stored results that are copied with the new session.
    pub moved: Option<MovedResults>,
    /// The working directory of the new session, if it is another one.
    pub cwd: Option<String>,
    /// No entry at all: the new session begins before the first prompt.
    pub is_empty: bool,
}

/// An export that has not been made yet.
#[derive(Clone, Debug)]
pub struct Export {
    /// What is written.
    pub plan: Plan,
    /// How many entries are copied.
    pub entries: usize,
    /// How many of them were not asked for, and are copied to keep replies and results complete.
    pub beside: usize,
    /// HEAD of the new session.
    pub head: Option<Ix>,
    /// The entries that are copied.
    pub taken: HashSet<Ix>,
}

/// Returns an id for a new session in the agents' style: a UUID, for the pi family one that begins
/// with the time.
pub fn session_id(format: Format, fresh: &mut Ids, now: Time) -> String {
    let random = fresh.uuid();
    if format == Format::Claude {
        return random;
    }
    let bits = u128::from_str_radix(&random.replace('-', ""), 16).unwrap_or_default();
    let mut bytes = [0; 10];
    bytes.copy_from_slice(&bits.to_be_bytes()[6..]);
    let millis = u64::try_from(now.0).unwrap_or_default();
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid().to_string()
}

/// Returns the name that the agent gives to the file of a session.
pub fn file_name(format: Format, session: &str, now: Time) -> String {
    match format {
        Format::Claude | Format::Chimera => format!("{session}.jsonl"),
        _ => format!("{}_{session}.jsonl", now.iso().replace([':', '.'], "-")),
    }
}

/// Plans an export.
pub fn plan(
    whole: Snapshot<'_>,
    options: &ExportOptions,
    fresh: &mut Ids,
    now: Time,
) -> Result<Export, Error> {
    let session = whole.session;
    super::writable(session)?;
    if session.format == Format::Claude {
        return claude::plan(whole, options, fresh, now);
    }
    let (entries, beside) = if options.is_empty { Default::default() } else { chosen(whole, options)? };
    let taken: HashSet<Ix> = entries.iter().copied().collect();
    let mut copy = Copy::new(whole, options, fresh, &entries)?;
    copy.header(now)?;
    // Chimera's header is an entry, and comes before all others.
    let mut in_order: Vec<Ix> = copy.taken.difference(&taken).copied().collect();
    in_order.extend(&entries);
    copy.climb = steps_to_copied(session, &in_order, &copy.taken);
    for ix in &entries {
        copy.entry(*ix)?;
    }
    let head = if options.subtree {
        session.head.exact.filter(|head| taken.contains(head)).or(entries.last().copied())
    } else {
        entries.last().copied()
    };
    copy.ending(head, now)?;
    let count = entries.len();
    let plan = copy.into_plan();
    Ok(Export { plan, entries: count, beside, head, taken })
}

/// Returns the entries to copy, each after its parent, and how many of them were not asked for.
fn chosen(whole: Snapshot<'_>, options: &ExportOptions) -> Result<(Vec<Ix>, usize), Error> {
    let session = whole.session;
    let tree = &session.tree;
    let mut top = options.entry;
    let (mut all, asked) = if options.subtree {
        let asked = tree.subtree(top).len();
        // No model accepts a session with a result but not its call: the call is added.
        while session.entries.flags(top).has(Flags::RESULT)
            && let Some(parent) = tree.parent(top)
        {
            top = parent;
        }
        (tree.subtree(top), asked)
    } else {
        // What the agent notes after HEAD (names, settings) belongs to it.
        top = session.end_at(top);
        let mut path = tree.path(top);
        let asked = path.len();
        path.extend(answers_below(whole, top)?);
        (path, asked)
    };
    if options.subtree {
        all = in_order(session, all);
    }
    let beside = all.len() - asked;
    all.retain(|ix| !is_left_out(session, *ix));
    if all.is_empty() {
        return Err(Error::NoPlace {
            what: format!("there is nothing to export before {}", whole.name(options.entry)?),
            instead: None,
        });
    }
    Ok((all, beside))
}

/// Sorts entries by file order, if each parent then comes before its children; otherwise keeps the
/// given order, in which it does.
fn in_order(session: &Session, all: Vec<Ix>) -> Vec<Ix> {
    let forward = all.iter().any(|ix| session.tree.parent(*ix).is_some_and(|parent| parent > *ix));
    if forward {
        return all;
    }
    let mut sorted = all;
    sorted.sort_unstable();
    sorted
}

/// Returns whether an entry is created anew, or makes no sense in another file: labels, and HEAD
/// markers of the harness.
fn is_left_out(session: &Session, ix: Ix) -> bool {
    session.entries.kind(ix) == Kind::Label
        || session.entries.kind(ix) == Kind::Header
        || session.format == Format::Harness && session.entries.ty(ix) == "leaf"
}

/// Returns the results of the calls in a reply at the end of the path, so that none is left open.
fn answers_below(whole: Snapshot<'_>, end: Ix) -> Result<Vec<Ix>, Error> {
    let session = whole.session;
    let entries = &session.entries;
    let Some(call) = session.tree.ancestors(end).find(|ix| !entries.flags(*ix).has(Flags::RESULT)) else {
        return Ok(Vec::new());
    };
    if !entries.flags(call).has(Flags::CALL) {
        return Ok(Vec::new());
    }
    let content = |ix: Ix| whole.line(ix);
    let line = content(call)?;
    let mut open: HashSet<String> =
        crate::format::Content::read(session.format, &line).calls().map(|(id, ..)| id.to_owned()).collect();
    let close = |ix: Ix, open: &mut HashSet<String>| -> io::Result<bool> {
        let line = content(ix)?;
        let content = crate::format::Content::read(session.format, &line);
        let closes: Vec<&str> = content.answers().collect();
        Ok(closes.into_iter().filter(|id| open.remove(*id)).count() > 0)
    };
    for ix in session.tree.ancestors(end).take_while(|ix| *ix != call) {
        close(ix, &mut open)?;
    }
    let (mut out, mut at) = (Vec::new(), end);
    'down: while !open.is_empty() {
        for child in session.tree.children(at) {
            if entries.flags(child).has(Flags::RESULT) && close(child, &mut open)? {
                out.push(child);
                at = child;
                continue 'down;
            }
        }
        break;
    }
    Ok(out)
}

/// A new session that is being built.
struct Copy<'a> {
    session: &'a Session,
    source: &'a dyn Source,
    options: &'a ExportOptions,
    fresh: &'a mut Ids,
    /// The entries that are copied, and the one that is written last.
    taken: HashSet<Ix>,
    last: Option<Ix>,
    /// Their ids in the new session, as JSON, if they differ.
    names: HashMap<Ix, Vec<u8>>,
    /// Chimera's header is an entry, and gets a new id.
    header: Option<Vec<u8>>,
    /// How to get from each copied entry to those above it.
    climb: HashMap<Ix, Steps>,
    /// The entries by their ids, and their ancestry; built when a compaction needs it.
    places: OnceCell<(HashMap<Key, Ix>, Ancestry)>,
    pieces: Vec<Piece>,
    changes: Vec<Change>,
}

/// The copied ancestors of an entry.
#[derive(Clone, Copy)]
struct Steps {
    /// The nearest.
    up: Option<Ix>,
    /// One further up, so that each ancestor can be reached in few steps, however many there are.
    jump: Option<Ix>,
    /// Their number.
    depth: usize,
}

/// Computes the steps up from each copied entry. Each of `entries` must come after its ancestors.
fn steps_to_copied(session: &Session, entries: &[Ix], taken: &HashSet<Ix>) -> HashMap<Ix, Steps> {
    let mut out: HashMap<Ix, Steps> = HashMap::with_capacity(entries.len());
    // For entries that are not copied, the nearest copied ancestor; so that no part of a path is
    // walked twice.
    let mut known: HashMap<Ix, Option<Ix>> = HashMap::new();
    for ix in entries {
        let (mut way, mut up) = (Vec::new(), None);
        for above in session.tree.ancestors(*ix).skip(1) {
            if taken.contains(&above) {
                up = Some(above);
                break;
            }
            if let Some(nearest) = known.get(&above) {
                up = *nearest;
                break;
            }
            way.push(above);
        }
        known.extend(way.into_iter().map(|above| (above, up)));
        let (depth, jump) = match up.and_then(|up| Some((up, *out.get(&up)?))) {
            None => (0, None),
            Some((up, of_up)) => {
                // The jump of its jump has the same length as its own: both are combined into one.
                let of_jump = of_up.jump.and_then(|jump| out.get(&jump).copied());
                let twice = of_jump.filter(|of_jump| {
                    let far = of_jump.jump.and_then(|far| out.get(&far)).map(|far| far.depth);
                    far.is_some_and(|far| of_up.depth - of_jump.depth == of_jump.depth - far)
                });
                (of_up.depth + 1, twice.map_or(Some(up), |of_jump| of_jump.jump))
            }
        };
        out.insert(*ix, Steps { up, jump, depth });
    }
    out
}

impl<'a> Copy<'a> {
    fn new(
        whole: Snapshot<'a>,
        options: &'a ExportOptions,
        fresh: &'a mut Ids,
        entries: &[Ix],
    ) -> Result<Copy<'a>, Error> {
        let Snapshot { session, source } = whole;
        let taken: HashSet<Ix> = entries.iter().copied().collect();
        let mut names = HashMap::new();
        if options.new_ids {
            for ix in entries {
                let id = fresh.entry(session.format, session.entries.keys());
                names.insert(*ix, session.format.quoted(&id));
            }
        }
        let (pieces, changes) = (Vec::new(), Vec::new());
        let last = entries.last().copied();
        let places = OnceCell::new();
        Ok(Copy {
            session,
            source,
            options,
            fresh,
            taken,
            last,
            names,
            header: None,
            climb: HashMap::new(),
            places,
            pieces,
            changes,
        })
    }

    /// Writes the lines before the entries: the header with a new id, and the title of oh-my-pi.
    fn header(&mut self, now: Time) -> Result<(), Error> {
        let session = self.session;
        for other in session.others.iter().filter(|other| other.kind == crate::format::OtherKind::Title) {
            self.keep(other.span);
        }
        let Some(span) = session.header.as_ref().and_then(|header| header.span) else { return Ok(()) };
        let line = self.source.bytes(span)?;
        let Some(mut edits) = Edits::begin(&line) else { return Ok(()) };
        if session.format == Format::Chimera {
            let id = self.fresh.entry(session.format, session.entries.keys());
            let name = session.format.quoted(&id);
            edits.set("id", &name);
            edits.set("parent_id", b"null");
            if let Some(ix) = session.entries.all().find(|ix| session.span(*ix) == span) {
                self.taken.insert(ix);
                self.names.insert(ix, name.clone());
            }
            self.header = Some(name);
        } else {
            edits.set("id", &session.format.quoted(&self.options.session));
            edits.set("timestamp", &session.format.quoted(&now.iso()));
            match self.options.from.as_ref().and_then(|from| from.to_str()) {
                Some(from) => edits.set("parentSession", &session.format.quoted(from)),
                None => edits.remove("parentSession"),
            }
        }
        if let Some(cwd) = &self.options.cwd {
            edits.set("cwd", &session.format.quoted(cwd));
        }
        self.edited(span, &edits, session.header.as_ref().map_or(0, |header| header.line), "");
        Ok(())
    }

    /// Writes an entry as a child of the nearest copied ancestor.
    fn entry(&mut self, ix: Ix) -> Result<(), Error> {
        let (session, format) = (self.session, self.session.format);
        let span = session.span(ix);
        let line = self.source.bytes(span)?;
        let Some(mut edits) = Edits::begin(&line) else {
            // The first object of a line with more on it is an entry to some programs; the line is
            // copied unchanged.
            self.keep(span);
            return Ok(());
        };
        let parent = match self.copied_ancestor(ix) {
            Some(above) => self.name(above)?,
            None => self.header.clone().unwrap_or_else(|| b"null".to_vec()),
        };
        let keys = format.names();
        if edits.value(keys.parent) != Some(&parent) {
            edits.set(keys.parent, &parent);
        }
        if let Some(name) = self.names.get(&ix) {
            edits.set(keys.id, name);
        }
        self.first_kept(ix, &mut edits, keys.kept)?;
        if self.options.new_ids {
            self.rename(ix, &mut edits);
        }
        self.edited(span, &edits, session.entries.line(ix), &ids::id(session, self.source, ix)?);
        Ok(())
    }

    /// Returns the nearest copied ancestor of an entry.
    fn copied_ancestor(&self, ix: Ix) -> Option<Ix> {
        self.climb.get(&ix).and_then(|steps| steps.up)
    }

    /// Sets the first entry that a compaction keeps: if that one is not copied, the next copied one
    /// below it.
    fn first_kept(&mut self, ix: Ix, edits: &mut Edits<'_>, key: &str) -> Result<(), Error> {
        let Some(value) = edits.value(key).filter(|value| value.len() > 2) else { return Ok(()) };
        let Some(named) = crate::json::string(value) else { return Ok(()) };
        let session = self.session;
        let (places, ancestry) = self
            .places
            .get_or_init(|| (session.places(), Ancestry::build(&session.tree, session.entries.len())));
        let kept = places.get(&Key::hash(named.as_bytes())).copied();
        let Some(kept) = kept.filter(|kept| ancestry.is_above(*kept, ix)) else { return Ok(()) };
        let is_below = |other: &Ix| ancestry.is_above(kept, *other);
        let mut first = ix;
        while let Some(steps) = self.climb.get(&first) {
            // The long step if it is not too far, or else the short one.
            match [steps.jump, steps.up].into_iter().flatten().find(is_below) {
                Some(higher) => first = higher,
                None => break,
            }
        }
        let name = self.name(first)?;
        if value != name {
            edits.set(key, &name);
        }
        Ok(())
    }

    /// Sets the new ids in the other fields that name entries.
    fn rename(&self, ix: Ix, edits: &mut Edits<'_>) {
        for key in ["targetId", "target_id", "fromId", "providerReplayThroughEntryId"] {
            if let Some(name) = edits.value(key).and_then(|value| self.new_name(value)) {
                edits.set(key, &name);
            }
        }
        if self.session.entries.flags(ix).has(Flags::MARKER) {
            let data = edits.value("data").unwrap_or_default();
            let Some(mut inner) = Edits::begin(data) else { return };
            for key in ["from", "to"] {
                if let Some(name) = inner.value(key).and_then(|value| self.new_name(value)) {
                    inner.set(key, &name);
                }
            }
            if !inner.is_empty() {
                edits.set("data", &inner.apply());
            }
        }
    }

    fn new_name(&self, value: &[u8]) -> Option<Vec<u8>> {
        let named = crate::json::string(value)?;
        let ix = self.session.find(Key::hash(named.as_bytes()))?;
        self.names.get(&ix).cloned()
    }

    /// Returns the id of an entry in the new session.
    fn name(&self, ix: Ix) -> io::Result<Vec<u8>> {
        match self.names.get(&ix) {
            Some(name) => Ok(name.clone()),
            None => ids::raw(self.session, self.source, ix),
        }
    }

    /// Writes the lines after the entries: the current labels, or a marker, so that HEAD is at
    /// `head`.
    fn ending(&mut self, head: Option<Ix>, now: Time) -> Result<(), Error> {
        let Some(head) = head else { return Ok(()) };
        let mut leaf = self.name(head)?;
        let labels = label::in_order(self.session);
        let labels: Vec<_> = labels.into_iter().filter(|(ix, _)| self.taken.contains(ix)).collect();
        let format = self.session.format;
        if labels.is_empty() && self.last != Some(head) {
            let id = self.fresh.entry(format, self.session.entries.keys());
            let new = New { id: &id, parent: Some(&leaf), now };
            if let Some(line) = format.dialect().marker(&new, None, Some(&leaf)) {
                self.add(line, &id, "keeps HEAD");
            }
        }
        for (ix, label) in labels {
            let id = self.fresh.entry(format, self.session.entries.keys());
            let target = self.name(ix)?;
            let time = label.entry.map_or(now, |entry| self.session.entries.time(entry));
            let time = if time.is_some() { time } else { now };
            let new = New { id: &id, parent: Some(&leaf), now: time };
            if let Some(line) = format.dialect().label(&new, &target, Some(label.text)) {
                self.add(line, &id, "sets a label");
                leaf = format.quoted(&id);
            }
        }
        Ok(())
    }

    fn keep(&mut self, span: Span) {
        self.pieces.push(Piece::Keep(span));
        self.pieces.push(Piece::New(b"\n".to_vec()));
    }

    fn edited(&mut self, span: Span, edits: &Edits<'_>, line: u64, id: &str) {
        pieces_of(span, edits, &mut self.pieces);
        self.changes.extend(changes_of(edits, span.file, line, id));
    }

    fn add(&mut self, line: Vec<u8>, id: &str, why: &str) {
        self.changes.push(super::switch::appended(&line, id, why));
        self.pieces.push(Piece::New(line));
    }

    fn into_plan(self) -> Plan {
        created(self.options, self.pieces, self.changes)
    }
}

/// Returns the plan that creates one new file.
fn created(options: &ExportOptions, pieces: Vec<Piece>, changes: Vec<Change>) -> Plan {
    let mut plan = Plan { verb: "export-branch".into(), ..Plan::default() };
    plan.changes.push(Change {
        op: "create",
        path: Some(options.to.clone().unwrap_or_else(|| "-".into())),
        bytes: size_of(&pieces),
        why: format!("session {}", options.session),
        ..Change::default()
    });
    plan.changes.extend(changes);
    plan.targets.push(Target::Create { path: options.to.clone(), pieces });
    plan
}

/// Returns the total size of pieces in bytes.
pub fn size_of(pieces: &[Piece]) -> i64 {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Keep(span) => span.len as i64,
            Piece::New(bytes) => bytes.len() as i64,
        })
        .sum()
}

/// Returns the changes that edits of a line make, as they are shown.
fn changes_of<'e>(
    edits: &'e Edits<'_>,
    file: u16,
    line: u64,
    id: &'e str,
) -> impl Iterator<Item = Change> + 'e {
    edits.changes().into_iter().map(move |change| Change {
        op: "set",
        file,
        line,
        id: id.into(),
        field: change.field,
        old: change.old,
        new: change.new,
        ..Change::default()
    })
}

/// Returns a line with its edits as pieces: unedited parts are copied from the file, however long
/// they are.
pub(super) fn pieces_of(span: Span, edits: &Edits<'_>, into: &mut Vec<Piece>) {
    let mut at = 0;
    for (range, new) in edits.stretches() {
        if range.start > at {
            let (offset, len) = (span.offset + at as u64, (range.start - at) as u64);
            into.push(Piece::Keep(Span { offset, len, ..span }));
        }
        if !new.is_empty() {
            into.push(Piece::New(new));
        }
        at = range.end;
    }
    if (at as u64) < span.len {
        into.push(Piece::Keep(Span { offset: span.offset + at as u64, len: span.len - at as u64, ..span }));
    }
    into.push(Piece::New(b"\n".to_vec()));
}
