//! The files that lie beside a session file, in a folder of its name: agents' transcripts, tool output, and the like.

use super::{Error, find};
use crate::format::{Sidecar, agent_of};
use std::fs;
use std::path::{Path, PathBuf};

/// A file in the folder of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Companion {
    /// Where it is.
    pub path: PathBuf,
    /// Where it is in the folder of the session.
    pub inside: PathBuf,
}

impl Companion {
    /// The agent whose file it is, by its name.
    pub fn agent(&self) -> Option<&str> {
        agent_of(&self.inside)
    }

    /// What the client notes of an agent, where it is such a note.
    pub fn sidecar(&self) -> Option<Sidecar> {
        if !Sidecar::is_at(&self.inside) {
            return None;
        }
        Sidecar::read(self.path.clone(), &fs::read(&self.path).ok()?)
    }
}

/// The folder of a session file: its path without `.jsonl`.
pub fn folder_of(session: &Path) -> PathBuf {
    session.with_extension("")
}

/// The files in the folder of a session, in the order of their paths. Links that lead elsewhere are left out.
///
/// Fails where a folder can't be read, since what is in it belongs to the session.
pub fn companions(session: &Path) -> Result<Vec<Companion>, Error> {
    let top = folder_of(session);
    let (mut out, mut todo) = (Vec::new(), vec![top.clone()]);
    while let Some(folder) = todo.pop() {
        for entry in find::entries(&folder)? {
            let path = entry.path();
            let kind = entry.file_type().map_err(|source| Error::Io { path: path.clone(), source })?;
            if kind.is_dir() {
                todo.push(path);
            } else if kind.is_file()
                && let Ok(inside) = path.strip_prefix(&top)
            {
                out.push(Companion { inside: inside.to_owned(), path });
            }
        }
    }
    out.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(out)
}
