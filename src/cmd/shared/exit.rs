//! Exit statuses, and how errors are reported.

use super::rows;
use crate::fsck;
use crate::ops;
use crate::store;
use crate::ui::{Look, Ui, unwritten};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

/// The exit status of the program: the table of `bough-exit-codes(7)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Exit {
    /// Done, clean, equal.
    Done = 0,
    /// A negative result: findings left, differences, nothing found.
    No = 1,
    /// The command line is invalid.
    Usage = 2,
    /// The file can't be read as a session.
    Unreadable = 3,
    /// The session or the revision does not exist, or is ambiguous.
    NotFound = 4,
    /// Refused: unsafe, or impossible in the format.
    Refused = 5,
    /// The system reported an error: I/O or permission.
    Io = 6,
    /// A bug in bough.
    Bug = 70,
    /// Interrupted.
    Interrupted = 130,
}

/// An error in the command line itself.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// No session was given, and there is none for this folder.
    #[error("no session given, and no agent has one for the current folder")]
    NoSession,
    /// No session was given, and the agent would continue none of those of this folder.
    #[error("no session given, and the agent's `--continue` opens none of the current folder: it skips {} because {why}", path.display())]
    NoneContinued {
        /// The newest of them.
        path: PathBuf,
        /// Why the agent skips it.
        why: &'static str,
    },
    /// No session was given, and the one that the agent would continue is empty.
    #[error("{}: the file is empty, but it is the newest session of the current folder, which the agent would continue", path.display())]
    EmptyNewest {
        /// The file.
        path: PathBuf,
    },
    /// A change that would do harm, found before it was written.
    #[error("nothing was written: {0}")]
    Unproven(String),
    /// A word that names nothing.
    #[error("{what}")]
    NotFound {
        /// Which word, and what it does not name.
        what: String,
        /// What the user can do.
        hint: String,
    },
    /// What was asked for would not be safe.
    #[error("{what}")]
    Refused {
        /// What is in the way.
        what: String,
        /// What the user can do.
        hint: String,
    },
    /// A command line that says two things at once, or not enough.
    #[error("{what}")]
    Usage {
        /// What is wrong with it.
        what: String,
        /// What the user can do.
        hint: String,
    },
}

impl Failure {
    fn exit(&self) -> Exit {
        match self {
            Failure::NoSession | Failure::NoneContinued { .. } | Failure::NotFound { .. } => Exit::NotFound,
            Failure::EmptyNewest { .. } => Exit::Unreadable,
            Failure::Unproven(_) => Exit::Refused,
            Failure::Usage { .. } => Exit::Usage,
            Failure::Refused { .. } => Exit::Refused,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Failure::NoSession => {
                if let Some(hint) = super::session_arg::moved_hint() {
                    return Some(hint);
                }
                Some("give a file, or one of the sessions that `bough sessions --all` lists".into())
            }
            Failure::NoneContinued { .. } => {
                Some("`bough sessions` lists them; give one as FILE or with `-s ID`".into())
            }
            Failure::EmptyNewest { .. } => {
                Some("`bough sessions` lists the others; give one with `-s ID`".into())
            }
            Failure::Unproven(_) => None,
            Failure::Usage { hint, .. } | Failure::NotFound { hint, .. } | Failure::Refused { hint, .. } => {
                Some(hint.clone()).filter(|hint| !hint.is_empty())
            }
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Failure::NoSession | Failure::NoneContinued { .. } | Failure::NotFound { .. } => "not-found",
            Failure::EmptyNewest { .. } => "empty",
            Failure::Unproven(_) => "unproven",
            Failure::Usage { .. } => "usage",
            Failure::Refused { .. } => "refused",
        }
    }
}

/// Returns the exit status of an error, its kind as one word for `--json`, and what the user can
/// do.
fn exit_of(error: &anyhow::Error) -> (Exit, &'static str, Option<String>) {
    if let Some(error) = error.downcast_ref::<Failure>() {
        return (error.exit(), error.kind(), error.hint());
    }
    if let Some(error) = error.downcast_ref::<store::Error>() {
        let (exit, kind) = judge_store_error(error);
        let hint = match error {
            store::Error::SeveralSessions { candidates, .. } => {
                Some(store::one_of(candidates, &super::session_arg::told_apart))
            }
            error => error.hint(),
        };
        return (exit, kind, hint);
    }
    let place = error.downcast_ref().and_then(|refusal| match refusal {
        ops::cherry_pick::Refusal::Place(error) => Some(error),
        _ => None,
    });
    if let Some(error) = error.downcast_ref::<ops::Error>().or(place) {
        let (exit, kind) = judge_error(error);
        return (exit, kind, error.hint());
    }
    if let Some(refusal) = error.downcast_ref::<store::write::Refusal>() {
        return judge_refusal(refusal);
    }
    if let Some(refusal) = error.downcast_ref::<ops::cherry_pick::Refusal>() {
        return match refusal {
            ops::cherry_pick::Refusal::Io(_) => (Exit::Io, "io", None),
            refusal => (Exit::Refused, "refused", refusal.hint()),
        };
    }
    if let Some(error) = error.downcast_ref::<fsck::NoRepair>() {
        return match error {
            fsck::NoRepair::Unproven { .. } => (Exit::Refused, "unproven", error.hint()),
            fsck::NoRepair::ReadOnly | fsck::NoRepair::Foreign(_) => {
                (Exit::Refused, "read-only", error.hint())
            }
            fsck::NoRepair::Io(_) => (Exit::Io, "io", None),
        };
    }
    if error.downcast_ref::<io::Error>().is_some() {
        return (Exit::Io, "io", None);
    }
    (Exit::Bug, "bug", None)
}

