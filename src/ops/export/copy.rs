//! Copying the entries of a branch: their lines, with the ids and links that change.

use super::{ExportOptions, changes_of, created, pieces_of};
use crate::format::{Format, Ids, New, Session};
use crate::json::Edits;
use crate::model::{Ancestry, Change, Flags, Ix, Key, Piece, Plan, Source, Span, Time};
use crate::ops::{Error, Snapshot, ids, label};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::io;

/// A new session that is being built.
pub(super) struct Copy<'a> {
    session: &'a Session,
    source: &'a dyn Source,
    options: &'a ExportOptions,
    fresh: &'a mut Ids,
    /// The entries that are copied, and the one that is written last.
    pub(super) taken: HashSet<Ix>,
    last: Option<Ix>,
    /// Their ids in the new session, as JSON, if they differ.
    names: HashMap<Ix, Vec<u8>>,
    /// Chimera's header is an entry, and gets a new id.
    header: Option<Vec<u8>>,
    /// How to get from each copied entry to those above it.
    pub(super) climb: HashMap<Ix, Steps>,
    /// The entries by their ids, and their ancestry; built when a compaction needs it.
    places: OnceCell<(HashMap<Key, Ix>, Ancestry)>,
    pieces: Vec<Piece>,
    changes: Vec<Change>,
}

/// The copied ancestors of an entry.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// The nearest.
    up: Option<Ix>,
    /// One further up, so that each ancestor can be reached in few steps, however many there are.
    jump: Option<Ix>,
    /// Their number.
    depth: usize,
}

/// Computes the steps up from each copied entry. Each of `entries` must come after its ancestors.
pub(super) fn steps_to_copied(session: &Session, entries: &[Ix], taken: &HashSet<Ix>) -> HashMap<Ix, Steps> {
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
        let steps = up.and_then(|up| steps_over(&out, up)).unwrap_or(Steps { up, jump: None, depth: 0 });
        out.insert(*ix, steps);
    }
    out
}

/// Returns the steps of an entry whose nearest copied ancestor is `up`.
fn steps_over(known: &HashMap<Ix, Steps>, up: Ix) -> Option<Steps> {
    let of_up = known.get(&up)?;
    // The jump of its jump has the same length as its own: both are combined into one.
    let of_jump = of_up.jump.and_then(|jump| known.get(&jump).copied());
    let twice = of_jump.filter(|of_jump| {
        let far = of_jump.jump.and_then(|far| known.get(&far)).map(|far| far.depth);
        far.is_some_and(|far| of_up.depth - of_jump.depth == of_jump.depth - far)
    });
    let jump = twice.map_or(Some(up), |of_jump| of_jump.jump);
    Some(Steps { up: Some(up), jump, depth: of_up.depth + 1 })
}

impl<'a> Copy<'a> {
    pub(super) fn new(
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
    pub(super) fn header(&mut self, now: Time) -> Result<(), Error> {
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
    pub(super) fn entry(&mut self, ix: Ix) -> Result<(), Error> {
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
    pub(super) fn ending(&mut self, head: Option<Ix>, now: Time) -> Result<(), Error> {
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
        self.changes.push(crate::ops::switch::appended(&line, id, why));
        self.pieces.push(Piece::New(line));
    }

    pub(super) fn into_plan(self) -> Plan {
        created(self.options, self.pieces, self.changes)
    }
}
