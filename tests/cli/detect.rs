//! Format detection is correct for all sessions, and for those of one program with lines of
//! another.

use crate::support::files::project;
use crate::support::formats::{RECORDED, compare, detected};
use crate::support::need;
use crate::support::sessions::sessions_below;
use bough::internals::format::{Detected, Format, Program, detect};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::fs;

#[test]
fn the_formats_of_all_sessions_are_as_recorded() {
    let folder = project().join("tests/cli/sessions");
    compare(&folder, "tests/cli/sessions/");
}

/// A session of each program, whole lines.
fn sessions() -> Vec<(Detected, Vec<String>)> {
    let of = |path: &str, told| {
        let text = fs::read_to_string(project().join("tests/cli/sessions").join(path)).unwrap();
        (told, text.lines().map(str::to_owned).collect())
    };
    vec![
        of("pi/pi16-labels.jsonl", Detected::Format(Format::Pi)),
        of("chimera/branching.jsonl", Detected::Format(Format::Chimera)),
        of("claude-code/assistant-retry.jsonl", Detected::Format(Format::Claude)),
        of("derived/tau.jsonl", Detected::Foreign(Program::Tau)),
        of("derived/kit.jsonl", Detected::Foreign(Program::Kit)),
        of("derived/qwen.jsonl", Detected::Foreign(Program::Qwen)),
        of("derived/copilot.jsonl", Detected::Format(Format::Copilot)),
        of("guests/codex-01.jsonl", Detected::Format(Format::Codex)),
        of("guests/gemini-01.jsonl", Detected::Format(Format::Gemini)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    /// A line of another program, at any position, changes nothing; nor does the order of the
    /// lines.
    #[test]
    fn one_foreign_line_does_not_change_the_format(
        own in 0usize..9,
        other in 0usize..9,
        line in any::<Index>(),
        at in any::<Index>(),
        order in any::<u64>(),
        shuffled in any::<bool>(),
    ) {
        let sessions = sessions();
        let (told, mut lines) = sessions[own].clone();
        let foreign = line.get(&sessions[other].1).clone();
        if shuffled {
            shuffle(&mut lines, order);
        }
        lines.insert(at.index(lines.len() + 1), foreign);
        let text = lines.join("\n");
        prop_assert_eq!(detect(text.as_bytes(), None), told, "{}", text);
    }

    /// In a file of two programs, the one with clearly more lines wins, whatever the order.
    #[test]
    fn the_majority_decides(
        own in 0usize..9,
        other in 0usize..9,
        order in any::<u64>(),
        few in select(vec![1usize, 2]),
    ) {
        let sessions = sessions();
        // A header of pi is also Kit's.
        let entries = |which: usize| {
            let lines = sessions[which].1.iter().filter(|line| !line.contains(r#""type":"session""#));
            lines.cloned().collect::<Vec<String>>()
        };
        let mut lines: Vec<String> = entries(own).into_iter().cycle().take(3 * few + 2).collect();
        lines.extend(entries(other).into_iter().take(few));
        shuffle(&mut lines, order);
        let text = lines.join("\n");
        prop_assert_eq!(detect(text.as_bytes(), None), sessions[own].0, "{}", text);
    }
}

/// Sorts lines in an order determined by a seed.
fn shuffle(lines: &mut [String], mut seed: u64) {
    for at in (1..lines.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        lines.swap(at, (seed >> 33) as usize % (at + 1));
    }
}

/// OpenClaw and Prime Agent are recognized once the whole file is known: a line of pi before it
/// changes nothing, nor does one of theirs before a session of pi.
#[test]
fn a_line_before_the_header_is_no_mark() {
    let read = |path: &str| fs::read_to_string(project().join("tests/cli/sessions").join(path)).unwrap();
    let format = |text: String| bough::internals::format::Session::read(text.as_bytes()).unwrap().format;
    let pi = read("pi/pi16-labels.jsonl");
    let of_pi = pi.lines().nth(1).unwrap().to_owned();
    for (path, own) in [
        ("derived/openclaw-side.jsonl", Format::OpenClaw),
        ("derived/openclaw-leaf.jsonl", Format::OpenClaw),
        ("derived/prime.jsonl", Format::Prime),
    ] {
        let text = read(path);
        assert_eq!(format(text.clone()), own, "{path}");
        assert_eq!(format(format!("{of_pi}\n{text}")), own, "{path}");
        for line in text.lines().skip(1) {
            assert_eq!(format(format!("{line}\n{pi}")), Format::Pi, "{line}");
        }
    }
}

/// Records the files of a folder anew: `BOUGH_BLESS=1 cargo test --test cli detect::record`.
#[test]
fn record() {
    if std::env::var_os("BOUGH_BLESS").is_none() {
        return;
    }
    let mut out =
        String::from("# The formats of all sessions, recorded by `record` in tests/cli/detect.rs.\n");
    let own = project().join("tests/cli/sessions");
    for (folder, prefix) in [
        (Some(own), "tests/cli/sessions/"),
        (need::find_reference_files().map(|folder| folder.join("corpus")), "corpus/"),
        (need::find_reference_files().map(|folder| folder.join("cases")), "cases/"),
    ] {
        // What can't be looked at stays as it is recorded.
        let Some(folder) = folder else {
            RECORDED.lines().filter(|row| row.starts_with(prefix)).for_each(|row| out += &format!("{row}\n"));
            continue;
        };
        for file in sessions_below(&folder) {
            let name = file.strip_prefix(&folder).unwrap().display().to_string();
            out.push_str(&format!("{prefix}{name}\t{}\n", detected(&file)));
        }
    }
    fs::write(project().join("tests/cli/sessions/formats.tsv"), out).unwrap();
}
