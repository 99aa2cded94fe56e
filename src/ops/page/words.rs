//! The first words of a Markdown text on one line, without its signs.

/// How many bytes of a text are looked at for each character that is wanted.
const SHARE: usize = 4;

/// Returns the first words of a Markdown text, of about so many characters at most, on one line.
///
/// Signs go where they mean something: `**bold**` is `bold`, `2 * 3` stays. Items of lists begin with `•`, as in the page.
pub fn first_words(text: &str, most: usize) -> String {
    let mut line = Line { text: String::new(), room: most, is_after_space: false };
    let mut paragraph = String::new();
    // The sign of the fence that ends the code.
    let mut fence: Option<&str> = None;
    for row in start(text, most.saturating_mul(SHARE)).lines() {
        if line.room == 0 {
            break;
        }
        let said = row.trim();
        let sign = ["```", "~~~"].into_iter().find(|sign| said.starts_with(sign));
        match (fence, sign) {
            (Some(open), _) => {
                match said.strip_prefix(open).is_some_and(|rest| rest.trim_matches(['`', '~']).is_empty()) {
                    true => fence = None,
                    false => line.add(&format!(" {said}")),
                }
            }
            // Code in backticks on one line is not a fence.
            (None, Some(sign)) if !said[3..].trim_start_matches(&sign[..1]).contains('`') => {
                line.add_inline(&std::mem::take(&mut paragraph));
                fence = Some(sign);
            }
            (None, _) => {
                let said = without_signs_of_row(said);
                if said.starts_a_block {
                    line.add_inline(&std::mem::take(&mut paragraph));
                }
                paragraph.push('\n');
                paragraph += &said.text;
            }
        }
    }
    line.add_inline(&paragraph);
    line.text
}

