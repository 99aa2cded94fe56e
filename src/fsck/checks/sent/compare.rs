//! Compares what the agent would send before and after a repair, at HEAD and at the end of each
//! branch.
//!
//! Both files are read as the agent reads them. The links are enough to clear most branches: each
//! entry has an image, i.e. an entry that it became ([`Images`]), nothing of the path is missing,
//! and no new entry hides anything. All branches share that walk. For the remaining ones, the
//! messages themselves are compared, as built by [`crate::context`].

use crate::context::{Context, Contexts, Patch, Why};
use crate::format::{Block, Format, Session};
use crate::fsck::Check;
use crate::fsck::checks::links::agent::{AgentTree, Path, bad_pairs, paths};
use crate::fsck::examine::Examined;
use crate::fsck::rope::Text;
use crate::model::{Change, Count, Flags, Ix, Key, Kind, Source};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::rc::Rc;

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

/// What became of each entry that the agent read before.
struct Images {
    /// By old entry: the new one.
    of: Vec<Option<Ix>>,
    /// By new entry: the old one.
    was: HashMap<Ix, Ix>,
    /// Entries that were removed on purpose.
    gone: HashSet<Ix>,
    /// Copies of an id that the first entry with that id now represents: the first entry, by the
    /// copy.
    first: HashMap<Ix, Ix>,
}

impl Images {
    fn map(
        examined: &Examined,
        old: &Session,
        new: &Session,
        text: &Text,
        taken_apart: &HashSet<u64>,
    ) -> Images {
        let mut lines: Vec<(u64, Ix)> = new
            .entries
            .all()
            .map(|ix| (text.origin(new.entries.line(ix), new.span(ix).offset).line, ix))
            .filter(|(line, _)| *line > 0)
            .collect();
        lines.sort_unstable();
        let on = |line: u64| {
            let from = lines.partition_point(|(of, _)| *of < line);
            let to = from + lines[from..].partition_point(|(of, _)| *of == line);
            &lines[from..to]
        };
        let mut images = Images {
            of: vec![None; old.entries.len()],
            was: HashMap::new(),
            gone: HashSet::new(),
            first: HashMap::new(),
        };
        let mut by_key: Option<HashMap<Key, Ix>> = None;
        for ix in old.tree.entries_in_tree() {
            let (line, key) = (old.entries.line(ix), old.entries.key(ix));
            let image = match on(line) {
                [(_, only)] => Some(*only),
                [] => None,
                several => several.iter().map(|(_, at)| *at).find(|at| new.entries.key(*at) == key),
            };
            let image = image.or_else(|| {
                let by_key = by_key.get_or_insert_with(|| {
                    new.tree
                        .entries_in_tree()
                        .map(|ix| (new.entries.key(ix), ix))
                        .filter(|(key, _)| key.is_some())
                        .collect()
                });
                by_key.get(&key).copied()
            });
            images.of[ix.index()] = image;
        }
        let standing = old.tree.entries_in_tree();
        images.gone = standing
            .filter(|ix| taken_apart.contains(&old.entries.line(*ix)))
            .filter(|ix| on(old.entries.line(*ix)).is_empty())
            .collect();
        images.copies(examined, old, on);
        for ix in old.tree.entries_in_tree() {
            if let Some(image) = images.of[ix.index()] {
                images.was.insert(image, ix);
            }
        }
        for (copy, first) in &images.first {
            images.was.entry(*first).or_insert(*copy);
        }
        images
    }

