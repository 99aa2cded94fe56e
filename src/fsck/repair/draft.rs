//! The draft of a repair: changes to lines, collected before they are applied.

use crate::format::{OtherKind, Session};
use crate::fsck::Check;
use crate::fsck::checks::id_of;
use crate::fsck::excerpt::{MOST, differing, short, shortened};
use crate::fsck::lines::recover::Aside;
use crate::fsck::rope::{Edit, Patched};
use crate::json::{Escapes, each_item, member_at, quoted, set_field};
use crate::model::{Change, Count, Ix, Piece, Source, Span};
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::Range;

/// Changes to the lines of a session, collected and then applied at once.
pub(in crate::fsck) struct Draft<'a> {
    pub session: &'a Session,
    pub source: &'a Patched<'a>,
    lines: BTreeMap<u64, Line>,
    top: Vec<Vec<u8>>,
    end: Vec<Vec<u8>>,
    pub changes: Vec<Change>,
    pub aside: Vec<Aside>,
    /// Entries of the tree that are removed.
    pub gone: Vec<Ix>,
    /// Entries that are moved to another branch.
    pub moved: Vec<Ix>,
    /// Ids that entries name as their parent, and that an entry got back.
    pub restored: HashSet<String>,
}

/// The changes to one line. Only the bytes that are removed and added are held: lines may be long.
struct Line {
    span: Span,
    number: u64,
    /// The range of the old line that is removed, and the bytes that replace it.
    new: Option<(Range<usize>, Vec<u8>)>,
    gone: bool,
    behind: Vec<Vec<u8>>,
}

impl Line {
    /// Replaces the line with another.
    fn become_(&mut self, old: &[u8], new: &[u8]) {
        let (from, behind) = differing(old, new);
        self.new = Some((from..old.len() - behind, new[from..new.len() - behind].to_vec()));
    }

    fn applied(&self, old: Vec<u8>) -> Vec<u8> {
        match &self.new {
            Some((range, new)) => [&old[..range.start], new, &old[range.end..]].concat(),
            None => old,
        }
    }
}

impl<'a> Draft<'a> {
    pub(in crate::fsck) fn new(session: &'a Session, source: &'a Patched<'a>) -> Draft<'a> {
        Draft {
            session,
            source,
            lines: BTreeMap::new(),
            top: Vec::new(),
            end: Vec::new(),
            changes: Vec::new(),
            aside: Vec::new(),
            gone: Vec::new(),
            moved: Vec::new(),
            restored: HashSet::new(),
        }
    }

    pub(in crate::fsck) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.top.is_empty() && self.end.is_empty()
    }

    fn line(&mut self, span: Span, number: u64) -> &mut Line {
        let fresh = || Line { span, number, new: None, gone: false, behind: Vec::new() };
        self.lines.entry(span.offset).or_insert_with(fresh)
    }

    fn line_mut(&mut self, ix: Ix) -> &mut Line {
        self.line(self.session.span(ix), self.session.entries.line(ix))
    }

    /// Returns the line of an entry with its changes so far.
    pub(in crate::fsck) fn bytes(&mut self, ix: Ix) -> io::Result<Vec<u8>> {
        self.bytes_at(self.session.span(ix))
    }

    fn bytes_at(&self, span: Span) -> io::Result<Vec<u8>> {
        let old = self.source.bytes(span)?;
        Ok(match self.lines.get(&span.offset) {
            Some(line) => line.applied(old),
            None => old,
        })
    }

    /// Returns the first bytes of a line, as a change shows them.
    fn start_of(&self, span: Span) -> io::Result<String> {
        let line = self.lines.get(&span.offset).filter(|line| line.new.is_some());
        if line.is_some() || span.len as usize <= MOST {
            return Ok(short(&self.bytes_at(span)?));
        }
        let start = self.source.bytes(Span { len: MOST as u64, ..span })?;
        Ok(shortened(&start, span.len as usize))
    }

    /// Returns whether an entry was removed.
    pub(in crate::fsck) fn is_gone(&self, ix: Ix) -> bool {
        self.lines.get(&self.session.span(ix).offset).is_some_and(|line| line.gone)
    }

