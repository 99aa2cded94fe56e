//! Writes transcripts of Claude Code.

use super::conversation::NO_PROMPT;
use super::{CallIds, Loss, Part, Speaker, Turn, Writer, answered, has_images, object};
use crate::format::claude::added_entries::{self, Envelope};
use crate::format::claude::write;
use serde_json::{Map, Value, json};

/// The version of Claude Code with which such transcripts were tried.
const VERSION: &str = "2.1.332";

/// Writes a turn, unless it says nothing. Returns its id.
pub(super) fn turn(writer: &mut Writer<'_>, at: usize, turn: &Turn) -> Option<String> {
    let content = content(&turn.parts, &mut writer.calls);
    let says_nothing = content.as_array().is_some_and(Vec::is_empty);
    if says_nothing && answered(turn).is_none() {
        return None;
    }
    if let Some(id) = compaction(writer, at, turn) {
        return Some(id);
    }
    let mut note = None;
    if turn.speaker != Speaker::User && !writer.fixed.contains_key(&at) && writer.id_before(turn).is_none() {
        // The first message must be of the user.
        let id = writer.new_id();
        let message = json!({ "role": "user", "content": NO_PROMPT });
        let mut line = line(writer, turn, &id, None, "user", &message);
        line["isMeta"] = true.into();
        push(writer, &line);
        let what = "prompts before the first reply: a note is in their place";
        writer.conversation.losses.push(Loss { what, entry: turn.entry });
        writer.beside.push((id.clone(), at));
        note = Some(id);
    }
    let (id, mut before) = writer.id_and_parent(at, turn);
    if let Some(note) = note {
        before = Some(writer.options.to.quoted(&note));
    }
    let (ty, message) = match (&turn.speaker, answered(turn)) {
        (_, Some((call, _, is_error))) => {
            let mut result = Map::new();
            result.insert("tool_use_id".into(), writer.calls.id(call).into());
            result.insert("type".into(), "tool_result".into());
            result.insert("content".into(), content);
            if is_error {
                result.insert("is_error".into(), true.into());
                if has_images(&turn.parts) {
                    // Claude Code leaves them out.
                    let what = "images in results of failed calls: Claude Code does not send them";
                    writer.conversation.losses.push(Loss { what, entry: turn.entry });
                }
            }
            ("user", json!({ "role": "user", "content": [result] }))
        }
        (Speaker::Model { name }, _) => {
            let has_calls = turn.parts.iter().any(|part| matches!(part, Part::Call { .. }));
            let stop = if has_calls { "tool_use" } else { "end_turn" };
            let reply = format!("msg_{}", writer.fresh.hex(16));
            let model = if name.is_empty() { "unknown" } else { name };
            let message = json!({
                "id": reply, "type": "message", "role": "assistant", "model": model, "content": content,
                "stop_reason": stop, "stop_sequence": null,
                "usage": {
                    "input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                    "output_tokens": 0,
                },
            });
            ("assistant", message)
        }
        _ => {
            if let [Part::Text(text)] = &turn.parts[..] {
                ("user", json!({ "role": "user", "content": text }))
            } else {
                ("user", json!({ "role": "user", "content": content }))
            }
        }
    };
    let line = line(writer, turn, &id, before.as_deref(), ty, &message);
    push(writer, &line);
    Some(id)
}

/// Writes a summary as a compaction, which ends what Claude Code loads. What the old agent kept comes
/// after it anew: a list of kept messages would take the branches before it away. Returns the id of
/// the summary, or `None` if the turn is none.
fn compaction(writer: &mut Writer<'_>, at: usize, turn: &Turn) -> Option<String> {
    let before = turn.replaces.filter(|_| writer.has_compactions && !writer.fixed.contains_key(&at))?;
    let after = writer.ids[before].clone().map(|id| writer.options.to.quoted(&id))?;
    let [Part::Text(text)] = &turn.parts[..] else { return None };
    let (boundary, summary) = (writer.new_id(), writer.new_id());
    let like = json!({ "cwd": writer.options.cwd, "version": VERSION, "gitBranch": "" }).to_string();
    let envelope = Envelope {
        like: like.as_bytes(),
        now: writer.time(turn),
        session: Some(writer.options.session.as_str()),
    };
    let compaction = added_entries::Compaction {
        boundary: &boundary,
        summary: &summary,
        after: Some(&after),
        text,
        kept: &[],
        tokens_before: 0,
    };
    let lines = added_entries::compaction(envelope, compaction).concat();
    writer.out.extend(lines);
    writer.beside.push((boundary, at));
    writer.wrote_compactions = true;
    Some(summary)
}

/// Writes the title.
pub(super) fn name(writer: &mut Writer<'_>, name: Option<&str>) {
    if let Some(name) = name {
        let session = &writer.options.session;
        let line = json!({ "type": "custom-title", "customTitle": name, "sessionId": session });
        push(writer, &line);
    }
}

/// Writes the pointer to HEAD.
pub(super) fn pin(writer: &mut Writer<'_>, head: Option<String>) {
    let head = head.map(|head| writer.options.to.quoted(&head));
    let prompt = writer.last_prompt();
    let session = Some(writer.options.session.as_str());
    writer.out.extend(write::pin(prompt.as_deref(), head.as_deref(), session));
}

/// Returns a line; the parent is JSON.
fn line(
    writer: &Writer<'_>,
    turn: &Turn,
    id: &str,
    parent: Option<&[u8]>,
    ty: &str,
    message: &Value,
) -> Value {
    let options = writer.options;
    let parent: Value = parent.and_then(|parent| serde_json::from_slice(parent).ok()).unwrap_or_default();
    json!({
        "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": options.cwd,
        "sessionId": options.session, "version": VERSION, "gitBranch": "", "type": ty, "message": message,
        "uuid": id, "timestamp": writer.time(turn).iso(),
    })
}

fn content(parts: &[Part], calls: &mut CallIds) -> Value {
    let part = |part: &Part| match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Thinking(text) => json!({ "type": "thinking", "thinking": text, "signature": "" }),
        Part::Image { mime, data } => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": mime, "data": data } })
        }
        Part::Call { id, name, arguments } => {
            let mut call = Map::new();
            call.insert("type".into(), "tool_use".into());
            call.insert("id".into(), calls.id(id).into());
            call.insert("name".into(), name.as_str().into());
            let input = serde_json::from_str(&object(arguments)).unwrap_or_else(|_| json!({}));
            call.insert("input".into(), input);
            Value::Object(call)
        }
    };
    // Texts without words are refused.
    let says = |part: &&Part| !matches!(part, Part::Text(text) if text.trim().is_empty());
    Value::Array(parts.iter().filter(says).map(part).collect())
}

fn push(writer: &mut Writer<'_>, line: &Value) {
    writer.out.extend(line.to_string().into_bytes());
    writer.out.push(b'\n');
}
