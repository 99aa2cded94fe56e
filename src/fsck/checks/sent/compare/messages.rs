//! The messages after a repair, as they are looked up for the messages before it.

use super::Reading;
use crate::context::{Contexts, Patch, Why};
use crate::format::Block;
use crate::fsck::checks::links::agent::AgentTree;
use crate::model::Ix;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::rc::Rc;

/// How much of an entry is sent.
#[derive(Clone, Copy, Default)]
pub(super) struct Said {
    pub(super) messages: usize,
    pub(super) calls: usize,
    pub(super) results: usize,
}

impl Said {
    pub(super) fn add(&mut self, other: Said) {
        self.messages += other.messages;
        self.calls += other.calls;
        self.results += other.results;
    }

    pub(super) fn is_at_least(&self, other: Said) -> bool {
        self.messages >= other.messages && self.calls >= other.calls && self.results >= other.results
    }
}

/// Something that a provider rejects.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Bad {
    NoCall,
    ResultAgain,
    CallAgain,
}

/// What is sent at one place after the repair, in terms of the entries before it.
pub(super) struct SentAfter {
    pub(super) sent: Sent,
    /// How much of each entry is sent, by old entry.
    pub(super) said: HashMap<Ix, Said>,
    /// The old entries that an entry hides which the agent did not read before.
    pub(super) hidden: HashSet<Ix>,
    /// The new entries that are sent.
    pub(super) messages: HashSet<Ix>,
    /// The last compaction on the path that the agent did not read before: Claude Code reads nothing before it.
    pub(super) compaction: Option<Ix>,
}

/// What is sent at the places that were last asked for.
#[derive(Default)]
pub(super) struct Recent {
    pub(super) places: VecDeque<(Option<Ix>, Rc<SentAfter>)>,
}

impl Recent {
    /// The maximum number of places that are kept.
    const MOST: usize = 4;

    pub(super) fn get(&self, end: Option<Ix>) -> Option<Rc<SentAfter>> {
        self.places.iter().find(|(of, _)| *of == end).map(|(_, sent)| sent.clone())
    }

    pub(super) fn add(&mut self, end: Option<Ix>, sent: Rc<SentAfter>) {
        if self.places.len() == Self::MOST {
            self.places.pop_front();
        }
        self.places.push_back((end, sent));
    }
}

/// What is sent at one place.
pub(super) struct Sent {
    pub(super) messages: Vec<(Ix, Said)>,
    pub(super) dropped: Vec<(Ix, Why)>,
    pub(super) bad: Vec<(Ix, Bad, String)>,
    /// The path, root first.
    pub(super) path: Vec<Ix>,
    /// Entries that were reached over a gap, by their times.
    pub(super) bridged: HashSet<Ix>,
}

impl Sent {
    pub(super) fn read(
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
