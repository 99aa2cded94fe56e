//! Where the agents keep their sessions, and how to find one of them by name.

mod by_name;
mod of_folder;

pub use by_name::{SHORTEST_ID, agents_of_omp, has_id_in_name, session_named};
pub use of_folder::{Worktrees, folder_of, folder_of_chats, folder_of_codex, is_same_folder, of_folder};
pub(super) use of_folder::{folder_names, is_named};

use super::Error;
use super::compressed::{self, is_session_name};
use crate::format::{self, is_agents, main_of};
use crate::json;
use by_name::{id_in_header, looks_like_an_id};
use of_folder::home_of_codex;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A folder in which an agent keeps its sessions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Store {
    /// The agent: `pi`, `omp`, `claude`, `codex`, `gemini`, `copilot`; empty for a folder that the
    /// user added.
    pub agent: &'static str,
    /// The folder.
    pub root: PathBuf,
}

impl Store {
    /// Returns whether its sessions are only read.
    pub fn is_guest(&self) -> bool {
        matches!(self.agent, "codex" | "gemini" | "copilot")
    }

    /// Returns how many folders lie between the store and a session at most.
    fn depth(&self) -> usize {
        match self.agent {
            // Year, month, day.
            "codex" => 3,
            // The project, and its folder `chats`.
            "gemini" => 2,
            _ => 1,
        }
    }
}

/// A session file in a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The agent of the store; empty for a folder that the user added.
    pub agent: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Whether the path is a symbolic link.
    pub is_link: bool,
    /// Whether it is known that there is no lock of oh-my-pi beside it.
    pub is_unlocked: bool,
}

impl Found {
    /// Returns a file that the user named, whether it exists or not.
    pub fn named(path: PathBuf) -> Found {
        let is_link = path.is_symlink();
        Found { agent: "", path, is_link, is_unlocked: false }
    }

    /// Returns the file at a path, or a folder that [`session_files_below`] returned in place of a file, or
    /// `None` if there is neither.
    pub fn from_path(path: PathBuf) -> Option<Found> {
        fs::metadata(&path).ok().filter(|facts| facts.is_file() || facts.is_dir())?;
        let is_link = path.is_symlink();
        Some(Found { agent: "", path, is_link, is_unlocked: false })
    }

    /// Returns when it was last written, as the system reports it now; the Unix epoch if it is
    /// gone.
    pub fn modified(&self) -> SystemTime {
        fs::metadata(&self.path).and_then(|facts| facts.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Returns its size in bytes, as the system reports it now; 0 if it is gone.
    pub fn bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |facts| facts.len())
    }
}

/// Returns the stores of this machine: those of the agents, as relocated by their environment
/// variables, then `roots`.
///
/// A store that does not exist is left out; two names of one folder count once.
pub fn stores(roots: &[PathBuf]) -> Vec<Store> {
    let home = etcetera::home_dir().unwrap_or_default();
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut wanted = Vec::new();
    let mut want = |agent, root: PathBuf| wanted.push(Store { agent, root });
    match variable("PI_CODING_AGENT_DIR") {
        Some(folder) => want("pi", folder.join("sessions")),
        None => {
            want("pi", home.join(".pi/agent/sessions"));
            want("omp", home.join(".omp/agent/sessions"));
        }
    }
    if let Some(folder) = pi_session_folder(&std::env::current_dir().unwrap_or_default()) {
        want("pi", folder);
    }
    want("claude", super::clients::config_folder().join("projects"));
    let codex = home_of_codex().unwrap_or_default();
    want("codex", codex.join("sessions"));
    want("codex", codex.join("archived_sessions"));
    want("gemini", home.join(".gemini/tmp"));
    want("copilot", variable("COPILOT_HOME").unwrap_or_else(|| home.join(".copilot")).join("session-state"));
    for root in roots {
        want("", root.clone());
    }
    keep_distinct(&mut wanted);
    wanted
}

