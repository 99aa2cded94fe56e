//! Rollouts of Codex: a log of what was sent, received, decided and shown, in the order in which it
//! happened. Written only by a conversion.
//!
//! Each line is `{timestamp, ordinal, type, payload}`. What the model sees are the `response_item`
//! lines; most events show the same again. No line has an id or a parent: an entry follows the one
//! before it, and an event `thread_rolled_back` undoes turns. Facts from codex-rs of version
//! 0.171 (`core`: reconstruction of a rollout), and from that version itself.

use super::rewinds::{self, RewindTo};
use super::session::{Gathered, Head, Header, Session};
use super::{Block, Content, Dialect, LineVerdict, Link, OtherKind};
use crate::json::{Field, Line, Members, Shape, Str, each_item, each_object, member, string, string_of};
use crate::model::{Entries, Flags, Kind, Span, Time};
use std::borrow::Cow;

pub(super) struct Codex;

impl Dialect for Codex {
    fn classify<'l>(&self, line: &Line<'l>, gathered: &mut Gathered) -> LineVerdict<'l> {
        let fields = &line.fields;
        let (Shape::Object, Some(ty)) = (line.shape, fields.str(Field::Type)) else {
            return LineVerdict::Unknown;
        };
        let payload = fields.str(Field::PayloadType);
        let mut flags = Flags::default();
        let (kind, ty) = match ty.raw {
            b"session_meta" => {
                header(line, gathered);
                return LineVerdict::Other(OtherKind::Header);
            }
            b"response_item" => match item(line, &mut flags) {
                Some(kind) => (kind, payload),
                None => return LineVerdict::Unknown,
            },
            b"compacted" => (Kind::Compaction, Some(ty)),
            b"inter_agent_communication" => (Kind::Custom, Some(ty)),
            b"turn_context" => {
                flags.set(Flags::BOOKKEEPING, true);
                (Kind::Setting, Some(ty))
            }
            b"token_usage_record" => (usage(&mut flags), Some(ty)),
            b"event_msg" => match payload.map_or(&b""[..], |ty| ty.raw) {
                b"thread_rolled_back" => {
                    let count = payload_of(line).and_then(|payload| member(payload, "num_turns"));
                    let count = count.and_then(|count| std::str::from_utf8(count).ok()?.parse().ok());
                    let to = RewindTo::Prompts(count.unwrap_or(0));
                    gathered.rewinds.push(line.number, gathered.entries, to);
                    return LineVerdict::Other(OtherKind::Pointer);
                }
                b"thread_name_updated" => {
                    let name = payload_of(line).and_then(|payload| string_of(payload, "thread_name"));
                    gathered.name = name.filter(|name| !name.is_empty());
                    gathered.renamed = true;
                    return LineVerdict::Other(OtherKind::Note);
                }
                // Older versions stored the usage in no other place.
                b"token_count" => (usage(&mut flags), payload),
                _ => return LineVerdict::Other(OtherKind::Note),
            },
            _ => return LineVerdict::Other(OtherKind::Note),
        };
        LineVerdict::Entry(Link {
            time: fields.str(Field::Timestamp).map_or(Time::NONE, |time| gathered.clock.read(time.raw)),
            ty,
            flags,
            ..Link::new(kind)
        })
    }

    fn link(&self, entries: &mut Entries, gathered: &mut Gathered) {
        entries.name_by_place();
        rewinds::link(entries, gathered);
    }

    fn head(&self, session: &Session) -> Head {
        let rules =
            ["the last entry in the file", "the last entry that was not undone", "everything was undone"];
        rewinds::head(session, session.entries.all().next_back(), rules)
    }

    fn content<'l>(&self, line: &'l [u8]) -> Content<'l> {
        content(line)
    }
}

/// Marks an entry that only stores usage, and returns its kind.
fn usage(flags: &mut Flags) -> Kind {
    flags.set(Flags::HIDDEN, true);
    flags.set(Flags::BOOKKEEPING, true);
    Kind::Setting
}

fn payload_of<'l>(line: &Line<'l>) -> Option<&'l [u8]> {
    member(line.bytes?, "payload")
}

