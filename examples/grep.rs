//! Finds a text on all branches of a session: `cargo run --example grep TEXT FILE`.

#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use bough::{Error, Session};

fn main() -> Result<(), Error> {
    let mut words = std::env::args().skip(1);
    let text = words.next().unwrap_or_else(|| "test result".into());
    let file = words.next().unwrap_or_else(|| "examples/sessions/parser.jsonl".into());
    for entry in Session::open(file)?.entries() {
        if entry.text()?.contains(&text) {
            println!("{}  {}", entry.id()?, entry.summary()?.escape_debug());
        }
    }
    Ok(())
}
