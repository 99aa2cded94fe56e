//! Plans what happens to each file of a session that moves: its new place and its new content.

use super::find::Folder;
use super::{Planner, Session, WantedFile, config_of, same_content};
use crate::cmd::shared::parallel;
use crate::format::Format;
use crate::model::{Change, Count, Piece, Span, Target};
use crate::ops::relocate::{Kind, Paths, Rewritten, rewrite};
use crate::store;
use crate::store::clients;
use crate::store::project_folder::contents;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl<'w> Planner<'w> {
    /// Returns the folders with the file history of a session, if the other store has another one.
    pub(super) fn file_history(&self, session: &Session) -> Option<(PathBuf, PathBuf)> {
        let into = self.wanted.into.as_ref().filter(|_| session.format == Format::Claude)?;
        let (old, new) = (config_of(session)?, into.root.parent()?.to_owned());
        let folder = |config: PathBuf| config.join("file-history").join(&session.id);
        (old != new).then(|| (folder(old), folder(new)))
    }

    /// Plans what is in a folder beside its sessions, if all of them move.
    pub(super) fn add_rest(&mut self, folder: &Path, to: &Path) -> anyhow::Result<()> {
        let inside = contents(folder)?;
        let mut paths = Paths { folders: self.wanted.map.clone(), text: false, ..Paths::default() };
        if let (Some(old), Some(new)) = (folder.to_str(), to.to_str()) {
            paths.files.add(old, new);
        }
        let paths = Arc::new(paths);
        for file in &inside.files {
            if self.planned.contains_key(file) {
                continue;
            }
            let Ok(rest) = file.strip_prefix(folder) else { continue };
            let ending = file.extension().unwrap_or_default();
            let kind = match () {
                () if rest.starts_with("memory") => Kind::Other,
                () if ending == "jsonl" => Kind::Claude,
                () if ending == "json" => Kind::Sidecar,
                () => Kind::Other,
            };
            self.add(file, &to.join(rest), kind, &paths, false)?;
        }
        self.left.extend(inside.others.into_iter().map(|path| (path, "it is not a regular file".into())));
        self.emptied.extend(inside.folders);
        Ok(())
    }

    /// Says what stays in a folder that other sessions share.
    pub(super) fn note_shared(
        &mut self,
        sessions: &[Session],
        folders: &BTreeMap<PathBuf, Folder>,
        whole: &BTreeMap<PathBuf, PathBuf>,
    ) {
        for (folder, inside) in folders {
            let Some(first) = inside.moving.first().map(|at| &sessions[*at]) else { continue };
            let memory = folder.join("memory");
            if !whole.contains_key(folder) && first.from != first.to && memory.is_dir() {
                self.left.push((memory, "sessions of other folders share it".into()));
            }
        }
    }

    /// Plans one file: it gets another path, or other paths in it, or both.
    pub(super) fn add(
        &mut self,
        from: &Path,
        to: &Path,
        kind: Kind,
        paths: &Arc<Paths>,
        is_main: bool,
    ) -> anyhow::Result<()> {
        if self.planned.contains_key(from) {
            return Ok(());
        }
        if from != to && !is_main && (to.symlink_metadata().is_ok() || self.taken.contains(to)) {
            let why = match same_content(from, to).unwrap_or(false) {
                true => "the same file is in the new folder",
                false => "the new folder has another one",
            };
            self.left.push((from.to_owned(), why.into()));
            return Ok(());
        }
        let file = self.files.attach(from)?;
        self.planned.insert(from.to_owned(), to.to_owned());
        if from != to {
            self.taken.insert(to.to_owned());
        }
        let (from, to, paths) = (from.to_owned(), to.to_owned(), Arc::clone(paths));
        self.wanted_files.push(WantedFile { from, to, file, kind, paths });
        Ok(())
    }

    /// Reads all files, by all processors, and plans their new content.
    pub(super) fn rewrite_all(&mut self) -> anyhow::Result<()> {
        let wanted = std::mem::take(&mut self.wanted_files);
        let made = parallel::map(&wanted, |one| self.new_content(one));
        for (one, made) in wanted.iter().zip(made) {
            self.add_content(one, made?);
        }
        Ok(())
    }

    fn new_content(&self, wanted: &WantedFile) -> io::Result<Rewritten> {
        let file = wanted.file;
        if wanted.kind == Kind::Other {
            let len = self.files.stamp(file).map_or(0, store::write::Stamp::bytes);
            let pieces = vec![Piece::Keep(Span { file, offset: 0, len })];
            return Ok(Rewritten { pieces, len, ..Rewritten::default() });
        }
        let mut reader = BufReader::with_capacity(1 << 20, File::open(&wanted.from)?);
        rewrite(&mut reader, file, wanted.kind, &wanted.paths)
    }

    fn add_content(&mut self, wanted: &WantedFile, made: Rewritten) {
        let WantedFile { from, to, file, paths, .. } = wanted;
        let file = *file;
        if from == to && made.is_same() {
            return;
        }
        let size = |pieces: &[Piece]| pieces.iter().map(Piece::bytes).sum::<u64>() as i64;
        for (field, count) in &made.changed {
            let lines = Count("value", "values", usize::try_from(*count).unwrap_or(usize::MAX));
            let (old, new) = match field.as_str() {
                "cwd" | "relocatedCwd" | "project" | "projects" => {
                    paths.folders.pairs().first().cloned().unwrap_or_default()
                }
                _ => Default::default(),
            };
            self.plan.changes.push(Change {
                op: "set",
                file,
                field: field.clone(),
                old,
                new,
                why: format!("{lines}"),
                ..Change::default()
            });
        }
        if from == to {
            self.plan.targets.push(Target::Rewrite { file, pieces: made.pieces });
            return;
        }
        let copies = self.wanted.copies;
        self.plan.changes.push(Change {
            op: if copies { "copy" } else { "move" },
            file,
            new: to.display().to_string(),
            bytes: size(&made.pieces) - made.len as i64,
            ..Change::default()
        });
        self.plan.targets.push(Target::Move { file, to: to.clone(), pieces: made.pieces, copies });
    }

    /// Plans the lines of the prompts in Claude Code's history.
    pub(super) fn add_histories(&mut self, sessions: &[Session]) -> anyhow::Result<()> {
        let configs: BTreeSet<PathBuf> = sessions.iter().filter_map(config_of).collect();
        for config in configs {
            let history = config.join("history.jsonl");
            if self.wanted.copies || !history.is_file() {
                continue;
            }
            let mut paths = Paths { folders: self.wanted.map.clone(), ..Paths::default() };
            if self.wanted.session.is_some()
                && let Some(only) = sessions.first()
            {
                paths.folders.add(&only.old_cwd, &only.new_cwd);
                paths.session = Some(only.id.clone());
            }
            self.add(&history, &history, Kind::History, &Arc::new(paths), true)?;
        }
        Ok(())
    }

    /// Plans the settings of the folders, if they are wanted.
    pub(super) fn add_settings(&mut self, sessions: &[Session]) -> anyhow::Result<()> {
        let settings = clients::settings_of_projects();
        let has_claude = sessions.iter().any(|session| session.format == Format::Claude);
        if !self.wanted.trust || self.wanted.copies || !has_claude || !settings.is_file() {
            return Ok(());
        }
        let mut paths = Paths { folders: self.wanted.map.clone(), ..Paths::default() };
        if let Some((_, only)) = self.wanted.session.as_ref().zip(sessions.first()) {
            paths.folders.add(&only.old_cwd, &only.new_cwd);
        }
        self.add(&settings, &settings, Kind::Projects, &Arc::new(paths), true)
    }
}
