//! Reads what an agent would send on each branch as turns.

use super::{Conversation, Loss, NO_RESULT, NOT_ASKED, OF_AGENT, Part, Speaker, ToolResult, Turn};
use crate::context::{Context, Message, NoCall, Origin, Patch};
use crate::format::{Block, Content, Format, Session};
use crate::json::{Members, string_of};
use crate::model::{Flags, Ix, Kind, Source, Time};
use crate::ops::revision::is_prompt;
use std::collections::HashMap;
use std::io;

/// A place in a conversation that is being read.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// The last turn.
    last: Option<usize>,
    /// Whether something was sent after the last turn that makes no turn, or is put behind later ones: a
    /// reply that follows is another reply.
    is_over: bool,
    /// What the user said while results were missing: it is put behind them.
    held: Vec<(Vec<Part>, Option<Ix>)>,
    /// The calls of the last reply that no result follows, and what is put in its place. It is put behind
    /// the results that there are, because more parts of the reply may follow.
    owed: Vec<(String, Instead)>,
    /// Results that were sent before their calls.
    early: Vec<(String, Early)>,
    /// The messages that all these come from.
    held_key: String,
}

impl Place {
    fn owes(&self, call: &str) -> bool {
        self.owed.iter().any(|(owed, _)| owed == call)
    }
}

/// What is put in the place of a result that does not follow its call.
#[derive(Clone, Debug)]
enum Instead {
    /// The text that the agent makes up.
    MadeUp(&'static str),
    /// The result, which came before its call.
    Early(Early),
    /// A note, because there is nothing.
    Note,
}

/// A result that was sent before its call.
#[derive(Clone, Debug)]
struct Early {
    is_error: bool,
    parts: Vec<Part>,
    entry: Option<Ix>,
}

pub(super) struct Reading<'s> {
    pub(super) session: &'s Session,
    pub(super) source: &'s dyn Source,
    pub(super) out: Conversation,
    /// What a message after another turn leads to.
    pub(super) known: HashMap<(Option<usize>, String), Place>,
    /// The tool of each call.
    pub(super) names: HashMap<String, String>,
    /// The id that the service gave to the reply of a turn, in sessions that store it part by part.
    pub(super) replies: HashMap<usize, String>,
    /// The turns that are the summary of a compaction, each with its entry.
    pub(super) summaries: Vec<(usize, Ix)>,
    pub(super) line: Vec<u8>,
}

