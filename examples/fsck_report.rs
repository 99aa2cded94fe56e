//! Prints what is wrong with a session: `cargo run --example fsck_report examples/sessions/broken.jsonl`.

#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use bough::{Error, Level, Session};

fn main() -> Result<(), Error> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "examples/sessions/broken.jsonl".into());
    let findings = Session::open(&file)?.check()?;
    for finding in &findings {
        println!("{file}:{}: {}: {}", finding.line, finding.check.id(), finding.message.escape_debug());
    }
    let errors = findings.iter().filter(|finding| finding.check.level() == Level::Error).count();
    println!("{errors} of {} findings are errors", findings.len());
    Ok(())
}
