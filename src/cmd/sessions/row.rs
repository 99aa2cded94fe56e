//! The row of a session: what a list needs to know of it.

use super::family::real;
use super::table::Line;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::{time, write};
use crate::format::Format;
use crate::model::Time;
use crate::ops::sessions::{self, Summary};
use crate::store;
use crate::store::locate;
use crate::store::locate::Found;
use crate::store::oplog::Log;
use crate::store::sweep::{self, Retention};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A file that was not written for this long is not checked for signs of life: most of these
/// sessions ended long ago.
const ASLEEP: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) struct List<'l> {
    /// Whether only both ends of each file are read.
    pub(super) is_quick: bool,
    pub(super) global: &'l Global,
    /// Where a session is found by its id.
    pub(super) stores: Vec<locate::Store>,
    pub(super) log: Option<&'l Log>,
}

/// A listed session.
pub(super) struct Row {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    bytes: u64,
    pub(super) modified: SystemTime,
    pub(super) summary: Summary,
    /// Whether somebody seems to be writing to it.
    alive: bool,
    /// Whether it is outside of the stores, where its id does not find it.
    is_outside: bool,
    /// When the agent deletes it, if it is not written any more.
    deleted: Option<Time>,
}

impl List<'_> {
    /// Returns the row of a file, or an error if it is not a session.
    pub(super) fn row(&self, found: &Found) -> Result<Row, store::Error> {
        let options = self.global.options();
        let opened = match self.is_quick {
            true => store::open_ends(&found.path, options),
            false => store::open(&found.path, options),
        };
        let opened = opened?;
        let path = found.path.clone();
        let io = |source| store::Error::Io { path: path.clone(), source };
        let summary = sessions::summary(&opened.session, &opened.files).map_err(io)?;
        let stamp = opened.files.stamp(0);
        // A compressed file is unpacked in memory, and has no stamp.
        let (bytes, modified) = stamp
            .map_or_else(|| (found.bytes(), found.modified()), |stamp| (stamp.bytes(), stamp.modified()));
        let lately = modified.elapsed().is_ok_and(|age| age < ASLEEP);
        let Found { is_link, is_unlocked, .. } = *found;
        let signs = || write::signs_of_life(&opened.files, is_link, is_unlocked, self.log);
        let alive = lately && signs().is_some();
        let format = opened.session.format;
        let deleted = (format == Format::Claude && sweep::is_swept(&path)).then(|| {
            let project = summary.cwd.as_deref().map(Path::new);
            Retention::of_project(project).deleted_at(time(modified))
        });
        let is_outside = found.agent.is_empty() && {
            let path = real(&path);
            !self.stores.iter().any(|store| path.starts_with(real(&store.root)))
        };
        Ok(Row { path, format, bytes, modified, summary, alive, is_outside, deleted })
    }
}

impl Row {
    pub(super) fn json_row(&self) -> SessionRow<'_> {
        let summary = &self.summary;
        SessionRow {
            file: self.path.display().to_string(),
            agent: self.format.agent(),
            format: self.format.name(),
            bytes: self.bytes,
            alive: self.alive,
            session: summary.id.as_deref(),
            name: summary.name.as_deref(),
            prompt: summary.prompt.as_deref(),
            cwd: summary.cwd.as_deref(),
            parent: summary.parent.as_deref(),
            entries: summary.counts.map(|counts| counts.entries),
            branches: summary.counts.map(|counts| counts.branches),
            faults: summary.counts.map(|counts| counts.faults),
            mtime: time::iso(time(self.modified)),
            deleted: self.deleted.and_then(time::iso),
        }
    }

    pub(super) fn line(&self) -> Line<'_> {
        Line {
            path: &self.path,
            agent: self.format.agent(),
            bytes: self.bytes,
            modified: time(self.modified),
            summary: &self.summary,
            alive: self.alive,
            is_outside: self.is_outside,
            deleted: self.deleted,
        }
    }
}

/// A session: sessions.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.session/1")]
pub(in crate::cmd) struct SessionRow<'a> {
    /// The file.
    file: String,
    /// The agent.
    agent: &'static str,
    /// The format.
    format: &'static str,
    /// The bytes of the file.
    bytes: u64,
    /// Whether an agent seems to be writing.
    alive: bool,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    /// The name or title in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// The first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    /// The folder that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
    /// The session that its header names as the one it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<&'a str>,
    /// How many entries; absent with --quick.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<usize>,
    /// How many branches; absent with --quick.
    #[serde(skip_serializing_if = "Option::is_none")]
    branches: Option<usize>,
    /// How many faults were met; absent with --quick.
    #[serde(skip_serializing_if = "Option::is_none")]
    faults: Option<usize>,
    /// When it was last written.
    #[serde(skip_serializing_if = "Option::is_none")]
    mtime: Option<String>,
    /// When the agent deletes it, if it is not written any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<String>,
}

pub(super) fn time(time: SystemTime) -> Time {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
