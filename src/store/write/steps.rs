//! The steps that change one file each, and how each is taken back.

use super::guard::Guard;
use super::stamp::{self, Stamp};
use super::{Orders, Record, Refusal, sys, unix};
use crate::json::{Reader, Shape};
use crate::store::oplog::{Log, State, Step, StepKind, hash_of, hex};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the content of a new file goes.
pub(crate) struct Sink<'a> {
    into: Into<'a>,
    hash: Sha256,
}

enum Into<'a> {
    File(&'a File),
    Stream(&'a mut dyn Write),
}

/// What puts the content into a new file.
pub(crate) type Fill<'f> = dyn FnMut(&mut Sink<'_>) -> io::Result<()> + 'f;

impl<'a> Sink<'a> {
    pub(crate) fn to(stream: &'a mut dyn Write) -> Sink<'a> {
        Sink { into: Into::Stream(stream), hash: Sha256::new() }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        match &mut self.into {
            Into::File(file) => sys::write(file, bytes),
            Into::Stream(stream) => stream.write_all(bytes),
        }
    }
}

/// Puts whole lines behind the last byte of a file, by one call.
///
/// A newline that the last line lacks comes first, unless the bytes begin with it. What is written of a call that was cut short is cut off again.
pub(crate) fn append(
    guard: &Guard,
    stamp: &Stamp,
    lines: &[u8],
    keep_time: bool,
    orders: &Orders<'_>,
    record: &mut Record<'_>,
) -> Result<PathBuf, Refusal> {
    let io = |source| Refusal::io(&guard.path, source);
    let file = OpenOptions::new().read(true).append(true).open(&guard.path).map_err(io)?;
    let found = Stamp::of(&file).map_err(io)?;
    if found != *stamp {
        let grew = orders.force && orders.last_try && stamp.only_grew(&file).map_err(io)?;
        if !grew {
            return Err(Refusal::Changed { path: guard.path.clone() });
        }
    }
    let mut bytes = Vec::with_capacity(lines.len() + 1);
    match last_line(&file, found.len).map_err(io)? {
        _ if lines.starts_with(b"\n") || lines.starts_with(b"\r\n") => {}
        LastLine::Ended => {}
        LastLine::Whole => bytes.push(b'\n'),
        LastLine::Torn { .. } if orders.force => bytes.push(b'\n'),
        LastLine::Torn { offset } => return Err(Refusal::Torn { path: guard.path.clone(), offset }),
    }
    if orders.dry_run {
        return Ok(guard.path.clone());
    }
    bytes.extend_from_slice(lines);
    let before = State::of(&file).map_err(io)?;
    put_behind(&guard.path, &file, before, &bytes, keep_time.then_some(found.mtime), orders, record)?;
    Ok(guard.path.clone())
}

fn put_behind(
    path: &Path,
    file: &File,
    before: State,
    bytes: &[u8],
    time: Option<i64>,
    orders: &Orders<'_>,
    record: &mut Record<'_>,
) -> Result<(), Refusal> {
    let io = |source| Refusal::io(path, source);
    let (len, before_time) = (before.bytes, before.mtime);
    let sha256 = Some(hex(&Sha256::digest(bytes)));
    let expected = State { bytes: len + bytes.len() as u64, tail: String::new(), sha256, ..before.clone() };
    record.begin(Step {
        path: path.to_owned(),
        kind: StepKind::Append,
        before: Some(before),
        after: Some(expected.clone()),
        backup: None,
        folders: Vec::new(),
    })?;
    let result = write_whole(file, len, bytes).and_then(|()| {
        let proved = || orders.prove.map_or(Ok(()), |prove| prove(path));
        if let Err(why) = proved() {
            return Ok(Err(Refusal::Unproved { path: path.to_owned(), why }));
        }
        if let Some(time) = time {
            stamp::put_back_time(file, time)?;
        }
        State::of(file).map(Ok)
    });
    match result {
        Ok(Ok(after)) => {
            record.ended(Some(State { sha256: expected.sha256, ..after }));
            Ok(())
        }
        failed => {
            // Bytes that can't be cut off again are a step that was taken.
            if cut_off(file, len, bytes.len() as u64) {
                let _ = stamp::put_back_time(file, before_time);
                record.failed();
            }
            Err(match failed {
                Ok(Err(refusal)) => refusal,
                Err(error) => io(error),
                Ok(Ok(_)) => unreachable!("handled above"),
            })
        }
    }
}

/// Writes by one call, and brings it to the disk.
fn write_whole(file: &File, len: u64, bytes: &[u8]) -> io::Result<()> {
    let count = sys::write_once(file, bytes)?;
    if count < bytes.len() {
        // The disk is full: the rest would be refused.
        cut_off(file, len, count as u64);
        let again = sys::write_once(file, bytes)?;
        if again < bytes.len() {
            cut_off(file, len, again as u64);
            return Err(io::ErrorKind::StorageFull.into());
        }
    }
    sys::sync(file)
}

/// Cuts off what was written behind `len`, if nobody wrote behind it since; whether the file is as long as before.
fn cut_off(file: &File, len: u64, wrote: u64) -> bool {
    match file.metadata().map(|facts| facts.len()) {
        Ok(now) if now > len && now <= len + wrote => sys::cut(file, len).is_ok(),
        Ok(now) => now == len,
        Err(_) => false,
    }
}

enum LastLine {
    /// It ends in a newline, or there is none.
    Ended,
    /// It is a JSON text that lacks its newline.
    Whole,
    /// It is cut off.
    Torn { offset: u64 },
}

/// How the last line of a file ends. Costs the length of that line.
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
    let mut whole = false;
    let mut look = |shape: Shape| whole = matches!(shape, Shape::Object | Shape::Scalar | Shape::Blank);
    stamp::each_block(file, offset, len - offset, |block| {
        reader.feed(block, |line| look(line.shape));
        Ok(())
    })?;
    reader.finish(|line| look(line.shape));
    Ok(if whole { LastLine::Whole } else { LastLine::Torn { offset } })
}

