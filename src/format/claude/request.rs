//! What Claude Code sends of a transcript, entry by entry, and what it leaves out of the main path.
//!
//! Only the part of the main path ([`super::graph`]) after the nearest `compact_boundary` counts.
//! Of that part:
//!
//! - a reply that Claude Code forgets (`forgotten.rs`) is not sent, nor is a message about an
//!   error of the service (`isApiErrorMessage`) that Claude Code wrote itself (`<synthetic>`);
//! - turns are sent with their blocks; a turn without a message, or with content that is neither a
//!   string nor a list, is not;
//! - a call is sent once, with the first result that names it. A call without a result is left out,
//!   or, if the main path ends with calls or results, kept with an invented result. A second call
//!   with the same id is replaced by an invented text, and its result is left out, as is a result
//!   without a call;
//! - a message that would be empty is sent with an invented text that says so;
//! - a call of the service's own tools (`server_tool_use`) without its result is replaced by an
//!   invented text;
//! - of a failed result, only the texts are sent, as one text if there is anything else;
//! - the thinking of replies is sent if it is of the model that Claude Code continues with
//!   (`models.rs`), or of none (`<synthetic>`);
//! - the texts of a notification (`origin` says `task-notification`) are sent in a reminder that says
//!   that they are not the user's;
//! - `system` lines of the subtype `local_command` are sent as text of the user, and attachments by
//!   their stored `rendered` texts, or else by their contents (`attachments.rs`);
//! - if the last turn is the user's, an invented reply follows; a message about an error counts as a
//!   reply of its own. None follows after a command that was
//!   run in Claude Code (a `<local-command-caveat>`, followed only by the command and its output, as
//!   the last text of each turn says), nor after a `<task-notification>` that was queued only for the
//!   transcript and has no other block with it.

mod block;
mod conversation;
mod message;
mod pairs;

use super::forgotten::{self, Forgotten};
use super::graph::{ClaudeGraph, Step};
use super::head::Leaf;
use super::models;
use crate::format::Session;
use crate::json::{Members, each_item, member, string};
use crate::model::{Flags, Ix, Kind, Source};
use block::{attached, blocks, content, is_api_error, is_command};
pub use block::{block, is_text, items, rendered_text};
use conversation::{Conversation, Item, is_notification, wants_reply};
use message::made_message;
pub use message::{Dropped, Made, Message, Part, Role, Why};
use pairs::{Block, Pairs};
use std::borrow::Cow;
use std::collections::HashSet;
use std::io;

/// What is sent, in order, and what is left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sending {
    /// Where Claude Code continues.
    pub leaf: Leaf,
    /// The messages, entry by entry. The service joins adjacent messages of one role.
    pub messages: Vec<Message>,
    /// The parts of the main path that are not sent, in its order.
    pub dropped: Vec<Dropped>,
    /// The model of the last reply that has one, as stored.
    pub model: Option<String>,
}

/// How much of the stored messages counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// What Claude Code sends.
    Sent,
    /// In addition, the thinking of other models, and everything in failed results: what two versions
    /// of a transcript must both have for them to be the same.
    Full,
}

/// Returns what Claude Code would send if it resumed the session, or if a pin named `at`.
///
/// Reads the lines of the main path after the last boundary. Fails if they can't be read.
pub fn sending(session: &Session, source: &dyn Source, at: Option<Ix>) -> io::Result<Sending> {
    sending_to(session, source, at, Extent::Sent)
}

/// Returns the same as [`sending`], to the given extent.
pub fn sending_to(
    session: &Session,
    source: &dyn Source,
    at: Option<Ix>,
    extent: Extent,
) -> io::Result<Sending> {
    // The graph is dropped before the lines are read.
    let (leaf, main_path) = resumed(&mut ClaudeGraph::new(session), at);
    sending_on(session, source, leaf, &main_path, extent)
}

/// Returns the same as [`sending_to`], given the links of the session: asking for many places then
/// costs little more than their paths.
pub fn sending_in(
    graph: &mut ClaudeGraph<'_>,
    source: &dyn Source,
    at: Option<Ix>,
    extent: Extent,
) -> io::Result<Sending> {
    graph.kids();
    let (leaf, main_path) = resumed(graph, at);
    sending_on(graph.session, source, leaf, &main_path, extent)
}

/// Returns where Claude Code would continue, and the main path to there.
fn resumed(graph: &mut ClaudeGraph<'_>, at: Option<Ix>) -> (Leaf, Vec<Step>) {
    let leaf = match at {
        Some(at) => graph.leaf_at(at),
        None => graph.leaf(),
    };
    let main_path = leaf.from.map(|from| graph.main_path(from)).unwrap_or_default();
    (leaf, main_path)
}

