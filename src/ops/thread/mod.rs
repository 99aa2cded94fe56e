//! Linearizes Claude Code's transcripts: which lines belong to one conversation, and where the user
//! rewound it.
//!
//! On disk, an entry with several children is rarely a point to which the user went back. One reply
//! is several lines; each result of parallel calls is a child of its own call; hooks, progress and
//! system notes are children beside the conversation; a compaction and an entry whose parent is
//! lost begin anew. [`read()`] returns the entries as [`Strand`]s: a *main strand*, the *branches*
//! that were really taken, and the *subagents*, each strand attached to the entry where it leaves
//! another. [`document()`](crate::ops::claude_code_log::document) returns the order of another
//! program, claude-code-log 1.7.0, as a yardstick.
//!
//! # The rules of `read`
//!
//! **Invariant.** Every entry is on exactly one strand, or set aside with the reason and the entry
//! that represents it ([`Reading::aside`]); only among copies of one id does just one count: within
//! a file the last, as in Claude Code, and over several files the one in the oldest session.
//! Children of an entry that was set aside become children of its representative. So nothing is
//! lost.
//!
//! **Links.** An entry is attached to its parent, with these exceptions:
//!
//! 1. A compaction is attached to the last entry before it in the file among those that it names
//!    (the one that it follows, and those that it keeps); if it names no existing entry, to the
//!    entry before it.
//! 2. An entry whose parent is missing, or whose link would close a cycle, is attached to the entry
//!    before it in the file; so is an entry without a parent, unless it is a typed prompt. A typed
//!    prompt without a parent is a start: the first of the session, or a later one after a rewind
//!    past the first.
//! 3. Subagents' entries in a session's own file (`isSidechain`) are separate strands: one from
//!    each of them that has no parent, attached to the call with its prompt among the last sixteen,
//!    or else to the entry of the main conversation before it. A subagent's file is attached to the
//!    entry that started it.
//!
//! None of these links is made if it would close a cycle.
//!
//! **Forks.** The children of an entry are processed in time order, equal ones in file order; the
//! starts of a session are treated as the children of nothing. Then:
//!
//! 1. *Replay.* A child with the same content and kind as an earlier one, and the same time to the
//!    millisecond, is a copy: it is set aside, and its children count as those of the first.
//! 2. *Side branch.* A child without any user or assistant entry at or below it is stitched in
//!    here, with everything below it; progress updates below it are set aside. If at most one other
//!    child is left, the strand continues there.
//! 3. *Kept entries.* A compaction that keeps its parent comes before the children that were
//!    written after it, and the strand continues after it. If a child was written before it, or if
//!    there is a reply below the compaction, so that the user went back from there, the compaction
//!    is a branch, and so are the others (5).
//! 4. *One turn.* These children belong to the current turn: results of calls of this reply (all
//!    its lines count); replies with the id of this one, or among results below a call; the first
//!    reply below an entry that is not a reply; an interruption; an entry that Claude Code inserted
//!    and nothing answered; and an entry whose parent is lost. They are all one strand: those that
//!    lead nowhere come first, then the others by time, and last the one whose end is last in the
//!    file.
//! 5. *Rewind.* Every other child begins a new turn: a typed prompt, answered or not; a further
//!    reply with another id; a continuation of a result of another reply's call; a compaction
//!    that the user rewound past. If there are several of these, or one besides a turn that
//!    contains more than results, each is a branch, and so is the turn. A sequence of hooks or
//!    progress updates is classified by the first user or assistant entry below it.
//!
//! **Order.** The entries of a strand follow one another; strands attached to an entry come right
//! after it, the earliest first ([`Reading::order`]). [`Reading::tree`] is the same as a tree, in
//! which every branch is a path.
//!
//! The id of a strand consists of that of its session and the whole ids of the entries with which
//! its branches begin. Nothing here recurses, and everything is O(n log n).

mod agents;
mod build;
mod line_facts;
mod links;
mod relations;
pub(crate) mod text;

pub use agents::{Agent, Anchored, agents};
pub use build::{Aside, Reading, Strand, StrandKind, Why, read, read_with};
pub use line_facts::forked_from;
pub use relations::{How, Kin, Origin, family};
