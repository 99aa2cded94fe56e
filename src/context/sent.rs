//! What is sent at one place, by the lines that it comes from: a form in which two versions of a
//! file can be compared without reading the texts again.

use super::{Contexts, Message, Model, Part, Patch};
use crate::model::Ix;
use std::io;

/// What would be sent at one place of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The messages.
    pub messages: Vec<SentMessage>,
    models: Vec<(String, Model)>,
    thinking: Option<String>,
    refused: Option<&'static str>,
}

/// One message, by the line that it comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentMessage {
    /// The line of its entry; `None` if the program invents the message, or if the line does not exist in the
    /// version of the file that is compared.
    pub line: Option<u64>,
    role: String,
    part: String,
    patches: Vec<String>,
}

impl Sent {
    /// Returns what a program would send if it continued at `leaf`. `number` returns the number of
    /// a line in the version of the file in which all lines are named. This is [`Contexts::in_full`].
    pub fn at_leaf(
        contexts: &mut Contexts<'_>,
        leaf: Option<Ix>,
        number: impl Fn(u64) -> Option<u64>,
    ) -> io::Result<Sent> {
        let (session, context) = (contexts.session, contexts.in_full(leaf)?);
        let line = |ix: Ix| number(session.entries.line(ix));
        let messages = context.sent().map(|message| SentMessage {
            line: message.entry.and_then(line),
            role: message.role.clone().into_owned(),
            part: part(message, line),
            patches: message.patches.iter().map(patch).collect(),
        });
        Ok(Sent {
            messages: messages.collect(),
            models: context.models.clone(),
            thinking: context.thinking.clone(),
            refused: context.refused,
        })
    }

    /// Returns the first difference between two places, in words; `None` if the same is sent.
    pub fn difference(&self, after: &Sent) -> Option<String> {
        if self == after {
            return None;
        }
        let (was, is) = (&self.messages, &after.messages);
        let at = was.iter().zip(is).position(|(one, other)| one != other).unwrap_or(was.len().min(is.len()));
        Some(match (was.get(at), is.get(at)) {
            (Some(_), None) => {
                format!("{} of {} messages would not be sent", was.len() - is.len(), was.len())
            }
            (None, Some(_)) => format!("{} would be sent in addition", is.len() - was.len()),
            (Some(_), Some(_)) => format!("message {} of {} would be another", at + 1, was.len()),
            (None, None) => "the settings would be others".into(),
        })
    }
}

/// Names the part of the line that a message consists of.
fn part(message: &Message, line: impl Fn(Ix) -> Option<u64>) -> String {
    match message.part {
        Part::Edit(by) => format!("Edit({:?})", line(by)),
        ref part => format!("{part:?}"),
    }
}

fn patch(patch: &Patch) -> String {
    match patch {
        Patch::CallLeftOut { call, .. }
        | Patch::ResultMadeUp { call, .. }
        | Patch::ResultLeftOut { call }
        | Patch::NoCall { call, .. }
        | Patch::NoResult { call, .. }
        | Patch::AsText { call } => format!("{} {call}", patch.name()),
        _ => patch.name().to_owned(),
    }
}
