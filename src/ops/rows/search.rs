//! Searching the tree for what a user typed.

use crate::format::Session;
use crate::json::Prefilter;
use crate::model::{Ix, Kind, Source, Span};
use crate::ops::grep::{Options, Pattern};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Words that an entry must all contain, or a regular expression.
///
/// An entry contains a word if the word is in its text, its label, or the name of its kind. Case
/// does not matter for words; for an expression it matters if the expression contains a capital
/// letter.
pub struct Search {
    patterns: Vec<Pattern>,
}

impl Search {
    /// Parses what a user typed: words, or `re:` and a regular expression. Fails if the expression
    /// is invalid.
    pub fn parse(typed: &str) -> Result<Search, regex::Error> {
        let patterns = match typed.strip_prefix("re:") {
            Some(regex) => {
                let ignore_case = !regex.chars().any(char::is_uppercase);
                vec![Pattern::new(regex, Options { ignore_case, ..Options::default() })?]
            }
            None => {
                let options = Options { ignore_case: true, fixed: true, ..Options::default() };
                typed.split_whitespace().map(|word| Pattern::new(word, options)).collect::<Result<_, _>>()?
            }
        };
        Ok(Search { patterns })
    }

    /// Returns whether the search is empty.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns whether all words are in a text.
    pub fn is_in_text(&self, text: &str) -> bool {
        !self.is_empty() && self.patterns.iter().all(|pattern| pattern.is_in_text(text))
    }

    /// Returns whether bytes may contain all words.
    fn may_be_in(&self, bytes: &[u8]) -> bool {
        self.patterns.iter().all(|pattern| may_be_in(pattern, bytes))
    }

    /// Returns whether an entry matches, given its line.
    pub fn finds(&self, session: &Session, ix: Ix, line: &[u8]) -> bool {
        let label = session.labels.label(ix).unwrap_or_default();
        let kind = session.entries.kind(ix).name();
        let is_in_line = |pattern: &Pattern| {
            // Most lines are skipped without being parsed.
            may_be_in(pattern, line) && pattern.is_in(session.format, line)
        };
        !self.is_empty()
            && self
                .patterns
                .iter()
                .all(|pattern| pattern.is_in_text(label) || pattern.is_in_text(kind) || is_in_line(pattern))
    }
}

/// Returns whether bytes may contain what a pattern finds in a text.
fn may_be_in(pattern: &Pattern, bytes: &[u8]) -> bool {
    pattern.prefilter().is_none_or(|prefilter| prefilter.find(bytes, 0).is_some())
}

/// The largest block that is read at once, and the first one.
const BLOCK: [u64; 2] = [1 << 20, 64 << 10];

/// How many blocks in a row lack a word before the main file is searched ahead.
const LACKING: u32 = 3;

/// How many bytes are searched ahead at once: the first time, and at most.
const AHEAD: [u64; 2] = [4 << 20, 64 << 20];

/// How long searching ahead should take at most. Nothing is shown meanwhile.
const SHORT: Duration = Duration::from_millis(8);

/// A word is rare if so many bytes have at most one line with it.
const RARE: u64 = 64 << 10;

/// Searches a part of the main file for the lines that pass a prefilter. Returns what was searched, which is at least the
/// lines that are within the part, and where in it the lines are that pass, in order.
pub type Ahead<'a> = dyn Fn(Range<u64>, &Prefilter) -> io::Result<(Range<u64>, Vec<Range<u64>>)> + 'a;

/// What a scan reads, and in which direction.
#[derive(Clone, Copy)]
pub struct Scanned<'a> {
    /// The session.
    pub session: &'a Session,
    /// Its files.
    pub source: &'a dyn Source,
    /// What searches faster than a scan, for a word that is rare.
    pub ahead: &'a Ahead<'a>,
    /// Whether the entries that are asked for next are later ones.
    pub down: bool,
}

/// A search through many entries, of which most follow each other in the file.
///
/// Reads the file in blocks that contain many lines. A block without one of the words is passed
/// over as a whole, except for entries whose label or kind has the word. After a few such blocks the
/// file is searched ahead.
pub struct Scan {
    search: Search,
    /// The kinds whose names contain all words.
    kinds: Vec<Kind>,
    /// Whether the name of any kind contains one of the words.
    is_in_kinds: bool,
    block: Block,
    lacking: Lacking,
    /// A line that is not in the block.
    line: Vec<u8>,
    /// How many of the last blocks lack a word, and how many bytes are searched ahead next.
    passed: u32,
    ahead: u64,
}

