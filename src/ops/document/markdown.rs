//! A conversation as one Markdown document, which reads the same on GitHub and in Pandoc.
//!
//! Texts of a session are Markdown already. They stay readable as such, but can't break out: tags are shown instead
//! of read ([`defused`]), links lead only to the web, mail, or a place in the document, an image that would be loaded is a
//! link, a code block that is not closed ends with its text, and headings are below those of the document.

use super::{Answer, Item, Part};
use std::fmt::Write as _;

/// Prints items as Markdown, under a title.
pub fn markdown(title: &str, items: &[Item]) -> String {
    let mut out = format!("# {}\n", escaped(if title.trim().is_empty() { "Session" } else { title }));
    for item in items {
        let mut facts = vec![item.heading().to_owned()];
        facts.extend(item.model.as_deref().map(escaped));
        facts.extend(item.label.as_deref().map(|label| format!("\\[{}\\]", escaped(label))));
        let _ = write!(out, "\n## {}\n", facts.join(" · "));
        if !item.date.is_empty() {
            let _ = write!(out, "\n*{}*\n", escaped(&item.date));
        }
        for part in &item.parts {
            out.push('\n');
            match part {
                Part::Text(text) => out.push_str(&defused(text)),
                Part::Thinking(text) => details(&mut out, "Thinking", &fenced("text", text)),
                Part::Call { name, words, arguments, result } => {
                    let mut inside = arguments_as_code(name, arguments);
                    match result {
                        Some(answer) => inside += &format!("\n{}", answer_as_code(answer)),
                        None => inside += "\nNo result.\n",
                    }
                    details(&mut out, words, &inside);
                }
                Part::Result(answer) => details(&mut out, "Result", &answer_as_code(answer)),
                Part::Note(note) => {
                    let _ = writeln!(out, "*({})*", escaped(note));
                }
            }
        }
    }
    out
}

/// A value for a line of front matter: a string in JSON, which is also one in YAML.
pub fn quoted_in_front_matter(value: &str) -> String {
    serde_json::to_string(value).expect("a text is always a JSON string")
}

fn details(out: &mut String, summary: &str, inside: &str) {
    let summary = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    let summary = summary.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(
        out,
        "<details>\n<summary>{summary}</summary>\n\n{}\n\n</details>",
        inside.trim_end_matches('\n')
    );
}

fn arguments_as_code(name: &str, arguments: &[(String, String)]) -> String {
    let is = |wanted: &str| arguments.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.as_str());
    let mut out = String::new();
    let mut shown: Vec<&str> = Vec::new();
    if let Some(command) = is("command") {
        out += &fenced("sh", command);
        shown.push("command");
    }
    let change = [("old_string", "new_string"), ("oldText", "newText"), ("old_str", "new_str")];
    for (old, new) in change {
        if let (Some(before), Some(after)) = (is(old), is(new)) {
            let lines = |text: &str, sign: char| {
                text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>()
            };
            out += &fenced("diff", &(lines(before, '-') + &lines(after, '+')));
            shown.extend([old, new]);
        }
    }
    for (key, value) in arguments.iter().filter(|(key, _)| !shown.contains(&key.as_str())) {
        let key = if key.is_empty() { name } else { key };
        if value.contains('\n') || value.len() > 120 {
            out += &format!("{}:\n\n{}", escaped(key), fenced("text", value));
        } else {
            out += &format!("{}: {}\n", escaped(key), code(value));
        }
        out.push('\n');
    }
    out
}

fn answer_as_code(answer: &Answer) -> String {
    let mut out = if answer.is_error { "Failed:\n\n".to_owned() } else { "Result:\n\n".to_owned() };
    out += &fenced("text", &answer.text);
    if answer.cut > 0 {
        out += &format!("\n*({} more bytes left out)*\n", answer.cut);
    }
    out
}

/// A text in a fence that is longer than any inside.
fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// A short text as code in a line.
fn code(text: &str) -> String {
    if text.trim().is_empty() {
        return "(empty)".into();
    }
    let ticks = "`".repeat(longest_run(text) + 1);
    format!("{ticks} {text} {ticks}")
}

fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

/// A text in a line, without a meaning in Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '!' | '~' | '$' | ':' | '@'
                if !matches!(character, ':' | '@') =>
            {
                out.push('\\');
                out.push(character);
            }
            _ => out.push(character),
        }
    }
    out
}

