//! What Claude Code sends: the main path as its loader walks it, after the nearest compaction, with
//! calls and results paired.
//!
//! The rules are those of [`crate::format::claude::request`]; this module turns their result into a
//! [`Context`]. One reply may become several messages, because it is stored as several entries; the
//! service joins adjacent messages of one role.

use super::message_text::{block_text, message_text};
use super::{Context, Dropped, Message, Model, Origin, Part, Patch, Said, Why, text};
use crate::format::claude::Boundary;
use crate::format::claude::attachments::attachment_text;
use crate::format::claude::compactions::before_it_was_gone;
use crate::format::claude::graph::{ClaudeGraph, Way};
use crate::format::claude::request;
use crate::format::claude::request::{Extent, Made, Role, Sending};
use crate::format::{Block, Content, Format, Session, blocks_of_item};
use crate::json::{each_item, member};
use crate::model::{Flags, Ix, Kind, Source};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;

/// What Claude Code puts around the texts of a notification, in our words.
const NOTICE: &str = "a reminder around it, which says that it is not from the user";

pub(super) fn build(
    session: &Session,
    source: &dyn Source,
    at: Option<Ix>,
    graph: Option<&mut ClaudeGraph<'_>>,
    extent: Extent,
) -> io::Result<Context> {
    // At HEAD Claude Code follows its own rule, which does more than pinning an entry would.
    let asked = at.filter(|at| session.head.leaf != Some(*at));
    if at.is_none() {
        return Ok(Context::default());
    }
    // An entry that a compaction kept is also in its old place.
    let may_be_kept = match (&graph, asked) {
        (Some(graph), Some(asked)) => graph.is_kept(asked),
        _ => session.claude.boundary.as_ref().is_some_and(Boundary::is_listed),
    };
    if let Some(asked) = asked.filter(|_| may_be_kept)
        && let Some(context) = in_old_place(session, source, asked, extent)?
    {
        return Ok(context);
    }
    let sending = match graph {
        Some(graph) => request::sending_in(graph, source, asked, extent)?,
        None => request::sending_to(session, source, asked, extent)?,
    };
    let mut context = Context::default();
    if sending.leaf.from.is_none() {
        // Otherwise it was asked for above.
        if let Some(asked) = asked.filter(|_| !may_be_kept)
            && let Some(context) = in_old_place(session, source, asked, extent)?
        {
            return Ok(context);
        }
        context.refused = Some("the agent would not continue there: there is no turn");
        return Ok(context);
    }
    let boundary = sending.dropped.iter().rfind(|dropped| dropped.why == request::Why::Compacted);
    let boundary = boundary.map(|dropped| dropped.entry);
    let mut left_out = of_messages(session, source, &sending, &mut context, boundary)?;
    for message in sending.messages {
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        let origin = match message.entry {
            None => Origin::MadeUp,
            Some(entry) if session.entries.flags(entry).has(Flags::COMPACT_SUMMARY) => Origin::Compaction,
            Some(entry) => match session.entries.kind(entry) {
                Kind::Attachment => Origin::Attachment,
                Kind::System => Origin::Note,
                _ => Origin::Message,
            },
        };
        let mut patches = message.entry.and_then(|entry| left_out.remove(&entry)).unwrap_or_default();
        match message.way {
            Way::Part | Way::Answer => patches.push(Patch::PutBack),
            Way::Kept => patches.push(Patch::Kept),
            Way::Link => {}
        }
        if message.bridged {
            patches.push(Patch::Bridged);
        }
        for part in &message.parts {
            match part {
                request::Part::Made(made) => patches.push(Patch::MadeUp { text: made.phrase() }),
                request::Part::Texts(_) => patches.push(Patch::OnlyText),
                _ => {}
            }
        }
        if message.is_notice {
            patches.push(Patch::Added { what: NOTICE });
        }
        let part = if message.is_whole { Part::Turn } else { Part::Claude(message.parts.into()) };
        context.messages.push(Message { entry: message.entry, role: role.into(), origin, patches, part });
    }
    if let Some(name) = sending.model {
        context.models.push(("default".into(), Model { provider: String::new(), name }));
    }
    Ok(context)
}

/// Returns the context at an entry as it was before a compaction replaced or kept it; `None` if none did, or if there was no
/// turn before either.
fn in_old_place(
    session: &Session,
    source: &dyn Source,
    asked: Ix,
    extent: Extent,
) -> io::Result<Option<Context>> {
    let Some(plain) = before_it_was_gone(session, source, asked)? else { return Ok(None) };
    if request::sending(&plain, source, Some(asked))?.leaf.from.is_none() {
        return Ok(None);
    }
    let mut context = build(&plain, source, Some(asked), None, extent)?;
    context.note = Some("a compaction replaced this for the agent; `bough switch` restores it");
    Ok(Some(context))
}

