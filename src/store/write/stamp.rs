//! Stamps that identify the state of a file.

use super::sys;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Identifies the state of a file: the file itself, its length, its time, and its last bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stamp {
    device: u64,
    inode: u64,
    pub(crate) len: u64,
    /// Nanoseconds since 1970.
    pub(crate) mtime: i64,
    tail: Vec<u8>,
}

/// How many of the last bytes are kept.
const TAIL: u64 = 64;

impl Stamp {
    /// Takes the stamp of an open file.
    pub fn take(file: &File) -> io::Result<Stamp> {
        Stamp::with(file, &file.metadata()?)
    }

    /// Takes the stamp of an open file whose metadata is known.
    pub(crate) fn with(file: &File, facts: &Metadata) -> io::Result<Stamp> {
        let len = facts.len();
        let tail = read_at(file, len.saturating_sub(TAIL), len.min(TAIL) as usize)?;
        Ok(Stamp { device: facts.dev(), inode: facts.ino(), len, mtime: mtime(facts), tail })
    }

    /// Returns the length of the file.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Returns when the file was last written.
    pub fn modified(&self) -> SystemTime {
        system_time(self.mtime)
    }

    /// Returns whether a handle refers to the same file, whatever its content is now.
    pub(crate) fn is_of(&self, file: &File) -> bool {
        file.metadata().is_ok_and(|facts| (facts.dev(), facts.ino()) == (self.device, self.inode))
    }

    /// Returns whether a file is unchanged except for appended bytes.
    pub(crate) fn only_grew(&self, file: &File) -> io::Result<bool> {
        let facts = file.metadata()?;
        if (facts.dev(), facts.ino()) != (self.device, self.inode) || facts.len() < self.len {
            return Ok(false);
        }
        let from = self.len - self.tail.len() as u64;
        Ok(read_at(file, from, self.tail.len())? == self.tail)
    }
}

/// Returns the time at which a file was changed, in nanoseconds since 1970.
pub(crate) fn mtime(facts: &Metadata) -> i64 {
    facts.mtime().saturating_mul(1_000_000_000).saturating_add(facts.mtime_nsec())
}

/// Converts nanoseconds since 1970 to a system time.
pub(crate) fn system_time(nanoseconds: i64) -> SystemTime {
    let span = Duration::from_nanos(nanoseconds.unsigned_abs());
    if nanoseconds < 0 { UNIX_EPOCH - span } else { UNIX_EPOCH + span }
}

/// Reads up to `len` bytes of a file at offset `at`; fewer at its end.
pub(crate) fn read_at(file: &File, at: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let mut have = 0;
    while have < len {
        match file.read_at(&mut bytes[have..], at + have as u64) {
            Ok(0) => break,
            Ok(count) => have += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(have);
    Ok(bytes)
}

/// Passes `len` bytes of a file at offset `at` to `with`, in blocks; fails if the file is shorter.
pub(crate) fn each_block(
    file: &File,
    mut at: u64,
    len: u64,
    mut with: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let end = at + len;
    let mut block = vec![0; (len.min(256 * 1024)) as usize];
    while at < end {
        let want = (end - at).min(block.len() as u64) as usize;
        match file.read_at(&mut block[..want], at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                with(&block[..count])?;
                at += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sets the time of a file back to that of a stamp.
pub(crate) fn restore_time(file: &File, nanoseconds: i64) -> io::Result<()> {
    sys::set_time(file, system_time(nanoseconds))
}
