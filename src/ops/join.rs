//! Joins two copies of one session that went on apart.
//!
//! The lines of both are merged by time, each file in its own order: so what was written last comes
//! last, for titles and modes as well as for HEAD. An entry that both have is taken once, where it
//! comes first; a line without an id that both have, where it comes last. If both have different
//! content under one id, both are kept: the one that is smaller by its time and bytes keeps the id,
//! and the other gets a new one, which is derived from its content, so that joining again finds it.
//! The entries that only its file has then follow it. The order of the arguments does not matter,
//! and joining again changes nothing.

mod ids;

use super::{Error, Snapshot, switch};
use crate::format::{Builder, Format, Ids, OtherKind, Session};
use crate::model::{Fault, FaultKind, Ix, Key, Piece, Planned, Source, Span, Target, Time};
use ids::{Side, rename_conflicts};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::io;

/// Which HEAD the result has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heads {
    /// That of the first file.
    First,
    /// That of the second file.
    Second,
    /// That of the file whose last entry is newer.
    Newest,
}

/// How two files are related.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// They have the same lines.
    Equal,
    /// The first has all lines of the second, and more.
    FirstHasAll,
    /// The second has all lines of the first, and more.
    SecondHasAll,
    /// Each has lines that the other does not have.
    Diverged,
}

/// The result of a join.
#[derive(Clone, Debug)]
pub struct Joined {
    /// How the files are related.
    pub relation: Relation,
    /// The content: pieces of file 0 (the first) and file 1 (the second).
    pub pieces: Vec<Piece>,
    /// How many entries came from only one file: the first, the second.
    pub own: (usize, usize),
    /// The ids with different content in both files, with the new id of one of them.
    pub conflicts: Vec<(String, String)>,
    /// Which file HEAD is from.
    pub head: Heads,
    /// The id of HEAD.
    pub head_id: Option<String>,
    /// The lines that were added so that the agent continues there.
    pub added: usize,
    /// Whether only one file has the last compaction with kept messages: Claude Code then loads nothing
    /// before it but what it names, so that it may not load the branch of the other file.
    pub is_one_compacted: bool,
}

/// The bytes of two files, as file 0 and file 1.
pub struct Both<'a>(pub &'a dyn Source, pub &'a dyn Source);

impl Source for Both<'_> {
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        let source = if span.file == 0 { self.0 } else { self.1 };
        source.read(Span { file: 0, ..span }, into)
    }
}

/// A hash of bytes that is the same on all machines.
type Hash = [u8; 32];

/// A line of one of the files.
#[derive(Clone, Debug)]
struct Row {
    /// Its bytes without the ending; of file 0 or 1.
    span: Span,
    /// The new bytes, if an id in it was changed.
    new: Option<Vec<u8>>,
    hash: Hash,
    /// The id of the entry; `None` for other lines.
    id: Option<Key>,
    /// The entry.
    ix: Option<Ix>,
    /// The id of its parent, if it names one.
    parent: Option<Key>,
    /// The time of the line, or that of the last one before it that has a time.
    time: Time,
    is_head_of_file: bool,
}

/// Returns the last compaction of a session of Claude Code, if it lists kept messages.
fn listed_compaction(session: &Session) -> Option<Key> {
    let boundary = session.claude.boundary.as_ref().filter(|boundary| boundary.is_listed())?;
    Some(session.entries.key(boundary.entry))
}

