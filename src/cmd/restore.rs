//! `bough restore`: puts a session of the archive back.

use super::archive::{io_error, open, read};
use super::shared::options::Global;
use super::shared::utf8_path::utf8_path;
use super::shared::write::{self, WriteArgs};
use super::{Exit, Failure, complete};
use crate::format::Format;
use crate::model::{Change, Count, Piece, Plan, Span, Target};
use crate::store::Files;
use crate::store::archive::{Archive, Item, Unpacked};
use crate::store::locate;
use crate::ui::{Ui, text};
use clap::ValueHint;
use clap_complete::engine::ArgValueCompleter;
use std::path::{Path, PathBuf};

/// Restore a session from the archive
///
/// Puts a session and all that belongs to it back to where it was, byte for byte, with its times and
/// modes. Each part is compared with the hash that it had when it was archived. Files that are there
/// are not overwritten, unless `--allow=overwrite` is given; one that is overwritten keeps its mode.
/// The restore is one operation, and `bough undo` undoes it.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The id of the session, or its beginning, as `bough sessions --archived` lists it
    #[arg(value_name = "ID", add = ArgValueCompleter::new(complete::archived))]
    id: String,

    /// The folder of the archive
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    from: Option<PathBuf>,

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
    let contents = read(&archive)?;
    let found = contents.session(&args.id);
    let items = only(&args.id, &found, &archive)?;
    if !args.writing.force && args.to.is_none() {
        let main = items.iter().find(|item| item.main).unwrap_or(&items[0]);
        refuse_second(main, global)?;
    }
    let mut unpacked = Unpacked::new();
    let mut plan = Plan { verb: "restore".into(), keep_times: true, ..Plan::default() };
    let mut files = Files::new();
    let mut left = 0;
    // The session itself comes last, so that half a restore is not a session.
    for item in items.iter().filter(|item| !item.main).chain(items.iter().filter(|item| item.main)) {
        let Some(to) = target(item, items, args.to.as_deref()) else {
            left += 1;
            continue;
        };
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
    if args.writing.dry_run || ui.look.quiet {
        return Ok(Exit::Done);
    }
    let main = items.iter().find(|item| item.main).and_then(|item| target(item, items, args.to.as_deref()));
    let main = main.map_or(String::new(), |path| text::one_line(&path.display().to_string()));
    ui.note(format_args!(
        "restored {} of session {}: {main}",
        Count("file", "files", plan.targets.len()),
        items[0].session
    ));
    if left > 0 {
        ui.note(format_args!("warning: {} outside of its folder not restored", Count("file", "files", left)));
    }
    if !done.op_id.is_empty() {
        ui.hint(format_args!("`bough undo {}` undoes it", done.op_id));
    }
    Ok(Exit::Done)
}

/// Refuses to restore a session that was moved since: two would have its id.
fn refuse_second(item: &Item, global: &Global) -> Result<(), Failure> {
    let stores = locate::stores(&global.roots);
    let Some(live) = locate::session_named(&stores, &item.session).ok().filter(|live| *live != item.origin())
    else {
        return Ok(());
    };
    let what = format!(
        "session {} was not lost: it is {}",
        text::one_line(&item.session),
        text::one_line(&live.display().to_string())
    );
    let hint =
        "`--to FOLDER` restores the archived one into another folder; `--force` restores it where it was";
    Err(Failure::Usage { what, hint: hint.into() })
}

/// Returns the files of the only session that was found.
fn only<'f, 'i>(id: &str, found: &'f [Vec<&'i Item>], archive: &Archive) -> Result<&'f [&'i Item], Failure> {
    match found {
        [only] => Ok(only),
        [] => {
            let what = format!("no session `{}` in the archive {}", id, archive.folder().display());
            let hint = match id.len() < locate::SHORTEST_ID {
                true => {
                    "four characters or more of an id name a session; `bough sessions --archived` lists them"
                }
                false => "`bough sessions --archived` lists them",
            };
            Err(Failure::NotFound { what, hint: hint.into() })
        }
        several => {
            let what = format!("`{}` begins the ids of {}", id, Count("session", "sessions", several.len()));
            Err(Failure::NotFound { what, hint: "give more of the id".into() })
        }
    }
}

/// Returns where a file is restored; `None` if it has no place in another folder.
fn target(item: &Item, items: &[&Item], to: Option<&Path>) -> Option<PathBuf> {
    let Some(to) = to else { return Some(item.origin()) };
    let main = items.iter().find(|item| item.main)?.origin();
    Some(to.join(item.origin().strip_prefix(main.parent()?).ok()?))
}