    pub(in crate::fsck) fn id(&mut self, ix: Ix) -> io::Result<String> {
        Ok(id_of(&self.bytes(ix)?, self.session.format.names().id_path).unwrap_or_default())
    }

    /// Returns the id as links to an entry must spell it: a number does not match a string. Returns
    /// `None` if the entry can't have children.
    pub(in crate::fsck) fn link_to(&mut self, ix: Ix) -> io::Result<Option<Vec<u8>>> {
        let (line, field) = (self.bytes(ix)?, self.session.format.names().id);
        let id = id_of(&line, &[field]).and_then(|_| crate::json::member_at(&line, &[field]));
        Ok(id.map(<[u8]>::to_vec))
    }

    fn origin(&self, number: u64, span: Span) -> u64 {
        self.source.text.origin(number, span.offset).line
    }

    /// Sets one field of an entry to a JSON value, and changes nothing else.
    pub(in crate::fsck) fn set(&mut self, ix: Ix, path: &[&str], value: &[u8], why: Check) -> io::Result<()> {
        let id = self.id(ix)?;
        let span = self.session.span(ix);
        self.set_at(span, self.session.entries.line(ix), &id, path, value, why)
    }

    /// Does the same for a line that is not an entry.
    pub(in crate::fsck) fn set_at(
        &mut self,
        span: Span,
        number: u64,
        id: &str,
        path: &[&str],
        value: &[u8],
        why: Check,
    ) -> io::Result<()> {
        let old_line = self.origin(number, span);
        let bytes = self.bytes_at(span)?;
        let old = crate::json::member_at(&bytes, path).map(<[u8]>::to_vec).unwrap_or_default();
        let Some(new) = set_field(&bytes, path, value).filter(|_| old != value) else { return Ok(()) };
        let grown = new.len() as i64 - bytes.len() as i64;
        self.become_(span, number, &bytes, &new)?;
        self.changes.push(Change {
            path: None,
            op: "set",
            file: self.source.file,
            line: old_line,
            id: id.to_owned(),
            field: path.join("."),
            old: short(&old),
            new: short(value),
            bytes: grown,
            why: why.id().to_owned(),
            is_guess: false,
        });
        Ok(())
    }

    /// Gives the title slot, which is currently `now`, as many spaces as its length requires.
    pub(in crate::fsck) fn pad_slot(&mut self, span: Span, now: &[u8], fitted: &[u8]) -> io::Result<()> {
        let blanks = |slot: &[u8]| {
            let pad = crate::json::member_at(slot, &["pad"]).unwrap_or_default();
            Count("blank", "blanks", pad.len().saturating_sub(2)).to_string()
        };
        if now == fitted {
            return Ok(());
        }
        self.become_(span, 1, now, fitted)?;
        self.changes.push(Change {
            path: None,
            op: "pad",
            file: self.source.file,
            line: self.origin(1, span),
            old: blanks(now),
            new: blanks(fitted),
            bytes: fitted.len() as i64 - now.len() as i64,
            why: "the title slot keeps its length".into(),
            ..Change::default()
        });
        Ok(())
    }

    /// Replaces a line, which is currently `now`.
    fn become_(&mut self, span: Span, number: u64, now: &[u8], new: &[u8]) -> io::Result<()> {
        let changed = self.lines.get(&span.offset).is_some_and(|line| line.new.is_some());
        let old = if changed { Some(self.source.bytes(span)?) } else { None };
        self.line(span, number).become_(old.as_deref().unwrap_or(now), new);
        Ok(())
    }

    /// Replaces an entry's line with other bytes.
    pub(in crate::fsck) fn replace(
        &mut self,
        ix: Ix,
        new: Vec<u8>,
        field: &str,
        why: Check,
    ) -> io::Result<()> {
        let id = self.id(ix)?;
        let (span, number) = (self.session.span(ix), self.session.entries.line(ix));
        let old_line = self.origin(number, span);
        let old = self.bytes_at(span)?;
        let grown = new.len() as i64 - old.len() as i64;
        let (from, behind) = differing(&old, &new);
        let (was, is) = (&old[from..old.len() - behind], &new[from..new.len() - behind]);
        self.become_(span, number, &old, &new)?;
        self.changes.push(Change {
            path: None,
            op: "set",
            file: self.source.file,
            line: old_line,
            id,
            field: field.to_owned(),
            old: short(was),
            new: short(is),
            bytes: grown,
            why: why.id().to_owned(),
            is_guess: false,
        });
        Ok(())
    }

