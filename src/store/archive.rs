//! The archive of sessions: a folder outside the agents' stores, from which a session can be
//! restored after its agent has deleted it.
//!
//! `manifest.jsonl` has one line for each state of a file that was archived: where it was, its size,
//! time and mode, the SHA-256 of its content, and its parts. Each part is a file of Zstandard,
//! `blobs/AB/CDEF….zst`, named by the SHA-256 of what it contains. So a session is readable without
//! bough: unpack its parts in their order. A file that only grew since it was archived shares the
//! parts of its earlier state. Archives of the first versions have gzip files, `….gz`; they are read,
//! and stay as they are.
//!
//! On request, a file is not packed but linked: `links/DEVICE-INODE` is the file itself under a second
//! name, of which the manifest gives the size and the SHA-256 at that time. It costs no room as long as
//! the agent has the file, and stays if the agent deletes it or replaces it by another. What the agent
//! appends is after the size that counts; what it changes in place is found by the hash.
//!
//! Blobs are complete and on the disk before the manifest names them: if the program is stopped, the
//! archive is valid up to the last whole line, and the next run goes on.

mod contents;
mod unpack;
mod writer;

pub use contents::{Archived, Contents, Item, Part};
pub use unpack::{Unpacked, is_damage, is_unpacked};
pub use writer::{Added, Wanted};

use super::write::stamp;
use rayon::prelude::*;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How many bytes of a file become one part at most.
const PART: u64 = 8 << 20;
/// A file with more parts than this is divided anew, so that many small additions do not stay many
/// small parts.
const MOST_PARTS: usize = 64;
/// The first line of a manifest. An archive whose first line says `gzip` gets it before its first blob
/// of another kind.
const FIRST_LINE: &str = "{\"bough\":\"archive\",\"version\":1,\"blobs\":\"zstd\",\"names\":\"sha256\"}\n";

/// A blob that is not what the manifest says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bad {
    /// The first file that needs it.
    pub item: Item,
    /// The blob.
    pub blob: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// An archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Archive {
    folder: PathBuf,
}

impl Archive {
    /// Returns the archive in a folder, which may not exist yet.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Archive {
        Archive { folder: folder.into() }
    }

    /// Returns the archive of the user: `$XDG_DATA_HOME/bough/archive`, or
    /// `~/.local/share/bough/archive`.
    pub fn of_user() -> Option<Archive> {
        let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let data = data.or_else(|| {
            let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
            Some(home.join(".local/share"))
        })?;
        Some(Archive::in_folder(data.join("bough/archive")))
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns whether anything was archived.
    pub fn exists(&self) -> bool {
        self.manifest().is_file()
    }

    fn manifest(&self) -> PathBuf {
        self.folder.join("manifest.jsonl")
    }

    /// Returns the path that a blob has or would have.
    pub fn blob(&self, sha256: &str) -> PathBuf {
        let [new, old] = self.blobs(sha256);
        if !new.is_file() && old.is_file() { old } else { new }
    }

    /// Returns the paths that a blob may have: as it is packed today, and as the first versions did.
    fn blobs(&self, sha256: &str) -> [PathBuf; 2] {
        let (first, rest) = sha256.split_at_checked(2).unwrap_or(("", sha256));
        let folder = self.folder.join("blobs").join(first);
        ["zst", "gz"].map(|ending| folder.join(format!("{rest}.{ending}")))
    }

    /// Returns whether the blobs of an item, or its link, are there. Their content is not read.
    fn has_blobs_of(&self, item: &Item) -> bool {
        item.link.as_ref().is_none_or(|link| self.link(link).is_file())
            && item.parts.iter().all(|part| self.blob(&part.sha256).is_file())
    }

    /// Returns the path of a link.
    fn link(&self, name: &str) -> PathBuf {
        self.folder.join("links").join(name)
    }

    /// Reads the manifest. A truncated last line is not counted as unreadable: its files are
    /// archived again.
    pub fn read(&self) -> io::Result<Contents> {
        let mut out = Contents::default();
        let file = match File::open(self.manifest()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(out),
            other => other?,
        };
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            match serde_json::from_slice::<Item>(&line) {
                Ok(item) if item.is_sound() => out.items.push(item),
                _ if !line.ends_with(b"\n") => {}
                _ if line.starts_with(b"{\"bough\":") => out.is_zstd |= line == FIRST_LINE.as_bytes(),
                _ => out.unread += 1,
            }
            line.clear();
        }
        Ok(out)
    }

    /// Unpacks all blobs, and returns those that are not what the manifest says.
    pub fn verify(&self, contents: &Contents) -> Vec<Bad> {
        let mut seen = HashSet::new();
        let mut parts: Vec<(&Item, &Part)> = Vec::new();
        for item in &contents.items {
            parts
                .extend(item.parts.iter().filter(|part| seen.insert(&*part.sha256)).map(|part| (item, part)));
        }
        let wrong = |(item, part): &(&Item, &Part)| {
            let error = self.unpack_part(part, &mut |_| Ok(())).err()?;
            Some(Bad { item: (*item).clone(), blob: self.blob(&part.sha256), why: why(&error) })
        };
        let mut out: Vec<Bad> = parts.par_iter().filter_map(wrong).collect();
        // Of a linked file, an earlier state is the beginning of a later one.
        let latest = contents.latest();
        let changed = |item: &&Item| {
            let link = self.link(item.link.as_ref()?);
            let (_, error) = self.unpack_parts(item, &mut |_| Ok(())).err()?;
            Some(Bad { item: (*item).clone(), blob: link, why: why(&error) })
        };
        out.extend(latest.par_iter().filter_map(changed).collect::<Vec<Bad>>());
        out
    }
}

/// Returns whether a file has a second name in the archive of the user.
pub(super) fn is_linked(facts: &fs::Metadata) -> bool {
    Archive::of_user().is_some_and(|archive| fs::metadata(archive.link(&name_of_link(facts))).is_ok())
}

/// Returns the name of a link to a file: no other file has the same as long as the link exists.
fn name_of_link(facts: &fs::Metadata) -> String {
    format!("{:x}-{:x}", facts.dev(), facts.ino())
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it is missing".into(),
        _ => error.to_string(),
    }
}

/// Returns the length of the whole lines of a file.
fn whole_lines(file: &File, len: u64) -> io::Result<u64> {
    let mut end = len;
    while end > 0 {
        let from = end.saturating_sub(64 * 1024);
        let block = stamp::read_at(file, from, (end - from) as usize)?;
        if let Some(at) = memchr::memrchr(b'\n', &block) {
            return Ok(from + at as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

/// Returns whether a text is a SHA-256, so that it can be the name of a blob.
fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn bad(words: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, words)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    // The archive is as private as the sessions.
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests;
