//! What the name of a file and its folder say about its format.

use super::Writer;
use crate::format::Program;
use std::path::Path;

/// Returns the writer that the name of a file and its folder suggest.
pub(super) fn by_name(path: &Path) -> Option<Writer> {
    let stem = path.file_stem()?.to_str()?;
    let in_folder = |name: &str| path.components().any(|part| part.as_os_str() == name);
    if in_folder(".claude") || crate::format::is_agents(path) {
        return Some(Writer::Claude);
    }
    if in_folder(".pi") || in_folder(".omp") {
        return Some(Writer::Pi);
    }
    if is_uuid(stem) {
        return Some(Writer::Claude);
    }
    // `2026-03-02T00-00-00-000Z_ID`
    if let Some((time, _)) = stem.split_once('_')
        && time.ends_with('Z')
        && time.contains('T')
    {
        return Some(Writer::Pi);
    }
    let is_hash = stem.len() == 12 && stem.as_bytes().iter().all(is_hex);
    is_hash.then_some(Writer::Chimera)
}

/// Returns the program in whose store a file is.
pub(super) fn by_folder(path: &Path) -> Option<Program> {
    let folders: Vec<&str> =
        path.parent()?.components().filter_map(|part| part.as_os_str().to_str()).collect();
    let is_below = |home: &str, folder: &str| {
        let at = folders.iter().position(|name| *name == home);
        at.is_some_and(|at| folders[at..].contains(&folder))
    };
    if is_below(".openclaw", "sessions") || is_below(".clawdbot", "sessions") {
        return Some(Program::OpenClaw);
    }
    if is_below(".prime", "sessions") {
        return Some(Program::Prime);
    }
    is_below(".qwen", "chats").then_some(Program::Qwen)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

pub(super) fn is_hex(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}
