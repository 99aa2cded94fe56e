//! Notes about copies, and reasons for refusing them.

use crate::format::Format;
use crate::model::Count;
use std::fmt;
use std::io;

/// Why an entry is not copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It is a label.
    Label,
    /// It concerns the session as a whole.
    Header,
    /// It names the session.
    Name,
    /// It counts tokens.
    Usage,
    /// It names credentials.
    Credentials,
    /// It was written by bough, or represents HEAD.
    Marker,
    /// It clears the context.
    Reset,
    /// It is a progress update.
    Progress,
    /// It belongs to a subagent's transcript.
    Agent,
    /// It hides everything before it.
    Boundary,
    /// It keeps entries that would not be on the path before it.
    Kept,
    /// It changes or mentions an entry that would not be on the path.
    Target,
    /// It calls a tool whose result does not exist.
    OpenCall,
    /// It is a result whose call does not exist.
    StrayResult,
    /// The other program does not know it.
    Unknown,
    /// An image that is kept outside the session is missing.
    Blob,
    /// Nothing is left without its thinking.
    OnlyThinking,
    /// Its line is not an object.
    Unreadable,
}

impl Why {
    /// Returns whether leaving it out of a range should be reported; bookkeeping should not.
    pub(crate) fn is_worth_saying(self) -> bool {
        !matches!(self, Why::Label | Why::Header | Why::Name | Why::Usage | Why::Marker | Why::Progress)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Label => "a label stays with its entry",
            Why::Header => "it is about its session as a whole",
            Why::Name => "it names its session",
            Why::Usage => "it counts tokens that were used once",
            Why::Credentials => "it names credentials",
            Why::Marker => "it only marks HEAD",
            Why::Reset => "it clears the context",
            Why::Progress => "it is a progress report",
            Why::Agent => "it belongs to a subagent's transcript",
            Why::Boundary => "the compaction would hide everything before it",
            Why::Kept => "the first entry that it keeps would not be before it",
            Why::Target => "the entry that it refers to would not be before it",
            Why::OpenCall => "it has a tool call whose result is not in the session",
            Why::StrayResult => "it is a tool result whose call is not in the session",
            Why::Unknown => "the other agent has no such entry",
            Why::Blob => "it contains an image whose file is missing",
            Why::OnlyThinking => "it contains only thinking",
            Why::Unreadable => "its line can't be read",
        })
    }
}

/// A note for the user about copies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// An entry of a range was left out.
    LeftOut {
        /// Its id.
        id: String,
        /// The reason.
        why: Why,
    },
    /// Entries were added that were not asked for.
    Along {
        /// The entry that they travel with.
        id: String,
        /// How many.
        more: usize,
    },
    /// The receiving path ends in a call without a result.
    OpenBefore,
    /// Two prompts follow each other.
    TwoPrompts,
    /// Two replies follow each other.
    TwoReplies,
    /// The path begins with a reply.
    ReplyFirst,
    /// The tokens of replies are counted again.
    UsageAgain {
        /// How many replies.
        replies: usize,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::LeftOut { id, why } => write!(f, "`{id}` was left out: {why}"),
            Note::Along { id, more } => {
                write!(
                    f,
                    "{} with `{id}`",
                    Count("entry is copied as well", "entries are copied as well", *more)
                )
            }
            Note::OpenBefore => write!(f, "the path ends with a tool call that has no result"),
            Note::TwoPrompts => write!(f, "there are two prompts in a row; most models treat them as one"),
            Note::TwoReplies => write!(f, "there are two replies in a row; some models reject that"),
            Note::ReplyFirst => write!(f, "the path begins with a reply; some models reject that"),
            Note::UsageAgain { replies } => write!(
                f,
                "the tokens of {} are counted twice; `--zero-usage` sets them to zero in the copies",
                Count("copied reply", "copied replies", *replies)
            ),
        }
    }
}

impl Note {
    /// Returns whether it is only a hint at alternatives.
    pub fn is_hint(&self) -> bool {
        matches!(self, Note::UsageAgain { .. } | Note::Along { .. })
    }
}

/// Why nothing is copied.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A session that can't be written to, or an entry that can't have children.
    #[error(transparent)]
    Place(#[from] crate::ops::Error),
    /// Sessions of agents between which entries can't be transferred.
    #[error("a session of format `{1}` can't contain entries of format `{0}`", from.name(), into.name())]
    OtherFormat {
        /// The format of the entries.
        from: Format,
        /// The format of the session.
        into: Format,
    },
    /// An entry that was named can't be copied.
    #[error("`{id}` can't be copied: {why}")]
    NotCopied {
        /// Its id.
        id: String,
        /// The reason.
        why: Why,
    },
    /// An entry travels only with others.
    #[error("`{id}` can only be copied together with {} not named", Count("entry that is", "entries that are", *more))]
    Pairs {
        /// Its id.
        id: String,
        /// How many others.
        more: usize,
    },
    /// The parent for the copies is between a call and its result.
    #[error("`{onto}` is between a tool call and its result")]
    InsideCall {
        /// The parent.
        onto: String,
        /// The result.
        result: String,
    },
    /// Nothing is left to copy.
    #[error("nothing is left to copy{}", why.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    Nothing {
        /// The first of the reasons.
        why: Option<Box<Note>>,
    },
    /// The format can't represent what was requested.
    #[error("{} has no branch summary that its agent would send", format.name())]
    NoSummary {
        /// The format.
        format: Format,
    },
    /// The bytes of a line could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Refusal {
    /// Returns what the user can do, if anything.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Refusal::Place(error) => return error.hint(),
            Refusal::OtherFormat { .. } => {
                "`bough convert SESSION --to AGENT` writes a conversation for another agent".into()
            }
            Refusal::NotCopied { why: Why::Label, .. } => "label the copy with `bough label`".into(),
            Refusal::NotCopied { why: Why::OnlyThinking, .. } => "copy it without `--strip-thinking`".into(),
            Refusal::Pairs { .. } => "omit `--no-pairs` to copy them as well".into(),
            Refusal::InsideCall { result, .. } => {
                format!(
                    "`--onto {}` adds the copies after the result; `--force` adds them here anyway",
                    crate::ops::ids::quoted(result)
                )
            }
            Refusal::NoSummary { .. } => {
                "`bough merge` without `--squash` copies the entries themselves".into()
            }
            _ => return None,
        })
    }
}
