//! Compares what the agent would send before and after a repair, at HEAD and at the end of each
//! branch.
//!
//! Both files are read as the agent reads them. The links are enough to clear most branches: each
//! entry has an image, i.e. an entry that it became ([`Images`]), nothing of the path is missing,
//! and no new entry hides anything. All branches share that walk. For the remaining ones, the
//! messages themselves are compared, as built by [`crate::context`].

mod images;
mod messages;
mod walk;

use crate::context::{Context, Contexts};
use crate::format::{Format, Session};
use crate::fsck::Check;
use crate::fsck::checks::links::agent::AgentTree;
use crate::fsck::examine::Examined;
use crate::fsck::rope::Text;
use crate::model::{Change, Count, Flags, Ix, Key, Kind, Source};
use images::Images;
use messages::{Bad, Recent, Said, Sent, SentAfter};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io;
use std::rc::Rc;
use walk::Walk;

/// The checks whose repair moves HEAD.
const MOVES_HEAD: [Check; 5] = [
    Check::StalePointer,
    Check::ExplicitNullPointer,
    Check::PointerToSidechain,
    Check::SidechainTrunk,
    Check::DanglingLeaf,
];

/// A file as its agent reads it.
pub(crate) struct Reading<'a> {
    pub session: &'a Session,
    pub source: &'a dyn Source,
}

/// The intended effects of a repair.
pub(crate) struct Meant<'a> {
    /// The changes, except those of damaged lines.
    pub changes: &'a [Change],
    /// The ids of entries that were moved to another branch.
    pub moved: &'a HashSet<Key>,
}

impl Meant<'_> {
    fn has(&self, checks: &[Check]) -> bool {
        self.changes.iter().any(|change| checks.iter().any(|check| change.why == check.id()))
    }
}

/// The result of the comparison: what is lost, and where HEAD moves.
#[derive(Default)]
pub(crate) struct Loss {
    pub failed: Vec<String>,
    pub position: bool,
    /// The line of the entry that HEAD moves to, if HEAD leaves its branch and nothing is lost by
    /// that.
    pub head_moves_to: Option<u64>,
    /// At how many places messages were compared one by one.
    pub compared: usize,
}

/// The maximum number of messages that are compared one by one; the number of entries is added to
/// it.
const MOST_COMPARED: usize = 1 << 19;

/// The maximum number of failures that are reported.
const MOST_TOLD: usize = 3;

/// Compares what is sent.
pub(crate) fn compare(
    examined: &Examined,
    before: &Reading<'_>,
    after: &Reading<'_>,
    text: &Text,
    meant: &Meant<'_>,
) -> io::Result<Loss> {
    let mut loss = Loss::default();
    let (old, new) = (before.session, after.session);
    if old.entries.is_empty() {
        return Ok(loss);
    }
    if new.entries.is_empty() {
        loss.failed.push("no entry would be left".into());
        return Ok(loss);
    }
    let lines = |is_wanted: fn(&Change) -> bool| -> HashSet<u64> {
        meant.changes.iter().filter(|change| is_wanted(change)).map(|change| change.line).collect()
    };
    let taken_apart = lines(|change| change.op == "set-aside");
    let images = Images::map(examined, old, new, text, &taken_apart);
    if let Some((lost, count)) = images.lost(old) {
        loss.failed.push(format!(
            "{} that the agent reads would be missing, the first on line {}",
            Count("entry", "entries", count),
            old.entries.line(lost)
        ));
        return Ok(loss);
    }
    let (old_tree, new_tree) = (AgentTree::build(old), AgentTree::build(new));
    let proof = Compared {
        before,
        after,
        old_tree: &old_tree,
        new_tree: &new_tree,
        images: &images,
        meant,
        taken_apart,
        contexts: RefCell::new((Contexts::new(old, before.source), Contexts::new(new, after.source))),
        sent_after: RefCell::default(),
        sent_elsewhere: RefCell::default(),
        readable: lines(|change| change.why == Check::UnreadableField.id()),
        relinked: lines(|change| change.why == Check::DanglingParent.id()),
        replaced: lines(|change| change.why == Check::MissingKept.id()).into_iter().max().unwrap_or(0),
    };
    let walk = Walk::new(&proof);
    proof.head(&walk, &mut loss)?;
    let mut left = MOST_COMPARED + 8 * old.entries.len();
    // Leaves, and turns that a compaction has come to follow: the agent would continue after it.
    let followed = old_tree.walk().map(|(ix, _)| ix).filter(|ix| walk.is_followed_anew(old, *ix));
    let followed: Vec<Ix> = followed.filter(|ix| !old_tree.is_leaf(*ix)).collect();
    for leaf in old_tree.leaves().chain(followed) {
        if loss.failed.len() >= MOST_TOLD {
            break;
        }
        let Some(end) = walk.end(leaf) else { continue };
        let clear = walk.is_clear(leaf, end);
        if clear && !walk.beside[leaf.index()] {
            continue;
        }
        // Many branches may end at one place: what is sent there is read once.
        let again = proof.sent_after.borrow().get(Some(end)).is_some();
        let cost = old_tree.cost(leaf) + if again { 1 } else { new_tree.cost(end) };
        let Some(rest) = left.checked_sub(cost) else {
            if clear {
                // The whole path is sent, and at HEAD everything was compared.
                continue;
            }
            loss.failed.push("more branches would change than can be compared".into());
            break;
        };
        left = rest;
        let place = format!("the branch that ends on line {}", old.entries.line(leaf));
        proof.messages(Some(leaf), Some(end), &place, &mut loss)?;
    }
    Ok(loss)
}

