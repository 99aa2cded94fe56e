//! What a message of the user begins with where the user did not type it as it stands.

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
];

impl Markup {
    /// What a text begins with, white space aside; `None` where that is no markup.
    pub fn of(text: &str) -> Option<Markup> {
        let text = text.trim_start();
        MARKUPS.iter().find(|(start, _)| text.starts_with(start)).map(|(_, markup)| *markup)
    }
}

/// Whether a prompt is what the user typed, and not what the client put in its place.
pub fn is_typed(text: &str) -> bool {
    !text.trim_start().is_empty() && Markup::of(text).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn a_prompt_is_known_by_what_it_begins_with() {
        let check = |text: &str, markup: Option<Markup>, typed: bool| {
            assert_eq!((Markup::of(text), is_typed(text)), (markup, typed), "{text}");
        };
        check("fix it",                                  None,                       true);
        check(" \n",                                     None,                       false);
        check("<command-name>/x</command-name>",         Some(Markup::Command),      false);
        check("<command-args>x</command-args>",          Some(Markup::Arguments),    false);
        check("\n <bash-stdout>x</bash-stdout>",         Some(Markup::Printed),      false);
        check("<local-command-caveat>x",                 Some(Markup::Caveat),       false);
        check("<teammate-message teammate_id=\"x\">",    Some(Markup::Notice),       false);
        check("<system-reminder>x</system-reminder>",    Some(Markup::Reminder),     false);
        check("[Request interrupted by user for tool use]", Some(Markup::Interruption), false);
        check("<b>is bold</b>",                          None,                       true);
        check("see <tick>",                              None,                       true);
    }
}
