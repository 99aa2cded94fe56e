//! Drops branches: the entries at and below some of them, and what belongs only to these.
//!
//! The complement of an export of a subtree. The file is composed anew without the lines of the
//! dropped entries, of their labels, of pointers to them, and of the snapshots that name them. All
//! other lines stay as they are, with one exception: a kept line whose parent is dropped gets the
//! nearest kept ancestor as its parent, e.g. the label of a kept entry that is stored on a dropped
//! branch. What the agent would send at HEAD and at the end of each kept branch is compared before
//! anything is written.

use super::rewrite::{Lines, Rewrite};
use super::{Error, Snapshot, branches, ids, switch};
use crate::context::{Context, Sent};
use crate::format::claude::graph::ClaudeGraph;
use crate::format::{Content, Format, Ids, OtherKind, Session};
use crate::json::{Edits, member_at, string};
use crate::model::{Change, Count, Flags, Ix, Key, Kind, Piece, Plan, Planned, Span, Target, Time, Tree};
use crate::ops::turns::Thread;
use std::collections::{HashMap, HashSet};
use std::io;

/// What to drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What<'w> {
    /// These entries, and everything below them.
    Entries(&'w [Ix]),
    /// All branches that do not lead to HEAD or to one of these entries, or begin there.
    Others(&'w [Ix]),
    /// Replies that failed or were interrupted, and that nothing follows.
    Failed,
}

/// A drop that has not been made yet.
#[derive(Clone, Debug)]
pub struct Dropped {
    /// What is written; empty if there is nothing to drop.
    pub plan: Plan,
    /// The dropped entries, in file order.
    pub entries: Vec<Ix>,
    /// How many branches there are less.
    pub branches: usize,
    /// The begins of branches whose end was dropped and whose beginning stays: dropping them too removes the rest.
    pub rests: Vec<Ix>,
    /// The removed lines that are not entries: pointers, labels, snapshots.
    pub notes: usize,
    /// Lines of dropped branches that are kept because they are about kept entries.
    pub moved: usize,
    /// At how many places what is sent was compared message by message.
    pub compared: usize,
    /// How many failed replies stay, because they are on the path to HEAD or something follows them.
    pub failed_kept: usize,
    /// How many entries of other branches stay, because they are parts of a kept reply.
    pub parts_kept: usize,
}

/// How many entries are visited at most to compare messages; the links are compared for all
/// branches.
const MOST_VISITED: usize = 1 << 24;

/// Plans a drop, and verifies it.
pub fn plan(whole: Snapshot<'_>, what: What<'_>, fresh: &mut Ids, now: Time) -> Result<Dropped, Error> {
    let session = whole.session;
    super::writable(session)?;
    let thread = Thread::new(whole)?;
    let mut choice = Choice::new(session, &thread);
    let gone = match what {
        What::Entries(entries) => {
            let gone = choice.below(whole, entries)?;
            choice.no_part_of_kept_reply(whole, &gone)?;
            gone
        }
        What::Others(kept) => choice.others(whole, kept)?,
        What::Failed => choice.failed(whole)?,
    };
    let failed_kept = match what {
        What::Failed => {
            session.tree.entries_in_tree().filter(|ix| is_failed(session, *ix) && !gone[ix.index()]).count()
        }
        _ => 0,
    };
    let mut dropped = Dropped {
        plan: Plan { verb: "drop".into(), keep_times: true, ..Plan::default() },
        entries: Vec::new(),
        branches: 0,
        rests: Vec::new(),
        notes: 0,
        moved: 0,
        compared: 0,
        failed_kept,
        parts_kept: choice.parts,
    };
    if !gone.contains(&true) {
        return Ok(dropped);
    }
    let removal = Removal::new(whole, gone)?;
    let tree = thread.tree();
    let ends = branches::tips(session, tree).into_iter().filter(|tip| removal.gone[tip.index()]).count();
    dropped.rests = choice.rests(&removal.gone);
    // What stays of a branch is one.
    dropped.branches = ends.saturating_sub(dropped.rests.len());
    dropped.entries = session.entries.all().filter(|ix| removal.gone[ix.index()]).collect();
    let mut rewrite = Rewrite::default();
    dropped.moved = removal.entries(&mut rewrite)?;
    dropped.notes = removal.notes(&mut rewrite)?;
    let facts = &session.files[0];
    let lines = rewrite.lines();
    let mut pieces = rewrite.pieces(facts.bytes, facts.ends_in_newline);
    let mut after = rewrite.read(session, whole.source, &pieces)?;
    if let Some(appended) = put_head_back(whole, &rewrite, &lines, &after, &pieces, fresh, now)? {
        rewrite.add(&appended.0);
        rewrite.changes.extend(appended.1);
        pieces = rewrite.pieces(facts.bytes, facts.ends_in_newline);
        after = rewrite.read(session, whole.source, &pieces)?;
    }
    let check = Check {
        before: whole,
        after: &after,
        pieces: &pieces,
        rewrite: &rewrite,
        lines: &lines,
        removal: &removal,
    };
    dropped.compared = check.all(tree)?;
    dropped.plan.changes = std::mem::take(&mut rewrite.changes);
    dropped.plan.targets.push(Target::Rewrite { file: 0, pieces });
    Ok(dropped)
}

/// Returns whether an entry is a reply that failed or was interrupted.
fn is_failed(session: &Session, ix: Ix) -> bool {
    session.entries.kind(ix) == Kind::Assistant && session.entries.flags(ix).has(Flags::ENDED_BADLY)
}

/// The choice of what is dropped.
struct Choice<'a> {
    session: &'a Session,
    thread: &'a Thread<'a>,
    /// By entry: whether it is on the path to HEAD, or loaded with it.
    held: Vec<bool>,
    /// How many entries are held as parts of a kept reply.
    parts: usize,
}

