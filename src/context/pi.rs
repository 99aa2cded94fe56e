//! What the pi family sends.
//!
//! The last compaction of the path comes first, then the earlier entries that it keeps, then the
//! entries after it. In pi, later edits can change messages. The harness of pi also shows older
//! compactions. oh-my-pi starts anew after the context was cleared, and removes calls without
//! results and failed replies. Version 1 has no ids: its compactions name the first kept entry by
//! its position among the lines, which is read as pi's own migration reads it.

use super::message_text::{message_text, text_of, text_of_blocks};
use super::pi_words::{added, sent_blocks};
use super::{Context, Message, Model, NoCall, Origin, Part, Patch, Said, Why, blocks, member, text};
use crate::format::content::instructions;
use crate::format::flaws::is_role;
use crate::format::{Block, Content, Format, OtherKind, Session};
use crate::json::{each_item, each_member, string};
use crate::model::{FaultKind, Flags, Ix, Key, Kind, Source};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;

/// The text that pi sends in place of a missing result.
const NO_RESULT: &str = "No result provided";

/// The text that oh-my-pi sends in place of a missing result of a reply that was cut off.
const ABORTED: &str = "aborted";

/// The note for a compaction of version 1 that names the header as the first thing to keep.
const OF_ITS_TIME: &str =
    "current pi keeps nothing before the last compaction; the version that wrote this file kept everything";

/// Custom messages that oh-my-pi keeps from the model.
const KEPT_FROM_MODEL: [&str; 2] = ["prewalk-plan", "vibe-mode-context"];

/// The custom entry of oh-my-pi with the agent's notes, which are sent before all else.
const NOTES: &str = "experimental_context_notes";

/// The maximum length of notes, in bytes.
const LONGEST_NOTES: usize = 16_384;

/// The kind of a compaction of oh-my-pi that keeps the last request of the user.
const ROLLOVER: &str = "experimental-context-rollover";

/// The note for a compaction that oh-my-pi has written since version 18.3.
const KEPT_SINCE_18_3: &str = "oh-my-pi before version 18.3 does not send the messages that this compaction keeps after the \
     provider's snapshot";

/// How a summary begins that oh-my-pi removed from the file when a newer compaction replaced it.
const PRUNED: &str = "[Superseded compaction summary";

/// The note for a compaction whose summary was removed from the file.
const SUMMARY_IS_GONE: &str = "oh-my-pi removed the summary of this compaction from the file, so the messages that it replaced are \
     not sent";

/// The reason for an entry that makes the agent crash when it builds the context.
const NO_MESSAGE: &str = "the agent crashes on an entry without a message";

/// The reason for a reply that makes oh-my-pi crash when it builds the context.
const NO_LIST: &str = "oh-my-pi crashes on a reply whose content is not a list";

/// The reason for an edit that makes pi crash when it builds the context.
const NO_REPLACEMENT: &str = "pi crashes on an edit without a replacement";

/// The custom message after which oh-my-pi sends the broken reply before it.
const INTERRUPTED: &str = "interrupted-thinking";

pub(super) fn build(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> io::Result<Context> {
    let Some(leaf) = leaf else {
        return Ok(Context { thinking: Some("off".into()), ..Context::default() });
    };
    let path = session.tree.path(leaf);
    let mut build = Build {
        session,
        source,
        line: Vec::new(),
        context: Context::default(),
        calls: Calls::default(),
        replacing: None,
    };
    let path = build.without_popped(path)?;
    let from = build.begins(&path)?;
    build.settings(&path[from..])?;
    let chosen = build.choose(&path)?;
    let mut drafts = build.drafts(&chosen)?;
    if session.format == Format::Omp {
        build.put_notes_first(&path, &mut drafts)?;
        build.leave_out_calls(&mut drafts);
        build.leave_out_failures(&mut drafts);
        leave_out_roles(session.format, &mut drafts);
        pair_as_omp(&build.calls, &mut drafts);
    } else {
        if matches!(session.format, Format::Pi | Format::PiV1 | Format::PiV2 | Format::Harness) {
            leave_out_roles(session.format, &mut drafts);
        }
        on_the_way(&build.calls, &mut drafts);
        build.explain(&path, &mut drafts)?;
    }
    let Build { mut context, .. } = build;
    context.messages = drafts.into_iter().map(|draft| draft.message).collect();
    if session.format == Format::Omp {
        note_added(session, source, &mut context.messages)?;
    }
    // The path follows the links, not the order of the file, and so must the dropped entries.
    let mut place = vec![None; session.entries.len()];
    for (at, entry) in (0u32..).zip(&path) {
        place[entry.index()] = Some(at);
    }
    context.dropped.sort_by_key(|dropped| place[dropped.entry.index()]);
    Ok(context)
}

/// Notes what oh-my-pi adds to messages.
fn note_added(session: &Session, source: &dyn Source, messages: &mut [Message]) -> io::Result<()> {
    let mut line = Vec::new();
    for message in messages.iter_mut().filter(|message| message.is_sent()) {
        // Replies and results are sent as they are.
        let Some(entry) = message.entry.filter(|_| !matches!(&*message.role, "assistant" | "toolResult"))
        else {
            continue;
        };
        source.read(session.span(entry), &mut line)?;
        message.patches.extend(added(message, &line));
    }
    Ok(())
}

struct Build<'s> {
    session: &'s Session,
    source: &'s dyn Source,
    line: Vec<u8>,
    context: Context,
    calls: Calls,
    /// The compaction for which entries were left out, once all entries are chosen.
    replacing: Option<Ix>,
}

/// The entries of the path that count, in the order in which they are sent.
#[derive(Default)]
struct Chosen {
    entries: Vec<Ix>,
    compaction: Option<Ix>,
    /// How many items the provider's own history has that is sent instead of the kept entries.
    history: Option<usize>,
}

/// The calls of all drafts, with their ids in one text: a long session has very many.
#[derive(Default)]
struct Calls {
    list: Vec<Call>,
    text: String,
    /// Where each id ends in the text.
    ends: Vec<usize>,
    tools: Vec<String>,
}

/// A call of a tool.
#[derive(Clone, Copy)]
struct Call {
    id: CallId,
    /// The place of the tool among the names.
    tool: u32,
}

