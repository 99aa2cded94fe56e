//! The folders that are made for a new file, and go again if the file is not created.

use super::{sys, temp};
use crate::store::oplog::Emptied;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Returns the nearest existing folder above a path.
pub(super) fn first_folder(path: &Path) -> &Path {
    let mut folder = sys::folder_of(path);
    while !folder.exists() && folder != sys::folder_of(folder) {
        folder = sys::folder_of(folder);
    }
    folder
}

/// Folders that were created for a file, and are removed if the file is not created.
pub(super) struct Folders {
    /// The outermost first.
    pub(super) made: Vec<PathBuf>,
    /// The same, as [`temp`] knows them.
    noted: Vec<PathBuf>,
}

impl Folders {
    /// Creates a folder, and its missing ancestors.
    pub(super) fn make(folder: &Path) -> io::Result<Folders> {
        let mut folders = Folders { made: Vec::new(), noted: Vec::new() };
        let missing: Vec<&Path> =
            folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists()).collect();
        for folder in missing.into_iter().rev() {
            match temp::create_folder(folder) {
                Ok(()) => {
                    folders.noted.push(folder.to_owned());
                    folders.made.push(fs::canonicalize(folder)?);
                }
                // Another process created it first: it is not ours to remove.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(folders)
    }

    pub(super) fn stay(&mut self) {
        self.made.clear();
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        remove_folders(&self.made);
        self.noted.iter().for_each(|folder| temp::forget(folder));
    }
}

/// Removes the folders that were created for a file, unless they contain anything else.
pub(crate) fn remove_folders(made: &[PathBuf]) {
    for folder in made.iter().rev() {
        if sys::remove_folder(folder).is_ok() {
            let _ = sys::sync_folder_of(folder);
        }
    }
}

/// Gives folders that are there again the modes that they had.
pub(crate) fn restore_modes(made: &[PathBuf], emptied: &[Emptied]) {
    for folder in emptied.iter().filter(|folder| made.contains(&folder.path)) {
        let _ = File::open(&folder.path).and_then(|file| sys::set_mode(&file, folder.mode));
    }
}
