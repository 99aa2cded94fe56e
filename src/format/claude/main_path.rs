//! The main path: the path to a leaf, and the entries that are inserted into it from elsewhere.

use super::graph::{BRIDGED, ClaudeGraph, EntrySet, IN, KEPT, NONE, Step, Way};
use crate::model::{Flags, Ix, Key, Kind};
use std::collections::{HashMap, HashSet};

impl ClaudeGraph<'_> {
    /// Returns the last turn of the main path of `way`, without building all of it, and the entry
    /// after which the next prompt comes, if the turn was inserted from elsewhere.
    pub(super) fn last_turn(&self, way: &[u32]) -> Option<(u32, Option<u32>)> {
        let at = way.iter().rposition(|ix| self.is_turn(*ix))?;
        let end = way[at];
        // The reply whose other parts and results are inserted after the end, and its last position
        // in the path.
        let (group, trigger) = match self.kind(end) {
            Kind::Assistant => (self.group(end), at),
            Kind::Tool if at > 0 && self.kind(way[at - 1]) == Kind::Assistant => {
                (self.group(way[at - 1]), at - 1)
            }
            _ => return Some((end, None)),
        };
        if !group.is_some() {
            return Some((self.open_call(way, trigger, &[]).unwrap_or(end), None));
        }
        let mut on_way = EntrySet::new(self.count);
        way.iter().for_each(|ix| on_way.set(*ix));
        let is_part = |ix: &u32| self.kind(*ix) == Kind::Assistant && self.group(*ix) == group;
        let from = way[..trigger].iter().rposition(|ix| !is_part(ix)).map_or(0, |at| at + 1);
        // Other parts may have been inserted after an earlier run of adjacent parts.
        let before = way[..from].iter().rposition(is_part);
        let reply = (way.iter().position(is_part).unwrap_or_default(), trigger);
        let in_order = self.is_in_order(way);
        let elsewhere: Vec<u32> = self
            .rows()
            .filter(|ix| is_part(ix) && !on_way.has(*ix))
            .filter(|ix| before.is_none_or(|before| self.inserted_after(*ix, way, reply, in_order) > before))
            .collect();
        if let Some(open) = self.open_call(way, trigger, &elsewhere) {
            return Some((open, (open != end).then_some(open)));
        }
        let mut here = EntrySet::new(self.count);
        way[from..=trigger].iter().chain(&elsewhere).for_each(|ix| here.set(*ix));
        let answers: Vec<u32> = self
            .rows()
            .filter(|ix| {
                let parent = self.parent[*ix as usize];
                self.kind(*ix) == Kind::Tool
                    && parent < NONE
                    && here.has(parent)
                    && (!on_way.has(*ix) || *ix == end)
            })
            .collect();
        // Only what is inserted after the end can be the last.
        let is_last = |ix: &u32| *ix == end || self.inserted_after(*ix, way, (reply.0, at), in_order) == at;
        let last = answers.iter().copied().filter(is_last).max_by_key(|ix| self.first_copy(*ix));
        let last = last.or_else(|| {
            let strays = self.strays(way, &on_way, std::iter::once(group));
            let parts = way[from..=trigger].iter().chain(&elsewhere);
            let mut strays = parts.rev().filter_map(|part| strays.get(part)?.last().copied());
            let mut elsewhere = elsewhere.iter().rev().copied();
            strays.find(is_last).or_else(|| elsewhere.find(is_last))
        });
        let place = last.map_or(0, |last| self.first_copy(last));
        // Attachments that lead to another turn come after all of it.
        let leads_on = last.is_some() && way.len() > at + 1 && {
            let with_turns = self.with_turns();
            way[at + 1..].iter().any(|ix| self.kind(*ix) == Kind::Attachment && with_turns.has(*ix))
        };
        if leads_on {
            return Some((end, None));
        }
        answers.iter().for_each(|ix| here.set(*ix));
        if let Some((turn, note)) = self.last_attachment(here, &on_way)
            && self.first_copy(note) > place
        {
            let is_on_way = on_way.has(note);
            return Some((turn, (!is_on_way).then_some(note)));
        }
        Some(last.map_or((end, None), |last| (last, (last != end).then_some(last))))
    }

    /// Returns the position in `way` after which a part from elsewhere is inserted: that of the last
    /// entry that comes before it in the file, from the first part of its `reply` on the path to the
    /// last one.
    ///
    /// `in_order` says whether `way` is in the order of the file.
    fn inserted_after(&self, part: u32, way: &[u32], reply: (usize, usize), in_order: bool) -> usize {
        let place = self.first_copy(part);
        let (first, last) = reply;
        let span = &way[first..=last];
        let is_before = |ix: &u32| self.first_copy(*ix) < place;
        let before = match in_order {
            true => span.partition_point(is_before).checked_sub(1),
            false => span.iter().rposition(is_before),
        };
        first + before.unwrap_or_default()
    }

    fn is_in_order(&self, way: &[u32]) -> bool {
        way.is_sorted_by_key(|ix| self.first_copy(*ix))
    }

    /// Returns the last attachment in the file below some turns that has no turn below it off the
    /// path, and the turn that it is below.
    fn last_attachment(&self, mut below: EntrySet, on_way: &EntrySet) -> Option<(u32, u32)> {
        let is_note = |ix: u32| !self.is_turn(ix);
        let mut found = None;
        for ix in self.rows().filter(|ix| is_note(*ix)) {
            let parent = self.parent[ix as usize];
            if parent < NONE && below.has(parent) {
                below.set(ix);
                if self.kind(ix) == Kind::Attachment {
                    found = found.max(Some((self.first_copy(ix), ix)));
                }
            }
        }
        let (_, note) = found?;
        if !on_way.has(note) && self.with_turns().has(note) {
            return None;
        }
        let mut at = note;
        for _ in 0..self.count {
            at = self.parent[at as usize];
            if at >= NONE || self.is_turn(at) {
                break;
            }
        }
        (at < NONE).then_some((at, note))
    }

    /// Returns the last call without a result in the reply that ends at `trigger` in the path,
    /// including parts elsewhere.
    fn open_call(&self, way: &[u32], trigger: usize, elsewhere: &[u32]) -> Option<u32> {
        let tools = &self.session.claude.tools;
        let of = |ix: u32| {
            let from = tools.partition_point(|tool| tool.entry.0 < ix);
            tools[from..].iter().take_while(move |tool| tool.entry.0 == ix)
        };
        let group = self.group(way[trigger]);
        let from = match group.is_some() {
            true => way[..trigger].iter().rposition(|ix| self.group(*ix) != group).map_or(0, |at| at + 1),
            false => trigger,
        };
        let parts = way[from..=trigger].iter().chain(elsewhere);
        let calls: Vec<(u32, u32)> = parts
            .flat_map(|ix| of(*ix).filter(|tool| !tool.result).map(|tool| (tool.id, tool.entry.0)))
            .collect();
        if calls.is_empty() {
            return None;
        }
        let mut ids: Vec<u32> = calls.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        let answered: HashSet<u32> = tools
            .iter()
            .filter(|tool| tool.result && ids.binary_search(&tool.id).is_ok() && self.has(tool.entry.0, IN))
            .map(|tool| tool.id)
            .collect();
        calls.iter().rfind(|(id, _)| !answered.contains(id)).map(|(_, ix)| *ix)
    }

    /// Returns the results that are neither on the path nor below a part of a reply on it, of calls
    /// that have no other result: the first one of each call, by the entry of the call. Sidechains
    /// neither get nor give any.
    fn strays(
        &self,
        way: &[u32],
        on_way: &EntrySet,
        groups: impl Iterator<Item = Key>,
    ) -> HashMap<u32, Vec<u32>> {
        let groups: HashSet<Key> = groups.collect();
        if groups.is_empty() {
            return HashMap::new();
        }
        let tools = &self.session.claude.tools;
        // The entry of each call, and the result elsewhere, as long as none was found on the main
        // path.
        let mut open: HashMap<u32, (u32, Option<u32>)> = HashMap::new();
        let loaded = || tools.iter().map(|tool| (tool.entry.0, tool)).filter(|(ix, _)| self.has(*ix, IN));
        for (ix, tool) in loaded().filter(|(_, tool)| !tool.result) {
            if self.kind(ix) == Kind::Assistant && groups.contains(&self.group(ix)) && !self.is_sidechain(ix)
            {
                open.entry(tool.id).or_insert((ix, None));
            }
        }
        if open.is_empty() || way.is_empty() {
            return HashMap::new();
        }
        for (ix, tool) in loaded().filter(|(_, tool)| tool.result) {
            if on_way.has(ix) || groups.contains(&self.answers(ix)) {
                open.remove(&tool.id);
            } else if let Some((_, result)) = open.get_mut(&tool.id)
                && !self.is_sidechain(ix)
            {
                result.get_or_insert(ix);
            }
        }
        let mut strays: HashMap<u32, Vec<u32>> = HashMap::new();
        for (call, result) in open.into_values().filter_map(|(call, result)| Some((call, result?))) {
            strays.entry(call).or_default().push(result);
        }
        for results in strays.values_mut() {
            results.sort_unstable();
        }
        strays
    }

    /// Returns the main path of a path: with the other parts of each reply in the order of the file,
    /// and with its results after them.
    pub(super) fn whole(&self, way: &[u32]) -> Vec<Step> {
        let mut on_way = EntrySet::new(self.count);
        way.iter().for_each(|ix| on_way.set(*ix));
        let is_part = |ix: &u32| self.kind(*ix) == Kind::Assistant && self.group(*ix).is_some();
        let groups = || way.iter().filter(|ix| is_part(ix)).map(|ix| self.group(*ix));
        // For each reply on the path, its first and its last position there.
        let mut replies: HashMap<Key, (usize, usize)> = HashMap::new();
        for (at, ix) in way.iter().enumerate().filter(|(_, ix)| is_part(ix)) {
            replies.entry(self.group(*ix)).or_insert((at, at)).1 = at;
        }
        // The parts elsewhere, by the position after which they are inserted, in file order.
        let mut elsewhere: HashMap<usize, Vec<u32>> = HashMap::new();
        let in_order = self.is_in_order(way);
        let others = (!replies.is_empty()).then(|| self.rows()).into_iter().flatten();
        for ix in others.filter(|ix| !on_way.has(*ix) && is_part(ix)) {
            if let Some(reply) = replies.get(&self.group(ix)) {
                elsewhere.entry(self.inserted_after(ix, way, *reply, in_order)).or_default().push(ix);
            }
        }
        let strays = self.strays(way, &on_way, groups());
        let (kids, with_turns) = (self.kids(), self.with_turns());
        let steps = Vec::with_capacity(way.len());
        let mut main_path = MainPath { steps, have: EntrySet::new(self.count), on_way, bridged: false };
        let mut run: Vec<u32> = Vec::new();
        // The ancestors of an orphan that was attached.
        let above_bridge = way.iter().rposition(|ix| self.has(*ix, BRIDGED)).unwrap_or(0);
        for (at, ix) in way.iter().enumerate() {
            main_path.bridged = at < above_bridge;
            main_path.push(*ix, if self.has(*ix, KEPT) { Way::Kept } else { Way::Link });
            if is_part(ix) {
                run.push(*ix);
            }
            for part in elsewhere.remove(&at).into_iter().flatten() {
                main_path.push(part, Way::Part);
                run.push(part);
            }
            let group = self.group(*ix);
            if !is_part(ix) || way.get(at + 1).is_some_and(|next| is_part(next) && self.group(*next) == group)
            {
                continue;
            }
            // Adjacent parts, with those inserted among them, are followed by the results of all of
            // them.
            for stray in run.iter().filter_map(|part| strays.get(part)).flatten() {
                main_path.push(*stray, Way::Answer);
            }
            let kids_of_run = run.iter().flat_map(|part| kids.children(*part)).copied();
            let mut answers: Vec<u32> = kids_of_run.filter(|ix| self.kind(*ix) == Kind::Tool).collect();
            answers.sort_by_key(|ix| self.first_copy(*ix));
            for ix in &answers {
                main_path.push(*ix, Way::Answer);
            }
            // Notes of hooks and so on are children of calls and results.
            if run.iter().any(|part| self.session.entries.flags(Ix(*part)).has(Flags::CALL)) {
                let above = run.iter().chain(&answers);
                let mut notes: Vec<u32> =
                    above.flat_map(|ix| kids.children(*ix).iter().rev()).copied().collect();
                notes.reverse();
                notes.retain(|ix| !self.is_turn(*ix) && !with_turns.has(*ix));
                notes.sort_by_key(|ix| std::cmp::Reverse(self.first_copy(*ix)));
                while let Some(note) = notes.pop() {
                    if !main_path.on_way.has(note) && main_path.push(note, Way::Answer) {
                        notes.extend(kids.children(note).iter().rev());
                    }
                }
            }
            run.clear();
        }
        main_path.steps
    }
}

/// A growing main path.
struct MainPath {
    steps: Vec<Step>,
    have: EntrySet,
    on_way: EntrySet,
    /// Whether the entries that are appended now come before a gap.
    bridged: bool,
}

impl MainPath {
    /// Appends an entry if it is not yet on the main path.
    fn push(&mut self, ix: u32, way: Way) -> bool {
        let new = self.have.add(ix);
        if new {
            let way = if self.on_way.has(ix) && way == Way::Answer { Way::Link } else { way };
            self.steps.push(Step { entry: Ix(ix), way, bridged: self.bridged });
        }
        new
    }
}
