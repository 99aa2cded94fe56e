//! The builder: makes a session from the lines of its files.

use super::{FileFacts, Gathered, Head, Joined, Other, OtherKind, Previous, Session};
use crate::format::diagnostics::Diagnostics;
use crate::format::multiline::{LineFault, Multiline, faults_of};
use crate::format::table::HELD;
use crate::format::{Format, Labels, LineVerdict, Link, ParentRef, Program};
use crate::json::{Ending, Field, Line, Notes, Reader, Shape, Str, each_item, place_in};
use crate::model::{
    Copies, Entries, Entry, Fault, FaultKind, Flags, Ix, Key, Kind, Source, Span, Time, Tree,
};

/// Builds a session from lines. Used by `store` and by tests.
pub struct Builder {
    pub(super) format: Format,
    pub(super) program: Option<Program>,
    pub(super) gathered: Gathered,
    pub(super) entries: Entries,
    pub(super) others: Vec<Other>,
    pub(super) faults: Vec<Fault>,
    pub(super) joined: Vec<Joined>,
    pub(super) files: Vec<FileFacts>,
    pub(super) partial: bool,
    pub(super) copies: Option<Copies>,
    pub(super) side: Option<Diagnostics>,
    pub(super) strays: bool,
    pub(super) spread: Multiline,
    /// Reads again the lines that were held.
    pub(super) again: Option<Reader>,
}

impl Builder {
    /// Returns a builder of the session as far as it is known now, so that this one can go on.
    pub fn snapshot(&self) -> Builder {
        Builder {
            format: self.format,
            program: self.program,
            gathered: self.gathered.clone(),
            entries: self.entries.clone(),
            others: self.others.clone(),
            faults: self.faults.clone(),
            joined: self.joined.clone(),
            files: self.files.clone(),
            partial: self.partial,
            copies: self.copies,
            side: self.side.clone(),
            strays: self.strays,
            spread: self.spread.clone(),
            again: None,
        }
    }

    /// Returns the end of the lines of the file so far, and their number, or `None` if the last one
    /// has no line feed: it may go on.
    pub fn whole_lines(&self) -> Option<(u64, u64)> {
        let facts = self.files.last().filter(|facts| facts.ends_in_newline)?;
        Some((facts.bytes, facts.lines))
    }

    /// Creates a reader for the lines to come.
    pub fn reader(&self) -> Reader {
        self.format.reader()
    }

    /// Starts a session of a format found by [`crate::format::detect()`].
    pub fn new(format: Format) -> Builder {
        Builder {
            format,
            program: None,
            gathered: Gathered::default(),
            entries: Entries::default(),
            others: Vec::new(),
            faults: Vec::new(),
            joined: Vec::new(),
            files: Vec::new(),
            partial: false,
            copies: None,
            side: None,
            strays: false,
            spread: Multiline::default(),
            again: None,
        }
    }

    /// Sets which of several entries with the same id represents it, if it should differ from the
    /// format's rule.
    pub fn copies(&mut self, copies: Copies) {
        self.copies = Some(copies);
    }

    /// Sets the program that the session belongs to, if bough never writes for that program.
    pub fn program(&mut self, program: Option<Program>) {
        self.program = program;
    }

    /// Requests that tool calls and references in rare lines are collected, too: [`Session::side`].
    pub fn side(&mut self) {
        self.side = Some(Diagnostics::default());
    }

    /// Requests that a line with a `uuid` and a session counts as an entry, whatever its type, as
    /// in claude-code-log.
    pub fn strays(&mut self) {
        self.strays = true;
    }

    /// Announces that only the end of the file is read.
    pub fn partial(&mut self) {
        self.partial = true;
    }

    /// Announces the number of bytes to come, with the first of them, so that room is made for the
    /// entries.
    pub fn expect(&mut self, bytes: u64, head: &[u8]) {
        /// In a smaller file, counting costs more than making too much room.
        const FEW: u64 = 1 << 20;
        if bytes < FEW {
            return self.entries.expect((bytes / 1024 + 8) as usize);
        }
        let lines = memchr::memchr_iter(b'\n', head).count() as u64;
        // Entries are seldom shorter than this, and lines at the start are often shorter than later
        // ones.
        let most = bytes / 64;
        let estimate = u128::from(bytes) * u128::from(lines) / (head.len() as u128).max(1);
        self.entries.expect(most.min(estimate as u64 + estimate as u64 / 8) as usize);
    }

