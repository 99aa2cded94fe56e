//! The text of a message's content, in the form in which contexts are compared.

use super::{Block, text};
use crate::json::{each_item, member, string};
use std::borrow::Cow;

/// Returns the text of a message's content. A string is returned as it is; a list yields the texts
/// of its blocks, joined by line breaks, with a placeholder for each block that is not text, and
/// without thinking; anything else yields an empty text.
pub(super) fn message_text(content: &[u8]) -> Cow<'_, str> {
    text_of_blocks(content, |_| true)
}

/// Does the same for the wanted blocks only.
pub(super) fn text_of_blocks(content: &[u8], wanted: impl Fn(&[u8]) -> bool) -> Cow<'_, str> {
    if let Some(text) = string(content) {
        return text;
    }
    let mut out: Option<Cow<'_, str>> = None;
    for block in each_item(content).filter(|block| wanted(block)) {
        let Some(told) = block_text(block) else { continue };
        out = Some(match out {
            None => told,
            Some(mut before) => {
                before.to_mut().push('\n');
                before.to_mut().push_str(&told);
                before
            }
        });
    }
    out.unwrap_or_default()
}

/// Returns the text of one block, or its placeholder; `None` for thinking.
pub(super) fn block_text(block: &[u8]) -> Option<Cow<'_, str>> {
    let mark = |what: &str, of: Option<&[u8]>| Some(Cow::Owned(format!("[{what} {}]", inline_value(of))));
    let ty = member(block, "type");
    match ty.and_then(string).as_deref() {
        Some("text") => Some(text(block, "text")),
        Some("thinking") => None,
        Some("toolCall" | "tool_use") => mark("toolCall", member(block, "name")),
        Some("image") => {
            let source = member(block, "source").and_then(|source| member(source, "media_type"));
            mark("image", member(block, "mimeType").or(source))
        }
        Some("tool_result") => Some(message_text(member(block, "content").unwrap_or_default())),
        _ => Some(Cow::Owned(format!("[{}]", inline_value(ty)))),
    }
}

/// Returns the text of blocks that were already read, in the same form.
pub(super) fn text_of<'l>(blocks: &[Block<'l>]) -> Cow<'l, str> {
    let mut texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) | Block::Result { text, .. } => Some(text.clone()),
        Block::Thinking { .. } => None,
        Block::Call { name, .. } => Some(format!("[toolCall {name}]").into()),
        Block::Image { mime, .. } => Some(format!("[image {mime}]").into()),
        Block::Other(ty) => Some(format!("[{ty}]").into()),
    });
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |mut all, text| {
        all.to_mut().push('\n');
        all.to_mut().push_str(&text);
        all
    })
}

/// Formats a value as part of a text.
fn inline_value(value: Option<&[u8]>) -> Cow<'_, str> {
    let Some(value) = value else { return "undefined".into() };
    string(value).unwrap_or_else(|| String::from_utf8_lossy(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn a_content_is_told_as_text() {
        let check = |content: &str, wanted: &str| assert_eq!(message_text(content.as_bytes()), wanted, "{content}");
        check(r#""a\nb""#,                                                            "a\nb");
        check(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,           "a\nb");
        check(r#"[{"type":"thinking","thinking":"t"},{"type":"text","text":""}]"#,    "");
        check(r#"[{"type":"text","text":"a"},{"type":"toolCall","name":"ls"}]"#,      "a\n[toolCall ls]");
        check(r#"[{"type":"image","mimeType":"image/png","data":"AA"}]"#,             "[image image/png]");
        check(r#"[{"type":"redactedThinking","data":"x"},{}]"#,                       "[redactedThinking]\n[undefined]");
        check(r#"[{"type":"tool_result","content":[{"type":"text","text":"x"}]}]"#,   "x");
        check("null",                                                                 "");
        check("",                                                                     "");
    }
}
