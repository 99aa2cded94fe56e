use crate::format::{OtherKind, Session};
use crate::fsck::find::text_of;
use crate::fsck::mend::Aside;
use crate::fsck::text::{Edit, Patched};
use crate::fsck::{Check, mend};
use crate::json::set_field;
use crate::model::{Change, Ix, Piece, Source, Span};
use std::collections::{BTreeMap, HashSet};
use std::io;

/// Changes to the lines of a session, gathered before they are made all at once.
pub(super) struct Draft<'a> {
    pub session: &'a Session,
    pub source: &'a Patched<'a>,
    lines: BTreeMap<u64, Line>,
    top: Vec<Vec<u8>>,
    end: Vec<Vec<u8>>,
    pub changes: Vec<Change>,
    pub aside: Vec<Aside>,
    /// Entries of the tree that are taken out.
    pub gone: Vec<Ix>,
    /// Ids that entries name as their parent, and that an entry got back.
    pub restored: HashSet<String>,
}

/// What becomes of one line.
struct Line {
    span: Span,
    number: u64,
    bytes: Vec<u8>,
    gone: bool,
    changed: bool,
    behind: Vec<Vec<u8>>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(session: &'a Session, source: &'a Patched<'a>) -> Draft<'a> {
        Draft {
            session,
            source,
            lines: BTreeMap::new(),
            top: Vec::new(),
            end: Vec::new(),
            changes: Vec::new(),
            aside: Vec::new(),
            gone: Vec::new(),
            restored: HashSet::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.top.is_empty() && self.end.is_empty()
    }

    fn line(&mut self, span: Span, number: u64) -> io::Result<&mut Line> {
        if !self.lines.contains_key(&span.offset) {
            let bytes = self.source.bytes(span)?;
            let line = Line { span, number, bytes, gone: false, changed: false, behind: Vec::new() };
            self.lines.insert(span.offset, line);
        }
        Ok(self.lines.get_mut(&span.offset).expect("put there above"))
    }

    fn of(&mut self, ix: Ix) -> io::Result<&mut Line> {
        self.line(self.session.span(ix), self.session.entries.line(ix))
    }

    /// The line of an entry as it is by now.
    pub(super) fn bytes(&mut self, ix: Ix) -> io::Result<Vec<u8>> {
        self.bytes_at(self.session.span(ix))
    }

    fn bytes_at(&self, span: Span) -> io::Result<Vec<u8>> {
        match self.lines.get(&span.offset) {
            Some(line) => Ok(line.bytes.clone()),
            None => self.source.bytes(span),
        }
    }

    pub(super) fn id(&mut self, ix: Ix) -> io::Result<String> {
        Ok(text_of(&self.bytes(ix)?, self.session.format.names().id).unwrap_or_default())
    }

    fn origin(&self, number: u64, span: Span) -> u64 {
        self.source.text.origin(number, span.offset).line
    }

    /// Sets one field of an entry to a JSON value, and nothing else.
    pub(super) fn set(&mut self, ix: Ix, path: &[&str], value: &[u8], why: Check) -> io::Result<()> {
        let id = self.id(ix)?;
        let span = self.session.span(ix);
        self.set_at(span, self.session.entries.line(ix), &id, path, value, why)
    }

    /// The same for a line that is no entry.
    pub(super) fn set_at(
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
        let old = crate::json::value(&bytes, path).map(<[u8]>::to_vec).unwrap_or_default();
        let Some(new) = set_field(&bytes, path, value).filter(|_| old != value) else { return Ok(()) };
        let line = self.line(span, number)?;
        let grown = new.len() as i64 - line.bytes.len() as i64;
        line.bytes = new;
        line.changed = true;
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
        });
        Ok(())
    }