/// An id of a call, by its number.
#[derive(Clone, Copy)]
struct CallId(u32);

impl Calls {
    fn add(&mut self, id: &str, tool: &str) {
        let place = self.tools.iter().position(|known| known == tool).unwrap_or_else(|| {
            self.tools.push(tool.to_owned());
            self.tools.len() - 1
        });
        let id = self.add_id(id);
        self.list.push(Call { id, tool: place as u32 });
    }

    fn add_id(&mut self, id: &str) -> CallId {
        self.text.push_str(id);
        self.ends.push(self.text.len());
        CallId(self.ends.len() as u32 - 1)
    }

    fn id(&self, id: CallId) -> &str {
        let at = id.0 as usize;
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[from..self.ends[at]]
    }

    /// Returns the calls of a reply: their ids, and their tools.
    fn asked_by<'c>(&'c self, draft: &Draft) -> impl Iterator<Item = (&'c str, &'c str)> + use<'c> {
        let calls = &self.list[draft.calls.start as usize..draft.calls.end as usize];
        calls.iter().map(|call| (self.id(call.id), &*self.tools[call.tool as usize]))
    }

    /// Returns the call that a result names.
    fn answered_by<'c>(&'c self, draft: &Draft) -> Option<&'c str> {
        draft.answers.map(|id| self.id(id))
    }
}

/// An unfinished message, with the facts that the later steps need.
struct Draft {
    message: Message,
    /// The calls of a reply, in [`Calls`].
    calls: Range<u32>,
    answers: Option<CallId>,
    failed: bool,
    /// Whether anything is left of a reply without its calls; for a result, whether it has a text.
    says_more: bool,
    interrupted: bool,
}

