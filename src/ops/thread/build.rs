//! Builds bough's own thread from Claude Code's transcripts; the rules are in [`super`].

mod order;

use super::line_facts::Look;
use super::links::{Links, NONE};
use crate::format::Session;
use crate::model::{Ix, Kind, Source, Time, Tree};
use std::collections::{HashMap, VecDeque};
use std::io;

/// The kinds of strands in a [`Reading`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StrandKind {
    /// The beginning of a session, up to the first rewind.
    Trunk,
    /// A continuation that begins anew at some entry, or at the start.
    Branch,
    /// The conversation of a subagent.
    Agent,
}

/// A strand: consecutive entries.
#[derive(Clone, Debug)]
pub struct Strand {
    /// Its kind.
    pub kind: StrandKind,
    /// The file of its session.
    pub file: u16,
    /// The strand to which it is attached, and the entry there; `None` if it begins by itself.
    pub above: Option<(u32, Ix)>,
    /// The time of its first entry.
    pub started: Time,
    /// Its entries; never empty.
    pub entries: Vec<Ix>,
}

/// Why an entry is on no strand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// A progress update below a child that leads nowhere.
    SideBranch,
    /// A second copy of its sibling's content, with the same time.
    Replay,
}

impl Why {
    /// Returns the name of the reason, as in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            Why::SideBranch => "side-branch",
            Why::Replay => "replay",
        }
    }

    /// Returns the corresponding rung of the documented ladder.
    pub fn rung(self) -> u8 {
        match self {
            Why::SideBranch => 1,
            Why::Replay => 6,
        }
    }
}

/// An entry that was set aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aside {
    /// The entry.
    pub ix: Ix,
    /// The reason.
    pub why: Why,
    /// The entry on a strand that represents it.
    pub by: Ix,
}

/// The thread: a session, or several with their subagents, as strands.
pub struct Reading {
    /// The strands; those of a file begin with its main strand, if it has one.
    pub strands: Vec<Strand>,
    /// The entries that are on no strand, in file order.
    pub aside: Vec<Aside>,
    /// The files that repeat entries of others: the file, the number of repeated entries, and the
    /// file that contains most of them.
    pub repeats: Vec<(u16, u32, u16)>,
    /// Entries whose parent is missing and that are attached by their position in the file, in file
    /// order.
    pub holes: Vec<Ix>,
    strand_of: Vec<u32>,
    shadowed: Vec<u32>,
    stand_for: HashMap<u32, u32>,
}

/// Linearizes the session in one file.
///
/// Costs O(n log n) time and some fifty bytes an entry while it runs; lines are read only at forks.
pub fn read(session: &Session, source: &dyn Source) -> io::Result<Reading> {
    read_with(session, source, &|_| None)
}

/// Linearizes a session with its subagents, or several sessions.
///
/// `agent` says for each file whether it is a subagent's, and the entry to which it is attached, if
/// there is one.
pub fn read_with(
    session: &Session,
    source: &dyn Source,
    agent: &dyn Fn(u16) -> Option<Option<Ix>>,
) -> io::Result<Reading> {
    let look = Look::new(session, source);
    let links = Links::find(&look, agent)?;
    let mut reader = Reader::new(&look, links);
    for file in 0..session.files.len() as u16 {
        reader.file(file, agent(file).is_some())?;
    }
    Ok(reader.finish())
}

impl Reading {
    /// Returns the strand that an entry is on, or `None` if it was set aside or another copy
    /// represents it.
    pub fn strand_of(&self, ix: Ix) -> Option<u32> {
        self.strand_of.get(ix.index()).copied().filter(|strand| *strand != NONE)
    }

    /// Returns the entry on a strand that represents another: the entry itself, the entry for which
    /// it was set aside, or its copy in an older session.
    pub fn stand_in(&self, ix: Ix) -> Ix {
        let ix = self.stand_for.get(&ix.0).map_or(ix, |other| Ix(*other));
        match self.aside.binary_search_by_key(&ix, |aside| aside.ix) {
            Ok(at) => self.aside[at].by,
            Err(_) => ix,
        }
    }

