//! The surroundings of a session file in the file system.

use crate::format::agent_of;
use crate::fsck::Surroundings;
use crate::model::Key;
use crate::ops::thread;
use crate::store;
use crate::store::{blobs, locate, project};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A session file in its folder.
pub(super) struct Place {
    path: PathBuf,
    stem: String,
}

impl Place {
    pub(super) fn of_file(path: &Path) -> Place {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Place { path: path.to_owned(), stem: if stem == "-" { String::new() } else { stem } }
    }

    /// Returns the folder beside a transcript of Claude Code that has the same name.
    fn folder(&self) -> PathBuf {
        self.path.with_extension("")
    }

    /// Returns the folder of the project.
    fn project_folder(&self) -> PathBuf {
        // Subagents' files are two folders below the project.
        let mut folder = self.path.parent().map(Path::to_owned).unwrap_or_default();
        if folder.ends_with("subagents") {
            folder = folder.parent().and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
        }
        if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder }
    }

    /// Returns the subagents' files of a session of Claude Code.
    pub(super) fn agents_files(&self) -> Vec<PathBuf> {
        locate::session_files_below(&self.folder().join("subagents"))
    }
}

impl Surroundings for Place {
    fn stem(&self) -> &str {
        &self.stem
    }

    fn elsewhere(&self, links: &[(Key, Key)]) -> HashSet<Key> {
        let wanted: HashSet<Key> = links.iter().flat_map(|(entry, parent)| [*entry, *parent]).collect();
        let mut found = HashSet::new();
        if self.stem.is_empty() {
            return found;
        }
        for file in locate::session_files_below(&self.project_folder()) {
            if found.len() == links.len() {
                break;
            }
            if file.file_name() == self.path.file_name() {
                continue;
            }
            if let Ok(opened) = store::open(&file, store::Options::default()) {
                let there: HashSet<Key> = opened
                    .session
                    .entries
                    .keys()
                    .iter()
                    .filter(|key| wanted.contains(key))
                    .copied()
                    .collect();
                let lean =
                    links.iter().filter(|(entry, parent)| there.contains(parent) && !there.contains(entry));
                found.extend(lean.map(|(entry, _)| *entry));
            }
        }
        found
    }

    fn agents(&self) -> Option<Vec<String>> {
        if !self.folder().is_dir() {
            return None;
        }
        let (files, unlisted) = locate::list_below(&self.folder().join("subagents"));
        // Those in a folder that can't be listed are not known.
        unlisted
            .is_empty()
            .then(|| files.iter().filter_map(|path| agent_of(path)).map(str::to_owned).collect())
    }

    fn placed_agents(&self) -> HashSet<String> {
        let placed = || -> Option<HashSet<String>> {
            let layout = project::of_session(&self.path, &mut Vec::new()).ok()?;
            let opened = project::open(&layout, false).ok()?;
            let agents = thread::agents(&opened.session, &opened.files, &layout).ok()?;
            let placed = agents.iter().filter(|agent| agent.anchored.entry().is_some());
            Some(
                placed
                    .filter_map(|agent| layout.files[usize::from(agent.file)].agent())
                    .map(str::to_owned)
                    .collect(),
            )
        };
        placed().unwrap_or_default()
    }

    fn has_result_file(&self, name: &str) -> bool {
        let folder = self.folder();
        !folder.is_dir() || folder.join("tool-results").join(name).exists()
    }

    fn has_blob(&self, hash: &str) -> bool {
        blobs::find(&self.path, hash).is_some() || !blobs::have_a_folder(&self.path)
    }
}
