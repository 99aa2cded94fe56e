//! The session that an agent's own `--continue` opens: the newest in a folder, except those that
//! the agent skips.

use super::Options;
use super::locate::{Found, first_bytes};
use super::read::search;
use crate::format::{Detected, Format, detect};
use crate::json::{member, string, string_of};
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

/// How many bytes of a file Claude Code reads to see which session it belongs to (measured:
/// 2.1.332).
const HEAD: u64 = 64 * 1024;

/// What an agent does with a session file that is the newest of its folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Continued {
    /// It opens the file.
    Opened,
    /// It opens the file, which is empty.
    Empty,
    /// It skips the file and tries the next one.
    PassedOver(&'static str),
}

/// Returns what the agent's own `--continue` does with a session file that is the newest of its
/// folder.
///
/// Reads only as much as it needs, usually the first bytes.
pub fn continued(found: &Found, options: Options) -> Continued {
    let mut head = Vec::new();
    let read = File::open(&found.path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    if read.is_err() {
        return Continued::PassedOver("it can't be read");
    }
    let format = match (found.agent, detect(&head, Some(&found.path))) {
        ("claude", _) => Format::Claude,
        ("omp", _) => Format::Omp,
        (_, Detected::Format(format)) => format,
        _ => Format::Pi,
    };
    match format {
        Format::Claude => by_claude(&found.path, &head),
        Format::Omp if was_anything_said(&found.path, options) => Continued::Opened,
        Format::Omp => Continued::PassedOver("it has no messages"),
        // Chimera's sessions need no header.
        Format::Chimera if found.agent.is_empty() => Continued::Opened,
        format if format.is_guest() || has_header(&head) => Continued::Opened,
        _ => Continued::PassedOver("it has no header"),
    }
}

/// Returns whether a file is empty or contains no part of a conversation, so that it is probably
/// not the session that was meant.
pub fn is_stub(path: &Path) -> bool {
    let head = first_bytes(path, HEAD);
    match detect(&head, Some(path)) {
        Detected::Format(Format::Claude) => !has_links(path),
        // What these say is not only in messages.
        Detected::Format(format) if format.is_guest() => false,
        Detected::Format(_) => !was_anything_said(path, Options::default()),
        _ => true,
    }
}

/// Applies the rules of Claude Code, as measured (2.1.332).
fn by_claude(path: &Path, head: &[u8]) -> Continued {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if !is_uuid(&stem) {
        return Continued::PassedOver("its name is not a session id");
    }
    if head.is_empty() {
        return Continued::Empty;
    }
    if has_member(head, b"\"isSidechain\"", |value| value.starts_with(b"true")) {
        return Continued::PassedOver("it has entries of a subagent");
    }
    if has_member(head, b"\"teamName\"", |value| value.starts_with(b"\"") && !value.starts_with(b"\"\"")) {
        return Continued::PassedOver("it belongs to a teammate");
    }
    let first = head.split(|byte| *byte == b'\n').find(|line| has_link(line));
    let kind = first.and_then(|line| string_of(line, "sessionKind"));
    if kind.is_some_and(|kind| kind == "daemon" || kind == "daemon-worker") {
        return Continued::PassedOver("it belongs to a daemon");
    }
    if first.is_none() && !has_links(path) {
        return Continued::PassedOver("it has no conversation");
    }
    Continued::Opened
}

/// Returns whether a name is a UUID, in upper or lower case: the only file names that Claude Code
/// opens as sessions.
pub fn is_uuid(name: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    name.len() == 36
        && name.bytes().enumerate().all(|(at, byte)| match dashes.contains(&at) {
            true => byte == b'-',
            false => byte.is_ascii_hexdigit(),
        })
}

const LINK: &[u8] = b"\"parentUuid\"";

fn has_link(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, LINK).is_some()
}

/// Returns whether any line of a transcript belongs to the conversation, as Claude Code sees it.
fn has_links(path: &Path) -> bool {
    search::has(path, LINK.len() - 1, has_link).unwrap_or(false)
}

/// Returns whether a key with a value that `fits` is anywhere in bytes. Searches only the bytes, as
/// Claude Code does.
fn has_member(bytes: &[u8], key: &[u8], fits: impl Fn(&[u8]) -> bool) -> bool {
    memchr::memmem::find_iter(bytes, key).any(|at| {
        let rest = bytes[at + key.len()..].trim_ascii_start();
        rest.strip_prefix(b":").is_some_and(|value| fits(value.trim_ascii_start()))
    })
}

/// Returns whether the first line that is an object is pi's header.
fn has_header(head: &[u8]) -> bool {
    let first = head.split(|byte| *byte == b'\n').find(|line| member(line, "type").is_some());
    first.is_some_and(|line| {
        string_of(line, "type").as_deref() == Some("session") && member(line, "id").and_then(string).is_some()
    })
}

/// Returns whether a session of pi's family contains a title, a prompt or a reply.
fn was_anything_said(path: &Path, options: Options) -> bool {
    let mut said = false;
    let read = super::search_lines(path, options, None, &mut |_, _, line| {
        let text = |key: &str| string_of(line, key).unwrap_or_default();
        let message = || string_of(member(line, "message").unwrap_or_default(), "role").unwrap_or_default();
        said = match &*text("type") {
            "message" => matches!(&*message(), "user" | "assistant"),
            "session" | "title" | "title_change" => !text("title").trim().is_empty(),
            "session_info" => !text("name").trim().is_empty(),
            _ => false,
        };
        if said { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    // An unreadable file may well be the right one: opening it then reports why it can't be read.
    said || matches!(read, Err(super::Error::Io { .. }))
}

#[cfg(test)]
mod tests;
