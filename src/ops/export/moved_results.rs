//! Stored tool results that are copied with an export: the new session names the new files.
//!
//! The model reads such a file by the path in the transcript. The files are copied beside the new
//! session, because a path into the old session's folder would lead to a file that is deleted with
//! the old session.

use crate::format::claude::stored_results::{self, FOLDER};
use crate::format::{Content, Format};
use crate::json::{Edits, Escapes, quoted};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The files of results that are copied, with their old and new folders.
#[derive(Clone, Debug)]
pub struct MovedResults {
    /// The spellings of the old folder, with a slash at the end.
    old: Vec<String>,
    /// The new folder, with a slash at the end.
    new: String,
    /// The names of the files.
    names: HashSet<String>,
    /// How many results name one of the files in a folder other than the old one.
    elsewhere: Arc<AtomicUsize>,
}

impl MovedResults {
    /// Returns the moved files if the files `names` are copied from the folder of the old session
    /// to that of the new one; `old` are the absolute paths of the folder. Returns `None` if
    /// nothing moves, or if a path is not UTF-8.
    pub fn new(old: &[PathBuf], new: &Path, names: HashSet<String>) -> Option<MovedResults> {
        let results = |folder: &Path| Some(format!("{}/{FOLDER}/", folder.to_str()?));
        let mut old: Vec<String> = old.iter().filter_map(|folder| results(folder)).collect();
        old.dedup();
        let new = results(new)?;
        let is_empty = names.is_empty() || old.is_empty();
        (!is_empty).then_some(MovedResults { old, new, names, elsewhere: Arc::default() })
    }

    /// Returns how many results name a copied file in another folder, and so keep the path.
    pub fn elsewhere(&self) -> usize {
        self.elsewhere.load(Ordering::Relaxed)
    }

    /// Returns the stretches of a line that change, each with its new bytes.
    pub fn stretches(&self, line: &[u8]) -> Vec<(std::ops::Range<usize>, Vec<u8>)> {
        if memchr::memmem::find(line, FOLDER.as_bytes()).is_none() {
            return Vec::new();
        }
        let Some(mut edits) = Edits::begin(line) else { return Vec::new() };
        self.rename(line, &mut edits);
        edits.stretches()
    }

    /// Changes the paths in a line with tool results, or with their replacements.
    pub(super) fn rename(&self, line: &[u8], edits: &mut Edits<'_>) {
        if memchr::memmem::find(line, FOLDER.as_bytes()).is_none() {
            return;
        }
        let keys: &[&str] = match edits.value("type") {
            Some(b"\"user\"") => {
                let content = Content::read(Format::Claude, line);
                if content.answers().next().is_none() {
                    return;
                }
                self.count(&stored_results::paths(line, &content));
                &["message", "toolUseResult"]
            }
            Some(b"\"content-replacement\"") => &["replacements"],
            _ => return,
        };
        for at in keys.iter().filter_map(|key| edits.value_range(key)).collect::<Vec<_>>() {
            for old in &self.old {
                self.rename_in(line, at.clone(), old, edits);
            }
        }
    }

    fn count(&self, paths: &[Option<String>]) {
        for path in paths.iter().flatten() {
            let name = stored_results::file_name(path);
            let is_old = self.old.iter().any(|old| path.strip_prefix(&**old) == Some(name));
            if !is_old && self.names.contains(name) {
                self.elsewhere.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Changes the paths in one value. Only the folder is replaced: all other bytes of the value
    /// stay.
    fn rename_in(&self, line: &[u8], value: std::ops::Range<usize>, old: &str, edits: &mut Edits<'_>) {
        let spelled = |folder: &str| {
            let quoted = quoted(folder, Escapes::Needed);
            quoted[1..quoted.len() - 1].to_vec()
        };
        let with_escapes = |folder: &str| {
            spelled(folder)
                .iter()
                .flat_map(|byte| if *byte == b'/' { vec![b'\\', b'/'] } else { vec![*byte] })
                .collect()
        };
        let spellings: [(Vec<u8>, Vec<u8>); 2] =
            [(spelled(old), spelled(&self.new)), (with_escapes(old), with_escapes(&self.new))];
        for (old, new) in spellings {
            for found in memchr::memmem::find_iter(&line[value.clone()], &old) {
                let at = value.start + found..value.start + found + old.len();
                let rest = &line[at.end..value.end];
                let len =
                    rest.iter().position(|byte| !stored_results::is_of_name(*byte)).unwrap_or(rest.len());
                let name = String::from_utf8_lossy(&rest[..len]);
                if begins_a_path(&line[value.start..at.start])
                    && self.names.contains(name.trim_end_matches('.'))
                {
                    edits.replace(at, &new);
                }
            }
        }
    }
}

/// Returns whether a path can begin after these bytes of JSON text, i.e. they do not end in a part
/// of a longer path.
pub(in crate::ops) fn begins_a_path(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b't' | b'r' | b'"'] => true,
        [.., last] => {
            !last.is_ascii_alphanumeric()
                && !matches!(last, b'/' | b'-' | b'_' | b'.' | b'~' | b'\\')
                && last.is_ascii()
        }
        [] => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn only_the_folder_of_a_copied_file_is_changed() {
        let check = |text: &str, wanted: &str, elsewhere: usize| {
            let names = ["b.txt".to_owned()].into();
            let moved = MovedResults::new(&["/o/s".into(), "/link/s".into()], Path::new("/n/t"), names).unwrap();
            let row = |text: &str| format!(r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c","content":"{text}"}}]}}}}"#);
            let line = row(text);
            let mut edits = Edits::begin(line.as_bytes()).unwrap();
            moved.rename(line.as_bytes(), &mut edits);
            assert_eq!(String::from_utf8(edits.apply()).unwrap(), row(wanted), "{text}");
            assert_eq!(moved.elsewhere(), elsewhere, "{text}");
        };
        check("saved to: /o/s/tool-results/b.txt",              "saved to: /n/t/tool-results/b.txt", 0);
        check("saved to: /link/s/tool-results/b.txt.",          "saved to: /n/t/tool-results/b.txt.", 0);
        check(r"saved to: \/o\/s\/tool-results\/b.txt",         r"saved to: \/n\/t\/tool-results\/b.txt", 0);
        check(r"x\n/o/s/tool-results/b.txt \u00e9",             r"x\n/n/t/tool-results/b.txt \u00e9", 0);
        check("saved to: /o/s/tool-results/gone.txt",           "saved to: /o/s/tool-results/gone.txt", 0);    // was not copied
        check("saved to: /o/s/tool-results/b.txt2",             "saved to: /o/s/tool-results/b.txt2", 0);
        check("saved to: /mnt/o/s/tool-results/b.txt",          "saved to: /mnt/o/s/tool-results/b.txt", 1);
        check("saved to: /o/s/../s/tool-results/b.txt",         "saved to: /o/s/../s/tool-results/b.txt", 1);
        check(r"saved to: C:\\o\\s\\tool-results\\b.txt",       r"saved to: C:\\o\\s\\tool-results\\b.txt", 1);
    }

    #[test]
    fn a_prompt_is_not_changed() {
        let moved =
            MovedResults::new(&["/o/s".into()], Path::new("/n/t"), ["b.txt".to_owned()].into()).unwrap();
        let line =
            br#"{"type":"user","message":{"role":"user","content":"saved to /o/s/tool-results/b.txt"}}"#;
        let mut edits = Edits::begin(line).unwrap();
        moved.rename(line, &mut edits);
        assert!(edits.is_empty());
    }
}
