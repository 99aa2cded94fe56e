//! Carries out plans: the one door through which bough changes files.
//!
//! What is common to all: the file is locked, it must look as it did when it was read, no agent may be at
//! work on it, the operation is in the log before the file changes, and a failure leaves the old file.
//! An append is one `write` of whole lines; anything else is a new file that takes the place of the old one.

pub(crate) mod guard;
mod refusal;
pub(crate) mod stamp;
pub(crate) mod steps;
pub(crate) mod sys;
#[cfg(test)]
mod tests;
mod unix;

pub use guard::{Signs, signs_of_life};
pub use refusal::Refusal;
pub use stamp::Stamp;
pub(crate) use unix::nobody_reads;

use super::Files;
use super::oplog::{Log, Operation, Progress, Step};
use crate::format::Format;
use crate::model::{Piece, Plan, Source, Target, Time};
use guard::Guard;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use steps::Sink;

/// How a plan is carried out.
pub struct Orders<'a> {
    /// Overrides refusals for safety.
    pub force: bool,
    /// Whether this is the last try: with `force`, a file that only grew since it was read is then appended to.
    pub last_try: bool,
    /// Only looks whether the plan could be carried out; writes nothing, and takes no lock.
    pub dry_run: bool,
    /// The time.
    pub now: Time,
    /// Where the operation is recorded; `None` where the user has no place for it.
    pub log: Option<&'a Log>,
    /// Asked before a change stands, with the path of the new content: an error keeps the old file.
    pub prove: Option<&'a Proof<'a>>,
}

/// Looks at the new content, by its path, and says what is wrong with it.
pub type Proof<'a> = dyn Fn(&Path) -> Result<(), String> + 'a;

/// What was done.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Done {
    /// The id of the operation in the log; empty where nothing was recorded.
    pub op_id: String,
    /// The files that were written, in the order of the plan.
    pub files: Vec<PathBuf>,
}

/// Carries out a plan on the files of the session that it was made for.
///
/// New files go where the plan says; one without a path goes to `out`. Either all targets are written or none:
/// when one fails, those before it are taken back. [`Refusal::Changed`] means that the file is not as it was read:
/// read it again, make the plan again, and try once more.
pub fn carry_out(
    files: &Files,
    format: Format,
    plan: &Plan,
    orders: &Orders<'_>,
    out: &mut dyn Write,
) -> Result<Done, Refusal> {
    let mut done = Done::default();
    if plan.is_empty() {
        return Ok(done);
    }
    let guards = guards(files, format, plan, orders)?;
    let main = files.path(0);
    let file = guards.iter().find(|(file, _)| *file == 0).map(|(_, guard)| guard.path.clone());
    let file = file.unwrap_or_else(|| std::fs::canonicalize(main).unwrap_or_else(|_| main.to_owned()));
    let moved = plan.moved.clone();
    let operation = Operation {
        schema: "bough.op/1".into(),
        op_id: op_id(orders.now),
        time: orders.now.iso(),
        command: plan.verb.clone(),
        file,
        format: format.name().into(),
        state: Progress::Begun,
        moved: moved.is_some(),
        from: moved.as_ref().and_then(|moved| moved.from.clone()),
        to: moved.and_then(|moved| moved.to),
        undoes: None,
        steps: Vec::new(),
    };
    let mut record = Record { log: orders.log, operation, force: orders.force, begun: false };
    for target in &plan.targets {
        let wrote = match target {
            Target::Append { file, bytes } => {
                let guard = of(&guards, *file);
                let stamp = files.stamp(*file).ok_or(Refusal::Stdin)?;
                steps::append(guard, stamp, bytes, plan.keep_times, orders, &mut record).map(Some)
            }
            Target::Rewrite { file, pieces } => {
                let guard = of(&guards, *file);
                let stamp = files.stamp(*file).ok_or(Refusal::Stdin)?;
                let time = plan.keep_times.then_some(stamp.mtime);
                let mut fill = |sink: &mut Sink<'_>| fill(files, pieces, sink);
                steps::replace(guard, stamp, &mut fill, time, orders, &mut record).map(Some)
            }
            Target::Create { path: Some(path), pieces } => {
                let mode = files.mode(0).unwrap_or(0o600);
                let mut fill = |sink: &mut Sink<'_>| fill(files, pieces, sink);
                steps::create(path, mode, None, &mut fill, orders, &mut record).map(Some)
            }
            Target::Create { path: None, .. } if orders.dry_run => Ok(None),
            Target::Create { path: None, pieces } => {
                fill(files, pieces, &mut Sink::to(out)).map(|()| None).map_err(Refusal::Output)
            }
        };
        match wrote {
            Ok(path) => done.files.extend(path),
            Err(refusal) => return Err(record.take_back(refusal)),
        }
    }
    done.op_id = record.end()?;
    Ok(done)
}

/// Locks the files that a plan changes, and looks whether they may be changed.
fn guards(
    files: &Files,
    format: Format,
    plan: &Plan,
    orders: &Orders<'_>,
) -> Result<Vec<(u16, Guard)>, Refusal> {
    let mut wanted: Vec<u16> = plan
        .targets
        .iter()
        .filter_map(|target| match target {
            Target::Append { file, .. } | Target::Rewrite { file, .. } => Some(*file),
            Target::Create { .. } => None,
        })
        .collect();
    // Always in one order, so that two boughs do not wait for each other.
    wanted.sort_by_key(|file| files.path(*file).to_owned());
    wanted.dedup();
    let mut guards = Vec::new();
    for file in wanted {
        let path = files.path(file);
        if files.stamp(file).is_none() {
            return Err(Refusal::Stdin);
        }
        let guard = if orders.dry_run {
            Guard::look(path)?
        } else {
            Guard::take(path, format == Format::Omp, orders.force)?
        };
        if !orders.force {
            look_for_life(&guard, path, orders)?;
        }
        guards.push((file, guard));
    }
    Ok(guards)
}

