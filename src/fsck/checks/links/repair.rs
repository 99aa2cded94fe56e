//! Repairs of lost links: the new parent of an entry whose parent is missing.

use super::forest::DisjointSets;
use crate::format::{Format, Note, NoteKind, Session};
use crate::fsck::checks::{id_of, kept_lists};
use crate::fsck::finding::Finding;
use crate::fsck::lines::recover::{Above, Recovery, Torn};
use crate::fsck::repair::draft::{Draft, json};
use crate::fsck::repair::{RepairOptions, Round};
use crate::fsck::table::Check;
use crate::json::{member_at, string_of};
use crate::model::{Flags, Ix, Key, Kind, Source, Span};
use std::collections::{HashMap, HashSet};
use std::io;

/// The properties that an entry must share with its new parent: the session, and whether it is on a
/// sidechain.
type Strand = (Option<usize>, bool);

/// Entries that can be parents, in file order.
#[derive(Default)]
struct Candidates {
    of_side: [Vec<Ix>; 2],
    of_strand: HashMap<Strand, Vec<Ix>>,
}

/// The new place of an orphan.
#[derive(Clone, Copy)]
enum Place {
    Under(Ix),
    /// It has no parent.
    Root,
}

/// The maximum number of entries above an orphan that are tried as its parent.
const MOST_TRIED: usize = 20_000;

/// Returns the findings about links that are repaired, in the order of the file.
fn wanted_links<'f>(findings: &'f [Finding], options: &RepairOptions) -> Vec<&'f Finding> {
    let mut links: Vec<&Finding> = findings
        .iter()
        .filter(|finding| {
            matches!(
                finding.check,
                Check::DanglingParent
                    | Check::ParentCycle
                    | Check::IdCase
                    | Check::UnknownTypeLink
                    | Check::UnexpectedRoot
            ) && options.wants(finding)
        })
        .collect();
    links.sort_by_key(|finding| finding.entry);
    links
}

