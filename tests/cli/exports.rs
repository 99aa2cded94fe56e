//! Exports of all sessions in the tests, intact and damaged.

use crate::support::files::{copy, project};
use crate::support::sandbox::{bough, code, said};
use crate::support::sessions::sessions_below;

/// An export reports damage if and only if `fsck` finds errors in it.
#[test]
fn a_damaged_export_is_said_to_be_so() {
    let mut sessions = sessions_below(&project().join("tests/cli/sessions"));
    sessions.retain(|path| path.metadata().unwrap().len() < 32 << 10);
    let home = tempfile::tempdir().unwrap();
    let (mut exported, mut damaged) = (0, 0);
    for (at, session) in sessions.iter().enumerate() {
        let name = session.file_name().unwrap();
        // In a separate folder, so that no other files belong to it.
        let from = home.path().join(format!("{at}")).join(name);
        copy(session, &from);
        let to = home.path().join(format!("to-{at}/5e550001-0000-4000-8000-000000000001.jsonl"));
        let export = bough(home.path())
            .args(["export-branch".as_ref(), from.as_os_str(), "-o".as_ref(), to.as_os_str()])
            .output();
        let export = export.unwrap();
        if code(&export) != 0 {
            continue;
        }
        exported += 1;
        let says = said(&export).contains("and so is the new session");
        let check = bough(home.path()).arg("fsck").arg(&to).output().unwrap();
        assert!(code(&check) < 2, "{}: {}", session.display(), said(&check));
        let shown = String::from_utf8_lossy(&check.stdout);
        assert_eq!(says, code(&check) == 1, "{}: {}\n{shown}", session.display(), said(&export));
        damaged += usize::from(says);
    }
    assert!(exported > 100 && damaged > 5, "{exported} exports, {damaged} of them damaged");
}
