//! Entries, the tree over them, paths and plans. Contains no I/O, no formats and no text.

mod ancestry;
mod count;
mod entries;
mod fault;
mod key;
mod line_reader;
mod plan;
mod slip;
mod source;
mod time;
mod tree;

pub use ancestry::Ancestry;
pub use count::{Count, grouped};
pub use entries::{Entries, Entry, Flags, Ix, Kind};
pub use fault::{Fault, FaultKind};
pub use key::{BuildKeyHasher, Key, KeyHasher};
pub use line_reader::LineReader;
pub use plan::{Change, Moved, Piece, Plan, Planned, Target};
pub use slip::is_slip;
pub use source::{Source, Span, Table};
pub use time::{Clock, Time, parse_time};
pub(crate) use tree::KeySet;
pub use tree::{Copies, Found, Parent, Tree};
