//! The operation log: what bough changed, and how to undo it.
//!
//! `$XDG_STATE_HOME/bough` contains `operations.jsonl`, with lines of constant size: one when an
//! operation begins, one before each step, one when it ended; and `backups/`, with files named by
//! the SHA-256 of their content. An append is recorded by the old length and the hash of the new
//! bytes; only removed or replaced bytes are backed up. Lines are on the disk before the file
//! changes. The log is read from its end, so that its length costs nothing.

mod backups;
pub(super) mod lines;
mod reader;

pub use backups::Backup;
pub use reader::{Operations, Reader};

use super::lock::Lock;
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
use std::time::Instant;

/// One change that bough made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// Its id.
    pub op_id: String,
    /// The time, as ISO 8601 in UTC.
    pub time: String,
    /// The command.
    pub command: String,
    /// What it did to what, after the command: `` `done` on 5675f6ad ``; empty if the command and the files
    /// say all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The main file of the session.
    #[serde(with = "lines::path")]
    pub file: PathBuf,
    /// The format of the session.
    pub format: String,
    /// How far it got.
    pub state: Progress,
    /// The id of the entry that HEAD was on before, if the operation moved HEAD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The id of the entry that HEAD was moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whether it moved HEAD at all: `from` and `to` may both be before the first entry.
    #[serde(default)]
    pub moved: bool,
    /// The operation that it undoes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// The only file for which it undoes that operation.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "lines::maybe_path")]
    pub only: Option<PathBuf>,
    /// The changes to files, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

impl Operation {
    /// Returns whether a file is the main file of the session, or was changed.
    pub fn touches(&self, path: &Path) -> bool {
        self.file == path || self.changed(path)
    }

    /// Returns whether a file was changed.
    pub fn changed(&self, path: &Path) -> bool {
        self.steps.iter().any(|step| step.path == path)
    }
}

/// Follows a file through the operations, from the newest to the oldest: also to those from before `move` gave it its
/// path.
#[derive(Clone, Debug)]
pub struct Trail {
    path: PathBuf,
}

impl Trail {
    /// Begins at the path that a file has now, with symbolic links resolved.
    pub fn new(path: PathBuf) -> Trail {
        Trail { path }
    }

    /// Returns the path that the file had after the next operation.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the next operation is about the file.
    pub fn meets(&mut self, operation: &Operation) -> bool {
        let is_met = operation.touches(&self.path);
        let came = operation.steps.iter().find(|step| step.base.as_deref() == Some(&self.path));
        if let Some(step) = came.filter(|_| operation.state != Progress::Failed) {
            self.path.clone_from(&step.path);
        }
        is_met
    }
}

/// How far an operation got.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// It began; whether it ended can be seen only in the files.
    Begun,
    /// It was completed.
    Done,
    /// It failed and was rolled back.
    Failed,
}

/// The change of an operation to one file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// The file, with symbolic links resolved.
    #[serde(with = "lines::path")]
    pub path: PathBuf,
    /// The kind of change.
    pub kind: StepKind,
    /// The file before; absent if it did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<State>,
    /// The file after; absent if it does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<State>,
    /// The backup of lost content: the whole old file, or the bytes that were cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// The folders that were created for the file, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "lines::paths")]
    pub folders: Vec<PathBuf>,
    /// The first bytes of an append, as hex digits. They identify a piece of it if the program was
    /// killed during the write.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub head: String,
    /// The file beside this one that contains the old content for a moment while the two swap
    /// names.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "lines::maybe_path")]
    pub temp: Option<PathBuf>,
    /// The file that has the content now, if this one was moved: the backup is a patch of it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "lines::maybe_path")]
    pub base: Option<PathBuf>,
    /// The folders that were removed after the file because they were empty, the innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emptied: Vec<Emptied>,
}

/// A folder that an operation removed because it was empty.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Emptied {
    /// The folder.
    #[serde(with = "lines::path")]
    pub path: PathBuf,
    /// Its mode.
    pub mode: u32,
}

impl Step {
    /// Creates a step without further data.
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
            base: None,
            emptied: Vec::new(),
        }
    }
}

/// The kinds of [`Step`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// Bytes were appended.
    Append,
    /// The last bytes were cut off.
    Cut,
    /// The file was rewritten.
    Replace,
    /// The file was created.
    Create,
    /// The file was removed.
    Remove,
}

/// The state of a file at one time.
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
    /// The SHA-256 of the whole file, if it was read anyway; for an append, of the new bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// How many of the last bytes of a file are recorded in its state.
const TAIL: u64 = 4096;

impl State {
    /// Returns the state of an open file.
    pub(super) fn read(file: &File) -> io::Result<State> {
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

/// Returns the SHA-256 of a range of a file.
pub(super) fn hash_of(file: &File, at: u64, len: u64) -> io::Result<String> {
    sys::compare()?;
    let mut hash = Sha256::new();
    stamp::each_block(file, at, len, |block| {
        hash.update(block);
        Ok(())
    })?;
    Ok(hex(&hash.finalize()))
}

/// Returns bytes as hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns whether a handle refers to the file with this metadata.
fn same_file(file: &File, there: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
}

/// The operation log of a user.
#[derive(Clone, Debug)]
pub struct Log {
    folder: PathBuf,
}

#[cfg(test)]
thread_local! {
    /// Replaces the log of the user in tests.
    static OF_TEST: std::cell::RefCell<Option<Log>> = const { std::cell::RefCell::new(None) };
}

impl Log {
    /// Returns the log in a folder, which may not exist yet.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Log {
        Log { folder: folder.into() }
    }

    /// Returns the log of the user: `$XDG_STATE_HOME/bough`, or `~/.local/state/bough`.
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
        Some(Log::in_folder(state.join("bough")))
    }

