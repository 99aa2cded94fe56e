//! The entries of a session, stored as columns.

use super::type_names::TypeNames;
use super::{Flags, IdStart, Key, Kind, Span, Time};
use std::ops::Range;

/// The index of an entry among the entries of a session, in file order, starting at 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ix(pub u32);

impl Ix {
    /// Returns the index into a slice.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The entries of a session as columns: some forty bytes each, whatever the size of their lines.
///
/// An entry is identified by its [`Ix`], its index in file order. Texts are not stored here: they
/// are read from the [`Span`] when they are shown.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    rows: Vec<Row>,
    /// The points where line numbers are not consecutive from one entry to the next: the entry, and
    /// its line.
    lines: Vec<(u32, u32)>,
    key: Vec<Key>,
    /// The links that do not name the entry before ([`Flags::APART`]): the entry, and the key of
    /// its parent; [`Key::NONE`] for a root.
    pub(super) apart: Vec<(u32, Key)>,
    /// The index of the first entry of each file.
    files: Vec<u32>,
    types: TypeNames,
    /// The session that each entry names, as an index into `sessions`; empty if no entry names one.
    session: Vec<u16>,
    sessions: TypeNames,
    /// The reply that each entry is a part of; empty if the format keeps replies whole.
    group: Vec<Key>,
    /// The first eight bytes of each long id; empty if there are none.
    start: Vec<[u8; 8]>,
    /// How many entries to expect in total, as far as is known.
    expected: usize,
}

/// The data of an entry that is seldom needed one field at a time.
#[derive(Clone, Copy, Debug)]
struct Row {
    offset: u64,
    time: Time,
    len: u32,
    flags: Flags,
    kind: Kind,
    /// An index into the types.
    ty: u8,
}

pub(super) const NONE: u32 = u32::MAX;
pub(super) const MISSING: u32 = u32::MAX - 1;

/// One entry, as passed to [`Entries::push`].
#[derive(Clone, Copy, Debug)]
pub struct Entry<'l> {
    /// The offset of the line in its file.
    pub offset: u64,
    /// The number of bytes of the line, without its ending.
    pub len: u64,
    /// The line number, starting at 1.
    pub line: u64,
    /// Its id.
    pub key: Key,
    /// The first eight bytes of its id, if the id is longer.
    pub start: Option<[u8; 8]>,
    /// The id of its parent; [`Key::NONE`] for a root.
    pub parent: Key,
    /// Whether the parent is the entry before, whatever its id is.
    pub follows: bool,
    /// Its time.
    pub time: Time,
    /// Its kind.
    pub kind: Kind,
    /// Its type, as stored.
    pub ty: &'l [u8],
    /// Its other properties.
    pub flags: Flags,
    /// The session that the line names; empty if it names none.
    pub session: &'l [u8],
    /// The reply that it is a part of.
    pub group: Key,
}

impl Entries {
    /// Starts the entries of the next file. Must be called before the first [`Entries::push`].
    pub fn begin_file(&mut self) {
        self.files.push(self.len() as u32);
    }

    /// Announces how many more entries to expect, so that the columns need not move as they grow.
    ///
    /// Too many do no harm: the unused part of a column is never touched.
    pub fn expect(&mut self, more: usize) {
        self.expected = self.len() + more;
        self.rows.reserve(more);
        self.key.reserve(more);
    }

    /// Appends an entry.
    ///
    /// An index has 32 bits, and this is not checked: with more than four billion entries, which
    /// take more than a hundred gigabytes here, indexes would start again at 0.
    pub fn push(&mut self, entry: &Entry<'_>) -> Ix {
        let ix = self.key.len() as u32;
        let ty = self.types.intern(entry.ty, u8::MAX as usize) as u8;
        self.push_session(ix, entry.session);
        if entry.group.is_some() || !self.group.is_empty() {
            lengthen(&mut self.group, ix, self.expected, Key::NONE);
            self.group.push(entry.group);
        }
        let mut flags = entry.flags;
        // The parent is nearly always the line before.
        let is_before = entry.follows || entry.parent.is_some() && self.key.last() == Some(&entry.parent);
        if !is_before || ix == 0 {
            self.apart.push((ix, entry.parent));
            flags.set(Flags::APART, true);
        }
        if entry.start.is_some() || !self.start.is_empty() {
            lengthen(&mut self.start, ix, self.expected, [0; 8]);
            self.start.push(entry.start.unwrap_or_default());
            flags.set(Flags::LONG_ID, entry.start.is_some());
        }
        let line = entry.line.min(u64::from(u32::MAX)) as u32;
        let begins_file = self.files.last() == Some(&ix);
        let goes_on = |(first, at): &(u32, u32)| u64::from(*at) + u64::from(ix - first) == entry.line;
        if begins_file || !self.lines.last().is_some_and(goes_on) {
            self.lines.push((ix, line));
        }
        self.key.push(entry.key);
        let Entry { offset, time, kind, .. } = *entry;
        let len = entry.len.min(u64::from(u32::MAX)) as u32;
        self.rows.push(Row { offset, time, len, flags, kind, ty });
        Ix(ix)
    }

