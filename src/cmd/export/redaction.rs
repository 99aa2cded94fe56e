//! What an export redacts, and what is said about it.

use super::{Args, Failure};
use crate::cmd::shared::config::Config;
use crate::cmd::shared::rows;
use crate::model::{Count, Ix, LineReader, Source, Span};
use crate::ops::ids;
use crate::ops::redact::{Found, Group, Redact, Redactor};
use crate::store::Opened;
use crate::ui::Ui;
use serde::Serialize;
use std::borrow::Cow;
use std::io;

/// How much of a file is read at once.
const BLOCK: u64 = 1 << 20;

/// What an export redacts: export --redact-report. The texts are not in it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.redaction/1")]
pub(crate) struct RedactionRow<'a> {
    /// Each place in which a rule found something.
    found: &'a [FoundRow],
}

/// A place in which a rule found something.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FoundRow {
    /// The rule, as in the mark.
    rule: String,
    /// The id of the entry; absent if the whole file was searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<String>,
    /// The number of the line.
    line: u64,
    /// The fields that lead to the string, separated by dots.
    field: String,
    /// Where it begins in the decoded string, in bytes.
    offset: usize,
    /// How many bytes.
    length: usize,
}

impl FoundRow {
    fn new(hit: Found, entry: Option<String>, line: u64) -> FoundRow {
        let Found { rule, field, range, .. } = hit;
        FoundRow { rule: rule.to_string(), entry, line, field, offset: range.start, length: range.len() }
    }
}

/// The redaction of one export.
pub(super) struct Redaction {
    /// `None` if nothing is redacted.
    redactor: Option<Redactor>,
    found: Vec<FoundRow>,
}

impl Redaction {
    /// Whether nothing is searched or redacted.
    pub(super) fn is_off(&self) -> bool {
        self.redactor.is_none()
    }

    /// Reads the options and the config. `by_default` is whether credentials are redacted without an option.
    pub(super) fn new(args: &Args, by_default: bool, config: &Config) -> anyhow::Result<Redaction> {
        let asked = args.redact.as_deref();
        let is_on =
            !args.no_redact && (by_default || asked.is_some() || args.check || args.redact_report.is_some());
        if !is_on {
            return Ok(Redaction { redactor: None, found: Vec::new() });
        }
        // Who names what else to hide does not want keys to be seen.
        let mut groups = vec![Group::Credentials];
        for name in asked.unwrap_or_default() {
            let Some((_, group)) = Group::ALL.iter().find(|(known, _)| known == name) else {
                let known = Group::ALL.map(|(known, _)| format!("`{known}`")).join(", ");
                return Err(Failure::Usage {
                    what: format!("unknown group `{name}`"),
                    hint: format!("use {known}"),
                }
                .into());
            };
            if !groups.contains(group) {
                groups.push(*group);
            }
        }
        let rules = config.redaction(&groups)?;
        Ok(Redaction { redactor: Some(Redactor::new(rules)), found: Vec::new() })
    }

    /// Looks through the lines of some entries, and what the session has beside them.
    pub(super) fn learn_entries(&mut self, opened: &Opened, entries: &[Ix]) -> io::Result<()> {
        let Some(redactor) = &mut self.redactor else { return Ok(()) };
        let (session, files) = (&opened.session, &opened.files);
        let mut lines = LineReader::default();
        for ix in entries {
            let span = session.span(*ix);
            let file_len = session.files.get(usize::from(span.file)).map_or(0, |file| file.bytes);
            let line = lines.line(files, file_len, span)?;
            let mut hits = Vec::new();
            redactor.learn(line, &mut |hit| hits.push(hit));
            for hit in hits {
                let id = ids::name(session, files, *ix)?;
                self.found.push(FoundRow::new(hit, Some(id), session.entries.line(*ix)));
            }
        }
        for label in entries.iter().filter_map(|ix| session.labels.label(*ix)).chain(session.name.as_deref())
        {
            redactor.learn_text(label);
        }
        Ok(())
    }

    /// Looks through a text beside the lines of a session, e.g. a tool result that is in a file.
    pub(super) fn learn_text(&mut self, text: &str) {
        if let Some(redactor) = &mut self.redactor {
            redactor.learn_text(text);
        }
    }

    /// Whether anything is looked for.
    pub(super) fn is_on(&self) -> bool {
        self.redactor.is_some()
    }

    /// Looks through all lines of the session's file.
    pub(super) fn learn_file(&mut self, opened: &Opened) -> io::Result<()> {
        let Some(redactor) = &mut self.redactor else { return Ok(()) };
        let found = &mut self.found;
        each_line(opened, &mut |number, line| {
            redactor.learn(line, &mut |hit| found.push(FoundRow::new(hit, None, number)));
        })
    }

    /// Whether nothing is redacted.
    pub(super) fn is_clean(&self) -> bool {
        self.redactor.as_ref().is_none_or(Redactor::is_clean)
    }

    /// What was found, as JSON, without the texts.
    pub(super) fn report(&self) -> String {
        format!("{}\n", rows::to_json(&RedactionRow { found: &self.found }))
    }

    /// Says in one line how much each rule redacted.
    pub(super) fn print_counts(&self, ui: &mut Ui) {
        if let Some((count, by_rule)) = self.counts() {
            ui.note(format_args!("redacted {count}: {by_rule}"));
        }
    }

    /// Says in one line how much each rule would redact.
    pub(super) fn print_check(&self, ui: &mut Ui) {
        if let Some((count, by_rule)) = self.counts() {
            ui.note(format_args!("{count} would be redacted: {by_rule}"));
        }
    }

    /// How many places are redacted, and how many by each rule; `None` if there are none.
    fn counts(&self) -> Option<(Count, String)> {
        let redactor = self.redactor.as_ref().filter(|redactor| !redactor.is_clean())?;
        let places = redactor.places();
        let all: usize = places.values().sum();
        let by_rule =
            places.iter().map(|(rule, count)| format!("{rule} {count}")).collect::<Vec<_>>().join(", ");
        Some((Count("place", "places", all), by_rule))
    }
}

impl Redact for Redaction {
    fn line<'l>(&mut self, line: &'l [u8]) -> Cow<'l, [u8]> {
        self.redactor.as_mut().map_or(Cow::Borrowed(line), |redactor| redactor.line(line))
    }

    fn value<'t>(&mut self, key: &str, text: &'t str) -> Cow<'t, str> {
        self.redactor.as_mut().map_or(Cow::Borrowed(text), |redactor| redactor.value(key, text))
    }
}

/// Gives each line of the session's main file with its number, without its end.
pub(super) fn each_line(opened: &Opened, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<()> {
    let len = opened.session.files.first().map_or(0, |facts| facts.bytes);
    let (mut at, mut number, mut open, mut block) = (0, 0, Vec::<u8>::new(), Vec::new());
    while at < len {
        let span = Span { file: 0, offset: at, len: BLOCK.min(len - at) };
        opened.files.read(span, &mut block)?;
        at += span.len;
        let mut rest = block.as_slice();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            number += 1;
            if open.is_empty() {
                each(number, &rest[..end]);
            } else {
                open.extend_from_slice(&rest[..end]);
                each(number, &open);
                open.clear();
            }
            rest = &rest[end + 1..];
        }
        open.extend_from_slice(rest);
    }
    if !open.is_empty() {
        each(number + 1, &open);
    }
    Ok(())
}
