//! Paths as sessions name them: absolute, and UTF-8.

use crate::cmd::Failure;
use crate::ui::text;
use std::io;
use std::path::{Component, Path, PathBuf};

/// What is wrong with a path that is not UTF-8.
pub(crate) const NOT_UTF8: &str = "the path is not UTF-8, and sessions can't name it";

/// Returns a path as text; fails if it is not UTF-8, because the strings of a session can't contain it.
pub(crate) fn utf8_path(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        let what = format!("{}: {NOT_UTF8}", text::one_line(&path.to_string_lossy()));
        Failure::Usage { what, hint: String::new() }
    })
}

/// Returns the absolute path of a folder, with symbolic links resolved as far as folders exist, as
/// the agents see it.
pub(crate) fn folder_path(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    let there = clean.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let rest = clean.strip_prefix(there).unwrap_or(Path::new(""));
    let real = there.canonicalize().unwrap_or_else(|_| there.to_owned());
    Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
}