    /// Sets an entry aside.
    pub(in crate::fsck) fn set_aside(&mut self, ix: Ix, why: Check) -> io::Result<()> {
        let id = self.id(ix)?;
        if self.session.tree.is_in_tree(ix) {
            self.gone.push(ix);
        }
        self.set_aside_at(self.session.span(ix), self.session.entries.line(ix), &id, why)
    }

    /// Sets a line aside.
    pub(in crate::fsck) fn set_aside_at(
        &mut self,
        span: Span,
        number: u64,
        id: &str,
        why: Check,
    ) -> io::Result<()> {
        let origin = self.source.text.origin(number, span.offset);
        let file = self.source.file;
        let old = self.start_of(span)?;
        let line = self.line(span, number);
        line.gone = true;
        let as_it_was = line.new.is_none() && self.source.text.is_old(span);
        let content = match as_it_was {
            true => Piece::Keep(Span { file, offset: origin.offset, len: span.len }),
            false => Piece::New(self.bytes_at(span)?),
        };
        self.aside.push(Aside { line: origin.line, check: why, content, bytes: span.len });
        self.changes.push(Change {
            op: "set-aside",
            file,
            line: origin.line,
            id: id.to_owned(),
            old,
            bytes: -(span.len as i64 + 1),
            why: why.id().to_owned(),
            ..Change::default()
        });
        Ok(())
    }

    /// Removes items from a list in the line of an entry.
    pub(in crate::fsck) fn take_items_out(
        &mut self,
        ix: Ix,
        path: &[&str],
        out: &[bool],
        why: Check,
    ) -> io::Result<()> {
        let id = self.id(ix)?;
        let (span, number) = (self.session.span(ix), self.session.entries.line(ix));
        let line = self.origin(number, span);
        let old = self.bytes_at(span)?;
        let items = || each_item(member_at(&old, path).unwrap_or_default()).zip(out);
        let left: Vec<&[u8]> = items().filter(|(_, out)| !**out).map(|(item, _)| item).collect();
        let list = [b"[", &left.join(&b","[..])[..], b"]"].concat();
        let Some(new) = set_field(&old, path, &list).filter(|_| out.contains(&true)) else { return Ok(()) };
        self.become_(span, number, &old, &new)?;
        for (item, _) in items().filter(|(_, out)| **out) {
            let bytes = item.len() as u64;
            self.aside.push(Aside { line, check: why, content: Piece::New(item.to_vec()), bytes });
            self.changes.push(Change {
                op: "set-aside",
                file: self.source.file,
                line,
                id: id.clone(),
                old: short(item),
                bytes: -(bytes as i64 + 1),
                why: why.id().to_owned(),
                ..Change::default()
            });
        }
        Ok(())
    }

    /// Moves a line to the top.
    pub(in crate::fsck) fn move_to_top(&mut self, span: Span, number: u64, why: Check) -> io::Result<()> {
        let old_line = self.origin(number, span);
        let bytes = self.bytes_at(span)?;
        self.line(span, number).gone = true;
        self.changes.push(Change {
            path: None,
            op: "move",
            file: self.source.file,
            line: old_line,
            new: "to the top".into(),
            why: why.id().to_owned(),
            ..Change::default()
        });
        self.top.push(bytes);
        Ok(())
    }

    /// Inserts a new line at the top, but after a title slot.
    pub(in crate::fsck) fn insert_at_top(&mut self, new: Vec<u8>, why: Check) {
        self.inserted("insert", &new, why);
        self.top.push(new);
    }

    /// Inserts a new line after that of an entry.
    pub(in crate::fsck) fn insert_behind(&mut self, ix: Ix, new: Vec<u8>, why: Check) {
        self.inserted("insert", &new, why);
        self.line_mut(ix).behind.push(new);
    }

    /// Appends a new line at the end.
    pub(in crate::fsck) fn append(&mut self, new: Vec<u8>, why: Check) {
        self.inserted("append", &new, why);
        self.end.push(new);
    }

