//! The entries that Claude Code loads from a transcript when it resumes it, their links, and the
//! leaf.
//!
//! 1. **Entries.** The last copy of a `uuid` counts. In a file of 5 MiB or more, nothing before the
//!    last `compact_boundary` is read, including pointers; messages that it kept are.
//! 2. **Links.** `parentUuid`, passing through `progress` lines and turns whose content is neither
//!    a string nor a list. If the last boundary names messages that it kept, these come after its
//!    summary, any entry that names the summary as its parent comes after the last of them, and
//!    everything else before the boundary is gone. The summary itself may be missing: the
//!    conversation then begins with the first kept message. If a kept message is not in the file,
//!    none of this is done. If the last boundary has no lists and an earlier one has, everything
//!    before the last boundary is gone, too.
//! 3. **Orphans** are attached to the newest entry that is at most five seconds older
//!    ([`ClaudeGraph::is_bridged`]); otherwise they are roots. A cycle is cut at the link that closes it
//!    on the way up, and the entry there is treated as an orphan.
//! 4. **The tip** is the last entry in the file that is not a sidechain and has a turn at or above
//!    it; if it has descendant leaves that are not older, the newest of these. If kept messages
//!    follow it, the last of these. If messages were kept and only one turn has no other turn below
//!    it, that one.
//! 5. **The pointer** that comes last in the file, after the last boundary, decides if it names an
//!    entry that is not an ancestor of the last entry. If it is an ancestor, the pointer decides
//!    only as a pin (`explicit`) with no entry after it in the file; a later pointer to another
//!    entry cancels a pin. A pin on null with no entry after it is an empty conversation; a pointer
//!    to a sidechain makes a session that can't be opened.
//! 6. **The leaf** is the turn (`user` or `assistant`) at or above the chosen entry. The parent of
//!    the next prompt is the last of the `system` and `attachment` entries that follow that turn;
//!    if calls of the last reply have no result, it is the last of these calls. A reply that Claude
//!    Code forgets is never the leaf ([`super::forgotten`]): the turn before it is.
//! 7. **The main path** is the path to that entry, with all parts of each reply on it (entries with
//!    its `message.id`, on any branch) inserted after the first run of its parts on the path; the
//!    results that are children of these; a result elsewhere in the file for a call that has none;
//!    and the notes of hooks below calls and results.
//!
//! Compared with Claude Code itself on real and hand-made transcripts, where all results agree, and
//! on wild random ones, where 95 of 100 agree. Known differences: a copy of an earlier entry as the
//! last line of a file whose order is reversed; the order of parts of one reply on several
//! branches; a pin among kept messages with entries after it.
//!
//! Everything here costs passes over columns, in temporary memory: some ten bytes an entry, or
//! forty if orphans are attached. Only entries of the main file take part.

use super::orphans::Bridger;
use crate::format::{Head, Session};
use crate::model::{Copies, Flags, Ix, Key, Kind, Parent, Tree};
use std::borrow::Cow;
use std::collections::HashMap;

/// The file size from which on a file is read from its last boundary, in bytes.
const BIG: u64 = 5 << 20;

/// Links with this value or more lead to no entry.
pub(super) const NONE: u32 = LOST;
/// The parent is not among the loaded entries.
const LOST: u32 = u32::MAX - 1;
const ROOT: u32 = u32::MAX;

/// The entry is loaded.
pub(super) const IN: u8 = 1;
/// A note of Claude Code about the compaction, which is a child of a kept message and is not
/// followed.
const ASIDE: u8 = 1 << 1;
/// Kept by the last compaction.
pub(super) const KEPT: u8 = 1 << 2;
/// Before the last compaction, and gone because of it.
const GONE: u8 = 1 << 3;
/// An orphan that was attached to an entry close in time.
pub(super) const BRIDGED: u8 = 1 << 4;

