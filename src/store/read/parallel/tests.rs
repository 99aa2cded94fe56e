//! Tests of reading in parallel, compared with reading in sequence.

use super::*;
use crate::format::{Detected, Session, detect};
use proptest::prelude::*;
use std::io::Write;

fn builder(text: &[u8]) -> Builder {
    let format = match detect(text, None) {
        Detected::Format(format) => format,
        _ => crate::format::Format::Pi,
    };
    let mut builder = Builder::new(format);
    builder.side();
    builder.begin_file();
    builder
}

/// Formats everything in a session as text.
fn shown(session: &Session) -> String {
    format!("{session:#?}")
}

/// Reads a text in segments of some size, if that is possible; the result must equal that of
/// reading it in one go.
fn check(text: &[u8], segment: u64) -> bool {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let read = read_with(2, text.len() as u64, segment, file.as_file(), || builder(text)).unwrap();
    let read = read.map(Builder::finish);
    let mut whole = builder(text);
    lines(file.as_file(), &mut whole.reader(), 0, u64::MAX, |line| whole.line(line)).unwrap();
    let whole = whole.finish();
    if let Some(session) = &read {
        assert_eq!(shown(session), shown(&whole), "segments of {segment}: {}", String::from_utf8_lossy(text));
    }
    read.is_some()
}

const PI: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/p"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-02T00:00:00.000Z","message":{"role":"user","content":"one"}}
{"type":"session_info","id":"n","parentId":"a","timestamp":"2026-03-02T00:00:00.000Z","name":"first"}
{"type":"message","id":"b","parentId":"n","message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"x"}]}}

{"type":"message","id":"longer-than-eight","parentId":"b","message":{"role":"toolResult","toolCallId":"t1","content":[]}}
"type":"message","id":"c","parentId":"longer-than-eight","message":{"role":"user","content":"two"}
{"type":"label","id":"l","parentId":"longer-than-eight","targetId":"a","label":"name"}
{"type":"session_info","id":"m","parentId":"l","timestamp":"2026-03-02T00:00:00.000Z","name":""}
{"type":"leaf","id":"q","parentId":"m","targetId":"b"}
"#;

const OPENCLAW: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/p"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}
{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[]}}
{"type":"message","id":"x","parentId":"a","message":{"role":"assistant","content":[]},"appendMode":"side"}
{"type":"message","id":"c","message":{"role":"user","content":"two"}}
{"type":"leaf","id":"l","parentId":"c","targetId":"a"}
{"type":"message","id":"d","parentId":"l","message":{"role":"user","content":"three"}}
"#;

