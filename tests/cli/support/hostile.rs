//! Sessions whose texts would run, or load something, if a page took them for more than texts.

use serde_json::{Value, json};
use std::fmt::Write as _;

/// An entry of pi with a message.
pub fn message(id: &str, parent: Option<&str>, minute: u32, message: Value) -> Value {
    json!({ "type": "message", "id": id, "parentId": parent, "timestamp": format!("2026-03-01T10:{minute:02}:00Z"), "message": message })
}

/// What would set `window.PWN` if it ran, in forms of several kinds.
pub fn payload(place: &str) -> String {
    let run = format!("window.PWN=(window.PWN||'')+'{place},'");
    format!(
        "</script><script>{run}</script><img src=x onerror=\"{run}\"><svg onload=\"{run}\">[a](javascript:{run}) [b](data:text/html,x)\n\n\
         [c]: javascript:{run}\n\n![d](https://load.example/{place}.png) <iframe srcdoc=\"<script>{run}</script>\"></iframe>\n\n\
         <details open ontoggle=\"{run}\">\n\n```x\" onclick=\"{run}\ncode\n```\n\"'><b style=background:url(https://load.example/{place})>"
    )
}

/// The text of a session with these lines.
pub fn lines(all: &[Value]) -> String {
    all.iter().fold(String::new(), |mut out, line| {
        let _ = writeln!(out, "{line}");
        out
    })
}

/// What is wrong with Markdown as GitHub and Pandoc read it: a tag that is not of the document, an image, a link that is not to
/// the web, to mail, or to a place beside it.
pub fn faults_of_markdown(markdown: &str, name: &str) -> Vec<String> {
    use pulldown_cmark::{Event, Options, Parser, Tag};
    let mut found = Vec::new();
    for event in Parser::new_ext(markdown, Options::all()) {
        match event {
            Event::Html(tag) | Event::InlineHtml(tag) => {
                let tag = tag.trim();
                let is_summary =
                    tag.strip_prefix("<summary>").and_then(|rest| rest.strip_suffix("</summary>"));
                let is_own = tag.is_empty()
                    || matches!(tag, "<details>" | "</details>")
                    || is_summary.is_some_and(|inside| !inside.contains('<'));
                if !is_own {
                    found.push(format!("{name}: {tag}"));
                }
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                found.push(format!("{name}: an image of {dest_url}"))
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                let scheme = dest_url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
                let is_safe = scheme.is_none_or(|scheme| {
                    matches!(scheme.as_str(), "http" | "https" | "mailto") || scheme.contains(['/', '#', '?'])
                });
                if !is_safe {
                    found.push(format!("{name}: a link to {dest_url}"));
                }
            }
            _ => {}
        }
    }
    found
}
