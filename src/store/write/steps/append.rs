//! Preparing an append.

use super::{Action, Ready};
use crate::json::{Reader, Shape};
use crate::store::oplog::{State, Step, StepKind, hex};
use crate::store::write::guard::Guard;
use crate::store::write::stamp::{self, Stamp};
use crate::store::write::{Refusal, WriteOptions};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io;

/// How many of the first bytes of an append are recorded in its step.
pub(crate) const HEAD: usize = 64;

/// Checks whether lines may be appended; returns the handle for that, its stamp, and the bytes that
/// must come before the lines.
pub(in crate::store::write) fn check_append(
    guard: &Guard,
    stamp: &Stamp,
    lines: &[u8],
    options: &WriteOptions<'_>,
) -> Result<(File, Stamp, &'static [u8]), Refusal> {
    let io = |source| Refusal::io(&guard.path, source);
    let file = OpenOptions::new().read(true).append(true).open(&guard.path).map_err(io)?;
    let found = Stamp::take(&file).map_err(io)?;
    if found != *stamp {
        let grew = options.last_try && options.allows().changed && stamp.only_grew(&file).map_err(io)?;
        if !grew {
            return Err(Refusal::Changed { path: guard.path.clone() });
        }
    }
    let first: &[u8] = match last_line(&file, found.len).map_err(io)? {
        _ if lines.starts_with(b"\n") || lines.starts_with(b"\r\n") => b"",
        LastLine::Ended => b"",
        LastLine::Whole => b"\n",
        LastLine::Torn { .. } if options.allows().truncated => b"\n",
        LastLine::Torn { offset } => return Err(Refusal::Torn { path: guard.path.clone(), offset }),
    };
    Ok((file, found, first))
}

/// Prepares an append of whole lines. If the last line lacks its newline, that comes first.
pub(in crate::store::write) fn append(
    guard: &Guard,
    stamp: &Stamp,
    lines: &[u8],
    keep_time: bool,
    options: &WriteOptions<'_>,
) -> Result<Ready, Refusal> {
    let (file, found, first) = check_append(guard, stamp, lines, options)?;
    let bytes = [first, lines].concat();
    ready_append(guard, file, bytes, keep_time.then_some(found.mtime))
}

/// Prepares an append of bytes that were cut off there.
pub(crate) fn append_again(
    guard: &Guard,
    stamp: &Stamp,
    bytes: Vec<u8>,
    time: i64,
) -> Result<Ready, Refusal> {
    let io = |source| Refusal::io(&guard.path, source);
    let file = OpenOptions::new().read(true).append(true).open(&guard.path).map_err(io)?;
    if Stamp::take(&file).map_err(io)? != *stamp {
        return Err(Refusal::Changed { path: guard.path.clone() });
    }
    ready_append(guard, file, bytes, Some(time))
}

fn ready_append(guard: &Guard, file: File, bytes: Vec<u8>, time: Option<i64>) -> Result<Ready, Refusal> {
    let before = State::read(&file).map_err(|source| Refusal::io(&guard.path, source))?;
    let after = State {
        bytes: before.bytes + bytes.len() as u64,
        tail: String::new(),
        sha256: Some(hex(&Sha256::digest(&bytes))),
        ..before.clone()
    };
    let step = Step {
        before: Some(before),
        after: Some(after),
        head: hex(&bytes[..bytes.len().min(HEAD)]),
        ..Step::new(&guard.path, StepKind::Append)
    };
    Ok(Ready { step, action: Action::Append { file, bytes, time } })
}

enum LastLine {
    /// It ends in a newline, or there is no line.
    Ended,
    /// It is valid JSON but lacks its newline.
    Whole,
    /// It is truncated.
    Torn { offset: u64 },
}

/// Determines how the last line of a file ends. Costs the length of that line.
fn last_line(file: &File, len: u64) -> io::Result<LastLine> {
    const BLOCK: u64 = 64 * 1024;
    let mut end = len;
    let mut offset = 0;
    while end > 0 {
        let from = end.saturating_sub(BLOCK);
        let block = stamp::read_at(file, from, (end - from) as usize)?;
        if end == len && block.last() == Some(&b'\n') {
            return Ok(LastLine::Ended);
        }
        if let Some(at) = memchr::memrchr(b'\n', &block) {
            offset = from + at as u64 + 1;
            break;
        }
        end = from;
    }
    if offset == len {
        return Ok(LastLine::Ended);
    }
    let mut reader = Reader::new();
    // Whichever program wrote it: a complete line is not truncated.
    reader.python(true);
    let mut whole = false;
    let mut look = |shape: Shape| whole = matches!(shape, Shape::Object | Shape::Scalar | Shape::Blank);
    stamp::each_block(file, offset, len - offset, |block| {
        reader.feed(block, |line| look(line.shape));
        Ok(())
    })?;
    reader.finish(|line| look(line.shape));
    Ok(if whole { LastLine::Whole } else { LastLine::Torn { offset } })
}
