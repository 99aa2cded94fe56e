//! Making one copy: changes the necessary fields of its line, and nothing else.

use super::{Made, Options, Referred, Refusal, Why, tool_ids_on, translate};
use crate::format::tools::{ToolRole, tool_ids};
use crate::format::{Format, Ids, Object, claude};
use crate::json::{Edits, each_item, each_member, end_of_string, member, place_in, string, string_of};
use crate::model::{Ancestry, Change, Flags, Ix, Key, Kind, Time};
use crate::ops::Snapshot;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::io;

/// Makes copies, one after the other.
pub(crate) struct Copier<'c> {
    from: Snapshot<'c>,
    into: Snapshot<'c>,
    options: &'c Options<'c>,
    ids: &'c mut Ids,
    referred: Referred,
    /// Ids of tool calls on the path, including the copies.
    taken: HashSet<String>,
    /// The new ids of the tool calls of the current unit, by the old ones; `last_ids` contains
    /// those of all units.
    unit_ids: HashMap<String, String>,
    last_ids: HashMap<String, String>,
    unit: Option<usize>,
    /// New ids of replies, by the old ones.
    replies: HashMap<String, String>,
    /// The parent of the next copy, as JSON.
    parent: Vec<u8>,
    /// The entry that records where the copies come from: its id, and its parent.
    origin: Option<(String, Vec<u8>)>,
    lines: Vec<Vec<u8>>,
    /// The old ids with the new ones, in order.
    map: Vec<(String, String)>,
    /// The copied entries, with the ids of their copies.
    pub(crate) copies: Vec<(Ix, String)>,
    /// The index of each in that list.
    copied: HashMap<Ix, usize>,
    /// The entries by their ids, and their ancestry; built when a compaction needs it.
    above: OnceCell<(HashMap<Key, Ix>, Ancestry)>,
    /// How many replies with tokens were copied.
    pub(crate) usage: usize,
}

