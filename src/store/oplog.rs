//! The operation log: what bough changed, and what it takes to change it back.
//!
//! In `$XDG_STATE_HOME/bough`: `operations.jsonl`, with lines of constant size: one when an operation begins, one before each step,
//! one when it ended; and `backups/`, files named by the SHA-256 of their content. An append is recorded by the length
//! before and the hash of the new bytes; only what is removed or replaced is backed up. Lines are on the disk before the file changes.
//! The log is read from its end, so that its length costs nothing.

pub(super) mod lines;
mod reader;

pub use reader::{Operations, Reader};

use super::write::stamp;
use super::write::{steps, sys, temp};
use crate::model::Time;
use lines::Line;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// One change that bough made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// Its id.
    pub op_id: String,
    /// When, as ISO 8601 in UTC.
    pub time: String,
    /// The verb.
    pub command: String,
    /// The main file of the session.
    #[serde(with = "lines::path")]
    pub file: PathBuf,
    /// The format of the session.
    pub format: String,
    /// How far it came.
    pub state: Progress,
    /// The id of the entry at which the session stood before, where the operation moved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The id of the entry at which it stands since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whether it moved the session at all: `from` and `to` may both be before the first entry.
    #[serde(default)]
    pub moved: bool,
    /// The operation that it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// The only file of which it takes the operation back.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "lines::maybe_path")]
    pub only: Option<PathBuf>,
    /// What was done to which file, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

impl Operation {
    /// Whether a file is the main file of the session, or one that was changed.
    pub fn touches(&self, path: &Path) -> bool {
        self.file == path || self.changed(path)
    }

    /// Whether a file was changed.
    pub fn changed(&self, path: &Path) -> bool {
        self.steps.iter().any(|step| step.path == path)
    }
}

/// How far an operation came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// It was begun; whether it ended, the files tell.
    Begun,
    /// All of it was done.
    Done,
    /// It failed, and what was done of it was taken back.
    Failed,
}

/// What an operation did to one file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// The file, symbolic links followed.
    #[serde(with = "lines::path")]
    pub path: PathBuf,
    /// What was done.
    pub kind: StepKind,
    /// The file before; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<State>,
    /// The file after; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<State>,
    /// The backup of what is no more: the whole old file, or the bytes that were cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// The folders that were made for the file, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "lines::paths")]
    pub folders: Vec<PathBuf>,
    /// The first bytes of an append, as hex digits: by them a piece of it is known again if the program was ended inside the write.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub head: String,
    /// The file beside this one that has the old content for a moment while the two trade names.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "lines::maybe_path")]
    pub temp: Option<PathBuf>,
}

impl Step {
    /// A step of which nothing more is known.
    pub(super) fn new(path: &Path, kind: StepKind) -> Step {
        let path = path.to_owned();
        Step {
            path,
            kind,
            before: None,
            after: None,
            backup: None,
            folders: Vec::new(),
            head: String::new(),
            temp: None,
        }
    }
}

/// The kinds of [`Step`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// Bytes were put behind the last.
    Append,
    /// The last bytes were cut off.
    Cut,
    /// The file was made anew.
    Replace,
    /// The file was made.
    Create,
    /// The file was taken away.
    Remove,
}

/// What is known of a file at one time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct State {
    /// Its length.
    pub bytes: u64,
    /// The time of its last change, in nanoseconds since 1970.
    pub mtime: i64,
    /// Its mode.
    pub mode: u32,
    /// The SHA-256 of its last 4096 bytes.
    pub tail: String,
    /// The SHA-256 of all of it, where it was read anyway; of an append, of the bytes that came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// How many of the last bytes of a file its state knows.
const TAIL: u64 = 4096;

impl State {
    /// The state of an open file.
    pub(super) fn of(file: &File) -> io::Result<State> {
        let facts = file.metadata()?;
        let len = facts.len();
        let tail = stamp::read_at(file, len.saturating_sub(TAIL), len.min(TAIL) as usize)?;
        Ok(State {
            bytes: len,
            mtime: stamp::mtime(&facts),
            mode: std::os::unix::fs::MetadataExt::mode(&facts) & 0o7777,
            tail: hex(&Sha256::digest(&tail)),
            sha256: None,
        })
    }
}

