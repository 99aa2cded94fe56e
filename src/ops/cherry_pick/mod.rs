//! Copies entries to another parent: `cherry-pick`, and the entries that `merge` copies.
//!
//! A copy has a new id, is a child of the copy before it, and has the current time; its content
//! stays the same byte for byte. Tool calls travel with their results, and all lines of one reply
//! together ([`units`]). An entry that a copy refers to must be copied, too, or be on the receiving
//! path; otherwise the copy is not made, and the reason is reported. Ids of calls that would occur
//! twice on the path are replaced by new ones; for Claude Code all of them are, because its loader
//! joins everything with the id of one reply anywhere in the file.

mod copy;
mod report;
mod translate;

pub(crate) use translate::base64;
pub mod units;

pub use report::{Note, Refusal, Why};

use super::Snapshot;
use crate::format::tools::{ToolRole, tool_ids};
use crate::format::{Format, Ids, Session, claude};
use crate::model::{Change, Flags, Ix, Key, Kind, Plan, Target, Time};
use copy::Copier;
use std::collections::{HashMap, HashSet};
use units::{Tools, Unit};

/// An entry to copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Picked {
    /// The entry.
    pub ix: Ix,
    /// Whether it was named by itself, not as a part of a range: then it is an error if it can't be
    /// copied.
    pub named: bool,
}

/// Where copies go, and how they are made.
pub struct Options<'o> {
    /// The entry that becomes their parent; `None` starts a new root.
    pub onto: Option<Ix>,
    /// Records in the session where they come from.
    pub origin: bool,
    /// Whether entries that travel together are added; otherwise the operation fails.
    pub pairs: bool,
    /// Leaves out thinking blocks.
    pub strip_thinking: bool,
    /// Sets the tokens and costs of the copies to zero.
    pub zero_usage: bool,
    /// Overrides safety checks.
    pub force: bool,
    /// The current time.
    pub now: Time,
    /// The id of the receiving session, if its lines name it.
    pub session_id: Option<String>,
    /// Returns the bytes of an image that oh-my-pi keeps outside the session, given its hash.
    pub blob: &'o dyn Fn(&str) -> Option<Vec<u8>>,
}

/// Copies that have not been made yet.
#[derive(Clone, Debug, Default)]
pub struct Picks {
    /// The lines to append.
    pub plan: Plan,
    /// The copied entries, in order, with the ids of their copies.
    pub copies: Vec<(Ix, String)>,
    /// Notes for the user.
    pub notes: Vec<Note>,
}

/// Returns the parent of copies that should come after `ix`.
///
/// Claude Code continues after the notes (system lines, attachments) that follow a turn, and after
/// the results of its calls. Copies attached beside these would hide them from the model.
pub fn parent_of_copies(session: &Session, ix: Ix) -> Ix {
    if session.format != Format::Claude {
        return ix;
    }
    let mut graph = claude::graph::ClaudeGraph::new(session);
    let leaf = graph.leaf_at(ix);
    // Parts and results of a reply may be on another branch, which was not asked for. A cycle is
    // walked only once.
    let on_the_way = |end: &Ix| {
        let mut way = std::iter::successors(Some(*end), |at| graph.parent(*at)).take(session.entries.len());
        session.entries.key(*end).is_some() && way.any(|above| above == ix)
    };
    let end = [leaf.end, leaf.from].into_iter().flatten().find(on_the_way);
    session.head_at(end, "").entry.unwrap_or(ix)
}

/// Plans copies of entries of `from` in `into`; both may be the same session.
///
/// The copies are in the given order, and those that travel together in the order that they need.
/// The last copy becomes HEAD.
pub fn cherry_pick(
    from: Snapshot<'_>,
    into: Snapshot<'_>,
    picked: &[Picked],
    options: &Options<'_>,
    ids: &mut Ids,
) -> Result<Picks, Refusal> {
    writable(from.session, into.session)?;
    if let Some(onto) = options.onto {
        super::switch::can_be_followed(into, onto)?;
        is_seen(into, onto)?;
    }
    let chosen = choose(from, into, picked, options)?;
    let receiving: Vec<Ix> = options.onto.map(|onto| into.session.tree.path(onto)).unwrap_or_default();
    let mut notes = chosen.notes;
    open_calls(into, &receiving, options, &mut notes)?;
    let mut copier = Copier::new(from, into, options, ids, &receiving, chosen.calls)?;
    let named: HashSet<Ix> = picked.iter().filter(|picked| picked.named).map(|picked| picked.ix).collect();
    for (at, ix) in &chosen.order {
        if let Err(why) = copier.add(*ix, *at)? {
            let id = from.name(*ix)?;
            if named.contains(ix) {
                return Err(Refusal::NotCopied { id, why });
            }
            notes.push(Note::LeftOut { id, why });
        }
    }
    if copier.copies.is_empty() {
        return Err(Refusal::Nothing { why: notes.first().cloned().map(Box::new) });
    }
    notes.extend(seams(from, into, &receiving, &copier.copies));
    if copier.usage > 0 && !options.zero_usage {
        notes.push(Note::UsageAgain { replies: copier.usage });
    }
    let made = copier.finish()?;
    let mut plan = Plan { verb: "cherry-pick".into(), ..Plan::default() };
    plan.changes = made.changes;
    plan.targets.push(Target::Append { file: 0, bytes: made.bytes });
    Ok(Picks { plan, copies: made.copies, notes })
}

