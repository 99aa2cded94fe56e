//! Which session a command works on, and opening it.

use super::options::Global;
use super::{archived_session, time, words};
use crate::cmd::Failure;
use crate::model::Count;
use crate::ops::{Snapshot, sessions};
use crate::store;
use crate::store::archive::{Archive, is_unpacked};
use crate::store::continued::{Continued, continued};
use crate::store::project_folder::{GoneFolder, gone_beside};
use crate::store::remains::Remains;
use crate::store::{Opened, TailRequest, locate};
use crate::ui::{Progress, Ui, text};
use std::io;
use std::path::{Path, PathBuf};

/// Whether a word looks like a file.
pub(crate) fn looks_like_a_file(word: &str) -> bool {
    matches!(word, "-" | "." | "..")
        || word.ends_with(".jsonl") && !is_revision_of_file(word)
        // Exports of OpenCode, and compressed rollouts of Codex.
        || [".json", ".jsonl.zst"].iter().any(|ending| word.ends_with(ending)) && Path::new(word).is_file()
        || word.contains('/') && !word.starts_with(":/") && Path::new(word).exists()
}

/// Whether a word is `REV@FILE`, with a file that exists.
fn is_revision_of_file(word: &str) -> bool {
    let file = words::cut_session(word).map(|(_, file)| Path::new(file));
    file.is_some_and(Path::exists) && !Path::new(word).exists()
}

/// Returns the file of the session that a command works on.
pub(crate) fn path(global: &Global, named: Option<&str>, ui: &mut Ui) -> anyhow::Result<PathBuf> {
    if let Some(word) = global.session.as_deref().or(named) {
        return by_word(global, word);
    }
    let (path, is_named) = default_session(global)?;
    if !is_named {
        words::note_session(&path, ui);
    }
    Ok(path)
}

/// The session that a command uses if its words name none, and whether the environment names it.
pub(crate) fn default_session(global: &Global) -> anyhow::Result<(PathBuf, bool)> {
    match super::options::session_variable() {
        Some(word) => Ok((by_word(global, &word).map_err(of_variable)?, true)),
        None => Ok((latest(global)?, false)),
    }
}

/// Says that it is the environment that names a session which isn't there: nothing on the command line does.
fn of_variable(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(store::Error::NoSession { word }) => {
            let what = format!("no session is named `{word}`, the value of `BOUGH_SESSION`");
            Failure::NotFound { what, hint: "`unset BOUGH_SESSION`, or give it another value".into() }.into()
        }
        _ => error,
    }
}

/// Returns what a hint needs to name a session in a command: nothing if the command would use it anyway, or
/// ` -s SESSION`, as short as it is found.
pub(crate) fn in_hint(global: &Global, path: &Path) -> String {
    word_for(global, path).map_or_else(String::new, |word| format!(" -s {}", text::shell_word(&word)))
}

/// Returns the shortest word that names a session in a command; `None` if the command would use it anyway.
pub(crate) fn word_for(global: &Global, path: &Path) -> Option<String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_it = |found: &Path| real(found) == real(path);
    let is_stored =
        locate::stores(&global.roots).iter().any(|store| real(path).starts_with(real(&store.root)));
    // A session outside of all stores is the one that is meant only if the environment names it.
    if (is_stored || super::options::session_variable().is_some())
        && default_session(global).is_ok_and(|(default, _)| is_it(&default))
    {
        return None;
    }
    let here = std::env::current_dir().unwrap_or_default();
    let file = path.strip_prefix(&here).unwrap_or(path).display().to_string();
    // No id finds it, and to see that would take a look into every session.
    if !is_stored {
        return Some(file);
    }
    let id = locate::session_id(path);
    let short: String = id.chars().take(8).collect();
    let finds_it =
        |word: &&String| !looks_like_a_file(word) && named(global, word).is_ok_and(|found| is_it(&found));
    Some([&short, &id].into_iter().find(finds_it).unwrap_or(&file).clone())
}

/// Returns how to get the sessions of the current folder if it seems to have had another name.
pub(crate) fn moved_hint() -> Option<String> {
    let here = std::env::current_dir().ok()?;
    let gone = gone_beside(&locate::writable_stores(&[]), &here);
    // A folder that was there when a session was written rather had its name than one that is new.
    let certain: Vec<&GoneFolder> = gone.iter().filter(|folder| folder.was_used_since).collect();
    let (folder, premise) = match (&certain[..], &gone[..]) {
        ([folder], _) => (*folder, ""),
        ([], [folder]) => (folder, "if this folder had that name: "),
        _ => return None,
    };
    let its = Count("session", "sessions", folder.sessions);
    Some(format!(
        "{premise}`bough move {} .` takes over the {its} of that folder, which does not exist any more",
        text::shell_word(&folder.cwd)
    ))
}

