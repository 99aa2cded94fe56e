//! What the client sends of a transcript, entry by entry, and what of the trunk it leaves out.
//!
//! Of the trunk ([`super::load`]) only what stands behind the nearest `compact_boundary` counts. Of that:
//!
//! - turns are sent with their blocks; a turn without a message, or with content that is neither a string nor a list, is not;
//! - a call is sent once, with the first result that names it. A call without a result is left out, or, where the trunk
//!   ends with calls or results, kept with a made-up result. A second call of the same id gives way to a
//!   made-up text, and its result is left out, as is a result without a call;
//! - what would be an empty message says so in a made-up text;
//! - `system` lines of the subtype `local_command` are sent as text of the user, attachments by their stored `rendered` texts;
//! - where the last turn is the user's, a made-up reply follows; not behind a command that was run in the client
//!   (a `<local-command-caveat>`, and nothing but the command and its output after it), nor behind a `<task-notification>` that
//!   was queued for the transcript alone.

use super::load::{Leaf, Loader, Way};
use crate::format::Session;
use crate::json::{each_item, each_member, string};
use crate::model::{Flags, Ix, Key, Kind, Source};
use std::collections::HashMap;
use std::io;

/// What is sent, in order, and what is not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sending {
    /// Where the client goes on.
    pub leaf: Leaf,
    /// What is sent, entry by entry. The service joins neighbors of one role to one message.
    pub messages: Vec<Message>,
    /// What is on the trunk and not sent, in the order of the trunk.
    pub dropped: Vec<Dropped>,
}

/// What is sent of one entry, or made up by the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The entry; `None` where all of it is made up.
    pub entry: Option<Ix>,
    /// In whose role it is sent.
    pub role: Role,
    /// How the entry came to be on the trunk.
    pub way: Way,
    /// Its parts, in order; never none.
    pub parts: Vec<Part>,
}

/// The role of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The user's, results of tools included.
    User,
    /// The model's.
    Assistant,
}

/// One part of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// The block of the content at this place, from 0; where the content is a string, the string. [`block`] gives it.
    Stored(usize),
    /// The text of a command that was run in the client: `content` of the line.
    Command,
    /// The text of an attachment at this place, from 0: `rendered`.
    Rendered(usize),
    /// What the client makes up.
    Made(Made),
}

/// What the client makes up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Made {
    /// A reply that says that none was asked for.
    NoResponse,
    /// A text that says that the message has no content.
    NoContent,
    /// A text that says that a result was removed.
    ResultRemoved,
    /// A text that says that a call was interrupted, in place of the call.
    CallInterrupted,
    /// A result that says that the call of this id was interrupted.
    Result(String),
}

impl Made {
    /// What it says, in our words.
    pub fn words(&self) -> &'static str {
        match self {
            Made::NoResponse => "no response was requested",
            Made::NoContent => "no content",
            Made::ResultRemoved => "a tool result without its call was removed",
            Made::CallInterrupted => "a tool call was interrupted",
            Made::Result(_) => "the tool call was interrupted",
        }
    }
}

/// Something on the trunk that is not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// The entry.
    pub entry: Ix,
    /// The block of it; `None` for the whole entry.
    pub block: Option<u32>,
    /// Why.
    pub why: Why,
}

/// Why something on the trunk is not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It stands before the nearest compaction.
    Compacted,
    /// It is a note of the client for itself.
    Note,
    /// It has no message with content.
    NoContent,
    /// A call without a result, and the conversation went on.
    NoResult,
    /// A call of an id that an earlier call has.
    RepeatedCall,
    /// A result without a call, or of a repeated one.
    NoCall,
    /// A further result for one call.
    RepeatedResult,
}

impl Why {
    /// The reason as words.
    pub fn words(self) -> &'static str {
        match self {
            Why::Compacted => "before the last compaction",
            Why::Note => "a note of the client",
            Why::NoContent => "no content",
            Why::NoResult => "a tool call without a result",
            Why::RepeatedCall => "a tool call with the id of an earlier one",
            Why::NoCall => "a tool result without its call",
            Why::RepeatedResult => "a further result for one tool call",
        }
    }
}

