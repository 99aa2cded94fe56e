//! Exports a branch: a new session of the same format that is complete by itself.
//!
//! Lines are copied byte for byte, except for the fields that must change: the parent if the entry
//! before was left out, ids if new ones are requested, and references to entries that no longer
//! exist.

pub mod claude;
mod copy;
mod moved_results;

pub use moved_results::MovedResults;
pub(in crate::ops) use moved_results::begins_a_path;

use super::{Error, Snapshot};
use crate::format::{Format, Ids, Session};
use crate::json::Edits;
use crate::model::{Change, Flags, Ix, Kind, Piece, Plan, Span, Target, Time};
use copy::{Copy, steps_to_copied};
use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

/// What to export, and how.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The entry whose path is exported.
    pub entry: Ix,
    /// Export the entry and everything below it, instead of the path to it.
    pub subtree: bool,
    /// New ids for all entries.
    pub new_ids: bool,
    /// The id of the new session.
    pub session: String,
    /// The path of the new file; `None` is standard output.
    pub to: Option<PathBuf>,
    /// The file of the exported session, as the new one names it.
    pub from: Option<PathBuf>,
    /// The stored results that are copied with the new session.
    pub moved: Option<MovedResults>,
    /// The working directory of the new session, if it is another one.
    pub cwd: Option<String>,
    /// No entry at all: the new session begins before the first prompt.
    pub is_empty: bool,
}

/// An export that has not been made yet.
#[derive(Clone, Debug)]
pub struct Export {
    /// What is written.
    pub plan: Plan,
    /// How many entries are copied.
    pub entries: usize,
    /// How many of them were not asked for, and are copied to keep replies and results complete.
    pub beside: usize,
    /// HEAD of the new session.
    pub head: Option<Ix>,
    /// The entries that are copied.
    pub taken: HashSet<Ix>,
}

/// Returns an id for a new session in the agents' style: a UUID, for the pi family one that begins
/// with the time.
pub fn session_id(format: Format, fresh: &mut Ids, now: Time) -> String {
    let random = fresh.uuid();
    if format == Format::Claude {
        return random;
    }
    let bits = u128::from_str_radix(&random.replace('-', ""), 16).unwrap_or_default();
    let mut bytes = [0; 10];
    bytes.copy_from_slice(&bits.to_be_bytes()[6..]);
    let millis = u64::try_from(now.0).unwrap_or_default();
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid().to_string()
}

/// Returns the name that the agent gives to the file of a session.
pub fn file_name(format: Format, session: &str, now: Time) -> String {
    match format {
        Format::Claude | Format::Chimera => format!("{session}.jsonl"),
        _ => format!("{}_{session}.jsonl", now.iso().replace([':', '.'], "-")),
    }
}

/// Plans an export.
pub fn plan(
    whole: Snapshot<'_>,
    options: &ExportOptions,
    fresh: &mut Ids,
    now: Time,
) -> Result<Export, Error> {
    let session = whole.session;
    super::writable(session)?;
    if session.format == Format::Claude {
        return claude::plan(whole, options, fresh, now);
    }
    let (entries, beside) = if options.is_empty { Default::default() } else { chosen(whole, options)? };
    let taken: HashSet<Ix> = entries.iter().copied().collect();
    let mut copy = Copy::new(whole, options, fresh, &entries)?;
    copy.header(now)?;
    // Chimera's header is an entry, and comes before all others.
    let mut in_order: Vec<Ix> = copy.taken.difference(&taken).copied().collect();
    in_order.extend(&entries);
    copy.climb = steps_to_copied(session, &in_order, &copy.taken);
    for ix in &entries {
        copy.entry(*ix)?;
    }
    let head = if options.subtree {
        session.head.exact.filter(|head| taken.contains(head)).or(entries.last().copied())
    } else {
        entries.last().copied()
    };
    copy.ending(head, now)?;
    let count = entries.len();
    let plan = copy.into_plan();
    Ok(Export { plan, entries: count, beside, head, taken })
}

/// Returns the entries to copy, each after its parent, and how many of them were not asked for.
fn chosen(whole: Snapshot<'_>, options: &ExportOptions) -> Result<(Vec<Ix>, usize), Error> {
    let session = whole.session;
    let tree = &session.tree;
    let mut top = options.entry;
    let (mut all, asked) = if options.subtree {
        let asked = tree.subtree(top).len();
        // No model accepts a session with a result but not its call: the call is added.
        while session.entries.flags(top).has(Flags::RESULT)
            && let Some(parent) = tree.parent(top)
        {
            top = parent;
        }
        (tree.subtree(top), asked)
    } else {
        // What the agent notes after HEAD (names, settings) belongs to it.
        top = session.end_at(top);
        let mut path = tree.path(top);
        let asked = path.len();
        path.extend(answers_below(whole, top)?);
        (path, asked)
    };
    if options.subtree {
        all = in_order(session, all);
    }
    let beside = all.len() - asked;
    all.retain(|ix| !is_left_out(session, *ix));
    if all.is_empty() {
        return Err(Error::NoPlace {
            what: format!("there is nothing to export before {}", whole.name(options.entry)?),
            instead: None,
        });
    }
    Ok((all, beside))
}

