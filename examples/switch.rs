//! Moves HEAD of a session two entries back: `cargo run --example switch FILE`. `bough undo FILE` reverses it.

#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use bough::{Apply, Error, Session};

fn main() -> Result<(), Error> {
    let Some(file) = std::env::args().nth(1) else {
        println!("usage: switch FILE");
        return Ok(());
    };
    Session::open(&file)?.switch("HEAD~2")?.apply(Apply::default())?;
    let session = Session::open(&file)?;
    match session.head() {
        Some(head) => println!("HEAD is now {}: {}", head.id()?, head.summary()?.escape_debug()),
        None => println!("the agent would begin anew"),
    }
    Ok(())
}