impl<'c> Copier<'c> {
    pub(crate) fn new(
        from: Snapshot<'c>,
        into: Snapshot<'c>,
        options: &'c Options<'c>,
        ids: &'c mut Ids,
        receiving: &[Ix],
        calls: bool,
    ) -> Result<Copier<'c>, Refusal> {
        let format = into.session.format;
        let mut parent = match options.onto {
            // As it is spelled there: the pi family also accepts numbers as ids.
            Some(onto) => into.raw_id(onto)?,
            None => b"null".to_vec(),
        };
        let taken =
            if calls && format != Format::Claude { tool_ids_on(into, receiving)? } else { HashSet::new() };
        let mut origin = None;
        if options.origin && format != Format::Claude {
            let id = ids.entry(format, into.session.entries.keys());
            origin = Some((id.clone(), std::mem::replace(&mut parent, format.quoted(&id))));
        }
        Ok(Copier {
            from,
            into,
            options,
            ids,
            referred: Referred {
                copied: HashMap::new(),
                receiving: receiving.iter().map(|ix| into.session.entries.key(*ix)).collect(),
            },
            taken,
            unit_ids: HashMap::new(),
            last_ids: HashMap::new(),
            unit: None,
            replies: HashMap::new(),
            parent,
            origin,
            lines: Vec::new(),
            map: Vec::new(),
            copies: Vec::new(),
            copied: HashMap::new(),
            above: OnceCell::new(),
            usage: 0,
        })
    }

    /// Copies an entry, as a part of a unit; returns the reason if that is impossible.
    pub(crate) fn add(&mut self, ix: Ix, unit: usize) -> io::Result<Result<(), Why>> {
        if self.unit != Some(unit) {
            self.unit = Some(unit);
            self.unit_ids.clear();
        }
        let (from, to) = (self.from.session.format, self.into.session.format);
        let mut line = self.from.line(ix)?;
        if translate::differ(from, to) {
            match translate::translate(to, &line, self.options.blob) {
                Ok(Some(translated)) => line = translated,
                Ok(None) => {}
                Err(why) => return Ok(Err(why)),
            }
        }
        let Some(mut edits) = Edits::begin(&line) else { return Ok(Err(Why::Unreadable)) };
        let old = edits.value(from.names().id).and_then(string).unwrap_or_default().into_owned();
        let new = self.ids.entry(to, self.into.session.entries.keys());
        if let Err(why) = self.references(ix, &line, &mut edits, &old, &new)? {
            return Ok(Err(why));
        }
        if self.options.strip_thinking && !strip_thinking(&line, &mut edits) {
            return Ok(Err(Why::OnlyThinking));
        }
        self.tools(&line, &mut edits);
        self.usage(&line, &mut edits);
        let names = to.names();
        edits.set(names.id, &to.quoted(&new));
        edits.set(names.parent, &self.parent.clone());
        edits.set(names.time, &self.time());
        if to == Format::Claude {
            self.claude(&mut edits, &old);
        }
        let made = edits.apply();
        self.parent = to.quoted(&new);
        if !old.is_empty() {
            self.referred.copied.insert(old.clone(), new.clone());
            self.map.push((old, new.clone()));
        }
        self.lines.push(made);
        self.copied.entry(ix).or_insert(self.copies.len());
        self.copies.push((ix, new));
        Ok(Ok(()))
    }

    /// Returns the time of the next copy. Old versions of Claude Code use the newest time, so each
    /// copy is slightly later.
    fn time(&self) -> Vec<u8> {
        let format = self.into.session.format;
        let later = if format == Format::Claude { self.lines.len() as i64 } else { 0 };
        time_of(format, Time(self.options.now.0 + later))
    }

    /// Maps the references of an entry. Returns the reason if a referenced entry is neither copied
    /// nor on the receiving path.
    fn references(
        &mut self,
        ix: Ix,
        line: &[u8],
        edits: &mut Edits<'_>,
        old: &str,
        new: &str,
    ) -> io::Result<Result<(), Why>> {
        let format = self.into.session.format;
        let entries = &self.from.session.entries;
        let text = |key: &str| string_of(line, key);
        if format == Format::Claude {
            return Ok(self.claude_references(edits));
        }
        if entries.kind(ix) == Kind::Compaction {
            let names = format.names();
            let kept = text(names.kept);
            let mapped = match kept.as_deref() {
                Some("") if format == Format::Chimera => None,
                Some("") => match text("providerReplayThroughEntryId") {
                    Some(_) => None,
                    None => return Ok(Err(Why::Kept)),
                },
                Some(kept) if kept == old => Some(new.to_owned()),
                Some(kept) => match self.kept(ix, kept)? {
                    Some(mapped) => Some(mapped),
                    None => return Ok(Err(Why::Kept)),
                },
                None => return Ok(Err(Why::Kept)),
            };
            if let Some(mapped) = mapped {
                edits.set(names.kept, &format.quoted(&mapped));
            }
            if let Some(through) = text("providerReplayThroughEntryId") {
                let Some(mapped) = self.referred.map(&through) else { return Ok(Err(Why::Kept)) };
                edits.set("providerReplayThroughEntryId", &format.quoted(&mapped));
            }
        }
        match entries.ty(ix) {
            "context_edit" => {
                let mapped = text("targetId").and_then(|target| self.referred.map(&target));
                let Some(mapped) = mapped else { return Ok(Err(Why::Target)) };
                edits.set("targetId", &format.quoted(&mapped));
            }
            "branch_summary" => {
                if let Some(mapped) = text("fromId").and_then(|from| self.referred.copied.get(&from).cloned())
                {
                    edits.set("fromId", &format.quoted(&mapped));
                }
            }
            _ => {}
        }
        Ok(Ok(()))
    }

    /// Returns the first entry that a copied compaction keeps: the copy of the old one, or the old
    /// one itself if it is on the receiving path, or, if it was left out, the first later one that
    /// was copied.
    fn kept(&self, compaction: Ix, kept: &str) -> io::Result<Option<String>> {
        if let Some(mapped) = self.referred.map(kept) {
            return Ok(Some(mapped));
        }
        let session = self.from.session;
        let (places, ancestry) = self
            .above
            .get_or_init(|| (session.places(), Ancestry::build(&session.tree, session.entries.len())));
        let is_above = |ix: &Ix| *ix != compaction && ancestry.is_above(*ix, compaction);
        let key = crate::model::Key::hash(kept.as_bytes());
        let mut at = places.get(&key).copied().filter(is_above);
        // Only entries that are never copied may be skipped; otherwise messages would be lost.
        while let Some(ix) = at {
            if let Some(copy) = self.copied.get(&ix) {
                return Ok(Some(self.copies[*copy].1.clone()));
            }
            if !session.entries.flags(ix).has(Flags::BOOKKEEPING) {
                return Ok(None);
            }
            at = session.tree.children(ix).find(is_above);
        }
        Ok(None)
    }

    /// Maps the references in Claude Code's lines.
    fn claude_references(&self, edits: &mut Edits<'_>) -> Result<(), Why> {
        let quoted = |id: &str| Format::Claude.quoted(id);
        for key in ["sourceToolAssistantUUID", "logicalParentUuid"] {
            let Some(id) = edits.value(key).and_then(string).map(|id| id.into_owned()) else { continue };
            match self.referred.map(&id) {
                Some(mapped) => edits.set(key, &quoted(&mapped)),
                None if key == "logicalParentUuid" => edits.set(key, b"null"),
                None => edits.remove(key),
            }
        }
        if let Some(id) = edits.value("refusedUserMessageUuid").and_then(string).map(|id| id.into_owned()) {
            let mapped = self.referred.map(&id).ok_or(Why::Target)?;
            edits.set("refusedUserMessageUuid", &quoted(&mapped));
        }
        if let Some(list) = edits.value("retractedMessageUuids") {
            let mapped: Option<Vec<String>> =
                each_item(list).map(|id| self.referred.map(&string(id)?)).collect();
            let mapped: Vec<Vec<u8>> = mapped.ok_or(Why::Target)?.iter().map(|id| quoted(id)).collect();
            edits.set("retractedMessageUuids", &[b"[", mapped.join(&b","[..]).as_slice(), b"]"].concat());
        }
        if let Some(attachment) = edits.value("attachment") {
            let at = edits.value_range("attachment").expect("it has a value").start;
            for (key, value) in each_member(attachment).filter(|(key, _)| key == "source_uuid") {
                let mapped = string(value).and_then(|id| self.referred.copied.get(&*id));
                if let (true, Some(mapped)) = (key == "source_uuid", mapped) {
                    let place = place_in(attachment, value);
                    edits.replace(at + place.start..at + place.end, &quoted(mapped));
                }
            }
        }
        Ok(())
    }

    /// Sets the fields that only Claude Code's lines have.
    fn claude(&mut self, edits: &mut Edits<'_>, old: &str) {
        if let Some(session) = &self.options.session_id
            && edits.value_range("sessionId").is_some()
        {
            edits.set("sessionId", &Format::Claude.quoted(session));
        }
        if self.options.origin {
            let from = self.from.session.id().unwrap_or_default();
            let value = Object::begin(Format::Claude).text("sessionId", &from).text("messageUuid", old).end();
            edits.set("forkedFrom", &value);
        }
        let (Some(message), Some(at)) = (edits.value("message"), edits.value_range("message")) else {
            return;
        };
        if edits.value("type") != Some(b"\"assistant\"") {
            return;
        }
        let value = member(message, "id").unwrap_or_default();
        if let Some(id) = string(value) {
            let ids = &mut *self.ids;
            let fresh =
                self.replies.entry(id.clone().into_owned()).or_insert_with(|| fresh_like(&id, ids)).clone();
            let place = place_in(message, value);
            edits.replace(at.start + place.start..at.start + place.end, &Format::Claude.quoted(&fresh));
        }
    }

    /// Gives new ids to calls whose ids would otherwise occur twice.
    fn tools(&mut self, line: &[u8], edits: &mut Edits<'_>) {
        let format = self.into.session.format;
        for id in tool_ids(format, line) {
            let always = format == Format::Claude;
            match id.role {
                ToolRole::Call | ToolRole::Served | ToolRole::Result => {
                    if !self.unit_ids.contains_key(&id.id) && (always || self.taken.contains(&id.id)) {
                        let fresh = fresh_like(&id.id, self.ids);
                        self.last_ids.insert(id.id.clone(), fresh.clone());
                        self.unit_ids.insert(id.id.clone(), fresh);
                    } else if !always && id.role == ToolRole::Call {
                        // The first one with this id on the path keeps it, and so do its results.
                        self.unit_ids.entry(id.id.clone()).or_insert_with(|| id.id.clone());
                    }
                    if let Some(fresh) = self.unit_ids.get(&id.id).filter(|fresh| **fresh != id.id) {
                        edits.replace(id.at, &format.quoted(fresh));
                    }
                    self.taken.insert(id.id);
                }
                ToolRole::Mention => {
                    if let Some(fresh) = self.last_ids.get(&id.id) {
                        edits.replace(id.at, &format.quoted(fresh));
                    }
                }
            }
        }
    }

    /// Counts replies with tokens, and sets the tokens to zero if requested.
    fn usage(&mut self, line: &[u8], edits: &mut Edits<'_>) {
        let Some(usage) = crate::json::member_at(line, &["message", "usage"]) else { return };
        let zeroed = zeroed(usage);
        if zeroed == usage {
            return;
        }
        self.usage += 1;
        if self.options.zero_usage {
            edits.replace(place_in(line, usage), &zeroed);
        }
    }

    /// Returns the lines, with the lines before and after them.
    pub(crate) fn finish(self) -> io::Result<Made> {
        let format = self.into.session.format;
        let mut lines = self.lines;
        let mut names: Vec<(String, &'static str)> =
            self.copies.iter().map(|(_, id)| (id.clone(), "a copy")).collect();
        if let Some((id, parent)) = self.origin {
            let from = self.from.session.id().filter(|_| !std::ptr::eq(self.from.session, self.into.session));
            let line = origin_line(format, &id, &parent, self.options.now, from.as_deref(), &self.map);
            lines.insert(0, line);
            names.insert(0, (id, "tells the model where the copies come from"));
        }
        if format == Format::Claude
            && let (Some((_, last)), Some(session)) = (self.copies.last(), &self.options.session_id)
        {
            let mut pin = claude::write::pin(None, Some(&format.quoted(last)), Some(session));
            pin.truncate(pin.trim_ascii_end().len());
            lines.push(pin);
            names.push((String::new(), "moves HEAD to the last copy"));
        }
        let (mut bytes, mut changes) = (Vec::new(), Vec::new());
        for (line, (id, why)) in lines.into_iter().zip(names) {
            bytes.extend_from_slice(&line);
            bytes.push(b'\n');
            changes.push(append_of(&line, id, why));
        }
        Ok(Made { bytes, changes, copies: self.copies })
    }
}

