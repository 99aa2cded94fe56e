//! The global options.

use super::config::Config;
use crate::cmd::complete;
use crate::format::Format;
use crate::fsck::Check;
use crate::store;
use crate::ui::{Look, text};
use clap_complete::engine::ArgValueCompleter;
use std::io::IsTerminal;
use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;

/// Options that every command takes.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The session: a file, `-`, a folder with one session, an id or id prefix, a name, or `latest`
    ///
    /// If omitted, bough uses the first argument if it names a session, then `BOUGH_SESSION`, then
    /// the session that the agent's own `--continue` would open: the newest of the current folder,
    /// or of the nearest folder above it that has any. A part of a name is enough; if no name has it,
    /// a part of the first prompt.
    #[arg(short, long, global = true, value_name = "SESSION", add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) session: Option<String>,

    /// Read the session as this format instead of detecting it
    #[arg(long, global = true, value_name = "FORMAT", value_parser = format_names())]
    pub(crate) input_format: Option<String>,

    /// Do not use a pager
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,

    /// Print more detail
    #[arg(long, global = true)]
    pub(crate) verbose: bool,

    /// Suppress hints and notes
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    /// When to use color
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,

    /// Draw with ASCII characters only
    #[arg(long, global = true)]
    pub(crate) ascii: bool,

    /// Print JSON Lines, for scripts
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Whether HEAD before the last switch is needed, so that the operation log has to be read.
    #[arg(skip)]
    pub(crate) asks_back: bool,

    /// A session that was opened to see whether it has a revision.
    #[arg(skip)]
    pub(crate) opened: super::words::AlreadyOpened,

    /// Folders with sessions beside the stores of the agents, by the config file.
    #[arg(skip)]
    pub(crate) roots: Vec<PathBuf>,

    /// Checks of fsck whose findings are not shown to people, from the config file.
    #[arg(skip)]
    pub(crate) unshown: Vec<Check>,
}

fn format_names() -> clap::builder::PossibleValuesParser {
    Format::ALL.map(Format::name).into()
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum When {
    #[default]
    Auto,
    Always,
    Never,
}

/// The source of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    Option,
    Variable(&'static str),
    /// The config file.
    File,
    Default,
}

impl Global {
    /// Returns how sessions are opened.
    pub(crate) fn options(&self) -> store::Options {
        let named = |format: &Format| Some(format.name()) == self.input_format.as_deref();
        store::Options { format: Format::ALL.into_iter().find(named), ..store::Options::default() }
    }

    /// Returns the command of the pager, or `None` if no pager is wanted.
    pub(crate) fn pager(&self, config: &Config) -> Option<String> {
        let (command, _) = self.pager_in_force(config);
        // With an empty one, or `cat`, users say that they want no pager.
        Some(command).filter(|command| !self.json && !matches!(command.trim(), "" | "cat"))
    }

    /// Returns the pager setting, and its source.
    pub(crate) fn pager_in_force(&self, config: &Config) -> (String, Origin) {
        let variable = |name: &'static str| Some((std::env::var(name).ok()?, Origin::Variable(name)));
        let of_file = || Some((config.ui.pager.clone()?, Origin::File));
        match self.no_pager {
            true => ("cat".into(), Origin::Option),
            // Such a terminal can't go back, and pagers warn of it.
            false if std::env::var_os("TERM").is_some_and(|term| term == "dumb") => {
                ("cat".into(), Origin::Variable("TERM"))
            }
            // The variable for all programs has lower precedence than bough's own file.
            false => variable("BOUGH_PAGER")
                .or_else(of_file)
                .or_else(|| variable("PAGER"))
                .unwrap_or_else(|| ("less".into(), Origin::Default)),
        }
    }

    /// Returns the color setting, and its source.
    pub(crate) fn color_in_force(&self, config: &Config) -> (When, Origin) {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is = |name: &str, value: &str| std::env::var_os(name).is_some_and(|is| is == value);
        let of_file = config.ui.color.as_deref();
        match self.color {
            When::Always | When::Never => (self.color, Origin::Option),
            When::Auto if is_set("NO_COLOR") => (When::Never, Origin::Variable("NO_COLOR")),
            When::Auto if is_set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") => {
                (When::Always, Origin::Variable("CLICOLOR_FORCE"))
            }
            When::Auto if of_file == Some("always") => (When::Always, Origin::File),
            When::Auto if of_file == Some("never") => (When::Never, Origin::File),
            When::Auto if is("CLICOLOR", "0") => (When::Never, Origin::Variable("CLICOLOR")),
            When::Auto if is("TERM", "dumb") => (When::Never, Origin::Variable("TERM")),
            When::Auto if of_file.is_some() => (When::Auto, Origin::File),
            When::Auto => (When::Auto, Origin::Default),
        }
    }

    /// Returns whether only ASCII is drawn, and the source of that setting.
    pub(crate) fn ascii_in_force(&self, config: &Config) -> (bool, Origin) {
        match (self.ascii, config.ui.ascii) {
            (true, _) => (true, Origin::Option),
            (false, Some(ascii)) => (ascii, Origin::File),
            (false, None) => match other_locale() {
                Some(name) => (true, Origin::Variable(name)),
                None => (false, Origin::Default),
            },
        }
    }

    /// Returns how the output looks.
    pub(crate) fn look(&self, config: &Config) -> Look {
        let terminal = std::io::stdout().is_terminal();
        let color = match self.color_in_force(config).0 {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal,
        };
        let width = std::env::var("COLUMNS").ok().and_then(|width| width.parse().ok());
        let of_terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = width.or_else(of_terminal).filter(|width| *width > 0);
        // A pipe or a file gets everything, unless the user asks for a width.
        if !terminal && std::env::var_os("COLUMNS").is_none() {
            text::keep_whole();
        }
        let width = if text::is_whole() { WHOLE } else { width.unwrap_or(80) };
        Look {
            color,
            ascii: self.ascii_in_force(config).0,
            width,
            terminal,
            quiet: self.quiet,
            json: self.json,
        }
    }
}

/// Parses a number of things, for the options that take one.
pub(crate) fn number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, &'static str> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "the number is too large",
        _ => "expected a whole number",
    })
}

/// The width of what is not cut: more than any line has.
const WHOLE: usize = 1 << 20;

/// Returns the session that the environment names.
pub(crate) fn session_variable() -> Option<String> {
    std::env::var("BOUGH_SESSION").ok().filter(|session| !session.is_empty())
}

/// Returns the variable that sets a locale other than UTF-8, or `None` if the locale is UTF-8 or
/// not set.
fn other_locale() -> Option<&'static str> {
    let variable =
        |name| std::env::var(name).ok().filter(|value| !value.is_empty()).map(|value| (name, value));
    let (name, locale) = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable)?;
    let locale = locale.to_lowercase();
    Some(name).filter(|_| !(locale.contains("utf-8") || locale.contains("utf8")))
}
