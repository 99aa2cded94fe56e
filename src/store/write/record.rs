//! An operation that is being recorded in the log.

use super::carry_out;
use super::steps::{Failed, Ready};
use super::{Done, Refusal, WriteOptions, sys};
use crate::store::lock::Lock;
use crate::store::oplog::lines::Line;
use crate::store::oplog::{Log, Operation, Progress, Step};
use crate::store::undo;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// From this number of files on, the disk is synced once for all of them.
const MANY: usize = 9;

/// Several plans that form one operation: the first of them begins it, and it is undone as a whole.
#[derive(Default)]
pub struct Group(RefCell<Option<Entry>>);

impl Group {
    /// Ends the operation; returns its id, which is empty if nothing was recorded.
    pub fn end(&self) -> String {
        let Some(entry) = self.0.take() else { return String::new() };
        let has_steps = entry.begun && !entry.operation.steps.is_empty();
        entry.close(if has_steps { Progress::Done } else { Progress::Failed });
        if has_steps { entry.operation.op_id } else { String::new() }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// An operation and the log that records it.
struct Entry {
    log: Option<Log>,
    operation: Operation,
    /// Whether the log contains it.
    begun: bool,
    /// The folders that the log contains.
    synced_folders: BTreeSet<PathBuf>,
    /// Declares to other processes that this one is writing.
    enters: Option<Lock>,
}

impl Entry {
    fn new(log: Option<&Log>, operation: Operation) -> Entry {
        Entry { log: log.cloned(), operation, begun: false, synced_folders: BTreeSet::new(), enters: None }
    }

    fn append(&mut self, mut lines: Vec<Line<'_>>, sync: bool) -> io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        if !self.begun {
            let operation = Operation { steps: Vec::new(), ..self.operation.clone() };
            lines.insert(0, Line::Begun(Cow::Owned(operation)));
        }
        log.append(&lines, sync)?;
        self.begun = true;
        Ok(())
    }

    fn close(&self, state: Progress) {
        if let Some(log) = self.log.as_ref().filter(|_| self.begun) {
            let op_id = Cow::Borrowed(&*self.operation.op_id);
            // The files are written, or as before. A failure to record that must not look as if
            // they were not.
            let _ = log.append(&[Line::Ended { op_id, state, after: None }], false);
        }
    }
}

/// A part of an operation that is prepared, recorded and carried out at once.
pub(crate) struct Record<'a> {
    entry: Option<Entry>,
    group: Option<&'a Group>,
    force: bool,
    /// How many steps the operation had before this part.
    from: usize,
    /// Whether it only rolls back steps that were not recorded as done.
    is_scratch: bool,
    /// Whether there are so many files that they are synced together.
    is_lazy: bool,
    backups: Vec<String>,
    folders: BTreeSet<PathBuf>,
}