/// Opens the session that a command works on, and says on standard error how many faults it has.
pub(crate) fn session(global: &Global, named: Option<&str>, ui: &mut Ui) -> anyhow::Result<Opened> {
    let path = path(global, named, ui)?;
    let opened = by_path(global, &path)?;
    warn(&opened, ui);
    Ok(opened)
}

/// From how many bytes on reading may take a second.
const SLOW: u64 = 16 << 20;

/// Returns what the ends of a session's file say of it.
fn ends_of(path: &Path) -> Option<sessions::Summary> {
    let opened = store::open_ends(path, store::Options::default()).ok()?;
    sessions::summary(&opened.session, &opened.files).ok()
}

/// Returns the name of a session, or else its first prompt, if they are near the ends of its file.
pub(crate) fn title(path: &Path) -> Option<String> {
    Some(ends_of(path)?.title().to_owned()).filter(|title| !title.is_empty())
}

/// Returns the first prompt of a session, if it is near an end of its file.
fn first_prompt(path: &Path) -> Option<String> {
    ends_of(path)?.prompt
}

/// Returns what tells a session from others of the same name: its age, and its first prompt.
pub(super) fn told_apart(path: &Path) -> Option<String> {
    const PROMPT: usize = 48;
    let age = time::age(time::of_file(path), time::now());
    let prompt = first_prompt(path).map(|prompt| text::fit(&text::one_line(&prompt), PROMPT));
    Some([age].into_iter().chain(prompt).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", "))
}

/// Starts a progress bar for reading some files.
pub(crate) fn reading<'p>(global: &Global, paths: impl IntoIterator<Item = &'p Path>) -> Progress {
    let sizes = paths.into_iter().filter_map(|path| path.metadata().ok()).map(|facts| facts.len());
    let total = sizes.sum();
    Progress::of_bytes("reading", total, store::bytes_read, global.quiet || total < SLOW)
}

/// Opens a file, with a progress bar.
pub(crate) fn open(global: &Global, path: &Path, options: store::Options) -> Result<Opened, store::Error> {
    let _progress = reading(global, [path]);
    store::open(path, options)
}

/// Returns an open session as the operations take it.
pub(crate) fn whole(opened: &Opened) -> Snapshot<'_> {
    Snapshot { session: &opened.session, source: &opened.files }
}

/// Opens the session of a command that searches for its faults itself, with the side columns needed
/// for that.
pub(crate) fn with_side(global: &Global, named: Option<&str>, ui: &mut Ui) -> anyhow::Result<Opened> {
    let path = path(global, named, ui)?;
    Ok(open(global, &path, store::Options { side: true, ..global.options() })?)
}

/// Opens the other session of a command that copies from one into another, and reports its faults.
pub(crate) fn other(global: &Global, word: &str, ui: &mut Ui) -> anyhow::Result<Opened> {
    let opened = by_path(global, &by_word(global, word)?)?;
    warn(&opened, ui);
    Ok(opened)
}

/// Opens a session, and looks up HEAD before its last switch.
pub(crate) fn by_path(global: &Global, path: &Path) -> anyhow::Result<Opened> {
    if let Some(opened) = global.opened.take(path) {
        return Ok(opened);
    }
    let mut opened = open(global, path, global.options())?;
    words::look_back(global, &mut opened);
    Ok(opened)
}

/// Opens only a part of the session that a command names, if that is enough.
pub(crate) fn part(
    global: &Global,
    named: Option<&str>,
    part: &TailRequest<'_>,
    ui: &mut Ui,
) -> anyhow::Result<Opened> {
    let path = path(global, named, ui)?;
    let progress = reading(global, [&*path]);
    let opened = store::open_part(&path, global.options(), part)?;
    drop(progress);
    warn(&opened, ui);
    Ok(opened)
}

/// Reports remains of sessions whose own file is gone.
pub(crate) fn report_remains(all: &[Remains], ui: &mut Ui) {
    for remains in all {
        ui.note(format_args!("warning: {}", text::one_line(&remains.sentence())));
    }
}