impl Build<'_> {
    fn read(&mut self, entry: Ix) -> io::Result<&[u8]> {
        self.source.read(self.session.span(entry), &mut self.line)?;
        Ok(&self.line)
    }

    fn omp(&self) -> bool {
        self.session.format == Format::Omp
    }

    /// Returns the path without the entries that a `stack_pop` of version 1 removed from the stack:
    /// all from the entry that it goes back to, up to itself. No release wrote such entries.
    fn without_popped(&mut self, mut path: Vec<Ix>) -> io::Result<Vec<Ix>> {
        let session = self.session;
        if session.format != Format::PiV1 || !path.iter().any(|ix| session.entries.ty(*ix) == "stack_pop") {
            return Ok(path);
        }
        let mut left: Vec<Ix> = Vec::with_capacity(path.len());
        for ix in path.drain(..) {
            if session.entries.ty(ix) == "stack_pop" {
                let line = self.read(ix)?;
                let index = member(line, "backToIndex")
                    .and_then(|index| std::str::from_utf8(index).ok()?.parse().ok());
                if let Some(back) = index.and_then(|index| parsed_entry(session, index)) {
                    let from = left.partition_point(|entry| *entry < back);
                    for entry in left.split_off(from) {
                        self.leave(entry, Why::Compacted { by: ix });
                    }
                }
            }
            left.push(ix);
        }
        Ok(left)
    }

    /// Returns the position on the path at which settings begin to count. This is the start of the
    /// path, except for the harness: it starts at the first entry that a compaction keeps, and an
    /// older compaction in between moves that further up.
    fn begins(&mut self, path: &[Ix]) -> io::Result<usize> {
        if self.session.format != Format::Harness {
            return Ok(0);
        }
        let mut stop = None;
        for (at, &entry) in path.iter().enumerate().rev() {
            if stop == Some(self.session.entries.key(entry)) {
                return Ok(at);
            }
            if self.session.entries.ty(entry) == "compaction" {
                let line = self.read(entry)?;
                if member(line, "retainedTail").is_some_and(|tail| tail.starts_with(b"[")) {
                    return Ok(at);
                }
                let kept = text(line, "firstKeptEntryId");
                stop = Some(Key::hash(kept.as_bytes())).filter(|_| !kept.is_empty());
            }
        }
        Ok(0)
    }

    /// Finds the model and the thinking level at the end of the whole path.
    fn settings(&mut self, path: &[Ix]) -> io::Result<()> {
        let entries = &self.session.entries;
        let (mut thinking, mut model, mut replied) = (None, None, None);
        let mut explicit = false;
        for &entry in path {
            match entries.ty(entry) {
                "thinking_level_change" => thinking = Some(entry),
                "model_change" if self.omp() => {
                    let line = self.read(entry)?;
                    let name = text(line, "model").into_owned();
                    let role = text(line, "role").into_owned();
                    let role = if role.is_empty() { "default".into() } else { role };
                    if !name.is_empty() {
                        explicit |= role == "default";
                        self.set_model(role, Model { provider: String::new(), name });
                    }
                }
                "model_change" => (model, replied) = (Some(entry), None),
                "message" if entries.kind(entry) == Kind::Assistant && !explicit => replied = Some(entry),
                "message" if entries.kind(entry) == Kind::Other => {
                    let message = member(self.read(entry)?, "message").unwrap_or_default();
                    let is_object = message.starts_with(b"{");
                    if !is_object {
                        self.context.refused = Some(NO_MESSAGE);
                    }
                }
                _ => {}
            }
        }
        let (entry, provider, name) = match (replied, model) {
            (Some(reply), _) => (Some(reply), "provider", "model"),
            (None, model) => (model, "provider", "modelId"),
        };
        // After an explicit model, oh-my-pi ignores the model that a later reply names.
        if let Some(entry) = entry.filter(|_| !explicit) {
            let line = self.read(entry)?;
            let object = if replied.is_some() { member(line, "message").unwrap_or_default() } else { line };
            let mut model = Model {
                provider: text(object, provider).into_owned(),
                name: text(object, name).into_owned(),
            };
            if self.omp() {
                model = Model { provider: String::new(), name: model.to_string() };
            }
            self.set_model("default".into(), model);
        }
        let level = match thinking {
            Some(entry) => text(self.read(entry)?, "thinkingLevel").into_owned(),
            None => String::new(),
        };
        self.context.thinking = Some(if level.is_empty() { "off".into() } else { level });
        Ok(())
    }

    fn set_model(&mut self, role: String, model: Model) {
        match self.context.models.iter_mut().find(|(known, _)| *known == role) {
            Some((_, known)) => *known = model,
            None => self.context.models.push((role, model)),
        }
    }

    /// Chooses the entries that count, and records for each of the others why it does not.
    fn choose(&mut self, path: &[Ix]) -> io::Result<Chosen> {
        let ty = |at: usize| self.session.entries.ty(path[at]);
        let last = |wanted: &str| (0..path.len()).rev().find(|at| ty(*at) == wanted);
        // A reset of OpenClaw is a compaction without a summary.
        let reset = last("reset").filter(|_| self.session.format == Format::OpenClaw);
        let compaction = last("compaction").max(reset);
        if let Some(cleared) = last("reset_boundary").filter(|at| self.omp() && Some(*at) > compaction) {
            let by = path[cleared];
            for &entry in &path[..cleared] {
                self.leave(entry, Why::Cleared { by });
            }
            return Ok(Chosen { entries: path[cleared..].to_vec(), ..Chosen::default() });
        }
        let Some(at) = compaction else {
            return Ok(Chosen { entries: path.to_vec(), ..Chosen::default() });
        };
        let by = path[at];
        let mut chosen = Chosen { entries: vec![by], compaction: Some(by), history: None };
        let mut first = self.first_kept(&path[..at], by)?;
        let mut why = Why::Compacted { by };
        if let Some((items, from)) = self.provider_history(&path[..at], by)? {
            chosen.history = Some(items);
            (first, why) = (from, Why::InProviderHistory { by });
        } else if let Some(from) = self.behind_snapshot(&path[..at], by)? {
            first = Some(from);
            self.context.note = Some(KEPT_SINCE_18_3);
        }
        if self.omp() && text(self.read(by)?, "summary").starts_with(PRUNED) {
            self.context.note = Some(SUMMARY_IS_GONE);
        }
        let request = self.request_before(path, at)?;
        for (place, &entry) in path[..at].iter().enumerate() {
            let kept = first.is_some_and(|first| place >= first) || request == Some(place);
            // An earlier system message is stale; the compaction has the one that counts.
            let stale = !matches!(self.session.format, Format::Omp | Format::Harness | Format::HarnessV4)
                && self.session.entries.kind(entry) == Kind::System;
            // After a reset, only messages of the user and the model are kept.
            let said = matches!(self.session.entries.kind(entry), Kind::User | Kind::Assistant);
            match kept && !stale && (said || reset != Some(at)) {
                true => chosen.entries.push(entry),
                false => self.leave(entry, why),
            }
        }
        chosen.entries.extend(&path[at + 1..]);
        Ok(chosen)
    }

    /// Records an entry that is not chosen. If the entry would yield no message anyway, that is the
    /// reason.
    fn leave(&mut self, entry: Ix, why: Why) {
        let why = match (self.session.entries.ty(entry), why) {
            ("compaction", Why::Compacted { by }) => Why::OlderCompaction { by },
            (
                "message" | "custom_message" | "branch_summary" | "compaction" | "stack_summary"
                | "stack_pop",
                why,
            ) => why,
            _ => Why::NoPart,
        };
        self.context.drop(entry, why);
    }

    /// Returns the position on the path of the first entry that a compaction keeps.
    fn first_kept(&mut self, before: &[Ix], compaction: Ix) -> io::Result<Option<usize>> {
        let (format, session) = (self.session.format, self.session);
        let line = self.read(compaction)?;
        let key = format.names().kept;
        if format == Format::PiV1 {
            let index = kept_index(line);
            let kept = index.and_then(|index| parsed_entry(session, index));
            let place = kept.and_then(|kept| before.iter().position(|entry| *entry == kept));
            if place.is_none() && index == Some(0) {
                self.context.note = Some(OF_ITS_TIME);
            }
            return Ok(place);
        }
        let id = text(line, key);
        let kept = Key::hash(id.as_bytes());
        let there = member(line, key).is_some();
        if there { Ok(before.iter().position(|entry| session.entries.key(*entry) == kept)) } else { Ok(None) }
    }

    /// Returns the provider history that a compaction of oh-my-pi may carry: how many items it has,
    /// and from which position on entries before the compaction are still sent.
    fn provider_history(
        &mut self,
        before: &[Ix],
        compaction: Ix,
    ) -> io::Result<Option<(usize, Option<usize>)>> {
        if !self.omp() {
            return Ok(None);
        }
        let session = self.session;
        let line = self.read(compaction)?;
        let history = member(line, "preserveData").and_then(|data| member(data, "openaiRemoteCompaction"));
        let Some(history) = history.filter(|history| !text(history, "provider").is_empty()) else {
            return Ok(None);
        };
        let Some(items) = member(history, "replacementHistory").filter(|items| items.starts_with(b"["))
        else {
            return Ok(None);
        };
        if each_item(items).any(|item| !item.starts_with(b"{")) {
            return Ok(None);
        }
        let through = text(line, "providerReplayThroughEntryId");
        let through = (!through.is_empty()).then(|| Key::hash(through.as_bytes()));
        let place = before.iter().position(|entry| Some(session.entries.key(*entry)) == through);
        Ok(Some((each_item(items).count(), place.map(|place| place + 1))))
    }

    /// Returns the position on the path from which on a compaction with an Anthropic snapshot keeps
    /// entries, if it names no first kept entry but only the last one in the snapshot.
    fn behind_snapshot(&mut self, before: &[Ix], compaction: Ix) -> io::Result<Option<usize>> {
        if !self.omp() {
            return Ok(None);
        }
        let session = self.session;
        let line = self.read(compaction)?;
        let snapshot = member(line, "preserveData").and_then(|data| member(data, "anthropicCompaction"));
        let is_text = |key| snapshot.and_then(|snapshot| member(snapshot, key)).and_then(string).is_some();
        if member(line, "firstKeptEntryId") != Some(b"\"\"") || !is_text("provider") || !is_text("content") {
            return Ok(None);
        }
        let through = text(line, "providerReplayThroughEntryId");
        let through = Some(Key::hash(through.as_bytes())).filter(|_| !through.is_empty());
        let place = before.iter().position(|entry| Some(session.entries.key(*entry)) == through);
        Ok(place.map(|place| place + 1))
    }

    /// Returns the position of the user's last request before a compaction that keeps it without a
    /// summary, if it comes before the first kept entry. That entry is searched on the whole path,
    /// and may be the compaction itself.
    fn request_before(&mut self, path: &[Ix], compaction: usize) -> io::Result<Option<usize>> {
        if !self.omp() {
            return Ok(None);
        }
        let session = self.session;
        let line = self.read(path[compaction])?;
        if member(line, "details").is_none_or(|details| text(details, "kind") != ROLLOVER) {
            return Ok(None);
        }
        let kept = Key::hash(text(line, "firstKeptEntryId").as_bytes());
        let first = path.iter().position(|entry| session.entries.key(*entry) == kept);
        for (place, &entry) in path[..compaction].iter().enumerate().rev() {
            if self.session.entries.ty(entry) == "reset_boundary" {
                break;
            }
            if self.is_request(entry)? {
                return Ok(Some(place).filter(|place| first.is_some_and(|first| *place < first)));
            }
        }
        Ok(None)
    }

    /// Returns whether an entry is a request of the user: a prompt, or a message of a skill or of a
    /// peer in the user's name.
    fn is_request(&mut self, entry: Ix) -> io::Result<bool> {
        let is_custom = match (self.session.entries.ty(entry), self.session.entries.kind(entry)) {
            ("message", Kind::User) => return Ok(true),
            ("message", Kind::Custom) => false,
            ("custom_message", _) => true,
            _ => return Ok(false),
        };
        let line = self.read(entry)?;
        let message = if is_custom { line } else { member(line, "message").unwrap_or_default() };
        let content = member(message, "content");
        let is_sent = !is_custom || content.is_some_and(|content| matches!(content[0], b'[' | b'"'));
        let by_user = text(message, "attribution") == "user";
        let is_of_user = matches!(&*text(message, "customType"), "skill-prompt" | "collab-prompt");
        let is_custom = is_custom || text(message, "role") == "custom";
        Ok(is_custom && is_sent && by_user && is_of_user)
    }

    /// Puts the agent's notes before all messages: the last well-formed ones, if they were made
    /// after the context was last cleared and are not empty.
    fn put_notes_first(&mut self, path: &[Ix], drafts: &mut Vec<Draft>) -> io::Result<()> {
        for &entry in path.iter().rev() {
            match self.session.entries.ty(entry) {
                "reset_boundary" => return Ok(()),
                "custom" => {}
                _ => continue,
            }
            let line = self.read(entry)?;
            if text(line, "customType") != NOTES {
                continue;
            }
            let Some(notes) = member(line, "data").and_then(well_formed_notes) else { continue };
            if !notes.is_empty() {
                let message = Message::new(entry, "custom", Origin::Custom, Part::Notes);
                drafts.insert(0, Draft::new(message));
                self.context.dropped.retain(|dropped| dropped.entry != entry);
            }
            return Ok(());
        }
        Ok(())
    }

    /// Adds to each result that is sent without its call where the call is.
    fn explain(&self, path: &[Ix], drafts: &mut [Draft]) -> io::Result<()> {
        let unknown = |patch: &Patch| matches!(patch, Patch::NoCall { why: NoCall::NotOnPath, .. });
        if !drafts.iter().any(|draft| draft.message.patches.iter().any(unknown)) {
            return Ok(());
        }
        let mut wanted: HashSet<String> = HashSet::new();
        for patch in drafts.iter().flat_map(|draft| &draft.message.patches) {
            if let Patch::NoCall { call, why: NoCall::NotOnPath } = patch {
                wanted.insert(call.clone());
            }
        }
        // The last call with an id counts. It is rarely far before what is sent.
        let (mut line, mut calls) = (Vec::new(), HashMap::new());
        for (place, &entry) in path.iter().enumerate().rev() {
            if wanted.is_empty() {
                break;
            }
            if self.session.entries.kind(entry) == Kind::Assistant
                && self.session.entries.flags(entry).has(Flags::CALL)
            {
                self.source.read(self.session.span(entry), &mut line)?;
                for (id, ..) in Content::read(self.session.format, &line).calls() {
                    if wanted.remove(id) {
                        calls.insert(id.to_owned(), (place, entry));
                    }
                }
            }
        }
        let dropped: HashMap<Ix, Why> =
            self.context.dropped.iter().map(|dropped| (dropped.entry, dropped.why)).collect();
        let place: HashMap<Ix, usize> = path.iter().enumerate().map(|(at, ix)| (*ix, at)).collect();
        let mut edited: HashMap<Ix, Ix> = HashMap::new();
        let mut failed: HashSet<Ix> = HashSet::new();
        for draft in &*drafts {
            let Some(entry) = draft.message.entry else { continue };
            for patch in &draft.message.patches {
                match patch {
                    Patch::Edited { by } => drop(edited.insert(entry, *by)),
                    Patch::EndedBadly => drop(failed.insert(entry)),
                    _ => {}
                }
            }
        }
        for draft in drafts {
            let at = draft.message.entry.and_then(|entry| place.get(&entry).copied());
            for patch in &mut draft.message.patches {
                let Patch::NoCall { call, why } = patch else { continue };
                if *why != NoCall::NotOnPath {
                    continue;
                }
                let Some((asked, entry)) = calls.get(call) else { continue };
                *why = match (dropped.get(entry), edited.get(entry)) {
                    (Some(dropped), _) => NoCall::NotSent(*dropped),
                    (_, Some(by)) => NoCall::Edited { by: *by },
                    _ if failed.contains(entry) => NoCall::Failed,
                    _ if at.is_some_and(|at| *asked > at) => NoCall::Later,
                    _ => NoCall::NotOnPath,
                };
            }
        }
        Ok(())
    }

    fn drafts(&mut self, chosen: &Chosen) -> io::Result<Vec<Draft>> {
        let edits = self.edits(&chosen.entries)?;
        self.replacing = self.context.dropped.iter().find_map(|dropped| match dropped.why {
            Why::Compacted { by } | Why::InProviderHistory { by } => Some(by),
            _ => None,
        });
        let mut drafts = Vec::with_capacity(chosen.entries.len());
        for (place, &entry) in chosen.entries.iter().enumerate() {
            let from = drafts.len();
            let why = self.draft(entry, place == 0 && chosen.compaction == Some(entry), &mut drafts)?;
            if let Some(why) = why {
                self.context.drop(entry, why);
            }
            if let Some((edit, kept)) = edits.get(&self.session.entries.key(entry)) {
                if *kept == Some(false) {
                    if drafts.len() > from {
                        self.context.drop(entry, Why::EditedOut { by: *edit });
                    }
                    drafts.truncate(from);
                }
                if kept.is_none() && drafts.len() > from {
                    self.context.refused = Some(NO_REPLACEMENT);
                }
                for draft in &mut drafts[from..] {
                    draft.edit(*edit);
                }
            }
        }
        if let (Some(items), Some(first)) = (chosen.history, drafts.first_mut()) {
            first.message.patches.push(Patch::ProviderHistory { items });
        }
        Ok(drafts)
    }

    /// Returns the last edit of each entry, and whether anything of the entry remains; `None` if
    /// the edit does not say.
    fn edits(&mut self, entries: &[Ix]) -> io::Result<HashMap<Key, (Ix, Option<bool>)>> {
        let mut edits = HashMap::new();
        if !matches!(self.session.format, Format::Pi | Format::PiV2) {
            return Ok(edits);
        }
        for &entry in entries {
            if self.session.entries.ty(entry) == "context_edit" {
                let line = self.read(entry)?;
                let kept = member(line, "replacement").map(|replacement| replacement != b"null");
                edits.insert(Key::hash(text(line, "targetId").as_bytes()), (entry, kept));
            }
        }
        Ok(edits)
    }

    /// Makes the messages of one entry, or returns why it yields none.
    fn draft(&mut self, entry: Ix, is_compaction: bool, into: &mut Vec<Draft>) -> io::Result<Option<Why>> {
        let (session, omp) = (self.session, self.omp());
        match session.entries.ty(entry) {
            "message" => {
                self.read(entry)?;
                if !member(&self.line, "message").is_some_and(|message| message.starts_with(b"{")) {
                    self.context.refused = Some(NO_MESSAGE);
                    return Ok(Some(Why::Empty));
                }
                let draft = message(session.format, entry, &self.line, &mut self.calls);
                if omp && self.retried() {
                    return Ok(Some(Why::NotForModel));
                }
                if omp && self.failed_without_content() {
                    return Ok(Some(Why::EndedBadly));
                }
                if omp && draft.message.role == "assistant" && !self.has_blocks() {
                    self.context.refused = Some(NO_LIST);
                }
                into.push(draft);
            }
            "custom_message" => {
                let line = self.read(entry)?;
                let ty = text(line, "customType").into_owned();
                let sendable = member(line, "content")
                    .is_some_and(|content| content.starts_with(b"[") || content.starts_with(b"\""));
                if omp && (KEPT_FROM_MODEL.contains(&&*ty) || !sendable) {
                    return Ok(Some(if sendable { Why::NotForModel } else { Why::Empty }));
                }
                let mut draft = Draft::new(Message::new(entry, "custom", Origin::Custom, Part::Content));
                draft.interrupted = ty == INTERRUPTED;
                into.push(draft);
            }
            "branch_summary" | "stack_summary" | "stack_pop"
                if session.entries.kind(entry) == Kind::Summary =>
            {
                if text(self.read(entry)?, "summary").is_empty() {
                    return Ok(Some(Why::Empty));
                }
                into.push(Draft::new(Message::new(
                    entry,
                    "branchSummary",
                    Origin::BranchSummary,
                    Part::Summary,
                )));
            }
            "compaction" => {
                let harness = matches!(session.format, Format::Harness | Format::HarnessV4);
                if !is_compaction && !harness {
                    let by = self.replacing.unwrap_or(entry);
                    return Ok(Some(Why::OlderCompaction { by }));
                }
                self.compaction(entry, harness, into)?;
            }
            _ => return Ok(Some(Why::NoPart)),
        }
        Ok(None)
    }

    fn compaction(&mut self, entry: Ix, harness: bool, into: &mut Vec<Draft>) -> io::Result<()> {
        let omp = self.omp();
        let line = self.read(entry)?;
        let new = |role: String, part| Draft::new(Message::new(entry, role, Origin::Compaction, part));
        let system = member(line, "systemMessage").filter(|system| system.starts_with(b"{"));
        if let Some(system) = system.filter(|_| !harness && !omp) {
            into.push(new(text(system, "role").into_owned(), Part::System));
        }
        into.push(new("compactionSummary".into(), Part::Summary));
        if harness {
            for (place, item) in each_item(member(line, "retainedTail").unwrap_or_default()).enumerate() {
                let role = text(item, "role").into_owned();
                into.push(Draft::new(Message::new(entry, role, Origin::Carried, Part::Tail(place))));
            }
        }
        Ok(())
    }

    /// Returns whether the current line is a reply that oh-my-pi retried.
    fn retried(&self) -> bool {
        let message = member(&self.line, "message").unwrap_or_default();
        let falsy: [&[u8]; 4] = [b"null", b"false", b"0", b"\"\""];
        text(message, "role") == "assistant"
            && member(message, "retryRecovery").is_some_and(|value| !falsy.contains(&value))
    }

    /// Returns whether the current line has content that oh-my-pi can iterate over.
    fn has_blocks(&self) -> bool {
        let content = member(&self.line, "message").and_then(|message| member(message, "content"));
        content.is_some_and(|content| match content[0] {
            b'[' => !each_item(content).any(|item| item == b"null"),
            first => first == b'"',
        })
    }

    /// Returns whether the current line is a reply that ended in an error and has no content left.
    fn failed_without_content(&self) -> bool {
        let message = member(&self.line, "message").unwrap_or_default();
        let blank = |block: &[u8], key| text(block, key).trim().is_empty();
        text(message, "role") == "assistant"
            && text(message, "stopReason") == "error"
            && member(message, "content").is_some_and(|content| content.starts_with(b"["))
            && !each_item(member(message, "content").unwrap_or_default()).any(|block| {
                match &*text(block, "type") {
                    "text" => !blank(block, "text"),
                    "thinking" => !blank(block, "thinking") || !blank(block, "thinkingSignature"),
                    "redactedThinking" => !blank(block, "data"),
                    "fallback" => false,
                    _ => true,
                }
            })
    }

    /// Removes calls that have no result on the path, as oh-my-pi does, and messages that become
    /// empty.
    fn leave_out_calls(&mut self, drafts: &mut Vec<Draft>) {
        let (calls, context) = (&self.calls, &mut self.context);
        let answered: HashSet<&str> = drafts.iter().filter_map(|draft| calls.answered_by(draft)).collect();
        drafts.retain_mut(|draft| {
            let open = |(id, _): &(&str, &str)| !answered.contains(id);
            let left_out = calls.asked_by(draft).filter(open).count();
            if left_out == 0 {
                return true;
            }
            if !draft.says_more && left_out == draft.calls.len() {
                context.dropped.extend(
                    draft.message.entry.map(|entry| super::Dropped { entry, why: Why::CallsLeftOut }),
                );
                return false;
            }
            let left_out = calls.asked_by(draft).filter(open);
            let patches = left_out
                .map(|(call, tool)| Patch::CallLeftOut { call: call.to_owned(), tool: tool.to_owned() });
            draft.message.patches.extend(patches);
            true
        });
    }

    /// Removes failed replies together with the results of their calls, as oh-my-pi does.
    fn leave_out_failures(&mut self, drafts: &mut Vec<Draft>) {
        let mut why: Vec<Option<Why>> = vec![None; drafts.len()];
        // Results are searched only after their reply, so one pass from the start finds them all.
        let (calls, context) = (&self.calls, &mut self.context);
        let mut dropped_calls: HashSet<&str> = HashSet::new();
        for at in 0..drafts.len() {
            let draft = &drafts[at];
            if calls.answered_by(draft).is_some_and(|call| dropped_calls.contains(call)) {
                why[at] = Some(Why::AnswersDropped);
            }
            let excused = drafts.get(at + 1).is_some_and(|next| next.interrupted);
            if draft.failed && !excused {
                why[at] = Some(Why::EndedBadly);
                let open = |call: &&str| !draft.left_out(call);
                dropped_calls.extend(calls.asked_by(draft).map(|(id, _)| id).filter(open));
            }
        }
        let mut why = why.into_iter();
        drafts.retain(|draft| match (why.next().flatten(), draft.message.entry) {
            (Some(why), Some(entry)) => {
                context.drop(entry, why);
                false
            }
            (why, _) => why.is_none(),
        });
    }
}

