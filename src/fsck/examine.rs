//! Examining a session file: lines first, then the checks.

use super::finding::{Finding, Findings};
use super::lines::classify::Probe;
use super::lines::recover::{Recovery, pass};
use super::rope::{Patched, Text};
use super::scan::{detect_format, from_utf16, scan, scan_as_agent};
use super::table::{Check, Set};
use super::{Surroundings, checks};
use crate::format::{Detected, Format, Program, Session};
use crate::model::{Copies, Fault, FaultKind, Ix, Key, Source};
use std::io;

/// The result of examining a session file.
pub struct Examined {
    /// The format.
    pub format: Format,
    /// The findings.
    pub findings: Findings,
    /// How many entries exist, including those on damaged lines; copies of one id count once.
    pub entries: usize,
    /// How many of them are on the path to HEAD, as the agent reads the file now.
    pub reachable: usize,
    /// The file number in the source.
    pub(super) file: u16,
    /// The size in bytes.
    pub(super) len: u64,
    /// HEAD before any line was recovered.
    pub(super) before: Position,
    /// The session as far as it can be read: with lines recovered, and with the first copy of an id
    /// representing it.
    pub(super) session: Session,
    pub(super) text: Text,
    pub(super) recovery: Recovery,
}

impl Examined {
    /// Returns the id of the session in its header, or `None` if there is no header.
    pub fn header_id(&self) -> Option<String> {
        self.session.header.as_ref()?.id.clone()
    }
}

/// HEAD of an agent that uses the first copy of an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Position {
    pub head: Option<Key>,
    /// The number of entries on its path.
    pub depth: usize,
}

/// A HEAD that a repair aims to keep.
#[derive(Clone, Copy)]
pub(super) struct ProvedHead {
    pub head: Option<Ix>,
    /// The number of entries on its path.
    pub depth: usize,
    /// Whether HEAD of the agent was there before any line was recovered.
    pub stood: bool,
    /// Whether the entry itself has to be on the path, and not just as many entries.
    pub exact: bool,
}

impl Position {
    fn read(session: &Session) -> Position {
        Position { head: session.head.exact.map(|head| session.entries.key(head)), depth: session.depth() }
    }
}

/// A file that is not a session.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Its format is unknown.
    #[error("not a session of a known format")]
    Unknown,
    /// It belongs to a program whose format bough does not support.
    #[error("not a session of a known format")]
    Foreign(Program),
    /// It can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How many times the lines of a text are recovered: damage may hide other damage.
const PASSES: usize = 8;

