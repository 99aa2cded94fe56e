use crate::fsck;
use crate::ops;
use crate::store;
use crate::ui::{Look, Ui, unwritten};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

/// The exit status of the program: the table of `bough-exit-codes(7)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Exit {
    /// Done, clean, equal.
    Done = 0,
    /// The honest no: findings left, differences, nothing found.
    No = 1,
    /// The command line is not understood.
    Usage = 2,
    /// The file can't be read as a session.
    Unreadable = 3,
    /// The session or the revision is not there, or could be several.
    NotFound = 4,
    /// Refused: not safe, or the format has no place for it.
    Refused = 5,
    /// The system refused: I/O or permission.
    Io = 6,
    /// A bug in bough.
    Bug = 70,
    /// Interrupted.
    Interrupted = 130,
}

/// A failure that belongs to the command line itself.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// No session was named, and there is none for this folder.
    #[error("no session given, and no agent has one for the current folder")]
    NoSession,
    /// No session was named, and its agent goes on with none of those of this folder.
    #[error("no session given, and the agent's `--continue` opens none of the current folder: {} is passed over because {why}", path.display())]
    NoneContinued {
        /// The newest of them.
        path: PathBuf,
        /// Why the agent passes over it.
        why: &'static str,
    },
    /// No session was named, and the one that the agent goes on with is empty.
    #[error("{}: the file is empty, but it is the newest session of the current folder, which the agent would continue", path.display())]
    EmptyNewest {
        /// The file.
        path: PathBuf,
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
            Failure::NoSession | Failure::NoneContinued { .. } => Exit::NotFound,
            Failure::EmptyNewest { .. } => Exit::Unreadable,
            Failure::Usage { .. } => Exit::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Failure::NoSession => {
                Some("give a file, or one of the sessions that `bough sessions --all` lists".into())
            }
            Failure::NoneContinued { .. } => {
                Some("`bough sessions` lists them; give one as FILE or with `-s ID`".into())
            }
            Failure::EmptyNewest { .. } => {
                Some("`bough sessions` lists the others; give one with `-s ID`".into())
            }
            Failure::Usage { hint, .. } => Some(hint.clone()).filter(|hint| !hint.is_empty()),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Failure::NoSession | Failure::NoneContinued { .. } => "not-found",
            Failure::EmptyNewest { .. } => "empty",
            Failure::Usage { .. } => "usage",
        }
    }
}