    fn inserted(&mut self, op: &'static str, new: &[u8], why: Check) {
        self.changes.push(Change {
            path: None,
            op,
            file: self.source.file,
            new: short(new),
            bytes: new.len() as i64 + 1,
            why: why.id().to_owned(),
            ..Change::default()
        });
    }

    /// Returns the changes as edits of the text.
    pub(in crate::fsck) fn edits(&self) -> io::Result<Vec<Edit>> {
        let mut edits = Vec::new();
        let facts = &self.session.files[0];
        let usual: &[u8] = if facts.crlf > facts.lines / 2 { b"\r\n" } else { b"\n" };
        let ended = |lines: &[Vec<u8>]| lines.iter().flat_map(|line| [&line[..], usual].concat()).collect();
        if !self.top.is_empty() {
            let slot = self.session.others.first().filter(|other| other.kind == OtherKind::Title);
            let (at, line) = match slot {
                Some(slot) => (self.end_of(slot.span)?.0, 2),
                None => (0, 1),
            };
            let new: Vec<u8> = ended(&self.top);
            edits.push(Edit { from: at, to: at, line, lines: 0, new, fresh: true });
        }
        for line in self.lines.values() {
            self.edits_of(line, usual, &mut edits)?;
        }
        if !self.end.is_empty() {
            let at = self.source.text.len();
            let mut new: Vec<u8> = ended(&self.end);
            if !facts.ends_in_newline && facts.lines > 0 {
                new.splice(0..0, usual.iter().copied());
            }
            edits.push(Edit { from: at, to: at, line: facts.lines + 1, lines: 0, new, fresh: true });
        }
        // Lines at the top come after a title slot, which may be repaired, too.
        edits.sort_by_key(|edit| edit.from);
        Ok(edits)
    }

    fn edits_of(&self, line: &Line, usual: &[u8], edits: &mut Vec<Edit>) -> io::Result<()> {
        let span = line.span;
        let (end, ending) = self.end_of(span)?;
        let behind = line
            .behind
            .iter()
            .flat_map(|behind| [&behind[..], if ending.is_empty() { usual } else { &ending }].concat());
        let behind: Vec<u8> = behind.collect();
        let fresh = Edit { line: line.number, ..Edit::default() };
        if line.gone {
            let lines = 1 + breaks(&self.source.bytes(span)?);
            let from = self.source.start_of_line(span.offset)?;
            edits.push(Edit { from, to: end, lines, new: behind, ..fresh });
            return Ok(());
        }
        if let Some((range, new)) = &line.new {
            // An object may span several lines.
            let old = self.source.bytes(Span { len: range.end as u64, ..span })?;
            let (from, to) = (span.offset + range.start as u64, span.offset + range.end as u64);
            let (before, lines) = (breaks(&old[..range.start]), breaks(&old[range.clone()]));
            edits.push(Edit { from, to, line: line.number + before, lines, new: new.clone(), ..fresh });
        }
        if !behind.is_empty() {
            let number = line.number + breaks(&self.source.bytes(span)?) + u64::from(!ending.is_empty());
            let new = if ending.is_empty() { [usual, &behind].concat() } else { behind };
            edits.push(Edit { from: end, to: end, line: number, lines: 0, new, fresh: true });
        }
        Ok(())
    }

    /// Returns the ending of a line; empty if it has none.
    pub(in crate::fsck) fn ending_of(&self, span: Span) -> io::Result<Vec<u8>> {
        Ok(self.end_of(span)?.1)
    }

    /// Returns the offset after the ending of a line, and the ending.
    fn end_of(&self, span: Span) -> io::Result<(u64, Vec<u8>)> {
        let offset = span.offset + span.len;
        let len = (self.source.text.len() - offset).min(2);
        let bytes = self.source.bytes(Span { file: 0, offset, len })?;
        Ok(match bytes[..] {
            [b'\n', ..] => (offset + 1, b"\n".to_vec()),
            [b'\r', b'\n'] => (offset + 2, b"\r\n".to_vec()),
            _ => (offset, Vec::new()),
        })
    }
}

/// Returns how many lines end in some bytes.
fn breaks(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Returns a JSON string, or `null` for `None`.
pub(in crate::fsck) fn json(text: Option<&str>) -> Vec<u8> {
    text.map_or_else(|| b"null".to_vec(), |text| quoted(text, Escapes::Needed))
}