struct Compared<'a> {
    before: &'a Reading<'a>,
    after: &'a Reading<'a>,
    old_tree: &'a AgentTree,
    new_tree: &'a AgentTree,
    images: &'a Images,
    meant: &'a Meant<'a>,
    /// The contexts before and after.
    contexts: RefCell<(Contexts<'a>, Contexts<'a>)>,
    sent_after: RefCell<Recent>,
    /// Moved entries for which it is known whether they are sent if the agent continues from them.
    sent_elsewhere: RefCell<HashMap<Ix, bool>>,
    /// The lines from which anything was removed on purpose.
    taken_apart: HashSet<u64>,
    /// The lines with fields that were unreadable before.
    readable: HashSet<u64>,
    /// The lines of entries that were below a missing parent. An orphan that Claude Code attached by
    /// guessing is now attached where the repair found it to belong.
    relinked: HashSet<u64>,
    /// The line of the last compaction that takes effect again: it replaces the messages that it
    /// was meant to replace.
    replaced: u64,
}

/// Returns whether one of the notes below an entry is a compaction.
fn is_followed(compacts: &[bool], tree: &AgentTree, entry: Ix) -> bool {
    !compacts.is_empty() && tree.children(entry).any(|child| compacts[child.index()])
}

/// Returns which notes of Claude Code are a compaction or have a note below them that is one; empty
/// if there is no compaction.
fn compacting_notes(session: &Session, tree: &AgentTree) -> Vec<bool> {
    let entries = &session.entries;
    let is_compaction = |ix: Ix| entries.kind(ix) == Kind::Compaction;
    if session.format != Format::Claude || !entries.all().any(is_compaction) {
        return Vec::new();
    }
    let mut compacts = vec![false; entries.len()];
    let walk: Vec<(Ix, Option<Ix>)> = tree.walk().collect();
    for (ix, above) in walk.into_iter().rev().filter(|(ix, _)| !entries.kind(*ix).is_turn()) {
        compacts[ix.index()] |= is_compaction(ix);
        if let Some(above) = above.filter(|above| compacts[ix.index()] && !entries.kind(*above).is_turn()) {
            compacts[above.index()] = true;
        }
    }
    compacts
}

/// Returns the calls and results of each entry that has any, in order.
fn tools_by_entry(session: &Session) -> Vec<(Ix, bool, Key)> {
    let tools = session.side.iter().flat_map(|side| &side.tools);
    let mut tools: Vec<(Ix, bool, Key)> = tools.map(|tool| (tool.entry, tool.result, tool.id)).collect();
    tools.sort_unstable();
    tools
}

