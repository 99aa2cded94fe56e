//! The parent of each entry in bough's own thread: the stored links, and replacements for missing
//! parents.

use super::line_facts::{Look, line_text};
use super::text::{Standing, normal};
use crate::model::{Flags, Ix, Key, Kind, Parent, Time};
use std::collections::{HashMap, VecDeque};
use std::io;

pub(crate) const NONE: u32 = u32::MAX;

/// The links of a thread.
pub(crate) struct Links {
    /// The parent of each entry, in its own file or in another; [`NONE`] if there is none.
    pub(crate) up: Vec<u32>,
    /// The entries that another copy represents, in file order.
    pub(crate) shadowed: Vec<u32>,
    /// Entries whose parent is missing and that are attached by their position, sorted.
    pub(crate) holes: Vec<u32>,
    /// Compactions, with the entries that they keep.
    pub(crate) kept: HashMap<u32, Vec<u32>>,
    /// The first entries of subagents in a session's own file, each with the entry to which it is
    /// attached.
    pub(crate) agents: Vec<(u32, u32)>,
    /// For each shadowed entry, the entry that represents it, if that is in another file.
    pub(crate) stand_for: HashMap<u32, u32>,
    /// The files that repeat entries of others: how many, and the file that contains most of them.
    pub(crate) repeats: Vec<(u16, u32, u16)>,
}

impl Links {
    /// Finds the parents of the entries of a session, or of several sessions with their subagents.
    ///
    /// `agent` says for each file whether it is a subagent's, and the entry to which it is
    /// attached.
    pub(crate) fn find(look: &Look<'_>, agent: &dyn Fn(u16) -> Option<Option<Ix>>) -> io::Result<Links> {
        let session = look.session;
        let mut links = Links {
            up: Vec::new(),
            shadowed: session.tree.shadowed().map(|ix| ix.0).collect(),
            holes: Vec::new(),
            kept: HashMap::new(),
            agents: Vec::new(),
            stand_for: HashMap::new(),
            repeats: Vec::new(),
        };
        // The target of each link that does not lead to an entry.
        let mut lost = Vec::new();
        if session.files.len() > 1 {
            links.across_files(look, agent, &mut lost)?;
        } else {
            links.up = session
                .entries
                .all()
                .map(|ix| match session.tree.link(ix) {
                    Parent::Entry(parent) => parent.0,
                    Parent::Root => NONE,
                    Parent::Missing | Parent::Cycle(_) => {
                        lost.push(ix.0);
                        NONE
                    }
                })
                .collect();
            let shadowed = &links.shadowed;
            lost.retain(|ix| shadowed.binary_search(ix).is_err());
        }
        links.attach_roots(look, &lost, agent)?;
        Ok(links)
    }

    /// Resolves links by id over several files: of the copies of an id, the one in the oldest file
    /// counts, and within one file the last.
    ///
    /// A link from a session into a subagent's transcript counts as lost, because Claude Code reads
    /// only the session.
    fn across_files(
        &mut self,
        look: &Look<'_>,
        agent: &dyn Fn(u16) -> Option<Option<Ix>>,
        lost: &mut Vec<u32>,
    ) -> io::Result<()> {
        let entries = &look.session.entries;
        let files = look.session.files.len();
        let ages = ages(look)?;
        let mut by_key: HashMap<Key, u32> = HashMap::with_capacity(entries.len());
        let mut apart = vec![false; entries.len()];
        let mut repeats: HashMap<(u16, u16), u32> = HashMap::new();
        for file in 0..files as u16 {
            for ix in entries.of_file(file) {
                let key = entries.key(Ix(ix));
                if !key.is_some() {
                    continue;
                }
                let known = by_key.entry(key).or_insert(ix);
                if *known == ix {
                    continue;
                }
                let other = entries.file(Ix(*known));
                if other == file || ages[usize::from(file)] < ages[usize::from(other)] {
                    apart[*known as usize] = true;
                    *known = ix;
                } else {
                    apart[ix as usize] = true;
                }
                if other != file {
                    let newer = ages[usize::from(file)] > ages[usize::from(other)];
                    let pair = if newer { (file, other) } else { (other, file) };
                    *repeats.entry(pair).or_default() += 1;
                }
            }
        }
        self.shadowed = (0..entries.len() as u32).filter(|ix| apart[*ix as usize]).collect();
        let winner = |ix: u32| by_key[&entries.key(Ix(ix))];
        self.stand_for = self.shadowed.iter().map(|ix| (*ix, winner(*ix))).collect();
        let mut of_file: HashMap<u16, (u32, u32, u16)> = HashMap::new();
        for ((file, other), count) in repeats {
            let all = of_file.entry(file).or_insert((0, 0, other));
            all.0 += count;
            if (count, std::cmp::Reverse(other)) > (all.1, std::cmp::Reverse(all.2)) {
                (all.1, all.2) = (count, other);
            }
        }
        self.repeats = of_file.into_iter().map(|(file, (all, _, other))| (file, all, other)).collect();
        self.repeats.sort_unstable();
        let agents: Vec<bool> = (0..files as u16).map(|file| agent(file).is_some()).collect();
        self.up = vec![NONE; entries.len()];
        let mut forward = Vec::new();
        for ix in entries.all().filter(|ix| !apart[ix.index()]) {
            let Some(key) = entries.parent_key(ix).filter(|key| key.is_some()) else { continue };
            let is_agent = |ix: u32| agents[usize::from(entries.file(Ix(ix)))];
            match by_key.get(&key) {
                Some(parent) if is_agent(*parent) && !is_agent(ix.0) => lost.push(ix.0),
                Some(parent) if *parent < ix.0 => self.up[ix.index()] = *parent,
                Some(parent) => forward.push((ix.0, *parent)),
                None => lost.push(ix.0),
            }
        }
        // Links that point back form no cycle; the others are checked one by one. In a cycle, the
        // first link that points forward is cut.
        let mut tops = Tops(self.up.clone());
        for (ix, parent) in forward.into_iter().rev() {
            if tops.join(ix, parent) {
                self.up[ix as usize] = parent;
            } else {
                lost.push(ix);
            }
        }
        lost.sort_unstable();
        Ok(())
    }