impl Draft {
    fn new(message: Message) -> Draft {
        Draft { message, calls: 0..0, answers: None, failed: false, says_more: true, interrupted: false }
    }

    /// Takes the content from an edit, if the role allows it.
    fn edit(&mut self, by: Ix) {
        if matches!(&*self.message.role, "user" | "assistant" | "toolResult" | "custom") {
            self.message.part = Part::Edit(by);
            self.message.patches.push(Patch::Edited { by });
            self.calls = 0..0;
        }
    }

    fn left_out(&self, id: &str) -> bool {
        self.message
            .patches
            .iter()
            .any(|patch| matches!(patch, Patch::CallLeftOut { call, .. } if call == id))
    }
}

/// Makes the draft of a line that is a message.
fn message(format: Format, entry: Ix, line: &[u8], calls: &mut Calls) -> Draft {
    let content = Content::read(format, line);
    let message = member(line, "message").unwrap_or_default();
    let role = match (&*content.role, format) {
        ("hookMessage", Format::PiV1 | Format::PiV2) => "custom",
        (role, _) => role,
    };
    let mut draft = Draft::new(Message::new(entry, role_name(role), Origin::Message, Part::Message));
    match &*content.role {
        "assistant" => {
            let from = calls.list.len() as u32;
            content.calls().for_each(|(id, tool, _)| calls.add(id, tool));
            draft.calls = from..calls.list.len() as u32;
            draft.failed = matches!(content.ended.as_deref(), Some("error" | "aborted"));
            draft.says_more = each_item(member(message, "content").unwrap_or_default())
                .any(|block| !matches!(&*text(block, "type"), "toolCall" | "redactedThinking"));
        }
        "toolResult" => {
            draft.answers = Some(calls.add_id(content.answers().next().unwrap_or_default()));
            let stored = member(message, "content").unwrap_or_default();
            draft.says_more = each_item(stored)
                .any(|block| text(block, "type") == "text" && !text(block, "text").trim().is_empty());
        }
        "bashExecution" | "pythonExecution" if member(message, "excludeFromContext") == Some(b"true") => {
            draft.message.patches.push(Patch::Excluded);
        }
        "custom" => draft.interrupted = text(message, "customType") == INTERRUPTED,
        _ => {}
    }
    draft
}

