//! The pi family: pi of all versions, its harness, and oh-my-pi.
//!
//! One JSON object a line. A header `{"type":"session","id":…,"version":…,"cwd":…}` comes first
//! (oh-my-pi puts a title slot of exactly 256 bytes before it), then entries
//! `{"type":…,"id":…,"parentId":…,"timestamp":…}`. Version 1 has no ids: each entry follows the
//! line before it. HEAD is the last valid line, whatever its type; only in the harness can a `leaf`
//! entry point elsewhere. If an id is repeated, the last line counts. A missing parent ends the
//! path silently. Unknown types are entries like all others.

mod kind;

use super::session::{Gathered, Head, Header, OtherKind, Pointer, Session};
use super::{Addition, Content, Dialect, Format, LabelLine, LineVerdict, Link, New, Object, ParentRef};
use crate::json::{Field, Line, Shape, Str, Value, each_member, string_of};
use crate::model::{Clock, Entries, Key, Kind, Span, Time};
use kind::kind;

/// Clues that distinguish the members of the family.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Marks {
    pi: bool,
    /// Something that pi writes and its harness does not.
    no_harness: bool,
    omp: bool,
    harness: bool,
    openclaw: bool,
    prime: bool,
    /// The header spans several lines: oh-my-pi opens such a file, and pi does not.
    spread: bool,
}

/// Returns the member of the family that a file belongs to, once all of it is known.
///
/// The derived formats are checked first, because they contain the clues of the others, too.
pub(super) fn settle(format: Format, gathered: &Gathered) -> Format {
    let marks = gathered.marks;
    match format {
        Format::Pi | Format::Omp | Format::Harness if is_openclaws(gathered) => Format::OpenClaw,
        Format::Pi | Format::Omp | Format::Harness if marks.prime => Format::Prime,
        Format::Pi if marks.is_omp() => Format::Omp,
        Format::Pi if marks.harness && !marks.no_harness => Format::Harness,
        other => other,
    }
}

/// Returns whether a session is one of OpenClaw. A `leaf` line by itself may be the harness's, too.
fn is_openclaws(gathered: &Gathered) -> bool {
    let in_its_home = |cwd: &str| cwd.split(['/', '\\']).any(|name| name == ".openclaw");
    let cwd = gathered.header.as_ref().and_then(|header| header.cwd.as_deref());
    gathered.marks.openclaw || gathered.openclaw.has_leaf() && cwd.is_some_and(in_its_home)
}

/// The rules of version 3, and of all that have the same.
pub(super) static PI: Pi = Pi { ids: Ids::Id, leaf_entries: false };
/// The rules of version 1.
pub(super) static V1: Pi = Pi { ids: Ids::None, leaf_entries: false };
/// The rules of the format of the design document.
pub(super) static DESIGN: Pi = Pi { ids: Ids::Uuid, leaf_entries: false };
/// The rules of the harness.
pub(super) static HARNESS: Pi = Pi { ids: Ids::Id, leaf_entries: true };

pub(super) struct Pi {
    ids: Ids,
    leaf_entries: bool,
}

#[derive(PartialEq, Eq)]
enum Ids {
    None,
    Id,
    Uuid,
}

/// Returns whether the program of a file reads objects over several lines, as far as the file is
/// known; oh-my-pi does. A file whose header has not come yet can be opened by it or by none.
pub(super) fn joins_lines(format: Format, gathered: &Gathered) -> bool {
    match format {
        Format::Pi | Format::Omp => {
            gathered.header.is_none() || gathered.marks.is_omp() || format == Format::Omp
        }
        Format::PiV1 | Format::PiV2 => gathered.header.is_none() || gathered.marks.spread,
        _ => false,
    }
}

/// Records that an object over several lines was placed.
pub(super) fn note_joined(gathered: &mut Gathered, had_header: bool) {
    gathered.marks.spread |= !had_header && gathered.header.is_some();
}

impl Marks {
    fn is_omp(self) -> bool {
        self.omp && !self.pi || self.spread
    }

    /// Adds the clues of a later segment of the file.
    pub(super) fn append(&mut self, other: Marks) {
        self.pi |= other.pi;
        self.no_harness |= other.no_harness;
        self.openclaw |= other.openclaw;
        self.prime |= other.prime;
        self.omp |= other.omp;
        self.harness |= other.harness;
        self.spread |= other.spread;
    }
}

