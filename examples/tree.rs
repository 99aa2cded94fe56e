//! Prints the branches of a session: `cargo run --example tree examples/sessions/parser.jsonl`.

#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use bough::{Error, Session};

fn main() -> Result<(), Error> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "examples/sessions/parser.jsonl".into());
    let session = Session::open(file)?;
    for leaf in session.leaves() {
        println!("{} {}", leaf.id()?, leaf.label().unwrap_or_default());
        for entry in session.path(&leaf.id()?)? {
            println!("  {}  {:?}  {}", entry.id()?, entry.kind(), entry.summary()?.escape_debug());
        }
    }
    Ok(())
}
