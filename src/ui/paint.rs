//! The meaning of colors, in one place. Colors never carry information that the text does not.

use super::Look;
use owo_colors::{OwoColorize, Style};

/// The role of a piece of text, which determines its color.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ink {
    /// An id, or another name that can be used as an argument.
    Id,
    /// A message of the user.
    User,
    /// A message of the model.
    Assistant,
    /// The output of a tool.
    Tool,
    /// An entry that replaces others: a summary or compaction.
    Summary,
    /// Bookkeeping, times, and anything of minor interest.
    Quiet,
    /// HEAD.
    Head,
    /// A label.
    Label,
    /// A file, before its matches.
    File,
    /// A branch.
    Branch,
    /// A match of a search.
    Match,
    /// Something that failed or is wrong.
    Bad,
    /// The word `error`.
    Error,
    /// The word `warning`.
    Warning,
    /// Something that is fine, or was added.
    Good,
    /// Something that stands out.
    Strong,
    /// The path to HEAD, in the graph.
    Path,
    /// A column of the graph, from 0.
    Column(usize),
}

/// Paints text, if colors are used.
pub fn paint(look: &Look, ink: Ink, text: impl std::fmt::Display) -> String {
    if !look.color {
        return text.to_string();
    }
    let style = Style::new();
    let style = match ink {
        Ink::Id => style.yellow(),
        Ink::User => style.cyan().bold(),
        Ink::Assistant => style.blue(),
        Ink::Tool => style.bright_black(),
        Ink::Summary => style.magenta(),
        Ink::Quiet => style.bright_black(),
        Ink::Head => style.bright_cyan().bold(),
        Ink::Label => style.bright_green().bold(),
        Ink::File => style.magenta(),
        Ink::Branch => style.green(),
        Ink::Match | Ink::Error => style.red().bold(),
        Ink::Warning => style.yellow(),
        Ink::Bad => style.red(),
        Ink::Good => style.green(),
        Ink::Strong => style.bold(),
        Ink::Path => style.bright_green().bold(),
        Ink::Column(column) => match column % 5 {
            0 => style.bright_green(),
            1 => style.magenta(),
            2 => style.yellow(),
            3 => style.blue(),
            _ => style.red(),
        },
    };
    text.style(style).to_string()
}
