//! Plans: changes to files as data, before they are made.

use super::{Source, Span};
use std::io;
use std::path::PathBuf;

/// A change to files that has not been made yet.
///
/// A command of `ops` or `fsck` creates it without touching anything; `--dry-run` prints it;
/// `store` carries it out, target by target, records it and can undo it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The verb, as the operation log shows it: `switch`, `label`, `fsck --repair`.
    pub verb: String,
    /// What was done to what, as the operation log shows it after the verb: `` `done` on 5675f6ad ``; empty if
    /// the verb and the files say all.
    pub detail: String,
    /// What is written to which file, in order.
    pub targets: Vec<Target>,
    /// The same changes, described for people and scripts: one for each line or field.
    pub changes: Vec<Change>,
    /// Whether the file times are preserved, because `--continue` of the agents opens the newest
    /// file.
    pub keep_times: bool,
    /// The move of HEAD, for plans that move it; determines the later meaning of `-` and `@{-1}`.
    pub moved: Option<Moved>,
    /// Folders that are removed at the end if they are empty then, the innermost first.
    pub emptied: Vec<PathBuf>,
}

/// A move of HEAD from one entry to another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Moved {
    /// The id of the entry that HEAD leaves; `None` if it was before the first entry.
    pub from: Option<String>,
    /// The id of the entry that HEAD moves to.
    pub to: Option<String>,
}

impl Plan {
    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}

/// What a [`Plan`] does to one file.
#[derive(Clone, Debug)]
pub enum Target {
    /// Whole lines, including line endings, that are appended to a file of the session.
    Append {
        /// Which file of the session.
        file: u16,
        /// The bytes to append.
        bytes: Vec<u8>,
    },
    /// A file composed anew of pieces, kept or new, that replaces the old one.
    Rewrite {
        /// Which file of the session.
        file: u16,
        /// The new content, in order.
        pieces: Vec<Piece>,
    },
    /// A file that belongs to the session and is removed.
    Remove {
        /// Which file of the session.
        file: u16,
    },
    /// A file that does not exist yet.
    Create {
        /// Its path; `None` is standard output.
        path: Option<PathBuf>,
        /// Its content; kept pieces are read from the current session.
        pieces: Vec<Piece>,
    },
    /// A file that gets another path, and keeps its mode and its time.
    Move {
        /// Which file of the session.
        file: u16,
        /// The new path.
        to: PathBuf,
        /// The new content, in order; kept pieces are stretches of the old file.
        pieces: Vec<Piece>,
        /// Whether the old file stays, too.
        copies: bool,
    },
}

/// One part of the file that a plan will write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Bytes of the old file, copied as they are.
    Keep(Span),
    /// New bytes, including the line ending.
    New(Vec<u8>),
}

impl Piece {
    /// Returns the size of a piece in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Piece::Keep(span) => span.len,
            Piece::New(bytes) => bytes.len() as u64,
        }
    }

    /// Joins pieces in memory.
    pub fn join(pieces: &[Piece], source: &dyn Source) -> io::Result<Vec<u8>> {
        let (mut out, mut kept) = (Vec::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Keep(span) => {
                    source.read(*span, &mut kept)?;
                    out.extend_from_slice(&kept);
                }
                Piece::New(bytes) => out.extend_from_slice(bytes),
            }
        }
        Ok(out)
    }
}

/// One change of a plan, as shown by `--dry-run` and in the report of a repair.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Change {
    /// The type of change: `append`, `set`, `insert`, `split`, `set-aside`, `create`, …
    pub op: &'static str,
    /// Which file of the session.
    pub file: u16,
    /// The path, if the file is not one of the session's, e.g. a new one.
    pub path: Option<PathBuf>,
    /// The changed line, counted from 1 in the old file; 0 for new lines.
    pub line: u64,
    /// The id of the entry.
    pub id: String,
    /// The changed field, if only one field changes.
    pub field: String,
    /// The old value, or the old bytes of the line.
    pub old: String,
    /// The new value, or the new bytes of the line.
    pub new: String,
    /// How many bytes are added, or removed if negative.
    pub bytes: i64,
    /// The reason, as text.
    pub why: String,
    /// Whether another value would be as good: the file does not say which one is right.
    pub is_guess: bool,
}

/// The content that a plan gives to a file, readable as file 0 before it is written.
pub struct Planned<'a> {
    source: &'a dyn Source,
    pieces: &'a [Piece],
    /// Where each piece begins.
    starts: Vec<u64>,
    len: u64,
}

impl<'a> Planned<'a> {
    /// Creates the content that the pieces yield; kept ones are read from `source`.
    pub fn new(source: &'a dyn Source, pieces: &'a [Piece]) -> Planned<'a> {
        let mut len = 0;
        let starts = pieces.iter().map(|piece| {
            let start = len;
            len += piece.bytes();
            start
        });
        let starts = starts.collect();
        Planned { source, pieces, starts, len }
    }

    /// Returns the size of the content in bytes.
    pub fn bytes_in_all(&self) -> u64 {
        self.len
    }
}

impl Source for Planned<'_> {
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        if span.file != 0 || span.offset + span.len > self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (mut at, end) = (span.offset, span.offset + span.len);
        let mut place = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
        let mut kept = Vec::new();
        while at < end {
            let from = at - self.starts[place];
            let len = (self.pieces[place].bytes() - from).min(end - at);
            match &self.pieces[place] {
                Piece::New(bytes) => into.extend_from_slice(&bytes[from as usize..(from + len) as usize]),
                Piece::Keep(span) => {
                    self.source.read(Span { offset: span.offset + from, len, ..*span }, &mut kept)?;
                    into.extend_from_slice(&kept);
                }
            }
            at += len;
            place += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Table;

    #[test]
    fn planned_content_is_read_as_it_will_be_written() {
        let source = Table(vec![b"0123456789".to_vec(), b"abc".to_vec()]);
        let keep = |file, offset, len| Piece::Keep(Span { file, offset, len });
        let new = |text: &str| Piece::New(text.into());
        let pieces = [keep(0, 2, 3), new(""), new("xy"), keep(1, 0, 3), keep(0, 9, 0), new("z"), new("")];
        let whole = Piece::join(&pieces, &source).unwrap();
        assert_eq!(whole, b"234xyabcz");
        let planned = Planned::new(&source, &pieces);
        assert_eq!(planned.bytes_in_all(), 9);
        for offset in 0..=9 {
            for len in 0..=9 - offset {
                let span = Span { file: 0, offset, len };
                assert_eq!(planned.bytes(span).unwrap(), whole[offset as usize..(offset + len) as usize]);
            }
        }
        assert!(planned.bytes(Span { file: 0, offset: 5, len: 5 }).is_err());
    }
}
