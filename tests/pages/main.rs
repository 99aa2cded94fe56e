//! Each page of console sessions is a separate test: `cargo test --test pages log/graph`.
//!
//! The pages are in `tests/cli/cases/<command>/<name>.md`; README, guide and `docs/fleet.md` are pages, too, because
//! what the project tells its users must be true. `BOUGH_BLESS=1 cargo test --test pages` writes
//! the output into the pages. Read the change before you commit it.

#[path = "../cli/support/files.rs"]
mod files;
mod page;

use files::project;
use libtest_mimic::{Arguments, Trial};
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
        Trial::test(name.with_extension("").display().to_string(), move || Ok(page::run(&path)?))
    };
    libtest_mimic::run(&Arguments::from_args(), pages.into_iter().map(trial).collect()).exit();
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