/// What was read and lacks one of the words.
///
/// Rows are not in the order of the file, so a search comes back to the same part of a file for each branch that has
/// entries in it.
#[derive(Default)]
struct Lacking {
    /// Parts of the files, by file and begin: their ends.
    parts: BTreeMap<(u16, u64), u64>,
    /// Whether the line of an entry is in one of the parts, by its index. As long as the last such entry needs.
    entries: Vec<bool>,
}

/// Bytes of a file that were read at once.
struct Block {
    file: u16,
    from: u64,
    bytes: Vec<u8>,
    /// Which of the words it lacks, if it lacks one.
    lacks: Option<usize>,
    /// How many lines in it were looked at.
    used: u64,
    /// How many bytes the next block has.
    size: u64,
}

impl Scan {
    /// Begins a search.
    pub fn new(search: Search) -> Scan {
        let in_name =
            |kind: &Kind| search.patterns.iter().filter(|pattern| pattern.is_in_text(kind.name())).count();
        let all = search.patterns.len();
        let kinds = Kind::ALL.into_iter().filter(|kind| in_name(kind) == all).collect();
        let is_in_kinds = Kind::ALL.iter().any(|kind| in_name(kind) > 0);
        let block = Block { file: 0, from: 0, bytes: Vec::new(), lacks: None, used: 0, size: BLOCK[1] };
        Scan {
            search,
            kinds,
            is_in_kinds,
            block,
            lacking: Lacking::default(),
            line: Vec::new(),
            passed: 0,
            ahead: AHEAD[0],
        }
    }

    /// Returns whether an entry matches. Fails if the line can't be read.
    pub fn finds(&mut self, scanned: Scanned, ix: Ix) -> io::Result<bool> {
        let session = scanned.session;
        if self.search.is_empty() {
            return Ok(false);
        }
        if !self.kinds.is_empty() && self.kinds.contains(&session.entries.kind(ix)) {
            return Ok(true);
        }
        let has_name = self.is_in_kinds || session.labels.label(ix).is_some();
        if !has_name && self.lacking.has(ix) {
            return Ok(false);
        }
        let span = session.span(ix);
        if !self.block.has(span) {
            if !has_name && self.search_ahead(scanned, span) && self.lacking.has(ix) {
                return Ok(false);
            }
            self.read(scanned, span)?;
        }
        self.block.used += 1;
        if self.block.lacks.is_some() && !has_name {
            return Ok(false);
        }
        Ok(self.search.finds(session, ix, self.block.line(span)))
    }

    /// Returns whether the line of an entry is known to lack one of the words.
    pub fn lacks(&self, ix: Ix) -> bool {
        self.lacking.has(ix)
    }

    /// Returns whether all words may be in the line of an entry; without a word that can be looked for as it is stored, they
    /// may be. Fails if the line can't be read.
    pub fn may_find(&mut self, scanned: Scanned, ix: Ix) -> io::Result<bool> {
        let span = scanned.session.span(ix);
        if self.block.has(span) {
            let line = self.block.line(span);
            return Ok(self.block.lacks.is_none() && self.search.may_be_in(line));
        }
        // The next row is in the block.
        scanned.source.read(span, &mut self.line)?;
        Ok(self.search.may_be_in(&self.line))
    }

    /// Returns whether all words are in a text.
    pub fn is_in_text(&self, text: &str) -> bool {
        self.search.is_in_text(text)
    }

    /// Searches a large part of the main file for a word that the last blocks lack, from a line on. Returns whether it
    /// did.
    fn search_ahead(&mut self, scanned: Scanned, span: Span) -> bool {
        let Scanned { session, ahead, down, .. } = scanned;
        let lacks = self.block.lacks.filter(|_| self.passed >= LACKING && span.file == 0);
        let Some(prefilter) = lacks.and_then(|word| self.search.patterns[word].prefilter()) else {
            return false;
        };
        if !self.block.is_followed_by(span, down) {
            return false;
        }
        let end = session.files.first().map_or(0, |facts| facts.bytes);
        let part = self.lacking.between(span, self.ahead, down, end);
        // A short part is read as a block.
        if part.end - part.start <= BLOCK[0] {
            return false;
        }
        let began = Instant::now();
        // A part of the file that is not needed yet may be gone.
        let Ok((searched, lines)) = ahead(part, prefilter) else {
            self.passed = 0;
            return false;
        };
        self.ahead = if began.elapsed() > SHORT { self.ahead / 2 } else { self.ahead * 2 };
        self.ahead = self.ahead.clamp(AHEAD[0], AHEAD[1]);
        if lines.len() as u64 > (searched.end - searched.start) / RARE {
            self.passed = 0;
        }
        let ends = lines.iter().map(|line| line.end);
        let begins = lines.iter().map(|line| line.start).chain([searched.end]);
        for (from, to) in [searched.start].into_iter().chain(ends).zip(begins) {
            self.lacking.add(session, 0, from..to);
        }
        true
    }

