//! Which strings may have a secret: found in the bytes as they are stored, before anything is decoded.
//!
//! Each rule needs one of its keywords. Nearly all strings have none, or only such words as `token` to which nothing is assigned.
//! These are left out here; all others are decoded and searched by the rules. What is left out would not be found: a string
//! with an escape that may hide a part of a keyword is always searched.

use super::assigned;

/// For each byte, and for what follows the last one: the bits of the words that have it as their first, second, third and fourth.
type Places = [[u64; 4]; 257];

/// A word that is looked for.
struct Word {
    /// In lower case.
    text: Box<[u8]>,
    kind: Kind,
    /// Where the part of it begins by which it is found: the rarest four bytes.
    from: usize,
    /// Up to eight bytes of that part, without their case, and the bits that count.
    part: (u64, u64),
}

/// The bit of the case of a letter, in each byte of eight.
const CASE: u64 = 0x2020_2020_2020_2020;

impl Word {
    fn new(text: &str, kind: Kind) -> Word {
        let text = text.to_ascii_lowercase().into_bytes();
        let from = (0..text.len().saturating_sub(3))
            .min_by_key(|at| text[*at..at + 4].iter().map(|byte| commonness(*byte)).sum::<usize>())
            .unwrap_or(0);
        let (mut part, mut mask) = ([0; 8], [0; 8]);
        for (at, byte) in text[from..].iter().take(8).enumerate() {
            (part[at], mask[at]) = (*byte, 0xFF);
        }
        let mask = u64::from_le_bytes(mask);
        Word { part: ((u64::from_le_bytes(part) | CASE) & mask, mask), text: text.into(), kind, from }
    }

    /// The part by which it is found.
    fn start(&self) -> &[u8] {
        &self.text[self.from..self.text.len().min(self.from + 4)]
    }
}

/// How common a byte is in a text, against others.
fn commonness(byte: u8) -> usize {
    b"zqjxkvbywgpfmu:=/.-_ cdlhrsnioate".iter().position(|known| *known == byte).unwrap_or(0)
}

/// What a word says about its string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The start of an escape, which may hide other words.
    Escape,
    /// A rule may find something.
    Rule,
    /// The same, if the word is part of something long.
    Short,
    /// The same, if so many letters and digits follow.
    Before(usize),
    /// The same, if a name with a host follows.
    Url,
    /// Only if a value is assigned to it.
    Name,
}

/// Finds the words of rules.
pub(super) struct Suspects {
    places: Box<Places>,
    /// The words of each bit.
    words: Vec<Vec<Word>>,
}

