//! The lines that bough adds to a Claude Code transcript as turns: prompts, notes to the model, and
//! compactions.

use crate::format::{Format, Object};
use crate::json::member_at;
use crate::model::Time;

/// The fields that all new lines share.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// The line of the entry from which the new line takes folder, version and branch; empty if
    /// there is none.
    pub like: &'a [u8],
    /// The time.
    pub now: Time,
    /// The session.
    pub session: Option<&'a str>,
}

/// Returns a `user` line. `parent` is JSON. A line with a `note` was not typed: Claude Code sends
/// it but does not show it.
pub fn prompt(
    envelope: Envelope<'_>,
    id: &str,
    parent: Option<&[u8]>,
    text: &str,
    note: Option<&str>,
) -> Vec<u8> {
    let mut row = Object::begin(Format::Claude)
        .id("parentUuid", parent)
        .raw("isSidechain", b"false")
        .text("type", "user")
        .raw("message", &message(text));
    if let Some(ty) = note {
        row = row.raw("isMeta", b"true").text("customType", ty);
    }
    envelope.finish(row, id)
}

/// Returns an `assistant` line, with the model that Claude Code gives to replies that it made itself. `message` is the id of the
/// reply.
pub fn reply(envelope: Envelope<'_>, id: &str, message: &str, parent: Option<&[u8]>, text: &str) -> Vec<u8> {
    let block = Object::begin(Format::Claude).text("type", "text").text("text", text).end();
    let usage = Object::begin(Format::Claude)
        .raw("input_tokens", b"0")
        .raw("output_tokens", b"0")
        .raw("cache_creation_input_tokens", b"0")
        .raw("cache_read_input_tokens", b"0");
    let message = Object::begin(Format::Claude)
        .text("id", message)
        .text("type", "message")
        .text("role", "assistant")
        .text("model", "<synthetic>")
        .raw("content", &[b"[", &block[..], b"]"].concat())
        .text("stop_reason", "stop_sequence")
        .text("stop_sequence", "")
        .raw("usage", &usage.end());
    let row = Object::begin(Format::Claude)
        .id("parentUuid", parent)
        .raw("isSidechain", b"false")
        .text("type", "assistant")
        .raw("message", &message.end());
    envelope.finish(row, id)
}

/// A compaction: its boundary, its summary, and the entries that stay.
#[derive(Clone, Copy, Debug)]
pub struct Compaction<'a> {
    /// The id of the boundary.
    pub boundary: &'a str,
    /// The id of the summary.
    pub summary: &'a str,
    /// The entry after which it comes, as JSON.
    pub after: Option<&'a [u8]>,
    /// The text of the summary.
    pub text: &'a str,
    /// The ids of the entries that stay, oldest first.
    pub kept: &'a [String],
    /// How many tokens the model had seen before.
    pub tokens_before: u64,
}

/// Returns the two lines of a compaction: the boundary, and the summary below it.
pub fn compaction(envelope: Envelope<'_>, compaction: Compaction<'_>) -> [Vec<u8>; 2] {
    let boundary = Object::begin(Format::Claude)
        .raw("parentUuid", b"null")
        .id("logicalParentUuid", compaction.after)
        .raw("isSidechain", b"false")
        .text("type", "system")
        .text("subtype", "compact_boundary")
        .text("content", "Conversation compacted")
        .raw("isMeta", b"false")
        .text("level", "info")
        .raw("compactMetadata", &metadata(&compaction).end());
    let below = Format::Claude.quoted(compaction.boundary);
    let summary = Object::begin(Format::Claude)
        .raw("parentUuid", &below)
        .raw("isSidechain", b"false")
        .text("type", "user")
        .raw("message", &message(compaction.text))
        .raw("isVisibleInTranscriptOnly", b"true")
        .raw("isCompactSummary", b"true");
    [envelope.finish(boundary, compaction.boundary), envelope.finish(summary, compaction.summary)]
}

/// Returns what the boundary of a compaction says of it: its size, and what it keeps.
fn metadata(compaction: &Compaction<'_>) -> Object {
    let tokens = compaction.tokens_before.to_string();
    let metadata =
        Object::begin(Format::Claude).text("trigger", "manual").raw("preTokens", tokens.as_bytes());
    let ([head, .., tail] | [head @ tail]) = compaction.kept else { return metadata };
    let segment = Object::begin(Format::Claude)
        .text("headUuid", head)
        .text("anchorUuid", compaction.summary)
        .text("tailUuid", tail);
    let uuids = serde_json::to_vec(compaction.kept).expect("ids are texts");
    let messages = Object::begin(Format::Claude)
        .text("anchorUuid", compaction.summary)
        .raw("uuids", &uuids)
        .raw("allUuids", &uuids);
    metadata.raw("preservedSegment", &segment.end()).raw("preservedMessages", &messages.end())
}

fn message(text: &str) -> Vec<u8> {
    Object::begin(Format::Claude).text("role", "user").text("content", text).end()
}

impl Envelope<'_> {
    /// Adds the fields at the end of every line.
    fn finish(self, row: Object, id: &str) -> Vec<u8> {
        let taken = |key: &str| member_at(self.like, &[key]);
        let mut row = row.text("uuid", id).text("timestamp", &self.now.iso()).text("userType", "external");
        if let Some(cwd) = taken("cwd") {
            row = row.raw("cwd", cwd);
        }
        if let Some(session) = self.session {
            row = row.text("sessionId", session);
        }
        for key in ["version", "gitBranch"] {
            if let Some(value) = taken(key) {
                row = row.raw(key, value);
            }
        }
        row.line()
    }
}

#[cfg(test)]
mod tests;
