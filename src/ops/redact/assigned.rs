//! Values that are assigned to a name that speaks of a secret: `password=…`, `api_key: "…"`, `"token": "…"`.
//!
//! This takes the place of the rule `generic-api-key` of gitleaks, whose expression would cost more than all others.

use aho_corasick::AhoCorasick;
use std::ops::Range;
use std::sync::LazyLock;

/// How sure a name makes it that its value is a secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
enum Name {
    /// `key`, `auth`: often something else.
    Weak,
    /// `token`, `api_key`.
    Strong,
    /// `password`: may be a word that a person chose.
    Password,
}

/// Names that speak of a password.
const PASSWORDS: [&str; 6] = ["password", "passwd", "passphrase", "pwd", "passwort", "secret"];

/// Names that speak of a key.
const KEYS: [&str; 14] = [
    "token",
    "apikey",
    "api_key",
    "api-key",
    "access_key",
    "access-key",
    "accesskey",
    "auth_key",
    "private_key",
    "privatekey",
    "secret_key",
    "credential",
    "encryption_key",
    "signing_key",
];

/// Names that may speak of a key, or of something else.
const WEAK: [&str; 5] = ["key", "auth", "access", "api", "creds"];

/// All words that a name must have one of: nearly all names have none, and are looked through once.
static SPEAKING: LazyLock<AhoCorasick> =
    LazyLock::new(|| finder(PASSWORDS.into_iter().chain(KEYS).chain(WEAK)));

/// Finds any of a few short words in one pass.
fn finder(words: impl IntoIterator<Item = &'static str>) -> AhoCorasick {
    AhoCorasick::new(words).expect("a few short words can be searched for")
}

/// The words that a name must have one of.
#[cfg(test)]
pub(super) fn speaking() -> impl Iterator<Item = &'static str> {
    PASSWORDS.into_iter().chain(KEYS).chain(WEAK)
}

/// Words of names that speak of something else, though they contain such a word.
static OTHERS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    finder([
        "tokens",
        "token_count",
        "tokencount",
        "token_type",
        "tokentype",
        "token_budget",
        "max_token",
        "maxtoken",
        "tokenizer",
        "csrf",
        "public_key",
        "publickey",
        "pubkey",
        "primary_key",
        "foreign_key",
        "sort_key",
        "partition_key",
        "keyboard",
        "key_id",
        "keyid",
        "keyword",
        "keycode",
        "cache_key",
        "cachekey",
        "author",
        "authentication-results",
        "accessib",
        "access_mode",
        "api_version",
        "apiversion",
        "monkey",
        "turkey",
        "hotkey",
        "token_url",
        "token_uri",
        "token_endpoint",
        "secret_name",
        "secretname",
        "password_hash_alg",
        "key_size",
        "key_length",
        "key_path",
        "key_file",
        "keyframe",
        "token_limit",
    ])
});

/// Parts of a value that stands for a secret.
static PLACEHOLDERS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    finder([
        "example",
        "placeholder",
        "changeme",
        "change_me",
        "change-me",
        "your_",
        "your-",
        "yourp",
        "yourt",
        "yours",
        "redacted",
        "xxxx",
        "****",
        "....",
        "…",
        "process.env",
        "os.environ",
        "getenv",
        "env.",
        "secrets.",
        "${",
        "$(",
        "{{",
        "<%",
        "dummy",
        "not_set",
        "undefined",
        "insert_",
        "replace_",
        "todo",
    ])
});

/// What follows the signs after which a value is expected.
struct Assignment {
    /// The name around the keyword.
    name: Range<usize>,
    operator: &'static str,
    /// How many spaces follow the sign.
    spaces: usize,
    /// Where they end.
    end: usize,
}

/// How many signs may be between a name and what assigns to it.
const BETWEEN: usize = 4;

