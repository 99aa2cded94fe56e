//! The fields that the reader extracts from a line, and their values.

use super::keys::Keys;
use super::string;
use crate::model::Key;
use std::borrow::Cow;

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
    /// `message.usage`: an object, see [`Fields::object`].
    Usage,
    /// `message.toolCallId`
    ToolCallId,
    /// `message.call_id`
    CallId,
    /// `message.content`: the value if it is a string; for a list see [`Fields::blocks`].
    Content,
    /// `message.tool_calls`, only its type; its items are among [`Fields::blocks`].
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

/// A string as written between its quotes, with escapes unresolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Str<'l> {
    /// The bytes between the quotes.
    pub raw: &'l [u8],
}

impl<'l> Str<'l> {
    /// Returns the string with escapes resolved; a lone surrogate and bytes that are not UTF-8
    /// become U+FFFD.
    pub fn text(self) -> Cow<'l, str> {
        string::decode(self.raw)
    }

    /// Returns the bytes of the string with escapes resolved. Copies only if there are escapes.
    #[inline]
    pub fn resolved(self) -> Cow<'l, [u8]> {
        if !string::is_escaped(self.raw) {
            return Cow::Borrowed(self.raw);
        }
        Cow::Owned(self.text().into_owned().into_bytes())
    }

    /// Returns the string as the [`Key`] of an id. Copies only if there are escapes.
    #[inline]
    pub fn key(self) -> Key {
        self.eight().unwrap_or_else(|| self.other_key())
    }

    /// Returns the key of an id of eight bytes, which is the length of most ids of pi.
    #[inline(always)]
    fn eight(self) -> Option<Key> {
        let eight = <[u8; 8]>::try_from(self.raw).ok()?;
        (!string::holds(u64::from_le_bytes(eight), b'\\')).then(|| Key::hash(&eight))
    }

    #[inline(never)]
    fn other_key(self) -> Key {
        match string::is_escaped(self.raw) {
            true => Key::hash(&self.resolved()),
            false => Key::hash(self.raw),
        }
    }

    /// Returns the string as the key of an id, and its first eight bytes if it is longer than that.
    #[inline]
    pub fn key_and_start(self) -> (Key, Option<[u8; 8]>) {
        if let Some(key) = self.eight() {
            return (key, None);
        }
        let of = |id: &[u8]| (Key::hash(id), id.first_chunk().filter(|_| id.len() > 8).copied());
        match string::is_escaped(self.raw) {
            true => of(&self.resolved()),
            false => of(self.raw),
        }
    }

    /// Returns whether the string is `wanted`.
    #[inline]
    pub fn equals(self, wanted: &str) -> bool {
        let wanted_bytes = wanted.as_bytes();
        // Escapes make the spelling longer, and each begins with a backslash.
        let may_be_spelled = self.raw.len() > wanted.len()
            && (self.raw.first() == wanted_bytes.first() || self.raw.first() == Some(&b'\\'));
        self.raw == wanted_bytes || may_be_spelled && self.is_spelled(wanted)
    }

    /// Returns whether the string is `wanted`, spelled with escapes.
    fn is_spelled(self, wanted: &str) -> bool {
        string::is_escaped(self.raw) && self.text() == wanted
    }

    /// Returns whether the string contains only white space. Stops at the first character that is
    /// not.
    #[inline]
    pub fn is_blank(self) -> bool {
        match self.raw {
            [b'!'..=b'[' | b']'..=b'~', ..] => false,
            _ => self.is_all_blank(),
        }
    }

    fn is_all_blank(self) -> bool {
        let mut rest = self.raw;
        loop {
            rest = match rest {
                [] => return true,
                [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] => rest,
                [b'\\', b'n' | b't' | b'r' | b'f', rest @ ..] => rest,
                [b'\\', b'u', ..] => match string::unit(rest).and_then(|unit| char::from_u32(unit.into())) {
                    Some(character) if character.is_whitespace() => &rest[6..],
                    _ => return false,
                },
                [0x80..=0xFF, ..] => {
                    let first = rest[..rest.len().min(4)].utf8_chunks().next().expect("there are bytes");
                    match first.valid().chars().next() {
                        Some(character) if character.is_whitespace() => &rest[character.len_utf8()..],
                        _ => return false,
                    }
                }
                _ => return false,
            }
        }
    }
}

