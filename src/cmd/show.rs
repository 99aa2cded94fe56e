//! `bough show`: whole entries.

use super::shared::entry_json::is_hidden;
use super::shared::options::Global;
use super::shared::render::{Body, View, ink_of, tokens};
use super::shared::stored_results::Stored;
use super::shared::summary_facts::{Facts, mode_and_tier};
use super::shared::words::{self, Use};
use super::shared::{session_arg, thread_arg, time};
use super::{Exit, complete};
use crate::format::{Content, Session};
use crate::model::{Count, Ix, Kind};
use crate::ops::tool_calls;
use crate::store::{Opened, TailRequest};
use crate::ui::{Ink, Ui, text};
use clap_complete::engine::ArgValueCompleter;

/// Show whole entries: text, thinking, tool calls and results
///
/// An image is shown as a note. A tool result names the entry of its call. For a compaction or a branch summary, also shows the tokens before
/// it, the first entry kept, where the branch was left, and the files read and changed. For a
/// setting, also shows the fields that its text does not have; for a prompt or a reply of Claude
/// Code, the mode and the service tier. With `--json`, each entry is an object with its whole text
/// and its parts.
///
/// If Claude Code stored a tool result in a file beside the session (`tool-results`), also shows
/// the path of the file and its text, at most the first 256 KiB.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough show [OPTIONS] [SESSION] [REV]...")]
pub struct Args {
    /// The session, if the first argument names one; then revisions and ranges
    ///
    /// If no revision is given, HEAD.
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::first_words_or_sets))]
    words: Vec<String>,

    /// Print the lines as stored
    #[arg(long)]
    raw: bool,

    /// Print only the text of each entry
    ///
    /// The text is printed as it is, without a heading, indentation or wrapping.
    #[arg(long, conflicts_with = "raw")]
    text: bool,

    /// End each entry with a NUL byte instead of a newline; for `--raw`, `--text` and `--json`
    #[arg(short = 'z')]
    nul: bool,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.raw && !args.text {
        ui.for_people();
    }
    let words = words::split(global, &args.words, Use::Reads)?;
    let (named, revisions) = (words.session(), &words.revisions[..]);
    let is_head = matches!(revisions, [] | [_]) && revisions.iter().all(|word| word == "HEAD" || word == "@");
    let opened = match args.raw && is_head && !global.json {
        true => open_end(global, named, ui)?,
        false => session_arg::session(global, named, ui)?,
    };
    let revisions = if revisions.is_empty() { &["HEAD".to_owned()] } else { revisions };
    let (opened, entries) = thread_arg::entries_named(opened, revisions, ui)?;
    ui.page();
    let mut view = View::new(&opened);
    view.stored = Some(Stored);
    for (at, ix) in entries.into_iter().enumerate() {
        if at > 0 && !global.json && !args.text && !args.raw {
            writeln!(ui.out())?;
        }
        show_entry(args, global, &mut view, ix, ui)?;
    }
    Ok(Exit::Done)
}

/// Prints an entry in the form that was asked for.
fn show_entry(args: &Args, global: &Global, view: &mut View<'_>, ix: Ix, ui: &mut Ui) -> anyhow::Result<()> {
    let end: &[u8] = if args.nul { b"\0" } else { b"\n" };
    if global.json {
        writeln_with(ui, &view.json(ix, true, |_| ())?, end)?;
    } else if args.text {
        let line = view.line(ix)?;
        let text = ui.look.shown(&view.content(&line).text).into_owned();
        writeln_with(ui, text.as_bytes(), end)?;
    } else if args.raw {
        writeln_with(ui, &view.line(ix)?, end)?;
    } else {
        entry(view, ix, ui)?;
    }
    Ok(())
}

/// Opens only the end of the session, if HEAD is there. All that is shown of an entry except its
/// bytes, e.g. its line number, depends on the whole file.
fn open_end(global: &Global, named: Option<&str>, ui: &mut Ui) -> anyhow::Result<Opened> {
    let enough = |session: &Session| {
        session.head.entry.is_some_and(|head| {
            session.is_conversation(head) && tool_calls::are_known(session, [head].into_iter())
        })
    };
    session_arg::part(
        global,
        named,
        &TailRequest { side: true, enough: &enough, ..TailRequest::default() },
        ui,
    )
}

