//! Rules as they are added: those that are built in, from their files, and those of the config file.

use super::{HOSTS, PATHS, Rule};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The rule whose work [`crate::ops::redact::assigned`] does.
const ASSIGNED: &str = "generic-api-key";

/// Rules of gitleaks for which bough has better ones, or that need the name of a file.
const REPLACED: [&str; 5] =
    ["private-key", "jwt", "openai-api-key", "kubernetes-secret-yaml", "curl-auth-user"];

/// Rules as they are added, sorted by their keywords.
#[derive(Default)]
pub(super) struct Sorted {
    pub(super) rules: Vec<Rule>,
    /// For each keyword, in lower case: the rules that it belongs to.
    pub(super) rules_of: HashMap<String, Vec<usize>>,
    /// Rules without a keyword.
    pub(super) always: Vec<usize>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    allowlist: Allow,
    rules: Vec<Stored>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Allow {
    pub(super) regexes: Vec<String>,
    pub(super) stopwords: Vec<String>,
    #[serde(rename = "regexTarget")]
    target: String,
}

#[derive(Deserialize)]
pub(super) struct Stored {
    pub(super) id: String,
    pub(super) regex: Option<String>,
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) keywords: Vec<String>,
    #[serde(default)]
    pub(super) entropy: f64,
    #[serde(default)]
    pub(super) allowlists: Vec<Allow>,
}

impl Sorted {
    /// Adds a rule; one without an expression is of file names, which are not looked at.
    pub(super) fn add(&mut self, stored: Stored) {
        let Some(source) = stored.regex else { return };
        let at = self.rules.len();
        if stored.keywords.is_empty() {
            self.always.push(at);
        }
        for keyword in stored.keywords {
            self.rules_of.entry(keyword.to_ascii_lowercase()).or_default().push(at);
        }
        let of_secret = stored.allowlists.iter().filter(|allow| !matches!(&*allow.target, "match" | "line"));
        let allowed = of_secret.flat_map(|allow| allow.regexes.clone()).collect();
        let stopwords = stored.allowlists.iter().flat_map(|allow| allow.stopwords.clone()).collect();
        let regex = OnceLock::new();
        let rule = Rule { id: stored.id, source, entropy: stored.entropy, allowed, stopwords, regex };
        self.rules.push(rule);
    }

    pub(super) fn add_plain(&mut self, id: &str, regex: &str, keywords: &[&str]) {
        self.add(Stored {
            id: id.into(),
            regex: Some(regex.into()),
            path: None,
            keywords: keywords.iter().map(|word| (*word).to_owned()).collect(),
            entropy: 0.0,
            allowlists: Vec::new(),
        });
    }

    /// Adds the rules of the files that are built in. `allowed` gets what they never take for a secret.
    pub(super) fn add_credentials(&mut self, allowed: &mut Allow) {
        for text in [include_str!("../own.toml"), include_str!("../gitleaks.toml")] {
            let file: File = toml::from_str(text).expect("the rules that are built in are valid");
            allowed.regexes.extend(file.allowlist.regexes);
            allowed.stopwords.extend(file.allowlist.stopwords);
            let is_own = self.rules.iter().all(|rule| rule.id != "aws-access-key");
            for rule in file.rules {
                if rule.path.is_none() && rule.id != ASSIGNED && (is_own || !REPLACED.contains(&&*rule.id)) {
                    self.add(rule);
                }
            }
        }
    }

    /// Adds the rules for home directories, and for the folders of stores that are named after them.
    pub(super) fn add_paths(&mut self) {
        // Within another path, these are not home directories.
        let home = r"(?:^|[^\w.-])(/home/[A-Za-z0-9_][\w.-]*|/Users/[A-Za-z0-9_][\w.-]*|/root\b)";
        self.add_plain(PATHS, home, &["/home/", "/users/", "/root"]);
        let windows = r"([A-Za-z]:\\{1,2}Users\\{1,2}[\w.-]+)";
        self.add_plain(PATHS, windows, &[":\\users\\", ":\\\\users\\\\"]);
        // The folders of stores.
        let stores = r"(-(?:home|Users)-[A-Za-z0-9_.]+|--root-)";
        self.add_plain(PATHS, stores, &["-home-", "-users-", "--root-"]);
    }

    /// Adds the rules for names of hosts and their addresses.
    pub(super) fn add_hosts(&mut self) {
        let of_url = r"\b[a-z][a-z0-9+.-]{1,20}://(?:[^\s/@]{1,200}@)?([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)";
        self.add_plain(HOSTS, of_url, &["://"]);
        let address = r"\b((?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d))\b";
        self.add_plain(HOSTS, address, &[]);
        let of_mail = r"@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24})\b";
        self.add_plain(HOSTS, of_mail, &["@"]);
    }
}