impl Round<'_> {
    /// Repairs all links at once, in the order of the file, so that they do not form cycles
    /// together.
    pub(crate) fn links(
        &self,
        draft: &mut Draft<'_>,
        findings: &[Finding],
        options: &RepairOptions,
    ) -> io::Result<()> {
        let links = wanted_links(findings, options);
        if links.is_empty() {
            return Ok(());
        }
        let session = self.session;
        let mut forest = DisjointSets::build(session);
        let candidates = self.candidates();
        let has_branches = session.tree.branch_points().next().is_some();
        let evidence = Evidence::gather(self, &links)?;
        let mut strays = HashMap::new();
        let names = self.names(&links)?;
        let torn = TornLines::new(self.recovery);
        let stray: HashMap<Key, &Note> =
            self.notes_of(NoteKind::StrayId).map(|note| (note.key, note)).collect();
        // The turn right above an entry, if that turn lost its id.
        let mut turns = self.turns_without_id();
        // The places of the children of one missing parent. They may be on several strands, and no
        // strand is attached to another.
        let mut given: HashMap<(String, Strand), Place> = HashMap::new();
        for finding in links {
            let Some(ix) = finding.entry else { continue };
            let line = self.source.bytes(session.span(ix))?;
            let named = member_at(&line, &[session.format.names().parent]).unwrap_or(b"null");
            let parent = id_of(&line, &[session.format.names().parent]).unwrap_or_default();
            let check = finding.check;
            let mut place = None;
            match check {
                Check::IdCase => place = finding.other.map(Place::Under),
                Check::UnknownTypeLink => {
                    let above = self.above_strays(&parent, &stray, &mut strays)?;
                    let above = above.and_then(|id| names.get(&Key::hash(id.as_bytes())).copied().flatten());
                    place = above.map(Place::Under);
                }
                Check::DanglingParent => {
                    if draft.restored.contains(&parent) {
                        continue;
                    }
                    if parent.is_empty()
                        && let Some(before) = ix.0.checked_sub(1).map(Ix)
                        && id_of(&draft.bytes(ix)?, &[session.format.names().parent]).is_some()
                        && forest.attach(ix, before)
                    {
                        // It became a child of the entry right above it, when that got its id.
                        continue;
                    }
                    place = evidence.of_reply(session, ix).or_else(|| evidence.after_kept(self, ix, &parent));
                    // The boundary's own link is stronger evidence than the places of its siblings.
                    place = place.or_else(|| self.logical_parent(ix, &line, &names));
                    if place.is_none() && !parent.is_empty() {
                        place = given.get(&(parent.clone(), self.strand(ix))).copied();
                    }
                    if place.is_none() && options.strategy(check) == Some("root") {
                        place = Some(Place::Root);
                    }
                    if place.is_none()
                        && let Some(turn) = turns.remove(&ix)
                        && self.is_of_strand(turn, ix)?
                    {
                        let span = Span { file: turn.file, offset: turn.offset, len: turn.len };
                        draft.set_at(span, u64::from(turn.line), &parent, &["uuid"], named, check)?;
                        draft.restored.insert(parent);
                        continue;
                    }
                    if place.is_none()
                        && let Some(before) = self.with_empty_id(ix).filter(|_| !parent.is_empty())
                    {
                        draft.set(before, &[session.format.names().id], named, check)?;
                        draft.restored.insert(parent);
                        continue;
                    }
                    if place.is_none() {
                        place = self.evidence(ix, &parent, &names, &torn)?;
                    }
                    place = place.or_else(|| evidence.of_prompt(ix));
                }
                _ => {}
            }
            let place = place.filter(|place| match place {
                Place::Under(to) => forest.attach(ix, *to),
                Place::Root => true,
            });
            // Without branches, the place above is the only one.
            let is_unknown = place.is_none() && check == Check::DanglingParent && has_branches;
            let place = place.unwrap_or_else(|| match self.nearest(ix, &candidates, &mut forest) {
                Some(to) => {
                    forest.attach(ix, to);
                    Place::Under(to)
                }
                None => Place::Root,
            });
            if check == Check::DanglingParent && !parent.is_empty() {
                given.entry((parent, self.strand(ix))).or_insert(place);
            }
            let id = match place {
                Place::Under(to) => draft.link_to(to)?,
                Place::Root if check == Check::UnexpectedRoot => continue,
                Place::Root => None,
            };
            let is_guess = is_unknown && matches!(place, Place::Under(_));
            let before = draft.changes.len();
            draft.set(ix, &[session.format.names().parent], &id.unwrap_or_else(|| json(None)), check)?;
            draft.changes[before..].iter_mut().for_each(|change| change.is_guess = is_guess);
        }
        Ok(())
    }

    /// Returns the turns without an id, by the entry right below each.
    fn turns_without_id(&self) -> HashMap<Ix, &Note> {
        self.notes_of(NoteKind::TurnWithoutId)
            .map(|note| match self.session.entries.on_line(note.file, u64::from(note.line)) {
                // It is an entry itself, and the next one becomes its child.
                Some(turn) => (Ix(turn.0 + 1), note),
                None => (note.entry, note),
            })
            .collect()
    }

    /// Returns the nearest earlier entry of the file that can be a parent and is not a descendant
    /// of the entry.
    fn nearest<'c>(&self, ix: Ix, candidates: &'c Candidates, forest: &mut DisjointSets) -> Option<Ix> {
        let (session, side) = self.strand(ix);
        let before = |list: &'c [Ix]| list[..list.partition_point(|to| *to < ix)].iter().rev().copied();
        let of_strand = |session| candidates.of_strand.get(&(session, side)).map_or(&[][..], |list| list);
        // An entry that names no session may belong to any.
        let (own, without) = match session {
            Some(_) => (of_strand(session), of_strand(None)),
            None => (&candidates.of_side[usize::from(side)][..], &[][..]),
        };
        let (mut own, mut without) = (before(own).peekable(), before(without).peekable());
        let mut both = std::iter::from_fn(|| match own.peek() > without.peek() {
            true => own.next(),
            false => without.next(),
        });
        both.by_ref().take(MOST_TRIED).find(|to| !forest.together(*to, ix))
    }

    /// Returns the entries that can be parents, by the strand that they can be parents of.
    fn candidates(&self) -> Candidates {
        let mut out = Candidates::default();
        let has_sessions = !self.session.entries.sessions().is_empty();
        for ix in self.session.tree.entries_in_tree().filter(|ix| self.can_be_parent(*ix)) {
            let strand = self.strand(ix);
            out.of_side[usize::from(strand.1)].push(ix);
            if has_sessions {
                out.of_strand.entry(strand).or_default().push(ix);
            }
        }
        out
    }

    fn strand(&self, ix: Ix) -> Strand {
        let entries = &self.session.entries;
        (entries.session_at(ix), entries.flags(ix).has(Flags::SIDECHAIN))
    }

    /// Returns whether two entries may be on one strand. One that names no session may belong to
    /// any.
    fn may_be_of_one_strand(&self, ix: Ix, other: Ix) -> bool {
        let ((session, side), (other_session, other_side)) = (self.strand(ix), self.strand(other));
        side == other_side && (session == other_session || session.is_none() || other_session.is_none())
    }

    /// Returns the entry right above an orphan, if its id is empty: only Chimera reads such a line,
    /// and it has no children.
    fn with_empty_id(&self, ix: Ix) -> Option<Ix> {
        let before = ix.0.checked_sub(1).map(Ix)?;
        (self.session.entries.key(before) == Key::hash(b"")).then_some(before)
    }

    /// Returns whether a line without an id belongs to the strand of an entry.
    fn is_of_strand(&self, note: &Note, ix: Ix) -> io::Result<bool> {
        let bytes = self.source.bytes(Span { file: note.file, offset: note.offset, len: note.len })?;
        let (session, side) = self.strand(ix);
        let session = session.map(|session| &self.session.entries.sessions()[session]);
        Ok(string_of(&bytes, "sessionId").as_ref() == session
            && (member_at(&bytes, &["isSidechain"]) == Some(b"true")) == side)
    }

    fn can_be_parent(&self, ix: Ix) -> bool {
        let entries = &self.session.entries;
        if entries.key(ix) == Key::NONE || entries.key(ix) == Key::hash(b"") {
            return false;
        }
        match self.session.format {
            Format::Claude => matches!(
                entries.kind(ix),
                Kind::User | Kind::Assistant | Kind::Tool | Kind::System | Kind::Compaction
            ),
            _ => matches!(entries.ty(ix), "message" | "compaction" | "branch_summary" | "custom_message"),
        }
    }

    /// Returns entries by all the ids that may show where an orphan belongs.
    fn names(&self, links: &[&Finding]) -> io::Result<HashMap<Key, Option<Ix>>> {
        let mut wanted: HashMap<Key, Option<Ix>> = HashMap::new();
        let mut want = |id: &str| {
            if !id.is_empty() {
                wanted.insert(Key::hash(id.as_bytes()), None);
            }
        };
        for torn in &self.recovery.torn {
            torn.above.id().into_iter().for_each(&mut want);
        }
        for note in self.notes_of(NoteKind::StrayId) {
            let bytes = self.source.bytes(Span { file: note.file, offset: note.offset, len: note.len })?;
            string_of(&bytes, "parentUuid").iter().for_each(|id| want(id));
        }
        for finding in links {
            let Some(ix) = finding.entry.filter(|_| self.session.format == Format::Claude) else { continue };
            let line = self.source.bytes(self.session.span(ix))?;
            string_of(&line, "logicalParentUuid").iter().for_each(|id| want(id));
        }
        for ix in self.session.tree.entries_in_tree() {
            if let Some(found) = wanted.get_mut(&self.session.entries.key(ix)) {
                found.get_or_insert(ix);
            }
        }
        Ok(wanted)
    }

    /// Returns the place below the entry with an id, if an orphan may belong there.
    fn named(&self, ix: Ix, id: &str, names: &HashMap<Key, Option<Ix>>) -> Option<Place> {
        let side = |ix: Ix| self.session.entries.flags(ix).has(Flags::SIDECHAIN);
        let found = names.get(&Key::hash(id.as_bytes())).copied().flatten();
        found.filter(|to| *to != ix && side(*to) == side(ix)).map(Place::Under)
    }

    /// Returns where the boundary of a compaction says that it belongs.
    fn logical_parent(&self, ix: Ix, line: &[u8], names: &HashMap<Key, Option<Ix>>) -> Option<Place> {
        let id = string_of(line, "logicalParentUuid").filter(|_| self.session.format == Format::Claude)?;
        self.named(ix, &id, names)
    }

    /// Returns where an orphan belongs according to truncated lines.
    fn evidence(
        &self,
        ix: Ix,
        parent: &str,
        names: &HashMap<Key, Option<Ix>>,
        torn: &TornLines<'_>,
    ) -> io::Result<Option<Place>> {
        let entries = &self.session.entries;
        let side = entries.flags(ix).has(Flags::SIDECHAIN);
        let find = |id: &str| self.named(ix, id, names);
        // Truncated lines that contain both ids lead upward, one after the other.
        let mut at = parent;
        for _ in 0..torn.by_id.len().min(1000) {
            let Some(lost) = torn.by_id.get(at) else { break };
            match &lost.above {
                Above::Root => return Ok(Some(Place::Root)),
                Above::Id(above) => {
                    if let Some(found) = find(above) {
                        return Ok(Some(found));
                    }
                    at = above;
                }
                Above::Unseen => break,
            }
        }
        // A truncated line right above that contains a parent but no id is the lost one.
        let own = self.origin_line(ix);
        let before = (0..ix.0).rev().take(1000).map(Ix).find(|ix| self.session.tree.is_in_tree(*ix));
        let before = before.map_or(0, |before| self.origin_line(before));
        let at = torn.by_line.partition_point(|torn| torn.line < own);
        let lost = at.checked_sub(1).map(|at| torn.by_line[at]).filter(|torn| torn.line > before);
        let session = entries.session_at(ix).map(|session| &entries.sessions()[session]);
        let lost = lost.filter(|torn| {
            torn.id.is_none()
                && torn.side.is_none_or(|of_side| of_side == side)
                && torn.session.as_ref().is_none_or(|of| Some(of) == session)
        });
        Ok(lost.and_then(|torn| match &torn.above {
            Above::Root => Some(Place::Root),
            // Into another session only if the line certainly belonged to this one.
            Above::Id(above) => find(above).filter(|place| match place {
                Place::Under(to) => torn.session.is_some() || self.strand(*to) == self.strand(ix),
                Place::Root => true,
            }),
            Above::Unseen => None,
        }))
    }

    fn origin_line(&self, ix: Ix) -> u64 {
        self.source.text.origin(self.session.entries.line(ix), self.session.span(ix).offset).line
    }

    /// Returns the parent of a line that is not in the tree, or of the next such line above it.
    /// `known` contains earlier results.
    fn above_strays(
        &self,
        id: &str,
        stray: &HashMap<Key, &Note>,
        known: &mut HashMap<Key, Option<String>>,
    ) -> io::Result<Option<String>> {
        let mut at = Some(id.to_owned());
        let mut way = Vec::new();
        while let Some(id) = &at {
            let key = Key::hash(id.as_bytes());
            if let Some(above) = known.get(&key) {
                at = above.clone();
                break;
            }
            let Some(note) = stray.get(&key) else { break };
            // A preliminary value, because such lines may form a cycle.
            known.insert(key, None);
            way.push(key);
            let bytes = self.source.bytes(Span { file: note.file, offset: note.offset, len: note.len })?;
            at = string_of(&bytes, "parentUuid");
        }
        known.extend(way.into_iter().map(|key| (key, at.clone())));
        Ok(at)
    }

    pub(crate) fn notes_of(&self, kind: NoteKind) -> impl Iterator<Item = &Note> {
        self.session.side.iter().flat_map(|side| &side.notes).filter(move |note| note.kind == kind)
    }
}

