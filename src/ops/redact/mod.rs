//! Redaction: secrets in the texts of a session, found by rules and replaced by marks.
//!
//! A [`Redactor`] works in two passes. [`Redactor::learn`] looks through each line and collects the secrets. [`Redactor::line`]
//! and [`Redactor::text`] replace them, also where they are without the words that gave them away. The same secret has
//! the same mark everywhere: `[redacted:github-token#1]`.
//!
//! The rules are data: those of gitleaks (`gitleaks.toml`, with its license) and bough's own (`own.toml`). Names to which a
//! value is assigned (`password=…`) are judged by `assigned`. Strings are searched decoded. Encoded images and signatures are not
//! searched.

mod assigned;
mod line;
mod rules;
mod suspect;

pub use rules::{ExtraRule, Rules};

use aho_corasick::{AhoCorasick, MatchKind};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::{Bound, Range};
use std::sync::Arc;

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// Keys, tokens, passwords.
    Credentials,
    /// Home directories.
    Paths,
    /// Mail addresses.
    Mail,
    /// Host names in addresses, and IP addresses.
    Hosts,
}

impl Group {
    /// The groups by their names.
    pub const ALL: [(&'static str, Group); 4] = [
        ("credentials", Group::Credentials),
        ("paths", Group::Paths),
        ("mail", Group::Mail),
        ("hosts", Group::Hosts),
    ];
}

/// A secret that was found: where it is, without its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The rule.
    pub rule: String,
    /// The fields that lead to it: `message.content.text`.
    pub field: String,
    /// Where it is in the decoded string, in bytes.
    pub range: Range<usize>,
}

/// Finds secrets and replaces them.
pub struct Redactor {
    rules: Arc<Rules>,
    /// The secrets, each with its mark.
    marks: BTreeMap<String, String>,
    /// What the secrets begin with that are looked for without the words around them.
    beginnings: HashSet<[u8; SHORTEST]>,
    /// The bytes of the longest secret.
    longest: usize,
    /// How many secrets each rule found.
    counts: BTreeMap<String, usize>,
    /// How many places each rule found.
    places: BTreeMap<String, usize>,
    /// Finds the known secrets, and the mark of each.
    known: Option<(AhoCorasick, Vec<String>)>,
    is_stale: bool,
}

/// Changes what an export shows of a session.
pub trait Redact {
    /// Returns a line of JSON without its secrets; all other bytes stay.
    fn line<'l>(&mut self, line: &'l [u8]) -> Cow<'l, [u8]>;

    /// Returns the value of a field without its secrets. Its name may be what gives a secret away.
    fn value<'t>(&mut self, key: &str, text: &'t str) -> Cow<'t, str>;

    /// Returns a text without its secrets.
    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        self.value("", text)
    }
}

/// A secret that begins in one text block of a message and ends in the next.
struct CutSecret {
    /// The two texts in the line.
    strings: [Range<usize>; 2],
    /// Where its parts are in the texts.
    inside: [Range<usize>; 2],
    parts: [String; 2],
    rule: String,
    field: String,
}

/// A secret that was found on a line.
struct Hit<'r> {
    secret: String,
    rule: &'r str,
    field: String,
    range: Range<usize>,
}

/// Finds the secrets in the strings of a line. Where a string is JSON itself, its strings come first,
/// and what is found in them is not found again in the whole.
fn hits_in<'r>(rules: &'r Rules, line: &[u8], hits: &mut Vec<Hit<'r>>) {
    line::each_string(line, &mut |string| {
        if !string.is_searched() || !rules.may_find(string.raw(), string.key()) {
            return;
        }
        let text = string.text();
        let first = hits.len();
        if is_json(&text) {
            hits_in(rules, text.as_bytes(), hits);
        }
        for hit in &mut hits[first..] {
            hit.field = format!("{}.{}", string.path(), hit.field);
        }
        let inside = hits.len();
        for (range, rule) in rules.find(&text, string.key()) {
            let secret = &text[range.clone()];
            let is_known = |hit: &Hit<'_>| secret.contains(&*hit.secret) || hit.secret.contains(secret);
            if !hits[first..inside].iter().any(is_known) {
                hits.push(Hit { secret: secret.to_owned(), rule, field: string.path(), range });
            }
        }
    });
}

/// Returns whether a text is an object or a list of JSON. With each level, the quotes of the next one
/// take twice as many bytes, so that the levels are few.
fn is_json(text: &str) -> bool {
    text.len() >= 10
        && matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'['))
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The shortest secret that is replaced without the words around it.
const SHORTEST: usize = 8;

