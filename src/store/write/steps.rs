//! The steps that change one file each: prepared first, written to the log, then carried out.

use super::guard::{self, Guard};
use super::patch;
use super::stamp::{self, Stamp};
use super::temp::{self, Temp};
use super::{Record, Refusal, Signs, WriteOptions, sys, unix};
use crate::json::{Reader, Shape};
use crate::model::Piece;
use crate::store::archive;
use crate::store::oplog::{Emptied, State, Step, StepKind, hash_of, hex};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for a program that opened a file just before it was replaced.
const CLOSES_SOON: Duration = Duration::from_secs(1);
/// How long to wait for an agent to close a file that the user wants to change nevertheless.
const CLOSES_LATER: Duration = Duration::from_secs(15);
/// Files up to this length are shortened by replacing them with a new file, so that concurrent
/// appends are detected. Longer ones are shortened in place while nobody else can open them, if the
/// system supports that.
const COPIED: u64 = 256 << 20;

/// How many bytes of a new file are written at a time.
const BLOCK: usize = 256 * 1024;

/// The destination of the content of a new file.
pub(crate) struct Sink<'a> {
    into: Into<'a>,
    hash: Sha256,
    /// What is not yet written to a file.
    waiting: Vec<u8>,
}

enum Into<'a> {
    File(&'a File),
    Stream(&'a mut dyn Write),
}

/// Writes the content of a new file.
pub(crate) type Fill<'f> = dyn FnMut(&mut Sink<'_>) -> io::Result<()> + 'f;

