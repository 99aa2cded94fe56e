//! The folder of reference files that a checkout may have beside it.

use std::path::PathBuf;

/// The folder, by `BOUGH_SHARED`, else `../shared`.
///
/// A test that wants it says `#[cfg_attr(not(shared), ignore = "needs the folder of reference files")]`, so that it is
/// reported as ignored where the folder is absent (`build.rs` looks).
#[allow(dead_code, reason = "not all builds have tests that want it")]
pub fn folder() -> PathBuf {
    let named = std::env::var_os("BOUGH_SHARED").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| crate::files::project().join("../shared"));
    folder.canonicalize().expect("the folder of reference files is there")
}
