//! Projects of Claude Code: the files in a folder of sessions, and those that belong to one
//! session.

use super::files::{Content, Files};
use super::locate::entries;
use super::read::search;
use super::read::whole::{detect_in, read_head, read_on};
use super::write::Stamp;
use super::{Error, Opened};
use crate::format::{Builder, Detected, Format, Layout, Sidecar, Transcript, is_agents, main_of};
use crate::json::{Reader, string_of};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Lists the files of a project folder, or those of the session in one file.
///
/// A main file is a `*.jsonl` whose name does not begin with `agent-`. Subagents' transcripts are
/// beside the main files (old versions), in `<session>/subagents`, and in
/// `<session>/subagents/workflows/<run>`. For one file, all subagents beside it are listed: only
/// their lines say to which session they belong. Only sidecars are read.
///
/// Fails if any folder can't be read.
pub fn layout(path: &Path) -> Result<Layout, Error> {
    let mut unread = Vec::new();
    let layout = list(path, &mut unread)?;
    unread.into_iter().next().map_or(Ok(layout), Err)
}

/// Lists the files like [`layout`], but without unreadable ones; the errors are added to `unread`.
pub fn readable_layout(path: &Path, unread: &mut Vec<Error>) -> Result<Layout, Error> {
    let mut layout = list(path, unread)?;
    let mut number = 0;
    let mut mains = 0;
    let is_one = layout.mains;
    layout.files.retain(|file| {
        let opened = File::open(&file.path).and_then(|file| file.read_at(&mut [0], 0));
        let is_main = number < is_one;
        number += 1;
        match opened {
            // A file that is gone by now counts as empty.
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                unread.push(Error::Io { path: file.path.clone(), source });
                false
            }
            _ => {
                mains += usize::from(is_main);
                true
            }
        }
    });
    layout.mains = mains;
    Ok(layout)
}

fn list(path: &Path, unread: &mut Vec<Error>) -> Result<Layout, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let facts = fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::NotFound { path: path.to_owned() },
        _ => io(error),
    })?;
    let mut found = Found::default();
    let (mut mains, whole) = if facts.is_dir() {
        let mains = found.folder(path)?;
        for entry in entries(path)? {
            if entry.file_type().is_ok_and(|kind| !kind.is_file()) && entry.path().is_dir() {
                unread.extend(found.below(&entry.path()).err());
            }
        }
        (mains, true)
    } else {
        let folder = path.parent().unwrap_or(Path::new(""));
        found.folder(folder)?;
        let stem = path.file_stem().unwrap_or_default();
        unread.extend(found.below(&folder.join(stem)).err());
        // A subagent's own file may be given, too.
        found.agents.retain(|file| file.path != path);
        (transcript(path).into_iter().collect(), false)
    };
    let by_path = |one: &Transcript, other: &Transcript| one.path.cmp(&other.path);
    mains.sort_by(by_path);
    found.agents.sort_by(by_path);
    found.sidecars.sort_by(|one, other| one.path.cmp(&other.path));
    let left_out = limit(&mut mains, &mut found.agents, Layout::MOST);
    let count = mains.len();
    mains.append(&mut found.agents);
    Ok(Layout { files: mains, mains: count, sidecars: found.sidecars, whole, left_out })
}

/// Limits the number of files to `most`, dropping those of subagents first; returns how many were
/// dropped.
fn limit(mains: &mut Vec<Transcript>, agents: &mut Vec<Transcript>, most: usize) -> usize {
    let all = mains.len() + agents.len();
    mains.truncate(most);
    agents.truncate(most - mains.len());
    all - mains.len() - agents.len()
}

/// Returns the files of a layout, to be read by span; each is opened when it is read.
pub fn files(layout: &Layout) -> Files {
    let mut files = Files::new();
    for file in &layout.files {
        let stamp = fs::File::open(&file.path).and_then(|file| Stamp::take(&file)).ok();
        files.add(file.path.clone(), Content::Closed, stamp);
    }
    files
}

/// Opens all files of a layout as one session, with the same file numbers.
///
/// HEAD is that of the first file. With `strays`, lines of unknown types that have a `uuid` count
/// as entries. A file that is gone by now counts as empty.
pub fn open(layout: &Layout, strays: bool) -> Result<Opened, Error> {
    let mut builder = Builder::new(Format::Claude);
    builder.side();
    if strays {
        builder.strays();
    }
    let mut reader = Reader::new();
    for transcript in &layout.files {
        builder.begin_file();
        reader.restart(0, 0);
        let read = File::open(&transcript.path)
            .and_then(|file| read_on(&file, &mut reader, 0, |line| builder.line(line)));
        match read {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::Io { path: transcript.path.clone(), source: error });
            }
            _ => {}
        }
    }
    Ok(Opened { session: builder.finish(), files: files(layout) })
}

