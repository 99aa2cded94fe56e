//! The system calls that change files, each in one place.
//!
//! In tests, a hook is called before each of them, and can make it fail or end the process there:
//! this shows what is on disk if bough is stopped at any step.

use super::unix;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::SystemTime;

/// The calls that change something, and the one before which another program may change something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Call {
    /// A file is created.
    Create,
    /// Bytes are written.
    Write,
    /// Bytes are synced to the disk.
    Sync,
    /// Mode or owner are set.
    Mode,
    /// File times are set.
    Times,
    /// A file replaces another.
    Rename,
    /// Two files swap their names.
    Swap,
    /// A file gets a name that must be free.
    Link,
    /// Room on the disk is reserved.
    Reserve,
    /// A folder is synced to the disk.
    SyncFolder,
    /// A file or a folder is removed.
    Remove,
    /// A folder is created.
    Folder,
    /// A file is cut to a length.
    Cut,
    /// A file is read to compare it with its known state; it may grow in the meantime.
    Read,
}

/// Creates a file that does not exist yet, for reading and writing.
pub(crate) fn create(path: &Path, mode: u32) -> io::Result<File> {
    at(Call::Create)?;
    OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path)
}

/// Writes bytes by one call; returns how many were written.
pub(crate) fn write_once(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    let most = at(Call::Write)?.unwrap_or(bytes.len());
    loop {
        match file.write(&bytes[..most.min(bytes.len())]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Writes bytes, by as many calls as necessary.
pub(crate) fn write(file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write_once(file, bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

/// Appends bytes to a new file of this process. A block of zeros becomes a hole, as it may have
/// been where it comes from: a copy is not larger than the file.
///
/// The bytes decide, not `SEEK_HOLE`: they are read anyway to hash them, and this works on each
/// system, also if the file moves blocks to other offsets.
pub(crate) fn write_new(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    if bytes.len() < HOLE || !is_zero(bytes) {
        return write(file, bytes);
    }
    at(Call::Write)?;
    let end = file.seek(SeekFrom::Current(bytes.len() as i64))?;
    file.set_len(end)
}

/// How many zeros become a hole: file systems keep account of no less.
const HOLE: usize = 4096;

fn is_zero(bytes: &[u8]) -> bool {
    // The comparison of memory is much faster than a loop over bytes.
    bytes.first().is_none_or(|first| *first == 0 && bytes[1..] == bytes[..bytes.len() - 1])
}

/// Syncs a file to the disk.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    at(Call::Sync)?;
    file.sync_all()
}

/// Sets the mode of a file.
pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    at(Call::Mode)?;
    file.set_permissions(fs::Permissions::from_mode(mode & 0o7777))
}

/// Sets the owner of a file.
pub(crate) fn set_owner(file: &File, user: u32, group: u32) -> io::Result<()> {
    at(Call::Mode)?;
    std::os::unix::fs::fchown(file, Some(user), Some(group))
}

/// Sets the time at which a file was changed.
pub(crate) fn set_time(file: &File, time: SystemTime) -> io::Result<()> {
    at(Call::Times)?;
    file.set_times(FileTimes::new().set_modified(time))
}

/// Replaces a file with another.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    at(Call::Rename)?;
    fs::rename(from, to)
}

/// Gives a file a second name, which must be free.
pub(crate) fn link(from: &Path, to: &Path) -> io::Result<()> {
    at(Call::Link)?;
    fs::hard_link(from, to)
}

/// Swaps the names of two files, in one step.
pub(crate) fn swap(one: &Path, other: &Path) -> io::Result<()> {
    at(Call::Swap)?;
    unix::swap(one, other)
}

/// Gives a file a name that must be free.
///
/// If the file system can't do this in one step, the file has two names for a moment; if it does
/// not support hard links either, another program may create the file between the check and the
/// rename.
pub(crate) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    at(Call::Link)?;
    match unix::rename_to_free(from, to) {
        Err(error) if unix::is_unknown_call(&error) => {}
        other => return other,
    }
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
                || error.raw_os_error() == Some(libc::EPERM) =>
        {
            if fs::symlink_metadata(to).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        Err(error) => Err(error),
    }
}

/// Reserves room on the disk for bytes that will be appended at `at`. Does nothing on file systems
/// that don't support it.
pub(crate) fn reserve(file: &File, at_byte: u64, len: u64) -> io::Result<()> {
    at(Call::Reserve)?;
    match unix::reserve(file, at_byte, len) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(error),
        Err(error) if error.raw_os_error() == Some(libc::EDQUOT) => Err(error),
        _ => Ok(()),
    }
}

/// Syncs all pending writes of the file system of a folder; returns `false` if the system has no
/// such call.
pub(crate) fn sync_all_in(folder: &Path) -> io::Result<bool> {
    at(Call::Sync)?;
    match unix::sync_all_of(&File::open(folder)?) {
        Err(error) if unix::is_unknown_call(&error) => Ok(false),
        other => other.map(|()| true),
    }
}

/// Has the disk begin to write a file, and does not wait for it.
pub(crate) fn begin_writeback(file: &File) {
    unix::begin_writeback(file);
}

/// Syncs the names in the folder of a file to the disk.
///
/// File systems that can't do this report it in different ways; the rename is valid nevertheless.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    sync_folder(folder_of(path))
}

/// Syncs the names in a folder to the disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    at(Call::SyncFolder)?;
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    at(Call::Remove)?;
    fs::remove_file(path)
}

/// Creates a folder that is private to the user. Its parent must exist.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    at(Call::Folder)?;
    fs::DirBuilder::new().mode(0o700).create(path)
}

/// Removes an empty folder.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    at(Call::Remove)?;
    fs::remove_dir(path)
}

/// Cuts a file to a length.
pub(crate) fn cut(file: &File, len: u64) -> io::Result<()> {
    at(Call::Cut)?;
    file.set_len(len)
}

/// Announces that a file is about to be read for a comparison.
pub(crate) fn compare() -> io::Result<()> {
    at(Call::Read).map(drop)
}

/// Returns the folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(not(test))]
fn at(_call: Call) -> io::Result<Option<usize>> {
    Ok(None)
}

#[cfg(test)]
pub(crate) use hook::{at, with_hook};

#[cfg(test)]
mod hook {
    use super::Call;
    use std::cell::RefCell;
    use std::io;

    type Hook = Box<dyn FnMut(Call) -> io::Result<Option<usize>>>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// Calls the hook: an error becomes the result of the call, a number the maximum that it
    /// writes.
    pub(crate) fn at(call: Call) -> io::Result<Option<usize>> {
        HOOK.with_borrow_mut(|hook| hook.as_mut().map_or(Ok(None), |hook| hook(call)))
    }

    /// Runs a function with a hook.
    pub(crate) fn with_hook<T>(
        hook: impl FnMut(Call) -> io::Result<Option<usize>> + 'static,
        run: impl FnOnce() -> T,
    ) -> T {
        HOOK.set(Some(Box::new(hook)));
        let result = run();
        HOOK.set(None);
        result
    }
}