/// Says that a session is read from the archive, and reports in one line that there are faults; with what to
/// do. How many findings they are is for `fsck` to say: one may cause others.
pub(crate) fn warn(opened: &Opened, ui: &mut Ui) {
    if is_unpacked(opened.files.path(0)) && !ui.look.quiet {
        let id = locate::session_id(opened.files.path(0));
        let id = text::shell_word(&id);
        ui.note(format_args!("note: {id} is read from the archive; `bough restore {id}` puts it back"));
    }
    if opened.session.faults.is_empty() {
        return;
    }
    let place = if opened.session.partial { "near the end of" } else { "in" };
    let path = opened.files.path(0).display().to_string();
    ui.note(format_args!(
        "warning: faults {place} {}; `bough fsck {}` lists them",
        text::one_line(&path),
        text::shell_word(&path)
    ));
}

/// Reports that some of the files that were read have faults, and how to list them. `scope` is the option by
/// which they were chosen, if one was.
pub(crate) fn warn_of_files(faulty: &[PathBuf], count: usize, scope: Option<&str>, ui: &mut Ui) {
    let name = |path: &PathBuf| path.display().to_string();
    match (faulty, scope) {
        ([], _) => {}
        ([only], _) => ui.note(format_args!(
            "warning: faults in {}; `bough fsck {}` lists them",
            text::one_line(&name(only)),
            text::shell_word(&name(only))
        )),
        (several, Some(scope)) => ui.note(format_args!(
            "warning: faults in {} of {count} files; `bough fsck {scope}` lists them",
            several.len()
        )),
        (several, None) => ui.note(format_args!(
            "warning: faults in {} of {count} files; `bough fsck` lists them if it is given the same files",
            several.len()
        )),
    }
}

