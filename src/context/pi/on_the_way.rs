//! What pi changes on the way to the model.

use super::NO_RESULT;
use super::calls::Calls;
use super::drafts::Draft;
use crate::context::{NoCall, Part, Patch};
use crate::format::Format;
use crate::format::flaws::is_role;
use std::collections::HashSet;

/// Changes the context as pi does on the way to the model: failed replies, and commands that the
/// user kept private, are left out; a call without a result before the next turn gets one.
pub(super) fn on_the_way(calls: &Calls, drafts: &mut [Draft]) {
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

/// Withholds messages in roles that the agent does not know.
pub(super) fn leave_out_roles(format: Format, drafts: &mut [Draft]) {
    for draft in drafts {
        if matches!(draft.message.part, Part::Message | Part::Edit(_))
            && !is_role(format, &draft.message.role)
        {
            draft.message.patches.push(Patch::UnknownRole);
        }
    }
}
