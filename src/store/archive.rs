//! The archive of sessions: a folder outside the agents' stores, from which a session can be
//! restored after its agent has deleted it.
//!
//! `manifest.jsonl` has one line for each state of a file that was archived: where it was, its size,
//! time and mode, the SHA-256 of its content, and its parts. Each part is a file of Zstandard,
//! `blobs/AB/CDEF….zst`, named by the SHA-256 of what it contains. So a session is readable without
//! bough: unpack its parts in their order. A file that only grew since it was archived shares the
//! parts of its earlier state. Archives of the first versions have gzip files, `….gz`; they are read,
//! and stay as they are.
//!
//! On request, a file is not packed but linked: `links/DEVICE-INODE` is the file itself under a second
//! name, of which the manifest gives the size and the SHA-256 at that time. It costs no room as long as
//! the agent has the file, and stays if the agent deletes it or replaces it by another. What the agent
//! appends is after the size that counts; what it changes in place is found by the hash.
//!
//! Blobs are complete and on the disk before the manifest names them: if the program is stopped, the
//! archive is valid up to the last whole line, and the next run goes on.

use super::lock::Lock;
use super::oplog::{Log, hex};
use super::write::{stamp, sys, temp};
use crate::model::Time;
use flate2::read::GzDecoder;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How many bytes of a file become one part at most.
const PART: u64 = 8 << 20;
/// A file with more parts than this is divided anew, so that many small additions do not stay many
/// small parts.
const MOST_PARTS: usize = 64;
/// After this many bytes the manifest gets what was archived so far, while more is packed.
const BATCH: u64 = 128 << 20;
/// How many bytes of small files are archived at a time, by all processors.
const GROUP: u64 = 64 << 20;
/// Fewer bytes than this are not worth a second thread.
const ALONE: u64 = 1 << 20;
/// How well blobs are packed: the fastest of the levels proper. Level 3 makes them 8 % smaller, and
/// takes 1.6 times as long.
const LEVEL: i32 = 1;
/// The first line of a manifest. An archive whose first line says `gzip` gets it before its first blob
/// of another kind.
const FIRST_LINE: &str = "{\"bough\":\"archive\",\"version\":1,\"blobs\":\"zstd\",\"names\":\"sha256\"}\n";

/// A state of a file in the archive.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Item {
    /// When it was archived, as ISO 8601 in UTC.
    pub archived: String,
    /// The agent.
    pub agent: String,
    /// The id of the session to which the file belongs.
    pub session: String,
    /// The folder of all sessions of the agent.
    #[serde(with = "super::oplog::lines::path")]
    pub store: PathBuf,
    /// The file, relative to that folder.
    #[serde(with = "super::oplog::lines::path")]
    pub path: PathBuf,
    /// Whether it is the session file itself, and not one that belongs to it.
    pub main: bool,
    /// The working directory of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The name of the session, or else its first prompt, if this is the session file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was last changed, in nanoseconds since 1970.
    pub mtime: i64,
    /// Its mode.
    pub mode: u32,
    /// The SHA-256 of its content.
    pub sha256: String,
    /// Its parts, in order.
    pub parts: Vec<Part>,
    /// The name of the link that is the file, in place of parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl Item {
    /// Returns whether its names are such that they lead to nothing outside of the archive.
    fn is_sound(&self) -> bool {
        let is_link = |name: &String| name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        self.parts.iter().all(|part| is_hash(&part.sha256)) && self.link.as_ref().is_none_or(is_link)
    }

    /// Returns the path at which the file was.
    pub fn origin(&self) -> PathBuf {
        self.store.join(&self.path)
    }
}

/// A part of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The SHA-256 of its content.
    pub sha256: String,
    /// Its size, unpacked.
    pub bytes: u64,
}

/// What to archive: a file, and to which session it belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The agent.
    pub agent: String,
    /// The id of the session.
    pub session: String,
    /// The folder of all sessions of the agent.
    pub store: PathBuf,
    /// The file.
    pub file: PathBuf,
    /// Whether it is the session file itself.
    pub main: bool,
    /// The working directory of the session.
    pub cwd: Option<String>,
}

/// What archiving a file came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Added {
    /// How many bytes were read into the archive.
    pub bytes: u64,
    /// How many bytes the new blobs have.
    pub stored: u64,
    /// Whether the archive has the file as it is, so that nothing was done.
    pub is_known: bool,
}

/// The files of an archive.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contents {
    /// All states of all files, in the order in which they were archived.
    pub items: Vec<Item>,
    /// How many lines of the manifest can't be read.
    pub unread: usize,
    /// Whether the manifest says that blobs are packed with Zstandard.
    is_zstd: bool,
}

impl Contents {
    /// Returns the last state of each file.
    pub fn latest(&self) -> Vec<&Item> {
        let mut last: HashMap<PathBuf, usize> = HashMap::new();
        for (at, item) in self.items.iter().enumerate() {
            last.insert(item.origin(), at);
        }
        let mut out: Vec<usize> = last.into_values().collect();
        out.sort_unstable();
        out.into_iter().map(|at| &self.items[at]).collect()
    }

    /// Returns the files of the sessions whose id is, or begins with, a word of four letters or
    /// more, by session; those of one store first.
    pub fn session(&self, word: &str) -> Vec<Vec<&Item>> {
        let latest = self.latest();
        let is_exact = latest.iter().any(|item| item.session == word);
        let fits = |item: &&&Item| match is_exact {
            true => item.session == word,
            false => word.len() >= 4 && item.session.starts_with(word),
        };
        let mut out: Vec<Vec<&Item>> = Vec::new();
        for item in latest.iter().filter(fits) {
            let same = |other: &&Item| other.session == item.session && other.store == item.store;
            match out.iter_mut().find(|group| group.first().is_some_and(same)) {
                Some(group) => group.push(item),
                None => out.push(vec![item]),
            }
        }
        out.retain(|group| group.iter().any(|item| item.main));
        out.iter_mut().for_each(keep_newest_place);
        out
    }
}

