//! A text made of pieces: a file as it would be after changes.

use crate::model::{Piece, Source, Span};
use std::io;
use std::sync::Arc;

/// A file as it would be after changes: ranges of the old file and new bytes, in order.
///
/// Each line of the text originates in a line of the old file: that of its first byte.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    parts: Vec<Part>,
    len: u64,
}

#[derive(Clone, Debug)]
struct Part {
    /// The offset in the text.
    at: u64,
    len: u64,
    /// The line number in the text of its first byte, from 1.
    line: u64,
    /// The line number in the old file from which this originates; 0 if there was none.
    old_line: u64,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    /// Bytes of the old file, from this offset on.
    Old(u64),
    /// New bytes, from the given index on.
    New {
        bytes: Arc<Vec<u8>>,
        from: usize,
        /// The offset of the line of the old file in which they originate.
        offset: u64,
        /// Whether each of their lines is a line of the old file, e.g. because only the encoding
        /// was changed.
        line_by_line: bool,
    },
}

/// A change of a text: bytes that are removed, and their replacement.
#[derive(Clone, Debug, Default)]
pub(super) struct Edit {
    /// The first byte that is removed.
    pub from: u64,
    /// The offset after the last byte that is removed; equal to `from` if nothing is.
    pub to: u64,
    /// The number of the line at `from`.
    pub line: u64,
    /// How many line endings are removed, or lines without one.
    pub lines: u64,
    /// The replacement: whole lines with their endings, or a part of one.
    pub new: Vec<u8>,
    /// Whether the replacement does not originate in any line.
    pub fresh: bool,
}

/// The origin of a line of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Origin {
    /// The line of the old file; 0 if there was none.
    pub line: u64,
    /// The offset of that line.
    pub offset: u64,
    /// Whether the bytes are those of the old file.
    pub same: bool,
}

impl Text {
    /// Returns a file as a whole.
    pub(super) fn whole(len: u64) -> Text {
        let mut text = Text::default();
        text.push(len, 1, 1, Content::Old(0));
        text
    }

    /// Returns new bytes that replace everything, line by line.
    pub(super) fn recoded(bytes: Vec<u8>) -> Text {
        let mut text = Text::default();
        let len = bytes.len() as u64;
        let content = Content::New { bytes: Arc::new(bytes), from: 0, offset: 0, line_by_line: true };
        text.push(len, 1, 1, content);
        text
    }

    /// Returns the size in bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the origin of a line, given its number and its offset.
    pub(super) fn origin(&self, line: u64, offset: u64) -> Origin {
        let at = self.parts.partition_point(|part| part.at <= offset);
        match at.checked_sub(1).map(|at| &self.parts[at]) {
            Some(part) => part.origin(line, offset),
            None => Origin { line: 0, offset: 0, same: false },
        }
    }

    /// Returns whether a range is unchanged from the old file.
    pub(super) fn is_old(&self, span: Span) -> bool {
        let at = self.parts.partition_point(|part| part.at <= span.offset);
        at.checked_sub(1).map(|at| &self.parts[at]).is_some_and(|part| {
            matches!(part.content, Content::Old(_)) && span.offset + span.len <= part.at + part.len
        })
    }

    /// Returns the text after changes, which must be in order and must not overlap.
    pub(super) fn edited(&self, edits: Vec<Edit>) -> Text {
        let mut out = Text::default();
        let (mut part, mut from, mut line, mut out_line) = (0, 0, 1, 1);
        for edit in edits {
            self.copy(&mut part, (from, edit.from), line, out_line, &mut out);
            out_line += edit.line - line;
            if !edit.new.is_empty() {
                let origin = match edit.fresh || edit.from >= self.len {
                    true => Origin { line: 0, offset: self.origin(edit.line, edit.from).offset, same: false },
                    false => self.origin(edit.line, edit.from),
                };
                let lines = memchr::memchr_iter(b'\n', &edit.new).count() as u64;
                let len = edit.new.len() as u64;
                let bytes = Arc::new(edit.new);
                let content = Content::New { bytes, from: 0, offset: origin.offset, line_by_line: false };
                out.push(len, out_line, origin.line, content);
                out_line += lines;
            }
            (from, line) = (edit.to, edit.line + edit.lines);
        }
        self.copy(&mut part, (from, self.len), line, out_line, &mut out);
        out
    }

