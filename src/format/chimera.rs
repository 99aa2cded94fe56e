//! Chimera's session trees.
//!
//! One JSON object a line, with `type`, `id`, `parent_id` and a `timestamp` in seconds; the header,
//! if there is one, is part of the tree. The program skips lines that are not objects with a type
//! and an id; they stay in the file. The last parsed entry is HEAD, whatever its type; if an id is
//! repeated, the last entry counts.

use super::session::{Gathered, Head, Header, Session};
use super::{Addition, Dialect, Format, LabelLine, LineVerdict, Link, New, Object, ParentRef};
use crate::json::{BlockKind, Field, Line, Shape, Str, Value, each_item, member};
use crate::model::{Flags, Ix, Key, Kind, Span, Time};

pub(super) struct Chimera;

impl Dialect for Chimera {
    fn classify<'l>(&self, line: &Line<'l>, gathered: &mut Gathered) -> LineVerdict<'l> {
        let fields = &line.fields;
        let (Shape::Object, Some(ty), Some(id)) =
            (line.shape, fields.str(Field::Type), fields.str(Field::Id))
        else {
            return LineVerdict::Unknown;
        };
        let parent = match fields.get(Field::ParentSnake) {
            Value::String(parent) if !parent.raw.is_empty() => ParentRef::Id(parent),
            _ => ParentRef::None,
        };
        let time = match fields.get(Field::Timestamp) {
            Value::Number(seconds) => seconds_to_time(seconds),
            _ => Time::NONE,
        };
        let mut flags = Flags::default();
        let kind = match ty.raw {
            b"header" => {
                gathered.header.get_or_insert_with(|| Header {
                    line: line.number,
                    span: Some(Span { file: gathered.file, offset: line.offset, len: line.len }),
                    id: Some(id.text().into_owned()),
                    version: match fields.get(Field::Version) {
                        Value::Number(number) => Some(String::from_utf8_lossy(number).into_owned()),
                        _ => None,
                    },
                    cwd: fields.str(Field::Cwd).map(|cwd| cwd.text().into_owned()),
                    time: Some(time).filter(|time| time.is_some()),
                    parent: line.bytes.and_then(Header::parent_in),
                    uuid: None,
                });
                flags.set(Flags::BOOKKEEPING, true);
                Kind::Header
            }
            b"message" => {
                // A message that is not an object crashes the program. It skips a line if a message
                // has no role, or if a call lacks a field.
                match (fields.get(Field::Message), fields.get(Field::Role)) {
                    (Value::Absent, _) | (Value::Object, Value::Absent) => return LineVerdict::Unknown,
                    _ if lacks_a_field(line) => return LineVerdict::Unknown,
                    _ => {}
                }
                let role = fields.str(Field::Role).unwrap_or(Str { raw: b"" });
                if let Some(text) = fields.str(Field::Content) {
                    flags.set(Flags::TEXT, !text.is_blank());
                }
                flags.set(Flags::CALL, fields.blocks().any(|block| block.kind == BlockKind::Call));
                flags.set(Flags::RESULT, role.equals("tool"));
                match role.raw {
                    b"user" => Kind::User,
                    b"assistant" => Kind::Assistant,
                    b"tool" => Kind::Tool,
                    b"system" => Kind::System,
                    _ => Kind::Other,
                }
            }
            b"compaction" => Kind::Compaction,
            b"label" => {
                gathered.labels.push(LabelLine {
                    entry: Some(Ix(gathered.entries)),
                    line: line.number,
                    target: fields.str(Field::TargetSnake).map_or(Key::NONE, Str::key),
                    text: &fields.str(Field::Label).map(Str::text).unwrap_or_default(),
                });
                flags.set(Flags::BOOKKEEPING, true);
                Kind::Label
            }
            b"state_change" => {
                flags.set(Flags::BOOKKEEPING, true);
                Kind::Setting
            }
            b"custom" => {
                let marks = line.bytes.and_then(|bytes| crate::json::value(bytes, &["data", "bough"]));
                flags.set(Flags::BOOKKEEPING, true);
                flags.set(Flags::MARKER, marks == Some(b"\"switch\""));
                Kind::Custom
            }
            _ => Kind::Other,
        };
        LineVerdict::Entry(Link {
            id: Some(id),
            is_number: false,
            parent,
            time,
            kind,
            ty: Some(ty),
            flags,
            session: None,
            group: None,
        })
    }

    fn head(&self, session: &Session) -> Head {
        let leaf = session.tree.entries_in_tree().next_back();
        let rule = if leaf.is_some() { "the last entry in the file" } else { "there are no entries" };
        session.head_at(leaf, rule)
    }

    fn marker(&self, new: &New<'_>, from: Option<&[u8]>, to: Option<&[u8]>) -> Option<Vec<u8>> {
        let data = Object::begin(Format::Chimera).text("bough", "switch").id("from", from).id("to", to).end();
        Some(entry("custom", new).raw("data", &data).line())
    }

    fn summary(&self, new: &New<'_>, _from: Option<&[u8]>, text: &str) -> Option<Vec<u8>> {
        // The format has no type for a branch summary: a compaction that keeps nothing is used
        // instead of a message.
        let entry = entry("compaction", new).text("summary", text).text("first_kept_entry_id", "");
        let entry = entry.raw("tokens_before", b"0").raw("read_files", b"[]");
        Some(entry.raw("modified_files", b"[]").line())
    }

    fn label(&self, new: &New<'_>, target: &[u8], label: Option<&str>) -> Option<Vec<u8>> {
        Some(entry("label", new).raw("target_id", target).text("label", label.unwrap_or_default()).line())
    }

    fn addition(&self, new: &New<'_>, addition: &Addition<'_>) -> Option<Vec<u8>> {
        Some(match addition {
            Addition::Prompt { text } => {
                let message = Object::begin(Format::Chimera).text("role", "user").text("content", text).end();
                entry("message", new).raw("message", &message).line()
            }
            Addition::Custom { ty, data } => {
                let mut object = Object::begin(Format::Chimera).text("type", ty);
                if let Some(data) = data {
                    object = object.raw("data", data.as_bytes());
                }
                entry("custom", new).raw("data", &object.end()).line()
            }
            // Everything that the model sees is a message with one of the four roles.
            Addition::CustomMessage { .. } => return None,
            Addition::Compaction { summary, keep, tokens_before } => entry("compaction", new)
                .text("summary", summary)
                .raw("first_kept_entry_id", keep.unwrap_or(b"\"\""))
                .raw("tokens_before", tokens_before.to_string().as_bytes())
                .raw("read_files", b"[]")
                .raw("modified_files", b"[]")
                .line(),
        })
    }
}

