//! `bough sessions --tree`: which session came from which, and the subagents of each.

use crate::cmd::shared::exit::Failures;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::thread_arg::{anchors, report_left_out, short, short_agent};
use crate::format::{Layout, is_agents};
use crate::model::{Count, Ix};
use crate::ops::{ids, thread};
use crate::store;
use crate::store::{Opened, locate, project};
use crate::ui::Ui;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The origin of a listed session.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The other's file.
    pub(crate) path: PathBuf,
    /// The other's id.
    pub(crate) session: String,
    /// The relation: `continues`, `forks`, `takes over`.
    pub(crate) how: &'static str,
    /// The entry at which it left the other, if known.
    pub(crate) at: Option<String>,
    /// How many entries it repeats.
    pub(crate) repeated: u32,
}

/// A subagent of a listed session.
#[derive(Clone, Debug)]
pub(crate) struct AgentRow {
    pub(crate) path: PathBuf,
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) ty: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) entries: usize,
    /// The entry that started it, and how it was found.
    pub(crate) at: Option<String>,
    pub(crate) by: &'static str,
    /// How many subagents are between it and the session.
    pub(crate) depth: usize,
}

/// The relations between the sessions of a project, which a single file does not contain.
#[derive(Default)]
pub(crate) struct Kinship {
    pub(crate) origins: HashMap<PathBuf, Origin>,
    pub(crate) agents: HashMap<PathBuf, Vec<AgentRow>>,
}

impl Kinship {
    /// Reads the projects that contain the sessions of Claude Code at these paths, each as a whole.
    pub(crate) fn read<'p>(
        paths: impl Iterator<Item = &'p Path>,
        agents: bool,
        failures: &mut Failures,
        ui: &mut Ui,
    ) -> anyhow::Result<Kinship> {
        let mut folders: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for path in paths {
            *folders.entry(path.parent().unwrap_or(Path::new("")).to_owned()).or_default() += 1;
        }
        let mut kinship = Kinship::default();
        for folder in folders.into_keys() {
            // The sessions of a folder that can't be read as a whole are listed nevertheless.
            if let Err(error) = kinship.project(&folder, agents, failures, ui) {
                failures.add(error, false, ui)?;
            }
        }
        Ok(kinship)
    }

    /// Adds the subagents of a session of oh-my-pi, which are files in a folder of the same name;
    /// returns the errors.
    pub(crate) fn omp(&mut self, session: &Path, global: &Global) -> Vec<store::Error> {
        let mut errors = Vec::new();
        let top = session.with_extension("");
        for path in locate::agents_of_omp(session) {
            let opened = match store::open(&path, global.options()) {
                Ok(opened) => opened.session,
                Err(error) if error.is_no_session() => continue,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let row = AgentRow {
                id: opened.id().unwrap_or_default(),
                name,
                ty: None,
                description: opened.name.clone(),
                entries: opened.entries.len(),
                at: None,
                by: "folder",
                depth: path
                    .strip_prefix(&top)
                    .map_or(0, |inside| inside.components().count().saturating_sub(1)),
                path,
            };
            self.agents.entry(session.to_owned()).or_default().push(row);
        }
        errors
    }

    fn project(
        &mut self,
        folder: &Path,
        agents: bool,
        failures: &mut Failures,
        ui: &mut Ui,
    ) -> anyhow::Result<()> {
        let listed = if folder == Path::new("") { Path::new(".") } else { folder };
        let mut unread = Vec::new();
        let mut layout = project::readable_layout(listed, &mut unread)?;
        for error in unread {
            // The list has already reported errors about sessions.
            let is_listed = matches!(&error, store::Error::Io { path, .. } if is_session(path));
            if !is_listed {
                failures.add(error.into(), false, ui)?;
            }
        }
        report_left_out(&layout, ui);
        if !agents {
            layout.files.truncate(layout.mains);
        }
        let Opened { session, files } = project::open(&layout, false)?;
        let found = thread::agents(&session, &files, &layout)?;
        let reading = thread::read_with(&session, &files, &anchors(&found, &layout))?;
        let id = |ix: Ix| ids::name(&session, &files, ix);
        // As in the list: without the `.` of the current folder.
        let path = |file: u16| {
            let path = &layout.files[usize::from(file)].path;
            if folder == Path::new("") {
                path.strip_prefix(".").unwrap_or(path).to_owned()
            } else {
                path.clone()
            }
        };
        for kin in thread::family(&session, &files, &layout, &reading)? {
            if let Some(origin) = kin.origin {
                self.origins.insert(
                    path(kin.file),
                    Origin {
                        path: path(origin.file),
                        session: layout.files[usize::from(origin.file)].stem().to_owned(),
                        how: origin.how.name(),
                        at: origin.at.map(id).transpose()?,
                        repeated: kin.repeated,
                    },
                );
            }
        }
        for agent in &found {
            let Some(owner) = agent.owner else { continue };
            let sidecar = agent.sidecar.map(|at| &layout.sidecars[at]);
            let text = |of: fn(&crate::format::Sidecar) -> &Option<String>| {
                sidecar.and_then(|known| of(known).clone())
            };
            let row = AgentRow {
                path: path(agent.file),
                id: layout.files[usize::from(agent.file)].agent().unwrap_or_default().to_owned(),
                name: text(|known| &known.name),
                ty: text(|known| &known.ty),
                description: text(|known| &known.description),
                entries: session.entries.of_file(agent.file).len(),
                at: agent.anchored.entry().map(id).transpose()?,
                by: agent.anchored.name(),
                depth: depth(agent, &found, &layout, &session),
            };
            self.agents.entry(path(owner)).or_default().push(row);
        }
        Ok(())
    }
}

