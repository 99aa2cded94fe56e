//! The matching tool results that Claude Code stored in files beside a session.

use crate::format::claude::stored_results;
use crate::format::{Content, Format};
use crate::ops::grep::{Hit, Part, Pattern};
use crate::store::{self, ResultFiles};
use std::path::{Path, PathBuf};

/// The maximum number of bytes of a stored result that are searched.
const LARGEST: u64 = 64 * 1024 * 1024;

/// The matching tool results that Claude Code stored in files beside one session.
#[derive(Default)]
pub(super) struct Stored {
    pub(super) found: Vec<StoredFile>,
}

/// A file whose text matches.
pub(super) struct StoredFile {
    pub(super) name: String,
    pub(super) path: PathBuf,
    text: String,
}

impl Stored {
    /// Searches the files beside a session.
    pub(super) fn search(session: &Path, pattern: &Pattern) -> Stored {
        if store::is_read_once(session) {
            return Stored::default();
        }
        let Some(files) = ResultFiles::of_session(session) else { return Stored::default() };
        let read = |name: String| {
            let file = files.read(&name, LARGEST).ok()?;
            let text = file.text.filter(|text| pattern.is_in_text(text))?;
            Some(StoredFile { name, path: file.path, text })
        };
        Stored { found: files.names().into_iter().filter_map(read).collect() }
    }

    /// The files with a match that an entry names.
    fn files_named_in(&self, format: Format, line: &[u8]) -> Vec<&StoredFile> {
        if self.found.is_empty() || format != Format::Claude {
            return Vec::new();
        }
        let names = stored_results::names(line);
        self.found.iter().filter(|file| names.contains(&file.name)).collect()
    }

    pub(super) fn is_named(&self, format: Format, line: &[u8]) -> bool {
        !self.files_named_in(format, line).is_empty()
    }

    /// Returns the matching lines in the files that an entry names. Lines at the start of a file
    /// that the entry itself contains are left out, because they are found in the entry.
    pub(super) fn hits(
        &self,
        pattern: &Pattern,
        format: Format,
        line: &[u8],
    ) -> Vec<(&StoredFile, Vec<Hit>)> {
        let files = self.files_named_in(format, line);
        if files.is_empty() {
            return Vec::new();
        }
        let content = Content::read(format, line);
        let hits = files.into_iter().map(|file| {
            let shown = stored_results::shown_of(&content, &file.name, &file.text);
            (file, pattern.hits_in_text(Part::Result, &file.text[shown..]))
        });
        hits.filter(|(_, hits)| !hits.is_empty()).collect()
    }
}
