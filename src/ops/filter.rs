//! Which entries a listing shows: those of the conversation, and the filters of the agents' own
//! tree views.

use super::revision;
use crate::format::{Format, Session};
use crate::model::{Flags, Ix, Kind};

/// Whether an entry belongs to the conversation, as [`Session::is_conversation`].
pub fn conversation(session: &Session, ix: Ix) -> bool {
    session.is_conversation(ix)
}

/// Whether an entry belongs to a conversation, as [`Session::is_in_any_conversation`].
pub fn any_conversation(session: &Session, ix: Ix) -> bool {
    session.is_in_any_conversation(ix)
}

/// Returns the kind that a listing shows for an entry: a prompt that was typed while the agent was
/// working, which Claude Code stores as an attachment, is shown as the user's.
pub fn shown_kind(session: &Session, ix: Ix) -> Kind {
    let kind = session.entries.kind(ix);
    if kind == Kind::Attachment && revision::is_prompt(session, ix) { Kind::User } else { kind }
}

/// The filters of the tree views of pi and oh-my-pi; for the other formats, the closest equivalent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Everything except settings and labels.
    Default,
    /// Like [`Mode::Default`], without tool results.
    NoTools,
    /// Messages of the user.
    UserOnly,
    /// Entries with a label.
    LabeledOnly,
    /// Everything that the views can show.
    All,
}

impl Mode {
    /// All modes, with their names as options.
    pub const ALL: [(&'static str, Mode); 5] = [
        ("default", Mode::Default),
        ("no-tools", Mode::NoTools),
        ("user-only", Mode::UserOnly),
        ("labeled-only", Mode::LabeledOnly),
        ("all", Mode::All),
    ];

    /// Returns whether the tree view of the agent shows an entry in this mode.
    ///
    /// No mode shows usage, nor a reply without text, unless it is the leaf or it ended badly.
    /// Claude Code has no such view: there only [`Mode::NoTools`] hides replies without text.
    pub fn shows(self, session: &Session, ix: Ix) -> bool {
        let entries = &session.entries;
        let flags = entries.flags(ix);
        if flags.has(Flags::HIDDEN) {
            return false;
        }
        let silent = entries.kind(ix) == Kind::Assistant
            && !flags.has(Flags::TEXT)
            && !flags.has(Flags::ENDED_BADLY)
            && session.head.leaf != Some(ix);
        if silent && (session.format != Format::Claude || self == Mode::NoTools) {
            return false;
        }
        match self {
            Mode::Default => !setting(session, ix),
            Mode::NoTools => !setting(session, ix) && !flags.has(Flags::RESULT),
            Mode::UserOnly => {
                let by_user = session.format == Format::Omp
                    && entries.ty(ix) == "custom_message"
                    && !flags.has(Flags::META);
                let claude = session.format == Format::Claude;
                if claude {
                    revision::is_prompt(session, ix)
                } else {
                    entries.kind(ix) == Kind::User || by_user
                }
            }
            Mode::LabeledOnly => session.labels.label(ix).is_some(),
            Mode::All => true,
        }
    }
}

/// Returns whether the filter `default` hides an entry, according to the list of its program.
fn setting(session: &Session, ix: Ix) -> bool {
    let ty = session.entries.ty(ix);
    match session.format {
        Format::Omp => matches!(
            ty,
            "label"
                | "custom"
                | "model_change"
                | "model_usage"
                | "thinking_level_change"
                | "service_tier_change"
                | "title_change"
                | "credential_pin"
                | "session_init"
                | "ttsr_injection"
                | "mode_change"
                | "reset_boundary"
        ),
        Format::Chimera | Format::Claude => !conversation(session, ix),
        _ => matches!(
            ty,
            "label" | "context_edit" | "custom" | "model_change" | "thinking_level_change" | "session_info"
        ),
    }
}