impl<'a> Choice<'a> {
    fn new(session: &'a Session, thread: &'a Thread<'a>) -> Choice<'a> {
        let mut choice = Choice { session, thread, held: vec![false; session.entries.len()], parts: 0 };
        for end in [session.head.exact, session.head.leaf, session.head.entry, Context::position(session)] {
            end.into_iter().for_each(|end| choice.hold(end));
        }
        session.beside.iter().for_each(|ix| choice.hold(*ix));
        choice
    }

    /// Holds everything that leads to an entry, or is loaded with it.
    fn hold(&mut self, end: Ix) {
        let (session, thread) = (self.session, self.thread);
        let loaded = session.whole_path(end).into_iter().chain(session.tree.ancestors(end));
        for ix in loaded.chain(thread.tree().ancestors(thread.stand_in(end))) {
            self.held[ix.index()] = true;
        }
    }

    /// Drops some entries with everything below them.
    fn below(&self, whole: Snapshot<'_>, entries: &[Ix]) -> Result<Vec<bool>, Error> {
        let mut gone = vec![false; self.session.entries.len()];
        for entry in entries {
            let top = self.thread.stand_in(*entry);
            if self.session.entries.kind(top) == Kind::Header {
                return Err(Error::NoPlace { what: "the header can't be dropped".into(), instead: None });
            }
            if gone[top.index()] {
                continue;
            }
            let below = self.thread.tree().subtree(top);
            if let Some(held) = below.iter().find(|ix| self.held[ix.index()]) {
                let what = match *held == top {
                    true => format!("{} is on the path to HEAD", whole.name(*entry)?),
                    false => format!(
                        "{} is loaded at HEAD, and is below {}",
                        whole.name(*held)?,
                        whole.name(*entry)?
                    ),
                };
                let instead = "`bough switch` moves HEAD to another branch first".into();
                return Err(Error::NoPlace { what, instead: Some(instead) });
            }
            below.into_iter().for_each(|ix| gone[ix.index()] = true);
        }
        Ok(gone)
    }

    /// Fails if a part of a kept reply would be dropped.
    fn no_part_of_kept_reply(&self, whole: Snapshot<'_>, gone: &[bool]) -> Result<(), Error> {
        let parts = parts_of_kept_replies(whole, gone)?;
        let Some(first) = parts.first() else { return Ok(()) };
        // What is below the parts can be dropped without them.
        let tree = self.thread.tree();
        let is_between = |ix: Ix| parts.iter().any(|part| tree.ancestors(*part).any(|above| above == ix));
        let below = parts.iter().flat_map(|part| tree.children(*part)).filter(|ix| !is_between(*ix));
        let below: Vec<String> = below.map(|ix| whole.name(ix)).collect::<io::Result<_>>()?;
        Err(Error::NoPlace {
            what: format!("{} is part of a reply that a kept branch shows", whole.name(*first)?),
            instead: match below.is_empty() {
                true => Some("it is dropped with that branch".into()),
                false => Some(format!("`bough drop {}` removes what is below it", below.join(" "))),
            },
        })
    }

    /// Holds the parts of kept replies that would be dropped; returns whether there were some.
    fn hold_parts(&mut self, whole: Snapshot<'_>, gone: &[bool]) -> io::Result<bool> {
        let parts = parts_of_kept_replies(whole, gone)?;
        parts.iter().for_each(|part| self.hold(*part));
        self.parts += parts.len();
        Ok(!parts.is_empty())
    }

    /// Drops every branch that does not lead to HEAD, or to one of the kept entries, and is not below one of these.
    fn others(&mut self, whole: Snapshot<'_>, kept: &[Ix]) -> io::Result<Vec<bool>> {
        for ix in kept {
            self.hold(*ix);
            for below in self.thread.tree().subtree(self.thread.stand_in(*ix)) {
                self.held[below.index()] = true;
            }
        }
        loop {
            let gone = self.not_held();
            if !self.hold_parts(whole, &gone)? {
                return Ok(gone);
            }
        }
    }

    /// Drops every branch from its first entry that is not held.
    fn not_held(&self) -> Vec<bool> {
        let (session, tree) = (self.session, self.thread.tree());
        let mut gone = vec![false; session.entries.len()];
        for leaf in tree.leaves().filter(|leaf| !self.held[leaf.index()]) {
            let mut top = None;
            for ix in tree.ancestors(leaf) {
                if self.held[ix.index()] || gone[ix.index()] {
                    break;
                }
                top = Some(ix);
            }
            let Some(top) = top.filter(|top| !self.is_beside(*top)) else { continue };
            tree.subtree(top).into_iter().for_each(|ix| gone[ix.index()] = true);
        }
        gone
    }

    /// Returns where the branches begin of which the end is dropped and the beginning stays, in file order.
    fn rests(&self, gone: &[bool]) -> Vec<Ix> {
        let (session, tree) = (self.session, self.thread.tree());
        let kept_below = |ix: Ix| tree.children(ix).filter(|below| !gone[below.index()]).count();
        let ends = session.entries.all().filter(|ix| gone[ix.index()]).filter_map(|ix| tree.parent(ix));
        let mut ends: Vec<Ix> = ends.filter(|end| !gone[end.index()] && kept_below(*end) == 0).collect();
        ends.sort_unstable();
        ends.dedup();
        let begin = |end: Ix| {
            let path = tree.ancestors(end).take_while(|ix| !self.held[ix.index()] && kept_below(*ix) <= 1);
            let path: Vec<Ix> = path.collect();
            path.iter().any(|ix| session.is_conversation(*ix)).then(|| path.last().copied()).flatten()
        };
        ends.into_iter().filter_map(begin).collect()
    }

    /// Returns whether what begins at an entry is not a branch: the header, a note, or a subagent.
    fn is_beside(&self, top: Ix) -> bool {
        let session = self.session;
        let has_turn =
            || self.thread.tree().subtree(top).iter().any(|ix| session.entries.kind(*ix).is_turn());
        match session.format {
            Format::Claude => session.entries.flags(top).has(Flags::SIDECHAIN) || !has_turn(),
            _ => session.entries.kind(top) == Kind::Header,
        }
    }

    /// Drops failed replies that no other reply follows, and the prompts to which there is no other reply.
    fn failed(&mut self, whole: Snapshot<'_>) -> io::Result<Vec<bool>> {
        loop {
            let gone = self.failed_not_held();
            if !self.hold_parts(whole, &gone)? {
                return Ok(gone);
            }
        }
    }

    fn failed_not_held(&self) -> Vec<bool> {
        let (session, tree) = (self.session, self.thread.tree());
        let count = session.entries.len();
        // Whether an entry must stay: it is held, or it is a reply or a result, or something below it must stay.
        let mut stays = self.held.clone();
        for ix in session.entries.all().filter(|ix| tree.is_in_tree(*ix)) {
            let kind = session.entries.kind(ix);
            let says = matches!(kind, Kind::Header | Kind::Compaction | Kind::Summary | Kind::Tool)
                || session.entries.flags(ix).has(Flags::RESULT)
                || kind == Kind::Assistant && !is_failed(session, ix);
            stays[ix.index()] |= says;
        }
        let staying: Vec<Ix> = session.entries.all().filter(|ix| stays[ix.index()]).collect();
        for ix in staying {
            for above in tree.ancestors(ix).skip(1) {
                if std::mem::replace(&mut stays[above.index()], true) {
                    break;
                }
            }
        }
        let mut gone = vec![false; count];
        for ix in tree.entries_in_tree().filter(|ix| is_failed(session, *ix) && !stays[ix.index()]) {
            // From the reply up to its prompt, if nothing else was replied to it.
            let mut top = ix;
            for above in tree.ancestors(ix).skip(1).take_while(|above| !stays[above.index()]) {
                top = above;
            }
            if !gone[top.index()] {
                tree.subtree(top).into_iter().for_each(|ix| gone[ix.index()] = true);
            }
        }
        gone
    }
}

/// Returns the entries to drop that are parts of a kept reply: Claude Code loads the parts of a reply, and the
/// results of its calls, wherever they are. In file order.
fn parts_of_kept_replies(whole: Snapshot<'_>, gone: &[bool]) -> io::Result<Vec<Ix>> {
    let entries = &whole.session.entries;
    if whole.session.format != Format::Claude || !gone.contains(&true) {
        return Ok(Vec::new());
    }
    let gone = with_copies(whole.session, gone.to_vec());
    let (mut kept_groups, mut kept_calls) = (HashSet::new(), HashSet::new());
    let mut dropped_calls = Vec::new();
    let mut line = Vec::new();
    for ix in entries.all() {
        let is_gone = gone[ix.index()];
        if !is_gone && entries.group(ix).is_some() {
            kept_groups.insert(entries.group(ix));
        }
        let flags = entries.flags(ix);
        if entries.file(ix) != 0 || !flags.has(Flags::CALL) && !flags.has(Flags::RESULT) {
            continue;
        }
        whole.read(ix, &mut line)?;
        let content = Content::read(Format::Claude, &line);
        let ids = content.calls().map(|(id, ..)| id.to_owned()).chain(content.answers().map(str::to_owned));
        match is_gone {
            true => dropped_calls.extend(ids.map(|id| (ix, id))),
            false => kept_calls.extend(ids),
        }
    }
    let of_group = entries.all().filter(|ix| gone[ix.index()] && kept_groups.contains(&entries.group(*ix)));
    let of_call = dropped_calls.iter().filter(|(_, id)| kept_calls.contains(id)).map(|(ix, _)| *ix);
    let mut parts: Vec<Ix> = of_group.chain(of_call).collect();
    parts.sort_unstable();
    parts.dedup();
    Ok(parts)
}

/// Returns the ids of the entries to drop.
fn keys_of(session: &Session, gone: &[bool]) -> HashSet<Key> {
    let entries = session.entries.all().filter(|ix| gone[ix.index()]);
    entries.map(|ix| session.entries.key(ix)).filter(|key| *key != Key::NONE).collect()
}

/// Adds the copies of the entries to drop: all entries of an id are dropped together.
fn with_copies(session: &Session, mut gone: Vec<bool>) -> Vec<bool> {
    let keys = keys_of(session, &gone);
    for ix in session.tree.shadowed() {
        gone[ix.index()] = keys.contains(&session.entries.key(ix));
    }
    gone
}

/// The lines to remove.
struct Removal<'a> {
    whole: Snapshot<'a>,
    /// By entry: whether its line is removed.
    gone: Vec<bool>,
    /// Lines on dropped branches that are kept, because they are about kept entries or the session.
    moved: HashSet<Ix>,
    /// The ids of the dropped entries.
    keys: HashSet<Key>,
}

