//! Messages of a request while it is built: which entry makes which message.

use super::{Build, Chosen, INTERRUPTED, KEPT_FROM_MODEL, NO_LIST, NO_MESSAGE, NO_REPLACEMENT};
use crate::context::message_text::{message_text, text_of};
use crate::context::pi::calls::{CallId, Calls, without_calls};
use crate::context::pi_words::sent_blocks;
use crate::context::{Message, Origin, Part, Patch, Said, Why, blocks, text};
use crate::format::content::instructions;
use crate::format::{Block, Content, Format, OtherKind, Session};
use crate::json::{each_item, member, string};
use crate::model::{FaultKind, Ix, Key, Kind};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;

/// An unfinished message, with the facts that the later steps need.
pub(super) struct Draft {
    pub(super) message: Message,
    /// The calls of a reply, in [`Calls`].
    pub(super) calls: Range<u32>,
    pub(super) answers: Option<CallId>,
    pub(super) failed: bool,
    /// Whether anything is left of a reply without its calls; for a result, whether it has a text.
    pub(super) says_more: bool,
    pub(super) interrupted: bool,
}

impl Build<'_> {
    pub(super) fn drafts(&mut self, chosen: &Chosen) -> io::Result<Vec<Draft>> {
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
                drafts[from..].iter_mut().for_each(|draft| draft.edit(*edit));
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
    pub(super) fn draft(
        &mut self,
        entry: Ix,
        is_compaction: bool,
        into: &mut Vec<Draft>,
    ) -> io::Result<Option<Why>> {
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

    pub(super) fn compaction(&mut self, entry: Ix, harness: bool, into: &mut Vec<Draft>) -> io::Result<()> {
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
}

impl Draft {
    pub(super) fn new(message: Message) -> Draft {
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

    pub(super) fn left_out(&self, id: &str) -> bool {
        self.message
            .patches
            .iter()
            .any(|patch| matches!(patch, Patch::CallLeftOut { call, .. } if call == id))
    }
}

/// Makes the draft of a line that is a message.
pub(super) fn message(format: Format, entry: Ix, line: &[u8], calls: &mut Calls) -> Draft {
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

/// Returns the entry that is value number `index` of a version 1 file. The header counts as number
/// 0, as in the migration; lines that are not JSON do not count, and neither do empty or false
/// values.
pub(super) fn parsed_entry(session: &Session, index: usize) -> Option<Ix> {
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
pub(crate) fn read_message<'l>(message: &Message, format: Format, line: &'l [u8]) -> Said<'l> {
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
        | Part::Turn
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
