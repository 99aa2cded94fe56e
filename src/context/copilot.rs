//! What the GitHub Copilot CLI sends: prompts, replies and results of the path in order, from the
//! last compaction on. A call without a result gets one; a result that no call of the reply before it
//! asked for, or that repeats one, is left out.
//!
//! A prompt is sent with what the client put before it. The instructions are new each time it
//! continues, and not part of this.

use super::{Context, Message, Model, Origin, Part, Patch, Said, Why};
use crate::format::{Block, Content, Session};
use crate::json::{member, string};
use crate::model::{Ix, Kind, Source};
use std::borrow::Cow;
use std::collections::HashMap;
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
                reply.close(&mut context.messages);
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
        if role == "tool" {
            if let Err(why) = reply.answer(content.answers().next().unwrap_or_default(), message) {
                context.drop(entry, why);
            }
            continue;
        }
        reply.close(&mut context.messages);
        context.messages.push(message);
        if role == "assistant" {
            let calls = content.calls().map(|(id, tool, _)| (id.to_owned(), tool.to_owned())).collect();
            reply = Reply::new(context.messages.len() - 1, calls);
        }
    }
    reply.close(&mut context.messages);
    context.dropped.sort_by_key(|dropped| dropped.entry);
    Ok(context)
}

/// The result that the client makes up for a call that has none.
const INTERRUPTED: &str = "The execution of this tool, or a previous tool was interrupted.";

/// The last reply, and what followed it.
#[derive(Default)]
struct Reply {
    /// Its message.
    at: usize,
    /// Its calls: id and tool.
    calls: Vec<(String, String)>,
    /// The place of each call among them.
    orders: HashMap<String, usize>,
    /// Whether each call was answered.
    answered: Vec<bool>,
    /// The results, each with the place of its call.
    results: Vec<(usize, Message)>,
}

impl Reply {
    fn new(at: usize, calls: Vec<(String, String)>) -> Reply {
        let mut orders = HashMap::new();
        for (order, (id, _)) in calls.iter().enumerate() {
            orders.entry(id.clone()).or_insert(order);
        }
        Reply { at, answered: vec![false; calls.len()], calls, orders, results: Vec::new() }
    }

    /// Adds a result, or returns why it is not sent.
    fn answer(&mut self, call: &str, message: Message) -> Result<(), Why> {
        let order = *self.orders.get(call).ok_or(Why::NoCall)?;
        if std::mem::replace(&mut self.answered[order], true) {
            return Err(Why::Repeated);
        }
        self.results.push((order, message));
        Ok(())
    }

    /// Appends the results in the order of the calls, as they are sent, and notes those that are
    /// made up: each after what was said before it.
    fn close(&mut self, messages: &mut Vec<Message>) {
        let Reply { at, calls, answered, mut results, .. } = std::mem::take(self);
        results.sort_by_key(|(order, _)| *order);
        messages.extend(results.into_iter().map(|(_, message)| message));
        let mut at = at;
        for ((call, tool), answered) in calls.into_iter().zip(answered) {
            if answered {
                at += 1;
            } else if let Some(message) = messages.get_mut(at) {
                message.patches.push(Patch::ResultMadeUp { call, tool, text: INTERRUPTED });
            }
        }
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
