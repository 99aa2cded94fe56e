//! A progress bar for long work.

use super::Ui;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
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
    total: usize,
    done: AtomicUsize,
    is_over: Mutex<bool>,
    over: Condvar,
}

impl Progress {
    /// Starts with `total` steps to do.
    pub fn start(words: &'static str, total: usize, quiet: bool) -> Progress {
        let (done, is_over, over) = (AtomicUsize::new(0), Mutex::new(false), Condvar::new());
        let work = Arc::new(Work { words, total, done, is_over, over });
        let wanted = !quiet && Ui::talks_to_a_person();
        // If no thread can be started, there is no bar.
        let painter = wanted
            .then(|| Arc::clone(&work))
            .and_then(|work| std::thread::Builder::new().spawn(move || work.paint()).ok());
        Progress { work, painter }
    }

    /// Counts one step as done.
    pub fn step(&self) {
        self.work.done.fetch_add(1, Ordering::Relaxed);
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
            let bar = bar(self.words, self.done.load(Ordering::Relaxed), self.total, width);
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
fn bar(words: &str, done: usize, total: usize, width: usize) -> String {
    let mut line = format!("{words} {done} of {total}");
    // The last cell stays free, so that no terminal starts another line.
    let room = width.saturating_sub(line.len() + " []".len() + 1).min(40);
    if room >= 10 && total > 0 {
        let full = room * done.min(total) / total;
        line += &format!(" [{}{}]", "#".repeat(full), " ".repeat(room - full));
    }
    line.truncate(width.saturating_sub(1));
    line
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn the_bar_fits_its_line() {
        assert_eq!(bar("checking", 5, 20, 80), format!("checking 5 of 20 [{:<40}]", "#".repeat(10)));
        assert_eq!(bar("checking", 20, 20, 31), "checking 20 of 20 [##########]");
        assert_eq!(bar("checking", 20, 20, 30), "checking 20 of 20");
        assert_eq!(bar("checking", 20, 20, 12), "checking 20");
        assert_eq!(bar("checking", 0, 0, 80), "checking 0 of 0");
    }
}
