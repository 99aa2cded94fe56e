//! Repairs of all checks except links and tool calls.

use super::draft::{Draft, json};
use super::{RepairOptions, Round};
use crate::format::claude::write;
use crate::format::{Format, Ids, NoteKind, OtherKind, image};
use crate::fsck::checks::{Original, Same, id_of, kept_lists, own_session, tip};
use crate::fsck::examine::{Examined, ProvedHead};
use crate::fsck::finding::Finding;
use crate::fsck::lines::title_slot;
use crate::fsck::lines::title_slot::{Fitted, fitted};
use crate::fsck::table::Check;
use crate::json::{each_item, member_at, place_in, set_field, string_of};
use crate::model::{Flags, Ix, Key, Kind, Parent, Source, Span, Time};
use std::collections::{HashMap, HashSet};
use std::io;

impl Round<'_> {
    /// Drafts the repairs of all findings that should be repaired.
    pub(in crate::fsck) fn all(
        &self,
        draft: &mut Draft<'_>,
        findings: &[Finding],
        options: &RepairOptions,
        ids: &mut Ids,
    ) -> io::Result<()> {
        let wanted: Vec<&Finding> = findings.iter().filter(|finding| options.wants(finding)).collect();
        self.headers(draft, &wanted, ids)?;
        self.missing_ids(draft, &wanted, ids)?;
        self.repeated_ids(draft, &wanted, ids)?;
        self.links(draft, findings, options)?;
        self.tools(draft, &wanted, options, ids)?;
        let mut lines = Lines::default();
        for finding in wanted {
            match (finding.check, finding.entry) {
                (Check::DanglingLeaf, Some(ix)) => self.remove_entry(draft, ix, finding.check)?,
                (Check::MissingKept, Some(ix)) => self.kept(draft, ix)?,
                (Check::DanglingKept | Check::KeptOffPath, Some(ix)) => {
                    self.first_kept(draft, finding, ix, &mut lines)?
                }
                (Check::ObjectContent, Some(ix)) => {
                    let line = draft.bytes(ix)?;
                    if let Some(content) =
                        member_at(&line, &["message", "content"]).filter(|c| c.starts_with(b"{"))
                    {
                        let list = [b"[", content, b"]"].concat();
                        draft.set(ix, &["message", "content"], &list, finding.check)?;
                    }
                }
                (Check::EmptyContent, Some(ix)) => {
                    draft.set(ix, &["message", "content"], b"\"(empty)\"", finding.check)?;
                }
                (Check::EmptyTextBlock, Some(ix)) => self.empty_text(draft, ix)?,
                (Check::OversizeImage, Some(ix)) => self.image(draft, ix)?,
                (Check::BrokenPair, Some(ix)) => self.remove_entry(draft, ix, finding.check)?,
                (
                    Check::NoMessage
                    | Check::UnreadableField
                    | Check::UnsendableContent
                    | Check::UnsentRole
                    | Check::NamelessCall
                    | Check::MissingUsage,
                    Some(ix),
                ) => self.flaws(draft, ix, finding.check)?,
                (Check::SidechainTrunk, Some(ix)) => self.no_sidechain(draft, ix)?,
                (Check::PointerToSidechain | Check::ExplicitNullPointer | Check::StalePointer, _) => {
                    self.append_pointer(draft, finding.check)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn headers(&self, draft: &mut Draft<'_>, wanted: &[&Finding], ids: &mut Ids) -> io::Result<()> {
        let headers: Vec<_> = self.notes_of(NoteKind::Header).collect();
        let span = |at: usize| Span { file: 0, offset: headers[at].offset, len: headers[at].len };
        if wanted.iter().any(|finding| finding.check == Check::MissingHeader) {
            match headers.first() {
                None => draft.insert_at_top(self.new_header(ids)?, Check::MissingHeader),
                Some(header) => {
                    let id = self.id_in_name().unwrap_or_else(|| ids.uuid());
                    let line = u64::from(header.line);
                    draft.set_at(span(0), line, "", &["id"], &json(Some(&id)), Check::MissingHeader)?;
                }
            }
        }
        if wanted.iter().any(|finding| finding.check == Check::TitleSlot) {
            self.title_slot(draft)?;
        }
        if wanted.iter().any(|finding| finding.check == Check::HeaderNotFirst) && !headers.is_empty() {
            draft.move_to_top(span(0), u64::from(headers[0].line), Check::HeaderNotFirst)?;
        }
        if wanted.iter().any(|finding| finding.check == Check::DuplicateHeader) {
            let first = Original::new(self.source.bytes(span(0))?, self.session.format);
            for (at, header) in headers.iter().enumerate().skip(1) {
                if first.compare(&self.source.bytes(span(at))?) == Same::All {
                    draft.set_aside_at(span(at), u64::from(header.line), "", Check::DuplicateHeader)?;
                }
            }
            // The title slot that belonged to it.
            let slot = self.session.others.first().filter(|other| other.kind == OtherKind::Title);
            let slot = slot.map(|slot| self.source.bytes(slot.span)).transpose()?;
            let slot = slot.map(|slot| Original::new(slot, self.session.format));
            for ix in self.session.entries.all().filter(|ix| self.session.entries.ty(*ix) == "title") {
                let further = self.source.bytes(self.session.span(ix))?;
                if slot.as_ref().is_some_and(|slot| slot.compare(&further) == Same::All) {
                    draft.set_aside(ix, Check::DuplicateHeader)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the id of the session that the file is named after.
    fn id_in_name(&self) -> Option<String> {
        let named = self.around.stem().rsplit('_').next();
        named.filter(|name| uuid::Uuid::try_parse(name).is_ok()).map(str::to_owned)
    }

    /// Writes the fields of the title slot that are missing or wrong; if there is no room for them,
    /// removes the line.
    fn title_slot(&self, draft: &mut Draft<'_>) -> io::Result<()> {
        let Some(slot) = self.session.others.first().filter(|other| other.kind == OtherKind::Title) else {
            return Ok(());
        };
        let header = self.notes_of(NoteKind::Header).next();
        let span = header.map(|header| Span { file: 0, offset: header.offset, len: header.len });
        let header = span.map(|span| self.source.bytes(span)).transpose()?.unwrap_or_default();
        let (line, ending) = (self.source.bytes(slot.span)?, draft.ending_of(slot.span)?);
        let mut fields = Vec::new();
        for field in title_slot::wrong(&line) {
            fields.push((field, value_in_slot(field, &header)));
        }
        let mut whole = line;
        for (field, new) in &fields {
            let Some(next) = set_field(&whole, &[field], new) else { return Ok(()) };
            whole = next;
        }
        let Fitted::Slot(fitted) = fitted(&whole, ending.len().max(1)) else {
            return draft.set_aside_at(slot.span, slot.line, "", Check::TitleSlot);
        };
        for (field, new) in fields {
            draft.set_at(slot.span, slot.line, "", &[field], &new, Check::TitleSlot)?;
        }
        draft.pad_slot(slot.span, &whole, &fitted)
    }

    /// Returns a header with the legible parts of a truncated one, the id in the file's name, and
    /// the time of the first entry.
    fn new_header(&self, ids: &mut Ids) -> io::Result<Vec<u8>> {
        let torn = self.recovery.torn.iter().find(|torn| torn.ty.as_deref() == Some("session"));
        let id = torn.and_then(|torn| torn.id.clone()).or(self.id_in_name());
        let id = id.unwrap_or_else(|| ids.uuid());
        let mut time = torn.and_then(|torn| torn.time.clone());
        if time.is_none() {
            let dated = self.session.entries.all().find(|ix| self.session.entries.time(*ix).is_some());
            if let Some(ix) = dated {
                time = string_of(&self.source.bytes(self.session.span(ix))?, "timestamp");
            }
        }
        let version = match self.session.format {
            Format::PiV2 => "2",
            _ => torn
                .and_then(|torn| torn.version.as_deref())
                .filter(|v| matches!(*v, "2" | "3"))
                .unwrap_or("3"),
        };
        let mut header = format!("{{\"type\":\"session\",\"version\":{version},\"id\":").into_bytes();
        header.extend(json(Some(&id)));
        for (key, text) in [("timestamp", time), ("cwd", torn.and_then(|torn| torn.cwd.clone()))] {
            if let Some(text) = text {
                header.extend(format!(",\"{key}\":").into_bytes());
                header.extend(json(Some(&text)));
            }
        }
        header.push(b'}');
        Ok(header)
    }

    /// Repairs entries without an id.
    fn missing_ids(&self, draft: &mut Draft<'_>, wanted: &[&Finding], ids: &mut Ids) -> io::Result<()> {
        let session = self.session;
        let names = session.format.names();
        let taken = session.entries.keys();
        let without: HashSet<Ix> = wanted
            .iter()
            .filter(|finding| finding.check == Check::MissingId)
            .filter_map(|finding| finding.entry)
            .collect();
        if without.is_empty() {
            return Ok(());
        }
        let numbers: HashSet<Ix> = self.notes_of(NoteKind::NumberId).map(|note| note.entry).collect();
        // Their parent is repaired, too, and the entry right above may have had no usable id.
        let odd: HashSet<Ix> = wanted
            .iter()
            .filter(|finding| finding.check == Check::DanglingParent)
            .filter_map(|finding| finding.entry)
            .filter(|ix| session.tree.link(*ix) == Parent::Root)
            .collect();
        let mut given: Vec<String> = Vec::new();
        let places = if numbers.is_empty() { HashMap::new() } else { session.places() };
        for ix in session.entries.all() {
            if !without.contains(&ix) {
                given.push(String::new());
                continue;
            }
            let next = Ix(ix.0 + 1);
            let lost = self.lost_id(draft, next)?;
            let is_number = numbers.contains(&ix);
            let children: Vec<Ix> = if is_number { session.tree.children(ix).collect() } else { Vec::new() };
            let id = match lost.filter(|_| children.is_empty()) {
                Some(id) => {
                    draft.restored.insert(id.clone());
                    id
                }
                None if is_number => Some(draft.id(ix)?)
                    .filter(|id| !places.contains_key(&Key::hash(id.as_bytes())))
                    .unwrap_or_else(|| ids.entry(session.format, taken)),
                None => ids.entry(session.format, taken),
            };
            draft.set(ix, &[names.id], &json(Some(&id)), Check::MissingId)?;
            let below = (!is_number && odd.contains(&next) && !self.is_above(next, ix)).then_some(next);
            for child in children.into_iter().chain(below) {
                draft.set(child, &[names.parent], &json(Some(&id)), Check::MissingId)?;
            }
            let line = draft.bytes(ix)?;
            if !is_number && id_of(&line, &[names.parent]).is_none() {
                let before = match ix.0.checked_sub(1).map(Ix) {
                    Some(before) if given[before.index()].is_empty() => draft.link_to(before)?,
                    Some(before) => Some(json(Some(&given[before.index()]))),
                    None => None,
                };
                // Not below itself, if lines are out of order.
                let rings = draft.restored.contains(&id)
                    && ix.0.checked_sub(1).is_some_and(|before| self.is_above(next, Ix(before)));
                let before = before.filter(|_| !rings).unwrap_or_else(|| json(None));
                draft.set(ix, &[names.parent], &before, Check::MissingId)?;
            }
            // Version 1 counts the header as 0; the first kept entry must be above.
            let index = member_at(&line, &["firstKeptEntryIndex"])
                .and_then(|raw| std::str::from_utf8(raw).ok()?.parse::<usize>().ok());
            if let Some(index) = index.filter(|index| (1..=given.len()).contains(index))
                && member_at(&line, &[names.kept]).is_none()
            {
                let kept = given[index - 1].clone();
                if !kept.is_empty() {
                    draft.set(ix, &[names.kept], &json(Some(&kept)), Check::MissingId)?;
                }
            }
            given.push(id);
        }
        Ok(())
    }

    /// Returns the id that an entry lost: if the next one names a parent that does not exist, it is
    /// that.
    fn lost_id(&self, draft: &mut Draft<'_>, next: Ix) -> io::Result<Option<String>> {
        let session = self.session;
        let names = session.format.names();
        Ok((next.index() < session.entries.len() && session.tree.link(next) == Parent::Missing)
            .then(|| draft.bytes(next))
            .transpose()?
            .and_then(|line| string_of(&line, names.parent))
            .filter(|id| !id.is_empty() && !draft.restored.contains(id))
            .filter(|id| !self.recovery.deep.contains(&Key::hash(id.as_bytes()))))
    }

    /// Repairs entries with the id of another.
    fn repeated_ids(&self, draft: &mut Draft<'_>, wanted: &[&Finding], ids: &mut Ids) -> io::Result<()> {
        let session = self.session;
        let names = session.format.names();
        let taken = session.entries.keys();
        let mut copies: Vec<(Ix, Ix, Check)> = wanted
            .iter()
            .filter(|finding| matches!(finding.check, Check::DuplicateId | Check::DuplicateEntry))
            .filter_map(|finding| Some((finding.other?, finding.entry?, finding.check)))
            .collect();
        copies.sort_unstable();
        let mut original: Option<(Ix, Original)> = None;
        for (first, ix, check) in copies {
            if check == Check::DuplicateEntry {
                draft.set_aside(ix, check)?;
                continue;
            }
            if original.as_ref().is_none_or(|(of, _)| *of != first) {
                original =
                    Some((first, Original::new(self.source.bytes(session.span(first))?, session.format)));
            }
            let copy = self.source.bytes(session.span(ix))?;
            let same = original.as_ref().map_or(Same::Nothing, |(_, original)| original.compare(&copy));
            match same {
                Same::All | Same::Message => draft.set_aside(ix, check)?,
                Same::Nothing => {
                    let id = ids.entry(session.format, taken);
                    draft.set(ix, &[names.id], &json(Some(&id)), check)?;
                }
            }
        }
        Ok(())
    }

    /// Removes an entry, and makes its children those of its parent.
    pub(in crate::fsck) fn remove_entry(
        &self,
        draft: &mut Draft<'_>,
        ix: Ix,
        check: Check,
    ) -> io::Result<()> {
        if draft.is_gone(ix) {
            return Ok(());
        }
        let names = self.session.format.names();
        let line = draft.bytes(ix)?;
        let parent = member_at(&line, &[names.parent]).unwrap_or(b"null").to_vec();
        let children: Vec<Ix> = self.session.tree.children(ix).collect();
        for child in children {
            draft.set(child, &[names.parent], &parent, check)?;
        }
        draft.set_aside(ix, check)
    }

    /// Removes ids that do not exist from the lists of a boundary.
    fn kept(&self, draft: &mut Draft<'_>, ix: Ix) -> io::Result<()> {
        let line = draft.bytes(ix)?;
        let Some(kept) = kept_lists(&line) else { return Ok(()) };
        let keys: HashSet<Key> =
            self.session.entries.keys().iter().chain(&self.recovery.deep).copied().collect();
        let is_there = |id: &String| keys.contains(&Key::hash(id.as_bytes()));
        let left: Vec<&String> = kept.uuids.iter().filter(|id| is_there(id)).collect();
        let list = |ids: &[&String]| {
            let ids: Vec<Vec<u8>> = ids.iter().map(|id| json(Some(id))).collect();
            [b"[", &ids.join(&b","[..])[..], b"]"].concat()
        };
        let path = |way: [&'static str; 2]| ["compactMetadata", way[0], way[1]];
        let check = Check::MissingKept;
        draft.set(ix, &path(["preservedMessages", "uuids"]), &list(&left), check)?;
        if let Some(all) = member_at(&line, &path(["preservedMessages", "allUuids"])) {
            let all: Vec<String> =
                each_item(all).filter_map(crate::json::string).map(|id| id.into_owned()).collect();
            let all: Vec<&String> = all.iter().filter(|id| is_there(id)).collect();
            draft.set(ix, &path(["preservedMessages", "allUuids"]), &list(&all), check)?;
        }
        if member_at(&line, &["compactMetadata", "preservedSegment"]).is_some()
            && let (Some(head), Some(tail)) = (left.first(), left.last())
        {
            draft.set(ix, &path(["preservedSegment", "headUuid"]), &json(Some(head)), check)?;
            draft.set(ix, &path(["preservedSegment", "tailUuid"]), &json(Some(tail)), check)?;
        }
        Ok(())
    }

    /// Names an entry on the path as the first that a compaction keeps.
    fn first_kept(
        &self,
        draft: &mut Draft<'_>,
        finding: &Finding,
        ix: Ix,
        lines: &mut Lines,
    ) -> io::Result<()> {
        let next = finding
            .other
            .and_then(|other| self.nearest_on_branch(ix, other, lines))
            .filter(|next| *next != ix);
        // The kept part begins with a prompt: anywhere else, it could contain results without their
        // calls.
        let is_kind = |ix: &Ix, kind| self.session.entries.kind(*ix) == kind;
        let prompt = match next.filter(|next| is_kind(next, Kind::User)) {
            Some(next) => Some(next),
            None => self.prompt_above(next.unwrap_or(ix), lines),
        };
        let kept = prompt.or(next.filter(|next| !is_kind(next, Kind::Tool)));
        if let Some(kept) = kept {
            let id = draft.link_to(kept)?.unwrap_or_else(|| json(None));
            draft.set(ix, &[self.session.format.names().kept], &id, finding.check)?;
        }
        Ok(())
    }

    /// Returns the entry on this branch that is closest to an entry on another: the first on the
    /// path to `ix` that is not on that to `other`. If that is `ix` itself, returns the last one
    /// that both share.
    fn nearest_on_branch(&self, ix: Ix, other: Ix, lines: &mut Lines) -> Option<Ix> {
        if lines.other != Some(other) {
            lines.other = Some(other);
            lines.towards.clear();
        }
        let mut way = Vec::new();
        let mut at = ix;
        let next = loop {
            if let Some(known) = lines.towards.get(&at) {
                break *known;
            }
            match self.session.tree.parent(at) {
                None => break None,
                Some(above) if self.is_above(above, other) => break Some(at),
                Some(above) => {
                    way.push(at);
                    at = above;
                }
            }
        };
        lines.towards.extend(way.into_iter().map(|on| (on, next)));
        next.map(|next| if next == ix { self.session.tree.parent(ix).unwrap_or(ix) } else { next })
    }

    /// Returns the nearest prompt above an entry.
    fn prompt_above(&self, ix: Ix, lines: &mut Lines) -> Option<Ix> {
        let mut way = vec![ix];
        let mut at = self.session.tree.parent(ix);
        let prompt = loop {
            match at {
                None => break None,
                Some(ix) if self.session.entries.kind(ix) == Kind::User => break Some(ix),
                Some(ix) => match lines.prompts.get(&ix) {
                    Some(known) => break *known,
                    None => {
                        way.push(ix);
                        at = self.session.tree.parent(ix);
                    }
                },
            }
        };
        lines.prompts.extend(way.into_iter().map(|on| (on, prompt)));
        prompt
    }

    /// Removes empty text blocks; the only block of a message gets a text instead.
    fn empty_text(&self, draft: &mut Draft<'_>, ix: Ix) -> io::Result<()> {
        let line = draft.bytes(ix)?;
        let Some(content) = member_at(&line, &["message", "content"]) else { return Ok(()) };
        let is_empty = |block: &&[u8]| {
            member_at(block, &["type"]) == Some(b"\"text\"") && member_at(block, &["text"]) == Some(b"\"\"")
        };
        let blocks: Vec<&[u8]> = each_item(content).collect();
        let left: Vec<&[u8]> = blocks.iter().copied().filter(|block| !is_empty(block)).collect();
        if left.len() == blocks.len() {
            return Ok(());
        }
        let only;
        let left = match (&left[..], blocks.first()) {
            ([], Some(first)) => {
                only = set_field(first, &["text"], b"\"(empty)\"").unwrap_or_default();
                vec![&only[..]]
            }
            _ => left,
        };
        let list = [b"[", &left.join(&b","[..])[..], b"]"].concat();
        draft.set(ix, &["message", "content"], &list, Check::EmptyTextBlock)
    }

    /// Replaces each image that is too large with a note.
    fn image(&self, draft: &mut Draft<'_>, ix: Ix) -> io::Result<()> {
        let line = draft.bytes(ix)?;
        let Some(content) = member_at(&line, &["message", "content"]) else { return Ok(()) };
        let new = without_wide_images(content);
        draft.set(ix, &["message", "content"], &new, Check::OversizeImage)
    }

    /// Removes the sidechain mark of an entry and its descendants, except those of subagents.
    fn no_sidechain(&self, draft: &mut Draft<'_>, ix: Ix) -> io::Result<()> {
        for ix in self.session.tree.subtree(ix) {
            let line = draft.bytes(ix)?;
            if self.session.entries.flags(ix).has(Flags::SIDECHAIN)
                && member_at(&line, &["isSidechain"]) == Some(b"true")
                && member_at(&line, &["agentId"]).is_none()
            {
                draft.set(ix, &["isSidechain"], b"false", Check::SidechainTrunk)?;
            }
        }
        Ok(())
    }

    /// Appends a pointer to the end of the conversation.
    fn append_pointer(&self, draft: &mut Draft<'_>, check: Check) -> io::Result<()> {
        let Some(tip) = tip(self.session) else { return Ok(()) };
        let Some(id) = draft.link_to(tip)? else { return Ok(()) };
        let line = pointer(self.session, self.around.stem(), &id, false);
        draft.append(line, check);
        Ok(())
    }
}

/// Results of walking up from compactions, so that no entry is visited twice.
#[derive(Default)]
struct Lines {
    /// The nearest prompt above each entry.
    prompts: HashMap<Ix, Option<Ix>>,
    /// The entry whose branch was asked about last, and for other entries where their path leaves
    /// its path.
    other: Option<Ix>,
    towards: HashMap<Ix, Option<Ix>>,
}

/// Returns a pointer of Claude Code to an entry, without its line ending. `id` is JSON.
fn pointer(session: &crate::format::Session, stem: &str, id: &[u8], pin: bool) -> Vec<u8> {
    let own = own_session(session, stem).map(|own| session.entries.sessions()[own].as_str());
    let mut line = write::pointer(None, Some(id), pin, own);
    line.pop();
    line
}

/// Returns the value that a field of the title's line gets, from the header of the session.
fn value_in_slot(field: &str, header: &[u8]) -> Vec<u8> {
    let in_header = |field| string_of(header, field);
    match field {
        "v" => b"1".to_vec(),
        "title" => json(Some(&in_header("title").unwrap_or_default())),
        "source" => json(Some("user")),
        "updatedAt" => json(Some(&in_header("timestamp").unwrap_or_else(|| Time(0).iso()))),
        _ => json(Some("")),
    }
}

/// The maximum number of entries above a missing HEAD that are looked up; each costs a pass over
/// the ids.
const MOST_LOOKED_UP: usize = 1000;

/// The maximum number of entries above HEAD that may be below it after a repair.
const MOST_RISEN: usize = 64;

/// Moves HEAD back to where it was before a repair.
pub(in crate::fsck) fn return_to(
    draft: &mut Draft<'_>,
    examined: &Examined,
    aim: ProvedHead,
    ids: &mut Ids,
    now: Option<Time>,
    why: Check,
) -> io::Result<()> {
    let before = &examined.session;
    let Some(head) = aim.head else { return Ok(()) };
    // If that entry was removed, to the nearest ancestor that is left. If an ancestor is now below
    // it, to the lowest one.
    let left = |ix: Ix| {
        Some(before.entries.key(ix)).filter(|key| key.is_some()).and_then(|key| draft.session.find(key))
    };
    let mut places = before.tree.ancestors(head).take(MOST_LOOKED_UP).filter_map(left);
    let Some(first) = places.next() else { return Ok(()) };
    let depth = |ix: &Ix| draft.session.tree.ancestors(*ix).count();
    let lower = places.take(MOST_RISEN).max_by_key(depth).filter(|lower| depth(lower) > depth(&first));
    let head = lower.unwrap_or(first);
    let Some(id) = draft.link_to(head)? else { return Ok(()) };
    let line = match draft.session.format {
        Format::Claude => Some(pointer(draft.session, "", &id, true)),
        format => {
            let fresh = ids.entry(format, draft.session.entries.keys());
            let new = crate::format::New { id: &fresh, parent: Some(&id), now: now.unwrap_or(Time(0)) };
            let mut line = format.dialect().marker(&new, None, Some(&id));
            // The draft adds line endings.
            line.as_mut().map(Vec::pop);
            line
        }
    };
    // HEAD would otherwise be an entry on a damaged line.
    let line_check = examined.recovery.findings.first().map(|finding| finding.check);
    let why = if aim.stood { line_check.unwrap_or(Check::SplicedLine) } else { why };
    line.into_iter().for_each(|line| draft.append(line, why));
    Ok(())
}

/// Returns a list of blocks in which each image that is too large is replaced with a note.
fn without_wide_images(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len().min(1 << 20));
    let mut from = 0;
    for block in each_item(content) {
        let at = place_in(content, block);
        let new = match member_at(block, &["type"]) {
            Some(b"\"image\"") if image::inspect(block).oversize > 0 => {
                let data =
                    member_at(block, &["source", "data"]).or(member_at(block, &["data"])).unwrap_or_default();
                let size = match image::pixels(data.strip_prefix(b"\"").unwrap_or(data)) {
                    Some((wide, high)) => format!("{wide} × {high} pixels"),
                    None => format!("{} bytes of base64", data.len()),
                };
                let note = format!("[A picture of {size} was taken out: it is larger than providers take.]");
                [b"{\"type\":\"text\",\"text\":", &json(Some(&note))[..], b"}"].concat()
            }
            Some(b"\"tool_result\"") => match member_at(block, &["content"]) {
                Some(inner) if image::inspect(inner).oversize > 0 => {
                    set_field(block, &["content"], &without_wide_images(inner))
                        .unwrap_or_else(|| block.to_vec())
                }
                _ => continue,
            },
            _ => continue,
        };
        out.extend_from_slice(&content[from..at.start]);
        out.extend_from_slice(&new);
        from = at.end;
    }
    out.extend_from_slice(&content[from..]);
    out
}
