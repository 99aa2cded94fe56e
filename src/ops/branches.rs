//! The branches of a session.
//!
//! A branch is the path to an entry that has no other entry of the conversation below it. Any
//! entries below that one are bookkeeping, and the last of them is the leaf from which the agent
//! would continue.

use super::{Forest, filter, revision, thread};
use crate::format::{Format, Session};
use crate::model::{Ix, Source, Time, Tree};
use std::collections::HashMap;
use std::io;

/// One branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The last entry of the conversation on it.
    pub tip: Ix,
    /// The last entry on it, bookkeeping included.
    pub leaf: Ix,
    /// Whether HEAD is its tip.
    pub current: bool,
    /// How many entries its path has, from the root to the tip; bookkeeping counts only in a list of everything.
    pub entries: usize,
    /// How many of them are on no other branch.
    pub own: usize,
    /// The last entry that it shares with another branch.
    pub fork_point: Option<Ix>,
    /// The time of the first entry that is on no other branch.
    pub first: Time,
    /// The time of the tip.
    pub last: Time,
    /// The last prompt on it.
    pub prompt: Option<Ix>,
}

/// What counts as a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchRule {
    /// Paths of the conversation.
    Conversation,
    /// Paths to all entries without children, bookkeeping or not.
    Everything,
}

/// Returns the branches of a session, in the order of their tips in the file.
///
/// Costs a few passes over the entries, however many branches there are.
pub fn list(session: &Session, of: BranchRule) -> Vec<Branch> {
    list_in(session, &session.tree, of)
}

/// How many branches the conversation has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// The branches.
    pub branches: usize,
    /// The entries at which they part.
    pub points: usize,
    /// The entries with which they begin.
    pub roots: usize,
}

/// Counts the branches of the conversation: for Claude Code in bough's own thread, for other formats as
/// stored.
pub fn counts(session: &Session, source: &dyn Source) -> io::Result<Counts> {
    if session.format == Format::Claude && !session.partial {
        let reading = thread::read(session, source)?;
        return Ok(counts_in(session, &reading.tree()));
    }
    Ok(counts_in(session, &session.tree))
}

/// Returns the number of branches of the conversation, as [`counts()`] counts them.
pub fn count(session: &Session, source: &dyn Source) -> io::Result<usize> {
    Ok(counts(session, source)?.branches)
}

/// Counts the branches of the conversation in a tree over the entries of a session.
fn counts_in(session: &Session, tree: &Tree) -> Counts {
    let forest = forest(session, tree, BranchRule::Conversation);
    let ways = Ways::build(&forest, session);
    let points = ways.children.iter().filter(|children| **children > 1).count();
    let roots = forest.parents_first().filter(|ix| forest.parent(*ix).is_none()).count();
    Counts { branches: ways.tips().count(), points, roots }
}

/// Returns the last entry of the conversation on each branch in a tree over the entries of a
/// session, in file order.
pub(super) fn tips(session: &Session, tree: &Tree) -> Vec<Ix> {
    let forest = forest(session, tree, BranchRule::Conversation);
    Ways::build(&forest, session).tips().collect()
}

/// Returns the branches of a session in a tree over its entries.
fn list_in(session: &Session, tree: &Tree, of: BranchRule) -> Vec<Branch> {
    let entries = &session.entries;
    let forest = forest(session, tree, of);
    let ways = Ways::build(&forest, session);
    let leaf_of = leaves_by_tip(session, tree, &forest);
    let mut depth = vec![0u32; entries.len()];
    for ix in forest.parents_first() {
        depth[ix.index()] = 1 + forest.parent(ix).map_or(0, |parent| depth[parent.index()]);
    }
    let position = session.end().or(session.head.leaf).and_then(|ix| forest.at_or_above(ix));
    let mut prompts = HashMap::new();
    let tips = ways.tips().map(|tip| {
        let leaf = leaf_of.get(&tip).copied().unwrap_or(tip);
        let (first, fork_point) = ways.first_of_its_own(tip);
        let shared = fork_point.map_or(0, |ix| depth[ix.index()]);
        Branch {
            tip,
            leaf,
            current: position == Some(tip),
            entries: depth[tip.index()] as usize,
            own: (depth[tip.index()] - shared) as usize,
            fork_point,
            first: entries.time(first),
            last: entries.time(tip),
            prompt: ways.prompt(tip, &mut prompts),
        }
    });
    tips.collect()
}

/// Returns the leaf below each tip.
fn leaves_by_tip(session: &Session, tree: &Tree, forest: &Forest<'_>) -> HashMap<Ix, Ix> {
    // If there are several leaves below a tip, the last one counts, unless another is that of HEAD.
    let mut leaf_of: HashMap<Ix, Ix> = HashMap::new();
    for leaf in tree.leaves().chain(session.head.leaf) {
        if let Some(tip) = forest.at_or_above(leaf) {
            leaf_of.insert(tip, leaf);
        }
    }
    leaf_of
}

/// Counts how many branches continue below each entry of a forest.
struct Ways<'f> {
    forest: &'f Forest<'f>,
    session: &'f Session,
    /// The number of children of each entry; 2 means two or more.
    children: Vec<u8>,
}

