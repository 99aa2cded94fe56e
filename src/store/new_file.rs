//! A new file that the user chose, e.g. a page: it gets its name when it is complete.

use super::Error;
use super::oplog::Log;
use super::write::sys;
use super::write::temp::Temp;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A new file under a temporary name, to be written piece by piece. It is removed unless it is
/// finished.
pub struct NewFile {
    out: BufWriter<File>,
    temp: Temp,
    path: PathBuf,
}

impl NewFile {
    /// Begins a file that is to have the name `path`.
    pub fn create(path: &Path) -> Result<NewFile, Error> {
        let failed = |source| Error::Io { path: path.to_owned(), source };
        if let Some(log) = Log::of_user() {
            log.note_folder_of_new_file(sys::folder_of(path));
        }
        let temp = Temp::new(path, 0o666).map_err(failed)?;
        let file = temp.file().and_then(File::try_clone).map_err(failed)?;
        Ok(NewFile { out: BufWriter::with_capacity(1 << 18, file), temp, path: path.to_owned() })
    }

    /// Gives the file its name. Fails if another file has that name by now.
    pub fn finish(mut self) -> Result<(), Error> {
        let mut finish = || {
            self.out.flush()?;
            sys::sync(self.out.get_ref())?;
            sys::rename_to_free(self.temp.path(), &self.path)?;
            self.temp.is_gone();
            sys::sync_folder_of(&self.path)
        };
        finish().map_err(|source| Error::Io { path: self.path.clone(), source })
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
mod tests {
    use super::*;
    use std::fs;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        names.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_has_its_name_only_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        let mut half = NewFile::create(&path).unwrap();
        half.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(half);
        assert_eq!(names(folder.path()), [] as [&str; 0]);
        let mut whole = NewFile::create(&path).unwrap();
        whole.write_all(b"whole").unwrap();
        whole.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(folder.path()), ["page.html"]);
    }

    #[test]
    fn another_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        let mut new = NewFile::create(&path).unwrap();
        new.write_all(b"new").unwrap();
        fs::write(&path, "came meanwhile").unwrap();
        assert!(new.finish().is_err());
        assert_eq!(fs::read(&path).unwrap(), b"came meanwhile");
        assert_eq!(names(folder.path()), ["page.html"]);
    }
}
