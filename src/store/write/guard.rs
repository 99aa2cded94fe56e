//! Locks on session files, and signs that an agent is using them.

use super::{Refusal, Stamp, stamp, steps, sys, temp, unix};
use crate::store::agents;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How long to wait for another bough process.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait for oh-my-pi's lock, as in oh-my-pi itself.
const OMP_PATIENCE: Duration = Duration::from_millis(500);
/// How long a program that opens a file for each line keeps it open.
const MOMENT: Duration = Duration::from_millis(200);
/// A file that changed this recently is assumed to be in use by an agent.
const LATELY: Duration = Duration::from_secs(5);

/// Exclusive access to a file for as long as this lives: an advisory lock on the file, and
/// oh-my-pi's own lock if the file is oh-my-pi's.
pub(crate) struct Guard {
    /// The file itself, with symbolic links resolved.
    pub(crate) path: PathBuf,
    /// A handle for reading, which holds the lock.
    pub(crate) file: File,
    /// Whether the handle is also open for writing.
    pub(super) writes: bool,
    omp: Option<OmpLock>,
}

impl Guard {
    /// Locks a file. Waits for other bough processes, which finish soon, but not forever.
    pub(crate) fn take(path: &Path, omp: bool, force: bool) -> Result<Guard, Refusal> {
        let io = |source| Refusal::io(path, source);
        let since = Instant::now();
        loop {
            let real = fs::canonicalize(path).map_err(io)?;
            let file = steps::open(&real).map_err(io)?;
            if !lock(&file, since).map_err(io)? {
                return Err(Refusal::Locked { path: path.to_owned() });
            }
            // The previous holder of the lock may have replaced the file.
            let (ours, there) = (file.metadata().map_err(io)?, fs::metadata(&real).map_err(io)?);
            if (ours.dev(), ours.ino()) != (there.dev(), there.ino()) {
                continue;
            }
            let omp = if omp { OmpLock::take(&real, force)? } else { None };
            return Ok(Guard { path: real, file, writes: false, omp });
        }
    }

    /// Opens a file like [`Guard::take`] without locking anything, to check whether it could be
    /// written.
    pub(crate) fn look(path: &Path) -> Result<Guard, Refusal> {
        let io = |source| Refusal::io(path, source);
        let real = fs::canonicalize(path).map_err(io)?;
        let file = steps::open(&real).map_err(io)?;
        Ok(Guard { path: real, file, writes: false, omp: None })
    }

    /// Also opens the file for writing, so that this process has no other handle on it: see
    /// [`unix::shut_out`].
    pub(crate) fn open_for_writing(&mut self) -> io::Result<()> {
        let file = fs::OpenOptions::new().read(true).write(true).open(&self.path)?;
        // Until the new handle has the lock, another bough process may have it: the stamp detects
        // its changes.
        self.file = file;
        self.writes = true;
        lock(&self.file, Instant::now()).map(drop)
    }

    /// Returns why the session seems to be in use by an agent, if it does.
    ///
    /// `own` returns the time at which bough itself last changed the file, in nanoseconds since
    /// 1970.
    pub(crate) fn alive(
        &self,
        own: impl FnOnce() -> Option<i64>,
        now: SystemTime,
        quiet: Duration,
    ) -> Result<Option<Signs>, Refusal> {
        let io = |error| Refusal::io(&self.path, error);
        let mtime = stamp::mtime(&self.file.metadata().map_err(io)?);
        Ok(match alive(&self.path, &self.file, mtime, None, now, quiet, self.omp.is_some()) {
            Some(Signs::Fresh) if own() == Some(mtime) => None,
            other => other,
        })
    }