/// Joins two sessions.
pub fn join(one: Snapshot<'_>, other: Snapshot<'_>, heads: Heads) -> Result<Joined, Error> {
    super::writable(one.session)?;
    super::writable(other.session)?;
    are_copies(one, other)?;
    let mut first = rows(one, 0)?;
    let mut second = rows(other, 1)?;
    drop_begun((one, &mut first), (other, &second))?;
    drop_begun((other, &mut second), (one, &first))?;
    let conflicts = rename_conflicts((one, &mut first), (other, &mut second))?;
    let relation = match (has_all(&first, &second), has_all(&second, &first)) {
        (true, true) => Relation::Equal,
        (true, false) => Relation::FirstHasAll,
        (false, true) => Relation::SecondHasAll,
        (false, false) => Relation::Diverged,
    };
    let own = (count_own(&first, &second), count_own(&second, &first));
    let newest = newest(&first, &second);
    let head = if heads == Heads::Newest { newest } else { heads };
    let merged: Vec<&Row> = match relation {
        // Nothing is put in another order for nothing.
        Relation::FirstHasAll | Relation::Equal => first.iter().collect(),
        Relation::SecondHasAll => second.iter().collect(),
        Relation::Diverged => merge(&first, &second),
    };
    let mut pieces = Vec::new();
    for row in &merged {
        pieces.push(match &row.new {
            Some(new) => Piece::New(new.clone()),
            None => Piece::Keep(row.span),
        });
        pieces.push(Piece::New(b"\n".to_vec()));
    }
    let both = Both(one.source, other.source);
    let (from, rows) = match head {
        Heads::Second => (other, &second),
        _ => (one, &first),
    };
    let wanted = from.session.head.exact.and_then(|exact| rows.iter().find(|row| row.ix == Some(exact)));
    let added = match relation {
        // The longer file goes on as it is, unless another HEAD is asked for.
        Relation::Diverged => true,
        _ => heads != Heads::Newest,
    };
    let added = match wanted.filter(|_| added) {
        Some(wanted) => go_to(one.session.format, &both, &mut pieces, wanted, &merged)?,
        None => 0,
    };
    let after = read(one.session.format, &both, &pieces)?;
    let planned = Planned::new(&both, &pieces);
    let head_id = after.head.entry.map(|ix| super::ids::name(&after, &planned, ix)).transpose()?;
    check(&after, one, other, &first, &second)?;
    let is_one_compacted =
        relation == Relation::Diverged && listed_compaction(one.session) != listed_compaction(other.session);
    Ok(Joined { relation, pieces, own, conflicts, head, head_id, added, is_one_compacted })
}

/// Fails if two files are not copies of one session.
fn are_copies(one: Snapshot<'_>, other: Snapshot<'_>) -> Result<(), Error> {
    let (a, b) = (one.session, other.session);
    let refused = |what: String, instead: Option<&str>| {
        Err(Error::NoPlace { what, instead: instead.map(str::to_owned) })
    };
    if a.format != b.format {
        return refused(
            format!("one session has the format {}, the other {}", a.format.name(), b.format.name()),
            None,
        );
    }
    let keys = |session: &Session| -> HashSet<Key> {
        session.entries.keys().iter().copied().filter(|key| key.is_some()).collect()
    };
    let shared = keys(a).intersection(&keys(b)).count();
    if a.id() == b.id() && (shared > 0 || a.entries.is_empty() || b.entries.is_empty()) {
        return Ok(());
    }
    let ids = format!("{} and {}", a.id().unwrap_or_default(), b.id().unwrap_or_default());
    match shared {
        0 if a.id() == b.id() => {
            refused("the files have the same session id, but no entry in common".into(), None)
        }
        0 => refused(format!("these are two sessions, with the ids {ids}, and without a common entry"), None),
        _ => refused(
            format!("one is a fork of the other, not a copy: the session ids are {ids}"),
            Some("`bough cherry-pick --from` copies entries from another session"),
        ),
    }
}

/// Reads the lines of a file.
fn rows(whole: Snapshot<'_>, file: u16) -> Result<Vec<Row>, Error> {
    let Snapshot { session, source } = whole;
    let mut rows: Vec<(Span, Option<Ix>, bool)> = session
        .entries
        .all()
        .filter(|ix| session.entries.file(*ix) == 0)
        .map(|ix| (session.span(ix), Some(ix), session.entries.kind(ix) == crate::model::Kind::Header))
        .collect();
    let others = session.others.iter().filter(|other| other.kind != OtherKind::Blank);
    rows.extend(
        others.map(|other| (other.span, None, matches!(other.kind, OtherKind::Header | OtherKind::Title))),
    );
    rows.sort_by_key(|(span, ..)| span.offset);
    rows.dedup_by_key(|(span, ..)| span.offset);
    let mut out: Vec<Row> = Vec::with_capacity(rows.len());
    let mut time = Time::NONE;
    for (span, ix, is_head_of_file) in rows {
        if let Some(own) = ix.map(|ix| session.entries.time(ix)).filter(|own| own.is_some()) {
            time = time.max(own);
        }
        let id = ix.map(|ix| session.entries.key(ix)).filter(|key| key.is_some());
        let hash = hash_of(source, span)?;
        let parent = ix.and_then(|ix| session.entries.parent_key(ix));
        out.push(Row { span: Span { file, ..span }, new: None, hash, id, ix, parent, time, is_head_of_file });
    }
    Ok(out)
}

