//! Upgrades old versions of pi's format to newer ones, as pi itself does when it loads a file.
//!
//! Version 1 has no ids: each entry gets one, and the entry before becomes its parent. A compaction
//! of version 1 names the first entry that it keeps by its position among the valid lines, the
//! header being position 0; the upgraded one names it by id. Version 2 has the role `hookMessage`,
//! which is `custom` in version 3. The format of the design document has `uuid` instead of `id`,
//! and its header is part of the tree.
//!
//! Fields are set in place, or added after the last one; all other bytes stay, and so do unreadable
//! lines.

mod note;

pub use note::{Note, NoteKind};

use crate::format::{Format, Ids, OtherKind, Session};
use crate::json::{Edits, Escapes, members, quoted, string_of};
use crate::model::{Change, Fault, FaultKind, Ix, Piece, Plan, Source, Span, Target};
use std::io;

/// The version to which files are upgraded.
pub const NEWEST: u8 = 3;

/// How a session is upgraded.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The version to stop at: 2 or 3.
    pub to: u8,
    /// Does what pi does, even if it loses something that the old version kept.
    pub exact: bool,
    /// Whether ids in a file of version 1 are kept, if all its entries have one.
    pub keep_ids: bool,
    /// Whether the plan lists each changed field.
    pub list: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { to: NEWEST, exact: false, keep_ids: false, list: false }
    }
}

/// The age of a session's format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Age {
    /// It can be upgraded from this version to a newer one.
    Old(Form),
    /// It has the newest version of its format.
    Newest,
    /// Its version is newer than the known ones, or is read-only.
    Beyond,
}

/// The old versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Version 1: no ids.
    V1,
    /// Version 2: a role has another name.
    V2,
    /// Version 2 as in the design document.
    Design,
}

impl Form {
    /// Returns the version as text: `version 1`.
    pub fn phrase(self) -> &'static str {
        match self {
            Form::V1 => "version 1",
            Form::V2 => "version 2",
            Form::Design => "version 2 of the design document",
        }
    }
}

/// Returns the age of a session's format.
pub fn age(session: &Session) -> Age {
    match session.format {
        Format::PiV1 => Age::Old(Form::V1),
        Format::PiV2 => Age::Old(Form::V2),
        Format::PiDesign => Age::Old(Form::Design),
        _ if session.is_newer() => Age::Beyond,
        _ => Age::Newest,
    }
}

/// A migration that has not been made yet.
#[derive(Clone, Debug, Default)]
pub struct Migration {
    /// The new content of the main file; empty if there is nothing to do.
    pub pieces: Vec<Piece>,
    /// The changes, if they were requested.
    pub changes: Vec<Change>,
    /// Notes for the user, in file order.
    pub notes: Vec<Note>,
}

impl Migration {
    /// Returns the plan that replaces the old content with the new one.
    pub fn in_place(self) -> Plan {
        let mut plan =
            Plan { verb: "migrate".into(), changes: self.changes, keep_times: true, ..Plan::default() };
        if !self.pieces.is_empty() {
            plan.targets.push(Target::Rewrite { file: 0, pieces: self.pieces });
        }
        plan
    }
}

/// Plans the upgrade of a session to the version in `options`. The result is empty if it is not
/// old.
///
/// Fails if the source does. Costs a pass over the lines that change: all in version 1, few in
/// version 2.
pub fn migrate(
    session: &Session,
    source: &dyn Source,
    options: Options,
    ids: &mut Ids,
) -> io::Result<Migration> {
    let Age::Old(form) = age(session) else { return Ok(Migration::default()) };
    if options.to < 3 && form != Form::V1 {
        return Ok(Migration::default());
    }
    let mut work = Work {
        session,
        source,
        options,
        line: Vec::new(),
        broken: broken(session),
        at: 0,
        out: Migration::default(),
    };
    match form {
        Form::V1 => work.first(ids)?,
        Form::Design if !options.exact => work.design()?,
        Form::V2 | Form::Design => work.second_to_third()?,
    }
    work.finish()
}

fn broken(session: &Session) -> Vec<u64> {
    let is = |fault: &&Fault| {
        fault.file == 0 && matches!(fault.kind, FaultKind::Broken { .. } | FaultKind::Trailing { .. })
    };
    let mut lines: Vec<u64> = session.faults.iter().filter(is).map(|fault| fault.line).collect();
    lines.sort_unstable();
    lines
}

struct Work<'s> {
    session: &'s Session,
    source: &'s dyn Source,
    options: Options,
    line: Vec<u8>,
    /// The lines of the main file that are not JSON, sorted.
    broken: Vec<u64>,
    /// Up to which offset the old file has been processed.
    at: u64,
    out: Migration,
}