    /// Finds the entries that now represent a copy of their id, because the copy got another id or
    /// was set aside.
    fn copies<'l>(&mut self, examined: &Examined, old: &Session, on: impl Fn(u64) -> &'l [(u64, Ix)]) {
        let copies = examined
            .findings
            .list
            .iter()
            .filter(|finding| matches!(finding.check, Check::DuplicateId | Check::DuplicateEntry));
        let mut firsts: HashMap<u64, u64> = HashMap::new();
        for finding in copies {
            if let (Some(copy), Some(first)) = (finding.entry, finding.other) {
                let line = |ix| {
                    let number = examined.session.entries.line(ix);
                    examined.text.origin(number, examined.session.span(ix).offset).line
                };
                firsts.insert(line(copy), line(first));
            }
        }
        if firsts.is_empty() {
            return;
        }
        for ix in old.tree.entries_in_tree() {
            if let Some(first) = firsts.get(&old.entries.line(ix))
                && let [(_, first), ..] = on(*first)
            {
                self.first.insert(ix, *first);
            }
        }
    }

    /// Returns the first entry that is lost, and the number of lost entries.
    fn lost(&self, old: &Session) -> Option<(Ix, usize)> {
        // An entry that has no id and no place in the conversation is not one that anything could
        // lead to.
        let is_entry = |ix: Ix| old.entries.key(ix).is_some() || old.entries.kind(ix).is_turn();
        let is_lost = |ix: &Ix| {
            is_entry(*ix)
                && self.of[ix.index()].is_none()
                && !self.gone.contains(ix)
                && !self.first.contains_key(ix)
        };
        let mut lost = old.tree.entries_in_tree().filter(is_lost);
        let first = lost.next()?;
        Some((first, 1 + lost.count()))
    }

    /// Returns the entry that takes the place of another on paths.
    fn on_path(&self, ix: Ix) -> Option<Ix> {
        if self.gone.contains(&ix) && !self.first.contains_key(&ix) {
            return None;
        }
        self.first.get(&ix).copied().or(self.of[ix.index()])
    }
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