/// Finds what assigns a value to the name around a keyword. `hit` is where that is, and `between` how many signs may follow the name.
fn assignment(text: &[u8], hit: Range<usize>, between: usize) -> Option<Assignment> {
    let from = text[..hit.start].iter().rev().take(LONGEST).take_while(|byte| is_of_name(byte)).count();
    let to = text[hit.end..].iter().take(24).take_while(|byte| is_of_name(byte)).count();
    let mut at = hit.end + to;
    at += count(&text[at..], b"\\\"'`] ", between);
    let operator = ["=>", ":=", "?=", "||=", "==", "=", ":", ">"]
        .into_iter()
        .find(|sign| text[at..].starts_with(sign.as_bytes()))?;
    at += operator.len();
    // A comparison is not an assignment, and `::` is a path.
    if operator == "=="
        || text[at..].starts_with(b":")
        || operator == ">" && text.get(hit.end + to) != Some(&b'>')
    {
        return None;
    }
    let spaces = count(&text[at..], b" \t", 4);
    Some(Assignment { name: hit.start - from..hit.end + to, operator, spaces, end: at + spaces })
}

/// The most bytes of a name before its keyword.
const LONGEST: usize = 50;

fn is_of_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(byte)
}

/// How many of the first bytes, `most` at most, are of a set.
fn count(text: &[u8], set: &[u8], most: usize) -> usize {
    text.iter().take(most).take_while(|byte| set.contains(byte)).count()
}

/// Whether a value without quotes can't be one: a call, or the text of an element.
fn is_code(value: &[u8], next: Option<&u8>, operator: &str) -> bool {
    value.contains(&b'(') || next == Some(&b'<') && operator != ">"
}

/// `PASSWORD=word` of a shell or an environment file, in which a password may be any word.
fn is_of_environment(name: &[u8], assignment: &Assignment) -> bool {
    assignment.spaces == 0
        && assignment.operator == "="
        && name.iter().any(u8::is_ascii_uppercase)
        && !name.iter().any(u8::is_ascii_lowercase)
}

/// How many of the first bytes are a value without quotes.
fn len_of_bare_value(text: &[u8]) -> usize {
    text.iter().take(300).take_while(|byte| !b" \t\r\n\"'`,;)}]<|&\\".contains(byte)).count()
}

/// The value that is assigned to the name around a keyword, if it is a secret. `hit` is where the keyword is.
pub(super) fn value_after(text: &[u8], hit: Range<usize>) -> Option<Range<usize>> {
    let found = assignment(text, hit, BETWEEN)?;
    let at = found.end + count(&text[found.end..], b"\\", 3);
    let quote = text.get(at).copied().filter(|byte| b"\"'`".contains(byte));
    let start = at + usize::from(quote.is_some());
    let len = match quote {
        Some(quote) => text[start..]
            .iter()
            .take(300)
            .take_while(|byte| **byte != quote && **byte != b'\n' && **byte != b'\\')
            .count(),
        None => len_of_bare_value(&text[start..]),
    };
    let range = start..start + len;
    let value = &text[range.clone()];
    if quote.is_none() && is_code(value, text.get(range.end), found.operator) {
        return None;
    }
    let name = &text[found.name.clone()];
    is_secret(name, value, quote.is_some() || is_of_environment(name, &found)).then_some(range)
}

/// Whether [`value_after`] may find a value in a string once its escapes are resolved. None of them stands for a sign of ASCII
/// that has no shorter escape.
pub(super) fn may_be_assigned(raw: &[u8], hit: Range<usize>) -> bool {
    // A quote between the name and the sign is two bytes.
    let Some(found) = assignment(raw, hit.clone(), 2 * BETWEEN) else { return false };
    let between = &raw[found.name.end..found.end];
    let start = found.end;
    let len = len_of_bare_value(&raw[start..]);
    let rest = &raw[start + len..];
    let is_plain = match rest {
        // All of them end a value.
        [b'\\', b'n' | b'r' | b't' | b'"' | b'\\', ..] => len > 0,
        [b'\\', ..] => false,
        [b'"' | b'\'' | b'`', ..] => len > 0,
        _ => true,
    };
    // The first letters of the name may be those of an escape.
    let is_escape =
        found.name.start > 0 && raw[found.name.start - 1] == b'\\' && found.name.start < hit.start;
    let value = &raw[start..start + len];
    if !is_plain
        || between.contains(&b'\\')
        || found.name.len() >= LONGEST
        || is_escape && raw[found.name.start] == b'u'
        || std::str::from_utf8(value).is_err()
    {
        return true;
    }
    if is_code(value, rest.first(), found.operator) {
        return false;
    }
    (0..=usize::from(is_escape)).any(|skip| {
        let name = &raw[found.name.start + skip..found.name.end];
        is_secret(name, value, is_of_environment(name, &found))
    })
}

