//! HEAD of a Claude Code transcript: the leaf from which Claude Code continues, by the rules 4 to 6
//! of [`super::graph`].

use super::graph::{ASIDE, BRIDGED, ClaudeGraph, EntrySet, IN, LOST, NONE};
use crate::format::{Head, Session};
use crate::model::{Flags, Ix, Key, Kind};

/// Where Claude Code would continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// The turn that the next prompt would follow.
    pub turn: Option<Ix>,
    /// The parent of the next prompt, which may be a system or attachment entry after the turn.
    pub end: Option<Ix>,
    /// The entry at which the way up begins. Parts and results of the last reply may follow it on
    /// the main path.
    pub from: Option<Ix>,
    /// The rule that decided.
    pub rule: Rule,
}

/// The rules that determine the leaf.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// No pointer applies: the last entry of the main conversation in the file.
    Last,
    /// No pointer applies: the newest leaf below the last entry, although it comes earlier in the
    /// file.
    NewestBelow,
    /// No pointer applies: the last message that a compaction kept, which is below the last entry.
    LastKept,
    /// No pointer applies, and a compaction kept messages: the only turn without another turn below
    /// it.
    OnlyEnd,
    /// The last pointer, to an entry that is not an ancestor of the last entry.
    Pointer,
    /// The last pointer, to an ancestor of the last entry: it is a pin, and nothing came after it.
    Pin,
    /// A subagent's transcript: its last turn.
    Agent,
    /// The caller named the entry.
    Asked,
    /// A pin on nothing: Claude Code starts an empty conversation.
    Emptied,
    /// The last pointer names a sidechain: Claude Code does not open the session.
    PointerAtSidechain,
    /// The turn that was found is a sidechain: Claude Code does not open the session.
    Sidechain,
    /// There is no turn to continue from: Claude Code does not open the session.
    NoTurn,
}

impl Rule {
    /// Returns the rule as text: what decided, or why there is no HEAD.
    pub fn phrase(self) -> &'static str {
        match self {
            Rule::Last => "the last entry of the conversation in the file",
            Rule::NewestBelow => "the newest leaf below the last entry in the file",
            Rule::LastKept => "the last message that the compaction kept",
            Rule::OnlyEnd => "the only end of the conversation after the last compaction",
            Rule::Pointer => "the last pointer in the file",
            Rule::Pin => "a pointer with no turn after it",
            Rule::Agent => "the last turn of a subagent's transcript",
            Rule::Asked => "as requested",
            Rule::Emptied => "a pointer to nothing: the agent would start an empty conversation",
            Rule::PointerAtSidechain => {
                "the last pointer names a sidechain: the agent would not open the session"
            }
            Rule::Sidechain => "the last turn is a sidechain: the agent would not open the session",
            Rule::NoTurn => "there is no turn to continue from: the agent would not open the session",
        }
    }
}

/// A pointer that is a pin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pin {
    /// No entry follows it in the file.
    Last,
    /// Entries follow it.
    Followed,
}

/// The turns that other readers use as the leaf, if they differ from that of Claude Code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OtherReaders {
    /// Versions before 2.1.122, which do not know pointers: the last entry in the file.
    pub without_pointers: Option<Ix>,
    /// Versions up to 2.1.100: the newest turn by time.
    pub newest: Option<Ix>,
    /// The software development kit: the last turn in the file that ends a branch.
    pub last_end: Option<Ix>,
}

impl OtherReaders {
    /// Returns whether all readers agree with Claude Code.
    pub fn agree(&self) -> bool {
        *self == OtherReaders::default()
    }
}

/// Returns HEAD of a session, for [`Session::head`].
pub(super) fn head(session: &Session) -> Head {
    let leaf = ClaudeGraph::new(session).leaf();
    Head { entry: leaf.turn, exact: leaf.turn, leaf: leaf.end, rule: leaf.rule.phrase() }
}

