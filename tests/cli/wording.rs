//! Checks the texts that users see against the words of `docs/glossary.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;

/// A wording that is not used, as a regular expression without case.
struct Word {
    wrong: &'static str,
    /// What makes the wording right: the longer text that contains it.
    fine: &'static str,
    instead: &'static str,
}

const fn word(wrong: &'static str, instead: &'static str) -> Word {
    Word { wrong, fine: "", instead }
}

const WORDS: &[Word] = &[
    word("mends?|mended|mending|mendable", "repair"),
    word("rings?", "cycle"),
    word("pictures?", "image"),
    word("(?:takes?|taken|took|puts?|brings?|brought) back", "undo, restore, move"),
    word(
        "st(?:ands?|ood) (?:in|on|behind|beside|for|there|as|under|above|below)",
        "is, is in, is on, contains",
    ),
    Word {
        wrong: "(?:is|are) no",
        fine: "there (?:is|are) no|(?:is|are) no longer",
        instead: "is not a, there is no",
    },
    word("small letters", "lower case"),
    word("(?:go|goes|went) astray", "is wrong, leads to the wrong branch"),
    word("(?:hangs?|hung) (?:under|below|behind|beside|on)", "is a child of, is attached to, follows"),
    word("the position", "HEAD"),
    word("current leaf|where the agent stands", "HEAD"),
    word("records?", "line, entry, JSON object"),
    word("nodes?", "entry"),
    word("talk", "conversation, thread"),
    word("chat", "session"),
    word("way up|trunk", "path"),
    word("user rows?", "prompt"),
    word("peers?|agent's agents?", "agent, subagent"),
    word("torn", "truncated"),
    word("(?:make|makes|made) whole|(?:put|puts|set|sets) right", "repair, correct"),
    word("recorded apart", "linearize"),
    word("(?:form|pi|agent|program) of today", "current format, current version"),
];

/// Texts that contain a wording of [`WORDS`] for a reason: the end of the file's path, a part of
/// the line, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "src/fsck/repair/other_checks.rs",
    "[A picture of",
    "it is written into files, and the answers of the programs are recorded for those bytes",
)];

/// Files and folders that are text as a whole; `man` has the doc comments of `src/cmd`, which are
/// its help.
const TEXTS: &[&str] = &[
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/config.txt",
    "docs/exit-codes.txt",
    "docs/formats.txt",
    "docs/guide.md",
    "docs/revisions.txt",
    "man",
];

/// The folders of `src` whose string literals are checked.
const LAYERS: &[&str] = &["model", "json", "format", "context", "ops", "fsck", "store", "ui", "cmd"];

#[test]
fn texts_use_the_words_of_the_glossary() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let checker = Checker::new();
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    let mut check = |path: &Path, line: usize, text: &str| {
        for (found, instead) in checker.check(text) {
            let exception = EXCEPTIONS
                .iter()
                .position(|(file, part, _)| path.to_str().unwrap().ends_with(file) && text.contains(part));
            match exception {
                Some(exception) => _ = used.insert(exception),
                None => wrong.push(format!(
                    "{}:{line}: `{found}`: write: {instead}",
                    path.strip_prefix(top).unwrap().display()
                )),
            }
        }
    };
    for text in TEXTS {
        each_file(&top.join(text), &mut |path, text| {
            for (line, text) in text.lines().enumerate() {
                check(path, line + 1, text);
            }
        });
    }
    for layer in LAYERS {
        each_file(&top.join("src").join(layer), &mut |path, code| {
            if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
                for (line, text) in literals(code).iter().filter(|(_, text)| text.contains(' ')) {
                    check(path, *line, text);
                }
            }
        });
    }
    assert!(wrong.is_empty(), "see docs/glossary.md for the words:\n{}", wrong.join("\n"));
    for (at, (file, part, _)) in EXCEPTIONS.iter().enumerate() {
        assert!(used.contains(&at), "an exception that nothing needs: {file}: {part}");
    }
}

