//! Adds files to an archive, and removes what no item needs.

use super::{Archive, FIRST_LINE, Item, MOST_PARTS, PART, Part, make_folder, name_of_link, whole_lines};
use crate::model::Time;
use crate::store::lock::Lock;
use crate::store::oplog::hex;
use crate::store::write::{stamp, sys, temp};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// After this many bytes the manifest gets what was archived so far, while more is packed.
const BATCH: u64 = 128 << 20;

/// How many bytes of small files are archived at a time, by all processors.
const GROUP: u64 = 64 << 20;

/// Fewer bytes than this are not worth a second thread.
const ALONE: u64 = 1 << 20;

/// How well blobs are packed: the fastest of the levels proper. Level 3 makes them 8 % smaller, and
/// takes 1.6 times as long.
const LEVEL: i32 = 1;

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
        let file = crate::store::write::steps::open(&wanted.file)?;
        let facts = file.metadata()?;
        let (len, mtime) = (facts.len(), stamp::mtime(&facts));
        let mut state =
            State { facts, sha256: String::new(), parts: Vec::new(), link: None, added: Added::default() };
        // A blob may be gone from the disk.
        let known = self.latest.get(&wanted.file).filter(|item| self.archive.has_blobs_of(item));
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
            add_known_parts(&mut state, &file, &item.parts, &mut whole)?;
        }
        let mut at: u64 = state.parts.iter().map(|part| part.bytes).sum();
        let is_one_part = at == 0 && len <= PART;
        while at < len {
            let blocks = next_blocks(&file, at, len)?;
            at += blocks.iter().map(|block| block.len() as u64).sum::<u64>();
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

/// Adds the stored parts that a file still begins with.
fn add_known_parts(state: &mut State, file: &File, parts: &[Part], whole: &mut Sha256) -> io::Result<()> {
    for part in parts {
        let at: u64 = state.parts.iter().map(|part: &Part| part.bytes).sum();
        let mut own = Sha256::new();
        let before = whole.clone();
        stamp::each_block(file, at, part.bytes, |block| {
            own.update(block);
            whole.update(block);
            Ok(())
        })?;
        if hex(&own.finalize()) != part.sha256 {
            *whole = before;
            break;
        }
        state.parts.push(part.clone());
    }
    Ok(())
}

/// Reads the next parts of a file: so many that all processors can pack them.
fn next_blocks(file: &File, mut at: u64, len: u64) -> io::Result<Vec<Vec<u8>>> {
    let many = rayon::current_num_threads() as u64 * 2;
    let mut blocks = Vec::new();
    while at < len && (blocks.len() as u64) < many {
        let block = stamp::read_at(file, at, (len - at).min(PART) as usize)?;
        if block.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        at += block.len() as u64;
        blocks.push(block);
    }
    Ok(blocks)
}