impl Reading<'_> {
    /// Adds the turns that would be sent at an entry, and returns the last of them.
    pub(super) fn branch(&mut self, tip: Option<Ix>) -> io::Result<Option<usize>> {
        let context = Context::in_full(self.session, self.source, tip)?;
        let mut place = Place::default();
        for message in context.sent() {
            let key = (place.last, place.held_key.clone() + &message.identity());
            if let Some(known) = self.known.get(&key) {
                place = known.clone();
                continue;
            }
            place.last = self.message(&mut place, message)?;
            let is_done = place.held.is_empty() && place.owed.is_empty() && place.early.is_empty();
            let is_after_reply = place.last.is_some_and(|last| self.is_of_model(last));
            place.held_key = match is_done {
                false => key.1.clone(),
                // What comes next does not go on with the reply, although that is the last turn.
                true if place.is_over && is_after_reply => "over ".into(),
                true => String::new(),
            };
            self.known.insert(key, place.clone());
        }
        // Not the key of a message: what is held back there is not let go.
        let key = (place.last, format!("{} end", place.held_key));
        if let Some(known) = self.known.get(&key) {
            return Ok(known.last);
        }
        place.last = self.let_go(&mut place);
        for (_, early) in std::mem::take(&mut place.early) {
            self.lose(NOT_ASKED, early.entry);
        }
        place.held_key.clear();
        self.known.insert(key, place.clone());
        Ok(place.last)
    }

    /// Adds results for calls that have none, as all providers want one, and what was held back.
    /// Returns the last turn.
    fn let_go(&mut self, place: &mut Place) -> Option<usize> {
        let mut last = place.last;
        let mut owed: HashMap<String, Instead> = std::mem::take(&mut place.owed).into_iter().collect();
        for call in self.open_calls(last) {
            let name = self.names.get(&call).cloned().unwrap_or_default();
            let note = |text: &str| vec![Part::Text(text.to_owned())];
            let (is_error, parts, entry) = match owed.remove(&call) {
                Some(Instead::MadeUp(text)) => (true, note(text), None),
                Some(Instead::Early(early)) => (early.is_error, early.parts, early.entry),
                Some(Instead::Note) | None => {
                    let entry = last.and_then(|last| self.out.turns[last].entry);
                    self.lose("results of calls that have none: a note is in their place", entry);
                    (true, note(NO_RESULT), None)
                }
            };
            last = Some(self.push(last, Speaker::Tool { call, name, is_error }, parts, entry));
        }
        for (parts, entry) in std::mem::take(&mut place.held) {
            last = Some(self.push(last, Speaker::User, parts, entry));
        }
        last
    }

    /// Returns the calls of the last reply that have no results at a turn, if nothing else came after
    /// it.
    fn open_calls(&self, last: Option<usize>) -> Vec<String> {
        let mut answered = Vec::new();
        let mut at = last;
        while let Some(turn) = at.map(|at| &self.out.turns[at]) {
            match &turn.speaker {
                Speaker::Tool { call, .. } => answered.push(call),
                Speaker::Model { .. } => {
                    let open = turn.parts.iter().filter_map(|part| match part {
                        Part::Call { id, .. } if !answered.contains(&id) => Some(id.clone()),
                        _ => None,
                    });
                    return open.collect();
                }
                Speaker::User => break,
            }
            at = turn.parent;
        }
        Vec::new()
    }

    /// Adds the turns of one message at a place, and returns the last of them.
    fn message(&mut self, place: &mut Place, message: &Message) -> io::Result<Option<usize>> {
        let (before, entry) = (place.last, message.entry);
        let was_over = std::mem::replace(&mut place.is_over, true);
        if message.origin == Origin::MadeUp {
            self.lose("messages that the agent invents", entry);
            return Ok(before);
        }
        if self.is_of_agent(message) {
            self.lose(OF_AGENT, entry);
            return Ok(before);
        }
        let mut line = std::mem::take(&mut self.line);
        let said = message.read(self.session, self.source, &mut line)?;
        let text = said.sent().into_owned();
        let blocks: Vec<Block<'static>> = said.blocks.iter().map(owned).collect();
        let model = model_of(self.session.format, &line);
        let id = reply_id(self.session.format, &line);
        self.line = line;
        let mut last = before;
        let has = |wanted: fn(&Block<'_>) -> bool| blocks.iter().any(wanted);
        let has_calls = has(|block| matches!(block, Block::Call { .. }));
        let is_reply = matches!(&*message.role, "assistant" | "model" | "reasoning")
            || has_calls
            || has(|block| matches!(block, Block::Thinking { .. }));
        let (mut parts, results) = self.parts_and_results(blocks, entry);
        let has_results = !results.is_empty();
        for (call, is_error, parts) in results {
            if comes_early(message, &call) {
                place.early.push((call, Early { is_error, parts, entry }));
            } else if place.owes(&call) {
                self.lose("results of calls that have one already", entry);
            } else {
                last = self.result(last, message, &call, is_error, parts);
            }
        }
        if is_reply {
            let goes_on = self.is_awaited(place, last)
                || !was_over && !has_results && self.is_same_reply(last, &parts, id.as_deref());
            let open = last.filter(|last| goes_on && self.is_growing(*last));
            if open.is_none() {
                place.last = last;
                last = self.let_go(place);
            }
            if !parts.is_empty() {
                last = self.reply(last, open, model, parts, entry);
                self.replies.extend(last.zip(id));
                place.is_over = false;
            }
        } else {
            // Summaries, commands of the user and the like are sent as a text of the program.
            let is_plain = parts.iter().any(|part| matches!(part, Part::Text(_) | Part::Image { .. }));
            if !is_plain && !text.is_empty() && !has_results {
                parts.push(Part::Text(text));
            }
            if !parts.is_empty() {
                if !self.is_awaited(place, last) {
                    place.last = last;
                    last = self.let_go(place);
                    let at = self.push(last, Speaker::User, parts, entry);
                    if let (Origin::Compaction, None, Some(entry)) = (message.origin, last, entry) {
                        self.summaries.push((at, entry));
                    }
                    last = Some(at);
                } else {
                    place.held.push((parts, entry));
                }
            }
        }
        if message.patches.iter().any(|patch| matches!(patch, Patch::Added { .. })) {
            self.lose(OF_AGENT, entry);
        }
        Self::owe(place, message);
        Ok(last)
    }

    /// Sorts the blocks of a message: its own parts, and the results in it, each with its call and whether it failed.
    fn parts_and_results(
        &mut self,
        blocks: Vec<Block<'static>>,
        entry: Option<Ix>,
    ) -> (Vec<Part>, Vec<ToolResult>) {
        let mut parts: Vec<Part> = Vec::new();
        let mut results: Vec<ToolResult> = Vec::new();
        for block in blocks {
            match block {
                Block::Result { call, text, is_error } => {
                    results.push((call.into_owned(), is_error, vec![Part::Text(text.into_owned())]));
                }
                Block::Text(text) => parts.push(Part::Text(text.into_owned())),
                Block::Thinking { text, .. } => parts.push(Part::Thinking(text.into_owned())),
                Block::Call { id, name, arguments } => {
                    self.names.insert(id.to_string(), name.to_string());
                    let arguments = String::from_utf8_lossy(&arguments).into_owned();
                    parts.push(Part::Call { id: id.into_owned(), name: name.into_owned(), arguments });
                }
                Block::Image { data, .. } if data.is_empty() || data.starts_with("blob:") => {
                    self.lose("images in other files", entry);
                }
                Block::Image { mime, data, .. } => {
                    let image = Part::Image { mime: mime.into_owned(), data: data.into_owned() };
                    // What follows a result belongs to it.
                    match results.last_mut() {
                        Some((.., of_result)) => of_result.push(image),
                        None => parts.push(image),
                    }
                }
                Block::Other(_) => self.lose("blocks of other types", entry),
            }
        }
        (parts, results)
    }

    /// Finds what is put in the place of results that do not follow their calls: the result that was sent
    /// before the call, or else what the agent makes up.
    fn owe(place: &mut Place, message: &Message) {
        for patch in &message.patches {
            let (call, instead) = match patch {
                Patch::ResultMadeUp { call, text, .. } => (call, Instead::MadeUp(text)),
                Patch::NoResult { call, .. } => (call, Instead::Note),
                _ => continue,
            };
            let early = place.early.iter().position(|(early, _)| early == call);
            let instead = early.map_or(instead, |at| Instead::Early(place.early.remove(at).1));
            if !place.owes(call) {
                place.owed.push((call.clone(), instead));
            }
        }
    }

    /// Returns whether a message is of the agent itself, which another agent would not send.
    fn is_of_agent(&self, message: &Message) -> bool {
        let is_put_in = |ix: Ix| {
            let flags = self.session.entries.flags(ix);
            self.session.format.is_guest() && flags.has(Flags::BOOKKEEPING) && flags.has(Flags::META)
        };
        matches!(&*message.role, "system" | "developer")
            || message.entry.is_some_and(|ix| {
                is_put_in(ix) || self.session.entries.kind(ix) == Kind::System && message.role != "user"
            })
    }

    fn lose(&mut self, what: &'static str, entry: Option<Ix>) {
        self.out.losses.push(Loss { what, entry });
    }

    /// Adds a result, unless nothing before it called for it.
    fn result(
        &mut self,
        before: Option<usize>,
        message: &Message,
        call: &str,
        is_error: bool,
        parts: Vec<Part>,
    ) -> Option<usize> {
        // The reply that the result belongs to, past other results of it.
        let mut at = before;
        while let Some(turn) = at.map(|at| &self.out.turns[at]) {
            match &turn.speaker {
                Speaker::Tool { call: other, .. } if other == call => {
                    // Gemini sends the same result twice.
                    if !self.session.format.stores_again() {
                        self.lose("results of calls that have one already", message.entry);
                    }
                    return before;
                }
                Speaker::Tool { .. } => at = turn.parent,
                _ => break,
            }
        }
        let is_asked =
            |turn: &Turn| turn.parts.iter().any(|part| matches!(part, Part::Call { id, .. } if id == call));
        if !at.is_some_and(|at| is_asked(&self.out.turns[at])) {
            self.lose(NOT_ASKED, message.entry);
            return before;
        }
        let name = self.names.get(call).cloned().unwrap_or_default();
        let speaker = Speaker::Tool { call: call.to_owned(), name, is_error };
        Some(self.push(before, speaker, parts, message.entry))
    }

    /// Adds a reply, or a part of the reply `open`.
    fn reply(
        &mut self,
        before: Option<usize>,
        open: Option<usize>,
        model: Option<String>,
        parts: Vec<Part>,
        entry: Option<Ix>,
    ) -> Option<usize> {
        let Some(open) = open else {
            let speaker = Speaker::Model { name: model.unwrap_or_default() };
            return Some(self.push(before, speaker, parts, entry));
        };
        let turn = &mut self.out.turns[open];
        turn.parts.extend(parts);
        turn.also.extend(entry.filter(|entry| turn.entry != Some(*entry) && turn.also.last() != Some(entry)));
        Some(open)
    }

    fn is_of_model(&self, turn: usize) -> bool {
        matches!(self.out.turns[turn].speaker, Speaker::Model { .. })
    }

    /// Returns whether a turn is a reply to which parts can be added: Codex and Claude Code store replies
    /// part by part.
    fn is_growing(&self, turn: usize) -> bool {
        matches!(self.session.format, Format::Codex | Format::Claude)
            && turn + 1 == self.out.turns.len()
            && self.is_of_model(turn)
    }

    /// Returns whether results of the last reply are still to come.
    fn is_awaited(&self, place: &Place, last: Option<usize>) -> bool {
        self.open_calls(last).iter().any(|call| !place.owes(call))
    }

    /// Returns whether parts that directly follow the last reply belong to it.
    fn is_same_reply(&self, last: Option<usize>, parts: &[Part], id: Option<&str>) -> bool {
        let Some(last) = last.filter(|last| self.is_growing(*last)) else { return false };
        if self.session.format == Format::Claude {
            return self.replies.get(&last).map(String::as_str) == id;
        }
        let is_call = |part: &Part| matches!(part, Part::Call { .. });
        let before = &self.out.turns[last].parts;
        // Codex sends each text as a message of its own. Calls follow each other and the text before
        // them; after calls, it goes on only when they have results.
        parts.iter().any(is_call)
            || !before.iter().any(|part| is_call(part) || matches!(part, Part::Text(_) | Part::Image { .. }))
    }

    pub(super) fn push(
        &mut self,
        parent: Option<usize>,
        speaker: Speaker,
        parts: Vec<Part>,
        entry: Option<Ix>,
    ) -> usize {
        let time = entry.map(|ix| self.session.entries.time(ix)).filter(|time| time.is_some());
        let before = parent.map(|parent| self.out.turns[parent].time);
        let time = time.or(before).unwrap_or(Time::NONE);
        let is_prompt = entry.is_some_and(|ix| is_prompt(self.session, ix));
        let is_put_in = speaker == Speaker::User && !is_prompt;
        let turn = Turn { parent, speaker, parts, time, entry, also: Vec::new(), is_put_in, replaces: None };
        self.out.turns.push(turn);
        self.out.turns.len() - 1
    }
}

