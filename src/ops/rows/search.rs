//! Searching the tree for what a user typed.

use crate::format::Session;
use crate::model::{Ix, Kind, Source, Span};
use crate::ops::grep::{Options, Pattern};
use std::collections::BTreeMap;
use std::io;

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

/// A search through many entries, of which most follow each other in the file.
///
/// Reads the file in blocks that contain many lines. A block without one of the words is passed
/// over as a whole, except for entries whose label or kind has the word.
pub struct Scan {
    search: Search,
    /// The kinds whose names contain all words.
    kinds: Vec<Kind>,
    /// Whether the name of any kind contains one of the words.
    is_in_kinds: bool,
    block: Block,
    lacking: Lacking,
}

/// Parts of the files that were read and lack one of the words, by file and begin: their ends.
///
/// Rows are not in the order of the file, so a search comes back to the same part of a file for each branch that has
/// entries in it.
#[derive(Default)]
struct Lacking {
    parts: BTreeMap<(u16, u64), u64>,
}

/// Bytes of a file that were read at once.
struct Block {
    file: u16,
    from: u64,
    bytes: Vec<u8>,
    /// Whether it lacks one of the words.
    is_passed: bool,
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
        let block = Block { file: 0, from: 0, bytes: Vec::new(), is_passed: false, used: 0, size: BLOCK[1] };
        Scan { search, kinds, is_in_kinds, block, lacking: Lacking::default() }
    }

    /// Returns whether an entry matches. `down` says whether the entries that are asked for next
    /// are later ones.
    ///
    /// Fails if the line can't be read.
    pub fn finds(&mut self, session: &Session, source: &dyn Source, ix: Ix, down: bool) -> io::Result<bool> {
        if self.search.is_empty() {
            return Ok(false);
        }
        if self.kinds.contains(&session.entries.kind(ix)) {
            return Ok(true);
        }
        let span = session.span(ix);
        let has_name = self.is_in_kinds || session.labels.label(ix).is_some();
        if !self.block.has(span) {
            if !has_name && self.lacking.has(span) {
                return Ok(false);
            }
            self.read(session, source, span, down)?;
        }
        self.block.used += 1;
        if self.block.is_passed && !has_name {
            return Ok(false);
        }
        Ok(self.search.finds(session, ix, self.block.line(span)))
    }

    /// Reads the block that begins, or on the way up ends, with a line.
    fn read(&mut self, session: &Session, source: &dyn Source, span: Span, down: bool) -> io::Result<()> {
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
        let (after, size) = (span.offset + span.len, block.size.max(span.len));
        let from = if down { span.offset } else { span.offset.min(after.saturating_sub(size)) };
        let to = if down { after.max(end.min(span.offset + size)) } else { after };
        // What lacks a word is not read again for the sake of a line before or after it.
        let (known_before, known_after) = self.lacking.around(span);
        let (from, to) = (from.max(known_before), to.min(known_after));
        let wanted = Span { file: span.file, offset: from, len: to - from };
        // A part of a file that is not needed yet may be gone.
        let is_whole = wanted != span && source.read(wanted, &mut block.bytes).is_ok();
        if !is_whole {
            source.read(span, &mut block.bytes)?;
        }
        (block.file, block.used) = (span.file, 0);
        block.from = if is_whole { from } else { span.offset };
        block.is_passed = self.search.patterns.iter().any(|pattern| !may_be_in(pattern, &block.bytes));
        if block.is_passed && is_whole {
            self.lacking.add(block.file, block.from, block.from + block.bytes.len() as u64);
        }
        Ok(())
    }
}

impl Lacking {
    fn add(&mut self, file: u16, from: u64, to: u64) {
        // A part within another would hide what the other has after it.
        if !self.has(Span { file, offset: from, len: to - from }) {
            self.parts.insert((file, from), to);
        }
    }

    /// Returns the end of the part before a line and the begin of the part after it, neither of them within the line.
    fn around(&self, span: Span) -> (u64, u64) {
        let before = self.parts.range((span.file, 0)..(span.file, span.offset)).next_back();
        let after = self.parts.range((span.file, span.offset + 1)..=(span.file, u64::MAX)).next();
        (
            before.map_or(0, |(_, end)| span.offset.min(*end)),
            after.map_or(u64::MAX, |((_, from), _)| (span.offset + span.len).max(*from)),
        )
    }

    /// Returns whether a line is in one of the parts.
    fn has(&self, span: Span) -> bool {
        let before = self.parts.range(..=(span.file, span.offset)).next_back();
        before.is_some_and(|((file, _), end)| *file == span.file && span.offset + span.len <= *end)
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
