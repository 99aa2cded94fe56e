//! Tells the tests whether the folder of reference files is there, so that those that want it are reported as
//! ignored where it is not.

use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-env-changed=BOUGH_SHARED");
    println!("cargo:rustc-check-cfg=cfg(shared)");
    let folder = std::env::var_os("BOUGH_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    println!("cargo:rerun-if-changed={}", folder.join("design.md").display());
    if folder.join("cases").is_dir() {
        println!("cargo:rustc-cfg=shared");
    }
}