    /// Runs a function with this as the log of the user.
    #[cfg(test)]
    pub(crate) fn while_of_user<T>(&self, run: impl FnOnce() -> T) -> T {
        OF_TEST.set(Some(self.clone()));
        let result = run();
        OF_TEST.set(None);
        result
    }

    /// Returns the folder of the log and its backups.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the file of the log.
    pub fn file(&self) -> PathBuf {
        self.folder.join("operations.jsonl")
    }

    /// Reads the log from its end.
    pub fn reader(&self) -> io::Result<Reader> {
        Reader::open(&self.file())
    }

    /// Returns all operations. Unreadable lines are counted.
    pub fn operations(&self) -> io::Result<Operations> {
        let mut reader = self.reader()?;
        let mut list = Vec::new();
        while let Some(operation) = reader.next()? {
            list.push(operation);
        }
        list.reverse();
        Ok(Operations { list, unread: reader.unread() })
    }

    /// Returns the last operation, an undo or not, ignoring failed ones.
    pub fn newest(&self) -> io::Result<Option<Operation>> {
        self.last(|_| true)
    }

    /// Returns the last operation that touched a file, ignoring failed ones.
    pub fn last_on(&self, path: &Path) -> io::Result<Option<Operation>> {
        self.last(|operation| operation.touches(path))
    }

    /// Returns the last operation that changed a file itself, ignoring failed ones. Searches no
    /// further back than `since`.
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

    fn last(&self, mut wanted: impl FnMut(&Operation) -> bool) -> io::Result<Option<Operation>> {
        let mut reader = self.reader()?;
        while let Some(operation) = reader.next()? {
            if operation.state != Progress::Failed && wanted(&operation) {
                return Ok(Some(operation));
            }
        }
        Ok(None)
    }

    /// Returns the undone operations, each with the one that undid it.
    pub fn undone(operations: &[Operation]) -> HashMap<&str, &Operation> {
        let mut undone: HashMap<&str, &Operation> = HashMap::new();
        // Newest first: the undo of an undo is later than the undo.
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

    /// Returns HEAD of a session before its last switch: `None` if nothing has moved it yet,
    /// `Some(None)` if it was before the first entry. A move from a place to which `leads` says no
    /// is passed over.
    pub fn position_before(
        &self,
        path: &Path,
        leads: impl Fn(Option<&str>) -> bool,
    ) -> io::Result<Option<Option<String>>> {
        let mut trail = Trail::new(path.to_owned());
        let last = self.last(|operation| {
            let is_of_file = operation.file == trail.path();
            trail.meets(operation);
            operation.moved && is_of_file && leads(operation.from.as_deref())
        })?;
        Ok(last.map(|operation| operation.from))
    }

    /// Declares that this process is writing until the returned lock is dropped, so that its
    /// unfinished work is not cleaned up. Returns `None` if there is no place to declare it.
    pub(in crate::store) fn enter(&self) -> Option<Lock> {
        Lock::shared(self.writers().ok()?).ok()
    }

    /// Keeps others from writing until the returned lock is dropped. Returns `None` while another
    /// process is writing.
    pub fn lock_out_writers(&self) -> io::Result<Option<Lock>> {
        Lock::try_alone(self.writers()?)
    }

    /// Returns whether another process is writing, so that its unfinished files are not leftovers.
    pub fn is_in_use(&self) -> bool {
        let file = steps::open(&self.folder.join("writers"));
        file.is_ok_and(|file| matches!(Lock::try_alone(file), Ok(None)))
    }

    /// Records a folder in which a new file is left unfinished if the program is killed. Creating
    /// such a file is no operation.
    pub(in crate::store) fn note_folder_of_new_file(&self, folder: &Path) {
        let Ok(folder) = fs::canonicalize(folder) else { return };
        // Only cleaning up needs it.
        let _ = self.append(&[Line::Folder { op_id: "new-file".into(), folder }], false);
    }

    fn writers(&self) -> io::Result<File> {
        self.make_folder(&self.folder)?;
        OpenOptions::new().read(true).append(true).create(true).open(self.folder.join("writers"))
    }

    /// Appends lines to the log. With `sync`, they are on the disk afterwards.
    pub(super) fn append(&self, lines: &[Line<'_>], sync: bool) -> io::Result<()> {
        let mut bytes = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut bytes, line)?;
            bytes.push(b'\n');
        }
        let (file, len) = self.locked()?;
        let written = sys::write(&file, &bytes).and_then(|()| if sync { sys::sync(&file) } else { Ok(()) });
        if written.is_err() {
            // Nobody else writes while this process has the lock: anything after `len` is its own.
            let _ = file.set_len(len);
        } else if len == 0 {
            let _ = sys::sync_folder(&self.folder);
            let _ = sys::sync_folder_of(&self.folder);
        }
        written
    }

    /// Locks the log, and returns it with its length; a truncated line at its end is removed.
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
            // The previous holder of the lock may have replaced the file.
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

    /// Rewrites the log without the operations in `drops`. Unreadable lines are kept, unless they
    /// are not JSON.
    ///
    /// Returns how many bytes shorter it is. Nobody else may write in the meantime: see
    /// [`Log::lock_out_writers`].
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

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        // Backups are as private as the sessions.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }
}
