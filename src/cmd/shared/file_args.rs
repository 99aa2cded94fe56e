//! The file arguments of commands that work on several sessions.

use super::options::Global;
use super::scope::Scope;
use super::session_arg;
use crate::format::is_agents;
use crate::store::locate;
use crate::store::project::session_of_agent;
use crate::ui::Ui;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Files, in the order in which they were named or found.
pub(crate) struct Files {
    pub(crate) paths: Vec<PathBuf>,
    /// Whether there may be several, so that the output names each of them.
    pub(crate) several: bool,
    /// Those that were named themselves, and not only a folder that contains them, or a session
    /// that they belong to.
    named: HashSet<PathBuf>,
}

impl Files {
    /// Returns the files that the words of a command name: files themselves, folders with
    /// everything in them, with a scope the sessions of a list, of the project or of all agents; without
    /// words, the session of the command.
    pub(crate) fn resolve(
        words: &[PathBuf],
        scope: &Scope,
        global: &Global,
        ui: &mut Ui,
    ) -> anyhow::Result<Files> {
        if let Some(paths) = scope.files(!words.is_empty(), global)? {
            let named = if scope.is_list() { paths.iter().cloned().collect() } else { HashSet::new() };
            return Ok(Files { paths, several: true, named });
        }
        if words.is_empty() {
            let path = session_arg::path(global, None, ui)?;
            return Ok(Files { paths: vec![path.clone()], several: false, named: [path].into() });
        }
        let mut paths = Vec::new();
        let mut several = words.len() > 1;
        let mut named = HashSet::new();
        for path in words {
            if path.is_dir() {
                several = true;
                session_arg::note_files_beside(global, path, ui);
                paths.extend(locate::files_of(&locate::stores(&global.roots), path));
            } else {
                let path = match by_id(path, global) {
                    Some(Ok(found)) => found,
                    Some(Err(error)) if words.len() == 1 => return Err(error),
                    // It is reported with the other files.
                    _ => path.clone(),
                };
                named.insert(path.clone());
                paths.push(path);
            }
        }
        Ok(Files { paths, several, named })
    }

    /// Returns whether a file itself was named.
    pub(crate) fn is_named(&self, path: &Path) -> bool {
        self.named.contains(path)
    }

    /// Adds the files of its subagents, if one session is meant.
    pub(crate) fn with_agents(mut self) -> Files {
        if let ([path], false) = (&*self.paths, self.several)
            && !is_agents(path)
        {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let agents = agents_of(path, &stem);
            self.several = !agents.is_empty();
            self.paths.extend(agents);
        }
        self
    }

    /// Groups the files: each session is followed by the files of its subagents.
    ///
    /// A subagent's file belongs to the session whose folder contains it, or else to the one that
    /// its first line names. If its session is not among the files, it forms its own group.
    pub(crate) fn sessions(&self) -> Vec<Vec<PathBuf>> {
        let mut agents: HashMap<String, Vec<PathBuf>> = HashMap::new();
        let mut sessions = Vec::new();
        let mut alone = Vec::new();
        for path in &self.paths {
            if !self.several || !is_agents(path) {
                sessions.push(vec![path.clone()]);
            } else if let Some(session) = session_of_agent(path) {
                agents.entry(session).or_default().push(path.clone());
            } else {
                alone.push(vec![path.clone()]);
            }
        }
        for files in &mut sessions {
            let stem = files[0].file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if self.several {
                files.extend(agents.remove(&stem).unwrap_or_default());
            } else if !is_agents(&files[0]) {
                files.extend(agents_of(&files[0], &stem));
            }
        }
        let mut left: Vec<_> = agents.into_values().flatten().map(|path| vec![path]).collect();
        left.sort();
        sessions.append(&mut alone);
        sessions.append(&mut left);
        sessions
    }
}

/// Returns the session that a word names if it is not a file: the path, or an error if there is none.
fn by_id(path: &Path, global: &Global) -> Option<anyhow::Result<PathBuf>> {
    let is_id = |word: &&str| !path.exists() && !session_arg::looks_like_a_file(word);
    path.to_str().filter(is_id).map(|word| session_arg::by_word(global, word))
}

/// Returns the files of the subagents of one session.
fn agents_of(path: &Path, stem: &str) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if path == Path::new("-") {
        return Vec::new();
    }
    let mut found = locate::session_files_below(&folder.join(stem));
    if let Ok(beside) = std::fs::read_dir(folder) {
        let mut beside: Vec<PathBuf> = beside.flatten().map(|entry| entry.path()).collect();
        beside.sort();
        beside
            .retain(|path| path.extension().is_some_and(|extension| extension == "jsonl") && path.is_file());
        found.extend(beside);
    }
    found.retain(|path| is_agents(path) && session_of_agent(path).as_deref() == Some(stem));
    found
}

/// Returns a size in bytes, in a readable unit: `812 B`, `3.4 KB`, `1.2 GB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64;
    let mut unit = "";
    for next in UNITS {
        if value < 999.5 && !unit.is_empty() {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn sizes_are_short() {
        let check = |bytes: u64, wanted: &str| assert_eq!(size(bytes), wanted);
        check(0,             "0 B");
        check(999,           "999 B");
        check(1_000,         "1.0 KB");
        check(12_345,        "12 KB");
        check(999_499,       "999 KB");
        check(999_501,       "1.0 MB");
        check(3_400_000_000, "3.4 GB");
    }
}