/// Returns the layout of one session with all its subagents. Of those beside it, only the ones
/// whose first line names the session are included.
///
/// Errors about the files of subagents are added to `unread`; fails if the main file can't be read.
pub fn of_session(path: &Path, unread: &mut Vec<Error>) -> Result<Layout, Error> {
    let mut layout = readable_layout(path, unread)?;
    if layout.mains == 0 {
        let is_main = |error: &Error| matches!(error, Error::Io { path: found, .. } if found == path);
        let at = unread.iter().position(is_main);
        return Err(at.map_or(Error::NotFound { path: path.to_owned() }, |at| unread.remove(at)));
    }
    let main = layout.files.remove(0);
    let id = main.stem().to_owned();
    layout.files.retain(|file| session_of_agent(&file.path).as_ref() == Some(&id));
    layout.files.insert(0, main);
    Ok(layout)
}

/// Returns whether a folder is a project of Claude Code: it directly contains a transcript.
pub fn is_project(folder: &Path) -> bool {
    let mut found = Found::default();
    // An unreadable file does not count.
    let mut mains = found.folder(folder).unwrap_or_default();
    mains.sort_by(|one, other| one.path.cmp(&other.path));
    mains.iter().filter(|file| file.bytes > 0).take(8).any(|transcript| {
        let detected = File::open(&transcript.path).and_then(|file| detect_in(&transcript.path, &file, &[]));
        detected.is_ok_and(|detected| detected == Detected::Format(Format::Claude))
    })
}

/// Returns another session in the same folder that contains an entry with this `uuid`, found by the
/// bytes of its file.
pub fn session_with(path: &Path, uuid: &str) -> Option<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut others = Found::default().folder(folder).unwrap_or_default();
    others.sort_by(|one, other| one.path.cmp(&other.path));
    let mark = format!("\"uuid\":\"{uuid}\"");
    let has_it = |path: &Path| {
        let found = |bytes: &[u8]| memchr::memmem::find(bytes, mark.as_bytes()).is_some();
        search::has(path, mark.len() - 1, found).unwrap_or(false)
    };
    others
        .into_iter()
        .map(|file| file.path)
        .find(|other| other.file_name() != path.file_name() && has_it(other))
}

/// Returns the session of a subagent's file: the one whose folder contains it, or else the one that
/// its first lines name.
pub fn session_of_agent(path: &Path) -> Option<String> {
    if let Some(main) = main_of(path) {
        return Some(main.file_stem()?.to_string_lossy().into_owned());
    }
    // Anything else with such a name could block the reader.
    if !path.is_file() {
        return None;
    }
    let head = File::open(path).and_then(|file| read_head(&file)).ok()?;
    head.split(|byte| *byte == b'\n').take(5).find_map(|line| string_of(line, "sessionId"))
}

#[derive(Default)]
struct Found {
    agents: Vec<Transcript>,
    sidecars: Vec<Sidecar>,
}

impl Found {
    /// Adds the subagents and sidecars directly in a folder; returns its main files.
    fn folder(&mut self, folder: &Path) -> Result<Vec<Transcript>, Error> {
        let mut mains = Vec::new();
        let listed = if folder == Path::new("") { Path::new(".") } else { folder };
        for entry in entries(listed)? {
            let path = folder.join(entry.file_name());
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if Sidecar::is_at(&path) {
                let read = super::read_file(&path).ok().and_then(|bytes| Sidecar::read(path, &bytes));
                self.sidecars.extend(read);
            } else if name.ends_with(".jsonl") {
                let into = if is_agents(&path) { &mut self.agents } else { &mut mains };
                into.extend(transcript(&path));
            }
        }
        Ok(mains)
    }

    /// Adds the contents of the folder of a session.
    fn below(&mut self, session: &Path) -> Result<(), Error> {
        let agents = session.join("subagents");
        let mut others = self.folder(&agents)?;
        self.agents.append(&mut others);
        for run in entries(&agents.join("workflows"))? {
            // The journal of a run is not a transcript.
            self.folder(&run.path())?;
        }
        Ok(())
    }
}

fn transcript(path: &Path) -> Option<Transcript> {
    let facts = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let modified = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.map_or(0, |since| since.as_millis() as i64);
    Some(Transcript { path: path.to_owned(), bytes: facts.len(), modified })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn what_is_too_much_is_counted() {
        let check = |mains: usize, agents: usize, most: usize, wanted: (usize, usize, usize)| {
            let file = Transcript { path: PathBuf::new(), bytes: 0, modified: 0 };
            let (mut mains, mut agents) = (vec![file.clone(); mains], vec![file; agents]);
            let left_out = limit(&mut mains, &mut agents, most);
            assert_eq!((mains.len(), agents.len(), left_out), wanted);
        };
        check(2, 3, 5, (2, 3, 0));
        check(2, 3, 4, (2, 2, 1));
        check(2, 3, 1, (1, 0, 4));
    }
}
