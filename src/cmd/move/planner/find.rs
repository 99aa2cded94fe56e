//! Finding the sessions that move, and what else is in their folders.

use super::{Planner, Session, Wanted, name_of};
use crate::cmd::Failure;
use crate::cmd::relocate::chimera;
use crate::cmd::shared::parallel;
use crate::format::{Format, is_agents};
use crate::store::locate::{self, Store};
use crate::store::project_folder::{folder_for, home_of, is_named_for};
use crate::store::{self};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

impl Planner<'_> {
    /// Finds the sessions that move, and what else is in their folders.
    pub(super) fn find(&self) -> anyhow::Result<(Vec<Session>, BTreeMap<PathBuf, Folder>, usize)> {
        let mut sessions = Vec::new();
        let mut folders: BTreeMap<PathBuf, Folder> = BTreeMap::new();
        let mut seen = 0;
        if let Some((path, cwd)) = &self.wanted.session {
            sessions.push(self.only(path, cwd)?);
            return Ok((sessions, folders, 1));
        }
        for store in &self.wanted.stores {
            for path in files_of(store) {
                let Some(folder) = path.parent().map(Path::to_owned) else { continue };
                let Some(agent) = agent_of(store, &path) else { continue };
                if self.wanted.into.as_ref().is_some_and(|into| into.agent != agent) {
                    continue;
                }
                seen += 1;
                let entry = folders.entry(folder).or_default();
                let known = sessions.iter().map(|session: &Session| &*session.old_cwd);
                let cwd = match agent {
                    chimera::AGENT => chimera::cwd(&path, &self.wanted.map, known),
                    agent => home_of(agent, &path).map(|home| home.cwd),
                };
                let Some(cwd) = cwd else {
                    entry.stubs.push(path);
                    continue;
                };
                match self.wanted.map.apply(&cwd) {
                    Some(new) => {
                        let store = Store { agent, root: store.root.clone() };
                        entry.moving.push(sessions.len());
                        sessions.push(self.session(&store, path, cwd, new));
                    }
                    None => entry.others += 1,
                }
            }
        }
        self.add_stubs(&mut sessions, &mut folders);
        Ok((sessions, folders, seen))
    }

    /// Adds the files that name no working directory, if all sessions of their folder move.
    fn add_stubs(&self, sessions: &mut Vec<Session>, folders: &mut BTreeMap<PathBuf, Folder>) {
        for (folder, inside) in folders {
            let stubs = std::mem::take(&mut inside.stubs);
            let Some(first) = inside.moving.first().map(|at| &sessions[*at]) else { continue };
            let is_named = is_named_for(first.agent, &name_of(folder), &first.old_cwd);
            if inside.others > 0 || !is_named {
                inside.others += stubs.len();
                continue;
            }
            let (store, old, new) = (first.store.clone(), first.old_cwd.clone(), first.new_cwd.clone());
            for stub in stubs {
                inside.moving.push(sessions.len());
                sessions.push(self.session(&store, stub, old.clone(), new.clone()));
            }
        }
    }

    fn session(&self, store: &Store, from: PathBuf, old_cwd: String, new_cwd: String) -> Session {
        let target = self.wanted.into.as_ref().unwrap_or(store);
        let folder = from.parent().unwrap_or(Path::new("")).to_owned();
        let old = (target.root == store.root).then_some((folder.as_path(), old_cwd.as_str()));
        let to = match store.agent {
            chimera::AGENT => target.root.join(chimera::new_name(&from, &old_cwd, &new_cwd)),
            _ => folder_for(target, &new_cwd, old).join(from.file_name().unwrap_or_default()),
        };
        let format = match store.agent {
            "claude" => Format::Claude,
            "omp" => Format::Omp,
            chimera::AGENT => Format::Chimera,
            _ => Format::Pi,
        };
        let id = locate::session_id(&from);
        Session { agent: store.agent, id, from, to, old_cwd, new_cwd, store: store.clone(), format }
    }

    /// Returns the session that was named, wherever it is.
    fn only(&self, path: &Path, cwd: &str) -> anyhow::Result<Session> {
        let path = std::path::absolute(path)?;
        let opened = store::open_ends(&path, store::Options::default())?;
        let format = opened.session.format;
        let agent = format.agent();
        let refused = |what: String| -> anyhow::Error {
            let hint = opened.session.instead_of_writing();
            let hint = hint.unwrap_or("`bough export-branch` makes a session of it").into();
            Failure::Refused { what, hint }.into()
        };
        if is_agents(&path) {
            return Err(refused(format!("{}: a subagent moves with its session", path.display())));
        }
        let new = cwd.to_owned();
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        let in_store = self.wanted.stores.iter().find(|store| {
            path.starts_with(&store.root)
                || folder.canonicalize().is_ok_and(|real| real.starts_with(&store.root))
        });
        let old = match format {
            Format::Claude => home_of("claude", &path).map(|home| home.cwd),
            Format::Pi | Format::Omp => opened.session.header.as_ref().and_then(|header| header.cwd.clone()),
            // A session without a header may be that of this folder, or of any other.
            Format::Chimera => {
                let here = std::env::current_dir().unwrap_or_default();
                let above = here.ancestors().filter_map(Path::to_str);
                let cwd = chimera::cwd(&path, &self.wanted.map, above);
                cwd.or_else(|| chimera::is_hash(&path).then(String::new))
            }
            _ => return Err(refused(format!("{}: sessions of this format can't be moved", path.display()))),
        };
        let Some(old) = old else {
            return Err(refused(format!("{}: the session names no working directory", path.display())));
        };
        match (in_store, &self.wanted.into) {
            (_, Some(_)) | (Some(_), None) => {
                let root = in_store.map_or_else(|| folder.clone(), |store| store.root.clone());
                let mut session = self.session(&Store { agent, root }, path, old, new);
                session.format = format;
                Ok(session)
            }
            _ => {
                // Outside of a store the file keeps its folder; Chimera names it by the directory.
                let name = match format {
                    Format::Chimera => chimera::new_name(&path, &old, &new),
                    _ => path.file_name().unwrap_or_default().to_owned(),
                };
                let to = folder.join(name);
                let id = locate::session_id(&path);
                let store = Store { agent, root: folder };
                Ok(Session { agent, id, from: path, to, old_cwd: old, new_cwd: new, store, format })
            }
        }
    }
}

