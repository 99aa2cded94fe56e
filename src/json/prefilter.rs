//! A byte-level prefilter: finds lines that may contain a text, without decoding them.

use super::scan::{Probe, REACH, Starts};
use std::fmt::Write;

/// Finds the lines that may contain one of several texts in a string, without decoding anything.
///
/// A text is searched as it is spelled without escapes. In addition, any `\u` escape of one of its
/// characters makes its line a candidate. So no line is missed, however its writer spells strings,
/// and few lines are read in vain.
pub struct Prefilter {
    spelled: Spelled,
    /// Finds escapes, and the text if there is only one.
    starts: Starts,
    /// The UTF-16 code units of all characters of the texts, sorted.
    units: Vec<u16>,
    overlap: usize,
}

/// How the texts without escapes are found.
enum Spelled {
    /// Together with the escapes.
    One(Text),
    /// In a pass of their own.
    Any(regex::bytes::Regex),
}

/// A text without escapes: for each piece, the spellings that may be there.
struct Text {
    /// From the position at which it is found.
    behind: Vec<Vec<Box<[u8]>>>,
    /// Before it, the last position first.
    before: Vec<Vec<Box<[u8]>>>,
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
        let (spelled, probes) = match texts[..] {
            [text] if let Some((at, probes)) = probes_of(text) => {
                (Spelled::One(Text::new(text, at)), Some(probes))
            }
            _ => (Spelled::Any(any_of(&texts)?), None),
        };
        let starts = starts_of(probes, &units);
        Some(Prefilter { spelled, starts, units, overlap: longest.max(6) - 1 })
    }

    /// Returns how many bytes of a block must be searched again together with the next one, so that
    /// no text across the boundary is missed.
    pub fn overlap(&self) -> usize {
        self.overlap
    }

    /// Returns the first offset, starting at `from`, at which a text may be.
    ///
    /// If a character of a text has spellings of several lengths, the offset may be one inside the text.
    pub fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        match &self.spelled {
            Spelled::One(text) => {
                let bytes = &bytes[from..];
                let is_there = |at: &usize| text.is_at(bytes, *at) || self.is_escape(bytes, *at);
                self.starts.find(bytes, |at| Some(at).filter(is_there)).map(|at| from + at)
            }
            Spelled::Any(regex) => {
                let spelled = regex.find_at(bytes, from).map(|found| found.start());
                let end = spelled.map_or(bytes.len(), |at| at + self.overlap);
                self.find_escape(&bytes[..end.min(bytes.len())], from).into_iter().chain(spelled).min()
            }
        }
    }

    /// Calls `each` with one byte offset in each line of a block that may contain a text, in order.
    ///
    /// `each` returns the offset at which the search continues, or `None` to end it.
    pub fn each(&self, bytes: &[u8], mut each: impl FnMut(usize) -> Option<usize>) {
        let find_spelled = |from| match &self.spelled {
            // That finds the escapes too.
            Spelled::One(_) => self.find(bytes, from),
            Spelled::Any(regex) => regex.find_at(bytes, from).map(|found| found.start()),
        };
        let find_escape = |from| match &self.spelled {
            Spelled::One(_) => None,
            Spelled::Any(_) => self.find_escape(bytes, from),
        };
        let mut from = 0;
        let mut spelled = find_spelled(0);
        let mut escape = find_escape(0);
        while let Some(at) = [spelled, escape].into_iter().flatten().min() {
            let Some(next) = each(at) else { return };
            from = next.max(from).max(at + 1);
            if from >= bytes.len() {
                return;
            }
            if spelled.is_some_and(|at| at < from) {
                spelled = find_spelled(from);
            }
            if escape.is_some_and(|at| at < from) {
                escape = find_escape(from);
            }
        }
    }

    fn find_escape(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let bytes = &bytes[from..];
        let is_there = |at: &usize| self.is_escape(bytes, *at);
        self.starts.find(bytes, |at| Some(at).filter(is_there)).map(|at| from + at)
    }

    /// Returns whether an escape of one of the characters is at an offset.
    fn is_escape(&self, bytes: &[u8], at: usize) -> bool {
        super::string::unit(&bytes[at..]).is_some_and(|unit| self.units.binary_search(&unit).is_ok())
    }
}

