//! Colors: what they mean, in one place. They say nothing that the words do not.

use super::Look;
use owo_colors::{OwoColorize, Style};

/// What a piece of text is, as far as its color goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ink {
    /// An id, or another name by which something can be asked for.
    Id,
    /// What a user said.
    User,
    /// What the model said.
    Assistant,
    /// What a tool gave.
    Tool,
    /// What stands for other entries: summaries, compactions.
    Summary,
    /// Bookkeeping, times, and what is of less interest.
    Quiet,
    /// The position.
    Head,
    /// A label.
    Label,
    /// A file, before what was found in it.
    File,
    /// A branch.
    Branch,
    /// What was looked for.
    Match,
    /// Something that failed or is wrong.
    Bad,
    /// The word of an error.
    Error,
    /// The word of a warning.
    Warning,
    /// Something that is well, or was added.
    Good,
    /// Something that stands out.
    Strong,
    /// The path to the position, in the graph.
    Path,
    /// A column of the graph, from 0.
    Column(usize),
}

/// Paints text, where colors are used.
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
