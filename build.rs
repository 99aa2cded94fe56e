//! Tells the tests what is there to test with, so that those that want it are reported as ignored where it is not: the folder
//! of reference files, shells, and the terminal in which they are tried.

use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-env-changed=BOUGH_SHARED");
    println!("cargo:rustc-check-cfg=cfg(shared)");
    let folder = std::env::var_os("BOUGH_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    println!("cargo:rerun-if-changed={}", folder.join("design.md").display());
    if folder.join("cases").is_dir() {
        println!("cargo:rustc-cfg=shared");
    }
    println!("cargo:rerun-if-env-changed=PATH");
    println!("cargo:rustc-check-cfg=cfg(with, values(\"bash\", \"zsh\", \"fish\", \"tmux\"))");
    let path = std::env::var_os("PATH").unwrap_or_default();
    for program in ["bash", "zsh", "fish", "tmux"] {
        if std::env::split_paths(&path).any(|folder| folder.join(program).exists()) {
            println!("cargo:rustc-cfg=with=\"{program}\"");
        }
    }
}
