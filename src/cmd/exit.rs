use crate::fsck;
use crate::ops;
use crate::store;
use crate::ui::Ui;
use std::io;

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
    #[error("no session is named, and no agent has one for this folder")]
    NoSession,
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
            Failure::NoSession => Exit::NotFound,
            Failure::Usage { .. } => Exit::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Failure::NoSession => Some("name a file, or one of `bough sessions --all`".into()),
            Failure::Usage { hint, .. } => Some(hint.clone()).filter(|hint| !hint.is_empty()),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Failure::NoSession => "not-found",
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
            store::Error::NoneInFolder { .. } | store::Error::NoSession { .. } => {
                (Exit::NotFound, "not-found")
            }
            store::Error::SeveralSessions { .. } => (Exit::NotFound, "ambiguous"),
            store::Error::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => (Exit::Io, "permission"),
                _ => (Exit::Io, "io"),
            },
        };
        return (exit, kind, error.hint());
    }
    let place = error.downcast_ref().and_then(|refusal| match refusal {
        ops::pick::Refusal::Place(error) => Some(error),
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
    if let Some(refusal) = error.downcast_ref::<ops::pick::Refusal>() {
        return match refusal {
            ops::pick::Refusal::Io(_) => (Exit::Io, "io", None),
            refusal => (Exit::Refused, "refused", refusal.hint()),
        };
    }
    if let Some(error) = error.downcast_ref::<fsck::NoRepair>() {
        return match error {
            fsck::NoRepair::Unproven { .. } => (Exit::Refused, "unproven", error.hint()),
            fsck::NoRepair::ReadOnly => (Exit::Refused, "read-only", error.hint()),
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
        refusal if refusal.is_io() => (Exit::Io, "io"),
        _ => (Exit::Refused, "refused"),
    };
    (exit, kind, refusal.hint())
}

/// Says on standard error what went wrong, and ends the output; gives the exit status.
pub(super) fn report(error: &anyhow::Error, ui: &mut Ui) -> Exit {
    let exit = say(error, ui);
    let _ = ui.finish();
    exit
}

/// Says on standard error what went wrong; gives the exit status.
pub(super) fn say(error: &anyhow::Error, ui: &mut Ui) -> Exit {
    if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        let _ = ui.finish();
        return Exit::Done;
    }
    let (exit, kind, hint) = judge(error);
    let message = format!("{error:#}");
    if ui.look.json {
        let mut object = serde_json::json!({ "kind": kind, "message": message });
        if let Some(hint) = hint {
            object["hint"] = hint.into();
        }
        ui.note(serde_json::json!({ "error": object }));
    } else {
        ui.note(format_args!("error: {}", crate::ui::text::safe(&message)));
        if let Some(hint) = hint {
            ui.hint(hint);
        }
    }
    exit
}
