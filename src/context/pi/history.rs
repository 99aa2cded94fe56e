//! Where a request begins: the compactions, the snapshots and the history that a provider keeps.

use super::{Build, OF_ITS_TIME, ROLLOVER, parsed_entry};
use crate::context::text;
use crate::format::{Format, Session};
use crate::json::{each_item, member, string};
use crate::model::{Ix, Key, Kind};
use std::io;

impl Build<'_> {
    /// Returns the position on the path of the first entry that a compaction keeps.
    pub(super) fn first_kept(&mut self, before: &[Ix], compaction: Ix) -> io::Result<Option<usize>> {
        let (format, session) = (self.session.format, self.session);
        let line = self.read(compaction)?;
        let key = format.names().kept;
        if format == Format::PiV1 {
            let index = kept_index(line);
            let kept = index.and_then(|index| parsed_entry(session, index));
            let place = kept.and_then(|kept| before.iter().position(|entry| *entry == kept));
            if place.is_none() && index == Some(0) {
                self.context.note = Some(OF_ITS_TIME);
            }
            return Ok(place);
        }
        let id = text(line, key);
        let kept = Key::hash(id.as_bytes());
        let there = member(line, key).is_some();
        if there { Ok(before.iter().position(|entry| session.entries.key(*entry) == kept)) } else { Ok(None) }
    }

    /// Returns the provider history that a compaction of oh-my-pi may carry: how many items it has,
    /// and from which position on entries before the compaction are still sent.
    pub(super) fn provider_history(
        &mut self,
        before: &[Ix],
        compaction: Ix,
    ) -> io::Result<Option<(usize, Option<usize>)>> {
        if !self.omp() {
            return Ok(None);
        }
        let session = self.session;
        let line = self.read(compaction)?;
        let history = member(line, "preserveData").and_then(|data| member(data, "openaiRemoteCompaction"));
        let Some(history) = history.filter(|history| !text(history, "provider").is_empty()) else {
            return Ok(None);
        };
        let Some(items) = member(history, "replacementHistory").filter(|items| items.starts_with(b"["))
        else {
            return Ok(None);
        };
        if each_item(items).any(|item| !item.starts_with(b"{")) {
            return Ok(None);
        }
        let through = text(line, "providerReplayThroughEntryId");
        let through = (!through.is_empty()).then(|| Key::hash(through.as_bytes()));
        let place = before.iter().position(|entry| Some(session.entries.key(*entry)) == through);
        Ok(Some((each_item(items).count(), place.map(|place| place + 1))))
    }

    /// Returns the position on the path from which on a compaction with an Anthropic snapshot keeps
    /// entries, if it names no first kept entry but only the last one in the snapshot.
    pub(super) fn behind_snapshot(&mut self, before: &[Ix], compaction: Ix) -> io::Result<Option<usize>> {
        if !self.omp() {
            return Ok(None);
        }
        let session = self.session;
        let line = self.read(compaction)?;
        let snapshot = member(line, "preserveData").and_then(|data| member(data, "anthropicCompaction"));
        let is_text = |key| snapshot.and_then(|snapshot| member(snapshot, key)).and_then(string).is_some();
        if member(line, "firstKeptEntryId") != Some(b"\"\"") || !is_text("provider") || !is_text("content") {
            return Ok(None);
        }
        let through = text(line, "providerReplayThroughEntryId");
        let through = Some(Key::hash(through.as_bytes())).filter(|_| !through.is_empty());
        let place = before.iter().position(|entry| Some(session.entries.key(*entry)) == through);
        Ok(place.map(|place| place + 1))
    }

    /// Returns the position of the user's last request before a compaction that keeps it without a
    /// summary, if it comes before the first kept entry. That entry is searched on the whole path,
    /// and may be the compaction itself.
    pub(super) fn request_before(&mut self, path: &[Ix], compaction: usize) -> io::Result<Option<usize>> {
        if !self.omp() {
            return Ok(None);
        }
        let session = self.session;
        let line = self.read(path[compaction])?;
        if member(line, "details").is_none_or(|details| text(details, "kind") != ROLLOVER) {
            return Ok(None);
        }
        let kept = Key::hash(text(line, "firstKeptEntryId").as_bytes());
        let first = path.iter().position(|entry| session.entries.key(*entry) == kept);
        for (place, &entry) in path[..compaction].iter().enumerate().rev() {
            if self.session.entries.ty(entry) == "reset_boundary" {
                break;
            }
            if self.is_request(entry)? {
                return Ok(Some(place).filter(|place| first.is_some_and(|first| *place < first)));
            }
        }
        Ok(None)
    }

    /// Returns whether an entry is a request of the user: a prompt, or a message of a skill or of a
    /// peer in the user's name.
    fn is_request(&mut self, entry: Ix) -> io::Result<bool> {
        let is_custom = match (self.session.entries.ty(entry), self.session.entries.kind(entry)) {
            ("message", Kind::User) => return Ok(true),
            ("message", Kind::Custom) => false,
            ("custom_message", _) => true,
            _ => return Ok(false),
        };
        let line = self.read(entry)?;
        let message = if is_custom { line } else { member(line, "message").unwrap_or_default() };
        let content = member(message, "content");
        let is_sent = !is_custom || content.is_some_and(|content| matches!(content[0], b'[' | b'"'));
        let by_user = text(message, "attribution") == "user";
        let is_of_user = matches!(&*text(message, "customType"), "skill-prompt" | "collab-prompt");
        let is_custom = is_custom || text(message, "role") == "custom";
        Ok(is_custom && is_sent && by_user && is_of_user)
    }
}

/// Returns the first entry that a compaction of version 1 keeps, if there is one; `line` is the
/// compaction's line.
pub(crate) fn kept_in_version_1(session: &Session, line: &[u8]) -> Option<Ix> {
    parsed_entry(session, kept_index(line)?)
}

fn kept_index(line: &[u8]) -> Option<usize> {
    let index: f64 = std::str::from_utf8(member(line, "firstKeptEntryIndex")?).ok()?.parse().ok()?;
    (index >= 0.0 && index.fract() == 0.0).then_some(index as usize)
}