/// Of a session that was archived in several folders, because it was moved, keeps the files of the last one.
fn keep_newest_place(items: &mut Vec<&Item>) {
    let folder = |item: &Item| item.origin().parent().map(Path::to_owned).unwrap_or_default();
    let mains = || items.iter().enumerate().filter(|(_, item)| item.main);
    let Some((_, newest)) = mains().max_by_key(|(at, item)| (item.archived.clone(), *at)) else { return };
    let newest = folder(newest);
    let old: Vec<PathBuf> =
        mains().map(|(_, item)| folder(item)).filter(|folder| *folder != newest).collect();
    let is_old =
        |path: &Path| !path.starts_with(&newest) && old.iter().any(|folder| path.starts_with(folder));
    items.retain(|item| !is_old(&item.origin()));
}

/// A blob that is not what the manifest says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bad {
    /// The first file that needs it.
    pub item: Item,
    /// The blob.
    pub blob: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// An archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Archive {
    folder: PathBuf,
}

impl Archive {
    /// Returns the archive in a folder, which may not exist yet.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Archive {
        Archive { folder: folder.into() }
    }

    /// Returns the archive of the user: `$XDG_DATA_HOME/bough/archive`, or
    /// `~/.local/share/bough/archive`.
    pub fn of_user() -> Option<Archive> {
        let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let data = data.or_else(|| {
            let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
            Some(home.join(".local/share"))
        })?;
        Some(Archive::in_folder(data.join("bough/archive")))
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns whether anything was archived.
    pub fn exists(&self) -> bool {
        self.manifest().is_file()
    }

    fn manifest(&self) -> PathBuf {
        self.folder.join("manifest.jsonl")
    }

    /// Returns the path that a blob has or would have.
    pub fn blob(&self, sha256: &str) -> PathBuf {
        let [new, old] = self.blobs(sha256);
        if !new.is_file() && old.is_file() { old } else { new }
    }

    /// Returns the paths that a blob may have: as it is packed today, and as the first versions did.
    fn blobs(&self, sha256: &str) -> [PathBuf; 2] {
        let (first, rest) = sha256.split_at_checked(2).unwrap_or(("", sha256));
        let folder = self.folder.join("blobs").join(first);
        ["zst", "gz"].map(|ending| folder.join(format!("{rest}.{ending}")))
    }

    /// Returns the path of a link.
    fn link(&self, name: &str) -> PathBuf {
        self.folder.join("links").join(name)
    }

    /// Reads the manifest. A truncated last line is not counted as unreadable: its files are
    /// archived again.
    pub fn read(&self) -> io::Result<Contents> {
        let mut out = Contents::default();
        let file = match File::open(self.manifest()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(out),
            other => other?,
        };
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            match serde_json::from_slice::<Item>(&line) {
                Ok(item) if item.is_sound() => out.items.push(item),
                _ if !line.ends_with(b"\n") => {}
                _ if line.starts_with(b"{\"bough\":") => out.is_zstd |= line == FIRST_LINE.as_bytes(),
                _ => out.unread += 1,
            }
            line.clear();
        }
        Ok(out)
    }

    /// Begins to add to the archive, or to remove from it. Fails if another process does.
    pub fn begin(&self) -> io::Result<Writer> {
        make_folder(&self.folder)?;
        let lock = OpenOptions::new().read(true).append(true).create(true).open(self.folder.join("lock"))?;
        let Some(lock) = Lock::try_alone(lock)? else {
            let words = "another bough is writing to the archive";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, words));
        };
        // What an interrupted process left.
        for file in self.leftovers() {
            let _ = sys::remove(&file);
        }
        let manifest = OpenOptions::new().read(true).append(true).create(true).open(self.manifest())?;
        let len = manifest.metadata()?.len();
        let whole = whole_lines(&manifest, len)?;
        if whole < len {
            sys::cut(&manifest, whole)?;
        }
        let known = self.read()?;
        if !known.is_zstd {
            sys::write(&manifest, FIRST_LINE.as_bytes())?;
        }
        let (mut latest, mut trusted) = (HashMap::new(), HashSet::new());
        for item in known.items {
            trusted.extend(item.parts.iter().map(|part| part.sha256.clone()));
            latest.insert(item.origin(), item);
        }
        Ok(Writer {
            archive: self.clone(),
            manifest,
            latest,
            trusted,
            pending: Vec::new(),
            bytes: 0,
            links: false,
            title: |_| None,
            _lock: lock,
        })
    }

    /// Unpacks a file, and passes its content to `put`; fails if any part is not what it was.
    pub fn unpack(&self, item: &Item, put: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut whole = Sha256::new();
        if let Some(name) = &item.link {
            let file = File::open(self.link(name))?;
            if file.metadata()?.len() < item.bytes {
                return Err(bad("it is shorter than it was"));
            }
            stamp::each_block(&file, 0, item.bytes, |block| {
                whole.update(block);
                put(block)
            })?;
        }
        for part in &item.parts {
            self.unpack_part(part, &mut |block| {
                whole.update(block);
                put(block)
            })?;
        }
        match hex(&whole.finalize()) == item.sha256 {
            true => Ok(()),
            false if item.link.is_some() => Err(bad("it was changed in place")),
            false => Err(bad("the parts are not the file that was archived")),
        }
    }

    fn unpack_part(&self, part: &Part, put: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let path = self.blob(&part.sha256);
        let file = BufReader::new(File::open(&path)?);
        let mut reader: Box<dyn Read> = match path.extension().is_some_and(|ending| ending == "gz") {
            true => Box::new(GzDecoder::new(file)),
            false => Box::new(zstd::stream::read::Decoder::with_buffer(file)?),
        };
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        let mut block = vec![0; 256 * 1024];
        loop {
            let count = match reader.read(&mut block) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            bytes += count as u64;
            // A part that was exchanged must not fill the disk.
            if bytes > part.bytes {
                return Err(bad("it is longer than it was"));
            }
            hash.update(&block[..count]);
            put(&block[..count])?;
        }
        match bytes == part.bytes && hex(&hash.finalize()) == part.sha256 {
            true => Ok(()),
            false => Err(bad("its content is not what it was")),
        }
    }

    /// Unpacks all blobs, and returns those that are not what the manifest says.
    pub fn verify(&self, contents: &Contents) -> Vec<Bad> {
        let mut seen = HashSet::new();
        let mut parts: Vec<(&Item, &Part)> = Vec::new();
        for item in &contents.items {
            parts
                .extend(item.parts.iter().filter(|part| seen.insert(&*part.sha256)).map(|part| (item, part)));
        }
        let wrong = |(item, part): &(&Item, &Part)| {
            let error = self.unpack_part(part, &mut |_| Ok(())).err()?;
            Some(Bad { item: (*item).clone(), blob: self.blob(&part.sha256), why: why(&error) })
        };
        let mut out: Vec<Bad> = parts.par_iter().filter_map(wrong).collect();
        // Of a linked file, an earlier state is the beginning of a later one.
        let latest = contents.latest();
        let changed = |item: &&Item| {
            let link = self.link(item.link.as_ref()?);
            let error = self.unpack(item, &mut |_| Ok(())).err()?;
            Some(Bad { item: (*item).clone(), blob: link, why: why(&error) })
        };
        out.extend(latest.par_iter().filter_map(changed).collect::<Vec<Bad>>());
        out
    }
}

