//! Sets how the program is linked, and tells the tests what is available, so that tests that need
//! more are reported as ignored: the folder of reference files, shells, the terminal in which they
//! are tested, and the rights of the user.

use std::path::PathBuf;

fn main() {
    link_for_a_quick_start();
    println!("cargo:rerun-if-env-changed=BOUGH_SHARED");
    println!("cargo:rustc-check-cfg=cfg(shared)");
    let folder = std::env::var_os("BOUGH_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    if folder.join("cases").is_dir() {
        // Only an existing path is watched: for a missing one, cargo would rebuild everything each
        // time.
        println!("cargo:rerun-if-changed={}", folder.join("design.md").display());
        println!("cargo:rustc-cfg=shared");
    }
    println!("cargo:rustc-check-cfg=cfg(may, values(\"mount\", \"be-another\", \"attribute\"))");
    for (what, needed) in [("mount", &[SYS_ADMIN][..]), ("be-another", &[SETUID, SETGID])] {
        if needed.iter().all(|capability| capabilities() >> capability & 1 == 1) {
            println!("cargo:rustc-cfg=may=\"{what}\"");
        }
    }
    if has_attributes(&std::env::temp_dir()) {
        println!("cargo:rustc-cfg=may=\"attribute\"");
    }
    println!("cargo:rerun-if-env-changed=PATH");
    println!("cargo:rustc-check-cfg=cfg(with, values(\"bash\", \"zsh\", \"fish\", \"tmux\", \"browser\"))");
    let path = std::env::var_os("PATH").unwrap_or_default();
    for program in ["bash", "zsh", "fish", "tmux"] {
        if std::env::split_paths(&path).any(|folder| folder.join(program).exists()) {
            println!("cargo:rustc-cfg=with=\"{program}\"");
        }
    }
    // Pages are tried in a browser, which is driven by a script for Node.
    if ["chromium", "node"]
        .iter()
        .all(|program| std::env::split_paths(&path).any(|folder| folder.join(program).exists()))
    {
        println!("cargo:rustc-cfg=with=\"browser\"");
    }
}

/// The numbers of capabilities, from `capabilities(7)`.
const SETGID: u32 = 6;
const SETUID: u32 = 7;
const SYS_ADMIN: u32 = 21;

/// Returns the capabilities of this process, which the tests will have, too; none if the system has
/// no such thing.
fn capabilities() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let told = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    told.and_then(|told| u64::from_str_radix(told.trim(), 16).ok()).unwrap_or(0)
}

/// Returns whether a file in a folder can have extended attributes.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "the standard library has no such call")]
fn has_attributes(folder: &std::path::Path) -> bool {
    use std::ffi::{CStr, CString, c_char, c_int, c_void};
    use std::os::unix::ffi::OsStrExt;
    unsafe extern "C" {
        fn setxattr(
            path: *const c_char,
            name: *const c_char,
            value: *const c_void,
            size: usize,
            flags: c_int,
        ) -> c_int;
    }
    let path = folder.join(format!("bough-build-{}", std::process::id()));
    let name: &CStr = c"user.bough-test";
    let Ok(path_of_c) = CString::new(path.as_os_str().as_bytes()) else { return false };
    if std::fs::write(&path, "").is_err() {
        return false;
    }
    // SAFETY: both names end in a NUL, and the value is one byte long.
    let answer = unsafe { setxattr(path_of_c.as_ptr(), name.as_ptr(), c"x".as_ptr().cast(), 1, 0) };
    let _ = std::fs::remove_file(&path);
    answer == 0
}

/// Returns whether a file in a folder can have extended attributes. Only used on Linux.
#[cfg(not(target_os = "linux"))]
fn has_attributes(_folder: &std::path::Path) -> bool {
    false
}

/// Links release builds for Linux so that the program starts quickly.
///
/// A program at a fixed address needs no relocations when it is loaded: `log -n 20` of 1 MB takes
/// 15 % less time, measured in alternation with a position-independent program. For the same reason
/// the compiler's own library is linked statically if possible.
fn link_for_a_quick_start() {
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let is = |name: &str, value: &str| var(name) == value;
    // The compiler decides how a static program is linked; otherwise it would not start.
    let whole = var("CARGO_CFG_TARGET_FEATURE").split(',').any(|it| it == "crt-static");
    if !whole
        && is("PROFILE", "release")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo:rustc-link-arg-bins=-no-pie");
        if var("HOST") == var("TARGET")
            && let Some(folder) = folder_of("libgcc_eh.a")
        {
            println!("cargo:rustc-link-search=native={}", folder.display());
            println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
        }
    }
}

/// Returns the folder in which the C compiler has `library`, if it has it.
fn folder_of(library: &str) -> Option<PathBuf> {
    let linker = std::env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let asked =
        std::process::Command::new(linker).arg(format!("-print-file-name={library}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim());
    // For a missing library, it prints only the name.
    path.parent().filter(|_| path.is_absolute() && path.is_file()).map(PathBuf::from)
}