/// Returns the name of a role; one that is known costs nothing.
fn role_name(role: &str) -> Cow<'static, str> {
    const KNOWN: [&str; 6] = ["user", "assistant", "toolResult", "custom", "bashExecution", "system"];
    match KNOWN.into_iter().find(|known| *known == role) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(role.to_owned()),
    }
}

/// Returns the text of notes that oh-my-pi accepts: an object with a version and a text, and
/// nothing else.
fn well_formed_notes(data: &[u8]) -> Option<String> {
    let is_1 = |value: &[u8]| std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()) == Some(1.0);
    let keys: HashSet<_> = each_member(data).map(|(key, _)| key).collect();
    let notes = member(data, "text").and_then(string).filter(|notes| notes.len() <= LONGEST_NOTES)?;
    (keys.len() == 2 && member(data, "version").is_some_and(is_1)).then(|| notes.into_owned())
}

/// Withholds messages in roles that the agent does not know.
fn leave_out_roles(format: Format, drafts: &mut [Draft]) {
    for draft in drafts {
        if matches!(draft.message.part, Part::Message | Part::Edit(_))
            && !is_role(format, &draft.message.role)
        {
            draft.message.patches.push(Patch::UnknownRole);
        }
    }
}

/// Treats results as oh-my-pi does on the way to the model. The results of a reply are sent right after
/// it: what follows it directly, then the first of each missing one that comes later, or a made-up one.
/// All others are left out; one that no call asked for becomes a text, unless calls wait for their results.
fn pair_as_omp(calls: &Calls, drafts: &mut Vec<Draft>) {
    let sent = |draft: &Draft| {
        let sent = calls.asked_by(draft).filter(|(id, _)| !draft.left_out(id));
        sent.collect::<Vec<_>>()
    };
    let asked: HashSet<&str> = drafts.iter().flat_map(sent).map(|(id, _)| id).collect();
    let mut results: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, draft) in drafts.iter().enumerate().filter(|(_, draft)| draft.message.is_sent()) {
        if let Some(call) = calls.answered_by(draft) {
            results.entry(call).or_default().push(at);
        }
    }
    let mut answered: HashSet<&str> = HashSet::new();
    // The calls of the last reply, and where it is.
    let (mut waiting, mut from): (Vec<(&str, &str)>, usize) = (Vec::new(), 0);
    // The waiting calls without a result.
    let mut open: HashSet<&str> = HashSet::new();
    let mut left: Vec<Option<Draft>> = std::mem::take(drafts).into_iter().map(Some).collect();
    let mut asking = 0;
    for at in 0..=left.len() {
        let is_result = left.get(at).is_some_and(|draft| {
            draft.as_ref().is_none_or(|draft| draft.answers.is_some() || !draft.message.is_sent())
        });
        if !is_result {
            for (call, tool) in waiting.drain(..).filter(|(call, _)| open.remove(call)) {
                answered.insert(call);
                let later = results.get(call).and_then(|all| all.iter().find(|result| **result > from));
                match later.and_then(|result| left[*result].take()) {
                    Some(mut draft) => {
                        draft.message.patches.push(Patch::Moved);
                        drafts.push(draft);
                    }
                    None => {
                        let text = if drafts[asking].failed { ABORTED } else { NO_RESULT };
                        drafts[asking].message.patches.push(Patch::result_made_up(call, tool, text));
                    }
                }
            }
        }
        let Some(mut draft) = left.get_mut(at).and_then(Option::take) else { continue };
        match calls.answered_by(&draft).filter(|_| draft.message.is_sent()) {
            None if draft.message.is_sent() => {
                (waiting, from, asking) = (sent(&draft), at, drafts.len());
                open = waiting.iter().map(|(id, _)| *id).filter(|id| !answered.contains(id)).collect();
            }
            None => {}
            Some(call) if open.remove(call) => drop(answered.insert(call)),
            Some(call) if asked.contains(call) || !draft.says_more || !open.is_empty() => {
                draft.message.patches.push(Patch::ResultLeftOut { call: call.to_owned() });
            }
            Some(call) => draft.message.patches.push(Patch::AsText { call: call.to_owned() }),
        }
        drafts.push(draft);
    }
}

