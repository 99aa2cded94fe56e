//! The names of the fields that the reader extracts.

use super::keys::Keys;

/// The fields that the reader extracts, wherever they are in a line.
///
/// If a field is repeated in its object, the last one counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Field {
    /// `type`
    Type,
    /// `id`
    Id,
    /// `uuid`
    Uuid,
    /// `parentId`
    ParentId,
    /// `parentUuid`
    ParentUuid,
    /// `parent_id`
    ParentSnake,
    /// `timestamp`
    Timestamp,
    /// `sessionId`
    SessionId,
    /// `isSidechain`
    IsSidechain,
    /// `agentId`
    AgentId,
    /// `subtype`
    Subtype,
    /// `isMeta`
    IsMeta,
    /// `isCompactSummary`
    IsCompactSummary,
    /// `leafUuid`
    LeafUuid,
    /// `explicit`
    Explicit,
    /// `messageId`
    SnapshotId,
    /// `logicalParentUuid`
    LogicalParent,
    /// `sourceToolAssistantUUID`
    SourceAssistant,
    /// `retractedMessageUuids`, only its type.
    Retracted,
    /// `version`
    Version,
    /// `v`
    V,
    /// `kind`
    Kind,
    /// `customType`
    CustomType,
    /// `targetId`
    TargetId,
    /// `target_id`
    TargetSnake,
    /// `targetUuid`
    TargetUuid,
    /// `appendMode`
    AppendMode,
    /// `label`
    Label,
    /// `firstKeptEntryId`
    FirstKeptId,
    /// `firstKeptEntryUuid`
    FirstKeptUuid,
    /// `first_kept_entry_id`
    FirstKeptSnake,
    /// `fromId`
    FromId,
    /// `cwd`
    Cwd,
    /// `model`
    Model,
    /// `message`, only its type; its contents are the fields below.
    Message,
    /// `message.role`
    Role,
    /// `message.id`
    MessageId,
    /// `message.stopReason`
    StopReason,
    /// `message.usage`: an object, see [`super::fields::Fields::object`].
    Usage,
    /// `message.toolCallId`
    ToolCallId,
    /// `message.call_id`
    CallId,
    /// `message.content`: the value if it is a string; for a list see [`super::fields::Fields::blocks`].
    Content,
    /// `message.tool_calls`, only its type; its items are among [`super::fields::Fields::blocks`].
    ToolCalls,
    /// `toolUseResult`, only its type; its contents are the field below.
    ToolUseResult,
    /// `toolUseResult.agentId`
    ResultAgent,
    /// `payload` or `data`, only its type; its contents are the fields below.
    Payload,
    /// `payload.type`
    PayloadType,
    /// `payload.role`
    PayloadRole,
    /// `payload.call_id` or `data.toolCallId`
    PayloadCall,
    /// `$set`, only its type.
    Set,
    /// `$rewindTo`
    RewindTo,
}

impl Field {
    /// The number of fields.
    pub const COUNT: usize = Field::RewindTo as usize + 1;
}

/// The fields at the top of a line.
pub(super) static AT_TOP: Keys<Field> = Keys::new(&[
    ("type", Field::Type),
    ("id", Field::Id),
    ("uuid", Field::Uuid),
    ("parentId", Field::ParentId),
    ("parentUuid", Field::ParentUuid),
    ("parent_id", Field::ParentSnake),
    ("timestamp", Field::Timestamp),
    ("sessionId", Field::SessionId),
    ("isSidechain", Field::IsSidechain),
    ("agentId", Field::AgentId),
    ("subtype", Field::Subtype),
    ("isMeta", Field::IsMeta),
    ("isCompactSummary", Field::IsCompactSummary),
    ("leafUuid", Field::LeafUuid),
    ("explicit", Field::Explicit),
    ("messageId", Field::SnapshotId),
    ("logicalParentUuid", Field::LogicalParent),
    ("sourceToolAssistantUUID", Field::SourceAssistant),
    ("retractedMessageUuids", Field::Retracted),
    ("version", Field::Version),
    ("v", Field::V),
    ("kind", Field::Kind),
    ("customType", Field::CustomType),
    ("targetId", Field::TargetId),
    ("target_id", Field::TargetSnake),
    ("targetUuid", Field::TargetUuid),
    ("appendMode", Field::AppendMode),
    ("label", Field::Label),
    ("firstKeptEntryId", Field::FirstKeptId),
    ("firstKeptEntryUuid", Field::FirstKeptUuid),
    ("first_kept_entry_id", Field::FirstKeptSnake),
    ("fromId", Field::FromId),
    ("cwd", Field::Cwd),
    ("model", Field::Model),
    ("message", Field::Message),
    ("toolUseResult", Field::ToolUseResult),
    ("payload", Field::Payload),
    ("data", Field::Payload),
    ("$set", Field::Set),
    ("$rewindTo", Field::RewindTo),
]);

/// The fields inside `message`.
pub(super) static IN_MESSAGE: Keys<Field> = Keys::new(&[
    ("role", Field::Role),
    ("id", Field::MessageId),
    ("stopReason", Field::StopReason),
    ("usage", Field::Usage),
    ("toolCallId", Field::ToolCallId),
    ("call_id", Field::CallId),
    ("content", Field::Content),
    ("tool_calls", Field::ToolCalls),
]);

/// The fields inside `toolUseResult`.
pub(super) static IN_RESULT: Keys<Field> = Keys::new(&[("agentId", Field::ResultAgent)]);

/// The fields inside `payload` and `data`.
pub(super) static IN_PAYLOAD: Keys<Field> = Keys::new(&[
    ("type", Field::PayloadType),
    ("role", Field::PayloadRole),
    ("call_id", Field::PayloadCall),
    ("toolCallId", Field::PayloadCall),
]);
