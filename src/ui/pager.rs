//! The pager: starting it, and waiting until the user leaves it.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A pager that is running.
pub(super) struct Pager {
    child: Child,
}

impl Pager {
    /// Starts a pager. Returns `None` if that is impossible; everything is then printed as it is.
    pub(super) fn start(command: &str) -> Option<Pager> {
        if !is_there(command) {
            return None;
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdin(Stdio::piped());
        // As git does: colors are passed on, and output that fits on the screen stays there.
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if std::env::var_os(name).is_none() {
                shell.env(name, value);
            }
        }
        let child = shell.spawn().ok()?;
        leave_interrupts_to_it();
        Some(Pager { child })
    }

    /// Closes the input of the pager, and waits until the user leaves it.
    pub(super) fn wait(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Ignores interrupts, so that the terminal stays with the pager until the user leaves it.
///
/// The terminal sends the interrupt to both programs. A pager only stops its current action; if
/// bough ended, the shell would continue at the same time as the pager, and both would read the
/// keys.
fn leave_interrupts_to_it() {
    // SAFETY: a disposition without a handler is set, and no other code of ours sets one.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
}

/// Returns whether the program at the start of a command can be found. Anything but a plain word is
/// left to the shell.
fn is_there(command: &str) -> bool {
    let word = command.split_whitespace().next().unwrap_or_default();
    let plain = !word.is_empty() && word.chars().all(|sign| sign.is_alphanumeric() || "-_.+/".contains(sign));
    if !plain {
        return true;
    }
    if word.contains('/') { Path::new(word).exists() } else { is_program(word) }
}

/// Returns whether a folder of `PATH` has a program.
pub fn is_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.flush()
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        self.wait();
    }
}
