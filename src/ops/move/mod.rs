//! Changing the paths that session files name: what `bough move` writes into them.
//!
//! Only fields that hold a path are changed, and of those only the part that was moved. All other
//! bytes stay as they are.

mod lines;
mod paths;

pub use lines::{Kind, Paths, Rewritten, rewrite};
pub use paths::PathMap;
