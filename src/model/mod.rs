//! Entries, the tree over them, paths and plans. Contains no I/O, no formats and no text.

mod ancestry;
mod changing_forest;
mod count;
mod entries;
mod fault;
mod flags;
mod key;
mod kind;
mod line_reader;
mod plan;
mod slip;
mod source;
mod time;
mod tree;
mod type_names;

pub use ancestry::Ancestry;
pub use changing_forest::{ChangingForest, Facts};
pub use count::{Count, grouped};
pub use entries::{Entries, Entry, Ix};
pub use fault::{Fault, FaultKind};
pub use flags::Flags;
pub use key::{BuildKeyHasher, IdStart, Key, KeyHasher};
pub use kind::Kind;
pub use line_reader::LineReader;
pub use plan::{Change, Moved, Piece, Plan, Planned, Target};
pub use slip::is_slip;
pub use source::{Source, Span, Table};
pub use time::{Clock, Time, parse_time};
pub(crate) use tree::KeySet;
pub use tree::{Copies, Found, Parent, Tree};
