//! Plans that repair a session, and the verification that they do.

pub(super) mod draft;
mod other_checks;
mod proof;

pub use proof::Proof;

use super::checks::Lineage;
use super::examine::{Examined, ProvedHead};
use super::finding::{Finding, Findings};
use super::lines::recover::{Aside, Recovery};
use super::rope::{Patched, Text};
use super::scan::scan;
use super::table::{Check, Level, RepairMode, Set};
use super::{Surroundings, checks};
use crate::format::{Format, Ids, Program, Session};
use crate::model::{Change, Ix, Key, Plan, Source, Target, Time};
use draft::Draft;
use std::io;

/// What to repair, and how.
#[derive(Clone, Debug, Default)]
pub struct RepairOptions {
    /// Checks that are repaired on request.
    pub with: Set,
    /// Checks that are not repaired. Lines are recovered nevertheless, because everything else
    /// builds on them.
    pub without: Set,
    /// Strategies other than the default.
    pub strategies: Vec<(Check, String)>,
    /// The time of entries that have to be invented.
    pub now: Option<Time>,
}

impl RepairOptions {
    /// Returns whether to repair a finding.
    pub fn wants(&self, finding: &Finding) -> bool {
        finding.repairable && self.wants_check(finding.check)
    }

    /// Returns the checks that are repaired on request.
    pub fn with_checks(&self) -> impl Iterator<Item = Check> + use<> {
        let with = self.with;
        super::CHECKS.iter().map(|row| row.check).filter(move |check| with.has(*check))
    }

    fn wants_check(&self, check: Check) -> bool {
        match check.repair_mode() {
            RepairMode::No => false,
            RepairMode::ByDefault => !self.without.has(check),
            RepairMode::OnRequest => self.with.has(check),
        }
    }

    pub(super) fn strategy(&self, check: Check) -> Option<&str> {
        self.strategies.iter().rfind(|(of, _)| *of == check).map(|(_, name)| name.as_str())
    }
}

/// A repair that was verified in memory, and has not been carried out yet.
#[derive(Debug)]
pub struct Repair {
    /// What is written; empty if there is nothing to repair.
    pub plan: Plan,
    /// What is removed from the file.
    pub aside: Vec<Aside>,
    /// How many findings are repaired.
    pub repaired: u64,
    /// The findings in the file afterwards.
    pub left: Findings,
    /// The results of the comparison.
    pub proof: Proof,
}

/// Why a repair is not possible.
#[derive(Debug, thiserror::Error)]
pub enum NoRepair {
    /// The result would lose something that it must keep; nothing is changed.
    #[error("the repair could not be verified: {}", failed.join("; "))]
    Unproven {
        /// What would be lost.
        failed: Vec<String>,
        /// What else can be repaired, if that is known.
        way_out: Option<WayOut>,
    },
    /// bough does not write this format.
    #[error("the file has a version that bough can't write")]
    ReadOnly,
    /// bough does not write for this program.
    #[error("nothing is repaired: {}", .0.why_read_only())]
    Foreign(Program),
    /// The file can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl NoRepair {
    /// Returns what the user can do, if anything.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            NoRepair::Unproven { way_out: Some(WayOut::Without(check)), .. } => {
                format!(
                    "nothing was changed; `--skip {}` leaves that check as it is, and repairs the rest",
                    check.id()
                )
            }
            NoRepair::Unproven { way_out: Some(WayOut::With(check)), .. } => {
                let id = check.id();
                format!("nothing was changed; `--with {id}` repairs it, and `--explain {id}` says how")
            }
            NoRepair::Unproven { way_out: None, .. } => {
                "nothing was changed; the entries on those lines prevent the repair".into()
            }
            NoRepair::ReadOnly => "nothing was changed; a newer bough may know the version".into(),
            NoRepair::Foreign(_) | NoRepair::Io(_) => return None,
        })
    }
}

/// How a repair that failed verification succeeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WayOut {
    /// If the findings of a check are left as they are.
    Without(Check),
    /// If the findings of a check are repaired, too, which is done on request only.
    With(Check),
}

/// How many times findings are repaired: repairing one may reveal another.
const ROUNDS: usize = 8;

