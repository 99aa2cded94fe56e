//! `bough stats`: entries, tools, tokens, cost, sizes.
//!
//! [`Facts`] are read from each session; a [`Sum`] counts them, as a whole or in groups. Nothing is
//! counted twice: an entry that branches share is one entry, a reply on several lines is one reply,
//! and in a [`Total`] over sessions, the entries that forks and resumed sessions copied count as
//! the originals.

mod facts;
mod groups;
mod own_totals;
mod prices;

pub use facts::{Answer, Call, Facts, FileCall, Spent, touched_files};
pub use groups::{Item, Models, grouped_by};
use own_totals::OwnTotals;
pub use prices::{Price, Prices};

use crate::format::{Session, Usage};
use crate::model::{BuildKeyHasher, Flags, Ix, Kind, Span, Time};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The counts.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    /// Entries of each kind, and their bytes.
    pub kinds: BTreeMap<Kind, Amount>,
    /// Tools, by name.
    pub tools: BTreeMap<String, Tool>,
    /// Usage of each model, by name; the empty name collects usage without a model.
    pub models: BTreeMap<String, Taken>,
    /// Usage of the conversation.
    pub taken: Taken,
    /// Usage of the subagents that it started.
    pub agents: Taken,
    /// The first time of an entry.
    pub first: Option<Time>,
    /// The last time of an entry.
    pub last: Option<Time>,
    /// The largest entries, largest first.
    pub biggest: Vec<Big>,
    /// Whether the cost is, for at least one session, the total that the agent itself keeps.
    pub is_agents_cost: bool,
    /// How often tools read files.
    pub reads: u64,
    /// How often tools changed files.
    pub changes: u64,
}

/// A number of entries, and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    /// The number.
    pub count: u64,
    /// The bytes of their lines.
    pub bytes: u64,
}

/// The counts of a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tool {
    /// How often it was called.
    pub calls: u64,
    /// The number of results.
    pub results: u64,
    /// How many results report a failure.
    pub errors: u64,
}

/// Usage, as stored.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Taken {
    /// Replies of the model.
    pub replies: u64,
    /// How many of them have no cost.
    pub unpriced: u64,
    /// Tokens and cost of replies, and of everything else that stores its usage.
    pub usage: Usage,
}

/// A large entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Big {
    /// The session, in the order in which sessions were counted.
    pub session: usize,
    /// Its line.
    pub span: Span,
    /// The number of its line, starting at 1.
    pub line: u64,
    /// Its kind.
    pub kind: Kind,
}

/// How many of the largest entries are kept.
pub const BIGGEST: usize = 10;

impl Sum {
    /// Counts a session.
    #[cfg(test)]
    fn count(session: &Session, facts: &Facts) -> Sum {
        let mut sums = [Sum::default()];
        count(session, facts, 0, &mut |_| Some(0), &mut |_| Some(0), &mut sums);
        let [mut sum] = sums;
        sum.take_total(agents_cost(session), Before::default());
        sum
    }

    /// Replaces the cost that the entries of a session add up to with the total that the agent itself
    /// keeps, if it keeps one: the entries are rarely complete. Only for the sum of the whole session.
    pub fn take_own_total(&mut self, fresh: &Fresh) {
        self.take_total(fresh.own_total, Before::default());
    }

    /// Does the same in a sum over sessions, of which those before cost `before`.
    fn take_total(&mut self, total: Option<f64>, before: Before) {
        if let Some(total) = total {
            self.taken.usage.cost = Some(before.cost.unwrap_or(0.0) + total);
            self.taken.unpriced = before.unpriced;
            self.is_agents_cost = true;
        }
    }

    fn entry(&mut self, session: &Session, number: usize, ix: Ix) {
        let entries = &session.entries;
        let span = session.span(ix);
        let kind = self.kinds.entry(entries.kind(ix)).or_default();
        kind.count += 1;
        kind.bytes += span.len;
        let time = entries.time(ix);
        if time.is_some() {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
            self.last = Some(self.last.map_or(time, |last| last.max(time)));
        }
        self.big(Big { session: number, span, line: entries.line(ix), kind: entries.kind(ix) });
    }