    /// Finds a parent for entries without one: compactions continue where they say, and the entry
    /// before in the file replaces a lost parent, and the parent of any entry except a prompt.
    fn attach_roots(
        &mut self,
        look: &Look<'_>,
        lost: &[u32],
        agent: &dyn Fn(u16) -> Option<Option<Ix>>,
    ) -> io::Result<()> {
        let session = look.session;
        let entries = &session.entries;
        let apart = |links: &Links, ix: u32| links.shadowed.binary_search(&ix).is_ok();
        let compactions = self.compactions(look)?;
        let mut tops: Option<Tops> = None;
        for file in 0..session.files.len().max(1) as u16 {
            let own = agent(file);
            let (mut before, mut agent_before) = (NONE, NONE);
            // The last calls of the main conversation, with the prompts in those that were read.
            let mut calls: VecDeque<(u32, Option<Vec<String>>)> = VecDeque::new();
            for ix in entries.of_file(file) {
                if apart(self, ix) {
                    continue;
                }
                let flags = entries.flags(Ix(ix));
                let side = own.is_none() && flags.has(Flags::SIDECHAIN);
                if self.up[ix as usize] == NONE {
                    let is_lost = lost.binary_search(&ix).is_ok();
                    let mut wanted: Vec<u32> = Vec::new();
                    if let Some(targets) = compactions.get(&ix) {
                        wanted.extend(targets.iter().copied().filter(|target| *target < ix));
                    }
                    if side {
                        if is_lost {
                            wanted.push(agent_before);
                        }
                    } else if is_lost || !look.is_typed(Ix(ix))? {
                        wanted.push(before);
                    }
                    let mut placed = false;
                    for above in wanted.into_iter().filter(|above| *above != NONE) {
                        let tops = tops.get_or_insert_with(|| Tops(self.up.clone()));
                        if tops.join(ix, above) {
                            self.up[ix as usize] = above;
                            placed = true;
                            break;
                        }
                    }
                    if placed && is_lost {
                        self.holes.push(ix);
                    }
                    if !placed && side {
                        // In a damaged file the main conversation may be below a subagent's entry,
                        // or two subagents below each other; then the subagent is attached to
                        // nothing.
                        let start = started_by(look, ix, &mut calls)?.unwrap_or(before);
                        let tops = tops.get_or_insert_with(|| Tops(self.up.clone()));
                        let free = start != NONE && tops.join(ix, start);
                        self.agents.push((ix, if free { start } else { NONE }));
                    }
                }
                if entries.kind(Ix(ix)) != Kind::Progress {
                    if side {
                        agent_before = ix;
                    } else {
                        before = ix;
                        if entries.kind(Ix(ix)) == Kind::Assistant && flags.has(Flags::CALL) {
                            calls.push_back((ix, None));
                            if calls.len() > NEAR_CALLS {
                                calls.pop_front();
                            }
                        }
                    }
                }
            }
            if let Some(Some(anchor)) = own {
                // The first entry of a subagent is attached to the entry that started it.
                let anchor = self.stand_for.get(&anchor.0).copied().unwrap_or(anchor.0);
                let tops = tops.get_or_insert_with(|| Tops(self.up.clone()));
                for ix in entries.of_file(file) {
                    if self.up[ix as usize] == NONE && !apart(self, ix) && tops.join(ix, anchor) {
                        self.up[ix as usize] = anchor;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the compactions without a parent, each with the entries that it may continue from,
    /// the last one first. Also records the entries that they keep.
    fn compactions(&mut self, look: &Look<'_>) -> io::Result<HashMap<u32, Vec<u32>>> {
        let entries = &look.session.entries;
        let keys = |uuids: &mut dyn Iterator<Item = &String>| -> Vec<Key> {
            uuids.map(|uuid| Key::hash(uuid.as_bytes())).collect()
        };
        let mut named: Vec<(u32, Vec<Key>, Vec<Key>)> = Vec::new();
        for ix in entries.all().filter(|ix| entries.kind(*ix) == Kind::Compaction) {
            let boundary = look.line(ix, Standing::read)?;
            named.push((ix.0, keys(&mut boundary.targets()), keys(&mut boundary.kept.iter())));
        }
        let mut found: HashMap<Key, u32> =
            named.iter().flat_map(|(_, keys, _)| keys).map(|key| (*key, NONE)).collect();
        if !found.is_empty() {
            for ix in entries.all().filter(|ix| self.shadowed.binary_search(&ix.0).is_err()) {
                if let Some(slot) = found.get_mut(&entries.key(ix)) {
                    *slot = ix.0;
                }
            }
        }
        let mut out = HashMap::new();
        for (ix, targets, kept) in named {
            let file = entries.file(Ix(ix));
            let of = |keys: Vec<Key>| -> Vec<u32> {
                keys.iter()
                    .map(|key| found[key])
                    .filter(|target| *target != NONE && entries.file(Ix(*target)) == file)
                    .collect()
            };
            let kept = of(kept);
            if !kept.is_empty() {
                self.kept.insert(ix, kept);
            }
            // A compaction comes after the last of the entries that it keeps and names; which of
            // the two it is depends on the type of compaction.
            let mut targets = of(targets);
            targets.sort_unstable_by_key(|target| std::cmp::Reverse(*target));
            out.insert(ix, targets);
        }
        Ok(out)
    }
}

/// How many calls back the one that started a subagent is searched for.
const NEAR_CALLS: usize = 16;

/// Returns the call whose prompt equals the first message to a subagent in the session's own file.
/// Each call starts one subagent.
fn started_by(
    look: &Look<'_>,
    ix: u32,
    calls: &mut VecDeque<(u32, Option<Vec<String>>)>,
) -> io::Result<Option<u32>> {
    let prompt_text = normal(&look.line(Ix(ix), line_text)?);
    for (call, prompts) in calls.iter_mut() {
        if prompts.is_none() {
            *prompts = Some(look.spawns(Ix(*call))?.iter().map(|prompt| normal(prompt)).collect());
        }
        let prompts = prompts.as_mut().expect("they were looked up just now");
        if let Some(at) = prompts.iter().position(|prompt| *prompt == prompt_text) {
            prompts.swap_remove(at);
            return Ok(Some(*call));
        }
    }
    Ok(None)
}

/// What determines the older of two sessions: its first time; then whether it claims to be a copy;
/// then the number of lines between its entries, because a copy is written in one go; then its file
/// number.
type Age = (Time, bool, std::cmp::Reverse<usize>, u16);

fn ages(look: &Look<'_>) -> io::Result<Vec<Age>> {
    let entries = &look.session.entries;
    let mut ages = Vec::new();
    let mut same: HashMap<Time, Vec<u16>> = HashMap::new();
    for file in 0..look.session.files.len() as u16 {
        let times = entries.of_file(file).map(|ix| entries.time(Ix(ix)));
        let first = times.filter(|time| time.is_some()).min().unwrap_or(Time(i64::MAX));
        same.entry(first).or_default().push(file);
        ages.push((first, false, std::cmp::Reverse(0), file));
    }
    let others = &look.session.others;
    for files in same.values().filter(|files| files.len() > 1) {
        let shared =
            files.iter().map(|file| entries.of_file(*file).len() as u32).filter(|len| *len > 0).min();
        for file in files {
            let range = entries.of_file(*file);
            let age = &mut ages[usize::from(*file)];
            if !range.is_empty() {
                age.1 = look.line(Ix(range.start), |line| super::line_facts::forked_from(line).is_some())?;
            }
            let from = others.partition_point(|other| other.span.file < *file);
            let between = others[from..]
                .iter()
                .take_while(|other| {
                    other.span.file == *file && other.before < range.start + shared.unwrap_or(0)
                })
                .filter(|other| other.before > range.start);
            age.2 = std::cmp::Reverse(between.count());
        }
    }
    Ok(ages)
}

/// The root of each entry's tree, with shortcuts.
struct Tops(Vec<u32>);

impl Tops {
    fn top(&mut self, mut ix: u32) -> u32 {
        loop {
            let up = self.0[ix as usize];
            if up == NONE {
                return ix;
            }
            let twice = self.0[up as usize];
            if twice == NONE {
                return up;
            }
            self.0[ix as usize] = twice;
            ix = twice;
        }
    }

    /// Makes the root `ix` a child of another entry, unless that entry is below it.
    fn join(&mut self, ix: u32, above: u32) -> bool {
        let free = self.top(above) != ix;
        if free {
            self.0[ix as usize] = above;
        }
        free
    }
}
