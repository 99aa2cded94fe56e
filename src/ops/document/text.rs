//! A conversation as plain text, for a terminal and for mail: nothing is wrapped.

use super::{Answer, Item, Part};
use std::fmt::Write as _;

/// Prints items as text. The texts are as stored: what prints them to a terminal makes them safe first.
pub fn text(title: &str, items: &[Item]) -> String {
    let mut out = String::new();
    if !title.is_empty() {
        let _ = writeln!(out, "{}\n{}\n", one_line(title), "=".repeat(one_line(title).chars().count()));
    }
    for item in items {
        let mut facts = vec![item.heading().to_owned()];
        facts.extend(item.model.as_deref().map(one_line));
        facts.extend(Some(item.date.clone()).filter(|date| !date.is_empty()));
        facts.extend(item.label.as_deref().map(|label| format!("[{}]", one_line(label))));
        let _ = writeln!(out, "--- {}", facts.join(" · "));
        for part in &item.parts {
            out.push('\n');
            match part {
                Part::Text(text) => block(&mut out, "", text),
                Part::Thinking(text) => {
                    out.push_str("(thinking)\n");
                    block(&mut out, "  ", text);
                }
                Part::Call { name, arguments, result, .. } => {
                    let _ = writeln!(out, "> {}", one_line(name));
                    for (key, value) in arguments {
                        if value.contains('\n') {
                            let _ = writeln!(out, "  {}:", one_line(key));
                            block(&mut out, "    ", value);
                        } else {
                            let _ = writeln!(out, "  {}: {value}", one_line(key));
                        }
                    }
                    match result {
                        Some(answer) => print_answer(&mut out, answer),
                        None => out.push_str("  (no result)\n"),
                    }
                }
                Part::Result(answer) => print_answer(&mut out, answer),
                Part::Note(note) => {
                    let _ = writeln!(out, "({})", one_line(note));
                }
            }
        }
        out.push('\n');
    }
    out
}

fn print_answer(out: &mut String, answer: &Answer) {
    out.push_str(if answer.is_error { "  failed:\n" } else { "  result:\n" });
    block(out, "    ", &answer.text);
    if answer.cut > 0 {
        let _ = writeln!(out, "    ({} more bytes left out)", answer.cut);
    }
}

fn block(out: &mut String, indent: &str, text: &str) {
    for line in text.trim_matches('\n').lines() {
        let _ = writeln!(out, "{}", format!("{indent}{line}").trim_end());
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
