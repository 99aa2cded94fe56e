//! Measures the speed of the reader and of building sessions: `cargo bench --bench reader [FILE]`.
//!
//! Without a file, lines in the style of agents are generated. Prints the best of several runs, in
//! GB a second; on a busy machine, times can be compared only with each other.

#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

use bough::internals::format::Session;
use bough::internals::json::Reader;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let file = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    let text = match file {
        Some(file) => std::fs::read(&file).expect("the file can be read"),
        None => made_up(64 << 20),
    };
    best("lines: count line feeds", &text, |text| memchr::memchr_iter(b'\n', text).count());
    best("lines: reader", &text, |text| {
        let (mut reader, mut lines) = (Reader::new(), 0);
        feed(&mut reader, text, &mut lines);
        lines
    });
    best("lines: serde_json", &text, |text| {
        let lines = text.split(|byte| *byte == b'\n');
        lines.filter(|line| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()).count()
    });
    best("session: entries, tree", &text, |text| {
        Session::read(text).map_or(0, |session| session.tree.leaves().count())
    });
}

fn feed(reader: &mut Reader, text: &[u8], lines: &mut usize) {
    reader.feed(text, |_| *lines += 1);
    reader.finish(|_| *lines += 1);
}

fn best(name: &str, text: &[u8], run: impl Fn(&[u8]) -> usize) {
    let mut least = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        black_box(run(black_box(text)));
        least = least.min(start.elapsed().as_secs_f64());
    }
    println!("{name:36} {:7.2} GB/s", text.len() as f64 / least / 1e9);
}

/// Generates a session of pi: entries of a few hundred bytes to a few KiB, with an escape every
/// twenty bytes.
fn made_up(bytes: usize) -> Vec<u8> {
    let mut text = String::with_capacity(bytes + 8192);
    text.push_str("{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/\"}\n");
    let code = "\\tconst value = await read(\\\"path\\\");\\n// caf\\u00e9 and more\\n";
    let mut number = 0u32;
    while text.len() < bytes {
        let parent = if number == 0 { "null".to_owned() } else { format!("\"{:08x}\"", number - 1) };
        let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
        let said = code.repeat(4 + (number as usize * 7919) % 60);
        let _ = writeln!(
            text,
            r#"{{"type":"message","id":"{number:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"{role}","content":[{{"type":"text","text":"{said}"}}],"usage":{{"input":1200,"output":340,"cost":{{"total":0.0123}}}}}}}}"#
        );
        number += 1;
    }
    text.into_bytes()
}
