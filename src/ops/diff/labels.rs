//! The text of an entry, as `diff` compares and shows it.

use super::is_thinking;
use crate::format::{Block, Content};
use crate::json::{each_member, string};

/// Returns the content of an entry, as it is compared and shown; thinking only if requested.
pub fn says(content: &Content<'_>, thinking: bool) -> String {
    said_of(&content.blocks, &content.text, thinking)
}

/// Does the same for blocks, using the text of the whole if they are empty.
pub fn said_of(blocks: &[Block<'_>], text: &str, thinking: bool) -> String {
    let mut out = String::new();
    for block in blocks.iter().filter(|block| thinking || !is_thinking(block)) {
        match block {
            Block::Text(text) => line(&mut out, text),
            Block::Thinking { text, .. } => {
                line(&mut out, "(thinking)");
                line(&mut out, text);
            }
            Block::Call { name, arguments, .. } => call(&mut out, name, arguments),
            Block::Result { is_error, text, .. } => {
                if *is_error {
                    line(&mut out, "(failed)");
                }
                line(&mut out, text);
            }
            Block::Image { mime, bytes, .. } => line(&mut out, &format!("[image {mime}, {bytes} bytes]")),
            Block::Other(ty) => line(&mut out, &format!("[{ty}]")),
        }
    }
    if out.is_empty() && !blocks.iter().any(|block| matches!(block, Block::Text(_) | Block::Result { .. })) {
        line(&mut out, text);
    }
    out
}

/// Formats a call: the tool, and its arguments one per line, texts unescaped.
fn call(out: &mut String, name: &str, arguments: &[u8]) {
    line(out, &format!("→ {name}"));
    let mut any = false;
    for (key, value) in each_member(arguments) {
        any = true;
        match string(value) {
            Some(text) if text.contains('\n') => {
                line(out, &format!("  {key}:"));
                for part in text.lines() {
                    line(out, &format!("    {part}"));
                }
            }
            Some(text) => line(out, &format!("  {key}: {text}")),
            None => line(out, &format!("  {key}: {}", String::from_utf8_lossy(value))),
        }
    }
    if !any && !arguments.is_empty() && arguments != b"{}" {
        line(out, &format!("  {}", String::from_utf8_lossy(arguments)));
    }
}

fn line(out: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    out.push_str(text);
    if !text.ends_with('\n') {
        out.push('\n');
    }
}
