//! Claude Code's transcripts.
//!
//! One JSON object a line. The format is internal to Claude Code and has no specification. The
//! facts here were measured: files were opened with the real program, and the requests that it sent
//! were examined (version 2.1.332, unless another is named).
//!
//! # Lines
//!
//! Lines of type `user`, `assistant`, `system` and `attachment` form the chain: each has a `uuid`,
//! and `parentUuid` names the one before. A line of type `progress` is only a link: its children
//! are attached to its parent. All five are entries here. One reply is written as several
//! `assistant` lines, one for each block, with the same `message.id`
//! ([`crate::model::Entries::group`]). A turn without a `uuid` is loaded, although nothing can be a
//! child of it, and so is an entry without an id. No other type is part of the tree, and a link
//! through a line of another type leads nowhere, even if it has a `uuid`:
//!
//! | type | contents |
//! | --- | --- |
//! | `last-prompt` | a pointer to the leaf (`leafUuid`, `explicit`): [`crate::format::Pointer`] |
//! | `custom-title`, `ai-title`, `summary` | the title; the last of each type counts |
//! | `bough-label` | a label: bough's own type, ignored by Claude Code |
//! | `file-history-snapshot`, `file-history-delta`, `queue-operation`, `mode`, and types of later versions | internal state, preserved |
//!
//! A line with a complete object followed by something else counts as that object; an object may
//! span several lines; Claude Code skips any other broken line.
//!
//! # HEAD
//!
//! The rules for what Claude Code loads are in [`graph`], those for HEAD in [`head`], and those for
//! what it sends in [`request`].

pub mod added_entries;
pub mod attachments;
pub mod compactions;
pub mod forgotten;
pub mod graph;
pub mod head;
mod main_path;
mod markup;
mod metadata;
mod models;
mod orphans;
mod preserved;
pub mod request;
pub mod stored_results;
pub mod write;

pub use markup::{Markup, is_typed, typed, typed_in};
pub use metadata::{Boundary, Facts, Quiet, is_prompt};
pub use preserved::KeptLists;

use super::session::{Gathered, Head, OtherKind, Pointer, Session};
use super::{Content, Dialect, LabelLine, LineVerdict, Link, ParentRef};
use crate::json::{BlockKind, Field, Line, Shape, Str, Value, text};
use crate::model::{Flags, Key, Kind, Time};

pub(super) struct Claude;

/// The text of a marker of `switch`: a `system` line of the subtype `informational`, which Claude
/// Code does not send.
pub const MARKER: &str = "Switched by bough";

impl Dialect for Claude {
    fn content<'l>(&self, line: &'l [u8]) -> Content<'l> {
        Content::of_claude(line, false)
    }

    fn outline<'l>(&self, line: &'l [u8]) -> Content<'l> {
        Content::of_claude(line, true)
    }

    fn repeats_ids(&self, kind: Kind) -> bool {
        // A boundary is written again to change what it keeps.
        kind == Kind::Compaction
    }

    fn classify<'l>(&self, line: &Line<'l>, gathered: &mut Gathered) -> LineVerdict<'l> {
        let fields = &line.fields;
        let (Shape::Object | Shape::Trailing { .. }, Some(ty)) = (line.shape, fields.str(Field::Type)) else {
            return LineVerdict::Unknown;
        };
        let main = gathered.file == 0;
        if main {
            Facts::line(gathered, line);
        }
        let subtype = |wanted: &str| fields.str(Field::Subtype).is_some_and(|subtype| subtype.equals(wanted));
        let mut flags = Flags::default();
        flags.set(Flags::SIDECHAIN, fields.is_true(Field::IsSidechain));
        flags.set(Flags::META, fields.is_true(Field::IsMeta));
        flags.set(Flags::COMPACT_SUMMARY, fields.is_true(Field::IsCompactSummary));
        let id = id(fields.get(Field::Uuid));
        let mut group = None;
        let name = ty.resolved();
        let kind = match &*name {
            b"user" | b"assistant" => {
                if id.is_none() && fields.get(Field::Message) != Value::Object {
                    return LineVerdict::Other(OtherKind::Note);
                }
                let kind = turn(line, ty.equals("user"), &mut flags, gathered);
                if kind == Kind::Assistant {
                    group = fields.str(Field::MessageId);
                }
                kind
            }
            b"system" if subtype("compact_boundary") => {
                if main {
                    Facts::compaction(gathered, line);
                }
                Kind::Compaction
            }
            b"system" => {
                if main && subtype("model_refusal_fallback") {
                    Facts::retracted(gathered, line);
                }
                flags.set(Flags::MARKER, subtype("informational") && is_marker(line));
                Kind::System
            }
            b"attachment" => {
                flags.set(Flags::TEXT, metadata::is_queued_prompt(line));
                Kind::Attachment
            }
            // A link that nothing can name is not a link.
            b"progress" if id.is_some() => {
                flags.set(Flags::PASSED, true);
                Kind::Progress
            }
            b"last-prompt" => {
                if main {
                    gathered.pointers.extend(pointer(line, gathered.entries));
                    Facts::note(gathered, &name, line);
                }
                return LineVerdict::Other(OtherKind::Pointer);
            }
            b"bough-label" => {
                gathered.labels.push(LabelLine {
                    entry: None,
                    line: line.number,
                    target: fields.str(Field::TargetUuid).map_or(Key::NONE, Str::key),
                    text: &fields.str(Field::Label).map(Str::text).unwrap_or_default(),
                });
                return LineVerdict::Other(OtherKind::Label);
            }
            other => {
                if main {
                    Facts::note(gathered, other, line);
                }
                return LineVerdict::Other(OtherKind::Note);
            }
        };
        let parent = match self::id(fields.get(Field::ParentUuid)) {
            Some(parent) => ParentRef::Id(parent),
            None => ParentRef::None,
        };
        let time = match fields.get(Field::Timestamp) {
            Value::String(text) => gathered.clock.read(text.raw),
            _ => Time::NONE,
        };
        LineVerdict::Entry(Link {
            id,
            parent,
            time,
            ty: Some(ty),
            flags,
            session: fields.str(Field::SessionId),
            group,
            ..Link::new(kind)
        })
    }

    fn name(&self, gathered: &mut Gathered) -> Option<String> {
        gathered.claude.name()
    }

    fn head(&self, session: &Session) -> Head {
        head::head(session)
    }
}

