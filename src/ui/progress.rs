//! A progress bar for long work.

use super::Ui;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A progress bar on standard error: only on a terminal, and only if the work takes longer than a
/// second.
pub struct Progress {
    work: Arc<Work>,
    painter: Option<JoinHandle<()>>,
}

/// The progress of the work.
struct Work {
    words: &'static str,
    total: u64,
    done: Done,
    is_over: Mutex<bool>,
    over: Condvar,
}

/// How it is known what is done.
enum Done {
    /// Each step is counted.
    Steps(AtomicU64),
    /// A counter of bytes, and what it said at the start.
    Bytes(fn() -> u64, u64),
}

/// Whether a pager has the terminal, so that nothing may be drawn.
static IS_PAGED: AtomicBool = AtomicBool::new(false);

/// Draws no bar from here on: a pager has the terminal.
pub(super) fn leave_to_pager() {
    IS_PAGED.store(true, Ordering::Relaxed);
}

impl Progress {
    /// Starts with `total` steps to do.
    pub fn start(words: &'static str, total: usize, quiet: bool) -> Progress {
        Progress::with(words, total as u64, Done::Steps(AtomicU64::new(0)), quiet)
    }

    /// Starts with `total` bytes to read; `read` says how many the program has read.
    pub fn of_bytes(words: &'static str, total: u64, read: fn() -> u64, quiet: bool) -> Progress {
        Progress::with(words, total, Done::Bytes(read, read()), quiet)
    }

    fn with(words: &'static str, total: u64, done: Done, quiet: bool) -> Progress {
        let work = Arc::new(Work { words, total, done, is_over: Mutex::new(false), over: Condvar::new() });
        let wanted = !quiet && Ui::talks_to_a_person() && !IS_PAGED.load(Ordering::Relaxed);
        // If no thread can be started, there is no bar.
        let painter = wanted
            .then(|| Arc::clone(&work))
            .and_then(|work| std::thread::Builder::new().spawn(move || work.paint()).ok());
        Progress { work, painter }
    }

    /// Counts one step as done.
    pub fn step(&self) {
        if let Done::Steps(done) = &self.work.done {
            done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let Some(painter) = self.painter.take() else { return };
        *self.work.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.work.over.notify_all();
        let _ = painter.join();
    }
}

impl Work {
    /// Draws the bar after the first second until the work is over, and removes it.
    fn paint(&self) {
        if self.is_over_within(Duration::from_secs(1)) {
            return;
        }
        loop {
            let width = terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| width.0.into());
            let bar = match &self.done {
                Done::Steps(done) => {
                    let done = done.load(Ordering::Relaxed);
                    bar(&format!("{} {done} of {}", self.words, self.total), done, self.total, width)
                }
                Done::Bytes(read, before) => {
                    let done = read().saturating_sub(*before).min(self.total);
                    bar(&bytes(self.words, done, self.total), done, self.total, width)
                }
            };
            // A failure to draw does not matter.
            let _ = write!(io::stderr(), "\r{bar}\x1b[K");
            if self.is_over_within(Duration::from_millis(100)) {
                let _ = write!(io::stderr(), "\r\x1b[K");
                return;
            }
        }
    }

    fn is_over_within(&self, time: Duration) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        self.over.wait_timeout_while(is_over, time, |is_over| !*is_over).is_ok_and(|(is_over, _)| *is_over)
    }
}

/// Returns the bar, in ASCII, for a line of `width` cells; only its text if there is no room for
/// more.
fn bar(text: &str, done: u64, total: u64, width: usize) -> String {
    let mut line = text.to_owned();
    // The last cell stays free, so that no terminal starts another line.
    let room = width.saturating_sub(line.len() + " []".len() + 1).min(40);
    if room >= 10 && total > 0 {
        let full = (room as u64 * done.min(total) / total) as usize;
        line += &format!(" [{}{}]", "#".repeat(full), " ".repeat(room - full));
    }
    line.truncate(width.saturating_sub(1));
    line
}

/// Returns how many bytes are done: `reading 1.2 of 3.4 GB`.
fn bytes(words: &str, done: u64, total: u64) -> String {
    let (unit, size) = match total {
        1_000_000_000.. => ("GB", 1e9),
        _ => ("MB", 1e6),
    };
    format!("{words} {:.1} of {:.1} {unit}", done as f64 / size, total as f64 / size)
}

#[cfg(test)]
mod tests {
    use super::{bar, bytes};

    #[test]
    fn the_bar_fits_its_line() {
        assert_eq!(bar("checking 5 of 20", 5, 20, 80), format!("checking 5 of 20 [{:<40}]", "#".repeat(10)));
        assert_eq!(bar("checking 20 of 20", 20, 20, 31), "checking 20 of 20 [##########]");
        assert_eq!(bar("checking 20 of 20", 20, 20, 30), "checking 20 of 20");
        assert_eq!(bar("checking 20 of 20", 20, 20, 12), "checking 20");
        assert_eq!(bar("checking 0 of 0", 0, 0, 80), "checking 0 of 0");
    }

    #[test]
    fn bytes_have_the_unit_of_the_whole() {
        assert_eq!(bytes("reading", 1_234_567_890, 3_400_000_000), "reading 1.2 of 3.4 GB");
        assert_eq!(bytes("reading", 400_000, 64_000_000), "reading 0.4 of 64.0 MB");
    }
}
