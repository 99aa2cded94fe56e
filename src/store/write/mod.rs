//! Carries out plans: the only way in which bough changes files.
//!
//! The steps that all changes share: the file is locked, it must be as it was when it was read, no
//! agent may be using it, the operation is in the log before the file changes, and a failure leaves
//! the old file. An append is one `write` of whole lines; anything else is a new file that replaces
//! the old one.

pub(crate) mod carry_out;
pub(crate) mod folders;
pub(crate) mod guard;
pub(crate) mod patch;
mod record;
mod refusal;
pub(crate) mod sink;
pub(crate) mod stamp;
pub(crate) mod steps;
pub(crate) mod sys;
pub(crate) mod temp;

/// Returns the session that a plan puts back from the archive: the last of the files, which were unpacked
/// elsewhere.
fn restored(plan: &Plan) -> Option<&Path> {
    plan.targets.iter().rev().find_map(|target| match target {
        Target::Move { to, copies: true, .. } => Some(&**to),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
mod unix;

pub use guard::{Signs, remove_leftover, signs_of_life};
pub use record::Group;
pub(crate) use record::Record;
pub use refusal::Refusal;
pub use stamp::Stamp;
pub use temp::{leftovers, leftovers_of};
pub(crate) use unix::{ask_to_end, nobody_reads, process_lives, wait_until_gone};

use super::oplog::{Emptied, Log, Operation, Progress};
use super::{Files, agents};
use crate::format::Format;
use crate::model::{Piece, Plan, Source, Span, Target, Time};
use guard::Guard;
use rayon::prelude::*;
use sink::Sink;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use steps::{Filled, Left, Place, Ready};

/// Above this number of files, those that are moved are not all held open.
const MOST_GUARDS: usize = 256;
/// How many files are moved at a time, and how many bytes.
const MOVED_FILES: usize = 64;
const MOVED_BYTES: u64 = 64 << 20;
/// Fewer bytes than this are not worth a second thread.
const ALONE: u64 = 1 << 20;
/// How many bytes of a file are read at a time.
const BLOCK: u64 = 256 * 1024;

/// How a plan is carried out.
pub struct WriteOptions<'a> {
    /// Overrides safety checks, except for a file that another program has open.
    pub force: bool,
    /// The safety checks that are overridden one by one.
    pub allow: Allow,
    /// Whether this is the last attempt: with `force`, lines are then appended to a file that has
    /// only grown since it was read.
    pub last_try: bool,
    /// Only checks whether the plan could be carried out; writes nothing, and takes no lock.
    pub dry_run: bool,
    /// The current time.
    pub now: Time,
    /// The log that records the operation; `None` if the user has no place for it.
    pub log: Option<&'a Log>,
    /// The operation that this is a part of, if it is not an operation by itself.
    pub group: Option<&'a Group>,
    /// How long a file must not have changed: by then, the agent that wrote to it is done.
    pub quiet: Duration,
    /// Called with the path of the new content before a change becomes final: an error keeps the
    /// old file.
    pub prove: Option<&'a Proof<'a>>,
}

impl WriteOptions<'_> {
    /// The default of [`WriteOptions::quiet`].
    pub const QUIET: Duration = Duration::from_secs(2);

    /// Returns the safety checks that are overridden.
    fn allows(&self) -> Allow {
        let Allow { live, truncated, overwrite, hardlink, changed } = self.allow;
        Allow {
            live,
            truncated: truncated || self.force,
            overwrite: overwrite || self.force,
            hardlink: hardlink || self.force,
            changed: changed || self.force,
        }
    }
}

/// Safety checks that are overridden.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Allow {
    /// WriteArgs to a file that an agent is using.
    pub live: bool,
    /// Appending after a truncated line.
    pub truncated: bool,
    /// Replacing an existing file with a new one.
    pub overwrite: bool,
    /// Rewriting a file that has other hard links.
    pub hardlink: bool,
    /// Appending to a file that has grown since it was read.
    pub changed: bool,
}

/// Checks the new content at a path, and returns what is wrong with it.
pub type Proof<'a> = dyn Fn(&Path) -> Result<(), String> + 'a;

/// The result of carrying out a plan.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Done {
    /// The id of the operation in the log; empty if nothing was recorded.
    pub op_id: String,
    /// The files that were written, in the order of the plan.
    pub files: Vec<PathBuf>,
    /// Old files that are kept beside the new ones, because there was no place for a backup.
    pub kept: Vec<PathBuf>,
}

