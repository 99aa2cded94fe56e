//! The compactions of a transcript as they were when they were written, regardless of later lines.

use super::Boundary;
use super::graph::ClaudeGraph;
use crate::format::Session;
use crate::model::{Ix, Key, Kind, Source};
use std::collections::{HashMap, HashSet};
use std::io;

/// Returns the compaction that an entry comes after: the nearest boundary above it, or a boundary
/// that kept a message above it below which the conversation continued after the boundary. If there
/// is a reply below the boundary itself, the conversation continued there, and what is below the
/// message comes from a rewind to it.
pub(crate) fn compaction_above(session: &Session, source: &dyn Source, turn: Ix) -> io::Result<Option<Ix>> {
    let mut keeping: HashMap<Key, Vec<(Ix, Ix)>> = HashMap::new();
    let mut known: Option<HashSet<Key>> = None;
    for boundary in distinct_boundaries(session) {
        let Some(line) = as_it_was(session, source, boundary)? else { continue };
        let first = copies(session, boundary).last().unwrap_or(boundary);
        let lists = Boundary::read(boundary, &line);
        let kept = kept(session, &lists);
        // Lists that name a message missing from the file have no effect.
        let known = known.get_or_insert_with(|| session.entries.keys().iter().copied().collect());
        if kept.iter().all(|key| known.contains(key)) {
            for kept in kept {
                keeping.entry(kept).or_default().push((first, boundary));
            }
        }
    }
    let answered = if keeping.is_empty() { HashSet::new() } else { answered(session) };
    let mut below = turn;
    for ix in session.tree.ancestors(turn) {
        if session.entries.kind(ix) == Kind::Compaction {
            return Ok(Some(ix));
        }
        let by = keeping.get(&session.entries.key(ix)).into_iter().flatten();
        let is_above = |(first, boundary): &&(Ix, Ix)| {
            ix < *first && *first < below && !answered.contains(&session.entries.key(*boundary))
        };
        if let Some((_, boundary)) = by.filter(is_above).max() {
            return Ok(Some(*boundary));
        }
        below = ix;
    }
    Ok(None)
}

/// Returns the compactions below which there is a reply. Costs the number of entries.
fn answered(session: &Session) -> HashSet<Key> {
    let entries = &session.entries;
    let mut seen = vec![false; entries.len()];
    let mut out = HashSet::new();
    for reply in entries.all().filter(|ix| entries.kind(*ix) == Kind::Assistant) {
        for ix in session.tree.ancestors(reply) {
            if std::mem::replace(&mut seen[ix.index()], true) {
                break;
            }
            if entries.kind(ix) == Kind::Compaction {
                out.insert(entries.key(ix));
                break;
            }
        }
    }
    out
}

/// Returns the session as it was for an entry that a later compaction replaced or kept, or `None` if the
/// entry has its old place: it is not gone, or HEAD is on it, or it comes after that compaction.
pub(crate) fn before_it_was_gone(
    session: &Session,
    source: &dyn Source,
    entry: Ix,
) -> io::Result<Option<Session>> {
    let graph = ClaudeGraph::new(session);
    let is_head = [session.head.leaf, session.head.entry].contains(&Some(entry));
    let is_kept = graph.is_kept(entry) && !is_head;
    if !graph.is_gone(entry) && !is_kept {
        return Ok(None);
    }
    let above = compaction_above(session, source, entry)?;
    let active = session.claude.boundary.as_ref().map(|boundary| session.entries.key(boundary.entry));
    if is_kept && above.map(|above| session.entries.key(above)) == active {
        return Ok(None);
    }
    let mut plain = session.clone();
    plain.claude.boundaries.clear();
    // The compaction above the entry, if there is one, is the active one there.
    plain.claude.boundary = match above {
        Some(above) => as_it_was(session, source, above)?.map(|line| Boundary::read(above, &line)),
        None => None,
    };
    Ok(Some(plain))
}

/// Returns the messages that a boundary's lists name, or those between the two ends that they name.
fn kept(session: &Session, boundary: &Boundary) -> Vec<Key> {
    match (&boundary.kept, boundary.ends) {
        (kept, Some((head, tail))) if kept.is_empty() => {
            let Some(tail) = session.find(tail) else { return Vec::new() };
            let above = session.tree.ancestors(tail).map(|ix| session.entries.key(ix));
            let mut between: Vec<Key> = Vec::new();
            for key in above {
                between.push(key);
                if key == head {
                    return between;
                }
            }
            Vec::new()
        }
        (kept, _) => kept.clone(),
    }
}

/// Returns the copies of a boundary, the last one first.
pub(crate) fn copies(session: &Session, boundary: Ix) -> impl Iterator<Item = Ix> + '_ {
    let key = session.entries.key(boundary);
    session.entries.all().rev().filter(move |ix| session.entries.key(*ix) == key)
}

/// Returns the line of a boundary with its lists, if any copy of it has lists.
pub(crate) fn as_it_was(session: &Session, source: &dyn Source, boundary: Ix) -> io::Result<Option<Vec<u8>>> {
    for ix in copies(session, boundary) {
        let line = source.bytes(session.span(ix))?;
        if Boundary::read(ix, &line).keeps() {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Returns the distinct compactions of the file: the last copy of each, in the order in which they
/// first occur.
pub(crate) fn distinct_boundaries(session: &Session) -> Vec<Ix> {
    let mut last: Vec<(Key, Ix)> = Vec::new();
    for ix in session.entries.all() {
        if session.entries.kind(ix) != Kind::Compaction || session.entries.file(ix) != 0 {
            continue;
        }
        let key = session.entries.key(ix);
        match last.iter_mut().find(|(known, _)| *known == key) {
            Some((_, at)) => *at = ix,
            None => last.push((key, ix)),
        }
    }
    last.into_iter().map(|(_, ix)| ix).collect()
}