    /// Returns whether another program has the file open for writing, and does not close it soon.
    pub(crate) fn stays_open(&self) -> bool {
        let since = Instant::now();
        while open_elsewhere(&self.file) {
            if since.elapsed() > MOMENT {
                return true;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        false
    }
}

/// A sign that an agent is using a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Signs {
    /// Some program has the file open for writing; which one, if that can be found.
    Open(Option<Holder>),
    /// oh-my-pi holds its lock.
    OmpLock,
    /// The file was changed a few seconds ago, and not by bough.
    Fresh,
    /// A process of Claude Code says that it has the session open.
    Registered(u32),
}

impl Signs {
    /// Describes the sign, as the end of a sentence about the file.
    pub fn phrase(&self) -> String {
        match self {
            Signs::Open(holder) => format!("is open for writing in {}", Holder::name_of(holder.as_ref())),
            Signs::OmpLock => "is locked by a running oh-my-pi".into(),
            Signs::Fresh => "was modified a few seconds ago; an agent may be using it".into(),
            Signs::Registered(pid) => format!("is open in a running claude (pid {pid})"),
        }
    }
}

/// A process that has a file open for writing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// The name of its program, without control characters.
    pub program: Box<str>,
}

impl Holder {
    /// Returns the process that has a file open for writing, if it is one of the user's, and not this one.
    pub(super) fn find(file: &File) -> Option<Holder> {
        let pid = writer(file)?;
        let program = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        let program = String::from_utf8_lossy(program.trim_ascii_end()).replace(char::is_control, "");
        Some(Holder { pid, program: program.into() })
    }

    /// Returns the words for a process in a sentence.
    pub(super) fn name_of(holder: Option<&Holder>) -> String {
        match holder {
            Some(Holder { pid, program }) if program.is_empty() => format!("process {pid}"),
            Some(Holder { pid, program }) => format!("`{program}` (pid {pid})"),
            None => "another program".into(),
        }
    }
}

/// Returns why a session seems to be in use by an agent, if it does. Only reads.
///
/// `path` is that of the file itself, with symbolic links resolved, because a lock is beside it,
/// unless it `is_unlocked`; `file` is a handle for reading, and `stamp` was taken from it.
pub fn signs_of_life(
    path: &Path,
    file: &File,
    stamp: &Stamp,
    own: Option<i64>,
    now: SystemTime,
    is_unlocked: bool,
) -> Option<Signs> {
    let open = || alive(path, file, stamp.mtime, own, now, LATELY, is_unlocked);
    agents::registered(path).map(Signs::Registered).or_else(open)
}

fn alive(
    path: &Path,
    file: &File,
    mtime: i64,
    own: Option<i64>,
    now: SystemTime,
    quiet: Duration,
    is_unlocked: bool,
) -> Option<Signs> {
    if open_elsewhere(file) {
        return Some(Signs::Open(Holder::find(file)));
    }
    if !is_unlocked && OmpLock::holder(&OmpLock::name(path)).is_some_and(unix::process_lives) {
        return Some(Signs::OmpLock);
    }
    let age = now.duration_since(stamp::system_time(mtime)).or_else(|ahead| {
        // A clock that is slightly behind that of the file system.
        if ahead.duration() < Duration::from_secs(1) { Ok(Duration::ZERO) } else { Err(ahead) }
    });
    let fresh = age.is_ok_and(|age| age < quiet);
    (fresh && own != Some(mtime)).then_some(Signs::Fresh)
}

/// Returns whether any program has a file open for writing. `file` is a handle for reading.
pub(super) fn open_elsewhere(file: &File) -> bool {
    unix::open_for_writing(file).unwrap_or_else(|| writer(file).is_some())
}

/// Returns one of the user's processes that has the file open for writing, by walking through `/proc`. This one does
/// not count.
fn writer(file: &File) -> Option<u32> {
    let wanted = file.metadata().ok()?;
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let pid = process.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = pid.filter(|pid| *pid != std::process::id()) else { continue };
        let Ok(handles) = fs::read_dir(process.path().join("fd")) else { continue };
        for handle in handles.flatten() {
            let Ok(facts) = fs::metadata(handle.path()) else { continue };
            if (facts.dev(), facts.ino()) == (wanted.dev(), wanted.ino())
                && writes(&process.path().join("fdinfo").join(handle.file_name()))
            {
                return Some(pid);
            }
        }
    }
    None
}

/// Returns whether a handle is open for writing, according to `/proc/PID/fdinfo/FD`.
fn writes(fdinfo: &Path) -> bool {
    let text = fs::read_to_string(fdinfo).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    // The lowest two bits are the access mode: 0 is read-only.
    flags.is_none_or(|flags| flags & 0b11 != 0)
}

