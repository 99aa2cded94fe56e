//! The entries that Claude Code loads from a transcript when it resumes it, and their links. All
//! rules are listed here; `head.rs` has the code of 4 to 6, and `main_path.rs` that of 7.
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
//!    Code forgets is never the leaf (`forgotten.rs`): the turn before it is.
//! 7. **The main path** is the path to that entry, with all parts of each reply on it (entries with
//!    its `message.id`, on any branch), each after the last entry that comes before it in the file,
//!    from the first part on the path to the last one; the results that are children of these; a
//!    result elsewhere in the file for a call that has none, unless either is a sidechain; and the
//!    notes of hooks below calls and results.
//!
//! Compared with Claude Code itself on real and hand-made transcripts, where all results agree, and
//! on wild random ones. Known differences: a copy of an earlier entry as the last line of a file
//! whose order is reversed; a pin among kept messages with entries after it.
//!
//! Everything here costs passes over columns, in temporary memory: some ten bytes an entry, or
//! forty if orphans are attached. Only entries of the main file take part.

mod compaction;
mod entry_set;
mod kids;

use super::orphans::Bridger;
use crate::format::Session;
use crate::model::{Copies, Flags, Ix, Key, Kind, Parent, Tree};
pub(super) use entry_set::EntrySet;
use kids::Kids;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

/// The file size from which on a file is read from its last boundary, in bytes.
const BIG: u64 = 5 << 20;

/// Links with this value or more lead to no entry.
pub(super) const NONE: u32 = LOST;
/// The parent is not among the loaded entries.
pub(super) const LOST: u32 = u32::MAX - 1;
const ROOT: u32 = u32::MAX;

/// The entry is loaded.
pub(super) const IN: u8 = 1;
/// A note of Claude Code about the compaction, which is a child of a kept message and is not
/// followed.
pub(super) const ASIDE: u8 = 1 << 1;
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
    kids: OnceCell<Kids>,
    with_turns: OnceCell<EntrySet>,
    bridger: Option<Bridger>,
    /// The last message that the last compaction kept, if the compaction took effect.
    pub(super) last_kept: Option<u32>,
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

/// Returns the path to an entry with all parts of its replies, for [`Session::whole_path`]; `None`
/// if Claude Code orders that path differently or does not load it.
pub(in crate::format) fn whole_path(session: &Session, tip: Ix) -> Option<Vec<Ix>> {
    let mut graph = ClaudeGraph::new(session);
    let from = graph.leaf_at(tip).from?;
    let main_path = graph.sent_path(from);
    let is_there = main_path.iter().any(|step| step.entry == tip);
    let as_linked = main_path.iter().all(|step| step.way != Way::Kept);
    let mut path: Vec<Ix> = main_path.into_iter().map(|step| step.entry).collect();
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
            kids: OnceCell::new(),
            with_turns: OnceCell::new(),
            bridger: None,
            last_kept: None,
        };
        graph.load_entries();
        graph.link_entries();
        graph.apply_compaction();
        graph.attach_orphans();
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

    /// Returns the main path that ends at `from` (that of `head::Leaf`), root first: the path by links,
    /// with parts and results restored, and not cut at a boundary.
    pub fn main_path(&mut self, from: Ix) -> Vec<Step> {
        if !self.is_loaded(from) {
            return Vec::new();
        }
        let way = self.chain(from.0);
        self.whole(&way)
    }

    /// Returns the main path as it is sent: the results of one reply in the order of the file,
    /// including restored ones.
    pub fn sent_path(&mut self, from: Ix) -> Vec<Step> {
        let mut main_path = self.main_path(from);
        let is_result =
            |step: &Step| step.way != Way::Kept && self.session.entries.flags(step.entry).has(Flags::RESULT);
        for results in main_path.chunk_by_mut(|one, next| is_result(one) && is_result(next)) {
            results.sort_by_key(|step| step.entry);
        }
        main_path
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
    pub(super) fn is_passed(&self, ix: u32) -> bool {
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

    pub(super) fn find(&self, key: Key) -> Option<u32> {
        let keys = &self.session.entries.keys()[..self.count as usize];
        keys.iter().rposition(|known| *known == key).map(|at| at as u32).filter(|ix| self.has(*ix, IN))
    }

    /// Determines which entries are loaded.
    fn load_entries(&mut self) {
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
    fn link_entries(&mut self) {
        let mut through: Vec<u32> = Vec::new();
        for ix in 0..self.count {
            self.parent[ix as usize] = match self.tree.link(Ix(ix)) {
                Parent::Root => ROOT,
                Parent::Missing => LOST,
                Parent::Entry(parent) | Parent::Cycle(parent) if parent.0 < self.count => parent.0,
                Parent::Entry(_) | Parent::Cycle(_) => LOST,
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

    /// Attaches the orphans to entries close in time.
    fn attach_orphans(&mut self) {
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
    pub(super) fn past_cycle(&mut self, ix: u32) -> Option<u32> {
        let mut bridger = self.bridger.take().unwrap_or_else(|| Bridger::new(self));
        let found = bridger.nearest(self, ix);
        self.bridger = Some(bridger);
        found
    }

    /// Returns the path to an entry, root first.
    pub(super) fn chain(&mut self, from: u32) -> Vec<u32> {
        let (mut way, mut seen) = (Vec::new(), EntrySet::new(self.count));
        let mut at = Some(from);
        while let Some(ix) = at.filter(|ix| self.has(*ix, IN) && seen.add(*ix)) {
            way.push(ix);
            let parent = self.parent[ix as usize];
            at = match parent {
                LOST | ROOT => None,
                parent if seen.has(parent) => self.past_cycle(ix),
                parent => Some(parent),
            };
        }
        way.reverse();
        way
    }

    /// Returns the path to an entry by the stored links, root first: no orphan is attached, and the
    /// path ends at a cycle.
    pub(super) fn stored(&self, from: u32) -> Vec<u32> {
        let (mut way, mut seen) = (Vec::new(), EntrySet::new(self.count));
        let mut at = from;
        while at < NONE && self.has(at, IN) && seen.add(at) {
            way.push(at);
            at = if self.has(at, BRIDGED) { LOST } else { self.parent[at as usize] };
        }
        way.reverse();
        way
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

    /// Returns whether an entry has children.
    ///
    /// Costs a pass over the entries until [`Self::kids`] was called.
    pub(super) fn has_kids(&self, ix: u32) -> bool {
        match self.kids.get() {
            Some(kids) => !kids.children(ix).is_empty(),
            // Mostly the end of the file is asked for, which has no children: no need to sort them
            // all.
            None => self.rows().any(|kid| self.parent[kid as usize] == ix),
        }
    }

    /// Returns the children of all entries. The first call costs a pass over the entries.
    pub(super) fn kids(&self) -> &Kids {
        self.kids.get_or_init(|| Kids::new(self))
    }

    /// Returns the notes that have a turn somewhere below them. The first call costs a pass over
    /// the entries.
    pub(super) fn with_turns(&self) -> &EntrySet {
        self.with_turns.get_or_init(|| {
            let mut with = EntrySet::new(self.count);
            for ix in self.rows().filter(|ix| self.is_turn(*ix)) {
                let mut at = self.parent[ix as usize];
                while at < NONE && self.has(at, IN) && !self.is_turn(at) && with.add(at) {
                    at = self.parent[at as usize];
                }
            }
            with
        })
    }
}
