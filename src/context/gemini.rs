//! What the Gemini CLI sends: its messages in order, the results of a reply right after it. Results
//! that are stored as a message, too, are sent twice. The client removes the name of the tool from the
//! ids of calls and results; here they are as stored.
//!
//! Commands of the client, notes and thoughts are not sent; what it says about the environment is new
//! each time it continues, and not part of this.

use super::{Context, Message, Model, Origin, Part, Patch, Said, Why};
use crate::format::{Block, Content, Session, gemini};
use crate::model::{Flags, Ix, Kind, Source};
use std::io;

pub(super) fn build(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> io::Result<Context> {
    let mut context = Context::default();
    let mut line = Vec::new();
    for entry in leaf.map(|leaf| session.tree.path(leaf)).unwrap_or_default() {
        let kind = session.entries.kind(entry);
        if !matches!(kind, Kind::User | Kind::Assistant | Kind::Tool) {
            let why = match kind {
                Kind::Attachment if session.entries.flags(entry).has(Flags::META) => Why::NotForModel,
                _ => Why::NoPart,
            };
            context.drop(entry, why);
            continue;
        }
        if kind == Kind::Tool {
            // Results that the reply before it has are sent again.
            context.messages.push(Message::new(entry, "user", Origin::Message, Part::Message));
            continue;
        }
        source.read(session.span(entry), &mut line)?;
        let content = Content::read(session.format, &line);
        if kind == Kind::User {
            match gemini::is_kept_back(&content.text) && !has_image(&content.blocks) {
                true if content.text.trim().is_empty() => context.drop(entry, Why::Empty),
                true => context.drop(entry, Why::NotForModel),
                false => context.messages.push(Message::new(entry, "user", Origin::Message, Part::Message)),
            }
            continue;
        }
        if let Some(model) = content.model.as_deref() {
            let model = Model { provider: String::new(), name: model.to_owned() };
            context.models = vec![("default".into(), model)];
        }
        if content.blocks.is_empty() {
            context.drop(entry, Why::Empty);
            continue;
        }
        context.messages.push(Message::new(entry, "model", Origin::Message, Part::Message));
        if content.answers().next().is_some() {
            context.messages.push(Message::new(entry, "user", Origin::Message, Part::Results));
        }
    }
    if context.messages.is_empty() {
        context.refused = Some("Gemini does not continue a session without prompts and replies");
    }
    // The next prompt must not follow a result.
    let is_open = context.messages.last().is_some_and(|last| last.role == "user" && is_result(session, last));
    if is_open {
        let text = "a reply that says that it was interrupted";
        context.messages.push(Message {
            entry: None,
            role: "model".into(),
            origin: Origin::MadeUp,
            patches: vec![Patch::MadeUp { text }],
            part: Part::Message,
        });
    }
    Ok(context)
}

fn is_result(session: &Session, message: &Message) -> bool {
    message.part == Part::Results
        || message.entry.is_some_and(|entry| session.entries.kind(entry) == Kind::Tool)
}

fn has_image(blocks: &[Block<'_>]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::Image { .. }))
}

pub(super) fn read_message<'l>(message: &Message, session: &Session, line: &'l [u8]) -> Said<'l> {
    if message.entry.is_none() {
        return Said::default();
    }
    let mut blocks = Content::read(session.format, line).blocks;
    if message.role == "user" && message.part == Part::Message {
        return Said {
            bytes: line.len(),
            text: super::message_text::text_of(&blocks),
            blocks,
            ..Said::default()
        };
    }
    let wants_results = message.part == Part::Results;
    // What belongs to the results follows the first of them.
    let first = blocks.iter().position(|block| matches!(block, Block::Result { .. }));
    match (first, wants_results) {
        (Some(first), true) => _ = blocks.drain(..first),
        (Some(first), false) => blocks.truncate(first),
        (None, true) => blocks.clear(),
        (None, false) => {}
    }
    blocks.retain(|block| !matches!(block, Block::Thinking { .. }));
    Said { bytes: line.len(), text: super::message_text::text_of(&blocks), blocks, ..Said::default() }
}