    fn push_session(&mut self, ix: u32, session: &[u8]) {
        if session.is_empty() && self.session.is_empty() {
            return;
        }
        if self.session.is_empty() && ix > 0 {
            // The entries before this one name none.
            self.sessions.intern(b"", u16::MAX as usize);
        }
        lengthen(&mut self.session, ix, self.expected, 0);
        let known = self.sessions.intern(session, u16::MAX as usize);
        self.session.push(known as u16);
    }

    /// Returns the entries from one on, as those of a segment for [`Entries::append`].
    pub fn since(&self, from: usize) -> Entries {
        let mut some = Entries::default();
        for ix in (from as u32..self.len() as u32).map(Ix) {
            let Row { offset, time, len, flags, kind, .. } = self.rows[ix.index()];
            let start = self.start.get(ix.index()).filter(|_| flags.has(Flags::LONG_ID));
            some.push(&Entry {
                offset,
                len: len.into(),
                line: self.line(ix),
                key: self.key(ix),
                start: start.copied(),
                parent: self.parent_key(ix).unwrap_or(Key::NONE),
                follows: false,
                time,
                kind,
                ty: self.ty(ix).as_bytes(),
                flags: Flags(flags.0 & !(Flags::APART.0 | Flags::LONG_ID.0)),
                session: self.session(ix).unwrap_or_default().as_bytes(),
                group: self.group(ix),
            });
        }
        some
    }

    /// Appends the entries of another segment of the same file; `lines` is the number of lines
    /// before it.
    ///
    /// The segment was read by itself, as if it were a file. Its first entry becomes a child of the
    /// last entry here if it `follows`, or names that entry.
    pub fn append(&mut self, other: Entries, lines: u64, follows: bool) {
        let first = self.len() as u32;
        let Some(first_key) = self.key.last().copied().filter(|_| !other.is_empty()) else {
            if first == 0 {
                let files = std::mem::take(&mut self.files);
                let expected = self.expected;
                *self = Entries { files, expected, ..other };
                self.lines.iter_mut().for_each(|(_, line)| *line = add_lines(*line, lines));
            }
            return;
        };
        let types: Vec<u8> = other
            .types
            .list
            .iter()
            .map(|ty| self.types.intern(ty.as_bytes(), u8::MAX as usize) as u8)
            .collect();
        self.rows.extend(other.rows.iter().map(|row| Row { ty: types[usize::from(row.ty)], ..*row }));
        self.key.extend_from_slice(&other.key);
        let mut apart = &other.apart[..];
        if let [(0, parent), rest @ ..] = apart
            && (follows || parent.is_some() && *parent == first_key)
        {
            self.rows[first as usize].flags.0 &= !Flags::APART.0;
            apart = rest;
        }
        self.apart.extend(apart.iter().map(|(ix, parent)| (ix + first, *parent)));
        for (ix, line) in &other.lines {
            let (ix, line) = (ix + first, add_lines(*line, lines));
            let goes_on = |(first, at): &(u32, u32)| *at + (ix - first) == line;
            if !self.lines.last().is_some_and(goes_on) {
                self.lines.push((ix, line));
            }
        }
        for at in 0..other.len() {
            let known = other.session.get(at);
            let session = known.map_or("", |known| &other.sessions.list[usize::from(*known)]);
            self.push_session(first + at as u32, session.as_bytes());
        }
        let count = self.len();
        if !other.group.is_empty() || !self.group.is_empty() {
            lengthen(&mut self.group, first, self.expected, Key::NONE);
            self.group.extend_from_slice(&other.group);
            self.group.resize(count, Key::NONE);
        }
        if !other.start.is_empty() || !self.start.is_empty() {
            lengthen(&mut self.start, first, self.expected, [0; 8]);
            self.start.extend_from_slice(&other.start);
            self.start.resize(count, [0; 8]);
        }
    }

    /// Returns the number of entries, including duplicates of an id.
    pub fn len(&self) -> usize {
        self.key.len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.key.is_empty()
    }

