//! Attachments without a `rendered` list, as older versions of Claude Code wrote them: which ones
//! it turns into text, and from which fields.
//!
//! The text that Claude Code puts around the content of an attachment is not known here; only the
//! content is shown.

use crate::json::{each_item, member, string};

/// The types that are sent, each with the fields that its text is made of: a path of members, with
/// `*` for each item of a list.
///
/// All others are internal notes of Claude Code.
const SENT: &[(&str, &[&str])] = &[
    ("agent_listing_delta", &["addedLines/*"]),
    ("agent_mention", &["agentType"]),
    ("compact_file_reference", &["filename"]),
    ("critical_system_reminder", &["content"]),
    ("date_change", &["newDate"]),
    ("deferred_tools_delta", &["addedLines/*"]),
    ("diagnostics", &["files/*/uri", "files/*/diagnostics/*/message"]),
    ("directory", &["path", "content"]),
    ("edited_text_file", &["filename", "snippet"]),
    ("file", &["filename", "content/file/content"]),
    ("hook_additional_context", &["content/*", "content"]),
    ("hook_blocking_error", &["blockingError/blockingError"]),
    ("hook_stopped_continuation", &["message"]),
    ("hook_success", &["content"]),
    ("invoked_skills", &["skills/*/content"]),
    ("mcp_instructions_delta", &["addedBlocks/*"]),
    ("mcp_resource", &["uri", "content/contents/*/text"]),
    ("nested_memory", &["path", "content/content"]),
    ("opened_file_in_ide", &["filename"]),
    ("output_style", &["style"]),
    ("plan_file_reference", &["planFilePath", "planContent"]),
    ("plan_mode", &["planFilePath"]),
    ("queued_command", &["prompt", "prompt/*/text"]),
    ("selected_lines_in_ide", &["filename", "content"]),
    ("skill_listing", &["content"]),
    ("task_status", &["description", "deltaSummary"]),
];

/// Events whose hooks send text to the model when they succeed.
const SPEAKING_HOOKS: &[&str] = &["SessionStart", "UserPromptSubmit"];

/// Returns whether Claude Code sends any part of an attachment.
pub(super) fn is_sent(line: &[u8]) -> bool {
    let Some(attachment) = member(line, "attachment") else { return false };
    let text = |key| member(attachment, key).and_then(string).unwrap_or_default();
    let ty = text("type");
    match &*ty {
        "hook_success" => SPEAKING_HOOKS.contains(&&*text("hookEvent")) && !text("content").is_empty(),
        ty => fields(ty).is_some(),
    }
}

/// Returns the text of an attachment: the contents of the fields from which Claude Code makes its
/// own text, joined by line breaks.
pub fn attachment_text(line: &[u8]) -> String {
    let attachment = member(line, "attachment").unwrap_or_default();
    let ty = member(attachment, "type").and_then(string).unwrap_or_default();
    let mut texts = Vec::new();
    for path in fields(&ty).into_iter().flatten() {
        gather(attachment, path, &mut texts);
    }
    texts.join("\n")
}

fn fields(ty: &str) -> Option<&'static [&'static str]> {
    let at = SENT.binary_search_by_key(&ty, |(ty, _)| *ty).ok()?;
    Some(SENT[at].1)
}

/// Adds the texts at the end of a path.
fn gather(value: &[u8], path: &str, texts: &mut Vec<String>) {
    if path.is_empty() {
        texts.extend(string(value).map(|text| text.into_owned()));
        return;
    }
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    match first {
        "*" if value.first() == Some(&b'[') => each_item(value).for_each(|item| gather(item, rest, texts)),
        "*" => {}
        key => {
            if let Some(value) = member(value, key) {
                gather(value, rest, texts);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(SENT.is_sorted_by_key(|(ty, _)| *ty));
    }

    #[test]
    #[rustfmt::skip] // a table
    fn attachments_are_sent_by_their_type() {
        let check = |attachment: &str, text: Option<&str>| {
            let line = format!(r#"{{"type":"attachment","attachment":{attachment}}}"#);
            let sent_text = is_sent(line.as_bytes()).then(|| attachment_text(line.as_bytes()));
            assert_eq!(sent_text.as_deref(), text, "{attachment}");
        };
        check(r#"{"type":"queued_command","prompt":"go","commandMode":"prompt"}"#,                  Some("go"));
        check(r#"{"type":"queued_command","prompt":[{"type":"text","text":"go"},{"type":"image"}]}"#, Some("go"));
        check(r#"{"type":"file","filename":"a","content":{"type":"text","file":{"content":"b"}}}"#,  Some("a\nb"));
        check(r#"{"type":"diagnostics","files":[{"uri":"u","diagnostics":[{"message":"m"}]}]}"#,      Some("u\nm"));
        check(r#"{"type":"hook_success","hookEvent":"SessionStart","content":"c"}"#,                 Some("c"));
        check(r#"{"type":"hook_success","hookEvent":"SessionStart","content":""}"#,                  None);
        check(r#"{"type":"hook_success","hookEvent":"PostToolUse","content":"c"}"#,                  None);
        check(r#"{"type":"todo_reminder","content":[]}"#,                                            None);
        check(r#"{"type":"of_another_day","content":"c"}"#,                                          None);
        check("{}",                                                                                  None);
    }
}
