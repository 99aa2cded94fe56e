use super::{Refusal, Stamp, stamp, steps, sys, temp, unix};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How long another bough is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long oh-my-pi's lock is waited for, as oh-my-pi itself does.
const OMP_PATIENCE: Duration = Duration::from_millis(500);
/// How long a program has a file open that opens it for each line.
const MOMENT: Duration = Duration::from_millis(200);
/// A file changed so lately is taken for one that an agent is at work on.
const LATELY: Duration = Duration::from_secs(5);

/// A file that is ours to write for as long as this lives: an advisory lock on the file, and oh-my-pi's own
/// where the file is oh-my-pi's.
pub(crate) struct Guard {
    /// The file itself, symbolic links followed.
    pub(crate) path: PathBuf,
    /// A handle for reading, which holds the lock.
    pub(crate) file: File,
    /// Whether the handle is one for writing as well.
    pub(super) writes: bool,
    omp: Option<OmpLock>,
}

impl Guard {
    /// Locks a file. Waits for other boughs, which are soon done; does not wait for ever.
    pub(crate) fn take(path: &Path, omp: bool, force: bool) -> Result<Guard, Refusal> {
        let io = |source| Refusal::io(path, source);
        let since = Instant::now();
        loop {
            let real = fs::canonicalize(path).map_err(io)?;
            let file = steps::open(&real).map_err(io)?;
            if !lock(&file, since).map_err(io)? {
                return Err(Refusal::Locked { path: path.to_owned() });
            }
            // Whoever had the lock may have put another file in its place.
            let (ours, there) = (file.metadata().map_err(io)?, fs::metadata(&real).map_err(io)?);
            if (ours.dev(), ours.ino()) != (there.dev(), there.ino()) {
                continue;
            }
            let omp = if omp { OmpLock::take(&real, force)? } else { None };
            return Ok(Guard { path: real, file, writes: false, omp });
        }
    }

    /// Opens a file as [`Guard::take`] does, and locks nothing: for a look whether it could be written.
    pub(crate) fn look(path: &Path) -> Result<Guard, Refusal> {
        let io = |source| Refusal::io(path, source);
        let real = fs::canonicalize(path).map_err(io)?;
        let file = steps::open(&real).map_err(io)?;
        Ok(Guard { path: real, file, writes: false, omp: None })
    }

    /// Opens the file for writing as well, so that this process has no other handle on it: see [`unix::shut_out`].
    pub(crate) fn open_for_writing(&mut self) -> io::Result<()> {
        let file = fs::OpenOptions::new().read(true).write(true).open(&self.path)?;
        // Until the new handle has the lock, another bough may have it: what it changes is seen by the stamp.
        self.file = file;
        self.writes = true;
        lock(&self.file, Instant::now()).map(drop)
    }

    /// Why the session looks as if an agent were at work on it, if it does.
    ///
    /// `own` gives the time at which bough itself changed the file last, in nanoseconds since 1970.
    pub(crate) fn alive(
        &self,
        own: impl FnOnce() -> Option<i64>,
        now: SystemTime,
    ) -> Result<Option<Signs>, Refusal> {
        let io = |error| Refusal::io(&self.path, error);
        let mtime = stamp::mtime(&self.file.metadata().map_err(io)?);
        Ok(match alive(&self.path, &self.file, mtime, None, now, self.omp.is_some()) {
            Some(Signs::Fresh) if own() == Some(mtime) => None,
            other => other,
        })
    }

    /// Whether another program has the file open for writing, and does not soon close it.
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

/// What tells that an agent is at work on a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signs {
    /// Some program has the file open for writing.
    Open,
    /// oh-my-pi holds its lock.
    OmpLock,
    /// The file was changed less than five seconds ago, and not by bough.
    Fresh,
}

impl Signs {
    /// What is seen of the file, as the end of a sentence about it.
    pub fn words(self) -> &'static str {
        match self {
            Signs::Open => "is open for writing in another program",
            Signs::OmpLock => "is locked by a running oh-my-pi",
            Signs::Fresh => "was modified less than 5 seconds ago; an agent may be using it",
        }
    }
}

/// Why a session looks as if an agent were at work on it, if it does. Reads only.
///
/// `path` is that of the file itself, symbolic links followed, since a lock stands beside that, unless it `is_unlocked`; `file` is a
/// handle for reading, and `stamp` was taken of it.
pub fn signs_of_life(
    path: &Path,
    file: &File,
    stamp: &Stamp,
    own: Option<i64>,
    now: SystemTime,
    is_unlocked: bool,
) -> Option<Signs> {
    alive(path, file, stamp.mtime, own, now, is_unlocked)
}

