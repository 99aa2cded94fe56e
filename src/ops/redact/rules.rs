//! The rules, and where they find something in a text.

mod expression;
mod sorted;

use super::suspect::{Owner, Suspects};
use super::{Group, assigned};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use expression::{compile, last_line, set};
use regex::bytes::{Regex, RegexSet};
use serde::Deserialize;
use sorted::{Allow, Sorted, Stored};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

/// The words around which names of secrets are looked for.
const NAMES: [&str; 9] = ["access", "api", "auth", "key", "credential", "creds", "passw", "secret", "token"];

/// More of them.
const MORE_NAMES: [&str; 3] = ["passphrase", "pwd", "passwort"];

const PATHS: &str = "home-directory";
const MAIL: &str = "mail";
const HOSTS: &str = "host";

/// A rule of the config file.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct ExtraRule {
    /// The name in the mark.
    pub id: String,
    /// A regular expression; its first group is the secret, else the whole match.
    pub regex: String,
    /// Words of which a text has one if it matches; none means that every text is searched.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// The least entropy of the secret, in bits a byte.
    #[serde(default)]
    pub entropy: f64,
}

impl ExtraRule {
    /// Returns the rule that finds a home directory, wherever it is: the built-in rule knows those of
    /// `/home` and `/Users`. None for the root, which is part of every path.
    pub fn of_home(home: &Path) -> Option<ExtraRule> {
        let home = home.to_str().map(|home| home.trim_end_matches('/')).filter(|home| home.len() > 1)?;
        let end = if home.ends_with(char::is_alphanumeric) { r"\b" } else { "" };
        let regex = format!(r"(?:^|[^\w.-])({}){end}", regex::escape(home));
        Some(ExtraRule { id: PATHS.into(), regex, keywords: vec![home.into()], entropy: 0.0 })
    }
}

/// A rule that can't be used.
#[derive(Debug, thiserror::Error)]
#[error("rule `{id}` has an invalid regular expression: {why}")]
pub struct BadRule {
    /// The rule.
    pub id: String,
    /// What is wrong.
    pub why: String,
}

struct Rule {
    id: String,
    source: String,
    entropy: f64,
    allowed: Vec<String>,
    stopwords: Vec<String>,
    /// Compiled when it is first needed.
    regex: OnceLock<Option<(Regex, Option<RegexSet>)>>,
}

/// The rules of all groups that are looked for.
pub struct Rules {
    rules: Vec<Rule>,
    /// Finds the keywords.
    keywords: AhoCorasick,
    /// For each keyword: the rules that it belongs to; an empty list means [`assigned`].
    rules_of: Vec<Vec<usize>>,
    /// Rules without a keyword.
    always: Vec<usize>,
    /// Finds the strings that are searched; `None` if all are.
    suspects: Option<Suspects>,
    /// What is never a secret.
    allowed: RegexSet,
    stopwords: Vec<String>,
    own_allowed: RegexSet,
}

/// How far before and after a keyword a match may be.
const BEFORE: usize = 256;
const AFTER: usize = 1024;
const AFTER_LONG: usize = 24 * 1024;

