//! Where the navigator is drawn and where its keys come from: a terminal, or a script.

use super::keys::Key;
use crate::ui::text;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use std::io;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// What happened since the last look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Input {
    Key(Key),
    /// A text that was pasted. Its letters are not keys.
    Paste(String),
    /// Nothing, for as long as was waited.
    Nothing,
    /// The screen has another size, or must be drawn again.
    Redraw,
    /// There are no more keys.
    End,
    /// A signal ends the program.
    Signal(i32),
}

/// What is said of a text that is pasted where none is typed.
pub(super) const PASTED: &str = "what was pasted is not taken for keys";

/// Draws on a buffer; gives where the cursor of the terminal is, if it is shown.
pub(super) type Paint<'p> = dyn FnMut(&mut Buffer) -> Option<(u16, u16)> + 'p;

/// A terminal, or what stands for one.
pub(super) trait Screen {
    fn draw(&mut self, paint: &mut Paint<'_>) -> io::Result<()>;

    /// Draws all cells the next time, since something else may have written on the terminal.
    fn forget(&mut self) {}

    /// The next key. Waits no longer than `wait`; if `is_busy`, a script waits with its next key.
    fn next(&mut self, wait: Duration, is_busy: bool) -> io::Result<Input>;

    /// Runs a command that has the terminal to itself.
    fn run(&mut self, command: &mut Command) -> io::Result<ExitStatus>;

    fn copy(&mut self, text: &str) -> io::Result<()>;

    fn suspend(&mut self) -> io::Result<()>;

    /// The height of the screen, if a person looks on, so that a part of a session is worth showing before the rest
    /// is read.
    fn live_height(&self) -> Option<u16>;

    /// What the screen shows in the end, if it is not gone.
    fn last(&self) -> Option<String>;
}

/// A screen in memory, with the keys given in advance.
pub(super) struct Script {
    keys: std::vec::IntoIter<Key>,
    buffer: Buffer,
    cursor: Option<(u16, u16)>,
}

impl Script {
    pub(super) fn new(keys: &str, (width, height): (u16, u16)) -> Script {
        let buffer = Buffer::empty(Rect { x: 0, y: 0, width, height });
        Script { keys: Key::parse_all(keys).into_iter(), buffer, cursor: None }
    }
}

impl Screen for Script {
    fn draw(&mut self, paint: &mut Paint<'_>) -> io::Result<()> {
        self.buffer.reset();
        self.cursor = paint(&mut self.buffer);
        Ok(())
    }

    fn next(&mut self, _: Duration, is_busy: bool) -> io::Result<Input> {
        if is_busy {
            std::thread::sleep(Duration::from_millis(1));
            return Ok(Input::Nothing);
        }
        Ok(self.keys.next().map_or(Input::End, Input::Key))
    }

    fn run(&mut self, command: &mut Command) -> io::Result<ExitStatus> {
        command.status()
    }

    fn copy(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn live_height(&self) -> Option<u16> {
        None
    }

    fn last(&self) -> Option<String> {
        let area = self.buffer.area;
        let mut out = String::new();
        for y in 0..area.height {
            let (mut line, mut x) = (String::new(), 0);
            while x < area.width {
                let symbol = self.buffer[(x, y)].symbol();
                // The cursor of a typed line is shown as a bar.
                if self.cursor == Some((x, y)) {
                    line.push('▏');
                }
                line.push_str(symbol);
                x += (text::width(symbol) as u16).max(1);
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        Some(out)
    }
}