/// Refuses where the session looks as if an agent were at work on it.
pub(super) fn look_for_life(guard: &Guard, path: &Path, orders: &Orders<'_>) -> Result<(), Refusal> {
    let own = last_own_change(orders.log, &guard.path);
    match guard.alive(own, stamp::system_time(orders.now.0.saturating_mul(1_000_000)))? {
        Some(signs) => Err(Refusal::Alive { path: path.to_owned(), signs }),
        None => Ok(()),
    }
}

/// The time at which bough itself changed a file last, in nanoseconds since 1970.
pub fn last_own_change(log: Option<&Log>, path: &Path) -> Option<i64> {
    let last = log?.last_change_of(path).ok()??;
    last.steps.iter().rfind(|step| step.path == path)?.after.as_ref().map(|after| after.mtime)
}

/// Whether what changed a file last was bough itself, as far as its time tells.
pub fn changed_by_bough(log: Option<&Log>, path: &Path) -> bool {
    let mtime = std::fs::metadata(path).map(|facts| stamp::mtime(&facts));
    last_own_change(log, path).is_some_and(|own| mtime.is_ok_and(|mtime| mtime == own))
}

fn of(guards: &[(u16, Guard)], file: u16) -> &Guard {
    let found = guards.iter().find(|(known, _)| *known == file);
    &found.expect("all files that the plan changes were locked").1
}

/// Writes pieces; kept ones stream from the files that the session was read from.
fn fill(files: &Files, pieces: &[Piece], sink: &mut Sink<'_>) -> io::Result<()> {
    let mut block = Vec::new();
    for piece in pieces {
        match piece {
            Piece::New(bytes) => sink.put(bytes)?,
            Piece::Keep(span) => {
                let mut rest = *span;
                while rest.len > 0 {
                    let now = crate::model::Span { len: rest.len.min(256 * 1024), ..rest };
                    files.read(now, &mut block)?;
                    sink.put(&block)?;
                    rest.offset += now.len;
                    rest.len -= now.len;
                }
            }
        }
    }
    Ok(())
}

/// An id for an operation: the time, so that ids are in order, and enough of chance that no two of a second are the same.
pub(super) fn op_id(now: Time) -> String {
    let chance = uuid::Uuid::new_v4().as_u128() as u32;
    format!("{:08x}{chance:08x}", (now.0 / 1000) as u32)
}

/// An operation on its way into the log.
pub(crate) struct Record<'a> {
    pub(super) log: Option<&'a Log>,
    pub(super) operation: Operation,
    pub(super) force: bool,
    /// Whether the log knows of it.
    pub(super) begun: bool,
}

impl Record<'_> {
    /// Backs up a stretch of a file that will be no more.
    fn back_up(&self, file: &std::fs::File, at: u64, len: u64) -> Result<Option<String>, Refusal> {
        let Some(log) = self.log else { return Ok(None) };
        match log.back_up(file, at, len) {
            Ok(hash) => Ok(Some(hash)),
            Err(_) if self.force => Ok(None),
            Err(source) => Err(Refusal::NoRecord { path: log.folder().to_owned(), source }),
        }
    }

    /// Puts a step into the log, just before it is taken.
    fn begin(&mut self, step: Step) -> Result<(), Refusal> {
        self.operation.steps.push(step);
        self.begun = true;
        self.put(Progress::Begun).inspect_err(|_| self.failed())
    }

    /// Says how the file is since the last step.
    fn ended(&mut self, after: Option<super::oplog::State>) {
        if let Some(step) = self.operation.steps.last_mut() {
            step.after = after;
        }
    }

    /// Forgets the last step, which was not taken.
    fn failed(&mut self) {
        self.operation.steps.pop();
    }

    fn put(&mut self, state: Progress) -> Result<(), Refusal> {
        self.operation.state = state;
        match self.log.map(|log| log.put(&self.operation)) {
            Some(Err(source)) if !self.force => {
                let path = self.log.map(|log| log.folder().to_owned()).unwrap_or_default();
                Err(Refusal::NoRecord { path, source })
            }
            _ => Ok(()),
        }
    }

    /// Takes back what was done so far, the last first; gives the refusal to tell.
    ///
    /// What can't be taken back stays in the log as an operation that was interrupted, with what an undo needs.
    pub(super) fn take_back(&mut self, refusal: Refusal) -> Refusal {
        let mut left: Vec<Step> = Vec::new();
        while let Some(step) = self.operation.steps.pop() {
            // What came before it in the same file is below it.
            let is_below = left.iter().any(|later| later.path == step.path);
            if is_below || !steps::take_back(&step, self.log).unwrap_or(false) {
                left.push(step);
            }
        }
        left.reverse();
        let mut files: Vec<PathBuf> = left.iter().map(|step| step.path.clone()).collect();
        files.dedup();
        self.operation.steps = left;
        if self.begun {
            let _ = self.put(if files.is_empty() { Progress::Failed } else { Progress::Begun });
        }
        if files.is_empty() {
            return refusal;
        }
        let op = self.log.map(|_| self.operation.op_id.clone());
        Refusal::NotTakenBack { why: refusal.reason(), files, op }
    }

    /// Says in the log that all was done; gives the id of the operation.
    pub(super) fn end(mut self) -> Result<String, Refusal> {
        if self.log.is_none() || self.operation.steps.is_empty() {
            return Ok(String::new());
        }
        // The files are written. That the log can't say so must not look as if they were not.
        let _ = self.put(Progress::Done);
        Ok(self.operation.op_id)
    }
}
