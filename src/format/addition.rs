//! The entries that a script can add to a session: what each holds, whatever the format.

/// What a new entry holds. Ids of entries that exist are JSON, as in [`super::New`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addition<'a> {
    /// A message as if the user had typed it.
    Prompt {
        /// The text.
        text: &'a str,
    },
    /// State of a program: the model does not see it.
    Custom {
        /// What the program calls it.
        ty: &'a str,
        /// JSON; `None` if there is nothing but the type.
        data: Option<&'a str>,
    },
    /// A text that the model sees and the user did not type.
    CustomMessage {
        /// What the program calls it.
        ty: &'a str,
        /// The text.
        text: &'a str,
        /// Whether the agent's interface leaves it out.
        hidden: bool,
    },
    /// A summary that replaces earlier entries for the model.
    Compaction {
        /// The summary.
        summary: &'a str,
        /// The first entry that the model still sees; `None` keeps nothing.
        keep: Option<&'a [u8]>,
        /// How many tokens the model had seen before.
        tokens_before: u64,
    },
}

impl Addition<'_> {
    /// Returns the name of its kind, as `bough append --kind` takes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Addition::Prompt { .. } => "message",
            Addition::Custom { .. } => "custom",
            Addition::CustomMessage { .. } => "custom-message",
            Addition::Compaction { .. } => "compaction",
        }
    }
}
