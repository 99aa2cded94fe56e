//! The screen of the navigator: the rows that are visible, the entry with the cursor, and the lines around them.

use super::markdown::{Mark, Markdown};
use super::navigator::{Navigator, Panel, Use};
use crate::cmd::shared::render::{Body, ink_of};
use crate::cmd::shared::time;
use crate::model::{Count, Ix, Kind, grouped};
use crate::ops::filter;
use crate::ui::{Ink, Look, spelled, text};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use std::collections::BTreeSet;

/// From so many columns on, the entry is shown on the right of the rows.
const WIDE: u16 = 100;

/// An entry whose line is longer is not shown as a whole beside the rows.
const LONG: u64 = 1 << 20;

/// Draws the screen, and tells the navigator how many rows it has. Gives where a typed line has its cursor.
pub(super) fn screen(
    navigator: &mut Navigator<'_>,
    status: &str,
    look: &Look,
    buffer: &mut Buffer,
) -> Option<(u16, u16)> {
    let area = buffer.area;
    let mut pen = Pen { buffer, look: *look };
    let [head, body, foot] = split(area);
    navigator.width = usize::from(area.width);
    if head.height > 0 {
        header(navigator, status, &mut pen, head);
    }
    match &navigator.kept.panel {
        Panel::Text(pager) => {
            panel(&pager.title, &pager.lines, pager.top, pager.is_diff, &mut pen, body);
            mark_words(pen.buffer, body, std::slice::from_ref(&pager.words));
            navigator.page = page_of(body);
        }
        Panel::Plan { title, lines, top, .. } => {
            panel(title, lines, *top, false, &mut pen, body);
            navigator.page = page_of(body);
        }
        _ => {
            let (list, line, preview) = panes(navigator.kept.preview, body);
            navigator.page = usize::from(list.height).max(1);
            rows(navigator, &mut pen, list);
            if let Some(preview) = preview {
                border(&mut pen, line);
                entry(navigator, &mut pen, preview);
            }
            let words = navigator.searched_words();
            for area in std::iter::once(list).chain(preview) {
                mark_words(pen.buffer, area, &words);
            }
        }
    }
    // It says whether there is more than fits.
    footer(navigator, &mut pen, foot)
}

/// How many lines of a text with a title there is room for.
fn page_of(body: Rect) -> usize {
    usize::from(body.height.saturating_sub(1)).max(1)
}

/// The line on top, the body, the line at the bottom. What has no room is left out.
fn split(area: Rect) -> [Rect; 3] {
    let Rect { x, y, width, height } = area;
    let head = u16::from(height >= 3);
    let foot = u16::from(height >= 2);
    [
        Rect { x, y, width, height: head },
        Rect { x, y: y + head, width, height: height - head - foot },
        Rect { x, y: y + height - foot, width, height: foot },
    ]
}

/// The rows, the line between, and the entry.
fn panes(preview: bool, body: Rect) -> (Rect, Rect, Option<Rect>) {
    let Rect { x, y, width, height } = body;
    if preview && width >= WIDE {
        let list = width * 11 / 20;
        return (
            Rect { width: list - 1, ..body },
            Rect { x: x + list, y, width: 1, height },
            Some(Rect { x: x + list + 2, y, width: width - list - 2, height }),
        );
    }
    if preview && height >= 12 {
        let list = height * 3 / 5;
        return (
            Rect { height: list, ..body },
            Rect { x, y: y + list, width, height: 1 },
            Some(Rect { x, y: y + list + 1, width, height: height - list - 1 }),
        );
    }
    (body, Rect::ZERO, None)
}

/// Writes on the screen.
struct Pen<'b> {
    buffer: &'b mut Buffer,
    look: Look,
}

