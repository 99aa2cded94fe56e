use super::{Key, Span, Time};
use std::borrow::Cow;
use std::collections::HashMap;

/// The place of an entry among the entries of a session, in file order, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ix(pub u32);

impl Ix {
    /// The place as an index into a slice.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// What an entry is, in words that all formats share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A prompt, or another message in the role of the user.
    User,
    /// A reply of the model, or a part of one.
    Assistant,
    /// The result of a tool, or a command that the user ran.
    Tool,
    /// A message of the system, or a note of the agent.
    System,
    /// A summary of a branch that was left.
    Summary,
    /// An entry that stands for earlier ones.
    Compaction,
    /// A name that was put on an entry.
    Label,
    /// A change of model, thinking level, name and the like.
    Setting,
    /// An entry of an extension.
    Custom,
    /// Something that the agent added to the conversation by itself.
    Attachment,
    /// A tick of progress.
    Progress,
    /// A header that has a place in the tree.
    Header,
    /// Anything else.
    Other,
}

impl Kind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Kind; 13] = [
        Kind::User,
        Kind::Assistant,
        Kind::Tool,
        Kind::System,
        Kind::Summary,
        Kind::Compaction,
        Kind::Label,
        Kind::Setting,
        Kind::Custom,
        Kind::Attachment,
        Kind::Progress,
        Kind::Header,
        Kind::Other,
    ];

    /// The kind as one word, as `--kind` takes it and `--json` gives it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::User => "user",
            Kind::Assistant => "assistant",
            Kind::Tool => "tool",
            Kind::System => "system",
            Kind::Summary => "summary",
            Kind::Compaction => "compaction",
            Kind::Label => "label",
            Kind::Setting => "setting",
            Kind::Custom => "custom",
            Kind::Attachment => "attachment",
            Kind::Progress => "progress",
            Kind::Header => "header",
            Kind::Other => "other",
        }
    }

    /// Whether it is part of the talk: a prompt, a reply or a result.
    #[inline]
    pub fn is_turn(self) -> bool {
        matches!(self, Kind::User | Kind::Assistant | Kind::Tool)
    }

    /// The kind that a word names.
    pub fn named(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// What is known of an entry beside its kind, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// A marker that `switch` wrote: revisions look through it.
    pub const MARKER: Flags = Flags(1);
    /// Bookkeeping: labels, settings, names; no part of the conversation.
    pub const BOOKKEEPING: Flags = Flags(1 << 1);
    /// A message with a text that is more than white space.
    pub const TEXT: Flags = Flags(1 << 2);
    /// A message with a tool call.
    pub const CALL: Flags = Flags(1 << 3);
    /// A message with the result of a tool.
    pub const RESULT: Flags = Flags(1 << 4);
    /// Belongs to an agent's transcript, not to the main conversation.
    pub const SIDECHAIN: Flags = Flags(1 << 5);
    /// Put in by the agent's client, not typed.
    pub const META: Flags = Flags(1 << 6);
    /// The text of a compaction, as a message.
    pub const COMPACT_SUMMARY: Flags = Flags(1 << 7);
    /// A reply that ended otherwise than well: error, aborted, length.
    pub const ENDED_BADLY: Flags = Flags(1 << 8);
    /// A message in the user's name that holds nothing the user typed: the output of a command, an interruption, a
    /// notification. It is the bit of [`Flags::ENDED_BADLY`], which only replies have.
    pub const NOT_TYPED: Flags = Flags::ENDED_BADLY;
    /// A picture in the content.
    pub const IMAGE: Flags = Flags(1 << 9);
    /// A link only: its children hang at its parent (progress lines of Claude Code).
    pub const PASSED: Flags = Flags(1 << 10);
    /// A string of the line has an unpaired surrogate.
    pub const SURROGATE: Flags = Flags(1 << 11);
    /// A text block without text.
    pub const EMPTY_TEXT: Flags = Flags(1 << 12);
    /// Never shown by the agent itself (usage, and the like).
    pub const HIDDEN: Flags = Flags(1 << 13);
    /// An id of more than eight bytes: its key does not hold it.
    pub const LONG_ID: Flags = Flags(1 << 14);
    /// Does not hang under the entry before.
    pub(super) const APART: Flags = Flags(1 << 15);

    /// Whether all bits of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the client put the entry in, though it may be in the user's name.
    pub fn is_put_in(self) -> bool {
        self.has(Flags::META) || self.has(Flags::COMPACT_SUMMARY)
    }

    /// Sets the bits of `other` where `yes`.
    pub fn set(&mut self, other: Flags, yes: bool) {
        if yes {
            self.0 |= other.0;
        }
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The entries of a session as columns: some forty bytes each, whatever the size of their lines.
///
/// An entry is known by its [`Ix`], its place in file order. Texts are not here: they are read from the
/// [`Span`] when they are shown.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    rows: Vec<Row>,
    /// Where the numbers of lines do not go on from one entry to the next: the entry, and its line.
    lines: Vec<(u32, u32)>,
    key: Vec<Key>,
    /// Links that do not name the entry before ([`Flags::APART`]): the entry, and the key of its parent; [`Key::NONE`] of a root.
    pub(super) apart: Vec<(u32, Key)>,
    /// Where the entries of each file begin.
    files: Vec<u32>,
    types: Names,
    /// Which session each entry says it is of, as an index into `sessions`; empty where none says so.
    session: Vec<u16>,
    sessions: Names,
    /// The reply that an entry is a part of; empty where the format keeps replies whole.
    group: Vec<Key>,
    /// The first eight bytes of each long id; empty where there are none.
    start: Vec<[u8; 8]>,
    /// How many entries there may be in all, as far as that was told.
    expected: usize,
}

/// What of an entry is seldom looked at without the rest.
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

/// One entry, as it is put into [`Entries`].
#[derive(Clone, Copy, Debug)]
pub struct Entry<'l> {
    /// The first byte of the line in its file.
    pub offset: u64,
    /// The bytes of the line, without its ending.
    pub len: u64,
    /// The number of the line, from 1.
    pub line: u64,
    /// Its id.
    pub key: Key,
    /// The first eight bytes of its id, where that is longer.
    pub start: Option<[u8; 8]>,
    /// The id of its parent; [`Key::NONE`] for a root.
    pub parent: Key,
    /// Whether the parent is the entry before, whatever that is called.
    pub follows: bool,
    /// Its time.
    pub time: Time,
    /// What it is.
    pub kind: Kind,
    /// Its type, as stored.
    pub ty: &'l [u8],
    /// What else is known.
    pub flags: Flags,
    /// The session that the line names; empty where it names none.
    pub session: &'l [u8],
    /// The reply that it is a part of.
    pub group: Key,
}

