//! Reasons not to move: running clients, and sessions with the same name.

use super::{Planner, Session, config_of};
use crate::cmd::Failure;
use crate::format::Format;
use crate::store::clients::{self, Client};
use crate::store::locate::{self, Store};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

impl Planner<'_> {
    /// Refuses to move a session that a running client continues, or the settings of any.
    pub(super) fn refuse_clients(&self, sessions: &[Session]) -> anyhow::Result<()> {
        if self.wanted.allows_live || self.wanted.copies && !self.wanted.trust {
            return Ok(());
        }
        let configs: BTreeSet<PathBuf> = sessions.iter().filter_map(config_of).collect();
        let running: Vec<Client> = configs.iter().flat_map(|config| clients::running(config)).collect();
        let uses = |client: &Client, session: &Session| {
            client.session == session.id
                || self.wanted.session.is_none() && self.wanted.map.moved(&client.cwd).is_some()
        };
        for session in sessions.iter().filter(|session| session.format == Format::Claude) {
            if let Some(client) = running.iter().find(|client| uses(client, session)) {
                let what = format!(
                    "{}: a running Claude Code (process {}) is in {}",
                    session.from.display(),
                    client.pid,
                    client.cwd
                );
                return Err(
                    Failure::Refused { what, hint: "end it first, or use `--allow=live`".into() }.into()
                );
            }
        }
        if let Some(client) = running.first().filter(|_| self.wanted.trust) {
            let what =
                format!("Claude Code is running (process {}), and would overwrite its settings", client.pid);
            return Err(Failure::Refused { what, hint: "end it first, or leave `--trust` out".into() }.into());
        }
        Ok(())
    }

    /// Refuses if two sessions would have one id in a folder.
    pub(super) fn refuse_twins(&self, sessions: &[Session]) -> anyhow::Result<()> {
        let moving: HashSet<&Path> =
            sessions.iter().map(|one| one.from.as_path()).filter(|_| !self.wanted.copies).collect();
        let mut known: HashMap<PathBuf, &Path> = HashMap::new();
        let mut ids: HashMap<PathBuf, HashMap<String, PathBuf>> = HashMap::new();
        for session in sessions.iter().filter(|session| session.from != session.to) {
            let folder = session.to.parent().unwrap_or(Path::new("")).to_owned();
            let there = ids.entry(folder.clone()).or_insert_with(|| {
                let store = Store { agent: session.agent, root: folder.clone() };
                let files = locate::sessions(&store).into_iter().map(|found| found.path);
                let files =
                    files.filter(|path| path.parent() == Some(&folder) && !moving.contains(path.as_path()));
                files.map(|path| (locate::session_id(&path), path)).collect()
            });
            let there = there.get(&session.id).filter(|other| **other != session.from);
            let other = there.map(PathBuf::as_path).or_else(|| known.get(&session.to).copied());
            if let Some(other) = other {
                let what = format!(
                    "{}: a session with this id is already in the new folder: {}",
                    session.from.display(),
                    other.display()
                );
                let hint = "`bough diff --from` shows how the two differ; move or rename one of them first";
                return Err(Failure::Refused { what, hint: hint.into() }.into());
            }
            known.insert(session.to.clone(), &session.from);
        }
        Ok(())
    }
}