/// Evidence in orphans of Claude Code of where they belong.
#[derive(Default)]
struct Evidence {
    /// For an orphan, the entry of its call, or an earlier part of its reply.
    own: HashMap<Ix, Ix>,
    /// For an orphan, the last entry before it that belongs to its prompt: the weakest evidence,
    /// but better than the nearest entry.
    of_prompt: HashMap<Ix, Ix>,
    /// The last message that a compaction kept, by the id of its summary: an entry that names the
    /// summary as its parent comes after that message.
    kept: HashMap<Key, Ix>,
}

impl Evidence {
    fn gather(round: &Round<'_>, links: &[&Finding]) -> io::Result<Evidence> {
        let session = round.session;
        let mut evidence = Evidence::default();
        let orphans: Vec<Ix> = links
            .iter()
            .filter(|finding| finding.check == Check::DanglingParent)
            .filter_map(|finding| finding.entry)
            .collect();
        if session.format != Format::Claude || orphans.is_empty() {
            return Ok(evidence);
        }
        evidence.find_kept(round)?;
        evidence.find_calls(round, &orphans)?;
        evidence.find_parts(round, &orphans);
        evidence.find_prompts(round, &orphans)?;
        Ok(evidence)
    }

    /// Records the last kept message of each compaction with lists, if it is in the file.
    fn find_kept(&mut self, round: &Round<'_>) -> io::Result<()> {
        let session = round.session;
        let mut last: Vec<(Key, Key)> = Vec::new();
        let compactions =
            session.tree.entries_in_tree().filter(|ix| session.entries.kind(*ix) == Kind::Compaction);
        for ix in compactions {
            let Some(kept) = kept_lists(&round.source.bytes(session.span(ix))?) else { continue };
            let tail = kept.uuids.last().or(kept.ends.last());
            if let (Some(anchor), Some(tail)) = (kept.anchor, tail) {
                last.push((Key::hash(anchor.as_bytes()), Key::hash(tail.as_bytes())));
            }
        }
        let found = session.tree.find_all(&session.entries, last.iter().map(|(_, tail)| *tail));
        for (anchor, tail) in last {
            if let Some(tail) = found.entry(tail) {
                self.kept.insert(anchor, tail);
            }
        }
        Ok(())
    }

