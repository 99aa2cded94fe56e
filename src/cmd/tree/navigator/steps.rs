//! What the navigator asks of its caller after a key: to run a command, to copy, to leave.

/// What is done after a yes.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Run(Vec<String>),
    Resume(String),
}

/// What is done with what a command printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// It is shown as a plan with this title, for a yes. The words are those of the command that it is the plan of.
    Plan(String, Vec<String>),
    /// It may have changed the session; a short text is only said.
    Done,
    /// It is shown.
    Show,
    /// It is shown, and it may have changed the session.
    ShowAndReread,
    /// They are operations, of which one is undone, or done again.
    Undo { redo: bool },
}

/// What is to be done outside, before the next key.
#[derive(Debug)]
pub(crate) enum Step {
    Stay,
    /// The file may be another now.
    Reread,
    /// A command is run, and something is done with what it printed.
    Run(Vec<String>, Then),
    /// A command takes the terminal.
    Page(Vec<String>),
    /// A text is shown in the user's editor.
    Edit(String),
    /// The user writes a summary for a switch, of which these are the words.
    Summarize(Vec<String>),
    /// A text goes to the clipboard of the terminal.
    Copy(String),
    Suspend,
    /// The whole screen is drawn again.
    Redraw,
    Leave(Leave),
}

/// How the navigator is left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Leave {
    Quit,
    /// To the list of sessions, if there is one.
    Back,
    /// With entries that were chosen, by their ids.
    Chosen(Vec<String>),
    /// To run the agent.
    Resume(String),
}

/// What the navigator is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Act,
    SelectOne,
    SelectMany,
}
