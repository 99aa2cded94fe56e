//! Files that are there only while bough writes, and are removed whatever ends it.

use super::{guard, sys, unix};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// The files that are removed if a signal ends the program.
static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Held while the program must not be ended by a signal.
static CALM: Mutex<()> = Mutex::new(());
/// Whether a signal is about to end the program.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Puts the end of the program by a signal off, until it is dropped.
pub(super) fn calm() -> MutexGuard<'static, ()> {
    CALM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a signal waits to end the program.
pub(super) fn ends() -> bool {
    ENDS.load(Ordering::Relaxed)
}

/// Makes a file that is removed if a signal ends the program, until [`forget`] is called.
///
/// The file is made and noted in one step: a signal in between would leave it.
pub(super) fn create(path: &Path, mode: u32) -> io::Result<File> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without it, what a signal leaves is removed by `op prune`.
        let _ = unix::before_the_end(|| {
            ENDS.store(true, Ordering::Relaxed);
            // Nothing that is removed here is made again.
            std::mem::forget((calm(), remove_noted(|_| true)));
        });
    });
    let mut files = noted();
    let file = sys::create(path, mode)?;
    files.push(path.to_owned());
    Ok(file)
}

fn noted() -> MutexGuard<'static, Vec<PathBuf>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the files that are noted and wanted. None is made as long as the result lives.
fn remove_noted(is_wanted: impl Fn(&Path) -> bool) -> MutexGuard<'static, Vec<PathBuf>> {
    let files = noted();
    for file in files.iter().filter(|file| is_wanted(file)) {
        let _ = fs::remove_file(file);
    }
    files
}

/// Says that a file which [`create`] made need not be removed any more.
pub(super) fn forget(path: &Path) {
    let mut files = noted();
    if let Some(at) = files.iter().rposition(|file| file == path) {
        files.swap_remove(at);
    }
}

/// A new file under a name of its own, which is removed unless it gets another name.
pub(crate) struct Temp {
    path: PathBuf,
    file: Option<File>,
    gone: bool,
}

impl Temp {
    /// Makes a file in the folder of `path`.
    pub(crate) fn new(path: &Path, mode: u32) -> io::Result<Temp> {
        Temp::named(name_beside(path), mode)
    }

    /// Makes a file with a name that no other has.
    pub(crate) fn named(path: PathBuf, mode: u32) -> io::Result<Temp> {
        let file = create(&path, mode)?;
        Ok(Temp { path, file: Some(file), gone: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file, for reading and writing, until it [`is_written`](Temp::is_written).
    pub(crate) fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Says that its content is whole. It is closed: once it has its name, others would take it for one that somebody
    /// writes to, and many may be waiting for their names.
    pub(super) fn is_written(&mut self) {
        self.file = None;
    }

    /// Says that it has another name, or must stay.
    pub(crate) fn is_gone(&mut self) {
        self.gone = true;
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if !self.gone {
            let _ = fs::remove_file(&self.path);
        }
        forget(&self.path);
    }
}

/// A name for a file beside another. Agents list `*.jsonl`; it does not end so.
pub(super) fn name_beside(path: &Path) -> PathBuf {
    let chance = uuid::Uuid::new_v4().simple().to_string();
    path.with_file_name(format!("{}{}.bough", start_of_names(path), &chance[..12]))
}

/// How the names begin that [`name_beside`] gives.
fn start_of_names(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Names of files have at most 255 bytes.
    let short: String = name.chars().take(40).collect();
    format!(".{short}.")
}

/// Whether a name is one that [`name_beside`] gives.
fn is_ours(name: &OsStr) -> bool {
    let Some(rest) = name.as_encoded_bytes().strip_suffix(b".bough") else { return false };
    let Some(at) = rest.len().checked_sub(13) else { return false };
    rest.first() == Some(&b'.') && rest[at] == b'.' && rest[at + 1..].iter().all(u8::is_ascii_hexdigit)
}

/// The files that an interrupted bough left in a folder, in the order of their names.
pub fn leftovers(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut out: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter(|entry| is_ours(&entry.file_name()) || guard::is_left_lock(&entry.path()))
        .map(|entry| entry.path())
        .collect();
    out.sort();
    out
}

/// The files that an interrupted bough left of a file, in the order of their names.
pub fn leftovers_of(path: &Path) -> Vec<PathBuf> {
    let (start, lock) = (start_of_names(path), guard::lock_name(path));
    let mut out = leftovers(sys::folder_of(path));
    out.retain(|left| {
        let name = left.file_name().unwrap_or_default();
        let rest = name.as_encoded_bytes().strip_prefix(start.as_bytes());
        rest.is_some_and(|rest| !rest[..rest.len().saturating_sub(6)].contains(&b'.'))
            || lock.file_name() == Some(name)
    });
    // The folder is named as in `path`.
    out.iter().map(|left| path.with_file_name(left.file_name().unwrap_or_default())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_file_is_noted_as_soon_as_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".s.jsonl.0123456789ab.bough");
        let (sender, receiver) = std::sync::mpsc::channel();
        let ours = path.clone();
        // What the signal does, just before the file is made.
        let hook = move |call: sys::Call| {
            if call == sys::Call::Create {
                let ours = ours.clone();
                let _ = sender.send(std::thread::spawn(move || drop(remove_noted(|path| path == ours))));
                std::thread::sleep(Duration::from_millis(100));
            }
            Ok(None)
        };
        let made = sys::with_hook(hook, || create(&path, 0o600));
        assert!(made.is_ok());
        receiver.recv().unwrap().join().unwrap();
        assert!(!path.exists());
        forget(&path);
    }

    #[test]
    fn what_is_left_of_a_file_is_told_from_what_is_left_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let long = format!("{}.jsonl", "n".repeat(60));
        for name in ["s.jsonl", "s.jsonl.1.jsonl", &long] {
            fs::write(at(name), "").unwrap();
            fs::write(name_beside(&at(name)), "").unwrap();
        }
        for name in [".s.jsonl.bough", ".s.jsonl.notes.bough", ".s.jsonl.0123456789ab.tmp", ".s.jsonl.lock"] {
            fs::write(at(name), "").unwrap();
        }
        assert_eq!(leftovers(folder.path()).len(), 3);
        for name in ["s.jsonl", "s.jsonl.1.jsonl", &long] {
            assert_eq!(leftovers_of(&at(name)).len(), 1, "{name}");
        }
        // A lock of a process that is gone, and one of a process that runs.
        fs::write(at(".s.jsonl.lock"), "999999999:1\n").unwrap();
        assert_eq!(leftovers_of(&at("s.jsonl")).len(), 2);
        fs::write(at(".s.jsonl.lock"), format!("{}:1\n", std::process::id())).unwrap();
        assert_eq!(leftovers_of(&at("s.jsonl")).len(), 1);
    }
}
