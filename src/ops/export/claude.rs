//! Export of Claude Code's transcripts: the main path as a linear chain, under a new session id.
//!
//! The main path includes the other parts and the results of its replies. Messages that a
//! compaction kept become children of its summary, as in Claude Code when it loads them, and the
//! lists that would make it do so are left out. Of the lines that are not entries, those are copied
//! that are needed to continue the session.

use super::{Export, ExportOptions, MovedResults, changes_of, created, pieces_of};
use crate::format::claude::compactions::before_it_was_gone;
use crate::format::claude::graph::{ClaudeGraph, Way};
use crate::format::claude::{KeptLists, write};
use crate::format::{Content, Format, Ids, OtherKind, Session};
use crate::json::{Edits, member_at, string};
use crate::model::{Change, Flags, Ix, Key, Piece, Source, Span, Time};
use crate::ops::{Error, Snapshot, ids, label, switch};
use std::collections::{HashMap, HashSet};
use std::io;

pub(super) fn plan(
    whole: Snapshot<'_>,
    options: &ExportOptions,
    fresh: &mut Ids,
    now: Time,
) -> Result<Export, Error> {
    let Snapshot { session, source } = whole;
    if session.entries.file(options.entry) != 0 {
        return Err(Error::NoPlace {
            what: format!("{} is in the transcript of a subagent", whole.name(options.entry)?),
            instead: None,
        });
    }
    // Claude Code does not load anything that a compaction replaced; to get at it, the compaction
    // is ignored.
    let plain = before_it_was_gone(whole.session, whole.source, options.entry)?;
    let mut graph = ClaudeGraph::new(plain.as_ref().unwrap_or(session));
    let Chosen { entries, beside, head } = chosen(whole, &mut graph, options)?;
    let taken: HashSet<Ix> = entries.iter().copied().collect();
    // Claude Code does not open a session that ends in a sidechain: the messages of a subagent
    // become the conversation.
    let is_side = |ix: &Ix| session.entries.flags(*ix).has(Flags::SIDECHAIN);
    let opens = match head {
        Some(head) => !is_side(&head),
        None => !entries.iter().all(is_side),
    };
    let mut copy = Copy {
        session,
        source,
        options,
        to_trunk: !opens,
        taken: &taken,
        names: HashMap::new(),
        old: session.id(),
        pieces: Vec::new(),
        changes: Vec::new(),
    };
    if options.new_ids {
        for ix in &entries {
            copy.names
                .insert(*ix, Format::Claude.quoted(&fresh.entry(session.format, session.entries.keys())));
        }
    }
    copy.notes(&["mode", "permission-mode"])?;
    let links = links_among(session, &graph, &entries, &taken);
    let cut = closed_by(&entries, &links);
    for (at, ix) in entries.iter().enumerate() {
        copy.entry(*ix, links[at].filter(|_| !cut.contains(&at)))?;
    }
    copy.notes(STATE)?;
    copy.labels(now)?;
    copy.pointer(head)?;
    let plan = created(options, copy.pieces, copy.changes);
    Ok(Export { plan, entries: entries.len(), beside, head, taken })
}

/// The entries to copy.
struct Chosen {
    entries: Vec<Ix>,
    /// How many of them are other parts or results of replies.
    beside: usize,
    head: Option<Ix>,
}

/// Returns the entries to copy; refuses if there is no turn among them.
fn chosen(
    whole: Snapshot<'_>,
    graph: &mut ClaudeGraph<'_>,
    options: &ExportOptions,
) -> Result<Chosen, Error> {
    let session = whole.session;
    let no_turn = |side: &str| -> Result<Error, Error> {
        let entry = whole.name(options.entry)?;
        let what = format!("there is no turn at or {side} {entry}, so the agent would not open the session");
        Ok(Error::NoPlace { what, instead: None })
    };
    Ok(if options.subtree {
        let (entries, head) = subtree(session, graph, options.entry);
        let is_turn = |ix: &Ix| session.entries.kind(*ix).is_turn();
        if !entries.iter().any(is_turn) {
            return Err(no_turn("after")?);
        }
        Chosen { entries, beside: 0, head }
    } else {
        let leaf = graph.leaf_at(options.entry);
        let (Some(turn), Some(from)) = (leaf.turn, leaf.from) else {
            return Err(no_turn("before")?);
        };
        let main_path = graph.sent_path(from);
        let beside = main_path.iter().filter(|step| matches!(step.way, Way::Part | Way::Answer)).count();
        Chosen { entries: main_path.into_iter().map(|step| step.entry).collect(), beside, head: Some(turn) }
    })
}