    /// Returns all entries, in file order.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = Ix> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(Ix)
    }

    /// Returns the file of an entry.
    pub fn file(&self, ix: Ix) -> u16 {
        (self.files.partition_point(|first| *first <= ix.0).max(1) - 1) as u16
    }

    /// Returns the line of an entry, without its ending.
    pub fn span(&self, ix: Ix) -> Span {
        let row = &self.rows[ix.index()];
        Span { file: self.file(ix), offset: row.offset, len: u64::from(row.len) }
    }

    /// Returns the number of an entry's line in its file, starting at 1.
    pub fn line(&self, ix: Ix) -> u64 {
        let at = self.lines.partition_point(|(first, _)| *first <= ix.0);
        let (first, line) = self.lines[at - 1];
        u64::from(line) + u64::from(ix.0 - first)
    }

    /// Returns the number of entries in a file.
    pub fn count_in(&self, file: u16) -> u32 {
        let begin = |file: usize| self.files.get(file).map_or(self.len() as u32, |first| *first);
        begin(usize::from(file) + 1) - begin(usize::from(file))
    }

    /// Returns the entry on a line of a file.
    pub fn on_line(&self, file: u16, line: u64) -> Option<Ix> {
        let from = *self.files.get(usize::from(file))?;
        let to = from + self.count_in(file);
        let begin = self.lines.partition_point(|(first, _)| *first < from);
        let end = self.lines.partition_point(|(first, _)| *first < to);
        let lines = &self.lines[begin..end];
        let at = lines.partition_point(|(_, known)| u64::from(*known) <= line).checked_sub(1)?;
        let ix = u64::from(lines[at].0) + (line - u64::from(lines[at].1));
        let next = lines.get(at + 1).map_or(to, |(first, _)| *first);
        (ix < u64::from(next)).then_some(Ix(ix as u32))
    }

    /// Returns the entry whose line begins at a byte offset of a file.
    pub fn at_offset(&self, file: u16, offset: u64) -> Option<Ix> {
        let from = *self.files.get(usize::from(file))? as usize;
        let to = self.files.get(usize::from(file) + 1).map_or(self.len(), |next| *next as usize);
        let at = self.rows[from..to].binary_search_by_key(&offset, |row| row.offset).ok()?;
        Some(Ix((from + at) as u32))
    }

    /// Returns the indexes of the entries whose lines are within a part of a file.
    pub fn within(&self, file: u16, part: Range<u64>) -> Range<usize> {
        let Some(from) = self.files.get(usize::from(file)).map(|from| *from as usize) else { return 0..0 };
        let to = self.files.get(usize::from(file) + 1).map_or(self.len(), |next| *next as usize);
        let rows = &self.rows[from..to];
        let first = rows.partition_point(|row| row.offset < part.start);
        let end = rows.partition_point(|row| row.offset + u64::from(row.len) <= part.end);
        from + first..from + end.max(first)
    }

    /// Returns the id of an entry, as a key.
    pub fn key(&self, ix: Ix) -> Key {
        self.key[ix.index()]
    }

    /// Returns the id of an entry, or the first eight bytes of a longer one; empty if it has none.
    pub fn id_start(&self, ix: Ix) -> IdStart {
        self.first_eight(ix).map_or_else(|| self.key(ix).short_id(), IdStart::from)
    }

    /// Returns the first eight bytes of an entry's id, if it is at least that long.
    pub fn first_eight(&self, ix: Ix) -> Option<[u8; 8]> {
        match self.start.get(ix.index()) {
            Some(start) if self.flags(ix).has(Flags::LONG_ID) => Some(*start),
            _ => self.key(ix).eight(),
        }
    }

    /// Returns the id that an entry names as its parent, whether or not such an entry exists.
    pub fn parent_key(&self, ix: Ix) -> Option<Key> {
        if !self.flags(ix).has(Flags::APART) {
            return Some(self.key[ix.index() - 1]);
        }
        let at = self.apart.binary_search_by_key(&ix.0, |(entry, _)| *entry).ok()?;
        Some(self.apart[at].1).filter(|parent| parent.is_some())
    }

    /// Gives each entry a key of its own, by its place: for formats in which no entry has an id.
    pub fn name_by_place(&mut self) {
        self.key.iter_mut().zip(0..).for_each(|(key, ix)| *key = Key::of_place(ix));
    }

    /// Sets flags of an entry.
    pub fn mark(&mut self, ix: Ix, flags: Flags) {
        self.rows[ix.index()].flags.set(flags, true);
    }

    /// Gives entries other parents, `None` for a root. The links must be in file order.
    pub fn relink(&mut self, links: Vec<(Ix, Option<Key>)>) {
        let mut apart = Vec::with_capacity(self.apart.len() + links.len());
        let mut before = std::mem::take(&mut self.apart).into_iter().peekable();
        for (ix, parent) in links {
            apart.extend(std::iter::from_fn(|| before.next_if(|(entry, _)| *entry < ix.0)));
            before.next_if(|(entry, _)| *entry == ix.0);
            apart.push((ix.0, parent.unwrap_or(Key::NONE)));
            self.rows[ix.index()].flags.set(Flags::APART, true);
        }
        apart.extend(before);
        self.apart = apart;
    }

    /// Returns the entries of a file, as a range.
    pub fn of_file(&self, file: u16) -> std::ops::Range<u32> {
        let end = self.len() as u32;
        let from = self.files.get(usize::from(file)).copied().unwrap_or(end);
        from..self.files.get(usize::from(file) + 1).copied().unwrap_or(end)
    }

    /// Returns the ids of all entries, in file order.
    pub fn keys(&self) -> &[Key] {
        &self.key
    }

    /// Returns the time of an entry.
    pub fn time(&self, ix: Ix) -> Time {
        self.rows[ix.index()].time
    }

    /// Returns the kind of an entry.
    pub fn kind(&self, ix: Ix) -> Kind {
        self.rows[ix.index()].kind
    }

    /// Returns the type of an entry, as stored. In a session with more than 255 types, the surplus
    /// types are replaced by the last one that had room.
    pub fn ty(&self, ix: Ix) -> &str {
        &self.types.list[usize::from(self.rows[ix.index()].ty)]
    }

    /// Returns the index of an entry's type in [`Entries::types`].
    pub fn type_at(&self, ix: Ix) -> usize {
        usize::from(self.rows[ix.index()].ty)
    }

    /// Returns the types, in the order of first occurrence; the first 255 if there are more.
    pub fn types(&self) -> &[String] {
        &self.types.list
    }

    /// Returns the further properties of an entry.
    pub fn flags(&self, ix: Ix) -> Flags {
        self.rows[ix.index()].flags
    }

    /// Returns the session that an entry names, if the format writes it on every line.
    pub fn session(&self, ix: Ix) -> Option<&str> {
        let known = *self.session.get(ix.index())?;
        Some(&self.sessions.list[usize::from(known)])
            .filter(|session| !session.is_empty())
            .map(String::as_str)
    }

    /// Returns the sessions that entries name, in the order of first occurrence.
    pub fn sessions(&self) -> &[String] {
        &self.sessions.list
    }

    /// Returns the index of an entry's session in [`Entries::sessions`], if the format writes it on
    /// every line.
    pub fn session_at(&self, ix: Ix) -> Option<usize> {
        let known = usize::from(*self.session.get(ix.index())?);
        (!self.sessions.list[known].is_empty()).then_some(known)
    }

    /// Returns the reply that an entry is a part of, if the format writes one reply on several
    /// lines.
    pub fn group(&self, ix: Ix) -> Key {
        self.group.get(ix.index()).copied().unwrap_or(Key::NONE)
    }
}

