//! Drops branches: the entries at and below some of them, and what belongs only to these.
//!
//! The complement of an export of a subtree. The file is composed anew without the lines of the
//! dropped entries, of their labels, of pointers to them, and of the snapshots that name them. All
//! other lines stay as they are, with one exception: a kept line whose parent is dropped gets the
//! nearest kept ancestor as its parent, e.g. the label of a kept entry that is stored on a dropped
//! branch. What the agent would send at HEAD and at the end of each kept branch is compared before
//! anything is written.

mod check;
mod removal;

use super::rewrite::{Lines, Rewrite};
use super::{Error, Snapshot, branches, switch};
use crate::context::Context;
use crate::format::{Content, Format, Ids, Session};
use crate::model::{Change, Count, Flags, Ix, Key, Kind, Piece, Plan, Planned, Target, Time};
use crate::ops::turns::Thread;
use check::Check;
use removal::Removal;
use std::collections::HashSet;
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

/// Plans a drop, and verifies it.
pub fn plan(whole: Snapshot<'_>, what: What<'_>, fresh: &mut Ids, now: Time) -> Result<Dropped, Error> {
    let session = whole.session;
    super::writable(session)?;
    let thread = Thread::new(whole)?;
    let mut choice = Choice::new(session, &thread);
    let gone = match what {
        What::Entries(entries) => {
            let gone = choice.below(whole, entries)?;
            match parts_of_kept_replies(whole, &gone)? {
                parts if parts.is_empty() => gone,
                parts => return Err(choice.refusal(whole, &parts)?),
            }
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
    if !removal.gone.contains(&true) {
        // All of it is about kept entries.
        return Ok(dropped);
    }
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

    /// Returns the error that parts of a kept reply would be dropped. There must be one.
    fn refusal(&self, whole: Snapshot<'_>, parts: &[Ix]) -> io::Result<Error> {
        // What is below the parts can be dropped without them.
        let tree = self.thread.tree();
        let mut leading: HashSet<Ix> = HashSet::new();
        for part in parts {
            leading.extend(
                tree.ancestors(*part).take_while(|above| !leading.contains(above)).collect::<Vec<_>>(),
            );
        }
        let below = parts.iter().flat_map(|part| tree.children(*part)).filter(|ix| !leading.contains(ix));
        let below: Vec<String> = below.map(|ix| whole.name(ix)).collect::<io::Result<_>>()?;
        Ok(Error::NoPlace {
            what: format!("{} is part of a reply that a kept branch shows", whole.name(parts[0])?),
            instead: match below.is_empty() {
                true => Some("it is dropped with that branch".into()),
                false => Some(format!("`bough drop {}` removes what is below it", below.join(" "))),
            },
        })
    }

    /// Chooses again until no part of a kept reply would be dropped; what would be is held.
    fn without_parts(
        &mut self,
        whole: Snapshot<'_>,
        choose: impl Fn(&Self) -> Vec<bool>,
    ) -> Result<Vec<bool>, Error> {
        loop {
            let gone = choose(self);
            let parts = parts_of_kept_replies(whole, &gone)?;
            if parts.is_empty() {
                return Ok(gone);
            }
            if parts.iter().all(|part| self.held[part.index()]) {
                // They are dropped although they are held: another round would choose the same.
                return Err(self.refusal(whole, &parts)?);
            }
            let places = self.session.places();
            for part in &parts {
                self.hold(*part);
                // The entry of an id is dropped with all its copies.
                if let Some(entry) = places.get(&self.session.entries.key(*part)) {
                    self.hold(*entry);
                }
            }
            self.parts += parts.len();
        }
    }

    /// Drops every branch that does not lead to HEAD, or to one of the kept entries, and is not below one of these.
    fn others(&mut self, whole: Snapshot<'_>, kept: &[Ix]) -> Result<Vec<bool>, Error> {
        for ix in kept {
            self.hold(*ix);
            for below in self.thread.tree().subtree(self.thread.stand_in(*ix)) {
                self.held[below.index()] = true;
            }
        }
        self.without_parts(whole, Choice::not_held)
    }

    /// Drops every branch from its first entry that is not held.
    fn not_held(&self) -> Vec<bool> {
        let (session, tree) = (self.session, self.thread.tree());
        let mut gone = vec![false; session.entries.len()];
        // The way from the leaves up to tops that are not branches; each is walked once.
        let mut beside = vec![false; session.entries.len()];
        for leaf in tree.leaves() {
            let mut path: Vec<Ix> = Vec::new();
            let mut is_beside = false;
            for ix in tree.ancestors(leaf) {
                is_beside = beside[ix.index()];
                if is_beside || self.held[ix.index()] || gone[ix.index()] {
                    break;
                }
                path.push(ix);
            }
            let Some(top) = path.last().copied() else { continue };
            if is_beside || self.is_beside(top) {
                path.into_iter().for_each(|ix| beside[ix.index()] = true);
            } else {
                tree.subtree(top).into_iter().for_each(|ix| gone[ix.index()] = true);
            }
        }
        gone
    }

    /// Returns where the branches begin of which the end is dropped and the beginning stays, in file order.
    fn rests(&self, gone: &[bool]) -> Vec<Ix> {
        let (session, tree) = (self.session, self.thread.tree());
        let kept_below = |ix: Ix| tree.children(ix).filter(|below| !gone[below.index()]).count();
        let ends = session.entries.all().filter(|ix| gone[ix.index()]).filter_map(|ix| tree.parent(ix));
        let mut ends: Vec<Ix> = ends.filter(|end| !gone[end.index()]).collect();
        // An entry may have had many branches.
        ends.sort_unstable();
        ends.dedup();
        ends.retain(|end| kept_below(*end) == 0);
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
    fn failed(&mut self, whole: Snapshot<'_>) -> Result<Vec<bool>, Error> {
        self.without_parts(whole, Choice::failed_not_held)
    }

    /// Returns the failed replies that may go, with their prompts.
    fn failed_not_held(&self) -> Vec<bool> {
        let (session, tree) = (self.session, self.thread.tree());
        let stays = self.staying_beside_failed();
        let mut gone = vec![false; session.entries.len()];
        for ix in tree.entries_in_tree().filter(|ix| is_failed(session, *ix) && !stays[ix.index()]) {
            if gone[ix.index()] {
                continue;
            }
            // From the reply up to its prompt, if nothing else was replied to it.
            let mut top = ix;
            for above in tree.ancestors(ix).skip(1).take_while(|above| !stays[above.index()]) {
                top = above;
            }
            tree.subtree(top).into_iter().for_each(|ix| gone[ix.index()] = true);
        }
        gone
    }

    /// Returns the entries that must stay if failed replies go: an entry is held, or it is a reply or a
    /// result, or something below it must stay.
    fn staying_beside_failed(&self) -> Vec<bool> {
        let (session, tree) = (self.session, self.thread.tree());
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
        stays
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
