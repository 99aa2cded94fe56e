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
