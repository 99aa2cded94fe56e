//! Carries out one prepared step: the file changes here, and is put back if the step fails.

use super::guard::Holder;
use super::stamp::{self, Stamp};
use super::steps::{Action, Failed, Ready, Taken, open};
use super::temp::{self, Temp};
use super::{Record, Refusal, Signs, WriteOptions, guard, sys, unix};
use crate::store::oplog::{State, Step, hex};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait for a program that opened a file just before it was replaced.
const CLOSES_SOON: Duration = Duration::from_secs(1);
/// How long to wait for an agent to close a file that the user wants to change nevertheless.
const CLOSES_LATER: Duration = Duration::from_secs(15);

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
    let patience = if options.allow.live { options.patience.max(CLOSES_SOON) } else { CLOSES_SOON };
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
    let (mut carried, since) = (stamp.clone(), Instant::now());
    let refusal = loop {
        let found = match open(new.path()) {
            Ok(found) => found,
            Err(error) => break io(error),
        };
        if !stamp.is_of(&found) {
            break changed();
        }
        if !is_quiet(&found, patience) {
            break stays_open(path, &found, since.elapsed(), options);
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
    put_back(path, new, old, &Lengths { new: len, old: stamp.len, carried: carried.len - stamp.len })?;
    Err(refusal.into())
}

/// Returns the refusal to replace a file that another program still has open for writing.
fn stays_open(path: &Path, file: &File, waited: Duration, options: &WriteOptions<'_>) -> Refusal {
    let (path, holder) = (path.to_owned(), Holder::find(file));
    match options.allow.live {
        true => Refusal::HeldOpen { path, holder, seconds: waited.as_secs() },
        false => Refusal::Alive { path, signs: Signs::Open(holder) },
    }
}

/// How long the files of a replacement are, in bytes.
struct Lengths {
    /// The new file, as it was prepared.
    new: u64,
    /// The old file, as it was read.
    old: u64,
    /// What was appended to the old file since, and carried over to the new one.
    carried: u64,
}

/// Gives an old file its name again, after it was swapped with a new one.
///
/// Bytes that were appended to the new file in between are appended to the old one, except those that came from there.
fn put_back(path: &Path, mut new: Temp, old: &File, lens: &Lengths) -> Result<(), Failed> {
    let carried = lens.carried;
    let from = |len: u64| stamp::read_at(old, lens.old, len as usize);
    let is_first = |new: &File| stamp::read_at(new, lens.new, carried as usize).ok() == from(carried).ok();
    if let Err(error) = sys::swap(new.path(), path) {
        new.is_gone();
        let source =
            io::Error::new(error.kind(), format!("{error}; the old file is {}", new.path().display()));
        return Err(Failed { refusal: Refusal::io(path, source), is_taken: true });
    }
    let back = open(new.path()).and_then(|new| {
        is_quiet(&new, CLOSES_LATER);
        carry(&new, if is_first(&new) { lens.new + carried } else { lens.new }, path)
    });
    if back.is_err() {
        new.is_gone();
    }
    Ok(())
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