impl Rules {
    /// Reads the rules of some groups, with those of the config file and what that allows.
    pub fn new(groups: &[Group], extra: &[ExtraRule], allow: &[String]) -> Result<Rules, BadRule> {
        let mut sorted = Sorted::default();
        for rule in extra {
            compile(&rule.regex)
                .map_err(|error| BadRule { id: rule.id.clone(), why: last_line(&error.to_string()) })?;
            let ExtraRule { id, regex, keywords, entropy } = rule.clone();
            let allowlists = Vec::new();
            sorted.add(Stored { id, regex: Some(regex), path: None, keywords, entropy, allowlists });
        }
        let mut allowed = Allow::default();
        if groups.contains(&Group::Credentials) {
            sorted.add_credentials(&mut allowed);
        }
        if groups.contains(&Group::Paths) {
            sorted.add_paths();
        }
        if groups.contains(&Group::Mail) {
            let mail = r"\b([A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24})\b";
            sorted.add_plain(MAIL, mail, &["@"]);
        }
        if groups.contains(&Group::Hosts) {
            sorted.add_hosts();
        }
        let Sorted { rules, mut rules_of, always } = sorted;
        if groups.contains(&Group::Credentials) {
            for name in NAMES.iter().chain(&MORE_NAMES) {
                rules_of.entry((*name).to_owned()).or_default();
            }
        }
        let (words, rules_of): (Vec<_>, Vec<_>) = rules_of.into_iter().unzip();
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&words)
            .expect("the keywords are few and short");
        // A word of another rule may be a name too.
        let rules_of = words.iter().zip(rules_of);
        let rules_of = rules_of.map(|(word, mut of)| {
            let is_name = groups.contains(&Group::Credentials)
                && NAMES.iter().chain(&MORE_NAMES).any(|name| word.contains(name));
            if is_name {
                of.push(usize::MAX);
            }
            of
        });
        let rules_of: Vec<Vec<usize>> = rules_of.collect();
        let owner = |rule: &usize| match rules.get(*rule) {
            None => Owner::Names,
            Some(_) if *rule < extra.len() => Owner::Other,
            Some(rule) => Owner::BuiltIn(&rule.id),
        };
        let owned = words.iter().zip(&rules_of);
        let owned = owned.map(|(word, of)| (word.as_str(), of.iter().map(owner).collect()));
        let suspects = if always.is_empty() { Suspects::new(owned) } else { None };
        Ok(Rules {
            rules,
            keywords,
            suspects,
            rules_of,
            always,
            allowed: set(&allowed.regexes).expect("the allow-list that is built in is valid"),
            stopwords: allowed.stopwords,
            own_allowed: set(allow)
                .map_err(|error| BadRule { id: "allow".into(), why: last_line(&error.to_string()) })?,
        })
    }

    /// Returns whether [`Rules::find`] may find something in a string, or in a string inside if it is JSON. It is given as it is
    /// stored, without its quotes. Takes far less time than decoding and searching it.
    pub(super) fn may_find(&self, raw: &[u8], key: &str) -> bool {
        self.suspects.as_ref().is_none_or(|all| all.has_word(key.as_bytes()) || all.may_be_in(raw))
    }

    /// Returns where the secrets of a text are, in order, each with the name of its rule. `key` is the field whose value
    /// the text is, or empty.
    pub(super) fn find(&self, text: &str, key: &str) -> Vec<(Range<usize>, &str)> {
        let bytes = text.as_bytes();
        if self.suspects.as_ref().is_some_and(|all| !all.has_word(bytes) && !all.has_word(key.as_bytes())) {
            return Vec::new();
        }
        let mut found: Vec<(Range<usize>, usize)> = Vec::new();
        // Of each rule: up to where it was tried.
        let mut tried: HashMap<usize, usize> = HashMap::new();
        let mut rest = 0;
        for hit in self.keywords.find_overlapping_iter(bytes) {
            let of = &self.rules_of[hit.pattern().as_usize()];
            // A word of up to three letters says little: there must be something long around it.
            let is_word = bytes[hit.start()].is_ascii_alphanumeric();
            if hit.len() <= 3 && is_word && !of.contains(&usize::MAX) && !is_in_long_run(bytes, hit.range()) {
                continue;
            }
            for rule in of {
                if *rule == usize::MAX {
                    if hit.end() > rest
                        && let Some(range) = assigned::value_after(bytes, hit.range())
                    {
                        rest = range.end;
                        found.push((range, usize::MAX));
                    }
                    continue;
                }
                let after = if self.rules[*rule].id == "private-key" { AFTER_LONG } else { AFTER };
                let done = tried.entry(*rule).or_default();
                if hit.start() < *done {
                    continue;
                }
                let from = hit.start().saturating_sub(BEFORE).max(*done);
                let to = (hit.end() + after).min(bytes.len());
                *done = hit.end().max(self.try_rule(*rule, text, from..to, &mut found));
            }
        }
        for rule in &self.always {
            self.try_rule(*rule, text, 0..bytes.len(), &mut found);
        }
        if !key.is_empty()
            && self.rules_of.iter().any(|of| of.contains(&usize::MAX))
            && assigned::is_secret_field(key, text)
        {
            found.push((0..text.len(), usize::MAX));
        }
        found.retain(|(range, rule)| !range.is_empty() && self.is_secret(&text[range.clone()], *rule));
        join(&mut found);
        found
            .into_iter()
            .map(|(range, rule)| (range, self.rules.get(rule).map_or("secret", |rule| &*rule.id)))
            .collect()
    }

    /// Tries one rule on a part of a text. Gives where its last match ends, or 0.
    fn try_rule(
        &self,
        at: usize,
        text: &str,
        within: Range<usize>,
        found: &mut Vec<(Range<usize>, usize)>,
    ) -> usize {
        let rule = &self.rules[at];
        let compiled = rule.regex.get_or_init(|| {
            let allowed = if rule.allowed.is_empty() { None } else { set(&rule.allowed).ok() };
            Some((compile(&rule.source).ok()?, allowed))
        });
        let Some((regex, allowed)) = compiled else { return 0 };
        // The end is moved to a bound of words, so that a cut does not look like one.
        let bytes = &text.as_bytes()[..within.end];
        let mut end = 0;
        let mut from = within.start;
        while from <= bytes.len() {
            let Some(captures) = regex.captures_at(bytes, from) else { break };
            let whole = captures.get(0).expect("a match has a whole");
            let secret = captures.iter().skip(1).flatten().find(|group| !group.is_empty()).unwrap_or(whole);
            let range = bounds(text, secret.range());
            end = whole.end();
            from = whole.end().max(from + 1);
            let value = &text[range.clone()];
            let is_cut = secret.end() == within.end && within.end < text.len();
            if is_cut && !text.is_char_boundary(within.end)
                || rule.entropy > 0.0 && assigned::entropy(value.as_bytes()) < rule.entropy
                || allowed.as_ref().is_some_and(|allowed| allowed.is_match(value.as_bytes()))
                || rule.stopwords.iter().any(|word| value.contains(word))
            {
                continue;
            }
            found.push((range, at));
        }
        end
    }

    fn is_secret(&self, value: &str, rule: usize) -> bool {
        let id = self.rules.get(rule).map_or("", |rule| &*rule.id);
        if is_replacement(id) {
            return !self.own_allowed.is_match(value.as_bytes());
        }
        let bytes = value.as_bytes();
        let is_mark = value.starts_with("[redacted:") || value.starts_with("redacted:");
        let is_placeholder = matches!(id, "url-password" | "password-option" | "curl-auth-user" | "cookie")
            && is_placeholder(value);
        let is_bare = id == "sourcegraph-access-token" && assigned::is_bare_hash(value);
        let is_name =
            matches!(id, "api-key-header" | "authorization-header" | "bearer-token" | "password-option")
                && assigned::looks_like_a_name(value);
        let is_local = id == HOSTS && matches!(value, "127.0.0.1" | "0.0.0.0" | "255.255.255.255");
        let is_git = id == MAIL && value.starts_with("git@");
        !(is_mark
            || is_placeholder
            || is_bare
            || is_name
            || is_local
            || is_git
            || self.allowed.is_match(bytes))
            && !self.own_allowed.is_match(bytes)
            && !self.stopwords.iter().any(|word| value.contains(word))
    }
}

