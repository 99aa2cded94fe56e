//! Text in a terminal: escapes are made harmless; its width in columns, cutting, padding and wrapping.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Makes text safe: control characters, terminal escapes and characters that change the direction
/// of writing are shown, not sent. Line feeds and tabs stay.
pub fn safe(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    text.chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            _ => harmless(character).unwrap_or(character),
        })
        .collect()
}

/// Returns what is shown in place of a character that must not be sent to a terminal, or `None` if
/// it may be sent.
///
/// These are the control characters, except the new line and the tab, and the characters that
/// change the direction of writing.
pub(super) fn harmless(character: char) -> Option<char> {
    match character {
        '\n' | '\t' => None,
        '\u{0}'..='\u{1F}' => Some(char::from_u32(0x2400 + character as u32).unwrap_or('\u{FFFD}')),
        '\u{7F}' => Some('\u{2421}'),
        '\u{80}'..='\u{9F}' => Some('\u{FFFD}'),
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' | '\u{061C}' => {
            Some('\u{FFFD}')
        }
        _ => None,
    }
}

/// Returns whether text is one line that may be sent to a terminal as it is.
pub fn is_safe(text: &str) -> bool {
    is_plain(text)
        || !text.chars().any(|character| matches!(character, '\n' | '\t') || harmless(character).is_some())
}

