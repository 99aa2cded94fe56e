//! The verification of a repair: the planned result is read again, and compared with the old file.

use super::{NoRepair, RepairOptions};
use crate::format::Session;
use crate::fsck::Surroundings;
use crate::fsck::checks::refused_reply;
use crate::fsck::checks::sent::compare;
use crate::fsck::checks::sent::compare::{Meant, Reading};
use crate::fsck::examine::{Examined, ProvedHead, look_through};
use crate::fsck::finding::Findings;
use crate::fsck::rope::{Patched, Text};
use crate::fsck::scan::{each_block, scan_as_agent};
use crate::fsck::table::{CHECKS, Check, Level, Row};
use crate::model::{Change, Count, Ix, Key, Source};
use std::collections::HashSet;
use std::io;

/// What was compared, and what failed.
#[derive(Debug)]
pub struct Proof {
    /// The number of entries on the path to HEAD, before and after; the first copy of an id
    /// represents it.
    pub path: (usize, usize),
    /// The same numbers as the agent reads the files.
    pub agents_path: (usize, usize),
    /// The number of tool calls on the path that have their result there, before and after.
    pub pairs: (usize, usize),
    /// The number of readable entries, before and after.
    pub entries: (usize, usize),
    /// The findings in the result.
    pub findings: Findings,
    /// What failed.
    pub failed: Vec<String>,
    /// The line of the entry that HEAD moves to, if it leaves its branch.
    pub head_moves_to: Option<u64>,
    lost_position: bool,
    /// At how many places messages were compared one by one, because the links were not enough.
    pub compared: usize,
    /// The result, as a hash of its lines and their number.
    lines: (u64, usize),
}

impl Proof {
    /// Returns the verification that nothing had to be done.
    pub(super) fn unchanged(examined: &Examined) -> Proof {
        let twice = |count| (count, count);
        Proof {
            path: twice(examined.session.depth()),
            agents_path: twice(examined.reachable),
            pairs: twice(pairs_on_path(&examined.session)),
            entries: twice(examined.entries),
            findings: examined.findings.clone(),
            failed: Vec::new(),
            head_moves_to: None,
            lost_position: false,
            compared: 0,
            lines: (0, 0),
        }
    }

    /// Returns whether a file that was written is the result that was verified: the same lines,
    /// entries, path and findings. Otherwise returns what differs.
    pub fn holds_for(&self, written: &Examined, source: &dyn Source) -> io::Result<Result<(), String>> {
        let text = Text::whole(written.len);
        let lines = hash_of(&hashes(&Patched { text: &text, base: source, file: written.file })?);
        let differs = |what: &str, found: usize, planned: usize| {
            (found != planned).then(|| format!("{found} {what}, but the plan has {planned}"))
        };
        let found = |row: &Row| written.findings.count(row.check) as usize;
        let planned = |row: &Row| self.findings.count(row.check) as usize;
        let wrong = differs("lines", lines.1, self.lines.1)
            .or_else(|| differs("entries", written.entries, self.entries.1))
            .or_else(|| differs("entries on the path", written.reachable, self.agents_path.1))
            .or_else(|| CHECKS.iter().find_map(|row| differs(row.id, found(row), planned(row))))
            .or_else(|| (lines.0 != self.lines.0).then(|| "the bytes differ from the plan".to_owned()));
        Ok(wrong.map_or(Ok(()), Err))
    }

    /// Returns whether the path became shorter, or lost tool pairs.
    pub(super) fn lost_position(&self) -> bool {
        self.lost_position
    }
}

/// A planned result.
pub(super) struct Planned<'a> {
    pub text: &'a Text,
    pub changes: &'a [Change],
    /// The ids of entries that were removed on purpose.
    pub gone: &'a [Key],
    /// The ids of entries that were moved to another branch on purpose.
    pub moved: &'a [Key],
}