/// The sessions of one folder of a store.
#[derive(Default)]
pub(super) struct Folder {
    pub(super) moving: Vec<usize>,
    /// Sessions of other working directories.
    others: usize,
    /// Files that name no working directory.
    stubs: Vec<PathBuf>,
}

/// Returns the folders from which everything moves to one other folder.
pub(super) fn whole_folders(
    sessions: &[Session],
    folders: &BTreeMap<PathBuf, Folder>,
    wanted: &Wanted,
) -> BTreeMap<PathBuf, PathBuf> {
    let mut out = BTreeMap::new();
    for (folder, inside) in folders.iter().filter(|_| wanted.session.is_none()) {
        let its: Vec<&Session> = inside.moving.iter().map(|at| &sessions[*at]).collect();
        let Some(to) = its.first().and_then(|session| session.to.parent()) else { continue };
        let is_own = its[0].store.root != *folder;
        let goes_there = |session: &&Session| session.to.parent() == Some(to);
        if inside.others == 0 && is_own && to != folder && its.iter().all(goes_there) {
            out.insert(folder.clone(), to.to_owned());
        }
    }
    // A folder that contains another one keeps that.
    let nested: Vec<PathBuf> = out
        .keys()
        .filter(|folder| {
            folders
                .keys()
                .any(|other| other != *folder && other.starts_with(folder) && !out.contains_key(other))
        })
        .cloned()
        .collect();
    nested.iter().for_each(|folder| {
        out.remove(folder);
    });
    out
}

/// Returns the session files of a store. Those that movers left deeper than the agent looks count,
/// too.
fn files_of(store: &Store) -> Vec<PathBuf> {
    match store.agent {
        "claude" => locate::in_folder(&store.root),
        _ => locate::sessions(store).into_iter().map(|found| found.path).collect(),
    }
}

/// Returns the agent of a session file: that of its store, or else that of its format.
fn agent_of(store: &Store, path: &Path) -> Option<&'static str> {
    if !store.agent.is_empty() {
        return Some(store.agent);
    }
    let opened = store::open_ends(path, store::Options::default()).ok()?;
    Some(opened.session.format.agent())
        .filter(|agent| ["claude", "pi", "omp", chimera::AGENT].contains(agent))
}

/// Counts the sessions of the folders that stay because bough only reads the sessions of their agents.
pub(super) fn only_read(wanted: &Wanted) -> BTreeMap<&'static str, usize> {
    let mut out = BTreeMap::new();
    if wanted.session.is_some() || wanted.into.is_some() {
        return out;
    }
    for store in locate::stores(&[]).into_iter().filter(Store::is_guest) {
        let found = locate::sessions(&store);
        let moves = |found: &locate::Found| {
            locate::cwd_of_guest(&found.path).is_some_and(|cwd| wanted.map.moved(&cwd).is_some())
        };
        let count = parallel::map(&found, moves).into_iter().filter(|moves| *moves).count();
        if count > 0 {
            *out.entry(store.agent).or_default() += count;
        }
    }
    out
}
