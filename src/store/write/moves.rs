//! The moves of a plan: files that are renamed, or copied and removed.

use super::{ALONE, Record, Refusal, Stamp, WriteOptions, fill, folders, steps};
use crate::format::Format;
use crate::model::{Plan, Target};
use crate::store::Files;
use crate::store::oplog::Emptied;
use crate::store::write::checks::is_locked_by_omp;
use crate::store::write::guard::Guard;
use crate::store::write::sink::Sink;
use crate::store::write::steps::{Filled, Left, Place, Ready};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// How many files are moved at a time, and how many bytes.
const MOVED_FILES: usize = 64;

const MOVED_BYTES: u64 = 64 << 20;

/// Returns how many of the next targets are moves that are prepared at a time.
pub(super) fn moves_from(files: &Files, targets: &[Target]) -> usize {
    let mut bytes = 0;
    let fits = |target: &&Target| {
        let Target::Move { file, .. } = target else { return false };
        let is_first = bytes == 0;
        bytes += files.stamp(*file).map_or(0, Stamp::bytes).max(1);
        is_first || bytes <= MOVED_BYTES
    };
    targets.iter().take(MOVED_FILES).take_while(fits).count()
}

/// A move whose new file is being written.
pub(super) struct Moving<'t> {
    target: &'t Target,
    stamp: &'t Stamp,
    mode: u32,
    /// `None` if the new file replaces another.
    place: Option<Place>,
    /// The old file, unless it stays.
    old: Option<Held<'t>>,
}

/// A lock on a file: of this step, or of the whole plan.
enum Held<'t> {
    Here(Guard),
    Before(&'t Guard),
}

impl Held<'_> {
    pub(super) fn guard(&self) -> &Guard {
        match self {
            Held::Here(guard) => guard,
            Held::Before(guard) => guard,
        }
    }
}

/// What is written for a move: the new file, unless it replaces another, and what the old one leaves.
type Written = (Option<Filled>, Option<Left>);

/// Prepares the steps of moves: for each the new file, and the removal of the old one if it does not
/// stay. The files are written by all processors.
pub(super) fn make_moves(
    files: &Files,
    format: Format,
    targets: &[Target],
    emptied: Vec<Vec<Emptied>>,
    guards: &[(u16, Guard)],
    options: &WriteOptions<'_>,
    record: &mut Record<'_>,
) -> Result<Vec<(Ready, Option<Ready>)>, Refusal> {
    let mut folders = Vec::new();
    let moving = places(files, format, targets, guards, &mut folders, options, record);
    let made = moving.and_then(|moving| write_moves(files, moving, emptied, options, record));
    if made.is_err() {
        // Several files were in a new folder, and not all of them were gone when the first was.
        folders::remove_folders(&folders);
    }
    made
}

/// Locks the files of moves, and makes the folders of the new ones, which `folders` gets.
pub(super) fn places<'t>(
    files: &'t Files,
    format: Format,
    targets: &'t [Target],
    guards: &'t [(u16, Guard)],
    folders: &mut Vec<PathBuf>,
    options: &WriteOptions<'_>,
    record: &mut Record<'_>,
) -> Result<Vec<Moving<'t>>, Refusal> {
    let mut moving = Vec::new();
    for target in targets {
        let Target::Move { file, to, copies, .. } = target else { unreachable!("it is a move") };
        let stamp = files.stamp(*file).ok_or(Refusal::Stdin)?;
        let old = match guards.iter().find(|(known, _)| known == file) {
            _ if *copies => None,
            Some((_, guard)) => Some(Held::Before(guard)),
            None => {
                let path = files.path(*file);
                Some(Held::Here(Guard::take(path, is_locked_by_omp(format, path), options.ignores_life())?))
            }
        };
        let place = match steps::check_create(to, options)? {
            Some(_) => None,
            None => {
                let place = Place::make(to, record)?;
                folders.extend_from_slice(place.made());
                Some(place)
            }
        };
        let mode = files.mode(*file).unwrap_or(0o600);
        moving.push(Moving { target, stamp, mode, place, old });
    }
    Ok(moving)
}

/// Writes the new files of moves, and prepares their steps.
fn write_moves(
    files: &Files,
    moving: Vec<Moving<'_>>,
    emptied: Vec<Vec<Emptied>>,
    options: &WriteOptions<'_>,
    record: &mut Record<'_>,
) -> Result<Vec<(Ready, Option<Ready>)>, Refusal> {
    let bytes: u64 = moving.iter().map(|one| one.stamp.len).sum();
    let write = |one: &Moving<'_>| -> Result<Written, Refusal> {
        let Target::Move { to, pieces, .. } = one.target else { unreachable!("it is a move") };
        let mut fill = |sink: &mut Sink<'_>| fill(files, pieces, sink);
        let new = match &one.place {
            Some(_) => Some(Filled::new(to, one.mode, Some(one.stamp.mtime), &mut fill)?),
            None => None,
        };
        let old = one.old.as_ref().map(|old| Left::read(old.guard(), one.stamp, pieces)).transpose()?;
        Ok((new, old))
    };
    let written: Result<Vec<Written>, Refusal> = match moving.len() > 1 && bytes > ALONE {
        true => moving.par_iter().map(write).collect(),
        false => moving.iter().map(write).collect(),
    };
    let mut out = Vec::new();
    for ((one, (new, left)), emptied) in moving.into_iter().zip(written?).zip(emptied) {
        let Target::Move { to, pieces, .. } = one.target else { unreachable!("it is a move") };
        let new = match one.place.zip(new) {
            Some((place, filled)) => steps::created(place, filled, options, record)?,
            None => {
                let mut fill = |sink: &mut Sink<'_>| fill(files, pieces, sink);
                steps::create(to, one.mode, Some(one.stamp.mtime), &mut fill, options, record)?
            }
        };
        let old = match one.old.as_ref().zip(left) {
            Some((old, left)) => {
                Some(steps::remove_moved(old.guard(), one.stamp, left, &new, emptied, record)?)
            }
            None => None,
        };
        out.push((new, old));
    }
    Ok(out)
}

/// Returns the folders that a plan empties, by the last move that takes a file from them.
pub(super) fn emptied(files: &Files, plan: &Plan) -> HashMap<usize, Vec<Emptied>> {
    use std::os::unix::fs::MetadataExt;
    let wanted: HashSet<&Path> = plan.emptied.iter().map(PathBuf::as_path).collect();
    let mut last: HashMap<&Path, usize> = HashMap::new();
    for (at, target) in plan.targets.iter().enumerate() {
        if let Target::Move { file, copies: false, .. } = target {
            let above = files.path(*file).ancestors().skip(1);
            last.extend(above.filter(|folder| wanted.contains(folder)).map(|folder| (folder, at)));
        }
    }
    let mut out: HashMap<usize, Vec<Emptied>> = HashMap::new();
    for folder in &plan.emptied {
        let Some(at) = last.get(folder.as_path()) else { continue };
        let mode = std::fs::metadata(folder).map_or(0o700, |facts| facts.mode() & 0o7777);
        let path = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        out.entry(*at).or_default().push(Emptied { path, mode });
    }
    out
}