/// Fails if the session can't be written to, or if entries can't be transferred between the two
/// formats.
fn writable(from: &Session, into: &Session) -> Result<(), Refusal> {
    super::appendable(into)?;
    if let Some(why) = from.read_only() {
        return Err(super::Error::ReadOnly { why: why.into(), instead: from.instead_of_writing() }.into());
    }
    let family = |format| match format {
        Format::Harness | Format::Omp => Format::Pi,
        other => other,
    };
    if family(from.format) != family(into.format) {
        return Err(Refusal::OtherFormat { from: from.format, into: into.format });
    }
    Ok(())
}

/// Fails if Claude Code no longer loads an entry: copies below it would be joined to another entry.
fn is_seen(into: Snapshot<'_>, onto: Ix) -> Result<(), Refusal> {
    let session = into.session;
    if session.format == Format::Claude && claude::graph::ClaudeGraph::new(session).is_gone(onto) {
        let name = super::ids::name(session, into.source, onto)?;
        return Err(super::Error::NoPlace {
            what: format!("a compaction replaced `{name}`, so a branch can't begin there"),
            instead: Some(format!(
                "`bough export-branch {}` makes it a session of its own",
                super::ids::quoted(&name)
            )),
        }
        .into());
    }
    Ok(())
}

/// The entries to copy, in order.
struct Chosen {
    units: Vec<Unit>,
    /// The unit of each entry, and the entry.
    order: Vec<(usize, Ix)>,
    /// Whether they contain tool calls.
    calls: bool,
    notes: Vec<Note>,
}

/// Adds the entries that travel with the picked ones, and leaves out those that are never copied.
fn choose(
    from: Snapshot<'_>,
    into: Snapshot<'_>,
    picked: &[Picked],
    options: &Options<'_>,
) -> Result<Chosen, Refusal> {
    let session = from.session;
    let wanted: HashSet<Ix> = picked.iter().map(|picked| picked.ix).collect();
    let named: HashSet<Ix> = picked.iter().filter(|picked| picked.named).map(|picked| picked.ix).collect();
    let together = |ix: Ix| {
        session.entries.flags(ix).0 & (Flags::CALL | Flags::RESULT).0 != 0
            || session.entries.group(ix).is_some()
    };
    let tools = if picked.iter().any(|picked| together(picked.ix)) {
        Some(Tools::collect(from, &wanted)?)
    } else {
        None
    };
    let mut chosen = Chosen { units: Vec::new(), order: Vec::new(), calls: false, notes: Vec::new() };
    let mut met = HashSet::new();
    for picked in picked {
        if met.contains(&picked.ix) {
            continue;
        }
        let name = |ix| super::ids::name(session, from.source, ix);
        if let Some(why) = never(from, into, *picked)? {
            let id = name(picked.ix)?;
            if picked.named {
                return Err(Refusal::NotCopied { id, why });
            }
            if why.is_worth_saying() {
                chosen.notes.push(Note::LeftOut { id, why });
            }
            met.insert(picked.ix);
            continue;
        }
        let unit = match &tools {
            Some(tools) if together(picked.ix) => tools.unit(from, picked.ix),
            _ => Unit { entries: vec![picked.ix], ..Unit::default() },
        };
        met.extend(unit.entries.iter().copied());
        let why = match (unit.open, unit.stray) {
            (0, 0) => None,
            (_, 0) => Some(Why::OpenCall),
            _ => Some(Why::StrayResult),
        };
        if let Some(why) = why {
            let id = name(picked.ix)?;
            if unit.entries.iter().any(|ix| named.contains(ix)) {
                return Err(Refusal::NotCopied { id, why });
            }
            chosen.notes.push(Note::LeftOut { id, why });
            continue;
        }
        let more = unit.entries.iter().filter(|ix| !wanted.contains(ix)).count();
        if more > 0 && !options.pairs {
            return Err(Refusal::Pairs { id: name(picked.ix)?, more });
        }
        if more > 0 {
            chosen.notes.push(Note::Along { id: name(picked.ix)?, more });
        }
        chosen.calls |= unit.entries.iter().any(|ix| session.entries.flags(*ix).has(Flags::CALL));
        let at = chosen.units.len();
        chosen.order.extend(unit.entries.iter().map(|ix| (at, *ix)));
        chosen.units.push(unit);
    }
    Ok(chosen)
}

