//! The terminal: raw mode, the alternate screen, signals, and leaving it all as it was.

use super::keys::Key;
use super::screen::{Input, Paint, Screen};
use crate::store::write::wait_until_gone;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
    KeyboardEnhancementFlags, MouseEventKind, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::low_level::emulate_default_handler;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Whether the terminal is ours, so that a panic has to give it back.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Signals are looked at this often.
const TICK: Duration = Duration::from_millis(100);

/// The terminal of the user.
pub(super) struct Terminal {
    tty: File,
    /// What the terminal shows.
    shown: Buffer,
    mouse: bool,
    /// The last signal that ends the program, or 0.
    ending: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
    continued: Arc<AtomicBool>,
}

impl Terminal {
    /// Takes the terminal. It is given back when this is dropped, after a panic, and before a signal ends the program.
    pub(super) fn enter(mouse: bool) -> io::Result<Terminal> {
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        let (ending, stopped, continued) = (Arc::default(), Arc::default(), Arc::default());
        for signal in [SIGTERM, SIGHUP, SIGINT, SIGQUIT] {
            signal_hook::flag::register_usize(signal, Arc::clone(&ending), signal as usize)?;
        }
        signal_hook::flag::register(SIGTSTP, Arc::clone(&stopped))?;
        signal_hook::flag::register(SIGCONT, Arc::clone(&continued))?;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        end_with_terminal(tty.try_clone()?);
        take(mouse)?;
        Ok(Terminal { tty, shown: Buffer::empty(Rect::ZERO), mouse, ending, stopped, continued })
    }

    fn take_again(&mut self) -> io::Result<()> {
        take(self.mouse)?;
        self.forget();
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
    }
}

fn take(mouse: bool) -> io::Result<()> {
    let mut tty = OpenOptions::new().write(true).open("/dev/tty")?;
    enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    // Terminals that know nothing of it pass it over; the others tell Shift ^O from ^O then.
    let flags = PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES);
    execute!(tty, EnterAlternateScreen, flags, EnableBracketedPaste)?;
    if mouse {
        execute!(tty, EnableMouseCapture)?;
    }
    Ok(())
}

/// Gives the terminal back as it was, as far as that can be done.
fn give_back() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    if let Ok(mut tty) = OpenOptions::new().write(true).open("/dev/tty") {
        let _ = execute!(
            tty,
            DisableBracketedPaste,
            PopKeyboardEnhancementFlags,
            DisableMouseCapture,
            LeaveAlternateScreen,
            Show
        );
    }
    let _ = disable_raw_mode();
}

impl Screen for Terminal {
    fn draw(&mut self, paint: &mut Paint<'_>) -> io::Result<()> {
        let (width, height) = crossterm::terminal::size()?;
        let area = Rect { x: 0, y: 0, width, height };
        let mut out = Vec::with_capacity(16 * 1024);
        queue!(out, BeginSynchronizedUpdate, Hide)?;
        if area != self.shown.area {
            queue!(out, Clear(ClearType::All))?;
            self.shown = Buffer::empty(area);
        }
        let mut next = Buffer::empty(area);
        let cursor = if area.area() == 0 { None } else { paint(&mut next) };
        write_cells(&mut out, self.shown.diff(&next))?;
        if let Some((x, y)) = cursor {
            queue!(out, MoveTo(x, y), Show)?;
        }
        queue!(out, EndSynchronizedUpdate)?;
        self.shown = next;
        self.tty.write_all(&out)
    }

    fn forget(&mut self) {
        self.shown = Buffer::empty(Rect::ZERO);
    }

    fn next(&mut self, wait: Duration, _: bool) -> io::Result<Input> {
        let until = Instant::now() + wait;
        loop {
            match self.ending.load(Ordering::SeqCst) {
                0 => {}
                signal => return Ok(Input::Signal(signal as i32)),
            }
            if self.stopped.swap(false, Ordering::SeqCst) {
                self.suspend()?;
                return Ok(Input::Redraw);
            }
            if self.continued.swap(false, Ordering::SeqCst) {
                self.take_again()?;
                return Ok(Input::Redraw);
            }
            let left = until.saturating_duration_since(Instant::now());
            if !event::poll(left.min(TICK))? {
                if left.is_zero() {
                    return Ok(Input::Nothing);
                }
                continue;
            }
            match event::read()? {
                Event::Key(key) => {
                    if let Some(key) = Key::from_event(key) {
                        return Ok(Input::Key(key));
                    }
                }
                Event::Mouse(mouse) => match mouse.kind {
                    MouseEventKind::ScrollDown => return Ok(Input::Key(Key::Down)),
                    MouseEventKind::ScrollUp => return Ok(Input::Key(Key::Up)),
                    _ => {}
                },
                Event::Paste(text) => return Ok(Input::Paste(text)),
                Event::Resize(..) => return Ok(Input::Redraw),
                _ => {}
            }
        }
    }