impl Suspects {
    /// Creates a finder for the keywords of rules, each with what belongs to it. Returns `None` if a keyword is too short: then
    /// every string may have a secret.
    pub(super) fn new<'r>(keywords: impl Iterator<Item = (&'r str, Vec<Owner<'r>>)>) -> Option<Suspects> {
        let mut all: Vec<Word> = Vec::new();
        for (keyword, owners) in keywords {
            // A part that is stored in one way only, but for escapes.
            let text = keyword
                .split(|sign: char| matches!(sign, '"' | '\\') || !matches!(sign, ' '..='~'))
                .max_by_key(|part| part.len())
                .filter(|part| part.len() >= 2)?;
            let kind = if text.len() < keyword.len() { Kind::Rule } else { kind_of(keyword, &owners) };
            all.push(Word::new(text, kind));
        }
        let is_long = |word: &Word| word.text.len() > 3;
        all.sort_by(|one, other| (is_long(one), one.start()).cmp(&(is_long(other), other.start())));
        // The escapes and short words have a bit of their own; words with nearly the same part share one.
        let long = all.iter().filter(|word| is_long(word)).count();
        let room = BITS.checked_sub(2 + all.len() - long).filter(|room| *room > 0)?;
        let share = long.div_ceil(room);
        let mut words: Vec<Vec<Word>> =
            [r"\/", r"\u00"].map(|text| vec![Word::new(text, Kind::Escape)]).into();
        for word in all {
            match words.last_mut() {
                Some(last) if fits(&word, last, share) => last.push(word),
                _ => words.push(vec![word]),
            }
        }
        if words.len() > BITS {
            return None;
        }
        let mut places: Box<Places> = Box::new([[0; 4]; 257]);
        for (bit, words) in words.iter().enumerate() {
            for (word, at) in words.iter().flat_map(|word| (0..4).map(move |at| (word, at))) {
                match word.start().get(at) {
                    Some(byte) => {
                        places[usize::from(*byte)][at] |= 1 << bit;
                        places[usize::from(byte.to_ascii_uppercase())][at] |= 1 << bit;
                    }
                    None => places.iter_mut().for_each(|bits| bits[at] |= 1 << bit),
                }
            }
        }
        Some(Suspects { places, words })
    }

    /// Returns whether a string may have a secret. It is given as it is stored, without its quotes.
    pub(super) fn may_be_in(&self, raw: &[u8]) -> bool {
        let mut is_json = None;
        self.any(raw, |word, at| {
            let end = at + word.text.len();
            match word.kind {
                // Escapes of control characters, and of all that are not ASCII, hide no word.
                Kind::Escape => word.text.len() == 2 || !matches!(raw.get(end), Some(b'1' | b'8'..)),
                Kind::Rule => true,
                Kind::Before(count) => {
                    raw.get(end..end + count).is_some_and(|next| next.iter().all(u8::is_ascii_alphanumeric))
                }
                Kind::Url => has_user(&raw[end..]),
                Kind::Short => super::rules::is_in_long_run(raw, at..end),
                // A string of JSON has names of fields that are not followed by a sign.
                Kind::Name => {
                    *is_json.get_or_insert_with(|| begins_as_json(raw))
                        || assigned::may_be_assigned(raw, at..end)
                }
            }
        })
    }

    /// Returns whether a text, decoded or the name of a field, has any of the words.
    pub(super) fn has_word(&self, text: &[u8]) -> bool {
        self.any(text, |word, _| word.kind != Kind::Escape)
    }

    /// Returns whether `is` for any word, and where it begins.
    #[inline]
    fn any(&self, bytes: &[u8], mut is: impl FnMut(&Word, usize) -> bool) -> bool {
        // The words of which the last bytes may be the first one, two and three.
        let (mut one, mut two, mut three) = (0, 0, 0);
        let mut next = |of: &[u64; 4]| {
            let four = three & of[3];
            (one, two, three) = (of[0], one & of[1], two & of[2]);
            four
        };
        for (last, byte) in bytes.iter().enumerate() {
            let bits = next(&self.places[usize::from(*byte)]);
            if bits != 0 && self.any_at(bits, bytes, last - 3, &mut is) {
                return true;
            }
        }
        // Short words may be at the end.
        (0..3).any(|more| {
            let bits = next(&self.places[256]);
            bits != 0 && self.any_at(bits, bytes, bytes.len() + more - 3, &mut is)
        })
    }

    fn any_at(
        &self,
        mut bits: u64,
        bytes: &[u8],
        at: usize,
        is: &mut impl FnMut(&Word, usize) -> bool,
    ) -> bool {
        let mut part = [0; 8];
        let len = bytes.len().min(at + 8) - at;
        part[..len].copy_from_slice(&bytes[at..at + len]);
        let part = u64::from_le_bytes(part) | CASE;
        while bits != 0 {
            let words = &self.words[bits.trailing_zeros() as usize];
            bits &= bits - 1;
            for word in words.iter().filter(|word| part & word.part.1 == word.part.0) {
                let Some(from) = at.checked_sub(word.from) else { continue };
                let there = bytes.get(from..from + word.text.len());
                if there.is_some_and(|there| there.eq_ignore_ascii_case(&word.text)) && is(word, from) {
                    return true;
                }
            }
        }
        false
    }
}

/// Returns whether a word may be added to those of a bit.
fn fits(word: &Word, last: &[Word], share: usize) -> bool {
    last.len() < share && [word].into_iter().chain(last).all(|word| word.text.len() > 3)
}

/// What a keyword belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner<'r> {
    /// A rule that is built in, by its name.
    BuiltIn(&'r str),
    /// A rule of the config.
    Other,
    /// Names to which a value is assigned.
    Names,
}

/// How many bits there are.
const BITS: usize = 64;

