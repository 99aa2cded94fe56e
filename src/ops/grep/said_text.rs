//! The strings of an entry that say something.

use crate::format::Format;
use crate::json::{each_item, each_member, member, string, text};

/// Which part of an entry a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The text of a message.
    Text,
    /// What the model thought.
    Thinking,
    /// An argument of a tool.
    Call,
    /// What a tool gave, or a command of the user.
    Result,
    /// A summary.
    Summary,
    /// Words of another entry: a label, a name, a note.
    Note,
}

impl Part {
    /// The part as one word, as `--json` gives it.
    pub fn word(self) -> &'static str {
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

/// Gives each string of a line that says something, escapes resolved; and numbers among the arguments of tools.
///
/// Each is a single string of the line, or several joined by line feeds: a text without escapes that stands in it
/// stands in the bytes of the line too.
pub fn each_said(format: Format, line: &[u8], each: &mut dyn FnMut(Part, &str)) {
    let ty = text(line, "type");
    match (format, &*ty) {
        (_, "message") | (Format::Claude, "user" | "assistant") => message(member(line, "message"), each),
        (Format::Claude, "system") => say(Part::Note, member(line, "content"), each),
        (Format::Claude, "attachment") => attachment(line, each),
        (Format::Claude, "progress") => leaves(Part::Note, member(line, "data"), each),
        (_, "compaction" | "branch_summary") => say(Part::Summary, member(line, "summary"), each),
        (_, "custom_message") => content(Part::Text, member(line, "content"), each),
        (_, "label") => say(Part::Note, member(line, "label"), each),
        (_, "session_info") => say(Part::Note, member(line, "name"), each),
        (_, "title_change") => say(Part::Note, member(line, "title"), each),
        (_, "session_init") => {
            say(Part::Note, member(line, "task"), each);
            say(Part::Note, member(line, "systemPrompt"), each);
        }
        (_, "context_edit") => {
            let replaced = member(line, "replacement").and_then(|new| member(new, "content"));
            content(Part::Text, replaced, each);
        }
        (Format::Chimera, "header") => say(Part::Note, member(line, "system_prompt"), each),
        (Format::Chimera, "state_change") => say(Part::Note, member(line, "value"), each),
        (_, "custom") => leaves(Part::Note, member(line, "data"), each),
        _ => {}
    }
}

fn message(message: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    let Some(message) = message else { return };
    let role = text(message, "role");
    match &*role {
        "bashExecution" | "pythonExecution" => {
            for key in ["command", "code", "output"] {
                say(Part::Result, member(message, key), each);
            }
        }
        "fileMention" => leaves(Part::Note, member(message, "files"), each),
        "toolResult" | "tool" => content(Part::Result, member(message, "content"), each),
        _ => content(Part::Text, member(message, "content"), each),
    }
    for call in each_item(member(message, "tool_calls").unwrap_or_default()) {
        leaves(Part::Call, member(call, "arguments"), each);
    }
    say(Part::Note, member(message, "errorMessage"), each);
    for section in each_member(member(message, "sections").unwrap_or_default()) {
        say(Part::Text, Some(section.1), each);
    }
}

/// The content of a message: a string, or a list of blocks.
fn content(part: Part, content: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    let Some(value) = content else { return };
    say(part, content, each);
    for block in each_item(value) {
        match &*text(block, "type") {
            "text" => say(part, member(block, "text"), each),
            "thinking" => say(Part::Thinking, member(block, "thinking"), each),
            "toolCall" | "tool_use" | "server_tool_use" => {
                leaves(Part::Call, member(block, "arguments").or(member(block, "input")), each);
            }
            "tool_result" => super::said_text::result(member(block, "content"), each),
            _ => {}
        }
    }
}

/// The content of a result, which holds no further results.
fn result(content: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    say(Part::Result, content, each);
    for block in each_item(content.unwrap_or_default()) {
        say(Part::Result, member(block, "text"), each);
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

fn say(part: Part, value: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    if let Some(text) = value.and_then(string) {
        each(part, &text);
    }
}

/// All strings and numbers in a value, however deep, in order; keys are left out.
fn leaves(part: Part, value: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    // Not by recursion: how deep a value goes is the file's choice.
    let mut open: Vec<&[u8]> = value.into_iter().collect();
    while let Some(value) = open.pop() {
        match value.first() {
            Some(b'"') => say(part, Some(value), each),
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
