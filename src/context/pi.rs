//! What the pi family sends.
//!
//! The last compaction of the path comes first, then the earlier entries that it keeps, then the
//! entries after it. In pi, later edits can change messages. The harness of pi also shows older
//! compactions. oh-my-pi starts anew after the context was cleared, and removes calls without
//! results and failed replies. Version 1 has no ids: its compactions name the first kept entry by
//! its position among the lines, which is read as pi's own migration reads it.

mod calls;
mod drafts;
mod history;
mod on_the_way;

pub(super) use drafts::read_message;
pub(crate) use history::kept_in_version_1;

use super::pi_words::added;
use super::{Context, Dropped, Message, Model, NoCall, Origin, Part, Patch, Why, text};
use crate::format::{Content, Format, Session};
use crate::json::{each_member, member, string};
use crate::model::{Flags, Ix, Key, Kind, Source};
use calls::{Calls, pair_as_omp};
use drafts::{Draft, parsed_entry};
use on_the_way::{leave_out_roles, on_the_way};
use std::collections::{HashMap, HashSet};
use std::io;

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
    sort_by_path(&mut context.dropped, &path, session.entries.len());
    Ok(context)
}

/// Sorts the dropped entries as they are on the path, which follows the links, not the order of the file. Those that are not on
/// it come first. `count` is the number of entries in the session.
fn sort_by_path(dropped: &mut [Dropped], path: &[Ix], count: usize) {
    if dropped.len() < 2 {
        return;
    }
    // A row for all entries is the fastest, and too much for a short path in a long session.
    if path.len() * 8 > count {
        let mut place = vec![None; count];
        for (at, entry) in (0u32..).zip(path) {
            place[entry.index()] = Some(at);
        }
        dropped.sort_by_key(|dropped| place[dropped.entry.index()]);
        return;
    }
    let place: HashMap<Ix, u32> = path.iter().copied().zip(0u32..).collect();
    dropped.sort_by_key(|dropped| place.get(&dropped.entry).copied());
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
}

/// Returns the text of notes that oh-my-pi accepts: an object with a version and a text, and
/// nothing else.
fn well_formed_notes(data: &[u8]) -> Option<String> {
    let is_1 = |value: &[u8]| std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()) == Some(1.0);
    let keys: HashSet<_> = each_member(data).map(|(key, _)| key).collect();
    let notes = member(data, "text").and_then(string).filter(|notes| notes.len() <= LONGEST_NOTES)?;
    (keys.len() == 2 && member(data, "version").is_some_and(is_1)).then(|| notes.into_owned())
}

#[cfg(test)]
mod tests;
