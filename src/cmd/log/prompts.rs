//! `bough log --prompts`: what the user typed, numbered as `turn:N` counts.

use super::Args;
use super::select::Filter;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::render::View;
use crate::cmd::shared::{session_arg, time};
use crate::cmd::{Exit, Failure};
use crate::model::Ix;
use crate::ops::turns::{self, Prompt, Thread, Turn};
use crate::store::Opened;
use crate::ui::{Ink, Ui, text};
use serde_json::json;

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
    let opened = session_arg::session(global, named, ui)?;
    if !super::has_head(&opened, revisions, args, ui) {
        return Ok(Exit::Done);
    }
    let turns = Thread::new(session_arg::whole(&opened))?.turns()?;
    let mut rows: Vec<(usize, &Turn)> = Vec::new();
    let mut line = Vec::new();
    for (number, turn) in (1..).zip(&turns) {
        let is_kept = match &turn.prompt {
            Prompt::Entry(ix) => keep.takes(&opened, *ix, &mut line)?,
            Prompt::Queued { queued, .. } => keep.takes_text(&queued.text),
        };
        if is_kept {
            rows.push((number, turn));
        }
    }
    rows.reverse();
    let mut rows: Vec<_> = rows.into_iter().skip(args.skip).take(args.count.unwrap_or(usize::MAX)).collect();
    if args.reverse {
        rows.reverse();
    }
    ui.page();
    let mut view = View::new(&opened);
    view.date = args.date.date;
    let dates = view.date.width();
    let widest = format!("turn:{}", turns.len()).len();
    for (number, turn) in rows {
        let turn_name = format!("turn:{number}");
        if global.json {
            let end = if args.nul { '\0' } else { '\n' };
            write!(ui.out(), "{}{end}", as_json(&opened, &view, number, turn)?)?;
            continue;
        }
        let (id, age, said) = match &turn.prompt {
            Prompt::Entry(ix) => {
                let age = view.date.format(opened.session.entries.time(*ix), view.now);
                (view.short_id(*ix)?, age, view.summary(*ix)?)
            }
            Prompt::Queued { line, queued, .. } => {
                (format!("line {line}"), String::new(), text::one_line(&queued.text))
            }
        };
        let row = format!("{}  {}  {age:>dates$}  ", text::pad(&turn_name, widest), text::pad(&id, 8));
        let room = ui.look.width.saturating_sub(text::width(&row));
        let (name, id) = (text::pad(&turn_name, widest), text::pad(&id, 8));
        let row = format!(
            "{}  {}  {}  {}",
            ui.paint(Ink::Label, name),
            ui.paint(Ink::Id, id),
            ui.paint(Ink::Quiet, format!("{age:>dates$}")),
            text::fit(&said, room)
        );
        writeln!(ui.out(), "{}", row.trim_end())?;
    }
    Ok(Exit::Done)
}

/// A prompt as `bough.prompt/1`.
fn as_json(
    opened: &Opened,
    view: &View<'_>,
    number: usize,
    turn: &Turn,
) -> anyhow::Result<serde_json::Value> {
    let session = &opened.session;
    let mut object = json!({ "schema": "bough.prompt/1", "turn": number });
    let id = |ix: Ix| view.id(ix);
    match &turn.prompt {
        Prompt::Entry(ix) => {
            object["id"] = id(*ix)?.into();
            object["line"] = session.entries.line(*ix).into();
            if let Some(time) = time::iso(session.entries.time(*ix)) {
                object["time"] = time.into();
            }
            object["text"] = turns::typed_text(session_arg::whole(opened), *ix)?.into();
        }
        Prompt::Queued { line, queued, after } => {
            object["line"] = (*line).into();
            object["after"] = id(*after)?.into();
            object["text"] = queued.text.as_str().into();
        }
    }
    if let Some(reply) = turn.reply {
        object["reply"] = id(reply)?.into();
    }
    Ok(object)
}
