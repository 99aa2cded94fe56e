//! `bough cat`: the stored bytes of entries.

use super::shared::options::Global;
use super::shared::words::{self, Use};
use super::shared::{session_arg, thread_arg};
use super::{Exit, complete};
use crate::json;
use crate::model::Source;
use crate::ui::Ui;
use clap_complete::engine::ArgValueCompleter;

/// Print entries as stored
///
/// Prints each entry on one line, byte for byte as in the file. With `--pretty`, the JSON is on
/// several lines; strings and numbers keep their spelling.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough cat [OPTIONS] [SESSION] [REV]...")]
pub struct Args {
    /// The session, if the first argument names one; then revisions and ranges
    ///
    /// If no revision is given, HEAD.
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::first_words_or_sets))]
    words: Vec<String>,

    /// Pretty-print the JSON on several lines
    #[arg(long)]
    pretty: bool,

    /// End each entry with a NUL byte instead of a newline
    #[arg(short = 'z')]
    nul: bool,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let words = words::split(global, &args.words, Use::Reads)?;
    let (named, revisions) = (words.session(), &words.revisions[..]);
    let opened = session_arg::session(global, named, ui)?;
    let revisions = if revisions.is_empty() { &["HEAD".to_owned()] } else { revisions };
    let (opened, entries) = thread_arg::entries_named(opened, revisions, ui)?;
    let mut line = Vec::new();
    for ix in entries {
        opened.files.read(opened.session.span(ix), &mut line)?;
        if args.pretty {
            line = json::pretty(&line);
        }
        ui.out().write_all(&line)?;
        ui.out().write_all(if args.nul { b"\0" } else { b"\n" })?;
    }
    Ok(Exit::Done)
}
