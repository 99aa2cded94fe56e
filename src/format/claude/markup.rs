//! What a message of the user begins with if the user did not type it as it is stored, and what was typed.

use crate::format::{Block, Content};
use std::borrow::Cow;

/// What stands in the place of a prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Markup {
    /// A command that the user typed, as the client writes it down.
    Command,
    /// What was typed behind the name of a command.
    Arguments,
    /// What a command printed.
    Printed,
    /// That what follows is of commands, and not for the model to reply to.
    Caveat,
    /// Word from elsewhere: of a hook, a task, another agent, another session, a clock.
    Notice,
    /// What the client wants the model to keep in mind. What the user typed may follow.
    Reminder,
    /// That the user interrupted the model.
    Interruption,
}

const MARKUPS: &[(&str, Markup)] = &[
    ("<command-name>", Markup::Command),
    ("<command-message>", Markup::Command),
    ("<command-args>", Markup::Arguments),
    ("<bash-input>", Markup::Command),
    ("<local-command-stdout>", Markup::Printed),
    ("<local-command-stderr>", Markup::Printed),
    ("<bash-stdout>", Markup::Printed),
    ("<bash-stderr>", Markup::Printed),
    ("<local-command-caveat>", Markup::Caveat),
    ("<session-start-hook>", Markup::Notice),
    ("<task-notification>", Markup::Notice),
    ("<teammate-message", Markup::Notice),
    ("<cross-session-message", Markup::Notice),
    ("<tick>", Markup::Notice),
    ("<system-reminder>", Markup::Reminder),
    ("<goal>", Markup::Reminder),
    ("[Request interrupted by user", Markup::Interruption),
    ("This session is being continued from a previous conversation", Markup::Notice),
];

impl Markup {
    /// What a text begins with, white space aside; `None` where that is no markup.
    pub fn of(text: &str) -> Option<Markup> {
        let text = text.trim_start();
        MARKUPS.iter().find(|(start, _)| text.starts_with(start)).map(|(_, markup)| *markup)
    }
}

/// Whether a text is a prompt: what the user typed, a command among it, and not what the client put in its place.
pub fn is_typed(text: &str) -> bool {
    typed(text).is_some()
}

/// Returns what the user typed of the text of a message; `None` if that is nothing.
///
/// What the client puts before it (reminders, what an editor shows) is not in it. A command is returned as it was typed:
/// `/review src/x.ts`, `!ls`.
pub fn typed(text: &str) -> Option<Cow<'_, str>> {
    let mut rest = text.trim();
    while let Some(after) = after_aside(rest) {
        rest = after.trim_start();
    }
    match Markup::of(rest) {
        None => (!rest.is_empty()).then_some(Cow::Borrowed(rest)),
        Some(Markup::Command | Markup::Arguments) => command(rest).map(Cow::Owned),
        Some(_) => None,
    }
}

/// Returns what the user typed of a message; `None` if that is nothing.
pub fn typed_in(content: &Content<'_>) -> Option<String> {
    let texts = content.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => typed(text),
        _ => None,
    });
    let texts: Vec<_> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// What follows an element that the client put before a prompt; `None` if the text does not begin with one.
fn after_aside(text: &str) -> Option<&str> {
    let name = text.strip_prefix('<')?.split(['>', ' ']).next()?;
    if !(name == "system-reminder" || name == "goal" || name.starts_with("ide_")) {
        return None;
    }
    let end = format!("</{name}>");
    text.find(&end).map(|at| &text[at + end.len()..])
}

/// A command as it was typed.
fn command(text: &str) -> Option<String> {
    let element = |name: &str| {
        let (start, end) = (format!("<{name}>"), format!("</{name}>"));
        let from = text.find(&start)? + start.len();
        let inside = text[from..].split(&end).next().unwrap_or_default().trim();
        (!inside.is_empty()).then_some(inside)
    };
    if let Some(shell) = element("bash-input") {
        return Some(format!("!{shell}"));
    }
    let words = [element("command-name").or_else(|| element("command-message")), element("command-args")];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn a_prompt_is_known_by_what_it_begins_with() {
        let check = |text: &str, markup: Option<Markup>, wanted: Option<&str>| {
            assert_eq!((Markup::of(text), typed(text).as_deref()), (markup, wanted), "{text}");
        };
        check("fix it",                                  None,                       Some("fix it"));
        check(" \n",                                     None,                       None);
        check("<command-name>/x</command-name>",         Some(Markup::Command),      Some("/x"));
        check("<command-args>x</command-args>",          Some(Markup::Arguments),    Some("x"));
        check("<command-name></command-name>",           Some(Markup::Command),      None);
        check("<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n\
               <command-args>src/x.ts</command-args>",   Some(Markup::Command),      Some("/review src/x.ts"));
        check("<bash-input>ls -l</bash-input>",          Some(Markup::Command),      Some("!ls -l"));
        check("\n <bash-stdout>x</bash-stdout>",         Some(Markup::Printed),      None);
        check("<local-command-stdout>x",                 Some(Markup::Printed),      None);
        check("<local-command-caveat>x",                 Some(Markup::Caveat),       None);
        check("<task-notification>x",                    Some(Markup::Notice),       None);
        check("<teammate-message teammate_id=\"x\">",    Some(Markup::Notice),       None);
        check("This session is being continued from a previous conversation that ran out of context.",
                                                         Some(Markup::Notice),       None);
        check("<system-reminder>x</system-reminder>",    Some(Markup::Reminder),     None);
        check("<system-reminder>x</system-reminder>\n\ndo it", Some(Markup::Reminder), Some("do it"));
        check("<ide_opened_file>x</ide_opened_file>",    None,                       None);
        check("<ide_selection>x</ide_selection> do it",  None,                       Some("do it"));
        check("<ide_selection>never closed",             None,                       Some("<ide_selection>never closed"));
        check("<ide_opened_file>x</ide_opened_file>[Request interrupted by user]", None, None);
        check("[Request interrupted by user for tool use]", Some(Markup::Interruption), None);
        check("<b>is bold</b>",                          None,                       Some("<b>is bold</b>"));
        check("see <tick>",                              None,                       Some("see <tick>"));
    }
}
