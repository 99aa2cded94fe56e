//! Reading a session that grows: at first as a whole, and then only what was appended.

use super::parallel;
use super::whole::{Opened, Options, begin, detect_format, is_read_once, open, read_ended, read_head};
use crate::format::{Builder, Growth, Progress};
use crate::json::{Ending, Reader};
use crate::store::Error;
use crate::store::compressed;
use crate::store::files::{Content, Files};
use crate::store::write::Stamp;
use crate::store::write::stamp;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Files up to this size are read as a whole each time: only the first lines decide the format, and
/// they may still be coming.
const SMALL: u64 = if cfg!(test) { 4096 } else { 512 << 10 };

/// How many bytes before the end have to be unchanged so that a file only grew.
const WINDOW: u64 = 16 << 10;

/// A session file that is read again and again while an agent appends to it.
///
/// Each reading gives the session that [`open()`] would give. If the file only grew since the last
/// one, only the new bytes are read. If it is another file now, was truncated, or has other bytes
/// before its last end, it is read as a whole.
pub struct Growing {
    path: PathBuf,
    options: Options,
    read: Option<SoFar>,
}

/// What was read so far.
struct SoFar {
    stamp: Stamp,
    /// Has all lines that end in a line feed.
    builder: Builder,
    /// The end of these lines.
    at: u64,
    /// Their number.
    lines: u64,
    /// The last bytes before that end.
    window: Vec<u8>,
    /// Whether what comes may be added to the session that was given last.
    may_grow: bool,
}

/// What a reading gives.
pub enum Reading {
    /// The session as it is now.
    Whole(Box<Opened>),
    /// What is to be added to the session that the last reading gave.
    Grown(Box<Grown>),
}

/// What a file gained.
pub struct Grown {
    session: Growth,
    stamp: Stamp,
}

impl Opened {
    /// Adds what the file gained since the last reading gave this session, or has been added to it. Returns the number
    /// of the first entry that was added, or `None`, having changed nothing, if it does not fit.
    pub fn grow(&mut self, grown: Grown) -> Option<usize> {
        let from = self.session.entries.len();
        let is_added = self.session.grow(grown.session);
        is_added.then(|| {
            self.files.restamp(0, grown.stamp);
            from
        })
    }
}

/// How far a file was read.
enum Advanced {
    Whole(Box<Opened>),
    /// To its end.
    ToEnd {
        file: File,
        /// How far it had been read before, if that is a part of it.
        before: Option<Progress>,
        /// A builder that also has the last line, if that has no line feed.
        torn: Option<Box<Builder>>,
    },
}

impl Growing {
    /// Prepares to read a file; nothing is read yet.
    pub fn new(path: &Path, options: Options) -> Growing {
        Growing { path: path.to_owned(), options, read: None }
    }

    /// Reads the session as it is now, as a whole, and keeps nothing for the next reading, which takes half the memory.
    ///
    /// Fails as [`open()`] does.
    pub fn read_whole(&mut self) -> Result<Opened, Error> {
        self.read = None;
        open(&self.path, self.options)
    }

    /// Reads the session as it is now.
    ///
    /// Fails as [`open()`] does; the next reading is a whole one then.
    pub fn read(&mut self) -> Result<Opened, Error> {
        Ok(match self.advance()? {
            Advanced::Whole(opened) => *opened,
            Advanced::ToEnd { file, torn, .. } => self.opened(file, torn),
        })
    }

    /// Reads what came since the last reading, or the session as it is now if that is more than turns at its end.
    ///
    /// Fails as [`open()`] does; the next reading is a whole one then.
    pub fn read_more(&mut self) -> Result<Reading, Error> {
        let (file, before, torn) = match self.advance()? {
            Advanced::Whole(opened) => return Ok(Reading::Whole(opened)),
            Advanced::ToEnd { file, before, torn } => (file, before, torn),
        };
        let so_far = self.read.as_ref().filter(|so_far| so_far.may_grow && torn.is_none());
        if let (Some(so_far), Some(before)) = (so_far, before)
            && let Some(session) = so_far.builder.growth_since(&before)
        {
            return Ok(Reading::Grown(Box::new(Grown { session, stamp: so_far.stamp.clone() })));
        }
        Ok(Reading::Whole(Box::new(self.opened(file, torn))))
    }