/// What the client would send if it resumed the session, or if a pin named `at`.
///
/// Reads the lines of the trunk behind the last boundary. Fails where they can't be read.
pub fn sending(session: &Session, source: &dyn Source, at: Option<Ix>) -> io::Result<Sending> {
    let mut loader = Loader::new(session);
    let leaf = match at {
        Some(at) => loader.leaf_at(at),
        None => loader.leaf(),
    };
    let mut sending = Sending { leaf, messages: Vec::new(), dropped: Vec::new() };
    let Some(from) = leaf.from else { return Ok(sending) };
    let trunk = loader.trunk(from);
    drop(loader);
    let entries = &session.entries;
    let kind = |ix: Ix| entries.kind(ix);
    let first = trunk.iter().rposition(|step| kind(step.entry) == Kind::Compaction).map_or(0, |at| at + 1);
    for step in &trunk[..first] {
        sending.dropped.push(Dropped { entry: step.entry, block: None, why: Why::Compacted });
    }
    let trunk = &trunk[first..];
    let mut lines = Lines { session, source, bytes: Vec::new() };
    let pairs = Pairs::of(trunk.iter().map(|step| step.entry), &mut lines)?;
    let mut open = Vec::new();
    for step in trunk {
        let ix = step.entry;
        let turn = is_turn(kind(ix));
        if turn && !open.is_empty() && kind(ix) != Kind::Tool && kind(ix) != Kind::Assistant {
            sending.make_results(&mut open);
        }
        let parts = match kind(ix) {
            Kind::User | Kind::Tool | Kind::Assistant => {
                let blocks = blocks(lines.of(ix)?);
                let Some(blocks) = blocks else {
                    sending.dropped.push(Dropped { entry: ix, block: None, why: Why::NoContent });
                    continue;
                };
                let some = blocks.iter().any(|block| !matches!(block, Block::None));
                match kind(ix) {
                    _ if some => pairs.parts(ix, &blocks, &mut sending.dropped, &mut open),
                    Kind::Assistant => vec![Part::Made(Made::NoContent)],
                    _ => {
                        sending.dropped.push(Dropped { entry: ix, block: None, why: Why::NoContent });
                        continue;
                    }
                }
            }
            Kind::System if !entries.flags(ix).has(Flags::MARKER) => command(lines.of(ix)?),
            Kind::Attachment => rendered(lines.of(ix)?),
            _ => Vec::new(),
        };
        let role = if kind(ix) == Kind::Assistant { Role::Assistant } else { Role::User };
        if !turn && parts.is_empty() {
            sending.dropped.push(Dropped { entry: ix, block: None, why: Why::Note });
            continue;
        }
        sending.messages.push(Message { entry: Some(ix), role, way: step.way, parts });
    }
    sending.make_results(&mut open);
    sending.fill_empty(session);
    let turns = trunk.iter().rev().map(|step| step.entry).filter(|ix| is_turn(kind(*ix)));
    if wants_reply(turns, &mut lines)? {
        sending.make(Role::Assistant, Made::NoResponse);
    }
    Ok(sending)
}

/// The block of a turn's content at a place, as JSON; where the content is a string, that.
pub fn block(line: &[u8], at: usize) -> Option<&[u8]> {
    let content = content(line)?;
    match content.first()? {
        b'"' => Some(content).filter(|_| at == 0),
        _ => each_item(content).nth(at),
    }
}

/// The text of an attachment at a place in its `rendered` list.
pub fn rendered_text(line: &[u8], at: usize) -> Option<String> {
    let item = each_item(member(line, "rendered")?).nth(at)?;
    string(member(item, "content")?).map(|text| text.into_owned())
}

impl Sending {
    fn make(&mut self, role: Role, made: Made) {
        let message = Message { entry: None, role, way: Way::Link, parts: vec![Part::Made(made)] };
        self.messages.push(message);
    }

    fn make_results(&mut self, open: &mut Vec<String>) {
        for call in open.drain(..) {
            self.make(Role::User, Made::Result(call));
        }
    }

