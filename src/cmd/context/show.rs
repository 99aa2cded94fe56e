//! Showing the messages, what is dropped, and sums.

use super::json::{ContextRow, DroppedRow, RoleRow, block_text};
use crate::cmd::shared::rows;
use crate::context::{Context, Dropped, Message, Patch, Said};
use crate::format::Session;
use crate::model::{Count, Ix, Source};
use crate::ops::ids;
use crate::ui::{Ui, text};
use std::io;

pub(super) struct Show<'s> {
    pub(super) session: &'s Session,
    pub(super) source: &'s dyn Source,
    pub(super) context: &'s Context,
    pub(super) short: ids::ShortIds,
}

impl Show<'_> {
    pub(super) fn messages(&self, oneline: bool, ui: &mut Ui) -> anyhow::Result<()> {
        let mut line = Vec::new();
        for (place, message) in self.context.messages.iter().enumerate() {
            let said = message.read(self.session, self.source, &mut line)?;
            if ui.look.json {
                rows::print(&self.message_row(message, &said)?, ui)?;
                continue;
            }
            let head = self.head(message)?;
            if oneline {
                let head = text::pad(&head, if ui.look.width < 60 { 0 } else { 28 });
                let words = if message.is_sent() { in_short(&said) } else { "(not sent)".into() };
                let room = ui.look.width.saturating_sub(text::width(&head) + 2).max(8);
                writeln!(ui.out(), "{}", format!("{head}  {}", text::fit(&words, room)).trim_end())?;
                continue;
            }
            if place > 0 {
                writeln!(ui.out())?;
            }
            writeln!(ui.out(), "{head}")?;
            if message.is_sent() {
                for block in &said.blocks {
                    indented(&block_text(block), ui)?;
                }
            }
            for patch in &message.patches {
                let by = match patch {
                    Patch::Edited { by } => format!(" ({})", self.name(*by)?),
                    Patch::NoCall { why, .. } => match why.culprit() {
                        Some(by) => format!(" ({})", self.name(by)?),
                        None => String::new(),
                    },
                    _ => String::new(),
                };
                writeln!(ui.out(), "  ! {}{by}", text::one_line(&patch.to_string()))?;
            }
        }
        Ok(())
    }

    /// Returns the first line of a message: role, entry, and its origin if that is not a message.
    fn head(&self, message: &Message) -> anyhow::Result<String> {
        let id = message.entry.map(|entry| self.name(entry)).transpose()?.unwrap_or_else(|| "-".into());
        let role = text::one_line(&message.role);
        let origin = match message.origin.name() {
            "message" => String::new(),
            origin if role.replace("Summary", "-summary").starts_with(origin) => String::new(),
            origin => format!("  ({origin})"),
        };
        Ok(format!("{id:<8}  {role}{origin}"))
    }

    fn name(&self, entry: Ix) -> io::Result<String> {
        Ok(text::one_line(&self.short.short_id(self.session, self.source, entry)?))
    }

    /// Returns the entries that are not sent, each with why, as a word and in words, and the entry
    /// that is the reason.
    fn dropped_rows(&self) -> Vec<(Ix, &str, String, Option<Ix>)> {
        let withheld = self.context.messages.iter().filter(|message| !message.is_sent());
        let mut rows: Vec<_> = Vec::new();
        for message in withheld {
            let patch = message.patches.iter().find(|patch| patch.withholds());
            if let (Some(entry), Some(patch)) = (message.entry, patch) {
                let words = patch.to_string();
                rows.push((entry, patch.name(), words.trim_start_matches("not sent: ").into(), None));
            }
        }
        for Dropped { entry, why } in &self.context.dropped {
            rows.push((*entry, why.name(), why.to_string(), why.culprit()));
        }
        rows.sort_by_key(|(entry, ..)| *entry);
        rows
    }

    pub(super) fn dropped(&self, ui: &mut Ui) -> anyhow::Result<()> {
        let mut line = Vec::new();
        for (entry, word, words, by) in self.dropped_rows() {
            self.source.read(self.session.span(entry), &mut line)?;
            let content = crate::format::Content::read(self.session.format, &line);
            let by = by.map(|by| self.name(by)).transpose()?;
            if ui.look.json {
                let row = DroppedRow {
                    role: content.role,
                    entry: ids::id(self.session, self.source, entry)?,
                    line: self.session.entries.line(entry),
                    kind: self.session.entries.kind(entry),
                    origin: "dropped",
                    sent: false,
                    why: word,
                    text: content.text,
                    by,
                };
                rows::print(&row, ui)?;
                continue;
            }
            let by = by.map(|by| format!(" ({by})")).unwrap_or_default();
            let kind = self.session.entries.kind(entry).name();
            let head = format!("{:<8}  {kind:<10}  {words}{by}", self.name(entry)?);
            let room = ui.look.width.saturating_sub(text::width(&head) + 4);
            let said = text::one_line(&content.summary());
            let said = if room < 12 { String::new() } else { format!(": {}", text::fit(&said, room)) };
            writeln!(ui.out(), "{head}{said}")?;
        }
        Ok(())
    }

    /// Reads how much is sent.
    fn totals(&self) -> io::Result<Totals> {
        let mut line = Vec::new();
        let mut totals = Totals::default();
        for message in self.context.sent() {
            let said = message.read(self.session, self.source, &mut line)?;
            totals.bytes += said.bytes;
            match totals.roles.iter_mut().find(|(role, ..)| **role == *message.role) {
                Some((_, count, sum)) => (*count, *sum) = (*count + 1, *sum + said.bytes),
                None => totals.roles.push((message.role.to_string(), 1, said.bytes)),
            }
            // The usage of the last reply is the length of the context at that time, and about its
            // length now.
            totals.tokens = said.usage.map(|usage| usage.tokens()).filter(|all| *all > 0).or(totals.tokens);
        }
        Ok(totals)
    }

    pub(super) fn stat(&self, ui: &mut Ui) -> anyhow::Result<()> {
        let totals = self.totals()?;
        let sent = self.context.sent().count();
        let left = self.context.dropped.len() + self.context.messages.len() - sent;
        if ui.look.json {
            let by_role = totals.roles.iter();
            let models = self.context.models.iter();
            let row = ContextRow {
                messages: sent,
                dropped: left,
                bytes: totals.bytes,
                roles: by_role
                    .map(|(role, messages, bytes)| RoleRow { role, messages: *messages, bytes: *bytes })
                    .collect(),
                models: models.map(|(role, model)| (role.clone(), model.to_string().into())).collect(),
                tokens: totals.tokens,
                thinking: self.context.thinking.as_deref(),
            };
            rows::print(&row, ui)?;
            return Ok(());
        }
        self.print_totals(&totals, sent, left, ui)
    }

    /// Prints how much is sent.
    fn print_totals(&self, totals: &Totals, sent: usize, left: usize, ui: &mut Ui) -> anyhow::Result<()> {
        let messages = Count("message", "messages", sent);
        writeln!(ui.out(), "{messages} · {}", Count("byte", "bytes", totals.bytes))?;
        for (role, count, bytes) in &totals.roles {
            let role = text::one_line(role);
            writeln!(ui.out(), "  {role:<18} {count:>6}  {}", Count("byte", "bytes", *bytes))?;
        }
        if let Some(tokens) = totals.tokens {
            writeln!(
                ui.out(),
                "{} after the last reply, as stored",
                Count("token", "tokens", tokens as usize)
            )?;
        }
        for (role, model) in &self.context.models {
            let role = if role == "default" { String::new() } else { format!(" ({})", text::one_line(role)) };
            writeln!(ui.out(), "model {}{role}", text::one_line(&model.to_string()))?;
        }
        if let Some(thinking) = self.context.thinking.as_deref() {
            writeln!(ui.out(), "thinking {}", text::one_line(thinking))?;
        }
        if left > 0 {
            writeln!(
                ui.out(),
                "{} not sent; `--dropped` lists them",
                Count("entry on the path is", "entries on the path are", left)
            )?;
        }
        Ok(())
    }
}

/// How much is sent.
#[derive(Default)]
struct Totals {
    /// Each role with the numbers of its messages and bytes.
    roles: Vec<(String, usize, usize)>,
    bytes: usize,
    /// As the last reply stores them.
    tokens: Option<u64>,
}

fn in_short(said: &Said<'_>) -> String {
    let words = text::one_line(&said.all());
    if words.is_empty() && !said.blocks.is_empty() {
        return said
            .blocks
            .iter()
            .map(|block| text::one_line(&block_text(block)))
            .collect::<Vec<_>>()
            .join(" ");
    }
    words
}

fn indented(words: &str, ui: &mut Ui) -> io::Result<()> {
    for line in text::safe(words).lines() {
        if line.is_empty() {
            writeln!(ui.out())?;
        } else {
            writeln!(ui.out(), "    {line}")?;
        }
    }
    Ok(())
}
