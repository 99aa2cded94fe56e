//! Carries out plans: the only way in which bough changes files.
//!
//! The steps that all changes share: the file is locked, it must be as it was when it was read, no
//! agent may be using it, the operation is in the log before the file changes, and a failure leaves
//! the old file. An append is one `write` of whole lines; anything else is a new file that replaces
//! the old one.

pub(crate) mod carry_out;
mod checks;
pub(crate) mod folders;
pub(crate) mod guard;
mod moves;
pub(crate) mod patch;
mod record;
mod refusal;
pub(crate) mod sink;
pub(crate) mod stamp;
pub(crate) mod steps;
pub(crate) mod sys;
pub(crate) mod temp;

#[cfg(test)]
mod tests;
mod unix;

pub use checks::{changed_by_bough, last_own_change};
pub(super) use checks::{look_around, look_into_register};
pub use guard::{Signs, remove_leftover, signs_of_life};
pub use record::Group;
pub(crate) use record::Record;
pub use refusal::Refusal;
pub use stamp::Stamp;
pub use temp::{leftovers, leftovers_of};
pub(crate) use unix::{ask_to_end, nobody_reads, process_lives, wait_until_gone};

use super::Files;
use super::oplog::{Log, Operation, Progress};
use crate::format::Format;
use crate::model::{Piece, Plan, Source, Span, Target, Time};
use checks::{check, guard_of, guards};
use guard::Guard;
use moves::{emptied, make_moves, moves_from};
use sink::Sink;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use steps::Ready;

/// Fewer bytes than this are not worth a second thread.
const ALONE: u64 = 1 << 20;
/// How many bytes of a file are read at a time.
const BLOCK: u64 = 256 * 1024;

/// Returns the session that a plan puts back from the archive: the last of the files, which were unpacked
/// elsewhere.
fn restored(plan: &Plan) -> Option<&Path> {
    plan.targets.iter().rev().find_map(|target| match target {
        Target::Move { to, copies: true, .. } => Some(&**to),
        _ => None,
    })
}

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
    /// How long to wait until nobody has a file open for writing that is replaced with [`Allow::live`].
    pub patience: Duration,
    /// Whether an undo keeps what was appended since the operation, behind the old content.
    pub keep_added: bool,
    /// Called with the path of the new content before a change becomes final: an error keeps the
    /// old file.
    pub prove: Option<&'a Proof<'a>>,
}

impl WriteOptions<'_> {
    /// The default of [`WriteOptions::quiet`].
    pub const QUIET: Duration = Duration::from_secs(2);

    /// The default of [`WriteOptions::patience`].
    pub const PATIENCE: Duration = Duration::from_secs(15);

    /// Returns whether signs of a running agent are no reason to refuse.
    pub(super) fn ignores_life(&self) -> bool {
        self.force || self.allow.live
    }

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
