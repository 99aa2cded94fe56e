//! The body of an entry: its texts, calls and results, line by line.

use super::View;
use crate::cmd::shared::summary_facts::other_fields;
use crate::format::{Block, Content};
use crate::json;
use crate::model::{Count, Ix};
use crate::ui::{Ink, Look, paint, text};
use std::borrow::Cow;

/// How many lines of a text are printed if not all are.
const SOME_LINES: usize = 10;

/// A line of an entry's text, without its indent.
pub(crate) struct Printed {
    ink: Option<Ink>,
    text: String,
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

/// How much of an entry is printed below its heading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Body {
    /// Some lines, and how much is left out.
    Some,
    /// All of it, including thinking and the arguments of calls.
    Full,
}

impl View<'_> {
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
}

pub(super) fn note(out: &mut Vec<Printed>, ink: Ink, line: &str) {
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
pub(super) fn fit_call(asked: &str, width: usize) -> String {
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