/// Returns whether a message has a result whose call is sent after it.
fn comes_early(message: &Message, result: &str) -> bool {
    message
        .patches
        .iter()
        .any(|patch| matches!(patch, Patch::NoCall { call, why: NoCall::Later } if call == result))
}

/// Returns the id that the service gave to the reply of a line, if parts of it may be in other lines.
fn reply_id(format: Format, line: &[u8]) -> Option<String> {
    let message = crate::json::member(line, "message").filter(|_| format == Format::Claude)?;
    string_of(message, "id")
}

/// Returns the model that a reply names.
fn model_of(format: Format, line: &[u8]) -> Option<String> {
    if line.is_empty() {
        return None;
    }
    if format.is_guest() || format == Format::Claude {
        return Content::read(format, line).model.map(|model| model.into_owned());
    }
    let message = Members::new(crate::json::member(line, "message").unwrap_or_default());
    message.string("model").map(|model| model.into_owned()).or_else(|| string_of(line, "model"))
}

fn owned(block: &Block<'_>) -> Block<'static> {
    let text = |text: &std::borrow::Cow<'_, str>| text.clone().into_owned().into();
    match block {
        Block::Text(said) => Block::Text(text(said)),
        Block::Thinking { text: thought, signed } => Block::Thinking { text: text(thought), signed: *signed },
        Block::Call { id, name, arguments } => {
            Block::Call { id: text(id), name: text(name), arguments: arguments.clone().into_owned().into() }
        }
        Block::Result { call, is_error, text: said } => {
            Block::Result { call: text(call), is_error: *is_error, text: text(said) }
        }
        Block::Image { mime, bytes, data } => {
            Block::Image { mime: text(mime), bytes: *bytes, data: text(data) }
        }
        Block::Other(ty) => Block::Other(text(ty)),
    }
}