impl Pen<'_> {
    /// Writes text from a column on, no farther than the right edge of an area. Gives the column after it.
    fn put(&mut self, area: Rect, x: u16, y: u16, said: &str, style: Style) -> u16 {
        let room = area.right().saturating_sub(x);
        if room == 0 || y >= area.bottom() {
            return x;
        }
        // Whatever it is, no control character gets to the terminal.
        let said = text::safe(said);
        self.buffer.set_stringn(x, y, said, usize::from(room), style).0
    }

    fn ink(&self, ink: Ink) -> Style {
        if !self.look.color {
            return Style::new();
        }
        let style = Style::new();
        match ink {
            Ink::Id | Ink::Warning => style.fg(Color::Yellow),
            Ink::User => style.fg(Color::Cyan).add_modifier(Modifier::BOLD),
            Ink::Assistant => style.fg(Color::Blue),
            Ink::Tool | Ink::Quiet => style.fg(Color::DarkGray),
            Ink::Summary | Ink::File => style.fg(Color::Magenta),
            Ink::Head => style.fg(Color::LightCyan).add_modifier(Modifier::BOLD),
            Ink::Label | Ink::Path => style.fg(Color::LightGreen).add_modifier(Modifier::BOLD),
            Ink::Branch | Ink::Good => style.fg(Color::Green),
            Ink::Match | Ink::Error => style.fg(Color::Red).add_modifier(Modifier::BOLD),
            Ink::Bad => style.fg(Color::Red),
            Ink::Strong => style.add_modifier(Modifier::BOLD),
            Ink::Column(_) => style.fg(Color::DarkGray),
        }
    }

    /// Our own signs and words, in ASCII if only that is drawn.
    fn own(&self, words: &str) -> String {
        if self.look.ascii { spelled(words) } else { words.to_owned() }
    }

    fn sign(&self, sign: &'static str, ascii: &'static str) -> &'static str {
        if self.look.ascii { ascii } else { sign }
    }
}

fn header(navigator: &Navigator<'_>, status: &str, pen: &mut Pen<'_>, area: Rect) {
    let model = navigator.model;
    let session = model.session();
    let name = model.path().file_name().unwrap_or_default().to_string_lossy();
    let mut parts = vec![text::one_line(&name), session.format.name().to_owned()];
    let head = session.head.entry.and_then(|head| navigator.view.short_id(head).ok());
    parts.push(head.map_or("no HEAD".into(), |head| format!("HEAD {head}")));
    parts.push(navigator.filter().0.to_owned());
    if !session.partial {
        parts.push(place(navigator));
    }
    if !navigator.kept.marked.is_empty() {
        parts.push(format!("{} marked", navigator.kept.marked.len()));
    }
    if navigator.kept.shows_matches {
        parts.push(format!("/{}", text::one_line(&navigator.kept.search)));
    }
    if !session.faults.is_empty() {
        parts.push("faults".into());
    }
    if navigator.is_agent_running {
        parts.push("agent running".into());
    }
    if navigator.kept.follow {
        parts.push("following".into());
    }
    if !status.is_empty() {
        parts.push(status.to_owned());
    }
    if navigator.has_changed {
        parts.push("changed, R reads it again".into());
    }
    let width = usize::from(area.width);
    // The names of most files are long, and say less than what follows.
    if text::width(&parts.join(" · ")) > width && text::width(&parts[0]) > 16 {
        navigator.bough.short_name().clone_into(&mut parts[0]);
    }
    let words = pen.own(&text::fit(&parts.join(" · "), width));
    pen.put(area, area.x, area.y, &words, Style::new().add_modifier(Modifier::BOLD));
}

/// Which of the visible rows has the cursor.
fn place(navigator: &Navigator<'_>) -> String {
    match navigator.visible() {
        0 => "no rows".into(),
        visible => {
            let row = navigator.folds.index(navigator.cursor) + 1;
            format!("row {} of {}", grouped(row), grouped(visible))
        }
    }
}