/// Returns whether a file in a project is a session, judging by its name.
fn is_session(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl") && !is_agents(path)
}

/// Returns how many subagents are between a subagent and its session.
fn depth(
    agent: &thread::Agent,
    all: &[thread::Agent],
    layout: &Layout,
    session: &crate::format::Session,
) -> usize {
    let mut depth = 0;
    let mut at = agent.anchored.entry();
    while let Some(ix) = at {
        let file = session.entries.file(ix);
        // The subagents follow the main files, in the order of their numbers.
        if usize::from(file) < layout.mains || depth > all.len() {
            break;
        }
        depth += 1;
        at = all.binary_search_by_key(&file, |agent| agent.file).ok().and_then(|at| all[at].anchored.entry());
    }
    depth
}

impl Origin {
    /// Returns `continues 5e550001 at 00000007, 4 entries repeated`.
    pub(crate) fn phrase(&self) -> String {
        let mut words = format!("{} {}", self.how, short(&self.session));
        if let Some(at) = &self.at {
            words += &format!(" at {}", short(at));
        }
        if self.repeated > 0 {
            words += &format!(", {} repeated", Count("entry", "entries", self.repeated as usize));
        }
        words
    }

    /// Returns the same for scripts.
    pub(crate) fn json_row(&self) -> OriginRow<'_> {
        OriginRow {
            session: &self.session,
            file: self.path.display().to_string(),
            how: self.how,
            repeated: self.repeated,
            at: self.at.as_deref(),
        }
    }
}

/// The session that another came from.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OriginRow<'a> {
    /// The id of that session.
    session: &'a str,
    /// Its file.
    file: String,
    /// What says so.
    how: &'static str,
    /// How many entries it repeats.
    repeated: u32,
    /// The entry at which it leaves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<&'a str>,
}

impl AgentRow {
    /// Returns `agent Explore bb55ee66 · 12 entries · at 00000003 · Find the tests`.
    pub(crate) fn phrase(&self) -> String {
        let called = self.name.as_deref().or(self.ty.as_deref());
        let mut words = match called {
            Some(called) => format!("agent {called} {}", short_agent(&self.id)),
            None => format!("agent {}", short_agent(&self.id)),
        };
        words += &format!(" · {}", Count("entry", "entries", self.entries));
        match &self.at {
            Some(at) => words += &format!(" · at {}", short(at)),
            None if self.by == "folder" => {}
            None => words += " · start unknown",
        }
        if let Some(description) = &self.description {
            words += &format!(" · {description}");
        }
        words
    }