/// Removes the stores that do not exist, and all but the first of those that are the same folder.
fn keep_distinct(stores: &mut Vec<Store>) {
    let mut seen = Vec::new();
    stores.retain(|store| match store.root.canonicalize() {
        Ok(real) if !seen.contains(&real) => {
            seen.push(real);
            true
        }
        _ => false,
    });
}

/// Returns the stores like [`stores`], without those of agents whose sessions are only read.
pub fn writable_stores(roots: &[PathBuf]) -> Vec<Store> {
    let mut stores = stores(roots);
    stores.retain(|store| !store.is_guest());
    stores
}

/// Returns the working directory that a session of an agent names whose sessions are only read.
pub fn cwd_of_guest(path: &Path) -> Option<String> {
    let opened = super::open_ends(path, super::Options::default()).ok()?;
    opened.session.header?.cwd
}

/// Returns the folder in which pi keeps all sessions, if one is configured: by its environment
/// variable, or else by the setting `sessionDir` of the project in `folder`, or else by the user's
/// setting.
///
/// As in pi, `~` is the home folder, and a relative path is relative to `folder`.
fn pi_session_folder(folder: &Path) -> Option<PathBuf> {
    let home = etcetera::home_dir().unwrap_or_default();
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let setting = |file: PathBuf| {
        let settings: serde_json::Value = serde_json::from_slice(&super::read_file(&file).ok()?).ok()?;
        settings.get("sessionDir")?.as_str().map(PathBuf::from)
    };
    let configured = variable("PI_CODING_AGENT_SESSION_DIR")
        .or_else(|| setting(folder.join(".pi/settings.json")))
        .or_else(|| {
            let agent = variable("PI_CODING_AGENT_DIR").unwrap_or_else(|| home.join(".pi/agent"));
            setting(agent.join("settings.json"))
        })
        .filter(|configured| !configured.as_os_str().is_empty())?;
    let configured = match configured.strip_prefix("~") {
        Ok(below) => home.join(below),
        Err(_) => configured,
    };
    let configured = match configured.to_str().and_then(|text| text.strip_prefix("file://")) {
        Some(path) => PathBuf::from(path),
        None => configured,
    };
    Some(folder.join(configured))
}

/// Returns the session files of a store, in the order of their paths.
///
/// Reads `*.jsonl` in the store and in its folders. Claude Code's subagent files are left out,
/// because they are part of the session that started them.
pub fn sessions(store: &Store) -> Vec<Found> {
    let mut out = Vec::new();
    collect(store.agent, &store.root, store.depth(), &mut out);
    out.sort_by(|one, other| one.path.as_os_str().cmp(other.path.as_os_str()));
    out
}

/// Passes the session files of stores to `each`, folder by folder, with the most recently changed
/// folders first, until `each` breaks.
pub fn each_folder(stores: &[Store], each: &mut dyn FnMut(Vec<Found>) -> ControlFlow<()>) {
    let mut folders = Vec::new();
    for store in stores {
        let modified = |path: &Path| fs::metadata(path).and_then(|facts| facts.modified()).ok();
        folders.push((modified(&store.root), store.agent, store.root.clone(), 0));
        for entry in fs::read_dir(&store.root).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| !kind.is_file()) {
                let path = entry.path();
                folders.push((modified(&path), store.agent, path, store.depth() - 1));
            }
        }
    }
    folders.sort_by_key(|(modified, ..)| std::cmp::Reverse(*modified));
    for (_, agent, folder, deeper) in folders {
        let mut found = Vec::new();
        collect(agent, &folder, deeper, &mut found);
        found.retain(|found| found.path != folder);
        if each(found).is_break() {
            return;
        }
    }
}

/// Returns the session files below a folder: the files that [`files_below`] returns, without those of
/// subagents, which are part of the session that started them.
pub fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let mut out = files_below(folder);
    out.retain(|path| {
        let inside = path.strip_prefix(folder).unwrap_or(path);
        !is_agents(path) && main_of(inside).is_none()
    });
    out
}

