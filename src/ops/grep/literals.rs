//! Literals, one of which every match of a pattern must contain.

use crate::json::{Run, is_plain};
use regex_syntax::hir::{Class, Hir, HirKind};

/// The maximum number of alternatives for one character: with more, too much is found.
const CHOICES: usize = 4;

/// The maximum number of texts that are searched at once.
const TEXTS: usize = 64;

/// Returns texts of plain characters of which every match contains at least one, each as a
/// contiguous run between characters that are not plain; `None` if nothing is known.
///
/// Of several required texts, the longest is used, because it is the rarest.
pub(super) fn needed(hir: &Hir) -> Option<Vec<Run>> {
    match hir.kind() {
        HirKind::Literal(_) | HirKind::Class(_) | HirKind::Concat(_) => {
            let mut best = Best::default();
            best.walk(hir);
            best.end();
            best.texts
        }
        HirKind::Capture(capture) => needed(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => needed(&repetition.sub),
        HirKind::Alternation(ways) => {
            let mut texts = Vec::new();
            for way in ways {
                texts.extend(needed(way)?);
            }
            (texts.len() <= TEXTS).then_some(texts)
        }
        _ => None,
    }
}

/// The best required text of a sequence of parts, as far as it was walked.
#[derive(Default)]
struct Best {
    texts: Option<Vec<Run>>,
    /// The text spelled by the last parts.
    run: Run,
}

impl Best {
    fn walk(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => text.chars().for_each(|character| self.push_class(vec![character])),
                Err(_) => self.end(),
            },
            HirKind::Class(class) => match characters(class) {
                Some(characters) => self.push_class(characters),
                None => self.end(),
            },
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.walk(part)),
            HirKind::Capture(capture) => self.walk(&capture.sub),
            // An assertion matches no characters.
            HirKind::Empty | HirKind::Look(_) => {}
            _ => {
                self.end();
                if let Some(texts) = needed(hir) {
                    self.offer(texts);
                }
            }
        }
    }

    /// Adds a place of the pattern, given the characters that it may be.
    fn push_class(&mut self, characters: Vec<char>) {
        if characters.iter().all(|character| is_plain(*character)) {
            self.run.push(characters);
        } else {
            self.end();
        }
    }

    fn end(&mut self) {
        let run = std::mem::take(&mut self.run);
        if !run.is_empty() {
            self.offer(vec![run]);
        }
    }

    fn offer(&mut self, texts: Vec<Run>) {
        let worth = |texts: &[Run]| texts.iter().map(Vec::len).min().unwrap_or(0);
        if self.texts.as_ref().is_none_or(|known| worth(&texts) > worth(known)) {
            self.texts = Some(texts);
        }
    }
}

/// Returns the characters of a small class.
fn characters(class: &Class) -> Option<Vec<char>> {
    let mut out = Vec::new();
    let Class::Unicode(class) = class else { return None };
    for range in class.ranges() {
        if range.len() > CHOICES || out.len() + range.len() > CHOICES {
            return None;
        }
        out.extend(range.start()..=range.end());
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn what_a_pattern_needs() {
        let check = |pattern: &str, wanted: &str| {
            let hir = regex_syntax::ParserBuilder::new().multi_line(true).build().parse(pattern).unwrap();
            let place = |place: &Vec<char>| match place.as_slice() {
                [one] => one.to_string(),
                several => format!("[{}]", several.iter().collect::<String>()),
            };
            let texts = needed(&hir).map(|texts| {
                texts.iter().map(|text| text.iter().map(place).collect()).collect::<Vec<String>>().join("|")
            });
            assert_eq!(texts.as_deref().unwrap_or("-"), wanted, "{pattern}");
        };
        check("needle",               "needle");
        check("a needle.*x",          "a needle");
        check("x.*a needle",          "a needle");
        check(r"\bneedle\b",          "needle");
        check("(need)(le)?",          "need");
        check("(?:one|three)+",       "one|three");
        check("(?:one|two*)x",        "one|tw");
        check("(?:abc|)x",            "x");
        check("a*",                   "-");
        check("[a-z]+",               "-");
        check("[ab]c",                "[ab]c");
        check("src/main.rs",          "main");     // a slash has a third spelling; the dot is any character
        check(r"src/main\.rs",        "main.rs");
        check(r#"say "hello""#,       "hello");
        check(r"foo\nbarn",           "barn");
        check("/",                    "-");
        check("(?i)ok",               "[Ook]".replace("[Ook]", "[Oo][Kk\u{212a}]").as_str());
        check("^$",                   "-");
        check("a|b|",                 "-");
    }
}