impl Text {
    /// Takes the position at which it is found.
    fn new(text: &[Vec<char>], at: usize) -> Text {
        let (before, behind) = text.split_at(at);
        let mut before = Text::pieces(before);
        before.reverse();
        Text { behind: Text::pieces(behind), before }
    }

    /// Returns the spellings of each position; those that have one each are joined.
    fn pieces(text: &[Vec<char>]) -> Vec<Vec<Box<[u8]>>> {
        let is_one = |place: &Vec<char>| place.len() == 1;
        let pieces = text.chunk_by(|place, next| is_one(place) && is_one(next));
        pieces
            .map(|piece| match piece {
                [place] => {
                    place.iter().map(|character| Box::from(character.to_string().as_bytes())).collect()
                }
                joined => vec![Box::from(joined.iter().flatten().collect::<String>().as_bytes())],
            })
            .collect()
    }

    /// Returns whether the text is there, given the offset of the position at which it is found.
    fn is_at(&self, bytes: &[u8], at: usize) -> bool {
        let (mut before, mut behind) = bytes.split_at(at);
        // No spelling of a character begins or ends with that of another one.
        self.behind.iter().all(|spellings| {
            let rest = spellings.iter().find_map(|spelling| behind.strip_prefix(&**spelling));
            behind = rest.unwrap_or_default();
            rest.is_some()
        }) && self.before.iter().all(|spellings| {
            let rest = spellings.iter().find_map(|spelling| before.strip_suffix(&**spelling));
            before = rest.unwrap_or_default();
            rest.is_some()
        })
    }
}

/// The bytes that are most common in sessions, the most common one first. Others are about equally rare.
const COMMON: &[u8] = b" etnaoriscldmupghf0:,.by1w/2-v=xk3_5;()49768jqST";

/// Returns about how rare a byte of a text is.
fn rarity(byte: u8) -> usize {
    match byte {
        // The first byte of a character says more about the script than about the text.
        0xC0.. => COMMON.len() / 2,
        _ => COMMON.iter().position(|common| *common == byte).unwrap_or(COMMON.len()),
    }
}

/// Returns the position of a text and two bytes at fixed distances behind it, by which the text is found.
/// `None` if no byte is known.
fn probes_of(text: &[Vec<char>]) -> Option<(usize, [Probe; 2])> {
    // The bytes at fixed distances from each other: the position, the offset of the position, the byte,
    // and how rare it is.
    let mut bytes: Vec<(usize, usize, Probe, usize)> = Vec::new();
    let (mut best, mut best_rarity) = (None, 0);
    let mut offset = 0;
    for (number, place) in text.iter().enumerate() {
        let len = place[0].len_utf8();
        if place.iter().any(|character| character.len_utf8() != len) {
            bytes.clear();
            continue;
        }
        for index in 0..len {
            let Some((byte, bit)) = only_byte(place, index) else { continue };
            let rarity = rarity(byte).min(rarity(byte ^ bit));
            bytes.push((number, offset, Probe { place: offset + index, byte, bit }, rarity));
            let (last, before) = bytes.split_last().expect("one was added");
            for other in before.iter().rev().chain([last]) {
                let (at, start, probe, other_rarity) = *other;
                if last.2.place - start >= REACH {
                    break;
                }
                // One byte alone finds more.
                let rarity = 1 + if last == other { rarity } else { rarity + other_rarity };
                if rarity > best_rarity {
                    let from_start = |probe: Probe| Probe { place: probe.place - start, ..probe };
                    (best, best_rarity) = (Some((at, [from_start(probe), from_start(last.2)])), rarity);
                }
            }
        }
        offset += len;
    }
    best
}

/// Returns the byte at an index of all characters, and the bit in which some of them differ there.
fn only_byte(characters: &[char], index: usize) -> Option<(u8, u8)> {
    let at = |character: &char| {
        let mut bytes = [0; 4];
        character.encode_utf8(&mut bytes);
        bytes[index]
    };
    let first = at(&characters[0]);
    let bits = characters.iter().fold(0, |bits, character| bits | first ^ at(character));
    (bits.count_ones() <= 1).then_some((first | bits, bits))
}