fn header(line: &Line<'_>, gathered: &mut Gathered) {
    if gathered.header.is_some() {
        // A fork repeats the lines of its source, the header included.
        return;
    }
    let payload = Members::new(payload_of(line).unwrap_or_default());
    let text = |key| payload.string(key).map(Cow::into_owned).filter(|text| !text.is_empty());
    let time = line.fields.str(Field::Timestamp).map(|time| gathered.clock.read(time.raw));
    gathered.header = Some(Header {
        line: line.number,
        span: Some(Span { file: gathered.file, offset: line.offset, len: line.len }),
        id: text("id"),
        version: None,
        cwd: text("cwd"),
        time: time.filter(|time| time.is_some()),
        parent: text("forked_from_id"),
        uuid: None,
    });
}

/// Returns the kind of an item of the conversation, `None` if it has no type.
fn item(line: &Line<'_>, flags: &mut Flags) -> Option<Kind> {
    let ty = line.fields.str(Field::PayloadType)?;
    Some(match ty.raw {
        b"message" => message(line, flags),
        b"reasoning" => Kind::Assistant,
        b"function_call"
        | b"custom_tool_call"
        | b"local_shell_call"
        | b"web_search_call"
        | b"tool_search_call"
        | b"image_generation_call" => {
            flags.set(Flags::CALL, true);
            Kind::Assistant
        }
        b"function_call_output" | b"custom_tool_call_output" | b"tool_search_output" => {
            flags.set(Flags::RESULT, true);
            Kind::Tool
        }
        b"agent_message" => Kind::Custom,
        // Snapshots of files, encrypted summaries, and what later versions add.
        _ => {
            flags.set(Flags::BOOKKEEPING, true);
            Kind::Other
        }
    })
}

fn message(line: &Line<'_>, flags: &mut Flags) -> Kind {
    let role = line.fields.str(Field::PayloadRole).unwrap_or(Str { raw: b"" });
    let payload = payload_of(line);
    let items = || each_object(payload.and_then(|payload| member(payload, "content")).unwrap_or_default());
    // A message that is too long to hold in memory says something.
    let says = payload.is_none() || items().any(|item| !item.text("text").trim().is_empty());
    flags.set(Flags::TEXT, says);
    flags.set(Flags::IMAGE, items().any(|item| item.text("type") == "input_image"));
    match role.raw {
        b"assistant" => Kind::Assistant,
        b"user" => match payload.map(put_in).unwrap_or_default() {
            PutIn::Nothing => Kind::User,
            PutIn::Command => {
                flags.set(Flags::META, true);
                Kind::User
            }
            PutIn::Context => {
                flags.set(Flags::META, true);
                flags.set(Flags::BOOKKEEPING, true);
                Kind::Attachment
            }
        },
        b"developer" | b"system" => {
            flags.set(Flags::BOOKKEEPING, true);
            Kind::System
        }
        _ => Kind::Other,
    }
}

/// What Codex sends in the name of the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum PutIn {
    /// What the user typed.
    #[default]
    Nothing,
    /// A command that the user ran, with its output, or a note that the turn was interrupted.
    Command,
    /// Instructions and facts about the environment.
    Context,
}

/// What begins and ends a text that is not the user's. Upper and lower case are the same.
const MARKS: &[(&str, &str, PutIn)] = &[
    ("<environment_context>", "</environment_context>", PutIn::Context),
    ("# agents.md instructions", "</instructions>", PutIn::Context),
    ("<user_instructions>", "</user_instructions>", PutIn::Context),
    ("<skills_instructions>", "</skills_instructions>", PutIn::Context),
    ("<skill>", "</skill>", PutIn::Context),
    ("<user_shell_command>", "</user_shell_command>", PutIn::Command),
    ("<turn_aborted>", "</turn_aborted>", PutIn::Command),
    ("<subagent_notification>", "</subagent_notification>", PutIn::Command),
];

