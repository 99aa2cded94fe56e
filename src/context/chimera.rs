//! What Chimera sends: every message and compaction of the path, each in its place. A compaction leaves nothing out.

use super::told::told;
use super::{Context, Message, Model, Origin, Part, Said, Why, member, string, text};
use crate::format::{Content, Format, Session};
use crate::model::{Ix, Kind, Source};
use std::borrow::Cow;
use std::io;

/// What the program puts around the summary of a compaction.
const SUMMARY: Part = Part::Wrapped("[Session compacted. Summary: ", "]");

pub(super) fn build(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> io::Result<Context> {
    let mut context = Context::default();
    let mut line = Vec::new();
    for entry in leaf.map(|leaf| session.tree.path(leaf)).unwrap_or_default() {
        match (session.entries.ty(entry), session.entries.kind(entry)) {
            ("message", _) => {
                source.read(session.span(entry), &mut line)?;
                let role = text(member(&line, "message").unwrap_or_default(), "role").into_owned();
                context.messages.push(Message::new(entry, role, Origin::Message, Part::Message));
            }
            (_, Kind::Compaction) => {
                context.messages.push(Message::new(entry, "user", Origin::Compaction, SUMMARY));
            }
            (_, Kind::Setting) => {
                source.read(session.span(entry), &mut line)?;
                let value = member(&line, "value").and_then(string).unwrap_or_default().into_owned();
                match &*text(&line, "kind") {
                    "model" => {
                        let model = Model { provider: String::new(), name: value };
                        context.models = vec![("default".into(), model)];
                    }
                    "thinking" => context.thinking = Some(value),
                    _ => {}
                }
                context.drop(entry, Why::NoPart);
            }
            _ => context.drop(entry, Why::NoPart),
        }
    }
    Ok(context)
}

pub(super) fn said<'l>(message: &Message, line: &'l [u8]) -> Said<'l> {
    if let Part::Wrapped(before, behind) = message.part {
        let summary = member(line, "summary").unwrap_or_default();
        let text: Cow<'l, str> = format!("{before}{}{behind}", string(summary).unwrap_or_default()).into();
        let blocks = vec![super::Block::Text(text.clone())];
        return Said { text, blocks, usage: None, bytes: summary.len() };
    }
    let content = member(member(line, "message").unwrap_or_default(), "content").unwrap_or_default();
    Said {
        text: told(content),
        blocks: Content::of(Format::Chimera, line).blocks,
        usage: None,
        bytes: content.len(),
    }
}
