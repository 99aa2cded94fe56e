//! The messages of a context, in the form in which the answers of the agents are recorded.

use bough::internals::context::{Context, Message, Origin, Patch};
use bough::internals::format::{Block, Format, Session};
use bough::internals::model::Source;
use serde_json::{Value, json};

/// Returns the role and the text of each message of a context. For Chimera, the ids of calls come
/// after the text, which is cut, as `positions.py` records it.
pub fn roles_and_texts(session: &Session, source: &dyn Source, context: &Context) -> Vec<(String, String)> {
    if session.format == Format::Chimera {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let message = |message: &Value| {
            let mut words = vec![word(&message["text"])];
            words.extend(message["tool_calls"].as_array().into_iter().flatten().map(word));
            words.extend(Some(word(&message["call_id"])).filter(|call| !call.is_empty()));
            (word(&message["role"]), words.join(" · "))
        };
        return chimera_messages(session, source, context).iter().map(message).collect();
    }
    let mut line = Vec::new();
    let message = |message: &Message| {
        let said = message.read(session, source, &mut line).unwrap();
        (message.role.to_string(), said.text.to_string())
    };
    // The program moves results when it sends them; in its own context they are where they are stored.
    let is_moved = |message: &&Message| message.patches.contains(&Patch::Moved);
    let (moved, mut stored): (Vec<&Message>, Vec<&Message>) = context.messages.iter().partition(is_moved);
    let path = context.messages.iter().filter_map(|message| message.entry).max();
    let path = path.map(|_| session.tree.path(Context::position(session).unwrap())).unwrap_or_default();
    let place = |message: &Message| path.iter().position(|ix| Some(*ix) == message.entry);
    for result in moved {
        let is_before =
            |message: &&Message| message.origin == Origin::Message && place(message) > place(result);
        let at = stored.iter().position(is_before).unwrap_or(stored.len());
        stored.insert(at, result);
    }
    stored.into_iter().map(message).collect()
}

/// Returns the messages of a context in the form of Chimera's recorded answers.
pub fn chimera_messages(session: &Session, source: &dyn Source, context: &Context) -> Vec<Value> {
    let mut line = Vec::new();
    let message = |message: &Message| {
        let said = message.read(session, source, &mut line).unwrap();
        let head: String = said.text.chars().take(80).collect();
        let mut calls = Vec::new();
        let mut answers = Value::Null;
        for block in &said.blocks {
            match block {
                Block::Call { id, .. } => calls.push(id.to_string()),
                Block::Result { call, .. } => answers = json!(call),
                _ => {}
            }
        }
        json!({"role": message.role, "text": head, "tool_calls": calls, "call_id": answers})
    };
    context.messages.iter().map(message).collect()
}

/// Returns the SHA-256 as hexadecimal digits: the recorded answers contain it for long texts.
pub fn sha256(text: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