/// A text in Markdown that can do nothing but be read.
fn defused(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut fence: Option<(u8, usize)> = None;
    let has_table = text.lines().any(divides_table);
    for line in text.trim_matches('\n').lines() {
        let inside = line.trim_start_matches(' ');
        let indent = line.len() - inside.len();
        let sign = inside.bytes().next().filter(|byte| matches!(byte, b'`' | b'~'));
        let run = sign.map_or(0, |sign| inside.bytes().take_while(|byte| *byte == sign).count());
        match fence {
            Some((open, len)) => {
                let closes =
                    sign == Some(open) && run >= len && indent < 4 && inside[run..].trim().is_empty();
                out.push_str(line);
                if closes {
                    fence = None;
                }
            }
            None if run >= 3 && indent < 4 && !(sign == Some(b'`') && inside[run..].contains('`')) => {
                // Where a fence begins is the same for all readers only if nothing is before it.
                fence = sign.map(|sign| (sign, run));
                out.push_str(inside);
            }
            None => {
                let level = inside.bytes().take_while(|byte| *byte == b'#').count();
                let is_heading =
                    (1..=6).contains(&level) && indent < 4 && inside[level..].starts_with([' ', '\t']);
                // An underline would make a heading, or front matter, of what is before it.
                let is_underline = indent < 4
                    && !inside.trim().is_empty()
                    && matches!(inside.trim_end().trim_matches(|sign| sign == '=' || sign == '-'), "")
                    && !inside.contains('|');
                if is_heading {
                    out.push_str(&"#".repeat((level + 2).min(6)));
                    out.push_str(&defused_line(&inside[level..], has_table));
                } else if is_underline {
                    out.push('\\');
                    out.push_str(inside);
                } else {
                    out.push_str(&defused_line(line, has_table));
                }
            }
        }
        out.push('\n');
    }
    if let Some((sign, len)) = fence {
        out.push_str(&char::from(sign).to_string().repeat(len));
        out.push('\n');
    }
    out
}

/// Whether a line may be the one below the heads of a table.
fn divides_table(line: &str) -> bool {
    let is_sign = |byte: u8| b"|:- \t>*+.)".contains(&byte) || byte.is_ascii_digit();
    line.contains('-') && line.contains(['|', ':']) && line.bytes().all(is_sign)
}