/// Reads a planned result, and compares it.
pub(super) fn prove(
    examined: &Examined,
    source: &dyn Source,
    around: &dyn Surroundings,
    options: &RepairOptions,
    result: &Planned<'_>,
    aim: ProvedHead,
) -> Result<Proof, NoRepair> {
    let patched = Patched { text: result.text, base: source, file: examined.file };
    let (session, findings) = look_through(&patched, examined.session.format, around)?.ok_or_else(|| {
        NoRepair::Unproven { failed: vec!["the result is not a session".into()], way_out: None }
    })?;
    let agents = as_agent(&session, &patched)?;
    let before = &examined.session;
    let mut failed = Vec::new();
    let (mut lost_position, mut head_moves_to, mut compared) = (false, None, 0);
    // Agents do not read UTF-16.
    if examined.findings.count(Check::Utf16) == 0 {
        let whole = Text::whole(examined.len);
        let was = Patched { text: &whole, base: source, file: examined.file };
        let read = before_repair(examined, &was)?;
        let meant = Meant {
            changes: &result.changes[examined.recovery.changes.len()..],
            moved: &result.moved.iter().copied().collect(),
        };
        let one = Reading { session: read.as_ref().unwrap_or(&examined.session), source: &was };
        let other = Reading { session: agents.as_ref().unwrap_or(&session), source: &patched };
        let loss = compare::compare(examined, &one, &other, result.text, &meant)?;
        (lost_position, head_moves_to, compared) = (loss.position, loss.head_moves_to, loss.compared);
        failed.extend(loss.failed);
    }
    // A request that was already rejected before may be detected only now that the lost link is
    // repaired, or the first copy is gone.
    let text = Patched { text: &examined.text, base: source, file: examined.file };
    let shown = match findings.count(Check::AssistantFirst) > examined.findings.count(Check::AssistantFirst) {
        true => refused_reply(before, &text)?.map(|_| Check::AssistantFirst),
        false => None,
    };
    compare_findings(&examined.findings, &findings, options, shown, &mut failed);
    let gone: HashSet<Key> = result.gone.iter().copied().collect();
    // An id that is a number may give way to the one that it replaced.
    let renamed = examined.findings.list.iter().filter(|finding| finding.check == Check::MissingId);
    let renamed = renamed.filter_map(|finding| Some(before.entries.key(finding.entry?)));
    compare_ids(before, &session, &gone.iter().copied().chain(renamed).collect(), &mut failed);
    let new = hashes(&patched)?;
    compare_lines(examined, source, &new, result.changes, &mut failed)?;
    let moved: HashSet<Key> = result.moved.iter().copied().collect();
    let off_path = |key: Key| gone.contains(&key) || moved.contains(&key);
    let removed = aim.head.into_iter().flat_map(|head| before.tree.ancestors(head));
    let removed = removed.filter(|ix| off_path(before.entries.key(*ix))).count();
    let path = (aim.depth, session.depth());
    let pairs = (pairs_on_path(before), pairs_on_path(&session));
    // A requested pointer to the newest turn may lead to a shorter path.
    let led_away = options.with.has(Check::StalePointer);
    let shorter = (path.1 + removed < path.0 && !led_away).then_some(path);
    let fewer_pairs = (pairs.1 + removed < pairs.0 && !led_away).then_some(pairs);
    let head = aim.head.filter(|_| aim.exact).map(|head| before.entries.key(head));
    let count = failed.len();
    compare_paths(&session, head, shorter, fewer_pairs, &mut failed);
    lost_position |= failed.len() > count;
    Ok(Proof {
        path,
        agents_path: (examined.reachable, agents.as_ref().unwrap_or(&session).loaded()),
        pairs,
        entries: (examined.entries, session.tree.entries_in_tree().count()),
        findings,
        failed,
        head_moves_to,
        lost_position,
        compared,
        lines: hash_of(&new),
    })
}

/// Notes what the path to HEAD lost: the entry `head` that it has to pass, entries or tool pairs. Those are the numbers before and
/// after, if there are fewer.
fn compare_paths(
    session: &Session,
    head: Option<Key>,
    shorter: Option<(usize, usize)>,
    fewer_pairs: Option<(usize, usize)>,
    failed: &mut Vec<String>,
) {
    if let Some((was, is)) = shorter {
        let is = Count("entry", "entries", is);
        failed.push(format!("the path to HEAD would have {is}, but has {was} now"));
    }
    if let Some(head) = head.and_then(|head| session.find(head))
        && !session.head.exact.is_some_and(|now| session.tree.is_ancestor(head, now))
    {
        failed.push("HEAD would be on another branch".into());
    }
    if let Some((was, is)) = fewer_pairs {
        let is = Count("tool pair", "tool pairs", is);
        failed.push(format!("the path would contain {is}, but contains {was} now"));
    }
}

/// Returns the session as the agent reads it, if that differs from the one in which the first copy
/// of an id represents it.
fn as_agent(session: &Session, source: &Patched<'_>) -> io::Result<Option<Session>> {
    match session.tree.shadowed().len() {
        0 => Ok(None),
        _ => scan_as_agent(session.format, source).map(Some),
    }
}

/// Returns the file as the agent reads it before the repair, if that differs from the one in which
/// its lines are recovered.
fn before_repair(examined: &Examined, source: &Patched<'_>) -> io::Result<Option<Session>> {
    if examined.recovery.changes.is_empty() {
        return as_agent(&examined.session, source);
    }
    scan_as_agent(examined.session.format, source).map(Some)
}