    /// Returns the entries that another copy of their id represents, in file order.
    pub fn shadowed(&self) -> impl ExactSizeIterator<Item = Ix> + '_ {
        self.shadowed.iter().map(|ix| Ix(*ix))
    }

    /// Returns the thread as a tree: the parent of each entry is the one before it on its strand,
    /// and the parent of the first is the entry to which the strand is attached.
    ///
    /// So its leaves are the ends of branches, and its paths the conversations that led to them.
    /// Entries on no strand are not part of it.
    pub fn tree(&self) -> Tree {
        let mut parents = vec![NONE; self.strand_of.len()];
        for strand in &self.strands {
            let mut above = strand.above.map_or(NONE, |(_, ix)| ix.0);
            for ix in &strand.entries {
                parents[ix.index()] = above;
                above = ix.0;
            }
        }
        let apart =
            (0..self.strand_of.len() as u32).filter(|ix| self.strand_of[*ix as usize] == NONE).map(Ix);
        Tree::of_links(parents.iter().map(|parent| Some(Ix(*parent)).filter(|ix| ix.0 != NONE)), apart)
    }

    /// Returns all entries in order: strands attached to an entry come right after it, before its
    /// own strand continues.
    pub fn order(&self) -> Vec<Ix> {
        let mut hanging: HashMap<Ix, Vec<u32>> = HashMap::new();
        let mut todo: Vec<(u32, usize)> = Vec::new();
        for (at, strand) in self.strands.iter().enumerate() {
            match strand.above {
                Some((_, ix)) => hanging.entry(ix).or_default().push(at as u32),
                None => todo.push((at as u32, 0)),
            }
        }
        let when = |strand: &u32| {
            let strand = &self.strands[*strand as usize];
            (strand.started, strand.entries.first().copied())
        };
        for strands in hanging.values_mut() {
            strands.sort_by_key(when);
        }
        todo.sort_by_key(|(strand, _)| std::cmp::Reverse(when(strand)));
        let mut order = Vec::with_capacity(self.strand_of.len());
        while let Some((strand, from)) = todo.pop() {
            let entries = &self.strands[strand as usize].entries;
            for (place, ix) in entries.iter().enumerate().skip(from) {
                order.push(*ix);
                if let Some(strands) = hanging.get(ix) {
                    if place + 1 < entries.len() {
                        todo.push((strand, place + 1));
                    }
                    todo.extend(strands.iter().rev().map(|strand| (*strand, 0)));
                    break;
                }
            }
        }
        order
    }
}

/// How the walk continues from a fork.
#[derive(Default)]
struct Step {
    /// Children whose subtrees follow immediately, on this strand.
    stitched: Vec<u32>,
    /// Children with which the strand continues, one after the other, each with everything below
    /// it.
    parts: Vec<u32>,
    /// The beginnings of new strands.
    branches: Vec<Vec<u32>>,
}

/// The next task of a strand.
enum Task {
    /// Continue from an entry.
    Walk(u32),
    /// Begin branches at the current end of the strand.
    Branch(Vec<Vec<u32>>),
}

struct Reader<'r> {
    look: &'r Look<'r>,
    links: Links,
    /// The first child of each entry in its own file.
    first: Vec<u32>,
    /// The next sibling of each entry, in file order.
    next: Vec<u32>,
    /// Children of copies, which count as children of the originals.
    adopted: HashMap<u32, Vec<u32>>,
    /// Whether user or assistant entries are below.
    talks: Vec<bool>,
    /// Whether assistant entries are at or below.
    answered: Vec<bool>,
    /// The last entry at or below, in file order.
    last: Vec<u32>,
    /// The first user or assistant entry at or below, in file order.
    lead: Vec<u32>,
    strand_of: Vec<u32>,
    strands: Vec<Strand>,
    aside: Vec<Aside>,
    /// Lines whose strand is that of an entry above.
    hanging: Vec<(u32, u32)>,
}

