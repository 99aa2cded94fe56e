//! The steps that change one file each, as they are prepared: the log gets them first, `carry_out` makes them.

mod append;
mod create;

use super::folders::Folders;
use super::guard::Guard;
use super::sink::{Fill, Sink};
use super::stamp::{self, Stamp};
use super::temp::{self, Temp};
use super::{Record, Refusal, WriteOptions, patch, sys, unix};
use crate::model::Piece;
use crate::store::archive;
use crate::store::oplog::{Emptied, State, Step, StepKind, hash_of, hex};
pub(crate) use append::{HEAD, append_again};
pub(super) use append::{append, check_append};
pub(crate) use create::create;
pub(super) use create::{Filled, Place, check_create, created};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Files up to this length are shortened by replacing them with a new file, so that concurrent
/// appends are detected. Longer ones are shortened in place while nobody else can open them, if the
/// system supports that.
const COPIED: u64 = 256 << 20;

/// A prepared step that only needs to be carried out.
pub(crate) struct Ready {
    pub(in crate::store) step: Step,
    pub(super) action: Action,
}

/// What a prepared step does, with what it needs for that.
pub(super) enum Action {
    /// Whole lines go to the end of a file.
    Append { file: File, bytes: Vec<u8>, time: Option<i64> },
    /// A new file replaces the one with the given stamp.
    Replace { new: Temp, old: File, stamp: Stamp, kept: Option<PathBuf> },
    /// A new file gets its name.
    Create { new: Temp, folders: Folders },
    /// A file is removed, or renamed if it has no backup.
    Remove { stamp: Stamp, name: PathBuf, kept: Option<PathBuf> },
    /// The last bytes of a file are cut off in place.
    Cut { file: File, stamp: Stamp, time: i64, is_alone: bool },
}

/// The result of a step.
pub(crate) struct Taken {
    pub(super) path: PathBuf,
    /// Where the old file is kept, if there was no place for a backup.
    pub(super) kept: Option<PathBuf>,
}

/// A step that failed.
pub(crate) struct Failed {
    pub(crate) refusal: Refusal,
    /// Whether the file was changed nevertheless.
    pub(super) is_taken: bool,
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Failed {
        Failed { refusal, is_taken: false }
    }
}

/// Checks whether a file may be replaced.
pub(super) fn check_replace(guard: &Guard, stamp: &Stamp, options: &WriteOptions<'_>) -> Result<(), Refusal> {
    let path = &guard.path;
    let io = |source| Refusal::io(path, source);
    if Stamp::take(&guard.file).map_err(io)? != *stamp {
        return Err(Refusal::Changed { path: path.clone() });
    }
    // A file that may not be written is not replaced either, although its folder would allow it.
    drop(OpenOptions::new().append(true).open(path).map_err(io)?);
    let old = guard.file.metadata().map_err(io)?;
    // A link in the archive is there to keep the old contents.
    let is_archived = || old.nlink() == 2 && archive::is_linked(&old);
    if old.nlink() > 1 && !options.allows().hardlink && !is_archived() {
        return Err(Refusal::HardLinked { path: path.clone(), others: old.nlink() as usize - 1 });
    }
    if options.dry_run {
        if !unix::may_write(sys::folder_of(path)) {
            return Err(io(io::ErrorKind::PermissionDenied.into()));
        }
        if unix::user() != 0 && unix::user() != old.uid() {
            return Err(Refusal::Owner { path: path.clone() });
        }
    }
    Ok(())
}

/// Prepares a new file that will replace the old one, with the same mode, owner and attributes.
pub(crate) fn replace(
    guard: &Guard,
    stamp: &Stamp,
    fill: &mut Fill<'_>,
    time: Option<i64>,
    options: &WriteOptions<'_>,
    record: &mut Record<'_>,
) -> Result<Ready, Refusal> {
    check_replace(guard, stamp, options)?;
    let path = &guard.path;
    let io = |source| Refusal::io(path, source);
    let (mut new, sha256) = copy_like(guard, fill, time, record)?;
    if let Some(Err(why)) = options.prove.map(|prove| prove(new.path())) {
        return Err(Refusal::Unproved { path: path.clone(), why });
    }
    let backup = record.back_up(&guard.file, 0, stamp.len)?;
    let kept = backup.is_none().then(|| record.name_to_keep(path));
    let before = State { sha256: backup.clone(), ..State::read(&guard.file).map_err(io)? };
    let after = State { sha256: Some(sha256), ..new.file().and_then(State::read).map_err(io)? };
    new.is_written();
    let step = Step {
        before: Some(before),
        after: Some(after),
        backup,
        temp: Some(new.path().to_owned()),
        ..Step::new(path, StepKind::Replace)
    };
    let old = guard.file.try_clone().map_err(io)?;
    Ok(Ready { step, action: Action::Replace { new, old, stamp: stamp.clone(), kept } })
}

