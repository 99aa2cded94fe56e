//! Claude Code's transcripts.
//!
//! One JSON object a line. Lines of type `user`, `assistant`, `system`, `attachment` and `progress` that have a `uuid` are
//! entries, linked by `parentUuid`; all other lines are about the session and have no place in the tree.

use super::session::{Gathered, Head, LabelLine, OtherKind, Pointer, Session};
use super::{Dialect, Link, ParentRef, Place};
use crate::json::{BlockKind, Field, Line, Shape, Str, Value};
use crate::model::{Flags, Key, Kind, Time, parse_time};

pub(super) struct Claude;

impl Dialect for Claude {
    fn place<'l>(&self, line: &Line<'l>, gathered: &mut Gathered) -> Place<'l> {
        let fields = &line.fields;
        let (Shape::Object, Some(ty)) = (line.shape, fields.str(Field::Type)) else { return Place::Unknown };
        let mut flags = Flags::default();
        let kind = match ty.raw {
            b"user" | b"assistant" => message(line, ty.is("user"), &mut flags),
            b"system" if fields.str(Field::Subtype).is_some_and(|subtype| subtype.is("compact_boundary")) => {
                Kind::Compaction
            }
            b"system" => Kind::System,
            b"attachment" => Kind::Attachment,
            b"progress" => {
                flags.set(Flags::PASSED, true);
                Kind::Progress
            }
            b"last-prompt" => {
                gathered.pointers.push(Pointer {
                    line: line.number,
                    before: gathered.entries,
                    target: fields.str(Field::LeafUuid).map(Str::key),
                    explicit: match fields.get(Field::Explicit) {
                        Value::Bool(explicit) => Some(explicit),
                        _ => None,
                    },
                });
                return Place::Other(OtherKind::Pointer);
            }
            b"bough-label" => {
                gathered.labels.push(LabelLine {
                    entry: None,
                    line: line.number,
                    target: fields.str(Field::TargetUuid).map_or(Key::NONE, Str::key),
                    text: fields.str(Field::Label).map(|label| label.text().into_owned()).unwrap_or_default(),
                });
                return Place::Other(OtherKind::Label);
            }
            _ => return Place::Other(OtherKind::Note),
        };
        let Some(id) = fields.str(Field::Uuid) else { return Place::Other(OtherKind::Note) };
        let parent = match fields.get(Field::ParentUuid) {
            Value::String(parent) if !parent.raw.is_empty() => ParentRef::Id(parent),
            _ => ParentRef::None,
        };
        let time = match fields.get(Field::Timestamp) {
            Value::String(text) => parse_time(text.raw),
            _ => Time::NONE,
        };
        flags.set(Flags::SIDECHAIN, fields.is_true(Field::IsSidechain));
        flags.set(Flags::META, fields.is_true(Field::IsMeta));
        flags.set(Flags::COMPACT_SUMMARY, fields.is_true(Field::IsCompactSummary));
        Place::Entry(Link {
            id: Some(id),
            parent,
            time,
            kind,
            ty: Some(ty),
            flags,
            session: fields.str(Field::SessionId),
            group: fields.str(Field::MessageId),
        })
    }

    fn head(&self, session: &Session) -> Head {
        // TODO: the loader's rule as measured; until then the last turn of the main conversation.
        let leaf = session.tree.standing().rev().find(|ix| {
            matches!(session.entries.kind(*ix), Kind::User | Kind::Assistant | Kind::Tool)
                && !session.entries.flags(*ix).has(Flags::SIDECHAIN)
        });
        Head { entry: leaf, leaf, rule: "the last turn in the file" }
    }
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
