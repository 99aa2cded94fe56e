//! The commands that the navigator runs: this program itself, so that an act is the command and nothing else.

use crate::ui::text;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs commands of bough on one session.
pub(super) struct Bough {
    program: PathBuf,
    session: PathBuf,
}

/// What a command printed.
pub(super) struct Ran {
    pub(super) success: bool,
    pub(super) out: String,
    pub(super) err: String,
}

impl Bough {
    pub(super) fn new(session: &Path) -> io::Result<Bough> {
        Ok(Bough { program: std::env::current_exe()?, session: session.to_owned() })
    }

    /// The words of a command as they are run: its name, the session, and the rest.
    fn words(&self, words: &[String]) -> Vec<OsString> {
        let mut all: Vec<OsString> = words.iter().map(OsString::from).collect();
        all.splice(1.min(all.len())..1.min(all.len()), ["-s".into(), self.session.clone().into()]);
        all
    }

    /// The command as a user would type it.
    pub(super) fn spelled(&self, words: &[String]) -> String {
        let words = self.words(words);
        let words = words.iter().map(|word| text::shell_word(&word.to_string_lossy()));
        format!("bough {}", words.collect::<Vec<_>>().join(" "))
    }

    /// Runs a command, and gives what it printed.
    pub(super) fn run(&self, words: &[String]) -> io::Result<Ran> {
        let output = self.command(words).env("NO_COLOR", "1").stdin(Stdio::null()).output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Ran { success: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) })
    }

    /// A command that has the terminal to itself.
    pub(super) fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        // A session that the environment names is not the one on the screen.
        command.args(self.words(words)).env_remove("COMPLETE").env_remove("BOUGH_SESSION");
        command
    }
}

impl Ran {
    /// What was done, in one line: the first note, else the first line of the output.
    pub(super) fn said(&self) -> Option<String> {
        let line = self.err.lines().find(|line| !line.starts_with("note: ")).or(self.out.lines().next())?;
        Some(text::safe(&text::without_colors(line)))
    }

    /// What was printed, for a person: the output, then the notes.
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.out.lines().chain(self.err.lines());
        lines.map(|line| text::safe(&text::without_colors(line)).replace('\t', "    ")).collect()
    }
}
