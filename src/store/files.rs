//! The files of an open session, read by position.

use super::write::Stamp;
use crate::model::{LineReader, Source, Span};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The files of an open session.
#[derive(Default)]
pub struct Files {
    files: Vec<(PathBuf, Content)>,
    stamps: Vec<Option<Stamp>>,
    /// The closed file that was read last, because the same one is usually read again.
    last: Mutex<Option<(u16, File)>>,
    /// What was read last, and ahead of that: most commands read one line after the other, and the same line again.
    ahead: Mutex<LineReader>,
}

/// Longer spans are read as they are: of long lines the bytes cost more than the call, and who asks for blocks reads ahead by
/// itself.
const LONG: u64 = 16 * 1024;

/// A file that is open.
struct Held<'f>(&'f File);

impl Source for Held<'_> {
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        let len = usize::try_from(span.len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // What was there before is overwritten: only what is added has to be cleared.
        into.resize(len, 0);
        self.0.read_exact_at(into, span.offset)
    }
}

/// Where the bytes of a file are.
pub(super) enum Content {
    /// In a file, read by position.
    File(File),
    /// In memory: standard input can't be read twice.
    Memory(Vec<u8>),
    /// In a file that is opened for each read: a project has more files than a process may hold
    /// open.
    Closed,
}

impl Files {
    /// Creates a list without files; they are added by [`Files::attach`].
    pub fn new() -> Files {
        Files::default()
    }

    /// Adds a file, with its stamp from before the file was read.
    pub(super) fn add(&mut self, path: PathBuf, content: Content, stamp: Option<Stamp>) {
        self.files.push((path, content));
        self.stamps.push(stamp);
    }

    /// Sets the stamp of a file that has grown, from before what was added was read.
    pub(super) fn restamp(&mut self, file: u16, stamp: Stamp) {
        self.stamps[usize::from(file)] = Some(stamp);
    }

    /// Adds a file that belongs to the session without being a part of it; returns its number. It
    /// is opened when it is read.
    pub fn attach(&mut self, path: &Path) -> io::Result<u16> {
        let number = u16::try_from(self.files.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let stamp = Stamp::take(&File::open(path)?)?;
        self.add(path.to_owned(), Content::Closed, Some(stamp));
        Ok(number)
    }

    /// Returns the stamp that identifies a file, taken just before it was read; `None` for standard
    /// input.
    pub fn stamp(&self, file: u16) -> Option<&Stamp> {
        self.stamps.get(usize::from(file))?.as_ref()
    }

    /// Returns the mode of a file.
    pub fn mode(&self, file: u16) -> Option<u32> {
        let (path, content) = self.files.get(usize::from(file))?;
        let facts = match content {
            Content::File(file) => file.metadata(),
            Content::Closed => std::fs::metadata(path),
            Content::Memory(_) => return None,
        };
        Some(facts.ok()?.mode() & 0o7777)
    }

    /// Returns the path of a file of the session; `-` for standard input.
    pub fn path(&self, file: u16) -> &Path {
        &self.files[usize::from(file)].0
    }

    /// Returns a file of the session as it was opened, for reading, or `None` if it is not held
    /// open.
    pub(crate) fn handle(&self, file: u16) -> Option<&File> {
        match &self.files.get(usize::from(file))?.1 {
            Content::File(file) => Some(file),
            Content::Memory(_) | Content::Closed => None,
        }
    }

    /// Reads the bytes of a span into `into`, which must be as long as the span.
    pub(super) fn read_into(&self, span: Span, into: &mut [u8]) -> io::Result<()> {
        match &self.files.get(usize::from(span.file)).ok_or(io::ErrorKind::NotFound)?.1 {
            Content::File(file) => file.read_exact_at(into, span.offset),
            Content::Memory(bytes) => {
                let from = usize::try_from(span.offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
                let found = bytes.get(from..from + into.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
                into.copy_from_slice(found);
                Ok(())
            }
            Content::Closed => File::open(self.path(span.file))?.read_exact_at(into, span.offset),
        }
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

impl Source for Files {
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        let len = usize::try_from(span.len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        match &self.files.get(usize::from(span.file)).ok_or(io::ErrorKind::NotFound)?.1 {
            // Not a memory map: an agent may rewrite this file while it is read, and a page that is
            // gone would end the program by a signal instead of an error.
            Content::File(file) if span.len <= LONG => {
                // Another thread that reads is not waited for.
                let Ok(mut ahead) = self.ahead.try_lock() else { return Held(file).read(span, into) };
                let end = self.stamp(span.file).map_or(0, Stamp::bytes).max(span.offset + span.len);
                let line = ahead.line(&Held(file), end, span)?;
                into.clear();
                into.extend_from_slice(line);
                Ok(())
            }
            Content::File(file) => Held(file).read(span, into),
            Content::Memory(bytes) => {
                let from = usize::try_from(span.offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
                into.clear();
                into.extend_from_slice(bytes.get(from..from + len).ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Content::Closed => {
                let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.as_ref().is_none_or(|(file, _)| *file != span.file) {
                    *last = Some((span.file, File::open(self.path(span.file))?));
                }
                let (_, file) = last.as_ref().expect("it was opened just now");
                Held(file).read(span, into)
            }
        }
    }
}
