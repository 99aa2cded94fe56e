//! Reasons for not writing to a file, with hints. What one command refuses is in its module of
//! [`crate::ops`].

use super::Signs;
use super::guard::Holder;
use crate::model::Count;
use std::io;
use std::path::{Path, PathBuf};

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The session was read from standard input.
    #[error("can't write to standard input")]
    Stdin,
    /// An agent seems to be using the session.
    #[error("{}: {}", path.display(), signs.phrase())]
    Alive {
        /// The file.
        path: PathBuf,
        /// The sign of that.
        signs: Signs,
    },
    /// Another program has the file open for writing for so long that it can't be replaced, although the
    /// user allows to write to a session that is in use.
    #[error(
        "{}: is still open for writing in {} after {}; it was not replaced", path.display(),
        Holder::name_of(holder.as_ref()), Count("second", "seconds", *seconds as usize)
    )]
    HeldOpen {
        /// The file.
        path: PathBuf,
        /// The process, if it can be found.
        holder: Option<Holder>,
        /// How long it was waited for, in seconds.
        seconds: u64,
    },
    /// Another program holds a lock on the file.
    #[error("{}: is locked by another program", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file has changed since it was read.
    #[error("{}: changed since it was read; nothing was written", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The last line is truncated.
    #[error("{}: the last line is truncated (at byte {offset}); refusing to append", path.display())]
    Torn {
        /// The file.
        path: PathBuf,
        /// Where the last line begins.
        offset: u64,
    },
    /// A file already exists where a new one should be created.
    #[error("{}: already exists", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The path exists but is not a regular file.
    #[error("{}: is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The user has no folder in which to record the operation.
    #[error("there is no folder for the operation log and the backups")]
    NoPlace,
    /// The bytes to cut off can't be backed up, and the old file can't be kept beside the new one.
    #[error("{}: the bytes that would be cut off can't be backed up", path.display())]
    NoBackup {
        /// The file.
        path: PathBuf,
    },
    /// The file has other hard links, which would keep the old content.
    #[error("{}: has {}, which would keep the old contents", path.display(), Count("other hard link", "other hard links", *others))]
    HardLinked {
        /// The file.
        path: PathBuf,
        /// How many other hard links it has.
        others: usize,
    },
    /// The new file would not belong to the owner of the old one.
    #[error("{}: belongs to another user, and bough can't create a file for that user", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
    },
    /// The new content failed verification.
    #[error("{}: {why}; the old file was not changed", path.display())]
    Unproved {
        /// The file.
        path: PathBuf,
        /// What is wrong with the new content.
        why: String,
    },
    /// The operation can't be recorded.
    #[error("{}: the operation log can't be written: {source}", path.display())]
    NoRecord {
        /// The folder of the log.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The file has changed since the operation.
    #[error("{}: changed since operation {op} ({command})", path.display())]
    MovedOn {
        /// The file.
        path: PathBuf,
        /// The operation that should be undone.
        op: String,
        /// Its command.
        command: String,
        /// Whether the operation made the file, so that an undo removes it.
        made: bool,
        /// How many bytes were appended since, if nothing else changed.
        grew: Option<u64>,
        /// The entry that HEAD was on, if the operation moved it, and if its id is a plain word, as words for `bough switch`.
        back: Option<Box<str>>,
    },
    /// The file has another path since the operation.
    #[error("{}: was moved since, to {}", path.display(), to.display())]
    MovedAway {
        /// The file.
        path: PathBuf,
        /// Where it is.
        to: PathBuf,
        /// The operation that moved it.
        op: String,
    },
    /// The content that the operation removed is no longer kept.
    #[error("the backup of operation {op} is missing")]
    BackupGone {
        /// The operation.
        op: String,
    },
    /// There is nothing to undo.
    #[error("there is nothing to undo{}", path.as_ref().map(|path| format!(" on {}", path.display())).unwrap_or_default())]
    NothingToUndo {
        /// The session, if one was given.
        path: Option<PathBuf>,
    },
    /// There is nothing to do again.
    #[error("there is nothing to redo{}", path.as_ref().map(|path| format!(" on {}", path.display())).unwrap_or_default())]
    NothingToRedo {
        /// The session, where one was named.
        path: Option<PathBuf>,
        /// The last undo, if there is one that something else came after.
        before: Option<String>,
        /// The entry that HEAD was on before that undo, if it moved HEAD, as words for `bough switch`.
        back: Option<Box<str>>,
    },
    /// No operation has this id.
    #[error("no operation `{op}` in the log")]
    NoSuchOperation {
        /// The argument.
        op: String,
    },
    /// The argument is a prefix of several operation ids.
    #[error("`{op}` is a prefix of {}", Count("operation id", "operation ids", *count))]
    AmbiguousOperation {
        /// The argument.
        op: String,
        /// How many.
        count: usize,
    },
    /// The operation was already undone.
    #[error("operation {op} was already undone by {by}")]
    UndoneAlready {
        /// The operation.
        op: String,
        /// The operation that undid it.
        by: String,
    },
    /// The operation failed, and some of the files that it had already changed could not be
    /// restored.
    #[error("{why}; {} could not be restored", shown(files))]
    NotTakenBack {
        /// Why the operation failed.
        why: String,
        /// The files that are not in their old state.
        files: Vec<PathBuf>,
        /// The operation, if a log contains the data to undo it.
        op: Option<String>,
    },
    /// Standard output can't be written.
    #[error("{0}")]
    Output(io::Error),
    /// The system reported an error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl Refusal {
    pub(super) fn io(path: &Path, source: io::Error) -> Refusal {
        Refusal::Io { path: path.to_owned(), source }
    }

    /// Returns whether it was reported by the system, and not by bough.
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

    /// Returns what happened, without the consequences for the files.
    pub(super) fn reason(&self) -> String {
        match self {
            Refusal::Changed { path } => format!("{}: changed since it was read", path.display()),
            Refusal::Unproved { path, why } => format!("{}: {why}", path.display()),
            other => other.to_string(),
        }
    }

    /// Returns what the user can do, if anything.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Refusal::Stdin => "pass the session file by name".into(),
            Refusal::Alive { signs: Signs::Open(_), .. } => {
                "end the agent first, or use `--allow=live` to write anyway; lines that the agent appends \
                 meanwhile are kept"
                    .into()
            }
            Refusal::Alive { signs: Signs::Fresh, .. } => {
                "wait until the agent is done: `--wait=SECONDS` waits longer, `--allow=live` writes anyway"
                    .into()
            }
            Refusal::Alive { .. } => "end the agent first, or write anyway with `--allow=live`".into(),
            Refusal::HeldOpen { holder, .. } => {
                let it = if holder.is_some() { "that process" } else { "that program" };
                format!("end {it} first, or let bough wait longer for it with `--wait=SECONDS`")
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
            Refusal::MovedOn { made: true, command, .. } if command == "move" => {
                "`bough move` from the new folder to the old one keeps what was added since".into()
            }
            Refusal::MovedOn { made: true, .. } => {
                "`--force` removes the file with what was added since, and keeps a backup; `bough op log` lists \
                 the operations before it, which `bough undo OP` undoes alone"
                    .into()
            }
            Refusal::MovedOn { back: Some(back), .. } => format!(
                "`bough switch {back}` moves HEAD back, and keeps what was added since; `--force` undoes anyway, and \
                 keeps a backup"
            ),
            Refusal::MovedOn { grew: Some(_), command, .. } if command == "label" => {
                "`bough label -d NAME` deletes the label, and keeps what was added since; `--force` undoes anyway, and \
                 keeps a backup"
                    .into()
            }
            Refusal::MovedOn { grew: Some(grew), .. } => format!(
                "`--force` undoes anyway; the {} added since are kept as a backup, and `bough redo` \
                 restores them",
                Count("byte", "bytes", usize::try_from(*grew).unwrap_or(usize::MAX)),
            ),
            Refusal::MovedOn { grew: None, .. } => {
                "`--force` undoes anyway if there is a backup; `bough redo` restores the present file".into()
            }
            Refusal::MovedAway { op, .. } => format!("`bough undo {op}` undoes the move, which must come first"),
            Refusal::NothingToRedo { back: Some(back), .. } => {
                format!("another operation came after the last undo; `bough switch {back}` moves HEAD there again")
            }
            Refusal::NothingToRedo { before: Some(op), .. } => {
                format!("another operation came after the last undo; `bough undo {op}` takes that back nevertheless")
            }
            Refusal::NothingToUndo { .. }
            | Refusal::NothingToRedo { .. }
            | Refusal::NoSuchOperation { .. } => "`bough op log` lists the operations".into(),
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
