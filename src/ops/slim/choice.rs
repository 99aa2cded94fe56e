//! The choice of the parts that are replaced, and the changes of their lines.

use super::check::not_proven;
use super::parts::{Part, PartKind, is_only_thinking, parts};
use super::{Amount, Destination, Kinds, SlimOptions};
use crate::context::Context;
use crate::format::{Format, OtherKind, Session};
use crate::json::{Edits, member_at, string};
use crate::model::{Change, Ix, Key, Kind, Span};
use crate::ops::rewrite::Rewrite;
use crate::ops::turns::Thread;
use crate::ops::{Error, Snapshot, branches, ids};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

/// How many entries are visited at most to compare messages.
pub(super) const MOST_VISITED: usize = 1 << 24;

/// A part of an entry.
pub(super) struct Found {
    pub(super) entry: Ix,
    pub(super) part: Part,
    /// Whether it is replaced.
    is_chosen: bool,
}

/// The choice of what is replaced.
pub(super) struct Slim<'a> {
    whole: Snapshot<'a>,
    options: &'a SlimOptions,
    /// The entries that are sent at HEAD.
    pub(super) sent: HashSet<Ix>,
    /// The entries of the turn at HEAD.
    pub(super) last_turn: HashSet<Ix>,
    /// The entries before a compaction that are sent on no branch, if they are wanted.
    summarized: HashSet<Ix>,
    pub(super) found: Vec<Found>,
    /// The entries that contain nothing but thinking, and are removed: parts of replies of Claude Code.
    removed: Vec<Ix>,
    pub(super) amounts: BTreeMap<&'static str, Amount>,
    /// About how many tokens are sent at HEAD.
    pub(super) tokens: u64,
    pub(super) thinking_kept: usize,
}