/// Removes the last line of a copy that was cut off, if the other copy has the whole line.
fn drop_begun(side: Side<'_, '_>, other: (Snapshot<'_>, &[Row])) -> io::Result<()> {
    let (Snapshot { session, source }, rows) = side;
    let Some(last) = rows.last() else { return Ok(()) };
    let is_broken = |fault: &Fault| {
        matches!(fault.kind, FaultKind::Broken { .. })
            && fault.offset == last.span.offset
            && fault.len == last.span.len
    };
    if last.ix.is_some() || !session.faults.iter().any(is_broken) {
        return Ok(());
    }
    let begun = source.bytes(Span { file: 0, ..last.span })?;
    let (other, others) = other;
    let longer = others.iter().filter(|row| row.span.len > last.span.len);
    for row in longer {
        let start = Span { file: 0, len: last.span.len, ..row.span };
        if other.source.bytes(start)? == begun {
            rows.pop();
            break;
        }
    }
    Ok(())
}

/// Hashes a line, block by block.
fn hash_of(source: &dyn Source, span: Span) -> io::Result<Hash> {
    const BLOCK: u64 = 256 * 1024;
    let (mut hasher, mut block, mut at) = (Sha256::new(), Vec::new(), 0);
    while at < span.len {
        let len = BLOCK.min(span.len - at);
        source.read(Span { offset: span.offset + at, len, ..span }, &mut block)?;
        hasher.update(&block);
        at += len;
    }
    Ok(hasher.finalize().into())
}

/// Counts lines by their hashes, without the head of the file.
fn counts(rows: &[Row]) -> HashMap<Hash, usize> {
    let mut out = HashMap::new();
    for row in rows.iter().filter(|row| !row.is_head_of_file) {
        *out.entry(row.hash).or_default() += 1;
    }
    out
}

/// Returns whether a file has all lines of another.
fn has_all(rows: &[Row], others: &[Row]) -> bool {
    let has = counts(rows);
    counts(others).iter().all(|(hash, count)| has.get(hash).is_some_and(|has| has >= count))
}

/// Returns how many entries a file has that the other has not.
fn count_own(rows: &[Row], others: &[Row]) -> usize {
    let others = counts(others);
    rows.iter()
        .filter(|row| row.id.is_some() && !row.is_head_of_file && !others.contains_key(&row.hash))
        .count()
}

/// Merges the lines of two files.
fn merge<'r>(first: &'r [Row], second: &'r [Row]) -> Vec<&'r Row> {
    let (mut a, mut b) = (first.iter().peekable(), second.iter().peekable());
    let mut all: Vec<&Row> = Vec::with_capacity(first.len() + second.len());
    loop {
        let is_first = match (a.peek(), b.peek()) {
            // Both go past a line that both have: the order of the files must not matter.
            (Some(one), Some(other)) if one.hash == other.hash => {
                all.extend(a.next());
                all.extend(b.next());
                continue;
            }
            (Some(one), Some(other)) => (one.time, one.hash) < (other.time, other.hash),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => break,
        };
        all.extend(if is_first { a.next() } else { b.next() });
    }
    // The head of the file is that of the newer file, as a whole.
    let newest = |rows: &[Row]| rows.iter().map(|row| (row.time, row.hash)).max();
    let heads = if newest(first) >= newest(second) { first } else { second };
    let mut out: Vec<&Row> = heads.iter().filter(|row| row.is_head_of_file).collect();
    let mut is_kept = vec![false; all.len()];
    keep(all.iter().enumerate().filter(|(_, row)| row.id.is_some()), &mut is_kept);
    keep(all.iter().enumerate().rev().filter(|(_, row)| row.id.is_none()), &mut is_kept);
    let rest = all.into_iter().zip(is_kept).filter(|(row, kept)| *kept && !row.is_head_of_file);
    out.extend(parents_first(rest.map(|(row, _)| row).collect()));
    out
}

/// Moves entries that come before their parents to after these. That happens if only one of the files has the
/// content of the parent that keeps its id.
fn parents_first(rows: Vec<&Row>) -> Vec<&Row> {
    let mut to_come: HashMap<Key, usize> = HashMap::new();
    rows.iter().filter_map(|row| row.id).for_each(|id| *to_come.entry(id).or_default() += 1);
    let mut written: HashSet<Key> = HashSet::new();
    let mut waiting: HashMap<Key, Vec<&Row>> = HashMap::new();
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        let mut todo = vec![row];
        while let Some(row) = todo.pop() {
            match row.parent.filter(|parent| !written.contains(parent) && to_come.contains_key(parent)) {
                Some(parent) if row.id != Some(parent) => waiting.entry(parent).or_default().push(row),
                _ => {
                    out.push(row);
                    if let Some(id) = row.id.filter(|id| written.insert(*id)) {
                        todo.extend(waiting.remove(&id).into_iter().flatten().rev());
                    }
                }
            }
        }
    }
    // The links of the rest form cycles.
    let mut rest: Vec<&Row> = waiting.into_values().flatten().collect();
    rest.sort_by_key(|row| (row.time, row.hash));
    out.extend(rest);
    out
}

