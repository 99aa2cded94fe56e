//! The files of the project that tests use, and copies of them.

use std::fs;
use std::path::Path;

/// Returns the folder of the project.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Copies all files below a folder like [`copy`]; does nothing if the folder does not exist.
pub fn copy_below(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).into_iter().flatten() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_below(&path, &to);
        } else {
            copy(&path, &to);
        }
    }
}

/// Copies a file, and makes the copy old, so that no agent seems to be writing to it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::write(to, fs::read(from).unwrap()).unwrap();
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_767_225_600);
    fs::File::options().write(true).open(to).unwrap().set_modified(old).unwrap();
}
