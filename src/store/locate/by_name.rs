//! Finds a session by its name or its id, in all stores.

use super::{Found, Store, first_bytes, id_in_name, session_files_below, session_id, sessions};
use crate::format::{Detected, Format, detect, is_agents, main_of};
use crate::json::{self, Prefilter};
use crate::store::Error;
use crate::store::read::search;
use std::io::{self};
use std::path::{Path, PathBuf};

/// How many bytes of an id name a session at least.
pub const SHORTEST_ID: usize = 4;

/// Finds the session that a word names over stores: by id, by unique prefix of an id (of [`SHORTEST_ID`] bytes or more),
/// by exact name, by a unique part of a name.
///
/// Ids are those in the file names, or in the headers of files with other names; if there is none, also in those of the others. Names are searched
/// for in the bytes of all files, however they are spelled there. Fails if no session or several
/// match.
pub fn session_named(stores: &[Store], word: &str) -> Result<PathBuf, Error> {
    let all: Vec<Found> = stores.iter().flat_map(sessions).collect();
    let mut exact = Vec::new();
    let mut begins = Vec::new();
    for found in &all {
        let id = session_id(&found.path);
        if id == word {
            exact.push(found.path.clone());
        } else if word.len() >= SHORTEST_ID && id.starts_with(word) {
            begins.push(found.path.clone());
        }
    }
    for found in [exact, begins] {
        match found.as_slice() {
            [] => {}
            [path] => return Ok(path.clone()),
            several => return one_that_says_something(word, several),
        }
    }
    if let Some(found) = among_agents(&all, word)? {
        return Ok(found);
    }
    // A file may have the name of one session and the header of another, which is what lists show.
    if word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        let is_inside = |found: &&Found| id_in_header(&found.path).is_some_and(|id| id.starts_with(word));
        let inside: Vec<PathBuf> = all.iter().filter(is_inside).map(|found| found.path.clone()).collect();
        match &inside[..] {
            [] => {}
            [path] => return Ok(path.clone()),
            several => return one_that_says_something(word, several),
        }
    }
    if word.len() >= SHORTEST_ID
        && let Some(left) = stores
            .iter()
            .flat_map(|store| crate::store::remains::remains(&store.root))
            .find(|left| id_in_name(&left.main).starts_with(word))
    {
        return Err(Error::Lost { left });
    }
    let prefilter = Prefilter::for_text(word);
    let (mut titled, mut unread) = (Vec::new(), None);
    for found in &all {
        match is_called(&found.path, word, prefilter.as_ref()) {
            Ok(true) => titled.push(found.path.clone()),
            Ok(false) => {}
            Err(error) => unread = unread.or(Some(error)),
        }
    }
    match titled.as_slice() {
        // It could be the one that can't be read.
        [] if unread.is_none() => by_part_of_name(&all, word),
        [] => Err(unread.unwrap_or(Error::NoSession { word: word.into() })),
        [path] => Ok(path.clone()),
        several => one_that_says_something(word, several),
    }
}

/// How many characters of a name are a part of it at least.
const PART: usize = 3;

/// The session whose name contains a word, in whatever case; by what the ends of the files say of their names.
fn by_part_of_name(all: &[Found], word: &str) -> Result<PathBuf, Error> {
    let none = || Error::NoSession { word: word.into() };
    if word.chars().count() < PART {
        return Err(none());
    }
    let wanted = word.to_lowercase();
    let named = |found: &Found| {
        let opened = crate::store::open_ends(&found.path, crate::store::Options::default()).ok()?;
        let name = opened.session.name?.to_lowercase();
        name.contains(&wanted).then(|| (found.path.clone(), name))
    };
    let mut found: Vec<(PathBuf, String)> = all.iter().filter_map(named).collect();
    // A whole name is meant before a part of another.
    if found.iter().any(|(_, name)| *name == wanted) {
        found.retain(|(_, name)| *name == wanted);
    }
    let found: Vec<PathBuf> = found.into_iter().map(|(path, _)| path).collect();
    match found.as_slice() {
        [] => Err(none()),
        [only] => Ok(only.clone()),
        several => one_that_says_something(word, several),
    }
}