/// Returns the entries that are loaded with the reply at HEAD but are not its ancestors, for
/// [`Session::beside`].
pub(in crate::format) fn loaded_beside_head(session: &Session) -> Vec<Ix> {
    let entries = &session.entries;
    let is_call = |ix: &Ix| entries.kind(*ix) == Kind::Assistant && entries.flags(*ix).has(Flags::CALL);
    // A call is the position only as long as it has no result.
    let Some(head) = session.head.exact.filter(is_call) else { return Vec::new() };
    let mut graph = ClaudeGraph::new(session);
    let Some(from) = graph.leaf().from else { return Vec::new() };
    let main_path = graph.main_path(from);
    let is_part =
        |ix: Ix| ix == head || entries.group(ix).is_some() && entries.group(ix) == entries.group(head);
    let first = main_path.iter().position(|step| is_part(step.entry)).unwrap_or(main_path.len());
    let turns = main_path[first..].iter().map(|step| step.entry).filter(|ix| graph.is_turn(ix.0));
    let mut rest: Vec<Ix> = turns.collect();
    session.tree.ancestors(head).for_each(|above| rest.retain(|ix| *ix != above));
    rest
}

impl ClaudeGraph<'_> {
    /// Returns where Claude Code would continue.
    pub fn leaf(&mut self) -> Leaf {
        if let Some(leaf) = self.agent_leaf() {
            return leaf;
        }
        let none = |rule| Leaf { turn: None, end: None, from: None, rule };
        let last = self.last_entry();
        let tip = last.map(|last| self.tip(last));
        // A pointer is compared with the last entry in the file, even if there is a newer one below
        // it.
        let last = match tip {
            Some((kept, Rule::LastKept)) => Some(kept),
            _ => last,
        };
        let (pointer, pin) = self.pointer();
        let mut chosen = None;
        match pointer {
            Some(None) => return none(Rule::Emptied),
            Some(Some(key)) => {
                if let Some(target) = self.find(key)
                    && self.stored(target).iter().any(|ix| self.is_turn(*ix))
                {
                    let sidechain = self.is_sidechain(target);
                    let older = match self.last_kept {
                        // Among kept messages, Claude Code follows only pointers to turns without
                        // another turn below them.
                        Some(_) => last != Some(target) && !self.is_last_turn(target),
                        None => last.filter(|last| *last != target).is_some_and(|last| {
                            let way = self.stored(last);
                            way.contains(&target)
                                || !sidechain && pin.is_none() && self.is_parallel(target, &way)
                        }),
                    };
                    if !older || pin == Some(Pin::Last) {
                        if sidechain {
                            return none(Rule::PointerAtSidechain);
                        }
                        chosen = Some((target, if older { Rule::Pin } else { Rule::Pointer }));
                    }
                }
            }
            None => {}
        }
        let chosen = chosen.or_else(|| self.only_end().map(|end| (end, Rule::OnlyEnd)));
        match chosen.or(tip) {
            Some((chosen, rule)) => self.leaf_from(chosen, rule),
            None => none(Rule::NoTurn),
        }
    }

    /// Returns where Claude Code would continue if a pin named `ix`.
    pub fn leaf_at(&mut self, ix: Ix) -> Leaf {
        if ix.0 >= self.count {
            return Leaf { turn: None, end: None, from: None, rule: Rule::NoTurn };
        }
        // From a line that is only a link, Claude Code goes to the parent.
        let above = Some(self.parent[ix.index()]).filter(|_| self.is_passed(ix.0));
        match above.unwrap_or(ix.0) {
            at if at < NONE && self.has(at, IN) => self.leaf_from(at, Rule::Asked),
            _ => Leaf { turn: None, end: None, from: None, rule: Rule::NoTurn },
        }
    }

    /// Returns the leaf that readers with other rules use.
    ///
    /// Costs up to three passes over the entries.
    pub fn other_readers(&mut self, leaf: &Leaf) -> OtherReaders {
        if leaf.rule == Rule::Agent {
            return OtherReaders::default();
        }
        let entries = &self.session.entries;
        let turn = |ix: &u32| self.is_turn(*ix) && !self.is_sidechain(*ix);
        let newest = self.rows().filter(turn).max_by_key(|ix| (entries.time(Ix(*ix)), *ix)).map(Ix);
        let last_end = self.last_end();
        let tip = self.last_entry().and_then(|last| {
            let (tip, rule) = self.tip(last);
            self.leaf_from(tip, rule).turn
        });
        let other = |other: Option<Ix>| other.filter(|other| Some(*other) != leaf.turn);
        OtherReaders { without_pointers: other(tip), newest: other(newest), last_end: other(last_end) }
    }

    /// Returns the last entry of the main conversation in the file that has a turn at or above it.
    fn last_entry(&mut self) -> Option<u32> {
        // Paths that were found to contain no turn are not walked twice.
        let (mut without, mut now) = (EntrySet::new(self.count), EntrySet::new(self.count));
        let mut walk = Vec::new();
        for ix in (0..self.count).rev() {
            if !self.has(ix, IN) || self.has(ix, ASIDE) || self.is_sidechain(ix) {
                continue;
            }
            let mut at = ix;
            loop {
                let walked = walk.len();
                while at < NONE && self.has(at, IN) && !self.is_turn(at) && !without.has(at) && now.add(at) {
                    walk.push(at);
                    at = self.parent[at as usize];
                }
                if at >= NONE || !now.has(at) || walk.len() == walked {
                    break;
                }
                // A cycle, which may continue elsewhere.
                at = walk.last().copied().and_then(|last| self.past_cycle(last)).unwrap_or(LOST);
            }
            for ix in walk.drain(..) {
                now.clear(ix);
                without.set(ix);
            }
            if at < NONE && self.has(at, IN) && self.is_turn(at) {
                return Some(ix);
            }
        }
        None
    }

    /// If messages were kept: returns the turn that has no other turn below it, if it is the only
    /// one.
    fn only_end(&mut self) -> Option<u32> {
        self.last_kept?;
        let kids = self.kids();
        let mut only = None;
        let mut climbed = EntrySet::new(self.count);
        for end in self.rows().filter(|ix| kids.children(*ix).is_empty() && !self.is_sidechain(*ix)) {
            let mut at = end;
            while at < NONE && self.has(at, IN) && !self.is_turn(at) && climbed.add(at) {
                at = self.parent[at as usize];
            }
            let is_end = at < NONE
                && self.has(at, IN)
                && self.is_turn(at)
                && !kids.children(at).iter().any(|kid| self.is_turn(*kid));
            if is_end && only.is_some_and(|only| only != at) {
                return None;
            }
            only = only.or(is_end.then_some(at));
        }
        only
    }

    /// Returns the tip, given the last entry of the main conversation.
    fn tip(&mut self, last: u32) -> (u32, Rule) {
        let newest = self.newest_below(last);
        let tip = newest.unwrap_or(last);
        // Kept messages are below the summary, however old they are.
        if let Some(kept) = self.last_kept.filter(|kept| *kept != tip)
            && self.chain(kept).contains(&tip)
        {
            return (kept, Rule::LastKept);
        }
        (tip, if newest.is_some() { Rule::NewestBelow } else { Rule::Last })
    }

    /// Returns the newest leaf below an entry that is not older than the entry.
    fn newest_below(&mut self, tip: u32) -> Option<u32> {
        let session = self.session;
        let time = |ix: u32| session.entries.time(Ix(ix));
        if !time(tip).is_some() || !self.has_kids(tip) {
            return None;
        }
        let mut best: Option<u32> = None;
        let mut seen = EntrySet::new(self.count);
        let mut todo: Vec<u32> = self.kids().children(tip).to_vec();
        while let Some(ix) = todo.pop() {
            if !seen.add(ix) {
                continue;
            }
            let kids = self.kids().children(ix);
            todo.extend(kids.iter().filter(|kid| !seen.has(**kid)));
            let fits = kids.is_empty() && !self.is_sidechain(ix) && time(ix) >= time(tip);
            if fits && best.is_none_or(|best| time(ix) >= time(best)) {
                best = Some(ix);
            }
        }
        best
    }

    /// Returns the target of the pointer that counts, which may be nothing, and whether it is a
    /// pin.
    fn pointer(&self) -> (Option<Option<Key>>, Option<Pin>) {
        let zero = Key::hash(b"00000000-0000-0000-0000-000000000000");
        let (mut last, mut pin) = (None, None);
        // A compaction cancels earlier pointers.
        let from = self.session.claude.boundary.as_ref().map_or(0, |boundary| boundary.entry.0 + 1);
        for pointer in self.session.pointers.iter().filter(|pointer| pointer.before >= from) {
            let explicit = pointer.explicit == Some(true);
            match pointer.target {
                Some(target) => {
                    last = Some(Some(target));
                    if explicit {
                        pin = (target != zero).then_some((target, pointer.before));
                    } else if pin.is_some_and(|(pinned, _)| pinned != target) {
                        pin = None;
                    }
                }
                None if explicit => {
                    // Anything said afterwards is a conversation again.
                    last = (!self.conversation_follows(pointer.before)).then_some(None);
                    pin = None;
                }
                None => {}
            }
        }
        (
            last,
            pin.map(|(_, before)| if self.conversation_follows(before) { Pin::Followed } else { Pin::Last }),
        )
    }

    /// Returns whether an entry of the main conversation comes in the file from here on.
    fn conversation_follows(&self, before: u32) -> bool {
        (before..self.count).any(|ix| !self.is_sidechain(ix) && !self.is_passed(ix))
    }

    /// Goes from the chosen entry to the turn at or above it, and to the end of the entries that
    /// follow it.
    fn leaf_from(&mut self, chosen: u32, rule: Rule) -> Leaf {
        let none = |rule| Leaf { turn: None, end: None, from: None, rule };
        let mut at = chosen;
        let mut seen = EntrySet::new(self.count);
        while !self.is_turn(at) && seen.add(at) {
            match self.parent[at as usize] {
                parent if parent < NONE && self.has(parent, IN) => at = parent,
                _ => break,
            }
        }
        if self.is_sidechain(at) && rule != Rule::Asked {
            return none(Rule::Sidechain);
        }
        let mut seen = EntrySet::new(self.count);
        while seen.add(at) && self.has_kids(at) {
            let follows = |ix: &&u32| !self.is_turn(**ix) && !self.has(**ix, ASIDE);
            match self.kids().children(at).iter().find(follows) {
                Some(next) => at = *next,
                None => break,
            }
        }
        let way = self.chain(at);
        let Some((mut turn, pulled)) = self.last_turn(&way) else { return none(Rule::NoTurn) };
        let mut end = pulled.unwrap_or(at);
        if self.may_be_forgotten(turn) {
            match self.last_remembered(&way) {
                Some((last, _)) if last == turn => {}
                Some(found) => (turn, end) = found,
                None => return none(Rule::NoTurn),
            }
        }
        Leaf { turn: Some(Ix(turn)), end: Some(Ix(end)), from: Some(Ix(at)), rule }
    }

    /// Returns whether a path goes on from calls that were made in parallel with the call or result
    /// `ix`, which is not on the path. A note below a result counts as the result.
    ///
    /// Observed with client 2.1.332: parts of one reply with nothing but its own results and notes
    /// between them count as parallel; a text of the reply does not count, nor does a second result
    /// of the same call.
    fn is_parallel(&self, ix: u32, way: &[u32]) -> bool {
        let (mut turn, mut seen) = (ix, EntrySet::new(self.count));
        while !self.is_turn(turn) && seen.add(turn) {
            match self.parent[turn as usize] {
                parent if parent < NONE && self.has(parent, IN) => turn = parent,
                _ => return false,
            }
        }
        let has_call = |ix: u32| self.session.entries.flags(Ix(ix)).has(Flags::CALL);
        let call = match self.kind(turn) {
            Kind::Assistant if turn == ix => turn,
            Kind::Tool => self.parent[turn as usize],
            _ => return false,
        };
        if call >= NONE
            || self.kind(call) != Kind::Assistant
            || !has_call(call)
            || !self.group(call).is_some()
        {
            return false;
        }
        let group = self.group(call);
        let is_part = |ix: u32| self.kind(ix) == Kind::Assistant && self.group(ix) == group;
        let is_member = |ix: u32| is_part(ix) || self.answers(ix) == group;
        let (mut first, mut at, mut seen) = (call, call, EntrySet::new(self.count));
        while at < NONE && self.has(at, IN) && (!self.is_turn(at) || is_member(at)) && seen.add(at) {
            if self.is_turn(at) {
                first = at;
            }
            at = self.parent[at as usize];
        }
        let (own, calls) = (self.tool_ids(turn), self.tool_ids(call));
        let is_other = |ix: u32| match is_part(ix) {
            true => ix != call && has_call(ix),
            false => {
                self.parent[ix as usize] == call
                    && self.tool_ids(ix).iter().any(|id| calls.contains(id) && !own.contains(id))
            }
        };
        let mut run = None;
        way.iter().filter(|ix| self.is_turn(**ix)).any(|ix| {
            run = is_member(*ix).then(|| run.unwrap_or(*ix));
            run == Some(first) && is_other(*ix)
        })
    }

    /// Returns the ids of the calls and results in a turn, hashed.
    fn tool_ids(&self, ix: u32) -> Vec<u32> {
        let tools = &self.session.claude.tools;
        let from = tools.partition_point(|tool| tool.entry.0 < ix);
        tools[from..].iter().take_while(|tool| tool.entry.0 == ix).map(|tool| tool.id).collect()
    }

    /// Returns whether an entry is a turn without another turn below it.
    fn is_last_turn(&mut self, ix: u32) -> bool {
        if !self.is_turn(ix) {
            return false;
        }
        let mut todo = vec![ix];
        let mut seen = EntrySet::new(self.count);
        while let Some(at) = todo.pop() {
            if !seen.add(at) || !self.has_kids(at) {
                continue;
            }
            let kids = self.kids().children(at);
            if kids.iter().any(|kid| self.is_turn(*kid)) {
                return false;
            }
            todo.extend(kids);
        }
        true
    }

    /// Returns the last turn of a subagent's own transcript, which Claude Code never resumes by
    /// itself.
    fn agent_leaf(&self) -> Option<Leaf> {
        self.session.claude.agent.as_ref()?;
        if self.rows().any(|ix| !self.is_sidechain(ix)) {
            return None;
        }
        let last = (0..self.count).rev().find(|ix| self.has(*ix, IN))?;
        let turn = (0..self.count).rev().find(|ix| self.has(*ix, IN) && self.is_turn(*ix));
        let rule = if turn.is_some() { Rule::Agent } else { Rule::NoTurn };
        let last = turn.map(|_| Ix(last));
        Some(Leaf { turn: turn.map(Ix), end: last, from: last, rule })
    }

    /// Returns the turn above the leaf that is last in the file.
    fn last_end(&self) -> Option<Ix> {
        let mut has_kids = EntrySet::new(self.count);
        for ix in self.rows() {
            let parent = self.parent[ix as usize];
            if parent < NONE && !self.has(ix, BRIDGED) {
                has_kids.set(parent);
            }
        }
        let mut climbed = EntrySet::new(self.count);
        let mut best: Option<u32> = None;
        for end in self.rows().filter(|ix| !has_kids.has(*ix)) {
            let mut at = end;
            while at < NONE && self.has(at, IN) && !self.is_turn(at) && climbed.add(at) {
                at = if self.has(at, BRIDGED) { LOST } else { self.parent[at as usize] };
            }
            let flags = |ix| self.session.entries.flags(Ix(ix));
            if at < NONE
                && self.is_turn(at)
                && !flags(at).has(Flags::SIDECHAIN)
                && !flags(at).has(Flags::META)
            {
                best = best.max(Some(at));
            }
        }
        best.map(Ix)
    }
}