/// Files that were unpacked to be read once; they are removed in the end, also if a signal ends the
/// program.
pub struct Unpacked {
    files: Vec<temp::Temp>,
    /// As long as it is held, `op prune` does not take the files for leftovers.
    _writing: Option<Lock>,
}

impl Unpacked {
    /// Returns a list without files.
    #[allow(clippy::new_without_default, reason = "it takes a lock")]
    pub fn new() -> Unpacked {
        let writing = Log::of_user().and_then(|log| log.enter());
        Unpacked { files: Vec::new(), _writing: writing }
    }

    /// Unpacks a file into the folder of the archive, with its time and mode; returns the path of
    /// the copy.
    pub fn add(&mut self, archive: &Archive, item: &Item) -> io::Result<PathBuf> {
        let mut new = temp::Temp::new(&archive.folder.join("unpacked"), 0o600)?;
        archive.unpack_into(item, &new)?;
        new.is_written();
        let path = new.path().to_owned();
        self.files.push(new);
        Ok(path)
    }
}

impl Archive {
    /// Returns what killed programs left in the folder of the archive: unfinished blobs and files
    /// that were unpacked to be read once.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        temp::leftovers(&self.folder)
    }

    /// Unpacks a file into a new one, with its time and mode.
    fn unpack_into(&self, item: &Item, new: &temp::Temp) -> io::Result<()> {
        self.unpack(item, &mut |block| sys::write(new.file()?, block))?;
        sys::set_mode(new.file()?, item.mode)?;
        stamp::restore_time(new.file()?, item.mtime)
    }

    /// Unpacks a file to a path, with its time and mode.
    fn unpack_to(&self, item: &Item, path: &Path) -> io::Result<()> {
        let mut new = temp::Temp::new(path, 0o600)?;
        self.unpack_into(item, &new)?;
        sys::rename(new.path(), path)?;
        new.is_gone();
        Ok(())
    }

    /// Unpacks the files of a session, so that they can be read; returns the session file.
    ///
    /// They stay in the user's cache, and are not unpacked again.
    pub fn unpack_to_read(&self, items: &[&Item]) -> io::Result<PathBuf> {
        let main = items.iter().find(|item| item.main).ok_or(io::ErrorKind::NotFound)?;
        let cache = read_folder().ok_or(io::ErrorKind::NotFound)?.join(&main.sha256[..16]);
        let origin = main.origin();
        let above = origin.parent().unwrap_or(Path::new("")).to_owned();
        for item in items {
            let own = item.origin();
            let Ok(inside) = own.strip_prefix(&above) else { continue };
            let to = cache.join(inside);
            let is_there =
                |facts: fs::Metadata| facts.len() == item.bytes && stamp::mtime(&facts) == item.mtime;
            if fs::metadata(&to).is_ok_and(is_there) {
                continue;
            }
            make_folder(sys::folder_of(&to))?;
            self.unpack_to(item, &to)?;
        }
        Ok(cache.join(origin.file_name().unwrap_or_default()))
    }
}

/// Returns the folder in which sessions of the archive are unpacked to be read:
/// `$XDG_CACHE_HOME/bough/archive`, or `~/.cache/bough/archive`.
fn read_folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("bough/archive"))
}

/// Returns whether a file was unpacked from the archive, so that writing to it would be lost.
pub fn is_unpacked(path: &Path) -> bool {
    read_folder().is_some_and(|folder| path.starts_with(&folder))
}

/// A state of a file whose blobs are stored.
struct State {
    facts: fs::Metadata,
    sha256: String,
    parts: Vec<Part>,
    link: Option<String>,
    added: Added,
}

