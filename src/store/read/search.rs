//! Scanning a session file for lines that may match, without building an index.

use super::whole::{Options, chosen_format, note_read, open_raw};
use crate::format::{Format, detect_in_blocks};
use crate::json::Prefilter;
use crate::model::{Source, Span};
use crate::store::Error;
use crate::store::compressed;
use crate::store::files::Files;
use rayon::prelude::*;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::ops::{ControlFlow, Range};
use std::path::Path;

/// How many bytes are read at a time.
const BLOCK: usize = 256 * 1024;

/// Receives the lines: the format of the file, the offset of the line, and the line without its
/// ending.
pub type LineSink<'t> = dyn FnMut(Format, u64, &[u8]) -> ControlFlow<()> + 't;

/// Yields the lines of a session file that pass a prefilter, without building an index; all lines if
/// there is none.
///
/// The other lines are not kept in memory, however long they are. A large file is searched on all
/// processors; `each` gets the lines in the order of the file all the same. Ends when `each`
/// breaks. Fails like [`crate::store::open()`].
pub fn search_lines(
    path: &Path,
    options: Options,
    prefilter: Option<&Prefilter>,
    each: &mut LineSink<'_>,
) -> Result<Format, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let (files, len) = open_raw(path)?;
    let mut pass = Pass::new(&files, 0..len);
    pass.more(0).map_err(io)?;
    let detected =
        detect_in_blocks(Some(path), |offset, block| match pass.buffer.bytes().get(offset as usize..) {
            Some(rest) if !rest.is_empty() => {
                block.extend_from_slice(&rest[..rest.len().min(FIRST)]);
                Ok(())
            }
            _ => files.read(Span { file: 0, offset, len: (BLOCK as u64).min(len - offset) }, block),
        })
        .map_err(io)?;
    let format = chosen_format(path, detected, options)?.format;
    let each = &mut |offset: u64, line: &[u8]| each(format, offset, line);
    match prefilter {
        Some(prefilter) if len >= LARGE && rayon::current_num_threads() > 1 => {
            in_parts(&files, len, PART, prefilter, each).map_err(io)?;
        }
        _ => pass.run(prefilter, each).map_err(io)?,
    }
    Ok(format)
}

/// Searches a part of the main file on all processors for the lines that pass a prefilter.
///
/// Returns what was searched, which is the lines that begin in the part, each to its end; and where in it the lines are
/// that pass, in order, without their endings. Reads each byte once and keeps none; a line that is longer than a block
/// and passes is read twice. Fails if the file can't be read, or has become shorter than the part.
pub fn lines_in(
    files: &Files,
    part: Range<u64>,
    prefilter: &Prefilter,
) -> io::Result<(Range<u64>, Vec<Range<u64>>)> {
    let len = files.stamp(0).map_or(part.end, |stamp| stamp.bytes()).max(part.end);
    let ends = |at: u64| if at == 0 { Ok(0) } else { end_of_line(files, at, len) };
    let searched = ends(part.start)?..ends(part.end)?;
    let mut parts = Vec::new();
    let mut from = searched.start;
    while from < searched.end {
        let to = end_of_line(files, (from + PART).min(searched.end), searched.end)?;
        parts.push(from..to);
        from = to;
    }
    let in_part = |part: Range<u64>| {
        let (mut pass, mut lines) = (Pass::new(files, part), Vec::new());
        pass.more(0)?;
        pass.run(Some(prefilter), &mut |offset, line| {
            lines.push(offset..offset + line.len() as u64);
            ControlFlow::Continue(())
        })?;
        Ok(lines)
    };
    let lines: io::Result<Vec<_>> = parts.into_par_iter().map(in_part).collect();
    Ok((searched, lines?.concat()))
}