    /// Reads the block that begins, or on the way up ends, with a line.
    fn read(&mut self, scanned: Scanned, span: Span) -> io::Result<()> {
        let Scanned { session, source, down, .. } = scanned;
        let block = &mut self.block;
        // Lines that do not follow each other in the file are read one by one. How many lines a block had does not
        // say that: a long line, such as an image, fills one.
        block.size = match (block.is_followed_by(span, down), block.used) {
            (true, _) => block.size.max(BLOCK[1] / 16).saturating_mul(4),
            (false, 0 | 1) => (block.size / 4).max(1),
            (false, _) => block.size,
        }
        .min(BLOCK[0]);
        let end = session.files.get(usize::from(span.file)).map_or(0, |facts| facts.bytes);
        let Range { start: from, end: to } = self.lacking.between(span, block.size, down, end);
        let wanted = Span { file: span.file, offset: from, len: to - from };
        // A part of a file that is not needed yet may be gone.
        let is_whole = wanted != span && source.read(wanted, &mut block.bytes).is_ok();
        if !is_whole {
            source.read(span, &mut block.bytes)?;
        }
        (block.file, block.used) = (span.file, 0);
        block.from = if is_whole { from } else { span.offset };
        block.lacks = self.search.patterns.iter().position(|pattern| !may_be_in(pattern, &block.bytes));
        self.passed = match block.lacks {
            Some(_) if is_whole => self.passed + u32::from(block.size == BLOCK[0]),
            _ => 0,
        };
        if block.lacks.is_some() && is_whole {
            self.lacking.add(session, block.file, block.from..block.from + block.bytes.len() as u64);
        }
        Ok(())
    }
}

impl Lacking {
    fn add(&mut self, session: &Session, file: u16, part: Range<u64>) {
        let before = self.parts.range(..=(file, part.start)).next_back();
        // A part within another would hide what the other has after it.
        if before.is_some_and(|((of, _), end)| *of == file && part.end <= *end) {
            return;
        }
        let within = session.entries.within(file, part.clone());
        self.entries.resize(self.entries.len().max(within.end), false);
        self.entries[within].fill(true);
        self.parts.insert((file, part.start), part.end);
    }

    fn has(&self, ix: Ix) -> bool {
        self.entries.get(ix.index()).is_some_and(|lacks| *lacks)
    }

    /// Returns what to read for a line, and for `size` bytes those after it, or on the way up before it, in a file that ends
    /// at `end`. What is known to lack a word is not read again.
    fn between(&self, span: Span, size: u64, down: bool, end: u64) -> Range<u64> {
        let (after, size) = (span.offset + span.len, size.max(span.len));
        let from = if down { span.offset } else { span.offset.min(after.saturating_sub(size)) };
        let to = if down { after.max(end.min(span.offset + size)) } else { after };
        // Neither of the known parts reaches into the line.
        let known_before = self.parts.range((span.file, 0)..(span.file, span.offset)).next_back();
        let known_after = self.parts.range((span.file, span.offset + 1)..=(span.file, u64::MAX)).next();
        let known_before = known_before.map_or(0, |(_, end)| span.offset.min(*end));
        let known_after = known_after.map_or(u64::MAX, |((_, from), _)| after.max(*from));
        from.max(known_before)..to.min(known_after)
    }
}

impl Block {
    fn has(&self, span: Span) -> bool {
        let end = self.from + self.bytes.len() as u64;
        self.file == span.file && span.offset >= self.from && span.offset + span.len <= end
    }

    /// Returns whether a line is not far after the block, or on the way up before it: twice its length, or what is
    /// read as fast as a line.
    fn is_followed_by(&self, span: Span, down: bool) -> bool {
        let len = self.bytes.len() as u64;
        let (end, after) = (self.from + len, span.offset + span.len);
        let near = (2 * len).max(BLOCK[1] / 4);
        let is_near = match down {
            true => span.offset >= self.from && span.offset <= end + near,
            false => after <= end && after >= self.from.saturating_sub(near),
        };
        self.file == span.file && len > 0 && is_near
    }

    /// Returns a line that the block has.
    fn line(&self, span: Span) -> &[u8] {
        let from = (span.offset - self.from) as usize;
        &self.bytes[from..from + span.len as usize]
    }
}
