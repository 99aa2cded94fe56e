//! The backups of the operation log: bytes that a change removes or replaces.

use super::{Log, hex};
use crate::model::Time;
use crate::store::write::stamp;
use crate::store::write::{sys, temp};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

/// A backup, as shown by `op log` and `op prune`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Backup {
    /// Its hash.
    pub hash: String,
    /// Its path.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was last needed, according to its file time.
    pub modified: Time,
}

impl Log {
    /// Backs up a range of a file; returns its hash. Content that is already backed up is not
    /// copied again.
    ///
    /// With `sync`, the backup is on the disk afterwards; otherwise [`Log::sync_backups`] must
    /// follow.
    pub(crate) fn back_up(&self, file: &File, at: u64, len: u64, sync: bool) -> io::Result<String> {
        let backups = self.folder.join("backups");
        self.make_folder(&backups)?;
        let mut copy =
            temp::Temp::create(backups.join(format!("new-{}", uuid::Uuid::new_v4().simple())), 0o600)?;
        let mut hash = Sha256::new();
        stamp::each_block(file, at, len, |block| {
            hash.update(block);
            sys::write_new(copy.file()?, block)
        })?;
        let hash = hex(&hash.finalize());
        let path = self.backup(&hash);
        if let Ok(there) = File::open(&path)
            && there.metadata().is_ok_and(|facts| facts.len() == len)
        {
            // It is needed again: backups that were not used for a long time may be removed.
            let _ = there.set_modified(SystemTime::now());
            return Ok(hash);
        }
        self.name_backup(&mut copy, &hash, sync)?;
        Ok(hash)
    }

    /// Gives a complete backup its name.
    fn name_backup(&self, copy: &mut temp::Temp, hash: &str, sync: bool) -> io::Result<()> {
        let path = self.backup(hash);
        if sync {
            sys::sync(copy.file()?)?;
        }
        let folder = sys::folder_of(&path);
        let is_new = !folder.exists();
        self.make_folder(folder)?;
        sys::rename(copy.path(), &path)?;
        copy.is_gone();
        if sync {
            let _ = sys::sync_folder(folder);
            if is_new {
                let _ = sys::sync_folder(&self.folder.join("backups"));
            }
        }
        Ok(())
    }

    /// Backs up bytes that are not a range of a file; returns their hash.
    pub(crate) fn back_up_bytes(&self, bytes: &[u8], sync: bool) -> io::Result<String> {
        let backups = self.folder.join("backups");
        self.make_folder(&backups)?;
        let name = backups.join(format!("new-{}", uuid::Uuid::new_v4().simple()));
        let mut copy = temp::Temp::create(name, 0o600)?;
        sys::write(copy.file()?, bytes)?;
        let hash = hex(&Sha256::digest(bytes));
        self.name_backup(&mut copy, &hash, sync)?;
        Ok(hash)
    }

    /// Writes backups to the disk that were made without `sync`.
    pub(crate) fn sync_backups(&self, hashes: &[&str]) -> io::Result<()> {
        if sys::sync_all_in(&self.folder)? {
            return Ok(());
        }
        for hash in hashes {
            let path = self.backup(hash);
            sys::sync(&File::open(&path)?)?;
            let _ = sys::sync_folder_of(&path);
        }
        let _ = sys::sync_folder(&self.folder.join("backups"));
        Ok(())
    }

    /// Returns the path that a backup has or would have.
    pub fn backup(&self, hash: &str) -> PathBuf {
        let (first, rest) = hash.split_at_checked(2).unwrap_or(("", hash));
        self.folder.join("backups").join(first).join(rest)
    }

    /// Returns all backups, in no particular order.
    pub fn backups(&self) -> io::Result<Vec<Backup>> {
        let mut out = Vec::new();
        let folders = match fs::read_dir(self.folder.join("backups")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(out),
            other => other?,
        };
        for folder in folders {
            let folder = folder?;
            // Files here are unfinished copies: see `leftovers`.
            if !folder.file_type()?.is_dir() {
                continue;
            }
            for file in fs::read_dir(folder.path())? {
                let file = file?;
                let hash = folder.file_name().into_string().unwrap_or_default()
                    + &file.file_name().into_string().unwrap_or_default();
                let facts = file.metadata()?;
                let modified = Time(stamp::mtime(&facts) / 1_000_000);
                out.push(Backup { hash, path: file.path(), bytes: facts.len(), modified });
            }
        }
        Ok(out)
    }

    /// Returns what killed programs left in the folder of the log: unfinished backups and side
    /// files.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let mut out = temp::leftovers(&self.folder);
        out.extend(temp::leftovers(&self.folder.join("aside")));
        for file in fs::read_dir(self.folder.join("backups")).into_iter().flatten().flatten() {
            if file.file_name().as_encoded_bytes().starts_with(b"new-") {
                out.push(file.path());
            }
        }
        out
    }

    /// Returns the side files of repairs, with their sizes.
    pub fn side_files(&self) -> Vec<(PathBuf, u64)> {
        let files = fs::read_dir(self.folder.join("aside")).into_iter().flatten().flatten();
        files
            .filter(|file| !file.file_name().as_encoded_bytes().starts_with(b"."))
            .filter_map(|file| Some((file.path(), file.metadata().ok()?.len())))
            .collect()
    }

    /// Removes a backup.
    pub fn drop_backup(&self, backup: &Backup) -> io::Result<()> {
        sys::remove(&backup.path)
    }
}
