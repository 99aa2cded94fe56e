//! The folders in which oh-my-pi keeps images outside its sessions, under their hashes.

use std::path::{Path, PathBuf};

/// Returns the file of a session's image, given the SHA-256 in the session, or `None` if there is
/// none.
pub fn find(session: &Path, hash: &str) -> Option<PathBuf> {
    let is_hash = !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    folders(session).map(|folder| folder.join(hash)).find(|path| is_hash && path.is_file())
}

/// Returns whether any folder exists that could contain images of a session. If none exists, the
/// session was moved without its images.
pub fn have_a_folder(session: &Path) -> bool {
    folders(session).any(|folder| folder.is_dir())
}

/// Returns the session's own folder, then `blobs` beside the session and in the folders above.
/// Sessions are some levels below the folder of the agent, which contains the images of all of
/// them.
fn folders(session: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let session = session.canonicalize().ok();
    let own = session.iter().map(|session| session.with_extension("blobs"));
    let above = session.iter().flat_map(|session| session.ancestors().skip(1).take(5));
    own.chain(above.map(|folder| folder.join("blobs"))).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn pictures_are_found_in_all_folders_that_may_have_them() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let session = top.join("agent/sessions/-work/s.jsonl");
        fs::create_dir_all(session.parent().unwrap()).unwrap();
        fs::write(&session, "").unwrap();
        assert!(!have_a_folder(&session));
        assert_eq!(find(&session, &"0".repeat(64)), None);
        let places = ["agent/sessions/-work/s.blobs", "agent/sessions/-work/blobs", "agent/blobs", "blobs"];
        for (at, place) in places.iter().enumerate() {
            let hash = at.to_string().repeat(64);
            fs::create_dir_all(top.join(place)).unwrap();
            fs::write(top.join(place).join(&hash), "").unwrap();
            // A nearer folder without it hides nothing.
            assert_eq!(find(&session, &hash), Some(top.join(place).join(&hash)));
        }
        assert!(have_a_folder(&session));
        assert_eq!(find(&session, &"9".repeat(64)), None);
        assert_eq!(find(&session, "../../s.jsonl"), None);
        assert_eq!(find(&top.join("gone.jsonl"), &"0".repeat(64)), None);
    }
}
