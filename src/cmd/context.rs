//! `bough context`: the messages that the model would receive.

mod json;
mod show;

use super::shared::options::Global;
use super::shared::session_arg;
use super::shared::words::{self, Use};
use super::{Exit, Failure, complete};
use crate::context::{Context, Dropped, Why};
use crate::format::Format;
use crate::model::{Ix, Kind};
use crate::ops::turns::Thread;
use crate::ops::{Snapshot, ids, revision};
use crate::store::Opened;
use crate::ui::Ui;
use clap_complete::engine::ArgValueCompleter;
#[cfg(test)]
pub(super) use json::{ContextRow, DroppedRow, MessageRow};
use show::Show;
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
