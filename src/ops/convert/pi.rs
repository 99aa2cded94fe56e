//! Writes sessions of pi and oh-my-pi.

use super::{CallIds, Part, Speaker, Turn, Writer, answered, object, provider};
use crate::format::{Format, Object};
use crate::model::Time;
use serde_json::{Map, Value, json};

/// The length of the title slot of oh-my-pi, with its line feed.
const SLOT: usize = 256;

/// The type of messages that nobody typed.
const PUT_IN: &str = "bough.put-in";

/// Writes the title of oh-my-pi, and the header.
pub(super) fn header(writer: &mut Writer<'_>, title: Option<&str>) {
    let options = writer.options;
    let now = writer.now.iso();
    if options.to == Format::Omp {
        let slot = slot(title.unwrap_or_default(), writer.now);
        writer.out.extend(slot);
    }
    let header = json!({ "type": "session", "version": 3, "id": options.session, "timestamp": now, "cwd": options.cwd });
    push(writer, &header);
}

/// Writes a turn, unless it says nothing. Returns its id.
pub(super) fn turn(writer: &mut Writer<'_>, at: usize, turn: &Turn) -> Option<String> {
    let time = writer.time(turn);
    let stamp = time.0;
    let content = content(&turn.parts, &mut writer.calls);
    let message = match (&turn.speaker, answered(turn)) {
        (_, Some((call, tool, is_error))) => json!({
            "role": "toolResult", "toolCallId": writer.calls.id(call), "toolName": tool, "content": content,
            "isError": is_error, "timestamp": stamp,
        }),
        (Speaker::Model { name }, _) => {
            let (of, api) = provider(name);
            let has_calls = turn.parts.iter().any(|part| matches!(part, Part::Call { .. }));
            let stop = if has_calls { "toolUse" } else { "stop" };
            json!({
                "role": "assistant", "content": content, "api": api, "provider": of, "model": name,
                "usage": {
                    "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
                    "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
                },
                "stopReason": stop, "timestamp": stamp,
            })
        }
        _ => json!({ "role": "user", "content": content, "timestamp": stamp }),
    };
    if turn.parts.is_empty() {
        return None;
    }
    let (id, before) = writer.id_and_parent(at, turn);
    if is_custom(writer.options.to, turn) {
        let line = Object::begin(Format::Pi)
            .text("type", "custom_message")
            .text("customType", PUT_IN)
            .raw("content", message["content"].to_string().as_bytes())
            .raw("display", b"false")
            .text("id", &id)
            .id("parentId", before.as_deref())
            .text("timestamp", &time.iso())
            .line();
        writer.out.extend(line);
        return Some(id);
    }
    let line = Object::begin(Format::Pi)
        .text("type", "message")
        .text("id", &id)
        .id("parentId", before.as_deref())
        .text("timestamp", &time.iso())
        .raw("message", message.to_string().as_bytes())
        .line();
    writer.out.extend(line);
    Some(id)
}

/// Returns whether a turn is written as a message of an extension: it is sent as if the user said it, and is
/// not a prompt. oh-my-pi says more to images in such messages, so that these stay the user's.
fn is_custom(to: Format, turn: &Turn) -> bool {
    let has_image = turn.parts.iter().any(|part| matches!(part, Part::Image { .. }));
    turn.is_put_in && !(has_image && to == Format::Omp)
}

/// Writes the name of a session of pi, below the last entry.
pub(super) fn name(writer: &mut Writer<'_>, name: &str) {
    let id = writer.new_id();
    let now = writer.now.iso();
    let line =
        json!({ "type": "session_info", "id": id, "parentId": writer.end, "timestamp": now, "name": name });
    push(writer, &line);
    writer.end = Some(id);
}

/// Returns the slot in which oh-my-pi keeps the title: one line of a fixed length.
pub(super) fn slot(title: &str, now: Time) -> Vec<u8> {
    let mut title = title.to_owned();
    loop {
        let now = now.iso();
        let start = json!({ "type": "title", "v": 1, "title": title, "updatedAt": now }).to_string();
        let start = start.trim_end_matches('}');
        let rest = ",\"pad\":\"\"}\n".len();
        if let Some(room) = SLOT.checked_sub(start.len() + rest) {
            return format!("{start},\"pad\":\"{}\"}}\n", " ".repeat(room)).into_bytes();
        }
        title.pop();
    }
}

fn content(parts: &[Part], calls: &mut CallIds) -> Value {
    let part = |part: &Part| match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Thinking(text) => json!({ "type": "thinking", "thinking": text }),
        Part::Image { mime, data } => json!({ "type": "image", "data": data, "mimeType": mime }),
        Part::Call { id, name, arguments } => {
            let mut call = Map::new();
            call.insert("type".into(), "toolCall".into());
            call.insert("id".into(), calls.id(id).into());
            call.insert("name".into(), name.as_str().into());
            let arguments = object(arguments);
            let raw: Option<Value> = serde_json::from_str(&arguments).ok();
            call.insert("arguments".into(), raw.unwrap_or_else(|| json!({})));
            Value::Object(call)
        }
    };
    Value::Array(parts.iter().map(part).collect())
}

fn push(writer: &mut Writer<'_>, line: &Value) {
    writer.out.extend(line.to_string().into_bytes());
    writer.out.push(b'\n');
}
