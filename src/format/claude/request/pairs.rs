//! Pairs tool calls with their results, and says which of them are not sent.

use super::{Dropped, Message, Part, Read, Role, Sending, Why};
use crate::format::Session;
use crate::format::claude::graph::Step;
use crate::format::claude::request::conversation::{Conversation, Item};
use crate::model::{Flags, Ix, Key, Kind};
use std::collections::{HashMap, HashSet};

/// The facts about a block that pairing needs.
pub(super) enum Block {
    Call(String),
    /// A result, and whether only its texts are sent although it contains more.
    Result(String, bool),
    /// A call of one of the service's own tools.
    OwnCall(String),
    /// Such a call without its result.
    Interrupted,
    /// A text of a reply that contains only white space.
    Blank,
    Thinking,
    /// Thinking of another model, which is not sent.
    OtherThinking,
    Other,
    /// Not an object: not sent.
    None,
}

/// Which calls and results belong together.
#[derive(Default)]
pub(super) struct Pairs {
    /// The first entry of each call.
    pub(super) called: HashMap<Key, Ix>,
    /// The first entry with a result of each call.
    pub(super) answered: HashMap<Key, Ix>,
    /// Which calls are kept without a result.
    pub(super) open: Open,
    /// The index of each entry with calls or results, counted over these only.
    pub(super) order: HashMap<Ix, usize>,
}

/// Which calls are kept without a result.
#[derive(Clone, Copy, Default)]
pub(super) enum Open {
    /// None: the main path ends with a prompt.
    #[default]
    None,
    /// Those of the reply at the end of the main path.
    Reply(Key, Ix),
    /// Those after the last prompt, from this index on: the main path ends with a result, or with
    /// calls after one.
    From(usize),
}

impl Pairs {
    pub(super) fn new(steps: &[(Step, Read)], session: &Session) -> Pairs {
        let mut pairs = Pairs::default();
        let mut prompt = 0;
        for (step, read) in steps {
            let ix = step.entry;
            let entries = &session.entries;
            let (kind, flags) = (entries.kind(ix), entries.flags(ix));
            if matches!(read, Read::Left(Why::ApiError)) {
                // It is not sent, but the conversation continued with it.
                pairs.open = Open::None;
            }
            let Read::Turn(blocks) = read else { continue };
            pairs.open = match kind {
                // Calls right after a result continue its turn.
                Kind::Assistant if flags.has(Flags::CALL) && matches!(pairs.open, Open::From(_)) => {
                    pairs.open
                }
                Kind::Assistant => Open::Reply(entries.group(ix), ix),
                Kind::Tool => Open::From(prompt),
                _ => Open::None,
            };
            if kind == Kind::User {
                prompt = pairs.order.len();
            }
            if !flags.has(Flags::CALL) && !flags.has(Flags::RESULT) {
                continue;
            }
            let order = pairs.order.len();
            pairs.order.insert(ix, order);
            for block in blocks.iter().flatten() {
                match block {
                    Block::Call(id) => {
                        pairs.called.entry(Key::hash(id.as_bytes())).or_insert(ix);
                    }
                    Block::Result(id, _) => {
                        pairs.answered.entry(Key::hash(id.as_bytes())).or_insert(ix);
                    }
                    _ => {}
                }
            }
        }
        pairs
    }

    /// Returns whether more than thinking is sent of an entry of a reply.
    pub(super) fn says(&self, ix: Ix, session: &Session, blocks: &[Block]) -> bool {
        let is_sent = |id: &str| {
            let key = Key::hash(id.as_bytes());
            // A repeated call is replaced by a text.
            self.answered.contains_key(&key)
                || self.called.get(&key) != Some(&ix)
                || self.stays_open(ix, session.entries.group(ix))
        };
        blocks.is_empty()
            || blocks.iter().any(|block| match block {
                Block::Call(id) => is_sent(id),
                Block::None | Block::Blank | Block::Thinking | Block::OtherThinking => false,
                _ => true,
            })
    }

    /// Returns whether a call in an entry is kept although it has no result.
    fn stays_open(&self, ix: Ix, group: Key) -> bool {
        match self.open {
            Open::None => false,
            Open::Reply(last, entry) => entry == ix || group.is_some() && group == last,
            Open::From(from) => self.order.get(&ix).is_some_and(|order| *order >= from),
        }
    }

    /// Adds the parts of a turn that are sent to the conversation, and records the others.
    pub(super) fn add_turn(
        &self,
        message: Message,
        blocks: &[Block],
        group: Key,
        talk: &mut Conversation,
        sending: &mut Sending,
    ) {
        let ix = message.entry.expect("a turn is an entry");
        let sent = self.sort(ix, group, blocks, &mut sending.dropped);
        match message.role {
            Role::Assistant => add_to_reply(&message, ix, group, sent, talk),
            _ => add_to_prompt(&message, sent, talk),
        }
    }

