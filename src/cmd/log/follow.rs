//! `log --follow`: the end of a session, and everything that is appended to it.

use super::Args;
use super::print::Printer;
use super::select::Filter;
use crate::cmd::shared::options::Global;
use crate::cmd::{Exit, Failure};
use crate::format::Session;
use crate::model::{Ix, Key};
use crate::ops::tool_calls;
use crate::store::write::nobody_reads;
use crate::store::{self, End, Growing, Opened, Options, TailRequest};
use crate::ui::{Ui, text};
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a growing session is checked.
pub(super) const EVERY: Duration = Duration::from_millis(500);

/// How many entries are printed first by default.
pub(super) const FIRST: usize = 10;

/// Prints the end of the path to HEAD, and then everything that is appended.
pub(super) fn follow(
    args: &Args,
    global: &Global,
    ui: &mut Ui,
    mut opened: Opened,
    keep: &Filter,
) -> anyhow::Result<Exit> {
    let path = opened.files.path(0).to_owned();
    if store::is_read_once(&path) {
        let hint = "name a file".to_owned();
        return Err(Failure::Usage { what: "can't follow standard input or a pipe".into(), hint }.into());
    }
    let mut again = Again::new(global, &path, &opened);
    if let Again::Appended(growing) = &mut again
        && let Ok(now) = growing.read()
    {
        // From here on, nothing is read twice.
        opened = now;
    }
    let mut behind: Option<Behind> = None;
    // Taken before anything is printed: a program that sees the output may immediately rewrite the
    // file.
    let mut end = End::take(&opened);
    loop {
        let new = entries_after(behind.as_ref(), &opened, args, keep)?;
        let mut printer = Printer::new(&opened, args, keep, global);
        printer.first = behind.is_none();
        for ix in new {
            printer.entry(ix, ui)?;
        }
        ui.out().flush()?;
        while !end.is_changed(&path)? {
            // Nothing is written in the meantime, so no write can fail.
            if nobody_reads(&io::stdout()) {
                return Ok(Exit::Done);
            }
            std::thread::sleep(EVERY);
        }
        let known = || {
            let entries = &opened.session.entries;
            let keys = entries.all().map(|ix| entries.key(ix)).collect();
            Behind::Known { keys, are_all: !opened.session.partial }
        };
        let was = end.byte();
        let (same, next, now) = read_again(&mut again, end, &path)?;
        if same != Some(was) {
            ui.note(format_args!(
                "{} was truncated; new entries follow",
                text::one_line(&path.display().to_string())
            ));
        }
        behind = Some(same.map_or_else(known, Behind::Byte));
        (opened, end) = (now, next);
    }
}

/// Reads a file that changed until it is the same before and after; returns how far it is the one
/// that was printed, its new end, and the session.
fn read_again(again: &mut Again, end: End, path: &Path) -> anyhow::Result<(Option<u64>, End, Opened)> {
    loop {
        let same = end.still_there(path)?;
        match again.read(same) {
            Ok(now) => {
                // It may have been written while it was opened.
                let is_same = end.still_there(path)? == same;
                if is_same && same == Some(end.byte()) {
                    return Ok((same, end.after(&now), now));
                }
                let next = End::take(&now);
                if is_same && next.is_known() {
                    return Ok((same, next, now));
                }
            }
            // A program that rewrites a file truncates it first.
            Err(error) if error.is_no_session() && !nobody_reads(&io::stdout()) => {
                std::thread::sleep(EVERY);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns the entries to be printed: those after what is known, or the end of the path to HEAD if nothing was printed yet.
fn entries_after(
    behind: Option<&Behind>,
    opened: &Opened,
    args: &Args,
    keep: &Filter,
) -> io::Result<Vec<Ix>> {
    Ok(match behind {
        None => {
            let path =
                keep.end_of_path(opened).into_iter().flat_map(|end| opened.session.tree.ancestors(end));
            let mut last = some_of(opened, keep, path, args.count.unwrap_or(FIRST))?;
            last.reverse();
            last
        }
        Some(Behind::Byte(byte)) => some_of(opened, keep, from(&opened.session, *byte), usize::MAX)?,
        Some(Behind::Known { keys, are_all }) => {
            let entries = &opened.session.entries;
            let is_new = |ix: &Ix| !keys.contains(&entries.key(*ix));
            // If only the last entries are known, the others come before them.
            let last = entries.all().rev().find(|ix| !is_new(ix)).filter(|_| !are_all);
            let new = entries.all().filter(|ix| last.is_none_or(|last| *ix > last)).filter(is_new);
            some_of(opened, keep, new, usize::MAX)?
        }
    })
}

/// Reads the session again after it changed.
enum Again {
    /// From the end, as far as is needed; nothing of what came before is held in memory.
    End(PathBuf, Options),
    /// Only what was appended, for what a part does not tell: line numbers, or HEAD in some formats.
    Appended(Box<Growing>),
}

impl Again {
    /// `opened` is the session as it was opened at first.
    fn new(global: &Global, path: &Path, opened: &Opened) -> Again {
        match opened.session.partial {
            true => Again::End(path.to_owned(), global.options()),
            false => Again::Appended(Box::new(Growing::new(path, global.options()))),
        }
    }

    /// Opens the session; the file is unchanged up to a byte offset, if there is one.
    fn read(&mut self, byte: Option<u64>) -> Result<Opened, store::Error> {
        match self {
            Again::Appended(growing) => growing.read(),
            Again::End(path, options) => {
                let Some(byte) = byte else { return store::open(path, *options) };
                let enough = |session: &Session| {
                    let first = session.entries.all().next();
                    first.is_some_and(|first| session.entries.span(first).offset < byte)
                        && tool_calls::are_known(session, from(session, byte))
                };
                let part = TailRequest { side: true, enough: &enough, ..TailRequest::default() };
                store::open_part(path, *options, &part)
            }
        }
    }
}

/// What is known of the file, so that only new entries are printed.
enum Behind {
    /// Everything from this offset on is new; the file before it is unchanged.
    Byte(u64),
    /// The file was rewritten: entries with other ids are new.
    Known {
        keys: HashSet<Key>,
        /// Whether these are all entries that were in the file, and not only the last ones.
        are_all: bool,
    },
}

/// Returns the entries of a session whose lines begin at or after a byte offset.
fn from(session: &Session, byte: u64) -> impl Iterator<Item = Ix> + '_ {
    session.entries.all().filter(move |ix| session.entries.span(*ix).offset >= byte)
}

/// Returns the kept ones of some entries, at most the first `most`.
pub(super) fn some_of(
    opened: &Opened,
    keep: &Filter,
    entries: impl Iterator<Item = Ix>,
    most: usize,
) -> io::Result<Vec<Ix>> {
    let (mut out, mut line) = (Vec::new(), Vec::new());
    for ix in entries {
        if out.len() == most {
            break;
        }
        if keep.takes(opened, ix, &mut line)? {
            out.push(ix);
        }
    }
    Ok(out)
}
