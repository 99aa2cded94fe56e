//! Which session of the archive a word names. Several may have one id: copies, or one that was moved and archived again.

use super::utf8_path::folder_path;
use crate::cmd::Failure;
use crate::model::Count;
use crate::store::archive::{Archived, Contents};
use crate::store::locate::SHORTEST_ID;
use crate::ui::text;
use std::path::Path;

/// The sessions of an archive that a word names.
pub(crate) struct Named<'c> {
    pub(crate) sessions: Vec<Archived<'c>>,
    /// Whether the word is the path of a session file.
    pub(crate) is_path: bool,
}

/// Returns the sessions whose file had a path, or whose id is a word or begins with it.
pub(crate) fn by_path_or_id<'c>(contents: &'c Contents, word: &str) -> Named<'c> {
    let all = contents.sessions();
    if let Ok(path) = folder_path(Path::new(word)) {
        let is_it = |one: &&Archived<'_>| {
            let origin = one.main.origin();
            origin == path || folder_path(&origin).is_ok_and(|origin| origin == path)
        };
        let sessions: Vec<Archived<'c>> = all.iter().filter(is_it).cloned().collect();
        if !sessions.is_empty() {
            return Named { sessions, is_path: true };
        }
    }
    let is_exact = all.iter().any(|one| one.main.session == word);
    let fits = |one: &Archived<'_>| match is_exact {
        true => one.main.session == word,
        false => word.len() >= SHORTEST_ID && one.main.session.starts_with(word),
    };
    Named { sessions: all.into_iter().filter(fits).collect(), is_path: false }
}

/// Returns the sessions that a path, an id or a title names, as `sessions --archived` lists them.
pub(crate) fn find<'c>(contents: &'c Contents, word: &str) -> Named<'c> {
    let named = by_path_or_id(contents, word);
    if !named.sessions.is_empty() || word.is_empty() {
        return named;
    }
    let titled = |title: &str| title == word || text::one_line(title).to_lowercase() == word.to_lowercase();
    let fits = |one: &Archived<'_>| one.main.title.as_deref().is_some_and(titled);
    Named { sessions: contents.sessions().into_iter().filter(fits).collect(), is_path: false }
}

/// Returns the one that is meant: the only one; of those with one id, the only one whose file is missing. Of several that
/// are missing, those do not count that are wholly contained in a later one, and those whose project is gone.
pub(crate) fn choose<'f, 'c>(sessions: &'f [Archived<'c>]) -> Option<&'f Archived<'c>> {
    let (first, others) = sessions.split_first()?;
    if others.is_empty() {
        return Some(first);
    }
    if others.iter().any(|other| other.main.session != first.main.session) {
        return None;
    }
    let missing: Vec<&Archived<'_>> = sessions.iter().filter(|one| one.is_missing()).collect();
    let is_needed = |at: usize| !missing[at + 1..].iter().any(|later| missing[at].is_contained_in(later));
    let mut left: Vec<&Archived<'_>> =
        (0..missing.len()).filter(|at| is_needed(*at)).map(|at| missing[at]).collect();
    if left.len() > 1 {
        left.retain(|one| one.main.cwd.as_deref().is_none_or(|cwd| Path::new(cwd).is_dir()));
    }
    match left[..] {
        [only] => Some(only),
        _ => None,
    }
}

/// Returns the error that a word could name several sessions.
pub(crate) fn ambiguous(word: &str, sessions: &[Archived<'_>]) -> Failure {
    let count = Count("session", "sessions", sessions.len());
    let what = format!("`{}` could be {count} of the archive", text::one_line(word));
    let row = |one: &Archived<'_>| {
        let gone = if one.is_missing() { "" } else { ", still there" };
        let path = one.main.origin().display().to_string();
        format!("\n  {} (archived {}{gone})", text::one_line(&path), one.main.archived)
    };
    let rows: String = sessions.iter().map(row).collect();
    Failure::NotFound {
        what,
        hint: format!("`bough restore PATH` restores one of them; the paths are{rows}"),
    }
}
