//! Chimera's session trees.
//!
//! One JSON object a line, with `type`, `id`, `parent_id` and a `timestamp` in seconds; the header,
//! if there is one, is part of the tree. The program skips lines that are not objects with a type
//! and an id; they stay in the file. The last parsed entry is HEAD, whatever its type; if an id is
//! repeated, the last entry counts.

use super::session::{Gathered, Head, Header, Session};
use super::{Addition, Content, Dialect, Format, LabelLine, LineVerdict, Link, New, Object, ParentRef};
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
                let file = gathered.file;
                gathered.header.get_or_insert_with(|| header(line, id, time, file));
                flags.set(Flags::BOOKKEEPING, true);
                Kind::Header
            }
            b"message" => {
                let Some(kind) = message(line, &mut flags) else { return LineVerdict::Unknown };
                kind
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
                let marks = line.bytes.and_then(|bytes| crate::json::member_at(bytes, &["data", "bough"]));
                flags.set(Flags::BOOKKEEPING, true);
                flags.set(Flags::MARKER, marks == Some(b"\"switch\""));
                Kind::Custom
            }
            _ => Kind::Other,
        };
        LineVerdict::Entry(Link { id: Some(id), parent, time, ty: Some(ty), flags, ..Link::new(kind) })
    }

    fn content<'l>(&self, line: &'l [u8]) -> Content<'l> {
        Content::of_chimera(line, false)
    }

    fn outline<'l>(&self, line: &'l [u8]) -> Content<'l> {
        Content::of_chimera(line, true)
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
            Addition::Reply { text, .. } => {
                let message =
                    Object::begin(Format::Chimera).text("role", "assistant").text("content", text).end();
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
            Addition::CustomMessage { .. } | Addition::Edit { .. } => return None,
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

/// Returns the facts of a header.
fn header(line: &Line<'_>, id: Str<'_>, time: Time, file: u16) -> Header {
    let fields = &line.fields;
    Header {
        line: line.number,
        span: Some(Span { file, offset: line.offset, len: line.len }),
        id: Some(id.text().into_owned()),
        version: match fields.get(Field::Version) {
            Value::Number(number) => Some(String::from_utf8_lossy(number).into_owned()),
            _ => None,
        },
        cwd: fields.str(Field::Cwd).map(|cwd| cwd.text().into_owned()),
        time: Some(time).filter(|time| time.is_some()),
        parent: line.bytes.and_then(Header::parent_in),
        uuid: None,
    }
}

/// Returns the kind of a message; `None` if the program can't read it.
fn message(line: &Line<'_>, flags: &mut Flags) -> Option<Kind> {
    let fields = &line.fields;
    // A message that is not an object crashes the program. It skips a line if a message
    // has no role, or if a call lacks a field.
    match (fields.get(Field::Message), fields.get(Field::Role)) {
        (Value::Absent, _) | (Value::Object, Value::Absent) => return None,
        _ => {}
    }
    let (mut calls, mut bare) = (false, false);
    fields.each_tool_block(|block| {
        if block.kind == BlockKind::Call {
            calls = true;
            bare |= block.id.is_none() || block.name.is_none() || !block.arguments;
        }
    });
    if bare && lacks_a_field(line) {
        return None;
    }
    let role = fields.str(Field::Role).unwrap_or(Str { raw: b"" });
    if let Some(text) = fields.str(Field::Content) {
        flags.set(Flags::TEXT, !text.is_blank());
    }
    flags.set(Flags::CALL, calls);
    flags.set(Flags::RESULT, role.equals("tool"));
    Some(match role.raw {
        b"user" => Kind::User,
        b"assistant" => Kind::Assistant,
        b"tool" => Kind::Tool,
        b"system" => Kind::System,
        _ => Kind::Other,
    })
}

/// Returns whether a tool call has no `id`, `name` or `arguments` at all.
fn lacks_a_field(line: &Line<'_>) -> bool {
    let calls = line.bytes.and_then(|bytes| crate::json::member_at(bytes, &["message", "tool_calls"]));
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
    if let Some(time) = plain_seconds(number) {
        return time;
    }
    let seconds = std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok());
    seconds.map_or(Time::NONE, |seconds| Time((seconds * 1000.0) as i64))
}

/// Returns the time of a decimal number with few digits and no exponent, as the conversion to `f64`
/// gives it, or `None` if only that conversion can tell.
fn plain_seconds(number: &[u8]) -> Option<Time> {
    const POWERS: [u64; 10] =
        [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    /// The largest integer up to which every integer is a `f64`.
    const EXACT: u64 = 1 << 53;
    /// The number of seconds below which a `f64` is exact to a thousandth of a millisecond.
    const PRECISE: u64 = 1 << 32;
    if number.len() > 19 {
        return None;
    }
    let (mut digits, mut point) = (0u64, None);
    for (at, byte) in number.iter().enumerate() {
        match byte {
            b'0'..=b'9' => digits = digits * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(at),
            _ => return None,
        }
    }
    let decimals = point.map_or(0, |point| number.len() - point - 1);
    let power = *POWERS.get(decimals)?;
    if digits <= EXACT {
        // Both the digits and the power of ten are exact, so one division rounds as the general
        // conversion does.
        return Some(Time((digits as f64 / power as f64 * 1000.0) as i64));
    }
    // Python writes more digits than that. Rounding matters only close to a whole millisecond.
    let (millisecond, rest) = (power / 1000, digits % (power / 1000).max(1));
    let margin = millisecond / 100;
    let is_clear = margin > 0 && digits / power < PRECISE && rest > margin && rest < millisecond - margin;
    is_clear.then(|| Time((digits / millisecond) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_what_the_general_conversion_gives() {
        let general = |text: &str| Time((text.parse::<f64>().unwrap() * 1000.0) as i64);
        let check = |text: &str| {
            assert_eq!(seconds_to_time(text.as_bytes()), general(text), "{text}");
        };
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 16) % below
        };
        for _ in 0..20_000 {
            let (seconds, decimals) = (random(1 << 33), random(10) as usize);
            let fraction = random(10u64.pow(decimals as u32).max(1));
            check(&format!("{seconds}.{fraction:0decimals$}"));
        }
        // Close to a whole millisecond, rounding decides.
        for seconds in [1_763_690_228u64, 4_294_967_295, 4_294_967_296] {
            for thousandths in [0, 1, 499, 998, 999] {
                for rest in 0..120 {
                    check(&format!("{seconds}.{:07}", thousandths * 10_000 + rest));
                    check(&format!("{seconds}.{:07}", thousandths * 10_000 + 9_999 - rest));
                }
            }
        }
        ["0", "1.5", "1763690228", "-1.25", "1e9", "99999999999.9999999"].iter().for_each(|text| check(text));
        assert_eq!(plain_seconds(b"1763690228.1234567"), Some(Time(1_763_690_228_123)));
    }
}
