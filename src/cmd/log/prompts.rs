//! `bough log --prompts`: what the user typed, numbered as `turn:N` counts.

use super::Args;
use super::select::Filter;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::render::View;
use crate::cmd::shared::{rows, session_arg, time};
use crate::cmd::{Exit, Failure};
use crate::ops::turns::{self, Prompt, Thread, Turn};
use crate::store::Opened;
use crate::ui::{Ink, Ui, text};
use serde::Serialize;

/// Prints the prompts of the thread up to HEAD, the newest first.
pub(super) fn prompts(
    args: &Args,
    named: Option<&str>,
    revisions: &[String],
    keep: &Filter,
    global: &Global,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    if let [word, ..] = revisions {
        let what = format!("`{word}`: `--prompts` lists the prompts up to HEAD and takes no revision");
        return Err(Failure::Usage { what, hint: String::new() }.into());
    }
    if args.all {
        let what = "`--prompts` numbers the prompts up to HEAD, and takes no `--all`".into();
        let hint = "`bough log --all --filter user-only --oneline` lists those of all branches".into();
        return Err(Failure::Usage { what, hint }.into());
    }
    let opened = session_arg::session(global, named, ui)?;
    if !super::has_head(&opened, revisions, args, ui) {
        return Ok(Exit::Done);
    }
    let turns = Thread::new(session_arg::whole(&opened))?.turns()?;
    let mut rows = kept(&turns, &opened, keep)?;
    rows.reverse();
    let mut rows: Vec<_> = rows.into_iter().skip(args.skip).take(args.count.unwrap_or(usize::MAX)).collect();
    if args.reverse {
        rows.reverse();
    }
    ui.page();
    let mut view = View::new(&opened);
    view.date = args.date.date;
    let widest = format!("turn:{}", turns.len()).len();
    for (number, turn) in rows {
        let turn_name = format!("turn:{number}");
        if global.json {
            let end = if args.nul { '\0' } else { '\n' };
            write!(ui.out(), "{}{end}", rows::to_json(&PromptRow::read(&opened, &view, number, turn)?))?;
            continue;
        }
        let row = shown(&opened, &mut view, turn, &text::pad(&turn_name, widest), ui)?;
        writeln!(ui.out(), "{}", row.trim_end())?;
    }
    Ok(Exit::Done)
}

/// Returns the turns whose prompt is wanted, with their numbers.
fn kept<'t>(turns: &'t [Turn], opened: &Opened, keep: &Filter) -> anyhow::Result<Vec<(usize, &'t Turn)>> {
    let mut rows: Vec<_> = Vec::new();
    let mut line = Vec::new();
    for (number, turn) in (1..).zip(turns) {
        let is_kept = match &turn.prompt {
            Prompt::Entry(ix) => keep.takes(opened, *ix, &mut line)?,
            Prompt::Queued { queued, .. } => keep.takes_text(&queued.text),
        };
        if is_kept {
            rows.push((number, turn));
        }
    }
    Ok(rows)
}

/// Returns a prompt as a row.
fn shown(opened: &Opened, view: &mut View<'_>, turn: &Turn, name: &str, ui: &Ui) -> anyhow::Result<String> {
    let dates = view.date.width();
    let (id, age, said) = match &turn.prompt {
        Prompt::Entry(ix) => {
            let age = view.date.format(opened.session.entries.time(*ix), view.now);
            (view.short_id(*ix)?, age, view.summary(*ix)?)
        }
        Prompt::Queued { line, queued, .. } => {
            (format!("line {line}"), String::new(), text::one_line(&queued.text))
        }
    };
    let row = format!("{name}  {}  {age:>dates$}  ", text::pad(&id, 8));
    let room = ui.look.width.saturating_sub(text::width(&row));
    let id = text::pad(&id, 8);
    Ok(format!(
        "{}  {}  {}  {}",
        ui.paint(Ink::Label, name),
        ui.paint(Ink::Id, id),
        ui.paint(Ink::Quiet, format!("{age:>dates$}")),
        text::fit(&said, room)
    ))
}

/// A prompt: log --prompts.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.prompt/1")]
pub(crate) struct PromptRow {
    /// The number by which turn:N names it.
    turn: usize,
    /// The id of the entry; absent if the prompt is only in the input queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The line of the prompt.
    line: u64,
    /// The time, as ISO 8601 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    /// The entry after which a prompt was typed that is only in the input queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// The whole text.
    text: String,
    /// The last entry of the turn in which the model wrote text.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
}

impl PromptRow {
    fn read(opened: &Opened, view: &View<'_>, number: usize, turn: &Turn) -> anyhow::Result<PromptRow> {
        let session = &opened.session;
        let reply = turn.reply.map(|reply| view.id(reply)).transpose()?;
        Ok(match &turn.prompt {
            Prompt::Entry(ix) => PromptRow {
                turn: number,
                id: Some(view.id(*ix)?),
                line: session.entries.line(*ix),
                time: time::iso(session.entries.time(*ix)),
                after: None,
                text: turns::typed_text(session_arg::whole(opened), *ix)?,
                reply,
            },
            Prompt::Queued { line, queued, after } => PromptRow {
                turn: number,
                id: None,
                line: *line,
                time: None,
                after: Some(view.id(*after)?),
                text: queued.text.clone(),
                reply,
            },
        })
    }
}