/// Changes the context as pi does on the way to the model: failed replies, and commands that the
/// user kept private, are left out; a call without a result before the next turn gets one.
fn on_the_way(calls: &Calls, drafts: &mut [Draft]) {
    let mut asking: Option<usize> = None;
    // The calls of that reply: each result looks up its own.
    let mut asking_for: HashSet<&str> = HashSet::new();
    let mut answered: HashSet<&str> = HashSet::new();
    let mut asked: HashSet<&str> = HashSet::new();
    let mut made_up: HashSet<&str> = HashSet::new();
    for at in 0..=drafts.len() {
        let Some(draft) = drafts.get_mut(at) else {
            close(calls, drafts, asking, &answered, &mut made_up);
            return;
        };
        if !draft.message.is_sent() || draft.message.role == "system" {
            continue;
        }
        if let Some(call) = calls.answered_by(draft) {
            let is_asking = asking_for.contains(call);
            let why = match asked.contains(call) {
                _ if call.is_empty() => Some(NoCall::Unnamed),
                false => Some(NoCall::NotOnPath),
                true if is_asking && !answered.contains(call) => None,
                true if !is_asking && made_up.contains(call) => Some(NoCall::TooLate),
                true => Some(NoCall::Answered),
            };
            if let Some(why) = why {
                draft.message.patches.push(Patch::NoCall { call: call.to_owned(), why });
            }
            answered.insert(call);
            continue;
        }
        if draft.failed {
            draft.message.patches.push(Patch::EndedBadly);
        }
        let asks = !draft.failed && !draft.calls.is_empty();
        if asks {
            asked.extend(calls.asked_by(draft).map(|(id, _)| id));
        }
        close(calls, drafts, asking.take(), &answered, &mut made_up);
        asking_for.clear();
        if asks {
            asking_for.extend(calls.asked_by(&drafts[at]).map(|(id, _)| id));
            asking = Some(at);
            answered.clear();
        }
    }
}