impl Examined {
    /// Returns whether bough writes the format and version of the file.
    fn is_of_written_format(&self) -> bool {
        self.findings.count(Check::UnsupportedVersion) == 0
            && self.findings.count(Check::EmptyFile) == 0
            && self.format != Format::HarnessV4
    }

    /// Returns how many findings a repair would try to fix, without trying it.
    pub fn repairable(&self, options: &RepairOptions) -> u64 {
        match self.session.program.is_none() && self.is_of_written_format() {
            true => self.findings.list.iter().filter(|finding| options.wants(finding)).count() as u64,
            false => 0,
        }
    }
}

/// One round: the findings in a session, and what it was read from.
pub(super) struct Round<'a> {
    pub(super) session: &'a Session,
    pub(super) source: &'a Patched<'a>,
    pub(super) recovery: &'a Recovery,
    pub(super) around: &'a dyn Surroundings,
    pub(super) lineage: Lineage,
}

impl Round<'_> {
    /// Returns whether `above` is `below` or one of its ancestors.
    pub(super) fn is_above(&self, above: Ix, below: Ix) -> bool {
        self.lineage.is_above(self.session, above, below)
    }
}

/// Makes a plan that repairs the findings, and verifies it: the result is read and checked again.
///
/// `source` returns the bytes that `examined` was made from. The plan is empty if there is nothing
/// to repair.
pub fn repair(
    examined: &Examined,
    source: &dyn Source,
    around: &dyn Surroundings,
    options: &RepairOptions,
    ids: &mut Ids,
) -> Result<Repair, NoRepair> {
    if let Some(program) = examined.session.program {
        return match examined.findings.list.iter().any(|finding| options.wants_check(finding.check)) {
            true => Err(NoRepair::Foreign(program)),
            false => Ok(nothing(examined)),
        };
    }
    if !examined.is_of_written_format() {
        return match examined.findings.list.iter().any(|finding| options.wants(finding)) {
            true => Err(NoRepair::ReadOnly),
            false => Ok(nothing(examined)),
        };
    }
    let all = Repairing { examined, source, around, options };
    let rounds = all.rounds(ids)?;
    if rounds.changes.is_empty() {
        return Ok(nothing(examined));
    }
    let proven = all.prove(&rounds, ids)?;
    let Proven { text, changes, proof, settled } = proven;
    if !proof.failed.is_empty() {
        return Err(NoRepair::Unproven { failed: proof.failed, way_out: None });
    }
    if !settled {
        all.check_again(&text, &proof.findings, ids)?;
    }
    let repaired = |level| examined.findings.of_level(level).saturating_sub(proof.findings.of_level(level));
    Ok(Repair {
        plan: plan(&text, examined, changes),
        aside: rounds.aside,
        repaired: repaired(Level::Error) + repaired(Level::Warning) + repaired(Level::Info),
        left: proof.findings.clone(),
        proof,
    })
}

/// What a repair starts from, and what it may do.
struct Repairing<'a> {
    examined: &'a Examined,
    source: &'a dyn Source,
    around: &'a dyn Surroundings,
    options: &'a RepairOptions,
}

/// What the rounds of a repair came to.
struct Rounds {
    text: Text,
    /// The session in the text; `None` if no round changed anything.
    session: Option<Session>,
    changes: Vec<Change>,
    aside: Vec<Aside>,
    /// The ids of entries that were removed on purpose.
    gone: Vec<Key>,
    /// The ids of entries that were moved to another branch on purpose.
    moved: Vec<Key>,
    /// Whether the last round found nothing to repair.
    settled: bool,
}

/// A result that was compared with the old file.
struct Proven {
    text: Text,
    changes: Vec<Change>,
    proof: Proof,
    settled: bool,
}

