//! The only code that touches files.
//!
//! [`open()`] reads a session; [`Files`] gives its bytes again later, by positional reads. Reading never writes, not even a
//! file time, and a file that grows or is cut while it is read is an error or a shorter session, never a signal.

pub mod blobs;
pub mod companions;
pub mod continued;
mod error;
mod files;
pub mod find;
mod glance;
mod open;
pub mod oplog;
mod part;
pub mod project;
mod segments;
mod sift;
pub mod undo;
mod worktrees;
pub mod write;

pub use error::Error;
pub use files::Files;
pub use glance::glance;
pub use open::{Opened, Options, is_read_once, open, open_raw};
pub use part::{Part, open_part};
pub use sift::{Taker, sift};

use std::path::Path;

/// Makes a folder, and those above it.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(|source| Error::Io { path: path.to_owned(), source })
}

/// Writes a file of the user's own choice, such as a manual page; never one of a session.
pub fn put(path: &Path, content: &[u8]) -> Result<(), Error> {
    std::fs::write(path, content).map_err(|source| Error::Io { path: path.to_owned(), source })
}
