//! The lines that bough writes into a transcript beside the conversation: pins, labels, titles.

use super::MARKER;
use crate::format::{Format, Object};
use crate::json::member_at;
use crate::model::Time;

/// The first version that follows pointers.
const POINTERS: [u32; 3] = [2, 1, 122];

/// Returns whether a version of Claude Code chooses the leaf by the last line or the newest entry,
/// and does not know pointers.
///
/// A version that is unknown or can't be parsed is treated as one of these: all versions follow
/// what is written for them.
pub fn ignores_pointers(version: Option<&str>) -> bool {
    let Some(version) = version else { return true };
    let mut numbers = version.split(['.', '-', '+']).map(|part| part.parse::<u32>().ok());
    let mut next = || numbers.next().flatten();
    match (next(), next(), next()) {
        (Some(major), Some(minor), patch) => [major, minor, patch.unwrap_or(0)] < POINTERS,
        _ => true,
    }
}

/// Returns a pin: a pointer that says that it is explicit. `leaf` is JSON; `None` pins an empty
/// conversation.
pub fn pin(prompt: Option<&str>, leaf: Option<&[u8]>, session: Option<&str>) -> Vec<u8> {
    pointer(prompt, leaf, true, session)
}

/// Returns a pointer to an entry, explicit or not; see [`pin`] for the parameters.
pub fn pointer(prompt: Option<&str>, leaf: Option<&[u8]>, is_pin: bool, session: Option<&str>) -> Vec<u8> {
    let mut line = Object::begin(Format::Claude).text("type", "last-prompt");
    if let Some(prompt) = prompt {
        line = line.text("lastPrompt", prompt);
    }
    line = line.id("leafUuid", leaf);
    if is_pin {
        line = line.raw("explicit", b"true");
    }
    if let Some(session) = session {
        line = line.text("sessionId", session);
    }
    line.line()
}

/// Returns a child of an entry that sends nothing to the model: it is the last line and the newest
/// entry, which versions without pointers use to choose the leaf. `parent` is the line of the
/// entry.
pub fn child(parent: &[u8], id: &str, now: Time, session: Option<&str>) -> Vec<u8> {
    let taken = |key: &str| member_at(parent, &[key]);
    let mut line = Object::begin(Format::Claude)
        .id("parentUuid", taken("uuid"))
        .raw("isSidechain", b"false")
        .text("type", "system")
        .text("subtype", "informational")
        .text("content", MARKER)
        .text("level", "info")
        .raw("isMeta", b"false")
        .text("uuid", id)
        .text("timestamp", &now.iso())
        .text("userType", "external");
    if let Some(cwd) = taken("cwd") {
        line = line.raw("cwd", cwd);
    }
    if let Some(session) = session {
        line = line.text("sessionId", session);
    }
    for key in ["version", "gitBranch"] {
        if let Some(value) = taken(key) {
            line = line.raw(key, value);
        }
    }
    line.line()
}

/// Returns a label: a line of bough's own type, without a `uuid`, which Claude Code skips. Both ids
/// are JSON, or text.
pub fn label(target: &[u8], label: &str, session: Option<&str>, now: Time) -> Vec<u8> {
    let mut line = Object::begin(Format::Claude)
        .text("type", "bough-label")
        .raw("targetUuid", target)
        .text("label", label);
    if let Some(session) = session {
        line = line.text("sessionId", session);
    }
    line.text("timestamp", &now.iso()).line()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_clients_are_told_by_their_version() {
        for (version, old) in [
            (None, true),
            (Some("1.0.128"), true),
            (Some("2.0.76"), true),
            (Some("2.1.121"), true),
            (Some("2.1.122"), false),
            (Some("2.1.332"), false),
            (Some("2.2.0-beta"), false),
            (Some("3.0"), false),
            (Some("next"), true),
        ] {
            assert_eq!(ignores_pointers(version), old, "{version:?}");
        }
    }

    #[test]
    fn lines_have_the_form_of_the_client() {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert_eq!(
            text(pin(Some("go"), Some(b"\"x\""), Some("s"))),
            "{\"type\":\"last-prompt\",\"lastPrompt\":\"go\",\"leafUuid\":\"x\",\"explicit\":true,\"sessionId\":\"s\"}\n"
        );
        assert_eq!(
            text(pin(None, None, Some("s"))),
            "{\"type\":\"last-prompt\",\"leafUuid\":null,\"explicit\":true,\"sessionId\":\"s\"}\n"
        );
        let parent = br#"{"uuid":"x","cwd":"/w","version":"2.0.76","gitBranch":"main","message":{}}"#;
        assert_eq!(
            text(child(parent, "y", Time(0), Some("s"))),
            concat!(
                r#"{"parentUuid":"x","isSidechain":false,"type":"system","subtype":"informational","#,
                r#""content":"Switched by bough","level":"info","isMeta":false,"uuid":"y","#,
                r#""timestamp":"1970-01-01T00:00:00.000Z","userType":"external","cwd":"/w","#,
                r#""sessionId":"s","version":"2.0.76","gitBranch":"main"}"#,
                "\n"
            )
        );
        assert_eq!(
            text(label(b"\"x\"", "here", Some("s"), Time(0))),
            concat!(
                r#"{"type":"bough-label","targetUuid":"x","label":"here","sessionId":"s","#,
                r#""timestamp":"1970-01-01T00:00:00.000Z"}"#,
                "\n"
            )
        );
    }
}