/// Examines a session file.
///
/// `session` is what `store` read, with its side columns, or `None` if it found no
/// session; `source` contains the `len` bytes of the file as file 0. `format` is the format that
/// the user chose, if any.
pub fn examine(
    session: Option<Session>,
    source: &dyn Source,
    len: u64,
    format: Option<Format>,
    around: &dyn Surroundings,
) -> Result<Examined, Unreadable> {
    let mut text = Text::whole(len);
    let mut recovery = Recovery::default();
    if session.is_none()
        && let Some(recoded) = from_utf16(&Patched { text: &text, base: source, file: 0 })?
    {
        recovery.findings.push(Finding::of_file(Check::Utf16, "the file is UTF-16, but agents read UTF-8"));
        recovery.recoded(len, recoded.len());
        text = recoded;
    }
    let may_be_blank = session.as_ref().is_none_or(|session| session.entries.is_empty());
    if may_be_blank && is_blank(&Patched { text: &text, base: source, file: 0 })? {
        return Ok(empty(len, text, recovery));
    }
    let patched = Patched { text: &text, base: source, file: 0 };
    let (reachable, read_entries) = as_agent(session.as_ref(), &patched, recovery.findings.is_empty())?;
    let program = match &session {
        Some(session) => session.program,
        None => match detect_format(&patched)? {
            Detected::Foreign(program) => Some(program),
            _ => None,
        },
    };
    let told_format = match (format, &session) {
        (Some(format), _) => format,
        (None, Some(session)) => session.format,
        (None, None) => match detect_format(&patched)? {
            Detected::Format(format) => format,
            Detected::Foreign(program) => return Err(Unreadable::Foreign(program)),
            // If all lines are damaged, the format is detected after they were recovered.
            _ => Format::Claude,
        },
    };
    let untold = format.is_none() && session.is_none();
    let session = match session.filter(|session| session.side.is_some() && session.format == told_format) {
        Some(session) => session,
        None => scan(told_format, &patched)?,
    };
    let mut lines = Lines { session, text, format: told_format, untold, before: None };
    lines.recover(source, &mut recovery)?;
    let Lines { mut session, text, format: told_format, before, .. } = lines;
    let patched = Patched { text: &text, base: source, file: 0 };
    if untold && !matches!(detect_format(&patched)?, Detected::Format(_)) {
        return Err(Unreadable::Unknown);
    }
    if !first_counts(&session) {
        session = scan(told_format, &patched)?;
    }
    session.program = session.program.or(program);
    let mut findings = Findings::default();
    recovery.findings.iter().cloned().for_each(|finding| findings.push(finding));
    checks::all(&session, &patched, around, &recovery.deep, &mut findings)?;
    findings.sort();
    if session.program.is_some() {
        findings.list.iter_mut().for_each(|finding| finding.repairable = false);
    }
    // An object without an id and a type, or a misplaced title, is an entry until its line is
    // recovered.
    let entries = session.tree.entries_in_tree().count().max(read_entries);
    let reachable = reachable.min(entries);
    // Read as another format, the lines had other links.
    let before = before.filter(|(format, _)| *format == session.format).map(|(_, position)| position);
    let before = before.unwrap_or_else(|| Position::read(&session));
    Ok(Examined {
        format: session.format,
        findings,
        entries,
        reachable,
        file: 0,
        len,
        before,
        session,
        text,
        recovery,
    })
}

/// Returns how many entries the agent loads at HEAD, and how many it reads. `is_utf8` is false for a text that it does not
/// read at all.
fn as_agent(
    session: Option<&Session>,
    text: &Patched<'_>,
    is_utf8: bool,
) -> Result<(usize, usize), Unreadable> {
    let read = |session: &Session| (session.loaded(), session.tree.entries_in_tree().count());
    if let Some(session) = session {
        return Ok(read(session));
    }
    match detect_format(text)? {
        // A file from a pipe is read here for the first time; agents do not read UTF-16.
        Detected::Format(format) if is_utf8 => Ok(read(&scan_as_agent(format, text)?)),
        _ => Ok((0, 0)),
    }
}

/// Returns whether the first copy of an id counts, or no id repeats, so that the rule makes no difference.
fn first_counts(session: &Session) -> bool {
    session.tree.copies() == Copies::First || session.tree.shadowed().len() == 0
}

/// A session whose lines are recovered, pass by pass.
struct Lines {
    session: Session,
    text: Text,
    format: Format,
    /// Whether neither the user nor the reader told the format.
    untold: bool,
    /// HEAD before the first line was recovered, and the format that it was read as.
    before: Option<(Format, Position)>,
}

impl Lines {
    /// Recovers lines until a pass finds none that are damaged. A document has no lines, and a harness of version 4 is read
    /// as it is.
    fn recover(&mut self, source: &dyn Source, recovery: &mut Recovery) -> Result<(), Unreadable> {
        if self.session.format.is_document() {
            recovery.findings.extend(self.session.faults.iter().filter_map(of_document));
            return Ok(());
        }
        if self.session.format == Format::HarnessV4 {
            return Ok(());
        }
        for _ in 0..PASSES {
            let patched = Patched { text: &self.text, base: source, file: 0 };
            let mut probe = Probe::new(self.session.format);
            let Some(better) = pass(&patched, &self.session, &mut probe, recovery)? else { break };
            if self.before.is_none() {
                let position = match first_counts(&self.session) {
                    true => Position::read(&self.session),
                    false => Position::read(&scan(self.session.format, &patched)?),
                };
                self.before = Some((self.session.format, position));
            }
            self.text = better;
            let patched = Patched { text: &self.text, base: source, file: 0 };
            // The reader's result stays: no other format is repaired.
            if self.untold {
                match detect_format(&patched)? {
                    Detected::Format(format) => self.format = format,
                    Detected::Foreign(program) => return Err(Unreadable::Foreign(program)),
                    _ => return Err(Unreadable::Unknown),
                }
            }
            self.session = scan(self.format, &patched)?;
        }
        Ok(())
    }
}

