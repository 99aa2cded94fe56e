//! `bough context`: the messages that the model would receive.

use super::shared::options::Global;
use super::shared::words::{self, Use};
use super::shared::{entry_json, session_arg};
use super::{Exit, Failure, complete};
use crate::context::{Context, Dropped, Message, Patch, Said};
use crate::format::{Block, Session};
use crate::model::{Count, Ix, Source};
use crate::ops::{ids, revision};
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;
use serde_json::{Value, json};
use std::io;

/// Show the messages that the agent would send to the model
///
/// Prints the messages that the agent would send if it continued from HEAD, or from REV.
/// Compactions, branch summaries, edits and messages of extensions are taken into account. If the
/// agent changes a message before it sends it, a note below the message says so, e.g. that a tool
/// call is dropped because it has no result. The next prompt is not included. The system prompt and
/// the tools are included as far as the file contains them. Summaries, commands that the user ran, and
/// files that the user mentioned are shown with the words that pi and oh-my-pi put around them; where oh-my-pi
/// adds a whole paragraph, e.g. to its notes, a note below the message says so.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough context [OPTIONS] [SESSION] [REV]...")]
pub struct Args {
    /// The session, if the first argument names one; then the entry to continue from
    ///
    /// If omitted, HEAD.
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::first_words))]
    words: Vec<String>,

    /// Instead, list the entries on the path that would not be sent, with reasons
    #[arg(long, conflicts_with = "stat")]
    dropped: bool,

    /// Print one line per message
    #[arg(long)]
    oneline: bool,

    /// Print the number of messages and bytes, and the tokens if they are stored
    #[arg(long)]
    stat: bool,

    /// End each row with a NUL byte instead of a newline; for `--json` and `--oneline`
    #[arg(short = 'z')]
    nul: bool,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    ui.for_people();
    if args.nul && (ui.look.json || args.oneline) {
        ui.end_rows_with_nul();
    }
    let words = words::split(global, &args.words, Use::Reads)?;
    let (named, revisions) = (words.session(), &words.revisions[..]);
    let opened = session_arg::session(global, named, ui)?;
    let (session, source) = (&opened.session, &opened.files);
    let at = match revisions {
        [] => Context::position(session),
        [revision] => match revision::resolve_one(session, source, revision)? {
            // At HEAD, what the agent notes after it has a part in what is sent.
            ix if session.head.entry == Some(ix) => Context::position(session),
            ix => Some(ix),
        },
        [_, second, ..] => {
            let what = format!("`{second}`: expected only one entry");
            return Err(Failure::Usage { what, hint: "give one revision".into() }.into());
        }
    };
    let context = Context::build(session, source, at)?;
    if at.is_none() {
        ui.hint(format_args!("nothing would be sent: {}", session.head.rule));
    }
    if let Some(why) = context.refused {
        ui.note(format_args!("warning: {why}"));
    }
    if let Some(note) = context.note
        && !ui.look.quiet
    {
        ui.note(format_args!("note: {note}"));
    }
    let show = Show { session, source, context: &context, short: ids::ShortIds::default() };
    if args.stat {
        return show.stat(ui).map(|()| Exit::Done);
    }
    ui.page();
    if args.dropped {
        show.dropped(ui)?;
    } else {
        show.messages(args.oneline, ui)?;
    }
    Ok(Exit::Done)
}

struct Show<'s> {
    session: &'s Session,
    source: &'s dyn Source,
    context: &'s Context,
    short: ids::ShortIds,
}

