//! Claude Code's transcripts as one reading: which lines belong to one flow of talk, and where it was taken back.
//!
//! On disk, an entry with several children is rarely a place where the user went back. One reply is several lines; each
//! result of parallel calls hangs under its own call; hooks, progress and notes of the system hang beside the talk; a
//! compaction and an entry whose parent is lost begin anew. [`read()`] gives the entries as [`Strand`]s: a *trunk*, the
//! *branches* that were really taken, and the *agents*, each strand hanging at the entry where it leaves another.
//! [`document()`] gives the order of another program, claude-code-log 1.7.0, as a yardstick.
//!
//! # The rules of `read`
//!
//! **Law.** Every entry is on exactly one strand, or set aside with the reason and the entry that stands for it
//! ([`Reading::aside`]); only of the copies of one id one alone counts: within a file the last, as for the client, over several
//! files that of the oldest session. What hangs at an entry that was set aside hangs at its stand-in. So nothing is lost.
//!
//! **Links.** An entry hangs under its parent, with these exceptions:
//!
//! 1. A compaction hangs under the last entry before it in the file of those that it names (what it stands behind, and
//!    what it keeps); where it names none that is there, under the entry before it.
//! 2. An entry whose parent is missing, or whose link would close a ring, hangs under the entry before it in the file; so
//!    does one without a parent, unless it is a prompt that was typed. A typed prompt without a parent is a start: the
//!    first of the session, or one after going back past it.
//! 3. Agents' entries in a session's own file (`isSidechain`) are strands of their own: one from each of them that has no
//!    parent, hanging at the call with its prompt among the last sixteen, else at the entry of the main talk before it. An agent's file hangs at the entry that started it.
//!
//! None of these is made where it would close a ring.
//!
//! **Forks.** The children of an entry are taken in the order of their times, equals as they stand in the file; the
//! starts of a session are the children of nothing. Then:
//!
//! 1. *Replay.* A child that says the same as an earlier one, is of the same kind, and has the same time to the
//!    millisecond, is a copy: it is set aside, and its children count as those of the first.
//! 2. *Side branch.* A child without any talk (user, assistant) at or below it is stitched in here, with all below it; ticks of
//!    progress below it are set aside. If at most one other child is left, the strand goes on there.
//! 3. *Kept entries.* A compaction that keeps the entry it hangs at comes first, and the strand goes on behind it.
//! 4. *One turn.* These children are of the turn under way: results of calls of this reply (all its lines count); replies
//!    with the id of this one, or beside results under a call; the first reply under what is no reply; an interruption; what the
//!    client put in and nobody answered; and an entry whose parent is lost. They are all one strand: those that lead to no
//!    talk come first, then the others by time, and last the one whose end stands last in the file.
//! 5. *Rewind.* Every other child begins a turn anew: a typed prompt, answered or not; a further reply with another id;
//!    what goes on from a result of somebody else's call; a compaction that was gone back behind. Where there are several such, or one
//!    beside a turn that says more than results, each is a branch, and so is the turn. A passage of hooks or progress is
//!    what the first talk below it is.
//!
//! **Order.** A strand's entries follow one another; what hangs at an entry comes right behind it, the earliest first
//! ([`Reading::order`]). [`Reading::tree`] is the same as a tree, in which every branch is a path.
//!
//! A strand's id is its session's and the whole ids of the entries that branches begin with. Nothing here recurses, and all
//! of it is n log n.

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