impl Examined {
    /// Returns the program that the session belongs to, if bough never writes for that program.
    pub fn program(&self) -> Option<Program> {
        self.session.program
    }

    /// Returns the HEADs that a repair may aim to keep, the best first: the agent's HEAD, if a
    /// recovered line leads it to a shorter path; and that of the session with its lines recovered,
    /// which is the minimum.
    pub(super) fn heads_to_keep(&self) -> impl Iterator<Item = ProvedHead> {
        let whole = ProvedHead {
            head: self.session.head.exact,
            depth: self.session.depth(),
            stood: false,
            exact: false,
        };
        let stood = self.before.head.filter(|_| self.before.depth > whole.depth);
        let stood = stood.and_then(|head| self.session.find(head));
        let stood = stood.map(|head| ProvedHead {
            head: Some(head),
            depth: self.before.depth,
            stood: true,
            exact: false,
        });
        stood.into_iter().chain([whole])
    }

    /// Returns the ids of all entries, in file order.
    pub fn ids(&self) -> &[Key] {
        self.session.entries.keys()
    }

    /// Returns the findings of some checks.
    pub fn only(&self, wanted: Set) -> Findings {
        self.findings.only(wanted)
    }
}

/// Returns the finding about a fault in a document, which is not read line by line.
fn of_document(fault: &Fault) -> Option<Finding> {
    let (check, message) = match fault.kind {
        FaultKind::Broken { at, why } => {
            (Check::TornLine, format!("{why}, at byte {} of the file", fault.offset + at))
        }
        FaultKind::NoEntry => (Check::GarbageLine, "a value that is not a message".to_owned()),
        _ => return None,
    };
    Some(Finding { line: fault.line, offset: fault.offset, ..Finding::of_file(check, message) })
}

/// Returns whether a text contains only white space, apart from a byte order mark.
fn is_blank(source: &Patched<'_>) -> io::Result<bool> {
    let mut blank = true;
    let mut first = true;
    let mut offset = 0;
    while blank && offset < source.text.len() {
        let len = (source.text.len() - offset).min(64 * 1024);
        let block = source.bytes(crate::model::Span { file: 0, offset, len })?;
        let block_ = match std::mem::take(&mut first) {
            true => block.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&block),
            false => &block,
        };
        blank = block_.trim_ascii().is_empty();
        offset += len;
    }
    Ok(blank)
}

fn empty(len: u64, text: Text, recovery: Recovery) -> Examined {
    let mut findings = Findings::default();
    findings.push(Finding::of_file(Check::EmptyFile, "the file contains only blank lines"));
    let mut builder = crate::format::Builder::new(Format::Pi);
    builder.begin_file();
    let session = builder.finish();
    Examined {
        format: Format::Pi,
        findings,
        entries: 0,
        reachable: 0,
        file: 0,
        len,
        before: Position::default(),
        session,
        text,
        recovery,
    }
}

/// Reads a text as if it were a file, and runs the checks; returns `None` if it is not a session.
pub(super) fn look_through(
    source: &Patched<'_>,
    usual: Format,
    around: &dyn Surroundings,
) -> io::Result<Option<(Session, Findings)>> {
    if source.text.len() == 0 {
        return Ok(None);
    }
    let format = match detect_format(source)? {
        Detected::Format(format) => format,
        // The user may have chosen the format.
        _ => usual,
    };
    let session = scan(format, source)?;
    let mut findings = Findings::default();
    let mut recovery = Recovery::default();
    let mut probe = Probe::new(session.format);
    pass(source, &session, &mut probe, &mut recovery)?;
    recovery.findings.into_iter().for_each(|finding| findings.push(finding));
    checks::all(&session, source, around, &recovery.deep, &mut findings)?;
    findings.sort();
    Ok(Some((session, findings)))
}
