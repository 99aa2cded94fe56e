//! Writes sessions of pi and oh-my-pi.

use super::{CallIds, Part, Speaker, Writer, answered, object, provider, turns};
use crate::format::{Format, New};
use serde_json::{Map, Value, json};

/// The length of the title slot of oh-my-pi, with its line feed.
const SLOT: usize = 256;

pub(super) fn write(writer: &mut Writer<'_>, name: Option<&str>) {
    let options = writer.options;
    let now = writer.now.iso();
    if options.to == Format::Omp {
        slot(writer, name);
    }
    push(
        writer,
        &json!({ "type": "session", "version": 3, "id": options.session, "timestamp": now, "cwd": options.cwd }),
    );
    let mut calls = CallIds::default();
    let mut last = None;
    for turn in turns(writer) {
        let (before, time) = (writer.id_before(&turn), writer.time(&turn));
        let stamp = time.0;
        let content = content(&turn.parts, &mut calls);
        let message = match (&turn.speaker, answered(&turn)) {
            (_, Some((call, tool, is_error))) => json!({
                "role": "toolResult", "toolCallId": calls.id(call), "toolName": tool, "content": content,
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
            writer.ids.push(None);
            continue;
        }
        let id = writer.new_id();
        push(
            writer,
            &json!({ "type": "message", "id": id, "parentId": before, "timestamp": time.iso(), "message": message }),
        );
        last = Some(id.clone());
        writer.ids.push(Some(id));
    }
    let head = writer.head();
    if let (Some(name), Format::Pi) = (name, options.to) {
        let id = writer.new_id();
        push(
            writer,
            &json!({ "type": "session_info", "id": id, "parentId": head, "timestamp": now, "name": name }),
        );
        // The last entry is below HEAD, so that HEAD needs no marker.
        return labels(writer, Some(id));
    }
    if last != head {
        let (id, quoted) = (writer.new_id(), |id: &str| options.to.quoted(id));
        let (from, to) = (last.as_deref().map(quoted), head.as_deref().map(quoted));
        let new = New { id: &id, parent: to.as_deref(), now: writer.now };
        let marker = options.to.dialect().marker(&new, from.as_deref(), to.as_deref());
        writer.out.extend(marker.unwrap_or_default());
        return labels(writer, Some(id));
    }
    labels(writer, head);
}

/// Writes the labels, each below the one before.
fn labels(writer: &mut Writer<'_>, mut last: Option<String>) {
    for (turn, label) in writer.conversation.labels.clone() {
        let Some(target) = writer.ids[turn].clone() else { continue };
        let id = writer.new_id();
        let format = writer.options.to;
        let parent = last.as_deref().map(|last| format.quoted(last));
        let new = New { id: &id, parent: parent.as_deref(), now: writer.now };
        let line = format.dialect().label(&new, &format.quoted(&target), Some(&label));
        writer.out.extend(line.unwrap_or_default());
        last = Some(id);
    }
}

/// Writes the slot in which oh-my-pi keeps the title: one line of a fixed length.
fn slot(writer: &mut Writer<'_>, name: Option<&str>) {
    let mut title: String = name.unwrap_or_default().to_owned();
    loop {
        let now = writer.now.iso();
        let start = json!({ "type": "title", "v": 1, "title": title, "updatedAt": now }).to_string();
        let start = start.trim_end_matches('}');
        let rest = ",\"pad\":\"\"}\n".len();
        if let Some(room) = SLOT.checked_sub(start.len() + rest) {
            writer.out.extend(format!("{start},\"pad\":\"{}\"}}\n", " ".repeat(room)).into_bytes());
            return;
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