    /// Copies a range that begins with line `line`, which becomes line `out_line`. `part` is where
    /// the last range ended.
    fn copy(&self, part: &mut usize, (mut from, to): (u64, u64), line: u64, out_line: u64, out: &mut Text) {
        while from < to {
            while self.parts[*part].at + self.parts[*part].len <= from {
                *part += 1;
            }
            let here = &self.parts[*part];
            let here_line = if here.at >= from { here.line } else { line };
            let end = to.min(here.at + here.len);
            let content = match &here.content {
                Content::Old(offset) => Content::Old(offset + (from - here.at)),
                Content::New { bytes, from: start, offset, line_by_line } => Content::New {
                    bytes: bytes.clone(),
                    from: start + (from - here.at) as usize,
                    offset: *offset,
                    line_by_line: *line_by_line,
                },
            };
            let old_line = here.origin(here_line, from).line;
            out.push(end - from, out_line + (here_line - line), old_line, content);
            from = end;
        }
    }

    fn push(&mut self, len: u64, line: u64, old_line: u64, content: Content) {
        if len == 0 {
            return;
        }
        let at = self.len;
        self.len += len;
        if let (Some(last), Content::Old(from)) = (self.parts.last_mut(), &content)
            && let Content::Old(before) = last.content
            && before + last.len == *from
        {
            last.len += len;
            return;
        }
        self.parts.push(Part { at, len, line, old_line, content });
    }

    /// Returns the pieces that a plan would write for a file.
    pub(super) fn pieces(&self, file: u16) -> Vec<Piece> {
        let piece = |part: &Part| match &part.content {
            Content::Old(offset) => Piece::Keep(Span { file, offset: *offset, len: part.len }),
            Content::New { bytes, from, .. } => Piece::New(bytes[*from..*from + part.len as usize].to_vec()),
        };
        self.parts.iter().map(piece).collect()
    }
}

impl Part {
    fn origin(&self, line: u64, offset: u64) -> Origin {
        let further = line.saturating_sub(self.line);
        match &self.content {
            Content::Old(from) => {
                Origin { line: self.old_line + further, offset: from + (offset - self.at), same: true }
            }
            Content::New { offset, line_by_line: true, .. } => {
                Origin { line: self.old_line + further, offset: *offset, same: false }
            }
            Content::New { offset, .. } => Origin { line: self.old_line, offset: *offset, same: false },
        }
    }
}

/// The bytes of a text; `base` contains those of the old file.
pub(super) struct Patched<'a> {
    pub text: &'a Text,
    pub base: &'a dyn Source,
    pub file: u16,
}

impl Patched<'_> {
    /// Returns the offset of the line, if it contains only white space before `offset`; otherwise
    /// `offset`. Readers skip some white space before an object.
    pub(super) fn start_of_line(&self, offset: u64) -> io::Result<u64> {
        const MOST_SKIPPED: u64 = 64;
        let len = offset.min(MOST_SKIPPED);
        let before = self.bytes(Span { file: 0, offset: offset - len, len })?;
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | 0x0B | 0x0C);
        let space = before.iter().rev().take_while(|byte| is_space(byte)).count();
        let begins = match before.len() - space {
            0 => offset <= MOST_SKIPPED,
            at => before[at - 1] == b'\n',
        };
        Ok(if begins { offset - space as u64 } else { offset })
    }
}

