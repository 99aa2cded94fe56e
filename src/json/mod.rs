//! Reads fields of one line without building the rest, and edits one line.
//!
//! [`Reader`] takes the bytes of a file in blocks and yields its lines: whether each is JSON, what
//! is wrong with it if it is not, and the [`Field`]s that any format wants, as slices of the block.
//! Skipped values are not decoded or copied. All commands read through it, so that all agree on
//! what a broken line is. [`member_at`] finds a rarely needed field in the bytes of one line. It goes by brackets and
//! quotes, as all that reads does; [`members()`] checks each byte, for edits.

mod bytewise;
mod edit;
mod edits;
mod field_names;
mod fields;
mod grammar;
mod keys;
mod members;
mod object;
mod prefilter;
mod pretty;
mod reader;
mod scan;
mod string;
mod value;

pub use bytewise::{DEPTH, ENDS_IN_STRING, TOO_DEEP};
pub use edit::{Escapes, quoted, set_field, write_string};
pub use edits::Edits;
pub use field_names::Field;
pub use fields::{Block, BlockKind};
pub use members::members;
pub use object::{
    Members, each_item, each_member, each_object, each_raw_member, end_of_string, member, member_at,
    member_of_whole, place_in, string, string_of, text,
};
pub use prefilter::{Prefilter, Run, is_plain};
pub use pretty::pretty;
pub use reader::{Ending, Line, Notes, Reader, Shape};
pub use string::{add_string, decode, decode_start};
pub use value::{Str, Value};
