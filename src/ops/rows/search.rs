//! Searching the tree for what a user typed.

use crate::format::Session;
use crate::model::Ix;
use crate::ops::grep::{Options, Pattern};

/// Words that an entry must all contain, or a regular expression.
///
/// An entry contains a word if the word is in its text, its label, or the name of its kind. Case
/// does not matter for words; for an expression it matters if the expression contains a capital
/// letter.
pub struct Search {
    patterns: Vec<Pattern>,
}

impl Search {
    /// Parses what a user typed: words, or `re:` and a regular expression. Fails if the expression
    /// is invalid.
    pub fn parse(typed: &str) -> Result<Search, regex::Error> {
        let patterns = match typed.strip_prefix("re:") {
            Some(regex) => {
                let ignore_case = !regex.chars().any(char::is_uppercase);
                vec![Pattern::new(regex, Options { ignore_case, ..Options::default() })?]
            }
            None => {
                let options = Options { ignore_case: true, fixed: true, ..Options::default() };
                typed.split_whitespace().map(|word| Pattern::new(word, options)).collect::<Result<_, _>>()?
            }
        };
        Ok(Search { patterns })
    }

    /// Returns whether the search is empty.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns whether an entry matches, given its line.
    pub fn finds(&self, session: &Session, ix: Ix, line: &[u8]) -> bool {
        let label = session.labels.label(ix).unwrap_or_default();
        let kind = session.entries.kind(ix).name();
        let is_in_line = |pattern: &Pattern| {
            // Most lines are skipped without being parsed.
            pattern.prefilter().is_none_or(|prefilter| prefilter.find(line, 0).is_some())
                && pattern.is_in(session.format, line)
        };
        !self.is_empty()
            && self
                .patterns
                .iter()
                .all(|pattern| pattern.is_in_text(label) || pattern.is_in_text(kind) || is_in_line(pattern))
    }
}