/// Returns the exit status and the kind of an error about a file.
fn judge_store_error(error: &store::Error) -> (Exit, &'static str) {
    match error {
        store::Error::NotFound { .. } => (Exit::NotFound, "not-found"),
        store::Error::IsFolder { .. } => (Exit::NotFound, "is-folder"),
        store::Error::Unlisted { .. } => (Exit::Io, "io"),
        store::Error::Empty { .. } => (Exit::Unreadable, "empty"),
        store::Error::UnknownFormat { .. } => (Exit::Unreadable, "unknown-format"),
        store::Error::NoneInFolder { .. } | store::Error::NoSession { .. } | store::Error::Lost { .. } => {
            (Exit::NotFound, "not-found")
        }
        store::Error::SeveralSessions { .. } => (Exit::NotFound, "ambiguous"),
        store::Error::Io { source, .. } => match source.kind() {
            io::ErrorKind::PermissionDenied => (Exit::Io, "permission"),
            _ => (Exit::Io, "io"),
        },
    }
}

/// Returns the exit status and the kind of an error about the content of a session.
fn judge_error(error: &ops::Error) -> (Exit, &'static str) {
    match error {
        ops::Error::NoRevision { .. } | ops::Error::Unresolved { .. } | ops::Error::NoHead { .. } => {
            (Exit::NotFound, "not-found")
        }
        ops::Error::Ambiguous { .. } => (Exit::NotFound, "ambiguous"),
        ops::Error::Malformed { .. } | ops::Error::BadLabel { .. } => (Exit::Usage, "usage"),
        ops::Error::ReadOnly { .. } => (Exit::Refused, "read-only"),
        ops::Error::NoPlace { .. } | ops::Error::Taken { .. } | ops::Error::Labeled { .. } => {
            (Exit::Refused, "refused")
        }
        ops::Error::Io(_) => (Exit::Io, "io"),
    }
}

/// Does the same as [`exit_of`] for a refusal to write.
fn judge_refusal(refusal: &store::write::Refusal) -> (Exit, &'static str, Option<String>) {
    use store::write::Refusal;
    let (exit, kind) = match refusal {
        Refusal::NoSuchOperation { .. } | Refusal::NothingToUndo { .. } | Refusal::NothingToRedo { .. } => {
            (Exit::NotFound, "not-found")
        }
        Refusal::AmbiguousOperation { .. } => (Exit::NotFound, "ambiguous"),
        Refusal::Alive { .. } | Refusal::HeldOpen { .. } | Refusal::Locked { .. } => (Exit::Refused, "alive"),
        Refusal::Changed { .. } | Refusal::MovedOn { .. } => (Exit::Refused, "changed"),
        Refusal::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            (Exit::Io, "permission")
        }
        Refusal::Owner { .. } => (Exit::Io, "permission"),
        refusal if refusal.is_io() => (Exit::Io, "io"),
        _ => (Exit::Refused, "refused"),
    };
    (exit, kind, refusal.hint())
}

/// Reports an error on standard error, and ends the output; returns the exit status.
pub(crate) fn report(error: &anyhow::Error, ui: &mut Ui) -> Exit {
    let exit = print_error(error, ui);
    let _ = ui.finish();
    exit
}

/// Reports an error on standard error; returns the exit status.
pub(crate) fn print_error(error: &anyhow::Error, ui: &mut Ui) -> Exit {
    if reader_is_gone(error) {
        let _ = ui.finish();
        return Exit::Done;
    }
    let (exit, kind, hint) = exit_of(error);
    let message = message(error);
    if ui.look.json {
        ui.note(object(kind, &message, hint.as_deref()));
    } else {
        ui.note(format_args!("error: {}", crate::ui::text::safe(&message)));
        if let Some(hint) = hint {
            ui.hint(crate::ui::text::safe(&hint));
        }
    }
    exit
}

/// Errors about some of several files. They do not keep the others from being processed.
#[derive(Default)]
pub(crate) struct Failures {
    worst: Option<Exit>,
    /// The files that nobody named and that are not sessions: a folder with sessions may contain
    /// any other files.
    pub(crate) not_sessions: Vec<PathBuf>,
}

