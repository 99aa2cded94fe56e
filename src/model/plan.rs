use super::{Source, Span};
use std::io;
use std::path::PathBuf;

/// A change to files that is not yet made.
///
/// A verb of `ops` or `fsck` makes it and touches nothing; `--dry-run` prints it; `store` carries it out,
/// target by target, records it and can take it back.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The verb, as the operation log shows it: `switch`, `label`, `fsck --repair`.
    pub verb: String,
    /// What is written where, in order.
    pub targets: Vec<Target>,
    /// The same change said for people and scripts, one a line or field.
    pub changes: Vec<Change>,
    /// Whether the file times stay as they are, since `--continue` of the agents opens the newest file.
    pub keep_times: bool,
    /// Where the position goes, for plans that move it; what `-` and `@{-1}` mean later.
    pub moved: Option<Moved>,
}

/// A move of the position from one entry to another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Moved {
    /// The id of the entry at which the session stood; `None` before the first entry.
    pub from: Option<String>,
    /// The id of the entry at which it will stand.
    pub to: Option<String>,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}

/// What a [`Plan`] does to one file.
#[derive(Clone, Debug)]
pub enum Target {
    /// Whole lines, line endings included, put behind the last byte of a file of the session.
    Append {
        /// Which file of the session.
        file: u16,
        /// The bytes to put there.
        bytes: Vec<u8>,
    },
    /// The file made anew out of pieces, kept or new, and put in the place of the old one.
    Rewrite {
        /// Which file of the session.
        file: u16,
        /// The new content, in order.
        pieces: Vec<Piece>,
    },
    /// A file that is not there yet.
    Create {
        /// Where; `None` is standard output.
        path: Option<PathBuf>,
        /// Its content; kept pieces are read from the session at hand.
        pieces: Vec<Piece>,
    },
}

/// One stretch of the file that a plan will write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Bytes of the old file, copied as they are.
    Keep(Span),
    /// New bytes, line ending included.
    New(Vec<u8>),
}

impl Piece {
    /// Returns how many bytes a piece has.
    pub fn bytes(&self) -> u64 {
        match self {
            Piece::Keep(span) => span.len,
            Piece::New(bytes) => bytes.len() as u64,
        }
    }

    /// Puts pieces together in memory.
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

/// One change of a plan, as `--dry-run` and the report of a repair show it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Change {
    /// What is done: `append`, `set`, `insert`, `split`, `set-aside`, `create`, …
    pub op: &'static str,
    /// Which file of the session.
    pub file: u16,
    /// The file, where it is none of the session's: one that is made.
    pub path: Option<PathBuf>,
    /// The line that is changed, counted from 1 in the old file; 0 for what is new.
    pub line: u64,
    /// The id of the entry.
    pub id: String,
    /// The field that is changed, where it is one field.
    pub field: String,
    /// The old value, or the old bytes of the line.
    pub old: String,
    /// The new value, or the new bytes of the line.
    pub new: String,
    /// How many bytes come or go.
    pub bytes: i64,
    /// Why, as words.
    pub why: String,
}

/// The content that a plan gives a file, to be read as file 0 before it is written.
pub struct Planned<'a> {
    source: &'a dyn Source,
    pieces: &'a [Piece],
    /// Where each piece begins.
    starts: Vec<u64>,
    len: u64,
}

impl<'a> Planned<'a> {
    /// Returns the content that pieces make; kept ones are read from `source`.
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

    /// Returns how many bytes the content has.
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