impl<'a> Slim<'a> {
    pub(super) fn new(whole: Snapshot<'a>, options: &'a SlimOptions) -> Result<Slim<'a>, Error> {
        let session = whole.session;
        let path = Thread::new(whole)?.path();
        let is_prompt = |ix: &Ix| crate::ops::revision::is_prompt(session, *ix);
        let from = path.iter().rposition(is_prompt).unwrap_or(0);
        let mut last_turn: HashSet<Ix> = path[from..].iter().copied().collect();
        last_turn.extend(&session.beside);
        Ok(Slim {
            whole,
            options,
            sent: sent_entries(whole)?,
            last_turn,
            summarized: match options.kinds.before_compaction {
                true => summarized(whole)?,
                false => HashSet::new(),
            },
            found: Vec::new(),
            removed: Vec::new(),
            amounts: BTreeMap::new(),
            tokens: tokens_at_head(whole)?,
            thinking_kept: 0,
        })
    }

    /// Finds all parts of the wanted kinds.
    pub(super) fn find(&mut self) -> Result<(), Error> {
        let Snapshot { session, source } = self.whole;
        let newest = self.newest_state()?;
        let of_summarized = self.options.kinds.summarized();
        let mut line = Vec::new();
        // Replies with something besides thinking.
        let mut says: HashSet<Key> = HashSet::new();
        let mut only_thinking: Vec<Ix> = Vec::new();
        for ix in session.entries.all().filter(|ix| session.entries.file(*ix) == 0) {
            source.read(session.span(ix), &mut line)?;
            if self.options.kinds.thinking
                && session.format == Format::Claude
                && session.entries.group(ix).is_some()
            {
                match is_only_thinking(&line) {
                    true => only_thinking.push(ix),
                    false => _ = says.insert(session.entries.group(ix)),
                }
            }
            let is_summarized = self.summarized.contains(&ix);
            let kinds = if is_summarized { &of_summarized } else { &self.options.kinds };
            let is_chosen = is_summarized || self.options.budget.is_none();
            for part in parts(session, ix, &line, kinds) {
                match part.kind {
                    PartKind::Thinking if self.last_turn.contains(&ix) => self.thinking_kept += 1,
                    PartKind::Custom if newest.contains(&ix) => {}
                    _ => self.found.push(Found { entry: ix, part, is_chosen }),
                }
            }
        }
        let named: HashSet<Key> = self.named_entries();
        for ix in only_thinking
            .into_iter()
            .filter(|ix| self.options.budget.is_none() && session.tree.is_in_tree(*ix))
        {
            let is_part = says.contains(&session.entries.group(ix)) && !session.tree.is_leaf(ix);
            match self.last_turn.contains(&ix) {
                true => self.thinking_kept += 1,
                false if is_part && !named.contains(&session.entries.key(ix)) => self.removed.push(ix),
                false => {}
            }
        }
        Ok(())
    }

    /// Returns the ids that pointers, labels and compactions name: these entries must stay.
    fn named_entries(&self) -> HashSet<Key> {
        let session = self.whole.session;
        let mut named: HashSet<Key> = session.pointers.iter().filter_map(|pointer| pointer.target).collect();
        named.extend(session.labels.lines.iter().map(|label| label.target));
        if let Some(boundary) = &session.claude.boundary {
            named.extend(&boundary.kept);
            named.extend(boundary.ends.iter().flat_map(|(head, tail)| [*head, *tail]));
            named.extend(boundary.anchor);
        }
        // An id on several lines is represented by the last of them.
        named.extend(session.tree.shadowed().map(|ix| session.entries.key(ix)));
        named
    }

    /// Removes the entries that contain nothing but thinking; what follows one gets its parent.
    pub(super) fn remove(&mut self, rewrite: &mut Rewrite) -> Result<(), Error> {
        let Snapshot { session, source } = self.whole;
        let removed: HashSet<Ix> = self.removed.iter().copied().collect();
        for ix in &self.removed {
            let span = session.span(*ix);
            let change =
                Change { id: ids::id(session, source, *ix)?, why: "thinking".into(), ..Change::default() };
            rewrite.remove(session, source, span, session.entries.line(*ix), change)?;
            let amount = self.amounts.entry(PartKind::Thinking.name()).or_default();
            amount.count += 1;
            amount.bytes += span.len + 1;
            amount.tokens += if self.sent.contains(ix) { span.len / 4 } else { 0 };
        }
        for ix in session.tree.entries_in_tree().filter(|ix| !removed.contains(ix)) {
            let Some(parent) = session.tree.parent(ix).filter(|parent| removed.contains(parent)) else {
                continue;
            };
            let above = session.tree.ancestors(parent).find(|above| !removed.contains(above));
            let above = above.map_or(Ok(b"null".to_vec()), |above| self.whole.raw_id(above))?;
            let line = self.whole.line(ix)?;
            let Some(mut edits) = Edits::begin(&line) else { continue };
            edits.set(session.format.names().parent, &above);
            let id = ids::id(session, source, ix)?;
            rewrite.edit(session.span(ix), session.entries.line(ix), &id, &edits, "its parent is removed");
        }
        Ok(())
    }

    /// Returns the entries with the state that an extension finds when it starts: the last of each wanted type on
    /// the way to each leaf.
    fn newest_state(&self) -> io::Result<HashSet<Ix>> {
        let Snapshot { session, source } = self.whole;
        let mut newest = HashSet::new();
        if self.options.kinds.custom.is_empty() {
            return Ok(newest);
        }
        let mut types: HashMap<Ix, String> = HashMap::new();
        let mut line = Vec::new();
        for ix in
            session.entries.all().filter(|ix| matches!(session.entries.ty(*ix), "custom" | "custom_message"))
        {
            source.read(session.span(ix), &mut line)?;
            let ty = member_at(&line, &["customType"]).and_then(string).unwrap_or_default();
            if self.options.kinds.custom.iter().any(|wanted| *wanted == ty) {
                types.insert(ix, ty.into_owned());
            }
        }
        for wanted in &self.options.kinds.custom {
            newest.extend(last_on_branches(session, |ix| types.get(&ix) == Some(wanted)));
        }
        Ok(newest)
    }

    /// With a budget, chooses parts that are sent at HEAD until it is kept: those of the last turn never, the
    /// biggest first, and of about equal ones the oldest.
    pub(super) fn choose(&mut self) {
        let Some(budget) = self.options.budget else { return };
        let mut order: Vec<usize> = (0..self.found.len()).collect();
        order.retain(|at| {
            let found = &self.found[*at];
            found.part.is_sent && self.sent.contains(&found.entry) && !self.last_turn.contains(&found.entry)
        });
        order.sort_by_key(|at| (std::cmp::Reverse(self.found[*at].part.tokens.max(1).ilog2() / 2), *at));
        let mut left = self.tokens;
        let mut chosen: HashSet<Ix> = HashSet::new();
        for at in order {
            if left <= budget {
                break;
            }
            left = left.saturating_sub(self.found[at].part.tokens);
            self.found[at].is_chosen = true;
            chosen.insert(self.found[at].entry);
        }
        // The copy of a replaced part for display goes with it.
        for found in
            self.found.iter_mut().filter(|found| !found.part.is_sent && chosen.contains(&found.entry))
        {
            found.is_chosen = true;
        }
    }

    pub(super) fn chosen(&self) -> impl Iterator<Item = &Found> {
        self.found.iter().filter(|found| found.is_chosen)
    }

    /// Returns about how many tokens are sent at HEAD afterwards.
    pub(super) fn tokens_left(&self) -> u64 {
        let sent = self.chosen().filter(|found| found.part.is_sent && self.sent.contains(&found.entry));
        self.tokens.saturating_sub(sent.map(|found| found.part.tokens).sum())
    }

    /// Replaces the chosen parts.
    pub(super) fn replace(&mut self, rewrite: &mut Rewrite) -> Result<(), Error> {
        let Snapshot { session, source } = self.whole;
        let found = std::mem::take(&mut self.found);
        for Found { entry, part, .. } in found.iter().filter(|found| found.is_chosen) {
            let id = ids::id(session, source, *entry)?;
            let new = part.instead.bytes(&self.way_back(*entry, &id));
            let bytes = part.at.len() as u64;
            if new.len() as u64 >= bytes && part.kind != PartKind::Image {
                continue;
            }
            let amount = self.amounts.entry(part.kind.name()).or_default();
            amount.count += 1;
            amount.bytes += bytes;
            let is_sent = part.is_sent && self.sent.contains(entry);
            amount.tokens += if is_sent { part.tokens } else { 0 };
            rewrite.changes.push(Change {
                op: "set",
                line: session.entries.line(*entry),
                id,
                field: part.kind.name().into(),
                new: String::from_utf8_lossy(&new).into_owned(),
                bytes: new.len() as i64 - bytes as i64,
                ..Change::default()
            });
            rewrite.replace(session.span(*entry), part.at.clone(), new);
        }
        self.found = found;
        Ok(())
    }

    /// Says how a part can be read after it was replaced.
    pub(super) fn way_back(&self, entry: Ix, id: &str) -> String {
        let id = if id.is_empty() {
            format!("line:{}", self.whole.session.entries.line(entry))
        } else {
            id.to_owned()
        };
        match (&self.options.into, &self.options.name) {
            (Destination::New { .. } | Destination::Appended, Some(name)) => {
                format!("; `bough cat {id}@{name}` prints it")
            }
            (Destination::Place, _) => "; `bough undo` restores it".into(),
            (Destination::New { .. } | Destination::Appended, None) => String::new(),
        }
    }

    /// Removes snapshots of files.
    pub(super) fn snapshots(&mut self, rewrite: &mut Rewrite) -> Result<(), Error> {
        let Snapshot { session, source } = self.whole;
        if !self.options.kinds.snapshots {
            return Ok(());
        }
        for other in
            session.others.iter().filter(|other| other.span.file == 0 && other.kind == OtherKind::Note)
        {
            if is_snapshot(self.whole, other.span)? {
                let change = Change { why: "a snapshot of files".into(), ..Change::default() };
                rewrite.remove(session, source, other.span, other.line, change)?;
                let amount = self.amounts.entry("snapshots").or_default();
                amount.count += 1;
                amount.bytes += other.span.len + 1;
            }
        }
        Ok(())
    }
}