    /// Takes back a reply without tokens.
    fn forget(&mut self, bare: &Bare) {
        let sum = if bare.aside { &mut self.agents } else { &mut self.taken };
        for taken in [Some(sum), self.models.get_mut(&bare.model)].into_iter().flatten() {
            taken.replies = taken.replies.saturating_sub(1);
            taken.unpriced = taken.unpriced.saturating_sub(u64::from(!bare.has_cost));
        }
    }

    fn spent(&mut self, spent: &Spent, model: &str, aside: bool) {
        let sum = if aside { &mut self.agents } else { &mut self.taken };
        sum.add(spent);
        slot(&mut self.models, model).add(spent);
    }

    fn big(&mut self, big: Big) {
        if self.biggest.len() == BIGGEST && self.biggest[BIGGEST - 1].span.len >= big.span.len {
            return;
        }
        let at = self.biggest.partition_point(|known| known.span.len >= big.span.len);
        self.biggest.insert(at, big);
        self.biggest.truncate(BIGGEST);
    }

    /// Returns how many entries were counted, and their bytes.
    pub fn entries(&self) -> Amount {
        let mut all = Amount::default();
        for amount in self.kinds.values() {
            all.count += amount.count;
            all.bytes += amount.bytes;
        }
        all
    }

    /// Returns how many entries of a kind were counted.
    pub fn of_kind(&self, kind: Kind) -> u64 {
        self.kinds.get(&kind).map_or(0, |amount| amount.count)
    }

    /// Returns the usage of the conversation and its subagents together.
    pub fn all_taken(&self) -> Taken {
        let mut all = self.taken;
        all.replies += self.agents.replies;
        all.unpriced += self.agents.unpriced;
        all.usage.add(&self.agents.usage);
        all
    }

    /// Adds another sum, as of another session.
    pub fn join(&mut self, other: Sum) {
        for (kind, amount) in other.kinds {
            let known = self.kinds.entry(kind).or_default();
            known.count += amount.count;
            known.bytes += amount.bytes;
        }
        for (name, tool) in other.tools {
            self.tools.entry(name).or_default().join(&tool);
        }
        for (name, taken) in other.models {
            self.models.entry(name).or_default().join(&taken);
        }
        self.taken.join(&other.taken);
        self.agents.join(&other.agents);
        let times = [self.first, self.last, other.first, other.last];
        self.first = times.into_iter().flatten().min();
        self.last = times.into_iter().flatten().max();
        self.is_agents_cost |= other.is_agents_cost;
        self.reads += other.reads;
        self.changes += other.changes;
        for big in other.biggest {
            self.big(big);
        }
    }
}

/// Returns the total cost that the agent itself keeps of a session.
fn agents_cost(session: &Session) -> Option<f64> {
    session.claude.cost.filter(|_| session.claude.agent.is_none()).map(|cost| cost.0)
}

impl Tool {
    fn join(&mut self, other: &Tool) {
        self.calls += other.calls;
        self.results += other.results;
        self.errors += other.errors;
    }
}

impl Taken {
    fn add(&mut self, spent: &Spent) {
        self.replies += u64::from(spent.is_reply);
        let has_cost = spent.usage.is_some_and(|usage| usage.cost.is_some());
        self.unpriced += u64::from(spent.is_reply && !has_cost);
        if let Some(usage) = &spent.usage {
            self.usage.add(usage);
        }
    }

    fn join(&mut self, other: &Taken) {
        self.replies += other.replies;
        self.unpriced += other.unpriced;
        self.usage.add(&other.usage);
    }
}

/// A sum over sessions, in which copies count once.
#[derive(Debug, Default)]
pub struct Total {
    /// The counts.
    pub sum: Sum,
    /// How many entries were skipped because they are copies.
    pub copies: u64,
    /// How many sessions were counted.
    pub sessions: usize,
    entries: HashSet<u64, BuildKeyHasher>,
    spent: HashSet<u64, BuildKeyHasher>,
    /// The totals that the agent keeps of the counted sessions.
    own_totals: OwnTotals,
    /// Replies without tokens that were counted: a session that was converted has none, and its original may
    /// come later.
    bare: HashMap<u64, Bare, BuildKeyHasher>,
}

/// A reply without tokens that was counted.
#[derive(Debug)]
struct Bare {
    model: String,
    /// Whether it is a subagent's.
    aside: bool,
    has_cost: bool,
}

