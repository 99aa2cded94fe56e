//! `bough restore`: puts a session of the archive back.

use super::archive::{io_error, open, read};
use super::shared::options::Global;
use super::shared::utf8_path::utf8_path;
use super::shared::write::{self, WriteArgs};
use super::shared::{archived_session, file_args, rows, time};
use super::{Exit, Failure, complete};
use crate::format::Format;
use crate::model::{Change, Count, Piece, Plan, Span, Target, parse_time};
use crate::store::Files;
use crate::store::archive::{Archive, Archived, Contents, Item, Unpacked};
use crate::store::locate;
use crate::store::sweep::{self, Retention};
use crate::store::write::stamp;
use crate::ui::{Ui, text};
use clap::ValueHint;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Restore a session from the archive
///
/// Puts a session and all that belongs to it back to where it was, byte for byte, with its times and
/// modes. Each part is compared with the hash that it had when it was archived. Files that are there
/// are not overwritten, unless `--allow=overwrite` is given; one that is overwritten keeps its mode.
/// The restore is one operation, and `bough undo` undoes it.
///
/// The archive may have several sessions of one id: copies, or one that was moved and archived again. The one whose
/// file is missing is restored, if it is only one; otherwise the error lists their paths, and a path names one.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The id of the session, or its beginning, as `bough sessions --archived` lists it; or the path that its file had, or
    /// its name
    #[arg(value_name = "ID", add = ArgValueCompleter::new(complete::archived))]
    id: String,

    /// The folder of the archive
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    from: Option<PathBuf>,

    /// Restore it as it was archived last at or before this time: a date, or an age such as `3d`
    ///
    /// By default, its last state. An archive keeps the earlier ones.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,

    /// Put the session into this folder instead of where it was
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    to: Option<PathBuf>,

    #[command(flatten)]
    writing: WriteArgs,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    if let Some(to) = &args.to {
        utf8_path(&std::path::absolute(to)?)?;
    }
    let archive = open(args.from.as_deref())?;
    let mut contents = read(&archive)?;
    if let Some(at) = &args.at {
        let at = time::parse(at, time::now())?;
        contents.items.retain(|item| parse_time(item.archived.as_bytes()) <= at);
    }
    let named = archived_session::find(&contents, &args.id);
    let session = only(&args.id, &named.sessions, &archive)?;
    let main = session.main;
    if !args.writing.force && !named.is_path && args.to.is_none() {
        refuse_second(main, &contents, global)?;
    }
    let mut unpacked = Unpacked::new();
    let mut plan = Plan { verb: "restore".into(), keep_times: true, ..Plan::default() };
    let mut files = Files::new();
    let mut left = 0;
    // The session itself comes last, so that half a restore is not a session.
    for item in session.items() {
        let Some(to) = target(item, main, args.to.as_deref()) else {
            left += 1;
            continue;
        };
        // Claude Code's file history belongs to all sessions of one id.
        if !item.main && is_there(item, &to) {
            continue;
        }
        let copy = unpacked.add(&archive, item).map_err(|error| io_error(error, &item.origin()))?;
        let file = files.attach(&copy).map_err(|error| io_error(error, &copy))?;
        plan.changes.push(Change {
            op: "create",
            path: Some(to.clone()),
            file,
            bytes: item.bytes as i64,
            why: format!("archived {}", item.archived),
            ..Change::default()
        });
        let pieces = vec![Piece::Keep(Span { file, offset: 0, len: item.bytes })];
        plan.targets.push(Target::Move { file, to, pieces, copies: true });
    }
    let done = write::finish(args.writing, &files, Format::Claude, &plan, None, true, ui)?;
    let restored = target(main, main, args.to.as_deref()).unwrap_or_else(|| main.origin());
    let restored = restored.display().to_string();
    if ui.look.json && !args.writing.dry_run {
        let row = RestoreRow {
            session: &main.session,
            agent: &main.agent,
            file: &restored,
            archived: &main.archived,
            files: plan.targets.len(),
            not_restored: left,
            op_id: Some(&*done.op_id).filter(|id| !id.is_empty()),
        };
        rows::print(&row, ui)?;
    }
    if args.writing.dry_run || ui.look.quiet {
        return Ok(Exit::Done);
    }
    ui.note(format_args!(
        "restored {} of session {}: {}",
        Count("file", "files", plan.targets.len()),
        main.session,
        text::one_line(&restored)
    ));
    if let [_, _, ..] = named.sessions[..] {
        let count = Count("session", "sessions", named.sessions.len());
        let origin = main.origin().display().to_string();
        ui.note(format_args!(
            "note: {count} of the archive have this id; it is that of {}",
            text::one_line(&origin)
        ));
    }
    if left > 0 {
        ui.note(format_args!("warning: {} outside of its folder not restored", Count("file", "files", left)));
    }
    note_larger_state(main, &contents, ui);
    note_gone_project(main, &restored, args.to.is_some(), ui);
    note_deletion(main, Path::new(&restored), ui);
    if !done.op_id.is_empty() {
        ui.hint(format_args!("`bough undo {}` undoes it", done.op_id));
    }
    Ok(Exit::Done)
}