impl<'r> Reader<'r> {
    fn new(look: &'r Look<'r>, links: Links) -> Reader<'r> {
        let entries = &look.session.entries;
        let count = entries.len();
        let mut file_of = vec![0u16; if look.session.files.len() > 1 { count } else { 0 }];
        for file in 0..look.session.files.len() as u16 {
            if !file_of.is_empty() {
                let range = entries.of_file(file);
                file_of[range.start as usize..range.end as usize].fill(file);
            }
        }
        // The parent of an entry, if it is in the same file.
        let inside = |links: &Links, ix: u32| -> u32 {
            let above = links.up[ix as usize];
            let same =
                above != NONE && (file_of.is_empty() || file_of[above as usize] == file_of[ix as usize]);
            if same { above } else { NONE }
        };
        let mut reader = Reader {
            look,
            first: vec![NONE; count],
            next: vec![NONE; count],
            adopted: HashMap::new(),
            talks: vec![false; count],
            answered: (0..count as u32).map(|ix| entries.kind(Ix(ix)) == Kind::Assistant).collect(),
            last: (0..count as u32).collect(),
            lead: (0..count as u32)
                .map(|ix| if entries.kind(Ix(ix)).is_turn() { ix } else { NONE })
                .collect(),
            strand_of: vec![NONE; count],
            strands: Vec::new(),
            aside: Vec::new(),
            hanging: Vec::new(),
            links,
        };
        let points_back = reader.links.up.iter().zip(0..).all(|(above, ix)| *above < ix || *above == NONE);
        for ix in (0..count as u32).rev() {
            let above = inside(&reader.links, ix);
            if above == NONE {
                continue;
            }
            reader.next[ix as usize] = std::mem::replace(&mut reader.first[above as usize], ix);
            if points_back {
                // All descendants of an entry come after it.
                reader.take_in(above, ix);
            }
        }
        if !points_back {
            let mut order: Vec<u32> =
                (0..count as u32).filter(|ix| inside(&reader.links, *ix) == NONE).collect();
            let mut at = 0;
            while let Some(ix) = order.get(at).copied() {
                order.extend(reader.listed(ix));
                at += 1;
            }
            for ix in order.into_iter().rev() {
                let above = inside(&reader.links, ix);
                if above != NONE {
                    reader.take_in(above, ix);
                }
            }
        }
        reader
    }

    /// Adds the facts about a child and its descendants to its parent.
    fn take_in(&mut self, ix: u32, child: u32) {
        let (at, below) = (ix as usize, child as usize);
        self.talks[at] |= self.lead[below] != NONE;
        self.answered[at] |= self.answered[below];
        self.last[at] = self.last[at].max(self.last[below]);
        if !self.look.session.entries.kind(Ix(ix)).is_turn() {
            self.lead[at] = self.lead[at].min(self.lead[below]);
        }
    }

    /// Returns the children of an entry in its own file, in file order.
    fn listed(&self, ix: u32) -> impl Iterator<Item = u32> + '_ {
        let is_there = |ix: &u32| *ix != NONE;
        let first = Some(self.first[ix as usize]).filter(is_there);
        std::iter::successors(first, move |ix| Some(self.next[*ix as usize]).filter(is_there))
    }

    /// Returns the children of an entry, and of its copies, in its own file.
    fn kids(&self, ix: u32) -> Vec<u32> {
        let mut kids: Vec<u32> = self.listed(ix).collect();
        if let Some(adopted) = self.adopted.get(&ix) {
            kids.extend_from_slice(adopted);
        }
        kids
    }

    fn kind(&self, ix: u32) -> Kind {
        self.look.session.entries.kind(Ix(ix))
    }

    /// Returns whether there are no user or assistant entries below an entry.
    fn quiet(&self, ix: u32) -> bool {
        !self.talks[ix as usize]
    }

    /// Sorts entries by time; equal ones, and those without a time, are in file order.
    fn by_time(&self, kids: &mut [u32]) {
        let entries = &self.look.session.entries;
        kids.sort_unstable();
        if kids.iter().all(|ix| entries.time(Ix(*ix)).is_some()) {
            kids.sort_by_key(|ix| entries.time(Ix(*ix)));
        }
    }

    /// Walks one file: from its roots, then the strands attached to other files, then the subagents
    /// in it.
    fn file(&mut self, file: u16, agent: bool) -> io::Result<()> {
        let range = self.look.session.entries.of_file(file);
        // These are in file order.
        let from = self.links.agents.partition_point(|(ix, _)| *ix < range.start);
        let to = self.links.agents.partition_point(|(ix, _)| *ix < range.end);
        let inner = self.links.agents[from..to].to_vec();
        let (mut tops, mut across) = (Vec::new(), Vec::new());
        for ix in range.clone() {
            if self.links.shadowed.binary_search(&ix).is_ok()
                || inner.binary_search_by_key(&ix, |(ix, _)| *ix).is_ok()
            {
                continue;
            }
            match self.links.up[ix as usize] {
                NONE => tops.push(ix),
                above if !range.contains(&above) => across.push(ix),
                _ => {}
            }
        }
        let first_strand = self.strands.len();
        let kind = if agent { StrandKind::Agent } else { StrandKind::Trunk };
        if !tops.is_empty() {
            self.begin(file, kind, tops)?;
        }
        for ix in across {
            let kind = match kind {
                StrandKind::Trunk if self.strands.len() > first_strand => StrandKind::Branch,
                kind => kind,
            };
            let above = self.links.up[ix as usize];
            let strand = self.walk(file, kind, vec![ix])?;
            self.hanging.push((strand, above));
        }
        for (ix, above) in inner {
            let strand = self.walk(file, StrandKind::Agent, vec![ix])?;
            if above != NONE {
                self.hanging.push((strand, above));
            }
        }
        Ok(())
    }

    /// Walks the entries without a parent, as if they were children of the point before the
    /// session.
    fn begin(&mut self, file: u16, kind: StrandKind, tops: Vec<u32>) -> io::Result<()> {
        let step = self.step(NONE, tops)?;
        if step.stitched.is_empty() && step.parts.is_empty() {
            for heads in step.branches {
                self.walk(file, StrandKind::Branch, heads)?;
            }
            return Ok(());
        }
        let strand = self.strand(kind, file, None);
        let mut todo = VecDeque::new();
        let mut stack = Vec::new();
        self.take(step, strand, &mut stack);
        self.fill_strand(strand, stack, &mut todo)?;
        self.rest(file, todo)
    }

    /// Walks a strand from its first entries, and all its branches; returns its number.
    fn walk(&mut self, file: u16, kind: StrandKind, heads: Vec<u32>) -> io::Result<u32> {
        let strand = self.strand(kind, file, None);
        let mut todo = VecDeque::new();
        self.fill_strand(strand, heads.into_iter().rev().map(Task::Walk).collect(), &mut todo)?;
        self.rest(file, todo)?;
        Ok(strand)
    }

    /// Walks the branches that were found, and those found in them.
    fn rest(&mut self, file: u16, mut todo: VecDeque<(u32, Ix, Vec<u32>)>) -> io::Result<()> {
        while let Some((above, at, heads)) = todo.pop_front() {
            let strand = self.strand(StrandKind::Branch, file, Some((above, at)));
            self.fill_strand(strand, heads.into_iter().rev().map(Task::Walk).collect(), &mut todo)?;
        }
        Ok(())
    }

    /// Adds entries to a strand until it ends. `stack` contains the pending tasks, the next one
    /// last.
    fn fill_strand(
        &mut self,
        strand: u32,
        mut stack: Vec<Task>,
        todo: &mut VecDeque<(u32, Ix, Vec<u32>)>,
    ) -> io::Result<()> {
        while let Some(task) = stack.pop() {
            let mut next = match task {
                Task::Walk(ix) => ix,
                Task::Branch(branches) => {
                    let at = *self.strands[strand as usize]
                        .entries
                        .last()
                        .expect("branches have something before");
                    todo.extend(branches.into_iter().map(|heads| (strand, at, heads)));
                    continue;
                }
            };
            loop {
                self.push(next, strand);
                let kid = self.first[next as usize];
                // Nearly all entries have one child.
                if kid != NONE && self.next[kid as usize] == NONE && self.adopted.is_empty() {
                    next = kid;
                    continue;
                }
                let kids = self.kids(next);
                if let [kid] = kids[..] {
                    next = kid;
                    continue;
                }
                if !kids.is_empty() {
                    let step = self.step(next, kids)?;
                    self.take(step, strand, &mut stack);
                }
                break;
            }
        }
        Ok(())
    }

    /// Adds the stitched children to a strand; the rest of a step is pushed as tasks.
    fn take(&mut self, step: Step, strand: u32, stack: &mut Vec<Task>) {
        for kid in &step.stitched {
            self.stitch(*kid, strand);
        }
        if !step.branches.is_empty() {
            stack.push(Task::Branch(step.branches));
        }
        stack.extend(step.parts.into_iter().rev().map(Task::Walk));
    }

    /// Starts a strand; returns its number.
    fn strand(&mut self, kind: StrandKind, file: u16, above: Option<(u32, Ix)>) -> u32 {
        self.strands.push(Strand { kind, file, above, started: Time::NONE, entries: Vec::new() });
        self.strands.len() as u32 - 1
    }

    fn push(&mut self, ix: u32, strand: u32) {
        self.strand_of[ix as usize] = strand;
        self.strands[strand as usize].entries.push(Ix(ix));
    }

    /// Adds a child that leads nowhere to a strand, with all entries below it except progress
    /// updates.
    fn stitch(&mut self, head: u32, strand: u32) {
        let mut todo = vec![head];
        while let Some(ix) = todo.pop() {
            if ix != head && self.kind(ix) == Kind::Progress {
                self.aside.push(Aside { ix: Ix(ix), why: Why::SideBranch, by: Ix(head) });
            } else {
                self.push(ix, strand);
            }
            todo.extend(self.kids(ix).into_iter().rev());
        }
    }

    /// Decides at a fork; `at` is [`NONE`] before the start.
    fn step(&mut self, at: u32, mut kids: Vec<u32>) -> io::Result<Step> {
        self.by_time(&mut kids);
        self.set_copies_aside(&mut kids)?;
        let (stitched, mut rest): (Vec<u32>, Vec<u32>) =
            kids.into_iter().partition(|kid| self.lead[*kid as usize] == NONE);
        let mut step = Step { stitched, ..Step::default() };
        if rest.len() > 1 {
            // A compaction that keeps its parent comes between the parent and the entries that were
            // written after it, unless it was answered: then the user went back to the parent. A child
            // that was written before it is what the compaction left out, or what the user rewound.
            // Either is a branch of its own, as the compaction is.
            let keeps = |kid: &u32| self.links.kept.get(kid).is_some_and(|kept| kept.contains(&at));
            let first = rest.iter().copied().filter(|kid| !keeps(kid)).min();
            let (kept, others): (Vec<u32>, Vec<u32>) = rest.into_iter().partition(|kid| {
                keeps(kid) && first.is_none_or(|first| *kid < first && !self.answered[*kid as usize])
            });
            step.parts = kept;
            rest = others;
        }
        if rest.len() < 2 {
            step.parts.append(&mut rest);
            return Ok(step);
        }
        let (mut turn, mut own) = self.sorted_out(at, rest)?;
        let says_nothing_new =
            |kid: &u32| self.quiet(*kid) && matches!(self.kind(*kid), Kind::Tool | Kind::User);
        if own.is_empty() || turn.iter().all(says_nothing_new) {
            self.by_end(&mut turn);
            step.parts.append(&mut turn);
        } else {
            own.push(turn);
            own.sort_by_key(|kids| kids.iter().map(|kid| self.when(*kid)).min());
        }
        if let [only] = &mut own[..] {
            step.parts.append(only);
        } else {
            step.branches = own;
        }
        Ok(step)
    }

    fn when(&self, ix: u32) -> (Time, u32) {
        (self.look.session.entries.time(Ix(ix)), ix)
    }

    fn finish(mut self) -> Reading {
        self.aside.sort_unstable_by_key(|aside| aside.ix);
        // The representative of a copy may itself have been set aside as a copy of another.
        let by: HashMap<Ix, Ix> = self.aside.iter().map(|aside| (aside.ix, aside.by)).collect();
        let stand_in = |mut ix: Ix| {
            while let Some(other) = by.get(&ix) {
                ix = *other;
            }
            ix
        };
        for aside in &mut self.aside {
            aside.by = stand_in(aside.by);
        }
        for (strand, above) in &self.hanging {
            let at = stand_in(Ix(*above));
            let on = self.strand_of[at.index()];
            if on != NONE && on != *strand {
                self.strands[*strand as usize].above = Some((on, at));
            }
        }
        for strand in &mut self.strands {
            strand.started =
                strand.entries.first().map_or(Time::NONE, |ix| self.look.session.entries.time(*ix));
        }
        let holes = self.links.holes.iter().map(|ix| Ix(*ix)).collect();
        Reading {
            strands: self.strands,
            aside: self.aside,
            repeats: self.links.repeats,
            holes,
            strand_of: self.strand_of,
            shadowed: self.links.shadowed,
            stand_for: self.links.stand_for,
        }
    }
}

/// The maximum number of steps to search upward for the current reply.
const NEAR: usize = 64;