/// A transcript with the links that Claude Code uses.
pub struct ClaudeGraph<'s> {
    pub(super) session: &'s Session,
    tree: Cow<'s, Tree>,
    /// The number of entries in the main file.
    pub(super) count: u32,
    /// The first entry that is read, apart from kept ones.
    from: u32,
    pub(super) parent: Vec<u32>,
    state: Vec<u8>,
    /// The entries in the order in which their ids first occur, if that differs from the order of
    /// the entries that represent the ids.
    rows: Option<Vec<u32>>,
    place: HashMap<u32, u32>,
    kids: Option<Kids>,
    bridger: Option<Bridger>,
    /// The last message that the last compaction kept, if the compaction took effect.
    last_kept: Option<u32>,
}

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

/// One entry of the main path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The entry.
    pub entry: Ix,
    /// How it got onto the main path.
    pub way: Way,
    /// Whether it comes before an orphan that was attached to an entry close in time.
    pub bridged: bool,
}

/// How an entry gets onto the main path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// By the links, from the leaf up.
    Link,
    /// As a kept message of the last compaction.
    Kept,
    /// As another part of a reply on the main path.
    Part,
    /// As a result of a call in a reply on the main path.
    Answer,
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
pub(in crate::format) fn beside(session: &Session) -> Vec<Ix> {
    let entries = &session.entries;
    let is_call = |ix: &Ix| entries.kind(*ix) == Kind::Assistant && entries.flags(*ix).has(Flags::CALL);
    // A call is the position only as long as it has no result.
    let Some(head) = session.head.exact.filter(is_call) else { return Vec::new() };
    let mut graph = ClaudeGraph::new(session);
    let Some(from) = graph.leaf().from else { return Vec::new() };
    let trunk = graph.trunk(from);
    let is_part =
        |ix: Ix| ix == head || entries.group(ix).is_some() && entries.group(ix) == entries.group(head);
    let first = trunk.iter().position(|step| is_part(step.entry)).unwrap_or(trunk.len());
    let turns = trunk[first..].iter().map(|step| step.entry).filter(|ix| graph.is_turn(ix.0));
    let mut rest: Vec<Ix> = turns.collect();
    session.tree.ancestors(head).for_each(|above| rest.retain(|ix| *ix != above));
    rest
}

/// Returns the path to an entry with all parts of its replies, for [`Session::whole_path`]; `None`
/// if Claude Code orders that path differently or does not load it.
pub(in crate::format) fn whole_path(session: &Session, tip: Ix) -> Option<Vec<Ix>> {
    let mut graph = ClaudeGraph::new(session);
    let from = graph.leaf_at(tip).from?;
    let trunk = graph.sent_trunk(from);
    let is_there = trunk.iter().any(|step| step.entry == tip);
    let as_linked = trunk.iter().all(|step| step.way != Way::Kept);
    let mut path: Vec<Ix> = trunk.into_iter().map(|step| step.entry).collect();
    // Notes after it are below it in the tree.
    let end = path.iter().rposition(|ix| *ix == tip || session.entries.kind(*ix).is_turn());
    path.truncate(end.map_or(0, |end| end + 1));
    (is_there && as_linked).then_some(path)
}