impl Dialect for Pi {
    fn content<'l>(&self, line: &'l [u8]) -> Content<'l> {
        Content::of_pi(line, false)
    }

    fn outline<'l>(&self, line: &'l [u8]) -> Content<'l> {
        Content::of_pi(line, true)
    }

    fn classify<'l>(&self, line: &Line<'l>, gathered: &mut Gathered) -> LineVerdict<'l> {
        match line.shape {
            Shape::Object => {}
            Shape::Scalar => {
                let falsy = matches!(line.bytes, Some(b"null" | b"0" | b"false" | b"\"\""));
                gathered.last_without_id |= !falsy && gathered.header.is_some();
                return LineVerdict::Unknown;
            }
            _ => return LineVerdict::Unknown,
        }
        let fields = &line.fields;
        let ty = fields.str(Field::Type);
        if ty.is_some_and(|ty| ty.equals("session")) {
            header(line, gathered);
            return LineVerdict::Other(OtherKind::Header);
        }
        if ty.is_some_and(|ty| ty.equals("title")) && line.number == 1 {
            gathered.marks.omp = true;
            gathered.name = title(line);
            return LineVerdict::Other(OtherKind::Title);
        }
        let own = match self.ids {
            Ids::None => Value::Absent,
            Ids::Id => fields.get(Field::Id),
            Ids::Uuid => fields.get(Field::Uuid),
        };
        let (id, is_number) = (id(own), matches!(own, Value::Number(_)));
        gathered.last_without_id = id.is_none() && self.ids != Ids::None;
        let parent = match self.ids {
            Ids::None => ParentRef::Before,
            Ids::Id => parent(fields.get(Field::ParentId)),
            Ids::Uuid => parent(fields.get(Field::ParentUuid)),
        };
        let (mut kind, flags) = kind(line, ty, gathered);
        // Only the design document and earlier formats have these.
        let is_summary = match self.ids {
            Ids::None => ty.is_some_and(|ty| ty.equals("stack_pop")),
            Ids::Id => false,
            Ids::Uuid => ty.is_some_and(|ty| ty.equals("stack_summary")),
        };
        if is_summary {
            kind = Kind::Summary;
        }
        if self.ids == Ids::Id {
            let is_side = gathered.openclaw.line(line, gathered.entries);
            // An entry on the first line may be there by accident: a header is missing.
            gathered.marks.openclaw |= is_side && line.number > 1;
        }
        LineVerdict::Entry(Link {
            id,
            is_number,
            parent,
            time: time(fields.get(Field::Timestamp), &mut gathered.clock),
            ty,
            flags,
            ..Link::new(kind)
        })
    }

    fn head(&self, session: &Session) -> Head {
        let mut leaf = session.tree.entries_in_tree().next_back();
        let mut rule = "the last entry in the file";
        if self.leaf_entries
            && let Some(pointer) = session.pointers.last()
            && pointer.before as usize + 1 == session.entries.len()
        {
            match pointer.target {
                None => (leaf, rule) = (None, "the last line moves the leaf before the first entry"),
                Some(target) => {
                    if let Some(found) = session.find(target) {
                        (leaf, rule) = (Some(found), "the leaf named by the last line");
                    }
                }
            }
        }
        if leaf.is_none() && session.entries.is_empty() {
            rule = "there are no entries";
        }
        session.head_at(leaf, rule)
    }

    fn marker(&self, new: &New<'_>, from: Option<&[u8]>, to: Option<&[u8]>) -> Option<Vec<u8>> {
        let data = Object::begin(Format::Pi).id("from", from).id("to", to).end();
        let entry = self.entry("custom", new)?;
        Some(entry.text("customType", "bough.switch").raw("data", &data).line())
    }

    fn summary(&self, new: &New<'_>, from: Option<&[u8]>, text: &str) -> Option<Vec<u8>> {
        let entry = self.entry("branch_summary", new)?;
        Some(entry.raw("fromId", from.unwrap_or(b"\"root\"")).text("summary", text).line())
    }

    fn label(&self, new: &New<'_>, target: &[u8], label: Option<&str>) -> Option<Vec<u8>> {
        let entry = self.entry("label", new)?.raw("targetId", target);
        Some(match label {
            Some(label) => entry.text("label", label).line(),
            None => entry.line(),
        })
    }

    fn addition(&self, new: &New<'_>, addition: &Addition<'_>) -> Option<Vec<u8>> {
        let ty = match addition {
            Addition::Prompt { .. } | Addition::Reply { .. } => "message",
            Addition::Custom { .. } => "custom",
            Addition::CustomMessage { .. } => "custom_message",
            Addition::Compaction { .. } => "compaction",
            Addition::Edit { .. } => "context_edit",
        };
        let entry = self.entry(ty, new)?;
        Some(match addition {
            Addition::Prompt { text } => {
                let block = Object::begin(Format::Pi).text("type", "text").text("text", text).end();
                let message = Object::begin(Format::Pi)
                    .text("role", "user")
                    .raw("content", &[b"[", &block[..], b"]"].concat())
                    .raw("timestamp", new.now.0.to_string().as_bytes());
                entry.raw("message", &message.end()).line()
            }
            Addition::Reply { text, model } => {
                let model = (*model)?;
                let block = Object::begin(Format::Pi).text("type", "text").text("text", text).end();
                // The agents add up these fields, and fail without them.
                let usage = br#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;
                let message = Object::begin(Format::Pi)
                    .text("role", "assistant")
                    .raw("content", &[b"[", &block[..], b"]"].concat())
                    .raw("api", model.api)
                    .raw("provider", model.provider)
                    .raw("model", model.model)
                    .raw("usage", usage)
                    .text("stopReason", "stop")
                    .raw("timestamp", new.now.0.to_string().as_bytes());
                entry.raw("message", &message.end()).line()
            }
            Addition::Custom { ty, data } => {
                let entry = entry.text("customType", ty);
                match data {
                    Some(data) => entry.raw("data", data.as_bytes()).line(),
                    None => entry.line(),
                }
            }
            Addition::CustomMessage { ty, text, hidden } => {
                let display: &[u8] = if *hidden { b"false" } else { b"true" };
                entry.text("customType", ty).text("content", text).raw("display", display).line()
            }
            Addition::Compaction { summary, keep, tokens_before } => {
                // A compaction that names itself keeps nothing.
                let own = Format::Pi.quoted(new.id);
                entry
                    .text("summary", summary)
                    .raw("firstKeptEntryId", keep.unwrap_or(&own))
                    .raw("tokensBefore", tokens_before.to_string().as_bytes())
                    .line()
            }
            Addition::Edit { target, content } => {
                let replacement = Object::begin(Format::Pi).raw("content", content).end();
                entry.raw("targetId", target).raw("replacement", &replacement).line()
            }
        })
    }
}

