//! Texts of which one must stand in whatever a pattern matches.

use crate::json::{Run, is_plain};
use regex_syntax::hir::{Class, Hir, HirKind};

/// How many characters one place of a text may have: more find too much.
const CHOICES: usize = 4;

/// How many texts are looked for at once.
const TEXTS: usize = 64;

/// Texts of plain characters of which at least one stands in every match, each in one stretch between characters that
/// are not plain; `None` where nothing is known.
///
/// Of what is needed the longest is taken, since it is the rarest.
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

/// The best that a row of parts needs, as far as it was walked.
#[derive(Default)]
struct Best {
    texts: Option<Vec<Run>>,
    /// The text that the parts walked last spell.
    run: Run,
}

impl Best {
    fn walk(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => text.chars().for_each(|character| self.place(vec![character])),
                Err(_) => self.end(),
            },
            HirKind::Class(class) => match characters(class) {
                Some(characters) => self.place(characters),
                None => self.end(),
            },
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.walk(part)),
            HirKind::Capture(capture) => self.walk(&capture.sub),
            // An assertion takes no place.
            HirKind::Empty | HirKind::Look(_) => {}
            _ => {
                self.end();
                if let Some(texts) = needed(hir) {
                    self.offer(texts);
                }
            }
        }
    }

    fn place(&mut self, characters: Vec<char>) {
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

/// The characters of a small class.
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