/// Records what is left out: whole entries as dropped, and single blocks as patches if other blocks
/// of the same entry are sent.
fn of_messages(
    session: &Session,
    source: &dyn Source,
    sending: &Sending,
    context: &mut Context,
    boundary: Option<Ix>,
) -> io::Result<HashMap<Ix, Vec<Patch>>> {
    let mut patches: HashMap<Ix, Vec<Patch>> = HashMap::new();
    let sent: std::collections::HashSet<Ix> =
        sending.messages.iter().filter_map(|message| message.entry).collect();
    let mut line = Vec::new();
    for dropped in &sending.dropped {
        let why = match dropped.why {
            request::Why::Compacted if boundary == Some(dropped.entry) => Why::NoPart,
            request::Why::Compacted => Why::Compacted { by: boundary.unwrap_or(dropped.entry) },
            request::Why::Note => Why::NoPart,
            request::Why::NoContent => Why::Empty,
            request::Why::NoResult => Why::CallsLeftOut,
            request::Why::RepeatedCall => Why::Repeated,
            request::Why::NoCall => Why::NoCall,
            request::Why::RepeatedResult => Why::Repeated,
            request::Why::SaysNothing => Why::Forgotten,
            request::Why::Retracted => Why::Retracted,
            request::Why::ApiError => Why::EndedBadly,
            request::Why::OtherModel => Why::OtherModel,
        };
        match dropped.block {
            Some(block) if sent.contains(&dropped.entry) => {
                source.read(session.span(dropped.entry), &mut line)?;
                let item = request::block(&line, block as usize).unwrap_or_default();
                let (patch, patches) = (patch(dropped.why, item), patches.entry(dropped.entry).or_default());
                // Thinking is not told apart.
                if patch != Patch::ThinkingLeftOut || patches.last() != Some(&patch) {
                    patches.push(patch);
                }
            }
            // If an entry has several blocks and all of them are left out, one reason is enough.
            _ if context.dropped.last().is_some_and(|last| last.entry == dropped.entry) => {}
            _ => context.dropped.push(Dropped { entry: dropped.entry, why }),
        }
    }
    Ok(patches)
}

fn patch(why: request::Why, item: &[u8]) -> Patch {
    match why {
        request::Why::NoCall | request::Why::RepeatedResult => {
            Patch::ResultLeftOut { call: text(item, "tool_use_id").into_owned() }
        }
        request::Why::OtherModel => Patch::ThinkingLeftOut,
        _ => {
            Patch::CallLeftOut { call: text(item, "id").into_owned(), tool: text(item, "name").into_owned() }
        }
    }
}

pub(super) fn read_message<'l>(part: &Part, line: &'l [u8]) -> Said<'l> {
    let mut said = Said { usage: Content::outline(Format::Claude, line).usage(), ..Said::default() };
    let mut texts: Vec<Cow<'l, str>> = Vec::new();
    match part {
        Part::Claude(parts) => {
            for part in parts {
                said.add_part(&mut texts, part, line);
            }
        }
        _ => request::items(line).for_each(|item| said.add_item(&mut texts, item)),
    }
    let mut texts = texts.into_iter();
    said.text = texts.next().unwrap_or_default();
    for text in texts {
        let so_far = said.text.to_mut();
        so_far.push('\n');
        so_far.push_str(&text);
    }
    said
}

impl<'l> Said<'l> {
    fn add_part(&mut self, texts: &mut Vec<Cow<'l, str>>, part: &request::Part, line: &'l [u8]) {
        match part {
            request::Part::Stored(at) => self.add_item(texts, request::block(line, *at).unwrap_or_default()),
            request::Part::Texts(at) => {
                let result = request::block(line, *at).unwrap_or_default();
                let content = member(result, "content").unwrap_or_default();
                let left_out = each_item(content).filter(|item| !request::is_text(item));
                self.bytes += result.len() - left_out.map(<[u8]>::len).sum::<usize>();
                let items = each_item(content).filter(|item| request::is_text(item));
                let words = items.map(|item| text(item, "text")).collect::<Vec<_>>().join("\n\n");
                let call = text(result, "tool_use_id");
                texts.push(words.clone().into());
                self.blocks.push(Block::Result { call, is_error: true, text: words.into() });
            }
            request::Part::Command => self.push(texts, text(line, "content")),
            request::Part::Rendered(at) => {
                let words = request::rendered_text(line, *at).unwrap_or_default();
                self.push(texts, words.into());
            }
            request::Part::Attached => self.push(texts, attachment_text(line).into()),
            request::Part::Made(made) => self.add_made(texts, made),
        }
    }

    /// Adds an item of a content, or a content that is a string.
    fn add_item(&mut self, texts: &mut Vec<Cow<'l, str>>, item: &'l [u8]) {
        self.bytes += item.len();
        match item.first() {
            Some(b'"') => {
                texts.push(message_text(item));
                self.blocks.push(Block::Text(message_text(item)));
            }
            _ => {
                texts.extend(block_text(item));
                self.blocks.extend(blocks_of_item(item));
            }
        }
    }

    fn push(&mut self, texts: &mut Vec<Cow<'l, str>>, words: Cow<'l, str>) {
        self.bytes += words.len();
        texts.push(words.clone());
        self.blocks.push(Block::Text(words));
    }

    fn add_made(&mut self, texts: &mut Vec<Cow<'l, str>>, made: &Made) {
        let words = Cow::Borrowed(made.phrase());
        match made {
            Made::Result(call) => {
                texts.push(words.clone());
                self.blocks.push(Block::Result { call: call.clone().into(), is_error: true, text: words });
            }
            _ => {
                texts.push(words.clone());
                self.blocks.push(Block::Text(words));
            }
        }
    }
}
