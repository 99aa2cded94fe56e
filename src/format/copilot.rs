//! Events of the GitHub Copilot CLI: a tree of what happened in a session. Read, never written.
//!
//! Each line is `{type, data, id, timestamp, parentId}`; the first event is the header, and part of
//! the tree. Messages, calls and results are events among many that only report progress. Facts from
//! version 1.0.102 itself, and from `session-events.ts` of copilot-sdk.

use super::session::{Gathered, Head, Header, Session};
use super::{Block, Content, Dialect, LineVerdict, Link, ParentRef};
use crate::json::{Field, Line, Members, Shape, Value, each_object, member};
use crate::model::{Flags, Kind, Span, Time};
use std::borrow::Cow;

pub(super) struct Copilot;

impl Dialect for Copilot {
    fn classify<'l>(&self, line: &Line<'l>, gathered: &mut Gathered) -> LineVerdict<'l> {
        let fields = &line.fields;
        let (Shape::Object, Some(ty), Some(id)) =
            (line.shape, fields.str(Field::Type), fields.str(Field::Id).filter(|id| !id.raw.is_empty()))
        else {
            return LineVerdict::Unknown;
        };
        let time = fields.str(Field::Timestamp).map_or(Time::NONE, |time| gathered.clock.read(time.raw));
        let mut flags = Flags::default();
        let kind = match ty.raw {
            b"user.message" => {
                let typed = data_of(line).and_then(|data| member(data, "source"));
                flags.set(Flags::META, typed.is_some_and(|source| !matches!(source, b"\"user\"" | b"null")));
                flags.set(Flags::TEXT, says(line));
                Kind::User
            }
            b"assistant.message" => {
                let calls = data_of(line).and_then(|data| member(data, "toolRequests"));
                flags.set(Flags::CALL, each_object(calls.unwrap_or_default()).next().is_some());
                flags.set(Flags::TEXT, says(line));
                Kind::Assistant
            }
            b"tool.execution_complete" => {
                flags.set(Flags::RESULT, true);
                Kind::Tool
            }
            b"session.compaction_complete" => Kind::Compaction,
            b"skill.invoked" => Kind::Custom,
            other => {
                flags.set(Flags::BOOKKEEPING, true);
                match other {
                    b"session.start" => {
                        header(line, time, gathered);
                        Kind::Header
                    }
                    b"session.usage_record" | b"assistant.usage" => {
                        flags.set(Flags::HIDDEN, true);
                        Kind::Setting
                    }
                    b"session.title_changed" => {
                        let title = data_of(line).map(Members::new).and_then(|data| {
                            data.string("title").map(Cow::into_owned).filter(|title| !title.is_empty())
                        });
                        if title.is_some() {
                            gathered.name = title;
                            gathered.renamed = true;
                        }
                        Kind::Setting
                    }
                    b"session.model_change" | b"session.mode_changed" => Kind::Setting,
                    b"system.message" | b"system.notification" => Kind::System,
                    b"session.info" | b"session.warning" | b"session.error" => Kind::System,
                    _ => Kind::Progress,
                }
            }
        };
        LineVerdict::Entry(Link {
            id: Some(id),
            parent: match fields.get(Field::ParentId) {
                Value::String(parent) if !parent.raw.is_empty() => ParentRef::Id(parent),
                _ => ParentRef::None,
            },
            time,
            ty: Some(ty),
            flags,
            ..Link::new(kind)
        })
    }

    fn head(&self, session: &Session) -> Head {
        let leaf = session.tree.entries_in_tree().next_back();
        session.head_at(leaf, "the last entry in the file")
    }

    fn content<'l>(&self, line: &'l [u8]) -> Content<'l> {
        content(line)
    }
}

fn data_of<'l>(line: &Line<'l>) -> Option<&'l [u8]> {
    member(line.bytes?, "data")
}

/// Returns whether a message has a text; one that is too long to hold in memory has.
fn says(line: &Line<'_>) -> bool {
    data_of(line).is_none_or(|data| !crate::json::text(data, "content").trim().is_empty())
}

