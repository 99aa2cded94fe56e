//! The files to check.

use super::Args;
use super::surroundings::Place;
use super::total::Total;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::session_arg;
use crate::store::oplog::Log;
use crate::store::write::{leftovers, leftovers_of};
use crate::store::{locate, remains};
use crate::ui::{Ui, text};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// A file to check.
pub(super) struct Target {
    pub(super) path: PathBuf,
    /// Whether the user named it itself, and not only a folder that contains it.
    pub(super) named: bool,
}

/// Returns the named files, and those below the named folders. A missing file does not keep the
/// others from being checked.
pub(super) fn targets(
    args: &Args,
    global: &Global,
    total: &mut Total,
    ui: &mut Ui,
) -> anyhow::Result<Vec<Target>> {
    let mut out = Vec::new();
    let mut left = BTreeSet::new();
    let mut add = |path: PathBuf, named: bool| out.push(Target { path, named });
    if let Some(paths) = args.scope.files(!args.files.is_empty(), global)? {
        let folders: BTreeSet<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
        let left = folders.into_iter().flat_map(leftovers).collect();
        report_leftovers(&left, ui);
        let named = args.scope.is_list();
        return Ok(paths.into_iter().map(|path| Target { path, named }).collect());
    }
    let stores = locate::stores(&global.roots);
    let mut words: Vec<&str> = global.session.iter().map(String::as_str).collect();
    words.extend(args.files.iter().map(String::as_str));
    if words.is_empty() {
        let path = session_arg::path(global, None, ui)?;
        left.extend(leftovers_of(&path));
        add(path, true);
    }
    let only = words.len() == 1;
    for word in words {
        let path = Path::new(word);
        if word != "-" && path.is_dir() {
            session_arg::note_files_beside(global, path, ui);
            let below = locate::files_of(&stores, path);
            let folders: BTreeSet<&Path> = below.iter().filter_map(|path| path.parent()).collect();
            left.extend(leftovers(path));
            left.extend(folders.into_iter().filter(|folder| *folder != path).flat_map(leftovers));
            below.into_iter().for_each(|path| add(path, false));
            session_arg::report_remains(&remains::remains(path), ui);
            continue;
        }
        let path = match session_arg::by_word(global, word) {
            Ok(path) => path,
            Err(error) if only => return Err(error),
            Err(error) => {
                total.failures.add(error, true, ui)?;
                continue;
            }
        };
        let agents = Place::of_file(&path).agents_files();
        left.extend(leftovers_of(&path));
        left.extend(agents.iter().flat_map(|path| leftovers_of(path)));
        add(path, true);
        agents.into_iter().for_each(|path| add(path, false));
    }
    let mut seen = HashSet::new();
    out.retain(|target| seen.insert(target.path.clone()));
    report_leftovers(&left, ui);
    Ok(out)
}

/// Prints the files that a killed bough process left behind.
fn report_leftovers(left: &BTreeSet<PathBuf>, ui: &mut Ui) {
    if left.is_empty() || ui.look.quiet || Log::of_user().is_some_and(|log| log.is_in_use()) {
        return;
    }
    for path in left {
        let path = text::one_line(&path.display().to_string());
        ui.note(format_args!("warning: {path}: an unfinished file of an interrupted command"));
    }
    ui.hint("`bough op prune` removes unfinished files");
}
