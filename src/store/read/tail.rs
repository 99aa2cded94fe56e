//! Reading only as much of the end of a session file as is needed.

use super::whole::{
    ChosenFormat, Opened, Options, detect_format, is_read_once, open, read_at, read_head, read_on,
};
use crate::format::{Builder, Format, Program, Session};
use crate::json::{Field, Line, Reader};
use crate::model::{FaultKind, Key};
use crate::store::Error;
use crate::store::compressed;
use crate::store::files::{Content, Files};
use crate::store::write::Stamp;
use regex::bytes::Regex;
use std::fs::File;
use std::io;
use std::path::Path;

/// What is needed from a session that need not be read as a whole.
#[derive(Clone, Copy)]
pub struct TailRequest<'p> {
    /// Entries that are needed wherever they are, by their whole ids, with the labels about them.
    pub ids: &'p [&'p str],
    /// Strings that should not occur in the session, e.g. the name of a new label: if one does,
    /// everything is read. Escapes in the file are not resolved, so the strings must be such that
    /// no program spells them with escapes.
    pub absent: &'p [&'p str],
    /// Ids for new entries, which no existing entry may have; they depend on the format.
    pub fresh: &'p dyn Fn(Format) -> Vec<String>,
    /// Whether tool calls are collected, too ([`Session::side`]), so that `enough` can use them.
    pub side: bool,
    /// Whether the end of the file, as far as it was read, is enough. [`Session::knows_path`]
    /// answers this for a path.
    pub enough: &'p dyn Fn(&Session) -> bool,
}

impl Default for TailRequest<'_> {
    /// Only HEAD is needed.
    fn default() -> Self {
        TailRequest {
            ids: &[],
            absent: &[],
            fresh: &|_| Vec::new(),
            side: false,
            enough: &|session: &Session| session.head.leaf.is_some(),
        }
    }
}

/// Opens a session like [`open()`], but reads only the part that is needed, if the result can be
/// exact.
///
/// Reads from the end until that is `enough`. `ids` are found by their bytes, so that only the
/// lines that contain them are parsed. The result is a [`Session::partial`] session: it contains
/// the header, HEAD and the path to it as far as that was read (its first entry then has a parent
/// that is [`Parent::Missing`](crate::model::Parent::Missing)), and no counts, such as numbers of
/// lines and of entries. Short ids are unique among the entries that were read.
///
/// Falls back to [`open()`], and then `partial` is false, whenever a part would not do: for small
/// files, standard input and side columns; for formats in which more than the last copy of an id
/// decides (Claude Code, the harness, version 1); if an id is not found by its bytes, or a string
/// that should be absent is; and if the end is damaged in a way that could change HEAD.
///
/// ```no_run
/// use bough::internals::store::{Options, TailRequest, open_part};
/// // What `log -n 20` needs.
/// let enough = |session: &bough::internals::format::Session| session.knows_path(20, |_| true);
/// let part = TailRequest { enough: &enough, ..TailRequest::default() };
/// let opened = open_part("session.jsonl".as_ref(), Options::default(), &part)?;
/// # Ok::<(), bough::internals::store::Error>(())
/// ```
pub fn open_part(path: &Path, options: Options, part: &TailRequest<'_>) -> Result<Opened, Error> {
    match try_part(path, options, part, SIZES)? {
        Some(opened) => Ok(opened),
        None => open(path, options),
    }
}

/// Opens a part of a session as [`open_part`] does, but gives nothing where only the whole would do.
pub fn open_end(path: &Path, options: Options, part: &TailRequest<'_>) -> Result<Option<Opened>, Error> {
    try_part(path, options, part, SIZES)
}

#[derive(Clone, Copy)]
struct Sizes {
    /// How much of the end is read first; then four times as much, and so on.
    tail: u64,
    /// Smaller files are read as a whole.
    file: u64,
}

const SIZES: Sizes = Sizes { tail: 64 << 10, file: 512 << 10 };

/// The maximum number of lines that are read one by one; with more, the whole file is read instead.
const LINES: usize = 4096;

