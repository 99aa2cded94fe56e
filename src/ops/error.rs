use std::io;

/// What can go wrong with what was asked of a session.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A revision that is none.
    #[error("`{revision}` is not an entry of this session")]
    NoRevision {
        /// What was asked for.
        revision: String,
    },
    /// A revision that could be several.
    #[error("`{revision}` could be {}", crate::model::Count("entry", "entries", *count))]
    Ambiguous {
        /// What was asked for.
        revision: String,
        /// Some of the entries that it could be: id, kind, first words.
        candidates: Vec<String>,
        /// How many entries it could be.
        count: usize,
    },
    /// A revision that is not there for a reason of its own.
    #[error("`{revision}`: {why}")]
    Unresolved {
        /// What was asked for.
        revision: String,
        /// Why there is no such entry.
        why: String,
    },
    /// A revision that can't be read.
    #[error("invalid revision `{revision}`: {why}")]
    Malformed {
        /// What was asked for.
        revision: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no position.
    #[error("there is no HEAD: {why}")]
    NoHead {
        /// Why.
        why: String,
    },
    /// The session is of a form that is not written to.
    #[error("bough can't write to this session: {why}")]
    ReadOnly {
        /// Why.
        why: String,
    },
    /// What was asked for has no place in the format, or could not be followed by its program.
    #[error("{what}")]
    NoPlace {
        /// What is not possible.
        what: String,
        /// What the user can do instead.
        instead: Option<String>,
    },
    /// A label that could not be told from other words.
    #[error("invalid label `{name}`: {why}")]
    BadLabel {
        /// What was to be the label.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A label stands elsewhere.
    #[error("the label `{name}` is on {by}")]
    Taken {
        /// The label.
        name: String,
        /// The entry that has it.
        by: String,
    },
    /// The bytes of a line could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// What the user can do, if anything.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::NoRevision { revision } if is_short(revision) => {
                format!("a prefix of an id needs at least {} characters", super::revision::FEWEST)
            }
            Error::NoRevision { .. } => {
                "`bough log --all` lists the entries; see `man bough-revisions` for how to name them".into()
            }
            Error::Ambiguous { candidates, count, .. } => {
                let mut shown = candidates.clone();
                if *count > shown.len() {
                    shown.push(format!("… {} more", count - shown.len()));
                }
                format!("it could be one of\n  {}", shown.join("\n  "))
            }
            Error::NoHead { .. } => "`bough log --all` shows what is in the file".into(),
            Error::Malformed { .. } => "see `man bough-revisions` for how to name entries".into(),
            Error::Taken { .. } => "`--move` moves it".into(),
            Error::NoPlace { instead, .. } => return instead.clone(),
            Error::BadLabel { .. } => "`bough label NAME [REV]` puts NAME on REV".into(),
            Error::ReadOnly { .. } | Error::Unresolved { .. } | Error::Io(_) => {
                return None;
            }
        })
    }
}

/// Whether a word looks like the beginning of an id, and is too short to be taken for one.
fn is_short(word: &str) -> bool {
    !word.is_empty()
        && word.len() < super::revision::FEWEST
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