/// Returns the nearest copied entry above each copied entry.
fn links_among(
    session: &Session,
    graph: &ClaudeGraph<'_>,
    entries: &[Ix],
    taken: &HashSet<Ix>,
) -> Vec<Option<Ix>> {
    let above = |ix: &Ix| {
        let above = std::iter::successors(graph.parent(*ix), |ix| graph.parent(*ix));
        // A cycle that Claude Code cuts must not be walked forever.
        above.take(session.entries.len()).find(|ix| taken.contains(ix))
    };
    entries.iter().map(above).collect()
}

/// The types of lines about the session of which the last line is copied; of the last type, all
/// lines are.
const STATE: &[&str] = &[
    "custom-title",
    "ai-title",
    "tag",
    "agent-name",
    "agent-color",
    "agent-setting",
    "relocated",
    "content-replacement",
];

/// Returns the links that close a cycle, by the indexes of their entries: in each cycle, that of
/// the entry that comes first.
fn closed_by(entries: &[Ix], links: &[Option<Ix>]) -> HashSet<usize> {
    let numbers: HashMap<Ix, usize> = entries.iter().enumerate().map(|(at, ix)| (*ix, at)).collect();
    let above = |at: usize| links[at].and_then(|above| numbers.get(&above).copied());
    let mut cut = HashSet::new();
    // The walk that visited an entry first.
    let mut met = vec![usize::MAX; entries.len()];
    for walk in 0..entries.len() {
        let mut at = Some(walk);
        while let Some(now) = at.filter(|now| met[*now] == usize::MAX) {
            met[now] = walk;
            at = above(now);
        }
        // The walk met its own path: everything from here on is a cycle.
        if let Some(start) = at.filter(|at| met[*at] == walk) {
            let ring =
                std::iter::successors(above(start), |at| Some(*at).filter(|at| *at != start).and_then(above));
            cut.extend(ring.min());
        }
    }
    cut
}

/// Returns an entry and everything below it, as Claude Code links it, with the rest of the replies
/// at its edge.
fn subtree(session: &Session, graph: &mut ClaudeGraph<'_>, top: Ix) -> (Vec<Ix>, Option<Ix>) {
    let entries = &session.entries;
    let count = entries.count_in(0);
    let mut top = top;
    // From inside a reply, or from a result, up to the beginning of the reply; not forever, because
    // links may form a cycle.
    for _ in 0..count {
        match graph.parent(top) {
            Some(parent)
                if entries.flags(top).has(Flags::RESULT)
                    || entries.group(top).is_some() && entries.group(parent) == entries.group(top) =>
            {
                top = parent;
            }
            _ => break,
        }
    }
    // 0: unknown, 1: below, 2: elsewhere.
    let mut known = vec![0u8; count as usize];
    known[top.index()] = 1;
    let mut way = Vec::new();
    for ix in (0..count).map(Ix) {
        let mut at = Some(ix);
        while let Some(now) = at.filter(|now| known[now.index()] == 0) {
            // Visited until the answer is found; a cycle leads nowhere.
            known[now.index()] = 2;
            way.push(now);
            at = graph.parent(now);
        }
        let answer = at.map_or(2, |at| known[at.index()]);
        for ix in way.drain(..) {
            known[ix.index()] = answer;
        }
    }
    let below: Vec<Ix> =
        (0..count).map(Ix).filter(|ix| known[ix.index()] == 1 && graph.is_loaded(*ix)).collect();
    let head = session.head.exact.filter(|head| known.get(head.index()) == Some(&1));
    (below, head)
}

struct Copy<'a> {
    session: &'a Session,
    source: &'a dyn Source,
    options: &'a ExportOptions,
    /// Whether sidechains become the conversation.
    to_trunk: bool,
    taken: &'a HashSet<Ix>,
    /// New ids, as JSON.
    names: HashMap<Ix, Vec<u8>>,
    /// The id of the exported session.
    old: Option<String>,
    pieces: Vec<Piece>,
    changes: Vec<Change>,
}