impl<'a> Sink<'a> {
    pub(crate) fn to(stream: &'a mut dyn Write) -> Sink<'a> {
        Sink { into: Into::Stream(stream), hash: Sha256::new(), waiting: Vec::new() }
    }

    fn to_file(file: &'a File) -> Sink<'a> {
        Sink { into: Into::File(file), hash: Sha256::new(), waiting: Vec::new() }
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Into::Stream(stream) = &mut self.into {
            return stream.write_all(bytes);
        }
        if self.waiting.len() + bytes.len() > BLOCK {
            self.flush()?;
        }
        match bytes.len() < BLOCK {
            true => self.waiting.extend_from_slice(bytes),
            false => self.put(bytes)?,
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        if !waiting.is_empty() {
            self.put(&waiting)?;
        }
        waiting.clear();
        self.waiting = waiting;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        match &mut self.into {
            Into::File(file) => sys::write_new(file, bytes),
            Into::Stream(stream) => stream.write_all(bytes),
        }
    }

    /// Writes what is waiting; returns the SHA-256 of the content.
    fn finish(mut self) -> io::Result<String> {
        self.flush()?;
        Ok(hex(&self.hash.finalize()))
    }
}

/// A prepared step that only needs to be carried out.
pub(crate) struct Ready {
    pub(in crate::store) step: Step,
    action: Action,
}

enum Action {
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

/// Checks whether lines may be appended; returns the handle for that, its stamp, and the bytes that
/// must come before the lines.
pub(super) fn check_append(
    guard: &Guard,
    stamp: &Stamp,
    lines: &[u8],
    options: &WriteOptions<'_>,
) -> Result<(File, Stamp, &'static [u8]), Refusal> {
    let io = |source| Refusal::io(&guard.path, source);
    let file = OpenOptions::new().read(true).append(true).open(&guard.path).map_err(io)?;
    let found = Stamp::take(&file).map_err(io)?;
    if found != *stamp {
        let grew = options.last_try && options.allows().changed && stamp.only_grew(&file).map_err(io)?;
        if !grew {
            return Err(Refusal::Changed { path: guard.path.clone() });
        }
    }
    let first: &[u8] = match last_line(&file, found.len).map_err(io)? {
        _ if lines.starts_with(b"\n") || lines.starts_with(b"\r\n") => b"",
        LastLine::Ended => b"",
        LastLine::Whole => b"\n",
        LastLine::Torn { .. } if options.allows().truncated => b"\n",
        LastLine::Torn { offset } => return Err(Refusal::Torn { path: guard.path.clone(), offset }),
    };
    Ok((file, found, first))
}

/// Prepares an append of whole lines. If the last line lacks its newline, that comes first.
pub(super) fn append(
    guard: &Guard,
    stamp: &Stamp,
    lines: &[u8],
    keep_time: bool,
    options: &WriteOptions<'_>,
) -> Result<Ready, Refusal> {
    let (file, found, first) = check_append(guard, stamp, lines, options)?;
    let bytes = [first, lines].concat();
    ready_append(guard, file, bytes, keep_time.then_some(found.mtime))
}

/// Prepares an append of bytes that were cut off there.
pub(crate) fn append_again(
    guard: &Guard,
    stamp: &Stamp,
    bytes: Vec<u8>,
    time: i64,
) -> Result<Ready, Refusal> {
    let io = |source| Refusal::io(&guard.path, source);
    let file = OpenOptions::new().read(true).append(true).open(&guard.path).map_err(io)?;
    if Stamp::take(&file).map_err(io)? != *stamp {
        return Err(Refusal::Changed { path: guard.path.clone() });
    }
    ready_append(guard, file, bytes, Some(time))
}

fn ready_append(guard: &Guard, file: File, bytes: Vec<u8>, time: Option<i64>) -> Result<Ready, Refusal> {
    let before = State::read(&file).map_err(|source| Refusal::io(&guard.path, source))?;
    let after = State {
        bytes: before.bytes + bytes.len() as u64,
        tail: String::new(),
        sha256: Some(hex(&Sha256::digest(&bytes))),
        ..before.clone()
    };
    let step = Step {
        before: Some(before),
        after: Some(after),
        head: hex(&bytes[..bytes.len().min(HEAD)]),
        ..Step::new(&guard.path, StepKind::Append)
    };
    Ok(Ready { step, action: Action::Append { file, bytes, time } })
}

/// How many of the first bytes of an append are recorded in its step.
pub(crate) const HEAD: usize = 64;

enum LastLine {
    /// It ends in a newline, or there is no line.
    Ended,
    /// It is valid JSON but lacks its newline.
    Whole,
    /// It is truncated.
    Torn { offset: u64 },
}

/// Determines how the last line of a file ends. Costs the length of that line.
fn last_line(file: &File, len: u64) -> io::Result<LastLine> {
    const BLOCK: u64 = 64 * 1024;
    let mut end = len;
    let mut offset = 0;
    while end > 0 {
        let from = end.saturating_sub(BLOCK);
        let block = stamp::read_at(file, from, (end - from) as usize)?;
        if end == len && block.last() == Some(&b'\n') {
            return Ok(LastLine::Ended);
        }
        if let Some(at) = memchr::memrchr(b'\n', &block) {
            offset = from + at as u64 + 1;
            break;
        }
        end = from;
    }
    if offset == len {
        return Ok(LastLine::Ended);
    }
    let mut reader = Reader::new();
    // Whichever program wrote it: a complete line is not truncated.
    reader.python(true);
    let mut whole = false;
    let mut look = |shape: Shape| whole = matches!(shape, Shape::Object | Shape::Scalar | Shape::Blank);
    stamp::each_block(file, offset, len - offset, |block| {
        reader.feed(block, |line| look(line.shape));
        Ok(())
    })?;
    reader.finish(|line| look(line.shape));
    Ok(if whole { LastLine::Whole } else { LastLine::Torn { offset } })
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

/// Checks whether a new file may be created; returns the one that it would overwrite.
pub(super) fn check_create(path: &Path, options: &WriteOptions<'_>) -> Result<Option<File>, Refusal> {
    let io = |source| Refusal::io(path, source);
    match fs::metadata(path) {
        Ok(facts) if !facts.is_file() && options.allows().overwrite => {
            return Err(Refusal::NotAFile { path: path.to_owned() });
        }
        Ok(_) if !options.allows().overwrite => return Err(Refusal::Exists { path: path.to_owned() }),
        Ok(_) => return open(path).map(Some).map_err(io),
        Err(_) => {}
    }
    if options.dry_run && !unix::may_write(first_folder(path)) {
        return Err(io(io::ErrorKind::PermissionDenied.into()));
    }
    Ok(None)
}

/// Prepares a new file. It is complete before it gets its name.
pub(crate) fn create(
    path: &Path,
    mode: u32,
    time: Option<i64>,
    fill: &mut Fill<'_>,
    options: &WriteOptions<'_>,
    record: &mut Record<'_>,
) -> Result<Ready, Refusal> {
    let io = |source| Refusal::io(path, source);
    if let Some(file) = check_create(path, options)? {
        let stamp = Stamp::take(&file).map_err(io)?;
        drop(file);
        let guard = Guard::take(path, false, options.force)?;
        super::look_for_handles(&guard, options)?;
        return replace(&guard, &stamp, fill, None, options, record);
    }
    // Declared before the file, so that a failure removes the folders after the file.
    let place = Place::make(path, record)?;
    let filled = Filled::new(path, mode, time, fill)?;
    created(place, filled, options, record)
}

/// Where a new file will be: its folder is there.
pub(super) struct Place {
    path: PathBuf,
    folders: Folders,
}

impl Place {
    /// Makes the folder of a path that is free.
    pub(super) fn make(path: &Path, record: &mut Record<'_>) -> Result<Place, Refusal> {
        let folders = Folders::make(sys::folder_of(path)).map_err(|source| Refusal::io(path, source))?;
        record.note_folder(sys::folder_of(path));
        Ok(Place { path: path.to_owned(), folders })
    }

    /// Returns the folders that were made, the outermost first.
    pub(super) fn made(&self) -> &[PathBuf] {
        &self.folders.made
    }
}

/// A new file that has its content and a temporary name.
pub(super) struct Filled {
    temp: Temp,
    sha256: String,
}

impl Filled {
    /// Writes a file beside a path, in a folder that is there.
    pub(super) fn new(
        path: &Path,
        mode: u32,
        time: Option<i64>,
        fill: &mut Fill<'_>,
    ) -> Result<Filled, Refusal> {
        let io = |source| Refusal::io(path, source);
        let temp = Temp::new(path, 0o600).map_err(io)?;
        let file = temp.file().map_err(io)?;
        let mut sink = Sink::to_file(file);
        fill(&mut sink).map_err(io)?;
        let sha256 = sink.finish().map_err(io)?;
        if mode & 0o777 != 0o600 {
            sys::set_mode(file, mode & 0o777).map_err(io)?;
        }
        if let Some(time) = time {
            stamp::restore_time(file, time).map_err(io)?;
        }
        sys::begin_writeback(file);
        Ok(Filled { temp, sha256 })
    }
}

/// Prepares the step in which a new file gets its name.
pub(super) fn created(
    place: Place,
    filled: Filled,
    options: &WriteOptions<'_>,
    record: &mut Record<'_>,
) -> Result<Ready, Refusal> {
    // The folders are removed after the file if this fails.
    let Place { path, folders } = place;
    let Filled { temp: mut new, sha256 } = filled;
    let io = |source| Refusal::io(&path, source);
    let file = new.file().map_err(io)?;
    record.sync(file).map_err(io)?;
    if let Some(Err(why)) = options.prove.map(|prove| prove(new.path())) {
        return Err(Refusal::Unproved { path, why });
    }
    let real = match fs::canonicalize(sys::folder_of(&path)) {
        Ok(folder) => folder.join(path.file_name().unwrap_or_default()),
        Err(_) => path.clone(),
    };
    let after = State { sha256: Some(sha256), ..State::read(file).map_err(io)? };
    new.is_written();
    let step = Step {
        after: Some(after),
        folders: folders.made.clone(),
        temp: Some(new.path().to_owned()),
        ..Step::new(&real, StepKind::Create)
    };
    Ok(Ready { step, action: Action::Create { new, folders } })
}

/// Returns the nearest existing folder above a path.
fn first_folder(path: &Path) -> &Path {
    let mut folder = sys::folder_of(path);
    while !folder.exists() && folder != sys::folder_of(folder) {
        folder = sys::folder_of(folder);
    }
    folder
}

/// Folders that were created for a file, and are removed if the file is not created.
struct Folders {
    /// The outermost first.
    made: Vec<PathBuf>,
    /// The same, as [`temp`] knows them.
    noted: Vec<PathBuf>,
}

impl Folders {
    /// Creates a folder, and its missing ancestors.
    fn make(folder: &Path) -> io::Result<Folders> {
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

    fn stay(&mut self) {
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

/// Gives folders that are there again the modes that they had.
pub(crate) fn restore_modes(made: &[PathBuf], emptied: &[Emptied]) {
    for folder in emptied.iter().filter(|folder| made.contains(&folder.path)) {
        let _ = File::open(&folder.path).and_then(|file| sys::set_mode(&file, folder.mode));
    }
}

/// Carries out a step. The number is that of the step in the record.
pub(crate) fn carry_out_step(
    ready: Ready,
    at: usize,
    options: &WriteOptions<'_>,
    record: &mut Record<'_>,
) -> Result<Taken, Failed> {
    let path = ready.step.path.clone();
    let mut kept_at = None;
    match ready.action {
        Action::Append { file, bytes, time } => {
            take_append(&ready.step, &file, &bytes, time, at, options, record)?;
        }
        Action::Replace { new, old, stamp, kept } => {
            let len = ready.step.after.as_ref().map_or(0, |after| after.bytes);
            take_replace(&path, new, len, &old, &stamp, kept.as_deref(), options)?;
            kept_at = kept;
            record.sync_later(sys::folder_of(&path));
        }
        // If renaming fails, the file must be removed before the folders: the variable bound last
        // is dropped first.
        Action::Create { mut folders, mut new } => {
            if let Err(error) = sys::rename_to_free(new.path(), &path) {
                return Err(match error.kind() {
                    io::ErrorKind::AlreadyExists => Refusal::Exists { path },
                    _ => Refusal::io(&path, error),
                }
                .into());
            }
            new.is_gone();
            folders.stay();
            record.sync_later(sys::folder_of(&path));
        }
        Action::Remove { stamp, name, kept } => {
            take_remove(&path, &name, &stamp, kept.as_deref())?;
            kept_at = kept;
            record.sync_later(sys::folder_of(&path));
        }
        Action::Cut { file, stamp, time, is_alone } => {
            let io = |source| Refusal::io(&path, source);
            // Bytes that are appended between the check and the cut would be lost.
            let since = Instant::now();
            let mut alone = unix::shut_out(&file);
            while is_alone && alone.is_none() {
                if since.elapsed() > CLOSES_SOON {
                    return Err(Refusal::Locked { path }.into());
                }
                std::thread::sleep(Duration::from_millis(2));
                alone = unix::shut_out(&file);
            }
            let len = ready.step.after.as_ref().map_or(0, |after| after.bytes);
            if Stamp::take(&file).map_err(io)? != stamp {
                return Err(Refusal::Changed { path }.into());
            }
            sys::cut(&file, len).map_err(io)?;
            drop(alone);
            let _ = sys::sync(&file);
            let _ = stamp::restore_time(&file, time);
        }
    }
    Ok(Taken { path, kept: kept_at })
}

fn take_append(
    step: &Step,
    file: &File,
    bytes: &[u8],
    time: Option<i64>,
    at: usize,
    options: &WriteOptions<'_>,
    record: &mut Record<'_>,
) -> Result<(), Failed> {
    let path = &step.path;
    let io = |source| Refusal::io(path, source);
    let Some(before) = &step.before else { return Ok(()) };
    if !has_name(file, path).map_err(io)? {
        return Err(Refusal::Changed { path: path.clone() }.into());
    }
    // Room on the disk is reserved first: otherwise a partial line might have to be removed again
    // next to an agent.
    let put = sys::reserve(file, before.bytes, bytes.len() as u64).map_err(|error| (error, false));
    let start = match put.and_then(|()| append_bytes(file, bytes)) {
        Ok(start) => start,
        Err((error, is_taken)) => {
            if file.metadata().is_ok_and(|facts| facts.len() == before.bytes) {
                let _ = stamp::restore_time(file, before.mtime);
            }
            return Err(Failed { refusal: io(error), is_taken });
        }
    };
    // If the system can't answer, the lines are where they belong: another attempt would write them
    // twice.
    if !has_name(file, path).unwrap_or(true) {
        // The lines are in a file that no longer has a name.
        return Err(Refusal::Changed { path: path.clone() }.into());
    }
    let mut step = step.clone();
    let result = sys::sync(file).map_err(io).and_then(|()| {
        if let Some(Err(why)) = options.prove.map(|prove| prove(path)) {
            return Err(Refusal::Unproved { path: path.to_owned(), why });
        }
        if let Some(time) = time.filter(|_| start == before.bytes) {
            match stamp::restore_time(file, time) {
                // A user who may write a file of another user may not set its time.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES)) => {}
                other => other.map_err(io)?,
            }
        }
        let after = State::read(file).map_err(io)?;
        let sha256 = step.after.as_ref().and_then(|after| after.sha256.clone());
        step.after = Some(State { sha256, bytes: start + bytes.len() as u64, ..after });
        if start != before.bytes {
            // Another program appended just before.
            let tail =
                stamp::read_at(file, start.saturating_sub(4096), start.min(4096) as usize).map_err(io)?;
            let tail = hex(&Sha256::digest(&tail));
            step.before = Some(State { bytes: start, tail, ..before.clone() });
        }
        Ok(())
    });
    match result {
        Ok(()) => {
            record.revise(at, step);
            Ok(())
        }
        Err(refusal) => {
            // If the bytes can't be cut off again, the step was carried out.
            let is_taken = !cut_off_own(file, start, bytes);
            if !is_taken && start == before.bytes {
                let _ = stamp::restore_time(file, before.mtime);
            }
            Err(Failed { refusal, is_taken })
        }
    }
}

/// Returns whether an open file still has a name.
fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    let there = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        other => other?,
    };
    let ours = file.metadata()?;
    Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino()))
}

/// Appends bytes by one call; returns their offset. An error says whether some of them are in the
/// file.
fn append_bytes(mut file: &File, bytes: &[u8]) -> Result<u64, (io::Error, bool)> {
    let mut tries = 0;
    loop {
        let count = sys::write_once(file, bytes).map_err(|error| (error, false))?;
        // The system reports the position only after the call: others append as well.
        let end = file.stream_position().map_err(|error| (error, true))?;
        let start = end.saturating_sub(count as u64);
        if count == bytes.len() {
            return Ok(start);
        }
        let is_left = count > 0 && !cut_off_own(file, start, &bytes[..count]);
        tries += 1;
        if is_left || tries > 1 {
            return Err((io::ErrorKind::StorageFull.into(), is_left));
        }
    }
}

/// Cuts off bytes that were appended, if they are still the last ones; returns whether they are
/// gone.
fn cut_off_own(file: &File, start: u64, bytes: &[u8]) -> bool {
    let is_last = || -> io::Result<bool> {
        Ok(stamp::read_at(file, start, bytes.len() + 1)? == bytes
            && file.metadata()?.len() == start + bytes.len() as u64)
    };
    is_last().unwrap_or(false) && sys::cut(file, start).is_ok()
}

/// Waits until nobody has a file open for writing.
fn is_quiet(file: &File, patience: Duration) -> bool {
    let since = Instant::now();
    while guard::open_elsewhere(file) {
        if since.elapsed() > patience || temp::ends() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Replaces an old file with a new one. Only after that, when the old one can no longer be found,
/// checks whether it was still unchanged: bytes that were appended in the last moment are carried
/// over, and after any other change the old file is restored.
fn take_replace(
    path: &Path,
    mut new: Temp,
    len: u64,
    old: &File,
    stamp: &Stamp,
    kept: Option<&Path>,
    options: &WriteOptions<'_>,
) -> Result<(), Failed> {
    let io = |source| Refusal::io(path, source);
    let changed = || Refusal::Changed { path: path.to_owned() };
    let carries = options.allows().live || options.force;
    let patience = if options.allow.live { CLOSES_LATER } else { CLOSES_SOON };
    // A signal must not end the program while the old file has the name of one that is removed.
    let _calm = temp::calm();
    let there = open(path).and_then(|there| Stamp::take(&there)).map_err(io)?;
    if there != *stamp {
        return Err(changed().into());
    }
    match sys::swap(new.path(), path) {
        Ok(()) => {}
        Err(error) if unix::is_unknown_call(&error) => {
            if let Some(kept) = kept {
                fs::hard_link(path, kept).map_err(io)?;
            }
            sys::rename(new.path(), path).map_err(io)?;
            new.is_gone();
            is_quiet(old, CLOSES_LATER);
            return carry(old, stamp.len, path)
                .map(drop)
                .map_err(|error| Failed { refusal: io(error), is_taken: true });
        }
        Err(error) => return Err(io(error).into()),
    }
    let mut carried = stamp.clone();
    let refusal = loop {
        let found = match open(new.path()) {
            Ok(found) => found,
            Err(error) => break io(error),
        };
        if !stamp.is_of(&found) {
            break changed();
        }
        if !is_quiet(&found, patience) {
            break Refusal::Alive { path: path.to_owned(), signs: Signs::Open };
        }
        match Stamp::take(&found) {
            Ok(now) if now == carried => {
                let result = match kept {
                    Some(kept) => sys::rename_to_free(new.path(), kept).map(|()| new.is_gone()),
                    None => Ok(()),
                };
                match result {
                    Ok(()) => return Ok(()),
                    Err(error) => break io(error),
                }
            }
            Ok(now) if carries && carried.only_grew(&found).unwrap_or(false) => {
                match carry(&found, carried.len, path) {
                    Ok(()) => carried = now,
                    Err(error) => break io(error),
                }
            }
            Ok(_) => break changed(),
            Err(error) => break io(error),
        }
    };
    // Bytes that were appended to the new file in between are appended to the old one, except those
    // that came from there.
    let carried = carried.len - stamp.len;
    let from = |len: u64| stamp::read_at(old, stamp.len, len as usize);
    let is_first = |new: &File| stamp::read_at(new, len, carried as usize).ok() == from(carried).ok();
    if let Err(error) = sys::swap(new.path(), path) {
        new.is_gone();
        let source =
            io::Error::new(error.kind(), format!("{error}; the old file is {}", new.path().display()));
        return Err(Failed { refusal: io(source), is_taken: true });
    }
    let back = open(new.path()).and_then(|new| {
        is_quiet(&new, CLOSES_LATER);
        carry(&new, if is_first(&new) { len + carried } else { len }, path)
    });
    if back.is_err() {
        new.is_gone();
    }
    Err(refusal.into())
}

/// Appends the bytes that one file has after the first `len` to another.
fn carry(from: &File, len: u64, to: &Path) -> io::Result<()> {
    let now = from.metadata()?.len();
    if now <= len {
        return Ok(());
    }
    let bytes = stamp::read_at(from, len, (now - len) as usize)?;
    let file = OpenOptions::new().append(true).open(to)?;
    sys::write(&file, &bytes)?;
    sys::sync(&file)
}

/// Removes a file: it is first renamed, and only deleted if it is still unchanged. With `kept`, it
/// gets that name instead.
fn take_remove(path: &Path, name: &Path, stamp: &Stamp, kept: Option<&Path>) -> Result<(), Refusal> {
    let io = |source| Refusal::io(path, source);
    let _calm = temp::calm();
    sys::rename(path, name).map_err(io)?;
    let is_same = open(name).and_then(|there| {
        let is_quiet = stamp.is_of(&there) && is_quiet(&there, CLOSES_SOON);
        Ok(is_quiet && Stamp::take(&there)? == *stamp)
    });
    let refusal = match is_same {
        Ok(true) => match kept.map_or_else(|| sys::remove(name), |kept| sys::rename_to_free(name, kept)) {
            Ok(()) => return Ok(()),
            Err(error) => io(error),
        },
        Ok(false) => Refusal::Changed { path: path.to_owned() },
        Err(error) => io(error),
    };
    match sys::rename_to_free(name, path) {
        Ok(()) => Err(refusal),
        // Another file has taken the name.
        Err(error) => {
            let words = format!("{error}; the old file is {}", name.display());
            Err(io(io::Error::new(error.kind(), words)))
        }
    }
}

/// Opens a file for reading, without ever waiting for the other end of a pipe.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"))
}