/// Puts a new file in the place of the old one, with its mode and its owner.
pub(crate) fn replace(
    guard: &Guard,
    stamp: &Stamp,
    fill: &mut Fill<'_>,
    time: Option<i64>,
    orders: &Orders<'_>,
    record: &mut Record<'_>,
) -> Result<PathBuf, Refusal> {
    let path = &guard.path;
    let io = |source| Refusal::io(path, source);
    let changed = || Refusal::Changed { path: path.clone() };
    if Stamp::of(&guard.file).map_err(io)? != *stamp {
        return Err(changed());
    }
    // A file that may not be written is not replaced either, although its folder would allow it.
    drop(OpenOptions::new().append(true).open(path).map_err(io)?);
    let old = guard.file.metadata().map_err(io)?;
    if old.nlink() > 1 && !orders.force {
        return Err(Refusal::HardLinked { path: path.clone(), others: old.nlink() as usize - 1 });
    }
    if orders.dry_run {
        if !unix::may_write(sys::folder_of(path)) {
            return Err(io(io::ErrorKind::PermissionDenied.into()));
        }
        if unix::user() != 0 && unix::user() != old.uid() {
            return Err(Refusal::Owner { path: path.clone() });
        }
        return Ok(path.clone());
    }
    let mut temp = Temp::new(path, 0o600).map_err(io)?;
    let mut sink = Sink { into: Into::File(&temp.file), hash: Sha256::new() };
    fill(&mut sink).map_err(io)?;
    let sha256 = Some(hex(&sink.hash.finalize()));
    let new = temp.file.metadata().map_err(io)?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        let given = sys::set_owner(&temp.file, old.uid(), old.gid());
        // A group alone that can't be kept is no reason to stay: the owner still has the file.
        if given.is_err() && (unix::user() != old.uid()) {
            return Err(Refusal::Owner { path: path.clone() });
        }
    }
    sys::set_mode(&temp.file, old.mode()).map_err(io)?;
    if let Some(time) = time {
        stamp::put_back_time(&temp.file, time).map_err(io)?;
    }
    sys::sync(&temp.file).map_err(io)?;
    if let Some(Err(why)) = orders.prove.map(|prove| prove(&temp.path)) {
        return Err(Refusal::Unproved { path: path.clone(), why });
    }
    let backup = record.back_up(&guard.file, 0, stamp.len)?;
    let before = State { sha256: backup.clone(), ..State::of(&guard.file).map_err(io)? };
    temp.is_written().map_err(io)?;
    let after = State { sha256, ..State::of(&temp.file).map_err(io)? };
    record.begin(Step {
        path: path.clone(),
        kind: StepKind::Replace,
        before: Some(before),
        after: Some(after),
        backup,
        folders: Vec::new(),
    })?;
    let result = File::open(path).and_then(|there| Stamp::of(&there)).and_then(|there| {
        if there != *stamp {
            return Ok(false);
        }
        sys::rename(&temp.path, path).map(|()| true)
    });
    match result {
        Ok(true) => {
            temp.is_gone();
            let _ = sys::sync_folder_of(path);
            Ok(path.clone())
        }
        Ok(false) => {
            record.failed();
            Err(changed())
        }
        Err(error) => {
            record.failed();
            Err(io(error))
        }
    }
}