impl Entries {
    /// Begins the entries of the next file. Called before the first [`Entries::push`].
    pub fn begin_file(&mut self) {
        self.files.push(self.len() as u32);
    }

    /// Says how many more entries there may be, so that the columns need not move as they grow.
    ///
    /// Too many do no harm: what is not used of a column is never touched.
    pub fn expect(&mut self, more: usize) {
        self.expected = self.len() + more;
        self.rows.reserve(more);
        self.key.reserve(more);
    }

    /// Puts an entry behind the others.
    ///
    /// A place has 32 bits, and nothing holds on to that: a caller with more than four billion entries, which take more than a
    /// hundred gigabytes here, would have their places begin again at 0.
    pub fn push(&mut self, entry: &Entry<'_>) -> Ix {
        let ix = self.key.len() as u32;
        let ty = self.types.place(entry.ty, u8::MAX as usize) as u8;
        self.push_session(ix, entry.session);
        if entry.group.is_some() || !self.group.is_empty() {
            lengthen(&mut self.group, ix, self.expected, Key::NONE);
            self.group.push(entry.group);
        }
        let mut flags = entry.flags;
        // Nearly always the parent is the line before.
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
            self.sessions.place(b"", u16::MAX as usize);
        }
        lengthen(&mut self.session, ix, self.expected, 0);
        let known = self.sessions.place(session, u16::MAX as usize);
        self.session.push(known as u16);
    }

    /// Puts the entries of a further segment of the same file behind these; `lines` of the file stand before it.
    ///
    /// The segment was read by itself, as if it were a file. Its first entry hangs under the last one here where it `follows`, or
    /// names it.
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
            .map(|ty| self.types.place(ty.as_bytes(), u8::MAX as usize) as u8)
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

    /// How many entries there are, copies of one id included.
    pub fn len(&self) -> usize {
        self.key.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.key.is_empty()
    }

    /// All entries, in file order.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = Ix> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(Ix)
    }

    /// Which file an entry stands in.
    pub fn file(&self, ix: Ix) -> u16 {
        (self.files.partition_point(|first| *first <= ix.0).max(1) - 1) as u16
    }

    /// The line of an entry, without its ending.
    pub fn span(&self, ix: Ix) -> Span {
        let row = &self.rows[ix.at()];
        Span { file: self.file(ix), offset: row.offset, len: u64::from(row.len) }
    }

    /// The number of an entry's line in its file, from 1.
    pub fn line(&self, ix: Ix) -> u64 {
        let at = self.lines.partition_point(|(first, _)| *first <= ix.0);
        let (first, line) = self.lines[at - 1];
        u64::from(line) + u64::from(ix.0 - first)
    }

    /// How many entries stand in a file.
    pub fn count_in(&self, file: u16) -> u32 {
        let begin = |file: usize| self.files.get(file).map_or(self.len() as u32, |first| *first);
        begin(usize::from(file) + 1) - begin(usize::from(file))
    }

    /// The entry on a line of a file.
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

    /// The entry whose line begins at a byte of a file.
    pub fn at_offset(&self, file: u16, offset: u64) -> Option<Ix> {
        let from = *self.files.get(usize::from(file))? as usize;
        let to = self.files.get(usize::from(file) + 1).map_or(self.len(), |next| *next as usize);
        let at = self.rows[from..to].binary_search_by_key(&offset, |row| row.offset).ok()?;
        Some(Ix((from + at) as u32))
    }

    /// The id of an entry, as a key.
    pub fn key(&self, ix: Ix) -> Key {
        self.key[ix.at()]
    }

    /// The id of an entry, or the first eight bytes of a longer one; empty where it has none.
    pub fn id_start(&self, ix: Ix) -> Vec<u8> {
        self.first_eight(ix).map_or_else(|| self.key(ix).short_id(), |start| start.to_vec())
    }

    /// The first eight bytes of an entry's id, where it has as many.
    pub fn first_eight(&self, ix: Ix) -> Option<[u8; 8]> {
        match self.start.get(ix.at()) {
            Some(start) if self.flags(ix).has(Flags::LONG_ID) => Some(*start),
            _ => self.key(ix).eight(),
        }
    }

    /// The id that an entry names as its parent's, whether there is such an entry or not.
    pub fn parent_key(&self, ix: Ix) -> Option<Key> {
        if !self.flags(ix).has(Flags::APART) {
            return Some(self.key[ix.at() - 1]);
        }
        let at = self.apart.binary_search_by_key(&ix.0, |(entry, _)| *entry).ok()?;
        Some(self.apart[at].1).filter(|parent| parent.is_some())
    }

    /// Gives entries other parents, `None` for a root. They come in file order.
    pub fn relink(&mut self, links: Vec<(Ix, Option<Key>)>) {
        let mut apart = Vec::with_capacity(self.apart.len() + links.len());
        let mut before = std::mem::take(&mut self.apart).into_iter().peekable();
        for (ix, parent) in links {
            apart.extend(std::iter::from_fn(|| before.next_if(|(entry, _)| *entry < ix.0)));
            before.next_if(|(entry, _)| *entry == ix.0);
            apart.push((ix.0, parent.unwrap_or(Key::NONE)));
            self.rows[ix.at()].flags.set(Flags::APART, true);
        }
        apart.extend(before);
        self.apart = apart;
    }

    /// The entries of a file, as a range.
    pub fn of_file(&self, file: u16) -> std::ops::Range<u32> {
        let end = self.len() as u32;
        let from = self.files.get(usize::from(file)).copied().unwrap_or(end);
        from..self.files.get(usize::from(file) + 1).copied().unwrap_or(end)
    }

    /// The ids of all entries, in file order.
    pub fn keys(&self) -> &[Key] {
        &self.key
    }

    /// The time of an entry.
    pub fn time(&self, ix: Ix) -> Time {
        self.rows[ix.at()].time
    }

    /// What an entry is.
    pub fn kind(&self, ix: Ix) -> Kind {
        self.rows[ix.at()].kind
    }

    /// The type of an entry, as stored. Of a session with more than 255 types, those beyond go by the last that had room.
    pub fn ty(&self, ix: Ix) -> &str {
        &self.types.list[usize::from(self.rows[ix.at()].ty)]
    }

    /// The place of an entry's type in [`Entries::types`].
    pub fn type_at(&self, ix: Ix) -> usize {
        usize::from(self.rows[ix.at()].ty)
    }

    /// The types that occur, in the order in which they were met; of more than 255 the first.
    pub fn types(&self) -> &[String] {
        &self.types.list
    }

    /// What else is known of an entry.
    pub fn flags(&self, ix: Ix) -> Flags {
        self.rows[ix.at()].flags
    }

    /// The session that an entry names, where the format writes it on every line.
    pub fn session(&self, ix: Ix) -> Option<&str> {
        let known = *self.session.get(ix.at())?;
        Some(&self.sessions.list[usize::from(known)])
            .filter(|session| !session.is_empty())
            .map(String::as_str)
    }

    /// The sessions that entries name, in the order in which they were met.
    pub fn sessions(&self) -> &[String] {
        &self.sessions.list
    }

    /// The place of an entry's session in [`Entries::sessions`], where the format writes it on every line.
    pub fn session_at(&self, ix: Ix) -> Option<usize> {
        let known = usize::from(*self.session.get(ix.at())?);
        (!self.sessions.list[known].is_empty()).then_some(known)
    }

    /// The reply that an entry is a part of, where the format writes one reply on several lines.
    pub fn group(&self, ix: Ix) -> Key {
        self.group.get(ix.at()).copied().unwrap_or(Key::NONE)
    }
}

