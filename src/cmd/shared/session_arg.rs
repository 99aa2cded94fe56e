//! Which session a command works on, and opening it.

use super::options::Global;
use crate::cmd::Failure;
use crate::format::Previous;
use crate::model::{Count, Key};
use crate::ops::Whole;
use crate::store;
use crate::store::continued::{Continued, continued};
use crate::store::remains::Remains;
use crate::store::{Opened, Part, locate};
use crate::ui::{Ui, text};
use std::io;
use std::path::{Path, PathBuf};

/// Splits the words of a command into the session that the first may name, and the rest.
///
/// A word names a session if it looks like a file: `-`, `*.jsonl`, or an existing path with a
/// slash. A bare word is always a revision.
pub(crate) fn split<'w>(global: &Global, words: &'w [String]) -> (Option<&'w str>, &'w [String]) {
    match words.split_first() {
        Some((first, rest)) if global.session.is_none() && looks_like_a_file(first) => (Some(first), rest),
        _ => (None, words),
    }
}

/// Does the same for a command that writes: there a first `-` is the revision, not standard input.
pub(crate) fn split_for_writing<'w>(global: &Global, words: &'w [String]) -> (Option<&'w str>, &'w [String]) {
    match words.first() {
        Some(first) if first == "-" => (None, words),
        _ => split(global, words),
    }
}

/// Returns whether a word looks like a file.
pub(crate) fn looks_like_a_file(word: &str) -> bool {
    word == "-"
        || word.ends_with(".jsonl")
        || word.contains('/') && !word.starts_with(":/") && Path::new(word).exists()
}

/// Returns the file of the session that a command works on.
pub(crate) fn path(global: &Global, named: Option<&str>, ui: &mut Ui) -> anyhow::Result<PathBuf> {
    if let Some(word) = global.session.as_deref().or(named) {
        return by_word(global, word);
    }
    if let Some(word) = super::options::session_variable() {
        return by_word(global, &word);
    }
    let path = latest(global)?;
    if !ui.look.quiet && Ui::talks_to_a_person() {
        ui.note(format_args!("session: {}", text::one_line(&path.display().to_string())));
    }
    Ok(path)
}

/// Opens the session that a command works on, and reports on standard error how many faults it has.
pub(crate) fn session(global: &Global, named: Option<&str>, ui: &mut Ui) -> anyhow::Result<Opened> {
    let path = path(global, named, ui)?;
    let opened = by_path(global, &path)?;
    warn(&opened, ui);
    Ok(opened)
}

/// Returns an open session as the operations take it.
pub(crate) fn whole(opened: &Opened) -> Whole<'_> {
    Whole { session: &opened.session, source: &opened.files }
}

/// Opens the session of a command that searches for its faults itself, with the side columns needed
/// for that.
pub(crate) fn with_side(global: &Global, named: Option<&str>, ui: &mut Ui) -> anyhow::Result<Opened> {
    let path = path(global, named, ui)?;
    Ok(store::open(&path, store::Options { side: true, ..global.options() })?)
}

/// Opens a session, and looks up HEAD before its last switch.
pub(crate) fn by_path(global: &Global, path: &Path) -> anyhow::Result<Opened> {
    let mut opened = store::open(path, global.options())?;
    if !global.asks_back {
        return Ok(opened);
    }
    opened.session.previous = match super::after_move::position_before(&opened) {
        Ok(before) => before.flatten().map_or(Previous::Unknown, |id| Previous::At(Key::of(id.as_bytes()))),
        // Few commands need it: it is an error only for those.
        Err(error) => Previous::Unread(error.to_string()),
    };
    Ok(opened)
}

/// Opens only a part of the session that a command names, if that is enough.
pub(crate) fn part(
    global: &Global,
    named: Option<&str>,
    part: &Part<'_>,
    ui: &mut Ui,
) -> anyhow::Result<Opened> {
    let opened = store::open_part(&path(global, named, ui)?, global.options(), part)?;
    warn(&opened, ui);
    Ok(opened)
}

/// Reports remains of sessions whose own file is gone.
pub(crate) fn tell_remains(all: &[Remains], ui: &mut Ui) {
    for remains in all {
        ui.note(format_args!("warning: {}", text::one_line(&remains.words())));
    }
}

/// Reports in one line how many faults there are, and what to do.
pub(crate) fn warn(opened: &Opened, ui: &mut Ui) {
    let faults = opened.session.faults.len();
    if faults == 0 {
        return;
    }
    let place = if opened.session.partial { " near its end" } else { "" };
    let path = opened.files.path(0).display().to_string();
    ui.note(format_args!(
        "warning: {}: {}{place}; `bough fsck {}` lists them",
        text::one_line(&path),
        Count("fault", "faults", faults),
        text::shell_word(&path)
    ));
}

/// Returns the session files below a folder. A folder with sessions may contain any other files; if
/// there are several, only sessions count.
pub(crate) fn in_folder(global: &Global, folder: &Path) -> Vec<PathBuf> {
    let mut found = locate::in_folder(folder);
    if found.len() > 1 {
        found.retain(|path| may_be_session(global, path));
    }
    found
}

/// Returns whether [`in_folder`] would return several files. Reads only as many as it needs.
pub(crate) fn has_several(global: &Global, folder: &Path) -> bool {
    locate::in_folder(folder).iter().filter(|path| may_be_session(global, path)).nth(1).is_some()
}

/// Returns whether a file is a session, or can't be read, so that nobody knows.
fn may_be_session(global: &Global, path: &Path) -> bool {
    !store::glance(path, global.options()).is_err_and(|error| error.is_no_session())
}

/// Returns the session that a word names: a file, a folder with one session, `latest`, an id, a
/// prefix of one, a name.
pub(crate) fn by_word(global: &Global, word: &str) -> anyhow::Result<PathBuf> {
    let path = Path::new(word);
    // A pipe in place of a file is fine.
    if word == "-" || path.metadata().is_ok_and(|facts| !facts.is_dir()) {
        return Ok(path.to_owned());
    }
    if path.is_dir() {
        let found = in_folder(global, path);
        return match found.as_slice() {
            [only] => Ok(only.clone()),
            [] => Err(store::Error::NoneInFolder { path: path.to_owned() }.into()),
            _ => Err(store::Error::SeveralSessions { word: word.into(), candidates: found }.into()),
        };
    }
    if looks_like_a_file(word) {
        let path = path.to_owned();
        return Err(match path.metadata() {
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                store::Error::Io { path, source }
            }
            _ => store::Error::NotFound { path },
        }
        .into());
    }
    if word == "latest" {
        return latest(global);
    }
    Ok(locate::named(&locate::stores(&global.roots), word)?)
}

/// Returns the session of the current folder that the agent's own `--continue` opens: the newest in
/// all stores, except those that its agent skips.
pub(crate) fn latest(global: &Global) -> anyhow::Result<PathBuf> {
    let folder = std::env::current_dir()?;
    let mut passed_over = None;
    for found in locate::of_folder(&locate::stores(&global.roots), &folder, locate::Worktrees::LeftOut) {
        match continued(&found, global.options()) {
            Continued::Opened => return Ok(found.path),
            Continued::Empty => return Err(Failure::EmptyNewest { path: found.path }.into()),
            Continued::PassedOver(why) => _ = passed_over.get_or_insert((found.path, why)),
        }
    }
    Err(match passed_over {
        Some((path, why)) => Failure::NoneContinued { path, why },
        None => Failure::NoSession,
    }
    .into())
}