/// Returns the size of a file, as far as it is known.
fn len_of(wanted: &Wanted) -> u64 {
    fs::metadata(&wanted.file).map_or(0, |facts| facts.len())
}

/// Returns how many of the files are archived at a time: small ones together, and one of several parts
/// by itself, since its parts are packed at a time.
fn group(wanted: &[Wanted]) -> usize {
    let mut bytes = 0;
    let fits = |one: &&Wanted| {
        let len = len_of(one);
        bytes += len;
        len <= PART && bytes <= GROUP
    };
    wanted.iter().take(1024).take_while(fits).count().max(1)
}

/// Adds files to an archive.
pub struct Writer {
    archive: Archive,
    manifest: File,
    latest: HashMap<PathBuf, Item>,
    /// The blobs that the manifest names. Any other may be a remainder of a run that was stopped.
    trusted: HashSet<String>,
    /// What is archived and not yet in the manifest.
    pending: Vec<Item>,
    bytes: u64,
    /// Whether files are linked, if the file system allows it.
    links: bool,
    /// Returns the title of a session file.
    title: fn(&Path) -> Option<String>,
    _lock: Lock,
}

impl Writer {
    /// Links files from now on, instead of packing them. Files of other file systems are packed.
    pub fn with_links(mut self) -> Writer {
        self.links = true;
        self
    }

    /// Notes the title of each session file that is archived from now on, as `title` reads it.
    pub fn with_titles(mut self, title: fn(&Path) -> Option<String>) -> Writer {
        self.title = title;
        self
    }

