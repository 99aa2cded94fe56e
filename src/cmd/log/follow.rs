//! `log --follow`: the end of a session, and what comes behind it.

use super::Args;
use super::choose::Keep;
use super::print::Printer;
use crate::cmd::{Exit, Failure, global::Global};
use crate::format::Session;
use crate::model::Ix;
use crate::ops::calls;
use crate::store::write::nobody_reads;
use crate::store::{self, Opened, Part};
use crate::ui::{Ui, text};
use std::io;
use std::time::Duration;

/// How often a growing session is looked at.
pub(super) const EVERY: Duration = Duration::from_millis(500);

/// How many entries are printed first where the user does not say.
pub(super) const FIRST: usize = 10;

/// Prints the end of the path to HEAD, and then what comes behind it.
pub(super) fn follow(
    args: &Args,
    global: &Global,
    ui: &mut Ui,
    mut opened: Opened,
    keep: &Keep,
) -> anyhow::Result<Exit> {
    let path = opened.files.path(0).to_owned();
    if store::is_read_once(&path) {
        let hint = "name a file".to_owned();
        return Err(Failure::Usage { what: "standard input and pipes can't be followed".into(), hint }.into());
    }
    let mut behind = None;
    loop {
        let entries = &opened.session.entries;
        let new: Vec<Ix> = match behind {
            None => {
                let path =
                    keep.end_of_path(&opened).into_iter().flat_map(|end| opened.session.tree.ancestors(end));
                let mut last = some_of(&opened, keep, path, args.count.unwrap_or(FIRST))?;
                last.reverse();
                last
            }
            Some(behind) => some_of(&opened, keep, from(&opened.session, behind), usize::MAX)?,
        };
        let mut printer = Printer::new(&opened, args, keep, global);
        printer.first = behind.is_none();
        for ix in new {
            printer.entry(ix, ui)?;
        }
        ui.out().flush()?;
        let last = entries.all().next_back().map(|last| entries.span(last));
        let end = last.map_or(0, |last| last.offset + last.len);
        behind = Some(end);
        let bytes = opened.session.files[0].bytes;
        let length = || match std::fs::metadata(&path) {
            Ok(facts) => Ok(facts.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(store::Error::NotFound { path: path.clone() })
            }
            Err(source) => Err(store::Error::Io { path: path.clone(), source }),
        };
        while length()? == bytes {
            // Nothing is written meanwhile that could fail.
            if nobody_reads(&io::stdout()) {
                return Ok(Exit::Done);
            }
            std::thread::sleep(EVERY);
        }
        let now = length()?;
        if now < bytes {
            ui.note(format_args!(
                "{} was cut; what is put behind it now follows",
                text::one_line(&path.display().to_string())
            ));
            behind = Some(now);
        }
        opened = match global.json {
            // It has the numbers of lines.
            true => store::open(&path, global.options())?,
            false => {
                let enough = |session: &Session| {
                    let first = session.entries.all().next();
                    first.is_some_and(|first| session.entries.span(first).offset < end)
                        && calls::are_known(session, from(session, end))
                };
                let part = Part { side: true, enough: &enough, ..Part::default() };
                store::open_part(&path, global.options(), &part)?
            }
        };
    }
}

/// The entries of a session that begin at a byte of its file, or behind it.
fn from(session: &Session, byte: u64) -> impl Iterator<Item = Ix> + '_ {
    session.entries.all().filter(move |ix| session.entries.span(*ix).offset >= byte)
}

/// Those of some entries that are kept, the first `most` of them.
pub(super) fn some_of(
    opened: &Opened,
    keep: &Keep,
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