/// The line at the bottom: what is typed, what was said, or the keys that matter now.
fn footer(navigator: &Navigator<'_>, pen: &mut Pen<'_>, area: Rect) -> Option<(u16, u16)> {
    if area.height == 0 || area.width == 0 {
        return None;
    }
    let kept = &navigator.kept;
    let typed = match &kept.panel {
        Panel::Line(purpose, line) => Some((purpose.sign(), line)),
        Panel::Text(pager) => pager.typing.as_ref().map(|line| ("/", line)),
        _ => None,
    };
    if let Some((sign, line)) = typed {
        let x = pen.put(area, area.x, area.y, sign, pen.ink(Ink::Strong));
        let (typed, cursor) = line.visible(usize::from(area.right().saturating_sub(x)));
        let end = pen.put(area, x, area.y, &typed, Style::new());
        let offers = line.offers().join("  ");
        if !offers.is_empty() {
            let room = usize::from(area.right().saturating_sub(end + 2));
            let offers = pen.own(&format!("· {}", text::fit(&offers, room.saturating_sub(2))));
            pen.put(area, end + 2, area.y, &offers, pen.ink(Ink::Quiet));
        }
        return Some(((x + cursor as u16).min(area.right() - 1), area.y));
    }
    let message = if let Panel::Text(pager) = &kept.panel { &pager.message } else { &kept.message };
    if !message.is_empty() {
        let message = pen.own(&text::fit(message, usize::from(area.width)));
        pen.put(area, area.x, area.y, &message, Style::new());
        return None;
    }
    let keys = match (&kept.panel, navigator.purpose) {
        (Panel::Plan { lines, top, .. }, _) if lines.len() > top + navigator.page => {
            "Enter yes · Esc no · PgDn more"
        }
        (Panel::Plan { .. }, _) => "Enter yes · Esc no",
        (Panel::Text(_), _) => "j k PgUp PgDn scroll · / search · q close",
        (Panel::Go, _) => "g first row · ? all keys",
        (_, Use::SelectOne) => "Enter choose · g? keys · Esc leave · / search · ^O filter · Tab entry",
        (_, Use::SelectMany) => "Enter choose · Space mark · g? keys · Esc leave · / search · ^O filter",
        (_, Use::Act) if navigator.cursor_entry().is_some_and(|here| is_prompt(navigator, here)) => {
            "Enter edit this prompt again · g? keys · q leave · L label · / search · ^O filter · Space mark"
        }
        (_, Use::Act) => {
            "Enter switch here · g? keys · q leave · L label · / search · ^O filter · Space mark"
        }
    };
    let keys = pen.own(&text::fit(keys, usize::from(area.width)));
    pen.put(area, area.x, area.y, &keys, pen.ink(Ink::Quiet));
    None
}

fn is_prompt(navigator: &Navigator<'_>, ix: Ix) -> bool {
    crate::ops::revision::is_prompt(navigator.model.session(), ix)
}

fn border(pen: &mut Pen<'_>, line: Rect) {
    let style = pen.ink(Ink::Quiet);
    let sign = if line.height == 1 { pen.sign("─", "-") } else { pen.sign("│", "|") };
    for y in line.top()..line.bottom() {
        for x in line.left()..line.right() {
            pen.put(line, x, y, sign, style);
        }
    }
}

/// Shows where the words of a search are: the other way round than what is around them. Case does not matter.
fn mark_words(buffer: &mut Buffer, area: Rect, words: &[String]) {
    if words.is_empty() {
        return;
    }
    let (mut line, mut columns) = (String::new(), Vec::new());
    for y in area.top()..area.bottom() {
        line.clear();
        columns.clear();
        let mut x = area.left();
        while x < area.right() {
            let symbol = buffer[(x, y)].symbol();
            line.extend(symbol.chars().flat_map(char::to_lowercase));
            columns.resize(line.len(), x);
            x += (text::width(symbol) as u16).max(1);
        }
        let mut marked = BTreeSet::new();
        for word in words.iter().filter(|word| !word.is_empty()) {
            for (from, found) in line.match_indices(word.as_str()) {
                marked.extend(columns[from]..=columns[from + found.len() - 1]);
            }
        }
        for x in marked {
            buffer[(x, y)].modifier.toggle(Modifier::REVERSED);
        }
    }
}

