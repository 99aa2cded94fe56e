//! Checks of a session, and repairs that verify themselves.
//!
//! [`CHECKS`] is the only table of checks. [`examine()`] takes a session and the bytes of its file
//! and returns [`Findings`]; nothing is written. It works in two steps. First, each damaged line
//! becomes the entries that can be recovered from it, in a text that exists only as a list of
//! pieces. Then that text is read as a session, in which the first copy of an id represents it, and
//! its links, headers, tool calls and so on are checked. Intact lines are read once, by the reader
//! that all commands share.
//!
//! [`repair()`] makes a [`crate::model::Plan`] from the findings, and verifies it on the bytes that
//! it would write. Neither touches a file:
//!
//! ```
//! use bough::internals::format::Ids;
//! use bough::internals::fsck::{Check, NoSurroundings, RepairOptions, examine, repair};
//! use bough::internals::model::Table;
//!
//! let file = concat!(
//!     r#"{"type":"message","id":"a","parent_id":null,"timestamp":1.0,"message":{"role":"user","content":"hi"}}"#, "\n",
//!     r#"{"type":"message","id":"b","parent_id":"lost","timestamp":2.0,"message":{"role":"user","content":"ho"}}"#, "\n",
//! );
//! let source = Table(vec![file.as_bytes().to_vec()]);
//! let around = NoSurroundings("session");
//! let examined = examine(None, &source, file.len() as u64, None, &around).expect("a session");
//! assert_eq!(examined.findings.count(Check::DanglingParent), 1);
//! let repair = repair(&examined, &source, &around, &RepairOptions::default(), &mut Ids::random()).expect("a proof");
//! assert_eq!(repair.plan.changes[0].new, "\"a\"");
//! assert_eq!(repair.proof.path, (1, 2));
//! ```

mod checks;
mod examine;
mod excerpt;
mod finding;
mod lines;
mod ownership;
mod repair;
mod rope;
mod scan;
mod surroundings;
mod table;

pub use examine::{Examined, Unreadable, examine};
pub use finding::{Finding, Findings};
pub use ownership::ownership;
pub use repair::{NoRepair, Repair, RepairOptions, repair, way_out};
pub use surroundings::{NoSurroundings, Surroundings};
pub use table::{CHECKS, Check, Level, RepairMode, Row, Set};
