use crate::ui::Look;
use std::io::IsTerminal;

/// What every command takes.
#[derive(clap::Args, Debug)]
pub(super) struct Global {
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
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum When {
    Auto,
    Always,
    Never,
}

impl Global {
    /// How things look.
    pub(super) fn look(&self) -> Look {
        let terminal = std::io::stdout().is_terminal();
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let color = match self.color {
            When::Always => true,
            When::Never => false,
            When::Auto if set("NO_COLOR") => false,
            When::Auto if set("CLICOLOR_FORCE") => true,
            When::Auto => terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        };
        let width = std::env::var("COLUMNS").ok().and_then(|width| width.parse().ok()).unwrap_or(80);
        Look { color, ascii: self.ascii, width, terminal, quiet: self.quiet, json: self.json }
    }
}