/// A line outside of code blocks.
fn defused_line(line: &str, in_table: bool) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['<', '`', '!', '[', ']', '\\']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        match tail.as_bytes()[0] {
            b'`' => {
                let (run, end) = code_at_start(line, tail, in_table);
                match end {
                    Some(end) => {
                        out.push_str(&tail[..end]);
                        rest = &tail[end..];
                    }
                    None => {
                        (0..run).for_each(|_| out.push_str("\\`"));
                        rest = &tail[run..];
                    }
                }
            }
            b'<' => {
                let is_link = tail[1..].split_once('>').is_some_and(|(link, _)| {
                    is_safe_link(link) && !link.contains([' ', '<', '"']) && link.contains(':')
                });
                out.push_str(if is_link { "<" } else { "&lt;" });
                rest = &tail[1..];
            }
            // A link to another page of a wiki.
            b'[' if tail[1..].starts_with('[') => {
                out.push_str("\\[[");
                rest = &tail[2..];
            }
            b'!' if tail[1..].starts_with('[') => {
                out.push_str("\\!");
                rest = &tail[1..];
            }
            // A definition of a link: `[name]: address`. It may be in a list or a quotation, or begin on a line before.
            b']' if tail[1..].starts_with(':') => {
                out.push_str("]\\:");
                rest = &tail[2..];
            }
            b']' if tail[1..].starts_with('(') => {
                // The address may be on the next line, where it is not looked at.
                let link = tail[2..].trim_start().trim_start_matches('<');
                out.push_str(if is_safe_link(link) && !link.is_empty() { "](" } else { "]\\(" });
                rest = &tail[2..];
            }
            // An escaped sign stays one.
            b'\\' => {
                let next = tail[1..].chars().next().filter(char::is_ascii_punctuation);
                let taken = 1 + next.map_or(0, char::len_utf8);
                let is_tag = next == Some('<');
                out.push_str(if is_tag { "&lt;" } else { &tail[..taken] });
                rest = &tail[taken..];
            }
            _ => {
                out.push_str(&tail[..1]);
                rest = &tail[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Returns how many signs begin the code at the start of `tail`, and where it ends if it is code: it
/// has to end on this line, else the signs say nothing.
fn code_at_start(line: &str, tail: &str, in_table: bool) -> (usize, Option<usize>) {
    let run = tail.bytes().take_while(|byte| *byte == b'`').count();
    let ticks = &tail[..run];
    let end = tail[run..].match_indices(ticks).find(|(end, _)| {
        let before = tail[run..][..*end].ends_with('`');
        let after = tail[run + end + run..].starts_with('`');
        !before && !after
    });
    // Before readers look for code, they look for definitions of links
    // and divide the rows of a table.
    let is_cut = |code: &str| {
        code.contains("]:") && line.contains('[') || in_table && code.contains('|') && code.contains('<')
    };
    let end = end.filter(|(end, _)| !is_cut(&tail[run..][..*end]));
    (run, end.map(|(end, _)| run + end + run))
}

/// Whether an address leads to the web, to mail, or to a place beside the document. Entities may hide a scheme.
fn is_safe_link(link: &str) -> bool {
    let link = link.trim_start();
    let head: String = link
        .chars()
        .take_while(|character| !matches!(character, '/' | '?' | '#' | ')' | ' ' | '>'))
        .collect();
    let head = head.to_ascii_lowercase();
    match head.split_once(':') {
        Some((scheme, _)) => matches!(scheme, "http" | "https" | "mailto"),
        None => !head.contains('&') && !head.contains('\\') && !head.contains(char::is_control),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn a_text_can_do_nothing_but_be_read() {
        let check = |text: &str, wanted: &str| assert_eq!(defused(text), format!("{wanted}\n"), "{text}");
        check("a *b* `c <d>` <http://x.y>",    "a *b* `c <d>` <http://x.y>");
        check("<script>x</script>",            "&lt;script>x&lt;/script>");
        check("a <img src=x onerror=y>",       "a &lt;img src=x onerror=y>");
        check("\\<b> \\\\<b>",                 "&lt;b> \\\\&lt;b>");
        check("`a <b>",                        "\\`a &lt;b>");
        check("``a ` <b>`` <c>",               "``a ` <b>`` &lt;c>");
        check("[x](javascript:y) [x]( https://y)", "[x]\\(javascript:y) [x]( https://y)");
        check("[x](JaVa&#115;cript:y)",        "[x]\\(JaVa&#115;cript:y)");
        check("[x](data:text/html,y)",         "[x]\\(data:text/html,y)");
        check("[x](a/b.md) [x](#y)",           "[x](a/b.md) [x](#y)");
        check("![x](https://y/z.png)",         "\\![x](https://y/z.png)");
        check("[x]: javascript:y",             "[x]\\: javascript:y");
        check("> - [x]: javascript:y",         "> - [x]\\: javascript:y");
        check("[\nx\n]: javascript:y",         "[\nx\n]\\: javascript:y");
        check("[x `]: javascript:y`",          "[x \\`]\\: javascript:y\\`");
        check("[x](\njavascript:y)",           "[x]\\(\njavascript:y)");
        check("[[javascript:x]]",              "\\[[javascript:x]]");
        check("|a|\n|-|\n|`|<i>`|",            "|a|\n|-|\n|\\`|&lt;i>\\`|");
        check("`a|<i>`",                       "`a|<i>`");
        check("`a]: b`",                       "`a]: b`");
        check("<javascript:y>",                "&lt;javascript:y>");
        check("# a\n###### b",                 "### a\n###### b");
        check("a\n===\n---",                   "a\n\\===\n\\---");
        check("```js\n<b>\n# c\n```\n<b>",     "```js\n<b>\n# c\n```\n&lt;b>");
        check("```\n<b>",                      "```\n<b>\n```");
        check("~~~~\n```\n<b>",                "~~~~\n```\n<b>\n~~~~");
    }

    #[test]
    fn a_fence_is_longer_than_any_inside() {
        assert_eq!(fenced("text", "a\n````\n"), "`````text\na\n````\n`````\n");
        assert_eq!(fenced("", "a"), "```\na\n```\n");
    }
}
