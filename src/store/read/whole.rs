//! Opening a session file and reading it as a whole.

use super::parallel;
use crate::format::{Builder, Detected, Format, Program, Session, detect, detect_in_blocks, has_line};
use crate::json::{Line, Reader};
use crate::store::files::{Content, Files};
use crate::store::write::Stamp;
use crate::store::{Error, compressed, locate};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a session is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The format, if the user chose it; otherwise it is detected from the first lines.
    pub format: Option<Format>,
    /// Whether tool calls and references in rare lines are collected, too: [`Session::side`].
    pub side: bool,
}

/// A session with its files.
pub struct Opened {
    /// The session.
    pub session: Session,
    /// The files that it was read from.
    pub files: Files,
}

/// How many bytes are first used to detect the format; more if they contain no whole line.
const HEAD: usize = 16 * 1024;

/// Opens the session in a file; `-` is standard input.
///
/// Reads the whole file once, and keeps only columns of entries in memory. Fails if the file can't
/// be read, is empty, or has an unknown format; a damaged session is opened, with its faults.
pub fn open(path: &Path, options: Options) -> Result<Opened, Error> {
    let (session, files, _) = load(path, options)?;
    Ok(Opened { session: session?, files })
}

/// Opens a file like [`open()`], but without a session if it contains none. Also returns its
/// length.
pub fn open_any(path: &Path, options: Options) -> Result<(Option<Session>, Files, u64), Error> {
    let (session, files, len) = load(path, options)?;
    match session {
        // The file may have grown since its length was determined.
        Ok(session) => {
            let len = session.files[0].bytes;
            Ok((Some(session), files, len))
        }
        Err(error) if error.is_no_session() => Ok((None, files, len)),
        Err(error) => Err(error),
    }
}

/// Opens a file once, and reads the session in it; also returns its length.
fn load(path: &Path, options: Options) -> Result<(Result<Session, Error>, Files, u64), Error> {
    let mut files = Files::new();
    let (session, len) = match Source::open(path)? {
        Source::Bytes(bytes) => {
            let len = bytes.len() as u64;
            let format = chosen_format(path, detect(&bytes, Some(path)), options);
            let session = format.map(|chosen| read_memory(chosen, options, &bytes));
            files.add(path.to_owned(), Content::Memory(bytes), None);
            (session, len)
        }
        Source::File(file, len, stamp) => {
            let session = match len < parallel::LARGE {
                true => read_file(path, options, &file, len),
                false => read_large(path, options, &file, len),
            };
            files.add(path.to_owned(), Content::File(file), Some(stamp));
            (session, len)
        }
    };
    Ok((session.map(|session| with_folder(session, path)), files, len))
}

/// Adds the working directory to a session of Gemini, which keeps it in another file.
fn with_folder(mut session: Session, path: &Path) -> Session {
    if session.format == Format::Gemini
        && let Some(header) = &mut session.header
        && header.cwd.is_none()
    {
        header.cwd = locate::folder_of_chats(path).map(|folder| folder.to_string_lossy().into_owned());
    }
    session
}

/// Opens a file as bytes, whatever it contains; also returns its length. `-` is standard input.
pub fn open_raw(path: &Path) -> Result<(Files, u64), Error> {
    let mut files = Files::new();
    let (content, len, stamp) = match Source::open(path)? {
        Source::Bytes(bytes) => {
            let len = bytes.len() as u64;
            (Content::Memory(bytes), len, None)
        }
        Source::File(file, len, stamp) => (Content::File(file), len, Some(stamp)),
    };
    files.add(path.to_owned(), content, stamp);
    Ok((files, len))
}

/// Opens a session that is in memory.
pub(crate) fn in_memory(path: &Path, options: Options, bytes: Vec<u8>) -> Result<Opened, Error> {
    let session = read_memory(chosen_format(path, detect(&bytes, Some(path)), options)?, options, &bytes);
    let mut files = Files::new();
    files.add(path.to_owned(), Content::Memory(bytes), None);
    Ok(Opened { session, files })
}

/// Returns whether a path can be read only once: standard input, or a pipe instead of a file.
pub fn is_read_once(path: &Path) -> bool {
    path == Path::new("-") || path.metadata().is_ok_and(|facts| !facts.is_file() && !facts.is_dir())
}

