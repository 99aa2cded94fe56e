use super::Signs;
use crate::model::Count;
use std::io;
use std::path::{Path, PathBuf};

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The session was read from standard input.
    #[error("can't write to standard input")]
    Stdin,
    /// An agent seems to be at work on the session.
    #[error("{}: {}", path.display(), signs.words())]
    Alive {
        /// The file.
        path: PathBuf,
        /// What told.
        signs: Signs,
    },
    /// Another program holds a lock on the file.
    #[error("{}: is locked by another program", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file is not as it was when it was read.
    #[error("{}: changed since it was read; nothing was written", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The last line is cut off.
    #[error("{}: the last line is truncated (at byte {offset}); refusing to append", path.display())]
    Torn {
        /// The file.
        path: PathBuf,
        /// Where the last line begins.
        offset: u64,
    },
    /// A file stands where a new one is to be made.
    #[error("{}: already exists", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// What stands at the path is not a regular file.
    #[error("{}: is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The user has no folder in which the operation could be recorded.
    #[error("there is no folder for the operation log and the backups")]
    NoPlace,
    /// What would be cut off the file can't be backed up, and the old file can't be kept beside it.
    #[error("{}: what would be cut off can't be backed up", path.display())]
    NoBackup {
        /// The file.
        path: PathBuf,
    },
    /// The file has other names, which would keep the old content.
    #[error("{}: has {}, which would keep the old contents", path.display(), Count("other hard link", "other hard links", *others))]
    HardLinked {
        /// The file.
        path: PathBuf,
        /// How many other names it has.
        others: usize,
    },
    /// The new file would not belong to the owner of the old one.
    #[error("{}: belongs to another user, and bough can't create a file for that user", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
    },
    /// What was to be written did not stand the proof.
    #[error("{}: {why}; the old file was not changed", path.display())]
    Unproved {
        /// The file.
        path: PathBuf,
        /// What was wrong with the new content.
        why: String,
    },
    /// The operation can't be recorded.
    #[error("{}: the operation log can't be written: {source}", path.display())]
    NoRecord {
        /// The folder of the log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not as the operation left it.
    #[error("{}: changed since operation {op}", path.display())]
    MovedOn {
        /// The file.
        path: PathBuf,
        /// The operation that was to be taken back.
        op: String,
        /// Bytes that came since, where nothing but that happened.
        grew: Option<u64>,
    },
    /// What the operation took away is not kept any more.
    #[error("the backup of operation {op} is missing")]
    BackupGone {
        /// The operation.
        op: String,
    },
    /// There is nothing to take back.
    #[error("there is nothing to undo{}", path.as_ref().map(|path| format!(" on {}", path.display())).unwrap_or_default())]
    NothingToUndo {
        /// The session, where one was named.
        path: Option<PathBuf>,
    },
    /// No operation has this id.
    #[error("no operation `{op}` in the log")]
    NoSuchOperation {
        /// What was asked for.
        op: String,
    },
    /// An id begins several operations.
    #[error("`{op}` begins {}", Count("operation id", "operation ids", *count))]
    AmbiguousOperation {
        /// What was asked for.
        op: String,
        /// How many.
        count: usize,
    },
    /// The operation was taken back before.
    #[error("operation {op} was already undone by {by}")]
    UndoneAlready {
        /// The operation.
        op: String,
        /// The operation that took it back.
        by: String,
    },
    /// The operation failed, and files that it had changed by then could not be put back.
    #[error("{why}; {} could not be restored", shown(files))]
    NotTakenBack {
        /// Why the operation failed.
        why: String,
        /// The files that are not as they were.
        files: Vec<PathBuf>,
        /// The operation, where there is a log that knows what is needed to take it back.
        op: Option<String>,
    },
    /// Standard output can't be written.
    #[error("{0}")]
    Output(io::Error),
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Refusal {
    pub(super) fn io(path: &Path, source: io::Error) -> Refusal {
        Refusal::Io { path: path.to_owned(), source }
    }

    /// Whether it is the system that refused, and not bough.
    pub fn is_io(&self) -> bool {
        matches!(
            self,
            Refusal::Io { .. }
                | Refusal::Output(_)
                | Refusal::NoRecord { .. }
                | Refusal::NoPlace
                | Refusal::NoBackup { .. }
                | Refusal::NotTakenBack { .. }
        )
    }

    /// What happened, without a word of what became of the files.
    pub(super) fn reason(&self) -> String {
        match self {
            Refusal::Changed { path } => format!("{}: changed since it was read", path.display()),
            Refusal::Unproved { path, why } => format!("{}: {why}", path.display()),
            other => other.to_string(),
        }
    }

    /// What the user can do, if anything.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Refusal::Stdin => "pass the session file by name".into(),
            Refusal::Alive { signs: Signs::Open, .. } => {
                "end the agent first, or use `--allow=live` to write anyway; lines that the agent appends \
                 meanwhile are kept"
                    .into()
            }
            Refusal::Alive { .. } => {
                "end the agent first, or write anyway with `--allow=live` or `--force`".into()
            }
            Refusal::NotAFile { .. } => "pass a file".into(),
            Refusal::NoPlace => {
                "set `HOME` or `XDG_STATE_HOME` to the absolute path of a folder; `--force` writes without \
                 the operation log"
                    .into()
            }
            Refusal::Locked { .. } => "wait until the other program has finished".into(),
            Refusal::Changed { .. } => "an agent may be using it; try again later".into(),
            Refusal::Torn { path, .. } => {
                let path = path.display().to_string();
                let word = shlex::try_quote(&path).unwrap_or((&*path).into());
                format!(
                    "repair it with `bough fsck --repair {word}`, or start a new line with `--allow=truncated`"
                )
            }
            Refusal::Exists { .. } => "`--allow=overwrite` replaces it".into(),
            Refusal::HardLinked { .. } => "`--allow=hardlink` writes anyway, and breaks the link".into(),
            Refusal::Owner { .. } => "run bough as the owner of the file".into(),
            Refusal::NoBackup { .. } => "make the folder of the operation log writable".into(),
            Refusal::NoRecord { .. } => {
                "set `XDG_STATE_HOME` to a writable folder; `--force` writes without the operation log".into()
            }
            Refusal::MovedOn { grew: Some(grew), .. } => format!(
                "`--force` undoes anyway; the {} added since are kept as a backup, and another undo \
                 restores them",
                Count("byte", "bytes", usize::try_from(*grew).unwrap_or(usize::MAX)),
            ),
            Refusal::MovedOn { grew: None, .. } => {
                "`--force` undoes anyway if there is a backup; another undo restores the present file".into()
            }
            Refusal::NothingToUndo { .. } | Refusal::NoSuchOperation { .. } => {
                "`bough op log` lists the operations".into()
            }
            Refusal::AmbiguousOperation { .. } => {
                "use a longer prefix; `bough op log` lists the operations".into()
            }
            Refusal::NotTakenBack { op: Some(op), .. } => {
                format!("`bough undo {op}` undoes the rest of the operation")
            }
            Refusal::UndoneAlready { by, .. } => format!("`bough undo {by}` redoes it"),
            Refusal::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "this user can't write to the file or its folder; nothing was changed".into()
            }
            Refusal::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "the disk is full; nothing was changed".into()
            }
            Refusal::Io { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                "the file system is read-only; nothing was changed".into()
            }
            Refusal::BackupGone { .. }
            | Refusal::NotTakenBack { op: None, .. }
            | Refusal::Unproved { .. }
            | Refusal::Output(_)
            | Refusal::Io { .. } => return None,
        })
    }
}

fn shown(files: &[PathBuf]) -> String {
    files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
