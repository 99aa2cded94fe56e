//! The strings of an entry that have content.

use crate::format::{Block, Content, Format};
use crate::json::{each_item, each_member, member, string, text};

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
    let ty = text(line, "type");
    match (format, &*ty) {
        (_, "message") | (Format::Claude, "user" | "assistant") => message(member(line, "message"), each),
        (Format::Claude, "system") => emit(Part::Note, member(line, "content"), each),
        (Format::Claude, "attachment") => attachment(line, each),
        (Format::Claude, "progress") => leaves(Part::Note, member(line, "data"), each),
        (_, "compaction" | "branch_summary") => emit(Part::Summary, member(line, "summary"), each),
        (_, "custom_message") => content(Part::Text, member(line, "content"), each),
        (_, "label") => emit(Part::Note, member(line, "label"), each),
        (_, "session_info") => emit(Part::Note, member(line, "name"), each),
        (_, "title_change") => emit(Part::Note, member(line, "title"), each),
        (_, "session_init") => {
            emit(Part::Note, member(line, "task"), each);
            emit(Part::Note, member(line, "systemPrompt"), each);
        }
        (_, "context_edit") => {
            let replaced = member(line, "replacement").and_then(|new| member(new, "content"));
            content(Part::Text, replaced, each);
        }
        (Format::Chimera, "header") => emit(Part::Note, member(line, "system_prompt"), each),
        (Format::Chimera, "state_change") => emit(Part::Note, member(line, "value"), each),
        (_, "custom") => leaves(Part::Note, member(line, "data"), each),
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

fn message(message: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    let Some(message) = message else { return };
    let role = text(message, "role");
    match &*role {
        "bashExecution" | "pythonExecution" => {
            for key in ["command", "code", "output"] {
                emit(Part::Result, member(message, key), each);
            }
        }
        "fileMention" => leaves(Part::Note, member(message, "files"), each),
        "toolResult" | "tool" => content(Part::Result, member(message, "content"), each),
        _ => content(Part::Text, member(message, "content"), each),
    }
    for call in each_item(member(message, "tool_calls").unwrap_or_default()) {
        leaves(Part::Call, member(call, "arguments"), each);
    }
    emit(Part::Note, member(message, "errorMessage"), each);
    for section in each_member(member(message, "sections").unwrap_or_default()) {
        emit(Part::Text, Some(section.1), each);
    }
}

/// Passes the content of a message: a string, or a list of blocks.
fn content(part: Part, content: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    let Some(value) = content else { return };
    emit(part, content, each);
    for block in each_item(value) {
        match &*text(block, "type") {
            "text" => emit(part, member(block, "text"), each),
            "thinking" => emit(Part::Thinking, member(block, "thinking"), each),
            "toolCall" | "tool_use" | "server_tool_use" => {
                leaves(Part::Call, member(block, "arguments").or(member(block, "input")), each);
            }
            "tool_result" => super::said_text::result(member(block, "content"), each),
            _ => {}
        }
    }
}

/// Passes the content of a result, which contains no further results.
fn result(content: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    emit(Part::Result, content, each);
    for block in each_item(content.unwrap_or_default()) {
        emit(Part::Result, member(block, "text"), each);
    }
}

fn attachment(line: &[u8], each: &mut dyn FnMut(Part, &str)) {
    for (key, value) in each_member(member(line, "attachment").unwrap_or_default()) {
        if key != "type" {
            leaves(Part::Note, Some(value), each);
        }
    }
    for rendered in each_item(member(line, "rendered").unwrap_or_default()) {
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