/// Returns the entry that records where copies come from.
fn origin_line(
    format: Format,
    id: &str,
    parent: &[u8],
    now: Time,
    session: Option<&str>,
    map: &[(String, String)],
) -> Vec<u8> {
    let names = format.names();
    let chimera = format == Format::Chimera;
    let map = map.iter().fold(Object::begin(format), |map, (old, new)| map.text(old, new)).end();
    let mut data = Object::begin(format);
    if chimera {
        data = data.text("bough", "cherry-pick");
    }
    if let Some(session) = session {
        data = data.text("session", session);
    }
    let data = data.raw("map", &map).end();
    let mut entry = Object::begin(format).text("type", "custom").text(names.id, id).raw(names.parent, parent);
    entry = entry.raw(names.time, &time_of(format, now));
    if !chimera {
        entry = entry.text("customType", "bough.cherry-pick");
    }
    entry.raw("data", &data).end()
}

/// Returns a time as a format writes it.
fn time_of(format: Format, time: Time) -> Vec<u8> {
    match format {
        Format::Chimera => format!("{:?}", time.0 as f64 / 1000.0).into_bytes(),
        other => other.quoted(&time.iso()),
    }
}

fn append_of(line: &[u8], id: String, why: &str) -> Change {
    Change {
        op: "append",
        id,
        bytes: line.len() as i64 + 1,
        new: String::from_utf8_lossy(line).into_owned(),
        why: why.into(),
        ..Change::default()
    }
}

