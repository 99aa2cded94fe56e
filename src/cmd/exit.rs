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
    /// No session was named, and none could be taken.
    #[error("no session is named")]
    NoSession,
}

impl Failure {
    fn exit(&self) -> Exit {
        match self {
            Failure::NoSession => Exit::NotFound,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Failure::NoSession => Some("name a file, or set `BOUGH_SESSION`".into()),
        }
    }
}

/// The exit status of an error, its kind as one word for `--json`, and what the user can do.
fn judge(error: &anyhow::Error) -> (Exit, &'static str, Option<String>) {
    if let Some(error) = error.downcast_ref::<Failure>() {
        return (error.exit(), "not-found", error.hint());
    }
    if let Some(error) = error.downcast_ref::<store::Error>() {
        let (exit, kind) = match error {
            store::Error::NotFound { .. } => (Exit::NotFound, "not-found"),
            store::Error::IsFolder { .. } => (Exit::NotFound, "is-folder"),
            store::Error::Empty { .. } => (Exit::Unreadable, "empty"),
            store::Error::UnknownFormat { .. } => (Exit::Unreadable, "unknown-format"),
            store::Error::Io { .. } => (Exit::Io, "io"),
        };
        return (exit, kind, error.hint());
    }
    if error.downcast_ref::<io::Error>().is_some() {
        return (Exit::Io, "io", None);
    }
    (Exit::Bug, "bug", None)
}

/// Says on standard error what went wrong; gives the exit status.
pub(super) fn report(error: &anyhow::Error, ui: &mut Ui) -> Exit {
    if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
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
    let _ = ui.finish();
    exit
}
