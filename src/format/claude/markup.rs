//! The markup at the start of user messages that were not typed as stored, and the text that was
//! typed.

use crate::format::{Block, Content};
use std::borrow::Cow;

/// What a message contains instead of a prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Markup {
    /// A command that the user typed, as Claude Code stores it.
    Command,
    /// The arguments after the name of a command.
    Arguments,
    /// The output of a command.
    Printed,
    /// A notice that the following text comes from commands, and is not for the model to reply to.
    Caveat,
    /// A message from elsewhere: from a hook, a task, another agent, another session, a timer.
    Notice,
    /// Something that Claude Code reminds the model of. Typed text may follow.
    Reminder,
    /// A notice that the user interrupted the model.
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
    /// Returns the markup that a text begins with, ignoring white space, or `None` if it begins
    /// with none.
    pub fn parse(text: &str) -> Option<Markup> {
        let text = text.trim_start();
        MARKUPS.iter().find(|(start, _)| text.starts_with(start)).map(|(_, markup)| *markup)
    }
}

/// Returns whether a text is a prompt: text or a command that the user typed, and not something
/// that Claude Code wrote in its place.
pub fn is_typed(text: &str) -> bool {
    typed(text).is_some()
}

/// Returns the part of a message's text that the user typed, or `None` if there is none.
///
/// It does not include anything that Claude Code puts before it (reminders, the state of an
/// editor). A command is returned as it was typed: `/review src/x.ts`, `!ls`.
pub fn typed(text: &str) -> Option<Cow<'_, str>> {
    let mut rest = text.trim();
    while let Some(after) = after_aside(rest) {
        rest = after.trim_start();
    }
    match Markup::parse(rest) {
        None => (!rest.is_empty()).then_some(Cow::Borrowed(rest)),
        Some(Markup::Command | Markup::Arguments) => command(rest).map(Cow::Owned),
        Some(_) => None,
    }
}

/// Returns the part of a message that the user typed, or `None` if there is none.
pub fn typed_in(content: &Content<'_>) -> Option<String> {
    let texts = content.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => typed(text),
        _ => None,
    });
    let texts: Vec<_> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Returns the text after an element that Claude Code put before a prompt, or `None` if the text
/// does not begin with one.
fn after_aside(text: &str) -> Option<&str> {
    let name = text.strip_prefix('<')?.split(['>', ' ']).next()?;
    if !(name == "system-reminder" || name == "goal" || name.starts_with("ide_")) {
        return None;
    }
    let end = format!("</{name}>");
    text.find(&end).map(|at| &text[at + end.len()..])
}

/// Returns a command as it was typed.
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
            assert_eq!((Markup::parse(text), typed(text).as_deref()), (markup, wanted), "{text}");
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
