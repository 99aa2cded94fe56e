//! The entries that a script can add to a session, independent of the format.

/// The contents of a new entry. Ids of existing entries are JSON, as in [`super::New`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addition<'a> {
    /// A message as if the user had typed it.
    Prompt {
        /// The text.
        text: &'a str,
    },
    /// A reply as if the model had written it.
    Reply {
        /// The text.
        text: &'a str,
        /// The model, in formats that store it with each reply in fields that the agent reads.
        model: Option<ReplyModel<'a>>,
    },
    /// State of a program: the model does not see it.
    Custom {
        /// The name that the program gives it.
        ty: &'a str,
        /// JSON; `None` if there is only the type.
        data: Option<&'a str>,
    },
    /// A text that the model sees and the user did not type.
    CustomMessage {
        /// The name that the program gives it.
        ty: &'a str,
        /// The text.
        text: &'a str,
        /// Whether the agent's interface hides it.
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
    /// Other content of an earlier entry for the model.
    Edit {
        /// The id of the entry, as JSON.
        target: &'a [u8],
        /// The content, as JSON.
        content: &'a [u8],
    },
}

/// The fields of a reply of pi that say which model wrote it, as JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplyModel<'a> {
    /// `api`
    pub api: &'a [u8],
    /// `provider`
    pub provider: &'a [u8],
    /// `model`
    pub model: &'a [u8],
}

impl Addition<'_> {
    /// Returns the name of its kind, as in `bough append --kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Addition::Prompt { .. } | Addition::Reply { .. } => "message",
            Addition::Custom { .. } => "custom",
            Addition::CustomMessage { .. } => "custom-message",
            Addition::Compaction { .. } => "compaction",
            Addition::Edit { .. } => "context-edit",
        }
    }
}
