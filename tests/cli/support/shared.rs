//! The optional folder of reference files beside a checkout.

use std::path::PathBuf;

/// Returns the folder: `BOUGH_SHARED`, or else `../shared`.
///
/// A test that needs it has the attribute `#[cfg_attr(not(shared), ignore = "needs the folder of
/// reference files")]`, so that it is reported as ignored if the folder does not exist (`build.rs`
/// checks that).
#[allow(dead_code, reason = "not all builds have tests that want it")]
pub fn folder() -> PathBuf {
    let named = std::env::var_os("BOUGH_SHARED").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| super::files::project().join("../shared"));
    folder.canonicalize().expect("the folder of reference files is there")
}
