use super::filter::{Filter, filtered};
use super::pager::Pager;
use super::{Ink, paint};
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};

/// How things look: what the terminal, the environment, the config and the options together say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Look {
    /// Whether colors are used on standard output.
    pub color: bool,
    /// Whether only ASCII is drawn.
    pub ascii: bool,
    /// Display cells a line.
    pub width: usize,
    /// Whether standard output is a terminal.
    pub terminal: bool,
    /// Whether hints and notes are left out.
    pub quiet: bool,
    /// Whether errors and notes are JSON.
    pub json: bool,
}

impl Look {
    /// Text for scripts: as it is, but made safe where a terminal would see it.
    pub fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.terminal { Cow::Owned(super::text::safe(text)) } else { Cow::Borrowed(text) }
    }
}

/// Where a command writes: data to standard output, everything else to standard error.
pub struct Ui {
    /// How things look.
    pub look: Look,
    out: Box<dyn Write>,
    pager: Option<String>,
    closed: bool,
    /// Whether signs are spelled with ASCII.
    spelled: bool,
}

impl Ui {
    /// Writes to the standard streams.
    pub fn standard(look: Look) -> Ui {
        let out = Ui::guarded(look, Box::new(BufWriter::with_capacity(64 * 1024, Stdout(io::stdout()))));
        Ui { look, out, pager: None, closed: false, spelled: false }
    }

    /// What a person sees has no escapes but those of colors, whatever a command writes.
    fn guarded(look: Look, out: Box<dyn Write>) -> Box<dyn Write> {
        if look.terminal { Box::new(Filter::new(out, look.json)) } else { out }
    }

    /// Says which pager [`Ui::page`] starts, as a command; without one, none is started.
    pub fn set_pager(&mut self, command: Option<String>) {
        self.pager = command;
    }

    /// Sends what is printed from here on through the pager, if there is one and a person looks on.
    pub fn page(&mut self) {
        if !self.look.terminal {
            return;
        }
        if let Some(pager) = self.pager.take().and_then(|command| Pager::start(&command)) {
            let _ = self.out.flush();
            self.out = Ui::guarded(self.look, Box::new(BufWriter::with_capacity(64 * 1024, pager)));
            if std::mem::take(&mut self.spelled) {
                self.for_people();
            }
        }
    }

    /// Says that what is printed from here on is for people to read: signs beyond ASCII are spelled with ASCII, where only
    /// that is drawn.
    pub fn for_people(&mut self) {
        if self.look.ascii && !self.look.json && !self.spelled {
            self.spelled = true;
            let out = std::mem::replace(&mut self.out, Box::new(io::sink()));
            self.out = Box::new(Spelled(out));
        }
    }

    /// Ends rows with a NUL byte from here on, not with a new line. For output in which every new line ends a row.
    pub fn end_rows_with_nul(&mut self) {
        // Nobody reads that by eye.
        self.pager = None;
        let out = std::mem::replace(&mut self.out, Box::new(io::sink()));
        self.out = Box::new(NulRows(out));
    }

    /// Paints text as [`paint()`] does, as this terminal wants it.
    pub fn paint(&self, ink: Ink, text: impl std::fmt::Display) -> String {
        paint(&self.look, ink, text)
    }

    /// Where data goes. What is written reaches the reader at the latest when the program ends.
    pub fn out(&mut self) -> &mut dyn Write {
        &mut *self.out
    }

    /// Says something to the user on standard error, on a line of its own.
    pub fn note(&mut self, words: impl std::fmt::Display) {
        let _ = self.out.flush();
        let words = words.to_string();
        let words = if self.look.ascii && !self.look.json { spelled(&words) } else { words };
        let _ = writeln!(io::stderr().lock(), "{}", filtered(&words, self.look.json));
    }

    /// Gives a hint on standard error, unless the user wants none.
    pub fn hint(&mut self, words: impl std::fmt::Display) {
        if !self.look.quiet {
            self.note(format_args!("hint: {words}"));
        }
    }

    /// Ends the output. A reader that went away is no error.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        self.closed = true;
        let flushed = self.out.flush();
        // A pager that is still open is waited for.
        self.out = Box::new(io::sink());
        match flushed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether standard error is a terminal.
    pub fn talks_to_a_person() -> bool {
        io::stderr().is_terminal()
    }
}

/// Standard output, that says of what it is where it can't be written.
struct Stdout(io::Stdout);

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(unwritten)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(unwritten)
    }
}

/// Says of an error that it is about standard output.
pub(crate) fn unwritten(error: io::Error) -> io::Error {
    match error.kind() {
        // The writers ask for these by their kind, and no user is told of them.
        io::ErrorKind::Interrupted | io::ErrorKind::BrokenPipe => error,
        kind => io::Error::new(kind, format!("can't write to standard output: {error}")),
    }
}

/// Writes NUL bytes for new lines.
struct NulRows(Box<dyn Write>);

impl Write for NulRows {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let rows: Vec<u8> = bytes.iter().map(|byte| if *byte == b'\n' { 0 } else { *byte }).collect();
        self.0.write(&rows)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The signs that we draw, each as one of ASCII, so that all stays as wide as it is.
const SIGNS: [(&str, &str); 9] = [
    ("…", "~"),
    ("·", "-"),
    ("→", ">"),
    ("←", "<"),
    ("–", "-"),
    ("—", "-"),
    ("⑂", "Y"),
    ("⏎", "/"),
    ("×", "x"),
];

/// Text with our signs spelled with ASCII.
fn spelled(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    SIGNS.iter().fold(text.to_owned(), |text, (sign, ascii)| text.replace(sign, ascii))
}

/// Writes text with our signs spelled with ASCII.
///
/// A sign comes in one piece, since it stands in one piece of a text that is written.
struct Spelled(Box<dyn Write>);

impl Write for Spelled {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.is_ascii() => self.0.write_all(spelled(text).as_bytes())?,
            _ => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_get_text_as_it_is_and_terminals_get_it_safe() {
        let look = |terminal| Look { terminal, ..Look::default() };
        assert_eq!(look(false).shown("a\u{1b}[2J\tb"), "a\u{1b}[2J\tb");
        assert_eq!(look(true).shown("a\u{1b}[2J\tb"), "a␛[2J\tb");
    }
}
