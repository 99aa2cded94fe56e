//! What the GitHub Copilot CLI sends: prompts, replies and results of the path in order, from the
//! last compaction on.
//!
//! A prompt is sent with what the client put before it. The instructions are new each time it
//! continues, and not part of this.

use super::{Context, Message, Model, Origin, Part, Said, Why};
use crate::format::{Block, Content, Session};
use crate::json::{member, string};
use crate::model::{Ix, Kind, Source};
use std::borrow::Cow;
use std::io;

pub(super) fn build(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> io::Result<Context> {
    let mut context = Context::default();
    let mut line = Vec::new();
    // The calls of the last reply, and the places among them of those that were answered.
    let (mut asked, mut answered): (Vec<String>, Vec<usize>) = Default::default();
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
        match content.answers().next().and_then(|call| asked.iter().position(|known| known == call)) {
            // The results of a reply are sent in the order of its calls.
            Some(order) => {
                let later = answered.iter().filter(|known| **known > order).count();
                context.messages.insert(context.messages.len() - later, message);
                answered.push(order);
            }
            None => context.messages.push(message),
        }
        if role == "assistant" {
            asked = content.calls().map(|(id, ..)| id.to_owned()).collect();
            answered.clear();
        }
    }
    context.dropped.sort_by_key(|dropped| dropped.entry);
    Ok(context)
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
