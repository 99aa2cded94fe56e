//! Runs the program where it can do no harm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, UNIX_EPOCH};

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

/// A folder with sessions, and a home folder of its own.
pub struct Place {
    /// The home folder.
    pub folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Creates a file that looks as if nobody had touched it for a long time.
    pub fn put(&self, name: &str, text: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        let old = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        fs::File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
        path
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = bough(self.folder.path());
        command.args(words);
        command
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Does the same with a fixed clock and fixed ids.
    pub fn run_fixed(&self, words: &[&str], seed: u64) -> Output {
        let mut command = self.command(words);
        command.env("BOUGH_NOW", "2026-03-02T12:00:00Z").env("BOUGH_IDS", seed.to_string()).output().unwrap()
    }

    pub fn names(&self) -> Vec<String> {
        let files = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}