/// The number of a line, with others before it.
fn add_lines(line: u32, before: u64) -> u32 {
    (u64::from(line) + before).min(u64::from(u32::MAX)) as u32
}

/// Fills a column that not all entries have, up to the entry at hand.
fn lengthen<T: Clone>(column: &mut Vec<T>, ix: u32, expected: usize, nothing: T) {
    if column.is_empty() {
        column.reserve(expected.max(ix as usize + 1));
    }
    column.resize(ix as usize, nothing);
}

/// Names that occur again and again, each kept once.
#[derive(Clone, Debug, Default)]
struct Names {
    list: Vec<String>,
    /// By what each of the first few is told from the others of them: its length, and its last eight bytes.
    few: Vec<(usize, u64)>,
    /// Where the names beyond these stand.
    others: HashMap<Box<[u8]>, usize>,
}

impl Names {
    /// How many names are compared one by one.
    const FEW: usize = 12;

    /// The place of a name, where it is put if there is room; else the last place stands for it.
    fn place(&mut self, name: &[u8], most: usize) -> usize {
        let mark = Names::mark(name);
        for (at, known) in self.few.iter().enumerate() {
            // Where it is short, that is all of it.
            if *known == mark && (name.len() <= 8 || self.list[at].as_bytes() == name) {
                return at;
            }
        }
        self.place_other(name, most)
    }