const CLAUDE: &str = r#"{"type":"summary","summary":"what it was","leafUuid":"u2"}
{"parentUuid":null,"isSidechain":false,"cwd":"/p","sessionId":"one","version":"2.0.1","type":"user","message":{"role":"user","content":"<command-name>x</command-name>"},"uuid":"u1","timestamp":"2026-03-02T00:00:00.000Z"}
{"parentUuid":"u1","isSidechain":false,"sessionId":"one","version":"2.0.2","type":"assistant","message":{"role":"assistant","id":"m1","content":[{"type":"tool_use","id":"t1","name":"x"}]},"uuid":"u2"}
{"type":"file-history-snapshot","messageId":"u1"}
{"parentUuid":"u2","sessionId":"two","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]},"uuid":"u3"}
{"parentUuid":"u3","type":"system","subtype":"compact_boundary","sessionId":"two","uuid":"u4","compactMetadata":{"preservedMessages":{"anchorUuid":"u5","uuids":["u3"]}}}
{"parentUuid":"u4","isCompactSummary":true,"type":"user","message":{"role":"user","content":"typed"},"uuid":"u5","sessionId":"two"}
{"type":"last-prompt","lastPrompt":"typed","leafUuid":"u5"}
{"type":"custom-title","customTitle":"title"}
"#;

const PI_V1: &str = r#"{"type":"session","id":"s","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/p","provider":"p","modelId":"m"}
{"type":"message","timestamp":"2026-03-02T00:00:01.000Z","message":{"role":"user","content":"one"}}
{"type":"message","timestamp":"2026-03-02T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"x"}]}}
{"type":"message","timestamp":"2026-03-02T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"t1","content":[]}}
{"type":"compaction","timestamp":"2026-03-02T00:00:04.000Z","summary":"so far","firstKeptEntryIndex":2,"tokensBefore":10}
{"type":"message","timestamp":"2026-03-02T00:00:05.000Z","message":{"role":"user","content":"two"}}
"#;

const CODEX: &str = r#"{"timestamp":"2026-03-02T00:00:00.000Z","type":"session_meta","payload":{"id":"s","cwd":"/p"}}
{"timestamp":"2026-03-02T00:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}
{"timestamp":"2026-03-02T00:00:01.000Z","type":"response_item","payload":{"type":"function_call","name":"x","call_id":"t1","arguments":"{}"}}
{"timestamp":"2026-03-02T00:00:02.000Z","type":"token_usage_record","payload":{"usage":{"input_tokens":1}}}
{"timestamp":"2026-03-02T00:00:02.000Z","type":"event_msg","payload":{"type":"token_count","info":{}}}
{"timestamp":"2026-03-02T00:00:03.000Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}
{"timestamp":"2026-03-02T00:00:04.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"two"}]}}
"#;

const GEMINI: &str = r#"{"sessionId":"s","projectHash":"h","startTime":"2026-03-02T00:00:00.000Z"}
{"id":"m1","timestamp":"2026-03-02T00:00:00.000Z","type":"user","content":"one"}
{"id":"m2","timestamp":"2026-03-02T00:00:00.000Z","type":"gemini","content":"two"}
{"id":"m2","timestamp":"2026-03-02T00:00:00.000Z","type":"gemini","content":"two","toolCalls":[{"id":"c","name":"x"}]}
{"$rewindTo":"m2"}
{"id":"m3","timestamp":"2026-03-02T00:00:00.000Z","type":"user","content":"three"}
{"$set":{"messages":[{"id":"m3","type":"user","content":"four"},{"id":"m4","type":"gemini","content":"five"}]}}
{"id":"m5","timestamp":"2026-03-02T00:00:00.000Z","type":"user","content":"six"}
"#;

const COPILOT: &str = r#"{"type":"session.start","data":{"sessionId":"s","context":{"cwd":"/p"}},"id":"e1","timestamp":"2026-03-02T00:00:00.000Z","parentId":null}
{"type":"session.title_changed","data":{"title":"first"},"id":"e2","timestamp":"2026-03-02T00:00:00.000Z","parentId":"e1"}
{"type":"user.message","data":{"content":"one"},"id":"e3","timestamp":"2026-03-02T00:00:01.000Z","parentId":"e2"}
{"type":"assistant.message","data":{"content":"two","toolRequests":[{"toolCallId":"t1","name":"x"}]},"id":"e4","timestamp":"2026-03-02T00:00:02.000Z","parentId":"e3"}
{"type":"tool.execution_complete","data":{"toolCallId":"t1","success":true},"id":"e5","timestamp":"2026-03-02T00:00:03.000Z","parentId":"e4"}
{"type":"session.title_changed","data":{},"id":"e6","timestamp":"2026-03-02T00:00:03.000Z","parentId":"e5"}
{"type":"user.message","data":{"content":"three"},"id":"e7","timestamp":"2026-03-02T00:00:04.000Z","parentId":"e3"}
"#;

#[test]
fn a_file_in_segments_is_the_file() {
    for text in [PI, PI_V1, OPENCLAW, CLAUDE, CODEX, GEMINI, COPILOT] {
        let mut joined = 0;
        for segment in 1..text.len() as u64 {
            joined += usize::from(check(text.as_bytes(), segment));
        }
        assert_eq!(joined, text.len() - 1);
    }
}

#[test]
#[rustfmt::skip] // a table
fn what_depends_on_lines_before_is_read_as_a_whole() {
    let check = |line: &str, joined: bool| {
        assert_eq!(check(format!("{PI}{line}\n").as_bytes(), PI.len() as u64), joined, "{line}");
    };
    check(r#"{"type":"message","id":"d","parentId":"q"}"#, true);
    check(r#"{"type":"session","version":3,"id":"again"}"#, false);
    check("17",                                            false);
    check("not JSON",                                      true);
    // Whether it may continue on the next line depends on the header.
    check(r#"{"type":"message","id":"d""#,                 false);
    check("",                                              true);
}

#[test]
fn an_object_over_several_lines_is_one_wherever_segments_end() {
    let text = format!("{CLAUDE}{{\"type\":\"user\",\n\"uuid\":\"u9\",\n\"parentUuid\":\"u5\"}}\n{CLAUDE}");
    let joined = (1..text.len() as u64).filter(|segment| check(text.as_bytes(), *segment)).count();
    assert!(joined > 0 && joined < text.len() - 1, "{joined}");
}

#[test]
fn a_root_behind_an_entry_without_an_id_is_one_wherever_segments_end() {
    let root = r#"{"parentUuid":null,"isSidechain":false,"sessionId":"s","type":"user","message":{"role":"user","content":"hi"}"#;
    let text = format!("{root}}}\n{root},\"uuid\":\"u\"}}\n").repeat(2);
    let joined = (1..text.len() as u64).filter(|segment| check(text.as_bytes(), *segment)).count();
    assert!(joined > 0, "{joined}");
}

proptest! {
    #[test]
    fn damaged_files_in_segments_are_the_same(
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..6),
        text in prop::sample::select(vec![PI, CLAUDE, CODEX, GEMINI, COPILOT]),
        segment in 1u64..700,
    ) {
        let (_, again) = text.split_once('\n').unwrap();
        let mut text = format!("{text}{again}").into_bytes();
        for (at, other, byte) in cuts {
            let (at, other) = (at.index(text.len()), other.index(text.len()));
            match byte % 4 {
                0 => text[at] = b'\n',
                1 => text[at] = byte,
                2 => _ = text.drain(at.min(other)..at.max(other).min(at.min(other) + 40)),
                _ => {
                    let piece = text[at.min(other)..at.max(other).min(at.min(other) + 300)].to_vec();
                    text.splice(at..at, piece);
                }
            }
            if text.is_empty() {
                text.push(b'\n');
            }
        }
        check(&text, segment);
    }
}