/// Whether a password stands for one: `<password>`, `$PASSWORD`, `password`, `***`.
fn is_placeholder(value: &str) -> bool {
    let lower = value.trim_matches(['<', '>', '[', ']', '{', '}']).to_ascii_lowercase();
    let words = [
        "password",
        "passwd",
        "pass",
        "pwd",
        "secret",
        "token",
        "user",
        "username",
        "xxx",
        "changeme",
        "example",
        "your",
        "placeholder",
        "redacted",
    ];
    value.starts_with(['$', '<', '{', '%', '[', '*', '('])
        || words.iter().any(|word| lower == *word)
        || ["your", "example", "placeholder", "changeme", "xxxx", "****", "...", "redacted"]
            .iter()
            .any(|word| lower.contains(word))
        || value.contains("${")
}

/// Whether the rule gives a replacement of its own in place of a mark with a number.
pub(super) fn is_replacement(rule: &str) -> bool {
    rule == PATHS
}

/// What a rule puts in the place of a secret, where that is not a mark.
pub(super) fn replacement(rule: &str, secret: &str) -> Option<String> {
    is_replacement(rule).then(|| match secret {
        "--root-" => "--~-".to_owned(),
        _ if secret.starts_with('-') => "-~".to_owned(),
        _ => "~".to_owned(),
    })
}

/// Whether there are twenty characters of a token in a row around a place.
pub(super) fn is_in_long_run(bytes: &[u8], at: Range<usize>) -> bool {
    let is = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-./+=~".contains(byte);
    let before = bytes[..at.start].iter().rev().take(64).take_while(is).count();
    let after = bytes[at.end..].iter().take(64).take_while(is).count();
    before + at.len() + after >= 20
}

/// Joins what overlaps; the rule that is earlier in the list gives the name.
fn join(found: &mut Vec<(Range<usize>, usize)>) {
    found.sort_by_key(|(range, rule)| (range.start, *rule));
    let mut out: Vec<(Range<usize>, usize)> = Vec::with_capacity(found.len());
    for (range, rule) in found.drain(..) {
        match out.last_mut() {
            Some((last, of)) if range.start < last.end => {
                last.end = last.end.max(range.end);
                *of = (*of).min(rule);
            }
            _ => out.push((range, rule)),
        }
    }
    *found = out;
}

/// The range of a text that contains a range of its bytes.
fn bounds(text: &str, range: Range<usize>) -> Range<usize> {
    let (mut from, mut to) = (range.start, range.end);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    while !text.is_char_boundary(to) {
        to += 1;
    }
    from..to
}

#[cfg(test)]
impl Rules {
    /// The rules, without what leaves strings out before they are searched.
    pub(super) fn without_suspects(mut self) -> Rules {
        self.suspects = None;
        self
    }

    /// Whether strings are left out before they are searched.
    pub(super) fn has_suspects(&self) -> bool {
        self.suspects.is_some()
    }

    /// The expression of a rule.
    pub(super) fn source_of(&self, id: &str) -> Vec<&str> {
        self.rules.iter().filter(|rule| rule.id == id).map(|rule| &*rule.source).collect()
    }

    /// The rules whose expression does not compile.
    pub(super) fn broken(&self) -> Vec<String> {
        let broken = self
            .rules
            .iter()
            .filter_map(|rule| Some(format!("{}: {}", rule.id, compile(&rule.source).err()?)));
        broken.collect()
    }
}