/// The flags that decide whether an entry is sent; the others concern its text or its links.
const DECIDES: u16 = Flags::MARKER.0
    | Flags::BOOKKEEPING.0
    | Flags::CALL.0
    | Flags::RESULT.0
    | Flags::SIDECHAIN.0
    | Flags::META.0
    | Flags::COMPACT_SUMMARY.0
    | Flags::ENDED_BADLY.0
    | Flags::PASSED.0
    | Flags::HIDDEN.0;

/// Returns whether two entries have the same role in what is sent.
fn is_alike(
    old: &Session,
    one: Ix,
    old_tools: &[(Ix, bool, Key)],
    new: &Session,
    other: Ix,
    new_tools: &[(Ix, bool, Key)],
) -> bool {
    let (a, b) = (&old.entries, &new.entries);
    let tools = |tools: &[(Ix, bool, Key)], ix: Ix| {
        let from = tools.partition_point(|(of, ..)| *of < ix);
        let to = tools[from..].partition_point(|(of, ..)| *of == ix);
        from..from + to
    };
    let (left, right) = (tools(old_tools, one), tools(new_tools, other));
    let alike = |(one, other): (&(Ix, bool, Key), &(Ix, bool, Key))| (one.1, one.2) == (other.1, other.2);
    a.ty(one) == b.ty(other)
        && a.kind(one) == b.kind(other)
        && a.flags(one).0 & DECIDES == b.flags(other).0 & DECIDES
        && left.len() == right.len()
        && old_tools[left].iter().zip(&new_tools[right]).all(alike)
}

