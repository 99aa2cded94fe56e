//! What one line says about the agent that wrote it.

use super::path::is_hex;
use super::{WRITERS, Writer, version};
use crate::format::Format;
use crate::json::{Field, Line, Str, Value, member, member_at};

/// What one line reveals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Vote {
    /// Its writer.
    For(Writer),
    /// A header of pi, or of a program that adopted it.
    Header(Format),
    /// The header of version 4 of pi's harness.
    HeaderV4,
    /// An entry of pi's version 1, without an id and a parent.
    Flat,
    /// An entry of one of pi's types, with `uuid` and `parentUuid` and no session: it belongs to
    /// pi's design document if there is a header.
    Uuids,
    /// Nothing.
    None,
}

pub(super) const WRITER: [Writer; WRITERS] = [
    Writer::Pi,
    Writer::HarnessV4,
    Writer::Chimera,
    Writer::Claude,
    Writer::Tau,
    Writer::Kit,
    Writer::Qwen,
    Writer::Codex,
    Writer::Gemini,
    Writer::Copilot,
];

/// The types of Codex's lines.
const CODEX: [&str; 8] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "world_state",
    "token_usage_record",
    "inter_agent_communication",
];

/// The types of Gemini's messages.
const GEMINI: [&str; 5] = ["user", "gemini", "info", "warning", "error"];

/// Returns the vote of one object for the program that wrote it.
pub(super) fn vote(line: &Line<'_>) -> Vote {
    let fields = &line.fields;
    let has = |field| !matches!(fields.get(field), Value::Absent);
    let ty = fields.str(Field::Type);
    let is = |wanted: &str| ty.is_some_and(|ty| ty.equals(wanted));
    let top = |key: &str| line.bytes.and_then(|bytes| member_at(bytes, &[key]));
    if is("session") && !has(Field::ParentSnake) {
        return Vote::Header(version(fields.get(Field::Version)));
    }
    if let Some(kind) = fields.str(Field::Kind)
        && (ty.is_none() || kind.equals("entry"))
    {
        let four = |field| matches!(fields.get(field), Value::Number(b"4"));
        if kind.equals("header") && (four(Field::Version) || four(Field::V)) {
            return Vote::HeaderV4;
        }
        if ["entry", "record", "lane", "fact", "value", "usage"].iter().any(|word| kind.equals(word)) {
            return Vote::For(Writer::HarnessV4);
        }
    }
    let is_set = fields.get(Field::Set) == Value::Object || fields.str(Field::RewindTo).is_some();
    if ty.is_none() && (is_set || has(Field::SessionId) && top("projectHash").is_some()) {
        return Vote::For(Writer::Gemini);
    }
    // All lines below have a type.
    let Some(ty) = ty else { return Vote::None };
    if fields.get(Field::Payload) == Value::Object {
        if ty.raw.contains(&b'.') && top("data").is_some() {
            return Vote::For(Writer::Copilot);
        }
        if CODEX.iter().any(|known| ty.equals(known)) && top("payload").is_some() {
            return Vote::For(Writer::Codex);
        }
    }
    // Their messages have no links, and no object of their own.
    let is_plain = [Field::ParentId, Field::ParentUuid, Field::ParentSnake, Field::Uuid, Field::Message];
    if GEMINI.iter().any(|known| ty.equals(known))
        && fields.str(Field::Id).is_some()
        && !is_plain.into_iter().any(has)
        && top("content").is_some()
    {
        return Vote::For(Writer::Gemini);
    }
    // Lines of the design document that pi migrated have both types of links.
    let is_migrated = has(Field::ParentId) && !has(Field::SessionId);
    let has_links = has(Field::ParentUuid) || has(Field::LeafUuid) || has(Field::SnapshotId);
    if has(Field::SessionId) || has_links && !is_migrated {
        return of_claude(line, ty);
    }
    if has(Field::ParentId) {
        // Lines of Kit, copied by something that writes the parent in both spellings.
        return match has(Field::ParentSnake) {
            true => of_snake(line, ty),
            false => Vote::For(Writer::Pi),
        };
    }
    if has(Field::ParentSnake) || fields.str(Field::Id).is_some() || is("header") && has(Field::Cwd) {
        return of_snake(line, ty);
    }
    match is_known(Some(ty)) {
        true => Vote::Flat,
        false => Vote::None,
    }
}

