//! What a page shows of a session that is not in its lines.

use crate::context::Context;
use crate::format::Content;
use crate::model::Ix;
use std::collections::HashMap;

/// What a page shows besides the lines of a session.
pub struct Beside<'b> {
    /// Notes about entries, e.g. that a subagent started there.
    pub notes: HashMap<Ix, Vec<String>>,
    /// The subagents that an entry started.
    pub started: HashMap<Ix, Vec<Started>>,
    /// Links to other pages.
    pub links: HashMap<Ix, Vec<Link>>,
    /// What the agent would send at HEAD.
    pub context: Option<Context>,
    /// Gives the texts of the results of an entry that are in files: one for each result, `None` for a result that is in the
    /// line.
    pub result_texts: ResultTexts<'b>,
}

/// Reads the results of an entry, its line and its content that are in files.
pub type ResultTexts<'b> = &'b dyn Fn(Ix, &[u8], &Content<'_>) -> Vec<Option<ResultText>>;

/// A subagent of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Started {
    /// Its first entry.
    pub first: Ix,
    /// Its last entry.
    pub last: Ix,
    /// How many entries it has.
    pub entries: usize,
    /// Its title.
    pub name: String,
}

/// A link to a page in the same folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The name of its file, and the entry after `#`.
    pub href: String,
    /// What is said.
    pub words: String,
}

/// A tool result that is in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultText {
    /// The name of the file, and its size.
    pub heading: String,
    /// Its text; `None` if it can't be shown.
    pub text: Option<String>,
    /// How many bytes follow the text in the file.
    pub more: u64,
}
