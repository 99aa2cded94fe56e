//! git for coding-agent sessions: the tree in a session file, and what one can do with it.
//!
//! # The map
//!
//! ```text
//! cmd                      the command line: what is asked, what is printed, the exit status
//! ops  fsck  store  ui     verbs · checks · the only code that touches files · what a person sees
//! context                  what an agent would send to the model, and what it would leave out
//! format                   what differs from format to format: bytes in, bytes out
//! json                     fields of one line without building the rest, and edits to one line
//! model                    entries, the tree, paths, plans: no I/O, no formats, no text
//! ```
//!
//! A layer uses those below it. The four in the second row do not use one another: [`ops`] and
//! [`fsck`] are pure and reach the bytes of a line through [`model::Source`], which [`store`]
//! implements; [`ui`] uses none of the others.
//!
//! # Reading
//!
//! [`store::open()`] reads a file in blocks. [`json::Reader`] cuts the blocks into lines and hands out
//! the fields that place a line; a [`format::Dialect`] makes an entry, or something else, of each;
//! [`format::Session`] holds the result: columns of entries ([`model::Entries`]), the
//! [`model::Tree`] over them, the other lines, the position of the agent, and the faults that were met.
//! A broken session is input, not an error.
//!
//! # Writing
//!
//! A verb of [`ops`] gives a [`model::Plan`] and touches nothing; `store` carries it out.

pub mod cmd;
pub mod context;
pub mod format;
pub mod fsck;
pub mod json;
pub mod model;
pub mod ops;
pub mod store;
pub mod ui;
