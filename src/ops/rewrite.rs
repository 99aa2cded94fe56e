//! A file that is composed anew, line by line: most lines are kept, some are removed, and some are
//! changed in places.

use crate::format::{Builder, Session};
use crate::json::Edits;
use crate::model::{Change, Piece, Planned, Source, Span};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

/// Changes to the lines of the main file of a session. Bytes that are not changed are kept,
/// including line endings and blank lines.
#[derive(Default)]
pub(super) struct Rewrite {
    /// The removed lines, by their offsets.
    removed: BTreeMap<u64, Removed>,
    /// The replaced ranges, by their offsets: the length of each, and the new bytes.
    replaced: BTreeMap<u64, (u64, Vec<u8>)>,
    /// Lines that are added at the end.
    added: Vec<u8>,
    /// The changes, as they are shown.
    pub(super) changes: Vec<Change>,
}

/// A line that is removed, or an object over several lines.
struct Removed {
    /// The offset after its line ending.
    end: u64,
    /// Its number, from 1.
    line: u64,
    /// The number of lines.
    lines: u64,
}

impl Rewrite {
    /// Removes a line with its ending.
    pub(super) fn remove(
        &mut self,
        session: &Session,
        source: &dyn Source,
        span: Span,
        line: u64,
        change: Change,
    ) -> io::Result<()> {
        if self.removed.contains_key(&span.offset) {
            return Ok(());
        }
        let all = session.files.first().map_or(0, |file| file.bytes);
        let place = |span: Span| (span.file, span.offset);
        let joined = session.joined.binary_search_by_key(&place(span), |joined| place(joined.span));
        let joined = joined.ok().map(|at| &session.joined[at]);
        let mut end = joined.map_or(span, |joined| joined.span);
        end.offset += end.len;
        // The rest of the line: white space, mostly, and its ending.
        let mut block = Vec::new();
        loop {
            let len = (all - end.offset).min(256);
            source.read(Span { len, ..end }, &mut block)?;
            match memchr::memchr(b'\n', &block) {
                Some(at) => end.offset += at as u64 + 1,
                None if len == 0 => {}
                None => {
                    end.offset += len;
                    continue;
                }
            }
            break;
        }
        self.changes.push(Change {
            op: "remove",
            file: span.file,
            line,
            bytes: -((end.offset - span.offset) as i64),
            ..change
        });
        let lines = joined.map_or(1, |joined| joined.lines);
        self.removed.insert(span.offset, Removed { end: end.offset, line, lines });
        Ok(())
    }

    /// Changes fields of a line.
    pub(super) fn edit(&mut self, span: Span, line: u64, id: &str, edits: &Edits<'_>, why: &str) {
        for change in edits.changes() {
            let bytes = change.new.len() as i64 - change.old.len() as i64;
            self.changes.push(Change {
                op: "set",
                file: span.file,
                line,
                id: id.into(),
                field: change.field,
                old: change.old,
                new: change.new,
                bytes,
                why: why.into(),
                ..Change::default()
            });
        }
        for (range, new) in edits.stretches() {
            self.replace(span, range, new);
        }
    }

    /// Replaces a range of a line.
    pub(super) fn replace(&mut self, span: Span, range: Range<usize>, new: Vec<u8>) {
        let at = span.offset + range.start as u64;
        self.replaced.insert(at, ((range.end - range.start) as u64, new));
    }

    /// Adds whole lines at the end.
    pub(super) fn add(&mut self, lines: &[u8]) {
        self.added.extend_from_slice(lines);
    }

