//! The running processes of Claude Code, as they register themselves.
//!
//! A client opens a session for each line only, so that an open file does not show which session it
//! continues. It keeps a file `sessions/PID.json` in its configuration folder instead, with the
//! session and the working directory, and removes it at its end.

use super::write::process_lives;
use std::fs;
use std::path::{Path, PathBuf};

/// A running process of Claude Code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    /// Its process id.
    pub pid: i32,
    /// The session that it continues.
    pub session: String,
    /// Its working directory.
    pub cwd: String,
}

/// Returns the clients that run with a configuration folder.
pub fn running(config: &Path) -> Vec<Client> {
    let files = fs::read_dir(config.join("sessions")).into_iter().flatten().flatten();
    let mut out: Vec<Client> = files.filter_map(|file| read(&file.path())).collect();
    out.sort_by_key(|client| client.pid);
    out
}

fn read(path: &Path) -> Option<Client> {
    let pid: i32 = path.file_stem()?.to_str()?.parse().ok()?;
    if path.extension()? != "json" || !process_lives(pid) {
        return None;
    }
    let object: serde_json::Value = serde_json::from_slice(&super::read_file(path).ok()?).ok()?;
    let text = |key: &str| object.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    Some(Client { pid, session: text("sessionId"), cwd: text("cwd") })
}

/// Returns the configuration folder of Claude Code: `$CLAUDE_CONFIG_DIR`, or `~/.claude`.
pub fn config_folder() -> PathBuf {
    let named = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
    named.unwrap_or_else(|| etcetera::home_dir().unwrap_or_default().join(".claude"))
}

/// Returns the file in which Claude Code keeps its settings of projects.
pub fn settings_of_projects() -> PathBuf {
    let named = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
    named.unwrap_or_else(|| etcetera::home_dir().unwrap_or_default()).join(".claude.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_counts_as_long_as_its_process_runs() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = folder.path().join("sessions");
        fs::create_dir(&sessions).unwrap();
        let own = std::process::id();
        let text = r#"{"pid":1,"sessionId":"s","cwd":"/w/app","kind":"interactive"}"#;
        for name in [format!("{own}.json"), "999999999.json".into(), "x.json".into(), format!("{own}.tmp")] {
            fs::write(sessions.join(name), text).unwrap();
        }
        let wanted = Client { pid: own as i32, session: "s".into(), cwd: "/w/app".into() };
        assert_eq!(running(folder.path()), [wanted]);
        assert_eq!(running(&folder.path().join("none")), []);
    }
}
