//! What Codex sends: the items of the path in order, from the last compaction on.
//!
//! A compaction stores the items that stand for everything before it; one of an older version stores
//! only a summary, and Codex keeps the prompts before it. A call without an output gets one, and an
//! output without a call is left out; an output before its call is sent there. Instructions, and what Codex says about the environment when it
//! continues, are new each time and not part of this.

use super::{Context, Message, Model, NoCall, Origin, Part, Patch, Said, Why};
use crate::format::{Block, Content, Session, codex_item, is_codex_prompt};
use crate::json::{each_item, member, place_in};
use crate::model::{Ix, Kind, Source};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;

/// The output that Codex makes up for a call that has none.
const ABORTED: &str = "aborted";

/// How many bytes of prompts before a compaction of an older version are kept, the newest first:
/// 20,000 tokens of four bytes.
const KEPT: usize = 80_000;

pub(super) fn build(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> io::Result<Context> {
    let mut draft = Draft { session, context: Context::default(), items: Vec::new() };
    let mut line = Vec::new();
    let path = leaf.map(|leaf| session.tree.path(leaf)).unwrap_or_default();
    for entry in path {
        match (session.entries.kind(entry), session.entries.ty(entry)) {
            (Kind::Compaction, _) => {
                source.read(session.span(entry), &mut line)?;
                draft.compact(entry, &line);
            }
            (Kind::Setting, ty) => {
                if ty == "turn_context" {
                    source.read(session.span(entry), &mut line)?;
                    let model = Content::read(session.format, &line).model.unwrap_or_default().into_owned();
                    let model = Model { provider: String::new(), name: model };
                    draft.context.models = vec![("default".into(), model)];
                }
                draft.context.drop(entry, Why::NoPart);
            }
            (Kind::Other, _) => draft.context.drop(entry, Why::NotForModel),
            _ => {
                source.read(session.span(entry), &mut line)?;
                let content = Content::read(session.format, &line);
                let mut item = Item::new(entry, Origin::Message, Part::Message, &content);
                item.is_prompt = is_codex_prompt(member(&line, "payload").unwrap_or_default());
                draft.items.push(item);
            }
        }
    }
    Ok(draft.finish())
}

/// One item that may be sent.
#[derive(Clone)]
struct Item {
    entry: Ix,
    role: Cow<'static, str>,
    origin: Origin,
    part: Part,
    /// The call that it is, with its tool.
    call: Option<(String, String)>,
    /// The call that it answers.
    answers: Option<String>,
    /// Whether a compaction that stores only a summary keeps it.
    is_prompt: bool,
    bytes: usize,
}

impl Item {
    fn new(entry: Ix, origin: Origin, part: Part, content: &Content<'_>) -> Item {
        let role = if content.role.is_empty() { &content.ty } else { &content.role };
        Item {
            entry,
            role: role.clone().into_owned().into(),
            origin,
            part,
            call: content.calls().next().map(|(id, name, _)| (id.to_owned(), name.to_owned())),
            answers: content.answers().next().map(str::to_owned),
            is_prompt: false,
            bytes: content.text.len(),
        }
    }
}

struct Draft<'s> {
    session: &'s Session,
    context: Context,
    items: Vec<Item>,
}

impl Draft<'_> {
    /// Replaces the items so far by those of a compaction.
    fn compact(&mut self, entry: Ix, line: &[u8]) {
        let before = std::mem::take(&mut self.items);
        let payload = member(line, "payload").unwrap_or_default();
        let kept = match member(payload, "replacement_history").filter(|list| list.starts_with(b"[")) {
            Some(list) => {
                for item in each_item(list) {
                    let part = Part::Item(place_in(line, item));
                    let mut kept = Item::new(entry, Origin::Carried, part, &codex_item(item));
                    kept.is_prompt = is_codex_prompt(item);
                    self.items.push(kept);
                }
                HashSet::new()
            }
            None => self.keep_prompts(entry, &before, line),
        };
        for item in before.iter().filter(|item| !kept.contains(&item.entry)) {
            let why = match item.origin {
                Origin::Compaction | Origin::Carried => Why::OlderCompaction { by: entry },
                _ => Why::Compacted { by: entry },
            };
            if self.context.dropped.last().is_none_or(|last| last.entry != item.entry) {
                self.context.drop(item.entry, why);
            }
        }
    }

    /// Keeps the prompts before a compaction that stores only a summary, and returns their entries.
    fn keep_prompts(&mut self, entry: Ix, before: &[Item], line: &[u8]) -> HashSet<Ix> {
        let mut room = KEPT;
        let mut prompts = Vec::new();
        for item in before.iter().rev().filter(|item| item.is_prompt) {
            if room == 0 {
                break;
            }
            room = room.saturating_sub(item.bytes);
            prompts.push(item.clone());
        }
        self.items.extend(prompts.into_iter().rev());
        let kept = self.items.iter().map(|item| item.entry).collect();
        let content = Content::read(self.session.format, line);
        let mut summary = Item::new(entry, Origin::Compaction, Part::Summary, &content);
        (summary.role, summary.is_prompt) = (Cow::Borrowed("user"), true);
        self.items.push(summary);
        kept
    }

    /// Pairs calls and outputs.
    fn finish(self) -> Context {
        let Draft { mut context, items, .. } = self;
        let mut calls: HashMap<&str, usize> = HashMap::new();
        let mut outputs: HashMap<&str, usize> = HashMap::new();
        for (at, item) in items.iter().enumerate() {
            if let Some((call, _)) = &item.call {
                calls.entry(call).or_insert(at);
            }
            outputs.extend(item.answers.as_deref().map(|call| (call, at)));
        }
        let mut messages = Vec::new();
        let mut left_out = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let mut message = Message::new(item.entry, item.role.clone(), item.origin, item.part.clone());
            if let Some(call) = &item.answers {
                match calls.get(call.as_str()) {
                    None => {
                        left_out.push(item.entry);
                        continue;
                    }
                    Some(asked) if *asked > at => {
                        let (call, why) = (call.clone(), NoCall::Later);
                        message.patches.push(Patch::NoCall { call, why });
                    }
                    Some(_) => {}
                }
            }
            if let Some((call, tool)) = item.call.as_ref().filter(|_| item.role != "web_search_call") {
                let (last, call, tool) = (outputs.get(call.as_str()), call.clone(), tool.clone());
                message.patches.extend(match last {
                    None => Some(Patch::ResultMadeUp { call, tool, text: ABORTED }),
                    Some(last) if *last < at => Some(Patch::NoResult { call, tool }),
                    Some(_) => None,
                });
            }
            messages.push(message);
        }
        context.messages = messages;
        for entry in left_out {
            context.drop(entry, Why::NoCall);
        }
        // In the order of the path, which is that of the file except after turns were undone.
        context.dropped.sort_by_key(|dropped| dropped.entry);
        context
    }
}

pub(super) fn read_message<'l>(message: &Message, session: &Session, line: &'l [u8]) -> Said<'l> {
    let content = match message.part {
        Part::Item(_) => codex_item(line),
        _ => Content::read(session.format, line),
    };
    let mut blocks = content.blocks;
    if blocks.is_empty() && !content.text.is_empty() {
        blocks.push(Block::Text(content.text.clone()));
    }
    Said { bytes: line.len(), text: super::message_text::text_of(&blocks), blocks, ..Said::default() }
}
