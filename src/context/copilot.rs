//! What the GitHub Copilot CLI sends: prompts, replies and results of the path in order, from the
//! last compaction on.
//!
//! A prompt is sent with what the client put before it. The instructions are new each time it
//! continues, and not part of this.

use super::{Context, Message, Model, Origin, Part, Patch, Said, Why};
use crate::format::{Block, Content, Session};
use crate::json::{member, string};
use crate::model::{Ix, Kind, Source};
use std::borrow::Cow;
use std::io;

pub(super) fn build(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> io::Result<Context> {
    let mut context = Context::default();
    let mut line = Vec::new();
    let mut reply = Reply::default();
    for entry in leaf.map(|leaf| session.tree.path(leaf)).unwrap_or_default() {
        let (role, origin, part) = match session.entries.kind(entry) {
            Kind::User => ("user", Origin::Message, Part::Message),
            Kind::Assistant => ("assistant", Origin::Message, Part::Message),
            Kind::Tool => ("tool", Origin::Message, Part::Message),
            Kind::Compaction => {
                for message in std::mem::take(&mut context.messages) {
                    let why = match message.origin {
                        Origin::Compaction => Why::OlderCompaction { by: entry },
                        _ => Why::Compacted { by: entry },
                    };
                    if let Some(gone) = message.entry {
                        context.drop(gone, why);
                    }
                }
                ("user", Origin::Compaction, Part::Summary)
            }
            _ => {
                context.drop(entry, Why::NoPart);
                continue;
            }
        };
        source.read(session.span(entry), &mut line)?;
        let content = Content::read(session.format, &line);
        if let Some(model) = content.model.as_deref().filter(|_| role == "assistant") {
            let model = Model { provider: String::new(), name: model.to_owned() };
            context.models = vec![("default".into(), model)];
        }
        let message = Message::new(entry, role, origin, part);
        if role != "tool" {
            reply.close(&mut context.messages);
        }
        match content.answers().next().and_then(|call| reply.order(call)) {
            // The results of a reply are sent in the order of its calls.
            Some(order) => {
                let later = reply.answered.iter().filter(|known| **known > order).count();
                context.messages.insert(context.messages.len() - later, message);
                reply.answered.push(order);
            }
            None => context.messages.push(message),
        }
        if role == "assistant" {
            let calls = content.calls().map(|(id, tool, _)| (id.to_owned(), tool.to_owned())).collect();
            reply = Reply { at: context.messages.len() - 1, calls, answered: Vec::new() };
        }
    }
    reply.close(&mut context.messages);
    context.dropped.sort_by_key(|dropped| dropped.entry);
    Ok(context)
}

/// The result that the client makes up for a call that has none.
const INTERRUPTED: &str = "The execution of this tool, or a previous tool was interrupted.";

/// The last reply.
#[derive(Default)]
struct Reply {
    /// Its message.
    at: usize,
    /// Its calls: id and tool.
    calls: Vec<(String, String)>,
    /// The places among them of those that were answered.
    answered: Vec<usize>,
}

impl Reply {
    /// Returns the place of a call that was not answered yet.
    fn order(&self, call: &str) -> Option<usize> {
        let order = self.calls.iter().position(|(id, _)| id == call)?;
        (!self.answered.contains(&order)).then_some(order)
    }

    /// Notes the results that are made up: each after what was said before it.
    fn close(&mut self, messages: &mut [Message]) {
        let mut at = self.at;
        for (order, (call, tool)) in self.calls.drain(..).enumerate() {
            if self.answered.contains(&order) {
                at += 1;
            } else if let Some(message) = messages.get_mut(at) {
                message.patches.push(Patch::ResultMadeUp { call, tool, text: INTERRUPTED });
            }
        }
        self.answered.clear();
    }
}

pub(super) fn read_message<'l>(message: &Message, session: &Session, line: &'l [u8]) -> Said<'l> {
    let content = Content::read(session.format, line);
    let mut blocks = content.blocks;
    if blocks.is_empty() && !content.text.is_empty() {
        blocks.push(Block::Text(content.text.clone()));
    }
    let sent = member(line, "data").and_then(|data| member(data, "transformedContent")).and_then(string);
    if let Some(sent) = sent.filter(|_| message.role == "user" && message.origin == Origin::Message)
        && let Some(Block::Text(text)) = blocks.first_mut()
    {
        *text = Cow::Owned(sent.into_owned());
    }
    blocks.retain(|block| !matches!(block, Block::Thinking { .. }));
    Said { bytes: line.len(), text: super::message_text::text_of(&blocks), blocks, ..Said::default() }
}
