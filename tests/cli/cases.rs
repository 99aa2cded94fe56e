//! Runs the cases: pages of Markdown whose `console` blocks are carried out and compared.
//!
//! A case stands in `tests/cli/cases/<command>/<name>.md`. Each line that begins with `$` is run by `sh` in a folder of the
//! case's own, with standard error behind standard output; `? N` on the line below is its exit status (0 where there is
//! none), and what follows must be printed. `[..]` stands for anything on a line, `...` for any lines. The folder begins with
//! a copy of `<name>.in/`, if there is one, and of the files that a comment names, by their paths from `tests/cli/sessions` or
//! from the project: `<!-- files: pi/labels.jsonl=labels.jsonl examples/sessions/parser.jsonl -->` (a name behind `=` is the name of
//! the copy). The clock, the width, the home folder and the source of ids are fixed.
//!
//! `BOUGH_BLESS=1 cargo test cases` writes what is printed into the pages; read the change before it is committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn cases() {
    let wanted = std::env::var("BOUGH_CASE").unwrap_or_default();
    let mut pages = Vec::new();
    pages_below(&project().join("tests/cli/cases"), &mut pages);
    pages.sort();
    // What the project tells its users must be true, too.
    pages.extend(["README.md", "docs/guide.md"].map(|page| project().join(page)));
    let failed: Vec<String> = pages
        .iter()
        .filter(|page| page.to_string_lossy().contains(&wanted))
        .filter_map(|page| run(page).err())
        .collect();
    assert!(failed.is_empty(), "{}\n{} of {} cases failed", failed.join("\n"), failed.len(), pages.len());
}

fn pages_below(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.extension().is_none() {
            pages_below(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// Runs one page; gives what differs.
pub fn run(page: &Path) -> Result<(), String> {
    let text = fs::read_to_string(page).unwrap();
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
        // A page keeps its wildcards where they still fit.
        out.push_str(if fits(&expected, &printed) { &expected } else { &printed });
    }
    if out == text {
        return Ok(());
    }
    if std::env::var_os("BOUGH_BLESS").is_some() {
        fs::write(page, out).unwrap();
        return Ok(());
    }
    let diff = similar::TextDiff::from_lines(&text, &out)
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

/// Whether what was printed is what the page says, wildcards resolved.
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

pub fn copy_below(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).into_iter().flatten() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_below(&path, &to);
        } else {
            copy(&path, &to);
        }
    }
}

/// Copies a file, and makes it old, so that it does not look as if an agent were writing to it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::write(to, fs::read(from).unwrap()).unwrap();
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_767_225_600);
    fs::File::options().write(true).open(to).unwrap().set_modified(old).unwrap();
}