/// Returns an id as Claude Code compares ids: any string that is not empty, and numbers, too.
fn id<'l>(value: Value<'l>) -> Option<Str<'l>> {
    match value {
        Value::String(id) if !id.raw.is_empty() => Some(id),
        Value::Number(raw) if raw != b"0" => Some(Str { raw }),
        _ => None,
    }
}

/// Returns the pointer of a `last-prompt` line. One without a `leafUuid`, or with one that is
/// neither an id nor null, has no meaning.
fn pointer(line: &Line<'_>, before: u32) -> Option<Pointer> {
    let target = match line.fields.get(Field::LeafUuid) {
        Value::String(leaf) if !leaf.raw.is_empty() => Some(leaf.key()),
        Value::Null => None,
        _ => return None,
    };
    let explicit = match line.fields.get(Field::Explicit) {
        Value::Bool(explicit) => Some(explicit),
        _ => None,
    };
    Some(Pointer { line: line.number, before, target, explicit })
}

fn is_marker(line: &Line<'_>) -> bool {
    line.bytes.is_some_and(|bytes| text(bytes, "content").starts_with(MARKER))
}

/// Notes the facts about a prompt, reply or result; returns its kind.
fn turn(line: &Line<'_>, is_user: bool, flags: &mut Flags, gathered: &mut Gathered) -> Kind {
    let main = gathered.file == 0;
    let kind = message(line, is_user, flags);
    if main {
        match flags.has(Flags::CALL) || flags.has(Flags::RESULT) {
            true => Facts::turn(gathered, line),
            false if !flags.has(Flags::TEXT) => {
                Facts::quiet(gathered, line, kind == Kind::Assistant);
            }
            false => {}
        }
        Facts::retracted(gathered, line);
    }
    if kind == Kind::User && !flags.is_put_in() {
        flags.set(Flags::NOT_TYPED, metadata::is_not_typed(line, *flags));
    }
    if main && kind != Kind::Assistant {
        Facts::prompt(gathered, line, *flags);
    }
    kind
}

fn message(line: &Line<'_>, user: bool, flags: &mut Flags) -> Kind {
    let fields = &line.fields;
    if let Some(text) = fields.str(Field::Content) {
        flags.set(Flags::TEXT, !text.is_blank());
    }
    for block in fields.blocks() {
        flags.set(Flags::TEXT, block.kind == BlockKind::Text && block.says);
        flags.set(Flags::EMPTY_TEXT, block.kind == BlockKind::Text && block.empty);
        flags.set(Flags::CALL, block.kind == BlockKind::Call);
        flags.set(Flags::RESULT, block.kind == BlockKind::Result);
        flags.set(Flags::IMAGE, block.kind == BlockKind::Image);
    }
    match user {
        true if flags.has(Flags::RESULT) => Kind::Tool,
        true => Kind::User,
        false => Kind::Assistant,
    }
}