/// The value of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Value<'l> {
    /// The line has no such field.
    #[default]
    Absent,
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as spelled in the line.
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
    /// The kind of the block.
    pub kind: BlockKind,
    /// The `id` of a call, or the `tool_use_id` of a result.
    pub id: Option<Str<'l>>,
    /// The name of the tool, for a call.
    pub name: Option<Str<'l>>,
    /// Whether its `text` contains more than white space.
    pub says: bool,
    /// Whether its `text` is the empty string.
    pub empty: bool,
    /// The `content` of a result, if it is a string.
    pub content: Option<Str<'l>>,
    /// Whether its `content` is a list, or anything else that is not a string.
    pub nested: bool,
    /// Whether it has `arguments` that are not `null`.
    pub arguments: bool,
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
    /// Returns the kind that a block's `type` names.
    #[inline]
    fn from_str(ty: Str<'_>) -> BlockKind {
        match BlockKind::from_name(ty.raw) {
            BlockKind::Other if string::is_escaped(ty.raw) => BlockKind::from_name(&ty.resolved()),
            kind => kind,
        }
    }

    #[inline]
    fn from_name(ty: &[u8]) -> BlockKind {
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

/// The extracted fields of one line.
#[derive(Clone, Copy)]
pub struct Fields<'l> {
    /// The bytes that the slots point into.
    pub(super) bytes: &'l [u8],
    pub(super) found: &'l Found,
}

impl<'l> Fields<'l> {
    /// Returns the value of a field.
    #[inline(always)]
    pub fn get(&self, field: Field) -> Value<'l> {
        let Some(slot) = self.found.slot(field) else { return Value::Absent };
        let raw = || &self.bytes[slot.stretch.from as usize..slot.stretch.to as usize];
        match slot.sort {
            ValueKind::Null => Value::Null,
            ValueKind::False => Value::Bool(false),
            ValueKind::True => Value::Bool(true),
            ValueKind::Number => Value::Number(raw()),
            ValueKind::String => Value::String(Str { raw: raw() }),
            ValueKind::List => Value::List,
            ValueKind::Object => Value::Object,
        }
    }

    /// Returns the string value of a field, or `None` if it is anything else.
    #[inline(always)]
    pub fn str(&self, field: Field) -> Option<Str<'l>> {
        let slot = self.found.slot(field).filter(|slot| slot.sort == ValueKind::String);
        self.string(slot.map(|slot| slot.stretch))
    }

    /// Returns whether the line has a field, whatever its value is.
    #[inline(always)]
    pub fn has(&self, field: Field) -> bool {
        self.found.present >> field as u32 & 1 == 1
    }

    /// Returns whether a field is `true`.
    #[inline(always)]
    pub fn is_true(&self, field: Field) -> bool {
        self.found.slot(field).is_some_and(|slot| slot.sort == ValueKind::True)
    }

    /// Returns the blocks of the message's content in order, followed by those of `tool_calls`.
    #[inline]
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = Block<'l>> + '_ {
        self.found.blocks.iter().map(|block| self.block(block))
    }

    /// Passes on the blocks that are calls or results, in the order of [`Fields::blocks`]. Returns
    /// whether a text block has no text, not even an empty one.
    #[inline(always)]
    pub fn each_tool_block(&self, mut each: impl FnMut(&Block<'l>)) -> bool {
        let mut is_mute = false;
        for block in &self.found.blocks {
            match block.kind {
                BlockKind::Call | BlockKind::Result => each(&self.block(block)),
                BlockKind::Text => is_mute |= !block.says && !block.empty,
                _ => {}
            }
        }
        is_mute
    }

    // A caller that wants only the kinds of the blocks does not pay for the rest.
    #[inline(always)]
    fn block(&self, block: &RawBlock) -> Block<'l> {
        let result = block.kind == BlockKind::Result;
        let ids = if result { [block.use_id, block.id] } else { [block.id, block.use_id] };
        Block {
            kind: block.kind,
            id: self.string(ids[0]).or_else(|| self.string(ids[1])),
            name: self.string(block.name),
            says: block.says,
            empty: block.empty,
            content: self.string(block.content),
            nested: block.nested,
            arguments: block.arguments,
        }
    }

    /// Returns whether an item of the message's content, or of `tool_calls`, is not an object.
    #[inline]
    pub fn has_odd_items(&self) -> bool {
        self.found.odd_items != [false; 2]
    }

    /// Returns the bytes of the object at a field, if the field is [`Field::Usage`] and the whole
    /// line is held in memory.
    #[inline]
    pub fn object(&self, field: Field) -> Option<&'l [u8]> {
        let slot = self.found.slot(field).filter(|slot| slot.sort == ValueKind::Object)?;
        let Stretch { from, to } = slot.stretch;
        (from < to).then(|| &self.bytes[from as usize..to as usize])
    }

    #[inline(always)]
    fn string(&self, at: Option<Stretch>) -> Option<Str<'l>> {
        at.map(|at| Str { raw: &self.bytes[at.from as usize..at.to as usize] })
    }
}

