//! Reads the operation log from its end.

use super::lines::Line;
use super::{Operation, Progress, State, Step};
use crate::store::write::stamp;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The contents of the log.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Operations {
    /// The readable operations, oldest first.
    pub list: Vec<Operation>,
    /// How many lines are unreadable, because they are damaged or were written by another version.
    pub unread: usize,
}

/// How many bytes are read at a time.
const BLOCK: u64 = 64 * 1024;

/// Reads the log from its end, operation by operation, newest first.
pub struct Reader {
    lines: Backwards,
    known: HashMap<String, Known>,
    folders: HashSet<PathBuf>,
    names: HashSet<String>,
    unread: usize,
}

/// What is known of an operation from the lines read so far, which are the later ones.
#[derive(Default)]
struct Known {
    /// How far it got, according to the last line about that.
    state: Option<Progress>,
    after: Option<State>,
    steps: BTreeMap<usize, Option<Step>>,
    /// The state in the earliest line read so far, if the operation was already returned.
    returned: Option<Progress>,
}

impl Reader {
    /// Opens a log, which may not exist.
    pub(super) fn open(path: &Path) -> io::Result<Reader> {
        match crate::store::refuse_pipe(path) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
            }
            _ => {}
        }
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            other => Some(other?),
        };
        let end = file.as_ref().map_or(Ok(0), |file| file.metadata().map(|facts| facts.len()))?;
        Ok(Reader {
            lines: Backwards { file, start: end, rest: Vec::new(), is_first: true },
            known: HashMap::new(),
            folders: HashSet::new(),
            names: HashSet::new(),
            unread: 0,
        })
    }

    /// Returns the operation before the one returned last.
    #[allow(clippy::should_implement_trait, reason = "it can fail")]
    pub fn next(&mut self) -> io::Result<Option<Operation>> {
        while let Some((line, is_ended)) = self.lines.next()? {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice::<Line<'_>>(&line) {
                Ok(parsed) => {
                    if let Some(operation) = self.take(parsed) {
                        return Ok(Some(operation));
                    }
                }
                // Another bough process is writing it, or was killed while doing so: the next
                // writer truncates it.
                Err(_) if !is_ended => {}
                Err(_) => {
                    self.unread += 1;
                    self.names.extend(hashes_in(&line));
                }
            }
        }
        Ok(None)
    }

    fn take(&mut self, line: Line<'_>) -> Option<Operation> {
        let known = self.known.entry(line.op_id().to_owned()).or_default();
        match line {
            Line::Ended { state, after, .. } => {
                known.state.get_or_insert(state);
                if known.after.is_none() && known.steps.is_empty() {
                    known.after = after.map(std::borrow::Cow::into_owned);
                }
                None
            }
            Line::Step { at, step, .. } if known.returned.is_none() => {
                known.steps.entry(at).or_insert(step.map(std::borrow::Cow::into_owned));
                None
            }
            Line::Step { .. } => None,
            Line::Folder { folder, .. } => {
                self.folders.insert(folder);
                None
            }
            Line::Begun(operation) => {
                if known.returned.is_some() {
                    return None;
                }
                let mut operation = operation.into_owned();
                operation.state = known.state.unwrap_or(Progress::Begun);
                operation.steps.extend(std::mem::take(&mut known.steps).into_values().flatten());
                if let (Some(after), Some(last)) = (known.after.take(), operation.steps.last_mut()) {
                    last.after = Some(after);
                }
                known.returned = Some(Progress::Begun);
                Some(operation)
            }
            Line::Whole(operation) => {
                // Ids used to be shorter, so two operations in one second could have the same one.
                // A line that begins after the end of another operation does not belong to it.
                let goes_on = known
                    .returned
                    .is_some_and(|later| operation.state == Progress::Begun || later != Progress::Begun);
                known.returned = Some(operation.state);
                (!goes_on).then(|| operation.into_owned())
            }
        }
    }

    /// Returns the number of unreadable lines so far.
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// Returns the folders, from the lines read so far, in which killed programs may have left
    /// files.
    pub fn folders(&self) -> &HashSet<PathBuf> {
        &self.folders
    }

    /// Returns the names of backups on unreadable lines.
    pub fn backups_unread(&self) -> &HashSet<String> {
        &self.names
    }
}

/// Returns all words of 64 hex digits.
fn hashes_in(line: &[u8]) -> Vec<String> {
    line.split(|byte| !byte.is_ascii_hexdigit())
        .filter(|word| word.len() == 64)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// The lines of a file, last first.
struct Backwards {
    file: Option<File>,
    /// The offset of the first byte that was read.
    start: u64,
    /// The bytes that were read but not yet returned.
    rest: Vec<u8>,
    is_first: bool,
}

impl Backwards {
    /// Returns the next line, and whether it ends in a newline.
    fn next(&mut self) -> io::Result<Option<(Vec<u8>, bool)>> {
        let Some(file) = &self.file else { return Ok(None) };
        let mut searched = self.rest.len();
        loop {
            if let Some(at) = memchr::memrchr(b'\n', &self.rest[..searched]) {
                let line = self.rest.split_off(at + 1);
                self.rest.truncate(at);
                // Anything after the last newline is a truncated line.
                let is_last = std::mem::take(&mut self.is_first);
                if is_last && line.is_empty() {
                    searched = self.rest.len();
                    continue;
                }
                return Ok(Some((line, !is_last)));
            }
            if self.start == 0 {
                let line = std::mem::take(&mut self.rest);
                self.file = None;
                return Ok((!line.is_empty()).then_some((line, !self.is_first)));
            }
            let from = self.start.saturating_sub(BLOCK);
            let mut block = stamp::read_at(file, from, (self.start - from) as usize)?;
            searched = block.len();
            self.start = from;
            block.append(&mut self.rest);
            self.rest = block;
        }
    }
}

/// Returns the length of a log without a truncated line at its end.
pub(super) fn whole_lines(file: &File, len: u64) -> io::Result<u64> {
    let mut end = len;
    while end > 0 {
        let from = end.saturating_sub(BLOCK);
        let block = stamp::read_at(file, from, (end - from) as usize)?;
        if let Some(at) = memchr::memrchr(b'\n', &block) {
            return Ok(from + at as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

/// Passes each line of a log to a function, without its newline.
pub(super) fn each_line(
    file: &File,
    len: u64,
    mut with: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut line = Vec::new();
    stamp::each_block(file, 0, len, |block| {
        let mut parts = block.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            line.extend_from_slice(part);
            if parts.peek().is_some() {
                with(&line)?;
                line.clear();
            }
        }
        Ok(())
    })
}

/// Returns whether a line is kept when operations are dropped. A line that is not JSON was never
/// complete.
pub(super) fn is_kept(line: &[u8], drops: &HashSet<String>) -> bool {
    match serde_json::from_slice::<Line<'_>>(line) {
        Ok(line) => !drops.contains(line.op_id()),
        Err(_) => serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok(),
    }
}
