//! Reading the content of a line as blocks of a request.

use super::Extent;
use super::message::Part;
use super::pairs::Block;
use crate::format::claude::attachments;
use crate::json::{Members, each_item, member, string};

/// Returns the block of a turn's content at an index, as JSON; if the content is a string, the
/// string.
pub fn block(line: &[u8], at: usize) -> Option<&[u8]> {
    let content = content(line)?;
    match content.first()? {
        b'"' => Some(content).filter(|_| at == 0),
        _ => each_item(content).nth(at),
    }
}

/// Returns the blocks of a turn's content, as JSON; of a string, the string.
pub fn items(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let content = content(line).unwrap_or_default();
    let text = (content.first() == Some(&b'"')).then_some(content);
    text.into_iter().chain(each_item(content))
}

/// Returns the text of an attachment at an index in its `rendered` list.
pub fn rendered_text(line: &[u8], at: usize) -> Option<String> {
    let item = each_item(member(line, "rendered")?).nth(at)?;
    string(member(item, "content")?).map(|text| text.into_owned())
}

pub(super) fn content(line: &[u8]) -> Option<&[u8]> {
    Members::with_nested(line, "message").1.get("content")
}

/// Returns the blocks of a turn's content; `None` if it is neither a string nor a list.
pub(super) fn blocks(content: &[u8], is_reply: bool, extent: Extent) -> Option<Vec<Block>> {
    match content.first()? {
        b'"' => Some(vec![Block::Other]),
        b'[' => Some(each_item(content).map(|block| read_block(block, is_reply, extent)).collect()),
        _ => None,
    }
}

fn read_block(block: &[u8], is_reply: bool, extent: Extent) -> Block {
    if block.first() != Some(&b'{') {
        return Block::None;
    }
    let fields = Members::new(block);
    match &*fields.text("type") {
        "tool_use" => Block::Call(fields.text("id").into_owned()),
        "tool_result" => {
            let only_texts = extent == Extent::Sent
                && is_failed(fields.get("is_error"))
                && has_more_than_texts(fields.get("content").unwrap_or_default());
            Block::Result(fields.text("tool_use_id").into_owned(), only_texts)
        }
        "text" if is_reply && is_blank(fields.get("text")) => Block::Blank,
        "thinking" | "redacted_thinking" => Block::Thinking,
        "server_tool_use" | "mcp_tool_use" => Block::OwnCall(fields.text("id").into_owned()),
        _ => Block::Other,
    }
}

/// Returns whether a value is not a string, or one of white space.
fn is_blank(value: Option<&[u8]>) -> bool {
    match value {
        // Nearly always the first sign says it.
        Some([b'"', first, ..]) if first.is_ascii_graphic() && !matches!(first, b'"' | b'\\') => false,
        value => value.and_then(string).is_none_or(|text| text.trim().is_empty()),
    }
}

/// Returns whether a result says that its tool failed.
fn is_failed(is_error: Option<&[u8]>) -> bool {
    !matches!(is_error, None | Some(b"false" | b"null" | b"0" | b"\"\""))
}

fn has_more_than_texts(content: &[u8]) -> bool {
    content.first() == Some(&b'[') && each_item(content).any(|item| !is_text(item))
}

/// Returns whether an item of a content is a text.
pub fn is_text(item: &[u8]) -> bool {
    item.first() == Some(&b'{') && member(item, "type").and_then(string).is_some_and(|ty| ty == "text")
}

pub(super) fn is_command(line: &[u8]) -> bool {
    member(line, "subtype").and_then(string).is_some_and(|subtype| subtype == "local_command")
}

/// Returns whether a reply is a message about an error of the service, written by Claude Code.
pub(super) fn is_api_error(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"isApiErrorMessage").is_some()
        && member(line, "isApiErrorMessage") == Some(b"true")
}

/// Returns the parts of an attachment that are sent.
pub(super) fn attached(line: &[u8]) -> Vec<Part> {
    match member(line, "rendered") {
        Some(list) => {
            let texts = each_item(list).enumerate().filter(|(_, item)| member(item, "content").is_some());
            texts.map(|(at, _)| Part::Rendered(at)).collect()
        }
        None => attachments::is_sent(line).then_some(Part::Attached).into_iter().collect(),
    }
}
