//! Each page of console sessions is a separate test: `cargo test --test pages log/graph`.
//!
//! The pages are in `tests/cli/cases/<command>/<name>.md`; README, guide and `docs/fleet.md` are pages, too, because
//! what the project tells its users must be true. `BOUGH_BLESS=1 cargo test --test pages` writes
//! the output into the pages. Read the change before you commit it.
//!
//! A page whose commands use `jq` is reported as ignored on a machine without it, unless
//! `BOUGH_REQUIRE` names `jq`.

#[path = "../cli/support/files.rs"]
mod files;
#[allow(dead_code, reason = "pages need only a program")]
#[path = "../cli/support/need.rs"]
mod need;
mod page;

use files::project;
use libtest_mimic::{Arguments, Completion, Trial};
use need::{Need, why_not};
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let cases = project().join("tests/cli/cases");
    let mut pages = Vec::new();
    pages_below(&cases, &mut pages);
    pages.extend(["README.md", "docs/guide.md", "docs/fleet.md"].map(|page| project().join(page)));
    pages.sort();
    let trial = |path: PathBuf| {
        let name = path.strip_prefix(&cases).or_else(|_| path.strip_prefix(project())).unwrap_or(&path);
        let name = name.with_extension("").display().to_string();
        let run = move || {
            let text = fs::read_to_string(&path).unwrap();
            let needs: &[Need] =
                if page::commands(&text).any(uses_jq) { &[Need::Program("jq")] } else { &[] };
            match why_not(needs)? {
                Some(reason) => Ok(Completion::ignored_with(reason)),
                None => page::run(&path, &text).map(|()| Completion::Completed).map_err(Into::into),
            }
        };
        Trial::ignorable_test(name, run)
    };
    libtest_mimic::run(&Arguments::from_args(), pages.into_iter().map(trial).collect()).exit();
}

/// Returns whether a command has `jq` as one of its words.
fn uses_jq(command: &str) -> bool {
    command.split(|letter: char| letter.is_whitespace() || "|;()&".contains(letter)).any(|word| word == "jq")
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