/// The source behind a path.
pub(crate) enum Source {
    /// A file, its length, and the stamp that identifies it.
    File(File, u64, Stamp),
    /// All bytes from standard input, from a pipe or from another device, which can be read only
    /// once; or of a compressed file, unpacked.
    Bytes(Vec<u8>),
}

impl Source {
    pub(crate) fn open(path: &Path) -> Result<Source, Error> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        let mut bytes = Vec::new();
        if path == Path::new("-") {
            io::stdin().lock().read_to_end(&mut bytes).map_err(io)?;
            if compressed::is_packed(&bytes) {
                bytes = compressed::unpack(&bytes[..], u64::MAX).map_err(io)?;
            }
            return Ok(Source::Bytes(bytes));
        }
        let mut file = File::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound { path: path.to_owned() },
            _ => io(error),
        })?;
        let facts = file.metadata().map_err(io)?;
        if facts.is_dir() {
            // It may be given in place of the files in it, because it can't be listed.
            let listed =
                std::fs::read_dir(path).and_then(|mut inside| inside.try_for_each(|it| it.map(drop)));
            return Err(listed.map_or_else(io, |()| Error::IsFolder { path: path.to_owned() }));
        }
        if !facts.is_file() {
            file.read_to_end(&mut bytes).map_err(io)?;
            return Ok(Source::Bytes(bytes));
        }
        if compressed::is_compressed(path, &file) {
            return Ok(Source::Bytes(compressed::unpack(file, u64::MAX).map_err(io)?));
        }
        let stamp = Stamp::with(&file, &facts).map_err(io)?;
        Ok(Source::File(file, facts.len(), stamp))
    }
}

/// How a file is interpreted.
#[derive(Clone, Copy)]
pub(crate) struct ChosenFormat {
    pub(crate) format: Format,
    /// The program whose format is derived from another: nothing is written to its sessions,
    /// however they are interpreted.
    pub(crate) program: Option<Program>,
}

/// Detects the format of a file. `head` contains its first bytes.
pub(crate) fn detect_format(
    path: &Path,
    file: &File,
    head: &[u8],
    options: Options,
) -> Result<ChosenFormat, Error> {
    let detected =
        detect_in(path, file, head).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    chosen_format(path, detected, options)
}

/// Detects the format from the name of a file and its first bytes; `head` contains those that were
/// already read.
pub(crate) fn detect_in(path: &Path, file: &File, head: &[u8]) -> io::Result<Detected> {
    detect_in_blocks(Some(path), |offset, block| {
        if let Some(rest) =
            usize::try_from(offset).ok().and_then(|from| head.get(from..)).filter(|rest| !rest.is_empty())
        {
            block.extend_from_slice(&rest[..rest.len().min(HEAD)]);
            return Ok(());
        }
        block.resize(HEAD, 0);
        let count = read_at(file, block, offset)?;
        block.truncate(count);
        Ok(())
    })
}

/// Returns the format that the user chose, or else the detected one.
pub(crate) fn chosen_format(
    path: &Path,
    detected: Detected,
    options: Options,
) -> Result<ChosenFormat, Error> {
    let program = match detected {
        Detected::Foreign(program) => Some(program),
        Detected::Format(format) => format.program(),
        Detected::Empty | Detected::Unknown => None,
    };
    match (options.format, detected) {
        (_, Detected::Empty) => Err(Error::Empty { path: path.to_owned() }),
        (Some(format), _) | (None, Detected::Format(format)) => Ok(ChosenFormat { format, program }),
        (None, Detected::Foreign(program)) => {
            Err(Error::UnknownFormat { path: path.to_owned(), program: Some(program) })
        }
        (None, Detected::Unknown) => Err(Error::UnknownFormat { path: path.to_owned(), program: None }),
    }
}

/// Reads the first bytes of a file: enough for some lines, if there are any.
pub(crate) fn read_head(file: &File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut want = HEAD;
    loop {
        let have = head.len();
        head.resize(want, 0);
        let count = file.read_at(&mut head[have..], have as u64)?;
        head.truncate(have + count);
        if count == 0 || head.len() == want && (has_line(&head) || want >= 256 * HEAD) {
            return Ok(head);
        }
        if head.len() == want {
            want *= 4;
        }
    }
}