/// Creates a file with the mode, the owner and the attributes of another; returns it with the hash
/// of its content.
fn copy_like(
    guard: &Guard,
    fill: &mut Fill<'_>,
    time: Option<i64>,
    record: &mut Record<'_>,
) -> Result<(Temp, String), Refusal> {
    let path = &guard.path;
    let io = |source| Refusal::io(path, source);
    record.note_folder(sys::folder_of(path));
    let temp = Temp::new(path, 0o600).map_err(io)?;
    let file = temp.file().map_err(io)?;
    let mut sink = Sink::to_file(file);
    fill(&mut sink).map_err(io)?;
    let sha256 = sink.finish().map_err(io)?;
    if !copy_metadata(&guard.file, file).map_err(io)? {
        return Err(Refusal::Owner { path: path.clone() });
    }
    if let Some(time) = time {
        stamp::restore_time(file, time).map_err(io)?;
    }
    record.sync(file).map_err(io)?;
    Ok((temp, sha256))
}

/// Gives a new file the owner, the mode and the attributes of an old one. Returns `false` if it
/// would have another owner.
pub(crate) fn copy_metadata(from: &File, to: &File) -> io::Result<bool> {
    let (old, new) = (from.metadata()?, to.metadata()?);
    let mut mode = old.mode();
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) && sys::set_owner(to, old.uid(), old.gid()).is_err() {
        // A group that can't be kept is not a reason to stop: the owner still has the file. Another
        // group gets no rights.
        if unix::user() != old.uid() {
            return Ok(false);
        }
        mode &= !0o2070;
    }
    sys::set_mode(to, mode)?;
    unix::copy_attributes(from, to)?;
    if mode != old.mode() {
        // An access control list also contains bits for the group.
        sys::set_mode(to, mode)?;
    }
    Ok(true)
}

/// Returns whether a file should be shortened in place: it is large, it has other hard links, or no
/// file can be created beside it.
pub(crate) fn is_cut_in_place(guard: &Guard, len: u64) -> bool {
    len > COPIED
        || guard.file.metadata().is_ok_and(|facts| facts.nlink() > 1)
        || !unix::may_write(sys::folder_of(&guard.path))
}

/// Prepares cutting a file to a length; the bytes that are cut off are backed up.
pub(crate) fn cut(
    guard: &Guard,
    stamp: &Stamp,
    len: u64,
    time: i64,
    record: &mut Record<'_>,
) -> Result<Ready, Refusal> {
    let path = &guard.path;
    let io = |source| Refusal::io(path, source);
    let file = match guard.writes {
        true => guard.file.try_clone(),
        false => OpenOptions::new().read(true).write(true).open(path),
    };
    let file = file.map_err(io)?;
    if Stamp::take(&file).map_err(io)? != *stamp {
        return Err(Refusal::Changed { path: path.clone() });
    }
    let is_alone = guard.writes && unix::shut_out(&file).is_some();
    let before = State::read(&file).map_err(io)?;
    let backup = record.back_up(&file, len, before.bytes.saturating_sub(len))?;
    let kept = backup.is_none().then(|| record.name_to_keep(path));
    let tail = stamp::read_at(&file, len.saturating_sub(4096), len.min(4096) as usize).map_err(io)?;
    let after = State { bytes: len, mtime: time, tail: hex(&Sha256::digest(&tail)), ..before.clone() };
    let step = Step { before: Some(before), after: Some(after), backup, ..Step::new(path, StepKind::Cut) };
    let facts = file.metadata().map_err(io)?;
    let may_copy = facts.nlink() == 1 && unix::may_write(sys::folder_of(path));
    // Bytes without a backup stay in the old file.
    if may_copy && (!is_alone || kept.is_some()) {
        let mut fill =
            |sink: &mut Sink<'_>| stamp::each_block(&guard.file, 0, len, |block| sink.write_all(block));
        // If the disk has no room for a copy, or the owner can't be kept, the file itself is
        // shortened.
        if let Ok((mut new, _)) = copy_like(guard, &mut fill, Some(time), record) {
            new.is_written();
            let step = Step { temp: Some(new.path().to_owned()), ..step };
            let old = guard.file.try_clone().map_err(io)?;
            return Ok(Ready { step, action: Action::Replace { new, old, stamp: stamp.clone(), kept } });
        }
    }
    if kept.is_some() {
        return Err(Refusal::NoBackup { path: path.clone() });
    }
    Ok(Ready { step, action: Action::Cut { file, stamp: stamp.clone(), time, is_alone } })
}

