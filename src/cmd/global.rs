use super::complete;
use super::config::Config;
use crate::format::Format;
use crate::fsck::Check;
use crate::store;
use crate::ui::Look;
use clap_complete::engine::ArgValueCompleter;
use std::io::IsTerminal;
use std::path::PathBuf;

/// What every command takes.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options of all commands")]
pub(super) struct Global {
    /// The session: a file, `-`, a folder with one session, an id or prefix, a name, or `latest`
    ///
    /// Without it the first word behind the command is the session if it looks like a file; then
    /// `BOUGH_SESSION`; then the newest session that any agent has for the current folder.
    #[arg(short, long, global = true, value_name = "SESSION", add = ArgValueCompleter::new(complete::sessions))]
    pub(super) session: Option<String>,

    /// Read the session as this format, whatever it looks like
    #[arg(long, global = true, value_name = "FORMAT", value_parser = format_names())]
    pub(super) input_format: Option<String>,

    /// Never start a pager
    #[arg(long, global = true)]
    pub(super) no_pager: bool,

    /// Say more
    #[arg(long, global = true)]
    pub(super) verbose: bool,

    /// Say less: no hints, no notes
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,

    /// When to use color
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(super) color: When,

    /// Draw with ASCII alone
    #[arg(long, global = true)]
    pub(super) ascii: bool,

    /// Print JSON Lines, for scripts
    #[arg(long, global = true)]
    pub(super) json: bool,

    /// Folders with sessions beside the stores of the agents, by the config file.
    #[arg(skip)]
    pub(super) roots: Vec<PathBuf>,

    /// Checks of fsck whose findings a person is not shown, by the config file.
    #[arg(skip)]
    pub(super) unshown: Vec<Check>,
}

fn format_names() -> clap::builder::PossibleValuesParser {
    Format::ALL.map(Format::name).into()
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum When {
    #[default]
    Auto,
    Always,
    Never,
}

impl Global {
    /// How sessions are opened.
    pub(super) fn options(&self) -> store::Options {
        let named = |format: &Format| Some(format.name()) == self.input_format.as_deref();
        store::Options { format: Format::ALL.into_iter().find(named), ..store::Options::default() }
    }

    /// The pager, as a command; `None` where none is wanted.
    pub(super) fn pager(&self, config: &Config) -> Option<String> {
        if self.no_pager || self.json {
            return None;
        }
        let variable = |name: &str| std::env::var(name).ok();
        let command = variable("BOUGH_PAGER")
            .or_else(|| config.ui.pager.clone())
            .or_else(|| variable("PAGER"))
            .unwrap_or_else(|| "less".into());
        // An empty one, or `cat`, is how users say that they want none.
        Some(command).filter(|command| !matches!(command.trim(), "" | "cat"))
    }

    /// What `--color` says, where it says anything.
    pub(super) fn color_option(&self) -> Option<String> {
        match self.color {
            When::Auto => None,
            When::Always => Some("always".into()),
            When::Never => Some("never".into()),
        }
    }

    /// How things look.
    pub(super) fn look(&self, config: &Config) -> Look {
        let terminal = std::io::stdout().is_terminal();
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let color = match self.color {
            When::Always => true,
            When::Never => false,
            When::Auto if set("NO_COLOR") => false,
            When::Auto if set("CLICOLOR_FORCE") => true,
            When::Auto if config.ui.color.as_deref() == Some("always") => true,
            When::Auto if config.ui.color.as_deref() == Some("never") => false,
            When::Auto if std::env::var_os("CLICOLOR").is_some_and(|value| value == "0") => false,
            When::Auto => terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        };
        let width = std::env::var("COLUMNS").ok().and_then(|width| width.parse().ok());
        let of_terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = width.or_else(of_terminal).filter(|width| *width > 0).unwrap_or(80);
        Look {
            color,
            ascii: self.ascii || config.ui.ascii.unwrap_or_else(|| !locale_is_utf8()),
            width,
            terminal,
            quiet: self.quiet,
            json: self.json,
        }
    }
}

/// Whether the locale is one of UTF-8, by the variables that decide it; one that is not set at all is taken for one.
fn locale_is_utf8() -> bool {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
    locale.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}
