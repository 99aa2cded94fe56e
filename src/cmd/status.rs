//! `bough status`: a session in short.

use super::{Exit, Failure, global::Global};
use crate::store;
use crate::ui::Ui;
use std::path::PathBuf;

/// Show a session in short: format, position, branches, faults
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The session file
    #[arg(value_name = "SESSION")]
    session: Option<PathBuf>,
}

pub(super) fn run(args: &Args, _global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let path = args.session.as_ref().ok_or(Failure::NoSession)?;
    let opened = store::open(path, store::Options::default())?;
    let session = &opened.session;
    writeln!(ui.out(), "format   {}", session.format.name())?;
    writeln!(ui.out(), "entries  {}", session.entries.len())?;
    writeln!(ui.out(), "leaves   {}", session.tree.leaves().count())?;
    writeln!(ui.out(), "path     {}", session.path().len())?;
    writeln!(ui.out(), "faults   {}", session.faults.len())?;
    Ok(Exit::Done)
}
