//! The strings of an entry that say something.

use crate::format::Format;
use crate::json::{each_item, each_member, string};

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
        (_, "message") | (Format::Claude, "user" | "assistant") => message(get(line, "message"), each),
        (Format::Claude, "system") => say(Part::Note, get(line, "content"), each),
        (Format::Claude, "attachment") => attachment(line, each),
        (Format::Claude, "progress") => leaves(Part::Note, get(line, "data"), each),
        (_, "compaction" | "branch_summary") => say(Part::Summary, get(line, "summary"), each),
        (_, "custom_message") => content(Part::Text, get(line, "content"), each),
        (_, "label") => say(Part::Note, get(line, "label"), each),
        (_, "session_info") => say(Part::Note, get(line, "name"), each),
        (_, "title_change") => say(Part::Note, get(line, "title"), each),
        (_, "session_init") => {
            say(Part::Note, get(line, "task"), each);
            say(Part::Note, get(line, "systemPrompt"), each);
        }
        (_, "context_edit") => {
            let replaced = get(line, "replacement").and_then(|new| get(new, "content"));
            content(Part::Text, replaced, each);
        }
        (Format::Chimera, "header") => say(Part::Note, get(line, "system_prompt"), each),
        (Format::Chimera, "state_change") => say(Part::Note, get(line, "value"), each),
        (_, "custom") => leaves(Part::Note, get(line, "data"), each),
        _ => {}
    }
}

fn message(message: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    let Some(message) = message else { return };
    let role = text(message, "role");
    match &*role {
        "bashExecution" | "pythonExecution" => {
            for key in ["command", "code", "output"] {
                say(Part::Result, get(message, key), each);
            }
        }
        "fileMention" => leaves(Part::Note, get(message, "files"), each),
        "toolResult" | "tool" => content(Part::Result, get(message, "content"), each),
        _ => content(Part::Text, get(message, "content"), each),
    }
    for call in each_item(get(message, "tool_calls").unwrap_or_default()) {
        leaves(Part::Call, get(call, "arguments"), each);
    }
    say(Part::Note, get(message, "errorMessage"), each);
    for section in each_member(get(message, "sections").unwrap_or_default()) {
        say(Part::Text, Some(section.1), each);
    }
}

/// The content of a message: a string, or a list of blocks.
fn content(part: Part, content: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    let Some(value) = content else { return };
    say(part, content, each);
    for block in each_item(value) {
        match &*text(block, "type") {
            "text" => say(part, get(block, "text"), each),
            "thinking" => say(Part::Thinking, get(block, "thinking"), each),
            "toolCall" | "tool_use" | "server_tool_use" => {
                leaves(Part::Call, get(block, "arguments").or(get(block, "input")), each);
            }
            "tool_result" => self::result(get(block, "content"), each),
            _ => {}
        }
    }
}

/// The content of a result, which holds no further results.
fn result(content: Option<&[u8]>, each: &mut dyn FnMut(Part, &str)) {
    say(Part::Result, content, each);
    for block in each_item(content.unwrap_or_default()) {
        say(Part::Result, get(block, "text"), each);
    }
}

fn attachment(line: &[u8], each: &mut dyn FnMut(Part, &str)) {
    for (key, value) in each_member(get(line, "attachment").unwrap_or_default()) {
        if key != "type" {
            leaves(Part::Note, Some(value), each);
        }
    }
    for rendered in each_item(get(line, "rendered").unwrap_or_default()) {
        content(Part::Note, get(rendered, "content"), each);
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

fn get<'l>(object: &'l [u8], key: &str) -> Option<&'l [u8]> {
    each_member(object).filter(|(known, _)| known == key).last().map(|(_, value)| value)
}

fn text<'l>(object: &'l [u8], key: &str) -> std::borrow::Cow<'l, str> {
    get(object, key).and_then(string).unwrap_or_default()
}
