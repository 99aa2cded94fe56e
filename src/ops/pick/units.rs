//! What only travels together: a call with its result, all calls of one reply, all lines of one reply.

use crate::format::tools::{ToolRole, tool_ids};
use crate::model::{Ancestry, Flags, Ix, Key, Kind};
use crate::ops::Whole;
use std::collections::{HashMap, HashSet};
use std::io;

/// Entries that travel together, in the order in which they have to stand.
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
    calls: HashMap<Key, Vec<Ix>>,
    results: HashMap<Key, Vec<Ix>>,
    replies: HashMap<Key, Vec<Ix>>,
    on_head: HashSet<Ix>,
    ancestry: Ancestry,
}

impl Tools {
    /// Reads the lines with calls and results of a session.
    pub fn of(side: Whole<'_>) -> io::Result<Tools> {
        let session = side.session;
        let mut tools = Tools {
            ids: HashMap::new(),
            calls: HashMap::new(),
            results: HashMap::new(),
            replies: HashMap::new(),
            on_head: session.path().into_iter().collect(),
            ancestry: Ancestry::of(&session.tree, session.entries.len()),
        };
        let mut line = Vec::new();
        for ix in session.tree.standing() {
            let flags = session.entries.flags(ix);
            let group = session.entries.group(ix);
            if group.is_some() && session.entries.kind(ix) == Kind::Assistant {
                tools.replies.entry(group).or_default().push(ix);
            }
            if !flags.has(Flags::CALL) && !flags.has(Flags::RESULT) {
                continue;
            }
            side.read(ix, &mut line)?;
            for id in tool_ids(session.format, &line) {
                let key = Key::of(id.id.as_bytes());
                let list = match id.role {
                    ToolRole::Call => &mut tools.calls,
                    ToolRole::Result => &mut tools.results,
                    ToolRole::Served | ToolRole::Mention => continue,
                };
                list.entry(key).or_default().push(ix);
                tools.ids.entry(ix).or_default().push((key, id.role == ToolRole::Call));
            }
        }
        Ok(tools)
    }

    /// The entry whose call a result answers: the nearest above it, else the only one there is.
    fn call_of(&self, result: Ix, id: Key) -> Option<Ix> {
        let calls = self.calls.get(&id)?;
        let above = calls.iter().copied().filter(|call| self.ancestry.is_above(*call, result));
        self.ancestry.nearest(above).or(if calls.len() == 1 { Some(calls[0]) } else { None })
    }

    /// The entry that holds the result of a call; where there are several, one that is wanted anyhow, else one
    /// on the path to HEAD, else the first.
    pub fn result_of(&self, call: Ix, id: Key, wanted: &HashSet<Ix>) -> Option<Ix> {
        let answers: Vec<Ix> = self
            .results
            .get(&id)?
            .iter()
            .copied()
            .filter(|result| self.call_of(*result, id) == Some(call))
            .collect();
        let best = |set: &HashSet<Ix>| answers.iter().copied().find(|result| set.contains(result));
        best(wanted).or_else(|| best(&self.on_head)).or(answers.first().copied())
    }

    /// The ids of the calls in an entry that have a result, with the entry that holds it; `None` where there is none.
    pub fn calls_in(&self, ix: Ix, wanted: &HashSet<Ix>) -> Vec<(Key, Option<Ix>)> {
        let ids = self.ids.get(&ix).into_iter().flatten();
        ids.filter(|(_, call)| *call).map(|(id, _)| (*id, self.result_of(ix, *id, wanted))).collect()
    }

    /// All that travels with an entry, itself included.
    pub fn unit(&self, side: Whole<'_>, ix: Ix, wanted: &HashSet<Ix>) -> Unit {
        let entries = &side.session.entries;
        let (mut members, mut todo) = (HashSet::from([ix]), vec![ix]);
        let mut unit = Unit::default();
        while let Some(ix) = todo.pop() {
            let mut partners: Vec<Ix> = Vec::new();
            if let Some(lines) = self.replies.get(&entries.group(ix)) {
                partners.extend(lines.iter().filter(|line| {
                    entries.flags(**line).has(Flags::SIDECHAIN) == entries.flags(ix).has(Flags::SIDECHAIN)
                }));
            }
            for (id, call) in self.ids.get(&ix).into_iter().flatten() {
                match if *call { self.result_of(ix, *id, wanted) } else { self.call_of(ix, *id) } {
                    Some(partner) => partners.push(partner),
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
