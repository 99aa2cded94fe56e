//! A page without a script: one path, as static HTML.

use super::{escaped, hash};
use crate::model::Kind;
use crate::ops::document::{Answer, Item, Part};

/// The most bytes of such a page; what is more is left out, and said.
pub const MOST: usize = 5_000_000;

const CSS: &str = ":root{color-scheme:light dark}body{font:16px/1.55 system-ui,sans-serif;max-width:860px;margin:0 auto;padding:16px}\
h1{font-size:1.5em}h2{font-size:1.05em;margin:1.6em 0 .3em;border-top:1px solid #8886;padding-top:.8em}small{font-weight:400;opacity:.75}\
.t{white-space:pre-wrap;overflow-wrap:anywhere}pre{overflow:auto;padding:10px;border:1px solid #8886;border-radius:8px;font-size:13px}\
details{margin:.5em 0}summary{cursor:pointer}.user{border-left:4px solid #4a7fd0;padding-left:12px}";

/// Returns the page, and how many items were left out of it because it would be too large.
pub fn plain(title: &str, items: &[Item]) -> (String, usize) {
    let title = if title.trim().is_empty() { "Session" } else { title };
    let policy =
        format!("default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'", hash(CSS));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{0}</title>\n<style>{CSS}</style>\n</head>\n<body>\n\
         <main>\n<h1>{0}</h1>\n",
        escaped(title)
    );
    for (at, item) in items.iter().enumerate() {
        let one = article(item);
        if out.len() + one.len() > MOST {
            let left = items.len() - at;
            out += &format!(
                "<p>{left} more entries were left out, since the page would be too large.</p>\n</main>\n</body>\n</html>\n"
            );
            return (out, left);
        }
        out += &one;
    }
    out += "</main>\n</body>\n</html>\n";
    (out, 0)
}

fn article(item: &Item) -> String {
    let class = if item.kind == Kind::User { " class=\"user\"" } else { "" };
    let facts = [item.model.as_deref(), Some(&*item.date), item.label.as_deref()];
    let facts = facts
        .into_iter()
        .flatten()
        .filter(|fact| !fact.is_empty())
        .map(escaped)
        .collect::<Vec<_>>()
        .join(" · ");
    let mut out = format!(
        "<article id=\"{}\"{class}>\n<h2>{} <small>{facts}</small></h2>\n",
        escaped(&item.id),
        item.heading()
    );
    for part in &item.parts {
        out += &match part {
            Part::Text(text) => format!("<div class=\"t\">{}</div>\n", escaped(text)),
            Part::Thinking(text) => details("Thinking", &code(text)),
            Part::Call { words, arguments, result, .. } => {
                let arguments = arguments.iter().map(|(key, value)| argument(key, value));
                let mut inside = arguments.collect::<String>();
                inside += &result.as_ref().map_or_else(|| "<p>No result.</p>".to_owned(), answer);
                details(words, &inside)
            }
            Part::Result(result) => details("Result", &answer(result)),
            Part::Note(note) => format!("<p><em>({})</em></p>\n", escaped(note)),
        };
    }
    out + "</article>\n"
}

fn answer(answer: &Answer) -> String {
    let more = if answer.cut > 0 {
        format!("<p>{} more bytes were left out.</p>", answer.cut)
    } else {
        String::new()
    };
    format!("<p>{}</p>{}{more}", if answer.is_error { "Failed" } else { "Result" }, code(&answer.text))
}

fn argument(key: &str, value: &str) -> String {
    format!("<p>{}</p>{}", escaped(key), code(value))
}

fn code(text: &str) -> String {
    format!("<pre>\n{}</pre>\n", escaped(text))
}

fn details(summary: &str, inside: &str) -> String {
    format!("<details><summary>{}</summary>{inside}</details>\n", escaped(summary))
}
