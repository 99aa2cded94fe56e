//! The sessions of a command that works on one session, on those of a list, on all of the project, or
//! on all of them.

use super::options::Global;
use super::session_arg;
use crate::cmd::{Exit, Failure};
use crate::store::locate::{self, Found};
use crate::ui::{Ui, text};
use anyhow::Context;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Reports that there is no session where a command looks for some.
pub(crate) fn none_found(ui: &mut Ui) -> Exit {
    if !ui.look.quiet {
        ui.note("no sessions found");
    }
    Exit::No
}

/// The options that choose many sessions.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Scope {
    /// All sessions of the current project
    ///
    /// They are those of the current folder, or of the nearest folder above it that has any.
    #[arg(short, long, conflicts_with = "all")]
    pub(crate) project: bool,

    /// All sessions of all agents
    #[arg(long, alias = "all-sessions")]
    pub(crate) all: bool,

    /// The sessions that a file (or `-`) lists
    ///
    /// The list has one path a line, or paths that are separated by NUL bytes. They are relative to
    /// the current folder. Only these files are read, without those of their subagents.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["project", "all"], value_hint = clap::ValueHint::FilePath)]
    pub(crate) files_from: Option<PathBuf>,
}

/// Returns the error that a session is named beside an option that chooses the sessions.
pub(crate) fn no_other(option: &str, hint: String) -> Failure {
    let what = format!("`{option}` chooses the sessions, so that no other can be named");
    Failure::Usage { what, hint }
}

impl Scope {
    /// Returns the option that chooses the sessions, unless it is a list.
    pub(crate) fn option(&self) -> Option<&'static str> {
        match self {
            Scope { project: true, .. } => Some("--project"),
            Scope { all: true, .. } => Some("--all"),
            _ => None,
        }
    }

    /// Returns the sessions, newest first within a project; `None` if no option asks for several.
    ///
    /// Fails if words or `-s` name sessions, too.
    pub(crate) fn sessions(&self, is_named: bool, global: &Global) -> anyhow::Result<Option<Vec<Found>>> {
        let option = match self {
            Scope { project: true, .. } => "--project",
            Scope { all: true, .. } => "--all",
            Scope { files_from: Some(_), .. } => "--files-from",
            _ => return Ok(None),
        };
        if is_named || global.session.is_some() {
            return Err(no_other(option, String::new()).into());
        }
        if let Some(list) = &self.files_from {
            let paths = listed(list)?;
            return Ok(Some(paths.into_iter().map(Found::named).collect()));
        }
        if self.project {
            return Ok(Some(session_arg::of_project(global, locate::Worktrees::Listed)));
        }
        let stores = locate::stores(&global.roots);
        Ok(Some(stores.iter().flat_map(locate::sessions).collect()))
    }

    /// Returns the files, including those of subagents; `None` if no option asks for several sessions.
    pub(crate) fn files(&self, is_named: bool, global: &Global) -> anyhow::Result<Option<Vec<PathBuf>>> {
        if self.all && !is_named && global.session.is_none() {
            let stores = locate::stores(&global.roots);
            return Ok(Some(
                stores.into_iter().flat_map(|store| locate::session_files_below(&store.root)).collect(),
            ));
        }
        let found = self.sessions(is_named, global)?;
        Ok(found.map(|found| match self.is_list() {
            true => found.into_iter().map(|found| found.path).collect(),
            false => locate::with_subagents(found),
        }))
    }

    /// Returns the options as they are typed, each after a space.
    pub(crate) fn words(&self) -> String {
        match self {
            Scope { project: true, .. } => " --project".to_owned(),
            Scope { all: true, .. } => " --all".to_owned(),
            Scope { files_from: Some(list), .. } => {
                format!(" --files-from {}", text::shell_word(&list.display().to_string()))
            }
            _ => String::new(),
        }
    }

    /// Returns whether the list comes from standard input, so that it can't be read again.
    pub(crate) fn is_piped(&self) -> bool {
        self.files_from.as_deref() == Some(Path::new("-"))
    }

    /// Returns whether the user listed each file.
    pub(crate) fn is_list(&self) -> bool {
        self.files_from.is_some()
    }
}

/// Returns the paths in a list: separated by NUL bytes if there are any, otherwise one a line.
fn listed(list: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut bytes = Vec::new();
    if list == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).context("standard input")?;
    } else {
        bytes = std::fs::read(list).with_context(|| list.display().to_string())?;
    }
    Ok(split(&bytes))
}

fn split(bytes: &[u8]) -> Vec<PathBuf> {
    let has_nul = bytes.contains(&0);
    let paths = bytes.split(|byte| *byte == if has_nul { 0 } else { b'\n' });
    let paths = paths.map(|path| if has_nul { path } else { path.strip_suffix(b"\r").unwrap_or(path) });
    paths.filter(|path| !path.is_empty()).map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn a_list_has_lines_or_ends_with_nul() {
        let check = |bytes: &[u8], wanted: &[&[u8]]| {
            let wanted: Vec<PathBuf> = wanted.iter().map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
            assert_eq!(split(bytes), wanted);
        };
        check(b"",                 &[]);
        check(b"a\nb c\n",         &[b"a", b"b c"]);
        check(b"a\r\n\r\nb",       &[b"a", b"b"]);
        check(b"a\nb\0c\r\0",      &[b"a\nb", b"c\r"]);
        check(b"\xff\n",           &[b"\xff"]);
    }
}
