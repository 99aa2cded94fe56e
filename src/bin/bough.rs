//! The program `bough`; all of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    bough::cmd::tell_bugs();
    ExitCode::from(bough::cmd::run(std::env::args_os()) as u8)
}
