//! Reading large session files in parallel.

use super::whole::read_at;
use crate::format::{Builder, Segment};
use crate::json::{Line, Reader};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

/// Smaller files are read on one thread: they take less than a tenth of a second, and threads cost
/// a little.
///
/// In unit tests, small files already count as large, so that they are opened as large files are.
pub(crate) const LARGE: u64 = if cfg!(test) { 4096 } else { 128 << 20 };

/// The length of a segment, in bytes.
const SEGMENT: u64 = if cfg!(test) { 1000 } else { 8 << 20 };

/// Reads a large session file on all processors, segment by segment. Returns `None` if there is
/// only one processor, or if it is impossible.
///
/// A worker reads the lines that begin in its segment, and makes columns of them; these are joined
/// in the order of the file. `begin` creates an empty builder of the session. If lines depend on
/// others in another segment, the file has to be read as a whole.
pub(crate) fn read(len: u64, file: &File, begin: impl Fn() -> Builder) -> io::Result<Option<Builder>> {
    match std::thread::available_parallelism().map_or(1, |count| count.get()) {
        1 => Ok(None),
        workers => read_with(workers, len, SEGMENT, file, begin),
    }
}

fn read_with(
    workers: usize,
    len: u64,
    segment: u64,
    file: &File,
    begin: impl Fn() -> Builder,
) -> io::Result<Option<Builder>> {
    let count = len.div_ceil(segment);
    // Bytes after the last segment were written in the meantime, and belong to it.
    let ends = |number: u64| if number + 1 == count { u64::MAX } else { (number + 1) * segment };
    let pattern = begin();
    let next = AtomicU64::new(1);
    // A worker that is ahead of the joining waits, so that only a few segments are held in memory.
    let (give, taken) = mpsc::sync_channel(workers);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (give, next, pattern) = (give.clone(), &next, &pattern);
            let started = std::thread::Builder::new().spawn_scoped(scope, move || {
                let mut reader = pattern.reader();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let mut part = Segment::begin(pattern);
                    let lines =
                        lines(file, &mut reader, number * segment, ends(number), |line| part.line(line));
                    // Nobody receives it if an earlier one could not be joined.
                    if give.send((number, lines.map(|()| part))).is_err() {
                        return;
                    }
                }
            });
            if started.is_err() {
                // There may be a limit of threads: those that exist do the work, and without any,
                // the file is read as a whole.
                if worker == 0 {
                    return Ok(None);
                }
                break;
            }
        }
        drop(give);
        let mut whole = begin();
        let result = lines(file, &mut whole.reader(), 0, ends(0), |line| whole.line(line));
        let mut waiting = BTreeMap::new();
        let mut due = 1;
        result?;
        for (number, part) in taken {
            waiting.insert(number, part?);
            while let Some(part) = waiting.remove(&due) {
                if !whole.append(part) {
                    return Ok(None);
                }
                due += 1;
            }
        }
        Ok(Some(whole))
    })
}

/// Yields the lines that begin in a segment of a file, each as a whole.
fn lines(
    file: &File,
    reader: &mut Reader,
    from: u64,
    to: u64,
    mut each: impl FnMut(&Line<'_>),
) -> io::Result<()> {
    let mut at = from;
    if from > 0 {
        // A line begins after a line feed, which may be the last byte before the segment.
        let Some(newline) = find_newline(file, reader, from - 1, to - 1)? else { return Ok(()) };
        at = newline + 1;
    }
    reader.restart(at, u64::from(from > 0));
    while at < to {
        let space = reader.space();
        let most = space.len().min(usize::try_from(to - at).unwrap_or(usize::MAX));
        match read_at(file, &mut space[..most], at)? {
            0 => break,
            count => {
                at += count as u64;
                reader.advance(count, &mut each);
            }
        }
    }
    // The last line may continue after the segment.
    let mut goes_on = at >= to && !ends_line(file, to)?;
    while goes_on {
        let space = reader.space();
        let count = read_at(file, space, at)?;
        let newline = memchr::memchr(b'\n', &space[..count]);
        goes_on = newline.is_none() && count > 0;
        at += count as u64;
        reader.advance(newline.map_or(count, |newline| newline + 1), &mut each);
    }
    reader.finish(&mut each);
    Ok(())
}

/// Returns the first line feed in the range from `from` to `to`.
fn find_newline(file: &File, reader: &mut Reader, mut from: u64, to: u64) -> io::Result<Option<u64>> {
    while from < to {
        let space = reader.space();
        let most = space.len().min(usize::try_from(to - from).unwrap_or(usize::MAX));
        let count = read_at(file, &mut space[..most], from)?;
        if let Some(newline) = memchr::memchr(b'\n', &space[..count]) {
            return Ok(Some(from + newline as u64));
        }
        if count == 0 {
            break;
        }
        from += count as u64;
    }
    Ok(None)
}

/// Returns whether the byte before `at` is a line feed.
fn ends_line(file: &File, at: u64) -> io::Result<bool> {
    let mut byte = [0];
    Ok(read_at(file, &mut byte, at - 1)? == 0 || byte == *b"\n")
}

#[cfg(test)]
mod tests;