/// Whether the whole value of a JSON field is a secret, by the name of the field.
pub(super) fn is_secret_field(name: &str, value: &str) -> bool {
    is_secret(name.as_bytes(), value.as_bytes(), true)
}

fn is_secret(name: &[u8], value: &[u8], is_whole: bool) -> bool {
    if value.len() < 6 {
        return false;
    }
    // Nearly all values end here, by what takes the least time.
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    let (digit, letter) = (has(u8::is_ascii_digit), has(u8::is_ascii_alphabetic));
    if !letter || b"/~$%<{[(@*#".contains(&value[0]) || value.starts_with(b"./") || value.starts_with(b"../")
    {
        return false;
    }
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let Some(strength) = strength(&name).filter(|strength| digit || *strength == Name::Password) else {
        return false;
    };
    let Ok(value) = std::str::from_utf8(value) else { return false };
    let lower = value.to_ascii_lowercase();
    if value.contains(char::is_whitespace)
        || value.contains("://")
        || PLACEHOLDERS.is_match(&lower)
        || lower == name
        || looks_like_a_name(value)
    {
        return false;
    }
    let entropy = entropy(value.as_bytes());
    let is_hash = is_hex(value) && matches!(value.len(), 32 | 40 | 64 | 128) || is_uuid(value);
    match strength {
        Name::Weak => {
            value.len() >= 20
                && entropy >= 3.7
                && !is_hash
                && !is_worded(value)
                && !value.contains(['/', '.', ':', '(', '@'])
        }
        Name::Strong => {
            value.len() >= 10
                && entropy >= 3.0
                && !value.contains(['(', ' '])
                && !is_uuid(value)
                && !is_version(value)
        }
        Name::Password if is_whole => {
            let is_mixed = digit || has(u8::is_ascii_punctuation) || has(u8::is_ascii_uppercase);
            (is_mixed || value.len() >= 8) && entropy >= 2.2 && !is_uuid(value)
        }
        Name::Password => digit && value.len() >= 8 && entropy >= 2.7 && !value.contains(['(', '.']),
    }
}

fn strength(name: &str) -> Option<Name> {
    if !SPEAKING.is_match(name) {
        return None;
    }
    if OTHERS.is_match(name) {
        return None;
    }
    if PASSWORDS.iter().any(|word| name.contains(word)) {
        return Some(Name::Password);
    }
    if KEYS.iter().any(|word| name.contains(word)) {
        return Some(Name::Strong);
    }
    Some(Name::Weak)
}

/// Whether a value is a name in code: `get_secret_token`, `config.password`, `userPassword`, `--token`, `PASSWORD_FILE`.
pub(super) fn looks_like_a_name(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_word = value.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-.:".contains(&byte));
    let speaks = [
        "password", "passwd", "secret", "token", "string", "config", "option", "param", "value", "true",
        "false", "null", "none", "required",
    ];
    is_word && (value.contains(['_', '.', '-', ':']) || speaks.iter().any(|word| lower.contains(word)))
        || value.starts_with('-')
        || value.ends_with(['(', ':', '?'])
}

/// Whether a value is words with signs between them: `primary_key_of_the_table_2`.
fn is_worded(value: &str) -> bool {
    let words = value
        .split(['_', '-', '.'])
        .filter(|word| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic()));
    words.count() >= 3
}

fn is_hex(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether a value is a hash of git, a UUID, or the like, which says nothing by itself.
pub(super) fn is_bare_hash(value: &str) -> bool {
    is_uuid(value) || is_hex(value) && matches!(value.len(), 40 | 64)
}

fn is_version(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit() || b".-T:Z+_".contains(&byte))
}

/// The entropy of a value, in bits a byte.
pub(super) fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    value.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let len = value.len() as f64;
    -counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / len)
        .map(|share| share * libm::log2(share))
        .sum::<f64>()
}
