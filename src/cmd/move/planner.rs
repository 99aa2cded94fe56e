//! Finds the sessions that move, and plans what happens to each of their files.

mod files;

use super::chimera;
use crate::cmd::Failure;
use crate::cmd::shared::parallel;
use crate::format::claude::stored_results;
use crate::format::{Format, is_agents};
use crate::model::{Plan, Target};
use crate::ops::export::MovedResults;
use crate::ops::relocate::{Kind, PathMap, Paths};
use crate::store::clients::{self, Client};
use crate::store::companions::{Sidecars, folder_of};
use crate::store::locate::{self, Store};
use crate::store::project_folder::{Contents, contents, folder_for, home_of, is_named_for};
use crate::store::{self, Files, project};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is to be moved.
pub(super) struct Wanted {
    /// The folders that have new names.
    pub(super) map: PathMap,
    /// The only session, and its new working directory.
    pub(super) session: Option<(PathBuf, PathBuf)>,
    pub(super) stores: Vec<Store>,
    /// The store that gets the sessions, if it is another one.
    pub(super) into: Option<Store>,
    pub(super) copies: bool,
    pub(super) text: bool,
    pub(super) trust: bool,
    /// Whether running agents are no reason to refuse.
    pub(super) allows_live: bool,
}

/// A session that moves.
pub(super) struct Session {
    pub(super) agent: &'static str,
    pub(super) id: String,
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
    /// Empty if it is not known.
    pub(super) old_cwd: String,
    pub(super) new_cwd: String,
    store: Store,
    format: Format,
}

/// A complete plan.
pub(super) struct Planned {
    pub(super) files: Files,
    pub(super) plan: Plan,
    pub(super) format: Format,
    pub(super) sessions: Vec<Session>,
    /// Files that stay although one might expect them to move, and why.
    pub(super) left: Vec<(PathBuf, String)>,
    /// How many sessions of the folders stay because bough does not write them, by agent.
    pub(super) only_read: BTreeMap<&'static str, usize>,
    /// How many sessions were looked at.
    pub(super) seen: usize,
}

impl Planned {
    /// Returns whether a new working directory does not exist.
    pub(super) fn is_new_missing(&self) -> bool {
        self.sessions.iter().any(|session| !Path::new(&session.new_cwd).is_dir())
    }
}

pub(super) struct Planner<'w> {
    wanted: &'w Wanted,
    files: Files,
    plan: Plan,
    left: Vec<(PathBuf, String)>,
    /// The files that are planned, with their new paths.
    planned: HashMap<PathBuf, PathBuf>,
    /// The new paths.
    taken: HashSet<PathBuf>,
    /// The files whose new content is not yet planned.
    wanted_files: Vec<WantedFile>,
    beside: Sidecars,
    /// What [`old_agents`] returns for each folder.
    old_agents: HashMap<PathBuf, HashMap<String, Vec<PathBuf>>>,
    emptied: BTreeSet<PathBuf>,
}

/// A file that gets another path, or other paths in it, or both.
struct WantedFile {
    from: PathBuf,
    to: PathBuf,
    file: u16,
    kind: Kind,
    paths: Arc<Paths>,
}

/// The sessions of one folder of a store.
#[derive(Default)]
struct Folder {
    moving: Vec<usize>,
    /// Sessions of other working directories.
    others: usize,
    /// Files that name no working directory.
    stubs: Vec<PathBuf>,
}

