//! `bough rev-parse`: the entries that revisions name.

use super::shared::options::Global;
use super::shared::words::{self, Use};
use super::shared::{rows, session_arg};
use super::{Exit, Failure, complete};
use crate::format::Session;
use crate::model::{Ix, Kind, Source};
use crate::ops::{self, ids, revision};
use crate::ui::Ui;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::io;

/// Print the ids that revisions resolve to
///
/// Prints one id per line, in the order of the revisions. The entries of a range are in path order,
/// those of any other set in file order. Sets follow parent links as stored, like `bough log
/// --dag`. An entry without an id is printed as `line:N`; without `-z`, so is an entry whose id
/// contains a line break.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough rev-parse [OPTIONS] [SESSION] [REV]...")]
pub struct Args {
    /// The session, if the first argument names one; then revisions and ranges
    ///
    /// If no revision is given, HEAD.
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::first_words_or_sets))]
    words: Vec<String>,

    /// Require exactly one entry; otherwise print nothing and exit with 1
    #[arg(long)]
    verify: bool,

    /// Print short ids
    #[arg(long)]
    short: bool,

    /// Print the number of entries
    #[arg(long)]
    count: bool,

    /// End each id with a NUL byte instead of a newline
    #[arg(short = 'z')]
    nul: bool,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let words = match words::split(global, &args.words, Use::Reads) {
        // The first word could have named a session, too.
        Err(error) if args.verify && is_unknown(&error) && session_arg::default_session(global).is_ok() => {
            return Ok(Exit::No);
        }
        other => other?,
    };
    let (named, revisions) = (words.session(), &words.revisions[..]);
    let opened = session_arg::session(global, named, ui)?;
    let (session, files) = (&opened.session, &opened.files);
    let revisions = if revisions.is_empty() { &["HEAD".to_owned()] } else { revisions };
    let found = match args.verify {
        true => only_entry(session, files, revisions)?,
        false => Some(entries(session, files, revisions)?),
    };
    let Some(found) = found else { return Ok(Exit::No) };
    if args.count {
        writeln!(ui.out(), "{}", found.len())?;
        return Ok(Exit::Done);
    }
    let short = ids::ShortIds::default();
    for ix in found {
        let name =
            if args.short { short.short_id(session, files, ix)? } else { ids::name(session, files, ix)? };
        if ui.look.json {
            rows::print(&RevisionRow::read(session, files, ix)?, ui)?;
        } else {
            let end = if args.nul { '\0' } else { '\n' };
            let name = ids::in_row(session, ix, name, end);
            let name = ui.look.shown(&name);
            write!(ui.out(), "{name}{end}")?;
        }
    }
    Ok(Exit::Done)
}

/// Returns the entry that a single revision names, or `None` if it does not name exactly one.
fn only_entry(
    session: &Session,
    source: &dyn Source,
    revisions: &[String],
) -> Result<Option<Vec<Ix>>, ops::Error> {
    match revision::resolve_one(session, source, &revisions[0]) {
        Ok(ix) if revisions.len() == 1 => Ok(Some(vec![ix])),
        Err(error @ (ops::Error::Io(_) | ops::Error::Malformed { .. })) => Err(error),
        Ok(_) | Err(_) => Ok(None),
    }
}

/// Returns the entries that revisions name, those of each revision in turn.
fn entries(session: &Session, source: &dyn Source, revisions: &[String]) -> Result<Vec<Ix>, ops::Error> {
    let sets =
        revisions.iter().map(|revision| revision::set(session, source, std::slice::from_ref(revision)));
    Ok(sets.collect::<Result<Vec<_>, _>>()?.concat())
}

/// Whether an error says that a word names nothing.
fn is_unknown(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Failure::NotFound { .. }))
}

/// What a revision stands for: rev-parse, merge-base.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.revision/1")]
pub(super) struct RevisionRow {
    /// The id; absent where the format has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The line of the entry.
    line: u64,
    /// The kind of the entry, in the words that all formats share.
    kind: Kind,
}

impl RevisionRow {
    pub(super) fn read(session: &Session, source: &dyn Source, ix: Ix) -> io::Result<RevisionRow> {
        Ok(RevisionRow {
            id: Some(ids::id(session, source, ix)?).filter(|id| !id.is_empty()),
            line: session.entries.line(ix),
            kind: session.entries.kind(ix),
        })
    }
}
