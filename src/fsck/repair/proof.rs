//! The proof of a repair: the planned result is read again, and compared with what was there.

use super::{NoRepair, Wishes};
use crate::format::Session;
use crate::fsck::Around;
use crate::fsck::checks::{CHECKS, Check, Level};
use crate::fsck::examine::{Aim, Examined, look_through};
use crate::fsck::find::refused_reply;
use crate::fsck::finding::Findings;
use crate::fsck::scan::{each_block, scan_as_agent};
use crate::fsck::text::{Patched, Text};
use crate::model::{Change, Count, Ix, Key, Source};
use std::collections::HashSet;

/// What was compared, and what does not hold.
#[derive(Debug)]
pub struct Proof {
    /// Entries on the path to the position, before and after; the first copy of an id stands for it.
    pub path: (usize, usize),
    /// The same as the agent reads the files.
    pub agents_path: (usize, usize),
    /// Tool calls on the path that have their result there, before and after.
    pub pairs: (usize, usize),
    /// Entries that can be had, before and after.
    pub entries: (usize, usize),
    /// What is found in the result.
    pub findings: Findings,
    /// What does not hold.
    pub failed: Vec<String>,
    lost_position: bool,
}

impl Proof {
    /// The proof that nothing was to be done.
    pub(super) fn unchanged(examined: &Examined) -> Proof {
        let twice = |count| (count, count);
        Proof {
            path: twice(examined.session.depth()),
            agents_path: twice(examined.reachable),
            pairs: twice(pairs_on_path(&examined.session)),
            entries: twice(examined.entries),
            findings: examined.findings.clone(),
            failed: Vec::new(),
            lost_position: false,
        }
    }

    /// Whether the path became shorter, or lost tool pairs.
    pub(super) fn lost_position(&self) -> bool {
        self.lost_position
    }
}

/// A planned result.
pub(super) struct Result<'a> {
    pub text: &'a Text,
    pub changes: &'a [Change],
    /// The ids of entries that were taken out on purpose.
    pub gone: &'a [Key],
    /// The ids of entries that were put on another branch on purpose.
    pub moved: &'a [Key],
}

/// Reads a planned result, and compares.
pub(super) fn prove(
    examined: &Examined,
    source: &dyn Source,
    around: &dyn Around,
    wishes: &Wishes,
    result: &Result<'_>,
    aim: Aim,
) -> std::result::Result<Proof, NoRepair> {
    let patched = Patched { text: result.text, base: source, file: examined.file };
    let (session, findings) = look_through(&patched, examined.session.format, around)?
        .ok_or_else(|| NoRepair::Unproven { failed: vec!["the result is no session".into()] })?;
    let agents = scan_as_agent(session.format, &patched)?;
    let before = &examined.session;
    let mut failed = Vec::new();
    // A request that was refused before may be found only now that the lost link is repaired, or the first copy is gone.
    let text = Patched { text: &examined.text, base: source, file: examined.file };
    let shown = match findings.count(Check::AssistantFirst) > examined.findings.count(Check::AssistantFirst) {
        true => refused_reply(before, &text)?.map(|_| Check::AssistantFirst),
        false => None,
    };
    compare_findings(&examined.findings, &findings, wishes, shown, &mut failed);
    let gone: HashSet<Key> = result.gone.iter().copied().collect();
    // An id that is a number may make room for the one that it took the place of.
    let renamed = examined.findings.list.iter().filter(|finding| finding.check == Check::MissingId);
    let renamed = renamed.filter_map(|finding| Some(before.entries.key(finding.entry?)));
    compare_ids(before, &session, &gone.iter().copied().chain(renamed).collect(), &mut failed);
    compare_lines(examined, source, &patched, result.changes, &mut failed)?;
    let moved: HashSet<Key> = result.moved.iter().copied().collect();
    let off_path = |key: Key| gone.contains(&key) || moved.contains(&key);
    let path = aim.head.into_iter().flat_map(|head| before.tree.ancestors(head));
    let removed = path.filter(|ix| off_path(before.entries.key(*ix))).count();
    let path = (aim.depth, session.depth());
    let pairs = (pairs_on_path(before), pairs_on_path(&session));
    let mut lost_position = false;
    // A pointer to the newest turn that was asked for may lead to a shorter path.
    let led_away = wishes.with.has(Check::StalePointer);
    if path.1 + removed < path.0 && !led_away {
        lost_position = true;
        failed.push(format!(
            "the path to the position would have {}, and has {}",
            Count("entry", "entries", path.1),
            path.0
        ));
    }
    let head = aim.head.filter(|_| aim.exact).map(|head| before.entries.key(head));
    if let Some(head) = head.and_then(|head| session.find(head))
        && !session.head.entry.is_some_and(|now| session.tree.is_ancestor(head, now))
    {
        lost_position = true;
        failed.push("the position would be on another branch".into());
    }
    if pairs.1 + removed < pairs.0 && !led_away {
        lost_position = true;
        failed.push(format!(
            "the path would hold {}, and holds {}",
            Count("tool pair", "tool pairs", pairs.1),
            pairs.0
        ));
    }
    Ok(Proof {
        path,
        agents_path: (examined.reachable, agents.loaded()),
        pairs,
        entries: (examined.entries, session.tree.standing().count()),
        findings,
        failed,
        lost_position,
    })
}

