//! A session without its secrets: all other bytes are those of its file.

use super::redaction::{Redaction, each_line};
use crate::format::source_lines;
use crate::json::{each_item, member, place_in, set_field, text};
use crate::ops::redact::Redact;
use crate::store::Opened;
use std::io;

/// Returns the whole file, redacted.
pub(super) fn session(opened: &Opened, redaction: &mut Redaction) -> io::Result<Vec<u8>> {
    let format = opened.session.format;
    let facts = opened.session.files.first();
    let ends_in_newline = facts.is_none_or(|facts| facts.ends_in_newline);
    let header = opened.session.header.as_ref().map(|header| header.line);
    let is_clean = redaction.is_clean();
    let mut out = Vec::with_capacity(facts.map_or(0, |facts| facts.bytes as usize));
    each_line(opened, &mut |number, line| {
        // What a converted session carries of its source is not replaced piece by piece: it would not be
        // the source anymore.
        if redaction.is_on()
            && let Some(empty) = source_lines::emptied(format, line)
        {
            out.extend_from_slice(&empty);
        } else if is_clean {
            out.extend_from_slice(line);
        } else {
            let mut new = redacted(line, redaction);
            // Claude Code has no header: there is no line that speaks of the whole session.
            if header == Some(number) && format.wants_header() {
                new = set_field(&new, &["redacted"], b"true").unwrap_or(new);
            }
            out.extend_from_slice(&new);
        }
        out.push(b'\n');
    })?;
    if !ends_in_newline {
        out.pop();
    }
    Ok(out)
}

/// Returns a line without its secrets. A signature is of the thinking as it was: where that changes, both go.
fn redacted(line: &[u8], redaction: &mut Redaction) -> Vec<u8> {
    let content = member(line, "message").and_then(|message| member(message, "content")).unwrap_or_default();
    let items: Vec<&[u8]> = each_item(content).collect();
    let mut new_content = Vec::new();
    let mut is_changed = false;
    for item in &items {
        let is_thinking = text(item, "type") == "thinking";
        if is_thinking && redaction.text(&text(item, "thinking")) != text(item, "thinking") {
            is_changed = true;
            continue;
        }
        new_content.push(*item);
    }
    if !is_changed {
        return redaction.line(line).into_owned();
    }
    let list = match new_content.as_slice() {
        // A message needs something in it.
        [] => br#"[{"type":"text","text":"[redacted thinking]"}]"#.to_vec(),
        items => [b"[".as_slice(), &items.join(&b","[..]), b"]"].concat(),
    };
    let range = place_in(line, content);
    let line = [&line[..range.start], &list, &line[range.end..]].concat();
    redaction.line(&line).into_owned()
}
