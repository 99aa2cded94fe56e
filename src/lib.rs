//! git for coding-agent sessions: read, move in, check and change the trees that coding agents
//! write.
//!
//! A coding agent writes a conversation as lines of JSON that form a tree: each rewind, retry and
//! edited prompt is a branch, and all branches are still in the file. This library opens such files,
//! walks their trees, checks them, and moves HEAD so that the agent follows.
//!
//! Open a session, walk the path to HEAD, and move HEAD two entries back:
//!
//! ```no_run
//! use bough::{Apply, Session};
//!
//! fn main() -> Result<(), bough::Error> {
//!     let session = Session::open("session.jsonl")?;
//!     for entry in session.path("HEAD")? {
//!         println!("{}  {}", entry.id()?, entry.text()?);
//!     }
//!     for finding in session.check()? {
//!         println!("line {}: {}", finding.line, finding.message);
//!     }
//!     session.switch("HEAD~2")?.apply(Apply::default())
//! }
//! ```
//!
//! # Reading
//!
//! [`Session::open()`] reads a file of any [`Format`] once. A damaged session is input, not an
//! error: it opens, and [`Session::faults()`] says what was met. An [`Entry`] knows its place in the
//! tree ([`Entry::parent()`], [`Entry::children()`]); its text is read from the file each time it is
//! asked for, so memory grows with the number of entries, never with their size. A revision names an
//! entry as on the command line: `HEAD~2`, an id or its beginning, a label, `turn:3`, `:/text`.
//!
//! Texts come as they are in the file. They are not safe for a terminal: `escape_debug()` makes them
//! so.
//!
//! # Checking
//!
//! [`Session::check()`] runs all checks of `bough fsck`, and returns a [`Finding`] for each piece of
//! damage.
//!
//! # Writing
//!
//! [`Session::switch()`] and [`Session::label()`] plan a [`Change`] and write nothing.
//! [`Change::apply()`] writes it as the program does: not while an agent has the session open, all
//! of it or nothing, and recorded for `bough undo`.
//!
//! # What is stable
//!
//! Everything on this page. Formats, kinds, checks and faults are added with new releases, so their
//! enums are `non_exhaustive`. More operations (`export-branch`, `cherry-pick`, `merge` and others)
//! are commands of the program `bough`, which print JSON for other programs.
//!
//! `examples/` has four programs, `docs/glossary.md` the words, and `docs/architecture.md` describes
//! the code.

// A layer uses only the layers below it; `docs/architecture.md` has the map, and
// `tests/cli/layers.rs` checks it.
mod cmd;
mod context;
mod format;
mod fsck;
mod json;
mod model;
mod ops;
mod store;
mod ui;

mod facade;
#[doc(hidden)]
pub mod internals;

pub use facade::{
    Apply, Change, Check, Entry, Error, Fault, FaultKind, Finding, Format, Kind, Level, Session,
};
