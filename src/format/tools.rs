//! The positions of tool call ids in a line: of calls, of results, and of anything else that
//! mentions them.

use super::Format;
use crate::json::{decode, each_item, each_member, member, place_in};
use std::ops::Range;

/// The id of a tool call, with its position in a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolId {
    /// Its range, including the quotes.
    pub at: Range<usize>,
    /// The id, with escapes resolved.
    pub id: String,
    /// Its role there.
    pub role: ToolRole,
}

/// The role of a tool call's id in a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolRole {
    /// A call, whose result is in another entry.
    Call,
    /// The result of a call in another entry.
    Result,
    /// A call that the service itself carried out, or its result: both are in one reply.
    Served,
    /// It is only mentioned.
    Mention,
}

/// Returns the ids of tool calls in a line, in the order of the line's own lists.
pub fn tool_ids(format: Format, line: &[u8]) -> Vec<ToolId> {
    let mut found = Finder { line, out: Vec::new() };
    match format {
        Format::Claude => found.claude(),
        Format::Chimera => found.chimera(),
        _ => found.pi(),
    }
    found.out
}

struct Finder<'l> {
    line: &'l [u8],
    out: Vec<ToolId>,
}

impl<'l> Finder<'l> {
    fn push(&mut self, value: Option<&'l [u8]>, role: ToolRole) {
        let Some(value) = value else { return };
        let Some(inside) = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
            return;
        };
        if inside.is_empty() {
            return;
        }
        self.out.push(ToolId { at: place_in(self.line, value), id: decode(inside).into_owned(), role });
    }

    fn pi(&mut self) {
        let Some(message) = member(self.line, "message") else { return };
        match member(message, "role") {
            Some(b"\"assistant\"") => {
                for block in each_item(member(message, "content").unwrap_or_default()) {
                    if member(block, "type") == Some(b"\"toolCall\"") {
                        self.push(member(block, "id"), ToolRole::Call);
                    }
                }
            }
            Some(b"\"toolResult\"") => self.push(member(message, "toolCallId"), ToolRole::Result),
            _ => {}
        }
    }

    fn chimera(&mut self) {
        let Some(message) = member(self.line, "message") else { return };
        for call in each_item(member(message, "tool_calls").unwrap_or_default()) {
            self.push(member(call, "id"), ToolRole::Call);
        }
        if member(message, "role") == Some(b"\"tool\"") {
            self.push(member(message, "call_id"), ToolRole::Result);
        }
    }

    fn claude(&mut self) {
        let reply = member(self.line, "type") == Some(b"\"assistant\"");
        for (key, value) in each_member(self.line) {
            match &*key {
                "message" => {
                    for block in each_item(member(value, "content").unwrap_or_default()) {
                        self.claude_block(block, reply);
                    }
                }
                "toolUseID" | "parentToolUseID" | "sourceToolUseID" => {
                    self.push(Some(value), ToolRole::Mention)
                }
                "attachment" => self.push(member(value, "toolUseID"), ToolRole::Mention),
                _ => {}
            }
        }
    }

    fn claude_block(&mut self, block: &'l [u8], reply: bool) {
        match member(block, "type") {
            Some(b"\"tool_use\"") => self.push(member(block, "id"), ToolRole::Call),
            Some(b"\"tool_result\"") if !reply => self.push(member(block, "tool_use_id"), ToolRole::Result),
            Some(ty) if ty.ends_with(b"_tool_use\"") => self.push(member(block, "id"), ToolRole::Served),
            _ => self.push(member(block, "tool_use_id"), ToolRole::Served),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn ids_of_calls_are_found_where_they_stand() {
        let check = |format, line: &str, wanted: &str| {
            let found = tool_ids(format, line.as_bytes());
            let shown: Vec<String> = found.iter().map(|id| format!("{:?} {}", id.role, id.id)).collect();
            assert_eq!(shown.join(", "), wanted, "{line}");
            for id in found {
                assert_eq!(&line[id.at.clone()], format!("\"{}\"", id.id), "{line}");
            }
        };
        check(Format::Pi, r#"{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"toolCall","id":"a","name":"n"},{"type":"toolCall","id":"b"}]}}"#, "Call a, Call b");
        check(Format::Pi, r#"{"type":"message","message":{"role":"toolResult","toolCallId":"a","content":[]}}"#, "Result a");
        check(Format::Pi, r#"{"type":"message","message":{"role":"user","content":[{"type":"toolCall","id":"a"}]}}"#, "");
        check(Format::Chimera, r#"{"type": "message", "message": {"role": "assistant", "content": "", "tool_calls": [{"id": "a"}]}}"#, "Call a");
        check(Format::Chimera, r#"{"type": "message", "message": {"role": "tool", "content": "", "call_id": "a"}}"#, "Result a");
        check(Format::Claude, r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a"},{"type":"server_tool_use","id":"s"},{"type":"web_search_tool_result","tool_use_id":"s"}]}}"#, "Call a, Served s, Served s");
        check(Format::Claude, r#"{"type":"user","message":{"content":[{"tool_use_id":"a","type":"tool_result"}]},"sourceToolUseID":"b"}"#, "Result a, Mention b");
        check(Format::Claude, r#"{"type":"attachment","attachment":{"type":"hook_success","toolUseID":"a"}}"#, "Mention a");
        check(Format::Claude, r#"{"type":"user","message":{"content":"x"}}"#, "");
        check(Format::Pi, r#"{"type":"message","message":{"role":"assistant","content":"x"}}"#, "");
        check(Format::Pi, "[1]", "");
    }
}