/// A text with a title, over all of the body. In a diff, the first sign of a line says what became of it.
fn panel(title: &str, lines: &[String], top: usize, is_diff: bool, pen: &mut Pen<'_>, area: Rect) {
    let title = pen.own(&text::fit(title, usize::from(area.width)));
    pen.put(area, area.x, area.y, &title, Style::new().add_modifier(Modifier::BOLD));
    let lines = lines.iter().skip(top).take(usize::from(area.height.saturating_sub(1)));
    for (line, y) in lines.zip(area.y + 1..) {
        let style = match line.as_bytes().first() {
            Some(b'+') if is_diff => pen.ink(Ink::Good),
            Some(b'-') if is_diff => pen.ink(Ink::Bad),
            Some(b'~') if is_diff => pen.ink(Ink::Warning),
            _ => Style::new(),
        };
        let line = pen.own(&text::fit(line, usize::from(area.width)));
        pen.put(area, area.x, y, &line, style);
    }
}

/// The visible rows. Costs as much as there are on the screen.
fn rows(navigator: &mut Navigator<'_>, pen: &mut Pen<'_>, area: Rect) {
    let height = usize::from(area.height);
    let visible = navigator.visible();
    if visible == 0 {
        let words = if navigator.kept.filter == 0 {
            "no entries"
        } else {
            "this filter shows no entries; 5 shows all"
        };
        pen.put(area, area.x, area.y, words, pen.ink(Ink::Quiet));
        return;
    }
    let index = navigator.folds.index(navigator.cursor);
    navigator.top = top_of(navigator.top, index, height, visible);
    let shown: Vec<usize> = (navigator.top..visible.min(navigator.top + height))
        .map(|index| navigator.folds.row(index))
        .collect();
    // All rows of a screen leave out the same branch points, so that its columns are those of one tree.
    let room = (usize::from(area.width) / 2 / 3).max(1);
    let deepest = shown.iter().map(|row| navigator.rows.depth(*row)).max().unwrap_or(0);
    let from = deepest.saturating_sub(room);
    for (row, y) in shown.into_iter().zip(area.y..) {
        let area = Rect { y, height: 1, ..area };
        self::row(navigator, row, from, pen, area);
    }
}

/// The first row on the screen: as it was, if the cursor is on the screen then, and no farther than the last page.
fn top_of(top: usize, index: usize, height: usize, visible: usize) -> usize {
    let margin = (height / 4).min(3);
    let lowest = index.saturating_sub(height.saturating_sub(1 + margin));
    let highest = index.saturating_sub(margin);
    top.clamp(lowest, highest.max(lowest)).min(visible.saturating_sub(height))
}

fn row(navigator: &mut Navigator<'_>, row: usize, from: usize, pen: &mut Pen<'_>, area: Rect) {
    let ix = navigator.rows.entry(row);
    let has_cursor = row == navigator.cursor;
    let y = area.y;
    let mut x =
        pen.put(area, area.x, y, if has_cursor { pen.sign("› ", "> ") } else { "  " }, pen.ink(Ink::Strong));
    let folded = navigator.folds.is_folded(row);
    let guides = guides(navigator, row, from, pen);
    x = pen.put(area, x, y, &guides, pen.ink(Ink::Quiet));
    if folded && !navigator.rows.begins_branch(row) {
        x = pen.put(area, x, y, pen.sign("⊞ ", "+ "), pen.ink(Ink::Strong));
    }
    if navigator.rows.is_on_path(row) {
        x = pen.put(area, x, y, pen.sign("• ", "* "), pen.ink(Ink::Path));
    }
    if navigator.is_marked(ix) {
        x = pen.put(area, x, y, pen.sign("✓ ", "x "), pen.ink(Ink::Warning));
    }
    let session = navigator.model.session();
    let kind = filter::shown_kind(session, ix);
    // The age is on the right, if there is room for more than it.
    let mut area = area;
    if navigator.kept.times && area.right().saturating_sub(x) > 40 {
        let age = time::age(session.entries.time(ix), navigator.view.now);
        let cells = text::width(&age) as u16;
        let at = area.right() - cells;
        pen.put(area, at, y, &age, pen.ink(Ink::Quiet));
        area.width = at.saturating_sub(1 + area.x);
    }
    let names = navigator.view.names(ix);
    let names_width: usize = names.iter().map(|(_, name)| text::width(name) + 3).sum();
    x = pen.put(area, x, y, kind.name(), pen.ink(ink_of(kind)));
    x = pen.put(area, x, y, "  ", Style::new());
    let room = usize::from(area.right().saturating_sub(x));
    let names_room = names_width.min(room / 2);
    let summary = summary(navigator, ix, room - names_room);
    let style = match kind {
        Kind::User | Kind::Assistant => Style::new(),
        Kind::Summary | Kind::Compaction => pen.ink(Ink::Summary),
        _ => pen.ink(Ink::Quiet),
    };
    let style = if has_cursor { style.add_modifier(Modifier::BOLD) } else { style };
    x = pen.put(area, x, y, &pen.own(&summary), style);
    for (ink, name) in names {
        let room = usize::from(area.right().saturating_sub(x)).saturating_sub(3);
        if room < 2 {
            break;
        }
        x = pen.put(area, x, y, &format!(" [{}]", text::fit(&name, room)), pen.ink(ink));
    }
    if has_cursor {
        let line = Rect { width: pen.buffer.area.right().min(area.right()) - area.x, ..area };
        pen.buffer.set_style(line, Style::new().add_modifier(Modifier::REVERSED));
    }
}

