//! Work on several files at once, on as many threads as are available.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::OnceLock;

/// Returns the results of `work` for some items, in their order.
///
/// If no thread can be started (a limit of processes in a container or a shell), the calling thread
/// does all the work.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    // A single item is not worth starting threads.
    match (items.len() > 1).then(pool).flatten() {
        Some(pool) => pool.install(|| items.par_iter().map(&work).collect()),
        None => items.iter().map(work).collect(),
    }
}

/// Returns the threads, which are started once, or `None` if that is impossible.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| ThreadPoolBuilder::new().build().ok()).as_ref()
}
