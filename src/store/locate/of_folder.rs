//! Finds the sessions of a working directory: how each agent names the folder of a project.

use super::{Found, Store, collect, first_bytes, pi_session_folder, sessions};
use crate::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Whether the sessions of the other worktrees of a git repository count as those of a folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worktrees {
    /// They do if the agent also lists them: Claude Code lets the user choose from all of them.
    Listed,
    /// They don't: the agent continues the newest session of the folder itself.
    LeftOut,
}

/// Returns the sessions of a working directory in all stores, newest first.
///
/// Headers are read while the iterator advances, so that the newest costs little however many there
/// are.
pub fn of_folder(
    stores: &[Store],
    folder: &Path,
    worktrees: Worktrees,
) -> impl Iterator<Item = Found> + use<> {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut all = Vec::new();
    for store in stores {
        if store.is_guest() {
            all.extend(sessions(store).into_iter().map(|found| (found, Counts::IfNamed)));
            continue;
        }
        let Ok(entries) = fs::read_dir(&store.root) else { continue };
        let mut names = folder_names(store.agent, &real);
        if store.agent == "claude" && worktrees == Worktrees::Listed {
            for other in crate::store::worktrees::other_worktrees(&real) {
                names.extend(folder_names(store.agent, &other));
            }
        }
        let mut flat = Vec::new();
        collect(store.agent, &store.root, 0, &mut flat);
        all.extend(flat.into_iter().map(|found| (found, Counts::IfNamed)));
        for entry in entries.flatten() {
            let path = entry.path();
            if !path.is_dir() {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            // Names of folders lose information and collide, so the header decides.
            let fits = names.iter().any(|known| is_named(store.agent, &name, known));
            let counts = match (store.agent, fits) {
                ("claude", true) if names.contains(&name) => Counts::Always,
                // Long paths may begin in the same way.
                ("claude", true) => Counts::IfNamed,
                ("claude", false) => continue,
                _ => Counts::UnlessAnother,
            };
            let mut inside = Vec::new();
            collect(store.agent, &path, 0, &mut inside);
            // The newest file represents all of them; it is searched for only if it is needed.
            let newest = || inside.iter().max_by_key(|found| found.modified());
            if fits || newest().and_then(|first| belongs(&first.path, &real)) == Some(true) {
                all.extend(inside.into_iter().map(|found| (found, counts)));
            }
        }
    }
    all.sort_by_cached_key(|(found, _)| std::cmp::Reverse(found.modified()));
    all.into_iter().filter_map(move |(found, counts)| {
        let is_one = match counts {
            Counts::Always => true,
            Counts::UnlessAnother => belongs(&found.path, &real) != Some(false),
            Counts::IfNamed => belongs(&found.path, &real) == Some(true),
        };
        is_one.then_some(found)
    })
}

/// When a session file counts as one of a working directory, by the directory in its header.
#[derive(Clone, Copy)]
enum Counts {
    Always,
    UnlessAnother,
    IfNamed,
}

/// Returns the folder in which an agent keeps the sessions of a working directory; it may not exist
/// yet.
pub fn folder_of(agent: &str, folder: &Path) -> Option<PathBuf> {
    let home = etcetera::home_dir().ok()?;
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let root = match agent {
        "claude" => crate::store::clients::config_folder().join("projects"),
        "pi" | "omp" => {
            if agent == "pi"
                && let Some(sessions) = pi_session_folder(folder)
            {
                return Some(sessions);
            }
            let default = home.join(format!(".{agent}/agent"));
            variable("PI_CODING_AGENT_DIR").unwrap_or(default).join("sessions")
        }
        _ => return None,
    };
    let names = folder_names(agent, folder);
    let mut places = names.iter().map(|name| root.join(name));
    if let Some(there) = places.clone().find(|place| place.is_dir()) {
        return Some(there);
    }
    // A folder of a long name may have been made with another hash.
    if let Some(long) = names.first().filter(|name| agent == "claude" && name.len() > LONG) {
        let mut entries = fs::read_dir(&root).ok()?.flatten();
        if let Some(found) = entries.find(|entry| is_named(agent, &entry.file_name().to_string_lossy(), long))
        {
            return Some(found.path());
        }
    }
    // oh-my-pi names a folder below the home folder by its path relative to it.
    if agent == "omp" { places.next_back() } else { places.next() }
}

/// Returns whether a path that an agent stored names a folder, whose path is given as the system knows it.
pub fn is_same_folder(stored: &Path, folder: &Path) -> bool {
    stored == folder || stored.canonicalize().is_ok_and(|real| real == folder)
}

/// Returns the folder in which Codex keeps its files.
pub(super) fn home_of_codex() -> Option<PathBuf> {
    let named = std::env::var_os("CODEX_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(etcetera::home_dir().ok()?.join(".codex")))
}

/// Returns the folder in which Codex keeps the sessions of a day, given a time in ISO format; it may
/// not exist yet.
pub fn folder_of_codex(time: &str) -> Option<PathBuf> {
    let day = time.split('T').next()?.replace('-', "/");
    Some(home_of_codex()?.join("sessions").join(day))
}

/// Returns the names that an agent gives to the folder for a working directory.
pub(crate) fn folder_names(agent: &str, folder: &Path) -> Vec<String> {
    let text = folder.to_string_lossy();
    match agent {
        "claude" => {
            let mut name: String = text
                .encode_utf16()
                .map(|unit| match u8::try_from(unit) {
                    Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
                    _ => '-',
                })
                .collect();
            if name.len() > LONG {
                name.truncate(LONG);
                name.push('-');
                name.push_str(&hash_of_claude(&text));
            }
            vec![name]
        }
        _ => {
            let dashed = |text: &str| text.replace(['/', '\\', ':'], "-");
            let mut names = vec![format!("--{}--", dashed(text.strip_prefix(['/', '\\']).unwrap_or(&text)))];
            if let Ok(home) = etcetera::home_dir()
                && let Ok(below) = folder.strip_prefix(home)
            {
                names.push(format!("-{}", dashed(&below.to_string_lossy())));
            }
            // oh-my-pi's own names for folders that come and go.
            if agent == "omp"
                && names.len() == 1
                && let Ok(below) = folder.strip_prefix(std::env::temp_dir())
            {
                let below = dashed(&below.to_string_lossy());
                names.push(if below.is_empty() { "-tmp".into() } else { format!("-tmp-{below}") });
            }
            names
        }
    }
}

/// The most characters of the name of a folder of Claude Code, without the hash of a longer one.
const LONG: usize = 200;

/// Returns the hash at the end of a long name of Claude Code: that of Java's strings, without its sign,
/// to the base of 36. (Seen in client 2.1.332, whose picker looks in no other folder.)
fn hash_of_claude(path: &str) -> String {
    let hash = path.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()));
    let (mut rest, mut digits) = (hash.unsigned_abs(), Vec::new());
    while rest > 0 || digits.is_empty() {
        digits.push(char::from_digit(rest % 36, 36).unwrap_or('0'));
        rest /= 36;
    }
    digits.into_iter().rev().collect()
}