/// What a keyword says about its string. Keywords that are in most texts are looked at more closely: by what the rule needs behind
/// them.
fn kind_of(keyword: &str, owners: &[Owner<'_>]) -> Kind {
    match (keyword, owners) {
        (_, owners) if owners.iter().all(|owner| *owner == Owner::Names) => Kind::Name,
        ("s.", [Owner::BuiltIn("vault-service-token")]) => Kind::Before(24),
        ("sk", [Owner::BuiltIn("twilio-api-key")]) => Kind::Before(32),
        ("://", [Owner::BuiltIn("url-password")]) => Kind::Url,
        (_, owners)
            if keyword.len() <= 3
                && keyword.as_bytes()[0].is_ascii_alphanumeric()
                && !owners.contains(&Owner::Names) =>
        {
            Kind::Short
        }
        _ => Kind::Rule,
    }
}

/// Returns whether what follows `://` has a sign `@` in the same word, before a slash.
fn has_user(rest: &[u8]) -> bool {
    let end = rest.iter().position(|byte| b" /@\"'`<>".contains(byte)).filter(|end| rest[*end] == b'@');
    end.is_some_and(|end| {
        // A white space and a quote are escapes here.
        !rest[..end].windows(2).any(|two| matches!(two, [b'\\', b'n' | b't' | b'r' | b'"']))
    })
}

/// Returns whether a string, as it is stored, begins as an object or a list.
fn begins_as_json(raw: &[u8]) -> bool {
    let mut rest = raw;
    loop {
        rest = match rest {
            [b' ', rest @ ..] | [b'\\', b'n' | b'r' | b't', rest @ ..] => rest,
            _ => return matches!(rest.first(), Some(b'{' | b'[')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Found, Group, Redactor, Rules};
    use super::*;
    use proptest::prelude::*;
    use std::sync::{Arc, LazyLock};

    fn rules(groups: &[Group]) -> Rules {
        Rules::new(groups, &[], &[]).unwrap()
    }

    static QUICK: LazyLock<Arc<Rules>> =
        LazyLock::new(|| Arc::new(rules(&[Group::Credentials, Group::Paths])));
    static SLOW: LazyLock<Arc<Rules>> =
        LazyLock::new(|| Arc::new(rules(&[Group::Credentials, Group::Paths]).without_suspects()));

    fn found(rules: &Arc<Rules>, line: &str) -> Vec<Found> {
        let mut all = Vec::new();
        Redactor::new(Arc::clone(rules)).learn(line.as_bytes(), &mut |found| all.push(found));
        all
    }

    #[test]
    fn keywords_that_are_looked_at_closely_are_those_of_the_rules_as_they_are() {
        assert!(QUICK.has_suspects() && !SLOW.has_suspects());
        assert_eq!(
            QUICK.source_of("vault-service-token"),
            [r#"\b((?:hvs\.[\w-]{90,120}|s\.(?i:[a-z0-9]{24})))(?:[\x60'"\s;]|\\[nr]|$)"#]
        );
        assert_eq!(QUICK.source_of("twilio-api-key"), ["SK[0-9a-fA-F]{32}"]);
        let [url] = QUICK.source_of("url-password")[..] else { panic!("more than one") };
        assert!(url.contains(r#"://[^\s:/@"'`<>?#\\]{0,80}:([^\s/@"'`<>\\]{3,200})@"#), "{url}");
    }

    /// Each word that makes a name speak of a secret has a keyword in it.
    #[test]
    fn a_name_that_speaks_of_a_secret_has_a_word() {
        for word in assigned::speaking() {
            assert!(QUICK.may_find(b"", word), "{word}");
        }
    }

    /// What texts are made of: keywords, signs, escapes and values, and nothing that is a secret by itself.
    fn part() -> impl Strategy<Value = String> {
        let words = [
            "token",
            "password",
            "api_key",
            "PASSWORD",
            "pwd",
            "auth",
            "Secret",
            "key",
            "sk",
            "SK",
            "s.",
            "://",
            "https",
            "user",
            "@host.org",
            "=",
            ":",
            "=>",
            ":=",
            ">",
            "<",
            "<password>",
            " ",
            "  ",
            "\t",
            "\n",
            "\r",
            "\"",
            "'",
            "`",
            "\\",
            "/",
            "(",
            ")",
            "]",
            "{",
            "}",
            "[",
            "{\"",
            "\":",
            "\": \"",
            "\"}",
            ",",
            "-",
            "--",
            "_",
            ".",
            "n",
            "t",
            "r",
            "u",
            "b",
            "x",
            "é",
            "→",
            "\u{1b}",
            "\u{7f}",
            "\u{c}",
            "\u{8}",
            "ey",
            "hf_",
            "sg.",
            "a3t",
            "-p",
            "mysql ",
            "curl -u ",
            "Bearer ",
            "authorization: ",
            "cookie: a=",
            "/home/",
            "C:\\Users\\",
            "--root-",
            "true",
            "await ",
        ];
        let value = proptest::string::string_regex("[A-Za-z0-9]{1,40}").unwrap();
        prop_oneof![
            6 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned),
            1 => value,
            1 => proptest::string::string_regex("[a-f0-9]{24,40}").unwrap(),
        ]
    }

    /// A text as a JSON string, in which signs are escaped that need not be.
    fn spelled(text: &str, how: u8) -> String {
        let plain = serde_json::to_string(text).unwrap();
        match how {
            0 => plain.replace('/', "\\/"),
            1 => plain.replace('k', "\\u006b").replace('E', "\\u0045"),
            2 => plain.replace('é', "\\u00e9").replace('→', "\\u2192"),
            _ => plain,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 3000 } else { 300_000 }))]

        #[test]
        fn nothing_is_left_out_that_the_rules_would_find(
            parts in proptest::collection::vec(part(), 1..16),
            key in proptest::sample::select(vec!["text", "token", "x_password", "api", "data", "pass\\u0077ord"]),
            how in 0u8..8,
            depth in 0u8..3,
        ) {
            let mut text = parts.concat();
            for level in 0..depth {
                text = format!("{{\"{key}\": {}, \"n\": {level}}}", spelled(&text, how));
            }
            let line = format!("{{\"{key}\":{},\"b\":[{}]}}", spelled(&text, how), spelled(&text, how / 2));
            prop_assert_eq!(found(&QUICK, &line), found(&SLOW, &line), "{}", line);
        }
    }
}
