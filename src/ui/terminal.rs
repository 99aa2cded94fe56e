use super::pager::Pager;
use super::{Ink, paint};
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

/// Where a command writes: data to standard output, everything else to standard error.
pub struct Ui {
    /// How things look.
    pub look: Look,
    out: Box<dyn Write>,
    pager: Option<String>,
    closed: bool,
}

impl Ui {
    /// Writes to the standard streams.
    pub fn standard(look: Look) -> Ui {
        let out = Box::new(BufWriter::with_capacity(64 * 1024, io::stdout()));
        Ui { look, out, pager: None, closed: false }
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
            self.out = Box::new(BufWriter::with_capacity(64 * 1024, pager));
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
        let _ = writeln!(io::stderr().lock(), "{words}");
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