/// Carries out a plan on the files of the session for which it was made.
///
/// New files are created as the plan says; one without a path is written to `out`. Either all
/// targets are written or none: if one fails, those before it are rolled back. [`Refusal::Changed`]
/// means that the file has changed since it was read: the caller should read it again, make a new
/// plan, and retry.
pub fn carry_out(
    files: &Files,
    format: Format,
    plan: &Plan,
    options: &WriteOptions<'_>,
    out: &mut dyn Write,
) -> Result<Done, Refusal> {
    if plan.is_empty() {
        return Ok(Done::default());
    }
    let is_printed = |target: &Target| matches!(target, Target::Create { path: None, .. });
    if options.log.is_none() && !options.force && !plan.targets.iter().all(is_printed) {
        return Err(Refusal::NoPlace);
    }
    let guards = guards(files, format, plan, options)?;
    if options.dry_run {
        return check(files, plan, &guards, options);
    }
    let operation = operation_of(files, format, plan, &guards, options.now);
    let mut record = Record::begin(options, operation);
    record.expect(plan.targets.iter().filter(|target| !is_printed(target)).count());
    let mut ready = Vec::new();
    // Old files are removed after all new ones are there.
    let (mut removes, mut emptied) = (Vec::new(), emptied(files, plan));
    let mut at = 0;
    while let Some(target) = plan.targets.get(at) {
        let prepared = match moves_from(files, &plan.targets[at..]) {
            0 => make_ready(files, plan, target, &guards, options, &mut record).map(|step| {
                ready.extend(step.map(|step| (at, step)));
                1
            }),
            count => {
                let places = at..at + count;
                let emptied = places.clone().map(|at| emptied.remove(&at).unwrap_or_default()).collect();
                let targets = &plan.targets[places.clone()];
                make_moves(files, format, targets, emptied, &guards, options, &mut record).map(|made| {
                    for (at, (new, old)) in places.zip(made) {
                        ready.push((at, new));
                        removes.extend(old);
                    }
                    count
                })
            }
        };
        match prepared {
            Ok(count) => at += count,
            Err(refusal) => {
                // The first file in a new folder takes that with it, and so goes last.
                while ready.pop().is_some() {}
                return Err(record.fail(refusal));
            }
        }
    }
    let last = plan.targets.len();
    ready.extend(removes.into_iter().map(|step| (last, step)));
    let print = |from: usize, to: usize, out: &mut dyn Write| print(files, &plan.targets[from..to], out);
    // Output is printed only after everything before it was written.
    let mut printed = 0;
    let done = record.carry_out(ready, options, |at| {
        let from = std::mem::replace(&mut printed, at);
        print(from, at, out)
    })?;
    let end = print(printed, plan.targets.len(), out);
    match end {
        Ok(()) => {
            // A lock of oh-my-pi is a file in the folder of the session.
            drop(guards);
            for folder in &plan.emptied {
                folders::remove_folders(std::slice::from_ref(folder));
            }
            record.end(done)
        }
        Err(refusal) => Err(record.take_back(refusal, usize::MAX)),
    }
}

/// Returns what the log says of an operation before its steps are known.
fn operation_of(files: &Files, format: Format, plan: &Plan, guards: &[(u16, Guard)], now: Time) -> Operation {
    let main = restored(plan).unwrap_or_else(|| files.path(0));
    let file = guards.iter().find(|(file, _)| *file == 0).map(|(_, guard)| guard.path.clone());
    let file = file.unwrap_or_else(|| std::fs::canonicalize(main).unwrap_or_else(|_| main.to_owned()));
    let moved = plan.moved.clone();
    Operation {
        op_id: op_id(now),
        time: now.iso(),
        command: plan.verb.clone(),
        detail: plan.detail.clone(),
        file,
        format: format.name().into(),
        state: Progress::Begun,
        moved: moved.is_some(),
        from: moved.as_ref().and_then(|moved| moved.from.clone()),
        to: moved.and_then(|moved| moved.to),
        undoes: None,
        only: None,
        steps: Vec::new(),
    }
}

/// Prints the new files among some targets that have no path.
fn print(files: &Files, targets: &[Target], out: &mut dyn Write) -> Result<(), Refusal> {
    for target in targets {
        if let Target::Create { path: None, pieces } = target {
            fill(files, pieces, &mut Sink::to(&mut *out)).map_err(Refusal::Output)?;
        }
    }
    Ok(())
}

/// Prepares the steps of a target; none for one that is printed.
fn make_ready(
    files: &Files,
    plan: &Plan,
    target: &Target,
    guards: &[(u16, Guard)],
    options: &WriteOptions<'_>,
    record: &mut Record,
) -> Result<Option<Ready>, Refusal> {
    match target {
        Target::Append { file, bytes } => {
            let stamp = files.stamp(*file).ok_or(Refusal::Stdin)?;
            steps::append(guard_of(guards, *file), stamp, bytes, plan.keep_times, options).map(Some)
        }
        Target::Rewrite { file, pieces } => {
            let stamp = files.stamp(*file).ok_or(Refusal::Stdin)?;
            let time = plan.keep_times.then_some(stamp.mtime);
            let mut fill = |sink: &mut Sink<'_>| fill(files, pieces, sink);
            steps::replace(guard_of(guards, *file), stamp, &mut fill, time, options, record).map(Some)
        }
        Target::Remove { file } => {
            let stamp = files.stamp(*file).ok_or(Refusal::Stdin)?;
            let guard = guard_of(guards, *file);
            steps::check_replace(guard, stamp, options)?;
            steps::remove(guard, stamp, record).map(Some)
        }
        Target::Create { path: Some(path), pieces } => {
            // Files in the folder of the log are private to the user.
            let is_private = options.log.is_some_and(|log| path.starts_with(log.folder()));
            let mode = files.mode(0).filter(|_| !is_private).unwrap_or(0o600);
            let mut fill = |sink: &mut Sink<'_>| fill(files, pieces, sink);
            steps::create(path, mode, None, &mut fill, options, record).map(Some)
        }
        Target::Create { path: None, .. } | Target::Move { .. } => Ok(None),
    }
}