/// What connects a row with those above it: bars for branches that follow, and a corner where a branch begins.
fn guides(navigator: &Navigator<'_>, row: usize, from: usize, pen: &Pen<'_>) -> String {
    let rows = &navigator.rows;
    let followed = rows.followed(row, from);
    let mut out = String::new();
    if from > 0 && rows.depth(row) > from {
        out.push_str(pen.sign("…", "~"));
    }
    for (at, follows) in followed.iter().enumerate() {
        let begins = at + 1 == followed.len() && rows.begins_branch(row);
        out.push_str(match (begins, *follows) {
            (true, true) => pen.sign("├", "|"),
            (true, false) => pen.sign("└", "`"),
            (false, true) => pen.sign("│", "|"),
            (false, false) => " ",
        });
        out.push_str(match begins {
            true if navigator.folds.is_folded(row) => pen.sign("⊞ ", "+ "),
            true => pen.sign("─ ", "- "),
            false => "  ",
        });
    }
    out
}

/// The summary of an entry in one line. What was read for the last screens is not read again.
fn summary(navigator: &mut Navigator<'_>, ix: Ix, width: usize) -> String {
    if let Some(summary) = navigator.summaries.get(&(ix, width)) {
        return summary.clone();
    }
    let summary = match navigator.view.line(ix) {
        Ok(line) => {
            let content = navigator.view.content(&line);
            navigator.view.summary_within(ix, &content, width)
        }
        Err(error) => text::fit(&error.to_string(), width),
    };
    if navigator.summaries.len() > 4096 {
        navigator.summaries.clear();
    }
    navigator.summaries.insert((ix, width), summary.clone());
    summary
}

