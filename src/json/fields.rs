//! The fields that the reader extracts from a line, and their values.

use super::field_names::Field;
use super::keys::Keys;
use super::string;
use super::value::{Str, Value};

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
