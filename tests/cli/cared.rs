//! What the agents' own programs loaded and sent after `drop`, `slim` and `join`, and whether bough
//! still writes what they were asked about.
//!
//! `care.tsv` has a row for each answer that `tests/oracles/care.py` recorded: the command, the session,
//! a digest of the result, the program, the number of messages (for Claude Code, of blocks) that it
//! sends, and a digest of them. Sessions named `rich/` are those of the tests with images, long results,
//! thinking and state added, which [`rich_sessions_are_written`] makes.

use crate::moving::replaced;
use crate::support::chance::Chance;
use crate::support::files::{copy, copy_below, project};
use crate::support::sandbox::{bough, code, said};
use base64::Engine;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The clock and the source of ids that `programs.py` has, too.
const NOW: &str = "2027-01-15T12:00:00Z";
const SEED: &str = "peers";

fn sessions() -> PathBuf {
    project().join("tests/cli/sessions")
}

#[test]
fn what_is_written_today_is_what_the_programs_were_asked_about() {
    let table = fs::read_to_string(sessions().join("care.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|row| row.split('\t').collect()).collect();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for row in &rows {
        let verb = row[0].split(' ').next().unwrap();
        *counts.entry((verb, row[3])).or_default() += 1;
    }
    for (verb, least) in [("drop", 80), ("slim", 400)] {
        let count: usize = counts.iter().filter(|((of, _), _)| *of == verb).map(|(_, count)| count).sum();
        assert!(count >= least, "{verb}: {counts:?}");
    }
    let wrong = |row: &Vec<&str>| {
        let [words, session, wrote, ..] = row[..] else { panic!("{row:?}") };
        let digest = digest(&result(words, session));
        (digest != wrote).then(|| format!("{words} {session}: {digest}, and {wrote} was asked about"))
    };
    // Most of the time goes into waiting for the disk.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = rows
            .chunks(rows.len().div_ceil(6))
            .map(|part| scope.spawn(move || part.iter().filter_map(wrong).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(
        wrong.is_empty(),
        "{} differ; where that is meant, `tests/oracles/care.py --record` asks the programs again:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// Carries out a command on a copy of a session, as `care.py` does; returns the result.
fn result(words: &str, session: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    // The program asks the system for the path of its home.
    let home = folder.path().canonicalize().unwrap();
    let from = sessions().join(session.strip_prefix("rich/").unwrap_or(session));
    let file = home.join(from.file_name().unwrap());
    match session.starts_with("rich/") {
        true => fs::write(&file, enriched(&from)).unwrap(),
        false => copy(&from, &file),
    }
    copy_below(&from.with_extension(""), &file.with_extension(""));
    let run = |words: &[&str], seed: &str, now: &str| {
        let mut command = bough(&home);
        command.args(words).env("BOUGH_NOW", now).env("BOUGH_IDS", seed);
        let output = command.output().unwrap();
        assert_eq!(code(&output), 0, "{words:?} {session}: {}", said(&output));
    };
    let name = file.to_str().unwrap();
    if words != "join" {
        let words: Vec<&str> = words.split(' ').chain(["--force", "--json", name]).collect();
        run(&words, SEED, NOW);
        // A note may name the file.
        return replaced(&fs::read(file).unwrap(), home.to_str().unwrap(), "WORK");
    }
    let other = match session.contains("claude") {
        true => home.join("copy").join(file.file_name().unwrap()),
        false => home.join("copy.jsonl"),
    };
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::copy(&file, &other).unwrap();
    let other = other.to_str().unwrap();
    let append = ["append", "--kind", "message", "--text"];
    run(&[&append[..], &["here", "--force", name]].concat(), "a", NOW);
    run(&[&append[..], &["there", "--force", other]].concat(), "b", "2027-01-15T12:05:00Z");
    run(&["join", name, other, "--force", "--json"], SEED, NOW);
    fs::read(file).unwrap()
}

/// Returns a session with an image in each second prompt and result, long results with their second
/// copies, thinking in each second reply, and state of an extension.
fn enriched(path: &Path) -> Vec<u8> {
    let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let is_claude = path.to_string_lossy().contains("claude");
    let image = base64::engine::general_purpose::STANDARD.encode(picture());
    let image = match is_claude {
        true => {
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}})
        }
        false => json!({"type": "image", "data": image, "mimeType": "image/png"}),
    };
    let (mut out, mut number) = (String::new(), 0);
    for line in text.lines() {
        let Some(mut value) =
            serde_json::from_str::<Value>(line).ok().filter(|value| value["message"].is_object())
        else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        number += 1;
        let is_second = number % 2 == 0;
        let is_plain = value.get("isMeta").is_none() && value.get("isCompactSummary").is_none();
        let role = value["message"]["role"].as_str().unwrap_or_default().to_owned();
        let content = &mut value["message"]["content"];
        let long = format!("{number} {}", "all work and no play ".repeat(60));
        match &*role {
            "user"
                if content.is_string()
                    && is_second
                    && is_plain
                    && !content.to_string().contains("<command") =>
            {
                *content = json!([{"type": "text", "text": content.take()}, image]);
            }
            "user"
                if is_claude && content[0]["type"] == "tool_result" && content[0]["content"].is_string() =>
            {
                let mut blocks = vec![json!({"type": "text", "text": long})];
                if is_second {
                    blocks.push(image.clone());
                }
                content[0]["content"] = blocks.into();
                value["toolUseResult"] = json!({"stdout": long, "stderr": "", "interrupted": false});
            }
            "toolResult" if content.is_array() => {
                let blocks = content.as_array_mut().unwrap();
                blocks.push(json!({"type": "text", "text": long}));
                if is_second {
                    blocks.push(image.clone());
                }
            }
            "assistant" if is_second && content[0]["type"] == "text" => {
                let signature = if is_claude { "signature" } else { "thinkingSignature" };
                let thinking =
                    json!({"type": "thinking", "thinking": format!("thought {number}"), signature: "c2ln"});
                content.as_array_mut().unwrap().insert(0, thinking);
            }
            _ => {}
        }
        out.push_str(&value.to_string());
        out.push('\n');
    }
    out.into_bytes()
}

/// Returns a small picture as PNG, without a pattern, so that it does not get smaller by packing.
fn picture() -> Vec<u8> {
    let mut chance = Chance::new(7);
    let mut rows = Vec::new();
    for _ in 0..24 {
        rows.push(0);
        rows.extend((0..24 * 3).map(|_| chance.below(256) as u8));
    }
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::none());
    packed.write_all(&rows).unwrap();
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let head = [&24u32.to_be_bytes()[..], &24u32.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    for (name, data) in [(b"IHDR", head), (b"IDAT", packed.finish().unwrap()), (b"IEND", Vec::new())] {
        let body = [&name[..], &data].concat();
        let mut crc = flate2::Crc::new();
        crc.update(&body);
        out.extend_from_slice(&(data.len() as u32).to_be_bytes());
        out.extend_from_slice(&body);
        out.extend_from_slice(&crc.sum().to_be_bytes());
    }
    out
}

/// Writes the sessions with more in them below the folder that `BOUGH_RICH` names.
#[test]
#[ignore = "makes sessions for tests/oracles/care.py"]
fn rich_sessions_are_written() {
    let top = PathBuf::from(std::env::var_os("BOUGH_RICH").expect("BOUGH_RICH names a folder"));
    for from in crate::support::sessions::sessions() {
        let name = from.strip_prefix(sessions()).unwrap();
        if name.starts_with("pi") || name.starts_with("claude/real") {
            let to = top.join(name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, enriched(&from)).unwrap();
        }
    }
}
