//! What OpenCode sends: its messages in order, the results of a reply right after it, from the last
//! compaction on.
//!
//! A compaction is a prompt that asks for a summary, and the reply that is one; it may keep the last
//! messages before it, which are then sent after it. A reply that failed is not sent, and a call
//! without a result gets one. Thoughts of another model than the current one are sent as text.
//!
//! Images and PDF files that came with results are sent with them to some providers, and to all others as
//! a prompt after the reply. An export has the name of the provider, not its kind: a name that OpenCode
//! does not bring along is taken for one of the others, like most that users set up.

use super::{Context, Media, Message, Model, Origin, Part, Patch, Said, StepPart, Why};
use crate::format::opencode::{Revert, Step, prompt, steps};
use crate::format::{Block, Session};
use crate::json::{Members, each_object, member};
use crate::model::{Ix, Source};
use std::collections::{HashMap, HashSet};
use std::io;

/// The result that OpenCode makes up for a call that has none.
const INTERRUPTED: &str = "[Tool execution was interrupted]";

/// The text before files that are sent after the reply whose calls they came from.
const ATTACHED: &str = "Attached media from tool result:";

pub(super) fn build(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> io::Result<Context> {
    let mut context = Context::default();
    let path = leaf.map(|leaf| session.tree.path(leaf)).unwrap_or_default();
    let mut line = Vec::new();
    let mut end = None;
    if let Some(span) = session.header.as_ref().and_then(|header| header.span)
        && leaf == session.head.exact
    {
        source.read(span, &mut line)?;
        end = Revert::read(&line).and_then(|revert| revert.part);
    }
    let mut facts = Vec::with_capacity(path.len());
    for entry in &path {
        source.read(session.span(*entry), &mut line)?;
        facts.push(Fact::read(*entry, &line));
    }
    let model = facts.iter().rev().find(|fact| fact.is_user).map(|fact| fact.model.clone());
    if let Some(model) = model.clone().filter(|model| !model.name.is_empty()) {
        context.models = vec![("default".into(), model)];
    }
    let sent = after_compaction(&facts);
    let by = facts.iter().rev().find(|fact| fact.is_summary).map(|fact| fact.entry);
    let kept: HashSet<usize> = sent.iter().copied().collect();
    for (at, fact) in facts.iter().enumerate().filter(|(at, _)| !kept.contains(at)) {
        let why = match by {
            Some(by) if facts[at].is_summary => Why::OlderCompaction { by },
            Some(by) => Why::Compacted { by },
            None => Why::NoPart,
        };
        context.drop(fact.entry, why);
    }
    for at in sent {
        let fact = &facts[at];
        if !fact.is_user && !fact.is_reply {
            context.drop(fact.entry, Why::NoPart);
            continue;
        }
        if fact.has_failed {
            context.drop(fact.entry, Why::EndedBadly);
            continue;
        }
        source.read(session.span(fact.entry), &mut line)?;
        let end: Option<Box<str>> = end.clone().filter(|_| Some(fact.entry) == leaf).map(Into::into);
        let before = context.messages.len();
        let origin = if fact.is_summary { Origin::Compaction } else { Origin::Message };
        if fact.is_user {
            if !prompt(&line, true, end.as_deref()).is_empty() {
                let part = Part::Prompt { end };
                context.messages.push(Message::new(fact.entry, "user", origin, part));
            }
        } else {
            reply(&mut context, fact, &line, origin, end, model.as_ref());
        }
        if context.messages.len() == before {
            context.drop(fact.entry, Why::Empty);
        }
    }
    context.dropped.sort_by_key(|dropped| dropped.entry);
    Ok(context)
}

/// Adds what is sent of a reply: each step, its results, and after them files that the model does not
/// take with results.
fn reply(
    context: &mut Context,
    fact: &Fact,
    line: &[u8],
    origin: Origin,
    end: Option<Box<str>>,
    model: Option<&Model>,
) {
    let is_other = model != Some(&fact.model);
    let media = media(model);
    let mut has_files = false;
    for (number, step) in steps(line, end.as_deref()).into_iter().enumerate() {
        if is_silent(&step, is_other) {
            continue;
        }
        let part = |result| {
            let (end, thoughts_as_text) = (end.clone(), is_other);
            Part::Step(Box::new(StepPart { number, result, end, thoughts_as_text, media }))
        };
        has_files |= step.files.iter().flatten().any(|(mime, _)| is_apart(media, mime));
        context.messages.push(Message::new(fact.entry, "assistant", origin, part(None)));
        for (at, (call, tool)) in step.calls.iter().enumerate() {
            if step.results[at].is_some() {
                context.messages.push(Message::new(fact.entry, "tool", origin, part(Some(at))));
                continue;
            }
            // Results are sent in the order of the calls.
            let last = context.messages.last_mut().expect("the reply was added");
            last.patches.push(Patch::result_made_up(call, tool, INTERRUPTED));
        }
    }
    if has_files {
        let part = Part::Files { end, media };
        context.messages.push(Message::new(fact.entry, "user", origin, part));
    }
}

/// Returns the files that the provider of a model takes with results.
fn media(model: Option<&Model>) -> Media {
    let Some(model) = model else { return Media::None };
    let name = model.name.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    match &*model.provider {
        "anthropic" | "openai" | "google-vertex-anthropic" => Media::All,
        "google" if has(&["gemini-3"]) && !has(&["gemini-2"]) => Media::All,
        "xai" => Media::Images,
        "amazon-bedrock" if has(&["anthropic.", "nova", "llama4", "llama-4"]) => Media::Images,
        _ => Media::None,
    }
}

/// Returns whether a file is sent apart from the result that it came with.
fn is_apart(media: Media, mime: &str) -> bool {
    let is_image = mime.starts_with("image/");
    (is_image || mime == "application/pdf") && (media == Media::None || media == Media::Images && !is_image)
}

/// Returns whether nothing is sent of what one request gave.
fn is_silent(step: &Step<'_>, is_other: bool) -> bool {
    step.said.iter().all(|block| match block {
        Block::Thinking { text, .. } => is_other && text.trim().is_empty(),
        _ => false,
    })
}

/// What has to be known of each message.
struct Fact {
    entry: Ix,
    id: String,
    is_user: bool,
    is_reply: bool,
    /// The prompt of a reply.
    parent: String,
    model: Model,
    /// Whether the message asks for a summary, and the first message that is kept then.
    asks: Option<Option<String>>,
    /// Whether the message is a complete summary.
    is_summary: bool,
    /// Whether the reply is a summary, complete or not.
    may_be_summary: bool,
    has_failed: bool,
}

impl Fact {
    fn read(entry: Ix, line: &[u8]) -> Fact {
        let (record, info) = Members::with_nested(line, "info");
        let parts = || each_object(record.get("parts").unwrap_or_default());
        let role = info.text("role");
        let name = |object: &Members<'_>| Model {
            provider: object.text("providerID").into_owned(),
            name: object.text("modelID").into_owned(),
        };
        let is_user = &*role == "user";
        let error = info.get("error").filter(|error| error.starts_with(b"{"));
        let says = |part: Members<'_>| !matches!(&*part.text("type"), "step-start" | "reasoning");
        let is_partial = error.is_some_and(|error| member(error, "name") == Some(b"\"MessageAbortedError\""))
            && parts().any(says);
        let may_be_summary = info.get("summary") == Some(b"true") && !is_user;
        let finish = info.text("finish");
        let asks = parts().find(|part| is_user && part.text("type") == "compaction");
        Fact {
            entry,
            id: info.text("id").into_owned(),
            is_user,
            is_reply: &*role == "assistant",
            parent: info.text("parentID").into_owned(),
            model: if is_user {
                name(&Members::new(info.get("model").unwrap_or_default()))
            } else {
                name(&info)
            },
            asks: asks.map(|part| {
                part.string("tail_start_id").map(|id| id.into_owned()).filter(|id| !id.is_empty())
            }),
            is_summary: may_be_summary && !finish.is_empty() && error.is_none(),
            may_be_summary,
            has_failed: error.is_some() && !is_partial,
        }
    }
}

