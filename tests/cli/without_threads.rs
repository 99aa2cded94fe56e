//! If no thread can be started, the work is done on one.

use crate::support::files::{copy, project};
use crate::support::sandbox::copy_of_bough;
use std::process::Command;

#[test]
fn commands_over_folders_need_no_threads() {
    let folder = tempfile::Builder::new().permissions(open_to_all()).tempdir().unwrap();
    for name in ["a.jsonl", "b.jsonl", "c.jsonl"] {
        copy(&project().join("examples/sessions/parser.jsonl"), &folder.path().join(name));
    }
    let bough = folder.path().join("bough");
    copy_of_bough(&bough);
    let folder = folder.path().to_str().unwrap();
    let commands: [&[&str]; 4] =
        [&["fsck", folder], &["grep", "-c", "parser", folder], &["stats", folder], &["sessions", folder]];
    for args in commands {
        let run = |alone: bool| {
            let mut command = Command::new(if alone { "setpriv" } else { bough.to_str().unwrap() });
            if alone {
                // The limit does not apply to the user root.
                command.args(["--reuid", "65534", "--clear-groups", "prlimit", "--nproc=1"]).arg(&bough);
            }
            command
                .env_clear()
                .env("PATH", std::env::var_os("PATH").unwrap())
                .env("BOUGH_NOW", "2026-03-02T12:00:00Z");
            command.args(args).output()
        };
        let Some(alone) = run(true).ok().filter(|output| !output.stderr.starts_with(b"setpriv:")) else {
            return;
        };
        let wanted = run(false).unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(alone.status.code(), wanted.status.code(), "{args:?}: {}", text(&alone.stderr));
        assert_eq!(text(&alone.stdout), text(&wanted.stdout), "{args:?}");
    }
}

fn open_to_all() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o755)
}