/// Returns the id in a field. An empty id leads nowhere; the programs of the family accept a number
/// as an id, as it is spelled.
fn id(value: Value<'_>) -> Option<Str<'_>> {
    match value {
        Value::String(id) => Some(id).filter(|id| !id.raw.is_empty()),
        Value::Number(raw) => Some(Str { raw }),
        _ => None,
    }
}

impl Pi {
    /// Starts an entry; returns `None` for the formats that bough does not write.
    fn entry(&self, ty: &str, new: &New<'_>) -> Option<Object> {
        if self.ids != Ids::Id {
            return None;
        }
        let entry = Object::begin(Format::Pi).text("type", ty).text("id", new.id);
        Some(entry.id("parentId", new.parent).text("timestamp", &new.now.iso()))
    }
}

/// Returns the parent that a field names.
fn parent(value: Value<'_>) -> ParentRef<'_> {
    match value {
        Value::Number(raw) => ParentRef::Number(Str { raw }),
        _ => id(value).map_or(ParentRef::None, ParentRef::Id),
    }
}

fn time(value: Value<'_>, clock: &mut Clock) -> Time {
    match value {
        Value::String(text) => clock.read(text.raw),
        Value::Number(number) => std::str::from_utf8(number)
            .ok()
            .and_then(|text| text.parse::<f64>().ok())
            .map_or(Time::NONE, |ms| Time(ms as i64)),
        _ => Time::NONE,
    }
}

fn header(line: &Line<'_>, gathered: &mut Gathered) {
    if gathered.header.is_some() {
        return;
    }
    let fields = &line.fields;
    let text = |field| fields.str(field).map(|text| text.text().into_owned());
    gathered.header = Some(Header {
        line: line.number,
        span: Some(Span { file: gathered.file, offset: line.offset, len: line.len }),
        id: text(Field::Id),
        version: match fields.get(Field::Version) {
            Value::Number(number) => Some(String::from_utf8_lossy(number).into_owned()),
            Value::String(text) => Some(text.text().into_owned()),
            _ => None,
        },
        cwd: text(Field::Cwd),
        time: Some(time(fields.get(Field::Timestamp), &mut gathered.clock)).filter(|time| time.is_some()),
        parent: line.bytes.and_then(Header::parent_in),
        uuid: fields.str(Field::Uuid).map(Str::key),
    });
    for (key, _) in each_member(line.bytes.unwrap_or_default()) {
        match &*key {
            "title"
            | "titleSource"
            | "additionalDirectories"
            | "previousSessionFiles"
            | "providerPromptCacheKey" => gathered.marks.omp = true,
            // Only version 1 of pi wrote it: such a file remains pi's when it is migrated.
            "thinkingLevel" => {
                gathered.marks.pi = true;
                gathered.marks.no_harness = true;
            }
            "rlmDepth" => gathered.marks.prime = true,
            _ => {}
        }
    }
    if gathered.name.is_none() && gathered.marks.omp {
        gathered.name = title(line);
    }
}

fn title(line: &Line<'_>) -> Option<String> {
    string(line, "title").filter(|title| !title.is_empty())
}

/// Returns a string field that is rarely needed.
fn string(line: &Line<'_>, key: &str) -> Option<String> {
    string_of(line.bytes?, key)
}

/// OpenClaw's dialect of version 3; read-only. [`super::openclaw`] links its entries.
pub(super) struct OpenClaw;

impl Dialect for OpenClaw {
    fn content<'l>(&self, line: &'l [u8]) -> Content<'l> {
        Content::of_pi(line, false)
    }

    fn link(&self, entries: &mut Entries, gathered: &mut Gathered) {
        super::openclaw::link(entries, gathered);
    }

    fn classify<'l>(&self, line: &Line<'l>, gathered: &mut Gathered) -> LineVerdict<'l> {
        PI.classify(line, gathered)
    }

    fn head(&self, session: &Session) -> Head {
        match session.pointers.last().and_then(|pointer| pointer.target) {
            Some(leaf) => session.head_at(session.find(leaf), "the leaf from which OpenClaw continues"),
            None => session.head_at(None, "nothing in the file sets a leaf"),
        }
    }
}