    /// Records the calls of orphans that are results: by the entry that they name, or else by the
    /// id of the call.
    fn find_calls(&mut self, round: &Round<'_>, orphans: &[Ix]) -> io::Result<()> {
        let session = round.session;
        let results: Vec<Ix> =
            orphans.iter().copied().filter(|ix| session.entries.flags(*ix).has(Flags::RESULT)).collect();
        let mut named: Vec<(Ix, Key)> = Vec::new();
        for ix in &results {
            let line = round.source.bytes(session.span(*ix))?;
            if let Some(id) = string_of(&line, "sourceToolAssistantUUID") {
                named.push((*ix, Key::hash(id.as_bytes())));
            }
        }
        let found = session.tree.find_all(&session.entries, named.iter().map(|(_, key)| *key));
        for (ix, key) in named {
            let is_of_side = |call: &Ix| *call != ix && round.strand(*call).1 == round.strand(ix).1;
            if let Some(call) = found.entry(key).filter(is_of_side) {
                self.own.insert(ix, call);
            }
        }
        let Some(side) = &session.side else { return Ok(()) };
        // The last call of each id before the result.
        let wanted: HashSet<Ix> = results.into_iter().filter(|ix| !self.own.contains_key(ix)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let mut calls: HashMap<Key, Ix> = HashMap::new();
        for tool in side.tools.iter().filter(|tool| session.tree.is_in_tree(tool.entry)) {
            if !tool.result {
                calls.insert(tool.id, tool.entry);
            } else if wanted.contains(&tool.entry)
                && let Some(call) = calls.get(&tool.id)
            {
                self.add(round, tool.entry, *call);
            }
        }
        Ok(())
    }

    /// Records the previous part in the file of each orphan that is part of a reply.
    fn find_parts(&mut self, round: &Round<'_>, orphans: &[Ix]) {
        let entries = &round.session.entries;
        let mut before: HashMap<Key, Option<Ix>> = orphans
            .iter()
            .map(|ix| entries.group(*ix))
            .filter(|group| group.is_some())
            .map(|group| (group, None))
            .collect();
        if before.is_empty() {
            return;
        }
        let mut orphans = orphans.iter().copied().peekable();
        for ix in round.session.tree.entries_in_tree() {
            let is_orphan = orphans.next_if_eq(&ix).is_some();
            let Some(last) = before.get_mut(&entries.group(ix)) else { continue };
            if let Some(part) = last.replace(ix).filter(|_| is_orphan) {
                self.add(round, ix, part);
            }
        }
    }

    /// Records, for orphans that name their prompt (`promptId`), the last earlier entry of that
    /// prompt. An entry that names none belongs to the prompt of its parent.
    fn find_prompts(&mut self, round: &Round<'_>, orphans: &[Ix]) -> io::Result<()> {
        let session = round.session;
        let prompt_of = |ix: Ix| -> io::Result<Option<Key>> {
            let line = round.source.bytes(session.span(ix))?;
            Ok(string_of(&line, "promptId").filter(|id| !id.is_empty()).map(|id| Key::hash(id.as_bytes())))
        };
        let mut wanted: HashMap<Ix, Key> = HashMap::new();
        for ix in orphans.iter().filter(|ix| !self.own.contains_key(ix)) {
            wanted.extend(prompt_of(*ix)?.map(|prompt| (*ix, prompt)));
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let mut last: HashMap<(Key, Strand), Option<Ix>> =
            wanted.iter().map(|(ix, prompt)| ((*prompt, round.strand(*ix)), None)).collect();
        let mut owners: HashMap<Ix, Key> = HashMap::new();
        for ix in session.tree.entries_in_tree() {
            let above = session.tree.parent(ix).and_then(|above| owners.get(&above)).copied();
            let Some(prompt) = prompt_of(ix)?.or(above) else { continue };
            owners.insert(ix, prompt);
            let Some(last) = last.get_mut(&(prompt, round.strand(ix))) else { continue };
            if wanted.contains_key(&ix)
                && let Some(before) = *last
            {
                self.of_prompt.insert(ix, before);
            }
            if round.can_be_parent(ix) {
                *last = Some(ix);
            }
        }
        Ok(())
    }

    fn add(&mut self, round: &Round<'_>, ix: Ix, to: Ix) {
        if to != ix && round.may_be_of_one_strand(ix, to) {
            self.own.entry(ix).or_insert(to);
        }
    }

    /// Returns where a result or a part of a reply belongs.
    fn of_reply(&self, session: &Session, ix: Ix) -> Option<Place> {
        let to = *self.own.get(&ix)?;
        session.tree.is_in_tree(to).then_some(Place::Under(to))
    }

    /// Returns where an entry belongs according to its prompt.
    fn of_prompt(&self, ix: Ix) -> Option<Place> {
        self.of_prompt.get(&ix).copied().map(Place::Under)
    }

    /// Returns where an entry belongs whose parent is a lost summary. A compaction may have kept
    /// messages of another strand.
    fn after_kept(&self, round: &Round<'_>, ix: Ix, parent: &str) -> Option<Place> {
        let tail = self.kept.get(&Key::hash(parent.as_bytes())).copied();
        tail.filter(|tail| round.may_be_of_one_strand(ix, *tail)).map(Place::Under)
    }
}

/// The ids and parents in truncated lines.
struct TornLines<'m> {
    by_id: HashMap<&'m str, &'m Torn>,
    by_line: Vec<&'m Torn>,
}

impl<'m> TornLines<'m> {
    fn new(recovery: &'m Recovery) -> TornLines<'m> {
        let shown = recovery.torn.iter().filter(|torn| torn.above != Above::Unseen);
        let by_id = shown.filter_map(|torn| Some((torn.id.as_deref()?, torn))).collect();
        let mut by_line: Vec<&Torn> = recovery.torn.iter().collect();
        by_line.sort_by_key(|torn| torn.line);
        TornLines { by_id, by_line }
    }
}