/// A range of the current bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Stretch {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// A value: its type and, for strings (between the quotes) and numbers, its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) sort: ValueKind,
    pub(super) stretch: Stretch,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum ValueKind {
    Null,
    False,
    True,
    Number,
    String,
    List,
    Object,
}

#[derive(Clone, Copy, Debug)]
struct RawBlock {
    /// Whether it is an item of `tool_calls`.
    call: bool,
    kind: BlockKind,
    says: bool,
    empty: bool,
    nested: bool,
    arguments: bool,
    id: Option<Stretch>,
    use_id: Option<Stretch>,
    name: Option<Stretch>,
    content: Option<Stretch>,
}

/// The wanted members of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InBlock {
    Type,
    Id,
    UseId,
    Name,
    Text,
    Content,
    Arguments,
}

/// The members of a block.
pub(super) static IN_BLOCK: Keys<InBlock> = Keys::new(&[
    ("type", InBlock::Type),
    ("id", InBlock::Id),
    ("tool_use_id", InBlock::UseId),
    ("name", InBlock::Name),
    ("text", InBlock::Text),
    ("content", InBlock::Content),
    ("arguments", InBlock::Arguments),
]);

/// The fields found in one line. The memory is reused for all lines.
pub(super) struct Found {
    /// A bit for each field that is present. The slots of absent fields contain values of earlier
    /// lines.
    present: u64,
    slots: [Slot; Field::COUNT],
    blocks: Vec<RawBlock>,
    /// Whether the content, and `tool_calls`, contain an item that is not an object.
    odd_items: [bool; 2],
}

const _: () = assert!(Field::COUNT <= 64, "a bit for each field");

impl Found {
    pub(super) fn new() -> Found {
        let slot = Slot { sort: ValueKind::Null, stretch: Stretch::default() };
        Found { present: 0, slots: [slot; Field::COUNT], blocks: Vec::new(), odd_items: [false; 2] }
    }

