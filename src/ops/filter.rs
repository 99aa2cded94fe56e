//! Which entries a listing shows: what belongs to the conversation, and the filters of the agents' own tree views.

use super::revision;
use crate::format::{Format, Session};
use crate::model::{Flags, Ix, Kind};

/// Whether an entry belongs to the conversation: what is listed where nothing else is asked for.
///
/// Bookkeeping does not (labels, settings, names, markers of `switch`, usage), nor what the agent's client notes for itself
/// (ticks of progress, attachments, system notes of Claude Code), nor the transcripts of agents inside a session
/// that is not one itself. Tool calls and their results always do.
pub fn conversation(session: &Session, ix: Ix) -> bool {
    let inside = session.head.entry.is_some_and(|head| session.entries.flags(head).has(Flags::SIDECHAIN));
    talk(session, ix)
        && (session.format != Format::Claude || inside || !session.entries.flags(ix).has(Flags::SIDECHAIN))
}

/// Whether an entry belongs to a conversation: that of the session, or that of an agent inside it.
pub fn talk(session: &Session, ix: Ix) -> bool {
    let flags = session.entries.flags(ix);
    let kind = session.entries.kind(ix);
    let aside = [Flags::BOOKKEEPING, Flags::MARKER, Flags::HIDDEN, Flags::PASSED];
    if aside.iter().any(|flag| flags.has(*flag)) || kind == Kind::Progress {
        return false;
    }
    session.format != Format::Claude
        || kind != Kind::System && (kind != Kind::Attachment || flags.has(Flags::TEXT))
}

/// The kind that a listing shows of an entry: a prompt that was typed while the agent was working, which Claude Code stores
/// as an attachment, is shown as the user's.
pub fn shown_kind(session: &Session, ix: Ix) -> Kind {
    let kind = session.entries.kind(ix);
    if kind == Kind::Attachment && revision::is_prompt(session, ix) { Kind::User } else { kind }
}

/// The filters of the tree views of pi and oh-my-pi; for the other formats, the same as far as it goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// All but settings and labels.
    Default,
    /// As [`Mode::Default`], without the results of tools.
    NoTools,
    /// What the user said.
    UserOnly,
    /// Entries with a label.
    LabeledOnly,
    /// All that the views show at all.
    All,
}

impl Mode {
    /// All modes, with the names by which they are asked for.
    pub const ALL: [(&'static str, Mode); 5] = [
        ("default", Mode::Default),
        ("no-tools", Mode::NoTools),
        ("user-only", Mode::UserOnly),
        ("labeled-only", Mode::LabeledOnly),
        ("all", Mode::All),
    ];

    /// Whether the tree view of the agent shows an entry in this mode.
    ///
    /// In no mode it shows usage, nor a reply without text, unless that is the leaf or it ended badly. Claude Code has
    /// no such view: there only [`Mode::NoTools`] leaves out replies without text.
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
            Mode::LabeledOnly => session.labels.of(ix).is_some(),
            Mode::All => true,
        }
    }
}

/// Whether an entry is one that the filter `default` leaves out, by the list of its program.
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
