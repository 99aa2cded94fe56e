//! The order of the listed sessions.

use super::table::Line;
use crate::cmd::Failure;
use crate::store::locate::Found;
use std::cmp::Reverse;

/// The sort order of rows.
pub(super) struct Sort {
    pub(super) key: Key,
    pub(super) reverse: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Age,
    Size,
    Entries,
    Branches,
    Name,
    Folder,
}

impl Sort {
    pub(super) fn parse(word: &str) -> Result<Sort, Failure> {
        let (name, reverse) = word.strip_prefix('-').map_or((word, false), |name| (name, true));
        let key = match name {
            "age" => Key::Age,
            "size" => Key::Size,
            "entries" => Key::Entries,
            "branches" => Key::Branches,
            "name" => Key::Name,
            "folder" => Key::Folder,
            _ => {
                let what = format!("can't sort sessions by `{name}`");
                let hint = "use `age`, `size`, `entries`, `branches`, `name` or `folder`".into();
                return Err(Failure::Usage { what, hint });
            }
        };
        Ok(Sort { key, reverse })
    }

    pub(super) fn needs_no_reading(&self) -> bool {
        matches!(self.key, Key::Age | Key::Size)
    }

    pub(super) fn files(&self, found: &mut [Found]) {
        match self.key {
            Key::Size => found.sort_by_cached_key(|found| Reverse(found.bytes())),
            _ => found.sort_by_cached_key(|found| Reverse(found.modified())),
        }
        if self.reverse {
            found.reverse();
        }
    }

    /// Sorts what has a row of the table.
    pub(super) fn rows<R>(&self, rows: &mut [R], line: impl Fn(&R) -> Line<'_>) {
        rows.sort_by(|one, other| line(one).path.as_os_str().cmp(line(other).path.as_os_str()));
        match self.key {
            Key::Age => rows.sort_by_key(|row| Reverse(line(row).modified)),
            Key::Size => rows.sort_by_key(|row| Reverse(line(row).bytes)),
            Key::Entries => rows.sort_by_key(|row| Reverse(line(row).entries())),
            Key::Branches => rows.sort_by_key(|row| Reverse(line(row).branches())),
            Key::Name => rows.sort_by_cached_key(|row| line(row).summary.title().to_lowercase()),
            Key::Folder => rows.sort_by_cached_key(|row| line(row).summary.cwd.clone()),
        }
        if self.reverse {
            rows.reverse();
        }
    }
}