/// Returns whether a folder has a name that an agent gives to a working directory, or, if that is a long
/// one of Claude Code, one with another hash: earlier versions hashed in another way.
pub(crate) fn is_named(agent: &str, name: &str, known: &str) -> bool {
    let begins_so = || known.get(..=LONG).is_some_and(|start| name.starts_with(start));
    name == known || agent == "claude" && begins_so()
}

/// Returns the working directory of a session of Gemini, which keeps it in a file beside the folder
/// of the project's chats.
pub fn folder_of_chats(session: &Path) -> Option<PathBuf> {
    let chats = session.parent().filter(|folder| folder.ends_with("chats"))?;
    let text = crate::store::read_file(&chats.with_file_name(".project_root")).ok()?;
    let folder = String::from_utf8(text).ok()?;
    Some(PathBuf::from(folder.trim())).filter(|folder| folder.is_absolute())
}

/// Returns whether the header of a file names this working directory, or `None` if it names none.
fn belongs(path: &Path, folder: &Path) -> Option<bool> {
    if let Some(project) = folder_of_chats(path) {
        return Some(project.canonicalize().unwrap_or(project) == folder);
    }
    let head = first_bytes(path, 16 * 1024);
    let line =
        head.split(|byte| *byte == b'\n').find(|line| memchr::memmem::find(line, b"\"cwd\"").is_some())?;
    // The objects of Codex and Copilot may be longer than what was read.
    let inside = |key: &[u8]| {
        let at = memchr::memmem::find(line, key)? + key.len();
        Some(json::Members::new(&line[at..]))
    };
    let cwd = match json::member_of_whole(line, "cwd") {
        Some(cwd) => json::string(cwd)?.into_owned(),
        None => [&b"\"payload\":"[..], b"\"context\":"]
            .into_iter()
            .find_map(|key| inside(key)?.string("cwd").map(|cwd| cwd.into_owned()))?,
    };
    Some(Path::new(&cwd) == folder)
}
