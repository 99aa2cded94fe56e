//! Repairs of the header, and of the line with the title.

use crate::format::{Format, Ids, NoteKind, OtherKind};
use crate::fsck::checks::{Original, Same};
use crate::fsck::finding::Finding;
use crate::fsck::lines::title_slot;
use crate::fsck::lines::title_slot::{Fitted, fitted};
use crate::fsck::repair::Round;
use crate::fsck::repair::draft::{Draft, json};
use crate::fsck::table::Check;
use crate::json::{set_field, string_of};
use crate::model::{Source, Span, Time};
use std::io;

impl Round<'_> {
    pub(super) fn headers(
        &self,
        draft: &mut Draft<'_>,
        wanted: &[&Finding],
        ids: &mut Ids,
    ) -> io::Result<()> {
        let headers: Vec<_> = self.notes_of(NoteKind::Header).collect();
        let span = |at: usize| Span { file: 0, offset: headers[at].offset, len: headers[at].len };
        if wanted.iter().any(|finding| finding.check == Check::MissingHeader) {
            match headers.first() {
                None => draft.insert_at_top(self.new_header(ids)?, Check::MissingHeader),
                Some(header) => {
                    let id = self.id_in_name().unwrap_or_else(|| ids.uuid());
                    let line = u64::from(header.line);
                    draft.set_at(span(0), line, "", &["id"], &json(Some(&id)), Check::MissingHeader)?;
                }
            }
        }
        if wanted.iter().any(|finding| finding.check == Check::TitleSlot) {
            self.title_slot(draft)?;
        }
        if wanted.iter().any(|finding| finding.check == Check::HeaderNotFirst) && !headers.is_empty() {
            draft.move_to_top(span(0), u64::from(headers[0].line), Check::HeaderNotFirst)?;
        }
        if wanted.iter().any(|finding| finding.check == Check::DuplicateHeader) {
            let first = Original::new(self.source.bytes(span(0))?, self.session.format);
            for (at, header) in headers.iter().enumerate().skip(1) {
                if first.compare(&self.source.bytes(span(at))?) == Same::All {
                    draft.set_aside_at(span(at), u64::from(header.line), "", Check::DuplicateHeader)?;
                }
            }
            // The title slot that belonged to it.
            let slot = self.session.others.first().filter(|other| other.kind == OtherKind::Title);
            let slot = slot.map(|slot| self.source.bytes(slot.span)).transpose()?;
            let slot = slot.map(|slot| Original::new(slot, self.session.format));
            for ix in self.session.entries.all().filter(|ix| self.session.entries.ty(*ix) == "title") {
                let further = self.source.bytes(self.session.span(ix))?;
                if slot.as_ref().is_some_and(|slot| slot.compare(&further) == Same::All) {
                    draft.set_aside(ix, Check::DuplicateHeader)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the id of the session that the file is named after.
    fn id_in_name(&self) -> Option<String> {
        let named = self.around.stem().rsplit('_').next();
        named.filter(|name| uuid::Uuid::try_parse(name).is_ok()).map(str::to_owned)
    }

    /// Writes the fields of the title slot that are missing or wrong; if there is no room for them,
    /// removes the line.
    fn title_slot(&self, draft: &mut Draft<'_>) -> io::Result<()> {
        let Some(slot) = self.session.others.first().filter(|other| other.kind == OtherKind::Title) else {
            return Ok(());
        };
        let header = self.notes_of(NoteKind::Header).next();
        let span = header.map(|header| Span { file: 0, offset: header.offset, len: header.len });
        let header = span.map(|span| self.source.bytes(span)).transpose()?.unwrap_or_default();
        let (line, ending) = (self.source.bytes(slot.span)?, draft.ending_of(slot.span)?);
        let mut fields = Vec::new();
        for field in title_slot::wrong(&line) {
            fields.push((field, value_in_slot(field, &header)));
        }
        let mut whole = line;
        for (field, new) in &fields {
            let Some(next) = set_field(&whole, &[field], new) else { return Ok(()) };
            whole = next;
        }
        let Fitted::Slot(fitted) = fitted(&whole, ending.len().max(1)) else {
            return draft.set_aside_at(slot.span, slot.line, "", Check::TitleSlot);
        };
        for (field, new) in fields {
            draft.set_at(slot.span, slot.line, "", &[field], &new, Check::TitleSlot)?;
        }
        draft.pad_slot(slot.span, &whole, &fitted)
    }

    /// Returns a header with the legible parts of a truncated one, the id in the file's name, and
    /// the time of the first entry.
    fn new_header(&self, ids: &mut Ids) -> io::Result<Vec<u8>> {
        let torn = self.recovery.torn.iter().find(|torn| torn.ty.as_deref() == Some("session"));
        let id = torn.and_then(|torn| torn.id.clone()).or(self.id_in_name());
        let id = id.unwrap_or_else(|| ids.uuid());
        let mut time = torn.and_then(|torn| torn.time.clone());
        if time.is_none() {
            let dated = self.session.entries.all().find(|ix| self.session.entries.time(*ix).is_some());
            if let Some(ix) = dated {
                time = string_of(&self.source.bytes(self.session.span(ix))?, "timestamp");
            }
        }
        let version = match self.session.format {
            Format::PiV2 => "2",
            _ => torn
                .and_then(|torn| torn.version.as_deref())
                .filter(|v| matches!(*v, "2" | "3"))
                .unwrap_or("3"),
        };
        let mut header = format!("{{\"type\":\"session\",\"version\":{version},\"id\":").into_bytes();
        header.extend(json(Some(&id)));
        for (key, text) in [("timestamp", time), ("cwd", torn.and_then(|torn| torn.cwd.clone()))] {
            if let Some(text) = text {
                header.extend(format!(",\"{key}\":").into_bytes());
                header.extend(json(Some(&text)));
            }
        }
        header.push(b'}');
        Ok(header)
    }
}

/// Returns the value that a field of the title's line gets, from the header of the session.
fn value_in_slot(field: &str, header: &[u8]) -> Vec<u8> {
    let in_header = |field| string_of(header, field);
    match field {
        "v" => b"1".to_vec(),
        "title" => json(Some(&in_header("title").unwrap_or_default())),
        "source" => json(Some("user")),
        "updatedAt" => json(Some(&in_header("timestamp").unwrap_or_else(|| Time(0).iso()))),
        _ => json(Some("")),
    }
}
