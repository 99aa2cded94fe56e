//! Rewriting the lines of a file: which fields of which files hold paths.

use super::PathMap;
use crate::json::{self, Escapes, quoted};
use crate::model::{Piece, Span};
use crate::ops::export::{MovedResults, begins_a_path};
use memchr::memmem;
use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::ops::Range;

/// What kind of file is rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A transcript of Claude Code.
    Claude,
    /// A session of pi or oh-my-pi: its header names the paths.
    Pi,
    /// A session of Chimera: its header names the path.
    Chimera,
    /// A JSON file that Claude Code keeps beside a transcript, or an index of sessions.
    Sidecar,
    /// Claude Code's list of prompts.
    History,
    /// Claude Code's settings of projects, whose keys are paths.
    Projects,
    /// Anything else: nothing is a path.
    Other,
}

/// The paths that have changed.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// Working directories.
    pub folders: PathMap,
    /// Session files and the folders of the agent.
    pub files: PathMap,
    /// Stored tool results of the session, if it has any.
    pub results: Option<MovedResults>,
    /// Whether to change the paths in all texts, too.
    pub text: bool,
    /// The session whose lines of the history change; `None` for all.
    pub session: Option<String>,
}

/// A file with other paths.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rewritten {
    /// The new content.
    pub pieces: Vec<Piece>,
    /// How many values were changed, by the name of the field.
    pub changed: BTreeMap<String, u64>,
    /// How many bytes the file has.
    pub len: u64,
}

impl Rewritten {
    /// Returns whether no byte changes.
    pub fn is_same(&self) -> bool {
        self.changed.is_empty()
    }
}

/// Reads a file to its end, and returns its content with other paths; kept pieces are of `file`.
pub fn rewrite(reader: &mut dyn BufRead, file: u16, kind: Kind, paths: &Paths) -> io::Result<Rewritten> {
    let mut out = Rewritten::default();
    let marks = Marks::new(paths);
    let mut kept = 0;
    let mut line = Vec::new();
    let is_whole = matches!(kind, Kind::Sidecar | Kind::Projects);
    loop {
        line.clear();
        let len = if is_whole { reader.read_to_end(&mut line)? } else { read_line(reader, &mut line)? };
        if len == 0 {
            break;
        }
        let start = out.len;
        out.len += len as u64;
        if !marks.are_in(&line) {
            continue;
        }
        let mut edits = LineEdits::default();
        find(&line, kind, paths, &mut edits);
        edits.list.sort_by_key(|edit| edit.at.start);
        for edit in edits.list {
            let (from, to) = (start + edit.at.start as u64, start + edit.at.end as u64);
            if from < kept {
                continue;
            }
            out.pieces.push(Piece::Keep(Span { file, offset: kept, len: from - kept }));
            out.pieces.push(Piece::New(edit.new));
            *out.changed.entry(edit.field).or_default() += 1;
            kept = to;
        }
    }
    out.pieces.push(Piece::Keep(Span { file, offset: kept, len: out.len - kept }));
    out.pieces.retain(|piece| piece.bytes() > 0);
    Ok(out)
}

/// Appends a line with its newline, as [`BufRead::read_until`] does, and finds its end faster.
fn read_line(reader: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let before = line.len();
    loop {
        let block = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let end = memchr::memchr(b'\n', block);
        let count = end.map_or(block.len(), |at| at + 1);
        line.extend_from_slice(&block[..count]);
        reader.consume(count);
        if end.is_some() || count == 0 {
            return Ok(line.len() - before);
        }
    }
}