/// Sorts entries by file order, if each parent then comes before its children; otherwise keeps the
/// given order, in which it does.
fn in_order(session: &Session, all: Vec<Ix>) -> Vec<Ix> {
    let forward = all.iter().any(|ix| session.tree.parent(*ix).is_some_and(|parent| parent > *ix));
    if forward {
        return all;
    }
    let mut sorted = all;
    sorted.sort_unstable();
    sorted
}

/// Returns whether an entry is created anew, or makes no sense in another file: labels, and HEAD
/// markers of the harness.
fn is_left_out(session: &Session, ix: Ix) -> bool {
    session.entries.kind(ix) == Kind::Label
        || session.entries.kind(ix) == Kind::Header
        || session.format == Format::Harness && session.entries.ty(ix) == "leaf"
}

/// Returns the results of the calls in a reply at the end of the path, so that none is left open.
fn answers_below(whole: Snapshot<'_>, end: Ix) -> Result<Vec<Ix>, Error> {
    let session = whole.session;
    let entries = &session.entries;
    let Some(call) = session.tree.ancestors(end).find(|ix| !entries.flags(*ix).has(Flags::RESULT)) else {
        return Ok(Vec::new());
    };
    if !entries.flags(call).has(Flags::CALL) {
        return Ok(Vec::new());
    }
    let content = |ix: Ix| whole.line(ix);
    let line = content(call)?;
    let mut open: HashSet<String> =
        crate::format::Content::read(session.format, &line).calls().map(|(id, ..)| id.to_owned()).collect();
    let close = |ix: Ix, open: &mut HashSet<String>| -> io::Result<bool> {
        let line = content(ix)?;
        let content = crate::format::Content::read(session.format, &line);
        let closes: Vec<&str> = content.answers().collect();
        Ok(closes.into_iter().filter(|id| open.remove(*id)).count() > 0)
    };
    for ix in session.tree.ancestors(end).take_while(|ix| *ix != call) {
        close(ix, &mut open)?;
    }
    let (mut out, mut at) = (Vec::new(), end);
    'down: while !open.is_empty() {
        for child in session.tree.children(at) {
            if entries.flags(child).has(Flags::RESULT) && close(child, &mut open)? {
                out.push(child);
                at = child;
                continue 'down;
            }
        }
        break;
    }
    Ok(out)
}

/// Returns the plan that creates one new file.
fn created(options: &ExportOptions, pieces: Vec<Piece>, changes: Vec<Change>) -> Plan {
    let mut plan = Plan { verb: "export-branch".into(), ..Plan::default() };
    plan.changes.push(Change {
        op: "create",
        path: Some(options.to.clone().unwrap_or_else(|| "-".into())),
        bytes: size_of(&pieces),
        why: format!("session {}", options.session),
        ..Change::default()
    });
    plan.changes.extend(changes);
    plan.targets.push(Target::Create { path: options.to.clone(), pieces });
    plan
}

/// Returns the total size of pieces in bytes.
pub fn size_of(pieces: &[Piece]) -> i64 {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Keep(span) => span.len as i64,
            Piece::New(bytes) => bytes.len() as i64,
        })
        .sum()
}

/// Returns the changes that edits of a line make, as they are shown.
fn changes_of<'e>(
    edits: &'e Edits<'_>,
    file: u16,
    line: u64,
    id: &'e str,
) -> impl Iterator<Item = Change> + 'e {
    edits.changes().into_iter().map(move |change| Change {
        op: "set",
        file,
        line,
        id: id.into(),
        field: change.field,
        old: change.old,
        new: change.new,
        ..Change::default()
    })
}

/// Returns a line with its edits as pieces: unedited parts are copied from the file, however long
/// they are.
pub(super) fn pieces_of(span: Span, edits: &Edits<'_>, into: &mut Vec<Piece>) {
    let mut at = 0;
    for (range, new) in edits.stretches() {
        if range.start > at {
            let (offset, len) = (span.offset + at as u64, (range.start - at) as u64);
            into.push(Piece::Keep(Span { offset, len, ..span }));
        }
        if !new.is_empty() {
            into.push(Piece::New(new));
        }
        at = range.end;
    }
    if (at as u64) < span.len {
        into.push(Piece::Keep(Span { offset: span.offset + at as u64, len: span.len - at as u64, ..span }));
    }
    into.push(Piece::New(b"\n".to_vec()));
}
