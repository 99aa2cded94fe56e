//! Remains of sessions whose own file is gone: subagents' files, and files that an interrupted
//! rewrite left behind.

use super::locate;
use crate::format::{agent_of, is_agents};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The remains of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remains {
    /// The session file, which does not exist.
    pub main: PathBuf,
    /// The files that exist.
    pub left: Left,
}

/// The files that remain without the session file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Left {
    /// That many transcripts of its subagents, and the path of the first: that of the last
    /// compaction, which contains the whole conversation, if there is one.
    Agents(usize, PathBuf),
    /// A complete copy, which a rewrite left behind.
    Copy(PathBuf),
}

impl Remains {
    /// Describes in a sentence what is left.
    pub fn sentence(&self) -> String {
        let main = self.main.display();
        match &self.left {
            Left::Agents(count, first) => {
                let files = crate::model::Count(
                    "transcript of a subagent is",
                    "transcripts of subagents are",
                    *count,
                );
                format!("{main}: the session file is gone, but {files} left, e.g. {}", first.display())
            }
            Left::Copy(path) => {
                format!("{main}: the session file is gone, but there is a copy of it: {}", path.display())
            }
        }
    }
}

/// Returns the remains of sessions whose own file is gone in a folder of sessions, or in its
/// folders, in the order of their names. Only names are read.
pub fn remains(folder: &Path) -> Vec<Remains> {
    let mut out = in_project(folder);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            out.extend(in_project(&entry.path()));
        }
    }
    out.sort_by(|one, other| one.main.cmp(&other.main));
    out
}

/// Does the same for one folder only.
pub fn in_project(folder: &Path) -> Vec<Remains> {
    let mut folders = Vec::new();
    let (mut files, mut copies) = (HashSet::new(), HashMap::new());
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => folders.push(entry.path()),
            Ok(kind) if kind.is_file() => {
                if let Some(main) = copy_of(&name) {
                    copies.insert(folder.join(main), entry.path());
                }
                files.insert(folder.join(name));
            }
            _ => {}
        }
    }
    let copies = copies.into_iter().map(|(main, copy)| Remains { main, left: Left::Copy(copy) });
    let agents = folders.into_iter().filter_map(|folder| {
        let mut main = folder.clone().into_os_string();
        main.push(".jsonl");
        let main = PathBuf::from(main);
        if files.contains(&main) {
            return None;
        }
        let mut agents = locate::session_files_below(&folder.join("subagents"));
        agents.retain(|path| is_agents(path));
        // The newest compaction comes first.
        let is_compaction =
            |path: &PathBuf| agent_of(path).is_some_and(|agent| agent.starts_with("acompact"));
        let modified = |path: &PathBuf| std::fs::metadata(path).and_then(|facts| facts.modified()).ok();
        let newest = agents.iter().filter(|path| is_compaction(path)).max_by_key(|path| modified(path));
        let first = newest.or(agents.first())?.clone();
        Some(Remains { main, left: Left::Agents(agents.len(), first) })
    });
    let mut out: Vec<Remains> = agents.collect();
    out.extend(copies.filter(|remains| !files.contains(&remains.main)));
    out.sort_by(|one, other| one.main.cmp(&other.main));
    out
}

/// Returns the name of the session file that a file is a copy of, if a rewrite left it behind,
/// judging by its name: `.NAME.jsonl.ID.tmp`, `NAME.jsonl.bak`.
fn copy_of(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".tmp").or_else(|| name.strip_suffix(".bak"))?;
    let stem = stem.strip_prefix('.').unwrap_or(stem);
    let at = stem.rfind(".jsonl")? + ".jsonl".len();
    let rest = &stem[at..];
    (rest.is_empty() || rest.starts_with('.')).then_some(&stem[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_left_of_a_session_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["p/gone/subagents", "p/here/subagents", "p/other", "q"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in [
            "p/gone/subagents/agent-b1.jsonl",
            "p/gone/subagents/agent-acompact-1.jsonl",
            "p/here.jsonl",
            "p/here/subagents/agent-b1.jsonl",
            "q/.lost.jsonl.0a1b.tmp",
            "q/kept.jsonl",
            "q/.kept.jsonl.0a1b.tmp",
            "q/kept.jsonl.bak",
            "q/notes.bak",
        ] {
            fs::write(at(name), "x").unwrap();
        }
        let wanted = [
            Remains {
                main: at("p/gone.jsonl"),
                left: Left::Agents(2, at("p/gone/subagents/agent-acompact-1.jsonl")),
            },
            Remains { main: at("q/lost.jsonl"), left: Left::Copy(at("q/.lost.jsonl.0a1b.tmp")) },
        ];
        assert_eq!(remains(folder.path()), wanted);
    }
}