/// A session that was restored: restore.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.restore/1")]
pub(super) struct RestoreRow<'a> {
    /// The id of the session.
    session: &'a str,
    /// The agent.
    agent: &'a str,
    /// The session file.
    file: &'a str,
    /// When the state that was restored was archived.
    archived: &'a str,
    /// How many files were restored.
    files: usize,
    /// How many files have no place in the folder that was given.
    not_restored: usize,
    /// The operation, as `bough undo` takes it; absent if none was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    op_id: Option<&'a str>,
}

/// Says so if an earlier state of a session was larger: it may have been damaged before it was archived again.
fn note_larger_state(main: &Item, contents: &Contents, ui: &mut Ui) {
    let is_larger = |item: &&Item| item.main && item.origin() == main.origin() && item.bytes > main.bytes;
    let Some(larger) = contents.items.iter().filter(is_larger).max_by_key(|item| item.bytes) else { return };
    ui.note(format_args!(
        "note: an earlier state of it in the archive is larger, {} instead of {}",
        file_args::size(larger.bytes),
        file_args::size(main.bytes)
    ));
    let (at, id) = (text::shell_word(&larger.archived), text::shell_word(&main.session));
    ui.hint(format_args!("`bough restore --at {at} {id}` restores that one"));
}

/// Says so if the working directory of a restored session does not exist any more: its agent lists it for no folder.
fn note_gone_project(main: &Item, restored: &str, is_elsewhere: bool, ui: &mut Ui) {
    let Some(cwd) = main.cwd.as_deref().filter(|cwd| !Path::new(cwd).is_dir()) else { return };
    ui.note(format_args!("note: its working directory does not exist any more: {}", text::one_line(cwd)));
    if matches!(&*main.agent, "claude" | "pi" | "omp") {
        let path = text::shell_word(restored);
        ui.hint(format_args!("`bough move -s {path} --to DIR` gives it another"));
    } else if !is_elsewhere {
        ui.hint("`bough restore --to FOLDER` puts it into another folder");
    }
}

/// Says so if Claude Code would soon delete a restored session again, because it was not written for long.
fn note_deletion(main: &Item, restored: &Path, ui: &mut Ui) {
    if main.agent != Format::Claude.agent() || !sweep::is_swept(restored) {
        return;
    }
    let kept = Retention::of_project(main.cwd.as_deref().map(Path::new));
    let deleted = kept.deleted_at(time::of_file(restored));
    if let Some(when) = time::deleted_soon(deleted, time::now()) {
        let days = Count("day", "days", usize::try_from(kept.days).unwrap_or(usize::MAX));
        ui.note(format_args!(
            "warning: Claude Code keeps a session for {days} after it was last written: {when}"
        ));
        let path = text::shell_word(&restored.display().to_string());
        ui.hint(format_args!("`touch {path}` makes it count as written today"));
    }
}

/// Refuses to restore a session that was moved since: two would have its id.
fn refuse_second(item: &Item, contents: &Contents, global: &Global) -> Result<(), Failure> {
    let stores = locate::stores(&global.roots);
    let Some(live) = locate::session_named(&stores, &item.session).ok().filter(|live| *live != item.origin())
    else {
        return Ok(());
    };
    // One that was archived itself may be a copy.
    let is_archived = contents.sessions().iter().any(|one| one.main.origin() == live);
    let there = if is_archived { "has another file, which is still there:" } else { "was not lost: it is" };
    let (id, live) = (text::one_line(&item.session), text::one_line(&live.display().to_string()));
    let what = format!("session {id} {there} {live}");
    let hint =
        "`--to FOLDER` restores the archived one into another folder; `--force` restores it where it was";
    Err(Failure::Usage { what, hint: hint.into() })
}

/// Returns the session that is meant of those that were found.
fn only<'f, 'c>(
    word: &str,
    found: &'f [Archived<'c>],
    archive: &Archive,
) -> Result<&'f Archived<'c>, Failure> {
    if found.is_empty() {
        let what = format!("no session `{}` in the archive {}", word, archive.folder().display());
        let hint = match word.len() < locate::SHORTEST_ID {
            true => "four characters or more of an id name a session; `bough sessions --archived` lists them",
            false => "`bough sessions --archived` lists them",
        };
        return Err(Failure::NotFound { what, hint: hint.into() });
    }
    archived_session::choose(found).ok_or_else(|| archived_session::ambiguous(word, found))
}

/// Returns whether a file is as it was archived, judging by its size and time.
fn is_there(item: &Item, path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.len() == item.bytes && stamp::mtime(&facts) == item.mtime)
}

/// Returns where a file is restored; `None` if it has no place in another folder.
fn target(item: &Item, main: &Item, to: Option<&Path>) -> Option<PathBuf> {
    let Some(to) = to else { return Some(item.origin()) };
    Some(to.join(item.origin().strip_prefix(main.origin().parent()?).ok()?))
}