/// Errors that were to go are gone, and none came; `shown` was there before, and was not reported.
fn compare_findings(
    before: &Findings,
    after: &Findings,
    wishes: &Wishes,
    shown: Option<Check>,
    failed: &mut Vec<String>,
) {
    for row in CHECKS {
        let unmendable = |findings: &Findings| {
            findings.list.iter().filter(|finding| finding.check == row.check && !finding.mendable).count()
                as u64
        };
        let (had, has) = (before.count(row.check), after.count(row.check));
        let wanted = wishes.wants_check(row.check);
        if wanted
            && row.level > Level::Info
            && has > unmendable(after)
            && had > 0
            && !on_request_may_stay(row.check)
        {
            failed.push(format!("{} of `{}` would be left", has, row.id));
        } else if row.level == Level::Error
            && has > had
            && row.check != Check::MissingKept
            && shown != Some(row.check)
        {
            // What a boundary keeps and is not there was not there before: no id may be lost.
            failed.push(format!("{} of `{}` would be new", has - had, row.id));
        }
    }
}

/// Repairs on request that have no way in some cases.
fn on_request_may_stay(check: Check) -> bool {
    check.mend() == crate::fsck::Mend::OnRequest
}

/// Every id that was there is there.
fn compare_ids(before: &Session, after: &Session, gone: &HashSet<Key>, failed: &mut Vec<String>) {
    let keys = |session: &Session| -> Vec<Key> {
        let is_id = |key: &Key| key.is_some() && *key != Key::of(b"");
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

/// Every line that no change speaks of is there, byte for byte, in its order.
fn compare_lines(
    examined: &Examined,
    source: &dyn Source,
    result: &Patched<'_>,
    changes: &[Change],
    failed: &mut Vec<String>,
) -> std::io::Result<()> {
    if examined.findings.count(Check::Utf16) > 0 {
        // Each line has other bytes then; ids and findings speak for them.
        return Ok(());
    }
    let touched: HashSet<u64> = changes.iter().map(|change| change.line).collect();
    let whole = Text::whole(examined.len);
    let old = hashes(&Patched { text: &whole, base: source, file: examined.file })?;
    let new = hashes(result)?;
    let mut at = 0;
    for (number, hash) in old.iter().enumerate() {
        let number = number as u64 + 1;
        if touched.contains(&number) || examined.mending.consumed(number) {
            continue;
        }
        match new[at..].iter().position(|other| other == hash) {
            Some(found) => at += found + 1,
            None => {
                failed.push(format!("line {number} would not be there as it is"));
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A hash of each line, without its ending.
fn hashes(source: &Patched<'_>) -> std::io::Result<Vec<u64>> {
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

/// How many tool calls on the path to the position have their result there.
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
