//! What an entry is, in terms that all formats share.

/// What an entry is, in terms that all formats share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// A prompt, or another message in the role of the user.
    User,
    /// A reply of the model, or a part of one.
    Assistant,
    /// The result of a tool, or a command that the user ran.
    Tool,
    /// A message of the system, or a note of the agent.
    System,
    /// A summary of a branch that was left.
    Summary,
    /// An entry that replaces earlier ones.
    Compaction,
    /// A name for an entry.
    Label,
    /// A change of model, thinking level, name and so on.
    Setting,
    /// An entry of an extension.
    Custom,
    /// Something that the agent added to the conversation by itself.
    Attachment,
    /// A progress update.
    Progress,
    /// A header that is part of the tree.
    Header,
    /// Anything else.
    Other,
}

impl Kind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Kind; 13] = [
        Kind::User,
        Kind::Assistant,
        Kind::Tool,
        Kind::System,
        Kind::Summary,
        Kind::Compaction,
        Kind::Label,
        Kind::Setting,
        Kind::Custom,
        Kind::Attachment,
        Kind::Progress,
        Kind::Header,
        Kind::Other,
    ];

    /// Returns the name of the kind, as in `--kind` and `--json`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::User => "user",
            Kind::Assistant => "assistant",
            Kind::Tool => "tool",
            Kind::System => "system",
            Kind::Summary => "summary",
            Kind::Compaction => "compaction",
            Kind::Label => "label",
            Kind::Setting => "setting",
            Kind::Custom => "custom",
            Kind::Attachment => "attachment",
            Kind::Progress => "progress",
            Kind::Header => "header",
            Kind::Other => "other",
        }
    }

    /// Returns whether it is part of the conversation: a prompt, a reply or a result.
    #[inline]
    pub fn is_turn(self) -> bool {
        matches!(self, Kind::User | Kind::Assistant | Kind::Tool)
    }

    /// Returns the kind with this name.
    pub fn from_name(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == word)
    }
}