/// Removes the thinking blocks from a message; returns `false` if nothing would be left.
fn strip_thinking(line: &[u8], edits: &mut Edits<'_>) -> bool {
    let Some(content) = crate::json::member_at(line, &["message", "content"]) else { return true };
    let items: Vec<&[u8]> = each_item(content).collect();
    let thinks = |item: &&[u8]| {
        matches!(
            member(item, "type"),
            Some(b"\"thinking\"" | b"\"redacted_thinking\"" | b"\"redactedThinking\"")
        )
    };
    if !items.iter().any(thinks) {
        return true;
    }
    if items.iter().all(thinks) {
        return false;
    }
    let mut kept = false;
    for (at, item) in items.iter().enumerate() {
        let here = place_in(line, item);
        if !thinks(item) {
            kept = true;
        } else if kept {
            edits.replace(place_in(line, items[at - 1]).end..here.end, b"");
        } else {
            let end = items.get(at + 1).map_or(here.end, |next| place_in(line, next).start);
            edits.replace(here.start..end, b"");
        }
    }
    true
}

/// Returns JSON with every number replaced by zero.
fn zeroed(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut at = 0;
    while at < value.len() {
        match value[at] {
            b'"' => {
                let end = end_of_string(value, at).unwrap_or(value.len());
                out.extend_from_slice(&value[at..end]);
                at = end;
            }
            b'-' | b'0'..=b'9' => {
                let is_number = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                at += value[at..].iter().take_while(|byte| is_number(byte)).count();
                out.push(b'0');
            }
            byte => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

/// Returns a new id of a tool call or a reply that looks like an old one: the prefix stays, and the
/// rest is generated.
fn fresh_like(old: &str, ids: &mut Ids) -> String {
    let part = |old: &str, ids: &mut Ids| {
        let head = old.find(['_', '-']).filter(|at| *at < 12).map_or("", |at| &old[..=at]);
        let wanted = (old.len() - head.len()).clamp(12, 24);
        let mut out = head.to_owned();
        while out.len() < head.len() + wanted {
            out.push_str(&ids.hex((head.len() + wanted - out.len()).min(16)));
        }
        out
    };
    // Some services combine two ids, separated by a bar.
    old.split('|').map(|old| part(old, ids)).collect::<Vec<_>>().join("|")
}