impl<'f> Ways<'f> {
    fn build(forest: &'f Forest<'f>, session: &'f Session) -> Ways<'f> {
        let mut children = vec![0u8; session.entries.len()];
        for parent in forest.children_first().filter_map(|ix| forest.parent(ix)) {
            let children = &mut children[parent.index()];
            *children = (*children + 1).min(2);
        }
        Ways { forest, session, children }
    }

    fn from(&self, ix: Ix) -> u8 {
        self.children[ix.index()]
    }

    /// Returns the entries of the forest below which no branch continues, in file order.
    fn tips(&self) -> impl Iterator<Item = Ix> + '_ {
        self.session.entries.all().filter(|ix| self.forest.shows(*ix) && self.from(*ix) == 0)
    }

    /// Returns the first entry that is only on the branch of `tip`, and the branch point above it.
    fn first_of_its_own(&self, tip: Ix) -> (Ix, Option<Ix>) {
        let mut at = tip;
        loop {
            match self.forest.parent(at) {
                Some(parent) if self.from(parent) < 2 => at = parent,
                fork_point => return (at, fork_point),
            }
        }
    }

    /// Returns the last prompt from `ix` upward. Results for branch points are stored in `known`,
    /// so that no part of the path between two of them is walked twice.
    fn prompt(&self, ix: Ix, known: &mut HashMap<Ix, Option<Ix>>) -> Option<Ix> {
        let mut points = Vec::new();
        let mut at = Some(ix);
        let found = loop {
            let Some(ix) = at else { break None };
            if let Some(found) = known.get(&ix) {
                break *found;
            }
            if self.from(ix) > 1 {
                points.push(ix);
            }
            if revision::is_prompt(self.session, ix) {
                break Some(ix);
            }
            at = self.forest.parent(ix);
        };
        known.extend(points.into_iter().map(|point| (point, found)));
        found
    }
}

/// Returns the branch points, in file order, each with its number of branches.
pub fn points(session: &Session, of: BranchRule) -> Vec<(Ix, usize)> {
    let forest = forest(session, &session.tree, of);
    let mut children = vec![0u32; session.entries.len()];
    for ix in forest.children_first() {
        if let Some(parent) = forest.parent(ix) {
            children[parent.index()] += 1;
        }
    }
    let points = session.entries.all().filter(|ix| children[ix.index()] > 1);
    points.map(|ix| (ix, children[ix.index()] as usize)).collect()
}

fn forest<'t>(session: &Session, tree: &'t Tree, of: BranchRule) -> Forest<'t> {
    let count = session.entries.len();
    match of {
        BranchRule::Conversation => Forest::new(tree, count, |ix| filter::conversation(session, ix)),
        BranchRule::Everything => Forest::new(tree, count, |_| true),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::format::{Builder, Format, Session};
    use crate::json::Reader;

    /// Builds a pi session of `"a; b<a; c<b"`; a name beginning with a dot is a label, one with `?`
    /// a prompt.
    pub(in crate::ops) fn session(text: &str) -> (Vec<String>, Session) {
        let mut names = Vec::new();
        let mut file =
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}"#
                .to_owned();
        for item in text.split(';').map(str::trim) {
            let (id, parent) = item.split_once('<').unwrap_or((item, ""));
            names.push(id.to_owned());
            let parent = if parent.is_empty() { "null".to_owned() } else { format!("{parent:?}") };
            let role = if id.starts_with('?') { "user" } else { "assistant" };
            let rest = match id.starts_with('.') {
                true => r#""type":"label","targetId":"a","label":"x""#.to_owned(),
                false => format!(r#""type":"message","message":{{"role":"{role}","content":"x"}}"#),
            };
            file += &format!("\n{{\"id\":{id:?},\"parentId\":{parent},{rest}}}");
        }
        let mut builder = Builder::new(Format::Pi);
        builder.begin_file();
        let mut reader = Reader::new();
        let space = reader.space();
        space[..file.len()].copy_from_slice(file.as_bytes());
        reader.advance(file.len(), |line| builder.line(line));
        reader.finish(|line| builder.line(line));
        (names, builder.finish())
    }

    #[test]
    #[rustfmt::skip] // a table
    fn branches_end_where_the_conversation_does() {
        let check = |text: &str, wanted: &str| {
            let (names, session) = session(text);
            let name = |ix: Ix| names[ix.index()].as_str();
            let got: Vec<String> = list(&session, BranchRule::Conversation)
                .iter()
                .map(|branch| format!(
                    "{}{} {}/{} fork {} leaf {} prompt {}",
                    if branch.current { "*" } else { "" },
                    name(branch.tip), branch.own, branch.entries,
                    branch.fork_point.map_or("-", name), name(branch.leaf), branch.prompt.map_or("-", name),
                ))
                .collect();
            assert_eq!(got.join("; "), wanted, "{text}");
        };
        //     entries in file order           tip own/entries fork point, leaf, prompt
        check("?a; b<?a",                      "*b 2/2 fork - leaf b prompt ?a");
        check("?a; b<?a; ?c<?a",               "b 1/2 fork ?a leaf b prompt ?a; *?c 1/2 fork ?a leaf ?c prompt ?c");
        check("?a; b<?a; .l<b",                "*b 2/2 fork - leaf .l prompt ?a");
        check("?a; b<?a; .l<?a",               "b 2/2 fork - leaf b prompt ?a");     // the label is no branch
        check("?a; b<?a; .l<b; c<.l; .m<b",    "c 3/3 fork - leaf c prompt ?a");
        check("a; b<a; c; d<c; e<c",           "b 2/2 fork - leaf b prompt -; d 1/2 fork c leaf d prompt -; *e 1/2 fork c leaf e prompt -");
        check(".l",                            "");
    }
}
