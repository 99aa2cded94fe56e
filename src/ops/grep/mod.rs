//! `bough grep`: searches the contents of entries.
//!
//! A [`Pattern`] is matched against the strings of an entry that have content, with escapes
//! resolved: texts, thinking, arguments and results of tools, summaries, names. Keys, ids and the
//! rest of a line are not searched. A prefilter checks the bytes of a line before it is read
//! ([`Pattern::prefilter`]), so that most lines only cost the scan.

mod literals;
pub(super) mod queued;
mod said_text;

pub use queued::{Queue, Queued};
pub use said_text::{Part, each_said};

use crate::format::Format;
use crate::format::source_lines;
use crate::json::Prefilter;
use regex::Regex;
use std::borrow::Cow;
use std::ops::Range;

/// A search pattern.
pub struct Pattern {
    regex: Regex,
    prefilter: Option<Prefilter>,
}

/// How a pattern is interpreted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Whether to ignore case.
    pub ignore_case: bool,
    /// Whether it must match whole words.
    pub word: bool,
    /// Whether it is a literal string instead of a regular expression.
    pub fixed: bool,
}

/// A line of text that matches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hit {
    /// The part of the entry that contains it.
    pub part: Part,
    /// The line, or the lines that a match spans.
    pub text: String,
    /// The byte ranges of the matches in `text`.
    pub at: Vec<Range<usize>>,
}

impl Pattern {
    /// Parses a pattern; fails with the error in it.
    pub fn new(pattern: &str, options: Options) -> Result<Pattern, regex::Error> {
        let mut pattern: Cow<'_, str> = match options.fixed {
            true => regex::escape(pattern).into(),
            false => pattern.into(),
        };
        if options.word {
            pattern = format!(r"\b{{start-half}}(?:{pattern})\b{{end-half}}").into();
        }
        let regex = regex::RegexBuilder::new(&pattern)
            .multi_line(true)
            .case_insensitive(options.ignore_case)
            .build()?;
        // The expression is known to be valid: if its parts are not available, all lines are read.
        let prefilter = regex_syntax::ParserBuilder::new()
            .multi_line(true)
            .case_insensitive(options.ignore_case)
            .build()
            .parse(&pattern)
            .ok()
            .and_then(|hir| Prefilter::new(&literals::needed(&hir)?));
        Ok(Pattern { regex, prefilter })
    }

    /// Returns the prefilter that finds the lines that may match, or `None` if all may.
    pub fn prefilter(&self) -> Option<&Prefilter> {
        self.prefilter.as_ref()
    }

    /// Returns whether an entry matches, given its line.
    pub fn is_in(&self, format: Format, line: &[u8]) -> bool {
        let mut found = false;
        each_said(format, line, &mut |_, text| {
            found = found || self.regex.is_match(text);
        });
        // What a converted session carries of another is not said in it.
        found && source_lines::carried(format, line).is_none()
    }

    /// Returns the lines of an entry's text that match, in order, given its line.
    pub fn hits(&self, format: Format, line: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        each_said(format, line, &mut |part, text| self.hits_in(part, text, &mut hits));
        if !hits.is_empty() && source_lines::carried(format, line).is_some() {
            hits.clear();
        }
        hits
    }

    /// Returns whether a text matches.
    pub fn is_in_text(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Returns the lines of a text that match, as a part of an entry.
    pub fn hits_in_text(&self, part: Part, text: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.hits_in(part, text, &mut hits);
        hits
    }

    fn hits_in(&self, part: Part, text: &str, hits: &mut Vec<Hit>) {
        let from = hits.len();
        // The range of the lines of the last hit in the text.
        let mut lines = 0..0;
        for found in self.regex.find_iter(text) {
            if hits.len() > from && found.start() < lines.end {
                let hit = hits.last_mut().expect("there is a hit");
                if found.end() > lines.end {
                    lines.end = line_end(text, found.end());
                    hit.text = text[lines.clone()].to_owned();
                }
                hit.at.push(found.start() - lines.start..found.end() - lines.start);
                continue;
            }
            let start = text[..found.start()].rfind('\n').map_or(0, |at| at + 1);
            lines = start..line_end(text, found.end());
            let first = found.start() - start..found.end() - start;
            hits.push(Hit { part, text: text[lines.clone()].to_owned(), at: vec![first] });
        }
    }
}

/// Returns the end of the line in which a match ends at `at`.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |more| at + more)
}

#[cfg(test)]
mod tests;
