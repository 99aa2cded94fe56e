//! Sessions below those that they come from: which session is the parent of which.

use super::row::{List, Row, time};
use super::sort::{Key, Sort};
use super::tree::{self, Kinship, Origin};
use crate::cmd::shared::exit::Failures;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::parallel;
use crate::format::Format;
use crate::model::Time;
use crate::ops::sessions::Summary;
use crate::store::locate;
use crate::store::locate::Found;
use crate::ui::{Ui, text};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A session of a family.
pub(in crate::cmd) struct Relative {
    /// Its file.
    pub(in crate::cmd) path: PathBuf,
    pub(in crate::cmd) format: Format,
    pub(in crate::cmd) modified: Time,
    pub(in crate::cmd) summary: Summary,
    /// Where it comes from, as an index into the family, which is before its own.
    pub(in crate::cmd) parent: Option<usize>,
    /// How it left the session that it comes from, if that is known.
    pub(in crate::cmd) origin: Option<Origin>,
    /// How many sessions are above it.
    pub(in crate::cmd) depth: usize,
}

/// Reads sessions with their relations: newest first, and each below the one that it comes from.
pub(in crate::cmd) fn family(
    found: &[Found],
    global: &Global,
    failures: &mut Failures,
    ui: &mut Ui,
) -> anyhow::Result<Vec<Relative>> {
    let rows = newest_first(found, global, failures, ui)?;
    let claude = rows.iter().filter(|row| row.format == Format::Claude);
    let mut kinship = Kinship::read(claude.map(|row| row.path.as_path()), false, failures, ui)?;
    let parents = parents(&rows, &kinship);
    let mut out: Vec<Relative> = Vec::new();
    let mut position = vec![None; rows.len()];
    let order: Vec<usize> = tree::arrange(&parents, true).into_iter().map(|place| place.row).collect();
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    for (at, row) in order.into_iter().enumerate() {
        // What a cycle was cut at has no parent before it.
        let parent = parents[row].and_then(|parent| position[parent]);
        position[row] = Some(at);
        let Some(Row { path, format, modified, summary, .. }) = rows[row].take() else { continue };
        let depth = parent.map_or(0, |parent| out[parent].depth + 1);
        let origin = kinship.origins.remove(&path).filter(|_| parent.is_some());
        out.push(Relative { path, format, modified: time(modified), summary, parent, origin, depth });
    }
    Ok(out)
}

/// Reads sessions, newest first. Those that can't be read are added to the failures.
fn newest_first(
    found: &[Found],
    global: &Global,
    failures: &mut Failures,
    ui: &mut Ui,
) -> anyhow::Result<Vec<Row>> {
    let list = List { is_quick: false, global, stores: Vec::new(), log: None };
    let mut rows = Vec::new();
    for row in parallel::map(found, |found| list.row(found)) {
        match row {
            Ok(row) => rows.push(row),
            Err(error) => failures.add(error.into(), false, ui)?,
        }
    }
    Sort { key: Key::Age, reverse: false }.rows(&mut rows, Row::line);
    Ok(rows)
}

/// The row that each session comes from.
pub(super) fn parents(rows: &[Row], kinship: &Kinship) -> Vec<Option<usize>> {
    let family = Family::new(rows);
    let parent = |row: &Row| match kinship.origins.get(&row.path) {
        Some(origin) => family.by_path(&origin.path),
        None => family.parent(row),
    };
    rows.iter().map(parent).collect()
}

/// The listed sessions, by everything that can name a parent.
struct Family<'r> {
    by_path: HashMap<PathBuf, usize>,
    by_id: HashMap<&'r str, usize>,
    /// By the names of the files; `None` if several have the same name.
    by_name: HashMap<String, Option<usize>>,
}

impl<'r> Family<'r> {
    fn new(rows: &'r [Row]) -> Family<'r> {
        let mut family = Family { by_path: HashMap::new(), by_id: HashMap::new(), by_name: HashMap::new() };
        let numbered = || rows.iter().enumerate();
        // Former paths of a session count less than current ones.
        for (at, row) in numbered().filter(|(_, row)| row.format == Format::Omp) {
            for path in locate::previous_files(&row.path) {
                family.by_path.insert(path, at);
            }
        }
        for (at, row) in numbered() {
            family.by_path.insert(real(&row.path), at);
            family.by_id.extend(row.summary.id.as_deref().map(|id| (id, at)));
            let name = file_name(&row.path.to_string_lossy()).to_owned();
            family.by_name.entry(name).and_modify(|known| *known = None).or_insert(Some(at));
        }
        family
    }

    fn by_path(&self, path: &Path) -> Option<usize> {
        self.by_path.get(&real(path)).copied()
    }

    /// Returns the row of the session that another names as its parent: by path, by id, or, because
    /// a path may be from another machine, by the name of its file.
    fn parent(&self, row: &Row) -> Option<usize> {
        let parent = row.summary.parent.as_deref()?;
        let beside = row.path.parent().unwrap_or(Path::new("")).join(parent);
        let named = [Path::new(parent), &beside].into_iter().find_map(|path| self.by_path(path));
        let found = named.or_else(|| self.by_id.get(parent).copied());
        found.or_else(|| self.by_name.get(file_name(parent)).copied().flatten())
    }
}

/// Returns a path as the system knows it; unchanged if it does not exist.
pub(super) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the name of the file in a path of this system or of Windows.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns a session that another names as its parent: the name of its file, if it is named by
/// that.
pub(super) fn origin_name(parent: &str) -> String {
    text::one_line(&locate::id_in_name(Path::new(file_name(parent))))
}