/// The results of one walk over all links for each path.
struct Walk<'a> {
    old: &'a AgentTree,
    new: &'a AgentTree,
    /// By old entry: whether its whole path is on that of its image, in the same order.
    holds: Vec<bool>,
    /// By old entry: its image, or that of its nearest ancestor that has one.
    image: Vec<Option<Ix>>,
    /// By old entry: how many entries of its path have an image.
    len: Vec<u32>,
    /// By old entry: how many of the images on its path are bad results or calls.
    bad: Vec<u32>,
    /// By old entry: whether parts of replies or results changed that are beside its path, but may
    /// be sent with it.
    beside: Vec<bool>,
    /// By new entry of Claude Code that is not a turn: whether it or a note below it is a
    /// compaction. Claude Code continues from the last note below a turn.
    compacts: Vec<bool>,
    /// The same by old entry.
    compacted: Vec<bool>,
    old_paths: Vec<Path>,
    new_paths: Vec<Path>,
    new_bad: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(proof: &Compared<'a>) -> Walk<'a> {
        let (old_tree, new_tree) = (proof.old_tree, proof.new_tree);
        let (old, new) = (proof.before.session, proof.after.session);
        let count = old.entries.len();
        let old_bad = bad_pairs(old, old_tree);
        let is_bad = bad_pairs(new, new_tree);
        let edited: HashSet<u64> = proof.content_changes();
        let mut walk = Walk {
            old: old_tree,
            new: new_tree,
            holds: vec![false; count],
            image: vec![None; count],
            len: vec![0; count],
            bad: vec![0; count],
            beside: vec![false; count],
            compacts: compacting_notes(new, new_tree),
            compacted: compacting_notes(old, old_tree),
            old_paths: paths(old, old_tree),
            new_paths: paths(new, new_tree),
            new_bad: vec![0; new.entries.len()],
        };
        for (ix, above) in new_tree.walk() {
            let bad = above.map_or(0, |above| walk.new_bad[above.index()]);
            walk.new_bad[ix.index()] = bad + u32::from(is_bad.contains(&ix));
        }
        let old_tools = tools_by_entry(old);
        let new_tools = tools_by_entry(new);
        let beside = proof.with_changed_parts(&old_tools, &new_tools);
        for (ix, above) in old_tree.walk() {
            walk.beside[ix.index()] =
                beside.contains(&ix) || above.is_some_and(|above| walk.beside[above.index()]);
            let up = above.map_or((true, None, 0, 0), |above| {
                let at = above.index();
                (walk.holds[at], walk.image[at], walk.len[at], walk.bad[at])
            });
            let (holds, image_above, len, bad) = up;
            let (holds, image, len, bad) = match proof.images.on_path(ix) {
                None => (holds, image_above, len, bad),
                Some(image) => {
                    let below = image_above.is_none_or(|above| new_tree.is_above(above, image));
                    let same = !edited.contains(&old.entries.line(ix))
                        && is_alike(old, ix, &old_tools, new, image, &new_tools);
                    let worse = is_bad.contains(&image) && !old_bad.contains(&ix);
                    let bad = bad + u32::from(is_bad.contains(&image));
                    (holds && below && same && !worse, Some(image), len + 1, bad)
                }
            };
            let at = ix.index();
            (walk.holds[at], walk.image[at], walk.len[at], walk.bad[at]) = (holds, image, len, bad);
        }
        walk
    }

    fn image(&self, ix: Ix) -> Option<Ix> {
        self.image[ix.index()]
    }

    /// Returns the end of a branch after the repair, given its old end. It may be an entry that was
    /// above it.
    fn end(&self, leaf: Ix) -> Option<Ix> {
        /// The maximum number of entries that may have changed places with their ancestors.
        const MOST_RISEN: usize = 64;
        let image = self.image(leaf)?;
        if self.new.is_leaf(image) {
            return Some(image);
        }
        let above = self.old.ancestors(leaf).take(MOST_RISEN).filter_map(|above| self.image(above));
        let below = above.filter(|above| self.new.is_above(image, *above));
        below.max_by_key(|below| self.new_paths[below.index()].depth)
    }

    /// Returns whether a compaction follows a turn of Claude Code that none followed before.
    fn is_followed_anew(&self, old: &Session, turn: Ix) -> bool {
        old.entries.kind(turn).is_turn()
            && self.image(turn).is_some_and(|image| is_followed(&self.compacts, self.new, image))
            && !is_followed(&self.compacted, self.old, turn)
    }

    /// Returns whether the links show that everything that was sent at `leaf` is sent at `end`, and
    /// nothing bad in addition.
    fn is_clear(&self, leaf: Ix, end: Ix) -> bool {
        let at = leaf.index();
        if !self.holds[at] || self.old.goes_by_lines || self.new.goes_by_lines {
            return false;
        }
        if is_followed(&self.compacts, self.new, end) {
            return false;
        }
        let (old, new) = (&self.old_paths[at], &self.new_paths[end.index()]);
        if new.depth == self.len[at] {
            return self.image[at] == Some(end);
        }
        let depth = |ix: Ix| self.new_paths[ix.index()].depth;
        let same_compaction = old
            .compaction
            .is_none_or(|old| new.compaction.is_some() && self.image[old.index()] == new.compaction);
        let kept = match (new.from, self.image[old.begins.index()]) {
            (None, _) => true,
            (Some(from), Some(begins)) => depth(from) <= depth(begins),
            (Some(_), None) => false,
        };
        same_compaction && kept && old.edits == new.edits && self.new_bad[end.index()] == self.bad[at]
    }
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

/// Returns whether two entries have the same role in what is sent.
fn is_alike(
    old: &Session,
    one: Ix,
    old_tools: &[(Ix, bool, Key)],
    new: &Session,
    other: Ix,
    new_tools: &[(Ix, bool, Key)],
) -> bool {
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
        let led_away = [
            Check::StalePointer,
            Check::ExplicitNullPointer,
            Check::PointerToSidechain,
            Check::SidechainTrunk,
            Check::DanglingLeaf,
        ];
        if self.meant.has(&led_away) {
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
            let is_read = self.images.on_path(entry).is_some_and(|image| self.new_tree.has(image));
            old.entries.line(entry) < self.replaced && !is_read
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
        let after = Rc::new(SentAfter { said, hidden, messages, sent });
        self.sent_after.borrow_mut().add(end, after.clone());
        Ok(after)
    }

    /// Returns those of some entries that are not even sent if the agent continues from them.
    fn not_sent_elsewhere(&self, mut entries: Vec<Ix>) -> io::Result<Vec<Ix>> {
        /// The maximum number of places that are tried.
        const MOST_TRIED: usize = 64;
        entries.sort_unstable();
        let mut lost = Vec::new();
        // A later entry is probably below the others.
        for _ in 0..MOST_TRIED {
            let Some(last) = entries.pop() else { return Ok(lost) };
            let image = self.images.of[last.index()].or(self.images.on_path(last));
            let after = self.sent_after(image)?;
            let is_sent = |entry: Ix| {
                let of = [self.images.of[entry.index()], self.images.on_path(entry)];
                of.into_iter().flatten().any(|image| after.messages.contains(&image))
            };
            if !is_sent(last) {
                lost.push(last);
            }
            entries.retain(|entry| !is_sent(*entry));
        }
        lost.append(&mut entries);
        Ok(lost)
    }

    /// Returns whether anything was removed from the line of an entry on purpose.
    fn taken_apart(&self, entry: Ix) -> bool {
        self.taken_apart.contains(&self.before.session.entries.line(entry))
    }
}

/// How much of an entry is sent.
#[derive(Clone, Copy, Default)]
struct Said {
    messages: usize,
    calls: usize,
    results: usize,
}

impl Said {
    fn add(&mut self, other: Said) {
        self.messages += other.messages;
        self.calls += other.calls;
        self.results += other.results;
    }

    fn is_at_least(&self, other: Said) -> bool {
        self.messages >= other.messages && self.calls >= other.calls && self.results >= other.results
    }
}

/// Something that a provider rejects.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Bad {
    NoCall,
    ResultAgain,
    CallAgain,
}