/// Searches a file on all processors. Each searches parts of about `part` bytes, which end with a
/// line; the lines that were found in a few parts are kept until all of these are done.
fn in_parts(
    files: &Files,
    len: u64,
    part: u64,
    prefilter: &Prefilter,
    each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> io::Result<()> {
    let threads = rayon::current_num_threads();
    let mut at_once = PARTS * threads;
    let mut from = 0;
    while from < len {
        let mut parts = Vec::with_capacity(at_once);
        while parts.len() < at_once && from < len {
            let to = end_of_line(files, (from + part).min(len), len)?;
            parts.push(from..to);
            from = to;
        }
        let found: Vec<_> = parts.into_par_iter().map(|part| Lines::find(files, part, prefilter)).collect();
        let mut bytes = 0;
        for lines in found {
            let lines = lines?;
            bytes += lines.bytes.len();
            for (offset, line) in lines.each() {
                if each(offset, line).is_break() {
                    return Ok(());
                }
            }
        }
        // Threads wait for each other at each end.
        at_once =
            if bytes <= FEW { (at_once * 2).min(MORE_PARTS * PARTS * threads) } else { PARTS * threads };
    }
    Ok(())
}

/// Returns the offset after the line that the byte before `at` belongs to.
fn end_of_line(files: &Files, at: u64, len: u64) -> io::Result<u64> {
    let mut bytes = Vec::new();
    let mut from = at - 1;
    while from < len {
        files.read(Span { file: 0, offset: from, len: LINE.min(len - from) }, &mut bytes)?;
        if let Some(end) = memchr::memchr(b'\n', &bytes) {
            return Ok(from + end as u64 + 1);
        }
        from += bytes.len() as u64;
    }
    Ok(len)
}

/// Lines of a file, one after the other.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    /// The offset of each in the file, and its end in `bytes`.
    ends: Vec<(u64, usize)>,
}

impl Lines {
    /// Returns the lines of a part of a file that pass a prefilter.
    fn find(files: &Files, part: Range<u64>, prefilter: &Prefilter) -> io::Result<Lines> {
        let mut lines = Lines::default();
        let mut pass = Pass::new(files, part);
        pass.more(0)?;
        pass.run(Some(prefilter), &mut |offset, line| {
            lines.bytes.extend_from_slice(line);
            lines.ends.push((offset, lines.bytes.len()));
            ControlFlow::Continue(())
        })?;
        Ok(lines)
    }

    fn each(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut from = 0;
        self.ends
            .iter()
            .map(move |&(offset, end)| (offset, &self.bytes[std::mem::replace(&mut from, end)..end]))
    }
}

/// Returns whether `found` matches any part of a file, which is read block by block. At most
/// `overlap` bytes of a match may be in a block without its end.
pub(crate) fn has(path: &Path, overlap: usize, found: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
    let mut file: Box<dyn Read> = match File::open(path)? {
        file if compressed::is_compressed(path, &file) => {
            Box::new(io::Cursor::new(compressed::unpack(file, u64::MAX)?))
        }
        file => Box::new(file),
    };
    let mut block = vec![0; BLOCK.max(2 * overlap)];
    let mut held = 0;
    loop {
        let count = file.read(&mut block[held..])?;
        if count == 0 {
            return Ok(false);
        }
        let have = held + count;
        if found(&block[..have]) {
            return Ok(true);
        }
        held = have.min(overlap);
        block.copy_within(have - held..have, 0);
    }
}

/// How many of the bytes that were read are first used to detect the format.
const FIRST: usize = 16 * 1024;

/// From this size on, a file is searched on all processors.
const LARGE: u64 = 32 * 1024 * 1024;

/// How many bytes a processor searches at a time, and how many such parts before the lines that were
/// found are yielded.
const PART: u64 = 1024 * 1024;
const PARTS: usize = 8;

/// How many times as many parts, if few lines were found before, and how many bytes few lines have at most.
const MORE_PARTS: usize = 4;
const FEW: usize = 256 * 1024;

/// How many bytes are read at a time to find where a line ends.
const LINE: u64 = 4 * 1024;

/// The current block of a pass, in memory that the next pass on the same thread uses again: new memory
/// costs more than the search.
#[derive(Default)]
struct Buffer {
    /// The block, and what is left of longer ones.
    bytes: Vec<u8>,
    len: usize,
}