/// Adds a result to each call of the reply `asking` that has none.
fn close<'c>(
    calls: &'c Calls,
    drafts: &mut [Draft],
    asking: Option<usize>,
    answered: &HashSet<&str>,
    made_up: &mut HashSet<&'c str>,
) {
    let Some(draft) = asking.and_then(|at| drafts.get_mut(at)) else { return };
    for (call, tool) in calls.asked_by(draft) {
        made_up.remove(call);
        if !answered.contains(call) {
            made_up.insert(call);
            draft.message.patches.push(Patch::result_made_up(call, tool, NO_RESULT));
        }
    }
}

/// Returns the first entry that a compaction of version 1 keeps, if there is one; `line` is the
/// compaction's line.
pub(crate) fn kept_in_version_1(session: &Session, line: &[u8]) -> Option<Ix> {
    parsed_entry(session, kept_index(line)?)
}

fn kept_index(line: &[u8]) -> Option<usize> {
    let index: f64 = std::str::from_utf8(member(line, "firstKeptEntryIndex")?).ok()?.parse().ok()?;
    (index >= 0.0 && index.fract() == 0.0).then_some(index as usize)
}

/// Returns the entry that is value number `index` of a version 1 file. The header counts as number
/// 0, as in the migration; lines that are not JSON do not count, and neither do empty or false
/// values.
fn parsed_entry(session: &Session, index: usize) -> Option<Ix> {
    let broken: HashSet<u64> = session
        .faults
        .iter()
        .filter(|fault| matches!(fault.kind, FaultKind::Broken { .. } | FaultKind::Trailing { .. }))
        .map(|fault| fault.line)
        .collect();
    let beside = session
        .others
        .iter()
        .filter(|other| !matches!(other.kind, OtherKind::Blank) && !broken.contains(&other.line));
    // Few lines are not entries: an entry's number is its index plus the number of such lines
    // before it.
    let mut shift = 0;
    for other in beside {
        let number = other.before as usize + shift;
        if number == index {
            return None;
        }
        if number > index {
            break;
        }
        shift += 1;
    }
    let place = index.checked_sub(shift)?;
    (place < session.entries.len()).then_some(Ix(place as u32))
}