impl Copy<'_> {
    fn entry(&mut self, ix: Ix, above: Option<Ix>) -> Result<(), Error> {
        let span = self.session.span(ix);
        let line = self.source.bytes(span)?;
        let stripped = KeptLists::stripped(&line);
        let Some(mut edits) = Edits::begin(&line) else {
            // A complete object followed by something else: Claude Code reads the object.
            return self.first_object(ix, &line, above);
        };
        if let Some(stripped) = &stripped
            && let Some(metadata) = member_at(stripped, &["compactMetadata"])
        {
            edits.set("compactMetadata", metadata);
        }
        self.links(ix, &line, above, &mut edits)?;
        let id = ids::id(self.session, self.source, ix)?;
        self.edited(span, &edits, self.session.entries.line(ix), &id);
        Ok(())
    }

    /// Copies the object at the start of a line.
    fn first_object(&mut self, ix: Ix, line: &[u8], above: Option<Ix>) -> Result<(), Error> {
        let mut stream = serde_json::Deserializer::from_slice(line).into_iter::<serde::de::IgnoredAny>();
        let whole = matches!(stream.next(), Some(Ok(_)));
        let object = &line[..if whole { stream.byte_offset() } else { 0 }];
        let Some(mut edits) = Edits::begin(object) else { return Ok(()) };
        self.links(ix, object, above, &mut edits)?;
        let span = Span { len: object.len() as u64, ..self.session.span(ix) };
        let id = ids::id(self.session, self.source, ix)?;
        self.edited(span, &edits, self.session.entries.line(ix), &id);
        Ok(())
    }

    /// Sets the fields of an entry that name other entries and the session.
    fn links(&self, ix: Ix, line: &[u8], above: Option<Ix>, edits: &mut Edits<'_>) -> Result<(), Error> {
        let parent = match above {
            Some(above) => self.name(above)?,
            None => b"null".to_vec(),
        };
        if edits.value("parentUuid") != Some(&parent) {
            edits.set("parentUuid", &parent);
        }
        for key in ["logicalParentUuid", "sourceToolAssistantUUID"] {
            let Some(named) = edits.value(key).and_then(string) else { continue };
            let target = self.session.find(Key::hash(named.as_bytes())).filter(|ix| self.taken.contains(ix));
            match target {
                Some(target) if self.options.new_ids => edits.set(key, &self.name(target)?),
                Some(_) => {}
                // A reader that follows it must not search for an entry that is not here.
                None if key == "logicalParentUuid" => edits.set(key, b"null"),
                None => {}
            }
        }
        self.session_of(edits);
        if let Some(moved) = &self.options.moved {
            moved.rename(line, edits);
        }
        if self.to_trunk && edits.value("isSidechain") == Some(b"true") {
            edits.set("isSidechain", b"false");
            edits.remove("agentId");
        }
        if let (Some(old), Some(uuid)) = (&self.old, member_at(line, &["uuid"])) {
            let mut forked = b"{\"sessionId\":".to_vec();
            forked.extend(Format::Claude.quoted(old));
            forked.extend_from_slice(b",\"messageUuid\":");
            forked.extend_from_slice(uuid);
            forked.push(b'}');
            edits.set("forkedFrom", &forked);
        }
        if let Some(name) = self.names.get(&ix) {
            edits.set("uuid", name);
        }
        Ok(())
    }

    /// Replaces the old session id with the new one.
    fn session_of(&self, edits: &mut Edits<'_>) {
        let new = Format::Claude.quoted(&self.options.session);
        if edits.value("sessionId").is_some() {
            edits.set("sessionId", &new);
        }
        if edits.value("session_id").and_then(string).as_deref() == self.old.as_deref() && self.old.is_some()
        {
            edits.set("session_id", &new);
        }
        if let Some(cwd) = &self.options.cwd
            && edits.value("cwd").is_some()
        {
            edits.set("cwd", &Format::Claude.quoted(cwd));
        }
    }

    fn name(&self, ix: Ix) -> io::Result<Vec<u8>> {
        match self.names.get(&ix) {
            Some(name) => Ok(name.clone()),
            None => ids::raw(self.session, self.source, ix),
        }
    }

    /// Copies the last line of each of these types, and all lines about replaced tool results.
    fn notes(&mut self, types: &[&'static str]) -> Result<(), Error> {
        let mut found: Vec<(usize, Span, u64)> = Vec::new();
        for other in
            self.session.others.iter().filter(|other| other.kind == OtherKind::Note && other.span.file == 0)
        {
            // The wanted lines are short, except those of one type, which begin with it.
            let short = Span { len: other.span.len.min(4096), ..other.span };
            let head = self.source.bytes(short)?;
            let long = head.starts_with(b"{\"type\":\"content-replacement\"");
            if short.len < other.span.len && !long {
                continue;
            }
            let ty = if long {
                Some("content-replacement".into())
            } else {
                member_at(&head, &["type"]).and_then(string)
            };
            let Some(at) = types.iter().position(|wanted| ty.as_deref() == Some(*wanted)) else { continue };
            if types[at] != "content-replacement" {
                found.retain(|(known, ..)| *known != at);
            }
            found.push((at, other.span, other.line));
        }
        found.sort_by_key(|(at, _, line)| (*at, *line));
        for (_, span, number) in found {
            let line = self.source.bytes(span)?;
            let Some(mut edits) = Edits::begin(&line) else { continue };
            if edits.value("agentId").is_some() {
                continue;
            }
            self.session_of(&mut edits);
            if let Some(moved) = &self.options.moved {
                moved.rename(&line, &mut edits);
            }
            self.edited(span, &edits, number, "");
        }
        Ok(())
    }

    fn labels(&mut self, now: Time) -> Result<(), Error> {
        for (ix, label) in label::in_order(self.session) {
            if self.taken.contains(&ix) {
                let line = write::label(&self.name(ix)?, label.text, Some(&self.options.session), now);
                self.add(line, "sets a label");
            }
        }
        Ok(())
    }

    /// Writes the same pointer as Claude Code: HEAD of the session, and the newest prompt as a
    /// title.
    fn pointer(&mut self, head: Option<Ix>) -> Result<(), Error> {
        let Some(head) = head else { return Ok(()) };
        let prompt =
            switch::claude::newest_prompt(Snapshot { session: self.session, source: self.source }, head)?;
        let line = write::pin(prompt.as_deref(), Some(&self.name(head)?), Some(&self.options.session));
        self.add(line, "pins HEAD");
        Ok(())
    }

    fn edited(&mut self, span: Span, edits: &Edits<'_>, line: u64, id: &str) {
        pieces_of(span, edits, &mut self.pieces);
        self.changes.extend(changes_of(edits, span.file, line, id));
    }

    fn add(&mut self, line: Vec<u8>, why: &str) {
        self.changes.push(switch::appended(&line, "", why));
        self.pieces.push(Piece::New(line));
    }
}

