//! The messages of a request in their order: prompts, and the replies that several lines make.

use super::{Dropped, Lines, Made, Message, Part, Role, Why, content, made_message};
use crate::format::claude::Markup;
use crate::json::{each_item, member, member_at, string};
use crate::model::{Flags, Ix, Key, Kind};
use std::collections::{HashMap, HashSet};
use std::io;

/// The conversation as it is assembled: replies followed by their results, and messages of the
/// user.
#[derive(Default)]
pub(super) struct Conversation {
    pub(super) items: Vec<Item>,
    /// The reply of each `message.id` to which parts can still be added, i.e. since the user's last
    /// message.
    pub(super) open: HashMap<Key, usize>,
    /// The reply that each entry of the model is a part of.
    pub(super) places: HashMap<Ix, usize>,
    /// Results whose call comes later, by the entry of the call.
    pub(super) early: HashMap<Ix, Vec<Message>>,
}

pub(super) enum Item {
    User(Message),
    Reply(Reply),
}

/// A reply: all its parts, then all results of its calls.
#[derive(Default)]
pub(super) struct Reply {
    /// Everything except calls.
    pub(super) said: Vec<Message>,
    pub(super) calls: Vec<Message>,
    pub(super) results: Vec<Message>,
    /// Calls that need an invented result.
    pub(super) unanswered: Vec<String>,
    /// The last entry with a call that is replaced by an invented text if nothing else is left of
    /// the reply.
    pub(super) repeated: Option<Ix>,
    /// Whether the rest contains more than thinking.
    pub(super) says: bool,
    /// Whether a call was left out because it has no result.
    pub(super) lost_call: bool,
}

impl Conversation {
    /// Adds a message of the user; no earlier reply continues after it.
    pub(super) fn user(&mut self, message: Message) {
        self.items.push(Item::User(message));
        self.open.clear();
    }

    /// Adds a part to its reply, which is started if it is not open; returns the reply.
    pub(super) fn reply(&mut self, group: Key, message: Message) -> usize {
        let new = self.items.len();
        let at = if group.is_some() { *self.open.entry(group).or_insert(new) } else { new };
        if at == new {
            self.items.push(Item::Reply(Reply::default()));
        }
        if !message.parts.is_empty() {
            self.reply_mut(at).said.push(message);
        }
        at
    }

    pub(super) fn reply_mut(&mut self, at: usize) -> &mut Reply {
        match &mut self.items[at] {
            Item::Reply(reply) => reply,
            Item::User(_) => unreachable!("only replies are numbered"),
        }
    }

    /// Returns all messages in order; empty ones get an invented text or are left out.
    pub(super) fn messages(self, dropped: &mut Vec<Dropped>) -> Vec<Message> {
        let mut messages = Vec::new();
        let mut silent = Vec::new();
        for item in self.items {
            match item {
                Item::User(message) => messages.push(message),
                Item::Reply(mut reply) => {
                    reply.results.sort_by_key(|result| result.entry);
                    if reply.calls.is_empty() && reply.lost_call && !reply.says {
                        // Only the thinking before the calls is left.
                        silent.extend(reply.said.drain(..).filter_map(|message| message.entry));
                    }
                    if reply.said.is_empty() && reply.calls.is_empty() && reply.repeated.is_some() {
                        let interrupted = made_message(Role::Assistant, Made::CallInterrupted);
                        messages.push(Message { entry: reply.repeated, ..interrupted });
                    }
                    messages.extend(reply.said.into_iter().chain(reply.calls).chain(reply.results));
                    let results = reply.unanswered.into_iter().map(Made::Result);
                    messages.extend(results.map(|result| made_message(Role::User, result)));
                }
            }
        }
        dropped.extend(silent.into_iter().map(|entry| Dropped { entry, block: None, why: Why::SaysNothing }));
        fill_empty(&mut messages, dropped);
        messages
    }
}

/// Gives an invented text to messages of the user that became empty, if nothing else takes their
/// place, and removes the other empty ones.
fn fill_empty(messages: &mut Vec<Message>, dropped: &[Dropped]) {
    let said = |message: &Message| !message.parts.is_empty();
    let lost: HashSet<Ix> =
        dropped.iter().filter(|dropped| dropped.block.is_some()).map(|dropped| dropped.entry).collect();
    let mut from = 0;
    let mut nothing_before = true;
    while from < messages.len() {
        // Adjacent messages of one role are one message to the service.
        let role = messages[from].role;
        let run = messages[from..].iter().take_while(|message| message.role == role).count();
        let run = &mut messages[from..from + run];
        from += run.len();
        if !run.iter().any(said)
            && let Some(last) =
                run.iter_mut().rfind(|message| message.entry.is_some_and(|ix| lost.contains(&ix)))
        {
            last.parts.push(Part::Made(if nothing_before { Made::ResultRemoved } else { Made::NoContent }));
        }
        nothing_before = false;
    }
    messages.retain(said);
}

/// Returns whether the last of the turns, given from the end, is one of the user's that needs a
/// reply.
///
/// An open call is the model's, but its invented result (`open`) is the user's.
pub(super) fn wants_reply(
    turns: impl Iterator<Item = Ix>,
    open: bool,
    lines: &mut Lines<'_>,
) -> io::Result<bool> {
    for (at, ix) in turns.enumerate() {
        let flags = lines.session.entries.flags(ix);
        if lines.session.entries.kind(ix) == Kind::Assistant {
            return Ok(at > 0 || open);
        }
        let line = lines.read(ix)?;
        let (text, is_alone) = last_text(line);
        let is = |start: &str| text.starts_with(start);
        if at == 0 && is_alone && is("<task-notification>") && is_for_transcript(line)
            || flags.has(Flags::META) && is("<local-command-caveat>")
        {
            return Ok(false);
        }
        // Claude Code's own list of command output includes neither their arguments nor the caveat.
        if !matches!(Markup::parse(&text), Some(Markup::Command | Markup::Printed)) {
            return Ok(true);
        }
    }
    Ok(true)
}

/// Returns whether a prompt is a notification that Claude Code put in.
pub(super) fn is_notification(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"task-notification").is_some()
        && member_at(line, &["origin", "kind"])
            .and_then(string)
            .is_some_and(|kind| kind == "task-notification")
}

/// Returns whether a notification was queued only for the transcript.
fn is_for_transcript(line: &[u8]) -> bool {
    member(line, "queueTranscriptOnly") == Some(b"true") && is_notification(line)
}

/// Returns the last text of a turn, empty if it has none, and whether nothing else is in the turn.
fn last_text(line: &[u8]) -> (String, bool) {
    let content = content(line).unwrap_or_default();
    let (text, count) = match content.first() {
        Some(b'"') => (string(content), 1),
        _ => {
            let texts = each_item(content).filter_map(|block| string(member(block, "text")?));
            (texts.last(), each_item(content).count())
        }
    };
    (text.unwrap_or_default().trim_start().to_owned(), count == 1)
}
