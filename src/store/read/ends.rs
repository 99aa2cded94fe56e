//! Reading only both ends of a session file.

use super::whole::{Opened, Options, Source, detect_format, in_memory, open, read_head};
use crate::format::{Builder, has_line};
use crate::json::Reader;
use crate::store::Error;
use crate::store::files::{Content, Files};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How many bytes of each end are read.
const END: usize = 16 * 1024;

/// Reads the first and the last bytes of a session file, and makes a session from the whole lines
/// in them, like [`crate::store::open()`].
///
/// This is enough for the header, the current name and the first prompt. If the file is longer, the
/// session is marked as partial, and counts in it are meaningless. Fails like
/// [`crate::store::open()`].
pub fn open_ends(path: &Path, options: Options) -> Result<Opened, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let (file, len, stamp) = match Source::open(path)? {
        Source::Bytes(bytes) => return in_memory(path, options, bytes),
        Source::File(file, len, stamp) => (file, len, stamp),
    };
    let mut head = vec![0; END];
    let count = file.read_at(&mut head, 0).map_err(io)?;
    head.truncate(count);
    if !has_line(&head) {
        head = read_head(&file).map_err(io)?;
    }
    let chosen = detect_format(path, &file, &head, options)?;
    if chosen.format.is_document() {
        return open(path, options);
    }
    let mut builder = Builder::new(chosen.format);
    builder.program(chosen.program);
    builder.begin_file();
    let mut reader = Reader::with_blocks(head.len().max(END) + 1);
    let whole = len <= head.len() as u64;
    chosen.format.prepare(&mut reader);
    reader.feed(&head, |line| builder.line(line));
    if !whole {
        builder.partial();
        let from = len.saturating_sub(END as u64).max(head.len() as u64);
        let mut tail = vec![0; (len - from) as usize];
        file.read_exact_at(&mut tail, from).map_err(io)?;
        // Anything before the first newline is the rest of a line.
        let start = memchr::memchr(b'\n', &tail).map_or(tail.len(), |at| at + 1);
        reader.restart(from + start as u64, 1);
        reader.feed(&tail[start..], |line| builder.line(line));
    }
    reader.finish(|line| builder.line(line));
    let mut files = Files::new();
    files.add(path.to_owned(), Content::File(file), Some(stamp));
    Ok(Opened { session: builder.finish(), files })
}
