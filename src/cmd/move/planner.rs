//! Finds the sessions that move, and plans what happens to each of their files.

mod files;
mod find;
mod refusal;

use crate::cmd::Failure;
use crate::format::claude::stored_results;
use crate::format::{Format, is_agents};
use crate::model::{Plan, Target};
use crate::ops::export::MovedResults;
use crate::ops::relocate::{Kind, PathMap, Paths};
use crate::store::companions::{Sidecars, folder_of};
use crate::store::locate::Store;
use crate::store::project_folder::{Contents, contents};
use crate::store::{self, Files, project};
use find::{only_read, whole_folders};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is to be moved.
pub(super) struct Wanted {
    /// The folders that have new names.
    pub(super) map: PathMap,
    /// The only session, and its new working directory.
    pub(super) session: Option<(PathBuf, String)>,
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