/// Prepares the removal of a file; it is backed up.
pub(crate) fn remove(guard: &Guard, stamp: &Stamp, record: &mut Record<'_>) -> Result<Ready, Refusal> {
    let path = &guard.path;
    let io = |source| Refusal::io(path, source);
    if Stamp::take(&guard.file).map_err(io)? != *stamp {
        return Err(Refusal::Changed { path: path.clone() });
    }
    let before = State::read(&guard.file).map_err(io)?;
    let backup = record.back_up(&guard.file, 0, before.bytes)?;
    let kept = backup.is_none().then(|| record.name_to_keep(path));
    record.note_folder(sys::folder_of(path));
    let name = temp::name_beside(path);
    let step = Step {
        before: Some(State { sha256: backup.clone(), ..before }),
        backup,
        temp: Some(name.clone()),
        ..Step::new(path, StepKind::Remove)
    };
    Ok(Ready { step, action: Action::Remove { stamp: stamp.clone(), name, kept } })
}

/// Checks whether a file could be removed.
pub(super) fn check_remove(path: &Path, stamp: &Stamp) -> Result<(), Refusal> {
    let io = |source| Refusal::io(path, source);
    if Stamp::take(&open(path).map_err(io)?).map_err(io)? != *stamp {
        return Err(Refusal::Changed { path: path.to_owned() });
    }
    if !unix::may_write(sys::folder_of(path)) {
        return Err(io(io::ErrorKind::PermissionDenied.into()));
    }
    Ok(())
}

/// What a file that moves leaves behind: the patch that makes it from the new file, and its hash. Without a
/// patch, it is backed up as a whole.
pub(super) struct Left(Option<(Vec<u8>, String)>);

impl Left {
    /// Reads a file whose content is in a new file, composed of `pieces`.
    pub(super) fn read(guard: &Guard, stamp: &Stamp, pieces: &[Piece]) -> Result<Left, Refusal> {
        let io = |source| Refusal::io(&guard.path, source);
        let Some(patch) = patch::inverse(pieces, &guard.file, stamp.len).map_err(io)? else {
            return Ok(Left(None));
        };
        let sha256 = hash_of(&guard.file, 0, stamp.len).map_err(io)?;
        Ok(Left(Some((patch, sha256))))
    }
}

/// Prepares the removal of a file whose content is in a new file. The backup is a patch of the new file.
pub(super) fn remove_moved(
    guard: &Guard,
    stamp: &Stamp,
    left: Left,
    new: &Ready,
    emptied: Vec<Emptied>,
    record: &mut Record<'_>,
) -> Result<Ready, Refusal> {
    let path = &guard.path;
    let io = |source| Refusal::io(path, source);
    if Stamp::take(&guard.file).map_err(io)? != *stamp {
        return Err(Refusal::Changed { path: path.clone() });
    }
    let Left(Some((patch, sha256))) = left else {
        let ready = remove(guard, stamp, record)?;
        return Ok(Ready { step: Step { emptied, ..ready.step }, ..ready });
    };
    let before = State::read(&guard.file).map_err(io)?;
    let backup = record.back_up_patch(&patch)?;
    record.note_folder(sys::folder_of(path));
    let name = temp::name_beside(path);
    let step = Step {
        before: Some(State { sha256: Some(sha256), ..before }),
        backup,
        temp: Some(name.clone()),
        base: Some(new.step.path.clone()),
        emptied,
        ..Step::new(path, StepKind::Remove)
    };
    Ok(Ready { step, action: Action::Remove { stamp: stamp.clone(), name, kept: None } })
}

/// Opens a file for reading, without ever waiting for the other end of a pipe.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"))
}
