//! A new file that the user chose, e.g. a page: it gets its name when it is complete.

use super::oplog::Log;
use super::write::temp::Temp;
use super::write::{steps, sys};
use super::{Error, is_read_once};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A new file under a temporary name, to be written piece by piece. It is removed unless it is
/// finished.
pub struct NewFile {
    out: BufWriter<Blocks>,
    temp: Temp,
    path: PathBuf,
    /// Whether a file of that name may be replaced.
    replaces: bool,
}

impl NewFile {
    /// Begins a file that is to have the name `path`.
    pub fn create(path: &Path) -> Result<NewFile, Error> {
        NewFile::begin(path, false).map_err(|source| Error::Io { path: path.to_owned(), source })
    }

    /// Begins a file that replaces the one at `path`, if there is one, and then has its mode, owner
    /// and attributes. A link stays, and the file that it leads to is replaced.
    ///
    /// Fails if that file may not be written, although its folder would allow to replace it.
    pub fn replace(path: &Path) -> Result<NewFile, Error> {
        let begin = || -> io::Result<NewFile> {
            let path = end_of_links(path)?;
            let old = match File::options().append(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                other => Some(other?),
            };
            let new = NewFile::begin(&path, true)?;
            if let Some(old) = old
                && !steps::copy_metadata(&old, new.temp.file()?)?
            {
                let words = "it belongs to another user, who would lose it";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
            }
            Ok(new)
        };
        begin().map_err(|source| Error::Io { path: path.to_owned(), source })
    }

    fn begin(path: &Path, replaces: bool) -> io::Result<NewFile> {
        if let Some(log) = Log::of_user() {
            log.note_folder_of_new_file(sys::folder_of(path));
        }
        let temp = Temp::new(path, 0o666)?;
        let file = temp.file().and_then(File::try_clone)?;
        Ok(NewFile {
            out: BufWriter::with_capacity(1 << 18, Blocks(file)),
            temp,
            path: path.to_owned(),
            replaces,
        })
    }

    /// Gives the file its name. Fails if another file has that name by now, unless it may be
    /// replaced.
    pub fn finish(mut self) -> Result<(), Error> {
        let mut finish = || {
            self.out.flush()?;
            sys::sync(&self.out.get_ref().0)?;
            match self.replaces {
                true => sys::rename(self.temp.path(), &self.path)?,
                false => sys::rename_to_free(self.temp.path(), &self.path)?,
            }
            self.temp.is_gone();
            sys::sync_folder_of(&self.path)
        };
        finish().map_err(|source| Error::Io { path: self.path.clone(), source })
    }
}

/// Writes a file that the user chose, e.g. a report; never a session. It has the old content or the
/// new one, however this ends. A pipe or a device is written to.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), Error> {
    // `/dev/stdout` may lead to a file, in which other output goes on.
    if is_read_once(path) || path.starts_with("/dev") {
        return super::write_file(path, content);
    }
    let mut file = NewFile::replace(path)?;
    file.write_all(content).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    file.finish()
}

/// Returns the path of the file that a link leads to; it may not exist yet.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            Ok(next) => end_of_links(&sys::folder_of(path).join(next)),
            Err(_) => Ok(path.to_owned()),
        },
        other => other,
    }
}

/// A file that is written to by the calls of [`sys`].
struct Blocks(File);

impl Write for Blocks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        sys::write_once(&self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests;