/// Checks that the errors to be repaired are gone, and that there are no new ones; `shown` existed
/// before, and was not reported.
fn compare_findings(
    before: &Findings,
    after: &Findings,
    options: &RepairOptions,
    shown: Option<Check>,
    failed: &mut Vec<String>,
) {
    for row in CHECKS {
        let unrepairable = |findings: &Findings| {
            findings.list.iter().filter(|finding| finding.check == row.check && !finding.repairable).count()
                as u64
        };
        let (had, has) = (before.count(row.check), after.count(row.check));
        let wanted = options.wants_check(row.check);
        if wanted
            && row.level > Level::Info
            && has > unrepairable(after)
            && had > 0
            && !on_request_may_stay(row.check)
        {
            failed.push(format!("{} of `{}` would remain", has, row.id));
        } else if row.level == Level::Error
            && has > had
            && row.check != Check::MissingKept
            && shown != Some(row.check)
        {
            // If an entry that a boundary keeps does not exist now, it did not exist before: no id
            // may be lost.
            failed.push(format!("{} of `{}` would be new", has - had, row.id));
        }
    }
}

/// Returns whether a check has a repair on request that is impossible in some cases.
fn on_request_may_stay(check: Check) -> bool {
    check.repair_mode() == crate::fsck::RepairMode::OnRequest
}

/// Checks that every old id still exists.
fn compare_ids(before: &Session, after: &Session, gone: &HashSet<Key>, failed: &mut Vec<String>) {
    let keys = |session: &Session| -> Vec<Key> {
        let is_id = |key: &Key| key.is_some() && *key != Key::hash(b"");
        let mut keys: Vec<Key> = session.entries.keys().iter().copied().filter(is_id).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    let after = keys(after);
    let lost = keys(before)
        .into_iter()
        .filter(|key| after.binary_search(key).is_err() && !gone.contains(key))
        .count();
    if lost > 0 {
        failed.push(format!("{} would be lost", Count("id", "ids", lost)));
    }
}

/// Checks that every line that no change mentions still exists, byte for byte, in the same order.
fn compare_lines(
    examined: &Examined,
    source: &dyn Source,
    new: &[u64],
    changes: &[Change],
    failed: &mut Vec<String>,
) -> io::Result<()> {
    if examined.findings.count(Check::Utf16) > 0 {
        // All lines have other bytes then; ids and findings are compared instead.
        return Ok(());
    }
    let touched: HashSet<u64> = changes.iter().map(|change| change.line).collect();
    let whole = Text::whole(examined.len);
    let old = hashes(&Patched { text: &whole, base: source, file: examined.file })?;
    let mut at = 0;
    for (number, hash) in old.iter().enumerate() {
        let number = number as u64 + 1;
        if touched.contains(&number) || examined.recovery.consumed(number) {
            continue;
        }
        match new[at..].iter().position(|other| other == hash) {
            Some(found) => at += found + 1,
            None => {
                failed.push(format!("line {number} would be changed or lost"));
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Returns one hash of those of all lines, and their number.
fn hash_of(lines: &[u64]) -> (u64, usize) {
    use std::hash::{BuildHasher, RandomState};
    (SEED.get_or_init(RandomState::new).hash_one(lines), lines.len())
}

/// Returns a hash of each line, without its ending.
fn hashes(source: &Patched<'_>) -> io::Result<Vec<u64>> {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let state = SEED.get_or_init(RandomState::new);
    let mut out = Vec::new();
    let mut hasher = state.build_hasher();
    let mut open = false;
    let mut returned = false;
    each_block(source, |block| {
        for piece in block.split_inclusive(|byte| *byte == b'\n') {
            let ended = piece.last() == Some(&b'\n');
            let mut line = if ended { &piece[..piece.len() - 1] } else { piece };
            if line.is_empty() && !ended {
                continue;
            }
            // A carriage return at the end of a block may be a part of the ending.
            if std::mem::take(&mut returned) && !line.is_empty() {
                hasher.write(b"\r");
            }
            if let Some(rest) = line.strip_suffix(b"\r") {
                line = rest;
                returned = !ended;
            }
            hasher.write(line);
            open = true;
            if ended {
                returned = false;
                out.push(std::mem::replace(&mut hasher, state.build_hasher()).finish());
                open = false;
            }
        }
    })?;
    if open {
        out.push(hasher.finish());
    }
    Ok(out)
}

static SEED: std::sync::OnceLock<std::hash::RandomState> = std::sync::OnceLock::new();

/// Returns how many tool calls on the path to HEAD have their result there.
fn pairs_on_path(session: &Session) -> usize {
    let Some(side) = &session.side else { return 0 };
    if side.tools.is_empty() {
        return 0;
    }
    let on_path: HashSet<Ix> = session.path().into_iter().collect();
    let of = |result| {
        let tools = side.tools.iter().filter(move |tool| tool.result == result);
        tools.filter(|tool| on_path.contains(&tool.entry)).map(|tool| tool.id).collect::<HashSet<Key>>()
    };
    of(false).intersection(&of(true)).count()
}

#[cfg(test)]
mod tests;