/// Makes a new file. It has all of its content before it has its name.
pub(crate) fn create(
    path: &Path,
    mode: u32,
    time: Option<i64>,
    fill: &mut Fill<'_>,
    orders: &Orders<'_>,
    record: &mut Record<'_>,
) -> Result<PathBuf, Refusal> {
    let io = |source| Refusal::io(path, source);
    if let Ok(file) = File::open(path) {
        if !orders.force {
            return Err(Refusal::Exists { path: path.to_owned() });
        }
        let stamp = Stamp::of(&file).map_err(io)?;
        let guard = if orders.dry_run { Guard::look(path)? } else { Guard::take(path, false, orders.force)? };
        return replace(&guard, &stamp, fill, None, orders, record);
    }
    if orders.dry_run {
        return match first_folder(path) {
            folder if unix::may_write(folder) => Ok(path.to_owned()),
            _ => Err(io(io::ErrorKind::PermissionDenied.into())),
        };
    }
    // Declared before the file, so that a failure takes them away after it.
    let folders = Folders::make(sys::folder_of(path)).map_err(io)?;
    let mut temp = Temp::new(path, mode).map_err(io)?;
    let mut sink = Sink { into: Into::File(&temp.file), hash: Sha256::new() };
    fill(&mut sink).map_err(io)?;
    let sha256 = Some(hex(&sink.hash.finalize()));
    if let Some(time) = time {
        stamp::put_back_time(&temp.file, time).map_err(io)?;
    }
    sys::sync(&temp.file).map_err(io)?;
    if let Some(Err(why)) = orders.prove.map(|prove| prove(&temp.path)) {
        return Err(Refusal::Unproved { path: path.to_owned(), why });
    }
    let real = match fs::canonicalize(sys::folder_of(path)) {
        Ok(folder) => folder.join(path.file_name().unwrap_or_default()),
        Err(_) => path.to_owned(),
    };
    temp.is_written().map_err(io)?;
    let after = State { sha256, ..State::of(&temp.file).map_err(io)? };
    record.begin(Step {
        path: real.clone(),
        kind: StepKind::Create,
        before: None,
        after: Some(after),
        backup: None,
        folders: folders.made.clone(),
    })?;
    match give_name(&temp.path, path) {
        Ok(()) => {
            folders.stay();
            let _ = sys::sync_folder_of(path);
            Ok(real)
        }
        Err(error) => {
            record.failed();
            Err(match error.kind() {
                io::ErrorKind::AlreadyExists => Refusal::Exists { path: path.to_owned() },
                _ => io(error),
            })
        }
    }
}

/// Gives a file a name that must be free.
fn give_name(temp: &Path, path: &Path) -> io::Result<()> {
    match sys::link(temp, path) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
                || error.raw_os_error() == Some(libc::EPERM) =>
        {
            // A file system without hard links: between the look and the rename another may make the file.
            if fs::symlink_metadata(path).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            sys::rename(temp, path)
        }
        other => other,
    }
}

