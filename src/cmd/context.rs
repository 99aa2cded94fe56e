//! `bough context`: the messages that the model would receive.

use super::shared::entry_json::BlockRow;
use super::shared::options::Global;
use super::shared::words::{self, Use};
use super::shared::{rows, session_arg};
use super::{Exit, Failure, complete};
use crate::context::{Context, Dropped, Message, Patch, Said, Why};
use crate::format::{Block, Format, Session};
use crate::model::{Count, Ix, Kind, Source};
use crate::ops::turns::Thread;
use crate::ops::{Snapshot, ids, revision};
use crate::store::Opened;
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;
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
    let at = position(&opened, revisions)?;
    let mut context = Context::build(session, source, at)?;
    if let Some(at) = at.filter(|_| session.format == Format::Claude) {
        leave_compacted(&mut context, Snapshot { session, source }, at)?;
    }
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

/// Returns the entry up to which the context is built: HEAD if none is named.
fn position(opened: &Opened, revisions: &[String]) -> anyhow::Result<Option<Ix>> {
    let (session, source) = (&opened.session, &opened.files);
    Ok(match revisions {
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
    })
}

/// Adds the entries of the path that are before the last compaction of Claude Code: the client does not load
/// them at all.
fn leave_compacted(context: &mut Context, whole: Snapshot<'_>, at: Ix) -> io::Result<()> {
    let entries = &whole.session.entries;
    let is_boundary = |dropped: &&Dropped| entries.kind(dropped.entry) == Kind::Compaction;
    let Some(by) = context.dropped.iter().rfind(is_boundary).map(|dropped| dropped.entry) else {
        return Ok(());
    };
    let path = Thread::new(whole)?.path_to(at);
    let Some(place) = path.iter().position(|entry| *entry == by) else { return Ok(()) };
    let dropped = context.dropped.iter().map(|dropped| dropped.entry);
    let known: HashSet<Ix> =
        context.messages.iter().filter_map(|message| message.entry).chain(dropped).collect();
    let left = path[..place].iter().filter(|entry| !known.contains(entry));
    let left = left.filter(|entry| whole.session.is_conversation(**entry));
    let left: Vec<Dropped> = left.map(|&entry| Dropped { entry, why: Why::Compacted { by } }).collect();
    context.dropped.splice(0..0, left);
    Ok(())
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

    fn dropped(&self, ui: &mut Ui) -> anyhow::Result<()> {
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

    fn stat(&self, ui: &mut Ui) -> anyhow::Result<()> {
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

    fn message_row<'a>(&self, message: &'a Message, said: &'a Said<'a>) -> io::Result<MessageRow<'a>> {
        let id = message.entry.map(|entry| ids::id(self.session, self.source, entry)).transpose()?;
        let patches =
            message.patches.iter().map(|patch| self.patch_row(patch)).collect::<io::Result<Vec<_>>>()?;
        Ok(MessageRow {
            role: &message.role,
            entry: id.filter(|id| !id.is_empty()),
            line: message.entry.map(|entry| self.session.entries.line(entry)),
            origin: message.origin.name(),
            text: said.sent(),
            blocks: said.blocks.iter().map(BlockRow::new).collect(),
            sent: (!message.is_sent()).then_some(false),
            patches: Some(patches).filter(|patches| !patches.is_empty()),
        })
    }

    fn patch_row<'a>(&self, patch: &'a Patch) -> io::Result<PatchRow<'a>> {
        let name = |ix: Ix| ids::name(self.session, self.source, ix);
        let mut row = PatchRow { patch: patch.name(), ..PatchRow::default() };
        match patch {
            Patch::Edited { by } => row.by = Some(name(*by)?),
            Patch::CallLeftOut { call, tool } | Patch::NoResult { call, tool } => {
                (row.call, row.tool) = (Some(&**call), Some(&**tool));
            }
            Patch::ResultMadeUp { call, tool, text } => {
                (row.call, row.tool, row.text) = (Some(&**call), Some(&**tool), Some(*text));
            }
            Patch::MadeUp { text } => row.text = Some(text),
            Patch::Added { what } => row.what = Some(what),
            Patch::ResultLeftOut { call } | Patch::AsText { call } => row.call = Some(&**call),
            Patch::NoCall { call, why } => {
                (row.call, row.why) = (Some(&**call), Some(why.name()));
                row.by = why.culprit().map(name).transpose()?;
            }
            Patch::ProviderHistory { items } => row.items = Some(*items),
            Patch::Excluded
            | Patch::EndedBadly
            | Patch::UnknownRole
            | Patch::Moved
            | Patch::ThinkingLeftOut
            | Patch::OnlyText
            | Patch::PutBack
            | Patch::Kept
            | Patch::Bridged => {}
        }
        Ok(row)
    }
}

/// A message that the model would be sent: context; with --dropped, an entry on the path that it would not
/// be.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.message/1")]
pub(super) struct MessageRow<'a> {
    /// The role.
    role: &'a str,
    /// The id of the entry, or `line:N` where the format has no ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<String>,
    /// The line of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// Where it comes from: `message`, `compaction`, `branch-summary`, and so on.
    origin: &'static str,
    /// Its text.
    text: Cow<'a, str>,
    /// Its content.
    blocks: Vec<BlockRow<'a>>,
    /// Whether it is sent at all; absent if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<bool>,
    /// What the agent changed of it after it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    patches: Option<Vec<PatchRow<'a>>>,
}

/// A change.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PatchRow<'a> {
    /// What was done.
    patch: &'static str,
    /// The tool call that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'a str>,
    /// The tool of that call.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    /// What it has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// What is added.
    #[serde(skip_serializing_if = "Option::is_none")]
    what: Option<&'a str>,
    /// Why the call of a tool result is not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    /// The entry that did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// How many items the record of the provider has.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<usize>,
}

/// An entry on the path that the model would not be sent: context --dropped.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.message/1")]
pub(super) struct DroppedRow<'a> {
    /// The role.
    role: Cow<'a, str>,
    /// The id of the entry, or `line:N` where the format has no ids.
    entry: String,
    /// The line of the entry.
    line: u64,
    /// With --dropped, the kind of the entry.
    kind: Kind,
    /// Where it comes from: `message`, `compaction`, `branch-summary`, and so on.
    origin: &'static str,
    /// With --dropped, whether a part of it is sent.
    sent: bool,
    /// With --dropped, why it is not sent.
    why: &'a str,
    /// Its text.
    text: Cow<'a, str>,
    /// With --dropped, the entry because of which.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
}

/// The context in numbers: context --stat.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.context/1")]
pub(super) struct ContextRow<'a> {
    /// How many messages the model would be sent.
    messages: usize,
    /// How many entries on the path are not sent.
    dropped: usize,
    /// Bytes of text in the messages.
    bytes: usize,
    /// The messages by role.
    roles: Vec<RoleRow<'a>>,
    /// The model for each purpose, as set on the path.
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, String>"))]
    models: Map<String, Value>,
    /// Tokens after the last reply, as stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    /// The level of thinking, as set on the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<&'a str>,
}

/// Messages of one role.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RoleRow<'a> {
    /// A role.
    role: &'a str,
    /// How many messages it has.
    messages: usize,
    /// Bytes of text in them.
    bytes: usize,
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