    /// The session of all that was read.
    fn opened(&mut self, file: File, torn: Option<Box<Builder>>) -> Opened {
        let so_far = self.read.as_mut().expect("the file was read");
        let is_torn = torn.is_some();
        let builder = torn.map_or_else(|| so_far.builder.snapshot(), |builder| *builder);
        let session = builder.finish();
        so_far.may_grow = !is_torn && session.may_grow();
        let mut files = Files::new();
        files.add(self.path.clone(), Content::File(file), Some(so_far.stamp.clone()));
        Opened { session, files }
    }

    /// Reads all that is there and was not read.
    fn advance(&mut self) -> Result<Advanced, Error> {
        let small = self.path.metadata().is_ok_and(|facts| facts.len() < SMALL);
        if small || is_read_once(&self.path) || compressed::is_named(&self.path) {
            self.read = None;
            return Ok(Advanced::Whole(Box::new(open(&self.path, self.options)?)));
        }
        let io = |source| Error::Io { path: self.path.clone(), source };
        let file = File::open(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound { path: self.path.clone() },
            _ => io(error),
        })?;
        let stamp = Stamp::take(&file).map_err(io)?;
        let kept = self.read.take().filter(|so_far| so_far.only_grew(&stamp, &file));
        let before = kept.as_ref().map(|so_far| so_far.builder.progress());
        let mut so_far = match kept {
            Some(so_far) => SoFar { stamp, ..so_far },
            None => {
                let head = read_head(&file).map_err(io)?;
                let chosen = detect_format(&self.path, &file, &head, self.options)?;
                if chosen.format.is_document() {
                    return Ok(Advanced::Whole(Box::new(open(&self.path, self.options)?)));
                }
                let len = stamp.bytes();
                let new = || {
                    let mut builder = begin(chosen, self.options);
                    builder.expect(len, &head);
                    builder
                };
                let many = match len < parallel::LARGE {
                    true => None,
                    false => parallel::read(len, &file, new).map_err(io)?,
                };
                let many = many.and_then(|builder| Some((builder.whole_lines()?, builder)));
                let ((at, lines), builder) = many.unwrap_or_else(|| ((0, 0), new()));
                SoFar { stamp, builder, at, lines, window: Vec::new(), may_grow: false }
            }
        };
        let torn = so_far.read_on(&file).map_err(io)?;
        self.read = Some(so_far);
        Ok(Advanced::ToEnd { file, before, torn })
    }
}

impl SoFar {
    /// Returns whether a file is the one that was read, and unchanged as far as it was.
    fn only_grew(&self, stamp: &Stamp, file: &File) -> bool {
        let from = self.at - self.window.len() as u64;
        self.stamp.is_of(file)
            && stamp.bytes() >= self.at
            && stamp::read_at(file, from, self.window.len()).is_ok_and(|now| now == self.window)
    }

    /// Reads everything after the known lines. If the last line has no line feed, returns a builder that has it, too.
    fn read_on(&mut self, file: &File) -> io::Result<Option<Box<Builder>>> {
        let SoFar { builder, at, lines, .. } = self;
        let mut reader: Reader = builder.reader();
        reader.restart(*at, *lines);
        read_ended(file, &mut reader, *at, |line| {
            builder.line(line);
            *lines = line.number;
            *at = line.offset + line.len + u64::from(line.ending == Ending::CrLf) + 1;
        })?;
        let mut torn = None;
        reader.finish(|line| torn.get_or_insert_with(|| Box::new(self.builder.snapshot())).line(line));
        let len = self.at.min(WINDOW);
        self.window = stamp::read_at(file, self.at - len, len as usize)?;
        Ok(torn)
    }
}

#[cfg(test)]
mod tests;