impl<'a> Removal<'a> {
    fn new(whole: Snapshot<'a>, gone: Vec<bool>) -> Result<Removal<'a>, Error> {
        let session = whole.session;
        let mut keys = keys_of(session, &gone);
        let mut gone = with_copies(session, gone);
        let mut moved = HashSet::new();
        let places = if session.labels.lines.is_empty() { HashMap::new() } else { session.places() };
        for label in session.labels.lines.iter() {
            if let Some(entry) = label.entry.filter(|entry| gone[entry.index()])
                && !keys.contains(&label.target)
                && places.contains_key(&label.target)
            {
                moved.insert(entry);
            }
        }
        let names = session.entries.all().filter(|ix| session.entries.ty(*ix) == "session_info");
        if let Some(name) = names.last().filter(|name| gone[name.index()]) {
            moved.insert(name);
        }
        for ix in &moved {
            gone[ix.index()] = false;
            keys.remove(&session.entries.key(*ix));
        }
        // Two entries on one line can't be told apart.
        for ix in session.entries.all().skip(1) {
            let before = Ix(ix.0 - 1);
            let is_same = session.entries.line(before) == session.entries.line(ix)
                && session.entries.file(before) == session.entries.file(ix);
            if is_same && gone[before.index()] != gone[ix.index()] {
                return Err(Error::NoPlace {
                    what: format!(
                        "line {} contains two entries, and only one of them would be dropped",
                        session.entries.line(ix)
                    ),
                    instead: Some("`bough fsck --repair` splits the line".into()),
                });
            }
        }
        Ok(Removal { whole, gone, moved, keys })
    }

    /// Removes the lines of the entries, and links kept lines below them to the nearest kept ancestor; returns how
    /// many those are.
    fn entries(&self, rewrite: &mut Rewrite) -> Result<usize, Error> {
        let Snapshot { session, source } = self.whole;
        let names = session.format.names();
        let mut linked = 0;
        for ix in session.entries.all().filter(|ix| session.entries.file(*ix) == 0) {
            let (span, line) = (session.span(ix), session.entries.line(ix));
            if self.gone[ix.index()] {
                let why = format!("a dropped entry of kind {}", session.entries.kind(ix).name());
                let change = Change { id: ids::id(session, source, ix)?, why, ..Change::default() };
                rewrite.remove(session, source, span, line, change)?;
                continue;
            }
            let parent = session.tree.parent(ix).filter(|parent| self.gone[parent.index()]);
            let Some(parent) = parent.filter(|_| session.tree.is_in_tree(ix)) else { continue };
            let kept = session.tree.ancestors(parent).find(|above| !self.gone[above.index()]);
            let kept = kept.map_or(Ok(b"null".to_vec()), |kept| self.whole.raw_id(kept))?;
            let bytes = source.bytes(span)?;
            let Some(mut edits) = Edits::begin(&bytes) else { continue };
            edits.set(names.parent, &kept);
            rewrite.edit(span, line, &ids::id(session, source, ix)?, &edits, "its parent is dropped");
            linked += 1;
        }
        Ok(linked)
    }

    /// Removes the lines that are not entries and name a dropped one; returns how many there are.
    fn notes(&self, rewrite: &mut Rewrite) -> Result<usize, Error> {
        let Snapshot { session, source } = self.whole;
        let pointers: HashSet<u64> = session
            .pointers
            .iter()
            .filter(|pointer| pointer.target.is_some_and(|target| self.keys.contains(&target)))
            .map(|pointer| pointer.line)
            .collect();
        let labels: HashSet<u64> = session
            .labels
            .lines
            .iter()
            .filter(|label| label.entry.is_none() && self.keys.contains(&label.target))
            .map(|label| label.line)
            .collect();
        let mut count = 0;
        for other in session.others.iter().filter(|other| other.span.file == 0) {
            let why = match other.kind {
                OtherKind::Pointer if pointers.contains(&other.line) => "points to a dropped entry",
                OtherKind::Label if labels.contains(&other.line) => "labels a dropped entry",
                OtherKind::Note
                    if session.format == Format::Claude && self.is_about_dropped(other.span)? =>
                {
                    "is about a dropped entry"
                }
                _ => continue,
            };
            rewrite.remove(
                session,
                source,
                other.span,
                other.line,
                Change { why: why.into(), ..Change::default() },
            )?;
            count += 1;
        }
        Ok(count)
    }

    /// Returns whether a line about the session is only about a dropped entry: a snapshot of files, or the title of
    /// old versions.
    fn is_about_dropped(&self, span: Span) -> io::Result<bool> {
        // The fields come before anything long.
        let head = self.whole.source.bytes(Span { len: span.len.min(4096), ..span })?;
        let text = |key: &str| member_at(&head, &[key]).and_then(string);
        let key = match text("type").as_deref() {
            Some("file-history-snapshot" | "file-history-delta" | "attribution-snapshot") => "messageId",
            Some("summary") => "leafUuid",
            _ => return Ok(false),
        };
        Ok(text(key).is_some_and(|id| self.keys.contains(&Key::hash(id.as_bytes()))))
    }
}

/// Lines to append, and what they do.
type LinesToAppend = (Vec<u8>, Vec<Change>);

/// Returns the lines that put HEAD back, if the lines after it were dropped.
fn put_head_back(
    whole: Snapshot<'_>,
    rewrite: &Rewrite,
    lines: &Lines,
    after: &Session,
    pieces: &[Piece],
    fresh: &mut Ids,
    now: Time,
) -> Result<Option<LinesToAppend>, Error> {
    let session = whole.session;
    let image = |ix: Option<Ix>| {
        let line = rewrite.new_line(lines, session.entries.line(ix?))?;
        after.entries.on_line(0, line)
    };
    let wanted = image(session.head.exact);
    if wanted == after.head.exact && image(session.head.entry) == after.head.entry {
        return Ok(None);
    }
    let planned = Planned::new(whole.source, pieces);
    let to = wanted.map_or(switch::To::Start, switch::To::Entry);
    let switch = switch::plan(
        Snapshot { session: after, source: &planned },
        to,
        &switch::SwitchOptions::default(),
        fresh,
        now,
    )?;
    Ok(match switch.plan.targets.into_iter().next() {
        Some(Target::Append { bytes, .. }) => Some((bytes, switch.plan.changes)),
        _ => None,
    })
}

/// The comparison of what is sent before and after.
struct Check<'a> {
    before: Snapshot<'a>,
    after: &'a Session,
    pieces: &'a [Piece],
    rewrite: &'a Rewrite,
    lines: &'a Lines,
    removal: &'a Removal<'a>,
}

