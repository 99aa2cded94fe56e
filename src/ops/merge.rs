//! Copies the part of another branch that the path to HEAD lacks, as entries or as one summary.

use super::Snapshot;
use super::cherry_pick::{Picked, Refusal};
use crate::format::tools::tool_ids;
use crate::format::{Format, Ids, New};
use crate::json::{each_member, place_in, string};
use crate::model::{Change, Flags, Ix, Key, Kind, Plan, Target, Time, Tree};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::ops::Range;

/// What there is to copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bring {
    /// These entries, oldest first.
    Entries(Vec<Picked>),
    /// Nothing: everything is on the path to HEAD, or was copied before.
    Nothing,
    /// Nothing: HEAD itself is on the path to the revision.
    Ahead,
}

/// Finds the entries on the path to `tip` that the path to HEAD lacks, except those that an earlier
/// cherry-pick copied.
///
/// Such copies are recognized by the record of their origin, or by being equal in all bytes except
/// those that a copy changes.
pub fn missing(side: Snapshot<'_>, tip: Ix) -> io::Result<Bring> {
    let session = side.session;
    let path = session.whole_path(tip);
    // Copied entries may be after HEAD, from where the agent continues: notes of Claude Code.
    let ours = session.head.leaf.map(|leaf| session.whole_path(leaf)).unwrap_or_default();
    let shared = Tree::shared(&path, &ours);
    let (theirs, ours) = (&path[shared..], &ours[shared..]);
    if theirs.is_empty() {
        return Ok(Bring::Nothing);
    }
    if session.head.entry.is_some_and(|head| path.contains(&head)) {
        return Ok(Bring::Ahead);
    }
    let known = Known::collect(side, ours)?;
    let brought = known.known_entries(side, theirs)?;
    let is_left = |(at, ix): (usize, &Ix)| !brought[at] && !session.entries.flags(*ix).has(Flags::MARKER);
    let left: Vec<Picked> = theirs
        .iter()
        .enumerate()
        .filter(|(at, ix)| is_left((*at, ix)))
        .map(|(_, ix)| Picked { ix: *ix, named: false })
        .collect();
    let talks = left.iter().any(|picked| !session.entries.flags(picked.ix).has(Flags::BOOKKEEPING));
    Ok(if talks { Bring::Entries(left) } else { Bring::Nothing })
}

/// Finds the entries on the path to `tip` in another session that the path to HEAD lacks.
///
/// Entries with the same id, which a fork shares, and those that an earlier cherry-pick copied are
/// left out.
pub fn missing_of(ours: Snapshot<'_>, theirs: Snapshot<'_>, tip: Ix) -> io::Result<Bring> {
    let session = theirs.session;
    let path = session.whole_path(tip);
    let own = ours.session.head.leaf.map(|leaf| ours.session.whole_path(leaf)).unwrap_or_default();
    let shared: HashSet<Key> =
        own.iter().map(|ix| ours.session.entries.key(*ix)).filter(|key| key.is_some()).collect();
    let path: Vec<Ix> = path.into_iter().filter(|ix| !shared.contains(&session.entries.key(*ix))).collect();
    let brought = Known::collect(ours, &own)?.known_entries(theirs, &path)?;
    let is_left = |ix: Ix| !session.entries.flags(ix).has(Flags::MARKER);
    let left: Vec<Picked> = path
        .iter()
        .zip(brought)
        .filter(|(ix, brought)| !brought && is_left(**ix))
        .map(|(ix, _)| Picked { ix: *ix, named: false })
        .collect();
    let talks = left.iter().any(|picked| !session.entries.flags(picked.ix).has(Flags::BOOKKEEPING));
    Ok(if talks { Bring::Entries(left) } else { Bring::Nothing })
}

/// The entries that are already on our side.
struct Known {
    /// Ids of entries whose copies were recorded.
    origins: HashSet<Key>,
    /// Lines by the hash of what a copy keeps of them, with their number.
    lines: HashMap<u64, usize>,
}

