//! `bough sessions --lost`: sessions of Claude Code of which only the prompts are left.

use super::Args;
use crate::cmd::shared::{rows, scope, time};
use crate::cmd::{Exit, archive};
use crate::model::{Count, Time};
use crate::store::locate;
use crate::store::prompt_history::{self, Lost};
use crate::ui::{Ink, Ui, text};
use serde::Serialize;
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
            write!(ui.out(), "{}{end}", rows::to_json(&LostRow::new(lost, is_archived)))?;
            continue;
        }
        print_lost(lost, is_archived, args, now, ui)?;
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

/// Prints a session with its prompts.
fn print_lost(lost: &Lost, is_archived: bool, args: &Args, now: Time, ui: &mut Ui) -> anyhow::Result<()> {
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
    Ok(())
}

/// Returns when the last prompt was sent.
fn last(lost: &Lost) -> Time {
    lost.prompts.last().map_or(Time::NONE, |prompt| prompt.time)
}

/// A session that is gone, and its prompts: sessions --lost.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.lost/1")]
pub(crate) struct LostRow<'a> {
    /// The id of the session.
    session: &'a str,
    /// The agent.
    agent: &'static str,
    /// Its working directory.
    cwd: &'a str,
    /// Whether the session is in the archive.
    archived: bool,
    /// Its prompts, in order.
    prompts: Vec<LostPromptRow<'a>>,
}

/// A prompt.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LostPromptRow<'a> {
    /// Its text, with what was pasted.
    text: &'a str,
    /// When it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
}

impl<'a> LostRow<'a> {
    fn new(lost: &'a Lost, is_archived: bool) -> LostRow<'a> {
        let prompts = lost.prompts.iter();
        let prompts =
            prompts.map(|prompt| LostPromptRow { text: &prompt.text, time: time::iso(prompt.time) });
        LostRow {
            session: &lost.session,
            agent: "claude",
            cwd: &lost.cwd,
            archived: is_archived,
            prompts: prompts.collect(),
        }
    }
}