fn try_part(
    path: &Path,
    options: Options,
    part: &TailRequest<'_>,
    sizes: Sizes,
) -> Result<Option<Opened>, Error> {
    if options.side || is_read_once(path) || compressed::is_named(path) {
        return Ok(None);
    }
    // `open` reports files that can't be opened.
    let Ok(file) = File::open(path) else { return Ok(None) };
    let io = |source| Error::Io { path: path.to_owned(), source };
    let facts = file.metadata().map_err(io)?;
    if !facts.is_file() || facts.len() < sizes.file {
        return Ok(None);
    }
    let stamp = Stamp::take(&file).map_err(io)?;
    let head = read_head(&file).map_err(io)?;
    let ChosenFormat { format, program } = detect_format(path, &file, &head, options)?;
    if !matches!(format, Format::PiV2 | Format::Pi | Format::Omp | Format::Prime | Format::Chimera) {
        return Ok(None);
    }
    let source = PartOf { file: &file, format, program, head: &head, len: facts.len() };
    let Some(session) = source.read(part, sizes.tail).map_err(io)? else { return Ok(None) };
    let mut files = Files::new();
    files.add(path.to_owned(), Content::File(file), Some(stamp));
    Ok(Some(Opened { session, files }))
}

/// A file that is read in part.
struct PartOf<'f> {
    file: &'f File,
    format: Format,
    program: Option<Program>,
    head: &'f [u8],
    len: u64,
}

impl PartOf<'_> {
    fn read(&self, part: &TailRequest<'_>, mut tail: u64) -> io::Result<Option<Session>> {
        let (session, from) = loop {
            // Limit the wasted work to a small fraction of reading the whole file.
            if tail > self.len / 8 {
                return Ok(None);
            }
            // Include the byte before, which shows whether a line begins there.
            let (session, from) = self.build(&[], self.len - tail + 1, part)?;
            if is_exact(&session) && (part.enough)(&session) {
                break (session, from);
            }
            tail *= 4;
        };
        let has = |session: &Session, id: &str| session.find(Key::hash(id.as_bytes())).is_some();
        let is_found = |session: &Session| part.ids.iter().all(|id| has(session, id));
        let fresh = (part.fresh)(self.format);
        let is_taken = |session: &Session| fresh.iter().any(|id| has(session, id));
        if is_taken(&session) {
            return Ok(None);
        }
        if part.absent.is_empty() && fresh.is_empty() && is_found(&session) {
            return Ok(Some(session));
        }
        let ids: Vec<&str> = part.ids.iter().copied().chain(fresh.iter().map(String::as_str)).collect();
        let Some(lines) = lines_with(self.file, self.len, &ids, part.absent)? else { return Ok(None) };
        let (session, _) = self.build(&lines, from, &TailRequest { ids: &ids, ..*part })?;
        // An id that is not found may be spelled with escapes; it may be a label, or a prefix.
        Ok(Some(session).filter(|session| is_exact(session) && is_found(session) && !is_taken(session)))
    }

    /// Builds a session from the first lines, from the wanted ones among `lines`, and from all
    /// lines that begin at `from` or later. Also returns the offset of the first of these.
    fn build(&self, lines: &[u64], from: u64, part: &TailRequest<'_>) -> io::Result<(Session, u64)> {
        let mut builder = Builder::new(self.format);
        builder.program(self.program);
        builder.partial();
        if part.side {
            builder.side();
        }
        builder.begin_file();
        let mut reader = self.format.reader();
        let first = self.first_lines(&mut reader, &mut builder);
        for offset in lines.iter().filter(|offset| **offset >= first && **offset < from) {
            self.line(&mut reader, *offset, |line| {
                let id = line.fields.str(Field::Id);
                let is_label = || line.fields.str(Field::Type).is_some_and(|ty| ty.equals("label"));
                if id.is_some_and(|id| part.ids.iter().any(|wanted| id.equals(wanted))) || is_label() {
                    builder.line(line);
                }
            })?;
        }
        let mut begins = None;
        let mut take = |line: &Line<'_>| {
            // The first line was cut.
            if begins.is_none() {
                begins = Some(line.offset + line.len);
            } else {
                builder.line(line);
            }
        };
        let at = from.saturating_sub(1);
        reader.restart(at, 1);
        read_on(self.file, &mut reader, at, &mut take)?;
        Ok((builder.finish(), begins.unwrap_or(self.len)))
    }

    /// Reads the lines at the start that concern the session as a whole; returns their end.
    fn first_lines(&self, reader: &mut Reader, builder: &mut Builder) -> u64 {
        let mut end = None;
        reader.feed(self.head, |line| {
            let ty = line.fields.str(Field::Type);
            let tells =
                ty.is_some_and(|ty| ["session", "title", "header"].iter().any(|word| ty.equals(word)));
            if end.is_none() && tells {
                builder.line(line);
            } else {
                end.get_or_insert(line.offset);
            }
        });
        end.unwrap_or(self.head.len() as u64)
    }

    /// Reads the line that begins at `offset`.
    fn line(&self, reader: &mut Reader, offset: u64, mut each: impl FnMut(&Line<'_>)) -> io::Result<()> {
        let mut at = offset;
        let mut taken = false;
        // Most such lines are labels, which are short.
        let mut most = 2048;
        reader.restart(offset, 1);
        while !taken {
            let space = reader.space();
            let some = space.len().min(most);
            let count = read_at(self.file, &mut space[..some], at)?;
            at += count as u64;
            most = usize::MAX;
            let mut first = |line: &Line<'_>| {
                if !std::mem::replace(&mut taken, true) {
                    each(line);
                }
            };
            if count == 0 {
                reader.finish(&mut first);
                break;
            }
            reader.advance(count, &mut first);
        }
        Ok(())
    }
}

