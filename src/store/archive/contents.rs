//! What an archive contains: its items, as the lines of the manifest name them.

use super::is_hash;
use crate::store::locate::SHORTEST_ID;
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

    /// Returns the files of the sessions whose id is, or begins with, a word of four letters or
    /// more, by session; those of one store first.
    pub fn session(&self, word: &str) -> Vec<Vec<&Item>> {
        let latest = self.latest();
        let is_exact = latest.iter().any(|item| item.session == word);
        let fits = |item: &&&Item| match is_exact {
            true => item.session == word,
            false => word.len() >= SHORTEST_ID && item.session.starts_with(word),
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