/// The nearest folder above a path that is there.
fn first_folder(path: &Path) -> &Path {
    let mut folder = sys::folder_of(path);
    while !folder.exists() && folder != sys::folder_of(folder) {
        folder = sys::folder_of(folder);
    }
    folder
}

/// Folders that were made for a file, and are taken away again if it does not come.
struct Folders {
    /// The outermost first.
    made: Vec<PathBuf>,
}

impl Folders {
    /// Makes a folder, and those above it that are missing.
    fn make(folder: &Path) -> io::Result<Folders> {
        let mut folders = Folders { made: Vec::new() };
        let missing: Vec<&Path> =
            folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists()).collect();
        for folder in missing.into_iter().rev() {
            match sys::make_folder(folder) {
                Ok(()) => folders.made.push(fs::canonicalize(folder)?),
                // Another was as quick: it is not ours.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(folders)
    }

    fn stay(mut self) {
        self.made.clear();
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        remove_folders(&self.made);
    }
}

/// Takes away the folders that were made for a file, as far as nothing else is in them.
pub(crate) fn remove_folders(made: &[PathBuf]) {
    for folder in made.iter().rev() {
        if sys::remove_folder(folder).is_ok() {
            let _ = sys::sync_folder_of(folder);
        }
    }
}

/// Cuts a file to a length; what is cut off is backed up.
pub(crate) fn cut(guard: &Guard, len: u64, time: i64, record: &mut Record<'_>) -> Result<PathBuf, Refusal> {
    let path = &guard.path;
    let io = |source| Refusal::io(path, source);
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
    let before = State::of(&file).map_err(io)?;
    let backup = record.back_up(&file, len, before.bytes.saturating_sub(len))?;
    let tail = stamp::read_at(&file, len.saturating_sub(4096), len.min(4096) as usize).map_err(io)?;
    let after = State { bytes: len, mtime: time, tail: hex(&Sha256::digest(&tail)), ..before.clone() };
    let whole = before.bytes;
    record.begin(Step {
        path: path.clone(),
        kind: StepKind::Cut,
        before: Some(before),
        after: Some(after),
        backup,
        folders: Vec::new(),
    })?;
    let result = file.metadata().and_then(|facts| {
        if facts.len() != whole {
            return Ok(false);
        }
        sys::cut(&file, len).map(|()| true)
    });
    match result {
        Ok(true) => {}
        failed => {
            record.failed();
            return Err(match failed {
                Err(error) => io(error),
                Ok(_) => Refusal::Changed { path: path.clone() },
            });
        }
    }
    let _ = sys::sync(&file);
    let _ = stamp::put_back_time(&file, time);
    Ok(path.clone())
}

/// Puts bytes behind the last that were cut off there.
pub(crate) fn put_again(
    guard: &Guard,
    bytes: &[u8],
    time: i64,
    orders: &Orders<'_>,
    record: &mut Record<'_>,
) -> Result<PathBuf, Refusal> {
    let io = |source| Refusal::io(&guard.path, source);
    let file = OpenOptions::new().read(true).append(true).open(&guard.path).map_err(io)?;
    let before = State::of(&file).map_err(io)?;
    put_behind(&guard.path, &file, before, bytes, Some(time), orders, record)?;
    Ok(guard.path.clone())
}

/// Takes a file away; it is backed up.
pub(crate) fn remove(guard: &Guard, record: &mut Record<'_>) -> Result<PathBuf, Refusal> {
    let path = &guard.path;
    let io = |source| Refusal::io(path, source);
    let before = State::of(&guard.file).map_err(io)?;
    let backup = record.back_up(&guard.file, 0, before.bytes)?;
    let before = State { sha256: backup.clone(), ..before };
    record.begin(Step {
        path: path.clone(),
        kind: StepKind::Remove,
        before: Some(before),
        after: None,
        backup,
        folders: Vec::new(),
    })?;
    if let Err(error) = sys::remove(path) {
        record.failed();
        return Err(io(error));
    }
    let _ = sys::sync_folder_of(path);
    Ok(path.clone())
}

/// Takes back a step of an operation that could not be ended; says whether the file is as before the step.
///
/// A file that is not as the step left it stays as it is.
pub(crate) fn take_back(step: &Step, log: Option<&Log>) -> io::Result<bool> {
    let found = match OpenOptions::new().read(true).open(&step.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        other => Some(other?),
    };
    let now = found.as_ref().map(State::of).transpose()?;
    let is_as_left = match (&now, &step.after) {
        (Some(now), Some(after)) => now.bytes == after.bytes,
        (now, after) => now.is_none() && after.is_none(),
    };
    if !is_as_left {
        return Ok(match (&now, &step.before) {
            (Some(now), Some(before)) => before.looks_like(now),
            (now, before) => now.is_none() && before.is_none(),
        });
    }
    let backup = || -> io::Result<(&Log, &str)> {
        log.zip(step.backup.as_deref()).ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    match (step.kind, &step.before) {
        (StepKind::Append, Some(before)) => {
            let file = OpenOptions::new().read(true).write(true).open(&step.path)?;
            sys::cut(&file, before.bytes)?;
            // The bytes are as before: a time that can't be set does not change that.
            let _ = stamp::put_back_time(&file, before.mtime);
        }
        (StepKind::Create, _) => {
            sys::remove(&step.path)?;
            remove_folders(&step.folders);
        }
        (StepKind::Replace | StepKind::Remove, Some(before)) => {
            let (log, hash) = backup()?;
            let backup = File::open(log.backup(hash))?;
            let mut temp = Temp::new(&step.path, before.mode)?;
            stamp::each_block(&backup, 0, before.bytes, |block| sys::write(&temp.file, block))?;
            sys::set_mode(&temp.file, before.mode)?;
            stamp::put_back_time(&temp.file, before.mtime)?;
            sys::sync(&temp.file)?;
            temp.is_written()?;
            sys::rename(&temp.path, &step.path)?;
            temp.is_gone();
        }
        (StepKind::Cut, Some(before)) => {
            let (log, hash) = backup()?;
            let bytes = log.read_backup(hash)?;
            let file = OpenOptions::new().read(true).append(true).open(&step.path)?;
            let after = step.after.as_ref().map_or(0, |after| after.bytes);
            if let Err(error) = write_whole(&file, after, &bytes) {
                cut_off(&file, after, bytes.len() as u64);
                return Err(error);
            }
            let _ = stamp::put_back_time(&file, before.mtime);
        }
        (_, None) => return Ok(false),
    }
    Ok(true)
}

/// Whether a stretch of a file has the hash that it had.
pub(crate) fn is_still(file: &File, at: u64, len: u64, sha256: Option<&str>) -> io::Result<bool> {
    let facts = file.metadata()?;
    Ok(facts.len() >= at + len
        && sha256.is_some_and(|wanted| hash_of(file, at, len).is_ok_and(|is| is == wanted)))
}

/// A file beside another that will take its place, and is removed if it does not.
struct Temp {
    path: PathBuf,
    file: File,
    gone: std::cell::Cell<bool>,
}

impl Temp {
    /// Makes a file in the folder of `path`. Agents list `*.jsonl`; its name does not end so.
    fn new(path: &Path, mode: u32) -> io::Result<Temp> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Names of files have at most 255 bytes.
        let short: String = name.chars().take(40).collect();
        let temp = path
            .with_file_name(format!(".{short}.{}.bough", &uuid::Uuid::new_v4().simple().to_string()[..12]));
        let file = sys::create(&temp, mode)?;
        Ok(Temp { path: temp, file, gone: std::cell::Cell::new(false) })
    }

    /// Says that its content is whole. From here on it is open for reading alone: once it has its name, others would take it
    /// for one that somebody writes to.
    fn is_written(&mut self) -> io::Result<()> {
        self.file = File::open(&self.path)?;
        Ok(())
    }

    fn is_gone(&self) {
        self.gone.set(true);
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if !self.gone.get() {
            let _ = fs::remove_file(&self.path);
        }
    }
}