/// A line that the migration processes, in file order.
#[derive(Clone, Copy)]
enum Item {
    Header(Span, u64),
    Entry(Ix),
    /// Valid JSON, but not an object.
    Other,
}

impl Work<'_> {
    /// Returns the valid lines of the main file, in file order.
    fn items(&self) -> io::Result<Vec<Item>> {
        let mut out = Vec::with_capacity(self.session.entries.len() + 1);
        let mut entries = self.session.entries.all().peekable();
        let mut bytes = Vec::new();
        for other in self.session.others.iter().filter(|other| other.span.file == 0) {
            while let Some(ix) = entries.next_if(|ix| ix.0 < other.before) {
                out.push(Item::Entry(ix));
            }
            match other.kind {
                OtherKind::Header => out.push(Item::Header(other.span, other.line)),
                OtherKind::Unknown if !self.is_broken(other.line) => {
                    self.source.read(other.span, &mut bytes)?;
                    // pi drops these four values while it loads, and so does not count them.
                    if !matches!(bytes.trim_ascii(), b"null" | b"0" | b"false" | b"\"\"") {
                        out.push(Item::Other);
                    }
                }
                _ => {}
            }
        }
        out.extend(entries.map(Item::Entry));
        Ok(out)
    }

    fn is_broken(&self, line: u64) -> bool {
        self.broken.binary_search(&line).is_ok()
    }

    /// Upgrades version 1 to version 2 or 3.
    fn first(&mut self, ids: &mut Ids) -> io::Result<()> {
        let items = self.items()?;
        let own = if self.options.keep_ids { self.own_ids()? } else { None };
        let keep = own.is_some();
        let names: Vec<String> = match own {
            Some(own) => own,
            None => self.session.entries.all().map(|_| ids.entry(Format::Pi, &[])).collect(),
        };
        let mut had_ids = false;
        for (place, item) in items.iter().enumerate() {
            let ix = match *item {
                Item::Header(span, number) => {
                    self.version(span, number)?;
                    continue;
                }
                Item::Entry(ix) => ix,
                Item::Other => continue,
            };
            let kept = match self.session.entries.ty(ix) {
                "compaction" => self.kept(ix, place, &items)?,
                _ => Kept::NoIndex,
            };
            let popped = match self.session.entries.ty(ix) {
                "stack_pop" if !self.options.exact => self.popped(ix, &items)?,
                _ => None,
            };
            self.edit(ix, |edits, options| {
                had_ids |= edits.value_range("id").is_some() && edits.value_range("parentId").is_some();
                if !keep {
                    edits.set("id", &quoted(&names[ix.index()], Escapes::Needed));
                    let parent =
                        ix.index().checked_sub(1).map(|before| quoted(&names[before], Escapes::Needed));
                    edits.set("parentId", parent.as_deref().unwrap_or(b"null"));
                }
                if let Some(back) = popped {
                    // The popped part becomes a separate branch, and this its summary.
                    let name = |ix: Option<usize>| ix.map(|ix| quoted(&names[ix], Escapes::Needed));
                    let before = name(ix.index().checked_sub(1));
                    edits.set("type", b"\"branch_summary\"");
                    edits.set("parentId", name(back.index().checked_sub(1)).as_deref().unwrap_or(b"null"));
                    edits.set("fromId", before.as_deref().unwrap_or(b"\"root\""));
                    edits.remove("backToIndex");
                }
                if !matches!(kept, Kept::NoIndex) {
                    edits.remove("firstKeptEntryIndex");
                }
                if let Kept::Entry(kept) = kept {
                    edits.set("firstKeptEntryId", &quoted(&names[kept.index()], Escapes::Needed));
                }
                if options.to >= 3 {
                    rename_role(edits);
                }
            })?;
        }
        if had_ids && !keep {
            self.out.notes.insert(0, Note { line: 0, kind: NoteKind::Flattened });
        }
        Ok(())
    }

    /// Returns the entry that a `stack_pop` of version 1 goes back to.
    fn popped(&mut self, ix: Ix, items: &[Item]) -> io::Result<Option<Ix>> {
        self.source.read(self.session.span(ix), &mut self.line)?;
        let index = crate::json::member_at(&self.line, &["backToIndex"]);
        let index = index.and_then(|index| std::str::from_utf8(index).ok()?.parse::<usize>().ok());
        Ok(match index.and_then(|index| items.get(index)) {
            Some(Item::Entry(back)) if *back < ix => Some(*back),
            _ => None,
        })
    }

    /// Returns the first entry that a compaction of version 1 keeps.
    fn kept(&mut self, ix: Ix, place: usize, items: &[Item]) -> io::Result<Kept> {
        self.source.read(self.session.span(ix), &mut self.line)?;
        let Some(index) = crate::json::member_at(&self.line, &["firstKeptEntryIndex"]) else {
            return Ok(Kept::NoIndex);
        };
        let spelled = String::from_utf8_lossy(index).into_owned();
        if !matches!(index.first(), Some(b'-' | b'0'..=b'9')) {
            return Ok(Kept::NoIndex);
        }
        // As in pi's own language: 3.0 is 3, and 3.5 matches no position.
        let number = spelled.parse::<f64>().unwrap_or(f64::NAN);
        let whole = number.fract() == 0.0 && number >= 0.0 && number < items.len() as f64;
        let line = self.session.entries.line(ix);
        let mut note = |kind| self.out.notes.push(Note { line, kind });
        if !whole {
            note(NoteKind::Outside { index: spelled });
            return Ok(Kept::Nothing);
        }
        let wanted = number as usize;
        match items[wanted] {
            Item::Entry(target) if target <= ix => Ok(Kept::Entry(target)),
            Item::Entry(_) if self.options.exact => {
                note(NoteKind::ForwardDropped);
                Ok(Kept::Nothing)
            }
            Item::Entry(target) => {
                note(NoteKind::Forward);
                Ok(Kept::Entry(target))
            }
            _ => {
                // Everything from this position on was kept: the first entry after it has the same
                // meaning.
                let forward = wanted > place;
                let rest = if forward { &items[wanted..] } else { &items[wanted..place] };
                let next = rest.iter().find_map(|item| match item {
                    Item::Entry(ix) => Some(*ix),
                    _ => None,
                });
                match next {
                    Some(_) if self.options.exact && forward => note(NoteKind::ForwardDropped),
                    Some(_) if self.options.exact => note(NoteKind::KeptNothing),
                    Some(_) if forward => note(NoteKind::Forward),
                    Some(_) => note(NoteKind::KeptAll),
                    None => {}
                }
                Ok(next.filter(|_| !self.options.exact).map_or(Kept::Nothing, Kept::Entry))
            }
        }
    }

    /// Returns the ids in the lines, or `None` if an entry has none.
    fn own_ids(&mut self) -> io::Result<Option<Vec<String>>> {
        let mut out = Vec::with_capacity(self.session.entries.len());
        for ix in self.session.entries.all() {
            self.source.read(self.session.span(ix), &mut self.line)?;
            let Some(id) = string_of(&self.line, "id") else { return Ok(None) };
            out.push(id);
        }
        Ok(Some(out))
    }

    /// Upgrades version 2 to version 3.
    fn second_to_third(&mut self) -> io::Result<()> {
        for item in self.items()? {
            match item {
                Item::Header(span, number) => self.version(span, number)?,
                Item::Entry(ix) if self.may_be_hook(ix) => self.edit(ix, |edits, _| rename_role(edits))?,
                Item::Entry(_) | Item::Other => {}
            }
        }
        Ok(())
    }

    /// Returns whether an entry can have the role that version 3 renames.
    fn may_be_hook(&self, ix: Ix) -> bool {
        let entries = &self.session.entries;
        entries.ty(ix) == "message" && entries.kind(ix) == crate::model::Kind::Custom
    }

    /// Upgrades the format of the design document to version 3.
    fn design(&mut self) -> io::Result<()> {
        let mut header_id = None;
        for item in self.items()? {
            let ix = match item {
                Item::Header(span, number) => {
                    self.source.read(span, &mut self.line)?;
                    header_id = header_id.or(string_of(&self.line, "uuid"));
                    self.edit_line(span, number, String::new(), |edits, options| {
                        edits.set("version", options.to.to_string().as_bytes());
                        if edits.value_range("id").is_none() {
                            edits.rename("uuid", "id");
                        } else {
                            edits.remove("uuid");
                        }
                        edits.remove("parentUuid");
                    })?;
                    continue;
                }
                Item::Entry(ix) => ix,
                Item::Other => continue,
            };
            self.source.read(self.session.span(ix), &mut self.line)?;
            let of_header = |key: &str| header_id.is_some() && string_of(&self.line, key) == header_id;
            let (under_header, keeps_header) = (of_header("parentUuid"), of_header("firstKeptEntryUuid"));
            let root = keeps_header.then(|| self.session.tree.path(ix)[0]).filter(|root| *root != ix);
            let root_id = match root {
                Some(root) => string_of(&self.source.bytes(self.session.span(root))?, "uuid"),
                None => None,
            };
            if root_id.is_some() {
                self.out.notes.push(Note { line: self.session.entries.line(ix), kind: NoteKind::KeptAll });
            }
            self.edit(ix, |edits, _| {
                for (old, new) in
                    [("uuid", "id"), ("parentUuid", "parentId"), ("firstKeptEntryUuid", "firstKeptEntryId")]
                {
                    if edits.value_range(old).is_some() {
                        edits.remove(new);
                        edits.rename(old, new);
                    }
                }
                if under_header {
                    edits.set("parentUuid", b"null");
                }
                if let Some(id) = &root_id {
                    edits.set("firstKeptEntryUuid", &quoted(id, Escapes::Needed));
                }
                if edits.value("type") == Some(b"\"stack_summary\"") {
                    edits.set("type", b"\"branch_summary\"");
                    if edits.value_range("fromId").is_none() {
                        let from = edits.value("parentUuid").filter(|id| *id != b"null" && !under_header);
                        edits.set("fromId", from.unwrap_or(b"\"root\""));
                    }
                }
                rename_role(edits);
            })?;
        }
        Ok(())
    }

    fn version(&mut self, span: Span, number: u64) -> io::Result<()> {
        self.source.read(span, &mut self.line)?;
        self.edit_line(span, number, String::new(), |edits, options| {
            edits.set("version", options.to.to_string().as_bytes());
        })
    }

    fn edit(&mut self, ix: Ix, with: impl FnOnce(&mut Edits<'_>, Options)) -> io::Result<()> {
        let span = self.session.span(ix);
        self.source.read(span, &mut self.line)?;
        let id =
            if self.options.list { string_of(&self.line, "id").unwrap_or_default() } else { String::new() };
        self.edit_line(span, self.session.entries.line(ix), id, with)
    }

    /// Edits the current line, whose span is `span`.
    fn edit_line(
        &mut self,
        span: Span,
        number: u64,
        id: String,
        with: impl FnOnce(&mut Edits<'_>, Options),
    ) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        // Any entry or header was read as an object.
        let Some(mut edits) = Edits::begin(&line) else {
            self.line = line;
            return Ok(());
        };
        with(&mut edits, self.options);
        if self.options.list {
            self.out.changes.extend(changes_of_line(&edits, number, &id));
        }
        for (range, new) in edits.stretches() {
            self.keep_to(span.offset + range.start as u64);
            if !new.is_empty() {
                self.out.pieces.push(Piece::New(new));
            }
            self.at = span.offset + range.end as u64;
        }
        self.line = line;
        Ok(())
    }

    fn keep_to(&mut self, end: u64) {
        if end > self.at {
            self.out.pieces.push(Piece::Keep(Span { file: 0, offset: self.at, len: end - self.at }));
            self.at = end;
        }
    }

    fn finish(mut self) -> io::Result<Migration> {
        let facts = &self.session.files[0];
        let (bytes, ended) = (facts.bytes, facts.ends_in_newline);
        self.keep_to(bytes);
        if !ended && !self.is_broken(facts.lines) {
            self.out.pieces.push(Piece::New(b"\n".to_vec()));
        }
        let unreadable = self.session.faults.iter().filter(|fault| {
            matches!(fault.kind, FaultKind::Broken { .. } | FaultKind::Trailing { .. } | FaultKind::NoEntry)
        });
        let count = unreadable.count();
        if count > 0 {
            self.out.notes.push(Note { line: 0, kind: NoteKind::Unreadable(count) });
        }
        Ok(self.out)
    }
}