/// Returns all files `*.jsonl` below a folder, at any depth, including those of subagents, in the
/// order of their paths.
///
/// Links to folders are not followed, so that a cycle of links does no harm. A folder that can't be
/// listed to its end is returned as if it were a file, so that opening it reports the reason.
pub fn session_files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut out, unlisted) = list_below(folder);
    out.extend(unlisted);
    out.sort();
    out
}

/// Returns the files below a folder like [`session_files_below`], and, by themselves, the folders
/// that can't be listed to their ends.
pub fn list_below(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    list(folder, is_session_name)
}

/// Returns all files below a folder like [`session_files_below`], and the sessions that an agent exported
/// to files `*.json`. Costs a reading of the first bytes of each such file.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut out, unlisted) = list(folder, |path| is_session_name(path) || is_export_file(path));
    out.extend(unlisted);
    out.sort();
    out
}

/// Returns whether a file `*.json` begins as a session. No other one is opened.
fn is_export_file(path: &Path) -> bool {
    let mut start = Vec::new();
    path.extension().is_some_and(|ending| ending == "json")
        && path.is_file()
        && File::open(path)
            .and_then(|file| file.take(format::EXPORT_START as u64).read_to_end(&mut start))
            .is_ok_and(|_| format::is_export(&start))
}

fn list(folder: &Path, is_wanted: impl Fn(&Path) -> bool) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut out, mut unlisted) = (Vec::new(), Vec::new());
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let mut add = |entry: fs::DirEntry| -> io::Result<()> {
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                open.push(path);
            } else if is_wanted(&path) && is_file(&path, kind) {
                out.push(path);
            }
            Ok(())
        };
        // What is gone by now need not be listed.
        let fails = |added: &io::Result<()>| added.as_ref().is_err_and(|error| !is_nothing(error));
        let failures = match fs::read_dir(&folder) {
            Ok(entries) => entries.map(|entry| entry.and_then(&mut add)).filter(fails).count(),
            Err(error) => usize::from(!is_nothing(&error)),
        };
        if failures > 0 {
            unlisted.push(folder);
        }
    }
    (out, unlisted)
}

/// Returns whether an error means that there is no such folder: anything but a folder has nothing
/// below it.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(libc::ELOOP)
}

/// Returns whether an entry of a folder is a file, or a link to one. Links that the system can't
/// follow because of an error count, so that opening them reports it.
fn is_file(path: &Path, kind: fs::FileType) -> bool {
    kind.is_file()
        || kind.is_symlink()
            && fs::metadata(path).map_or_else(|error| !is_nothing(&error), |facts| facts.is_file())
}

/// Returns the entries of a folder; empty if it does not exist. Fails if it can't be read.
pub(super) fn entries(folder: &Path) -> Result<Vec<fs::DirEntry>, Error> {
    match fs::read_dir(folder).and_then(Iterator::collect) {
        Err(error) if is_nothing(&error) => Ok(Vec::new()),
        read => read.map_err(|source| Error::Io { path: folder.to_owned(), source }),
    }
}

fn collect(agent: &'static str, folder: &Path, deeper: usize, out: &mut Vec<Found>) {
    // As a file, so that opening it reports the reason.
    let unlisted = || Found { agent, path: folder.to_owned(), is_link: false, is_unlocked: true };
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) => {
            out.extend((!is_nothing(&error)).then(unlisted));
            return;
        }
    };
    let mut entries = Vec::new();
    for entry in listed {
        match entry.and_then(|entry| Ok((entry.file_type()?, entry))) {
            Ok(entry) => entries.push(entry),
            Err(error) if is_nothing(&error) => {}
            Err(_) => out.push(unlisted()),
        }
    }
    // A rollout that is unpacked again may still be there in both forms for a moment.
    let names: HashSet<_> = entries.iter().map(|(_, entry)| entry.file_name()).collect();
    entries.retain(|(_, entry)| {
        let name = entry.file_name();
        !compressed::is_named(Path::new(&name))
            || !Path::new(&name).file_stem().is_some_and(|plain| names.contains(plain))
    });
    let has_locks = entries.iter().any(|(_, entry)| entry.file_name().as_encoded_bytes().ends_with(b".lock"));
    for (kind, entry) in entries {
        let path = entry.path();
        let name = entry.file_name();
        if is_session_name(Path::new(&name)) {
            // A link is followed. In all other cases the folder itself knows the type, without
            // asking for each file.
            let is_link = kind.is_symlink();
            // Copilot keeps files of other kinds beside the events.
            let is_other = agent == "copilot" && name != "events.jsonl";
            if !is_agents(&path) && !is_other && is_file(&path, kind) {
                out.push(Found { agent, path, is_link, is_unlocked: !has_locks && !is_link });
            }
        } else if deeper > 0 && !kind.is_file() {
            collect(agent, &path, deeper - 1, out);
        }
    }
}

