//! Unpacks files of an archive: into a folder, or for a program that reads them.

use super::{Archive, Archived, Item, Part, bad, make_folder};
use crate::store::lock::Lock;
use crate::store::oplog::{Log, hex};
use crate::store::write::{stamp, sys, temp};
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// A blob or a link that is not what the manifest says.
#[derive(Debug, thiserror::Error)]
#[error("{} of the archive: {why}", blob.display())]
struct Damage {
    blob: PathBuf,
    why: String,
}

/// Returns whether an error is that a blob of the archive is missing or is not what it was.
pub fn is_damage(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Damage>())
}

impl Archive {
    /// Unpacks a file, and passes its content to `put`; fails if any part is not what it was.
    pub fn unpack(&self, item: &Item, put: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut is_put = true;
        let mut put = |block: &[u8]| put(block).inspect_err(|_| is_put = false);
        self.unpack_parts(item, &mut put).map_err(|(blob, why)| match is_put {
            true => io::Error::new(why.kind(), Damage { blob, why: super::why(&why) }),
            false => why,
        })
    }

    /// Does the same; an error is returned with the blob or the link that was being read.
    pub(super) fn unpack_parts(
        &self,
        item: &Item,
        put: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), (PathBuf, io::Error)> {
        let mut whole = Sha256::new();
        let link = item.link.as_ref().map(|name| self.link(name));
        if let Some(path) = &link {
            let in_link = |error| (path.clone(), error);
            let file = File::open(path).map_err(in_link)?;
            if file.metadata().map_err(in_link)?.len() < item.bytes {
                return Err(in_link(bad("it is shorter than it was")));
            }
            stamp::each_block(&file, 0, item.bytes, |block| {
                whole.update(block);
                put(block)
            })
            .map_err(in_link)?;
        }
        for part in &item.parts {
            let unpacked = self.unpack_part(part, &mut |block| {
                whole.update(block);
                put(block)
            });
            unpacked.map_err(|error| (self.blob(&part.sha256), error))?;
        }
        match (hex(&whole.finalize()) == item.sha256, link) {
            (true, _) => Ok(()),
            (false, Some(link)) => Err((link, bad("it was changed in place"))),
            (false, None) => Err((self.manifest(), bad("the parts are not the file that was archived"))),
        }
    }

    pub(super) fn unpack_part(
        &self,
        part: &Part,
        put: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let path = self.blob(&part.sha256);
        let file = BufReader::new(File::open(&path)?);
        let mut reader: Box<dyn Read> = match path.extension().is_some_and(|ending| ending == "gz") {
            true => Box::new(GzDecoder::new(file)),
            false => Box::new(zstd::stream::read::Decoder::with_buffer(file)?),
        };
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        let mut block = vec![0; 256 * 1024];
        loop {
            let count = match reader.read(&mut block) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            bytes += count as u64;
            // A part that was exchanged must not fill the disk.
            if bytes > part.bytes {
                return Err(bad("it is longer than it was"));
            }
            hash.update(&block[..count]);
            put(&block[..count])?;
        }
        match bytes == part.bytes && hex(&hash.finalize()) == part.sha256 {
            true => Ok(()),
            false => Err(bad("its content is not what it was")),
        }
    }
}

/// Files that were unpacked to be read once; they are removed in the end, also if a signal ends the
/// program.
pub struct Unpacked {
    files: Vec<temp::Temp>,
    /// As long as it is held, `op prune` does not take the files for leftovers.
    _writing: Option<Lock>,
}

impl Unpacked {
    /// Returns a list without files.
    #[allow(clippy::new_without_default, reason = "it takes a lock")]
    pub fn new() -> Unpacked {
        let writing = Log::of_user().and_then(|log| log.enter());
        Unpacked { files: Vec::new(), _writing: writing }
    }

    /// Unpacks a file into the folder of the archive, with its time and mode; returns the path of
    /// the copy.
    pub fn add(&mut self, archive: &Archive, item: &Item) -> io::Result<PathBuf> {
        let mut new = temp::Temp::new(&archive.folder.join("unpacked"), 0o600)?;
        archive.unpack_into(item, &new)?;
        new.is_written();
        let path = new.path().to_owned();
        self.files.push(new);
        Ok(path)
    }
}

impl Archive {
    /// Returns what killed programs left in the folder of the archive: unfinished blobs and files
    /// that were unpacked to be read once.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        temp::leftovers(&self.folder)
    }

    /// Unpacks a file into a new one, with its time and mode.
    fn unpack_into(&self, item: &Item, new: &temp::Temp) -> io::Result<()> {
        self.unpack(item, &mut |block| sys::write(new.file()?, block))?;
        sys::set_mode(new.file()?, item.mode)?;
        stamp::restore_time(new.file()?, item.mtime)
    }

    /// Unpacks a file to a path, with its time and mode.
    fn unpack_to(&self, item: &Item, path: &Path) -> io::Result<()> {
        let mut new = temp::Temp::new(path, 0o600)?;
        self.unpack_into(item, &new)?;
        sys::rename(new.path(), path)?;
        new.is_gone();
        Ok(())
    }

    /// Unpacks the files of a session, so that they can be read; returns the session file.
    ///
    /// They stay in the user's cache, and are not unpacked again.
    pub fn unpack_to_read(&self, session: &Archived<'_>) -> io::Result<PathBuf> {
        let main = session.main;
        let cache = read_folder().ok_or(io::ErrorKind::NotFound)?.join(&main.sha256[..16]);
        let origin = main.origin();
        let above = origin.parent().unwrap_or(Path::new("")).to_owned();
        for item in session.items() {
            let own = item.origin();
            let Ok(inside) = own.strip_prefix(&above) else { continue };
            let to = cache.join(inside);
            let is_there =
                |facts: fs::Metadata| facts.len() == item.bytes && stamp::mtime(&facts) == item.mtime;
            if fs::metadata(&to).is_ok_and(is_there) {
                continue;
            }
            make_folder(sys::folder_of(&to))?;
            self.unpack_to(item, &to)?;
        }
        Ok(cache.join(origin.file_name().unwrap_or_default()))
    }
}

/// Returns the folder in which sessions of the archive are unpacked to be read:
/// `$XDG_CACHE_HOME/bough/archive`, or `~/.cache/bough/archive`.
fn read_folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("bough/archive"))
}

/// Returns whether a file was unpacked from the archive, so that writing to it would be lost.
pub fn is_unpacked(path: &Path) -> bool {
    read_folder().is_some_and(|folder| path.starts_with(&folder))
}