    /// Sorts the blocks of a turn into parts that are sent and blocks that are dropped.
    fn sort(&self, ix: Ix, group: Key, blocks: &[Block], dropped: &mut Vec<Dropped>) -> Sorted {
        let mut sorted = Sorted { blocks: blocks.len(), ..Sorted::default() };
        // An entry contains only one call and one result of each id.
        let mut met = HashSet::new();
        for (at, block) in blocks.iter().enumerate() {
            let why = match block {
                Block::None => continue,
                Block::Other | Block::OwnCall(_) | Block::Thinking => {
                    sorted.says |= !matches!(block, Block::Thinking);
                    sorted.said.push(Part::Stored(at));
                    continue;
                }
                Block::Blank => Some(Why::SaysNothing),
                Block::OtherThinking => Some(Why::OtherModel),
                Block::Interrupted => {
                    sorted.repeated = Some(ix);
                    Some(Why::NoResult)
                }
                Block::Call(id) if !met.insert((true, id)) => Some(Why::RepeatedCall),
                Block::Result(id, _) if !met.insert((false, id)) => Some(Why::RepeatedResult),
                Block::Call(id) => self.call(ix, group, id, &mut sorted),
                Block::Result(id, _) => self.result(ix, id, &mut sorted),
            };
            match why {
                None if matches!(block, Block::Result(_, true)) => sorted.calls.push(Part::Texts(at)),
                None => sorted.calls.push(Part::Stored(at)),
                Some(why) => dropped.push(Dropped { entry: ix, block: Some(at as u32), why }),
            }
        }
        sorted
    }

    /// Returns why a call is not sent, if it is not.
    fn call(&self, ix: Ix, group: Key, id: &str, sorted: &mut Sorted) -> Option<Why> {
        let key = Key::hash(id.as_bytes());
        if self.called.get(&key) != Some(&ix) {
            sorted.repeated = Some(ix);
            Some(Why::RepeatedCall)
        } else if self.answered.contains_key(&key) {
            None
        } else if self.stays_open(ix, group) {
            sorted.unanswered.push(id.to_owned());
            None
        } else {
            sorted.lost_call = true;
            Some(Why::NoResult)
        }
    }

    /// Returns why a result is not sent, if it is not.
    fn result(&self, ix: Ix, id: &str, sorted: &mut Sorted) -> Option<Why> {
        let key = Key::hash(id.as_bytes());
        let call = self.called.get(&key).copied();
        if call.is_none() {
            Some(Why::NoCall)
        } else if self.answered.get(&key) != Some(&ix) {
            Some(Why::RepeatedResult)
        } else {
            sorted.result_of = sorted.result_of.or(call);
            None
        }
    }
}

/// The blocks of a turn that are sent, and the facts about them that decide their place.
#[derive(Default)]
struct Sorted {
    /// How many blocks the turn has.
    blocks: usize,
    said: Vec<Part>,
    /// Calls or results.
    calls: Vec<Part>,
    /// The calls that are sent without a result.
    unanswered: Vec<String>,
    /// The entry, if it has a call that is repeated or was interrupted.
    repeated: Option<Ix>,
    /// The entry with the call of the first result.
    result_of: Option<Ix>,
    says: bool,
    /// Whether a call is dropped because it has no result.
    lost_call: bool,
}

impl Message {
    /// The same message with other parts, of an entry that has so many blocks.
    fn with(&self, parts: Vec<Part>, blocks: usize) -> Message {
        let is_stored = |(at, part): (usize, &Part)| *part == Part::Stored(at);
        let is_whole = blocks > 0 && parts.len() == blocks && parts.iter().enumerate().all(is_stored);
        Message { parts, is_whole, ..self.clone() }
    }
}

/// Adds what an entry of a reply says and calls to that reply.
fn add_to_reply(message: &Message, ix: Ix, group: Key, mut sent: Sorted, talk: &mut Conversation) {
    let with = |parts: Vec<Part>| message.with(parts, sent.blocks);
    let at = talk.reply(group, with(sent.said));
    talk.places.insert(ix, at);
    let reply = talk.reply_mut(at);
    if !sent.calls.is_empty() {
        reply.calls.push(with(sent.calls));
    }
    reply.unanswered.append(&mut sent.unanswered);
    reply.repeated = sent.repeated.or(reply.repeated);
    reply.says |= sent.says;
    reply.lost_call |= sent.lost_call;
    if let Some(results) = talk.early.remove(&ix) {
        talk.reply_mut(at).results.extend(results);
    }
}

/// Adds what an entry of the user contains.
///
/// Results come right after the reply with their call, wherever they are in the tree; if that reply
/// comes later, in its place.
fn add_to_prompt(message: &Message, sent: Sorted, talk: &mut Conversation) {
    let with = |parts: Vec<Part>| message.with(parts, sent.blocks);
    let at = sent.result_of.and_then(|call| talk.places.get(&call).copied());
    let mut parts = sent.calls;
    parts.extend(sent.said);
    parts.sort_unstable_by_key(|part| match part {
        Part::Stored(at) | Part::Texts(at) => *at,
        _ => 0,
    });
    match (at, sent.result_of) {
        (Some(at), _) => talk.reply_mut(at).results.push(with(parts)),
        (None, Some(call)) => talk.early.entry(call).or_default().push(with(parts)),
        (None, None) if parts.is_empty() => talk.items.push(Item::User(with(parts))),
        (None, None) => talk.user(with(parts)),
    }
}
