//! Reading large session files in parallel.

use super::whole::read_at;
use crate::format::{Builder, Segment};
use crate::json::{Line, Reader};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

/// Smaller files are read on one thread: they take less than a tenth of a second, and threads cost
/// a little.
///
/// In unit tests, small files already count as large, so that they are opened as large files are.
pub(crate) const LARGE: u64 = if cfg!(test) { 4096 } else { 128 << 20 };

/// The length of a segment, in bytes.
const SEGMENT: u64 = if cfg!(test) { 1000 } else { 8 << 20 };

/// Reads a large session file on all processors, segment by segment. Returns `None` if there is
/// only one processor, or if it is impossible.
///
/// A worker reads the lines that begin in its segment, and makes columns of them; these are joined
/// in the order of the file. `begin` creates an empty builder of the session. If lines depend on
/// others in another segment, the file has to be read as a whole.
pub(crate) fn read(len: u64, file: &File, begin: impl Fn() -> Builder) -> io::Result<Option<Builder>> {
    match std::thread::available_parallelism().map_or(1, |count| count.get()) {
        1 => Ok(None),
        workers => read_with(workers, len, SEGMENT, file, begin),
    }
}

fn read_with(
    workers: usize,
    len: u64,
    segment: u64,
    file: &File,
    begin: impl Fn() -> Builder,
) -> io::Result<Option<Builder>> {
    let count = len.div_ceil(segment);
    // Bytes after the last segment were written in the meantime, and belong to it.
    let ends = |number: u64| if number + 1 == count { u64::MAX } else { (number + 1) * segment };
    let pattern = begin();
    let next = AtomicU64::new(1);
    // A worker that is ahead of the joining waits, so that only a few segments are held in memory.
    let (give, taken) = mpsc::sync_channel(workers);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (give, next, pattern) = (give.clone(), &next, &pattern);
            let started = std::thread::Builder::new().spawn_scoped(scope, move || {
                let mut reader = pattern.reader();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let mut part = Segment::begin(pattern);
                    let lines =
                        lines(file, &mut reader, number * segment, ends(number), |line| part.line(line));
                    // Nobody receives it if an earlier one could not be joined.
                    if give.send((number, lines.map(|()| part))).is_err() {
                        return;
                    }
                }
            });
            if started.is_err() {
                // There may be a limit of threads: those that exist do the work, and without any,
                // the file is read as a whole.
                if worker == 0 {
                    return Ok(None);
                }
                break;
            }
        }
        drop(give);
        let mut whole = begin();
        let result = lines(file, &mut whole.reader(), 0, ends(0), |line| whole.line(line));
        let mut waiting = BTreeMap::new();
        let mut due = 1;
        result?;
        for (number, part) in taken {
            waiting.insert(number, part?);
            while let Some(part) = waiting.remove(&due) {
                if !whole.append(part) {
                    return Ok(None);
                }
                due += 1;
            }
        }
        Ok(Some(whole))
    })
}

/// Yields the lines that begin in a segment of a file, each as a whole.
fn lines(
    file: &File,
    reader: &mut Reader,
    from: u64,
    to: u64,
    mut each: impl FnMut(&Line<'_>),
) -> io::Result<()> {
    let mut at = from;
    if from > 0 {
        // A line begins after a line feed, which may be the last byte before the segment.
        let Some(newline) = find_newline(file, reader, from - 1, to - 1)? else { return Ok(()) };
        at = newline + 1;
    }
    reader.restart(at, u64::from(from > 0));
    while at < to {
        let space = reader.space();
        let most = space.len().min(usize::try_from(to - at).unwrap_or(usize::MAX));
        match read_at(file, &mut space[..most], at)? {
            0 => break,
            count => {
                at += count as u64;
                reader.advance(count, &mut each);
            }
        }
    }
    // The last line may continue after the segment.
    let mut goes_on = at >= to && !ends_line(file, to)?;
    while goes_on {
        let space = reader.space();
        let count = read_at(file, space, at)?;
        let newline = memchr::memchr(b'\n', &space[..count]);
        goes_on = newline.is_none() && count > 0;
        at += count as u64;
        reader.advance(newline.map_or(count, |newline| newline + 1), &mut each);
    }
    reader.finish(&mut each);
    Ok(())
}

/// Returns the first line feed in the range from `from` to `to`.
fn find_newline(file: &File, reader: &mut Reader, mut from: u64, to: u64) -> io::Result<Option<u64>> {
    while from < to {
        let space = reader.space();
        let most = space.len().min(usize::try_from(to - from).unwrap_or(usize::MAX));
        let count = read_at(file, &mut space[..most], from)?;
        if let Some(newline) = memchr::memchr(b'\n', &space[..count]) {
            return Ok(Some(from + newline as u64));
        }
        if count == 0 {
            break;
        }
        from += count as u64;
    }
    Ok(None)
}

/// Returns whether the byte before `at` is a line feed.
fn ends_line(file: &File, at: u64) -> io::Result<bool> {
    let mut byte = [0];
    Ok(read_at(file, &mut byte, at - 1)? == 0 || byte == *b"\n")
}

#[cfg(test)]
mod tests {
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
            assert_eq!(
                shown(session),
                shown(&whole),
                "segments of {segment}: {}",
                String::from_utf8_lossy(text)
            );
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
        let text =
            format!("{CLAUDE}{{\"type\":\"user\",\n\"uuid\":\"u9\",\n\"parentUuid\":\"u5\"}}\n{CLAUDE}");
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
}
