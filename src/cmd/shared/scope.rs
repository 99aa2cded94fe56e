//! The sessions of a command that works on one session, on all of the project, or on all of them.

use super::options::Global;
use super::session_arg;
use crate::cmd::{Exit, Failure};
use crate::store::locate::{self, Found};
use crate::ui::Ui;
use std::path::PathBuf;

/// Reports that there is no session where a command looks for some.
pub(crate) fn none_found(ui: &mut Ui) -> Exit {
    if !ui.look.quiet {
        ui.note("no sessions found");
    }
    Exit::No
}

/// The options that choose many sessions.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct Scope {
    /// All sessions of the current project
    ///
    /// They are those of the current folder, or of the nearest folder above it that has any.
    #[arg(short, long, conflicts_with = "all")]
    pub(crate) project: bool,

    /// All sessions of all agents
    #[arg(long, alias = "all-sessions")]
    pub(crate) all: bool,
}

impl Scope {
    /// Returns the sessions, newest first within a project; `None` if no option asks for several.
    ///
    /// Fails if words or `-s` name sessions, too.
    pub(crate) fn sessions(self, is_named: bool, global: &Global) -> Result<Option<Vec<Found>>, Failure> {
        let option = match self {
            Scope { project: true, .. } => "--project",
            Scope { all: true, .. } => "--all",
            _ => return Ok(None),
        };
        if is_named || global.session.is_some() {
            let what = format!("`{option}` chooses the sessions, so that no other can be named");
            return Err(Failure::Usage { what, hint: String::new() });
        }
        if self.project {
            return Ok(Some(session_arg::of_project(global, locate::Worktrees::Listed)));
        }
        let stores = locate::stores(&global.roots);
        Ok(Some(stores.iter().flat_map(locate::sessions).collect()))
    }

    /// Returns the files, including those of subagents; `None` if no option asks for several sessions.
    pub(crate) fn files(self, is_named: bool, global: &Global) -> Result<Option<Vec<PathBuf>>, Failure> {
        if self.all && !is_named && global.session.is_none() {
            let stores = locate::stores(&global.roots);
            return Ok(Some(
                stores.into_iter().flat_map(|store| locate::session_files_below(&store.root)).collect(),
            ));
        }
        Ok(self.sessions(is_named, global)?.map(locate::with_subagents))
    }
}
