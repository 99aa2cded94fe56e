//! What Claude Code deletes by itself: transcripts that were not written for some days.
//!
//! A client in which something was typed deletes them after ten minutes, at most once a day, in all
//! projects, with their folders. It takes the number of days from its own settings, `cleanupPeriodDays`,
//! or else 30: those of the machine's administrator, then `.claude/settings.local.json` and
//! `.claude/settings.json` of the project in which it runs, then those of the user. A transcript counts as
//! old by the time at which its file was last written. (Measured with client 2.1.332: with 10 days in the
//! settings of the user, one of 10.01 days was deleted, and one of 9.99 days was not.)

use super::clients;
use crate::model::Time;
use std::path::{Path, PathBuf};

/// The days after which Claude Code deletes a transcript, if no setting says otherwise.
const DEFAULT: u64 = 30;

/// A day, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// How long Claude Code keeps a session that is not written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Retention {
    /// The number of days.
    pub days: u64,
    /// The file with the setting; `None` if it is the default.
    pub from: Option<PathBuf>,
}

impl Retention {
    /// Returns how long a client that runs in `project` keeps sessions.
    pub fn of_project(project: Option<&Path>) -> Retention {
        let user = clients::config_folder().join("settings.json");
        let own = project.map(|project| project.join(".claude"));
        let own = own.iter().flat_map(|folder| {
            ["settings.local.json", "settings.json"].into_iter().map(|name| folder.join(name))
        });
        let files = managed().into_iter().chain(own).chain([user]);
        let mut set = files.filter_map(|file| Some((setting(&file)?, file)));
        match set.next() {
            Some((days, file)) => Retention { days, from: Some(file) },
            None => Retention { days: DEFAULT, from: None },
        }
    }

    /// Returns when a session that was last written at a time becomes old enough to be deleted.
    pub fn deleted_at(&self, modified: Time) -> Time {
        Time(modified.0.saturating_add(i64::try_from(self.days).unwrap_or(i64::MAX).saturating_mul(DAY)))
    }
}

/// Returns whether a session file is where Claude Code deletes old ones.
pub fn is_swept(session: &Path) -> bool {
    let Ok(root) = clients::config_folder().join("projects").canonicalize() else { return false };
    let folder = session.parent().and_then(|folder| folder.canonicalize().ok());
    folder.is_some_and(|folder| folder.parent() == Some(&root))
}

/// The settings of the machine's administrator, as the client finds them on this system.
fn managed() -> Option<PathBuf> {
    let folder = match std::env::consts::OS {
        "macos" => "/Library/Application Support/ClaudeCode",
        "linux" => "/etc/claude-code",
        _ => return None,
    };
    Some(Path::new(folder).join("managed-settings.json"))
}

/// Returns the number of days in a file of settings, if it has one that the client accepts.
fn setting(file: &Path) -> Option<u64> {
    let settings: serde_json::Value = serde_json::from_slice(&super::read_file(file).ok()?).ok()?;
    settings.get("cleanupPeriodDays")?.as_u64().filter(|days| *days > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_a_whole_number_of_days() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        for (text, wanted) in [
            (r#"{"cleanupPeriodDays":10}"#, Some(10)),
            (r#"{"cleanupPeriodDays":0}"#, None),
            (r#"{"cleanupPeriodDays":"10"}"#, None),
            (r#"{"cleanupPeriodDays":1.5}"#, None),
            ("{}", None),
            ("not JSON", None),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(setting(&file), wanted, "{text}");
        }
        assert_eq!(setting(&folder.path().join("none.json")), None);
        let kept = Retention { days: 10, from: None };
        assert_eq!(kept.deleted_at(Time(5)), Time(5 + 10 * DAY));
        assert_eq!(Retention { days: u64::MAX, from: None }.deleted_at(Time(5)), Time(i64::MAX));
    }
}
