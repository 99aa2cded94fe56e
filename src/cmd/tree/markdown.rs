//! Markdown of a text, line by line, as pieces in a few styles. All signs stay, except where a style says the same.

/// How a piece of a line is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    Plain,
    Strong,
    Code,
    Quiet,
}

/// Reads the lines of a text in order.
#[derive(Default)]
pub(super) struct Markdown {
    /// The fence of the code block that is open.
    fence: Option<String>,
}

impl Markdown {
    /// Returns the pieces of the next line.
    pub(super) fn pieces<'l>(&mut self, line: &'l str) -> Vec<(Mark, &'l str)> {
        let trimmed = line.trim_start();
        let sign = trimmed.chars().next().filter(|sign| matches!(sign, '`' | '~'));
        let run = sign.map_or("", |sign| &trimmed[..trimmed.len() - trimmed.trim_start_matches(sign).len()]);
        if let Some(fence) = &self.fence {
            let closes = run.starts_with(fence.as_str()) && trimmed[run.len()..].trim().is_empty();
            if closes {
                self.fence = None;
            }
            return vec![(if closes { Mark::Quiet } else { Mark::Code }, line)];
        }
        if run.len() >= 3 && !trimmed[run.len()..].contains('`') {
            self.fence = Some(run.to_owned());
            return vec![(Mark::Quiet, line)];
        }
        let level = line.len() - line.trim_start_matches('#').len();
        if (1..=6).contains(&level) && line[level..].starts_with(' ') {
            return vec![(Mark::Strong, line)];
        }
        if trimmed.starts_with('>') {
            return vec![(Mark::Quiet, line)];
        }
        inline(line)
    }
}

/// The pieces of a line of text: `code` and **strong**.
fn inline(line: &str) -> Vec<(Mark, &str)> {
    let mut out = Vec::new();
    let mut plain = 0;
    let mut at = 0;
    while let Some(next) = line[at..].find(['`', '*']) {
        at += next;
        let rest = &line[at..];
        let found = if let Some(strong) = rest.strip_prefix("**") {
            strong
                .find("**")
                .filter(|end| *end > 0 && !strong.starts_with(' '))
                .map(|end| (Mark::Strong, end + 4))
        } else if rest.starts_with('`') {
            let run = rest.len() - rest.trim_start_matches('`').len();
            rest[run..].find(&rest[..run]).map(|end| (Mark::Code, end + 2 * run))
        } else {
            None
        };
        match found {
            Some((mark, len)) => {
                if plain < at {
                    out.push((Mark::Plain, &line[plain..at]));
                }
                out.push((mark, &line[at..at + len]));
                at += len;
                plain = at;
            }
            None => at += rest.len() - rest.trim_start_matches(['`', '*']).len(),
        }
    }
    if plain < line.len() || out.is_empty() {
        out.push((Mark::Plain, &line[plain..]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn lines_are_taken_apart() {
        let check = |text: &str, wanted: &str| {
            let mut markdown = Markdown::default();
            let lines = text.lines().map(|line| {
                let pieces = markdown.pieces(line);
                assert_eq!(pieces.iter().map(|(_, piece)| *piece).collect::<String>(), line);
                let letter = |mark: &Mark| match mark { Mark::Plain => 'p', Mark::Strong => 's', Mark::Code => 'c', Mark::Quiet => 'q' };
                pieces.iter().map(|(mark, piece)| format!("{}{piece}", letter(mark))).collect::<Vec<_>>().join("|")
            });
            assert_eq!(lines.collect::<Vec<_>>().join("/"), wanted, "{text}");
        };
        check("a",                       "pa");
        check("# a\n#b",                 "s# a/p#b");
        check("a **b** `c` d",           "pa |s**b**|p |c`c`|p d");
        check("a ** b ** *c* `d",        "pa ** b ** *c* `d");
        check("``a`b`` **",              "c``a`b``|p **");
        check("```rs\n# a\n```\n# b",    "q```rs/c# a/q```/s# b");
        check("~~~\n```\n~~~~\nx",       "q~~~/c```/q~~~~/px");
        check("> a **b**",               "q> a **b**");
        check("ä**ö**ü`",                "pä|s**ö**|pü`");
    }
}
