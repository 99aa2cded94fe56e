//! Tool calls and their results, as each agent of the pi family pairs them for a request.

use super::{ABORTED, Build, Draft, NO_RESULT};
use crate::context::message_text::text_of_blocks;
use crate::context::{Message, Patch, Said, Why, text};
use crate::format::Block;
use std::collections::{HashMap, HashSet};

/// The calls of all drafts, with their ids in one text: a long session has very many.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) list: Vec<Call>,
    pub(super) text: String,
    /// Where each id ends in the text.
    pub(super) ends: Vec<usize>,
    pub(super) tools: Vec<String>,
}

/// A call of a tool.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) id: CallId,
    /// The place of the tool among the names.
    pub(super) tool: u32,
}

/// An id of a call, by its number.
#[derive(Clone, Copy)]
pub(super) struct CallId(u32);

impl Calls {
    pub(super) fn add(&mut self, id: &str, tool: &str) {
        let place = self.tools.iter().position(|known| known == tool).unwrap_or_else(|| {
            self.tools.push(tool.to_owned());
            self.tools.len() - 1
        });
        let id = self.add_id(id);
        self.list.push(Call { id, tool: place as u32 });
    }

    pub(super) fn add_id(&mut self, id: &str) -> CallId {
        self.text.push_str(id);
        self.ends.push(self.text.len());
        CallId(self.ends.len() as u32 - 1)
    }

    pub(super) fn id(&self, id: CallId) -> &str {
        let at = id.0 as usize;
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[from..self.ends[at]]
    }

    /// Returns the calls of a reply: their ids, and their tools.
    pub(super) fn asked_by<'c>(
        &'c self,
        draft: &Draft,
    ) -> impl Iterator<Item = (&'c str, &'c str)> + use<'c> {
        let calls = &self.list[draft.calls.start as usize..draft.calls.end as usize];
        calls.iter().map(|call| (self.id(call.id), &*self.tools[call.tool as usize]))
    }

    /// Returns the call that a result names.
    pub(super) fn answered_by<'c>(&'c self, draft: &Draft) -> Option<&'c str> {
        draft.answers.map(|id| self.id(id))
    }
}

impl Build<'_> {
    /// Removes calls that have no result on the path, as oh-my-pi does, and messages that become
    /// empty.
    pub(super) fn leave_out_calls(&mut self, drafts: &mut Vec<Draft>) {
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
                    draft
                        .message
                        .entry
                        .map(|entry| crate::context::Dropped { entry, why: Why::CallsLeftOut }),
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
    pub(super) fn leave_out_failures(&mut self, drafts: &mut Vec<Draft>) {
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

/// Treats results as oh-my-pi does on the way to the model. The results of a reply are sent right after
/// it: what follows it directly, then the first of each missing one that comes later, or a made-up one.
/// All others are left out; one that no call asked for becomes a text, unless calls wait for their results.
pub(super) fn pair_as_omp(calls: &Calls, drafts: &mut Vec<Draft>) {
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

/// Removes the parts of a message that are not sent: calls without results, and with them the
/// encrypted blocks.
pub(super) fn without_calls<'l>(message: &Message, stored: &'l [u8], said: &mut Said<'l>) {
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
