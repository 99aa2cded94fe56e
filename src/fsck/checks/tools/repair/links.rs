//! The tree while tool calls and results move in it.

use super::Tools;
use crate::format::Session;
use crate::fsck::checks::Intervals;
use crate::fsck::repair::draft::{Draft, json};
use crate::fsck::table::Check;
use crate::model::{ChangingForest, Facts, Ix, Key};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;

/// The links of a session while results are moved to their places, one after the other.
pub(super) struct Links<'s> {
    pub(super) session: &'s Session,
    pub(super) tools: &'s Tools,
    /// The new parents.
    moved: HashMap<Ix, Option<Ix>>,
    /// The children of the entries that became parents of others, or lost children.
    children: HashMap<Ix, BTreeSet<Ix>>,
    /// All entries with calls.
    pub(super) calls: HashSet<Ix>,
    /// Results that were moved to their places on the path that they were on.
    pub(super) put: HashSet<Ix>,
    /// The current links, once an entry was moved to another path, or a call to another place: then
    /// the session's order of calls and their descendants is no longer valid.
    shuffled: Option<ChangingForest>,
    /// The ids whose nearest calls are known, and these calls.
    pub(super) looked_up: HashSet<Key>,
    pub(super) nearest: HashMap<Ix, Ix>,
    /// The calls with an id in replies that are sent, in file order.
    pub(super) sent: HashMap<Key, Vec<Ix>>,
    /// How far below each call the last search got.
    reached: HashMap<Ix, Ix>,
    /// The children of entries that have several, by the walk through the tree.
    several: HashMap<Ix, Vec<(u32, Ix)>>,
    /// The results below each call, as far as they are known: the call, then each time the first
    /// child that is a result of the same reply.
    sisters: HashMap<Ix, Vec<Ix>>,
    /// The entries in these lists: the call, and the place in its list. Some are outdated.
    sister_of: HashMap<Ix, (Ix, usize)>,
    /// The marks of ids that many calls have.
    marks: HashMap<Key, u64>,
    /// The ids that are groups of results.
    ids_as_groups: Vec<Key>,
    /// The ids of entries, as links spell them.
    ids: HashMap<Ix, Option<Vec<u8>>>,
}

/// How many calls may have an id before they are searched for by marks.
const FEW: usize = 8;

/// The group of entries without results.
const NO_RESULT: u32 = u32::MAX - 1;

