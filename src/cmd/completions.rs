//! `bough completions`: the static scripts of shells.

use super::{Cli, Exit};
use crate::ui::Ui;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a shell completion script
///
/// The script completes commands and options. To complete ids, labels and sessions too, let the
/// shell ask bough itself, with a line in its startup file: `source <(COMPLETE=bash bough)`,
/// `source <(COMPLETE=zsh bough)` or `COMPLETE=fish bough | source`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The shell that will read the script
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(args: &Args, ui: &mut Ui) -> anyhow::Result<Exit> {
    ui.out().write_all(&script(args.shell))?;
    Ok(Exit::Done)
}

/// Returns the static script of a shell.
pub fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bough", &mut script);
    script
}
