//! `bough cherry-pick`: copies entries to another place.

use super::shared::options::Global;
use super::shared::words;
use super::shared::write;
use super::shared::write::WriteArgs;
use super::shared::write_json::More;
use super::shared::{rows, session_arg, time, write_json};
use super::{Exit, Failure, complete};
use crate::model::{Count, Ix, Moved};
use crate::ops::cherry_pick;
use crate::ops::cherry_pick::{Note, Picked, Picks, Why};
use crate::ops::{ids, label, revision};
use crate::store::{Opened, blobs};
use crate::ui::{Ui, text};
use anyhow::Context;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;

/// Copy entries to HEAD, or to another entry
///
/// The copies get new ids and the current time. Each is the parent of the next, and the last one
/// becomes HEAD. Their text stays the same. A tool call is copied with its result and with the
/// other calls of its reply, even if only one of them is named. A range leaves out labels, session
/// settings, markers, and entries that only count tokens.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough cherry-pick [OPTIONS] [SESSION] REV...")]
pub struct Args {
    /// The session, if the first argument is a file; then the entries or ranges to copy
    #[arg(value_name = "REV", required = true, add = ArgValueCompleter::new(complete::first_words))]
    words: Vec<String>,

    /// Append the copies to this entry
    ///
    /// By default HEAD. In a Claude Code session, entries that follow this one without starting a
    /// new turn stay before the copies, e.g. notes of the agent and results of its tool calls.
    #[arg(long, value_name = "REV", add = ArgValueCompleter::new(complete::revisions))]
    onto: Option<String>,

    /// Copy the entries from this session
    ///
    /// By default the session that receives the copies. Both sessions must have the same format,
    /// except that entries are translated between pi and oh-my-pi.
    #[arg(long, value_name = "SESSION", add = ArgValueCompleter::new(complete::sessions))]
    from: Option<String>,

    #[command(flatten)]
    copying: Copying,

    #[command(flatten)]
    writing: WriteArgs,
}

/// Options of the commands that copy entries.
#[derive(clap::Args, Debug)]
pub(super) struct Copying {
    /// Note in the session where the copies come from
    #[arg(short = 'x')]
    origin: bool,

    /// Fail if a tool call is named without its result, or a result without its call
    #[arg(long)]
    no_pairs: bool,

    /// Leave the model's thinking out of the copies
    ///
    /// Some models refuse signed thinking from another conversation. Thinking is either left out
    /// entirely or copied unchanged.
    #[arg(long)]
    strip_thinking: bool,

    /// Set the token counts of the copies to zero
    #[arg(long)]
    zero_usage: bool,
}

impl Copying {
    /// Returns the options for copies in a session.
    pub(super) fn options<'o>(
        &self,
        writing: WriteArgs,
        into: &Opened,
        onto: Option<Ix>,
        blob: &'o dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> cherry_pick::Options<'o> {
        cherry_pick::Options {
            onto,
            origin: self.origin,
            pairs: !self.no_pairs,
            strip_thinking: self.strip_thinking,
            zero_usage: self.zero_usage,
            force: writing.force,
            now: time::now(),
            session_id: session_id(into),
            blob,
        }
    }
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (named, from, revisions) = words::split_other(global, &args.words, args.from.as_deref())?;
    let (named, revisions) = (named.as_deref(), &revisions[..]);
    if revisions.is_empty() {
        return Err(Failure::Usage {
            what: "no entry given".into(),
            hint: "`bough cherry-pick [SESSION] REV` copies REV to HEAD".into(),
        }
        .into());
    }
    let other = from.as_deref().map(|word| session_arg::other(global, word, ui)).transpose()?;
    let make = |opened: &Opened| {
        let from = other.as_ref().unwrap_or(opened);
        let picked = picked(from, revisions)?;
        let (session, source) = (&opened.session, &opened.files);
        let onto = match &args.onto {
            Some(onto) => match revision::resolve_one(session, source, onto)? {
                ix if session.head.entry == Some(ix) => head_parent(opened)?,
                ix => Some(cherry_pick::parent_of_copies(session, ix)),
            },
            None => head_parent(opened)?,
        };
        let blob = |hash: &str| std::fs::read(blobs::find(from.files.path(0), hash)?).ok();
        let options = args.copying.options(args.writing, opened, onto, &blob);
        let made = cherry_pick::cherry_pick(
            session_arg::whole(from),
            session_arg::whole(opened),
            &picked,
            &options,
            &mut write::ids(),
        )?;
        let plan = with_move(opened, &made)?;
        Ok((plan.clone(), (plan, made)))
    };
    let (opened, done, (plan, made)) = write::run(global, args.writing, named, ui, make)?;
    if ui.look.json && !args.writing.dry_run {
        write_json::print(&opened, &plan, &done, More::default(), ui)?;
    }
    let from = other.as_ref().unwrap_or(&opened);
    print_copies(from, &opened, &made, args.writing, global, ui)?;
    Ok(Exit::Done)
}