/// What an upgraded compaction of version 1 keeps.
#[derive(Clone, Copy)]
enum Kept {
    /// It has no numeric index: nothing has to be done.
    NoIndex,
    /// Its index matches no entry.
    Nothing,
    /// It keeps everything from this entry on.
    Entry(Ix),
}

fn rename_role(edits: &mut Edits<'_>) {
    let is_message = edits.value("type").is_some_and(|ty| ty == b"\"message\"");
    let (true, Some(at), Some(message)) = (is_message, edits.value_range("message"), edits.value("message"))
    else {
        return;
    };
    let Some(inside) = members(message) else { return };
    let Some(role) = inside.iter().rfind(|member| member.key == "role") else { return };
    if &message[role.value_at.clone()] == b"\"hookMessage\"" {
        edits.replace(at.start + role.value_at.start..at.start + role.value_at.end, b"\"custom\"");
    }
}

/// Returns the edits of a line as changes of the plan.
fn changes_of_line(edits: &Edits<'_>, line: u64, id: &str) -> impl Iterator<Item = Change> {
    edits.changes().into_iter().map(move |change| Change {
        op: "set",
        line,
        id: id.to_owned(),
        bytes: change.new.len() as i64 - change.old.len() as i64,
        field: change.field,
        old: change.old,
        new: change.new,
        ..Change::default()
    })
}