/// Returns what finds a text by two bytes, and the escapes of some code units.
fn starts_of(text: Option<[Probe; 2]>, units: &[u16]) -> Starts {
    let is_narrow = units.last().is_some_and(|unit| *unit < 0x100);
    let escape = match is_narrow {
        true => [Probe::new(1, b'u'), Probe::new(2, b'0')],
        false => [Probe::new(0, b'\\'), Probe::new(1, b'u')],
    };
    // Most escapes are those of the control character that begins a color.
    let has_one = units.iter().any(|unit| unit >> 4 & 0xF == 1);
    let skipped = if has_one { NEVER } else { b'1' };
    Starts::new(text, escape, Probe::new(4, skipped))
}

/// A byte that is not in UTF-8.
const NEVER: u8 = 0xFF;

/// Returns an expression for several texts.
fn any_of(texts: &[&[Vec<char>]]) -> Option<regex::bytes::Regex> {
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
    regex::bytes::RegexBuilder::new(&pattern).unicode(false).build().ok()
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

    /// Spells a character as itself, or as an escape.
    fn spelled(character: char, way: u8) -> String {
        let units =
            |of: fn(u16) -> String| character.encode_utf16(&mut [0; 2]).iter().copied().map(of).collect();
        match way {
            0 => units(|unit| format!("\\u{unit:04x}")),
            1 => units(|unit| format!("\\u{unit:04X}")),
            _ => character.to_string(),
        }
    }

    /// Returns whether a text, or an escape of one of its characters, is in bytes.
    fn is_in(text: &Run, bytes: &[u8]) -> bool {
        let is_spelled = |from: usize| {
            let is_there = text.iter().try_fold(&bytes[from..], |rest, place| {
                place.iter().find_map(|character| rest.strip_prefix(spelled(*character, 9).as_bytes()))
            });
            is_there.is_some()
        };
        let is_escape = |from: usize| {
            let units = text.iter().flatten().flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec());
            crate::json::string::unit(&bytes[from..])
                .is_some_and(|unit| units.into_iter().any(|it| it == unit))
        };
        (0..bytes.len()).any(|from| is_spelled(from) || is_escape(from))
    }

    proptest::proptest! {
        #[test]
        fn what_is_found_is_what_a_search_byte_by_byte_finds(
            text in "[a-cK\u{212A}öÖ中文😀ſs ]{1,9}|[ab]{40,70}",
            ignore_case: bool,
            parts in proptest::collection::vec(("[a-cö中 \n1u0]{0,70}", 0usize..9, 0usize..80), 0..6),
            ways in proptest::collection::vec(0u8..12, 1..20),
            lone in "(\\\\u00[0-9a-f]{2}|\\\\u[0-9A-F]{4}|\\\\n|\\\\\\\\u0061){0,2}",
        ) {
            let cases = |c: char| match (ignore_case, c) {
                (true, 'K' | '\u{212A}') => vec!['K', 'k', '\u{212A}'],
                (true, 's' | 'ſ') => vec!['S', 's', 'ſ'],
                (true, 'a'..='c') => vec![c.to_ascii_uppercase(), c],
                (true, 'ö' | 'Ö') => vec!['Ö', 'ö'],
                _ => vec![c],
            };
            let run: Run = text.chars().map(cases).collect();
            let prefilter = Prefilter::new(std::slice::from_ref(&run)).unwrap();
            let mut ways = ways.iter().copied().cycle();
            let mut bytes = lone;
            for (filler, from, len) in &parts {
                bytes += filler;
                for place in run.iter().skip(*from).take(*len) {
                    let way = ways.next().unwrap();
                    bytes += &spelled(place[usize::from(way) % place.len()], way);
                }
            }
            let short: Run = run.iter().take(LONGEST).cloned().collect();
            let wanted = |bytes: &str| is_in(&short, bytes.as_bytes());
            proptest::prop_assert_eq!(prefilter.find(bytes.as_bytes(), 0).is_some(), wanted(&bytes), "{} in {}", text, bytes);
            // The same, line by line.
            let mut lines = Vec::new();
            prefilter.each(bytes.as_bytes(), |at| {
                let end = bytes[at..].find('\n').map_or(bytes.len(), |more| at + more + 1);
                lines.push(bytes[..at].matches('\n').count());
                Some(end)
            });
            let all = bytes.split('\n').enumerate();
            let wanted: Vec<usize> = all.filter(|(_, line)| wanted(line)).map(|(number, _)| number).collect();
            proptest::prop_assert_eq!(lines, wanted, "{} in {}", text, bytes);
        }
    }
}
