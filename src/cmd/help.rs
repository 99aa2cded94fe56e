//! `bough help`: the manual pages, shown by the program itself.

use super::shared::config::Config;
use super::{Exit, Failure, complete, man, tips};
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;

/// Show a manual page
///
/// Shows the page of a command, or of a topic: `revisions`, `formats`, `config`, `exit-codes`. Without
/// a name, lists the commands. The pages are part of the program and need not be installed.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The command or the topic; a command with a command of its own has two words
    #[arg(value_name = "COMMAND|TOPIC", add = ArgValueCompleter::new(complete::help_words))]
    words: Vec<String>,
}

pub(super) fn run(args: &Args, config: &Config, ui: &mut Ui) -> anyhow::Result<Exit> {
    ui.for_people();
    if args.words.is_empty() {
        let help = super::whole().render_long_help();
        let help = if ui.look.color { help.ansi().to_string() } else { help.to_string() };
        ui.page();
        writeln!(ui.out(), "{}", help.trim_end())?;
        return Ok(Exit::Done);
    }
    let name = args.words.join("-");
    let name = name.strip_prefix("bough-").unwrap_or(&name);
    let pages = man::pages()?;
    let wanted = |file: &str| {
        let (page, _) = file.rsplit_once('.').unwrap_or((file, ""));
        page.strip_prefix("bough-").unwrap_or(page) == name
    };
    // `config` is a command and the file of its settings: the latter is what is asked for more often.
    let Some((_, page)) = pages.iter().rfind(|(file, _)| wanted(file)) else {
        if let Some(words) = config.alias.get(name) {
            writeln!(
                ui.out(),
                "`{}` is an alias of `{}`",
                text::one_line(name),
                text::one_line(words.trim())
            )?;
            return Ok(Exit::Done);
        }
        return Err(no_page_about(&args.words.join(" ")).into());
    };
    ui.page();
    let shown = rendered(&String::from_utf8_lossy(page), ui);
    write!(ui.out(), "{shown}")?;
    Ok(Exit::Done)
}

fn no_page_about(words: &str) -> Failure {
    Failure::Usage {
        what: format!("there is no page about `{words}`"),
        hint: match topics_about(words) {
            found if found.is_empty() => tips::for_word(words).unwrap_or_else(|| {
                format!("the commands are listed by `bough help`; the topics are {}", topics())
            }),
            found => format!("it is mentioned in {}", found.join(", ")),
        },
    }
}

/// The topics that belong to no command, for a sentence.
fn topics() -> String {
    man::topics().map(|topic| format!("`{topic}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the commands that show the topics with a word in them.
fn topics_about(word: &str) -> Vec<String> {
    let word = word.to_lowercase();
    let is_about =
        |text: &str| text.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|other| other == word);
    let found = man::topic_texts().filter(|(_, text)| is_about(text));
    found.map(|(name, _)| format!("`bough help {name}`")).collect()
}

/// How far text is indented, and the terms before it.
const INDENT: usize = 7;

/// Returns a page of ours as text: the few requests that our pages have.
fn rendered(page: &str, ui: &Ui) -> String {
    let width = if text::is_whole() { usize::MAX } else { ui.look.width.clamp(40, 100) };
    let mut out = Page { width, lines: Vec::new(), text: String::new(), indent: INDENT };
    let mut is_term = false;
    for line in page.lines() {
        let (request, rest) = line.split_once(' ').unwrap_or((line, ""));
        match request {
            ".TH" | ".ie" | ".el" | ".nh" | ".ad" => {}
            ".SH" | ".SS" => {
                out.end();
                out.blank();
                let heading = plain(rest.trim_matches('"'));
                let heading = if request == ".SS" { format!("   {heading}") } else { heading };
                out.lines.push(ui.paint(crate::ui::Ink::Strong, heading));
                out.indent = INDENT;
            }
            ".TP" => {
                out.end();
                out.blank_unless_heading();
                out.indent = INDENT;
                is_term = true;
            }
            ".PP" | ".sp" => {
                out.end();
                out.blank_unless_heading();
                if request == ".PP" {
                    out.indent = INDENT;
                }
            }
            ".RS" => {
                out.end();
                out.indent += INDENT;
            }
            ".RE" => {
                out.end();
                out.indent = INDENT;
            }
            ".br" => out.end(),
            ".IP" => {
                out.end();
                out.text = "• ".to_owned();
            }
            "" => {
                out.end();
                out.blank_unless_heading();
            }
            _ if is_term => {
                out.text = plain(line);
                out.end();
                out.indent = INDENT + 4;
                is_term = false;
            }
            _ => {
                let line = plain(line);
                if !out.text.is_empty() && !out.text.ends_with(' ') {
                    out.text.push(' ');
                }
                out.text.push_str(&line);
            }
        }
    }
    out.end();
    let mut text = out.lines.join("\n");
    text.push('\n');
    text.trim_start_matches('\n').to_owned()
}

/// A page on its way onto the screen.
struct Page {
    width: usize,
    lines: Vec<String>,
    /// The paragraph that is not ended yet.
    text: String,
    indent: usize,
}

impl Page {
    /// Ends a paragraph.
    fn end(&mut self) {
        let indent = " ".repeat(self.indent);
        for line in text::wrap(self.text.trim_end(), self.width.saturating_sub(self.indent)) {
            self.lines.push(format!("{indent}{line}"));
        }
        self.text.clear();
    }

    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    /// A blank line, but not below a heading.
    fn blank_unless_heading(&mut self) {
        if self.lines.last().is_some_and(|line| line.starts_with(' ') && !line.trim_start().is_empty()) {
            self.blank();
        }
    }
}

/// A line without what roff reads in it.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let taken = match escape.as_bytes() {
            [b'f', _, ..] => 2,
            [b'&', ..] => 1,
            [b'-', ..] => {
                out.push('-');
                1
            }
            [b'e', ..] => {
                out.push('\\');
                1
            }
            [b'*' | b'(', ..] => {
                let name = escape.trim_start_matches('*').trim_start_matches('(');
                let name = &name[..name.len().min(2)];
                out.push_str(named_character(name));
                escape.len() - escape.trim_start_matches('*').trim_start_matches('(').len() + name.len()
            }
            _ => 1,
        };
        rest = escape.get(taken..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Returns the character that roff calls by a name of two letters.
fn named_character(name: &str) -> &'static str {
    match name {
        "Aq" | "aq" => "'",
        "em" => "—",
        "bu" => "•",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn escapes_of_roff_are_resolved() {
        let check = |line: &str, wanted: &str| assert_eq!(plain(line), wanted);
        check(r"\fB\-n\fR, \fB\-\-dry\-run\fR", "-n, --dry-run");
        check(r"the agent\*(Aqs own",           "the agent's own");
        check(r"\&.jsonl \e",                   ".jsonl \\");
        check("plain",                          "plain");
        check(r"\",                             "");
    }

    #[test]
    fn no_page_shows_what_roff_reads() {
        let ui = Ui::standard(crate::ui::Look { width: 80, ..Default::default() });
        for (name, page) in man::pages().unwrap() {
            let shown = rendered(&String::from_utf8(page).unwrap(), &ui);
            assert!(shown.starts_with("NAME\n       bough"), "{name}: {shown}");
            for line in shown.lines() {
                let words = line.trim_start();
                assert!(!words.starts_with('.') || words.starts_with(".."), "{name}: {line}");
                assert!(!line.contains("\\f") && !line.contains("\\-"), "{name}: {line}");
                assert!(text::width(line) <= 80, "{name}: {line}");
            }
        }
    }
}
