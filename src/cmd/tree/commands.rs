//! The commands that the navigator runs: this program itself, so that an act is the command and nothing else.

use crate::store::locate;
use crate::store::write::ask_to_end;
use crate::ui::text;
use std::cell::OnceCell;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Runs commands of bough on one session.
pub(super) struct Bough {
    program: PathBuf,
    session: PathBuf,
    short_name: OnceCell<String>,
}

/// What a command printed.
pub(super) struct Ran {
    pub(super) success: bool,
    pub(super) out: String,
    pub(super) err: String,
}

impl Bough {
    pub(super) fn new(session: &Path) -> io::Result<Bough> {
        Ok(Bough {
            program: std::env::current_exe()?,
            session: session.to_owned(),
            short_name: OnceCell::new(),
        })
    }

    /// The beginning of the id of the session, as `-s` takes it, or of the name of its file. The file is asked once.
    pub(super) fn short_name(&self) -> &str {
        self.short_name.get_or_init(|| {
            let id: String = locate::session_id(&self.session).chars().take(8).collect();
            text::one_line(&id)
        })
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

    /// Begins to run a command.
    pub(super) fn start(&self, words: &[String]) -> io::Result<Running> {
        let mut command = self.command(words);
        command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (give, coming) = channel();
        let streams: [(bool, Option<Box<dyn Read + Send>>); 2] = [
            (false, child.stdout.take().map(|out| Box::new(out) as _)),
            (true, child.stderr.take().map(|err| Box::new(err) as _)),
        ];
        for (is_err, stream) in streams {
            let (mut stream, give) = (stream.expect("the stream is a pipe"), give.clone());
            std::thread::Builder::new().name("output".into()).spawn(move || {
                let mut block = [0; 16 << 10];
                // What was printed until an error is all there is.
                while let Ok(len @ 1..) = stream.read(&mut block) {
                    if give.send((is_err, block[..len].to_vec())).is_err() {
                        break;
                    }
                }
            })?;
        }
        Ok(Running { child, coming, out: Vec::new(), err: Vec::new() })
    }

    /// What a shell would offer for a word after the words of a command; nothing, if that can't be asked.
    pub(super) fn offers(&self, words: &[String], typed: &str) -> Vec<String> {
        let mut command = Command::new(&self.program);
        command.env("COMPLETE", "fish").env_remove("BOUGH_SESSION").stdin(Stdio::null());
        let ran = command.args(["--", "bough"]).args(self.words(words)).arg(typed).output();
        let printed = ran.map(|ran| String::from_utf8_lossy(&ran.stdout).into_owned()).unwrap_or_default();
        // What is said of an offer is after a tab.
        printed.lines().filter_map(|line| Some(text::safe(line.split('\t').next()?))).collect()
    }

    /// A command that has the terminal to itself.
    pub(super) fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        // A session that the environment names is not the one on the screen.
        command.args(self.words(words)).env_remove("COMPLETE").env_remove("BOUGH_SESSION");
        command
    }
}

/// A command that runs.
pub(super) struct Running {
    child: Child,
    /// What it prints; whether that is a note.
    coming: Receiver<(bool, Vec<u8>)>,
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Running {
    /// Gives what the command printed, if it ends within some time, and reads on what it prints.
    pub(super) fn ends_within(&mut self, time: Duration) -> io::Result<Option<Ran>> {
        let until = Instant::now() + time;
        loop {
            match self.coming.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((is_err, bytes)) => if is_err { &mut self.err } else { &mut self.out }.extend(bytes),
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                // Both streams are at their ends.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let success = self.child.wait()?.success();
        Ok(Some(self.ran(success)))
    }

    /// What was printed until now.
    fn ran(&self, success: bool) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { success, out: text(&self.out), err: text(&self.err) }
    }

    /// What the command said that it waits for.
    pub(super) fn waits_for(&self) -> Option<String> {
        let err = String::from_utf8_lossy(&self.err);
        let said = err.lines().rev().find_map(|line| line.strip_prefix("note: waiting "))?;
        // What a user would type to not wait is not for one who is here.
        let said = said.split(" (`").next().unwrap_or(said);
        Some(text::one_line(&format!("waiting {said}")))
    }

    /// Ends the command as a signal does, and waits until it has cleaned up. Gives what it had printed.
    pub(super) fn give_up(mut self) -> io::Result<Ran> {
        ask_to_end(&self.child);
        let success = self.child.wait()?.success();
        Ok(self.ran(success))
    }
}

impl Ran {
    /// What was done, in one line: what was said first, with a warning after it; else the first line of the output.
    pub(super) fn said(&self) -> Option<String> {
        let is_warning = |line: &&str| line.starts_with("warning: ");
        let said = |line: &&str| !line.starts_with("note: ") && !is_warning(line);
        let line = self.err.lines().find(said);
        let warning = self.err.lines().find(is_warning);
        let line = match (line, warning) {
            (Some(line), Some(warning)) if !line.starts_with("hint: ") => format!("{line} · {warning}"),
            (_, Some(line)) | (Some(line), None) => line.to_owned(),
            (None, None) => self.out.lines().next()?.to_owned(),
        };
        Some(text::safe(&text::without_colors(&line)))
    }

    /// What was printed, for a person: the output, then the notes.
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.out.lines().chain(self.err.lines());
        lines.map(|line| text::safe(&text::without_colors(line)).replace('\t', "    ")).collect()
    }
}
