//! The command line: what is asked, what is printed, the exit status.

mod exit;
mod global;
mod open;
mod rev_parse;
mod status;

pub use exit::{Exit, Failure};

use crate::ui::Ui;
use clap::Parser;
use global::Global;

/// git for coding-agent sessions
///
/// bough works on the session files that coding agents write (pi, oh-my-pi, Chimera, Claude Code) as git works on
/// commits: it shows the tree in a file, moves in it, names places, cuts branches out, compares, checks, repairs
/// and takes back.
#[derive(Parser, Debug)]
#[command(name = "bough", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    RevParse(rev_parse::Args),
    Status(status::Args),
}

/// Runs the program on the words of the command line, its name first; gives the exit status.
pub fn run(words: impl IntoIterator<Item = std::ffi::OsString>) -> Exit {
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Done };
        }
    };
    let mut ui = Ui::standard(cli.global.look());
    let result = match &cli.command {
        Command::RevParse(args) => rev_parse::run(args, &cli.global, &mut ui),
        Command::Status(args) => status::run(args, &cli.global, &mut ui),
    };
    let result = result.and_then(|exit| Ok(ui.finish().map(|()| exit)?));
    match result {
        Ok(exit) => exit,
        Err(error) => exit::report(&error, &mut ui),
    }
}