/// Returns what Claude Code would send of a main path.
fn sending_on(
    session: &Session,
    source: &dyn Source,
    leaf: Leaf,
    main_path: &[Step],
    extent: Extent,
) -> io::Result<Sending> {
    let mut sending = Sending { leaf, messages: Vec::new(), dropped: Vec::new(), model: None };
    if leaf.from.is_none() {
        return Ok(sending);
    }
    let entries = &session.entries;
    let kind = |ix: Ix| entries.kind(ix);
    let forgotten = Forgotten::on_path(session, main_path.iter().map(|step| step.entry));
    let first =
        main_path.iter().rposition(|step| kind(step.entry) == Kind::Compaction).map_or(0, |at| at + 1);
    for step in &main_path[..first] {
        sending.drop_entry(step.entry, Why::Compacted);
    }
    let mut lines = Lines { session, source, bytes: Vec::new() };
    let (mut steps, facts) = read_turns(&main_path[first..], &forgotten, &mut lines, extent)?;
    let pairs = Pairs::new(&steps, session);
    let model = facts.last_model(&steps, &pairs, session);
    if extent == Extent::Sent {
        facts.leave_out_thinking(&mut steps, model);
    }
    sending.model = model.map(str::to_owned);
    let mut talk = Conversation::default();
    for (step, read) in &steps {
        let ix = step.entry;
        let message = |role, parts| {
            let Step { way, bridged, .. } = *step;
            let is_notice = facts.notices.contains(&ix);
            Message { entry: Some(ix), role, way, bridged, is_notice, is_whole: false, parts }
        };
        match read {
            Read::Left(why) => sending.drop_entry(ix, *why),
            Read::Turn(blocks) => {
                let assistant = kind(ix) == Kind::Assistant;
                let role = if assistant { Role::Assistant } else { Role::User };
                let none =
                    blocks.as_ref().is_none_or(|blocks| blocks.iter().all(|b| matches!(b, Block::None)));
                match blocks {
                    Some(blocks) if blocks.is_empty() && forgotten.why(ix).is_some() && assistant => {
                        talk.reply(entries.group(ix), message(role, vec![Part::Made(Made::NoContent)]));
                    }
                    Some(blocks) if !none => {
                        pairs.add_turn(
                            message(role, Vec::new()),
                            blocks,
                            entries.group(ix),
                            &mut talk,
                            &mut sending,
                        );
                    }
                    _ => sending.drop_entry(ix, Why::NoContent),
                }
            }
            Read::Note if kind(ix) == Kind::System => {
                if !entries.flags(ix).has(Flags::MARKER) && is_command(lines.read(ix)?) {
                    talk.user(message(Role::User, vec![Part::Command]));
                } else {
                    sending.drop_entry(ix, Why::Note);
                }
            }
            Read::Note if kind(ix) == Kind::Attachment => match attached(lines.read(ix)?) {
                parts if parts.is_empty() => sending.drop_entry(ix, Why::Note),
                parts => talk.items.push(Item::User(message(Role::User, parts))),
            },
            Read::Note => sending.drop_entry(ix, Why::Note),
        }
    }
    sending.messages = talk.messages(&mut sending.dropped);
    // A message about an error is there, though it is not sent.
    let is_turn = |read: &Read| matches!(read, Read::Turn(_) | Read::Left(Why::ApiError));
    let turns = steps.iter().rev().filter(|(_, read)| is_turn(read)).map(|(step, _)| step.entry);
    let open = sending.messages.last().is_some_and(|last| last.entry.is_none());
    if wants_reply(turns, open, &mut lines)? {
        sending.messages.push(made_message(Role::Assistant, Made::NoResponse));
    }
    Ok(sending)
}

/// What was read of an entry of the main path.
enum Read {
    /// A turn that is not sent, and why.
    Left(Why),
    /// The blocks of a turn; `None` if it has no content that is a string or a list.
    Turn(Option<Vec<Block>>),
    /// Not a turn.
    Note,
}

/// Facts about the turns of a main path, beside their blocks.
#[derive(Default)]
struct Facts {
    /// The models of the replies, each once.
    models: Vec<String>,
    /// For each step, which of the models replied, if one did.
    model_of: Vec<Option<usize>>,
    /// The notifications.
    notices: HashSet<Ix>,
}

impl Facts {
    /// Records the model of a reply, or that a step has none.
    fn replied(&mut self, model: Option<Cow<'_, str>>) {
        let at = model.map(|model| {
            self.models.iter().position(|known| *known == model).unwrap_or_else(|| {
                self.models.push(model.into_owned());
                self.models.len() - 1
            })
        });
        self.model_of.push(at);
    }

