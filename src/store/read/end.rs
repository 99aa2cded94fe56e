//! The end of a session file when it was read, to detect later what was appended, or that the file
//! was truncated or rewritten.

use crate::model::{Source, Span};
use crate::store::write::Stamp;
use crate::store::write::stamp::read_at;
use crate::store::{Error, Opened};
use std::fs::File;
use std::io;
use std::path::Path;

/// How many of the last bytes are kept.
const WINDOW: u64 = 1 << 20;

/// How many of them are compared first: nearly always, a file only grew.
const FEW: usize = 16 << 10;

/// The end of a file when it was read.
pub struct End {
    stamp: Option<Stamp>,
    /// The end of the last entry.
    byte: u64,
    /// The last bytes before it.
    last: Vec<u8>,
}

impl End {
    /// Reads the end of the main file of a session.
    pub fn take(opened: &Opened) -> End {
        let entries = &opened.session.entries;
        let last = entries.all().next_back().map(|last| entries.span(last));
        let byte = last.map_or(0, |last| last.offset + last.len);
        let len = byte.min(WINDOW);
        let mut last = Vec::new();
        // If the file was truncated in the meantime, the next check detects it.
        if opened.files.read(Span { file: 0, offset: byte - len, len }, &mut last).is_err() {
            last.clear();
        }
        End { stamp: opened.files.stamp(0).cloned(), byte, last }
    }

    /// Reads the end of a session that is unchanged up to this end, as [`End::take`] does; only what
    /// was appended is read.
    pub fn after(mut self, opened: &Opened) -> End {
        let entries = &opened.session.entries;
        let last = entries.all().next_back().map(|last| entries.span(last));
        let byte = last.map_or(0, |last| last.offset + last.len);
        let appended = byte.checked_sub(self.byte).filter(|appended| *appended < WINDOW);
        let Some(len) = appended.filter(|_| self.is_known()) else { return End::take(opened) };
        let mut new = Vec::new();
        if opened.files.read(Span { file: 0, offset: self.byte, len }, &mut new).is_err() {
            return End::take(opened);
        }
        self.last.extend_from_slice(&new);
        let more = self.last.len().saturating_sub(WINDOW as usize);
        self.last.drain(..more);
        End { stamp: opened.files.stamp(0).cloned(), byte, last: self.last }
    }

    /// Returns the end of the last entry.
    pub fn byte(&self) -> u64 {
        self.byte
    }

    /// Returns whether the last bytes could be read; if not, the file was truncated before.
    pub fn is_known(&self) -> bool {
        self.byte == 0 || !self.last.is_empty()
    }

    /// Returns whether the file has changed since it was read.
    pub fn is_changed(&self, path: &Path) -> Result<bool, Error> {
        differs(self.stamp.as_ref(), path)
    }

    /// Returns up to which byte the file is unchanged: [`End::byte`], or the start of a line before
    /// it; `None` if that is before all the bytes that were kept.
    pub fn still_there(&self, path: &Path) -> Result<Option<u64>, Error> {
        let start = self.byte - self.last.len() as u64;
        let io = |source| Error::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let few = &self.last[self.last.len().saturating_sub(FEW)..];
        let is_same = read_at(&file, self.byte - few.len() as u64, few.len()).map_err(io)? == few;
        if is_same && !few.is_empty() {
            return Ok(Some(self.byte));
        }
        let now = read_at(&file, start, self.last.len()).map_err(io)?;
        let same = self.last.iter().zip(&now).take_while(|(was, is)| was == is).count();
        if same == self.last.len() {
            return Ok((same > 0 || self.byte == 0).then_some(self.byte));
        }
        let line = self.last[..same].iter().rposition(|byte| *byte == b'\n');
        Ok(match line {
            Some(at) => Some(start + at as u64 + 1),
            None => (start == 0).then_some(0),
        })
    }
}

/// Returns whether the main file of a session has changed since it was read.
///
/// Costs no reading of the file, and so may miss a change that keeps its length and times.
pub fn has_changed(opened: &Opened) -> Result<bool, Error> {
    differs(opened.files.stamp(0), opened.files.path(0))
}

fn differs(stamp: Option<&Stamp>, path: &Path) -> Result<bool, Error> {
    match File::open(path).and_then(|file| Stamp::take(&file)) {
        Ok(now) => Ok(stamp != Some(&now)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::NotFound { path: path.to_owned() })
        }
        Err(source) => Err(Error::Io { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    #[rustfmt::skip] // a table
    fn what_is_left_of_a_file_is_known() {
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/p"}"#;
        let entry = |id: &str| format!(r#"{{"type":"message","id":"{id}","parentId":null,"message":{{"role":"user","content":"x"}}}}"#);
        let text = |ids: &[&str]| {
            let entries: Vec<String> = ids.iter().map(|id| entry(id)).collect();
            format!("{header}\n{}\n", entries.join("\n"))
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let line = entry("a").len() as u64 + 1;
        let first = header.len() as u64 + 1;
        let check = |after: &str, wanted: Option<u64>| {
            fs::write(&path, text(&["a", "b", "c"])).unwrap();
            let end = End::take(&crate::store::open(&path, crate::store::Options::default()).unwrap());
            assert_eq!(end.byte(), first + 3 * line - 1);
            fs::write(&path, after).unwrap();
            assert_eq!(end.still_there(&path).unwrap(), wanted, "{after}");
        };
        check(&text(&["a", "b", "c"]),           Some(first + 3 * line - 1));
        check(&text(&["a", "b", "c", "d"]),      Some(first + 3 * line - 1));
        check(&text(&["a", "b"]),                Some(first + 2 * line));
        check(&text(&["a", "b", "d", "e"]),      Some(first + 2 * line));     // longer than before
        check(&text(&["a", "b", "d"]),           Some(first + 2 * line));     // just as long
        check(&text(&["d", "b", "c"]),           Some(first));
        check("",                                Some(0));
    }
}