    #[inline(never)]
    fn place_other(&mut self, name: &[u8], most: usize) -> usize {
        if let Some(at) = self.others.get(name) {
            return *at;
        }
        let text = match String::from_utf8_lossy(name) {
            Cow::Borrowed(text) => text.to_owned(),
            // It is known by what it is shown as.
            Cow::Owned(shown) => return self.place(shown.as_bytes(), most),
        };
        let at = self.list.len();
        if at == most {
            return most - 1;
        }
        self.list.push(text);
        match at < Names::FEW {
            true => self.few.push(Names::mark(name)),
            false => _ = self.others.insert(name.into(), at),
        }
        at
    }

    #[inline(always)]
    fn mark(name: &[u8]) -> (usize, u64) {
        let last = match (name.last_chunk(), name.first_chunk::<4>(), name.last_chunk::<4>()) {
            (Some(eight), ..) => u64::from_le_bytes(*eight),
            (None, Some(first), Some(last)) => {
                u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
            }
            _ => name.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        (name.len(), last)
    }
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

    #[test]
    fn names_are_kept_once() {
        let mut names = Names::default();
        let long = |at: usize| format!("a name of the number {at}").into_bytes();
        let mut all: Vec<Vec<u8>> =
            [&b""[..], b"a", b"abc", b"abd", b"abcd", b"abce", b"abcdefg", b"abcdefgh"]
                .map(<[u8]>::to_vec)
                .to_vec();
        all.extend((0..20).map(long));
        for _ in 0..2 {
            for (at, name) in all.iter().enumerate() {
                assert_eq!(names.place(name, usize::MAX), at, "{}", String::from_utf8_lossy(name));
            }
        }
        // What is no UTF-8 is known by what it is shown as.
        let broken = names.place(b"x\xFF", usize::MAX);
        assert_eq!(names.place(b"x\xFE", usize::MAX), broken);
        assert_eq!(names.place("x\u{FFFD}".as_bytes(), usize::MAX), broken);
        assert_eq!(names.place(b"one too many", all.len() + 1), all.len());
    }
}