impl Compared<'_> {
    /// Returns the lines in which more was changed than links, or the content of a text.
    fn content_changes(&self) -> HashSet<u64> {
        let names = self.before.session.format.names();
        let harmless = [
            Check::LoneSurrogate,
            Check::InvalidUtf8,
            Check::EmptyContent,
            Check::EmptyTextBlock,
            Check::OversizeImage,
        ];
        let is_harmless = |change: &&Change| {
            let first_id = change.field == names.id && change.old.is_empty();
            change.field == names.parent || first_id || harmless.iter().any(|check| check.id() == change.why)
        };
        let changed = self.meant.changes.iter().filter(|change| change.op == "set");
        changed.filter(|change| !is_harmless(change)).map(|change| change.line).collect()
    }

    /// Returns the entries of Claude Code whose path includes entries beside it that changed: parts
    /// of the same reply, and results.
    fn with_changed_parts(
        &self,
        old_tools: &[(Ix, bool, Key)],
        new_tools: &[(Ix, bool, Key)],
    ) -> HashSet<Ix> {
        let (old_tree, new_tree) = (self.old_tree, self.new_tree);
        let (old, new) = (self.before.session, self.after.session);
        if old.format != Format::Claude {
            return HashSet::new();
        }
        let (mut groups, mut ids) = (HashSet::new(), HashSet::new());
        let mut changed = |session: &Session, ix: Ix, tools: &[(Ix, bool, Key)]| {
            if session.entries.group(ix).is_some() {
                groups.insert(session.entries.group(ix));
            }
            let from = tools.partition_point(|(of, ..)| *of < ix);
            ids.extend(tools[from..].iter().take_while(|(of, ..)| *of == ix).map(|(.., id)| *id));
        };
        for ix in old.tree.entries_in_tree() {
            let image = self.images.on_path(ix);
            let above = old_tree.parent(ix).and_then(|above| self.images.on_path(above));
            let same = image.is_some_and(|image| {
                new_tree.parent(image) == above && is_alike(old, ix, old_tools, new, image, new_tools)
            });
            if !same {
                changed(old, ix, old_tools);
            }
        }
        for ix in new.tree.entries_in_tree().filter(|ix| !self.images.was.contains_key(ix)) {
            changed(new, ix, new_tools);
        }
        let mut beside: HashSet<Ix> =
            old.tree.entries_in_tree().filter(|ix| groups.contains(&old.entries.group(*ix))).collect();
        beside.extend(old_tools.iter().filter(|(.., id)| ids.contains(id)).map(|(ix, ..)| *ix));
        beside
    }

    /// Compares HEAD, and what is sent there.
    fn head(&self, walk: &Walk<'_>, loss: &mut Loss) -> io::Result<()> {
        let (old, new) = (self.before.session, self.after.session);
        let Some(was) = Context::position(old) else { return Ok(()) };
        // A requested repair moves it, or it was at nothing.
        if self.meant.has(&MOVES_HEAD) {
            return Ok(());
        }
        let end = Context::position(new);
        let image = walk.image(was);
        if let (Some(image), Some(end)) = (image, end)
            && !walk.beside[was.index()]
            && walk.is_clear(was, image)
            && (image == end || walk.new.is_above(image, end) && walk.is_clear(was, end))
        {
            return Ok(());
        }
        let told = loss.failed.len();
        self.messages(Some(was), end, "HEAD", loss)?;
        let stood = old.head.exact.map(|stood| (self.images.of[stood.index()], walk.image(stood)));
        if let (Some((own, above)), Some(end)) = (stood, new.head.exact)
            && own != Some(end)
            && !above.is_some_and(|above| walk.new.is_above(above, end))
        {
            loss.head_moves_to = Some(new.entries.line(end));
        }
        loss.position |= loss.failed.len() > told;
        Ok(())
    }

    /// Compares the messages that are sent at one place before and after.
    fn messages(&self, leaf: Option<Ix>, end: Option<Ix>, place: &str, loss: &mut Loss) -> io::Result<()> {
        loss.compared += 1;
        let was = Sent::read(self.before, &mut self.contexts.borrow_mut().0, self.old_tree, leaf)?;
        let is = self.sent_after(end)?;
        let old = self.before.session;
        // A branch that used a copy of an id now uses the first entry with that id: the ancestors
        // of the copy still exist, on their own branch.
        let copy = was.path.iter().rposition(|entry| self.images.first.contains_key(entry));
        let above_copy: HashSet<Ix> = was.path[..copy.map_or(0, |at| at + 1)].iter().copied().collect();
        let is_replaced = |entry: Ix| {
            let image = self.images.on_path(entry);
            let is_read = image.is_some_and(|image| self.new_tree.has(image));
            let is_before = image.is_some_and(|image| is.compaction.is_some_and(|by| image < by));
            !is_read && (old.entries.line(entry) < self.replaced || is_before)
        };
        let joined = was.path.iter().any(|entry| self.relinked.contains(&old.entries.line(*entry)));
        let (mut missing, mut elsewhere): (Vec<Ix>, Vec<Ix>) = (Vec::new(), Vec::new());
        let mut had: HashMap<Ix, Said> = HashMap::new();
        for (entry, said) in &was.messages {
            had.entry(*entry).or_default().add(*said);
        }
        for (entry, said) in &had {
            let meant = self.images.gone.contains(entry)
                || is.hidden.contains(entry)
                || is_replaced(*entry)
                || self.taken_apart(*entry);
            if meant || is.said.get(entry).is_some_and(|now| now.is_at_least(*said)) {
                continue;
            }
            let is_elsewhere = self.meant.moved.contains(&old.entries.key(*entry))
                || above_copy.contains(entry)
                || joined && was.bridged.contains(entry);
            if is_elsewhere { elsewhere.push(*entry) } else { missing.push(*entry) }
        }
        missing.extend(self.not_sent_elsewhere(elsewhere)?);
        missing.sort_unstable();
        if let Some(first) = missing.first() {
            loss.failed.push(format!(
                "at {place}, {} would no longer be sent, the first on line {}",
                Count("message", "messages", missing.len()),
                old.entries.line(*first)
            ));
        }
        let before: HashSet<(Ix, Bad)> = was.bad.into_iter().map(|(entry, bad, _)| (entry, bad)).collect();
        let fresh = is.sent.bad.iter().find(|(entry, bad, _)| {
            !self.images.was.get(entry).is_some_and(|token| before.contains(&(*token, *bad)))
        });
        if let Some((_, bad, id)) = fresh {
            loss.failed.push(match bad {
                Bad::NoCall => format!("at {place}, a result of `{id}` would be sent without its call"),
                Bad::ResultAgain => format!("at {place}, a second result of `{id}` would be sent"),
                Bad::CallAgain => format!("at {place}, the call `{id}` would be sent twice"),
            });
        }
        Ok(())
    }

    /// Returns what is sent at one place after the repair.
    fn sent_after(&self, end: Option<Ix>) -> io::Result<Rc<SentAfter>> {
        if let Some(known) = self.sent_after.borrow().get(end) {
            return Ok(known);
        }
        let sent = Sent::read(self.after, &mut self.contexts.borrow_mut().1, self.new_tree, end)?;
        let old = self.before.session;
        // An entry that hides a message may itself have been restored, or have been unreadable
        // before.
        let came_back = |by: Ix| match self.images.was.get(&by) {
            Some(was) => self.readable.contains(&old.entries.line(*was)),
            None => true,
        };
        let mut said: HashMap<Ix, Said> = HashMap::new();
        for (entry, more) in &sent.messages {
            if let Some(was) = self.images.was.get(entry) {
                said.entry(*was).or_default().add(*more);
            }
        }
        let hidden = sent
            .dropped
            .iter()
            .filter(|(_, why)| why.culprit().is_some_and(came_back))
            .filter_map(|(entry, _)| self.images.was.get(entry).copied())
            .collect();
        let messages = sent.messages.iter().map(|(entry, _)| *entry).collect();
        let new = &self.after.session.entries;
        let is_back = |ix: &Ix| new.kind(*ix) == Kind::Compaction && came_back(*ix);
        let compaction = sent.path.iter().copied().filter(is_back).max();
        let after = Rc::new(SentAfter { said, hidden, messages, compaction, sent });
        self.sent_after.borrow_mut().add(end, after.clone());
        Ok(after)
    }

    /// Returns those of some entries that are not even sent if the agent continues from them.
    fn not_sent_elsewhere(&self, mut entries: Vec<Ix>) -> io::Result<Vec<Ix>> {
        /// The maximum number of places that are tried.
        const MOST_TRIED: usize = 64;
        entries.retain(|entry| !self.is_result_that_is_sent(*entry));
        entries.sort_unstable();
        let mut known = self.sent_elsewhere.borrow_mut();
        let mut lost: Vec<Ix> =
            entries.iter().copied().filter(|entry| known.get(entry) == Some(&false)).collect();
        entries.retain(|entry| !known.contains_key(entry));
        // A later entry is probably below the others.
        for _ in 0..MOST_TRIED {
            let Some(last) = entries.pop() else { return Ok(lost) };
            let after = self.sent_after(self.image_of(last))?;
            let is_sent = |entry: Ix| {
                let of = [self.images.of[entry.index()], self.images.on_path(entry)];
                of.into_iter().flatten().any(|image| after.messages.contains(&image))
            };
            known.insert(last, is_sent(last));
            if !is_sent(last) {
                lost.push(last);
            }
            entries.retain(|entry| {
                let is_sent = is_sent(*entry);
                if is_sent {
                    known.insert(*entry, true);
                }
                !is_sent
            });
        }
        lost.append(&mut entries);
        Ok(lost)
    }

    fn image_of(&self, entry: Ix) -> Option<Ix> {
        self.images.of[entry.index()].or(self.images.on_path(entry))
    }

    /// Returns whether an entry is a result of pi that was sent before and obviously is sent if the
    /// agent continues from it: pi withholds no result, and only edits change what is above.
    fn is_result_that_is_sent(&self, entry: Ix) -> bool {
        let (old, new) = (self.before.session, self.after.session);
        let is_result = |session: &Session, ix: Ix| {
            let entries = &session.entries;
            entries.kind(ix) == Kind::Tool
                && entries.flags(ix).has(Flags::RESULT)
                && entries.ty(ix) == "message"
        };
        matches!(new.format, Format::Pi | Format::PiV2)
            && !new.entries.types().iter().any(|ty| ty == "context_edit")
            && is_result(old, entry)
            && self.image_of(entry).is_some_and(|image| is_result(new, image) && self.new_tree.has(image))
    }

    /// Returns whether anything was removed from the line of an entry on purpose.
    fn taken_apart(&self, entry: Ix) -> bool {
        self.taken_apart.contains(&self.before.session.entries.line(entry))
    }
}
