//! Standard output and standard error, and how their content looks.

use super::filter::{Filter, filtered};
use super::pager::Pager;
use super::{Ink, paint};
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};

/// How output looks, according to the terminal, the environment, the config file and the options.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Look {
    /// Whether colors are used on standard output.
    pub color: bool,
    /// Whether only ASCII is drawn.
    pub ascii: bool,
    /// The number of display cells in a line.
    pub width: usize,
    /// Whether standard output is a terminal.
    pub terminal: bool,
    /// Whether hints and notes are suppressed.
    pub quiet: bool,
    /// Whether errors and notes are JSON.
    pub json: bool,
}

impl Look {
    /// Returns text for scripts: unchanged, but made safe if it goes to a terminal.
    pub fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.terminal { Cow::Owned(super::text::safe(text)) } else { Cow::Borrowed(text) }
    }
}

/// Where a command writes: data to standard output, everything else to standard error.
pub struct Ui {
    /// How the output looks.
    pub look: Look,
    out: Box<dyn Write>,
    pager: Option<String>,
    closed: bool,
    /// Whether signs are replaced by ASCII.
    spelled: bool,
    /// A line that comes before whatever is printed next.
    heading: Option<String>,
}

impl Ui {
    /// Creates a `Ui` that writes to the standard streams.
    pub fn standard(look: Look) -> Ui {
        let out = Ui::guarded(look, Box::new(BufWriter::with_capacity(64 * 1024, Stdout(io::stdout()))));
        Ui { look, out, pager: None, closed: false, spelled: false, heading: None }
    }

    /// Output to a terminal contains no escapes except those of colors, whatever a command writes.
    fn guarded(look: Look, out: Box<dyn Write>) -> Box<dyn Write> {
        if look.terminal { Box::new(Filter::new(out, look.json)) } else { out }
    }

    /// Sets the command that [`Ui::page`] starts as the pager; without one, no pager is started.
    pub fn set_pager(&mut self, command: Option<String>) {
        self.pager = command;
    }

    /// Sends all further output through the pager, if there is one and the output goes to a
    /// terminal.
    pub fn page(&mut self) {
        if !self.look.terminal {
            return;
        }
        if let Some(pager) = self.pager.take().and_then(|command| Pager::start(&command)) {
            let _ = self.out.flush();
            super::progress::leave_to_pager();
            self.out = Ui::guarded(self.look, Box::new(BufWriter::with_capacity(64 * 1024, pager)));
            if std::mem::take(&mut self.spelled) {
                self.for_people();
            }
        }
    }

    /// Declares that all further output is for people to read: signs beyond ASCII are replaced by
    /// ASCII, if only that is drawn.
    pub fn for_people(&mut self) {
        if self.look.ascii && !self.look.json && !self.spelled {
            self.spelled = true;
            let out = std::mem::replace(&mut self.out, Box::new(io::sink()));
            self.out = Box::new(Spelled(out));
        }
    }

    /// Ends rows with a NUL byte instead of a new line from here on. Meant for output in which
    /// every new line ends a row.
    pub fn end_rows_with_nul(&mut self) {
        // Such output is not for people.
        self.pager = None;
        let out = std::mem::replace(&mut self.out, Box::new(io::sink()));
        self.out = Box::new(NulRows(out));
    }

    /// Paints text like [`paint()`], for this terminal.
    pub fn paint(&self, ink: Ink, text: impl std::fmt::Display) -> String {
        paint(&self.look, ink, text)
    }

    /// Returns the destination of data. Everything written reaches the reader when the program
    /// ends, or earlier.
    pub fn out(&mut self) -> &mut dyn Write {
        if let Some(heading) = self.heading.take() {
            // If this fails, so does what follows.
            let _ = self.out.write_all(heading.as_bytes());
        }
        &mut *self.out
    }

    /// Sets what comes before the next output: a heading of something that may turn out to be empty.
    pub fn set_heading(&mut self, heading: Option<String>) {
        self.heading = heading;
    }

    /// Returns whether nothing was printed since the heading was set.
    pub fn has_heading(&self) -> bool {
        self.heading.is_some()
    }

    /// Prints a message for the user on standard error, on a separate line.
    pub fn note(&mut self, words: impl std::fmt::Display) {
        let _ = self.out.flush();
        let words = words.to_string();
        let words = if self.look.json { as_object(words) } else { words };
        let words = if self.look.ascii && !self.look.json { spelled(&words) } else { words };
        let _ = writeln!(io::stderr().lock(), "{}", filtered(&words, self.look.json));
    }

    /// Prints a hint on standard error, unless the user wants none.
    pub fn hint(&mut self, words: impl std::fmt::Display) {
        if !self.look.quiet {
            self.note(format_args!("hint: {words}"));
        }
    }

    /// Ends the output. It is not an error if the reader is gone.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        self.closed = true;
        let flushed = self.out.flush();
        // Waits for a pager that is still open.
        self.out = Box::new(io::sink());
        match flushed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns whether standard error is a terminal.
    pub fn talks_to_a_person() -> bool {
        io::stderr().is_terminal()
    }
}

/// Returns what is said as an object on one line: `{"warning":{"message":…}}`. What is one already stays as it is.
fn as_object(words: String) -> String {
    if words.starts_with("{\"") {
        return words;
    }
    let sorts = ["warning", "hint", "note"];
    let said = |sort: &&str| words.strip_prefix(*sort).and_then(|rest| rest.strip_prefix(": "));
    let sort = sorts.into_iter().find(|sort| said(sort).is_some()).unwrap_or("note");
    let message = said(&sort).unwrap_or(&words);
    serde_json::json!({ sort: { "message": message } }).to_string()
}

/// Standard output; its errors name it.
struct Stdout(io::Stdout);

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(unwritten)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(unwritten)
    }
}

/// Adds to an error that it concerns standard output.
pub(crate) fn unwritten(error: io::Error) -> io::Error {
    match error.kind() {
        // Writers check for these kinds, and users never see them.
        io::ErrorKind::Interrupted | io::ErrorKind::BrokenPipe => error,
        kind => io::Error::new(kind, format!("can't write to standard output: {error}")),
    }
}

/// Writes NUL bytes in place of new lines.
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

/// The signs that bough draws, each with one of ASCII, so that all widths stay the same.
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

/// Returns text with bough's signs replaced by ASCII.
pub(crate) fn spelled(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    SIGNS.iter().fold(text.to_owned(), |text, (sign, ascii)| text.replace(sign, ascii))
}

/// Writes text with bough's signs replaced by ASCII.
///
/// A sign always arrives in one piece, because no text is split inside a sign when it is written.
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
    #[rustfmt::skip] // a table
    fn what_is_said_is_an_object_for_scripts() {
        let check = |words: &str, wanted: &str| assert_eq!(as_object(words.into()), wanted);
        check("warning: s: 1 \"fault\"", r#"{"warning":{"message":"s: 1 \"fault\""}}"#);
        check("hint: try",               r#"{"hint":{"message":"try"}}"#);
        check("note: it is so",          r#"{"note":{"message":"it is so"}}"#);
        check("HEAD is now: a",          r#"{"note":{"message":"HEAD is now: a"}}"#);
        check(r#"{"error":{}}"#,         r#"{"error":{}}"#);
    }

    #[test]
    fn scripts_get_text_as_it_is_and_terminals_get_it_safe() {
        let look = |terminal| Look { terminal, ..Look::default() };
        assert_eq!(look(false).shown("a\u{1b}[2J\tb"), "a\u{1b}[2J\tb");
        assert_eq!(look(true).shown("a\u{1b}[2J\tb"), "a␛[2J\tb");
    }
}
