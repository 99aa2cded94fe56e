//! Runs one page: a Markdown file whose `console` blocks are executed, and whose output is
//! compared.
//!
//! Each line that begins with `$` is run by `sh` in a folder of the page's own, with standard error
//! and standard output in one stream. A following line `? N` is the exit status; without it the
//! status must be 0. The lines after that must be printed. `[..]` matches anything on a line, and
//! `...` matches any lines. The folder initially contains a copy of `<name>.in/`, if that exists,
//! and of the files that a comment names, by their paths from `tests/cli/sessions` or from the
//! project: `<!-- files: pi/labels.jsonl=labels.jsonl -->` (the word after `=` is the name of the
//! copy). The clock, the width, the home folder and the source of new ids are fixed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::files::{copy, copy_below, project};

/// Returns the lines of a page that are commands, or go on with one.
pub fn commands(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.starts_with("$ ") || line.starts_with("> "))
}

/// Runs one page with its text; returns what differs.
pub fn run(page: &Path, text: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    fs::create_dir_all(&work).unwrap();
    copy_below(&page.with_extension("in"), &work);
    for line in text.lines() {
        let Some(files) = line.strip_prefix("<!-- files:").and_then(|rest| rest.strip_suffix("-->")) else {
            continue;
        };
        for file in files.split_whitespace() {
            let (from, to) = file.split_once('=').unwrap_or((file, file.rsplit('/').next().unwrap()));
            let places = [project().join("tests/cli/sessions").join(from), project().join(from)];
            let from = places
                .iter()
                .find(|place| place.exists())
                .unwrap_or_else(|| panic!("{}: no {from}", page.display()));
            if from.is_dir() { copy_below(from, &work.join(to)) } else { copy(from, &work.join(to)) }
        }
    }
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    let mut inside = false;
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        inside = if inside { line != "```" } else { line == "```console" };
        if !inside || !line.starts_with("$ ") {
            continue;
        }
        let mut command = line[2..].to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
            out.push_str(more);
            out.push('\n');
            command = format!("{command}\n{}", &more[2..]);
        }
        let mut expected = String::new();
        while let Some(line) = lines.next_if(|line| *line != "```" && !line.starts_with("$ ")) {
            expected.push_str(line);
            expected.push('\n');
        }
        let printed = carry_out(&command, folder.path());
        // A page keeps its wildcards if they still match.
        out.push_str(if fits(&expected, &printed) { &expected } else { &printed });
    }
    if out == text {
        return Ok(());
    }
    if std::env::var_os("BOUGH_BLESS").is_some() {
        fs::write(page, out).unwrap();
        return Ok(());
    }
    let diff = similar::TextDiff::from_lines(text, &out)
        .unified_diff()
        .header("the page", "what was printed")
        .to_string();
    Err(format!("{}\n{diff}", page.strip_prefix(project()).unwrap_or(page).display()))
}

fn carry_out(command: &str, folder: &Path) -> String {
    let work = folder.join("work");
    let program = Path::new(env!("CARGO_BIN_EXE_bough")).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(program.to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(&work)
        .env_clear()
        .env("PATH", path.unwrap())
        .env("HOME", folder.join("home"))
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env("COLUMNS", "80")
        .env("NO_COLOR", "1")
        .env("TZ", "UTC")
        .env("LC_ALL", "C.UTF-8")
        .env("BOUGH_NOW", "2026-03-02T12:00:00Z")
        .env("BOUGH_IDS", "1")
        .output()
        .unwrap();
    let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
    printed = printed.replace(&*folder.to_string_lossy(), "[TEMP]");
    if !printed.is_empty() && !printed.ends_with('\n') {
        printed.push('\n');
    }
    match output.status.code() {
        Some(0) => printed,
        Some(code) => format!("? {code}\n{printed}"),
        None => format!("? signal\n{printed}"),
    }
}

/// Returns whether the output matches the page, including wildcards.
fn fits(expected: &str, printed: &str) -> bool {
    let expected: Vec<&str> = expected.lines().collect();
    let printed: Vec<&str> = printed.lines().collect();
    fits_lines(&expected, &printed)
}

fn fits_lines(expected: &[&str], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((&"...", rest)) => (0..=printed.len()).any(|skip| fits_lines(rest, &printed[skip..])),
        Some((line, rest)) => {
            printed.first().is_some_and(|shown| fits_line(line, shown)) && fits_lines(rest, &printed[1..])
        }
    }
}

fn fits_line(expected: &str, printed: &str) -> bool {
    match expected.split_once("[..]") {
        None => expected == printed,
        Some((start, rest)) => printed.strip_prefix(start).is_some_and(|tail| {
            (0..=tail.len()).filter(|at| tail.is_char_boundary(*at)).any(|at| fits_line(rest, &tail[at..]))
        }),
    }
}