impl Check<'_> {
    /// Compares the links of all entries, and what is sent at HEAD and at the ends of the kept branches; returns at
    /// how many places.
    fn all(&self, tree: &Tree) -> Result<usize, Error> {
        let session = self.before.session;
        let after = self.after;
        self.links()?;
        let (was, is) = (Context::position(session), Context::position(after));
        self.compare(was, is, "HEAD")?;
        if was.is_some() && session.head.entry.and_then(|ix| self.image(ix)) != after.head.entry {
            return Err(not_proven("HEAD would be another entry".into()));
        }
        let mut left = MOST_VISITED;
        let mut compared = 1;
        let is_kept = |leaf: &Ix| {
            !self.removal.gone[leaf.index()]
                && !self.removal.moved.contains(leaf)
                && session.entries.file(*leaf) == 0
        };
        // The ends of branches as `log` shows them, and as the links are stored.
        let mut leaves: Vec<Ix> = tree.leaves().chain(session.tree.leaves()).filter(is_kept).collect();
        leaves.sort_unstable();
        leaves.dedup();
        for leaf in leaves {
            let cost = match session.format {
                Format::Claude => 4 * session.entries.len(),
                _ => tree.ancestors(leaf).count(),
            };
            let Some(rest) = left.checked_sub(cost) else { break };
            left = rest;
            let Some(image) = self.image(leaf) else {
                return Err(not_proven(format!("line {} would be lost", session.entries.line(leaf))));
            };
            self.compare(Some(leaf), Some(image), "the end of a kept branch")?;
            compared += 1;
        }
        Ok(compared)
    }

    /// Returns what became of an entry.
    fn image(&self, ix: Ix) -> Option<Ix> {
        let line = self.rewrite.new_line(self.lines, self.before.session.entries.line(ix))?;
        self.after.entries.on_line(0, line)
    }

    fn compare(&self, was: Option<Ix>, is: Option<Ix>, place: &str) -> Result<(), Error> {
        let Snapshot { session, source } = self.before;
        let planned = Planned::new(source, self.pieces);
        let number = |line| self.rewrite.new_line(self.lines, line);
        let before = Sent::at_leaf(session, source, was, number)?;
        let after = Sent::at_leaf(self.after, &planned, is, Some)?;
        match before.difference(&after) {
            None => Ok(()),
            Some(difference) => Err(not_proven(format!("at {place}, {difference}"))),
        }
    }

    /// Compares the links of all kept entries: the agent must reach each of them as before. With their lines, that
    /// decides what is sent at the end of every branch.
    fn links(&self) -> Result<(), Error> {
        let session = self.before.session;
        let kept = session
            .entries
            .all()
            .filter(|ix| !self.removal.gone[ix.index()] && session.entries.file(*ix) == 0);
        if session.format == Format::Claude {
            let (old, new) = (ClaudeGraph::new(session), ClaudeGraph::new(self.after));
            let facts = |loader: &ClaudeGraph<'_>, ix: Ix| {
                (loader.is_loaded(ix), loader.is_kept(ix), loader.is_bridged(ix))
            };
            for ix in kept {
                let image = self.image(ix).filter(|image| {
                    let above = old.parent(ix).map(|above| self.nearest(above));
                    facts(&old, ix) == facts(&new, *image)
                        && above.is_none_or(|above| above == new.parent(*image))
                });
                if image.is_none() {
                    return Err(not_proven(format!(
                        "line {} would be linked in another way",
                        session.entries.line(ix)
                    )));
                }
            }
            return Ok(());
        }
        for ix in kept.filter(|ix| session.tree.is_in_tree(*ix)) {
            let above = session.tree.parent(ix).and_then(|above| self.nearest(above));
            if self.image(ix).is_none_or(|image| self.after.tree.parent(image) != above) {
                return Err(not_proven(format!(
                    "line {} would be linked in another way",
                    session.entries.line(ix)
                )));
            }
        }
        Ok(())
    }

    /// Returns the image of the nearest kept entry at or above another.
    fn nearest(&self, ix: Ix) -> Option<Ix> {
        let kept = self.before.session.tree.ancestors(ix).find(|above| !self.removal.gone[above.index()])?;
        self.image(kept)
    }
}

/// Returns the error for a plan that would change what is sent.
fn not_proven(what: String) -> Error {
    Error::NoPlace { what: format!("nothing was dropped: {what}"), instead: None }
}

impl Dropped {
    /// Returns the report as a sentence.
    pub fn sentence(&self) -> String {
        let notes = match self.notes {
            0 => String::new(),
            notes => format!(", {} about them", Count("line", "lines", notes)),
        };
        let branches = match self.branches {
            0 => String::new(),
            branches => format!(" with {}", Count("branch", "branches", branches)),
        };
        format!("{}{branches}{notes}", Count("entry", "entries", self.entries.len()))
    }
}