/// Returns the files of a folder that a user names: those below it if it is a store or lies in one;
/// or else the sessions of the project whose working directory it is, with their subagents; or else
/// the files below it, with exports.
pub fn files_of(stores: &[Store], folder: &Path) -> Vec<PathBuf> {
    match project_at(stores, folder) {
        Some(sessions) => with_subagents(sessions),
        None => files_below(folder),
    }
}

/// Returns the sessions of the project whose working directory a folder is, newest first; `None` if
/// it is a store, lies in one, or has no sessions.
pub fn project_at(stores: &[Store], folder: &Path) -> Option<Vec<Found>> {
    let real = folder.canonicalize().ok()?;
    let is_in_store =
        |store: &Store| store.root.canonicalize().is_ok_and(|root| real.starts_with(&root) || root == real);
    if stores.iter().any(is_in_store) {
        return None;
    }
    let found: Vec<Found> = of_folder(stores, &real, Worktrees::LeftOut).collect();
    (!found.is_empty()).then_some(found)
}

/// Returns what is named `*.jsonl` directly in a folder, in the order of the names.
pub fn files_directly_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    files
}

/// Returns the files of sessions, each followed by the files of its subagents.
pub fn with_subagents(sessions: Vec<Found>) -> Vec<PathBuf> {
    // The subagents beside the sessions of a folder, by the sessions that started them.
    let mut beside: HashMap<PathBuf, HashMap<String, Vec<PathBuf>>> = HashMap::new();
    let mut out = Vec::new();
    for Found { path, .. } in sessions {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let agents = beside.entry(folder.clone()).or_insert_with(|| agents_in(&folder)).remove(&stem);
        out.push(path);
        out.extend(session_files_below(&folder.join(&stem)));
        out.extend(agents.unwrap_or_default());
    }
    out
}

/// Returns the files of subagents directly in a folder, by the sessions that started them.
fn agents_in(folder: &Path) -> HashMap<String, Vec<PathBuf>> {
    let mut out: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for path in files_directly_in(folder).into_iter().filter(|path| is_agents(path)) {
        if let Some(session) = super::project::session_of_agent(&path) {
            out.entry(session).or_default().push(path);
        }
    }
    out
}

/// Returns the first bytes of a file, at most `most`; empty if it can't be read.
pub fn first_bytes(path: &Path, most: u64) -> Vec<u8> {
    let mut head = Vec::new();
    if let Ok(file) = File::open(path) {
        if compressed::is_compressed(path, &file) {
            return compressed::unpack(file, most).unwrap_or_default();
        }
        let _ = file.take(most).read_to_end(&mut head);
    }
    head
}

/// Returns the earlier files of a session of oh-my-pi, as named in its header.
pub fn previous_files(path: &Path) -> Vec<PathBuf> {
    let head = first_bytes(path, 16 * 1024);
    let header = head
        .split(|byte| *byte == b'\n')
        .find(|line| memchr::memmem::find(line, b"\"previousSessionFiles\"").is_some());
    let list =
        header.and_then(|line| json::member_of_whole(line, "previousSessionFiles")).unwrap_or_default();
    json::each_item(list).filter_map(json::string).map(|path| PathBuf::from(&*path)).collect()
}

