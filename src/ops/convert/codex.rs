//! Writes sessions of Codex: only the way to HEAD, because they have no branches.

use super::original::line_id;
use super::{Part, Speaker, Turn, Writer, answered, has_images, text_of};
use serde_json::{Value, json};

/// The version of Codex with which such sessions were tried.
const VERSION: &str = "0.171.0";

/// Writes the header.
pub(super) fn header(writer: &mut Writer<'_>) {
    let options = writer.options;
    let start = writer.now.iso();
    push(
        writer,
        &start,
        "session_meta",
        &json!({
            "id": options.session, "timestamp": start, "cwd": options.cwd, "originator": "bough",
            "cli_version": VERSION, "source": "cli",
        }),
    );
}

/// Writes a turn, unless it says nothing. Lines have no ids: returns the number of its last item.
pub(super) fn turn(writer: &mut Writer<'_>, at: usize, turn: &Turn) -> Option<String> {
    let time = writer.time(turn).iso();
    let text = text_of(&turn.parts);
    let (items, shown) = match (&turn.speaker, answered(turn)) {
        (_, Some((call, ..))) => {
            let output = match has_images(&turn.parts) {
                true => Value::Array(parts(&turn.parts, "input_text")),
                false => Value::String(text),
            };
            let call = writer.calls.id(call);
            (vec![json!({ "type": "function_call_output", "call_id": call, "output": output })], None)
        }
        (Speaker::Model { .. }, _) => {
            let calls = &mut writer.calls;
            let items = turn.parts.iter().filter_map(|part| match part {
                Part::Text(text) => {
                    let content = json!([{ "type": "output_text", "text": text }]);
                    Some(json!({ "type": "message", "role": "assistant", "content": content }))
                }
                Part::Call { id, name, arguments } => Some(json!({
                    "type": "function_call", "name": name, "call_id": calls.id(id),
                    "arguments": if arguments.trim().is_empty() { "{}" } else { arguments },
                })),
                Part::Thinking(_) | Part::Image { .. } => None,
            });
            // What the list of sessions and the screen show.
            let shown = Some(json!({ "type": "agent_message", "message": text }));
            (items.collect(), shown.filter(|_| !text.is_empty()))
        }
        _ => {
            let content = parts(&turn.parts, "input_text");
            let item = json!({ "type": "message", "role": "user", "content": content });
            (vec![item], Some(json!({ "type": "user_message", "message": text })))
        }
    };
    let mut ids = Vec::new();
    for item in &items {
        push(writer, &time, "response_item", item);
        ids.push(line_id(writer.lines));
    }
    if let Some(event) = shown {
        push(writer, &time, "event_msg", &event);
    }
    let last = ids.pop();
    writer.beside.extend(ids.into_iter().map(|id| (id, at)));
    last
}

fn parts(parts: &[Part], ty: &str) -> Vec<Value> {
    let part = |part: &Part| match part {
        Part::Text(text) => Some(json!({ "type": ty, "text": text })),
        Part::Image { mime, data } => {
            Some(json!({ "type": "input_image", "image_url": format!("data:{mime};base64,{data}") }))
        }
        _ => None,
    };
    parts.iter().filter_map(part).collect()
}

fn push(writer: &mut Writer<'_>, time: &str, ty: &str, payload: &Value) {
    let line = json!({ "timestamp": time, "type": ty, "payload": payload });
    writer.out.extend(line.to_string().into_bytes());
    writer.out.push(b'\n');
    writer.lines += 1;
}