/// Returns what a message of the user contains that is not the user's: one such part is enough,
/// unless the message says that a part was typed.
fn put_in(payload: &[u8]) -> PutIn {
    let content = member(payload, "content").unwrap_or_default();
    let found = each_object(content).find_map(|item| mark_of(&item.text("text")));
    let Some(found) = found else { return PutIn::Nothing };
    let about = member(payload, "internal_chat_message_metadata_passthrough");
    let kinds = about.and_then(|about| member(about, "content_item_kinds")).unwrap_or_default();
    let kinds: Vec<_> = each_item(kinds).filter_map(string).collect();
    let is_typed =
        kinds.len() == each_item(content).count() && kinds.iter().any(|kind| kind.starts_with("user."));
    if is_typed { PutIn::Nothing } else { found }
}

fn mark_of(text: &str) -> Option<PutIn> {
    let text = text.trim();
    let is = |part: Option<&str>, mark: &str| part.is_some_and(|part| part.eq_ignore_ascii_case(mark));
    MARKS
        .iter()
        .find(|(begin, end, _)| {
            is(text.get(..begin.len()), begin)
                && is(text.len().checked_sub(end.len()).and_then(|at| text.get(at..)), end)
        })
        .map(|(.., what)| *what)
}

fn content(line: &[u8]) -> Content<'_> {
    let (fields, payload) = Members::with_nested(line, "payload");
    let mut content = Content::default();
    let ty = fields.text("type");
    if matches!(&*ty, "response_item" | "event_msg") {
        content.ty = payload.text("type");
        match &*ty {
            "response_item" => item_content(&mut content, &payload),
            _ => event_content(&mut content, &payload),
        }
        return content;
    }
    match &*ty {
        "compacted" => content.text = payload.text("message"),
        "turn_context" => {
            content.model = payload.string("model");
            content.describe("model ", &payload.text("model"));
        }
        "token_usage_record" => {
            content.usage = payload.get("usage");
            content.describe("usage", "");
        }
        "inter_agent_communication" => content.text = payload.text("content"),
        "session_meta" => content.describe("session in ", &payload.text("cwd")),
        _ => {}
    }
    content.ty = ty;
    content
}

/// Reads the content of one item of the conversation: what a line has as its payload, and what a
/// compaction has in a list.
pub fn codex_item(item: &[u8]) -> Content<'_> {
    let payload = Members::new(item);
    let mut content = Content { ty: payload.text("type"), ..Content::default() };
    item_content(&mut content, &payload);
    content
}

/// Returns whether an item of the conversation is a prompt of the user.
pub fn is_codex_prompt(item: &[u8]) -> bool {
    let payload = Members::new(item);
    let is_summary = || {
        let content = payload.get("content").unwrap_or_default();
        each_object(content).next().is_some_and(|part| part.text("text").starts_with(SUMMARY))
    };
    payload.text("type") == "message"
        && payload.text("role") == "user"
        && put_in(item) == PutIn::Nothing
        && !is_summary()
}

/// How Codex begins the message that stands for what a compaction left out.
const SUMMARY: &str = "Another language model started to solve this problem";

fn event_content<'l>(content: &mut Content<'l>, payload: &Members<'l>) {
    match &*content.ty {
        "token_count" => {
            let info = payload.get("info").unwrap_or_default();
            content.usage = member(info, "last_token_usage");
            content.describe("usage", "");
        }
        "thread_rolled_back" => {
            let turns = String::from_utf8_lossy(payload.get("num_turns").unwrap_or_default());
            content.text = format!("{turns} turns undone").into();
            content.words = content.text.len();
        }
        _ => content.text = payload.text("message"),
    }
}