impl Redactor {
    /// Creates a redactor with rules.
    pub fn new(rules: impl Into<Arc<Rules>>) -> Redactor {
        Redactor {
            rules: rules.into(),
            marks: BTreeMap::new(),
            beginnings: HashSet::new(),
            longest: 0,
            counts: BTreeMap::new(),
            places: BTreeMap::new(),
            known: None,
            is_stale: false,
        }
    }

    /// Looks through a line of a session, or any other JSON, and remembers what it finds.
    pub fn learn(&mut self, line: &[u8], found: &mut dyn FnMut(Found)) {
        let mut hits = Vec::new();
        let rules = Arc::clone(&self.rules);
        hits_in(&rules, line, &mut hits);
        for cut in self.cut_secrets(line) {
            // Its parts are secrets, too, wherever they are.
            let mark = self.mark(&cut.parts.concat(), &cut.rule);
            for part in &cut.parts {
                self.marks.entry(part.clone()).or_insert_with(|| mark.clone());
            }
            *self.places.entry(cut.rule.clone()).or_default() += 1;
            found(Found { rule: cut.rule, field: cut.field, range: cut.inside[0].clone() });
        }
        for Hit { secret, rule, field, range } in hits {
            if !rules::is_replacement(rule) {
                self.mark(&secret, rule);
            }
            *self.places.entry(rule.to_owned()).or_default() += 1;
            found(Found { rule: rule.to_owned(), field, range });
        }
    }

    /// Finds the secrets of a line that begin in one text block and end in the next.
    fn cut_secrets(&self, line: &[u8]) -> Vec<CutSecret> {
        let mut out = Vec::new();
        line::each_seam(line, &mut |seam| {
            for (range, rule) in self.rules.find(&seam.text, "") {
                if range.start >= seam.middle || range.end <= seam.middle || rules::is_replacement(rule) {
                    continue;
                }
                let parts = [&seam.text[range.start..seam.middle], &seam.text[seam.middle..range.end]];
                let first = seam.before + range.start..seam.before + seam.middle;
                out.push(CutSecret {
                    strings: seam.strings.clone(),
                    inside: [first, 0..range.end - seam.middle],
                    parts: parts.map(str::to_owned),
                    rule: rule.to_owned(),
                    field: seam.path.clone(),
                });
            }
        });
        out
    }

    /// Looks through a text that is not on a line, such as a file beside the session.
    pub fn learn_text(&mut self, text: &str) {
        let rules = Arc::clone(&self.rules);
        let hits: Vec<_> =
            rules.find(text, "").into_iter().map(|(range, rule)| (text[range].to_owned(), rule)).collect();
        for (secret, rule) in hits {
            if !rules::is_replacement(rule) {
                self.mark(&secret, rule);
            }
            *self.places.entry(rule.to_owned()).or_default() += 1;
        }
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.places.is_empty()
    }

    /// How many places each rule found, by the name of the rule.
    pub fn places(&self) -> &BTreeMap<String, usize> {
        &self.places
    }

    fn mark(&mut self, secret: &str, rule: &str) -> String {
        if let Some(mark) = self.marks.get(secret) {
            return mark.clone();
        }
        let count = self.counts.entry(rule.to_owned()).or_default();
        *count += 1;
        let mark = format!("[redacted:{rule}#{count}]");
        self.marks.insert(secret.to_owned(), mark.clone());
        self.is_stale = true;
        mark
    }

    /// Makes the finder of known secrets anew, if there are new ones.
    fn freshen(&mut self) {
        if !self.is_stale {
            return;
        }
        self.is_stale = false;
        let known = self.marks.iter().filter(|(secret, _)| secret.len() >= SHORTEST && !is_plain(secret));
        self.beginnings = known.clone().filter_map(|(secret, _)| beginning(secret)).collect();
        self.longest = known.clone().map(|(secret, _)| secret.len()).max().unwrap_or(0);
        let (secrets, marks): (Vec<_>, Vec<_>) = known.map(|(secret, mark)| (secret, mark.clone())).unzip();
        self.known = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(secrets)
            .ok()
            .filter(|known| known.patterns_len() > 0)
            .map(|known| (known, marks));
    }

