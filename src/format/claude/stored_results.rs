//! Tool results that Claude Code keeps in a separate file, and how the transcript refers to them.
//!
//! A result that is too long is written to `ID/tool-results/NAME`. In the transcript it is replaced
//! by a text that names the file and, in `<persisted-output>`, contains the start of the result:
//!
//! ```text
//! <persisted-output>
//! Output too large (61.2KB). Full output saved to: /home/user/.claude/projects/-project/ID/tool-results/b1.txt
//!
//! Preview (first 2KB):
//! line 1
//! ...
//! </persisted-output>
//! ```
//!
//! The path may be from another machine. Only the name counts: the file is searched for in the
//! session's own folder.

use crate::format::{Block, Content, Format};
use crate::json::{member_at, string};
use std::ops::Range;

/// The folder of such files, within the folder of the session.
pub const FOLDER: &str = "tool-results";

/// How much of a result is searched for the path, in bytes: the path is at the start.
const START: usize = 2048;

/// A result that is in a separate file, as described by its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredResult<'t> {
    /// The path of the file, as stored.
    pub path: &'t str,
    /// The size of the result as Claude Code spells it, e.g. `61.2KB`; empty if it is not given.
    pub size: &'t str,
    /// The start of the result; empty if it is not given.
    pub preview: &'t str,
}

impl<'t> StoredResult<'t> {
    /// Parses the text of a result; returns `None` if the text does not say that the result was
    /// saved to a file.
    pub fn in_text(text: &'t str) -> Option<StoredResult<'t>> {
        let mut end = text.len().min(START);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let start = &text[..end];
        let (said, name) = start.match_indices(FOLDER).find_map(|(at, _)| {
            let name = name_at(start, at)?;
            let line = start[..at].rfind('\n').map_or(0, |at| at + 1);
            let said = start[line..at].rfind("saved to")? + line + "saved to".len();
            Some((said, name))
        })?;
        let path = start[said..name.end].trim_start_matches([':', ' ', '`', '"']);
        Some(StoredResult { path, size: size_in(start), preview: preview_in(&text[name.end..]) })
    }

    /// Returns the name of the file.
    pub fn name(&self) -> &'t str {
        name_of(self.path).unwrap_or_default()
    }
}

/// Returns a short description of a result that was saved to a file: its first line as far as it is
/// known, its size and the file. Returns `None` if the text is not the one that replaces such a
/// result.
pub fn shortened(text: &str) -> Option<String> {
    if !text.trim_start().starts_with("<persisted-output>") {
        return None;
    }
    let stored = StoredResult::in_text(text);
    let place = stored.map_or("a file".to_owned(), |stored| format!("{FOLDER}/{}", stored.name()));
    let mut end = text.len().min(START);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let place = match size_in(&text[..end]) {
        "" => format!("in {place}"),
        size => format!("{size} in {place}"),
    };
    let first = preview_in(text).lines().find(|line| !line.trim().is_empty());
    Some(first.map_or(place.clone(), |first| format!("{} ({place})", first.trim())))
}

/// Returns the size that a text gives for a result.
fn size_in(start: &str) -> &str {
    let size = start.split_once("too large (").and_then(|(_, rest)| rest.split_once(')'));
    size.map_or("", |(size, _)| size).lines().next().unwrap_or_default()
}

/// Returns the start of the result that a text contains.
fn preview_in(text: &str) -> &str {
    let preview = text.split_once("Preview (").and_then(|(_, rest)| rest.split_once('\n'));
    preview.map_or("", |(_, rest)| {
        let rest = rest.split("</persisted-output>").next().unwrap_or_default().trim_end();
        rest.strip_suffix("\n...").unwrap_or(rest)
    })
}

/// Returns the name of the file that a path in a folder `tool-results` ends with. Names of files
/// elsewhere, and hidden ones, yield nothing.
fn name_of(path: &str) -> Option<&str> {
    let name = name_at(path, path.rfind(FOLDER)?)?;
    Some(&path[name]).filter(|name| path.ends_with(name))
}

/// Returns the range of the file name that follows the folder at `at`.
fn name_at(text: &str, at: usize) -> Option<Range<usize>> {
    let is_separator = |character: char| matches!(character, '/' | '\\');
    let rest = &text[at + FOLDER.len()..];
    if !text[..at].ends_with(is_separator) || !rest.starts_with(is_separator) {
        return None;
    }
    let len = rest[1..].bytes().position(|byte| !is_of_name(byte)).unwrap_or(rest.len() - 1);
    let name = rest[1..=len].trim_end_matches('.');
    let begin = at + FOLDER.len() + 1;
    (!name.is_empty() && !name.starts_with('.')).then(|| begin..begin + name.len())
}

/// Returns whether a byte can be part of the name of a stored result.
pub fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// Returns the paths of the files that contain the results of an entry, one for each result in
/// order; `None` for a result that is in the line.
///
/// A result whose text was replaced is found by `toolUseResult.persistedOutputPath`.
pub fn paths(line: &[u8], content: &Content<'_>) -> Vec<Option<String>> {
    let results = content.blocks.iter().filter_map(|block| match block {
        Block::Result { text, .. } => Some(text),
        _ => None,
    });
    let named = results.map(|text| StoredResult::in_text(text).map(|stored| stored.path.to_owned()));
    let mut paths: Vec<Option<String>> = named.collect();
    if let [path @ None] = &mut *paths {
        let stored = member_at(line, &["toolUseResult", "persistedOutputPath"]).and_then(string);
        *path = stored.filter(|path| name_of(path).is_some()).map(|path| path.into_owned());
    }
    paths
}

/// Returns the names of the files that contain the results of an entry, given its line.
pub fn names(line: &[u8]) -> Vec<String> {
    if memchr::memmem::find(line, FOLDER.as_bytes()).is_none() {
        return Vec::new();
    }
    let paths = paths(line, &Content::read(Format::Claude, line));
    paths.iter().flatten().filter_map(|path| name_of(path)).map(str::to_owned).collect()
}

/// Returns the name of the file in a path returned by [`paths`].
pub fn file_name(path: &str) -> &str {
    name_of(path).unwrap_or_default()
}

/// Returns how many bytes of a stored result the entry itself contains: whole lines at the start of
/// `text`.
pub fn shown_of(content: &Content<'_>, name: &str, text: &str) -> usize {
    let previews = content.blocks.iter().filter_map(|block| match block {
        Block::Result { text, .. } => StoredResult::in_text(text),
        _ => None,
    });
    let preview = previews.filter(|stored| stored.name() == name).map(|stored| stored.preview).next();
    let same = preview.unwrap_or_default().bytes().zip(text.bytes()).take_while(|(one, other)| one == other);
    let same = same.count();
    match text.as_bytes().get(same) {
        None => text.len(),
        Some(b'\n') if preview.is_some_and(|preview| preview.len() == same) => same + 1,
        Some(_) => memchr::memrchr(b'\n', &text.as_bytes()[..same]).map_or(0, |at| at + 1),
    }
}

#[cfg(test)]
mod tests;