/// Returns whether the rest of the file can't change HEAD, judging by its end.
fn is_exact(session: &Session) -> bool {
    let harmless = |kind| {
        matches!(
            kind,
            FaultKind::Bom | FaultKind::LoneSurrogate | FaultKind::InvalidUtf8 | FaultKind::NoFinalNewline
        )
    };
    session.head.leaf.is_some()
        && session.pointers.is_empty()
        && session.tree.cycle_cuts().len() == 0
        && session.faults.iter().all(|fault| harmless(fault.kind))
}

/// Returns the offsets of the lines before `end` that contain one of `words` followed by a quote.
/// Returns `None` if there are too many, or if a line contains one of `absent`.
fn lines_with(file: &File, end: u64, words: &[&str], absent: &[&str]) -> io::Result<Option<Vec<u64>>> {
    const BLOCK: usize = 256 << 10;
    // Search for all words in one pass. Without their first quote, because a search for many words
    // is driven by their first bytes.
    let words: Vec<String> = absent.iter().chain(words).map(|word| format!("{word}\"")).collect();
    let escaped: Vec<String> = words.iter().map(|word| regex::escape(word)).collect();
    let wanted = Regex::new(&escaped.join("|")).map_err(io::Error::other)?;
    let forbidden = &words[..absent.len()];
    let overlap = words.iter().map(String::len).max().unwrap_or(0);
    let mut buffer = vec![0; BLOCK + overlap];
    let (mut base, mut have) = (0u64, 0usize);
    let mut line = 0;
    let mut lines = Vec::new();
    loop {
        let most = buffer.len().min(have + (end - base - have as u64).min(BLOCK as u64) as usize);
        let count = read_at(file, &mut buffer[have..most], base + have as u64)?;
        if count == 0 {
            lines.sort_unstable();
            lines.dedup();
            return Ok(Some(lines));
        }
        have += count;
        let bytes = &buffer[..have];
        let mut from = 0;
        while let Some(hit) = wanted.find_at(bytes, from) {
            if let Some(newline) = memchr::memrchr(b'\n', &bytes[from..hit.start()]) {
                line = base + (from + newline) as u64 + 1;
            }
            if lines.last() != Some(&line) {
                lines.push(line);
            }
            if lines.len() > LINES || forbidden.iter().any(|word| hit.as_bytes() == word.as_bytes()) {
                return Ok(None);
            }
            let Some(newline) = memchr::memchr(b'\n', &bytes[hit.end()..]) else {
                from = have;
                break;
            };
            from = hit.end() + newline + 1;
            line = base + from as u64;
        }
        if let Some(newline) = memchr::memrchr(b'\n', &bytes[from..]) {
            line = base + (from + newline) as u64 + 1;
        }
        // A word may cross the boundary. Finding it twice, or with the offset of the following
        // line, does no harm: the lines are checked by their fields in the end.
        let keep = overlap.min(have);
        buffer.copy_within(have - keep..have, 0);
        base += (have - keep) as u64;
        have = keep;
    }
}

#[cfg(test)]
mod tests;
