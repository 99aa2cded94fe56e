//! What an archive contains: its items, as the lines of the manifest name them.

use super::is_hash;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

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
    #[serde(with = "crate::store::oplog::lines::path")]
    pub store: PathBuf,
    /// The file, relative to that folder.
    #[serde(with = "crate::store::oplog::lines::path")]
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
    pub(super) fn is_sound(&self) -> bool {
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

/// The files of an archive.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contents {
    /// All states of all files, in the order in which they were archived.
    pub items: Vec<Item>,
    /// How many lines of the manifest can't be read.
    pub unread: usize,
    /// Whether the manifest says that blobs are packed with Zstandard.
    pub(super) is_zstd: bool,
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

    /// Returns the sessions, each with the files that belong to it, in the order in which they were archived. Two session
    /// files with one id are two sessions: copies, or one that was moved.
    pub fn sessions(&self) -> Vec<Archived<'_>> {
        let latest = self.latest();
        let mut of_id: HashMap<(&Path, &str), Vec<&Item>> = HashMap::new();
        for item in &latest {
            of_id.entry((&item.store, &item.session)).or_default().push(item);
        }
        let files_of = |main: &'_ Item| of_id[&(&*main.store, &*main.session)].clone();
        latest.iter().filter(|item| item.main).map(|main| Archived::new(main, &files_of(main))).collect()
    }
}

/// A session of the archive: a session file, and the files that belong to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Archived<'c> {
    /// The session file.
    pub main: &'c Item,
    /// The other files, in the order in which they were archived.
    pub files: Vec<&'c Item>,
}

impl<'c> Archived<'c> {
    /// `all` are all files of the store with the id of the session. A file belongs to the session to whose file it is
    /// nearest; to all of them if it is near none, as the file history of Claude Code is.
    fn new(main: &'c Item, all: &[&'c Item]) -> Archived<'c> {
        let mains: Vec<PathBuf> = all.iter().filter(|item| item.main).map(|item| item.origin()).collect();
        let own = main.origin();
        let is_its = |item: &&&Item| {
            let path = item.origin();
            let nearest = mains.iter().map(|main| nearness(main, &path)).max().unwrap_or(0);
            !item.main && nearness(&own, &path) == nearest
        };
        Archived { main, files: all.iter().filter(is_its).copied().collect() }
    }

    /// Returns all files, the session file last.
    pub fn items(&self) -> impl Iterator<Item = &'c Item> {
        self.files.iter().copied().chain([self.main])
    }

    /// Returns whether the session file is gone from where it was.
    pub fn is_missing(&self) -> bool {
        !self.main.origin().exists()
    }

    /// Returns whether another session has everything of this one, so that nothing is lost without it. Only compares
    /// hashes: if it says no, it may be so nevertheless.
    pub fn is_contained_in(&self, other: &Archived<'_>) -> bool {
        let has = |item: &Item| {
            let name = self.name_of(item);
            other.files.iter().any(|file| other.name_of(file) == name && begins_with(file, item))
        };
        begins_with(other.main, self.main) && self.files.iter().all(|item| has(item))
    }

    /// Returns the path of a file from the folder of the session file.
    fn name_of(&self, item: &Item) -> PathBuf {
        let (main, path) = (self.main.origin(), item.origin());
        main.parent().and_then(|folder| path.strip_prefix(folder).ok()).map_or(path.clone(), Path::to_owned)
    }
}

/// Returns how near a file is to a session file: how long the path is that they share, if it is the folder of the
/// session file, or the one that is named as it is; 0 if neither.
fn nearness(main: &Path, file: &Path) -> usize {
    let near = [Some(main.with_extension("")), main.parent().map(Path::to_owned)];
    let shared = near.into_iter().flatten().find(|folder| file.starts_with(folder));
    shared.map_or(0, |folder| folder.components().count())
}

/// Returns whether the content of a file is, or begins with, that of another, as far as hashes say.
fn begins_with(file: &Item, beginning: &Item) -> bool {
    let is_beginning =
        || beginning.link.is_none() && file.link.is_none() && file.parts.starts_with(&beginning.parts);
    file.sha256 == beginning.sha256 || is_beginning()
}
