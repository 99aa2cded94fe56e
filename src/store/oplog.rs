//! The operation log: what bough changed, and what it takes to change it back.
//!
//! In `$XDG_STATE_HOME/bough`: `operations.jsonl`, one line when an operation begins and one when it ended, the
//! later counts; and `backups/`, files named by the SHA-256 of their content. An append is recorded by the length
//! before and the hash of what came; only what is taken away or put in the place of something is backed up.

use super::write::stamp;
use super::write::sys;
use crate::model::Time;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// One change that bough made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// `bough.op/1`
    pub schema: String,
    /// Its id.
    pub op_id: String,
    /// When, as ISO 8601 in UTC.
    pub time: String,
    /// The verb.
    pub command: String,
    /// The main file of the session.
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
    /// What was done to which file, in order.
    pub steps: Vec<Step>,
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
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

    /// Whether a file is as it was: its length, and its last bytes.
    pub(super) fn looks_like(&self, other: &State) -> bool {
        (self.bytes, &self.tail) == (other.bytes, &other.tail)
    }
}

/// The SHA-256 of a stretch of a file.
pub(super) fn hash_of(file: &File, at: u64, len: u64) -> io::Result<String> {
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

/// What stands in the log.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Operations {
    /// The operations that can be read, oldest first.
    pub list: Vec<Operation>,
    /// How many lines can't be read: they are damaged, or another version wrote them.
    pub unread: usize,
}

impl Log {
    /// The log in a folder, which need not be there yet.
    pub fn at(folder: impl Into<PathBuf>) -> Log {
        Log { folder: folder.into() }
    }

    /// The log of the user: `$XDG_STATE_HOME/bough`, or `~/.local/state/bough`.
    pub fn of_user() -> Option<Log> {
        let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let state = state.or_else(|| {
            let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
            Some(home.join(".local/state"))
        })?;
        Some(Log::at(state.join("bough")))
    }

    /// The folder of the log and its backups.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of the log.
    pub fn file(&self) -> PathBuf {
        self.folder.join("operations.jsonl")
    }

    /// All operations. Lines that can't be read are counted.
    pub fn operations(&self) -> io::Result<Operations> {
        let mut all = Operations::default();
        let out = &mut all.list;
        let mut at: HashMap<String, usize> = HashMap::new();
        for line in self.text()?.split(|byte| *byte == b'\n') {
            let Ok(operation) = serde_json::from_slice::<Operation>(line) else {
                all.unread += usize::from(!line.trim_ascii().is_empty());
                continue;
            };
            // Ids were shorter once, and two operations of one second could have the same: what begins behind the end
            // of another is not that one.
            let goes_on =
                |known: &Operation| known.state == Progress::Begun || operation.state != Progress::Begun;
            match at.get(&operation.op_id) {
                Some(known) if goes_on(&out[*known]) => out[*known] = operation,
                _ => {
                    at.insert(operation.op_id.clone(), out.len());
                    out.push(operation);
                }
            }
        }
        Ok(all)
    }

    /// The last operation that touched a file, failed ones left out.
    pub fn last_on(&self, path: &Path) -> io::Result<Option<Operation>> {
        self.last(path, |operation| {
            operation.file == path || operation.steps.iter().any(|step| step.path == path)
        })
    }

    /// The last operation that changed a file itself, failed ones left out.
    pub fn last_change_of(&self, path: &Path) -> io::Result<Option<Operation>> {
        self.last(path, |operation| operation.steps.iter().any(|step| step.path == path))
    }

    /// The last operation of those that name a file. Reads the log from its end; parses no lines of other files.
    fn last(&self, path: &Path, wanted: impl Fn(&Operation) -> bool) -> io::Result<Option<Operation>> {
        let text = self.text()?;
        let Ok(name) = serde_json::to_string(&path) else { return Ok(None) };
        let finder = memchr::memmem::Finder::new(name.as_bytes());
        let mut failed = Vec::new();
        for line in text.rsplit(|byte| *byte == b'\n').filter(|line| finder.find(line).is_some()) {
            let Ok(operation) = serde_json::from_slice::<Operation>(line) else { continue };
            if operation.state == Progress::Failed {
                failed.push(operation.op_id);
            } else if !failed.contains(&operation.op_id) && wanted(&operation) {
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
        let last = self.last(path, |operation| operation.moved && operation.file == path)?;
        Ok(last.map(|operation| operation.from))
    }

    fn text(&self) -> io::Result<Vec<u8>> {
        match fs::read(self.file()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other,
        }
    }

    /// Puts a line into the log.
    pub(super) fn put(&self, operation: &Operation) -> io::Result<()> {
        let mut line = Vec::new();
        self.make_folder(&self.folder)?;
        let file = OpenOptions::new().read(true).append(true).create(true).open(self.file())?;
        super::write::guard::lock(&file, Instant::now())?;
        let len = file.metadata()?.len();
        if len > 0 && stamp::read_at(&file, len - 1, 1)? != b"\n" {
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, operation)?;
        line.push(b'\n');
        sys::write(&file, &line)
    }

    /// Backs up a stretch of a file; gives its hash. A content that is there already is not copied again.
    pub(super) fn back_up(&self, file: &File, at: u64, len: u64) -> io::Result<String> {
        self.make_folder(&self.folder.join("backups"))?;
        let temp = self.folder.join("backups").join(format!("new-{}", uuid::Uuid::new_v4().simple()));
        let result = (|| {
            let copy = sys::create(&temp, 0o600)?;
            let mut hash = Sha256::new();
            stamp::each_block(file, at, len, |block| {
                hash.update(block);
                sys::write(&copy, block)
            })?;
            let hash = hex(&hash.finalize());
            let path = self.backup(&hash);
            if let Ok(there) = File::open(&path) {
                // It is needed anew: one that is long unused may be removed.
                let _ = there.set_modified(SystemTime::now());
                return Ok(hash);
            }
            sys::sync(&copy)?;
            self.make_folder(sys::folder_of(&path))?;
            sys::rename(&temp, &path)?;
            Ok(hash)
        })();
        let _ = fs::remove_file(&temp);
        result
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

    /// Takes a backup away.
    pub fn drop_backup(&self, backup: &Backup) -> io::Result<()> {
        sys::remove(&backup.path)
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        // What is backed up is as private as the sessions are.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }

    /// Reads a whole backup that is known to be small.
    pub(super) fn read_backup(&self, hash: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.backup(hash))?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