/// Returns why an entry is never copied, or `None` if it may be.
fn never(from: Snapshot<'_>, into: Snapshot<'_>, picked: Picked) -> Result<Option<Why>, Refusal> {
    let (entries, ix) = (&from.session.entries, picked.ix);
    let flags = entries.flags(ix);
    if flags.has(Flags::MARKER) {
        return Ok(Some(Why::Marker));
    }
    if flags.has(Flags::SIDECHAIN) || entries.file(ix) > 0 {
        return Ok(Some(Why::Agent));
    }
    let why = match entries.kind(ix) {
        Kind::Label => Some(Why::Label),
        Kind::Header => Some(Why::Header),
        Kind::Progress => Some(Why::Progress),
        Kind::Compaction if from.session.format == Format::Claude => Some(Why::Boundary),
        _ => match entries.ty(ix) {
            "session_info" | "title_change" | "title" => Some(Why::Name),
            "usage" | "model_usage" => Some(Why::Usage),
            "credential_pin" => Some(Why::Credentials),
            "leaf" => Some(Why::Marker),
            "session_init" => Some(Why::Header),
            "reset_boundary" if !picked.named => Some(Why::Reset),
            "custom" => {
                let line = from.line(ix)?;
                let ours = crate::json::member_at(&line, &["customType"]) == Some(b"\"bough.cherry-pick\"")
                    || crate::json::member_at(&line, &["data", "bough"]).is_some();
                ours.then_some(Why::Marker)
            }
            _ => None,
        },
    };
    match why {
        None if translate::differ(from.session.format, into.session.format) => {
            let line = from.line(ix)?;
            Ok(translate::unknown(into.session.format, entries.ty(ix), &line))
        }
        why => Ok(why),
    }
}

/// Refuses to put copies between a call and its result.
fn open_calls(
    into: Snapshot<'_>,
    receiving: &[Ix],
    options: &Options<'_>,
    notes: &mut Vec<Note>,
) -> Result<(), Refusal> {
    let session = into.session;
    // Claude Code's loader finds the results of a reply wherever they are in the tree.
    if session.format == Format::Claude {
        return Ok(());
    }
    let is_reply = |ix: &&Ix| matches!(session.entries.kind(**ix), Kind::Assistant | Kind::User);
    let Some(reply) = receiving.iter().rev().find(is_reply) else { return Ok(()) };
    if !session.entries.flags(*reply).has(Flags::CALL) {
        return Ok(());
    }
    let on_path: HashSet<Ix> = receiving.iter().copied().collect();
    let calls = Tools::collect(into, &on_path)?.calls_in(*reply);
    let elsewhere = calls.iter().filter_map(|(_, result)| *result).find(|result| !on_path.contains(result));
    if let Some(result) = elsewhere.filter(|_| !options.force) {
        let name = |ix| super::ids::name(session, into.source, ix);
        return Err(Refusal::InsideCall {
            onto: name(*receiving.last().expect("there is a reply"))?,
            result: name(result)?,
        });
    }
    if calls.iter().any(|(_, result)| result.is_none()) {
        notes.push(Note::OpenBefore);
    }
    Ok(())
}

/// Returns notes about anything unusual at the beginning of the copies, and between them.
fn seams(from: Snapshot<'_>, into: Snapshot<'_>, receiving: &[Ix], copies: &[(Ix, String)]) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    let talk = |session: &Session, ix: Ix| {
        let kind = session.entries.kind(ix);
        kind.is_turn().then_some((kind, session.entries.group(ix)))
    };
    let mut before = receiving.iter().rev().find_map(|ix| talk(into.session, *ix));
    for (ix, _) in copies {
        let Some((kind, group)) = talk(from.session, *ix) else { continue };
        let note = match (before, kind) {
            (Some((Kind::User, _)), Kind::User) => Some(Note::TwoPrompts),
            (Some((Kind::Assistant, known)), Kind::Assistant) if !group.is_some() || known != group => {
                Some(Note::TwoReplies)
            }
            (None, Kind::Assistant) => Some(Note::ReplyFirst),
            _ => None,
        };
        before = Some((kind, group));
        notes.extend(note.filter(|note| !notes.contains(note)));
    }
    notes
}

/// Returns the ids of tool calls on a path.
fn tool_ids_on(side: Snapshot<'_>, path: &[Ix]) -> std::io::Result<HashSet<String>> {
    let mut out = HashSet::new();
    let mut line = Vec::new();
    for ix in path {
        let flags = side.session.entries.flags(*ix);
        if flags.has(Flags::CALL) || flags.has(Flags::RESULT) {
            side.read(*ix, &mut line)?;
            let ids = tool_ids(side.session.format, &line);
            out.extend(ids.into_iter().filter(|id| id.role != ToolRole::Mention).map(|id| id.id));
        }
    }
    Ok(out)
}

/// The lines that were made.
struct Made {
    bytes: Vec<u8>,
    changes: Vec<Change>,
    copies: Vec<(Ix, String)>,
}

/// The entries that a copy may refer to in the receiving session, by id.
struct Referred {
    /// Ids of copied entries, with the ids of their copies.
    copied: HashMap<String, String>,
    /// The entries of the receiving path.
    receiving: HashSet<Key>,
}

impl Referred {
    /// Returns the id with which a copy refers to the entry with `id`.
    fn map(&self, id: &str) -> Option<String> {
        let on_path = || self.receiving.contains(&Key::hash(id.as_bytes())).then(|| id.to_owned());
        self.copied.get(id).cloned().or_else(on_path)
    }
}