/// Reads a file of `len` bytes.
fn read_file(path: &Path, options: Options, file: &File, len: u64) -> Result<Session, Error> {
    // There may be thousands of small files: each thread has one reader for all of its own.
    thread_local!(static READER: Cell<Option<Reader>> = const { Cell::new(None) });
    let mut reader = READER.take().unwrap_or_default();
    let session = read_with(&mut reader, path, options, file, len);
    READER.set(Some(reader));
    session
}

fn read_with(
    reader: &mut Reader,
    path: &Path,
    options: Options,
    file: &File,
    len: u64,
) -> Result<Session, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    reader.restart(0, 0);
    let space = reader.space();
    let room = space.len();
    let count = read_at(file, space, 0).map_err(io)?;
    let start = &space[..count];
    let chosen = detect_format(path, file, start, options)?;
    let mut builder = begin(chosen, options);
    builder.expect(len, &start[..count.min(HEAD)]);
    chosen.format.prepare(reader);
    reader.advance(count, |line| builder.line(line));
    // A file may have grown since its length was determined: this was everything only if there was
    // room for more.
    if count == room {
        read_on(file, reader, count as u64, |line| builder.line(line)).map_err(io)?;
    } else {
        reader.finish(|line| builder.line(line));
    }
    Ok(builder.finish())
}

/// Reads a file of `len` bytes in segments, if that is possible.
fn read_large(path: &Path, options: Options, file: &File, len: u64) -> Result<Session, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let head = read_head(file).map_err(io)?;
    let chosen = detect_format(path, file, &head, options)?;
    let builder = || {
        let mut builder = begin(chosen, options);
        builder.expect(len, &head);
        builder
    };
    let segments = match chosen.format.is_document() {
        true => None,
        false => parallel::read(len, file, builder).map_err(io)?,
    };
    match segments {
        Some(builder) => Ok(builder.finish()),
        None => read_file(path, options, file, len),
    }
}

/// Reads by position, so that a file that grows in the meantime is harmless.
pub(crate) fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(into, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(count) => {
                note_read(count);
                return Ok(count);
            }
            error => return error,
        }
    }
}

/// How many bytes of sessions were read in blocks.
static BYTES_READ: AtomicU64 = AtomicU64::new(0);

pub(super) fn note_read(count: usize) {
    BYTES_READ.fetch_add(count as u64, Ordering::Relaxed);
}

/// Returns how many bytes of sessions the program has read in blocks, for a progress bar.
pub fn bytes_read() -> u64 {
    BYTES_READ.load(Ordering::Relaxed)
}

/// Yields the lines from `at` to the end of the file.
pub(crate) fn read_on(
    file: &File,
    reader: &mut Reader,
    at: u64,
    mut each: impl FnMut(&Line<'_>),
) -> io::Result<()> {
    read_ended(file, reader, at, &mut each)?;
    reader.finish(&mut each);
    Ok(())
}

/// Yields the lines from `at` on that end; what comes after them is left in the reader.
pub(crate) fn read_ended(
    file: &File,
    reader: &mut Reader,
    mut at: u64,
    mut each: impl FnMut(&Line<'_>),
) -> io::Result<()> {
    loop {
        match read_at(file, reader.space(), at)? {
            0 => return Ok(()),
            count => {
                at += count as u64;
                reader.advance(count, &mut each);
            }
        }
    }
}

fn read_memory(chosen: ChosenFormat, options: Options, bytes: &[u8]) -> Session {
    let mut builder = begin(chosen, options);
    let mut reader = chosen.format.reader();
    reader.feed(bytes, |line| builder.line(line));
    reader.finish(|line| builder.line(line));
    builder.finish()
}

pub(crate) fn begin(chosen: ChosenFormat, options: Options) -> Builder {
    let mut builder = Builder::new(chosen.format);
    builder.program(chosen.program);
    if options.side {
        builder.side();
    }
    builder.begin_file();
    builder
}

#[cfg(test)]
mod tests;