fn item_content<'l>(content: &mut Content<'l>, payload: &Members<'l>) {
    let text = |key| payload.text(key);
    match &*content.ty {
        "message" | "agent_message" => {
            content.role = text("role");
            content.blocks = parts(payload.get("content").unwrap_or_default());
        }
        "reasoning" => {
            let mut said = Vec::new();
            for list in ["summary", "content"] {
                let items = each_object(payload.get(list).unwrap_or_default());
                said.extend(items.map(|item| item.text("text").into_owned()));
            }
            let signed = payload.get("encrypted_content").is_some_and(|value| value.starts_with(b"\""));
            content.blocks.push(Block::Thinking { text: said.join("\n\n").into(), signed });
        }
        "function_call" => content.blocks.push(Block::Call {
            id: text("call_id"),
            name: text("name"),
            arguments: arguments(payload.get("arguments").unwrap_or_default()),
        }),
        "tool_search_call" => content.blocks.push(Block::Call {
            id: text("call_id"),
            name: Cow::Borrowed("tool_search"),
            arguments: payload.get("arguments").unwrap_or_default().into(),
        }),
        "custom_tool_call" => {
            let input = payload.get("input").unwrap_or(b"\"\"");
            let arguments = [b"{\"input\":", input, b"}"].concat();
            content.blocks.push(Block::Call {
                id: text("call_id"),
                name: text("name"),
                arguments: arguments.into(),
            });
        }
        "local_shell_call" | "web_search_call" | "image_generation_call" => {
            let id = [text("call_id"), text("id")].into_iter().find(|id| !id.is_empty()).unwrap_or_default();
            let name = match &*content.ty {
                "local_shell_call" => "shell",
                "web_search_call" => "web_search",
                _ => "image_generation",
            };
            let arguments = payload.get("action").unwrap_or_default().into();
            content.blocks.push(Block::Call { id, name: Cow::Borrowed(name), arguments });
        }
        "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
            let output = payload.get("output").or(payload.get("tools")).unwrap_or_default();
            result(content, text("call_id"), output);
        }
        ty => content.blocks.push(Block::Other(ty.to_owned().into())),
    }
    content.text_of_blocks();
}

/// Returns the arguments of a call: the model writes JSON, which is stored as a text. What is not
/// JSON becomes the only argument.
fn arguments(stored: &[u8]) -> Cow<'static, [u8]> {
    let Some(text) = string(stored) else { return stored.to_vec().into() };
    if text.is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() {
        return text.into_owned().into_bytes().into();
    }
    [b"{\"input\":", stored, b"}"].concat().into()
}

/// Returns the parts of a message, or of a result that is a list.
fn parts(list: &[u8]) -> Vec<Block<'_>> {
    let part = |item: Members<'_>| match &*item.text("type") {
        "input_image" => image(&item.text("image_url")),
        "refusal" => Block::Text(item.text("refusal").into_owned().into()),
        ty if item.get("text").is_none() => Block::Other(ty.to_owned().into()),
        _ => Block::Text(item.text("text").into_owned().into()),
    };
    match string(list) {
        Some(text) => vec![Block::Text(text)],
        None => each_object(list).map(part).collect(),
    }
}

/// Returns the block of an image, given its address: with the bytes in it, or elsewhere.
fn image(url: &str) -> Block<'static> {
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(','));
    let (about, data) = data.unwrap_or_default();
    let mime = about.split(';').next().unwrap_or_default();
    Block::image(mime.to_owned().into(), data.to_owned().into())
}

/// Adds a result: a text, a list of parts, or an object with a text (older versions).
fn result<'l>(content: &mut Content<'l>, call: Cow<'l, str>, output: &'l [u8]) {
    let inner = member(output, "content").filter(|_| output.starts_with(b"{")).unwrap_or(output);
    let mut inside = Content { blocks: parts(inner), ..Content::default() };
    inside.text_of_blocks();
    let is_error = member(output, "success") == Some(b"false") || has_failed(&inside.text);
    content.blocks.push(Block::Result { call, is_error, text: inside.text });
    content.blocks.extend(inside.blocks.into_iter().filter(|block| !matches!(block, Block::Text(_))));
}

/// Returns whether the first lines of a result, which Codex writes, report an exit code that is not
/// zero.
fn has_failed(text: &str) -> bool {
    const LINES: usize = 4;
    let code = |line: &str| {
        let code = line.strip_prefix("Process exited with code ").or(line.strip_prefix("Exit code: "));
        code.and_then(|code| code.trim().parse::<i64>().ok())
    };
    text.lines().take(LINES).find_map(code).is_some_and(|code| code != 0)
}
