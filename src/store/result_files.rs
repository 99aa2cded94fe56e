//! The files in which Claude Code keeps tool results that are too long for the transcript:
//! `ID/tool-results/NAME`.
//!
//! The names come from sessions, which anyone could have written. Only a regular file directly in
//! the session's own folder is read: no other folder, no link, no pipe.

use super::companions::folder_of;
use crate::format::claude::stored_results::FOLDER;
use crate::format::{is_agents, main_of};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// The tool results beside one session.
#[derive(Clone, Debug)]
pub struct ResultFiles {
    folder: PathBuf,
}

/// A tool result that was read from a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The text that was read; `None` if the file is not a text.
    pub text: Option<String>,
    /// How many following bytes were not read.
    pub more: u64,
}

impl ResultFiles {
    /// Returns the files beside a session, or, if `session` is a subagent's transcript, beside its
    /// session. Returns `None` if there is no folder of such files. A link to a session is
    /// followed, a folder that is a link is not.
    pub fn of_session(session: &Path) -> Option<ResultFiles> {
        if session == Path::new("-") {
            return None;
        }
        let session = session.canonicalize().ok()?;
        let main = main_of(&session).filter(|_| is_agents(&session));
        let own = folder_of(main.as_ref().unwrap_or(&session));
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|it| it.is_dir());
        let folder = own.join(FOLDER);
        (is_folder(&own) && is_folder(&folder)).then_some(ResultFiles { folder })
    }

    /// Returns the names of the files, in order. Hidden ones, links and anything but regular files
    /// are left out.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|it| it.is_file()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    }

    /// Reads at most `most` bytes of a file. Fails if there is no regular file of that name.
    pub fn read(&self, name: &str, most: u64) -> io::Result<ResultFile> {
        let mut parts = Path::new(name).components();
        let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        if !is_name || name.ends_with('/') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a file name"));
        }
        let path = self.folder.join(name);
        let file = open_itself(&path)?;
        let bytes = file.metadata()?.len();
        let mut read = Vec::new();
        file.take(most).read_to_end(&mut read)?;
        let more = bytes.saturating_sub(read.len() as u64);
        let text = match memchr::memchr(0, &read) {
            Some(_) => None,
            None => Some(String::from_utf8_lossy(whole_characters(&read, more > 0)).into_owned()),
        };
        Ok(ResultFile { path, bytes, text, more })
    }
}

/// Opens a regular file that is not a link, without ever waiting for the other end of a pipe.
fn open_itself(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file")),
    }
}

/// Returns the bytes without a truncated character at the end.
fn whole_characters(bytes: &[u8], cut: bool) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if cut && error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

#[cfg(test)]
mod tests;