/// Locks a file exclusively; returns `false` if another process does not release it.
pub(crate) fn lock(file: &File, since: Instant) -> io::Result<bool> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            // A file system without locks: continue without.
            Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                return Ok(true);
            }
            Err(fs::TryLockError::Error(error)) => return Err(error),
            Err(fs::TryLockError::WouldBlock) if since.elapsed() > PATIENCE => return Ok(false),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Returns whether a file is a lock of oh-my-pi that nobody holds any more.
pub(super) fn is_left_lock(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
    let is_lock = name.strip_prefix(b".").is_some_and(|name| name.ends_with(b".jsonl.lock"));
    is_lock && OmpLock::is_left(path)
}

/// Returns the name of oh-my-pi's lock on a session.
pub(super) fn lock_name(session: &Path) -> PathBuf {
    OmpLock::name(session)
}

/// Removes a file that an interrupted bough process left behind.
pub fn remove_leftover(path: &Path) -> io::Result<()> {
    if is_left_lock(path) {
        OmpLock::remove_left(path);
        return Ok(());
    }
    sys::remove(path)
}

/// oh-my-pi's own lock: a file `.NAME.lock` that is created exclusively and contains `pid:ms`.
struct OmpLock {
    path: PathBuf,
}

impl OmpLock {
    fn name(session: &Path) -> PathBuf {
        let mut name = std::ffi::OsString::from(".");
        name.push(session.file_name().unwrap_or_default());
        name.push(".lock");
        session.with_file_name(name)
    }

    /// Returns the process that holds the lock, according to the file. The first digits of a number
    /// are not enough.
    fn holder(lock: &Path) -> Option<i32> {
        let mut text = String::new();
        steps::open(lock).ok()?.take(64).read_to_string(&mut text).ok()?;
        text.split_once(':')?.0.trim().parse().ok()
    }

    /// Returns whether the process that created a lock is gone, judging by the content of the file
    /// or, if it is empty, by its age.
    fn is_left(lock: &Path) -> bool {
        if let Some(pid) = OmpLock::holder(lock) {
            return !unix::process_lives(pid);
        }
        let Ok(facts) = fs::symlink_metadata(lock) else { return false };
        let age = SystemTime::now().duration_since(stamp::system_time(stamp::mtime(&facts)));
        age.is_ok_and(|age| age > OMP_PATIENCE)
    }

    /// Removes an abandoned lock. Another program may do the same, and already have its own lock
    /// there.
    fn remove_left(lock: &Path) {
        let aside = temp::name_beside(lock);
        if fs::rename(lock, &aside).is_err() {
            return;
        }
        if !OmpLock::is_left(&aside) {
            let _ = fs::hard_link(&aside, lock);
        }
        let _ = fs::remove_file(&aside);
    }

    /// Takes the lock as oh-my-pi does: waits for half a second, and takes it over from a process
    /// that is gone.
    ///
    /// Returns `None` if another process holds it and the user insists.
    fn take(session: &Path, force: bool) -> Result<Option<OmpLock>, Refusal> {
        let path = OmpLock::name(session);
        let since = Instant::now();
        loop {
            match temp::create(&path, 0o600) {
                Ok(mut file) => {
                    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                    let lock = OmpLock { path };
                    let text = format!("{}:{}\n", std::process::id(), now.as_millis());
                    file.write_all(text.as_bytes()).map_err(|error| Refusal::io(session, error))?;
                    return Ok(Some(lock));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // oh-my-pi can't lock a session with such a name either.
                Err(error) if error.kind() == io::ErrorKind::InvalidFilename => return Ok(None),
                Err(error) => return Err(Refusal::io(&path, error)),
            }
            if OmpLock::is_left(&path) {
                OmpLock::remove_left(&path);
                continue;
            }
            if since.elapsed() > OMP_PATIENCE {
                if force {
                    return Ok(None);
                }
                return Err(Refusal::Alive { path: session.to_owned(), signs: Signs::OmpLock });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for OmpLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        temp::forget(&self.path);
    }
}
