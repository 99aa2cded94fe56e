//! Slims a session: parts that are big and that the model can do without are replaced by a note.
//!
//! Entries, ids, links, calls with their results, labels and HEAD stay as they are, and so do all
//! bytes of a line but the replaced ones. A block of thinking is removed as a whole or not at all,
//! because a signature binds it; replies whose provider refers to their thinking keep it, and so
//! does the turn at HEAD. What would be sent before and after is compared block by block before
//! anything is written.

mod appended;
mod check;
mod choice;
mod parts;

pub use parts::PartKind;

use super::rewrite::Rewrite;
use super::{Error, Snapshot};
use crate::format::{Format, Ids, OtherKind};
use crate::json::{Edits, member_at, string};
use crate::model::{Change, Piece, Plan, Target, Time};
use check::{Check, not_proven};
use choice::{Slim, is_snapshot, sent_entries};
use parts::parts;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// What to slim.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Kinds {
    /// Images and documents.
    pub images: bool,
    /// Results that are longer than this, in bytes.
    pub results: Option<u64>,
    /// Thinking of the model.
    pub thinking: bool,
    /// Claude Code's second copies of results.
    pub tool_use_result: bool,
    /// State of extensions of these types.
    pub custom: Vec<String>,
    /// Snapshots of files that Claude Code can go back to.
    pub snapshots: bool,
    /// Everything above, but for state and snapshots, in entries before a compaction that are sent on no
    /// branch.
    pub before_compaction: bool,
}

impl Kinds {
    /// Returns everything that can be slimmed, for a report; `custom` are the types of state.
    pub fn everything(custom: Vec<String>) -> Kinds {
        Kinds {
            images: true,
            results: Some(1024),
            thinking: true,
            tool_use_result: true,
            custom,
            snapshots: true,
            before_compaction: false,
        }
    }

    /// Returns what is slimmed in an entry that is sent on no branch.
    fn summarized(&self) -> Kinds {
        Kinds {
            images: true,
            results: Some(self.results.unwrap_or(SMALL_RESULT).min(SMALL_RESULT)),
            thinking: true,
            tool_use_result: true,
            ..self.clone()
        }
    }

    /// Returns whether nothing is to be slimmed.
    pub fn is_empty(&self) -> bool {
        *self == Kinds::default()
    }
}

/// The longest result that stays in an entry that is sent on no branch, in bytes.
const SMALL_RESULT: u64 = 256;

/// Where the slimmed session goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// The session itself is rewritten.
    Place,
    /// Entries are appended that replace the parts for the model.
    Appended,
    /// A new session with this id is created; `None` as the path is standard output.
    New {
        /// The id.
        session: String,
        /// The file.
        to: Option<PathBuf>,
        /// The old file, as the new session names it.
        from: Option<PathBuf>,
    },
}

/// How to slim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlimOptions {
    /// What is slimmed.
    pub kinds: Kinds,
    /// How many tokens the model should be sent at most: parts of the given kinds are replaced only until then, the
    /// biggest and oldest first.
    pub budget: Option<u64>,
    /// Where the result goes.
    pub into: Destination,
    /// Make the result even if nothing is replaced.
    pub always: bool,
    /// A name of the old session, by which `bough cat` finds it; `None` if it has none.
    pub name: Option<String>,
}

/// How much of one kind there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    /// How many parts.
    pub count: usize,
    /// Their bytes in the file.
    pub bytes: u64,
    /// About how many tokens they cost at HEAD.
    pub tokens: u64,
}

/// A session that has not been slimmed yet.
#[derive(Clone, Debug)]
pub struct Slimmed {
    /// What is written; empty if there is nothing to slim.
    pub plan: Plan,
    /// What is replaced, by kind; lines that are removed count as `snapshots`.
    pub amounts: BTreeMap<&'static str, Amount>,
    /// The size of the file before and after.
    pub bytes: (u64, u64),
    /// About how many tokens would be sent at HEAD, before and after.
    pub tokens: (u64, u64),
    /// At how many entries what is sent was compared.
    pub compared: usize,
    /// How many blocks of thinking stay in the turn at HEAD, which the provider needs.
    pub thinking_kept: usize,
}

impl PartKind {
    /// Returns the name of the kind, as in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            PartKind::Image => "images",
            PartKind::Result => "results",
            PartKind::Thinking => "thinking",
            PartKind::ToolUseResult => "tool-use-result",
            PartKind::Custom => "custom",
        }
    }
}