/// The entry with the cursor, as far as there is room.
fn entry(navigator: &mut Navigator<'_>, pen: &mut Pen<'_>, area: Rect) {
    let Some(ix) = navigator.cursor_entry() else { return };
    let width = usize::from(area.width);
    let line = match navigator.view.line(ix) {
        Ok(line) => line,
        Err(error) => {
            pen.put(area, area.x, area.y, &error.to_string(), pen.ink(Ink::Bad));
            return;
        }
    };
    let content = navigator.view.content(&line);
    let plain = Look { color: false, width, ..pen.look };
    let heading = navigator.view.heading(ix, &content, &plain).unwrap_or_default();
    let heading = pen.own(&text::fit(&heading, width));
    pen.put(area, area.x, area.y, &heading, Style::new().add_modifier(Modifier::BOLD));
    let stat = pen.own(&text::fit(&navigator.view.stat(ix, &content), width));
    if area.height > 1 {
        pen.put(area, area.x, area.y + 1, &stat, pen.ink(Ink::Quiet));
    }
    let room = usize::from(area.height.saturating_sub(3));
    let whole = navigator.model.session().span(ix).len <= LONG;
    let body = if whole { Body::Full } else { Body::Some };
    let lines = navigator.view.body(ix, &content, width, body);
    navigator.room = room;
    let top = navigator.entry_top().min(lines.len().saturating_sub(room));
    navigator.kept.scrolled = (Some(navigator.model.session().entries.key(ix)), top);
    let left = lines.len().saturating_sub(top + room);
    let mut markdown = Markdown::default();
    for (at, line) in lines.iter().take(top + room).enumerate() {
        // What is above the screen decides whether a code block is open.
        let pieces = match line.ink() {
            None => markdown.pieces(line.text()),
            Some(_) => vec![(Mark::Plain, line.text())],
        };
        let Some(y) = at.checked_sub(top).map(|at| area.y + 3 + at as u16) else { continue };
        if at + 1 == top + room && left > 0 {
            let more =
                pen.own(&format!("… {}: J ^D scroll, o all", Count("more line", "more lines", left + 1)));
            pen.put(area, area.x, y, &more, pen.ink(Ink::Quiet));
            break;
        }
        let style = line.ink().map_or(Style::new(), |ink| pen.ink(ink));
        let mut x = area.x;
        for (mark, piece) in pieces {
            let style = match mark {
                Mark::Plain => style,
                Mark::Strong => style.add_modifier(Modifier::BOLD),
                Mark::Code => pen.ink(Ink::Good),
                Mark::Quiet => pen.ink(Ink::Quiet),
            };
            x = pen.put(area, x, y, piece, style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn the_words_of_a_search_are_marked() {
        let check = |text: &str, words: &str, wanted: &str| {
            let mut buffer = Buffer::empty(Rect { x: 0, y: 0, width: 14, height: 1 });
            buffer.set_string(0, 0, text, Style::new());
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            mark_words(&mut buffer, Rect { x: 1, y: 0, width: 12, height: 1 }, &words);
            let is_marked = |x| buffer[(x, 0)].modifier.contains(Modifier::REVERSED);
            let marks: String = (0..14).map(|x| if is_marked(x) { '^' } else { ' ' }).collect();
            assert_eq!(marks.trim_end(), wanted, "{words:?} in {text}");
        };
        //    the line             words      marks
        check(" a Fox, a fox",     "fox",     "   ^^^    ^^^");
        check(" foxes",            "fox oxe", " ^^^^");         // once, where two overlap
        check(" \u{4e2d}\u{6587} fox", "\u{6587}", "   ^");    // a wide sign
        check(" \u{c4}pfel",       "\u{e4}p", " ^^");
        check("fox",               "fox",     "");
        check(" a fox",            "",        "");
    }

    #[test]
    #[rustfmt::skip] // a table
    fn the_cursor_stays_on_the_screen() {
        let check = |top, index, height, visible, wanted| assert_eq!(top_of(top, index, height, visible), wanted);
        //    top  index  height  rows   first row on the screen
        check(0,   0,     10,     5,     0);
        check(0,   9,     10,     100,   2);
        check(50,  9,     10,     100,   7);
        check(50,  55,    10,     100,   50);
        check(0,   99,    10,     100,   90);
        check(0,   5,     1,      100,   5);
        check(0,   0,     0,      100,   0);
        check(95,  99,    10,     100,   90);
    }

    #[test]
    fn every_size_is_split() {
        for width in 0..130 {
            for height in 0..40 {
                let area = Rect { x: 0, y: 0, width, height };
                let parts = split(area);
                assert_eq!(parts.iter().map(|part| part.height).sum::<u16>(), height);
                let (list, line, entry) = panes(true, parts[1]);
                for part in [Some(list), Some(line), entry].into_iter().flatten() {
                    assert!(part.area() == 0 || area.union(part) == area, "{width}x{height}: {part:?}");
                }
            }
        }
    }
}
