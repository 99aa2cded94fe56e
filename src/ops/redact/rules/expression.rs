//! Regular expressions of rules, which are written in the syntax of Go.

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

pub(super) fn compile(regex: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&from_go(regex)).unicode(false).size_limit(32 << 20).dfa_size_limit(8 << 20).build()
}

pub(super) fn set(all: &[String]) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(all.iter().map(|regex| from_go(regex))).unicode(false).size_limit(32 << 20).build()
}

/// An expression in the syntax of Go as one of Rust: a brace that repeats nothing, and a bracket in a class, are escaped.
fn from_go(regex: &str) -> String {
    let bytes = regex.as_bytes();
    let repeats = |at: usize| {
        let inside =
            bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b',').count();
        inside > 0 && bytes[at + 1] != b',' && bytes.get(at + 1 + inside) == Some(&b'}')
    };
    let mut out = String::with_capacity(regex.len() + 8);
    let (mut in_class, mut class_start, mut can_repeat) = (false, 0, false);
    let mut characters = regex.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                out.push('\\');
                out.extend(characters.next().map(|(_, escaped)| escaped));
                can_repeat = true;
                continue;
            }
            '[' if !in_class => {
                (in_class, class_start) = (true, at + 1 + usize::from(bytes.get(at + 1) == Some(&b'^')))
            }
            '[' if bytes.get(at + 1) != Some(&b':') => out.push('\\'),
            '[' => {
                // A named class, as `[:alnum:]`, to its end.
                let len = regex[at..].find(":]").map_or(1, |end| end + 2);
                out.push_str(&regex[at..at + len]);
                (1..len).for_each(|_| _ = characters.next());
                continue;
            }
            ']' if in_class && at > class_start => in_class = false,
            '{' if !(in_class || can_repeat && repeats(at)) => out.push('\\'),
            _ => {}
        }
        out.push(character);
        can_repeat = !matches!(character, '(' | '|' | '^');
    }
    out
}

pub(super) fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned()
}