/// Returns the last wanted entry on each branch that has one.
fn last_on_branches(session: &Session, is_wanted: impl Fn(Ix) -> bool) -> Vec<Ix> {
    let mut last = Vec::new();
    // No entry is passed twice.
    let mut passed = HashSet::new();
    for leaf in session.tree.leaves() {
        for ix in session.tree.ancestors(leaf) {
            if !passed.insert(ix) {
                break;
            }
            if is_wanted(ix) {
                last.push(ix);
                break;
            }
        }
    }
    last
}

/// Returns whether a line contains a snapshot of files.
pub(super) fn is_snapshot(whole: Snapshot<'_>, span: Span) -> io::Result<bool> {
    if whole.session.format != Format::Claude {
        return Ok(false);
    }
    let head = whole.source.bytes(Span { len: span.len.min(256), ..span })?;
    let ty = member_at(&head, &["type"]).and_then(string);
    Ok(matches!(ty.as_deref(), Some("file-history-snapshot" | "file-history-delta" | "attribution-snapshot")))
}

/// Returns the entries that are sent at HEAD.
pub(super) fn sent_entries(whole: Snapshot<'_>) -> io::Result<HashSet<Ix>> {
    let context = Context::in_full(whole.session, whole.source, Context::position(whole.session))?;
    Ok(context.sent().filter_map(|message| message.entry).collect())
}

