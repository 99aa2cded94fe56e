//! Tells the tests what is there to test with, so that those that want it are reported as ignored where it is not: the folder
//! of reference files, and shells.

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
    println!("cargo:rustc-check-cfg=cfg(with, values(\"bash\", \"zsh\", \"fish\", \"jq\", \"fzf\"))");
    let path = std::env::var_os("PATH").unwrap_or_default();
    for program in ["bash", "zsh", "fish", "jq", "fzf"] {
        let found =
            std::env::split_paths(&path).map(|folder| folder.join(program)).find(|program| program.exists());
        // The shells are tried in terminals that `script` makes.
        let terminal = std::env::split_paths(&path).any(|folder| folder.join("script").exists());
        if found.is_some() && terminal {
            println!("cargo:rustc-cfg=with=\"{program}\"");
        }
    }
}
