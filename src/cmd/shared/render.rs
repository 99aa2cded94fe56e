//! How an entry is shown: its row in a list, its text, and its object for scripts.

use super::entry_json::{BlockRow, EntryRow};
use super::stored_results::{Shown, Stored};
use super::summary_facts::other_fields;
use super::time;
use super::time::DateStyle;
use crate::format::{Block, Content, Session, Usage};
use crate::json;
use crate::model::{Count, Ix, Kind, LineReader, Time, grouped};
use crate::ops::ids::ShortIds;
use crate::ops::tool_calls::ToolCalls;
use crate::ops::{filter, ids};
use crate::store::{Files, Opened};
use crate::ui::{Ink, Look, paint, text};
use std::borrow::Cow;
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
    /// Additional notes about entries.
    pub(crate) marks: HashMap<Ix, Vec<String>>,
    /// The results in separate files, if they are to be shown.
    pub(crate) stored: Option<Stored>,
    lines: RefCell<LineReader>,
    /// The folder of the session as it appears at the start of paths, and in a command that changes
    /// to it.
    folder: Option<(String, String)>,
}

/// A line of an entry's text, without its indent.
pub(crate) struct Printed {
    ink: Option<Ink>,
    text: String,
}

/// How much of an entry is printed below its heading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Body {
    /// Some lines, and how much is left out.
    Some,
    /// All of it, including thinking and the arguments of calls.
    Full,
}