/// What is sent at one place after the repair, in terms of the entries before it.
struct SentAfter {
    sent: Sent,
    /// How much of each entry is sent, by old entry.
    said: HashMap<Ix, Said>,
    /// The old entries that an entry hides which the agent did not read before.
    hidden: HashSet<Ix>,
    /// The new entries that are sent.
    messages: HashSet<Ix>,
}

/// What is sent at the places that were last asked for.
#[derive(Default)]
struct Recent {
    places: VecDeque<(Option<Ix>, Rc<SentAfter>)>,
}

impl Recent {
    /// The maximum number of places that are kept.
    const MOST: usize = 4;

    fn get(&self, end: Option<Ix>) -> Option<Rc<SentAfter>> {
        self.places.iter().find(|(of, _)| *of == end).map(|(_, sent)| sent.clone())
    }

    fn add(&mut self, end: Option<Ix>, sent: Rc<SentAfter>) {
        if self.places.len() == Self::MOST {
            self.places.pop_front();
        }
        self.places.push_back((end, sent));
    }
}

/// What is sent at one place.
struct Sent {
    messages: Vec<(Ix, Said)>,
    dropped: Vec<(Ix, Why)>,
    bad: Vec<(Ix, Bad, String)>,
    /// The path, root first.
    path: Vec<Ix>,
    /// Entries that were reached over a gap, by their times.
    bridged: HashSet<Ix>,
}

impl Sent {
    fn read(
        reading: &Reading<'_>,
        contexts: &mut Contexts<'_>,
        tree: &AgentTree,
        leaf: Option<Ix>,
    ) -> io::Result<Sent> {
        let session = reading.session;
        let context = contexts.in_full(leaf)?;
        let mut sent = Sent {
            messages: Vec::new(),
            dropped: Vec::new(),
            bad: Vec::new(),
            path: leaf.map(|leaf| tree.path(leaf)).unwrap_or_default(),
            bridged: HashSet::new(),
        };
        sent.dropped.extend(context.dropped.iter().map(|dropped| (dropped.entry, dropped.why)));
        let mut line = Vec::new();
        // Whether each call that was sent has its result.
        let mut answered: HashMap<String, bool> = HashMap::new();
        for message in context.sent() {
            let Some(entry) = message.entry else { continue };
            if message.patches.contains(&Patch::Bridged) {
                sent.bridged.insert(entry);
            }
            let mut said = Said { messages: 1, ..Said::default() };
            let words = message.read(session, reading.source, &mut line)?;
            if words.bytes == 0 && message.patches.iter().any(|patch| matches!(patch, Patch::MadeUp { .. })) {
                // Nothing of the entry is sent: Claude Code sends something in its place.
                continue;
            }
            for block in words.blocks {
                match block {
                    Block::Call { id, .. } => {
                        said.calls += 1;
                        if answered.insert(id.to_string(), false).is_some() {
                            sent.bad.push((entry, Bad::CallAgain, id.into_owned()));
                        }
                    }
                    Block::Result { call, .. } => {
                        said.results += 1;
                        match answered.get_mut(&*call) {
                            None => sent.bad.push((entry, Bad::NoCall, call.into_owned())),
                            Some(answered) => {
                                if std::mem::replace(answered, true) {
                                    sent.bad.push((entry, Bad::ResultAgain, call.into_owned()));
                                }
                            }
                        }
                    }
                    _ => {}
                }
            }
            sent.messages.push((entry, said));
        }
        Ok(sent)
    }
}
