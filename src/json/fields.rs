use super::text;
use crate::model::Key;
use std::borrow::Cow;

/// The fields that the reader hands out, wherever they stand in a line.
///
/// A field that is repeated in its object counts as it stands last.
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
    /// `label`
    Label,
    /// `firstKeptEntryId`
    FirstKeptId,
    /// `first_kept_entry_id`
    FirstKeptSnake,
    /// `fromId`
    FromId,
    /// `cwd`
    Cwd,
    /// `message`, for its sort; what is in it are the fields below.
    Message,
    /// `message.role`
    Role,
    /// `message.id`
    MessageId,
    /// `message.stopReason`
    StopReason,
    /// `message.toolCallId`
    ToolCallId,
    /// `message.call_id`
    CallId,
    /// `message.content`: a string as it is; of a list see [`Fields::blocks`].
    Content,
    /// `toolUseResult.agentId`
    ResultAgent,
}

impl Field {
    /// How many fields there are.
    pub const COUNT: usize = Field::ResultAgent as usize + 1;

    /// The field of a key at the top of a line.
    pub(super) fn at_top(key: &[u8]) -> Option<Field> {
        Some(match key {
            b"type" => Field::Type,
            b"id" => Field::Id,
            b"uuid" => Field::Uuid,
            b"parentId" => Field::ParentId,
            b"parentUuid" => Field::ParentUuid,
            b"parent_id" => Field::ParentSnake,
            b"timestamp" => Field::Timestamp,
            b"sessionId" => Field::SessionId,
            b"isSidechain" => Field::IsSidechain,
            b"agentId" => Field::AgentId,
            b"subtype" => Field::Subtype,
            b"isMeta" => Field::IsMeta,
            b"isCompactSummary" => Field::IsCompactSummary,
            b"leafUuid" => Field::LeafUuid,
            b"explicit" => Field::Explicit,
            b"messageId" => Field::SnapshotId,
            b"logicalParentUuid" => Field::LogicalParent,
            b"sourceToolAssistantUUID" => Field::SourceAssistant,
            b"version" => Field::Version,
            b"v" => Field::V,
            b"kind" => Field::Kind,
            b"customType" => Field::CustomType,
            b"targetId" => Field::TargetId,
            b"target_id" => Field::TargetSnake,
            b"targetUuid" => Field::TargetUuid,
            b"label" => Field::Label,
            b"firstKeptEntryId" => Field::FirstKeptId,
            b"first_kept_entry_id" => Field::FirstKeptSnake,
            b"fromId" => Field::FromId,
            b"cwd" => Field::Cwd,
            b"message" => Field::Message,
            _ => return None,
        })
    }

    /// The field of a key inside `message`.
    pub(super) fn in_message(key: &[u8]) -> Option<Field> {
        Some(match key {
            b"role" => Field::Role,
            b"id" => Field::MessageId,
            b"stopReason" => Field::StopReason,
            b"toolCallId" => Field::ToolCallId,
            b"call_id" => Field::CallId,
            b"content" => Field::Content,
            _ => return None,
        })
    }
}

/// A string as it stands between its quotes, escapes unresolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Str<'l> {
    /// The bytes between the quotes.
    pub raw: &'l [u8],
}

impl<'l> Str<'l> {
    /// The string, escapes resolved; a lone surrogate, and what is no UTF-8, as U+FFFD.
    pub fn text(self) -> Cow<'l, str> {
        text::decode(self.raw)
    }

    /// The key of the string as an id. Costs a copy only where there are escapes.
    pub fn key(self) -> Key {
        if memchr::memchr(b'\\', self.raw).is_none() {
            return Key::of(self.raw);
        }
        Key::of(self.text().as_bytes())
    }

    /// The first eight bytes of the string, where it has more.
    pub fn start(self) -> Option<[u8; 8]> {
        if memchr::memchr(b'\\', self.raw).is_some() {
            let text = self.text();
            return text.as_bytes().get(..8)?.try_into().ok().filter(|_| text.len() > 8);
        }
        self.raw.get(..8)?.try_into().ok().filter(|_| self.raw.len() > 8)
    }

    /// Whether the string is `wanted`.
    pub fn is(self, wanted: &str) -> bool {
        self.raw == wanted.as_bytes() || (self.raw.len() > wanted.len() && self.text() == wanted)
    }

    /// Whether nothing but white space is in the string.
    pub fn is_blank(self) -> bool {
        let mut rest = self.raw;
        loop {
            rest = match rest {
                [] => return true,
                [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] => rest,
                [b'\\', b'n' | b't' | b'r' | b'f', rest @ ..] => rest,
                [b'\\', b'u', ..] | [0x80..=0xFF, ..] => return self.text().trim().is_empty(),
                _ => return false,
            }
        }
    }
}