/// Pieces of the old paths that no program escapes: a line without them names none of the paths.
struct Marks(Vec<memmem::Finder<'static>>);

impl Marks {
    fn new(paths: &Paths) -> Marks {
        let mut marks: Vec<String> = Vec::new();
        for (old, _) in paths.folders.pairs().iter().chain(paths.files.pairs()) {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
            let longest = old.split(|c| !plain(c)).max_by_key(|part| part.len()).unwrap_or_default();
            if !marks.iter().any(|mark| mark == longest) {
                marks.push(longest.to_owned());
            }
        }
        Marks(marks.iter().map(|mark| memmem::Finder::new(mark).into_owned()).collect())
    }

    fn are_in(&self, line: &[u8]) -> bool {
        self.0.iter().any(|mark| mark.find(line).is_some())
    }
}

/// The changes of one line.
#[derive(Default)]
struct LineEdits {
    list: Vec<Edit>,
}

struct Edit {
    at: Range<usize>,
    new: Vec<u8>,
    field: String,
}

impl LineEdits {
    /// Changes a string that is a path: only its beginning, if it is spelled without escapes.
    fn path(&mut self, line: &[u8], value: &[u8], map: &PathMap, field: &str) {
        let Some(text) = json::string(value) else { return };
        let Some((old, new)) = map.moved(&text) else { return };
        if old == new {
            return;
        }
        let at = json::place_in(line, value);
        let raw = &line[at.start + 1..at.end - 1];
        let edit = if old != "/" && new != "/" && raw.starts_with(old.as_bytes()) {
            let spelled = spelled(new, escapes_for(new, line));
            Edit { at: at.start + 1..at.start + 1 + old.len(), new: spelled, field: field.into() }
        } else {
            let Some(whole) = map.apply(&text) else { return };
            Edit {
                at: at.start + 1..at.end - 1,
                new: spelled(&whole, escapes_for(&whole, line)),
                field: field.into(),
            }
        };
        self.list.push(edit);
    }

    /// Changes each string of a list.
    fn list(&mut self, line: &[u8], value: Option<&[u8]>, map: &PathMap, field: &str) {
        for item in json::each_item(value.unwrap_or_default()) {
            self.path(line, item, map, field);
        }
    }

    /// Changes all strings below a value that are paths, whatever their keys.
    fn below(&mut self, line: &[u8], value: &[u8], map: &PathMap, field: &str, depth: usize) {
        match value.first() {
            Some(b'"') => self.path(line, value, map, field),
            Some(b'{') if depth > 0 => {
                for (key, value) in json::each_member(value) {
                    self.below(line, value, map, &key, depth - 1);
                }
            }
            Some(b'[') if depth > 0 => {
                for item in json::each_item(value) {
                    self.below(line, item, map, field, depth - 1);
                }
            }
            _ => {}
        }
    }

    /// Changes the keys of an object that are paths.
    fn keys(&mut self, line: &[u8], object: &[u8], map: &PathMap, field: &str) {
        let new: Vec<String> = json::each_member(object)
            .filter(|(key, _)| map.moved(key).is_none())
            .map(|(key, _)| key.into_owned())
            .collect();
        let mut at = json::place_in(line, object).start;
        for (key, value) in json::each_member(object) {
            let value_at = json::place_in(line, value);
            // The key is the only string between the previous value and this one.
            let from = line[at..value_at.start].iter().position(|byte| *byte == b'"').map(|found| at + found);
            if let Some(from) = from
                && let Some(to) = json::end_of_string(line, from)
                && map.apply(&key).is_some_and(|moved| moved != *key && !new.contains(&moved))
            {
                self.path(line, &line[from..to], map, field);
            }
            at = value_at.end;
        }
    }

    /// Changes the paths in all texts of a line, except in what is signed.
    fn text(&mut self, line: &[u8], map: &PathMap) {
        let signed = signed(line);
        for (old, new) in map.pairs().iter().filter(|(old, new)| old != "/" && old != new) {
            let escapes = escapes_of(line);
            for (spelling, new) in spellings(old, escapes).into_iter().zip(spellings(new, escapes)) {
                for from in memmem::find_iter(line, &spelling) {
                    let at = from..from + spelling.len();
                    let is_path = begins_a_path(&line[..at.start]) && ends_a_folder(&line[at.end..]);
                    let overlaps = |other: &Range<usize>| at.start < other.end && other.start < at.end;
                    if is_path
                        && !signed.iter().any(overlaps)
                        && !self.list.iter().any(|edit| overlaps(&edit.at))
                    {
                        self.list.push(Edit { at, new: new.clone(), field: "text".into() });
                    }
                }
            }
        }
    }
}

/// Returns a path as JSON spells it, without quotes.
fn spelled(path: &str, escapes: Escapes) -> Vec<u8> {
    let quoted = quoted(path, escapes);
    quoted[1..quoted.len() - 1].to_vec()
}

/// Returns the ways in which a path may be spelled: also with escaped slashes.
fn spellings(path: &str, escapes: Escapes) -> [Vec<u8>; 2] {
    let plain = spelled(path, escapes);
    let slashes =
        plain.iter().flat_map(|byte| if *byte == b'/' { vec![b'\\', b'/'] } else { vec![*byte] }).collect();
    [plain, slashes]
}

/// Returns how a line spells characters that are not ASCII.
fn escapes_of(line: &[u8]) -> Escapes {
    if line.is_ascii() && memmem::find(line, b"\\u").is_some() { Escapes::Ascii } else { Escapes::Needed }
}

/// Returns how a path is to be spelled in a line; the line matters only for characters that are not ASCII.
fn escapes_for(path: &str, line: &[u8]) -> Escapes {
    if path.is_ascii() { Escapes::Needed } else { escapes_of(line) }
}

/// Returns whether the name of a folder ends before these bytes of JSON text.
fn ends_a_folder(after: &[u8]) -> bool {
    match after {
        // A full stop ends a sentence, or begins another part of the name.
        [b'.', next, ..] => !(next.is_ascii_alphanumeric() || matches!(next, b'-' | b'_')),
        [first, ..] => first.is_ascii() && !first.is_ascii_alphanumeric() && !matches!(first, b'-' | b'_'),
        [] => true,
    }
}

/// Returns the ranges of a line that the model's provider signed: thinking, with its signature.
fn signed(line: &[u8]) -> Vec<Range<usize>> {
    if memmem::find(line, b"thinking").is_none() && memmem::find(line, b"ignature").is_none() {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut todo = vec![line];
    while let Some(value) = todo.pop() {
        if value.first() == Some(&b'[') {
            todo.extend(json::each_item(value));
            continue;
        }
        let ty = json::text(value, "type");
        if matches!(&*ty, "thinking" | "redacted_thinking" | "thought" | "reasoning") {
            out.push(json::place_in(line, value));
            continue;
        }
        let nested = |value: &&[u8]| matches!(value.first(), Some(b'{' | b'['));
        todo.extend(json::each_member(value).map(|(_, value)| value).filter(nested));
    }
    out
}

/// Finds the paths in a line: in its object, or in all of them if the lines of several are glued.
fn find(line: &[u8], kind: Kind, paths: &Paths, edits: &mut LineEdits) {
    let mut rest = trimmed(line);
    while !rest.is_empty() {
        let Some((members, end)) = json::Members::whole(rest) else {
            loose(line, rest, kind, &paths.folders, edits);
            break;
        };
        in_object(line, &rest[..end], &members, kind, paths, edits);
        rest = trimmed(&rest[end..]);
    }
    if paths.text && !matches!(kind, Kind::History | Kind::Projects | Kind::Other) {
        edits.text(line, &paths.folders);
    }
}

/// Finds the paths in an object of a line.
fn in_object(
    line: &[u8],
    object: &[u8],
    members: &json::Members<'_>,
    kind: Kind,
    paths: &Paths,
    edits: &mut LineEdits,
) {
    let folders = &paths.folders;
    let mut one = |key: &str, map: &PathMap| {
        if let Some(value) = members.get(key) {
            edits.path(line, value, map, key);
        }
    };
    match kind {
        Kind::Claude => {
            one("cwd", folders);
            one("relocatedCwd", folders);
            one("trackingPath", folders);
            if let Some(value) = members.get("worktreeSession") {
                edits.below(line, value, folders, "worktreeSession", 2);
            }
            let snapshot = members.get("snapshot").and_then(|it| json::member(it, "trackedFileBackups"));
            if let Some(tracked) = snapshot {
                edits.keys(line, tracked, folders, "trackedFileBackups");
            }
            if let Some(results) = &paths.results {
                for (at, new) in results.stretches(object) {
                    let shift = json::place_in(line, object).start;
                    let at = at.start + shift..at.end + shift;
                    edits.list.push(Edit { at, new, field: "tool-results".into() });
                }
            }
        }
        Kind::Pi if matches!(members.text("type").as_ref(), "session" | "header") => {
            one("cwd", folders);
            one("parentSession", &paths.files);
            one("branchedFrom", &paths.files);
            one("legacyParentSessionPath", &paths.files);
            edits.list(line, members.get("additionalDirectories"), folders, "additionalDirectories");
            edits.list(line, members.get("previousSessionFiles"), &paths.files, "previousSessionFiles");
        }
        Kind::Chimera if members.text("type") == "header" => one("cwd", folders),
        Kind::Sidecar => {
            edits.below(line, object, folders, "", 4);
            let before = edits.list.len();
            edits.below(line, object, &paths.files, "", 4);
            let known: Vec<Range<usize>> = edits.list[..before].iter().map(|edit| edit.at.clone()).collect();
            edits.list.retain({
                let mut number = 0;
                move |edit| {
                    number += 1;
                    number <= before || !known.iter().any(|at| at.start == edit.at.start)
                }
            });
        }
        Kind::History => {
            let is_its = |wanted: &String| members.text("sessionId") == wanted.as_str();
            if paths.session.as_ref().is_none_or(is_its) {
                one("project", folders);
            }
        }
        Kind::Projects => {
            if let Some(projects) = members.get("projects") {
                edits.keys(line, projects, folders, "projects");
            }
        }
        Kind::Pi | Kind::Chimera | Kind::Other => {}
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(line.len());
    &line[start..]
}

/// Finds the paths in a part of a line that is not a whole object, by their keys.
fn loose(line: &[u8], part: &[u8], kind: Kind, folders: &PathMap, edits: &mut LineEdits) {
    let keys: &[&str] = match kind {
        Kind::Claude => &["cwd", "relocatedCwd"],
        Kind::Pi | Kind::Chimera => &["cwd"],
        _ => &[],
    };
    for key in keys {
        let quoted = format!("\"{key}\"");
        for found in memmem::find_iter(part, quoted.as_bytes()) {
            // A quote after a backslash is inside a text.
            if found > 0 && part[found - 1] == b'\\' {
                continue;
            }
            let mut at = found + quoted.len();
            let skip = |at: &mut usize| {
                while part.get(*at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
                    *at += 1;
                }
            };
            skip(&mut at);
            if part.get(at) != Some(&b':') {
                continue;
            }
            at += 1;
            skip(&mut at);
            if part.get(at) == Some(&b'"')
                && let Some(end) = json::end_of_string(part, at)
            {
                edits.path(line, &part[at..end], folders, key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