impl Source for Patched<'_> {
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        let (mut from, to) = (span.offset, span.offset + span.len);
        if to > self.text.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut at = self.text.parts.partition_point(|part| part.at + part.len <= from);
        let mut bytes = Vec::new();
        while from < to {
            let part = &self.text.parts[at];
            let len = to.min(part.at + part.len) - from;
            let skipped = from - part.at;
            match &part.content {
                Content::Old(offset) => {
                    let span = Span { file: self.file, offset: offset + skipped, len };
                    if len == span.len && from == span.offset && into.is_empty() && to - from == len {
                        return self.base.read(span, into);
                    }
                    self.base.read(span, &mut bytes)?;
                    into.extend_from_slice(&bytes);
                }
                Content::New { bytes, from: start, .. } => {
                    let start = start + skipped as usize;
                    into.extend_from_slice(&bytes[start..start + len as usize]);
                }
            }
            from += len;
            at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Table;

    fn shown(text: &Text, base: &Table) -> String {
        let bytes =
            Patched { text, base, file: 0 }.bytes(Span { file: 0, offset: 0, len: text.len() }).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn edits_of_edits_know_where_lines_come_from() {
        let old = "one\ntwo\nthree\nfour\n";
        let base = Table(vec![old.as_bytes().to_vec()]);
        let text = Text::whole(old.len() as u64);
        let edit = |from: usize, to: usize, line, lines, new: &str, fresh| Edit {
            from: from as u64,
            to: to as u64,
            line,
            lines,
            new: new.as_bytes().to_vec(),
            fresh,
        };
        let split = text.edited(vec![edit(0, 0, 1, 0, "zero\n", true), edit(4, 8, 2, 1, "2a\n2b\n", false)]);
        assert_eq!(shown(&split, &base), "zero\none\n2a\n2b\nthree\nfour\n");
        let lines = |text: &Text| -> Vec<u64> {
            let shown = shown(text, &base);
            let mut offset = 0;
            let mut out = Vec::new();
            for (at, line) in shown.split_inclusive('\n').enumerate() {
                out.push(text.origin(at as u64 + 1, offset).line);
                offset += line.len() as u64;
            }
            out
        };
        assert_eq!(lines(&split), [0, 1, 2, 2, 3, 4]);
        // Line 4 of the text, `2b`, is removed; `three` is changed; something is added after the
        // end.
        let again = split.edited(vec![
            edit(12, 15, 4, 1, "", false),
            edit(15, 21, 5, 1, "3\n", false),
            edit(26, 26, 7, 0, "five\n", true),
        ]);
        assert_eq!(shown(&again, &base), "zero\none\n2a\n3\nfour\nfive\n");
        assert_eq!(lines(&again), [0, 1, 2, 3, 4, 0]);
        assert_eq!(again.edited(vec![]).pieces(0), again.pieces(0));
        // Two letters of `three` are replaced, and a line is added after it; `four` loses its first
        // letter.
        let inside = text.edited(vec![
            edit(10, 12, 3, 0, "REE", false),
            edit(14, 14, 4, 0, "new\n", true),
            edit(14, 15, 4, 0, "", false),
        ]);
        assert_eq!(shown(&inside, &base), "one\ntwo\nthREEe\nnew\nour\n");
        assert_eq!(lines(&inside), [1, 2, 3, 0, 4]);
        let span = |offset, len| Span { file: 0, offset, len };
        assert!(inside.is_old(span(4, 3)) && !inside.is_old(span(8, 6)) && inside.is_old(span(19, 3)));
        // A line with a change inside can be removed as a whole.
        let out = inside.edited(vec![edit(8, 15, 3, 1, "", false)]);
        assert_eq!(shown(&out, &base), "one\ntwo\nnew\nour\n");
        assert_eq!(lines(&out), [1, 2, 0, 4]);
        assert_eq!(text.edited(vec![]).pieces(0), [Piece::Keep(Span { file: 0, offset: 0, len: 19 })]);
    }
}