impl<'s> ClaudeGraph<'s> {
    /// Links the entries of a transcript as Claude Code does.
    pub fn new(session: &'s Session) -> ClaudeGraph<'s> {
        let count = session.entries.count_in(0);
        let tree = match session.tree.copies() {
            Copies::Last => Cow::Borrowed(&session.tree),
            Copies::First => Cow::Owned(Tree::build(&session.entries, Copies::Last)),
        };
        let mut graph = ClaudeGraph {
            session,
            tree,
            count,
            from: 0,
            parent: vec![ROOT; count as usize],
            state: vec![0; count as usize],
            rows: None,
            place: HashMap::new(),
            kids: None,
            bridger: None,
            last_kept: None,
        };
        graph.take_in();
        graph.link();
        graph.keep();
        graph.bridge();
        graph
    }

    /// Returns whether Claude Code loads an entry at all.
    pub fn is_loaded(&self, ix: Ix) -> bool {
        ix.0 < self.count && self.has(ix.0, IN)
    }

    /// Returns whether an entry is gone with the part that the last compaction replaced: no branch
    /// of the file leads there.
    pub fn is_gone(&self, ix: Ix) -> bool {
        ix.0 < self.count && (self.has(ix.0, GONE) || ix.0 < self.from && !self.has(ix.0, IN))
    }

    /// Returns whether an entry is an orphan that Claude Code attaches to an entry close in time.
    pub fn is_bridged(&self, ix: Ix) -> bool {
        ix.0 < self.count && self.has(ix.0, BRIDGED)
    }

    /// Returns whether the last compaction kept an entry and took effect.
    pub fn is_kept(&self, ix: Ix) -> bool {
        ix.0 < self.count && self.has(ix.0, KEPT)
    }

    /// Returns the parent that Claude Code gives an entry: through progress lines, and after
    /// compaction and the attaching of orphans.
    pub fn parent(&self, ix: Ix) -> Option<Ix> {
        (self.is_loaded(ix) && self.parent[ix.index()] < NONE).then(|| Ix(self.parent[ix.index()]))
    }

    /// Returns whether the file is so big that Claude Code does not read anything before its last
    /// boundary.
    pub fn reads_from_boundary(&self) -> bool {
        self.from > 0
    }

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
                                || !sidechain && pin.is_none() && self.is_pulled_in(target, &way)
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
            Some((chosen, rule)) => self.settle(chosen, rule),
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
            at if at < NONE && self.has(at, IN) => self.settle(at, Rule::Asked),
            _ => Leaf { turn: None, end: None, from: None, rule: Rule::NoTurn },
        }
    }

    /// Returns the main path that ends at `from` ([`Leaf::from`]), root first: the path by links,
    /// with parts and results restored, and not cut at a boundary.
    pub fn trunk(&mut self, from: Ix) -> Vec<Step> {
        if !self.is_loaded(from) {
            return Vec::new();
        }
        let way = self.chain(from.0);
        self.whole(&way)
    }

    /// Returns the main path as it is sent: the results of one reply in the order of the file,
    /// including restored ones.
    pub fn sent_trunk(&mut self, from: Ix) -> Vec<Step> {
        let mut trunk = self.trunk(from);
        let is_result =
            |step: &Step| step.way != Way::Kept && self.session.entries.flags(step.entry).has(Flags::RESULT);
        for results in trunk.chunk_by_mut(|one, next| is_result(one) && is_result(next)) {
            results.sort_by_key(|step| step.entry);
        }
        trunk
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
            self.settle(tip, rule).turn
        });
        let other = |other: Option<Ix>| other.filter(|other| Some(*other) != leaf.turn);
        OtherReaders { without_pointers: other(tip), newest: other(newest), last_end: other(last_end) }
    }

    pub(super) fn has(&self, ix: u32, bit: u8) -> bool {
        self.state[ix as usize] & bit != 0
    }

    pub(super) fn kind(&self, ix: u32) -> Kind {
        self.session.entries.kind(Ix(ix))
    }

    pub(super) fn is_turn(&self, ix: u32) -> bool {
        self.kind(ix).is_turn()
    }

    /// Returns whether a line is only a link: its children are attached to its parent.
    fn is_passed(&self, ix: u32) -> bool {
        let links = &self.session.claude.links;
        self.kind(ix) == Kind::Progress || !links.is_empty() && links.binary_search(&Ix(ix)).is_ok()
    }

    pub(super) fn is_sidechain(&self, ix: u32) -> bool {
        self.session.entries.flags(Ix(ix)).has(Flags::SIDECHAIN)
    }

    pub(super) fn group(&self, ix: u32) -> Key {
        self.session.entries.group(Ix(ix))
    }

    /// Returns the loaded entries, in the order in which their ids first occur in the file.
    pub(super) fn rows(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let count = self.rows.as_ref().map_or(self.count as usize, Vec::len);
        (0..count)
            .map(|at| self.rows.as_ref().map_or(at as u32, |rows| rows[at]))
            .filter(|ix| self.has(*ix, IN))
    }

    /// Returns the place where the id of an entry first occurs.
    pub(super) fn first_copy(&self, ix: u32) -> u32 {
        self.place.get(&ix).copied().unwrap_or(ix)
    }

    fn find(&self, key: Key) -> Option<u32> {
        let keys = &self.session.entries.keys()[..self.count as usize];
        keys.iter().rposition(|known| *known == key).map(|at| at as u32).filter(|ix| self.has(*ix, IN))
    }

    /// Determines which entries are loaded.
    fn take_in(&mut self) {
        let session = self.session;
        let entries = &session.entries;
        let big = session.files.first().is_some_and(|file| file.bytes >= BIG);
        let boundary = session.claude.boundary.as_ref();
        self.from = boundary.filter(|_| big).map_or(0, |boundary| boundary.entry.0);
        let mut kept = boundary.map(|boundary| boundary.kept.clone()).unwrap_or_default();
        kept.sort_unstable();
        for ix in 0..self.count {
            if !self.is_passed(ix) && (ix >= self.from || kept.binary_search(&entries.key(Ix(ix))).is_ok()) {
                self.state[ix as usize] = IN;
            }
        }
        let copies: Vec<u32> = self.tree.shadowed().map(|ix| ix.0).filter(|ix| *ix < self.count).collect();
        if copies.is_empty() {
            return;
        }
        // The entry that represents an id is loaded in the place of its first copy.
        let mut first: HashMap<Key, u32> = HashMap::new();
        for ix in &copies {
            if self.has(*ix, IN) {
                first.entry(entries.key(Ix(*ix))).or_insert(*ix);
            }
            self.state[*ix as usize] = 0;
        }
        for ix in 0..self.count {
            if self.has(ix, IN)
                && let Some(first) = first.get(&entries.key(Ix(ix)))
            {
                self.place.insert(ix, *first);
            }
        }
        let mut rows: Vec<u32> = (0..self.count).filter(|ix| self.has(*ix, IN)).collect();
        rows.sort_by_key(|ix| self.first_copy(*ix));
        self.rows = Some(rows);
    }

    /// Finds the parent of each entry, through progress lines.
    fn link(&mut self) {
        let mut through: Vec<u32> = Vec::new();
        for ix in 0..self.count {
            self.parent[ix as usize] = match self.tree.link(Ix(ix)) {
                Parent::Root => ROOT,
                Parent::Missing => LOST,
                Parent::Entry(parent) | Parent::Ring(parent) if parent.0 < self.count => parent.0,
                Parent::Entry(_) | Parent::Ring(_) => LOST,
            };
        }
        for ix in 0..self.count {
            let mut at = self.parent[ix as usize];
            if at >= NONE || self.has(at, IN) {
                continue;
            }
            // Skipped lines get the result too, so that none is walked twice.
            through.push(ix);
            while at < NONE && self.is_passed(at) && at >= self.from {
                through.push(at);
                let next = self.parent[at as usize];
                // A cycle of such lines leads nowhere.
                self.parent[at as usize] = LOST;
                at = next;
            }
            let found = if at < NONE && !self.has(at, IN) { LOST } else { at };
            for ix in through.drain(..) {
                self.parent[ix as usize] = found;
            }
        }
    }

    /// Moves the messages that the last boundary kept below its summary, and drops those that it
    /// replaced.
    fn keep(&mut self) {
        let session = self.session;
        let Some(boundary) = session.claude.boundary.as_ref() else { return };
        let at = boundary.entry.0;
        if at >= self.count || !self.has(at, IN) {
            return;
        }
        let kept = match (&boundary.kept, boundary.ends) {
            (kept, _) if !kept.is_empty() => self.find_all(kept),
            (_, Some((head, tail))) if boundary.anchor.is_some() => self.segment(head, tail),
            _ => None,
        };
        let kept = match kept {
            Some(kept) => kept,
            None if !boundary.is_listed() && self.is_listed_before(at) => Vec::new(),
            None => return,
        };
        // An entry that names the summary as its parent comes after the last kept message, whether
        // or not there is a summary.
        let anchor = boundary.anchor.and_then(|anchor| self.find(anchor));
        let mut below_anchor = Seen::new(self.count);
        for ix in 0..self.count {
            let is_below = match self.parent[ix as usize] {
                LOST => boundary.anchor.is_some() && self.lost_parent(ix) == boundary.anchor,
                parent => parent < NONE && Some(parent) == anchor,
            };
            if is_below && self.has(ix, IN) {
                below_anchor.set(ix);
            }
        }
        for ix in &kept {
            self.state[*ix as usize] |= KEPT;
        }
        let border = self.first_copy(at);
        for ix in 0..self.count {
            if self.has(ix, IN) && !self.has(ix, KEPT) && self.first_copy(ix) < border {
                self.state[ix as usize] = GONE;
            }
        }
        let after: Vec<u32> = self.rows().filter(|ix| self.first_copy(*ix) > border).collect();
        for ix in &after {
            let parent = self.parent[*ix as usize];
            if self.is_turn(*ix) || self.has(*ix, KEPT) || parent >= NONE {
                continue;
            }
            if self.has(parent, GONE) {
                self.state[*ix as usize] = GONE;
            } else if self.has(parent, KEPT) {
                self.state[*ix as usize] |= ASIDE;
            }
        }
        for ix in 0..self.count {
            let parent = self.parent[ix as usize];
            if self.has(ix, IN)
                && !self.has(ix, KEPT)
                && (below_anchor.has(ix) || parent < NONE && self.has(parent, GONE))
            {
                self.parent[ix as usize] = kept.last().copied().unwrap_or(ROOT);
            }
        }
        self.last_kept = kept.last().copied();
        let anchor = anchor.filter(|anchor| self.has(*anchor, IN));
        let mut before = anchor.unwrap_or(ROOT);
        for ix in kept.into_iter().filter(|ix| Some(*ix) != anchor) {
            self.parent[ix as usize] = before;
            before = ix;
        }
    }

    /// Returns whether a boundary other than the one at `last` has lists, according to its last
    /// copy.
    fn is_listed_before(&self, last: u32) -> bool {
        let boundaries = self.session.claude.boundaries.iter();
        boundaries.filter(|(ix, listed)| *listed && ix.0 != last).any(|(ix, _)| self.has(ix.0, IN))
    }

    /// Returns the id that an orphan names as its parent, through progress lines.
    fn lost_parent(&self, ix: u32) -> Option<Key> {
        let mut at = Ix(ix);
        for _ in 0..self.count {
            match self.tree.link(at) {
                Parent::Missing => return self.session.entries.parent_key(at),
                Parent::Entry(parent) if parent.0 < self.count && self.is_passed(parent.0) => at = parent,
                _ => break,
            }
        }
        None
    }

    /// Returns the entries with these ids, in order and without duplicates; `None` if one does not
    /// exist.
    fn find_all(&self, keys: &[Key]) -> Option<Vec<u32>> {
        let mut wanted: Vec<(Key, u32)> = keys.iter().map(|key| (*key, LOST)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        for ix in 0..self.count {
            let key = self.session.entries.key(Ix(ix));
            if self.has(ix, IN)
                && let Ok(at) = wanted.binary_search_by_key(&key, |(key, _)| *key)
            {
                wanted[at].1 = ix;
            }
        }
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let at = wanted.binary_search_by_key(key, |(key, _)| *key).expect("all keys are wanted");
            match std::mem::replace(&mut wanted[at].1, ROOT) {
                LOST => return None,
                ROOT => {}
                ix => found.push(ix),
            }
        }
        Some(found)
    }

    /// Returns the entries from `tail` up to `head`, `head` first.
    fn segment(&self, head: Key, tail: Key) -> Option<Vec<u32>> {
        let (head, mut at) = (self.find(head)?, self.find(tail)?);
        let (mut found, mut seen) = (Vec::new(), Seen::new(self.count));
        while at < NONE && self.has(at, IN) && seen.add(at) {
            found.push(at);
            if at == head {
                found.reverse();
                return Some(found);
            }
            at = self.parent[at as usize];
        }
        None
    }

    /// Attaches the orphans to entries close in time.
    fn bridge(&mut self) {
        let orphans: Vec<u32> = self
            .rows()
            .filter(|ix| {
                let parent = self.parent[*ix as usize];
                parent == LOST || parent < NONE && !self.has(parent, IN)
            })
            .collect();
        if orphans.is_empty() {
            return;
        }
        for ix in &orphans {
            self.parent[*ix as usize] = LOST;
        }
        let mut bridger = Bridger::new(self);
        for ix in orphans {
            if let Some(to) = bridger.nearest(self, ix) {
                bridger.join(ix, to);
                self.parent[ix as usize] = to;
                self.state[ix as usize] |= BRIDGED;
            }
        }
        self.bridger = Some(bridger);
    }

    /// Returns the entry at which the way up continues when its next link would close a cycle at
    /// `ix`.
    fn past_ring(&mut self, ix: u32) -> Option<u32> {
        let mut bridger = self.bridger.take().unwrap_or_else(|| Bridger::new(self));
        let found = bridger.nearest(self, ix);
        self.bridger = Some(bridger);
        found
    }

    /// Returns the path to an entry, root first.
    fn chain(&mut self, from: u32) -> Vec<u32> {
        let (mut way, mut seen) = (Vec::new(), Seen::new(self.count));
        let mut at = Some(from);
        while let Some(ix) = at.filter(|ix| self.has(*ix, IN) && seen.add(*ix)) {
            way.push(ix);
            let parent = self.parent[ix as usize];
            at = match parent {
                LOST | ROOT => None,
                parent if seen.has(parent) => self.past_ring(ix),
                parent => Some(parent),
            };
        }
        way.reverse();
        way
    }

    /// Returns the path to an entry by the stored links, root first: no orphan is attached, and the
    /// path ends at a cycle.
    fn stored(&self, from: u32) -> Vec<u32> {
        let (mut way, mut seen) = (Vec::new(), Seen::new(self.count));
        let mut at = from;
        while at < NONE && self.has(at, IN) && seen.add(at) {
            way.push(at);
            at = if self.has(at, BRIDGED) { LOST } else { self.parent[at as usize] };
        }
        way.reverse();
        way
    }

    /// Returns the last entry of the main conversation in the file that has a turn at or above it.
    fn last_entry(&mut self) -> Option<u32> {
        // Paths that were found to contain no turn are not walked twice.
        let (mut without, mut now) = (Seen::new(self.count), Seen::new(self.count));
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
                at = walk.last().copied().and_then(|last| self.past_ring(last)).unwrap_or(LOST);
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
        let kids = Kids::of_all(self);
        let mut only = None;
        let mut climbed = Seen::new(self.count);
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
        let mut seen = Seen::new(self.count);
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
                    last = (!self.goes_on(pointer.before)).then_some(None);
                    pin = None;
                }
                None => {}
            }
        }
        (last, pin.map(|(_, before)| if self.goes_on(before) { Pin::Followed } else { Pin::Last }))
    }

    /// Returns whether an entry of the main conversation comes in the file from here on.
    fn goes_on(&self, before: u32) -> bool {
        (before..self.count).any(|ix| !self.is_sidechain(ix) && !self.is_passed(ix))
    }

    /// Goes from the chosen entry to the turn at or above it, and to the end of the entries that
    /// follow it.
    fn settle(&mut self, chosen: u32, rule: Rule) -> Leaf {
        let none = |rule| Leaf { turn: None, end: None, from: None, rule };
        let mut at = chosen;
        let mut seen = Seen::new(self.count);
        while !self.is_turn(at) && seen.add(at) {
            match self.parent[at as usize] {
                parent if parent < NONE && self.has(parent, IN) => at = parent,
                _ => break,
            }
        }
        if self.is_sidechain(at) && rule != Rule::Asked {
            return none(Rule::Sidechain);
        }
        let mut seen = Seen::new(self.count);
        while seen.add(at) && self.has_kids(at) {
            let follows = |ix: &&u32| !self.is_turn(**ix) && !self.has(**ix, ASIDE);
            match self.kids.as_ref().and_then(|kids| kids.children(at).iter().find(follows)) {
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

    /// Returns the reply with the part that is the parent of a result.
    pub(super) fn answers(&self, ix: u32) -> Key {
        let parent = self.parent[ix as usize];
        if self.kind(ix) == Kind::Tool && parent < NONE && self.kind(parent) == Kind::Assistant {
            self.group(parent)
        } else {
            Key::NONE
        }
    }

    /// Returns whether an entry off the path, or the turn that it is a note of, is inserted into
    /// its main path: as a part of a reply with a call on the path, or as a result of one.
    fn is_pulled_in(&self, ix: u32, way: &[u32]) -> bool {
        let (mut at, mut seen) = (ix, Seen::new(self.count));
        while !self.is_turn(at) && seen.add(at) {
            match self.parent[at as usize] {
                parent if parent < NONE && self.has(parent, IN) => at = parent,
                _ => return false,
            }
        }
        let group = match self.kind(at) {
            Kind::Assistant => self.group(at),
            _ => self.answers(at),
        };
        let calls = |ix: u32| {
            self.kind(ix) == Kind::Assistant
                && self.group(ix) == group
                && self.session.entries.flags(Ix(ix)).has(Flags::CALL)
        };
        group.is_some() && !way.contains(&at) && way.iter().any(|ix| calls(*ix))
    }

    /// Returns whether an entry is a turn without another turn below it.
    fn is_last_turn(&mut self, ix: u32) -> bool {
        if !self.is_turn(ix) {
            return false;
        }
        let mut todo = vec![ix];
        let mut seen = Seen::new(self.count);
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
        let mut has_kids = Seen::new(self.count);
        for ix in self.rows() {
            let parent = self.parent[ix as usize];
            if parent < NONE && !self.has(ix, BRIDGED) {
                has_kids.set(parent);
            }
        }
        let mut climbed = Seen::new(self.count);
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

    fn has_kids(&mut self, ix: u32) -> bool {
        match &self.kids {
            Some(kids) => !kids.children(ix).is_empty(),
            // Mostly the end of the file is asked for, which has no children: no need to sort them
            // all.
            None if self.rows().any(|kid| self.parent[kid as usize] == ix) => {
                self.kids = Some(Kids::of_all(self));
                true
            }
            None => false,
        }
    }

    fn kids(&self) -> &Kids {
        self.kids.as_ref().expect("`has_kids` sorted them")
    }
}

/// The children of each entry, in the order of [`ClaudeGraph::rows`].
pub(super) struct Kids {
    first: Vec<u32>,
    list: Vec<u32>,
}

impl Kids {
    pub(super) fn of_all(graph: &ClaudeGraph<'_>) -> Kids {
        let mut first = vec![0u32; graph.count as usize + 2];
        let linked = || graph.rows().map(|ix| (ix, graph.parent[ix as usize])).filter(|(_, up)| *up < NONE);
        for (_, parent) in linked() {
            first[parent as usize + 2] += 1;
        }
        for at in 2..first.len() {
            first[at] += first[at - 1];
        }
        let mut list = vec![0u32; first[first.len() - 1] as usize];
        for (ix, parent) in linked() {
            let next = &mut first[parent as usize + 1];
            list[*next as usize] = ix;
            *next += 1;
        }
        Kids { first, list }
    }

    pub(super) fn children(&self, ix: u32) -> &[u32] {
        &self.list[self.first[ix as usize] as usize..self.first[ix as usize + 1] as usize]
    }
}

/// A set of entries: a bit each.
pub(super) struct Seen(Vec<u64>);

impl Seen {
    pub(super) fn new(count: u32) -> Seen {
        Seen(vec![0; count as usize / 64 + 1])
    }

    pub(super) fn has(&self, ix: u32) -> bool {
        self.0[ix as usize / 64] >> (ix % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, ix: u32) {
        self.0[ix as usize / 64] |= 1 << (ix % 64);
    }

    fn clear(&mut self, ix: u32) {
        self.0[ix as usize / 64] &= !(1 << (ix % 64));
    }

    /// Adds an entry; returns whether it was not in the set.
    pub(super) fn add(&mut self, ix: u32) -> bool {
        let new = !self.has(ix);
        self.set(ix);
        new
    }
}
