//! The worktrees of a git repository, found by reading its files only.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folders in the other worktrees of a repository that correspond to `folder` in its
/// own; empty outside a repository.
pub(super) fn other_worktrees(folder: &Path) -> Vec<PathBuf> {
    let Some(root) = folder.ancestors().find(|above| above.join(".git").exists()) else { return Vec::new() };
    let Some(common) = common_folder(&root.join(".git")) else { return Vec::new() };
    let Ok(below) = folder.strip_prefix(root) else { return Vec::new() };
    let mut roots: Vec<PathBuf> = Vec::new();
    if common.ends_with(".git") {
        roots.extend(common.parent().map(Path::to_owned));
    }
    for entry in fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten() {
        // This file names the `.git` of the worktree.
        let named = text_of(&entry.path().join("gitdir")).unwrap_or_default();
        roots.extend(Path::new(named.trim_end()).parent().map(Path::to_owned));
    }
    roots.iter_mut().for_each(|root| *root = root.canonicalize().unwrap_or_else(|_| root.clone()));
    roots.sort();
    roots.dedup();
    roots.retain(|other| other != root && other.is_absolute());
    roots.into_iter().map(|root| if below == Path::new("") { root } else { root.join(below) }).collect()
}

/// Returns the folder of the repository that all its worktrees share.
fn common_folder(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return git.canonicalize().ok();
    }
    let text = text_of(git)?;
    let own = git.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    let common = match text_of(&own.join("commondir")) {
        Some(common) => own.join(common.trim_end()),
        // If it is missing, the folder is the repository's own, as in a submodule.
        None => own,
    };
    common.canonicalize().ok()
}

fn text_of(path: &Path) -> Option<String> {
    String::from_utf8(super::read_file(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktrees_of_a_repository_are_beside_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (main, other) = (top.join("main"), top.join("other"));
        fs::create_dir_all(main.join(".git/worktrees/o")).unwrap();
        fs::create_dir_all(main.join("src")).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join(".git"), format!("gitdir: {}\n", main.join(".git/worktrees/o").display()))
            .unwrap();
        fs::write(main.join(".git/worktrees/o/gitdir"), format!("{}\n", other.join(".git").display()))
            .unwrap();
        fs::write(main.join(".git/worktrees/o/commondir"), "../..\n").unwrap();
        assert_eq!(other_worktrees(&main), std::slice::from_ref(&other));
        assert_eq!(other_worktrees(&other), std::slice::from_ref(&main));
        assert_eq!(other_worktrees(&main.join("src")), [other.join("src")]);
        assert_eq!(other_worktrees(&top), Vec::<PathBuf>::new());
    }
}
