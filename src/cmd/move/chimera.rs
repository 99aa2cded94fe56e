//! Where Chimera keeps its sessions: one file for each working directory, named by a hash of the path.
//!
//! Chimera itself writes no header, so that the name is all by which a session belongs to a folder.

use crate::ops::relocate::PathMap;
use crate::store::locate::Store;
use crate::store::project_folder::home_of;
use std::path::{Path, PathBuf};

/// The agent.
pub(super) const AGENT: &str = "chimera";

/// Returns the store of this machine, `$CHIMERA_HOME/sessions` or `~/.chimera/sessions`, if there is one.
///
/// A folder that Chimera's configuration names is not known; `--from` names it.
pub(super) fn store() -> Option<Store> {
    let named = std::env::var_os("CHIMERA_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = named.or_else(|| Some(etcetera::home_dir().ok()?.join(".chimera")))?;
    let root = home.join("sessions");
    root.is_dir().then_some(Store { agent: AGENT, root })
}

/// Returns the name that Chimera gives to the session of a working directory.
pub(super) fn name(cwd: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(cwd.as_bytes());
    let name: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}.jsonl")
}

/// Returns the name of the session after it moved: that of the new directory, if the file has a name that
/// Chimera gives. `old` is empty if it is not known.
pub(super) fn new_name(path: &Path, old: &str, new: &str) -> std::ffi::OsString {
    let own = path.file_name().unwrap_or_default();
    let is_its = match old {
        "" => is_hash(path),
        old => own == name(old).as_str(),
    };
    if is_its { name(new).into() } else { own.to_owned() }
}

/// Returns whether a file has a name that Chimera could have given.
pub(super) fn is_hash(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().as_encoded_bytes();
    stem.len() == 12 && stem.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the working directory of a session: of the folders that move, and of `others`, the one whose
/// hash is the name of the file, or else the one that its header names.
pub(super) fn cwd<'s>(
    path: &Path,
    map: &'s PathMap,
    others: impl Iterator<Item = &'s str>,
) -> Option<String> {
    let own = path.file_name()?;
    let moving = map.pairs().iter().map(|(old, _)| &**old);
    let named = moving.chain(others).find(|folder| own == name(folder).as_str());
    named.map(str::to_owned).or_else(|| home_of(AGENT, path).map(|home| home.cwd))
}