/// Returns how many of the next targets are moves that are prepared at a time.
fn moves_from(files: &Files, targets: &[Target]) -> usize {
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
struct Moving<'t> {
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
    fn guard(&self) -> &Guard {
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
fn make_moves(
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
fn places<'t>(
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
                Some(Held::Here(Guard::take(path, is_locked_by_omp(format, path), options.force)?))
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
fn emptied(files: &Files, plan: &Plan) -> HashMap<usize, Vec<Emptied>> {
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

/// Returns whether oh-my-pi would lock a file before it changes it.
fn is_locked_by_omp(format: Format, path: &Path) -> bool {
    format == Format::Omp && path.extension().is_some_and(|ending| ending == "jsonl")
}

/// Checks whether a plan could be carried out.
fn check(
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
fn guards(
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
            Guard::take(path, is_locked_by_omp(format, path), options.force)?
        };
        look_around(&guard, path, is_new, None, options)?;
        // What is only added at the end, and does not move HEAD, is in no agent's way.
        if (is_new || plan.moved.is_some()) && !options.force && !options.allow.live {
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
pub(super) fn look_around(
    guard: &Guard,
    path: &Path,
    is_new: bool,
    own: Option<i64>,
    options: &WriteOptions<'_>,
) -> Result<(), Refusal> {
    if !options.force && !options.allow.live {
        look_for_life(guard, path, own, options)
    } else if is_new {
        look_for_handles(guard, options)
    } else {
        Ok(())
    }
}

/// Refuses if a client says that it has this very session open.
pub(super) fn look_into_register(guard: &Guard) -> Result<(), Refusal> {
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
/// later would be lost. Only [`Allow::live`] overrides this.
fn look_for_handles(guard: &Guard, options: &WriteOptions<'_>) -> Result<(), Refusal> {
    if options.allow.live || !guard.stays_open() {
        return Ok(());
    }
    Err(Refusal::Alive { path: guard.path.clone(), signs: Signs::Open })
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

fn guard_of(guards: &[(u16, Guard)], file: u16) -> &Guard {
    let found = guards.iter().find(|(known, _)| *known == file);
    &found.expect("all files that the plan changes were locked").1
}

/// Writes pieces; kept ones are streamed from the files that the session was read from, short ones that
/// are close to each other together.
fn fill(files: &Files, mut pieces: &[Piece], sink: &mut Sink<'_>) -> io::Result<()> {
    let mut block = Vec::new();
    while let Some(piece) = pieces.first() {
        let first = match piece {
            Piece::New(bytes) => {
                sink.write_all(bytes)?;
                pieces = &pieces[1..];
                continue;
            }
            Piece::Keep(span) => *span,
        };
        let mut rest = first;
        while rest.len > BLOCK {
            files.read(Span { len: BLOCK, ..rest }, &mut block)?;
            sink.write_all(&block)?;
            rest = Span { offset: rest.offset + BLOCK, len: rest.len - BLOCK, ..rest };
        }
        let (count, end) = together(pieces, rest.offset);
        files.read(Span { len: end - rest.offset, ..rest }, &mut block)?;
        for (at, piece) in pieces[..count].iter().enumerate() {
            match piece {
                Piece::New(bytes) => sink.write_all(bytes)?,
                Piece::Keep(span) => {
                    let span = if at == 0 { rest } else { *span };
                    let from = (span.offset - rest.offset) as usize;
                    sink.write_all(&block[from..from + span.len as usize])?;
                }
            }
        }
        pieces = &pieces[count..];
    }
    Ok(())
}

/// Returns how many of the first pieces are in one block of a file that begins at `from`, and where the
/// last of them ends there. The first is one of them.
fn together(pieces: &[Piece], from: u64) -> (usize, u64) {
    let (mut count, mut end, mut file) = (0, from, None);
    for (at, piece) in pieces.iter().enumerate() {
        let Piece::Keep(span) = piece else { continue };
        let is_near = span.offset >= end && span.offset + span.len - from <= BLOCK;
        if at > 0 && !(is_near && file == Some(span.file)) {
            break;
        }
        (count, end, file) = (at + 1, span.offset + span.len, Some(span.file));
    }
    (count, end)
}

/// Creates an id for an operation: the time, so that ids are in order, and enough random bits that
/// no two in one second are equal.
pub(super) fn op_id(now: Time) -> String {
    let chance = uuid::Uuid::new_v4().as_u128() as u32;
    format!("{:08x}{chance:08x}", (now.0 / 1000) as u32)
}
