//! The recorded formats of session files, and what bough detects.

use bough::internals::store::{self, Options};
use std::fs;
use std::path::Path;

/// The recorded formats: a path, a tab, and the name of the format, of the program, or of anything
/// else.
pub const RECORDED: &str = include_str!("../sessions/formats.tsv");

/// Compares the contents of a folder with the records under `prefix`; each file is read by its path
/// and as bytes.
pub fn compare(folder: &Path, prefix: &str) {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let (path, wanted) = line.split_once('\t').unwrap();
        let Some(path) = path.strip_prefix(prefix) else { continue };
        seen += 1;
        let path = folder.join(path);
        let by_path = detected(&path);
        if by_path != wanted {
            wrong.push(format!("{}: {by_path}, and {wanted} is recorded", path.display()));
        }
        // The bytes by themselves yield the same result, because no name of these files decides.
        let bytes = fs::read(&path).unwrap();
        let by_bytes = bough::internals::format::Session::read(&bytes).map(|session| session.format.name());
        if by_bytes.is_some_and(|name| name != wanted) {
            wrong.push(format!("{}: {by_bytes:?} by its bytes, and {wanted} is recorded", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 50, "only {seen} files were compared");
}

/// Returns the format that bough detects, as it is recorded.
pub fn detected(path: &Path) -> String {
    match store::open(path, Options::default()) {
        Ok(opened) => opened.session.format.name().to_owned(),
        Err(store::Error::UnknownFormat { program: Some(program), .. }) => program.name().to_owned(),
        Err(store::Error::UnknownFormat { .. }) => "unknown".to_owned(),
        Err(store::Error::Empty { .. }) => "empty".to_owned(),
        Err(error) => panic!("{error}"),
    }
}