/// The two variants of version 4, read as far as they are trees; read-only.
///
/// The first has a lane for each conversation and facts about the session, the second has values
/// for both; HEAD is the leaf of the lane `main`.
pub(super) struct V4;

impl Dialect for V4 {
    fn content<'l>(&self, line: &'l [u8]) -> Content<'l> {
        Content::of_pi(line, false)
    }

    fn classify<'l>(&self, line: &Line<'l>, gathered: &mut Gathered) -> LineVerdict<'l> {
        let fields = &line.fields;
        if line.shape != Shape::Object {
            return LineVerdict::Unknown;
        }
        let says = |key: &str| string(line, key).unwrap_or_default();
        match fields.str(Field::Kind).map_or(&b""[..], |kind| kind.raw) {
            b"header" => {
                header(line, gathered);
                return LineVerdict::Other(OtherKind::Header);
            }
            b"entry" => {
                let ty = fields.str(Field::Type);
                let id = id(fields.get(Field::Id));
                if says("lane") == "main" {
                    stand_at(id.map(Str::key), line, gathered);
                }
                let parent = parent(fields.get(Field::ParentId));
                let (kind, flags) = kind(line, ty, gathered);
                let time = time(fields.get(Field::Timestamp), &mut gathered.clock);
                let is_number = false;
                return LineVerdict::Entry(Link {
                    id,
                    is_number,
                    parent,
                    time,
                    ty,
                    flags,
                    ..Link::new(kind)
                });
            }
            b"lane" if says("lane") == "main" => stand_at(key(line, "leafId"), line, gathered),
            b"fact" if says("fact") == "name" => note_name(&says("name"), gathered),
            b"fact" if says("fact") == "label" => labelled(&says("targetId"), &says("label"), line, gathered),
            b"value" => match (says("namespace").as_str(), says("key").as_str()) {
                ("pi.branch.tip", "main") => stand_at(key(line, "value"), line, gathered),
                ("pi.session.name", _) => note_name(&says("value"), gathered),
                ("pi.entry.label", target) => labelled(target, &says("value"), line, gathered),
                _ => {}
            },
            _ => {}
        }
        LineVerdict::Other(OtherKind::Note)
    }

    fn head(&self, session: &Session) -> Head {
        let pointer = session.pointers.last();
        if pointer.is_some_and(|pointer| pointer.target.is_none()) {
            return session.head_at(None, "the leaf is before the first entry");
        }
        match pointer.and_then(|pointer| session.find(pointer.target?)) {
            Some(leaf) => session.head_at(Some(leaf), "the leaf of the lane `main`"),
            None => session.head_at(session.tree.entries_in_tree().next_back(), "the last entry in the file"),
        }
    }
}

/// Returns the id that a string field names.
fn key(line: &Line<'_>, field: &str) -> Option<Key> {
    string(line, field).filter(|id| !id.is_empty()).map(|id| Key::hash(id.as_bytes()))
}

/// Sets the leaf; the previous leaf is discarded.
fn stand_at(target: Option<Key>, line: &Line<'_>, gathered: &mut Gathered) {
    gathered.pointers.clear();
    gathered.pointers.push(Pointer { line: line.number, before: gathered.entries, target, explicit: None });
}

fn note_name(name: &str, gathered: &mut Gathered) {
    gathered.name = Some(name.to_owned()).filter(|name| !name.is_empty());
}

fn labelled(target: &str, text: &str, line: &Line<'_>, gathered: &mut Gathered) {
    let target = Key::hash(target.as_bytes());
    gathered.labels.push(LabelLine { entry: None, line: line.number, target, text });
}
