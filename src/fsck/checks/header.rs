//! Checks of headers, versions, and the file as a whole.

use super::{Finder, Original, Same};
use crate::format::{Format, Note, NoteKind, OtherKind};
use crate::fsck::lines::title_slot;
use crate::fsck::table::Check;
use crate::json::member_at;
use crate::model::{Flags, Ix, Key, Kind, Source};
use std::io;

impl Finder<'_> {
    /// Checks headers, versions, and the file as a whole.
    pub(crate) fn headers(&mut self) -> io::Result<()> {
        let session = self.session;
        let facts = &session.files[0];
        if facts.crlf > 0 {
            let message =
                || format!("{} of {} lines end with carriage return and line feed", facts.crlf, facts.lines);
            self.file(Check::Crlf, message);
        }
        for other in session.others.iter().filter(|other| other.kind == OtherKind::Blank) {
            self.report_at(Check::BlankLine, other.line, other.span.offset, || "the line is blank".into());
        }
        let said = |kind| matches!(kind, Kind::User | Kind::Assistant | Kind::Tool | Kind::System);
        let mut turns = session
            .entries
            .all()
            .filter(|ix| said(session.entries.kind(*ix)) || session.entries.flags(*ix).has(Flags::TEXT));
        if turns.next().is_none() {
            self.file(Check::NoConversation, || "the session has no messages".into());
        }
        self.version();
        match session.format {
            Format::Chimera | Format::Claude | Format::HarnessV4 => {}
            format if format.is_guest() => {
                if session.header.is_none() {
                    self.file(Check::MissingHeader, || "the file has no header".into());
                }
            }
            _ => self.header_of_pi()?,
        }
        Ok(())
    }

    fn version(&mut self) {
        let session = self.session;
        let Some(newest) = session.format.newest_version() else { return };
        let version = session.version();
        if session.is_newer() {
            let version = version.unwrap_or("4").to_owned();
            let line = session.header.as_ref().map_or(0, |header| header.line);
            self.report_at(Check::UnsupportedVersion, line, 0, || {
                format!("version {version} is newer than {newest}, the newest that bough knows")
            });
        } else if matches!(session.format, Format::PiV1 | Format::PiV2 | Format::PiDesign)
            && session.header.is_some()
        {
            self.file(Check::LegacyVersion, || {
                format!(
                    "the file has version {}; `bough migrate SESSION` upgrades it to 3",
                    version.unwrap_or("1")
                )
            });
        }
    }

    /// Checks the first header, and reports the further ones.
    fn first_header(&mut self, first: &Note, further: &[&Note]) -> io::Result<()> {
        let session = self.session;
        // No release wrote the format of the design document, so it is unknown what its
        // header needs.
        if first.key == Key::NONE && session.format != Format::PiDesign {
            self.report_at(Check::MissingHeader, u64::from(first.line), first.offset, || {
                "the id of the header is missing or not a string".into()
            });
        }
        let time = member_at(&self.bytes(first)?, &["timestamp"]).map(<[u8]>::to_vec);
        let is_time = session.header.as_ref().is_some_and(|header| header.time.is_some());
        if let Some(time) = time.filter(|_| !is_time) {
            let time = String::from_utf8_lossy(&time).into_owned();
            self.report_at(Check::BadTimestamp, u64::from(first.line), first.offset, || {
                format!("the time of the header can't be read: {time}")
            });
        }
        if first.entry.0 > 0 {
            let line = u64::from(first.line);
            let message = || format!("{} entries are before the header", first.entry.0);
            self.report_at(Check::HeaderNotFirst, line, first.offset, message);
        }
        if !further.is_empty() {
            let original = Original::new(self.bytes(first)?, session.format);
            for further in further {
                let same = original.compare(&self.bytes(further)?) == Same::All;
                self.report_at(
                    Check::DuplicateHeader,
                    u64::from(further.line),
                    further.offset,
                    || match same {
                        true => "a copy of the header".into(),
                        false => "a second header, different from the first".into(),
                    },
                );
                if !same {
                    self.mark_unrepairable();
                }
            }
        }
        Ok(())
    }

    fn header_of_pi(&mut self) -> io::Result<()> {
        let session = self.session;
        let headers: Vec<_> = self.notes_of(NoteKind::Header).collect();
        match headers.first() {
            None => self.file(Check::MissingHeader, || "the file has no header".into()),
            Some(first) => self.first_header(first, &headers[1..])?,
        }
        let slot = session.others.first().filter(|other| other.kind == OtherKind::Title);
        if let Some(slot) = slot
            && let Some(wrong) = title_slot::wrong(&self.source.bytes(slot.span)?).first()
        {
            let message = || format!("`{wrong}` of the title slot is missing or wrong");
            self.report_at(Check::TitleSlot, slot.line, slot.span.offset, message);
        }
        if session.format == Format::PiV1 {
            return Ok(());
        }
        self.entries_without_id()
    }

    /// Checks the ids of the entries of pi.
    fn entries_without_id(&mut self) -> io::Result<()> {
        let session = self.session;
        // A misplaced title slot does not count as an entry, unless it hides the session.
        let is_entry =
            |ix: &Ix| session.entries.ty(*ix) != "title" || ix.index() + 1 == session.entries.len();
        let without = session.entries.all().filter(|ix| session.entries.key(*ix) == Key::NONE);
        let without: Vec<_> = without.filter(is_entry).collect();
        for ix in &without {
            self.entry(Check::MissingId, *ix, None, |_, _| Ok("the entry has no id".into()))?;
        }
        for note in self.notes_of(NoteKind::NumberId) {
            let words =
                |_: &Self, id: &str| Ok(format!("the id of the entry is the number {id}, not a string"));
            self.entry(Check::MissingId, note.entry, None, words)?;
        }
        let count = session.entries.len();
        if !without.is_empty() && without.len() == count {
            self.file(Check::ForkOfV1, || "entries of version 1 follow a header of a later version".into());
        } else if without.last().is_some_and(|ix| ix.index() + 1 == count) {
            let last = without[without.len() - 1];
            self.entry(Check::ForeignMarker, last, None, |_, _| {
                Ok("the last line has no id, so the agent would start a new session".into())
            })?;
        }
        Ok(())
    }
}
