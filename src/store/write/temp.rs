//! Files that exist only while bough writes, and are removed however it ends.

use super::{guard, sys, unix};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// The files, and the folders if they are empty, that are removed if a signal ends the program; in
/// the order in which they were created.
static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Held while a signal must not end the program.
static CALM: Mutex<()> = Mutex::new(());
/// Whether a signal is about to end the program.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Postpones the end of the program by a signal until the result is dropped.
pub(super) fn calm() -> MutexGuard<'static, ()> {
    CALM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a signal is waiting to end the program.
pub(super) fn ends() -> bool {
    ENDS.load(Ordering::Relaxed)
}

/// Creates a file that is removed if a signal ends the program, until [`forget`] is called.
///
/// The file is created and registered in one step: a signal in between would leave it behind.
pub(super) fn create(path: &Path, mode: u32) -> io::Result<File> {
    clean_up_at_the_end();
    let mut files = listed_files();
    let file = sys::create(path, mode)?;
    files.push(path.to_owned());
    Ok(file)
}

/// Has the registered files removed if a signal ends the program.
fn clean_up_at_the_end() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without it, `op prune` removes what a signal leaves.
        let _ = unix::before_the_end(|| {
            ENDS.store(true, Ordering::Relaxed);
            // Nothing that is removed here is created again.
            std::mem::forget((calm(), remove_noted(|_| true)));
        });
    });
}

fn listed_files() -> MutexGuard<'static, Vec<PathBuf>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the wanted ones of the registered files. No file is created as long as the result lives.
fn remove_noted(is_wanted: impl Fn(&Path) -> bool) -> MutexGuard<'static, Vec<PathBuf>> {
    let files = listed_files();
    // What was created in a folder goes before it.
    for path in files.iter().rev().filter(|path| is_wanted(path)) {
        if fs::remove_file(path).is_err() {
            let _ = fs::remove_dir(path);
        }
    }
    files
}

/// Creates a folder that is removed if a signal ends the program while it is empty, until
/// [`forget`] is called.
pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    clean_up_at_the_end();
    let mut files = listed_files();
    sys::make_folder(path)?;
    files.push(path.to_owned());
    Ok(())
}

/// Declares that a file made by [`create`] need not be removed any more.
pub(super) fn forget(path: &Path) {
    let mut files = listed_files();
    if let Some(at) = files.iter().rposition(|file| file == path) {
        files.remove(at);
    }
}

/// A new file under a temporary name, which is removed unless it gets another name.
pub(crate) struct Temp {
    path: PathBuf,
    file: Option<File>,
    gone: bool,
}

impl Temp {
    /// Creates a file in the folder of `path`.
    pub(crate) fn new(path: &Path, mode: u32) -> io::Result<Temp> {
        Temp::create(name_beside(path), mode)
    }

    /// Creates a file with a name that no other file has.
    pub(crate) fn create(path: PathBuf, mode: u32) -> io::Result<Temp> {
        let file = create(&path, mode)?;
        Ok(Temp { path, file: Some(file), gone: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file, for reading and writing, until it [`is_written`](Temp::is_written).
    pub(crate) fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Declares that its content is complete, and closes it: once it has its final name, others
    /// would think that somebody is writing to it; and many files may be waiting for their names.
    pub(crate) fn is_written(&mut self) {
        self.file = None;
    }

    /// Declares that it has another name, or must stay.
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

/// Returns a name for a file beside another. Agents list `*.jsonl`, so the name does not end like
/// that.
pub(crate) fn name_beside(path: &Path) -> PathBuf {
    let chance = uuid::Uuid::new_v4().simple().to_string();
    path.with_file_name(format!("{}{}.bough", start_of_names(path), &chance[..12]))
}

/// Returns the beginning of the names that [`name_beside`] returns.
fn start_of_names(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // File names are limited to 255 bytes.
    let short: String = name.chars().take(40).collect();
    format!(".{short}.")
}

/// Returns whether a name could come from [`name_beside`].
fn is_ours(name: &OsStr) -> bool {
    let Some(rest) = name.as_encoded_bytes().strip_suffix(b".bough") else { return false };
    let Some(at) = rest.len().checked_sub(13) else { return false };
    rest.first() == Some(&b'.') && rest[at] == b'.' && rest[at + 1..].iter().all(u8::is_ascii_hexdigit)
}

/// Returns the files that an interrupted bough left in a folder, in the order of their names.
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

/// Returns the files that an interrupted bough process left for a file, in the order of their
/// names.
pub fn leftovers_of(path: &Path) -> Vec<PathBuf> {
    let (start, lock) = (start_of_names(path), guard::lock_name(path));
    let mut out = leftovers(sys::folder_of(path));
    out.retain(|left| {
        let name = left.file_name().unwrap_or_default();
        let rest = name.as_encoded_bytes().strip_prefix(start.as_bytes());
        rest.is_some_and(|rest| !rest[..rest.len().saturating_sub(6)].contains(&b'.'))
            || lock.file_name() == Some(name)
    });
    // The folder is spelled as in `path`.
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
        // Does what the signal does, just before the file is created.
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
    fn a_new_folder_goes_if_it_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let (outer, file) = (folder.path().join("new"), folder.path().join("new/in/s.bough"));
        let inner = outer.join("in");
        let is_ours = |path: &Path| path.starts_with(folder.path());
        create_folder(&outer).unwrap();
        create_folder(&inner).unwrap();
        fs::write(inner.join("of-another"), "").unwrap();
        drop(create(&file, 0o600).unwrap());
        drop(remove_noted(is_ours));
        assert!(!file.exists() && inner.join("of-another").exists());
        fs::remove_file(inner.join("of-another")).unwrap();
        forget(&inner);
        drop(remove_noted(is_ours));
        assert!(inner.exists(), "a folder that is to stay is removed");
        fs::remove_dir(&inner).unwrap();
        drop(remove_noted(is_ours));
        assert!(!outer.exists());
        forget(&outer);
        forget(&file);
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