thread_local! {
    static LAST_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Buffer {
    fn take() -> Buffer {
        Buffer { bytes: LAST_BUFFER.take(), len: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Moves the last `keep` bytes to the start, and returns the place of the `count` bytes after them.
    fn next(&mut self, keep: usize, count: usize) -> &mut [u8] {
        self.bytes.copy_within(self.len - keep..self.len, 0);
        self.len = keep + count;
        if self.bytes.len() < self.len {
            self.bytes.resize(self.len, 0);
        }
        &mut self.bytes[keep..self.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        LAST_BUFFER.set(std::mem::take(&mut self.bytes));
    }
}

/// One pass over a part of a file, block by block.
struct Pass<'f> {
    files: &'f Files,
    /// Where the part ends.
    len: u64,
    buffer: Buffer,
    /// How many bytes are read at a time.
    block: usize,
    /// The file offset of the buffer.
    base: u64,
    /// The offset of the line in which the buffer ends.
    line: u64,
    /// Whether that line is wanted.
    open: bool,
    /// The part read so far of a line that is longer than a block.
    long: Vec<u8>,
}

impl<'f> Pass<'f> {
    /// Begins with a part of a file that begins with a line.
    fn new(files: &'f Files, part: Range<u64>) -> Pass<'f> {
        let Range { start, end } = part;
        Pass {
            files,
            len: end,
            buffer: Buffer::take(),
            block: BLOCK,
            base: start,
            line: start,
            open: false,
            long: Vec::new(),
        }
    }

    /// Reads the next block after the last `keep` bytes of this one; returns whether there was one.
    fn more(&mut self, keep: usize) -> io::Result<bool> {
        self.base += (self.buffer.len - keep) as u64;
        let from = self.base + keep as u64;
        let count = (self.len - from).min(self.block as u64);
        let into = self.buffer.next(keep, count as usize);
        self.files.read_into(Span { file: 0, offset: from, len: count }, into)?;
        note_read(count as usize);
        Ok(count > 0)
    }

    fn run(
        &mut self,
        prefilter: Option<&Prefilter>,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<()> {
        loop {
            let flow = match prefilter {
                Some(prefilter) => self.block(prefilter, each)?,
                None => self.whole_block(each)?,
            };
            if flow.is_break() {
                return Ok(());
            }
            let keep = match prefilter {
                Some(prefilter) if !self.open => prefilter.overlap().min(self.buffer.len),
                _ => 0,
            };
            if !self.more(keep)? {
                break;
            }
        }
        if self.open && self.line < self.len {
            let _ = self.hand_out(self.line..self.len, each)?;
        }
        Ok(())
    }

    /// Searches the current block for wanted lines.
    fn block(
        &mut self,
        prefilter: &Prefilter,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let mut from = 0;
        if self.open {
            match memchr::memchr(b'\n', self.buffer.bytes()) {
                None => return Ok(ControlFlow::Continue(())),
                Some(at) => {
                    if self.close(at, each)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    from = at + 1;
                }
            }
        }
        // The yielded bytes reach into those that two blocks share.
        from = from.max(self.line.saturating_sub(self.base) as usize).min(self.buffer.len);
        let mut wanted: Vec<Range<usize>> = Vec::new();
        let mut open = None;
        let block = &self.buffer.bytes()[from..];
        prefilter.each(block, |at| {
            let start = memchr::memrchr(b'\n', &block[..at]).map(|at| at + 1);
            match memchr::memchr(b'\n', &block[at..]) {
                Some(more) => {
                    wanted.push(start.map_or(usize::MAX, |start| from + start)..from + at + more);
                    Some(at + more + 1)
                }
                None => {
                    open = Some(start.map(|start| from + start));
                    None
                }
            }
        });
        for line in wanted {
            if line.start != usize::MAX {
                self.line = self.base + line.start as u64;
            }
            if self.close(line.end, each)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        match open {
            Some(start) => {
                self.open = true;
                if let Some(start) = start {
                    self.line = self.base + start as u64;
                }
            }
            None => {
                if let Some(last) = memchr::memrchr(b'\n', self.buffer.bytes()) {
                    self.line = self.line.max(self.base + last as u64 + 1);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Yields all lines of the current block.
    fn whole_block(
        &mut self,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        self.open = true;
        let mut from = 0;
        while let Some(more) = memchr::memchr(b'\n', &self.buffer.bytes()[from..]) {
            if self.close(from + more, each)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.open = true;
            from += more + 1;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Ends the current line at offset `at` of the buffer, and yields it.
    fn close(
        &mut self,
        at: usize,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let end = self.base + at as u64;
        let flow = self.hand_out(self.line..end, each)?;
        self.open = false;
        self.line = end + 1;
        Ok(flow)
    }

    fn hand_out(
        &mut self,
        line: Range<u64>,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let whole = if line.start >= self.base {
            let at = |offset: u64| (offset - self.base) as usize;
            &self.buffer.bytes()[at(line.start)..at(line.end)]
        } else {
            let span = Span { file: 0, offset: line.start, len: line.end - line.start };
            self.files.read(span, &mut self.long)?;
            &self.long[..]
        };
        let mut start = line.start;
        let mut line = whole.strip_suffix(b"\r").unwrap_or(whole);
        if start == 0
            && let Some(rest) = line.strip_prefix(b"\xEF\xBB\xBF")
        {
            (start, line) = (3, rest);
        }
        Ok(each(start, line))
    }
}

#[cfg(test)]
mod tests;
