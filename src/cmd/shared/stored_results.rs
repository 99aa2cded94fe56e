//! Tool results that Claude Code stored in files beside the session, as `show` prints them.

use crate::format::claude::stored_results;
use crate::format::{Content, Format};
use crate::model::Count;
use crate::store::{ResultFile, ResultFiles};
use serde::Serialize;
use std::path::Path;

/// The maximum number of bytes of a file that are shown.
const MOST: u64 = 256 * 1024;

/// Reads the files that contain stored results.
pub(crate) struct Stored;

/// A result that is in a file, as far as the file can be read.
pub(crate) struct Shown {
    /// The path as the session names it.
    named: String,
    file: Option<ResultFile>,
}

/// The file beside the session in which the agent stored a result.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StoredRow {
    /// The path of the file as the session names it.
    named: String,
    /// The path of the file that was read; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The size of the file in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// The text of the file: the first 256 KiB; absent if it is not a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The bytes of the file that are not in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<u64>,
}

impl Stored {
    /// Returns the file of each result of an entry, in order; `None` for a result that is in the
    /// line.
    pub(crate) fn of_entry(
        &self,
        format: Format,
        session: &Path,
        line: &[u8],
        content: &Content<'_>,
    ) -> Vec<Option<Shown>> {
        let paths = match format {
            Format::Claude if session != Path::new("-") => stored_results::paths(line, content),
            _ => Vec::new(),
        };
        if paths.iter().all(Option::is_none) {
            return Vec::new();
        }
        let files = ResultFiles::of_session(session);
        let shown = |named: String| {
            let name = stored_results::file_name(&named);
            let file = files.as_ref().and_then(|files| files.read(name, MOST).ok());
            Shown { named, file }
        };
        paths.into_iter().map(|path| path.map(shown)).collect()
    }
}

impl Shown {
    /// Returns the heading of the text: the path and the size of the file, or that there is no such
    /// file.
    pub(crate) fn heading(&self) -> String {
        let Some(file) = &self.file else {
            let name = stored_results::file_name(&self.named);
            return format!("there is no file `tool-results/{name}` beside the session");
        };
        let size = Count("byte", "bytes", usize::try_from(file.bytes).unwrap_or(usize::MAX));
        let what = if file.text.is_some() { "" } else { ", not a text" };
        format!("{}, {size}{what}", file.path.display())
    }

    pub(crate) fn text(&self) -> Option<&str> {
        self.file.as_ref()?.text.as_deref()
    }

    /// Returns how much is left out.
    pub(crate) fn more(&self) -> Option<String> {
        let more = self.file.as_ref().filter(|file| file.text.is_some())?.more;
        let more = Count("more byte", "more bytes", usize::try_from(more).unwrap_or(usize::MAX));
        (more.2 > 0).then(|| format!("{more} in the file"))
    }

    pub(crate) fn json_row(&self) -> StoredRow {
        let file = self.file.as_ref();
        let text = file.and_then(|file| file.text.clone());
        StoredRow {
            named: self.named.clone(),
            path: file.map(|file| file.path.display().to_string()),
            bytes: file.map(|file| file.bytes),
            more: file.filter(|_| text.is_some()).map(|file| file.more),
            text,
        }
    }
}
