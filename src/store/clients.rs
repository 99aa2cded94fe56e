//! The running processes of Claude Code, as they register themselves.
//!
//! A client opens a session for each line only, so that an open file does not show which session it
//! continues. It keeps a file `sessions/PID.json` in its configuration folder instead, with the
//! session and the working directory, and removes it at its end.

use super::write::process_lives;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

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
///
/// A file whose process is gone, or began after it, is left from a client that was killed.
pub fn running(config: &Path) -> Vec<Client> {
    let files = fs::read_dir(config.join("sessions")).into_iter().flatten().flatten();
    let mut out: Vec<Client> = files.filter_map(|file| read(&file.path())).collect();
    out.sort_by_key(|client| client.pid);
    out
}

fn read(path: &Path) -> Option<Client> {
    if path.extension()? != "json" {
        return None;
    }
    let object: serde_json::Value = serde_json::from_slice(&super::read_file(path).ok()?).ok()?;
    let of_name = || path.file_stem()?.to_str()?.parse().ok();
    let pid = object["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).or_else(of_name)?;
    if !process_lives(pid) || began_after(pid, object["startedAt"].as_u64()) {
        return None;
    }
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    Some(Client { pid, session: text("sessionId"), cwd: text("cwd") })
}

/// Returns whether a process began after a time in milliseconds since 1970, so that it is another one
/// than the client of that time.
fn began_after(pid: i32, time: Option<u64>) -> bool {
    /// The clock may have been set, and the system rounds.
    const SLACK: Duration = Duration::from_secs(60);
    let began = fs::metadata(format!("/proc/{pid}")).and_then(|facts| facts.modified());
    let time = time.and_then(|time| SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(time)));
    matches!((began, time), (Ok(began), Some(time)) if began > time + SLACK)
}

/// Returns the configuration folder of Claude Code: `$CLAUDE_CONFIG_DIR`, or `~/.claude`.
pub fn config_folder() -> PathBuf {
    named_folder().unwrap_or_else(|| etcetera::home_dir().unwrap_or_default().join(".claude"))
}

/// Returns the file in which Claude Code keeps its settings of projects.
pub fn settings_of_projects() -> PathBuf {
    named_folder().unwrap_or_else(|| etcetera::home_dir().unwrap_or_default()).join(".claude.json")
}

fn named_folder() -> Option<PathBuf> {
    std::env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty()).map(PathBuf::from)
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
        let text = r#"{"sessionId":"s","cwd":"/w/app","kind":"interactive"}"#;
        for name in [format!("{own}.json"), "999999999.json".into(), "x.json".into(), format!("{own}.tmp")] {
            fs::write(sessions.join(name), text).unwrap();
        }
        let wanted = Client { pid: own as i32, session: "s".into(), cwd: "/w/app".into() };
        assert_eq!(running(folder.path()), [wanted]);
        assert_eq!(running(&folder.path().join("none")), []);
    }
}
