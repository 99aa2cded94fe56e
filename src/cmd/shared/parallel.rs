//! Work on several files at once, on as many threads as there are to be had.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::OnceLock;

/// Returns what `work` gives for each of some items, in their order.
///
/// Where no thread can be started (a limit of processes in a container or a shell), the calling thread does it alone.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    // One item is no reason to start threads.
    match pool().filter(|_| items.len() > 1) {
        Some(pool) => pool.install(|| items.par_iter().map(&work).collect()),
        None => items.iter().map(work).collect(),
    }
}

/// The threads, started once; none where they can't be.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| ThreadPoolBuilder::new().build().ok()).as_ref()
}
