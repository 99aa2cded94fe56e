//! Runs the program where it can do no harm.

use std::path::Path;
use std::process::{Command, Output};

/// Returns the program, with a folder as its home, which also contains its operation log: the
/// user's own settings and sessions are not visible.
///
/// `BOUGH_TEST_PROGRAM` names another build of it, so that long runs can continue while the program
/// is rebuilt.
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

/// Returns the exit status.
pub fn code(output: &Output) -> i32 {
    output.status.code().expect("it ended by itself")
}

/// Returns the output on standard error.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Copies the program to a place where another user can run it.
///
/// The copy is not written by this process: a program that another test starts in the meantime
/// would inherit our handle, and a file that is open for writing can't be run.
pub fn copy_of_bough(to: &Path) {
    let done = Command::new("cp").args([Path::new(env!("CARGO_BIN_EXE_bough")), to]).status().unwrap();
    assert!(done.success());
}
