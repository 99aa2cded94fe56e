//! Ids that both copies of a session gave to different entries: the entries of one copy get new ones.

use super::{Hash, Row};
use crate::format::{Format, Ids};
use crate::json::{Edits, member_at, string};
use crate::model::{Key, Span};
use crate::ops::{Error, Snapshot};
use sha2::{Digest, Sha256};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

pub(super) type Side<'a, 'r> = (Snapshot<'a>, &'r mut Vec<Row>);

/// Gives a new id to one of two entries with different content under one id; returns the old and the new ids.
pub(super) fn rename_conflicts(
    one: Side<'_, '_>,
    other: Side<'_, '_>,
) -> Result<Vec<(String, String)>, Error> {
    let mut found = Vec::new();
    let (a, b) = (by_id(one.1), by_id(other.1));
    // By file: the new ids, by the old ones.
    let mut names: [HashMap<Key, String>; 2] = [HashMap::new(), HashMap::new()];
    for id in differing(&one, &other, &a, &b)? {
        let (last, their_last) = (last_of(one.1, &a, id), last_of(other.1, &b, id));
        let now = |side, row: &Row, names| -> Result<Hash, Error> {
            Ok(renamed(side, row, names)?.map_or(row.hash, |line| Sha256::digest(&line).into()))
        };
        if now(one.0, last, &names[0])? == now(other.0, their_last, &names[1])? {
            continue;
        }
        let order = last.time.cmp(&their_last.time).then(last.hash.cmp(&their_last.hash));
        let (file, side, row) =
            if order == Ordering::Greater { (0, one.0, last) } else { (1, other.0, their_last) };
        let ix = row.ix.expect("an entry has an index");
        let old = side.id(ix)?;
        let new = id_of_content(side.session.format, &old, &row.hash);
        names[file].insert(id, new.clone());
        found.push((old, new));
    }
    let hashes = |rows: &[Row]| rows.iter().map(|row| row.hash).collect::<HashSet<Hash>>();
    let (of_one, of_other) = (hashes(one.1), hashes(other.1));
    rename(one.0, one.1, &names[0], &of_other)?;
    rename(other.0, other.1, &names[1], &of_one)?;
    found.sort();
    Ok(found)
}

/// Returns the row that represents an id: the last one that has it.
fn last_of<'r>(rows: &'r [Row], by_id: &HashMap<Key, Vec<usize>>, id: Key) -> &'r Row {
    &rows[*by_id[&id].last().expect("an id has lines")]
}

/// Returns the ids under which both files have different content, each after those that its lines
/// name: what follows from another id of a parent is not a conflict. In a cycle, the order is that of
/// the ids.
fn differing(
    one: &Side<'_, '_>,
    other: &Side<'_, '_>,
    a: &HashMap<Key, Vec<usize>>,
    b: &HashMap<Key, Vec<usize>>,
) -> Result<Vec<Key>, Error> {
    let has = |rows: &[Row], list: &[usize], hash: &Hash| list.iter().any(|at| rows[*at].hash == *hash);
    let differs = |id: Key| {
        let (last, their_last) = (last_of(one.1, a, id), last_of(other.1, b, id));
        // Whoever has the other's, went on from it.
        !(has(other.1, &b[&id], &last.hash) || has(one.1, &a[&id], &their_last.hash) || last.is_head_of_file)
    };
    let mut left: Vec<Key> = a.keys().copied().filter(|id| b.contains_key(id) && differs(*id)).collect();
    left.sort_unstable_by(|one, other| other.cmp(one));
    let differing: HashSet<Key> = left.iter().copied().collect();
    let (mut order, mut begun, mut done) = (Vec::new(), HashSet::new(), HashSet::new());
    // An id stays on the stack until those that its lines name are done.
    while let Some(id) = left.last().copied() {
        if begun.insert(id) {
            let mut named = named_by(one.0, last_of(one.1, a, id))?;
            named.extend(named_by(other.0, last_of(other.1, b, id))?);
            named.retain(|named| differing.contains(named) && !begun.contains(named));
            named.sort_unstable_by(|one, other| other.cmp(one));
            left.extend(named);
        } else {
            left.pop();
            if done.insert(id) {
                order.push(id);
            }
        }
    }
    Ok(order)
}

