//! git for coding-agent sessions: read, move in, check and change the trees that coding agents
//! write.
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
//! The words are those of `docs/glossary.md`. `docs/architecture.md` describes the code, and
//! `examples/` has four programs.
//!
//! # The map
//!
//! ```text
//! cmd  facade              the command line · the library for other programs
//! ops  fsck  store  ui     operations · checks · all access to files · the terminal
//! context                  what an agent would send to the model
//! format                   what differs between formats: bytes in, bytes out
//! json                     fields of one line without parsing the rest, and edits of one line
//! model                    entries, the tree, paths, plans: no I/O, no formats, no text
//! ```
//!
//! A layer uses only the layers below it. The four layers in the second row do not use each other:
//! [`ops`] and [`fsck`] are pure, and get the bytes of a line through [`model::Source`], which
//! [`store`] implements. [`ui`] uses none of the others.
//!
//! # Reading
//!
//! [`store::open()`] reads a file in blocks. [`json::Reader`] cuts the blocks into lines and
//! returns the fields that place a line in the tree. A [`format::Dialect`] decides whether the line
//! is an entry. [`format::Session`] is the result: columns of entries ([`model::Entries`]), the
//! [`model::Tree`] over them, the other lines, HEAD, and the faults that were met. A damaged
//! session is input, not an error.
//!
//! # Writing
//!
//! An operation of [`ops`] returns a [`model::Plan`] and touches nothing. [`store`] carries the
//! plan out.

pub mod cmd;
pub mod context;
pub mod format;
pub mod fsck;
pub mod json;
pub mod model;
pub mod ops;
pub mod store;
pub mod ui;

mod facade;

pub use facade::{Apply, Change, Check, Entry, Error, Fault, Finding, Format, Kind, Level, Session};
