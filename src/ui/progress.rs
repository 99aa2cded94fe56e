use super::Ui;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A bar on standard error for long work: only on a terminal, and only once the work takes longer than a second.
pub struct Progress {
    bar: ProgressBar,
    ended: Arc<(Mutex<bool>, Condvar)>,
    waker: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins, with `total` steps to be done.
    pub fn start(words: &'static str, total: usize, quiet: bool) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        if quiet || !Ui::talks_to_a_person() {
            return Progress { bar, ended, waker: None };
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {pos} of {len} {wide_bar}") {
            bar.set_style(style);
        }
        bar.set_message(words);
        let waker = std::thread::spawn({
            let (bar, ended) = (bar.clone(), ended.clone());
            move || {
                let end = ended.0.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = ended.1.wait_timeout_while(end, Duration::from_secs(1), |end| !*end);
                if waited.is_ok_and(|(end, _)| !*end) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(Duration::from_millis(100));
                }
            }
        });
        Progress { bar, ended, waker: Some(waker) }
    }

    /// One step is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        *self.ended.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.1.notify_all();
        if let Some(waker) = self.waker.take() {
            let _ = waker.join();
        }
        self.bar.finish_and_clear();
    }
}
