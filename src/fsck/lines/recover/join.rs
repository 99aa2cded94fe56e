//! Lines that are pieces of one entry: they are joined.

use super::{Above, BUDGET, Bad, MOST_LINES, Work, slot_of};
use crate::fsck::lines::classify::unfinished;
use crate::fsck::lines::title_slot::{Fitted, SLOT};
use crate::fsck::lines::walk::{Step, Walk};
use crate::json::{Field, Str, Value};
use crate::model::{Source, Span};
use std::io;

/// The legible part of a truncated line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Torn {
    /// The line of the file.
    pub line: u64,
    pub ty: Option<String>,
    pub id: Option<String>,
    pub above: Above,
    /// Whether it is on a sidechain.
    pub side: Option<bool>,
    /// The session that it belongs to.
    pub session: Option<String>,
    pub time: Option<String>,
    pub version: Option<String>,
    pub cwd: Option<String>,
}

impl Work<'_, '_> {
    /// Returns the object that begins in a piece and continues in the lines after it, and its
    /// offset.
    pub(super) fn continued_object(
        &mut self,
        line: Bad,
        piece: &[u8],
        ending: &[u8],
    ) -> io::Result<Option<(usize, Joined)>> {
        if ending.is_empty() {
            return Ok(None);
        }
        for at in unfinished(piece, self.probe.python) {
            if at > 0 {
                // Objects may be nested deeply, and each of them walks through the piece.
                let budget = self.out.budget.get_or_insert(BUDGET);
                *budget = budget.saturating_sub(piece.len());
            }
            let joined = self.join(line, &piece[at..], ending)?;
            // A nested object is a separate line only if it contains everything that a line
            // contains.
            if let Some(joined) = joined.filter(|joined| at == 0 || self.probe.is_line(&joined.record)) {
                return Ok(Some((at, joined)));
            }
        }
        Ok(None)
    }

    /// Tries the lines after a piece as the rest of its object. A line that is an entry ends the
    /// attempt.
    fn join(&mut self, line: Bad, piece: &[u8], ending: &[u8]) -> io::Result<Option<Joined>> {
        let budget = self.out.budget.get_or_insert(BUDGET);
        if *budget == 0 {
            return Ok(None);
        }
        let mut walk = Walk::new(self.probe.python);
        if walk.feed(piece, true) != Step::More {
            return Ok(None);
        }
        let mut was = ending.to_vec();
        let mut at = Bad { lines: 1, why: None, ..line };
        let mut behind = ending.len() as u64;
        for _ in 0..MOST_LINES {
            let left = *self.out.budget.get_or_insert(0);
            let Some((bytes, ending)) = self.next_line(at.offset + at.len + behind, left)? else { break };
            at =
                Bad { line: at.line + 1, offset: at.offset + at.len + behind, len: bytes.len() as u64, ..at };
            behind = ending.len() as u64;
            self.out.budget = Some(left.saturating_sub(bytes.len() + 1));
            walk.line_break();
            let step = walk.feed(&bytes, true);
            if matches!(step, Step::Wrong(_)) || self.probe.is_entry(&bytes) {
                break;
            }
            was.extend_from_slice(&bytes);
            if let Step::Done(end) = step {
                if !self.probe.is_entry(&walk.copied) {
                    break;
                }
                let to = at.offset + at.len + behind;
                let (record, rest) = (walk.copied, bytes[end..].to_vec());
                return Ok(Some(Joined { last: at.line, to, was, rest, record, ending }));
            }
            was.extend_from_slice(&ending);
        }
        Ok(None)
    }

    /// Returns the line that begins at `offset`, and its ending, or `None` if there is none, or it
    /// is longer than `most` bytes.
    fn next_line(&self, offset: u64, most: usize) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
        const FIRST: u64 = 4 << 10;
        let left = self.source.text.len().saturating_sub(offset);
        let mut len = FIRST;
        loop {
            let mut line = self.source.bytes(Span { file: 0, offset, len: len.min(left) })?;
            let newline = memchr::memchr(b'\n', &line);
            if newline.is_none() && len < left {
                if len > most as u64 {
                    return Ok(None);
                }
                len *= 8;
                continue;
            }
            if line.is_empty() {
                return Ok(None);
            }
            let end = newline.unwrap_or(line.len());
            let returned = newline.is_some() && line[..end].ends_with(b"\r");
            let end = end - usize::from(returned);
            line.truncate(newline.map_or(line.len(), |newline| newline + 1));
            let ending = line.split_off(end);
            return Ok(Some((line, ending)));
        }
    }

    /// Records the legible part of a truncated piece.
    pub(super) fn torn(&mut self, line: u64, piece: &[u8]) {
        let names = self.format.names();
        let torn = self.probe.look(piece, |seen| {
            let text = |field| seen.fields.str(field).map(|text: Str<'_>| text.text().into_owned());
            let (id, parent) = match names.parent {
                "parentUuid" => (Field::Uuid, Field::ParentUuid),
                "parent_id" => (Field::Id, Field::ParentSnake),
                _ => (Field::Id, Field::ParentId),
            };
            Torn {
                line,
                ty: text(Field::Type),
                id: text(id),
                above: match seen.fields.get(parent) {
                    Value::Null => Above::Root,
                    _ => text(parent).map_or(Above::Unseen, Above::Id),
                },
                side: match seen.fields.get(Field::IsSidechain) {
                    Value::Bool(side) => Some(side),
                    _ => None,
                },
                session: text(Field::SessionId),
                time: text(Field::Timestamp),
                version: match seen.fields.get(Field::Version) {
                    Value::Number(number) => Some(String::from_utf8_lossy(number).into_owned()),
                    _ => None,
                },
                cwd: text(Field::Cwd),
            }
        });
        self.out.torn.extend(torn);
    }
}

/// Why a title slot stays as it is.
pub(super) const NO_ROOM: &str = "the corrected title slot would be too long";

/// Returns a repaired line, and how many spaces were added: if it is the title slot, it gets the
/// slot's length. Returns `None` if a slot that had that length would lose it.
pub(super) fn at_length(
    line: Bad,
    escaped_bytes: Vec<u8>,
    was: usize,
    ending: &[u8],
) -> Option<(Vec<u8>, i64)> {
    match slot_of(line, &escaped_bytes, ending) {
        Fitted::Slot(slot) => {
            let blanks = slot.len() as i64 - escaped_bytes.len() as i64;
            Some((slot, blanks))
        }
        Fitted::TooLong if was + ending.len().max(1) == SLOT => None,
        Fitted::TooLong | Fitted::NoSlot => Some((escaped_bytes, 0)),
    }
}

/// An object that was joined from several lines.
pub(super) struct Joined {
    pub(super) record: Vec<u8>,
    /// The number of the last one.
    pub(super) last: u64,
    /// The offset after it and its ending.
    pub(super) to: u64,
    /// The old bytes after the first line.
    pub(super) was: Vec<u8>,
    /// The bytes after the object on the last line.
    pub(super) rest: Vec<u8>,
    pub(super) ending: Vec<u8>,
}
