//! Random damage to the bytes of a file.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The kinds of damage to a file.
#[derive(Clone, Debug)]
pub enum Damage {
    Cut(Index, Index),
    Insert(Index, Vec<u8>),
    Flip(Index, u8),
    Repeat(Index, Index),
    SwapLines(Index, Index),
    RemoveLine(Index),
    /// Inserts a copy of a line before another.
    RepeatLine(Index, Index),
    /// Inserts a line of some format.
    NewLine(Index, &'static str),
    /// Replaces a value inside a line by one of another type.
    Retype(Index, Index, &'static str),
    CrLf,
    Mark,
    End(Index),
    Unended,
}

/// Lines that mean something in some format, or almost.
const LINES: &[&str] = &[
    "",
    "null",
    "[]",
    r#"{"$set":{"messages":[1,"x",null,[],{"id":7},{"id":"m","type":"user","content":5},{"$rewindTo":"m"},{"id":"m","type":"gemini"}]}}"#,
    r#"{"$set":{"messages":[]}}"#,
    r#"{"$set":{"messages":{}},"summary":1}"#,
    r#"{"$set":[]}"#,
    r#"{"$rewindTo":"none"}"#,
    r#"{"$rewindTo":{}}"#,
    r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#,
    r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":-1}}"#,
    r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1.5}}"#,
    r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":18446744073709551616}}"#,
    r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":"2"}}"#,
    r#"{"type":"response_item","payload":null}"#,
    r#"{"type":"response_item","payload":[{"type":"message"}]}"#,
    r#"{"type":"response_item","payload":{"type":"message","role":"user","content":5}}"#,
    r#"{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":{"command":["ls"]},"call_id":7}}"#,
    r#"{"type":"compacted","payload":{"message":"so far","replacement_history":[1,{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]},null]}}"#,
    r#"{"type":"compacted","payload":{"message":["so far"]}}"#,
    r#"{"type":"user.message","data":"x","id":"one","timestamp":"2026-01-05T10:00:00.000Z","parentId":"two"}"#,
    r#"{"type":"user.message","data":{"content":"x"},"id":"two","timestamp":1,"parentId":"one"}"#,
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T10:00:00.000Z","cwd":"/tmp"}"#,
    r#"{"type":"message","id":"aaaa0001","parentId":null,"message":{"role":"user","content":"x"}}"#,
    r#"{"type":"user","uuid":"0198c0de-0000-7000-8000-000000000001","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"x"}}"#,
];

const VALUES: &[&str] = &[
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "1e400",
    "18446744073709551616",
    "\"\"",
    "\"x\"",
    "\"{\\\"a\\\":[\"",
    "[]",
    "[1]",
    "[\"x\",null]",
    "[[{}]]",
    "{}",
    "{\"type\":7}",
    "{\"text\":\"x\"}",
];

pub fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        (at(), at()).prop_map(|(from, to)| Damage::Cut(from, to)),
        (at(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (at(), select(b"\"\\{}[],:\n\r\0 \xFF0a".to_vec())).prop_map(|(at, byte)| Damage::Flip(at, byte)),
        (at(), at()).prop_map(|(from, to)| Damage::Repeat(from, to)),
        (at(), at()).prop_map(|(one, other)| Damage::SwapLines(one, other)),
        at().prop_map(Damage::RemoveLine),
        (at(), at()).prop_map(|(from, to)| Damage::RepeatLine(from, to)),
        (at(), select(LINES.to_vec())).prop_map(|(at, line)| Damage::NewLine(at, line)),
        (at(), at(), select(VALUES.to_vec())).prop_map(|(line, at, value)| Damage::Retype(line, at, value)),
        select(vec![Damage::CrLf, Damage::Mark, Damage::Unended]),
        at().prop_map(Damage::End),
    ]
}

impl Damage {
    pub fn on(&self, bytes: &mut Vec<u8>) {
        let place = |at: &Index, len: usize| if len == 0 { 0 } else { at.index(len) };
        let range = |from: &Index, to: &Index, len: usize| {
            let (from, to) = (place(from, len), place(to, len));
            // Most damage is small.
            from.min(to)..from.max(to).min(from.min(to) + 400)
        };
        match self {
            Damage::Cut(from, to) => drop(bytes.drain(range(from, to, bytes.len()))),
            Damage::Insert(at, new) => {
                let at = place(at, bytes.len());
                bytes.splice(at..at, new.iter().copied());
            }
            Damage::Flip(at, byte) => {
                if let Some(old) = bytes.len().checked_sub(1).map(|last| at.index(last + 1)) {
                    bytes[old] = *byte;
                }
            }
            Damage::Repeat(from, to) => {
                let again = bytes[range(from, to, bytes.len())].to_vec();
                bytes.extend_from_slice(&again);
            }
            Damage::SwapLines(one, other) => {
                on_lines(bytes, |lines| {
                    let (one, other) = (place(one, lines.len()), place(other, lines.len()));
                    lines.swap(one, other);
                });
            }
            Damage::RemoveLine(at) => on_lines(bytes, |lines| {
                let at = place(at, lines.len());
                lines.remove(at);
            }),
            Damage::RepeatLine(from, to) => on_lines(bytes, |lines| {
                let line = lines[place(from, lines.len())];
                let to = place(to, lines.len());
                lines.insert(to, line);
            }),
            Damage::NewLine(at, line) => {
                on_lines(bytes, |lines| {
                    let at = place(at, lines.len());
                    lines.insert(at, line.as_bytes());
                });
            }
            Damage::Retype(line, at, new) => {
                let mut lines: Vec<Vec<u8>> =
                    bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                let line = place(line, lines.len());
                if let Ok(mut value) = serde_json::from_slice::<Value>(&lines[line]) {
                    let mut count = 0;
                    nth(&mut value, &mut count, usize::MAX);
                    let wanted = place(at, count);
                    if let Some(old) = nth(&mut value, &mut 0, wanted) {
                        *old = serde_json::from_str(new).unwrap();
                    }
                    lines[line] = value.to_string().into_bytes();
                }
                *bytes = lines.join(&b'\n');
            }
            Damage::CrLf => {
                let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
                *bytes = lines.join(&b"\r\n"[..]);
            }
            Damage::Mark => drop(bytes.splice(0..0, *b"\xEF\xBB\xBF")),
            Damage::End(at) => bytes.truncate(place(at, bytes.len())),
            Damage::Unended => drop(bytes.pop_if(|last| *last == b'\n')),
        }
    }
}

fn on_lines(bytes: &mut Vec<u8>, change: impl FnOnce(&mut Vec<&[u8]>)) {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    change(&mut lines);
    *bytes = lines.join(&b'\n');
}

/// Returns the value inside another that comes as the `wanted`th; `count` is how many came before.
fn nth<'v>(value: &'v mut Value, count: &mut usize, wanted: usize) -> Option<&'v mut Value> {
    let inner: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(members) => members.values_mut().collect(),
        _ => return None,
    };
    for value in inner {
        *count += 1;
        if *count - 1 == wanted {
            return Some(value);
        }
        if let Some(found) = nth(value, count, wanted) {
            return Some(found);
        }
    }
    None
}

/// Truncates the last line of a file in the middle, as if nobody had touched it since.
pub fn tear(path: &Path) {
    let (bytes, time) = (fs::read(path).unwrap(), fs::metadata(path).unwrap().modified().unwrap());
    fs::write(path, &bytes[..bytes.len() - 30]).unwrap();
    fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}
