//! What is checked before a plan is carried out: locks, running agents, and files that changed.

use super::{Done, Refusal, Signs, Stamp, WriteOptions, stamp, steps};
use crate::format::Format;
use crate::model::{Plan, Target, Time};
use crate::store::oplog::Log;
use crate::store::write::guard::{Guard, Holder};
use crate::store::{Files, agents};
use std::collections::HashSet;
use std::path::Path;

/// Above this number of files, those that are moved are not all held open.
const MOST_GUARDS: usize = 256;

/// Returns whether oh-my-pi would lock a file before it changes it.
pub(super) fn is_locked_by_omp(format: Format, path: &Path) -> bool {
    format == Format::Omp && path.extension().is_some_and(|ending| ending == "jsonl")
}

/// Checks whether a plan could be carried out.
pub(super) fn check(
    files: &Files,
    plan: &Plan,
    guards: &[(u16, Guard)],
    options: &WriteOptions<'_>,
) -> Result<Done, Refusal> {
    let mut done = Done::default();
    for target in &plan.targets {
        match target {
            Target::Append { file, bytes } => {
                let guard = guard_of(guards, *file);
                steps::check_append(guard, files.stamp(*file).ok_or(Refusal::Stdin)?, bytes, options)?;
                done.files.push(guard.path.clone());
            }
            Target::Rewrite { file, .. } | Target::Remove { file } => {
                let guard = guard_of(guards, *file);
                steps::check_replace(guard, files.stamp(*file).ok_or(Refusal::Stdin)?, options)?;
                done.files.push(guard.path.clone());
            }
            Target::Create { path: Some(path), .. } => {
                if let Some(there) = steps::check_create(path, options)? {
                    let stamp = Stamp::take(&there).map_err(|source| Refusal::io(path, source))?;
                    let guard = Guard::look(path)?;
                    look_for_handles(&guard, options)?;
                    steps::check_replace(&guard, &stamp, options)?;
                }
                done.files.push(path.clone());
            }
            Target::Create { path: None, .. } => {}
            Target::Move { file, to, copies, .. } => {
                if steps::check_create(to, options)?.is_some() {
                    let guard = Guard::look(to)?;
                    look_for_handles(&guard, options)?;
                }
                if !copies {
                    steps::check_remove(files.path(*file), files.stamp(*file).ok_or(Refusal::Stdin)?)?;
                }
                done.files.push(to.clone());
            }
        }
    }
    Ok(done)
}

/// Locks the files that a plan changes, and checks whether they may be changed.
pub(super) fn guards(
    files: &Files,
    format: Format,
    plan: &Plan,
    options: &WriteOptions<'_>,
) -> Result<Vec<(u16, Guard)>, Refusal> {
    let mut wanted: Vec<(u16, bool)> = plan
        .targets
        .iter()
        .filter_map(|target| match target {
            Target::Append { file, .. } => Some((*file, false)),
            Target::Rewrite { file, .. } | Target::Remove { file } => Some((*file, true)),
            Target::Move { file, copies: false, .. } => Some((*file, true)),
            Target::Create { .. } | Target::Move { .. } => None,
        })
        .collect();
    let moved: HashSet<u16> = plan
        .targets
        .iter()
        .filter_map(|target| match target {
            Target::Move { file, copies: false, .. } => Some(*file),
            _ => None,
        })
        .collect();
    let moves = |file: u16| moved.contains(&file);
    // Always in the same order, so that two processes do not wait for each other.
    wanted.sort_by_key(|(file, is_new)| (files.path(*file).to_owned(), !is_new));
    wanted.dedup_by_key(|(file, _)| *file);
    let mut guards = Vec::new();
    for (file, is_new) in wanted {
        let path = files.path(file);
        if files.stamp(file).is_none() {
            return Err(Refusal::Stdin);
        }
        let guard = if options.dry_run {
            Guard::look(path)?
        } else {
            Guard::take(path, is_locked_by_omp(format, path), options.ignores_life())?
        };
        look_around(&guard, path, is_new, None, options)?;
        // What is only added at the end, and does not move HEAD, is in no agent's way.
        if (is_new || plan.moved.is_some()) && !options.ignores_life() {
            look_into_register(&guard)?;
        }
        // A process may not hold any number of files open. A file that is moved is locked again
        // when its step is prepared, and must then be as it was.
        if guards.len() < MOST_GUARDS || !moves(file) {
            guards.push((file, guard));
        }
    }
    Ok(guards)
}

/// Fails if the session seems to be in use by an agent. `is_new` says that a new file replaces it;
/// `own` is the time at which bough itself changed the file, if that is known without the log.
pub(crate) fn look_around(
    guard: &Guard,
    path: &Path,
    is_new: bool,
    own: Option<i64>,
    options: &WriteOptions<'_>,
) -> Result<(), Refusal> {
    if !options.ignores_life() {
        look_for_life(guard, path, own, options)
    } else if is_new {
        look_for_handles(guard, options)
    } else {
        Ok(())
    }
}

/// Refuses if a client says that it has this very session open.
pub(crate) fn look_into_register(guard: &Guard) -> Result<(), Refusal> {
    match agents::registered(&guard.path) {
        Some(pid) => Err(Refusal::Alive { path: guard.path.clone(), signs: Signs::Registered(pid) }),
        None => Ok(()),
    }
}

fn look_for_life(
    guard: &Guard,
    path: &Path,
    own: Option<i64>,
    options: &WriteOptions<'_>,
) -> Result<(), Refusal> {
    let mtime = || guard.file.metadata().map(|facts| stamp::mtime(&facts)).ok();
    let own =
        || own.filter(|own| mtime() == Some(*own)).or_else(|| last_own_change(options.log, &guard.path));
    let now = stamp::system_time(options.now.0.saturating_mul(1_000_000));
    match guard.alive(own, now, options.quiet)? {
        Some(signs) => Err(Refusal::Alive { path: path.to_owned(), signs }),
        None => Ok(()),
    }
}

/// Refuses to replace a file that another program has open for writing: everything that it writes
/// later would be lost. Only [`super::Allow::live`] overrides this.
pub(super) fn look_for_handles(guard: &Guard, options: &WriteOptions<'_>) -> Result<(), Refusal> {
    if options.allow.live || !guard.stays_open() {
        return Ok(());
    }
    let signs = Signs::Open(Holder::find(&guard.file));
    Err(Refusal::Alive { path: guard.path.clone(), signs })
}

/// Returns the time at which bough itself last changed a file, in nanoseconds since 1970, if that
/// explains its current file time.
pub fn last_own_change(log: Option<&Log>, path: &Path) -> Option<i64> {
    let mtime = stamp::mtime(&std::fs::metadata(path).ok()?);
    // The log contains the time at which the command of an operation began.
    let since = Time((mtime / 1_000_000).saturating_sub(3_600_000));
    let last = log?.last_change_of(path, since).ok()??;
    last.steps.iter().rfind(|step| step.path == path)?.after.as_ref().map(|after| after.mtime)
}

/// Returns whether the last change of a file was made by bough itself, judging by its time.
pub fn changed_by_bough(log: Option<&Log>, path: &Path) -> bool {
    let mtime = std::fs::metadata(path).map(|facts| stamp::mtime(&facts));
    last_own_change(log, path).is_some_and(|own| mtime.is_ok_and(|mtime| mtime == own))
}

pub(super) fn guard_of(guards: &[(u16, Guard)], file: u16) -> &Guard {
    let found = guards.iter().find(|(known, _)| *known == file);
    &found.expect("all files that the plan changes were locked").1
}