impl<'a> Record<'a> {
    /// Creates a record of an operation, or of the group that it is a part of.
    pub(crate) fn begin(options: &WriteOptions<'a>, operation: Operation) -> Record<'a> {
        let entry = options.group.and_then(|group| group.0.borrow_mut().take());
        Record::with(entry.unwrap_or_else(|| Entry::new(options.log, operation)), options)
    }

    /// Creates a record of an interrupted operation, to which further steps are added.
    pub(crate) fn resume(options: &WriteOptions<'a>, operation: Operation) -> Record<'a> {
        let mut entry = Entry::new(options.log, operation);
        let op_id = entry.operation.op_id.clone();
        let known = entry.operation.steps.clone();
        let step =
            |(at, step)| Line::Step { op_id: Cow::Borrowed(&op_id), at, step: Some(Cow::Borrowed(step)) };
        // If the log can't be written, the next step reports it.
        let _ = entry.append(known.iter().enumerate().map(step).collect(), false);
        Record::with(entry, options)
    }

    /// Creates a record that records nothing, for rolling back steps.
    pub(crate) fn scratch(options: &WriteOptions<'a>, operation: Operation) -> Record<'a> {
        let entry = Entry::new(None, operation);
        Record { is_scratch: true, ..Record::with(entry, options) }
    }

    fn with(entry: Entry, options: &WriteOptions<'a>) -> Record<'a> {
        Record {
            from: entry.operation.steps.len(),
            entry: Some(entry),
            group: options.group,
            force: options.force,
            is_scratch: false,
            is_lazy: false,
            backups: Vec::new(),
            folders: BTreeSet::new(),
        }
    }

    fn entry(&mut self) -> &mut Entry {
        self.entry.as_mut().expect("it is there until the operation ends")
    }

    fn log(&self) -> Option<&Log> {
        self.entry.as_ref().and_then(|entry| entry.log.as_ref())
    }

    /// Announces how many files will be changed.
    pub(crate) fn expect(&mut self, files: usize) {
        self.is_lazy = files >= MANY;
        let entry = self.entry();
        if files > 0 && entry.enters.is_none() {
            entry.enters = entry.log.as_ref().and_then(Log::enter);
        }
    }

    /// Backs up a range of a file that will be lost. Returns `None` if there is no place for it,
    /// and the user insists.
    pub(super) fn back_up(&mut self, file: &File, at: u64, len: u64) -> Result<Option<String>, Refusal> {
        let is_lazy = self.is_lazy;
        if self.is_scratch {
            return Ok(Some(String::new()));
        }
        let Some(log) = self.log() else { return Ok(None) };
        match log.back_up(file, at, len, !is_lazy) {
            Ok(hash) => {
                if is_lazy {
                    self.backups.push(hash.clone());
                }
                Ok(Some(hash))
            }
            Err(_) if self.force => Ok(None),
            Err(source) => Err(Refusal::NoRecord { path: log.folder().to_owned(), source }),
        }
    }

    /// Backs up a patch. Returns `None` if there is no place for it, and the user insists.
    pub(super) fn back_up_patch(&mut self, patch: &[u8]) -> Result<Option<String>, Refusal> {
        let is_lazy = self.is_lazy;
        let Some(log) = self.log() else { return Ok(None) };
        match log.back_up_bytes(patch, !is_lazy) {
            Ok(hash) => {
                if is_lazy {
                    self.backups.push(hash.clone());
                }
                Ok(Some(hash))
            }
            Err(_) if self.force => Ok(None),
            Err(source) => Err(Refusal::NoRecord { path: log.folder().to_owned(), source }),
        }
    }

    /// Returns the name under which an old file without a backup is kept.
    pub(super) fn name_to_keep(&self, path: &Path) -> PathBuf {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // File names are limited to 255 bytes.
        let short: String = name.chars().take(56).collect();
        let op = self.entry.as_ref().map_or("", |entry| &entry.operation.op_id);
        path.with_file_name(format!("{short}.{op}.bak"))
    }

    /// Records in the log a folder in which files are left if the program is killed.
    pub(super) fn note_folder(&mut self, folder: &Path) {
        let Ok(folder) = std::fs::canonicalize(folder) else { return };
        let entry = self.entry();
        if entry.log.as_ref().is_some_and(|log| folder.starts_with(log.folder()))
            || !entry.synced_folders.insert(folder.clone())
        {
            return;
        }
        let op_id = Cow::Owned(entry.operation.op_id.clone());
        // Only cleaning up needs it.
        let _ = entry.append(vec![Line::Folder { op_id, folder }], false);
    }

    /// Syncs a new file to the disk, or leaves that to the common sync of all files.
    pub(super) fn sync(&mut self, file: &File) -> io::Result<()> {
        if self.is_lazy {
            return Ok(());
        }
        sys::sync(file)
    }

    /// Has the names in a folder synced to the disk after all steps.
    pub(super) fn sync_later(&mut self, folder: &Path) {
        self.folders.insert(folder.to_owned());
    }

    /// Writes steps to the log, just before they are carried out.
    fn log_steps(&mut self, ready: &[(usize, Ready)]) -> Result<(), Refusal> {
        let mut lines = Vec::new();
        let from = self.from;
        let entry = self.entry();
        let op_id = entry.operation.op_id.clone();
        for (number, (_, ready)) in ready.iter().enumerate() {
            let (op_id, step) = (Cow::Borrowed(&*op_id), Cow::Borrowed(&ready.step));
            lines.push(Line::Step { op_id, at: from + number, step: Some(step) });
        }
        let put = entry.append(lines, true);
        let folder = entry.log.as_ref().map(|log| log.folder().to_owned()).unwrap_or_default();
        entry.operation.steps.extend(ready.iter().map(|(_, ready)| ready.step.clone()));
        match put {
            Err(source) if !self.force => {
                self.entry().operation.steps.truncate(from);
                Err(Refusal::NoRecord { path: folder, source })
            }
            _ => Ok(()),
        }
    }

    /// Syncs the prepared files to the disk.
    fn settle(&mut self, ready: &[(usize, Ready)]) -> Result<(), Refusal> {
        if !self.is_lazy {
            return Ok(());
        }
        let folder = self.log().map(|log| log.folder().to_owned()).unwrap_or_default();
        if let Some(log) = self.log().filter(|_| !self.backups.is_empty()) {
            let hashes: Vec<&str> = self.backups.iter().map(|hash| &**hash).collect();
            log.sync_backups(&hashes).map_err(|source| Refusal::NoRecord { path: folder, source })?;
        }
        let temps = ready.iter().filter_map(|(_, ready)| ready.step.temp.as_deref());
        let temps: Vec<&Path> = temps.filter(|temp| temp.exists()).collect();
        sync_files(&temps)
    }

    /// Records prepared steps, and carries them out. `before` is called before each, with its
    /// number in the plan.
    pub(crate) fn carry_out(
        &mut self,
        ready: Vec<(usize, Ready)>,
        options: &WriteOptions<'_>,
        mut before: impl FnMut(usize) -> Result<(), Refusal>,
    ) -> Result<Done, Refusal> {
        let mut done = Done::default();
        let is_undo = self.entry().operation.undoes.is_some();
        if (!ready.is_empty() || is_undo)
            && let Err(refusal) = self.settle(&ready).and_then(|()| self.log_steps(&ready))
        {
            return Err(self.fail(refusal));
        }
        for (number, (at, step)) in ready.into_iter().enumerate() {
            let taken = before(at).map_err(Failed::from);
            let taken =
                taken.and_then(|()| carry_out::carry_out_step(step, self.from + number, options, self));
            match taken {
                Ok(taken) => {
                    done.files.push(taken.path);
                    done.kept.extend(taken.kept);
                }
                Err(failed) => {
                    let last = number + usize::from(failed.is_taken);
                    return Err(self.take_back(failed.refusal, last));
                }
            }
        }
        if self.is_lazy && self.folders.len() >= MANY {
            if let Some(folder) = self.folders.first() {
                let _ = sys::sync_all_in(folder);
            }
        } else {
            for folder in &self.folders {
                let _ = sys::sync_folder(folder);
            }
        }
        Ok(done)
    }

    /// Records the actual result of a step, if it differs from the expected one.
    pub(super) fn revise(&mut self, at: usize, step: Step) {
        let entry = self.entry();
        if let Some(known) = entry.operation.steps.get_mut(at) {
            *known = step.clone();
        }
        let op_id = Cow::Owned(entry.operation.op_id.clone());
        // If it can't be recorded, the step as it was planned is enough to roll it back.
        let _ = entry.append(vec![Line::Step { op_id, at, step: Some(Cow::Owned(step)) }], false);
    }

    /// Ends a part in which no step was carried out.
    pub(crate) fn fail(&mut self, refusal: Refusal) -> Refusal {
        self.take_back(refusal, 0)
    }

    /// Rolls back the first `taken` steps of this part, the last one first; returns the error to
    /// report.
    ///
    /// Steps that can't be rolled back stay in the log as an interrupted operation, with the data
    /// that an undo needs.
    pub(crate) fn take_back(&mut self, refusal: Refusal, taken: usize) -> Refusal {
        let Some(mut entry) = self.entry.take() else { return refusal };
        let from = self.from.min(entry.operation.steps.len());
        let steps = entry.operation.steps.split_off(from);
        let mut left: Vec<PathBuf> = Vec::new();
        for step in steps.iter().take(taken).rev() {
            // Earlier changes of the same file are below it.
            if left.contains(&step.path) || !undo::take_back(step, entry.log.as_ref()) {
                left.push(step.path.clone());
            }
        }
        left.reverse();
        left.dedup();
        let op = entry.log.as_ref().map(|_| entry.operation.op_id.clone());
        match self.group {
            Some(group) => {
                if left.is_empty() {
                    let op_id = entry.operation.op_id.clone();
                    let none = |at| Line::Step { op_id: Cow::Borrowed(&op_id), at: from + at, step: None };
                    let lines: Vec<Line<'_>> = (0..steps.len()).map(none).collect();
                    if entry.begun && !lines.is_empty() {
                        let _ = entry.append(lines, false);
                    }
                } else {
                    entry.operation.steps.extend(steps);
                }
                group.0.replace(Some(entry));
            }
            None if left.is_empty() => entry.close(Progress::Failed),
            None => {}
        }
        if left.is_empty() {
            return refusal;
        }
        Refusal::NotTakenBack { why: refusal.reason(), files: left, op }
    }

    /// Records in the log that everything was done; returns the result, with the id of the
    /// operation.
    pub(crate) fn end(mut self, mut done: Done) -> Result<Done, Refusal> {
        let Some(entry) = self.entry.take() else { return Ok(done) };
        if entry.begun {
            done.op_id = entry.operation.op_id.clone();
        }
        match self.group {
            Some(group) => {
                group.0.replace(Some(entry));
            }
            None => entry.close(Progress::Done),
        }
        Ok(done)
    }
}

/// Syncs many new files to the disk.
fn sync_files(files: &[&Path]) -> Result<(), Refusal> {
    use std::os::unix::fs::MetadataExt;
    let mut devices = BTreeSet::new();
    for file in files {
        let io = |source| Refusal::io(file, source);
        let facts = std::fs::metadata(file).map_err(io)?;
        if devices.insert(facts.dev()) && !sys::sync_all_in(sys::folder_of(file)).map_err(io)? {
            for file in files {
                File::open(file).and_then(|file| sys::sync(&file)).map_err(io)?;
            }
            return Ok(());
        }
    }
    Ok(())
}
