//! The meaning of colors, in one place. Colors never carry information that the text does not.

use super::Look;
use owo_colors::{DynColors, OwoColorize, Style};
use std::sync::OnceLock;

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

/// The names of the inks that the config file can set, with the ink and its own style.
const INKS: [(&str, Ink, &str); 16] = [
    ("id", Ink::Id, "yellow"),
    ("user", Ink::User, "bold cyan"),
    ("assistant", Ink::Assistant, "blue"),
    ("tool", Ink::Tool, "dim"),
    ("summary", Ink::Summary, "magenta"),
    ("quiet", Ink::Quiet, "dim"),
    ("head", Ink::Head, "bold bright-cyan"),
    ("label", Ink::Label, "bold bright-green"),
    ("file", Ink::File, "magenta"),
    ("branch", Ink::Branch, "green"),
    ("match", Ink::Match, "bold red"),
    ("bad", Ink::Bad, "red"),
    ("error", Ink::Error, "bold red"),
    ("warning", Ink::Warning, "yellow"),
    ("good", Ink::Good, "green"),
    ("strong", Ink::Strong, "bold"),
];

/// The styles of the config file, by the place of the ink.
static STYLES: OnceLock<[Option<Style>; INKS.len()]> = OnceLock::new();

/// Sets the styles of inks for the rest of the run; gives the names that are unknown, or have a style that is.
pub fn set_styles<'c>(styles: impl IntoIterator<Item = (&'c String, &'c String)>) -> Result<(), String> {
    let mut set = [None; INKS.len()];
    for (name, words) in styles {
        let Some(place) = INKS.iter().position(|(known, ..)| known == name) else {
            let known: Vec<&str> = INKS.iter().map(|(known, ..)| *known).collect();
            return Err(format!("unknown color `{name}`, expected one of {}", known.join(", ")));
        };
        let style = parse(words).ok_or_else(|| format!("invalid color `{words}` for `{name}`"))?;
        set[place] = Some(style);
    }
    let _ = STYLES.set(set);
    Ok(())
}

/// Reads a style: a color, `bold`, `dim`, `italic`, `underline`, `reverse`, `default`; colors are the eight of ANSI, bright
/// ones, numbers of the palette of 256, and `#rrggbb`.
fn parse(words: &str) -> Option<Style> {
    let mut style = Style::new();
    for word in words.split_whitespace() {
        style = match word {
            "bold" => style.bold(),
            "dim" => style.dimmed(),
            "italic" => style.italic(),
            "underline" => style.underline(),
            "reverse" => style.reversed(),
            "default" => style,
            color => style.color(color_of(color)?),
        };
    }
    Some(style)
}

fn color_of(word: &str) -> Option<DynColors> {
    use owo_colors::AnsiColors::*;
    let ansi = |color| Some(DynColors::Ansi(color));
    match word {
        "black" => ansi(Black),
        "red" => ansi(Red),
        "green" => ansi(Green),
        "yellow" => ansi(Yellow),
        "blue" => ansi(Blue),
        "magenta" => ansi(Magenta),
        "cyan" => ansi(Cyan),
        "white" => ansi(White),
        "bright-black" => ansi(BrightBlack),
        "bright-red" => ansi(BrightRed),
        "bright-green" => ansi(BrightGreen),
        "bright-yellow" => ansi(BrightYellow),
        "bright-blue" => ansi(BrightBlue),
        "bright-magenta" => ansi(BrightMagenta),
        "bright-cyan" => ansi(BrightCyan),
        "bright-white" => ansi(BrightWhite),
        _ => match word.strip_prefix('#') {
            Some(hex) if hex.len() == 6 && hex.is_ascii() => {
                let part = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).ok();
                Some(DynColors::Rgb(part(0)?, part(2)?, part(4)?))
            }
            Some(_) => None,
            None => Some(DynColors::Xterm(word.parse::<u8>().ok()?.into())),
        },
    }
}

/// The style of an ink: that of the config file, else its own.
///
/// Nothing is bright black: on some terminals that is the color of the background.
fn style_of(ink: Ink) -> Style {
    let ink = match ink {
        Ink::Path => Ink::Label,
        Ink::Column(column) => {
            let style = Style::new();
            return match column % 5 {
                0 => style.bright_green(),
                1 => style.magenta(),
                2 => style.yellow(),
                3 => style.blue(),
                _ => style.red(),
            };
        }
        ink => ink,
    };
    let place = INKS.iter().position(|(_, known, _)| *known == ink).expect("every ink has a row");
    let set = STYLES.get().and_then(|styles| styles[place]);
    set.unwrap_or_else(|| parse(INKS[place].2).expect("our own styles are known"))
}

/// Paints text, if colors are used.
pub fn paint(look: &Look, ink: Ink, text: impl std::fmt::Display) -> String {
    if !look.color {
        return text.to_string();
    }
    text.style(style_of(ink)).to_string()
}

#[cfg(test)]
mod tests;