/// Returns the messages from the last compaction on, in the order in which they are sent: those that
/// it keeps come after its summary.
fn after_compaction(facts: &[Fact]) -> Vec<usize> {
    let mut summarized = HashSet::new();
    let mut until: Option<&str> = None;
    let mut from = 0;
    for (at, fact) in facts.iter().enumerate().rev() {
        from = at;
        if let Some(first) = until {
            if fact.id == first {
                break;
            }
            continue;
        }
        if let Some(tail) = fact.asks.as_ref().filter(|_| summarized.contains(fact.id.as_str())) {
            match tail {
                None => break,
                Some(first) if *first == fact.id => break,
                Some(first) => until = Some(first),
            }
            continue;
        }
        if fact.is_summary {
            summarized.insert(fact.parent.as_str());
        }
    }
    let all: Vec<usize> = (from..facts.len()).collect();
    let places: HashMap<&str, usize> = all.iter().rev().map(|at| (facts[*at].id.as_str(), *at)).collect();
    let asks = all.iter().copied().rfind(|at| matches!(facts[*at].asks, Some(Some(_))));
    let moved = asks.and_then(|asks| {
        let first = *places.get(facts[asks].asks.as_ref()?.as_deref()?)?;
        let is_it = |at: &usize| facts[*at].may_be_summary && facts[*at].parent == facts[asks].id;
        let summary = (asks + 1..facts.len()).find(is_it)?;
        (first < asks).then_some((first, asks, summary))
    });
    match moved {
        None => all,
        Some((first, asks, summary)) => {
            (asks..=summary).chain(first..asks).chain(summary + 1..facts.len()).collect()
        }
    }
}