impl<'s> Links<'s> {
    pub(super) fn new(session: &'s Session, tools: &'s Tools) -> Links<'s> {
        Links {
            session,
            tools,
            moved: HashMap::new(),
            children: HashMap::new(),
            calls: tools.calls.values().flatten().copied().collect(),
            put: HashSet::new(),
            shuffled: None,
            looked_up: HashSet::new(),
            nearest: HashMap::new(),
            sent: HashMap::new(),
            reached: HashMap::new(),
            several: HashMap::new(),
            sisters: HashMap::new(),
            sister_of: HashMap::new(),
            marks: HashMap::new(),
            ids_as_groups: Vec::new(),
            ids: HashMap::new(),
        }
    }

    /// Returns whether the session's order of calls and their descendants is no longer valid.
    pub(super) fn are_shuffled(&self) -> bool {
        self.shuffled.is_some()
    }

    /// Returns the current links, to ask for ancestors; from now on these are valid instead.
    pub(super) fn shuffle(&mut self) -> &mut ChangingForest {
        if self.shuffled.is_none() {
            let mut marks: HashMap<Ix, u64> = HashMap::new();
            let with_many = self.tools.calls.iter().filter(|(_, calls)| calls.len() > FEW);
            for (at, (id, calls)) in with_many.enumerate() {
                let mark = 1 << (at % 64);
                self.marks.insert(*id, mark);
                calls.iter().for_each(|call| *marks.entry(*call).or_default() |= mark);
            }
            let groups = self.groups();
            let facts = |ix: Ix| Facts {
                group: groups.get(&ix).copied().unwrap_or(NO_RESULT),
                marks: marks.get(&ix).copied().unwrap_or_default(),
            };
            let all = self.session.entries.all().map(|ix| (self.parent(ix), facts(ix)));
            self.shuffled = Some(ChangingForest::new(all));
        }
        self.shuffled.as_mut().expect("it was set just now")
    }

    /// Returns the groups of entries with results. If one entry alone has calls with the id of a
    /// result, it is the group, else the id is.
    fn groups(&mut self) -> HashMap<Ix, u32> {
        let Tools { calls, result_in, .. } = self.tools;
        let first_group = self.session.entries.len() as u32;
        let mut of_id: HashMap<Key, u32> = HashMap::new();
        for (id, calls) in calls {
            let only = calls.first().filter(|first| calls.iter().all(|call| call == *first));
            let group = only.map_or(first_group + self.ids_as_groups.len() as u32, |only| only.0);
            if only.is_none() {
                self.ids_as_groups.push(*id);
            }
            of_id.insert(*id, group);
        }
        result_in.iter().filter_map(|(ix, id)| Some((*ix, *of_id.get(id)?))).collect()
    }

    /// Returns the nearest entry above a result that has a call with its id, in a reply that is
    /// sent. Only if the links are shuffled.
    pub(super) fn nearest_call(&mut self, result: Ix, id: Key) -> Option<Ix> {
        let (marks, sent) = (self.marks.get(&id).copied(), self.sent.get(&id)?);
        let forest = self.shuffled.as_mut()?;
        if let Some(marks) = marks {
            return forest.nearest_above(result, marks, |call| sent.binary_search(&call).is_ok());
        }
        let above = sent.iter().filter(|call| **call != result);
        let above = above.filter_map(|call| Some((forest.depth_if_above(*call, result)?, *call)));
        above.max().map(|(_, call)| call)
    }

    /// Returns whether the last result in an entry is one of the results of the calls in another.
    pub(super) fn is_result_of(&self, ix: Ix, call: Ix) -> bool {
        self.tools.result_in.get(&ix).is_some_and(|id| self.tools.is_call(call, *id))
    }

    /// Returns the first entry below a call, on the path to a result, that is not a result of the
    /// same reply; `None` if there are only such results between them.
    pub(super) fn first_below(&mut self, call: Ix, result: Ix, intervals: &Intervals) -> Option<Ix> {
        if let Some(forest) = &mut self.shuffled {
            let first_group = self.session.entries.len() as u32;
            return forest.first_between(call, result, |group| match group {
                NO_RESULT => false,
                only if only < first_group => only == call.0,
                id => self.tools.is_call(call, self.ids_as_groups[(id - first_group) as usize]),
            });
        }
        // Many results of one call are searched for on one path: each search continues where the
        // last one ended.
        let reached = self.reached.get(&call).copied().filter(|reached| intervals.is_above(*reached, result));
        let mut at = match reached {
            Some(reached) => reached,
            None => self.child_towards(call, result, intervals)?,
        };
        while at != result && (self.is_result_of(at, call) || self.put.contains(&at)) {
            at = self.child_towards(at, result, intervals)?;
        }
        self.reached.insert(call, at);
        (at != result).then_some(at)
    }

    /// Returns the child of an entry that is an ancestor of another entry, or is that entry, in the
    /// session as it was read.
    fn child_towards(&mut self, above: Ix, below: Ix, intervals: &Intervals) -> Option<Ix> {
        let mut children = self.session.tree.children(above);
        if children.len() < 2 {
            return children.next();
        }
        let several = self.several.entry(above).or_insert_with(|| {
            let mut several: Vec<(u32, Ix)> = children.map(|child| (intervals.first(child), child)).collect();
            several.sort_unstable();
            several
        });
        let at = several.partition_point(|(first, _)| *first <= intervals.first(below));
        at.checked_sub(1).map(|at| several[at].1)
    }

    pub(super) fn parent(&self, ix: Ix) -> Option<Ix> {
        self.moved.get(&ix).copied().unwrap_or_else(|| self.session.tree.parent(ix))
    }

    /// Returns the children of an entry, in file order.
    pub(super) fn children(&self, ix: Ix) -> Vec<Ix> {
        match self.children.get(&ix) {
            Some(children) => children.iter().copied().collect(),
            None => self.children_as_read(ix).collect(),
        }
    }

    /// Returns the children that an entry had and still has, in file order.
    fn children_as_read(&self, ix: Ix) -> impl Iterator<Item = Ix> {
        self.session.tree.children(ix).filter(move |child| self.parent(*child) == Some(ix))
    }

    /// Returns the last of the results below a call: from the call on, each is the first child of
    /// the one before that is a result of the same reply.
    pub(super) fn last_sister(&mut self, call: Ix) -> Ix {
        let mut sisters = self.sisters.remove(&call).unwrap_or_default();
        let mut last = sisters.pop().unwrap_or(call);
        loop {
            if let Some((other, at)) = self.sister_of.insert(last, (call, sisters.len()))
                && let Some(others) = self.sisters.get_mut(&other)
                && others.get(at) == Some(&last)
            {
                // An entry is looked up for one call only.
                others.truncate(at);
            }
            sisters.push(last);
            let next = match self.children.get(&last) {
                Some(children) => children.iter().copied().find(|child| self.is_result_of(*child, call)),
                None => self.children_as_read(last).find(|child| self.is_result_of(*child, call)),
            };
            let Some(next) = next else { break };
            last = next;
        }
        self.sisters.insert(call, sisters);
        last
    }

    /// Makes an entry, with everything below it, a child of another one, or a root.
    pub(super) fn attach(&mut self, draft: &mut Draft<'_>, ix: Ix, under: Option<Ix>) -> io::Result<()> {
        let from = self.parent(ix);
        self.cut_sisters(ix, from, under);
        if let Some(children) = from.and_then(|from| self.children.get_mut(&from)) {
            children.remove(&ix);
        }
        if let Some(under) = under {
            if !self.children.contains_key(&under) {
                let children = self.children_as_read(under).collect();
                self.children.insert(under, children);
            }
            self.children.entry(under).or_default().insert(ix);
        }
        self.moved.insert(ix, under);
        if let Some(forest) = &mut self.shuffled {
            forest.attach(ix, under);
        }
        let id = match under {
            Some(under) => self.link_to(draft, under)?,
            None => None,
        };
        let parent = self.session.format.names().parent;
        draft.set(ix, &[parent], &id.unwrap_or_else(|| json(None)), Check::MisplacedToolResult)
    }

    /// Shortens the lists of results below calls to what stays valid if an entry moves.
    fn cut_sisters(&mut self, ix: Ix, from: Option<Ix>, under: Option<Ix>) {
        if let Some((call, at)) = from.and_then(|from| self.sister_of.get(&from).copied())
            && let Some(sisters) = self.sisters.get_mut(&call)
            && sisters.get(at).copied() == from
            && sisters.get(at + 1) == Some(&ix)
        {
            sisters.truncate(at + 1);
        }
        if let Some((call, at)) = under.and_then(|under| self.sister_of.get(&under).copied())
            && self.is_result_of(ix, call)
            && let Some(sisters) = self.sisters.get_mut(&call)
            && sisters.get(at).copied() == under
            && sisters.get(at + 1).is_some_and(|next| ix < *next)
        {
            sisters.truncate(at + 1);
        }
    }

    /// Returns the id of an entry as links to it spell it. Moving changes no ids, and a line may be
    /// long.
    fn link_to(&mut self, draft: &mut Draft<'_>, ix: Ix) -> io::Result<Option<Vec<u8>>> {
        if let Some(id) = self.ids.get(&ix) {
            return Ok(id.clone());
        }
        let id = draft.link_to(ix)?;
        self.ids.insert(ix, id.clone());
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsck::NoSurroundings;
    use crate::fsck::examine::{Examined, examine};
    use crate::fsck::rope::Patched;
    use crate::model::Table;
    use proptest::prelude::*;

    /// What an entry contains: calls or a result with ids by number, or a text.
    #[derive(Clone, Debug)]
    enum Holds {
        Calls(Vec<u8>),
        Result(u8),
        Text,
    }

    fn holds() -> impl Strategy<Value = Holds> {
        prop_oneof![
            2 => prop::collection::vec(0u8..6, 1..4).prop_map(Holds::Calls),
            4 => (0u8..6).prop_map(Holds::Result),
            1 => Just(Holds::Text),
        ]
    }

    /// Returns a session of pi. By entry: a number that chooses its parent among those before it.
    fn session(entries: &[(u32, Holds)]) -> String {
        let mut text =
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/w"}"#
                .to_owned();
        for (at, (from, holds)) in entries.iter().enumerate() {
            let parent = match (at as u32, from % 4) {
                (0, _) => "null".into(),
                (at, 0) => format!("\"{:08x}\"", from % at),
                (at, _) => format!("\"{:08x}\"", at - 1),
            };
            let message = match holds {
                Holds::Calls(ids) => {
                    let call = |id: &u8| {
                        format!(r#"{{"type":"toolCall","id":"t{id}","name":"read","arguments":{{}}}}"#)
                    };
                    let calls: Vec<String> = ids.iter().map(call).collect();
                    format!(r#""role":"assistant","content":[{}]"#, calls.join(","))
                }
                Holds::Result(id) => format!(r#""role":"toolResult","toolCallId":"t{id}","content":[]"#),
                Holds::Text => r#""role":"user","content":"text""#.into(),
            };
            text += &format!(
                "\n{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":{parent},\"timestamp\":\"2026-03-02T00:00:00.000Z\",\"message\":{{{message}}}}}"
            );
        }
        text + "\n"
    }

    fn examined(text: &str, table: &Table) -> Examined {
        examine(None, table, text.len() as u64, None, &NoSurroundings("s")).unwrap()
    }

    /// The same answers, found by walking through the links.
    struct Walked<'t> {
        parents: Vec<Option<Ix>>,
        tools: &'t Tools,
    }

    impl Walked<'_> {
        fn path(&self, ix: Ix) -> Vec<Ix> {
            std::iter::successors(Some(ix), |ix| self.parents[ix.index()]).collect()
        }

        fn children(&self, ix: Ix) -> Vec<Ix> {
            let all = (0..self.parents.len() as u32).map(Ix);
            all.filter(|child| self.parents[child.index()] == Some(ix)).collect()
        }

        fn is_result_of(&self, ix: Ix, call: Ix) -> bool {
            self.tools.result_in.get(&ix).is_some_and(|id| self.tools.is_call(call, *id))
        }

        fn last_sister(&self, call: Ix) -> Ix {
            let mut last = call;
            while let Some(next) =
                self.children(last).into_iter().find(|child| self.is_result_of(*child, call))
            {
                last = next;
            }
            last
        }

        fn first_below(&self, call: Ix, result: Ix) -> Option<Ix> {
            let path = self.path(result);
            let at = path.iter().position(|ix| *ix == call).unwrap();
            path[1..at].iter().rev().copied().find(|ix| !self.is_result_of(*ix, call))
        }

        fn nearest_call(&self, result: Ix, id: Key) -> Option<Ix> {
            self.path(result).into_iter().skip(1).find(|above| self.tools.is_call(*above, id))
        }
    }

    proptest! {
        #[test]
        fn moving_links_are_those_that_a_walk_finds(
            entries in prop::collection::vec((any::<u32>(), holds()), 2..60),
            steps in prop::collection::vec((any::<u32>(), any::<u32>()), 1..60),
        ) {
            let text = session(&entries);
            let table = Table(vec![text.clone().into()]);
            let examined = examined(&text, &table);
            let session = &examined.session;
            let patched = Patched { text: &examined.text, base: &table, file: 0 };
            let tools = Tools::collect(session);
            let mut draft = Draft::new(session, &patched);
            let mut links = Links::new(session, &tools);
            links.sent = tools.calls.clone();
            let intervals = Intervals::build(&session.tree, session.entries.len());
            let all: Vec<Ix> = session.entries.all().collect();
            let mut walked =
                Walked { parents: all.iter().map(|ix| session.tree.parent(*ix)).collect(), tools: &tools };
            links.shuffle();
            for (one, other) in steps {
                let ix = all[one as usize % all.len()];
                let under = all.get(other as usize % (all.len() + 1)).copied();
                if !under.is_some_and(|under| walked.path(under).contains(&ix)) {
                    walked.parents[ix.index()] = under;
                    links.attach(&mut draft, ix, under).unwrap();
                }
                for ix in &all {
                    prop_assert_eq!(links.parent(*ix), walked.parents[ix.index()]);
                    prop_assert_eq!(links.children(*ix), walked.children(*ix));
                    if links.calls.contains(ix) && (one ^ ix.0) % 3 != 0 {
                        prop_assert_eq!(links.last_sister(*ix), walked.last_sister(*ix), "below {}", ix.0);
                    }
                    if let Some(id) = tools.result_in.get(ix).filter(|id| tools.calls.contains_key(id)) {
                        let call = walked.nearest_call(*ix, *id);
                        prop_assert_eq!(links.nearest_call(*ix, *id), call, "above {}", ix.0);
                        if let Some(call) = call {
                            prop_assert_eq!(links.first_below(call, *ix, &intervals), walked.first_below(call, *ix));
                        }
                    }
                }
            }
        }
    }
}