/// Returns the entries that a line names, besides itself.
fn named_by(side: Snapshot<'_>, row: &Row) -> Result<Vec<Key>, Error> {
    let line = side.source.bytes(Span { file: 0, ..row.span })?;
    let known = side.session.format.names();
    let keys = [&[known.parent, known.kept][..], &REFERENCES].concat();
    let named = keys.into_iter().filter_map(|key| member_at(&line, &[key]).and_then(string));
    Ok(named.map(|id| Key::hash(id.as_bytes())).filter(|id| row.id != Some(*id)).collect())
}

/// The fields of a line that name entries, besides those of [`Format::names`].
const REFERENCES: [&str; 11] = [
    "targetId",
    "target_id",
    "fromId",
    "providerReplayThroughEntryId",
    "logicalParentUuid",
    "sourceToolAssistantUUID",
    "leafUuid",
    "messageId",
    "snapshotMessageId",
    "targetUuid",
    "source_uuid",
];

/// Changes ids in the lines that only this file has. Lines that the other file has as well are about the entry that
/// keeps its id.
fn rename(
    side: Snapshot<'_>,
    rows: &mut [Row],
    names: &HashMap<Key, String>,
    shared: &HashSet<Hash>,
) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    for row in rows.iter_mut().filter(|row| !shared.contains(&row.hash)) {
        let Some(new) = renamed(side, row, names)? else { continue };
        let name = |id: Key| names.get(&id).map_or(id, |new| Key::hash(new.as_bytes()));
        (row.id, row.parent) = (row.id.map(name), row.parent.map(name));
        row.hash = Sha256::digest(&new).into();
        row.new = Some(new);
    }
    Ok(())
}

/// Returns a line with other ids; `None` if it has none of the old ones.
fn renamed(side: Snapshot<'_>, row: &Row, names: &HashMap<Key, String>) -> Result<Option<Vec<u8>>, Error> {
    if names.is_empty() {
        return Ok(None);
    }
    let format = side.session.format;
    let known = format.names();
    let line = side.source.bytes(Span { file: 0, ..row.span })?;
    let Some(mut edits) = Edits::begin(&line) else { return Ok(None) };
    for key in [&[known.id, known.parent, known.kept][..], &REFERENCES].concat() {
        let named = edits.value(key).and_then(string).map(|id| Key::hash(id.as_bytes()));
        if let Some(new) = named.and_then(|named| names.get(&named)) {
            edits.set(key, &format.quoted(new));
        }
    }
    // Claude Code loads all parts of a reply together, wherever they are: this one is another reply now.
    if let Some(new) = row.id.and_then(|id| names.get(&id))
        && let Some(message) = edits.value_range("message")
        && let Some(id) = member_at(&line[message.clone()], &["id"])
        && format == Format::Claude
    {
        let at = message.start + crate::json::place_in(&line[message], id).start;
        edits.replace(at..at + id.len(), &format.quoted(&format!("msg_{}", new.replace('-', ""))));
    }
    Ok((!edits.is_empty()).then(|| edits.apply()))
}

/// Returns the rows of each id, in order.
fn by_id(rows: &[Row]) -> HashMap<Key, Vec<usize>> {
    let mut out: HashMap<Key, Vec<usize>> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        if let Some(id) = row.id {
            out.entry(id).or_default().push(at);
        }
    }
    out
}

/// Derives an id from the content of an entry.
fn id_of_content(format: Format, old: &str, hash: &Hash) -> String {
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let seed = format!("{old} {hex}");
    Ids::seeded(&seed).entry(format, &[])
}