    /// Puts other bytes in the place of an entry's line.
    pub(super) fn replace(&mut self, ix: Ix, new: Vec<u8>, field: &str, why: Check) -> io::Result<()> {
        let id = self.id(ix)?;
        let old_line = self.origin(self.session.entries.line(ix), self.session.span(ix));
        let line = self.of(ix)?;
        let (old, grown) = (line.bytes.clone(), new.len() as i64 - line.bytes.len() as i64);
        let (was, is) = differing(&old, &new);
        line.bytes.clone_from(&new);
        line.changed = true;
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
        });
        Ok(())
    }

    /// Takes an entry out.
    pub(super) fn set_aside(&mut self, ix: Ix, why: Check) -> io::Result<()> {
        let id = self.id(ix)?;
        if self.session.tree.stands(ix) {
            self.gone.push(ix);
        }
        self.set_aside_at(self.session.span(ix), self.session.entries.line(ix), &id, why)
    }

    /// Takes a line out.
    pub(super) fn set_aside_at(&mut self, span: Span, number: u64, id: &str, why: Check) -> io::Result<()> {
        let origin = self.source.text.origin(number, span.offset);
        let file = self.source.file;
        let line = self.line(span, number)?;
        line.gone = true;
        let content = match origin.same && !line.changed {
            true => Piece::Keep(Span { file, offset: origin.offset, len: span.len }),
            false => Piece::New(line.bytes.clone()),
        };
        let old = short(&line.bytes);
        self.aside.push(Aside { line: origin.line, check: why, content, bytes: span.len });
        self.changes.push(Change {
            path: None,
            op: "set-aside",
            file,
            line: origin.line,
            id: id.to_owned(),
            field: String::new(),
            old,
            new: String::new(),
            bytes: -(span.len as i64 + 1),
            why: why.id().to_owned(),
        });
        Ok(())
    }

    /// Takes a line from its place and puts it at the top.
    pub(super) fn move_to_top(&mut self, span: Span, number: u64, why: Check) -> io::Result<()> {
        let old_line = self.origin(number, span);
        let line = self.line(span, number)?;
        line.gone = true;
        let bytes = line.bytes.clone();
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

    /// Puts a new line above all, but for a title slot.
    pub(super) fn insert_at_top(&mut self, new: Vec<u8>, why: Check) {
        self.inserted("insert", &new, why);
        self.top.push(new);
    }

    /// Puts a new line behind that of an entry.
    pub(super) fn insert_behind(&mut self, ix: Ix, new: Vec<u8>, why: Check) -> io::Result<()> {
        self.inserted("insert", &new, why);
        self.of(ix)?.behind.push(new);
        Ok(())
    }

    /// Puts a new line at the end.
    pub(super) fn append(&mut self, new: Vec<u8>, why: Check) {
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

    /// The changes as edits of the text.
    pub(super) fn edits(&self) -> io::Result<Vec<Edit>> {
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
            let (end, ending) = self.end_of(line.span)?;
            let mut new = Vec::new();
            // An object that is spread over lines is one line from now on, if it is changed at all.
            let old = self.source.bytes(line.span)?;
            let lines = 1 + memchr::memchr_iter(b'\n', &old).count() as u64;
            if !line.gone {
                new.extend_from_slice(&line.bytes);
                new.extend_from_slice(if ending.is_empty() && !line.behind.is_empty() {
                    usual
                } else {
                    &ending
                });
            }
            for behind in &line.behind {
                new.extend_from_slice(behind);
                new.extend_from_slice(if ending.is_empty() { usual } else { &ending });
            }
            edits.push(Edit { from: line.span.offset, to: end, line: line.number, lines, new, fresh: false });
        }
        if !self.end.is_empty() {
            let at = self.source.text.len();
            let mut new: Vec<u8> = ended(&self.end);
            if !facts.ends_in_newline && facts.lines > 0 {
                new.splice(0..0, usual.iter().copied());
            }
            edits.push(Edit { from: at, to: at, line: facts.lines + 1, lines: 0, new, fresh: true });
        }
        Ok(edits)
    }

    /// The byte behind the ending of a line, and the ending.
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

/// Bytes as a change shows them: whole where they are short.
fn short(bytes: &[u8]) -> String {
    const MOST: usize = 400;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]).into_owned();
    if bytes.len() > MOST { format!("{text}… ({} bytes)", bytes.len()) } else { text }
}

/// The stretches in which two lines differ.
fn differing<'l>(old: &'l [u8], new: &'l [u8]) -> (&'l [u8], &'l [u8]) {
    let from = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let behind = old[from..].iter().rev().zip(new[from..].iter().rev()).take_while(|(a, b)| a == b).count();
    (&old[from..old.len() - behind], &new[from..new.len() - behind])
}

/// A JSON string, or `null` for none.
pub(super) fn json(text: Option<&str>) -> Vec<u8> {
    text.map_or_else(|| b"null".to_vec(), mend::quoted)
}