impl Repairing<'_> {
    fn patched<'t>(&'t self, text: &'t Text) -> Patched<'t> {
        Patched { text, base: self.source, file: self.examined.file }
    }

    /// Repairs the findings, round by round, until a round finds nothing to repair.
    fn rounds(&self, ids: &mut Ids) -> Result<Rounds, NoRepair> {
        let examined = self.examined;
        let mut findings = examined.findings.clone();
        let mut out = Rounds {
            text: examined.text.clone(),
            session: None,
            changes: examined.recovery.changes.clone(),
            aside: examined.recovery.aside.clone(),
            gone: Vec::new(),
            moved: Vec::new(),
            settled: false,
        };
        for _ in 0..ROUNDS {
            let current = out.session.as_ref().unwrap_or(&examined.session);
            let patched = self.patched(&out.text);
            let mut draft = Draft::new(current, &patched);
            self.round(current, &patched).all(&mut draft, &findings.list, self.options, ids)?;
            out.settled = draft.is_empty();
            if out.settled {
                break;
            }
            let edits = draft.edits()?;
            out.changes.append(&mut draft.changes);
            out.aside.append(&mut draft.aside);
            out.gone.extend(draft.gone.iter().map(|ix| current.entries.key(*ix)));
            out.moved.extend(draft.moved.iter().map(|ix| current.entries.key(*ix)));
            drop(draft);
            let next = out.text.edited(edits);
            let patched = self.patched(&next);
            let read = scan(examined.session.format, &patched)?;
            findings = Findings::default();
            checks::all(&read, &patched, self.around, &examined.recovery.deep, &mut findings)?;
            out.text = next;
            out.session = Some(read);
        }
        Ok(out)
    }

    fn round<'r>(&'r self, session: &'r Session, source: &'r Patched<'r>) -> Round<'r> {
        let (recovery, lineage) = (&self.examined.recovery, Lineage::default());
        Round { session, source, recovery, around: self.around, lineage }
    }

    /// Compares the result with the old file, for each HEAD that may be kept until one is. HEAD is put back if the
    /// repair lost it.
    fn prove(&self, rounds: &Rounds, ids: &mut Ids) -> Result<Proven, NoRepair> {
        let Repairing { examined, source, around, options } = *self;
        let Rounds { session, gone, moved, .. } = rounds;
        let misplaced = Check::MisplacedToolResult;
        let is_changed = |check: Check| rounds.changes.iter().any(|change| change.why == check.id());
        let mut proven = None;
        let former = before_copies(examined, source, options)?;
        // Claude Code may have continued after the copy only because it was the last line; then the
        // entry itself is on another branch.
        let holds = examined.format == Format::Claude
            && former.is_none()
            && is_changed(Check::DuplicateEntry)
            && !options.with.has(Check::StalePointer);
        let why = match (is_changed(misplaced), holds) {
            (true, _) => misplaced,
            (false, true) => Check::DuplicateEntry,
            (false, false) => Check::DuplicateId,
        };
        let mut settled = rounds.settled;
        let aims = examined.heads_to_keep().map(|aim| ProvedHead { exact: holds && !aim.stood, ..aim });
        for aim in former.into_iter().chain(aims) {
            let (mut text, mut changes) = (rounds.text.clone(), rounds.changes.clone());
            let result = proof::Planned { text: &text, changes: &changes, gone, moved };
            let mut proof = proof::prove(examined, source, around, options, &result, aim)?;
            if proof.lost_position() {
                // HEAD goes back to where it was.
                let patched = self.patched(&text);
                let current = session.as_ref().unwrap_or(&examined.session);
                let mut draft = Draft::new(current, &patched);
                other_checks::return_to(&mut draft, examined, aim, ids, options.now, why)?;
                if !draft.is_empty() {
                    let edits = draft.edits()?;
                    changes.append(&mut draft.changes);
                    drop(draft);
                    text = text.edited(edits);
                    settled = false;
                    let result = proof::Planned { text: &text, changes: &changes, gone, moved };
                    proof = proof::prove(examined, source, around, options, &result, aim)?;
                }
            }
            let is_proven = proof.failed.is_empty();
            proven = Some((text, changes, proof));
            if is_proven {
                break;
            }
        }
        let (text, changes, proof) = proven.expect("there is a HEAD to keep");
        Ok(Proven { text, changes, proof, settled })
    }

    /// Refuses a result in which a second repair would change something: the rounds were exhausted, or HEAD was put
    /// back.
    fn check_again(&self, text: &Text, findings: &Findings, ids: &mut Ids) -> Result<(), NoRepair> {
        let patched = self.patched(text);
        let result = scan(self.examined.session.format, &patched)?;
        let mut draft = Draft::new(&result, &patched);
        self.round(&result, &patched).all(&mut draft, &findings.list, self.options, ids)?;
        match draft.changes.first() {
            Some(change) => {
                let failed = vec![format!("a second repair would repair `{}` again", change.why)];
                let way_out = Check::from_id(&change.why).map(WayOut::Without);
                Err(NoRepair::Unproven { failed, way_out })
            }
            None => Ok(()),
        }
    }
}