    /// Starts the next file of the session; the first is the main file.
    pub fn begin_file(&mut self) {
        self.place_held(true);
        self.gathered.file = self.files.len() as u16;
        self.files.push(FileFacts { ends_in_newline: true, ..FileFacts::default() });
        self.entries.begin_file();
    }

    /// Processes the next line of the file.
    pub fn line(&mut self, line: &Line<'_>) {
        self.count(line);
        // Whether a longer line is in memory depends on how its bytes came.
        match line.len > HELD as u64 && self.format.is_guest() {
            true => self.counted(&Line { bytes: None, ..*line }),
            false => self.counted(line),
        }
    }

    /// Processes a line that was counted.
    #[inline]
    fn counted(&mut self, line: &Line<'_>) {
        if self.joins_lines(line) {
            if self.spread.takes(line) {
                return self.place_held(false);
            }
            self.place_held(true);
        }
        // Nearly all lines are intact, and yield no notes.
        if line.shape != Shape::Object || line.notes != Notes::default() {
            faults_of(line).for_each(|fault| self.line_fault(fault));
            if line.notes.deep && self.format.is_python() && line.shape == Shape::Object {
                self.fault(line, FaultKind::TooDeep { at: 0 });
            }
        }
        match self.format {
            format if format.stores_again() => {
                self.add_line(line);
                if let Some(list) = crate::format::gemini::messages_in(line) {
                    self.each_write(line, list);
                }
            }
            Format::HarnessV4 => {
                let is_list = |bytes: &&[u8]| bytes.trim_ascii_start().starts_with(b"[");
                match line.bytes.filter(|_| line.shape == Shape::Scalar).filter(is_list) {
                    Some(list) => self.each_write(line, list),
                    None => self.add_line(line),
                }
            }
            _ => self.add_line(line),
        }
    }

    /// Places the items of a list on a line, one after the other, as if each were on a line of its
    /// own.
    fn each_write(&mut self, line: &Line<'_>, list: &[u8]) {
        let mut reader = self.again.take().unwrap_or_else(|| self.format.reader());
        for item in each_item(list) {
            let place = place_in(line.bytes.unwrap_or(list), item);
            reader.restart(line.offset + place.start as u64, line.number - 1);
            reader.feed(item, |line| self.add_line(line));
            // Lines that end are read faster.
            reader.feed(b"\n", |line| self.add_line(line));
        }
        self.again = Some(reader);
    }

    /// Places the held lines as far as they can be interpreted with certainty, or all of them if no
    /// more will come.
    fn place_held(&mut self, end: bool) {
        while let Some(mut raw) = self.spread.next(end) {
            let mut reader = self.again.take().unwrap_or_default();
            let faults = std::mem::take(&mut raw.faults);
            let many = raw.lines > 1;
            if !many {
                faults.iter().for_each(|fault| self.line_fault(*fault));
            }
            raw.read(&mut reader, |line| {
                if many {
                    self.joined(line, raw.start, raw.lines, &faults);
                }
                let headed = self.gathered.header.is_some();
                self.add_line(line);
                if many {
                    crate::format::pi::note_joined(&mut self.gathered, headed);
                }
            });
            self.again = Some(reader);
        }
    }

    /// Returns whether a line may be part of an object over several lines.
    fn joins_lines(&self, line: &Line<'_>) -> bool {
        match self.format {
            Format::Claude => true,
            // Nothing is held in the intact lines of a file.
            _ if self.spread.is_empty() && !matches!(line.shape, Shape::Broken { .. }) => false,
            format => !self.spread.is_empty() || crate::format::pi::joins_lines(format, &self.gathered),
        }
    }

    /// Records that lines form one object. If they only look like one, each keeps the faults that
    /// it has by itself.
    fn joined(&mut self, line: &Line<'_>, start: u64, lines: u64, faults: &[LineFault]) {
        if !matches!(line.shape, Shape::Object | Shape::Trailing { .. }) {
            return faults.iter().for_each(|fault| self.line_fault(*fault));
        }
        let file = (self.files.len() - 1) as u16;
        let len = line.offset + line.len - start;
        self.joined.push(Joined { line: line.number, lines, span: Span { file, offset: start, len } });
        self.line_fault(LineFault { line: line.number, offset: start, len, kind: FaultKind::Split });
    }