/// Returns the lines of another file of the session with the new session id. `lines` are the spans
/// of its lines.
pub fn under_new_id(
    source: &dyn Source,
    lines: &[Span],
    old: Option<&str>,
    new: &str,
    moved: Option<&MovedResults>,
    cwd: Option<&str>,
) -> io::Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let id = Format::Claude.quoted(new);
    for span in lines {
        let line = source.bytes(*span)?;
        match Edits::begin(&line) {
            Some(mut edits) => {
                if edits.value("sessionId").is_some() {
                    edits.set("sessionId", &id);
                }
                if old.is_some() && edits.value("session_id").and_then(string).as_deref() == old {
                    edits.set("session_id", &id);
                }
                if let Some(cwd) = cwd
                    && edits.value("cwd").is_some()
                {
                    edits.set("cwd", &Format::Claude.quoted(cwd));
                }
                if let Some(moved) = moved {
                    moved.rename(&line, &mut edits);
                }
                pieces_of(*span, &edits, &mut pieces);
            }
            None => {
                pieces.push(Piece::Keep(*span));
                pieces.push(Piece::New(b"\n".to_vec()));
            }
        }
    }
    Ok(pieces)
}

/// Returns the tool calls in entries, and the subagents that their results name.
pub fn anchors<'e>(
    session: &Session,
    source: &dyn Source,
    entries: impl Iterator<Item = &'e Ix>,
) -> io::Result<HashSet<String>> {
    let whole = Snapshot { session, source };
    let mut out = HashSet::new();
    for ix in entries {
        let flags = session.entries.flags(*ix);
        if !flags.has(Flags::CALL) && !flags.has(Flags::RESULT) {
            continue;
        }
        let line = whole.line(*ix)?;
        out.extend(Content::read(session.format, &line).calls().map(|(id, ..)| id.to_owned()));
        out.extend(
            member_at(&line, &["toolUseResult", "agentId"]).and_then(string).map(|id| id.into_owned()),
        );
    }
    Ok(out)
}