/// Returns how a repair that failed verification succeeds: without one of the checks to repair, or else with one more.
pub fn way_out(
    examined: &Examined,
    source: &dyn Source,
    around: &dyn Surroundings,
    options: &RepairOptions,
    ids: &mut Ids,
) -> Option<WayOut> {
    let (mut wanted, mut more): (Vec<Check>, Vec<Check>) = (Vec::new(), Vec::new());
    for finding in &examined.findings.list {
        let known = if options.wants(finding) { &mut wanted } else { &mut more };
        if !known.contains(&finding.check) {
            known.push(finding.check);
        }
    }
    // The rarest requested one first: the default repairs are meant to happen.
    wanted.sort_by_key(|check| !options.with.has(*check));
    more.retain(|check| {
        check.repair_mode() == crate::fsck::RepairMode::OnRequest && !options.without.has(*check)
    });
    let without = wanted.into_iter().map(WayOut::Without);
    without.chain(more.into_iter().map(WayOut::With)).find(|way| {
        let mut options = options.clone();
        match way {
            WayOut::Without(check) => {
                options.with.remove(*check);
                options.without.insert(*check);
            }
            WayOut::With(check) => options.with.insert(*check),
        }
        repair(examined, source, around, &options, ids).is_ok()
    })
}

/// Returns HEAD of Claude Code before entries with the ids of others came into the file, if these
/// get ids of their own.
///
/// The last of these entries may be the one that Claude Code continues from, or may hide that it
/// continued after the entry that a pointer names.
fn before_copies(
    examined: &Examined,
    source: &dyn Source,
    options: &RepairOptions,
) -> io::Result<Option<ProvedHead>> {
    let session = &examined.session;
    let findings = examined.findings.list.iter().filter(|finding| finding.check == Check::DuplicateId);
    let copies: Vec<Ix> =
        findings.filter(|finding| options.wants(finding)).filter_map(|finding| finding.entry).collect();
    if examined.format != Format::Claude || copies.is_empty() || options.with.has(Check::StalePointer) {
        return Ok(None);
    }
    let patched = Patched { text: &examined.text, base: source, file: examined.file };
    let mut draft = Draft::new(session, &patched);
    for copy in copies {
        draft.set_aside(copy, Check::DuplicateId)?;
    }
    let text = examined.text.edited(draft.edits()?);
    let without = scan(examined.format, &Patched { text: &text, base: source, file: examined.file })?;
    let head = without.head.exact.map(|head| without.entries.key(head)).filter(|head| head.is_some());
    Ok(head.and_then(|head| session.find(head)).map(|head| {
        let depth = session.tree.ancestors(head).count();
        ProvedHead { head: Some(head), depth, stood: false, exact: true }
    }))
}

fn nothing(examined: &Examined) -> Repair {
    Repair {
        plan: Plan { verb: "fsck --repair".into(), keep_times: true, ..Plan::default() },
        aside: Vec::new(),
        repaired: 0,
        left: examined.findings.clone(),
        proof: Proof::unchanged(examined),
    }
}

fn plan(text: &Text, examined: &Examined, changes: Vec<Change>) -> Plan {
    use crate::model::Piece;
    let pieces = text.pieces(examined.file);
    // A change that only adds to the end is an append.
    let target = match &pieces[..] {
        [Piece::Keep(span), rest @ ..]
            if span.offset == 0
                && span.len == examined.len
                && rest.iter().all(|piece| matches!(piece, Piece::New(_))) =>
        {
            let new = rest.iter().filter_map(|piece| match piece {
                Piece::New(bytes) => Some(&bytes[..]),
                Piece::Keep(_) => None,
            });
            Target::Append { file: examined.file, bytes: new.collect::<Vec<_>>().concat() }
        }
        _ => Target::Rewrite { file: examined.file, pieces },
    };
    Plan { verb: "fsck --repair".into(), targets: vec![target], changes, keep_times: true, ..Plan::default() }
}

#[cfg(test)]
mod tests;
