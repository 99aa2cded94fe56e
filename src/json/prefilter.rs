//! A byte-level prefilter: finds lines that may contain a text, without decoding them.

use memchr::memmem;
use std::fmt::Write;

/// Finds the lines that may contain one of several texts in a string, without decoding anything.
///
/// A text is searched as it is spelled without escapes. In addition, any `\u` escape of one of its
/// characters makes its line a candidate. So no line is missed, however its writer spells strings,
/// and few lines are read in vain.
pub struct Prefilter {
    spelled: Finder,
    escape: memmem::Finder<'static>,
    /// The UTF-16 code units of all characters of the texts, sorted.
    units: Vec<u16>,
    overlap: usize,
}

enum Finder {
    One(Box<memmem::Finder<'static>>),
    Any(regex::bytes::Regex),
}

/// A text to find: for each position, the characters that may be there.
pub type Run = Vec<Vec<char>>;

/// The maximum number of characters of a text that are searched for.
const LONGEST: usize = 64;

/// Returns whether a character is spelled either as itself or by a `\u` escape, and in no third
/// way.
///
/// The others have escapes of two characters, or may replace bytes that are not UTF-8.
pub fn is_plain(character: char) -> bool {
    character >= ' ' && !matches!(character, '"' | '\\' | '/' | '\u{FFFD}')
}

impl Prefilter {
    /// Creates a prefilter for one text: it drops lines without the longest run of plain characters of
    /// that text. Returns `None` if the text has no plain character.
    pub fn for_text(text: &str) -> Option<Prefilter> {
        let longest = text.split(|character| !is_plain(character)).max_by_key(|run| run.len())?;
        Prefilter::new(&[longest.chars().map(|character| vec![character]).collect()])
    }

    /// Creates a prefilter for texts of plain characters ([`is_plain`]); it keeps lines with any of
    /// them. Returns `None` if one of the texts is empty, because then every line is a candidate.
    pub fn new(texts: &[Run]) -> Option<Prefilter> {
        let texts: Vec<&[Vec<char>]> = texts.iter().map(|text| &text[..text.len().min(LONGEST)]).collect();
        let usable = |text: &&[Vec<char>]| {
            !text.is_empty()
                && text.iter().all(|place| !place.is_empty() && place.iter().all(|c| is_plain(*c)))
        };
        if texts.is_empty() || !texts.iter().all(usable) {
            return None;
        }
        let characters = || texts.iter().flat_map(|text| text.iter().flatten());
        let mut units: Vec<u16> =
            characters().flat_map(|character| character.encode_utf16(&mut [0; 2]).to_vec()).collect();
        units.sort_unstable();
        units.dedup();
        let longest = texts.iter().map(|text| longest_spelling(text)).max().unwrap_or(0);
        let narrow = units.last().is_some_and(|unit| *unit < 0x100);
        Some(Prefilter {
            spelled: Finder::new(&texts)?,
            escape: memmem::Finder::new(if narrow { &b"\\u00"[..] } else { b"\\u" }),
            units,
            overlap: longest.max(6) - 1,
        })
    }

    /// Returns how many bytes of a block must be searched again together with the next one, so that
    /// no text across the boundary is missed.
    pub fn overlap(&self) -> usize {
        self.overlap
    }

    /// Returns the first offset, starting at `from`, at which a text may be.
    pub fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let spelled = self.find_spelled(bytes, from);
        let end = spelled.map_or(bytes.len(), |at| at + self.overlap);
        self.find_escape(&bytes[..end.min(bytes.len())], from).into_iter().chain(spelled).min()
    }

    /// Calls `each` with one byte offset in each line of a block that may contain a text, in order.
    ///
    /// `each` returns the offset at which the search continues, or `None` to end it.
    pub fn each(&self, bytes: &[u8], mut each: impl FnMut(usize) -> Option<usize>) {
        let mut from = 0;
        let mut spelled = self.find_spelled(bytes, 0);
        let mut escape = self.find_escape(bytes, 0);
        while let Some(at) = [spelled, escape].into_iter().flatten().min() {
            let Some(next) = each(at) else { return };
            from = next.max(from).max(at + 1);
            if from >= bytes.len() {
                return;
            }
            if spelled.is_some_and(|at| at < from) {
                spelled = self.find_spelled(bytes, from);
            }
            if escape.is_some_and(|at| at < from) {
                escape = self.find_escape(bytes, from);
            }
        }
    }