impl Known {
    fn collect(side: Snapshot<'_>, ours: &[Ix]) -> io::Result<Known> {
        let mut known = Known { origins: HashSet::new(), lines: HashMap::new() };
        let mut line = Vec::new();
        for ix in ours {
            side.read(*ix, &mut line)?;
            *known.lines.entry(kept_of(side.session.format, &line)).or_default() += 1;
            let origins = match crate::json::member_at(&line, &["forkedFrom", "messageUuid"]) {
                Some(uuid) => vec![string(uuid)],
                None => match crate::json::member_at(&line, &["data", "map"]) {
                    Some(map) if side.session.entries.ty(*ix) == "custom" => {
                        each_member(map).map(|(old, _)| Some(old)).collect()
                    }
                    _ => continue,
                },
            };
            known.origins.extend(origins.into_iter().flatten().map(|id| Key::hash(id.as_bytes())));
        }
        Ok(known)
    }

    /// Returns which entries of the other side are already on ours.
    fn known_entries(mut self, side: Snapshot<'_>, theirs: &[Ix]) -> io::Result<Vec<bool>> {
        let entries = &side.session.entries;
        let mut line = Vec::new();
        let mut out = Vec::with_capacity(theirs.len());
        let mut unsure = Vec::new();
        for ix in theirs {
            side.read(*ix, &mut line)?;
            let equal = self.lines.get_mut(&kept_of(side.session.format, &line)).filter(|count| **count > 0);
            let is_equal = equal.is_some();
            if let Some(count) = equal {
                *count -= 1;
            }
            let is_recorded = self.origins.contains(&entries.key(*ix));
            out.push(is_recorded || is_equal);
            // Chimera's messages have no time of their own: a prompt such as `go on` may be
            // repeated.
            if is_equal
                && !is_recorded
                && side.session.format == Format::Chimera
                && entries.kind(*ix) == Kind::User
            {
                unsure.push(out.len() - 1);
            }
        }
        for at in unsure.into_iter().rev() {
            out[at] = out.get(at + 1).copied().unwrap_or(false);
        }
        Ok(out)
    }
}

/// The fields that name other entries or the session, beside those that each format has for itself.
const LINKS: [&str; 7] = [
    "targetId",
    "fromId",
    "providerReplayThroughEntryId",
    "sessionId",
    "sourceToolAssistantUUID",
    "logicalParentUuid",
    "forkedFrom",
];

/// Returns a hash of all bytes of a line except those that a copy changes.
fn kept_of(format: Format, line: &[u8]) -> u64 {
    let names = format.names();
    let place = |part: &[u8]| place_in(line, part);
    let mut out: Vec<Range<usize>> = tool_ids(format, line).into_iter().map(|id| id.at).collect();
    for (key, value) in each_member(line) {
        if [names.id, names.parent, names.time, names.kept].contains(&&*key) || LINKS.contains(&&*key) {
            out.push(place(value));
        }
        if key == "message" && format == Format::Claude {
            out.extend(each_member(value).filter(|(key, _)| key == "id").map(|(_, id)| place(id)));
        }
    }
    out.sort_by_key(|range| range.start);
    let mut hasher = DefaultHasher::new();
    let mut from = 0;
    for range in out {
        if range.start >= from {
            hasher.write(&line[from..range.start]);
            from = range.end;
        }
    }
    hasher.write(&line[from..]);
    hasher.finish()
}

/// Plans one summary of the branch to `tip` in place of its entries; returns its id.
///
/// Fails if the format has no entry for that.
pub fn squash(
    side: Snapshot<'_>,
    tip: Ix,
    onto: Option<Ix>,
    summary: &str,
    now: Time,
    ids: &mut Ids,
) -> Result<(Plan, String), Refusal> {
    let session = side.session;
    super::appendable(session)?;
    let id = ids.entry(session.format, session.entries.keys());
    let raw = |ix| side.raw_id(ix);
    let parent = onto.map(raw).transpose()?;
    let new = New { id: &id, parent: parent.as_deref(), now };
    let line = session.format.dialect().summary(&new, Some(&raw(tip)?), summary);
    let line = line.ok_or(Refusal::NoSummary { format: session.format })?;
    let mut plan = Plan { verb: "merge".into(), ..Plan::default() };
    plan.changes.push(Change {
        op: "append",
        id: id.clone(),
        bytes: line.len() as i64,
        new: String::from_utf8_lossy(&line).trim_end().to_owned(),
        why: "summarizes the other branch".into(),
        ..Change::default()
    });
    plan.targets.push(Target::Append { file: 0, bytes: line });
    Ok((plan, id))
}
