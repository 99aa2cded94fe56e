//! Entries that only travel together: a call with its result, all calls of one reply, all lines of
//! one reply.

use crate::format::Session;
use crate::format::tools::{ToolRole, tool_ids};
use crate::model::{Flags, Ix, Key, Kind};
use crate::ops::Snapshot;
use std::collections::{HashMap, HashSet};
use std::io;

/// Entries that travel together, in the order that they need.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unit {
    /// The lines of the replies, then the results of their calls.
    pub entries: Vec<Ix>,
    /// Calls in it that have no result in the session.
    pub open: usize,
    /// Results in it that have no call in the session.
    pub stray: usize,
}

/// The tool calls of a session, with their results, and the lines of each reply.
pub struct Tools {
    ids: HashMap<Ix, Vec<(Key, bool)>>,
    /// The entry with the call of each result: the nearest above it, or else the only one that
    /// exists.
    calls: HashMap<(Ix, Key), Ix>,
    /// The entry that contains the result of each call.
    results: HashMap<(Ix, Key), Ix>,
    /// The lines of each reply, separately for subagents.
    replies: HashMap<(Key, bool), Vec<Ix>>,
}

impl Tools {
    /// Reads the lines with calls and results of a session.
    ///
    /// If a call has several results, the one that counts is one that is wanted anyway, or else one
    /// on the path to HEAD, or else the first. Costs a walk over the tree, and reading these lines.
    pub fn collect(side: Snapshot<'_>, wanted: &HashSet<Ix>) -> io::Result<Tools> {
        let session = side.session;
        let (mut ids, mut replies) = (HashMap::<Ix, Vec<(Key, bool)>>::new(), HashMap::<_, Vec<Ix>>::new());
        // The only entry that has a call with an id; `None` if there are several.
        let mut only: HashMap<Key, Option<Ix>> = HashMap::new();
        let mut line = Vec::new();
        for ix in session.tree.entries_in_tree() {
            let flags = session.entries.flags(ix);
            let group = session.entries.group(ix);
            if group.is_some() && session.entries.kind(ix) == Kind::Assistant {
                replies.entry((group, flags.has(Flags::SIDECHAIN))).or_default().push(ix);
            }
            if !flags.has(Flags::CALL) && !flags.has(Flags::RESULT) {
                continue;
            }
            side.read(ix, &mut line)?;
            for id in tool_ids(session.format, &line) {
                let key = Key::hash(id.id.as_bytes());
                match id.role {
                    ToolRole::Call => {
                        only.entry(key).and_modify(|call| *call = None).or_insert(Some(ix));
                    }
                    ToolRole::Result => {}
                    ToolRole::Served | ToolRole::Mention => continue,
                }
                ids.entry(ix).or_default().push((key, id.role == ToolRole::Call));
            }
        }
        let above = nearest_calls(session, &ids);
        let on_head: HashSet<Ix> = session.path().into_iter().collect();
        let rank = |result: Ix| match wanted.contains(&result) {
            true => 2,
            false => usize::from(on_head.contains(&result)),
        };
        let (mut calls, mut results) = (HashMap::new(), HashMap::<(Ix, Key), Ix>::new());
        let answers = session.tree.entries_in_tree().filter_map(|ix| Some((ix, ids.get(&ix)?)));
        for (ix, key) in answers
            .flat_map(|(ix, ids)| ids.iter().map(move |id| (ix, id)))
            .filter(|(_, (_, is_call))| !is_call)
            .map(|(ix, (key, _))| (ix, *key))
        {
            let call = above.get(&(ix, key)).copied().or_else(|| only.get(&key).copied().flatten());
            let Some(call) = call else { continue };
            calls.insert((ix, key), call);
            let best = results.entry((call, key)).or_insert(ix);
            if rank(ix) > rank(*best) {
                *best = ix;
            }
        }
        Ok(Tools { ids, calls, results, replies })
    }

    /// Returns the ids of the calls in an entry, with the entry that contains the result of each;
    /// `None` if there is none.
    pub fn calls_in(&self, ix: Ix) -> Vec<(Key, Option<Ix>)> {
        let ids = self.ids.get(&ix).into_iter().flatten();
        ids.filter(|(_, call)| *call).map(|(id, _)| (*id, self.results.get(&(ix, *id)).copied())).collect()
    }

    /// Returns everything that travels with an entry, including itself. The cost is proportional to
    /// the size of the result.
    pub fn unit(&self, side: Snapshot<'_>, ix: Ix) -> Unit {
        let entries = &side.session.entries;
        let (mut members, mut todo) = (HashSet::from([ix]), vec![ix]);
        let mut gathered = HashSet::new();
        let mut unit = Unit::default();
        while let Some(ix) = todo.pop() {
            let mut partners: Vec<Ix> = Vec::new();
            let reply = (entries.group(ix), entries.flags(ix).has(Flags::SIDECHAIN));
            // All lines of a reply have the same partners.
            if let Some(lines) = self.replies.get(&reply).filter(|_| gathered.insert(reply)) {
                partners.extend(lines);
            }
            for (id, call) in self.ids.get(&ix).into_iter().flatten() {
                let partner = if *call { self.results.get(&(ix, *id)) } else { self.calls.get(&(ix, *id)) };
                match partner {
                    Some(partner) => partners.push(*partner),
                    None if *call => unit.open += 1,
                    None => unit.stray += 1,
                }
            }
            for partner in partners {
                if members.insert(partner) {
                    todo.push(partner);
                }
            }
        }
        unit.entries = members.into_iter().collect();
        unit.entries.sort_unstable_by_key(|ix| (entries.flags(*ix).has(Flags::RESULT), *ix));
        unit
    }
}

/// Finds the nearest entry at or above each result that has a call with its id, by one walk down
/// the tree.
fn nearest_calls(session: &Session, ids: &HashMap<Ix, Vec<(Key, bool)>>) -> HashMap<(Ix, Key), Ix> {
    let mut nearest = HashMap::new();
    // The calls of each id on the path, the nearest last.
    let mut above: HashMap<Key, Vec<Ix>> = HashMap::new();
    // An entry is visited on the way down, and again, marked, on the way up.
    let mut todo: Vec<(Ix, bool)> = session.tree.roots().map(|root| (root, false)).collect();
    while let Some((ix, is_done)) = todo.pop() {
        let here = ids.get(&ix).into_iter().flatten();
        for (key, _) in here.clone().filter(|(_, is_call)| *is_call) {
            let calls = above.entry(*key).or_default();
            if is_done {
                calls.pop();
            } else {
                calls.push(ix);
            }
        }
        if is_done {
            continue;
        }
        for (key, _) in here.filter(|(_, is_call)| !is_call) {
            if let Some(call) = above.get(key).and_then(|calls| calls.last()) {
                nearest.insert((ix, *key), *call);
            }
        }
        todo.push((ix, true));
        todo.extend(session.tree.children(ix).map(|child| (child, false)));
    }
    nearest
}