fn header(line: &Line<'_>, time: Time, gathered: &mut Gathered) {
    if gathered.header.is_some() {
        return;
    }
    let data = Members::new(data_of(line).unwrap_or_default());
    let context = Members::new(data.get("context").unwrap_or_default());
    let text = |members: &Members<'_>, key| {
        members.string(key).map(Cow::into_owned).filter(|text: &String| !text.is_empty())
    };
    gathered.header = Some(Header {
        line: line.number,
        span: Some(Span { file: gathered.file, offset: line.offset, len: line.len }),
        id: text(&data, "sessionId"),
        version: None,
        cwd: text(&context, "cwd"),
        time: Some(time).filter(|time| time.is_some()),
        parent: None,
        uuid: None,
    });
}

fn content(line: &[u8]) -> Content<'_> {
    let (fields, data) = Members::with_nested(line, "data");
    let mut content = Content { ty: fields.text("type"), ..Content::default() };
    let text = |key| data.text(key);
    match &*content.ty {
        "user.message" => {
            content.role = Cow::Borrowed("user");
            content.blocks.push(Block::Text(text("content")));
            for attachment in each_object(data.get("attachments").unwrap_or_default()) {
                let what = [attachment.text("displayName"), attachment.text("path"), attachment.text("type")];
                let what = what.into_iter().find(|what| !what.is_empty()).unwrap_or_default();
                content.blocks.push(Block::Other(what.into_owned().into()));
            }
        }
        "assistant.message" => {
            content.role = Cow::Borrowed("assistant");
            content.model = data.string("model");
            let thought = text("reasoningText");
            if !thought.is_empty() {
                let signed = data.get("reasoningOpaque").is_some();
                content.blocks.push(Block::Thinking { text: thought, signed });
            }
            let said = text("content");
            if !said.is_empty() {
                content.blocks.push(Block::Text(said));
            }
            for call in each_object(data.get("toolRequests").unwrap_or_default()) {
                content.blocks.push(Block::Call {
                    id: call.text("toolCallId").into_owned().into(),
                    name: call.text("name").into_owned().into(),
                    arguments: call.get("arguments").unwrap_or_default().to_vec().into(),
                });
            }
        }
        "tool.execution_complete" => {
            content.tool = data.string("toolName");
            let is_error = data.get("success") == Some(b"false");
            let result = data.get("result").or(data.get("error")).unwrap_or_default();
            let said = Members::new(result);
            let text = said.string("content").or(said.string("message")).unwrap_or_default();
            let text = text.into_owned().into();
            content.blocks.push(Block::Result { call: data.text("toolCallId"), is_error, text });
        }
        "session.compaction_complete" => {
            content.text = data.string("summaryContent").or(data.string("summary")).unwrap_or_default();
            return content;
        }
        "system.message" => {
            content.role = Cow::Borrowed("system");
            content.blocks.push(Block::Text(text("content")));
        }
        "session.usage_record" => {
            let usage = data.get("usage").unwrap_or_default();
            content.model = crate::json::string_of(usage, "model").map(Cow::Owned);
            content.usage = Some(usage);
            content.describe("usage", "");
            return content;
        }
        "assistant.usage" => {
            content.model = data.string("model");
            content.usage = crate::json::member(line, "data");
            content.describe("usage", "");
            return content;
        }
        "session.model_change" => {
            content.model = data.string("newModel");
            content.describe("model ", &text("newModel"));
            return content;
        }
        "session.start" => {
            let context = Members::new(data.get("context").unwrap_or_default());
            content.model = data.string("selectedModel");
            content.describe("session in ", &context.text("cwd"));
            return content;
        }
        "session.title_changed" => {
            content.describe("title ", &text("title"));
            return content;
        }
        _ => {
            let said = [text("content"), text("message"), text("toolName")];
            content.text = said.into_iter().find(|said| !said.is_empty()).unwrap_or_default();
            return content;
        }
    }
    content.text_of_blocks();
    content
}