impl Show<'_> {
    fn messages(&self, oneline: bool, ui: &mut Ui) -> anyhow::Result<()> {
        let mut line = Vec::new();
        for (place, message) in self.context.messages.iter().enumerate() {
            let said = message.read(self.session, self.source, &mut line)?;
            if ui.look.json {
                let object = self.message_json(message, &said)?;
                writeln!(ui.out(), "{object}")?;
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

    fn dropped(&self, ui: &mut Ui) -> anyhow::Result<()> {
        let mut line = Vec::new();
        let withheld = self.context.messages.iter().filter(|message| !message.is_sent());
        let mut rows: Vec<(Ix, &str, String, Option<Ix>)> = Vec::new();
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
        for (entry, word, words, by) in rows {
            self.source.read(self.session.span(entry), &mut line)?;
            let content = crate::format::Content::read(self.session.format, &line);
            let by = by.map(|by| self.name(by)).transpose()?;
            if ui.look.json {
                let mut object = json!({
                    "schema": "bough.message/1",
                    "role": content.role,
                    "entry": ids::id(self.session, self.source, entry)?,
                    "line": self.session.entries.line(entry),
                    "kind": self.session.entries.kind(entry).name(),
                    "origin": "dropped",
                    "sent": false,
                    "why": word,
                    "text": content.text,
                });
                if let Some(by) = by {
                    object["by"] = by.into();
                }
                writeln!(ui.out(), "{object}")?;
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

    fn stat(&self, ui: &mut Ui) -> anyhow::Result<()> {
        let mut line = Vec::new();
        let mut bytes = 0;
        let mut tokens = None;
        let mut roles: Vec<(String, usize, usize)> = Vec::new();
        for message in self.context.sent() {
            let said = message.read(self.session, self.source, &mut line)?;
            bytes += said.bytes;
            match roles.iter_mut().find(|(role, ..)| **role == *message.role) {
                Some((_, count, sum)) => (*count, *sum) = (*count + 1, *sum + said.bytes),
                None => roles.push((message.role.to_string(), 1, said.bytes)),
            }
            // The usage of the last reply is the length of the context at that time, and about its
            // length now.
            tokens = said.usage.map(|usage| usage.tokens()).filter(|all| *all > 0).or(tokens);
        }
        let sent = self.context.sent().count();
        let left = self.context.dropped.len() + self.context.messages.len() - sent;
        let thinking = self.context.thinking.as_deref();
        if ui.look.json {
            let mut object = json!({
                "schema": "bough.context/1", "messages": sent, "dropped": left, "bytes": bytes,
                "roles": roles.iter().map(|(role, count, bytes)|
                    json!({"role": role, "messages": count, "bytes": bytes})).collect::<Vec<_>>(),
                "models": self.context.models.iter()
                    .map(|(role, model)| (role.clone(), model.to_string().into()))
                    .collect::<serde_json::Map<String, Value>>(),
            });
            if let Some(tokens) = tokens {
                object["tokens"] = tokens.into();
            }
            if let Some(thinking) = thinking {
                object["thinking"] = thinking.into();
            }
            writeln!(ui.out(), "{object}")?;
            return Ok(());
        }
        let messages = Count("message", "messages", sent);
        writeln!(ui.out(), "{messages} · {}", Count("byte", "bytes", bytes))?;
        for (role, count, bytes) in &roles {
            let role = text::one_line(role);
            writeln!(ui.out(), "  {role:<18} {count:>6}  {}", Count("byte", "bytes", *bytes))?;
        }
        if let Some(tokens) = tokens {
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
        if let Some(thinking) = thinking {
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

    fn message_json(&self, message: &Message, said: &Said<'_>) -> anyhow::Result<Value> {
        let mut object = json!({ "schema": "bough.message/1", "role": message.role });
        if let Some(entry) = message.entry {
            let id = ids::id(self.session, self.source, entry)?;
            if !id.is_empty() {
                object["entry"] = id.into();
            }
            object["line"] = self.session.entries.line(entry).into();
        }
        object["origin"] = message.origin.name().into();
        object["text"] = said.sent().into();
        object["blocks"] = said.blocks.iter().map(entry_json::block).collect();
        if !message.is_sent() {
            object["sent"] = false.into();
        }
        if !message.patches.is_empty() {
            let patches = message.patches.iter().map(|patch| self.patch_json(patch));
            object["patches"] = patches.collect::<io::Result<Vec<Value>>>()?.into();
        }
        Ok(object)
    }

    fn patch_json(&self, patch: &Patch) -> io::Result<Value> {
        let mut object = json!({ "patch": patch.name() });
        match patch {
            Patch::Edited { by } => object["by"] = ids::name(self.session, self.source, *by)?.into(),
            Patch::CallLeftOut { call, tool } => {
                object["call"] = call.as_str().into();
                object["tool"] = tool.as_str().into();
            }
            Patch::ResultMadeUp { call, tool, text } => {
                object["call"] = call.as_str().into();
                object["tool"] = tool.as_str().into();
                object["text"] = (*text).into();
            }
            Patch::MadeUp { text } => object["text"] = (*text).into(),
            Patch::Added { what } => object["what"] = (*what).into(),
            Patch::ResultLeftOut { call } | Patch::AsText { call } => object["call"] = call.as_str().into(),
            Patch::NoResult { call, tool } => {
                object["call"] = call.as_str().into();
                object["tool"] = tool.as_str().into();
            }
            Patch::NoCall { call, why } => {
                object["call"] = call.as_str().into();
                object["why"] = why.name().into();
                if let Some(by) = why.culprit() {
                    object["by"] = ids::name(self.session, self.source, by)?.into();
                }
            }
            Patch::ProviderHistory { items } => object["items"] = (*items).into(),
            Patch::Excluded
            | Patch::EndedBadly
            | Patch::UnknownRole
            | Patch::Moved
            | Patch::PutBack
            | Patch::Kept
            | Patch::Bridged => {}
        }
        Ok(object)
    }
}

/// Returns a block as text for people.
fn block_text(block: &Block<'_>) -> String {
    match block {
        Block::Text(text) => text.to_string(),
        Block::Thinking { text, .. } if text.trim().is_empty() => "[thinking, encrypted]".into(),
        Block::Thinking { text, .. } => format!("[thinking] {text}"),
        Block::Call { name, arguments, .. } => {
            format!("[call] {name} {}", String::from_utf8_lossy(arguments))
        }
        Block::Result { is_error, text, .. } => {
            format!("[{}] {text}", if *is_error { "failed" } else { "result" })
        }
        Block::Image { mime, bytes, .. } => {
            format!("[image] {mime}, {}", Count("byte", "bytes", *bytes as usize))
        }
        Block::Other(ty) => format!("[{ty}]"),
    }
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