/// Says so if a folder is that of a project, and has files of its own that are not among them.
pub(crate) fn note_files_beside(global: &Global, folder: &Path, ui: &mut Ui) {
    if global.quiet || locate::project_at(&locate::stores(&global.roots), folder).is_none() {
        return;
    }
    let files: Vec<PathBuf> =
        locate::files_directly_in(folder).into_iter().filter(|path| path.is_file()).collect();
    let files = match &files[..] {
        [] => return,
        [only] => only.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        several => Count("file", "files", several.len()).to_string(),
    };
    ui.note(format_args!(
        "note: {} is the folder of a project, whose sessions are read; {} in it must be named",
        text::one_line(&folder.display().to_string()),
        text::one_line(&files)
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
    !store::open_ends(path, global.options()).is_err_and(|error| error.is_no_session())
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
        if locate::project_at(&locate::stores(&global.roots), path).is_some() {
            return latest_in(global, &[path.to_owned()]);
        }
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
        return latest(global).map_err(|error| match error.downcast_ref() {
            Some(Failure::NoSession) => {
                let what = "`latest`: no agent has a session for the current folder".into();
                let hint = "`bough sessions --all` lists the sessions of this machine".into();
                Failure::NotFound { what, hint }.into()
            }
            _ => error,
        });
    }
    match named(global, word) {
        Err(error @ store::Error::NoSession { .. }) => match archived(word)? {
            Some(path) => Ok(path),
            None => Ok(by_first_prompt(global, word)?.ok_or(error)?),
        },
        other => Ok(other?),
    }
}

/// Returns the session that an id or a name names. Of several, the only one of the current project is meant.
pub(crate) fn named(global: &Global, word: &str) -> Result<PathBuf, store::Error> {
    let found = locate::session_named(&locate::stores(&global.roots), word);
    match found {
        Err(store::Error::SeveralSessions { word, candidates }) => {
            only_one_here(global, &candidates).ok_or(store::Error::SeveralSessions { word, candidates })
        }
        found => found,
    }
}

/// Returns the session that the first word of a command names. A part of a name is enough only in the current project: the
/// word may be a slip for an entry, and elsewhere nobody would notice.
pub(crate) fn named_by_first_word(global: &Global, word: &str) -> Result<PathBuf, store::Error> {
    let path = named(global, word)?;
    let name = store::open_ends(&path, global.options()).ok().and_then(|opened| opened.session.name);
    let is_part = name.is_some_and(|name| name != word && name.to_lowercase().contains(&word.to_lowercase()));
    let is_elsewhere =
        || of_project(global, locate::Worktrees::LeftOut).iter().all(|found| found.path != path);
    match is_part && !locate::session_id(&path).starts_with(word) && is_elsewhere() {
        true => Err(store::Error::NoSession { word: word.into() }),
        false => Ok(path),
    }
}

/// Returns the one of several files that is a session of the current project, if it is just one.
fn only_one_here(global: &Global, candidates: &[PathBuf]) -> Option<PathBuf> {
    let here = of_project(global, locate::Worktrees::LeftOut);
    let mut here = candidates.iter().filter(|path| here.iter().any(|found| found.path == **path));
    here.next().filter(|_| here.next().is_none()).cloned()
}

/// How many characters of a first prompt name a session at least.
const PART_OF_PROMPT: usize = 4;

/// Returns the session whose first prompt contains a word, in whatever case: lists show the prompt in place of a
/// name, and of Claude Code the last prompt may be the name. Fails if there are several, and not just one of
/// the current project. Reads the ends of all files.
fn by_first_prompt(global: &Global, word: &str) -> Result<Option<PathBuf>, store::Error> {
    if word.chars().count() < PART_OF_PROMPT {
        return Ok(None);
    }
    let wanted = word.to_lowercase();
    let all = locate::stores(&global.roots).into_iter().flat_map(|store| locate::sessions(&store));
    let has_it =
        |path: &PathBuf| first_prompt(path).is_some_and(|prompt| prompt.to_lowercase().contains(&wanted));
    let candidates: Vec<PathBuf> = all.map(|found| found.path).filter(has_it).collect();
    match &candidates[..] {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        several => match only_one_here(global, several) {
            Some(path) => Ok(Some(path)),
            None => Err(store::Error::SeveralSessions { word: word.into(), candidates }),
        },
    }
}

/// Returns the file of a session of the archive that a word names, unpacked; `None` if the archive
/// has no such session, or several with different ids. Fails if several have one id, and it is not clear
/// which of them is meant.
pub(super) fn archived(word: &str) -> anyhow::Result<Option<PathBuf>> {
    let Some(archive) = Archive::of_user().filter(Archive::exists) else { return Ok(None) };
    let io = |source| store::Error::Io { path: archive.folder().to_owned(), source };
    let contents = archive.read().map_err(io)?;
    let sessions = archived_session::by_path_or_id(&contents, word).sessions;
    match (archived_session::choose(&sessions), &sessions[..]) {
        (Some(only), _) => Ok(Some(archive.unpack_to_read(only).map_err(io)?)),
        (None, [first, others @ ..]) if others.iter().all(|one| one.main.session == first.main.session) => {
            Err(archived_session::ambiguous(word, &sessions).into())
        }
        (None, _) => Ok(None),
    }
}

/// The session of the current folder, or of the nearest above it that has any, that the agent's own `--continue` opens: the
/// newest over all stores, without those that its agent passes over.
pub(crate) fn latest(global: &Global) -> anyhow::Result<PathBuf> {
    latest_in(global, &folders_above())
}

/// Does the same for the first of some folders that has sessions.
fn latest_in(global: &Global, folders: &[PathBuf]) -> anyhow::Result<PathBuf> {
    let mut passed_over = None;
    for folder in folders {
        for found in locate::of_folder(&locate::stores(&global.roots), folder, locate::Worktrees::LeftOut) {
            match continued(&found, global.options()) {
                Continued::Opened => return Ok(found.path),
                Continued::Empty => return Err(Failure::EmptyNewest { path: found.path }.into()),
                Continued::PassedOver(why) => _ = passed_over.get_or_insert((found.path, why)),
            }
        }
        // A project that has sessions is the one that is meant, even if its agent would continue none of them.
        if passed_over.is_some() {
            break;
        }
    }
    Err(match passed_over {
        Some((path, why)) => Failure::NoneContinued { path, why },
        None => Failure::NoSession,
    }
    .into())
}

/// The current folder and those above it, up to the root, or else to the home folder without that: what is said there is of
/// no project below it.
pub(crate) fn folders_above() -> Vec<PathBuf> {
    let Ok(folder) = std::env::current_dir() else { return Vec::new() };
    let home = etcetera::home_dir().map(|home| home.canonicalize().unwrap_or(home)).ok();
    let is_home = |above: &Path| home.as_deref() == Some(above);
    let above = folder.ancestors().skip(1).take_while(|above| !is_home(&folder) && !is_home(above));
    std::iter::once(&*folder).chain(above).map(Path::to_owned).collect()
}

/// The sessions of the current project, newest first: those of the nearest folder, from the current one upward, that has any.
pub(crate) fn of_project(global: &Global, worktrees: locate::Worktrees) -> Vec<locate::Found> {
    let stores = locate::stores(&global.roots);
    let of_folder = |folder: PathBuf| locate::of_folder(&stores, &folder, worktrees).collect::<Vec<_>>();
    folders_above().into_iter().map(of_folder).find(|found| !found.is_empty()).unwrap_or_default()
}