/// The SHA-256 of a stretch of a file.
pub(super) fn hash_of(file: &File, at: u64, len: u64) -> io::Result<String> {
    sys::compare()?;
    let mut hash = Sha256::new();
    stamp::each_block(file, at, len, |block| {
        hash.update(block);
        Ok(())
    })?;
    Ok(hex(&hash.finalize()))
}

/// Bytes as hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a handle is one on the file that has these facts.
fn same_file(file: &File, there: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
}

/// The operation log of a user.
#[derive(Clone, Debug)]
pub struct Log {
    folder: PathBuf,
}

/// A backup, as `op log` and `op prune` show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Backup {
    /// Its hash.
    pub hash: String,
    /// Where it is.
    pub path: PathBuf,
    /// How large it is.
    pub bytes: u64,
    /// When it was needed last, as far as its file tells.
    pub modified: Time,
}

#[cfg(test)]
thread_local! {
    /// The log of the user in tests of what a command writes.
    static OF_TEST: std::cell::RefCell<Option<Log>> = const { std::cell::RefCell::new(None) };
}

impl Log {
    /// The log in a folder, which need not be there yet.
    pub fn at(folder: impl Into<PathBuf>) -> Log {
        Log { folder: folder.into() }
    }

    /// The log of the user: `$XDG_STATE_HOME/bough`, or `~/.local/state/bough`.
    pub fn of_user() -> Option<Log> {
        #[cfg(test)]
        if let Some(log) = OF_TEST.with_borrow(Option::clone) {
            return Some(log);
        }
        let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let state = state.or_else(|| {
            let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
            Some(home.join(".local/state"))
        })?;
        Some(Log::at(state.join("bough")))
    }

    /// Runs something for which this is the log of the user.
    #[cfg(test)]
    pub(crate) fn while_of_user<T>(&self, run: impl FnOnce() -> T) -> T {
        OF_TEST.set(Some(self.clone()));
        let result = run();
        OF_TEST.set(None);
        result
    }

    /// The folder of the log and its backups.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of the log.
    pub fn file(&self) -> PathBuf {
        self.folder.join("operations.jsonl")
    }

    /// Reads the log from its end.
    pub fn reader(&self) -> io::Result<Reader> {
        Reader::open(&self.file())
    }

    /// All operations. Lines that can't be read are counted.
    pub fn operations(&self) -> io::Result<Operations> {
        let mut reader = self.reader()?;
        let mut list = Vec::new();
        while let Some(operation) = reader.next()? {
            list.push(operation);
        }
        list.reverse();
        Ok(Operations { list, unread: reader.unread() })
    }

    /// The last operation that touched a file, failed ones left out.
    pub fn last_on(&self, path: &Path) -> io::Result<Option<Operation>> {
        self.last(|operation| operation.touches(path))
    }

    /// The last operation that changed a file itself, failed ones left out. Looks no further back than a time.
    pub fn last_change_of(&self, path: &Path, since: Time) -> io::Result<Option<Operation>> {
        let mut reader = self.reader()?;
        while let Some(operation) = reader.next()? {
            let time = crate::model::parse_time(operation.time.as_bytes());
            let set =
                |step: &Step| step.after.as_ref().is_some_and(|after| after.mtime / 1_000_000 >= since.0);
            if time.is_some() && time.0 < since.0 && !operation.steps.iter().any(set) {
                break;
            }
            if operation.state != Progress::Failed && operation.changed(path) {
                return Ok(Some(operation));
            }
        }
        Ok(None)
    }

    fn last(&self, wanted: impl Fn(&Operation) -> bool) -> io::Result<Option<Operation>> {
        let mut reader = self.reader()?;
        while let Some(operation) = reader.next()? {
            if operation.state != Progress::Failed && wanted(&operation) {
                return Ok(Some(operation));
            }
        }
        Ok(None)
    }

    /// The operations that others take back, each with the one that does.
    pub fn undone(operations: &[Operation]) -> HashMap<&str, &Operation> {
        let mut undone: HashMap<&str, &Operation> = HashMap::new();
        // The newest first: what takes back an undo was made later than it.
        for operation in operations.iter().rev().filter(|operation| operation.state != Progress::Failed) {
            if let Some(target) = &operation.undoes
                && operation.only.is_none()
                && !undone.contains_key(operation.op_id.as_str())
            {
                undone.insert(target, operation);
            }
        }
        undone
    }