    /// Takes out messages of which nothing is left, or has them say so, where nothing else stands in their place.
    fn fill_empty(&mut self, session: &Session) {
        let said = |message: &Message| !message.parts.is_empty();
        // Neighbors in the role of the user are one message to the service.
        let mut from = 0;
        let mut nothing_before = true;
        while from < self.messages.len() {
            let role = self.messages[from].role;
            let run = self.messages[from..].iter().take_while(|message| message.role == role).count();
            let messages = &mut self.messages[from..from + run];
            let lost_result = |message: &Message| {
                message.entry.is_some_and(|ix| session.entries.kind(ix) == Kind::Tool) && !said(message)
            };
            if role == Role::User
                && !messages.iter().any(said)
                && let Some(last) = messages.iter_mut().rfind(|message| lost_result(message))
            {
                let made = if nothing_before { Made::ResultRemoved } else { Made::NoContent };
                last.parts.push(Part::Made(made));
            }
            nothing_before &= !messages.iter().any(said);
            from += run;
        }
        self.fill_repeated_calls(session);
        self.messages.retain(said);
    }

    /// Has replies say so of which nothing is left because their calls are repeated.
    fn fill_repeated_calls(&mut self, session: &Session) {
        let mut repeated = self.dropped.iter().filter(|dropped| dropped.why == Why::RepeatedCall).peekable();
        let mut from = 0;
        while from < self.messages.len() && repeated.peek().is_some() {
            let group = |message: &Message| {
                message.entry.filter(|_| message.role == Role::Assistant).map(|ix| session.entries.group(ix))
            };
            let first = group(&self.messages[from]);
            let parts = match first {
                Some(key) if key.is_some() => {
                    self.messages[from..].iter().take_while(|message| group(message) == first).count()
                }
                _ => 1,
            };
            let reply = &mut self.messages[from..from + parts];
            from += parts;
            let mut last = None;
            for (at, message) in reply.iter().enumerate() {
                while repeated.next_if(|dropped| Some(dropped.entry) == message.entry).is_some() {
                    last = Some(at);
                }
            }
            if let Some(at) = last
                && reply.iter().all(|message| message.parts.is_empty())
            {
                reply[at].parts.push(Part::Made(Made::CallInterrupted));
            }
        }
    }
}

/// Whether the last of the turns, given from the end, is one of the user's that a reply was due to.
///
/// An open call is the model's, but its made-up result is the user's.
fn wants_reply(turns: impl Iterator<Item = Ix>, lines: &mut Lines<'_>) -> io::Result<bool> {
    for (at, ix) in turns.enumerate() {
        let flags = lines.session.entries.flags(ix);
        if lines.session.entries.kind(ix) == Kind::Assistant {
            return Ok(at > 0 || flags.has(Flags::CALL));
        }
        let line = lines.of(ix)?;
        let text = first_text(line);
        let is = |start: &str| text.starts_with(start);
        if at == 0 && is("<task-notification>") && is_for_transcript(line)
            || flags.has(Flags::META) && is("<local-command-caveat>")
        {
            return Ok(false);
        }
        if !OF_COMMANDS.iter().any(|start| is(start)) {
            return Ok(true);
        }
    }
    Ok(true)
}

/// What the texts of a command that was run in the client begin with.
const OF_COMMANDS: &[&str] = &[
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
];

/// Whether a notification was queued for the transcript alone.
fn is_for_transcript(line: &[u8]) -> bool {
    let kind = member(line, "origin").and_then(|origin| member(origin, "kind")).and_then(string);
    member(line, "queueTranscriptOnly") == Some(b"true")
        && kind.is_some_and(|kind| kind == "task-notification")
}

/// The text that a turn begins with; empty where it begins otherwise.
fn first_text(line: &[u8]) -> String {
    let text = content(line).and_then(|content| match content.first()? {
        b'"' => string(content),
        _ => string(member(each_item(content).next()?, "text")?),
    });
    text.unwrap_or_default().trim_start().to_owned()
}

fn is_turn(kind: Kind) -> bool {
    matches!(kind, Kind::User | Kind::Assistant | Kind::Tool)
}

/// What pairing needs to know of a block.
enum Block {
    Call(String),
    Result(String),
    Other,
    /// No object: not sent.
    None,
}

/// Which calls and results go together.
#[derive(Default)]
struct Pairs {
    /// Of each call its first entry, and of each result.
    called: HashMap<Key, Ix>,
    answered: HashMap<Key, Ix>,
    /// Whether the last turn has calls or results: then calls without a result are kept.
    open_end: bool,
}