/// Returns safe text on one line: a run of white space becomes one space, and colors are removed.
pub fn one_line(text: &str) -> String {
    if is_plain(text) && text.trim_ascii().len() == text.len() && !text.contains("  ") {
        return text.to_owned();
    }
    safe(&without_colors(text).split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns whether text consists only of ASCII letters, digits, punctuation and spaces.
fn is_plain(text: &str) -> bool {
    // Without an early exit, so that many bytes are checked at once.
    text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~'))
}

/// Returns how many display cells text takes.
pub fn width(text: &str) -> usize {
    if is_plain(text) { text.len() } else { text.width() }
}

/// Returns text as one word of a command line, to be copied into a shell.
///
/// Characters that must not be sent to a terminal are spelled as in bash and zsh: `$'\x1b'`.
pub fn shell_word(text: &str) -> String {
    match shlex::try_quote(text) {
        Ok(word) if is_safe(text) => word.into_owned(),
        _ => spelled_word(text),
    }
}

/// Returns a word in the quotes of bash and zsh in which bytes can be spelled.
fn spelled_word(text: &str) -> String {
    let mut out = String::from("$'");
    for character in text.chars() {
        match character {
            '\'' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if harmless(character).is_none() => out.push(character),
            _ => {
                let mut bytes = [0; 4];
                for byte in character.encode_utf8(&mut bytes).bytes() {
                    out.push_str(&format!("\\x{byte:02x}"));
                }
            }
        }
    }
    out.push('\'');
    out
}

/// Returns text without the escapes that set colors, which are common in the output of programs.
/// Other escapes stay, to be shown by [`safe`].
pub fn without_colors(text: &str) -> Cow<'_, str> {
    if !text.contains("\u{1b}[") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        let escape = &rest[at + 2..];
        let len =
            escape.bytes().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':')).count();
        if escape.as_bytes().get(len) == Some(&b'm') {
            out.push_str(&rest[..at]);
            rest = &escape[len + 1..];
        } else {
            out.push_str(&rest[..at + 2]);
            rest = escape;
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether text is neither cut nor wrapped, whatever width is asked for.
static WHOLE: AtomicBool = AtomicBool::new(false);

/// Says that no eyes are at the other end, but a pipe or a file: from here on nothing is cut or wrapped.
pub fn keep_whole() {
    WHOLE.store(true, Ordering::Relaxed);
}

/// Says that a person looks on after all, e.g. at a terminal while the output goes elsewhere.
pub fn cut_to_width() {
    WHOLE.store(false, Ordering::Relaxed);
}

/// Whether nothing is cut or wrapped.
pub fn is_whole() -> bool {
    WHOLE.load(Ordering::Relaxed)
}

/// Cuts text to `width` display cells; `…` marks the cut.
pub fn fit(text: &str, width: usize) -> String {
    if is_whole() || self::width(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for character in text.chars() {
        let cells = character.width().unwrap_or(0);
        if used + cells > width.saturating_sub(1) {
            break;
        }
        used += cells;
        out.push(character);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// Cuts text to `width` display cells at its start, for texts whose end says most; `…` marks the
/// cut.
pub fn fit_end(text: &str, width: usize) -> String {
    if is_whole() || self::width(text) <= width {
        return text.to_owned();
    }
    let mut start = text.len();
    let mut used = 1;
    for (at, character) in text.char_indices().rev() {
        used += character.width().unwrap_or(0);
        if used > width {
            break;
        }
        start = at;
    }
    format!("…{}", &text[start..])
}

/// Pads text with spaces to `width` display cells.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(self::width(text))))
}

/// Breaks text into lines of at most `width` display cells, at spaces if there are any.
///
/// Lines of the text stay lines, including spaces at their start; a word that is wider than a line
/// is cut.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = if is_whole() { usize::MAX } else { width.max(1) };
    let mut out = Vec::new();
    for line in text.lines() {
        let line = line.trim_end().replace('\t', "    ");
        if line.width() <= width {
            out.push(line);
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let indent = if indent < width / 2 { &line[..indent] } else { "" };
        let (mut current, mut used, mut empty) = (indent.to_owned(), indent.width(), true);
        for word in line.split_whitespace() {
            let cells = word.width();
            if !empty && used + 1 + cells > width {
                out.push(std::mem::replace(&mut current, indent.to_owned()));
                (used, empty) = (indent.width(), true);
            }
            if !empty {
                current.push(' ');
                used += 1;
            }
            for character in word.chars() {
                let cells = character.width().unwrap_or(0);
                if used + cells > width && used > indent.width() {
                    out.push(std::mem::replace(&mut current, indent.to_owned()));
                    used = indent.width();
                }
                current.push(character);
                used += cells;
            }
            empty = false;
        }
        out.push(current);
    }
    out
}

/// Breaks a list of facts, as in `2 in · 3 out`, into lines of at most `width` display cells.
///
/// Breaks only between facts, so that no id and no number is cut; a fact that is wider than a line is a
/// line.
pub fn wrap_facts(text: &str, width: usize) -> Vec<String> {
    const BETWEEN: &str = " · ";
    if is_whole() || self::width(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for fact in text.split(BETWEEN) {
        match lines.last_mut() {
            Some(line) if self::width(line) + BETWEEN.chars().count() + self::width(fact) <= width => {
                line.push_str(BETWEEN);
                line.push_str(fact);
            }
            _ => lines.push(fact.to_owned()),
        }
    }
    lines
}

/// Breaks a fact after commas, into lines of at most `width` display cells where that is possible.
pub fn wrap_at_commas(fact: &str, width: usize) -> Vec<String> {
    if is_whole() || self::width(fact) <= width {
        return vec![fact.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for part in fact.split_inclusive(", ") {
        match lines.last_mut() {
            Some(line) if self::width(line) + self::width(part.trim_end()) <= width => line.push_str(part),
            _ => lines.push(part.to_owned()),
        }
    }
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_escape_reaches_a_terminal() {
        assert_eq!(safe("a\u{1b}[31mred\u{7}\n\tb\u{9b}1m"), "a␛[31mred␇\n\tb\u{fffd}1m");
        assert_eq!(safe("abc\u{202e}cba"), "abc\u{fffd}cba");
        assert_eq!(one_line(" a\n\n  b\tc "), "a b c");
        assert_eq!(one_line("\u{1b}[1;31mred\u{1b}[0m \u{1b}[2J\u{1b}[3"), "red ␛[2J␛[3");
    }

    #[test]
    #[rustfmt::skip] // a table
    fn a_word_for_a_shell_is_one_word_without_escapes() {
        let check = |text: &str, wanted: &str| assert_eq!(shell_word(text), wanted);
        check("s.jsonl",             "s.jsonl");
        check("two words.jsonl",     "'two words.jsonl'");
        check("a;touch b.jsonl",     "'a;touch b.jsonl'");
        check("it's.jsonl",          r#""it's.jsonl""#);
        check("e\u{1b}]52;'\u{7}",   r"$'e\x1b]52;\'\x07'");
        check("two\nlines\\",        r"$'two\nlines\\'");
        check("bidi\u{202e}",        r"$'bidi\xe2\x80\xae'");
    }

    #[test]
    fn widths_are_counted_in_cells() {
        assert_eq!(fit("中文字", 5), "中文…");
        assert_eq!(fit("中文字", 6), "中文字");
        assert_eq!(fit_end("中文字", 5), "…文字");
        assert_eq!(fit_end("中文字", 6), "中文字");
        assert_eq!(pad("中", 4), "中  ");
    }

    #[test]
    #[rustfmt::skip] // a table
    fn a_fact_is_broken_at_commas() {
        let check = |text: &str, width: usize, wanted: &[&str]| assert_eq!(wrap_at_commas(text, width), wanted, "{text:?}");
        check("1 in, 2 out",    11, &["1 in, 2 out"]);
        check("1 in, 2 out",     6, &["1 in,", "2 out"]);
        check("1, 2, three",     5, &["1, 2,", "three"]);
        check("without",         5, &["without"]);
    }

    #[test]
    #[rustfmt::skip] // a table
    fn facts_are_broken_between_them() {
        let check = |text: &str, width: usize, wanted: &[&str]| assert_eq!(wrap_facts(text, width), wanted, "{text:?}");
        check("",                       4, &[""]);
        check("1 in · 2 out",          12, &["1 in · 2 out"]);
        check("1 in · 2 out",          11, &["1 in", "2 out"]);
        check("1 in · 2 out · 3 more", 12, &["1 in · 2 out", "3 more"]);
        check("long-id · b · c",        5, &["long-id", "b · c"]);
        check("中文 · 字",               8, &["中文", "字"]);
    }

    #[test]
    #[rustfmt::skip] // a table
    fn lines_are_broken_at_blanks() {
        let check = |text: &str, width: usize, wanted: &[&str]| assert_eq!(wrap(text, width), wanted, "{text:?}");
        check("",                     5, &[]);
        check("a b c d",              5, &["a b c", "d"]);
        check("a\n\nb",               5, &["a", "", "b"]);
        check("  ab cd ef",           6, &["  ab", "  cd", "  ef"]);
        check("abcdefgh",             3, &["abc", "def", "gh"]);
        check("a abcdefgh",           3, &["a", "abc", "def", "gh"]);
        check("中文字 中",            4, &["中文", "字", "中"]);
    }
}
