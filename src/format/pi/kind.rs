//! The kind of an entry of the pi family, by its type and role.

use super::string;
use crate::format::LabelLine;
use crate::format::session::{Gathered, Pointer};
use crate::json::{BlockKind, Field, Line, Str, Value};
use crate::model::{Flags, Key, Kind};

/// Returns the kind of an entry, by its type and role.
pub(super) fn kind(line: &Line<'_>, ty: Option<Str<'_>>, gathered: &mut Gathered) -> (Kind, Flags) {
    let fields = &line.fields;
    let mut flags = Flags::default();
    let setting = |flags: &mut Flags| {
        flags.set(Flags::BOOKKEEPING, true);
        Kind::Setting
    };
    let kind = match ty.map_or(&b""[..], |ty| ty.raw) {
        b"message" => return message(line, gathered),
        b"thinking_level_change" => setting(&mut flags),
        b"model_change" => {
            gathered.marks.omp |= !matches!(fields.get(Field::Model), Value::Absent);
            setting(&mut flags)
        }
        b"session_info" => {
            gathered.marks.pi = true;
            let name = string(line, "name").unwrap_or_default();
            let name = name.split(['\r', '\n']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
            gathered.name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
            gathered.renamed = true;
            setting(&mut flags)
        }
        b"usage" => {
            gathered.marks.pi = true;
            gathered.marks.no_harness = true;
            flags.set(Flags::HIDDEN, true);
            setting(&mut flags)
        }
        b"context_edit" => {
            gathered.marks.pi = true;
            gathered.marks.no_harness = true;
            setting(&mut flags)
        }
        b"service_tier_change"
        | b"mode_change"
        | b"ttsr_injection"
        | b"session_init"
        | b"title_change"
        | b"credential_pin"
        | b"model_usage"
        | b"reset_boundary"
        | b"mcp_tool_selection" => {
            gathered.marks.omp = true;
            setting(&mut flags)
        }
        b"active_tools_change" => {
            gathered.marks.harness = true;
            setting(&mut flags)
        }
        b"agent_status" | b"git_state" | b"session_state" | b"child_usage_attributed" => {
            gathered.marks.prime |= line.number > 1;
            setting(&mut flags)
        }
        b"reset" if !matches!(fields.get(Field::ParentId), Value::Absent) => {
            gathered.marks.openclaw |= line.number > 1;
            setting(&mut flags)
        }
        b"leaf" => {
            let says = |key| line.bytes.is_some_and(|bytes| crate::json::member_at(bytes, &[key]).is_some());
            gathered.marks.harness |= !matches!(fields.get(Field::TargetId), Value::Absent);
            gathered.marks.openclaw |= line.number > 1 && says("appendParentId");
            gathered.openclaw.leaf(line, gathered.entries);
            gathered.pointers.push(Pointer {
                line: line.number,
                before: gathered.entries,
                target: fields.str(Field::TargetId).map(Str::key),
                explicit: None,
            });
            setting(&mut flags)
        }
        b"label" => {
            gathered.labels.push(LabelLine {
                entry: Some(crate::model::Ix(gathered.entries)),
                line: line.number,
                target: fields.str(Field::TargetId).map_or(Key::NONE, Str::key),
                text: &fields.str(Field::Label).map(Str::text).unwrap_or_default(),
            });
            flags.set(Flags::BOOKKEEPING, true);
            Kind::Label
        }
        b"compaction" => Kind::Compaction,
        b"branch_summary" => Kind::Summary,
        b"custom" => {
            flags.set(Flags::BOOKKEEPING, true);
            flags.set(
                Flags::MARKER,
                fields.str(Field::CustomType).is_some_and(|ty| ty.equals("bough.switch")),
            );
            gathered.marks.openclaw |= line.number > 1 && is_openclaws_type(fields.get(Field::CustomType));
            Kind::Custom
        }
        b"custom_message" => {
            // oh-my-pi considers a turn as begun by the user if it is a skill that the user
            // invoked, or a prompt of a collaborator; everything else was added by the program.
            let ty = fields.str(Field::CustomType);
            let begins = ty.is_some_and(|ty| ty.equals("skill-prompt") || ty.equals("collab-prompt"));
            let by = line
                .bytes
                .filter(|_| begins)
                .and_then(|bytes| crate::json::member_at(bytes, &["attribution"]));
            flags.set(Flags::META, by != Some(b"\"user\""));
            Kind::Custom
        }
        _ => Kind::Other,
    };
    (kind, flags)
}

/// Returns whether a `customType` is one of OpenClaw's own, e.g. `openclaw.cache-ttl` or
/// `openclaw:prompt-error`.
fn is_openclaws_type(ty: Value<'_>) -> bool {
    matches!(ty, Value::String(ty) if ty.raw.starts_with(b"openclaw.") || ty.raw.starts_with(b"openclaw:"))
}

pub(super) fn message(line: &Line<'_>, gathered: &mut Gathered) -> (Kind, Flags) {
    let fields = &line.fields;
    let mut flags = Flags::default();
    let mut result = false;
    if let Some(text) = fields.str(Field::Content) {
        flags.set(Flags::TEXT, !text.is_blank());
    }
    for block in fields.blocks() {
        flags.set(Flags::TEXT, block.kind == BlockKind::Text && block.says);
        flags.set(Flags::CALL, block.kind == BlockKind::Call);
        flags.set(Flags::IMAGE, block.kind == BlockKind::Image);
    }
    let kind = match fields.str(Field::Role).map_or(&b""[..], |role| role.raw) {
        b"user" => Kind::User,
        b"assistant" => {
            let ended = fields.str(Field::StopReason);
            flags.set(
                Flags::ENDED_BADLY,
                ended.is_some_and(|reason| !reason.equals("stop") && !reason.equals("toolUse")),
            );
            Kind::Assistant
        }
        b"toolResult" => {
            result = true;
            Kind::Tool
        }
        b"bashExecution" | b"pythonExecution" => Kind::Tool,
        b"system" => {
            gathered.marks.pi = true;
            gathered.marks.no_harness = true;
            Kind::System
        }
        b"developer" => Kind::System,
        b"custom" | b"hookMessage" => Kind::Custom,
        b"fileMention" => Kind::Attachment,
        _ => Kind::Other,
    };
    flags.set(Flags::RESULT, result);
    (kind, flags)
}
