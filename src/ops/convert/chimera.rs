//! Writes sessions of Chimera.

use super::{Loss, Part, Speaker, Turn, Writer, answered, has_images, object, text_of};
use crate::format::{Format, Object};

/// Writes a turn, unless it says nothing. Returns its id.
pub(super) fn turn(writer: &mut Writer<'_>, at: usize, turn: &Turn) -> Option<String> {
    const FORMAT: Format = Format::Chimera;
    let text = text_of(&turn.parts);
    let asked: Vec<Vec<u8>> = turn
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Call { id, name, arguments } => {
                let call = Object::begin(FORMAT).text("id", &writer.calls.id(id)).text("name", name);
                Some(call.raw("arguments", object(arguments).as_bytes()).end())
            }
            _ => None,
        })
        .collect();
    if has_images(&turn.parts) {
        writer.conversation.losses.push(Loss { what: "images", entry: turn.entry });
    }
    if text.is_empty() && asked.is_empty() && answered(turn).is_none() {
        return None;
    }
    let role = match &turn.speaker {
        Speaker::User => "user",
        Speaker::Model { .. } => "assistant",
        Speaker::Tool { .. } => "tool",
    };
    let mut message = Object::begin(FORMAT).text("role", role).text("content", &text);
    if !asked.is_empty() {
        message = message.raw("tool_calls", &[b"[", &asked.join(&b", "[..])[..], b"]"].concat());
    }
    if let Some((call, ..)) = answered(turn) {
        message = message.text("call_id", &writer.calls.id(call));
    }
    let (id, parent) = writer.id_and_parent(at, turn);
    let seconds = format!("{:?}", writer.time(turn).0 as f64 / 1000.0);
    let line = Object::begin(FORMAT)
        .text("type", "message")
        .text("id", &id)
        .id("parent_id", parent.as_deref())
        .raw("timestamp", seconds.as_bytes())
        .raw("message", &message.end())
        .line();
    writer.out.extend(line);
    Some(id)
}
