//! The strings of an entry that have content.

use crate::format::{Block, Content, Format};
use crate::json::{Members, each_item, each_member, each_object, member, string};

/// The part of an entry that a text belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The text of a message.
    Text,
    /// The thinking of the model.
    Thinking,
    /// An argument of a tool.
    Call,
    /// The output of a tool, or a command of the user.
    Result,
    /// A summary.
    Summary,
    /// The text of any other entry: a label, a name, a note.
    Note,
}

impl Part {
    /// Returns the name of the part, as in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            Part::Text => "text",
            Part::Thinking => "thinking",
            Part::Call => "call",
            Part::Result => "result",
            Part::Summary => "summary",
            Part::Note => "note",
        }
    }
}

/// Passes each string of a line that has content to `each`, with escapes resolved, and numbers
/// among the arguments of tools.
///
/// Each is a single string of the line, or several joined by line feeds: if it contains a text
/// without escapes, the bytes of the line contain that text, too.
pub fn each_said(format: Format, line: &[u8], each: &mut dyn FnMut(Part, &str)) {
    if format.is_guest() {
        return guest(&Content::read(format, line), each);
    }
    let (entry, said) = Members::with_nested(line, "message");
    match (format, &*entry.text("type")) {
        (_, "message") | (Format::Claude, "user" | "assistant") => message(&said, each),
        (Format::Claude, "system") => emit(Part::Note, entry.get("content"), each),
        (Format::Claude, "attachment") => attachment(&entry, each),
        (Format::Claude, "progress") => leaves(Part::Note, entry.get("data"), each),
        (_, "compaction" | "branch_summary") => emit(Part::Summary, entry.get("summary"), each),
        (_, "custom_message") => content(Part::Text, entry.get("content"), each),
        (_, "label") => emit(Part::Note, entry.get("label"), each),
        (_, "session_info") => emit(Part::Note, entry.get("name"), each),
        (_, "title_change") => emit(Part::Note, entry.get("title"), each),
        (_, "session_init") => {
            emit(Part::Note, entry.get("task"), each);
            emit(Part::Note, entry.get("systemPrompt"), each);
        }
        (_, "context_edit") => {
            let replaced = entry.get("replacement").and_then(|new| member(new, "content"));
            content(Part::Text, replaced, each);
        }
        (Format::Chimera, "header") => emit(Part::Note, entry.get("system_prompt"), each),
        (Format::Chimera, "state_change") => emit(Part::Note, entry.get("value"), each),
        (_, "custom") => leaves(Part::Note, entry.get("data"), each),
        _ => {}
    }
}

/// Passes the content of an entry of a format that is only read.
fn guest(read: &Content<'_>, each: &mut dyn FnMut(Part, &str)) {
    for block in &read.blocks {
        match block {
            Block::Text(text) => each(Part::Text, text),
            Block::Thinking { text, .. } => each(Part::Thinking, text),
            Block::Call { arguments, .. } => leaves(Part::Call, Some(&**arguments), each),
            Block::Result { text, .. } => each(Part::Result, text),
            Block::Image { .. } | Block::Other(_) => {}
        }
    }
    if read.blocks.is_empty() {
        let is_summary = matches!(&*read.ty, "compacted" | "session.compaction_complete");
        let part = if is_summary { Part::Summary } else { Part::Note };
        each(part, &read.text[read.words..]);
    }
}

fn message(message: &Members<'_>, each: &mut dyn FnMut(Part, &str)) {
    match &*message.text("role") {
        "bashExecution" | "pythonExecution" => {
            for key in ["command", "code", "output"] {
                emit(Part::Result, message.get(key), each);
            }
        }
        "fileMention" => leaves(Part::Note, message.get("files"), each),
        "toolResult" | "tool" => content(Part::Result, message.get("content"), each),
        _ => content(Part::Text, message.get("content"), each),
    }
    for call in each_item(message.get("tool_calls").unwrap_or_default()) {
        leaves(Part::Call, member(call, "arguments"), each);
    }
    emit(Part::Note, message.get("errorMessage"), each);
    for section in each_member(message.get("sections").unwrap_or_default()) {
        emit(Part::Text, Some(section.1), each);
    }
}

/// Passes the content of a message: a string, or a list of blocks.
fn content(part: Part, content: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    let Some(value) = content else { return };
    emit(part, content, each);
    for block in each_object(value) {
        match &*block.text("type") {
            "text" => emit(part, block.get("text"), each),
            "thinking" => emit(Part::Thinking, block.get("thinking"), each),
            "toolCall" | "tool_use" | "server_tool_use" => {
                leaves(Part::Call, block.get("arguments").or(block.get("input")), each);
            }
            "tool_result" => super::said_text::result(block.get("content"), each),
            _ => {}
        }
    }
}

/// Passes the content of a result, which contains no further results.
fn result(content: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    emit(Part::Result, content, each);
    for block in each_object(content.unwrap_or_default()) {
        emit(Part::Result, block.get("text"), each);
    }
}

fn attachment(entry: &Members<'_>, each: &mut dyn FnMut(Part, &str)) {
    for (key, value) in each_member(entry.get("attachment").unwrap_or_default()) {
        if key != "type" {
            leaves(Part::Note, Some(value), each);
        }
    }
    for rendered in each_item(entry.get("rendered").unwrap_or_default()) {
        content(Part::Note, member(rendered, "content"), each);
    }
}

fn emit(part: Part, value: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    if let Some(text) = value.and_then(string) {
        each(part, &text);
    }
}

/// Passes all strings and numbers in a value, at any depth, in order, without keys.
fn leaves(part: Part, value: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    // Without recursion, because the file determines the depth of a value.
    let mut open: Vec<&[u8]> = value.into_iter().collect();
    while let Some(value) = open.pop() {
        match value.first() {
            Some(b'"') => emit(part, Some(value), each),
            Some(b'-' | b'0'..=b'9') => each(part, &String::from_utf8_lossy(value)),
            Some(b'{') => {
                let from = open.len();
                open.extend(each_member(value).map(|(_, value)| value));
                open[from..].reverse();
            }
            Some(b'[') => {
                let from = open.len();
                open.extend(each_item(value));
                open[from..].reverse();
            }
            _ => {}
        }
    }
}
