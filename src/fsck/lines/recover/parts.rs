//! Entries that share a line: each gets a line of its own.

use super::{BLOCK, Bad, NO_ROOM, Work, at_length, message, slot_of};
use crate::fsck::excerpt::{differing, short};
use crate::fsck::lines::classify::{Class, Part, classify, inked, without_halves};
use crate::fsck::lines::title_slot::Fitted;
use crate::fsck::rope::Edit;
use crate::fsck::table::Check;
use crate::model::{Source, Span};
use std::io;

impl Work<'_, '_> {
    pub(super) fn halves(&mut self, line: Bad, bytes: &[u8], ending: &[u8]) {
        let Some(new) = without_halves(bytes) else { return };
        let id = self.id(bytes);
        let message = "a string has half of a surrogate pair".into();
        self.find(Check::LoneSurrogate, line, &id, message);
        let at = bytes.iter().zip(&new).position(|(old, new)| old != new).unwrap_or(0);
        let old =
            String::from_utf8_lossy(&bytes[at.saturating_sub(2)..(at + 4).min(bytes.len())]).into_owned();
        self.change("replace", self.old(line), &id, &old, "\\ufffd", 0, "half of a surrogate pair");
        let end = if ending.is_empty() { Vec::new() } else { ending.to_vec() };
        self.replace_line(line, 1, [new, end].concat(), ending);
    }

    /// Returns the rest of a line without its NUL bytes, reading one block at a time: a hole in a
    /// file may be larger than the memory. Returns `None` if there are none.
    pub(super) fn without_nuls(&self, line: Bad) -> io::Result<Option<Vec<u8>>> {
        let (mut left, mut offset, end) = (Vec::new(), line.offset, line.offset + line.len);
        let mut block = Vec::new();
        while offset < end {
            let len = (end - offset).min(BLOCK);
            self.source.read(Span { file: 0, offset, len }, &mut block)?;
            left.extend(block.iter().filter(|byte| **byte != 0));
            offset += len;
        }
        Ok(Some(left).filter(|left| (left.len() as u64) < line.len))
    }

    pub(super) fn nul(&mut self, line: Bad, left: Vec<u8>, ending: &[u8]) {
        let count = line.len as usize - left.len();
        let nothing = left.trim_ascii().is_empty();
        let message = match nothing {
            true => format!("{count} NUL bytes and nothing else"),
            false => format!("{count} NUL bytes in the line"),
        };
        self.classed(Check::NulBytes, line, "", message);
        let old = self.old(line);
        self.change(
            "strip",
            old,
            "",
            &format!("{count} NUL bytes"),
            "",
            -(count as i64),
            "a block that was lost in a crash",
        );
        if nothing {
            return self.replace(line, 1, [], ending);
        }
        let holds = match classify(&left, self.probe) {
            Class::Record | Class::InvalidUtf8 => true,
            Class::Glued(parts) | Class::Spliced(parts) | Class::Torn(parts) | Class::Garbage(parts) => {
                parts.iter().any(Part::is_entry)
            }
            Class::Blank | Class::Nul(_) => false,
        };
        if ending.is_empty() && holds {
            self.unended(line);
        }
        // It can't grow, so there is room.
        if let Some((left, blanks)) = at_length(line, left, line.len as usize, ending) {
            self.padded(line, blanks);
            self.replace(line, 1, [&left[..]], ending);
        }
    }