    /// Starts a line.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.present = 0;
        self.blocks.clear();
        self.odd_items = [false; 2];
    }

    /// Returns the slot of a field.
    #[inline(always)]
    fn slot(&self, field: Field) -> Option<Slot> {
        let is_there = self.present >> field as u32 & 1 == 1;
        is_there.then(|| self.slots[field as usize])
    }

    /// Stores the value of a field.
    #[inline]
    pub(super) fn note(&mut self, field: Field, slot: Slot) {
        self.present |= 1 << field as u32;
        self.slots[field as usize] = slot;
    }

    /// Forgets the value of a field and of the fields inside it, because its key was repeated: the
    /// last one counts, as a whole.
    #[inline(always)]
    pub(super) fn forget(&mut self, field: Field) {
        if self.present >> field as u32 & 1 == 1 {
            self.drop_found(field);
        }
    }

    #[cold]
    #[inline(never)]
    fn drop_found(&mut self, field: Field) {
        const fn bits(fields: &[Field]) -> u64 {
            let (mut bits, mut at) = (0, 0);
            while at < fields.len() {
                bits |= 1 << fields[at] as u32;
                at += 1;
            }
            bits
        }
        const OF_MESSAGE: u64 = bits(&[
            Field::Role,
            Field::MessageId,
            Field::StopReason,
            Field::Usage,
            Field::ToolCallId,
            Field::CallId,
            Field::Content,
            Field::ToolCalls,
        ]);
        self.present &= !(1 << field as u32);
        match field {
            Field::Message => {
                self.present &= !OF_MESSAGE;
                self.blocks.clear();
                self.odd_items = [false; 2];
            }
            Field::ToolUseResult => self.present &= !bits(&[Field::ResultAgent]),
            Field::Payload => {
                self.present &= !bits(&[Field::PayloadType, Field::PayloadRole, Field::PayloadCall]);
            }
            Field::Content | Field::ToolCalls => {
                let call = field == Field::ToolCalls;
                self.blocks.retain(|block| block.call != call);
                self.odd_items[usize::from(call)] = false;
            }
            _ => {}
        }
    }

    /// Returns the number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Starts a block of the content or of `tool_calls`.
    #[inline]
    pub(super) fn block(&mut self, call: bool) {
        let kind = if call { BlockKind::Call } else { BlockKind::Other };
        self.blocks.push(RawBlock {
            call,
            kind,
            says: false,
            empty: false,
            nested: false,
            arguments: false,
            id: None,
            use_id: None,
            name: None,
            content: None,
        });
    }

    /// Records that an item of the content, or of `tool_calls`, is not an object.
    #[inline]
    pub(super) fn odd_item(&mut self, call: bool) {
        self.odd_items[usize::from(call)] = true;
    }

    /// Records a member of the last block: `at` is the range of the string in `bytes`, or `None` if
    /// the member is not a string. `null` says whether it is `null`.
    #[inline]
    pub(super) fn in_block(&mut self, member: InBlock, bytes: &[u8], at: Option<Stretch>, null: bool) {
        let Some(block) = self.blocks.last_mut() else { return };
        let string = at.map(|at| Str { raw: &bytes[at.from as usize..at.to as usize] });
        match member {
            InBlock::Type if block.call => {}
            InBlock::Type => block.kind = string.map_or(BlockKind::Other, BlockKind::from_str),
            InBlock::Id => block.id = at,
            InBlock::UseId => block.use_id = at,
            InBlock::Name => block.name = at,
            InBlock::Arguments => block.arguments = !null,
            InBlock::Content => (block.content, block.nested) = (at, at.is_none()),
            InBlock::Text => {
                block.says = string.is_some_and(|text| !text.is_blank());
                block.empty = string.is_some_and(|text| text.raw.is_empty());
            }
        }
    }

    /// Ends a line: moves the blocks of the content before those of `tool_calls`.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.blocks.len() > 1 && !self.blocks.is_sorted_by_key(|block| block.call) {
            self.blocks.sort_by_key(|block| block.call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn blank_is_what_holds_no_more_than_white_space() {
        let check = |raw: &[u8], blank: bool| assert_eq!(Str { raw }.is_blank(), blank, "{raw:?}");
        check(b"",                           true);
        check(b" \t ",                       true);
        check(br"\n\r\t\f ",                 true);
        check(br"\b",                        false);
        check(br"\u0020\u00a0\u3000",        true);
        check(br"\u0020\u00e9",              false);
        check(br"\ud83d\ude00",              false);
        check("\u{3000}\u{a0} ".as_bytes(),  true);
        check("\u{3000}\u{e9}".as_bytes(),   false);
        check(b"\xC2",                       false);
        check(b" \xE3\x80",                  false);
        check(b" x",                         false);
    }
}
