//! What the agents' own programs loaded and sent after `drop`, `slim` and `join`: whether bough says
//! that they send it, and whether bough still writes what they were asked about.
//!
//! `care.tsv` has a row for each answer that `tests/oracles/care.py` recorded: the command, the session,
//! a digest of the result, the program, and the blocks that it sends, by their numbers in
//! `messages.tsv`. Names such as `rich/` at the beginning of a session are those of
//! [`Stuffing`]. `join, switch` is the older copy's HEAD, to which the joined session was switched.

use crate::moving::replaced;
use crate::support::files::{copy, copy_below};
use crate::support::messages::blocks_in_words;
use crate::support::recording::{self, Messages};
use crate::support::sandbox::{bough, code, said};
use crate::support::sessions::folder;
use crate::support::stuffed::{Stuffing, stuffed};
use bough::internals::context::Context;
use bough::internals::format::claude::request::Made;
use bough::internals::store::{self, Options};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The clock and the source of ids that `programs.py` has, too.
const NOW: &str = "2027-01-15T12:00:00Z";
const SEED: &str = "peers";

/// Splits the recording into the fields of its rows.
fn rows(table: &str) -> Vec<Vec<&str>> {
    table.lines().skip(1).map(|row| row.split('\t').collect()).collect()
}

#[test]
fn the_programs_were_asked_about_every_option() {
    let table = recording::read("care.tsv");
    let rows = rows(&table);
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for row in &rows {
        let verb = row[0].split(' ').next().unwrap();
        *counts.entry((verb, row[3])).or_default() += 1;
    }
    for (verb, least) in [("drop", 80), ("slim", 400), ("join", 100), ("join,", 100)] {
        let count: usize = counts.iter().filter(|((of, _), _)| *of == verb).map(|(_, count)| count).sum();
        assert!(count >= least, "{verb}: {counts:?}");
    }
    let options = [
        "images",
        "results",
        "tool-use-result",
        "subagents",
        "custom",
        "thinking",
        "before-compaction",
        "budget",
    ];
    for option in options {
        let option = format!("slim --in-place --{option}");
        let is_whole = |row: &&Vec<&str>| row[1].starts_with("full/") || row[1].starts_with("summed/");
        let count = rows.iter().filter(|row| row[0].starts_with(&option)).filter(is_whole).count();
        assert!(count >= 30, "{option} was asked about {count} sessions, block by block");
    }
    assert!(rows.iter().any(|row| row[1].starts_with("huge/")));
}