    fn line_fault(&mut self, fault: LineFault) {
        let LineFault { line, offset, len, kind } = fault;
        let file = (self.files.len() - 1) as u16;
        self.faults.push(Fault { file, line, offset, len, kind });
    }

    /// Counts a line of the file, whatever becomes of it.
    fn count(&mut self, line: &Line<'_>) {
        let facts = self.files.last_mut().expect("a file was begun");
        facts.lines = line.number;
        facts.bytes = line.offset + line.len + [1, 2, 0][line.ending as usize];
        facts.crlf += u64::from(line.ending == Ending::CrLf);
        facts.ends_in_newline = line.ending != Ending::None;
        facts.blank += u64::from(line.shape == Shape::Blank && !self.format.is_document());
    }

    /// Makes an entry of a line, or something else.
    fn add_line(&mut self, line: &Line<'_>) {
        if line.shape == Shape::Blank {
            // The end of a document is no line.
            if self.format.is_document() {
                return;
            }
            return self.other(line, OtherKind::Blank);
        }
        let usable = matches!(line.shape, Shape::Object | Shape::Scalar);
        let headed = self.gathered.header.is_some();
        let place = self.format.dialect().classify(line, &mut self.gathered);
        match place {
            LineVerdict::Entry(link) => self.entry(line, &link),
            LineVerdict::Other(kind) => {
                if self.strays
                    && kind == OtherKind::Note
                    && let Some(link) = stray(line)
                {
                    return self.entry(line, &link);
                }
                if kind == OtherKind::Header && !headed && !self.entries.is_empty() {
                    self.fault(line, FaultKind::HeaderNotFirst);
                }
                self.other(line, kind);
            }
            LineVerdict::Unknown => {
                if usable {
                    self.fault(line, FaultKind::NoEntry);
                }
                self.other(line, OtherKind::Unknown);
            }
        }
    }

    fn entry(&mut self, line: &Line<'_>, link: &Link<'_>) {
        if link.id.is_none() && self.format.has_ids() && self.format != Format::Claude {
            self.fault(line, FaultKind::MissingId);
        }
        let parent = match link.parent {
            ParentRef::Id(id) => id.key(),
            ParentRef::Number(id) => Key::of_number(id.raw),
            ParentRef::None | ParentRef::Before => Key::NONE,
        };
        let (key, start) = match link.id {
            Some(id) if link.is_number => {
                (Key::of_number(id.raw), id.raw.first_chunk().filter(|_| id.raw.len() >= 8).copied())
            }
            Some(id) => id.key_and_start(),
            None => (Key::NONE, None),
        };
        let mut flags = link.flags;
        flags.set(Flags::SURROGATE, line.notes.lone_surrogate);
        let (ty, session) = (
            link.ty.map(Str::resolved).unwrap_or_default(),
            link.session.map(Str::resolved).unwrap_or_default(),
        );
        // Anything after the object on its line is not part of the entry.
        let len = match line.shape {
            Shape::Trailing { at } => line.bytes.map_or(at, |bytes| {
                bytes.get(..at as usize).map_or(at, |object| object.trim_ascii_end().len() as u64)
            }),
            _ => line.len,
        };
        self.entries.push(&Entry {
            offset: line.offset,
            len,
            line: line.number,
            key,
            start,
            parent,
            follows: matches!(link.parent, ParentRef::Before),
            time: link.time,
            kind: link.kind,
            ty: &ty,
            flags,
            session: &session,
            group: link.group.map_or(Key::NONE, |group| group.key()),
        });
        if let Some(side) = &mut self.side {
            let file = (self.files.len() - 1) as u16;
            side.entry(line, link, Ix(self.gathered.entries), file, self.format);
        }
        self.gathered.entries = self.entries.len() as u32;
        let facts = self.files.last_mut().expect("a file was begun");
        facts.records += u64::from(link.ty.is_some() && !matches!(line.shape, Shape::Trailing { .. }));
    }

