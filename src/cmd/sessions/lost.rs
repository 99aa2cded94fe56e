//! `bough sessions --lost`: sessions of Claude Code of which only the prompts are left.

use super::Args;
use crate::cmd::shared::{scope, time};
use crate::cmd::{Exit, archive};
use crate::model::{Count, Time};
use crate::store::locate;
use crate::store::prompt_history::{self, Lost};
use crate::ui::{Ink, Ui, text};
use serde_json::json;
use std::collections::HashSet;
use std::path::Path;

/// Prints the sessions with their prompts, newest first.
pub(super) fn list(args: &Args, now: Time, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (mut all, unnamed) = prompt_history::lost()?;
    if !args.scope.all {
        let folder = match &args.cwd {
            Some(folder) => folder.clone(),
            None => std::env::current_dir()?,
        };
        let folder = folder.canonicalize().unwrap_or(folder);
        all.retain(|lost| locate::is_same_folder(Path::new(&lost.cwd), &folder));
    }
    if args.agent.as_deref().is_some_and(|agent| agent != "claude") {
        all.clear();
    }
    for (time, is_after) in [(&args.since, true), (&args.until, false)] {
        let Some(time) = time else { continue };
        let limit = time::parse(time, now)?;
        all.retain(|lost| if is_after { last(lost) >= limit } else { last(lost) <= limit });
    }
    all.truncate(args.max_count.unwrap_or(usize::MAX));
    let archived: HashSet<String> = match archive::open(None) {
        Ok(archive) if archive.exists() => {
            archive::read(&archive)?.items.into_iter().map(|item| item.session).collect()
        }
        _ => HashSet::new(),
    };
    let end = if args.null { '\0' } else { '\n' };
    for lost in &all {
        let is_archived = archived.contains(&lost.session);
        if ui.look.json {
            write!(ui.out(), "{}{end}", object(lost, is_archived))?;
            continue;
        }
        let mark = if is_archived { "  (in the archive)" } else { "" };
        let line = format!(
            "{} claude  {}  {}  {}{}",
            ui.paint(Ink::Quiet, args.date.date.column(last(lost), now)),
            ui.paint(Ink::Id, text::one_line(&lost.session)),
            Count("prompt", "prompts", lost.prompts.len()),
            text::one_line(&lost.cwd),
            mark,
        );
        writeln!(ui.out(), "{line}")?;
        let indent = args.date.date.width() + 1;
        for prompt in &lost.prompts {
            let room = ui.look.width.saturating_sub(indent);
            let said = text::fit(&text::one_line(&prompt.text), room);
            writeln!(ui.out(), "{:indent$}{said}", "")?;
        }
    }
    if unnamed > 0 && args.scope.all && !ui.look.quiet {
        ui.note(format_args!("{} without the id of a session", Count("prompt is", "prompts are", unnamed)));
    }
    if all.is_empty() {
        return Ok(scope::none_found(ui));
    }
    if all.iter().any(|lost| archived.contains(&lost.session)) {
        ui.hint("`bough restore ID` puts a session of the archive back");
    }
    Ok(Exit::Done)
}

/// Returns when the last prompt was sent.
fn last(lost: &Lost) -> Time {
    lost.prompts.last().map_or(Time::NONE, |prompt| prompt.time)
}

fn object(lost: &Lost, is_archived: bool) -> serde_json::Value {
    let prompts: Vec<_> = lost
        .prompts
        .iter()
        .map(|prompt| {
            let mut object = json!({ "text": prompt.text });
            if let Some(time) = time::iso(prompt.time) {
                object["time"] = time.into();
            }
            object
        })
        .collect();
    json!({
        "schema": "bough.lost/1",
        "session": lost.session,
        "agent": "claude",
        "cwd": lost.cwd,
        "archived": is_archived,
        "prompts": prompts,
    })
}
