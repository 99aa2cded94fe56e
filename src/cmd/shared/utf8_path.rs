//! Paths that sessions name, which must be UTF-8.

use crate::cmd::Failure;
use crate::ui::text;
use std::path::Path;

/// What is wrong with a path that is not UTF-8.
pub(crate) const NOT_UTF8: &str = "the path is not UTF-8, and sessions can't name it";

/// Returns a path as text; fails if it is not UTF-8, because the strings of a session can't contain it.
pub(crate) fn utf8_path(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        let what = format!("{}: {NOT_UTF8}", text::one_line(&path.to_string_lossy()));
        Failure::Usage { what, hint: String::new() }
    })
}