    fn model(&self, step: usize) -> Option<&str> {
        self.model_of[step].map(|at| &*self.models[at])
    }

    /// Returns the model of the last reply of which more is sent than thinking.
    fn last_model(&self, steps: &[(Step, Read)], pairs: &Pairs, session: &Session) -> Option<&str> {
        let is_sent = |at: usize| match &steps[at] {
            (step, Read::Turn(Some(blocks))) => pairs.says(step.entry, session, blocks),
            _ => false,
        };
        let model = |at: usize| self.model(at).filter(|model| *model != models::SYNTHETIC);
        (0..steps.len()).rev().filter(|at| model(*at).is_some()).find(|at| is_sent(*at)).and_then(model)
    }

    /// Marks the thinking that is not sent, given the model of the last reply.
    fn leave_out_thinking(&self, steps: &mut [(Step, Read)], last: Option<&str>) {
        let is_sent: Vec<bool> =
            self.models.iter().map(|model| models::sends_thinking(model, last)).collect();
        for (at, (_, read)) in steps.iter_mut().enumerate() {
            let Read::Turn(Some(blocks)) = read else { continue };
            if self.model_of[at].is_some_and(|at| is_sent[at]) {
                continue;
            }
            let thinking = blocks.iter_mut().filter(|block| matches!(block, Block::Thinking));
            thinking.for_each(|block| *block = Block::OtherThinking);
        }
    }
}

/// Reads the turns of a main path, each line once.
fn read_turns(
    main_path: &[Step],
    forgotten: &Forgotten<'_>,
    lines: &mut Lines<'_>,
    extent: Extent,
) -> io::Result<(Vec<(Step, Read)>, Facts)> {
    let mut steps = Vec::with_capacity(main_path.len());
    let mut facts = Facts::default();
    let mut own = OwnTools::default();
    for step in main_path {
        let ix = step.entry;
        let kind = lines.session.entries.kind(ix);
        let mut model = None;
        let read = match forgotten.why(ix) {
            Some(forgotten::Why::SaysNothing) => Read::Left(Why::SaysNothing),
            Some(forgotten::Why::Retracted) => Read::Left(Why::Retracted),
            _ if !kind.is_turn() => Read::Note,
            _ => {
                let line = lines.read(ix)?;
                let message = Members::with_nested(line, "message").1;
                if kind == Kind::Assistant {
                    model = message.string("model");
                }
                if kind == Kind::User && is_notification(line) {
                    facts.notices.insert(ix);
                }
                match model.as_deref() == Some(models::SYNTHETIC) && is_api_error(line) {
                    true => Read::Left(Why::ApiError),
                    false => {
                        let content = message.get("content").unwrap_or_default();
                        own.look(content);
                        Read::Turn(blocks(content, kind == Kind::Assistant, extent))
                    }
                }
            }
        };
        facts.replied(model);
        steps.push((*step, read));
    }
    own.settle(&mut steps);
    Ok((steps, facts))
}

/// The ids of results of the service's own tools.
#[derive(Default)]
struct OwnTools {
    answered: HashSet<String>,
}

impl OwnTools {
    /// Records the results in a content.
    fn look(&mut self, content: &[u8]) {
        if content.first() != Some(&b'[') || memchr::memmem::find(content, b"_tool_result").is_none() {
            return;
        }
        for block in each_item(content) {
            let ty = member(block, "type").and_then(string).unwrap_or_default();
            if ty.ends_with("_tool_result") {
                self.answered.extend(member(block, "tool_use_id").and_then(string).map(|id| id.into_owned()));
            }
        }
    }

    /// Marks the calls of such tools that have no result.
    fn settle(&self, steps: &mut [(Step, Read)]) {
        for (_, read) in steps {
            let Read::Turn(Some(blocks)) = read else { continue };
            for block in blocks {
                if let Block::OwnCall(id) = block {
                    *block = if self.answered.contains(id) { Block::Other } else { Block::Interrupted };
                }
            }
        }
    }
}

impl Sending {
    fn drop_entry(&mut self, entry: Ix, why: Why) {
        self.dropped.push(Dropped { entry, block: None, why });
    }
}

/// The lines of entries, read on demand.
struct Lines<'s> {
    session: &'s Session,
    source: &'s dyn Source,
    bytes: Vec<u8>,
}

impl Lines<'_> {
    fn read(&mut self, ix: Ix) -> io::Result<&[u8]> {
        self.source.read(self.session.span(ix), &mut self.bytes)?;
        Ok(&self.bytes)
    }
}
