//! What Chimera sends: every message and compaction of the path, in order. A compaction leaves
//! nothing out.
//!
//! Nothing is added or removed on the way to the model: a call without its result is sent as it is,
//! and so is a result without its call.

use super::message_text::message_text;
use super::{Context, Message, Model, NoCall, Origin, Part, Patch, Said, Why, text};
use crate::format::{Content, Format, Session};
use crate::json::{member, string};
use crate::model::{Ix, Kind, Source};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;

/// The reason for an entry that makes the agent crash when it opens the session.
const NO_MESSAGE: &str = "Chimera crashes on a message that is not an object";

/// The text that the program puts around the summary of a compaction.
const SUMMARY: Part = Part::Wrapped(&["[Session compacted. Summary: ", "]"]);

pub(super) fn build(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> io::Result<Context> {
    let mut context = Context::default();
    let mut line = Vec::new();
    let mut pairs = Pairs::default();
    for entry in leaf.map(|leaf| session.tree.path(leaf)).unwrap_or_default() {
        match (session.entries.ty(entry), session.entries.kind(entry)) {
            ("message", _) => {
                source.read(session.span(entry), &mut line)?;
                let message = member(&line, "message").unwrap_or_default();
                if !message.starts_with(b"{") {
                    context.refused = Some(NO_MESSAGE);
                }
                let role = text(message, "role").into_owned();
                let mut sent = Message::new(entry, role, Origin::Message, Part::Message);
                pairs.take(context.messages.len(), &Content::read(Format::Chimera, &line), &mut sent);
                context.messages.push(sent);
            }
            (_, Kind::Compaction) => {
                context.messages.push(Message::new(entry, "user", Origin::Compaction, SUMMARY));
            }
            (_, Kind::Setting) => {
                source.read(session.span(entry), &mut line)?;
                let value = member(&line, "value").and_then(string).unwrap_or_default().into_owned();
                match &*text(&line, "kind") {
                    "model" => {
                        let model = Model { provider: String::new(), name: value };
                        context.models = vec![("default".into(), model)];
                    }
                    "thinking" => context.thinking = Some(value),
                    _ => {}
                }
                context.drop(entry, Why::NoPart);
            }
            _ => context.drop(entry, Why::NoPart),
        }
    }
    pairs.find_later(&mut context.messages);
    for (at, call, tool) in pairs.open() {
        context.messages[at].patches.push(Patch::NoResult { call, tool });
    }
    Ok(context)
}

/// Calls, and whether results follow them.
#[derive(Default)]
struct Pairs {
    calls: Vec<Call>,
    /// The last call of each id.
    by_id: HashMap<String, usize>,
}

struct Call {
    /// The index of the message that contains it.
    at: usize,
    id: String,
    tool: String,
    answered: bool,
}

impl Pairs {
    /// Records the calls and the result of a message, and adds a note if a result has no call.
    fn take(&mut self, at: usize, content: &Content<'_>, message: &mut Message) {
        if let Some(id) = content.answers().next() {
            let call = self.by_id.get(id).map(|place| &mut self.calls[*place]);
            let why = match call {
                _ if id.is_empty() => Some(NoCall::Unnamed),
                None => Some(NoCall::NotOnPath),
                Some(call) => std::mem::replace(&mut call.answered, true).then_some(NoCall::Answered),
            };
            message.patches.extend(why.map(|why| Patch::NoCall { call: id.to_owned(), why }));
        }
        for (id, tool, _) in content.calls().filter(|_| message.role == "assistant") {
            self.by_id.insert(id.to_owned(), self.calls.len());
            let (id, tool) = (id.to_owned(), tool.to_owned());
            self.calls.push(Call { at, id, tool, answered: false });
        }
    }

    /// Notes at results whose calls were not found before them that they come later.
    fn find_later(&self, messages: &mut [Message]) {
        for patch in messages.iter_mut().flat_map(|message| &mut message.patches) {
            if let Patch::NoCall { call, why } = patch
                && *why == NoCall::NotOnPath
                && self.by_id.contains_key(call)
            {
                *why = NoCall::Later;
            }
        }
    }

    /// Returns the calls without a result: the index of the message, the id and the tool of each.
    fn open(self) -> impl Iterator<Item = (usize, String, String)> {
        self.calls.into_iter().filter(|call| !call.answered).map(|call| (call.at, call.id, call.tool))
    }
}

pub(super) fn read_message<'l>(message: &Message, line: &'l [u8]) -> Said<'l> {
    if let Part::Wrapped([before, behind]) = message.part {
        let summary = member(line, "summary").unwrap_or_default();
        let text: Cow<'l, str> = format!("{before}{}{behind}", string(summary).unwrap_or_default()).into();
        let blocks = vec![super::Block::Text(text.clone())];
        return Said { text, blocks, bytes: summary.len(), ..Said::default() };
    }
    let content = member(member(line, "message").unwrap_or_default(), "content").unwrap_or_default();
    Said {
        text: message_text(content),
        blocks: Content::read(Format::Chimera, line).blocks,
        bytes: content.len(),
        ..Said::default()
    }
}