    /// Splits a line into parts: each entry gets a line, each piece is set aside, and the last
    /// piece may continue in the next lines.
    pub(super) fn parts(
        &mut self,
        check: Check,
        line: Bad,
        bytes: &[u8],
        mut parts: Vec<Part>,
        ending: &[u8],
    ) -> io::Result<Option<u64>> {
        let mut blanks = 0;
        if let Some(Part::Escaped(range, escaped_bytes)) = parts.first_mut() {
            match at_length(line, std::mem::take(escaped_bytes), range.len(), ending) {
                Some(slot) => (*escaped_bytes, blanks) = slot,
                None => {
                    self.stays(check, line, NO_ROOM);
                    return Ok(None);
                }
            }
        }
        let mut joined = None;
        if let Some(Part::Piece(last)) = parts.last().cloned()
            && let Some((at, mut record)) = self.continued_object(line, &bytes[last.start..], ending)?
        {
            parts.pop();
            let front = inked(&bytes[last.start..last.start + at]);
            if !front.is_empty() {
                parts.push(Part::Piece(last.start + front.start..last.start + front.end));
            }
            if parts.is_empty()
                && let Fitted::Slot(slot) = slot_of(line, &record.record, &record.ending)
            {
                blanks = slot.len() as i64 - record.record.len() as i64;
                record.record = slot;
            }
            joined = Some(record);
        }
        let check = match check {
            Check::TornLine | Check::GarbageLine if joined.is_some() => Check::SplitRecord,
            check => check,
        };
        let entries = parts.iter().filter(|part| part.is_entry()).count() + usize::from(joined.is_some());
        self.classed(check, line, "", message(check, line, entries));
        let old = self.old(line);
        let mut lines = self.lines_of(&parts, line, check, bytes);
        self.padded(line, blanks);
        let all = |lines: &[&[u8]]| lines.iter().map(|line| short(line)).collect::<Vec<_>>().join("\n");
        if entries > 1 && joined.is_none() {
            let words = "each object gets its own line";
            self.change("split", old, "", &short(bytes), &all(&lines), 0, words);
        }
        let mut ending = ending.to_vec();
        let (mut last, mut to) = (line.line, line.offset + line.len + ending.len() as u64);
        if let Some(joined) = &joined {
            lines.push(&joined.record);
            let was = [bytes, &joined.was[..]].concat();
            self.change("join", old, "", &short(&was), &all(&lines), 0, "the object continues there");
            if !joined.rest.trim_ascii().is_empty() {
                // It is read again in the next pass.
                lines.push(&joined.rest);
            }
            ending = joined.ending.clone();
            (last, to) = (joined.last, joined.to);
            self.consume(line, &joined.was);
        }
        if ending.is_empty() && entries > 0 && (joined.is_some() || parts.last().is_some_and(Part::is_entry))
        {
            self.unended(line);
        }
        let terminator: &[u8] = if ending.is_empty() { b"\n" } else { &ending };
        let mut new = Vec::new();
        for line in lines {
            new.extend_from_slice(line);
            new.extend_from_slice(terminator);
        }
        let lines = last - line.line + 1;
        let from = self.source.start_of_line(line.offset)?;
        self.edits.push(Edit { from, to, line: line.line, lines, new, fresh: false });
        Ok(Some(last))
    }

    /// Returns the lines of the parts of a line; pieces are set aside.
    fn lines_of<'b>(&mut self, parts: &'b [Part], line: Bad, check: Check, bytes: &'b [u8]) -> Vec<&'b [u8]> {
        let old = self.old(line);
        let mut lines: Vec<&[u8]> = Vec::new();
        for part in parts {
            match part {
                Part::Entry(range) => lines.push(&bytes[range.clone()]),
                Part::Escaped(range, escaped_bytes) => {
                    let grown = escaped_bytes.len() as i64 - range.len() as i64;
                    let was = &bytes[range.clone()];
                    let (same, behind) = differing(was, escaped_bytes);
                    let was = short(&was[same..was.len() - behind]);
                    let is = short(&escaped_bytes[same..escaped_bytes.len() - behind]);
                    let words = "raw control characters in a string";
                    self.change("escape", old, "", &was, &is, grown, words);
                    lines.push(escaped_bytes);
                }
                Part::Piece(range) => {
                    if bytes[range.start] == b'{' {
                        self.torn(old, &bytes[range.clone()]);
                    }
                    self.set_aside(line, check, range.clone(), bytes);
                }
            }
        }
        lines
    }
}