/// Returns the id of a session according to its file name: the part after the last `_` of pi's
/// names, the end of those of Codex and Gemini, the folder of Copilot's, or else the stem.
pub fn id_in_name(path: &Path) -> String {
    /// The length of an id of Codex.
    const UUID: usize = 36;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix(".jsonl").unwrap_or(&stem);
    if let Some(rest) = stem.strip_prefix("rollout-")
        && let Some(id) = rest.len().checked_sub(UUID).and_then(|at| rest.get(at..))
        && looks_like_an_id(id)
    {
        return id.to_owned();
    }
    if let Some(rest) = stem.strip_prefix("session-")
        && let Some((_, id)) = rest.rsplit_once('-')
        && id.len() == 8
    {
        return id.to_owned();
    }
    if stem == "events"
        && let Some(folder) = path.parent().and_then(Path::file_name)
        && looks_like_an_id(&folder.to_string_lossy())
    {
        return folder.to_string_lossy().into_owned();
    }
    stem.rsplit_once('_').map_or(stem, |(_, id)| id).to_owned()
}

/// Returns the id of a session: the one in its file name, or, if that is not an id, the one in its
/// header.
pub fn session_id(path: &Path) -> String {
    let id = id_in_name(path);
    if looks_like_an_id(&id) { id } else { id_in_header(path).unwrap_or(id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_as_the_agents_name_them() {
        let long = "/project/a-folder-with-a-name-that-is-so-long-that-the-client-cuts-it-and-adds-a-hash-to-it/which-happens-from-two-hundred-characters-on/so-that-this-one-is-longer-than-that-by-some-more-characters/and/more";
        assert!(folder_names("claude", Path::new(long))[0].ends_with("-characters-an-yr0cln"));
        let names = |agent| folder_names(agent, Path::new("/a/.b c/d:e"));
        assert_eq!(names("claude"), ["-a--b-c-d-e"]);
        assert_eq!(names("pi"), ["--a-.b c-d-e--"]);
    }

    #[test]
    fn a_header_that_is_cut_off_names_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let header = r#"{"type":"session","version":3,"id":"s1","cwd":"/w","previousSessionFiles":["a"]"#;
        let message =
            r#"{"type":"message","id":"a0000001","parentId":null,"message":{"role":"user","content":"x"}}"#;
        let written = |header: &str| {
            fs::write(&path, format!("{header}\n{message}\n{message}\n")).unwrap();
            (id_in_header(&path), previous_files(&path))
        };
        assert_eq!(written(&format!("{header}}}")), (Some("s1".into()), vec![PathBuf::from("a")]));
        assert_eq!(written(&format!("{header},")), (None, Vec::new()));
    }

    #[test]
    fn the_id_stands_behind_the_time_in_a_name() {
        assert_eq!(id_in_name(Path::new("/s/2026-03-02T00-00-00-000Z_abc-1.jsonl")), "abc-1");
        assert_eq!(id_in_name(Path::new("/s/0b1d0000-0000.jsonl")), "0b1d0000-0000");
        let id = "01a222bd-ebaf-7992-8891-691864ee8130";
        assert_eq!(id_in_name(Path::new(&format!("/s/rollout-2026-11-28T10-00-00-{id}.jsonl"))), id);
        assert_eq!(id_in_name(Path::new(&format!("/s/rollout-2026-11-28T10-00-00-{id}.jsonl.zst"))), id);
        assert_eq!(id_in_name(Path::new(&format!("/s/{id}/events.jsonl"))), id);
        assert_eq!(id_in_name(Path::new("/s/session-2026-11-28T10-00-01a222bd.jsonl")), "01a222bd");
        assert_eq!(id_in_name(Path::new("/s/rollout-x.jsonl")), "rollout-x");
        assert_eq!(id_in_name(Path::new("/s/events.jsonl")), "events");
    }
}