/// Which entries of a session count: those that are not copies of counted ones, and are in the
/// wanted range of times.
#[derive(Clone, Debug)]
pub struct Fresh {
    entries: Vec<bool>,
    spent: Vec<bool>,
    /// The total that the agent itself keeps of the session, as far as it was not counted with a copy of it.
    own_total: Option<f64>,
}

/// The cost that was counted before a session.
#[derive(Clone, Copy, Default)]
struct Before {
    cost: Option<f64>,
    unpriced: u64,
}

impl Total {
    /// Returns whether a use of tokens was not counted before, or only as a reply without tokens.
    fn is_new(&self, spent: &Spent) -> bool {
        !self.spent.contains(&spent.twin) || spent.has_tokens() && self.bare.contains_key(&spent.twin)
    }

    /// Counts the part of a session that was not counted before; returns which part that is.
    pub fn add(&mut self, session: &Session, facts: &Facts) -> Fresh {
        let before = Before { cost: self.sum.taken.usage.cost, unpriced: self.sum.taken.unpriced };
        let mut fresh = self.add_between(session, facts, |_| true);
        fresh.own_total = self.own_total(session, facts);
        self.sum.take_total(fresh.own_total, before);
        fresh
    }

    /// Returns what the agent's own total of a session adds to those that were counted.
    fn own_total(&mut self, session: &Session, facts: &Facts) -> Option<f64> {
        let total = agents_cost(session)?;
        let is_own = |spent: &&Spent| spent.is_reply && facts.forked.binary_search(&spent.entry).is_err();
        let tokens = |spent: &Spent| spent.usage.map_or(0, |usage| usage.tokens());
        let replies: Vec<(u64, u64)> =
            facts.spent.iter().filter(is_own).map(|spent| (spent.twin, tokens(spent))).collect();
        Some(self.own_totals.add(session.id().unwrap_or_default(), total, &replies))
    }

    /// Counts the part of a session that was not counted before and is in the wanted range of
    /// times. The agent's own total is not used.
    pub fn add_between(&mut self, session: &Session, facts: &Facts, wanted: impl Fn(Time) -> bool) -> Fresh {
        let in_time = |ix: Ix| wanted(session.entries.time(ix));
        let is_only = facts.twins.is_empty();
        let mut fresh = Fresh {
            entries: vec![false; session.entries.len()],
            spent: facts
                .spent
                .iter()
                .map(|spent| (is_only || self.is_new(spent)) && in_time(spent.entry))
                .collect(),
            own_total: None,
        };
        // Without ids, two entries of one session may well be equal: only those of other sessions
        // count as seen.
        for ix in session.tree.entries_in_tree().filter(|ix| in_time(*ix)) {
            let is_new = facts.twins.get(ix.index()).is_none_or(|twin| !self.entries.contains(twin));
            fresh.entries[ix.index()] = is_new;
            self.copies += u64::from(!is_new);
        }
        if !is_only {
            let new = session.tree.entries_in_tree().filter(|ix| fresh.entries[ix.index()]);
            self.entries.extend(new.map(|ix| facts.twins[ix.index()]));
            for (spent, _) in facts.spent.iter().zip(&fresh.spent).filter(|(_, is_new)| **is_new) {
                if let Some(bare) = self.bare.remove(&spent.twin) {
                    self.sum.forget(&bare);
                }
                if !spent.has_tokens() && spent.is_reply {
                    let model = spent.model.map(|model| facts.names[model as usize].clone());
                    let aside = session.entries.flags(spent.entry).has(Flags::SIDECHAIN);
                    let has_cost = spent.usage.is_some_and(|usage| usage.cost.is_some());
                    self.bare.insert(spent.twin, Bare { model: model.unwrap_or_default(), aside, has_cost });
                }
                self.spent.insert(spent.twin);
            }
        }
        let sums = std::slice::from_mut(&mut self.sum);
        let mut given = fresh.spent.iter();
        count(
            session,
            facts,
            self.sessions,
            &mut |ix| fresh.entries[ix.index()].then_some(0),
            &mut |_| given.next().filter(|is_new| **is_new).map(|_| 0),
            sums,
        );
        self.sessions += 1;
        fresh
    }
}