    fn other(&mut self, line: &Line<'_>, kind: OtherKind) {
        let file = (self.files.len() - 1) as u16;
        let span = Span { file, offset: line.offset, len: line.len };
        if matches!(line.shape, Shape::Object) && line.fields.str(Field::Type).is_some() {
            self.files.last_mut().expect("a file was begun").records += 1;
        }
        if let Some(side) = &mut self.side {
            side.other(line, kind, Ix(self.entries.len() as u32), file, self.format == Format::Claude);
        }
        self.others.push(Other { span, line: line.number, kind, before: self.entries.len() as u32 });
    }

    fn fault(&mut self, line: &Line<'_>, kind: FaultKind) {
        let file = (self.files.len() - 1) as u16;
        self.faults.push(Fault { file, line: line.number, offset: line.offset, len: line.len, kind });
    }

    /// Reads one file of `len` bytes, block by block, and finishes.
    pub fn read(mut self, source: &dyn Source, len: u64) -> std::io::Result<Session> {
        const BLOCK: u64 = 256 * 1024;
        self.begin_file();
        let mut reader = self.reader();
        let (mut block, mut offset) = (Vec::new(), 0);
        while offset < len {
            let span = Span { file: 0, offset, len: BLOCK.min(len - offset) };
            source.read(span, &mut block)?;
            reader.feed(&block, |line| self.line(line));
            offset += span.len;
        }
        reader.finish(|line| self.line(line));
        Ok(self.finish())
    }

    /// Links the entries, and finds HEAD.
    pub fn finish(mut self) -> Session {
        self.place_held(true);
        let format = crate::format::pi::settle(self.format, &self.gathered);
        format.dialect().link(&mut self.entries, &mut self.gathered);
        for (file, facts) in self.files.iter().enumerate() {
            if !facts.ends_in_newline && !format.is_document() {
                let kind = FaultKind::NoFinalNewline;
                self.faults.push(Fault {
                    file: file as u16,
                    line: facts.lines,
                    offset: facts.bytes,
                    len: 0,
                    kind,
                });
            }
        }
        if self.gathered.header.is_none() && format.wants_header() && !self.partial {
            let kind = FaultKind::MissingHeader;
            self.faults.push(Fault { file: 0, line: 0, offset: 0, len: 0, kind });
        }
        let name = format.dialect().name(&mut self.gathered);
        let tree = Tree::build(&self.entries, self.copies.unwrap_or(format.dialect().copies()));
        let labels = Labels::resolve(self.gathered.labels, &self.entries, &tree);
        let mut session = Session {
            format,
            program: format.program().or(self.program),
            header: self.gathered.header,
            name,
            entries: self.entries,
            tree,
            others: self.others,
            labels,
            pointers: self.gathered.pointers,
            claude: self.gathered.claude,
            head: Head::default(),
            beside: Vec::new(),
            faults: self.faults,
            joined: self.joined,
            files: self.files,
            previous: Previous::Unknown,
            side: self.side,
            is_thread: false,
            partial: self.partial,
        };
        if !session.partial {
            session.note_links();
        }
        session.head = if self.gathered.last_without_id {
            let rule = "the last line has no id, so the agent would start a new session";
            Head { rule, ..Head::default() }
        } else {
            session.format.dialect().head(&session)
        };
        session.head_is_shown();
        if session.format == Format::Claude {
            session.beside = crate::format::claude::head::loaded_beside_head(&session);
        }
        session
    }
}

/// Returns the link of a line of an unknown type that has a `uuid` and a session.
fn stray<'l>(line: &Line<'l>) -> Option<Link<'l>> {
    let fields = &line.fields;
    let id = fields.str(Field::Uuid).filter(|id| !id.raw.is_empty())?;
    let session = fields.str(Field::SessionId).filter(|session| !session.raw.is_empty())?;
    let mut flags = Flags::BOOKKEEPING;
    flags.set(Flags::SIDECHAIN, fields.is_true(Field::IsSidechain));
    Some(Link {
        id: Some(id),
        parent: fields.str(Field::ParentUuid).map_or(ParentRef::None, ParentRef::Id),
        time: fields.str(Field::Timestamp).map_or(Time::NONE, |time| crate::model::parse_time(time.raw)),
        ty: fields.str(Field::Type),
        flags,
        session: Some(session),
        ..Link::new(Kind::Other)
    })
}