/// The file of a subagent of oh-my-pi that a word names: by its id, a unique prefix of it, or the name of its file. Such files lie
/// in a folder of their session's name, those of their own subagents in one of theirs.
fn among_agents(sessions: &[Found], word: &str) -> Result<Option<PathBuf>, Error> {
    let files =
        sessions.iter().filter(|found| found.agent != "claude").flat_map(|found| agents_of_omp(&found.path));
    let (mut exact, mut begins) = (Vec::new(), Vec::new());
    for path in files {
        let id = id_in_header(&path).unwrap_or_default();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if id == word || stem == word {
            exact.push(path);
        } else if word.len() >= SHORTEST_ID && id.starts_with(word) {
            begins.push(path);
        }
    }
    for found in [exact, begins] {
        match found.as_slice() {
            [] => {}
            [path] => return Ok(Some(path.clone())),
            _ => return Err(Error::SeveralSessions { word: word.into(), candidates: found }),
        }
    }
    Ok(None)
}

/// Returns the files of the subagents of an oh-my-pi session, including nested ones, in the order
/// of their paths.
pub fn agents_of_omp(session: &Path) -> Vec<PathBuf> {
    let mut out = session_files_below(&session.with_extension(""));
    out.retain(|path| !is_agents(path) && main_of(path).is_none());
    out
}

/// Returns the one of several sessions that contains messages, if the others are stubs: agents
/// leave stub files under the id of a session that is elsewhere.
fn one_that_says_something(word: &str, several: &[PathBuf]) -> Result<PathBuf, Error> {
    let is_stub: Vec<bool> = several.iter().map(|path| crate::store::continued::is_stub(path)).collect();
    let full: Vec<&PathBuf> =
        several.iter().zip(&is_stub).filter(|(_, stub)| !**stub).map(|(path, _)| path).collect();
    if let [only] = full.as_slice() {
        return Ok((*only).clone());
    }
    let of_name = |path: &PathBuf| id_in_name(path) == word;
    // An id does not refer to a copy beside the session under a different file name.
    if let [only] = full.iter().filter(|path| of_name(path)).collect::<Vec<_>>().as_slice() {
        return Ok((**only).clone());
    }
    Err(Error::SeveralSessions { word: word.into(), candidates: several.to_vec() })
}

/// Returns whether the session in a file has this name. Most files are ruled out without being read
/// as a session.
fn is_called(path: &Path, name: &str, prefilter: Option<&Prefilter>) -> Result<bool, Error> {
    if let Some(prefilter) = prefilter {
        match search::has(path, prefilter.overlap(), |bytes| prefilter.find(bytes, 0).is_some()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(Error::Io { path: path.to_owned(), source }),
            Ok(false) => return Ok(false),
            Ok(true) => {}
        }
    }
    match crate::store::open(path, crate::store::Options::default()) {
        Ok(opened) => Ok(opened.session.name.as_deref() == Some(name)),
        Err(error @ Error::Io { .. }) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Returns whether the name of a file contains the id of a session.
pub fn has_id_in_name(path: &Path) -> bool {
    looks_like_an_id(&id_in_name(path))
}

pub(super) fn looks_like_an_id(text: &str) -> bool {
    text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

pub(super) fn id_in_header(path: &Path) -> Option<String> {
    let head = first_bytes(path, 16 * 1024);
    if !matches!(detect(&head, Some(path)), Detected::Format(format) if format != Format::Claude) {
        return None;
    }
    if let Detected::Format(Format::Gemini) = detect(&head, Some(path)) {
        let first = head.split(|byte| *byte == b'\n').next()?;
        return json::string_of(first, "sessionId");
    }
    let line = head
        .split(|byte| *byte == b'\n')
        .find(|line| memchr::memmem::find(line, b"\"session\"").is_some())?;
    Some(json::string(json::member_of_whole(line, "id")?)?.into_owned())
}