/// Counts a session in groups: `group` returns the group of each entry.
pub fn grouped<K: Ord + Clone>(
    session: &Session,
    facts: &Facts,
    mut group: impl FnMut(Ix) -> Option<K>,
) -> BTreeMap<K, Sum> {
    let of: Vec<Option<K>> = session.entries.all().map(&mut group).collect();
    let keys: std::collections::BTreeSet<&K> = of.iter().flatten().collect();
    let places: BTreeMap<&K, usize> = keys.iter().enumerate().map(|(at, key)| (*key, at)).collect();
    let mut sums = vec![Sum::default(); keys.len()];
    let at = |ix: Ix| places.get(of[ix.index()].as_ref()?).copied();
    count(session, facts, 0, &mut |ix| at(ix), &mut |given| at(given.entry), &mut sums);
    keys.into_iter().cloned().zip(sums).collect()
}

/// Returns the counts under a name. Copies the name only if it is new.
fn slot<'m, T: Default>(counts: &'m mut BTreeMap<String, T>, name: &str) -> &'m mut T {
    if !counts.contains_key(name) {
        counts.insert(name.to_owned(), T::default());
    }
    counts.get_mut(name).expect("it was put there")
}

/// Counts each entry, and the usage, in the sum whose index `entry` and `spent` return.
fn count(
    session: &Session,
    facts: &Facts,
    number: usize,
    entry: &mut dyn FnMut(Ix) -> Option<usize>,
    spent: &mut dyn FnMut(&Spent) -> Option<usize>,
    sums: &mut [Sum],
) {
    const NONE: u32 = u32::MAX;
    let mut place = vec![NONE; session.entries.len()];
    for ix in session.tree.entries_in_tree() {
        if let Some(at) = entry(ix) {
            place[ix.index()] = at as u32;
            sums[at].entry(session, number, ix);
        }
    }
    let name = |place: u32| facts.names[place as usize].as_str();
    let mut tools = Tools::new(facts, sums.len());
    for call in &facts.calls {
        let at = place[call.entry.index()] as usize;
        if let Some(sum) = sums.get_mut(at) {
            tools.slot(sum, Some(call.tool)).calls += 1;
        }
    }
    for result in &facts.results {
        let at = place[result.entry.index()] as usize;
        if let Some(sum) = sums.get_mut(at) {
            let tool = tools.slot(sum, result.tool);
            tool.results += 1;
            tool.errors += u64::from(result.failed);
        }
    }
    tools.end(sums);
    for given in &facts.spent {
        if let Some(at) = spent(given) {
            let aside = session.entries.flags(given.entry).has(Flags::SIDECHAIN);
            sums[at].spent(given, given.model.map_or("", name), aside);
        }
    }
}

/// Counts tools by the places of their names if there is a single sum: a search for each call by its name
/// would cost more than reading it.
struct Tools<'f> {
    facts: &'f Facts,
    /// By place; the last one is for results whose tool is unknown. Empty if there are several sums.
    counts: Vec<Tool>,
}

impl<'f> Tools<'f> {
    fn new(facts: &'f Facts, sums: usize) -> Tools<'f> {
        let places = if sums == 1 { facts.names.len() + 1 } else { 0 };
        Tools { facts, counts: vec![Tool::default(); places] }
    }

    fn name(&self, place: usize) -> &'f str {
        self.facts.names.get(place).map_or("", String::as_str)
    }

    /// Returns the counts of a tool in a sum.
    fn slot<'t>(&'t mut self, sum: &'t mut Sum, tool: Option<u32>) -> &'t mut Tool {
        let place = tool.map_or(self.facts.names.len(), |tool| tool as usize);
        if self.counts.is_empty() {
            return slot(&mut sum.tools, self.name(place));
        }
        &mut self.counts[place]
    }

    /// Adds what was counted by place.
    fn end(self, sums: &mut [Sum]) {
        let Some(sum) = sums.first_mut() else { return };
        for (place, counts) in
            self.counts.iter().enumerate().filter(|(_, counts)| **counts != Tool::default())
        {
            slot(&mut sum.tools, self.name(place)).join(counts);
        }
    }
}

#[cfg(test)]
mod tests;