/// Returns a line number, shifted by the number of lines before.
fn add_lines(line: u32, before: u64) -> u32 {
    (u64::from(line) + before).min(u64::from(u32::MAX)) as u32
}

/// Extends a column that not all entries have, up to the current entry.
fn lengthen<T: Clone>(column: &mut Vec<T>, ix: u32, expected: usize, nothing: T) {
    if column.is_empty() {
        column.reserve(expected.max(ix as usize + 1));
    }
    column.resize(ix as usize, nothing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_known_whatever_stands_between_entries() {
        let files = [&[2, 3, 4, 7, 8, 10][..], &[1, 2, 9], &[], &[10, 11]];
        let mut entries = Entries::default();
        for file in files {
            entries.begin_file();
            for line in file {
                entries.push(&Entry {
                    offset: *line,
                    len: 1,
                    line: *line,
                    key: Key(entries.len() as u64 + 1),
                    start: None,
                    parent: Key::NONE,
                    follows: false,
                    time: Time::NONE,
                    kind: Kind::User,
                    ty: b"message",
                    flags: Flags::default(),
                    session: b"",
                    group: Key::NONE,
                });
            }
        }
        let all = files
            .iter()
            .enumerate()
            .flat_map(|(file, lines)| lines.iter().map(move |line| (file as u16, *line)));
        for (ix, (file, line)) in entries.all().zip(all) {
            assert_eq!((entries.file(ix), entries.line(ix)), (file, line));
            assert_eq!(entries.on_line(file, line), Some(ix));
        }
        for (file, line) in
            [(0, 0), (0, 1), (0, 5), (0, 9), (0, 11), (1, 3), (1, 10), (2, 1), (3, 9), (3, 12), (4, 1)]
        {
            assert_eq!(entries.on_line(file, line), None, "{file}:{line}");
        }
    }
}