/// Returns the vote of a line with the links of Claude Code: Qwen Code has them, too.
fn of_claude(line: &Line<'_>, ty: Str<'_>) -> Vote {
    let fields = &line.fields;
    let has = |field| !matches!(fields.get(field), Value::Absent);
    let says = |path: &[&str]| line.bytes.is_some_and(|bytes| member_at(bytes, path).is_some());
    match fields.get(Field::Message) {
        Value::Object if !has(Field::Content) => match says(&["message", "parts"]) {
            true => Vote::For(Writer::Qwen),
            // Every message of Claude Code has `content`.
            false => Vote::None,
        },
        _ if ty.equals("tool_result") || says(&["systemPayload"]) => Vote::For(Writer::Qwen),
        _ if has(Field::ParentUuid) && !has(Field::SessionId) && is_known(Some(ty)) => Vote::Uuids,
        _ => Vote::For(Writer::Claude),
    }
}

/// Returns the vote of a line with `parent_id`, or with an id and no parent: Chimera, Tau and Kit
/// have them.
fn of_snake(line: &Line<'_>, ty: Str<'_>) -> Vote {
    let fields = &line.fields;
    let has = |field| !matches!(fields.get(field), Value::Absent);
    let says = |path: &[&str]| line.bytes.is_some_and(|bytes| member_at(bytes, path).is_some());
    let any = |words: &[&str]| words.iter().any(|word| ty.equals(word));
    let has_parent = has(Field::ParentSnake);
    // Kit writes times as strings, and a message without an object of its own.
    let words = matches!(fields.get(Field::Timestamp), Value::String(_));
    if !has(Field::Message) && words {
        let of_kit = match ty.equals("message") {
            true => says(&["parts"]),
            false => {
                any(&["system_prompt", "extension_data", "incomplete_output"])
                    || has_parent
                        && any(&["model_change", "branch_summary", "label", "session_info", "compaction"])
            }
        };
        if of_kit {
            return Vote::For(Writer::Kit);
        }
    }
    // Tau writes ids of 32 hexadecimal digits, Chimera of 12; the messages of Tau are those of pi.
    let seconds = matches!(fields.get(Field::Timestamp), Value::Number(_));
    let is_long = fields.str(Field::Id).is_some_and(|id| id.raw.len() == 32 && id.raw.iter().all(is_hex));
    let of_tau = match () {
        () if ty.equals("leaf") => says(&["entry_id"]),
        () if ty.equals("session_info") => says(&["created_at"]),
        () if any(&["thinking_level_change", "custom_message", "branch_summary"]) => true,
        () if ty.equals("message") => {
            is_long || matches!(fields.get(Field::Content), Value::List) && !has(Field::ToolCalls)
        }
        () if ty.equals("custom") => is_long || says(&["namespace"]),
        () => is_long,
    };
    if of_tau && seconds && (has_parent || is_long) {
        return Vote::For(Writer::Tau);
    }
    let of_chimera = match ty.equals("message") {
        // Every message of Chimera has `content`.
        true => matches!(fields.get(Field::Message), Value::Object) && has(Field::Content),
        false => !matches!(fields.get(Field::Message), Value::Object),
    };
    let is_linked = has_parent && fields.str(Field::Id).is_some();
    match of_chimera && (is_linked || ty.equals("header") && has(Field::Cwd)) {
        true => Vote::For(Writer::Chimera),
        false => Vote::None,
    }
}

/// Returns whether a type is one of pi's.
pub(super) fn is_known(ty: Option<Str<'_>>) -> bool {
    const TYPES: [&str; 24] = [
        "message",
        "thinking_level_change",
        "model_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
        "usage",
        "context_edit",
        "leaf",
        "active_tools_change",
        "stack_summary",
        "stack_pop",
        "service_tier_change",
        "mode_change",
        "ttsr_injection",
        "session_init",
        "title_change",
        "credential_pin",
        "model_usage",
        "reset_boundary",
        "mcp_tool_selection",
    ];
    ty.is_some_and(|ty| TYPES.iter().any(|known| ty.equals(known)))
}

/// Returns whether a type is one of Chimera's.
pub(super) fn is_chimeras(ty: Option<Str<'_>>) -> bool {
    const TYPES: [&str; 6] = ["header", "message", "compaction", "label", "state_change", "custom"];
    ty.is_some_and(|ty| TYPES.iter().any(|known| ty.equals(known)))
}

/// Returns whether a message names OpenClaw as the provider that made it.
pub(super) fn is_openclaws(line: &Line<'_>) -> bool {
    line.fields.str(Field::Role).is_some_and(|role| role.equals("assistant"))
        && line.bytes.and_then(|bytes| member(member(bytes, "message")?, "provider")) == Some(b"\"openclaw\"")
}
