//! Writes sessions of Codex: only the way to HEAD, because they have no branches.

use super::{CallIds, Part, Speaker, Writer, answered, has_images, text_of, turns};
use serde_json::{Value, json};

/// The version of Codex with which such sessions were tried.
const VERSION: &str = "0.171.0";

pub(super) fn write(writer: &mut Writer<'_>) {
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
    let mut path = Vec::new();
    let mut at = writer.conversation.head;
    let all = turns(writer);
    while let Some(turn) = at {
        path.push(turn);
        at = all[turn].parent;
    }
    let mut calls = CallIds::default();
    for turn in path.into_iter().rev().map(|at| &all[at]) {
        let time = writer.time(turn).iso();
        let text = text_of(&turn.parts);
        match (&turn.speaker, answered(turn)) {
            (_, Some((call, ..))) => {
                let output = match has_images(&turn.parts) {
                    true => Value::Array(parts(&turn.parts, "input_text")),
                    false => Value::String(text),
                };
                let item =
                    json!({ "type": "function_call_output", "call_id": calls.id(call), "output": output });
                push(writer, &time, "response_item", &item);
            }
            (Speaker::Model { .. }, _) => {
                for part in &turn.parts {
                    let item = match part {
                        Part::Text(text) => {
                            let content = json!([{ "type": "output_text", "text": text }]);
                            json!({ "type": "message", "role": "assistant", "content": content })
                        }
                        Part::Call { id, name, arguments } => json!({
                            "type": "function_call", "name": name, "call_id": calls.id(id),
                            "arguments": if arguments.trim().is_empty() { "{}" } else { arguments },
                        }),
                        Part::Thinking(_) | Part::Image { .. } => continue,
                    };
                    push(writer, &time, "response_item", &item);
                }
                if !text.is_empty() {
                    // What the list of sessions and the screen show.
                    push(writer, &time, "event_msg", &json!({ "type": "agent_message", "message": text }));
                }
            }
            _ => {
                let content = parts(&turn.parts, "input_text");
                let item = json!({ "type": "message", "role": "user", "content": content });
                push(writer, &time, "response_item", &item);
                push(writer, &time, "event_msg", &json!({ "type": "user_message", "message": text }));
            }
        }
    }
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
}