#[test]
fn what_is_written_today_is_sent_as_the_programs_sent_it() {
    let (table, messages) = (recording::read("care.tsv"), Messages::read());
    let rows = rows(&table);
    let wrong = |row: &Vec<&str>| {
        let [words, session, wrote, program, sent] = row[..] else { panic!("{row:?}") };
        let (bytes, mut blocks) = result(words, session);
        let is_made_up =
            |who: &str, text: &str| who.ends_with(" failed") && text == Made::Result(String::new()).phrase();
        for (who, text) in blocks.iter_mut().filter(|(who, text)| is_made_up(who, text)) {
            // bough has words of its own for a result that the client makes up.
            *text = messages.beginning(who, "[Tool call interrupted").unwrap().to_owned();
        }
        let (digest, ours) = (digest(&bytes), messages.runs(&blocks));
        if digest != wrote {
            return Some(format!("{words} {session}: {digest}, and {wrote} was asked about"));
        }
        (ours != sent).then(|| format!("{words} {session}: bough says {ours}, and {program} sent {sent}"))
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

/// Carries out a command on a copy of a session, as `care.py` does; returns the result, and what its
/// program would send according to bough.
fn result(words: &str, session: &str) -> (Vec<u8>, Vec<(String, String)>) {
    let place = tempfile::tempdir().unwrap();
    // The program asks the system for the path of its home.
    let home = place.path().canonicalize().unwrap();
    let (stuffing, own) = Stuffing::split(session);
    let from = folder().join(own);
    let file = home.join(from.file_name().unwrap());
    match stuffing {
        Some(stuffing) => {
            let (bytes, files) = stuffed(stuffing, &from);
            fs::write(&file, bytes).unwrap();
            for (inside, bytes) in &files {
                let to = file.with_extension("").join(inside);
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::write(to, bytes).unwrap();
            }
            if files.is_empty() {
                copy_below(&from.with_extension(""), &file.with_extension(""));
            }
        }
        None => {
            copy(&from, &file);
            copy_below(&from.with_extension(""), &file.with_extension(""));
        }
    }
    let run = |words: &[&str], seed: &str, now: &str| {
        let mut command = bough(&home);
        command.args(words).env("BOUGH_NOW", now).env("BOUGH_IDS", seed);
        let output = command.output().unwrap();
        assert_eq!(code(&output), 0, "{words:?} {session}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let name = file.to_str().unwrap();
    if !words.starts_with("join") {
        let words: Vec<&str> = words.split(' ').chain(["--force", "--json", name]).collect();
        run(&words, SEED, NOW);
        return written(&home, &file);
    }
    let other = match session.contains("claude") {
        true => home.join("copy").join(file.file_name().unwrap()),
        false => home.join("copy.jsonl"),
    };
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::copy(&file, &other).unwrap();
    let other = other.to_str().unwrap();
    let append = ["append", "--kind", "message", "--force", "--text"];
    run(&[&append[..], &["One more, of the older copy.", name]].concat(), "a", NOW);
    run(&[&append[..], &["Another one, of the newer copy.", other]].concat(), "b", "2027-01-15T12:05:00Z");
    let status: Value = serde_json::from_str(&run(&["status", "--json", name], SEED, NOW)).unwrap();
    run(&["join", name, other, "--force", "--json"], SEED, NOW);
    if words == "join, switch" {
        let older = format!("id:{}", status["head"].as_str().unwrap());
        run(&["switch", "--force", &older, "-s", name], SEED, NOW);
    }
    written(&home, &file)
}

/// Returns the bytes of a session and the names of the files that belong to it, and what its program
/// would send according to bough. A note may name the file.
fn written(home: &Path, file: &Path) -> (Vec<u8>, Vec<(String, String)>) {
    let name = home.to_str().unwrap();
    let mut bytes = replaced(&fs::read(file).unwrap(), name, "WORK");
    for path in files_below(&file.with_extension("")) {
        bytes.push(b'\n');
        bytes.extend_from_slice(path.strip_prefix(home).unwrap().to_str().unwrap().as_bytes());
    }
    let opened = store::open(file, Options::default()).unwrap();
    let (session, files) = (&opened.session, &opened.files);
    let context = Context::build(session, files, Context::position(session)).unwrap();
    let mut blocks = blocks_in_words(session, files, &context);
    blocks.iter_mut().for_each(|(_, text)| *text = text.replace(name, "WORK"));
    (bytes, blocks)
}

/// Returns the files below a folder, sorted.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let (folders, mut files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| files_below(folder)));
    files.sort();
    files
}

/// Writes the sessions with more in them below the folder that `BOUGH_RICH` names.
#[test]
#[ignore = "makes sessions for tests/oracles/care.py"]
fn rich_sessions_are_written() {
    let top = PathBuf::from(std::env::var_os("BOUGH_RICH").expect("BOUGH_RICH names a folder"));
    let write = |to: &Path, bytes: &[u8]| {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, bytes).unwrap();
    };
    for from in crate::support::sessions::sessions() {
        let name = from.strip_prefix(folder()).unwrap();
        let stuffings = Stuffing::ALL.into_iter().filter(|stuffing| stuffing.is_for(name.to_str().unwrap()));
        for stuffing in stuffings {
            let to = top.join(stuffing.name()).join(name);
            let (bytes, files) = stuffed(stuffing, &from);
            write(&to, &bytes);
            files.iter().for_each(|(inside, bytes)| write(&to.with_extension("").join(inside), bytes));
        }
    }
}