    fn run(&mut self, command: &mut Command) -> io::Result<ExitStatus> {
        give_back();
        let ran = command.status();
        self.take_again()?;
        ran
    }

    fn copy(&mut self, text: &str) -> io::Result<()> {
        let mut tty = OpenOptions::new().write(true).open("/dev/tty")?;
        tty.write_all(clipboard(text).as_bytes())
    }

    fn suspend(&mut self) -> io::Result<()> {
        give_back();
        emulate_default_handler(SIGTSTP)?;
        self.continued.store(false, Ordering::SeqCst);
        self.take_again()
    }

    fn live_height(&self) -> Option<u16> {
        Some(crossterm::terminal::size().map_or(100, |(_, height)| height))
    }

    fn last(&self) -> Option<String> {
        None
    }
}

/// Writes cells. Of colors, only the 16 that every terminal has.
fn write_cells(out: &mut Vec<u8>, cells: Vec<(u16, u16, &Cell)>) -> io::Result<()> {
    let (mut place, mut style) = (None, None);
    for (x, y, cell) in cells {
        if place != Some((x, y)) {
            queue!(out, MoveTo(x, y))?;
        }
        if style != Some((cell.fg, cell.modifier)) {
            style = Some((cell.fg, cell.modifier));
            out.extend_from_slice(b"\x1b[0");
            if let Some(code) = color_code(cell.fg) {
                write!(out, ";{code}")?;
            }
            for (modifier, code) in [(Modifier::BOLD, "1"), (Modifier::REVERSED, "7")] {
                if cell.modifier.contains(modifier) {
                    write!(out, ";{code}")?;
                }
            }
            out.push(b'm');
        }
        out.extend_from_slice(cell.symbol().as_bytes());
        // After a wide sign the place is told anew: terminals differ in how wide some are.
        place = (cell.symbol().len() == 1).then_some((x + 1, y));
    }
    out.extend_from_slice(b"\x1b[0m");
    Ok(())
}

/// The code of one of the 16 colors, for text; `None` for the terminal's own.
fn color_code(color: Color) -> Option<u8> {
    Some(match color {
        Color::Black => 30,
        Color::Red => 31,
        Color::Green => 32,
        Color::Yellow => 33,
        Color::Blue => 34,
        Color::Magenta => 35,
        Color::Cyan => 36,
        Color::Gray => 37,
        Color::DarkGray => 90,
        Color::LightRed => 91,
        Color::LightGreen => 92,
        Color::LightYellow => 93,
        Color::LightBlue => 94,
        Color::LightMagenta => 95,
        Color::LightCyan => 96,
        Color::White => 97,
        _ => return None,
    })
}

/// Ends the program by a signal, as if it had not been caught.
pub(super) fn end_by(signal: i32) -> io::Result<()> {
    emulate_default_handler(signal)
}

/// What puts a text into the clipboard of a terminal.
fn clipboard(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", crate::ops::cherry_pick::base64(text.as_bytes()))
}

/// Ends the program as SIGHUP does once its terminal is gone, on a thread of its own.
///
/// Without a terminal the reader of keys gets empty reads for ever, and never asks for signals again.
fn end_with_terminal(tty: std::fs::File) {
    let watch = move || {
        wait_until_gone(&tty);
        _ = end_by(SIGHUP);
    };
    // Without a thread to be had, the signals are all that ends it.
    _ = std::thread::Builder::new().name("terminal".into()).spawn(watch);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_written() {
        let area = Rect { x: 0, y: 0, width: 6, height: 2 };
        let (before, mut after) = (Buffer::empty(area), Buffer::empty(area));
        after.set_string(1, 0, "ab", ratatui_core::style::Style::new().fg(Color::LightGreen));
        after.set_string(
            0,
            1,
            "\u{4e2d}x",
            ratatui_core::style::Style::new().add_modifier(Modifier::REVERSED),
        );
        let mut out = Vec::new();
        write_cells(&mut out, before.diff(&after)).unwrap();
        let wanted = "\x1b[1;2H\x1b[0;92mab\x1b[2;1H\x1b[0;7m\u{4e2d}\x1b[2;3Hx\x1b[0m";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
        assert!(after.diff(&after).is_empty());
    }

    #[test]
    fn a_copied_text_can_not_end_the_escape() {
        assert_eq!(super::clipboard("a\x07b\x1b"), "\x1b]52;c;YQdiGw==\x07");
    }
}