    /// Returns the new content of a file of `len` bytes.
    pub(super) fn pieces(&self, len: u64, ends_in_newline: bool) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let keep = |from: u64, to: u64, pieces: &mut Vec<Piece>| {
            if to > from {
                pieces.push(Piece::Keep(Span { file: 0, offset: from, len: to - from }));
            }
        };
        let mut at = 0;
        let mut replaced = self.replaced.iter().peekable();
        let mut upto = |end: u64, at: &mut u64, pieces: &mut Vec<Piece>| {
            while let Some((from, (len, new))) = replaced.next_if(|(from, _)| **from < end) {
                // A change in a removed line is gone with it.
                if *from < *at {
                    continue;
                }
                keep(*at, *from, pieces);
                if !new.is_empty() {
                    pieces.push(Piece::New(new.clone()));
                }
                *at = from + len;
            }
        };
        for (from, removed) in &self.removed {
            upto(*from, &mut at, &mut pieces);
            keep(at, *from, &mut pieces);
            at = removed.end;
        }
        upto(u64::MAX, &mut at, &mut pieces);
        keep(at, len, &mut pieces);
        if !self.added.is_empty() {
            if !ends_in_newline && at < len {
                pieces.push(Piece::New(b"\n".to_vec()));
            }
            pieces.push(Piece::New(self.added.clone()));
        }
        pieces
    }

    /// Returns the number that an old line has in the new file; `None` for a removed line.
    pub(super) fn new_line(&self, old: &Lines, line: u64) -> Option<u64> {
        let before = old.0.partition_point(|(removed, ..)| *removed <= line);
        match before.checked_sub(1).map(|at| old.0[at]) {
            Some((removed, lines, _)) if line < removed + lines => None,
            Some((_, _, gone)) => Some(line - gone),
            None => Some(line),
        }
    }

    /// Returns the removed lines in a form in which the new number of a line is found quickly.
    pub(super) fn lines(&self) -> Lines {
        let mut rows: Vec<(u64, u64, u64)> =
            self.removed.values().map(|removed| (removed.line, removed.lines, 0)).collect();
        rows.sort_unstable();
        let mut gone = 0;
        for row in &mut rows {
            gone += row.1;
            row.2 = gone;
        }
        Lines(rows)
    }

    /// Reads the new content as a session.
    pub(super) fn read(
        &self,
        session: &Session,
        source: &dyn Source,
        pieces: &[Piece],
    ) -> io::Result<Session> {
        let planned = Planned::new(source, pieces);
        let mut builder = Builder::new(session.format);
        builder.program(session.program);
        builder.read(&planned, planned.bytes_in_all())
    }
}

/// The removed lines: the number of the first, how many there are, and how many lines are removed
/// up to there.
pub(super) struct Lines(Vec<(u64, u64, u64)>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Table;

    #[test]
    fn everything_that_is_not_changed_is_kept() {
        let text = "{\"a\":1}\n\n{\"b\":2} \r\n{\"c\":3}\n{\"d\":4}";
        let session = Session {
            files: vec![crate::format::FileFacts { bytes: text.len() as u64, ..Default::default() }],
            ..Session::read(b"{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n").unwrap()
        };
        let source = Table(vec![text.into()]);
        let span = |offset, len| Span { file: 0, offset, len };
        let mut rewrite = Rewrite::default();
        rewrite.remove(&session, &source, span(9, 7), 3, Change::default()).unwrap();
        let line = b"{\"c\":3}".to_vec();
        let mut edits = Edits::begin(&line).unwrap();
        edits.set("c", b"33");
        rewrite.edit(span(19, 7), 4, "c", &edits, "");
        rewrite.add(b"{\"e\":5}\n");
        let pieces = rewrite.pieces(text.len() as u64, false);
        let joined = Piece::join(&pieces, &source).unwrap();
        assert_eq!(String::from_utf8(joined).unwrap(), "{\"a\":1}\n\n{\"c\":33}\n{\"d\":4}\n{\"e\":5}\n");
        let lines = rewrite.lines();
        let numbers: Vec<_> = (1..=5).map(|line| rewrite.new_line(&lines, line)).collect();
        assert_eq!(numbers, [Some(1), Some(2), None, Some(3), Some(4)]);
        assert_eq!(rewrite.changes[0].bytes, -10);
    }
}