/// Keeps each line as often as the file has it that has it most often, where it is met first.
fn keep<'r>(rows: impl Iterator<Item = (usize, &'r &'r Row)>, is_kept: &mut [bool]) {
    let mut kept: HashMap<Hash, usize> = HashMap::new();
    let mut seen: HashMap<(u16, Hash), usize> = HashMap::new();
    for (at, row) in rows {
        let seen = seen.entry((row.span.file, row.hash)).or_default();
        *seen += 1;
        let kept = kept.entry(row.hash).or_default();
        if *kept < *seen {
            *kept += 1;
            is_kept[at] = true;
        }
    }
}

/// Returns the file that has the newest entry which the other has not; if neither has any, the newest other line.
fn newest(first: &[Row], second: &[Row]) -> Heads {
    let (a, b) = (counts(first), counts(second));
    let merged = merge(first, second);
    let own = || {
        merged.iter().rev().filter(|row| {
            let others = if row.span.file == 0 { &b } else { &a };
            !row.is_head_of_file && !others.contains_key(&row.hash)
        })
    };
    match own().find(|row| row.id.is_some()).or_else(|| own().next()) {
        Some(row) if row.span.file == 1 => Heads::Second,
        _ => Heads::First,
    }
}

fn read(format: Format, both: &Both<'_>, pieces: &[Piece]) -> io::Result<Session> {
    let planned = Planned::new(both, pieces);
    Builder::new(format).read(&planned, planned.bytes_in_all())
}

/// Adds lines so that the agent continues at an entry, if it does not do so by itself; returns how many.
fn go_to(
    format: Format,
    both: &Both<'_>,
    pieces: &mut Vec<Piece>,
    wanted: &Row,
    merged: &[&Row],
) -> Result<usize, Error> {
    let after = read(format, both, pieces)?;
    let is_wanted = |ix: &Ix| wanted.id.is_some() && Some(after.entries.key(*ix)) == wanted.id;
    if after.head.exact.is_some_and(|exact| is_wanted(&exact)) {
        return Ok(0);
    }
    let Some(target) = after.entries.all().rev().find(is_wanted) else { return Ok(0) };
    // Neither the clock nor chance may decide what is written: joining the other way gives the same file.
    let mut hasher = Sha256::new();
    merged.iter().for_each(|row| hasher.update(row.hash));
    let seed: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let now = merged.iter().map(|row| row.time).max().filter(|time| time.is_some()).unwrap_or(Time(0));
    let planned = Planned::new(both, pieces);
    let whole = Snapshot { session: &after, source: &planned };
    let options = switch::SwitchOptions::default();
    let switch = switch::plan(whole, switch::To::Entry(target), &options, &mut Ids::seeded(&seed), now)?;
    let mut added = 0;
    for target in switch.plan.targets {
        if let Target::Append { bytes, .. } = target {
            added += memchr::memchr_iter(b'\n', &bytes).count();
            pieces.push(Piece::New(bytes));
        }
    }
    Ok(added)
}

/// Fails if an entry of one of the files is not in the result, or can't be reached.
fn check(
    after: &Session,
    one: Snapshot<'_>,
    other: Snapshot<'_>,
    first: &[Row],
    second: &[Row],
) -> Result<(), Error> {
    let known: HashSet<Key> = after.entries.keys().iter().copied().collect();
    let lost = first.iter().chain(second).filter_map(|row| row.id).filter(|id| !known.contains(id)).count();
    if lost > 0 {
        return Err(not_proven("an entry would be lost"));
    }
    for (side, rows) in [(one, first), (other, second)] {
        let Some(head) = side.session.head.exact else { continue };
        let Some(row) = rows.iter().find(|row| row.ix == Some(head)) else { continue };
        let Some(image) = row.id.and_then(|id| after.find(id)) else { continue };
        if after.tree.ancestors(image).count() < side.session.tree.ancestors(head).count() {
            return Err(not_proven("the path to a HEAD would be shorter"));
        }
    }
    Ok(())
}

fn not_proven(what: &str) -> Error {
    Error::NoPlace { what: format!("the files were not joined: {what}"), instead: None }
}
