//! Errors of operations on a session.

use std::io;

/// Errors of operations on a session.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A revision that does not exist.
    #[error("`{revision}` is not an entry of {session}")]
    NoRevision {
        /// The argument.
        revision: String,
        /// The session: `session 0198f3a2`, or `this session` if it has no id.
        session: String,
        /// A label that differs from the argument by a slip.
        near: Option<Box<str>>,
    },
    /// A revision that could be several.
    #[error("`{revision}` could be {}", crate::model::Count("entry", "entries", *count))]
    Ambiguous {
        /// The argument.
        revision: String,
        /// Some of the entries that it could be: id, kind, first words.
        candidates: Vec<String>,
        /// How many entries it could be.
        count: usize,
    },
    /// A revision that can't be resolved for a specific reason.
    #[error("`{revision}`: {why}")]
    Unresolved {
        /// The argument.
        revision: String,
        /// Why there is no such entry.
        why: String,
    },
    /// A revision that can't be parsed.
    #[error("invalid revision `{revision}`: {why}")]
    Malformed {
        /// The argument.
        revision: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no HEAD.
    #[error("there is no HEAD: {why}")]
    NoHead {
        /// The reason.
        why: String,
    },
    /// The session has a format that bough does not write.
    #[error("bough can't write to this session: {why}")]
    ReadOnly {
        /// The reason.
        why: String,
        /// What the user can do instead.
        instead: Option<&'static str>,
    },
    /// The format can't represent the request, or its program could not follow it.
    #[error("{what}")]
    NoPlace {
        /// What is impossible.
        what: String,
        /// What the user can do instead.
        instead: Option<String>,
    },
    /// A label that could be confused with other syntax.
    #[error("invalid label `{name}`: {why}")]
    BadLabel {
        /// The intended label.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Another entry already has the label.
    #[error("the label `{name}` is on {by}")]
    Taken {
        /// The label.
        name: String,
        /// The entry that has it.
        by: String,
    },
    /// The entry has another label.
    #[error("{entry} is labeled `{old}` already; an entry has one label")]
    Labeled {
        /// The entry.
        entry: String,
        /// Its label.
        old: String,
    },
    /// The bytes of a line could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// Returns what the user can do, if anything.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::NoRevision { revision, .. } if is_short(revision) => {
                format!("a prefix of an id needs at least {} characters", super::revision::FEWEST)
            }
            Error::NoRevision { near: Some(near), .. } => format!("there is a label `{near}`"),
            Error::NoRevision { .. } => {
                "`bough log --all` lists the entries; see `bough help revisions` for how to name them".into()
            }
            Error::Ambiguous { candidates, count, .. } => {
                let mut shown = candidates.clone();
                if *count > shown.len() {
                    shown.push(format!("… {} more", count - shown.len()));
                }
                format!("it could be one of\n  {}", shown.join("\n  "))
            }
            Error::NoHead { .. } => "`bough log --all` shows what is in the file".into(),
            Error::Malformed { .. } => "see `bough help revisions` for how to name entries".into(),
            Error::Taken { .. } => "`--move` moves it".into(),
            Error::Labeled { .. } => "`--replace` replaces it".into(),
            Error::NoPlace { instead, .. } => return instead.clone(),
            Error::BadLabel { .. } => "`bough label NAME [REV]` puts NAME on REV".into(),
            Error::ReadOnly { instead, .. } => return instead.map(str::to_owned),
            Error::Unresolved { .. } | Error::Io(_) => return None,
        })
    }
}

/// Returns whether an argument looks like the beginning of an id that is too short to be a prefix.
fn is_short(word: &str) -> bool {
    !word.is_empty()
        && word.len() < super::revision::FEWEST
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