    fn find_spelled(&self, bytes: &[u8], from: usize) -> Option<usize> {
        match &self.spelled {
            Finder::One(finder) => finder.find(&bytes[from..]).map(|at| from + at),
            Finder::Any(regex) => regex.find_at(bytes, from).map(|found| found.start()),
        }
    }

    fn find_escape(&self, bytes: &[u8], mut from: usize) -> Option<usize> {
        loop {
            let at = from + self.escape.find(&bytes[from..])?;
            let unit = super::string::unit(&bytes[at..]);
            if unit.is_some_and(|unit| self.units.binary_search(&unit).is_ok()) {
                return Some(at);
            }
            from = at + 2;
        }
    }
}

impl Finder {
    fn new(texts: &[&[Vec<char>]]) -> Option<Finder> {
        if let [text] = texts
            && text.iter().all(|place| place.len() == 1)
        {
            let text: String = text.iter().map(|place| place[0]).collect();
            return Some(Finder::One(Box::new(memmem::Finder::new(text.as_bytes()).into_owned())));
        }
        let mut pattern = String::from("(?s-u)");
        for (number, text) in texts.iter().enumerate() {
            if number > 0 {
                pattern.push('|');
            }
            for place in *text {
                pattern.push_str("(?:");
                for (number, character) in place.iter().enumerate() {
                    if number > 0 {
                        pattern.push('|');
                    }
                    for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                        let _ = write!(pattern, "\\x{byte:02x}");
                    }
                }
                pattern.push(')');
            }
        }
        regex::bytes::RegexBuilder::new(&pattern).unicode(false).build().ok().map(Finder::Any)
    }
}

fn longest_spelling(text: &[Vec<char>]) -> usize {
    text.iter().map(|place| place.iter().map(|character| character.len_utf8()).max().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn a_text_is_found_however_it_is_spelled() {
        let check = |texts: &str, line: &str, wanted: bool| {
            let run = |text: &str| text.chars().map(|c| vec![c]).collect::<Run>();
            let texts: Vec<Run> = texts.split('|').map(run).collect();
            let prefilter = Prefilter::new(&texts).unwrap();
            assert_eq!(prefilter.find(line.as_bytes(), 0).is_some(), wanted, "{line}");
            let mut found = false;
            prefilter.each(line.as_bytes(), |_| { found = true; None });
            assert_eq!(found, wanted, "{line}");
        };
        check("needle",    r#"{"a":"a needle"}"#,           true);
        check("needle",    r#"{"a":"a need le"}"#,          false);
        check("needle",    r#"{"a":"ne\u0065dle"}"#,        true);
        check("needle",    r#"{"a":"ne\u0045dle"}"#,        false);   // E is not e
        check("needle",    r#"{"a":"x\u001b[0m"}"#,         false);
        check("größe",     r#"{"a":"Gr\u00f6\u00dfe"}"#,    true);
        check("größe",     r#"{"a":"gr\u00F6ße"}"#,         true);
        check("中文",       r#"{"a":"\u4E2d\u6587"}"#,       true);
        check("中文",       r#"{"a":"中文"}"#,               true);
        check("😀",         r#"{"a":"\ud83d\ude00"}"#,       true);
        check("one|two",   r#"{"a":"xtwo"}"#,               true);
        check("one|two",   r#"{"a":"xtw0"}"#,               false);
        check("one|two",   r#"{"a":"\u0074wo"}"#,           true);
    }

    #[test]
    fn of_a_text_the_longest_plain_stretch_is_looked_for() {
        let prefilter = Prefilter::for_text("a/café \"b\"").unwrap();
        assert!(prefilter.find(br#"{"name":"a\/caf\u00e9 \"b\""}"#, 0).is_some());
        assert!(prefilter.find(br#"{"name":"a/cafe \"b\""}"#, 0).is_none());
        assert!(Prefilter::for_text("/\"").is_none());
        assert!(Prefilter::for_text("").is_none());
    }

    #[test]
    fn texts_that_have_a_third_spelling_are_not_taken() {
        assert!(Prefilter::new(&[vec![vec!['/']]]).is_none());
        assert!(Prefilter::new(&[vec![]]).is_none());
        assert!(Prefilter::new(&[]).is_none());
    }

    #[test]
    fn any_of_several_characters_may_stand_at_a_place() {
        let prefilter = Prefilter::new(&[vec![vec!['k', 'K', '\u{212A}'], vec!['o', 'O']]]).unwrap();
        for text in ["xKO", "\u{212A}o", r"\u212ao", r"\u006bo"] {
            assert!(prefilter.find(text.as_bytes(), 0).is_some(), "{text}");
        }
        assert!(prefilter.find(b"kp", 0).is_none());
    }
}