fn writeln_with(ui: &mut Ui, bytes: &[u8], end: &[u8]) -> std::io::Result<()> {
    ui.out().write_all(bytes)?;
    ui.out().write_all(end)
}

/// The width of the names of facts.
const NAMES: usize = 7;

/// Returns the facts about an entry, each with its name.
fn facts_of(
    view: &mut View<'_>,
    ix: Ix,
    line: &[u8],
    content: &Content<'_>,
    room: usize,
    ui: &Ui,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    let (session, entries) = (view.session, &view.session.entries);
    let kind = entries.kind(ix);
    let mut rows: Vec<(&str, String)> = Vec::new();
    let (cells, names) = view.decorations(ix, &ui.look, room);
    let id = text::one_line(&view.id(ix)?);
    let fits = text::width(&id) + 2 + cells <= room;
    let id = ui.paint(Ink::Id, id);
    match cells {
        0 => rows.push(("entry", id)),
        _ if fits => rows.push(("entry", format!("{id}  {names}"))),
        _ => rows.extend([("entry", id), ("", names)]),
    }
    let mut stored = vec![text::one_line(entries.ty(ix)), text::one_line(&content.role)];
    stored.retain(|word| !word.is_empty() && word != "message" && word != kind.name());
    stored.dedup();
    let told = if stored.is_empty() { String::new() } else { format!(" ({})", stored.join(", ")) };
    rows.push(("kind", format!("{}{told}", ui.paint(ink_of(kind), kind.name()))));
    let parent = match session.tree.parent(ix) {
        Some(parent) => view.short_id(parent)?,
        None if matches!(session.tree.link(ix), crate::model::Parent::Missing) => {
            "not in this session".into()
        }
        None => "none".into(),
    };
    rows.push(("parent", parent));
    // `log` shows both in one row, under the id of the result.
    if let Some(call) = view.call_of(ix, content) {
        rows.push(("call", view.short_id(call)?));
    }
    if entries.time(ix).is_some() {
        let age = time::age(entries.time(ix), view.now);
        rows.push(("date", format!("{} · {age} ago", time::date(entries.time(ix)))));
    }
    if let Some(model) = &content.model {
        rows.push(("model", text::one_line(model)));
    }
    if let Some(ended) = &content.ended {
        rows.push(("ended", text::one_line(ended)));
    }
    if let Some(usage) = content.usage() {
        rows.push(("usage", tokens(&usage)));
    }
    if matches!(kind, Kind::Compaction | Kind::Summary) {
        let facts = Facts::read(session.format, line).rows();
        rows.extend(facts.into_iter().map(|(name, value)| (name, text::one_line(&value))));
    }
    let rest = mode_and_tier(session.format, line);
    rows.extend(rest.into_iter().map(|(name, value)| (name, text::one_line(&value))));
    if is_hidden(line) {
        rows.push(("display", "no: sent to the model, but not shown by the agent".into()));
    }
    let span = session.span(ix);
    let path = view.files.path(span.file).display().to_string();
    let size = Count("byte", "bytes", span.len as usize);
    rows.push(("place", format!("{}:{} · {size}", text::one_line(&path), entries.line(ix))));
    Ok(rows)
}

/// Prints one entry for people: its facts, then its content.
fn entry(view: &mut View<'_>, ix: Ix, ui: &mut Ui) -> anyhow::Result<()> {
    let look = ui.look;
    let line = view.line(ix)?;
    let content = view.content(&line);
    let room = look.width.saturating_sub(NAMES + 1);
    for (name, value) in facts_of(view, ix, &line, &content, room, ui)? {
        let name = ui.paint(Ink::Quiet, text::pad(name, NAMES));
        let lines = text::wrap_facts(&value, room);
        for (at, line) in lines.into_iter().enumerate() {
            let before = if at == 0 { name.clone() } else { " ".repeat(NAMES) };
            writeln!(ui.out(), "{before} {line}")?;
        }
    }
    writeln!(ui.out())?;
    for line in view.body(ix, &content, look.width.saturating_sub(4), Body::Full) {
        writeln!(ui.out(), "{}", format!("    {}", line.painted(&look)).trim_end())?;
    }
    Ok(())
}
