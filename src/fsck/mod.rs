//! Checks of a session, and repairs that prove themselves.
//!
//! [`CHECKS`] is the one table of what is looked for. [`examine`] takes a session and the bytes of its file and gives
//! [`Findings`]; nothing is written. It goes in two steps. First each damaged line becomes the records that can be had of
//! it, in a text that exists only as a list of pieces; then that text is read as a session, the first copy of an id standing
//! for it, and its links, headers, tool calls and so on are looked at. Sound lines are read once, by the reader that all
//! commands share.

mod around;
mod checks;
mod examine;
mod find;
mod finding;
mod lines;
mod mend;
mod ownership;
mod repair;
mod scan;
mod text;
mod walk;

pub use around::{Alone, Around};
pub use checks::{CHECKS, Check, Level, Mend, Row, Set};
pub use examine::{Examined, Unreadable, examine};
pub use finding::{Finding, Findings};
pub use mend::Aside;
pub use ownership::ownership;
pub use repair::{NoRepair, Proof, Repair, Wishes, repair};