/// Returns whether a tool call has no `id`, `name` or `arguments` at all.
fn lacks_a_field(line: &Line<'_>) -> bool {
    let mut calls = line.fields.blocks().filter(|block| block.kind == BlockKind::Call);
    if !calls.any(|block| block.id.is_none() || block.name.is_none() || !block.arguments) {
        return false;
    }
    let calls = line.bytes.and_then(|bytes| crate::json::value(bytes, &["message", "tool_calls"]));
    each_item(calls.unwrap_or_default())
        .filter(|call| call.starts_with(b"{"))
        .any(|call| ["id", "name", "arguments"].iter().any(|key| member(call, key).is_none()))
}

/// Starts an entry.
fn entry(ty: &str, new: &New<'_>) -> Object {
    let entry = Object::begin(Format::Chimera).text("type", ty).text("id", new.id);
    let seconds = format!("{:?}", new.now.0 as f64 / 1000.0);
    entry.id("parent_id", new.parent).raw("timestamp", seconds.as_bytes())
}

/// Converts seconds since 1970, with a fraction, as Python spells them.
fn seconds_to_time(number: &[u8]) -> Time {
    plain_decimal(number).unwrap_or_else(|| {
        let seconds = std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok());
        seconds.map_or(Time::NONE, |seconds| Time((seconds * 1000.0) as i64))
    })
}

/// Converts a decimal number of seconds without an exponent, if it is certain that the general
/// conversion leads to the same millisecond.
///
/// A `f64` near the present time is off by less than a microsecond, and so is its product with
/// 1000: only a number that is so near to a whole millisecond may be rounded across it.
fn plain_decimal(number: &[u8]) -> Option<Time> {
    const POWERS: [u64; 10] =
        [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    let (whole, rest) = number.split_at_checked(10)?;
    let [b'.', decimals @ ..] = rest else { return None };
    let below = *POWERS.get(decimals.len())?;
    let digits = |bytes: &[u8]| {
        bytes
            .iter()
            .try_fold(0u64, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0')))
    };
    let (whole, decimals) = (digits(whole)?, digits(decimals)?);
    // In units of the last decimal: the milliseconds, and what is left of them.
    let (milliseconds, left) = (decimals * 1000 / below, decimals * 1000 % below);
    let certain = left * 1000 > below && (below - left) * 1000 > below && whole < 4_000_000_000;
    certain.then_some(Time((whole * 1000 + milliseconds) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_general_conversion() {
        let general = |text: &str| Time((text.parse::<f64>().unwrap() * 1000.0) as i64);
        let mut chance = 7u64;
        let mut certain = 0;
        for round in 0..200_000u64 {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let whole = 1_000_000_000 + (chance >> 16) % 3_500_000_000;
            let decimals = (chance >> 8) % 1_000_000_000;
            let mut text = format!("{whole}.{decimals:09}");
            text.truncate(11 + (round % 10) as usize);
            // Near a whole millisecond the conversion rounds across it.
            if round % 3 == 0 && text.len() > 15 {
                text.replace_range(14.., if round % 2 == 0 { "99996" } else { "00004" });
            }
            certain += usize::from(plain_decimal(text.as_bytes()).is_some());
            if text.parse::<f64>().is_ok() {
                assert_eq!(seconds_to_time(text.as_bytes()), general(&text), "{text}");
            }
        }
        assert!(certain > 50_000, "{certain}");
        for text in ["1772359200.5", "1772359200", "0.25", "1.5e9", "-3.25", "1772359200.123456789012"] {
            assert_eq!(seconds_to_time(text.as_bytes()), general(text), "{text}");
        }
        assert_eq!(seconds_to_time(b"Infinity"), Time(i64::MAX));
    }
}
