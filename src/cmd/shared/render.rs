//! How an entry is shown: its row in a list, its text, and its object for scripts.

mod body;

use super::entry_json::{BlockRow, EntryRow};
use super::stored_results::{Shown, Stored};
use super::time;
use super::time::DateStyle;
use crate::format::{Block, Content, Session, Usage};
use crate::model::{Count, Ix, Kind, LineReader, Time, grouped};
use crate::ops::ids::ShortIds;
use crate::ops::tool_calls::ToolCalls;
use crate::ops::{filter, ids};
use crate::store::{Files, Opened};
use crate::ui::{Ink, Look, paint, text};
pub(crate) use body::Body;
use body::fit_call;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

/// The entries of one session, for showing them. Only the parts that are needed are read.
pub(crate) struct View<'s> {
    pub(crate) session: &'s Session,
    pub(crate) files: &'s Files,
    pub(crate) now: Time,
    /// How times are printed.
    pub(crate) date: DateStyle,
    short: ShortIds,
    calls: ToolCalls,
    id_width: usize,
    /// The entry that is marked as HEAD.
    marked: Option<Ix>,
    /// Whether entries of the conversation that are not listed are between that one and HEAD.
    is_below: bool,
    /// Additional notes about entries.
    pub(crate) marks: HashMap<Ix, Vec<String>>,
    /// The results in separate files, if they are to be shown.
    pub(crate) stored: Option<Stored>,
    lines: RefCell<LineReader>,
    /// The folder of the session as it appears at the start of paths, and in a command that changes
    /// to it.
    folder: Option<(String, String)>,
}