    /// Returns the same for scripts.
    pub(crate) fn json_row(&self) -> CalledRow<'_> {
        CalledRow {
            agent: &self.id,
            file: self.path.display().to_string(),
            entries: self.entries,
            by: self.by,
            depth: self.depth,
            name: self.name.as_deref(),
            ty: self.ty.as_deref(),
            description: self.description.as_deref(),
            at: self.at.as_deref(),
        }
    }
}

/// An agent that a session called.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CalledRow<'a> {
    /// The id of the agent.
    agent: &'a str,
    /// Its file.
    file: String,
    /// How many entries it has.
    entries: usize,
    /// How it is known to belong here.
    by: &'static str,
    /// How far below the session it was called.
    depth: usize,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    ty: Option<&'a str>,
    /// What it was called for.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    /// The entry that called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<&'a str>,
}

/// A row of the tree: its index, and the drawings before it and before the lines below it.
pub(crate) struct Place {
    pub(crate) row: usize,
    pub(crate) branch: String,
    pub(crate) below: String,
}

/// Orders rows so that each comes below the one that it came from; siblings and roots keep their
/// order.
///
/// `parents` contains the row that each came from. A row that came from itself, directly or through
/// others, is a root.
pub(crate) fn arrange(parents: &[Option<usize>], ascii: bool) -> Vec<Place> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
    let mut roots = Vec::new();
    let circles = cycles(parents);
    for (row, parent) in parents.iter().enumerate() {
        match parent.filter(|_| !circles[row]) {
            Some(parent) => children[parent].push(row),
            None => roots.push(row),
        }
    }
    let [tee, corner, bar] = if ascii { ["|- ", "`- ", "|  "] } else { ["├─ ", "└─ ", "│  "] };
    let mut out = Vec::with_capacity(parents.len());
    let mut todo: Vec<(usize, String, String)> =
        roots.into_iter().rev().map(|row| (row, String::new(), String::new())).collect();
    while let Some((row, branch, below)) = todo.pop() {
        for (at, child) in children[row].iter().enumerate().rev() {
            let is_last = at + 1 == children[row].len();
            let branch = format!("{below}{}", if is_last { corner } else { tee });
            let deeper = format!("{below}{}", if is_last { "   " } else { bar });
            todo.push((*child, branch, deeper));
        }
        let below = if children[row].is_empty() { format!("{below}   ") } else { format!("{below}{bar}") };
        out.push(Place { row, branch, below });
    }
    out
}

/// Returns the rows that come from themselves, directly or through others; one for each cycle.
fn cycles(parents: &[Option<usize>]) -> Vec<bool> {
    let mut walk = vec![usize::MAX; parents.len()];
    let mut out = vec![false; parents.len()];
    for from in 0..parents.len() {
        let mut at = Some(from);
        while let Some(row) = at.filter(|row| walk[*row] == usize::MAX) {
            walk[row] = from;
            at = parents[row];
        }
        let start = at.filter(|row| walk[*row] == from);
        let mut at = start;
        while let Some(row) = at {
            out[row] = true;
            at = parents[row].filter(|row| Some(*row) != start);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn rows_stand_below_the_ones_that_they_came_from() {
        let check = |parents: &[Option<usize>], wanted: &[&str]| {
            let rows: Vec<String> =
                arrange(parents, true).iter().map(|place| format!("{}{}", place.branch, place.row)).collect();
            assert_eq!(rows, wanted);
        };
        check(&[],                                       &[]);
        check(&[None, Some(0), Some(0)],                 &["0", "|- 1", "`- 2"]);
        check(&[Some(2), Some(0), None],                 &["2", "`- 0", "   `- 1"]);
        check(&[None, Some(0), Some(1), Some(0), None],  &["0", "|- 1", "|  `- 2", "`- 3", "4"]);
        check(&[Some(1), Some(0)],                       &["0", "1"]);
        check(&[Some(0)],                                &["0"]);
    }
}
