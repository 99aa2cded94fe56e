//! The program, run where it can do no harm.

use std::path::Path;
use std::process::{Command, Output};

/// The program, with a folder for its home, in which its operation log is too: none of the user's own settings and sessions is seen.
///
/// `BOUGH_TEST_PROGRAM` names another build of it: long runs go on while the program is built anew.
pub fn bough(home: &Path) -> Command {
    let program =
        std::env::var_os("BOUGH_TEST_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_bough").into());
    let mut command = Command::new(program);
    command
        .current_dir(home)
        .env_clear()
        .env("HOME", home)
        .env("XDG_STATE_HOME", home.join("state"))
        .env("NO_COLOR", "1");
    command
}

/// The exit status.
pub fn code(output: &Output) -> i32 {
    output.status.code().expect("it ended by itself")
}

/// What was said on standard error.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Puts a copy of the program where another user can run it.
///
/// It is not written by this process: a program that another test starts meanwhile would have our handle too, and what is open
/// for writing can't be run.
pub fn copy_of_bough(to: &Path) {
    let done = Command::new("cp").args([Path::new(env!("CARGO_BIN_EXE_bough")), to]).status().unwrap();
    assert!(done.success());
}