impl<'w> Planner<'w> {
    fn new(wanted: &'w Wanted) -> Planner<'w> {
        Planner {
            wanted,
            files: Files::new(),
            plan: Plan {
                verb: if wanted.copies { "copy" } else { "move" }.into(),
                keep_times: true,
                ..Plan::default()
            },
            left: Vec::new(),
            planned: HashMap::new(),
            taken: HashSet::new(),
            wanted_files: Vec::new(),
            beside: Sidecars::default(),
            old_agents: HashMap::new(),
            emptied: BTreeSet::new(),
        }
    }

    /// Plans everything. The plan is empty if no session moves.
    pub(super) fn plan(wanted: &'w Wanted) -> anyhow::Result<Planned> {
        let mut planner = Planner::new(wanted);
        let (mut sessions, folders, seen) = planner.find()?;
        planner.refuse_clients(&sessions)?;
        planner.refuse_twins(&sessions)?;
        if let Some(same) = sessions.iter().find(|session| wanted.copies && session.from == session.to) {
            let what = format!("{}: the copy would be the session itself", same.from.display());
            let hint = "leave `--copy` out, or name another store with `--into`";
            return Err(Failure::Refused { what, hint: hint.into() }.into());
        }
        let whole = whole_folders(&sessions, &folders, wanted);
        for session in &sessions {
            planner.add_session(session, &whole)?;
        }
        for (folder, to) in &whole {
            planner.add_rest(folder, to)?;
        }
        planner.note_shared(&sessions, &folders, &whole);
        planner.add_histories(&sessions)?;
        planner.add_settings(&sessions)?;
        planner.rewrite_all()?;
        let mut emptied: Vec<PathBuf> = planner.emptied.into_iter().collect();
        emptied.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        planner.plan.emptied = emptied;
        // The files of a session come before the session itself.
        let is_main: HashSet<&Path> = sessions.iter().map(|session| session.from.as_path()).collect();
        let files = &planner.files;
        planner.plan.targets.sort_by_key(|target| match target {
            Target::Move { file, .. } => is_main.contains(files.path(*file)),
            _ => true,
        });
        let omp = sessions.iter().any(|session| session.format == Format::Omp);
        let format =
            if omp { Format::Omp } else { sessions.first().map_or(Format::Claude, |one| one.format) };
        sessions.sort_by(|one, other| one.from.cmp(&other.from));
        let (files, plan, left) = (planner.files, planner.plan, planner.left);
        let only_read = only_read(wanted);
        Ok(Planned { files, plan, format, sessions, left, only_read, seen })
    }

    /// Finds the sessions that move, and what else is in their folders.
    fn find(&self) -> anyhow::Result<(Vec<Session>, BTreeMap<PathBuf, Folder>, usize)> {
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
    fn only(&self, path: &Path, cwd: &Path) -> anyhow::Result<Session> {
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
        let new = cwd.to_str().unwrap_or_default().to_owned();
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

    /// Refuses to move a session that a running client continues, or the settings of any.
    fn refuse_clients(&self, sessions: &[Session]) -> anyhow::Result<()> {
        if self.wanted.allows_live || self.wanted.copies && !self.wanted.trust {
            return Ok(());
        }
        let configs: BTreeSet<PathBuf> = sessions.iter().filter_map(config_of).collect();
        let running: Vec<Client> = configs.iter().flat_map(|config| clients::running(config)).collect();
        let uses = |client: &Client, session: &Session| {
            client.session == session.id
                || self.wanted.session.is_none() && self.wanted.map.moved(&client.cwd).is_some()
        };
        for session in sessions.iter().filter(|session| session.format == Format::Claude) {
            if let Some(client) = running.iter().find(|client| uses(client, session)) {
                let what = format!(
                    "{}: a running Claude Code (process {}) is in {}",
                    session.from.display(),
                    client.pid,
                    client.cwd
                );
                return Err(
                    Failure::Refused { what, hint: "end it first, or use `--allow=live`".into() }.into()
                );
            }
        }
        if let Some(client) = running.first().filter(|_| self.wanted.trust) {
            let what =
                format!("Claude Code is running (process {}), and would overwrite its settings", client.pid);
            return Err(Failure::Refused { what, hint: "end it first, or leave `--trust` out".into() }.into());
        }
        Ok(())
    }

    /// Refuses if two sessions would have one id in a folder.
    fn refuse_twins(&self, sessions: &[Session]) -> anyhow::Result<()> {
        let moving: HashSet<&Path> =
            sessions.iter().map(|one| one.from.as_path()).filter(|_| !self.wanted.copies).collect();
        let mut known: HashMap<PathBuf, &Path> = HashMap::new();
        let mut ids: HashMap<PathBuf, HashMap<String, PathBuf>> = HashMap::new();
        for session in sessions.iter().filter(|session| session.from != session.to) {
            let folder = session.to.parent().unwrap_or(Path::new("")).to_owned();
            let there = ids.entry(folder.clone()).or_insert_with(|| {
                let store = Store { agent: session.agent, root: folder.clone() };
                let files = locate::sessions(&store).into_iter().map(|found| found.path);
                let files =
                    files.filter(|path| path.parent() == Some(&folder) && !moving.contains(path.as_path()));
                files.map(|path| (locate::session_id(&path), path)).collect()
            });
            let there = there.get(&session.id).filter(|other| **other != session.from);
            let other = there.map(PathBuf::as_path).or_else(|| known.get(&session.to).copied());
            if let Some(other) = other {
                let what = format!(
                    "{}: a session with this id is already in the new folder: {}",
                    session.from.display(),
                    other.display()
                );
                let hint = "`bough diff --from` shows how the two differ; move or rename one of them first";
                return Err(Failure::Refused { what, hint: hint.into() }.into());
            }
            known.insert(session.to.clone(), &session.from);
        }
        Ok(())
    }

    /// Plans the files of a session.
    fn add_session(&mut self, session: &Session, whole: &BTreeMap<PathBuf, PathBuf>) -> anyhow::Result<()> {
        let (from, to) = (&session.from, &session.to);
        let (own, new_own) = (folder_of(from), folder_of(to));
        let inside = match session.format {
            Format::Claude | Format::Omp => contents(&own)?,
            _ => Contents::default(),
        };
        let paths = self.paths(session, &inside, whole);
        for file in &inside.files {
            let Ok(rest) = file.strip_prefix(&own) else { continue };
            self.add(file, &new_own.join(rest), kind_of(session.format, file), &paths, false)?;
        }
        if from != to {
            self.left
                .extend(inside.others.iter().map(|path| (path.clone(), "it is not a regular file".into())));
            self.emptied.extend(inside.folders);
        }
        let folder = from.parent().unwrap_or(Path::new(""));
        let new_folder = to.parent().unwrap_or(Path::new(""));
        for name in self.beside.of(from, Some(&session.id))? {
            self.add(&folder.join(&name), &new_folder.join(&name), Kind::Other, &paths, false)?;
        }
        if session.format == Format::Claude {
            let agents = self.old_agents.entry(folder.to_owned()).or_insert_with(|| old_agents(folder));
            for agent in agents.get(&session.id).cloned().unwrap_or_default() {
                let name = agent.file_name().unwrap_or_default();
                self.add(&agent, &new_folder.join(name), Kind::Claude, &paths, false)?;
            }
        }
        self.add(from, to, kind_of(session.format, from), &paths, true)?;
        if let Some((old, new)) = self.file_history(session) {
            for file in contents(&old)?.files {
                let Ok(rest) = file.strip_prefix(&old) else { continue };
                self.add(&file, &new.join(rest), Kind::Other, &paths, false)?;
            }
        }
        Ok(())
    }

    /// Returns the paths that change in the files of a session.
    fn paths(&self, session: &Session, inside: &Contents, whole: &BTreeMap<PathBuf, PathBuf>) -> Arc<Paths> {
        let mut paths = Paths { text: self.wanted.text, ..Paths::default() };
        match self.wanted.session {
            Some(_) if session.old_cwd.is_empty() => {}
            Some(_) => paths.folders.add(&session.old_cwd, &session.new_cwd),
            None => paths.folders = self.wanted.map.clone(),
        }
        let mut add = |old: &Path, new: &Path| {
            if let (Some(old), Some(new)) = (old.to_str(), new.to_str())
                && old != new
            {
                paths.files.add(old, new);
            }
        };
        for (old, new) in [(&session.from, &session.to), (&folder_of(&session.from), &folder_of(&session.to))]
        {
            add(old, new);
            if let Ok(real) = old.canonicalize() {
                add(&real, new);
            }
        }
        for (old, new) in whole {
            add(old, new);
        }
        if session.format == Format::Claude {
            let results = folder_of(&session.from).join(stored_results::FOLDER);
            let names = inside.files.iter().filter(|file| file.parent() == Some(&results));
            let names = names.filter_map(|file| Some(file.file_name()?.to_str()?.to_owned())).collect();
            let old = folder_of(&session.from);
            let mut spellings = vec![old.clone()];
            spellings.extend(old.canonicalize());
            // Records of another machine name the folder as it was called there.
            if let Some(config) = self.wanted.map.pairs().iter().find_map(|(before, after)| {
                let below = old.strip_prefix(after).ok()?;
                Some(Path::new(before).join(below))
            }) {
                spellings.push(config);
            }
            paths.results = MovedResults::new(&spellings, &folder_of(&session.to), names);
        }
        Arc::new(paths)
    }
}

/// Counts the sessions of the folders that stay because bough only reads the sessions of their agents.
fn only_read(wanted: &Wanted) -> BTreeMap<&'static str, usize> {
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

/// Returns the folders from which everything moves to one other folder.
fn whole_folders(
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

/// Returns the configuration folder of Claude Code to which a session belongs.
fn config_of(session: &Session) -> Option<PathBuf> {
    let is_store = session.format == Format::Claude && session.store.root.ends_with("projects");
    session.store.root.parent().filter(|_| is_store).map(Path::to_owned)
}

/// Returns the transcripts of subagents that old clients kept beside the sessions, by the id of their
/// session.
fn old_agents(folder: &Path) -> HashMap<String, Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_agent = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "jsonl") && is_agents(path) && path.is_file()
    };
    let mut paths: Vec<PathBuf> = entries.filter(is_agent).collect();
    paths.sort();
    let mut out: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for path in paths {
        if let Some(session) = project::session_of_agent(&path) {
            out.entry(session).or_default().push(path);
        }
    }
    out
}

fn kind_of(format: Format, path: &Path) -> Kind {
    let ending = path.extension().unwrap_or_default();
    let is_result = path.parent().is_some_and(|folder| folder.ends_with(stored_results::FOLDER));
    match format {
        _ if is_result => Kind::Other,
        Format::Claude if ending == "jsonl" => Kind::Claude,
        Format::Claude if ending == "json" => Kind::Sidecar,
        Format::Pi | Format::Omp if ending == "jsonl" => Kind::Pi,
        Format::Chimera => Kind::Chimera,
        _ => Kind::Other,
    }
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn same_content(one: &Path, other: &Path) -> std::io::Result<bool> {
    let (one, other) = (store::read_file(one)?, store::read_file(other)?);
    Ok(one == other)
}
