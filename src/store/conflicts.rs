//! Copies of session files that programs for synchronization leave if two machines changed a file.

use super::{Error, locate};
use std::path::{Path, PathBuf};

/// A conflict copy, and the session that it is a copy of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The session.
    pub session: PathBuf,
    /// The copy.
    pub copy: PathBuf,
}

/// Finds the conflict copies below a folder, or in all stores, in the order of their paths. A copy
/// without its session is left out.
pub fn find(folder: Option<&Path>, roots: &[PathBuf]) -> Result<Vec<Conflict>, Error> {
    let folders: Vec<PathBuf> = match folder {
        Some(folder) => vec![folder.to_owned()],
        None => locate::writable_stores(roots).into_iter().map(|store| store.root).collect(),
    };
    let mut found = Vec::new();
    for folder in folders {
        if let Err(source) = std::fs::read_dir(&folder)
            && roots.is_empty()
            && std::fs::symlink_metadata(&folder).is_ok()
        {
            return Err(Error::Io { path: folder, source });
        }
        for copy in locate::session_files_below(&folder) {
            let name = copy.file_name().and_then(|name| name.to_str()).and_then(name_of_session);
            let session = name.map(|name| copy.with_file_name(name)).filter(|session| session.is_file());
            found.extend(session.map(|session| Conflict { session, copy: copy.clone() }));
        }
    }
    found.sort_by(|one, other| (&one.session, &one.copy).cmp(&(&other.session, &other.copy)));
    found.dedup();
    Ok(found)
}

/// Returns the name of the file that a conflict copy was made of; `None` if the name is not that of
/// a copy.
///
/// Syncthing writes `NAME.sync-conflict-20260102-030405-ABCDEFG.jsonl`, Dropbox
/// `NAME (HOST's conflicted copy 2026-01-02).jsonl`, Nextcloud
/// `NAME (conflicted copy 2026-01-02 030405).jsonl`.
fn name_of_session(name: &str) -> Option<String> {
    let stem = name.strip_suffix(".jsonl")?;
    if let Some((before, rest)) = stem.rsplit_once(".sync-conflict-") {
        let mut parts = rest.split('-');
        let is_number = |part: Option<&str>, len: usize| {
            part.is_some_and(|part| part.len() == len && part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let is_dated = is_number(parts.next(), 8) && is_number(parts.next(), 6);
        let device = parts.next().is_some_and(|part| !part.is_empty()) && parts.next().is_none();
        return (is_dated && device && !before.is_empty()).then(|| format!("{before}.jsonl"));
    }
    let (before, rest) = stem.rsplit_once(" (")?;
    let inside = rest.strip_suffix(')')?;
    let is_copy = inside.contains("conflicted copy") || inside.contains("Case Conflict");
    (is_copy && !before.is_empty()).then(|| format!("{before}.jsonl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn conflict_copies_are_known_by_their_names() {
        let check = |name: &str, wanted: Option<&str>| assert_eq!(name_of_session(name).as_deref(), wanted, "{name}");
        check("s.sync-conflict-20260102-030405-ABCDEFG.jsonl",            Some("s.jsonl"));
        check("a.b.sync-conflict-20260102-030405-ABCDEFG.jsonl",          Some("a.b.jsonl"));
        check("s.sync-conflict-2026-030405-ABCDEFG.jsonl",                None);
        check(".sync-conflict-20260102-030405-ABCDEFG.jsonl",             None);
        check("s (Ann's conflicted copy 2026-01-02).jsonl",               Some("s.jsonl"));
        check("s (conflicted copy 2026-01-02 030405).jsonl",              Some("s.jsonl"));
        check("s (2).jsonl",                                              None);
        check("s.jsonl",                                                  None);
        check("s.sync-conflict-20260102-030405-ABCDEFG.txt",              None);
    }
}