    /// Archives the present state of files, by all processors. `done` is told what came of each file, in
    /// their order; its error ends this.
    pub fn add_all<E>(
        &mut self,
        wanted: &[Wanted],
        now: Time,
        mut done: impl FnMut(&Wanted, io::Result<Added>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = wanted;
        while !rest.is_empty() {
            let (group, later) = rest.split_at(group(rest));
            let bytes: u64 = group.iter().map(len_of).sum();
            let batch = if self.bytes > BATCH { self.take_batch() } else { Vec::new() };
            let store_all = || -> Vec<io::Result<State>> {
                match group.len() > 1 && bytes > ALONE {
                    true => group.par_iter().map(|one| self.store(one)).collect(),
                    false => group.iter().map(|one| self.store(one)).collect(),
                }
            };
            let (states, written) = match batch.is_empty() {
                true => (store_all(), Ok(())),
                // The disk writes while the processors pack.
                false => std::thread::scope(|scope| {
                    let writing = scope.spawn(|| self.write_batch(&batch));
                    (store_all(), writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                }),
            };
            let mut written = written.err();
            for (one, state) in group.iter().zip(states) {
                // What is not on the disk is not in the manifest either: the next run archives it again.
                let added = match written.take() {
                    Some(error) => Err(error),
                    None => state.map(|state| self.note(one, state, now)),
                };
                done(one, added)?;
            }
            rest = later;
        }
        Ok(())
    }

    /// Stores the blobs of the present state of a file.
    fn store(&self, wanted: &Wanted) -> io::Result<State> {
        let file = super::write::steps::open(&wanted.file)?;
        let facts = file.metadata()?;
        let (len, mtime) = (facts.len(), stamp::mtime(&facts));
        let mut state =
            State { facts, sha256: String::new(), parts: Vec::new(), link: None, added: Added::default() };
        let known = self.latest.get(&wanted.file);
        if known.is_some_and(|item| item.bytes == len && item.mtime == mtime) {
            state.added.is_known = true;
            return Ok(state);
        }
        let mut whole = Sha256::new();
        if self.links {
            state.link = self.archive.link_to(&wanted.file, &state.facts)?;
        }
        if state.link.is_some() {
            stamp::each_block(&file, 0, len, |block| {
                whole.update(block);
                Ok(())
            })?;
            state.sha256 = hex(&whole.finalize());
            state.added.bytes = len;
            return Ok(state);
        }
        if let Some(item) = known.filter(|item| item.bytes <= len && item.parts.len() < MOST_PARTS) {
            for part in &item.parts {
                let at: u64 = state.parts.iter().map(|part: &Part| part.bytes).sum();
                let mut own = Sha256::new();
                let before = whole.clone();
                stamp::each_block(&file, at, part.bytes, |block| {
                    own.update(block);
                    whole.update(block);
                    Ok(())
                })?;
                if hex(&own.finalize()) != part.sha256 {
                    whole = before;
                    break;
                }
                state.parts.push(part.clone());
            }
        }
        let mut at: u64 = state.parts.iter().map(|part| part.bytes).sum();
        let is_one_part = at == 0 && len <= PART;
        while at < len {
            // Some parts at a time, packed by all processors.
            let many = rayon::current_num_threads() as u64 * 2;
            let mut blocks = Vec::new();
            while at < len && (blocks.len() as u64) < many {
                let block = stamp::read_at(&file, at, (len - at).min(PART) as usize)?;
                if block.is_empty() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                at += block.len() as u64;
                blocks.push(block);
            }
            let pack = |block: &Vec<u8>| self.archive.pack(block, &self.trusted);
            let mut hash_all = || blocks.iter().for_each(|block| whole.update(block));
            let made: io::Result<Vec<(Part, u64)>> = match blocks.len() {
                // Its hash is that of the part.
                1 if is_one_part => blocks.iter().map(pack).collect(),
                1 => {
                    hash_all();
                    blocks.iter().map(pack).collect()
                }
                _ => rayon::join(hash_all, || blocks.par_iter().map(pack).collect()).1,
            };
            for (part, stored) in made? {
                state.added.bytes += part.bytes;
                state.added.stored += stored;
                state.parts.push(part);
            }
        }
        state.sha256 = match &state.parts[..] {
            [part] if is_one_part => part.sha256.clone(),
            _ => hex(&whole.finalize()),
        };
        Ok(state)
    }

    /// Notes a state of a file, which the manifest gets with the next flush.
    fn note(&mut self, wanted: &Wanted, state: State, now: Time) -> Added {
        let State { facts, sha256, parts, link, added } = state;
        if added.is_known {
            return added;
        }
        self.trusted.extend(parts.iter().map(|part| part.sha256.clone()));
        let item = Item {
            archived: now.iso(),
            agent: wanted.agent.clone(),
            session: wanted.session.clone(),
            store: wanted.store.clone(),
            path: wanted.file.strip_prefix(&wanted.store).unwrap_or(&wanted.file).to_owned(),
            main: wanted.main,
            cwd: wanted.cwd.clone(),
            title: if wanted.main { (self.title)(&wanted.file) } else { None },
            bytes: facts.len(),
            mtime: stamp::mtime(&facts),
            mode: facts.mode() & 0o7777,
            sha256,
            parts,
            link,
        };
        self.latest.insert(wanted.file.clone(), item.clone());
        self.pending.push(item);
        self.bytes += if self.links { 0 } else { added.bytes };
        added
    }

    /// Writes to the disk what was archived so far, and then names it in the manifest.
    pub fn flush(&mut self) -> io::Result<()> {
        let batch = self.take_batch();
        self.write_batch(&batch)
    }

    /// Returns what is not yet in the manifest.
    fn take_batch(&mut self) -> Vec<Item> {
        self.bytes = 0;
        std::mem::take(&mut self.pending)
    }

    /// Writes the blobs of some states to the disk, and then names them in the manifest.
    fn write_batch(&self, batch: &[Item]) -> io::Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        if !sys::sync_all_in(&self.archive.folder)? {
            for part in batch.iter().flat_map(|item| &item.parts) {
                sys::sync(&File::open(self.archive.blob(&part.sha256))?)?;
            }
        }
        let mut lines = Vec::new();
        for item in batch {
            serde_json::to_writer(&mut lines, item)?;
            lines.push(b'\n');
        }
        let len = self.manifest.metadata()?.len();
        sys::write(&self.manifest, &lines).inspect_err(|_| {
            // Half a line would join the next.
            let _ = sys::cut(&self.manifest, len);
        })?;
        sys::sync(&self.manifest)
    }

    /// Removes the states that are not wanted, and the blobs that only they need; returns how many
    /// states and how many bytes of blobs.
    pub fn prune(self, is_wanted: impl Fn(&Item) -> bool) -> io::Result<(usize, u64)> {
        let contents = self.archive.read()?;
        let mut new = temp::Temp::create(temp::name_beside(&self.archive.manifest()), 0o600)?;
        let (mut kept, mut gone): (HashSet<&str>, usize) = (HashSet::new(), 0);
        let mut linked: HashSet<&str> = HashSet::new();
        let mut reader = BufReader::new(File::open(self.archive.manifest())?);
        let (mut line, mut bytes) = (Vec::new(), Vec::new());
        let mut items = contents.items.iter();
        while reader.read_until(b'\n', &mut line)? > 0 {
            let item = serde_json::from_slice::<Item>(&line).ok().and_then(|_| items.next());
            match item {
                Some(item) if !is_wanted(item) => gone += 1,
                item => {
                    kept.extend(item.iter().flat_map(|item| &item.parts).map(|part| &*part.sha256));
                    linked.extend(item.and_then(|item| item.link.as_deref()));
                    bytes.extend_from_slice(&line);
                }
            }
            line.clear();
        }
        if gone == 0 {
            return Ok((0, 0));
        }
        sys::write(new.file()?, &bytes)?;
        sys::sync(new.file()?)?;
        sys::rename(new.path(), &self.archive.manifest())?;
        new.is_gone();
        let _ = sys::sync_folder(&self.archive.folder);
        let mut freed = 0;
        let all: HashSet<&str> =
            contents.items.iter().flat_map(|item| &item.parts).map(|part| &*part.sha256).collect();
        // A line that can't be read may need any blob that no other line names.
        for sha256 in all.difference(&kept) {
            for path in self.archive.blobs(sha256) {
                let Ok(facts) = fs::metadata(&path) else { continue };
                freed += facts.len();
                match sys::remove(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
        let links: HashSet<&str> = contents.items.iter().filter_map(|item| item.link.as_deref()).collect();
        for name in links.difference(&linked) {
            let path = self.archive.link(name);
            let is_last = |facts: &fs::Metadata| facts.nlink() == 1;
            freed += fs::metadata(&path).ok().filter(is_last).map_or(0, |facts| facts.len());
            match sys::remove(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok((gone, freed))
    }
}

impl Archive {
    /// Gives a file a second name in the archive, unless it has one; returns the name, or `None` if the
    /// file system does not allow it.
    fn link_to(&self, file: &Path, facts: &fs::Metadata) -> io::Result<Option<String>> {
        let name = name_of_link(facts);
        let to = self.link(&name);
        make_folder(sys::folder_of(&to))?;
        match sys::link(file, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => return Ok(None),
            Ok(()) => {}
        }
        // Another file may have got the name of this one meanwhile.
        if fs::metadata(&to).is_ok_and(|there| name_of_link(&there) == name) {
            return Ok(Some(name));
        }
        let _ = sys::remove(&to);
        Ok(None)
    }

    /// Stores a part, unless it is there; returns it, with the size of the new blob.
    fn pack(&self, block: &[u8], trusted: &HashSet<String>) -> io::Result<(Part, u64)> {
        let part = Part { sha256: hex(&Sha256::digest(block)), bytes: block.len() as u64 };
        if trusted.contains(&part.sha256) && self.blob(&part.sha256).is_file() {
            return Ok((part, 0));
        }
        let [path, _] = self.blobs(&part.sha256);
        let packed = zstd::bulk::compress(block, LEVEL)?;
        make_folder(sys::folder_of(&path))?;
        let mut new = temp::Temp::create(temp::name_beside(&self.folder.join("blob")), 0o600)?;
        sys::write(new.file()?, &packed)?;
        sys::begin_writeback(new.file()?);
        sys::rename(new.path(), &path)?;
        new.is_gone();
        Ok((part, packed.len() as u64))
    }
}

/// Returns whether a file has a second name in the archive of the user.
pub(super) fn is_linked(facts: &fs::Metadata) -> bool {
    Archive::of_user().is_some_and(|archive| fs::metadata(archive.link(&name_of_link(facts))).is_ok())
}

/// Returns the name of a link to a file: no other file has the same as long as the link exists.
fn name_of_link(facts: &fs::Metadata) -> String {
    format!("{:x}-{:x}", facts.dev(), facts.ino())
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it is missing".into(),
        _ => error.to_string(),
    }
}

/// Returns the length of the whole lines of a file.
fn whole_lines(file: &File, len: u64) -> io::Result<u64> {
    let mut end = len;
    while end > 0 {
        let from = end.saturating_sub(64 * 1024);
        let block = stamp::read_at(file, from, (end - from) as usize)?;
        if let Some(at) = memchr::memrchr(b'\n', &block) {
            return Ok(from + at as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

/// Returns whether a text is a SHA-256, so that it can be the name of a blob.
fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn bad(words: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, words)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    // The archive is as private as the sessions.
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Time;
    use std::io::Write;

    struct Place {
        folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir_all(folder.path().join("store")).unwrap();
            Place { folder }
        }

        fn archive(&self) -> Archive {
            Archive::in_folder(self.folder.path().join("archive"))
        }

        fn put(&self, name: &str, bytes: &[u8], seconds: u64) {
            let path = self.folder.path().join("store").join(name);
            fs::write(&path, bytes).unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }

        fn wanted(&self, name: &str) -> Wanted {
            let store = self.folder.path().join("store");
            let session = name.trim_end_matches(".jsonl").to_owned();
            Wanted { agent: "pi".into(), session, file: store.join(name), store, main: true, cwd: None }
        }

        fn add(&self, names: &[&str]) -> io::Result<Vec<Added>> {
            let mut writer = self.archive().begin()?;
            let wanted: Vec<Wanted> = names.iter().map(|name| self.wanted(name)).collect();
            let mut added = Vec::new();
            writer.add_all(&wanted, Time(0), |_, one| one.map(|one| added.push(one)))?;
            writer.flush()?;
            Ok(added)
        }

        fn unpack(&self, item: &Item) -> io::Result<Vec<u8>> {
            let mut out = Vec::new();
            self.archive().unpack(item, &mut |block| {
                out.extend_from_slice(block);
                Ok(())
            })?;
            Ok(out)
        }
    }

    fn random(len: usize) -> Vec<u8> {
        let mut state = 1u64;
        (0..len)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect()
    }

    #[test]
    fn a_file_costs_only_what_it_grew_by() {
        let place = Place::new();
        let mut bytes = random(3 * PART as usize + 100);
        place.put("s.jsonl", &bytes, 1);
        assert_eq!(place.add(&["s.jsonl"]).unwrap()[0].bytes, bytes.len() as u64);
        assert!(place.add(&["s.jsonl"]).unwrap()[0].is_known);
        bytes.extend_from_slice(b"and more\n");
        place.put("s.jsonl", &bytes, 2);
        assert_eq!(place.add(&["s.jsonl"]).unwrap()[0].bytes, 9);
        // A change in the middle costs all that follows it.
        bytes[PART as usize + 5] ^= 1;
        place.put("s.jsonl", &bytes, 3);
        assert_eq!(place.add(&["s.jsonl"]).unwrap()[0].bytes, bytes.len() as u64 - PART);
        let contents = place.archive().read().unwrap();
        assert_eq!((contents.items.len(), contents.latest().len()), (3, 1));
        assert_eq!(place.unpack(contents.latest()[0]).unwrap(), bytes);
        bytes[PART as usize + 5] ^= 1;
        assert_eq!(place.unpack(&contents.items[1]).unwrap(), bytes);
        assert!(place.archive().verify(&contents).is_empty());
    }

    #[test]
    fn many_small_additions_do_not_stay_many_parts() {
        let place = Place::new();
        let mut bytes = Vec::new();
        for number in 0..MOST_PARTS as u64 + 20 {
            bytes.extend_from_slice(format!("line {number}\n").as_bytes());
            place.put("s.jsonl", &bytes, number);
            place.add(&["s.jsonl"]).unwrap();
        }
        let contents = place.archive().read().unwrap();
        let last = contents.latest()[0].clone();
        assert!(last.parts.len() < 30, "{}", last.parts.len());
        assert_eq!(place.unpack(&last).unwrap(), bytes);
    }

    #[test]
    fn a_flipped_bit_is_found() {
        let place = Place::new();
        place.put("one.jsonl", &random(5000), 1);
        place.put("two.jsonl", b"text\n", 1);
        place.add(&["one.jsonl", "two.jsonl"]).unwrap();
        let archive = place.archive();
        let contents = archive.read().unwrap();
        let blob = archive.blob(&contents.items[0].parts[0].sha256);
        let bytes = fs::read(&blob).unwrap();
        for at in (10..bytes.len()).step_by(397) {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            fs::write(&blob, changed).unwrap();
            let bad = archive.verify(&contents);
            assert_eq!(bad.iter().map(|bad| &*bad.item.session).collect::<Vec<_>>(), ["one"], "{at}");
            assert!(place.unpack(&contents.items[0]).is_err());
        }
        fs::remove_file(&blob).unwrap();
        assert_eq!(archive.verify(&contents)[0].why, "it is missing");
    }

    #[test]
    fn an_archive_that_was_stopped_at_any_call_goes_on() {
        let bytes = random(20_000);
        let mut calls = 0;
        // Each run is stopped one call later, until one ends by itself.
        for stop in 0.. {
            let place = Place::new();
            place.put("one.jsonl", &bytes, 1);
            place.put("two.jsonl", b"text\n", 1);
            place.add(&["two.jsonl"]).unwrap();
            place.put("two.jsonl", b"text\nand more\n", 2);
            let mut number = 0;
            let hook = move |call: sys::Call| {
                number += 1;
                match number > stop {
                    // Half a line is written, and nothing after it.
                    true if number == stop + 1 && call == sys::Call::Write => Ok(Some(7)),
                    true => Err(io::Error::other("stopped")),
                    false => Ok(None),
                }
            };
            let is_done = sys::with_hook(hook, || place.add(&["one.jsonl", "two.jsonl"])).is_ok();
            let archive = place.archive();
            let contents = archive.read().unwrap();
            assert!(archive.verify(&contents).is_empty(), "stopped at {stop}");
            assert_eq!(contents.unread, 0, "stopped at {stop}");
            assert_eq!(place.unpack(&contents.items[0]).unwrap(), b"text\n");
            place.add(&["one.jsonl", "two.jsonl"]).unwrap();
            let contents = archive.read().unwrap();
            let latest = contents.latest();
            assert_eq!(latest.len(), 2, "stopped at {stop}");
            for item in latest {
                assert_eq!(
                    place.unpack(item).unwrap(),
                    fs::read(item.origin()).unwrap(),
                    "stopped at {stop}"
                );
            }
            assert!(archive.verify(&contents).is_empty());
            calls = stop;
            if is_done {
                break;
            }
        }
        assert!(calls > 8, "only {calls} calls");
    }

    #[test]
    fn only_blobs_that_nothing_needs_are_removed() {
        let place = Place::new();
        place.put("one.jsonl", b"one\n", 1);
        place.put("two.jsonl", b"two\n", 1);
        place.add(&["one.jsonl", "two.jsonl"]).unwrap();
        place.put("one.jsonl", b"one\nand more\n", 2);
        place.add(&["one.jsonl"]).unwrap();
        let archive = place.archive();
        let writer = archive.begin().unwrap();
        assert!(archive.begin().is_err(), "two write at once");
        assert_eq!(writer.prune(|item| item.session != "two").unwrap().0, 1);
        let contents = archive.read().unwrap();
        assert_eq!(contents.items.len(), 2);
        assert!(archive.verify(&contents).is_empty());
        let writer = archive.begin().unwrap();
        assert_eq!(writer.prune(|item| item.bytes > 4).unwrap().0, 1);
        let contents = archive.read().unwrap();
        assert!(archive.verify(&contents).is_empty());
        assert_eq!(place.unpack(&contents.items[0]).unwrap(), b"one\nand more\n");
    }

    #[test]
    fn pruning_that_was_stopped_at_any_call_loses_nothing_that_stays() {
        for stop in 0.. {
            let place = Place::new();
            place.put("one.jsonl", &random(20_000), 1);
            place.put("two.jsonl", b"text\n", 1);
            place.add(&["one.jsonl", "two.jsonl"]).unwrap();
            let archive = place.archive();
            let writer = archive.begin().unwrap();
            let mut number = 0;
            let hook = move |_: sys::Call| {
                number += 1;
                if number > stop { Err(io::Error::other("stopped")) } else { Ok(None) }
            };
            let is_wanted = |item: &Item| item.session != "two";
            let is_done = sys::with_hook(hook, || writer.prune(is_wanted)).is_ok();
            let contents = archive.read().unwrap();
            assert_eq!(contents.unread, 0, "stopped at {stop}");
            assert!(matches!(contents.items.len(), 1 | 2), "stopped at {stop}");
            assert!(archive.verify(&contents).is_empty(), "stopped at {stop}");
            assert_eq!(place.unpack(&contents.items[0]).unwrap(), random(20_000));
            if is_done {
                assert_eq!(contents.items.len(), 1);
                assert!(stop > 3, "{stop}");
                break;
            }
            archive.begin().unwrap().prune(is_wanted).unwrap();
            assert_eq!(archive.read().unwrap().items.len(), 1, "stopped at {stop}");
        }
    }

    #[test]
    fn a_linked_file_stays_if_it_is_deleted_or_replaced() {
        let place = Place::new();
        let archive = place.archive();
        let link = || {
            let mut writer = archive.begin().unwrap().with_links();
            let mut added = Added::default();
            let done = |_: &Wanted, one: io::Result<Added>| one.map(|one| added = one);
            writer.add_all(&[place.wanted("one.jsonl")], Time(0), done).unwrap();
            writer.flush().unwrap();
            (added.stored, added.is_known)
        };
        place.put("one.jsonl", b"one\n", 1);
        assert_eq!((link(), link()), ((0, false), (0, true)));
        let path = place.wanted("one.jsonl").file;
        assert!(is_linked_in(&archive, &path));
        // What is appended does not count until it is archived.
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"and more\n").unwrap();
        let contents = archive.read().unwrap();
        assert_eq!(place.unpack(contents.latest()[0]).unwrap(), b"one\n");
        assert!(archive.verify(&contents).is_empty());
        assert_eq!(link(), (0, false));
        fs::remove_file(&path).unwrap();
        let contents = archive.read().unwrap();
        assert_eq!(place.unpack(contents.latest()[0]).unwrap(), b"one\nand more\n");
        // A file in its place is another one.
        place.put("one.jsonl", b"other\n", 9);
        link();
        let contents = archive.read().unwrap();
        assert_eq!(place.unpack(contents.latest()[0]).unwrap(), b"other\n");
        assert_eq!(fs::read_dir(archive.folder().join("links")).unwrap().count(), 2);
        fs::write(&path, b"OTHER\n").unwrap();
        assert_eq!(archive.verify(&contents)[0].why, "it was changed in place");
        let (states, freed) = archive.begin().unwrap().prune(|item| item.bytes == 6).unwrap();
        assert_eq!((states, freed), (2, 13));
        assert_eq!(fs::read_dir(archive.folder().join("links")).unwrap().count(), 1);
    }

    fn is_linked_in(archive: &Archive, path: &Path) -> bool {
        let facts = fs::metadata(path).unwrap();
        facts.nlink() == 2 && archive.link(&name_of_link(&facts)).exists()
    }

    #[test]
    fn a_blob_is_a_plain_file_of_zstandard() {
        let place = Place::new();
        place.put("one.jsonl", b"one\n", 1);
        place.add(&["one.jsonl"]).unwrap();
        let archive = place.archive();
        let item = archive.read().unwrap().items[0].clone();
        let blob = archive.blob(&item.parts[0].sha256);
        assert!(blob.to_str().unwrap().ends_with(".zst"));
        assert_eq!(zstd::decode_all(File::open(&blob).unwrap()).unwrap(), b"one\n");
    }

    #[test]
    fn an_archive_of_the_first_versions_is_read_and_goes_on() {
        let place = Place::new();
        let bytes = random(PART as usize + 100);
        place.put("one.jsonl", &bytes, 1);
        place.put("two.jsonl", b"two\n", 1);
        place.add(&["one.jsonl", "two.jsonl"]).unwrap();
        let archive = place.archive();
        // As the first versions wrote it.
        let text = fs::read_to_string(archive.manifest()).unwrap();
        fs::write(archive.manifest(), text.replacen("zstd", "gzip", 1)).unwrap();
        for part in archive.read().unwrap().items.iter().flat_map(|item| &item.parts) {
            let [new, old] = archive.blobs(&part.sha256);
            let content = zstd::decode_all(File::open(&new).unwrap()).unwrap();
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(&content).unwrap();
            fs::write(old, packed.finish().unwrap()).unwrap();
            fs::remove_file(new).unwrap();
        }
        let contents = archive.read().unwrap();
        assert!(archive.verify(&contents).is_empty());
        assert_eq!(place.unpack(&contents.items[0]).unwrap(), bytes);
        // What grew shares the old blobs, and what is new is packed as today.
        let grown = [&bytes[..], b"more\n"].concat();
        place.put("one.jsonl", &grown, 2);
        assert_eq!(place.add(&["one.jsonl", "two.jsonl"]).unwrap()[0].bytes, 5);
        let contents = archive.read().unwrap();
        let latest = contents.latest();
        let endings: Vec<_> =
            latest.iter().flat_map(|item| &item.parts).map(|part| archive.blob(&part.sha256)).collect();
        let is_old = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "gz");
        assert_eq!(endings.iter().filter(|path| is_old(path)).count(), 3);
        assert_eq!(place.unpack(latest.iter().find(|item| item.bytes > 9).unwrap()).unwrap(), grown);
        assert!(archive.verify(&contents).is_empty());
        // The change is noted once.
        place.add(&["two.jsonl"]).unwrap();
        let text = fs::read_to_string(archive.manifest()).unwrap();
        assert_eq!(text.matches("{\"bough\":").count(), 2);
        archive.begin().unwrap().prune(|_| false).unwrap();
        assert!(endings.iter().all(|path| !path.exists()));
    }

    #[test]
    fn many_files_are_archived_at_a_time_with_the_same_result() {
        let place = Place::new();
        let names: Vec<String> = (0..40).map(|number| format!("{number:02}.jsonl")).collect();
        let bytes = random(2 * PART as usize + 5000);
        for (number, name) in names.iter().enumerate() {
            // One is a file of several parts, some are equal, and one is empty.
            let len = if number == 7 { bytes.len() } else { number % 20 * 20_000 };
            place.put(name, &bytes[..len], 1);
        }
        let mut all: Vec<&str> = names.iter().map(|name| &**name).collect();
        all.insert(9, "missing.jsonl");
        let mut writer = place.archive().begin().unwrap();
        let wanted: Vec<Wanted> = all.iter().map(|name| place.wanted(name)).collect();
        let mut seen = Vec::new();
        let done = |one: &Wanted, added: io::Result<Added>| {
            seen.push((one.session.clone(), added.ok().map(|added| added.bytes)));
            Ok::<(), io::Error>(())
        };
        writer.add_all(&wanted, Time(0), done).unwrap();
        writer.flush().unwrap();
        let expected: Vec<(String, Option<u64>)> = wanted
            .iter()
            .map(|one| (one.session.clone(), fs::metadata(&one.file).ok().map(|facts| facts.len())))
            .collect();
        assert_eq!(seen, expected);
        let archive = place.archive();
        let contents = archive.read().unwrap();
        assert_eq!(contents.items.len(), 40);
        assert!(archive.verify(&contents).is_empty());
        for item in &contents.items {
            assert_eq!(place.unpack(item).unwrap(), fs::read(item.origin()).unwrap());
        }
    }
}