impl Failures {
    /// Reports an error about a file. `is_named` says whether the file itself was named, and not
    /// only a folder that contains it.
    ///
    /// Returns the error if it ends the work because nobody reads the output any more.
    pub(crate) fn add(&mut self, error: anyhow::Error, is_named: bool, ui: &mut Ui) -> anyhow::Result<()> {
        if reader_is_gone(&error) {
            return Err(error);
        }
        let error = match error.downcast_ref::<store::Error>() {
            // Nobody named it: it is among the files because it could not be listed.
            Some(store::Error::IsFolder { path }) if !is_named => {
                store::Error::Unlisted { path: path.clone() }.into()
            }
            _ => error,
        };
        let store_error = error.downcast_ref::<store::Error>();
        if let Some(path) = store_error.filter(|_| !is_named).and_then(store::Error::not_a_session) {
            self.not_sessions.push(path.to_owned());
            return Ok(());
        }
        match store_error {
            // It was removed after the folder was listed.
            Some(store::Error::NotFound { .. }) if !is_named => {}
            _ => {
                let exit = print_error(&error, ui);
                self.worst = self.worst.filter(|worst| *worst as u8 >= exit as u8).or(Some(exit));
            }
        }
        Ok(())
    }

    /// Returns whether there was no error.
    pub(crate) fn is_empty(&self) -> bool {
        self.worst.is_none()
    }

    /// Returns the exit status of the worst error, or else `exit`.
    pub(crate) fn or(&self, exit: Exit) -> Exit {
        self.worst.unwrap_or(exit)
    }
}

/// Returns whether an error means that nobody reads the output any more: not an error for the user,
/// but the end of the work.
pub(crate) fn reader_is_gone(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Returns an error with its causes, without repetition: some errors include the text of their
/// cause.
fn message(error: &anyhow::Error) -> String {
    let mut out = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if out.is_empty() {
            out = cause;
        } else if !out.ends_with(&cause) {
            out.push_str(": ");
            out.push_str(&cause);
        }
    }
    out
}

/// Returns an error as one object, for `--json`.
fn object(kind: &str, message: &str, hint: Option<&str>) -> String {
    rows::to_json(&ErrorRow { error: ErrorFields { kind, message, hint } })
}

/// An error, on standard error, with --json.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename = "error")]
pub(crate) struct ErrorRow<'a> {
    /// The error.
    error: ErrorFields<'a>,
}

/// The error.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ErrorFields<'a> {
    /// What it is, in one word: `usage`, `not-found`, `ambiguous`, `unknown-format`, `empty`, `refused`,
    /// `alive`, `changed`, `read-only`, `io`, `permission`, `bug`, and others.
    kind: &'a str,
    /// What happened.
    message: &'a str,
    /// What can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

/// Returns whether `--json` is among the words of a command line, for command lines that can't be
/// parsed.
pub(crate) fn wants_json(words: &[OsString]) -> bool {
    words.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

/// Reports an error in a command line, or prints the help that it asks for; returns the exit
/// status.
pub(crate) fn usage(error: &clap::Error, json: bool) -> Exit {
    if !error.use_stderr() {
        // Help, or the version.
        return match error.print().and_then(|()| io::stdout().flush()) {
            Ok(()) => Exit::Done,
            Err(error) => {
                let look = Look { json, ..Look::default() };
                print_error(&unwritten(error).into(), &mut Ui::standard(look))
            }
        };
    }
    if !json {
        // A word of the command line may be the name of a file, which may contain anything.
        let is_safe = std::env::args_os().all(|word| word.to_str().is_some_and(crate::ui::text::is_safe));
        let _ = match is_safe {
            true => error.print(),
            false => write!(io::stderr(), "{}", crate::ui::text::safe(&error.to_string())),
        };
        return Exit::Usage;
    }
    // The text that clap has for people: the error, then paragraphs with tips and the usage.
    let words = error.to_string();
    let mut paragraphs = words.split("\n\n").map(str::trim);
    let message = paragraphs.next().unwrap_or_default().trim_start_matches("error: ");
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let hint = paragraphs.find(|paragraph| paragraph.starts_with("tip: ")).map_or_else(
        || "`--help` after the command shows its arguments".to_owned(),
        |tips| tips.lines().map(|tip| tip.trim().trim_start_matches("tip: ")).collect::<Vec<_>>().join("; "),
    );
    let _ = writeln!(io::stderr(), "{}", object("usage", &message, Some(&hint)));
    Exit::Usage
}

/// Has panics reported like other errors, as bugs, and with the exit status for bugs.
pub fn report_bugs() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let words = payload.downcast_ref::<&str>().copied();
        let what =
            words.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words");
        let place =
            panic.location().map(|place| format!(" ({}:{})", place.file(), place.line())).unwrap_or_default();
        let message = format!("a bug in bough: {what}{place}");
        let hint = "please report it with these words and the command; `bough op log` tells whether anything was written";
        let words: Vec<OsString> = std::env::args_os().collect();
        // Not with the macros, which panic if standard error is closed.
        let mut err = io::stderr();
        let _ = if wants_json(&words) {
            writeln!(err, "{}", object("bug", &message, Some(hint)))
        } else {
            writeln!(err, "error: {message}\nhint: {hint}")
        };
        std::process::exit(i32::from(Exit::Bug as u8));
    }));
}