/// What stands at a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Value<'l> {
    /// The line has no such field.
    #[default]
    Absent,
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it is spelled.
    Number(&'l [u8]),
    /// A string.
    String(Str<'l>),
    /// A list.
    List,
    /// An object.
    Object,
}

/// A block of a message's content, or of Chimera's `tool_calls`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block<'l> {
    /// What it is.
    pub kind: BlockKind,
    /// Of a call its `id`, of a result its `tool_use_id`.
    pub id: Option<Str<'l>>,
    /// Of a call the name of the tool.
    pub name: Option<Str<'l>>,
    /// Whether its `text` holds more than white space.
    pub says: bool,
    /// Whether it has a `text` of no characters at all.
    pub empty: bool,
}

/// The kinds of [`Block`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockKind {
    /// `text`
    Text,
    /// `thinking`, `redacted_thinking`, `redactedThinking`
    Thinking,
    /// `toolCall`, `tool_use`; an item of `tool_calls`
    Call,
    /// `tool_result`
    Result,
    /// `image`
    Image,
    /// Anything else.
    Other,
}

impl BlockKind {
    /// The kind that a block's `type` names.
    pub(super) fn of(ty: &[u8]) -> BlockKind {
        match ty {
            b"text" => BlockKind::Text,
            b"thinking" | b"redacted_thinking" | b"redactedThinking" => BlockKind::Thinking,
            b"toolCall" | b"tool_use" => BlockKind::Call,
            b"tool_result" => BlockKind::Result,
            b"image" => BlockKind::Image,
            _ => BlockKind::Other,
        }
    }
}

/// The wanted fields of one line.
#[derive(Clone, Copy)]
pub struct Fields<'l> {
    pub(super) bytes: &'l [u8],
    pub(super) slots: &'l [Slot; Field::COUNT],
    pub(super) blocks: &'l [RawBlock],
}

/// Where a value stands in the bytes at hand.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Slot {
    pub(super) sort: Sort,
    pub(super) from: u32,
    pub(super) to: u32,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Sort {
    #[default]
    Absent,
    Null,
    False,
    True,
    Number,
    String,
    List,
    Object,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RawBlock {
    pub(super) kind: BlockKind,
    pub(super) id: Slot,
    pub(super) name: Slot,
    pub(super) says: bool,
    pub(super) empty: bool,
}

impl<'l> Fields<'l> {
    /// What stands at a field.
    pub fn get(&self, field: Field) -> Value<'l> {
        self.at(self.slots[field as usize])
    }

    /// The string at a field; `None` for anything else.
    pub fn str(&self, field: Field) -> Option<Str<'l>> {
        match self.get(field) {
            Value::String(string) => Some(string),
            _ => None,
        }
    }

    /// Whether `true` stands at a field.
    pub fn is_true(&self, field: Field) -> bool {
        self.get(field) == Value::Bool(true)
    }

    /// The blocks of the message's content, in order, then those of `tool_calls`.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = Block<'l>> + '_ {
        self.blocks.iter().map(|block| Block {
            kind: block.kind,
            id: self.string(block.id),
            name: self.string(block.name),
            says: block.says,
            empty: block.empty,
        })
    }

    fn string(&self, slot: Slot) -> Option<Str<'l>> {
        match self.at(slot) {
            Value::String(string) => Some(string),
            _ => None,
        }
    }

    fn at(&self, slot: Slot) -> Value<'l> {
        let raw = || &self.bytes[slot.from as usize..slot.to as usize];
        match slot.sort {
            Sort::Absent => Value::Absent,
            Sort::Null => Value::Null,
            Sort::False => Value::Bool(false),
            Sort::True => Value::Bool(true),
            Sort::Number => Value::Number(raw()),
            Sort::String => Value::String(Str { raw: raw() }),
            Sort::List => Value::List,
            Sort::Object => Value::Object,
        }
    }
}
