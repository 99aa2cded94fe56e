//! The page that lists several sessions, each below the one that it came from. It has no script.

use super::{escaped, hash};
use std::fmt::Write as _;

const CSS: &str = ":root{color-scheme:light dark;--line:#d8dee4;--dim:#57606a;--acc:#0757c2}@media(prefers-color-scheme:dark){:root{--line:#313845;--dim:#a2adba;--acc:#8ab8ff}}\
*{box-sizing:border-box}body{font:15px/1.5 system-ui,sans-serif;max-width:980px;margin:0 auto;padding:24px 20px}h1{font-size:1.5em;margin:.2em 0}\
h2{font-size:1.05em;margin:1.8em 0 .4em;overflow-wrap:anywhere}p{color:var(--dim);margin:.2em 0 1em}ul{list-style:none;margin:0;padding:0}ul ul{margin-left:14px;padding-left:14px;border-left:2px solid var(--line)}\
li>div{padding:9px 2px;border-top:1px solid var(--line)}a{color:var(--acc);font-weight:600;text-decoration:none;overflow-wrap:anywhere}a:hover{text-decoration:underline}\
small{display:block;color:var(--dim);font-size:13px;overflow-wrap:anywhere}";

/// A session in the list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listed {
    /// How many sessions are above it.
    pub depth: usize,
    /// The file of its page.
    pub href: String,
    /// Its name or first prompt.
    pub title: String,
    /// Facts about it, for people.
    pub facts: Vec<String>,
    /// The working directory: sessions that follow each other and share it are under one heading.
    pub folder: String,
}

/// Returns the page.
pub fn sessions(title: &str, all: &[Listed]) -> String {
    let policy =
        format!("default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'", hash(CSS));
    let title = escaped(title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n\
         <style>{CSS}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<p>{}</p>\n",
        crate::model::Count("session", "sessions", all.len())
    );
    let mut folder = None;
    // The lists that are open: one for each depth.
    let mut open = 0;
    for session in all {
        if session.depth == 0 && folder != Some(&session.folder) {
            close(&mut out, &mut open, 0);
            folder = Some(&session.folder);
            if !session.folder.is_empty() {
                let _ = writeln!(out, "<h2>{}</h2>", escaped(&session.folder));
            }
        }
        if open > session.depth {
            close(&mut out, &mut open, session.depth + 1);
            out += "</li>\n";
        } else {
            out += "<ul>\n";
            open += 1;
        }
        let title = if session.title.trim().is_empty() { "Session" } else { &session.title };
        let facts: Vec<String> = session.facts.iter().map(|fact| escaped(fact)).collect();
        let _ = write!(
            out,
            "<li><div><a href=\"{}\">{}</a><small>{}</small></div>",
            escaped(&session.href),
            escaped(title),
            facts.join(" · ")
        );
    }
    close(&mut out, &mut open, 0);
    out + "</main>\n</body>\n</html>\n"
}

/// Ends the lists that are deeper.
fn close(out: &mut String, open: &mut usize, to: usize) {
    while *open > to {
        *out += "</li>\n</ul>\n";
        *open -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_nested_and_closed_and_all_texts_are_escaped() {
        let listed = |depth: usize, title: &str, folder: &str| Listed {
            depth,
            href: format!("{title}.html"),
            title: title.into(),
            facts: vec!["<i>".into()],
            folder: folder.into(),
        };
        let rows = [
            listed(0, "a", "/x"),
            listed(1, "b", "/x"),
            listed(2, "c", "/x"),
            listed(0, "<b onload=x>", "/x"),
            listed(0, "e", "</style>"),
            listed(1, "f", "/x"),
        ];
        let page = sessions("<T>", &rows);
        let body = page.split_once("<main>").unwrap().1;
        for (open, close) in [("<ul>", "</ul>"), ("<li>", "</li>"), ("<h2>", "</h2>"), ("<div>", "</div>")] {
            assert_eq!(body.matches(open).count(), body.matches(close).count(), "{open}: {body}");
        }
        assert_eq!((body.matches("<ul>").count(), body.matches("<li>").count()), (5, 6));
        assert!(!body.contains("<b") && !body.contains("<i>") && body.contains("&lt;/style&gt;"), "{body}");
        assert!(page.contains(&format!("style-src 'sha256-{}'", hash(CSS))));
    }
}