pub(super) fn read_message<'l>(message: &Message, line: &'l [u8]) -> Said<'l> {
    let blocks = match &message.part {
        Part::Files { end, media } => {
            let files = steps(line, end.as_deref()).into_iter().flat_map(|step| step.files).flatten();
            let apart = files.filter(|(mime, _)| is_apart(*media, mime)).map(|(_, file)| file);
            std::iter::once(Block::Text(ATTACHED.into())).chain(apart).collect()
        }
        Part::Step(part) => {
            let StepPart { number, result, end, thoughts_as_text, media } = &**part;
            let mut step = steps(line, end.as_deref()).into_iter().nth(*number).unwrap_or_default();
            let mut blocks = match result {
                Some(at) => {
                    let files = std::mem::take(&mut step.files[*at]);
                    let with_result = files.into_iter().filter(|(mime, _)| !is_apart(*media, mime));
                    step.results[*at].take().into_iter().chain(with_result.map(|(_, file)| file)).collect()
                }
                None => step.said,
            };
            if *thoughts_as_text {
                make_thoughts_texts(&mut blocks);
            }
            blocks
        }
        Part::Prompt { end } => prompt(line, true, end.as_deref()),
        _ => Vec::new(),
    };
    Said { bytes: line.len(), text: super::message_text::text_of(&blocks), blocks, ..Said::default() }
}

/// Makes thinking a text, as OpenCode does for another model; drops what is blank.
fn make_thoughts_texts(blocks: &mut Vec<Block<'_>>) {
    blocks.retain(|block| !matches!(block, Block::Thinking { text, .. } if text.trim().is_empty()));
    for block in blocks {
        if let Block::Thinking { text, .. } = block {
            *block = Block::Text(std::mem::take(text));
        }
    }
}