/// How many lines of a text are printed if not all are.
const SOME_LINES: usize = 10;

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
            marks: HashMap::new(),
            stored: None,
            lines: RefCell::default(),
            folder: folder.map(|folder| (format!("{folder}/"), format!("cd {folder} && "))),
            id_width: if without_ids { format!("line:{last}").len().max(ids::SHORT) } else { ids::SHORT },
        }
    }

    /// Marks as HEAD the nearest entry for which `shown` is true, if HEAD itself is not listed.
    pub(crate) fn mark(&mut self, shown: impl Fn(Ix) -> bool) {
        let head = self.session.head.entry;
        self.marked = head.and_then(|head| self.session.tree.ancestors(head).find(|ix| shown(*ix))).or(head);
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
        if self.is_marked(ix) {
            names.push((Ink::Head, "HEAD".to_owned()));
        }
        if let Some(label) = self.session.labels.label(ix) {
            names.push((Ink::Label, format!("label: {}", text::one_line(label))));
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
        row.push_str(&paint(look, ink_of(kind), role));
        // A narrow row has better uses for the cells.
        if width >= 60 || self.date != DateStyle::Relative {
            let age = format!("{}  ", self.date.column(self.session.entries.time(ix), self.now));
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

    /// Returns the text of an entry, wrapped to `width` cells.
    pub(crate) fn body(&mut self, ix: Ix, content: &Content<'_>, width: usize, body: Body) -> Vec<Printed> {
        let mut out = Vec::new();
        let call = self.calls.call_text(self.session, self.files, ix, content);
        let full = body == Body::Full;
        let all_lines = full || text::is_whole();
        let mut stored = self.stored_of(ix, content).into_iter();
        for block in &content.blocks {
            match block {
                Block::Text(said) => push_text(&mut out, None, said, width, all_lines),
                Block::Thinking { text: thought, signed } if full => {
                    let sign = if *signed { "thinking (signed)" } else { "thinking" };
                    note(&mut out, Ink::Quiet, sign);
                    push_below(&mut out, Some(Ink::Quiet), thought, width, all_lines);
                }
                Block::Thinking { .. } => {}
                Block::Call { name, arguments, .. } if full => {
                    note(&mut out, Ink::Tool, &format!("→ {}", text::one_line(name)));
                    arguments_of(&mut out, arguments, width);
                }
                Block::Call { name, arguments, .. } => {
                    let words = text::one_line(&crate::format::call_words(name, arguments));
                    note(&mut out, Ink::Tool, &text::fit(&format!("→ {words}"), width));
                }
                Block::Result { is_error, text: said, .. } => {
                    let asked = [&call, content.tool.as_deref().unwrap_or_default(), "result"];
                    let asked = asked.into_iter().find(|asked| !asked.is_empty()).unwrap_or_default();
                    let sign = if *is_error { "failed: " } else { "" };
                    let ink = if *is_error { Ink::Bad } else { Ink::Tool };
                    note(&mut out, ink, &text::fit(&format!("← {sign}{}", text::one_line(asked)), width));
                    push_below(&mut out, None, said, width, all_lines);
                    if let Some(stored) = stored.next().flatten() {
                        note(&mut out, Ink::Quiet, &format!("  [{}]", text::one_line(&stored.heading())));
                        push_below(&mut out, None, stored.text().unwrap_or_default(), width, all_lines);
                        if let Some(more) = stored.more() {
                            note(&mut out, Ink::Quiet, &format!("  [{more}]"));
                        }
                    }
                }
                Block::Image { mime, bytes, .. } => {
                    let size = if *bytes > 0 {
                        format!(", {}", Count("byte", "bytes", *bytes as usize))
                    } else {
                        String::new()
                    };
                    note(&mut out, Ink::Quiet, &format!("[image: {}{size}]", text::one_line(mime)));
                }
                Block::Other(ty) => note(&mut out, Ink::Quiet, &format!("[{}]", text::one_line(ty))),
            }
        }
        let told = content.blocks.iter().any(|block| matches!(block, Block::Text(_) | Block::Result { .. }));
        if !told && !content.text.is_empty() {
            push_text(&mut out, None, &content.text, width, all_lines);
        }
        if out.is_empty() {
            note(&mut out, Ink::Quiet, &text::fit(&text::one_line(&content.summary()), width));
        }
        if full && let Ok(line) = self.line(ix) {
            fields(&mut out, other_fields(self.session.entries.kind(ix), &line).into_iter(), width);
        }
        out
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

impl Printed {
    /// Returns what the line is, as far as its color goes.
    pub(crate) fn ink(&self) -> Option<Ink> {
        self.ink
    }

    /// Returns the line without color.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the line, painted.
    pub(crate) fn painted(&self, look: &Look) -> String {
        match self.ink {
            Some(ink) => paint(look, ink, &self.text),
            None => self.text.clone(),
        }
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

fn note(out: &mut Vec<Printed>, ink: Ink, line: &str) {
    out.push(Printed { ink: Some(ink), text: line.to_owned() });
}

fn push_text(out: &mut Vec<Printed>, ink: Option<Ink>, said: &str, width: usize, full: bool) {
    push_indented(out, ink, said, width, full, "");
}

/// Adds text below its own heading.
fn push_below(out: &mut Vec<Printed>, ink: Option<Ink>, said: &str, width: usize, full: bool) {
    push_indented(out, ink, said, width, full, "  ");
}

fn push_indented(
    out: &mut Vec<Printed>,
    ink: Option<Ink>,
    said: &str,
    width: usize,
    full: bool,
    indent: &str,
) {
    // Only the lines that are shown are wrapped: a text may be as long as a file.
    let mut lines = said.trim_end().lines().skip_while(|line| line.trim().is_empty());
    let mut shown = 0;
    for line in lines.by_ref() {
        if shown >= SOME_LINES && !full {
            let more = lines.count() + 1;
            let words = format!("{indent}… {}: --full", Count("more line", "more lines", more));
            return out.push(Printed { ink: Some(Ink::Quiet), text: words });
        }
        let line = if full { line } else { cut(line, width * SOME_LINES) };
        for line in text::wrap(&text::safe(&text::without_colors(line)), width.saturating_sub(indent.len())) {
            let text = if line.is_empty() { line } else { format!("{indent}{line}") };
            out.push(Printed { ink, text });
            shown += 1;
        }
        if line.is_empty() {
            out.push(Printed { ink: None, text: String::new() });
            shown += 1;
        }
    }
}

/// Returns a call of at most `width` cells; the end of a long path is kept, because it says more
/// than its start.
fn fit_call(asked: &str, width: usize) -> String {
    let is_too_wide = !text::is_whole() && text::width(asked) > width;
    let Some((name, path)) = asked.split_once(' ').filter(|_| is_too_wide) else {
        return text::fit(asked, width);
    };
    let room = width.saturating_sub(text::width(name) + 2);
    if !path.contains('/') || path.contains(' ') || room < 8 {
        return text::fit(asked, width);
    }
    let mut end = path;
    while text::width(end) > room {
        let mut characters = end.chars();
        characters.next();
        end = characters.as_str();
    }
    // Cut at a slash, if that leaves something.
    let end = end.find('/').filter(|at| *at + 1 < end.len()).map_or(end, |at| &end[at..]);
    format!("{name} …{end}")
}

/// Returns the start of a line, at most `most` characters.
fn cut(line: &str, most: usize) -> &str {
    line.char_indices().nth(most).map_or(line, |(at, _)| &line[..at])
}

/// Adds the arguments of a call, one per line: text as text, everything else as JSON.
fn arguments_of(out: &mut Vec<Printed>, arguments: &[u8], width: usize) {
    fields(out, json::each_member(arguments), width);
}

/// Adds fields, one per line: text as text, everything else as JSON.
fn fields<'l>(out: &mut Vec<Printed>, members: impl Iterator<Item = (Cow<'l, str>, &'l [u8])>, width: usize) {
    for (key, value) in members {
        let said = json::string(value).unwrap_or_else(|| String::from_utf8_lossy(value));
        let line = format!("  {}: {said}", text::one_line(&key));
        if !said.contains('\n') && text::width(&line) <= width {
            note(out, Ink::Tool, &text::safe(&line));
        } else {
            note(out, Ink::Tool, &format!("  {}:", text::one_line(&key)));
            push_indented(out, Some(Ink::Tool), &said, width, true, "    ");
        }
    }
}