/// Returns the entries that revisions name, in their order, each range from its oldest entry on.
fn picked(from: &Opened, revisions: &[String]) -> anyhow::Result<Vec<Picked>> {
    let (session, source) = (&from.session, &from.files);
    let mut out: Vec<Picked> = Vec::new();
    for word in revisions {
        let named = !revision::is_set(session, source, word)?;
        let found = match word.as_str() {
            // Labels below it are looked through: they stay with their entries.
            "HEAD" | "@" => vec![label::default_target(session)?],
            _ => revision::set(session, source, std::slice::from_ref(word))?,
        };
        if found.is_empty() {
            return Err(crate::ops::Error::Unresolved {
                revision: word.clone(),
                why: "no entry is in it".into(),
            }
            .into());
        }
        out.extend(found.into_iter().map(|ix| Picked { ix, named }));
    }
    Ok(out)
}

/// Returns where the agent would continue; `None` is before the first entry.
pub(super) fn head_parent(opened: &Opened) -> anyhow::Result<Option<Ix>> {
    let head = opened.session.head;
    // A session without entries, or one that was switched to before its first entry, receives a
    // root.
    if head.leaf.is_none() && !opened.session.entries.is_empty() {
        revision::head(&opened.session)?;
    }
    Ok(head.leaf)
}

/// Returns the id that a session's lines name: for Claude Code, the name of the file.
fn session_id(opened: &Opened) -> Option<String> {
    let stem = opened.files.path(0).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.filter(|stem| uuid::Uuid::parse_str(stem).is_ok());
    stem.or_else(|| opened.session.id())
}

/// Returns the plan of copies, with the move of HEAD.
pub(super) fn with_move(opened: &Opened, made: &Picks) -> anyhow::Result<crate::model::Plan> {
    let (session, source) = (&opened.session, &opened.files);
    let from = session.head.exact.map(|ix| ids::name(session, source, ix)).transpose()?;
    let mut plan = made.plan.clone();
    plan.moved = Some(Moved { from, to: made.copies.last().map(|(_, id)| id.clone()) });
    Ok(plan)
}

/// An entry that was copied: cherry-pick, merge.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.copy/1")]
pub(super) struct CopyRow<'a> {
    /// The entry that was copied.
    from: String,
    /// The copy.
    id: &'a str,
}

/// Reports what was copied.
pub(super) fn print_copies(
    from: &Opened,
    into: &Opened,
    made: &Picks,
    writing: WriteArgs,
    global: &Global,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    notes(&made.notes, global.verbose, ui);
    let (_, last) = made.copies.last().context("something was copied")?;
    if ui.look.json {
        for (ix, id) in &made.copies {
            let old = ids::name(&from.session, &from.files, *ix)?;
            if !writing.dry_run {
                rows::print(&CopyRow { from: old, id }, ui)?;
            }
        }
        return Ok(());
    }
    if ui.look.quiet || writing.dry_run {
        return Ok(());
    }
    let was = match into.session.head.entry {
        Some(ix) => format!(
            " · it was {} (`bough switch{} -` goes back)",
            text::one_line(&ids::ShortIds::default().short_id(&into.session, &into.files, ix)?),
            session_arg::in_hint(global, into.files.path(0)),
        ),
        None => String::new(),
    };
    let short = if last.len() > 16 { &last[..ids::SHORT] } else { last };
    ui.note(format_args!(
        "{} · HEAD is now {}{}",
        Count("entry copied", "entries copied", made.copies.len()),
        text::one_line(short),
        was
    ));
    Ok(())
}

/// Prints the notes about copies; a note that applies to many entries is printed once.
fn notes(notes: &[Note], verbose: bool, ui: &mut Ui) {
    let (mut along, mut left_out): (usize, Vec<(Why, Vec<&str>)>) = (0, Vec::new());
    for note in notes {
        match note {
            Note::Along { more, .. } => along += more,
            Note::LeftOut { id, why } => match left_out.iter_mut().find(|(known, _)| known == why) {
                Some((_, ids)) => ids.push(id),
                None => left_out.push((*why, vec![id])),
            },
            note if note.is_hint() => ui.hint(note),
            note => ui.note(format_args!("warning: {note}")),
        }
    }
    for (why, ids) in left_out {
        let shown = if verbose { ids.len() } else { FEW };
        let named: Vec<String> =
            ids.iter().take(shown).map(|id| format!("`{}`", text::one_line(id))).collect();
        let more = match ids.len().saturating_sub(shown) {
            0 => String::new(),
            more => format!(" and {more} more (`--verbose` names them)"),
        };
        let verb = if ids.len() == 1 { "was" } else { "were" };
        ui.note(format_args!("note: {}{more} {verb} left out: {why}", named.join(", ")));
    }
    if along > 0 {
        let more = Count("more entry copied", "more entries copied", along);
        ui.hint(format_args!("{more}: a tool call is copied with its result, and a reply as a whole"));
    }
}

/// The maximum number of entries that such a note names.
const FEW: usize = 5;
