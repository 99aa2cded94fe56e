//! Writes sessions of Chimera.

use super::{CallIds, Part, Speaker, Writer, answered, has_images, object, text_of, turns};
use crate::format::{Format, New, Object};
use crate::ops::convert::Loss;

pub(super) fn write(writer: &mut Writer<'_>) {
    const FORMAT: Format = Format::Chimera;
    let mut calls = CallIds::default();
    let mut last = None;
    for turn in turns(writer) {
        let before = writer.id_before(&turn);
        let text = text_of(&turn.parts);
        let asked: Vec<Vec<u8>> = turn
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Call { id, name, arguments } => {
                    let call = Object::begin(FORMAT).text("id", &calls.id(id)).text("name", name);
                    Some(call.raw("arguments", object(arguments).as_bytes()).end())
                }
                _ => None,
            })
            .collect();
        if has_images(&turn.parts) {
            writer.conversation.losses.push(Loss { what: "images", entry: turn.entry });
        }
        if text.is_empty() && asked.is_empty() && answered(&turn).is_none() {
            writer.ids.push(None);
            continue;
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
        if let Some((call, ..)) = answered(&turn) {
            message = message.text("call_id", &calls.id(call));
        }
        let id = writer.new_id();
        let seconds = format!("{:?}", writer.time(&turn).0 as f64 / 1000.0);
        let parent = before.map(|before| FORMAT.quoted(&before));
        let line = Object::begin(FORMAT)
            .text("type", "message")
            .text("id", &id)
            .id("parent_id", parent.as_deref())
            .raw("timestamp", seconds.as_bytes())
            .raw("message", &message.end())
            .line();
        writer.out.extend(line);
        last = Some(id.clone());
        writer.ids.push(Some(id));
    }
    let head = writer.head();
    let mut end = head.clone();
    if last != head {
        let id = writer.new_id();
        let quoted = |id: &str| FORMAT.quoted(id);
        let (from, to) = (last.as_deref().map(quoted), head.as_deref().map(quoted));
        let new = New { id: &id, parent: to.as_deref(), now: writer.now };
        writer.out.extend(FORMAT.dialect().marker(&new, from.as_deref(), to.as_deref()).unwrap_or_default());
        end = Some(id);
    }
    for (turn, label) in writer.conversation.labels.clone() {
        let Some(target) = writer.ids[turn].clone() else { continue };
        let id = writer.new_id();
        let parent = end.as_deref().map(|end| FORMAT.quoted(end));
        let new = New { id: &id, parent: parent.as_deref(), now: writer.now };
        let line = FORMAT.dialect().label(&new, &FORMAT.quoted(&target), Some(&label));
        writer.out.extend(line.unwrap_or_default());
        end = Some(id);
    }
}
