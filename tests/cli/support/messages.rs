//! The messages of a context, in the form in which the answers of the agents are recorded.

use bough::internals::context::{Context, Message, Origin, Patch};
use bough::internals::format::{Block, Format, Session, blocks_of_item};
use bough::internals::json::{each_item, member_at, string};
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
    as_stored(session, context).into_iter().map(message).collect()
}

/// Returns the messages of a context with the results where they are stored: the program moves some
/// when it sends them, but not in its own context.
fn as_stored<'c>(session: &Session, context: &'c Context) -> Vec<&'c Message> {
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
    stored
}

/// Returns each block of a context: who says it, and its content in the words of `programs.py`. Of
/// Claude Code, its reminders and empty texts are left out, and texts that follow each other are joined and
/// end without line breaks, as in `care.py`.
pub fn blocks_in_words(session: &Session, source: &dyn Source, context: &Context) -> Vec<(String, String)> {
    let is_claude = session.format == Format::Claude;
    let mut line = Vec::new();
    let mut blocks = Vec::new();
    for message in as_stored(session, context) {
        let is_reminder =
            is_claude && message.patches.iter().any(|patch| matches!(patch, Patch::Added { .. }));
        if is_claude && message.origin == Origin::Attachment {
            continue;
        }
        let said = message.read(session, source, &mut line).unwrap();
        if said.sent_text.is_some() || !said.changes.is_empty() {
            // What the program adds when it sends the message is not yet in its own context.
            blocks.push((message.role.to_string(), (said.text.to_string(), true)));
            continue;
        }
        // The images of a result follow it.
        let mut is_after_result = false;
        // The recording has the notes that `slim` put into a reminder.
        let is_recorded = |block: &&Block<'_>| match block {
            Block::Text(text) => !is_reminder || text.contains("[removed by bough slim: "),
            _ => true,
        };
        for block in said.blocks.iter().filter(is_recorded) {
            if message.origin == Origin::MadeUp && matches!(block, Block::Text(_)) && is_claude {
                blocks.push((message.role.to_string(), ("No response requested.".into(), true)));
            } else if let Block::Result { call, is_error, .. } = block {
                let failed = if *is_error && is_claude { " failed" } else { "" };
                let who = match session.format {
                    Format::Claude | Format::Chimera => format!("{} {call}{failed}", message.role),
                    _ => message.role.to_string(),
                };
                let parts = match message.entry {
                    Some(_) if *is_error && message.patches.contains(&Patch::OnlyText) => vec![words(block)],
                    Some(_) => result_in_words(session, source, message, call),
                    None => vec![words(block)],
                };
                blocks.extend(parts.into_iter().map(|words| (who.clone(), words)));
                is_after_result = true;
            } else if !(is_after_result && matches!(block, Block::Image { .. })) {
                blocks.push((message.role.to_string(), words(block)));
            }
        }
    }
    if !is_claude {
        return blocks.into_iter().map(|(who, (words, _))| (who, words)).collect();
    }
    let mut out = Vec::<(String, String, bool)>::new();
    for (who, (words, is_text)) in blocks {
        let is_reminder = words.trim_start().starts_with("<system-reminder>");
        let words = words.trim_end_matches('\n');
        match out.last_mut() {
            _ if is_text && (words.is_empty() || is_reminder) => {}
            Some((last, text, true)) if is_text && *last == who => *text += &format!("\n{words}"),
            _ => out.push((who, words.to_owned(), is_text)),
        }
    }
    out.into_iter().map(|(who, words, _)| (who, words)).collect()
}

/// Returns each block of a stored result in words, and whether it is a text.
fn result_in_words(
    session: &Session,
    source: &dyn Source,
    message: &Message,
    call: &str,
) -> Vec<(String, bool)> {
    let edit = message.patches.iter().find_map(|patch| match patch {
        Patch::Edited { by } => Some(*by),
        _ => None,
    });
    let line = source.bytes(session.span(edit.or(message.entry).unwrap())).unwrap();
    let outer = if edit.is_some() { "replacement" } else { "message" };
    let mut content = member_at(&line, &[outer, "content"]).unwrap_or_default();
    if session.format == Format::Claude {
        let is_it =
            |item: &&[u8]| member_at(item, &["tool_use_id"]).and_then(string).as_deref() == Some(call);
        let item = each_item(content).find(is_it).unwrap_or_default();
        content = member_at(item, &["content"]).unwrap_or_default();
    }
    match string(content) {
        Some(text) => vec![(text.into_owned(), true)],
        None => each_item(content).flat_map(blocks_of_item).map(|block| words(&block)).collect(),
    }
}

/// Returns a block in the words of `programs.py` (`readable`), and whether it is a text.
fn words(block: &Block<'_>) -> (String, bool) {
    match block {
        Block::Text(text) | Block::Result { text, .. } => (text.to_string(), true),
        Block::Thinking { text, .. } => (format!("[thinking] {text}"), false),
        Block::Call { id, name, arguments } => {
            let mut arguments: Value = serde_json::from_slice(arguments).unwrap_or_else(|_| json!({}));
            arguments.sort_all_objects();
            (format!("[call {id} {name}] {arguments}"), false)
        }
        Block::Image { mime, data, .. } => (format!("[image {mime}] {data}"), false),
        Block::Other(ty) => (json!({ "type": ty }).to_string(), false),
    }
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