/// The compiled [`WORDS`].
struct Checker(Vec<(Regex, Option<Regex>, &'static str)>);

impl Checker {
    fn new() -> Self {
        let compile = |pattern| Regex::new(&format!(r"(?i)\b(?:{pattern})\b")).unwrap();
        Self(
            WORDS
                .iter()
                .map(|word| {
                    (compile(word.wrong), (!word.fine.is_empty()).then(|| compile(word.fine)), word.instead)
                })
                .collect(),
        )
    }

    /// Returns the wrong wordings in `text`, each with what to write instead. A word that is part
    /// of a name such as `torn-line` or `parse_record` is not one.
    fn check(&self, text: &str) -> Vec<(String, &'static str)> {
        let mut found = Vec::new();
        for (wrong, fine, instead) in &self.0 {
            for hit in wrong.find_iter(text) {
                let after = &text[hit.end()..];
                let part_of_name = text[..hit.start()].ends_with(['-', '_', '.', '/'])
                    || after.starts_with(['-', '_', '('])
                    || after.strip_prefix('.').is_some_and(|kind| kind.starts_with(char::is_alphanumeric));
                let is_fine = fine.as_ref().is_some_and(|fine| {
                    fine.find_iter(text).any(|fine| fine.start() <= hit.start() && hit.end() <= fine.end())
                });
                if !part_of_name && !is_fine {
                    found.push((hit.as_str().to_owned(), *instead));
                }
            }
        }
        found
    }
}

/// Returns the string literals of Rust code, each with its line. Comments and items of
/// `#[cfg(test)]` are left out; a break in a literal with `\` is joined.
fn literals(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    // The depth of brackets, and the depth at which an item of tests began.
    let (mut depth, mut tests) = (0usize, None::<usize>);
    while let Some(first) = code[at..].chars().next() {
        let rest = &code[at..];
        let ends_a_word = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("#[cfg(test)]") {
            tests = tests.or(Some(depth));
            at += "#[cfg(test)]".len();
        } else if let Some(text) = character(rest) {
            at += text;
        } else if let Some((open, close)) = raw(rest).filter(|_| !ends_a_word) {
            let length = rest[open..].find(&close).unwrap();
            if tests.is_none() {
                found.push((line(code, at), rest[open..open + length].to_owned()));
            }
            at += open + length + close.len();
        } else if first == '"' {
            let mut end = 1;
            while !rest[end..].starts_with('"') {
                end += if rest[end..].starts_with('\\') { 1 } else { 0 };
                end += rest[end..].chars().next().unwrap().len_utf8();
            }
            if tests.is_none() {
                found.push((line(code, at), joined(&rest[1..end])));
            }
            at += end + 1;
        } else {
            match first {
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => depth -= 1,
                _ => {}
            }
            if matches!(first, '}' | ';') && tests == Some(depth) {
                tests = None;
            }
            at += first.len_utf8();
        }
    }
    found
}

fn line(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// Returns the length of the character literal with which `code` begins. A lifetime is not one.
fn character(code: &str) -> Option<usize> {
    let inner = code.strip_prefix('\'')?;
    match inner.strip_prefix('\\') {
        Some(escape) => Some(2 + 1 + escape[1..].find('\'')? + 1),
        None => {
            let length = inner.chars().next()?.len_utf8();
            inner[length..].starts_with('\'').then_some(length + 2)
        }
    }
}

/// Returns the length of the opening quote of the raw string with which `code` begins, and its
/// closing quote.
fn raw(code: &str) -> Option<(usize, String)> {
    let prefix = if code.starts_with("br") { 2 } else { 1 };
    let inner = code.strip_prefix("br").or_else(|| code.strip_prefix('r'))?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    inner[hashes..].starts_with('"').then(|| (prefix + hashes + 1, format!("\"{}", "#".repeat(hashes))))
}

/// Returns `text` without the breaks that a `\` at the end of a line makes.
fn joined(text: &str) -> String {
    let mut parts = text.split("\\\n");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |text, part| text + part.trim_start())
}

fn each_file(path: &Path, then: &mut dyn FnMut(&Path, &str)) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            each_file(&entry.unwrap().path(), then);
        }
    } else {
        then(path, &fs::read_to_string(path).unwrap());
    }
}

#[test]
fn wrong_words_are_found() {
    let checker = Checker::new();
    for word in WORDS {
        assert!(!word.instead.is_empty(), "{}", word.wrong);
    }
    for (text, wanted) in [
        ("Mend the ring", &["Mend", "ring"][..]),
        ("an entry stands in the file, and is no root", &["stands in", "is no"]),
        ("there is no root, and it is no longer read", &[]),
        ("`torn-line`, torn.jsonl and peer_name are names; a torn line is not", &["torn"]),
        ("it takes back what was put back", &["takes back", "put back"]),
        ("strings, bringing, recording and recorded are other words", &[]),
    ] {
        let found: Vec<String> = checker.check(text).into_iter().map(|(found, _)| found).collect();
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        let mut sorted: Vec<&str> = found.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        assert_eq!(sorted, wanted, "{text}");
    }
}

#[test]
fn literals_are_found_without_comments_and_tests() {
    let code = r###"
// "a comment"
fn f<'a>(x: &'a str) -> char { say("one \" two \
    three"); '"' }
#[cfg(test)]
use a::{b, c};
const RAW: &str = r#"four "five""#;
#[cfg(test)]
mod tests { fn g() { say("hidden"); } }
fn h() { say("six", '\'', '\u{1f}'); }
"###;
    assert_eq!(
        literals(code),
        [(3, "one \\\" two three".to_owned()), (7, "four \"five\"".to_owned()), (10, "six".to_owned())]
    );
}