/// Returns the entries before a compaction that are sent neither at HEAD nor at the end of any branch.
///
/// Fails if there are too many branches to look at all of them.
fn summarized(whole: Snapshot<'_>) -> Result<HashSet<Ix>, Error> {
    let Snapshot { session, source } = whole;
    let compactions = session
        .entries
        .all()
        .filter(|ix| session.entries.kind(*ix) == Kind::Compaction && session.entries.file(*ix) == 0);
    let Some(last) = compactions.map(|ix| session.entries.line(ix)).max() else { return Ok(HashSet::new()) };
    let mut sent = sent_entries(whole)?;
    let thread = Thread::new(whole)?;
    let mut left = MOST_VISITED;
    for tip in branches::tips(session, thread.tree()) {
        let cost = cost_of_context(session, &thread, tip);
        left = left.checked_sub(cost).ok_or_else(|| not_proven("it has too many branches to look at"))?;
        let context = Context::in_full(session, source, Some(tip))?;
        sent.extend(context.sent().filter_map(|message| message.entry));
    }
    let is_old = |ix: &Ix| session.entries.line(*ix) < last && session.entries.file(*ix) == 0;
    Ok(session.tree.entries_in_tree().filter(|ix| is_old(ix) && !sent.contains(ix)).collect())
}

/// Returns about how many entries are visited to find what is sent at an entry.
pub(super) fn cost_of_context(session: &Session, thread: &Thread<'_>, tip: Ix) -> usize {
    match session.format {
        Format::Claude => 4 * session.entries.len(),
        _ => thread.tree().ancestors(tip).count(),
    }
}

/// Returns about how many tokens are sent at HEAD: what the last reply stored, or a quarter of the bytes if that is
/// more; images cost what providers charge for them.
fn tokens_at_head(whole: Snapshot<'_>) -> io::Result<u64> {
    let Snapshot { session, source } = whole;
    let context = Context::in_full(session, source, Context::position(session))?;
    let images = Kinds { images: true, ..Kinds::default() };
    let (mut bytes, mut tokens, mut stored, mut line) = (0, 0, None, Vec::new());
    let mut seen = HashSet::new();
    for message in context.sent() {
        let said = message.read(session, source, &mut line)?;
        bytes += said.bytes as u64;
        stored = said.usage.map(|usage| usage.tokens()).filter(|tokens| *tokens > 0).or(stored);
        if let Some(entry) = message.entry.filter(|entry| seen.insert(*entry)) {
            source.read(session.span(entry), &mut line)?;
            for part in parts(session, entry, &line, &images).iter().filter(|part| part.is_sent) {
                bytes = bytes.saturating_sub(part.at.len() as u64);
                tokens += part.tokens;
            }
        }
    }
    Ok(stored.unwrap_or(0).max(tokens + bytes / 4))
}