    /// The position of a session before its last switch: `None` where nothing moved it yet, `Some(None)` where it
    /// stood before the first entry.
    pub fn position_before(&self, path: &Path) -> io::Result<Option<Option<String>>> {
        let last = self.last(|operation| operation.moved && operation.file == path)?;
        Ok(last.map(|operation| operation.from))
    }

    /// Says that this process writes, until the file is dropped: what it has not finished is not cleaned up. `None` if
    /// there is no place to say so.
    pub(super) fn enter(&self) -> Option<File> {
        let file = self.writers().ok()?;
        file.lock_shared().ok()?;
        Some(file)
    }

    /// Keeps others from writing, until the file is dropped; `None` while another process writes.
    pub fn alone(&self) -> io::Result<Option<File>> {
        let file = self.writers()?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Some(file))
            }
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether another process is writing, so that its unfinished files are not left over.
    pub fn is_in_use(&self) -> bool {
        let file = steps::open(&self.folder.join("writers"));
        file.is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)))
    }

    fn writers(&self) -> io::Result<File> {
        self.make_folder(&self.folder)?;
        OpenOptions::new().read(true).append(true).create(true).open(self.folder.join("writers"))
    }

    /// Puts lines into the log. With `sync`, they are on the disk after that.
    pub(super) fn put(&self, lines: &[Line<'_>], sync: bool) -> io::Result<()> {
        let mut bytes = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut bytes, line)?;
            bytes.push(b'\n');
        }
        let (file, len) = self.locked()?;
        let written = sys::write(&file, &bytes).and_then(|()| if sync { sys::sync(&file) } else { Ok(()) });
        if written.is_err() {
            // Nobody else writes while we have the lock: what is after `len` is ours.
            let _ = file.set_len(len);
        } else if len == 0 {
            let _ = sys::sync_folder(&self.folder);
            let _ = sys::sync_folder_of(&self.folder);
        }
        written
    }

    /// The log, locked, and its length; a line that was cut off at its end is gone.
    fn locked(&self) -> io::Result<(File, u64)> {
        self.make_folder(&self.folder)?;
        let path = self.file();
        match super::refuse_pipe(&path) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Err(error),
            _ => {}
        }
        let file = loop {
            let file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
            super::write::guard::lock(&file, Instant::now())?;
            // Whoever had the lock may have put another file in its place.
            if fs::metadata(&path).is_ok_and(|there| same_file(&file, &there)) {
                break file;
            }
        };
        let len = file.metadata()?.len();
        let whole = reader::whole_lines(&file, len)?;
        if whole < len {
            let last = stamp::read_at(&file, whole, (len - whole) as usize)?;
            if serde_json::from_slice::<Line<'_>>(&last).is_ok() {
                sys::write(&file, b"\n")?;
                return Ok((file, len + 1));
            }
            sys::cut(&file, whole)?;
        }
        Ok((file, whole))
    }

    /// Makes the log anew without the operations that `drops` names. Lines that can't be read stay, unless they are no JSON.
    ///
    /// Returns how many bytes shorter it is. Nobody else may write meanwhile: see [`Log::alone`].
    pub fn shorten(&self, drops: &HashSet<String>) -> io::Result<u64> {
        if !self.file().exists() {
            return Ok(0);
        }
        let (file, len) = self.locked()?;
        let mut new = temp::Temp::new(&self.file(), 0o600)?;
        let mut buffer = Vec::new();
        let mut kept = 0;
        reader::each_line(&file, len, |line| {
            if reader::is_kept(line, drops) {
                buffer.extend_from_slice(line);
                buffer.push(b'\n');
                kept += line.len() as u64 + 1;
            }
            if buffer.len() > 1 << 16 {
                sys::write(new.file()?, &buffer)?;
                buffer.clear();
            }
            Ok(())
        })?;
        if kept == len {
            return Ok(0);
        }
        sys::write(new.file()?, &buffer)?;
        sys::sync(new.file()?)?;
        sys::rename(new.path(), &self.file())?;
        new.is_gone();
        let _ = sys::sync_folder(&self.folder);
        Ok(len - kept)
    }

    /// Backs up a stretch of a file; gives its hash. A content that is there already is not copied again.
    ///
    /// With `sync`, the backup is on the disk after that; else [`Log::sync_backups`] must follow.
    pub(super) fn back_up(&self, file: &File, at: u64, len: u64, sync: bool) -> io::Result<String> {
        let backups = self.folder.join("backups");
        self.make_folder(&backups)?;
        let mut copy =
            temp::Temp::named(backups.join(format!("new-{}", uuid::Uuid::new_v4().simple())), 0o600)?;
        let mut hash = Sha256::new();
        stamp::each_block(file, at, len, |block| {
            hash.update(block);
            sys::write(copy.file()?, block)
        })?;
        let hash = hex(&hash.finalize());
        let path = self.backup(&hash);
        if let Ok(there) = File::open(&path)
            && there.metadata().is_ok_and(|facts| facts.len() == len)
        {
            // It is needed anew: one that is long unused may be removed.
            let _ = there.set_modified(SystemTime::now());
            return Ok(hash);
        }
        if sync {
            sys::sync(copy.file()?)?;
        }
        let folder = sys::folder_of(&path);
        let is_new = !folder.exists();
        self.make_folder(folder)?;
        sys::rename(copy.path(), &path)?;
        copy.is_gone();
        if sync {
            let _ = sys::sync_folder(folder);
            if is_new {
                let _ = sys::sync_folder(&backups);
            }
        }
        Ok(hash)
    }

    /// Brings backups to the disk that were made without.
    pub(super) fn sync_backups(&self, hashes: &[&str]) -> io::Result<()> {
        if sys::sync_all_in(&self.folder)? {
            return Ok(());
        }
        for hash in hashes {
            let path = self.backup(hash);
            sys::sync(&File::open(&path)?)?;
            let _ = sys::sync_folder_of(&path);
        }
        let _ = sys::sync_folder(&self.folder.join("backups"));
        Ok(())
    }

    /// Where a backup is, or would be.
    pub fn backup(&self, hash: &str) -> PathBuf {
        let (first, rest) = hash.split_at_checked(2).unwrap_or(("", hash));
        self.folder.join("backups").join(first).join(rest)
    }

    /// All backups, in no order.
    pub fn backups(&self) -> io::Result<Vec<Backup>> {
        let mut out = Vec::new();
        let folders = match fs::read_dir(self.folder.join("backups")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(out),
            other => other?,
        };
        for folder in folders {
            let folder = folder?;
            // Files here are copies that were not finished: see `leftovers`.
            if !folder.file_type()?.is_dir() {
                continue;
            }
            for file in fs::read_dir(folder.path())? {
                let file = file?;
                let hash = folder.file_name().into_string().unwrap_or_default()
                    + &file.file_name().into_string().unwrap_or_default();
                let facts = file.metadata()?;
                let modified = Time(stamp::mtime(&facts) / 1_000_000);
                out.push(Backup { hash, path: file.path(), bytes: facts.len(), modified });
            }
        }
        Ok(out)
    }

    /// What programs that were ended left in the folder of the log: backups and side files that were not finished.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let mut out = temp::leftovers(&self.folder);
        out.extend(temp::leftovers(&self.folder.join("aside")));
        for file in fs::read_dir(self.folder.join("backups")).into_iter().flatten().flatten() {
            if file.file_name().as_encoded_bytes().starts_with(b"new-") {
                out.push(file.path());
            }
        }
        out
    }

    /// The side files of repairs, with their sizes.
    pub fn side_files(&self) -> Vec<(PathBuf, u64)> {
        let files = fs::read_dir(self.folder.join("aside")).into_iter().flatten().flatten();
        files
            .filter(|file| !file.file_name().as_encoded_bytes().starts_with(b"."))
            .filter_map(|file| Some((file.path(), file.metadata().ok()?.len())))
            .collect()
    }

    /// Takes a backup away.
    pub fn drop_backup(&self, backup: &Backup) -> io::Result<()> {
        sys::remove(&backup.path)
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        // What is backed up is as private as the sessions are.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }
}