/// Returns the content of a message: as the program has it in its own context, and as it is sent.
pub(super) fn read_message<'l>(message: &Message, format: Format, line: &'l [u8]) -> Said<'l> {
    let mut said = stored_message(message, line);
    if let Some(blocks) = sent_blocks(format, message, line) {
        said.sent_text = Some(text_of(&blocks).into_owned());
        said.blocks = blocks;
    }
    said
}

fn stored_message<'l>(message: &Message, line: &'l [u8]) -> Said<'l> {
    let inner = |key| member(line, key).unwrap_or_default();
    match &message.part {
        Part::Summary | Part::Wrapped(..) => {
            let text = text(line, "summary");
            let blocks = vec![Block::Text(text.clone())];
            Said { text, blocks, bytes: inner("summary").len(), ..Said::default() }
        }
        Part::System => of_system(inner("systemMessage")),
        Part::Notes => {
            let notes = member(inner("data"), "text").unwrap_or_default();
            let text = string(notes).unwrap_or_default();
            Said { blocks: vec![Block::Text(text.clone())], text, bytes: notes.len(), ..Said::default() }
        }
        Part::Tail(place) => {
            let item = each_item(inner("retainedTail")).nth(*place).unwrap_or_default();
            of_content(member(item, "content").unwrap_or_default())
        }
        Part::Claude(_)
        | Part::Item(_)
        | Part::Results
        | Part::Prompt { .. }
        | Part::Step { .. }
        | Part::Files { .. } => Said::default(),
        Part::Content => of_content(inner("content")),
        Part::Edit(_) => of_content(member(inner("replacement"), "content").unwrap_or_default()),
        Part::Message => {
            let content = Content::read(Format::Pi, line);
            let stored = member(inner("message"), "content").unwrap_or_default();
            let usage = content.usage();
            match &*message.role {
                // A command that the user ran has no content, only the command and its output.
                "bashExecution" => {
                    let (bytes, blocks) = (content.text.len(), content.blocks);
                    Said { bytes, usage, text: content.text, blocks, ..Said::default() }
                }
                "system" => of_system(inner("message")),
                "pythonExecution" | "fileMention" => {
                    let (bytes, blocks) = (content.text.len(), content.blocks);
                    Said { bytes, usage, text: message_text(stored), blocks, ..Said::default() }
                }
                _ => {
                    let mut said =
                        Said { text: message_text(stored), blocks: content.blocks, usage, ..Said::default() };
                    said.bytes = stored.len();
                    without_calls(message, stored, &mut said);
                    said
                }
            }
        }
    }
}

/// Removes the parts of a message that are not sent: calls without results, and with them the
/// encrypted blocks.
fn without_calls<'l>(message: &Message, stored: &'l [u8], said: &mut Said<'l>) {
    let left_out: HashSet<&str> = message
        .patches
        .iter()
        .filter_map(|patch| match patch {
            Patch::CallLeftOut { call, .. } => Some(&**call),
            _ => None,
        })
        .collect();
    if left_out.is_empty() {
        return;
    }
    said.text = text_of_blocks(stored, |block| match &*text(block, "type") {
        "toolCall" => !left_out.contains(&*text(block, "id")),
        ty => ty != "redactedThinking",
    });
    said.blocks.retain(|block| !matches!(block, Block::Call { id, .. } if left_out.contains(&**id)));
}

/// Returns the content of a system message, and the sections and tools that it changes.
fn of_system(message: &[u8]) -> Said<'_> {
    let mut said = of_content(member(message, "content").unwrap_or_default());
    let changes = instructions(message);
    if !changes.is_empty() {
        let size = |key| member(message, key).map_or(0, <[u8]>::len);
        said.bytes += size("sections") + size("toolsAdded") + size("toolsRemoved");
        said.blocks.retain(|block| *block != Block::Text("".into()));
        said.blocks.push(Block::Text(changes.clone().into()));
        said.changes = changes;
    }
    said
}

fn of_content(content: &[u8]) -> Said<'_> {
    Said { text: message_text(content), blocks: blocks(content), bytes: content.len(), ..Said::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Table;

    /// The answers of the harness 0.83 itself for these files.
    #[test]
    fn the_harness_takes_settings_from_the_first_kept_entry_on() {
        let line = |ty: &str, id: &str, parent: &str, rest: &str| {
            format!(
                r#"{{"type":"{ty}","id":"{id}","parentId":{parent},"timestamp":"2026-03-02T09:00:00.000Z",{rest}}}"#
            )
        };
        let lines = [
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/w"}"#
                .to_owned(),
            line("thinking_level_change", "t", "null", r#""thinkingLevel":"high""#),
            line("message", "a", r#""t""#, r#""message":{"role":"user","content":"one"}"#),
            line("message", "b", r#""a""#, r#""message":{"role":"user","content":"two"}"#),
            line("compaction", "c", r#""b""#, r#""summary":"so far","firstKeptEntryId":"b""#),
            line("leaf", "l", r#""c""#, r#""targetId":"c""#),
        ];
        let text = lines.join("\n") + "\n";
        let session = Session::read(text.as_bytes()).unwrap();
        assert_eq!(session.format, Format::Harness);
        let context = build(&session, &Table(vec![text.into_bytes()]), session.head.leaf).unwrap();
        let roles: Vec<&str> = context.messages.iter().map(|message| &*message.role).collect();
        assert_eq!(roles, ["compactionSummary", "user"]);
        assert_eq!(context.thinking.as_deref(), Some("off"));
    }
}