impl Pairs {
    fn of(trunk: impl Iterator<Item = Ix>, lines: &mut Lines<'_>) -> io::Result<Pairs> {
        let mut pairs = Pairs::default();
        for ix in trunk {
            let entries = &lines.session.entries;
            let flags = entries.flags(ix);
            if !is_turn(entries.kind(ix)) {
                continue;
            }
            pairs.open_end = flags.has(Flags::CALL) || flags.has(Flags::RESULT);
            if !pairs.open_end {
                continue;
            }
            for block in blocks(lines.of(ix)?).unwrap_or_default() {
                match block {
                    Block::Call(id) => pairs.called.entry(Key::of(id.as_bytes())).or_insert(ix),
                    Block::Result(id) => pairs.answered.entry(Key::of(id.as_bytes())).or_insert(ix),
                    Block::Other | Block::None => continue,
                };
            }
        }
        Ok(pairs)
    }

    /// The parts of a turn that are sent. What is not goes to `dropped`, calls that need a made-up result to `open`.
    fn parts(
        &self,
        ix: Ix,
        blocks: &[Block],
        dropped: &mut Vec<Dropped>,
        open: &mut Vec<String>,
    ) -> Vec<Part> {
        let mut parts = Vec::with_capacity(blocks.len());
        for (at, block) in blocks.iter().enumerate() {
            let why = match block {
                Block::None => continue,
                Block::Other => None,
                Block::Call(id) => {
                    let key = Key::of(id.as_bytes());
                    if self.called.get(&key) != Some(&ix) {
                        Some(Why::RepeatedCall)
                    } else if self.answered.contains_key(&key) {
                        None
                    } else if self.open_end {
                        open.push(id.clone());
                        None
                    } else {
                        Some(Why::NoResult)
                    }
                }
                Block::Result(id) => {
                    let key = Key::of(id.as_bytes());
                    if !self.called.contains_key(&key) {
                        Some(Why::NoCall)
                    } else if self.answered.get(&key) != Some(&ix) {
                        Some(Why::RepeatedResult)
                    } else {
                        None
                    }
                }
            };
            match why {
                None => parts.push(Part::Stored(at)),
                Some(why) => dropped.push(Dropped { entry: ix, block: Some(at as u32), why }),
            }
        }
        parts
    }
}

/// The lines of entries, read as they are asked for.
struct Lines<'s> {
    session: &'s Session,
    source: &'s dyn Source,
    bytes: Vec<u8>,
}

impl Lines<'_> {
    fn of(&mut self, ix: Ix) -> io::Result<&[u8]> {
        self.source.read(self.session.span(ix), &mut self.bytes)?;
        Ok(&self.bytes)
    }
}

/// The value of a member of an object; the last of repeated ones counts.
fn member<'l>(object: &'l [u8], key: &str) -> Option<&'l [u8]> {
    each_member(object).filter(|(member, _)| member == key).last().map(|(_, value)| value)
}

fn content(line: &[u8]) -> Option<&[u8]> {
    member(member(line, "message")?, "content")
}

/// The blocks of a turn's content; `None` where it has none that is a string or a list.
fn blocks(line: &[u8]) -> Option<Vec<Block>> {
    let content = content(line)?;
    match content.first()? {
        b'"' => Some(vec![Block::Other]),
        b'[' => Some(each_item(content).map(one).collect()),
        _ => None,
    }
}

fn one(block: &[u8]) -> Block {
    if block.first() != Some(&b'{') {
        return Block::None;
    }
    let text = |key| member(block, key).and_then(string).unwrap_or_default();
    match &*text("type") {
        "tool_use" => Block::Call(text("id").into_owned()),
        "tool_result" => Block::Result(text("tool_use_id").into_owned()),
        _ => Block::Other,
    }
}

fn command(line: &[u8]) -> Vec<Part> {
    let is = member(line, "subtype").and_then(string).is_some_and(|subtype| subtype == "local_command");
    if is { vec![Part::Command] } else { Vec::new() }
}

fn rendered(line: &[u8]) -> Vec<Part> {
    let Some(list) = member(line, "rendered") else { return Vec::new() };
    let texts = each_item(list).enumerate().filter(|(_, item)| member(item, "content").is_some());
    texts.map(|(at, _)| Part::Rendered(at)).collect()
}
