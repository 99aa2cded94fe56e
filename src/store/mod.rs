//! The only code that touches files.
//!
//! [`open()`] reads a session; [`Files`] returns its bytes again later, by positional reads.
//! Reading never writes anything, not even a file time. If a file grows or is truncated while it is
//! read, the result is an error or a shorter session, never a signal.

pub mod agents;
pub mod archive;
pub mod blobs;
pub mod clients;
pub mod companions;
pub mod compressed;
pub mod conflicts;
pub mod continued;
mod error;
mod files;
pub mod locate;
mod lock;
mod new_file;
pub mod oplog;
pub mod project;
pub mod project_folder;
pub mod prompt_history;
mod read;
pub mod remains;
mod result_files;
pub mod sweep;
pub mod undo;
mod worktrees;
pub mod write;

pub use error::{Error, one_of};
pub use files::Files;
pub use new_file::{NewFile, replace_file};
pub use read::end::{End, has_changed};
pub use read::ends::open_ends;
pub use read::growing::{Growing, Grown, Reading};
pub use read::search::{lines_in, search_lines};
pub use read::tail::{TailRequest, open_end, open_part};
pub use read::whole::{Opened, Options, bytes_read, is_read_once, open, open_any, open_raw};
pub use result_files::{ResultFile, ResultFiles};

use std::path::Path;

/// Creates a folder, and its missing ancestors.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(|source| Error::Io { path: path.to_owned(), source })
}

/// Reads a file that is not a session as a whole. Fails if it is a pipe, because reading could wait
/// for its writer forever.
pub fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    refuse_pipe(path)?;
    std::fs::read(path)
}

/// Fails if a path is that of a pipe or a socket.
fn refuse_pipe(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_fifo() || kind.is_socket() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is a pipe, not a file"));
    }
    Ok(())
}

/// Writes a file that can be made again, e.g. a manual page, in place; see [`replace_file`] for others.
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), Error> {
    std::fs::write(path, content).map_err(|source| Error::Io { path: path.to_owned(), source })
}