/// The start of a text, of at most so many bytes.
fn start(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

struct Row {
    text: String,
    starts_a_block: bool,
}

/// Returns a row without the signs at its start: of headings, lists, quotes, tables and rules.
fn without_signs_of_row(row: &str) -> Row {
    let block = |text: &str| Row { text: text.to_owned(), starts_a_block: true };
    let is_made_of = |signs: &[char]| !row.is_empty() && row.chars().all(|sign| signs.contains(&sign));
    let mut is_rule = ["-", "*", "_"]
        .into_iter()
        .map(|sign| row.matches(sign).count() >= 3 && is_made_of(&[sign.chars().next().unwrap_or(' '), ' ']));
    if row.is_empty()
        || is_rule.any(|is| is)
        || row.contains('|') && row.contains("--") && is_made_of(&['|', '-', ':', ' '])
    {
        return block("");
    }
    let heading = row.trim_start_matches('#');
    if (1..=6).contains(&(row.len() - heading.len())) && heading.starts_with([' ', '\t']) {
        return block(heading.trim().trim_end_matches('#').trim_end());
    }
    if let Some(quote) = row.strip_prefix('>') {
        let inside = without_signs_of_row(quote.trim_start_matches(['>', ' ']));
        return Row { starts_a_block: false, ..inside };
    }
    if let Some(item) = ["- ", "* ", "+ "].iter().find_map(|sign| row.strip_prefix(sign)) {
        let item = item.trim_start();
        let boxes = [("[ ] ", "☐ "), ("[x] ", "☑ "), ("[X] ", "☑ ")];
        let done =
            boxes.iter().find_map(|(sign, shown)| Some(format!("{shown}{}", item.strip_prefix(sign)?)));
        return block(&done.unwrap_or_else(|| format!("• {item}")));
    }
    if row.starts_with('|') && row.len() > 1 {
        let cells = row.trim_matches('|').split('|').map(str::trim).filter(|cell| !cell.is_empty());
        return block(&cells.collect::<Vec<_>>().join(" · "));
    }
    Row { text: row.to_owned(), starts_a_block: false }
}

/// A line of at most so many characters, in which white space is one space.
struct Line {
    text: String,
    room: usize,
    is_after_space: bool,
}

impl Line {
    fn add(&mut self, text: &str) {
        for character in text.chars() {
            if character.is_whitespace() {
                self.is_after_space = true;
                continue;
            }
            if self.room == 0 {
                return;
            }
            if std::mem::take(&mut self.is_after_space) && !self.text.is_empty() {
                self.text.push(' ');
                self.room -= 1;
            }
            self.text.push(character);
            self.room = self.room.saturating_sub(1);
        }
    }

    /// Adds a text without the signs of emphasis, code and links.
    fn add_inline(&mut self, text: &str) {
        // What is left out further on, because what it ends has begun: where, and its length.
        let mut ends: Vec<(usize, usize)> = Vec::new();
        let (mut at, mut said) = (0, 0);
        while self.room > 0
            && let Some(next) = text[at..].find(['`', '*', '_', '~', '[', '!', '\\', ']', 'h'])
        {
            at += next;
            let rest = &text[at..];
            let skip = match ends.iter().find(|(end, _)| *end == at) {
                Some((_, len)) => *len,
                None if rest.starts_with("http://") || rest.starts_with("https://") => {
                    at += rest.find(char::is_whitespace).unwrap_or(rest.len());
                    continue;
                }
                None => match sign(text, at) {
                    Some(Sign::Escape) => {
                        self.add(&text[said..at]);
                        (at, said) = (at + 2, at + 1);
                        continue;
                    }
                    Some(Sign::Pair { len, end, end_len }) => {
                        ends.push((end, end_len));
                        len
                    }
                    Some(Sign::Code { len, end }) => {
                        self.add(&text[said..at]);
                        self.add(&text[at + len..end]);
                        (at, said) = (end + len, end + len);
                        continue;
                    }
                    None => {
                        at += rest.chars().next().map_or(1, char::len_utf8);
                        // A longer run of the same sign is looked at once.
                        at += text[at..]
                            .bytes()
                            .take_while(|byte| *byte == rest.as_bytes()[0] && b"*_~`".contains(byte))
                            .count();
                        continue;
                    }
                },
            };
            self.add(&text[said..at]);
            at += skip;
            said = at;
        }
        self.add(&text[said..]);
    }
}

/// A sign with a meaning.
enum Sign {
    /// It is left out, and the sign after it is text.
    Escape,
    /// It begins something: what ends that is left out, too.
    Pair { len: usize, end: usize, end_len: usize },
    /// The signs around code, in which nothing else is a sign.
    Code { len: usize, end: usize },
}

/// Returns the sign at a place of a text, if it has a meaning.
fn sign(text: &str, at: usize) -> Option<Sign> {
    let rest = &text[at..];
    let first = *rest.as_bytes().first()?;
    let run = rest.bytes().take_while(|byte| *byte == first).count();
    match first {
        b'\\' => rest[1..].starts_with(|next: char| next.is_ascii_punctuation()).then_some(Sign::Escape),
        b'`' => {
            let inside = &rest[run..];
            let ends = inside.match_indices('`').map(|(end, _)| end);
            let is_run = |end: &usize| {
                !inside[..*end].ends_with('`')
                    && inside[*end..].bytes().take_while(|byte| *byte == b'`').count() == run
            };
            let end = ends.filter(is_run).find(|end| *end > 0)?;
            Some(Sign::Code { len: run, end: at + run + end })
        }
        b'!' | b'[' => {
            // `list[0](1)` is code.
            if text[..at].ends_with(|before: char| before.is_ascii_alphanumeric()) {
                return None;
            }
            let len = 1 + usize::from(first == b'!');
            let inside = rest.strip_prefix(&"!["[2 - len..])?;
            let end = inside.find([']', '\n']).filter(|end| *end > 0)?;
            let address = inside[end..].strip_prefix("](")?;
            let close = address.find([')', '\n']).filter(|close| *close > 0)?;
            Some(Sign::Pair { len, end: at + len + end, end_len: close + 3 })
        }
        b'*' | b'_' | b'~' => {
            let len = match (first, run) {
                (b'~', 2) | (b'*' | b'_', 1..=3) => run,
                _ => return None,
            };
            let (mark, inside) = rest.split_at(len);
            if text[..at].ends_with(|before: char| before.is_ascii_alphanumeric())
                || inside.starts_with(char::is_whitespace)
            {
                return None;
            }
            let is_end = |end: &usize| {
                let (said, after) = (&inside[..*end], &inside[*end + len..]);
                let is_sign = |sign: char| sign as u32 == u32::from(first);
                let ends = |last: char| !last.is_whitespace() && !is_sign(last);
                let begins = |next: char| !next.is_ascii_alphanumeric() && !is_sign(next);
                // `__init__` is a name.
                let is_name = first == b'_' && len > 1 && !said.contains(' ');
                said.ends_with(ends) && (after.is_empty() || after.starts_with(begins)) && !is_name
            };
            let end = inside.match_indices(mark).map(|(end, _)| end).find(is_end)?;
            Some(Sign::Pair { len, end: at + len + end, end_len: len })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn signs_of_markdown_go_and_all_else_stays() {
        for (text, words) in [
            ("**Bold** and *thin* and ~~gone~~ `code`", "Bold and thin and gone code"),
            ("***both*** _one_ __two words__", "both one two words"),
            ("# A title #\n\nSome text", "A title Some text"),
            ("## Plan\n- one\n* **two**\n+ [ ] three\n1. four\n- [x] five", "Plan • one • two ☐ three 1. four ☑ five"),
            ("> said\n> **before**", "said before"),
            ("a\n***\nb\n---\nc", "a b c"),
            ("| a | b |\n|---|:-:|\n| `1` | 2 |", "a · b 1 · 2"),
            ("See [the *guide*](https://x.org/a_b) and ![an image](x.png)!", "See the guide and an image!"),
            ("Run:\n```rust\nlet x = 2 * 3; // **no**\n# no title\n```\n**then**", "Run: let x = 2 * 3; // **no** # no title then"),
            ("```one``` two", "one two"),
            ("**over\ntwo** lines", "over two lines"),
            ("a \\*star\\* and ``a ` b``", "a *star* and a ` b"),
            ("这是**重点**内容", "这是重点内容"),
            ("**`x`**: *a `b` d*", "x: a b d"),
            // Not signs of Markdown.
            ("2*3*4 and 2 * 3 * 4", "2*3*4 and 2 * 3 * 4"),
            ("all *.rs and *.toml files", "all *.rs and *.toml files"),
            ("def f(*args, **kwargs): snake_case_name __init__", "def f(*args, **kwargs): snake_case_name __init__"),
            ("#[test] #1 #hash -x --y -- z > 1", "#[test] #1 #hash -x --y -- z > 1"),
            ("a | b || c, a[0](1) and [x] (y)", "a | b || c, a[0](1) and [x] (y)"),
            ("**open `tick [link", "**open `tick [link"),
            ("https://x.org/_a_/*b*/c see", "https://x.org/_a_/*b*/c see"),
            ("C:\\new\\table ~ ~~ ****", "C:\\new\\table ~ ~~ ****"),
            ("", ""), (" \n\t ", ""), ("```", ""), ("# ", "#"), ("**", "**"),
        ] {
            assert_eq!(first_words(text, 100), words, "{text}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_no_text_takes_long() {
        assert_eq!(first_words("one **two** three", 7), "one two");
        for sign in ["*", "_", "`", "[", "**a ", "~~x", "> ", "| ", "\\", "![a](", "é*"] {
            let words = first_words(&sign.repeat(100_000), 140);
            assert!(words.chars().count() <= 141, "{sign}: {words}");
        }
    }
}