/// The exit status of an error, its kind as one word for `--json`, and what the user can do.
fn judge(error: &anyhow::Error) -> (Exit, &'static str, Option<String>) {
    if let Some(error) = error.downcast_ref::<Failure>() {
        return (error.exit(), error.kind(), error.hint());
    }
    if let Some(error) = error.downcast_ref::<store::Error>() {
        let (exit, kind) = match error {
            store::Error::NotFound { .. } => (Exit::NotFound, "not-found"),
            store::Error::IsFolder { .. } => (Exit::NotFound, "is-folder"),
            store::Error::Empty { .. } => (Exit::Unreadable, "empty"),
            store::Error::UnknownFormat { .. } => (Exit::Unreadable, "unknown-format"),
            store::Error::NoneInFolder { .. }
            | store::Error::NoSession { .. }
            | store::Error::Lost { .. } => (Exit::NotFound, "not-found"),
            store::Error::SeveralSessions { .. } => (Exit::NotFound, "ambiguous"),
            store::Error::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => (Exit::Io, "permission"),
                _ => (Exit::Io, "io"),
            },
        };
        return (exit, kind, error.hint());
    }
    let place = error.downcast_ref().and_then(|refusal| match refusal {
        ops::cherry_pick::Refusal::Place(error) => Some(error),
        _ => None,
    });
    if let Some(error) = error.downcast_ref::<ops::Error>().or(place) {
        let (exit, kind) = match error {
            ops::Error::NoRevision { .. } | ops::Error::Unresolved { .. } | ops::Error::NoHead { .. } => {
                (Exit::NotFound, "not-found")
            }
            ops::Error::Ambiguous { .. } => (Exit::NotFound, "ambiguous"),
            ops::Error::Malformed { .. } | ops::Error::BadLabel { .. } => (Exit::Usage, "usage"),
            ops::Error::ReadOnly { .. } => (Exit::Refused, "read-only"),
            ops::Error::NoPlace { .. } | ops::Error::Taken { .. } => (Exit::Refused, "refused"),
            ops::Error::Io(_) => (Exit::Io, "io"),
        };
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

/// The same of what kept bough from writing.
fn judge_refusal(refusal: &store::write::Refusal) -> (Exit, &'static str, Option<String>) {
    use store::write::Refusal;
    let (exit, kind) = match refusal {
        Refusal::NoSuchOperation { .. } | Refusal::NothingToUndo { .. } => (Exit::NotFound, "not-found"),
        Refusal::AmbiguousOperation { .. } => (Exit::NotFound, "ambiguous"),
        Refusal::Alive { .. } | Refusal::Locked { .. } => (Exit::Refused, "alive"),
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

/// Says on standard error what went wrong, and ends the output; gives the exit status.
pub(crate) fn report(error: &anyhow::Error, ui: &mut Ui) -> Exit {
    let exit = say(error, ui);
    let _ = ui.finish();
    exit
}

/// Says on standard error what went wrong; gives the exit status.
pub(crate) fn say(error: &anyhow::Error, ui: &mut Ui) -> Exit {
    if reader_is_gone(error) {
        let _ = ui.finish();
        return Exit::Done;
    }
    let (exit, kind, hint) = judge(error);
    let message = words(error);
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

/// What went wrong with some of several files. It keeps no other from being worked on.
#[derive(Default)]
pub(crate) struct Failures {
    worst: Option<Exit>,
    /// How many files are no sessions that nobody named: beside sessions a folder holds files of all sorts.
    pub(crate) no_sessions: usize,
}

impl Failures {
    /// Says what went wrong with a file. `is_named` says whether it was named itself, and not only a folder that it is in.
    ///
    /// Gives the error back where it ends the work, since nobody reads any more what is written.
    pub(crate) fn add(&mut self, error: anyhow::Error, is_named: bool, ui: &mut Ui) -> anyhow::Result<()> {
        if reader_is_gone(&error) {
            return Err(error);
        }
        match error.downcast_ref::<store::Error>() {
            Some(error) if !is_named && error.is_no_session() => self.no_sessions += 1,
            // It was taken away since the folder was looked at.
            Some(store::Error::NotFound { .. }) if !is_named => {}
            _ => {
                let exit = say(&error, ui);
                self.worst = self.worst.filter(|worst| *worst as u8 >= exit as u8).or(Some(exit));
            }
        }
        Ok(())
    }

    /// Whether nothing went wrong.
    pub(crate) fn is_empty(&self) -> bool {
        self.worst.is_none()
    }

    /// The exit status of the worst that went wrong, else the one that is given.
    pub(crate) fn or(&self, exit: Exit) -> Exit {
        self.worst.unwrap_or(exit)
    }
}

/// Whether an error is that nobody reads any more what is written: no error to the user, and the end of the work.
pub(crate) fn reader_is_gone(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// An error with what it came from, each said once: some have the words of their cause in their own.
fn words(error: &anyhow::Error) -> String {
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

/// An error as one object, for `--json`.
fn object(kind: &str, message: &str, hint: Option<&str>) -> serde_json::Value {
    let mut object = serde_json::json!({ "kind": kind, "message": message });
    if let Some(hint) = hint {
        object["hint"] = hint.into();
    }
    serde_json::json!({ "error": object })
}

/// Whether `--json` stands among the words of a command line, for when they can't be parsed.
pub(crate) fn wants_json(words: &[OsString]) -> bool {
    words.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

/// Says what is wrong with a command line, or gives the help that it asks for; gives the exit status.
pub(crate) fn usage(error: &clap::Error, json: bool) -> Exit {
    if !error.use_stderr() {
        // Help, or the version.
        return match error.print().and_then(|()| io::stdout().flush()) {
            Ok(()) => Exit::Done,
            Err(error) => {
                let look = Look { json, ..Look::default() };
                say(&unwritten(error).into(), &mut Ui::standard(look))
            }
        };
    }
    if !json {
        // A word of the command line may be the name of a file, and that may hold anything.
        let is_safe = std::env::args_os().all(|word| word.to_str().is_some_and(crate::ui::text::is_safe));
        let _ = match is_safe {
            true => error.print(),
            false => write!(io::stderr(), "{}", crate::ui::text::safe(&error.to_string())),
        };
        return Exit::Usage;
    }
    // The words that clap has for a person: what is wrong, then paragraphs with tips and the usage.
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

/// Has a panic told as other errors are, as the bug that it is, and the program end with the exit status for it.
pub fn tell_bugs() {
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
        // Not by the macros, which panic where standard error is closed.
        let mut err = io::stderr();
        let _ = if wants_json(&words) {
            writeln!(err, "{}", object("bug", &message, Some(hint)))
        } else {
            writeln!(err, "error: {message}\nhint: {hint}")
        };
        std::process::exit(i32::from(Exit::Bug as u8));
    }));
}