    /// Returns the value of a field without its secrets, of which some may be known already: where they are, and their marks.
    fn replaced<'t>(
        &mut self,
        key: &str,
        text: &'t str,
        mut spans: Vec<(Range<usize>, String)>,
    ) -> Cow<'t, str> {
        let rules = Arc::clone(&self.rules);
        for (range, rule) in rules.find(text, key) {
            if spans.iter().any(|(other, _)| range.start < other.end && other.start < range.end) {
                continue;
            }
            let new = match rules::replacement(rule, &text[range.clone()]) {
                Some(new) => new,
                None => {
                    let secret = text[range.clone()].to_owned();
                    self.mark(&secret, rule)
                }
            };
            spans.push((range, new));
        }
        self.freshen();
        if let Some((known, marks)) = &self.known {
            let taken: HashSet<usize> = spans.iter().map(|(range, _)| range.start).collect();
            let free = |range: &Range<usize>, spans: &[(Range<usize>, String)]| {
                !taken.contains(&range.start)
                    && spans.iter().all(|(other, _)| range.end <= other.start || other.end <= range.start)
            };
            let more: Vec<_> = known
                .find_iter(text)
                .map(|found| (found.range(), marks[found.pattern().as_usize()].clone()))
                .filter(|(range, _)| free(range, &spans))
                .collect();
            spans.extend(more);
        }
        if let Some((range, mark)) = self.begun(text)
            && spans.iter().all(|(other, _)| other.end <= range.start)
        {
            spans.push((range, mark.to_owned()));
        }
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        spans.sort_by_key(|(range, _)| range.start);
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for (range, new) in spans {
            out.push_str(&text[from..range.start]);
            out.push_str(&new);
            from = range.end;
        }
        out.push_str(&text[from..]);
        Cow::Owned(out)
    }

    /// Where a known secret only begins, and its mark: an agent cut the text there, and says so.
    fn begun(&self, text: &str) -> Option<(Range<usize>, &str)> {
        let end = ["…", "..."].iter().find_map(|sign| text.strip_suffix(sign))?.len();
        let starts = end.saturating_sub(self.longest)..end.saturating_sub(SHORTEST - 1);
        let known = |start: usize| {
            let begins = text.get(start..end)?;
            self.beginnings.get(&beginning(begins)?)?;
            let from = (Bound::Included(begins), Bound::Unbounded);
            let longer =
                self.marks.range::<str, _>(from).take_while(|(secret, _)| secret.starts_with(begins));
            longer.into_iter().find(|(secret, _)| !is_plain(secret)).map(|(_, mark)| (start..end, &**mark))
        };
        starts.into_iter().find_map(known)
    }
}

/// The first bytes of a text, if it is long enough for a secret.
fn beginning(text: &str) -> Option<[u8; SHORTEST]> {
    text.as_bytes().first_chunk().copied()
}

impl Redact for Redactor {
    fn line<'l>(&mut self, line: &'l [u8]) -> Cow<'l, [u8]> {
        if self.is_clean() {
            return Cow::Borrowed(line);
        }
        self.freshen();
        let cuts = self.cut_secrets(line);
        let mut edits: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
        line::each_string(line, &mut |string| {
            if !string.is_searched() {
                return;
            }
            let text = string.text();
            let mut known = Vec::new();
            for cut in &cuts {
                for (at, inside) in cut.strings.iter().zip(&cut.inside) {
                    if *at == string.range() {
                        known.push((inside.clone(), self.mark(&cut.parts.concat(), &cut.rule)));
                    }
                }
            }
            // The secrets of JSON inside a string end where its strings end.
            let inner = match is_json(&text) && known.is_empty() {
                true => self.line(text.as_bytes()),
                false => Cow::Borrowed(text.as_bytes()),
            };
            let inner = String::from_utf8_lossy(&inner);
            let new = self.replaced(string.key(), &inner, known);
            if *new != *text {
                edits.push((string.range(), line::quoted(&new)));
            }
        });
        if edits.is_empty() {
            return Cow::Borrowed(line);
        }
        let mut out = Vec::with_capacity(line.len());
        let mut from = 0;
        for (range, new) in edits {
            out.extend_from_slice(&line[from..range.start]);
            out.extend_from_slice(&new);
            from = range.end;
        }
        out.extend_from_slice(&line[from..]);
        Cow::Owned(out)
    }

    fn value<'t>(&mut self, key: &str, text: &'t str) -> Cow<'t, str> {
        self.replaced(key, text, Vec::new())
    }
}

/// Whether a secret is a plain word or number, which means nothing without the words around it.
fn is_plain(secret: &str) -> bool {
    secret.len() < 12
        && (secret.bytes().all(|byte| byte.is_ascii_alphabetic())
            || secret.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