impl<'s> View<'s> {
    pub(crate) fn new(opened: &'s Opened) -> View<'s> {
        let entries = &opened.session.entries;
        let last = entries.all().next_back().map_or(0, |ix| entries.line(ix));
        let folder = opened.session.header.as_ref().and_then(|header| header.cwd.as_deref());
        let folder = folder.map(|folder| folder.trim_end_matches('/')).filter(|folder| folder.len() > 1);
        let without_ids = entries.all().next_back().is_some_and(|ix| !entries.key(ix).is_some());
        View {
            session: &opened.session,
            files: &opened.files,
            now: time::now(),
            date: DateStyle::default(),
            short: ShortIds::default(),
            calls: ToolCalls::default(),
            marked: opened.session.head.entry,
            is_below: false,
            marks: HashMap::new(),
            stored: None,
            lines: RefCell::default(),
            folder: folder.map(|folder| (format!("{folder}/"), format!("cd {folder} && "))),
            id_width: if without_ids { format!("line:{last}").len().max(ids::SHORT) } else { ids::SHORT },
        }
    }

    /// Marks as HEAD the nearest entry for which `shown` is true, if HEAD itself is not listed; as one with HEAD below it if
    /// other entries of the conversation are between them.
    pub(crate) fn mark(&mut self, shown: impl Fn(Ix) -> bool) {
        let head = self.session.head.entry;
        self.marked = head.and_then(|head| self.session.tree.ancestors(head).find(|ix| shown(*ix))).or(head);
        let above = head.into_iter().flat_map(|head| self.session.tree.ancestors(head));
        self.is_below =
            above.take_while(|ix| Some(*ix) != self.marked).any(|ix| self.session.is_conversation(ix));
    }

    /// Returns whether an entry is marked as HEAD.
    pub(crate) fn is_marked(&self, ix: Ix) -> bool {
        self.marked == Some(ix)
    }

    /// Returns the bytes of an entry's line.
    pub(crate) fn line(&self, ix: Ix) -> io::Result<Vec<u8>> {
        let span = self.session.span(ix);
        let file = self.session.files.get(usize::from(span.file));
        let mut lines = self.lines.borrow_mut();
        Ok(lines.line(self.files, file.map_or(0, |file| file.bytes), span)?.to_vec())
    }

    /// Returns the content of an entry, given its line.
    pub(crate) fn content<'l>(&self, line: &'l [u8]) -> Content<'l> {
        Content::read(self.session.format, line)
    }

    pub(crate) fn short_id(&self, ix: Ix) -> io::Result<String> {
        Ok(text::one_line(&self.short.short_id(self.session, self.files, ix)?))
    }

    pub(crate) fn id(&self, ix: Ix) -> io::Result<String> {
        ids::name(self.session, self.files, ix)
    }

    /// Returns the entry with the call of a tool result.
    pub(crate) fn call_of(&mut self, ix: Ix, content: &Content<'_>) -> Option<Ix> {
        self.calls.call(self.session, self.files, ix, content).map(|(call, _)| call)
    }

    /// Returns the entry in a few words; for a tool result, with its call.
    pub(crate) fn summary(&mut self, ix: Ix) -> io::Result<String> {
        let line = self.line(ix)?;
        let content = self.content(&line);
        Ok(self.summary_of(ix, &content))
    }

    pub(crate) fn summary_of(&mut self, ix: Ix, content: &Content<'_>) -> String {
        let call = self.calls.call_text(self.session, self.files, ix, content);
        self.without_folder(&content.summary_of(&call))
    }

    /// Does the same within `width` cells: for a result, both the question and the answer are
    /// shown.
    pub(crate) fn summary_within(&mut self, ix: Ix, content: &Content<'_>, width: usize) -> String {
        let call = self.calls.call_text(self.session, self.files, ix, content);
        let Some((asked, said)) = content.answer(&call) else {
            return text::fit(&self.without_folder(&content.summary_of(&call)), width);
        };
        let (asked, said) = (self.without_folder(&asked), self.without_folder(&said));
        if asked.is_empty() {
            return text::fit(&format!("→ {said}"), width);
        }
        // Half of very little is useless: then the question goes first.
        if width < 36 {
            return text::fit(&format!("{asked} → {said}"), width);
        }
        // If both don't fit, the answer gets half of the room, and more if the question is short.
        let room = width.saturating_sub(3);
        let asked = fit_call(&asked, room.saturating_sub(text::width(&said)).max(room / 2));
        text::fit(&format!("{asked} → {said}"), width)
    }

    /// Returns one line, with paths relative to the folder of the session.
    fn without_folder(&self, said: &str) -> String {
        let said = text::one_line(said);
        match &self.folder {
            Some((folder, cd)) if said.contains(&folder[..folder.len() - 1]) => {
                said.replace(cd.as_str(), "").replace(folder.as_str(), "")
            }
            _ => said,
        }
    }

    /// Returns the names of an entry: `HEAD`, `label: good`.
    pub(crate) fn names(&self, ix: Ix) -> Vec<(Ink, String)> {
        let mut names = Vec::new();
        if self.is_marked(ix) && !self.is_below {
            names.push((Ink::Head, "HEAD".to_owned()));
        }
        if let Some(label) = self.session.labels.label(ix) {
            names.push((Ink::Label, format!("label: {}", text::one_line(label))));
        }
        if self.is_marked(ix) && self.is_below {
            names.push((Ink::Head, "HEAD below".to_owned()));
        }
        for mark in self.marks.get(&ix).into_iter().flatten() {
            names.push((Ink::Quiet, text::one_line(mark)));
        }
        names
    }

    /// Returns the names in parentheses, cut to `width` cells; empty if there are none.
    pub(crate) fn decorations(&self, ix: Ix, look: &Look, width: usize) -> (usize, String) {
        let names = self.names(ix);
        if names.is_empty() || width < 4 {
            return (0, String::new());
        }
        // The parentheses, then the names with a comma and a space between them.
        let mut used = 2;
        let mut parts = Vec::new();
        for (ink, name) in names {
            let comma = if parts.is_empty() { 0 } else { 2 };
            let left = width.saturating_sub(used + comma);
            if left < 2 {
                break;
            }
            let name = text::fit(&name, left);
            used += comma + text::width(&name);
            parts.push(paint(look, ink, name));
        }
        let quiet = |sign: &str| paint(look, Ink::Quiet, sign);
        (used, format!("{}{}{}", quiet("("), parts.join(&quiet(", ")), quiet(")")))
    }

    /// Returns one row of a list, of at most `width` cells: id, kind, age, a few words, names.
    pub(crate) fn row(&mut self, ix: Ix, look: &Look, width: usize) -> io::Result<String> {
        let line = self.line(ix)?;
        let content = self.content(&line);
        self.row_of(ix, &content, look, width)
    }

    /// Returns the row of an entry whose content is known.
    pub(crate) fn row_of(
        &mut self,
        ix: Ix,
        content: &Content<'_>,
        look: &Look,
        width: usize,
    ) -> io::Result<String> {
        let kind = filter::shown_kind(self.session, ix);
        let id = text::pad(&self.short_id(ix)?, self.id_width);
        let mut used = text::width(&id);
        let mut row = paint(look, Ink::Id, id);
        let role = format!("{:<10}", kind.name());
        used += 2 + text::width(&role);
        row.push_str("  ");
        row.push_str(&paint(look, ink_of(kind), &role));
        // A narrow row has better uses for the cells.
        if width >= 60 || self.date != DateStyle::Relative {
            let age = self.date.column(self.session.entries.time(ix), self.now);
            // Whole times fill their column, and so do the longest names and ages.
            let is_full = !role.ends_with(' ') && !age.starts_with(' ');
            let gap = if is_full || self.date != DateStyle::Relative { " " } else { "" };
            let age = format!("{gap}{age}  ");
            used += text::width(&age);
            row.push_str(&paint(look, Ink::Quiet, age));
        }
        let room = width.saturating_sub(used);
        let (cells, names) = self.decorations(ix, look, room.saturating_sub(12).max(room / 2));
        let room = if cells == 0 { room } else { room.saturating_sub(cells + 2) };
        let summary = self.summary_within(ix, content, room);
        let said = match kind {
            _ if content.failed() => paint(look, Ink::Bad, &summary),
            Kind::User | Kind::Assistant => summary,
            Kind::Summary | Kind::Compaction => paint(look, Ink::Summary, &summary),
            _ => paint(look, Ink::Quiet, &summary),
        };
        row.push_str(&said);
        if cells > 0 {
            row.push_str("  ");
            row.push_str(&names);
        }
        Ok(row)
    }

    /// Returns the heading of an entry: id, kind, time, model, names.
    pub(crate) fn heading(&self, ix: Ix, content: &Content<'_>, look: &Look) -> io::Result<String> {
        let kind = filter::shown_kind(self.session, ix);
        let mut heading = format!(
            "{} {}",
            paint(look, Ink::Id, self.short_id(ix)?),
            paint(look, ink_of(kind), kind.name())
        );
        // The names say more than the model and the time.
        let mut used = text::width(&self.short_id(ix)?) + 1 + kind.name().len();
        let wanted = match self.decorations(ix, look, look.width) {
            (0, _) => 0,
            (cells, _) => cells + 2,
        };
        for note in self.time_and_model(ix, content).into_iter().map(|note| format!(" · {note}")) {
            if used + text::width(&note) + wanted > look.width {
                break;
            }
            used += text::width(&note);
            heading.push_str(&paint(look, Ink::Quiet, note));
        }
        let (cells, names) = self.decorations(ix, look, look.width.saturating_sub(used + 2));
        if cells > 0 {
            heading.push_str("  ");
            heading.push_str(&names);
        }
        Ok(heading)
    }

    /// Returns the time and the model of an entry, as far as they are known.
    fn time_and_model(&self, ix: Ix, content: &Content<'_>) -> Vec<String> {
        let time = self.session.entries.time(ix);
        let mut notes = Vec::new();
        if time.is_some() {
            let ago = if self.date == DateStyle::Relative { " ago" } else { "" };
            notes.push(format!("{}{ago}", self.date.format(time, self.now)));
        }
        if let Some(model) = content.model.as_ref().filter(|_| !content.role.is_empty()) {
            notes.push(text::one_line(model));
        }
        notes
    }

    /// Returns the size of an entry in bytes, and its tokens if they are stored.
    pub(crate) fn stat(&self, ix: Ix, content: &Content<'_>) -> String {
        let mut stat = Count("byte", "bytes", self.session.span(ix).len as usize).to_string();
        if let Some(usage) = content.usage() {
            stat += &format!(" · {}", tokens(&usage));
            if let Some(cost) = usage.cost.filter(|cost| *cost > 0.0) {
                stat += &format!(" · ${cost:.4}");
            }
        }
        stat
    }

    /// Returns an entry as JSON for scripts; `whole` adds its blocks. `add` may add fields.
    pub(crate) fn json(
        &self,
        ix: Ix,
        whole: bool,
        add: impl FnOnce(&mut EntryRow<'_>),
    ) -> io::Result<Vec<u8>> {
        let line = self.line(ix)?;
        let path = self.files.path(self.session.span(ix).file).display().to_string();
        let mut row = EntryRow::read(self.session, ix, &line, path, whole);
        if let Some(blocks) = &mut row.blocks {
            let results = blocks.iter_mut().filter_map(|block| match block {
                BlockRow::Result { stored, .. } => Some(stored),
                _ => None,
            });
            for (stored, shown) in results.zip(self.stored_of(ix, &self.content(&line))) {
                *stored = shown.as_ref().map(Shown::json_row);
            }
        }
        add(&mut row);
        Ok(row.to_json())
    }

    /// Returns the files that contain the results of an entry, one for each result; empty if they
    /// are not to be shown.
    fn stored_of(&self, ix: Ix, content: &Content<'_>) -> Vec<Option<Shown>> {
        let has_results = content.blocks.iter().any(|block| matches!(block, Block::Result { .. }));
        let (Some(stored), true) = (&self.stored, has_results) else { return Vec::new() };
        let Ok(line) = self.line(ix) else { return Vec::new() };
        let file = self.files.path(self.session.span(ix).file);
        stored.of_entry(self.session.format, file, &line, content)
    }
}

/// Returns the tokens of a reply: the uncached input, what was read from and written to the cache, and
/// the output.
pub(crate) fn tokens(usage: &Usage) -> String {
    let mut out = format!("{} in", Count("token", "tokens", usage.input as usize));
    if usage.cache_read > 0 {
        out += &format!(" · {} cache read", grouped(usage.cache_read as usize));
    }
    if usage.cache_write > 0 {
        out += &format!(" · {} cache write", grouped(usage.cache_write as usize));
        if usage.cache_write_1h > 0 {
            let five = usage.cache_write.saturating_sub(usage.cache_write_1h);
            let (five, hour) = (grouped(five as usize), grouped(usage.cache_write_1h as usize));
            out += &format!(" (5m {five}, 1h {hour})");
        }
    }
    out + &format!(" · {} out", Count("token", "tokens", usage.output as usize))
}

/// Returns the ink of a kind of entry.
pub(crate) fn ink_of(kind: Kind) -> Ink {
    match kind {
        Kind::User => Ink::User,
        Kind::Assistant => Ink::Assistant,
        Kind::Tool => Ink::Tool,
        Kind::Summary | Kind::Compaction => Ink::Summary,
        _ => Ink::Quiet,
    }
}
