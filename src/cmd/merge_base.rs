//! `bough merge-base`: where two branches part.

use super::rev_parse::RevisionRow;
use super::shared::options::Global;
use super::shared::words::{self, Use};
use super::shared::{rows, session_arg};
use super::{Exit, Failure, complete};
use crate::ops::{ids, revision, turns};
use crate::ui::Ui;
use clap_complete::engine::ArgValueCompleter;

/// Print the entry where two branches part
///
/// Prints the id of the last entry that is on the paths to both entries. The paths are those that
/// `log` shows: for Claude Code, those of the thread. If the paths have no entry in common, prints
/// nothing and exits with 1.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough merge-base [OPTIONS] [SESSION] REV [REV]")]
pub struct Args {
    /// The session, if the first argument names one; then the two entries
    ///
    /// If there is only one, the other is HEAD.
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::first_words))]
    words: Vec<String>,

    /// Print a short id
    #[arg(long)]
    short: bool,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let words = words::split(global, &args.words, Use::Reads)?;
    let (named, revisions) = (words.session(), &words.revisions[..]);
    let (one, other) = match revisions {
        [one] => (one.as_str(), "HEAD"),
        [one, other] => (one.as_str(), other.as_str()),
        _ => {
            let hint = "`bough merge-base A B` prints where the branches of A and B part".into();
            return Err(Failure::Usage { what: "expected two entries".into(), hint }.into());
        }
    };
    let opened = session_arg::session(global, named, ui)?;
    let (session, files) = (&opened.session, &opened.files);
    let one = revision::resolve_one(session, files, one)?;
    let other = revision::resolve_one(session, files, other)?;
    let Some(base) = turns::merge_base(session_arg::whole(&opened), one, other)? else { return Ok(Exit::No) };
    if ui.look.json {
        rows::print(&RevisionRow::read(session, files, base)?, ui)?;
        return Ok(Exit::Done);
    }
    let name = match args.short {
        true => ids::ShortIds::default().short_id(session, files, base)?,
        false => ids::name(session, files, base)?,
    };
    let name = ids::in_row(session, base, name, '\n');
    let name = ui.look.shown(&name);
    writeln!(ui.out(), "{name}")?;
    Ok(Exit::Done)
}