fn alive(
    path: &Path,
    file: &File,
    mtime: i64,
    own: Option<i64>,
    now: SystemTime,
    is_unlocked: bool,
) -> Option<Signs> {
    if open_elsewhere(file) {
        return Some(Signs::Open);
    }
    if !is_unlocked && OmpLock::holder(&OmpLock::name(path)).is_some_and(unix::process_lives) {
        return Some(Signs::OmpLock);
    }
    let age = now.duration_since(stamp::system_time(mtime)).or_else(|ahead| {
        // A clock that is a little behind that of the file's disk.
        if ahead.duration() < Duration::from_secs(1) { Ok(Duration::ZERO) } else { Err(ahead) }
    });
    let fresh = age.is_ok_and(|age| age < LATELY);
    (fresh && own != Some(mtime)).then_some(Signs::Fresh)
}

/// Whether any program has a file open for writing. `file` is a handle for reading.
pub(super) fn open_elsewhere(file: &File) -> bool {
    unix::open_for_writing(file).unwrap_or_else(|| someone_writes(file))
}

/// Whether a process of ours has the file open for writing, by a walk over `/proc`.
fn someone_writes(file: &File) -> bool {
    let Ok(wanted) = file.metadata() else { return false };
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    let me = std::process::id().to_string();
    for process in processes.flatten() {
        let name = process.file_name();
        let pid = name.to_string_lossy();
        if !pid.bytes().all(|byte| byte.is_ascii_digit()) || pid == me {
            continue;
        }
        let Ok(handles) = fs::read_dir(process.path().join("fd")) else { continue };
        for handle in handles.flatten() {
            let Ok(facts) = fs::metadata(handle.path()) else { continue };
            if (facts.dev(), facts.ino()) == (wanted.dev(), wanted.ino())
                && writes(&process.path().join("fdinfo").join(handle.file_name()))
            {
                return true;
            }
        }
    }
    false
}

/// Whether a handle, by what `/proc/PID/fdinfo/FD` says of it, is one for writing.
fn writes(fdinfo: &Path) -> bool {
    let text = fs::read_to_string(fdinfo).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    // The lowest two bits are how it was opened: 0 is reading alone.
    flags.is_none_or(|flags| flags & 0b11 != 0)
}

/// Locks a file for us alone; `false` where another does not let go of it.
pub(crate) fn lock(file: &File, since: Instant) -> io::Result<bool> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            // A file system without locks: then there are none.
            Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                return Ok(true);
            }
            Err(fs::TryLockError::Error(error)) => return Err(error),
            Err(fs::TryLockError::WouldBlock) if since.elapsed() > PATIENCE => return Ok(false),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Whether a file is a lock of oh-my-pi's kind that nobody holds any more.
pub(super) fn is_left_lock(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
    let is_lock = name.strip_prefix(b".").is_some_and(|name| name.ends_with(b".jsonl.lock"));
    is_lock && OmpLock::is_left(path)
}

/// The name of oh-my-pi's lock on a session.
pub(super) fn lock_name(session: &Path) -> PathBuf {
    OmpLock::name(session)
}

/// Removes a file that an interrupted bough left.
pub fn remove_leftover(path: &Path) -> io::Result<()> {
    if is_left_lock(path) {
        OmpLock::remove_left(path);
        return Ok(());
    }
    sys::remove(path)
}

/// oh-my-pi's own lock: a file `.NAME.lock` that is made exclusively, with `pid:ms` in it.
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

    /// The process that holds the lock, by what the file says. The first digits of a number say nothing.
    fn holder(lock: &Path) -> Option<i32> {
        let mut text = String::new();
        steps::open(lock).ok()?.take(64).read_to_string(&mut text).ok()?;
        text.split_once(':')?.0.trim().parse().ok()
    }

    /// Whether the one who made a lock is gone, by what the file says or, if it says nothing, by its age.
    fn is_left(lock: &Path) -> bool {
        if let Some(pid) = OmpLock::holder(lock) {
            return !unix::process_lives(pid);
        }
        let Ok(facts) = fs::symlink_metadata(lock) else { return false };
        let age = SystemTime::now().duration_since(stamp::system_time(stamp::mtime(&facts)));
        age.is_ok_and(|age| age > OMP_PATIENCE)
    }

    /// Removes a lock that was left. Another program may do the same, and have a lock of its own there by now.
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

    /// Takes the lock as oh-my-pi does: waits for half a second, and takes it from a process that is gone.
    ///
    /// Gives `None` where the user insists although another holds it.
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
                // oh-my-pi has no lock on a session of such a name either.
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