/// How much of each kind a session has.
pub fn report(whole: Snapshot<'_>) -> Result<BTreeMap<String, Amount>, Error> {
    let Snapshot { session, source } = whole;
    let mut amounts: BTreeMap<String, Amount> = BTreeMap::new();
    let mut line = Vec::new();
    let on_path = sent_entries(whole)?;
    let mut add = |name: String, bytes: u64, tokens: u64| {
        let amount = amounts.entry(name).or_default();
        amount.count += 1;
        amount.bytes += bytes;
        amount.tokens += tokens;
    };
    for ix in session.entries.all().filter(|ix| session.entries.file(*ix) == 0) {
        source.read(session.span(ix), &mut line)?;
        let custom = member_at(&line, &["customType"]).and_then(string);
        let kinds = Kinds::everything(custom.iter().map(|ty| ty.clone().into_owned()).collect());
        let mut rest = line.len() as u64;
        for part in parts(session, ix, &line, &kinds) {
            let bytes = part.at.len() as u64;
            rest -= bytes;
            let name = match (part.kind, &custom) {
                (PartKind::Custom, Some(ty)) => format!("custom={ty}"),
                (kind, _) => kind.name().to_owned(),
            };
            let is_sent = part.is_sent && on_path.contains(&ix);
            add(name, bytes, if is_sent { part.tokens } else { 0 });
        }
        add(format!("rest of {}", session.entries.kind(ix).name()), rest, 0);
    }
    for other in session.others.iter().filter(|other| other.span.file == 0 && other.kind != OtherKind::Blank)
    {
        let name = if is_snapshot(whole, other.span)? { "snapshots" } else { "other lines" };
        add(name.to_owned(), other.span.len, 0);
    }
    Ok(amounts)
}

/// Plans to slim a session, and verifies it.
pub fn plan(
    whole: Snapshot<'_>,
    options: &SlimOptions,
    fresh: &mut Ids,
    now: Time,
) -> Result<Slimmed, Error> {
    let Snapshot { session, source } = whole;
    if options.into == Destination::Appended {
        return appended::plan(whole, options, fresh, now);
    }
    super::writable(session)?;
    let mut slim = Slim::new(whole, options)?;
    slim.find()?;
    slim.choose();
    let facts = &session.files[0];
    let mut rewrite = Rewrite::default();
    slim.replace(&mut rewrite)?;
    slim.remove(&mut rewrite)?;
    slim.snapshots(&mut rewrite)?;
    let mut slimmed = Slimmed {
        plan: Plan { verb: "slim".into(), keep_times: options.into == Destination::Place, ..Plan::default() },
        amounts: slim.amounts.clone(),
        bytes: (facts.bytes, facts.bytes),
        tokens: (slim.tokens, slim.tokens_left()),
        compared: 0,
        thinking_kept: slim.thinking_kept,
    };
    if slim.amounts.is_empty() && !options.always {
        return Ok(slimmed);
    }
    let changed: HashSet<u64> = slim.chosen().map(|found| session.entries.line(found.entry)).collect();
    let mut changes = std::mem::take(&mut rewrite.changes);
    if let Destination::New { session: id, from, .. } = &options.into {
        name_session(whole, &mut rewrite, id, from.as_ref().and_then(|from| from.to_str()), now)?;
    }
    let pieces = rewrite.pieces(facts.bytes, facts.ends_in_newline);
    slimmed.bytes.1 = pieces.iter().map(Piece::bytes).sum();
    let after = rewrite.read(session, source, &pieces)?;
    let check = Check { before: whole, after: &after, pieces: &pieces, rewrite: &rewrite, changed: &changed };
    slimmed.compared = check.all()?;
    match &options.into {
        Destination::Place | Destination::Appended => {
            slimmed.plan.targets.push(Target::Rewrite { file: 0, pieces });
        }
        Destination::New { session, to, .. } => {
            let create = Change {
                op: "create",
                path: Some(to.clone().unwrap_or_else(|| "-".into())),
                bytes: slimmed.bytes.1 as i64,
                why: format!("session {session}"),
                ..Change::default()
            };
            changes.insert(0, create);
            slimmed.plan.targets.push(Target::Create { path: to.clone(), pieces });
        }
    }
    slimmed.plan.changes = changes;
    Ok(slimmed)
}

/// Gives a copy of the session its own id.
fn name_session(
    whole: Snapshot<'_>,
    rewrite: &mut Rewrite,
    id: &str,
    from: Option<&str>,
    now: Time,
) -> Result<(), Error> {
    let Snapshot { session, source } = whole;
    let format = session.format;
    let quoted = format.quoted(id);
    let mut line = Vec::new();
    if format == Format::Claude {
        let old = session.id();
        let entries = session.entries.all().map(|ix| session.span(ix));
        let others =
            session.others.iter().filter(|other| other.kind != OtherKind::Blank).map(|other| other.span);
        for span in entries.chain(others).filter(|span| span.file == 0) {
            source.read(span, &mut line)?;
            let Some(mut edits) = Edits::begin(&line) else { continue };
            if edits.value("sessionId").is_some() {
                edits.set("sessionId", &quoted);
            }
            if old.is_some() && edits.value("session_id").and_then(string).as_deref() == old.as_deref() {
                edits.set("session_id", &quoted);
            }
            edits.stretches().into_iter().for_each(|(range, new)| rewrite.replace(span, range, new));
        }
        return Ok(());
    }
    let Some(span) = session.header.as_ref().and_then(|header| header.span) else { return Ok(()) };
    source.read(span, &mut line)?;
    let Some(mut edits) = Edits::begin(&line).filter(|_| format != Format::Chimera) else { return Ok(()) };
    edits.set("id", &quoted);
    edits.set("timestamp", &format.quoted(&now.iso()));
    match from {
        Some(from) => edits.set("parentSession", &format.quoted(from)),
        None => edits.remove("parentSession"),
    }
    edits.stretches().into_iter().for_each(|(range, new)| rewrite.replace(span, range, new));
    Ok(())
}
